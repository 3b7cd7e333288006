/* SPDX-License-Identifier: Apache-2.0 */
/* vllm_boot.h - what a vLLM server says of itself: version, arguments, KV cache, ready, stop; and its statistics
 *
 * Included by vllm.c only. Of arguments only the named keys are read: keys and passwords in there never reach an event.
 * vLLM rejects at max_model_len, whatever the size of its cache (vllm/v1/engine/input_processor.py, 017e9f4448): a
 * boot's input limit is its context.
 */
#pragma once

#include "pagetrail/parser.h"

enum follow {
	FOLLOW_NOTHING = 0, /* nothing seen yet */
	FOLLOW_RECORD,      /* a whole record: indented lines belong to it */
	FOLLOW_TRACE,       /* inside a traceback */
	FOLLOW_TAIL,        /* behind an exception's line: unknown lines belong to it */
	FOLLOW_QUOTE,       /* the record stopped inside a quoted text: nothing is trusted before the next envelope */
};

struct vllm {
	struct line line;  /* of the record at hand */
	struct stamp last; /* newest stamp */
	char day[5];       /* MM-DD of it */
	int64_t day_ns;    /* its midnight */
	enum follow follow;
	bool torn;        /* the repr at hand had no end */
	bool whole_lists; /* the arguments were seen, and set no limit on what is logged of a prompt */
	bool suffixed;    /* a request was seen under both of its names */
	const char *role;
	int64_t context, block_size, dp_size; /* 0: not said */
	char worker[24];
	char received[NAME_MAX_BYTES]; /* the last id that the server called a request */
	size_t n_received;
};

static struct event *vllm_begin(struct parse *p, enum event_kind kind, struct text dp)
{
	struct vllm *s = p->state;
	struct event *e = parse_begin(p, kind, s->line.ts);

	/* builds call a lone engine DP0: it is no rank, its server has one pool */
	if (dp.len > 0 && dp.len < 8 && s->dp_size > 1) {
		memcpy(s->worker, "/dp", 3);
		memcpy(s->worker + 3, dp.ptr, dp.len);
		event_worker(e, (struct text){s->worker, dp.len + 3});
	}
	return e;
}

static int vllm_emit(struct parse *p)
{
	int r = parse_emit(p);

	return r < 0 ? r : RECORD_PARSED;
}

static struct event *boot_begin(struct parse *p, const char *what)
{
	struct vllm *s = p->state;
	struct event *e = vllm_begin(p, EVENT_BOOT, s->line.dp);

	event_text(e, BOOT_WHAT, text_of(what));
	event_text(e, BOOT_ENGINE, TEXT("vllm"));
	if (s->role)
		event_text(e, BOOT_ROLE, text_of(s->role));
	return e;
}

static void boot_context(struct event *e, int64_t context)
{
	if (context <= 0)
		return;
	event_int(e, BOOT_CONTEXT, context);
	event_int(e, BOOT_INPUT_LIMIT, context);
}

static int64_t count_or_zero(struct text digits)
{
	int64_t v;

	return text_count(digits, &v) && v > 0 && v <= TOKENS_MAX ? v : 0;
}

/* --- arguments --- */

static void args_role(struct vllm *s, struct text kv, struct text *ret_connector)
{
	struct text role = py_unquote(py_get(kv, "kv_role")), connector = py_unquote(py_get(kv, "kv_connector"));

	*ret_connector = connector;
	if (kv.len == 0 || text_is(kv, "None"))
		s->role = "unified";
	else if (text_is(role, "kv_producer"))
		s->role = "prefill";
	else if (text_is(role, "kv_consumer"))
		s->role = "decode";
	else if (text_starts(connector, "LMCache") || text_starts(connector, "Offloading") ||
		 text_starts(connector, "SharedStorage"))
		s->role = "unified"; /* kv_both: a cache beside the engine */
	else
		s->role = NULL; /* kv_both: NIXL is told per request */
}

/* A name, or the first of a list of names. */
static struct text first_name(struct text value)
{
	struct py_iter it = py_open(value);
	struct text key, member;

	if (py_is_list(value))
		return py_next(&it, &key, &member) ? py_unquote(member) : (struct text){NULL, 0};
	return py_unquote(value);
}

static int boot_args(struct parse *p, struct py_iter it)
{
	struct text key, value, model = {NULL, 0}, served = {NULL, 0}, host = {NULL, 0}, kv = {NULL, 0};
	struct text port = {NULL, 0}, tp = {NULL, 0}, dp = {NULL, 0}, connector;
	struct vllm *s = p->state;
	struct event *e;

	s->context = s->block_size = s->dp_size = 0;
	s->whole_lists = true;
	while (py_next(&it, &key, &value) && !it.torn) {
		if (text_is(key, "model") || (text_is(key, "model_tag") && model.len == 0))
			model = py_unquote(value);
		else if (text_is(key, "served_model_name"))
			served = first_name(value);
		else if (text_is(key, "host"))
			host = py_unquote(value);
		else if (text_is(key, "port"))
			port = value;
		else if (text_is(key, "max_model_len"))
			s->context = count_or_zero(value);
		else if (text_is(key, "block_size"))
			s->block_size = count_or_zero(value);
		else if (text_is(key, "tensor_parallel_size"))
			tp = value;
		else if (text_is(key, "data_parallel_size"))
			dp = value;
		else if (text_is(key, "kv_transfer_config"))
			kv = value;
		else if (text_is(key, "max_log_len"))
			s->whole_lists = text_is(value, "None");
	}
	s->whole_lists = s->whole_lists && !it.torn;
	if (it.torn)
		s->role = NULL;
	else
		args_role(s, kv, &connector);
	s->dp_size = count_or_zero(dp);
	e = boot_begin(p, "args");
	event_text(e, BOOT_MODEL, served.len ? served : model);
	event_text(e, BOOT_HOST, host);
	event_count(e, BOOT_PORT, port);
	if (!it.torn)
		event_text(e, BOOT_BACKEND, connector);
	if (s->block_size)
		event_int(e, BOOT_PAGE_SIZE, s->block_size);
	event_count(e, BOOT_TP_SIZE, tp);
	event_count(e, BOOT_DP_SIZE, dp);
	boot_context(e, s->context);
	return vllm_emit(p);
}

static int take_args(struct parse *p, const struct match *m, struct text message)
{
	(void)m;
	return boot_args(p, py_open(message));
}

/* Initializing a V1 LLM engine (v0.22.1) with config: model='…', …: one of these from each engine of the server */
static int take_config(struct parse *p, const struct match *m, struct text message)
{
	struct text rest = after(message, "with config: "), key, value, model = {NULL, 0};
	struct py_iter it = {.t = rest, .done = rest.len == 0};
	struct vllm *s = p->state;
	struct text tp = {NULL, 0};
	struct event *e;

	while (py_next(&it, &key, &value)) {
		if (text_is(key, "model") && model.len == 0)
			model = py_unquote(value);
		else if (text_is(key, "served_model_name") && !text_is(value, "None"))
			model = py_unquote(value).len ? py_unquote(value) : value;
		else if (text_is(key, "max_seq_len"))
			s->context = count_or_zero(value);
		else if (text_is(key, "tensor_parallel_size"))
			tp = value;
		else if (text_is(key, "data_parallel_size"))
			s->dp_size = count_or_zero(value);
	}
	e = boot_begin(p, "args");
	event_text(e, BOOT_VERSION, match_group(m, "version"));
	event_text(e, BOOT_MODEL, model);
	event_count(e, BOOT_TP_SIZE, tp);
	if (s->dp_size)
		event_int(e, BOOT_DP_SIZE, s->dp_size);
	boot_context(e, s->context);
	return vllm_emit(p);
}

static int take_version(struct parse *p, const struct match *m, struct text message)
{
	struct event *e = boot_begin(p, "start");

	(void)message;
	event_text(e, BOOT_VERSION, match_group(m, "version"));
	event_text(e, BOOT_MODEL, match_group(m, "model"));
	return vllm_emit(p);
}

/* The logo of block characters has version and model on its right. */
static int boot_logo(struct parse *p, struct text message)
{
	static const char version_mark[] = "  version ", model_mark[] = "  model   ";
	size_t at = text_find(message, version_mark, 0);
	bool version = at != SIZE_MAX;
	struct event *e;

	if (!version && (at = text_find(message, model_mark, 0)) == SIZE_MAX)
		return RECORD_CONTEXT;
	if (!holds(text_sub(message, 0, at), "\xe2\x96"))
		return RECORD_CONTEXT;
	e = boot_begin(p, "start");
	event_text(e, version ? BOOT_VERSION : BOOT_MODEL,
		   text_trim(text_from(message, at + sizeof(version_mark) - 1)));
	return vllm_emit(p);
}

/* The name under which a hand-off knows this engine (kv_transfer_params.remote_engine_id): made up at each start.
 * (distributed/kv_transfer/kv_connector/v1/nixl/, 017e9f4448) */
static int take_engine_id(struct parse *p, const struct match *m, struct text message)
{
	struct event *e = boot_begin(p, "args");

	(void)message;
	event_text(e, BOOT_ENGINE_ID, match_group(m, "id"));
	return vllm_emit(p);
}

/* --- the cache --- */

static int take_pool(struct parse *p, const struct match *m, struct text message)
{
	struct vllm *s = p->state;
	int64_t context = count_or_zero(match_group(m, "context"));
	struct event *e = boot_begin(p, "pool");

	(void)message;
	if (context)
		s->context = context;
	event_count(e, BOOT_POOL, match_group(m, "tokens"));
	boot_context(e, s->context);
	return vllm_emit(p);
}

static int take_blocks(struct parse *p, const struct match *m, struct text message)
{
	struct vllm *s = p->state;
	int64_t blocks = count_or_zero(match_group(m, "blocks"));
	struct event *e = boot_begin(p, "pool");

	(void)message;
	if (blocks && s->block_size && blocks <= TOKENS_MAX / s->block_size)
		event_int(e, BOOT_POOL, blocks * s->block_size);
	boot_context(e, s->context);
	return vllm_emit(p);
}

/* --- ready, stop --- */

static int take_ready(struct parse *p, const struct match *m, struct text message)
{
	struct event *e = boot_begin(p, "ready");

	(void)message;
	event_text(e, BOOT_HOST, match_group(m, "host"));
	event_count(e, BOOT_PORT, match_group(m, "port"));
	return vllm_emit(p);
}

static int take_stop(struct parse *p, const struct match *m, struct text message)
{
	(void)m;
	(void)message;
	boot_begin(p, "stop");
	return vllm_emit(p);
}

/* --- statistics: much of a quiet server's log, so by hand --- */

static struct text number_in(struct text t)
{
	size_t n = 0;

	while (n < t.len && (is_digit(t.ptr[n]) || t.ptr[n] == '.'))
		n++;
	return text_sub(t, 0, n);
}

/* "Running: 15 reqs", "GPU KV cache usage: 9.7%", "2 context requests" */
static unsigned stats_field(struct event *e, struct text part)
{
	const char *colon = memchr(part.ptr, ':', part.len);
	struct text key = text_sub(part, 0, colon ? (size_t)(colon - part.ptr) : 0);
	struct text value = colon ? skip_blanks(text_from(part, key.len + 1)) : part;
	struct text number = number_in(value);
	int64_t ppm;

	if (text_is(key, "Running"))
		event_count(e, LOAD_RUNNING, number);
	else if (text_is(key, "Waiting") || text_is(key, "Pending"))
		event_count(e, LOAD_QUEUED, number);
	else if (text_is(key, "Preemptions"))
		event_count(e, LOAD_RETRACTED, number);
	else if (text_is(key, "GPU KV cache usage") && ppm_of(number, &ppm))
		event_int(e, LOAD_USAGE_PPM, ppm / 100);
	else if (text_ends(part, " context requests"))
		event_count(e, LOAD_NEW_SEQS, number);
	else if (text_ends(part, " context tokens"))
		event_count(e, LOAD_NEW_TOKENS, number);
	else if (text_ends(part, " generation requests"))
		event_count(e, LOAD_RUNNING, number);
	else
		return 0;
	return 1;
}

/* [Engine 000: ]Avg prompt throughput: …, Running: 1 reqs, … and Engine 000: Iteration(5): 2 context requests, … */
static int take_stats(struct parse *p, const struct match *m, struct text message)
{
	struct vllm *s = p->state;
	struct text rest = message, dp = {NULL, 0};
	struct event *e;
	unsigned known = 0;
	size_t at;

	(void)m;
	if (text_starts(message, "Engine ")) {
		size_t n = 0;

		rest = text_from(message, sizeof("Engine ") - 1);
		while (n < rest.len && is_digit(rest.ptr[n]))
			n++;
		dp = text_sub(rest, 0, n);
		while (dp.len > 1 && dp.ptr[0] == '0')
			dp = text_from(dp, 1);
		rest = skip_blanks(text_from(rest, n + 1));
		if (!text_is(dp, "0") && s->dp_size < 2 && dp.len > 0)
			s->dp_size = 2; /* at least */
	}
	if (text_starts(rest, "Iteration(") && (at = text_find(rest, "): ", 0)) != SIZE_MAX)
		rest = text_from(rest, at + 3);
	e = vllm_begin(p, EVENT_LOAD, dp);
	event_text(e, LOAD_WHAT, TEXT("engine"));
	while (rest.len > 0) {
		const char *comma = memchr(rest.ptr, ',', rest.len);
		struct text part = text_sub(rest, 0, comma ? (size_t)(comma - rest.ptr) : rest.len);

		rest = skip_blanks(text_from(rest, part.len + 1));
		if (part.len > 0)
			known += stats_field(e, part);
	}
	return known < 2 ? parse_refuse(p, "torn") : vllm_emit(p);
}
