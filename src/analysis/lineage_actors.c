/* SPDX-License-Identifier: Apache-2.0 */
/* lineage_actors.c - which request a rid or a room of a page log is
 *
 * A rid is known per worker. The case's legs and aliases say which request it is; where a client used one id more than
 * once, the leg that lived at that time, chosen when the rid takes pages and holds none. A rid that the case does not
 * know stays an actor under its own name. Numbers are given in the order of asking, actors of requests first: the same
 * case gives the same. Unless it is lazy, the first actors are the requests, under their numbers; of these only the tenant
 * is kept, and the name is read when it is to be shown.
 */
#include <stdlib.h>
#include <string.h>

#include "lineage.h"
#include "pagetrail/row_range.h"

struct candidate {            /* one leg under a rid, or under a room */
	uint32_t next, actor; /* index + 1 */
	int64_t from, to;
};

struct binding { /* a rid of one worker, or a room */
	struct text text;
	int64_t worker;       /* 0: a room */
	uint32_t first, last; /* candidates, by start; those without times come last */
	uint32_t cursor;      /* last one chosen: records come in time order, so the search goes on from there */
	uint32_t actor;       /* last meaning; 0: none yet */
	bool several;         /* candidates of more than one request */
};

struct actors {
	struct case_file *c;
	struct arena arena;
	uint32_t n_requests; /* actors 1 to n_requests are the requests of these numbers */
	uint32_t *tenants;   /* theirs */
	struct row_book *book, *names;
	struct row_range *named; /* where the last name was read */
	struct actor *all;       /* the others: all[0] is nobody, all[i] actor n_requests + i */
	size_t n, cap;
	struct map of_request;
	struct binding *bindings;
	size_t n_bindings, cap_bindings;
	struct map by_text; /* hash of worker and text -> binding; collisions step on */
	struct candidate *candidates;
	size_t n_candidates, cap_candidates;
	struct map opened; /* worker, room -> actor */
	bool rooms_loaded;
	bool lazy; /* only what is asked for is looked up: */
	struct sql *legs_of, *aliases_of, *request_of;
};

/* A statement that is asked again and again; *s is NULL before its first time. */
static int again(struct actors *a, struct sql **s, const char *text, struct err *err)
{
	if (!*s)
		return sql_prepare(s, a->c, text, err);
	sql_reset(*s);
	return 0;
}

static int grow(void **p, size_t *cap, size_t n, size_t size, struct err *err)
{
	if (n < *cap)
		return 0;
	size_t more = *cap ? *cap * 2 : 64;
	void *q = realloc(*p, more * size);
	if (!q)
		return err_nomem(err);
	*p = q;
	*cap = more;
	return 0;
}

static int actor_add(struct actors *a, struct actor who, uint32_t *ret, struct err *err)
{
	struct text name = arena_text(&a->arena, who.name);
	if (!name.ptr && who.name.len)
		return err_nomem(err);
	who.name = name;
	int rc = grow((void **)&a->all, &a->cap, a->n, sizeof(*a->all), err);
	if (rc < 0)
		return rc;
	a->all[a->n] = who;
	*ret = a->n_requests + (uint32_t)a->n++;
	return 0;
}

static int candidates_of(struct actors *a, uint32_t binding, struct err *err);

static uint64_t text_key(int64_t worker, struct text text)
{
	return (text_hash(text) ^ (uint64_t)worker * UINT64_C(0x9e3779b97f4a7c15)) >> 1;
}

static uint64_t next_key(uint64_t key)
{
	return (key + UINT64_C(0x9e3779b97f4a7c15)) >> 1;
}

static int binding_get(struct actors *a, int64_t worker, struct text text, uint32_t *ret, struct err *err)
{
	uint64_t key = text_key(worker, text);
	for (uint32_t *at; (at = map_find(&a->by_text, key)); key = next_key(key)) {
		const struct binding *b = &a->bindings[*at];
		if (b->worker == worker && text_eq(b->text, text)) {
			*ret = *at;
			return 0;
		}
	}
	struct binding b = {.text = arena_text(&a->arena, text), .worker = worker};
	if (!b.text.ptr && text.len)
		return err_nomem(err);
	int rc = grow((void **)&a->bindings, &a->cap_bindings, a->n_bindings, sizeof(*a->bindings), err);
	if (rc == 0)
		rc = map_put(&a->by_text, key, (uint32_t)a->n_bindings, err);
	if (rc < 0)
		return rc;
	a->bindings[a->n_bindings] = b;
	*ret = (uint32_t)a->n_bindings++;
	return a->lazy && worker > 0 ? candidates_of(a, *ret, err) : 0;
}

enum { SAME_MAX = 64 }; /* a client may use one id for any number of requests */

static int candidate_add(struct actors *a, uint32_t binding, struct candidate c, struct err *err)
{
	struct binding *b = &a->bindings[binding];
	unsigned steps = 0;
	for (uint32_t i = b->first; i && steps < SAME_MAX; i = a->candidates[i - 1].next, steps++) {
		const struct candidate *o = &a->candidates[i - 1];
		if (o->actor != c.actor)
			b->several = true;
		else if (c.from == TIME_UNKNOWN && c.to == TIME_UNKNOWN)
			return 0; /* an alias says no more than the leg that is there */
	}
	int rc = grow((void **)&a->candidates, &a->cap_candidates, a->n_candidates, sizeof(*a->candidates), err);
	if (rc < 0)
		return rc;
	c.next = 0;
	a->candidates[a->n_candidates++] = c;
	uint32_t i = (uint32_t)a->n_candidates;
	if (b->last)
		a->candidates[b->last - 1].next = i;
	else
		b->first = b->cursor = i;
	b->last = i;
	return 0;
}

/* How far from [from, to] a time is; unknown ends are open, and a leg without any time is a last resort. */
static int64_t distance(const struct candidate *c, int64_t ns)
{
	if (c->from == TIME_UNKNOWN && c->to == TIME_UNKNOWN)
		return INT64_MAX / 2;
	if (c->from != TIME_UNKNOWN && ns < c->from)
		return c->from - ns;
	if (c->to != TIME_UNKNOWN && ns > c->to)
		return ns - c->to;
	return 0;
}

static uint32_t candidate_at(struct actors *a, uint32_t binding, int64_t ns)
{
	struct binding *b = &a->bindings[binding];
	uint32_t best = 0;
	int64_t best_distance = INT64_MAX;
	for (uint32_t i = b->cursor; i; i = a->candidates[i - 1].next) {
		const struct candidate *c = &a->candidates[i - 1];
		if (best && ns != TIME_UNKNOWN && c->from != TIME_UNKNOWN && c->from > ns &&
		    c->from - ns > best_distance)
			break;
		int64_t d = ns == TIME_UNKNOWN ? 0 : distance(c, ns);
		if (d < best_distance) {
			best = i;
			best_distance = d;
		}
		if (ns == TIME_UNKNOWN || !b->several)
			break;
	}
	if (!best)
		return 0;
	if (best_distance < INT64_MAX / 2)
		b->cursor = best;
	return a->candidates[best - 1].actor;
}

/* The actor of a request, which is looked up when that was not done for all. */
int actors_request(struct actors *a, int64_t request, uint32_t *ret, struct err *err)
{
	*ret = actors_of_request(a, request);
	if (*ret || !a->lazy)
		return 0;
	int rc = again(a, &a->request_of, "SELECT coalesce(tenant, 0), name FROM request WHERE request = ?1", err);
	struct sql *s = a->request_of;
	if (rc == 0)
		rc = sql_int(s, 1, request, err);
	if (rc == 0)
		rc = sql_step(s, err);
	if (rc <= 0)
		return rc;
	rc = actor_add(a, (struct actor){request, sql_get_int(s, 0), sql_get_text(s, 1)}, ret, err);
	sql_reset(s);
	return rc < 0 ? rc : map_put(&a->of_request, (uint64_t)request, *ret, err);
}

/* Rows (worker or 0, text, request, from, to) become candidates; of one binding, or (0) of all. */
static int take_candidates(struct actors *a, struct sql *s, uint32_t only, struct err *err)
{
	int rc = 0;
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		uint32_t actor, binding = only;
		rc = actors_request(a, sql_get_int(s, 2), &actor, err);
		if (rc < 0 || !actor)
			continue;
		if (!only)
			rc = binding_get(a, sql_get_int(s, 0), sql_get_text(s, 1), &binding, err);
		struct candidate c = {.actor = actor, .from = sql_get_time(s, 3), .to = sql_get_time(s, 4)};
		if (rc == 0)
			rc = candidate_add(a, binding, c, err);
	}
	return rc;
}

static int load_candidates(struct actors *a, const char *text, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, a->c, text, err);
	return rc == 0 ? take_candidates(a, s, 0, err) : rc;
}

static int ask_candidates(struct actors *a, struct sql **s, const char *text, uint32_t binding, struct err *err)
{
	int rc = again(a, s, text, err);
	if (rc == 0)
		rc = sql_text(*s, 1, a->bindings[binding].text, err);
	if (rc == 0)
		rc = sql_int(*s, 2, a->bindings[binding].worker, err);
	if (rc == 0)
		rc = take_candidates(a, *s, binding, err);
	if (*s)
		sql_reset(*s);
	return rc;
}

static int candidates_of(struct actors *a, uint32_t binding, struct err *err)
{
	int rc = ask_candidates(a, &a->legs_of,
				"SELECT worker, rid, request, started_ns, finished_ns FROM leg WHERE request IN "
				"(SELECT request FROM alias WHERE value = ?1 UNION SELECT request FROM request WHERE "
				"name = ?1) AND worker = ?2 AND rid = ?1 "
				"ORDER BY started_ns, leg",
				binding, err);
	return rc < 0 ? rc
		      : ask_candidates(a, &a->aliases_of,
				       "SELECT worker, value, request, NULL, NULL FROM alias WHERE value = ?1 AND "
				       "worker = ?2 AND kind = 'rid' ORDER BY request",
				       binding, err);
}

enum { REQUESTS_AT_ONCE = 1 << 16 };

static int load_tenants(struct actors *a, int64_t n, struct err *err)
{
	int rc = 0;
	for (int64_t from = 1; rc == 0 && from <= n; from += REQUESTS_AT_ONCE) {
		struct row_range *r = NULL;
		rc = row_range_read(&r, a->book, from, from + REQUESTS_AT_ONCE - 1, err);
		if (rc == 0)
			rc = row_range_seek(r, from, err);
		for (; rc == 1 && row_range_request(r) < from + REQUESTS_AT_ONCE; rc = row_range_next(r, err)) {
			int64_t request = row_range_request(r), tenant = row_range_int(r, REQUEST_TENANT);
			if (request < 1 || request > n)
				return row_range_free(r), err_set(err, ERR_DAMAGED, "requests are not numbered");
			a->tenants[request] = tenant > 0 && tenant < UINT32_MAX ? (uint32_t)tenant : 0;
		}
		row_range_free(r);
		if (rc >= 0)
			rc = case_stopped(a->c) ? err_set(err, ERR_INTERRUPTED, "stopped") : 0;
	}
	return rc;
}

static int load_requests(struct actors *a, struct err *err)
{
	int rc = row_book_open(&a->book, a->c, ROWS_REQUEST, 1u << REQUEST_TENANT, err);
	int64_t n = rc == 0 ? row_book_rows(a->book) : 0;
	if (rc == 0 && n >= UINT32_MAX / 2)
		rc = err_set(err, ERR_LIMIT, "too many requests");
	a->tenants = rc == 0 ? calloc((size_t)n + 1, sizeof(*a->tenants)) : NULL;
	if (rc == 0 && !a->tenants)
		rc = err_nomem(err);
	if (rc == 0)
		rc = load_tenants(a, n, err);
	if (rc == 0)
		a->n_requests = (uint32_t)n;
	return rc;
}

static bool any_page_log(struct actors *a, int *rc, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	*rc = sql_prepare(&s, a->c, "SELECT 1 FROM worker WHERE has_page_log LIMIT 1", err);
	int there = *rc == 0 ? sql_step(s, err) : *rc;
	*rc = MIN(there, 0);
	return there == 1;
}

int actors_load(struct actors **ret, struct case_file *c, bool lazy, struct err *err)
{
	struct actors *a = calloc(1, sizeof(*a));
	if (!a)
		return err_nomem(err);
	a->c = c;
	a->lazy = lazy;
	arena_init(&a->arena, (size_t)4096 * MIB);
	a->n = a->n_bindings = 1; /* 0 is nobody */
	int rc = grow((void **)&a->all, &a->cap, 1, sizeof(*a->all), err);
	if (rc == 0)
		rc = grow((void **)&a->bindings, &a->cap_bindings, 1, sizeof(*a->bindings), err);
	if (rc == 0) {
		a->all[0] = (struct actor){0};
		a->bindings[0] = (struct binding){0};
		rc = lazy ? 0 : load_requests(a, err);
	}
	bool logs = rc == 0 && !lazy && any_page_log(a, &rc, err);
	if (rc == 0 && logs)
		rc = load_candidates(
		    a,
		    "SELECT l.worker, l.rid, l.request, l.started_ns, l.finished_ns FROM leg l JOIN worker w "
		    "USING(worker) WHERE w.has_page_log AND l.rid IS NOT NULL "
		    "ORDER BY l.started_ns, l.leg",
		    err);
	if (rc == 0 && logs)
		rc = load_candidates(
		    a,
		    "SELECT a.worker, a.value, a.request, NULL, NULL FROM alias a JOIN worker w USING(worker) "
		    "WHERE w.has_page_log AND a.kind = 'rid' ORDER BY a.request, a.value, a.worker",
		    err);
	if (rc < 0) {
		actors_free(a);
		return rc;
	}
	*ret = a;
	return 0;
}

void actors_free(struct actors *a)
{
	if (!a)
		return;
	arena_done(&a->arena);
	row_range_free(a->named);
	row_book_close(a->book);
	row_book_close(a->names);
	sql_end(a->legs_of);
	sql_end(a->aliases_of);
	sql_end(a->request_of);
	free(a->tenants);
	free(a->all);
	free(a->bindings);
	free(a->candidates);
	map_done(&a->of_request);
	map_done(&a->by_text);
	map_done(&a->opened);
	free(a);
}

struct actor actors_get(const struct actors *a, uint32_t actor)
{
	if (actor && actor <= a->n_requests)
		return (struct actor){actor, a->tenants[actor], {NULL, 0}};
	actor = actor ? actor - a->n_requests : 0;
	return a->all[actor < a->n ? actor : 0];
}

int actors_name(struct actors *a, uint32_t actor, struct text *ret, struct err *err)
{
	*ret = actors_get(a, actor).name;
	if (!actor || actor > a->n_requests)
		return 0;
	int rc = a->names ? 0 : row_book_open(&a->names, a->c, ROWS_REQUEST, 1u << REQUEST_NAME, err);
	if (rc == 0)
		rc = row_range_turn(&a->named, a->names, actor, err);
	if (rc == 0)
		rc = row_range_seek(a->named, actor, err);
	if (rc == 1)
		*ret = row_range_text(a->named, REQUEST_NAME);
	return MIN(rc, 0);
}

uint32_t actors_count(const struct actors *a)
{
	return a->n_requests + (uint32_t)a->n - 1;
}

uint32_t actors_of_request(const struct actors *a, int64_t request)
{
	if (request > 0 && request <= a->n_requests)
		return (uint32_t)request;
	const uint32_t *at = a->of_request.n ? map_find(&a->of_request, (uint64_t)request) : NULL;
	return at ? *at : 0;
}

int actors_rid(struct actors *a, int64_t worker, struct text rid, uint32_t *ret, struct err *err)
{
	return binding_get(a, worker, rid, ret, err);
}

int actors_room(struct actors *a, struct text room, uint32_t *ret, struct err *err)
{
	return binding_get(a, 0, room, ret, err);
}

size_t actors_names(const struct actors *a)
{
	return a->n_bindings;
}

/* Is a binding needed? A rid or room that the case has requests for is, and what a kept actor is called. */
static bool binding_kept(const struct binding *b, const uint32_t *to, const uint8_t *open, size_t i)
{
	return b->first || (b->actor && to[b->actor]) || (open[i / 8] >> i % 8 & 1);
}

/* Everything that is kept moves into fresh memory; requests keep their numbers, because they come first. */
static int move_actors(struct actors *a, const uint8_t *live, uint32_t *to, struct arena *arena, struct err *err)
{
	size_t n = 1;
	for (uint32_t i = 1; i <= a->n_requests; i++)
		to[i] = i;
	for (size_t i = 1; i < a->n; i++) {
		struct actor who = a->all[i];
		if (!who.request && !live[a->n_requests + i])
			continue;
		who.name = arena_text(arena, who.name);
		if (!who.name.ptr && a->all[i].name.len)
			return err_nomem(err);
		to[a->n_requests + i] = a->n_requests + (uint32_t)n;
		a->all[n++] = who;
	}
	a->n = n;
	return 0;
}

static int move_bindings(struct actors *a, const uint32_t *to, const uint8_t *open, uint32_t *names_to,
			 struct arena *arena, struct err *err)
{
	size_t n = 1;
	map_done(&a->by_text);
	for (size_t i = 1; i < a->n_bindings; i++) {
		struct binding b = a->bindings[i];
		if (!binding_kept(&b, to, open, i))
			continue;
		uint64_t key = text_key(b.worker, b.text);
		while (map_find(&a->by_text, key))
			key = next_key(key);
		struct text text = arena_text(arena, b.text);
		if (!text.ptr && b.text.len)
			return err_nomem(err);
		b.text = text;
		b.actor = to[b.actor];
		int rc = map_put(&a->by_text, key, (uint32_t)n, err);
		if (rc < 0)
			return rc;
		names_to[i] = (uint32_t)n;
		a->bindings[n++] = b;
	}
	a->n_bindings = n;
	return 0;
}

/* Rooms that kept actors have open: their bindings (bits); then the map with new numbers. */
static int move_rooms(struct actors *a, const uint32_t *to, uint8_t *open, const uint32_t *names_to, struct err *err)
{
	struct map old = a->opened;
	int rc = 0;
	if (names_to)
		a->opened = (struct map){0};
	for (size_t i = 0; i < old.cap && rc == 0; i++) {
		uint64_t key = old.keys[i] - 1;
		uint32_t room = (uint32_t)key;
		if (!old.keys[i] || !to[old.values[i]])
			continue;
		if (names_to)
			rc =
			    map_put(&a->opened, (key & ~(uint64_t)UINT32_MAX) | names_to[room], to[old.values[i]], err);
		else
			open[room / 8] |= (uint8_t)(1u << room % 8);
	}
	if (names_to)
		map_done(&old);
	return rc;
}

int actors_forget(struct actors *a, const uint8_t *live, uint32_t *to, uint32_t *names_to, struct err *err)
{
	struct arena arena;
	uint8_t *open = calloc(a->n_bindings / 8 + 1, 1);
	if (!open)
		return err_nomem(err);
	arena_init(&arena, (size_t)4096 * MIB);
	int rc = move_actors(a, live, to, &arena, err);
	if (rc == 0)
		rc = move_rooms(a, to, open, NULL, err);
	if (rc == 0)
		rc = move_bindings(a, to, open, names_to, &arena, err);
	if (rc == 0)
		rc = move_rooms(a, to, open, names_to, err);
	free(open);
	arena_done(&a->arena);
	a->arena = arena;
	return rc;
}

uint32_t actors_bound(const struct actors *a, uint32_t rid)
{
	return a->bindings[rid].actor;
}

int actors_bind(struct actors *a, uint32_t rid, int64_t ns, bool fresh, uint32_t *ret, struct err *err)
{
	struct binding *b = &a->bindings[rid];
	if (b->actor && !(fresh && b->several)) {
		*ret = b->actor;
		return 0;
	}
	uint32_t actor = candidate_at(a, rid, ns);
	if (!actor) {
		int rc = actor_add(a, (struct actor){.name = b->text}, &actor, err);
		if (rc < 0)
			return rc;
	}
	*ret = a->bindings[rid].actor = actor;
	return 0;
}

static uint64_t room_key(int64_t worker, uint32_t room)
{
	return ((uint64_t)worker << 32 | room) & (UINT64_MAX >> 1);
}

bool actors_ambiguous(const struct actors *a, uint32_t rid)
{
	return a->bindings[rid].several;
}

bool actors_room_is_open(const struct actors *a, int64_t worker, uint32_t room)
{
	return map_find(&a->opened, room_key(worker, room)) != NULL;
}

int actors_open_room(struct actors *a, int64_t worker, uint32_t room, uint32_t actor, struct err *err)
{
	return map_put(&a->opened, room_key(worker, room), actor, err);
}

int actors_sender(struct actors *a, int64_t worker, uint32_t room, int64_t ns, uint32_t fallback, uint32_t *ret,
		  struct err *err)
{
	const uint32_t *opened = map_find(&a->opened, room_key(worker, room));
	if (opened) {
		*ret = *opened;
		return 0;
	}
	int rc = 0;
	if (!a->rooms_loaded) {
		a->rooms_loaded = true;
		rc = load_candidates(a,
				     "SELECT 0, room, request, started_ns, finished_ns FROM leg WHERE room IS NOT NULL "
				     "ORDER BY started_ns, leg",
				     err);
	}
	uint32_t actor = rc == 0 ? candidate_at(a, room, ns) : 0;
	if (!actor)
		actor = fallback;
	if (rc == 0 && !actor) {
		actor = a->bindings[room].actor;
		if (!actor)
			rc = actor_add(a, (struct actor){.name = a->bindings[room].text}, &actor, err);
		if (rc == 0)
			a->bindings[room].actor = actor;
	}
	*ret = actor;
	return rc;
}
