/* SPDX-License-Identifier: Apache-2.0 */
/* codec.h - compressed bytes: one reusable pair of zstd contexts, and memory that stays with it
 *
 * A struct codec belongs to one thread; the same input gives the same output whatever it did before.
 */
#pragma once

#include "pagetrail/buf.h"

struct codec;

int codec_new(struct codec **ret, struct err *err) MUST_CHECK;
void codec_free(struct codec *z); /* accepts NULL */
DEFINE_CLEANUP(struct codec *, codec_free)
/* Appends raw, compressed, to out. */
int codec_pack(struct codec *z, struct text raw, int level, struct buf *out, struct err *err) MUST_CHECK;
/* Appends raw as it is, or compressed when that is shorter: then *ret_packed. Less than `worth` bytes stay as they are. */
int codec_pack_shorter(struct codec *z, struct text raw, int level, size_t worth, struct buf *out, bool *ret_packed,
		       struct err *err) MUST_CHECK;
/* The same as codec_pack() for bytes of several kinds: begins anew with its statistics at each of the n ascending places. */
int codec_pack_parts(struct codec *z, struct text raw, const size_t *place, size_t n, int level, struct buf *out,
		     struct err *err) MUST_CHECK;
/* Decompresses into exactly raw_len bytes at dest. ERR_DAMAGED when that is not what comes out. */
int codec_unpack(struct codec *z, struct text packed, void *dest, size_t raw_len, struct err *err) MUST_CHECK;

/* At least so many bytes that stay until codec_free(), for one purpose (slot): what is taken and given back for each chunk
 * costs more in pages than the work. Zero at first; what was there stays when it grows. NULL: out of memory. */
enum { CODEC_SLOTS = 16 };
void *codec_scratch(struct codec *z, unsigned slot, size_t bytes);
