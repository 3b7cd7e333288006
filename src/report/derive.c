/* SPDX-License-Identifier: Apache-2.0 */
/* derive.c - derive.h over the tree of the canonical document, which has been validated before */
#include "derive.h"

#include <string.h>

#include "jot.h"
#include "pagetrail/limits.h"

static bool is(xmlNodePtr n, const char *name)
{
	return n->type == XML_ELEMENT_NODE && !strcmp((const char *)n->name, name);
}

static bool among(xmlNodePtr n, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is(n, names[i]))
			return true;
	return false;
}

/* ---- JSON ---- */

static const char *const lists[] = {"number", "limit", "blank", "section", "table",    "column",
				    "row",    "cell",  "item",  "line",    "regime",   "sample",
				    "clock",  "due",   "field", "value",   "parameter"};

static void put_member(struct jot *j, const char *key, xmlNodePtr n);

/* A count in an attribute is a number; so is one in a cell of a column of numbers. */
static void put_words(struct jot *j, const char *key, struct text t, bool number)
{
	int64_t v;
	if (number && text_int64(t, &v))
		jot_int(j, key, v);
	else
		jot_text(j, key, t);
}

static void put_attributes(struct jot *j, xmlNodePtr n)
{
	static const char *const counts[] = {"value", "of",       "count",          "rows", "page-rows", "fields",
					     "said",  "answered", "not-applicable", "open", "replicas"};
	for (xmlAttrPtr a = n->properties; a; a = a->next) {
		bool number = false;
		for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
			number |= !strcmp((const char *)a->name, counts[i]);
		put_words(j, (const char *)a->name, derive_attribute(n, (const char *)a->name), number);
	}
}

static void put_inside(struct jot *j, xmlNodePtr n)
{
	for (xmlNodePtr c = derive_element(n->children); c && !j->rc; c = derive_element(c->next)) {
		const char *name = (const char *)c->name;
		if (is(c, "figure"))
			continue;
		if (!among(c, lists, ARRAY_SIZE(lists))) {
			put_member(j, name, c);
			continue;
		}
		jot_open(j, name, '[');
		for (; c && is(c, name); c = derive_element(c->next)) {
			put_member(j, NULL, c);
			n = c;
		}
		jot_close(j, ']');
		c = n; /* the last of them */
	}
}

static void put_cell(struct jot *j, xmlNodePtr cell, xmlNodePtr column)
{
	struct text type = column ? derive_attribute(column, "type") : TEXT("");
	if (derive_attribute(cell, "unknown").len) {
		jot_json(j, NULL, TEXT("null"));
	} else if (derive_attribute(cell, "absent").len) {
		jot_json(j, NULL, TEXT("{\"absent\":true}"));
	} else if (derive_element(cell->children)) {
		jot_open(j, NULL, '{');
		put_inside(j, cell);
		jot_close(j, '}');
	} else {
		put_words(j, NULL, derive_words(cell), text_is(type, "integer"));
	}
}

static void put_row(struct jot *j, xmlNodePtr row)
{
	xmlNodePtr column = derive_element(row->parent->children);
	jot_open(j, NULL, '[');
	for (xmlNodePtr c = derive_element(row->children); c && !j->rc; c = derive_element(c->next)) {
		put_cell(j, c, column);
		column = column ? derive_element(column->next) : NULL;
	}
	jot_close(j, ']');
}

static void put_member(struct jot *j, const char *key, xmlNodePtr n)
{
	if (is(n, "row")) {
		put_row(j, n);
		return;
	}
	if (!n->properties && !derive_element(n->children)) {
		jot_text(j, key, derive_words(n));
		return;
	}
	jot_open(j, key, '{');
	put_attributes(j, n);
	put_inside(j, n);
	if (!derive_element(n->children) && derive_words(n).len)
		jot_text(j, "text", derive_words(n));
	jot_close(j, '}');
}

int derive_json(xmlDocPtr doc, struct buf *out, struct err *err)
{
	struct jot j = {out, err, 0};
	put_member(&j, NULL, xmlDocGetRootElement(doc));
	return j.rc ? j.rc : buf_add_char(out, '\n', err);
}

/* ---- text and Markdown ---- */

struct page {
	struct buf *out;
	struct err *err;
	bool markdown;
	int rc;
};

static void plain(struct page *p, const char *s)
{
	if (!p->rc)
		p->rc = buf_add_text(p->out, text_of(s), p->err);
}

/* CommonMark: a backslash before a punctuation mark takes its meaning away. */
static void said(struct page *p, struct text t)
{
	for (size_t i = 0; i < t.len && !p->rc; i++) {
		char c = t.ptr[i];
		bool space = c == '\n' || c == '\t' || c == '\r';
		if (p->markdown && strchr("\\`*_{}[]()<>#+-.!|~&:@\"'=$^%", c) && c)
			plain(p, "\\");
		if (!p->rc)
			p->rc = buf_add_char(p->out, space ? ' ' : c, p->err);
	}
}

static void heading(struct page *p, int level, struct text t)
{
	plain(p, "\n");
	for (int i = 0; p->markdown && i < level; i++)
		plain(p, "#");
	plain(p, p->markdown ? " " : "");
	said(p, t);
	plain(p, "\n");
	for (size_t i = 0; !p->markdown && i < text_columns(t); i++)
		plain(p, level < 3 ? "=" : "-");
	plain(p, p->markdown ? "\n" : "\n");
}

static void say_attributes(struct page *p, xmlNodePtr n)
{
	for (xmlAttrPtr a = n->properties; a; a = a->next) {
		plain(p, a == n->properties ? " (" : ", ");
		said(p, text_of((const char *)a->name));
		plain(p, " ");
		said(p, derive_attribute(n, (const char *)a->name));
	}
	plain(p, n->properties ? ")" : "");
}

/* What counts first: a number with its unit, or what is not said more exactly. */
static void say_value(struct page *p, xmlNodePtr n)
{
	static const char *const values[] = {"value", "band", "count"};
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		said(p, derive_attribute(n, values[i]));
	plain(p, " ");
	/* a unit is written for many */
	struct text unit = derive_attribute(n, "unit");
	bool one = text_is(derive_attribute(n, "value"), "1") || text_is(derive_attribute(n, "count"), "1");
	said(p, one && text_ends(unit, "s") ? text_sub(unit, 0, unit.len - 1) : unit);
	plain(p, derive_words(n).len ? " " : "");
	said(p, derive_words(n));
}

/* An element that is a fact: what it is of, what it says, what else is said of it; then what is in it. */
static void say_fact(struct page *p, xmlNodePtr n)
{
	struct text label = derive_attribute(n, derive_attribute(n, "title").len ? "title" : "id");
	plain(p, "- ");
	said(p, label.len ? label : text_of((const char *)n->name));
	plain(p, ": ");
	if (is(n, "number") || is(n, "limit"))
		say_value(p, n);
	else
		said(p, derive_words(n));
	say_attributes(p, n);
	plain(p, "\n");
	for (xmlNodePtr c = derive_element(n->children); c && !p->rc; c = derive_element(c->next))
		say_fact(p, c);
}

static void say_cell(struct page *p, xmlNodePtr cell)
{
	if (derive_attribute(cell, "unknown").len)
		plain(p, "unknown");
	else if (derive_attribute(cell, "absent").len)
		plain(p, p->markdown ? "\\-" : "-");
	said(p, derive_words(cell));
	for (xmlNodePtr c = derive_element(cell->children); c && !p->rc; c = derive_element(c->next)) {
		plain(p, c->prev && derive_element(cell->children) != c ? "; " : "");
		said(p, derive_attribute(c, "name"));
		plain(p, derive_attribute(c, "name").len ? " " : "");
		said(p, derive_words(c));
	}
}

static void say_table(struct page *p, xmlNodePtr table)
{
	unsigned columns = 0;
	heading(p, 3, derive_attribute(table, "title"));
	xmlNodePtr c = derive_element(table->children);
	for (; c && is(c, "column"); c = derive_element(c->next), columns++) {
		plain(p, p->markdown ? "| " : columns ? " | " : "");
		said(p, derive_attribute(c, "label"));
		plain(p, p->markdown ? " " : "");
	}
	plain(p, p->markdown ? "|\n" : "\n");
	for (unsigned i = 0; p->markdown && i < columns; i++)
		plain(p, "|---");
	plain(p, p->markdown ? "|\n" : "");
	if (!c) {
		plain(p, "\n0 rows: ");
		said(p, derive_attribute(table, "empty-means"));
		plain(p, "\n");
	}
	for (; c && !p->rc; c = derive_element(c->next)) {
		xmlNodePtr first = derive_element(c->children);
		for (xmlNodePtr k = first; k && !p->rc; k = derive_element(k->next)) {
			plain(p, p->markdown ? "| " : k == first ? "" : " | ");
			say_cell(p, k);
			plain(p, p->markdown ? " " : "");
		}
		plain(p, p->markdown ? "|\n" : "\n");
	}
	if (text_is(derive_attribute(table, "truncated"), "true"))
		plain(p, "\nThere are more rows than stand here.\n");
}

static void say_section(struct page *p, xmlNodePtr section)
{
	heading(p, 2, derive_attribute(section, "title"));
	for (xmlNodePtr c = derive_element(section->children); c && !p->rc; c = derive_element(c->next)) {
		if (is(c, "table"))
			say_table(p, c);
		else if (is(c, "text"))
			said(p, derive_words(c));
		plain(p, is(c, "text") ? "\n" : "");
	}
}

int derive_text(xmlDocPtr doc, bool markdown, struct buf *out, struct err *err)
{
	struct page p = {out, err, markdown, 0};
	xmlNodePtr root = xmlDocGetRootElement(doc);
	if (markdown)
		plain(&p, "# ");
	plain(&p, "Pagetrail report: ");
	said(&p, derive_attribute(root, "kind"));
	plain(&p, derive_attribute(root, "of").len ? " of " : "");
	said(&p, derive_attribute(root, "of"));
	plain(&p, "\n");
	for (xmlNodePtr c = derive_element(root->children); c && !p.rc; c = derive_element(c->next)) {
		if (is(c, "section")) {
			say_section(&p, c);
			continue;
		}
		heading(&p, 2, is(c, "regime") ? derive_attribute(c, "title") : text_of((const char *)c->name));
		say_attributes(&p, c);
		plain(&p, c->properties ? "\n\n" : "");
		for (xmlNodePtr k = derive_element(c->children); k && !p.rc; k = derive_element(k->next))
			say_fact(&p, k);
	}
	return p.rc;
}
