/* SPDX-License-Identifier: Apache-2.0 */
/* filter.c - a Bloom filter over the texts of a column */
#include <stdlib.h>

#include "filter.h"
#include "pack.h"
#include "pagetrail/limits.h"

/* a chunk that is decoded for nothing costs more than the bits that save it */
enum { BITS_A_TEXT = 16, PROBES = 8 };

/* Bits of a text: a walk with a step that is never zero. */
static inline uint64_t bit_of(uint64_t hash, unsigned probe, uint64_t bits)
{
	return ((uint32_t)hash + probe * ((hash >> 32) | 1)) % bits;
}

/* Hashes that differ, most of them once; texts that collide on purpose only make the filter larger. */
static uint32_t collect(const struct text *v, const uint8_t *has, uint32_t n, uint64_t *hash, uint64_t *slot,
			uint32_t mask)
{
	uint32_t m = 0;
	uint64_t last = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!has[i] || (i && has[i - 1] && v[i].ptr == v[i - 1].ptr && v[i].len == v[i - 1].len))
			continue;
		uint64_t h = hash_bytes(v[i].ptr, v[i].len) | 1; /* 0 is a free slot */
		uint32_t at = (uint32_t)(h >> 20) & mask, probes = 0;
		if (h == last)
			continue;
		last = h;
		while (slot[at] && slot[at] != h && probes++ < PROBES_MAX)
			at = (at + 1) & mask;
		if (slot[at] == h)
			continue;
		if (!slot[at])
			slot[at] = h;
		hash[m++] = h;
	}
	return m;
}

int filter_make(const struct text *v, const uint8_t *has, uint32_t n, uint32_t min, struct buf *out, struct err *err)
{
	uint32_t slots = 64;
	while (slots < 2 * n)
		slots *= 2;
	uint64_t *hash = malloc(((size_t)n + 1) * sizeof(*hash)), *slot = calloc(slots, sizeof(*slot));
	int r = hash && slot ? 0 : err_nomem(err);
	uint32_t m = r ? 0 : collect(v, has, n, hash, slot, slots - 1);
	size_t bytes = ((size_t)m * BITS_A_TEXT + 7) / 8;
	if (!r && m >= min)
		r = buf_reserve(out, bytes, err);
	if (!r && m >= min) {
		unsigned char *p = (unsigned char *)out->ptr + out->len;
		memset(p, 0, bytes);
		for (uint32_t i = 0; i < m; i++) {
			for (unsigned k = 0; k < PROBES; k++) {
				uint64_t bit = bit_of(hash[i], k, 8 * bytes);
				p[bit / 8] |= (unsigned char)(1u << bit % 8);
			}
		}
		out->len += bytes;
		out->ptr[out->len] = 0;
	}
	free(hash);
	free(slot);
	return r;
}

bool filter_holds(struct text filter, struct text needle)
{
	uint64_t h = hash_bytes(needle.ptr, needle.len) | 1;
	for (unsigned k = 0; filter.len && k < PROBES; k++) {
		uint64_t bit = bit_of(h, k, 8 * (uint64_t)filter.len);
		if (!((unsigned char)filter.ptr[bit / 8] >> bit % 8 & 1))
			return false;
	}
	return true;
}
