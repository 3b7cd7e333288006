/* SPDX-License-Identifier: Apache-2.0 */
/* lineage_sweep.c - the sweep: page operations of one worker, in order, give the foreign reads
 *
 * Per page two numbers: the slots of the last alloc, whose actor is the owner until it gives the page back, and of the
 * content. Stretches of pages that fare alike are judged at once (lineage_read.c).
 */
#include <stdlib.h>
#include <string.h>

#include "lineage_pool.h"

/* ---- the other operations, on pages [first, end) ---- */
/* In a log without reads: whoever holds a page that another one changed will look at it in its next step. */
static int tell_holders(struct sweep *s, uint32_t pool, uint32_t actor, uint32_t first, uint32_t end, struct err *err)
{
	struct page_pool *p = &s->pools[pool];
	for (uint32_t page = first; page < end; page++) {
		uint32_t owner = page_owner(p, page);
		if (owner && owner != actor) {
			struct hold *h = hold_find(p, owner);
			int rc = h ? runset_add(&h->todo, page, 1, err) : 0;
			if (rc < 0)
				return rc;
		}
		if (!p->attached || !p->attached[page])
			continue;
		for (uint32_t i = 1; i < p->n_hold; i++) {
			struct hold *h = &p->hold[i];
			uint32_t at = h->actor && h->n_shares ? share_at(h, page) : h->n_shares;
			if (at >= h->n_shares || h->shares[at].first > page)
				continue;
			int rc = runset_add(&h->todo, page, 1, err);
			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

/* Whoever still holds something keeps in mind when it took these pages, which rest on one alloc. */
static int keep_alloc(struct page_pool *p, uint32_t actor, uint32_t first, uint32_t end, struct err *err)
{
	uint32_t slot = p->pages[first].alloc;
	uint32_t by = p->slots[slot].actor;
	struct hold *h = slot && by != actor ? hold_find(p, by) : NULL;
	return h && p->marks[slot].no >= h->first_no ? taken_add(h, first, end, p->marks[slot], err) : 0;
}

/* The pages are alike. false: it owned them before. */
static bool change_owner(struct sweep *s, struct page_pool *p, uint32_t actor, struct hold *h, uint32_t first,
			 uint32_t end)
{
	uint32_t old = page_owner(p, first);
	if (old == actor)
		return false;
	if (old) { /* taken from a living owner: its free was never seen */
		cover_break(s, old);
		struct hold *other = hold_find(p, old);
		if (other)
			other->owned -= MIN(other->owned, end - first);
		seen_taken(other, p->pages[first].seen, end - first);
	}
	h->owned += end - first;
	seen_owned(s, h, first, end);
	return true;
}

static int alloc_pages(struct sweep *s, const struct sweep_op *op, struct hold *h, uint32_t slot, uint32_t first,
		       uint32_t end, struct err *err)
{
	struct page_pool *p = &s->pools[op->pool];
	p->slots[slot].pages += end - first;
	for (uint32_t page = first, stop; page < end; page = stop) {
		stop = page_alike(p, page, end);
		struct page old = p->pages[page], now = {.alloc = slot, .owned = true, .content = old.content};
		int rc = keep_alloc(p, op->actor, page, stop, err);
		if (rc < 0)
			return rc;
		now.seen = change_owner(s, p, op->actor, h, page, stop) ? SEEN_NOT : old.seen;
		for (uint32_t i = page; i < stop; i++)
			p->pages[i] = now;
		slot_drop(p, old.alloc, stop - page);
	}
	if (s->implied && p->attached) {
		int rc = tell_holders(s, op->pool, op->actor, first, end, err);
		if (rc < 0)
			return rc;
	}
	return s->implied ? runset_add(&h->todo, first, end - first, err) : 0;
}

/* Points pages to the slot of their new content; returns how many held none of the actor's before. */
static uint64_t set_content(const struct sweep *s, struct page_pool *p, uint32_t actor, uint32_t slot, uint32_t first,
			    uint32_t end)
{
	uint64_t others = 0;
	p->slots[slot].pages += end - first;
	for (uint32_t page = first, stop; page < end; page = stop) {
		uint32_t old = p->pages[page].content;
		for (stop = page; stop < end && p->pages[stop].content == old; stop++)
			p->pages[stop].content = slot;
		if (old < SLOTS_FIXED || p->slots[old].actor != actor)
			others += pages_in(s, page, stop);
		slot_drop(p, old, stop - page);
	}
	return others;
}

static int write_pages(struct sweep *s, const struct sweep_op *op, struct hold *h, uint32_t slot, uint32_t first,
		       uint32_t end, struct err *err)
{
	struct page_pool *p = &s->pools[op->pool];
	int rc = 0;
	if (op->op == OP_WRITE)
		seen_written(p, h, first, end);
	if (op->op != OP_ZERO && op->content && p->live_pends)
		rc = pend_settle(s, op->pool, op->content, first, end, true, err);
	if (rc == 0 && s->implied)
		rc = tell_holders(s, op->pool, op->op == OP_ZERO ? 0 : op->content, first, end, err);
	uint64_t others = set_content(s, p, op->content, slot, first, end);
	if (h && op->op == OP_RECV)
		seen_got(s, h, others);
	return rc;
}

static int free_pages(struct sweep *s, const struct sweep_op *op, struct hold *h, uint32_t first, uint32_t end,
		      struct err *err)
{
	struct page_pool *p = &s->pools[op->pool];
	int rc = p->live_pends ? pend_settle(s, op->pool, op->actor, first, end, false, err) : 0;
	if (rc == 0 && h && h->n_shares)
		rc = share_cut(p, h, first, end, err);
	for (uint32_t page = first, stop; rc >= 0 && page < end; page = stop) {
		uint32_t old = page_owner(p, page);
		stop = page_alike(p, page, end);
		if (!old || (op->actor && old != op->actor)) /* a prefix given back by one that does not own it */
			continue;
		struct hold *holder = old == op->actor ? h : hold_find(p, old);
		if (holder) {
			holder->owned -= MIN(holder->owned, stop - page);
			seen_given_back(s, holder, p->pages[page].seen, page, stop);
		}
		for (uint32_t i = page; i < stop; i++)
			p->pages[i].owned = false;
	}
	return MIN(rc, 0);
}

/* ---- pools ---- */
static int pool_get(struct sweep *s, uint32_t pool, struct err *err)
{
	if (pool < s->n_pools)
		return 0;
	struct page_pool *pools = realloc(s->pools, (pool + 1) * sizeof(*pools));
	if (!pools)
		return err_nomem(err);
	s->pools = pools;
	for (; s->n_pools <= pool; s->n_pools++) {
		struct page_pool *p = &s->pools[s->n_pools];
		*p = (struct page_pool){.known = s->fresh, .clean = s->fresh && s->clean, .hole_no = s->hole_no};
		p->slots = calloc(16, sizeof(*p->slots));
		p->marks = calloc(16, sizeof(*p->marks));
		p->hold = calloc(16, sizeof(*p->hold));
		if (!p->slots || !p->marks || !p->hold) {
			free(p->slots);
			free(p->marks);
			free(p->hold);
			return err_nomem(err);
		}
		p->cap_slots = p->cap_hold = 16;
		p->n_slots = SLOTS_FIXED;
		p->n_hold = 1; /* 0 ends the free list */
	}
	return 0;
}

enum { SPARSE_PAGES = 1 << 20 };

/* Forgets content and owners; what was held was never seen freed. */
static int pool_clear(struct sweep *s, uint32_t pool, bool known, struct err *err)
{
	struct page_pool *p = &s->pools[pool];
	int rc = pend_settle(s, pool, 0, 0, p->top, false, err);
	if (rc < 0)
		return rc;
	for (uint32_t i = 1; i < p->n_hold; i++) {
		if (!p->hold[i].actor)
			continue;
		cover_break(s, p->hold[i].actor);
		cover_blind(s, p->hold[i].actor);
		hold_drop(p, &p->hold[i]);
	}
	if (p->top > SPARSE_PAGES) { /* a page number out of the blue: clearing would touch what was never used */
		pages_drop(p);
	} else if (p->top) {
		memset(p->pages, 0, p->top * sizeof(*p->pages));
	}
	p->n_slots = SLOTS_FIXED;
	p->free_slot = 0;
	p->top = 0;
	p->known = p->clean = known;
	if (known)
		p->hole_no = 0;
	return 0;
}

void sweep_hole(struct sweep *s)
{
	s->clean = false;
	s->hole_no = s->no + 1;
	for (uint32_t i = 0; i < s->n_pools; i++) {
		s->pools[i].clean = false;
		s->pools[i].hole_no = s->no + 1;
	}
}

int sweep_restart(struct sweep *s, bool known, struct err *err)
{
	s->fresh = s->clean = known;
	if (known)
		s->hole_no = 0;
	for (uint32_t i = 0; i < s->n_pools; i++) {
		int rc = pool_clear(s, i, known, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* ---- the entry ---- */
static int begin_op(struct sweep *s, const struct sweep_op *op, struct hold **h, uint32_t *slot, struct err *err)
{
	struct page_pool *p = &s->pools[op->pool];
	int rc = 0;
	switch (op->op) {
	case OP_ALLOC:
	case OP_SHARE:
		rc = hold_get(p, op->actor, op->at.no, h, err);
		struct cover *c = NULL;
		if (rc == 0)
			rc = cover_get(s, op->actor, &c, err);
		if (rc == 0)
			(*h)->cover = (uint32_t)(c - s->covers.list);
		if (rc == 0 && (*h)->first_no == op->at.no) { /* a new hold */
			if (!c->open)
				seen_life(c);
			c->first_no = op->at.no;
			c->last_ns = op->at.ns;
			c->open = true;
			c->broken |= !p->clean;
		}
		if (rc == 0 && op->op == OP_ALLOC)
			rc = slot_new(p, op->actor, op->at, slot, err);
		break;
	case OP_WRITE:
	case OP_RECV:
		*h = op->content ? hold_find(p, op->content) : NULL;
		if (*h && op->op == OP_RECV)
			seen_tokens(s, *h, op);
		rc = slot_new(p, op->content, op->at, slot, err);
		break;
	case OP_ZERO: *slot = SLOT_CLEARED; break;
	case OP_FREE: *h = op->actor ? hold_find(p, op->actor) : NULL; break;
	case OP_READ: *h = hold_find(p, op->actor); break;
	default: break;
	}
	return rc;
}

static int one_run(struct sweep *s, const struct sweep_op *op, struct hold *h, uint32_t slot, uint32_t first,
		   uint32_t end, struct err *err)
{
	int rc;
	switch (op->op) {
	case OP_ALLOC: return alloc_pages(s, op, h, slot, first, end, err);
	case OP_WRITE:
	case OP_RECV:
	case OP_ZERO: return write_pages(s, op, h, slot, first, end, err);
	case OP_READ: return read_pages(s, op, h, first, end, err);
	case OP_FREE: return free_pages(s, op, h, first, end, err);
	case OP_SHARE:
		rc = share_add(&s->pools[op->pool], h, first, end, op->at.no, err);
		if (rc == 0)
			seen_shared(s, h);
		return rc == 0 && s->implied ? runset_add(&h->todo, first, end - first, err) : rc;
	default: return 0;
	}
}

/* A decode step in a log without reads looks at everything its request holds; only what changed since the last step can
 * give something new. */
static int implied_read(struct sweep *s, const struct sweep_op *op, struct err *err)
{
	struct page_pool *p = &s->pools[op->pool];
	struct hold *h = hold_find(p, op->actor);
	if (!h || !h->todo.n)
		return 0;
	runset_tidy(&h->todo);
	struct runset todo = h->todo;
	h->todo = (struct runset){0};
	int rc = 0;
	for (uint32_t i = 0; rc == 0 && i < todo.n; i++) {
		uint32_t first = todo.runs[i].first, end = first + todo.runs[i].count;
		while (rc == 0 && first < end) { /* what it gave back in the meantime is not read */
			uint32_t stop = first;
			uint32_t at = share_at(h, first);
			bool held =
			    page_owner(p, first) == op->actor || (at < h->n_shares && h->shares[at].first <= first);
			for (; stop < end; stop++) {
				at = share_at(h, stop);
				bool now = page_owner(p, stop) == op->actor ||
					   (at < h->n_shares && h->shares[at].first <= stop);
				if (now != held)
					break;
			}
			if (held)
				rc = read_pages(s, op, h, first, stop, err);
			first = stop;
		}
	}
	runset_done(&todo);
	return rc;
}

/* Does some page that the actor would look at now hold what others left, or what nobody knows? */
static bool looks_at_others(const struct page_pool *p, const struct hold *h)
{
	for (uint32_t i = 0; i < h->todo.n; i++) {
		uint32_t end = h->todo.runs[i].first + h->todo.runs[i].count;
		for (uint32_t page = h->todo.runs[i].first; page < end; page++) {
			uint32_t c = p->pages[page].content, at = share_at(h, page);
			bool held =
			    page_owner(p, page) == h->actor || (at < h->n_shares && h->shares[at].first <= page);
			if (held && (c >= SLOTS_FIXED ? p->slots[c].actor != h->actor : c == SLOT_NONE && !p->known))
				return true;
		}
	}
	return false;
}

/* A write that is a decode step, or may be one. It is one when the prompt came before it by a transfer, or when it leaves
 * the beginning of what its actor took unfilled: a prompt is computed from its beginning. */
static int step(struct sweep *s, const struct sweep_op *op, struct err *err)
{
	struct page_pool *p = &s->pools[op->pool];
	const struct hold *h = hold_find(p, op->actor);
	if (op->decode_write == STEP_YES || !h)
		return op->decode_write == STEP_YES ? implied_read(s, op, err) : 0;
	uint32_t first = h->first_page ? h->first_page - 1 : 0, c = h->first_page ? p->pages[first].content : 0;
	bool unfilled =
	    h->first_page && page_owner(p, first) == op->actor && !(c >= SLOTS_FIXED && p->slots[c].actor == op->actor);
	if (h->got || unfilled)
		return implied_read(s, op, err);
	struct cover *cover = covers_find(&s->covers, op->actor);
	if (cover && !cover->untold)
		cover->untold = looks_at_others(p, h);
	return 0;
}

static void end_op(struct sweep *s, const struct sweep_op *op, struct hold *h, uint32_t slot)
{
	struct page_pool *p = &s->pools[op->pool];
	if (slot >= SLOTS_FIXED && p->slots[slot].pages == 0) { /* named no page */
		p->slots[slot].pages = 1;
		slot_drop(p, slot, 1);
	}
	if (op->op != OP_FREE || !h || h->owned > 0)
		return;
	struct cover *c = &s->covers.list[h->cover];
	c->open = false;
	c->broken |= !h->clean || !p->clean;
	c->blind |= p->hole_no > h->first_no;
	seen_end(c, p, h);
	hold_drop(p, h);
}

/* Number of the stretch that begins at a bound. */
static uint32_t stretch_at(const struct sweep *s, uint32_t page)
{
	size_t lo = 0, hi = s->n_bounds;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (s->bounds[mid] < page)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (uint32_t)lo;
}

void sweep_by_runs(struct sweep *s, uint32_t *bounds, size_t n)
{
	s->bounds = bounds;
	s->n_bounds = n;
}

/* Stretches become pages again. */
static void stretches_to_pages(const struct sweep *s, struct runset *pages)
{
	for (uint32_t i = 0; i < pages->n; i++) {
		struct page_run *r = &pages->runs[i];
		uint32_t first = s->bounds[r->first];
		r->count = s->bounds[r->first + r->count] - first;
		r->first = first;
	}
}

enum { RUNS_AHEAD = 16 };

/* A pool in use is in pieces: each run is somewhere else in memory, and the next ones are known. */
static void fetch_ahead(const struct page_pool *p, const struct page_run *r)
{
	if (r->first >= p->n)
		return;
	__builtin_prefetch(&p->pages[r->first], 1);
}

static int op_runs(struct sweep *s, const struct sweep_op *op, struct hold *h, uint32_t slot, struct err *err)
{
	struct page_pool *p = &s->pools[op->pool];
	uint32_t most = p->limit ? p->limit : POOL_MAX_PAGES;
	uint64_t total = 0;
	for (uint32_t i = 0; !s->bounds && i < MIN(op->n_runs, (uint32_t)RUNS_AHEAD); i++)
		fetch_ahead(p, &op->runs[i]);
	for (uint32_t i = 0; i < op->n_runs; i++) {
		uint64_t first = op->runs[i].first, end = first + op->runs[i].count;
		total += op->runs[i].count;
		if (!s->bounds && i + RUNS_AHEAD < op->n_runs)
			fetch_ahead(p, &op->runs[i + RUNS_AHEAD]);
		if (end > most ||
		    total > POOL_MAX_PAGES) { /* outside the pool: not a page; nothing after it is proved */
			cover_break(s, op->actor);
			continue;
		}
		if (first == end)
			continue;
		if (s->bounds) {
			first = stretch_at(s, (uint32_t)first);
			end = stretch_at(s, (uint32_t)end);
		}
		int rc = end > p->top ? pages_grow(p, (uint32_t)end, err) : 0;
		if (rc == 0)
			rc = one_run(s, op, h, slot, (uint32_t)first, (uint32_t)end, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int sweep_add(struct sweep *s, const struct sweep_op *given, struct err *err)
{
	struct sweep_op op = *given;
	if (op.pool >= POOLS_MAX)
		return 0;
	if (s->no == UINT32_MAX - 1 || op.actor >= ACTORS_MAX || op.content >= ACTORS_MAX)
		return err_set(err, ERR_LIMIT, "too many page operations or requests for one worker");
	op.at.no = ++s->no;
	int rc = pool_get(s, op.pool, err);
	if (rc < 0)
		return rc;
	if (op.op == OP_BOOT || op.op == OP_RESET) {
		struct page_pool *p = &s->pools[op.pool];
		rc = pool_clear(s, op.pool, true, err);
		if (op.op == OP_BOOT)
			p->limit = op.pool_pages > 0 && op.pool_pages <= POOL_MAX_PAGES ? (uint32_t)op.pool_pages : 0;
		if (op.page_size > 0)
			p->page_size = op.page_size;
		return rc;
	}
	if (!op.actor && op.op != OP_FREE && op.op != OP_ZERO && !op.content)
		return 0; /* nobody did it: only content and ownership can change without a name */
	struct hold *h = NULL;
	uint32_t slot = 0;
	uint64_t pages = 0;
	for (uint32_t i = 0; i < op.n_runs; i++)
		pages += op.runs[i].count;
	if (pages) {
		rc = begin_op(s, &op, &h, &slot, err);
		if (rc == 0)
			rc = op_runs(s, &op, h, slot, err);
		if (rc == 0)
			end_op(s, &op, h, slot);
	}
	if (rc == 0 && s->implied && op.op == OP_WRITE && op.decode_write)
		rc = step(s, &op, err);
	return rc;
}

static void pools_free(struct sweep *s)
{
	for (uint32_t i = 0; i < s->n_pools; i++) {
		struct page_pool *p = &s->pools[i];
		for (uint32_t j = 1; j < p->n_hold; j++) {
			free(p->hold[j].shares);
			free(p->hold[j].taken);
			runset_done(&p->hold[j].todo);
		}
		pages_drop(p);
		free(p->slots);
		free(p->marks);
		free(p->pends);
		free(p->hold);
		map_done(&p->holds);
		map_done(&p->edges);
	}
	free(s->pools);
	s->pools = NULL;
	s->n_pools = 0;
}

int sweep_end(struct sweep *s, struct err *err)
{
	int rc = sweep_restart(s, false, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < s->n_edges; i++) {
		if (!s->edges[i].page_size) /* said later than it was read */
			s->edges[i].page_size = s->pools[s->edges[i].pool].page_size;
		runset_tidy(&s->edges[i].pages);
		if (s->bounds)
			stretches_to_pages(s, &s->edges[i].pages);
	}
	pools_free(s);
	return 0;
}

void sweep_part(struct sweep *s, uint32_t actor)
{
	s->focus = actor;
}

bool sweep_is_unsure(const struct sweep *s)
{
	return s->unsure;
}

bool sweep_is_strange(const struct sweep *s)
{
	return s->strange;
}

uint32_t sweep_take_reader(struct sweep *s)
{
	uint32_t reader = s->reader;
	s->reader = 0;
	return reader;
}

bool sweep_is_over(const struct sweep *s)
{
	for (uint32_t i = 0; i < s->n_pools; i++) {
		const struct page_pool *p = &s->pools[i];
		if (p->live_pends || hold_find(p, s->focus))
			return false;
		for (uint32_t page = 0; page < p->top; page++)
			if (p->pages[page].content >= SLOTS_FIXED && p->slots[p->pages[page].content].actor == s->focus)
				return false;
	}
	return true;
}

int sweep_sizes(struct sweep *s, uint32_t pool, int64_t page_size, int64_t pool_pages, struct err *err)
{
	int rc = pool >= POOLS_MAX ? 0 : pool_get(s, pool, err);
	if (rc < 0 || pool >= POOLS_MAX)
		return rc;
	s->pools[pool].limit = pool_pages > 0 && pool_pages <= POOL_MAX_PAGES ? (uint32_t)pool_pages : 0;
	if (page_size > 0)
		s->pools[pool].page_size = page_size;
	return 0;
}

bool sweep_holds(const struct sweep *s, uint32_t pool, uint32_t actor)
{
	return pool < s->n_pools && hold_find(&s->pools[pool], actor);
}

struct edge *sweep_edges(struct sweep *s, size_t *ret_n)
{
	*ret_n = s->n_edges;
	return s->edges;
}

const struct cover *sweep_covers(const struct sweep *s, size_t *ret_n)
{
	*ret_n = s->covers.n;
	return s->covers.list;
}

const struct cover *sweep_cover(const struct sweep *s, uint32_t actor)
{
	return covers_find(&s->covers, actor);
}

int sweep_new(struct sweep **ret, bool implied_reads, struct err *err)
{
	struct sweep *s = calloc(1, sizeof(*s));
	if (!s)
		return err_nomem(err);
	s->implied = implied_reads;
	*ret = s;
	return 0;
}

void sweep_free(struct sweep *s)
{
	if (!s)
		return;
	pools_free(s);
	for (size_t i = 0; i < s->n_edges; i++)
		runset_done(&s->edges[i].pages);
	free(s->edges);
	covers_done(&s->covers);
	free(s->bounds);
	free(s);
}
