/* SPDX-License-Identifier: Apache-2.0 */
/* custody.h - the rows of table `source`: what is known already, what was begun, what is done
 *
 * Numbers are given once per run and never used again, so that they do not depend on the number of jobs.
 */
#pragma once

#include "head.h"
#include "pagetrail/ingest.h"

/* Column `container` of a source that is no file: a record that lay across two of them. */
#define CONTAINER_SEAM "seam"

/* What two sources are compared by before anything is read of them. */
struct traits {
	uint64_t bytes, worker, kind; /* hashes of the worker, and of format and zone */
	int64_t first_ns;             /* TIME_UNKNOWN: no record says when it was */
	bool named;                   /* the worker is not a guess from the path */
};

struct known { /* one source that is in the case, or on its way into it */
	int64_t source;
	uint64_t stored_bytes;
	struct head head;
	uint64_t path_hash; /* text_hash() */
	struct traits traits;
	unsigned char sha256[SHA256_BYTES], content[SHA256_BYTES];
	bool has_sha, has_content;
	bool pending; /* read in this run, its last chunk is not written yet */
	bool reading; /* a run before this one was stopped while it read it */
	bool repeats; /* all of it is duplicate: it has no events */
	bool failed;  /* not all could be read */
	bool seam;    /* no file: lines of other sources (seam.h) */
	bool came;    /* it was read in this run */
	bool touched; /* so it was, or it has another name or path */
	bool stale;   /* reading, and its file holds other bytes now */
};

struct custody {
	struct case_file *c;
	struct known *known;
	size_t n, cap;
	int64_t first, next; /* numbers from `first` on are of this run */
	size_t n_reading;
	bool seams_lost; /* a source was taken out that had seams */
	int64_t now_ns;  /* of the run */
};

int custody_open(struct custody *k, struct case_file *c, struct err *err) MUST_CHECK;
void custody_close(struct custody *k);

/* Sources of that size: 1 some are pending, 2 some are there, 3 both. */
int custody_of_size(const struct custody *k, uint64_t stored_bytes);
/* Next source at or after *at with this digest of the stored file; NULL at the end. */
const struct known *custody_next(const struct custody *k, const unsigned char sha256[SHA256_BYTES], size_t *at);
/* Next source at or after *at with this content, but not `except`; NULL at the end. Pending and failed ones do not count. */
const struct known *custody_of_content(const struct custody *k, const unsigned char content[SHA256_BYTES],
				       int64_t except, size_t *at);

/* A finished source without a single byte under this path: nothing tells it from an empty one read now; 0: none. */
int custody_empty(struct custody *k, struct text path, int64_t except, int64_t *ret, struct err *err) MUST_CHECK;

struct traits custody_traits(const struct source_result *r);
/* NULL: not there. Valid until a source is begun or dropped. */
struct known *custody_find(const struct custody *k, int64_t source);

/* New row, status 'reading'; r: path, container, format, format_basis, worker …, tz. Sets r->source. */
int custody_begin(struct custody *k, struct source_result *r, uint64_t size_hint, const struct head *head,
		  struct err *err) MUST_CHECK;
/* How much of it is there, for those who open the case when the run has died. */
int custody_reached(struct custody *k, int64_t source, uint64_t bytes, struct err *err) MUST_CHECK;
/* The source that was begun as `source` goes on as `old`: its row takes that number, the old row is no more. Chunks and
 * rejects are the caller's. */
int custody_take_over(struct custody *k, int64_t source, int64_t old, struct err *err) MUST_CHECK;
/* The row as it stays. sha256 and content may be NULL: not known. status: as in the table. */
int custody_finish(struct custody *k, const struct source_result *r, const unsigned char *sha256,
		   const unsigned char *content, const char *status, struct err *err) MUST_CHECK;
/* Takes a source out. What the journal knows of goes with a row 'drop' there; why: NULL, it is read again. */
int custody_drop(struct custody *k, int64_t source, const char *why, struct err *err) MUST_CHECK;
/* Takes out what follows from its bytes: events and rejects. */
int custody_drop_events(struct custody *k, int64_t source, struct err *err) MUST_CHECK;
/* Drops rows of sources that could not be read at all, under this path, but for the one that says the same as now. */
int custody_drop_unread(struct custody *k, struct text path, struct text reason, int64_t *ret_same,
			struct err *err) MUST_CHECK;
/* Drops sources that an earlier run began under another path, when all their chunks are in `source`: 1 some. */
int custody_drop_parts(struct custody *k, int64_t source, struct err *err) MUST_CHECK;

/* Its bytes are at another path, too, and that one names it from now on: path, container, worker …, sha256, stored_bytes. */
int custody_adopt(struct custody *k, int64_t source, const struct source_result *r, struct err *err) MUST_CHECK;
/* All records are duplicate. reason: NULL leaves it. */
int custody_repeats(struct custody *k, int64_t source, const char *reason, struct err *err) MUST_CHECK;
/* The end of a source that no run can go on with: status failed. Its account is there already. */
int custody_give_up(struct custody *k, int64_t source, const char *reason, struct err *err) MUST_CHECK;

/* Fills r from the row (texts live in a). */
int custody_row(struct custody *k, int64_t source, struct source_result *r, struct arena *a,
		struct err *err) MUST_CHECK;
