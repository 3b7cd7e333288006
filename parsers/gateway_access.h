/* SPDX-License-Identifier: Apache-2.0 */
/* gateway_access.h - what the access logs of all gateways share: cutting a line into fields, and what may be said of them
 *
 * Rules that hold for each of them:
 *   - a path is kept without its query, an address without user and password: both hold keys. What looks like a key is
 *     no tenant, and ends a message.
 *   - health checks and metrics are context, and so is what can bring nobody content of a model: OPTIONS and HEAD, and GET of
 *     lists, documentation and static files. Only whole paths count: /healthcare/v1/chat/completions is a request. What is not
 *     known to be aside is a request.
 *   - who counts headers into the bytes that were sent (nginx $bytes_sent, Kong, HAProxy, ALB) has sent content for
 *     certain only when there are more than headers can have, or when the answer ran to its end.
 */
#pragma once

#include <stdio.h>
#include <string.h>

#include "pagetrail/parser.h"
#include "pagetrail/secret.h"

enum { HEADERS_MAX_BYTES = 64 * 1024, ATTEMPTS_MAX = 64, ROOM_DIGITS = 32 };

/* --- fields of a line: each reader takes its field and the one blank behind it off *rest --- */

static inline bool cut_blank(struct text *rest, size_t n)
{
	if (n < rest->len && rest->ptr[n] != ' ')
		return false;
	*rest = text_from(*rest, n + 1);
	return true;
}

static inline bool cut_word(struct text *rest, struct text *ret)
{
	const char *end = rest->len ? memchr(rest->ptr, ' ', rest->len) : NULL;
	size_t n = end ? (size_t)(end - rest->ptr) : rest->len;

	*ret = text_sub(*rest, 0, n);
	*rest = text_from(*rest, n + 1);
	return n > 0;
}

/* "…"; a backslash takes away the meaning of the byte behind it. */
static inline bool cut_quoted(struct text *rest, struct text *ret)
{
	size_t n = 1;

	if (rest->len < 2 || rest->ptr[0] != '"')
		return false;
	for (;;) {
		const char *q = memchr(rest->ptr + n, '"', rest->len - n);
		size_t back = 0, at;

		if (!q)
			return false;
		at = (size_t)(q - rest->ptr);
		while (at - back > 1 && rest->ptr[at - back - 1] == '\\')
			back++;
		n = at + 1;
		if (back % 2 == 0) {
			*ret = text_sub(*rest, 1, at - 1);
			return cut_blank(rest, n);
		}
		if (n >= rest->len)
			return false;
	}
}

static inline bool cut_brackets(struct text *rest, struct text *ret)
{
	size_t n = rest->len && rest->ptr[0] == '[' ? text_find_char(*rest, ']', 1) : SIZE_MAX;

	if (n == SIZE_MAX)
		return false;
	*ret = text_sub(*rest, 1, n - 1);
	return cut_blank(rest, n + 1);
}

/* Digits only; "-" and what is no number give false. */
static inline bool digits_of(struct text t, int64_t *ret)
{
	uint64_t v = 0;

	if (t.len == 0 || t.len > 18)
		return false;
	for (size_t i = 0; i < t.len; i++) {
		unsigned d = (unsigned char)t.ptr[i] - '0';

		if (d > 9)
			return false;
		v = v * 10 + d;
	}
	*ret = (int64_t)v;
	return true;
}

/* 100 to 599; 000 and 0 are read, too, and say that no answer was begun. */
static inline bool status_of(struct text t, int64_t *ret)
{
	return digits_of(t, ret) && (*ret == 0 || (*ret >= 100 && *ret <= 599));
}

static inline struct text not_dash(struct text t)
{
	return text_is(t, "-") ? (struct text){0} : t;
}

/* --- what may be said --- */

/* The path of a request's target, without scheme, host, query and fragment. */
static inline struct text path_of(struct text t)
{
	size_t at = t.len && t.ptr[0] != '/' ? text_find(t, "://", 0) : SIZE_MAX;

	if (text_is(t, "-"))
		return (struct text){0};
	if (at < 8) {
		at = text_find_char(t, '/', at + 3);
		t = at == SIZE_MAX ? (struct text){0} : text_from(t, at);
	}
	t = text_sub(t, 0, text_find_char(t, '?', 0));
	return text_sub(t, 0, text_find_char(t, '#', 0));
}

/* The path out of "POST /v1/completions HTTP/1.1". */
static inline struct text path_of_request(struct text line, struct text *ret_method)
{
	struct text target;

	*ret_method = (struct text){0};
	if (!cut_word(&line, ret_method) || !cut_word(&line, &target))
		return (struct text){0};
	return path_of(target);
}

/* An upstream's address: nobody's password, no query. */
static inline struct text address_of(struct text t)
{
	size_t scheme = text_find(t, "://", 0), from = scheme == SIZE_MAX ? 0 : scheme + 3, slash, at;

	slash = text_find_char(t, '/', from);
	at = text_rfind_char(text_sub(t, 0, slash), '@');
	if (at != SIZE_MAX && at >= from)
		return text_sub(text_from(t, at + 1), 0, text_find_char(text_from(t, at + 1), '?', 0));
	return text_sub(t, 0, text_find_char(t, '?', 0));
}

static inline bool one_of(struct text t, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text_is(t, names[i]))
			return true;
	return false;
}

/* Checks of orchestrators and scrapers; they ask for no content of anybody. */
static inline bool is_health(struct text path)
{
	static const char *const first[] = {"health", "healthz",  "health_generate", "livez",
					    "readyz", "liveness", "readiness",       "metrics",
					    "ping",   "live",     "ready",           "-"};
	static const char *const second[] = {"live",    "ready", "liveness", "liveliness", "readiness",
					     "startup", "ping",  "services", "healthy",    "json"};
	struct text name;

	if (path.len < 2 || path.ptr[0] != '/' || !memchr("hlrmp-", path.ptr[1], 6))
		return false;
	path = text_from(path, 1);
	text_split(&path, '/', &name);
	return one_of(name, first, ARRAY_SIZE(first)) && (path.len == 0 || one_of(path, second, ARRAY_SIZE(second)));
}

/* /v1/…: an API's, however the path ends. Callers may choose the name of a response, so that it ends like a file's. */
static inline bool is_api(struct text path)
{
	for (size_t at = 0; (at = text_find(path, "/v", at)) != SIZE_MAX; at += 2)
		if (at + 2 < path.len && path.ptr[at + 2] >= '0' && path.ptr[at + 2] <= '9')
			return true;
	return false;
}

/* Files of pages, and what is the same for everybody. */
static inline bool is_static(struct text path)
{
	static const char *const paths[] = {"/",
					    "/v1/models",
					    "/models",
					    "/favicon.ico",
					    "/robots.txt",
					    "/docs",
					    "/redoc",
					    "/version",
					    "/v1/model/info",
					    "/openapi.json",
					    "/get_model_info",
					    "/model_info",
					    "/server_info",
					    "/get_server_info"};
	static const char *const ends[] = {".js",    ".css",  ".png", ".ico",  ".svg",
					   ".woff2", ".woff", ".map", ".html", ".jpg"};

	if (one_of(path, paths, ARRAY_SIZE(paths)))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (text_ends(path, ends[i]))
			return !is_api(path);
	return false;
}

/* A request that brings nobody what a model wrote. method: may be empty. */
static inline bool is_aside(struct text method, struct text path)
{
	if (text_is(method, "OPTIONS") || text_is(method, "HEAD") || is_health(path))
		return true;
	return text_is(method, "GET") && is_static(path);
}

/* W3C traceparent and X-Amzn-Trace-Id hold the trace's id; anything else is one. */
static inline struct text trace_of(struct text t)
{
	size_t root = text_find(t, "Root=", 0);

	if (t.len >= 55 && t.ptr[2] == '-' && t.ptr[35] == '-')
		return text_sub(t, 3, 32);
	if (root != SIZE_MAX) {
		t = text_from(t, root + 5);
		return text_sub(t, 0, text_find_char(t, ';', 0));
	}
	return t;
}

/* Rooms are decimal; tracing prints them as 0x… */
static inline struct text room_of(struct parse *p, struct text t)
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
	out = arena_alloc(&p->scratch, ROOM_DIGITS);
	if (!out)
		return t;
	n = snprintf(out, ROOM_DIGITS, "%llu", (unsigned long long)v);
	return (struct text){out, (size_t)n};
}

/* One of Envoy's response flags: DC and DR say that the caller went away. */
static inline bool flag_gone(struct text one)
{
	return text_is(one, "DC") || text_is(one, "DR") || text_starts(one, "Downstream");
}

static inline bool looks_like_response(struct text id)
{
	return text_starts(id, "chatcmpl-") || text_starts(id, "cmpl-") || text_starts(id, "resp_") ||
	       text_starts(id, "msg_");
}

/* Does a bare value of an unknown header look like the id of a request? */
static inline bool looks_like_id(struct text t)
{
	bool digit = false;

	if (looks_like_response(t))
		return true;
	if (t.len != 32 && t.len != 36)
		return false;
	for (size_t i = 0; i < t.len; i++) {
		char c = t.ptr[i];

		if (t.len == 36 && (i == 8 || i == 13 || i == 18 || i == 23)) {
			if (c != '-')
				return false;
			continue;
		}
		if (!((c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'f')))
			return false;
		digit |= c <= '9';
	}
	return digit;
}

/* Bytes that headers are counted into; at the end of an answer they hold some content, else only when there are many. */
static inline bool content_bytes(int64_t sent, bool whole, int64_t *ret)
{
	if (sent < 0 || sent > TOKENS_MAX || (sent > 0 && sent <= HEADERS_MAX_BYTES && !whole))
		return false;
	*ret = sent;
	return true;
}

/* The i-th of a list "a, b : c" as nginx writes one element an attempt; false behind the last. */
static inline bool attempt_at(struct text list, unsigned at, bool spaced, struct text *ret)
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
