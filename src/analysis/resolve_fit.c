/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_fit.c - the last resort of joining: one exact length, one answer's length, one time
 *
 * Only for gateways that share no id with the engine: where the ids of a log have joined a worker's legs, a request that
 * they do not find has no leg there. A pair is joined when neither side fits anything else. Of several that fit, none is
 * taken; how many those are is a gap of the gateway's log. Where a zone is only assumed, most of what that log says must
 * fit before any of it is believed: with a wrong zone only chance fits.
 */
#include "resolve.h"

#include <stdlib.h>

#define SLACK_NS  (2 * NS_PER_S)
#define STEPS_MAX 4096 /* of one length at one time: more than this is no evidence of anything */

struct fit { /* what is known of one set without the other side */
	int64_t length, lo, hi, output, bound, reach;
	uint32_t root, node, model, source, worker, found; /* found: index of the one that fits */
	unsigned n;                                        /* how many fit: 0, 1, 2 for more */
	bool unsure, bad, room, keyed;                     /* keyed: an id of it would have found the other */
};
struct fits {
	struct fit *list;
	uint32_t n;
	int64_t lo, hi;
};
struct tally { /* of a source: lifetimes, legs; all, and those that fit something */
	uint32_t all[2], fit[2];
};
struct ties {
	uint64_t *keys; /* sorted */
	uint32_t n;
};

static bool zone_assumed(const struct source_info *s)
{
	return s->naive && !s->given && !s->basis.len;
}

static uint32_t source_of(const struct resolve *r, const struct refs *refs)
{
	return refs->head ? ((const struct ref_node *)shelf_at(&r->refs, refs->head - 1))->source : 0;
}

static void fit_sources(const struct resolve *r, const struct refs *refs, struct fit *f)
{
	f->source = source_of(r, refs);
	for (uint32_t at = refs->head; at;) {
		const struct ref_node *node = shelf_at(&r->refs, at - 1);
		const struct source_info *s = &r->sources[node->source];
		at = node->next;
		if (s->naive && s->bound_ns != UNKNOWN)
			f->bound = MAX(f->bound, MIN(s->bound_ns, SKEW_NS));
		f->unsure |= zone_assumed(s);
	}
}

/* --- who may be joined --- */

static bool rid_known(const struct resolve *r, uint32_t id)
{
	uint32_t norm = norm_known(r, id);
	return norm && name_at(&r->names, norm)->rid_legs;
}

static bool ids_known(const struct resolve *r, const struct life *l)
{
	bool known = rid_known(r, l->response_id) || rid_known(r, l->gateway_id);
	for (uint32_t i = l->rooms; i && !known;) {
		const struct room_node *n = shelf_at(&r->rooms, i - 1);
		i = n->next;
		known = name_at(&r->names, n->room)->room_legs != 0;
	}
	return known;
}

/* --- which gateways share ids with which workers --- */

static uint64_t ties_key(uint32_t source, uint32_t worker)
{
	return (uint64_t)source << 32 | worker;
}

static int key_find(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static int key_cmp(const void *a, const void *b, void *ctx)
{
	(void)ctx;
	return key_find(a, b);
}

/* Pairs of a gateway's log and a worker of which ids have joined a good part: there, ids decide. Less than one leg in
 * twenty is the odd client that chose its ids on both sides. */
static int ties_find(struct resolve *r, struct ties *t, struct err *err)
{
	uint32_t *legs = scratch_alloc(&r->scratch, (size_t)r->workers.n + 1, sizeof(*legs));
	uint32_t n = 0;
	t->keys = scratch_alloc(&r->scratch, (size_t)r->legs.n + 1, sizeof(*t->keys));
	int res = legs && t->keys ? 0 : err_nomem(err);
	for (uint32_t i = 0; i < r->legs.n && !res; i++) {
		const struct leg *l = leg_at(r, i);
		uint32_t life = r->root_life[join_root(r, i)];
		legs[l->worker]++;
		if (life && life_at(r, life - 1)->refs.head)
			t->keys[n++] = ties_key(source_of(r, &life_at(r, life - 1)->refs), l->worker);
		res = resolve_tick(r, err);
	}
	if (!res)
		res = sort_items(r, t->keys, n, sizeof(*t->keys), key_cmp, NULL, err);
	for (uint32_t i = 0, k; i < n && !res; i = k) {
		for (k = i; k < n && t->keys[k] == t->keys[i];)
			k++;
		if ((uint64_t)(k - i) * 20 >= legs[(uint32_t)t->keys[i]])
			t->keys[t->n++] = t->keys[i];
	}
	return res;
}

static bool tied(const struct ties *t, const struct fit *life, const struct fit *leg)
{
	uint64_t key = ties_key(life->source, leg->worker);
	return bsearch(&key, t->keys, t->n, sizeof(key), key_find) != NULL;
}

static struct fit life_fit(struct resolve *r, uint32_t at)
{
	const struct life *l = life_at(r, at);
	struct fit f = {.length = l->input, .lo = l->started, .hi = l->finished, .output = l->output};
	f.node = r->legs.n + at;
	f.model = l->model;
	f.room = l->rooms != 0;
	f.keyed = join_has_key(r, l);
	f.bad = l->input_flag != FLAG_EXACT || l->batch > 1 || ids_known(r, l);
	fit_sources(r, &l->refs, &f);
	return f;
}

static struct fit leg_fit(struct resolve *r, uint32_t at)
{
	const struct leg *l = leg_at(r, at);
	struct fit f = {.length = l->rejected != UNKNOWN ? l->rejected : l->input, .output = l->output};
	f.lo = l->started != UNKNOWN ? l->started : l->lo;
	f.hi = l->finished != UNKNOWN ? l->finished : l->hi;
	f.node = at;
	f.worker = l->worker;
	f.model = l->model;
	f.room = l->room != 0;
	f.bad = l->batch > 1 || (l->rejected == UNKNOWN && l->input_flag != FLAG_EXACT);
	fit_sources(r, &l->refs, &f);
	if (l->started_epoch && l->finished_epoch) {
		f.bound = 0;
		f.unsure = false;
	}
	if (l->outcome > OUT_FINISHED) /* what a failed one had made by then is not what was sent */
		f.output = UNKNOWN;
	return f;
}

static int by_root(const void *a, const void *b, void *ctx)
{
	(void)ctx;
	const struct fit *x = a, *y = b;
	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static int by_length(const void *a, const void *b, void *ctx)
{
	(void)ctx;
	const struct fit *x = a, *y = b;
	if (x->length != y->length)
		return x->length < y->length ? -1 : 1;
	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Entries of one set become one; what contradicts itself or lacks a time goes. Then in order of length and time. */
static int fits_settle(struct resolve *r, struct fits *f, struct err *err)
{
	uint32_t n = 0, kept = 0;
	_Static_assert(sizeof(struct fit) <= SORT_MAX_BYTES, "sorted as it is");
	int res = sort_items(r, f->list, f->n, sizeof(*f->list), by_root, NULL, err);
	if (res)
		return res;
	for (uint32_t i = 0; i < f->n; i++) {
		struct fit *to = n ? &f->list[n - 1] : NULL, *from = &f->list[i];
		if (!to || to->root != from->root) {
			f->list[n++] = *from;
			continue;
		}
		if (to->length == UNKNOWN) {
			to->length = from->length;
			to->bad = from->bad;
		} else if (from->length != UNKNOWN) {
			to->bad |= from->bad || to->length != from->length;
		}
		to->bound = MAX(to->bound, from->bound);
		to->unsure |= from->unsure;
		to->room |= from->room;
		to->keyed |= from->keyed;
		to->lo = earlier(to->lo, from->lo);
		to->hi = later(to->hi, from->hi);
		to->output = later(to->output, from->output);
		to->model = to->model ? to->model : from->model;
	}
	f->lo = f->hi = UNKNOWN;
	for (uint32_t i = 0; i < n; i++) {
		struct fit *x = &f->list[i];
		if (x->bad || x->length <= 1 || x->lo == UNKNOWN || x->hi == UNKNOWN || x->hi < x->lo)
			continue;
		f->lo = earlier(f->lo, x->lo);
		f->hi = later(f->hi, x->hi);
		f->list[kept++] = *x;
	}
	f->n = kept;
	res = sort_items(r, f->list, f->n, sizeof(*f->list), by_length, NULL, err);
	for (uint32_t i = 0; i < f->n; i++) { /* latest end of all of this length up to here */
		struct fit *x = &f->list[i];
		bool goes_on = i && x[-1].length == x->length;
		x->reach = goes_on ? MAX(x[-1].reach, x->hi) : x->hi;
	}
	return res;
}

/* Sets without a leg, then sets without a lifetime. has: by root, 1 a leg, 2 a lifetime. */
static int fits_collect(struct resolve *r, const uint8_t *has, struct fits *lives, struct fits *legs, struct err *err)
{
	uint32_t n = 0, m = 0;
	int res = 0;
	for (uint32_t i = 0; i < r->lives.n && !res; i++) {
		n += has[join_root(r, r->legs.n + i)] == 2;
		res = resolve_tick(r, err);
	}
	lives->list = scratch_alloc(&r->scratch, (size_t)n + 1, sizeof(*lives->list));
	if (!lives->list)
		return err_nomem(err);
	for (uint32_t i = 0; i < r->lives.n && !res; i++) {
		uint32_t root = join_root(r, r->legs.n + i);
		res = resolve_tick(r, err);
		if (has[root] != 2)
			continue;
		struct fit f = life_fit(r, i);
		f.root = root;
		lives->list[lives->n++] = f;
	}
	if (!res)
		res = fits_settle(r, lives, err);
	if (res)
		return res;
	for (uint32_t i = 0; i < r->legs.n && lives->n && !res; i++) {
		m += has[join_root(r, i)] == 1;
		res = resolve_tick(r, err);
	}
	legs->list = scratch_alloc(&r->scratch, (size_t)m + 1, sizeof(*legs->list));
	if (!legs->list)
		return err_nomem(err);
	for (uint32_t i = 0; i < r->legs.n && m && !res; i++) {
		const struct leg *l = leg_at(r, i);
		res = resolve_tick(r, err);
		uint32_t root = join_root(r, i);
		if (has[root] != 1 || l->page_only || l->role == ROLE_PREFILL)
			continue;
		struct fit f = leg_fit(r, i);
		f.root = root;
		legs->list[legs->n++] = f;
	}
	return res ? res : fits_settle(r, legs, err);
}

/* --- what fits --- */

static bool fits(const struct ties *t, const struct fit *life, const struct fit *leg)
{
	int64_t slack = MAX(SLACK_NS, life->bound + leg->bound);
	return leg->lo >= life->lo - slack && leg->hi <= life->hi + slack &&
	       (!life->model || !leg->model || life->model == leg->model) &&
	       (life->output == UNKNOWN || leg->output == UNKNOWN || life->output == leg->output) &&
	       !(life->room && leg->room) && /* one of them would have found the other */
	       !(life->keyed && tied(t, life, leg));
}

/* First of that length that begins at `at` or later. */
static uint32_t first_from(const struct fits *f, int64_t length, int64_t at)
{
	uint32_t lo = 0, hi = f->n;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct fit *x = &f->list[mid];
		if (x->length < length || (x->length == length && x->lo < at))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void find_leg(struct fit *life, const struct fits *legs, const struct ties *t, int64_t slack)
{
	unsigned steps = 0;
	for (uint32_t i = first_from(legs, life->length, life->lo - slack); i < legs->n && life->n < 2; i++) {
		const struct fit *x = &legs->list[i];
		if (x->length != life->length || x->lo > life->hi + slack)
			break;
		if (++steps > STEPS_MAX)
			life->n = 2;
		else if (fits(t, life, x)) {
			life->n++;
			life->found = i;
		}
	}
}

static void find_life(struct fit *leg, const struct fits *lives, const struct ties *t, int64_t slack)
{
	unsigned steps = 0;
	for (uint32_t i = first_from(lives, leg->length, leg->lo + slack + 1); i-- > 0 && leg->n < 2;) {
		const struct fit *x = &lives->list[i];
		if (x->length != leg->length || x->reach < leg->hi - slack)
			break;
		if (++steps > STEPS_MAX)
			leg->n = 2;
		else if (fits(t, x, leg)) {
			leg->n++;
			leg->found = i;
		}
	}
}

static bool within(const struct fit *f, const struct fits *other)
{
	return f->lo >= other->lo - SLACK_NS && f->hi <= other->hi + SLACK_NS;
}

static bool believed(const struct tally *tallies, const struct fit *f, int side)
{
	const struct tally *t = &tallies[f->source];
	return !f->unsure || (uint64_t)t->fit[side] * 2 >= t->all[side];
}

static int left_apart(struct resolve *r, const struct fit *life, bool doubtful, struct err *err)
{
	struct source_info *s = &r->sources[life->source];
	struct life *l = life_at(r, life->node - r->legs.n);
	const struct refs *refs = &l->refs;
	l->left_apart = true;
	if (doubtful) {
		s->doubtful++;
		return refs_add_all(r, &s->doubtful_refs, refs, err);
	}
	s->ambiguous++;
	return refs_add_all(r, &s->ambiguous_refs, refs, err);
}

static int fits_join(struct resolve *r, const struct ties *t, struct tally *tallies, struct fits *lives,
		     struct fits *legs, struct err *err)
{
	int64_t life_bound = 0, leg_bound = 0;
	int res = 0;
	for (uint32_t i = 0; i < lives->n; i++)
		life_bound = MAX(life_bound, lives->list[i].bound);
	for (uint32_t i = 0; i < legs->n; i++)
		leg_bound = MAX(leg_bound, legs->list[i].bound);
	int64_t slack = MAX(SLACK_NS, life_bound + leg_bound);
	for (uint32_t i = 0; i < lives->n && !res; i++) {
		struct fit *f = &lives->list[i];
		res = resolve_tick(r, err);
		find_leg(f, legs, t, slack);
		tallies[f->source].all[0] += within(f, legs);
		tallies[f->source].fit[0] += f->n && within(f, legs);
	}
	for (uint32_t i = 0; i < legs->n && !res; i++) {
		struct fit *f = &legs->list[i];
		res = resolve_tick(r, err);
		find_life(f, lives, t, slack);
		tallies[f->source].all[1] += within(f, lives);
		tallies[f->source].fit[1] += f->n && within(f, lives);
	}
	for (uint32_t i = 0; i < lives->n && !res; i++) {
		const struct fit *f = &lives->list[i], *g = f->n == 1 ? &legs->list[f->found] : NULL;
		if (!f->n)
			continue;
		if (!g || g->n != 1)
			res = left_apart(r, f, false, err);
		else if (!believed(tallies, f, 0) || !believed(tallies, g, 1))
			res = left_apart(r, f, true, err);
		else if (join_pair(r, f->node, g->node, RULE_TIME_AND_LENGTH))
			leg_at(r, g->node)->rule =
			    RULE_TIME_AND_LENGTH; /* also where a room joined it with another leg */
	}
	return res;
}

int join_fits(struct resolve *r, struct err *err)
{
	uint32_t nodes = r->legs.n + r->lives.n;
	struct fits lives = {NULL, 0, UNKNOWN, UNKNOWN}, legs = {NULL, 0, UNKNOWN, UNKNOWN};
	struct ties ties = {NULL, 0};
	if (!r->legs.n || !r->lives.n)
		return 0;
	uint8_t *has = scratch_alloc(&r->scratch, (size_t)nodes + 1, 1);
	struct tally *tallies = scratch_alloc(&r->scratch, (size_t)r->n_sources + 1, sizeof(*tallies));
	int res = has && tallies ? 0 : err_nomem(err);
	for (uint32_t i = 0; i < nodes && !res; i++) {
		has[join_root(r, i)] |= i < r->legs.n ? 1 : 2;
		res = resolve_tick(r, err);
	}
	if (!res)
		res = fits_collect(r, has, &lives, &legs, err);
	if (!res && lives.n && legs.n)
		res = ties_find(r, &ties, err);
	if (!res && lives.n && legs.n)
		res = fits_join(r, &ties, tallies, &lives, &legs, err);
	return res;
}
