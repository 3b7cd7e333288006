/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - sections of the document: one table per question asked
 *
 * A table has every column and, up to REPORT_ROWS_MAX, every row of its query; columns that a page shows come first, in
 * the section's own order. Each table names its query and the SHA-256 of the query's text.
 */
#include <stdio.h>
#include <string.h>

#include "facts.h"
#include "pagetrail/stamp.h"

enum { COLUMNS_MAX = 128 };

struct table {
	const char *query, *classes, *shown, *empty;
	int64_t page_rows; /* rows that a page shows; -1: all, or none when there are more than PAGE_LIST_MAX */
	struct query_info info;
	unsigned order[COLUMNS_MAX]; /* column of the query at each place */
	struct text label[COLUMNS_MAX];
	unsigned n_shown, n;
	bool shown_only; /* what leaves the house holds no other columns */
};

static bool find_column(const struct query_info *q, struct text name, unsigned *ret)
{
	for (unsigned i = 0; i < q->n_columns; i++)
		if (text_eq(q->columns[i].name, name)) {
			*ret = i;
			return true;
		}
	return false;
}

static bool is_placed(const struct table *t, unsigned column)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->order[i] == column)
			return true;
	return false;
}

/* Shown columns in the section's order, then the others in the query's. */
static int place_columns(struct table *t, struct err *err)
{
	struct text rest = text_of(t->shown), part;
	if (t->info.n_columns > COLUMNS_MAX)
		return err_set(err, ERR_BUG, "query '%s' has too many columns", t->query);
	while (text_split(&rest, ',', &part)) {
		struct text name;
		unsigned at;
		if (!text_split(&part, '=', &name) || !find_column(&t->info, name, &at) || is_placed(t, at))
			return err_set(err, ERR_BUG, "query '%s' has no column '%.*s' to show", t->query,
				       TEXT_ARG(name));
		t->label[t->n] = part;
		t->order[t->n++] = at;
	}
	t->n_shown = t->n;
	for (unsigned i = 0; !t->shown_only && i < t->info.n_columns; i++)
		if (!is_placed(t, i))
			t->order[t->n++] = i;
	return 0;
}

/* How a value is to be read: identifiers and digests are set apart, counts get thousands marks. */
static const char *style_of(const struct query_column *c)
{
	static const char *const ids[] = {"request",       "replica", "reader_request", "owner_request", "worker",
					  "decode_worker", "path"};
	static const char *const codes[] = {"band", "kind", "input_limit_basis", "status", "verdict"};
	if (text_is(c->name, "refs") || text_is(c->name, "reasons") || text_is(c->name, "class"))
		return c->name.len == 4 ? "refs" : c->name.len == 5 ? "class" : "reasons";
	if (text_ends(c->name, "sha256"))
		return "digest";
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		if (text_is(c->name, ids[i]))
			return "id";
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (text_is(c->name, codes[i]))
			return "code";
	if (text_is(c->type, "integer") && c->unit.len)
		return "count";
	return "plain";
}

static bool shows(const struct table *t, const char *style)
{
	for (unsigned i = 0; i < t->n_shown; i++)
		if (!strcmp(style_of(&t->info.columns[t->order[i]]), style))
			return true;
	return false;
}

/* Long values go below their row; records too, where reasons already make a second line. */
static bool is_below(const struct table *t, unsigned i)
{
	const char *style = style_of(&t->info.columns[t->order[i]]);
	if (i >= t->n_shown)
		return false;
	return !strcmp(style, "reasons") || !strcmp(style, "digest") || (!strcmp(style, "refs") && shows(t, "reasons"));
}

static int put_columns(struct facts *f, xmlNodePtr node, const struct table *t)
{
	for (unsigned i = 0; i < t->n; i++) {
		const struct query_column *col = &t->info.columns[t->order[i]];
		bool shown = i < t->n_shown;
		/* "fewer than 5" is no number */
		bool cells = f->kind->readers == READERS_PUBLIC && text_is(col->type, "integer");
		xmlNodePtr c = put_node(f, node, "column");
		int rc = put_attr(f, c, "name", col->name);
		if (!rc)
			rc = put_attr(f, c, "label", shown ? t->label[i] : col->name);
		if (!rc)
			rc = put_attr(f, c, "type", cells ? TEXT("text") : col->type);
		if (!rc)
			rc = put_attr(f, c, "style", cells ? TEXT("plain") : text_of(style_of(col)));
		if (!rc)
			rc = put_attr(f, c, "unit", col->unit);
		if (!rc)
			rc = put_attr(f, c, "shown", shown ? TEXT("true") : TEXT("false"));
		if (!rc)
			rc = put_attr(f, c, "below", is_below(t, i) ? TEXT("true") : TEXT("false"));
		if (!rc)
			rc = put_text(f, c, col->help);
		if (rc)
			return rc;
	}
	return 0;
}

static int put_item(struct facts *f, xmlNodePtr cell, struct text key, struct json_value item, bool reason)
{
	char tmp[32];
	struct text t;
	CLEANUP(buf_done) struct buf b = BUF_INIT(1 * MIB);
	xmlNodePtr node = put_node(f, cell, "item");
	int rc = key.len ? put_attr(f, node, "name", key) : 0;
	if (!rc && !json_id(item, tmp, &t)) {
		rc = json_write(item, &b, f->err);
		t = buf_text(&b);
	}
	if (rc)
		return rc;
	const char *words = reason ? reason_says(t) : NULL;
	if (words)
		rc = put_attr(f, node, "code", t);
	return rc ? rc : put_text(f, node, words ? text_of(words) : t);
}

static int put_items(struct facts *f, xmlNodePtr cell, struct text json, bool reason)
{
	struct json_value v, item;
	struct text key;
	int rc = json_parse(f->json, json, false, &v, NULL, f->err);
	if (rc)
		return rc < 0 ? rc : put_text(f, cell, json);
	struct json_iter it = json_iter(v);
	while (!rc && json_next(&it, &key, &item))
		rc = put_item(f, cell, key, item, reason);
	return rc;
}

/* Columns in which no value means that there is nothing to know: no candidates where owners are known, no end of a boot
 * that runs on, no time of something that did not come. */
static bool is_absent(struct text column)
{
	static const char *const names[] = {
	    "candidate_owners",      "ended_at", "boot_ended_at",     "inventory",
	    "fixed_since",           "reason",   "first_received_at", "last_received_at",
	    "longest_prompt_tokens", "grade",    "first_read_at",     "last_read_at"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (text_is(column, names[i]))
			return true;
	return false;
}

static int put_cell(struct facts *f, xmlNodePtr row, struct sql *s, int i, const struct query_column *col)
{
	char tmp[64];
	xmlNodePtr cell = put_node(f, row, "cell");
	if (!cell)
		return err_nomem(f->err);
	if (sql_type(s, i) == SQL_NULL) {
		bool absent = is_absent(col->name);
		return put_attr(f, cell, absent ? "absent" : "unknown", TEXT("true"));
	}
	if (text_is(col->type, "json"))
		return put_items(f, cell, sql_get_text(s, i), text_is(col->name, "reasons"));
	if (text_is(col->type, "time"))
		return put_text(f, cell, text_of(stamp_format(sql_get_int(s, i), tmp, sizeof(tmp))));
	if (text_is(col->type, "bool"))
		return put_text(f, cell, sql_get_int(s, i) ? TEXT("yes") : TEXT("no"));
	if (f->kind->readers == READERS_PUBLIC && text_is(col->type, "integer")) {
		int64_t n = sql_get_int(s, i);
		return put_text(f, cell, n > 0 && n < SMALL_CELL ? TEXT("fewer than 5") : sql_get_text(s, i));
	}
	return put_text(f, cell, sql_get_text(s, i));
}

static int put_rows(struct facts *f, xmlNodePtr node, struct sql *s, const struct table *t)
{
	int64_t n = 0, page = t->page_rows;
	int rc;
	while ((rc = sql_step(s, f->err)) == 1) {
		if (n++ >= REPORT_ROWS_MAX)
			continue;
		xmlNodePtr row = put_node(f, node, "row");
		rc = row ? 0 : err_nomem(f->err);
		for (unsigned i = 0; !rc && i < t->n; i++)
			rc = put_cell(f, row, s, (int)t->order[i], &t->info.columns[t->order[i]]);
		if (rc)
			return rc;
	}
	if (page < 0)
		page = n > PAGE_LIST_MAX ? 0 : n;
	if (!rc)
		rc = put_attr_int(f, node, "rows", n);
	if (!rc)
		rc = put_attr_int(f, node, "page-rows", MIN(page, n));
	return rc ? rc : put_attr(f, node, "truncated", n > REPORT_ROWS_MAX ? TEXT("true") : TEXT("false"));
}

static int run_table(struct facts *f, xmlNodePtr section, struct table *t, const struct query_text *q)
{
	unsigned char digest[SHA256_BYTES];
	char hex[SHA256_HEX];
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = kept_prepare(&s, f, q->sql, f->err);
	if (!rc && t->classes)
		rc = sql_text(s, sql_param(s, ":class"), text_of(t->classes), f->err);
	if (!rc && f->tenant.ptr && sql_param(s, ":tenant"))
		rc = sql_text(s, sql_param(s, ":tenant"), f->tenant, f->err);
	if (!rc)
		rc = own_params(f, s);
	if (!rc && sql_param(s, ":round"))
		rc = sql_int(s, sql_param(s, ":round"), f->o->round_s, f->err);
	if (!rc)
		rc = sha256_once(q->sql, strlen(q->sql), digest, f->err);
	if (rc)
		return rc;
	sha256_hex(digest, hex);
	xmlNodePtr node = put_node(f, section, "table");
	rc = put_attr(f, node, "query", text_of(q->name));
	if (!rc)
		rc = put_attr(f, node, "query-sha256", text_of(hex));
	if (!rc && t->classes)
		rc = put_attr(f, node, "classes", text_of(t->classes));
	if (!rc)
		rc = put_attr(f, node, "title", t->info.title);
	if (!rc)
		rc = put_attr(f, node, "empty-means", t->empty ? text_of(t->empty) : t->info.empty);
	if (!rc)
		rc = put_columns(f, node, t);
	return rc ? rc : put_rows(f, node, s, t);
}

static int put_table(struct facts *f, xmlNodePtr section, struct table *t)
{
	const struct query_text *q = query_find(f->o->queries, f->o->n_queries, text_of(t->query));
	if (!q)
		return err_set(f->err, ERR_BUG, "the report asks a query that does not exist: '%s'", t->query);
	int rc = query_info_parse(q, &t->info, f->err);
	if (!rc)
		rc = place_columns(t, f->err);
	if (!rc)
		rc = run_table(f, section, t, q);
	query_info_done(&t->info);
	return rc;
}

int put_section(struct facts *f, const struct section *sec)
{
	xmlNodePtr node = put_node(f, f->root, "section");
	int rc = put_attr(f, node, "id", text_of(sec->id));
	if (!rc)
		rc = put_attr(f, node, "title", text_of(sec->title));
	if (!rc)
		rc = put_element(f, node, "text", text_of(sec->text));
	struct table t = {.query = sec->query,
			  .classes = sec->classes,
			  .shown = sec->shown,
			  .empty = sec->empty,
			  .page_rows = PAGE_ROWS_MAX,
			  .shown_only = f->kind->readers != READERS_OPERATOR};
	if (!rc)
		rc = put_table(f, node, &t);
	struct table list = {.query = sec->list, .shown = sec->list_shown, .page_rows = -1};
	return !rc && sec->list ? put_table(f, node, &list) : rc;
}
