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
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pagetrail/parser.h"

enum role {
	NO_ROLE,
	START,
	END,
	LOGGED, /* times */
	MS,
	SECONDS,
	US,
	NS,
	DURATION, /* durations; the last of unknown unit */
	ID,
	HOP_ID,
	ASKED_ID,
	ANY_ID,
	RESPONSE,
	TRACE,
	ROOM,
	TENANT,
	MODEL,
	STATUS,
	SUCCESS,
	CODE,
	UPSTREAM_STATUS,
	UPSTREAM,
	FLAGS,
	DETAILS,
	GONE,
	INPUT,
	INPUT_FRESH,
	CACHE_READ,
	CACHE_MADE,
	OUTPUT,
	TOTAL,
	ESTIMATED,
	FLAG,
	BYTES_IN,
	BYTES_OUT,
	STREAM,
	CONTENT_TYPE,
	FIRST_TOKEN,
	FINISH,
	MESSAGE,
	ROUTE,
	REQUEST_LINE,
	BATCH,
	WHAT,
	OBJECT,
	LEVEL,
	TEXT_LINE,
	MARK,
	ROLES,
};

enum product { NONE, ENVOY, KONG, LITELLM, CADDY, NGINX, CLOUDFLARE, AI, PRODUCTS };

enum { PATH_MAX_BYTES = 64, DEPTH_MAX = 6, ID_TMP = 32, LIST_MAX = 64 };

struct alias {
	const char *path;
	uint8_t role, rank; /* lower ranks win */
	uint8_t product;    /* whose key this is, if it is one product's alone */
};

/* clang-format off */
static const struct alias aliases[] = {
	/* Envoy, Istio, Envoy AI Gateway; OpenTelemetry's names */
	{"start_time", START, 0, 0}, {"response_code", STATUS, 0, ENVOY}, {"response_flags", FLAGS, 0, ENVOY},
	{"response_code_details", DETAILS, 0, ENVOY}, {"bytes_received", BYTES_IN, 0, 0}, {"bytes_sent", BYTES_OUT, 0, 0},
	{"upstream_host", UPSTREAM, 0, ENVOY}, {"upstream_cluster", MARK, 0, ENVOY},
	{"x_envoy_upstream_service_time", MARK, 0, ENVOY}, {"x_envoy_origin_path", ROUTE, 1, ENVOY},
	{"x_envoy_original_path", ROUTE, 1, ENVOY}, {"upstream_transport_failure_reason", MESSAGE, 5, ENVOY},
	{"llm_input_token", INPUT, 1, ENVOY}, {"llm_output_token", OUTPUT, 1, ENVOY}, {"llm_total_token", TOTAL, 1, ENVOY},
	{"gen_ai.request.model", MODEL, 0, AI}, {"gen_ai.response.model", MODEL, 3, AI},
	{"gen_ai.response.id", RESPONSE, 0, AI}, {"gen_ai.response.finish_reasons", FINISH, 0, AI},
	{"gen_ai.usage.input_tokens", INPUT, 0, AI}, {"gen_ai.usage.prompt_tokens", INPUT, 1, AI},
	{"gen_ai.usage.output_tokens", OUTPUT, 0, AI}, {"gen_ai.usage.completion_tokens", OUTPUT, 1, AI},
	{"gen_ai.usage.total_tokens", TOTAL, 0, AI}, {"gen_ai.request.stream", STREAM, 0, AI},
	{"gen_ai.request.choice.count", BATCH, 1, AI}, {"gen_ai.request.id", ID, 4, AI},
	{"http.response.status_code", STATUS, 1, 0}, {"http.status_code", STATUS, 1, 0}, {"url.path", ROUTE, 2, 0},
	{"http.target", ROUTE, 2, 0}, {"http.route", ROUTE, 3, 0}, {"trace.id", TRACE, 1, 0},
	/* Kong */
	{"latencies.request", MS, 0, KONG}, {"latencies.proxy", MARK, 0, KONG}, {"request.id", ID, 1, 0},
	{"request.uri", ROUTE, 1, 0}, {"request.size", BYTES_IN, 1, 0}, {"response.status", STATUS, 1, 0},
	{"response.size", BYTES_OUT, 1, 0}, {"consumer.username", TENANT, 2, 0}, {"consumer.custom_id", TENANT, 3, 0},
	{"consumer.id", TENANT, 4, 0}, {"consumer", TENANT, 4, 0}, {"authenticated_entity.consumer_id", TENANT, 5, KONG},
	{"started_at", START, 1, 0}, {"ai.*.usage.prompt_tokens", INPUT, 1, AI},
	{"ai.*.usage.completion_tokens", OUTPUT, 1, AI}, {"ai.*.usage.total_tokens", TOTAL, 1, AI},
	{"ai.*.meta.request_model", MODEL, 1, AI}, {"ai.*.meta.response_model", MODEL, 4, AI},
	{"ai.*.meta.llm_latency", MARK, 0, AI},
	/* LiteLLM: StandardLoggingPayload and rows of SpendLogs */
	{"starttime", START, 0, 0}, {"endtime", END, 0, 0}, {"completionstarttime", FIRST_TOKEN, 0, LITELLM},
	{"call_type", MARK, 0, LITELLM}, {"litellm_call_id", ID, 2, LITELLM}, {"call_id", ID, 3, 0}, {"spend", MARK, 0, LITELLM},
	{"custom_llm_provider", MARK, 0, LITELLM}, {"model_group", MODEL, 5, LITELLM}, {"api_base", UPSTREAM, 2, 0},
	{"metadata.user_api_key_team_id", TENANT, 2, LITELLM}, {"metadata.user_api_key_alias", TENANT, 6, LITELLM},
	{"metadata.user_api_key_hash", TENANT, 7, LITELLM}, {"metadata.user_api_key_user_id", TENANT, 8, LITELLM},
	{"metadata.user_api_key_end_user_id", TENANT, 9, LITELLM}, {"user_api_key_team_id", TENANT, 2, LITELLM},
	{"user_api_key_hash", TENANT, 7, LITELLM}, {"team_id", TENANT, 2, 0}, {"end_user", TENANT, 9, 0},
	{"error_str", MESSAGE, 2, LITELLM}, {"error_information.error_message", MESSAGE, 1, LITELLM},
	{"error_information.error_code", CODE, 0, LITELLM}, {"model_parameters.n", BATCH, 2, 0},
	{"model_parameters.stream", STREAM, 2, 0}, {"hidden_params.api_base", UPSTREAM, 3, LITELLM},
	{"hidden_params.additional_headers.llm_provider_x_request_id", HOP_ID, 3, LITELLM},
	/* Caddy */
	{"request.remote_ip", MARK, 0, CADDY}, {"request.client_ip", MARK, 0, CADDY}, {"bytes_read", BYTES_IN, 1, 0},
	{"size", BYTES_OUT, 3, 0}, {"user_id", TENANT, 9, 0}, {"request.headers.x_request_id", ASKED_ID, 0, 0},
	{"resp_headers.x_request_id", HOP_ID, 0, CADDY}, {"response.headers.x_request_id", HOP_ID, 0, 0},
	{"resp_headers.content_type", CONTENT_TYPE, 0, CADDY}, {"response.headers.content_type", CONTENT_TYPE, 0, 0},
	{"request.headers.x_tenant_id", TENANT, 6, 0}, {"request.headers.x_smg_tenant_id", TENANT, 6, 0},
	/* nginx, escape=json */
	{"time_iso8601", LOGGED, 1, NGINX}, {"time_local", LOGGED, 2, NGINX}, {"msec", LOGGED, 0, NGINX},
	{"request_time", SECONDS, 0, NGINX}, {"body_bytes_sent", BYTES_OUT, 0, NGINX}, {"request_length", BYTES_IN, 0, NGINX},
	{"upstream_status", UPSTREAM_STATUS, 0, 0}, {"upstream_addr", UPSTREAM, 0, NGINX},
	{"upstream_response_time", MARK, 0, NGINX}, {"sent_http_x_request_id", HOP_ID, 0, NGINX},
	{"http_x_request_id", ASKED_ID, 0, NGINX}, {"sent_http_content_type", CONTENT_TYPE, 0, NGINX},
	{"remote_user", TENANT, 8, 0}, {"request", REQUEST_LINE, 0, 0}, {"http_x_tenant_id", TENANT, 6, 0},
	/* Cloudflare AI Gateway: log push and log API */
	{"metrics.durationms", MS, 1, CLOUDFLARE}, {"requestedmodel", MODEL, 1, CLOUDFLARE}, {"statuscode", STATUS, 0, 0},
	{"ratelimited", MARK, 0, CLOUDFLARE}, {"routingdecisionid", ID, 3, CLOUDFLARE}, {"endpoint", ROUTE, 3, 0},
	{"tokens_in", INPUT, 1, CLOUDFLARE}, {"tokens_out", OUTPUT, 1, CLOUDFLARE}, {"success", SUCCESS, 0, 0},
	{"metadata.tenant", TENANT, 1, 0}, {"metadata.tenant_id", TENANT, 1, 0}, {"metadata.account", TENANT, 3, 0},
	{"metadata.account_id", TENANT, 3, 0}, {"metadata.team_id", TENANT, 3, 0},
	/* HAProxy's JSON */
	{"termination_state", FLAGS, 1, 0},
	/* times and durations that say what they are */
	{"start_ts", START, 1, 0}, {"started", START, 2, 0}, {"start", START, 3, 0}, {"start_ns", START, 1, 0},
	{"started_ns", START, 1, 0}, {"request_start", START, 1, 0}, {"request_start_time", START, 1, 0},
	{"request_started_at", START, 1, 0}, {"received_at", START, 2, 0}, {"request_received_at", START, 2, 0},
	{"startedat", START, 1, 0}, {"finishedat", END, 1, 0}, {"begin_time", START, 2, 0}, {"end_time", END, 0, 0},
	{"ended_at", END, 1, 0}, {"finished_at", END, 1, 0}, {"completed_at", END, 1, 0}, {"end_ts", END, 1, 0},
	{"end_ns", END, 1, 0}, {"finished_ns", END, 1, 0}, {"finish_time", END, 1, 0}, {"end", END, 3, 0},
	{"response_end", END, 2, 0}, {"timestamp", LOGGED, 3, 0}, {"@timestamp", LOGGED, 3, 0}, {"time", LOGGED, 4, 0},
	{"ts", LOGGED, 4, 0}, {"datetime", LOGGED, 5, 0}, {"created_at", LOGGED, 5, 0}, {"event_time", LOGGED, 5, 0},
	{"log_time", LOGGED, 5, 0}, {"date", LOGGED, 6, 0}, {"t", LOGGED, 7, 0}, {"created", LOGGED, 8, 0},
	{"duration_ms", MS, 1, 0}, {"latency_ms", MS, 2, 0}, {"elapsed_ms", MS, 2, 0}, {"response_time_ms", MS, 3, 0},
	{"request_duration_ms", MS, 1, 0}, {"total_time_ms", MS, 2, 0}, {"durationms", MS, 2, 0}, {"latencyms", MS, 2, 0},
	{"duration_s", SECONDS, 1, 0}, {"duration_seconds", SECONDS, 1, 0}, {"latency_s", SECONDS, 2, 0},
	{"latency_seconds", SECONDS, 2, 0}, {"elapsed_s", SECONDS, 2, 0}, {"e2e_latency", SECONDS, 2, 0},
	{"duration_us", US, 0, 0}, {"latency_us", US, 1, 0}, {"duration_ns", NS, 0, 0}, {"latency_ns", NS, 1, 0},
	{"duration", DURATION, 0, 0}, {"latency", DURATION, 1, 0}, {"elapsed", DURATION, 2, 0},
	/* who, what, where */
	{"gateway_id", ID, 0, 0}, {"request_id", ID, 0, 0}, {"requestid", ID, 1, 0}, {"req_id", ID, 2, 0}, {"reqid", ID, 2, 0},
	{"x_request_id", HOP_ID, 1, 0}, {"xrequestid", HOP_ID, 2, 0}, {"id", ANY_ID, 0, 0}, {"rid", ANY_ID, 1, 0},
	{"response_id", RESPONSE, 0, 0}, {"responseid", RESPONSE, 1, 0}, {"response.id", RESPONSE, 1, 0},
	{"completion_id", RESPONSE, 1, 0}, {"trace_id", TRACE, 0, 0}, {"traceid", TRACE, 0, 0}, {"traceparent", TRACE, 2, 0},
	{"request.headers.traceparent", TRACE, 3, 0}, {"x_b3_traceid", TRACE, 3, 0}, {"correlation_id", TRACE, 4, 0},
	{"x_correlation_id", TRACE, 4, 0}, {"bootstrap_room", ROOM, 0, 0}, {"room", ROOM, 1, 0},
	{"request.bootstrap_room", ROOM, 1, 0}, {"metadata.bootstrap_room", ROOM, 1, 0}, {"sglang.bootstrap_room", ROOM, 1, 0},
	{"bootstraproom", ROOM, 1, 0}, {"tenant", TENANT, 0, 0}, {"tenant_id", TENANT, 1, 0}, {"tenantid", TENANT, 1, 0},
	{"tenant.id", TENANT, 1, 0}, {"tenant_name", TENANT, 2, 0}, {"x_tenant_id", TENANT, 1, 0},
	{"x_smg_tenant_id", TENANT, 1, 0}, {"account", TENANT, 3, 0}, {"account_id", TENANT, 3, 0}, {"customer", TENANT, 3, 0},
	{"customer_id", TENANT, 3, 0}, {"organization", TENANT, 5, 0}, {"organization_id", TENANT, 5, 0},
	{"org_id", TENANT, 5, 0}, {"org", TENANT, 5, 0}, {"project_id", TENANT, 6, 0}, {"user", TENANT, 9, 0},
	{"model", MODEL, 2, 0}, {"request_model", MODEL, 1, 0}, {"model_name", MODEL, 3, 0}, {"response_model", MODEL, 4, 0},
	{"status", STATUS, 2, 0}, {"status_code", STATUS, 0, 0}, {"http_status", STATUS, 0, 0}, {"response_status", STATUS, 1, 0},
	{"response.status_code", STATUS, 1, 0}, {"http_status_code", STATUS, 0, 0},
	{"upstream", UPSTREAM, 1, 0}, {"upstream_address", UPSTREAM, 0, 0}, {"upstream_url", UPSTREAM, 1, 0},
	{"backend", UPSTREAM, 3, 0}, {"worker_url", UPSTREAM, 1, 0}, {"worker", UPSTREAM, 4, 0}, {"decode_url", UPSTREAM, 2, 0},
	{"client_gone", GONE, 0, 0}, {"client_disconnected", GONE, 0, 0}, {"client_closed", GONE, 1, 0},
	{"client_aborted", GONE, 1, 0}, {"bytes_in", BYTES_IN, 0, 0}, {"request_bytes", BYTES_IN, 1, 0},
	{"request_size", BYTES_IN, 1, 0}, {"req_bytes", BYTES_IN, 2, 0}, {"bytes_out", BYTES_OUT, 0, 0},
	{"response_bytes", BYTES_OUT, 1, 0}, {"response_size", BYTES_OUT, 1, 0}, {"resp_bytes", BYTES_OUT, 2, 0},
	{"bytes", BYTES_OUT, 4, 0}, {"stream", STREAM, 0, 0}, {"streamed", STREAM, 0, 0}, {"streaming", STREAM, 0, 0},
	{"is_stream", STREAM, 1, 0}, {"request.stream", STREAM, 1, 0}, {"response_content_type", CONTENT_TYPE, 1, 0},
	{"finish_reason", FINISH, 0, 0}, {"finish_reasons", FINISH, 1, 0}, {"stop_reason", FINISH, 2, 0},
	{"choices.finish_reason", FINISH, 1, 0}, {"error", MESSAGE, 3, 0}, {"error.message", MESSAGE, 1, 0},
	{"error_message", MESSAGE, 0, 0}, {"err", MESSAGE, 4, 0}, {"path", ROUTE, 0, 0}, {"uri", ROUTE, 0, 0},
	{"request_uri", ROUTE, 0, 0}, {"request_path", ROUTE, 0, 0}, {"request.path", ROUTE, 0, 0}, {"url", ROUTE, 2, 0},
	{"request.url", ROUTE, 3, 0}, {"route", ROUTE, 3, 0},
	/* counts; a path with "usage" in it is looked up from there on, wherever the response object is kept */
	{"usage.prompt_tokens", INPUT, 2, AI}, {"usage.input_tokens", INPUT_FRESH, 0, AI},
	{"usage.cache_read_input_tokens", CACHE_READ, 0, 0}, {"usage.cache_creation_input_tokens", CACHE_MADE, 0, 0},
	{"usage.completion_tokens", OUTPUT, 2, AI}, {"usage.output_tokens", OUTPUT, 3, AI}, {"usage.total_tokens", TOTAL, 2, 0},
	{"prompt_tokens", INPUT, 0, AI}, {"input_tokens", INPUT, 1, AI}, {"prompttokens", INPUT, 1, AI},
	{"inputtokens", INPUT, 2, AI}, {"tokens.prompt", INPUT, 2, AI}, {"tokens.input", INPUT, 2, AI},
	{"completion_tokens", OUTPUT, 0, AI}, {"output_tokens", OUTPUT, 1, AI}, {"completiontokens", OUTPUT, 1, AI},
	{"outputtokens", OUTPUT, 2, AI}, {"tokens.completion", OUTPUT, 2, AI}, {"tokens.output", OUTPUT, 2, AI},
	{"total_tokens", TOTAL, 0, 0}, {"prompt_tokens_flag", FLAG, 0, 0}, {"prompt_tokens_estimated", ESTIMATED, 0, 0},
	{"tokens_estimated", ESTIMATED, 1, 0}, {"usage_estimated", ESTIMATED, 1, 0}, {"usage.estimated", ESTIMATED, 1, 0},
	{"estimated", ESTIMATED, 2, 0}, {"n", BATCH, 0, 0}, {"request.n", BATCH, 1, 0}, {"batch", BATCH, 1, 0},
	{"batch_size", BATCH, 1, 0}, {"num_choices", BATCH, 1, 0}, {"num_prompts", BATCH, 1, 0},
	{"what", WHAT, 0, 0}, {"event", WHAT, 1, 0}, {"event_type", WHAT, 1, 0}, {"object", OBJECT, 0, 0},
	{"level", LEVEL, 0, 0}, {"severity", LEVEL, 1, 0}, {"msg", TEXT_LINE, 0, 0}, {"message", TEXT_LINE, 1, 0},
};
/* clang-format on */

/* Aliases by the length of their path: a look-up compares with a handful. */
struct index {
	uint16_t start[PATH_MAX_BYTES + 2];
	uint16_t order[ARRAY_SIZE(aliases)];
};

struct state {
	struct index index;
};

struct found {
	const struct index *index;
	struct json_value v[ROLES];
	uint8_t rank[ROLES];
	uint32_t products; /* bit per enum product */
	int64_t choices, prompts;
	struct json_value tried; /* Kong: the last upstream that was tried */
};

static void index_build(struct index *x)
{
	uint16_t at[PATH_MAX_BYTES + 2];

	memset(x, 0, sizeof(*x));
	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
		x->start[strlen(aliases[i].path) + 1]++;
	for (size_t n = 1; n < ARRAY_SIZE(x->start); n++)
		x->start[n] = (uint16_t)(x->start[n] + x->start[n - 1]);
	memcpy(at, x->start, sizeof(at));
	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
		x->order[at[strlen(aliases[i].path)]++] = (uint16_t)i;
}

static const struct alias *look_up(const struct index *x, const char *path, size_t len)
{
	if (len > PATH_MAX_BYTES)
		return NULL;
	for (uint16_t i = x->start[len]; i < x->start[len + 1]; i++) {
		if (memcmp(aliases[x->order[i]].path, path, len) == 0)
			return &aliases[x->order[i]];
	}
	return NULL;
}

/* --- the walk --- */

static bool usable(struct json_value v)
{
	struct text t;

	switch (json_type(v)) {
	case JSON_NONE:
	case JSON_NULL: return false;
	case JSON_STRING:
		return json_string(v, &t) && t.len && !text_is(t, "-") && !text_is(t, "null") && !text_is(t, "None");
	default: return true;
	}
}

static struct json_value first_of(struct json_value list)
{
	struct json_iter it = json_iter(list);
	struct json_value v = {0};
	struct text key;

	if (!json_next(&it, &key, &v))
		return (struct json_value){0};
	return v;
}

static int64_t length_of(struct json_value list)
{
	struct json_iter it = json_iter(list);
	struct json_value v;
	struct text key;
	int64_t n = 0;

	while (json_next(&it, &key, &v))
		n++;
	return n;
}

static void offer(struct found *f, const char *path, size_t len, struct json_value v)
{
	const struct alias *a = look_up(f->index, path, len);

	if (!a) {
		for (size_t i = len; i-- > 1 && !a;) {
			if (path[i - 1] == '.' && ((len - i > 6 && memcmp(path + i, "usage.", 6) == 0) ||
						   (len - i > 8 && memcmp(path + i, "choices.", 8) == 0)))
				a = look_up(f->index, path + i, len - i);
		}
	}
	if (!a)
		return;
	if (json_type(v) == JSON_ARRAY)
		v = first_of(v);
	if (a->product)
		f->products |= UINT32_C(1) << a->product;
	if (!usable(v) || (json_type(f->v[a->role]) != JSON_NONE && f->rank[a->role] < a->rank))
		return;
	f->v[a->role] = v;
	f->rank[a->role] = a->rank;
}

static void walk(struct found *f, struct json_value object, char *path, size_t len, unsigned depth);

static bool ends(const char *path, size_t len, const char *name)
{
	size_t n = strlen(name);

	return len >= n && memcmp(path + len - n, name, n) == 0 && (len == n || path[len - n - 1] == '.');
}

static void walk_list(struct found *f, struct json_value list, char *path, size_t len, unsigned depth)
{
	struct json_value first = first_of(list), v;
	struct json_iter it;
	struct text key;

	if (ends(path, len, "choices")) {
		f->choices = length_of(list);
		walk(f, first, path, len, depth + 1);
	} else if (ends(path, len, "prompt") || ends(path, len, "input")) {
		/* a list of numbers is one prompt in tokens; of texts or lists, several prompts. Chat input is objects
		 */
		if (json_type(first) == JSON_STRING || json_type(first) == JSON_ARRAY)
			f->prompts = length_of(list);
	} else if (ends(path, len, "tries")) {
		it = json_iter(list);
		while (json_next(&it, &key, &v))
			f->tried = v;
	} else {
		offer(f, path, len, list);
	}
}

static size_t add_name(char *path, size_t len, struct text key)
{
	if (len + 1 + key.len > PATH_MAX_BYTES)
		return SIZE_MAX;
	if (len == 2 && memcmp(path, "ai", 2) == 0)
		key = TEXT("*"); /* Kong: the plugin's name */
	if (len)
		path[len++] = '.';
	for (size_t i = 0; i < key.len; i++) {
		char c = key.ptr[i];

		path[len++] = c == '-' ? '_' : c >= 'A' && c <= 'Z' ? (char)(c | 32) : c;
	}
	return len;
}

/* What log shippers wrap a record's own fields in. */
static bool transparent(const char *path, size_t len)
{
	static const char *const names[] = {"jsonpayload", "fields", "attributes", "json", "record", "payload"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (len == strlen(names[i]) && memcmp(path, names[i], len) == 0)
			return true;
	}
	return false;
}

static void walk(struct found *f, struct json_value object, char *path, size_t len, unsigned depth)
{
	struct json_iter it;
	struct json_value v;
	struct text key;

	if (depth >= DEPTH_MAX || !json_is_object(object))
		return;
	it = json_iter(object);
	while (json_next(&it, &key, &v)) {
		size_t n = add_name(path, len, key);

		if (n == SIZE_MAX)
			continue;
		if (json_is_object(v))
			walk(f, v, path, depth == 0 && transparent(path, n) ? 0 : n, depth + 1);
		else if (json_type(v) == JSON_ARRAY)
			walk_list(f, v, path, n, depth);
		else
			offer(f, path, n, v);
	}
}

static void gather(struct found *f, const struct index *x, struct json_value doc)
{
	char path[PATH_MAX_BYTES + 2];

	*f = (struct found){.index = x};
	walk(f, doc, path, 0, 0);
}

/* --- values --- */

static bool has(const struct found *f, enum role r)
{
	return json_type(f->v[r]) != JSON_NONE;
}

static bool is_of(const struct found *f, enum product p)
{
	return f->products >> p & 1;
}

static struct text text_at(struct parse *p, const struct found *f, enum role r)
{
	char *tmp;
	struct text t = {0};

	if (json_string(f->v[r], &t) || !has(f, r))
		return t;
	tmp = arena_alloc(&p->scratch, ID_TMP);
	if (!tmp || !json_id(f->v[r], tmp, &t))
		return (struct text){0};
	return t;
}

static bool count_at(const struct found *f, enum role r, int64_t *ret)
{
	return json_count(f->v[r], ret) && *ret >= 0 && *ret <= TOKENS_MAX;
}

static bool flag_at(const struct found *f, enum role r, bool *ret)
{
	struct text t;
	int64_t n;

	if (json_bool(f->v[r], ret))
		return true;
	if (json_string(f->v[r], &t) && (text_is(t, "true") || text_is(t, "True"))) {
		*ret = true;
		return true;
	}
	if (json_string(f->v[r], &t) && (text_is(t, "false") || text_is(t, "False"))) {
		*ret = false;
		return true;
	}
	if (!json_count(f->v[r], &n) || n < 0 || n > 1)
		return false;
	*ret = n;
	return true;
}

static bool whole_iso(struct text t, struct stamp *ret)
{
	struct text rest;
	size_t used;

	if (!stamp_parse_iso(t, ret, &used))
		return false;
	rest = text_trim(text_from(t, used));
	if (rest.len == 0)
		return true;
	if (!text_is(rest, "UTC") && !text_is(rest, "GMT") && !text_is(rest, "Z"))
		return false;
	ret->quality = STAMP_ZONED;
	return true;
}

static bool time_at(const struct found *f, enum role r, struct stamp *ret)
{
	struct stamp s;
	char tmp[ID_TMP];
	struct text t;
	size_t used;
	double d;

	if (json_type(f->v[r]) == JSON_DOUBLE && json_double(f->v[r], &d)) {
		/* magnitude tells seconds, ms and us; a double holds no more than microseconds anyway */
		double us = d >= 1e14 ? d : d >= 1e11 ? d * 1e3 : d * 1e6;

		if (!(d >= 1e8 && d < 1e17) || us >= 9.2e15)
			return false;
		*ret = (struct stamp){(int64_t)llround(us) * 1000, STAMP_ZONED, 1000};
		return true;
	}
	if (!json_id(f->v[r], tmp, &t))
		return false;
	t = text_trim(t);
	if (t.len > 2 && t.ptr[0] == '[' && t.ptr[t.len - 1] == ']')
		t = text_sub(t, 1, t.len - 2);
	if (!whole_iso(t, &s) && !(stamp_parse_clf(t, &s, &used) && used == t.len) &&
	    !(stamp_parse_epoch(t, &s) && s.quality == STAMP_ZONED))
		return false;
	*ret = s;
	return true;
}

/* "14.902s", "150ms", "1m2.5s": durations as Go prints them. */
static bool go_duration(struct text t, double *ret_ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"\xc2\xb5s", 1e3}, {"ms", 1e6}, {"h", 3.6e12}, {"m", 6e10}, {"s", 1e9}};
	double sum = 0, d;

	while (t.len) {
		size_t n = 0, u;

		while (n < t.len && ((t.ptr[n] >= '0' && t.ptr[n] <= '9') || t.ptr[n] == '.'))
			n++;
		for (u = 0; u < ARRAY_SIZE(units) && !text_starts(text_from(t, n), units[u].unit); u++)
			;
		if (u == ARRAY_SIZE(units) || !text_double(text_sub(t, 0, n), &d))
			return false;
		sum += d * units[u].ns;
		t = text_from(t, n + strlen(units[u].unit));
	}
	*ret_ns = sum;
	return true;
}

static bool number_at(const struct found *f, enum role r, double *ret)
{
	struct text t;

	return json_double(f->v[r], ret) || (json_string(f->v[r], &t) && text_double(t, ret));
}

/* Nanoseconds, to the microsecond; TIME_UNKNOWN when there is none or its unit cannot be told. */
static int64_t duration_of(const struct found *f)
{
	static const struct {
		enum role role;
		double ns;
	} units[] = {{MS, 1e6}, {SECONDS, 1e9}, {US, 1e3}, {NS, 1}};
	struct text t;
	double d = -1;

	for (size_t i = 0; i < ARRAY_SIZE(units) && d < 0; i++) {
		if (number_at(f, units[i].role, &d))
			d *= units[i].ns;
	}
	if (d < 0 && json_string(f->v[DURATION], &t) && go_duration(t, &d))
		; /* says its units itself */
	else if (d < 0 && number_at(f, DURATION, &d)) {
		if (is_of(f, CADDY) || is_of(f, NGINX) || is_of(f, LITELLM))
			d *= 1e9;
		else if (is_of(f, ENVOY) || is_of(f, CLOUDFLARE) || (has(f, START) && f->rank[START] == 0))
			d *= 1e6; /* start_time beside a bare duration is Envoy's habit */
		else
			d = -1;
	}
	return d >= 0 && d < 1e17 ? (int64_t)llround(d / 1e3) * 1000 : TIME_UNKNOWN;
}

/* --- what a record says --- */

struct access {
	struct stamp ts;
	int64_t start_ns, end_ns;
	int64_t status; /* 0: unknown */
	bool gone, failed;
	int64_t input, output; /* -1: unknown */
	const char *flag;
};

static bool read_times(const struct found *f, const struct parse *p, struct access *a)
{
	struct stamp start = STAMP_INIT, end = STAMP_INIT, logged = STAMP_INIT;
	int64_t duration = duration_of(f);
	bool known;

	time_at(f, START, &start);
	time_at(f, END, &end);
	time_at(f, LOGGED, &logged);
	known = logged.quality || end.quality || start.quality;
	if (is_of(f, ENVOY) && !start.quality)
		start = logged; /* whatever the operator calls it, START_TIME is what Envoy has */
	else if (!end.quality && !start.quality && (is_of(f, NGINX) || is_of(f, CADDY) || duration != TIME_UNKNOWN) &&
		 !is_of(f, CLOUDFLARE))
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

/* Envoy's response flags: DC and DR say that the caller went away. HAProxy's state begins with C for the same. */
static bool flags_gone(struct text flags)
{
	struct text one;

	while (text_split(&flags, ',', &one)) {
		one = text_trim(one);
		if (text_is(one, "DC") || text_is(one, "DR") || text_starts(one, "Downstream"))
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
	if (flag_at(f, ESTIMATED, &estimated) ? estimated : is_of(f, LITELLM) && stream)
		a->flag = "estimate";
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		if (json_string(f->v[FLAG], &t) && text_is(t, flags[i]))
			a->flag = flags[i];
	}
}

static bool looks_like_response(struct text id)
{
	return text_starts(id, "chatcmpl-") || text_starts(id, "cmpl-") || text_starts(id, "resp_") ||
	       text_starts(id, "msg_");
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
	if (f->rank[TRACE] >= 2 && trace.len >= 55 && trace.ptr[2] == '-' && trace.ptr[35] == '-')
		trace = text_sub(trace, 3, 32); /* traceparent */
	event_text(e, GATEWAY_ID, first);
	event_text(e, GATEWAY_RESPONSE_ID, response);
	event_text(e, GATEWAY_TRACE_ID, trace.len ? trace : second);
}

/* Rooms are decimal; tracing prints them as 0x… */
static struct text room_of(struct parse *p, struct text t)
{
	uint64_t v = 0;
	char *out;
	int n;

	if (!text_starts(t, "0x") || t.len < 3 || t.len > 18)
		return t;
	for (size_t i = 2; i < t.len; i++) {
		char c = t.ptr[i];
		unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 32) - 'a') + 10;

		if (digit > 15)
			return t;
		v = v << 4 | digit;
	}
	out = arena_alloc(&p->scratch, ID_TMP);
	if (!out)
		return t;
	n = snprintf(out, ID_TMP, "%llu", (unsigned long long)v);
	return (struct text){out, (size_t)n};
}

/* A tenant is a name; of keys only their hashes are (a key itself would be a secret in the case). */
static struct text tenant_of(struct parse *p, const struct found *f)
{
	struct text t = text_at(p, f, TENANT);

	return text_starts(t, "sk-") || text_starts(t, "Bearer ") ? (struct text){0} : t;
}

static struct text route_of(struct parse *p, const struct found *f)
{
	struct text t = text_at(p, f, ROUTE), line = text_at(p, f, REQUEST_LINE), part;
	size_t at;

	if (!t.len && text_split(&line, ' ', &part) && text_split(&line, ' ', &part))
		t = part;
	at = text_find(t, "://", 0);
	if (at != SIZE_MAX && at < 8) {
		at = text_find_char(t, '/', at + 3);
		t = at == SIZE_MAX ? (struct text){0} : text_from(t, at);
	}
	return text_sub(t, 0, text_find_char(t, '?', 0));
}

/* The i-th of a list "a, b : c" as nginx writes one element an attempt; false behind the last. */
static bool attempt_at(struct text list, unsigned at, bool spaced, struct text *ret)
{
	size_t from = 0, i;

	for (;;) {
		for (i = from; i < list.len; i++) {
			if (list.ptr[i] == ',' ||
			    (list.ptr[i] == ':' && (!spaced || (i > 0 && list.ptr[i - 1] == ' '))))
				break;
		}
		if (at-- == 0) {
			*ret = text_trim(text_sub(list, from, i - from));
			return true;
		}
		if (i >= list.len)
			return false;
		from = i + 1;
	}
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
	return one;
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
		event_text(e, GATEWAY_TENANT, tenant_of(p, f));
		event_int(e, GATEWAY_STATUS, status);
		event_text(e, GATEWAY_UPSTREAM, upstream_of(p, f, i, n));
		r = parse_emit(p);
		if (r < 0)
			return r;
	}
	return 0;
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
	return TEXT("access");
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
	if (count_at(f, BYTES_OUT, &n))
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
	if (batch > 1 || has(f, BATCH) || f->choices || f->prompts)
		event_int(e, GATEWAY_BATCH, batch);
}

static int emit_access(struct parse *p, const struct found *f, const struct access *a, unsigned attempts)
{
	struct event *e = parse_begin(p, EVENT_GATEWAY, a->ts);
	struct text message = text_at(p, f, MESSAGE), finish = text_at(p, f, FINISH);

	event_text(e, GATEWAY_WHAT, what_of(f));
	set_ids(p, e, f);
	event_text(e, GATEWAY_ROOM, room_of(p, text_at(p, f, ROOM)));
	event_text(e, GATEWAY_TENANT, tenant_of(p, f));
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

static bool health(struct parse *p, const struct found *f)
{
	static const char *const routes[] = {"/health",    "/livez",   "/readyz", "/liveness",
					     "/readiness", "/metrics", "/ping"};
	struct text route = route_of(p, f), id = text_at(p, f, ID);

	for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
		if (text_starts(route, routes[i]))
			return true;
	}
	return text_starts(id, "HEALTH_CHECK");
}

/* Does it tell of a request's outcome? */
static bool is_access(const struct found *f)
{
	if (has(f, STATUS) || has(f, CODE) || has(f, INPUT) || has(f, INPUT_FRESH) || has(f, OUTPUT) || has(f, FINISH))
		return true;
	return (has(f, ID) || has(f, HOP_ID) || has(f, RESPONSE)) &&
	       (has(f, BYTES_OUT) || has(f, SUCCESS) || has(f, WHAT) || has(f, MODEL) || has(f, END));
}

/* Records that belong to other formats, whatever else is in them. */
static bool is_foreign(struct json_value doc)
{
	static const char *const marks[] = {"resourceLogs",         "resourceSpans",      "resourceMetrics",
					    "__REALTIME_TIMESTAMP", "request_parameters", "internal_states"};
	static const char *const pairs[][2] = {{"op", "seq"},      {"op", "pages"},     {"event", "obj"},
					       {"labels", "line"}, {"target", "level"}, {"log", "time"},
					       {"log", "date"}};

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		if (json_type(json_get(doc, marks[i])) != JSON_NONE)
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		if (json_type(json_get(doc, pairs[i][0])) != JSON_NONE &&
		    json_type(json_get(doc, pairs[i][1])) != JSON_NONE)
			return true;
	}
	return false;
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

static int refuse(struct parse *p, const char *reason)
{
	p->reason = reason;
	return RECORD_UNPARSED;
}

static int take(struct parse *p, const struct found *f)
{
	struct access a = {.ts = STAMP_INIT};
	unsigned attempts = 0;
	bool timed = read_times(f, p, &a);
	int r;

	if (!is_access(f)) {
		/* the gateway's own log between its access records */
		if (timed && has(f, LEVEL) && has(f, TEXT_LINE))
			return RECORD_CONTEXT;
		return refuse(p, timed ? "not_access" : "no_time");
	}
	if (!timed)
		return refuse(p, "no_time");
	if (health(p, f))
		return RECORD_CONTEXT;
	read_status(f, &a);
	read_counts(f, &a);
	r = emit_attempts(p, f, &a, &attempts);
	if (r == 0)
		r = emit_access(p, f, &a, attempts);
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
		return refuse(p, "not_json");
	r = read_json(p, bare, p->padded, &doc);
	if (r < 0)
		return r;
	if (r > 0)
		return refuse(p, bare.ptr[bare.len - 1] == '}' ? "json_syntax" : "torn");
	if (is_foreign(doc))
		return refuse(p, "other_format");
	gather(&f, &s->index, doc);
	return take(p, &f);
}

static enum bid bid(struct parse *p, struct text record)
{
	struct text bare = unlist(text_trim(record));
	struct json_value doc;
	struct access a = {.ts = STAMP_INIT};
	struct parse timeless = {0};
	struct index x;
	struct found f;

	if (bare.len == 0 || bare.ptr[0] != '{' || read_json(p, bare, false, &doc) != 0 || is_foreign(doc))
		return BID_NO;
	index_build(&x);
	gather(&f, &x, doc);
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
    .summary = "gateway access log, JSON lines (Envoy, AI gateways, nginx, Kong, Caddy, LiteLLM, Cloudflare, own keys)",
    .checked = "sources of nginx, Envoy AI Gateway, Kong and Caddy of 2026; documents of LiteLLM and Cloudflare",
    .emits = 1u << EVENT_GATEWAY,
    .state_bytes = sizeof(struct state),
    .bid = bid,
    .record = record,
    .open = open_state,
};
