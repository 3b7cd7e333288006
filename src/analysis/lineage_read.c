/* SPDX-License-Identifier: Apache-2.0 */
/* lineage_read.c - a read of pages, judged: whose content, which kind, how sure
 *
 * Which kind a read of a page by R is, when its content is W's (W is not R):
 *   R attached by share, and the content is older than that, or the page was not given away since     shared
 *   content newer than R's alloc                                                                     late_write
 *   content older (or none), and R's own write or recv arrives before R frees the page               not_ready
 *   else: older content                                                                              stale
 *   else: none since boot, or cleared                                                                uninitialised
 * Content 0 means "as the pool started": nobody's after a boot or reset record, unknown when the log began without one.
 */
#include "lineage_pool.h"

const char *const edge_kind_names[EDGE_KINDS] = {
    [EDGE_STALE] = "stale",         [EDGE_LATE_WRITE] = "late_write",
    [EDGE_NOT_READY] = "not_ready", [EDGE_UNINITIALISED] = "uninitialised",
    [EDGE_SHARED] = "shared",
};

/* ---- covers: is the log complete for an actor? ---- */
int cover_get(struct sweep *s, uint32_t actor, struct cover **ret, struct err *err)
{
	*ret = covers_find(&s->covers, actor);
	if (*ret)
		return 0;
	int rc = covers_add(&s->covers, &(struct cover){.actor = actor}, err);
	*ret = rc ? NULL : &s->covers.list[s->covers.n - 1];
	return rc;
}

void cover_break(struct sweep *s, uint32_t actor)
{
	struct cover *c = covers_find(&s->covers, actor);
	if (c)
		c->broken = true;
}

void cover_blind(struct sweep *s, uint32_t actor)
{
	struct cover *c = covers_find(&s->covers, actor);
	if (c)
		c->blind = true;
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
	uint64_t key = edge_key(v->reader, v->owner, v->kind);
	uint32_t *at = map_find(&p->edges, key);
	struct edge *e;
	if (at) {
		e = &s->edges[*at];
	} else {
		int rc = grow_array((void **)&s->edges, &s->cap_edges, s->n_edges, sizeof(*s->edges), err);
		if (rc == 0)
			rc = map_put(&p->edges, key, (uint32_t)s->n_edges, err);
		if (rc < 0)
			return rc;
		e = &s->edges[s->n_edges++];
		*e = (struct edge){
		    .pool = pool, .reader = v->reader, .owner = v->owner, .kind = v->kind, .page_size = p->page_size};
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
		rc = grow_pages((void **)&p->pend, sizeof(*p->pend), 0, p->n, err);
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
int pend_settle(struct sweep *s, uint32_t pool, uint32_t reader, uint32_t first, uint32_t end, bool filled,
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

/* Pages [first, end) have one content, one alloc, the reader's share number (0: not attached), and its own alloc of them
 * (NULL: none is known). */
static int read_judged(struct sweep *s, const struct sweep_op *op, struct hold *h, uint32_t first, uint32_t end,
		       uint32_t share_no, const struct mark *own, struct err *err)
{
	struct page_pool *p = &s->pools[op->pool];
	struct page at = p->pages[first];
	struct verdict_of v = {.reader = op->actor, .read = op->at};
	if (own)
		v.alloc = *own;
	uint32_t written = 0;
	if (at.content >= SLOTS_FIXED) {
		v.owner = p->slots[at.content].actor;
		v.write = p->marks[at.content];
		written = v.write.no;
	} else if (at.content == SLOT_NONE && !p->known) {
		cover_break(s, op->actor);
		cover_blind(s, op->actor);
		s->unsure |= op->actor == s->focus;
		return 0;
	}
	if (s->focus && op->actor != s->focus && v.owner == s->focus) {
		s->reader = op->actor;
		s->unsure |= !own && !share_no;
	}
	if (s->focus && !p->known && !at.alloc && (op->actor == s->focus || v.owner == s->focus))
		s->unsure = true;
	if (p->hole_no > written) /* a lost record may have put another content there since */
		cover_blind(s, op->actor);
	v.certain = p->hole_no <= MAX(written, own ? own->no : 0);
	if (v.owner && share_no) {
		bool legit = written < share_no ||
			     (at.alloc && p->slots[at.alloc].actor == v.owner && p->marks[at.alloc].no < share_no);
		v.kind = legit ? EDGE_SHARED : EDGE_LATE_WRITE;
		v.certain |= legit;
		return edge_add(s, op->pool, &v, first, end, err);
	}
	uint32_t base = own ? own->no : h ? h->first_no : 0;
	if (!base) {
		const struct cover *c = covers_find(&s->covers, op->actor);
		base = c ? c->first_no : 0;
		s->strange |= !c;
	}
	if (v.owner && base && written > base) {
		v.kind = EDGE_LATE_WRITE;
		return edge_add(s, op->pool, &v, first, end, err);
	}
	return pend_add(s, op->pool, &v, first, end, err);
}

/* The same, cut where the reader's shares and its own allocs begin and end. */
static int read_apart(struct sweep *s, const struct sweep_op *op, struct hold *h, uint32_t first, uint32_t end,
		      struct err *err)
{
	struct page_pool *p = &s->pools[op->pool];
	while (first < end) {
		uint32_t stop = end, no = 0, i = h ? share_at(h, first) : 0;
		if (h && i < h->n_shares && h->shares[i].first <= first) {
			stop = MIN(end, h->shares[i].first + h->shares[i].count);
			no = h->shares[i].no;
		} else if (h && i < h->n_shares) {
			stop = MIN(end, h->shares[i].first);
		}
		uint32_t slot = p->pages[first].alloc;
		const struct mark *own = slot && p->slots[slot].actor == op->actor ? &p->marks[slot] : NULL;
		if (!own && h && h->n_taken)
			own = taken_find(h, first, &stop);
		int rc = read_judged(s, op, h, first, stop, no, own, err);
		if (rc < 0)
			return rc;
		first = stop;
	}
	return 0;
}

int read_pages(struct sweep *s, const struct sweep_op *op, struct hold *h, uint32_t first, uint32_t end,
	       struct err *err)
{
	struct page_pool *p = &s->pools[op->pool];
	int rc = 0;
	if (h && !h->reads)
		seen_begins(s, h);
	for (uint32_t stop; rc == 0 && first < end; first = stop) {
		uint32_t c = p->pages[first].content;
		stop = page_alike(p, first, end);
		if (h && h->unread)
			seen_read(s, p, h, first, stop);
		if (c < SLOTS_FIXED || p->slots[c].actor != op->actor)
			rc = read_apart(s, op, h, first, stop, err);
	}
	return rc;
}
