/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h - one column of a batch as bytes, before compression: integers, texts, page runs
 *
 * The packers append to a buf; the unpackers read a struct pack_reader that they must use up exactly. Byte forms:
 * docs/store-format.md. Arrays have one entry per row; rows without a value are skipped over and left alone.
 */
#pragma once

#include <string.h>

#include "pagetrail/arena.h"
#include "pagetrail/buf.h"
#include "pagetrail/event.h"

struct pack_reader {
	const unsigned char *at, *end;
};

/* has: one byte per row, 1 = there is a value; NULL = all rows. */
int pack_ints(struct buf *out, const int64_t *v, const uint8_t *has, uint32_t n, struct err *err) MUST_CHECK;
int pack_texts(struct buf *out, const struct text *v, const uint8_t *has, uint32_t n, struct err *err) MUST_CHECK;
int pack_runs(struct buf *out, const struct page_run *runs, const uint32_t *run_end, const uint8_t *has, uint32_t n,
	      struct err *err) MUST_CHECK;

/* has (n bytes) is always filled. ERR_DAMAGED. */
int unpack_ints(struct pack_reader *in, int64_t *v, uint8_t *has, uint32_t n, struct err *err) MUST_CHECK;
/* Texts point into the reader's bytes. */
int unpack_texts(struct pack_reader *in, struct text *v, uint8_t *has, uint32_t n, struct err *err) MUST_CHECK;
/* Runs come from the arena; run_end is filled. */
int unpack_runs(struct pack_reader *in, struct arena *arena, struct page_run **ret_runs, uint32_t *ret_n_runs,
		uint32_t *run_end, uint8_t *has, uint32_t n, struct err *err) MUST_CHECK;

int pack_varint(struct buf *out, uint64_t v, struct err *err) MUST_CHECK;

enum { VARINT_MAX = 10 };

static inline unsigned char *put_varint(unsigned char *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (unsigned char)(v | 0x80);
	*p++ = (unsigned char)v;
	return p;
}

static inline unsigned varint_size(uint64_t v)
{
	return (unsigned)(63 - __builtin_clzll(v | 1)) / 7 + 1;
}

static inline bool unpack_varint(struct pack_reader *in, uint64_t *ret)
{
	const unsigned char *p = in->at;
	if (p < in->end && !(*p & 0x80)) {
		*ret = *p;
		in->at = p + 1;
		return true;
	}
	uint64_t v = 0;
	for (unsigned shift = 0; p < in->end && shift < 64; shift += 7) {
		unsigned char b = *p++;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*ret = v;
			in->at = p;
			return shift < 63 || b < 2;
		}
	}
	return false;
}

/* A hash for dictionaries; inputs that collide on purpose cost only size, because searches are short. */
enum { PROBES_MAX = 32 };

static inline uint64_t hash_bytes(const void *data, size_t n)
{
	const char *p = data;
	uint64_t h = n * UINT64_C(0x9e3779b97f4a7c15), w;
	for (; n >= 8; p += 8, n -= 8) {
		memcpy(&w, p, 8);
		h = (h ^ w) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	w = 0;
	if (n)
		memcpy(&w, p, n);
	h = (h ^ w) * UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ h >> 29;
}

static inline uint64_t zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}
