/* SPDX-License-Identifier: Apache-2.0 */
/* vllm_custom.h - vLLM's messages behind the envelope of a site: VLLM_LOGGING_CONFIG_PATH replaces vLLM's own wholesale
 *
 * Included by vllm.c only. Shapes: Python's logging (asctime - name - level - message, LEVEL:name:message), loguru, structlog, a
 * year in vLLM's own, and JSON of python-json-logger, structlog, NIM and Dynamo. Such a line is vLLM's when it names one of
 * vLLM's loggers or files, or when its message is one that only vLLM writes: everybody logs like that.
 */
#pragma once

#include "pagetrail/json_scan.h"

/* What may stand between a time and a message: separators, levels also in small letters and brackets, numbers of processes.
 * 0: none of these. */
static size_t filler_length(struct text t)
{
	static const char *const small[] = {"[debug", "[info", "[warning", "[error", "[critical"};
	size_t n = 0;

	if (t.ptr[0] == '-' || t.ptr[0] == '|' || t.ptr[0] == ':')
		return t.len > 1 && t.ptr[1] == ' ' ? 2 : 0;
	if (starts_any(t, small, ARRAY_SIZE(small))) {
		n = text_find_char(text_sub(t, 0, 20), ']', 0);
		return n == SIZE_MAX ? 0 : n + 1;
	}
	if ((n = level_length(t)) > 0)
		return n + (t.ptr[n] == ':');
	while (n < t.len && n < 9 && is_digit(t.ptr[n]))
		n++;
	return n && n < t.len && t.ptr[n] == ' ' ? n : 0;
}

/* vllm.v1.engine.async_llm, also with ":function:123" behind it; 0: it is no logger of vLLM's. */
static size_t logger_length(struct text t)
{
	size_t n = 0, at, digits;

	if (!text_starts(t, "vllm"))
		return 0;
	while (n < t.len && n < 160 && (py_word(t.ptr[n]) || t.ptr[n] == '.'))
		n++;
	if (n < 4 || (n > 4 && t.ptr[4] != '.'))
		return 0;
	for (at = n + 1; n < t.len && t.ptr[n] == ':' && at < t.len && at < 240 && py_word(t.ptr[at]);)
		at++;
	for (digits = ++at; digits < t.len && is_digit(t.ptr[digits]);)
		digits++;
	if (digits > at && t.ptr[at - 1] == ':')
		n = digits;
	return n < t.len && (t.ptr[n] == ' ' || t.ptr[n] == ':') ? n + (t.ptr[n] == ':') : 0;
}

/* Takes what a site puts before a message off its front; *ret_own: something of it was vLLM's. */
static struct text strip_custom(struct text t, bool *ret_own)
{
	for (int i = 0; i < 10; i++) {
		size_t n, own;

		t = skip_blanks(t);
		if (t.len == 0)
			break;
		own = logger_length(t);
		if (own == 0 && t.ptr[0] == '[')
			own = place_length(t);
		n = own ? own : filler_length(t);
		if (n == 0)
			break;
		*ret_own = *ret_own || own > 0;
		t = text_from(t, n);
	}
	return t;
}

/* structlog's console pads the message and puts the logger behind it. */
static struct text strip_tail(struct text t, bool *ret_own)
{
	size_t at = text_ends(t, "]") ? text_rfind_char(t, '[') : SIZE_MAX;

	if (at == SIZE_MAX || at == 0 || t.ptr[at - 1] != ' ' || !text_starts(text_from(t, at + 1), "vllm"))
		return t;
	*ret_own = true;
	return text_trim(text_sub(t, 0, at));
}

/* A line of text: its time, and the message behind all else. */
static bool custom_text(struct text t, struct line *line, bool *ret_own)
{
	size_t used = 0, level = level_length(t);
	struct text rest = level ? text_from(t, level + (t.ptr[level] == ':')) : t;

	line->ts = STAMP_INIT;
	rest = skip_blanks(rest);
	if (rest.len > 1 && rest.ptr[0] == '[' && is_digit(rest.ptr[1]))
		rest = text_from(rest, 1);
	if (rest.len > 19 && is_digit(rest.ptr[0]) && stamp_parse_iso(rest, &line->ts, &used)) {
		used += used < rest.len && rest.ptr[used] == ']';
		if (used >= rest.len || rest.ptr[used] != ' ')
			return false;
	} else if (!level || t.ptr[level] != ':' || logger_length(rest) == 0) {
		return false; /* without a time: INFO:vllm.engine:message alone */
	}
	line->message = strip_tail(strip_custom(text_from(rest, used), ret_own), ret_own);
	return line->message.len > 0;
}

/* A line of JSON. Its text is not unescaped to be looked at: false where memory is short. */
static bool custom_json(struct text t, struct arena *a, struct line *line, bool *ret_own)
{
	static const char *const times[] = {"timestamp", "asctime", "time", "ts", "@timestamp"};
	static const char *const loggers[] = {"name", "logger", "target", "file_path", "pathname", "module"};
	struct json_scan s = scan_of(t);
	struct text key, v, message = {NULL, 0};
	size_t used;
	int r;

	line->ts = STAMP_INIT;
	if (!scan_open(&s, '{') || scan_contradicts(t))
		return false;
	while ((r = scan_member(&s, &key)) == 1) {
		struct text value;

		if (!scan_value(&s, &v))
			return false;
		value = v.len > 1 && v.ptr[0] == '"' ? text_sub(v, 1, v.len - 2) : v;
		if (text_is(key, "message") || text_is(key, "msg") || text_is(key, "event"))
			message = v.ptr[0] == '"' && !message.ptr ? value : message;
		for (size_t i = 0; i < ARRAY_SIZE(loggers); i++)
			if (text_is(key, loggers[i]))
				*ret_own |= text_starts(value, "vllm") || holds(value, "/vllm/");
		for (size_t i = 0; i < ARRAY_SIZE(times) && line->ts.ns == TIME_UNKNOWN; i++)
			if (text_is(key, times[i]) && !stamp_parse_iso(value, &line->ts, &used) &&
			    !(stamp_parse_epoch(value, &line->ts) && line->ts.quality == STAMP_ZONED))
				line->ts = STAMP_INIT;
		/* NIM keeps vLLM's own, without a year */
		if (text_is(key, "time") && line->ts.ns == TIME_UNKNOWN && value.len > 13 && digit_pair(value.ptr) &&
		    value.ptr[2] == '-' && digit_pair(value.ptr + 3) && value.ptr[5] == ' ' &&
		    time_of_day(text_from(value, 6), &line->time_ns))
			line->day = text_sub(value, 0, 5);
	}
	if (r < 0 || message.len == 0)
		return false;
	message = scan_unescape(message, a);
	if (message.ptr == NULL)
		return false;
	line->message = strip_custom(text_sub(message, 0, text_find_char(message, '\n', 0)), ret_own);
	return line->message.len > 0;
}
