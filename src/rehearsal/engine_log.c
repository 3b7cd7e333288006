/* SPDX-License-Identifier: Apache-2.0 */
/* engine_log.c - the text log of an SGLang worker, line for line as its source writes it
 *
 * Local time of the process (here UTC), whole seconds, a tag for the rank. What every rank says is written once per
 * rank.
 */
#include "model.h"

#include <string.h>

const char *model_served(enum model_id model)
{
	return model == MODEL_GLM ? "GLM-5.3" : "Kestrel-2";
}

const char *model_path(enum model_id model)
{
	return model == MODEL_GLM ? "/models/glm-5.3" : "/models/kestrel-2";
}

void say(struct model *m, int w, int64_t at_us, int rank, const char *fmt, ...)
{
	struct lines *l = &m->worker[w].text;
	struct buf line = BUF_INIT(64 * KIB);
	char at[20];
	va_list ap;

	us_plain(clock_wall(&m->worker[w].clock, at_us), at);
	va_start(ap, fmt);
	if (!m->rc)
		model_fail(m, buf_vprintf(&line, m->err, fmt, ap));
	va_end(ap);
	lines_begin(m, l, at_us);
	if (rank < 0)
		lines_put(m, l, "[%s] %.*s", at, TEXT_ARG(buf_text(&line)));
	else
		lines_put(m, l, "[%s TP%d] %.*s", at, rank, TEXT_ARG(buf_text(&line)));
	lines_end(m, l);
	buf_done(&line);
}

/* %lld.%02lld of hundredths */
#define MS(us) (long long)((us) / 1000), (long long)((us) % 1000 / 10)

static const char *mode_name(enum role role)
{
	return role == ROLE_PREFILL ? "prefill" : role == ROLE_DECODE ? "decode" : "null";
}

void say_boot(struct model *m, int w)
{
	const struct worker *k = &m->worker[w];
	int64_t t = m->now_us - 95 * US_PER_S;

	say(m, w, t, -1,
	    "server_args=ServerArgs(model_path='%s', tokenizer_path='%s', tokenizer_mode='auto', "
	    "skip_tokenizer_init=False, "
	    "load_format='auto', trust_remote_code=True, context_length=%lld, is_embedding=False, revision=None, "
	    "host='%s', "
	    "port=%d, nccl_port=None, dtype='auto', quantization=None, kv_cache_dtype='auto', "
	    "mem_fraction_static=0.86, "
	    "max_running_requests=256, max_total_tokens=None, chunked_prefill_size=65536, max_prefill_tokens=131072, "
	    "schedule_policy='fcfs', page_size=%d, device='cuda', tp_size=%d, pp_size=1, dp_size=1, stream_interval=1, "
	    "random_seed=%d, log_level='info', log_requests=%s, enable_metrics=True, served_model_name='%s', "
	    "attention_backend='fa3', disable_radix_cache=%s, allow_auto_truncate=%s, disaggregation_mode='%s', "
	    "disaggregation_transfer_backend='mooncake', disaggregation_bootstrap_port=8998, "
	    "disaggregation_ib_device=None, "
	    "enable_request_time_stats_logging=True)",
	    model_path(k->model), model_path(k->model), (long long)k->context_len, LISTEN_HOST, k->port, PAGE_TOKENS,
	    RANKS, 424242 + w, k->request_json || k->receive_lines ? "True" : "False", model_served(k->model),
	    k->radix ? "False" : "True", k->truncate ? "True" : "False", mode_name(k->role));
	for (int r = 0; r < RANKS; r++) {
		say(m, w, t + 6 * US_PER_S + r * 900, r, "Init torch distributed begin.");
		say(m, w, t + 14 * US_PER_S + r * 1100, r, "Load weight begin. avail mem=139.10 GB");
		say(m, w, t + 70 * US_PER_S + r * 700, r,
		    "KV Cache is allocated. #tokens: %lld, K size: 29.40 GB, V size: 29.40 GB",
		    (long long)k->pool_tokens);
		say(m, w, t + 71 * US_PER_S + r * 700, r, "Memory pool end. avail mem=9.44 GB");
	}
	say(m, w, t + 88 * US_PER_S, 0,
	    "max_total_num_tokens=%lld, chunked_prefill_size=65536, max_prefill_tokens=131072, "
	    "max_running_requests=256, "
	    "context_len=%lld, available_gpu_mem=8.16 GB",
	    (long long)k->pool_tokens, (long long)k->context_len);
	say(m, w, t + 91 * US_PER_S, -1, "INFO:     Started server process [%d]", k->pid);
	say(m, w, t + 91 * US_PER_S, -1, "INFO:     Waiting for application startup.");
	say(m, w, t + 91 * US_PER_S, -1, "INFO:     Application startup complete.");
	say(m, w, t + 91 * US_PER_S, -1, "INFO:     Uvicorn running on http://%s:%d (Press CTRL+C to quit)",
	    LISTEN_HOST, k->port);
	say(m, w, m->now_us, -1, "The server is fired up and ready to roll!");
}

void say_stop(struct model *m, int w)
{
	say(m, w, m->now_us, -1, "INFO:     Shutting down");
	say(m, w, m->now_us, -1, "INFO:     Waiting for application shutdown.");
	say(m, w, m->now_us, -1, "INFO:     Application shutdown complete.");
	say(m, w, m->now_us, -1, "INFO:     Finished server process [%d]", m->worker[w].pid);
}

static void usage(const struct worker *k, char out[16])
{
	unsigned used = (k->pool.n_pages - pool_available(&k->pool)) * 100 / MAX(k->pool.n_pages, 1);

	snprintf(out, 16, "%u.%02u", used / 100, used % 100);
}

void say_health(struct model *m, int w)
{
	const struct worker *k = &m->worker[w];
	int64_t now = clock_epoch(&k->clock, m->now_us);
	char used[16];

	usage(k, used);
	if (k->role == ROLE_PREFILL) {
		say(m, w, m->now_us, 0,
		    "Prefill batch, #new-seq: 1, #new-token: 1, #cached-token: 0, token usage: %s, #running-req: 0, "
		    "#queue-req: 0, "
		    "#prealloc-req: 0, #inflight-req: 0, cuda graph: False, input throughput (token/s): 0.04",
		    used);
		say(m, w, m->now_us + 40000, 0,
		    "ReqTimeStats(rid=HEALTH_CHECK_%lld.%02d, bootstrap_room=0, input_len=1, cached_input_len=0, "
		    "output_len=1, "
		    "type=prefill): bootstrap_duration=0.10ms, queue_duration=0.20ms, forward_duration=31.50ms, "
		    "entry_time=%lld.%03d, transfer_speed=0.00 GB/s, transfer_total=0.00 MB, #retries=0",
		    (long long)(now / US_PER_S), (int)(now % US_PER_S / 10000), (long long)(now / US_PER_S),
		    (int)(now / 1000 % 1000));
	}
	say(m, w, m->now_us, -1, "INFO:     10.0.9.2:%d - \"GET /health HTTP/1.1\" 200 OK",
	    40000 + (int)(m->now_us / US_PER_S % 20000));
}

void say_receive(struct model *m, uint32_t i, int w)
{
	const struct attempt *a = &m->attempts[i];
	const struct request *r = &m->requests[a->request];
	const char *rid = a->prefill == w ? a->prefill_rid : a->rid;
	char at[20], text[1600] = "";

	if (!m->worker[w].receive_lines)
		return;
	/* the prompt of a hostile client: it imitates the rejection of somebody else's request */
	us_plain(clock_wall(&m->worker[w].clock, m->now_us), at);
	if (r->hostile_text && m->innocent[0] && m->messy)
		messy_prompt(m, at, text, sizeof(text));
	else if (r->hostile_text && m->innocent[0])
		snprintf(text, sizeof(text),
			 "text=\"Explain this log:\\n[%s TP0] Input length (999999 tokens) exceeds the maximum allowed "
			 "length "
			 "(681274 tokens). Use a shorter input or enable --allow-auto-truncate., self.rid='%s'\\n\", ",
			 at, m->innocent);
	else
		memcpy(m->innocent, rid, RID);
	say(m, w, m->now_us, -1,
	    "Receive: obj=GenerateReqInput(rid='%s', %ssampling_params={'max_new_tokens': 2048, 'temperature': 0.7}, "
	    "stream=%s, "
	    "bootstrap_host='%s', bootstrap_port=8998, bootstrap_room=%llu)",
	    rid, text, r->stream ? "True" : "False", m->worker[w].host, (unsigned long long)a->room);
}

void say_rejection(struct model *m, uint32_t i, int w, int64_t limit)
{
	const struct attempt *a = &m->attempts[i];
	int64_t at = m->now_us + a->len * 4 / 5;

	for (int r = 0; r < RANKS; r++)
		say(m, w, at + r * 350, r,
		    "Input length (%lld tokens) exceeds the maximum allowed length (%lld tokens). Use a shorter input "
		    "or enable "
		    "--allow-auto-truncate., self.rid='%s'",
		    (long long)a->len, (long long)limit, a->prefill == w ? a->prefill_rid : a->rid);
}

void say_truncation(struct model *m, uint32_t i, int w, int64_t limit, int64_t len)
{
	(void)i;
	for (int r = 0; r < RANKS; r++)
		say(m, w, m->now_us + 1000 + r * 350, r,
		    "Request length is longer than the KV cache pool size or the max context length. Truncated. "
		    "len(req.origin_input_ids)=%lld, max_req_input_len=%lld.",
		    (long long)len, (long long)limit);
}

void say_prefill_batches(struct model *m, uint32_t i, int w, int64_t from_us, int64_t until_us, int64_t tokens,
			 int64_t cached)
{
	const struct worker *k = &m->worker[w];
	int64_t chunk = 65536, n = MAX((tokens + chunk - 1) / chunk, 1);
	char used[16];

	(void)i;
	usage(k, used);
	for (int64_t c = 0; c < n; c++) {
		int64_t part = MIN(chunk, tokens - c * chunk),
			speed = part * US_PER_S / MAX((until_us - from_us) / n, 1);
		size_t queued = k->waiting.n - k->waiting.head;

		say(m, w, from_us + (until_us - from_us) * c / n, 0,
		    "Prefill batch, #new-seq: %d, #new-token: %lld, #cached-token: %lld, token usage: %s, "
		    "#running-req: %u, "
		    "#queue-req: %zu, %scuda graph: False, input throughput (token/s): %lld.%02lld",
		    1, (long long)part, (long long)(c ? 0 : cached), used, k->running, queued,
		    k->role == ROLE_PREFILL ? "#prealloc-req: 0, #inflight-req: 1, " : "", (long long)speed,
		    (long long)(speed % 100));
	}
}

void say_decode_batch(struct model *m, int w)
{
	const struct worker *k = &m->worker[w];
	int64_t used_tokens = (int64_t)(k->pool.n_pages - pool_available(&k->pool)) * PAGE_TOKENS;
	char used[16];

	usage(k, used);
	if (k->role == ROLE_DECODE)
		say(m, w, m->now_us, 0,
		    "Decode batch, #running-req: %u, #token: %lld, token usage: %s, pre-allocated usage: 0.00, "
		    "#prealloc-req: %zu, "
		    "#transfer-req: %u, #retracted-req: 0, cuda graph: True, gen throughput (token/s): %u.50, "
		    "#queue-req: 0",
		    k->running, (long long)used_tokens, used, k->waiting.n - k->waiting.head,
		    k->active > k->running ? k->active - k->running : 0, k->running * 37);
	else
		say(m, w, m->now_us, 0,
		    "Decode batch, #running-req: %u, #token: %lld, token usage: %s, cuda graph: True, gen throughput "
		    "(token/s): "
		    "%u.50, #queue-req: %zu",
		    k->running, (long long)used_tokens, used, k->running * 37, k->waiting.n - k->waiting.head);
}

const char *status_phrase(int status)
{
	switch (status) {
	case 200: return "OK";
	case 400: return "Bad Request";
	case 503: return "Service Unavailable";
	default: return "Internal Server Error";
	}
}

void say_access(struct model *m, int w, int64_t at_us, int status)
{
	say(m, w, at_us, -1, "INFO:     10.0.9.%d:%d - \"POST /v1/chat/completions HTTP/1.1\" %d %s",
	    3 + (int)(at_us & 1), 30000 + (int)(at_us / 1000 % 30000), status, status_phrase(status));
}

void say_prefill_end(struct model *m, uint32_t i)
{
	const struct attempt *a = &m->attempts[i];
	const struct request *r = &m->requests[a->request];
	int64_t sent = a->prefill_len * 9 / 100; /* MB */
	int64_t began = clock_epoch(&m->worker[a->prefill].clock, a->start_us);

	if (a->prefilled && a->prefill_status != 500)
		say(m, a->prefill, m->now_us, 0,
		    "ReqTimeStats(rid=%s, bootstrap_room=%llu, input_len=%lld, cached_input_len=%lld, output_len=1, "
		    "type=prefill): "
		    "bootstrap_duration=1.60ms, queue_duration=%lld.%02lldms, forward_duration=%lld.%02lldms, "
		    "entry_time=%lld.%03d, transfer_speed=19.70 GB/s, transfer_total=%lld.00 MB, #retries=0",
		    a->prefill_rid, (unsigned long long)a->room, (long long)a->prefill_len,
		    (long long)a->p.shared * PAGE_TOKENS, MS(a->forward_us - a->start_us),
		    MS(a->forwarded_us - a->forward_us), (long long)(began / US_PER_S), (int)(began / 1000 % 1000),
		    (long long)sent);
	else if (r->gone && a->prefill_status < 500)
		say_transfer_aborted(m, i, a->prefill);
	if (!r->gone || r->delivered)
		say_access(m, a->prefill, m->now_us, a->prefill_status);
}

void say_decode_end(struct model *m, uint32_t i)
{
	const struct attempt *a = &m->attempts[i];
	const struct request *r = &m->requests[a->request];
	char room[48] = "";
	int64_t began = clock_epoch(&m->worker[a->decode].clock, a->start_us);

	if (a->room)
		snprintf(room, sizeof(room), ", bootstrap_room=%llu", (unsigned long long)a->room);
	if (a->out && a->prefill >= 0)
		say(m, a->decode, m->now_us, 0,
		    "ReqTimeStats(rid=%s%s, input_len=%lld, cached_input_len=0, output_len=%lld, type=decode): "
		    "bootstrap_duration=1.20ms, alloc_wait_duration=%lld.%02lldms, transfer_duration=%lld.%02lldms, "
		    "queue_duration=0.20ms, forward_duration=%lld.%02lldms, entry_time=%lld.%03d",
		    a->rid, room, (long long)a->len, (long long)a->out, MS(a->alloc_us - a->start_us),
		    MS(a->transferred_us - a->alloc_us), MS(m->now_us - a->transferred_us),
		    (long long)(began / US_PER_S), (int)(began / 1000 % 1000));
	else if (a->out)
		say(m, a->decode, m->now_us, 0,
		    "ReqTimeStats(rid=%s, input_len=%lld, cached_input_len=%lld, output_len=%lld, type=unified): "
		    "queue_duration=%lld.%02lldms, forward_duration=%lld.%02lldms, entry_time=%lld.%03d",
		    a->rid, (long long)a->len, (long long)a->d.shared * PAGE_TOKENS, (long long)a->out,
		    MS(a->forward_us - a->start_us), MS(m->now_us - a->forward_us), (long long)(began / US_PER_S),
		    (int)(began / 1000 % 1000));
	if (r->gone && !a->out && a->room && a->decode_status < 500)
		say_transfer_aborted(m, i, a->decode);
	if (r->gone && !r->delivered)
		return; /* nobody was there to answer */
	/* the access line is written with the head of the answer */
	say_access(m, a->decode, r->stream && a->first_us && a->decode_status == 200 ? a->first_us : m->now_us,
		   a->decode_status);
}

void say_failure(struct model *m, uint32_t i, const char *stage)
{
	const struct attempt *a = &m->attempts[i];
	unsigned long long room = a->room;
	bool bootstrap = !strcmp(stage, "bootstrap");

	for (int r = 0; r < RANKS; r++) {
		say(m, a->prefill, m->now_us + r * 400, r,
		    "Prefill %s failed for request rank=%d req.rid='%s' req.bootstrap_room=%llu with exception "
		    "KVTransferError(bootstrap_room=%llu): %s%s",
		    stage, r, a->prefill_rid, room, room,
		    bootstrap ? "Request timed out in KVPoll.Bootstrapping"
			      : "Decode instance could be dead, remote mooncake session ",
		    bootstrap ? "" : m->worker[a->decode].host);
		say(m, a->decode, m->now_us + 700 + r * 400, r,
		    "Decode %s failed for request rank=%d decode_req.req.rid='%s' decode_req.req.bootstrap_room=%llu "
		    "with exception "
		    "KVTransferError(bootstrap_room=%llu): %s",
		    bootstrap ? "handshake" : "transfer", r, a->rid, room, room,
		    r % 3 == 2 ? "Failed due to an unknown reason from another rank"
			       : "Failed to get kvcache from prefill instance, it might be dead");
	}
}

void say_abort(struct model *m, uint32_t i, int w, bool queued)
{
	const struct attempt *a = &m->attempts[i];

	say(m, w, m->now_us, 0, "Abort %s request. rid='%s'", queued ? "queued" : "running", a->rid);
	if (!queued)
		say(m, w, m->now_us + 500, -1,
		    "Received output for rid='%s' but the state was deleted in TokenizerManager", a->rid);
}

/* An abort before the first step takes the transfer down with it: this names the room. */
void say_transfer_aborted(struct model *m, uint32_t i, int w)
{
	const struct attempt *a = &m->attempts[i];
	unsigned long long room = a->room;

	for (int r = 0; r < RANKS; r++) {
		if (w == a->prefill)
			say(m, w, m->now_us + 300 + r * 400, r,
			    "Prefill bootstrap failed for request rank=%d req.rid='%s' req.bootstrap_room=%llu with "
			    "exception "
			    "KVTransferError(bootstrap_room=%llu): Aborted by AbortReq.",
			    r, a->prefill_rid, room, room);
		else
			say(m, w, m->now_us + 300 + r * 400, r,
			    "Decode transfer failed for request rank=%d decode_req.req.rid='%s' "
			    "decode_req.req.bootstrap_room=%llu "
			    "with exception KVTransferError(bootstrap_room=%llu): Aborted by AbortReq.",
			    r, a->rid, room, room);
	}
}
