/* SPDX-License-Identifier: Apache-2.0 */
/* facts.c - the canonical XML of a report: header, numbers, and one table per question asked
 *
 * Invariants: everything a rendering shows is in this document; foreign text enters it only through text_visible(), so
 * that the document is well-formed and inert whatever the logs held; nothing here reads a clock. Each number says unit,
 * flag and population, each table the query and the SHA-256 of its text.
 */
#include "facts.h"

#include <inttypes.h>
#include <libxml/tree.h>
#include <string.h>

#include "pagetrail/json.h"
#include "pagetrail/stamp.h"

#define NS   "urn:pagetrail:report:1"
#define X(s) ((const xmlChar *)(s))

struct section {
	const char *id, *title, *query;
	const char *param, *value; /* one parameter, or NULL */
	const char *shown;         /* columns that a page shows; the document has all */
	const char *text;
};

/* R1, the scope report: what a responder reads first stands first. */
static const struct section scope_sections[] = {
    {"affected", "Responses affected", "scope", "class", "C1,C2",
     "class,started_at,request,tenant,prompt_tokens,band,delivered,grade,owner_count,reasons,refs",
     "Confirmed (C1) and probable (C2) responses: who received what was not theirs."},
    {"open", "Responses that cannot be excluded", "scope", "class", "C3,C5",
     "class,started_at,request,tenant,prompt_tokens,band,delivered,reasons,refs",
     "Possible (C3), and those that could not be determined (C5). A missing log is a reason to stand here, never a "
     "reason to be "
     "excluded."},
    {"conflicts", "Conflicts between sources", "conflicts", NULL, NULL, "class,request,tenant,predicates,reasons,refs",
     "Where one source contradicts another. None of these is averaged away."},
    {"exposed", "The exposed side", "exposed", NULL, NULL,
     "class,request,tenant,readers,reader_tenants,pages,first_read_at,grade",
     "Requests whose content was, or may have been, read by another request."},
    {"windows", "Windows per worker", "windows", NULL, NULL, NULL,
     "Two windows for each worker: when affected responses were served, and how far back the content can lie that they "
     "read (to the "
     "worker's last start)."},
    {"exposures", "Page reads", "exposures", NULL, NULL,
     "worker,kind,reader_request,owner_request,cross_tenant,pages,tokens_at_most,first_read_at,delivered",
     "From page logs: readers and owners of pages, with the kind of read."},
    {"boots", "Boots and their limits", "boots", NULL, NULL,
     "worker,role,started_at,ended_at,version,context_len,pool_tokens,input_limit,input_limit_basis,context_exceeds_"
     "pool",
     "Limits belong to one start of one worker, never to the fleet."},
    {"gaps", "Gaps", "gaps", NULL, NULL, "kind,source,worker,from,to,missing,effect",
     "What the logs do not say, and what that takes away."},
    {"sources", "Evidence", "sources", NULL, NULL,
     "source,path,format,worker,bytes,records,parsed,context,unparsed,duplicate,status,sha256",
     "Every file read. For each: records = parsed + context + unparsed + duplicate."},
    {"clocks", "Clocks", "clocks", NULL, NULL, NULL, "Offset applied to each source's times, and what it rests on."},
};

struct facts {
	struct case_file *c;
	const struct report_options *o;
	xmlDocPtr doc;
	xmlNsPtr ns;
	struct json *json;
	struct buf scratch;
	struct err *err;
};

/* --- building blocks --- */

static xmlNodePtr child(struct facts *f, xmlNodePtr parent, const char *name)
{
	return xmlNewChild(parent, f->ns, X(name), NULL);
}

/* The one door for text: made visible, then handed to libxml2, which escapes it. */
static int put_text(struct facts *f, xmlNodePtr node, struct text t)
{
	buf_clear(&f->scratch);
	int rc = text_visible(t, CELL_MAX_BYTES, &f->scratch, f->err);
	if (rc)
		return rc;
	xmlNodePtr text = xmlNewDocTextLen(f->doc, X(f->scratch.ptr ? f->scratch.ptr : ""), (int)f->scratch.len);
	return text && xmlAddChild(node, text) ? 0 : err_nomem(f->err);
}

static int put_attr(struct facts *f, xmlNodePtr node, const char *name, struct text t)
{
	buf_clear(&f->scratch);
	int rc = text_visible(t, CELL_MAX_BYTES, &f->scratch, f->err);
	if (rc)
		return rc;
	return xmlNewProp(node, X(name), X(f->scratch.ptr ? f->scratch.ptr : "")) ? 0 : err_nomem(f->err);
}

static int put_element(struct facts *f, xmlNodePtr parent, const char *name, struct text t)
{
	xmlNodePtr node = child(f, parent, name);
	return node ? put_text(f, node, t) : err_nomem(f->err);
}

static int put_time(struct facts *f, xmlNodePtr parent, const char *name, int64_t ns)
{
	char tmp[64];
	return ns == TIME_UNKNOWN ? 0 : put_element(f, parent, name, text_of(stamp_format(ns, tmp, sizeof(tmp))));
}

/* --- header --- */

static int put_info(struct facts *f, xmlNodePtr parent, const char *key, const char *name)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * KIB);
	int rc = case_info_get(f->c, key, &b, f->err);
	if (rc)
		return rc < 0 ? rc : 0;
	return put_element(f, parent, name, buf_text(&b));
}

static int put_header(struct facts *f, xmlNodePtr root)
{
	xmlNodePtr h = child(f, root, "header");
	char hex[SHA256_HEX], issue[16];
	unsigned char head[SHA256_BYTES];
	snprintf(issue, sizeof(issue), "%d", f->o->issue);
	int rc = put_info(f, h, "id", "case-id");
	if (!rc)
		rc = put_info(f, h, "title", "case-title");
	if (!rc)
		rc = put_element(f, h, "issue", text_of(issue));
	if (!rc)
		rc = put_element(f, h, "audience", text_of(f->o->audience));
	if (!rc)
		rc = put_element(f, h, "state", TEXT("draft"));
	if (!rc)
		rc = put_time(f, h, "as-of", f->o->as_of_ns);
	if (!rc)
		rc = put_element(f, h, "tool", TEXT("pagetrail " PAGETRAIL_VERSION));
	if (!rc)
		rc = case_digest(f->c, hex, f->err);
	if (!rc)
		rc = put_element(f, h, "content-digest", text_of(hex));
	if (!rc) {
		rc = journal_head(f->c, head, f->err);
		sha256_hex(head, hex);
	}
	return rc ? rc : put_element(f, h, "journal-head", text_of(hex));
}

/* --- numbers --- */

static int put_number(struct facts *f, xmlNodePtr parent, const char *id, int64_t value, const char *unit,
		      const char *population)
{
	xmlNodePtr n = child(f, parent, "number");
	char tmp[32];
	snprintf(tmp, sizeof(tmp), "%" PRId64, value);
	int rc = put_attr(f, n, "id", text_of(id));
	if (!rc)
		rc = put_attr(f, n, "value", text_of(tmp));
	if (!rc)
		rc = put_attr(f, n, "unit", text_of(unit));
	if (!rc)
		rc = put_attr(f, n, "flag", TEXT("counted"));
	if (!rc && population)
		rc = put_attr(f, n, "population", text_of(population));
	return rc;
}

/* One statement, one row; column names are the ids, "unit of population" their aliases' tail after a blank. */
static int put_numbers(struct facts *f, xmlNodePtr root)
{
	static const struct {
		const char *id, *unit, *population;
	} ids[] = {
	    {"population", "responses", NULL},
	    {"C1", "responses", "population"},
	    {"C2", "responses", "population"},
	    {"C3", "responses", "population"},
	    {"C4", "responses", "population"},
	    {"C5", "responses", "population"},
	    {"conflicts", "responses", "population"},
	    {"affected_over_pool", "responses", "population"},
	    {"affected_boundary", "responses", "population"},
	    {"affected_cross_tenant", "responses", "population"},
	    {"affected_same_tenant", "responses", "population"},
	    {"affected_tenants", "tenants", NULL},
	    {"sources", "sources", NULL},
	    {"records", "records", NULL},
	    {"parsed", "records", "records"},
	    {"context", "records", "records"},
	    {"unparsed", "records", "records"},
	    {"duplicate", "records", "records"},
	    {"gaps", "gaps", NULL},
	};
	static const char sql[] =
	    "SELECT count(*), total(class='C1'), total(class='C2'), total(class='C3'), total(class='C4'), "
	    "total(class='C5'),"
	    " total(conflict), total(class IN ('C1','C2') AND band='over_pool'), total(class IN ('C1','C2') AND "
	    "band='boundary'),"
	    " total(class IN ('C1','C2') AND cross_tenant='yes'), total(class IN ('C1','C2') AND cross_tenant='no'),"
	    " count(DISTINCT CASE WHEN class IN ('C1','C2') THEN tenant END),"
	    " (SELECT count(*) FROM source), (SELECT total(records) FROM source), (SELECT total(parsed) FROM source),"
	    " (SELECT total(context) FROM source), (SELECT total(unparsed) FROM source), (SELECT total(duplicate) FROM "
	    "source),"
	    " (SELECT count(*) FROM gap),"
	    " min(CASE WHEN class IN ('C1','C2') THEN started_at END), max(CASE WHEN class IN ('C1','C2') THEN "
	    "started_at END),"
	    " min(started_at), max(started_at), min(trigger_stands), min(build_stands) FROM findings()";
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, f->c, sql, f->err);
	if (!rc)
		rc = sql_step(s, f->err);
	if (rc != 1)
		return rc < 0 ? rc : err_set(f->err, ERR_BUG, "no totals");
	xmlNodePtr n = child(f, root, "numbers");
	rc = 0;
	int at = 0;
	for (; !rc && at < (int)ARRAY_SIZE(ids); at++)
		rc = put_number(f, n, ids[at].id, (int64_t)sql_get_real(s, at), ids[at].unit, ids[at].population);
	static const char *const times[] = {"affected-first", "affected-last", "population-first", "population-last"};
	for (size_t i = 0; !rc && i < ARRAY_SIZE(times); i++)
		rc = put_time(f, n, times[i], sql_get_time(s, at + (int)i));
	bool trigger = sql_type(s, at + 4) == SQL_NULL || sql_get_int(s, at + 4);
	bool build = sql_type(s, at + 5) == SQL_NULL || sql_get_int(s, at + 5);
	if (!rc)
		rc = put_element(f, n, "trigger-stands", trigger ? TEXT("yes") : TEXT("no"));
	if (!rc)
		rc = put_element(f, n, "build-stands", build ? TEXT("yes") : TEXT("no"));
	return rc;
}

/* --- tables --- */

static bool is_listed(const char *list, struct text name)
{
	struct text rest = text_of(list), part;
	while (text_split(&rest, ',', &part))
		if (text_eq(part, name))
			return true;
	return false;
}

static int put_items(struct facts *f, xmlNodePtr cell, struct text json)
{
	struct json_value v;
	if (json_parse(f->json, json, false, &v, NULL, f->err) != 0)
		return put_text(f, cell, json);
	struct json_iter it = json_iter(v);
	struct text key;
	struct json_value item;
	while (json_next(&it, &key, &item)) {
		xmlNodePtr node = child(f, cell, "item");
		char tmp[32];
		struct text t;
		int rc = key.len ? put_attr(f, node, "name", key) : 0;
		if (rc)
			return rc;
		CLEANUP(buf_done) struct buf b = BUF_INIT(1 * MIB);
		if (!json_id(item, tmp, &t)) {
			rc = json_write(item, &b, f->err);
			if (rc)
				return rc;
			t = buf_text(&b);
		}
		rc = put_text(f, node, t);
		if (rc)
			return rc;
	}
	return 0;
}

static int put_cell(struct facts *f, xmlNodePtr row, struct sql *s, int i, struct text type)
{
	xmlNodePtr cell = child(f, row, "cell");
	if (!cell)
		return err_nomem(f->err);
	if (sql_type(s, i) == SQL_NULL)
		return put_attr(f, cell, "unknown", TEXT("true"));
	if (text_is(type, "json"))
		return put_items(f, cell, sql_get_text(s, i));
	char tmp[64];
	if (text_is(type, "time"))
		return put_text(f, cell, text_of(stamp_format(sql_get_int(s, i), tmp, sizeof(tmp))));
	if (text_is(type, "bool"))
		return put_text(f, cell, sql_get_int(s, i) ? TEXT("yes") : TEXT("no"));
	return put_text(f, cell, sql_get_text(s, i));
}

static int put_columns(struct facts *f, xmlNodePtr table, const struct section *sec, const struct query_info *q)
{
	for (unsigned i = 0; i < q->n_columns; i++) {
		const struct query_column *col = &q->columns[i];
		xmlNodePtr c = child(f, table, "column");
		int rc = put_attr(f, c, "name", col->name);
		if (!rc)
			rc = put_attr(f, c, "type", col->type);
		if (!rc)
			rc = put_attr(f, c, "unit", col->unit);
		if (!rc)
			rc = put_attr(f, c, "shown",
				      !sec->shown || is_listed(sec->shown, col->name) ? TEXT("true") : TEXT("false"));
		if (!rc)
			rc = put_text(f, c, col->help);
		if (rc)
			return rc;
	}
	return 0;
}

static int put_rows(struct facts *f, xmlNodePtr table, struct sql *s, const struct query_info *q)
{
	int64_t n = 0;
	int rc;
	while ((rc = sql_step(s, f->err)) == 1) {
		if (n++ >= REPORT_ROWS_MAX)
			continue;
		xmlNodePtr row = child(f, table, "row");
		if (!row)
			return err_nomem(f->err);
		for (unsigned i = 0; i < q->n_columns; i++) {
			rc = put_cell(f, row, s, (int)i, q->columns[i].type);
			if (rc)
				return rc;
		}
	}
	if (rc)
		return rc;
	char tmp[32];
	snprintf(tmp, sizeof(tmp), "%" PRId64, n);
	rc = put_attr(f, table, "rows", text_of(tmp));
	return rc ? rc : put_attr(f, table, "truncated", n > REPORT_ROWS_MAX ? TEXT("true") : TEXT("false"));
}

static int put_table(struct facts *f, xmlNodePtr section, const struct section *sec, const struct query_text *q,
		     const struct query_info *info)
{
	unsigned char digest[SHA256_BYTES];
	char hex[SHA256_HEX];
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, f->c, q->sql, f->err);
	if (!rc && sec->param) {
		char name[64];
		snprintf(name, sizeof(name), ":%s", sec->param);
		rc = sql_text(s, sql_param(s, name), text_of(sec->value), f->err);
	}
	if (!rc)
		rc = sha256_once(q->sql, strlen(q->sql), digest, f->err);
	if (rc)
		return rc;
	sha256_hex(digest, hex);
	xmlNodePtr table = child(f, section, "table");
	rc = put_attr(f, table, "query", text_of(q->name));
	if (!rc)
		rc = put_attr(f, table, "query-sha256", text_of(hex));
	if (!rc)
		rc = put_attr(f, table, "empty-means", info->empty);
	if (!rc)
		rc = put_columns(f, table, sec, info);
	return rc ? rc : put_rows(f, table, s, info);
}

static int put_section(struct facts *f, xmlNodePtr root, const struct section *sec)
{
	const struct query_text *q = query_find(f->o->queries, f->o->n_queries, text_of(sec->query));
	if (!q)
		return err_set(f->err, ERR_BUG, "the report asks a query that does not exist: '%s'", sec->query);
	xmlNodePtr node = child(f, root, "section");
	int rc = put_attr(f, node, "id", text_of(sec->id));
	if (!rc)
		rc = put_attr(f, node, "title", text_of(sec->title));
	if (!rc)
		rc = put_element(f, node, "text", text_of(sec->text));
	if (rc)
		return rc;
	struct query_info info;
	rc = query_info_parse(q, &info, f->err);
	if (!rc)
		rc = put_table(f, node, sec, q, &info);
	query_info_done(&info);
	return rc;
}

int facts_scope(struct case_file *c, const struct report_options *o, xmlDocPtr *ret, struct err *err)
{
	struct facts f = {.c = c, .o = o, .err = err, .scratch = BUF_INIT(1 * MIB)};
	f.json = json_new();
	f.doc = xmlNewDoc(X("1.0"));
	xmlNodePtr root = f.doc ? xmlNewDocNode(f.doc, NULL, X("report"), NULL) : NULL;
	if (!f.json || !root) {
		json_free(f.json);
		xmlFreeDoc(f.doc);
		return err_nomem(err);
	}
	f.ns = xmlNewNs(root, X(NS), NULL);
	xmlSetNs(root, f.ns);
	xmlDocSetRootElement(f.doc, root);
	int rc = put_attr(&f, root, "kind", text_of(o->kind));
	if (!rc)
		rc = put_header(&f, root);
	if (!rc)
		rc = put_numbers(&f, root);
	for (size_t i = 0; !rc && i < ARRAY_SIZE(scope_sections); i++)
		rc = put_section(&f, root, &scope_sections[i]);
	json_free(f.json);
	buf_done(&f.scratch);
	if (rc) {
		xmlFreeDoc(f.doc);
		return rc;
	}
	*ret = f.doc;
	return 0;
}
