/* SPDX-License-Identifier: Apache-2.0 */
/* row_names.c - the index of names: made from both tables that have some, read a block at a time
 *
 * Entries are sorted in runs of a few MiB, which lie in a temporary file until they are merged: memory does not follow the number
 * of names. Blocks are appended in ascending order of their key, so SQLite's tree over them is the directory.
 */
#include "row_names.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "pagetrail/limits.h"
#include "pagetrail/temp_file.h"
#include "row_chunk.h"
#include "store.h"

enum {
	PRINT_SPARE_BITS = 2, /* more than it takes to number the entries */
	GAP_BITS = NAMES_GAP_BITS,
	GAP_MAX = (64 << GAP_BITS) - 1,                /* a wider one begins a block */
	RUN_KEYS = (int)(NAMES_RUN_BYTES / 8),         /* sorted at a time */
	MERGE_KEYS = (int)(NAMES_MERGE_RUN_BYTES / 8), /* of each run, while they are merged */
	RADIX_BITS = 10
};
_Static_assert(NAMES_HEAD_BYTES + NAMES_BLOCK_ENTRIES * (64 + 1 + NAMES_GAP_BITS + NAMES_GROUP_BITS_MAX) / 8 <=
		   NAMES_BLOCK_MAX_BYTES,
	       "a full block");
_Static_assert(NAMES_PRINT_BITS_MAX + NAMES_GROUP_BITS_MAX < 64, "an entry has 64 bits");
_Static_assert(NAMES_PRINT_BITS_MAX + NAMES_KEY_PART_BITS < 63, "a block's key is a row's number");

struct row_names {
	struct case_file *c;
	uint64_t *keys, *other; /* other: room to sort in */
	uint32_t n;
	uint64_t group_max;
	uint32_t runs; /* in the file, of RUN_KEYS each */
	int fd;        /* -1: no run yet */
};

uint64_t row_names_key(uint64_t hash, int64_t request)
{
	return hash >> (64 - NAMES_PRINT_BITS_MAX) << NAMES_GROUP_BITS_MAX | ((uint64_t)request - 1) / NAMES_REQUESTS;
}

int row_names_new(struct row_names **ret, struct case_file *c, struct err *err)
{
	struct row_names *x = calloc(1, sizeof(*x));
	if (!x)
		return err_nomem(err);
	x->c = c;
	x->fd = -1;
	x->keys = malloc(RUN_KEYS * sizeof(*x->keys));
	x->other = malloc(RUN_KEYS * sizeof(*x->other));
	if (!x->keys || !x->other) {
		row_names_free(x);
		return err_nomem(err);
	}
	*ret = x;
	return 0;
}

void row_names_free(struct row_names *x)
{
	if (!x)
		return;
	if (x->fd >= 0)
		(void)close(x->fd);
	free(x->keys);
	free(x->other);
	free(x);
}

/* --- runs --- */

/* By digits, the lowest first: the same time whatever the hashes are. */
static void sort_run(struct row_names *x)
{
	enum { DIGITS = 1 << RADIX_BITS };
	for (unsigned shift = 0; shift < NAMES_PRINT_BITS_MAX + NAMES_GROUP_BITS_MAX; shift += RADIX_BITS) {
		uint32_t at[DIGITS] = {0}, sum = 0;
		for (uint32_t i = 0; i < x->n; i++)
			at[x->keys[i] >> shift & (DIGITS - 1)]++;
		for (unsigned d = 0; d < DIGITS; d++) {
			uint32_t n = at[d];
			at[d] = sum;
			sum += n;
		}
		for (uint32_t i = 0; i < x->n; i++)
			x->other[at[x->keys[i] >> shift & (DIGITS - 1)]++] = x->keys[i];
		uint64_t *swap = x->keys;
		x->keys = x->other;
		x->other = swap;
	}
}

static int file_failed(struct err *err)
{
	err_set(err, ERR_FULL, "index of names: no room for a temporary file");
	return err_hint(err, "make room, or set TMPDIR to a place that has some");
}

static int write_run(struct row_names *x, struct err *err)
{
	const char *p = (const char *)x->keys;
	const size_t bytes = RUN_KEYS * sizeof(*x->keys);
	if (x->fd < 0)
		x->fd = temp_file();
	for (size_t at = 0; at < bytes;) {
		ssize_t n = x->fd < 0 ? -1 : pwrite(x->fd, p + at, bytes - at, (off_t)(x->runs * bytes + at));
		if (n < 0 && errno == EINTR && x->fd >= 0)
			continue;
		if (n <= 0)
			return file_failed(err);
		at += (size_t)n;
	}
	x->runs++;
	x->n = 0;
	return 0;
}

int row_names_add(struct row_names *x, const uint64_t *keys, uint32_t n, struct err *err)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t group = keys[i] & ((UINT64_C(1) << NAMES_GROUP_BITS_MAX) - 1);
		if (x->n == RUN_KEYS) {
			sort_run(x);
			int r = write_run(x, err);
			if (r)
				return r;
		}
		x->keys[x->n++] = keys[i];
		x->group_max = MAX(x->group_max, group);
	}
	return 0;
}

/* --- merging --- */

/* What is at hand of one run. */
struct run {
	uint64_t *keys;
	uint32_t at, n, left; /* left: in the file behind what is at hand */
	off_t off;
};

struct merge {
	int fd;
	struct run *runs;
	uint64_t *room;
	uint32_t *heap; /* runs, the one with the lowest key first */
	uint32_t n;     /* of heap */
};

static uint64_t head_of(const struct merge *m, uint32_t i)
{
	const struct run *r = &m->runs[m->heap[i]];
	return r->keys[r->at];
}

static void sift(struct merge *m, uint32_t i)
{
	for (;;) {
		uint32_t least = i, l = 2 * i + 1, r = l + 1;
		if (l < m->n && head_of(m, l) < head_of(m, least))
			least = l;
		if (r < m->n && head_of(m, r) < head_of(m, least))
			least = r;
		if (least == i)
			return;
		uint32_t swap = m->heap[i];
		m->heap[i] = m->heap[least];
		m->heap[least] = swap;
		i = least;
	}
}

/* More of a run that is used up; leaves it empty where its end is. */
static int refill(const struct merge *m, struct run *r, struct err *err)
{
	uint32_t n = MIN(r->left, (uint32_t)MERGE_KEYS);
	size_t bytes = n * sizeof(*r->keys);
	for (size_t at = 0; at < bytes;) {
		ssize_t got = pread(m->fd, (char *)r->keys + at, bytes - at, r->off + (off_t)at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return file_failed(err);
		at += (size_t)got;
	}
	r->at = 0;
	r->n = n;
	r->left -= n;
	r->off += (off_t)bytes;
	return 0;
}

static void merge_done(struct merge *m)
{
	free(m->runs);
	free(m->room);
	free(m->heap);
}

/* The last run is in memory. */
static int merge_open(struct merge *m, struct row_names *x, struct err *err)
{
	sort_run(x);
	m->fd = x->fd;
	m->runs = calloc((size_t)x->runs + 1, sizeof(*m->runs));
	m->heap = calloc((size_t)x->runs + 1, sizeof(*m->heap));
	m->room = malloc(((size_t)x->runs + 1) * MERGE_KEYS * sizeof(*m->room));
	int r = m->runs && m->heap && m->room ? 0 : err_nomem(err);
	for (uint32_t i = 0; i < x->runs && !r; i++) {
		m->runs[i] = (struct run){.keys = m->room + (size_t)i * MERGE_KEYS,
					  .left = RUN_KEYS,
					  .off = (off_t)(i * RUN_KEYS * sizeof(*x->keys))};
		r = refill(m, &m->runs[i], err);
		m->heap[m->n++] = i;
	}
	if (!r && x->n) {
		m->runs[x->runs] = (struct run){.keys = x->keys, .n = x->n};
		m->heap[m->n++] = x->runs;
	}
	for (uint32_t i = m->n; i-- > 0 && !r;)
		sift(m, i);
	return r;
}

/* 1: the next key, 0: there is none. */
static int merge_next(struct merge *m, uint64_t *key, struct err *err)
{
	if (!m->n)
		return 0;
	struct run *r = &m->runs[m->heap[0]];
	*key = r->keys[r->at++];
	int res = r->at == r->n ? refill(m, r, err) : 0;
	if (res)
		return res;
	if (r->at == r->n)
		m->heap[0] = m->heap[--m->n];
	sift(m, 0);
	return 1;
}

/* --- blocks --- */

static unsigned bits_of(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 1;
}

struct block_writer {
	struct sql *insert;
	unsigned print_bits, group_bits;
	struct buf bytes;
	uint64_t held; /* bits that are no byte yet, the lowest first */
	unsigned n_held;
	uint32_t n;
	uint64_t first, print, part;
};

static int put_bits(struct block_writer *w, uint64_t v, unsigned n, struct err *err)
{
	int r = 0;
	w->held |= v << w->n_held;
	for (w->n_held += n; w->n_held >= 8 && !r; w->n_held -= 8) {
		r = buf_add_char(&w->bytes, (char)(w->held & 0xff), err);
		w->held >>= 8;
	}
	return r;
}

static int block_begin(struct block_writer *w, uint64_t print, struct err *err)
{
	w->part = print == w->first ? w->part + 1 : 0;
	w->first = w->print = print;
	w->n = 0;
	buf_clear(&w->bytes);
	return w->part >> NAMES_KEY_PART_BITS ? err_set(err, ERR_BUG, "index of names: too many that are alike")
					      : buf_add(&w->bytes, "\0\0\0\0", NAMES_HEAD_BYTES, err);
}

static int block_end(struct block_writer *w, struct err *err)
{
	int r = w->n_held ? put_bits(w, 0, 8 - w->n_held, err) : 0;
	if (r)
		return r;
	const unsigned char head[NAMES_HEAD_BYTES] = {(unsigned char)w->print_bits, (unsigned char)w->group_bits,
						      (unsigned char)(w->n >> 8), (unsigned char)w->n};
	memcpy(w->bytes.ptr, head, sizeof(head));
	uint64_t key = w->first << (NAMES_PRINT_BITS_MAX - w->print_bits) << NAMES_KEY_PART_BITS | w->part;
	r = sql_int(w->insert, 1, (int64_t)key, err);
	if (!r)
		r = sql_blob(w->insert, 2, buf_text(&w->bytes), err);
	return r ? r : sql_run(w->insert, err);
}

static int block_add(struct block_writer *w, uint64_t print, uint64_t group, struct err *err)
{
	uint64_t gap = print - w->print;
	int r = 0;
	if (w->n == NAMES_BLOCK_ENTRIES || gap > GAP_MAX) {
		r = block_end(w, err);
		if (!r)
			r = block_begin(w, print, err);
		gap = 0;
	}
	for (uint64_t i = gap >> GAP_BITS; i && !r; i--)
		r = put_bits(w, 1, 1, err);
	if (!r)
		r = put_bits(w, 0, 1, err);
	if (!r)
		r = put_bits(w, gap & ((1 << GAP_BITS) - 1), GAP_BITS, err);
	if (!r)
		r = put_bits(w, group, w->group_bits, err);
	w->print = print;
	w->n++;
	return r;
}

int row_names_end(struct row_names *x, struct err *err)
{
	struct merge m = {0};
	struct block_writer w = {.bytes = BUF_INIT(64 * KIB), .first = UINT64_MAX};
	const uint64_t group_mask = (UINT64_C(1) << NAMES_GROUP_BITS_MAX) - 1;
	uint64_t key, last = UINT64_MAX;
	w.print_bits = MIN(bits_of((uint64_t)x->runs * RUN_KEYS + x->n) + PRINT_SPARE_BITS, NAMES_PRINT_BITS_MAX);
	w.group_bits = bits_of(x->group_max);
	int r = merge_open(&m, x, err);
	if (!r)
		r = sql_prepare(&w.insert, x->c, "INSERT INTO name_block(block, data) VALUES(?1, ?2)", err);
	if (!r)
		r = block_begin(&w, 0,
				err); /* also where there is no name: an index that is lost is none that is empty */
	while (!r && (r = merge_next(&m, &key, err)) == 1) {
		r = 0;
		uint64_t print = key >> NAMES_GROUP_BITS_MAX >> (NAMES_PRINT_BITS_MAX - w.print_bits);
		uint64_t group = key & group_mask;
		if ((print << NAMES_GROUP_BITS_MAX | group) != last)
			r = block_add(&w, print, group, err);
		last = print << NAMES_GROUP_BITS_MAX | group;
	}
	if (!r)
		r = block_end(&w, err);
	sql_end(w.insert);
	buf_done(&w.bytes);
	merge_done(&m);
	return r;
}
