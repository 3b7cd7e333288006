/* SPDX-License-Identifier: Apache-2.0 */
/* sglang_finish.h - how SGLang says in JSON that a request ended, shared by the formats that carry it
 *
 * Included once by each of them; no state.
 */
#pragma once

#include <string.h>

#include "pagetrail/parser.h"

/* The number right behind `mark`, found at or after *at; *at moves behind it. */
static UNUSED bool digits_after(struct text t, const char *mark, size_t *at, int64_t *ret)
{
	size_t from = text_find(t, mark, *at), end;

	if (from == SIZE_MAX)
		return false;
	from += strlen(mark);
	for (end = from; end < t.len && ((t.ptr[end] >= '0' && t.ptr[end] <= '9') || t.ptr[end] == ','); end++)
		;
	*at = end;
	return text_count(text_sub(t, from, end - from), ret) && *ret <= TOKENS_MAX;
}

/* "Input length (N tokens) … (M tokens)": what was asked and what is allowed. Only at the start of the message. */
static UNUSED bool rejection(struct text message, int64_t *ret_length, int64_t *ret_limit)
{
	size_t at = 0;

	if (!text_starts(message, "Input length (") && !text_starts(message, "The input ("))
		return false;
	return digits_after(message, "(", &at, ret_length) && digits_after(message, "(", &at, ret_limit);
}

/* finish_reason as an object, or as a bare word; returns the abort's message if it is one. */
static UNUSED struct text set_finish(struct event *e, struct json_value reason)
{
	struct text type = {0}, message = {0};
	int64_t status;

	if (!json_string(reason, &type))
		json_string(json_get(reason, "type"), &type);
	event_text(e, LEG_FINISH, type);
	event_text(e, LEG_WHAT, TEXT("finished")); /* also after an abort: finish_reason says so */
	if (json_count(json_get(reason, "status_code"), &status) && status >= 100 && status <= 599)
		event_int(e, LEG_STATUS, status);
	if (json_string(json_get(reason, "message"), &message))
		event_text(e, LEG_MESSAGE, message);
	return message;
}
