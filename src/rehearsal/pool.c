/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - the paged allocator of the disaggregated modes, and the state of every page
 *
 * Pages are taken from the front of the free list. Freed ones go to a release list, which is merged and sorted into the
 * free list only when that runs short: so the whole pool is used in turn, and a page keeps its last content for a long
 * time. Freeing clears the owner and never the content. With model.shuffled the free list is shuffled where it would be
 * sorted.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

static void shuffle(struct model *m, uint32_t *at, uint32_t n)
{
	for (uint32_t i = n; i > 1; i--) {
		uint32_t k = (uint32_t)rng_below(&m->shuffle, i), x = at[k];

		at[k] = at[i - 1];
		at[i - 1] = x;
	}
}

void pool_boot(struct model *m, struct pool *p, int64_t tokens)
{
	uint32_t n = (uint32_t)(tokens / PAGE_TOKENS);

	pool_done(p);
	p->page = calloc(n + 1, sizeof(*p->page));
	p->free = malloc(sizeof(*p->free) * n);
	p->released = malloc(sizeof(*p->released) * n);
	if (!p->page || !p->free || !p->released) {
		model_fail(m, err_nomem(m->err));
		pool_done(p);
		return;
	}
	p->n_pages = n;
	for (uint32_t i = 0; i < n; i++)
		p->free[i] = i + 1;
	p->n_free = n;
	if (m->shuffled)
		shuffle(m, p->free, n);
}

void pool_done(struct pool *p)
{
	free(p->page);
	free(p->free);
	free(p->released);
	*p = (struct pool){0};
}

uint32_t pool_available(const struct pool *p)
{
	return p->n_free + p->n_released;
}

static int number_cmp(const void *pa, const void *pb)
{
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;

	return a < b ? -1 : a > b;
}

static void pool_merge(struct model *m, struct pool *p)
{
	memmove(p->free, p->free + p->free_head, sizeof(*p->free) * p->n_free);
	memcpy(p->free + p->n_free, p->released, sizeof(*p->free) * p->n_released);
	p->free_head = 0;
	p->n_free += p->n_released;
	p->n_released = 0;
	if (m->shuffled)
		shuffle(m, p->free, p->n_free);
	else
		qsort(p->free, p->n_free, sizeof(*p->free), number_cmp);
}

bool pool_take(struct model *m, struct pool *p, uint32_t n, struct page_list *to)
{
	if (m->rc || n > pool_available(p))
		return false;
	if (n > p->n_free)
		pool_merge(m, p);
	if (to->n + n > to->cap) {
		uint32_t cap = MAX(to->n + n, 8);
		uint32_t *q = realloc(to->at, sizeof(*q) * cap);

		if (!q) {
			model_fail(m, err_nomem(m->err));
			return false;
		}
		to->at = q;
		to->cap = cap;
	}
	memcpy(to->at + to->n, p->free + p->free_head, sizeof(*to->at) * n);
	to->n += n;
	p->free_head += n;
	p->n_free -= n;
	return true;
}

void pool_give(struct pool *p, const uint32_t *pages, uint32_t n)
{
	memcpy(p->released + p->n_released, pages, sizeof(*pages) * n);
	p->n_released += n;
	for (uint32_t i = 0; i < n; i++)
		p->page[pages[i]].owner = 0;
}
