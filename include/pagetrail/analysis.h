/* SPDX-License-Identifier: Apache-2.0 */
/* analysis.h - from events to requests, lineage and classes
 *
 * resolve_case() turns events into the dimension tables (worker, boot, request, alias, leg, response, gap, clock): it is run by
 * `ingest` at its end, and again by a reader that finds the tables older than the evidence. Lineage and classes are computed
 * when asked, and appear as table-valued functions that queries select from:
 *   exposures()            one row per (worker, pool, reader, owner, kind): cli.md's columns
 *   findings()             one row per response (the population), with predicates and class: cli.md's scope columns
 *   finding_counts(of_tenant, by_day)  how many responses have the same class, band, predicates and so on, and when the first
 *                          and last of them began; of one tenant, or by day, where that is asked for
 *   exposed()              one row per request on the exposed side
 *   lineage(request)       legs, pages, writers before, readers after of one request
 *   lineage_pages(request) its page operations and those reads, run by run
 *   explain(request)       for each response of it: class, predicates, reasons, facts, and what would change the answer
 *   replay(request)        whose pages a victim was most likely given, by a model of the allocator; without request: all
 */
#pragma once

#include "pagetrail/case.h"
#include "pagetrail/feed.h"
#include "pagetrail/spool.h"

/* Rebuilds the dimension tables inside the caller's transaction. Deterministic: depends on events only. */
int resolve_case(struct case_file *c, struct err *err) MUST_CHECK;
/* The columns that resolving asks for, in a spool (spool.h) for who has the events at hand before. pages: those of page logs
 * as well. */
int resolve_spool_new(struct event_spool **ret, bool pages, struct err *err) MUST_CHECK;
/* 1 when the tables are older than the evidence. */
int resolve_needed(struct case_file *c, struct err *err) MUST_CHECK;

/* resolve_case(), and a row of the journal that holds a hash of the tables. extra: further members of its JSON, each with a
 * comma before it. */
int resolve_record(struct case_file *c, int64_t at_ns, struct text extra, struct err *err) MUST_CHECK;
/* Cheap: ERR_DAMAGED unless journal, sources and tables are what the journal says. */
int resolve_sealed(struct case_file *c, struct err *err) MUST_CHECK;
/* Only the tables, of a case that may be damaged otherwise: 1 they are those whose hash the journal holds, or it holds none;
 * 0 they are not, or cannot be read. */
int resolve_tables_hold(struct case_file *c, struct err *err) MUST_CHECK;
/* Sure: resolves again beside the case (read-only is enough) and calls report() with the first row that differs of each
 * table. 1: faults were reported. RESOLVE_OLDER: nothing was compared, because the tables are older than the evidence.
 * feed: page events that case_verify() decodes in another thread; may be NULL, and is left at the end. */
enum { RESOLVE_OLDER = 2 };
int resolve_verify(struct case_file *c, struct event_feed *feed,
		   int (*report)(void *ctx, struct text where, struct text what), void *ctx,
		   struct err *err) MUST_CHECK;

struct policy;
struct inventory;
/* What the user asserts or asks when classes are computed. Values entered by a person are printed as such. */
struct analysis_params {
	int64_t pool_tokens;   /* --param pool=N for boots that never printed one; 0: none */
	int64_t input_limit;   /* --param limit=N; 0: none */
	bool often;            /* all classes will be asked for again and again: they are kept in full */
	struct policy *policy; /* --policy (policy.h): taken over, freed with the connection; NULL: the built-in one */
	const struct inventory *inventory; /* --inventory (inventory.h), which outlives the connection; NULL: none */
};
/* Registers the functions above on the connection; the params are copied, the policy is taken over (also when this fails). */
int analysis_register(struct case_file *c, const struct analysis_params *params, struct err *err) MUST_CHECK;

/* --- classes: a pure function of the predicates; product.md's table --- */
enum tri { TRI_NO = 0, TRI_YES = 1, TRI_UNKNOWN = 2 };
const char *tri_name(enum tri t);
struct predicates {
	enum tri t, a, l, d, x;
};
enum class_id { CLASS_C1 = 1, CLASS_C2, CLASS_C3, CLASS_C4, CLASS_C5 };
struct class_result {
	enum class_id class_id;
	int rule; /* 1..8 as in docs/method.md */
	bool conflict;
};
/* trigger_stands, build_stands: false once a C1 with T=no (A=no) disproved that part of the hypothesis. */
struct class_result classify(struct predicates p, bool trigger_stands, bool build_stands);

/* --- what is known of the version that a replica runs; docs/deploy.md has the rules --- */
enum deploy_verdict {
	VERDICT_FIXED,
	VERDICT_AFFECTED,
	VERDICT_CONFLICTING,
	VERDICT_STALE,
	VERDICT_UNDETERMINED,
	VERDICT_NOT_OBSERVED,
	VERDICT_RETIRED,
	VERDICTS
};
const char *deploy_verdict_name(enum deploy_verdict v);

/* What a reason code of a finding or of a verdict says, as a sentence; NULL: no such code. */
const char *reason_says(struct text code);

/* --- queries: embedded SQL with a header that is parsed, checked and printed --- */
struct query_text {
	const char *name, *sql; /* file content, header included */
};
extern const struct query_text queries[]; /* generated; only cli and tests see it */
extern const size_t n_queries;

struct query_column {
	struct text name, type, unit, help; /* type: text integer real json tri time(ns -> RFC 3339) */
	bool required;                      /* a parameter that has to be given */
};
struct query_info {
	struct text name, title, question, order, empty;
	struct query_column *columns;
	unsigned n_columns;
	struct query_column *params;
	unsigned n_params;
	bool scan_allowed;
};
/* Parses the header. ERR_BUG with the line when it breaks the rules (the contract test runs it over all). */
int query_info_parse(const struct query_text *q, struct query_info *ret, struct err *err) MUST_CHECK;
void query_info_done(struct query_info *q);
const struct query_text *query_find(const struct query_text *list, size_t n, struct text name);

/* An alias, a request name, or a unique prefix of at least 6 characters -> request id.
 * ERR_INPUT when unknown, or with the candidates when not unique. */
int request_find(struct case_file *c, struct text name, int64_t *ret, struct err *err) MUST_CHECK;
