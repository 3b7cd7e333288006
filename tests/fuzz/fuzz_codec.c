/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_codec.c - the line codec: any bytes as lines come back; any bytes as a packed chunk are decoded or refused
 *
 * An even first byte: the rest is a log. An odd one: two bytes of length, then a packed chunk.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/store/codec_line.h"
#include "pagetrail/limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void round_trip(struct codec *z, struct text raw)
{
	CLEANUP(buf_done) struct buf packed = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	int r = line_pack(z, raw, &packed, NULL);
	if (r == 1)
		return;
	char *back = malloc(raw.len + 1);
	if (r || !back || line_unpack(z, buf_text(&packed), back, raw.len, NULL) || memcmp(back, raw.ptr, raw.len))
		abort();
	free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(codec_freep) struct codec *z = NULL;
	if (size < 3 || codec_new(&z, NULL))
		return 0;
	if (data[0] % 2 == 0) {
		round_trip(z, (struct text){(const char *)data + 1, size - 1});
		return 0;
	}
	size_t len = data[1] | (size_t)data[2] << 8;
	char *dest = malloc(len + 1);
	if (dest && line_unpack(z, (struct text){(const char *)data + 3, size - 3}, dest, len, NULL) == ERR_BUG)
		abort();
	free(dest);
	return 0;
}
