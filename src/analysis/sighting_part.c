/* SPDX-License-Identifier: Apache-2.0 */
/* sighting_part.c - does a place in a record belong to what was asked, or to what was answered?
 *
 * A marker in another request's prompt is no leak: somebody may have sent on what he was given. Keys are those of SGLang's
 * request logs (obj, out), of OpenAI's API (messages, choices) and of gateways that keep bodies. What no key decides is unknown.
 */
#include "pagetrail/arena.h"
#include "pagetrail/json_scan.h"
#include "pagetrail/limits.h"
#include "sighting.h"

const char *const part_names[] = {"unknown", "asked", "answered"};

enum { DEPTH_MAX = 24 };

static enum part part_of_key(struct text key)
{
	static const char *const asked[] = {"prompt",     "prompts",  "messages",     "input", "inputs",
					    "input_text", "request",  "request_body", "req",   "obj",
					    "query",      "question", "instructions", "system"};
	static const char *const answered[] = {"response",   "responses",      "response_body", "output",
					       "outputs",    "output_text",    "out",           "choices",
					       "completion", "generated_text", "generated",     "completions",
					       "answer",     "delta",          "result"};
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		if (text_is(key, asked[i]))
			return PART_ASKED;
	for (size_t i = 0; i < ARRAY_SIZE(answered); i++)
		if (text_is(key, answered[i]))
			return PART_ANSWERED;
	return PART_UNKNOWN;
}

static bool word_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Python's way to print a call: obj=GenerateReqInput(…), out={…}. The last one before the place. */
static enum part part_of_line(struct text t, size_t at)
{
	static const struct {
		const char *name;
		enum part part;
	} names[] = {{"obj=", PART_ASKED}, {"out=", PART_ANSWERED}};
	for (size_t i = MIN(at, t.len); i-- > 0;)
		for (size_t k = 0; k < ARRAY_SIZE(names); k++)
			if (t.ptr[i] == 'o' && text_starts(text_sub(t, i, t.len - i), names[k].name) &&
			    (i == 0 || !word_byte(t.ptr[i - 1])))
				return names[k].part;
	return PART_UNKNOWN;
}

static enum part part_in(struct text t, size_t at, unsigned depth, struct arena *a);

/* In a string's text there may be JSON again, or a line. */
static enum part part_in_string(struct text raw, size_t at, unsigned depth, struct arena *a)
{
	struct text before = scan_unescape(text_sub(raw, 0, at), a), whole = scan_unescape(raw, a);
	return before.ptr && whole.ptr ? part_in(whole, before.len, depth + 1, a) : PART_UNKNOWN;
}

/* value: raw, with the place inside of it. */
static enum part part_in_value(struct text value, size_t at, unsigned depth, struct arena *a)
{
	if (value.len >= 2 && value.ptr[0] == '"')
		return at ? part_in_string(text_sub(value, 1, value.len - 2), at - 1, depth, a) : PART_UNKNOWN;
	return part_in(value, at, depth + 1, a);
}

static enum part part_in(struct text t, size_t at, unsigned depth, struct arena *a)
{
	struct json_scan s = scan_of(t);
	struct text key = {0}, value;
	char first = depth < DEPTH_MAX ? scan_peek(&s) : 0;
	bool object = first == '{';
	if ((first != '{' && first != '[') || !scan_open(&s, first))
		return part_of_line(t, at);
	while ((object ? scan_member(&s, &key) : scan_element(&s)) == 1 && scan_value(&s, &value)) {
		size_t from = (size_t)(value.ptr - t.ptr);
		if (at < from)
			return PART_UNKNOWN; /* in a key */
		if (at >= from + value.len)
			continue;
		enum part p = object ? part_of_key(key) : PART_UNKNOWN;
		return p ? p : part_in_value(value, at - from, depth, a);
	}
	return PART_UNKNOWN;
}

enum part part_at(struct text record, size_t at)
{
	struct arena a;
	arena_init(&a, ARENA_MAX_BYTES);
	/* a head before the JSON: a wrapper's stamp and stream, a logger's name */
	size_t brace = text_find_char(record, '{', 0);
	struct text json = brace < at ? text_sub(record, brace, record.len - brace) : record;
	enum part p = part_in(json, at - (size_t)(json.ptr - record.ptr), 0, &a);
	if (!p)
		p = part_of_line(record, at);
	arena_done(&a);
	return p;
}
