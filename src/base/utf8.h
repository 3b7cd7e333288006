/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h - decoding one character, and which characters people must not get to see raw (base only) */
#pragma once

#include "pagetrail/text.h"

/* Decodes the character at t.ptr[0..t.len), len > 0. Returns its bytes (1 to 4), or 0 when the bytes are not
 * UTF-8 (overlong, surrogate, beyond U+10FFFF, cut short). */
unsigned utf8_decode(const char *p, size_t len, uint32_t *ret);
/* Bytes of a surrogate written as if it were a character (3), else 0. */
unsigned utf8_surrogate(const char *p, size_t len, uint32_t *ret);
/* Controls, DEL, bidi controls, zero-width and other invisible characters, line separators, U+FFFE, U+FFFF. */
bool utf8_hidden(uint32_t c);
