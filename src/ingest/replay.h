/* SPDX-License-Identifier: Apache-2.0 */
/* replay.h - bytes that the case holds already are compared, not stored again
 *
 * A source whose beginning is known (its reading was stopped, or its file has grown) is read and parsed from its start,
 * so that parsers, account and rejects are what they would be without the stop. As long as each block has the hash of
 * the stored chunk at its place, and the events made of it are those of the next stored chunk, nothing is written. With
 * the first that differs replay_leave() says where the rest belongs.
 */
#pragma once

#include "pagetrail/event.h"
#include "session.h"

struct replay_block;
struct replay_batch;

struct replay {
	struct session *s;
	int64_t row;  /* the source that is being read */
	int64_t base; /* whose chunks are compared; 0: none, or over */
	bool resumes; /* the base was never finished */
	struct replay_block *blocks;
	struct replay_batch *batches; /* in the order in which they were written */
	size_t n_blocks, at_block, n_batches, at_batch;
	bool whole; /* all bytes of the base were seen */
};

struct replay_ask {
	int64_t row;
	const struct source_result *r; /* path, format, tz */
	const struct source *source;
	const struct block *first; /* NULL: nothing is compared, the source is read in one piece or empty */
	struct head head;          /* of it */
};

/* What the case holds that begins like this; r->base 0: nothing. */
int replay_begin(struct replay *r, struct session *s, const struct replay_ask *a, struct err *err) MUST_CHECK;
/* 1: these are the next bytes, or events, of the base; 0: they are not. */
int replay_block(struct replay *r, const struct block *b, struct err *err) MUST_CHECK;
int replay_batch(struct replay *r, const struct event_batch *b);
/* Ends the comparison: what follows is to be written. The source keeps what was equal, and has from now on the number in
 * r->row: that of the base, when that one goes on here and its file is no more (ret->goes_on), else its own.
 * over: the end was reached; failed: not that of the file. Nothing was submitted yet. */
int replay_leave(struct replay *r, const struct replay_ask *a, bool over, bool failed, struct replay_end *ret,
		 struct err *err) MUST_CHECK;
void replay_done(struct replay *r);

/* The source of this path whose beginning is this; *ret 0: none. */
int replay_source_of(struct session *s, struct text path, const struct block *first, int64_t *ret,
		     struct err *err) MUST_CHECK;

/* Is a file that the case knows no more there with the bytes that it had: was it renamed, or has it grown into `now`? */
bool replay_gone(const struct source_result *was, bool unfinished, const char *now, const unsigned char *now_sha256,
		 struct err *err);
