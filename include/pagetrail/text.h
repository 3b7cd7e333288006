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
#include <string.h>

#include "pagetrail/err.h"

struct buf;

struct text {
	const char *ptr;
	size_t len;
};

#define TEXT(literal) ((struct text){(literal), sizeof(literal) - 1})
#define TEXT_ARG(t)   (int)(t).len, (t).ptr /* for "%.*s" */

struct text text_of(const char *s); /* NULL gives the empty text */
static inline bool text_eq(struct text a, struct text b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}
/* These two are here so that a literal's length is known where it is compared. */
static inline bool text_is(struct text a, const char *s)
{
	size_t n = s ? strlen(s) : 0;

	return a.len == n && (n == 0 || memcmp(a.ptr, s, n) == 0);
}
static inline bool text_starts(struct text t, const char *prefix)
{
	size_t n = strlen(prefix);

	return n <= t.len && (n == 0 || memcmp(t.ptr, prefix, n) == 0);
}
int text_cmp(struct text a, struct text b); /* memcmp order, shorter first */
bool text_ends(struct text t, const char *suffix);
/* Position of the needle at or after `from`, or SIZE_MAX. */
size_t text_find(struct text t, const char *needle, size_t from);
size_t text_find_char(struct text t, char c, size_t from);
size_t text_rfind_char(struct text t, char c);
static inline struct text text_from(struct text t, size_t from) /* rest; clamps */
{
	from = from < t.len ? from : t.len;
	if (from) /* NULL + 0 is not for C */
		t.ptr += from;
	t.len -= from;
	return t;
}
static inline struct text text_sub(struct text t, size_t from, size_t len) /* clamps */
{
	t = text_from(t, from);
	t.len = len < t.len ? len : t.len;
	return t;
}
struct text text_trim(struct text t);  /* blanks, tabs, CR, LF at both ends */
struct text text_chomp(struct text t); /* one LF or CR LF at the end */
/* Cuts `*rest` at the first `sep` and returns the part before it; false when *rest was used up. */
bool text_split(struct text *rest, char sep, struct text *ret);
uint64_t text_hash(struct text t);

/* Whole text must be the number: [-]digits, at most one sign, no blanks; false on overflow.
 * text_count also takes thousands commas ("681,280"). */
bool text_int64(struct text t, int64_t *ret);
bool text_uint64(struct text t, uint64_t *ret);
bool text_count(struct text t, int64_t *ret);
bool text_double(struct text t, double *ret); /* plain decimal or e-notation; not nan, inf, hex */
/* The number's digits at `to`, which has room for TEXT_NUMBER_MAX; returns how many. No NUL. */
enum { TEXT_NUMBER_MAX = 20 };
size_t text_put_uint64(char *to, uint64_t v);
size_t text_put_int64(char *to, int64_t v);
/* In as few digits as read back to the same value; room for TEXT_DOUBLE_MAX. "inf", "-inf", "nan" for what is no number. */
enum { TEXT_DOUBLE_MAX = 32 };
size_t text_put_double(char *to, double v);
/* Decimal seconds ("1788000001.25", also negative) to nanoseconds, exactly; false on overflow. */
bool text_seconds_ns(struct text t, int64_t *ret_ns);

bool text_hex(struct text t); /* hex digits alone, of either case; at least one */
bool text_utf8_valid(struct text t);
/* A character up to 0x1fffff in UTF-8, surrogates as what they are: how many bytes went to `to`. */
size_t text_put_utf8(char to[4], uint32_t c);

/* The sanitiser. Appends t to out as printable UTF-8: invalid bytes become \xHH; C0 and C1 controls,
 * DEL, bidi controls, zero-width and line separators, U+FFFE/U+FFFF and surrogates become \u{H…};
 * backslash becomes \\. Longer than max_bytes of input: cut at a character, then "… (N bytes)".
 * Everything that reaches a terminal, a table cell, XML, HTML or CSV has been through here. */
int text_visible(struct text t, size_t max_bytes, struct buf *out, struct err *err) MUST_CHECK;
/* What text_visible() made, back to the bytes: false when it has no escapes, or such as that never writes. */
bool text_unvisible(struct text t, struct buf *out, struct err *err);
/* Has it a letter or a digit that people see? Marks, blanks and what is invisible say nothing. */
bool text_says_something(struct text t);
/* Nothing but blanks, line ends, other controls and what is invisible; so is an empty text. */
bool text_is_blank(struct text t);
/* As people take it: without case, accents as marks of their own, nothing invisible, full-width and other forms as the plain one; each run of
 * blanks, dashes, underscores and marks beyond ASCII is one '-'. joined: else blanks stay blanks, and there are no runs. Appends. */
int text_fold(struct text t, bool joined, struct buf *out, struct err *err) MUST_CHECK;
/* Display columns of UTF-8 text (wide East Asian characters count two). */
size_t text_columns(struct text t);
