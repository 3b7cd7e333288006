/* SPDX-License-Identifier: Apache-2.0 */
/* lineage_focus.c - the lineage of one request, from as little of the page logs as decides it
 *
 * One look at each chunk, without decoding it, says which may name the request; only those are decoded, and say which
 * pages it had. Only operations on those pages matter, and only from the records that decide what they hold (go_back()
 * when the part began too late) until nobody's page holds the request's content any more. Whoever else read that content
 * is judged by what it held then: its pages matter too, from its first record on (followed()). Parts can be judged alone only where resolving
 * found the page log in order (resolve_page.c); everything else, and everything in doubt, is swept whole. Which way was
 * taken never shows in the result.
 */
#include <stdlib.h>
#include <string.h>

#include "lineage_order.h"
#include "pagetrail/array.h"
#include "pagetrail/column.h"
#include "pagetrail/evidence.h"

enum { FOLLOWED_MAX = 32 /* readers of the request's content */ };
enum { KEPT_EVENTS = 8 * EVENT_BATCH_MAX /* decoded, for the next pass */, SIZES_MAX = 4096, NEEDLES_MAX = 256 };

struct needle {
	struct text text;
	int64_t worker; /* 0: any */
	bool room;
	bool other; /* not the request: one that read its content */
};

struct follow {          /* one that read the request's content */
	int64_t request; /* 0: a rid alone */
	struct text rid;
	uint32_t part;
};

struct chunk {
	int64_t id;
	uint32_t source;
	bool hit, boots, looked;   /* may name the request; holds sizes of pools, which were taken out */
	struct event_batch *batch; /* NULL: not decoded */
};

struct sizes { /* a boot record */
	size_t chunk;
	uint32_t row;
	uint32_t worker;
	struct text pool;
	int64_t page_size, pool_pages;
};

enum { PART_PAGES_MAX = 1 << 22 }; /* a request with more is not worth looking at page by page */
enum { PART_POOLS_MAX = 8 };

struct part {           /* of one worker's log */
	uint64_t named; /* pages, as often as they are named */
	uint32_t worker, source;
	bool ordered;
	size_t first, last, start, step; /* chunks that name the request; where the sweep begins */
	uint64_t *pages;                 /* bits */
	size_t n_words;
	struct text pools[PART_POOLS_MAX]; /* that the request had pages in */
	unsigned n_pools;                  /* PART_POOLS_MAX: or more */
};

struct focus {
	struct case_file *c;
	struct run scout;
	int64_t request;
	struct text rid; /* request 0 */
	struct needle needles[NEEDLES_MAX];
	size_t n_needles;
	bool too_many; /* needles or boots: not worth it */
	struct follow followed[FOLLOWED_MAX];
	size_t n_followed, n_known; /* known: their needles were loaded */
	struct chunk *chunks;
	size_t n_chunks, cap_chunks, n_kept; /* kept: events */
	struct sizes *sizes;
	size_t n_sizes;
	struct part *parts;
	size_t n_parts;
	struct page_run *runs; /* of the record at hand, cut to the pages that matter */
	size_t cap_runs;
};

/* ---- what names the request ---- */
static void needle_add(struct focus *f, struct needle n)
{
	if (f->n_needles == NEEDLES_MAX)
		f->too_many = true;
	else if (n.text.len)
		f->needles[f->n_needles++] = n;
}

static int load_needles(struct focus *f, int64_t request, struct text rid, bool other, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	if (!request) {
		needle_add(f, (struct needle){.text = rid, .other = other});
		return 0;
	}
	int rc =
	    sql_prepare(&s, f->c,
			"SELECT worker, rid, 0 FROM leg WHERE request = ?1 AND rid IS NOT NULL UNION "
			"SELECT coalesce(worker, 0), value, 0 FROM alias WHERE request = ?1 AND kind = 'rid' UNION "
			"SELECT worker, room, 1 FROM leg WHERE request = ?1 AND room IS NOT NULL",
			err);
	if (rc == 0)
		rc = sql_int(s, 1, request, err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1)
		if (!other || !sql_get_int(s, 2))
			needle_add(f, (struct needle){arena_text(&f->scout.l->arena, sql_get_text(s, 1)),
						      sql_get_int(s, 0), sql_get_int(s, 2) != 0, other});
	return rc;
}

static struct text cell(const struct event_batch *b, uint32_t row, unsigned col)
{
	return event_known(b, row, col) ? b->texts[col][row] : (struct text){NULL, 0};
}

static int64_t number(const struct event_batch *b, uint32_t row, unsigned col)
{
	return event_known(b, row, col) ? b->ints[col][row] : 0;
}

/* Whether the row's rid (or its room) is the request's; or, that of one that read its content. */
static bool names_one(const struct focus *f, const struct event_batch *b, uint32_t row, int64_t worker, bool room,
		      bool other)
{
	struct text t = cell(b, row, room ? PAGE_ROOM : PAGE_RID);
	for (size_t i = 0; t.len && i < f->n_needles; i++)
		if (f->needles[i].room == room && f->needles[i].other == other &&
		    (!f->needles[i].worker || f->needles[i].worker == worker) && text_eq(f->needles[i].text, t))
			return true;
	return false;
}

static bool named(const struct focus *f, const struct event_batch *b, uint32_t row, int64_t worker, bool room)
{
	return names_one(f, b, row, worker, room, false);
}

/* ---- chunks ---- */
static int chunk_names(const struct focus *f, size_t from, struct text data, struct err *err)
{
	int rc = 0;
	for (size_t i = from; rc == 0 && i < f->n_needles; i++)
		rc = column_holds(EVENT_PAGE, data, f->needles[i].room ? PAGE_ROOM : PAGE_RID, f->needles[i].text, err);
	return rc;
}

static struct part *part_get(struct focus *f, uint32_t worker, uint32_t source, size_t chunk, struct err *err)
{
	for (size_t i = 0; i < f->n_parts; i++)
		if (f->parts[i].worker == worker)
			return &f->parts[i];
	struct part *more = realloc(f->parts, (f->n_parts + 1) * sizeof(*more));
	if (!more) {
		(void)err_nomem(err);
		return NULL;
	}
	f->parts = more;
	more[f->n_parts] = (struct part){.worker = worker, .source = source, .first = chunk, .step = 1};
	return &more[f->n_parts++];
}

static int part_pages(struct focus *f, struct part *p, const struct page_run *runs, uint32_t n, struct err *err)
{
	for (uint32_t i = 0; i < n && !f->too_many; i++) {
		uint64_t end = (uint64_t)runs[i].first + runs[i].count;
		p->named += runs[i].count;
		f->too_many |= runs[i].count > PART_PAGES_MAX || p->named > 64 * (uint64_t)PART_PAGES_MAX;
		if (!runs[i].count || end > POOL_MAX_PAGES) /* outside any pool */
			continue;
		if (end > p->n_words * 64) {
			size_t words = MAX((size_t)(end / 64 + 1), p->n_words * 2);
			uint64_t *more = realloc(p->pages, words * sizeof(*more));
			if (!more)
				return err_nomem(err);
			memset(more + p->n_words, 0, (words - p->n_words) * sizeof(*more));
			p->pages = more;
			p->n_words = words;
		}
		for (uint64_t page = runs[i].first; page < end; page++)
			p->pages[page / 64] |= UINT64_C(1) << page % 64;
	}
	return 0;
}

static int sizes_add(struct focus *f, size_t chunk, uint32_t worker, const struct event_batch *b, uint32_t row,
		     struct err *err)
{
	if (f->n_sizes == SIZES_MAX) {
		f->too_many = true;
		return 0;
	}
	struct sizes *more = realloc(f->sizes, (f->n_sizes + 1) * sizeof(*more));
	if (!more)
		return err_nomem(err);
	f->sizes = more;
	more[f->n_sizes++] = (struct sizes){chunk,
					    row,
					    worker,
					    arena_text(&f->scout.l->arena, cell(b, row, PAGE_POOL)),
					    number(b, row, PAGE_SIZE),
					    number(b, row, PAGE_POOL_PAGES)};
	return 0;
}

static int sizes_of(struct focus *f, size_t chunk, const struct event_batch *b, struct err *err)
{
	struct source *src = &f->scout.sources[f->chunks[chunk].source];
	int rc = 0;
	for (uint32_t row = 0; rc == 0 && row < b->n; row++) {
		uint32_t worker;
		if (!(event_known(b, row, PAGE_SIZE) || event_known(b, row, PAGE_POOL_PAGES)) ||
		    !text_is(cell(b, row, PAGE_OP), "boot"))
			continue;
		rc = run_worker_of(&f->scout, src, b->worker[row], &worker, err);
		if (rc == 0)
			rc = sizes_add(f, chunk, worker, b, row, err);
	}
	return rc;
}

static struct text pool_name(struct text t)
{
	return t.len ? t : TEXT("kv");
}

static bool part_pool(struct focus *f, struct part *p, struct text pool)
{
	pool = pool_name(pool);
	for (unsigned i = 0; i < p->n_pools; i++)
		if (text_eq(p->pools[i], pool))
			return true;
	if (p->n_pools < PART_POOLS_MAX)
		p->pools[p->n_pools++] = arena_text(&f->scout.l->arena, pool);
	return p->pools[p->n_pools - 1].ptr != NULL;
}

/* Takes what a decoded chunk says of the request. */
static int look_at(struct focus *f, size_t chunk, const struct event_batch *b, struct err *err)
{
	struct source *src = &f->scout.sources[f->chunks[chunk].source];
	int rc = 0;
	for (uint32_t row = 0; rc == 0 && row < b->n; row++) {
		uint32_t worker;
		rc = run_worker_of(&f->scout, src, b->worker[row], &worker, err);
		int64_t id = rc == 0 ? f->scout.l->workers[worker].id : 0;
		if (rc < 0 || !(named(f, b, row, id, false) || named(f, b, row, id, true)))
			continue;
		struct part *p = part_get(f, worker, f->chunks[chunk].source, chunk, err);
		if (!p)
			return ERR_NOMEM;
		p->last = chunk;
		if (!part_pool(f, p, cell(b, row, PAGE_POOL)))
			return err_nomem(err);
		uint32_t from = row ? b->run_end[row - 1] : 0;
		rc = part_pages(f, p, event_row_runs(b, row), b->run_end[row] - from, err);
	}
	return rc;
}

static int chunk_add(struct focus *f, int64_t id, uint32_t source, struct text data, struct err *err)
{
	if (grow_array((void **)&f->chunks, &f->cap_chunks, f->n_chunks, sizeof(*f->chunks), err))
		return ERR_NOMEM;
	int hit = chunk_names(f, 0, data, err);
	int boots = hit < 0 ? hit : column_holds(EVENT_PAGE, data, PAGE_SIZE, TEXT(""), err);
	if (boots == 0)
		boots = column_holds(EVENT_PAGE, data, PAGE_POOL_PAGES, TEXT(""), err);
	f->chunks[f->n_chunks++] = (struct chunk){id, source, hit > 0, boots > 0, NULL};
	return MIN(boots, 0);
}

static int scan(struct focus *f, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, f->c,
			     "SELECT chunk, sha256, data FROM event_chunk WHERE kind = ?1 AND source = ?2 "
			     "ORDER BY byte_min, chunk",
			     err);
	if (rc == 0)
		rc = sql_int(s, 1, EVENT_PAGE, err);
	for (uint32_t i = 0; rc == 0 && i < f->scout.n_sources; i++) {
		int64_t source = f->scout.sources[i].id;
		rc = sql_int(s, 2, source, err);
		while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
			rc = chunk_check(source, sql_get_text(s, 2), sql_get_text(s, 1), err);
			if (rc == 0)
				rc = chunk_add(f, sql_get_int(s, 0), i, sql_get_text(s, 2), err);
		}
		sql_reset(s);
	}
	return rc;
}

/* ---- decoding ---- */
/* Another mask than PAGE_MASK gives a batch that must not be kept. */
static int decoded(struct focus *f, struct chunk *c, uint32_t mask, struct event_batch **ret, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	if (c->batch) {
		*ret = c->batch;
		return 0;
	}
	if (case_stopped(f->c))
		return err_set(err, ERR_INTERRUPTED, "stopped");
	int rc = sql_prepare(&s, f->c, "SELECT sha256, data FROM event_chunk WHERE chunk = ?1", err);
	if (rc == 0)
		rc = sql_int(s, 1, c->id, err);
	if (rc == 0)
		rc = sql_step(s, err);
	if (rc < 0)
		return rc;
	rc = chunk_check(f->scout.sources[c->source].id, sql_get_text(s, 1), sql_get_text(s, 0), err);
	return rc == 0 ? column_decode_stored(f->c, f->scout.sources[c->source].id, EVENT_PAGE, sql_get_text(s, 1),
					      mask, ret, err)
		       : rc;
}

static void give_back(struct focus *f, struct chunk *c, struct event_batch *b)
{
	if (c->batch == b || !b)
		return;
	if (f->n_kept < KEPT_EVENTS) {
		c->batch = b;
		f->n_kept += b->n;
	} else {
		event_batch_free(b);
	}
}

/* Reads the chunks that may name the request. */
static int read_hits(struct focus *f, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < f->n_chunks; i++) {
		struct event_batch *b = NULL;
		if (!f->chunks[i].hit)
			continue;
		rc = decoded(f, &f->chunks[i], PAGE_MASK, &b, err);
		if (rc == 0)
			rc = look_at(f, i, b, err);
		give_back(f, &f->chunks[i], b);
	}
	return rc;
}

/* Reads the boots of a chunk, once. */
static int read_boots(struct focus *f, size_t chunk, struct err *err)
{
	struct chunk *c = &f->chunks[chunk];
	struct event_batch *b = NULL;
	if (!c->boots || c->looked)
		return 0;
	c->looked = true;
	int rc = decoded(f, c, 1u << PAGE_OP | 1u << PAGE_POOL | 1u << PAGE_SIZE | 1u << PAGE_POOL_PAGES, &b, err);
	if (rc == 0)
		rc = sizes_of(f, chunk, b, err);
	if (b != c->batch)
		event_batch_free(b);
	return rc;
}

/* Which of the parts may be judged alone? */
static int load_ordered(struct focus *f, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, f->c,
			     "SELECT w.worker FROM json_each((SELECT value FROM case_info WHERE "
			     "key = 'page_logs_in_order')) j JOIN worker w ON w.name = j.value",
			     err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1)
		for (size_t i = 0; i < f->n_parts; i++)
			f->parts[i].ordered |= f->scout.l->workers[f->parts[i].worker].id == sql_get_int(s, 0);
	for (size_t i = 0; i < f->n_parts; i++)
		f->parts[i].start = f->parts[i].first;
	return rc;
}

/* ---- one pass over the parts ---- */
static inline bool matters(const struct part *p, uint64_t page)
{
	return page / 64 < p->n_words && p->pages[page / 64] >> page % 64 & 1;
}

/* Cuts a row's runs to the pages that matter. Their number, or negative. */
static int64_t cut_runs(struct focus *f, const struct part *p, const struct page_run *runs, uint32_t n, struct err *err)
{
	size_t out = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t page = runs[i].first, end = MIN(page + runs[i].count, (uint64_t)p->n_words * 64);
		while (page < end) {
			if (page % 64 == 0 && !p->pages[page / 64]) {
				page += 64;
				continue;
			}
			if (!matters(p, page)) {
				page++;
				continue;
			}
			uint64_t from = page;
			while (page < end && matters(p, page))
				page++;
			if (grow_array((void **)&f->runs, &f->cap_runs, out, sizeof(*f->runs), err))
				return ERR_NOMEM;
			f->runs[out++] = (struct page_run){(uint32_t)from, (uint32_t)(page - from)};
		}
	}
	return (int64_t)out;
}

/* Notes who read the request's content. */
static int followed(struct focus *f, int64_t request, struct text rid, const struct part *p, struct err *err)
{
	uint32_t part = (uint32_t)(p - f->parts);
	for (size_t i = 0; i < f->n_followed; i++)
		if (f->followed[i].part == part && f->followed[i].request == request &&
		    (request || text_eq(f->followed[i].rid, rid)))
			return 0;
	if (f->n_followed == FOLLOWED_MAX) {
		f->too_many = true;
		return 0;
	}
	rid = arena_text(&f->scout.l->arena, rid);
	f->followed[f->n_followed++] = (struct follow){request, rid, part};
	return rid.ptr ? 0 : err_nomem(err);
}

static int feed_row(struct focus *f, struct run *r, const struct part *p, struct source *src,
		    const struct event_batch *b, uint32_t row, struct err *err)
{
	uint32_t worker, from = row ? b->run_end[row - 1] : 0;
	int rc = run_worker_of(r, src, b->worker[row], &worker, err);
	if (rc < 0 || worker != p->worker)
		return rc;
	int64_t n = cut_runs(f, p, event_row_runs(b, row), b->run_end[row] - from, err);
	if (n < 0)
		return (int)n;
	struct record rec;
	struct text op = cell(b, row, PAGE_OP);
	if (!n && !text_is(op, "boot") && !text_is(op, "reset")) { /* only its place in the sequence matters */
		rc = run_light(r, src, b, row, &rec, err);
		rec.worker = worker;
		return rc ? MIN(rc, 0) : run_skip(r, &rec, err);
	}
	rc = run_record(r, src, b, row, &rec, err);
	if (rc)
		return MIN(rc, 0);
	/* pages that belong to it by their room alone: not what a part can judge */
	int64_t id = r->l->workers[worker].id;
	r->unsure |= named(f, b, row, id, true) && !named(f, b, row, id, false);
	r->unsure |= rec.rid && actors_ambiguous(r->l->actors, rec.rid);
	rec.runs = f->runs;
	rec.n_runs = (uint32_t)n;
	rc = run_feed(r, &rec, false, err);
	uint32_t reader = sweep_take_reader(r->l->workers[worker].sweep);
	if (rc == 0 && reader)
		rc = followed(f, actors_get(r->l->actors, reader).request, cell(b, row, PAGE_RID), p, err);
	return rc;
}

static int sizes_cmp(const void *a, const void *b)
{
	const struct sizes *x = a, *y = b;
	if (x->chunk != y->chunk)
		return x->chunk < y->chunk ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/* What the boot records of chunks [from, to) that were read say, in order. */
static int take_sizes(const struct focus *f, struct run *r, const struct part *p, size_t from, size_t to,
		      struct err *err)
{
	struct lineage_worker *w = &r->l->workers[p->worker];
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < f->n_sizes; i++) {
		const struct sizes *z = &f->sizes[i];
		uint32_t pool;
		if (z->worker != p->worker || z->chunk < from || z->chunk >= to)
			continue;
		rc = run_pool(r, w, z->pool, &pool, err);
		if (rc == 0)
			rc = sweep_sizes(w->sweep, pool, z->page_size, z->pool_pages, err);
	}
	return rc;
}

/* Are the sizes of all pools of the part known where it begins? */
static bool sizes_known(const struct focus *f, const struct part *p)
{
	unsigned known = 0;
	for (unsigned k = 0; k < p->n_pools; k++) {
		bool any = false;
		for (size_t i = 0; i < f->n_sizes && !any; i++)
			any = f->sizes[i].worker == p->worker && f->sizes[i].chunk < p->start &&
			      f->sizes[i].page_size > 0 && text_eq(pool_name(f->sizes[i].pool), p->pools[k]);
		known += any;
	}
	return known == p->n_pools && p->n_pools < PART_POOLS_MAX;
}

/* The last boot records in front of the part. */
static int sizes_before(struct focus *f, struct run *r, const struct part *p, bool *known, struct err *err)
{
	int rc = 0;
	*known = sizes_known(f, p);
	for (size_t i = p->start; rc == 0 && !*known && i > 0 && f->chunks[i - 1].source == p->source; i--) {
		bool fresh = f->chunks[i - 1].boots && !f->chunks[i - 1].looked;
		rc = read_boots(f, i - 1, err);
		if (rc == 0 && fresh) {
			qsort(f->sizes, f->n_sizes, sizeof(*f->sizes), sizes_cmp);
			*known = sizes_known(f, p);
		}
	}
	return rc == 0 ? take_sizes(f, r, p, 0, p->start, err) : rc;
}

/* Nothing in front of it said them: what is said later holds. */
static int sizes_behind(struct focus *f, struct run *r, const struct part *p, size_t from, struct err *err)
{
	int rc = 0;
	for (size_t i = from; rc == 0 && i < f->n_chunks && f->chunks[i].source == p->source; i++)
		rc = read_boots(f, i, err);
	if (f->n_sizes)
		qsort(f->sizes, f->n_sizes, sizeof(*f->sizes), sizes_cmp);
	return rc == 0 ? take_sizes(f, r, p, from, SIZE_MAX, err) : rc;
}

static int focus_actor(const struct focus *f, struct run *r, uint32_t worker, uint32_t *ret, struct err *err)
{
	if (f->request)
		return actors_request(r->l->actors, f->request, ret, err);
	uint32_t rid;
	int rc = actors_rid(r->l->actors, run_key(r, worker), f->rid, &rid, err);
	return rc == 0 ? actors_bind(r->l->actors, rid, TIME_UNKNOWN, true, ret, err) : rc;
}

/* 1: what came before, or the whole log, would have mattered. */
static int sweep_one(struct focus *f, struct run *r, struct part *p, struct err *err)
{
	struct lineage_worker *w = &r->l->workers[p->worker];
	struct source *src = &r->sources[p->source];
	int rc = focus_actor(f, r, p->worker, &w->focus, err);
	if (rc == 0)
		rc = sweep_new(&w->sweep, false, err);
	if (rc < 0)
		return rc;
	w->implied = false;
	sweep_part(w->sweep, w->focus);
	bool known;
	rc = sizes_before(f, r, p, &known, err);
	size_t i = p->start;
	for (bool over = false; rc == 0 && !over && i < f->n_chunks && f->chunks[i].source == p->source; i++) {
		struct event_batch *b = NULL;
		rc = decoded(f, &f->chunks[i], PAGE_MASK, &b, err);
		for (uint32_t row = 0; rc == 0 && row < b->n; row++)
			rc = feed_row(f, r, p, src, b, row, err);
		give_back(f, &f->chunks[i], b);
		w = &r->l->workers[p->worker];
		if (rc == 0 && (r->unsure || sweep_is_unsure(w->sweep)))
			return 1;
		over = i >= p->last && sweep_is_over(w->sweep);
	}
	return rc == 0 && !known ? sizes_behind(f, r, p, i, err) : rc;
}

/* Adds the pages that those who were found to read the request's content had at the part's worker. */
static int follow_chunk(struct focus *f, size_t chunk, const struct event_batch *b, struct part *p, struct err *err)
{
	struct source *src = &f->scout.sources[f->chunks[chunk].source];
	int64_t id = f->scout.l->workers[p->worker].id;
	int rc = 0;
	for (uint32_t row = 0; rc == 0 && row < b->n; row++) {
		uint32_t worker, from = row ? b->run_end[row - 1] : 0;
		rc = run_worker_of(&f->scout, src, b->worker[row], &worker, err);
		if (rc < 0 || worker != p->worker || !names_one(f, b, row, id, false, true))
			continue;
		p->start = MIN(p->start, chunk);
		rc = part_pages(f, p, event_row_runs(b, row), b->run_end[row] - from, err);
	}
	return rc;
}

/* Looks for what they did. 1: too much. */
static int follow(struct focus *f, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	size_t from = f->n_needles;
	int rc = 0;
	for (; rc == 0 && f->n_known < f->n_followed; f->n_known++)
		rc = load_needles(f, f->followed[f->n_known].request, f->followed[f->n_known].rid, true, err);
	if (rc == 0)
		rc = sql_prepare(&s, f->c, "SELECT data FROM event_chunk WHERE chunk = ?1", err);
	for (size_t i = 0; rc == 0 && i < f->n_chunks; i++) {
		struct event_batch *b = NULL;
		rc = sql_int(s, 1, f->chunks[i].id, err);
		if (rc == 0)
			rc = sql_step(s, err);
		if (rc >= 0) /* its hash was checked when it was looked at first */
			rc = rc ? chunk_names(f, from, sql_get_text(s, 0), err) : 0;
		sql_reset(s);
		if (rc != 1)
			continue;
		rc = decoded(f, &f->chunks[i], PAGE_MASK, &b, err);
		for (size_t k = 0; rc == 0 && k < f->n_parts; k++)
			if (f->parts[k].source == f->chunks[i].source)
				rc = follow_chunk(f, i, b, &f->parts[k], err);
		give_back(f, &f->chunks[i], b);
	}
	return rc < 0 ? rc : f->too_many;
}

/* Begins further back; false when that was the beginning. */
static bool go_back(const struct focus *f, struct part *p)
{
	size_t least = p->start;
	while (least && f->chunks[least - 1].source == p->source)
		least--;
	if (p->start == least)
		return false;
	p->start = p->start - least > p->step ? p->start - p->step : least;
	p->step *= 2;
	return true;
}

/* 1: parts do not do. 2: try again: parts begin earlier, or with more pages. From the start, because rooms and names are
 * those of the other try. */
static int try_parts(struct focus *f, struct run *r, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < f->n_parts; i++) {
		rc = sweep_one(f, r, &f->parts[i], err);
		if (rc == 1 && go_back(f, &f->parts[i]))
			rc = 2;
	}
	if (rc == 0 && f->n_known < f->n_followed) {
		rc = follow(f, err);
		return rc ? rc : 2;
	}
	return rc == 0 ? run_finish(r, err) : rc;
}

static int pass(struct focus *f, struct lineage **ret, struct err *err)
{
	int rc;
	do {
		struct run r;
		rc = run_begin(&r, f->c, true, err);
		if (rc == 0)
			rc = try_parts(f, &r, err);
		if (rc == 0 && f->too_many)
			rc = 1;
		run_end(&r);
		*ret = r.l;
		if (rc)
			lineage_free(r.l);
	} while (rc == 2);
	return rc;
}

/* ---- whole logs, of the same workers ---- */
static int whole(struct focus *f, struct lineage **ret, struct err *err)
{
	struct run r;
	int rc = run_begin(&r, f->c, false, err);
	r.only = r.keep = true;
	for (uint32_t i = 0; rc == 0 && i < r.l->n_workers; i++)
		r.l->workers[i].skip = true;
	for (size_t i = 0; rc == 0 && i < f->n_parts; i++) {
		uint32_t worker;
		rc = run_worker(&r, f->scout.l->workers[f->parts[i].worker].name, &worker, err);
		if (rc < 0)
			break;
		r.l->workers[worker].skip = false;
		rc = focus_actor(f, &r, worker, &r.l->workers[worker].focus, err);
	}
	if (rc == 0)
		rc = run_whole(&r, err);
	run_end(&r);
	if (rc < 0) {
		lineage_free(r.l);
		return rc;
	}
	*ret = r.l;
	return 0;
}

static void focus_done(struct focus *f)
{
	for (size_t i = 0; i < f->n_chunks; i++)
		event_batch_free(f->chunks[i].batch);
	for (size_t i = 0; i < f->n_parts; i++)
		free(f->parts[i].pages);
	free(f->chunks);
	free(f->parts);
	free(f->sizes);
	free(f->runs);
	run_end(&f->scout);
	lineage_free(f->scout.l);
	free(f);
}

static int focus_run(struct lineage **ret, struct case_file *c, int64_t request, struct text rid, bool all,
		     struct err *err)
{
	struct focus *f = calloc(1, sizeof(*f));
	if (!f)
		return err_nomem(err);
	f->c = c;
	f->request = request;
	f->rid = rid;
	int rc = run_begin(&f->scout, c, true, err);
	if (rc == 0)
		rc = load_needles(f, request, rid, false, err);
	if (rc == 0)
		rc = scan(f, err);
	if (rc == 0)
		rc = read_hits(f, err);
	if (rc == 0)
		rc = load_ordered(f, err);
	bool parts = !all && !f->too_many;
	for (size_t i = 0; i < f->n_parts; i++)
		parts &= f->parts[i].ordered;
	if (rc == 0)
		rc = parts ? pass(f, ret, err) : 1;
	if (rc == 1)
		rc = whole(f, ret, err);
	focus_done(f);
	return rc;
}

int lineage_focus(struct lineage **ret, struct case_file *c, int64_t request, struct text rid, struct err *err)
{
	return focus_run(ret, c, request, rid, false, err);
}

int lineage_focus_whole(struct lineage **ret, struct case_file *c, int64_t request, struct text rid, struct err *err)
{
	return focus_run(ret, c, request, rid, true, err);
}
