/* SPDX-License-Identifier: Apache-2.0 */
/* lineage_pool.h - one pool as the sweep sees it: pages, the slots they rest on, holds and shares; private to
 * lineage_pool.c, lineage_read.c and lineage_sweep.c
 */
#pragma once

#include <string.h>

#include "lineage.h"

enum { SLOT_NONE = 0, SLOT_CLEARED = 1, SLOTS_FIXED = 2 };
enum { POOLS_MAX = 1024, ACTORS_MAX = 1 << 30 };

struct slot {
	uint32_t actor;
	uint32_t pages; /* pages that rest on it; free when 0, then `actor` is the next free slot */
};

/* Eight bytes, since a worn pool is in pieces: a piece then lies in one cache line, and most pools in the second level. */
struct page {
	uint32_t alloc : 31;   /* slot of its last alloc */
	uint32_t owned : 1;    /* by the actor of that slot, still */
	uint32_t content : 30; /* slot of its last write or recv */
	uint32_t seen : 2;     /* of its owner: SEEN_ */
};
_Static_assert(sizeof(struct page) == 8, "compared as a whole");
_Static_assert(2 * (uint64_t)POOL_MAX_PAGES + SLOTS_FIXED + 1 < 1u << 30, "slots have room");

struct share {
	uint32_t first, count, no;
};

struct taken { /* pages of a hold that others took since */
	uint32_t first, count;
	struct mark at; /* the holder's own alloc of them */
};

/* What is known of an owner and a page of its own. */
enum { SEEN_NOT, SEEN_READ, SEEN_WRITTEN /* not read, but written after the owner's first read */ };

struct hold {                            /* what one actor has in one pool, from its alloc until it gave all back */
	uint32_t actor, first_no, cover; /* cover: of the actor, in sweep.covers */
	uint64_t owned;
	bool clean;
	struct share *shares; /* sorted, apart */
	uint32_t n_shares, cap_shares;
	struct taken *taken; /* sorted, apart */
	uint32_t n_taken, cap_taken;
	uint32_t first_page; /* of its first alloc, + 1 */
	bool got;            /* content of its own arrived by recv */
	bool reads;          /* it has read */
	bool idle;           /* as in struct cover, of what it gave back so far */
	uint64_t unread;     /* pages that it owns and has not read; as the pool counts pages */
	uint64_t held, shown, passed,
	    shared;         /* pages: owned ever, of these read, given back unread; attached at most */
	struct runset todo; /* log without reads: what the next decode step will look at */
};

struct pend { /* one page that was read before its reader filled it: stale, or not ready? */
	uint32_t next, reader, owner;
	struct mark read, alloc, write;
	bool certain;
};

struct page_pool {
	uint32_t n, top; /* allocated, touched */
	struct page *pages;
	uint32_t *pend;     /* NULL until a page is pending; index + 1 */
	uint32_t *attached; /* NULL until a page is shared */
	struct slot *slots; /* small, for they are looked at as often as pages are */
	struct mark *marks; /* their records */
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

struct covers { /* in the order in which actors came up */
	struct cover *list;
	uint32_t *greatest; /* number of an actor up to each of the list */
	size_t n, cap, cap_greatest;
	struct map late; /* actors that came behind a greater one -> index */
};

struct sweep {
	bool implied;
	bool unsure;      /* part of a log: something before it would have mattered */
	uint32_t focus;   /* for this actor; 0: the whole log */
	uint32_t reader;  /* who else read its content */
	bool strange;     /* one that was never seen to hold anything has read */
	uint32_t *bounds; /* of stretches of pages that stand for one; NULL: each page by itself */
	size_t n_bounds;
	uint32_t no;
	struct page_pool *pools;
	uint32_t n_pools;
	bool fresh; /* a boot record opened this segment: pools that appear later are empty */
	uint32_t hole_no;
	bool clean;
	struct edge *edges;
	size_t n_edges, cap_edges;
	struct covers covers;
};

static inline uint64_t edge_key(uint32_t reader, uint32_t owner, enum edge_kind kind)
{
	return ((uint64_t)reader << 30 | owner) << 3 | kind;
}

/* --- lineage_pool.c --- */
/* 0: nobody. An owner took its page by the last alloc of it, or another one would be the owner. */
static inline uint32_t page_owner(const struct page_pool *p, uint32_t page)
{
	return p->pages[page].owned ? p->slots[p->pages[page].alloc].actor : 0;
}

/* Where the stretch of pages that fare like `first` ends. */
static inline uint32_t page_alike(const struct page_pool *p, uint32_t first, uint32_t end)
{
	uint32_t stop = first + 1;
	while (stop < end && !memcmp(&p->pages[stop], &p->pages[first], sizeof(*p->pages)))
		stop++;
	return stop;
}

int grow32(void **p, uint32_t *cap, uint32_t n, size_t size, struct err *err) MUST_CHECK;
int grow_pages(void **p, size_t size, uint32_t old, uint32_t n, struct err *err) MUST_CHECK;
int pages_grow(struct page_pool *p, uint32_t end, struct err *err) MUST_CHECK;
void pages_drop(struct page_pool *p);
int slot_new(struct page_pool *p, uint32_t actor, struct mark at, uint32_t *ret, struct err *err) MUST_CHECK;
void slot_drop(struct page_pool *p, uint32_t i, uint32_t pages);
struct hold *hold_find(const struct page_pool *p, uint32_t actor);
int hold_get(struct page_pool *p, uint32_t actor, uint32_t no, struct hold **ret, struct err *err) MUST_CHECK;
void hold_drop(struct page_pool *p, struct hold *h);
uint32_t share_at(const struct hold *h, uint32_t page);
int share_cut(struct page_pool *p, struct hold *h, uint32_t first, uint32_t end, struct err *err) MUST_CHECK;
int share_add(struct page_pool *p, struct hold *h, uint32_t first, uint32_t end, uint32_t no,
	      struct err *err) MUST_CHECK;
/* Pages of a hold whose alloc is no longer the page's last one: what the holder's own was. */
int taken_add(struct hold *h, uint32_t first, uint32_t end, struct mark at, struct err *err) MUST_CHECK;
/* NULL: not taken. *stop is lowered to where the answer may change. */
const struct mark *taken_find(const struct hold *h, uint32_t page, uint32_t *stop);

/* --- lineage_seen.c: what a log shows of the reading of each request --- */
/* Pages [first, end) are alike, except where nothing is said of that; h may be NULL unless it is the one that acts. */
uint64_t pages_in(const struct sweep *s, uint32_t first, uint32_t end); /* stretches are worth their pages */
void seen_taken(struct hold *h, uint32_t seen, uint64_t pages);         /* it no longer owns them */
void seen_owned(const struct sweep *s, struct hold *h, uint32_t first, uint32_t end);
void seen_given_back(const struct sweep *s, struct hold *h, uint32_t seen, uint32_t first, uint32_t end);
void seen_begins(struct sweep *s, struct hold *h); /* its first read */
void seen_read(struct sweep *s, struct page_pool *p, struct hold *h, uint32_t first, uint32_t end);
/* Not alike: */
void seen_written(struct page_pool *p, const struct hold *h, uint32_t first, uint32_t end);
void seen_got(struct sweep *s, struct hold *h, uint64_t pages); /* content of its own came to so many */
void seen_tokens(struct sweep *s, const struct hold *h, const struct sweep_op *op);
void seen_shared(const struct sweep *s, struct hold *h);
void seen_life(struct cover *c); /* a new time begins */
void seen_end(struct cover *c, const struct page_pool *p, const struct hold *h);

/* --- lineage_covers.c --- */
struct cover *covers_find(const struct covers *c, uint32_t actor); /* NULL: none; valid until the next is added */
/* Of an actor that has none yet. */
int covers_add(struct covers *c, const struct cover *cover, struct err *err) MUST_CHECK;
/* Actors have new numbers; those that became 0 are forgotten. */
int covers_renumber(struct covers *c, const uint32_t *to, struct err *err) MUST_CHECK;
void covers_done(struct covers *c);

/* --- lineage_read.c --- */
int cover_get(struct sweep *s, uint32_t actor, struct cover **ret, struct err *err) MUST_CHECK;
void cover_break(struct sweep *s, uint32_t actor);
void cover_blind(struct sweep *s, uint32_t actor);
/* Settles what `reader` (0: everybody) has waiting on pages [first, end). filled: its own content has arrived. */
int pend_settle(struct sweep *s, uint32_t pool, uint32_t reader, uint32_t first, uint32_t end, bool filled,
		struct err *err) MUST_CHECK;
/* The actor of op looks at pages [first, end). h: what it holds; NULL: nothing. */
int read_pages(struct sweep *s, const struct sweep_op *op, struct hold *h, uint32_t first, uint32_t end,
	       struct err *err) MUST_CHECK;
