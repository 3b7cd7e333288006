/* SPDX-License-Identifier: Apache-2.0 */
/* pages.c - what a worker does with pages, each operation with its line in the worker's page log
 *
 * Only reads decide who saw whose content: a page that is read and holds the content of another request is a foreign
 * read, of the kind that the page's own history says. Nothing here knows which request "should" be a victim.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

static const char *leg_rid(const struct model *m, int w, uint32_t a)
{
	return m->worker[w].role == ROLE_PREFILL ? m->attempts[a].prefill_rid : m->attempts[a].rid;
}

static struct lines *log_begin(struct model *m, int w, const char *op)
{
	struct worker *k = &m->worker[w];
	struct lines *l = &k->pages;
	int64_t now = clock_epoch(&k->clock, m->now_us);

	if (!k->page_log || m->rc)
		return NULL;
	lines_begin(m, l, m->now_us);
	lines_put(m, l, "{%s\"ts\":%lld.%06d,\"seq\":%llu,\"worker\":\"%s\",\"op\":\"%s\"", l->n == 1 ? "\"v\":1," : "",
		  (long long)(now / US_PER_S), (int)(now % US_PER_S), (unsigned long long)k->page_seq++, k->name, op);
	return l;
}

static void log_pages(struct model *m, struct lines *l, const uint32_t *at, uint32_t n)
{
	lines_put(m, l, ",\"pages\":[");
	for (uint32_t i = 0, run; i < n && !m->rc; i += run) {
		for (run = 1; i + run < n && at[i + run] == at[i] + run; run++)
			;
		lines_put(m, l, run == 1 ? "%s%u" : "%s[%u,%u]", i ? "," : "", at[i], run);
	}
	lines_put(m, l, "]");
}

static struct lines *log_op(struct model *m, int w, uint32_t a, const char *op, const uint32_t *at, uint32_t n)
{
	struct lines *l = log_begin(m, w, op);

	if (!l)
		return NULL;
	lines_put(m, l, ",\"rid\":\"%s\"", leg_rid(m, w, a));
	if (m->attempts[a].room)
		lines_put(m, l, ",\"room\":%llu", (unsigned long long)m->attempts[a].room);
	log_pages(m, l, at, n);
	return l;
}

static void log_end(struct model *m, struct lines *l)
{
	if (!l)
		return;
	lines_put(m, l, "}");
	lines_end(m, l);
}

void pages_boot(struct model *m, int w)
{
	struct worker *k = &m->worker[w];
	struct lines *l;

	pool_boot(m, &k->pool, k->pool_tokens);
	k->page_seq = 0;
	for (int i = 0; i < TEMPLATES; i++) {
		free(k->prefix[i].pages.at);
		k->prefix[i] = (struct prefix){.owner = NONE};
	}
	l = log_begin(m, w, "boot");
	if (l)
		lines_put(m, l, ",\"page_size\":%d,\"pool_pages\":%u", PAGE_TOKENS, k->pool.n_pages + 1);
	log_end(m, l);
}

bool pages_take(struct model *m, int w, uint32_t a, struct page_list *list, uint32_t n)
{
	struct worker *k = &m->worker[w];
	uint32_t from = list->n;

	while (n > pool_available(&k->pool) && pages_evict(m, w))
		;
	if (!pool_take(m, &k->pool, n, list))
		return false;
	m->step++;
	for (uint32_t i = from; i < list->n; i++) {
		k->pool.page[list->at[i]].owner = a + 1;
		k->pool.page[list->at[i]].allocated = m->step;
	}
	log_end(m, log_op(m, w, a, "alloc", list->at + from, n));
	return true;
}

static void fill(struct model *m, int w, uint32_t a, const uint32_t *at, uint32_t n)
{
	m->step++;
	for (uint32_t i = 0; i < n; i++) {
		m->worker[w].pool.page[at[i]].writer = a + 1;
		m->worker[w].pool.page[at[i]].written = m->step;
	}
}

void pages_write(struct model *m, int w, uint32_t a, const struct page_list *list, uint32_t from, uint32_t n)
{
	if (m->rc || !n)
		return;
	fill(m, w, a, list->at + from, n);
	log_end(m, log_op(m, w, a, "write", list->at + from, n));
}

void pages_recv(struct model *m, int w, uint32_t a, const struct page_list *list, uint32_t from, uint32_t n,
		int64_t tokens)
{
	struct lines *l;

	if (m->rc || !n)
		return;
	fill(m, w, a, list->at + from, n);
	l = log_op(m, w, a, "recv", list->at + from, n);
	if (l)
		lines_put(m, l, ",\"tokens\":[%lld,%lld],\"peer\":\"%s\"", (long long)from * PAGE_TOKENS,
			  (long long)tokens, m->worker[m->attempts[a].prefill].name);
	log_end(m, l);
}

void pages_send(struct model *m, int w, uint32_t a, const struct page_list *list)
{
	struct lines *l = log_op(m, w, a, "send", list->at, list->n);

	if (l)
		lines_put(m, l, ",\"peer\":\"%s\"", m->worker[m->attempts[a].decode].name);
	log_end(m, l);
}

void pages_read(struct model *m, int w, uint32_t a, const struct page_list *list)
{
	const struct pool *p = &m->worker[w].pool;
	uint32_t reader = m->attempts[a].request;

	m->step++;
	for (uint32_t i = 0; i < list->n && !m->rc; i++) {
		const struct page *g = &p->page[list->at[i]];
		uint32_t owner;

		if (!g->writer) {
			truth_read(m, reader, w, list->at[i], KIND_UNINITIALISED, NONE);
			continue;
		}
		owner = m->attempts[g->writer - 1].request;
		if (owner == reader)
			continue;
		truth_read(m, reader, w, list->at[i],
			   i < list->shared            ? KIND_SHARED
			   : g->written > g->allocated ? KIND_LATE_WRITE
						       : KIND_STALE,
			   owner);
	}
	log_end(m, log_op(m, w, a, "read", list->at, list->n));
}

void pages_free(struct model *m, int w, uint32_t a, struct page_list *list)
{
	uint32_t own = list->n - list->shared;

	if (own && !m->rc) {
		log_end(m, log_op(m, w, a, "free", list->at + list->shared, own));
		pool_give(&m->worker[w].pool, list->at + list->shared, own);
	}
	list->n = list->shared = 0;
}

/* ---- the prefix cache: whole pages of a prompt's template stay behind when the first request that brought it ends */

int64_t template_tokens(int template_no)
{
	return template_no < 0 ? 0 : (int64_t)PAGE_TOKENS * (16 + 9 * template_no);
}

uint32_t pages_shareable(const struct model *m, int w, uint32_t a)
{
	int t = m->requests[m->attempts[a].request].template_no;

	return m->worker[w].radix && t >= 0 && m->worker[w].prefix[t].owner != NONE ? m->worker[w].prefix[t].pages.n
										    : 0;
}

void pages_share(struct model *m, int w, uint32_t a, struct page_list *list)
{
	struct prefix *x;

	if (!pages_shareable(m, w, a) || m->rc)
		return;
	x = &m->worker[w].prefix[m->requests[m->attempts[a].request].template_no];
	free(list->at);
	list->at = malloc(sizeof(*list->at) * x->pages.n);
	if (!list->at) {
		model_fail(m, err_nomem(m->err));
		return;
	}
	memcpy(list->at, x->pages.at, sizeof(*list->at) * x->pages.n);
	list->n = list->cap = list->shared = x->pages.n;
	x->refs++;
	x->used_us = m->now_us;
	log_end(m, log_op(m, w, a, "share", list->at, list->n));
}

uint32_t pages_keep(struct model *m, int w, uint32_t a, struct page_list *list)
{
	const struct request *r = &m->requests[m->attempts[a].request];
	struct prefix *x;
	uint32_t n = (uint32_t)(template_tokens(r->template_no) / PAGE_TOKENS);

	if (!m->worker[w].radix || r->template_no < 0 || m->rc)
		return 0;
	x = &m->worker[w].prefix[r->template_no];
	if (list->shared) {
		x->refs--;
		return 0;
	}
	if (x->owner != NONE || list->n < n)
		return 0; /* somebody was faster: this copy is freed with the rest */
	x->pages = (struct page_list){0};
	x->pages.at = malloc(sizeof(*list->at) * n);
	if (!x->pages.at) {
		model_fail(m, err_nomem(m->err));
		return 0;
	}
	memcpy(x->pages.at, list->at, sizeof(*list->at) * n);
	x->pages.n = x->pages.cap = n;
	x->owner = a;
	x->refs = 0;
	x->used_us = m->now_us;
	list->shared = n; /* so that pages_free() leaves them */
	return n;
}

bool pages_evict(struct model *m, int w)
{
	struct prefix *oldest = NULL;

	for (int i = 0; i < TEMPLATES; i++) {
		struct prefix *x = &m->worker[w].prefix[i];

		if (x->owner != NONE && !x->refs && (!oldest || x->used_us < oldest->used_us))
			oldest = x;
	}
	if (!oldest || m->rc)
		return false;
	pages_free(m, w, oldest->owner, &oldest->pages);
	free(oldest->pages.at);
	*oldest = (struct prefix){.owner = NONE};
	return true;
}
