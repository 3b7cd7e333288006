/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - views of bytes, and the one sanitiser between foreign bytes and people
 *
 * A struct text borrows: it never owns, is not NUL-terminated, may hold any byte. ptr may be NULL
 * only when len is 0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pagetrail/err.h"

struct buf;

struct text {
	const char *ptr;
	size_t len;
};

#define TEXT(literal) ((struct text){(literal), sizeof(literal) - 1})
#define TEXT_ARG(t)   (int)(t).len, (t).ptr /* for "%.*s" */

struct text text_of(const char *s); /* NULL gives the empty text */
bool text_eq(struct text a, struct text b);
bool text_is(struct text a, const char *s);
int text_cmp(struct text a, struct text b); /* memcmp order, shorter first */
bool text_starts(struct text t, const char *prefix);
bool text_ends(struct text t, const char *suffix);
/* Position of the needle at or after `from`, or SIZE_MAX. */
size_t text_find(struct text t, const char *needle, size_t from);
size_t text_find_char(struct text t, char c, size_t from);
size_t text_rfind_char(struct text t, char c);
struct text text_sub(struct text t, size_t from, size_t len); /* clamps */
struct text text_from(struct text t, size_t from);            /* rest; clamps */
struct text text_trim(struct text t);                         /* blanks, tabs, CR, LF at both ends */
struct text text_chomp(struct text t);                        /* one LF or CR LF at the end */
/* Cuts `*rest` at the first `sep` and returns the part before it; false when *rest was used up. */
bool text_split(struct text *rest, char sep, struct text *ret);
uint64_t text_hash(struct text t);

/* Whole text must be the number: [-]digits, at most one sign, no blanks; false on overflow.
 * text_count also takes thousands commas ("681,280"). */
bool text_int64(struct text t, int64_t *ret);
bool text_uint64(struct text t, uint64_t *ret);
bool text_count(struct text t, int64_t *ret);
bool text_double(struct text t, double *ret); /* plain decimal or e-notation; not nan, inf, hex */
/* Decimal seconds ("1788000001.25", also negative) to nanoseconds, exactly; false on overflow. */
bool text_seconds_ns(struct text t, int64_t *ret_ns);

bool text_utf8_valid(struct text t);

/* The sanitiser. Appends t to out as printable UTF-8: invalid bytes become \xHH; C0 and C1 controls,
 * DEL, bidi controls, zero-width and line separators, U+FFFE/U+FFFF and surrogates become \u{H…};
 * backslash becomes \\. Longer than max_bytes of input: cut at a character, then "… (N bytes)".
 * Everything that reaches a terminal, a table cell, XML, HTML or CSV has been through here. */
int text_visible(struct text t, size_t max_bytes, struct buf *out, struct err *err) MUST_CHECK;
/* Display columns of UTF-8 text (wide East Asian characters count two). */
size_t text_columns(struct text t);
