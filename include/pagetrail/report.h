/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - facts as canonical XML, validated, then rendered
 *
 * A kind of report is a line of kinds.c. The canonical document is built from the case through queries; it is validated against
 * reports/report.rng before anything is rendered; a stylesheet of reports/ makes the page. Same case, same arguments: same bytes.
 */
#pragma once

#include "pagetrail/analysis.h"
#include "pagetrail/case_key.h"
#include "pagetrail/dsse.h"

struct report_asset { /* an embedded file of reports/: "report.rng", "scope.xsl", "style.css" */
	const char *name, *text;
};
extern const struct report_asset report_assets[]; /* generated; only cli and tests see it */
extern const size_t n_report_assets;

struct report_searched {
	uint64_t files, bytes; /* that were read again */
	uint64_t names;        /* tenants, pseudonyms, ids of requests, times that were looked for */
	uint64_t left_out;     /* digits alone, or waived by a person */
};

/* An earlier issue of a report, as its XML: valid by report.rng, of no document type, and no delta itself; else ERR_INPUT. */
struct report_before;
int report_before_open(struct report_before **ret, struct text content, const struct report_asset *assets, size_t n,
		       struct err *err) MUST_CHECK;
void report_before_free(struct report_before *b); /* accepts NULL */
const char *report_before_kind(const struct report_before *b);
int report_before_issue(const struct report_before *b);

struct report_options {
	const char *kind;     /* "scope"; NULL: all that this case has something to say in, with a notice a tenant */
	const char *tenant;   /* of a notice; else NULL */
	const char *out_dir;  /* made when missing */
	const char *audience; /* whom it is for: pseudonyms of two audiences cannot be joined */
	const struct case_key *key; /* for pseudonyms; may be NULL for kinds that have none */
	int64_t round_s;            /* of times that are others' too, in seconds: 3600 or 86400 */
	struct text note;           /* what a person adds to papers that leave the house */
	struct text answers;        /* to blanks, as reports/answers.rng says; ptr NULL: none */
	const struct text *waived;  /* names of tenants that are common words, as a person says: not searched for */
	size_t n_waived;
	/* NULL: the report itself; else what came, went or changed since this issue of it, which must be of the same kind, case and readers */
	const struct report_before *before;
	const struct dsse_key *sign; /* seals each document; NULL: check sums alone */
	bool approved;               /* by a person: refused while a blank is open */
	const char *regime;          /* of a worksheet; NULL: each */
	struct text regimes;         /* in place of our own, as reports/regimes.rng says; ptr NULL: ours */
	struct text holidays;        /* for business days (deadline.h); ptr NULL: none are known */
	const char *zone;            /* where duties are owed; NULL: UTC */
	int64_t as_of_ns;
	int64_t now_ns; /* nobody has signed later than this, or than as_of_ns */
	/* of the deployment: the time that is judged, and the one that age counts against; TIME_UNKNOWN: not given */
	int64_t deploy_at_ns, deploy_age_ns;
	const char
	    *forms; /* besides XML and HTML: json, md, txt, csv, sheet, xlsx, iodef, with commas between; NULL: none */
	int issue;  /* from 1 */
	const struct report_asset *assets;
	size_t n_assets;
	const struct analysis_params *params; /* as registered; what a person entered is printed as such; may be NULL */
	const struct query_text *queries;
	size_t n_queries;
	/* Called for each thing in the answers that an approved paper may not have, where this is a draft. May be NULL. */
	void (*on_remark)(void *ctx, struct text what);
	/* Called for each file written, with its path. */
	int (*on_file)(void *ctx, struct text path);
	/* How the search for what is others' went; called before on_file(). May be NULL. */
	int (*on_searched)(void *ctx, const struct report_searched *s);
	void *ctx;
};
/* Every file for a tenant or the public is read again as it was written and searched for what is others'; one hit, and nothing is
 * left: ERR_INPUT, with the file and what was found. */
int report_write(struct case_file *c, const struct report_options *o, struct err *err) MUST_CHECK;

bool report_form(struct text list, const char *form); /* does a list of forms name it? */

/* Kinds in their order, for messages; NULL at the end. tenant, open: does it go to one tenant; to the public? */
const char *report_kind(size_t at, bool *tenant, bool *open);
