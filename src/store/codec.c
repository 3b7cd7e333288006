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
	free(z);
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
