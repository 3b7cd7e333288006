/* SPDX-License-Identifier: Apache-2.0 */
/* lineage_sweep.c - the sweep: page operations of one worker, in order, give the foreign reads
 *
 * Per page three numbers: owner, and the slots of the last alloc and of the content. A slot is one alloc, write or recv
 * record that some page still rests on; it dies with its last page. So memory follows the pool and the live requests,
 * not the log. Runs of pages with equal slots are judged at once.
 *
 * Which kind a read of a page by R is, when its content is W's (W is not R):
 *   R attached by share, and the content is older than that, or the page was not given away since     shared
 *   content newer than R's alloc                                                                     late_write
 *   content older (or none), and R's own write or recv arrives before R frees the page               not_ready
 *   else: older content                                                                              stale
 *   else: none since boot, or cleared                                                                uninitialised
 * Content 0 means "as the pool started": nobody's after a boot or reset record, unknown when the log began without one.
 */
#include <stdlib.h>
#include <string.h>

#include "lineage.h"

const char *const edge_kind_names[EDGE_KINDS] = {
    [EDGE_STALE] = "stale",         [EDGE_LATE_WRITE] = "late_write",
    [EDGE_NOT_READY] = "not_ready", [EDGE_UNINITIALISED] = "uninitialised",
    [EDGE_SHARED] = "shared",
};

enum { SLOT_NONE = 0, SLOT_CLEARED = 1, SLOTS_FIXED = 2 };
enum { POOLS_MAX = 1024, ACTORS_MAX = 1 << 30 };

struct slot {
	uint32_t actor;
	uint32_t pages; /* pages that rest on it; free when 0, then `actor` is the next free slot */
	struct mark at;
};

struct share {
	uint32_t first, count, no;
};

struct hold { /* what one actor has in one pool, from its alloc until it gave all back */
	uint32_t actor, first_no;
	uint64_t owned;
	bool clean;
	struct share *shares; /* sorted, apart */
	uint32_t n_shares, cap_shares;
	struct runset todo; /* log without reads: what the next decode step will look at */
};

struct pend { /* one page that was read before its reader filled it: stale, or not ready? */
	uint32_t next, reader, owner;
	struct mark read, alloc, write;
	bool certain;
};

struct page_pool {
	uint32_t n, top; /* allocated, touched */
	uint32_t *owner, *alloc, *content;
	uint32_t *pend;     /* NULL until a page is pending; index + 1 */
	uint32_t *attached; /* NULL until a page is shared */
	struct slot *slots;
	uint32_t n_slots, cap_slots, free_slot;
	struct pend *pends;
	uint32_t n_pends, cap_pends, free_pend, live_pends;
	struct map holds; /* actor -> index */
	struct hold *hold;
	uint32_t n_hold, cap_hold, free_hold;
	struct map edges;  /* reader, owner, kind -> index in sweep.edges */
	bool known, clean; /* content 0 is nobody's; no hole since boot or reset */
	uint32_t hole_no;  /* operation behind the last hole; 0: none */
	uint32_t limit;    /* pool_pages; 0: not said */
	int64_t page_size;
};

struct sweep {
	bool implied;
	uint32_t no;
	struct page_pool *pools;
	uint32_t n_pools;
	bool fresh; /* a boot record opened this segment: pools that appear later are empty */
	uint32_t hole_no;
	bool clean;
	struct edge *edges;
	size_t n_edges, cap_edges;
	struct map cover_of; /* actor -> index */
	struct cover *covers;
	size_t n_covers, cap_covers;
};

/* ---- growing things ---- */
static int grow(void **p, size_t *cap, size_t n, size_t size, struct err *err)
{
	if (n < *cap)
		return 0;
	size_t more = *cap ? *cap * 2 : 16;
	void *q = realloc(*p, more * size);
	if (!q)
		return err_nomem(err);
	*p = q;
	*cap = more;
	return 0;
}

static int grow32(void **p, uint32_t *cap, uint32_t n, size_t size, struct err *err)
{
	size_t c = *cap;
	int rc = grow(p, &c, n, size, err);
	*cap = (uint32_t)c;
	return rc;
}

/* Fresh pages come from calloc, so that a large pool costs only what is touched of it. */
static int grow_pages(uint32_t **p, uint32_t old, uint32_t n, struct err *err)
{
	uint32_t *q = calloc(n, sizeof(*q));
	if (!q)
		return err_nomem(err);
	if (*p)
		memcpy(q, *p, old * sizeof(*q));
	free(*p);
	*p = q;
	return 0;
}

static int pool_grow(struct page_pool *p, uint32_t end, struct err *err)
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
	int rc = grow_pages(&p->owner, p->n, n, err);
	if (rc == 0)
		rc = grow_pages(&p->alloc, p->n, n, err);
	if (rc == 0)
		rc = grow_pages(&p->content, p->n, n, err);
	if (rc == 0 && p->pend)
		rc = grow_pages(&p->pend, p->n, n, err);
	if (rc == 0 && p->attached)
		rc = grow_pages(&p->attached, p->n, n, err);
	if (rc == 0)
		p->n = n;
	return rc;
}

static int slot_new(struct page_pool *p, uint32_t actor, struct mark at, uint32_t *ret, struct err *err)
{
	uint32_t i = p->free_slot;
	if (i) {
		p->free_slot = p->slots[i].actor;
	} else {
		int rc = grow32((void **)&p->slots, &p->cap_slots, p->n_slots, sizeof(*p->slots), err);
		if (rc < 0)
			return rc;
		i = p->n_slots++;
	}
	p->slots[i] = (struct slot){actor, 0, at};
	*ret = i;
	return 0;
}

static void slot_drop(struct page_pool *p, uint32_t i, uint32_t pages)
{
	if (i < SLOTS_FIXED)
		return;
	p->slots[i].pages -= pages;
	if (p->slots[i].pages == 0) {
		p->slots[i].actor = p->free_slot;
		p->free_slot = i;
	}
}

/* Points pages [first, end) of `array` to slot `to`. */
static void slot_set(struct page_pool *p, uint32_t *array, uint32_t first, uint32_t end, uint32_t to)
{
	p->slots[to].pages += end - first;
	for (uint32_t a = first; a < end;) {
		uint32_t old = array[a], b = a;
		while (b < end && array[b] == old)
			array[b++] = to;
		slot_drop(p, old, b - a);
		a = b;
	}
}

/* ---- covers: is the log complete for an actor? ---- */
static int cover_get(struct sweep *s, uint32_t actor, struct cover **ret, struct err *err)
{
	uint32_t *i = map_find(&s->cover_of, actor);
	if (!i) {
		int rc = grow((void **)&s->covers, &s->cap_covers, s->n_covers, sizeof(*s->covers), err);
		if (rc == 0)
			rc = map_put(&s->cover_of, actor, (uint32_t)s->n_covers, err);
		if (rc < 0)
			return rc;
		s->covers[s->n_covers] = (struct cover){.actor = actor};
		*ret = &s->covers[s->n_covers++];
		return 0;
	}
	*ret = &s->covers[*i];
	return 0;
}

static void cover_break(struct sweep *s, uint32_t actor)
{
	uint32_t *i = map_find(&s->cover_of, actor);
	if (i)
		s->covers[*i].broken = true;
}

/* ---- holds ---- */
static struct hold *hold_find(const struct page_pool *p, uint32_t actor)
{
	uint32_t *i = map_find(&p->holds, actor);
	return i ? &p->hold[*i] : NULL;
}

static int hold_get(struct page_pool *p, uint32_t actor, uint32_t no, struct hold **ret, struct err *err)
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

static void hold_drop(struct page_pool *p, struct hold *h)
{
	for (uint32_t i = 0; i < h->n_shares && p->attached; i++)
		for (uint32_t j = 0; j < h->shares[i].count; j++)
			p->attached[h->shares[i].first + j]--;
	map_remove(&p->holds, h->actor);
	free(h->shares);
	runset_done(&h->todo);
	*h = (struct hold){.first_no = p->free_hold};
	p->free_hold = (uint32_t)(h - p->hold);
}

/* Index of the first share that ends behind `page`. */
static uint32_t share_at(const struct hold *h, uint32_t page)
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
static int share_cut(struct page_pool *p, struct hold *h, uint32_t first, uint32_t end, struct err *err)
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

static int share_add(struct page_pool *p, struct hold *h, uint32_t first, uint32_t end, uint32_t no, struct err *err)
{
	int rc = 0;
	if (!p->attached)
		rc = grow_pages(&p->attached, 0, p->n, err);
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

/* ---- edges ---- */
struct verdict_of { /* a read of some pages, judged */
	uint32_t reader, owner;
	enum edge_kind kind;
	bool certain;
	struct mark read, alloc, write;
};

static int edge_add(struct sweep *s, uint32_t pool, const struct verdict_of *v, uint32_t first, uint32_t end,
		    struct err *err)
{
	struct page_pool *p = &s->pools[pool];
	uint64_t key = ((uint64_t)v->reader << 30 | v->owner) << 3 | v->kind;
	uint32_t *at = map_find(&p->edges, key);
	struct edge *e;
	if (at) {
		e = &s->edges[*at];
	} else {
		int rc = grow((void **)&s->edges, &s->cap_edges, s->n_edges, sizeof(*s->edges), err);
		if (rc == 0)
			rc = map_put(&p->edges, key, (uint32_t)s->n_edges, err);
		if (rc < 0)
			return rc;
		e = &s->edges[s->n_edges++];
		*e = (struct edge){.pool = pool, .reader = v->reader, .owner = v->owner, .kind = v->kind};
		e->last_ns = TIME_UNKNOWN;
	}
	if (!e->first_no || v->read.no < e->first_no) {
		e->first_no = v->read.no;
		e->first_ns = v->read.ns;
	}
	/* the records that stand for the edge: the first certain read, else the first */
	if (!e->read.no || (v->certain && !e->certain) || (v->certain == e->certain && v->read.no < e->read.no)) {
		e->read = v->read;
		e->alloc = v->alloc;
		e->write = v->write;
	}
	e->certain |= v->certain;
	if (v->read.ns != TIME_UNKNOWN && v->read.ns > e->last_ns)
		e->last_ns = v->read.ns;
	return runset_add(&e->pages, first, end - first, err);
}

/* ---- reads that wait: stale, or not ready? ---- */
static int pend_add(struct sweep *s, uint32_t pool, const struct verdict_of *v, uint32_t first, uint32_t end,
		    struct err *err)
{
	struct page_pool *p = &s->pools[pool];
	int rc = 0;
	if (!p->pend)
		rc = grow_pages(&p->pend, 0, p->n, err);
	for (uint32_t page = first; rc == 0 && page < end; page++) {
		uint32_t i = p->pend[page];
		while (i && (p->pends[i - 1].reader != v->reader || p->pends[i - 1].owner != v->owner))
			i = p->pends[i - 1].next;
		if (i) { /* seen before; a later look can only make it certain */
			if (v->certain && !p->pends[i - 1].certain) {
				p->pends[i - 1].certain = true;
				p->pends[i - 1].write = v->write;
				p->pends[i - 1].alloc = v->alloc;
			}
			continue;
		}
		i = p->free_pend;
		if (i) {
			p->free_pend = p->pends[i - 1].next;
		} else {
			rc = grow32((void **)&p->pends, &p->cap_pends, p->n_pends, sizeof(*p->pends), err);
			if (rc < 0)
				return rc;
			i = ++p->n_pends;
		}
		p->pends[i - 1] = (struct pend){.next = p->pend[page],
						.reader = v->reader,
						.owner = v->owner,
						.read = v->read,
						.alloc = v->alloc,
						.write = v->write,
						.certain = v->certain};
		p->pend[page] = i;
		p->live_pends++;
	}
	return rc;
}

/* Settles what `reader` (0: everybody) has waiting on pages [first, end). filled: its own content has arrived. */
static int pend_settle(struct sweep *s, uint32_t pool, uint32_t reader, uint32_t first, uint32_t end, bool filled,
		       struct err *err)
{
	struct page_pool *p = &s->pools[pool];
	if (!p->live_pends)
		return 0;
	for (uint32_t page = first; page < end && p->live_pends; page++) {
		for (uint32_t *link = &p->pend[page]; *link;) {
			struct pend *w = &p->pends[*link - 1];
			if (reader && w->reader != reader) {
				link = &w->next;
				continue;
			}
			struct verdict_of v = {.reader = w->reader,
					       .owner = w->owner,
					       .certain = w->certain,
					       .read = w->read,
					       .alloc = w->alloc,
					       .write = w->write};
			v.kind = filled ? EDGE_NOT_READY : w->owner ? EDGE_STALE : EDGE_UNINITIALISED;
			int rc = edge_add(s, pool, &v, page, page + 1, err);
			if (rc < 0)
				return rc;
			uint32_t gone = *link;
			*link = w->next;
			w->next = p->free_pend;
			p->free_pend = gone;
			p->live_pends--;
		}
	}
	return 0;
}

/* ---- reading ---- */

/* Pages [first, end) have one content, one alloc, and the reader's share number (0: not attached). */
static int read_judged(struct sweep *s, const struct sweep_op *op, struct hold *h, uint32_t first, uint32_t end,
		       uint32_t share_no, struct err *err)
{
	struct page_pool *p = &s->pools[op->pool];
	const struct slot *c = &p->slots[p->content[first]], *a = &p->slots[p->alloc[first]];
	bool own_alloc = p->alloc[first] && a->actor == op->actor;
	struct verdict_of v = {.reader = op->actor, .read = op->at};
	if (own_alloc)
		v.alloc = a->at;
	uint32_t written = 0;
	if (p->content[first] >= SLOTS_FIXED) {
		v.owner = c->actor;
		v.write = c->at;
		written = c->at.no;
	} else if (p->content[first] == SLOT_NONE && !p->known) {
		cover_break(s, op->actor);
		return 0;
	}
	v.certain = p->hole_no <= MAX(written, own_alloc ? a->at.no : 0);
	if (v.owner && share_no) {
		bool legit = written < share_no || (p->alloc[first] && a->actor == v.owner && a->at.no < share_no);
		v.kind = legit ? EDGE_SHARED : EDGE_LATE_WRITE;
		v.certain |= legit;
		return edge_add(s, op->pool, &v, first, end, err);
	}
	uint32_t base = own_alloc ? a->at.no : h ? h->first_no : 0;
	if (!base) {
		uint32_t *i = map_find(&s->cover_of, op->actor);
		base = i ? s->covers[*i].first_no : 0;
	}
	if (v.owner && base && written > base) {
		v.kind = EDGE_LATE_WRITE;
		return edge_add(s, op->pool, &v, first, end, err);
	}
	return pend_add(s, op->pool, &v, first, end, err);
}

static int read_shared(struct sweep *s, const struct sweep_op *op, struct hold *h, uint32_t first, uint32_t end,
		       struct err *err)
{
	while (first < end) {
		uint32_t i = share_at(h, first), stop = end, no = 0;
		if (i < h->n_shares && h->shares[i].first <= first) {
			stop = MIN(end, h->shares[i].first + h->shares[i].count);
			no = h->shares[i].no;
		} else if (i < h->n_shares) {
			stop = MIN(end, h->shares[i].first);
		}
		int rc = read_judged(s, op, h, first, stop, no, err);
		if (rc < 0)
			return rc;
		first = stop;
	}
	return 0;
}

static int read_pages(struct sweep *s, const struct sweep_op *op, uint32_t first, uint32_t end, struct err *err)
{
	struct page_pool *p = &s->pools[op->pool];
	const uint32_t *content = p->content, *alloc = p->alloc;
	struct hold *h = hold_find(p, op->actor);
	while (first < end) {
		uint32_t c = content[first], a = alloc[first], stop = first + 1;
		if (c >= SLOTS_FIXED && p->slots[c].actor == op->actor) { /* its own: the alloc does not matter */
			while (stop < end && content[stop] == c)
				stop++;
			first = stop;
			continue;
		}
		while (stop < end && content[stop] == c && alloc[stop] == a)
			stop++;
		int rc = h && h->n_shares ? read_shared(s, op, h, first, stop, err)
					  : read_judged(s, op, h, first, stop, 0, err);
		if (rc < 0)
			return rc;
		first = stop;
	}
	return 0;
}

/* ---- the other operations, on pages [first, end) ---- */
/* In a log without reads: whoever holds a page that another one changed will look at it in its next step. */
static int tell_holders(struct sweep *s, uint32_t pool, uint32_t actor, uint32_t first, uint32_t end, struct err *err)
{
	struct page_pool *p = &s->pools[pool];
	for (uint32_t page = first; page < end; page++) {
		uint32_t owner = p->owner[page];
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

static int alloc_pages(struct sweep *s, const struct sweep_op *op, struct hold *h, uint32_t slot, uint32_t first,
		       uint32_t end, struct err *err)
{
	struct page_pool *p = &s->pools[op->pool];
	for (uint32_t page = first; page < end; page++) {
		uint32_t old = p->owner[page];
		if (old == op->actor)
			continue;
		if (old) { /* taken from a living owner: its free was never seen */
			cover_break(s, old);
			struct hold *other = hold_find(p, old);
			if (other && other->owned > 0)
				other->owned--;
		}
		p->owner[page] = op->actor;
		h->owned++;
	}
	slot_set(p, p->alloc, first, end, slot);
	if (s->implied && p->attached) {
		int rc = tell_holders(s, op->pool, op->actor, first, end, err);
		if (rc < 0)
			return rc;
	}
	return s->implied ? runset_add(&h->todo, first, end - first, err) : 0;
}

static int write_pages(struct sweep *s, const struct sweep_op *op, uint32_t slot, uint32_t first, uint32_t end,
		       struct err *err)
{
	struct page_pool *p = &s->pools[op->pool];
	int rc = 0;
	if (op->op != OP_ZERO && op->content && p->live_pends)
		rc = pend_settle(s, op->pool, op->content, first, end, true, err);
	if (rc == 0 && s->implied)
		rc = tell_holders(s, op->pool, op->op == OP_ZERO ? 0 : op->content, first, end, err);
	slot_set(p, p->content, first, end, slot);
	return rc;
}

static int free_pages(struct sweep *s, const struct sweep_op *op, struct hold *h, uint32_t first, uint32_t end,
		      struct err *err)
{
	struct page_pool *p = &s->pools[op->pool];
	int rc = p->live_pends ? pend_settle(s, op->pool, op->actor, first, end, false, err) : 0;
	if (rc == 0 && h && h->n_shares)
		rc = share_cut(p, h, first, end, err);
	for (uint32_t page = first; rc >= 0 && page < end; page++) {
		uint32_t old = p->owner[page];
		if (!old || (op->actor && old != op->actor)) /* a prefix given back by one that does not own it */
			continue;
		struct hold *holder = old == op->actor ? h : hold_find(p, old);
		if (holder && holder->owned > 0)
			holder->owned--;
		p->owner[page] = 0;
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
		p->hold = calloc(16, sizeof(*p->hold));
		if (!p->slots || !p->hold) {
			free(p->slots);
			free(p->hold);
			return err_nomem(err);
		}
		p->cap_slots = p->cap_hold = 16;
		p->n_slots = SLOTS_FIXED;
		p->n_hold = 1; /* 0 ends the free list */
	}
	return 0;
}

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
		hold_drop(p, &p->hold[i]);
	}
	if (p->top) {
		memset(p->owner, 0, p->top * sizeof(*p->owner));
		memset(p->alloc, 0, p->top * sizeof(*p->alloc));
		memset(p->content, 0, p->top * sizeof(*p->content));
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
		if (rc == 0 && (*h)->first_no == op->at.no) { /* a new hold */
			c->first_no = op->at.no;
			c->holds++;
			c->open = true;
			c->broken |= !p->clean;
		}
		if (rc == 0 && op->op == OP_ALLOC)
			rc = slot_new(p, op->actor, op->at, slot, err);
		break;
	case OP_WRITE:
	case OP_RECV: rc = slot_new(p, op->content, op->at, slot, err); break;
	case OP_ZERO: *slot = SLOT_CLEARED; break;
	case OP_FREE: *h = op->actor ? hold_find(p, op->actor) : NULL; break;
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
	case OP_ZERO: return write_pages(s, op, slot, first, end, err);
	case OP_READ: return read_pages(s, op, first, end, err);
	case OP_FREE: return free_pages(s, op, h, first, end, err);
	case OP_SHARE:
		rc = share_add(&s->pools[op->pool], h, first, end, op->at.no, err);
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
			bool held = p->owner[first] == op->actor || (at < h->n_shares && h->shares[at].first <= first);
			for (; stop < end; stop++) {
				at = share_at(h, stop);
				bool now =
				    p->owner[stop] == op->actor || (at < h->n_shares && h->shares[at].first <= stop);
				if (now != held)
					break;
			}
			if (held)
				rc = read_pages(s, op, first, stop, err);
			first = stop;
		}
	}
	runset_done(&todo);
	return rc;
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
	uint32_t *i = map_find(&s->cover_of, h->actor);
	if (i) {
		s->covers[*i].open = false;
		s->covers[*i].broken |= !h->clean || !p->clean;
	}
	hold_drop(p, h);
}

static int op_runs(struct sweep *s, const struct sweep_op *op, struct hold *h, uint32_t slot, struct err *err)
{
	struct page_pool *p = &s->pools[op->pool];
	uint32_t most = p->limit ? p->limit : POOL_MAX_PAGES;
	uint64_t total = 0;
	for (uint32_t i = 0; i < op->n_runs; i++) {
		uint64_t first = op->runs[i].first, end = first + op->runs[i].count;
		total += op->runs[i].count;
		if (end > most ||
		    total > POOL_MAX_PAGES) { /* outside the pool: not a page; nothing after it is proved */
			cover_break(s, op->actor);
			continue;
		}
		if (first == end)
			continue;
		int rc = pool_grow(p, (uint32_t)end, err);
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
		rc = implied_read(s, &op, err);
	return rc;
}

static void pools_free(struct sweep *s)
{
	for (uint32_t i = 0; i < s->n_pools; i++) {
		struct page_pool *p = &s->pools[i];
		for (uint32_t j = 1; j < p->n_hold; j++) {
			free(p->hold[j].shares);
			runset_done(&p->hold[j].todo);
		}
		free(p->owner);
		free(p->alloc);
		free(p->content);
		free(p->pend);
		free(p->attached);
		free(p->slots);
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
		s->edges[i].page_size = s->pools[s->edges[i].pool].page_size;
		runset_tidy(&s->edges[i].pages);
	}
	pools_free(s);
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
	*ret_n = s->n_covers;
	return s->covers;
}

const struct cover *sweep_cover(const struct sweep *s, uint32_t actor)
{
	const uint32_t *at = map_find(&s->cover_of, actor);
	return at ? &s->covers[*at] : NULL;
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
	map_done(&s->cover_of);
	free(s->covers);
	free(s);
}
