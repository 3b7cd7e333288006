/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h - one column of a batch as bytes, before compression: integers, texts, page runs
 *
 * The packers append to a buf; the unpackers read a struct pack_reader that they must use up exactly. Byte forms:
 * docs/store-format.md. Arrays have one entry per row; rows without a value are skipped over and left alone.
 */
#pragma once

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
bool unpack_varint(struct pack_reader *in, uint64_t *ret);

static inline uint64_t zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}
