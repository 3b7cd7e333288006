/* SPDX-License-Identifier: Apache-2.0 */
/* zip_end.c - the end of a zip
 *
 * Reading forward passes over entries whose header is damaged without a word, and stops at the first directory: only
 * the record at the very end tells how many entries there were and where the directory lies.
 */
#include "zip_end.h"

#include <stdbool.h>
#include <string.h>

#include "pagetrail/macros.h"

enum { RECORD = 22 };

void zip_end_keep(char *tail, size_t *n_tail, const char *p, size_t n)
{
	if (n >= ZIP_END_BYTES) {
		p += n - ZIP_END_BYTES;
		n = ZIP_END_BYTES;
	}
	size_t old = MIN(*n_tail, ZIP_END_BYTES - n);
	memmove(tail, tail + (*n_tail - old), old);
	if (n)
		memcpy(tail + old, p, n);
	*n_tail = old + n;
}

static uint32_t little(const char *p, unsigned bytes)
{
	uint32_t v = 0;
	while (bytes-- > 0)
		v = v << 8 | (unsigned char)p[bytes];
	return v;
}

const char *zip_end_check(const char *tail, size_t n_tail, uint64_t total, unsigned entries)
{
	const uint32_t none16 = 0xffff, none32 = 0xffffffff; /* said elsewhere, in a zip64 record */
	for (size_t at = n_tail >= RECORD ? n_tail - RECORD + 1 : 0; at-- > 0;) {
		const char *p = tail + at;
		if (memcmp(p, "PK\5\6", 4) != 0 || at + RECORD + little(p + 20, 2) != n_tail)
			continue;
		uint32_t count = little(p + 10, 2), size = little(p + 12, 4), off = little(p + 16, 4);
		if (count != none16 && count != (entries & none16))
			return "damaged: the directory of the zip names other files than were read";
		if (size != none32 && off != none32 && count != none16 && (uint64_t)off + size != total - (n_tail - at))
			return "the zip holds bytes that belong to no file of its directory";
		return NULL;
	}
	return "cut off: the directory at the end of the zip is missing";
}
