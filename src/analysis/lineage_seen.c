/* SPDX-License-Identifier: Apache-2.0 */
/* lineage_seen.c - what a log shows of a request's reading: which of its pages were read, and what arrived in them
 *
 * A log that records no reading shows no foreign read either, whatever happened; so only what was seen to be read can
 * clear a request (findings_shown.c judges). Counted per hold while it lasts, and kept in the actor's cover.
 */
#include "lineage_pool.h"

static uint32_t at_most(uint64_t pages)
{
	return (uint32_t)MIN(pages, (uint64_t)UINT32_MAX);
}

uint64_t pages_in(const struct sweep *s, uint32_t first, uint32_t end)
{
	return s->bounds ? s->bounds[end] - s->bounds[first] : end - first;
}

void seen_taken(struct hold *h, uint32_t seen, uint64_t pages)
{
	if (h && seen != SEEN_READ)
		h->unread -= MIN(h->unread, pages);
}

void seen_owned(const struct sweep *s, struct hold *h, uint32_t first, uint32_t end)
{
	h->unread += end - first;
	h->held += pages_in(s, first, end);
	if (!h->first_page)
		h->first_page = first + 1;
}

void seen_given_back(const struct sweep *s, struct hold *h, uint32_t seen, uint32_t first, uint32_t end)
{
	if (seen == SEEN_READ)
		return;
	h->idle |= seen == SEEN_NOT;
	h->passed += pages_in(s, first, end);
	h->unread -= MIN(h->unread, (uint64_t)end - first);
}

void seen_begins(struct sweep *s, struct hold *h)
{
	s->covers.list[h->cover].read = true;
	h->reads = true;
}

/* Once all that it owns has been read there is nothing to note until it takes more. */
void seen_read(struct sweep *s, struct page_pool *p, struct hold *h, uint32_t first, uint32_t end)
{
	if (p->pages[first].seen == SEEN_READ || page_owner(p, first) != h->actor)
		return;
	uint32_t n = (uint32_t)MIN(h->unread, (uint64_t)end - first);
	for (uint32_t page = first; page < first + n; page++)
		p->pages[page].seen = SEEN_READ;
	h->unread -= n;
	h->shown += pages_in(s, first, first + n);
}

void seen_written(struct page_pool *p, const struct hold *h, uint32_t first, uint32_t end)
{
	for (uint32_t page = first; h && h->reads && h->unread > 0 && page < end; page++)
		if (p->pages[page].seen == SEEN_NOT && page_owner(p, page) == h->actor)
			p->pages[page].seen = SEEN_WRITTEN;
}

void seen_got(struct sweep *s, struct hold *h, uint64_t pages)
{
	struct cover *c = &s->covers.list[h->cover];
	h->got = true;
	c->got_pages = at_most(c->got_pages + pages);
}

/* Once a record. */
void seen_tokens(struct sweep *s, const struct hold *h, const struct sweep_op *op)
{
	struct cover *c = &s->covers.list[h->cover];
	c->got_untold |= op->tokens <= 0;
	c->got_tokens += (uint64_t)MAX(op->tokens, 0);
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
	c->held = at_most(h->held + h->shared);
	c->shown = at_most(shown);
	c->page_size = p->page_size;
}
