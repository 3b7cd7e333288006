/* SPDX-License-Identifier: Apache-2.0 */
/* lineage_seen.c - what a log shows of a request's reading: which of its pages were read, and what arrived in them
 *
 * A log that records no reading shows no foreign read either, whatever happened; so only what was seen to be read can
 * clear a request (findings_shown.c judges). Counted per hold while it lasts, and kept in the actor's cover.
 */
#include "lineage_pool.h"

uint64_t pages_in(const struct sweep *s, uint32_t first, uint32_t end)
{
	return s->bounds ? s->bounds[end] - s->bounds[first] : end - first;
}

void seen_taken(struct page_pool *p, struct hold *h, uint32_t page)
{
	if (h && p->seen[page] != SEEN_READ && h->unread > 0)
		h->unread--;
}

void seen_owned(const struct sweep *s, struct page_pool *p, struct hold *h, uint32_t page)
{
	p->seen[page] = SEEN_NOT;
	h->unread++;
	h->held += pages_in(s, page, page + 1);
	if (!h->first_page)
		h->first_page = page + 1;
}

void seen_given_back(const struct sweep *s, struct page_pool *p, struct hold *h, uint32_t page)
{
	if (p->seen[page] == SEEN_READ)
		return;
	h->idle |= p->seen[page] == SEEN_NOT;
	h->passed += pages_in(s, page, page + 1);
	if (h->unread > 0)
		h->unread--;
}

/* Once all that it owns has been read there is nothing to note until it takes more. */
void seen_read(struct sweep *s, struct page_pool *p, struct hold *h, uint32_t actor, uint32_t first, uint32_t end)
{
	if (h && !h->reads) {
		uint32_t *at = map_find(&s->cover_of, actor);
		if (at)
			s->covers[*at].read = true;
		h->reads = true;
	}
	for (uint32_t page = first; h && h->unread > 0 && page < end; page++) {
		if (p->owner[page] != actor || p->seen[page] == SEEN_READ)
			continue;
		p->seen[page] = SEEN_READ;
		h->unread--;
		h->shown += pages_in(s, page, page + 1);
	}
}

void seen_written(struct page_pool *p, struct hold *h, uint32_t first, uint32_t end)
{
	for (uint32_t page = first; h && h->reads && h->unread > 0 && page < end; page++)
		if (p->owner[page] == h->actor && p->seen[page] == SEEN_NOT)
			p->seen[page] = SEEN_WRITTEN;
}

void seen_got(struct sweep *s, struct page_pool *p, struct hold *h, uint32_t first, uint32_t end)
{
	uint32_t *at = h ? map_find(&s->cover_of, h->actor) : NULL;
	if (!at)
		return;
	struct cover *c = &s->covers[*at];
	h->got = true;
	for (uint32_t page = first; page < end; page++)
		if (p->content[page] < SLOTS_FIXED || p->slots[p->content[page]].actor != h->actor)
			c->got_pages += pages_in(s, page, page + 1);
}

/* Once a record. */
void seen_tokens(struct sweep *s, const struct sweep_op *op)
{
	uint32_t *at = map_find(&s->cover_of, op->content);
	if (!at)
		return;
	s->covers[*at].got_untold |= op->tokens <= 0;
	s->covers[*at].got_tokens += (uint64_t)MAX(op->tokens, 0);
}

void seen_shared(const struct sweep *s, struct hold *h)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < h->n_shares; i++)
		n += pages_in(s, h->shares[i].first, h->shares[i].first + h->shares[i].count);
	h->shared = MAX(h->shared, n);
}

/* What it did before stays in mind if it had begun to answer then. */
void seen_life(struct cover *c)
{
	if (!c->read) {
		c->idle = c->unread = c->got_untold = false;
		c->got_pages = c->got_tokens = 0;
	}
	c->read = false;
}

void seen_end(struct cover *c, const struct page_pool *p, const struct hold *h)
{
	uint64_t shown = h->shown + h->shared;
	c->idle |= h->idle;
	if (!h->passed || (c->unread && c->shown <= shown))
		return;
	c->unread = true;
	c->held = h->held + h->shared;
	c->shown = shown;
	c->page_size = p->page_size;
}
