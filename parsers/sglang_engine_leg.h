/* SPDX-License-Identifier: Apache-2.0 */
/* sglang_engine_leg.h - what an engine says of requests: rejections, failures, aborts, time stats, request dumps
 *
 * Included by sglang_engine.c only. Of a dumped request only ids, counts and reasons are taken, never its text.
 * Health checks and room 0 are the engine talking to itself. Client-chosen ids may contain anything: unquoted ones
 * end where the last known field begins.
 */
#pragma once

#include "pagetrail/engine_check.h"
#include "pagetrail/parser.h"

/* Digits of a count; -1: it is not said. */
static int64_t count_of(struct text digits)
{
	int64_t n;

	return text_count(digits, &n) ? n : -1;
}

static bool is_check(struct text rid, struct text room, struct text input)
{
	return is_engine_check(py_unquote(rid).len ? py_unquote(rid) : rid, room, count_of(input));
}

static struct event *leg_begin(struct parse *p, const char *what)
{
	struct engine *s = p->state;
	struct event *e = engine_begin(p, EVENT_LEG);

	event_text(e, LEG_WHAT, text_of(what));
	event_text(e, LEG_RANK, s->line.tags);
	if (s->role)
		event_text(e, LEG_ROLE, text_of(s->role));
	return e;
}

/* Checks of itself are named after the second they were sent in: beside a stamp without a zone that tells the zone.
 * Nobody makes a request of them. */
static int health_seen(struct parse *p, const char *what, struct text rid)
{
	struct engine *s = p->state;
	struct event *e;
	int64_t ns;

	rid = py_unquote(rid).len ? py_unquote(rid) : rid;
	if (s->line.ts.quality != STAMP_NAIVE || !text_seconds_ns(text_from(rid, sizeof(ENGINE_CHECK) - 1), &ns))
		return RECORD_CONTEXT;
	e = leg_begin(p, what);
	event_text(e, LEG_RID, rid);
	return engine_emit(p);
}

static void leg_room(struct event *e, struct text room)
{
	uint64_t n;

	if (all_digits(room) && text_uint64(room, &n) && n > 0)
		event_text(e, LEG_ROOM, room);
}

/* --- rejected, truncated --- */

static int leg_limit(struct parse *p, struct text message, struct text n, struct text limit, struct text rid,
		     bool at_least)
{
	bool cut = holds(text_sub(message, 0, text_find(message, "rid=", 0)), "Truncat"); /* the name is the client's */
	struct event *e;

	if (is_check(rid, (struct text){NULL, 0}, n))
		return RECORD_CONTEXT;
	e = leg_begin(p, cut ? "truncated" : "rejected");
	event_text(e, LEG_RID, rid);
	event_count(e, LEG_INPUT, n);
	event_text(e, LEG_INPUT_FLAG, at_least ? TEXT("at_least") : TEXT("exact"));
	event_count(e, LEG_LIMIT, limit);
	event_text(e, LEG_MESSAGE, message);
	return engine_emit(p);
}

static int take_limit(struct parse *p, const struct match *m, struct text message)
{
	struct text rid = match_group(m, "rid");

	if (rid.len == 0)
		rid = py_field(message, "rid");
	return leg_limit(p, message, match_group(m, "n"), match_group(m, "limit"), rid,
			 match_group(m, "least").len > 0);
}

/* --- failed --- */

/* "<Side> <stage> failed for request rank=N ….rid='…' ….bootstrap_room=N with exception …" */
static int take_leg_failed(struct parse *p, const struct match *m, struct text message)
{
	struct text rid = py_field(message, "rid"), why = after(message, " with exception "), text;
	struct text stage = match_group(m, "stage"), side = match_group(m, "side"), rank = match_group(m, "rank");
	struct engine *s = p->state;
	struct event *e;
	char *buf;

	if (rid.len == 0)
		return engine_torn(p);
	if (is_check(rid, py_field(message, "bootstrap_room"), (struct text){NULL, 0}))
		return health_seen(p, "failed", rid);
	/* the same failure on every rank differs only in rank=: kept out of the message */
	text = stage;
	buf = arena_alloc(&p->scratch, stage.len + why.len + 2);
	if (!buf)
		return err_nomem(p->err);
	memcpy(buf, stage.ptr, stage.len);
	text = (struct text){buf, stage.len};
	if (why.len > 0) {
		memcpy(buf + stage.len, ": ", 2);
		memcpy(buf + stage.len + 2, why.ptr, why.len);
		text.len += 2 + why.len;
	}
	e = leg_begin(p, "failed");
	event_text(e, LEG_RID, rid);
	leg_room(e, py_field(message, "bootstrap_room"));
	if (text_is(side, "Prefill") || text_is(side, "Decode"))
		event_text(e, LEG_ROLE, text_is(side, "Prefill") ? TEXT("prefill") : TEXT("decode"));
	event_text(e, LEG_MESSAGE, text);
	if (s->line.tags.len == 0 && rank.len > 0) {
		buf = arena_alloc(&p->scratch, rank.len + 2);
		if (!buf)
			return err_nomem(p->err);
		memcpy(buf, "TP", 2);
		memcpy(buf + 2, rank.ptr, rank.len);
		event_text(e, LEG_RANK, (struct text){buf, rank.len + 2});
	}
	return engine_emit(p);
}

/* Failures that name a room only. */
static int take_room_failed(struct parse *p, const struct match *m, struct text message)
{
	struct text room = match_group(m, "room"), rid = match_group(m, "rid");
	struct event *e;

	if (is_check(rid, room, (struct text){NULL, 0}) || (!rid.len && text_is(room, "0")))
		return RECORD_CONTEXT;
	e = leg_begin(p, "failed");
	leg_room(e, room);
	event_text(e, LEG_RID, rid);
	event_text(e, LEG_MESSAGE, message);
	return engine_emit(p);
}

/* --- aborted, retracted --- */

static int take_aborted(struct parse *p, const struct match *m, struct text message)
{
	struct text rid = py_field(message, "rid");
	struct event *e;

	(void)m;
	if (is_check(rid, (struct text){NULL, 0}, (struct text){NULL, 0}))
		return health_seen(p, "aborted", rid);
	if (rid.len == 0 && holds(message, "rid="))
		return engine_torn(p);
	e = leg_begin(p, "aborted");
	event_text(e, LEG_RID, rid);
	event_text(e, LEG_MESSAGE, message);
	return engine_emit(p);
}

/* Counts go to load, the requests that newer builds name each to a leg. */
static int take_retracted(struct parse *p, const struct match *m, struct text message)
{
	struct text list = after(message, "retracted: ");
	struct py_iter it = py_open(list);
	struct text key, value;
	struct event *e = engine_begin(p, EVENT_LOAD);
	int r;

	event_text(e, LOAD_WHAT, TEXT("decode"));
	event_count(e, LOAD_RETRACTED, match_group(m, "n"));
	r = engine_emit(p);
	while (r >= 0 && list.len > 0 && py_next(&it, &key, &value)) {
		struct text rid = text_is(key, "rid") ? value : py_field(value, "rid");

		if (rid.len == 0 || is_check(rid, (struct text){NULL, 0}, (struct text){NULL, 0}))
			continue;
		e = leg_begin(p, "retracted");
		event_text(e, LEG_RID, py_unquote(rid).len ? py_unquote(rid) : rid);
		r = engine_emit(p);
	}
	return r < 0 ? r : RECORD_PARSED;
}

/* --- ReqTimeStats --- */

static size_t find_last(struct text t, const char *mark)
{
	size_t n = strlen(mark), left = t.len < n ? 0 : t.len - n + 1;

	while (left) { /* places where it can begin */
		size_t at = text_rfind_char(text_sub(t, 0, left), mark[0]);

		if (at == SIZE_MAX || memcmp(t.ptr + at, mark, n) == 0)
			return at;
		left = at;
	}
	return SIZE_MAX;
}

/* Sum of all durations behind the counts, in ns; false when one is missing a number or out of reason. A sum of two
 * others that are also printed ("x(…ms) = a(…ms) + b(…ms)") counts once: its parts have no "_duration" name. */
static bool stats_duration(struct text t, int64_t *ret_ns)
{
	const int64_t most = 30 * 86400 * INT64_C(1000);
	int64_t sum = 0;
	size_t at = 0;
	bool any = false;

	while ((at = text_find(t, "_duration", at)) != SIZE_MAX) {
		size_t from = at += sizeof("_duration") - 1, end;
		int64_t ns;

		if (from >= t.len || (t.ptr[from] != '=' && t.ptr[from] != '('))
			return false;
		for (end = ++from; end < t.len && (is_digit(t.ptr[end]) || t.ptr[end] == '.'); end++)
			;
		/* the number is milliseconds: read as seconds, scaled down */
		if (!text_seconds_ns(text_sub(t, from, end - from), &ns) || !text_starts(text_from(t, end), "ms") ||
		    ns / NS_PER_S > most)
			return false;
		sum += ns / 1000;
		any = true;
	}
	*ret_ns = sum;
	return any;
}

static void stats_times(struct event *e, struct text tail)
{
	struct text entry = py_field(tail, "entry_time");
	struct stamp at;
	int64_t took;

	if (entry.len == 0)
		entry = py_field(tail, "start_time");
	if (!stamp_parse_epoch(entry, &at) || at.quality != STAMP_ZONED)
		return;
	event_int(e, LEG_STARTED, at.ns);
	if (stats_duration(tail, &took))
		event_int(e, LEG_FINISHED, at.ns + took);
}

static struct text stats_field(struct text t, const char *name, const char *old)
{
	struct text v = py_field(t, name);
	struct text tail;
	size_t n = 0;

	if (v.len > 0 || !old)
		return v;
	tail = after(t, old);
	while (n < tail.len && is_digit(tail.ptr[n]))
		n++;
	return text_sub(tail, 0, n);
}

/* either case */
static bool text_starts_char(struct text t, char lower)
{
	return t.len > 0 && (t.ptr[0] | 0x20) == lower;
}

static int take_time_stats(struct parse *p, const struct match *m, struct text message)
{
	size_t close = find_last(message, "): "), fields;
	struct text head, rid, type, room = {NULL, 0}, input;
	struct event *e;

	(void)m;
	if (close == SIZE_MAX)
		close = text_ends(message, "):") ? message.len - 2 : message.len;
	head = after(text_sub(message, 0, close), "(rid=");
	if ((fields = find_last(head, ", input_len=")) == SIZE_MAX &&
	    (fields = find_last(head, ", input len=")) == SIZE_MAX)
		return engine_torn(p);
	rid = text_sub(head, 0, fields);
	head = text_from(head, fields + 2);
	type = py_field(head, "type");
	if (type.len == 0)
		return engine_torn(p);
	type = text_from(type, text_rfind_char(type, '.') == SIZE_MAX ? 0 : text_rfind_char(type, '.') + 1);
	fields = find_last(rid, ", bootstrap_room=");
	/* without disaggregation there is no room: what looks like one belongs to the client's id */
	if (fields != SIZE_MAX && text_starts_char(type, 'u') && is_digit(rid.ptr[rid.len - 1]) &&
	    !text_is(text_from(rid, fields), ", bootstrap_room=0"))
		fields = SIZE_MAX;
	if (fields != SIZE_MAX) {
		room = text_from(rid, fields + sizeof(", bootstrap_room=") - 1);
		rid = text_sub(rid, 0, fields);
	}
	input = stats_field(head, "input_len", "input len=");
	if (is_check(rid, room, input))
		return health_seen(p, "finished", rid);
	e = leg_begin(p, "finished");
	leg_room(e, room);
	event_text(e, LEG_RID, py_unquote(rid).len ? py_unquote(rid) : rid);
	event_count(e, LEG_INPUT, input);
	event_text(e, LEG_INPUT_FLAG, TEXT("exact"));
	event_count(e, LEG_CACHED, stats_field(head, "cached_input_len", ", cached_input len="));
	event_count(e, LEG_OUTPUT, stats_field(head, "output_len", ", output len="));
	if (text_starts_char(type, 'p'))
		event_text(e, LEG_ROLE, TEXT("prefill"));
	else if (text_starts_char(type, 'd'))
		event_text(e, LEG_ROLE, TEXT("decode"));
	else if (text_starts_char(type, 'u') || text_starts_char(type, 'n'))
		event_text(e, LEG_ROLE, TEXT("unified"));
	if (close < message.len)
		stats_times(e, text_from(message, close));
	return engine_emit(p);
}

/* --- Receive: and Finish: --- */

struct request { /* one request object; lists where the request is a batch */
	struct text rid, room, stream, input_ids, model;
	bool torn;
};

static struct request request_read(struct text call)
{
	struct request q = {.torn = false};
	struct py_iter it = py_open(call);
	struct text key, value;

	while (py_next(&it, &key, &value)) {
		if (it.torn)
			break;
		if (text_is(key, "rid"))
			q.rid = value;
		else if (text_is(key, "bootstrap_room"))
			q.room = value;
		else if (text_is(key, "stream"))
			q.stream = value;
		else if (text_is(key, "input_ids"))
			q.input_ids = value;
		else if (text_is(key, "model"))
			q.model = py_unquote(value);
	}
	q.torn = it.torn;
	return q;
}

/* One value per request of a batch: a list gives its elements in turn, anything else is the same for all. */
struct each {
	struct py_iter it;
	struct text same;
	bool list;
};

static struct each each_of(struct text value)
{
	return (struct each){.it = py_open(value), .same = value, .list = py_is_list(value)};
}

static struct text each_next(struct each *e)
{
	struct text key, member;

	if (!e->list)
		return e->same;
	return py_next(&e->it, &key, &member) ? member : (struct text){NULL, 0};
}

/* Elements of a list of token ids; -1 when it was shortened for the log, or is a list of lists. */
static int64_t count_ids(struct text list)
{
	struct py_iter it = py_open(list);
	struct text key, member;
	int64_t n = 0;

	if (!py_is_list(list))
		return -1;
	for (; py_next(&it, &key, &member); n++)
		if (!all_digits(member))
			return -1;
	return it.torn || n == 0 ? -1 : n;
}

static void request_common(struct event *e, const struct request *q, struct text rid, struct text room, size_t batch)
{
	event_text(e, LEG_RID, rid);
	leg_room(e, room);
	event_text(e, LEG_MODEL, q->model);
	if (text_is(q->stream, "True") || text_is(q->stream, "False"))
		event_flag(e, LEG_STREAM, text_is(q->stream, "True"));
	if (batch > 1)
		event_int(e, LEG_BATCH, (int64_t)batch);
}

static size_t request_count(struct text rid)
{
	struct py_iter it = py_open(rid);
	struct text key, member;
	size_t n = 0;

	if (!py_is_list(rid))
		return 1;
	while (py_next(&it, &key, &member))
		n++;
	return n;
}

static int take_receive(struct parse *p, const struct match *m, struct text message)
{
	struct engine *s = p->state;
	struct request q = request_read(after(message, "obj="));
	struct each rids = each_of(q.rid), rooms = each_of(q.room);
	int64_t ids = rids.list ? -1 : count_ids(q.input_ids);
	size_t n = request_count(q.rid);
	int verdict = RECORD_CONTEXT;

	(void)m;
	s->torn = q.torn;
	if (q.rid.len == 0 && q.torn)
		return engine_torn(p);
	for (size_t i = 0; i < n && q.rid.len > 0 && verdict >= 0; i++) {
		struct text rid = py_unquote(each_next(&rids)), room = each_next(&rooms);
		struct event *e;

		if (rid.len == 0)
			continue;
		if (is_engine_check(rid, room, ids)) {
			int r = health_seen(p, "received", rid);

			verdict = r == RECORD_CONTEXT ? verdict : r;
			continue;
		}
		e = leg_begin(p, "received");
		request_common(e, &q, rid, room, n);
		if (ids >= 0) {
			event_int(e, LEG_INPUT, ids);
			event_text(e, LEG_INPUT_FLAG, TEXT("exact"));
		}
		verdict = engine_emit(p);
	}
	return verdict;
}

static void epoch_column(struct event *e, unsigned column, struct text number)
{
	struct stamp at;

	if (stamp_parse_epoch(number, &at) && at.quality == STAMP_ZONED)
		event_int(e, column, at.ns);
}

static void finish_meta(struct event *e, struct text meta)
{
	struct py_iter it = py_open(meta);
	struct text key, value, received = {NULL, 0}, took = {NULL, 0};
	int64_t ns;
	struct stamp at;

	while (py_next(&it, &key, &value)) {
		if (text_is(key, "prompt_tokens")) {
			event_count(e, LEG_INPUT, value);
			if (e->known >> LEG_INPUT & 1)
				event_text(e, LEG_INPUT_FLAG, TEXT("exact"));
		} else if (text_is(key, "completion_tokens")) {
			event_count(e, LEG_OUTPUT, value);
		} else if (text_is(key, "cached_tokens")) {
			event_count(e, LEG_CACHED, value);
		} else if (text_is(key, "total_retractions")) {
			event_count(e, LEG_RETRACTIONS, value);
		} else if (text_is(key, "finish_reason")) {
			event_text(e, LEG_FINISH,
				   py_unquote(py_get(value, "type")).len ? py_unquote(py_get(value, "type"))
									 : py_unquote(value));
			event_count(e, LEG_STATUS, py_get(value, "status_code"));
			event_text(e, LEG_MESSAGE, py_unquote(py_get(value, "message")));
		} else if (text_is(key, "request_received_ts")) {
			received = value;
			epoch_column(e, LEG_STARTED, value);
		} else if (text_is(key, "request_finished_ts")) {
			epoch_column(e, LEG_FINISHED, value);
		} else if (text_is(key, "response_sent_to_client_ts")) {
			epoch_column(e, LEG_SENT, value);
		} else if (text_is(key, "e2e_latency")) {
			took = value;
		}
	}
	if (!(e->known >> LEG_FINISHED & 1) && stamp_parse_epoch(received, &at) && at.quality == STAMP_ZONED &&
	    text_seconds_ns(took, &ns) && ns >= 0 && ns < 30 * 86400 * NS_PER_S)
		event_int(e, LEG_FINISHED, at.ns + ns);
}

/* A rejection that the request's own record repeats: here it has the ids that the scheduler's line lacks. */
static int finish_rejected(struct parse *p, struct text rid, struct text room, struct text why)
{
	size_t open = text_find_char(why, '(', 0), second;
	struct text n, limit;
	struct event *e;
	int64_t v;

	if (!text_starts(why, "Input length (") || !holds(why, "exceeds"))
		return RECORD_PARSED;
	second = text_find_char(why, '(', open + 1);
	if (second == SIZE_MAX)
		return RECORD_PARSED;
	n = text_sub(why, open + 1, text_find(why, " tokens", open) - open - 1);
	limit = text_sub(why, second + 1, text_find(why, " tokens", second) - second - 1);
	if (!text_count(limit, &v) || !text_count(n, &v))
		return RECORD_PARSED;
	e = leg_begin(p, "rejected");
	event_text(e, LEG_RID, rid);
	leg_room(e, room);
	event_count(e, LEG_INPUT, n);
	event_text(e, LEG_INPUT_FLAG, TEXT("exact"));
	event_count(e, LEG_LIMIT, limit);
	event_text(e, LEG_MESSAGE, why);
	return engine_emit(p);
}

static int finish_one(struct parse *p, const struct request *q, struct text rid, struct text room, struct text out,
		      size_t n)
{
	struct text meta = py_get(out, "meta_info"), id = py_unquote(py_get(meta, "id"));
	struct event *e;
	int r;

	rid = id.len > 0 ? id : py_unquote(rid);
	if (rid.len == 0)
		return RECORD_CONTEXT;
	if (is_check(rid, room, py_get(meta, "prompt_tokens")))
		return health_seen(p, "finished", rid);
	e = leg_begin(p, "finished");
	request_common(e, q, rid, room, n);
	finish_meta(e, meta);
	r = engine_emit(p);
	return r < 0 ? r : finish_rejected(p, rid, room, py_unquote(py_get(py_get(meta, "finish_reason"), "message")));
}

static int take_finish(struct parse *p, const struct match *m, struct text message)
{
	struct text call = text_from(message, sizeof("Finish: obj=") - 1), out;
	struct engine *s = p->state;
	struct request q = request_read(call);
	size_t n = request_count(q.rid), end = py_value_end(call, 0, &(bool){false});
	struct each rids = each_of(q.rid), rooms = each_of(q.room), outs;
	int verdict = RECORD_CONTEXT;

	(void)m;
	if (q.rid.len == 0)
		return q.torn ? engine_torn(p) : RECORD_CONTEXT;
	out = skip_blanks(text_from(call, end + 1));
	out = text_starts(out, "out=") ? text_from(out, 4) : (struct text){NULL, 0};
	outs = each_of(out);
	s->torn = !py_closed(text_from(call, text_find_char(call, '(', 0))) || (out.len && !py_closed(out));
	for (size_t i = 0; i < n && verdict >= 0; i++) {
		struct text rid = each_next(&rids), room = each_next(&rooms);
		int r = finish_one(p, &q, rid, room, each_next(&outs), n);

		if (r != RECORD_CONTEXT)
			verdict = r;
	}
	return verdict;
}

/* --- the warm-up: prompts of the engine's own --- */

/* Its answers say when they were sent, which tells the zone of the stamp; they have no ids here and are no requests. */
static int take_warmup(struct parse *p, const struct match *m, struct text message)
{
	struct text number = after(message, "'response_sent_to_client_ts': ");
	struct engine *s = p->state;
	struct stamp at;
	struct event *e;
	size_t n = 0;

	(void)m;
	while (n < number.len && (is_digit(number.ptr[n]) || number.ptr[n] == '.'))
		n++;
	if (s->line.ts.quality != STAMP_NAIVE || !stamp_parse_epoch(text_sub(number, 0, n), &at) ||
	    at.quality != STAMP_ZONED)
		return RECORD_CONTEXT;
	e = leg_begin(p, "finished");
	event_int(e, LEG_FINISHED, at.ns);
	return engine_emit(p);
}
