/* SPDX-License-Identifier: Apache-2.0 */
/* codec.c - the only user of zstd
 *
 * Frames are plain zstd without dictionary. The caller knows the length that must come out, and has checked it against
 * a limit, before anything is allocated: the length that a frame claims for itself is never trusted.
 */
#include <stdlib.h>
#include <zstd.h>

#include "codec.h"

struct codec {
	ZSTD_CCtx *pack;
	ZSTD_DCtx *unpack;
	struct {
		void *ptr;
		size_t bytes;
	} scratch[CODEC_SLOTS];
};

int codec_new(struct codec **ret, struct err *err)
{
	struct codec *z = calloc(1, sizeof(*z));
	if (!z)
		return err_nomem(err);
	*ret = z;
	return 0;
}

void codec_free(struct codec *z)
{
	if (!z)
		return;
	ZSTD_freeCCtx(z->pack);
	ZSTD_freeDCtx(z->unpack);
	for (unsigned i = 0; i < CODEC_SLOTS; i++)
		free(z->scratch[i].ptr);
	free(z);
}

void *codec_scratch(struct codec *z, unsigned slot, size_t bytes)
{
	void *had = z->scratch[slot].ptr;
	if (had && bytes <= z->scratch[slot].bytes)
		return had;
	/* exact at first, so that tools see who reads behind it */
	size_t want = had ? bytes + bytes / 4 : MAX(bytes, 1);
	void *p = had ? realloc(had, want) : calloc(1, want);
	if (!p)
		return NULL;
	z->scratch[slot].ptr = p;
	z->scratch[slot].bytes = want;
	return p;
}

int codec_pack(struct codec *z, struct text raw, int level, struct buf *out, struct err *err)
{
	if (!z->pack && !(z->pack = ZSTD_createCCtx()))
		return err_nomem(err);
	size_t bound = ZSTD_compressBound(raw.len);
	int r = buf_reserve(out, bound, err);
	if (r)
		return r;
	size_t n = ZSTD_compressCCtx(z->pack, out->ptr + out->len, bound, raw.ptr, raw.len, level);
	if (ZSTD_isError(n))
		return err_set(err, ERR_BUG, "zstd: %s", ZSTD_getErrorName(n));
	out->len += n;
	out->ptr[out->len] = 0;
	return 0;
}

int codec_pack_shorter(struct codec *z, struct text raw, int level, size_t worth, struct buf *out, bool *ret_packed,
		       struct err *err)
{
	size_t before = out->len;
	int r = raw.len >= worth ? codec_pack(z, raw, level, out, err) : 0;
	*ret_packed = !r && out->len > before && out->len - before < raw.len;
	if (r || *ret_packed)
		return r;
	out->len = before;
	return buf_add_text(out, raw, err);
}

static int set_up(struct codec *z, size_t raw_len, int level, struct err *err)
{
	if (!z->pack && !(z->pack = ZSTD_createCCtx()))
		return err_nomem(err);
	size_t n = ZSTD_CCtx_reset(z->pack, ZSTD_reset_session_and_parameters);
	if (!ZSTD_isError(n))
		n = ZSTD_CCtx_setParameter(z->pack, ZSTD_c_compressionLevel, level);
	if (!ZSTD_isError(n))
		n = ZSTD_CCtx_setPledgedSrcSize(z->pack, raw_len);
	return ZSTD_isError(n) ? err_set(err, ERR_BUG, "zstd: %s", ZSTD_getErrorName(n)) : 0;
}

int codec_pack_parts(struct codec *z, struct text raw, const size_t *place, size_t n, int level, struct buf *out,
		     struct err *err)
{
	size_t bound = ZSTD_compressBound(raw.len) + 16 * (n + 1);
	int r = set_up(z, raw.len, level, err);
	if (!r)
		r = buf_reserve(out, bound, err);
	if (r)
		return r;
	ZSTD_outBuffer to = {out->ptr + out->len, bound, 0};
	for (size_t i = 0, at = 0; i <= n; i++) { /* a block has statistics of its own */
		size_t end = i < n ? place[i] : raw.len;
		ZSTD_inBuffer from = {raw.ptr + at, end - at, 0};
		size_t left;
		do {
			left = ZSTD_compressStream2(z->pack, &to, &from, i < n ? ZSTD_e_flush : ZSTD_e_end);
		} while (!ZSTD_isError(left) && (left || from.pos < from.size) && to.pos < to.size);
		if (ZSTD_isError(left) || left)
			return err_set(err, ERR_BUG, "zstd: %s", left ? ZSTD_getErrorName(left) : "no room");
		at = end;
	}
	out->len += to.pos;
	out->ptr[out->len] = 0;
	return 0;
}

int codec_unpack(struct codec *z, struct text packed, void *dest, size_t raw_len, struct err *err)
{
	if (!z->unpack && !(z->unpack = ZSTD_createDCtx()))
		return err_nomem(err);
	size_t n = ZSTD_decompressDCtx(z->unpack, dest, raw_len, packed.ptr, packed.len);
	if (ZSTD_isError(n))
		return err_set(err, ERR_DAMAGED, "chunk does not decompress: %s", ZSTD_getErrorName(n));
	if (n != raw_len)
		return err_set(err, ERR_DAMAGED, "chunk decompresses to %zu bytes, not %zu", n, raw_len);
	return 0;
}
