/* SPDX-License-Identifier: Apache-2.0 */
/* findings_pages.c - L of one response: what the page logs show of its reading, and whether they are whole where it counts */
#include <stdlib.h>

#include "findings.h"

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
int reads_load(struct findings *f, struct err *err)
{
	size_t cap = 0;
	int rc = 0;
	for (uint32_t w = 0; rc == 0 && w < f->lineage->n_workers; w++) {
		const struct lineage_worker *worker = &f->lineage->workers[w];
		if (worker->id)
			rc = map_put(&f->worker_at, (uint64_t)worker->id, w, err);
		for (size_t i = 0; rc == 0 && i < worker->n_edges; i++) {
			const struct edge *e = &worker->edges[i];
			if (!e->owner || e->kind == EDGE_SHARED || e->kind == EDGE_UNINITIALISED)
				continue;
			rc = grow_array((void **)&f->reads, &cap, f->n_reads, sizeof(*f->reads), err);
			if (rc == 0)
				f->reads[f->n_reads++] = (struct foreign_read){e->reader, w, e};
		}
	}
	if (f->n_reads)
		qsort(f->reads, f->n_reads, sizeof(*f->reads), read_cmp);
	return rc;
}

static const struct lineage_worker *log_of(const struct finder *x, int64_t worker)
{
	const uint32_t *at = map_find(&x->all->worker_at, (uint64_t)worker);
	return at ? &x->all->lineage->workers[*at] : NULL;
}

/* Is this read of an attempt that did not give the answer? served: the answering leg. */
static bool of_other_attempt(const struct finder *x, const struct served_leg *served, const struct foreign_read *r)
{
	bool here = false, there = false;
	if (!served)
		return false;
	int64_t worker = x->all->lineage->workers[r->worker].id;
	for (size_t i = 0; i < x->n_held; i++) {
		if (x->held[i].worker != worker)
			continue;
		if (x->held[i].attempt == served->attempt)
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

static const struct cover *cover_of(const struct finder *x, const struct served_leg *leg, uint32_t actor)
{
	const struct lineage_worker *w = leg ? log_of(x, leg->worker) : NULL;
	return w && w->sweep ? sweep_cover(w->sweep, actor) : NULL;
}

/* Nothing of the answer rests on what this leg did: it refused, or the decode leg got its placeholder alone. Where the
 * decode worker's page log says what arrived, it decides. */
static bool unused(const struct finder *x, const struct finding *f, const struct served_leg *leg,
		   const struct served_leg *served)
{
	bool refused = leg->outcome == OUTCOME_REJECTED, aborted = leg->outcome == OUTCOME_ABORTED;
	bool placeholder =
	    f->reasons >> REASON_HANDOFF_MISMATCH & 1 && leg->input_tokens != UNSAID && leg->input_tokens <= 1;
	if (leg->role != AS_PREFILL || !(refused || aborted || placeholder))
		return false;
	const struct cover *c = cover_of(x, served, actors_of_request(x->all->lineage->actors, f->request));
	int got = c ? cover_got(c) : -1;
	return got == 0 || (got < 0 && !aborted);
}

/* Is this read of a prefill leg on which nothing rests? */
static bool of_unused(const struct finder *x, const struct finding *f, const struct served_leg *served,
		      const struct foreign_read *r)
{
	int64_t worker = x->all->lineage->workers[r->worker].id;
	bool any = false;
	for (size_t i = 0; i < x->n_held; i++) {
		const struct served_leg *leg = &x->held[i];
		if (leg->worker != worker || (served && leg->attempt != served->attempt))
			continue;
		if (!unused(x, f, leg, served))
			return false;
		any = true;
	}
	return any;
}

/* How far the page log of one leg covers it: 1 wholly, 0 not wholly, -1 there is none. */
static int leg_covered(const struct finder *x, const struct served_leg *leg, uint32_t actor)
{
	const struct lineage_worker *w = log_of(x, leg->worker);
	if (!w)
		return -1;
	const struct cover *c = cover_of(x, leg, actor);
	if (!c || c->broken || c->open)
		return 0;
	/* Other legs on this worker: what the log holds must be this one's, not theirs alone. */
	for (size_t i = 0; i < x->n_held; i++) {
		const struct served_leg *other = &x->held[i];
		if (other->worker != leg->worker || other == leg)
			continue;
		if (other->attempt == leg->attempt && other->role != leg->role)
			return 0; /* logs of two servers under one name: nothing says whose pages these are */
		if (other->attempt == leg->attempt)
			continue;
		if (leg->started_ns == TIME_UNKNOWN || c->last_ns == TIME_UNKNOWN || c->last_ns < leg->started_ns)
			return 0;
	}
	return 1;
}

/* Does the whole page log of a leg show what it read? Nothing that was delivered came of nothing. */
static bool leg_shown(const struct finder *x, struct finding *f, const struct served_leg *leg, uint32_t actor)
{
	const struct cover *c = cover_of(x, leg, actor);
	const struct served_boot *boot = boot_find(x->all->boots, x->all->n_boots, leg->boot);
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
static bool covered(const struct finder *x, struct finding *f, const struct served_leg *served, uint32_t actor)
{
	static const enum reason lacks[2][2] = {{REASON_PAGE_LOG_INCOMPLETE, REASON_NO_PAGE_LOG},
						{REASON_PREFILL_LOG_INCOMPLETE, REASON_NO_PREFILL_PAGE_LOG}};
	bool whole = served != NULL, prefill = false, disaggregated = served && served->role != AS_UNIFIED;
	if (!served)
		because(f, REASON_NO_PAGE_LOG);
	for (size_t i = 0; served && i < x->n_held; i++) {
		const struct served_leg *leg = &x->held[i];
		if (leg->attempt != served->attempt)
			continue;
		prefill |= leg->role == AS_PREFILL;
		if (unused(x, f, leg, served))
			continue;
		int got = leg_covered(x, leg, actor);
		whole &= got == 1 && leg_shown(x, f, leg, actor);
		if (got < 1)
			because(f, lacks[leg->role == AS_PREFILL][got < 0]);
	}
	if (disaggregated && !prefill) {
		because(f, REASON_NO_PREFILL_PAGE_LOG);
		whole = false;
	}
	return whole && !(f->reasons >> REASON_ATTEMPT_NOT_SEEN & 1) && !(f->reasons >> REASON_LEGS_CONTRADICT & 1);
}

/* It read what others wrote; may it have read from more than the edges say, because records are missing? */
static bool owners_open(const struct finder *x, const struct finding *f, uint32_t actor)
{
	const struct lineage *all = x->all->lineage;
	for (uint32_t i = 0; i < f->n_reads; i++) {
		const struct foreign_read *r = &x->all->reads[f->reads_from + i];
		const struct cover *c = sweep_cover(all->workers[r->worker].sweep, actor);
		if (!c || c->blind || c->open || c->untold || !r->edge->certain)
			return true;
	}
	return f->reasons >> REASON_ATTEMPT_NOT_SEEN & 1;
}

/* Distinct owners among the reads that count, and their tenants. */
static void count_owners(const struct finder *x, struct finding *f)
{
	const struct findings *all = x->all;
	const struct actors *actors = all->lineage->actors;
	bool differ = false, unsure = false;
	for (uint32_t i = 0; i < f->n_reads; i++) {
		const struct edge *e = all->reads[f->reads_from + i].edge;
		if (!e->certain)
			continue;
		int64_t tenant = actors_get(actors, e->owner).tenant;
		bool known = tenant && f->tenant;
		differ |= known && tenant != f->tenant;
		unsure |= !known;
		bool new_owner = true, new_tenant = tenant != 0;
		for (uint32_t k = 0; k < i; k++) { /* few owners a reader; many only for a victim of a whole pool */
			const struct edge *b = all->reads[f->reads_from + k].edge;
			if (!b->certain)
				continue;
			new_owner &= b->owner != e->owner;
			new_tenant &= actors_get(actors, b->owner).tenant != tenant;
		}
		f->owner_count += new_owner;
		f->owner_tenants += new_tenant;
	}
	f->cross_tenant = differ ? TRI_YES : unsure ? TRI_UNKNOWN : TRI_NO;
}

void set_lineage(const struct finder *x, struct finding *f)
{
	const struct findings *all = x->all;
	const struct served_leg *served = NULL;
	uint32_t actor = actors_of_request(all->lineage->actors, f->request);
	for (size_t i = 0; i < x->n_held; i++)
		if (x->held[i].leg == f->decode_leg)
			served = &x->held[i];
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
		if (of_other_attempt(x, served, r))
			other = true;
		else if (of_unused(x, f, served, r))
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
		count_owners(x, f);
		if (f->cross_tenant == TRI_NO)
			because(f, REASON_SAME_TENANT);
		if (owners_open(x, f, actor))
			because(f, REASON_OWNERS_OPEN);
		return;
	}
	if (covered(x, f, served, actor) && !gap) {
		f->p.l = TRI_NO;
		because(f, REASON_NO_FOREIGN_READ);
	}
}
