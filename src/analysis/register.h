/* SPDX-License-Identifier: Apache-2.0 */
/* register.h - what the table-valued functions share: one computation a connection, kept while somebody reads it */
#pragma once

#include "findings.h"
#include "pagetrail/evidence.h"

struct answers { /* computed together, shared by cursors */
	unsigned users;
	struct lineage *lineage;      /* NULL until asked for */
	struct findings *findings;    /* likewise */
	struct deploy *deploy;        /* likewise: deploy.h */
	struct exposed_side *exposed; /* likewise: findings_exposed.c */
	uint8_t *delivered;           /* likewise: by actor, enum tri; DELIVERED_NONE: no response */
	struct names_by_id {
		struct name_of {
			int64_t id;
			struct text name;
		} * list; /* by id */
		size_t n, cap;
	} tenants, workers;
	struct arena arena;
};

enum { DELIVERED_NONE = 0xff };

struct analysis { /* one a connection */
	struct case_file *c;
	struct analysis_params params;
	unsigned users; /* functions registered with it */
	struct answers *answers;
	int64_t stamp[4]; /* what the case held when they were computed */
};

/* The answers for the case as it is now; give back with answers_drop(). */
enum answers_depth { ANSWERS_NAMES, ANSWERS_LINEAGE, ANSWERS_FINDINGS };
int analysis_answers(struct analysis *a, enum answers_depth depth, struct answers **ret, struct err *err) MUST_CHECK;
void answers_drop(struct answers *a);                                    /* accepts NULL */
struct text answers_tenant(const struct answers *a, int64_t tenant);     /* {NULL,0}: unknown */
struct text answers_worker(const struct answers *a, int64_t worker);     /* likewise */
int64_t answers_tenant_named(const struct answers *a, struct text name); /* 0: there is none */
void exposed_side_free(struct exposed_side *x);                          /* accepts NULL */

extern const struct rowset_spec exposures_rowset, lineage_rowset, findings_rowset, exposed_rowset, explain_rowset,
    finding_counts_rowset, replay_rowset, lineage_pages_rowset, deploy_rowset;

/* Appends a ref as a JSON string to a list that was begun with '['; nothing for a mark without a record, and none
 * twice. */
int refs_put(struct buf *b, int64_t source, uint64_t off, uint64_t len, struct err *err) MUST_CHECK;
/* Appends the items of a JSON list of strings that holds no blanks or escapes: refs as the tables hold them. */
int refs_put_all(struct buf *b, struct text json, struct err *err) MUST_CHECK;
/* Appends records in which a request got markers of others, or in which others got its markers; eight at most. */
enum marker_side { MARKERS_GOT, MARKERS_LOST };
int marker_refs(struct case_file *c, enum marker_side side, int64_t request, struct buf *b, struct err *err) MUST_CHECK;
/* What a query's :request means: the number of a request, where there is such a one, else as request_find(). */
int request_argument(struct case_file *c, struct text arg, int64_t *ret, struct err *err) MUST_CHECK;
