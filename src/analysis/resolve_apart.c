/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_apart.c - which requests may be one and the same, counted by what an engine says and again by what a gateway says
 *
 * Where no id joins them, nothing tells the two from two requests. A layer is the engines together, or all gateways whose
 * logs have one format: what one layer lists twice is two requests. Two requests may be one when they share no layer, their
 * times meet, and no id that both write would have joined them. That two logs write one id counts, not that their records
 * came together: what brought these together may be a third log, which is not whole. Each layer lists a request once, so of
 * those that may be one there are at least as many as the layer with the most has.
 */
#include "resolve.h"

enum {
	ENGINES = 1,     /* bit of those that an engine answered; layer 0 */
	GATEWAYS_AT = 1, /* number of the first gateway layer */
	LAYERS = 8,
	STEPS_MAX = 256, /* neighbours looked at; who has more of them in time may be one of them */
	GROUPS_MAX = 64, /* sets of layers that requests have; beyond: nobody is told apart */
};
/* How far a zone that is only assumed may be off, twice. */
#define ZONE_NS (INT64_C(28) * 3600 * NS_PER_S)

struct part {
	uint32_t request;               /* in r->requests */
	uint32_t layers, known;         /* known: layers in which its ids would stand */
	int64_t lo, hi, reach;          /* reach: latest end of its group up to here */
	bool gateway_room, engine_room; /* who said a room */
	bool apart;
};

struct group {
	uint32_t layers, from, n;
};

/* Of the requests for which a layer has an id of a kind: in how many each layer says it. */
struct says { /* of: of those from the time in which that layer has requests */
	uint32_t of[ID_KINDS][LAYERS], with[ID_KINDS][LAYERS];
};

/* Layers that say the ids of one request, by kind and layer that says it. */
struct heard {
	uint8_t in[ID_KINDS][LAYERS];
};

struct apart {
	struct resolve *r;
	struct span_of {
		int64_t lo, hi;
	} span[LAYERS];
	struct says all[LAYERS];
	struct says (*on_worker)[LAYERS]; /* by worker that answered + 1; 0: none is known */
	struct part *parts;
	uint32_t n;
	struct group groups[GROUPS_MAX];
	uint32_t n_groups;
};

static const struct life *life_of(const struct resolve *r, const struct request *q, uint32_t i)
{
	return life_at(r, r->life_order[q->lives_from + i]);
}

/* More formats than bits: the last ones share one. */
void layers_name(struct resolve *r)
{
	struct text formats[LAYERS];
	unsigned n = GATEWAYS_AT;
	for (uint32_t i = 0; i < r->n_sources; i++) {
		struct text format = inner_format(&r->sources[i]);
		unsigned k = GATEWAYS_AT;
		if (!(r->sources[i].kinds & 1u << EVENT_GATEWAY))
			continue;
		while (k < n && !text_eq(formats[k], format))
			k++;
		if (k == n && n < LAYERS)
			formats[n++] = format;
		r->sources[i].layer = (uint8_t)MIN(k, LAYERS - 1u);
	}
}

int layer_says(struct resolve *r, unsigned layer, uint32_t id, struct err *err)
{
	while (id && r->heard.n <= id)
		if (!shelf_add(&r->heard))
			return err_nomem(err);
	if (id)
		*(uint8_t *)shelf_at(&r->heard, id) |= (uint8_t)(1u << layer);
	return 0;
}

static uint8_t layers_saying(const struct resolve *r, uint32_t id)
{
	return id && id < r->heard.n ? *(const uint8_t *)shelf_at(&r->heard, id) : 0;
}

static int engines_say(struct resolve *r, struct err *err)
{
	int res = 0;
	for (uint32_t i = 0; i < r->legs.n && !res; i++) {
		const struct leg *l = leg_at(r, i);
		const uint32_t ids[] = {norm_known(r, l->rid), l->room, l->trace};
		for (size_t k = 0; k < ARRAY_SIZE(ids) && !res; k++)
			res = layer_says(r, 0, ids[k], err);
		if (!res)
			res = resolve_tick(r, err);
	}
	return res;
}

typedef void (*source_fn)(void *ctx, uint32_t source);

static void each_source(const struct resolve *r, const struct request *q, source_fn fn, void *ctx)
{
	for (uint32_t i = 0; i < q->n_lives; i++)
		for (uint32_t at = life_of(r, q, i)->refs.head; at;) {
			const struct ref_node *n = shelf_at(&r->refs, at - 1);
			at = n->next;
			fn(ctx, n->source);
		}
}

struct mask_of {
	const struct apart *a;
	uint32_t layers;
	int64_t slack;
};

static void add_layer(void *ctx, uint32_t source)
{
	struct mask_of *m = ctx;
	m->layers |= UINT32_C(1) << m->a->r->sources[source].layer;
}

static uint32_t layers_of(const struct apart *a, const struct request *q)
{
	struct mask_of m = {.a = a};
	each_source(a->r, q, add_layer, &m);
	return m.layers | (request_answer(a->r, q) ? ENGINES : 0);
}

static void hear(const struct resolve *r, struct heard *h, enum id_kind kind, uint32_t id)
{
	uint8_t layers = layers_saying(r, id);
	for (unsigned k = 0; k < LAYERS; k++)
		if (layers >> k & 1)
			h->in[kind][k] |= layers;
}

static struct heard heard_of(const struct resolve *r, const struct request *q)
{
	struct heard h = {0};
	for (uint32_t i = 0; i < q->n_lives; i++) {
		const struct life *l = life_of(r, q, i);
		hear(r, &h, ID_RESPONSE, norm_known(r, l->response_id));
		hear(r, &h, ID_GATEWAY, norm_known(r, l->gateway_id));
		hear(r, &h, ID_TRACE, l->trace_id);
		for (uint32_t k = l->rooms; k;) {
			const struct room_node *n = shelf_at(&r->rooms, k - 1);
			k = n->next;
			hear(r, &h, ID_ROOM, n->room);
		}
	}
	for (uint32_t i = 0; i < q->n_legs; i++) {
		const struct leg *l = leg_at(r, r->leg_order[q->legs_from + i]);
		hear(r, &h, ID_RESPONSE, norm_known(r, l->rid));
		hear(r, &h, ID_TRACE, l->trace);
		hear(r, &h, ID_ROOM, l->room);
	}
	return h;
}

static void says_count(struct says says[LAYERS], const struct heard *h, const bool at[LAYERS])
{
	for (unsigned layer = 0; layer < LAYERS; layer++)
		for (unsigned kind = 0; kind < ID_KINDS; kind++)
			for (unsigned k = 0; h->in[kind][layer] && k < LAYERS; k++) {
				says[layer].of[kind][k] += at[k];
				says[layer].with[kind][k] += at[k] && h->in[kind][layer] >> k & 1;
			}
}

static uint32_t worker_of(const struct resolve *r, const struct request *q)
{
	const struct leg *l = request_answer(r, q);
	return l ? l->worker + 1 : 0;
}

static int says_collect(struct apart *a, struct err *err)
{
	struct resolve *r = a->r;
	a->on_worker = scratch_alloc(&r->scratch, (size_t)r->workers.n + 1, sizeof(*a->on_worker));
	int res = a->on_worker ? engines_say(r, err) : err_nomem(err);
	for (uint32_t i = 0; i < r->requests.n && !res; i++) {
		const struct request *q = shelf_at(&r->requests, i);
		struct heard h = heard_of(r, q);
		bool at[LAYERS];
		for (unsigned k = 0; k < LAYERS; k++)
			at[k] = interval_gap(q->first, q->last, a->span[k].lo, a->span[k].hi) == 0;
		says_count(a->all, &h, at);
		says_count(a->on_worker[worker_of(r, q)], &h, at);
		res = resolve_tick(r, err);
	}
	return res;
}

/* In which layers would an id that it has stand? Where less than half of them do, it cannot be said of one. */
static uint32_t found_in(const struct says says[LAYERS], const struct heard *h)
{
	uint32_t ret = 0;
	for (unsigned layer = 0; layer < LAYERS; layer++)
		for (unsigned kind = 0; kind < ID_KINDS; kind++)
			for (unsigned k = 0; h->in[kind][layer] && k < LAYERS; k++)
				if (says[layer].with[kind][k] &&
				    (uint64_t)says[layer].with[kind][k] * 2 >= says[layer].of[kind][k])
					ret |= UINT32_C(1) << k;
	return ret;
}

/* One worker may call requests by the router's ids, and the others not: what ids join is asked of the worker that answered. */
static uint32_t known_of(const struct apart *a, const struct request *q, const struct heard *h)
{
	uint32_t worker = worker_of(a->r, q), ret = found_in(a->on_worker[worker], h);
	return worker ? ret : ret | (found_in(a->all, h) & ENGINES);
}

static void add_slack(void *ctx, uint32_t source)
{
	struct mask_of *m = ctx;
	const struct source_info *s = &m->a->r->sources[source];
	if (s->naive && !s->given && !s->basis.len)
		m->slack = ZONE_NS;
	else if (s->naive && s->bound_ns != UNKNOWN)
		m->slack = MAX(m->slack, MIN(s->bound_ns, SKEW_NS));
}

static struct part part_of(const struct apart *a, uint32_t at, uint32_t layers)
{
	struct resolve *r = a->r;
	const struct request *q = shelf_at(&r->requests, at);
	const struct leg *l = request_answer(r, q);
	struct part p = {.request = at, .layers = layers};
	struct heard h = heard_of(r, q);
	struct mask_of m = {.a = a};
	each_source(r, q, add_slack, &m);
	for (uint32_t i = 0; i < q->n_lives; i++)
		p.gateway_room |= life_of(r, q, i)->rooms != 0;
	if (l) {
		p.engine_room = l->room != 0;
		for (uint32_t i = l->refs.head; i;) {
			const struct ref_node *n = shelf_at(&r->refs, i - 1);
			i = n->next;
			add_slack(&m, n->source);
		}
	}
	p.known = known_of(a, q, &h);
	p.lo = q->first == UNKNOWN ? INT64_MIN + 1 : q->first - SKEW_NS / 2 - m.slack / 2;
	p.hi = q->last == UNKNOWN ? INT64_MAX : q->last + SKEW_NS / 2 + m.slack / 2;
	return p;
}

static bool may_be_one(const struct part *x, const struct part *y)
{
	bool joined = x->known & y->layers && y->known & x->layers; /* would have been */
	bool rooms = (x->gateway_room && y->engine_room) || (x->engine_room && y->gateway_room);
	return !(x->layers & y->layers) && !joined && !rooms && x->lo <= y->hi && y->lo <= x->hi;
}

static int by_layers(const void *a, const void *b, void *ctx)
{
	(void)ctx;
	const struct part *x = a, *y = b;
	if (x->layers != y->layers)
		return x->layers < y->layers ? -1 : 1;
	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return x->request < y->request ? -1 : x->request > y->request;
}

/* Nobody is left out who is not in all layers. */
static int parts_collect(struct apart *a, uint32_t all, struct err *err)
{
	struct resolve *r = a->r;
	int res = 0;
	uint32_t n = 0;
	a->parts = scratch_alloc(&r->scratch, (size_t)r->requests.n + 1, sizeof(*a->parts));
	if (!a->parts)
		return err_nomem(err);
	for (uint32_t i = 0; i < r->requests.n && !res; i++) {
		uint32_t layers = layers_of(a, shelf_at(&r->requests, i));
		if (layers && layers != all)
			a->parts[a->n++] = part_of(a, i, layers);
		res = resolve_tick(r, err);
	}
	if (!res)
		res = sort_items(r, a->parts, a->n, sizeof(*a->parts), by_layers, NULL, err);
	for (uint32_t i = 0; i < a->n; i++) {
		struct part *p = &a->parts[i];
		bool goes_on = i && p[-1].layers == p->layers;
		p->reach = goes_on ? MAX(p[-1].reach, p->hi) : p->hi;
		if (!goes_on && n++ < GROUPS_MAX)
			a->groups[a->n_groups++] = (struct group){p->layers, i, 0};
		if (n <= GROUPS_MAX)
			a->groups[a->n_groups - 1].n++;
	}
	return res;
}

static bool meets_one_of(const struct apart *a, const struct part *p, const struct group *g)
{
	uint32_t lo = g->from, hi = g->from + g->n;
	while (lo < hi) { /* first that begins behind its end */
		uint32_t mid = lo + (hi - lo) / 2;
		if (a->parts[mid].lo <= p->hi)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (unsigned steps = 0; lo-- > g->from && a->parts[lo].reach >= p->lo; steps++)
		if (steps == STEPS_MAX || may_be_one(p, &a->parts[lo]))
			return true;
	return false;
}

static int parts_meet(struct apart *a, struct err *err)
{
	int res = 0;
	for (uint32_t i = 0; i < a->n_groups && !res; i++)
		for (uint32_t k = 0; k < a->n_groups && !res; k++) {
			const struct group *x = &a->groups[i], *y = &a->groups[k];
			if (x->layers & y->layers)
				continue;
			for (uint32_t at = x->from; at < x->from + x->n && !res; at++) {
				struct part *p = &a->parts[at];
				p->apart = p->apart || meets_one_of(a, p, y);
				res = resolve_tick(a->r, err);
			}
		}
	for (uint32_t i = a->n_groups ? a->groups[a->n_groups - 1].from + a->groups[a->n_groups - 1].n : 0; i < a->n;
	     i++)
		a->parts[i].apart = true;
	return res;
}

/* Once, in the log that says most about it, unless that log's gap about several that fit says it already. */
static int say_apart(struct resolve *r, const struct request *q, struct err *err)
{
	bool said = false;
	for (uint32_t i = 0; i < q->n_lives; i++)
		said |= life_of(r, q, i)->left_apart;
	if (said || !q->n_lives)
		return 0;
	const struct refs *refs = &life_of(r, q, 0)->refs;
	if (!refs->head)
		return 0;
	struct source_info *s = &r->sources[((const struct ref_node *)shelf_at(&r->refs, refs->head - 1))->source];
	s->apart++;
	return refs_add_all(r, &s->apart_refs, refs, err);
}

int apart_find(struct resolve *r, struct err *err)
{
	struct apart a = {.r = r};
	uint32_t all = 0, n = 0, most = 0, of_layer[LAYERS] = {0};
	int res = 0;
	for (unsigned k = 0; k < LAYERS; k++)
		a.span[k].lo = a.span[k].hi = UNKNOWN;
	for (uint32_t i = 0; i < r->requests.n && !res; i++) {
		const struct request *q = shelf_at(&r->requests, i);
		uint32_t layers = layers_of(&a, q);
		all |= layers;
		for (unsigned k = 0; k < LAYERS; k++)
			if (layers >> k & 1) {
				a.span[k].lo = earlier(a.span[k].lo, q->first);
				a.span[k].hi = later(a.span[k].hi, q->last);
			}
		res = resolve_tick(r, err);
	}
	if (res || !(all & (all - 1))) /* one layer */
		return res;
	res = says_collect(&a, err);
	if (!res)
		res = parts_collect(&a, all, err);
	if (!res)
		res = parts_meet(&a, err);
	for (uint32_t i = 0; i < a.n && !res; i++) {
		if (!a.parts[i].apart)
			continue;
		n++;
		for (unsigned k = 0; k < LAYERS; k++)
			of_layer[k] += a.parts[i].layers >> k & 1;
		res = say_apart(r, shelf_at(&r->requests, a.parts[i].request), err);
		if (!res)
			res = resolve_tick(r, err);
	}
	for (unsigned k = 0; k < LAYERS; k++)
		most = MAX(most, of_layer[k]);
	r->twice = n - most;
	return res;
}
