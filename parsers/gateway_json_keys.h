/* SPDX-License-Identifier: Apache-2.0 */
/* gateway_json_keys.h - which keys gateways use for what: the table of aliases of format gateway-json
 *
 * A path is in lower case, '_' for '-', '.' between levels. Of a record's aliases of one role the lowest rank wins. A
 * product's own key also tells the product, and presets[] what its unmarked values mean. To teach the parser a gateway, add its
 * keys and, where it has habits of its own, one preset.
 */
#pragma once

#include <stdint.h>

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
	METHOD,
	BATCH,
	WHAT,
	OBJECT,
	LEVEL,
	LOGGER,
	TEXT_LINE,
	MARK,
	ROLES,
};

/* Where a record has keys of several, the first that has a habit decides. */
enum product { NONE, CADDY, NGINX, LITELLM, TRAEFIK, KONG, ENVOY, CLOUDFLARE, AI, PRODUCTS };

enum logged_is { NOT_SAID, IS_START, IS_END, IS_NEITHER };

/* What a product means where its keys do not say it. Sources: log-format documents and code of each, see .checked. */
struct preset {
	double duration_ns; /* a bare duration's unit; 0: it has none */
	uint8_t logged;     /* enum logged_is: what the time of the record is the time of */
	uint8_t headers;    /* bytes sent count headers in aliases from this rank on, less one; 0: never */
	bool estimates;     /* counts the tokens of streams itself, and does not say so */
};

static const struct preset presets[PRODUCTS] = {
    [CADDY] = {.duration_ns = 1e9, .logged = IS_END},
    [NGINX] = {.duration_ns = 1e9, .logged = IS_END, .headers = 2}, /* $bytes_sent, not $body_bytes_sent */
    [LITELLM] = {.duration_ns = 1e9, .estimates = true},
    [TRAEFIK] = {.duration_ns = 1, .logged = IS_END},
    [KONG] = {.headers = 1}, /* response.size is nginx's $bytes_sent */
    [ENVOY] = {.duration_ns = 1e6, .logged = IS_START},
    [CLOUDFLARE] = {.duration_ns = 1e6, .logged = IS_NEITHER},
};

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
	{"response_code_details", DETAILS, 0, ENVOY}, {"bytes_received", BYTES_IN, 0, 0}, {"bytes_sent", BYTES_OUT, 1, 0},
	{"upstream_host", UPSTREAM, 0, ENVOY}, {"upstream_cluster", MARK, 0, ENVOY},
	{"x_envoy_upstream_service_time", MARK, 0, ENVOY}, {"x_envoy_origin_path", ROUTE, 1, ENVOY},
	{"x_envoy_original_path", ROUTE, 1, ENVOY}, {"upstream_transport_failure_reason", MESSAGE, 5, ENVOY},
	{"llm_input_token", INPUT, 1, ENVOY}, {"llm_output_token", OUTPUT, 1, ENVOY}, {"llm_total_token", TOTAL, 1, ENVOY},
	/* Envoy AI Gateway's own access log: its guide to metrics and logs, "GenAI-Specific Fields" */
	{"genai_model_name", MODEL, 0, ENVOY}, {"genai_model_name_override", MODEL, 4, ENVOY},
	{"genai_backend_name", UPSTREAM, 5, ENVOY}, {"genai_tokens_input", INPUT, 1, ENVOY},
	{"genai_tokens_output", OUTPUT, 1, ENVOY}, {"genai_tokens_total", TOTAL, 1, ENVOY},
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
	/* Cloudflare AI Gateway: Logpush (dataset ai_gateway_events) and log API, by their documents; Metadata may be
	 * {"type":"encrypted","data":…} and names no tenant then */
	{"metrics.durationms", MS, 1, CLOUDFLARE}, {"requestedmodel", MODEL, 1, CLOUDFLARE}, {"statuscode", STATUS, 0, 0},
	{"ratelimited", MARK, 0, CLOUDFLARE}, {"routingdecisionid", ID, 3, CLOUDFLARE}, {"endpoint", ROUTE, 3, 0},
	{"tokens_in", INPUT, 1, CLOUDFLARE}, {"tokens_out", OUTPUT, 1, CLOUDFLARE}, {"success", SUCCESS, 0, 0},
	{"metadata.tenant", TENANT, 1, 0}, {"metadata.tenant_id", TENANT, 1, 0}, {"metadata.account", TENANT, 3, 0},
	{"metadata.account_id", TENANT, 3, 0}, {"metadata.team_id", TENANT, 3, 0},
	/* ingress-nginx, in camel case */
	{"upstreamaddr", UPSTREAM, 0, NGINX}, {"upstreamstatus", UPSTREAM_STATUS, 1, NGINX}, {"requesttime", SECONDS, 1, NGINX},
	{"upstreamresponsetime", MARK, 0, NGINX}, {"upstream_http_x_request_id", HOP_ID, 1, NGINX},
	/* Traefik */
	{"downstreamstatus", STATUS, 0, TRAEFIK}, {"downstreamcontentsize", BYTES_OUT, 0, TRAEFIK}, {"startutc", START, 0, TRAEFIK},
	{"requestcontentsize", BYTES_IN, 0, TRAEFIK}, {"requestpath", ROUTE, 0, 0}, {"serviceurl", UPSTREAM, 1, TRAEFIK},
	{"serviceaddr", UPSTREAM, 0, TRAEFIK}, {"clientusername", TENANT, 8, TRAEFIK}, {"originstatus", MARK, 0, TRAEFIK},
	{"request_x_request_id", ASKED_ID, 0, TRAEFIK}, {"downstream_x_request_id", HOP_ID, 0, TRAEFIK},
	{"request_traceparent", TRACE, 3, TRAEFIK}, {"downstream_content_type", CONTENT_TYPE, 0, TRAEFIK},
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
	{"method", METHOD, 0, 0}, {"request_method", METHOD, 0, 0}, {"request.method", METHOD, 0, 0}, {"requestmethod", METHOD, 1, 0},
	{"http.request.method", METHOD, 1, 0}, {"http.method", METHOD, 1, 0},
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
	{"level", LEVEL, 0, 0}, {"severity", LEVEL, 1, 0}, {"logger", LOGGER, 0, 0}, {"msg", TEXT_LINE, 0, 0}, {"message", TEXT_LINE, 1, 0},
};
/* clang-format on */
