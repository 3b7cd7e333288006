/* SPDX-License-Identifier: Apache-2.0 */
/* kind_delta.c - two issues of one report: what stands behind each, and what came, went or changed
 *
 * What changed is printed as it stood and as it stands, never as a difference: small counts of the public stay what they are.
 */
#include <stdio.h>
#include <string.h>

#include "delta.h"
#include "derive.h"
#include "side_file.h"

static const struct blank blanks[] = {
    {"phase", "Phase", "first, follow-up or final"},
    {"approver", "Approval", "name, function, date; this issue is a draft"},
    {"reason", "Reason of the changes", "where the table of what stands behind both issues does not say it"},
    {"told", "Who is told", "readers of the earlier issue, how and until when; a correction is marked as one"},
};

static const struct number numbers[] = {
    {"facts", "facts", NULL, OPEN},         {"same", "facts", "facts", OPEN},
    {"changed", "facts", "facts", OPEN},    {"came", "facts", "facts", OPEN},
    {"went", "facts", "facts", OPEN},       {"differences", "facts", "facts", OPEN},
    {"basis_changed", "items", NULL, OPEN}, {"rows_left_out", "rows", NULL, OPEN},
    {"columns", "columns", NULL, OPEN},     {"queries", "tables", NULL, OPEN},
};

static const struct limit limits[] = {
    {"rows", "rows_left_out", NULL, NULL, "of both issues beyond what a document holds, and not compared"},
    {"columns", "columns", NULL, NULL, "in one of the two issues alone, and not compared"},
    {"queries", "queries", NULL, NULL, "made by a query whose text changed in between"},
};

static const struct number_set delta_numbers = {.numbers = numbers,
						.n_numbers = ARRAY_SIZE(numbers),
						.limits = limits,
						.n_limits = ARRAY_SIZE(limits),
						.no_classes = true};

/* For the operator: what was done to the case in between. */
static const struct section between = {
    .id = "between",
    .title = "What was done to the case in between",
    .query = "journal_after",
    .shown = "at=Time,action=Action,detail=What",
    .text = "Entries of the journal after the one that the earlier issue ended with; all of them, where this journal "
	    "has no such entry. "
	    "Sources that came stand among the rows of 'evidence', where the report lists its sources."};

/* ---- what stands behind both ---- */

struct basis {
	const char *label, *name, *attr; /* of the header; attr NULL: its words */
};
static const struct basis bases[] = {
    {"Case content, SHA-256", "content-digest", NULL},
    {"Evidence set, SHA-256", "evidence-digest", NULL},
    {"Journal head, SHA-256", "journal-head", NULL},
    {"Made with", "tool", NULL},
    {"Policy", "policy", "id"},
    {"Policy, SHA-256", "policy", "sha256"},
    {"Lists of commits, SHA-256", "policy", "commits-sha256"},
    {"Inventory, SHA-256", "inventory", "sha256"},
    {"As of", "as-of", NULL},
};

static struct text basis_of(xmlDocPtr doc, const struct basis *b)
{
	xmlNodePtr n = side_first(side_first(xmlDocGetRootElement(doc), "header"), b->name);
	struct text t = !n ? TEXT("") : b->attr ? derive_attribute(n, b->attr) : side_text(n);
	return t.ptr ? t : TEXT("");
}

/* "pool = 681280, limit = 681274" */
static int parameters_of(xmlDocPtr doc, struct buf *b, struct err *err)
{
	xmlNodePtr header = side_first(xmlDocGetRootElement(doc), "header");
	int rc = 0;
	for (xmlNodePtr p = side_first(header, "parameter"); p && !rc; p = side_next(p)) {
		struct text name = derive_attribute(p, "name"), value = derive_words(p);
		rc = buf_printf(b, err, "%s%.*s = ", b->len ? ", " : "", TEXT_ARG(name));
		if (!rc)
			rc = buf_add_text(b, value, err);
	}
	return rc;
}

static bool parameters_differ(const struct delta *d, struct err *err)
{
	CLEANUP(buf_done) struct buf a = BUF_INIT(MIB), b = BUF_INIT(MIB);
	return parameters_of(d->before, &a, err) || parameters_of(d->after, &b, err) ||
	       !text_eq(buf_text(&a), buf_text(&b));
}

static void set(struct facts *f, const char *id, int64_t value)
{
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (!strcmp(numbers[i].id, id))
			f->cells[i] = (struct cell){.value = value, .known = true};
}

static int count(struct facts *f)
{
	const struct delta *d = f->delta;
	int64_t changed = parameters_differ(d, f->err);
	for (size_t i = 0; i < ARRAY_SIZE(bases); i++)
		changed += !text_eq(basis_of(d->before, &bases[i]), basis_of(d->after, &bases[i]));
	set(f, "same", d->same);
	set(f, "changed", d->changed);
	set(f, "came", d->came);
	set(f, "went", d->went);
	set(f, "differences", d->changed + d->came + d->went);
	set(f, "facts", d->same + d->changed + d->came + d->went);
	set(f, "basis_changed", changed);
	set(f, "rows_left_out", d->limits.rows);
	set(f, "columns", d->limits.columns);
	set(f, "queries", d->limits.tables);
	return 0;
}

int64_t delta_after_seq(const struct facts *f)
{
	return f->delta ? f->delta->after_seq : 0;
}

bool delta_is_of(const struct facts *f, const struct kind *k)
{
	return (f->delta ? f->delta->of : f->kind) == k;
}

int delta_put_header(struct facts *f, xmlNodePtr header)
{
	const struct delta *d = f->delta;
	static const struct basis own[] = {{NULL, "tool", NULL},
					   {NULL, "content-digest", NULL},
					   {NULL, "evidence-digest", NULL},
					   {NULL, "journal-head", NULL},
					   {NULL, "as-of", NULL}};
	xmlNodePtr node = put_node(f, header, "before");
	int rc = put_attr_int(f, node, "issue", d->earlier->issue);
	if (!rc)
		rc = put_attr(f, node, "sha256", text_of(d->earlier->sha256));
	if (!rc)
		rc = put_attr(f, node, "in-journal", d->after_seq ? TEXT("yes") : TEXT("no"));
	for (size_t i = 0; !rc && i < ARRAY_SIZE(own); i++) {
		struct text t = basis_of(d->before, &own[i]);
		rc = t.len ? put_attr(f, node, own[i].name, t) : 0;
	}
	return rc;
}

/* ---- tables ---- */

struct head {
	const char *name, *label, *type, *style, *help;
};

static const struct head basis_heads[] = {
    {"item", "What stands behind it", "text", "plain", "of the header of both"},
    {"before", "Earlier issue", "text", "id", "as it stood"},
    {"after", "This issue", "text", "id", "as it stands"},
    {"changed", "Changed", "bool", "plain", "is it another one?"},
};
static const struct head change_heads[] = {
    {"place", "Where", "text", "code", "part of the document, or section of the table"},
    {"fact", "Fact", "text", "id", "by what it is found in both"},
    {"change", "Change", "text", "code", "came, went or changed"},
    {"before", "Earlier issue", "json", "plain", "as it stood; of what changed, what is said otherwise now"},
    {"after", "This issue", "json", "plain", "as it stands; likewise"},
};
static const struct {
	const char *id, *title, *text, *empty;
} parts[] = {
    {"counts", "Numbers, times and limits", "Each as it stood, and as it stands.", "no difference in these"},
    {"answers", "What people said, and what is still to be said", "Blanks, duties and their clocks.",
     "no difference in these"},
    {"rows", "Rows of tables",
     "A row is found again by what it is about: its request, its worker and start, its path. What has the same name, "
     "and says something else, "
     "changed.",
     "no difference in these"},
};

/* A section with a table that no query made. *ret: the table. */
static int begin_table(struct facts *f, const char *id, const char *title, const char *text, const char *empty,
		       const struct head *heads, size_t n, xmlNodePtr *ret)
{
	xmlNodePtr section = put_node(f, f->root, "section");
	int rc = put_attr(f, section, "id", text_of(id));
	if (!rc)
		rc = put_attr(f, section, "title", text_of(title));
	if (!rc)
		rc = put_element(f, section, "text", text_of(text));
	xmlNodePtr table = put_node(f, section, "table");
	if (!rc)
		rc = put_attr(f, table, "title", text_of(title));
	if (!rc)
		rc = put_attr(f, table, "empty-means", text_of(empty));
	for (size_t i = 0; !rc && i < n; i++) {
		xmlNodePtr c = put_node(f, table, "column");
		const char *const attrs[][2] = {{"name", heads[i].name},
						{"label", heads[i].label},
						{"type", heads[i].type},
						{"style", heads[i].style},
						{"unit", ""},
						{"shown", "true"},
						{"below", "false"}};
		for (size_t k = 0; !rc && k < ARRAY_SIZE(attrs); k++)
			rc = put_attr(f, c, attrs[k][0], text_of(attrs[k][1]));
		if (!rc)
			rc = put_text(f, c, text_of(heads[i].help));
	}
	*ret = table;
	return rc;
}

static int end_table(struct facts *f, xmlNodePtr table, int64_t rows)
{
	int rc = put_attr_int(f, table, "rows", rows);
	if (!rc)
		rc = put_attr_int(f, table, "page-rows", MIN(rows, PAGE_ROWS_MAX));
	return rc ? rc : put_attr(f, table, "truncated", rows > REPORT_ROWS_MAX ? TEXT("true") : TEXT("false"));
}

/* Texts of a document have been made visible once; made so twice they would not be what stands there. */
static int put_said(struct facts *f, xmlNodePtr node, struct text t)
{
	CLEANUP(buf_done) struct buf bytes = BUF_INIT(64 * MIB);
	return text_unvisible(t, &bytes, f->err) ? put_text(f, node, buf_text(&bytes)) : put_text(f, node, t);
}

static int put_plain(struct facts *f, xmlNodePtr row, struct text t)
{
	xmlNodePtr cell = put_node(f, row, "cell");
	return t.len ? put_said(f, cell, t) : put_attr(f, cell, "absent", TEXT("true"));
}

static int put_bases(struct facts *f)
{
	const struct delta *d = f->delta;
	CLEANUP(buf_done) struct buf a = BUF_INIT(MIB), b = BUF_INIT(MIB);
	xmlNodePtr table;
	int rc = begin_table(f, "basis", "What stands behind both issues",
			     "What differs here may be why facts differ. Where nothing does, the reason is not in the "
			     "case: a person said something "
			     "else, or the earlier file is not as it was written.",
			     "there is nothing", basis_heads, ARRAY_SIZE(basis_heads), &table);
	if (!rc)
		rc = parameters_of(d->before, &a, f->err);
	if (!rc)
		rc = parameters_of(d->after, &b, f->err);
	for (size_t i = 0; !rc && i <= ARRAY_SIZE(bases); i++) {
		bool last = i == ARRAY_SIZE(bases);
		struct text was = last ? buf_text(&a) : basis_of(d->before, &bases[i]);
		struct text is = last ? buf_text(&b) : basis_of(d->after, &bases[i]);
		xmlNodePtr row = put_node(f, table, "row");
		rc = put_element(f, row, "cell", text_of(last ? "Entered by a person" : bases[i].label));
		if (!rc)
			rc = put_plain(f, row, was);
		if (!rc)
			rc = put_plain(f, row, is);
		if (!rc)
			rc = put_element(f, row, "cell", text_eq(was, is) ? TEXT("no") : TEXT("yes"));
	}
	return rc ? rc : end_table(f, table, ARRAY_SIZE(bases) + 1);
}

/* A number is not told by its share alone. */
static bool is_value(const struct delta_fact *fact, struct text name)
{
	return fact->part == DELTA_NUMBERS &&
	       (text_is(name, "value") || text_is(name, "band") || text_is(name, "count"));
}

/* Does the other body say the same of this? */
static bool same_pair(const struct delta_fact *other, struct text name, struct text value)
{
	struct text body = other ? other->body : TEXT(""), n, v;
	while (delta_pair(&body, &n, &v))
		if (text_eq(n, name))
			return text_eq(v, value);
	return false;
}

static int put_item(struct facts *f, xmlNodePtr cell, struct text name, struct text value)
{
	xmlNodePtr item = put_node(f, cell, "item");
	int rc = put_attr(f, item, "name", name);
	char what = value.ptr[0];
	return rc                      ? rc
	       : what == DELTA_UNKNOWN ? put_text(f, item, TEXT("unknown"))
	       : what == DELTA_ABSENT  ? put_text(f, item, TEXT("-"))
				       : put_said(f, item, text_from(value, 1));
}

/* All that a fact says, or what the other one says otherwise; of what is new or gone, nothing that is empty or not known. */
static int put_body(struct facts *f, xmlNodePtr row, const struct delta_fact *fact, const struct delta_fact *other)
{
	xmlNodePtr cell = put_node(f, row, "cell");
	struct text body = fact ? fact->body : TEXT(""), name, value;
	int rc = 0, items = 0;
	while (!rc && delta_pair(&body, &name, &value)) {
		if (other ? same_pair(other, name, value) && !is_value(fact, name)
			  : value.len == 1 || value.ptr[0] != DELTA_TEXT)
			continue;
		rc = put_item(f, cell, name, value);
		items++;
	}
	return rc || items ? rc : put_attr(f, cell, "absent", TEXT("true"));
}

static int put_change(struct facts *f, xmlNodePtr table, const struct delta_change *c)
{
	const struct delta_fact *fact = c->after ? c->after : c->before;
	xmlNodePtr row = put_node(f, table, "row");
	int rc = put_plain(f, row, fact->place);
	if (!rc)
		rc = put_plain(f, row, fact->key);
	if (!rc)
		rc = put_element(f, row, "cell",
				 !c->before  ? TEXT("came")
				 : !c->after ? TEXT("went")
					     : TEXT("changed"));
	if (!rc)
		rc = put_body(f, row, c->before, c->after);
	return rc ? rc : put_body(f, row, c->after, c->before);
}

static int put_changes(struct facts *f, enum delta_part part)
{
	const struct delta *d = f->delta;
	xmlNodePtr table;
	int64_t rows = 0;
	int rc = begin_table(f, parts[part].id, parts[part].title, parts[part].text, parts[part].empty, change_heads,
			     ARRAY_SIZE(change_heads), &table);
	for (size_t i = 0; !rc && i < d->n; i++) {
		const struct delta_change *c = &d->changes[i];
		if ((c->after ? c->after : c->before)->part == part && rows++ < REPORT_ROWS_MAX)
			rc = put_change(f, table, c);
	}
	return rc ? rc : end_table(f, table, rows);
}

static int tables(struct facts *f)
{
	int rc = put_bases(f);
	for (int i = 0; !rc && i < DELTA_PARTS; i++)
		rc = put_changes(f, (enum delta_part)i);
	return !rc && f->kind->readers == READERS_OPERATOR ? put_section(f, &between) : rc;
}

int delta_form(struct buf *b, struct err *err)
{
	int rc = buf_add_text(
	    b, TEXT("came\nwent\nchanged\nunknown\nEntered by a person\nWhat stands behind both issues\n"), err);
	for (size_t i = 0; !rc && i < ARRAY_SIZE(basis_heads); i++)
		rc = buf_printf(b, err, "%s\n%s\n%s\n", basis_heads[i].name, basis_heads[i].label, basis_heads[i].help);
	for (size_t i = 0; !rc && i < ARRAY_SIZE(change_heads); i++)
		rc = buf_printf(b, err, "%s\n%s\n%s\n", change_heads[i].name, change_heads[i].label,
				change_heads[i].help);
	for (size_t i = 0; !rc && i < ARRAY_SIZE(parts); i++)
		rc = buf_printf(b, err, "%s\n%s\n%s\n", parts[i].id, parts[i].title, parts[i].text);
	for (size_t i = 0; !rc && i < ARRAY_SIZE(bases); i++)
		rc = buf_printf(b, err, "%s\n", bases[i].label);
	return rc;
}

/* Never among all of them: it is asked for, with a file. */
static int says(struct facts *f, bool *ret)
{
	(void)f;
	*ret = false;
	return 0;
}

const struct kind kind_delta = {
    .name = "delta",
    .sheet = "delta.xsl",
    .readers = READERS_OPERATOR,
    .numbers = &delta_numbers,
    .blanks = blanks,
    .n_blanks = ARRAY_SIZE(blanks),
    .count = count,
    .figures = tables,
    .says = says,
};
