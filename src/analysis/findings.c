/* SPDX-License-Identifier: Apache-2.0 */
/* findings.c - one finding per response: predicates from its legs, boots and page logs, then its class
 *
 * A response depends on its own rows, and on boots, edges and covers that stay as they are: so responses are gone through in
 * ranges, in threads, each of which leaves its signs in its own place. A class follows from the sign, and how many have each
 * sign is counted; so classes, totals and the hypothesis check look at some hundred signs, not at responses. One confirmed
 * response (C1) with T=no, or with A=no, disproves that part of the hypothesis: it stops excluding anything in the whole case.
 */
#include <stdlib.h>
#include <string.h>

#include "deploy.h"
#include "findings.h"
#include "pagetrail/thread.h"

#define REASON_TEXT(id, code, about, says) [REASON_##id] = {code, about, says},
const struct reason_text reason_texts[N_REASONS] = {REASONS(REASON_TEXT)};
#undef REASON_TEXT

const char *reason_says(struct text code)
{
	for (unsigned i = 0; i < N_REASONS; i++)
		if (text_is(code, reason_texts[i].code))
			return reason_texts[i].says;
	for (unsigned i = 0; i < DEPLOY_REASON_COUNT; i++)
		if (text_is(code, deploy_reason_code((enum deploy_reason)i)))
			return deploy_reason_says((enum deploy_reason)i);
	for (unsigned i = 0; i < POLICY_REASON_COUNT; i++)
		if (text_is(code, policy_reason_code((enum policy_reason)i)))
			return policy_reason_says((enum policy_reason)i);
	return NULL;
}

static int role_of(struct text t)
{
	return text_is(t, "prefill")   ? AS_PREFILL
	       : text_is(t, "decode")  ? AS_DECODE
	       : text_is(t, "unified") ? AS_UNIFIED
				       : AS_UNKNOWN;
}

static int outcome_of(struct text t)
{
	static const char *const names[] = {
	    [OUTCOME_FINISHED] = "finished", [OUTCOME_REJECTED] = "rejected", [OUTCOME_TRUNCATED] = "truncated",
	    [OUTCOME_ABORTED] = "aborted",   [OUTCOME_FAILED] = "failed",     [OUTCOME_LATE_READ] = "late_read"};
	for (unsigned i = OUTCOME_FINISHED; i < ARRAY_SIZE(names); i++)
		if (text_is(t, names[i]))
			return (int)i;
	return OUTCOME_UNKNOWN;
}

static int length_flag_of(struct text t)
{
	return text_is(t, "exact")      ? LENGTH_EXACT
	       : text_is(t, "at_least") ? LENGTH_AT_LEAST
	       : text_is(t, "estimate") ? LENGTH_ESTIMATE
					: LENGTH_NONE;
}

static int tri_of(struct text t)
{
	return text_is(t, "yes") ? TRI_YES : text_is(t, "no") ? TRI_NO : TRI_UNKNOWN;
}

/* The meaning of a text. */
static int means(struct finder *x, unsigned which, struct text t, int (*of)(struct text t))
{
	if (!t.len || t.len > sizeof(x->last[which].text))
		return of(t);
	if (t.len != x->last[which].len || memcmp(t.ptr, x->last[which].text, t.len) != 0) {
		memcpy(x->last[which].text, t.ptr, t.len);
		x->last[which].len = t.len;
		x->last[which].means = of(t);
	}
	return x->last[which].means;
}

/* ---- boots ---- */

/* What a person says fills what the logs left open. */
static void fill_boot(struct served_boot *b, struct text engine, const struct analysis_params *p)
{
	if (b->pool_tokens == UNSAID && p->pool_tokens > 0) {
		b->pool_tokens = p->pool_tokens;
		b->entered = true;
	}
	if (b->input_limit != UNSAID)
		return;
	if (p->input_limit > 0) {
		b->input_limit = p->input_limit;
		b->entered = true;
	} else if (b->entered && (!engine.len || text_is(engine, "sglang"))) { /* the engine's own rule */
		int64_t top = b->pool_tokens - 1;
		if (b->context_len != UNSAID)
			top = MIN(top, b->context_len - 1);
		b->input_limit = MAX(top - 5, 0);
	}
}

static int judge_boot(struct findings *f, struct sql *s, struct served_boot *b, struct err *err)
{
	struct build build = {.package = sql_get_text(s, 8),
			      .version = sql_get_text(s, 9),
			      .commit = sql_get_text(s, 12),
			      .disaggregated = TRI_YES, /* a matter of each leg */
			      .transfer_backend = sql_get_text(s, 13)};
	struct build_verdict *v = arena_array(&f->arena, policy_entries(f->policy), sizeof(*v));
	if (!v)
		return err_nomem(err);
	for (size_t i = 0; i < policy_entries(f->policy); i++)
		v[i] = build_verdict(f->policy, i, &build);
	b->verdicts = v;
	return 0;
}

static int load_boots(struct findings *f, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	size_t cap = 0;
	int rc = sql_prepare(
	    &s, f->c,
	    "SELECT b.boot, b.worker, b.started_ns, b.ended_ns, b.context_len, b.pool_tokens, b.input_limit, "
	    "coalesce(b.role, w.role), coalesce(b.engine, w.engine), b.version, b.model, b.page_size, b.commit_id, "
	    "b.transfer_backend "
	    "FROM boot b JOIN worker w USING(worker) ORDER BY b.boot",
	    err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		rc = grow_array((void **)&f->boots, &cap, f->n_boots, sizeof(*f->boots), err);
		if (rc < 0)
			return rc;
		struct served_boot *b = &f->boots[f->n_boots++];
		*b = (struct served_boot){.boot = sql_get_int(s, 0), .worker = sql_get_int(s, 1)};
		b->started_ns = sql_get_time(s, 2);
		b->ended_ns = sql_get_time(s, 3);
		b->context_len = sql_get_time(s, 4);
		b->pool_tokens = sql_get_time(s, 5);
		b->input_limit = sql_get_time(s, 6);
		b->role = (enum served_as)role_of(sql_get_text(s, 7));
		rc = judge_boot(f, s, b, err);
		if (rc < 0)
			return rc;
		b->model = arena_text(&f->arena, sql_get_text(s, 10));
		b->page_size = sql_get_time(s, 11);
		fill_boot(b, sql_get_text(s, 8), &f->params);
	}
	return rc;
}

/* ---- legs ---- */

static int leg_cmp(const void *a, const void *b)
{
	const struct served_leg *x = a, *y = b;
	int64_t s = x->started_ns != TIME_UNKNOWN ? x->started_ns : x->finished_ns;
	int64_t t = y->started_ns != TIME_UNKNOWN ? y->started_ns : y->finished_ns;
	if (x->attempt != y->attempt)
		return x->attempt < y->attempt ? -1 : 1;
	if (s != t)
		return s < t ? -1 : 1;
	return (x->leg > y->leg) - (x->leg < y->leg);
}

static int64_t or_none(int64_t v)
{
	return v == UNSAID ? 0 : v;
}

static struct served_leg leg_at_hand(struct finder *x)
{
	const struct row_range *r = x->legs;
	return (struct served_leg){
	    .leg = row_range_int(r, LEG_ROW_LEG),
	    .attempt = or_none(row_range_int(r, LEG_ROW_ATTEMPT)),
	    .worker = or_none(row_range_int(r, LEG_ROW_WORKER)),
	    .boot = or_none(row_range_int(r, LEG_ROW_BOOT)),
	    .started_ns = row_range_int(r, LEG_ROW_STARTED_NS),
	    .finished_ns = row_range_int(r, LEG_ROW_FINISHED_NS),
	    .input_tokens = row_range_int(r, LEG_ROW_INPUT_TOKENS),
	    .output_tokens = row_range_int(r, LEG_ROW_OUTPUT_TOKENS),
	    .rejected_tokens = row_range_int(r, LEG_ROW_REJECTED_TOKENS),
	    .limit_tokens = row_range_int(r, LEG_ROW_LIMIT_TOKENS),
	    .role = (enum served_as)means(x, FINDER_ROLE, row_range_text(r, LEG_ROW_ROLE), role_of),
	    .outcome = (enum outcome)means(x, FINDER_OUTCOME, row_range_text(r, LEG_ROW_OUTCOME), outcome_of),
	    .flag = (enum length_flag)means(x, FINDER_LEG_FLAG, row_range_text(r, LEG_ROW_INPUT_FLAG), length_flag_of)};
}

/* In order of attempt, then time. */
static int hold_legs(struct finder *x, int64_t request, struct err *err)
{
	if (x->held_request == request) /* one request, several responses */
		return 0;
	x->held_request = 0;
	x->n_held = 0;
	bool sorted = true;
	int rc = row_range_seek(x->legs, request, err);
	while (rc == 1 && row_range_request(x->legs) == request) {
		rc = grow_array((void **)&x->held, &x->cap_held, x->n_held, sizeof(*x->held), err);
		if (rc < 0)
			return rc;
		x->held[x->n_held] = leg_at_hand(x);
		sorted &= !x->n_held || leg_cmp(&x->held[x->n_held - 1], &x->held[x->n_held]) <= 0;
		x->n_held++;
		rc = row_range_next(x->legs, err);
	}
	if (!sorted)
		qsort(x->held, x->n_held, sizeof(*x->held), leg_cmp);
	x->held_request = rc < 0 ? 0 : request;
	return MIN(rc, 0);
}

/* ---- X ---- */

/* Requests in whose responses somebody else's marker was seen. That none was seen says nothing: X is never no. */
static int load_marked(struct findings *f, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	size_t cap = 0;
	int rc = sql_prepare(&s, f->c,
			     "SELECT seen_request, max(cross_tenant = 'yes'), min(cross_tenant = 'no'), max(reason = "
			     "'not_in_prompt'), max(before_planted) FROM sighting WHERE verdict = 'foreign' GROUP BY "
			     "seen_request ORDER BY seen_request",
			     err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		rc = grow_array((void **)&f->marked, &cap, f->n_marked, sizeof(*f->marked), err);
		if (rc == 0)
			f->marked[f->n_marked++] = (struct marked){.request = sql_get_int(s, 0),
								   .cross_tenant = sql_get_int(s, 1)   ? TRI_YES
										   : sql_get_int(s, 2) ? TRI_NO
												       : TRI_UNKNOWN,
								   .unseen = !sql_get_int(s, 3),
								   .early = sql_get_int(s, 4)};
	}
	return rc;
}

static int marked_cmp(const void *a, const void *b)
{
	int64_t x = ((const struct marked *)a)->request, y = ((const struct marked *)b)->request;
	return (x > y) - (x < y);
}

static const struct marked *marked_find(const struct findings *all, int64_t request)
{
	struct marked key = {.request = request};
	return all->n_marked ? bsearch(&key, all->marked, all->n_marked, sizeof(key), marked_cmp) : NULL;
}

/* Whose content it got is known from page logs, from markers, or from both: the worse counts, and what one of them leaves open
 * stays open. */
static void set_content(const struct findings *all, struct finding *f)
{
	const struct marked *m = marked_find(all, f->request);
	if (!m)
		return;
	f->p.x = TRI_YES;
	because(f, REASON_FOREIGN_MARKER);
	if (m->unseen)
		because(f, REASON_MARKER_PROMPT_UNSEEN);
	if (m->early)
		because(f, REASON_MARKER_EARLY);
	if (f->p.l != TRI_YES || m->cross_tenant == TRI_YES)
		f->cross_tenant = m->cross_tenant;
	else if (f->cross_tenant == TRI_NO)
		f->cross_tenant = m->cross_tenant;
}

static int id_cmp(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static bool is_among(const int64_t *list, size_t n, int64_t request)
{
	return n && bsearch(&request, list, n, sizeof(request), id_cmp);
}

enum { REQUESTS_AT_ONCE = 1 << 15 };

/* Requests that were joined by time and length. */
static int load_loose(struct findings *f, struct err *err)
{
	struct row_book *book = NULL;
	size_t cap = 0;
	int rc = row_book_open(&book, f->c, ROWS_ALIAS, 1u << ALIAS_RULE, err);
	int64_t n = rc == 0 ? row_book_rows(f->requests) : 0;
	for (int64_t from = 1; rc == 0 && from <= n; from += REQUESTS_AT_ONCE) {
		struct row_range *r = NULL;
		rc = row_range_read(&r, book, from, from + REQUESTS_AT_ONCE - 1, err);
		if (rc == 0)
			rc = row_range_seek(r, from, err);
		for (; rc == 1 && row_range_request(r) < from + REQUESTS_AT_ONCE; rc = row_range_next(r, err)) {
			if (!text_eq(row_range_text(r, ALIAS_RULE), TEXT("time_and_length")) ||
			    (f->n_loose && f->loose[f->n_loose - 1] == row_range_request(r)))
				continue;
			rc = grow_array((void **)&f->loose, &cap, f->n_loose, sizeof(*f->loose), err);
			if (rc < 0)
				break;
			f->loose[f->n_loose++] = row_range_request(r);
		}
		row_range_free(r);
		if (rc >= 0)
			rc = case_stopped(f->c) ? err_set(err, ERR_INTERRUPTED, "stopped") : 0;
	}
	row_book_close(book);
	return rc;
}

/* ---- one response ---- */

/* The one at hand in x->responses: predicates and reasons; what follows from the whole case is missing. */
static int find(struct finder *x, struct finding *ret, struct err *err)
{
	const struct findings *all = x->all;
	const struct row_range *r = x->responses, *q = x->requests;
	struct finding f = {.response = row_range_int(r, RESPONSE_RESPONSE),
			    .request = row_range_request(r),
			    .started_ns = row_range_int(r, RESPONSE_STARTED_NS),
			    .finished_ns = row_range_int(r, RESPONSE_FINISHED_NS),
			    .prompt_tokens = row_range_int(r, RESPONSE_PROMPT_TOKENS),
			    .candidate_owners = UNSAID,
			    .foreign_at_most = UNSAID};
	f.flag =
	    (enum length_flag)means(x, FINDER_FLAG, row_range_text(r, RESPONSE_PROMPT_TOKENS_FLAG), length_flag_of);
	int rc = row_range_seek(x->requests, f.request, err);
	if (rc == 0 || (rc == 1 && row_range_request(q) != f.request))
		rc = err_set(err, ERR_DAMAGED, "the request of a response is not there");
	if (rc == 1)
		rc = hold_legs(x, f.request, err);
	if (rc < 0)
		return rc;
	f.tenant = or_none(row_range_int(q, REQUEST_TENANT));
	if (f.prompt_tokens != UNSAID && !f.flag)
		f.flag = LENGTH_EXACT;
	struct evidence_of e = {.policy = all->policy,
				.legs = x->held,
				.n_legs = x->n_held,
				.boots = all->boots,
				.n_boots = all->n_boots,
				.holes = all->holes,
				.n_holes = all->n_holes,
				.lost = all->lost,
				.n_lost = all->n_lost,
				.model = row_range_text(q, REQUEST_MODEL),
				.delivered =
				    (enum tri)means(x, FINDER_DELIVERED, row_range_text(r, RESPONSE_DELIVERED), tri_of),
				.completion_tokens = row_range_int(r, RESPONSE_COMPLETION_TOKENS),
				.attempts = or_none(row_range_int(r, RESPONSE_ATTEMPTS)),
				.finished_ns = f.finished_ns,
				.person_limit = all->params.input_limit,
				.person_pool = all->params.pool_tokens};
	f.p = (struct predicates){TRI_UNKNOWN, TRI_UNKNOWN, TRI_UNKNOWN, e.delivered, TRI_UNKNOWN};
	predicates_of(&e, &f);
	set_lineage(x, &f);
	set_content(all, &f);
	if (row_range_text(q, REQUEST_CONFLICT).ptr)
		because(&f, REASON_IDS_CONTRADICT);
	if (is_among(all->loose, all->n_loose, f.request))
		because(&f, REASON_JOINED_LOOSELY);
	*ret = f;
	return 0;
}

static void finder_done(struct finder *x)
{
	row_range_free(x->responses);
	row_range_free(x->requests);
	row_range_free(x->legs);
	free(x->held);
	*x = (struct finder){.all = x->all};
}

/* ---- signs ---- */

static unsigned sign_of(const struct finding *f)
{
	return (unsigned)f->p.t | (unsigned)f->p.a << 2 | (unsigned)f->p.l << 4 | (unsigned)f->p.d << 6 |
	       (unsigned)f->p.x << 8 | (unsigned)f->band << SIGN_PREDICATES | (unsigned)f->cross_tenant << 12 |
	       (unsigned)(f->reasons >> REASON_MARKER_EARLY & 1) << 14;
}

static struct predicates predicates_in(unsigned sign)
{
	return (struct predicates){(enum tri)(sign & 3), (enum tri)(sign >> 2 & 3), (enum tri)(sign >> 4 & 3),
				   (enum tri)(sign >> 6 & 3), (enum tri)(sign >> 8 & 3)};
}

void findings_sign(const struct findings *all, unsigned sign, struct finding *ret)
{
	*ret = (struct finding){.p = predicates_in(sign), .started_ns = TIME_UNKNOWN};
	ret->band = (enum band)(sign >> SIGN_PREDICATES & 3);
	ret->cross_tenant = (enum tri)(sign >> 12 & 3);
	ret->c = all->classes[sign & ((1u << SIGN_PREDICATES) - 1)];
	ret->c.conflict |= sign >> 14 & 1;
}

void findings_brief(const struct findings *all, size_t at, struct finding *ret)
{
	findings_sign(all, all->signs[at], ret);
	ret->started_ns = all->started[at];
	ret->response = (int64_t)at + 1;
}

/* ---- all responses, in ranges of requests ---- */

struct range_task {
	struct task task; /* first */
	struct findings *all;
	struct finder x;
	int64_t from, to;
	size_t found;
	bool unkept; /* one of them cannot be kept */
	size_t *found_all;
};

static int run_range(struct task *t, struct err *err)
{
	struct range_task *r = (struct range_task *)t;
	struct findings *all = r->all;
	int rc = row_range_seek(r->x.responses, r->from, err);
	while (rc == 1 && row_range_request(r->x.responses) <= r->to) {
		struct finding f;
		size_t at = (size_t)(r->x.responses->first - 1) + r->x.responses->row;
		rc = case_stopped(all->c) ? err_set(err, ERR_INTERRUPTED, "stopped") : find(&r->x, &f, err);
		if (rc < 0)
			break;
		all->started[at] = f.started_ns;
		all->signs[at] = (uint16_t)sign_of(&f);
		if (all->kept && !r->unkept)
			r->unkept = !kept_put(all, &f);
		r->found++;
		rc = row_range_next(r->x.responses, err);
	}
	return MIN(rc, 0);
}

static void range_drop(struct task *t)
{
	finder_done(&((struct range_task *)t)->x);
	free(t);
}

static int range_done(struct task *t, struct err *err)
{
	struct range_task *r = (struct range_task *)t;
	(void)err;
	*r->found_all += r->found;
	r->all->unkept |= r->unkept;
	scratch_trim(&r->all->scratch);
	range_drop(t);
	return 0;
}

static int submit_range(struct findings *f, struct pool *p, int64_t from, int64_t to, size_t *found, struct err *err)
{
	struct range_task *t = calloc(1, sizeof(*t));
	if (!t)
		return err_nomem(err);
	*t = (struct range_task){
	    {.run = run_range, .done = range_done, .drop = range_drop}, f, {.all = f}, from, to, 0, false, found};
	int rc = case_stopped(f->c) ? err_set(err, ERR_INTERRUPTED, "stopped") : 0;
	if (rc == 0)
		rc = row_range_read(&t->x.responses, f->responses, from, to, err);
	if (rc == 0)
		rc = row_range_read(&t->x.requests, f->requests, from, to, err);
	if (rc == 0)
		rc = row_range_read(&t->x.legs, f->legs, from, to, err);
	if (rc < 0) {
		range_drop(&t->task);
		return rc;
	}
	return pool_submit(p, &t->task, err);
}

static int find_all(struct findings *f, struct err *err)
{
	unsigned threads = case_thread_count(f->c);
	struct pool *p = NULL;
	size_t found = 0;
	int64_t n = row_book_rows(f->requests);
	f->n = (size_t)row_book_rows(f->responses);
	if (f->n >= UINT32_MAX)
		return err_set(err, ERR_LIMIT, "too many responses");
	f->started = malloc((f->n + 1) * sizeof(*f->started));
	f->signs = calloc(f->n + 1, sizeof(*f->signs));
	int rc = f->started && f->signs ? 0 : err_nomem(err);
	if (rc == 0 && f->params.often)
		kept_open(f);
	if (rc == 0)
		rc = pool_open(&p, threads > 1 && n > REQUESTS_AT_ONCE ? threads : 0, 2 * MAX(threads, 1), err);
	for (int64_t from = 1; rc == 0 && from <= n; from += REQUESTS_AT_ONCE)
		rc = submit_range(f, p, from, MIN(n, from + REQUESTS_AT_ONCE - 1), &found, err);
	if (rc == 0)
		rc = pool_drain(p, err);
	pool_close(p);
	if (f->unkept || found != f->n)
		kept_close(f);
	return rc == 0 && found != f->n ? err_set(err, ERR_DAMAGED, "responses of requests that are not there") : rc;
}

/* ---- classes ---- */

static void classify_all(struct findings *f)
{
	for (unsigned i = 0; i < ARRAY_SIZE(f->classes); i++)
		f->classes[i] = classify(predicates_in(i), f->trigger_stands, f->build_stands);
}

static int check_hypothesis(struct findings *f, struct err *err)
{
	f->counts = calloc((size_t)1 << SIGN_BITS, sizeof(*f->counts));
	if (!f->counts)
		return err_nomem(err);
	for (size_t i = 0; i < f->n; i++)
		f->counts[f->signs[i]]++;
	f->trigger_stands = f->build_stands = true;
	classify_all(f);
	for (unsigned i = 0; i < 1u << SIGN_BITS; i++) {
		struct finding x;
		findings_sign(f, i, &x);
		if (!f->counts[i] || x.c.class_id != CLASS_C1)
			continue;
		f->trigger_stands &= x.p.t != TRI_NO;
		f->build_stands &= x.p.a != TRI_NO;
	}
	classify_all(f);
	return 0;
}

static int start_cmp(const void *a, const void *b, void *ctx)
{
	const struct findings *f = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	if (f->started[x] != f->started[y])
		return f->started[x] < f->started[y] ? -1 : 1;
	return (x > y) - (x < y); /* by request, then response: so they are numbered */
}

int findings_sort(const struct findings *f, uint32_t *list, size_t n, struct err *err)
{
	return sort_almost(list, n, sizeof(*list), start_cmp, (void *)f, err);
}

static int put_in_order(struct findings *f, struct err *err)
{
	bool sorted = true;
	for (size_t i = 1; i < f->n && sorted; i++)
		sorted = f->started[i - 1] <= f->started[i];
	if (sorted)
		return 0;
	f->order = malloc(f->n * sizeof(*f->order));
	if (!f->order)
		return err_nomem(err);
	for (size_t i = 0; i < f->n; i++)
		f->order[i] = (uint32_t)i;
	return findings_sort(f, f->order, f->n, err);
}

static void explain(const struct findings *all, struct finding *f)
{
	struct predicates p = f->p;
	if (p.d == TRI_NO)
		because(f, p.l == TRI_YES ? REASON_STALE_NOT_DELIVERED : REASON_NOT_DELIVERED);
	else if (p.d == TRI_UNKNOWN)
		because(f, REASON_DELIVERY_UNKNOWN);
	if (p.l == TRI_YES && p.t == TRI_NO)
		because(f, REASON_CONFLICT_LT);
	if (p.l == TRI_YES && p.a == TRI_NO)
		because(f, REASON_CONFLICT_LA);
	if (p.x == TRI_YES && (p.t == TRI_NO || p.a == TRI_NO || p.l == TRI_NO || p.d == TRI_NO))
		because(f, REASON_CONFLICT_X);
	if (f->c.class_id == CLASS_C4) {
		if (p.d == TRI_NO)
			because(f, REASON_EXCLUDED_D);
		else if (p.l == TRI_NO)
			because(f, REASON_EXCLUDED_L);
		else if (p.t == TRI_NO && all->trigger_stands)
			because(f, REASON_EXCLUDED_T);
		else
			because(f, REASON_EXCLUDED_A);
	}
	f->grade = p.l != TRI_UNKNOWN                              ? GRADE_PHYSICAL
		   : f->decode_worker || f->c.class_id != CLASS_C4 ? GRADE_TEMPORAL
								   : GRADE_NONE;
}

int64_t finding_place(const struct findings *all, const struct finding *f)
{
	bool sure = !(f->reasons >> REASON_ATTEMPT_NOT_SEEN & 1);
	for (size_t i = 0; sure && !f->decode_boot && i < all->n_boots; i++)
		sure = all->boots[i].worker != f->decode_worker;
	return sure ? f->decode_worker : 0;
}

/* It read no more than its prompt, and of others no more than what they can have left since the boot. */
static int bound_read(struct findings *all, struct finding *f, int64_t place, struct err *err)
{
	const struct served_boot *boot = boot_find(all->boots, all->n_boots, f->decode_boot);
	int64_t left;
	int rc = lives_left_at_most(all->lives, place, f->decode_boot, boot ? boot->started_ns : TIME_UNKNOWN,
				    f->read_ns, f->request, &left, err);
	if (rc < 0)
		return rc;
	if (f->prompt_tokens != UNSAID && f->flag == LENGTH_EXACT)
		f->foreign_at_most = f->prompt_tokens;
	if (left != UNSAID && (f->foreign_at_most == UNSAID || left < f->foreign_at_most))
		f->foreign_at_most = left;
	if (left == 0 && f->candidate_owners == 0)
		because(f, REASON_POOL_FRESH);
	return 0;
}

int findings_lives(struct findings *f, struct pool_lives **ret, struct err *err)
{
	int rc = f->lives ? 0 : lives_open(&f->lives, f->c, f->boots, f->n_boots, err);
	*ret = f->lives;
	return rc;
}

int findings_candidates(struct findings *all, struct finding *f, struct err *err)
{
	struct pool_lives *lives;
	if (!finding_has_candidates(f))
		return 0;
	int64_t place = finding_place(all, f);
	int rc = findings_lives(all, &lives, err);
	if (rc == 0)
		rc = lives_before(lives, place, f->decode_boot, f->read_ns, f->request, &f->candidate_owners, err);
	return rc == 0 && f->grade == GRADE_TEMPORAL ? bound_read(all, f, place, err) : rc;
}

/* ---- one of them again ---- */

static bool is_near(const struct finder *x, int64_t response)
{
	const struct row_range *r = x->responses;
	return r && r->n && response >= r->first && response < r->first + r->n;
}

int findings_get(struct findings *f, size_t at, struct finding *ret, struct err *err)
{
	int64_t response = (int64_t)at + 1;
	if (f->kept) {
		kept_get(f, at, ret);
		explain(f, ret);
		return 0;
	}
	if (!is_near(&f->own[f->last_own], response)) /* starts are nearly in order: two places will do */
		f->last_own = !f->last_own;
	struct finder *x = &f->own[f->last_own];
	x->held_request = 0; /* its legs may be elsewhere now */
	int rc = row_range_goto(&x->responses, f->responses, response, err);
	int64_t request = rc == 0 ? row_range_request(x->responses) : 0;
	if (rc == 0)
		rc = row_range_turn(&x->requests, f->requests, request, err);
	if (rc == 0)
		rc = row_range_turn(&x->legs, f->legs, request, err);
	if (rc == 0)
		rc = find(x, ret, err);
	if (rc < 0)
		return rc;
	ret->c = f->classes[sign_of(ret) & ((1u << SIGN_PREDICATES) - 1)];
	ret->c.conflict |= ret->reasons >> REASON_MARKER_EARLY & 1;
	explain(f, ret);
	return 0;
}

int findings_of_request(struct findings *f, int64_t request, size_t *ret_at, size_t *ret_n, struct err *err)
{
	CLEANUP(row_range_freep) struct row_range *r = NULL;
	*ret_n = 0;
	int rc = row_range_read(&r, f->responses, request, request, err);
	if (rc == 0)
		rc = row_range_seek(r, request, err);
	if (rc == 1)
		*ret_at = (size_t)(r->first - 1) + r->row;
	for (; rc == 1 && row_range_request(r) == request; rc = row_range_next(r, err))
		++*ret_n;
	return MIN(rc, 0);
}

static int open_books(struct findings *f, struct err *err)
{
	int rc = row_book_open(&f->requests, f->c, ROWS_REQUEST,
			       1u << REQUEST_TENANT | 1u << REQUEST_MODEL | 1u << REQUEST_CONFLICT, err);
	if (rc == 0)
		rc = row_book_open(&f->responses, f->c, ROWS_RESPONSE,
				   1u << RESPONSE_RESPONSE | 1u << RESPONSE_STARTED_NS | 1u << RESPONSE_PROMPT_TOKENS |
				       1u << RESPONSE_PROMPT_TOKENS_FLAG | 1u << RESPONSE_DELIVERED |
				       1u << RESPONSE_COMPLETION_TOKENS | 1u << RESPONSE_ATTEMPTS |
				       1u << RESPONSE_FINISHED_NS,
				   err);
	if (rc == 0)
		rc = row_book_open(
		    &f->legs, f->c, ROWS_LEG,
		    1u << LEG_ROW_LEG | 1u << LEG_ROW_ATTEMPT | 1u << LEG_ROW_WORKER | 1u << LEG_ROW_BOOT |
			1u << LEG_ROW_ROLE | 1u << LEG_ROW_STARTED_NS | 1u << LEG_ROW_FINISHED_NS |
			1u << LEG_ROW_INPUT_TOKENS | 1u << LEG_ROW_INPUT_FLAG | 1u << LEG_ROW_OUTPUT_TOKENS |
			1u << LEG_ROW_REJECTED_TOKENS | 1u << LEG_ROW_LIMIT_TOKENS | 1u << LEG_ROW_OUTCOME,
		    err);
	return rc;
}

static int run_all(struct findings *f, struct err *err)
{
	int rc = f->params.policy ? 0 : policy_builtin(&f->own_policy, NULL, err);
	f->policy = f->params.policy ? f->params.policy : f->own_policy;
	if (rc == 0)
		rc = open_books(f, err);
	if (rc == 0)
		rc = load_boots(f, err);
	if (rc == 0)
		rc = holes_load(f, err);
	if (rc == 0)
		rc = reads_load(f, err);
	if (rc == 0)
		rc = load_marked(f, err);
	if (rc == 0)
		rc = load_loose(f, err);
	if (rc == 0)
		rc = find_all(f, err);
	if (rc == 0)
		rc = check_hypothesis(f, err);
	return rc == 0 ? put_in_order(f, err) : rc;
}

int findings_run(struct findings **ret, struct case_file *c, const struct analysis_params *params,
		 const struct lineage *l, struct err *err)
{
	struct findings *f = calloc(1, sizeof(*f));
	if (!f)
		return err_nomem(err);
	f->c = c;
	f->params = *params;
	f->lineage = l;
	f->own[0].all = f->own[1].all = f;
	scratch_init(&f->scratch);
	arena_init(&f->arena, ARENA_MAX_BYTES);
	int rc = run_all(f, err);
	if (rc < 0) {
		findings_free(f);
		return rc;
	}
	*ret = f;
	return 0;
}

void findings_free(struct findings *f)
{
	if (!f)
		return;
	finder_done(&f->own[0]);
	finder_done(&f->own[1]);
	lives_free(f->lives);
	kept_close(f);
	findings_said_close(f);
	row_book_close(f->responses);
	row_book_close(f->requests);
	row_book_close(f->legs);
	map_done(&f->worker_at);
	free(f->started);
	free(f->signs);
	free(f->order);
	free(f->counts);
	free(f->reads);
	free(f->boots);
	free(f->holes);
	free(f->lost);
	free(f->marked);
	free(f->loose);
	policy_free(f->own_policy);
	arena_done(&f->arena);
	free(f);
}
