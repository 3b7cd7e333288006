/* SPDX-License-Identifier: Apache-2.0 */
/* slice_pack.c - finds values of events in their records
 *
 * A value is looked for where the last ones of its column stood, then in the whole record. A column for which that fails
 * often, or that costs as little as a column of values, is not sliced. The number of searches is bounded, so time is linear
 * in the batch and its records.
 */
#include <stdlib.h>

#include "slice.h"

enum { GAPS = 4, TRIES = 16, MATCHES_MAX = 8 };
enum { WORTH_BYTES = 64, RUNS_ROOM = 4096 };

#define ZONE_STEP INT64_C(900000000000) /* zones differ from UTC by quarters of an hour */
#define ZONE_MAX  (104 * ZONE_STEP)

/* One column being looked for. */
struct search {
	struct slicer *x;
	const struct slice_values *v;
	unsigned rule, flags;
	unsigned char end_byte;
	int64_t gaps[GAPS]; /* the last ones, newest first */
	unsigned n_gaps;
	int64_t rest;
	const struct page_run *runs; /* of the row at hand */
	uint32_t n_runs;
};

int slicer_open(struct slicer *x, const struct event_batch *b, struct text bytes, uint64_t off, struct err *err)
{
	size_t n = (size_t)b->n + 1;
	*x = (struct slicer){.rows = {.n = b->n, .len = b->byte_len}, .runs_cap = RUNS_ROOM};
	x->rows.record = calloc(n, sizeof(*x->rows.record));
	x->rows.cursor = calloc(n, sizeof(*x->rows.cursor));
	x->rows.before = calloc(n, 1);
	x->gap = malloc(n * sizeof(*x->gap));
	x->rest = malloc(n * sizeof(*x->rest));
	x->end = malloc(n * sizeof(*x->end));
	x->sliced = malloc(n);
	x->own = malloc(n);
	x->runs = malloc(x->runs_cap * sizeof(*x->runs));
	if (!x->rows.record || !x->rows.cursor || !x->rows.before || !x->gap || !x->rest || !x->end || !x->sliced ||
	    !x->own || !x->runs)
		return err_nomem(err);
	slice_place(b, bytes, off, x->rows.record);
	return 0;
}

void slicer_close(struct slicer *x)
{
	free(x->rows.record);
	free(x->rows.cursor);
	free(x->rows.before);
	free(x->gap);
	free(x->rest);
	free(x->end);
	free(x->sliced);
	free(x->own);
	free(x->runs);
}

/* --- one value --- */

static inline bool text_at(const struct search *s, struct text t, const char *p, const char *end, const char **ret_stop)
{
	if (t.len > (size_t)(end - p) || memcmp(p, t.ptr, t.len))
		return false;
	*ret_stop = p + t.len;
	if (s->end_byte == SLICE_END_WORD)
		return slice_text_end(p, end, s->end_byte) == *ret_stop;
	return (*ret_stop == end || **ret_stop == (char)s->end_byte) && !memchr(t.ptr, s->end_byte, t.len);
}

static inline bool integer_at(const struct search *s, int64_t value, const char *p, const char *end,
			      const char **ret_stop, int64_t *ret_rest)
{
	int64_t v;
	if (s->rule == SLICE_STAMP ? !slice_stamp(p, end, &v, ret_stop)
				   : !slice_number(p, end, s->rule - SLICE_NUMBER, &v, ret_stop))
		return false;
	return !__builtin_sub_overflow(value, v, ret_rest);
}

/* An integer that is kept. */
static inline int64_t kept_integer(const struct search *s, uint32_t i)
{
	return (int64_t)((uint64_t)s->v->ints[i] - (s->flags & SLICE_SINCE ? (uint64_t)s->v->since[i] : 0));
}

/* What the record has to say for row i. */
static inline int64_t wanted(const struct search *s, uint32_t i)
{
	uint64_t v = (uint64_t)kept_integer(s, i);
	return (int64_t)(s->flags & SLICE_MINUS ? 0 - v : v);
}

static bool pages_at(const struct search *s, const char *p, const char *end, const char **ret_stop)
{
	struct slicer *x = s->x;
	if (s->n_runs > x->runs_cap)
		return false;
	size_t n = slice_pages(p, end, x->runs, x->runs_cap, ret_stop);
	return n == s->n_runs && !memcmp(x->runs, s->runs, n * sizeof(*x->runs));
}

/* Is the value of row i at p? An integer may differ by what the last one differed. */
static inline bool value_at(struct search *s, uint32_t i, const char *p, const char *end, const char **ret_stop)
{
	int64_t rest;
	switch (s->v->type) {
	case COLUMN_TEXT: return text_at(s, s->v->texts[i], p, end, ret_stop);
	case COLUMN_PAGES: return pages_at(s, p, end, ret_stop);
	default: return integer_at(s, wanted(s, i), p, end, ret_stop, &rest) && rest == s->rest;
	}
}

static inline bool begins_token(const char *record, const char *p)
{
	return p == record || slice_text_end(p - 1, p, SLICE_END_WORD) == p - 1 || p[-1] == ':';
}

static bool number_begins(const struct search *s, const char *p)
{
	return s->v->type == COLUMN_PAGES ? *p == '[' : (*p >= '0' && *p <= '9') || *p == '-';
}

/* Looks for an integer or a list in [p, end). */
static const char *find_number(struct search *s, uint32_t i, const char *record, const char *p, const char *end,
			       const char **ret_stop)
{
	int64_t rest;
	for (unsigned tokens = 0; p < end && tokens < 64; p++) {
		if (!number_begins(s, p) || !begins_token(record, p))
			continue;
		tokens++;
		if (s->v->type == COLUMN_PAGES) {
			if (pages_at(s, p, end, ret_stop))
				return p;
			continue;
		}
		if (!integer_at(s, wanted(s, i), p, end, ret_stop, &rest))
			continue;
		if (!rest || (s->rule == SLICE_STAMP && rest % ZONE_STEP == 0 && rest < ZONE_MAX && rest > -ZONE_MAX)) {
			s->rest = rest;
			return p;
		}
	}
	return NULL;
}

/* A text sets the end byte when it is the first one. */
static const char *find_text(struct search *s, uint32_t i, const char *p, const char *end, bool first,
			     const char **ret_stop)
{
	struct text t = s->v->texts[i];
	for (unsigned n = 0; n < MATCHES_MAX && t.len && (p = memmem(p, (size_t)(end - p), t.ptr, t.len)); n++, p++) {
		if (first) {
			const char *stop = p + t.len;
			bool word = stop < end && slice_text_end(stop, stop + 1, SLICE_END_WORD) > stop;
			if (word || (stop < end && memchr(t.ptr, *stop, t.len)))
				continue; /* a part of something longer */
			s->end_byte = stop < end && *stop ? (unsigned char)*stop : SLICE_END_WORD;
		}
		if (text_at(s, t, p, end, ret_stop))
			return p;
	}
	return NULL;
}

static const char *find_value(struct search *s, uint32_t i, uint32_t from, bool first, const char **ret_stop)
{
	const char *record = s->x->rows.record[i], *end = record + s->x->rows.len[i];
	if (s->v->type == COLUMN_TEXT)
		return find_text(s, i, record + from, end, first, ret_stop);
	return find_number(s, i, record, record + from, end, ret_stop);
}

static void set_row(struct search *s, uint32_t i)
{
	if (s->v->type != COLUMN_PAGES)
		return;
	uint32_t from = i ? s->v->run_end[i - 1] : 0;
	s->runs = s->v->runs ? s->v->runs + from : NULL;
	s->n_runs = s->v->run_end[i] - from;
}

/* --- a column --- */

static bool fill_row(struct search *s, uint32_t i, const char *p, const char *stop)
{
	struct slicer *x = s->x;
	x->gap[i] = p - x->rows.record[i] - (int64_t)x->rows.cursor[i];
	x->end[i] = (uint32_t)(stop - x->rows.record[i]);
	x->rest[i] = s->rest;
	x->sliced[i] = true;
	return true;
}

/* Where the last ones stood; the one that fits comes to the front. */
static inline bool guess_row(struct search *s, uint32_t i)
{
	struct slicer *x = s->x;
	const char *record = x->rows.record[i], *end = record + x->rows.len[i], *stop;
	for (unsigned g = 0; g < s->n_gaps; g++) {
		int64_t gap = s->gaps[g], at = (int64_t)x->rows.cursor[i] + gap;
		if (at < 0 || at >= end - record || !value_at(s, i, record + at, end, &stop))
			continue;
		for (unsigned k = g; k; k--)
			s->gaps[k] = s->gaps[k - 1];
		s->gaps[0] = gap;
		return fill_row(s, i, record + at, stop);
	}
	return false;
}

static bool search_row(struct search *s, uint32_t i)
{
	struct slicer *x = s->x;
	const char *stop, *p = NULL;
	if (x->rows.cursor[i] < x->rows.len[i])
		p = find_value(s, i, x->rows.cursor[i], false, &stop);
	if (!p && x->rows.cursor[i])
		p = find_value(s, i, 0, false, &stop);
	if (!p)
		return false;
	fill_row(s, i, p, stop);
	s->n_gaps = MIN(s->n_gaps + 1, (unsigned)GAPS);
	for (unsigned k = s->n_gaps - 1; k; k--)
		s->gaps[k] = s->gaps[k - 1];
	s->gaps[0] = x->gap[i];
	return true;
}

/* All rows; false when too many values are not where they should be. */
static bool search_column(struct search *s, const uint8_t *has, uint32_t *ret_own)
{
	struct slicer *x = s->x;
	uint32_t done = 0, missed = 0, searched = 0;
	for (uint32_t i = 0; i < x->rows.n; i++) {
		x->sliced[i] = x->own[i] = false;
		if (!has[i])
			continue;
		done++;
		set_row(s, i);
		if (x->rows.record[i] && guess_row(s, i))
			continue;
		if (!x->rows.record[i] || searched > TRIES + done / 4 || (searched++, !search_row(s, i))) {
			x->own[i] = true;
			missed++;
		}
		if (missed > TRIES + (s->v->type == COLUMN_INT ? done / 4 * 3 : done / 8))
			return false;
	}
	*ret_own = missed;
	return true;
}

/* The row among the first that says most about how integers look: the one with the largest; UINT32_MAX: there is none. */
static uint32_t sample_row(const struct search *s, const uint8_t *has)
{
	const struct slicer *x = s->x;
	uint32_t best = UINT32_MAX;
	int64_t largest = 0;
	for (uint32_t i = 0, seen = 0; i < x->rows.n && seen < TRIES; i++) {
		if (!has[i] || !x->rows.record[i])
			continue;
		seen++;
		int64_t v = wanted(s, i);
		if (v > largest || (best == UINT32_MAX && !s->flags)) {
			largest = v;
			best = i;
		}
	}
	return best;
}

/* The rule of a column of integers as the flags have it. */
static const char *find_integers(struct search *s, const uint8_t *has, uint32_t *ret_row, const char **ret_stop)
{
	static const unsigned rules[] = {SLICE_NUMBER, SLICE_NUMBER + 3, SLICE_STAMP, SLICE_NUMBER + 1,
					 SLICE_NUMBER + 2};
	const char *p = NULL;
	*ret_row = sample_row(s, has);
	for (unsigned k = 0; *ret_row != UINT32_MAX && !p && k < ARRAY_SIZE(rules); k++) {
		s->rule = rules[k];
		if (!s->flags || s->rule != SLICE_STAMP)
			p = find_value(s, *ret_row, 0, true, ret_stop);
	}
	return p;
}

/* Finds the rule with these flags, and the place in a sample row. NULL: none fits. */
static const char *find_rule(struct search *s, unsigned flags, const uint8_t *has, uint32_t *ret_row,
			     const char **ret_stop)
{
	s->flags = flags;
	s->rest = s->n_gaps = 0;
	if (s->v->type == COLUMN_INT)
		return find_integers(s, has, ret_row, ret_stop);
	const struct slicer *x = s->x;
	const char *p = NULL;
	s->rule = s->v->type == COLUMN_TEXT ? SLICE_TEXT : SLICE_PAGES;
	for (uint32_t i = 0, seen = 0; !p && i < x->rows.n && seen < TRIES; i++) {
		if (!has[i] || !x->rows.record[i])
			continue;
		seen++;
		*ret_row = i;
		set_row(s, i);
		p = find_value(s, i, 0, true, ret_stop);
	}
	return p;
}

/* Flag sets to try, one by one; only integers other than the times have more than the first. */
static const unsigned all_flags[] = {0, SLICE_SINCE, SLICE_SINCE | SLICE_MINUS};

static unsigned count_flags(const struct slice_values *v)
{
	return v->type == COLUMN_INT && v->since ? ARRAY_SIZE(all_flags) : 1;
}

uint32_t slicer_place(struct slicer *x, const struct slice_values *v, const uint8_t *has)
{
	struct search s = {.x = x, .v = v};
	const char *stop, *p = NULL;
	uint32_t i;
	for (unsigned f = 0; !p && f < count_flags(v); f++)
		p = find_rule(&s, all_flags[f], has, &i, &stop);
	return p ? (uint32_t)(p - x->rows.record[i]) : UINT32_MAX;
}

/* --- is it worth it? --- */

/* The texts seen last; one that is not among them will most likely be an entry of its own. */
struct recent {
	struct text text[4];
	unsigned next;
};

static size_t cost_of_text(struct recent *r, struct text t)
{
	for (unsigned i = 0; i < ARRAY_SIZE(r->text); i++)
		if (text_eq(r->text[i], t))
			return 1;
	r->text[r->next++ % ARRAY_SIZE(r->text)] = t;
	return 1 + t.len / 2;
}

/* Bytes that the column takes as values, roughly, before zstd: what is the same as before costs nothing. Slices say only
 * once in which rows several columns have values. */
static size_t cost_of_values(const struct slice_values *v, const uint8_t *has, uint32_t n)
{
	struct recent recent = {0};
	size_t cost = memchr(has, 0, n) ? n / 16 : 0;
	int64_t step = 0, last = 0;
	struct text before = {NULL, 0};
	for (uint32_t i = 0; i < n; i++) {
		if (!has[i])
			continue;
		if (v->type == COLUMN_INT) {
			int64_t d = (int64_t)((uint64_t)v->ints[i] - (uint64_t)last);
			cost += d == step ? 0 : varint_size(zigzag(d));
			step = d;
			last = v->ints[i];
		} else if (v->type == COLUMN_PAGES) {
			cost += 3;
		} else if (!text_eq(v->texts[i], before)) {
			before = v->texts[i];
			cost += cost_of_text(&recent, before);
		}
	}
	return cost;
}

/* The same of the slices at hand, and of the values that are kept. Places that change are mostly one of two. */
static size_t cost_of_slices(const struct search *s)
{
	const struct slicer *x = s->x;
	size_t places = 0, rests = 0, kept = 0;
	int64_t gap = 0, rest = 0, value = 0;
	for (uint32_t i = 0; i < x->rows.n; i++) {
		if (x->own[i] && s->v->type != COLUMN_INT) {
			kept += 4;
		} else if (x->own[i]) {
			int64_t v = kept_integer(s, i);
			kept += v != value ? varint_size(zigzag(v)) : 0;
			value = v;
		}
		if (!x->sliced[i])
			continue;
		places += x->gap[i] != gap;
		rests += x->rest[i] != rest;
		gap = x->gap[i];
		rest = x->rest[i];
	}
	return places / 2 + 2 * rests + kept;
}

/* --- writing --- */

/* The length of what follows, then that. */
static int put_block(struct buf *out, const struct buf *block, struct err *err)
{
	int r = pack_varint(out, block->len, err);
	return r ? r : buf_add_text(out, buf_text(block), err);
}

static int put_own(const struct search *s, struct buf *out, struct err *err)
{
	struct slicer *x = s->x;
	const struct slice_values *v = s->v;
	switch (v->type) {
	case COLUMN_INT:
		for (uint32_t i = 0; i < x->rows.n; i++)
			x->rest[i] = x->own[i] ? kept_integer(s, i) : 0;
		return pack_ints(out, x->rest, x->own, x->rows.n, err);
	case COLUMN_TEXT: return pack_texts(out, v->texts, x->own, x->rows.n, err);
	default: return pack_runs(out, v->runs, v->run_end, x->own, x->rows.n, err);
	}
}

/* A bit a row. */
static int put_rows(const struct slicer *x, struct buf *out, struct err *err)
{
	size_t bytes = ((size_t)x->rows.n + 7) / 8;
	int r = buf_reserve(out, bytes, err);
	if (r)
		return r;
	unsigned char *p = (unsigned char *)out->ptr + out->len;
	memset(p, 0, bytes);
	for (uint32_t i = 0; i < x->rows.n; i++)
		p[i / 8] |= (unsigned char)(x->sliced[i] << i % 8);
	out->len += bytes;
	out->ptr[out->len] = 0;
	return 0;
}

static int write_column(struct slicer *x, const struct search *s, uint32_t own, struct buf *out, struct err *err)
{
	CLEANUP(buf_done) struct buf block = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	bool same = !memcmp(x->sliced, x->rows.before, x->rows.n);
	uint32_t m = 0;
	memcpy(x->rows.before, x->sliced, x->rows.n);
	for (uint32_t i = 0; i < x->rows.n; i++) {
		if (!x->sliced[i])
			continue;
		x->rows.cursor[i] = x->end[i];
		x->rest[m] = x->rest[i];
		x->gap[m++] = x->gap[i];
	}
	int r = buf_add_char(out, (char)(s->rule | s->flags | (same ? SLICE_SAME_ROWS : 0)), err);
	if (!r && s->v->type == COLUMN_TEXT)
		r = buf_add_char(out, (char)s->end_byte, err);
	if (!r && !same)
		r = put_rows(x, out, err);
	if (!r)
		r = pack_ints(&block, x->gap, NULL, m, err);
	if (!r)
		r = put_block(out, &block, err);
	buf_clear(&block);
	if (!r && s->v->type == COLUMN_INT)
		r = pack_ints(&block, x->rest, NULL, m, err);
	if (!r && s->v->type == COLUMN_INT)
		r = put_block(out, &block, err);
	return r || !own ? r : put_own(s, out, err);
}

/* Are slices, as the flags have them, worth it? */
static bool try_slices(struct search *s, unsigned flags, const uint8_t *has, size_t cost_limit, uint32_t *ret_own)
{
	const char *stop;
	uint32_t i;
	if (!find_rule(s, flags, has, &i, &stop))
		return false;
	bool good = search_column(s, has, ret_own);
	if ((!good || *ret_own > TRIES) && s->v->type == COLUMN_TEXT && s->end_byte != SLICE_END_WORD) {
		s->end_byte = SLICE_END_WORD; /* what stands behind it varies */
		good = search_column(s, has, ret_own);
	}
	return good && cost_of_slices(s) <= cost_limit;
}

int slicer_pack(struct slicer *x, const struct slice_values *v, const uint8_t *has, struct buf *out, struct err *err)
{
	struct search s = {.x = x, .v = v};
	size_t cost = cost_of_values(v, has, x->rows.n);
	bool good = false;
	uint32_t own = 0;
	if (cost < WORTH_BYTES + x->rows.n / 32)
		return 0;
	for (unsigned f = 0; !good && f < count_flags(v); f++)
		good = try_slices(&s, all_flags[f], has, cost / 2, &own);
	if (!good)
		return 0;
	int r = write_column(x, &s, own, out, err);
	return r ? r : 1;
}
