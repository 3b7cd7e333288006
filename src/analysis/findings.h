/* SPDX-License-Identifier: Apache-2.0 */
/* findings.h - one finding per response: predicates with their reasons, and the class; private to src/analysis
 *
 * findings_run() goes through all responses, and keeps of each what choosing and counting need: its start, and in two bytes
 * its predicates. A finding in full is computed again when somebody asks for it (findings_get()); names, aliases and refs are
 * read when a row is shown (findings_rows.c). So memory is some 15 bytes a response. Who says that all will be asked for again and
 * again has them kept (findings_kept.c).
 */
#pragma once

#include "lineage.h"
#include "pagetrail/policy.h"
#include "pagetrail/row_range.h"
#include "reasons.h"
#include "scratch.h"

enum band { BAND_UNKNOWN, BAND_OVER_POOL, BAND_BOUNDARY, BAND_UNDER };
extern const char *const band_names[], *const class_names[];
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

struct build_verdict { /* by engine, version, commit and transfer back-end; mode is the leg's */
	enum tri affected;
	bool concerned; /* the entry is of this engine, or of which engine it is nobody knows */
	enum reason why;
};

struct served_boot {
	int64_t boot, worker, started_ns, ended_ns, context_len, pool_tokens, input_limit, page_size;
	enum served_as role;
	const struct build_verdict *verdicts; /* by entry of the policy */
	bool entered;                         /* pool or limit were entered by a person */
	struct text model;
};

struct boot_hole { /* from here to there nobody knows whether it is still this boot; to_ns TIME_UNKNOWN: to its end */
	int64_t boot, from_ns, to_ns;
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
	int64_t started_ns, finished_ns;
	int64_t prefill_leg, decode_leg; /* leg rows that served it; 0: none. A unified leg stands in both */
	int64_t prefill_worker, decode_worker, decode_boot, read_ns;
	int64_t prefill_boot; /* 0: unknown */
	int64_t prompt_tokens, pool_tokens, input_limit;
	int64_t candidate_owners; /* UNSAID when the grade is not temporal */
	int64_t decode_limit;     /* input limit of the boot that answered; of a unified one it is input_limit */
	int64_t foreign_at_most;  /* tokens of them that it can have read; likewise, and where nothing bounds it */
	uint64_t reasons;         /* bit per enum reason */
	unsigned entry;           /* of the policy, on which T and A rest */
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

/* A sign: predicates, band and cross_tenant of a response, two bits each, and whether a marker was seen before it was planted. */
enum { SIGN_BITS = 15, SIGN_PREDICATES = 10 };

enum { FINDER_FLAG, FINDER_DELIVERED, FINDER_ROLE, FINDER_OUTCOME, FINDER_LEG_FLAG, FINDER_TEXTS };

struct finder { /* reads responses with what belongs to them; one for each thread */
	const struct findings *all;
	struct row_range *responses, *requests, *legs;
	struct served_leg *held; /* legs of the request at hand */
	size_t n_held, cap_held;
	int64_t held_request;
	struct { /* what the last texts meant: most rows repeat them */
		char text[16];
		size_t len;
		int means;
	} last[FINDER_TEXTS];
};

/* Rows by tenant, each tenant's in the order in which they were asked for; rows NULL: not made. */
struct tenant_rows {
	uint32_t *rows, *from, most;
};

struct said { /* the texts stay until the next one is asked for */
	struct text name, model, delivered_basis;
	int64_t status, streamed; /* UNSAID: NULL */
};
struct said_at { /* where one was read */
	struct row_range *responses, *requests;
};

struct findings {
	struct case_file *c;
	struct analysis_params params;
	const struct policy *policy;
	struct policy *own_policy; /* where none was given */
	const struct lineage *lineage;
	size_t n;         /* responses; they are numbered from 1 */
	int64_t *started; /* by response - 1 */
	uint16_t *signs;  /* likewise */
	uint32_t *order;  /* responses - 1 by start, then by number; NULL: that is their order */
	uint64_t *counts; /* by sign */
	struct class_result classes[1 << SIGN_PREDICATES]; /* by the predicates of a sign */
	struct foreign_read *reads;                        /* by reader */
	size_t n_reads;
	struct map worker_at;      /* worker row -> index in lineage.workers */
	struct served_boot *boots; /* by boot */
	size_t n_boots;
	struct boot_hole *holes; /* likewise */
	size_t n_holes;
	struct boot_hole
	    *lost; /* likewise, of prefill workers: when it is not known whether it was this boot or another */
	size_t n_lost;
	bool trigger_stands, build_stands;
	struct marked *marked; /* sorted, each once */
	size_t n_marked;
	int64_t *loose; /* requests joined by time and length; likewise */
	size_t n_loose;
	struct arena arena;
	struct row_book *responses, *requests, *legs;
	struct finder own[2]; /* of findings_get(): where it was last, and before */
	unsigned last_own;
	struct pool_lives *lives; /* who lived where, for candidate sets */
	bool unkept;              /* something was that cannot be kept */
	struct scratch scratch;   /* of what is kept: */
	void **kept;              /* KEPT_AT_ONCE responses each; NULL: they are not */
	struct tenant_rows of_tenant;
	struct row_book *said_responses, *said_requests;
	struct said_at said[2];
	unsigned last_said;
};
enum { KEPT_AT_ONCE = 4096 };

int findings_run(struct findings **ret, struct case_file *c, const struct analysis_params *params,
		 const struct lineage *l, struct err *err) MUST_CHECK;
void findings_free(struct findings *f); /* accepts NULL */
/* The i-th in order of start, as response - 1. */
static inline size_t findings_at(const struct findings *f, size_t i)
{
	return f->order ? f->order[i] : i;
}
/* Puts some of them (response - 1) into that order. */
int findings_sort(const struct findings *f, uint32_t *list, size_t n, struct err *err) MUST_CHECK;
/* What is known without computing it: predicates, class, band, cross_tenant, start and response. */
void findings_brief(const struct findings *f, size_t at, struct finding *ret);
/* The same of a sign, without start and response. */
void findings_sign(const struct findings *f, unsigned sign, struct finding *ret);
/* All of it, but for the sizes of the candidate set (and the reason POOL_FRESH): for these everybody's legs are read. */
int findings_get(struct findings *f, size_t at, struct finding *ret, struct err *err) MUST_CHECK;
int findings_candidates(struct findings *f, struct finding *x, struct err *err) MUST_CHECK;
int findings_lives(struct findings *f, struct pool_lives **ret, struct err *err) MUST_CHECK; /* *ret: f's own */
/* Its responses are *ret_at and the n after it, as response - 1. */
int findings_of_request(struct findings *f, int64_t request, size_t *ret_at, size_t *ret_n, struct err *err) MUST_CHECK;

static inline void because(struct finding *f, enum reason r)
{
	f->reasons |= UINT64_C(1) << r;
}

/* Are its owners, or some of them, known only as a set that they are in? */
static inline bool finding_has_candidates(const struct finding *f)
{
	return f->grade == GRADE_TEMPORAL || f->reasons >> REASON_OWNERS_OPEN & 1;
}

/* findings_kept.c */
void kept_open(struct findings *f); /* makes room for f->n; f->kept stays NULL where there is none */
void kept_close(struct findings *f);
/* false: it cannot be kept. For each response once, in any thread. */
bool kept_put(const struct findings *f, const struct finding *x);
void kept_get(const struct findings *f, size_t at,
	      struct finding *ret); /* what follows from the whole case is missing */
/* The responses - 1 of one tenant in order of start; *ret NULL: all there are, as findings_at() has them. */
int findings_of_tenant(struct findings *f, int64_t tenant, const uint32_t **ret, size_t *ret_n,
		       struct err *err) MUST_CHECK;
/* The tenant (0: none) of the i-th of n, and its row. */
typedef uint32_t tenant_at_fn(const void *ctx, size_t i, uint32_t *row);
int tenant_rows_make(struct tenant_rows *t, size_t n, tenant_at_fn *tenant_at, const void *ctx,
		     struct err *err) MUST_CHECK;
void tenant_rows_done(struct tenant_rows *t);
const uint32_t *tenant_rows_of(const struct tenant_rows *t, int64_t tenant, size_t *ret_n);

/* findings_said.c */
int findings_said(struct findings *f, const struct finding *x, struct said *ret, struct err *err) MUST_CHECK;
void findings_said_close(struct findings *f);

/* The worker in whose pool it must have read; 0: not known. */
int64_t finding_place(const struct findings *f, const struct finding *x);

/* findings_policy.c: what an entry of a policy says of a boot; which entry a response is judged by. */
struct build_verdict build_verdict(const struct policy *p, size_t entry, const struct build *b);

/* findings_predicates.c: T, A and band of one response from its legs. legs: of one request, ordered by attempt. */
struct evidence_of {
	const struct policy *policy;
	const struct served_leg *legs;
	size_t n_legs;
	const struct served_boot *boots; /* sorted by boot */
	size_t n_boots;
	const struct boot_hole *holes, *lost;
	size_t n_holes, n_lost;
	struct text model;
	enum tri delivered;
	int64_t completion_tokens;
	int64_t attempts;                  /* as many as anybody says there were */
	int64_t finished_ns;               /* of the response */
	int64_t person_limit, person_pool; /* 0: none */
};
void predicates_of(const struct evidence_of *e, struct finding *f);
const struct served_boot *boot_find(const struct served_boot *boots, size_t n, int64_t boot);

/* findings_holes.c: where a restart may be lost */
int holes_load(struct findings *f, struct err *err) MUST_CHECK;
/* Does one of this boot's hold this time? */
bool hole_at(const struct boot_hole *holes, size_t n, int64_t boot, int64_t at);
/* Is this leg of the time behind a hole, in the boot that is logged before it? */
bool hole_before(const struct boot_hole *holes, size_t n, const struct served_leg *leg);

/* findings_pages.c: L of one response, from page logs */
int reads_load(struct findings *f, struct err *err) MUST_CHECK;
void set_lineage(const struct finder *x, struct finding *f);

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
int lives_open(struct pool_lives **ret, struct case_file *c, const struct served_boot *boots, size_t n_boots,
	       struct err *err) MUST_CHECK;
void lives_free(struct pool_lives *l); /* accepts NULL */
/* How many other requests had begun, and had ended or may have ended, in this worker's boot before ns. Worker 0: nobody
 * knows where the reader was. */
int lives_before(struct pool_lives *l, int64_t worker, int64_t boot, int64_t ns, int64_t but_request, int64_t *ret,
		 struct err *err) MUST_CHECK;
/* The same in tokens, whole pages of prompts and answers, since the boot's beginning; UNSAID where a size is not known, or
 * anything is known to be missing. */
int lives_left_at_most(struct pool_lives *l, int64_t worker, int64_t boot, int64_t boot_ns, int64_t ns,
		       int64_t but_request, int64_t *ret, struct err *err) MUST_CHECK;
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
