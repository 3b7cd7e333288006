/* SPDX-License-Identifier: Apache-2.0 */
/* facts.h - private to report: the canonical document, its parts, and its rendering
 *
 * One struct facts lives while one document is built. Every function that adds to the document takes foreign text
 * through put_text() or put_attr(), the one door to XML: what they write is printable and inert whatever the logs held.
 */
#pragma once

#include <libxml/tree.h>

#include "numbers.h"
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

struct kind;
struct pool;
struct touched;
struct delta;
struct counted;

/* What is the same in every document of one run. */
struct facts {
	struct case_file *c;
	const struct report_options *o;
	char content_sha256[SHA256_HEX], evidence_sha256[SHA256_HEX], journal_sha256[SHA256_HEX];
	struct pool *digesting; /* content_sha256; NULL: it is there */
	struct json *json;
	struct buf scratch;
	unsigned kept;           /* bit per table of kept.c that is there */
	struct counted *counted; /* numbers of the whole case; NULL until asked for */
	struct touched *touched; /* gaps and tenants; NULL until asked for */
	xmlDocPtr answers;       /* of people; NULL: none were given */
	bool approved;           /* the run, and so all that people say in it */
	xmlDocPtr regimes;       /* duties to notify */
	struct zone *zone;       /* where they are owed; NULL: UTC */
	struct holidays *holidays;
	struct err *err;
	/* the document at hand */
	const struct kind *kind;
	struct delta *delta;            /* what two issues have in common; NULL: this is no delta */
	int64_t open_blanks;            /* that nobody answered */
	struct buf said;                /* all that people say in it */
	struct text tenant;             /* of a notice; ptr NULL: none */
	const char *reference;          /* its pseudonym; NULL: none */
	struct cell cells[NUMBERS_MAX]; /* of its numbers, in their order */
	xmlDocPtr doc;
	xmlNodePtr root;
	xmlNsPtr ns;
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

/* What a person must write; the program never does. */
struct blank {
	const char *id, *title, *text;
};

enum { N_CASE_STATEMENTS = 6 };
extern const char *const case_statements[N_CASE_STATEMENTS];
extern const struct number_set case_numbers, tenant_numbers;

/* A kind of report: one file of C, one line of kinds.c, and its part of the style sheet. */
struct kind {
	const char *name;
	const char *sheet; /* of reports/ */
	enum readers { READERS_OPERATOR, READERS_TENANT, READERS_PUBLIC } readers;
	bool incident; /* tells of the whole incident: can be IODEF */
	const struct number_set *numbers;
	const struct blank *blanks;
	size_t n_blanks;
	const struct section *sections;
	size_t n_sections;
	int (*count)(struct facts *f);   /* numbers that no statement gives; may be NULL */
	int (*refuse)(struct facts *f);  /* the document does not fit what the numbers say; may be NULL */
	int (*figures)(struct facts *f); /* may be NULL */
	/* Has the case anything for it, where all kinds are asked for? NULL: always. */
	int (*says)(struct facts *f, bool *ret);
};
extern const struct kind *const report_kinds[];
extern const size_t n_report_kinds;
extern const struct kind kind_scope, kind_exposed, kind_recipient, kind_none, kind_public, kind_worksheet, kind_deploy,
    kind_delta;

/* --- xml.c: building blocks. All return 0 or ERR_*; a NULL node is out of memory --- */
xmlNodePtr put_node(struct facts *f, xmlNodePtr parent, const char *name);
int put_text(struct facts *f, xmlNodePtr node, struct text t) MUST_CHECK;
int put_attr(struct facts *f, xmlNodePtr node, const char *name, struct text t) MUST_CHECK;
int put_attr_int(struct facts *f, xmlNodePtr node, const char *name, int64_t v) MUST_CHECK;
int put_element(struct facts *f, xmlNodePtr parent, const char *name, struct text t) MUST_CHECK;
/* This is people's: kept in f->said. */
int keep_said(struct facts *f, struct text t) MUST_CHECK;
/* Nothing for TIME_UNKNOWN. */
int put_time(struct facts *f, xmlNodePtr parent, const char *name, int64_t ns) MUST_CHECK;

/* --- answers.c: what people said where the program leaves a blank --- */
int answers_read(struct facts *f) MUST_CHECK;
/* An answer to a blank of f->kind, or (regime) to a field of it; NULL: none that says something. */
int answer_of(struct facts *f, struct text regime, struct text id, xmlNodePtr *ret) MUST_CHECK;
xmlNodePtr answer_clock(const struct facts *f, struct text regime, struct text id);
/* Its words and who said them; without one, what is asked, which is one more open blank. */
int put_answer(struct facts *f, xmlNodePtr node, xmlNodePtr answer, struct text otherwise) MUST_CHECK;
/* --- answers_check.c: is it signed, and may it be said? --- */
/* ERR_INPUT with line and path: of the element, or of one attribute. */
int answer_refused(struct facts *f, xmlNodePtr answer, const char *attr, const char *why) MUST_CHECK;
/* What no paper may have, draft or not: nobody's answer, one of the future, a second one to the same. */
int answer_check(struct facts *f, xmlNodePtr answer) MUST_CHECK;
/* Where it enters a document. 1: it says nothing yet, its blank is open. What an approved paper may not say is refused, and a remark in a
 * draft. */
int answer_judge(struct facts *f, xmlNodePtr answer) MUST_CHECK;
/* --- samples.c --- */
int samples_check(struct facts *f) MUST_CHECK;
int put_samples(struct facts *f) MUST_CHECK;
/* --- kind_worksheet.c --- */
int regimes_read(struct facts *f) MUST_CHECK;
/* --- kind_delta.c --- */
int delta_put_header(struct facts *f, xmlNodePtr header) MUST_CHECK;
int64_t delta_after_seq(const struct facts *f);
/* Is this of a deployment, or a delta of two? */
bool delta_is_of(const struct facts *f, const struct kind *k);
int delta_form(struct buf *b, struct err *err) MUST_CHECK; /* its words */

/* --- tenants.c: names, sorted as bytes --- */
struct tenants;
/* sql gives them in their order, in its first column. */
int tenants_open(struct tenants **ret, struct case_file *c, const char *sql, struct err *err) MUST_CHECK;
void tenants_free(struct tenants *t); /* accepts NULL */
size_t tenants_count(const struct tenants *t);
struct text tenants_name(const struct tenants *t, size_t at);
size_t tenants_find(const struct tenants *t, struct text name); /* count: there is none */

/* --- digest.c --- */
int digests_begin(struct facts *f) MUST_CHECK;
int digests_end(struct facts *f) MUST_CHECK; /* they are there behind it */
void digests_stop(struct facts *f);

/* --- kept.c: what papers for single tenants look up --- */
/* In temporary tables, where the connection can; else nothing happens. */
void kept_make(struct facts *f);
void kept_drop(struct facts *f);
/* Like sql_prepare(); reads the kept rows when the statement needs nothing that they lack. */
int kept_prepare(struct sql **ret, struct facts *f, const char *text, struct err *err) MUST_CHECK;

/* Parameters :at, :as_of, :inventory of a statement that has them: the deployment that is asked for; :after_seq: of the delta. */
int own_params(const struct facts *f, struct sql *s) MUST_CHECK;

/* --- the parts of the document, in its order --- */
int put_numbers(struct facts *f) MUST_CHECK;
void numbers_free(struct counted *c); /* accepts NULL */
/* A number that is in the document; 0: it has none of that id. */
int64_t number_value(const struct facts *f, const char *id);
/* Is one of these, with blanks between, more than 0? */
bool number_any(const struct facts *f, const char *ids);
/* "0", "1", "2-5", "more than 5" */
const char *band_of(int64_t n);
struct limit_row {
	const char *id, *unit, *text;
	int64_t count, of; /* of: -1 none */
	bool banded;
};
int put_limit(struct facts *f, xmlNodePtr list, const struct limit_row *l) MUST_CHECK;
/* Limits: of how many responses of f->tenant a gap of each kind touches the time and place. */
int put_touched(struct facts *f, xmlNodePtr list) MUST_CHECK;
int touched_form(struct buf *b, struct err *err) MUST_CHECK; /* its words */
void touched_free(struct touched *t);                        /* accepts NULL */
int put_section(struct facts *f, const struct section *sec) MUST_CHECK;
/* Draws from the tables that are already in the document, so that a figure and its table cannot differ. */
int put_figures(struct facts *f) MUST_CHECK;

/* The document of f->kind, f->tenant. f->doc is the caller's (xmlFreeDoc). */
int facts_make(struct facts *f) MUST_CHECK;
/* The words that every document of a kind may have, whatever the case holds; appended. */
int facts_form(const struct kind *k, const struct report_options *o, struct buf *b, struct err *err) MUST_CHECK;
/* What all documents of a run share. */
int facts_open(struct facts *f, struct case_file *c, const struct report_options *o, struct err *err) MUST_CHECK;
void facts_close(struct facts *f);

/* The embedded file of that name; {NULL, 0}: there is none. */
struct text asset_find(const struct report_asset *assets, size_t n, const char *name);

/* --- render.c: the schema and style sheets, compiled once --- */
struct render;
int render_open(struct render **ret, const struct report_asset *assets, size_t n, struct err *err) MUST_CHECK;
void render_close(struct render *r); /* accepts NULL */
/* Against report.rng; ERR_BUG with the first fault. */
int render_validate(struct render *r, xmlDocPtr doc, struct err *err) MUST_CHECK;
/* Applies a stylesheet with the parameter css. It may import those of reports/, and reads no file, no network. Appends. */
int render_apply(struct render *r, xmlDocPtr doc, const char *sheet, struct buf *out, struct err *err) MUST_CHECK;
