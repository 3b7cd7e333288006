/* SPDX-License-Identifier: Apache-2.0 */
/* gateway_log.c - the router's text log (UTC, no zone mark, no tokens) and the gateway's access log (JSON lines, per
 * tenant)
 *
 * Requests of `direct` tenants pass a balancer that reads the decode worker only; the router never sees them.
 */
#include "model.h"

static void router_line(struct model *m, int64_t at_us, const char *level, const struct request *r, const char *extra,
			const char *target, const char *fmt, ...) PRINTF_LIKE(7, 8);
static void router_line(struct model *m, int64_t at_us, const char *level, const struct request *r, const char *extra,
			const char *target, const char *fmt, ...)
{
	struct lines *l = &m->router;
	char at[20];
	va_list ap;

	us_plain(clock_wall(&m->router_clock, at_us), at);
	lines_begin(m, l, at_us);
	lines_put(m, l, "%s %5s ", at, level);
	if (r)
		lines_put(m, l,
			  "http_request{method=POST uri=/v1/chat/completions version=HTTP/1.1 module=\"smg\" "
			  "request_id=\"%s\"%s}: ",
			  r->id, extra);
	lines_put(m, l, "%s: ", target);
	va_start(ap, fmt);
	if (!m->rc)
		model_fail(m, buf_vprintf(&l->text, m->err, fmt, ap));
	va_end(ap);
	lines_end(m, l);
}

#define ROUTER_SRC "/build/src/"

void router_open(struct model *m)
{
	router_line(
	    m, m->begin_us, "INFO", NULL, "", "smg::server",
	    ROUTER_SRC
	    "server.rs:794: Starting router on 0.0.0.0:8000 | mode: PrefillDecode { prefill_urls: "
	    "[(\"http://10.0.1.10:30000\", None)], decode_urls: [\"http://10.0.2.14:30000\"], prefill_policy: None, "
	    "decode_policy: None } | policy: PowerOfTwo { load_check_interval_secs: 5 } | max_payload: 256MB");
	for (int w = 0; w < m->n_workers; w++)
		router_line(m, m->begin_us + (120 + w) * US_PER_S, "INFO", NULL, "",
			    "smg::core::steps::worker::shared::activate",
			    ROUTER_SRC
			    "core/steps/worker/shared/activate.rs:31: Activated 1 worker(s) (marked as healthy)");
	router_line(m, m->begin_us + 140 * US_PER_S, "INFO", NULL, "", "smg::server",
		    ROUTER_SRC "server.rs:1018: Starting server on 0.0.0.0:8000");
}

void router_started(struct model *m, const struct request *r)
{
	if (!r->direct)
		router_line(m, m->now_us, "INFO", r, "", "smg::request",
			    ROUTER_SRC "middleware.rs:310: started processing request");
}

void router_no_pair(struct model *m, const struct request *r)
{
	if (!r->direct)
		router_line(m, m->now_us, "ERROR", r, "", "smg::routers::http::pd_router",
			    ROUTER_SRC
			    "routers/http/pd_router.rs:172: Failed to select PD pair error=No available workers");
}

void router_attempt_failed(struct model *m, const struct request *r, const struct attempt *a)
{
	const struct worker *d = &m->worker[a->decode], *p = a->prefill >= 0 ? &m->worker[a->prefill] : NULL;

	if (r->direct || !p)
		return;
	if (a->prefill_status >= 400)
		router_line(
		    m, m->now_us, "ERROR", r, "", "smg::routers::http::pd_router",
		    ROUTER_SRC
		    "routers/http/pd_router.rs:1109: Prefill server returned error status "
		    "prefill_url=http://%s:%d status=%d %s body={\"object\":\"error\",\"message\":\"%s\",\"code\":%d}",
		    p->host, p->port, a->prefill_status, status_phrase(a->prefill_status),
		    a->prefill_status == 400 ? "Input length exceeds the maximum allowed length" : "KVTransferError",
		    a->prefill_status);
	if (a->decode_status >= 400)
		router_line(m, m->now_us, "ERROR", r, "", "smg::routers::http::pd_router",
			    ROUTER_SRC "routers/http/pd_router.rs:590: Decode server returned error status "
				       "decode_url=http://%s:%d status=%d %s",
			    d->host, d->port, a->decode_status, status_phrase(a->decode_status));
}

void router_finished(struct model *m, const struct request *r)
{
	/* a stream is "finished" for this log with the head of its answer */
	int64_t at = r->stream && r->delivered ? r->first_byte_us : r->end_us;
	char extra[64];

	if (r->direct || (r->gone && !r->delivered))
		return; /* the future was dropped with the client: no line */
	snprintf(extra, sizeof(extra), " status_code=%d latency=%lld", r->status, (long long)(at - r->start_us));
	if (r->status < 400)
		router_line(m, at, "INFO", r, extra, "smg::response",
			    ROUTER_SRC "middleware.rs:340: finished processing request");
	else if (r->status < 500)
		router_line(m, at, "WARN", r, extra, "smg::response",
			    ROUTER_SRC "middleware.rs:345: request failed with client error");
	else
		router_line(m, at, "ERROR", r, extra, "smg::response",
			    ROUTER_SRC "middleware.rs:349: request failed with server error");
}

const char *tenant_name(unsigned tenant, char buf[16])
{
	if (tenant == TENANT_LAUNCH)
		snprintf(buf, 16, "tenant-launch");
	else
		snprintf(buf, 16, "tenant-%02u", tenant % 100);
	return buf;
}

void gateway_access(struct model *m, const struct request *r)
{
	struct lines *l = &m->gateway;
	const struct attempt *a = r->n_attempts ? &m->attempts[r->attempt] : NULL;
	char at[32], tenant[16];
	int64_t bytes = 0;

	if (r->delivered)
		bytes = r->stream ? 320 + a->out * 188 : 640 + a->out * 4;
	else if (r->status != 499)
		bytes = 212;
	us_iso_ms(r->start_us, at);
	lines_begin(m, l, r->end_us);
	lines_put(m, l,
		  "{\"start_time\":\"%s\",\"method\":\"POST\",\"request.path\":\"/v1/chat/"
		  "completions\",\"protocol\":\"HTTP/1.1\","
		  "\"response_code\":%d,\"response_flags\":\"%s\",\"bytes_received\":%lld,\"bytes_sent\":%lld,"
		  "\"duration\":%lld,"
		  "\"x-request-id\":\"%s\",\"tenant_id\":\"%s\",\"gen_ai.request.model\":\"%s\",\"stream\":%s",
		  at, r->status, r->gone ? "DC" : "-", (long long)(r->len * 4 + 390), (long long)bytes,
		  (long long)((r->end_us - r->start_us) / 1000), r->id, tenant_name(r->tenant, tenant),
		  model_served(r->model), r->stream ? "true" : "false");
	if (a) {
		lines_put(m, l, ",\"upstream_host\":\"%s:%d\"", m->worker[a->decode].host, m->worker[a->decode].port);
		if (a->room)
			lines_put(m, l, ",\"bootstrap_room\":%llu", (unsigned long long)a->room);
	}
	if (r->delivered)
		lines_put(m, l, ",\"gen_ai.response.id\":\"%s\"", a->rid);
	if (r->delivered && !r->usage_hidden && !r->gone)
		lines_put(m, l, ",\"gen_ai.usage.input_tokens\":%lld,\"gen_ai.usage.output_tokens\":%lld",
			  (long long)a->len, (long long)a->out);
	lines_put(m, l, "}");
	lines_end(m, l);
}

/* The gateway's note that the router tries again: the only record that ties a failed attempt's room to its request. */
void gateway_retry(struct model *m, const struct request *r, const struct attempt *a)
{
	struct lines *l = &m->gateway;
	char at[32], tenant[16];

	us_iso_ms(r->start_us, at);
	lines_begin(m, l, m->now_us);
	lines_put(
	    m, l,
	    "{\"event\":\"retry\",\"start_time\":\"%s\",\"request.path\":\"/v1/chat/completions\",\"response_code\":%d,"
	    "\"duration\":%lld,\"x-request-id\":\"%s\",\"tenant_id\":\"%s\",\"gen_ai.request.model\":\"%s\","
	    "\"upstream_host\":\"%s:%d\",\"bootstrap_room\":%llu}",
	    at, a->status, (long long)((m->now_us - r->start_us) / 1000), r->id, tenant_name(r->tenant, tenant),
	    model_served(r->model), m->worker[a->decode].host, m->worker[a->decode].port, (unsigned long long)a->room);
	lines_end(m, l);
}
