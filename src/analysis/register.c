/* SPDX-License-Identifier: Apache-2.0 */
/* register.c - the table-valued functions of analysis.h on a connection
 *
 * Lineage and findings are computed when first asked and kept while the case does not change. A cursor holds the
 * answers it reads, so a computation that becomes old lives until its last reader is done.
 */
#include "deploy.h"

#include <stdlib.h>
#include <string.h>

#include "pagetrail/row_tables.h"

static int stamp_of(struct case_file *c, int64_t ret[4], struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, c, "SELECT count(*), coalesce(max(chunk), 0) FROM event_chunk", err);
	if (rc == 0)
		rc = sql_step(s, err);
	if (rc < 0)
		return rc;
	ret[0] = sql_get_int(s, 0);
	ret[1] = sql_get_int(s, 1);
	rc = row_tables_count(c, ROWS_LEG, &ret[2], err);
	return rc < 0 ? rc : row_tables_count(c, ROWS_RESPONSE, &ret[3], err);
}

static int load_names(struct names_by_id *to, struct answers *a, struct case_file *c, const char *text, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, c, text, err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		rc = grow_array((void **)&to->list, &to->cap, to->n, sizeof(*to->list), err);
		if (rc < 0)
			return rc;
		struct text name = arena_text(&a->arena, sql_get_text(s, 1));
		if (!name.ptr)
			return err_nomem(err);
		to->list[to->n++] = (struct name_of){sql_get_int(s, 0), name};
	}
	return rc;
}

static int begin(struct analysis *a, struct err *err)
{
	struct answers *fresh = calloc(1, sizeof(*fresh));
	if (!fresh)
		return err_nomem(err);
	fresh->users = 1;
	arena_init(&fresh->arena, ARENA_MAX_BYTES);
	int rc = load_names(&fresh->tenants, fresh, a->c, "SELECT tenant, name FROM tenant ORDER BY tenant", err);
	if (rc == 0)
		rc = load_names(&fresh->workers, fresh, a->c, "SELECT worker, name FROM worker ORDER BY worker", err);
	if (rc < 0) {
		answers_drop(fresh);
		return rc;
	}
	a->answers = fresh;
	return 0;
}

int analysis_answers(struct analysis *a, enum answers_depth depth, struct answers **ret, struct err *err)
{
	int64_t stamp[4];
	int rc = stamp_of(a->c, stamp, err);
	if (rc < 0)
		return rc;
	if (a->answers && memcmp(stamp, a->stamp, sizeof(stamp)) != 0) {
		answers_drop(a->answers);
		a->answers = NULL;
	}
	memcpy(a->stamp, stamp, sizeof(stamp));
	rc = a->answers ? 0 : begin(a, err);
	if (rc == 0 && depth >= ANSWERS_LINEAGE && !a->answers->lineage)
		rc = lineage_run(&a->answers->lineage, a->c, err);
	if (rc == 0 && depth >= ANSWERS_FINDINGS && !a->answers->findings)
		rc = findings_run(&a->answers->findings, a->c, &a->params, a->answers->lineage, err);
	if (rc < 0)
		return rc;
	a->answers->users++;
	*ret = a->answers;
	return 0;
}

void answers_drop(struct answers *a)
{
	if (!a || --a->users > 0)
		return;
	deploy_free(a->deploy);
	exposed_side_free(a->exposed);
	free(a->delivered);
	findings_free(a->findings);
	lineage_free(a->lineage);
	free(a->tenants.list);
	free(a->workers.list);
	arena_done(&a->arena);
	free(a);
}

static int name_cmp(const void *a, const void *b)
{
	const struct name_of *x = a, *y = b;
	return (x->id > y->id) - (x->id < y->id);
}

static struct text name_of(const struct names_by_id *names, int64_t id)
{
	const struct name_of key = {.id = id}, *it = NULL;
	if (id > 0 && (uint64_t)id <= names->n && names->list[id - 1].id == id) /* they are numbered from 1 */
		it = &names->list[id - 1];
	else if (id && names->n)
		it = bsearch(&key, names->list, names->n, sizeof(key), name_cmp);
	return it ? it->name : (struct text){NULL, 0};
}

struct text answers_tenant(const struct answers *a, int64_t tenant)
{
	return name_of(&a->tenants, tenant);
}

struct text answers_worker(const struct answers *a, int64_t worker)
{
	return name_of(&a->workers, worker);
}

int64_t answers_tenant_named(const struct answers *a, struct text name)
{
	for (size_t i = 0; i < a->tenants.n; i++)
		if (text_eq(a->tenants.list[i].name, name))
			return a->tenants.list[i].id;
	return 0;
}

int request_argument(struct case_file *c, struct text arg, int64_t *ret, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = 0;
	if (text_int64(arg, ret)) {
		rc = sql_prepare(&s, c, "SELECT 1 FROM request WHERE request = ?1", err);
		if (rc == 0)
			rc = sql_int(s, 1, *ret, err);
		if (rc == 0)
			rc = sql_step(s, err);
	}
	return rc == 0 ? request_find(c, arg, ret, err) : MIN(rc, 0);
}

/* ---- lists of refs ---- */
static int put_item(struct buf *b, struct text quoted, struct err *err)
{
	for (size_t at = 0; at + quoted.len <= b->len; at++) /* lists are short */
		if (!memcmp(b->ptr + at, quoted.ptr, quoted.len))
			return 0;
	int rc = b->len && b->ptr[b->len - 1] != '[' ? buf_add_char(b, ',', err) : 0;
	return rc == 0 ? buf_add_text(b, quoted, err) : rc;
}

int refs_put(struct buf *b, int64_t source, uint64_t off, uint64_t len, struct err *err)
{
	char tmp[64], quoted[72];
	if (!len)
		return 0;
	ref_format((struct ref){source, off, len}, tmp, sizeof(tmp));
	size_t n = strlen(tmp);
	quoted[0] = quoted[n + 1] = '"';
	memcpy(quoted + 1, tmp, n);
	return put_item(b, (struct text){quoted, n + 2}, err);
}

int refs_put_all(struct buf *b, struct text json, struct err *err)
{
	struct text ref;
	int rc = 0;
	for (size_t at = 0; rc == 0 && refs_next(json, &at, &ref);)
		rc = put_item(b, (struct text){ref.ptr - 1, ref.len + 2}, err); /* in its quotes */
	return rc;
}

int marker_refs(struct case_file *c, enum marker_side side, int64_t request, struct buf *b, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, c,
			     "SELECT source, byte_off, byte_len FROM sighting WHERE verdict = 'foreign' AND "
			     "CASE ?1 WHEN 0 THEN seen_request ELSE planted_request END = ?2 ORDER BY sighting LIMIT 8",
			     err);
	if (rc == 0)
		rc = sql_int(s, 1, side, err);
	if (rc == 0)
		rc = sql_int(s, 2, request, err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1)
		rc = refs_put(b, sql_get_int(s, 0), (uint64_t)sql_get_int(s, 1), (uint64_t)sql_get_int(s, 2), err);
	return rc;
}

/* ---- registration ---- */
static void analysis_drop(void *ctx)
{
	struct analysis *a = ctx;
	if (--a->users > 0)
		return;
	answers_drop(a->answers);
	policy_free(a->params.policy);
	free(a);
}

static void analysis_idle(void *ctx)
{
	struct analysis *a = ctx;
	answers_drop(a->answers);
	a->answers = NULL;
}

int analysis_register(struct case_file *c, const struct analysis_params *params, struct err *err)
{
	static const struct rowset_spec *const functions[] = {
	    &exposures_rowset, &lineage_rowset, &findings_rowset,      &exposed_rowset, &finding_counts_rowset,
	    &explain_rowset,   &replay_rowset,  &lineage_pages_rowset, &deploy_rowset};
	struct analysis *a = calloc(1, sizeof(*a));
	if (!a) {
		policy_free(params ? params->policy : NULL);
		return err_nomem(err);
	}
	a->c = c;
	if (params)
		a->params = *params;
	a->users = 1; /* ours, until all are registered */
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(functions); i++) {
		struct rowset_spec spec = *functions[i];
		spec.idle = analysis_idle;
		spec.done = analysis_drop;
		a->users++;
		rc = rowset_register(c, &spec, a, err);
	}
	analysis_drop(a);
	return rc;
}
