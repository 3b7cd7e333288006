/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - facts as canonical XML, validated, then rendered
 *
 * facts.c builds the canonical document from the case through queries; it is validated against reports/report.rng before
 * anything is rendered; render.c applies a stylesheet of reports/. Same case, same arguments: same bytes.
 */
#pragma once

#include "pagetrail/analysis.h"

struct report_asset { /* an embedded file of reports/: "report.rng", "scope.xsl", "style.css" */
	const char *name, *text;
};
extern const struct report_asset report_assets[]; /* generated; only cli and tests see it */
extern const size_t n_report_assets;

struct report_options {
	const char *kind;     /* "scope" */
	const char *out_dir;  /* made when missing */
	const char *audience; /* "internal" */
	int64_t as_of_ns;
	int issue; /* from 1 */
	const struct report_asset *assets;
	size_t n_assets;
	const struct analysis_params *params; /* as registered; what a person entered is printed as such; may be NULL */
	const struct query_text *queries;
	size_t n_queries;
	/* Called for each file written, with its path. */
	int (*on_file)(void *ctx, struct text path);
	void *ctx;
};
int report_write(struct case_file *c, const struct report_options *o, struct err *err) MUST_CHECK;
