/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_busy.c - gateway ids with many lifetimes
 *
 * A client may send thousands of requests under one id. Their lifetimes lie far apart in memory, and each record of the id
 * is compared with all of them; so what tells most of them apart is kept here in one row, oldest first. An id gets a list
 * when its chain has become long; whoever changes a lifetime of it says so.
 */
#include <stdlib.h>
#include <string.h>

#include "resolve.h"

void busy_done(struct resolve *r)
{
	for (uint32_t i = 0; i < r->busy.cap; i++)
		free(r->busy.slots[i].list);
	free(r->busy.slots);
	r->busy = (struct busy_names){NULL, 0, 0};
}

static struct busy *busy_slot(const struct resolve *r, uint32_t key)
{
	uint32_t at = (key * 0x9e3779b1u) & (r->busy.cap - 1);
	while (r->busy.slots[at].name && r->busy.slots[at].name != key)
		at = (at + 1) & (r->busy.cap - 1);
	return &r->busy.slots[at];
}

struct busy *busy_find(const struct resolve *r, uint32_t key)
{
	struct busy *b = r->busy.n ? busy_slot(r, key) : NULL;
	return b && b->name ? b : NULL;
}

static int busy_grow(struct resolve *r, struct err *err)
{
	struct busy_names old = r->busy;
	uint32_t cap = old.cap ? old.cap * 2 : 64;
	struct busy *slots = cap > old.cap ? calloc(cap, sizeof(*slots)) : NULL;
	if (!slots)
		return err_nomem(err);
	r->busy = (struct busy_names){slots, old.n, cap};
	for (uint32_t i = 0; i < old.cap; i++)
		if (old.slots[i].name)
			*busy_slot(r, old.slots[i].name) = old.slots[i];
	free(old.slots);
	return 0;
}

static void entry_set(const struct resolve *r, struct busy_life *to, uint32_t life)
{
	const struct life *l = life_at(r, life);
	*to = (struct busy_life){l->lo, l->hi, life, l->tenant, l->start_source, l->final_source};
}

int busy_add(struct resolve *r, struct busy *b, uint32_t life, struct err *err)
{
	if (b->n == b->cap && b->cap >= 2 * LIVES_MAX) { /* only the newest are compared */
		memmove(b->list, b->list + LIVES_MAX, (b->n - LIVES_MAX) * sizeof(*b->list));
		b->n -= LIVES_MAX;
	} else if (b->n == b->cap) {
		uint32_t cap = b->cap ? b->cap * 2 : 2 * CHAIN_MAX;
		struct busy_life *list = realloc(b->list, cap * sizeof(*list));
		if (!list)
			return err_nomem(err);
		b->list = list;
		b->cap = cap;
	}
	entry_set(r, &b->list[b->n++], life);
	return 0;
}

int busy_make(struct resolve *r, uint32_t key, struct err *err)
{
	uint32_t newest[LIVES_MAX], n = 0;
	int res = r->busy.n * 2 >= r->busy.cap ? busy_grow(r, err) : 0;
	if (res)
		return res;
	for (uint32_t i = name_at(&r->names, key)->chain; i && n < LIVES_MAX; i = life_at(r, i - 1)->next)
		newest[n++] = i - 1;
	struct busy *b = busy_slot(r, key);
	b->name = key;
	r->busy.n++;
	while (n && !res)
		res = busy_add(r, b, newest[--n], err);
	return res;
}

void busy_changed(const struct resolve *r, struct busy *b, uint32_t life)
{
	uint32_t lo = 0, hi = b->n;
	while (lo < hi) { /* in order of their numbers */
		uint32_t mid = lo + (hi - lo) / 2;
		if (b->list[mid].life < life)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < b->n && b->list[lo].life == life)
		entry_set(r, &b->list[lo], life);
}
