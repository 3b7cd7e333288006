/* SPDX-License-Identifier: Apache-2.0 */
/* json_scan.h - JSON read forward, once, with the places of what is read: for wrappers, whose records hold many others
 *
 * It finds where values begin and end, and builds nothing. Strings are checked for their end only; what is in a number or
 * a word is not looked at. Bytes that are no JSON are found where the structure breaks: false or -1. Nesting is limited by
 * JSON_DEPTH_MAX.
 */
#pragma once

#include "pagetrail/arena.h"

struct json_scan {
	const char *p, *end;
};

static inline struct json_scan scan_of(struct text t) /* ptr NULL: nothing to read */
{
	return (struct json_scan){t.ptr, t.len ? t.ptr + t.len : t.ptr};
}

/* The next byte that is no blank, 0 at the end. */
char scan_peek(struct json_scan *s);
/* Takes '{' or '['. */
bool scan_open(struct json_scan *s, char bracket);
/* In an open object: 1 a member, s is at its value; 0 the end of the object was taken; -1 broken. The key is raw. */
int scan_member(struct json_scan *s, struct text *ret_key);
/* In an open array: 1 s is at an element; 0 the end was taken; -1 broken. */
int scan_element(struct json_scan *s);
/* The string at s, raw, without its quotes. */
bool scan_string(struct json_scan *s, struct text *ret_raw);
/* Any value, with its first and last byte. */
bool scan_value(struct json_scan *s, struct text *ret_raw);
/* Is nothing but blanks left? */
bool scan_over(struct json_scan *s);
/* Have two members of an object one name (as it is written) and different values? Only its own members, of which the first
 * SCAN_MEMBERS_MAX are compared. */
enum { SCAN_MEMBERS_MAX = 64 };
bool scan_contradicts(struct text object);

/* What a raw string says: itself when it has no escapes, else a copy in the arena. Both have BUF_PADDING readable bytes
 * behind them if raw has. Lone surrogates become U+FFFD, unknown escapes stay as they are. ptr NULL: out of memory. */
struct text scan_unescape(struct text raw, struct arena *a);
/* A string or number as text (numbers as they are written); false for anything else. */
bool scan_scalar(struct text value, struct arena *a, struct text *ret);
