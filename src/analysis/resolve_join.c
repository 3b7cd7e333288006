/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_join.c - which legs and lifetimes are one request: union-find with guards
 *
 * Edges, surest first: the room both legs and the gateway name; the id of the answer, which is the engine's rid; a
 * gateway id that was handed to the engine as rid; one rid on both sides of a hand-off; numbers that an engine gives the
 * prompts of one call; a trace id in two gateways, or
 * the trace id of one that is the request id of another, or the trace id that an engine says; for gateways that share no
 * id with the engine, one time and length (resolve_fit.c).
 * Clients choose gateway ids, trace ids and perhaps rids, so no edge joins what differs in tenant or does not meet in
 * time: such a pair stays apart, and both carry the conflict. Edges are tried in canonical order: the result does not
 * depend on file order.
 */
#include "resolve.h"

#define LAYER_NS (3 * NS_PER_S)

static uint32_t life_node(const struct resolve *r, uint32_t life)
{
	return r->legs.n + life;
}

uint32_t join_root(struct resolve *r, uint32_t node)
{
	while (r->parent[node] != node) {
		r->parent[node] = r->parent[r->parent[node]];
		node = r->parent[node];
	}
	return node;
}

static void mark_conflict(struct resolve *r, uint32_t node, uint8_t why)
{
	if (node >= r->legs.n)
		life_at(r, node - r->legs.n)->conflict |= why;
	else
		leg_at(r, node)->conflict |= why;
}

static bool share_room(const struct resolve *r, const struct life *x, const struct life *y)
{
	for (uint32_t i = x->rooms; i;) {
		const struct room_node *n = shelf_at(&r->rooms, i - 1);
		i = n->next;
		if (life_has_room(r, y, n->room))
			return true;
	}
	return false;
}

/* How far two gateways may see one request apart. No caller chooses the id of an answer or a room: where those are one, only clocks
 * keep the two apart. */
static int64_t layer_ns(const struct resolve *r, const struct life *x, const struct life *y)
{
	bool one = (x->response_id && bare_id(r, x->response_id) == bare_id(r, y->response_id)) || share_room(r, x, y);
	return one ? SKEW_NS : LAYER_NS;
}

/* Why two sets may not become one; 0: they may. */
static uint8_t refuse(struct resolve *r, uint32_t a, uint32_t b)
{
	if (r->root_tenant[a] && r->root_tenant[b] && r->root_tenant[a] != r->root_tenant[b])
		return CONFLICT_TENANTS;
	if (!r->root_life[a] || !r->root_life[b])
		return 0;
	const struct life *x = life_at(r, r->root_life[a] - 1), *y = life_at(r, r->root_life[b] - 1);
	if (x->final_source && x->final_source == y->final_source)
		return CONFLICT_AMBIGUOUS; /* one gateway closed two requests */
	return interval_gap(x->lo, x->hi, y->lo, y->hi) > layer_ns(r, x, y) ? CONFLICT_AMBIGUOUS : 0;
}

/* Joins the set of `added` to that of `to`. false: refused, and both are marked. */
bool join_pair(struct resolve *r, uint32_t to, uint32_t added, enum rule rule)
{
	uint32_t a = join_root(r, to), b = join_root(r, added);
	if (a == b)
		return true;
	uint8_t why = refuse(r, a, b);
	if (why) {
		mark_conflict(r, r->root_life[a] ? life_node(r, r->root_life[a] - 1) : to, why);
		mark_conflict(r, r->root_life[b] ? life_node(r, r->root_life[b] - 1) : added, why);
		return false;
	}
	uint8_t *its = added < r->legs.n ? &leg_at(r, added)->rule : &life_at(r, added - r->legs.n)->rule;
	if (*its == RULE_OWN)
		*its = (uint8_t)rule;
	uint32_t root = MIN(a, b), gone = MAX(a, b);
	r->parent[gone] = root;
	if (!r->root_tenant[root])
		r->root_tenant[root] = r->root_tenant[gone];
	if (!r->root_life[root])
		r->root_life[root] = r->root_life[gone];
	return true;
}

/* --- rooms --- */

struct chain {
	uint32_t at[CHAIN_MAX]; /* oldest first */
	unsigned n;
};

static void chain_of(const struct resolve *r, uint32_t head, bool rooms, struct chain *c)
{
	c->n = 0;
	for (uint32_t i = head; i && c->n < CHAIN_MAX;
	     i = rooms ? leg_at(r, i - 1)->next_room : leg_at(r, i - 1)->next_rid)
		c->at[c->n++] = i - 1;
	for (unsigned i = 0; i < c->n / 2; i++) {
		uint32_t t = c->at[i];
		c->at[i] = c->at[c->n - 1 - i];
		c->at[c->n - 1 - i] = t;
	}
}

static int64_t leg_gap(const struct resolve *r, uint32_t a, uint32_t b)
{
	const struct leg *x = leg_at(r, a), *y = leg_at(r, b);
	return interval_gap(x->lo, x->hi, y->lo, y->hi);
}

/* Two executions in one place under one room: somebody chose the room. */
static bool room_reused(const struct resolve *r, const struct chain *c)
{
	for (unsigned i = 0; i < c->n; i++)
		for (unsigned k = 0; k < i; k++) {
			const struct leg *x = leg_at(r, c->at[i]), *y = leg_at(r, c->at[k]);
			if (x->worker == y->worker && (x->role == y->role || !x->role || !y->role) &&
			    (x->rid != y->rid || leg_gap(r, c->at[i], c->at[k]) > SKEW_NS))
				return true;
		}
	return false;
}

static void join_room(struct resolve *r, uint32_t room)
{
	struct chain c;
	chain_of(r, name_at(&r->names, room)->room_legs, true, &c);
	if (!room_reused(r, &c)) {
		for (unsigned i = 1; i < c.n; i++)
			(void)join_pair(r, c.at[0], c.at[i], RULE_ROOM);
		return;
	}
	for (unsigned i = 0; i < c.n; i++) {
		unsigned partners = 0, partner = 0;
		leg_at(r, c.at[i])->conflict |= CONFLICT_ROOM;
		for (unsigned k = 0; k < c.n; k++) {
			const struct leg *x = leg_at(r, c.at[i]), *y = leg_at(r, c.at[k]);
			if (x->role != ROLE_DECODE || y->role != ROLE_PREFILL || x->lo == UNKNOWN || y->lo == UNKNOWN ||
			    leg_gap(r, c.at[i], c.at[k]))
				continue;
			partner = k;
			partners++;
		}
		if (partners == 1)
			(void)join_pair(r, c.at[i], c.at[partner], RULE_ROOM);
	}
}

static bool meets(const struct life *l, const struct leg *g, int64_t slack)
{
	return interval_gap(l->lo, l->hi, g->lo, g->hi) <= slack;
}

static void join_life_rooms(struct resolve *r, uint32_t at)
{
	const struct life *l = life_at(r, at);
	for (uint32_t i = l->rooms; i;) {
		const struct room_node *n = shelf_at(&r->rooms, i - 1);
		struct chain c;
		i = n->next;
		chain_of(r, name_at(&r->names, n->room)->room_legs, true, &c);
		bool reused = room_reused(r, &c);
		for (unsigned k = 0; k < c.n; k++)
			if (!reused || meets(l, leg_at(r, c.at[k]), 0))
				(void)join_pair(r, life_node(r, at), c.at[k], RULE_ROOM);
	}
}

/* --- ids of answers and of gateways that are the engine's rid --- */

static void join_life_rid(struct resolve *r, uint32_t at, uint32_t id, enum rule rule)
{
	struct life *l = life_at(r, at);
	uint32_t norm = norm_known(r, id);
	if (!norm)
		return;
	struct chain c;
	chain_of(r, name_at(&r->names, norm)->rid_legs, false, &c);
	unsigned n = 0;
	uint32_t first = NO_INDEX;
	bool clear = true;
	for (unsigned i = 0; i < c.n; i++) {
		const struct leg *x = leg_at(r, c.at[i]);
		if (!meets(l, x, SKEW_NS))
			continue;
		/* one id for two different prompts in one place at one time */
		if (first != NO_INDEX) {
			const struct leg *y = leg_at(r, first);
			clear &= !(x->role == y->role && x->room != y->room && x->input != y->input && x->input > 1 &&
				   y->input > 1);
		}
		if (first == NO_INDEX)
			first = c.at[i];
		c.at[n++] = c.at[i];
	}
	for (unsigned i = 0; i < n; i++) {
		const struct leg *x = leg_at(r, c.at[i]);
		if (!clear && !(l->input_flag == FLAG_EXACT && x->input == l->input)) {
			leg_at(r, c.at[i])->conflict |= CONFLICT_AMBIGUOUS;
			l->conflict |= CONFLICT_AMBIGUOUS;
			continue;
		}
		(void)join_pair(r, life_node(r, at), c.at[i], rule);
	}
}

/* One rid on both sides of a hand-off, or in a page log whose worker has another name in its own log. */
static bool two_sides(const struct leg *x, const struct leg *y)
{
	if (x->worker == y->worker || (x->room && y->room && x->room != y->room))
		return false;
	if ((x->role == ROLE_PREFILL && y->role == ROLE_DECODE) || (x->role == ROLE_DECODE && y->role == ROLE_PREFILL))
		return true;
	return x->page_only != y->page_only && (!(x->page_only ? x : y)->role || x->role == y->role);
}

static void join_rid(struct resolve *r, uint32_t id)
{
	struct chain c;
	chain_of(r, name_at(&r->names, id)->rid_legs, false, &c);
	for (unsigned i = 1; i < c.n; i++) {
		unsigned n = 0, partner = 0;
		for (unsigned k = 0; k < c.n; k++) {
			const struct leg *x = leg_at(r, c.at[i]), *y = leg_at(r, c.at[k]);
			if (k == i || x->rid != y->rid || !two_sides(x, y) || leg_gap(r, c.at[i], c.at[k]) > SKEW_NS)
				continue;
			if (!n || join_root(r, c.at[k]) != join_root(r, c.at[partner])) {
				partner = k;
				n++;
			}
		}
		if (n == 1)
			(void)join_pair(r, c.at[MIN(i, partner)], c.at[MAX(i, partner)], RULE_RID);
	}
}

/* The prompts of one call, which the engine numbers: one response, whatever it holds. Elements with a room of their own are told
 * apart by it, and counted by themselves. */
static void join_children(struct resolve *r, uint32_t id)
{
	struct chain c;
	uint32_t head = name_at(&r->names, id)->rid_legs;
	if (!leg_at(r, head - 1)->next_rid)
		return;
	chain_of(r, head, false, &c);
	for (unsigned i = 1; i < c.n; i++) {
		const struct leg *x = leg_at(r, c.at[i]);
		if (x->room || !id_is_child(names_text(&r->names, x->rid)))
			continue;
		for (unsigned k = 0; k < i; k++) {
			const struct leg *y = leg_at(r, c.at[k]);
			if (y->rid == x->rid || y->room || y->role != x->role ||
			    !id_is_child(names_text(&r->names, y->rid)) ||
			    worker_at(r, x->worker)->base != worker_at(r, y->worker)->base || x->lo == UNKNOWN ||
			    y->lo == UNKNOWN || leg_gap(r, c.at[i], c.at[k]) > LAYER_NS ||
			    !join_pair(r, c.at[k], c.at[i], RULE_CHILD))
				continue;
			leg_at(r, c.at[k])->batch = MAX(leg_at(r, c.at[k])->batch, 2u);
			leg_at(r, c.at[i])->batch = MAX(leg_at(r, c.at[i])->batch, 2u);
		}
	}
}

/* --- lifetimes of two gateways that share an id of the answer or of a trace --- */

struct pair {
	uint32_t life, next; /* chain by name; index + 1 */
	bool weak;           /* a gateway's own id: joins only with another's trace id */
};

static bool layers(const struct resolve *r, const struct life *x, const struct life *y)
{
	return x->lo != UNKNOWN && y->lo != UNKNOWN && interval_gap(x->lo, x->hi, y->lo, y->hi) <= layer_ns(r, x, y) &&
	       !(x->tenant && y->tenant && x->tenant != y->tenant) && x->final_source != y->final_source &&
	       !(x->start_source && x->start_source == y->start_source);
}

/* Joined are those who all fit each other and nobody else: a trace id may be that of a whole session. */
static void join_group(struct resolve *r, const struct pair *p, size_t n, enum rule rule)
{
	uint64_t fits[CHAIN_MAX] = {0};
	_Static_assert(CHAIN_MAX <= 64, "one bit each");
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++)
			if (k == i || (p[k].life != p[i].life && !(p[i].weak && p[k].weak) &&
				       layers(r, life_at(r, p[i].life), life_at(r, p[k].life))))
				fits[i] |= UINT64_C(1) << k;
	for (size_t i = 1; i < n; i++) {
		size_t first = n;
		bool clear = true;
		for (size_t k = n; k-- > 0;)
			if (fits[i] >> k & 1) {
				clear &= fits[k] == fits[i];
				first = k;
			}
		if (clear && first < i)
			(void)join_pair(r, life_node(r, p[first].life), life_node(r, p[i].life), rule);
	}
}

static int pair_add(struct resolve *r, struct shelf *pairs, uint32_t id, uint32_t life, bool weak, struct err *err)
{
	struct pair *p = shelf_add(pairs);
	struct name *e = name_at(&r->names, id);
	if (!p)
		return err_nomem(err);
	*p = (struct pair){life, e->chain, weak};
	e->chain = pairs->n;
	return 0;
}

/* Without any there is nothing that a gateway's own id could be. */
static int any_trace(struct resolve *r, bool *ret, struct err *err)
{
	int res = 0;
	*ret = false;
	for (uint32_t i = 0; i < r->lives.n && !*ret && !res; i++) {
		*ret = life_at(r, i)->trace_id;
		res = resolve_tick(r, err);
	}
	return res;
}

/* Lifetimes by the names that they share, each name's in order. */
static int join_chains(struct resolve *r, struct shelf *pairs, enum rule rule, struct err *err)
{
	int res = 0;
	for (uint32_t i = r->lives.n; i-- > 0 && !res;) {
		const struct life *l = life_at(r, i);
		uint32_t id = rule == RULE_TRACE_ID ? l->trace_id : bare_id(r, l->response_id);
		/* what one gateway calls its trace, the next may call its request */
		if (rule == RULE_TRACE_ID && l->gateway_id && l->gateway_id != id)
			res = pair_add(r, pairs, l->gateway_id, i, true, err);
		if (id && !res)
			res = pair_add(r, pairs, id, i, false, err);
		if (!res)
			res = resolve_tick(r, err);
	}
	for (uint32_t id = 1; id < r->names.entries.n && !res; id++) {
		struct pair group[CHAIN_MAX];
		size_t n = 0;
		for (uint32_t at = name_at(&r->names, id)->chain; at && n < CHAIN_MAX; at = group[n - 1].next)
			group[n++] = *(const struct pair *)shelf_at(pairs, at - 1);
		if (n > 1)
			join_group(r, group, n, rule);
		res = resolve_tick(r, err);
	}
	names_unchain(&r->names);
	return res;
}

static int join_lives(struct resolve *r, enum rule rule, struct err *err)
{
	struct shelf pairs;
	shelf_init(&pairs, &r->scratch, sizeof(struct pair));
	int res = join_chains(r, &pairs, rule, err);
	shelf_done(&pairs);
	return res;
}

/* --- an engine that says the trace of a request, and no id that a gateway knows --- */

struct traced {
	uint32_t node, next; /* chain by trace; index + 1 */
};

static int traced_add(struct resolve *r, struct shelf *all, uint32_t trace, uint32_t node, struct err *err)
{
	struct traced *t = shelf_add(all);
	struct name *e = name_at(&r->names, trace);
	if (!t)
		return err_nomem(err);
	*t = (struct traced){node, e->chain};
	e->chain = all->n;
	return 0;
}

/* Can this have been the gateway's request? */
static bool carries(const struct resolve *r, uint32_t life, uint32_t leg)
{
	const struct life *l = life_at(r, life);
	const struct leg *g = leg_at(r, leg);
	bool counted =
	    l->input_flag == FLAG_EXACT && g->input_flag == FLAG_EXACT && g->input > 1 && g->role != ROLE_PREFILL;
	return l->lo != UNKNOWN && g->lo != UNKNOWN && meets(l, g, LAYER_NS) && !(counted && l->input != g->input) &&
	       !l->element;
}

/* A trace may be that of a whole session: an execution joins the one request that it fits, when it is the only one on its side
 * that does. */
static void join_traced(struct resolve *r, const uint32_t *node, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t to = NO_INDEX;
		bool clear = node[i] < r->legs.n, same = false;
		for (size_t k = 0; k < n && clear; k++) {
			if (node[k] < r->legs.n || !carries(r, node[k] - r->legs.n, node[i]))
				continue;
			same |= join_root(r, node[k]) == join_root(r, node[i]);
			clear = to == NO_INDEX || join_root(r, to) == join_root(r, node[k]);
			to = node[k];
		}
		for (size_t k = 0; k < n && clear && to != NO_INDEX; k++)
			clear =
			    node[k] >= r->legs.n || k == i || join_root(r, node[k]) == join_root(r, node[i]) ||
			    !carries(r, to - r->legs.n, node[k]) ||
			    (leg_at(r, node[k])->role == ROLE_PREFILL) != (leg_at(r, node[i])->role == ROLE_PREFILL);
		if (same || to == NO_INDEX)
			continue;
		if (clear)
			(void)join_pair(r, to, node[i], RULE_TRACE_ID);
		else
			mark_conflict(r, node[i], CONFLICT_AMBIGUOUS);
	}
}

static int any_traced(struct resolve *r, bool *ret, struct err *err)
{
	int res = 0;
	*ret = false;
	for (uint32_t i = 0; i < r->legs.n && !*ret && !res; i++) {
		*ret = leg_at(r, i)->trace;
		res = resolve_tick(r, err);
	}
	return res;
}

static int join_traces(struct resolve *r, struct err *err)
{
	struct shelf all;
	uint32_t group[CHAIN_MAX];
	int res = 0;
	shelf_init(&all, &r->scratch, sizeof(struct traced));
	for (uint32_t i = r->lives.n; i-- > 0 && !res;) {
		const struct life *l = life_at(r, i);
		res = l->trace_id ? traced_add(r, &all, l->trace_id, life_node(r, i), err) : 0;
		if (!res)
			res = resolve_tick(r, err);
	}
	for (uint32_t i = r->legs.n; i-- > 0 && !res;) {
		uint32_t trace = leg_at(r, i)->trace;
		res = trace ? traced_add(r, &all, trace, i, err) : 0;
		if (!res)
			res = resolve_tick(r, err);
	}
	for (uint32_t id = 1; id < r->names.entries.n && !res; id++) {
		size_t n = 0;
		const struct traced *t;
		for (uint32_t at = name_at(&r->names, id)->chain; at && n < CHAIN_MAX; at = t->next) {
			t = shelf_at(&all, at - 1);
			group[n++] = t->node;
		}
		if (n > 1)
			join_traced(r, group, n);
		res = resolve_tick(r, err);
	}
	names_unchain(&r->names);
	shelf_done(&all);
	return res;
}

static int join_open(struct resolve *r, struct err *err)
{
	size_t nodes = (size_t)r->legs.n + r->lives.n;
	if (nodes >= NO_INDEX)
		return err_set(err, ERR_LIMIT, "too many requests in one case");
	r->parent = scratch_alloc(&r->scratch, nodes + 1, sizeof(*r->parent));
	r->root_tenant = scratch_alloc(&r->scratch, nodes + 1, sizeof(*r->root_tenant));
	r->root_life = scratch_alloc(&r->scratch, nodes + 1, sizeof(*r->root_life));
	if (!r->parent || !r->root_tenant || !r->root_life)
		return err_nomem(err);
	for (size_t i = 0; i < nodes; i++)
		r->parent[i] = (uint32_t)i;
	int res = 0;
	for (uint32_t i = 0; i < r->lives.n && !res; i++) {
		r->root_tenant[life_node(r, i)] = life_at(r, i)->tenant;
		r->root_life[life_node(r, i)] = i + 1;
		res = resolve_tick(r, err);
	}
	return res;
}

static int join_names(struct resolve *r, bool rooms, struct err *err)
{
	int res = 0;
	for (uint32_t id = 1; id < r->names.entries.n && !res; id++) {
		const struct name *e = name_at(&r->names, id);
		if (rooms && e->room_legs)
			join_room(r, id);
		if (!rooms && e->rid_legs) {
			join_rid(r, id);
			join_children(r, id);
		}
		res = resolve_tick(r, err);
	}
	return res;
}

/* What is joined by rooms comes first, then what by answers, then what by the gateway's own ids. */
static int join_life_ids(struct resolve *r, enum rule rule, struct err *err)
{
	int res = 0;
	for (uint32_t i = 0; i < r->lives.n && !res; i++) {
		const struct life *l = life_at(r, i);
		if (rule == RULE_ROOM)
			join_life_rooms(r, i);
		else if (rule == RULE_RESPONSE_ID && l->response_id && !l->element)
			join_life_rid(r, i, l->response_id, rule);
		else if (rule == RULE_GATEWAY_ID && l->gateway_id && l->gateway_id != l->response_id && !l->element)
			join_life_rid(r, i, l->gateway_id, rule);
		res = resolve_tick(r, err);
	}
	return res;
}

static int join_legs(struct resolve *r, struct err *err)
{
	int res = join_names(r, true, err);
	if (!res)
		res = join_life_ids(r, RULE_ROOM, err);
	if (!res)
		res = join_life_ids(r, RULE_RESPONSE_ID, err);
	if (!res)
		res = join_life_ids(r, RULE_GATEWAY_ID, err);
	return res ? res : join_names(r, false, err);
}

/* --- which kinds of id join a log --- */

static struct source_info *life_source(const struct resolve *r, const struct life *l)
{
	return l->refs.head ? &r->sources[((const struct ref_node *)shelf_at(&r->refs, l->refs.head - 1))->source]
			    : NULL;
}

static enum id_kind kind_of(enum rule rule)
{
	return rule == RULE_ROOM          ? ID_ROOM
	       : rule == RULE_RESPONSE_ID ? ID_RESPONSE
	       : rule == RULE_GATEWAY_ID  ? ID_GATEWAY
	       : rule == RULE_TRACE_ID    ? ID_TRACE
					  : ID_KINDS;
}

static int count_kinds(struct resolve *r, struct err *err)
{
	int res = 0;
	for (uint32_t i = 0; i < r->legs.n && !res; i++) {
		enum id_kind kind = kind_of((enum rule)leg_at(r, i)->rule);
		uint32_t life = kind < ID_KINDS ? r->root_life[join_root(r, i)] : 0;
		struct source_info *s = life ? life_source(r, life_at(r, life - 1)) : NULL;
		if (s) {
			s->joined[kind]++;
			s->joined_all++;
		}
		res = resolve_tick(r, err);
	}
	return res;
}

/* Less than one in twenty is chance, or the odd client. */
bool join_has_key(const struct resolve *r, const struct life *l)
{
	const bool has[ID_KINDS] = {l->rooms != 0, l->response_id != 0, l->gateway_id != 0, l->trace_id != 0};
	const struct source_info *s = life_source(r, l);
	for (int k = 0; s && k < ID_KINDS; k++)
		if (has[k] && s->joined[k] && (uint64_t)s->joined[k] * 20 >= s->joined_all)
			return true;
	return false;
}

int join_nodes(struct resolve *r, struct err *err)
{
	bool any;
	int res = join_open(r, err);
	if (!res && r->legs.n)
		res = join_legs(r, err);
	if (!res)
		res = join_lives(r, RULE_RESPONSE_ID, err);
	if (!res)
		res = any_trace(r, &any, err);
	if (!res && any)
		res = join_lives(r, RULE_TRACE_ID, err);
	if (!res)
		res = any_traced(r, &any, err);
	if (!res && any)
		res = join_traces(r, err);
	if (!res)
		res = count_kinds(r, err);
	return res ? res : join_fits(r, err);
}
