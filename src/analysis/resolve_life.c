/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_life.c - what gateways say of requests, folded into lifetimes
 *
 * A lifetime is one request as one or more gateways saw it, from its first to its last record under one gateway id. The
 * id may come from the client: it can be used again later (another lifetime), or by two clients at once. Records of two
 * tenants, or of two lengths, are never folded into one lifetime; overlapping lifetimes of one id carry a conflict.
 * Errors of attempts and retries stay inside the lifetime that they happened in.
 */
#include "resolve.h"

#include <stdio.h>

/* Two gateways see one request begin and end within this time; whole-second stamps included. */
#define LAYER_NS  (3 * NS_PER_S)
#define OPEN_NS   (24 * 3600 * NS_PER_S)
/* A beginning as printed and as reckoned from the end: two stamps of whole seconds. */
#define START_NS  (2 * NS_PER_S)
#define STREAM_NS (3600 * NS_PER_S)

enum gateway_what { G_STARTED, G_FINISHED, G_PREFILL_ERROR, G_DECODE_ERROR, G_RETRY, G_ERROR, G_ACCESS, G_OTHER };

struct gseen { /* one gateway event, normalised */
	uint32_t source, key;
	uint32_t
	    from; /* who wrote it: the source, rank + 1; of a source with several origins, the origin, above FROM_ORIGIN */
	enum gateway_what what;
	uint32_t gateway_id, response_id, trace_id, room, tenant, model, finish;
	struct text rooms; /* of a batch: all of them, separated by commas; room is the first */
	int64_t at, lo, hi, started, finished;
	int64_t input, output, bytes_out, status, batch;
	enum flag input_flag;
	int8_t streamed, client_gone;
	struct ref_node ref;
};

static enum gateway_what what_of(struct text t)
{
	static const char *const names[] = {"started", "finished", "prefill_error", "decode_error",
					    "retry",   "error",    "access"};
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		if (text_is(t, names[i]))
			return (enum gateway_what)i;
	return G_OTHER;
}

static int64_t count_of(const struct event_batch *b, uint32_t row, unsigned col)
{
	int64_t v = row_int(b, row, col);
	return v < 0 || v > TOKENS_MAX ? UNKNOWN : v;
}

static int8_t flag_row(const struct event_batch *b, uint32_t row, unsigned col)
{
	int64_t v = row_int(b, row, col);
	return (int8_t)(v == UNKNOWN ? -1 : v != 0);
}

enum { FROM_ORIGIN = 1u << 31 };

/* One file of a collector holds several gateways, each of which may have seen one request. */
static int gseen_from(struct resolve *r, const struct event_batch *b, uint32_t row, struct gseen *g, struct err *err)
{
	char line[NAME_MAX_BYTES + 32];
	struct text t = b->worker[row];
	uint32_t worker = 0, id;
	g->from = g->source + 1;
	int res = t.len && t.ptr[0] != '/' ? memo_id(r, t, &worker, err) : 0;
	if (res || !worker)
		return res;
	if (r->from_memo.worker != worker || r->from_memo.source != g->source) {
		int n = snprintf(line, sizeof(line), "\n%u\n%.*s", g->source, (int)MIN(t.len, NAME_MAX_BYTES), t.ptr);
		res = names_id(&r->names, (struct text){line, (size_t)n}, &id, err);
		if (res)
			return res;
		r->from_memo.source = g->source;
		r->from_memo.worker = worker;
		r->from_memo.from = id | FROM_ORIGIN;
	}
	g->from = r->from_memo.from;
	return 0;
}

static int gateway_names(struct resolve *r, uint32_t source, uint32_t id, struct err *err)
{
	name_at(&r->names, id)->gateway = id != 0;
	return layer_says(r, r->sources[source].layer, id, err);
}

static int gseen_ids(struct resolve *r, const struct gseen *g, struct err *err)
{
	int res = gateway_names(r, g->source, g->room, err);
	for (int i = 0; i < 2 && !res; i++) {
		uint32_t id = i ? g->gateway_id : g->response_id;
		if (id && !(id = norm_rid(r, id, err)))
			return err_nomem(err);
		res = gateway_names(r, g->source, id, err);
	}
	return res ? res : layer_says(r, r->sources[g->source].layer, g->trace_id, err);
}

static int gseen_read(struct resolve *r, uint32_t source, const struct event_batch *b, uint32_t row, struct gseen *g,
		      struct err *err)
{
	const struct source_info *src = &r->sources[source];
	*g = (struct gseen){
	    .source = source, .what = what_of(row_text(b, row, GATEWAY_WHAT)), .ref = row_ref(source, b, row)};
	g->at = row_time(src, b, row);
	int64_t started = sane(row_int(b, row, GATEWAY_STARTED)), finished = sane(row_int(b, row, GATEWAY_FINISHED));
	bool computed = started == b->ts_ns[row] || finished == b->ts_ns[row];
	g->started = row_moment(src, b, row, started, computed);
	g->finished = row_moment(src, b, row, finished, computed);
	g->lo = earlier(earlier(g->started, g->finished), g->at);
	g->hi = later(later(g->started, g->finished), g->at);
	g->input = count_of(b, row, GATEWAY_INPUT);
	g->input_flag = flag_of(row_text(b, row, GATEWAY_INPUT_FLAG), g->input != UNKNOWN);
	g->output = count_of(b, row, GATEWAY_OUTPUT);
	g->bytes_out = count_of(b, row, GATEWAY_BYTES_OUT);
	g->status = count_of(b, row, GATEWAY_STATUS);
	g->batch = count_of(b, row, GATEWAY_BATCH);
	g->streamed = flag_row(b, row, GATEWAY_STREAM);
	g->client_gone = flag_row(b, row, GATEWAY_CLIENT_GONE);
	const struct {
		uint32_t *to;
		unsigned col;
	} names[] = {{&g->gateway_id, GATEWAY_ID},     {&g->response_id, GATEWAY_RESPONSE_ID},
		     {&g->trace_id, GATEWAY_TRACE_ID}, {&g->room, GATEWAY_ROOM},
		     {&g->tenant, GATEWAY_TENANT},     {&g->model, GATEWAY_MODEL},
		     {&g->finish, GATEWAY_FINISH}};
	int res = gseen_from(r, b, row, g, err);
	for (size_t i = 0; i < ARRAY_SIZE(names) && !res; i++)
		res = i < 4 ? names_id(&r->names, row_text(b, row, names[i].col), names[i].to, err)
			    : memo_id(r, row_text(b, row, names[i].col), names[i].to, err);
	struct text rest = row_text(b, row, GATEWAY_ROOM), first;
	if (!res && text_find_char(rest, ',', 0) != SIZE_MAX && text_split(&rest, ',', &first)) {
		g->rooms = rest;
		res = names_id(&r->names, text_trim(first), &g->room, err);
	}
	if (g->room && text_is(names_text(&r->names, g->room), "0"))
		g->room = 0;
	res = res ? res : gseen_ids(r, g, err);
	uint32_t id = g->gateway_id ? g->gateway_id : g->response_id;
	g->key = id ? bare_id(r, id) : g->room ? g->room : g->trace_id;
	return res;
}

bool life_has_room(const struct resolve *r, const struct life *l, uint32_t room)
{
	for (uint32_t i = l->rooms; i;) {
		const struct room_node *n = shelf_at(&r->rooms, i - 1);
		if (n->room == room)
			return true;
		i = n->next;
	}
	return false;
}

static bool is_final(const struct gseen *g)
{
	return g->what == G_FINISHED || g->what == G_ACCESS;
}

/* Two records that cannot be about one request, whatever id they carry. *ret_conflict says why. */
static bool apart(const struct resolve *r, const struct life *l, const struct gseen *g, uint8_t *ret_conflict)
{
	if (l->tenant && g->tenant && l->tenant != g->tenant) {
		*ret_conflict = CONFLICT_TENANTS;
		return true;
	}
	bool lengths = l->input_flag == FLAG_EXACT && g->input_flag == FLAG_EXACT && l->input != g->input;
	if (lengths && !(g->room && life_has_room(r, l, g->room))) {
		*ret_conflict = CONFLICT_OVERLAP;
		return true;
	}
	return false;
}

/* Distance of a record to a lifetime that its own log has opened. A line may never be closed (its client went away), so
 * the oldest open one must not swallow what is said about a later use of the id: an end that knows its beginning closes
 * that beginning only, and what happens on the way belongs to the newest one. */
static int64_t own_fits(const struct life *l, const struct gseen *g, int64_t gap)
{
	if (is_final(g) && g->started != UNKNOWN && l->opened != UNKNOWN) {
		int64_t off = (int64_t)stamps_apart(g->started, l->opened); /* both are sane */
		return off <= START_NS ? off : -1;
	}
	if (g->hi < l->lo || gap > OPEN_NS)
		return -1;
	/* another gateway has seen it end long before */
	return l->final && gap > (is_final(g) ? LAYER_NS : STREAM_NS) ? -1 : g->hi - l->lo;
}

/* No caller chooses the id of an answer or a room: where those are one, only clocks keep the two apart. */
static int64_t layer_ns(const struct resolve *r, const struct life *l, const struct gseen *g)
{
	bool one = (g->response_id && bare_id(r, g->response_id) == bare_id(r, l->response_id)) ||
		   (g->room && life_has_room(r, l, g->room));
	return one ? SKEW_NS : LAYER_NS;
}

/* Is this how the lifetime began that the same log has closed before? Whoever sorts or merges lines puts those of one second in
 * another order. */
static bool is_its_beginning(const struct life *l, const struct gseen *g, int64_t gap)
{
	if (l->started != UNKNOWN && g->at != UNKNOWN)
		return stamps_apart(l->started, g->at) <= START_NS;
	return gap <= NS_PER_S;
}

/* Distance of a record to a lifetime that it may belong to; -1: not this one. */
static int64_t life_fits(const struct resolve *r, const struct life *l, const struct gseen *g)
{
	bool here_open = l->start_source == g->from, here_closed = l->final_source == g->from;
	int64_t gap = interval_gap(l->lo, l->hi, g->lo, g->hi);
	if (g->what == G_STARTED) {
		if (here_open || (here_closed && !is_its_beginning(l, g, gap)))
			return -1;
		return gap <= LAYER_NS ? gap : -1;
	}
	if (is_final(g) && here_closed)
		return -1;
	/* the end of a stream's head is no end: its errors come later */
	if (here_open && (!here_closed || !is_final(g)) && l->lo != UNKNOWN && g->hi != UNKNOWN)
		return own_fits(l, g, gap);
	return gap <= layer_ns(r, l, g) ? gap + here_closed : -1; /* an open one goes before a closed one */
}

/* A beginning that is there already: with the very time, finer than seconds, or behind the end of its request. */
static bool is_copy_of_start(const struct life *l, const struct gseen *g)
{
	return g->what == G_STARTED && g->at != UNKNOWN && l->start_source == g->from && l->opened == g->at &&
	       (g->at % NS_PER_S || (l->final_source == g->from && l->finished > g->at));
}

/* The same record once more (exporters deliver twice). */
static bool is_copy(const struct resolve *r, const struct life *l, const struct gseen *g)
{
	if (is_copy_of_start(l, g))
		return true;
	return is_final(g) && l->final_source == g->from && l->hi == g->hi && life_status(r, l) == g->status &&
	       (l->input == g->input || g->input == UNKNOWN) && (l->output == g->output || g->output == UNKNOWN) &&
	       (l->bytes_out == g->bytes_out || g->bytes_out == UNKNOWN) && (!g->tenant || l->tenant == g->tenant);
}

static void conflict_both(struct life *l, uint8_t conflict, uint8_t *mine)
{
	l->conflict |= conflict;
	*mine |= conflict;
}

/* Goes through the lifetimes of an id, newest first. */
struct walk {
	const struct busy *busy;
	uint32_t next; /* index + 1, of the list of a busy id or of the lifetime */
	unsigned steps;
};

static struct walk walk_from(const struct resolve *r, uint32_t key)
{
	const struct busy *b = busy_find(r, key);
	return (struct walk){b, b ? b->n : name_at(&r->names, key)->chain, 0};
}

typedef bool (*skip_fn)(const struct busy_life *b, const struct gseen *g, const struct life *l);

/* NO_INDEX at the end. skip: does what is known of it here say that nothing comes of it? */
static uint32_t walk_next(const struct resolve *r, struct walk *w, const struct gseen *g, const struct life *l,
			  skip_fn skip)
{
	while (w->next && w->steps++ < LIVES_MAX) {
		uint32_t at = w->next - 1;
		if (!w->busy) {
			w->next = life_at(r, at)->next;
			return at;
		}
		w->next = at;
		if (!skip(&w->busy->list[at], g, l))
			return w->busy->list[at].life;
	}
	return NO_INDEX;
}

/* Too far away for everything in life_find(). */
static bool skip_far(const struct busy_life *b, const struct gseen *g, const struct life *l)
{
	int64_t gap = interval_gap(b->lo, b->hi, g->lo, g->hi);
	(void)l;
	if (gap <= SKEW_NS || (b->tenant && g->tenant && b->tenant != g->tenant))
		return false;
	return b->start_source != g->from || gap > OPEN_NS || g->what == G_STARTED ||
	       (is_final(g) && b->final_source == g->from);
}

/* Cannot have been opened while l ran. */
static bool skip_apart(const struct busy_life *b, const struct gseen *g, const struct life *l)
{
	return b->start_source != g->from || b->lo == UNKNOWN || b->hi < l->opened || b->lo >= g->hi;
}

/* *ret_conflict: what a new lifetime of this id must carry. *ret_copy: the record is a copy of a known one. *ret_steps:
 * how many were looked at one by one. */
static uint32_t life_find(struct resolve *r, const struct gseen *g, uint8_t *ret_conflict, bool *ret_copy,
			  unsigned *ret_steps)
{
	uint32_t best = NO_INDEX, at;
	int64_t best_gap = INT64_MAX, best_start = INT64_MAX;
	unsigned open = 0;
	struct walk w = walk_from(r, g->key);
	*ret_conflict = 0;
	*ret_copy = false;
	*ret_steps = 0;
	while ((at = walk_next(r, &w, g, NULL, skip_far)) != NO_INDEX) {
		struct life *l = life_at(r, at);
		uint8_t why = 0;
		*ret_steps += !w.busy;
		if (is_copy(r, l, g)) {
			*ret_copy = true;
			return at;
		}
		bool overlap = interval_gap(l->lo, l->hi, g->lo, g->hi) == 0 && l->lo != UNKNOWN && g->lo != UNKNOWN;
		if (apart(r, l, g, &why)) {
			if (overlap || why == CONFLICT_TENANTS)
				conflict_both(l, why, ret_conflict);
			continue;
		}
		int64_t gap = life_fits(r, l, g);
		if (gap < 0) {
			/* one log closed this id twice at the same time */
			if (is_final(g) && overlap && l->hi > g->lo && l->final_source == g->from)
				conflict_both(l, CONFLICT_OVERLAP, ret_conflict);
			continue;
		}
		open += l->start_source == g->from && l->final_source != g->from;
		int64_t start =
		    l->started != UNKNOWN && g->started != UNKNOWN ? (int64_t)stamps_apart(l->started, g->started) : 0;
		/* newest first in the chain: of equals the oldest is taken, as a log closes in the order it opened */
		if (gap < best_gap || (gap == best_gap && start <= best_start)) {
			best = at;
			best_gap = gap;
			best_start = start;
		}
	}
	/* which of several open ones this closes is not said */
	if (best != NO_INDEX && open > 1 && is_final(g) && g->started == UNKNOWN)
		life_at(r, best)->conflict |= CONFLICT_OVERLAP;
	return best;
}

/* What its own log has opened before this one ended: one id in use twice at a time. */
static void life_overlaps(struct resolve *r, struct life *l, const struct gseen *g)
{
	struct walk w = walk_from(r, g->key);
	uint32_t at;
	while (l->opened != UNKNOWN && (at = walk_next(r, &w, g, l, skip_apart)) != NO_INDEX) {
		struct life *o = life_at(r, at);
		if (o != l && o->start_source == g->from && o->opened != UNKNOWN && o->opened >= l->opened &&
		    o->opened < g->hi)
			conflict_both(l, CONFLICT_OVERLAP, &o->conflict);
	}
}

static int life_add(struct resolve *r, const struct gseen *g, uint8_t conflict, struct life **ret, struct err *err)
{
	struct life *l = shelf_add(&r->lives);
	if (!l)
		return err_nomem(err);
	*l = (struct life){.conflict = conflict, .streamed = -1, .client_gone = -1};
	l->started = l->finished = l->lo = l->hi = l->input = l->output = l->bytes_out = UNKNOWN;
	l->inner_status = l->opened = UNKNOWN;
	if (g->key) {
		l->next = name_at(&r->names, g->key)->chain;
		name_at(&r->names, g->key)->chain = r->lives.n;
	}
	*ret = l;
	return 0;
}

static int life_room(struct resolve *r, struct life *l, uint32_t room, struct err *err)
{
	if (!room || life_has_room(r, l, room))
		return 0;
	struct room_node *n = shelf_add(&r->rooms);
	if (!n)
		return err_nomem(err);
	*n = (struct room_node){room, l->rooms};
	l->rooms = r->rooms.n;
	return 0;
}

struct hop hop_at(const struct resolve *r, uint32_t hop)
{
	return hop ? *(const struct hop *)shelf_at(&r->hops, hop - 1) : (struct hop){.there = false};
}

int64_t life_status(const struct resolve *r, const struct life *l)
{
	struct hop h = hop_at(r, l->shown);
	return h.there ? h.status : UNKNOWN;
}

/* The outermost gateway's record goes first: it knows the tenant, it counts, it spans the others. */
static bool hop_better(const struct hop *best, const struct hop *other)
{
	if (!other->there || !best->there)
		return other->there && !best->there;
	return other->face != best->face         ? other->face > best->face
	       : other->span_ns != best->span_ns ? other->span_ns > best->span_ns
	       : other->status != best->status   ? other->status < best->status
						 : other->bytes > best->bytes;
}

void hop_take(struct hop *best, struct hop other)
{
	if (hop_better(best, &other))
		*best = other;
}

/* As hop_take(), of what is kept; *at is where h itself is, 0: nowhere yet. */
static int hop_keep(struct resolve *r, uint32_t *best, const struct hop *h, uint32_t *at, struct err *err)
{
	struct hop have = hop_at(r, *best), *to;
	if (!hop_better(&have, h))
		return 0;
	if (!*at) {
		to = shelf_add(&r->hops);
		if (!to)
			return err_nomem(err);
		*to = *h;
		*at = r->hops.n;
	}
	*best = *at;
	return 0;
}

/* What this record alone says of the outcome. */
static int life_outcome(struct resolve *r, struct life *l, const struct gseen *g, struct err *err)
{
	if (!is_final(g)) {
		if (g->what == G_ERROR && g->status != UNKNOWN)
			l->inner_status = g->status;
		return 0;
	}
	uint32_t at = 0;
	int res = 0;
	int64_t start = g->started != UNKNOWN ? g->started : g->what == G_FINISHED ? l->started : UNKNOWN;
	struct hop h = {.status = g->status, .bytes = g->bytes_out, .there = true};
	h.span_ns = start != UNKNOWN && g->hi != UNKNOWN ? MAX(g->hi - start, 0) : 0;
	h.face = (uint8_t)((g->tenant ? 2 : 0) + (g->bytes_out != UNKNOWN || g->output != UNKNOWN));
	bool some = (g->bytes_out != UNKNOWN && g->bytes_out > 0) || (g->output != UNKNOWN && g->output > 0);
	bool cut = status_left(g->status) && some; /* in the middle of the answer */
	bool failed = (g->status != UNKNOWN && g->status >= 400 && !cut) || g->bytes_out == 0 ||
		      (text_is(names_text(&r->names, g->finish), "error") && g->output == UNKNOWN);
	if (g->status != UNKNOWN || g->bytes_out != UNKNOWN)
		res = hop_keep(r, &l->shown, &h, &at, err);
	if (res)
		return res;
	if (failed)
		return hop_keep(r, &l->failed, &h, &at, err);
	if (some)
		return hop_keep(r, &l->sent, &h, &at, err);
	return g->status != UNKNOWN ? hop_keep(r, &l->passed, &h, &at, err) : 0;
}

static int life_fold(struct resolve *r, struct life *l, const struct gseen *g, struct err *err)
{
	uint32_t *const to[] = {&l->gateway_id, &l->response_id, &l->trace_id, &l->tenant, &l->model, &l->finish};
	const uint32_t from[] = {g->gateway_id, g->response_id, g->trace_id, g->tenant, g->model, g->finish};
	for (size_t i = 0; i < ARRAY_SIZE(to); i++)
		if (!*to[i])
			*to[i] = from[i];
	l->lo = earlier(l->lo, g->lo);
	l->hi = later(l->hi, g->hi);
	int64_t start = g->started != UNKNOWN ? g->started : g->what == G_STARTED ? g->at : UNKNOWN;
	int64_t end = g->finished != UNKNOWN ? g->finished : is_final(g) ? g->at : UNKNOWN;
	l->started = earlier(l->started, start);
	int res = life_outcome(r, l, g, err);
	l->finished = later(l->finished, end);
	if (g->what == G_STARTED) {
		l->start_source = g->from;
		l->opened = start;
	}
	if (is_final(g)) {
		l->final_source = g->from;
		l->final = true;
	}
	l->prefill_errors += g->what == G_PREFILL_ERROR;
	l->decode_errors += g->what == G_DECODE_ERROR;
	l->retries += g->what == G_RETRY;
	if (g->input_flag > (enum flag)l->input_flag) {
		l->input = g->input;
		l->input_flag = (uint8_t)g->input_flag;
	}
	l->output = later(l->output, g->output);
	struct hop shown = hop_at(r, l->shown);
	if (l->bytes_out == UNKNOWN || shown.bytes != UNKNOWN)
		l->bytes_out = shown.there && shown.bytes != UNKNOWN ? shown.bytes : g->bytes_out;
	l->streamed = MAX(l->streamed, g->streamed);
	l->client_gone = MAX(l->client_gone, g->client_gone);
	if (g->batch > (int64_t)l->batch)
		l->batch = (uint32_t)MIN(g->batch, UINT32_MAX);
	return res;
}

static int life_row(struct resolve *r, uint32_t source, const struct event_batch *b, uint32_t row, struct err *err)
{
	struct gseen g;
	struct text room;
	uint8_t conflict = 0;
	bool copy = false;
	int res = gseen_read(r, source, b, row, &g, err);
	if (res)
		return res;
	if (!g.key && (!is_final(&g) || (!g.tenant && g.input == UNKNOWN))) {
		/* a line that names nobody says nothing about anybody */
		const uint32_t engine = 1u << EVENT_BOOT | 1u << EVENT_LEG | 1u << EVENT_LOAD;
		if (!(r->sources[source].kinds & engine)) { /* an engine's access lines repeat what its gateway says */
			r->sources[source].anonymous++;
			return refs_add(r, &r->sources[source].anonymous_refs, g.ref, err);
		}
		return 0;
	}
	unsigned steps = 0;
	uint32_t at = g.key ? life_find(r, &g, &conflict, &copy, &steps) : NO_INDEX;
	struct life *l = at == NO_INDEX ? NULL : life_at(r, at);
	if (steps > CHAIN_MAX)
		res = busy_make(r, g.key, err);
	struct busy *busy = busy_find(r, g.key);
	if (!l && !res) {
		at = r->lives.n;
		res = life_add(r, &g, conflict, &l, err);
		if (!res && busy)
			res = busy_add(r, busy, at, err);
	}
	if (!res && !copy) {
		res = life_fold(r, l, &g, err);
		if (busy)
			busy_changed(r, busy, at);
		if (is_final(&g) && g.key && l->start_source == g.from)
			life_overlaps(r, l, &g);
		l->listed |= g.rooms.len != 0;
	}
	if (!res && (!copy || l->listed)) /* the rooms of a long list come in several events of one record */
		res = life_room(r, l, g.room, err);
	while (!res && text_split(&g.rooms, ',', &room)) {
		uint32_t id;
		res = names_id(&r->names, text_trim(room), &id, err);
		if (res || !id || text_is(names_text(&r->names, id), "0"))
			continue;
		res = gateway_names(r, source, id, err);
		if (!res)
			res = life_room(r, l, id, err);
	}
	return res ? res : refs_add(r, &l->refs, g.ref, err);
}

/* A batch whose rooms are told is as many responses as it has rooms: each becomes a lifetime of its own, with all that
 * the records say of the whole. */
static int life_split(struct resolve *r, uint32_t at, struct err *err)
{
	struct life *l = life_at(r, at);
	uint32_t rooms = l->rooms;
	for (uint32_t i = rooms, next; i; i = next) {
		struct room_node *n = shelf_at(&r->rooms, i - 1);
		struct life *to = l;
		next = n->next;
		n->next = 0;
		if (next) { /* the first room, last in the list, stays with the lifetime itself */
			to = shelf_add(&r->lives);
			if (!to)
				return err_nomem(err);
			*to = *l;
			to->next = 0;
		}
		to->rooms = i;
		to->element = true;
	}
	return 0;
}

static int life_batches(struct resolve *r, struct err *err)
{
	int res = 0;
	for (uint32_t i = 0, n = r->lives.n; i < n && !res; i++) {
		struct life *l = life_at(r, i);
		if (l->listed && l->rooms && ((struct room_node *)shelf_at(&r->rooms, l->rooms - 1))->next)
			res = life_split(r, i, err);
		if (!res)
			res = resolve_tick(r, err);
	}
	return res;
}

int life_load(struct resolve *r, struct err *err)
{
	int res = load_each(r, EVENT_GATEWAY, RESOLVE_GATEWAY, life_row, err);
	names_unchain(&r->names);
	busy_done(r);
	return res ? res : life_batches(r, err);
}
