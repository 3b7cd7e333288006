/* SPDX-License-Identifier: Apache-2.0 */
/* live_probes.c - format live-probes: requests that `probe` sent to a test endpoint, and what came back (docs/live.md)
 *
 * One line a probe. It is what the client saw of its own request: a gateway's event, with the ids that logs may have. The text
 * of the answer stands in the record, for the search for markers; none of it gets into an event.
 */
#include "pagetrail/parser.h"

static bool begins(struct text record)
{
	return text_starts(record, "{\"pagetrail\":\"probe\",");
}

static enum bid live_probes_bid(struct parse *p, struct text record)
{
	(void)p;
	return begins(record) ? BID_STRONG : BID_NO;
}

static bool take_time(struct json_value v, struct stamp *ret)
{
	struct text t;
	size_t used;
	return json_string(v, &t) && stamp_parse_iso(t, ret, &used) && used == t.len;
}

static void copy_text(struct event *e, unsigned column, struct json_value v)
{
	struct text t;
	if (json_string(v, &t))
		event_text(e, column, t);
}

static bool copy_count(struct event *e, unsigned column, struct json_value v)
{
	int64_t n;
	if (!json_int64(v, &n) || n < 0 || n > TOKENS_MAX)
		return false;
	event_int(e, column, n);
	return true;
}

/* We went away before the end: what was on its way then, nobody got. */
static bool left(struct text outcome)
{
	return text_is(outcome, "timed_out") || text_is(outcome, "too_long") || text_is(outcome, "stopped");
}

/* A prompt of token ids has the length that it was given, whatever the answer counts: a placeholder is what the defect counts. That
 * of words is an estimate, which gives way to a count that can be one of it. */
static void set_length(struct event *e, struct json_value doc)
{
	int64_t planned, counted;
	struct text flag;
	bool has_plan =
	    json_int64(json_get(doc, "tokens"), &planned) && json_string(json_get(doc, "tokens_flag"), &flag);
	bool is_counted =
	    json_int64(json_get(doc, "prompt_tokens"), &counted) &&
	    (!has_plan || (text_is(flag, "estimate") && counted >= planned / 2 && counted / 2 <= planned));
	if (is_counted && copy_count(e, GATEWAY_INPUT, json_get(doc, "prompt_tokens")))
		event_text(e, GATEWAY_INPUT_FLAG, TEXT("exact"));
	else if (has_plan && copy_count(e, GATEWAY_INPUT, json_get(doc, "tokens")))
		event_text(e, GATEWAY_INPUT_FLAG, text_is(flag, "exact") ? TEXT("exact") : TEXT("estimate"));
}

static int emit(struct parse *p, struct json_value doc, struct text result)
{
	struct stamp started = STAMP_INIT, ended = STAMP_INIT;
	struct text outcome = TEXT("");
	bool stream;
	(void)take_time(json_get(doc, "started_at"), &started);
	(void)take_time(json_get(doc, "ended_at"), &ended);
	(void)json_string(json_get(doc, "outcome"), &outcome);
	struct event *e = parse_begin(p, EVENT_GATEWAY, ended);
	event_text(e, GATEWAY_WHAT, TEXT("access"));
	copy_text(e, GATEWAY_ID, json_get(doc, "request_id"));
	copy_text(e, GATEWAY_RESPONSE_ID, json_get(doc, "response_id"));
	copy_text(e, GATEWAY_MODEL, json_get(doc, "model"));
	copy_count(e, GATEWAY_STATUS, json_get(doc, "status"));
	set_length(e, doc);
	/* of an answer without a word of a model what counts is that: an error's own words are no content */
	if (text_is(result, "refused") || text_is(result, "empty"))
		event_int(e, GATEWAY_OUTPUT, 0);
	else
		copy_count(e, GATEWAY_OUTPUT, json_get(doc, "completion_tokens"));
	copy_count(e, GATEWAY_BYTES_OUT, json_get(doc, text_is(result, "unknown") ? "bytes" : "text_bytes"));
	if (json_bool(json_get(doc, "stream"), &stream))
		event_flag(e, GATEWAY_STREAM, stream);
	if (started.ns != TIME_UNKNOWN)
		event_int(e, GATEWAY_STARTED, started.ns);
	if (ended.ns != TIME_UNKNOWN)
		event_int(e, GATEWAY_FINISHED, ended.ns);
	if (text_is(result, "refused"))
		event_text(e, GATEWAY_FINISH, TEXT("error"));
	else
		copy_text(e, GATEWAY_FINISH, json_get(doc, "finish_reason"));
	if (left(outcome))
		event_flag(e, GATEWAY_CLIENT_GONE, true);
	int rc = parse_emit(p);
	return rc < 0 ? rc : RECORD_PARSED;
}

static int live_probes_record(struct parse *p, struct text record)
{
	struct json_value doc;
	struct text result;
	if (!record.len)
		return RECORD_CONTEXT;
	if (!begins(record))
		return parse_refuse(p, "not_a_probe");
	int rc = parse_json(p, record, p->padded, &doc);
	if (rc)
		return rc;
	if (!json_string(json_get(doc, "result"), &result))
		return parse_refuse(p, "not_a_probe");
	return text_is(result, "not_sent") ? RECORD_CONTEXT : emit(p, doc, result);
}

const struct parser parser_live_probes = {
    .name = "live-probes",
    .summary = "requests that 'probe' sent to a test endpoint, and what came back",
    .checked = "this version (docs/live.md)",
    .emits = 1u << EVENT_GATEWAY,
    .bid = live_probes_bid,
    .record = live_probes_record,
};
