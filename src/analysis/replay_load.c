/* SPDX-License-Identifier: Apache-2.0 */
/* replay_load.c - the boots that replay() can run again, their legs, and what is missing of them */
#include <stdlib.h>
#include <string.h>

#include "pagetrail/version.h"
#include "replay_case.h"

/* ---- boots ---- */
static enum why model_of(struct text engine, struct text version)
{
	struct version v;
	if (!text_is(engine, "sglang"))
		return NO_ENGINE;
	bool known = version_read(version, &v) && version_is_final(&v) && version_is_plain(&v) && !v.epoch &&
		     v.n_release >= 3 && !v.release[0] && v.release[1] == 5 && v.release[2] >= 2 && v.release[2] <= 22;
	return known ? REPLAYED : NO_VERSION;
}

static bool holds(struct text t, const char *what)
{
	return text_find(t, what, 0) != SIZE_MAX;
}

/* What its own start lines say of a cache that the model does not know. */
static int look_at_args(struct replay_rows *x, struct job *j, struct text refs, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, x->a->c, "SELECT text FROM records WHERE source = ?1 AND byte_off = ?2", err);
	struct text name;
	for (size_t at = 0; rc == 0 && refs_next(refs, &at, &name);) {
		struct ref ref;
		if (!ref_parse(name, &ref))
			continue;
		rc = sql_int(s, 1, ref.source, err);
		if (rc == 0)
			rc = sql_int(s, 2, (int64_t)ref.off, err);
		if (rc == 0)
			rc = sql_step(s, err);
		if (rc < 0)
			return rc;
		struct text t = rc == 1 ? sql_get_text(s, 0) : (struct text){NULL, 0};
		if (holds(t, "disaggregation_decode_enable_radix_cache=True") ||
		    holds(t, "\"disaggregation_decode_enable_radix_cache\":true") ||
		    holds(t, "\"disaggregation_decode_enable_radix_cache\": true") ||
		    holds(t, "enable_hisparse=True") || holds(t, "\"enable_hisparse\":true") ||
		    holds(t, "\"enable_hisparse\": true"))
			j->why = j->why == REPLAYED ? HAS_CACHE : j->why;
		if (holds(t, "speculative_algorithm='") || holds(t, "\"speculative_algorithm\":\"") ||
		    holds(t, "\"speculative_algorithm\": \""))
			j->draft = true;
		sql_reset(s);
		rc = 0;
	}
	return MIN(rc, 0);
}

static int load_jobs(struct replay_rows *x, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	size_t cap = 0;
	int rc = sql_prepare(
	    &s, x->a->c,
	    "SELECT b.boot, b.worker, b.started_ns, b.page_size, b.pool_tokens, w.name, b.engine, b.version, b.refs, "
	    "(SELECT min(coalesce(g.from_ns, -9223372036854775807)) FROM gap g WHERE g.worker = b.worker AND g.kind "
	    "NOT IN "
	    "('sequence', 'clock', 'clock_step', 'markers', 'unanswered') AND coalesce(g.from_ns < b.ended_ns, 1) AND "
	    "coalesce(g.to_ns > "
	    "b.started_ns, 1)) FROM boot b JOIN worker w USING(worker) WHERE coalesce(b.role, w.role) = 'decode' ORDER "
	    "BY "
	    "b.boot",
	    err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		if (x->n_jobs == cap) {
			cap = cap ? cap * 2 : 16;
			struct job *more = realloc(x->jobs, cap * sizeof(*more));
			if (!more)
				return err_nomem(err);
			x->jobs = more;
		}
		struct job *j = &x->jobs[x->n_jobs++];
		int64_t tokens = sql_get_int(s, 4);
		*j = (struct job){.boot = sql_get_int(s, 0),
				  .worker = sql_get_int(s, 1),
				  .started_ns = sql_get_time(s, 2),
				  .page_size = sql_get_int(s, 3),
				  .name = arena_text(&x->arena, sql_get_text(s, 5)),
				  .gap_ns = sql_type(s, 9) == SQL_NULL ? INT64_MAX : sql_get_int(s, 9)};
		if (!j->name.ptr)
			return err_nomem(err);
		bool sized = j->page_size > 0 && j->page_size <= UINT32_MAX && j->page_size <= tokens &&
			     tokens / j->page_size <= POOL_MAX_PAGES;
		j->pool_pages = sized ? (uint32_t)(tokens / j->page_size) : 0;
		j->why = model_of(sql_get_text(s, 6), sql_get_text(s, 7));
		if (j->why == REPLAYED)
			j->why = j->started_ns == TIME_UNKNOWN ? NO_START : !sized ? NO_SIZE : REPLAYED;
		rc = look_at_args(x, j, sql_get_text(s, 8), err);
	}
	return rc;
}

static struct job *job_of(const struct replay_rows *x, int64_t boot)
{
	size_t lo = 0, hi = x->n_jobs;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (x->jobs[mid].boot < boot)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < x->n_jobs && x->jobs[lo].boot == boot ? &x->jobs[lo] : NULL;
}

static int load_limit(struct replay_rows *x, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, x->a->c,
			     "SELECT max(input_limit) FROM boot b JOIN worker w USING(worker) WHERE coalesce(b.role, "
			     "w.role) = 'prefill' HAVING count(*) = count(input_limit) AND count(*) > 0",
			     err);
	if (rc == 0)
		rc = sql_step(s, err);
	x->over_limit = rc == 1 ? sql_get_int(s, 0) : INT64_MAX;
	return MIN(rc, 0);
}

/* ---- legs ---- */
enum {
	S_LEG,
	S_REQUEST,
	S_BOOT,
	S_START,
	S_END,
	S_INPUT,
	S_EXACT,
	S_OUTPUT,
	S_OUTCOME,
	S_MESSAGE,
	S_P_SEEN,
	S_P_INPUT,
	S_P_REFUSED,
	S_P_END
};
/* A decode leg, and what the prefill leg of the same attempt says of it. */
static const char legs_sql[] =
    "WITH p AS MATERIALIZED (SELECT request, attempt, max(CASE WHEN coalesce(input_flag, 'exact') = 'exact' THEN "
    "input_tokens END) AS input, max(outcome = 'rejected') AS refused, max(rejected_tokens) AS asked, max(finished_ns) "
    "AS ended FROM leg WHERE role = 'prefill' GROUP BY request, attempt) "
    "SELECT d.leg, d.request, d.boot, d.started_ns, d.finished_ns, coalesce(d.input_tokens, p.asked, p.input), "
    "coalesce(d.input_flag, 'exact') = 'exact', d.output_tokens, d.outcome, d.message, p.request IS NOT NULL, p.input, "
    "p.refused, p.ended FROM leg d LEFT JOIN p ON p.request = d.request AND p.attempt = d.attempt "
    "WHERE d.role = 'decode' AND d.boot IS NOT NULL";

static bool never_held(struct text outcome, struct text message, int64_t output)
{
	/* "Decode handshake failed …", "Request … exceeds the maximum number of tokens": before pages are taken */
	if (output > 0)
		return false;
	return text_is(outcome, "rejected") || holds(message, "handshake") || holds(message, "Bootstrapping") ||
	       holds(message, "queued");
}

/* 1: it held no pages. */
static int read_leg(const struct replay_rows *x, struct sql *s, struct leg_row *r)
{
	int64_t input = sql_get_time(s, S_INPUT), output = sql_get_time(s, S_OUTPUT), start = sql_get_time(s, S_START),
		end = sql_get_time(s, S_END), begun = sql_get_time(s, S_P_END), sent = sql_get_time(s, S_P_INPUT);
	struct text outcome = sql_get_text(s, S_OUTCOME);
	bool failed = text_is(outcome, "failed"), refused = sql_get_int(s, S_P_REFUSED) == 1;
	*r = (struct leg_row){
	    .id = sql_get_int(s, S_LEG), .request = sql_get_int(s, S_REQUEST), .boot = sql_get_int(s, S_BOOT)};
	if (never_held(outcome, sql_get_text(s, S_MESSAGE), output))
		return 1;
	r->vague =
	    input == UNSAID || !sql_get_int(s, S_EXACT) || start == TIME_UNKNOWN || end == TIME_UNKNOWN || end < start;
	start = start == TIME_UNKNOWN ? end : start;
	end = end == TIME_UNKNOWN || end < start ? start : end;
	struct pool_leg *l = &r->leg;
	l->owner = (uint32_t)r->request;
	l->start_ns = start;
	l->end_ns = end;
	l->decode_ns = begun != TIME_UNKNOWN && begun > start ? MIN(begun, end) : start;
	l->prompt = input == UNSAID ? 0 : (uint64_t)input;
	l->output = output == UNSAID ? (failed ? 0 : 1) : (uint64_t)output;
	l->arrived = l->prompt;
	if (failed && output <= 0)
		l->arrived = 0;
	else if (refused || (sent != UNSAID && sent >= 0 && sent < input))
		l->arrived = refused ? 1 : (uint64_t)sent;
	else if (!sql_get_int(s, S_P_SEEN) && input != UNSAID && input >= x->over_limit)
		l->arrived = 1;
	l->reads = l->arrived < l->prompt && l->arrived && r->request <= UINT32_MAX;
	return 0;
}

static int leg_cmp(const void *a, const void *b)
{
	const struct leg_row *x = a, *y = b;
	if (x->boot != y->boot)
		return x->boot < y->boot ? -1 : 1;
	if (x->leg.start_ns != y->leg.start_ns)
		return x->leg.start_ns < y->leg.start_ns ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static int load_legs(struct replay_rows *x, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, x->a->c, legs_sql, err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		if (case_stopped(x->a->c))
			return err_set(err, ERR_INTERRUPTED, "stopped");
		if (x->n_legs == x->cap) {
			x->cap = x->cap ? x->cap * 2 : 1024;
			struct leg_row *more = realloc(x->legs, x->cap * sizeof(*more));
			if (!more)
				return err_nomem(err);
			x->legs = more;
		}
		struct leg_row *r = &x->legs[x->n_legs];
		if (read_leg(x, s, r) == 0 && job_of(x, r->boot))
			x->n_legs++;
	}
	if (rc < 0)
		return rc;
	if (x->n_legs)
		qsort(x->legs, x->n_legs, sizeof(*x->legs), leg_cmp);
	struct job *j = NULL;
	for (size_t i = 0; i < x->n_legs; i++) {
		const struct leg_row *r = &x->legs[i];
		if (!i || r->boot != x->legs[i - 1].boot) {
			j = job_of(x, r->boot);
			j->from = i;
		}
		j->n++;
		j->wanted |= r->leg.reads && (!x->only || x->only == r->request);
	}
	return 0;
}

static int time_cmp(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* Requests with fewer legs than attempts. TIME_UNKNOWN sorts first: it counts for everybody. */
static int load_nowhere(struct replay_rows *x, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	size_t cap = 0;
	int rc = sql_prepare(
	    &s, x->a->c,
	    "WITH here AS (SELECT request, count(DISTINCT attempt) AS n FROM leg WHERE coalesce(role, 'decode') <> "
	    "'prefill' "
	    "AND boot IS NOT NULL GROUP BY request), asked AS (SELECT request, max(attempts) AS n FROM response GROUP "
	    "BY "
	    "request) SELECT q.first_ns FROM request q LEFT JOIN here h ON h.request = q.request LEFT JOIN asked a ON "
	    "a.request = q.request WHERE coalesce(h.n, 0) < coalesce(a.n, 1)",
	    err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		if (x->n_nowhere == cap) {
			cap = cap ? cap * 2 : 256;
			int64_t *more = realloc(x->nowhere, cap * sizeof(*more));
			if (!more)
				return err_nomem(err);
			x->nowhere = more;
		}
		x->nowhere[x->n_nowhere++] = sql_get_time(s, 0);
	}
	if (rc == 0 && x->n_nowhere)
		qsort(x->nowhere, x->n_nowhere, sizeof(*x->nowhere), time_cmp);
	return rc;
}

static size_t nowhere_until(const struct replay_rows *x, int64_t ns)
{
	size_t lo = 0, hi = x->n_nowhere;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (x->nowhere[mid] <= ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint64_t nowhere_between(const struct replay_rows *x, int64_t from, int64_t to)
{
	size_t timeless = nowhere_until(x, TIME_UNKNOWN), before = MAX(nowhere_until(x, from), timeless);
	return timeless + (nowhere_until(x, to) - before);
}

int replay_load(struct replay_rows *x, struct err *err)
{
	int rc = load_jobs(x, err);
	if (rc == 0)
		rc = load_limit(x, err);
	if (rc == 0)
		rc = load_legs(x, err);
	return rc == 0 ? load_nowhere(x, err) : rc;
}
