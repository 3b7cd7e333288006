/* SPDX-License-Identifier: Apache-2.0 */
/* touched.c - of how many responses of a tenant a gap touches the time and place
 *
 * A gap that names a worker touches what had a leg there, or a leg of which nobody knows where it ran; one that names none
 * touches everything of its time. A gap without an end has all time on that side. Computed for all tenants in one pass over the
 * responses. Times and places of gaps are not told to tenants: they are other people's records.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts.h"
#include "pagetrail/array.h"

static const struct {
	const char *kind, *text;
} gap_kinds[] = {
    {"sequence", "had their time and place where numbers of a page log are missing: who held pages then is not known"},
    {"rotation", "had theirs where a log's older files are missing"},
    {"quiet", "had theirs where a log says nothing while others go on"},
    {"clock", "had theirs in a log whose times contradict others"},
    {"clock_step", "had theirs near a change of a log's clock"},
    {"boot", "had theirs near a restart that not all logs show"},
    {"torn", "had theirs where a record is cut"},
    {"unparsed", "had theirs where records were not understood"},
    {"failed_source", "had theirs where a file could not be read"},
    {"unrecognised", "had theirs where a file was not recognised"},
    {"unattached", "had theirs where records could not be joined to a request"},
    {"interrupted", "may have theirs in files that were not read, since the reading was stopped"},
    {"markers", "had theirs where marks that were searched for are not all known"},
    {NULL, "had theirs where evidence is missing for another reason"},
};
enum { KINDS = ARRAY_SIZE(gap_kinds) };

struct gap_span {
	int kind;
	int64_t worker, from, to; /* worker 0: any */
	size_t same;              /* of the first of a kind and worker: how many there are */
};

struct touched {
	struct tenants *tenants;
	struct gap_span *spans; /* by kind, worker, from; those of one place do not overlap */
	size_t n_spans, cap_spans;
	struct tenants *workers;
	int64_t (*count)[KINDS]; /* by tenant, the one behind the last: not known */
};

int touched_form(struct buf *b, struct err *err)
{
	int rc = 0;
	for (int k = 0; !rc && k < KINDS; k++)
		rc = buf_printf(b, err, "gap_%s\n%s\n", gap_kinds[k].kind ? gap_kinds[k].kind : "other",
				gap_kinds[k].text);
	return rc;
}

void touched_free(struct touched *t)
{
	if (!t)
		return;
	tenants_free(t->tenants);
	tenants_free(t->workers);
	free(t->spans);
	free(t->count);
	free(t);
}

static int span_cmp(const void *a, const void *b)
{
	const struct gap_span *x = a, *y = b;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	return x->from == y->from ? 0 : x->from < y->from ? -1 : 1;
}

static void merge(struct touched *t)
{
	size_t n = 0;
	if (t->n_spans)
		qsort(t->spans, t->n_spans, sizeof(*t->spans), span_cmp);
	for (size_t i = 0; i < t->n_spans; i++) {
		struct gap_span *last = n ? &t->spans[n - 1] : NULL, *s = &t->spans[i];
		if (last && last->kind == s->kind && last->worker == s->worker && last->to >= s->from)
			last->to = MAX(last->to, s->to);
		else
			t->spans[n++] = *s;
	}
	t->n_spans = n;
	for (size_t i = n, same = 0; i-- > 0;) {
		same = i + 1 < n && t->spans[i].kind == t->spans[i + 1].kind &&
			       t->spans[i].worker == t->spans[i + 1].worker
			   ? same + 1
			   : 1;
		t->spans[i].same = same;
	}
}

static int kind_of(struct text name)
{
	int i = 0;
	while (gap_kinds[i].kind && !text_is(name, gap_kinds[i].kind))
		i++;
	return i;
}

static int load_spans(struct touched *t, struct facts *f)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(
	    &s, f->c,
	    "SELECT g.kind, coalesce(w.name, s.worker), g.from_ns, g.to_ns FROM gap g LEFT JOIN worker w ON "
	    "w.worker = g.worker LEFT JOIN source s ON s.source = g.source "
	    "WHERE g.kind <> 'unanswered'", /* no record of a request is missing there */
	    f->err);
	while (!rc && (rc = sql_step(s, f->err)) == 1) {
		struct text worker = sql_get_text(s, 1);
		int64_t from = sql_get_time(s, 2), to = sql_get_time(s, 3);
		if (grow_array((void **)&t->spans, &t->cap_spans, t->n_spans, sizeof(*t->spans), f->err))
			return ERR_NOMEM;
		t->spans[t->n_spans++] = (struct gap_span){
		    .kind = kind_of(sql_get_text(s, 0)),
		    .worker = worker.ptr ? (int64_t)tenants_find(t->workers, worker) + 1 : 0,
		    .from = from == TIME_UNKNOWN ? INT64_MIN : from,
		    .to = to == TIME_UNKNOWN ? INT64_MAX : to,
		};
		rc = 0;
	}
	if (!rc)
		merge(t);
	return rc;
}

/* worker: -1 where nobody knows. */
static bool at(const struct gap_span *s, int64_t prefill, int64_t decode)
{
	return !s->worker || prefill < 0 || decode < 0 || s->worker == prefill || s->worker == decode;
}

/* Of one group: does one of them meet that time? The last that begins before its end decides. */
static bool meets(const struct gap_span *first, size_t n, int64_t from, int64_t to)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (first[mid].from <= to)
			low = mid + 1;
		else
			high = mid;
	}
	return low && first[low - 1].to >= from;
}

static unsigned touches(const struct touched *t, int64_t prefill, int64_t decode, int64_t from, int64_t to)
{
	unsigned kinds = 0;
	for (size_t i = 0; i < t->n_spans; i += t->spans[i].same) {
		const struct gap_span *s = &t->spans[i];
		if (!(kinds >> s->kind & 1) && at(s, prefill, decode) && meets(s, s->same, from, to))
			kinds |= 1u << s->kind;
	}
	return kinds;
}

/* -1: none is known. */
static int64_t worker_at(const struct touched *t, struct sql *s, int col)
{
	struct text name = sql_get_text(s, col);
	return name.ptr ? (int64_t)tenants_find(t->workers, name) + 1 : -1;
}

static int count(struct touched *t, struct facts *f)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc =
	    kept_prepare(&s, f,
			 "SELECT tenant, coalesce(prefill_worker, CASE WHEN decode_worker IN (SELECT name FROM worker "
			 "WHERE role = 'unified') THEN decode_worker END), decode_worker, started_at, "
			 "coalesce(finished_at, started_at) FROM findings()",
			 f->err);
	while (!rc && (rc = sql_step(s, f->err)) == 1) {
		struct text name = sql_get_text(s, 0);
		size_t tenant = name.ptr ? tenants_find(t->tenants, name) : tenants_count(t->tenants);
		int64_t from = sql_get_time(s, 3), to = sql_get_time(s, 4);
		unsigned kinds = touches(t, worker_at(t, s, 1), worker_at(t, s, 2),
					 from == TIME_UNKNOWN ? INT64_MIN : from, to == TIME_UNKNOWN ? INT64_MAX : to);
		for (int k = 0; k < KINDS; k++)
			t->count[tenant][k] += kinds >> k & 1;
		rc = case_stopped(f->c) ? err_set(f->err, ERR_INTERRUPTED, "stopped") : 0;
	}
	return rc;
}

static int touched_make(struct touched **ret, struct facts *f)
{
	struct touched *t = calloc(1, sizeof(*t));
	if (!t)
		return err_nomem(f->err);
	int rc = tenants_open(&t->tenants, f->c, "SELECT name FROM tenant ORDER BY name", f->err);
	if (!rc)
		rc = tenants_open(
		    &t->workers, f->c,
		    "SELECT name FROM worker UNION SELECT worker FROM source WHERE worker IS NOT NULL ORDER BY 1",
		    f->err);
	if (!rc) {
		t->count = calloc(tenants_count(t->tenants) + 1, sizeof(*t->count));
		rc = t->count ? 0 : err_nomem(f->err);
	}
	if (!rc)
		rc = load_spans(t, f);
	if (!rc)
		rc = count(t, f);
	if (rc) {
		touched_free(t);
		return rc;
	}
	*ret = t;
	return 0;
}

int put_touched(struct facts *f, xmlNodePtr list)
{
	int rc = f->touched ? 0 : touched_make(&f->touched, f);
	for (int k = 0; !rc && k < KINDS; k++) {
		char id[32] = "gap_other";
		if (gap_kinds[k].kind)
			snprintf(id, sizeof(id), "gap_%s", gap_kinds[k].kind);
		struct limit_row row = {.id = id,
					.unit = "responses",
					.text = gap_kinds[k].text,
					.count = f->touched->count[tenants_find(f->touched->tenants, f->tenant)][k],
					.of = number_value(f, "population")};
		rc = put_limit(f, list, &row);
	}
	return rc;
}
