/* SPDX-License-Identifier: Apache-2.0 */
/* lineage_order.h - page records on their way into the sweep; private to lineage*.c */
#pragma once

#include "lineage.h"
#include "pagetrail/instant.h"

#define PAGE_MASK                                                                                                 \
	(1u << PAGE_OP | 1u << PAGE_SEQ | 1u << PAGE_POOL | 1u << PAGE_RID | 1u << PAGE_ROOM | 1u << PAGE_PAGES | \
	 1u << PAGE_TOKEN_FROM | 1u << PAGE_TOKEN_TO | 1u << PAGE_SIZE | 1u << PAGE_POOL_PAGES)

struct record {
	int64_t ns, seq, source;
	uint64_t off;
	const struct page_run *runs; /* borrowed; in struct records: run_from says where */
	int64_t tokens, page_size, pool_pages;
	size_t run_from;
	uint32_t len, n_runs, worker, pool, rid, room;
	enum page_op op;
	bool has_seq, has_tokens;
};

struct order { /* where a worker's records have come to */
	bool any, has_seq, dirty;
	int64_t last_seq, last_ns, last_source;
	uint64_t records, touched; /* pages named */
	bool wide;                 /* so many that they are swept as runs */
	struct map wrote;          /* rids that have written since they took pages */
};

struct source {
	int64_t id;
	struct instants instants;
	struct text worker, alias, path;
	struct {
		struct text text;
		uint32_t worker;
		bool set;
	} memo[8];
	unsigned next_memo;
};

struct run {
	struct case_file *c;
	struct lineage *l;
	struct source *sources;
	uint32_t n_sources;
	bool part;                     /* only parts of logs are swept */
	bool unsure;                   /* a part was too short */
	bool only;                     /* workers that turn up are skipped */
	bool keep;                     /* nothing is forgotten */
	bool forgot;                   /* something was, and: */
	bool missed;                   /* it might have mattered */
	size_t forget_from, forget_at; /* names */
};

/* Loads workers and sources; run_end() gives back what only the run needs. */
int run_begin(struct run *r, struct case_file *c, bool lazy, struct err *err) MUST_CHECK;
void run_end(struct run *r);
/* Sweeps all that is not skipped, from whole logs. */
int run_whole(struct run *r, struct err *err) MUST_CHECK;
/* Ends the sweeps and takes their results. */
int run_finish(struct run *r, struct err *err) MUST_CHECK;
/* 1: not a page operation that we know. */
int run_record(struct run *r, struct source *src, const struct event_batch *b, uint32_t row, struct record *ret,
	       struct err *err) MUST_CHECK;
int run_worker_of(struct run *r, struct source *src, struct text t, uint32_t *ret, struct err *err) MUST_CHECK;
int run_pool(struct run *r, struct lineage_worker *w, struct text name, uint32_t *ret, struct err *err) MUST_CHECK;
int64_t run_key(const struct run *r, uint32_t worker); /* of a worker, for actors */
int run_worker(struct run *r, struct text name, uint32_t *ret, struct err *err) MUST_CHECK;
/* in_doubt: another record claims the same seq and says something else. */
int run_feed(struct run *r, const struct record *rec, bool in_doubt, struct err *err) MUST_CHECK;

/* Time, seq and place of a row alone; and a record that changes nothing but the place in the sequence. */
int run_light(struct run *r, struct source *src, const struct event_batch *b, uint32_t row, struct record *ret,
	      struct err *err) MUST_CHECK;
int run_skip(struct run *r, const struct record *rec, struct err *err) MUST_CHECK;

/* lineage_forget.c: forgets what nothing rests on, when there is much of it. Between records. */
int run_forget(struct run *r, struct err *err) MUST_CHECK;

/* lineage_find.c: ERR_DAMAGED unless an event chunk matches its hash. */
int chunk_check(int64_t source, struct text data, struct text sha256, struct err *err) MUST_CHECK;

struct records { /* all records of one worker */
	struct record *all;
	size_t n, cap;
	struct page_run *runs;
	size_t n_runs, cap_runs;
	size_t limit; /* bytes */
};

int order_add(struct records *s, const struct record *rec, struct err *err) MUST_CHECK;
/* Every page number at which some run begins or ends, once, in order. Caller frees *ret. */
int order_bounds(const struct records *s, uint32_t **ret, size_t *ret_n, struct err *err) MUST_CHECK;
/* Sorts, drops records that say the same, and feeds the rest. */
int order_feed(struct records *s, struct run *r, uint64_t *duplicates, struct err *err) MUST_CHECK;
void order_done(struct records *s);
