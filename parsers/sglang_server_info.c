/* SPDX-License-Identifier: Apache-2.0 */
/* sglang_server_info.c - format sglang-server-info: what a running SGLang says of itself (/server_info)
 *
 * The answer to GET /server_info (older: /get_server_info), pretty printed or compact; several answers one behind the
 * other, one a line, or as a list; also inside an object that says where and when it was fetched. Every value
 * may be null: null stays unknown. Each data-parallel rank has its own pool: internal_states has one entry a rank.
 * The document holds secrets (api_key): only the fields named here are ever read.
 */
#include <stdio.h>
#include <string.h>

#include "pagetrail/collected.h"
#include "pagetrail/parser.h"

enum { RANKS_MAX = 4096, WORKER_MAX = NAME_MAX_BYTES + 16 };

/* Where an answer may be inside of what a collector wrote around it. */
static const char *const wrappers[] = {"server_info", "get_server_info", "body", "response", "data", "result"};

struct snapshot {
	struct json_value doc;    /* the answer */
	struct json_value states; /* internal_states */
	struct collected from;    /* its worker, as the collector names it; may be empty */
	int64_t ranks;            /* entries of internal_states */
};

static bool is_answer(struct json_value v)
{
	if (!json_is_object(v) || !json_given(json_get(v, "max_total_num_tokens")))
		return json_is_object(v) && json_given(json_get(v, "internal_states")) &&
		       json_given(json_get(v, "version"));
	return json_given(json_get(v, "internal_states")) || json_given(json_get(v, "version")) ||
	       json_given(json_get(v, "model_path")) || json_given(json_get(v, "server_args"));
}

static struct json_value find_answer(struct json_value v)
{
	if (is_answer(v))
		return v;
	for (size_t i = 0; i < ARRAY_SIZE(wrappers); i++) {
		struct json_value inner = json_get(v, wrappers[i]);

		if (is_answer(inner))
			return inner;
	}
	return (struct json_value){0};
}

/* A field of one rank: of the rank itself first, then of the server. Older answers nest the arguments. */
static struct json_value field(const struct snapshot *s, struct json_value rank, const char *key)
{
	static const char *const nests[] = {"server_args", "scheduler_info"};
	struct json_value v = json_get(rank, key);

	if (!json_given(v))
		v = json_get(s->doc, key);
	for (size_t i = 0; i < ARRAY_SIZE(nests) && !json_given(v); i++)
		v = json_get(json_get(s->doc, nests[i]), key);
	return v;
}

static struct json_value server_field(const struct snapshot *s, const char *key)
{
	return field(s, (struct json_value){0}, key);
}

static bool positive(struct json_value v, int64_t *ret)
{
	return json_count(v, ret) && *ret > 0 && *ret <= TOKENS_MAX;
}

static bool copy_count(struct event *e, unsigned column, struct json_value v)
{
	int64_t n;

	if (!positive(v, &n))
		return false;
	event_int(e, column, n);
	return true;
}

static bool copy_text(struct event *e, unsigned column, struct json_value v)
{
	struct text t;

	if (!json_string(v, &t) || t.len == 0)
		return false;
	event_text(e, column, t);
	return true;
}

/* "0.0.0.dev1+gdce8b0606": the part behind +g is the commit, as setuptools-scm writes it. */
static struct text commit_of(struct text version)
{
	size_t from = text_find(version, "+g", 0), end;

	if (from == SIZE_MAX)
		return (struct text){0};
	from += 2;
	for (end = from; end < version.len && strchr("0123456789abcdef", version.ptr[end]) && version.ptr[end]; end++)
		;
	if (end - from < 7 || (end < version.len && version.ptr[end] != '.'))
		return (struct text){0};
	return text_sub(version, from, end - from);
}

static void set_identity(struct event *e, const struct snapshot *s)
{
	struct text t;
	int64_t port;

	event_text(e, BOOT_WHAT, TEXT("snapshot"));
	event_text(e, BOOT_ENGINE, TEXT("sglang"));
	if (json_string(server_field(s, "version"), &t)) {
		event_text(e, BOOT_VERSION, t);
		event_text(e, BOOT_COMMIT, commit_of(t));
	}
	if (!copy_text(e, BOOT_COMMIT, server_field(s, "commit_id")))
		copy_text(e, BOOT_COMMIT, server_field(s, "git_commit"));
	if (!copy_text(e, BOOT_MODEL, server_field(s, "served_model_name")))
		copy_text(e, BOOT_MODEL, server_field(s, "model_path"));
	copy_text(e, BOOT_HOST, server_field(s, "host"));
	if (positive(server_field(s, "port"), &port) && port < 65536)
		event_int(e, BOOT_PORT, port);
}

static void set_mode(struct event *e, const struct snapshot *s)
{
	struct text mode;

	if (!json_string(server_field(s, "disaggregation_mode"), &mode))
		return;
	if (text_is(mode, "null")) { /* the engine's own word for "none", a string */
		event_text(e, BOOT_ROLE, TEXT("unified"));
		return;
	}
	if (!text_is(mode, "prefill") && !text_is(mode, "decode"))
		return;
	event_text(e, BOOT_ROLE, mode);
	/* the back-end has a default value also where nothing is transferred: only here it means something */
	copy_text(e, BOOT_BACKEND, server_field(s, "disaggregation_transfer_backend"));
}

/* Pool, limit and context of one rank. The printed limit is that of the rank that the server asked (the first). */
static void set_capacity(struct event *e, const struct snapshot *s, struct json_value rank)
{
	static const char *const contexts[] = {"context_length", "context_len"};
	struct json_value top = server_field(s, "max_total_num_tokens"), limit = json_get(rank, "max_req_input_len");
	int64_t pool = 0, top_pool = 0, input_limit = 0;

	positive(top, &top_pool);
	if (!positive(json_get(rank, "max_total_num_tokens"), &pool) &&
	    !positive(json_path(rank, "memory_usage.token_capacity"), &pool))
		pool = top_pool;
	if (pool)
		event_int(e, BOOT_POOL, pool);
	if (!json_given(limit) && pool == top_pool)
		limit = server_field(s, "max_req_input_len");
	if (positive(limit, &input_limit))
		event_int(e, BOOT_INPUT_LIMIT, input_limit);
	for (size_t i = 0; i < ARRAY_SIZE(contexts); i++) {
		if (copy_count(e, BOOT_CONTEXT, field(s, rank, contexts[i])))
			return;
	}
	/* limit = min(context - 1, pool - 1) - 5: where it is below the pool, the context is what binds, and known */
	if (pool && input_limit && input_limit + 6 < pool)
		event_int(e, BOOT_CONTEXT, input_limit + 6);
}

static int emit_rank(struct parse *p, const struct snapshot *s, struct json_value rank, int64_t at)
{
	struct event *e = parse_begin(p, EVENT_BOOT, s->from.at);
	char worker[WORKER_MAX];
	int64_t dp = at;
	bool truncate;
	int n;

	set_identity(e, s);
	set_mode(e, s);
	set_capacity(e, s, rank);
	copy_count(e, BOOT_PAGE_SIZE, field(s, rank, "page_size"));
	copy_count(e, BOOT_DP_SIZE, server_field(s, "dp_size"));
	copy_count(e, BOOT_TP_SIZE, server_field(s, "tp_size"));
	if (json_bool(field(s, rank, "allow_auto_truncate"), &truncate))
		event_flag(e, BOOT_AUTO_TRUNCATE, truncate);
	if (s->ranks > 1) {
		if (!json_int64(json_get(rank, "dp_rank"), &dp) || dp < 0 || dp >= RANKS_MAX)
			dp = at;
		n = snprintf(worker, sizeof(worker), "%.*s/dp%d",
			     (int)MIN(s->from.worker.len, (size_t)NAME_MAX_BYTES - 16),
			     s->from.worker.len ? s->from.worker.ptr : "", (int)dp);
		event_worker(e, (struct text){worker, (size_t)n});
	} else if (s->from.worker.len) {
		event_worker(e, s->from.worker);
	}
	return parse_emit(p);
}

static int take_one(struct parse *p, struct json_value outer, struct stamp ts, unsigned *found)
{
	struct snapshot s = {.from.at = ts};
	struct json_iter it;
	struct json_value rank;
	struct text key;
	int64_t at = 0;
	int r;

	s.doc = find_answer(outer);
	if (!json_is_object(s.doc))
		return 0;
	(*found)++;
	collected_fields(&s.from, outer);
	s.states = json_get(s.doc, "internal_states");
	if (json_type(s.states) == JSON_ARRAY) {
		it = json_iter(s.states);
		while (s.ranks < RANKS_MAX && json_next(&it, &key, &rank))
			s.ranks++;
	}
	if (s.ranks == 0)
		return emit_rank(p, &s, s.states, 0); /* very old answers have an object here, or nothing */
	it = json_iter(s.states);
	while (at < s.ranks && json_next(&it, &key, &rank)) {
		r = emit_rank(p, &s, rank, at++);
		if (r < 0)
			return r;
	}
	return 0;
}

static int take(struct parse *p, struct json_value doc, struct stamp ts, unsigned *found)
{
	struct json_value answer = find_answer(doc), list = doc, v;
	struct json_iter it;
	struct text key;
	int r;

	if (json_is_object(answer) || json_type(list) != JSON_ARRAY)
		return take_one(p, doc, ts, found);
	it = json_iter(list);
	while (json_next(&it, &key, &v)) {
		r = take_one(p, v, ts, found);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Several compact answers, one a line: all of them, or none where one cannot be read. */
static int take_lines(struct parse *p, struct text rest, struct stamp ts, bool emit, unsigned *found)
{
	struct json_value doc;
	struct text line;
	int r = 0;

	while (r == 0 && text_split(&rest, '\n', &line)) {
		line = text_trim(line);
		if (line.len == 0 || line.ptr[0] != '{')
			continue;
		r = parse_document(p, line, false, &doc);
		if (r == 0 && emit)
			r = take(p, doc, ts, found);
	}
	return r;
}

static int record(struct parse *p, struct text record)
{
	struct stamp ts = p->fallback;
	struct text rest = collected_header(record, &ts);
	struct json_value doc;
	unsigned found = 0;
	int r;

	if (rest.len == 0)
		return RECORD_CONTEXT;
	r = parse_document(p, rest, p->padded, &doc);
	if (r == 0) {
		r = take(p, doc, ts, &found);
	} else if (r > 0 && json_type(doc) == JSON_NONE) {
		r = take_lines(p, rest, ts, false, &found);
		if (r == 0)
			r = take_lines(p, rest, ts, true, &found);
	}
	if (r)
		return r;
	return found ? RECORD_PARSED : parse_refuse(p, "not_server_info");
}

static enum bid bid(struct parse *p, struct text record)
{
	struct stamp ts = STAMP_INIT;
	struct text rest = collected_header(record, &ts), line;
	struct json_value doc, first = {0};
	struct json_iter it;
	struct text key;

	if (rest.len == 0 || (rest.ptr[0] != '{' && rest.ptr[0] != '['))
		return BID_NO;
	if (text_find(rest, "\"internal_states\"", 0) == SIZE_MAX &&
	    text_find(rest, "\"max_total_num_tokens\"", 0) == SIZE_MAX)
		return BID_NO;
	if (json_parse(p->json, rest, false, &doc, NULL, p->err) != 0 &&
	    (!text_split(&rest, '\n', &line) || json_parse(p->json, line, false, &doc, NULL, p->err) != 0))
		return BID_NO;
	if (json_is_object(find_answer(doc)))
		return BID_STRONG;
	if (json_type(doc) == JSON_ARRAY) {
		it = json_iter(doc);
		if (json_next(&it, &key, &first) && json_is_object(find_answer(first)))
			return BID_STRONG;
	}
	return BID_NO;
}

const struct parser parser_sglang_server_info = {
    .name = "sglang-server-info",
    .summary = "SGLang /server_info snapshot (JSON document)",
    .checked = "real answer of SGLang 0.5.9; sources of 0.4 to 0.5",
    .shape = SHAPE_DOCUMENT,
    .emits = 1u << EVENT_BOOT,
    .bid = bid,
    .record = record,
};
