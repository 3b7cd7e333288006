/* SPDX-License-Identifier: Apache-2.0 */
/* findings.c - one finding per response: loads boots, legs and responses side by side, and classifies
 *
 * Two passes: predicates and class of each, then the hypothesis check. One confirmed response (C1) with T=no, or with
 * A=no, disproves that part of the hypothesis: it stops excluding anything in the whole case, and every class is
 * computed again.
 */
#include <stdlib.h>
#include <string.h>

#include "findings.h"

#define REASON_TEXT(id, code, about, says) [REASON_##id] = {code, about, says},
const struct reason_text reason_texts[N_REASONS] = {REASONS(REASON_TEXT)};
#undef REASON_TEXT

const char *reason_says(struct text code)
{
	for (unsigned i = 0; i < N_REASONS; i++)
		if (text_is(code, reason_texts[i].code))
			return reason_texts[i].says;
	return NULL;
}

struct loader {
	struct case_file *c;
	struct findings *f;
	const struct analysis_params *params;
	struct sql *legs, *responses;
	bool leg_there;
	int64_t leg_request;
	struct served_leg *held; /* legs of the request at hand */
	size_t n_held, cap_held;
	int64_t held_request;
	size_t cap;           /* of f->all */
	struct map worker_at; /* worker row -> index in lineage.workers */
};

static void because(struct finding *f, enum reason r)
{
	f->reasons |= UINT64_C(1) << r;
}

static enum served_as role_of(struct text t)
{
	return text_is(t, "prefill")   ? AS_PREFILL
	       : text_is(t, "decode")  ? AS_DECODE
	       : text_is(t, "unified") ? AS_UNIFIED
				       : AS_UNKNOWN;
}

static enum outcome outcome_of(struct text t)
{
	static const char *const names[] = {
	    [OUTCOME_FINISHED] = "finished", [OUTCOME_REJECTED] = "rejected", [OUTCOME_TRUNCATED] = "truncated",
	    [OUTCOME_ABORTED] = "aborted",   [OUTCOME_FAILED] = "failed",     [OUTCOME_LATE_READ] = "late_read"};
	for (unsigned i = OUTCOME_FINISHED; i < ARRAY_SIZE(names); i++)
		if (text_is(t, names[i]))
			return (enum outcome)i;
	return OUTCOME_UNKNOWN;
}

static enum length_flag length_flag_of(struct text t)
{
	return text_is(t, "exact")      ? LENGTH_EXACT
	       : text_is(t, "at_least") ? LENGTH_AT_LEAST
	       : text_is(t, "estimate") ? LENGTH_ESTIMATE
					: LENGTH_NONE;
}

static enum tri tri_of(struct text t)
{
	return text_is(t, "yes") ? TRI_YES : text_is(t, "no") ? TRI_NO : TRI_UNKNOWN;
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

static int load_boots(struct loader *l, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct findings *f = l->f;
	int rc = sql_prepare(
	    &s, l->c,
	    "SELECT b.boot, b.worker, b.started_ns, b.ended_ns, b.context_len, b.pool_tokens, b.input_limit, "
	    "coalesce(b.role, w.role), coalesce(b.engine, w.engine), b.version, b.model, b.page_size "
	    "FROM boot b JOIN worker w USING(worker) ORDER BY b.boot",
	    err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		struct served_boot *more = realloc(f->boots, (f->n_boots + 1) * sizeof(*more));
		if (!more)
			return err_nomem(err);
		f->boots = more;
		struct served_boot *b = &more[f->n_boots++];
		*b = (struct served_boot){.boot = sql_get_int(s, 0), .worker = sql_get_int(s, 1)};
		b->started_ns = sql_get_time(s, 2);
		b->ended_ns = sql_get_time(s, 3);
		b->context_len = sql_get_time(s, 4);
		b->pool_tokens = sql_get_time(s, 5);
		b->input_limit = sql_get_time(s, 6);
		b->role = role_of(sql_get_text(s, 7));
		b->affected = version_affected(sql_get_text(s, 8), sql_get_text(s, 9), &b->why);
		b->model = arena_text(&f->arena, sql_get_text(s, 10));
		b->page_size = sql_get_time(s, 11);
		fill_boot(b, sql_get_text(s, 8), l->params);
	}
	return rc;
}

/* ---- legs and responses, side by side, both by request ---- */
static int next_leg(struct loader *l, struct err *err)
{
	int rc = sql_step(l->legs, err);
	l->leg_there = rc == 1;
	l->leg_request = rc == 1 ? sql_get_int(l->legs, 0) : INT64_MAX;
	return rc < 0 ? rc : 0;
}

static int hold_legs(struct loader *l, int64_t request, struct err *err)
{
	if (l->held_request == request) /* one request, several responses */
		return 0;
	l->held_request = request;
	l->n_held = 0;
	while (l->leg_there && l->leg_request <= request) {
		if (l->leg_request == request) {
			if (l->n_held == l->cap_held) {
				size_t cap = l->cap_held ? l->cap_held * 2 : 16;
				struct served_leg *more = realloc(l->held, cap * sizeof(*more));
				if (!more)
					return err_nomem(err);
				l->held = more;
				l->cap_held = cap;
			}
			struct sql *s = l->legs;
			l->held[l->n_held++] = (struct served_leg){.leg = sql_get_int(s, 1),
								   .attempt = sql_get_int(s, 2),
								   .worker = sql_get_int(s, 3),
								   .boot = sql_get_int(s, 4),
								   .started_ns = sql_get_time(s, 5),
								   .finished_ns = sql_get_time(s, 6),
								   .input_tokens = sql_get_time(s, 7),
								   .output_tokens = sql_get_time(s, 8),
								   .rejected_tokens = sql_get_time(s, 9),
								   .limit_tokens = sql_get_time(s, 10),
								   .role = role_of(sql_get_text(s, 11)),
								   .outcome = outcome_of(sql_get_text(s, 12)),
								   .flag = length_flag_of(sql_get_text(s, 13))};
		}
		int rc = next_leg(l, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* ---- X ---- */

/* Requests in whose responses somebody else's marker was seen. That none was seen says nothing: X is never no. */
static int load_marked(struct loader *l, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct findings *f = l->f;
	size_t cap = 0;
	int rc = sql_prepare(&s, l->c,
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

/* ---- L ---- */
static int read_cmp(const void *a, const void *b)
{
	const struct foreign_read *x = a, *y = b;
	if (x->reader != y->reader)
		return x->reader < y->reader ? -1 : 1;
	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	return (x->edge > y->edge) - (x->edge < y->edge);
}

/* Edges that can make L, by reader. */
static int load_reads(struct loader *l, struct err *err)
{
	struct findings *f = l->f;
	size_t cap = 0;
	int rc = 0;
	for (uint32_t w = 0; rc == 0 && w < f->lineage->n_workers; w++) {
		const struct lineage_worker *worker = &f->lineage->workers[w];
		if (worker->id)
			rc = map_put(&l->worker_at, (uint64_t)worker->id, w, err);
		for (size_t i = 0; rc == 0 && i < worker->n_edges; i++) {
			const struct edge *e = &worker->edges[i];
			if (!e->owner || e->kind == EDGE_SHARED || e->kind == EDGE_UNINITIALISED)
				continue;
			if (f->n_reads == cap) {
				cap = cap ? cap * 2 : 256;
				struct foreign_read *more = realloc(f->reads, cap * sizeof(*more));
				if (!more)
					return err_nomem(err);
				f->reads = more;
			}
			f->reads[f->n_reads++] = (struct foreign_read){e->reader, w, e};
		}
	}
	if (f->n_reads)
		qsort(f->reads, f->n_reads, sizeof(*f->reads), read_cmp);
	return rc;
}

static const struct lineage_worker *log_of(const struct loader *l, int64_t worker)
{
	const uint32_t *at = map_find(&l->worker_at, (uint64_t)worker);
	return at ? &l->f->lineage->workers[*at] : NULL;
}

/* Is this read of an attempt that did not give the answer? served: the answering leg. */
static bool of_other_attempt(const struct loader *l, const struct served_leg *served, const struct foreign_read *r)
{
	bool here = false, there = false;
	if (!served)
		return false;
	int64_t worker = l->f->lineage->workers[r->worker].id;
	for (size_t i = 0; i < l->n_held; i++) {
		if (l->held[i].worker != worker)
			continue;
		if (l->held[i].attempt == served->attempt)
			here = true;
		else
			there = true;
	}
	if (!there)
		return false;
	if (!here)
		return true;
	return served->worker == worker && served->started_ns != TIME_UNKNOWN && r->edge->last_ns != TIME_UNKNOWN &&
	       r->edge->last_ns < served->started_ns;
}

static const struct cover *cover_of(const struct loader *l, const struct served_leg *leg, uint32_t actor)
{
	const struct lineage_worker *w = leg ? log_of(l, leg->worker) : NULL;
	return w && w->sweep ? sweep_cover(w->sweep, actor) : NULL;
}

/* Nothing of the answer rests on what this leg did: it refused, or the decode leg got its placeholder alone. Where the
 * decode worker's page log says what arrived, it decides. */
static bool unused(const struct loader *l, const struct finding *f, const struct served_leg *leg,
		   const struct served_leg *served)
{
	bool refused = leg->outcome == OUTCOME_REJECTED, aborted = leg->outcome == OUTCOME_ABORTED;
	bool placeholder =
	    f->reasons >> REASON_HANDOFF_MISMATCH & 1 && leg->input_tokens != UNSAID && leg->input_tokens <= 1;
	if (leg->role != AS_PREFILL || !(refused || aborted || placeholder))
		return false;
	const struct cover *c = cover_of(l, served, actors_of_request(l->f->lineage->actors, f->request));
	int got = c ? cover_got(c) : -1;
	return got == 0 || (got < 0 && !aborted);
}

/* Is this read of a prefill leg on which nothing rests? */
static bool of_unused(const struct loader *l, const struct finding *f, const struct served_leg *served,
		      const struct foreign_read *r)
{
	int64_t worker = l->f->lineage->workers[r->worker].id;
	bool any = false;
	for (size_t i = 0; i < l->n_held; i++) {
		const struct served_leg *leg = &l->held[i];
		if (leg->worker != worker || (served && leg->attempt != served->attempt))
			continue;
		if (!unused(l, f, leg, served))
			return false;
		any = true;
	}
	return any;
}

/* How far the page log of one leg covers it: 1 wholly, 0 not wholly, -1 there is none. */
static int leg_covered(const struct loader *l, const struct served_leg *leg, uint32_t actor)
{
	const struct lineage_worker *w = log_of(l, leg->worker);
	if (!w)
		return -1;
	const struct cover *c = cover_of(l, leg, actor);
	if (!c || c->broken || c->open)
		return 0;
	/* Other attempts on this worker: what the log holds must be this one's, not theirs alone. */
	for (size_t i = 0; i < l->n_held; i++) {
		const struct served_leg *other = &l->held[i];
		if (other->worker != leg->worker || other->attempt == leg->attempt)
			continue;
		if (leg->started_ns == TIME_UNKNOWN || c->last_ns == TIME_UNKNOWN || c->last_ns < leg->started_ns)
			return 0;
	}
	return 1;
}

/* Does the whole page log of a leg show what it read? Nothing that was delivered came of nothing. */
static bool leg_shown(const struct loader *l, struct finding *f, const struct served_leg *leg, uint32_t actor)
{
	const struct cover *c = cover_of(l, leg, actor);
	const struct served_boot *boot = boot_find(l->f->boots, l->f->n_boots, leg->boot);
	enum reason why;
	if (c->untold)
		because(f, REASON_READ_UNTOLD);
	if (leg->role == AS_PREFILL || f->p.d == TRI_NO)
		return !c->untold;
	int64_t tokens = leg->flag == LENGTH_EXACT ? leg->input_tokens : UNSAID;
	if (tokens == UNSAID && f->flag == LENGTH_EXACT)
		tokens = f->prompt_tokens;
	if (cover_shows_reading(c, tokens, boot ? boot->page_size : UNSAID, &why))
		return !c->untold;
	because(f, why);
	return false;
}

/* Does every leg that the answer rests on have a whole page log? If not, says which one is missing. */
static bool covered(const struct loader *l, struct finding *f, const struct served_leg *served, uint32_t actor)
{
	static const enum reason lacks[2][2] = {{REASON_PAGE_LOG_INCOMPLETE, REASON_NO_PAGE_LOG},
						{REASON_PREFILL_LOG_INCOMPLETE, REASON_NO_PREFILL_PAGE_LOG}};
	bool whole = served != NULL, prefill = false, disaggregated = served && served->role != AS_UNIFIED;
	if (!served)
		because(f, REASON_NO_PAGE_LOG);
	for (size_t i = 0; served && i < l->n_held; i++) {
		const struct served_leg *leg = &l->held[i];
		if (leg->attempt != served->attempt)
			continue;
		prefill |= leg->role == AS_PREFILL;
		if (unused(l, f, leg, served))
			continue;
		int got = leg_covered(l, leg, actor);
		whole &= got == 1 && leg_shown(l, f, leg, actor);
		if (got < 1)
			because(f, lacks[leg->role == AS_PREFILL][got < 0]);
	}
	if (disaggregated && !prefill) {
		because(f, REASON_NO_PREFILL_PAGE_LOG);
		whole = false;
	}
	return whole && !(f->reasons >> REASON_ATTEMPT_NOT_SEEN & 1);
}

/* It read what others wrote; may it have read from more than the edges say, because records are missing? */
static bool owners_open(const struct loader *l, const struct finding *f, uint32_t actor)
{
	const struct lineage *all = l->f->lineage;
	for (uint32_t i = 0; i < f->n_reads; i++) {
		const struct foreign_read *r = &l->f->reads[f->reads_from + i];
		const struct cover *c = sweep_cover(all->workers[r->worker].sweep, actor);
		if (!c || c->blind || c->open || c->untold || !r->edge->certain)
			return true;
	}
	return f->reasons >> REASON_ATTEMPT_NOT_SEEN & 1;
}

/* Distinct owners among the reads that count, and their tenants. */
static void count_owners(const struct loader *l, struct finding *f)
{
	const struct findings *all = l->f;
	const struct actors *actors = all->lineage->actors;
	bool differ = false, unsure = false;
	for (uint32_t i = 0; i < f->n_reads; i++) {
		const struct edge *e = all->reads[f->reads_from + i].edge;
		if (!e->certain)
			continue;
		const struct actor *o = actors_get(actors, e->owner);
		bool known = o->tenant && f->tenant;
		differ |= known && o->tenant != f->tenant;
		unsure |= !known;
		bool new_owner = true, new_tenant = o->tenant != 0;
		for (uint32_t k = 0; k < i; k++) { /* few owners a reader; many only for a victim of a whole pool */
			const struct edge *b = all->reads[f->reads_from + k].edge;
			if (!b->certain)
				continue;
			new_owner &= b->owner != e->owner;
			new_tenant &= actors_get(actors, b->owner)->tenant != o->tenant;
		}
		f->owner_count += new_owner;
		f->owner_tenants += new_tenant;
	}
	f->cross_tenant = differ ? TRI_YES : unsure ? TRI_UNKNOWN : TRI_NO;
}

static void set_lineage(struct loader *l, struct finding *f)
{
	struct findings *all = l->f;
	const struct served_leg *served = NULL;
	uint32_t actor = actors_of_request(all->lineage->actors, f->request);
	for (size_t i = 0; i < l->n_held; i++)
		if (l->held[i].leg == f->decode_leg)
			served = &l->held[i];
	size_t lo = 0, hi = all->n_reads;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (all->reads[mid].reader < actor)
			lo = mid + 1;
		else
			hi = mid;
	}
	f->reads_from = (uint32_t)lo;
	bool yes = false, gap = false, other = false, unused_read = false;
	while (actor && lo + f->n_reads < all->n_reads && all->reads[lo + f->n_reads].reader == actor) {
		const struct foreign_read *r = &all->reads[lo + f->n_reads++];
		if (of_other_attempt(l, served, r))
			other = true;
		else if (of_unused(l, f, served, r))
			unused_read = true;
		else if (r->edge->certain)
			yes = true;
		else
			gap = true;
	}
	f->p.l = TRI_UNKNOWN;
	f->cross_tenant = TRI_UNKNOWN;
	if (gap)
		because(f, REASON_ACROSS_GAP);
	if (other)
		because(f, REASON_OTHER_ATTEMPT);
	if (unused_read)
		because(f, REASON_UNUSED_PREFILL);
	if (yes) {
		f->p.l = TRI_YES;
		because(f, REASON_FOREIGN_READ);
		count_owners(l, f);
		if (f->cross_tenant == TRI_NO)
			because(f, REASON_SAME_TENANT);
		if (owners_open(l, f, actor))
			because(f, REASON_OWNERS_OPEN);
		return;
	}
	if (covered(l, f, served, actor) && !gap) {
		f->p.l = TRI_NO;
		because(f, REASON_NO_FOREIGN_READ);
	}
}

/* ---- all responses ---- */
static int one_response(struct loader *l, struct err *err)
{
	struct findings *all = l->f;
	struct sql *s = l->responses;
	if (all->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 1024;
		struct finding *more = realloc(all->all, cap * sizeof(*more));
		if (!more)
			return err_nomem(err);
		all->all = more;
		l->cap = cap;
	}
	struct finding f = {.response = sql_get_int(s, 0),
			    .request = sql_get_int(s, 1),
			    .tenant = sql_get_int(s, 2),
			    .started_ns = sql_get_time(s, 3),
			    .prompt_tokens = sql_get_time(s, 4),
			    .flag = length_flag_of(sql_get_text(s, 5)),
			    .candidate_owners = UNSAID,
			    .foreign_at_most = UNSAID};
	int rc = hold_legs(l, f.request, err);
	if (rc < 0)
		return rc;
	if (f.prompt_tokens != UNSAID && !f.flag)
		f.flag = LENGTH_EXACT;
	struct evidence_of e = {.legs = l->held,
				.n_legs = l->n_held,
				.boots = all->boots,
				.n_boots = all->n_boots,
				.model = sql_get_text(s, 8),
				.delivered = tri_of(sql_get_text(s, 6)),
				.completion_tokens = sql_get_time(s, 7),
				.attempts = sql_get_int(s, 10),
				.finished_ns = sql_get_time(s, 11),
				.person_limit = l->params->input_limit,
				.person_pool = l->params->pool_tokens};
	f.p = (struct predicates){TRI_UNKNOWN, TRI_UNKNOWN, TRI_UNKNOWN, e.delivered, TRI_UNKNOWN};
	predicates_of(&e, &f);
	set_lineage(l, &f);
	set_content(all, &f);
	if (sql_type(s, 9) != SQL_NULL)
		because(&f, REASON_IDS_CONTRADICT);
	if (sql_get_int(s, 12))
		because(&f, REASON_JOINED_LOOSELY);
	all->all[all->n++] = f;
	return 0;
}

static int load_responses(struct loader *l, struct err *err)
{
	int rc = sql_prepare(
	    &l->legs, l->c,
	    "SELECT request, leg, attempt, worker, coalesce(boot, 0), started_ns, finished_ns, input_tokens, "
	    "output_tokens, rejected_tokens, limit_tokens, role, outcome, input_flag FROM leg "
	    "ORDER BY request, attempt, coalesce(started_ns, finished_ns), leg",
	    err);
	if (rc == 0)
		rc = sql_prepare(
		    &l->responses, l->c,
		    "WITH loose AS MATERIALIZED (SELECT DISTINCT request FROM alias WHERE rule = 'time_and_length') "
		    "SELECT r.response, r.request, coalesce(q.tenant, 0), r.started_ns, r.prompt_tokens, "
		    "r.prompt_tokens_flag, r.delivered, r.completion_tokens, q.model, q.conflict, r.attempts, "
		    "r.finished_ns, r.request IN (SELECT request FROM loose) "
		    "FROM response r JOIN request q USING(request) ORDER BY r.request, r.response",
		    err);
	if (rc == 0)
		rc = next_leg(l, err);
	while (rc >= 0 && (rc = sql_step(l->responses, err)) == 1)
		rc = case_stopped(l->c) ? err_set(err, ERR_INTERRUPTED, "stopped") : one_response(l, err);
	return rc;
}

/* ---- classes ---- */
static void classify_all(struct findings *f)
{
	for (size_t i = 0; i < f->n; i++) {
		struct finding *x = &f->all[i];
		x->c = classify(x->p, f->trigger_stands, f->build_stands);
		x->c.conflict |= x->reasons >> REASON_MARKER_EARLY & 1;
	}
}

static void check_hypothesis(struct findings *f)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct finding *x = &f->all[i];
		if (x->c.class_id != CLASS_C1)
			continue;
		f->trigger_stands &= x->p.t != TRI_NO;
		f->build_stands &= x->p.a != TRI_NO;
	}
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
static void bound_read(const struct findings *all, struct finding *f, int64_t place)
{
	const struct served_boot *boot = boot_find(all->boots, all->n_boots, f->decode_boot);
	int64_t left = lives_left_at_most(all->lives, place, f->decode_boot, boot ? boot->started_ns : TIME_UNKNOWN,
					  f->read_ns, f->request);
	if (f->prompt_tokens != UNSAID && f->flag == LENGTH_EXACT)
		f->foreign_at_most = f->prompt_tokens;
	if (left != UNSAID && (f->foreign_at_most == UNSAID || left < f->foreign_at_most))
		f->foreign_at_most = left;
	if (left == 0 && f->candidate_owners == 0)
		because(f, REASON_POOL_FRESH);
}

static int set_candidates(struct loader *l, struct err *err)
{
	struct findings *all = l->f;
	int rc = lives_load(&all->lives, l->c, err);
	for (size_t i = 0; rc == 0 && i < all->n; i++) {
		struct finding *f = &all->all[i];
		if (!finding_has_candidates(f))
			continue;
		int64_t place = finding_place(all, f);
		f->candidate_owners = lives_before(all->lives, place, f->decode_boot, f->read_ns, f->request);
		if (f->grade == GRADE_TEMPORAL)
			bound_read(all, f, place);
	}
	return rc;
}

static int finding_cmp(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	if (x->started_ns != y->started_ns)
		return x->started_ns < y->started_ns ? -1 : 1;
	if (x->request != y->request)
		return x->request < y->request ? -1 : 1;
	return (x->response > y->response) - (x->response < y->response);
}

static int run_all(struct loader *l, struct err *err)
{
	struct findings *f = l->f;
	int rc = load_boots(l, err);
	if (rc == 0)
		rc = load_reads(l, err);
	if (rc == 0)
		rc = load_marked(l, err);
	if (rc == 0)
		rc = load_responses(l, err);
	if (rc < 0)
		return rc;
	f->trigger_stands = f->build_stands = true;
	classify_all(f);
	check_hypothesis(f);
	if (!f->trigger_stands || !f->build_stands)
		classify_all(f);
	for (size_t i = 0; i < f->n; i++)
		explain(f, &f->all[i]);
	if (f->n)
		qsort(f->all, f->n, sizeof(*f->all), finding_cmp);
	return set_candidates(l, err);
}

int findings_run(struct findings **ret, struct case_file *c, const struct analysis_params *params,
		 const struct lineage *l, struct err *err)
{
	struct findings *f = calloc(1, sizeof(*f));
	if (!f)
		return err_nomem(err);
	f->lineage = l;
	arena_init(&f->arena, ARENA_MAX_BYTES);
	struct loader load = {.c = c, .f = f, .params = params, .held_request = -1};
	int rc = run_all(&load, err);
	sql_end(load.legs);
	sql_end(load.responses);
	free(load.held);
	map_done(&load.worker_at);
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
	free(f->all);
	free(f->reads);
	free(f->boots);
	free(f->marked);
	lives_free(f->lives);
	arena_done(&f->arena);
	free(f);
}
