/* SPDX-License-Identifier: Apache-2.0 */
/* facts.h - private to report: the canonical document and its rendering */
#pragma once

#include <libxml/tree.h>

#include "pagetrail/buf.h"
#include "pagetrail/limits.h"
#include "pagetrail/report.h"

/* Rows of one table in a report; the rest is counted and said. A page with more is not read by anybody; CSV has all. */
enum { REPORT_ROWS_MAX = 20000 };

/* The scope report. *ret is the caller's (xmlFreeDoc). */
int facts_scope(struct case_file *c, const struct report_options *o, xmlDocPtr *ret, struct err *err) MUST_CHECK;

/* Validates doc against an embedded RELAX NG; ERR_BUG with the first fault. */
int render_validate(xmlDocPtr doc, struct text rng, struct err *err) MUST_CHECK;
/* Applies a stylesheet (no files, no network) with the parameter css; appends the result. */
int render_apply(xmlDocPtr doc, struct text xsl, struct text css, struct buf *out, struct err *err) MUST_CHECK;
