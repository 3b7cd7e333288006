/* SPDX-License-Identifier: Apache-2.0 */
/* sglang_router.c - format sglang-router: log of the SGLang model gateway (SMG), sglang-router and vLLM's fork of it
 *
 * Lines of Rust's tracing, as text (with or without colours) or as JSON. The clock is UTC by the writer's source
 * although no zone is printed; it is whole seconds. The request id is chosen by the client and may hold anything,
 * quotes and braces included: it is printed with Rust's escapes, so a quoted value ends at its first unescaped quote
 * and never earlier. At DEBUG whole bodies are dumped over many lines: those belong to the record before. `latency` is
 * microseconds until the response's head: for a stream that is not the end of the answer, so it gives the start of the
 * request and no end.
 */
#include <string.h>

#include "gateway_access.h"
#include "pagetrail/parser.h"
#include "sglang_finish.h"

enum { ID_TMP = 32, LINE_MAX_SPANS = 16 };

struct line {
	struct stamp ts;
	struct text level, target, message;
	struct text id, uri, module, status, latency;      /* of the request's span */
	struct text prefill_url, decode_url, error, reply; /* of the event; reply: "400 Bad Request" */
	struct text body;
	bool twice; /* two members of one name say different things */
};

struct state {
	struct line line;
	struct json *inner; /* for a body, while p->json holds the record */
	bool begun;         /* a record has been seen: what has no head goes on with it */
	bool dumping;       /* the last record was of a level that dumps bodies */
	bool json;          /* records are JSON objects, each on its one line */
};

/* --- values --- */

/* One character that Rust's Debug has escaped, at t[*at] behind the backslash; appended to out. */
static void unescape(struct text t, size_t *at, char *out, size_t *n)
{
	uint32_t c = 0;
	size_t end;

	switch (t.ptr[*at]) {
	case 'n': out[(*n)++] = '\n'; break;
	case 'r': out[(*n)++] = '\r'; break;
	case 't': out[(*n)++] = '\t'; break;
	case '0': out[(*n)++] = '\0'; break;
	case 'u':
		end = text_find_char(t, '}', *at);
		if (*at + 1 < t.len && t.ptr[*at + 1] == '{' && end != SIZE_MAX && end - *at <= 8) {
			for (size_t i = *at + 2; i < end; i++) {
				char d = t.ptr[i];

				c = c << 4 | (uint32_t)(d <= '9' ? d - '0' : (d | 32) - 'a' + 10);
			}
			/* what is escaped this way cannot be printed: ids keep a mark of it, not the byte */
			out[(*n)++] = c > 0 && c < 0x80 ? (char)c : '?';
			*at = end;
			break;
		}
		out[(*n)++] = 'u';
		break;
	default: out[(*n)++] = t.ptr[*at];
	}
	(*at)++;
}

/* A quoted value at t[*at] (on the opening quote); *at goes behind the closing one. false: it does not end. */
static bool quoted(struct parse *p, struct text t, size_t *at, struct text *ret)
{
	size_t from = *at + 1, i = from, n = 0;
	bool escapes = false;
	char *out;

	for (; i < t.len && t.ptr[i] != '"'; i++) {
		if (t.ptr[i] == '\\') {
			escapes = true;
			i++;
		}
	}
	if (i >= t.len)
		return false;
	*at = i + 1;
	*ret = text_sub(t, from, i - from);
	if (!escapes)
		return true;
	out = arena_alloc(&p->scratch, ret->len + 1);
	if (!out)
		return true; /* as printed is better than nothing */
	for (i = 0; i < ret->len;) {
		if (ret->ptr[i] == '\\' && i + 1 < ret->len) {
			i++;
			unescape(*ret, &i, out, &n);
		} else {
			out[n++] = ret->ptr[i++];
		}
	}
	*ret = (struct text){out, n};
	return true;
}

/* A bare value ends at a blank; the last one of a span at the brace that closes it. A path may hold braces, and is
 * never last. */
static struct text bare(struct text t, size_t *at, bool path)
{
	size_t from = *at, i = from;

	while (i < t.len && t.ptr[i] != ' ' && (path || t.ptr[i] != '}'))
		i++;
	*at = i;
	return text_sub(t, from, i - from);
}

static void keep(struct line *l, struct text key, struct text value)
{
	if (text_is(key, "request_id"))
		l->id = value;
	else if (text_is(key, "uri"))
		l->uri = value;
	else if (text_is(key, "module"))
		l->module = value;
	else if (text_is(key, "status_code"))
		l->status = value;
	else if (text_is(key, "latency"))
		l->latency = value;
}

static bool name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

static size_t name_end(struct text t, size_t i)
{
	while (i < t.len && name_char(t.ptr[i]))
		i++;
	return i;
}

/* Fields of a span from t[at] (behind its brace) to the closing brace; returns the place behind that, 0: torn. */
static size_t read_fields(struct parse *p, struct line *l, struct text t, size_t at)
{
	while (at < t.len && t.ptr[at] != '}') {
		size_t end = name_end(t, at);
		struct text key = text_sub(t, at, end - at), value;

		if (end == at || end >= t.len || t.ptr[end] != '=')
			return 0;
		at = end + 1;
		if (at < t.len && t.ptr[at] == '"') {
			if (!quoted(p, t, &at, &value))
				return 0;
		} else {
			value = bare(t, &at, text_is(key, "uri"));
		}
		keep(l, key, value);
		while (at < t.len && t.ptr[at] == ' ')
			at++;
	}
	return at < t.len ? at + 1 : 0;
}

/* --- text lines --- */

static const char *const levels[] = {"ERROR", "WARN", "INFO", "DEBUG", "TRACE"};

/* Colours: ESC [ … letter. Returns the line without them, in scratch memory. */
static struct text without_colours(struct parse *p, struct text t)
{
	char *out;
	size_t n = 0;

	if (text_find_char(t, '\x1b', 0) == SIZE_MAX)
		return t;
	out = arena_alloc(&p->scratch, t.len + 1);
	if (!out)
		return t;
	for (size_t i = 0; i < t.len; i++) {
		if (t.ptr[i] != '\x1b' || i + 1 >= t.len || t.ptr[i + 1] != '[') {
			out[n++] = t.ptr[i];
			continue;
		}
		for (i += 2; i < t.len && !(t.ptr[i] >= '@' && t.ptr[i] <= '~'); i++)
			;
	}
	return (struct text){out, n};
}

/* Time and level at the start; *at goes behind them. */
static bool read_head(struct line *l, struct text t, size_t *at)
{
	size_t i, end;

	if (!stamp_parse_iso(t, &l->ts, &i) || i >= t.len || t.ptr[i] != ' ')
		return false;
	l->ts.quality = STAMP_ZONED; /* UTC by the writer's source */
	while (i < t.len && t.ptr[i] == ' ')
		i++;
	end = name_end(t, i);
	l->level = text_sub(t, i, end - i);
	if (end >= t.len || t.ptr[end] != ' ')
		return false;
	*at = end + 1;
	for (size_t k = 0; k < ARRAY_SIZE(levels); k++) {
		if (text_is(l->level, levels[k]))
			return true;
	}
	return false;
}

/* "file:line: " in front of the message, if it is there. */
static size_t behind_place(struct text t, size_t at)
{
	size_t end = text_find(t, ": ", at), i;

	if (end == SIZE_MAX)
		return at;
	for (i = end; i > at && t.ptr[i - 1] >= '0' && t.ptr[i - 1] <= '9'; i--)
		;
	if (i == end || i <= at || t.ptr[i - 1] != ':' || memchr(t.ptr + at, ' ', end - at))
		return at;
	return end + 2;
}

/* 1 read, 0 this is no line of tracing, -1 it begins as one and is torn. */
static int read_text(struct parse *p, struct line *l, struct text t)
{
	size_t at, end;

	if (!read_head(l, t, &at))
		return 0;
	for (unsigned n = 0; n < LINE_MAX_SPANS; n++) {
		end = name_end(t, at);
		if (end == at || end >= t.len || t.ptr[end] != '{')
			break;
		at = read_fields(p, l, t, end + 1);
		if (!at || at >= t.len || t.ptr[at] != ':')
			return -1;
		at++;
		while (at < t.len && t.ptr[at] == ' ')
			at++;
	}
	for (end = at;
	     end < t.len && (name_char(t.ptr[end]) || (t.ptr[end] == ':' && end + 1 < t.len && t.ptr[end + 1] != ' '));
	     end++)
		;
	if (end == at || end + 1 >= t.len || t.ptr[end] != ':')
		return -1;
	l->target = text_sub(t, at, end - at);
	l->message = text_from(t, behind_place(t, end + 2));
	return 1;
}

/* A field of the event behind its message: "name=" up to the next blank (or to the end). */
static struct text tail_field(struct text t, const char *mark, bool to_end)
{
	size_t from = text_find(t, mark, 0), end;

	if (from == SIZE_MAX)
		return (struct text){0};
	from += strlen(mark);
	end = to_end ? SIZE_MAX : text_find_char(t, ' ', from);
	return text_sub(t, from, end == SIZE_MAX ? t.len - from : end - from);
}

/* --- JSON lines --- */

static void json_text(struct json_value v, const char *key, struct text *ret)
{
	struct text t;

	if (json_string(json_get(v, key), &t))
		*ret = t;
}

static void json_number(struct parse *p, struct json_value v, const char *key, struct text *ret)
{
	struct text t;
	char *tmp = arena_alloc(&p->scratch, ID_TMP);

	if (tmp && json_id(json_get(v, key), tmp, &t))
		*ret = t;
}

static void json_span(struct parse *p, struct line *l, struct json_value span)
{
	json_text(span, "request_id", &l->id);
	json_text(span, "uri", &l->uri);
	json_text(span, "module", &l->module);
	json_number(p, span, "status_code", &l->status);
	json_number(p, span, "latency", &l->latency);
}

static void json_event(struct parse *p, struct line *l, struct json_value v)
{
	json_text(v, "message", &l->message);
	json_text(v, "prefill_url", &l->prefill_url);
	json_text(v, "decode_url", &l->decode_url);
	json_text(v, "error", &l->error);
	json_text(v, "body", &l->body);
	json_number(p, v, "status", &l->reply);
}

/* 1 read, 0 some other JSON, -1 not JSON or one that contradicts itself, or ERR_* below that. */
static int read_json(struct parse *p, struct line *l, struct text record, bool padded)
{
	struct json_value doc, span;
	struct json_iter it;
	struct text key, t = {0};
	size_t used;
	int r;

	r = json_parse(p->json, record, padded, &doc, NULL, p->err);
	if (r)
		return r < 0 ? r - 100 : -1;
	r = json_contradicts(doc, &key, p->err);
	l->twice = r > 0;
	if (r)
		return r < 0 ? r - 100 : -1;
	json_text(doc, "timestamp", &t);
	json_text(doc, "level", &l->level);
	json_text(doc, "target", &l->target);
	if (!l->level.len || !l->target.len || !stamp_parse_iso(t, &l->ts, &used) || used != t.len)
		return 0;
	l->ts.quality = STAMP_ZONED;
	json_event(p, l, doc);
	json_event(p, l, json_get(doc, "fields"));
	it = json_iter(json_get(doc, "spans"));
	while (json_next(&it, &key, &span))
		json_span(p, l, span);
	json_span(p, l, json_get(doc, "span"));
	return 1;
}

/* --- what a line says --- */

static struct text route_of(struct text uri)
{
	size_t end = text_find_char(uri, '?', 0), from = text_find(uri, "://", 0);

	uri = text_sub(uri, 0, end);
	if (from == SIZE_MAX)
		return uri;
	from = text_find_char(uri, '/', from + 3);
	return from == SIZE_MAX ? (struct text){0} : text_from(uri, from);
}

static bool health(const struct line *l)
{
	return is_health(route_of(l->uri));
}

static void set_status(struct event *e, struct text t)
{
	int64_t status;
	size_t end = text_find_char(t, ' ', 0);

	if (text_int64(text_sub(t, 0, end), &status) && status >= 100 && status <= 599)
		event_int(e, GATEWAY_STATUS, status);
}

static struct event *begin(struct parse *p, const char *what)
{
	struct line *l = &((struct state *)p->state)->line;
	struct event *e = parse_begin(p, EVENT_GATEWAY, l->ts);

	event_text(e, GATEWAY_WHAT, text_of(what));
	event_text(e, GATEWAY_ID, l->id);
	event_text(e, GATEWAY_ROUTE, route_of(l->uri));
	return e;
}

static int emit(struct parse *p)
{
	int r = parse_emit(p);

	return r < 0 ? r : RECORD_PARSED;
}

static int take_started(struct parse *p, const struct match *m, struct text message)
{
	struct line *l = &((struct state *)p->state)->line;
	struct event *e = begin(p, "started");

	(void)m;
	(void)message;
	event_int(e, GATEWAY_STARTED, l->ts.ns);
	return emit(p);
}

static int take_finished(struct parse *p, const struct match *m, struct text message)
{
	struct line *l = &((struct state *)p->state)->line;
	struct event *e = begin(p, "finished");
	int64_t us;

	(void)m;
	(void)message;
	set_status(e, l->status);
	if (text_int64(l->latency, &us) && us >= 0 && us < INT64_C(100000000000000))
		event_int(e, GATEWAY_STARTED, l->ts.ns - us * 1000);
	return emit(p);
}

/* The engine's error text out of a reply's body. Other parts of a body may echo the prompt and are left alone. */
static int body_message(struct parse *p, struct text body, struct text *ret)
{
	struct json_value doc;
	struct text t = text_trim(body);
	size_t at = 0;
	int r;

	*ret = (struct text){0};
	if (t.len && t.ptr[0] == '"' && quoted(p, t, &at, &t))
		t = text_trim(t);
	if (!t.len)
		return 0;
	if (t.ptr[0] != '{' && t.ptr[0] != '[') {
		*ret = t;
		return 0;
	}
	r = json_parse(((struct state *)p->state)->inner, t, false, &doc, NULL, p->err);
	if (r)
		return r < 0 ? r : 0;
	if (!json_string(json_get(doc, "message"), ret) && !json_string(json_path(doc, "error.message"), ret) &&
	    !json_string(json_get(doc, "error"), ret))
		json_string(json_get(doc, "detail"), ret);
	return 0;
}

/* The length that a rejection names is the prompt's, counted by the engine. */
static void set_rejected_length(struct event *e, struct text message)
{
	int64_t length, limit;
	size_t at = 0;

	if (!text_starts(message, "Input length (") && !text_starts(message, "The input ("))
		return;
	if (!digits_after(message, "(", &at, &length) || !digits_after(message, "(", &at, &limit))
		return;
	event_int(e, GATEWAY_INPUT, length);
	event_text(e, GATEWAY_INPUT_FLAG, TEXT("exact"));
}

static int take_reply(struct parse *p, const char *what, struct text url, struct text status, struct text body)
{
	struct event *e;
	struct text error;
	int r;

	r = body_message(p, body, &error);
	if (r < 0)
		return r;
	e = begin(p, what);
	event_text(e, GATEWAY_UPSTREAM, url);
	set_status(e, status);
	event_text(e, GATEWAY_MESSAGE, error);
	set_rejected_length(e, error);
	return emit(p);
}

static int take_prefill_error(struct parse *p, const struct match *m, struct text message)
{
	struct line *l = &((struct state *)p->state)->line;

	(void)m;
	return take_reply(p, "prefill_error",
			  l->prefill_url.len ? l->prefill_url : tail_field(message, " prefill_url=", false),
			  l->reply.len ? l->reply : tail_field(message, " status=", false),
			  l->body.len ? l->body : tail_field(message, " body=", true));
}

static int take_decode_error(struct parse *p, const struct match *m, struct text message)
{
	struct line *l = &((struct state *)p->state)->line;

	(void)m;
	return take_reply(p, "decode_error",
			  l->decode_url.len ? l->decode_url : tail_field(message, " decode_url=", false),
			  l->reply.len ? l->reply : tail_field(message, " status=", false),
			  l->body.len ? l->body : tail_field(message, " body=", true));
}

static int take_error(struct parse *p, const struct match *m, struct text message)
{
	struct line *l = &((struct state *)p->state)->line;
	struct event *e = begin(p, "error");

	(void)m;
	event_text(e, GATEWAY_MESSAGE, message);
	event_text(e, GATEWAY_UPSTREAM, l->decode_url.len ? l->decode_url : l->prefill_url);
	return emit(p);
}

static int take_stream_error(struct parse *p, const struct match *m, struct text message)
{
	static const char head[] = "Stream error from decode server ";
	size_t end = text_find(message, ": ", sizeof(head) - 1);
	struct event *e = begin(p, "error");

	(void)m;
	if (end != SIZE_MAX)
		event_text(e, GATEWAY_UPSTREAM, text_sub(message, sizeof(head) - 1, end - (sizeof(head) - 1)));
	event_text(e, GATEWAY_MESSAGE, message);
	return emit(p);
}

static int take_retry(struct parse *p, const struct match *m, struct text message)
{
	struct event *e = begin(p, "retry");

	(void)m;
	event_text(e, GATEWAY_UPSTREAM, tail_field(message, " decode=", false));
	return emit(p);
}

static const struct line_pattern patterns[] = {
    {"started", "started processing request", NULL, "started processing request", take_started},
    {"finished", "finished processing request", NULL, "finished processing request", take_finished},
    {"finished-error", "request failed with ", NULL, "request failed with client error", take_finished},
    {"prefill-error", "Prefill server returned error status", NULL,
     "Prefill server returned error status prefill_url=http://10.0.1.39:30000 status=400 Bad Request body={}",
     take_prefill_error},
    {"decode-error", "Decode server returned error status", NULL,
     "Decode server returned error status decode_url=http://10.0.1.40:30001 status=500 Internal Server Error",
     take_decode_error},
    {"transport-error", "PD request transport error", NULL,
     "PD request transport error, both sides aborted: connection reset", take_error},
    {"stream-error", "Stream error from decode server ", NULL,
     "Stream error from decode server http://10.0.1.40:30001: error decoding response body", take_stream_error},
    {"retry", "PD retry attempt ", NULL,
     "PD retry attempt 1 using prefill=http://10.0.1.39:30000 decode=http://10.0.1.40:30001", take_retry},
    {"pair-error", "Failed to select PD pair", NULL, "Failed to select PD pair error=no decode workers available",
     take_error},
};

/* Who wrote it: the crate in front of the target, or the module that the request's span names. */
static bool is_router(const struct line *l)
{
	static const char *const crates[] = {"smg",        "sgl_model_gateway", "sglang_router", "sglang_router_rs",
					     "sgl_router", "vllm_router_rs",    "vllm_router",   "smg_mesh",
					     "smg_mcp",    "smg_auth"};
	size_t end = text_find(l->target, "::", 0);
	struct text crate = text_sub(l->target, 0, end);

	for (size_t i = 0; i < ARRAY_SIZE(crates); i++) {
		if (text_is(crate, crates[i]))
			return true;
	}
	return text_starts(l->target, "sglang::router") || text_is(l->module, "smg") ||
	       text_starts(l->module, "sglang::router") || text_starts(l->module, "sglang_router");
}

static bool is_severe(const struct line *l)
{
	return text_is(l->level, "ERROR") || text_is(l->level, "WARN");
}

static int take(struct parse *p, struct state *s)
{
	struct line *l = &s->line;
	int r;

	s->begun = true;
	s->dumping = text_is(l->level, "DEBUG") || text_is(l->level, "TRACE");
	if (health(l))
		return RECORD_CONTEXT;
	r = parse_patterns(p, l->message);
	if (r != RECORD_UNPARSED)
		return r;
	/* start-up, registration, probes of workers: known to be of the router, and of no request */
	if (!l->id.len || !is_severe(l))
		return RECORD_CONTEXT;
	return take_error(p, NULL, l->message);
}

/* A line without a head: another format's, or what goes on with the record before. */
static int headless(struct parse *p, struct state *s, struct text record)
{
	int r = RECORD_UNPARSED;

	if (!s->dumping)
		r = parse_delegate(p, record);
	if (r != RECORD_UNPARSED)
		return r;
	if (s->begun && !s->json)
		return RECORD_CONTINUES;
	return text_trim(record).len ? parse_refuse(p, "no_head") : RECORD_CONTEXT;
}

static int record(struct parse *p, struct text record)
{
	struct state *s = p->state;
	struct text t = without_colours(p, record);
	int r;

	s->line = (struct line){.ts = STAMP_INIT};
	if (t.len && t.ptr[0] == '{') {
		r = read_json(p, &s->line, t, p->padded && t.ptr == record.ptr);
		if (r < -1)
			return r + 100;
		if (r > 0) {
			s->json = true;
			return take(p, s);
		}
		if (s->line.twice)
			return parse_refuse(p, "member_twice");
		if (s->begun && !s->json)
			return headless(p, s, record);
		if (r < 0)
			return parse_refuse(p, text_trim(t).ptr[text_trim(t).len - 1] == '}' ? "json_syntax" : "torn");
		r = parse_delegate(p, record);
		return r == RECORD_UNPARSED ? parse_refuse(p, "not_router") : r;
	}
	r = read_text(p, &s->line, t);
	if (r > 0)
		return take(p, s);
	if (r < 0) {
		s->begun = true;
		return parse_refuse(p, "torn");
	}
	return headless(p, s, record);
}

static enum bid bid(struct parse *p, struct text record)
{
	struct line l = {.ts = STAMP_INIT};
	struct text t = without_colours(p, record);

	if (t.len == 0)
		return BID_NO;
	if (t.ptr[0] == '{') {
		if (text_find(t, "\"target\"", 0) == SIZE_MAX || read_json(p, &l, t, false) != 1)
			return BID_NO;
	} else if (t.ptr[0] < '0' || t.ptr[0] > '9' || read_text(p, &l, t) != 1) {
		return BID_NO;
	}
	return is_router(&l) ? BID_STRONG : BID_NO;
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

	json_free(s->inner);
	s->inner = NULL;
}

const struct parser parser_sglang_router = {
    .name = "sglang-router",
    .summary = "SGLang model gateway, sglang-router, vllm-router (tracing text or JSON)",
    .checked = "real logs of SGLang 0.5.8's gateway; sources of 2025-12 and 2026-08",
    .emits = 1u << EVENT_GATEWAY,
    .state_bytes = sizeof(struct state),
    .patterns = patterns,
    .n_patterns = ARRAY_SIZE(patterns),
    .bid = bid,
    .record = record,
    .open = open_state,
    .close = close_state,
};
