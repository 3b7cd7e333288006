/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_page.c - what resolving needs of a page log: its rids, its workers, the holes in its sequence
 *
 * One pass, page lists are not decoded. Each rid leaves one exec, each unbroken run of seq one span; a page log in
 * order has one span a worker and boot.
 */
#include "resolve.h"

#include <stdlib.h>
#include <string.h>

#define SPANS_MAX  (1u << 20)
/* A rid that comes back this long after it freed its pages is another execution. */
#define REUSE_NS   (60 * NS_PER_S)
/* Pages that nothing has touched for so long were kept by a cache. */
#define CACHED_NS  (3600 * NS_PER_S)
#define EARLIER_NS (24 * 3600 * NS_PER_S)

static int span_extend(struct resolve *r, uint32_t worker, int64_t seq, int64_t at, bool boot, struct ref_node ref,
		       struct err *err)
{
	if (worker >= r->n_span_open) {
		uint32_t n = MAX(worker + 1, r->n_span_open * 2);
		uint32_t *open = realloc(r->span_open, n * sizeof(*open));
		if (!open)
			return err_nomem(err);
		memset(open + r->n_span_open, 0, (n - r->n_span_open) * sizeof(*open));
		r->span_open = open;
		r->n_span_open = n;
	}
	struct span *s = r->span_open[worker] ? shelf_at(&r->spans, r->span_open[worker] - 1) : NULL;
	if (s && !boot && seq == s->seq_to + 1 && s->last.source == ref.source) {
		s->seq_to = seq;
		s->at_to = at;
		s->last = ref;
		return 0;
	}
	if (r->spans.n >= SPANS_MAX) {
		r->spans_full = true;
		return 0;
	}
	s = shelf_add(&r->spans);
	if (!s)
		return err_nomem(err);
	*s = (struct span){worker, boot, seq, seq, at, at, ref, ref};
	r->span_open[worker] = r->spans.n;
	return 0;
}

struct page_op {
	bool boot, alloc, share, recv, send, freed, read, write;
};

static struct page_op page_op(struct text op)
{
	char c = op.len ? op.ptr[0] : 0;
	return (struct page_op){
	    .boot = c == 'b' && text_is(op, "boot"),
	    .alloc = c == 'a' && text_is(op, "alloc"),
	    .share = c == 's' && text_is(op, "share"),
	    .recv = c == 'r' && text_is(op, "recv"),
	    .send = c == 's' && text_is(op, "send"),
	    .freed = c == 'f' && text_is(op, "free"),
	    .read = c == 'r' && text_is(op, "read"),
	    .write = c == 'w' && text_is(op, "write"),
	};
}

/* The exec that a record of a rid belongs to. An execution begins by taking pages: what else comes later, however late,
 * is of the newest one that had begun by then (a cache gives its prefix back days after the answer). */
static struct exec *exec_find(struct resolve *r, uint32_t worker, uint32_t rid, uint32_t room, struct page_op op,
			      int64_t at)
{
	bool takes = op.alloc || op.share;
	struct exec *near = NULL;
	unsigned steps = 0;
	for (uint32_t i = name_at(&r->names, rid)->chain; i && steps++ < CHAIN_MAX;) {
		struct exec *c = shelf_at(&r->execs, i - 1);
		i = c->next;
		if (c->worker != worker || (room && c->room && c->room != room))
			continue;
		bool begun = at == UNKNOWN || c->first == UNKNOWN || at >= c->first;
		if (!takes && begun)
			return c;
		if (takes && c->freed && at != UNKNOWN && c->last != UNKNOWN && at > c->last + REUSE_NS)
			continue;
		/* a file that is read later may hold the earlier part */
		if (!near && interval_gap(c->first, c->last, at, at) <= EARLIER_NS)
			near = c;
	}
	return near;
}

static int exec_touch(struct resolve *r, uint32_t worker, uint32_t rid, struct text room, struct page_op op, int64_t at,
		      struct ref_node ref, struct err *err)
{
	uint32_t room_id = 0;
	int res = text_is(room, "0") ? 0 : memo_id(r, room, &room_id, err);
	if (res)
		return res;
	struct name *e = name_at(&r->names, rid);
	struct exec *x = exec_find(r, worker, rid, room_id, op, at);
	if (!x) {
		x = shelf_add(&r->execs);
		if (!x)
			return err_nomem(err);
		*x = (struct exec){
		    .worker = worker, .rid = rid, .next = e->chain, .first = UNKNOWN, .last = UNKNOWN, .ref = ref};
		x->took = x->read = UNKNOWN;
		e->chain = r->execs.n;
	}
	if (x->ref.source == ref.source)
		r->sources[ref.source].page_own++;
	else
		r->sources[ref.source].page_shared++;
	if (room_id && !x->room)
		x->room = room_id;
	/* what a cache kept after the answer is no part of its time */
	bool kept = op.freed && at != UNKNOWN && x->last != UNKNOWN && at > x->last + (x->freed ? REUSE_NS : CACHED_NS);
	x->first = earlier(x->first, at);
	if (!kept)
		x->last = later(x->last, at);
	x->recv |= op.recv;
	x->send |= op.send;
	x->answers |= op.read || op.write;
	if (op.alloc)
		x->took = later(x->took, at);
	if (op.read)
		x->read = earlier(x->read, at);
	x->freed = op.freed || (x->freed && !op.alloc && !op.share);
	return 0;
}

static int page_boot(struct resolve *r, uint32_t worker, int64_t at, int64_t page_size, int64_t pages,
		     struct ref_node ref, struct err *err)
{
	struct boot_event *e = shelf_add(&r->boot_events);
	if (!e)
		return err_nomem(err);
	worker_at(r, worker)->has_boots = true;
	*e = (struct boot_event){.worker = worker,
				 .seq = r->boot_events.n,
				 .at = at,
				 .what = WHAT_PAGE_BOOT,
				 .ref = ref,
				 .order = UNKNOWN,
				 .from = UNKNOWN};
	for (int i = 0; i < BOOT_NUMBERS; i++)
		e->number[i] = UNKNOWN;
	if (page_size > 0 && page_size <= TOKENS_MAX) {
		e->number[BN_PAGE_SIZE] = page_size;
		if (pages > 0 && pages <= (int64_t)POOL_MAX_PAGES && page_size <= TOKENS_MAX / pages)
			e->number[BN_POOL] = page_size * pages;
	}
	return 0;
}

/* Can a part of this worker's page log be judged alone? Only if its records are where they belong. */
static void page_order(struct worker *w, uint32_t source, int64_t seq, int64_t at, struct page_op op, bool sizes)
{
	w->page_reads |= op.read;
	if (w->page_source && w->page_source != source + 1)
		w->page_unordered = w->page_sources = true;
	if (seq == UNKNOWN || (op.boot && !sizes))
		w->page_unordered = true;
	else if (w->page_source && seq <= w->page_seq &&
		 !(op.boot && at != UNKNOWN && w->page_at != UNKNOWN && at > w->page_at))
		w->page_unordered = true;
	w->page_source = source + 1;
	w->page_seq = seq;
	w->page_at = at;
}

/* Of what clock that is, nobody knows yet. */
static void page_time(struct worker *w, int64_t at, struct ref_node ref)
{
	if (!w->used || earlier(w->page_lo, at) != w->page_lo) {
		w->page_lo = at;
		w->page_lo_ref = ref;
	}
	if (!w->used || later(w->page_hi, at) != w->page_hi) {
		w->page_hi = at;
		w->page_hi_ref = ref;
	}
	w->used = true;
}

static int64_t page_end(const struct resolve *r, int64_t at, const struct ref_node *ref)
{
	return at == UNKNOWN ? at : at - clock_off(&r->sources[ref->source], ref->off, false);
}

void page_span(const struct resolve *r, const struct worker *w, int64_t *ret_from, int64_t *ret_to)
{
	*ret_from = page_end(r, w->page_lo, &w->page_lo_ref);
	*ret_to = page_end(r, w->page_hi, &w->page_hi_ref);
}

void pages_seen(struct resolve *r)
{
	for (uint32_t i = 0; i < r->workers.n; i++) {
		const struct worker *w = worker_at(r, i);
		if (!w->page_log)
			continue;
		int64_t from, to;
		page_span(r, w, &from, &to);
		worker_seen(r, i, from, from, &w->page_lo_ref);
		worker_seen(r, i, to, to, &w->page_hi_ref);
	}
}

/* Records without numbers are no log of pages, but what an engine tells when it crashes. */
static void page_kinds(struct worker *w, struct page_op op, bool numbered, struct ref_node ref)
{
	w->page_writes |= op.write;
	w->page_recvs |= op.recv;
	w->page_shares |= op.share;
	if (!w->page_fills.there && numbered && (op.read || op.send))
		w->page_fills = (struct page_need){true, ref};
}

static int page_row(struct resolve *r, uint32_t source, const struct event_batch *b, uint32_t row, struct err *err)
{
	uint32_t worker, rid;
	int res = worker_of_row(r, source, b, row, &worker, err);
	if (res)
		return res;
	struct page_op op = page_op(row_text(b, row, PAGE_OP));
	struct text pool = row_text(b, row, PAGE_POOL);
	struct worker *w = worker_at(r, worker);
	int64_t at = row_time(&r->sources[source], b, row), seq = row_int(b, row, PAGE_SEQ);
	struct ref_node ref = row_ref(source, b, row);
	w->page_log = true;
	page_order(w, source, seq, at, op, event_known(b, row, PAGE_SIZE) && event_known(b, row, PAGE_POOL_PAGES));
	page_time(w, at, ref);
	if (op.recv)
		w->saw_role[ROLE_DECODE] = true;
	else if (op.send)
		w->saw_role[ROLE_PREFILL] = true;
	if (op.boot && (!pool.len || text_is(pool, "kv")))
		res = page_boot(r, worker, at, row_int(b, row, PAGE_SIZE), row_int(b, row, PAGE_POOL_PAGES), ref, err);
	if (!res && seq != UNKNOWN && seq < INT64_MAX && seq > -INT64_MAX)
		res = span_extend(r, worker, seq, at, op.boot, ref, err);
	if (!res)
		res = memo_id(r, row_text(b, row, PAGE_RID), &rid, err);
	if (!res && rid)
		page_kinds(w, op, seq != UNKNOWN, ref);
	if (!res && rid)
		res = exec_touch(r, worker, rid, row_text(b, row, PAGE_ROOM), op, at, ref, err);
	return res;
}

static bool in_order(const struct resolve *r, uint32_t worker)
{
	const struct worker *w = worker_at(r, worker);
	return !w->page_unordered && w->page_reads && !kinds_lack(w);
}

/* Of two servers, as they or their other logs show: nobody knows which of these records is whose. Or a kind of record is
 * missing: nobody knows what pages hold. */
static bool in_doubt(const struct resolve *r, uint32_t worker)
{
	const struct worker *w = worker_at(r, worker);
	return w->page_twins || (w->page_sources && is_mixed(r, worker)) || kinds_lack(w);
}

/* JSON array of the names of workers with page logs of which this holds. */
static int page_names(struct resolve *r, bool (*holds)(const struct resolve *r, uint32_t worker), struct buf *out,
		      struct err *err)
{
	int res = buf_add_char(out, '[', err);
	for (uint32_t i = 0; i < r->workers.n && !res; i++) {
		const struct worker *w = worker_at(r, r->worker_order[i]);
		if (!w->page_log || !holds(r, r->worker_order[i]))
			continue;
		if (out->len > 1)
			res = buf_add_char(out, ',', err);
		if (!res)
			res = buf_json_string(out, names_text(&r->names, w->name), err);
	}
	return res ? res : buf_add_char(out, ']', err);
}

int page_ordered(struct resolve *r, struct buf *out, struct err *err)
{
	return page_names(r, in_order, out, err);
}

int page_doubted(struct resolve *r, struct buf *out, struct err *err)
{
	return page_names(r, in_doubt, out, err);
}

int page_scan(struct resolve *r, struct err *err)
{
	int res = load_each(r, EVENT_PAGE, RESOLVE_PAGE, page_row, err);
	names_unchain(&r->names);
	return res;
}

static bool same_server(const struct resolve *r, uint32_t a, uint32_t b)
{
	return a == b || worker_at(r, a)->base == b || worker_at(r, b)->base == a;
}

/* The leg that an exec is: same worker and rid at that time, or same worker and room. */
static uint32_t exec_leg(struct resolve *r, const struct exec *x, uint32_t norm, bool *by_room)
{
	uint32_t best = NO_INDEX;
	int64_t best_gap = SKEW_NS + 1;
	unsigned steps = 0;
	*by_room = false;
	for (uint32_t i = name_at(&r->names, norm)->rid_legs; i && steps++ < CHAIN_MAX;) {
		const struct leg *l = leg_at(r, i - 1);
		uint32_t at = i - 1;
		i = l->next_rid;
		if (l->rid != x->rid || l->page_only || !same_server(r, l->worker, x->worker) ||
		    (l->room && x->room && l->room != x->room))
			continue;
		int64_t gap = l->room && l->room == x->room ? 0 : interval_gap(l->lo, l->hi, x->first, x->last);
		if (gap < best_gap) {
			best_gap = gap;
			best = at;
		}
	}
	if (best != NO_INDEX || !x->room)
		return best;
	steps = 0;
	for (uint32_t i = name_at(&r->names, x->room)->room_legs; i && steps++ < CHAIN_MAX;) {
		const struct leg *l = leg_at(r, i - 1);
		if (same_server(r, l->worker, x->worker) && !l->page_only) {
			*by_room = true;
			return i - 1;
		}
		i = l->next_room;
	}
	return NO_INDEX;
}

/* Does anything but page logs know this rid or its room? */
static bool exec_known(struct resolve *r, const struct exec *x)
{
	uint32_t rest = norm_known(r, x->rid);
	const struct name *rid = name_at(&r->names, rest ? rest : x->rid), *room = name_at(&r->names, x->room);
	return rid->rid_legs || rid->gateway || room->room_legs || room->gateway;
}

static int exec_join(struct resolve *r, struct exec *x, struct err *err)
{
	bool by_room;
	uint32_t norm = norm_rid(r, x->rid, err);
	if (!norm)
		return err_nomem(err);
	uint32_t at = exec_leg(r, x, norm, &by_room);
	struct leg *l;
	enum role role = x->recv ? ROLE_DECODE : x->send ? ROLE_PREFILL : ROLE_UNKNOWN;
	if (at == NO_INDEX) {
		int res = leg_new(r, x->worker, x->rid, x->room, &l, err);
		if (res)
			return res;
		l->page_only = true;
		x->leg = r->legs.n;
		l->started = l->lo = x->first;
		l->finished = l->hi = x->last;
	} else {
		l = leg_at(r, at);
		x->leg = at + 1;
		if (l->worker != x->worker && worker_at(r, x->worker)->ranked)
			l->worker = x->worker; /* the page log knows the rank */
		if (!l->room && x->room)
			leg_set_room(r, l, at, x->room);
		if (!l->rid && by_room)
			l->rid = x->rid;
		else if (l->rid != x->rid)
			l->page_rid = x->rid;
		if (l->started == UNKNOWN)
			l->started = x->first;
		if (l->finished == UNKNOWN)
			l->finished = x->last;
		l->lo = earlier(l->lo, x->first);
		l->hi = later(l->hi, x->last);
	}
	l->has_page = true;
	if (!l->role)
		l->role = (uint8_t)role;
	return refs_add(r, &l->refs, x->ref, err);
}

int page_join(struct resolve *r, struct err *err)
{
	uint32_t alone = 0;
	int res = 0;
	for (uint32_t i = 0; i < r->execs.n && !res; i++) {
		struct exec *x = shelf_at(&r->execs, i);
		x->known = exec_known(r, x);
		alone += !x->known;
		res = resolve_tick(r, err);
	}
	if (alone > PAGE_REQUESTS_MAX)
		r->unlisted = alone;
	for (uint32_t i = 0; i < r->execs.n && !res; i++) {
		struct exec *x = shelf_at(&r->execs, i);
		if (x->known || !r->unlisted)
			res = exec_join(r, x, err);
		if (!res)
			res = resolve_tick(r, err);
	}
	return res;
}
