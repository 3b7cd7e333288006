/* SPDX-License-Identifier: Apache-2.0 */
/* gateway_line.h - from the fields of one access line to its events: an attempt each for upstreams that failed, then the
 * request itself
 */
#pragma once

#include "gateway_access.h"

struct access_line {
	struct stamp ts;             /* when the line was written, or what it has instead */
	int64_t start_ns, end_ns;    /* TIME_UNKNOWN: not known for sure */
	int64_t status;              /* 0: none */
	int64_t bytes_in, bytes_out; /* -1: unknown */
	int64_t input, output;       /* tokens; -1: unknown */
	bool gone;                   /* the caller went away */
	bool headers;                /* bytes_out counts headers, too */
	struct text id, response, trace, tenant, model, message, method, path;
	struct text upstream, upstream_status; /* with one element an attempt, as nginx lists them */
};

#define ACCESS_LINE_INIT                                \
	((struct access_line){.ts = STAMP_INIT,         \
			      .start_ns = TIME_UNKNOWN, \
			      .end_ns = TIME_UNKNOWN,   \
			      .bytes_in = -1,           \
			      .bytes_out = -1,          \
			      .input = -1,              \
			      .output = -1})

static inline void access_who(struct event *e, const struct access_line *a)
{
	event_text(e, GATEWAY_ID, a->id);
	event_text(e, GATEWAY_RESPONSE_ID,
		   a->response.len              ? a->response
		   : looks_like_response(a->id) ? a->id
						: (struct text){0});
	event_text(e, GATEWAY_TRACE_ID, a->trace);
	event_text(e, GATEWAY_TENANT, a->tenant);
}

/* All but the last of "502, 200" are attempts that failed. */
static inline int access_attempts(struct parse *p, const struct access_line *a, unsigned *ret_n)
{
	struct text one;
	int64_t status;
	unsigned n = 0;

	while (n < ATTEMPTS_MAX && a->upstream_status.len && attempt_at(a->upstream_status, n, false, &one))
		n++;
	*ret_n = n;
	for (unsigned i = 0; i + 1 < n; i++) {
		struct event *e;
		int r;

		if (!attempt_at(a->upstream_status, i, false, &one) || !status_of(one, &status) || !status)
			continue;
		e = parse_begin(p, EVENT_GATEWAY, a->ts);
		event_text(e, GATEWAY_WHAT, TEXT("retry"));
		access_who(e, a);
		event_int(e, GATEWAY_STATUS, status);
		if (attempt_at(a->upstream, i, true, &one))
			event_text(e, GATEWAY_UPSTREAM, address_of(not_dash(one)));
		r = parse_emit(p);
		if (r < 0)
			return r;
	}
	return 0;
}

static inline void access_sizes(struct event *e, const struct access_line *a)
{
	int64_t n;

	if (a->bytes_in >= 0)
		event_int(e, GATEWAY_BYTES_IN, a->bytes_in);
	if (a->headers ? content_bytes(a->bytes_out, !a->gone, &n) : (n = a->bytes_out) >= 0)
		event_int(e, GATEWAY_BYTES_OUT, n);
	if (a->input > 0 && a->input <= TOKENS_MAX) { /* no prompt is empty: nobody counted */
		event_int(e, GATEWAY_INPUT, a->input);
		event_text(e, GATEWAY_INPUT_FLAG, TEXT("exact"));
	}
	if (a->output > 0 || (a->output == 0 && a->input > 0))
		event_int(e, GATEWAY_OUTPUT, MIN(a->output, TOKENS_MAX));
}

/* Returns a verdict or ERR_*. */
static inline int access_emit(struct parse *p, const struct access_line *a)
{
	struct text last = a->upstream, one;
	unsigned attempts;
	struct event *e;
	int r;

	if (is_aside(a->method, a->path))
		return RECORD_CONTEXT;
	r = access_attempts(p, a, &attempts);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < MAX(attempts, 1) && attempt_at(a->upstream, i, true, &one); i++)
		last = one;
	e = parse_begin(p, EVENT_GATEWAY, a->ts);
	event_text(e, GATEWAY_WHAT, TEXT("access"));
	access_who(e, a);
	event_text(e, GATEWAY_MODEL, a->model);
	if (a->status)
		event_int(e, GATEWAY_STATUS, a->status);
	access_sizes(e, a);
	if (a->start_ns != TIME_UNKNOWN)
		event_int(e, GATEWAY_STARTED, a->start_ns);
	if (a->end_ns != TIME_UNKNOWN)
		event_int(e, GATEWAY_FINISHED, a->end_ns);
	event_text(e, GATEWAY_UPSTREAM, address_of(not_dash(last)));
	event_text(e, GATEWAY_MESSAGE, secret_cut(a->message));
	if (a->gone)
		event_flag(e, GATEWAY_CLIENT_GONE, true);
	event_text(e, GATEWAY_ROUTE, a->path);
	r = parse_emit(p);
	return r < 0 ? r : RECORD_PARSED;
}
