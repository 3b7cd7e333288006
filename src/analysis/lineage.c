/* SPDX-License-Identifier: Apache-2.0 */
/* lineage.c - brings the page records of a case into order and sweeps them
 *
 * Order: per worker, inside a boot `seq` decides. The usual case, files that are in order and follow each other,
 * streams: one pass for all workers, nothing is kept. A worker whose records fall back (interleaved, overlapping,
 * duplicated or shuffled files) is swept again alone, from memory, sorted (lineage_order.c). Which way was taken never
 * shows in the result.
 */
#include <stdlib.h>
#include <string.h>

#include "lineage_order.h"
#include "pagetrail/column.h"

static const char *const op_names[PAGE_OPS] = {
    [OP_BOOT] = "boot", [OP_RESET] = "reset", [OP_ALLOC] = "alloc", [OP_WRITE] = "write", [OP_RECV] = "recv",
    [OP_SEND] = "send", [OP_READ] = "read",   [OP_SHARE] = "share", [OP_FREE] = "free",   [OP_ZERO] = "zero",
};

const char *page_op_name(enum page_op op)
{
	return op_names[op];
}

static bool op_of(struct text t, enum page_op *ret)
{
	for (unsigned i = 0; i < PAGE_OPS; i++) {
		if (text_is(t, op_names[i])) {
			*ret = (enum page_op)i;
			return true;
		}
	}
	return false;
}

/* ---- tables ---- */
static int load_workers(struct run *r, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc =
	    sql_prepare(&s, r->c,
			"SELECT worker, name, role, name IN (SELECT value FROM json_each((SELECT value FROM case_info "
			"WHERE key = 'page_logs_in_doubt'))) FROM worker WHERE has_page_log ORDER BY name",
			err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		uint32_t at;
		rc = run_worker(r, sql_get_text(s, 1), &at, err);
		if (rc < 0)
			return rc;
		struct lineage_worker *w = &r->l->workers[at];
		w->id = sql_get_int(s, 0);
		w->doubted = sql_get_int(s, 3) != 0;
		struct text role = sql_get_text(s, 2);
		w->role = text_is(role, "decode")    ? LINEAGE_DECODE
			  : text_is(role, "prefill") ? LINEAGE_PREFILL
			  : text_is(role, "unified") ? LINEAGE_UNIFIED
						     : LINEAGE_UNKNOWN;
	}
	return rc;
}

/* Sources with page records, by their first record. */
static int load_sources(struct run *r, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, r->c,
			     "SELECT e.source, s.worker, s.worker_alias, s.path, min(e.ts_min) "
			     "FROM event_chunk e JOIN source s USING(source) "
			     "WHERE e.kind = ?1 GROUP BY e.source ORDER BY 5, s.content_sha256, s.path, 1",
			     err);
	if (rc == 0)
		rc = sql_int(s, 1, EVENT_PAGE, err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		struct source *more = realloc(r->sources, (r->n_sources + 1) * sizeof(*more));
		if (!more)
			return err_nomem(err);
		r->sources = more;
		struct source *src = &more[r->n_sources++];
		*src = (struct source){.id = sql_get_int(s, 0)};
		src->worker = arena_text(&r->l->arena, sql_get_text(s, 1));
		src->alias = arena_text(&r->l->arena, sql_get_text(s, 2));
		src->path = arena_text(&r->l->arena, sql_get_text(s, 3));
		rc = instants_load(&src->instants, r->c, src->id, &r->l->arena, err);
		if (rc)
			return rc;
	}
	return rc;
}

int run_worker(struct run *r, struct text name, uint32_t *ret, struct err *err)
{
	for (uint32_t i = 0; i < r->l->n_workers; i++) {
		if (text_eq(r->l->workers[i].name, name)) {
			*ret = i;
			return 0;
		}
	}
	struct lineage_worker *more = realloc(r->l->workers, (r->l->n_workers + 1) * sizeof(*more));
	if (!more)
		return err_nomem(err);
	r->l->workers = more;
	struct lineage_worker *w = &more[r->l->n_workers];
	*w = (struct lineage_worker){.name = arena_text(&r->l->arena, name), .implied = true, .skip = r->only};
	w->order = calloc(1, sizeof(*w->order));
	if (!w->order || (!w->name.ptr && name.len))
		return err_nomem(err);
	w->order->last_ns = TIME_UNKNOWN;
	*ret = r->l->n_workers++;
	return 0;
}

static bool known_worker(const struct run *r, struct text name, uint32_t *ret)
{
	for (uint32_t i = 0; i < r->l->n_workers; i++) {
		if (r->l->workers[i].id && text_eq(r->l->workers[i].name, name)) {
			*ret = i;
			return true;
		}
	}
	return false;
}

/* "NAME/dp3" -> length of NAME. */
static size_t rank_at(struct text t)
{
	size_t at = text_rfind_char(t, '/');
	return at != SIZE_MAX && text_starts(text_from(t, at), "/dp") ? at : t.len;
}

static struct text joined(struct run *r, struct text base, struct text rank)
{
	if (!rank.len)
		return base;
	char *p = arena_alloc(&r->l->arena, base.len + rank.len);
	if (!p)
		return base;
	if (base.len)
		memcpy(p, base.ptr, base.len);
	memcpy(p + base.len, rank.ptr, rank.len);
	return (struct text){p, base.len + rank.len};
}

/* A record's worker text -> worker. The table's names win: a log's own name, or the alias that records use for it. */
static int find_worker(struct run *r, const struct source *src, struct text t, uint32_t *ret, struct err *err)
{
	bool own = !t.len || t.ptr[0] == '/';
	struct text rank = own ? t : text_from(t, rank_at(t)), base = own ? src->worker : text_sub(t, 0, rank_at(t));
	struct text names[4] = {base, {NULL, 0}, {NULL, 0}, {NULL, 0}};
	unsigned n = 1;
	for (uint32_t i = 0; i < r->n_sources && n < 3; i++)
		if (r->sources[i].alias.len && text_eq(r->sources[i].worker, base))
			names[n++] = r->sources[i].alias;
	if (own && !base.len) { /* no name at all: the file's stem, as the worker table has it */
		size_t slash = text_rfind_char(src->path, '/');
		struct text stem = slash == SIZE_MAX ? src->path : text_from(src->path, slash + 1);
		size_t dot = text_find_char(stem, '.', 1);
		names[0] = dot == SIZE_MAX ? stem : text_sub(stem, 0, dot);
	}
	for (unsigned i = 0; i < n; i++)
		if (known_worker(r, joined(r, names[i], rank), ret))
			return 0;
	return run_worker(r, joined(r, names[0].len ? names[0] : TEXT("unnamed"), rank), ret, err);
}

int run_worker_of(struct run *r, struct source *src, struct text t, uint32_t *ret, struct err *err)
{
	for (unsigned i = 0; i < ARRAY_SIZE(src->memo); i++) {
		if (src->memo[i].set && text_eq(src->memo[i].text, t)) {
			*ret = src->memo[i].worker;
			return 0;
		}
	}
	uint32_t worker;
	int rc = find_worker(r, src, t, &worker, err);
	if (rc < 0)
		return rc;
	unsigned at = src->next_memo++ % ARRAY_SIZE(src->memo);
	src->memo[at].text = arena_text(&r->l->arena, t);
	src->memo[at].worker = worker;
	src->memo[at].set = true;
	*ret = worker;
	return 0;
}

int run_pool(struct run *r, struct lineage_worker *w, struct text name, uint32_t *ret, struct err *err)
{
	if (!name.len)
		name = TEXT("kv");
	for (uint32_t i = 0; i < w->n_pools; i++) {
		if (text_eq(w->pools[i], name)) {
			*ret = i;
			return 0;
		}
	}
	struct text *more = realloc(w->pools, (w->n_pools + 1) * sizeof(*more));
	if (!more)
		return err_nomem(err);
	w->pools = more;
	w->pools[w->n_pools] = arena_text(&r->l->arena, name);
	*ret = w->n_pools++;
	return 0;
}

int64_t run_key(const struct run *r, uint32_t worker)
{
	int64_t id = r->l->workers[worker].id;
	return id ? id : -1 - (int64_t)worker;
}

/* ---- one record ---- */
static struct text row_text(const struct event_batch *b, uint32_t row, unsigned col)
{
	return event_known(b, row, col) ? b->texts[col][row] : (struct text){NULL, 0};
}

static int64_t row_int(const struct event_batch *b, uint32_t row, unsigned col)
{
	return event_known(b, row, col) ? b->ints[col][row] : 0;
}

int run_light(struct run *r, struct source *src, const struct event_batch *b, uint32_t row, struct record *ret,
	      struct err *err)
{
	(void)r, (void)err;
	*ret =
	    (struct record){.ns = b->ts_ns[row], .source = src->id, .off = b->byte_off[row], .len = b->byte_len[row]};
	if (!op_of(row_text(b, row, PAGE_OP), &ret->op))
		return 1;
	ret->ns = instant_of(&src->instants, ret->off, ret->ns, (enum stamp_quality)b->ts_quality[row]);
	ret->has_seq = event_known(b, row, PAGE_SEQ);
	ret->seq = row_int(b, row, PAGE_SEQ);
	return 0;
}

int run_record(struct run *r, struct source *src, const struct event_batch *b, uint32_t row, struct record *ret,
	       struct err *err)
{
	if (run_light(r, src, b, row, ret, err))
		return 1;
	int rc = run_worker_of(r, src, b->worker[row], &ret->worker, err);
	if (rc < 0)
		return rc;
	struct lineage_worker *w = &r->l->workers[ret->worker];
	rc = run_pool(r, w, row_text(b, row, PAGE_POOL), &ret->pool, err);
	struct text rid = row_text(b, row, PAGE_RID), room = row_text(b, row, PAGE_ROOM);
	if (rc == 0 && rid.len)
		rc = actors_rid(r->l->actors, run_key(r, ret->worker), rid, &ret->rid, err);
	if (rc == 0 && room.len)
		rc = actors_room(r->l->actors, room, &ret->room, err);
	if (event_known(b, row, PAGE_TOKEN_FROM) && event_known(b, row, PAGE_TOKEN_TO))
		ret->tokens = MAX(0, row_int(b, row, PAGE_TOKEN_TO) - row_int(b, row, PAGE_TOKEN_FROM));
	ret->has_tokens = event_known(b, row, PAGE_TOKEN_FROM) && event_known(b, row, PAGE_TOKEN_TO);
	ret->page_size = row_int(b, row, PAGE_SIZE);
	ret->pool_pages = row_int(b, row, PAGE_POOL_PAGES);
	uint32_t from = row ? b->run_end[row - 1] : 0;
	ret->runs = event_row_runs(b, row);
	ret->n_runs = b->run_end[row] - from;
	return rc;
}

/* In a log without reads a decode step is a write of a decode worker; elsewhere a write of one token, or, when the
 * record does not say, a later write into one page. A prefill worker has none; where nobody logged the role, any other
 * write may be one. */
static enum step decode_write(const struct lineage_worker *w, const struct record *rec)
{
	if (rec->op != OP_WRITE || !w->implied || w->role == LINEAGE_PREFILL)
		return STEP_NO;
	if (w->role == LINEAGE_DECODE)
		return STEP_YES;
	bool step = rec->has_tokens
			? rec->tokens == 1
			: rec->n_runs == 1 && rec->runs[0].count == 1 && map_find(&w->order->wrote, rec->rid);
	return step ? STEP_YES : w->role == LINEAGE_UNKNOWN ? STEP_UNTOLD : STEP_NO;
}

static int touch(struct run *r, const struct record *rec, struct err *err)
{
	struct lineage *l = r->l;
	struct touch *t = NULL;
	for (uint32_t i = 0; i < l->n_touches && !t; i++)
		if (l->touches[i].worker == rec->worker && l->touches[i].pool == rec->pool &&
		    l->touches[i].op == rec->op)
			t = &l->touches[i];
	if (!t) {
		struct touch *more = realloc(l->touches, (l->n_touches + 1) * sizeof(*more));
		if (!more)
			return err_nomem(err);
		l->touches = more;
		t = &more[l->n_touches++];
		*t = (struct touch){.worker = rec->worker,
				    .pool = rec->pool,
				    .op = rec->op,
				    .first = {rec->ns, rec->source, rec->off, rec->len, 0}};
	}
	t->records++;
	for (uint32_t i = 0; i < rec->n_runs; i++) {
		int rc = rec->runs[i].count ? runset_add(&t->pages, rec->runs[i].first, rec->runs[i].count, err) : 0;
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Names become actors here, in sweep order. */
static int sweep_record(struct run *r, struct lineage_worker *w, const struct record *rec, struct err *err)
{
	struct sweep_op op = {.op = rec->op,
			      .pool = rec->pool,
			      .runs = rec->runs,
			      .n_runs = rec->n_runs,
			      .tokens = rec->has_tokens ? rec->tokens : 0,
			      .page_size = rec->page_size,
			      .pool_pages = rec->pool_pages,
			      .at = {rec->ns, rec->source, rec->off, rec->len, 0}};
	int64_t key = run_key(r, rec->worker);
	int rc = 0;
	if (rec->rid) {
		uint32_t bound = actors_bound(r->l->actors, rec->rid);
		bool fresh =
		    (op.op == OP_ALLOC || op.op == OP_SHARE) && !(bound && sweep_holds(w->sweep, op.pool, bound));
		rc = actors_bind(r->l->actors, rec->rid, rec->ns, fresh, &op.actor, err);
		if (rc == 0 && fresh)
			map_remove(&w->order->wrote, rec->rid);
		if (rc == 0 && rec->room && op.op == OP_ALLOC)
			rc = actors_open_room(r->l->actors, key, rec->room, op.actor, err);
	}
	op.content = op.actor;
	if (op.op == OP_RECV && rec->room && r->part)
		r->unsure |= !actors_room_is_open(r->l->actors, key, rec->room);
	if (op.op == OP_RECV && rec->room && r->forgot)
		r->missed |= !actors_room_is_open(r->l->actors, key, rec->room);
	if (rc == 0 && op.op == OP_RECV && rec->room)
		rc = actors_sender(r->l->actors, key, rec->room, rec->ns, op.actor, &op.content, err);
	op.decode_write = decode_write(w, rec);
	if (rc == 0 && rec->op == OP_WRITE && w->implied && w->role != LINEAGE_DECODE)
		rc = map_put(&w->order->wrote, rec->rid, 1, err);
	if (rc == 0 && w->focus && op.actor == w->focus)
		rc = touch(r, rec, err);
	if (rc == 0 && w->focus && op.actor == w->focus)
		rc = steps_add(r->l, rec, err);
	if (rc == 0)
		rc = sweep_add(w->sweep, &op, err);
	r->missed |= r->forgot && sweep_is_strange(w->sweep);
	return rc;
}

/* The next record of a worker takes its place in the sequence: boots, holes, restarts. */
static int take_place(struct run *r, const struct record *rec, bool in_doubt, struct err *err)
{
	struct lineage_worker *w = &r->l->workers[rec->worker];
	struct order *o = w->order;
	int rc = w->sweep ? 0 : sweep_new(&w->sweep, w->implied, err);
	if (rc < 0)
		return rc;
	bool boot = rec->op == OP_BOOT;
	if (!o->any || (boot && (!rec->has_seq || !o->has_seq)))
		rc = boot ? sweep_restart(w->sweep, true, err) : 0;
	else if (in_doubt || !rec->has_seq || !o->has_seq)
		sweep_hole(w->sweep);
	else if (rec->seq <= o->last_seq)
		rc = sweep_restart(w->sweep, boot, err);
	else if (rec->seq - 1 != o->last_seq)
		sweep_hole(w->sweep);
	if (w->doubted)
		sweep_hole(w->sweep);
	o->any = true;
	o->has_seq = rec->has_seq;
	o->last_seq = in_doubt ? MAX(o->last_seq, rec->seq) : rec->seq;
	o->last_ns = rec->ns;
	o->last_source = rec->source;
	return rc;
}

int run_skip(struct run *r, const struct record *rec, struct err *err)
{
	return take_place(r, rec, false, err);
}

int run_feed(struct run *r, const struct record *rec, bool in_doubt, struct err *err)
{
	if (case_stopped(r->c)) /* one record may name a million pages */
		return err_set(err, ERR_INTERRUPTED, "stopped");
	int rc = take_place(r, rec, in_doubt, err);
	return rc == 0 ? sweep_record(r, &r->l->workers[rec->worker], rec, err) : rc;
}

/* Does this record follow the last one of its worker? If not, the worker must be sorted. */
static bool in_order(const struct order *o, const struct record *rec)
{
	if (!o->any)
		return true;
	bool timed = rec->ns != TIME_UNKNOWN && o->last_ns != TIME_UNKNOWN;
	if (rec->has_seq && o->has_seq && rec->seq <= o->last_seq)
		return rec->op == OP_BOOT &&
		       (timed ? rec->ns > o->last_ns || (rec->ns == o->last_ns && rec->seq < o->last_seq)
			      : rec->seq < o->last_seq);
	if (rec->source == o->last_source && rec->has_seq)
		return true; /* the clock stepped; seq decides */
	return !timed || rec->ns >= o->last_ns;
}

/* Do records name so many pages that looking at each of them would take for ever? */
static bool is_wide(struct order *o, const struct record *rec)
{
	o->records++;
	for (uint32_t i = 0; i < rec->n_runs; i++)
		o->touched += rec->runs[i].count;
	return o->touched > SWEEP_DENSE_TOUCHES && o->touched / o->records > SWEEP_DENSE_PAGES;
}

static int stream(struct run *r, struct err *err)
{
	for (uint32_t i = 0; i < r->n_sources; i++) {
		struct source *src = &r->sources[i];
		CLEANUP(event_scan_closep) struct event_scan *scan = NULL;
		struct event_filter filter = {src->id, TIME_UNKNOWN, TIME_UNKNOWN};
		int rc = event_scan_open(&scan, r->c, EVENT_PAGE, PAGE_MASK, &filter, err);
		const struct event_batch *b;
		int64_t id;
		while (rc >= 0 && (rc = event_scan_next(scan, &b, &id, err)) == 1) {
			for (uint32_t row = 0; row < b->n; row++) {
				struct record rec;
				rc = run_record(r, src, b, row, &rec, err);
				if (rc == 1)
					continue;
				if (rc < 0)
					return rc;
				struct order *o = r->l->workers[rec.worker].order;
				if (o->dirty || r->l->workers[rec.worker].skip)
					continue;
				if (is_wide(o, &rec))
					o->dirty = o->wide = true;
				else if (!in_order(o, &rec))
					o->dirty = true;
				if (o->dirty)
					continue;
				rc = run_feed(r, &rec, false, err);
				if (rc < 0)
					return rc;
				if (r->missed)
					return 0;
			}
			rc = run_forget(r, err);
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Page logs that were found in order hold reads (resolve_page.c). *ret: workers that it is not known of. */
static int known_reads(struct run *r, uint32_t *ret, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	*ret = r->l->n_workers;
	int rc = sql_prepare(&s, r->c,
			     "SELECT DISTINCT w.worker FROM json_each((SELECT value FROM case_info WHERE "
			     "key = 'page_logs_in_order')) j JOIN worker w ON w.name = j.value",
			     err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		for (uint32_t i = 0; i < r->l->n_workers; i++) {
			struct lineage_worker *w = &r->l->workers[i];
			*ret -= w->implied && w->id == sql_get_int(s, 0);
			w->implied &= w->id != sql_get_int(s, 0);
		}
	}
	return rc;
}

/* Which workers log reads at all? Stops as soon as every one has been seen to. */
static int find_reads(struct run *r, struct err *err)
{
	uint32_t open;
	int res = known_reads(r, &open, err);
	if (res < 0)
		return res;
	for (uint32_t i = 0; i < r->n_sources && open; i++) {
		struct source *src = &r->sources[i];
		CLEANUP(event_scan_closep) struct event_scan *scan = NULL;
		struct event_filter filter = {src->id, TIME_UNKNOWN, TIME_UNKNOWN};
		int rc = event_scan_open(&scan, r->c, EVENT_PAGE, 1u << PAGE_OP, &filter, err);
		const struct event_batch *b;
		int64_t id;
		while (rc >= 0 && open && (rc = event_scan_next(scan, &b, &id, err)) == 1) {
			for (uint32_t row = 0; row < b->n && open; row++) {
				uint32_t worker, before = r->l->n_workers;
				rc = run_worker_of(r, src, b->worker[row], &worker, err);
				if (rc < 0)
					return rc;
				open += r->l->n_workers - before;
				struct lineage_worker *w = &r->l->workers[worker];
				if (w->implied && text_is(row_text(b, row, PAGE_OP), "read")) {
					w->implied = false;
					open--;
				}
			}
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* ---- order again: from memory, sorted ---- */
static int collect(struct run *r, uint32_t worker, struct records *all, struct err *err)
{
	for (uint32_t i = 0; i < r->n_sources; i++) {
		struct source *src = &r->sources[i];
		CLEANUP(event_scan_closep) struct event_scan *scan = NULL;
		struct event_filter filter = {src->id, TIME_UNKNOWN, TIME_UNKNOWN};
		int rc = event_scan_open(&scan, r->c, EVENT_PAGE, PAGE_MASK, &filter, err);
		const struct event_batch *b;
		int64_t id;
		while (rc >= 0 && (rc = event_scan_next(scan, &b, &id, err)) == 1) {
			for (uint32_t row = 0; row < b->n; row++) {
				struct record rec;
				rc = run_record(r, src, b, row, &rec, err);
				if (rc == 0 && rec.worker == worker)
					rc = order_add(all, &rec, err);
				if (rc < 0)
					return rc;
			}
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}

static void forget(struct run *r, uint32_t worker)
{
	struct lineage *l = r->l;
	struct lineage_worker *w = &l->workers[worker];
	uint32_t n = 0;
	sweep_free(w->sweep);
	w->sweep = NULL;
	map_done(&w->order->wrote);
	*w->order = (struct order){.last_ns = TIME_UNKNOWN};
	for (uint32_t i = 0; i < l->n_touches; i++) {
		if (l->touches[i].worker == worker)
			runset_done(&l->touches[i].pages);
		else
			l->touches[n++] = l->touches[i];
	}
	l->n_touches = n;
	steps_forget(l, worker);
}

/* Counts again: a worker that is out of order has not been looked at to its end. */
static bool all_wide(const struct records *all)
{
	uint64_t pages = 0;
	for (size_t i = 0; i < all->n_runs; i++)
		pages += all->runs[i].count;
	return pages > SWEEP_DENSE_TOUCHES && pages / all->n > SWEEP_DENSE_PAGES;
}

static int sort_again(struct run *r, uint32_t worker, struct err *err)
{
	struct records all = {.limit = PAGE_SORT_MAX_BYTES};
	uint32_t *bounds = NULL;
	size_t n_bounds = 0;
	forget(r, worker);
	int rc = collect(r, worker, &all, err);
	struct lineage_worker *w = &r->l->workers[worker];
	if (rc == ERR_LIMIT) {
		err_where(err, "page log of %.*s", TEXT_ARG(w->name));
		rc = err_hint(err, "sort its files by time and seq, and ingest them into a new case");
	}
	if (rc == 0)
		rc = sweep_new(&w->sweep, w->implied, err);
	if (rc == 0 && all.n && all_wide(&all))
		rc = order_bounds(&all, &bounds, &n_bounds, err);
	if (rc == 0 && bounds)
		sweep_by_runs(w->sweep, bounds, n_bounds);
	if (rc == 0)
		rc = order_feed(&all, r, &r->l->duplicates, err);
	order_done(&all);
	return rc;
}

/* ---- the result ---- */
static int edge_cmp(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	if (x->pool != y->pool)
		return x->pool < y->pool ? -1 : 1;
	if (x->reader != y->reader)
		return x->reader < y->reader ? -1 : 1;
	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return (x->kind > y->kind) - (x->kind < y->kind);
}

int run_finish(struct run *r, struct err *err)
{
	for (uint32_t i = 0; i < r->l->n_workers; i++) {
		struct lineage_worker *w = &r->l->workers[i];
		if (!w->sweep)
			continue;
		int rc = sweep_end(w->sweep, err);
		if (rc < 0)
			return rc;
		w->edges = sweep_edges(w->sweep, &w->n_edges);
		w->covers = sweep_covers(w->sweep, &w->n_covers);
		if (w->n_edges)
			qsort(w->edges, w->n_edges, sizeof(*w->edges), edge_cmp);
	}
	return 0;
}

int run_whole(struct run *r, struct err *err)
{
	int rc = find_reads(r, err);
	if (rc == 0)
		rc = stream(r, err);
	for (uint32_t i = 0; rc == 0 && i < r->l->n_workers && !r->missed; i++)
		if (r->l->workers[i].order->dirty)
			rc = sort_again(r, i, err);
	return rc == 0 && !r->missed ? run_finish(r, err) : rc;
}

int run_begin(struct run *r, struct case_file *c, bool lazy, struct err *err)
{
	*r = (struct run){.c = c, .part = lazy};
	r->l = calloc(1, sizeof(*r->l));
	if (!r->l)
		return err_nomem(err);
	arena_init(&r->l->arena, ARENA_MAX_BYTES);
	int rc = actors_load(&r->l->actors, c, lazy, err);
	if (rc == 0)
		rc = load_workers(r, err);
	return rc == 0 ? load_sources(r, err) : rc;
}

void run_end(struct run *r)
{
	free(r->sources);
	for (uint32_t i = 0; r->l && i < r->l->n_workers; i++) {
		if (r->l->workers[i].order)
			map_done(&r->l->workers[i].order->wrote);
		free(r->l->workers[i].order);
		r->l->workers[i].order = NULL;
	}
}

enum { FORGET_FROM = 1 << 17 };

int lineage_run(struct lineage **ret, struct case_file *c, struct err *err)
{
	return lineage_run_forgetting(ret, c, FORGET_FROM, err);
}

int lineage_run_forgetting(struct lineage **ret, struct case_file *c, size_t from, struct err *err)
{
	bool keep = false;
	for (;;) {
		struct run r;
		int rc = run_begin(&r, c, false, err);
		r.keep = keep;
		r.forget_from = r.forget_at = from;
		if (rc == 0)
			rc = run_whole(&r, err);
		run_end(&r);
		bool done = rc == 0 && !r.missed;
		*ret = done ? r.l : NULL; /* the caller frees what it is given, whatever comes */
		if (done)
			return 0;
		lineage_free(r.l);
		if (rc < 0)
			return rc;
		keep = true;
	}
}

void lineage_free(struct lineage *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; i < l->n_workers; i++) {
		sweep_free(l->workers[i].sweep);
		free(l->workers[i].pools);
	}
	for (uint32_t i = 0; i < l->n_touches; i++)
		runset_done(&l->touches[i].pages);
	free(l->touches);
	steps_done(l);
	free(l->workers);
	actors_free(l->actors);
	arena_done(&l->arena);
	free(l);
}
