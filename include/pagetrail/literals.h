/* SPDX-License-Identifier: Apache-2.0 */
/* literals.h - many fixed strings searched for in one pass over bytes
 *
 * The time of a pass hardly depends on how many strings there are. Every byte counts as itself: case, NUL, invalid UTF-8.
 */
#pragma once

#include "pagetrail/text.h"

struct literals;        /* compiled; immutable, may be shared between threads */
struct literals_thread; /* what one thread needs to search */

/* The list is copied, the bytes that it names must outlive it. Empty ones are a bug. ERR_LIMIT where there are strings of less than
 * fifteen bytes and the CPU cannot do it (it needs SSSE3). */
int literals_compile(struct literals **ret, const struct text *list, size_t n, struct err *err) MUST_CHECK;
void literals_free(struct literals *l); /* accepts NULL */
int literals_thread_new(struct literals_thread **ret, const struct literals *l, struct err *err) MUST_CHECK;
void literals_thread_free(struct literals_thread *t); /* accepts NULL */

/* Calls found() for each place where a string ends, in no order that means anything: which = place in the list, end = behind its last byte.
 * found() returns 0 to go on, or ERR_*, which ends the search. */
int literals_search(const struct literals *l, struct literals_thread *t, struct text bytes,
		    int (*found)(void *ctx, size_t which, size_t end), void *ctx, struct err *err) MUST_CHECK;
