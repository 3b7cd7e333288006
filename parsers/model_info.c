/* SPDX-License-Identifier: Apache-2.0 */
/* model_info.c - format model-info: which model a running engine serves, and how long its context is
 *
 * The answer to GET /v1/models of vLLM (entrypoints/openai/protocol.py, ModelCard: owned_by "vllm", max_model_len, parent) and of
 * SGLang (srt/entrypoints/openai/protocol.py, ModelCard: owned_by "sglang", max_model_len); to GET /get_model_info or /model_info
 * of SGLang (srt/entrypoints/http_server.py: model_path, tokenizer_path, is_generation), which tells no context. Also inside of
 * what a collector wrote around it. A list of a gateway names models of many engines, and is context; adapters have a parent.
 */
#include "installed.h"

static const char *const wrappers[] = {"body", "response", "data", "result", "models", "model_info", "get_model_info"};

static struct text field(struct json_value v, const char *key)
{
	return installed_text(json_get(v, key));
}

static bool is_card(struct json_value v)
{
	return field(v, "id").len && (text_is(field(v, "object"), "model") || json_given(json_get(v, "max_model_len")));
}

static bool is_models(struct json_value v)
{
	return text_is(field(v, "object"), "list") && is_card(json_path(v, "data.0"));
}

static bool is_model_info(struct json_value v)
{
	bool any;

	return field(v, "model_path").len && field(v, "tokenizer_path").len &&
	       json_bool(json_get(v, "is_generation"), &any) && !json_given(json_get(v, "server_args")) &&
	       !json_given(json_get(v, "max_total_num_tokens"));
}

static struct json_value find_answer(struct json_value v)
{
	for (size_t i = 0; i < ARRAY_SIZE(wrappers) && !is_models(v) && !is_model_info(v); i++) {
		struct json_value inner = json_get(v, wrappers[i]);
		if (is_models(inner) || is_model_info(inner))
			return inner;
	}
	return is_models(v) || is_model_info(v) ? v : (struct json_value){0};
}

/* The one model of a list that is no adapter; other names of it have its root and length. JSON_NONE: several, or no engine's. */
static struct json_value the_model(struct json_value list)
{
	struct json_iter it = json_iter(list);
	struct json_value v, first = {0};
	struct text key;

	while (json_type(list) == JSON_ARRAY && json_next(&it, &key, &v)) {
		int64_t length = 0, first_length = 0;
		if (json_given(json_get(v, "parent")))
			continue;
		if (!is_card(v) || !(text_is(field(v, "owned_by"), "vllm") || text_is(field(v, "owned_by"), "sglang")))
			return (struct json_value){0};
		if (!json_is_object(first))
			first = v;
		(void)json_int64(json_get(v, "max_model_len"), &length);
		(void)json_int64(json_get(first, "max_model_len"), &first_length);
		if (length != first_length || !text_eq(field(v, "root"), field(first, "root")) ||
		    !text_eq(field(v, "owned_by"), field(first, "owned_by")))
			return (struct json_value){0};
	}
	return first;
}

static int record(struct parse *p, struct text record)
{
	struct collected from = {.at = p->fallback};
	struct text rest = collected_header(record, &from.at);
	struct json_value doc, answer, card;
	int64_t length;

	if (!rest.len)
		return RECORD_CONTEXT;
	int r = parse_document(p, rest, p->padded, &doc);
	if (r)
		return r;
	answer = find_answer(doc);
	if (!json_is_object(answer))
		return parse_refuse(p, "no_model");
	collected_fields(&from, doc);
	card = is_models(answer) ? the_model(json_get(answer, "data")) : answer;
	if (!json_is_object(card))
		return RECORD_CONTEXT;
	struct event *e = parse_begin(p, EVENT_BOOT, from.at);
	installed_worker(e, from.worker);
	event_text(e, BOOT_WHAT, TEXT("snapshot"));
	event_text(e, BOOT_ENGINE, is_models(answer) ? field(card, "owned_by") : TEXT("sglang"));
	event_text(e, BOOT_MODEL, field(card, is_models(answer) ? "id" : "model_path"));
	if (json_int64(json_get(card, "max_model_len"), &length) && length > 0 && length <= TOKENS_MAX)
		event_int(e, BOOT_CONTEXT, length);
	r = parse_emit(p);
	return r < 0 ? r : RECORD_PARSED;
}

static enum bid bid(struct parse *p, struct text record)
{
	struct stamp at = STAMP_INIT;
	struct text rest = collected_header(record, &at);
	struct json_value doc;

	if (!rest.len || rest.ptr[0] != '{' ||
	    (text_find(rest, "\"data\"", 0) == SIZE_MAX && text_find(rest, "\"tokenizer_path\"", 0) == SIZE_MAX))
		return BID_NO;
	if (json_parse(p->json, rest, false, &doc, NULL, p->err) != 0)
		return BID_NO;
	return json_is_object(find_answer(doc)) ? BID_STRONG : BID_NO;
}

const struct parser parser_model_info = {
    .name = "model-info",
    .summary = "answers of /v1/models and /get_model_info (JSON document)",
    .checked = "output of vLLM and of SGLang /get_model_info; SGLang /v1/models not checked",
    .shape = SHAPE_DOCUMENT,
    .emits = 1u << EVENT_BOOT,
    .bid = bid,
    .record = record,
};
