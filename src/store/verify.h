/* SPDX-License-Identifier: Apache-2.0 */
/* verify.h - private to verify*.c: one walk over a case, and the chunks of one source in it */
#pragma once

#include "case_sum.h"
#include "pagetrail/feed.h"
#include "pagetrail/thread.h"
#include "store.h"

struct verify {
	struct case_file *c;
	int (*report)(void *ctx, struct text where, struct text what);
	void *ctx;
	uint64_t faults;
	struct pool *pool;
	struct case_sum *sum;
	struct event_feed *feed; /* NULL: nobody wants the events */
	enum event_kind feed_kind;
};

int verify_fault(struct verify *v, const char *where, const char *what);
/* Damage becomes a fault; anything else ends the walk. */
int verify_judge(struct verify *v, int code, const char *where, const struct err *found, struct err *err);

struct source_walk {
	int64_t source, bytes;
	bool reading;
	char want[SHA256_HEX];  /* content_sha256; "" when it is not known */
	struct buf row;         /* case_sum_row() */
	struct sha256 *content; /* of its evidence so far */
	uint64_t expect;        /* where its next chunk must begin */
	uint64_t lost;          /* bytes that are known to be lost, up to there */
	bool whole;             /* no chunk was bad or missing otherwise */
};

/* report() gets the number of each page of the file whose check sum does not hold. A case that is being written is not checked. */
int case_check_pages(struct case_file *c, int (*report)(void *ctx, uint64_t page), void *ctx) MUST_CHECK;

/* No evidence from w->expect to `to`. 0: that is known, since the case was salvaged; 1: it is not. */
int verify_hole(struct verify *v, struct source_walk *w, uint64_t to, struct err *err) MUST_CHECK;

/* Everything that is stored of one source's bytes and events: decoded in the pool, judged in the order of the bytes. What
 * is submitted refers to w until a task behind it ends. */
int verify_chunks(struct verify *v, struct source_walk *w, struct err *err) MUST_CHECK;
