/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_leg.c - what engines say of requests, folded into one leg per execution
 *
 * One leg is one execution on one worker: the lines of all its tensor-parallel ranks and of all its logs (stats line,
 * request log, metrics file, failures). A rid is not an execution: clients may choose rids and use them again, so a leg
 * is found by server, rid and time, and by room where there is one. The one-token placeholder of a rejected prefill leg
 * stays one token: the length that was refused is kept beside it.
 */
#include "pagetrail/engine_check.h"
#include "resolve.h"

#define DUPLICATE_NS (5 * NS_PER_S)         /* ranks print the same line within this time */
#define OPEN_NS      (24 * 3600 * NS_PER_S) /* a leg that was received may run this long */
#define ROOM_NS      (3600 * NS_PER_S)

uint32_t norm_rid(struct resolve *r, uint32_t rid, struct err *err)
{
	uint32_t id = name_at(&r->names, rid)->norm;
	if (id)
		return id;
	struct text t = names_text(&r->names, rid), rest = id_stem(t);
	id = rid;
	if (rest.len != t.len && names_id(&r->names, rest, &id, err))
		return 0;
	name_at(&r->names, rid)->norm = id;
	return id;
}

uint32_t bare_id(const struct resolve *r, uint32_t id)
{
	uint32_t norm = id && !id_is_child(names_text(&r->names, id)) ? norm_known(r, id) : 0;
	return norm ? norm : id;
}

uint32_t norm_known(const struct resolve *r, uint32_t rid)
{
	uint32_t id = name_at(&r->names, rid)->norm;
	return id || !rid ? id : names_find(&r->names, id_stem(names_text(&r->names, rid)));
}

int leg_new(struct resolve *r, uint32_t worker, uint32_t rid, uint32_t room, struct leg **ret, struct err *err)
{
	uint32_t norm = rid ? norm_rid(r, rid, err) : 0;
	struct leg *l = rid && !norm ? NULL : shelf_add(&r->legs);
	if (!l)
		return err_nomem(err);
	*l = (struct leg){.worker = worker, .rid = rid, .streamed = -1};
	l->started = l->finished = l->lo = l->hi = l->finished_at = UNKNOWN;
	l->input = l->cached = l->output = l->rejected = l->limit = l->sent = UNKNOWN;
	if (rid) {
		l->next_rid = name_at(&r->names, norm)->rid_legs;
		name_at(&r->names, norm)->rid_legs = r->legs.n;
	}
	if (room)
		leg_set_room(r, l, r->legs.n - 1, room);
	*ret = l;
	return 0;
}

void leg_set_room(struct resolve *r, struct leg *l, uint32_t at, uint32_t room)
{
	struct name *e = name_at(&r->names, room);
	l->room = room;
	l->next_room = e->room_legs;
	e->room_legs = at + 1;
}

static enum leg_what what_of(struct text t)
{
	static const char *const names[] = {"received", "finished",  "rejected", "truncated", "aborted",
					    "failed",   "retracted", "sent",     "expired",   "late_read"};
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		if (text_is(t, names[i]))
			return (enum leg_what)i;
	return SEEN_OTHER;
}

static int64_t count_of(const struct event_batch *b, uint32_t row, unsigned col)
{
	int64_t v = row_int(b, row, col);
	return v < 0 || v > TOKENS_MAX ? UNKNOWN : v;
}

static int seen_names(struct resolve *r, const struct event_batch *b, uint32_t row, struct seen *s, struct err *err)
{
	struct text room = row_text(b, row, LEG_ROOM);
	int res = names_id(&r->names, row_text(b, row, LEG_RID), &s->rid, err);
	if (!res && !text_is(room, "0")) /* room 0 is what health checks use */
		res = names_id(&r->names, room, &s->room, err);
	if (!res)
		res = names_id(&r->names, row_text(b, row, LEG_TRACE), &s->trace, err);
	if (!res)
		res = memo_id(r, row_text(b, row, LEG_FINISH), &s->finish, err);
	if (!res)
		res = memo_id(r, row_text(b, row, LEG_MESSAGE), &s->message, err);
	if (!res)
		res = memo_id(r, row_text(b, row, LEG_MODEL), &s->model, err);
	if (!res && s->rid && !(s->norm = norm_rid(r, s->rid, err)))
		res = err_nomem(err);
	return res;
}

static int seen_read(struct resolve *r, uint32_t source, const struct event_batch *b, uint32_t row, struct seen *s,
		     struct err *err)
{
	const struct source_info *src = &r->sources[source];
	*s = (struct seen){
	    .source = source, .what = what_of(row_text(b, row, LEG_WHAT)), .ref = row_ref(source, b, row)};
	s->role = role_of(row_text(b, row, LEG_ROLE));
	s->at = row_time(src, b, row);
	int64_t started = sane(row_int(b, row, LEG_STARTED)), finished = sane(row_int(b, row, LEG_FINISHED));
	bool computed = started == b->ts_ns[row] || finished == b->ts_ns[row];
	s->started = row_moment(src, b, row, started, computed);
	s->finished = row_moment(src, b, row, finished, computed);
	s->sent = row_moment(src, b, row, sane(row_int(b, row, LEG_SENT)), false);
	s->input = count_of(b, row, LEG_INPUT);
	s->cached = count_of(b, row, LEG_CACHED);
	s->output = count_of(b, row, LEG_OUTPUT);
	s->limit = count_of(b, row, LEG_LIMIT);
	s->status = count_of(b, row, LEG_STATUS);
	s->batch = count_of(b, row, LEG_BATCH);
	s->input_flag = flag_of(row_text(b, row, LEG_INPUT_FLAG), s->input != UNKNOWN);
	int64_t streamed = row_int(b, row, LEG_STREAM);
	s->streamed = (int8_t)(streamed == UNKNOWN ? -1 : streamed != 0);
	s->lo = earlier(earlier(s->started, s->finished), s->at);
	s->hi = later(later(s->started, s->finished), s->at);
	int res = worker_of_row(r, source, b, row, &s->worker, err);
	return res ? res : seen_names(r, b, row, s, err);
}

static bool same_server(const struct resolve *r, uint32_t a, uint32_t b)
{
	return a == b || worker_at(r, a)->base == b || worker_at(r, b)->base == a;
}

/* Distance of an event to a leg that it may belong to; -1: it is another execution. */
static int64_t leg_fits(const struct resolve *r, const struct leg *l, const struct seen *s)
{
	if (!same_server(r, l->worker, s->worker) || (l->role && s->role && l->role != s->role) ||
	    (l->room && s->room && l->room != s->room) || (l->rid && s->rid && l->rid != s->rid))
		return -1;
	int64_t gap = interval_gap(l->lo, l->hi, s->lo, s->hi);
	bool here_received = l->received_source == s->source + 1, here_finished = l->finished_source == s->source + 1;
	if (s->what == SEEN_FINISHED && here_finished) /* once per execution, but for the copies of other ranks */
		return interval_gap(l->finished_at, l->finished_at, s->hi, s->hi) <= DUPLICATE_NS &&
			       (l->input == s->input || l->input == UNKNOWN || s->input == UNKNOWN)
			   ? gap
			   : -1;
	if (s->what >= SEEN_SENT &&
	    s->what <= SEEN_LATE_READ) /* of pages that are kept after the answer, for the other side */
		return gap <= OPEN_NS && (s->lo == UNKNOWN || l->lo == UNKNOWN || s->lo >= l->lo) ? gap : -1;
	if (s->what == SEEN_RECEIVED && here_received)
		return gap <= NS_PER_S && !l->finished_source ? gap : -1;
	if (s->what == SEEN_RECEIVED && here_finished && l->hi != UNKNOWN && s->lo != UNKNOWN &&
	    s->lo >= l->finished_at)
		return -1; /* the same log has already closed that one */
	if (s->what == SEEN_FINISHED && l->finished_source && l->input > 1 && s->input > 1 && l->input != s->input)
		return -1;
	if (l->room && l->room == s->room)
		return gap <= ROOM_NS ? gap / 64 : -1;
	if (gap <= SKEW_NS)
		return gap;
	/* still running in this log, or its beginning is told by a log that is read later */
	if (l->received_source && !l->finished_source && s->what != SEEN_RECEIVED && s->lo != UNKNOWN && s->lo >= l->lo)
		return gap <= OPEN_NS ? gap : -1;
	if (s->what == SEEN_RECEIVED && !l->received_source && l->started == UNKNOWN && s->lo != UNKNOWN &&
	    s->lo <= l->lo)
		return gap <= OPEN_NS ? gap : -1;
	return -1;
}

static uint32_t leg_find(const struct resolve *r, const struct seen *s)
{
	uint32_t best = NO_INDEX;
	int64_t best_gap = INT64_MAX;
	unsigned steps = 0;
	for (uint32_t i = s->rid ? name_at(&r->names, s->norm)->rid_legs : 0; i && steps++ < CHAIN_MAX;) {
		const struct leg *l = leg_at(r, i - 1);
		int64_t gap = leg_fits(r, l, s);
		if (gap >= 0 && gap < best_gap) {
			best = i - 1;
			best_gap = gap;
		}
		i = l->next_rid;
	}
	steps = 0;
	for (uint32_t i = best == NO_INDEX && s->room ? name_at(&r->names, s->room)->room_legs : 0;
	     i && steps++ < CHAIN_MAX;) {
		const struct leg *l = leg_at(r, i - 1);
		int64_t gap = l->rid && s->rid ? -1 : leg_fits(r, l, s); /* two rids in one room are two legs */
		if (gap >= 0 && gap < best_gap) {
			best = i - 1;
			best_gap = gap;
		}
		i = l->next_room;
	}
	return best;
}

static enum outcome outcome_of(const struct resolve *r, const struct seen *s)
{
	struct text finish = names_text(&r->names, s->finish);
	switch (s->what) {
	case SEEN_REJECTED: return OUT_REJECTED;
	case SEEN_TRUNCATED: return OUT_TRUNCATED;
	case SEEN_ABORTED: return OUT_ABORTED;
	case SEEN_FAILED: return OUT_FAILED;
	case SEEN_LATE_READ: return OUT_LATE_READ;
	case SEEN_FINISHED:
		if (text_is(finish, "abort") || text_is(finish, "aborted"))
			return OUT_ABORTED;
		return s->status >= 400 || text_is(finish, "error") ? OUT_FAILED : OUT_FINISHED;
	case SEEN_RECEIVED:
	case SEEN_RETRACTED:
	case SEEN_SENT:
	case SEEN_EXPIRED:
	case SEEN_OTHER: break;
	}
	return OUT_NONE;
}

static void leg_clock(struct leg *l, const struct seen *s)
{
	if (s->started != UNKNOWN) {
		l->started = l->started_epoch ? MIN(l->started, s->started) : s->started;
		l->started_epoch = true;
	} else if (s->what == SEEN_RECEIVED && !l->started_epoch) {
		l->started = earlier(l->started, s->at);
	}
	bool ends = s->what == SEEN_FINISHED || s->what == SEEN_ABORTED || s->what == SEEN_FAILED;
	if (s->finished != UNKNOWN) {
		l->finished = l->finished_epoch ? MAX(l->finished, s->finished) : s->finished;
		l->finished_epoch = true;
	} else if (ends && !l->finished_epoch) {
		l->finished = later(l->finished, s->at);
	}
	l->lo = earlier(l->lo, s->lo);
	l->hi = later(l->hi, s->hi);
	l->sent = earlier(l->sent, s->sent);
	if (s->what == SEEN_RECEIVED)
		l->received_source = s->source + 1;
	if (s->what == SEEN_FINISHED) {
		l->finished_source = s->source + 1;
		l->finished_at = s->hi;
	}
}

static void leg_input(struct leg *l, const struct seen *s)
{
	if (s->input == UNKNOWN)
		return;
	bool final = s->what == SEEN_FINISHED;
	bool better = s->input_flag > l->input_flag || (s->input_flag == l->input_flag && final && !l->input_final);
	/* of two lower bounds the higher one says more */
	if (s->input_flag == FLAG_AT_LEAST && l->input_flag == FLAG_AT_LEAST)
		better = s->input > l->input;
	/* a prefill leg that says one token was rejected, whatever another of its lines says */
	if (s->input_flag == l->input_flag && final && l->input_final && l->role == ROLE_PREFILL && s->input < l->input)
		better = true;
	if (l->input == UNKNOWN || better) {
		l->input = s->input;
		l->input_flag = (uint8_t)s->input_flag;
		l->input_final = final;
	}
}

static void leg_fold(struct resolve *r, struct leg *l, const struct seen *s)
{
	if (worker_at(r, s->worker)->ranked)
		l->worker = s->worker;
	if (!l->role)
		l->role = (uint8_t)s->role;
	leg_clock(l, s);
	/* a rejection that names a lower bound is no length; that it was refused is its outcome */
	if (s->what == SEEN_REJECTED && s->input_flag != FLAG_AT_LEAST)
		l->rejected = later(l->rejected, s->input);
	else if (s->what != SEEN_TRUNCATED)
		leg_input(l, s);
	if (s->limit != UNKNOWN && (l->limit == UNKNOWN || s->what == SEEN_REJECTED))
		l->limit = s->limit;
	if (s->what == SEEN_REJECTED || s->what == SEEN_TRUNCATED)
		l->rejected_context = text_find(names_text(&r->names, s->message), "context length", 0) != SIZE_MAX;
	l->cached = later(l->cached, s->cached);
	l->output = later(l->output, s->output);
	enum outcome o = outcome_of(r, s);
	if (o > (enum outcome)l->outcome) {
		l->outcome = (uint8_t)o;
		if (s->message)
			l->message = s->message;
	}
	if (s->finish)
		l->finish = s->finish;
	if (!l->message)
		l->message = s->message;
	if (!l->model)
		l->model = s->model;
	if (!l->trace)
		l->trace = s->trace;
	if (s->status > l->status && s->status <= 999)
		l->status = (int32_t)s->status;
	if (s->batch > (int64_t)l->batch)
		l->batch = (uint32_t)MIN(s->batch, UINT32_MAX);
	l->streamed = MAX(l->streamed, s->streamed);
}

static int stray_add(struct resolve *r, const struct seen *s, struct err *err)
{
	for (uint32_t i = r->strays.n; i-- > 0 && i + CHAIN_MAX > r->strays.n;) { /* other ranks print it too */
		const struct stray *o = shelf_at(&r->strays, i);
		if (o->worker == s->worker && o->what == s->what && o->input == s->input && o->limit == s->limit &&
		    interval_gap(o->at, o->at, s->at, s->at) <= DUPLICATE_NS)
			return 0;
	}
	struct stray *t = shelf_add(&r->strays);
	if (!t)
		return err_nomem(err);
	int64_t input = s->input_flag == FLAG_AT_LEAST ? UNKNOWN : s->input; /* a lower bound finds no leg */
	*t = (struct stray){s->worker, s->what, s->at, input, s->limit, s->message, s->ref, false};
	return 0;
}

static int leg_row(struct resolve *r, uint32_t source, const struct event_batch *b, uint32_t row, struct err *err)
{
	struct seen s;
	int64_t input = row_int(b, row, LEG_INPUT);
	if (is_engine_check(row_text(b, row, LEG_RID), row_text(b, row, LEG_ROOM), input == UNKNOWN ? -1 : input))
		return 0; /* an engine that talks to itself: for clocks only */
	int res = seen_read(r, source, b, row, &s, err);
	if (res)
		return res;
	worker_seen(r, s.worker, s.lo, s.hi, &s.ref);
	worker_at(r, s.worker)->engine_log = true;
	mixed_see(r, s.worker, source, s.at, s.ref);
	if (s.role)
		worker_at(r, s.worker)->saw_role[s.role] = true;
	if (!s.rid && !s.room)
		return s.what == SEEN_REJECTED || s.what == SEEN_TRUNCATED ? stray_add(r, &s, err) : 0;
	struct leg *l;
	uint32_t at = leg_find(r, &s);
	if (at == NO_INDEX) {
		res = leg_new(r, s.worker, s.rid, s.room, &l, err);
		if (res)
			return res;
	} else {
		l = leg_at(r, at);
		if (!l->room && s.room)
			leg_set_room(r, l, at, s.room);
		if (!l->rid && s.rid) {
			l->rid = s.rid;
			l->next_rid = name_at(&r->names, s.norm)->rid_legs;
			name_at(&r->names, s.norm)->rid_legs = at + 1;
		}
	}
	leg_fold(r, l, &s);
	return refs_add(r, &l->refs, s.ref, err);
}

static int load_row(struct resolve *r, uint32_t source, const struct event_batch *b, uint32_t row, struct err *err)
{
	uint32_t worker;
	int res = worker_of_row(r, source, b, row, &worker, err);
	if (res)
		return res;
	struct text what = row_text(b, row, LOAD_WHAT);
	int64_t at = row_time(&r->sources[source], b, row);
	struct ref_node ref = row_ref(source, b, row);
	worker_at(r, worker)->load_prefill |= text_is(what, "prefill");
	worker_at(r, worker)->load_decode |= text_is(what, "decode");
	worker_seen(r, worker, at, at, &ref);
	worker_at(r, worker)->engine_log = true;
	mixed_see(r, worker, source, at, ref);
	if (text_is(what, "prefill") && row_int(b, row, LOAD_CACHED) > 0)
		kinds_hit(r, worker, at, ref);
	return 0;
}

static int load_kind(struct resolve *r, enum event_kind kind, uint32_t columns, row_fn fn, struct err *err)
{
	int res = load_each(r, kind, columns, fn, err);
	for (uint32_t i = 0; i < r->workers.n; i++)
		mixed_end(worker_at(r, i));
	return res;
}

int leg_load(struct resolve *r, struct err *err)
{
	int res = load_kind(r, EVENT_LEG, RESOLVE_LEG, leg_row, err);
	return res ? res : load_kind(r, EVENT_LOAD, RESOLVE_LOAD, load_row, err);
}

/* --- rejections and truncations that name no request: only where one leg alone fits in time and length --- */

static bool stray_fits(const struct resolve *r, const struct stray *s, const struct leg *l)
{
	if (l->outcome == OUT_REJECTED || l->outcome == OUT_TRUNCATED || l->page_only ||
	    !same_server(r, l->worker, s->worker) || l->lo == UNKNOWN || s->at == UNKNOWN ||
	    s->at < l->lo - 2 * NS_PER_S || s->at > l->hi + 2 * NS_PER_S)
		return false;
	if (s->what == SEEN_TRUNCATED) /* served with what the limit leaves of it */
		return s->limit != UNKNOWN && l->input != UNKNOWN && l->input <= s->limit && l->input >= s->limit - 64;
	if (s->input == UNKNOWN)
		return false;
	if (l->input == s->input)
		return true;
	unsigned steps = 0;
	for (uint32_t i = l->room && l->input <= 1 ? name_at(&r->names, l->room)->room_legs : 0;
	     i && steps++ < CHAIN_MAX;) {
		const struct leg *o = leg_at(r, i - 1);
		if (o != l && o->input == s->input) /* the other leg of this room has that length */
			return true;
		i = o->next_room;
	}
	return false;
}

struct leg_time {
	int64_t lo, reach; /* reach: latest end of all legs up to here */
	uint32_t leg;
};

static int leg_time_cmp(const void *a, const void *b, void *ctx)
{
	const struct leg_time *x = a, *y = b;
	(void)ctx;
	return x->lo != y->lo ? (x->lo < y->lo ? -1 : 1) : x->leg < y->leg ? -1 : x->leg > y->leg;
}

/* Legs in order of their beginnings. */
static int leg_times(struct resolve *r, struct leg_time **ret, struct err *err)
{
	uint32_t n = r->legs.n;
	struct leg_time *list = scratch_alloc(&r->scratch, (size_t)n + 1, sizeof(*list));
	int res = list ? 0 : err_nomem(err);
	for (uint32_t i = 0; i < n && !res; i++) {
		list[i] = (struct leg_time){leg_at(r, i)->lo, leg_at(r, i)->hi, i};
		res = resolve_tick(r, err);
	}
	if (!res)
		res = sort_items(r, list, n, sizeof(*list), leg_time_cmp, NULL, err);
	for (uint32_t i = 1; i < n && !res; i++) {
		list[i].reach = MAX(list[i].reach, list[i - 1].reach);
		res = resolve_tick(r, err);
	}
	*ret = list;
	return res;
}

int stray_attach(struct resolve *r, struct err *err)
{
	uint32_t n = r->legs.n;
	struct leg_time *order = NULL;
	int res = r->strays.n ? leg_times(r, &order, err) : 0;
	for (uint32_t i = 0; i < r->strays.n && !res; i++) {
		struct stray *s = shelf_at(&r->strays, i);
		if (s->at == UNKNOWN)
			continue;
		uint32_t lo = 0, hi = n;
		while (lo < hi) { /* first leg that begins after the line */
			uint32_t mid = (lo + hi) / 2;
			if (order[mid].lo <= s->at + 2 * NS_PER_S)
				lo = mid + 1;
			else
				hi = mid;
		}
		struct leg *found = NULL;
		unsigned count = 0;
		for (uint32_t k = lo; k-- > 0 && count < 2 && order[k].reach >= s->at - 2 * NS_PER_S && !res;) {
			res = resolve_tick(r, err);
			if (!stray_fits(r, s, leg_at(r, order[k].leg)))
				continue;
			found = leg_at(r, order[k].leg);
			count++;
		}
		if (count != 1 || res)
			continue;
		s->attached = true;
		found->limit = s->limit;
		found->outcome = s->what == SEEN_REJECTED ? OUT_REJECTED : OUT_TRUNCATED;
		if (s->what == SEEN_REJECTED)
			found->rejected = s->input;
		if (s->message)
			found->message = s->message;
		found->rejected_context = text_find(names_text(&r->names, s->message), "context length", 0) != SIZE_MAX;
		res = refs_add(r, &found->refs, s->ref, err);
	}
	return res;
}
