/* SPDX-License-Identifier: Apache-2.0 */
/* clock_peers.c - how far engines' clocks are apart where no gateway's log measures them: logs of engines against each other
 *
 * The two halves of a request, prefill and decode, overlap or follow each other at once, and so do the records of one
 * execution in two logs of a worker. So each request that two logs have seen bounds what the one clock is ahead of the other
 * (clock_seen.c), and what most of them agree on is an edge between the two. Edges together, the clearest first, place all
 * clocks on one line. Those that stand at one place are a camp. A clock that was set does not stand still: many requests
 * contradict its place. The camp that has more than half of the workers is right, and those in it that stand still measure the
 * others as gateways would (clock_skew.c). Where there is no such majority nobody knows who is right: then all of them are doubtful,
 * and that is a gap. Where all agree, as nearly always, nothing is done.
 */
#include "clock_peers.h"

#include <stdlib.h>
#include <string.h>

#define DRIFT_NS (5 * NS_PER_S)
#define CLEAR_NS (60 * NS_PER_S)
/* Of one edge so many requests are looked at; so often those that were measured measure others. */
enum { EDGE_SAMPLE = 2048, ROUNDS = 3, FEW = 3 };

struct edge { /* of two sources: what the first is ahead, in the middle, give or take */
	uint32_t a, b;
	int64_t ahead, width;
	uint32_t from, n;   /* its pairs, in the order of all */
	uint32_t seen, bad; /* of so many requests, those that contradict the places of the two */
	bool own;           /* two logs of one worker */
};
struct host {               /* of the logs of one worker: a clock */
	uint64_t seen, bad; /* of requests that it shares with others that stand still */
	bool others;        /* it shares some with other workers */
	uint32_t camp;      /* the last one that it was counted in, + 1 */
};
struct peer {                    /* one source */
	uint32_t group, n_edges; /* group: all that are connected with it; its least source */
	int64_t at, about;       /* its place on the line of its group */
	uint32_t camp;           /* those who stand at one place; by number within the group */
	struct host *host;
	const struct host *worst; /* of a group: who has most against it */
	bool restless, doubted;   /* some requests contradict the place of its host; or many */
	bool joined, right, well; /* right: it measures others; well: nobody has much against it */
	struct ref_node ref;      /* a record that others have seen too */
};
struct camp {
	uint32_t workers, measured;
};
struct peers {
	struct resolve *r;
	struct sightings seen;
	struct peer *peer;
	struct edge *edges;
	uint32_t n_edges, *order; /* order: of pairs, by sources */
	uint32_t *members;        /* of the group at hand */
	struct camp *camps;
};

/* --- edges --- */

static int by_sources(const void *a, const void *b, void *ctx)
{
	const struct sightings *s = ctx;
	const struct sighting_pair *x = pair_at(s, *(const uint32_t *)a), *y = pair_at(s, *(const uint32_t *)b);
	uint32_t xa = sighting_at(s, x->a)->ref.source, ya = sighting_at(s, y->a)->ref.source;
	uint32_t xb = sighting_at(s, x->b)->ref.source, yb = sighting_at(s, y->b)->ref.source;
	if (xa != ya)
		return xa < ya ? -1 : 1;
	return (xb > yb) - (xb < yb);
}

struct mark {
	int64_t at;
	bool ends;
};

static int mark_cmp(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->ends - y->ends;
}

static int64_t from_zero(int64_t lo, int64_t hi)
{
	return lo > 0 ? lo : hi < 0 ? -hi : 0;
}

/* Where most of the intervals overlap; of several such places the one nearest to 0. */
static void most_overlap(struct mark *marks, uint32_t n, int64_t *ret_lo, int64_t *ret_hi)
{
	uint32_t most = 0, now = 0;
	qsort(marks, n, sizeof(*marks), mark_cmp);
	for (uint32_t i = 0; i + 1 < n; i++) {
		now = marks[i].ends ? now - 1 : now + 1;
		if (marks[i].ends || now < most || !marks[i + 1].ends)
			continue;
		int64_t lo = marks[i].at, hi = marks[i + 1].at;
		if (now == most && from_zero(lo, hi) >= from_zero(*ret_lo, *ret_hi))
			continue;
		most = now;
		*ret_lo = lo;
		*ret_hi = hi;
	}
}

/* What they have in common stands at s->order + e->from. */
static void edge_measure(const struct peers *p, struct edge *e, struct mark *marks)
{
	const struct sightings *s = &p->seen;
	uint32_t step = e->n / EDGE_SAMPLE + 1, used = 0;
	int64_t lo = 0, hi = 0;
	for (uint32_t i = 0; i < e->n; i += step, used++) {
		const struct sighting_pair *x = pair_at(s, p->order[e->from + i]);
		pair_bounds(sighting_at(s, x->a), sighting_at(s, x->b), &lo, &hi);
		marks[2 * used] = (struct mark){lo - DRIFT_NS, false};
		marks[2 * used + 1] = (struct mark){hi + DRIFT_NS, true};
	}
	most_overlap(marks, 2 * used, &lo, &hi);
	e->ahead = from_zero(lo, hi) ? lo / 2 + hi / 2 : 0; /* nothing is off that need not be */
	e->width = hi - lo;
}

/* First what says that two agree, as long as it says so clearly: each step of another kind adds to what is not known. */
static bool agrees(const struct edge *e)
{
	return !e->ahead && e->width <= CLEAR_NS;
}

static int edge_cmp(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	if (agrees(x) != agrees(y))
		return agrees(x) ? -1 : 1;
	if (x->width != y->width)
		return x->width < y->width ? -1 : 1;
	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	return (x->b > y->b) - (x->b < y->b);
}

static int edges_find(struct peers *p, struct err *err)
{
	struct resolve *r = p->r;
	const struct sightings *s = &p->seen;
	uint32_t n = s->pairs.n;
	p->order = order_new(r, n);
	struct mark *marks = arena_array(&r->arena, 2 * (size_t)EDGE_SAMPLE, sizeof(*marks));
	int res = p->order && marks ? sort_items(r, p->order, n, sizeof(*p->order), by_sources, &p->seen, err)
				    : err_nomem(err);
	uint32_t n_edges = n != 0;
	for (uint32_t i = 1; i < n && !res; i++)
		n_edges += by_sources(&p->order[i - 1], &p->order[i], &p->seen) != 0;
	p->edges = scratch_alloc(&r->scratch, (size_t)n_edges + 1, sizeof(*p->edges));
	if (res || !p->edges)
		return res ? res : err_nomem(err);
	for (uint32_t i = 0, k; i < n && !res; i = k) {
		for (k = i + 1; k < n && !by_sources(&p->order[i], &p->order[k], &p->seen); k++)
			;
		const struct sighting_pair *x = pair_at(s, p->order[i]);
		const struct ref_node *at = &sighting_at(s, x->a)->ref, *bt = &sighting_at(s, x->b)->ref;
		struct peer *a = &p->peer[at->source], *b = &p->peer[bt->source];
		struct edge *e = &p->edges[p->n_edges++];
		*e = (struct edge){.a = at->source, .b = bt->source, .from = i, .n = k - i, .own = a->host == b->host};
		edge_measure(p, e, marks);
		a->n_edges++;
		b->n_edges++;
		a->host->others |= !e->own;
		b->host->others |= !e->own;
		a->ref = *at;
		b->ref = *bt;
		res = resolve_tick(r, err);
	}
	if (!res)
		qsort(p->edges, p->n_edges, sizeof(*p->edges), edge_cmp);
	return res;
}

/* --- one line for all that are connected --- */

static void place_all(struct peers *p)
{
	for (uint32_t i = 0; i < p->r->n_sources; i++)
		p->peer[i].group = i;
	for (uint32_t i = 0; i < p->n_edges; i++) {
		const struct edge *e = &p->edges[i];
		const struct peer a = p->peer[e->a], b = p->peer[e->b];
		if (a.group == b.group)
			continue;
		bool second = a.group < b.group; /* whose places move: the group with the larger number */
		uint32_t stays = second ? a.group : b.group, moves = second ? b.group : a.group;
		int64_t by = second ? a.at - e->ahead - b.at : b.at + e->ahead - a.at;
		int64_t about = a.about + b.about + (e->ahead ? e->width / 2 : 0);
		for (uint32_t k = moves; k < p->r->n_sources; k++)
			if (p->peer[k].group == moves) {
				p->peer[k].group = stays;
				p->peer[k].at += by;
				p->peer[k].about += about;
			}
	}
}

/* --- who stands still --- */

static void edge_check(const struct peers *p, struct edge *e)
{
	const struct sightings *s = &p->seen;
	const struct peer *a = &p->peer[e->a], *b = &p->peer[e->b];
	int64_t apart = a->at - b->at, about = DRIFT_NS + a->about + b->about, lo, hi;
	for (uint32_t i = 0; i < e->n; i += e->n / EDGE_SAMPLE + 1, e->seen++) {
		const struct sighting_pair *x = pair_at(s, p->order[e->from + i]);
		pair_bounds(sighting_at(s, x->a), sighting_at(s, x->b), &lo, &hi);
		e->bad += apart < lo - about || apart > hi + about;
	}
}

/* What is left for each when those who do not stand still say nothing. A worker's own logs have one clock, so they say nothing of
 * whether it was set. */
static void hosts_count(struct peers *p)
{
	for (uint32_t i = 0; i < p->r->n_sources; i++)
		p->peer[i].host->seen = p->peer[i].host->bad = 0;
	for (uint32_t i = 0; i < p->n_edges; i++) {
		const struct edge *e = &p->edges[i];
		const struct peer *ends[] = {&p->peer[e->a], &p->peer[e->b]};
		for (int k = 0; k < 2 && !ends[0]->restless && !ends[1]->restless; k++) {
			struct host *h = ends[k]->host;
			h->seen += e->own && h->others ? 0 : e->seen;
			h->bad += e->own && h->others ? 0 : e->bad;
		}
	}
}

/* More than one in so many requests, and a few at all, contradict its place. */
static bool contradicted(const struct host *h, uint32_t one_in)
{
	return h->bad >= FEW && h->bad * one_in > h->seen;
}

/* What a gateway has measured needs no others. */
static bool moves(const struct peers *p, uint32_t source)
{
	const struct peer *x = &p->peer[source];
	return !p->r->sources[source].skews && x->n_edges && !x->restless && contradicted(x->host, 50);
}

static bool worse(const struct host *x, const struct host *y)
{
	return x->bad * y->seen > y->bad * x->seen;
}

/* A clock that was set contradicts all others a little: so the worst of each group is left out, and then the others are counted
 * again. Of two who only contradict each other nobody knows who it was. */
static void find_restless(struct peers *p)
{
	const uint32_t n = p->r->n_sources;
	for (uint32_t i = 0; i < p->n_edges; i++)
		edge_check(p, &p->edges[i]);
	bool more = true;
	for (uint32_t round = 0; round < n && more; round++) {
		more = false;
		hosts_count(p);
		for (uint32_t i = 0; i < n; i++)
			p->peer[i].worst = NULL;
		for (uint32_t i = 0; i < n; i++) {
			struct peer *group = &p->peer[p->peer[i].group];
			if (moves(p, i) && (!group->worst || worse(p->peer[i].host, group->worst)))
				group->worst = p->peer[i].host;
		}
		for (uint32_t i = 0; i < n; i++) {
			struct peer *x = &p->peer[i];
			if (!moves(p, i) || worse(p->peer[x->group].worst, x->host))
				continue;
			x->restless = more = true;
			x->doubted = contradicted(x->host, 10);
		}
	}
}

/* --- who is right --- */

static int by_place(const void *a, const void *b, void *ctx)
{
	const struct peer *all = ctx;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct peer *x = &all[i], *y = &all[k];
	if (x->at - x->about != y->at - y->about)
		return x->at - x->about < y->at - y->about ? -1 : 1;
	return i < k ? -1 : i > k;
}

static void camp_count(struct peers *p, uint32_t source, uint32_t camp)
{
	struct host *h = p->peer[source].host;
	p->camps[camp].measured += p->r->sources[source].skews != NULL;
	p->camps[camp].workers += h->camp != camp + 1;
	h->camp = camp + 1;
}

/* Camps of the n members, and in the last one all of them; returns how many, without that. */
static uint32_t camps_make(struct peers *p, uint32_t n)
{
	uint32_t camps = 0;
	int64_t to = 0;
	memset(p->camps, 0, ((size_t)n + 2) * sizeof(*p->camps));
	for (uint32_t i = 0; i < n; i++) {
		struct peer *x = &p->peer[p->members[i]];
		if (!i || x->at - x->about > to)
			camps++;
		to = i && x->at + x->about < to ? to : x->at + x->about;
		x->camp = camps - 1;
		x->host->camp = 0;
	}
	for (uint32_t i = 0; i < n; i++)
		if (!p->peer[p->members[i]].doubted)
			camp_count(p, p->members[i], p->peer[p->members[i]].camp);
	for (uint32_t i = 0; i < n; i++)
		camp_count(p, p->members[i], camps);
	return camps;
}

/* The camp that is right: of those whom a gateway measured, else of more than half of the workers. `camps`: none. */
static uint32_t camp_right(const struct peers *p, uint32_t camps)
{
	const struct camp *all = &p->camps[camps];
	uint32_t best = camps, most = 0;
	for (uint32_t i = 0; i < camps; i++) {
		uint32_t n = all->measured ? p->camps[i].measured : p->camps[i].workers;
		if (n == most)
			best = camps;
		else if (n > most)
			best = i;
		most = MAX(most, n);
	}
	return best < camps && (all->measured || p->camps[best].workers * 2 > all->workers) ? best : camps;
}

/* --- the others are measured --- */

struct vote {
	uint32_t own, other; /* sightings */
};

static int by_record(const void *a, const void *b, void *ctx)
{
	const struct ref_node *x = &sighting_at(ctx, ((const struct vote *)a)->own)->ref;
	const struct ref_node *y = &sighting_at(ctx, ((const struct vote *)b)->own)->ref;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return (x->off > y->off) - (x->off < y->off);
}

/* Is it to be measured? It has no clock that anybody trusts, but stands in a group that has one. */
static bool to_measure(const struct peers *p, uint32_t source)
{
	const struct peer *x = &p->peer[source];
	return x->joined && !x->right && peer_open(&p->r->sources[source]);
}

/* Times of one that was measured just now are right from here on. */
static void trust(struct peers *p)
{
	struct resolve *r = p->r;
	bool fresh = false;
	for (uint32_t i = 0; i < r->n_sources; i++)
		fresh |= p->peer[i].joined && !p->peer[i].right && r->sources[i].skews;
	for (uint32_t i = 0; i < p->seen.all.n && fresh; i++) {
		struct sighting *x = sighting_at(&p->seen, i);
		const struct source_info *s = &r->sources[x->ref.source];
		if (p->peer[x->ref.source].right || !p->peer[x->ref.source].joined || !s->skews)
			continue;
		int64_t off = clock_off(s, x->ref.off, false);
		x->lo -= off;
		x->hi -= off;
	}
	for (uint32_t i = 0; i < r->n_sources; i++)
		p->peer[i].right |= p->peer[i].joined && r->sources[i].skews;
}

/* *ret: somebody was measured. */
static int measure(struct peers *p, bool *ret, struct err *err)
{
	struct resolve *r = p->r;
	const struct sightings *s = &p->seen;
	struct vote *votes = scratch_alloc(&r->scratch, (size_t)s->pairs.n + 1, sizeof(*votes));
	uint32_t n = 0;
	*ret = false;
	for (uint32_t i = 0; i < s->pairs.n && votes; i++) {
		const struct sighting_pair *x = pair_at(s, i);
		uint32_t a = sighting_at(s, x->a)->ref.source, b = sighting_at(s, x->b)->ref.source;
		if (to_measure(p, a) && p->peer[b].right)
			votes[n++] = (struct vote){x->a, x->b};
		else if (to_measure(p, b) && p->peer[a].right)
			votes[n++] = (struct vote){x->b, x->a};
	}
	int res = votes ? sort_items(r, votes, n, sizeof(*votes), by_record, &p->seen, err) : err_nomem(err);
	for (uint32_t i = 0; i < n && !res; i++) {
		const struct sighting *own = sighting_at(s, votes[i].own);
		int64_t lo, hi;
		pair_bounds(own, sighting_at(s, votes[i].other), &lo, &hi);
		res = skew_vote(r, &r->sources[own->ref.source], own->hi, lo, hi, own->ref, err);
	}
	for (uint32_t i = 0; i < r->n_sources && !res; i++) {
		struct source_info *src = &r->sources[i];
		if (!to_measure(p, i) || !src->skew_runs)
			continue;
		res = skew_decide(r, src, "other logs of engines", err);
		src->skew_runs = src->skews || src->contradicts ? src->skew_runs : NULL;
		*ret |= src->skews != NULL;
	}
	if (!res)
		trust(p);
	return res;
}

static int doubt(struct peers *p, uint32_t source, int64_t apart, struct err *err)
{
	struct resolve *r = p->r;
	struct source_info *s = &r->sources[source];
	s->contradicts = true;
	struct text effect =
	    apart ? arena_printf(
			&r->arena,
			"requests that other logs have seen too stand there about %lld s earlier or later, and no "
			"majority of the logs agrees: whose clock is right is not known without a gateway's log, none "
			"was corrected, and times of this source may be wrong by that much",
			(long long)((apart + NS_PER_S / 2) / NS_PER_S))
		  : arena_printf(
			&r->arena,
			"requests that other logs have seen too stand there earlier or later, by no one amount: "
			"without a gateway's log its clock was not corrected, and times of this source may be wrong "
			"by an unknown amount");
	return clock_conflict(r, s, p->peer[source].ref, effect, err);
}

/* --- one group --- */

static uint32_t members_of(struct peers *p, uint32_t group)
{
	uint32_t n = 0;
	for (uint32_t i = group; i < p->r->n_sources; i++)
		if (p->peer[i].group == group && p->peer[i].n_edges)
			p->members[n++] = i;
	return n;
}

/* Whom the group trusts. When all agree all are; nobody is measured then. */
static int group_judge(struct peers *p, uint32_t n, struct err *err)
{
	int res = sort_items(p->r, p->members, n, sizeof(*p->members), by_place, p->peer, err);
	uint32_t camps = res ? 0 : camps_make(p, n), right = camp_right(p, camps);
	for (uint32_t i = 0; i < n && !res; i++) {
		struct peer *x = &p->peer[p->members[i]];
		const struct source_info *s = &p->r->sources[p->members[i]];
		x->joined = true;
		x->well = x->camp == right && !x->doubted;
		x->right = s->skews || (x->well && !x->restless);
	}
	return res;
}

/* Who could not be measured, although others contradict it. */
static int group_doubt(struct peers *p, uint32_t n, struct err *err)
{
	int64_t least = INT64_MAX, most = INT64_MIN;
	int res = 0;
	for (uint32_t i = 0; i < n; i++) {
		least = MIN(least, p->peer[p->members[i]].at);
		most = MAX(most, p->peer[p->members[i]].at);
	}
	for (uint32_t i = 0; i < n && !res; i++)
		if (to_measure(p, p->members[i]) && !p->peer[p->members[i]].well)
			res = doubt(p, p->members[i], most - least, err);
	return res;
}

static int groups_each(struct peers *p, int (*each)(struct peers *p, uint32_t n, struct err *err), struct err *err)
{
	int res = 0;
	for (uint32_t i = 0; i < p->r->n_sources && !res; i++) {
		uint32_t n = p->peer[i].group == i ? members_of(p, i) : 0;
		if (n > 1)
			res = each(p, n, err);
	}
	return res;
}

static int peers_compare(struct peers *p, struct err *err)
{
	struct resolve *r = p->r;
	size_t n = (size_t)r->n_sources + 2;
	p->peer = arena_array(&r->arena, n, sizeof(*p->peer));
	p->members = arena_array(&r->arena, n, sizeof(*p->members));
	p->camps = arena_array(&r->arena, n, sizeof(*p->camps));
	struct host *hosts = arena_array(&r->arena, n + r->workers.n, sizeof(*hosts));
	if (!hosts || !p->peer || !p->members || !p->camps)
		return err_nomem(err);
	for (uint32_t i = 0; i < r->n_sources; i++) {
		uint32_t w = r->sources[i].worker_at;
		p->peer[i].host = &hosts[w != NO_INDEX ? w : r->workers.n + i];
	}
	int res = edges_find(p, err);
	if (res || !p->n_edges)
		return res;
	place_all(p);
	find_restless(p);
	res = groups_each(p, group_judge, err);
	bool more = true;
	for (int i = 0; i < ROUNDS && more && !res; i++)
		res = measure(p, &more, err);
	if (!res)
		res = groups_each(p, group_doubt, err);
	for (uint32_t i = 0; i < r->n_sources; i++)
		r->sources[i].compared = p->peer[i].joined;
	return res;
}

int clock_peers(struct resolve *r, struct err *err)
{
	bool open = false;
	for (uint32_t i = 0; i < r->n_sources; i++)
		open |= peer_open(&r->sources[i]);
	if (!open)
		return 0;
	struct peers p = {.r = r};
	struct clock_pass pass = {.sightings = &p.seen};
	struct clock_pass *before = r->clock_pass;
	shelf_init(&pass.moments, &r->scratch, sizeof(struct moment));
	r->clock_pass = &pass;
	int res = sightings_load(r, &p.seen, err);
	if (!res)
		res = peers_compare(&p, err);
	sightings_done(&p.seen);
	shelf_done(&pass.moments);
	r->clock_pass = before;
	return res;
}
