/* SPDX-License-Identifier: Apache-2.0 */
/* replay_case.h - what replay() holds of a case: boots of decode workers, their legs, the rows to come
 *
 * Private to replay_load.c and replay_rows.c.
 */
#pragma once

#include "register.h"
#include "replay.h"

enum why { REPLAYED, NO_ENGINE, NO_VERSION, NO_START, NO_SIZE, HAS_CACHE, NO_LENGTH, NOT_PLACED, TOO_LONG };

struct job { /* one boot of a decode worker */
	int64_t boot, worker, started_ns, page_size;
	uint32_t pool_pages;
	bool retracted; /* by the model it ran out of pages */
	bool draft;     /* speculative decoding: it takes pages that the model does not know */
	bool wanted;    /* it has a reader that is asked for */
	int64_t gap_ns; /* from here on something of its worker's logs is missing; INT64_MAX: nothing */
	enum why why;
	size_t from, n;        /* legs */
	uint64_t compared;     /* readers that a page log shows too */
	uint64_t agreed, most; /* their pages */
	struct text name;
};

struct leg_row { /* beside the leg of the same place */
	struct pool_leg leg;
	int64_t id, boot, request;
	bool vague; /* a length or time of it is not known: it is not where it was, or nowhere */
};

struct line { /* a row: a share, or why there is none */
	uint32_t job, leg;
	uint32_t owner;
	uint64_t pages;
	uint64_t unplaced; /* legs before it that the model could not place as they were, or at all */
	enum why why;
};

struct replay_rows {
	struct answers *answers;
	struct analysis *a;
	struct job *jobs;
	size_t n_jobs;
	struct leg_row *legs; /* by boot, start */
	size_t n_legs, cap;
	int64_t
	    *nowhere; /* beginnings of requests of which a decode leg is missing: they may have been anywhere; sorted */
	size_t n_nowhere;
	int64_t only;       /* request; 0: all */
	int64_t over_limit; /* length that every prefill boot refuses; INT64_MAX: not known */
	struct line *lines;
	size_t n_lines, lines_cap, at;
	struct arena arena;
	struct sql *names, *refs;
	struct buf list, text;
};

/* Boots and legs; jobs that have a reader that is asked for are wanted. */
int replay_load(struct replay_rows *x, struct err *err) MUST_CHECK;
/* How many may have been in a pool between its boot and then, and are not among its legs? */
uint64_t nowhere_between(const struct replay_rows *x, int64_t from, int64_t to);
