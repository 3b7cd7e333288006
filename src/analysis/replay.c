/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - the allocator of replay.h, step by step
 *
 * Free pages are bits: the free list is sorted at any time, because it begins so, is taken from the front, and is sorted
 * again when released pages are merged in. So taking n pages is taking the n lowest bits from a cursor on, and merging
 * is an OR over the words that were released into. Cost: pages taken, plus words passed over.
 */
#include "replay.h"
#include "pagetrail/array.h"

#include <stdlib.h>
#include <string.h>

#include "pagetrail/limits.h"

/* A step of one leg costs about as much as so many pages of a prompt. */
#define STEP_WORK 64

struct holding { /* a leg that holds pages */
	struct page_run *runs;
	uint32_t n, cap;
	uint64_t next, last; /* next page that decoding will fill, one behind its last; numbers within the request */
};

struct pool {
	uint64_t *free, *released; /* bit = page */
	uint32_t *content;         /* owner; 0: nobody */
	uint32_t page_size, n_pages;
	uint64_t n_free, n_released;
	size_t cursor, from, to; /* words: no free page before it; released ones are in from … to - 1 */
};

struct moment {
	int64_t ns;
	uint32_t leg;
};

struct machine {
	struct pool_replay *ret;
	struct pool_leg *legs;
	struct holding *held; /* by leg */
	struct pool pool;
	struct moment *heap;         /* what the legs that hold pages do next */
	size_t n_heap, active, wait; /* wait: first leg that has no pages yet */
	size_t asked;                /* legs that have asked */
	uint64_t work, work_max;
};

/* ---- bits ---- */
static unsigned lowest(uint64_t w)
{
	return (unsigned)__builtin_ctzll(w);
}

static void bits_set(uint64_t *bits, uint64_t first, uint64_t count)
{
	while (count) {
		unsigned at = (unsigned)(first % 64);
		uint64_t n = MIN(count, (uint64_t)(64 - at));
		bits[first / 64] |= (n == 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1) << at;
		first += n;
		count -= n;
	}
}

static int pool_init(struct pool *p, uint32_t n_pages, uint32_t page_size, struct err *err)
{
	size_t words = (size_t)n_pages / 64 + 1;
	p->n_pages = n_pages;
	p->page_size = page_size;
	p->free = calloc(words, sizeof(*p->free));
	p->released = calloc(words, sizeof(*p->released));
	p->content = calloc((size_t)n_pages + 1, sizeof(*p->content));
	if (!p->free || !p->released || !p->content)
		return err_nomem(err);
	bits_set(p->free, 1, n_pages);
	p->n_free = n_pages;
	p->from = SIZE_MAX;
	return 0;
}

static void merge(struct machine *m)
{
	struct pool *p = &m->pool;
	if (!p->n_released)
		return;
	for (size_t w = p->from; w < p->to; w++) {
		p->free[w] |= p->released[w];
		p->released[w] = 0;
	}
	m->work += p->to - p->from;
	p->cursor = MIN(p->cursor, p->from);
	p->n_free += p->n_released;
	p->n_released = 0;
	p->from = SIZE_MAX;
	p->to = 0;
}

static int hold(struct holding *h, uint32_t first, uint32_t count, struct err *err)
{
	struct page_run *last = h->n ? &h->runs[h->n - 1] : NULL;
	if (last && last->first + last->count == first) {
		last->count += count;
		return 0;
	}
	if (h->n == h->cap) {
		uint32_t cap = h->cap ? h->cap * 2 : 4;
		struct page_run *more = realloc(h->runs, cap * sizeof(*more));
		if (!more)
			return err_nomem(err);
		h->runs = more;
		h->cap = cap;
	}
	h->runs[h->n++] = (struct page_run){first, count};
	return 0;
}

/* n pages from the front; there are as many. */
static int take(struct machine *m, struct holding *h, uint64_t n, struct err *err)
{
	struct pool *p = &m->pool;
	p->n_free -= n;
	m->work += n;
	while (n) {
		uint64_t w = p->free[p->cursor];
		if (!w) {
			p->cursor++;
			m->work++;
			continue;
		}
		unsigned at = lowest(w), run = ~(w >> at) ? lowest(~(w >> at)) : 64;
		uint32_t count = (uint32_t)MIN((uint64_t)MIN(run, 64 - at), n);
		uint64_t taken = (count == 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1) << at;
		p->free[p->cursor] &= ~taken;
		int rc = hold(h, (uint32_t)(p->cursor * 64 + at), count, err);
		if (rc < 0)
			return rc;
		n -= count;
	}
	return 0;
}

static void release(struct machine *m, struct holding *h)
{
	struct pool *p = &m->pool;
	for (uint32_t i = 0; i < h->n; i++) {
		uint64_t first = h->runs[i].first, count = h->runs[i].count;
		bits_set(p->released, first, count);
		p->n_released += count;
		p->from = MIN(p->from, (size_t)(first / 64));
		p->to = MAX(p->to, (size_t)((first + count - 1) / 64 + 1));
	}
	m->work += h->n;
	free(h->runs);
	h->runs = NULL;
	h->n = h->cap = 0;
}

/* ---- what pages hold ---- */
static void fill(struct pool *p, const struct holding *h, uint64_t from, uint64_t to, uint32_t owner)
{
	uint64_t at = 0; /* number within the request of the run's first page */
	for (uint32_t i = 0; i < h->n && at < to; at += h->runs[i++].count)
		for (uint64_t k = MAX(from, at); k < MIN(to, at + h->runs[i].count); k++)
			p->content[h->runs[i].first + (k - at)] = owner;
}

static int share(struct machine *m, struct map *seen, size_t base, uint32_t leg, uint32_t owner, uint64_t pages,
		 struct err *err)
{
	struct pool_replay *r = m->ret;
	const uint32_t *it = map_find(seen, owner);
	if (it) {
		r->shares[base + *it].pages += pages;
		return 0;
	}
	if (grow_array((void **)&r->shares, &r->cap, r->n, sizeof(*r->shares), err))
		return ERR_NOMEM;
	r->shares[r->n] = (struct pool_share){leg, owner, pages};
	return map_put(seen, owner, (uint32_t)(r->n++ - base), err);
}

static int share_cmp(const void *a, const void *b)
{
	const struct pool_share *x = a, *y = b;
	return (x->owner > y->owner) - (x->owner < y->owner);
}

/* Whose content is in pages from … to - 1 of this leg? */
static int look(struct machine *m, uint32_t leg, uint64_t from, uint64_t to, struct err *err)
{
	const struct holding *h = &m->held[leg];
	struct pool_leg *l = &m->legs[leg];
	struct map seen = {0};
	size_t base = m->ret->n;
	uint64_t at = 0;
	int rc = 0;
	for (uint32_t i = 0; i < h->n && at < to && rc == 0; at += h->runs[i++].count)
		for (uint64_t k = MAX(from, at), same; k < MIN(to, at + h->runs[i].count) && rc == 0; k += same) {
			const uint32_t *c = &m->pool.content[h->runs[i].first + (k - at)];
			uint64_t end = MIN(to, at + h->runs[i].count) - k;
			for (same = 1; same < end && c[same] == *c; same++)
				;
			if (*c == l->owner) /* an earlier attempt of its own */
				continue;
			l->foreign += same;
			rc = share(m, &seen, base, leg, *c, same, err);
		}
	map_done(&seen);
	if (m->ret->n > base)
		qsort(m->ret->shares + base, m->ret->n - base, sizeof(*m->ret->shares), share_cmp);
	return rc;
}

/* ---- the heap: by time, then leg ---- */
static bool sooner(struct moment a, struct moment b)
{
	return a.ns != b.ns ? a.ns < b.ns : a.leg < b.leg;
}

static void heap_put(struct machine *m, struct moment e)
{
	size_t i = m->n_heap++;
	for (; i && sooner(e, m->heap[(i - 1) / 2]); i = (i - 1) / 2)
		m->heap[i] = m->heap[(i - 1) / 2];
	m->heap[i] = e;
}

static struct moment heap_take(struct machine *m)
{
	struct moment top = m->heap[0], last = m->heap[--m->n_heap];
	size_t i = 0, child;
	while ((child = 2 * i + 1) < m->n_heap) {
		if (child + 1 < m->n_heap && sooner(m->heap[child + 1], m->heap[child]))
			child++;
		if (!sooner(m->heap[child], last))
			break;
		m->heap[i] = m->heap[child];
		i = child;
	}
	m->heap[i] = last;
	return top;
}

/* Tokens come evenly between the first and the end. */
static struct moment next_of(const struct machine *m, uint32_t leg, int64_t now)
{
	const struct pool_leg *l = &m->legs[leg];
	const struct holding *h = &m->held[leg];
	if (h->next >= h->last)
		return (struct moment){MAX(l->end_ns, now), leg};
	double from = (double)MAX(l->decode_ns, l->start_ns), span = (double)l->end_ns - from;
	double part = (double)(h->next * m->pool.page_size - l->prompt) / (double)(l->output - 1);
	double at = from + MAX(span, 0.0) * part;
	return (struct moment){MAX(at >= (double)l->end_ns ? l->end_ns : (int64_t)at, now), leg};
}

static uint64_t pages_for(const struct pool *p, uint64_t tokens)
{
	return tokens / p->page_size + (tokens % p->page_size != 0);
}

/* ---- what legs do ---- */
static int place(struct machine *m, uint32_t leg, int64_t now, struct err *err)
{
	struct pool_leg *l = &m->legs[leg];
	struct holding *h = &m->held[leg];
	struct pool *p = &m->pool;
	uint64_t need = pages_for(p, l->prompt), filled = MIN(pages_for(p, l->arrived), need);
	/* alloc() of a pool of tokens merges when it must, alloc_extend() of pages a little before */
	if (need > p->n_free || (p->page_size > 1 && l->prompt / p->page_size + 2 > p->n_free))
		merge(m);
	int rc = take(m, h, need, err);
	if (rc < 0)
		return rc;
	bool decodes = l->output > 1;
	uint64_t read_to = decodes ? l->prompt / p->page_size : need; /* its own token comes into the last one first */
	m->work += need;
	if (l->reads)
		rc = look(m, leg, filled, read_to, err);
	fill(p, h, 0, filled, l->owner);
	if (decodes)
		fill(p, h, read_to, need, l->owner);
	h->next = need;
	h->last = decodes ? MIN(pages_for(p, l->prompt + l->output - 1), need + p->n_pages) : need;
	l->placed = true;
	m->active++;
	if (rc == 0)
		heap_put(m, next_of(m, leg, now));
	return rc;
}

/* In order of arrival, as long as the pool has room. */
static int admit(struct machine *m, int64_t now, struct err *err)
{
	const struct pool *p = &m->pool;
	for (int rc; m->wait < m->asked; m->wait++) {
		const struct pool_leg *l = &m->legs[m->wait];
		uint64_t available = p->n_free + p->n_released, reserved = (m->active + 1) * REPLAY_RESERVED_TOKENS;
		if (l->end_ns < now || pages_for(p, l->prompt) > p->n_pages)
			continue; /* it ended without having been given any */
		if (m->active && l->prompt + reserved > available * p->page_size)
			return 0;
		if (pages_for(p, l->prompt) > available)
			return 0;
		rc = place(m, (uint32_t)m->wait, now, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int step(struct machine *m, struct moment e, struct err *err)
{
	struct holding *h = &m->held[e.leg];
	struct pool *p = &m->pool;
	if (h->next >= h->last) {
		release(m, h);
		m->active--;
		return admit(m, e.ns, err);
	}
	if (!p->n_free)
		merge(m);
	m->work += STEP_WORK;
	if (p->n_free) {
		int rc = take(m, h, 1, err);
		if (rc < 0)
			return rc;
		const struct page_run *last = &h->runs[h->n - 1];
		p->content[last->first + last->count - 1] = m->legs[e.leg].owner;
	} else {
		m->ret->retracted++;
	}
	h->next++;
	heap_put(m, next_of(m, e.leg, e.ns));
	return 0;
}

static int drive(struct machine *m, size_t n, bool (*stop)(const void *), const void *ctx, struct err *err)
{
	int rc = 0;
	for (uint32_t turn = 0; rc == 0 && (m->asked < n || m->n_heap); turn++) {
		if (m->work > m->work_max) {
			m->ret->too_long = true;
			return 0;
		}
		if (stop && turn % 1024 == 0 && stop(ctx))
			return err_set(err, ERR_INTERRUPTED, "stopped");
		/* what ends when another begins has ended before */
		if (m->n_heap && (m->asked == n || m->heap[0].ns <= m->legs[m->asked].start_ns)) {
			rc = step(m, heap_take(m), err);
		} else {
			int64_t now = m->legs[m->asked++].start_ns;
			rc = admit(m, now, err);
		}
	}
	return rc;
}

int pool_replay(struct pool_replay *ret, const struct pool_model *model, struct pool_leg *legs, size_t n,
		bool (*stop)(const void *ctx), const void *ctx, struct err *err)
{
	struct machine m = {.ret = ret, .legs = legs, .work_max = model->work_max ? model->work_max : REPLAY_WORK_MAX};
	*ret = (struct pool_replay){0};
	m.held = calloc(n + 1, sizeof(*m.held));
	m.heap = calloc(n + 1, sizeof(*m.heap));
	int rc = m.held && m.heap ? pool_init(&m.pool, model->pool_pages, model->page_size, err) : err_nomem(err);
	if (rc == 0)
		rc = drive(&m, n, stop, ctx, err);
	for (size_t i = 0; i < n && m.held; i++)
		free(m.held[i].runs);
	free(m.held);
	free(m.heap);
	free(m.pool.free);
	free(m.pool.released);
	free(m.pool.content);
	if (rc < 0)
		pool_replay_done(ret);
	return rc;
}

void pool_replay_done(struct pool_replay *r)
{
	free(r->shares);
	*r = (struct pool_replay){0};
}
