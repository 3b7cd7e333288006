/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - one run of ingest: what its parts share (private to the layer)
 *
 * All of it belongs to the calling thread. The pool's run() functions touch only their own task; everything that writes
 * to the case happens in done(), in order of submission.
 */
#pragma once

#include "begun.h"
#include "block.h"
#include "csv.h"
#include "custody.h"
#include "detect.h"
#include "own.h"
#include "pagetrail/thread.h"
#include "records.h"
#include "spare.h"

/* format_basis of a container that is kept as it is, and of a source that nothing could be read of */
#define BASIS_AS_IT_IS   "{\"reason\":\"a container, kept as it is\"}"
#define TZ_BASIS_WRAPPER "wrapper " /* with the offset behind it, clock.c reads it */
#define BASIS_NOT_READ   "{\"reason\":\"not read\"}"

struct session {
	struct case_file *c; /* NULL in a plan */
	const struct ingest_options *o;
	struct formats formats;
	const struct parser **list; /* of formats: those of the run, then maps that the case knows */
	struct map **kept;
	size_t n_kept;
	struct zone *zone; /* --tz */
	struct sources_file sources;
	struct custody custody;
	struct begun begun; /* the paths that are given; none in a plan */
	struct pool *pool;
	struct block_pool *blocks;
	struct spares spares;     /* the pool gives batches back */
	struct own own;           /* the case file itself */
	const struct text *given; /* the bytes at hand, in place of a file; NULL: there is one */
	const struct source_result
	    *like;                       /* they are lines of this source: its format, worker, role and zone; or NULL */
	bool left_over;                  /* an earlier run did not end */
	unsigned files;                  /* below the path at hand */
	bool unbounded;                  /* standard input is among them */
	uint64_t uncommitted;            /* bytes written since the last commit */
	struct ingest_progress progress; /* stored_bytes: of the files before the one at hand */
};

/* What replay_leave() says of the bytes that were known. */
struct replay_end {
	bool resumed, goes_on; /* goes_on: a finished source, whose file has grown */
	uint64_t bytes;        /* of that source, and its digests */
	char sha256[SHA256_HEX], content_sha256[SHA256_HEX];
};

/* Files whose names say that they are of different workers are the same story only from so many bytes on. */
enum { OTHER_NAME_MIN_BYTES = 4096 };

/* One stored file on its way into the case; ends when all its members are written. */
struct stored_member {
	struct source_result r;
	unsigned char content[SHA256_BYTES];
	bool has_content, plain;
	struct replay_end was;
	bool standing; /* a source that could not be read before either: its row is there */
	struct stored_member *next;
};

struct stored {
	const char *path;   /* owned */
	struct arena arena; /* results and their texts */
	struct stored_member *first, **end;
	unsigned char sha256[SHA256_BYTES];
	bool has_sha;
	uint64_t bytes;
};

/* pipeline.c: reads the member at hand of src into the case (or only looks at it, in a plan) and adds it to st. */
int pipeline_member(struct session *s, struct source *src, const struct member *m, struct stored *st,
		    struct err *err) MUST_CHECK;
/* Commits when much was written. source: one that is being read, and how much of it is written by now; or 0. */
int session_wrote(struct session *s, uint64_t bytes, int64_t source, uint64_t end, struct err *err) MUST_CHECK;
/* Stores bytes that are lines of the source `like`, under a name that is no path; returns when they are written. */
int session_store(struct session *s, const char *name, struct text bytes, const struct source_result *like,
		  struct err *err) MUST_CHECK;
bool session_stopped(const struct session *s);
int session_report(struct session *s, const struct source_result *r);
void session_progress(struct session *s, const struct source *src, struct text path);
struct stored_member *stored_add(struct stored *st);
/* ingest.c: what the journal says of a source; was: may be NULL. */
int journal_source(struct session *s, const struct source_result *r, const struct replay_end *was,
		   struct err *err) MUST_CHECK;
/* repeat.c: the row as it is now, to the journal. */
int journal_row(struct session *s, int64_t source, struct err *err) MUST_CHECK;
/* A task whose run() does nothing. */
int task_nothing(struct task *t, struct err *err);

/* naming.c: worker, role, zone and format of a path, before anything was read. */
struct naming {
	const struct sources_line *line; /* may be NULL */
	struct text format;              /* asked for: a format or a stack of them; "": detect */
	struct zone *own_zone;           /* of the line; NULL: none */
	const struct zone *zone;         /* NULL: UTC */
	bool explicit_worker;
	bool said; /* by an option or the sources file */
};
int naming_begin(struct naming *n, struct session *s, const char *path, struct source_result *r, struct arena *a,
		 struct err *err) MUST_CHECK;
/* A person said so, by an option or the sources file. */
static inline bool naming_said(struct text basis)
{
	return text_is(basis, "option") || text_is(basis, "sources");
}
/* What was said of the file when it was read before (was: its row) still holds, where nobody says otherwise now. */
int naming_inherit(struct naming *n, struct session *s, const struct source_result *was, struct source_result *r,
		   struct err *err) MUST_CHECK;
/* Bytes of another source have its names. */
int naming_like(struct naming *n, const struct source_result *like, struct source_result *r,
		struct err *err) MUST_CHECK;
void naming_done(struct naming *n);
/* boot: host:port that the records say ("" none); record: the one name that all events carry ("" none, or several);
 * wrapped: it is the wrapper that says it. */
int naming_end(struct naming *n, struct source_result *r, struct text boot, struct text record, bool wrapped,
	       struct err *err) MUST_CHECK;
/* When a snapshot was taken: a time in its name, else the file's own. */
struct stamp naming_time(const char *path, int64_t mtime_s);
/* About when a log was written, for stamps without a year: a date in its name, else when its file was written last. */
struct stamp naming_era(const char *path, int64_t mtime_s);
