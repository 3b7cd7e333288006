/* SPDX-License-Identifier: Apache-2.0 */
/* sighting_plan.c - where markers were planted: what the files of markers say, beside the ids that the logs hold
 *
 * Files may say parts: one without ids, later the same filled in. Only what is said can contradict. Ids are compared as they are,
 * never by their beginning, and two ids of one request are the same. What cannot be true, or is not known to any log, is kept as
 * trouble of the account, and said.
 */
#include "lineage.h"
#include "register.h"
#include "sighting_work.h"

#include <stdlib.h>
#include <string.h>

#include "pagetrail/analysis.h"
#include "pagetrail/evidence.h"
#include "pagetrail/limits.h"

struct accounts {
	struct account *list;
	size_t n, cap;
};

/* ---- files ---- */

static int read_file(struct sightings *s, int64_t source, uint64_t len, struct markers *ret, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(DOCUMENT_MAX_BYTES);
	struct json_value doc;
	struct err why = {0};
	if (len > DOCUMENT_MAX_BYTES) /* its parser has refused it */
		return 0;
	int rc = evidence_read(s->c, source, 0, len, &b, err);
	if (rc < 0)
		return rc;
	struct json *json = json_new();
	if (!json)
		return err_nomem(err);
	rc = json_parse(json, buf_text(&b), false, &doc, NULL, err);
	if (rc == 0)
		rc = markers_read(ret, doc, &s->arena, NULL, NULL, &why);
	json_free(json);
	if (rc == 1 || rc == ERR_INPUT) { /* its parser has refused it: it is counted unparsed, and a gap */
		*ret = (struct markers){0};
		return 0;
	}
	if (rc < 0 && why.code && err)
		*err = why;
	return rc;
}

static int load_files(struct sightings *s, struct accounts *a, struct err *err)
{
	CLEANUP(sql_endp) struct sql *q = NULL;
	int rc =
	    sql_prepare(&q, s->c, "SELECT source, bytes FROM source WHERE format = 'markers' ORDER BY source", err);
	while (rc >= 0 && (rc = sql_step(q, err)) == 1) {
		struct markers m = {0};
		int64_t source = sql_get_int(q, 0);
		rc = read_file(s, source, (uint64_t)sql_get_int(q, 1), &m, err);
		s->unspelled |= rc == 0 && a->n + m.n > MARKERS_ALL_MAX;
		for (size_t i = 0; rc == 0 && i < m.n && a->n < MARKERS_ALL_MAX; i++) {
			rc = grow_array((void **)&a->list, &a->cap, a->n, sizeof(*a->list), err);
			if (rc == 0)
				a->list[a->n++] = (struct account){.said = m.list[i], .source = source};
		}
	}
	return rc;
}

/* ---- ids ---- */

struct name {
	uint64_t hash;
	struct text text;
	int64_t request;
	bool several;
};

static int name_cmp(const void *a, const void *b)
{
	const struct name *x = a, *y = b;
	return x->hash != y->hash ? (x->hash < y->hash ? -1 : 1) : text_cmp(x->text, y->text);
}

static struct name *find_name(struct name *names, size_t n, struct text t)
{
	struct name key = {.hash = text_hash(t), .text = t};
	return n && t.len ? bsearch(&key, names, n, sizeof(*names), name_cmp) : NULL;
}

static size_t names_of(const struct accounts *a, struct name *names)
{
	size_t n = 0, kept = 0;
	for (size_t i = 0; i < a->n; i++)
		if (a->list[i].said.planted_request.len)
			names[n++] = (struct name){.hash = text_hash(a->list[i].said.planted_request),
						   .text = a->list[i].said.planted_request};
	if (n)
		qsort(names, n, sizeof(*names), name_cmp);
	for (size_t i = 0; i < n; i++)
		if (!kept || name_cmp(&names[kept - 1], &names[i]) != 0)
			names[kept++] = names[i];
	return kept;
}

/* One pass over all ids: there may be as many markers as a file holds. */
static int match_names(struct sightings *s, struct name *names, size_t n, struct err *err)
{
	CLEANUP(sql_endp) struct sql *q = NULL;
	int rc = n ? sql_prepare(&q, s->c,
				 "SELECT value, request FROM alias UNION ALL SELECT name, request FROM request", err)
		   : 0;
	while (n && rc >= 0 && (rc = sql_step(q, err)) == 1) {
		struct name *x = find_name(names, n, sql_get_text(q, 0));
		if (!x)
			continue;
		int64_t request = sql_get_int(q, 1);
		x->several |= x->request && x->request != request;
		x->request = request;
	}
	return rc;
}

static int tenant_named(struct sql *q, struct text name, int64_t *ret, struct err *err)
{
	int rc = sql_text(q, 1, name, err);
	while (rc >= 0 && (rc = sql_step(q, err)) == 1)
		*ret = sql_get_int(q, 0);
	return rc;
}

static int place_account(struct sightings *s, struct sql *tenant, struct account *a, struct name *names, size_t n,
			 struct err *err)
{
	const struct name *x = find_name(names, n, a->said.planted_request);
	int64_t named = 0, logged = 0;
	int rc = 0;
	if (x && x->several)
		a->trouble |= TROUBLE_MANY_REQUESTS;
	else if (x)
		a->request = x->request;
	if (x && !x->request)
		a->trouble |= TROUBLE_NO_REQUEST;
	rc = sighting_tenant_of(s, a->request, &logged, err);
	if (rc == 0 && a->said.planted_tenant.len)
		rc = tenant_named(tenant, a->said.planted_tenant, &named, err);
	if (rc == 0 && a->said.planted_tenant.len && !named)
		a->trouble |= logged ? TROUBLE_OTHER_TENANT : TROUBLE_NO_TENANT;
	if (named && logged && named != logged)
		a->trouble |= TROUBLE_OTHER_TENANT;
	a->tenant = logged ? logged : named;
	return rc;
}

static int place_accounts(struct sightings *s, struct accounts *a, struct err *err)
{
	CLEANUP(sql_endp) struct sql *tenant = NULL;
	struct name *names = calloc(a->n + 1, sizeof(*names));
	if (!names)
		return err_nomem(err);
	size_t n = names_of(a, names);
	int rc = match_names(s, names, n, err);
	if (rc == 0)
		rc = sql_prepare(&tenant, s->c, "SELECT tenant FROM tenant WHERE name = ?1", err);
	for (size_t i = 0; rc == 0 && i < a->n; i++)
		rc = place_account(s, tenant, &a->list[i], names, n, err);
	free(names);
	return rc;
}

/* ---- one account for what does not contradict ---- */

static int account_cmp(const void *a, const void *b)
{
	const struct account *x = a, *y = b;
	int d = text_cmp(x->said.text, y->said.text);
	if (!d) /* what says least comes last: it goes with whatever is there */
		d = text_cmp(y->said.planted_request, x->said.planted_request);
	if (!d)
		d = text_cmp(y->said.planted_tenant, x->said.planted_tenant);
	if (!d)
		d = (x->said.planted_ns < y->said.planted_ns) - (x->said.planted_ns > y->said.planted_ns);
	return d ? d : (x->source > y->source) - (x->source < y->source);
}

static bool text_agrees(struct text a, struct text b)
{
	return !a.len || !b.len || text_eq(a, b);
}

static bool agrees(const struct account *x, const struct account *y)
{
	bool request =
	    text_agrees(x->said.planted_request, y->said.planted_request) || (x->request && x->request == y->request);
	int64_t a = x->said.planted_ns, b = y->said.planted_ns;
	return request && text_agrees(x->said.planted_tenant, y->said.planted_tenant) &&
	       (a == TIME_UNKNOWN || b == TIME_UNKNOWN || a == b) &&
	       (!x->tenant || !y->tenant || x->tenant == y->tenant);
}

static void add_account(struct account *to, const struct account *from)
{
	if (!to->said.planted_request.len) {
		to->said.planted_request = from->said.planted_request;
		to->request = from->request;
	}
	if (!to->said.planted_tenant.len)
		to->said.planted_tenant = from->said.planted_tenant;
	to->tenant = to->tenant ? to->tenant : from->tenant;
	if (to->said.planted_ns == TIME_UNKNOWN)
		to->said.planted_ns = from->said.planted_ns;
	to->source = MIN(to->source, from->source);
	to->trouble |= from->trouble;
}

/* Merges the accounts of one marker, in place. */
static size_t merge(struct account *list, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		size_t k = 0;
		while (k < kept && !agrees(&list[k], &list[i]))
			k++;
		if (k < kept)
			add_account(&list[k], &list[i]);
		else
			list[kept++] = list[i];
	}
	for (size_t k = 0; kept > 1 && k < kept; k++)
		list[k].trouble |= TROUBLE_CONTRADICTED;
	return kept;
}

static int group(struct sightings *s, const struct accounts *a, struct err *err)
{
	struct account *list = arena_array(&s->arena, a->n, sizeof(*list));
	s->planted = arena_array(&s->arena, a->n, sizeof(*s->planted));
	if (!list || !s->planted)
		return err_nomem(err);
	memcpy(list, a->list, a->n * sizeof(*list));
	qsort(list, a->n, sizeof(*list), account_cmp);
	for (size_t from = 0, to; from < a->n; from = to) {
		for (to = from + 1; to < a->n && text_eq(list[to].said.text, list[from].said.text); to++)
			;
		s->planted[s->n_planted++] =
		    (struct planted){list[from].said.text, &list[from], merge(&list[from], to - from)};
	}
	return 0;
}

int sighting_plan(struct sightings *s, struct err *err)
{
	struct accounts a = {0};
	int rc = load_files(s, &a, err);
	if (rc == 0 && a.n)
		rc = place_accounts(s, &a, err);
	if (rc == 0 && a.n)
		rc = group(s, &a, err);
	free(a.list);
	return rc;
}

/* ---- what is said of it ---- */

static const struct {
	enum trouble trouble;
	const char *code, *effect;
} troubles[] = {
    {TROUBLE_CONTRADICTED, "files_contradict",
     "files of markers say different things of a marker: a sighting counts only for what all of them would make of it"},
    {TROUBLE_NO_REQUEST, "request_in_no_log",
     "the request that a marker was planted in stands in no log: within its tenant no sighting of it can be foreign"},
    {TROUBLE_MANY_REQUESTS, "request_not_unique",
     "several requests have the id of the one that a marker was planted in: which of them is not known"},
    {TROUBLE_NO_TENANT, "tenant_in_no_log",
     "the tenant that a marker was planted for stands in no log: nothing tells whether a sighting crosses tenants"},
    {TROUBLE_OTHER_TENANT, "tenant_differs",
     "the file of markers names another tenant for a request than the logs: the logs' is taken"},
    {TROUBLE_SEEN_BEFORE, "seen_before_planted",
     "a marker was seen in a request that had ended before it was planted: the time in the file of markers or a clock "
     "is wrong, or the text is no marker"},
};

static int write_account(struct sql *q, const struct account *a, struct buf *b, struct err *err)
{
	buf_clear(b);
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(troubles); i++)
		if (a->trouble & troubles[i].trouble)
			rc = buf_printf(b, err, "%s%s", b->len ? "," : "", troubles[i].code);
	const struct text texts[] = {a->said.text, a->said.planted_request, a->said.planted_tenant,
				     b->len ? buf_text(b) : (struct text){NULL, 0}};
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(texts); i++)
		rc = texts[i].ptr ? sql_text(q, (int)i + 1, texts[i], err) : sql_null(q, (int)i + 1, err);
	if (rc == 0)
		rc = sql_int(q, 5, a->source, err);
	if (rc == 0)
		rc = a->request ? sql_int(q, 6, a->request, err) : sql_null(q, 6, err);
	if (rc == 0)
		rc = a->said.planted_ns != TIME_UNKNOWN ? sql_int(q, 7, a->said.planted_ns, err) : sql_null(q, 7, err);
	return rc == 0 ? sql_run(q, err) : rc;
}

static int write_gap(struct sightings *s, const char *effect, int64_t missing, struct text refs, struct err *err)
{
	CLEANUP(sql_endp) struct sql *q = NULL;
	int rc =
	    sql_prepare(&q, s->c, "INSERT INTO gap(kind, missing, effect, refs) VALUES('markers', ?1, ?2, ?3)", err);
	if (rc == 0)
		rc = missing ? sql_int(q, 1, missing, err) : sql_null(q, 1, err);
	if (rc == 0)
		rc = sql_text(q, 2, text_of(effect), err);
	if (rc == 0)
		rc = sql_text(q, 3, refs, err);
	return rc == 0 ? sql_run(q, err) : rc;
}

/* Accounts with that trouble, counted, and the files that give them. Names stand in the table planted only: what a gap says goes
 * into reports of any audience. */
static int write_trouble(struct sightings *s, size_t which, struct err *err)
{
	CLEANUP(buf_done) struct buf refs = BUF_INIT(64 * KIB);
	CLEANUP(sql_endp) struct sql *q = NULL;
	int64_t n = 0, last = 0;
	int rc = buf_add_char(&refs, '[', err);
	if (rc == 0)
		rc = sql_prepare(&q, s->c, "SELECT bytes FROM source WHERE source = ?1", err);
	for (size_t i = 0; rc == 0 && i < s->n_planted; i++)
		for (size_t k = 0; rc == 0 && k < s->planted[i].n; k++) {
			const struct account *a = &s->planted[i].accounts[k];
			if (!(a->trouble & troubles[which].trouble))
				continue;
			n++;
			if (a->source == last || n > 64)
				continue;
			last = a->source;
			rc = sql_int(q, 1, last, err);
			while (rc >= 0 && (rc = sql_step(q, err)) == 1)
				rc = refs_put(&refs, last, 0, (uint64_t)sql_get_int(q, 0), err);
		}
	if (rc == 0)
		rc = buf_add_char(&refs, ']', err);
	return rc == 0 && n ? write_gap(s, troubles[which].effect, n, buf_text(&refs), err) : rc;
}

/* Files of which nothing was taken. */
static int write_refused(struct sightings *s, struct err *err)
{
	return sql_exec(
	    s->c,
	    "INSERT INTO gap(kind, source, missing, effect, refs) SELECT 'markers', source, records, "
	    "'a file of markers was refused: none of its markers was looked for', "
	    "json_array('S' || source || '@0+' || bytes) FROM source WHERE format = 'markers' AND unparsed > 0 "
	    "ORDER BY source",
	    err);
}

int sighting_plan_write(struct sightings *s, struct err *err)
{
	CLEANUP(sql_endp) struct sql *q = NULL;
	CLEANUP(buf_done) struct buf b = BUF_INIT(4 * KIB);
	int rc =
	    sql_prepare(&q, s->c,
			"INSERT INTO planted(marker, planted_name, planted_tenant, trouble, source, planted_request, "
			"planted_ns) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
			err);
	for (size_t i = 0; rc == 0 && i < s->n_planted; i++)
		for (size_t k = 0; rc == 0 && k < s->planted[i].n; k++)
			rc = write_account(q, &s->planted[i].accounts[k], &b, err);
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(troubles); i++)
		rc = write_trouble(s, i, err);
	if (rc == 0)
		rc = write_refused(s, err);
	if (rc == 0 && s->unspelled)
		rc = write_gap(
		    s, "there are more spellings of markers than are searched for: of some markers not all, or none", 0,
		    TEXT("[]"), err);
	if (rc == 0 && s->full)
		rc = write_gap(s, "markers stand in more places than are kept: a sighting may be missing", 0,
			       TEXT("[]"), err);
	return rc;
}
