/* SPDX-License-Identifier: Apache-2.0 */
/* dynamo.c - NVIDIA Dynamo: the process log (text or JSON lines), request traces
 *
 * Workers log through Dynamo: what vLLM, SGLang or LMCache say inside its envelope is handed on, with Dynamo's time, which is
 * UTC. The engine's request is named by "Request ID" lines; what the runtime calls request_id around it is a name of its
 * own in older releases, the same in newer ones. It is taken for the engine's only while one request alone can be meant.
 * A trace is the frontend's record of a whole request. Recorded KV events are a format of their own (dynamo_kv_events.c).
 * Sources: ai-dynamo/dynamo lib/runtime/src/logging.rs (003174a), lib/llm/src/request_trace/types.rs (0366e63),
 * lib/llm/src/recorder.rs (03b4145), components of 0.4 to 1.0; a real log of 0.4.1.
 */
#include "pagetrail/parser.h"

#include "vllm_words.h"

enum { OPEN_MAX = 64 };

struct line {
	struct stamp ts;
	struct text level, target, message;
	bool json;
	struct json_value doc; /* valid with json */
};

struct open {                     /* a request that the runtime has begun */
	uint64_t runtime;         /* hash of its name there */
	char rid[NAME_MAX_BYTES]; /* the engine's name; none yet when n is 0 */
	size_t n;
	bool used, doubtful;
	const char *role;
};

struct dynamo {
	struct line line;
	bool begun;
	struct open open[OPEN_MAX];
	unsigned lost; /* begun beyond OPEN_MAX: then nobody can be told */
};

static int emit(struct parse *p)
{
	int r = parse_emit(p);

	return r < 0 ? r : RECORD_PARSED;
}

/* --- text lines: 2026-09-14T03:12:44.123456Z DEBUG target: message field="…" --- */

static bool read_text(struct text t, struct line *line, bool *ret_torn)
{
	static const char *const levels[] = {"INFO", "DEBUG", "WARN", "WARNING", "ERROR", "TRACE", "CRITICAL"};
	size_t used, n = 0;
	bool known = false;

	if (t.len < 30 || !is_digit(t.ptr[0]) || t.ptr[10] != 'T' || !stamp_parse_iso(t, &line->ts, &used) ||
	    line->ts.quality != STAMP_ZONED || used >= t.len || t.ptr[used] != ' ')
		return false;
	*ret_torn = true;
	t = skip_blanks(text_from(t, used));
	while (n < t.len && is_upper(t.ptr[n]))
		n++;
	line->level = text_sub(t, 0, n);
	for (size_t i = 0; !known && i < ARRAY_SIZE(levels); i++)
		known = text_is(line->level, levels[i]);
	t = skip_blanks(text_from(t, n));
	for (n = 0; n < t.len && n < 200 && (py_word(t.ptr[n]) || memchr(":.-<>", t.ptr[n], 5)); n++)
		if (t.ptr[n] == ':' && n + 1 < t.len && t.ptr[n + 1] == ' ')
			break;
	if (!known || n == 0 || n + 1 >= t.len || t.ptr[n] != ':')
		return false;
	line->target = text_sub(t, 0, n);
	line->message = text_trim(text_from(t, n + 1));
	return true;
}

/* Names that only Dynamo's processes have as targets: its crates, its Python bridge, its workers' handlers. */
static bool is_own_target(struct text target)
{
	static const char *const own[] = {"dynamo", "_core::", "_core", "handlers.", "nixl_connector", "lmcache"};

	return starts_any(target, own, ARRAY_SIZE(own));
}

/* --- legs --- */

static struct event *leg_begin(struct parse *p, const char *what, struct text rid, const char *role)
{
	struct dynamo *s = p->state;
	struct event *e = parse_begin(p, EVENT_LEG, s->line.ts);

	event_text(e, LEG_WHAT, text_of(what));
	event_text(e, LEG_RID, rid);
	if (role)
		event_text(e, LEG_ROLE, text_of(role));
	return e;
}

static struct open *open_find(struct dynamo *s, struct text name)
{
	uint64_t hash = text_hash(name);

	for (size_t i = 0; i < OPEN_MAX; i++)
		if (s->open[i].used && s->open[i].runtime == hash)
			return &s->open[i];
	return NULL;
}

static void open_begin(struct dynamo *s, struct text name)
{
	struct open *o = open_find(s, name);

	for (size_t i = 0; !o && i < OPEN_MAX; i++)
		if (!s->open[i].used)
			o = &s->open[i];
	if (!o) {
		s->lost++;
		return;
	}
	o->used = true;
	o->runtime = text_hash(name);
	o->n = 0;
	o->doubtful = false;
	o->role = NULL;
}

/* The engine's name of a request that has begun: whose, is known where one alone waits for a name. */
static void open_name(struct dynamo *s, struct text rid, const char *role)
{
	struct open *waits = open_find(s, rid);
	unsigned n = waits != NULL;

	for (size_t i = 0; !waits && i < OPEN_MAX; i++)
		n += s->open[i].used && s->open[i].n == 0;
	for (size_t i = 0; i < OPEN_MAX && n > 0; i++) {
		struct open *o = &s->open[i];

		if (!o->used || o->n > 0 || (waits && o != waits))
			continue;
		o->doubtful |= n > 1 || s->lost > 0 || rid.len > sizeof(o->rid);
		if (o->doubtful)
			continue;
		o->n = rid.len;
		o->role = role;
		memcpy(o->rid, rid.ptr, rid.len);
	}
}

/* New Request ID: X / New Prefill Request ID: X / Prefill Request ID: X / Decode Request ID: X */
static int take_request_id(struct parse *p, const struct match *m, struct text message)
{
	struct text rid = match_group(m, "id"), side = match_group(m, "side");
	const char *role = text_is(side, "Prefill") ? "prefill" : text_is(side, "Decode") ? "decode" : NULL;

	(void)message;
	open_name(p->state, rid, role);
	leg_begin(p, "received", rid, role);
	return emit(p);
}

static int take_aborted(struct parse *p, const struct match *m, struct text message)
{
	struct text side = match_group(m, "side");

	(void)message;
	leg_begin(p, "aborted", match_group(m, "id"), text_is(side, "Prefill") ? "prefill" : NULL);
	return emit(p);
}

/* In text the field stands behind the message, in JSON beside it. */
static struct text runtime_name(struct dynamo *s, struct text message)
{
	struct text name = py_field(message, "request_id");

	if (name.len == 0 && s->line.json)
		(void)json_string(json_get(s->line.doc, "request_id"), &name);
	return name;
}

static int take_begun(struct parse *p, const struct match *m, struct text message)
{
	struct text name = runtime_name(p->state, message);

	(void)m;
	if (name.len > 0)
		open_begin(p->state, name);
	return RECORD_CONTEXT;
}

static int take_ended(struct parse *p, const struct match *m, struct text message)
{
	struct dynamo *s = p->state;
	struct open *o = open_find(s, runtime_name(s, message));

	(void)m;
	if (!o) {
		s->lost -= s->lost > 0;
		return RECORD_CONTEXT;
	}
	o->used = false;
	if (o->n == 0)
		return RECORD_CONTEXT;
	leg_begin(p, "finished", (struct text){o->rid, o->n}, o->role);
	return emit(p);
}

/* --- the pages that a prefill worker offers: kv transfer params: {'remote_block_ids': [1, 2], …} --- */

/* The engine's own name of a request that is open: with the suffix that vLLM adds to the name it was given. */
static struct text offered_id(struct dynamo *s, struct text id)
{
	struct text base = text_sub(id, 0, has_suffix(id) ? id.len - 9 : 0);
	bool known = base.len > 0 && open_find(s, base);

	for (size_t i = 0; base.len > 0 && !known && i < OPEN_MAX; i++)
		known = s->open[i].used && text_eq(base, (struct text){s->open[i].rid, s->open[i].n});
	return outer_id(id, known);
}

/* Printed by the worker whose pages they are. Without remote_request_id it is the request of the one that is open. */
static int take_offer(struct parse *p, const struct match *m, struct text message)
{
	struct dynamo *s = p->state;
	struct text params = after(message, "kv transfer params: ");
	struct text rid = offered_id(s, py_unquote(py_get(params, "remote_request_id")));
	struct open *only = NULL;
	struct page_run *runs;
	unsigned open = 0;
	struct event *e;
	uint32_t n;

	(void)m;
	for (size_t i = 0; i < OPEN_MAX; i++)
		if (s->open[i].used && ++open)
			only = &s->open[i];
	if (rid.len == 0 && open == 1 && s->lost == 0)
		rid = (struct text){only->rid, only->n};
	if (!text_is(py_get(params, "do_remote_prefill"), "True") ||
	    !block_runs(p, py_get(params, "remote_block_ids"), &runs, &n))
		return RECORD_CONTEXT;
	e = parse_begin(p, EVENT_PAGE, s->line.ts);
	event_text(e, PAGE_OP, TEXT("send"));
	event_text(e, PAGE_POOL, TEXT("kv"));
	event_text(e, PAGE_RID, rid);
	event_runs(e, runs, n);
	return emit(p);
}

#define ID "(?<id>\\S{1,1000}?)"

/* Samples are our own, written from the grammar. */
static const struct line_pattern patterns[] = {
    {
	.name = "request_id",
	.regex = "^(?:New\\x20)?(?:(?<side>Prefill|Decode)\\x20)?Request\\x20ID:\\x20" ID "$",
	.sample = "New Prefill Request ID: 0d2c9fea0c4944c6ba66ac7f9356a139",
	.take = take_request_id,
    },
    {
	.name = "aborted",
	.starts = "Aborted ",
	.regex = "^Aborted\\x20(?:(?<side>Prefill)\\x20)?Request\\x20ID:\\x20" ID "$",
	.sample = "Aborted Request ID: 0d2c9fea0c4944c6ba66ac7f9356a139",
	.take = take_aborted,
    },
    {
	.name = "begun",
	.starts = "starting task to process python async generator stream",
	.sample = "starting task to process python async generator stream "
		  "request_id=\"3536cede-1ea7-4868-936b-8e6bc58748b1\"",
	.take = take_begun,
    },
    {
	.name = "ended",
	.starts = "finished processing python async generator stream",
	.sample =
	    "finished processing python async generator stream request_id=\"3536cede-1ea7-4868-936b-8e6bc58748b1\"",
	.take = take_ended,
    },
    {
	.name = "offer",
	.starts = "kv transfer params: {",
	.sample = "kv transfer params: {'do_remote_prefill': True, 'remote_block_ids': [1, 2], 'remote_port': 20420}",
	.take = take_offer,
    },
};

/* What the engines inside write: only such messages are worth asking every format for. */
static bool engine_says(struct text t)
{
	static const char *const openings[] = {
	    "NIXL",
	    "start_load_kv for ",
	    "Finished ",
	    "Remote agent ",
	    "GPU KV cache ",
	    "Maximum concurrency ",
	    "Initializing a",
	    "Engine 0",
	    "Potentially invalid ",
	    "Releasing expired ",
	    "Dumping scheduler ",
	    "Added request ",
	    "Aborted request(s) ",
	    "Reqid: ",
	    "vLLM ",
	    "Prefill batch",
	    "Decode batch",
	    "max_total_num_token",
	    "server_args=",
	    "KV Cache is alloc",
	    "Input length (",
	    "ReqTimeStats(",
	    "Req Time Stats(",
	    "Receive: obj=",
	    "Finish: obj=",
	    "Prefill transfer ",
	    "Decode transfer ",
	    "Prefill bootstrap ",
	    "The server is fired ",
	    "KV cache pool is full",
	};

	return starts_any(t, openings, ARRAY_SIZE(openings));
}

static int hand_on(struct parse *p, struct text part)
{
	struct dynamo *s = p->state;
	struct stamp outer = p->fallback;
	int r;

	p->fallback = s->line.ts;
	r = parse_delegate(p, part);
	p->fallback = outer;
	return r;
}

static int take_message(struct parse *p)
{
	struct dynamo *s = p->state;
	struct text t = s->line.message;
	int r = RECORD_UNPARSED;

	p->reason = NULL;
	s->begun = true;
	if (t.len > 0 && memchr("NPDRAsfk", t.ptr[0], 8))
		r = parse_patterns(p, t);
	if (r == RECORD_UNPARSED && !p->reason && engine_says(t))
		r = hand_on(p, t);
	return r == RECORD_UNPARSED && !p->reason ? RECORD_CONTEXT : r;
}

/* --- JSON --- */

static void time_column(struct event *e, unsigned column, struct json_value ms, int64_t add_ms)
{
	const int64_t most = INT64_MAX / 1000000 / 2;
	int64_t v;

	if (json_count(ms, &v) && v > 0 && v < most && add_ms >= 0 && add_ms < most)
		event_int(e, column, (v + add_ms) * 1000000);
}

static bool milliseconds(struct json_value v, int64_t *ret)
{
	double d;

	if (!json_double(v, &d) || d < 0 || d > 30.0 * 86400 * 1000)
		return false;
	*ret = (int64_t)d;
	return true;
}

static void count_column(struct event *e, unsigned column, struct json_value v)
{
	int64_t n;

	if (json_count(v, &n) && n >= 0 && n <= TOKENS_MAX)
		event_int(e, column, n);
}

static void text_column(struct event *e, unsigned column, struct json_value v)
{
	struct text t;

	if (json_string(v, &t))
		event_text(e, column, t);
}

/* {"schema":"dynamo.request.trace.v1","event_type":"request_end","event_time_unix_ms":…,"request":{…}} */
static int trace_record(struct parse *p, struct json_value doc)
{
	struct json_value q = json_get(doc, "request"), x = json_get(q, "x_request_id");
	char worker[32];
	struct text type, upstream, id;
	struct stamp ts = STAMP_INIT;
	int64_t ms, took;
	struct event *e;

	if (!json_string(json_get(doc, "event_type"), &type) || !text_is(type, "request_end"))
		return RECORD_CONTEXT;
	if (!json_is_object(q) || !json_string(json_get(q, "request_id"), &id))
		return parse_refuse(p, "shape");
	if (json_count(json_get(doc, "event_time_unix_ms"), &ms) && ms > 0 && ms < INT64_MAX / 1000000)
		ts = (struct stamp){ms * 1000000, STAMP_ZONED, 1000000};
	e = parse_begin(p, EVENT_GATEWAY, ts);
	event_text(e, GATEWAY_WHAT, TEXT("finished"));
	text_column(e, GATEWAY_ID, json_given(x) ? x : json_get(q, "request_id"));
	event_text(e, GATEWAY_RESPONSE_ID, id);
	text_column(e, GATEWAY_MODEL, json_get(q, "model"));
	count_column(e, GATEWAY_INPUT, json_get(q, "input_tokens"));
	if (!(e->known >> GATEWAY_INPUT & 1)) /* without session headers the length is among what a replay needs */
		count_column(e, GATEWAY_INPUT, json_path(q, "replay.input_length"));
	if (e->known >> GATEWAY_INPUT & 1)
		event_text(e, GATEWAY_INPUT_FLAG, TEXT("exact"));
	count_column(e, GATEWAY_OUTPUT, json_get(q, "output_tokens"));
	time_column(e, GATEWAY_STARTED, json_get(q, "request_received_ms"), 0);
	if (milliseconds(json_get(q, "total_time_ms"), &took))
		time_column(e, GATEWAY_FINISHED, json_get(q, "request_received_ms"), took);
	if (json_id(json_path(q, "worker.decode_worker_id"), worker, &upstream))
		event_text(e, GATEWAY_UPSTREAM, upstream);
	text_column(e, GATEWAY_FINISH, json_path(q, "finish_reason_metadata.finish_reason"));
	return emit(p);
}

/* A span that ended: http-request is the frontend's, handle_payload a worker's; their time is that of the end. */
static int span_closed(struct parse *p, struct json_value doc)
{
	struct dynamo *s = p->state;
	struct json_value x = json_get(doc, "x_request_id"), id = json_given(x) ? x : json_get(doc, "request_id");
	struct text name = {NULL, 0}, method = {NULL, 0}, component = {NULL, 0}, route;
	int64_t us = 0;
	bool timed = json_count(json_get(doc, "time.duration_us"), &us) && us >= 0 &&
		     us < INT64_C(30) * 86400 * 1000000 && s->line.ts.quality == STAMP_ZONED;
	struct event *e;

	(void)json_string(json_get(doc, "span_name"), &name);
	(void)json_string(json_get(doc, "method"), &method);
	(void)json_string(json_get(doc, "component"), &component);
	if (text_is(name, "http-request") && text_is(method, "POST")) {
		if (!json_given(id) && !json_given(json_get(doc, "trace_id")))
			return RECORD_CONTEXT;
		e = parse_begin(p, EVENT_GATEWAY, s->line.ts);
		event_text(e, GATEWAY_WHAT, TEXT("finished"));
		text_column(e, GATEWAY_ID, id);
		text_column(e, GATEWAY_RESPONSE_ID, json_get(doc, "request_id"));
		text_column(e, GATEWAY_TRACE_ID, json_get(doc, "trace_id"));
		if (json_string(json_get(doc, "uri"), &route))
			event_text(e, GATEWAY_ROUTE, text_sub(route, 0, text_find_char(route, '?', 0)));
		if (timed) {
			event_int(e, GATEWAY_STARTED, s->line.ts.ns - us * 1000);
			event_int(e, GATEWAY_FINISHED, s->line.ts.ns);
		}
		return emit(p);
	}
	if (!text_is(name, "handle_payload") || !json_given(json_get(doc, "request_id")))
		return RECORD_CONTEXT;
	e = leg_begin(p, "span", (struct text){NULL, 0}, text_is(component, "prefill") ? "prefill" : NULL);
	text_column(e, LEG_RID, json_get(doc, "request_id"));
	if (timed) {
		event_int(e, LEG_STARTED, s->line.ts.ns - us * 1000);
		event_int(e, LEG_FINISHED, s->line.ts.ns);
	}
	return emit(p);
}

enum shape_of { JSON_FOREIGN, JSON_TRACE, JSON_LOG };

static enum shape_of json_shape(struct json_value doc, struct text *ret_target)
{
	struct text schema, t, message;

	if (json_string(json_get(doc, "schema"), &schema))
		return text_starts(schema, "dynamo.request.trace.v") ? JSON_TRACE : JSON_FOREIGN;
	if (json_string(json_get(doc, "target"), ret_target) && json_string(json_get(doc, "time"), &t) &&
	    json_string(json_get(doc, "message"), &message) && json_string(json_get(doc, "level"), &t))
		return JSON_LOG;
	return JSON_FOREIGN;
}

static int json_record(struct parse *p, struct text record, bool padded)
{
	struct dynamo *s = p->state;
	struct json_value doc;
	struct text target, t;
	size_t used;
	int r = parse_json(p, record, padded, &doc);

	if (r)
		return r;
	switch (json_shape(doc, &target)) {
	case JSON_TRACE: return trace_record(p, doc);
	case JSON_FOREIGN:
		r = parse_delegate(p, record);
		return r == RECORD_UNPARSED ? parse_refuse(p, "foreign_json") : r;
	case JSON_LOG: break;
	}
	s->line = (struct line){.ts = STAMP_INIT, .target = target, .json = true, .doc = doc};
	if (json_string(json_get(doc, "time"), &t) && !stamp_parse_iso(t, &s->line.ts, &used))
		s->line.ts = STAMP_INIT;
	(void)json_string(json_get(doc, "message"), &s->line.message);
	if (text_is(s->line.message, "SPAN_CLOSED"))
		return span_closed(p, doc);
	/* the first line of a message is the message; ids stand beside it as fields */
	s->line.message = text_trim(text_sub(s->line.message, 0, text_find_char(s->line.message, '\n', 0)));
	return take_message(p);
}

/* --- records --- */

static int dynamo_record(struct parse *p, struct text record)
{
	struct dynamo *s = p->state;
	struct text t = unpaint(&p->scratch, record);
	bool torn = false;
	int r;

	p->reason = NULL;
	s->line = (struct line){.ts = STAMP_INIT};
	if (t.len > 0 && t.ptr[0] == '{')
		return json_record(p, t, p->padded && t.ptr == record.ptr);
	if (read_text(t, &s->line, &torn))
		return take_message(p);
	if (torn)
		return parse_refuse(p, "torn");
	if (text_trim(t).len == 0)
		return RECORD_CONTEXT;
	if (s->begun && (t.ptr[0] == ' ' || t.ptr[0] == '\t'))
		return RECORD_CONTINUES;
	r = parse_delegate(p, record);
	if (r != RECORD_UNPARSED || p->reason)
		return r;
	if (is_progress(t))
		return RECORD_CONTEXT;
	/* a traceback, or the rest of a message of several lines */
	return s->begun ? RECORD_CONTINUES : parse_refuse(p, "no_head");
}

static enum bid dynamo_bid(struct parse *p, struct text record)
{
	struct line line = {.ts = STAMP_INIT};
	struct text t = unpaint(&p->scratch, record), target = {NULL, 0};
	struct json_value doc;
	bool torn;

	if (t.len == 0)
		return BID_NO;
	if (t.ptr[0] != '{')
		return is_digit(t.ptr[0]) && read_text(t, &line, &torn) && is_own_target(line.target) ? BID_STRONG
												      : BID_NO;
	if (!holds(text_sub(t, 0, 4096), "\"target\"") && !holds(text_sub(t, 0, 512), "dynamo.request.trace.v"))
		return BID_NO;
	if (json_parse(p->json, t, false, &doc, NULL, p->err) != 0)
		return BID_NO;
	switch (json_shape(doc, &target)) {
	case JSON_TRACE: return BID_STRONG;
	case JSON_LOG: return is_own_target(target) ? BID_STRONG : BID_WEAK;
	case JSON_FOREIGN: break;
	}
	return BID_NO;
}

const struct parser parser_dynamo = {
    .name = "dynamo",
    .summary = "NVIDIA Dynamo: process logs (text or JSON lines) with the engine's inside, request traces",
    .checked = "0.4.1 output, source of 2025 and 2026, request trace v1",
    .shape = SHAPE_LINES,
    .emits = 1u << EVENT_LEG | 1u << EVENT_GATEWAY | 1u << EVENT_PAGE,
    .state_bytes = sizeof(struct dynamo),
    .patterns = patterns,
    .n_patterns = ARRAY_SIZE(patterns),
    .bid = dynamo_bid,
    .record = dynamo_record,
};
