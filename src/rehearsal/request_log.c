/* SPDX-License-Identifier: Apache-2.0 */
/* request_log.c - the JSON request log (between the engine's lines) and the metrics file of the workers that keep them
 *
 * No prompt and no answer is written, but in the scenario of markers: their fields are among those that these logs can leave out.
 */
#include "model.h"

static const char *rid_of(const struct attempt *a, int w)
{
	return a->prefill == w ? a->prefill_rid : a->rid;
}

static void stamp(int64_t us, char out[40])
{
	us_plain(us, out);
	out[10] = 'T';
	/* Python's isoformat() leaves the fraction out when it is 0 */
	if (us % US_PER_S)
		snprintf(out + 19, 21, ".%06d", (int)(us % US_PER_S));
}

static void put_object(struct model *m, struct lines *l, const struct attempt *a, int w)
{
	const struct request *r = &m->requests[a->request];

	lines_put(
	    m, l,
	    "{\"rid\": \"%s\", \"sampling_params\": {\"max_new_tokens\": 2048, \"temperature\": 0.7}, \"stream\": %s",
	    rid_of(a, w), r->stream ? "true" : "false");
	if (a->room)
		lines_put(m, l, ", \"bootstrap_host\": \"%s\", \"bootstrap_port\": 8998, \"bootstrap_room\": %llu",
			  m->worker[a->prefill].host, (unsigned long long)a->room);
	/* what the logger cuts a long list to: no length can be read from it */
	if (m->messy && r->len > 2048)
		lines_put(m, l, ", \"input_ids\": [151644, 872, 198, \"...\", 151645, 198]");
	canary_asked(m, l, a->request);
	lines_put(m, l, "}");
}

void json_received(struct model *m, uint32_t i, int w)
{
	struct lines *l = &m->worker[w].text;
	const struct attempt *a = &m->attempts[i];
	char at[40];

	say_receive(m, i, w);
	if (!m->worker[w].request_json || m->rc)
		return;
	stamp(clock_wall(&m->worker[w].clock, m->now_us), at);
	lines_begin(m, l, m->now_us);
	lines_put(m, l, "{\"timestamp\": \"%s\", \"event\": \"request.received\", \"rid\": \"%s\", \"obj\": ", at,
		  rid_of(a, w));
	put_object(m, l, a, w);
	lines_put(m, l, "}");
	lines_end(m, l);
}

static void put_finish(struct model *m, struct lines *l, const struct attempt *a)
{
	const struct request *r = &m->requests[a->request];

	if (a->decode_status >= 500)
		lines_put(m, l,
			  "{\"type\": \"abort\", \"message\": \"KVTransferError\", \"status_code\": 500, \"err_type\": "
			  "null}");
	else if (r->gone)
		lines_put(m, l, "{\"type\": \"abort\", \"message\": \"Aborted\"}");
	else
		lines_put(m, l, "{\"type\": \"stop\", \"matched\": 151645}");
}

static void put_metrics(struct model *m, const struct attempt *a, int w)
{
	struct lines *l = &m->worker[w].metric;
	int64_t us = m->now_us - a->start_us;
	int64_t from = clock_epoch(&m->worker[w].clock, a->start_us), to = clock_epoch(&m->worker[w].clock, m->now_us);

	lines_begin(m, l, m->now_us);
	lines_put(m, l, "{\"request_parameters\": \"{\\\"rid\\\": \\\"%s\\\"", rid_of(a, w));
	if (a->room)
		lines_put(m, l, ", \\\"bootstrap_room\\\": %llu", (unsigned long long)a->room);
	lines_put(m, l, ", \\\"stream\\\": %s}\", \"id\": \"%s\", \"finish_reason\": ",
		  m->requests[a->request].stream ? "true" : "false", rid_of(a, w));
	put_finish(m, l, a);
	lines_put(m, l,
		  ", \"prompt_tokens\": %lld, \"weight_version\": \"default\", \"total_retractions\": 0, "
		  "\"completion_tokens\": %lld, "
		  "\"cached_tokens\": 0, \"e2e_latency\": %lld.%06d, \"request_received_ts\": %lld.%06d, "
		  "\"request_finished_ts\": %lld.%06d}",
		  (long long)a->len, (long long)a->out, (long long)(us / US_PER_S), (int)(us % US_PER_S),
		  (long long)(from / US_PER_S), (int)(from % US_PER_S), (long long)(to / US_PER_S),
		  (int)(to % US_PER_S));
	lines_end(m, l);
}

void json_finished(struct model *m, uint32_t i, int w)
{
	struct lines *l = &m->worker[w].text;
	const struct attempt *a = &m->attempts[i];
	int64_t us = m->now_us - a->start_us;
	char at[40];

	if (m->worker[w].metrics && !m->rc)
		put_metrics(m, a, w);
	if (!m->worker[w].request_json || m->rc)
		return;
	stamp(clock_wall(&m->worker[w].clock, m->now_us), at);
	lines_begin(m, l, m->now_us);
	lines_put(m, l, "{\"timestamp\": \"%s\", \"event\": \"request.finished\", \"rid\": \"%s\", \"obj\": ", at,
		  rid_of(a, w));
	put_object(m, l, a, w);
	lines_put(m, l, ", \"out\": {");
	canary_answered(m, l, i, w);
	lines_put(m, l, "\"meta_info\": {\"id\": \"%s\", \"finish_reason\": ", rid_of(a, w));
	put_finish(m, l, a);
	lines_put(m, l,
		  ", \"prompt_tokens\": %lld, \"completion_tokens\": %lld, \"cached_tokens\": 0, \"e2e_latency\": "
		  "%lld.%06d}}}",
		  (long long)a->len, (long long)a->out, (long long)(us / US_PER_S), (int)(us % US_PER_S));
	lines_end(m, l);
}
