/* SPDX-License-Identifier: Apache-2.0 */
/* nginx.c - format nginx: access logs in the combined format and what is commonly put behind it
 *
 * addr - user [time] "request" status body_bytes "referer" "agent", then nothing, the forwarded-for header in quotes
 * (nginx.conf's "main"), ingress-nginx's fields (request_length request_time [upstream] [alternative] addr length time
 * status request_id), names with values (rt=0.2 urt="0.1" …), or bare numbers and ids that say by their shape what they are.
 * Quoted strings are escaped (\xHH), so that nothing in them can end them (ngx_http_log_module.c, escape=default).
 *
 * The time is that of the end. Apache writes the same line with the time of the start, so begin and end are said for sure only
 * where a field behind the combined ones is nginx's own. 499: the caller left before the answer began.
 */
#include "gateway_line.h"

enum field {
	F_OTHER,
	F_REQUEST_TIME,
	F_UPSTREAM_ADDR,
	F_UPSTREAM_STATUS,
	F_UPSTREAM_TIME,
	F_REQUEST_ID,
	F_CLIENT_ID,
	F_TRACE,
	F_LENGTH,
	F_TENANT,
};

static const struct {
	struct text name;
	enum field field;
} names[] = {
    {{"rt", 2}, F_REQUEST_TIME},
    {{"request_time", 12}, F_REQUEST_TIME},
    {{"urt", 3}, F_UPSTREAM_TIME},
    {{"upstream_response_time", 22}, F_UPSTREAM_TIME},
    {{"ua", 2}, F_UPSTREAM_ADDR},
    {{"upstream", 8}, F_UPSTREAM_ADDR},
    {{"upstream_addr", 13}, F_UPSTREAM_ADDR},
    {{"us", 2}, F_UPSTREAM_STATUS},
    {{"upstream_status", 15}, F_UPSTREAM_STATUS},
    {{"rid", 3}, F_REQUEST_ID},
    {{"req_id", 6}, F_REQUEST_ID},
    {{"request_id", 10}, F_REQUEST_ID},
    {{"x_request_id", 12}, F_CLIENT_ID},
    {{"http_x_request_id", 17}, F_CLIENT_ID},
    {{"trace_id", 8}, F_TRACE},
    {{"traceparent", 11}, F_TRACE},
    {{"request_length", 14}, F_LENGTH},
    {{"rl", 2}, F_LENGTH},
    {{"tenant", 6}, F_TENANT},
    {{"tenant_id", 9}, F_TENANT},
};

struct line {
	struct access_line a;
	int64_t request_ns; /* -1: unknown */
	struct text request_id, client_id;
	bool own;             /* a field that only nginx has */
	uint32_t seen, twice; /* bit per enum field */
};

/* "14.902": nginx prints milliseconds behind the point, always three digits. */
static bool seconds_of(struct text t, int64_t *ret_ns)
{
	size_t point = t.len > 4 ? t.len - 4 : 0;
	int64_t whole, part;

	if (!point || t.ptr[point] != '.' || !digits_of(text_sub(t, 0, point), &whole) ||
	    !digits_of(text_from(t, point + 1), &part) || whole > 10000000)
		return false;
	*ret_ns = whole * NS_PER_S + part * 1000000;
	return true;
}

static void take_field(struct line *l, enum field f, struct text v)
{
	int64_t n;

	l->twice |= l->seen & UINT32_C(1) << f;
	l->seen |= UINT32_C(1) << f;
	v = not_dash(v);
	switch (f) {
	case F_REQUEST_TIME:
		if (seconds_of(v, &n))
			l->request_ns = n;
		break;
	case F_UPSTREAM_TIME: break;
	case F_UPSTREAM_ADDR: l->a.upstream = v; break;
	case F_UPSTREAM_STATUS: l->a.upstream_status = v; break;
	case F_REQUEST_ID: l->request_id = v; break;
	case F_CLIENT_ID: l->client_id = v; break;
	case F_TRACE: l->a.trace = trace_of(v); break;
	case F_LENGTH:
		if (digits_of(v, &n))
			l->a.bytes_in = n;
		break;
	case F_TENANT: l->a.tenant = v; break;
	default: return;
	}
	l->own = true;
}

/* A header without quotes round it can hold blanks, and what looks like the next field: of two neither counts. */
static void drop_twice(struct line *l)
{
	struct text *const texts[] = {[F_UPSTREAM_ADDR] = &l->a.upstream,
				      [F_UPSTREAM_STATUS] = &l->a.upstream_status,
				      [F_REQUEST_ID] = &l->request_id,
				      [F_CLIENT_ID] = &l->client_id,
				      [F_TRACE] = &l->a.trace,
				      [F_TENANT] = &l->a.tenant};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (l->twice >> i & 1 && texts[i])
			*texts[i] = (struct text){0};
	if (l->twice >> F_REQUEST_TIME & 1)
		l->request_ns = -1;
	if (l->twice >> F_LENGTH & 1)
		l->a.bytes_in = -1;
}

static enum field field_named(struct text name)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (text_eq(name, names[i].name))
			return names[i].field;
	return F_OTHER;
}

/* A list of attempts ("a:1, b:2", "a:1 : b:2") goes on behind blanks. */
static bool cut_list(struct text *rest, struct text *ret)
{
	size_t n = 0;

	for (;;) {
		const char *end = n < rest->len ? memchr(rest->ptr + n, ' ', rest->len - n) : NULL;

		n = end ? (size_t)(end - rest->ptr) : rest->len;
		if (n + 2 < rest->len && rest->ptr[n + 1] == ':' && rest->ptr[n + 2] == ' ')
			n += 3;
		else if (n && n < rest->len && rest->ptr[n - 1] == ',')
			n++;
		else
			break;
	}
	*ret = text_sub(*rest, 0, n);
	*rest = text_from(*rest, n + 1);
	return n > 0;
}

/* 412 14.902 [ns-svc-80] [] 10.0.0.5:8000 18233 14.890 200 7f9c…; false: not this shape, nothing was taken. */
static bool take_ingress(struct line *l, struct text rest)
{
	struct text length, time, upstream, other, addr, sizes, times, status;
	int64_t n, ns;

	if (!cut_word(&rest, &length) || !cut_word(&rest, &time) || !digits_of(length, &n) || !seconds_of(time, &ns) ||
	    !cut_brackets(&rest, &upstream) || !cut_brackets(&rest, &other) || !cut_list(&rest, &addr) ||
	    !cut_list(&rest, &sizes) || !cut_list(&rest, &times) || !cut_list(&rest, &status))
		return false;
	l->a.bytes_in = n;
	l->request_ns = ns;
	l->a.upstream = not_dash(addr);
	l->a.upstream_status = not_dash(status);
	cut_word(&rest, &l->request_id);
	l->request_id = not_dash(l->request_id);
	l->own = true;
	return true;
}

/* A value without a name: ids by their shape; of times the longest is that of the request. */
static void take_bare(struct line *l, struct text t, bool quoted)
{
	int64_t ns;

	if (!quoted && seconds_of(t, &ns)) {
		l->request_ns = MAX(l->request_ns, ns);
		l->own = true;
	} else if (looks_like_id(t)) {
		struct text *to = t.len == 32 ? &l->request_id : &l->client_id;

		*to = to->len ? *to : t;
		l->own |= t.len == 32;
	} else if (t.len == 55 && trace_of(t).len == 32) {
		l->a.trace = trace_of(t);
	}
}

static void take_more(struct line *l, struct text rest)
{
	struct text t, name;

	if (take_ingress(l, rest))
		return;
	while (rest.len) {
		size_t n = 0;

		if (rest.ptr[0] == '"') {
			if (!cut_quoted(&rest, &t))
				return;
			take_bare(l, t, true);
			continue;
		}
		while (n < rest.len && ((rest.ptr[n] >= 'a' && rest.ptr[n] <= 'z') || rest.ptr[n] == '_'))
			n++;
		if (n && n < rest.len && (rest.ptr[n] == '=' || rest.ptr[n] == ':')) {
			name = text_sub(rest, 0, n);
			rest = text_from(rest, n + 1);
			if (rest.len && rest.ptr[0] == '"' ? !cut_quoted(&rest, &t) : !cut_list(&rest, &t))
				continue;
			take_field(l, field_named(name), t);
		} else if (cut_word(&rest, &t)) {
			take_bare(l, t, false);
		}
	}
}

/* 12 "router" "server" 14902ms behind the combined fields: Traefik's, which mean other things. The whole of it has to be there: a line
 * may end in what a caller chose. */
static bool is_traefik(struct text rest)
{
	struct text count, router, server;
	int64_t n;

	return cut_word(&rest, &count) && digits_of(count, &n) && cut_quoted(&rest, &router) &&
	       cut_quoted(&rest, &server) && text_ends(rest, "ms") && digits_of(text_sub(rest, 0, rest.len - 2), &n);
}

/* The fields that all of them have; NULL, or what is wrong. */
static const char *read_line(struct text t, struct line *l, struct text *ret_more)
{
	struct text addr, user, time, request, status, bytes, referer, agent;
	size_t used;

	*l = (struct line){.a = ACCESS_LINE_INIT, .request_ns = -1};
	if (!cut_word(&t, &addr) || t.len < 24 || t.ptr[0] != '-' || t.ptr[1] != ' ')
		return "not_access";
	t = text_from(t, 2);
	if (!cut_word(&t, &user) || !cut_brackets(&t, &time) || !stamp_parse_clf(time, &l->a.ts, &used) ||
	    used != time.len)
		return "bad_time";
	if (!cut_quoted(&t, &request))
		return "bad_request";
	if (!cut_word(&t, &status) || !status_of(status, &l->a.status))
		return "bad_status";
	if (!cut_word(&t, &bytes) || !digits_of(bytes, &l->a.bytes_out))
		return "bad_bytes";
	if (!cut_quoted(&t, &referer) || !cut_quoted(&t, &agent))
		return "bad_headers";
	if (is_traefik(t))
		return "other_format";
	l->a.tenant = not_dash(user);
	l->a.path = path_of_request(request, &l->a.method);
	*ret_more = t;
	return NULL;
}

static int record(struct parse *p, struct text record)
{
	struct access_line *a;
	struct text more;
	struct line l;

	const char *why = read_line(record, &l, &more);

	if (why)
		return parse_refuse(p, why);
	take_more(&l, more);
	drop_twice(&l);
	a = &l.a;
	a->gone = a->status == 499;
	a->id = l.client_id.len ? l.client_id : l.request_id;
	if (!a->trace.len && l.client_id.len)
		a->trace = l.request_id;
	if (l.own && a->ts.quality == STAMP_ZONED) {
		a->end_ns = a->ts.ns;
		a->start_ns = l.request_ns >= 0 ? a->end_ns - l.request_ns : TIME_UNKNOWN;
	}
	return access_emit(p, a);
}

static enum bid bid(struct parse *p, struct text record)
{
	struct text more;
	struct line l;

	(void)p;
	if (read_line(record, &l, &more))
		return BID_NO;
	take_more(&l, more);
	return l.own ? BID_STRONG : BID_WEAK;
}

const struct parser parser_nginx = {
    .name = "nginx",
    .summary = "nginx access log: combined, main, ingress-nginx, with request_time, upstream_*, request_id behind it",
    .checked = "nginx 3f6f7824d (2026-08) ngx_http_log_module.c; ingress-nginx log-format-upstream",
    .emits = 1u << EVENT_GATEWAY,
    .bid = bid,
    .record = record,
};
