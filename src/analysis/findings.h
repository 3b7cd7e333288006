/* SPDX-License-Identifier: Apache-2.0 */
/* findings.h - one finding per response: predicates with their reasons, and the class; private to src/analysis
 *
 * findings_run() computes numbers only; names, aliases and refs are read when a row is shown (findings_rows.c).
 */
#pragma once

#include "lineage.h"
#include "reasons.h"

enum band { BAND_UNKNOWN, BAND_OVER_POOL, BAND_BOUNDARY, BAND_UNDER };
enum served_as { AS_UNKNOWN, AS_PREFILL, AS_DECODE, AS_UNIFIED };
enum outcome {
	OUTCOME_UNKNOWN,
	OUTCOME_FINISHED,
	OUTCOME_REJECTED,
	OUTCOME_TRUNCATED,
	OUTCOME_ABORTED,
	OUTCOME_FAILED,
	OUTCOME_LATE_READ
};
enum length_flag { LENGTH_NONE, LENGTH_EXACT, LENGTH_AT_LEAST, LENGTH_ESTIMATE };

/* Numbers that a log did not give are UNSAID. */
#define UNSAID INT64_MIN

struct served_boot {
	int64_t boot, worker, started_ns, ended_ns, context_len, pool_tokens, input_limit, page_size;
	enum served_as role;
	enum tri affected; /* by version and engine; mode is the leg's */
	enum reason why;
	bool entered; /* pool or limit were entered by a person */
	struct text model;
};

struct served_leg {
	int64_t leg, attempt, worker, boot, started_ns, finished_ns;
	int64_t input_tokens, output_tokens, rejected_tokens, limit_tokens;
	enum served_as role;
	enum outcome outcome;
	enum length_flag flag;
};

struct finding {
	int64_t response, request, tenant; /* tenant 0: unknown */
	int64_t started_ns;
	int64_t prefill_leg, decode_leg; /* leg rows that served it; 0: none. A unified leg stands in both */
	int64_t prefill_worker, decode_worker, decode_boot, read_ns;
	int64_t prefill_boot; /* 0: unknown */
	int64_t prompt_tokens, pool_tokens, input_limit;
	int64_t candidate_owners; /* UNSAID when the grade is not temporal */
	int64_t decode_limit;     /* input limit of the boot that answered; of a unified one it is input_limit */
	int64_t foreign_at_most;  /* tokens of them that it can have read; likewise, and where nothing bounds it */
	uint64_t reasons;         /* bit per enum reason */
	struct predicates p;
	struct class_result c;
	enum length_flag flag;
	enum band band;
	enum tri cross_tenant;
	uint32_t owner_count, owner_tenants;
	uint32_t reads_from, n_reads; /* in findings.reads */
	enum { GRADE_NONE, GRADE_TEMPORAL, GRADE_PHYSICAL } grade;
};

struct marked { /* a request that got markers of others */
	int64_t request;
	enum tri cross_tenant; /* any of them of another tenant */
	bool unseen;           /* of none of them it is known that the prompt did not hold it */
	bool early;            /* one was seen before it was planted */
};

struct foreign_read {            /* an edge that makes L */
	uint32_t reader, worker; /* actor; index in lineage.workers */
	const struct edge *edge;
};

struct findings {
	const struct lineage *lineage;
	struct finding *all; /* by start, then request, then response */
	size_t n;
	struct foreign_read *reads; /* by reader */
	size_t n_reads;
	struct served_boot *boots; /* by boot */
	size_t n_boots;
	bool trigger_stands, build_stands;
	struct marked *marked; /* sorted, each once */
	size_t n_marked;
	struct arena arena;
	struct pool_lives *lives; /* who lived where, for candidate sets */
};

int findings_run(struct findings **ret, struct case_file *c, const struct analysis_params *params,
		 const struct lineage *l, struct err *err) MUST_CHECK;
void findings_free(struct findings *f); /* accepts NULL */

/* Are its owners, or some of them, known only as a set that they are in? */
static inline bool finding_has_candidates(const struct finding *f)
{
	return f->grade == GRADE_TEMPORAL || f->reasons >> REASON_OWNERS_OPEN & 1;
}
/* The worker in whose pool it must have read; 0: not known. */
int64_t finding_place(const struct findings *f, const struct finding *x);

/* "0.5.10", "v0.5.10.post1", "0.5.9+cu124": numbers of a final release. false for all others. */
bool version_final(struct text v, int ret[3]);
/* What a version string decides about the built-in hypothesis: yes affected, no fixed, else unknown and why. */
enum tri version_affected(struct text engine, struct text version, enum reason *ret_why);

/* findings_predicates.c: T, A and band of one response from its legs. legs: of one request, ordered by attempt. */
struct evidence_of {
	const struct served_leg *legs;
	size_t n_legs;
	const struct served_boot *boots; /* sorted by boot */
	size_t n_boots;
	struct text model;
	enum tri delivered;
	int64_t completion_tokens;
	int64_t attempts;                  /* as many as anybody says there were */
	int64_t finished_ns;               /* of the response */
	int64_t person_limit, person_pool; /* 0: none */
};
void predicates_of(const struct evidence_of *e, struct finding *f);
const struct served_boot *boot_find(const struct served_boot *boots, size_t n, int64_t boot);

/* findings_shown.c: what the page log of one leg shows */
/* Does it show the reading of all that the prompt can have lain in? If not, why. tokens, page_size: UNSAID when not known. */
bool cover_shows_reading(const struct cover *c, int64_t tokens, int64_t page_size, enum reason *ret_why);
/* 1: more than a placeholder arrived by transfer; 0: it did not; -1: the log does not say. */
int cover_got(const struct cover *c);

/* findings_lives.c: who lived in which pool, and when it ended: candidate sets without a page log. */
struct life_reader {
	int64_t ns, request;
	bool strong; /* C1 or C2 */
};
int lives_load(struct pool_lives **ret, struct case_file *c, struct err *err) MUST_CHECK;
void lives_free(struct pool_lives *l); /* accepts NULL */
/* How many other requests had begun, and had ended or may have ended, in this worker's boot before ns. Worker 0: nobody
 * knows where the reader was. */
int64_t lives_before(const struct pool_lives *l, int64_t worker, int64_t boot, int64_t ns, int64_t but_request);
/* The same in tokens, whole pages of prompts and answers, since the boot's beginning; UNSAID where a size is not known, or
 * anything is known to be missing. */
int64_t lives_left_at_most(const struct pool_lives *l, int64_t worker, int64_t boot, int64_t boot_ns, int64_t ns,
			   int64_t but_request);
/* The other way round, after lives_mark() of all readers: for each request that lived somewhere, how many
 * readers may have read what it left. */
int lives_mark(struct pool_lives *l, int64_t worker, int64_t boot, struct life_reader r, struct err *err) MUST_CHECK;
bool lives_are_marked(const struct pool_lives *l);
struct left_to {
	int64_t request;
	uint64_t strong, weak; /* readers in C1 or C2; in C3 or C5 */
	int64_t first_ns, last_ns;
};
/* Adds up over all pools; sorted by request. Caller frees *ret. */
int lives_left(struct pool_lives *l, struct left_to **ret, size_t *ret_n, struct err *err) MUST_CHECK;
