/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - bytes that come one block after another: a file, an unpacked gzip, a member of an archive
 *
 * read() gives the next block, valid until the next call, and *ret_n 0 at the end. Damage is no error: the stream ends
 * there, and the first reason is kept in its struct damage. Negative ERR_* are for memory. push() gives back the tail
 * of the block that was read last; peek() shows at least STREAM_HEAD bytes unless the stream is shorter. One thread at
 * a time.
 */
#pragma once

#include <stdbool.h>

#include "pagetrail/err.h"

struct damage {
	char reason[256]; /* "" while all is well */
	bool final;       /* nothing can be read behind it */
	bool left;        /* packed bytes were left that nobody could make use of */
};

enum { STREAM_HEAD = 512 }; /* the header of a tar, the longest that is looked at */

struct stream {
	int (*fill)(struct stream *s, const char **ret, size_t *ret_n, struct err *err);
	void (*close)(struct stream *s);
	struct damage *damage;
	const char *ahead; /* given back, or read by stream_peek() */
	size_t n_ahead;
	const char *behind; /* what comes after it, when stream_peek() had to put blocks together */
	size_t n_behind;
	char head[STREAM_HEAD];
};

static inline int stream_read(struct stream *s, const char **ret, size_t *ret_n, struct err *err)
{
	if (s->n_ahead) {
		*ret = s->ahead;
		*ret_n = s->n_ahead;
		s->n_ahead = 0;
		return 0;
	}
	if (s->n_behind) {
		*ret = s->behind;
		*ret_n = s->n_behind;
		s->n_behind = 0;
		return 0;
	}
	return s->fill(s, ret, ret_n, err);
}

static inline void stream_push(struct stream *s, const char *p, size_t n)
{
	s->ahead = p;
	s->n_ahead = n;
}

int stream_peek(struct stream *s, const char **ret, size_t *ret_n, struct err *err) MUST_CHECK;

/* The first reason stays. */
void damage_set(struct damage *d, bool final, const char *fmt, ...) PRINTF_LIKE(3, 4);
