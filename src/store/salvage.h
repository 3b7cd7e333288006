/* SPDX-License-Identifier: Apache-2.0 */
/* salvage.h - private to salvage*.c: rows of a damaged case, and where they go */
#pragma once

#include "pagetrail/salvage.h"
#include "store.h"

struct salvage {
	struct case_file *from, *to;
	int64_t now_ns;
	const struct salvage_sink *sink;
	struct err *err;
};

/* The statement gives the rowid first, of a table in the order of its rowids, from ?1 on. Rows on pages that cannot be
 * read are passed over; *ret_holes counts such places. row() returns 0 or ERR_*. */
int salvage_walk(struct salvage *v, const char *scan, int (*row)(void *ctx, struct sql *s, struct err *err), void *ctx,
		 unsigned *ret_holes, struct err *err) MUST_CHECK;
/* The row with this rowid (?1): 1 it is there, 0 it is not, or cannot be read. */
int salvage_get(struct sql *s, int64_t row, struct err *err) MUST_CHECK;
/* Is this only damage, so that the next row can be tried? */
bool salvage_goes_on(int code);
/* Runs `to` once for every row that `from` gives, with its columns as parameters: what is no number is text, or else blobs.
 * ERR_DAMAGED when a row cannot be read. */
int salvage_copy(struct sql *from, struct sql *to, bool blobs, struct err *err) MUST_CHECK;

/* What the journal says of a source. */
struct sealed_source {
	int64_t source;
	int64_t bytes, records;
	bool dropped;
	char seal[SHA256_HEX]; /* "" none */
	char *detail;          /* JSON of the row */
};
struct sealed_list {
	struct sealed_source *list;
	size_t n, cap;
};
/* Copies the journal as far as its chain holds, and what lies behind as texts; a new first row when there is none. */
int salvage_journal(struct salvage *v, struct sealed_list *ret, struct err *err) MUST_CHECK;
void sealed_done(struct sealed_list *l);
const struct sealed_source *sealed_find(const struct sealed_list *l, int64_t source);
