/* SPDX-License-Identifier: Apache-2.0 */
/* sglang_requests.c - format sglang-requests: SGLang's --log-requests in its JSON form
 *
 * One object a line, `request.received` or `request.finished`; a batch is one object with lists, and gives one event
 * a member. The time stamp is local without a zone; the fraction is missing when it is zero. The logger shortens
 * long lists to [first…, "...", last…] and long strings likewise: a shortened list is never counted and never paired
 * with another one. `text`, `input_ids` and the like are customers' prompts: at most their length is taken.
 * Lines of other kinds on the same standard output are offered to the other formats.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pagetrail/engine_check.h"
#include "pagetrail/parser.h"
#include "sglang_finish.h"

enum { ID_TMP = 32, BATCH_MAX = 4096 };

struct request {
	struct json_value doc, obj, out, rid;
	struct stamp ts;
	bool finished;
	int64_t batch; /* members; 1: alone */
	bool paired;   /* members of the lists belong together */
};

/* Length of a list; -1 when it is none; *ret_cut when the logger has shortened it. */
static int64_t list_len(struct json_value v, bool *ret_cut)
{
	struct json_iter it;
	struct json_value e;
	struct text key, t;
	int64_t n = 0;

	*ret_cut = false;
	if (json_type(v) != JSON_ARRAY)
		return -1;
	it = json_iter(v);
	for (; json_next(&it, &key, &e); n++) {
		if (json_string(e, &t) && text_is(t, "..."))
			*ret_cut = true;
	}
	return n;
}

static struct json_value list_at(struct json_value v, int64_t at)
{
	struct json_iter it;
	struct json_value e;
	struct text key;

	if (json_type(v) != JSON_ARRAY)
		return (struct json_value){0};
	it = json_iter(v);
	while (json_next(&it, &key, &e)) {
		if (at-- == 0)
			return e;
	}
	return (struct json_value){0};
}

/* A member's own value: of a parallel list, or - alone - the value itself. */
static struct json_value member(const struct request *q, struct json_value v, int64_t at)
{
	bool cut;
	int64_t n = list_len(v, &cut);

	if (n < 0)
		return q->batch == 1 ? v : (struct json_value){0};
	if (cut || !q->paired || n != q->batch)
		return (struct json_value){0};
	return list_at(v, at);
}

static void set_epoch(struct event *e, unsigned column, struct json_value v)
{
	double d;

	/* older builds print a monotonic clock under the same names */
	if (json_double(v, &d) && d >= 1e8 && d < 9.2e9)
		event_int(e, column, (int64_t)llround(d * 1e6) * 1000);
}

static void set_count(struct event *e, unsigned column, struct json_value v)
{
	int64_t n;

	if (json_count(v, &n) && n >= 0 && n <= TOKENS_MAX)
		event_int(e, column, n);
}

static void set_input_ids(struct event *e, struct json_value ids, const struct request *q)
{
	static const char *const more[] = {"image_data", "video_data", "audio_data", "input_embeds"};
	struct json_value first = list_at(ids, 0);
	bool cut, grows = false;
	int64_t n = list_len(ids, &cut);

	if (n <= 0 || cut || n > TOKENS_MAX)
		return;
	if (json_type(first) != JSON_INT && json_type(first) != JSON_UINT)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(more); i++)
		grows = grows || json_given(json_get(q->obj, more[i]));
	event_int(e, LEG_INPUT, n);
	event_text(e, LEG_INPUT_FLAG, grows ? TEXT("at_least") : TEXT("exact"));
}

static struct json_value first_given(struct json_value v, const char *a, const char *b)
{
	struct json_value r = json_get(v, a);

	return json_given(r) ? r : json_get(v, b);
}

/* What the request object says of one member; the same for both kinds of records. */
static void set_asked(struct parse *p, struct event *e, const struct request *q, int64_t at, struct text rid)
{
	struct json_value v, room = member(q, json_get(q->obj, "bootstrap_room"), at);
	char tmp[ID_TMP], worker[ID_TMP];
	struct text t;
	int64_t rank;
	bool b;
	int n;

	event_text(e, LEG_RID, rid);
	if (json_id(room, tmp, &t))
		event_text(e, LEG_ROOM, arena_text(&p->scratch, t));
	v = json_get(q->obj, "stream");
	if (json_bool(v, &b))
		event_flag(e, LEG_STREAM, b);
	if (json_string(json_get(q->obj, "model"), &t))
		event_text(e, LEG_MODEL, t);
	event_int(e, LEG_BATCH, q->batch);
	v = member(q, first_given(q->obj, "routed_dp_rank", "data_parallel_rank"), at);
	if (json_int64(v, &rank) && rank >= 0 && rank < 65536) {
		n = snprintf(worker, sizeof(worker), "/dp%d", (int)rank);
		event_worker(e, arena_text(&p->scratch, (struct text){worker, (size_t)n}));
	}
}

static void set_meta(struct event *e, const struct request *q, struct json_value meta)
{
	struct json_value v = json_get(meta, "e2e_latency");
	double s;

	set_count(e, LEG_INPUT, json_get(meta, "prompt_tokens"));
	if (e->known >> LEG_INPUT & 1)
		event_text(e, LEG_INPUT_FLAG, TEXT("exact"));
	set_count(e, LEG_OUTPUT, json_get(meta, "completion_tokens"));
	set_count(e, LEG_CACHED, json_get(meta, "cached_tokens"));
	set_count(e, LEG_RETRACTIONS, json_get(meta, "total_retractions"));
	/* the epoch columns need an epoch clock: newer builds have one here, the line's own stamp has no zone */
	set_epoch(e, LEG_STARTED, json_get(meta, "request_received_ts"));
	set_epoch(e, LEG_SENT, json_get(meta, "response_sent_to_client_ts"));
	set_epoch(e, LEG_FINISHED, json_get(meta, "request_finished_ts"));
	if (q->ts.quality != STAMP_ZONED)
		return;
	if (!(e->known >> LEG_FINISHED & 1))
		event_int(e, LEG_FINISHED, q->ts.ns);
	if (!(e->known >> LEG_STARTED & 1) && json_double(v, &s) && s >= 0 && s < 1e8)
		event_int(e, LEG_STARTED, q->ts.ns - (int64_t)llround(s * 1e6) * 1000);
}

/* A rejection names the true length, which the leg's own prompt_tokens (1 after the abort) no longer does. */
static int emit_rejection(struct parse *p, const struct request *q, int64_t at, struct text rid,
			  struct json_value reason, struct text message)
{
	int64_t length, limit;
	struct event *e;

	if (!rejection(message, &length, &limit))
		return 0;
	e = parse_begin(p, EVENT_LEG, q->ts);
	set_asked(p, e, q, at, rid);
	set_finish(e, reason);
	event_text(e, LEG_WHAT, TEXT("rejected"));
	event_int(e, LEG_INPUT, length);
	event_text(e, LEG_INPUT_FLAG, TEXT("exact"));
	event_int(e, LEG_LIMIT, limit);
	return parse_emit(p);
}

static int emit_finished(struct parse *p, const struct request *q, int64_t at, struct text rid, struct json_value out)
{
	struct json_value meta = json_get(out, "meta_info"), reason = json_get(meta, "finish_reason");
	struct text message;
	struct event *e;
	int r;

	e = parse_begin(p, EVENT_LEG, q->ts);
	set_asked(p, e, q, at, rid);
	set_meta(e, q, meta);
	message = set_finish(e, reason);
	r = parse_emit(p);
	return r < 0 ? r : emit_rejection(p, q, at, rid, reason, message);
}

static int emit_received(struct parse *p, const struct request *q, int64_t at, struct text rid)
{
	struct json_value ids = json_get(q->obj, "input_ids");
	struct event *e = parse_begin(p, EVENT_LEG, q->ts);

	set_asked(p, e, q, at, rid);
	event_text(e, LEG_WHAT, TEXT("received"));
	set_input_ids(e, q->batch == 1 && json_type(list_at(ids, 0)) != JSON_ARRAY ? ids : member(q, ids, at), q);
	return parse_emit(p);
}

static bool rid_usable(struct json_value v, char *tmp, struct text *ret)
{
	return json_id(v, tmp, ret) && ret->len > 0 && !text_is(*ret, "...");
}

static bool is_check(const struct request *q, int64_t at, struct text rid, struct json_value out)
{
	struct json_value ids = json_get(q->obj, "input_ids"), room = member(q, json_get(q->obj, "bootstrap_room"), at);
	char tmp[ID_TMP];
	struct text name = {NULL, 0};
	int64_t input = -1;
	bool cut;

	if (!json_count(json_path(out, "meta_info.prompt_tokens"), &input))
		input = q->batch == 1 ? list_len(ids, &cut) : -1;
	if (!json_id(room, tmp, &name))
		name = (struct text){NULL, 0};
	return is_engine_check(rid, name, input);
}

/* One member; adds to *events what it emitted. Health checks and members cut away by the logger give nothing. */
static int take_member(struct parse *p, const struct request *q, int64_t at, unsigned *events, unsigned *health)
{
	struct json_value out = json_type(q->out) == JSON_ARRAY ? list_at(q->out, at) : q->out;
	char tmp[ID_TMP];
	struct text rid;

	if (!rid_usable(json_path(out, "meta_info.id"), tmp, &rid) &&
	    !rid_usable(json_type(q->rid) != JSON_ARRAY ? q->rid : list_at(q->rid, at), tmp, &rid))
		return 0;
	if (is_check(q, at, rid, out)) {
		(*health)++;
		return 0;
	}
	(*events)++;
	return q->finished ? emit_finished(p, q, at, rid, out) : emit_received(p, q, at, rid);
}

/* How many members, and may lists be read side by side? */
static void measure(struct request *q)
{
	bool rid_cut, out_cut;
	int64_t rids = list_len(q->rid, &rid_cut), outs = list_len(q->out, &out_cut);

	q->batch = MAX(MAX(rids, outs), 1);
	/* the logger may shorten one list and not the other: side by side means nothing then */
	q->paired = !rid_cut && !out_cut && (rids < 0 || outs < 0 || rids == outs);
}

static int take(struct parse *p, struct request *q)
{
	unsigned events = 0, health = 0;
	int r;

	measure(q);
	if (q->batch > BATCH_MAX)
		return parse_refuse(p, "batch_too_long");
	for (int64_t i = 0; i < q->batch; i++) {
		r = take_member(p, q, i, &events, &health);
		if (r < 0)
			return r;
	}
	if (events)
		return RECORD_PARSED;
	return health ? RECORD_CONTEXT : parse_refuse(p, "no_rid");
}

static bool read_event(struct json_value doc, struct text *ret)
{
	return json_string(json_get(doc, "event"), ret) && text_starts(*ret, "request.");
}

static int record(struct parse *p, struct text record)
{
	struct text bare = text_trim(record), event, t;
	struct request q = {.ts = p->fallback};
	size_t used;
	int r;

	if (bare.len == 0)
		return RECORD_CONTEXT;
	if (bare.ptr[0] != '{') {
		r = parse_delegate(p, record);
		return r == RECORD_UNPARSED ? parse_refuse(p, "not_json") : r;
	}
	r = parse_json(p, record, p->padded, &q.doc);
	if (r)
		return r;
	if (!read_event(q.doc, &event))
		return parse_refuse(p, "unknown_event");
	q.finished = text_is(event, "request.finished");
	if (!q.finished && !text_is(event, "request.received"))
		return parse_refuse(p, "unknown_event");
	if (json_string(json_get(q.doc, "timestamp"), &t) && (!stamp_parse_iso(t, &q.ts, &used) || used != t.len))
		return parse_refuse(p, "bad_time");
	q.obj = json_get(q.doc, "obj");
	q.out = q.finished ? json_get(q.doc, "out") : (struct json_value){0};
	q.rid = json_get(q.doc, "rid");
	if (!json_given(q.rid))
		q.rid = json_get(q.obj, "rid");
	return take(p, &q);
}

static enum bid bid(struct parse *p, struct text record)
{
	struct json_value doc;
	struct text event;

	record = text_trim(record);
	if (record.len == 0 || record.ptr[0] != '{' || text_find(record, "\"request.", 0) == SIZE_MAX)
		return BID_NO;
	if (json_parse(p->json, record, false, &doc, NULL, p->err) != 0 || !read_event(doc, &event))
		return BID_NO;
	if (!text_is(event, "request.finished") && !text_is(event, "request.received"))
		return BID_NO;
	return json_given(json_get(doc, "rid")) || json_is_object(json_get(doc, "obj")) ? BID_STRONG : BID_WEAK;
}

const struct parser parser_sglang_requests = {
    .name = "sglang-requests",
    .summary = "SGLang request log, JSON form (--log-requests-format json)",
    .checked = "SGLang sources of 2026 (request_logger.py)",
    .emits = 1u << EVENT_LEG,
    .bid = bid,
    .record = record,
};
