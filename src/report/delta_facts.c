/* SPDX-License-Identifier: Apache-2.0 */
/* delta_facts.c - a document as a list of facts, in an order in which two such lists can be merged */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delta.h"
#include "derive.h"
#include "side_file.h"

/* Columns that name what a row is about, so that it is found again with other values. */
static const struct row_key {
	const char *query, *columns;
} row_keys[] = {
    {"boots", "worker started_at"},
    {"clocks", "path from"},
    {"conflicts", "request"},
    {"context_exceeds_pool", "worker started_at"},
    {"deploy", "replica boot_started_at"},
    {"deploy_gateway_limits", "gateway status"},
    {"deploy_pairs", "prefill_replica prefill_started_at decode_replica decode_started_at"},
    {"deploy_served_after_fix", "request"},
    {"deploy_unread", "path"},
    {"deploy_window", "replica boot_started_at"},
    {"exposed", "request"},
    {"exposures", "worker pool reader_request owner_request kind"},
    {"gaps", "kind source worker from"},
    {"notice_excluded", "rule excluded_by"},
    {"notice_exposed", "request"},
    {"notice_recipient", "request"},
    {"report_builds", "engine version commit image_digest"},
    {"report_coverage", "worker"},
    {"report_days", "day"},
    {"report_deploy", "replica"},
    {"report_excluded", "rule excluded_by"},
    {"report_exposed", "class grade"},
    {"report_open", "predicate"},
    {"report_reads", "worker pool kind"},
    {"report_tenants", "tenant"},
    {"scope", "request"},
    {"signals", "signal"},
    {"sources", "path"},
    {"windows", "worker"},
};

struct lister {
	struct delta_facts *facts;
	struct delta_limits *limits;
	struct buf key, body, cell, bytes, shown;
	struct sql *own, *alias; /* is there a request of this name; of this other id; NULL: nobody asks */
	struct err *err;
	int rc;
};

static void add_pair(struct lister *l, struct text name, char what, struct text value)
{
	struct buf *b = &l->body;
	if (!l->rc)
		l->rc = buf_add_text(b, name, l->err);
	if (!l->rc)
		l->rc = buf_add_char(b, DELTA_NAME_END, l->err);
	if (!l->rc)
		l->rc = buf_add_char(b, what, l->err);
	if (!l->rc)
		l->rc = buf_add_text(b, value, l->err);
	if (!l->rc)
		l->rc = buf_add_char(b, DELTA_PAIR_END, l->err);
}

bool delta_pair(struct text *body, struct text *ret_name, struct text *ret_value)
{
	struct text pair;
	if (!text_split(body, DELTA_PAIR_END, &pair) || !text_split(&pair, DELTA_NAME_END, ret_name))
		return false;
	*ret_value = pair;
	return pair.len > 0;
}

static void add_key(struct lister *l, struct text part)
{
	if (!l->rc && l->key.len)
		l->rc = buf_add_text(&l->key, TEXT(", "), l->err);
	if (!l->rc)
		l->rc = buf_add_text(&l->key, part, l->err);
}

static struct text kept(struct lister *l, struct text t)
{
	struct text copy = t.len ? arena_text(l->facts->arena, t) : TEXT("");
	if (!copy.ptr && !l->rc)
		l->rc = err_nomem(l->err);
	return copy;
}

/* What was gathered in key and body. */
static void end_fact(struct lister *l, enum delta_part part, struct text place)
{
	struct delta_facts *f = l->facts;
	if (!l->rc && f->n == f->cap) {
		size_t cap = f->cap ? f->cap * 2 : 256;
		struct delta_fact *more = reallocarray(f->list, cap, sizeof(*more));
		if (more) {
			f->list = more;
			f->cap = cap;
		} else {
			l->rc = err_nomem(l->err);
		}
	}
	if (!l->rc) {
		struct delta_fact fact = {part, kept(l, place), kept(l, buf_text(&l->key)),
					  kept(l, buf_text(&l->body))};
		f->list[f->n++] = fact;
	}
	buf_clear(&l->key);
	buf_clear(&l->body);
}

/* Attributes but those that name it, and its words. */
static void add_element(struct lister *l, xmlNodePtr n, const char *prefix)
{
	CLEANUP(buf_done) struct buf name = BUF_INIT(4 * KIB);
	for (xmlAttrPtr a = n->properties; a && !l->rc; a = a->next) {
		const char *id = (const char *)a->name;
		if (!strcmp(id, "id"))
			continue;
		buf_clear(&name);
		l->rc = buf_printf(&name, l->err, "%s%.100s", prefix, id);
		add_pair(l, buf_text(&name), DELTA_TEXT, derive_attribute(n, id));
	}
	buf_clear(&name);
	if (!l->rc)
		l->rc = buf_printf(&name, l->err, "%stext", prefix);
	if (derive_words(n).len)
		add_pair(l, buf_text(&name), DELTA_TEXT, derive_words(n));
}

/* Children of an element, each a fact by its id, else by what it is called. */
static void list_children(struct lister *l, xmlNodePtr parent, enum delta_part part)
{
	struct text place = text_of((const char *)parent->name);
	for (xmlNodePtr n = derive_element(parent->children); n && !l->rc; n = derive_element(n->next)) {
		struct text id = derive_attribute(n, "id");
		add_key(l, id.len ? id : text_of((const char *)n->name));
		add_element(l, n, "");
		end_fact(l, part, place);
	}
}

/* A duty: itself, and each of its clocks, periods and fields. */
static void list_regime(struct lister *l, xmlNodePtr regime)
{
	struct text place = derive_attribute(regime, "id");
	add_key(l, TEXT("duty"));
	add_element(l, regime, "");
	end_fact(l, DELTA_PEOPLE, place);
	for (xmlNodePtr n = derive_element(regime->children); n && !l->rc; n = derive_element(n->next)) {
		add_key(l, text_of((const char *)n->name));
		add_key(l, derive_attribute(n, "id"));
		add_element(l, n, "");
		for (xmlNodePtr k = derive_element(n->children); k && !l->rc; k = derive_element(k->next))
			add_element(l, k, side_is(k, "person") ? "person-" : "of-");
		end_fact(l, DELTA_PEOPLE, place);
	}
}

/* A sample that people drew, and what follows from it. */
static void list_sample(struct lister *l, xmlNodePtr sample)
{
	add_key(l, derive_attribute(sample, "id"));
	add_element(l, sample, "");
	for (xmlNodePtr k = derive_element(sample->children); k && !l->rc; k = derive_element(k->next))
		add_element(l, k, "of-");
	end_fact(l, DELTA_PEOPLE, TEXT("samples"));
}

/* ---- tables ---- */

/* The next one, where they stand in a row; NULL: the row of them ends. Columns are followed by all rows, which nobody wants to walk through. */
static xmlNodePtr next_alike(xmlNodePtr n)
{
	xmlNodePtr next = derive_element(n->next);
	return next && !xmlStrcmp(next->name, n->name) ? next : NULL;
}

/* Of section `id` the table at that place; NULL: there is none. */
static xmlNodePtr table_of(xmlDocPtr doc, struct text id, int at)
{
	for (xmlNodePtr s = side_first(xmlDocGetRootElement(doc), "section"); s; s = side_next(s)) {
		if (!text_eq(derive_attribute(s, "id"), id))
			continue;
		xmlNodePtr t = side_first(s, "table");
		while (t && at--)
			t = side_next(t);
		return t;
	}
	return NULL;
}

static bool has_column(xmlNodePtr table, struct text name)
{
	for (xmlNodePtr c = side_first(table, "column"); c; c = next_alike(c))
		if (text_eq(derive_attribute(c, "name"), name))
			return true;
	return false;
}

static bool listed(struct text words, struct text word)
{
	struct text one;
	while (text_split(&words, ' ', &one))
		if (text_eq(one, word))
			return true;
	return false;
}

/* A cell as one text, and what it is. */
static char cell_text(struct lister *l, xmlNodePtr cell, struct text *ret)
{
	*ret = TEXT("");
	if (derive_attribute(cell, "unknown").len)
		return DELTA_UNKNOWN;
	if (derive_attribute(cell, "absent").len)
		return DELTA_ABSENT;
	buf_clear(&l->cell);
	if (!l->rc)
		l->rc = derive_element(cell->children) ? derive_csv_list(cell, &l->cell, l->err)
						       : buf_add_text(&l->cell, derive_words(cell), l->err);
	*ret = buf_text(&l->cell);
	return DELTA_TEXT;
}

/* A log that came can give a request another name: it is found under its new one, where one request alone has the old one as an id. */
static struct text name_now(struct lister *l, struct text name)
{
	struct text ret = name;
	buf_clear(&l->bytes);
	buf_clear(&l->shown);
	if (l->rc || !l->own)
		return ret;
	struct text id = text_unvisible(name, &l->bytes, l->err) ? buf_text(&l->bytes) : name;
	int rc = sql_text(l->own, 1, id, l->err);
	if (!rc)
		rc = sql_step(l->own, l->err);
	sql_reset(l->own);
	if (!rc)
		rc = sql_text(l->alias, 1, id, l->err);
	else
		l->rc = MIN(rc, 0);
	if (rc)
		return ret;
	rc = sql_step(l->alias, l->err);
	if (rc == 1 && sql_get_int(l->alias, 1) == 1) {
		rc = text_visible(sql_get_text(l->alias, 0), CELL_MAX_BYTES, &l->shown, l->err);
		ret = buf_text(&l->shown);
	}
	sql_reset(l->alias);
	l->rc = MIN(rc, 0);
	return ret;
}

/* What a column is for, kept at it. */
enum { COLUMN_USED = 1, COLUMN_KEY = 2, COLUMN_NAME = 4 };
static uintptr_t column_use(xmlNodePtr column)
{
	return (uintptr_t)column->_private;
}

/* A column that the other issue does not have is compared with nothing. */
static void mark_columns(struct lister *l, xmlNodePtr table, xmlNodePtr other)
{
	struct text query = derive_attribute(table, "query"), keys = TEXT("");
	for (size_t i = 0; i < ARRAY_SIZE(row_keys); i++)
		if (text_is(query, row_keys[i].query))
			keys = text_of(row_keys[i].columns);
	xmlNodePtr first = side_first(table, "column");
	for (xmlNodePtr c = first; c; c = next_alike(c)) {
		struct text name = derive_attribute(c, "name");
		bool used = !other || has_column(other, name);
		/* a query that is not known, of another version: its first column */
		bool key = used && (keys.len ? listed(keys, name) : c == first);
		bool request = key && text_ends(name, "request");
		c->_private = (void *)(uintptr_t)((used ? COLUMN_USED : 0u) | (key ? COLUMN_KEY : 0u) |
						  (request ? COLUMN_NAME : 0u));
		l->limits->columns += !used;
	}
}

static void list_table(struct lister *l, xmlNodePtr table, xmlNodePtr other, struct text place)
{
	int64_t rows = 0, all;
	xmlNodePtr first = side_first(table, "column");
	mark_columns(l, table, other);
	for (xmlNodePtr r = side_first(table, "row"); r && !l->rc; r = next_alike(r), rows++) {
		xmlNodePtr column = first;
		for (xmlNodePtr c = side_first(r, "cell"); c && column;
		     c = next_alike(c), column = next_alike(column)) {
			struct text value;
			if (!column_use(column))
				continue;
			char what = cell_text(l, c, &value);
			add_pair(l, derive_attribute(column, "name"), what, value);
			if (column_use(column) & COLUMN_NAME && what == DELTA_TEXT)
				add_key(l, name_now(l, value));
			else if (column_use(column) & COLUMN_KEY)
				add_key(l, what == DELTA_TEXT     ? value
					   : what == DELTA_ABSENT ? TEXT("-")
								  : TEXT("unknown"));
		}
		end_fact(l, DELTA_ROWS, place);
	}
	if (text_int64(derive_attribute(table, "rows"), &all) && all > rows)
		l->limits->rows += all - rows;
	if (other && !text_eq(derive_attribute(table, "query-sha256"), derive_attribute(other, "query-sha256")))
		l->limits->tables++;
}

static void list_section(struct lister *l, xmlNodePtr section, xmlDocPtr other)
{
	CLEANUP(buf_done) struct buf place = BUF_INIT(4 * KIB);
	struct text id = derive_attribute(section, "id");
	int at = 0;
	for (xmlNodePtr t = side_first(section, "table"); t && !l->rc; t = side_next(t), at++) {
		buf_clear(&place);
		l->rc = buf_printf(&place, l->err, "%.100s%s", (const char *)id.ptr, at ? "-list" : "");
		list_table(l, t, table_of(other, id, at), buf_text(&place));
	}
}

static int fact_cmp(const void *a, const void *b)
{
	const struct delta_fact *x = a, *y = b;
	int c = (int)x->part - (int)y->part;
	c = c ? c : text_cmp(x->place, y->place);
	c = c ? c : text_cmp(x->key, y->key);
	return c ? c : text_cmp(x->body, y->body);
}

int delta_facts_of(struct delta_facts *ret, xmlDocPtr doc, xmlDocPtr other, struct delta_limits *limits,
		   struct err *err)
{
	struct lister l = {.facts = ret,
			   .limits = limits,
			   .key = BUF_INIT(64 * MIB),
			   .body = BUF_INIT(64 * MIB),
			   .cell = BUF_INIT(64 * MIB),
			   .bytes = BUF_INIT(64 * MIB),
			   .shown = BUF_INIT(64 * MIB),
			   .err = err};
	if (ret->c)
		l.rc = sql_prepare(&l.own, ret->c, "SELECT 1 FROM request WHERE name = ?1", err);
	if (ret->c && !l.rc)
		l.rc = sql_prepare(&l.alias, ret->c,
				   "SELECT min(q.name), count(DISTINCT a.request) FROM alias a JOIN request q ON "
				   "q.request = a.request "
				   "WHERE a.value = ?1",
				   err);
	for (xmlNodePtr n = derive_element(xmlDocGetRootElement(doc)->children); n && !l.rc;
	     n = derive_element(n->next)) {
		if (side_is(n, "numbers") || side_is(n, "limits"))
			list_children(&l, n, DELTA_NUMBERS);
		else if (side_is(n, "blanks"))
			list_children(&l, n, DELTA_PEOPLE);
		else if (side_is(n, "regime"))
			list_regime(&l, n);
		else if (side_is(n, "section"))
			list_section(&l, n, other);
		else if (side_is(n, "sample"))
			list_sample(&l, n);
	}
	if (!l.rc && ret->n)
		qsort(ret->list, ret->n, sizeof(*ret->list), fact_cmp);
	buf_done(&l.key);
	buf_done(&l.body);
	buf_done(&l.cell);
	buf_done(&l.bytes);
	buf_done(&l.shown);
	sql_end(l.own);
	sql_end(l.alias);
	return l.rc;
}
