/* SPDX-License-Identifier: Apache-2.0 */
/* sglang_metrics.c - format sglang-metrics: SGLang's --export-metrics-to-file, one object a finished request
 *
 * The best clock SGLang has: the *_ts fields are epoch seconds (UTC). `request_parameters` is JSON inside a JSON
 * string and may hold the whole prompt; it is read by a second parser, for ids and flags only. When it cannot be
 * read, the record still counts: everything else stands outside of it.
 */
#include <math.h>
#include <string.h>

#include "pagetrail/engine_check.h"
#include "pagetrail/parser.h"
#include "sglang_finish.h"

enum { ID_TMP = 32, BATCH_MAX = 4096 };

struct state {
	struct json *inner; /* for request_parameters, while p->json holds the record */
};

/* Epoch seconds only; a monotonic clock under the same name is no time for us. Nearest microsecond. */
static int64_t epoch_ns(struct json_value v)
{
	double d;

	if (!json_double(v, &d) || !(d >= 1e8 && d < 9.2e9))
		return TIME_UNKNOWN;
	return (int64_t)llround(d * 1e6) * 1000;
}

static void set_time(struct event *e, unsigned column, int64_t ns)
{
	if (ns != TIME_UNKNOWN)
		event_int(e, column, ns);
}

static void set_count(struct event *e, unsigned column, struct json_value v)
{
	int64_t n;

	if (json_count(v, &n) && n >= 0 && n <= TOKENS_MAX)
		event_int(e, column, n);
}

struct times {
	int64_t received, sent, finished;
	struct stamp at; /* the record's own: the end of the request, as well as it is known */
};

static struct times read_times(struct parse *p, struct json_value doc)
{
	struct times t = {epoch_ns(json_get(doc, "request_received_ts")),
			  epoch_ns(json_get(doc, "response_sent_to_client_ts")),
			  epoch_ns(json_get(doc, "request_finished_ts")), p->fallback};
	int64_t end = t.finished;
	double s;

	if (end == TIME_UNKNOWN && t.received != TIME_UNKNOWN) {
		end = t.received;
		if (json_double(json_get(doc, "e2e_latency"), &s) && s >= 0 && s < 1e8)
			end += (int64_t)llround(s * 1e6) * 1000;
	}
	if (end == TIME_UNKNOWN)
		end = t.sent;
	if (end != TIME_UNKNOWN)
		t.at = (struct stamp){end, STAMP_ZONED, 1000};
	return t;
}

/* Position of rid in the parameters' list of rids, and that list's length (1: not a batch). */
static int64_t place_in_batch(struct json_value rids, struct text rid, int64_t *ret_n)
{
	struct json_iter it;
	struct json_value e;
	struct text key, t;
	int64_t at = -1, n = 0;

	*ret_n = 1;
	if (json_type(rids) != JSON_ARRAY)
		return 0;
	it = json_iter(rids);
	for (; n < BATCH_MAX && json_next(&it, &key, &e); n++) {
		if (json_string(e, &t) && text_eq(t, rid))
			at = n;
	}
	*ret_n = MAX(n, 1);
	return at;
}

static struct json_value list_at(struct json_value v, int64_t at)
{
	struct json_iter it;
	struct json_value e;
	struct text key;

	if (at < 0)
		return (struct json_value){0};
	it = json_iter(v);
	while (json_next(&it, &key, &e)) {
		if (at-- == 0)
			return e;
	}
	return (struct json_value){0};
}

/* What was asked, out of the inner document. Lists belong to a batch; a member's value only when its place is known. */
static int set_asked(struct parse *p, struct event *e, struct json_value doc, struct text rid)
{
	struct json_value outer = json_get(doc, "request_parameters"), ask = outer, v;
	struct state *s = p->state;
	char *tmp = arena_alloc(&p->scratch, 3 * ID_TMP);
	struct text t;
	int64_t at, n, rank;
	bool b;
	int r;

	if (!tmp)
		return err_nomem(p->err);
	if (json_string(outer, &t)) {
		if (t.len > RECORD_MAX_BYTES)
			return 0;
		r = json_parse(s->inner, t, false, &ask, NULL, p->err);
		if (r)
			return r < 0 ? r : 0;
	}
	if (!json_is_object(ask))
		return 0;
	at = place_in_batch(json_get(ask, "rid"), rid, &n);
	event_int(e, LEG_BATCH, n);
	v = json_get(ask, "bootstrap_room");
	if (json_type(v) == JSON_ARRAY)
		v = list_at(v, at);
	else if (n > 1)
		v = (struct json_value){0};
	if (json_id(v, tmp, &t))
		event_text(e, LEG_ROOM, t);
	if (json_bool(json_get(ask, "stream"), &b))
		event_flag(e, LEG_STREAM, b);
	if (json_string(json_get(ask, "model"), &t))
		event_text(e, LEG_MODEL, t);
	v = json_get(ask, "routed_dp_rank");
	if (!json_given(v))
		v = json_get(ask, "data_parallel_rank");
	if (json_int64(v, &rank) && rank >= 0 && rank < 65536) {
		struct text worker = {tmp + ID_TMP, 0};

		memcpy(tmp + ID_TMP, "/dp", 3);
		if (json_id(v, tmp + ID_TMP + 3, &t)) {
			memmove(tmp + ID_TMP + 3, t.ptr, t.len);
			worker.len = 3 + t.len;
			event_worker(e, worker);
		}
	}
	return 0;
}

static int emit(struct parse *p, struct json_value doc, const struct times *when, struct text rid, bool rejected)
{
	struct event *e = parse_begin(p, EVENT_LEG, when->at);
	int64_t length, limit;
	struct text message;
	int r;

	event_text(e, LEG_RID, rid);
	message = set_finish(e, json_get(doc, "finish_reason"));
	set_time(e, LEG_STARTED, when->received);
	set_time(e, LEG_SENT, when->sent);
	set_time(e, LEG_FINISHED, when->finished);
	if (rejected) {
		if (!rejection(message, &length, &limit))
			return 0;
		event_text(e, LEG_WHAT, TEXT("rejected"));
		event_int(e, LEG_INPUT, length);
		event_int(e, LEG_LIMIT, limit);
	} else {
		set_count(e, LEG_INPUT, json_get(doc, "prompt_tokens"));
		set_count(e, LEG_OUTPUT, json_get(doc, "completion_tokens"));
		set_count(e, LEG_CACHED, json_get(doc, "cached_tokens"));
		set_count(e, LEG_RETRACTIONS, json_get(doc, "total_retractions"));
	}
	if (e->known >> LEG_INPUT & 1)
		event_text(e, LEG_INPUT_FLAG, TEXT("exact"));
	r = set_asked(p, e, doc, rid);
	return r < 0 ? r : parse_emit(p);
}

static int record(struct parse *p, struct text record)
{
	struct text bare = text_trim(record), rid;
	struct json_value doc;
	struct times when;
	char tmp[ID_TMP];
	int64_t input;
	int r;

	if (bare.len == 0)
		return RECORD_CONTEXT;
	if (bare.ptr[0] != '{')
		return parse_refuse(p, "not_json");
	r = parse_json(p, record, p->padded, &doc);
	if (r)
		return r;
	if (!json_given(json_get(doc, "finish_reason")) && !json_given(json_get(doc, "prompt_tokens")))
		return parse_refuse(p, "no_counts");
	if (!json_id(json_get(doc, "id"), tmp, &rid) || rid.len == 0)
		return parse_refuse(p, "no_rid");
	if (!json_count(json_get(doc, "prompt_tokens"), &input))
		input = -1;
	if (is_engine_check(rid, (struct text){NULL, 0}, input))
		return RECORD_CONTEXT;
	when = read_times(p, doc);
	if (when.at.quality == STAMP_NONE)
		return parse_refuse(p, "no_time");
	r = emit(p, doc, &when, rid, false);
	/* a rejection names the true length, which prompt_tokens (1 after the abort) no longer does */
	if (r == 0)
		r = emit(p, doc, &when, rid, true);
	return r < 0 ? r : RECORD_PARSED;
}

static enum bid bid(struct parse *p, struct text record)
{
	struct json_value doc;

	record = text_trim(record);
	if (record.len == 0 || record.ptr[0] != '{')
		return BID_NO;
	if (text_find(record, "\"request_parameters\"", 0) == SIZE_MAX &&
	    text_find(record, "\"request_received_ts\"", 0) == SIZE_MAX)
		return BID_NO;
	if (json_parse(p->json, record, false, &doc, NULL, p->err) != 0)
		return BID_NO;
	if (!json_given(json_get(doc, "id")) || !json_given(json_get(doc, "prompt_tokens")))
		return BID_NO;
	return json_given(json_get(doc, "request_parameters")) || json_given(json_get(doc, "request_received_ts"))
		   ? BID_STRONG
		   : BID_NO;
}

static int open_state(struct parse *p)
{
	struct state *s = p->state;

	s->inner = json_new();
	return s->inner ? 0 : err_nomem(p->err);
}

static void close_state(struct parse *p)
{
	struct state *s = p->state;

	if (!s)
		return;
	json_free(s->inner);
	s->inner = NULL;
}

const struct parser parser_sglang_metrics = {
    .name = "sglang-metrics",
    .summary = "SGLang per-request metrics file (--export-metrics-to-file)",
    .checked = "SGLang sources of 2026 (request_metrics_exporter.py)",
    .emits = 1u << EVENT_LEG,
    .state_bytes = sizeof(struct state),
    .bid = bid,
    .record = record,
    .open = open_state,
    .close = close_state,
};
