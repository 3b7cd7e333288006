/* SPDX-License-Identifier: Apache-2.0 */
/* gateway_json.c - format gateway-json: access logs of gateways that write one JSON object a line
 *
 * Operators choose the keys, products have habits. A record is walked once; each member's path, in lower case with '_'
 * for '-' and '.' between levels, is looked up in the table of aliases, so that {"a.b":1} and {"a":{"b":1}} are the
 * same. The best usable alias of each role wins ("", "-" and null are not usable). Some aliases also tell the product,
 * and with it what an unmarked duration or time means: Envoy stamps the start and counts milliseconds, nginx and Caddy
 * stamp the end and count seconds.
 * Nothing of prompts or answers is read: lists are counted (batches), their elements are not looked at.
 */
#include <stdio.h>
#include <string.h>

#include "gateway_access.h"
#include "gateway_json_walk.h"
#include "pagetrail/parser.h"

struct state {
	struct index index;
	struct memo memo[MEMOS];
};

/* --- what a record says --- */

struct access {
	struct stamp ts;
	int64_t start_ns, end_ns;
	int64_t status; /* 0: unknown */
	bool gone, failed;
	int64_t input, output; /* -1: unknown */
	const char *flag;
};

static enum logged_is logged_is(const struct found *f)
{
	for (unsigned p = NONE + 1; p < PRODUCTS; p++)
		if (is_of(f, p) && presets[p].logged)
			return (enum logged_is)presets[p].logged;
	return NOT_SAID;
}

static bool read_times(const struct found *f, const struct parse *p, struct access *a)
{
	struct stamp start = STAMP_INIT, end = STAMP_INIT, logged = STAMP_INIT;
	int64_t duration = duration_of(f);
	enum logged_is is;
	bool known;

	time_at(f, START, &start);
	time_at(f, END, &end);
	time_at(f, LOGGED, &logged);
	known = logged.quality || end.quality || start.quality;
	is = logged_is(f);
	if (is == IS_START && !start.quality)
		start = logged; /* whatever the operator calls it, START_TIME is what Envoy has */
	else if (!end.quality && !start.quality && (is == IS_END || (is == NOT_SAID && duration != TIME_UNKNOWN)))
		end = logged; /* written when the response is through */
	a->ts = logged.quality ? logged : end.quality ? end : start.quality ? start : p->fallback;
	/* the ns columns are for sure or not at all: a stamp without zone stays in ts, which says so */
	a->start_ns = start.quality == STAMP_ZONED ? start.ns : TIME_UNKNOWN;
	a->end_ns = end.quality == STAMP_ZONED ? end.ns : TIME_UNKNOWN;
	if (duration != TIME_UNKNOWN && a->start_ns != TIME_UNKNOWN && a->end_ns == TIME_UNKNOWN)
		a->end_ns = a->start_ns + duration;
	else if (duration != TIME_UNKNOWN && a->end_ns != TIME_UNKNOWN && a->start_ns == TIME_UNKNOWN)
		a->start_ns = a->end_ns - duration;
	return known || a->ts.quality != STAMP_NONE;
}

/* Envoy's flags; HAProxy's state begins with C for the same. */
static bool flags_gone(struct text flags)
{
	struct text one;

	while (text_split(&flags, ',', &one)) {
		one = text_trim(one);
		if (flag_gone(one))
			return true;
		if (one.len == 4 && one.ptr[0] == 'C' && (one.ptr[3] == '-' || one.ptr[2] == '-'))
			return true;
	}
	return false;
}

static void read_status(const struct found *f, struct access *a)
{
	struct text t;
	int64_t n;
	bool b;

	if (json_count(f->v[STATUS], &n)) {
		a->status = n >= 100 && n <= 599 ? n : 0;
		a->gone = n == 499 || n == 0;
	} else if (json_string(f->v[STATUS], &t)) {
		/* LiteLLM says success or failure; the code of a failure stands elsewhere */
		if (text_is(t, "success"))
			a->status = 200;
		else if (text_int64(text_sub(t, 0, 3), &n) && n >= 100 && n <= 599)
			a->status = n; /* "200 OK" */
		a->failed = text_is(t, "failure") || text_is(t, "error");
	} else if (flag_at(f, SUCCESS, &b)) {
		a->status = b ? 200 : 0;
		a->failed = !b;
	}
	if (!a->status && json_count(f->v[CODE], &n) && n >= 100 && n <= 599)
		a->status = n;
	if (json_string(f->v[FLAGS], &t) && flags_gone(t))
		a->gone = true;
	if (json_string(f->v[DETAILS], &t) && text_starts(t, "downstream_"))
		a->gone = a->gone || text_find(t, "disconnect", 0) != SIZE_MAX || text_find(t, "reset", 0) != SIZE_MAX;
	if (flag_at(f, GONE, &b))
		a->gone = b;
}

static bool estimates(const struct found *f)
{
	for (unsigned p = NONE + 1; p < PRODUCTS; p++)
		if (is_of(f, p) && presets[p].estimates)
			return true;
	return false;
}

static void read_counts(const struct found *f, struct access *a)
{
	static const char *const flags[] = {"exact", "at_least", "estimate"};
	bool estimated = false, stream = true;
	int64_t more, total;
	struct text t;

	a->input = a->output = -1;
	a->flag = "exact";
	if (!count_at(f, INPUT, &a->input) && count_at(f, INPUT_FRESH, &a->input)) {
		/* Anthropic's input_tokens leave out what came from or went to the cache */
		if (count_at(f, CACHE_READ, &more))
			a->input += more;
		if (count_at(f, CACHE_MADE, &more))
			a->input += more;
	}
	count_at(f, OUTPUT, &a->output);
	if (a->input < 0 && a->output >= 0 && count_at(f, TOTAL, &total) && total >= a->output)
		a->input = total - a->output;
	if (a->input == 0) /* no prompt is empty: nobody counted */
		a->input = -1, a->output = a->output == 0 ? -1 : a->output;
	/* LiteLLM counts a stream itself when the engine sent no usage, and does not say when it did */
	flag_at(f, STREAM, &stream);
	if (flag_at(f, ESTIMATED, &estimated) ? estimated : estimates(f) && stream)
		a->flag = "estimate";
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		if (json_string(f->v[FLAG], &t) && text_is(t, flags[i]))
			a->flag = flags[i];
	}
}

/* The id that the next hop knows goes first; another one is kept as an alias where there is room for it. */
static void set_ids(struct parse *p, struct event *e, const struct found *f)
{
	struct text any = text_at(p, f, ANY_ID), trace = text_at(p, f, TRACE), response = text_at(p, f, RESPONSE),
		    object;
	struct text ids[] = {text_at(p, f, HOP_ID), text_at(p, f, ID), text_at(p, f, ASKED_ID), any};
	struct text first = {0}, second = {0};
	bool is_response = is_of(f, LITELLM) || looks_like_response(any) ||
			   (json_string(f->v[OBJECT], &object) && text_find(object, "completion", 0) != SIZE_MAX);

	if (any.len && is_response && f->rank[ANY_ID] == 0) {
		response = response.len ? response : any;
		ids[3] = (struct text){0};
	}
	if (!response.len && is_of(f, LITELLM) && looks_like_response(ids[1]))
		response = ids[1]; /* a row of SpendLogs: request_id is the response's */
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		if (!first.len)
			first = ids[i];
		else if (!second.len && !text_eq(ids[i], first))
			second = ids[i];
	}
	trace = trace_of(trace);
	event_text(e, GATEWAY_ID, first);
	event_text(e, GATEWAY_RESPONSE_ID, response);
	event_text(e, GATEWAY_TRACE_ID, trace.len ? trace : second);
}

static bool room_in_list(struct parse *p, struct json_value v, char *tmp, struct text *ret)
{
	struct text t;

	if (!json_string(v, &t) && !json_id(v, tmp, &t))
		return false;
	*ret = room_of(p, text_trim(t));
	return ret->len && ret->len < ID_TMP && text_find_char(*ret, ',', 0) == SIZE_MAX;
}

/* The one room, or the next rooms of a batch, separated by commas, as many as one name holds. *at: where in the list
 * to go on; what is left then goes into another event of the same record. */
static struct text rooms_from(struct parse *p, const struct found *f, struct json_iter *at, bool *ret_more)
{
	char *out, tmp[ID_TMP];
	struct json_value v;
	struct text key, t;
	size_t n = 0;

	*ret_more = false;
	if (json_type(f->rooms) != JSON_ARRAY)
		return room_of(p, text_at(p, f, ROOM));
	out = arena_alloc(&p->scratch, NAME_MAX_BYTES);
	while (out && n + ID_TMP < NAME_MAX_BYTES && json_next(at, &key, &v)) {
		if (!room_in_list(p, v, tmp, &t))
			continue;
		if (n)
			out[n++] = ',';
		memcpy(out + n, t.ptr, t.len);
		n += t.len;
	}
	*ret_more = out && n + ID_TMP >= NAME_MAX_BYTES;
	return (struct text){out, n};
}

static struct text route_of(struct parse *p, const struct found *f)
{
	struct text t = text_at(p, f, ROUTE), method;

	return t.len ? path_of(t) : path_of_request(text_at(p, f, REQUEST_LINE), &method);
}

static struct text upstream_of(struct parse *p, const struct found *f, unsigned at, unsigned n)
{
	struct text t = text_at(p, f, UPSTREAM), one = t, ip;
	int64_t port;
	char *out;
	int len;

	if (!t.len && json_string(json_get(f->tried, "ip"), &ip) && json_count(json_get(f->tried, "port"), &port)) {
		out = arena_alloc(&p->scratch, NAME_MAX_BYTES);
		if (!out || at + 1 != n)
			return (struct text){0};
		len = snprintf(out, NAME_MAX_BYTES, "%.*s:%d", (int)MIN(ip.len, (size_t)200), ip.ptr,
			       (int)(port & 0xffff));
		return (struct text){out, (size_t)len};
	}
	if (n > 1 && !attempt_at(t, at, true, &one))
		return (struct text){0};
	return address_of(one);
}

/* upstream_status "502, 200": all but the last are attempts that failed. */
static int emit_attempts(struct parse *p, const struct found *f, const struct access *a, unsigned *ret_n)
{
	struct text list = text_at(p, f, UPSTREAM_STATUS), one;
	unsigned n = 0;
	int64_t status;

	while (n < LIST_MAX && attempt_at(list, n, false, &one))
		n++;
	*ret_n = n;
	for (unsigned i = 0; i + 1 < n; i++) {
		struct event *e;
		int r;

		if (!attempt_at(list, i, false, &one) || !text_int64(one, &status) || status < 100 || status > 599)
			continue;
		e = parse_begin(p, EVENT_GATEWAY, a->ts);
		event_text(e, GATEWAY_WHAT, TEXT("retry"));
		set_ids(p, e, f);
		event_text(e, GATEWAY_TENANT, text_at(p, f, TENANT));
		event_int(e, GATEWAY_STATUS, status);
		event_text(e, GATEWAY_UPSTREAM, upstream_of(p, f, i, n));
		r = parse_emit(p);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Caddy says the error of a request in a record of its own, before the access record where there is one: the same response.
 * (caddyserver/caddy modules/caddyhttp/server.go, errLogger "http.log.error")
 */
static bool is_caddy_error(const struct found *f)
{
	struct text t;

	return is_of(f, CADDY) && json_string(f->v[LOGGER], &t) && text_starts(t, "http.log.error");
}

static struct text what_of(const struct found *f)
{
	static const char *const words[][2] = {
	    {"started", "started"},
	    {"request_started", "started"},
	    {"request.started", "started"},
	    {"start", "started"},
	    {"finished", "finished"},
	    {"request_finished", "finished"},
	    {"request.finished", "finished"},
	    {"completed", "finished"},
	    {"end", "finished"},
	    {"prefill_error", "prefill_error"},
	    {"decode_error", "decode_error"},
	    {"retry", "retry"},
	    {"error", "error"},
	};
	struct text t;

	for (size_t i = 0; json_string(f->v[WHAT], &t) && i < ARRAY_SIZE(words); i++) {
		if (text_is(t, words[i][0]))
			return text_of(words[i][1]);
	}
	return is_caddy_error(f) ? TEXT("error") : TEXT("access");
}

static bool counts_headers(const struct found *f)
{
	for (unsigned p = NONE + 1; p < PRODUCTS; p++)
		if (is_of(f, p) && presets[p].headers && f->rank[BYTES_OUT] + 1 >= presets[p].headers)
			return true;
	return false;
}

static void set_sizes(struct event *e, const struct found *f, const struct access *a)
{
	int64_t n, batch = 1;
	struct text t;
	bool b;

	if (a->input >= 0) {
		event_int(e, GATEWAY_INPUT, a->input);
		event_text(e, GATEWAY_INPUT_FLAG, text_of(a->flag));
	}
	if (a->output >= 0)
		event_int(e, GATEWAY_OUTPUT, a->output);
	if (count_at(f, BYTES_IN, &n))
		event_int(e, GATEWAY_BYTES_IN, n);
	if (count_at(f, BYTES_OUT, &n) && (!counts_headers(f) || content_bytes(n, !a->gone, &n)))
		event_int(e, GATEWAY_BYTES_OUT, n);
	if (flag_at(f, STREAM, &b))
		event_flag(e, GATEWAY_STREAM, b);
	else if (json_string(f->v[CONTENT_TYPE], &t))
		event_flag(e, GATEWAY_STREAM, text_starts(t, "text/event-stream"));
	if (count_at(f, BATCH, &n) && n > 0 && n <= 100000)
		batch = n;
	batch = MAX(batch, MIN(f->choices, 100000));
	if (f->prompts > 1)
		batch = batch % f->prompts == 0 && f->choices ? batch : batch * MIN(f->prompts, 100000);
	if (json_type(f->rooms) == JSON_ARRAY)
		batch = MAX(batch, MIN(length_of(f->rooms), 100000));
	if (batch > 1 || has(f, BATCH) || f->choices || f->prompts)
		event_int(e, GATEWAY_BATCH, batch);
}

static int emit_access(struct parse *p, const struct found *f, const struct access *a, unsigned attempts,
		       struct text rooms)
{
	struct event *e = parse_begin(p, EVENT_GATEWAY, a->ts);
	struct text message = text_at(p, f, MESSAGE), finish = text_at(p, f, FINISH);

	if (!message.len && is_caddy_error(f))
		message = text_at(p, f, TEXT_LINE);
	message = secret_cut(message);
	event_text(e, GATEWAY_WHAT, what_of(f));
	set_ids(p, e, f);
	event_text(e, GATEWAY_ROOM, rooms);
	event_text(e, GATEWAY_TENANT, text_at(p, f, TENANT));
	event_text(e, GATEWAY_MODEL, text_at(p, f, MODEL));
	if (a->status)
		event_int(e, GATEWAY_STATUS, a->status);
	set_sizes(e, f, a);
	if (a->start_ns != TIME_UNKNOWN)
		event_int(e, GATEWAY_STARTED, a->start_ns);
	if (a->end_ns != TIME_UNKNOWN)
		event_int(e, GATEWAY_FINISHED, a->end_ns);
	event_text(e, GATEWAY_UPSTREAM, upstream_of(p, f, attempts ? attempts - 1 : 0, MAX(attempts, 1)));
	event_text(e, GATEWAY_FINISH, finish.len ? finish : a->failed ? TEXT("error") : (struct text){0});
	event_text(e, GATEWAY_MESSAGE,
		   message.len       ? message
		   : is_of(f, ENVOY) ? text_at(p, f, FLAGS)
				     : (struct text){0});
	if (a->gone)
		event_flag(e, GATEWAY_CLIENT_GONE, true);
	event_text(e, GATEWAY_ROUTE, route_of(p, f));
	return parse_emit(p);
}

static bool aside(struct parse *p, const struct found *f)
{
	struct text method = text_at(p, f, METHOD), line = method;

	if (!method.len)
		path_of_request(text_at(p, f, REQUEST_LINE), &line);
	return is_aside(line, route_of(p, f));
}

/* Does it tell of a request's outcome? */
static bool is_access(const struct found *f)
{
	if (has(f, STATUS) || has(f, CODE) || has(f, INPUT) || has(f, INPUT_FRESH) || has(f, OUTPUT) || has(f, FINISH))
		return true;
	return (has(f, ID) || has(f, HOP_ID) || has(f, RESPONSE)) &&
	       (has(f, BYTES_OUT) || has(f, SUCCESS) || has(f, WHAT) || has(f, MODEL) || has(f, END));
}

/* nginx leaves nothing where a number is empty ("rt":,): null is what was meant. In scratch memory. */
static struct text fill_gaps(struct parse *p, struct text t)
{
	char *out = t.len <= MIB ? arena_alloc(&p->scratch, t.len * 3 + 8) : NULL;
	bool inside = false;
	size_t n = 0;

	if (!out)
		return (struct text){0};
	for (size_t i = 0; i < t.len; i++) {
		char c = t.ptr[i];

		if (!inside && (c == ',' || c == '}') && n && out[n - 1] == ':') {
			memcpy(out + n, "null", 4);
			n += 4;
		}
		if (!inside && (c == ' ' || c == '\t'))
			continue;
		out[n++] = c;
		if (inside && c == '\\' && i + 1 < t.len)
			out[n++] = t.ptr[++i];
		else if (c == '"')
			inside = !inside;
	}
	return (struct text){out, n};
}

/* Lines of an exported list: "[", "{…},", "]". */
static struct text unlist(struct text t)
{
	if (t.len && t.ptr[t.len - 1] == ',')
		t = text_trim(text_sub(t, 0, t.len - 1));
	if (t.len > 1 && t.ptr[0] == '[' && t.ptr[1] == '{')
		t = text_from(t, 1);
	if (t.len > 1 && t.ptr[t.len - 1] == ']' && t.ptr[0] == '{')
		t = text_trim(text_sub(t, 0, t.len - 1));
	return t;
}

static int read_json(struct parse *p, struct text t, bool padded, struct json_value *ret)
{
	struct text filled;
	int r = json_parse(p->json, t, padded, ret, NULL, p->err);

	if (r <= 0)
		return r;
	filled = fill_gaps(p, t);
	return filled.len ? json_parse(p->json, filled, false, ret, NULL, p->err) : r;
}

static int take(struct parse *p, const struct found *f)
{
	struct access a = {.ts = STAMP_INIT};
	struct json_iter it = json_iter(f->rooms);
	unsigned attempts = 0;
	bool timed = read_times(f, p, &a);
	int r;

	if (!is_access(f)) {
		/* the gateway's own log between its access records */
		if (timed && has(f, LEVEL) && has(f, TEXT_LINE))
			return RECORD_CONTEXT;
		return parse_refuse(p, timed ? "not_access" : "no_time");
	}
	if (!timed)
		return parse_refuse(p, "no_time");
	if (aside(p, f))
		return RECORD_CONTEXT;
	read_status(f, &a);
	read_counts(f, &a);
	r = emit_attempts(p, f, &a, &attempts);
	for (bool first = true, more = true; r == 0 && more; first = false) {
		struct text rooms = rooms_from(p, f, &it, &more);

		if (first || rooms.len)
			r = emit_access(p, f, &a, attempts, rooms);
	}
	return r < 0 ? r : RECORD_PARSED;
}

static int record(struct parse *p, struct text record)
{
	struct state *s = p->state;
	struct text bare = text_trim(record);
	struct json_value doc;
	struct found f;
	int r;

	if (text_starts(bare, "\xef\xbb\xbf"))
		bare = text_from(bare, 3);
	if (bare.len == 0 || text_is(bare, "[") || text_is(bare, "]"))
		return RECORD_CONTEXT;
	bare = unlist(bare);
	if (bare.len == 0 || bare.ptr[0] != '{')
		return parse_refuse(p, "not_json");
	r = read_json(p, bare, p->padded, &doc);
	if (r < 0)
		return r;
	if (r > 0)
		return parse_refuse(p, bare.ptr[bare.len - 1] == '}' ? "json_syntax" : "torn");
	r = parse_contradicts(p, doc);
	if (r)
		return r;
	gather(&f, &s->index, s->memo, doc);
	if (is_foreign(f.marks))
		return parse_refuse(p, "other_format");
	return take(p, &f);
}

static enum bid bid(struct parse *p, struct text record)
{
	struct text bare = unlist(text_trim(record));
	struct json_value doc;
	struct access a = {.ts = STAMP_INIT};
	struct parse timeless = {0};
	struct state *s = p->state;
	struct found f;

	if (bare.len == 0 || bare.ptr[0] != '{' ||
	    text_starts(bare, "{\"pagetrail\":")) /* live-probes, live-attempts */
		return BID_NO;
	if (read_json(p, bare, false, &doc) != 0 || is_foreign(marks_of(doc)))
		return BID_NO;
	gather(&f, &s->index, NULL, doc);
	if (!is_access(&f) || !read_times(&f, &timeless, &a))
		return BID_NO;
	if (has(&f, STATUS) && (has(&f, ID) || has(&f, HOP_ID) || has(&f, INPUT) || has(&f, OUTPUT) || f.products))
		return BID_STRONG;
	return f.products & ~(UINT32_C(1) << AI) ? BID_STRONG : BID_WEAK;
}

static int open_state(struct parse *p)
{
	struct state *s = p->state;

	index_build(&s->index);
	return 0;
}

const struct parser parser_gateway_json = {
    .name = "gateway-json",
    .summary =
	"gateway access log, JSON lines (Envoy, AI gateways, nginx, Kong, Caddy, LiteLLM, Cloudflare, Traefik, own "
	"keys)",
    .checked =
	"nginx 3f6f7824d, Envoy AI Gateway c217da8a5, Kong 22246ef28c, Caddy 0cf03d32f (sources, 2026); LiteLLM, "
	"Cloudflare and Traefik v3 (documents)",
    .emits = 1u << EVENT_GATEWAY,
    .state_bytes = sizeof(struct state),
    .bid = bid,
    .record = record,
    .open = open_state,
};
