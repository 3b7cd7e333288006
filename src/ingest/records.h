/* SPDX-License-Identifier: Apache-2.0 */
/* records.h - cuts one source into records and runs its parser over them
 *
 * Fed with bytes block by block; a record over a border is put together in the room before the next block, or, when it
 * is longer than that, in a buffer of its own. Every byte is accounted once. Belongs to one thread.
 * A wrapped source is cut into outer records, whose inner ones have parsers by origin (peel.c).
 */
#pragma once

#include "account.h"
#include "origins.h"
#include "zone_votes.h"

struct zone;

enum { DELEGATE_DEPTH_MAX = 4 };

/* A run of records that were not understood. Two records can lie in the same bytes (two that one line of a wrapper holds, cut
 * into pieces): a second one at the same place adds to the first, by reason. */
#define REJECT_INSERT                                                                                 \
	"INSERT INTO reject(source, byte_off, byte_len, records, reason) VALUES(?1, ?2, ?3, ?4, ?5) " \
	"ON CONFLICT DO UPDATE SET byte_len = byte_len + excluded.byte_len, records = records + excluded.records"

struct records_sink {
	/* Events with their time in UTC where the zone is known. */
	int (*event)(void *ctx, const struct event *e, struct err *err);
	/* Each record, or each piece that continues one; NULL allowed. */
	int (*record)(void *ctx, uint64_t off, struct text record, enum verdict v, const char *reason);
	/* A run of records that were not understood, with their line ends; NULL allowed. */
	int (*reject)(void *ctx, uint64_t off, uint64_t len, uint64_t n, const char *reason, struct err *err);
	void *ctx;
	/* A record that a wrapped source ends in the middle of: where its pieces lie; NULL allowed. */
	int (*unended)(void *ctx, const struct span *spans, size_t n, struct err *err);
	/* Takes the inner records of a wrapped source, which then are not parsed; 1: no more are wanted. NULL: none does. */
	int (*inner)(void *ctx, const struct origin *place, struct text record, struct err *err);
};

/* Whole lines of a record that another source has whole (seam.h): duplicate, and not looked at. */
struct joined {
	uint64_t off, len;
	bool begins; /* the first ones of that record in this source */
};

struct records_ask {
	const struct stack *stack;   /* stays the caller's; no parser and no wrapper: every record is unparsed */
	const struct zone *zone;     /* of naive stamps; NULL: UTC */
	struct stamp outer;          /* what is known of the time from outside */
	struct stamp era;            /* about when it was written, for stamps without a year; zeroed: not known */
	bool named;                  /* somebody said whose log this is: a wrapper is not asked */
	const struct joined *joined; /* in their order; stay the caller's */
	size_t n_joined;
};

/* Of a source whose records say their own length. */
struct binary {
	bool on;
	bool lost;       /* no record is known to begin at r->off */
	const char *why; /* it is lost */
	uint64_t passed; /* bytes since then */
	uint64_t budget; /* bytes of records that may still be tried */
	uint64_t skip;   /* bytes still to come of a record that is too long */
	uint64_t len;    /* of that record */
	char sample[64]; /* its beginning, or that of what was passed */
	size_t n_sample;
};

struct records {
	struct formats *formats;
	struct records_sink sink;
	struct records_ask ask;
	struct parse *main; /* of the record at hand; NULL: nothing recognises it */
	bool document;
	size_t (*frame)(struct text t, bool last); /* NULL: records are lines, or the whole source is one */
	struct binary binary;
	struct err *err; /* of the call at hand */
	struct account account;
	int64_t first_ns, last_ns;

	/* cutting */
	uint64_t off;     /* of the next byte that has no record yet */
	const char *tail; /* end of the block before, no record end in it */
	size_t n_tail;
	struct buf carry; /* a record longer than the room before a block */
	bool in_carry;
	uint64_t nuls;    /* before what is in carry: a file that was cut under its writer has gigabytes of them */
	uint64_t skipped; /* bytes of a record that is too long */
	bool nul_seen;    /* so far: lines of most sources need not be searched for one */
	size_t at_joined; /* the next of ask.joined */
	bool unended;     /* the last line of a source, without a line end: perhaps its writer was not done */
	struct text end;  /* the word or number that it ends with */

	/* classes */
	uint64_t reject_off, reject_len, reject_n;
	const char *reject_reason;

	/* delegation */
	unsigned depth;

	struct origin_parse bare, *at; /* what is parsed at the moment */

	/* a wrapped source */
	struct origins *origins; /* NULL: it is not */
	struct outer *outer;     /* the record at hand */
	struct stamp seen;       /* when a wrapper saw the inner record at hand */
	struct text worker;      /* whose a wrapper says it is */
	bool recognised;         /* something was parsed */
	bool enough;             /* the sink wants no more */
	char name[2 * NAME_MAX_BYTES];
	struct zone_votes votes;
};

int records_begin(struct records *r, struct formats *f, const struct records_ask *ask, const struct records_sink *sink,
		  struct err *err) MUST_CHECK;
/* headroom writable bytes before data, BUF_PADDING readable ones behind; data stays as it is until the next call. */
int records_feed(struct records *r, char *data, size_t len, size_t headroom, struct err *err) MUST_CHECK;
int records_end(struct records *r, struct err *err) MUST_CHECK;
/* The source begins inside of a record: what stands before the next one is unparsed. Binary formats only. */
void binary_begin(struct records *r, bool lost);
void records_done(struct records *r);
