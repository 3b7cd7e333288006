/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_verify.c - do the tables that answers come from follow from the events?
 *
 * Two ways. Surely: everything is resolved again into temporary tables and compared row by row; costs what resolving
 * costs, and the file stays as it is. Cheaply: the journal row of the last resolve holds a hash of the tables.
 */
#include "resolve_verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pagetrail/buf.h"
#include "pagetrail/limits.h"
#include "pagetrail/row_tables.h"

struct compare {
	struct case_file *c;
	int (*report)(void *ctx, struct text where, struct text what);
	void *ctx;
	bool faults;
};

static int fault(struct compare *v, const char *where, const char *what)
{
	v->faults = true;
	return v->report(v->ctx, text_of(where), text_of(what));
}

static void cell_show(struct sql *s, int col, char *out, size_t size)
{
	struct text t = sql_get_text(s, col);
	if (sql_type(s, col) == SQL_NULL)
		snprintf(out, size, "unknown");
	else if (sql_type(s, col) == SQL_INT)
		snprintf(out, size, "%" PRId64, sql_get_int(s, col));
	else
		snprintf(out, size, "'%.*s'", (int)MIN(t.len, 80u), t.ptr ? t.ptr : "");
}

/* First row that differs; has, want: results of stepping both. 1 nothing left or reported, 0 go on. */
static int compare_row(struct compare *v, const char *table, struct sql *a, struct sql *b, int has, int want,
		       int64_t row)
{
	char where[96], what[400], is[128], was[128];
	snprintf(where, sizeof(where), "table %s, row %" PRId64, table, row);
	if (!has && !want)
		return 1;
	if (!want || !has) {
		int r = fault(v, where, has ? "follows from no event" : "is missing: events tell of it");
		return r ? r : 1;
	}
	for (int i = 0; i < sql_columns(b); i++) {
		if (sql_cell_eq(a, b, i))
			continue;
		cell_show(a, i, is, sizeof(is));
		cell_show(b, i, was, sizeof(was));
		snprintf(what, sizeof(what), "%s is %s; the events say %s", sql_column_name(b, i), is, was);
		int r = fault(v, where, what);
		return r ? r : 1;
	}
	return 0;
}

static int compare_statements(struct compare *v, const char *table, struct sql *a, struct sql *b, struct err *err)
{
	bool same = sql_columns(a) == sql_columns(b);
	for (int i = 0; same && i < sql_columns(a); i++)
		same = !strcmp(sql_column_name(a, i), sql_column_name(b, i));
	if (!same) {
		char where[96];
		snprintf(where, sizeof(where), "table %s", table);
		return fault(v, where, "has other columns than a case has");
	}
	for (int64_t row = 1;; row++) {
		int has = sql_step(a, err);
		int want = has < 0 ? 0 : sql_step(b, err);
		if (has < 0 || want < 0)
			return MIN(has, want);
		int r = compare_row(v, table, a, b, has, want, row);
		if (r)
			return MIN(r, 0);
	}
}

/* tail: ORDER BY or WHERE. */
static int compare_table(struct compare *v, const char *table, const char *tail, struct err *err)
{
	CLEANUP(sql_endp) struct sql *a = NULL;
	CLEANUP(sql_endp) struct sql *b = NULL;
	struct err e = {0};
	char text[160];
	snprintf(text, sizeof(text), "SELECT * FROM main.%s %s", table, tail);
	int r = sql_prepare(&a, v->c, text, &e);
	snprintf(text, sizeof(text), "SELECT * FROM temp.%s %s", table, tail);
	if (!r)
		r = sql_prepare(&b, v->c, text, &e);
	if (!r)
		r = compare_statements(v, table, a, b, &e);
	if (r == ERR_DAMAGED) {
		snprintf(text, sizeof(text), "table %s", table);
		return fault(v, text, e.what);
	}
	if (r && e.code && err)
		*err = e;
	return r;
}

static int compare_all(struct compare *v, struct err *err)
{
	int r = 0;
	for (int i = 0; !r && derived_tables[i]; i++)
		r = compare_table(v, derived_tables[i], "ORDER BY rowid", err);
	if (!r)
		r = row_tables_compare(v->c, v->report, v->ctx, err);
	if (r > 0)
		v->faults = true;
	return r < 0 ? r
		     : compare_table(v, "case_info",
				     "WHERE key IN ('page_logs_in_order', 'page_logs_in_doubt', "
				     "'page_rids_unlisted', 'responses_twice_at_most') ORDER BY key",
				     err);
}

static int verify_now(struct compare *v, struct event_feed *feed, struct err *err)
{
	int r = derived_shadow(v->c, err);
	if (!r)
		r = resolve_again(v->c, feed, err);
	return r ? r : compare_all(v, err);
}

int resolve_verify(struct case_file *c, struct event_feed *feed,
		   int (*report)(void *ctx, struct text where, struct text what), void *ctx, struct err *err)
{
	struct compare v = {c, report, ctx, false};
	struct err e = {0};
	int r = sql_exec(c, "BEGIN", &e); /* whether they are older has to be seen in the same state of the case */
	int older = r ? 0 : resolve_needed(c, &e);
	if (older < 0)
		r = older;
	if (!r && !older)
		r = verify_now(&v, feed, &e);
	if (r == ERR_DAMAGED)
		r = fault(&v, "tables made from events",
			  "cannot be made again to compare: events or sources are damaged");
	derived_unshadow(c);
	if (r && err && e.code)
		*err = e;
	return r ? r : v.faults ? 1 : older ? RESOLVE_OLDER : 0;
}

/* --- the hash in the journal --- */

int resolve_record(struct case_file *c, int64_t at_ns, struct text extra, struct err *err)
{
	CLEANUP(buf_done) struct buf detail = BUF_INIT(64 * KIB);
	unsigned char head[SHA256_BYTES];
	char hex[SHA256_HEX];
	int r = resolve_case(c, err);
	if (!r)
		r = derived_digest(c, hex, err);
	if (!r)
		r = buf_printf(&detail, err, "{\"tables\":\"%s\"%.*s}", hex, TEXT_ARG(extra));
	return r ? r : journal_append(c, at_ns, "resolve", buf_text(&detail), head, err);
}

static int refuse(void *ctx, struct text where, struct text what)
{
	struct err *err = ctx;
	err_set(err, ERR_DAMAGED, "%.*s: %.*s", TEXT_ARG(where), TEXT_ARG(what));
	return ERR_DAMAGED;
}

/* Their hash in the journal; 1: it names none. */
static int tables_hold(struct case_file *c, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	char hex[SHA256_HEX];
	int r = sql_prepare(&s, c,
			    "SELECT json_extract(detail, '$.tables') FROM journal WHERE action = 'resolve' AND "
			    "json_valid(detail) ORDER BY seq DESC LIMIT 1",
			    err);
	if (!r)
		r = sql_step(s, err);
	if (r <= 0)
		return r < 0 ? r : 1;
	r = derived_digest(c, hex, err);
	if (!r && !text_is(sql_get_text(s, 0), hex))
		r = err_set(err, ERR_DAMAGED, "the tables are not those that were made from the events");
	return r;
}

int resolve_tables_hold(struct case_file *c, struct err *err)
{
	struct err first = {0};
	int r = tables_hold(c, &first);
	if (r == ERR_DAMAGED || r == ERR_STORE)
		return 0;
	if (r < 0 && err)
		*err = first;
	return r < 0 ? r : 1;
}

int resolve_sealed(struct case_file *c, struct err *err)
{
	struct err first = {0};
	int r = case_verify_custody(c, refuse, &first, &first);
	if (!r)
		r = tables_hold(c, &first);
	if (r > 0)
		r = err_set(&first, ERR_DAMAGED, "the tables are not those that were made from the events");
	if (!r)
		return 0;
	if (r == ERR_DAMAGED) {
		err_where(&first, "%s", case_path(c));
		err_hint(&first, "'pagetrail verify' names what was changed");
	}
	if (err)
		*err = first;
	return r;
}
