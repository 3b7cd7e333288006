/* SPDX-License-Identifier: Apache-2.0 */
/* lineage_pool.c - one pool as the sweep sees it: growth, slots, holds, shares
 *
 * A slot is one alloc, write or recv record that some page still rests on; it dies with its last page. A hold lives
 * from an actor's first page until it has given all back. So memory follows the pool and the live requests, not the
 * log.
 */
#include <stdlib.h>
#include <string.h>

#include "lineage_pool.h"

/* ---- growing things ---- */
int grow32(void **p, uint32_t *cap, uint32_t n, size_t size, struct err *err)
{
	size_t c = *cap;
	int rc = grow_array(p, &c, n, size, err);
	*cap = (uint32_t)c;
	return rc;
}

/* Fresh pages come from calloc, so that a large pool costs only what is touched of it. */
int grow_pages(void **p, size_t size, uint32_t old, uint32_t n, struct err *err)
{
	void *q = calloc(n, size);
	if (!q)
		return err_nomem(err);
	if (*p)
		memcpy(q, *p, old * size);
	free(*p);
	*p = q;
	return 0;
}

int pages_grow(struct page_pool *p, uint32_t end, struct err *err)
{
	if (end > p->top)
		p->top = end;
	if (end <= p->n)
		return 0;
	uint32_t n = p->n ? p->n : 1024;
	while (n < end)
		n *= 2;
	if (p->limit >= end && p->limit < n)
		n = p->limit;
	int rc = grow_pages((void **)&p->pages, sizeof(*p->pages), p->n, n, err);
	if (rc == 0 && p->pend)
		rc = grow_pages((void **)&p->pend, sizeof(*p->pend), p->n, n, err);
	if (rc == 0 && p->attached)
		rc = grow_pages((void **)&p->attached, sizeof(*p->attached), p->n, n, err);
	if (rc == 0)
		p->n = n;
	return rc;
}

void pages_drop(struct page_pool *p)
{
	free(p->pages);
	free(p->pend);
	free(p->attached);
	p->pages = NULL;
	p->pend = p->attached = NULL;
	p->n = 0;
}

int slot_new(struct page_pool *p, uint32_t actor, struct mark at, uint32_t *ret, struct err *err)
{
	uint32_t i = p->free_slot;
	if (i) {
		p->free_slot = p->slots[i].actor;
	} else {
		uint32_t cap = p->cap_slots;
		int rc = grow32((void **)&p->marks, &cap, p->n_slots, sizeof(*p->marks), err);
		if (rc == 0)
			rc = grow32((void **)&p->slots, &p->cap_slots, p->n_slots, sizeof(*p->slots), err);
		if (rc < 0)
			return rc;
		i = p->n_slots++;
	}
	p->slots[i] = (struct slot){.actor = actor};
	p->marks[i] = at;
	*ret = i;
	return 0;
}

void slot_drop(struct page_pool *p, uint32_t i, uint32_t pages)
{
	if (i < SLOTS_FIXED)
		return;
	p->slots[i].pages -= pages;
	if (p->slots[i].pages == 0) {
		p->slots[i].actor = p->free_slot;
		p->free_slot = i;
	}
}

/* ---- holds ---- */
struct hold *hold_find(const struct page_pool *p, uint32_t actor)
{
	uint32_t *i = map_find(&p->holds, actor);
	return i ? &p->hold[*i] : NULL;
}

int hold_get(struct page_pool *p, uint32_t actor, uint32_t no, struct hold **ret, struct err *err)
{
	*ret = hold_find(p, actor);
	if (*ret)
		return 0;
	uint32_t i = p->free_hold;
	if (i) {
		p->free_hold = p->hold[i].first_no;
	} else {
		int rc = grow32((void **)&p->hold, &p->cap_hold, p->n_hold, sizeof(*p->hold), err);
		if (rc < 0)
			return rc;
		i = p->n_hold++;
	}
	p->hold[i] = (struct hold){.actor = actor, .first_no = no, .clean = p->clean};
	*ret = &p->hold[i];
	return map_put(&p->holds, actor, i, err);
}

void hold_drop(struct page_pool *p, struct hold *h)
{
	for (uint32_t i = 0; i < h->n_shares && p->attached; i++)
		for (uint32_t j = 0; j < h->shares[i].count; j++)
			p->attached[h->shares[i].first + j]--;
	map_remove(&p->holds, h->actor);
	free(h->shares);
	free(h->taken);
	runset_done(&h->todo);
	*h = (struct hold){.first_no = p->free_hold};
	p->free_hold = (uint32_t)(h - p->hold);
}

/* Index of the first share that ends behind `page`. */
uint32_t share_at(const struct hold *h, uint32_t page)
{
	uint32_t lo = 0, hi = h->n_shares;
	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		if (h->shares[mid].first + h->shares[mid].count <= page)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Takes [first, end) out of the shares; returns whether anything was there. */
int share_cut(struct page_pool *p, struct hold *h, uint32_t first, uint32_t end, struct err *err)
{
	int any = 0;
	for (uint32_t i = share_at(h, first); i < h->n_shares && h->shares[i].first < end;) {
		struct share old = h->shares[i];
		uint32_t old_end = old.first + old.count, a = MAX(old.first, first), b = MIN(old_end, end);
		for (uint32_t page = a; page < b; page++)
			p->attached[page]--;
		any = 1;
		if (old.first < a && b < old_end) { /* leaves two */
			int rc = grow32((void **)&h->shares, &h->cap_shares, h->n_shares, sizeof(*h->shares), err);
			if (rc < 0)
				return rc;
			memmove(&h->shares[i + 2], &h->shares[i + 1], (h->n_shares - i - 1) * sizeof(*h->shares));
			h->n_shares++;
			h->shares[i] = (struct share){old.first, a - old.first, old.no};
			h->shares[i + 1] = (struct share){b, old_end - b, old.no};
			break;
		}
		if (old.first < a) {
			h->shares[i++].count = a - old.first;
		} else if (b < old_end) {
			h->shares[i++] = (struct share){b, old_end - b, old.no};
		} else {
			memmove(&h->shares[i], &h->shares[i + 1], (h->n_shares - i - 1) * sizeof(*h->shares));
			h->n_shares--;
		}
	}
	return any;
}

int share_add(struct page_pool *p, struct hold *h, uint32_t first, uint32_t end, uint32_t no, struct err *err)
{
	int rc = 0;
	if (!p->attached)
		rc = grow_pages((void **)&p->attached, sizeof(*p->attached), 0, p->n, err);
	if (rc == 0)
		rc = share_cut(p, h, first, end, err);
	if (rc >= 0)
		rc = grow32((void **)&h->shares, &h->cap_shares, h->n_shares, sizeof(*h->shares), err);
	if (rc < 0)
		return rc;
	uint32_t i = share_at(h, first);
	memmove(&h->shares[i + 1], &h->shares[i], (h->n_shares - i) * sizeof(*h->shares));
	h->shares[i] = (struct share){first, end - first, no};
	h->n_shares++;
	for (uint32_t page = first; page < end; page++)
		p->attached[page]++;
	return 0;
}

/* ---- taken ---- */
static uint32_t taken_at(const struct hold *h, uint32_t page)
{
	uint32_t lo = 0, hi = h->n_taken;
	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		if (h->taken[mid].first + h->taken[mid].count <= page)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct mark *taken_find(const struct hold *h, uint32_t page, uint32_t *stop)
{
	uint32_t i = taken_at(h, page);
	if (i == h->n_taken)
		return NULL;
	const struct taken *t = &h->taken[i];
	*stop = MIN(*stop, t->first <= page ? t->first + t->count : t->first);
	return t->first <= page ? &t->at : NULL;
}

/* The newer one wins where pages were taken before. */
int taken_add(struct hold *h, uint32_t first, uint32_t end, struct mark at, struct err *err)
{
	int rc =
	    grow32((void **)&h->taken, &h->cap_taken, h->n_taken + 1, sizeof(*h->taken), err); /* two more at most */
	if (rc < 0)
		return rc;
	uint32_t i = taken_at(h, first);
	struct taken *t = h->taken;
	if (i < h->n_taken && t[i].first < first) {
		struct taken old = t[i];
		t[i++].count = first - old.first;
		if (old.first + old.count > end) { /* leaves two */
			memmove(&t[i + 1], &t[i], (h->n_taken - i) * sizeof(*t));
			t[i] = (struct taken){end, old.first + old.count - end, old.at};
			h->n_taken++;
		}
	}
	uint32_t j = i;
	while (j < h->n_taken && t[j].first + t[j].count <= end)
		j++;
	if (j < h->n_taken && t[j].first < end) {
		t[j].count -= end - t[j].first;
		t[j].first = end;
	}
	memmove(&t[i + 1], &t[j], (h->n_taken - j) * sizeof(*t));
	t[i] = (struct taken){first, end - first, at};
	h->n_taken = h->n_taken - (j - i) + 1;
	return 0;
}
