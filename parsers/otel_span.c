/* SPDX-License-Identifier: Apache-2.0 */
/* otel_span.c - format otel-span: one span of OpenTelemetry as JSON (wrapper otlp takes them out of a line)
 *
 *   {"traceId":"…","spanId":"…","name":"llm_request","kind":2,"startTimeUnixNano":"…","endTimeUnixNano":"…",
 *    "attributes":[{"key":"gen_ai.request.id","value":{"stringValue":"chatcmpl-…"}},…],"status":{"code":1}}
 * opentelemetry-proto ac2c4b5 (trace.proto, docs/specification.md: ids are hex in either case, integers of 64 bits are strings,
 * numbers are accepted). Which attributes are read: otel_span_keys.h.
 *
 * What a span becomes:
 *   an engine's request (gen_ai.request.id of vLLM and SGLang; rid of SGLang's "<role> Req <rid>")   leg
 *   SGLang's span of a thread that ended in an abort                      leg without a rid; its request's span says it again, with one
 *   a server's HTTP span, the gateway's http_request                      gateway, access
 *   a client's HTTP span that failed                                      gateway, retry: an attempt
 *   a call of a model (gen_ai.*, openinference) as its caller saw it      gateway, call; where a server's span is it: access
 * All others are context: the slices of an engine's work, agents and tools, whose usage is a sum of calls that have spans themselves.
 * A span is exported when it has ended, so that the spans inside of it come first.
 */
#include <string.h>

#include "gateway_access.h"
#include "otel_span_keys.h"
#include "pagetrail/engine_check.h"
#include "pagetrail/json_scan.h"
#include "pagetrail/parser.h"
#include "sglang_finish.h"

enum { ABORTS = 64, ABORT_MESSAGE_BYTES = 200, HEX_TRACE = 32, HEX_SPAN = 16, REASON_MAX_BYTES = 32 };

enum { KIND_SERVER = 2, KIND_CLIENT = 3, STATUS_ERROR = 2 };

/* What a thread said of the request that it worked for, until that request's span comes. */
struct abort_note {
	char of[HEX_TRACE + HEX_SPAN]; /* trace and parent */
	int64_t status;                /* 0: unknown */
	uint8_t len;
	char message[ABORT_MESSAGE_BYTES];
	bool used;
};

struct state {
	uint8_t start[KEY_MAX_BYTES + 2], order[ARRAY_SIZE(attributes)];
	struct abort_note aborts[ABORTS];
	unsigned next_abort;
};

struct span {
	struct parse *p;
	struct text trace, id, parent, name; /* trace, id and parent: lower-case hex, or empty */
	int kind;
	bool error;
	struct stamp start, end;
	struct text v[ROLES]; /* raw values */
	uint8_t rank[ROLES];
	const struct attribute *teller[ROLES]; /* whose value told[] is */
	struct text told[ROLES];
	bool twice; /* it says two things of one name */
};

/* --- reading --- */

static const struct attribute *find_key(const struct state *s, struct text key)
{
	if (key.len > KEY_MAX_BYTES)
		return NULL;
	for (unsigned i = s->start[key.len]; i < s->start[key.len + 1]; i++)
		if (memcmp(attributes[s->order[i]].key, key.ptr, key.len) == 0)
			return &attributes[s->order[i]];
	return NULL;
}

/* The scalar in {"stringValue":…}, or the first one of a list; false when the JSON breaks. *ret has no ptr where there is none. */
static bool read_value(struct text raw, struct text *ret)
{
	struct json_scan s = scan_of(raw);
	struct text key, v;
	int r;

	*ret = (struct text){NULL, 0};
	if (!scan_open(&s, '{'))
		return true;
	if ((r = scan_member(&s, &key)) != 1)
		return r == 0;
	if (text_is(key, "arrayValue") || text_is(key, "array_value")) {
		if (!scan_open(&s, '{') || scan_member(&s, &key) != 1 || !text_is(key, "values") ||
		    !scan_open(&s, '[') || scan_element(&s) != 1 || !scan_value(&s, &v) || v.ptr[0] != '{')
			return true;
		s = scan_of(v);
		if (!scan_open(&s, '{') || scan_member(&s, &key) != 1)
			return true;
	}
	if (scan_value(&s, &v) && v.ptr[0] != '{' && v.ptr[0] != '[')
		*ret = v;
	return true;
}

static bool read_attribute(struct span *x, struct json_scan *s)
{
	struct text key, v, name = {NULL, 0}, raw = {NULL, 0};
	const struct attribute *a;
	int r;

	if (!scan_open(s, '{'))
		return false;
	while ((r = scan_member(s, &key)) == 1) {
		if (!scan_value(s, &v))
			return false;
		if (text_is(key, "key") && v.len > 1 && v.ptr[0] == '"')
			name = text_sub(v, 1, v.len - 2);
		else if (text_is(key, "value"))
			raw = v;
	}
	a = r == 0 && raw.len ? find_key(x->p->state, name) : NULL;
	if (a) { /* one attribute, and two things that it says */
		x->twice |= x->told[a->role].ptr && x->teller[a->role] == a && !text_eq(x->told[a->role], raw);
		x->told[a->role] = raw;
		x->teller[a->role] = a;
	}
	if (!a || (x->v[a->role].ptr && x->rank[a->role] <= a->rank))
		return r == 0;
	if (!read_value(raw, &v))
		return false;
	if (v.ptr && v.len && !text_is(v, "\"\"") && !text_is(v, "\"-\"") && !text_is(v, "null")) {
		x->v[a->role] = v;
		x->rank[a->role] = a->rank;
	}
	return true;
}

static bool read_attributes(struct span *x, struct json_scan *s)
{
	struct text v;
	int r;

	if (scan_peek(s) != '[')
		return scan_value(s, &v);
	scan_open(s, '[');
	while ((r = scan_element(s)) == 1)
		if (!read_attribute(x, s))
			return false;
	return r == 0;
}

static bool read_status(struct span *x, struct json_scan *s)
{
	struct text key, v;
	int r;

	if (scan_peek(s) != '{')
		return scan_value(s, &v);
	scan_open(s, '{');
	while ((r = scan_member(s, &key)) == 1) {
		if (!scan_value(s, &v))
			return false;
		if (text_is(key, "code"))
			x->error = text_is(v, "2") || text_is(v, "\"STATUS_CODE_ERROR\"");
	}
	return r == 0;
}

/* An id in lower-case hex; anything else, and one of zeros alone, is none. */
static struct text read_id(struct span *x, struct text raw, size_t digits)
{
	char *out = raw.len == digits + 2 && raw.ptr[0] == '"' ? arena_alloc(&x->p->scratch, digits) : NULL;
	bool any = false;

	for (size_t i = 0; out && i < digits; i++) {
		char c = raw.ptr[i + 1];

		if (c >= 'A' && c <= 'F')
			c |= 32;
		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
			return (struct text){0};
		any |= c != '0';
		out[i] = c;
	}
	return any ? (struct text){out, digits} : (struct text){0};
}

static struct stamp read_time(struct text raw)
{
	struct stamp s;

	if (raw.len > 2 && raw.ptr[0] == '"')
		raw = text_sub(raw, 1, raw.len - 2);
	return stamp_parse_epoch(raw, &s) && s.quality == STAMP_ZONED ? s : STAMP_INIT;
}

static int read_kind(struct text raw)
{
	return text_is(raw, "2") || text_is(raw, "\"SPAN_KIND_SERVER\"")   ? KIND_SERVER
	       : text_is(raw, "3") || text_is(raw, "\"SPAN_KIND_CLIENT\"") ? KIND_CLIENT
									   : 0;
}

static void read_member(struct span *x, struct text key, struct text v)
{
	if (text_is(key, "traceId") || text_is(key, "trace_id"))
		x->trace = read_id(x, v, HEX_TRACE);
	else if (text_is(key, "spanId") || text_is(key, "span_id"))
		x->id = read_id(x, v, HEX_SPAN);
	else if (text_is(key, "parentSpanId") || text_is(key, "parent_span_id"))
		x->parent = read_id(x, v, HEX_SPAN);
	else if (text_is(key, "name"))
		(void)scan_scalar(v, &x->p->scratch, &x->name);
	else if (text_is(key, "kind"))
		x->kind = read_kind(v);
	else if (text_is(key, "startTimeUnixNano") || text_is(key, "start_time_unix_nano"))
		x->start = read_time(v);
	else if (text_is(key, "endTimeUnixNano") || text_is(key, "end_time_unix_nano"))
		x->end = read_time(v);
}

static bool read_span(struct span *x, struct text record)
{
	struct json_scan s = scan_of(record);
	struct text key, v;
	int r;

	x->twice = scan_contradicts(record);
	if (x->twice || !scan_open(&s, '{'))
		return false;
	while ((r = scan_member(&s, &key)) == 1) {
		if (text_is(key, "attributes") ? !read_attributes(x, &s)
		    : text_is(key, "status")   ? !read_status(x, &s)
					       : !scan_value(&s, &v))
			return false;
		if (!text_is(key, "attributes") && !text_is(key, "status"))
			read_member(x, key, v);
	}
	return r == 0 && scan_over(&s);
}

/* --- values --- */

static bool has(const struct span *x, enum role r)
{
	return x->v[r].ptr != NULL;
}

static struct text text_at(const struct span *x, enum role r)
{
	struct text t = {0};

	return has(x, r) && scan_scalar(x->v[r], &x->p->scratch, &t) ? t : (struct text){0};
}

static bool count_at(const struct span *x, enum role r, int64_t *ret)
{
	struct text t = text_at(x, r);

	return t.len && text_int64(t, ret) && *ret >= 0 && *ret <= TOKENS_MAX;
}

static void set_count(struct event *e, unsigned column, const struct span *x, enum role r)
{
	int64_t n;

	if (count_at(x, r, &n))
		event_int(e, column, n);
}

static void set_flag(struct event *e, unsigned column, struct text v)
{
	if (text_is(v, "true") || text_is(v, "false"))
		event_flag(e, column, text_is(v, "true"));
}

static void set_time(struct event *e, unsigned column, struct stamp s)
{
	if (s.quality == STAMP_ZONED)
		event_int(e, column, s.ns);
}

/* No prompt is empty: a zero is a count that nobody made. */
static bool input_at(const struct span *x, int64_t *ret)
{
	return count_at(x, INPUT, ret) && *ret > 0;
}

/* --- engines --- */

static bool note_is(const struct abort_note *n, struct text trace, struct text span)
{
	return n->used && memcmp(n->of, trace.ptr, HEX_TRACE) == 0 &&
	       memcmp(n->of + HEX_TRACE, span.ptr, HEX_SPAN) == 0;
}

static void note_abort(struct span *x, struct text message, int64_t status)
{
	struct state *s = x->p->state;
	struct abort_note *n = &s->aborts[s->next_abort];

	if (!x->trace.len || !x->parent.len)
		return;
	s->next_abort = (s->next_abort + 1) % ABORTS;
	*n = (struct abort_note){.status = status, .used = true, .len = (uint8_t)MIN(message.len, ABORT_MESSAGE_BYTES)};
	memcpy(n->of, x->trace.ptr, HEX_TRACE);
	memcpy(n->of + HEX_TRACE, x->parent.ptr, HEX_SPAN);
	if (n->len)
		memcpy(n->message, message.ptr, n->len);
}

static struct abort_note *find_abort(const struct span *x)
{
	struct state *s = x->p->state;

	for (size_t i = 0; x->trace.len && x->id.len && i < ABORTS; i++)
		if (note_is(&s->aborts[i], x->trace, x->id))
			return &s->aborts[i];
	return NULL;
}

/* Ranks of one process say it in turn; one of them is enough for the request. */
static int take_abort(struct span *x)
{
	struct event *e = parse_begin(x->p, EVENT_LEG, x->end);
	struct text message = text_at(x, MESSAGE);
	int64_t status = 0;

	event_text(e, LEG_WHAT, TEXT("aborted"));
	event_text(e, LEG_FINISH, TEXT("abort"));
	event_text(e, LEG_MESSAGE, message);
	event_text(e, LEG_TRACE, x->trace);
	if (count_at(x, STATUS, &status) && status >= 100 && status <= 599)
		event_int(e, LEG_STATUS, status);
	note_abort(x, message, status);
	return parse_emit(x->p);
}

/* "prefill Req 31c9…", "Req 31c9…": SGLang's name of a request's span. */
static bool is_request_name(struct text name, struct text *ret_role)
{
	size_t at = text_find(name, "Req ", 0);

	*ret_role = at != SIZE_MAX && at > 0 ? text_trim(text_sub(name, 0, at)) : (struct text){0};
	return at == 0 || text_is(*ret_role, "prefill") || text_is(*ret_role, "decode");
}

static struct event *begin_leg(struct span *x, struct text rid, struct text role)
{
	struct event *e = parse_begin(x->p, EVENT_LEG, x->end.quality ? x->end : x->start);

	event_text(e, LEG_RID, rid);
	event_text(e, LEG_ROOM, room_of(x->p, text_at(x, ROOM)));
	event_text(e, LEG_ROLE, role);
	event_text(e, LEG_TRACE, x->trace);
	set_time(e, LEG_STARTED, x->start);
	set_time(e, LEG_FINISHED, x->end);
	return e;
}

static void set_abort(struct event *e, const struct abort_note *n)
{
	event_text(e, LEG_FINISH, TEXT("abort"));
	event_text(e, LEG_MESSAGE, (struct text){n->message, n->len});
	if (n->status >= 100 && n->status <= 599)
		event_int(e, LEG_STATUS, n->status);
}

static int take_leg(struct span *x, struct text rid, struct text role)
{
	struct abort_note *note = find_abort(x);
	struct event *e = begin_leg(x, rid, role);
	int64_t n, limit;
	int r;

	event_text(e, LEG_WHAT, TEXT("finished"));
	if (input_at(x, &n)) {
		event_int(e, LEG_INPUT, n);
		event_text(e, LEG_INPUT_FLAG, TEXT("exact"));
	}
	set_count(e, LEG_OUTPUT, x, OUTPUT);
	set_count(e, LEG_CACHED, x, CACHED);
	event_text(e, LEG_MODEL, text_at(x, MODEL));
	set_flag(e, LEG_STREAM, x->v[STREAM]);
	if (count_at(x, CHOICES, &n) && n > 0 && n <= 100000)
		event_int(e, LEG_BATCH, n);
	if (note)
		set_abort(e, note);
	else
		event_text(e, LEG_FINISH,
			   has(x, FINISH) ? text_at(x, FINISH)
			   : x->error     ? TEXT("error")
					  : (struct text){0});
	r = parse_emit(x->p);
	if (r < 0 || !note)
		return r;
	note->used = false;
	if (!rejection((struct text){note->message, note->len}, &n, &limit))
		return 0;
	e = begin_leg(x, rid, role);
	event_text(e, LEG_WHAT, TEXT("rejected"));
	event_int(e, LEG_INPUT, n);
	event_text(e, LEG_INPUT_FLAG, TEXT("exact"));
	event_int(e, LEG_LIMIT, limit);
	set_abort(e, note);
	return parse_emit(x->p);
}

/* --- gateways --- */

static struct text upstream_of(struct span *x)
{
	struct text host = text_at(x, UPSTREAM), port = text_at(x, PORT);
	char *out;

	host = address_of(host);
	if (!host.len || !port.len || x->rank[UPSTREAM] == 0 || host.len + port.len >= NAME_MAX_BYTES)
		return host;
	out = arena_alloc(&x->p->scratch, host.len + port.len + 1);
	if (!out)
		return (struct text){0};
	memcpy(out, host.ptr, host.len);
	out[host.len] = ':';
	memcpy(out + host.len + 1, port.ptr, port.len);
	return (struct text){out, host.len + port.len + 1};
}

static bool is_gone(struct span *x)
{
	struct text flags = text_at(x, FLAGS), one;
	int64_t status;

	while (text_split(&flags, ',', &one))
		if (flag_gone(text_trim(one)))
			return true;
	return count_at(x, STATUS, &status) && (status == 0 || status == 499);
}

static int take_gateway(struct span *x, struct text what)
{
	struct event *e = parse_begin(x->p, EVENT_GATEWAY, x->end.quality ? x->end : x->start);
	int64_t n;

	event_text(e, GATEWAY_WHAT, what);
	event_text(e, GATEWAY_ID, text_at(x, GATEWAY));
	event_text(e, GATEWAY_RESPONSE_ID, text_at(x, RESPONSE));
	event_text(e, GATEWAY_TRACE_ID, x->trace);
	event_text(e, GATEWAY_ROOM, room_of(x->p, text_at(x, ROOM)));
	event_text(e, GATEWAY_TENANT, text_at(x, TENANT));
	event_text(e, GATEWAY_MODEL, text_at(x, MODEL));
	if (count_at(x, STATUS, &n) && n >= 100 && n <= 599)
		event_int(e, GATEWAY_STATUS, n);
	if (input_at(x, &n)) {
		event_int(e, GATEWAY_INPUT, n);
		event_text(e, GATEWAY_INPUT_FLAG, TEXT("exact"));
	}
	set_count(e, GATEWAY_OUTPUT, x, OUTPUT);
	set_count(e, GATEWAY_BYTES_IN, x, BYTES_IN);
	set_count(e, GATEWAY_BYTES_OUT, x, BYTES_OUT);
	set_flag(e, GATEWAY_STREAM, x->v[STREAM]);
	set_time(e, GATEWAY_STARTED, x->start);
	set_time(e, GATEWAY_FINISHED, x->end);
	if (x->kind != KIND_SERVER)
		event_text(e, GATEWAY_UPSTREAM, upstream_of(x));
	event_text(e, GATEWAY_FINISH,
		   has(x, FINISH) ? text_at(x, FINISH)
		   : x->error     ? TEXT("error")
				  : (struct text){0});
	if (is_gone(x))
		event_flag(e, GATEWAY_CLIENT_GONE, true);
	if (count_at(x, CHOICES, &n) && n > 0 && n <= 100000)
		event_int(e, GATEWAY_BATCH, n);
	event_text(e, GATEWAY_ROUTE, path_of(text_at(x, ROUTE)));
	return parse_emit(x->p);
}

/* One call of a model, and no sum of several. (gen-ai/gen-ai-spans.md, gen_ai.operation.name; OpenInference span kinds) */
static bool is_call(const struct span *x)
{
	static const char *const operations[] = {"chat", "text_completion", "generate_content", "embeddings"};

	if (has(x, OPERATION))
		return one_of(text_at(x, OPERATION), operations, ARRAY_SIZE(operations));
	if (has(x, INFERENCE))
		return text_is(text_at(x, INFERENCE), "LLM");
	return has(x, RESPONSE) || (has(x, PROVIDER) && (has(x, INPUT) || has(x, OUTPUT)));
}

static int take_http(struct span *x)
{
	struct text method = text_at(x, METHOD), route = path_of(text_at(x, ROUTE));
	int64_t status = -1;

	if (is_aside(method, route))
		return 1;
	(void)count_at(x, STATUS, &status);
	if (x->kind == KIND_SERVER || (x->kind != KIND_CLIENT && has(x, GATEWAY)))
		return take_gateway(x, TEXT("access"));
	/* what a client's span that went well says, the server's span around it says, too */
	if (x->kind == KIND_CLIENT && (status >= 400 || (status < 0 && x->error)) && !text_is(method, "GET"))
		return take_gateway(x, TEXT("retry"));
	return 1;
}

/* 0 an event was given, 1 context, or ERR_*. */
static int take(struct span *x)
{
	struct text role = {0}, id = text_at(x, ENGINE_ID), rid = text_at(x, RID);
	bool named = is_request_name(x->name, &role);
	int64_t input;

	if (!id.len && rid.len && (named || text_starts(text_at(x, MODULE), "sglang::request")))
		id = rid;
	if (id.len && is_engine_check(id, room_of(x->p, text_at(x, ROOM)), input_at(x, &input) ? input : -1))
		return 1;
	if (id.len)
		return take_leg(x, rid.len ? rid : id, role);
	if (x->error && text_is(text_at(x, TYPE), "abort"))
		return take_abort(x);
	if (is_call(x))
		return take_gateway(x, x->kind == KIND_SERVER ? TEXT("access") : TEXT("call"));
	return has(x, STATUS) || has(x, METHOD) ? take_http(x) : 1;
}

static int record(struct parse *p, struct text record)
{
	struct span x = {.p = p, .start = STAMP_INIT, .end = STAMP_INIT};
	struct text bare = text_trim(record);
	int r;

	if (!bare.len)
		return RECORD_CONTEXT;
	if (bare.ptr[0] != '{')
		return parse_refuse(p, "not_json");
	if (!read_span(&x, bare))
		return parse_refuse(p, x.twice                         ? "member_twice"
				       : bare.ptr[bare.len - 1] == '}' ? "json_syntax"
								       : "torn");
	if (x.twice)
		return parse_refuse(p, "member_twice");
	if (!x.start.quality && !x.end.quality)
		return parse_refuse(p, "no_time");
	r = take(&x);
	return r < 0 ? r : r ? RECORD_CONTEXT : RECORD_PARSED;
}

/* The members that each span has, among its first ones. */
static enum bid bid(struct parse *p, struct text record)
{
	struct text bare = text_trim(record), key, v;
	struct json_scan s = scan_of(bare);
	bool trace = false, span = false;

	(void)p;
	if (!bare.len || !scan_open(&s, '{'))
		return BID_NO;
	while (scan_member(&s, &key) == 1 && scan_value(&s, &v)) {
		trace |= text_is(key, "traceId") || text_is(key, "trace_id");
		span |= text_is(key, "spanId") || text_is(key, "span_id");
		if (trace && span && (text_is(key, "startTimeUnixNano") || text_is(key, "start_time_unix_nano")))
			return BID_STRONG;
	}
	return BID_NO;
}

static int open_state(struct parse *p)
{
	struct state *s = p->state;
	uint8_t at[KEY_MAX_BYTES + 2];

	_Static_assert(ARRAY_SIZE(attributes) < 256, "one byte each");
	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++)
		s->start[strlen(attributes[i].key) + 1]++;
	for (size_t n = 1; n < ARRAY_SIZE(s->start); n++)
		s->start[n] = (uint8_t)(s->start[n] + s->start[n - 1]);
	memcpy(at, s->start, sizeof(at));
	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++)
		s->order[at[strlen(attributes[i].key)]++] = (uint8_t)i;
	return 0;
}

const struct parser parser_otel_span = {
    .name = "otel-span",
    .summary = "OpenTelemetry spans of gateways and engines (gen_ai, http, vLLM, SGLang), inside of otlp",
    .checked =
	"opentelemetry-proto 1.9; semantic conventions of 2026 and the names before them; vLLM 017e9f4448, Envoy "
	"43fa7c73e (sources); SGLang tracing of 2026; OpenInference (documents)",
    .emits = 1u << EVENT_LEG | 1u << EVENT_GATEWAY,
    .state_bytes = sizeof(struct state),
    .bid = bid,
    .record = record,
    .open = open_state,
};
