/* SPDX-License-Identifier: Apache-2.0 */
/* facts.h - private to report: the canonical document, its parts, and its rendering
 *
 * One struct facts lives while one document is built. Every function that adds to the document takes foreign text
 * through put_text() or put_attr(), the one door to XML: what they write is printable and inert whatever the logs held.
 */
#pragma once

#include <libxml/tree.h>

#include "pagetrail/buf.h"
#include "pagetrail/json.h"
#include "pagetrail/limits.h"
#include "pagetrail/report.h"

/* Rows of one table in the document; the rest is counted and said. CSV has all. */
enum { REPORT_ROWS_MAX = 20000 };
/* Rows of one table on a page; nobody reads more. A list that a summary stands for is left to the document beyond
 * PAGE_LIST_MAX rows. */
enum { PAGE_ROWS_MAX = 500, PAGE_LIST_MAX = 60 };

#define REPORT_NS "urn:pagetrail:report:1"
#define XC(s)     ((const xmlChar *)(s))

struct facts {
	struct case_file *c;
	const struct report_options *o;
	xmlDocPtr doc;
	xmlNodePtr root;
	xmlNsPtr ns;
	struct json *json;
	struct buf scratch;
	bool kept; /* findings() is in a temporary table */
	struct err *err;
};

struct section {
	const char *id, *title;
	const char *query;   /* the table of the page */
	const char *classes; /* value of its parameter :class, or NULL */
	const char
	    *shown; /* "column=Label,column": columns of the page in its order; NULL: each. The document has all */
	const char *list; /* a second table that `query` sums up, or NULL */
	const char *list_shown;
	const char *empty; /* what no row means, where the classes make it differ from the query's own words */
	const char *text;
};
extern const struct section scope_sections[];
extern const size_t n_scope_sections;

/* --- xml.c: building blocks. All return 0 or ERR_*; a NULL node is out of memory --- */
xmlNodePtr put_node(struct facts *f, xmlNodePtr parent, const char *name);
int put_text(struct facts *f, xmlNodePtr node, struct text t) MUST_CHECK;
int put_attr(struct facts *f, xmlNodePtr node, const char *name, struct text t) MUST_CHECK;
int put_attr_int(struct facts *f, xmlNodePtr node, const char *name, int64_t v) MUST_CHECK;
int put_element(struct facts *f, xmlNodePtr parent, const char *name, struct text t) MUST_CHECK;
/* Nothing for TIME_UNKNOWN. */
int put_time(struct facts *f, xmlNodePtr parent, const char *name, int64_t ns) MUST_CHECK;

/* --- kept.c: findings() evaluated once a report --- */
/* Keeps what summaries read of findings() in a temporary table, where the connection can; else nothing happens. */
void kept_make(struct facts *f);
void kept_drop(struct facts *f);
/* Like sql_prepare(); reads the kept rows when the statement needs nothing that they lack. */
int kept_prepare(struct sql **ret, struct facts *f, const char *text, struct err *err) MUST_CHECK;

/* --- the parts of the document, in its order --- */
int put_numbers(struct facts *f) MUST_CHECK;
int put_section(struct facts *f, const struct section *sec) MUST_CHECK;
/* Draws from the tables that are already in the document, so that a figure and its table cannot differ. */
int put_figures(struct facts *f) MUST_CHECK;

/* The scope report. *ret is the caller's (xmlFreeDoc). */
int facts_scope(struct case_file *c, const struct report_options *o, xmlDocPtr *ret, struct err *err) MUST_CHECK;

/* Validates doc against an embedded RELAX NG; ERR_BUG with the first fault. */
int render_validate(xmlDocPtr doc, struct text rng, struct err *err) MUST_CHECK;
/* Applies a stylesheet (no files, no network) with the parameter css; appends the result. */
int render_apply(xmlDocPtr doc, struct text xsl, struct text css, struct buf *out, struct err *err) MUST_CHECK;
