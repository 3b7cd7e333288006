/* SPDX-License-Identifier: Apache-2.0 */
/* err.h - what went wrong, where, and what the user can do about it
 *
 * Functions that can fail return int: 0 done; negative one of ERR_*, forwarded unchanged by every
 * caller; positive a condition documented at that function. The text is set once, where the fact is
 * known; callers going up may add the place and the remedy. Nothing below cli prints or exits.
 * Threads: a struct err belongs to one thread. All functions accept err == NULL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "pagetrail/macros.h"

enum {
	ERR_NOMEM = -1,       /* out of memory */
	ERR_IO = -2,          /* the system refused to read or write */
	ERR_STORE = -3,       /* SQLite failed, or the case is locked */
	ERR_DAMAGED = -4,     /* bytes of a case are not what was written; not a case; other version */
	ERR_LIMIT = -5,       /* a limit of limits.h was reached */
	ERR_USAGE = -6,       /* the caller (a person, at the command line) asked for nonsense */
	ERR_INPUT = -7,       /* input that cannot be read or recognised */
	ERR_INTERRUPTED = -8, /* stopped by a signal; what was done is kept */
	ERR_BUG = -9,         /* a promise inside the program was broken */
	ERR_FULL = -10,       /* no room to write; what was committed is kept */
};

struct err {
	int code; /* 0 while nothing failed */
	char what[512];
	char where[256]; /* file, record, argument; may be empty */
	char hint[256];  /* what to do; may be empty */
	bool by_errno;   /* the hint only follows from errno: a better one takes its place */
};

/* Sets code and text (replacing what stood there) and returns code. Text: lower case, no full stop. */
int err_set(struct err *err, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Like err_set, followed by ": <text of errno>", with a hint that follows from errno where there is one. */
int err_set_errno(struct err *err, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* "<text of errno>: <what to do>" in buf, which it returns. */
const char *err_errno_text(int errnum, char *buf, size_t size);
int err_nomem(struct err *err);
/* Sets the place unless one is set already, or it is a stop, which says nothing of a place; returns err->code. */
int err_where(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Sets the remedy unless one is set already; returns err->code. */
int err_hint(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);
