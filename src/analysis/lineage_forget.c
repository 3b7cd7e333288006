/* SPDX-License-Identifier: Apache-2.0 */
/* lineage_forget.c - forgets actors that nothing rests on any more, so that memory follows pools and not the log
 *
 * An actor that the case knows no request for is needed as long as it holds pages, pages hold its content, a read waits
 * or an edge names it. When it comes back it is a new actor of the same name. Two things would then be judged differently:
 * a read by one that holds nothing, and a transfer under a room that nobody has open; the run that meets one of them
 * after something was forgotten starts again, and forgets nothing (lineage_run()).
 */
#include <stdlib.h>
#include <string.h>

#include "lineage_order.h"
#include "lineage_pool.h"

static void mark_pool(const struct page_pool *p, uint8_t *live)
{
	for (uint32_t i = SLOTS_FIXED; i < p->n_slots; i++)
		if (p->slots[i].pages)
			live[p->slots[i].actor] = 1;
	for (uint32_t i = 1; i < p->n_hold; i++)
		live[p->hold[i].actor] = 1;
	for (uint32_t page = 0; p->pend && page < p->top; page++)
		for (uint32_t i = p->pend[page]; i; i = p->pends[i - 1].next)
			live[p->pends[i - 1].reader] = live[p->pends[i - 1].owner] = 1;
}

static void sweep_mark(const struct sweep *s, uint8_t *live)
{
	for (uint32_t i = 0; i < s->n_pools; i++)
		mark_pool(&s->pools[i], live);
	for (size_t i = 0; i < s->n_edges; i++)
		live[s->edges[i].reader] = live[s->edges[i].owner] = 1;
}

static int renumber_pool(struct page_pool *p, const uint32_t *to, struct err *err)
{
	int rc = 0;
	for (uint32_t i = SLOTS_FIXED; i < p->n_slots; i++)
		if (p->slots[i].pages)
			p->slots[i].actor = to[p->slots[i].actor];
	map_done(&p->holds);
	for (uint32_t i = 1; i < p->n_hold && rc == 0; i++) {
		p->hold[i].actor = to[p->hold[i].actor];
		if (p->hold[i].actor)
			rc = map_put(&p->holds, p->hold[i].actor, i, err);
	}
	for (uint32_t page = 0; p->pend && page < p->top; page++) {
		for (uint32_t i = p->pend[page]; i; i = p->pends[i - 1].next) {
			p->pends[i - 1].reader = to[p->pends[i - 1].reader];
			p->pends[i - 1].owner = to[p->pends[i - 1].owner];
		}
	}
	map_done(&p->edges);
	return rc;
}

/* Whoever holds something is not forgotten. */
static int hold_covers(struct sweep *s, struct err *err)
{
	for (uint32_t i = 0; i < s->n_pools; i++)
		for (uint32_t k = 1; k < s->pools[i].n_hold; k++) {
			struct hold *h = &s->pools[i].hold[k];
			const struct cover *c = h->actor ? covers_find(&s->covers, h->actor) : NULL;
			if (h->actor && !c)
				return err_set(err, ERR_BUG, "a request that holds pages was forgotten");
			h->cover = c ? (uint32_t)(c - s->covers.list) : 0;
		}
	return 0;
}

static int sweep_renumber(struct sweep *s, const uint32_t *to, struct err *err)
{
	int rc = 0;
	s->strange = false;
	for (uint32_t i = 0; i < s->n_pools && rc == 0; i++)
		rc = renumber_pool(&s->pools[i], to, err);
	for (size_t i = 0; i < s->n_edges && rc == 0; i++) {
		struct edge *e = &s->edges[i];
		e->reader = to[e->reader];
		e->owner = to[e->owner];
		rc = map_put(&s->pools[e->pool].edges, edge_key(e->reader, e->owner, e->kind), (uint32_t)i, err);
	}
	if (rc == 0)
		rc = covers_renumber(&s->covers, to, err);
	if (rc == 0)
		rc = hold_covers(s, err);
	return rc;
}

/* Rids have new numbers too. */
static int wrote_renumber(struct map *wrote, const uint32_t *to, struct err *err)
{
	struct map old = *wrote;
	int rc = 0;
	*wrote = (struct map){0};
	for (size_t i = 0; i < old.cap && rc == 0; i++)
		if (old.keys[i] && to[old.keys[i] - 1])
			rc = map_put(wrote, to[old.keys[i] - 1], 1, err);
	map_done(&old);
	return rc;
}

int run_forget(struct run *r, struct err *err)
{
	struct lineage *l = r->l;
	size_t names = actors_names(l->actors), n = (size_t)actors_count(l->actors) + 1;
	if (r->keep || names < r->forget_at)
		return 0;
	uint8_t *live = calloc(n, 1);
	uint32_t *to = calloc(n, sizeof(*to)), *names_to = calloc(names, sizeof(*names_to));
	int rc = live && to && names_to ? 0 : err_nomem(err);
	for (uint32_t i = 0; rc == 0 && i < l->n_workers; i++)
		if (l->workers[i].sweep)
			sweep_mark(l->workers[i].sweep, live);
	if (rc == 0)
		rc = actors_forget(l->actors, live, to, names_to, err);
	for (uint32_t i = 0; rc == 0 && i < l->n_workers; i++) {
		if (l->workers[i].sweep)
			rc = sweep_renumber(l->workers[i].sweep, to, err);
		if (rc == 0)
			rc = wrote_renumber(&l->workers[i].order->wrote, names_to, err);
	}
	if (rc == 0) {
		r->forgot |= actors_names(l->actors) < names;
		r->forget_at = MAX(r->forget_from, 2 * actors_names(l->actors));
	}
	free(live);
	free(to);
	free(names_to);
	return rc;
}
