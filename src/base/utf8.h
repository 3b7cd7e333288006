/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h - decoding one character, and which characters people must not get to see raw (base only) */
#pragma once

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "pagetrail/text.h"

/* Decodes the character at t.ptr[0..t.len), len > 0. Returns its bytes (1 to 4), or 0 when the bytes are not
 * UTF-8 (overlong, surrogate, beyond U+10FFFF, cut short). */
unsigned utf8_decode(const char *p, size_t len, uint32_t *ret);
/* Bytes of a surrogate written as if it were a character (3), else 0. */
unsigned utf8_surrogate(const char *p, size_t len, uint32_t *ret);
/* Controls, DEL, bidi controls, zero-width and other invisible characters, line separators, U+FFFE, U+FFFF. */
bool utf8_hidden(uint32_t c);

/* Of 16 bytes, lowest first: those that JSON cannot have as they are: controls, '"', '\\', DEL and all beyond ASCII. */
static inline unsigned utf8_special(const char *p)
{
#ifdef __SSE2__
	__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
	__m128i low = _mm_cmplt_epi8(v, _mm_set1_epi8(0x20)); /* signed: bytes beyond ASCII are below, too */
	__m128i quote = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')), _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));

	return (unsigned)_mm_movemask_epi8(
	    _mm_or_si128(_mm_or_si128(low, quote), _mm_cmpeq_epi8(v, _mm_set1_epi8(0x7f))));
#else
	unsigned mask = 0;

	for (unsigned i = 0; i < 16; i++)
		mask |= (unsigned)(p[i] < 0x20 || p[i] >= 0x7f || p[i] == '"' || p[i] == '\\') << i;
	return mask;
#endif
}
