/* SPDX-License-Identifier: Apache-2.0 */
/* records_parts.h - what the files of records.h share (private to them) */
#pragma once

#include "records.h"

static const char *const unrecognised = "unrecognised";

/* --- records_parse.c --- */

/* A record as its parser sees it, and where it stands: text is not always there as it is. */
struct record {
	struct text text; /* BUF_PADDING readable bytes behind it */
	uint64_t off;     /* in the source, for references */
	uint64_t len;
};

/* Accounts a record, or a piece that continues one, with these bytes. */
int record_classify(struct records *r, const struct record *rec, const struct span *spans, size_t n, enum verdict v,
		    const char *reason) MUST_CHECK;
/* Accounts the next `bytes` of the source; `text` is the record in them. */
int record_piece(struct records *r, struct text text, uint64_t text_off, uint64_t bytes, enum verdict v,
		 const char *reason) MUST_CHECK;
int record_flush(struct records *r) MUST_CHECK;
/* Runs r->main over a record. *ret: its verdict; *ret_reason why it is unparsed. cut: it may go on. */
int record_parse(struct records *r, const struct record *rec, bool cut, enum verdict *ret,
		 const char **ret_reason) MUST_CHECK;
/* A record that lies in memory with BUF_PADDING behind it; bytes: with what stands before and behind it. */
int record_take(struct records *r, struct text t, uint64_t text_off, uint64_t bytes) MUST_CHECK;
/* The parser number i for the origin at hand, with its state in place; *ret_home goes back by parser_leave(). */
int parser_enter(struct records *r, size_t i, struct parse **ret, void **ret_home) MUST_CHECK;
static inline void parser_leave(struct parse *p, void *home)
{
	p->state = home;
}
int record_finish(struct records *r) MUST_CHECK;
bool record_blank(struct text t);

/* --- binary.c --- */

int binary_feed(struct records *r, const char *data, size_t len) MUST_CHECK;
int binary_end(struct records *r) MUST_CHECK;

/* --- peel.c --- */

/* An outer record; bytes: with what stands before and behind it, `before` of them before. */
int outer_take(struct records *r, struct text t, uint64_t before, uint64_t bytes) MUST_CHECK;
int peel_end(struct records *r) MUST_CHECK;
void peel_done(struct records *r);
