/* SPDX-License-Identifier: Apache-2.0 */
/* kept.c - findings() evaluated once a report
 *
 * A dozen questions of a report read findings(), and each evaluation looks every response up again. The narrow columns
 * are kept in a temporary table of the connection; a statement that reads just those gets that table in place of the
 * function. Same rows, same answer. Where a temporary table cannot be made (no room for temporary files) statements run
 * as they are, which takes longer. The case itself is not written to: query_only is lifted for the temporary table
 * alone and set again, and a case opened for reading stays read-only below it.
 */
#include <string.h>

#include "facts.h"

static const char function[] = "findings()", table[] = "temp.kept_findings";

/* Wide columns that are left out. A statement that names one runs on the function. */
static const char *const left_out[] = {"refs", "aliases", "reasons", "predicates", "room", "streamed"};

void kept_make(struct facts *f)
{
	struct err ignored = {0};
	bool locked = !case_writable(f->c);
	if (locked && sql_exec(f->c, "PRAGMA query_only=OFF", &ignored))
		return;
	if (!sql_exec(f->c, "DROP TABLE IF EXISTS temp.kept_findings", &ignored) &&
	    !sql_exec(
		f->c,
		"CREATE TEMP TABLE kept_findings AS SELECT request, tenant, model, status, delivered, prompt_tokens, "
		"prompt_tokens_flag, pool_tokens, input_limit, band, prefill_worker, decode_worker, started_at, "
		"finished_at, class, grade, owner_count, owner_tenants, candidate_owners, conflict, cross_tenant, "
		"trigger_stands, build_stands, rule, t, a, l, d, x, delivered_basis, request_id, response_id, "
		"prefill_leg, decode_leg FROM findings()",
		&ignored))
		f->kept = true;
	if (locked && sql_exec(f->c, "PRAGMA query_only=ON", &ignored))
		f->kept = false;
}

void kept_drop(struct facts *f)
{
	struct err ignored = {0};
	bool locked = !case_writable(f->c);
	if (!f->kept)
		return;
	f->kept = false;
	if (locked && sql_exec(f->c, "PRAGMA query_only=OFF", &ignored))
		return;
	if (sql_exec(f->c, "DROP TABLE temp.kept_findings", &ignored))
		ignored.code = 0; /* it goes with the connection */
	if (locked && sql_exec(f->c, "PRAGMA query_only=ON", &ignored))
		ignored.code = 0; /* the connection itself is read-only */
}

/* The statement behind the comments of its header, which name columns too. */
static const char *body_of(const char *text)
{
	while (text[0] == '-' && text[1] == '-') {
		const char *end = strchr(text, '\n');
		if (!end)
			break;
		text = end + 1;
	}
	return text;
}

static bool is_narrow(const char *body)
{
	for (size_t i = 0; i < ARRAY_SIZE(left_out); i++)
		if (strstr(body, left_out[i]))
			return false;
	return true;
}

int kept_prepare(struct sql **ret, struct facts *f, const char *text, struct err *err)
{
	const char *body = body_of(text), *at;
	if (!f->kept || !strstr(body, function) || !is_narrow(body))
		return sql_prepare(ret, f->c, text, err);
	CLEANUP(buf_done) struct buf b = BUF_INIT(1 * MIB);
	int rc = 0;
	while (!rc && (at = strstr(body, function))) {
		rc = buf_add(&b, body, (size_t)(at - body), err);
		if (!rc)
			rc = buf_add(&b, table, sizeof(table) - 1, err);
		body = at + sizeof(function) - 1;
	}
	if (!rc)
		rc = buf_add_text(&b, text_of(body), err);
	return rc ? rc : sql_prepare(ret, f->c, b.ptr, err);
}
