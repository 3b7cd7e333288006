/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.h - PCRE2 behind named groups, with limits that make a hostile line a miss and not a hang */
#pragma once

#include "pagetrail/text.h"

struct pattern; /* compiled; immutable, may be shared between threads */
struct match;   /* scratch for matching: one per thread */

/* Compiles with PCRE2_EXTENDED (blanks and # comments in the pattern do not count) when `extended`, byte
 * semantics (no UTF), JIT when there is one. ERR_USAGE with the offset when the pattern is bad. */
int pattern_compile(struct pattern **ret, const char *regex, bool extended, struct err *err) MUST_CHECK;
/* Without `extended`; ^ and $ are the ends of each line. */
int pattern_compile_lines(struct pattern **ret, const char *regex, struct err *err) MUST_CHECK;
/* Without `extended`; it must match all of a text, from its first byte to its last. */
int pattern_compile_whole(struct pattern **ret, const char *regex, struct err *err) MUST_CHECK;
void pattern_free(struct pattern *p);
/* The name of a group that the pattern has twice under different numbers, as (?J) allows; NULL: none. Which one is meant cannot be
 * said then. */
const char *pattern_twice(const struct pattern *p);
/* Does the pattern have a group of that name? */
bool pattern_has(const struct pattern *p, const char *group);
int match_new(struct match **ret, struct err *err) MUST_CHECK;
void match_free(struct match *m);

/* Searches t from offset `from`. true on a match; running into a limit is a miss. */
bool pattern_search(const struct pattern *p, struct match *m, struct text t, size_t from);
/* The same: 1, 0, or ERR_LIMIT when a limit was run into. */
int pattern_try(const struct pattern *p, struct match *m, struct text t, size_t from, struct err *err) MUST_CHECK;
/* After a true search: the whole match (0) or a named group; {NULL,0} when it took no part. */
struct text match_whole(const struct match *m);
struct text match_group(const struct match *m, const char *name);
void match_clear(struct match *m); /* as after a miss: all groups are {NULL,0} */
/* How many bytes of t a pattern made by pattern_compile_whole() could go on from: the place where it stops matching. t.len
 * when only the end is wrong. ERR_LIMIT when that takes too many steps. */
int pattern_reach(const struct pattern *p, struct match *m, struct text t, size_t *ret, struct err *err) MUST_CHECK;
