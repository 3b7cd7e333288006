/* SPDX-License-Identifier: Apache-2.0 */
/* column.h - event chunks: batches of one kind, stored column by column, and scans over them
 *
 * Encoding and decoding are pure and thread-safe. The decoder trusts nothing: it checks every length against the bytes at
 * hand and limits.h before it allocates. Format: docs/store-format.md.
 */
#pragma once

#include "pagetrail/buf.h"
#include "pagetrail/case.h"
#include "pagetrail/event.h"

struct event_chunk { /* encoded, ready to write */
	enum event_kind kind;
	uint32_t n;
	int64_t ts_min, ts_max; /* TIME_UNKNOWN when no event has a time */
	uint64_t byte_min, byte_max;
	unsigned char sha256[SHA256_BYTES]; /* of data */
	struct buf data;
	struct buf plain; /* the same for the case's spool, empty: none */
};

/* A part of the source that holds records of a batch. */
struct column_bytes {
	struct text bytes;
	uint64_t off;
};
/* from: values that stand in these bytes are stored as places there; NULL: as values. */
int column_encode(const struct event_batch *b, const struct column_bytes *from, struct event_chunk *ret,
		  struct err *err) MUST_CHECK;
/* Encoded once more for scans of the same run, where the case has a spool. May be called from any thread. */
int column_plain(const struct case_file *c, const struct event_batch *b, struct event_chunk *e,
		 struct err *err) MUST_CHECK;
void column_done(struct event_chunk *e);
/* Gives bytes of the chunk's source: exactly len of them, or an error. */
struct column_reader {
	int (*read)(void *ctx, uint64_t off, size_t len, char *dest, struct err *err);
	void *ctx;
};
/* Decodes the columns of `mask` (bit per column; the common columns always). ERR_DAMAGED on anything odd. from: may be NULL
 * for chunks that hold all values themselves. */
int column_decode(enum event_kind kind, struct text data, uint32_t mask, const struct column_reader *from,
		  struct event_batch **ret, struct err *err) MUST_CHECK;
/* The part of the source that decoding will ask for; *ret_len 0: none. */
int column_refers(enum event_kind kind, struct text data, uint64_t *ret_off, uint64_t *ret_len,
		  struct err *err) MUST_CHECK;
/* column_decode() for a chunk of a case: its records come from the evidence. */
int column_decode_stored(struct case_file *c, int64_t source, enum event_kind kind, struct text data, uint32_t mask,
			 struct event_batch **ret, struct err *err) MUST_CHECK;
/* In place of a column's number: the worker as the record names it. */
#define COLUMN_WORKER UINT32_MAX
/* May a row of this text column hold exactly `needle`? 0 no, 1 perhaps; an empty needle asks whether the column (of any
 * type) has any value at all. Much cheaper than decoding; the caller has checked the hash. */
int column_holds(enum event_kind kind, struct text data, unsigned column, struct text needle,
		 struct err *err) MUST_CHECK;
/* 1: the events of this stored chunk of the source are those of the batch, value by value. */
int column_same(struct case_file *c, int64_t source, int64_t chunk, const struct event_batch *b,
		struct err *err) MUST_CHECK;
int column_append(struct case_file *c, int64_t source, const struct event_chunk *e, struct err *err) MUST_CHECK;

/* A scan over all chunks of one kind, in (source, byte offset) order, one decoded batch at a time. */
struct event_scan;
struct event_filter {
	int64_t source;             /* 0: any */
	int64_t since_ns, until_ns; /* TIME_UNKNOWN: open. Chunks outside are skipped; rows are not filtered */
};
int event_scan_open(struct event_scan **ret, struct case_file *c, enum event_kind kind, uint32_t mask,
		    const struct event_filter *filter, struct err *err) MUST_CHECK;
/* 1 and a batch (valid until the next call), 0 at the end. *ret_source: whose events these are. */
int event_scan_next(struct event_scan *s, const struct event_batch **ret, int64_t *ret_source,
		    struct err *err) MUST_CHECK;
void event_scan_close(struct event_scan *s); /* accepts NULL */
DEFINE_CLEANUP(struct event_scan *, event_scan_close)
