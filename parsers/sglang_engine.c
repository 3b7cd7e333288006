/* SPDX-License-Identifier: Apache-2.0 */
/* sglang_engine.c - the text log of an SGLang engine: envelopes, start-up, batches, requests and their failures
 *
 * A record begins with an envelope at the start of a line, or where line_split() finds one behind a progress bar. Bare lines
 * are continuations, lines of other programs, or (in a source without any envelope, or behind an export's time)
 * messages. Behind an envelope an unknown message is context: the engine says much that is about no request.
 */
#include <stdio.h>

#include "pagetrail/parser.h"

#include "log_words.h"

#include "sglang_engine_line.h"

#include "sglang_engine_boot.h"
#include "sglang_engine_chatter.h"
#include "sglang_engine_leg.h"

#include "sglang_engine_access.h"

#define NUMBER(name) "(?<" name ">[0-9]+(?:,[0-9]{3})*)"

/* Order counts: the bulk first. Samples are our own, written from the grammar. */
static const struct line_pattern patterns[] = {
    {
	.name = "decode_batch",
	.starts = "Decode batch",
	.sample = "Decode batch, #running-req: 4, #token: 532160, token usage: 0.78, cuda graph: True, "
		  "gen throughput (token/s): 199.95, #queue-req: 6",
	.take = take_batch,
    },
    {
	.name = "prefill_batch",
	.starts = "Prefill batch",
	.sample = "Prefill batch, #new-seq: 1, #new-token: 8192, #cached-token: 64, token usage: 0.19, "
		  "#running-req: 0, #queue-req: 2, cuda graph: False, input throughput (token/s): 1234.56",
	.take = take_batch,
    },
    {
	.name = "req_time_stats",
	.starts = "ReqTimeStats(rid=",
	.sample = "ReqTimeStats(rid=31c9aa, bootstrap_room=1609004377667269480, input_len=1, cached_input_len=0, "
		  "output_len=1, type=prefill): bootstrap_duration=1.60ms, queue_duration=828.30ms, "
		  "forward_duration=1773.63ms, entry_time=1789355564.310",
	.take = take_time_stats,
    },
    {
	.name = "req_time_stats_old",
	.starts = "Req Time Stats(rid=",
	.sample = "Req Time Stats(rid=31c9aa, input len=38, output len=484, type=unified): queue_duration=0.22ms, "
		  "forward_duration=4936.69ms, start_time=5123.4",
	.take = take_time_stats,
    },
    {
	.name = "receive",
	.starts = "Receive: obj=",
	.sample = "Receive: obj=GenerateReqInput(rid='31c9aa', text='hello', stream=True)",
	.take = take_receive,
    },
    {
	.name = "receive_openai",
	.starts = "Receive OpenAI: obj=",
	.sample = "Receive OpenAI: obj=ChatCompletionRequest(messages=[], model='m-1t', rid='31c9aa', stream=True)",
	.take = take_receive,
    },
    {
	.name = "finish",
	.starts = "Finish: obj=",
	.sample = "Finish: obj=GenerateReqInput(rid='31c9aa'), out={'text': 'x', 'meta_info': {'id': '31c9aa', "
		  "'finish_reason': {'type': 'stop', 'matched': 2}, 'prompt_tokens': 7}}",
	.take = take_finish,
    },
    {
	.name = "access_aiohttp",
	.regex =
	    "^\\S{1,64}\\x20(?:\\S{1,64}\\x20\\S{1,64}\\x20)?\\[(?<clf>[0-9]{1,2}/[A-Z][a-z]{2}/[^\\]]{10,30})\\]\\x20"
	    "\"(?<method>[A-Z]{3,8})\\x20(?<route>[^\\x20\"]*)(?:\\x20HTTP/[0-9.]+)?\"\\x20(?<status>[1-5][0-9]{2})"
	    "(?:\\x20|$)",
	.sample = "10.0.3.9 [14/Sep/2026:03:12:44 +0000] \"GET /route?engine_rank=0 HTTP/1.1\" 200 231 \"-\" \"-\"",
	.take = take_access,
    },
    {
	.name = "input_length",
	.starts = "Input length ",
	.regex = "^Input\\x20length\\x20\\(?(?<least>at\\x20least\\x20)?" NUMBER(
	    "n") "\\b.{0,200}?exceeds"
		 "(?:[^(]{0,200}\\([^0-9)]{0,40}|[^0-9]{0,200})" NUMBER("limit"),
	.sample =
	    "Input length (700123 tokens) exceeds the maximum allowed length (681274 tokens). Use a shorter input or "
	    "enable --allow-auto-truncate., self.rid='31c9aa'",
	.take = take_limit,
    },
    {
	.name = "input_longer",
	.starts = "The input (",
	.regex = "^The\\x20input\\x20\\((?<least>at\\x20least\\x20)?" NUMBER(
	    "n") "\\x20tokens\\)\\x20(?:is\\x20longer|exceeds)"
		 "[^()]{0,160}\\(" NUMBER("limit") "\\x20tokens\\)",
	.sample = "The input (700123 tokens) is longer than the model's context length (681280 tokens).",
	.take = take_limit,
    },
    {
	.name = "requested_tokens",
	.starts = "Requested token count exceeds",
	.regex = "context\\x20length\\x20of\\x20" NUMBER("limit") "\\x20tokens[^:]*:\\x20" NUMBER(
	    "n") "\\x20tokens\\x20from",
	.sample =
	    "Requested token count exceeds the model's maximum context length of 681280 tokens. You requested a total "
	    "of 682000 tokens: 681000 tokens from the input messages and 1000 tokens for the completion.",
	.take = take_limit,
    },
    {
	.name = "request_exceeds",
	.starts = "Request ",
	.regex =
	    "^Request\\x20(?<rid>.{1,300}?)\\x20exceeds\\x20the\\x20maximum\\x20number\\x20of\\x20tokens:\\x20" NUMBER(
		"n") "\\x20>=?\\x20" NUMBER("limit") "\\.?$",
	.sample = "Request 31c9aa exceeds the maximum number of tokens: 700123 > 681280",
	.take = take_limit,
    },
    {
	.name = "request_truncated",
	.starts = "Request length is longer than the ",
	.regex = "Truncated.*?origin_input_ids\\)=" NUMBER("n") ".*?max_req_input_len=" NUMBER("limit"),
	.sample = "Request length is longer than the KV cache pool size or the max context length. Truncated. "
		  "len(req.origin_input_ids)=700123, max_req_input_len=681274.",
	.take = take_limit,
    },
    {
	.name = "multimodal_too_long",
	.starts = "Multimodal prompt is too long",
	.regex = "=>\\x20" NUMBER("n") "\\x20>=?\\x20" NUMBER("limit"),
	.sample = "Multimodal prompt is too long after expanding multimodal tokens. After expanding "
		  "len(req.origin_input_ids_unpadded)=700000 => 700123 >= 681274.",
	.take = take_limit,
    },
    {
	.name = "room_timed_out",
	.starts = "Request ",
	.regex = "^Request\\x20(?<room>[0-9]+)\\x20timed\\x20out",
	.sample = "Request 1609004377667269480 timed out after 300.0s in KVPoll.Bootstrapping",
	.take = take_room_failed,
    },
    {
	.name = "leg_failed",
	.regex = "^(?<stage>(?<side>[A-Z][A-Za-z]{2,30})\\x20[a-z][a-z\\x20_]{2,40}\\x20failed)\\x20for\\x20request"
		 "(?:\\x20rank=(?<rank>[0-9]+))?",
	.sample = "Decode transfer failed for request rank=1 decode_req.req.rid='32b8aa' "
		  "decode_req.req.bootstrap_room=1609004377667269480 with exception "
		  "KVTransferError(bootstrap_room=1609004377667269480): Aborted by AbortReq.",
	.take = take_leg_failed,
    },
    {
	.name = "nixl_room",
	.starts = "NIXL transport error for room ",
	.regex = "room\\x20(?<room>[0-9]+)",
	.sample = "NIXL transport error for room 1609004377667269480: NIXL_ERR_REMOTE_DISCONNECT",
	.take = take_room_failed,
    },
    {
	.name = "transfer_room",
	.starts = "Transfer failed for room ",
	.regex = "room\\x20(?<room>[0-9]+)",
	.sample = "Transfer failed for room 1609004377667269480: NIXL_ERR_BACKEND",
	.take = take_room_failed,
    },
    {
	.name = "worker_room",
	.starts = "Unexpected transfer worker error for room ",
	.regex = "room\\x20(?<room>[0-9]+)",
	.sample = "Unexpected transfer worker error for room 1609004377667269480",
	.take = take_room_failed,
    },
    {
	.name = "corruption",
	.regex = "^(?:Context|Metadata)\\x20corruption\\x20detected(?:.*?Request\\x20(?<rid>\\S{1,300})\\x20\\("
		 "bootstrap_room="
		 "(?<room>[0-9]+)\\))?",
	.sample =
	    "Context corruption detected: Request 32b8aa (bootstrap_room=1609004377667269480) received metadata from "
	    "bootstrap_room=1609004377667269481.",
	.take = take_room_failed,
    },
    {
	.name = "abort",
	.starts = "Abort ",
	.regex = "^Abort\\x20[a-z][a-z\\x20-]{0,80}\\brequests?\\b.*?rid=",
	.sample = "Abort queued request. rid='31c9aa'",
	.take = take_aborted,
    },
    {
	.name = "state_deleted",
	.starts = "Received output for ",
	.regex = "rid=.*state\\x20was\\x20deleted",
	.sample = "Received output for rid='31c9aa' but the state was deleted in TokenizerManager.",
	.take = take_aborted,
    },
    {
	.name = "warmup",
	.starts = "End of prefill disaggregation mode warmup",
	.sample = "End of prefill disaggregation mode warmup with status 200, resp: [{'text': '-', 'meta_info': {'id': "
		  "'40cc', 'response_sent_to_client_ts': 1789354880.81}}]",
	.take = take_warmup,
    },
    {
	.name = "client_gone",
	.starts = "Request is disconnected from the client side",
	.sample = "Request is disconnected from the client side (type 1). Abort request obj.rid='31c9aa'",
	.take = take_aborted,
    },
    {
	.name = "pool_exhausted",
	.regex = "^(?:Out\\x20of\\x20memory\\x20even\\x20after\\x20retracting|"
		 "Retraction\\x20host\\x20KV\\x20pool\\x20exhausted)",
	.sample =
	    "Out of memory even after retracting all other requests in the decode batch. Aborting the last request.",
	.take = take_aborted,
    },
    {
	.name = "retracted",
	.regex = "^[A-Za-z][A-Za-z,.\\x20]{0,120}\\#retracted_reqs:\\x20?" NUMBER("n"),
	.sample = "KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_tokens_gained: 123, "
		  "#new_token_ratio: 0.56 -> 0.61",
	.take = take_retracted,
    },
    {
	.name = "server_args",
	.starts = "server_args=",
	.sample = "server_args=ServerArgs(model_path='m-1t', context_length=1048576, page_size=64, tp_size=8)",
	.take = take_server_args,
    },
    {
	.name = "pool",
	.starts = "max_total_num_token",
	.sample = "max_total_num_tokens=681280, chunked_prefill_size=8192, max_prefill_tokens=16384, "
		  "max_running_requests=2048, context_len=1048576, available_gpu_mem=8.16 GB",
	.take = take_pool,
    },
    {
	.name = "kv_allocated",
	.starts = "KV Cache is allocated.",
	.regex = "\\#tokens:\\x20?" NUMBER("tokens"),
	.sample = "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 681280, K size: 1.42 GB, V size: 1.42 GB",
	.take = take_kv_allocated,
    },
    {
	.name = "kv_sizing",
	.starts = "KV pool sizing:",
	.regex = "page_size=" NUMBER("page"),
	.sample = "KV pool sizing: available_bytes=1000000 (0.01 GiB), cell_size=2, page_size=64 -> "
		  "max_total_num_tokens=338176",
	.take = take_kv_sizing,
    },
    {
	.name = "ready",
	.starts = "The server is fired up",
	.sample = "The server is fired up and ready to roll!",
	.take = take_ready,
    },
    {
	.name = "listening",
	.starts = "Uvicorn running on ",
	.regex = "https?://\\[?(?<host>[^/\\x20]+?)\\]?:(?<port>[0-9]{1,5})\\b",
	.sample = "Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)",
	.take = take_listening,
    },
    {
	.name = "process_finished",
	.starts = "Finished server process",
	.sample = "Finished server process [4711]",
	.take = take_stop,
    },
    {
	.name = "exiting",
	.starts = "Gracefully exiting",
	.sample = "Gracefully exiting... Remaining number of requests 0. Remaining requests remaining_rids=[].",
	.take = take_stop,
    },
    {
	.name = "child_failed",
	.regex = "^(?:Received\\x20sigquit\\x20from|SIGQUIT\\x20received)",
	.sample = "Received sigquit from a child process. It usually means the child failed.",
	.take = take_stop,
    },
    {
	.name = "scheduler_died",
	.regex = "^(?:Scheduler|DataParallelController|Detokenizer(?:Manager)?)\\x20hit\\x20an\\x20exception",
	.sample = "Scheduler hit an exception: Traceback (most recent call last):",
	.take = take_stop,
    },
    {
	.name = "version",
	.regex =
	    "^(?:sglang|SGLang)(?:\\x20[Vv]ersion)?(?:==|:\\x20?|=|\\x20)v?(?<version>[0-9]+\\.[0-9][0-9A-Za-z.+-]*)"
	    "(?:[,\\x20(]+(?:git\\x20)?(?:commit|sha)[=:\\x20]*(?<commit>[0-9a-f]{7,40})\\)?)?$",
	.sample = "sglang: 0.5.10.post1",
	.take = take_version,
    },
};

/* --- what a message is --- */

/* Words that only this engine writes. */
static bool is_own(struct text t)
{
	static const char *const own[] = {
	    "Prefill batch, #",
	    "Prefill batch. #",
	    "Prefill batch [",
	    "Decode batch, #",
	    "Decode batch. #",
	    "Decode batch [",
	    "server_args=Server",
	    "max_total_num_token",
	    "ReqTimeStats(rid=",
	    "Req Time Stats(rid=",
	    "KV Cache is alloc",
	    "KV pool sizing: ",
	    "Input length (",
	    "Request length is lo",
	    "The server is fired ",
	    "KV cache pool is full. Retract",
	    "Prefill bootstrap ",
	    "Prefill transfer f",
	    "Decode transfer f",
	    "Decode handshake f",
	    "Finish: obj=",
	    "Receive: obj=",
	    "Memory pool end. ",
	    "Load weight begin. ",
	    "Load weight end. ",
	    "Unexpected transfer w",
	    "NIXL transport error for room ",
	};

	return t.len > 0 && strchr("PDsmRKITFMLUN", t.ptr[0]) && starts_any(t, own, ARRAY_SIZE(own));
}

/* Where a rejection begins in "[http_server] Error: The input (…" or "ValueError: Input length (…"; 0 if nowhere. */
static size_t rejection_at(struct text message)
{
	static const char *const starts[] = {"Input length ", "The input (", "Requested token count exceeds",
					     "Request is disconnected from the client side",
					     "Multimodal prompt is too long"};
	struct text head = unquoted(text_sub(message, 0, 120));
	size_t at = 0;

	while ((at = text_find(head, ": ", at)) != SIZE_MAX) {
		at += 2;
		if (holds(text_sub(head, 0, at), "rror") &&
		    starts_any(text_from(message, at), starts, ARRAY_SIZE(starts)))
			return at;
	}
	return 0;
}

/* A failure in words that no pattern knows, but with its room: "… room 123 …", "bootstrap_room=123". */
static bool unlisted_failure(struct text message, struct text *ret_room)
{
	static const char *const words[] = {"fail",  "Fail",      "error",   "Error",   "abort",
					    "Abort", "timed out", "timeout", "mismatch"};
	struct text head = unquoted(text_sub(message, 0, 4096));
	size_t at = 0;
	bool bad = false;

	while ((at = text_find(head, "room", at)) != SIZE_MAX) {
		size_t from = at += sizeof("room") - 1, n = 0;

		while (from < head.len && memchr(" =:", head.ptr[from], 3))
			from++;
		while (from + n < head.len && is_digit(head.ptr[from + n]))
			n++;
		*ret_room = text_sub(head, from, n);
		if (from > at && n >= 6 && n <= 20)
			break;
	}
	for (size_t i = 0; at != SIZE_MAX && !bad && i < ARRAY_SIZE(words); i++)
		bad = holds(head, words[i]);
	return bad;
}

static int engine_unlisted(struct parse *p, struct text message, struct text room)
{
	struct event *e = leg_begin(p, "failed");

	leg_room(e, room);
	event_text(e, LEG_RID, py_field(message, "rid"));
	event_text(e, LEG_MESSAGE, message);
	return engine_emit(p);
}

/* Why no pattern took a message that begins as one does; NULL when it begins as none. */
static const char *half_known(struct text message)
{
	static const char *const openings[] = {
	    "Prefill bootstrap failed for request", "Prefill transfer failed for request",
	    "Decode handshake failed for request",  "Decode transfer failed for request",
	    "KV cache pool is full. Retract",       "Decode out of memory happened",
	};

	for (size_t i = 0; i < ARRAY_SIZE(patterns) + ARRAY_SIZE(openings); i++) {
		size_t o = i - ARRAY_SIZE(patterns);
		const char *opening = i < ARRAY_SIZE(patterns) ? patterns[i].starts : openings[o];
		struct text starts;

		if (!opening || message.len == 0 || opening[0] != message.ptr[0])
			continue;
		starts = text_of(opening);
		if (starts.len >= 12 && message.len >= starts.len && memcmp(starts.ptr, message.ptr, starts.len) == 0)
			return "shape";
		if (message.len >= 6 && starts.len > message.len && memcmp(starts.ptr, message.ptr, message.len) == 0)
			return "torn";
	}
	return NULL;
}

/* RECORD_UNPARSED without a reason: no engine message that is known. */
static int engine_message(struct parse *p, struct text message)
{
	struct engine *s = p->state;
	struct text room;
	size_t at;
	int r;

	p->reason = NULL;
	r = access_line(p, message);
	if (r == RECORD_UNPARSED)
		r = parse_patterns(p, message);
	if (r != RECORD_UNPARSED || p->reason)
		return r;
	if ((at = rejection_at(message)) > 0)
		return parse_patterns(p, text_from(message, at));
	if ((s->line.style != STYLE_BARE || s->line.exported) && unlisted_failure(message, &room))
		return engine_unlisted(p, message, room);
	p->reason = half_known(message);
	return RECORD_UNPARSED;
}

/* Seconds or milliseconds since the epoch. */
static bool json_time(double number, char tmp[static 40], struct stamp *ret)
{
	int n = number > 0 && number < 1e15 ? snprintf(tmp, 40, "%.6f", number) : 0;

	return n > 0 && n < 40 && stamp_parse_epoch((struct text){tmp, (size_t)n}, ret) && ret->quality == STAMP_ZONED;
}

/* A logging set-up of the site that writes JSON: the message is one of its values. */
static int engine_json_line(struct parse *p, struct text record)
{
	static const char *const times[] = {"timestamp", "asctime", "time", "ts", "@timestamp"};
	struct engine *s = p->state;
	struct json_value v;
	struct text text;
	size_t used;
	int r = json_parse(p->json, record, false, &v, NULL, p->err);

	if (r != 0 || (!json_string(json_get(v, "message"), &text) && !json_string(json_get(v, "msg"), &text) &&
		       !json_string(json_get(v, "event"), &text)))
		return r < 0 ? r : RECORD_UNPARSED;
	s->line.message = text_sub(text, 0, MIN(text_find_char(text, '\n', 0), text.len));
	r = parse_contradicts(p, v);
	if (r)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(times) && s->line.ts.ns == TIME_UNKNOWN; i++) {
		struct json_value at = json_get(v, times[i]);
		char tmp[40];
		double number;

		if (json_string(at, &text) ? !stamp_parse_iso(text, &s->line.ts, &used)
					   : !json_double(at, &number) || !json_time(number, tmp, &s->line.ts))
			s->line.ts = STAMP_INIT;
	}
	strip_prefixes(&s->line, true);
	if (!is_own(s->line.message))
		return RECORD_UNPARSED;
	p->reason = NULL;
	return engine_message(p, s->line.message);
}

static int engine_json(struct parse *p, struct text message)
{
	struct engine *s = p->state;
	struct stamp outer = p->fallback;
	int r;

	if (s->line.ts.ns != TIME_UNKNOWN)
		p->fallback = s->line.ts;
	r = parse_delegate(p, message);
	p->fallback = outer;
	if (r == RECORD_UNPARSED && s->line.style == STYLE_BARE)
		r = engine_json_line(p, message);
	if (r == RECORD_UNPARSED && !p->reason)
		p->reason = "foreign_json";
	return r;
}

/* --- records --- */

/* Gives a time without a date the date that follows from what is known: the nearest to when a wrapper read it; behind
 * another record time goes on, but for an hour that a clock is set back by. */
static void engine_date(struct parse *p, struct engine *s)
{
	const int64_t day = 86400 * NS_PER_S, half = day / 2;
	int64_t back = p->fallback.quality == STAMP_INTERPOLATED ? day / 24 : half;
	int64_t time = s->line.ts.ns, ns;

	if ((p->fallback.quality == STAMP_NAIVE || p->fallback.quality == STAMP_INTERPOLATED) &&
	    p->fallback.ns > 366 * day && p->fallback.ns < INT64_MAX - 2 * day) {
		ns = p->fallback.ns / day * day + time;
		ns += ns - p->fallback.ns > day - back ? -day : p->fallback.ns - ns > back ? day : 0;
		s->line.ts = (struct stamp){ns, STAMP_NAIVE, NS_PER_S};
		return;
	}
	if (s->day_time - time > half)
		s->day_ns += day;
	ns = s->day_ns + time;
	if (time - s->day_time > half && s->day_ns > 0)
		ns -= day;
	else
		s->day_time = time;
	s->line.ts = (struct stamp){ns, STAMP_MONOTONIC, NS_PER_S};
}

static int engine_enveloped(struct parse *p, struct engine *s)
{
	struct text message = s->line.message;
	int r;

	s->enveloped = true;
	/* a wrapper's time says when the line was read: it is good for what has none, or no date */
	if (p->fallback.quality == STAMP_ZONED &&
	    (s->line.ts.ns == TIME_UNKNOWN || (s->line.style == STYLE_TIME_ONLY && !s->line.exported)))
		s->line.ts = p->fallback;
	else if (s->line.style == STYLE_TIME_ONLY && !s->line.exported)
		engine_date(p, s);
	s->last = s->line.ts;
	if (message.len > 0 && message.ptr[0] == '{')
		r = engine_json(p, message);
	else
		r = message.len > 0 ? engine_message(p, message) : RECORD_CONTEXT;
	if (r == RECORD_UNPARSED && !p->reason)
		r = RECORD_CONTEXT;
	if (s->torn)
		s->follow = FOLLOW_QUOTE;
	else if (text_ends(message, "(most recent call last):"))
		s->follow = FOLLOW_TRACE;
	else
		s->follow = text_ends(message, ":") ? FOLLOW_TAIL : FOLLOW_RECORD;
	return r;
}

/* A line without a time of its own: is it a message all the same? */
static int bare_message(struct parse *p, struct engine *s)
{
	struct text before = s->line.message, message;
	bool uvicorn =
	    text_starts(before, "INFO:  ") || text_starts(before, "WARNING:  ") || text_starts(before, "ERROR:  ");
	int r = RECORD_UNPARSED;

	strip_prefixes(&s->line, false);
	message = s->line.message;
	if (s->line.exported || !s->enveloped || uvicorn || text_starts(message, "Finish: obj=") ||
	    text_starts(message, "Receive: obj=") || text_starts(before, "[gpu_id="))
		r = engine_message(p, message);
	else if (half_known(message))
		p->reason = "no_envelope";
	if (r == RECORD_UNPARSED && !p->reason && uvicorn)
		r = RECORD_CONTEXT;
	s->line.message = before;
	return r;
}

/* The rest of a record that came before, or RECORD_UNPARSED. */
static int bare_rest(struct parse *p, struct engine *s)
{
	struct text t = s->line.message;
	size_t at;

	if (s->follow == FOLLOW_QUOTE)
		return RECORD_CONTINUES;
	if (s->follow == FOLLOW_TRACE && is_exception(t)) {
		s->follow = FOLLOW_TAIL;
		at = rejection_at(t);
		return at ? parse_patterns(p, text_from(t, at)) : RECORD_CONTINUES;
	}
	if (!is_continuation(t) || is_progress(t))
		return RECORD_UNPARSED;
	if (s->follow == FOLLOW_NOTHING) {
		p->reason = "cut_head";
		return RECORD_UNPARSED;
	}
	if (t.ptr[0] == 'T')
		s->follow = FOLLOW_TRACE;
	return RECORD_CONTINUES;
}

/* Part of a record that was torn, whatever else its text looks like: some of it may be a client's. */
static bool is_part(struct text t)
{
	return holds(t, "bootstrap_room=") || holds(t, "rid='") || holds(t, "token usage:") || holds(t, "input_len=");
}

static bool odd_quotes(struct text t)
{
	bool odd = false;

	for (size_t i = 0; i < t.len; i++)
		odd ^= t.ptr[i] == '"';
	return odd;
}

static int engine_bare(struct parse *p, struct engine *s)
{
	struct text t = s->line.message;
	bool part;
	int r;

	if (s->line.ts.ns == TIME_UNKNOWN && p->fallback.quality != STAMP_ZONED && s->last.ns != TIME_UNKNOWN &&
	    s->last.quality != STAMP_NONE) {
		s->line.ts = s->last;
		if (s->last.quality != STAMP_MONOTONIC)
			s->line.ts.quality = STAMP_INTERPOLATED;
	}
	if (text_trim(t).len == 0)
		return RECORD_CONTEXT;
	r = bare_rest(p, s);
	if (r != RECORD_UNPARSED || p->reason)
		goto out;
	r = t.ptr[0] == '{' ? engine_json(p, t) : bare_message(p, s);
	if (r != RECORD_UNPARSED) {
		/* without envelopes nothing would ever end the quote of a record that was cut short */
		s->follow = s->torn && s->enveloped ? FOLLOW_QUOTE : FOLLOW_RECORD;
		return r;
	}
	if (!p->reason && is_dots(t) && (t.len == 3 || t.len == 4))
		p->reason = "elided"; /* whoever published the log left something out */
	part = is_part(t);
	if (!p->reason && !part && (is_chatter(t) || is_dots(t))) {
		s->follow = t.len < 4096 && odd_quotes(t) ? FOLLOW_TAIL : FOLLOW_RECORD;
		return RECORD_CONTEXT;
	}
	if (!p->reason && (s->follow == FOLLOW_TAIL || s->follow == FOLLOW_TRACE))
		return RECORD_CONTINUES;
	if (!p->reason)
		p->reason = part ? "torn" : s->follow == FOLLOW_NOTHING ? "cut_head" : "foreign";
out:
	if (s->follow == FOLLOW_NOTHING)
		s->follow = FOLLOW_RECORD;
	return r;
}

/* Is there a second envelope where nobody would look for it, because the record begins as none? What comes behind a line end
 * is the text of whoever wrote it. */
static bool is_fused(struct text record)
{
	size_t at = is_bracket(record) ? record.len : line_cut(record);

	return at < record.len && text_find_char(text_sub(record, 0, at), '\n', 0) == SIZE_MAX;
}

static int sglang_engine_record(struct parse *p, struct text record)
{
	struct engine *s = p->state;

	s->torn = false;
	p->reason = NULL;
	s->line = line_read(unpaint(&p->scratch, record));
	if ((s->line.style != STYLE_BARE || s->follow != FOLLOW_QUOTE) && is_fused(record))
		return parse_refuse(p, "fused");
	return s->line.style == STYLE_BARE ? engine_bare(p, s) : engine_enveloped(p, s);
}

static size_t sglang_engine_split(struct parse *p, struct text line)
{
	(void)p;
	return line_split(line);
}

/* --- bids --- */

/* {"asctime": "…", "message": "Decode batch, #…"}: looked at without parsing, and only at the top level, because
 * other formats hold the engine's words deeper down. */
static bool json_is_own(struct text t)
{
	unsigned depth = 0;
	bool torn = false;

	t = text_sub(t, 0, 1024);
	for (size_t at = 0; at < t.len; at++) {
		size_t end;

		depth += t.ptr[at] == '{' || t.ptr[at] == '[';
		depth -= depth > 0 && (t.ptr[at] == '}' || t.ptr[at] == ']');
		if (t.ptr[at] != '"')
			continue;
		end = py_string_end(t, at, &torn);
		size_t key = depth != 1                                      ? 0
			     : text_starts(text_from(t, at), "\"message\":") ? 10
			     : text_starts(text_from(t, at), "\"event\":")   ? 8
									     : 0;
		if (key) {
			t = skip_blanks(text_from(t, at + key));
			return t.len > 1 && t.ptr[0] == '"' && is_own(text_from(t, 1));
		}
		at = end - 1;
	}
	return false;
}

static enum bid sglang_engine_bid(struct parse *p, struct text record)
{
	struct line line = line_read(unpaint(&p->scratch, record));

	if (line.message.len > 0 && line.message.ptr[0] == '{' && line.style == STYLE_BARE)
		return json_is_own(line.message) ? BID_STRONG : BID_NO;
	if (is_own(line.message))
		return BID_STRONG;
	if (line.comma_fraction || (line.style != STYLE_BRACKET && line.style != STYLE_TIME_ONLY))
		return BID_NO;
	if (line.tags.len > 0)
		return BID_STRONG;
	return line.style == STYLE_BRACKET ? BID_WEAK : BID_NO;
}

static int sglang_engine_open(struct parse *p)
{
	struct engine *s = p->state;

	s->last = STAMP_INIT;
	return 0;
}

const struct parser parser_sglang_engine = {
    .name = "sglang-engine",
    .summary = "SGLang engine's text log: start-up, pools, batches, requests, rejections, failed transfers",
    .checked = "0.4.3 to 0.5.10 output, source to 0.5.2x",
    .shape = SHAPE_LINES,
    .emits = 1u << EVENT_BOOT | 1u << EVENT_LEG | 1u << EVENT_LOAD | 1u << EVENT_GATEWAY,
    .state_bytes = sizeof(struct engine),
    .patterns = patterns,
    .n_patterns = ARRAY_SIZE(patterns),
    .bid = sglang_engine_bid,
    .split = sglang_engine_split,
    .record = sglang_engine_record,
    .open = sglang_engine_open,
};
