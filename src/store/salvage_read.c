/* SPDX-License-Identifier: Apache-2.0 */
/* salvage_read.c - reading tables some of whose pages are broken
 *
 * A page that SQLite refuses hides a range of rowids. Seeking behind it works as soon as the way there does not lead
 * through it, so the next rowid that can be reached is looked for: near first, then in growing steps, then back by
 * halves. Rowids must ascend; whatever does not is a broken page, too, and cannot make a walk run in circles.
 */
#include <stdlib.h>
#include <string.h>

#include "salvage.h"

enum { NEAR = 4096 };
#define ROWID_END (INT64_MAX / 4)

bool salvage_goes_on(int code)
{
	return code == ERR_DAMAGED || code == ERR_STORE || code == ERR_LIMIT;
}

/* Can a row at or behind `at` be read? 1 and its rowid, 0 there is none, ERR_*. */
static int probe(struct sql *s, int64_t at, int64_t *ret, struct err *err)
{
	int r = sql_int(s, 1, at, err);
	if (!r)
		r = sql_step(s, err);
	if (r > 0)
		*ret = sql_get_int(s, 0);
	sql_reset(s);
	return r > 0 && *ret < at ? ERR_DAMAGED : r;
}

/* The first rowid from `at` on from which the table can be read, be it that there are no more rows; 0: nowhere. */
static int64_t find_next(struct sql *s, int64_t at)
{
	int64_t row, step = 1, bad = at - 1;
	int r = ERR_DAMAGED;
	for (int i = 0; r < 0 && at < ROWID_END; i++) {
		r = probe(s, at, &row, NULL);
		if (r >= 0 || !salvage_goes_on(r))
			break;
		bad = at;
		if (i >= NEAR)
			step *= 2;
		at += step;
	}
	if (r < 0)
		return 0;
	while (at - bad > 1) {
		int64_t middle = bad + (at - bad) / 2;
		if (probe(s, middle, &row, NULL) < 0)
			bad = middle;
		else
			at = middle;
	}
	return at;
}

int salvage_walk(struct salvage *v, const char *scan, int (*row)(void *ctx, struct sql *s, struct err *err), void *ctx,
		 unsigned *ret_holes, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int64_t at = 0;
	*ret_holes = 0;
	int r = sql_prepare(&s, v->from, scan, err);
	while (!r) {
		struct err e = {0};
		r = sql_int(s, 1, at, err);
		while (!r && (r = sql_step(s, &e)) > 0) {
			int64_t id = sql_get_int(s, 0);
			if (id < at) {
				r = ERR_DAMAGED;
				break;
			}
			at = id + 1;
			r = row(ctx, s, err);
			if (r)
				return r;
		}
		sql_reset(s);
		if (!r)
			return 0;
		if (!salvage_goes_on(r)) {
			if (err)
				*err = e;
			return r;
		}
		if (case_stopped(v->from))
			return err_set(err, ERR_INTERRUPTED, "stopped");
		++*ret_holes;
		at = find_next(s, at);
		r = 0;
		if (!at)
			return 0;
	}
	return salvage_goes_on(r) ? ++*ret_holes, 0 : r;
}

int salvage_get(struct sql *s, int64_t row, struct err *err)
{
	struct err e = {0};
	int r = sql_int(s, 1, row, err);
	if (r)
		return r;
	r = sql_step(s, &e);
	if (r >= 0)
		return r;
	sql_reset(s);
	if (salvage_goes_on(r))
		return 0;
	if (err)
		*err = e;
	return r;
}

/* A flipped bit can turn a text into a blob of the same bytes, which a seal does not tell apart. */
static int copy_cell(struct sql *from, struct sql *to, int col, bool blobs, struct err *err)
{
	struct text t;
	switch (sql_type(from, col)) {
	case SQL_NULL: return sql_null(to, col + 1, err);
	case SQL_INT: return sql_int(to, col + 1, sql_get_int(from, col), err);
	case SQL_REAL: return sql_real(to, col + 1, sql_get_real(from, col), err);
	default:
		t = sql_get_text(from, col);
		t = t.ptr ? t : TEXT("");
		return blobs ? sql_blob(to, col + 1, t, err) : sql_text(to, col + 1, t, err);
	}
}

int salvage_copy(struct sql *from, struct sql *to, bool blobs, struct err *err)
{
	int r;
	while ((r = sql_step(from, err)) > 0) {
		r = 0;
		for (int col = 0; !r && col < sql_columns(from); col++)
			r = copy_cell(from, to, col, blobs, err);
		if (!r)
			r = sql_run(to, err);
		if (r)
			return r;
	}
	return r;
}

int evidence_lost(struct case_file *c, int64_t source, uint64_t from, uint64_t to, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int r = sql_prepare(&s, c,
			    "SELECT 1 FROM main.reject WHERE source = ?1 AND byte_off = ?2 AND byte_len = ?3 "
			    "AND reason = '" EVIDENCE_LOST "'",
			    err);
	if (!r)
		r = sql_int(s, 1, source, err);
	if (!r)
		r = sql_int(s, 2, (int64_t)from, err);
	if (!r)
		r = sql_int(s, 3, (int64_t)(to - from), err);
	return r ? r : sql_step(s, err);
}
