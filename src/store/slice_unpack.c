/* SPDX-License-Identifier: Apache-2.0 */
/* slice_unpack.c - values of events out of their records again
 *
 * Nothing in the bytes is believed: a place has to lie in its record, and a value is read against the record's end.
 */
#include <stdlib.h>

#include "slice.h"

/* A column being read. */
struct reader {
	struct slice_rows *rows;
	unsigned rule;
	bool since, minus;
	unsigned char end_byte;
	int64_t *gap, *rest;
	uint8_t *sliced;
	struct pack_reader own; /* values that are not in their records; empty: none */
};

static int damaged(const char *what, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "slices: %s", what);
}

static bool take_block(struct pack_reader *in, struct pack_reader *ret)
{
	uint64_t len;
	if (!unpack_varint(in, &len) || len > (uint64_t)(in->end - in->at))
		return false;
	*ret = (struct pack_reader){in->at, in->at + len};
	in->at += len;
	return true;
}

static void reader_close(struct reader *x)
{
	free(x->gap);
	free(x->rest);
	free(x->sliced);
}

/* A bit a row, or the rows of the column before; *ret_m: how many. */
static int read_rows(struct reader *x, bool same, struct pack_reader *in, uint32_t *ret_m, struct err *err)
{
	const struct slice_rows *rows = x->rows;
	size_t bytes = ((size_t)rows->n + 7) / 8;
	if (!same && (size_t)(in->end - in->at) < bytes)
		return damaged("rows are cut", err);
	*ret_m = 0;
	for (uint32_t i = 0; i < rows->n; i++)
		*ret_m += x->sliced[i] = same ? rows->before[i] : in->at[i / 8] >> i % 8 & 1;
	memcpy(rows->before, x->sliced, rows->n);
	in->at += same ? 0 : bytes;
	return 0;
}

/* m integers, none of them missing. */
static int read_ints(int64_t *v, uint32_t m, struct pack_reader *in, struct err *err)
{
	struct pack_reader block;
	uint8_t *has = malloc((size_t)m + 1);
	if (!has)
		return err_nomem(err);
	int r = take_block(in, &block) ? unpack_ints(&block, v, has, m, err) : damaged("integers are cut", err);
	for (uint32_t i = 0; !r && i < m; i++)
		if (!has[i])
			r = damaged("an integer is missing", err);
	free(has);
	return r;
}

static int reader_open(struct reader *x, struct slice_rows *rows, struct pack_reader *in, enum column_type type,
		       struct err *err)
{
	size_t n = (size_t)rows->n + 1;
	uint32_t m = 0;
	*x = (struct reader){.rows = rows};
	if (in->at == in->end)
		return damaged("no rule", err);
	unsigned flags = *in->at++;
	bool same = flags & SLICE_SAME_ROWS;
	x->since = flags & SLICE_SINCE;
	x->minus = flags & SLICE_MINUS;
	x->rule = flags & (SLICE_SINCE - 1u);
	bool fits = type == COLUMN_TEXT    ? x->rule == SLICE_TEXT
		    : type == COLUMN_PAGES ? x->rule == SLICE_PAGES
					   : x->rule >= SLICE_STAMP && x->rule < SLICE_RULES;
	if (!fits || ((x->since || x->minus) && (type != COLUMN_INT || x->rule == SLICE_STAMP)) ||
	    (x->minus && !x->since))
		return damaged("a rule for another type", err);
	if (type == COLUMN_TEXT) {
		if (in->at == in->end)
			return damaged("no end byte", err);
		x->end_byte = *in->at++;
	}
	x->gap = malloc(n * sizeof(*x->gap));
	x->sliced = malloc(n);
	x->rest = type == COLUMN_INT ? malloc(n * sizeof(*x->rest)) : NULL;
	int r = x->gap && x->sliced && (x->rest || type != COLUMN_INT) ? 0 : err_nomem(err);
	if (!r)
		r = read_rows(x, same, in, &m, err);
	if (!r)
		r = read_ints(x->gap, m, in, err);
	if (!r && type == COLUMN_INT)
		r = read_ints(x->rest, m, in, err);
	x->own = *in;
	return r;
}

/* The place of row i's slice, the m-th of the column, checked. */
static inline const char *place(const struct reader *x, uint32_t i, uint32_t m)
{
	const struct slice_rows *rows = x->rows;
	int64_t gap = x->gap[m], at = (int64_t)rows->cursor[i] + gap;
	if (!rows->record[i] || gap < -(int64_t)UINT32_MAX || gap > (int64_t)UINT32_MAX || at < 0 || at > rows->len[i])
		return NULL;
	return rows->record[i] + at;
}

static inline bool set_cursor(const struct reader *x, uint32_t i, const char *stop)
{
	x->rows->cursor[i] = (uint32_t)(stop - x->rows->record[i]);
	return true;
}

static inline bool read_text(const struct reader *x, uint32_t i, uint32_t m, struct text *ret)
{
	const char *p = place(x, i, m);
	if (!p)
		return false;
	const char *stop = slice_text_end(p, x->rows->record[i] + x->rows->len[i], x->end_byte);
	if (ret)
		*ret = (struct text){p, (size_t)(stop - p)};
	return set_cursor(x, i, stop);
}

static inline bool read_integer(const struct reader *x, uint32_t i, uint32_t m, const int64_t *since, int64_t *ret)
{
	const char *p = place(x, i, m), *stop;
	int64_t v;
	if (!p)
		return false;
	const char *end = x->rows->record[i] + x->rows->len[i];
	if (x->rule == SLICE_STAMP ? !slice_stamp(p, end, &v, &stop)
				   : !slice_number(p, end, x->rule - SLICE_NUMBER, &v, &stop))
		return false;
	if (ret) {
		uint64_t all = (uint64_t)v + (uint64_t)x->rest[m];
		*ret = (int64_t)((x->minus ? 0 - all : all) + (x->since ? (uint64_t)since[i] : 0));
	}
	return set_cursor(x, i, stop);
}

/* Presence of the values that are kept; into scratch arrays when nobody wants them. */
static int read_own(struct reader *x, const struct slice_values *v, uint8_t *has, struct err *err)
{
	size_t size = v->type == COLUMN_INT ? sizeof(*v->ints) : sizeof(*v->texts);
	bool wanted = v->type == COLUMN_INT ? v->ints != NULL : v->texts != NULL;
	void *unused = wanted ? NULL : malloc(((size_t)x->rows->n + 1) * size);
	if (!wanted && !unused)
		return err_nomem(err);
	int r = 0;
	if (v->type == COLUMN_INT)
		r = unpack_ints(&x->own, wanted ? v->ints : unused, has, x->rows->n, err);
	if (!r && v->type == COLUMN_INT && wanted && x->since)
		for (uint32_t i = 0; i < x->rows->n; i++)
			if (has[i])
				v->ints[i] = (int64_t)((uint64_t)v->ints[i] + (uint64_t)v->since[i]);
	if (v->type == COLUMN_TEXT)
		r = unpack_texts(&x->own, wanted ? v->texts : unused, has, x->rows->n, err);
	free(unused);
	return r;
}

int slice_unpack(struct slice_rows *rows, struct pack_reader *in, const struct slice_values *v, uint8_t *has,
		 struct err *err)
{
	struct reader x;
	int r = reader_open(&x, rows, in, v->type, err);
	memset(has, 0, rows->n);
	if (!r && x.since && !v->since)
		r = damaged("times that are not there", err);
	if (!r && x.own.at < x.own.end)
		r = read_own(&x, v, has, err);
	for (uint32_t i = 0, m = 0; !r && i < rows->n; i++) {
		if (!x.sliced[i])
			continue;
		bool good = v->type == COLUMN_TEXT ? read_text(&x, i, m, v->texts ? &v->texts[i] : NULL)
						   : read_integer(&x, i, m, v->since, v->ints ? &v->ints[i] : NULL);
		m++;
		if (!good || has[i])
			r = damaged("a place", err);
		has[i] = 1;
	}
	reader_close(&x);
	return r;
}

/* --- page lists --- */

struct lists {
	struct page_run *runs;
	uint32_t *end;
	uint32_t n_runs;
};

static bool add_runs(struct page_run **to, size_t *n, size_t *cap, const struct page_run *from, size_t m)
{
	if (m > *cap - *n) {
		size_t more = 2 * (*cap + m);
		struct page_run *p = realloc(*to, more * sizeof(*p));
		if (!p)
			return false;
		*to = p;
		*cap = more;
	}
	if (m)
		memcpy(*to + *n, from, m * sizeof(*from));
	*n += m;
	return true;
}

/* The list of row i, which has no more runs than every second byte of its record. */
static int read_list(const struct reader *x, uint32_t i, uint32_t slice, struct page_run **room, size_t *room_cap,
		     size_t *ret_n, struct err *err)
{
	const char *p = place(x, i, slice), *stop;
	size_t most = (size_t)x->rows->len[i] / 2 + 1;
	if (!p)
		return damaged("a place", err);
	if (most > *room_cap) {
		struct page_run *more = realloc(*room, 2 * most * sizeof(*more));
		if (!more)
			return err_nomem(err);
		*room = more;
		*room_cap = 2 * most;
	}
	*ret_n = slice_pages(p, x->rows->record[i] + x->rows->len[i], *room, *room_cap, &stop);
	if (*ret_n == SIZE_MAX)
		return damaged("a page list", err);
	return set_cursor(x, i, stop) ? 0 : ERR_BUG;
}

static int read_lists(struct reader *x, const struct lists *own, uint8_t *has, struct page_run **all, size_t *n,
		      uint32_t *run_end, struct err *err)
{
	struct page_run *room = NULL;
	size_t room_cap = 0, cap = 0;
	uint32_t slice = 0;
	int r = 0;
	for (uint32_t i = 0; !r && i < x->rows->n; i++) {
		const struct page_run *from = NULL;
		size_t m = 0;
		if (x->sliced[i]) {
			r = has[i] ? damaged("a value twice", err)
				   : read_list(x, i, slice++, &room, &room_cap, &m, err);
			from = room;
			has[i] = 1;
		} else if (has[i]) {
			from = own->runs + (i ? own->end[i - 1] : 0);
			m = own->end[i] - (i ? own->end[i - 1] : 0);
		}
		if (!r && *n + m > CHUNK_MAX_DECODED_BYTES / sizeof(**all))
			r = damaged("page lists claim too much", err);
		if (!r && !add_runs(all, n, &cap, from, m))
			r = err_nomem(err);
		if (run_end)
			run_end[i] = (uint32_t)*n;
	}
	free(room);
	return r;
}

int slice_unpack_pages(struct slice_rows *rows, struct pack_reader *in, struct arena *arena, struct page_run **ret_runs,
		       uint32_t *ret_n_runs, uint32_t *run_end, uint8_t *has, struct err *err)
{
	struct reader x;
	struct lists own = {.end = malloc(((size_t)rows->n + 1) * sizeof(*own.end))};
	struct page_run *all = NULL;
	struct arena tmp;
	size_t n = 0;
	arena_init(&tmp, 0);
	int r = reader_open(&x, rows, in, COLUMN_PAGES, err);
	memset(has, 0, rows->n);
	if (!r && !own.end)
		r = err_nomem(err);
	if (!r && x.own.at < x.own.end)
		r = unpack_runs(&x.own, &tmp, &own.runs, &own.n_runs, own.end, has, rows->n, err);
	if (!r)
		r = read_lists(&x, &own, has, &all, &n, arena ? run_end : NULL, err);
	if (!r && arena) {
		*ret_runs = arena_array(arena, n + 1, sizeof(**ret_runs));
		*ret_n_runs = (uint32_t)n;
		if (!*ret_runs)
			r = err_nomem(err);
		else if (n)
			memcpy(*ret_runs, all, n * sizeof(*all));
	}
	free(all);
	free(own.end);
	arena_done(&tmp);
	reader_close(&x);
	return r;
}
