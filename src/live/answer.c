/* SPDX-License-Identifier: Apache-2.0 */
/* answer.c - what an OpenAI-compatible endpoint answered: one object, or a stream of events
 *
 * As in vLLM entrypoints/openai/protocol.py and SGLang srt/entrypoints/openai/protocol.py (CompletionResponse,
 * ChatCompletionResponse and their stream forms): choices[] with text, or message/delta with content and reasoning_content;
 * finish_reason; id; usage. An error is {"error":{…}} (both; also as an event of a stream), or {"object":"error"}; SGLang's
 * finish_reason of a request that it gave up is "abort".
 * A stream is put together again: a marker that came in pieces is whole in `text`.
 */
#include <string.h>

#include "pagetrail/json.h"
#include "pagetrail/limits.h"
#include "pagetrail/live.h"

static int say(struct buf *b, struct json_value v, struct err *err)
{
	struct text t;
	return json_string(v, &t) ? buf_add_text(b, t, err) : 0;
}

static int say_anew(struct buf *b, struct json_value v, struct err *err)
{
	struct text t;
	if (!json_string(v, &t) || !t.len)
		return 0;
	buf_clear(b);
	return buf_add_text(b, text_sub(t, 0, NAME_MAX_BYTES), err);
}

static int take_choice(struct live_answer *a, struct json_value choice, struct err *err)
{
	static const char *const holders[] = {"message", "delta"};
	static const char *const said[] = {"reasoning_content", "reasoning", "content"};
	struct text finish;
	int rc = say(&a->text, json_get(choice, "text"), err);
	for (size_t i = 0; !rc && i < ARRAY_SIZE(holders); i++)
		for (size_t k = 0; !rc && k < ARRAY_SIZE(said); k++)
			rc = say(&a->text, json_get(json_get(choice, holders[i]), said[k]), err);
	if (json_string(json_get(choice, "finish_reason"), &finish) && text_is(finish, "abort"))
		a->error = true;
	return rc ? rc : say_anew(&a->finish, json_get(choice, "finish_reason"), err);
}

static void take_count(struct json_value usage, const char *key, int64_t *ret)
{
	int64_t n;
	if (json_int64(json_get(usage, key), &n) && n >= 0 && n <= TOKENS_MAX)
		*ret = n;
}

static int take_object(struct live_answer *a, struct json_value v, struct err *err)
{
	struct json_value choices = json_get(v, "choices"), c;
	struct text key, object;
	int rc = say_anew(&a->id, json_get(v, "id"), err);
	if (json_given(json_get(v, "error")) ||
	    (json_string(json_get(v, "object"), &object) && text_is(object, "error")))
		a->error = a->understood = true;
	for (struct json_iter it = json_iter(choices);
	     !rc && json_type(choices) == JSON_ARRAY && json_next(&it, &key, &c);) {
		a->understood = true;
		rc = take_choice(a, c, err);
	}
	take_count(json_get(v, "usage"), "prompt_tokens", &a->prompt);
	take_count(json_get(v, "usage"), "completion_tokens", &a->output);
	return rc;
}

/* 1: it is no JSON. */
static int take_json(struct live_answer *a, struct json *j, struct text t, struct err *err)
{
	struct json_value doc;
	int rc = json_parse(j, t, false, &doc, NULL, err);
	return rc ? rc : take_object(a, doc, err);
}

static int take_events(struct live_answer *a, struct json *j, struct text rest, struct err *err)
{
	struct text line;
	int rc = 0;
	while (rc >= 0 && rest.len) {
		size_t end = text_find_char(rest, '\n', 0);
		if (end == SIZE_MAX) /* cut: what it would have said is not known */
			break;
		line = text_trim(text_sub(rest, 0, end));
		rest = text_from(rest, end + 1);
		if (!text_starts(line, "data:"))
			continue;
		line = text_trim(text_from(line, 5));
		if (text_is(line, "[DONE]"))
			a->ended = true;
		else
			rc = take_json(a, j, line, err);
	}
	return MIN(rc, 0);
}

int live_answer_read(struct live_answer *a, struct text bytes, bool stream, struct err *err)
{
	*a = (struct live_answer){.text = BUF_INIT(DOCUMENT_MAX_BYTES),
				  .id = BUF_INIT(KIB),
				  .finish = BUF_INIT(KIB),
				  .prompt = -1,
				  .output = -1};
	struct json *j = json_new();
	if (!j)
		return err_nomem(err);
	int rc = 1;
	if (!stream ||
	    text_starts(text_trim(bytes), "{")) { /* an error may come at once also where a stream was asked for */
		a->ended = true;
		rc = take_json(a, j, bytes, err);
	}
	if (rc == 1 && stream) {
		a->ended = false;
		rc = take_events(a, j, bytes, err);
	}
	json_free(j);
	return MIN(rc, 0);
}

void live_answer_done(struct live_answer *a)
{
	buf_done(&a->text);
	buf_done(&a->id);
	buf_done(&a->finish);
}
