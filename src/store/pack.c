/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c - one column of a batch as bytes, before compression
 *
 * Every column begins with a flag byte; when only some rows have a value a bitmap follows. Integers are divided by a
 * power of 1000 that divides all of them, then stored as a constant, as they are, or as differences, whatever is
 * shortest. Texts and page lists are dictionaries in order of first use; a code counts back from the newest entry, 0
 * being a new one, so that requests that are alive together have small codes. A page list that comes again (a free of
 * what was allocated) costs one code. The dictionaries give up a search after a few steps: identifiers that collide on
 * purpose make them larger, not slow.
 */
#include <stdlib.h>
#include <string.h>

#include "pack.h"

enum { FLAG_BITMAP = 1, FORM_SHIFT = 1, SCALE_SHIFT = 4 };
enum { INTS_CONST = 0, INTS_PLAIN = 1, INTS_DELTA = 2 };
enum { CODES_NONE = 0, CODES_BYTE = 1, CODES_BACK = 2 };
enum { RUN_MAX = 10 /* two of 33 bits */ };

static const int64_t scales[] = {1, 1000, 1000000, 1000000000};

int pack_varint(struct buf *out, uint64_t v, struct err *err)
{
	unsigned char tmp[VARINT_MAX];
	return buf_add(out, tmp, (size_t)(put_varint(tmp, v) - tmp), err);
}

static int damaged(const char *what, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "column: %s", what);
}

/* Room for the worst case, once; then written through a plain pointer. */
static int open_room(struct buf *out, size_t bytes, unsigned char **ret, struct err *err)
{
	int r = buf_reserve(out, bytes, err);
	if (!r)
		*ret = (unsigned char *)out->ptr + out->len;
	return r;
}

static void close_room(struct buf *out, const unsigned char *p)
{
	out->len = (size_t)((const char *)p - out->ptr);
	out->ptr[out->len] = 0;
}

/* --- presence --- */

static uint32_t count_has(const uint8_t *has, uint32_t n)
{
	uint32_t m = 0;
	if (!has)
		return n;
	for (uint32_t i = 0; i < n; i++)
		m += has[i];
	return m;
}

static int put_flags(struct buf *out, unsigned flags, const uint8_t *has, uint32_t n, uint32_t m, struct err *err)
{
	unsigned char *p;
	int r = open_room(out, 1 + ((size_t)n + 7) / 8, &p, err);
	if (r)
		return r;
	*p++ = (unsigned char)(flags | (m < n ? FLAG_BITMAP : 0));
	if (m < n) {
		memset(p, 0, (n + 7) / 8);
		for (uint32_t i = 0; i < n; i++)
			p[i / 8] |= (unsigned char)(has[i] << i % 8);
		p += (n + 7) / 8;
	}
	close_room(out, p);
	return 0;
}

static int get_flags(struct pack_reader *in, unsigned *ret, uint8_t *has, uint32_t n, uint32_t *ret_m, struct err *err)
{
	if (in->at == in->end)
		return damaged("no flags", err);
	unsigned flags = *in->at++;
	*ret = flags;
	*ret_m = n;
	if (!(flags & FLAG_BITMAP)) {
		memset(has, 1, n);
		return 0;
	}
	size_t bytes = ((size_t)n + 7) / 8;
	if ((size_t)(in->end - in->at) < bytes)
		return damaged("bitmap is cut", err);
	uint32_t m = 0;
	for (uint32_t i = 0; i < n; i++)
		m += has[i] = in->at[i / 8] >> i % 8 & 1;
	in->at += bytes;
	*ret_m = m;
	return 0;
}

/* --- integers --- */

/* The largest power of 1000 (up to 10^9) that divides every value. */
static unsigned find_scale(const int64_t *v, const uint8_t *has, uint32_t n)
{
	unsigned k = 3;
	for (uint32_t i = 0; i < n && k; i++)
		while ((!has || has[i]) && v[i] && k && v[i] % scales[k])
			k--;
	return k;
}

int pack_ints(struct buf *out, const int64_t *v, const uint8_t *has, uint32_t n, struct err *err)
{
	uint32_t m = count_has(has, n);
	unsigned k = find_scale(v, has, n), form = INTS_CONST;
	size_t plain = 0, delta = 0;
	uint64_t prev = 0, first = 0;
	for (uint32_t i = 0, seen = 0; i < n; i++) {
		if (has && !has[i])
			continue;
		uint64_t x = (uint64_t)(k ? v[i] / scales[k] : v[i]);
		if (!seen++)
			first = x;
		else if (x != first)
			form = INTS_PLAIN;
		plain += varint_size(zigzag((int64_t)x));
		delta += varint_size(zigzag((int64_t)(x - prev)));
		prev = x;
	}
	if (form != INTS_CONST && delta < plain)
		form = INTS_DELTA;
	int r = put_flags(out, form << FORM_SHIFT | k << SCALE_SHIFT, has, n, m, err);
	unsigned char *p;
	if (!r)
		r = open_room(out, MIN(plain, delta) + VARINT_MAX, &p, err);
	if (r || !m)
		return r;
	if (form == INTS_CONST)
		p = put_varint(p, zigzag((int64_t)first));
	prev = 0;
	for (uint32_t i = 0; form != INTS_CONST && i < n; i++) {
		if (has && !has[i])
			continue;
		uint64_t x = (uint64_t)(k ? v[i] / scales[k] : v[i]);
		p = put_varint(p, zigzag((int64_t)(x - prev)));
		if (form == INTS_DELTA)
			prev = x;
	}
	close_room(out, p);
	return 0;
}

int unpack_ints(struct pack_reader *in, int64_t *v, uint8_t *has, uint32_t n, struct err *err)
{
	unsigned flags;
	uint32_t m;
	int r = get_flags(in, &flags, has, n, &m, err);
	if (r)
		return r;
	unsigned form = flags >> FORM_SHIFT & 7, k = flags >> SCALE_SHIFT;
	if (form > INTS_DELTA || k >= ARRAY_SIZE(scales))
		return damaged("unknown form of integers", err);
	uint64_t scale = (uint64_t)scales[k], x = 0, prev = 0;
	for (uint32_t i = 0, seen = 0; i < n; i++) {
		if (!has[i])
			continue;
		if (form != INTS_CONST || !seen) {
			if (!unpack_varint(in, &x))
				return damaged("integers are cut", err);
			x = (uint64_t)unzigzag(x) + prev;
			if (form == INTS_DELTA)
				prev = x;
		}
		seen = 1;
		v[i] = (int64_t)(x * scale);
	}
	return in->at == in->end ? 0 : damaged("bytes left over", err);
}

/* --- dictionaries --- */

struct dictionary {
	uint32_t *slot; /* entry + 1, by hash */
	uint32_t mask;
	uint32_t *code; /* per row with a value: its entry */
	uint32_t *row;  /* per entry: the row it was first seen in */
	uint32_t n, rows;
};

static int dictionary_open(struct dictionary *d, uint32_t rows, struct err *err)
{
	uint32_t slots = 64;
	while (slots < rows * 2)
		slots *= 2;
	d->mask = slots - 1;
	d->slot = calloc(slots, sizeof(*d->slot));
	d->code = malloc(((size_t)rows + 1) * sizeof(*d->code));
	d->row = malloc(((size_t)rows + 1) * sizeof(*d->row));
	return d->slot && d->code && d->row ? 0 : err_nomem(err);
}

static void dictionary_close(struct dictionary *d)
{
	free(d->slot);
	free(d->code);
	free(d->row);
}

/* Entry of row i; same(ctx, a, b) compares two rows. */
static inline void dictionary_put(struct dictionary *d, uint32_t i, uint64_t hash,
				  bool (*same)(const void *ctx, uint32_t a, uint32_t b), const void *ctx)
{
	uint32_t at = (uint32_t)hash & d->mask, probes = 0;
	for (; d->slot[at] && probes < PROBES_MAX; at = (at + 1) & d->mask, probes++) {
		uint32_t e = d->slot[at] - 1;
		if (same(ctx, d->row[e], i)) {
			d->code[d->rows++] = e;
			return;
		}
	}
	if (probes < PROBES_MAX)
		d->slot[at] = d->n + 1;
	d->row[d->n] = i;
	d->code[d->rows++] = d->n++;
}

static unsigned codes_form(const struct dictionary *d)
{
	return d->n <= 1 ? CODES_NONE : d->n <= 256 ? CODES_BYTE : CODES_BACK;
}

static int put_codes(struct buf *out, const struct dictionary *d, struct err *err)
{
	unsigned char *p;
	unsigned form = codes_form(d);
	int r = form == CODES_NONE ? 0 : open_room(out, (size_t)d->rows * 5, &p, err);
	if (r || form == CODES_NONE)
		return r;
	for (uint32_t i = 0, next = 0; i < d->rows; i++) {
		uint32_t e = d->code[i];
		if (form == CODES_BYTE) {
			*p++ = (unsigned char)e;
		} else if (e == next) {
			*p++ = 0;
			next++;
		} else {
			p = put_varint(p, next - e);
		}
	}
	close_room(out, p);
	return 0;
}

/* The next code of a column with d entries; *next = entries seen. */
static inline bool get_code(struct pack_reader *in, unsigned form, uint32_t d, uint32_t *next, uint32_t *ret)
{
	uint64_t back;
	if (form == CODES_NONE) {
		*ret = 0;
	} else if (form == CODES_BYTE) {
		if (in->at == in->end)
			return false;
		*ret = *in->at++;
	} else {
		if (!unpack_varint(in, &back) || back > *next)
			return false;
		*ret = back ? *next - (uint32_t)back : (*next)++;
	}
	return *ret < d;
}

/* --- texts --- */

static bool same_text(const void *ctx, uint32_t a, uint32_t b)
{
	const struct text *v = ctx;
	return v[a].len == v[b].len && (v[a].ptr == v[b].ptr || !v[a].len || !memcmp(v[a].ptr, v[b].ptr, v[a].len));
}

static void fill_texts(struct dictionary *d, const struct text *v, const uint8_t *has, uint32_t n)
{
	uint32_t last = UINT32_MAX;
	for (uint32_t i = 0; i < n; i++) {
		if (has && !has[i])
			continue;
		if (last != UINT32_MAX && same_text(v, last, i)) {
			d->code[d->rows] = d->code[d->rows - 1];
			d->rows++;
		} else {
			dictionary_put(d, i, hash_bytes(v[i].ptr, v[i].len), same_text, v);
		}
		last = i;
	}
}

static int put_texts(struct buf *out, const struct dictionary *d, const struct text *v, struct err *err)
{
	unsigned char *p;
	size_t bytes = 0;
	for (uint32_t e = 0; e < d->n; e++)
		bytes += v[d->row[e]].len + VARINT_MAX;
	int r = open_room(out, bytes + VARINT_MAX, &p, err);
	if (r)
		return r;
	p = put_varint(p, d->n);
	for (uint32_t e = 0; e < d->n; e++)
		p = put_varint(p, v[d->row[e]].len);
	for (uint32_t e = 0; e < d->n; e++) {
		struct text t = v[d->row[e]];
		if (t.len)
			memcpy(p, t.ptr, t.len);
		p += t.len;
	}
	close_room(out, p);
	return put_codes(out, d, err);
}

int pack_texts(struct buf *out, const struct text *v, const uint8_t *has, uint32_t n, struct err *err)
{
	struct dictionary d = {0};
	uint32_t m = count_has(has, n);
	int r = dictionary_open(&d, m, err);
	if (!r) {
		fill_texts(&d, v, has, n);
		r = put_flags(out, codes_form(&d) << FORM_SHIFT, has, n, m, err);
	}
	if (!r)
		r = put_texts(out, &d, v, err);
	dictionary_close(&d);
	return r;
}

static int get_texts(struct pack_reader *in, struct text *entries, uint32_t d, struct err *err)
{
	for (uint32_t e = 0; e < d; e++) {
		uint64_t len;
		if (!unpack_varint(in, &len) || len > (uint64_t)(in->end - in->at))
			return damaged("texts are cut", err);
		entries[e].len = (size_t)len;
	}
	for (uint32_t e = 0; e < d; e++) {
		if (entries[e].len > (size_t)(in->end - in->at))
			return damaged("texts are cut", err);
		entries[e].ptr = (const char *)in->at;
		in->at += entries[e].len;
	}
	return 0;
}

/* Number of entries: each takes a byte at least, and no more entries than rows. */
static int get_size(struct pack_reader *in, unsigned form, uint32_t m, uint32_t *ret, struct err *err)
{
	uint64_t d;
	if (!unpack_varint(in, &d) || d > m || d > (uint64_t)(in->end - in->at) || form > CODES_BACK)
		return damaged("size of the dictionary", err);
	*ret = (uint32_t)d;
	return 0;
}

int unpack_texts(struct pack_reader *in, struct text *v, uint8_t *has, uint32_t n, struct err *err)
{
	unsigned flags;
	uint32_t m, d = 0, next = 0, e;
	int r = get_flags(in, &flags, has, n, &m, err);
	unsigned form = r ? 0 : flags >> FORM_SHIFT;
	if (!r)
		r = get_size(in, form, m, &d, err);
	if (r)
		return r;
	struct text *entries = malloc(((size_t)d + 1) * sizeof(*entries));
	if (!entries)
		return err_nomem(err);
	r = get_texts(in, entries, d, err);
	for (uint32_t i = 0; !r && i < n; i++) {
		if (!has[i])
			continue;
		if (get_code(in, form, d, &next, &e))
			v[i] = entries[e];
		else
			r = damaged("text codes", err);
	}
	free(entries);
	if (!r && in->at != in->end)
		r = damaged("bytes left over", err);
	return r;
}

/* --- page runs --- */

struct lists {
	const struct page_run *runs;
	const uint32_t *end;
};

static inline uint32_t list_from(const struct lists *l, uint32_t row)
{
	return row ? l->end[row - 1] : 0;
}

static bool same_list(const void *ctx, uint32_t a, uint32_t b)
{
	const struct lists *l = ctx;
	uint32_t from_a = list_from(l, a), from_b = list_from(l, b), n = l->end[a] - from_a;
	return n == l->end[b] - from_b && (!n || !memcmp(l->runs + from_a, l->runs + from_b, n * sizeof(*l->runs)));
}

static int put_lists(struct buf *out, const struct dictionary *d, const struct lists *l, struct err *err)
{
	unsigned char *p;
	size_t runs = 0;
	for (uint32_t e = 0; e < d->n; e++)
		runs += l->end[d->row[e]] - list_from(l, d->row[e]);
	int r = open_room(out, (size_t)d->n * VARINT_MAX + runs * RUN_MAX + VARINT_MAX, &p, err);
	if (r)
		return r;
	p = put_varint(p, d->n);
	for (uint32_t e = 0; e < d->n; e++)
		p = put_varint(p, l->end[d->row[e]] - list_from(l, d->row[e]));
	uint64_t at = 0; /* where the run before ended */
	for (uint32_t e = 0; e < d->n; e++) {
		for (uint32_t i = list_from(l, d->row[e]); i < l->end[d->row[e]]; i++) {
			p = put_varint(p, zigzag((int64_t)(l->runs[i].first - at)));
			at = (uint64_t)l->runs[i].first + l->runs[i].count;
		}
	}
	for (uint32_t e = 0; e < d->n; e++)
		for (uint32_t i = list_from(l, d->row[e]); i < l->end[d->row[e]]; i++)
			p = put_varint(p, l->runs[i].count);
	close_room(out, p);
	return put_codes(out, d, err);
}

int pack_runs(struct buf *out, const struct page_run *runs, const uint32_t *run_end, const uint8_t *has, uint32_t n,
	      struct err *err)
{
	static const struct page_run none;
	struct dictionary d = {0};
	runs = runs ? runs : &none; /* lists, all of them empty */
	struct lists l = {runs, run_end};
	uint32_t m = count_has(has, n);
	int r = dictionary_open(&d, m, err);
	for (uint32_t i = 0; !r && i < n; i++) {
		if (has && !has[i])
			continue;
		uint32_t from = list_from(&l, i);
		dictionary_put(&d, i, hash_bytes(runs + from, (run_end[i] - from) * sizeof(*runs)), same_list, &l);
	}
	if (!r)
		r = put_flags(out, codes_form(&d) << FORM_SHIFT, has, n, m, err);
	if (!r)
		r = put_lists(out, &d, &l, err);
	dictionary_close(&d);
	return r;
}

/* Dictionary of lists as read: list e has runs [end[e-1], end[e]). */
struct lists_read {
	uint32_t *end;
	struct page_run *runs;
};

static int get_lists(struct pack_reader *in, struct lists_read *l, uint32_t d, struct err *err)
{
	uint64_t total = 0, len, at = 0, count;
	l->end = malloc(((size_t)d + 1) * sizeof(*l->end));
	if (!l->end)
		return err_nomem(err);
	for (uint32_t e = 0; e < d; e++) {
		/* a run takes two bytes at least: the bytes at hand bound what is allocated */
		if (!unpack_varint(in, &len) || len > (uint64_t)(in->end - in->at) / 2)
			return damaged("page lists are cut", err);
		total += len;
		if (total > (uint64_t)(in->end - in->at) / 2)
			return damaged("page lists are cut", err);
		l->end[e] = (uint32_t)total;
	}
	l->runs = malloc(((size_t)total + 1) * sizeof(*l->runs));
	if (!l->runs)
		return err_nomem(err);
	/* the end of a run is known only with its count: firsts are kept as differences until the counts are read */
	struct pack_reader firsts = *in;
	for (uint64_t i = 0; i < total; i++)
		if (!unpack_varint(in, &len))
			return damaged("page runs are cut", err);
	for (uint64_t i = 0; i < total; i++) {
		if (!unpack_varint(&firsts, &len) || !unpack_varint(in, &count))
			return damaged("page runs are cut", err);
		uint64_t first = at + (uint64_t)unzigzag(len);
		if (first > UINT32_MAX || count > UINT32_MAX)
			return damaged("page number", err);
		l->runs[i] = (struct page_run){(uint32_t)first, (uint32_t)count};
		at = first + count;
	}
	return 0;
}

static int expand_lists(struct pack_reader *in, const struct lists_read *l, unsigned form, uint32_t d,
			struct arena *arena, struct page_run **ret_runs, uint32_t *ret_n, uint32_t *run_end,
			const uint8_t *has, uint32_t n, struct err *err)
{
	uint32_t next = 0, *code = malloc(((size_t)n + 1) * sizeof(*code));
	uint64_t total = 0;
	int r = code ? 0 : err_nomem(err);
	for (uint32_t i = 0; !r && i < n; i++) {
		if (has[i] && !get_code(in, form, d, &next, &code[i]))
			r = damaged("page list codes", err);
		else if (has[i])
			total += l->end[code[i]] - (code[i] ? l->end[code[i] - 1] : 0);
		if (!r && total > CHUNK_MAX_DECODED_BYTES / sizeof(struct page_run))
			r = damaged("page lists claim too much", err);
		if (!r)
			run_end[i] = (uint32_t)total;
	}
	struct page_run *runs = r ? NULL : arena_array(arena, (size_t)total + 1, sizeof(*runs));
	if (!r && !runs)
		r = err_nomem(err);
	for (uint32_t i = 0, at = 0; !r && i < n; at = run_end[i], i++)
		if (run_end[i] != at)
			memcpy(runs + at, l->runs + (code[i] ? l->end[code[i] - 1] : 0),
			       (run_end[i] - at) * sizeof(*runs));
	free(code);
	if (!r && in->at != in->end)
		r = damaged("bytes left over", err);
	if (!r)
		*ret_runs = runs, *ret_n = (uint32_t)total;
	return r;
}

int unpack_runs(struct pack_reader *in, struct arena *arena, struct page_run **ret_runs, uint32_t *ret_n_runs,
		uint32_t *run_end, uint8_t *has, uint32_t n, struct err *err)
{
	unsigned flags;
	uint32_t m, d = 0;
	struct lists_read l = {0};
	int r = get_flags(in, &flags, has, n, &m, err);
	unsigned form = r ? 0 : flags >> FORM_SHIFT;
	if (!r)
		r = get_size(in, form, m, &d, err);
	if (!r)
		r = get_lists(in, &l, d, err);
	if (!r)
		r = expand_lists(in, &l, form, d, arena, ret_runs, ret_n_runs, run_end, has, n, err);
	free(l.end);
	free(l.runs);
	return r;
}
