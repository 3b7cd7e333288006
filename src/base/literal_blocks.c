/* SPDX-License-Identifier: Apache-2.0 */
/* literal_blocks.c - many long strings in one pass that looks at every eighth byte only
 *
 * Of each string eight blocks are kept, at eight places that follow each other: one of them begins at a multiple of eight, wherever the
 * string stands. Those are taken that the fewest other strings have. A block of the bytes is first asked for in a filter of bits,
 * then in a hash table; what has the same block at the same place is ordered, so that a block which all strings share costs little.
 */
#include "literal_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "pagetrail/err.h"

enum { COUNT_BITS = 22, FILTER_MIN_BITS = 12, FILTER_MAX_BITS = 27, FILTER_SHARE_BITS = 4, PLACES = 256 };

struct block {
	uint64_t bytes;
	uint32_t which;
	uint16_t at; /* where it begins in its string */
	uint16_t
	    same; /* of the first one of these bytes, this place and length: how many there are, as far as that can be said */
};

struct literal_blocks {
	const struct text *list;
	struct block *blocks; /* by bucket; there by bytes, place and length, then by the whole string */
	uint32_t *buckets;    /* where each begins; one more than there are */
	uint64_t *filter;
	size_t n;
	unsigned bucket_bits, filter_bits;
};

static uint64_t load(const char *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t mix(uint64_t v)
{
	v *= UINT64_C(0x9e3779b97f4a7c15);
	v ^= v >> 32;
	return v * UINT64_C(0xd6e8feb86659fd93);
}

static size_t bucket_of(const struct literal_blocks *b, uint64_t hash)
{
	return hash >> (64 - b->bucket_bits);
}

static bool may_have(const struct literal_blocks *b, uint64_t hash)
{
	uint64_t bit = hash >> (64 - b->filter_bits);
	return b->filter[bit / 64] >> (bit % 64) & 1;
}

static size_t place_count(struct text t)
{
	return MIN(t.len - BLOCK_BYTES + 1, (size_t)PLACES);
}

/* The eight places whose blocks the fewest strings have; how many do is only estimated. */
static size_t rarest(const unsigned char *counts, struct text t)
{
	size_t best = 0, best_sum = SIZE_MAX, sum = 0;
	for (size_t i = 0; i < place_count(t); i++) {
		sum += counts[mix(load(t.ptr + i)) >> (64 - COUNT_BITS)];
		if (i >= BLOCK_BYTES)
			sum -= counts[mix(load(t.ptr + i - BLOCK_BYTES)) >> (64 - COUNT_BITS)];
		if (i + 1 >= BLOCK_BYTES && sum < best_sum) {
			best_sum = sum;
			best = i + 1 - BLOCK_BYTES;
		}
	}
	return best;
}

static int by_number(uint64_t x, uint64_t y)
{
	return x < y ? -1 : x > y;
}

static int by_place(const struct text *list, const struct block *x, const struct block *y)
{
	int c = by_number(x->bytes, y->bytes);
	if (!c)
		c = by_number(x->at, y->at);
	return c ? c : by_number(list[x->which].len, list[y->which].len);
}

static int by_text(const void *a, const void *b, void *ctx)
{
	const struct block *x = a, *y = b;
	const struct text *list = ctx;
	int c = by_place(list, x, y);
	if (!c)
		c = memcmp(list[x->which].ptr, list[y->which].ptr, list[x->which].len);
	return c ? c : by_number(x->which, y->which);
}

static void count_block(struct literal_blocks *b, uint64_t hash)
{
	uint64_t bit = hash >> (64 - b->filter_bits);
	b->filter[bit / 64] |= UINT64_C(1) << (bit % 64);
	b->buckets[bucket_of(b, hash)]++;
}

/* Each block to its bucket; afterwards buckets[i] is where bucket i begins. first: of each string the first place that is taken. */
static void fill(struct literal_blocks *b, size_t n, const uint16_t *first)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = first[i]; b->list[i].len >= BLOCKS_MIN && k < first[i] + (size_t)BLOCK_BYTES; k++)
			count_block(b, mix(load(b->list[i].ptr + k)));
	for (size_t i = 0, sum = 0; i <= (size_t)1 << b->bucket_bits; i++) { /* where each ends */
		sum += b->buckets[i];
		b->buckets[i] = (uint32_t)sum;
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = first[i]; b->list[i].len >= BLOCKS_MIN && k < first[i] + (size_t)BLOCK_BYTES; k++) {
			uint64_t bytes = load(b->list[i].ptr + k);
			b->blocks[--b->buckets[bucket_of(b, mix(bytes))]] =
			    (struct block){bytes, (uint32_t)i, (uint16_t)k, 0};
		}
}

static void order(struct literal_blocks *b)
{
	for (size_t k = 0; k < (size_t)1 << b->bucket_bits; k++) {
		struct block *at = b->blocks + b->buckets[k], *end = b->blocks + b->buckets[k + 1], *next;
		if (end - at > 1)
			qsort_r(at, (size_t)(end - at), sizeof(*at), by_text, (void *)b->list);
		for (; at < end; at = next) {
			for (next = at + 1; next < end && next - at < UINT16_MAX && !by_place(b->list, next, at);)
				next++;
			at->same = (uint16_t)(next - at);
		}
	}
}

/* Of each string that is long enough the first of its eight places; NULL: no memory. */
static uint16_t *choose_places(const struct text *list, size_t n)
{
	unsigned char *counts = calloc(1, (size_t)1 << COUNT_BITS);
	uint16_t *first = malloc((n + 1) * sizeof(*first));
	if (!counts || !first) {
		free(counts);
		free(first);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; list[i].len >= BLOCKS_MIN && k < place_count(list[i]); k++) {
			unsigned char *count = &counts[mix(load(list[i].ptr + k)) >> (64 - COUNT_BITS)];
			*count += *count < UINT8_MAX;
		}
	for (size_t i = 0; i < n; i++)
		first[i] = (uint16_t)(list[i].len >= BLOCKS_MIN ? rarest(counts, list[i]) : 0);
	free(counts);
	return first;
}

int literal_blocks_make(struct literal_blocks **ret, const struct text *list, size_t n, struct err *err)
{
	struct literal_blocks *b = calloc(1, sizeof(*b));
	if (!b)
		return err_nomem(err);
	b->list = list;
	for (size_t i = 0; i < n; i++)
		b->n += list[i].len >= BLOCKS_MIN ? BLOCK_BYTES : 0;
	if (b->n > UINT32_MAX) {
		free(b);
		return err_set(err, ERR_BUG, "more strings than are searched for at once");
	}
	b->bucket_bits = 1;
	while ((uint64_t)1 << b->bucket_bits < b->n)
		b->bucket_bits++;
	b->filter_bits =
	    MIN(MAX(b->bucket_bits + FILTER_SHARE_BITS, (unsigned)FILTER_MIN_BITS), (unsigned)FILTER_MAX_BITS);
	uint16_t *first = choose_places(list, n);
	b->blocks = malloc((b->n + 1) * sizeof(*b->blocks));
	b->buckets = calloc(((size_t)1 << b->bucket_bits) + 1, sizeof(*b->buckets));
	b->filter = calloc(((size_t)1 << b->filter_bits) / 64, sizeof(*b->filter));
	if (!first || !b->blocks || !b->buckets || !b->filter) {
		free(first);
		literal_blocks_free(b);
		return err_nomem(err);
	}
	fill(b, n, first);
	order(b);
	free(first);
	*ret = b;
	return 0;
}

void literal_blocks_free(struct literal_blocks *b)
{
	if (!b)
		return;
	free(b->blocks);
	free(b->buckets);
	free(b->filter);
	free(b);
}

/* The first of those of one place and length that is not less than these bytes. */
static const struct block *lower(const struct text *list, const struct block *from, const struct block *to,
				 const char *bytes, size_t len)
{
	while (from < to) {
		const struct block *middle = from + (to - from) / 2;
		if (memcmp(list[middle->which].ptr, bytes, len) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static int look_up(const struct literal_blocks *b, uint64_t hash, struct text bytes, size_t at,
		   int (*found)(void *ctx, size_t which, size_t end), void *ctx)
{
	size_t k = bucket_of(b, hash);
	const struct block *x = b->blocks + b->buckets[k], *end = b->blocks + b->buckets[k + 1];
	uint64_t block = load(bytes.ptr + at);
	int rc = 0;
	for (const struct block *next; x < end && rc == 0; x = next) {
		size_t len = b->list[x->which].len;
		next = x + x->same;
		if (x->bytes != block || at < x->at || bytes.len - (at - x->at) < len)
			continue;
		const char *start = bytes.ptr + at - x->at;
		for (const struct block *y = lower(b->list, x, next, start, len);
		     y < next && rc == 0 && !memcmp(b->list[y->which].ptr, start, len); y++)
			rc = found(ctx, y->which, at - y->at + len);
	}
	return rc;
}

int literal_blocks_search(const struct literal_blocks *b, struct text bytes,
			  int (*found)(void *ctx, size_t which, size_t end), void *ctx)
{
	int rc = 0;
	for (size_t at = 0; b->n && rc == 0 && bytes.len - at >= BLOCK_BYTES; at += BLOCK_BYTES) {
		uint64_t hash = mix(load(bytes.ptr + at));
		if (may_have(b, hash))
			rc = look_up(b, hash, bytes, at, found, ctx);
	}
	return rc;
}
