/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_request.c - sets of legs and lifetimes become numbered, named requests with attempts
 *
 * Requests are numbered by first sign of life, then name. A name that several requests would carry is made unique with
 * #2, #3 … in that order.
 */
#include "resolve.h"

#include <stdio.h>

static uint32_t root_of(const struct resolve *r, uint32_t node)
{
	while (r->parent[node] != node)
		node = r->parent[node];
	return node;
}

static int leg_cmp(const void *a, const void *b, void *ctx)
{
	const struct resolve *r = ctx;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct leg *x = leg_at(r, i), *y = leg_at(r, k);
	int64_t tx = x->started != UNKNOWN ? x->started : x->lo, ty = y->started != UNKNOWN ? y->started : y->lo;
	if (tx != ty)
		return tx < ty ? -1 : 1;
	int c = text_cmp(names_text(&r->names, worker_at(r, x->worker)->name),
			 names_text(&r->names, worker_at(r, y->worker)->name));
	return c ? c : i < k ? -1 : i > k;
}

static int life_cmp(const void *a, const void *b, void *ctx)
{
	const struct resolve *r = ctx;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	int64_t x = life_at(r, i)->lo, y = life_at(r, k)->lo;
	return x != y ? (x < y ? -1 : 1) : i < k ? -1 : i > k;
}

/* Groups legs and lives by request: counting sort over the roots. */
static int group(struct resolve *r, struct err *err)
{
	uint32_t nodes = r->legs.n + r->lives.n;
	uint32_t *of = scratch_alloc(&r->scratch, (size_t)nodes + 1, sizeof(*of)); /* by root: request + 1 */
	r->leg_order = scratch_alloc(&r->scratch, (size_t)r->legs.n + 1, sizeof(*r->leg_order));
	r->life_order = scratch_alloc(&r->scratch, (size_t)r->lives.n + 1, sizeof(*r->life_order));
	int res = of && r->leg_order && r->life_order ? 0 : err_nomem(err);
	for (uint32_t i = 0; i < nodes && !res; i++) {
		uint32_t root = root_of(r, i);
		if (!of[root]) {
			struct request *q = shelf_add(&r->requests);
			if (!q) {
				res = err_nomem(err);
				break;
			}
			q->node = root;
			q->first = q->last = UNKNOWN;
			of[root] = r->requests.n;
		}
		struct request *q = shelf_at(&r->requests, of[root] - 1);
		i < r->legs.n ? q->n_legs++ : q->n_lives++;
		res = resolve_tick(r, err);
	}
	uint32_t legs = 0, lives = 0;
	for (uint32_t i = 0; i < r->requests.n && !res; i++) {
		struct request *q = shelf_at(&r->requests, i);
		q->legs_from = legs;
		q->lives_from = lives;
		legs += q->n_legs;
		lives += q->n_lives;
		q->n_legs = q->n_lives = 0;
		res = resolve_tick(r, err);
	}
	for (uint32_t i = 0; i < nodes && !res; i++) {
		struct request *q = shelf_at(&r->requests, of[root_of(r, i)] - 1);
		if (i < r->legs.n)
			r->leg_order[q->legs_from + q->n_legs++] = i;
		else
			r->life_order[q->lives_from + q->n_lives++] = i - r->legs.n;
		res = resolve_tick(r, err);
	}
	return res;
}

struct attempt {
	uint32_t room, no;
	unsigned roles;
	int64_t lo, hi;
};

/* An attempt is one room, or legs of different roles that meet in time. The elements of a batch are no attempts. */
static void attempts(struct resolve *r, struct request *q, bool batch)
{
	struct attempt list[CHAIN_MAX];
	unsigned n = 0;
	uint32_t no = 0;
	for (uint32_t i = 0; i < q->n_legs; i++) {
		struct leg *l = leg_at(r, r->leg_order[q->legs_from + i]);
		struct attempt *a = NULL;
		for (unsigned k = 0; k < n && !a; k++) {
			bool meets = interval_gap(list[k].lo, list[k].hi, l->lo, l->hi) <= SKEW_NS;
			if (l->room && list[k].room)
				a = l->room == list[k].room ? &list[k] : NULL;
			else if (meets && !(list[k].roles & 1u << l->role))
				a = &list[k];
		}
		if (batch) {
			l->attempt = no = 1;
			continue;
		}
		if (!a) {
			a = &list[n < CHAIN_MAX ? n++ : CHAIN_MAX - 1];
			*a = (struct attempt){l->room, ++no, 0, UNKNOWN, UNKNOWN};
		}
		if (!a->room)
			a->room = l->room;
		a->roles |= 1u << l->role;
		a->lo = earlier(a->lo, l->lo);
		a->hi = later(a->hi, l->hi);
		l->attempt = a->no;
	}
	q->attempts = no;
}

static void better_name(uint32_t *name, unsigned *rank, uint32_t id, unsigned its_rank)
{
	if (id && its_rank > *rank) {
		*name = id;
		*rank = its_rank;
	}
}

static int describe(struct resolve *r, struct request *q, struct err *err)
{
	unsigned rank = 0;
	bool batch = false;
	int res = order_sort(r, r->leg_order + q->legs_from, q->n_legs, leg_cmp, err);
	if (!res)
		res = order_sort(r, r->life_order + q->lives_from, q->n_lives, life_cmp, err);
	if (res)
		return res;
	uint32_t errors = 0, retries = 0;
	for (uint32_t i = 0; i < q->n_lives; i++) {
		const struct life *l = life_at(r, r->life_order[q->lives_from + i]);
		q->first = earlier(q->first, l->lo);
		q->last = later(q->last, l->hi);
		q->conflict |= l->conflict;
		if (!q->tenant)
			q->tenant = l->tenant;
		if (!q->model)
			q->model = l->model;
		batch |= l->batch > 1 && !l->element;
		int64_t status = life_status(r, l);
		errors = MAX(errors, MAX(l->prefill_errors, l->decode_errors) +
					 (l->final && status != UNKNOWN && status < 400));
		retries = MAX(retries, l->retries + 1);
		better_name(&q->name, &rank, l->gateway_id, 8);
		better_name(&q->name, &rank, l->response_id, 4);
		better_name(&q->name, &rank, l->trace_id, 1);
		if (l->rooms)
			better_name(&q->name, &rank,
				    ((const struct room_node *)shelf_at(&r->rooms, l->rooms - 1))->room, 2);
	}
	for (uint32_t i = 0; i < q->n_legs; i++) {
		const struct leg *l = leg_at(r, r->leg_order[q->legs_from + i]);
		q->first = earlier(q->first, l->lo);
		q->last = later(q->last, l->hi);
		q->conflict |= l->conflict;
		batch |= l->batch > 1;
		better_name(&q->name, &rank, l->rid, l->role == ROLE_DECODE || l->role == ROLE_UNIFIED ? 6 : 5);
		better_name(&q->name, &rank, l->room, 3);
	}
	for (uint32_t i = 0; i < q->n_legs && !q->model; i++)
		q->model = leg_at(r, r->leg_order[q->legs_from + i])->model;
	q->conflict |= response_conflicts(r, q);
	attempts(r, q, batch);
	if (!batch)
		q->attempts = MAX(q->attempts, MAX(errors, retries));
	q->attempts = MAX(q->attempts, 1);
	return q->name ? 0 : names_id(&r->names, TEXT("unnamed"), &q->name, err);
}

struct request_key {
	int64_t first;
	uint32_t name, node, at;
};

static int request_cmp(const void *a, const void *b, void *ctx)
{
	const struct resolve *r = ctx;
	const struct request_key *x = a, *y = b;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	int c = x->name == y->name ? 0 : text_cmp(names_text(&r->names, x->name), names_text(&r->names, y->name));
	return c ? c : x->node < y->node ? -1 : x->node > y->node;
}

static int requests_order(struct resolve *r, struct err *err)
{
	uint32_t n = r->requests.n;
	struct request_key *keys = scratch_alloc(&r->scratch, (size_t)n + 1, sizeof(*keys));
	r->request_order = scratch_alloc(&r->scratch, (size_t)n + 1, sizeof(*r->request_order));
	int res = keys && r->request_order ? 0 : err_nomem(err);
	for (uint32_t i = 0; i < n && !res; i++) {
		const struct request *q = shelf_at(&r->requests, i);
		keys[i] = (struct request_key){q->first, q->name, q->node, i};
		res = resolve_tick(r, err);
	}
	if (!res)
		res = sort_items(r, keys, n, sizeof(*keys), request_cmp, r, err);
	for (uint32_t i = 0; i < n && !res; i++)
		r->request_order[i] = keys[i].at;
	return res;
}

static int unique_name(struct resolve *r, struct request *q, struct err *err)
{
	uint32_t base = q->name, id = base;
	while (name_at(&r->names, id)->chain) {
		char line[NAME_MAX_BYTES + 32];
		struct text t = text_sub(names_text(&r->names, base), 0, NAME_MAX_BYTES);
		int n = snprintf(line, sizeof(line), "%.*s#%u", TEXT_ARG(t), ++name_at(&r->names, base)->chain);
		int res = names_id(&r->names, (struct text){line, MIN((size_t)MAX(n, 0), sizeof(line) - 1)}, &id, err);
		if (res)
			return res;
	}
	name_at(&r->names, id)->chain++;
	q->name = id;
	return 0;
}

int join_all(struct resolve *r, struct err *err)
{
	int res = join_nodes(r, err);
	if (!res)
		res = group(r, err);
	for (uint32_t i = 0; i < r->requests.n && !res; i++) {
		res = describe(r, shelf_at(&r->requests, i), err);
		if (!res)
			res = resolve_tick(r, err);
	}
	if (!res)
		res = requests_order(r, err);
	for (uint32_t i = 0; i < r->requests.n && !res; i++) {
		struct request *q = shelf_at(&r->requests, r->request_order[i]);
		q->id = (int64_t)i + 1;
		res = unique_name(r, q, err);
		if (!res)
			res = resolve_tick(r, err);
	}
	return res;
}
