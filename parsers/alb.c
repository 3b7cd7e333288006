/* SPDX-License-Identifier: Apache-2.0 */
/* alb.c - format alb: access logs of AWS application load balancers
 *
 * type time elb client target request_s target_s response_s elb_status target_status received sent "request" "agent"
 * cipher protocol group "trace" "domain" "certificate" priority created "actions" "redirect" "error" "targets"
 * "target statuses" "class" "reason" trace-of-connection …; newer fields come behind, and are not needed.
 *
 * time is that of the end, created that of the start, both UTC. Of the three parts a -1 says that the target was not
 * reached or did not answer. Sent bytes count headers, too. Status 460: the client closed the connection; delivery of the
 * files is best effort, so a missing line says nothing. (Amazon's guide "Access logs for your Application Load Balancer")
 */
#include "gateway_line.h"

enum { CLIENT_CLOSED = 460 };

static bool is_type(struct text t)
{
	return text_is(t, "https") || text_is(t, "h2") || text_is(t, "http") || text_is(t, "grpcs") ||
	       text_is(t, "ws") || text_is(t, "wss");
}

/* "0.001", or "-1" when that part did not come to its end. */
static bool is_part(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (!((t.ptr[i] >= '0' && t.ptr[i] <= '9') || t.ptr[i] == '.' || (i == 0 && t.ptr[i] == '-')))
			return false;
	return t.len > 0;
}

static bool zoned(struct text t, struct stamp *ret)
{
	size_t used;

	return stamp_parse_iso(t, ret, &used) && used == t.len && ret->quality == STAMP_ZONED;
}

/* From the request on; of what stands behind it only the trace and the time of the start are taken. */
static void read_more(struct text t, struct access_line *a)
{
	struct text request, agent, word, trace, domain, certificate, created;
	struct stamp start;

	if (!cut_quoted(&t, &request))
		return;
	a->path = path_of_request(request, &a->method);
	if (!cut_quoted(&t, &agent) || !cut_word(&t, &word) || !cut_word(&t, &word) || !cut_word(&t, &word) ||
	    !cut_quoted(&t, &trace))
		return;
	a->trace = trace_of(not_dash(trace));
	if (!cut_quoted(&t, &domain) || !cut_quoted(&t, &certificate) || !cut_word(&t, &word) ||
	    !cut_word(&t, &created))
		return;
	if (zoned(created, &start) && start.ns <= a->ts.ns)
		a->start_ns = start.ns;
}

/* NULL, or what is wrong. */
static const char *read_line(struct text t, struct access_line *a)
{
	struct text type, time, elb, client, target, part, status, received, sent;
	int64_t n;

	*a = ACCESS_LINE_INIT;
	if (!cut_word(&t, &type) || !is_type(type))
		return "not_access";
	if (!cut_word(&t, &time) || !zoned(time, &a->ts))
		return "bad_time";
	if (!cut_word(&t, &elb) || !cut_word(&t, &client) || !cut_word(&t, &target))
		return "bad_address";
	for (int i = 0; i < 3; i++)
		if (!cut_word(&t, &part) || !is_part(part))
			return "bad_duration";
	if (!cut_word(&t, &status) || (!text_is(status, "-") && !status_of(status, &a->status)) ||
	    !cut_word(&t, &status) || (!text_is(status, "-") && !status_of(status, &n)))
		return "bad_status";
	if (!cut_word(&t, &received) || !cut_word(&t, &sent) || !digits_of(received, &a->bytes_in) ||
	    !digits_of(sent, &a->bytes_out))
		return "bad_bytes";
	if (!t.len || t.ptr[0] != '"')
		return "torn"; /* inside the bytes, perhaps */
	a->headers = true;
	a->end_ns = a->ts.ns;
	a->gone = a->status == CLIENT_CLOSED;
	a->upstream = not_dash(target);
	read_more(t, a);
	return NULL;
}

static int record(struct parse *p, struct text record)
{
	struct access_line a;

	const char *why = read_line(record, &a);

	if (why)
		return parse_refuse(p, why);
	return access_emit(p, &a);
}

static enum bid bid(struct parse *p, struct text record)
{
	struct access_line a;

	(void)p;
	return read_line(record, &a) ? BID_NO : BID_STRONG;
}

const struct parser parser_alb = {
    .name = "alb",
    .summary = "AWS application load balancer, access log",
    .checked = "Amazon's list of fields, 29 to 33 of them (2018 to 2026)",
    .emits = 1u << EVENT_GATEWAY,
    .bid = bid,
    .record = record,
};
