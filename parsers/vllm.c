/* SPDX-License-Identifier: Apache-2.0 */
/* vllm.c - the text log of vLLM: its processes and envelopes, start-up, requests of three generations, hand-offs, crashes
 *
 * A record begins with a process, a level and a time at the start of a line, or where line_cut() finds one in a torn line.
 * Behind an envelope an unknown message is context: the engine says much that is about no request. The time has no
 * year; access lines have none at all and get that of the line before. What LMCache, Dynamo and others write between is
 * handed on. Lines that another format peeled out of its own envelope come here bare.
 */
#include "pagetrail/parser.h"

#include "vllm_words.h"

#include "vllm_line.h"

#include "vllm_boot.h"
#include "vllm_leg.h"

#include "vllm_dump.h"

#define NUMBER(name) "(?<" name ">[0-9]+(?:,[0-9]{3})*)"
#define ID           "(?<id>\\S{1,1000}?)"

static int take_lmcache(struct parse *p, const struct match *m, struct text message);

/* Order counts: the bulk first. Samples are our own, written from the grammar. */
static const struct line_pattern patterns[] = {
    {
	.name = "stats",
	.starts = "Engine 0",
	.sample = "Engine 000: Avg prompt throughput: 401.7 tokens/s, Avg generation throughput: 1185.5 tokens/s, "
		  "Running: 15 "
		  "reqs, Waiting: 0 reqs, GPU KV cache usage: 9.7%, Prefix cache hit rate: 99.5%",
	.take = take_stats,
    },
    {
	.name = "stats_v0",
	.starts = "Avg prompt throughput: ",
	.sample = "Avg prompt throughput: 10.2 tokens/s, Avg generation throughput: 5.0 tokens/s, Running: 1 reqs, "
		  "Swapped: 0 "
		  "reqs, Pending: 0 reqs, GPU KV cache usage: 0.1%, CPU KV cache usage: 0.0%.",
	.take = take_stats,
    },
    {
	.name = "received",
	.starts = "Received request ",
	.sample = "Received request chatcmpl-8c24fecc6f854a3e: params: SamplingParams(n=1, max_tokens=16), "
		  "lora_request: None.",
	.take = take_received,
    },
    {
	.name = "added",
	.starts = "Added request ",
	.sample = "Added request chatcmpl-8c24fecc6f854a3e-873d5034.",
	.take = take_added,
    },
    {
	.name = "request",
	.starts = "Request ",
	.sample = "Request cmpl-6709d8795d3c4464-0 failed (bad request): The decoder prompt (length 700001) is longer "
		  "than the "
		  "maximum model length of 681280.",
	.take = take_request,
    },
    {
	.name = "generated",
	.starts = "Generated response ",
	.sample = "Generated response chatcmpl-8c24fecc6f854a3e (streaming complete): output: 'x', finish_reason: stop",
	.take = take_generated,
    },
    {
	.name = "finished",
	.starts = "Finished request ",
	.sample = "Finished request cmpl-6709d8795d3c4464-0.",
	.take = take_finished,
    },
    {
	.name = "aborted",
	.starts = "Aborted request",
	.regex = "^Aborted\\x20request(?:\\(s\\))?\\x20\\S",
	.sample = "Aborted request(s) chatcmpl-8c24fecc6f854a3e-873d5034,chatcmpl-77aa00bb11cc22dd-0f0f0f0f.",
	.take = take_aborted,
    },
    {
	.name = "preempted",
	.starts = "Sequence group ",
	.regex = "^Sequence\\x20group\\x20" ID "\\x20is\\x20preempted\\x20by\\x20",
	.sample =
	    "Sequence group cmpl-6709d8795d3c4464-0 is preempted by PreemptionMode.RECOMPUTE mode because there is not "
	    "enough KV cache space. total_num_cumulative_preemption=1",
	.take = take_preempted,
    },
    {
	.name = "lmcache",
	.starts = "Reqid: ",
	.sample = "Reqid: cmpl-6709d8795d3c4464-0, Total tokens 8210, LMCache hit tokens: 8192, need to load: 128",
	.take = take_lmcache,
    },
    {
	.name = "context_length",
	.starts = "This model's maximum context length is ",
	.sample = "This model's maximum context length is 8192 tokens. However, you requested 512 output tokens and "
		  "your prompt "
		  "contains at least 7681 input tokens, for a total of at least 8193 tokens.",
	.take = take_refusal,
    },
    {
	.name = "prompt_too_long",
	.starts = "The ",
	.regex = "^The\\x20(?:decoder\\x20|encoder\\x20)?prompt\\x20\\((?:total\\x20)?length\\x20[0-9]",
	.sample = "The decoder prompt (length 700001) is longer than the maximum model length of 681280.",
	.take = take_refusal,
    },
    {
	.name = "prompt_length",
	.starts = "Prompt length of ",
	.sample = "Prompt length of 700001 is longer than the maximum model length of 681280.",
	.take = take_refusal,
    },
    {
	.name = "input_length",
	.starts = "Input length (",
	.sample = "Input length (700001) exceeds model's maximum context length (681280).",
	.take = take_refusal,
    },
    {
	.name = "input_prompt",
	.starts = "Input prompt (",
	.sample = "Input prompt (700001 tokens) is too long and exceeds limit of 681280",
	.take = take_refusal,
    },
    {
	.name = "max_tokens_too_large",
	.starts = "'max_tokens' or 'max_completion_tokens' is too large: ",
	.sample = "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is "
		  "4096 tokens "
		  "and your request has 200 input tokens (5000 > 4096 - 200).",
	.take = take_refusal,
    },
    {
	.name = "late_read",
	.starts = "Potentially invalid KV blocks for ",
	.regex = "unrecognized\\x20request\\x20" ID "\\x20were\\x20retrieved",
	.sample = "Potentially invalid KV blocks for unrecognized request chatcmpl-8f07dfc0a1b2c3d4-a2f0e657 were "
		  "retrieved by a "
		  "decode worker. They may have expired.",
	.take = take_late_read,
    },
    {
	.name = "expired",
	.starts = "Releasing expired KV blocks for request ",
	.regex = "for\\x20request\\x20" ID "\\x20which\\x20were\\x20retrieved\\x20by\\x20[0-9]+",
	.sample = "Releasing expired KV blocks for request chatcmpl-8f07dfc0a1b2c3d4-a2f0e657 which were retrieved by "
		  "0 remote "
		  "worker(s) before lease expired.",
	.take = take_expired,
    },
    {
	.name = "declined",
	.starts = "Declining expired remote read for ",
	.regex = "read\\x20for\\x20" ID "\\x20from\\x20engine\\x20",
	.sample = "Declining expired remote read for chatcmpl-8f07dfc0a1b2c3d4-a2f0e657 from engine "
		  "2ef84114-0000-4000-8000-000000000002.",
	.take = take_sends,
    },
    {
	.name = "nixl_failure",
	.starts = "NIXL transfer failure: ",
	.sample = "NIXL transfer failure: transfer_setup_failed. Marking blocks as invalid | Context: {'failure_type': "
		  "'transfer_setup_failed', 'request_id': 'chatcmpl-1-9f9f9f9f', 'num_local_blocks': 3}",
	.take = take_nixl_failure,
    },
    {
	.name = "load_failure",
	.starts = "Failing ",
	.regex = "^Failing\\x20[0-9]+\\x20request\\(s\\)\\x20due\\x20to\\x20KV\\x20load\\x20failure",
	.sample = "Failing 2 request(s) due to KV load failure (failure_policy=fail, 96 tokens affected). Request IDs: "
		  "{'cmpl-a-0', "
		  "'cmpl-b-0'}",
	.take = take_load_failure,
    },
    {
	.name = "rejected_there",
	.starts = "Failed to notify KV connector about rejected request ",
	.regex = "rejected\\x20request\\x20" ID "\\.?$",
	.sample = "Failed to notify KV connector about rejected request chatcmpl-8f07dfc0a1b2c3d4",
	.take = take_rejected_there,
    },
    {
	.name = "start_load",
	.starts = "start_load_kv for request ",
	.regex = "for\\x20request\\x20" ID "\\x20from\\x20remote\\x20engine\\x20",
	.sample = "start_load_kv for request cmpl-6709d8795d3c4464-0 from remote engine "
		  "2ef84114-0000-4000-8000-000000000002. Num "
		  "local_block_ids: 4. Num remote_block_ids: 4.",
	.take = take_loads,
    },
    {
	.name = "received_kv",
	.starts = "Finished recving KV transfer for request ",
	.regex = "for\\x20request\\x20" ID "$",
	.sample = "Finished recving KV transfer for request cmpl-6709d8795d3c4464-0",
	.take = take_loads,
    },
    {
	.name = "sent_kv",
	.starts = "Finished sending KV transfer for request ",
	.regex = "for\\x20request\\x20" ID "$",
	.sample = "Finished sending KV transfer for request cmpl-6709d8795d3c4464-0",
	.take = take_sends,
    },
    {
	.name = "read_blocks",
	.starts = "Remote agent ",
	.regex = "calling\\x20_read_blocks\\b.*\\x20for\\x20req\\x20" ID "$",
	.sample = "Remote agent 2ef84114-0000-4000-8000-000000000002 available, calling _read_blocks on remote rank 0 "
		  "with remote "
		  "block size 16 for req cmpl-6709d8795d3c4464-0",
	.take = take_loads,
    },
    {
	.name = "connector",
	.starts = "NIXLConnector ",
	.regex = "^NIXLConnector\\x20[a-z_]+(?:\\(" ID "\\))?"
		 "(?::|,\\x20request_status=(?:RequestStatus\\.)?FINISHED_(?<status>[A-Z_]+))",
	.sample = "NIXLConnector request_finished(cmpl-6709d8795d3c4464-0), request_status=FINISHED_LENGTH_CAPPED, "
		  "kv_transfer_params={'do_remote_decode': True}",
	.take = take_connector,
    },
    {
	.name = "dump",
	.starts = "Dumping scheduler output for model execution:",
	.sample = "Dumping scheduler output for model execution: "
		  "SchedulerOutput(scheduled_new_reqs=[NewRequestData(req_id=cmpl-a-0,"
		  "prompt_token_ids_len=5,block_ids=([17, 18],),num_computed_tokens=0)], finished_req_ids=[])",
	.take = take_dump,
    },
    {
	.name = "dump_alone",
	.starts = "SchedulerOutput(scheduled_new_reqs=",
	.sample = "SchedulerOutput(scheduled_new_reqs=[], scheduled_cached_reqs=[], finished_req_ids=['cmpl-a-0'])",
	.take = take_dump,
    },
    {
	.name = "config",
	.starts = "Initializing a",
	.regex = "^Initializing\\x20an?\\x20(?:V[01]\\x20)?LLM\\x20engine\\x20\\(v?(?<version>[^)\\x20]{1,80})\\)"
		 "\\x20with\\x20"
		 "config:\\x20",
	.sample = "Initializing a V1 LLM engine (v0.22.1) with config: model='acme/m-1t', max_seq_len=8192, "
		  "tensor_parallel_size=1",
	.take = take_config,
    },
    {
	.name = "version",
	.starts = "vLLM ",
	.regex = "^vLLM\\x20(?:API\\x20)?server\\x20version\\x20v?(?<version>[^,\\x20]{1,80})"
		 "(?:,\\x20serving\\x20model\\x20(?<model>\\S{1,300}))?$",
	.sample = "vLLM server version 0.27.0, serving model acme/m-1t",
	.take = take_version,
    },
    {
	.name = "args",
	.starts = "non-default args: {",
	.sample = "non-default args: {'model_tag': 'acme/m-1t', 'max_model_len': 8192}",
	.take = take_args,
    },
    {
	.name = "args_namespace",
	.starts = "args: Namespace(",
	.sample = "args: Namespace(host=None, port=8000, model='acme/m-1t', max_model_len=4096)",
	.take = take_args,
    },
    {
	.name = "pool",
	.starts = "GPU KV cache size: ",
	.regex = "^GPU\\x20KV\\x20cache\\x20size:\\x20" NUMBER(
	    "tokens") "\\x20tokens(?:,\\x20Maximum\\x20concurrency\\x20for\\x20" NUMBER("context") "\\x20tokens)?",
	.sample = "GPU KV cache size: 681,280 tokens, Maximum concurrency for 1,048,576 tokens per request: 0.65x",
	.take = take_pool,
    },
    {
	.name = "concurrency",
	.starts = "Maximum concurrency for ",
	.regex = "^Maximum\\x20concurrency\\x20for\\x20" NUMBER("context") "\\x20tokens\\x20per\\x20request",
	.sample = "Maximum concurrency for 131,072 tokens per request: 5.20x",
	.take = take_pool,
    },
    {
	.name = "blocks",
	.starts = "# ",
	.regex = "^\\#\\x20[A-Za-z]+\\x20blocks:\\x20" NUMBER("blocks") ",\\x20\\#\\x20CPU\\x20blocks:\\x20",
	.sample = "# GPU blocks: 42580, # CPU blocks: 2048",
	.take = take_blocks,
    },
    {
	.name = "ready",
	.starts = "Starting vLLM ",
	.regex = "^Starting\\x20vLLM\\x20(?:API\\x20)?server\\x20(?:[0-9]+\\x20)?on\\x20https?://\\[?(?<host>[^/"
		 "\\x20]+?)\\]?:"
		 "(?<port>[0-9]{1,5})\\b",
	.sample = "Starting vLLM API server 0 on http://0.0.0.0:8000",
	.take = take_ready,
    },
    {
	.name = "listening",
	.starts = "Uvicorn running on ",
	.regex = "https?://\\[?(?<host>[^/\\x20]+?)\\]?:(?<port>[0-9]{1,5})\\b",
	.sample = "Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)",
	.take = take_ready,
    },
    {
	.name = "startup",
	.starts = "Application startup complete.",
	.sample = "Application startup complete.",
	.take = take_ready,
    },
    {
	.name = "never_served",
	.starts = "To serve at least one request with the model",
	.sample = "To serve at least one request with the models's max seq len (1048576), (24.00 GiB KV cache is "
		  "needed, which is "
		  "larger than the available KV cache memory (15.60 GiB).",
	.take = take_stop,
    },
    {
	.name = "fatal",
	.starts = "EngineCore ",
	.regex = "^EngineCore\\x20(?:encountered\\x20a\\x20fatal\\x20error|failed\\x20to\\x20start)",
	.sample = "EngineCore encountered a fatal error.",
	.take = take_stop,
    },
    {
	.name = "engine_died",
	.starts = "Engine core ",
	.regex = "\\bdied\\x20unexpectedly",
	.sample = "Engine core proc EngineCore_DP0 died unexpectedly, shutting down client.",
	.take = take_stop,
    },
    {
	.name = "worker_died",
	.starts = "Worker proc ",
	.regex = "\\bdied\\x20unexpectedly",
	.sample = "Worker proc VllmWorker-0 died unexpectedly, shutting down executor.",
	.take = take_stop,
    },
    {
	.name = "shutting_down",
	.starts = "Shutting down",
	.regex = "^Shutting\\x20down(?:$|\\x20FastAPI)",
	.sample = "Shutting down FastAPI HTTP server.",
	.take = take_stop,
    },
    {
	.name = "shutdown",
	.starts = "Application shutdown complete.",
	.sample = "Application shutdown complete.",
	.take = take_stop,
    },
    {
	.name = "process_finished",
	.starts = "Finished server process",
	.sample = "Finished server process [1]",
	.take = take_stop,
    },
};

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

/* --- uvicorn --- */

/* 10.0.0.9:53132 - "POST /v1/chat/completions HTTP/1.1" 200 OK: by hand, most of a busy server's log */
static int access_line(struct parse *p, struct text t)
{
	static const char *const own[] = {"/health", "/metrics",     "/ping",       "/version",
					  "/load",   "/server_info", "/is_sleeping"};
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
	if (text_starts(request, "PRI ") || starts_any(route, own, ARRAY_SIZE(own)))
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

	line_stamp(p, s);
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

/* Indentation, tracebacks and their last lines: RECORD_UNPARSED without a reason when it is none of them. */
static int trace_line(struct parse *p, struct vllm *s)
{
	struct text t = s->line.message;
	bool head = begins_trace(t);
	size_t at;

	if (head || t.ptr[0] == ' ' || t.ptr[0] == '\t') {
		if (is_progress(t))
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

static bool names_request(struct text t)
{
	return holds(t, "chatcmpl-") || holds(t, "cmpl-") || holds(t, "request_id") || holds(t, "req_id") ||
	       holds(t, "Reqid: ");
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

	s->torn = false;
	p->reason = NULL;
	s->line = line_read(unpaint(&p->scratch, record));
	if (s->dp_size < 2 && s->line.dp.len > 0 && !text_is(s->line.dp, "0"))
		s->dp_size = 2; /* at least */
	return s->line.enveloped ? enveloped(p, s) : bare_line(p, s);
}

static size_t vllm_split(struct parse *p, struct text line)
{
	(void)p;
	return line_cut(line);
}

static enum bid vllm_bid(struct parse *p, struct text record)
{
	struct line line = line_read(unpaint(&p->scratch, record));

	if (line.enveloped || line.own_process || is_own(line.message))
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
    .checked = "0.8 to 0.22 output, source to 2026-08",
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
