/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_load.c - sources in canonical order, their events, and which worker a record speaks of
 *
 * Canonical order is content hash, then path: it does not depend on when or in which order files were ingested.
 */
#include "resolve.h"

#include <stdlib.h>
#include <string.h>

static int source_cmp(const void *a, const void *b)
{
	const struct source_info *x = a, *y = b;
	int c = text_cmp(x->sha256, y->sha256);
	if (!c)
		c = text_cmp(x->path, y->path);
	return c ? c : x->id < y->id ? -1 : x->id > y->id;
}

static struct text keep(struct resolve *r, struct sql *s, int col)
{
	struct text t = sql_get_text(s, col);
	return t.len ? arena_text(&r->arena, t) : (struct text){NULL, 0};
}

/* While sources still stand in the order of their ids. */
static int source_kinds(struct resolve *r, struct err *err)
{
	uint32_t i = 0;
	CLEANUP(sql_endp) struct sql *s = NULL;
	int res = sql_prepare(&s, r->c, "SELECT DISTINCT source, kind FROM event_chunk ORDER BY source, kind", err);
	while (!res && (res = sql_step(s, err)) == 1) {
		res = 0;
		int64_t id = sql_get_int(s, 0), kind = sql_get_int(s, 1);
		while (i < r->n_sources && r->sources[i].id < id)
			i++;
		if (i < r->n_sources && r->sources[i].id == id && kind >= 0 && kind < EVENT_KINDS)
			r->sources[i].kinds |= 1u << kind;
	}
	return res;
}

int load_sources(struct resolve *r, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL, *count = NULL;
	int res = sql_prepare(&count, r->c, "SELECT count(*) FROM source", err);
	if (res || (res = sql_step(count, err)) < 0)
		return res;
	size_t max = (size_t)sql_get_int(count, 0);
	r->sources = arena_array(&r->arena, max + 1, sizeof(*r->sources));
	if (!r->sources)
		return err_nomem(err);
	res = sql_prepare(&s, r->c,
			  "SELECT source, path, format, worker, worker_alias, role, tz, tz_basis, status, reason, "
			  "coalesce(content_sha256, sha256, ''), first_ns, last_ns, unparsed, "
			  "records > 0 AND duplicate = records FROM source ORDER BY source",
			  err);
	while (!res && (res = sql_step(s, err)) == 1 && r->n_sources < max) {
		res = 0;
		struct source_info *at = &r->sources[r->n_sources++];
		at->id = sql_get_int(s, 0);
		at->path = keep(r, s, 1);
		at->format = keep(r, s, 2);
		at->worker = keep(r, s, 3);
		at->alias = keep(r, s, 4);
		at->role = role_of(sql_get_text(s, 5));
		at->tz = keep(r, s, 6);
		at->tz_basis = keep(r, s, 7);
		at->status = keep(r, s, 8);
		at->reason = keep(r, s, 9);
		at->sha256 = keep(r, s, 10);
		at->first_ns = sql_get_time(s, 11);
		at->last_ns = sql_get_time(s, 12);
		at->unparsed = sql_get_int(s, 13);
		at->elsewhere = sql_get_int(s, 14) != 0;
		at->worker_at = NO_INDEX;
		at->memo_worker = NO_INDEX;
		at->bound_ns = UNKNOWN;
		at->seen_from = at->seen_to = UNKNOWN;
	}
	if (res < 0)
		return res;
	res = source_kinds(r, err);
	qsort(r->sources, r->n_sources, sizeof(*r->sources), source_cmp);
	return res;
}

static int load_batch(struct resolve *r, uint32_t source, const struct event_batch *b, row_fn row, struct err *err)
{
	int res = 0;
	r->sources[source].memo_worker = NO_INDEX; /* its text died with the batch before */
	memset(r->memo, 0, sizeof(*r->memo));
	for (uint32_t k = 0; k < b->n && !res; k++) {
		res = row(r, source, b, k, err);
		if (!res)
			res = resolve_tick(r, err);
	}
	return res;
}

/* Somebody decodes these events at the same time. 1: not those of this source. */
static int load_fed(struct resolve *r, uint32_t source, row_fn row, struct err *err)
{
	struct event_batch *b;
	if (!r->feed || event_feed_join(r->feed, r->sources[source].id))
		return 1;
	int res;
	while ((res = event_feed_next(r->feed, &b, err)) == 1) {
		res = load_batch(r, source, b, row, err);
		event_batch_free(b);
		if (res)
			break;
	}
	return res;
}

static int load_sources_of(struct resolve *r, enum event_kind kind, uint32_t mask, row_fn row, struct err *err)
{
	for (uint32_t i = 0; i < r->n_sources; i++) {
		if (!(r->sources[i].kinds & 1u << kind))
			continue;
		int fed = kind == EVENT_PAGE ? load_fed(r, i, row, err) : 1;
		if (fed < 0)
			return fed;
		if (!fed)
			continue;
		CLEANUP(event_scan_closep) struct event_scan *scan = NULL;
		struct event_filter filter = {r->sources[i].id, TIME_UNKNOWN, TIME_UNKNOWN};
		const struct event_batch *b;
		int64_t id;
		int res = event_scan_open(&scan, r->c, kind, mask, &filter, err);
		while (!res && (res = event_scan_next(scan, &b, &id, err)) == 1) {
			res = load_batch(r, i, b, row, err);
		}
		if (res < 0)
			return res;
	}
	return 0;
}

int load_each(struct resolve *r, enum event_kind kind, uint32_t mask, row_fn row, struct err *err)
{
	r->memo = malloc(sizeof(*r->memo));
	int res = r->memo ? load_sources_of(r, kind, mask, row, err) : err_nomem(err);
	free(r->memo);
	r->memo = NULL;
	if (kind == EVENT_PAGE && r->feed) { /* one pass is all that it feeds */
		event_feed_leave(r->feed);
		r->feed = NULL;
	}
	return res;
}

/* "NAME/dp3" -> length of NAME; t.len when there is no rank. */
static size_t rank_at(struct text t)
{
	size_t at = text_rfind_char(t, '/');
	if (at == SIZE_MAX || !at || !text_starts(text_from(t, at), "/dp"))
		return t.len;
	int64_t n;
	return text_int64(text_from(t, at + 3), &n) && n >= 0 ? at : t.len;
}

static struct worker_name *worker_name_at(struct resolve *r, uint32_t name)
{
	uint32_t at = (name * 0x9e3779b1u) & (r->cap_worker_names - 1);
	while (r->worker_names[at].name && r->worker_names[at].name != name)
		at = (at + 1) & (r->cap_worker_names - 1);
	return &r->worker_names[at];
}

static bool worker_names_grow(struct resolve *r)
{
	uint32_t cap = r->cap_worker_names;
	struct worker_name *old = r->worker_names, *more = calloc(cap ? (size_t)cap * 2 : 64, sizeof(*more));
	if (!more)
		return false;
	r->worker_names = more;
	r->cap_worker_names = cap ? cap * 2 : 64;
	for (uint32_t i = 0; i < cap; i++)
		if (old[i].name)
			*worker_name_at(r, old[i].name) = old[i];
	free(old);
	return true;
}

struct worker_name *worker_name(struct resolve *r, uint32_t name, bool make)
{
	struct worker_name *at = r->cap_worker_names ? worker_name_at(r, name) : NULL;
	if (at && at->name)
		return at;
	if (!make)
		return NULL;
	/* names that stand for a worker are at most as many as workers and sources */
	if ((uint64_t)r->n_worker_names * 2 >= r->cap_worker_names && !worker_names_grow(r))
		return NULL;
	at = worker_name_at(r, name);
	at->name = name;
	r->n_worker_names++;
	return at;
}

static int worker_add(struct resolve *r, struct text name, uint32_t *ret, struct err *err)
{
	uint32_t id;
	int res = names_id(&r->names, name, &id, err);
	if (res)
		return res;
	struct worker_name *e = worker_name(r, id, true);
	if (!e)
		return err_nomem(err);
	if (!e->worker) {
		struct worker *w = shelf_add(&r->workers);
		if (!w)
			return err_nomem(err);
		e->worker = r->workers.n;
		w->name = id;
		w->base = r->workers.n - 1;
		w->first_ns = w->last_ns = w->early_ns = w->page_lo = w->page_hi = UNKNOWN;
	}
	*ret = e->worker - 1;
	return 0;
}

int worker_get(struct resolve *r, struct text name, uint32_t *ret, struct err *err)
{
	if (!name.len)
		name = TEXT("unnamed");
	int res = worker_add(r, name, ret, err);
	size_t base_len = rank_at(name);
	if (res || base_len == name.len || worker_at(r, *ret)->ranked)
		return res;
	uint32_t base = 0;
	res = worker_add(r, text_sub(name, 0, base_len), &base, err);
	if (res)
		return res;
	worker_at(r, *ret)->ranked = true;
	worker_at(r, *ret)->base = base;
	worker_at(r, base)->has_ranks = true;
	return 0;
}

/* The worker of a source that none was found for: its file's stem. */
static struct text path_stem(struct text path)
{
	size_t slash = text_rfind_char(path, '/');
	struct text stem = slash == SIZE_MAX ? path : text_from(path, slash + 1);
	size_t dot = text_find_char(stem, '.', 1);
	return dot == SIZE_MAX ? stem : text_sub(stem, 0, dot);
}

/* Records may call a worker by the name that its log calls an alias: the name that records use wins. */
static struct text worker_alias(struct resolve *r, struct text base)
{
	uint32_t id = names_find(&r->names, base);
	const struct worker_name *e = id ? worker_name(r, id, false) : NULL;
	return e && e->alias ? names_text(&r->names, e->alias) : base;
}

static int worker_full(struct resolve *r, uint32_t source, struct text t, uint32_t *ret, struct err *err)
{
	char line[2 * NAME_MAX_BYTES + 64];
	struct text own, rank = {NULL, 0};
	if (!t.len || t.ptr[0] == '/') {
		const struct source_info *s = &r->sources[source];
		own = s->worker_at != NO_INDEX ? names_text(&r->names, worker_at(r, s->worker_at)->name)
		      : s->worker.len          ? s->worker
					       : path_stem(s->path);
		rank = t;
	} else {
		size_t base = rank_at(t);
		own = worker_alias(r, text_sub(t, 0, base));
		rank = text_from(t, base);
	}
	own = text_sub(own, 0, NAME_MAX_BYTES);
	rank = text_sub(rank, 0, NAME_MAX_BYTES);
	if (own.len)
		memcpy(line, own.ptr, own.len);
	if (rank.len)
		memcpy(line + own.len, rank.ptr, rank.len);
	return worker_get(r, (struct text){line, own.len + rank.len}, ret, err);
}

int worker_of_row(struct resolve *r, uint32_t source, const struct event_batch *b, uint32_t row, uint32_t *ret,
		  struct err *err)
{
	struct source_info *s = &r->sources[source];
	struct text t = b->worker[row];
	if (s->memo_worker != NO_INDEX && s->memo_text.len == t.len &&
	    (s->memo_text.ptr == t.ptr || text_eq(s->memo_text, t))) {
		*ret = s->memo_worker;
		return 0;
	}
	int res = worker_full(r, source, t, ret, err);
	if (!res && s->role && t.len && t.ptr[0] != '/') /* the role that was given to a file is that of all in it */
		worker_at(r, *ret)->source_role = (uint8_t)s->role;
	if (!res) {
		s->memo_text = t;
		s->memo_worker = *ret;
	}
	return res;
}

/* The worker that bears this name, NULL: none. */
static const struct worker *in_records(struct resolve *r, struct text name)
{
	uint32_t id = names_find(&r->names, name);
	const struct worker_name *e = id ? worker_name(r, id, false) : NULL;
	return e && e->worker ? worker_at(r, e->worker - 1) : NULL;
}

/* Does somebody use the alias as a name (a page log's record, another source), and is it clear whose it is? Where one
 * file's stem turns out to be its worker's name, the others' are taken for names as well: one fleet, one way of naming.
 */
static bool alias_counts(struct resolve *r, const struct source_info *s, bool stems_are_names)
{
	bool used = in_records(r, s->alias) != NULL;
	for (uint32_t i = 0; i < r->n_sources; i++) {
		const struct source_info *o = &r->sources[i];
		if (text_eq(o->worker, s->alias))
			used = true;
		if (o->alias.len && text_eq(o->alias, s->alias) && !text_eq(o->worker, s->worker))
			return false; /* two workers share the alias */
	}
	for (uint32_t i = 0; i < r->n_sources; i++) {
		const struct source_info *o = &r->sources[i];
		if (text_eq(o->worker, s->worker) && o->alias.len && !text_eq(o->alias, s->alias) &&
		    (!used || in_records(r, o->alias)))
			return false; /* one worker with two names */
	}
	return used || stems_are_names;
}

int workers_map(struct resolve *r, struct err *err)
{
	/* page_scan() has registered the names that page logs use */
	bool stems_are_names = false;
	for (uint32_t i = 0; i < r->n_sources; i++)
		stems_are_names |= r->sources[i].alias.len && in_records(r, r->sources[i].alias) != NULL;
	for (uint32_t i = 0; i < r->n_sources; i++) {
		struct source_info *s = &r->sources[i];
		const struct worker *own = in_records(r, s->worker);
		uint32_t id = 0;
		if (!s->worker.len || !s->alias.len || text_eq(s->worker, s->alias) || (own && own->page_log) ||
		    !alias_counts(r, s, stems_are_names))
			continue;
		int res = worker_get(r, s->alias, &s->worker_at, err);
		if (!res)
			res = names_id(&r->names, s->worker, &id, err);
		struct worker_name *e = res ? NULL : worker_name(r, id, true);
		if (!e)
			return res ? res : err_nomem(err);
		e->alias = worker_at(r, s->worker_at)->name;
	}
	for (uint32_t i = 0; i < r->n_sources; i++) {
		struct source_info *s = &r->sources[i];
		if (s->worker_at != NO_INDEX || !s->worker.len)
			continue;
		struct text name = worker_alias(r, s->worker);
		int res = worker_get(r, name, &s->worker_at, err);
		if (res)
			return res;
	}
	return 0;
}

void worker_seen(struct resolve *r, uint32_t worker, int64_t lo, int64_t hi, const struct ref_node *ref)
{
	struct worker *w = worker_at(r, worker);
	w->first_ns = earlier(w->first_ns, lo);
	w->last_ns = later(w->last_ns, hi);
	if (!ref)
		return;
	w->used = true;
	r->sources[ref->source].seen_from = earlier(r->sources[ref->source].seen_from, lo);
	r->sources[ref->source].seen_to = later(r->sources[ref->source].seen_to, hi);
	if (!w->has_early || (lo != UNKNOWN && (w->early_ns == UNKNOWN || lo < w->early_ns))) {
		w->has_early = true;
		w->early_ns = lo;
		w->early_ref = *ref;
	}
}
