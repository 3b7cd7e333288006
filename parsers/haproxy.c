/* SPDX-License-Identifier: Apache-2.0 */
/* haproxy.c - format haproxy: HAProxy's HTTP log (option httplog, httpslog), as it stands behind the syslog header
 *
 * client:port [request date] frontend backend/server TR/Tw/Tc/Tr/Ta status bytes cookie cookie state
 * actconn/feconn/beconn/srv_conn/retries queue/queue {request headers} {response headers} "request"
 *
 * The date is when the request began, in local time without a zone, so the line's own time, that of its end, is the date
 * and Ta milliseconds; a request with an id says its start in an event of its own. -1: that phase was never reached; '+':
 * the line was written before the end (option logasap), what it counts is not all. Bytes count headers, too. State C or c:
 * the client went away or stopped reading. Syslog cuts long lines: the request may miss its end. Captured headers have no
 * names; only what looks like an id is taken for one. (haproxy 50872daa6, src/log.c, doc/configuration.txt 8.2.3, 8.5)
 * Of the headers that "log … format" writes (4.2), wrapper syslog takes off local, rfc3164 and rfc5424; this parser those that
 * are no syslog: priority and short <N>, timed <N>TIME, iso TIME, raw (none), and a bare TAG[PID]:, as journals and containers
 * leave it.
 */
#include "gateway_line.h"

struct line {
	struct access_line a;
	struct stamp start;
	bool http; /* else a connection, or what is said of one */
};

static bool cut_slash(struct text *rest, struct text *ret)
{
	size_t n = text_find_char(*rest, '/', 0);

	*ret = text_sub(*rest, 0, n);
	*rest = n == SIZE_MAX ? (struct text){0} : text_from(*rest, n + 1);
	return ret->len > 0;
}

/* Milliseconds; false for -1 and for what is not all yet. */
static bool timer_of(struct text t, int64_t *ret)
{
	return digits_of(t, ret) && *ret < 1000000000;
}

static bool is_timers(struct text t, unsigned *ret_n, struct text *ret_last)
{
	struct text one;
	unsigned n = 0;

	for (; cut_slash(&t, &one); n++) {
		for (size_t i = 0; i < one.len; i++)
			if (!((one.ptr[i] >= '0' && one.ptr[i] <= '9') ||
			      (i == 0 && (one.ptr[i] == '-' || one.ptr[i] == '+'))))
				return false;
		*ret_last = one;
	}
	*ret_n = n;
	return n > 1;
}

static bool is_state(struct text t)
{
	if (t.len != 2 && t.len != 4)
		return false;
	for (size_t i = 0; i < t.len; i++)
		if (!(t.ptr[i] == '-' || ((t.ptr[i] | 32) >= 'a' && (t.ptr[i] | 32) <= 'z')))
			return false;
	return true;
}

/* {a|b}: values without names. */
static void take_captures(struct access_line *a, struct text *rest)
{
	while (rest->len && rest->ptr[0] == '{') {
		size_t n = text_find_char(*rest, '}', 1);
		struct text list = text_sub(*rest, 1, n == SIZE_MAX ? n : n - 1), one;

		while (text_split(&list, '|', &one)) {
			if (looks_like_id(one) && (!a->id.len || looks_like_response(a->id)))
				a->response = looks_like_response(a->id) ? a->id : a->response, a->id = one;
			else if (looks_like_response(one))
				a->response = one;
			else if (one.len == 55 && trace_of(one).len == 32)
				a->trace = trace_of(one);
		}
		*rest = n == SIZE_MAX ? (struct text){0} : text_from(*rest, n + 1);
		if (rest->len && rest->ptr[0] == ' ')
			*rest = text_from(*rest, 1);
	}
}

static void set_times(struct line *l, struct text total)
{
	struct access_line *a = &l->a;
	bool whole;
	int64_t ms;

	whole = timer_of(total, &ms) && !__builtin_add_overflow(l->start.ns, ms * 1000000, &a->ts.ns);
	a->ts = (struct stamp){whole ? a->ts.ns : l->start.ns, l->start.quality, l->start.precision_ns};
	if (l->start.quality != STAMP_ZONED)
		return;
	a->start_ns = l->start.ns;
	a->end_ns = whole ? a->ts.ns : TIME_UNKNOWN;
}

/* What stands behind the timers of an HTTP line. */
static const char *read_http(struct text t, struct line *l)
{
	struct text status, bytes, cookie[2], state, counts, queues, request;
	struct access_line *a = &l->a;

	if (!cut_word(&t, &status) || (!text_is(status, "-1") && !status_of(status, &a->status)))
		return "bad_status";
	if (!cut_word(&t, &bytes) || (!digits_of(bytes, &a->bytes_out) && !(bytes.len && bytes.ptr[0] == '+')))
		return "bad_bytes";
	if (!cut_word(&t, &cookie[0]) || !cut_word(&t, &cookie[1]) || !cut_word(&t, &state) || !is_state(state))
		return "bad_state";
	if (!cut_word(&t, &counts) || !cut_word(&t, &queues))
		return "torn";
	a->headers = true;
	a->gone = state.ptr[0] == 'C' || state.ptr[0] == 'c';
	if (!text_is(text_sub(state, 0, 2), "--"))
		a->message = state;
	take_captures(a, &t);
	if (t.len && t.ptr[0] == '"' && cut_quoted(&t, &request))
		a->path = path_of_request(request, &a->method);
	return NULL;
}

static struct text skip_header(struct text t)
{
	struct stamp ignored; /* when it was sent; the line has its own date */
	size_t n = 1, used, end;

	while (n < 4 && n < t.len && t.ptr[n] >= '0' && t.ptr[n] <= '9')
		n++;
	if (t.len && t.ptr[0] == '<' && n > 1 && n < t.len && t.ptr[n] == '>')
		t = text_from(t, n + 1);
	if (stamp_parse_iso(t, &ignored, &used) && used < t.len && t.ptr[used] == ' ')
		t = text_from(t, used + 1);
	end = text_find_char(t, ' ', 0);
	if (end != SIZE_MAX && end > 2 && t.ptr[end - 1] == ':' && t.ptr[end - 2] == ']')
		t = text_from(t, end + 1);
	return t;
}

/* NULL, or what is wrong. */
static const char *read_line(struct text t, struct line *l)
{
	struct text client, date, frontend, server, timers, total;
	unsigned n;
	size_t used;

	*l = (struct line){.a = ACCESS_LINE_INIT};
	t = skip_header(t);
	if (!cut_word(&t, &client) || text_rfind_char(client, ':') == SIZE_MAX || !t.len || t.ptr[0] != '[' ||
	    text_find_char(client, '<', 0) != SIZE_MAX) /* "<134>203.0.1<134>…": the header of another record */
		return "not_httplog";
	if (!cut_brackets(&t, &date) || !stamp_parse_clf(date, &l->start, &used) || used != date.len)
		return "bad_time";
	if (!cut_word(&t, &frontend) || !cut_word(&t, &server))
		return "torn";
	l->a.ts = l->start;
	if (text_ends(frontend, ":")) /* frontend/1: SSL handshake failure */
		return text_find_char(frontend, '/', 0) != SIZE_MAX ? NULL : "bad_server";
	if (text_find_char(server, '/', 0) == SIZE_MAX)
		return "bad_server";
	if (!cut_word(&t, &timers) || !is_timers(timers, &n, &total) || (n != 5 && n != 3))
		return "bad_timers";
	if (n == 3) /* option tcplog */
		return NULL;
	l->http = true;
	set_times(l, total);
	if (!text_ends(server, "/<NOSRV>") && !text_ends(server, "/-"))
		l->a.upstream = server;
	return read_http(t, l);
}

static int emit_start(struct parse *p, const struct line *l)
{
	struct event *e = parse_begin(p, EVENT_GATEWAY, l->start);

	event_text(e, GATEWAY_WHAT, TEXT("started"));
	access_who(e, &l->a);
	event_text(e, GATEWAY_ROUTE, l->a.path);
	return parse_emit(p);
}

static int record(struct parse *p, struct text record)
{
	struct line l;
	const char *why = read_line(record, &l);
	int r;

	if (why)
		return parse_refuse(p, why);
	if (!l.http || is_aside(l.a.method, l.a.path))
		return RECORD_CONTEXT;
	r = l.a.id.len && l.start.quality != STAMP_ZONED ? emit_start(p, &l) : 0;
	return r < 0 ? r : access_emit(p, &l.a);
}

static enum bid bid(struct parse *p, struct text record)
{
	struct line l;

	(void)p;
	if (read_line(record, &l))
		return BID_NO;
	return l.http ? BID_STRONG : BID_WEAK;
}

const struct parser parser_haproxy = {
    .name = "haproxy",
    .summary = "HAProxy HTTP log (httplog, httpslog), with any of its headers",
    .checked = "HAProxy 50872daa6 (2026-08), src/log.c and the configuration manual 8.2.3",
    .emits = 1u << EVENT_GATEWAY,
    .bid = bid,
    .record = record,
};
