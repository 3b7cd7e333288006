/* SPDX-License-Identifier: Apache-2.0 */
/* ingest.h - from paths to sources in a case
 *
 * source.c reads files, folders and archives; detect.c chooses the format by bids; pipeline.c cuts records, runs
 * parsers, encodes chunks in workers and writes them in source order; account.c keeps the sums that must hold.
 */
#pragma once

#include <signal.h>

#include "pagetrail/case.h"
#include "pagetrail/wrapper.h"

struct account { /* one number per verdict; records and bytes */
	uint64_t records, parsed, context, unparsed, duplicate;
	uint64_t bytes, bytes_parsed, bytes_context, bytes_unparsed, bytes_duplicate;
};

enum source_status { SOURCE_INGESTED, SOURCE_KNOWN, SOURCE_RESUMED, SOURCE_UNRECOGNISED, SOURCE_FAILED };

struct source_result {  /* one row of `ingest --json` */
	int64_t source; /* 0: nothing was stored (a link to another member, or a plan) */
	struct text path, container, format, worker, reason;
	char sha256[SHA256_HEX], content_sha256[SHA256_HEX];
	struct text worker_alias, worker_basis, role, tz, tz_basis, format_basis; /* as in the table `source` */
	uint64_t stored_bytes;
	struct account account;
	int64_t first_ns, last_ns;
	enum source_status status;
};

struct ingest_progress {
	uint64_t bytes, records; /* read out of the files so far */
	uint64_t stored_bytes;   /* of the files as given, that were used up; files that are known count whole */
	uint64_t total_bytes;    /* of all files; 0: not known */
	struct text path;        /* at hand */
};

struct ingest_options {
	const struct parser *const *parsers;
	size_t n_parsers;
	const struct wrapper *const *wrappers; /* may be none */
	size_t n_wrappers;
	const char *format;          /* a format, or a stack of them: cri+sglang-engine; NULL: detect */
	const char *worker;          /* NULL: by the rules of "Which worker" */
	const char *tz;              /* NULL: UTC assumed, and said so */
	const char *sources_csv;     /* --sources FILE, or NULL */
	unsigned jobs;               /* 0 and 1: everything in the caller's thread */
	bool plan;                   /* only detect and name workers, store nothing */
	const char *case_path;       /* of a plan: left out, as the case itself always is */
	int64_t now_ns;              /* clock for the journal */
	volatile sig_atomic_t *stop; /* set by a signal handler: finish the chunk and return ERR_INTERRUPTED */
	/* Called for each source as it ends; texts are valid during the call. */
	int (*on_source)(void *ctx, const struct source_result *r);
	/* Called for each source that was reported in this run, when records of it turn out to be whole in another one: what was
	 * said of it, and what it is now. May be NULL. */
	void (*on_joined)(void *ctx, const struct source_result *was, const struct account *now);
	/* Called block by block. May be NULL. */
	void (*on_progress)(void *ctx, const struct ingest_progress *p);
	/* Something in an input file of ours that was not understood, but does no harm. May be NULL. */
	void (*on_warning)(void *ctx, struct text what);
	void *ctx;
};

/* Ingests a path (file, folder, archive, or "-"). Faults of one source do not stop the others: they are results with
 * status FAILED or UNRECOGNISED. Negative only when the case cannot go on (store, memory, interrupt). */
int ingest_path(struct case_file *c, const struct ingest_options *o, const char *path, struct err *err) MUST_CHECK;
/* Several paths as one run: parsers are opened once. c may be NULL with o->plan. */
int ingest_paths(struct case_file *c, const struct ingest_options *o, const char *const *paths, size_t n_paths,
		 struct err *err) MUST_CHECK;

/* Bytes that the program itself has fetched, as one source each, in the caller's thread. Of the options format and worker are not
 * used. name: stands for the path, and is none. */
struct ingest_given {
	const char *name, *format, *worker; /* worker NULL: by the rules */
	struct text bytes;
};
int ingest_bytes(struct case_file *c, const struct ingest_options *o, const struct ingest_given *list, size_t n,
		 struct err *err) MUST_CHECK;

/* 1: there is something below these paths that would be read, or that fails; 0 there is not. */
int ingest_any(const char *const *paths, size_t n_paths, const char *case_path, struct err *err) MUST_CHECK;

/* Events, rejects and account of a source made again from the evidence that the case holds of it (salvage.h): by the format
 * and zone of its row, without what is whole in another source. There are no rejects before; events that are there and are the
 * same stay. Inside the caller's transaction. */
int ingest_again(struct case_file *c, const struct ingest_options *o, int64_t source, struct account *ret,
		 struct err *err) MUST_CHECK;

/* --- detection, also used by `formats test|explain` --- */
struct detection {
	const struct parser *parser;     /* NULL: none, or a tie */
	const struct parser *best;       /* the best bidder, also where it was refused; NULL: nobody bid */
	const struct parser *runner_up;  /* may be NULL */
	unsigned score, runner_up_score; /* per mille of the records looked at */
	unsigned records;
	const struct wrapper *wrap[WRAP_DEPTH_MAX]; /* outermost first; the above is of what is in them */
	unsigned n_wraps;
	const char *reason; /* why none: "no format recognises it", "tie", "binary", "empty" */
	bool unknown;       /* text that nobody knows: what comes behind it may say more */
	uint64_t from,
	    to; /* bytes that it was recognised by, where these are not the first; no parser: from 0, all that was looked at */
};
int detect(const struct parser *const *list, size_t n, struct text head, bool whole, struct detection *ret,
	   struct err *err) MUST_CHECK;
/* The same with wrappers. A source that can hold many origins is recognised without a parser: n_wraps, and no reason. */
int detect_wrapped(const struct parser *const *list, size_t n, const struct wrapper *const *wraps, size_t n_wraps,
		   struct text head, bool whole, struct detection *ret, struct err *err) MUST_CHECK;
/* Is `name` a format, or a stack of them, that these make? Has it documents, not lines? */
bool format_known(struct text name, const struct parser *const *parsers, size_t n_parsers,
		  const struct wrapper *const *wraps, size_t n_wraps);
bool format_is_document(struct text name, const struct parser *const *parsers, size_t n_parsers,
			const struct wrapper *const *wraps, size_t n_wraps);
/* `formats explain FILE`: one line per step to write(). */
int detect_explain(const struct parser *const *list, size_t n, const struct wrapper *const *wraps, size_t n_wraps,
		   const char *path, int (*write)(void *ctx, struct text line), void *ctx, struct err *err) MUST_CHECK;

/* Does what was asked for make sense: format, zone, the file of sources? Before a case is made. */
int ingest_check(const struct ingest_options *o, struct err *err) MUST_CHECK;

/* Runs one parser over bytes in memory, events and verdicts to `sink` (golden tests, fuzzing, formats test). */
int ingest_text(const struct parser *parser, const struct parser *const *list, size_t n, struct text bytes,
		int (*on_event)(void *ctx, const struct event *e, struct err *err),
		int (*on_record)(void *ctx, uint64_t off, struct text record, enum verdict v, const char *reason),
		void *ctx, struct account *ret, struct err *err) MUST_CHECK;
/* The same with wrappers: `name` is a format or a stack of them; origins and parsers are detected as far as it leaves them
 * open. ERR_USAGE: there is no such stack. */
int ingest_text_wrapped(struct text name, const struct parser *const *list, size_t n,
			const struct wrapper *const *wraps, size_t n_wraps, struct text bytes,
			int (*on_event)(void *ctx, const struct event *e, struct err *err),
			int (*on_record)(void *ctx, uint64_t off, struct text record, enum verdict v,
					 const char *reason),
			void *ctx, struct account *ret, struct err *err) MUST_CHECK;
