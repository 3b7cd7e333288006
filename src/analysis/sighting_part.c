/* SPDX-License-Identifier: Apache-2.0 */
/* sighting_part.c - does a place in a record belong to what was asked, or to what was answered?
 *
 * A marker in another request's prompt is no leak: somebody may have sent on what he was given. Keys are those of SGLang's
 * request logs (obj, out), of OpenAI's API (messages, choices) and of gateways that keep bodies. What no key decides is unknown.
 */
#include <string.h>

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

/* A line as Python prints it, read forward: what stands inside of its quotes is somebody's text and names nothing. */
struct line_walk {
	struct text t;
	size_t at;
	char quote;      /* inside a string that this began; 0: outside */
	enum part named; /* the last name outside of strings: obj=GenerateReqInput(…), out={…} */
};

/* An apostrophe in a word begins no string; a prefix such as b'…' does not end one. */
static bool begins_string(struct text t, size_t i)
{
	return i == 0 || !word_byte(t.ptr[i - 1]) || (t.ptr[i - 1] == 'b' && (i == 1 || !word_byte(t.ptr[i - 2])));
}

/* One step: a byte, or an escape of two. */
static void walk_step(struct line_walk *w)
{
	static const struct {
		const char *name;
		enum part part;
	} names[] = {{"obj=", PART_ASKED}, {"out=", PART_ANSWERED}};
	struct text t = w->t;
	size_t i = w->at++;
	char c = t.ptr[i];
	if (w->quote) {
		if (c == '\\')
			w->at++;
		else if (c == w->quote)
			w->quote = 0;
		return;
	}
	if ((c == '\'' || c == '"') && begins_string(t, i))
		w->quote = c;
	for (size_t k = 0; c == 'o' && k < ARRAY_SIZE(names); k++)
		if (text_starts(text_from(t, i), names[k].name) && (i == 0 || !word_byte(t.ptr[i - 1])))
			w->named = names[k].part;
}

static enum part part_of_line(struct text t, size_t at)
{
	struct line_walk w = {.t = t};
	while (w.at < at && w.at < t.len)
		walk_step(&w);
	return w.named;
}

/* Where the JSON of a record begins: behind a wrapper's stamp and stream, or a logger's name. Not inside of a string, and not
 * behind obj= or out=; SIZE_MAX: nowhere. */
static size_t json_begin(struct text record)
{
	struct line_walk w = {.t = record};
	while (w.at < record.len && !w.named) {
		if (!w.quote && record.ptr[w.at] == '{')
			return w.at;
		walk_step(&w);
	}
	return SIZE_MAX;
}

/* Members in which wrappers and loggers put a whole line or document of others. In any other string are somebody's words. */
static bool holds_records(struct text key)
{
	static const char *const keys[] = {"log",  "message",  "msg",   "MESSAGE", "line",    "textPayload",
					   "_raw", "@message", "event", "record",  "original"};
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (text_is(key, keys[i]))
			return true;
	return false;
}

static enum part part_in(struct text t, size_t at, unsigned depth, struct arena *a);

/* In a string's text there may be JSON again, or a line. */
static enum part part_in_string(struct text raw, size_t at, unsigned depth, struct arena *a)
{
	struct text before = scan_unescape(text_sub(raw, 0, at), a), whole = scan_unescape(raw, a);
	return before.ptr && whole.ptr ? part_in(whole, before.len, depth + 1, a) : PART_UNKNOWN;
}

/* value: raw, with the place inside of it. key: NULL in an array. */
static enum part part_in_value(struct text key, struct text value, size_t at, unsigned depth, struct arena *a)
{
	if (value.len < 2 || value.ptr[0] != '"')
		return part_in(value, at, depth + 1, a);
	return at && holds_records(key) ? part_in_string(text_sub(value, 1, value.len - 2), at - 1, depth, a)
					: PART_UNKNOWN;
}

/* Is the place in the JSON that begins at `from`? Then *ret says in whose words, as far as its keys tell. */
static bool part_in_json(struct text t, size_t from, size_t at, unsigned depth, struct arena *a, enum part *ret)
{
	struct json_scan s = scan_of(text_from(t, from));
	struct text key = {0}, value;
	char first = scan_peek(&s);
	bool object = first == '{';
	if ((first != '{' && first != '[') || !scan_open(&s, first))
		return false;
	while ((object ? scan_member(&s, &key) : scan_element(&s)) == 1 && scan_value(&s, &value)) {
		size_t begin = (size_t)(value.ptr - t.ptr);
		if (at >= begin + value.len)
			continue;
		/* before it: in a key */
		enum part p = object && at >= begin ? part_of_key(key) : PART_UNKNOWN;
		*ret = p || at < begin ? p : part_in_value(key, value, at - begin, depth, a);
		return true;
	}
	return false;
}

static enum part part_in(struct text t, size_t at, unsigned depth, struct arena *a)
{
	enum part ret = PART_UNKNOWN;
	size_t begin = json_begin(t);
	if (depth >= DEPTH_MAX || part_in_json(t, 0, at, depth, a, &ret) ||
	    (begin < at && part_in_json(t, begin, at, depth, a, &ret)))
		return ret;
	return part_of_line(t, at);
}

enum part part_at(struct text record, size_t at)
{
	struct arena a;
	arena_init(&a, ARENA_MAX_BYTES);
	enum part p = part_in(record, at, 0, &a);
	arena_done(&a);
	return p;
}

/* ---- how much of a prompt ---- */

/* Loggers leave out the middle or the end of long texts, and put dots there. */
static enum prompt whole_or_cut(struct text raw)
{
	struct text t = text_trim(raw);
	bool cut = text_find(t, " ... ", 0) != SIZE_MAX || text_ends(t, "...") || text_ends(t, "\xe2\x80\xa6") ||
		   text_find(t, "truncated", 0) != SIZE_MAX;
	return !t.len ? PROMPT_UNSEEN : cut ? PROMPT_CUT : PROMPT_SEEN;
}

static bool holds_words(struct text key)
{
	return part_of_key(key) == PART_ASKED || text_is(key, "text") || text_is(key, "content");
}

/* A printed call: text='…', or messages=[…] and the like with a text of their own. What was cut stands as '…' ... '…'. */
static enum prompt prompt_in_call(struct text t)
{
	static const char *const names[] = {"text=", "prompt=", "'text': ", "'content': ", "'prompt': "};
	struct line_walk w = {.t = t};
	enum prompt ret = PROMPT_UNSEEN;
	while (w.at < t.len) {
		size_t at = w.at;
		bool outside = !w.quote;
		struct text from = text_from(t, at);
		for (size_t k = 0; outside && k < ARRAY_SIZE(names); k++) {
			struct text v = text_starts(from, names[k]) ? text_from(from, strlen(names[k])) : TEXT("");
			if (w.named != PART_ASKED || v.len < 3 || (v.ptr[0] != '\'' && v.ptr[0] != '"') ||
			    v.ptr[1] == v.ptr[0])
				continue;
			struct line_walk in = {.t = v, .at = 1, .quote = v.ptr[0]};
			while (in.quote && in.at < v.len)
				walk_step(&in);
			bool cut = in.quote || text_starts(text_from(v, MIN(in.at, v.len)), " ... ");
			enum prompt p = cut ? PROMPT_CUT : whole_or_cut(text_sub(v, 1, in.at - 2));
			ret = ret == PROMPT_UNSEEN ? p : MIN(ret, p); /* all of its texts must be whole */
		}
		walk_step(&w);
	}
	return ret;
}

static enum prompt both(enum prompt a, enum prompt b)
{
	return !a ? b : !b ? a : MIN(a, b);
}

/* words: the value belongs to what was asked. */
static enum prompt prompt_in_value(struct text value, struct text key, bool words, unsigned depth, struct arena *a);

static enum prompt prompt_in_json(struct text t, bool words, unsigned depth, struct arena *a, bool *ret_whole)
{
	struct json_scan s = scan_of(t);
	struct text key = {0}, value;
	char first = scan_peek(&s);
	bool object = first == '{';
	enum prompt ret = PROMPT_UNSEEN;
	int rc = -1;
	if ((first != '{' && first != '[') || !scan_open(&s, first))
		return ret;
	while ((rc = object ? scan_member(&s, &key) : scan_element(&s)) == 1 && scan_value(&s, &value))
		ret = both(ret, prompt_in_value(value, object ? key : TEXT(""), words, depth + 1, a));
	*ret_whole = rc == 0;
	return ret;
}

static enum prompt prompt_of_text(struct text t, unsigned depth, struct arena *a)
{
	size_t begin = json_begin(t);
	bool whole = false;
	if (depth < DEPTH_MAX && begin < t.len) {
		enum prompt p = prompt_in_json(text_from(t, begin), false, depth, a, &whole);
		if (whole)
			return p;
	}
	return prompt_in_call(t);
}

static enum prompt prompt_in_value(struct text value, struct text key, bool words, unsigned depth, struct arena *a)
{
	bool string = value.len >= 2 && value.ptr[0] == '"', whole;
	enum part part = part_of_key(key);
	if (depth >= DEPTH_MAX || (part == PART_ANSWERED && !words))
		return PROMPT_UNSEEN;
	if (!string)
		return prompt_in_json(value, words || part == PART_ASKED, depth, a, &whole);
	struct text raw = text_sub(value, 1, value.len - 2);
	if (part == PART_ASKED || (words && (!key.len || holds_words(key))))
		return whole_or_cut(raw);
	if (words || !holds_records(key))
		return PROMPT_UNSEEN;
	struct text said = scan_unescape(raw, a);
	return said.ptr ? prompt_of_text(said, depth + 1, a) : PROMPT_UNSEEN;
}

enum prompt prompt_in(struct text record)
{
	struct arena a;
	arena_init(&a, ARENA_MAX_BYTES);
	enum prompt p = prompt_of_text(record, 0, &a);
	arena_done(&a);
	return p;
}
