/* SPDX-License-Identifier: Apache-2.0 */
/* sglang_engine_access.h - access lines: uvicorn's, and aiohttp's of the bootstrap server
 *
 * Included by sglang_engine.c only. What a server asks of itself (health, metrics) is context.
 */
#pragma once

#include "gateway_access.h"
#include "pagetrail/parser.h"

static int access_emit(struct parse *p, struct text method, struct text route, struct text status)
{
	static const char *const own[] = {"/server_info",    "/get_server_info", "/model_info",
					  "/get_model_info", "/get_load",        "/v1/loads"};
	struct event *e;

	route = text_sub(route, 0, MIN(text_find_char(route, '?', 0), route.len));
	if (text_is(method, "PRI") || is_health(route) || one_of(route, own, ARRAY_SIZE(own)))
		return RECORD_CONTEXT;
	e = engine_begin(p, EVENT_GATEWAY);
	event_text(e, GATEWAY_WHAT, TEXT("access"));
	event_count(e, GATEWAY_STATUS, status);
	event_text(e, GATEWAY_ROUTE, route);
	return engine_emit(p);
}

/* 10.0.3.9:48574 - "POST /v1/chat/completions HTTP/1.1" 500 Internal Server Error, as uvicorn writes it; the client may be
 * missing. By hand, because it is a fifth of a busy engine's log. RECORD_UNPARSED: it is none, or, with a reason, one that is torn. */
static int access_line(struct parse *p, struct text t)
{
	size_t quote = text_find_char(text_sub(t, 0, 68), '"', 0), n = 0;
	struct text method, route, status;

	if (quote == SIZE_MAX || quote < 2 || t.ptr[quote - 1] != ' ' || t.ptr[quote - 2] != '-' || quote == 3 ||
	    (quote > 3 && t.ptr[quote - 3] != ' '))
		return RECORD_UNPARSED;
	for (size_t i = 0; i + 3 < quote; i++)
		if (!py_word(t.ptr[i]) && !memchr(":.[]-", t.ptr[i], 5))
			return RECORD_UNPARSED;
	t = text_from(t, quote + 1);
	while (n < t.len && n < 9 && is_upper(t.ptr[n]))
		n++;
	method = text_sub(t, 0, n);
	if (n < 3 || n > 8 || n >= t.len || t.ptr[n] != ' ')
		return RECORD_UNPARSED;
	t = text_from(t, n + 1);
	for (n = 0; n < t.len && t.ptr[n] != ' ' && t.ptr[n] != '"';)
		n++;
	route = text_sub(t, 0, n);
	t = text_from(t, n);
	if (text_starts(t, " HTTP/")) {
		for (n = 6; n < t.len && (is_digit(t.ptr[n]) || t.ptr[n] == '.');)
			n++;
		t = text_from(t, n > 6 ? n : 0);
	}
	status = text_sub(t, 2, 3);
	if (!text_starts(t, "\" ") || status.len != 3 || !all_digits(status) || status.ptr[0] < '1' ||
	    status.ptr[0] > '5' || (t.len > 5 && t.ptr[5] != ' '))
		return engine_torn(p);
	return access_emit(p, method, route, status);
}

static int take_access(struct parse *p, const struct match *m, struct text message)
{
	struct text clf = match_group(m, "clf");
	struct engine *s = p->state;
	struct stamp at;
	size_t used;

	(void)message;
	if (clf.len > 0 && !s->line.exported && stamp_parse_clf(clf, &at, &used))
		s->line.ts = at;
	return access_emit(p, match_group(m, "method"), match_group(m, "route"), match_group(m, "status"));
}
