/* SPDX-License-Identifier: Apache-2.0 */
/* sglang_engine_boot.h - what an engine says of itself: server_args, pools, ready, stop; and its batch lines
 *
 * Included by sglang_engine.c only. Only the named keys of server_args are read; a key or password in there never
 * reaches an event. The ranks of one tensor-parallel group share one pool, and each says so: every line becomes an
 * event. The second "KV Cache is allocated" of one rank in one boot belongs to the draft model.
 */
#pragma once

#include "pagetrail/parser.h"

enum follow {
	FOLLOW_NOTHING = 0, /* nothing seen yet */
	FOLLOW_RECORD,      /* a whole record: indented lines belong to it */
	FOLLOW_TRACE,       /* inside a traceback */
	FOLLOW_TAIL,        /* behind an exception's line or a colon: unknown lines belong to it */
	FOLLOW_QUOTE,       /* the record stopped inside a quoted text: nothing is trusted before the next envelope */
};

struct engine {
	struct line line;  /* of the record at hand */
	struct stamp last; /* newest stamp with a date */
	int64_t day_ns;    /* for envelopes with a time only: days since the first one */
	int64_t day_time;  /* and the last time of day */
	bool enveloped;    /* an envelope was seen in this source */
	bool torn;         /* the repr at hand had no end */
	enum follow follow;
	const char *role;
	char worker[24];
	unsigned n_ranks;
	uint64_t ranks[256]; /* hashes of the tags that have allocated their pool in this boot */
};

static struct event *engine_begin(struct parse *p, enum event_kind kind)
{
	struct engine *s = p->state;
	struct event *e = parse_begin(p, kind, s->line.ts);
	size_t n = s->line.dp.len;

	if (n > 0 && n < sizeof(s->worker) - 3) {
		memcpy(s->worker, "/dp", 3);
		memcpy(s->worker + 3, s->line.dp.ptr, n);
		event_worker(e, (struct text){s->worker, n + 3});
	}
	return e;
}

static int engine_emit(struct parse *p)
{
	int r = parse_emit(p);

	return r < 0 ? r : RECORD_PARSED;
}

static int engine_torn(struct parse *p)
{
	p->reason = "torn";
	return RECORD_UNPARSED;
}

static struct event *boot_begin(struct parse *p, const char *what)
{
	struct engine *s = p->state;
	struct event *e = engine_begin(p, EVENT_BOOT);

	event_text(e, BOOT_WHAT, text_of(what));
	event_text(e, BOOT_ENGINE, TEXT("sglang"));
	if (s->role)
		event_text(e, BOOT_ROLE, text_of(s->role));
	return e;
}

/* --- server_args --- */

enum { ARG_TEXT, ARG_COUNT, ARG_FLAG };

static const struct {
	const char *key;
	unsigned column, type;
} server_args[] = {
    {"served_model_name", BOOT_MODEL, ARG_TEXT},
    {"model_path", BOOT_MODEL, ARG_TEXT},
    {"disaggregation_transfer_backend", BOOT_BACKEND, ARG_TEXT},
    {"host", BOOT_HOST, ARG_TEXT},
    {"port", BOOT_PORT, ARG_COUNT},
    {"context_length", BOOT_CONTEXT, ARG_COUNT},
    {"page_size", BOOT_PAGE_SIZE, ARG_COUNT},
    {"allow_auto_truncate", BOOT_AUTO_TRUNCATE, ARG_FLAG},
    {"dp_size", BOOT_DP_SIZE, ARG_COUNT},
    {"tp_size", BOOT_TP_SIZE, ARG_COUNT},
    {"version", BOOT_VERSION, ARG_TEXT},
    {"sglang_version", BOOT_VERSION, ARG_TEXT},
    {"commit", BOOT_COMMIT, ARG_TEXT},
    {"commit_id", BOOT_COMMIT, ARG_TEXT},
};

static const char *role_of(struct text mode)
{
	if (text_is(mode, "prefill"))
		return "prefill";
	if (text_is(mode, "decode"))
		return "decode";
	return text_is(mode, "null") ? "unified" : NULL;
}

/* Values of server_args[] in the same order; empty where not said. */
static bool args_collect(struct text repr, struct text *values, struct text *ret_mode)
{
	struct py_iter it = py_open(repr);
	struct text key, value;
	bool any = false;

	while (py_next(&it, &key, &value)) {
		if (it.torn)
			break;
		if (text_is(key, "disaggregation_mode"))
			*ret_mode = py_unquote(value);
		for (size_t i = 0; i < ARRAY_SIZE(server_args); i++)
			if (text_is(key, server_args[i].key) && !text_is(value, "None"))
				values[i] = value;
		any = any || key.len > 0;
	}
	/* versions before disaggregation know no mode */
	if (any && !it.torn && ret_mode->len == 0)
		*ret_mode = TEXT("null");
	return any;
}

static int take_server_args(struct parse *p, const struct match *m, struct text message)
{
	struct text values[ARRAY_SIZE(server_args)] = {{NULL, 0}}, mode = {NULL, 0};
	struct engine *s = p->state;
	struct event *e;

	(void)m;
	if (!args_collect(text_from(message, sizeof("server_args=") - 1), values, &mode))
		return engine_torn(p);
	s->n_ranks = 0;
	s->role = role_of(mode);
	e = boot_begin(p, "args");
	/* from the last to the first: served_model_name wins over model_path */
	for (size_t i = ARRAY_SIZE(server_args); i-- > 0;) {
		unsigned column = server_args[i].column;

		if (values[i].len == 0 || (column == BOOT_BACKEND && s->role && strcmp(s->role, "unified") == 0))
			continue;
		if (server_args[i].type == ARG_TEXT)
			event_text(e, column, py_unquote(values[i]));
		else if (server_args[i].type == ARG_COUNT)
			event_count(e, column, values[i]);
		else if (text_is(values[i], "True") || text_is(values[i], "False"))
			event_flag(e, column, text_is(values[i], "True"));
	}
	return engine_emit(p);
}

/* --- pools --- */

static int take_pool(struct parse *p, const struct match *m, struct text message)
{
	struct text pool = py_field(message, "max_total_num_tokens");
	struct event *e;

	(void)m;
	if (pool.len == 0)
		pool = py_field(message, "max_total_num_token");
	if (!all_digits(pool))
		return engine_torn(p);
	e = boot_begin(p, "pool");
	event_count(e, BOOT_POOL, pool);
	event_count(e, BOOT_CONTEXT, py_field(message, "context_len"));
	event_count(e, BOOT_INPUT_LIMIT, py_field(message, "max_req_input_len"));
	event_count(e, BOOT_PAGE_SIZE, py_field(message, "page_size"));
	return engine_emit(p);
}

/* true when this rank had allocated a pool before in this boot */
static bool rank_seen(struct engine *s)
{
	uint64_t hash = text_hash(s->line.tags);

	for (unsigned i = 0; i < s->n_ranks; i++)
		if (s->ranks[i] == hash)
			return true;
	if (s->n_ranks < ARRAY_SIZE(s->ranks))
		s->ranks[s->n_ranks++] = hash;
	return false;
}

static int take_kv_allocated(struct parse *p, const struct match *m, struct text message)
{
	struct text tokens = match_group(m, "tokens");
	struct event *e;

	(void)message;
	e = boot_begin(p, "pool");
	event_count(e, BOOT_POOL, tokens);
	event_flag(e, BOOT_DRAFT, rank_seen(p->state));
	return engine_emit(p);
}

/* Printed before the pool is capped: only the page size is final. */
static int take_kv_sizing(struct parse *p, const struct match *m, struct text message)
{
	struct event *e = boot_begin(p, "pool");

	(void)message;
	event_count(e, BOOT_PAGE_SIZE, match_group(m, "page"));
	return engine_emit(p);
}

/* --- ready, stop, version --- */

static int take_ready(struct parse *p, const struct match *m, struct text message)
{
	(void)m;
	(void)message;
	boot_begin(p, "ready");
	return engine_emit(p);
}

static int take_listening(struct parse *p, const struct match *m, struct text message)
{
	struct event *e = boot_begin(p, "ready");

	(void)message;
	event_text(e, BOOT_HOST, match_group(m, "host"));
	event_count(e, BOOT_PORT, match_group(m, "port"));
	return engine_emit(p);
}

static int take_stop(struct parse *p, const struct match *m, struct text message)
{
	(void)m;
	(void)message;
	boot_begin(p, "stop");
	return engine_emit(p);
}

static int take_version(struct parse *p, const struct match *m, struct text message)
{
	struct event *e = boot_begin(p, "snapshot");

	(void)message;
	event_text(e, BOOT_VERSION, match_group(m, "version"));
	event_text(e, BOOT_COMMIT, match_group(m, "commit"));
	return engine_emit(p);
}

/* --- batches: the bulk of a log, so by hand --- */

static bool field_is(struct text key, const char *name, size_t n)
{
	return key.len == n && memcmp(key.ptr, name, n) == 0;
}
#define FIELD(key, literal) field_is(key, literal, sizeof(literal) - 1)

/* One `name: value` of a batch line; returns 1 when it is one that is kept. */
static unsigned batch_field(struct event *e, struct text key, struct text value)
{
	int64_t ppm;

	if (key.len > 6 && FIELD(text_from(key, key.len - 6), " usage")) {
		if (FIELD(key, "full token usage") || FIELD(key, "token usage") || FIELD(key, "mamba usage")) {
			bool known = e->known >> LOAD_USAGE_PPM & 1;

			if (ppm_of(value, &ppm) && (!known || key.ptr[0] != 'm'))
				event_int(e, LOAD_USAGE_PPM, ppm);
			return 1;
		}
		return 0;
	}
	if (key.len < 6 || key.ptr[0] != '#')
		return 0;
	if (FIELD(key, "#new-seq"))
		event_count(e, LOAD_NEW_SEQS, value);
	else if (FIELD(key, "#new-token"))
		event_count(e, LOAD_NEW_TOKENS, value);
	else if (FIELD(key, "#cached-token"))
		event_count(e, LOAD_CACHED, value);
	else if (FIELD(key, "#running-req"))
		event_count(e, LOAD_RUNNING, value);
	else if (FIELD(key, "#queue-req"))
		event_count(e, LOAD_QUEUED, value);
	else if (FIELD(key, "#token") || FIELD(key, "#full token"))
		event_count(e, LOAD_USED_TOKENS, value);
	else if (FIELD(key, "#retracted-req") || FIELD(key, "#retracted-reqs"))
		event_count(e, LOAD_RETRACTED, value);
	else
		return 0;
	return 1;
}

static int take_batch(struct parse *p, const struct match *m, struct text message)
{
	bool prefill = message.ptr[0] == 'P';
	struct text rest = text_from(message, prefill ? sizeof("Prefill batch") - 1 : sizeof("Decode batch") - 1);
	struct event *e = engine_begin(p, EVENT_LOAD);
	unsigned known = 0;

	(void)m;
	event_text(e, LOAD_WHAT, prefill ? TEXT("prefill") : TEXT("decode"));
	while (rest.len > 0) {
		const char *comma = memchr(rest.ptr, ',', rest.len);
		struct text part = text_sub(rest, 0, comma ? (size_t)(comma - rest.ptr) : rest.len);
		const char *colon;

		rest = text_from(rest, part.len + 1);
		/* the old form has ". " before its first field, others an iteration number */
		while (part.len > 0 && (part.ptr[0] == ' ' || part.ptr[0] == '.'))
			part = text_from(part, 1);
		colon = part.len ? memchr(part.ptr, ':', part.len) : NULL;
		if (!colon)
			continue;
		known += batch_field(e, text_sub(part, 0, (size_t)(colon - part.ptr)),
				     text_trim(text_from(part, (size_t)(colon - part.ptr) + 1)));
	}
	return known < 2 ? engine_torn(p) : engine_emit(p);
}
