/* SPDX-License-Identifier: Apache-2.0 */
/* otel_span_keys.h - which attributes of a span say what: the table of format otel-span
 *
 * Sources: OpenTelemetry semantic conventions (model/gen-ai/registry.yaml at c9e48b1d1^, http/http-spans.md), with the older names
 * that vLLM (vllm/tracing/utils.py at 017e9f4448) and SGLang (srt/observability/trace.py, req_time_stats.py, 2026) still write;
 * Envoy (source/common/tracing/common_values.h at 43fa7c73e); OpenInference (llm.*), which Envoy AI Gateway writes; the http_request
 * span of SGLang's gateway (model_gateway/src/middleware at 73da68ca9). Content (gen_ai.input.messages, input.value and their like)
 * is in no row, and is not read.
 */
#pragma once

#include <stdint.h>

enum role {
	NO_ROLE,
	RID,
	ENGINE_ID,
	ROOM,
	GATEWAY,
	RESPONSE,
	TENANT,
	MODEL,
	INPUT,
	OUTPUT,
	CACHED,
	FINISH,
	STATUS,
	METHOD,
	ROUTE,
	UPSTREAM,
	PORT,
	BYTES_IN,
	BYTES_OUT,
	FLAGS,
	STREAM,
	CHOICES,
	OPERATION,
	PROVIDER,
	INFERENCE,
	MODULE,
	TYPE,
	MESSAGE,
	ROLES,
};

enum { KEY_MAX_BYTES = 48 };

struct attribute {
	const char *key;
	uint8_t role, rank; /* lower ranks win */
};

/* clang-format off */
static const struct attribute attributes[] = {
	/* engines */
	{"rid", RID, 0}, {"gen_ai.request.id", ENGINE_ID, 0}, {"bootstrap_room", ROOM, 0}, {"sglang.bootstrap_room", ROOM, 1},
	{"module", MODULE, 0}, {"type", TYPE, 0}, {"message", MESSAGE, 0},
	/* calls of models */
	{"gen_ai.operation.name", OPERATION, 0}, {"gen_ai.provider.name", PROVIDER, 0}, {"gen_ai.system", PROVIDER, 1},
	{"gen_ai.response.id", RESPONSE, 0}, {"gen_ai.request.model", MODEL, 0}, {"llm.model_name", MODEL, 1},
	{"gen_ai.response.model", MODEL, 2}, {"gen_ai.response.finish_reasons", FINISH, 0},
	{"gen_ai.usage.input_tokens", INPUT, 0}, {"gen_ai.usage.prompt_tokens", INPUT, 1}, {"llm.token_count.prompt", INPUT, 2},
	{"gen_ai.usage.output_tokens", OUTPUT, 0}, {"gen_ai.usage.completion_tokens", OUTPUT, 1},
	{"llm.token_count.completion", OUTPUT, 2}, {"gen_ai.usage.cached_tokens", CACHED, 0},
	{"gen_ai.usage.cache_read.input_tokens", CACHED, 1}, {"llm.token_count.prompt_details.cache_read", CACHED, 2},
	{"gen_ai.request.stream", STREAM, 0}, {"gen_ai.request.choice.count", CHOICES, 0}, {"gen_ai.request.n", CHOICES, 1},
	{"openinference.span.kind", INFERENCE, 0},
	/* HTTP */
	{"http.request.method", METHOD, 0}, {"http.method", METHOD, 1}, {"method", METHOD, 2},
	{"http.response.status_code", STATUS, 0}, {"http.status_code", STATUS, 1}, {"status_code", STATUS, 2},
	{"url.path", ROUTE, 0}, {"http.target", ROUTE, 0}, {"url.full", ROUTE, 1}, {"http.url", ROUTE, 1}, {"uri", ROUTE, 1},
	{"http.route", ROUTE, 2}, {"upstream_address", UPSTREAM, 0}, {"server.address", UPSTREAM, 1},
	{"net.peer.name", UPSTREAM, 2}, {"server.port", PORT, 0}, {"net.peer.port", PORT, 1},
	{"http.request.body.size", BYTES_IN, 0}, {"request_size", BYTES_IN, 1},
	{"http.response.body.size", BYTES_OUT, 0}, {"response_size", BYTES_OUT, 1}, {"response_flags", FLAGS, 0},
	{"http.response.header.x-request-id", GATEWAY, 0}, {"request_id", GATEWAY, 0}, {"guid:x-request-id", GATEWAY, 1},
	{"http.request.header.x-request-id", GATEWAY, 2},
	/* what operators add */
	{"tenant", TENANT, 0}, {"tenant.id", TENANT, 1}, {"tenant_id", TENANT, 1},
};
/* clang-format on */
