/* SPDX-License-Identifier: Apache-2.0 */
/* vllm.c - the text log of vLLM: its processes and envelopes, start-up, requests of three generations, hand-offs, crashes
 *
 * A record begins with a process, a level and a time at the start of a line, or where line_split() finds one behind a progress bar.
 * Behind an envelope an unknown message is context: the engine says much that is about no request. The time has no
 * year; access lines have none at all and get that of the line before. What LMCache, Dynamo and others write between is
 * handed on. Lines that another format peeled out of its own envelope come here bare.
 */
#include "gateway_access.h"
#include "pagetrail/parser.h"

#include "vllm_words.h"

#include "vllm_line.h"

#include "vllm_custom.h"

#include "vllm_boot.h"
#include "vllm_leg.h"

#include "vllm_dump.h"
#include "vllm_patterns.h"

/* Words that only vLLM writes: with them a message needs no envelope. */
static bool is_own(struct text t)
{
	static const char *const own[] = {
	    "NIXLConnector ",
	    "start_load_kv for request ",
	    "Finished recving KV transfer ",
	    "Finished sending KV transfer ",
	    "GPU KV cache size: ",
	    "Potentially invalid KV blocks for ",
	    "Releasing expired KV blocks ",
	    "Initializing a V1 LLM engine",
	    "Engine 000: Avg prompt ",
	    "Maximum concurrency for ",
	    "NIXL transfer failure: ",
	    "Dumping scheduler output ",
	    "vLLM API server version ",
	    "vLLM server version ",
	};

	return t.len > 0 && memchr("NsFGPRIEMDv", t.ptr[0], 11) && starts_any(t, own, ARRAY_SIZE(own));
}

/* Does it begin as a message of which nobody else has the like? What begins in few letters does not count. */
static bool begins_known(struct text t)
{
	for (size_t i = 0; t.len > 11 && i < ARRAY_SIZE(patterns); i++)
		if (patterns[i].starts[0] == t.ptr[0] && strlen(patterns[i].starts) >= 12 &&
		    text_starts(t, patterns[i].starts) && !text_starts(t, "Uvicorn ") &&
		    !text_starts(t, "Application "))
			return true;
	return is_own(t);
}

/* The same where nothing else says that it is vLLM's log: SGLang, uvicorn and Dynamo have some of the words, too. */
static bool begins_own(struct text t)
{
	static const char *const own[] = {"Received request ", "Added request ", "Aborted request(s) ",
					  "Generated response ", "Reqid: "};

	return starts_any(t, own, ARRAY_SIZE(own));
}

/* A line in the words of a site's own logging (vllm_custom.h). strict: no word of another log. */
static bool read_custom(struct text t, struct arena *a, bool strict, struct line *line)
{
	struct line custom = *line;
	bool own = false;

	if (t.len < 20 || !(t.ptr[0] == '{' ? custom_json(t, a, &custom, &own) : custom_text(t, &custom, &own)) ||
	    !(own || (!strict ? begins_known(custom.message)
			      : begins_own(custom.message) || (t.ptr[0] != '{' && is_own(custom.message)))))
		return false;
	*line = custom;
	line->enveloped = line->custom = true;
	line->uvicorn = false;
	return true;
}

/* Where the words of a refusal begin behind "ValueError: " or "vllm.exceptions.VLLMValidationError: "; 0: nowhere. */
static size_t exception_text(struct text message)
{
	size_t at = text_find(text_sub(message, 0, 120), "Error: ", 0);

	if (at == SIZE_MAX)
		return 0;
	at += sizeof("Error: ") - 1;
	return begins_refusal(text_from(message, at)) ||
		       text_starts(text_from(message, at), "To serve at least one request with ")
		   ? at
		   : 0;
}

/* Why no pattern took a message that begins as one does; NULL when it begins as none. */
static const char *half_known(struct text message)
{
	for (size_t i = 0; message.len >= 12 && i < ARRAY_SIZE(patterns); i++) {
		struct text starts = text_of(patterns[i].starts);

		if (starts.ptr[0] != message.ptr[0] || starts.len < 12)
			continue;
		if (text_eq(text_sub(message, 0, starts.len), starts))
			return "shape";
		if (starts.len > message.len && memcmp(starts.ptr, message.ptr, message.len) == 0)
			return "torn";
	}
	return NULL;
}

/* RECORD_UNPARSED without a reason: no message that is known. */
static int vllm_message(struct parse *p, struct text message)
{
	size_t at;
	int r;

	p->reason = NULL;
	if (message.ptr[0] == ' ' || message.ptr[0] == '\xe2')
		return holds(text_sub(message, 0, 200), "\xe2\x96") ? boot_logo(p, message) : RECORD_UNPARSED;
	r = parse_patterns(p, message);
	if (r != RECORD_UNPARSED || p->reason)
		return r;
	if ((at = exception_text(message)) > 0)
		return parse_patterns(p, text_from(message, at));
	p->reason = half_known(message);
	return RECORD_UNPARSED;
}

/* Hands a part of the record to another format, at the time of its envelope. */
static int hand_on(struct parse *p, struct text part)
{
	struct vllm *s = p->state;
	struct stamp outer = p->fallback;
	int r;

	if (s->line.ts.ns != TIME_UNKNOWN)
		p->fallback = s->line.ts;
	r = parse_delegate(p, part);
	p->fallback = outer;
	return r;
}

static int take_lmcache(struct parse *p, const struct match *m, struct text message)
{
	int r = hand_on(p, message);

	(void)m;
	return r == RECORD_UNPARSED && !p->reason ? RECORD_CONTEXT : r;
}

/* --- times --- */

/* A wrapper's time has a zone and a year, the engine's has neither. */
static void line_stamp(struct parse *p, struct vllm *s)
{
	struct text d = s->line.day;
	struct stamp near = s->last, day;

	if (p->fallback.quality == STAMP_ZONED) {
		s->line.ts = s->last = p->fallback;
		return;
	}
	bool dated = p->fallback.quality != STAMP_NONE && p->fallback.quality != STAMP_MONOTONIC;
	bool same = memcmp(s->day, d.ptr, sizeof(s->day)) == 0;
	if (!same || (s->last.quality != STAMP_YEARLESS && (dated || p->era.quality != STAMP_NONE))) {
		if (near.quality != STAMP_YEARLESS) {
			near = dated ? p->fallback : p->era.quality != STAMP_NONE ? p->era : near;
			if (dated)
				near.quality = STAMP_NAIVE;
		}
		if (!stamp_yearless((d.ptr[0] - '0') * 10 + d.ptr[1] - '0', (d.ptr[3] - '0') * 10 + d.ptr[4] - '0', 0,
				    0, 0, 0, near, &day)) {
			s->line.ts = STAMP_INIT;
			return;
		}
		memcpy(s->day, d.ptr, sizeof(s->day));
		s->day_ns = day.ns;
		s->last.quality = day.quality;
	}
	s->line.ts = (struct stamp){s->day_ns + s->line.time_ns, s->last.quality, NS_PER_S};
	s->last = s->line.ts;
}

/* A line without a time was written at about that of the line before. */
static void stamp_of_neighbour(struct parse *p, struct vllm *s)
{
	if (p->fallback.quality == STAMP_ZONED || s->last.ns == TIME_UNKNOWN)
		return;
	s->line.ts = s->last;
	if (s->last.quality != STAMP_MONOTONIC)
		s->line.ts.quality = STAMP_INTERPOLATED;
}

/* A site's own time has a date. */
static void custom_stamp(struct parse *p, struct vllm *s)
{
	if (p->fallback.quality == STAMP_ZONED && s->line.ts.quality != STAMP_ZONED)
		s->line.ts = p->fallback;
	if (s->line.ts.ns == TIME_UNKNOWN)
		stamp_of_neighbour(p, s);
	else
		s->last = s->line.ts;
}

/* --- uvicorn --- */

/* 10.0.0.9:53132 - "POST /v1/chat/completions HTTP/1.1" 200 OK: by hand, most of a busy server's log */
static int access_line(struct parse *p, struct text t)
{
	static const char *const own[] = {"/version", "/load", "/server_info", "/is_sleeping"};
	size_t quote = text_find_char(text_sub(t, 0, 80), '"', 0), blank, end;
	struct text request, route, status;
	struct event *e;

	if (quote == SIZE_MAX || quote < 2 || t.ptr[quote - 1] != ' ' || t.ptr[quote - 2] != '-')
		return RECORD_UNPARSED;
	end = text_rfind_char(text_sub(t, 0, MIN(t.len, 16 * KIB)), '"');
	request = text_sub(t, quote + 1, end - quote - 1);
	status = text_sub(t, end + 2, 3);
	if (end <= quote || !all_digits(status) || status.len != 3)
		return parse_refuse(p, "torn");
	blank = text_find_char(request, ' ', 0);
	route = text_from(request, blank == SIZE_MAX ? request.len : blank + 1);
	route = text_sub(route, 0, text_find_char(route, ' ', 0));
	route = text_sub(route, 0, text_find_char(route, '?', 0));
	if (text_starts(request, "PRI ") || is_health(route) || one_of(route, own, ARRAY_SIZE(own)))
		return RECORD_CONTEXT;
	e = vllm_begin(p, EVENT_GATEWAY, (struct text){NULL, 0});
	event_text(e, GATEWAY_WHAT, TEXT("access"));
	event_count(e, GATEWAY_STATUS, status);
	event_text(e, GATEWAY_ROUTE, route);
	return vllm_emit(p);
}

static int uvicorn_line(struct parse *p, struct vllm *s)
{
	struct text t = s->line.message;
	int r;

	if (t.len == 0)
		return RECORD_CONTEXT;
	s->follow = text_is(t, "Exception in ASGI application") ? FOLLOW_TRACE : FOLLOW_RECORD;
	r = access_line(p, t);
	if (r == RECORD_UNPARSED && !p->reason)
		r = vllm_message(p, t);
	return r == RECORD_UNPARSED && !p->reason ? RECORD_CONTEXT : r;
}

/* --- records --- */

static int enveloped(struct parse *p, struct vllm *s)
{
	struct text message = s->line.message;
	int r;

	if (!s->line.custom || s->line.day.len)
		line_stamp(p, s);
	else
		custom_stamp(p, s);
	if (message.len == 0) {
		r = RECORD_CONTEXT;
	} else if (message.ptr[0] == '{' || message.ptr[0] == '[') {
		r = hand_on(p, message);
		if (r == RECORD_UNPARSED && !p->reason)
			r = RECORD_CONTEXT;
	} else {
		r = vllm_message(p, message);
	}
	if (r == RECORD_UNPARSED && !p->reason)
		r = RECORD_CONTEXT;
	if (s->torn)
		s->follow = FOLLOW_QUOTE;
	else
		s->follow = text_ends(message, "(most recent call last):") ? FOLLOW_TRACE : FOLLOW_RECORD;
	return r;
}

static bool begins_trace(struct text t)
{
	static const char *const heads[] = {"Traceback (most recent", "During handling of the above",
					    "The above exception was the direct", "Stack (most recent"};

	return starts_any(t, heads, ARRAY_SIZE(heads));
}

static bool names_request(struct text t)
{
	return holds(t, "chatcmpl-") || holds(t, "cmpl-") || holds(t, "request_id") || holds(t, "req_id") ||
	       holds(t, "Reqid: ");
}

/* Indentation, tracebacks and their last lines: RECORD_UNPARSED without a reason when it is none of them. */
static int trace_line(struct parse *p, struct vllm *s)
{
	struct text t = s->line.message;
	bool head = begins_trace(t);
	size_t at;

	if (head || t.ptr[0] == ' ' || t.ptr[0] == '\t') {
		if (is_progress(t) && !names_request(t))
			return RECORD_CONTEXT;
		if (s->follow == FOLLOW_NOTHING)
			return s->line.own_process ? RECORD_CONTEXT : parse_refuse(p, "cut_head");
		if (head)
			s->follow = FOLLOW_TRACE;
		return RECORD_CONTINUES;
	}
	if (!is_exception(t))
		return RECORD_UNPARSED;
	if ((at = exception_text(t)) > 0) {
		s->follow = FOLLOW_TAIL;
		return parse_patterns(p, text_from(t, at));
	}
	if (s->follow != FOLLOW_TRACE)
		return RECORD_UNPARSED;
	s->follow = FOLLOW_TAIL;
	return RECORD_CONTINUES;
}

/* What other programs write into the same stream. */
static bool is_chatter(struct text t)
{
	static const char *const heads[] = {
	    "nohup: ",     "Loading ",     "Capturing ",  "Fetching ",     "Downloading ", "Warning: ", "WARNING: ",
	    "Collecting ", "Requirement ", "Installing ", "Successfully ", "[notice] ",    "[Gloo]",    "[rank",
	};

	return t.ptr[0] == '\r' || is_dots(t) || is_progress(t) || starts_any(t, heads, ARRAY_SIZE(heads)) ||
	       holds(text_sub(t, 0, 160), " NCCL ") || holds(text_sub(t, 0, 160), "Warning: ");
}

static int bare_line(struct parse *p, struct vllm *s)
{
	struct text t = s->line.message;
	bool others = t.len > 0 && (t.ptr[0] == '{' || t.ptr[0] == '[' || is_digit(t.ptr[0]));
	int r = RECORD_UNPARSED;

	stamp_of_neighbour(p, s);
	if (text_trim(t).len == 0)
		return RECORD_CONTEXT;
	if (s->follow == FOLLOW_QUOTE)
		return RECORD_CONTINUES;
	if (s->line.uvicorn)
		return uvicorn_line(p, s);
	if (is_own(t))
		return vllm_message(p, t);
	if (others)
		r = hand_on(p, t);
	if (r != RECORD_UNPARSED || p->reason) {
		s->follow = FOLLOW_RECORD;
		return r;
	}
	r = trace_line(p, s);
	if (r != RECORD_UNPARSED || p->reason)
		return r;
	if (names_request(t))
		return parse_refuse(p, "no_envelope");
	if (s->line.own_process || is_chatter(t)) {
		s->follow = FOLLOW_RECORD;
		return RECORD_CONTEXT;
	}
	if (s->follow == FOLLOW_TRACE || s->follow == FOLLOW_TAIL)
		return RECORD_CONTINUES;
	return parse_refuse(p, s->follow == FOLLOW_NOTHING ? "cut_head" : "foreign");
}

static int vllm_record(struct parse *p, struct text record)
{
	struct vllm *s = p->state;
	size_t cut;

	s->torn = false;
	p->reason = NULL;
	cut = line_cut(record);
	if (cut < record.len && text_find_char(text_sub(record, 0, cut), '\n', 0) == SIZE_MAX)
		return parse_refuse(p, "fused");
	record = unpaint(&p->scratch, record);
	s->line = line_read(record);
	if (!s->line.enveloped && !s->line.uvicorn)
		(void)read_custom(s->line.message, &p->scratch, false, &s->line);
	if (s->dp_size < 2 && s->line.dp.len > 0 && !text_is(s->line.dp, "0"))
		s->dp_size = 2; /* at least */
	return s->line.enveloped ? enveloped(p, s) : bare_line(p, s);
}

static size_t vllm_split(struct parse *p, struct text line)
{
	(void)p;
	return line_split(line);
}

static enum bid vllm_bid(struct parse *p, struct text record)
{
	struct line line = line_read(unpaint(&p->scratch, record));

	if (line.enveloped || line.own_process || is_own(line.message))
		return BID_STRONG;
	if (!line.uvicorn && read_custom(line.message, &p->scratch, true, &line))
		return BID_STRONG;
	if (line.uvicorn && holds(text_sub(line.message, 0, 160), " - \"") &&
	    holds(text_sub(line.message, 0, 160), " /v1/"))
		return BID_WEAK;
	return BID_NO;
}

static int vllm_open(struct parse *p)
{
	struct vllm *s = p->state;

	s->last = STAMP_INIT;
	return 0;
}

const struct parser parser_vllm = {
    .name = "vllm",
    .summary = "vLLM's text log: start-up, KV cache, requests, rejections, hand-offs (NIXL), block tables of a crash",
    .checked = "0.8 to 0.22 output, source of 0.6 to 2026-08 (0.27); loggers that replace its own",
    .shape = SHAPE_LINES,
    .hosts = "dynamo",
    .emits = 1u << EVENT_BOOT | 1u << EVENT_LEG | 1u << EVENT_LOAD | 1u << EVENT_GATEWAY | 1u << EVENT_PAGE,
    .state_bytes = sizeof(struct vllm),
    .patterns = patterns,
    .n_patterns = ARRAY_SIZE(patterns),
    .bid = vllm_bid,
    .split = vllm_split,
    .record = vllm_record,
    .open = vllm_open,
};
