/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_serve.c - logs of the scenario "deploy": start-up lines, signs of life, and requests that go to whatever runs
 *
 * No pages and no queues: what is asked for here is which process served what, and whether it refused what was too long.
 */
#include "deploy.h"

enum { SIGN_H = 3, LONGEST_S = 40, LONG_MAX = 1040000 };

static void sign(struct fleet *f, int n, int64_t at_us)
{
	if (f->n_signs[n] < SIGNS_MAX)
		f->signs_us[n][f->n_signs[n]++] = at_us / US_PER_S * US_PER_S;
}

static void heartbeat(struct fleet *f, int n, int64_t at_us)
{
	struct model *m = f->m;
	int w = f->replica[n].w;

	m->now_us = at_us;
	if (m->worker[w].role == ROLE_DECODE)
		say_decode_batch(m, w);
	else
		say_health(m, w);
	sign(f, n, at_us);
}

static void log_life(struct fleet *f, int n, int i)
{
	struct model *m = f->m;
	const struct replica *r = &f->replica[n];
	const struct life *l = &r->life[i];
	struct worker *k = &m->worker[r->w];
	int64_t end = l->stop_us ? l->stop_us : l->silent_us ? l->silent_us : m->end_us;

	k->pool_tokens = l->pool_tokens;
	k->version = l->version;
	k->pid += 1000;
	m->now_us = l->ready_us;
	say_boot(m, r->w);
	sign(f, n, l->launch_us);
	sign(f, n, l->ready_us);
	for (int e = 0; e < f->n_evidence; e++) {
		const struct evidence *v = &f->evidence[e];

		if (v->replica == n && v->life == i && v->form == FORM_LINE)
			say(m, r->w, v->at_us, -1, "sglang: %s%s%s%s", v->version, v->commit[0] ? " (commit " : "",
			    v->commit, v->commit[0] ? ")" : "");
	}
	for (int64_t at = l->ready_us + 1200 * US_PER_S; at < end; at += SIGN_H * 3600 * US_PER_S)
		heartbeat(f, n, at);
	m->now_us = end;
	if (l->stop_us)
		say_stop(m, r->w);
	else if (!l->silent_us)
		heartbeat(f, n, end);
	if (l->stop_us)
		sign(f, n, end);
}

/* ---- requests */

static int choose(struct fleet *f, enum role role, int64_t at_us)
{
	int up[REPLICAS_MAX], n = 0;

	for (int i = 0; i < f->n; i++) {
		int life = deploy_life_at(&f->replica[i], at_us - 60 * US_PER_S);

		if (f->m->worker[f->replica[i].w].role == role && life >= 0 &&
		    deploy_life_at(&f->replica[i], at_us + LONGEST_S * US_PER_S) == life)
			up[n++] = i;
	}
	return n ? up[rng_below(&f->m->rng, (uint64_t)n)] : -1;
}

static void worker_as_of(struct fleet *f, int n, int64_t at_us)
{
	const struct replica *r = &f->replica[n];
	const struct life *l = &r->life[deploy_life_at(r, at_us)];

	f->m->worker[r->w].pool_tokens = l->pool_tokens;
	f->m->worker[r->w].version = l->version;
}

static void refuse(struct fleet *f, uint32_t i)
{
	struct model *m = f->m;
	struct attempt *a = &m->attempts[i];
	struct request *r = &m->requests[a->request];

	m->now_us = r->end_us = m->now_us + 900 * 1000;
	r->status = a->status = a->prefill_status = a->decode_status = 400;
	say_access(m, a->prefill, m->now_us, 400);
	say_transfer_aborted(m, i, a->decode);
	say_access(m, a->decode, m->now_us, 400);
	router_attempt_failed(m, r, a);
}

static void answer(struct fleet *f, uint32_t i, bool over)
{
	struct model *m = f->m;
	struct attempt *a = &m->attempts[i];
	struct request *r = &m->requests[a->request];
	int w = a->prefill >= 0 ? a->prefill : a->decode;
	int64_t start = m->now_us;

	a->rejected = over;
	if (over) {
		a->prefill_len = 1;
		a->prefill_status = r->stream ? 200 : 400;
	}
	a->alloc_us = start + 2000;
	a->forward_us = start + a->len * 4 / 5 + 4000;
	a->forwarded_us = a->forward_us + 120 * 1000;
	a->transferred_us = a->forwarded_us + 40 * 1000;
	a->prefilled = true;
	say_prefill_batches(m, i, w, a->forward_us, a->forwarded_us, a->prefill_len, 0);
	m->now_us = a->transferred_us;
	if (a->prefill >= 0)
		say_prefill_end(m, i);
	a->first_us = r->first_byte_us = a->transferred_us + 60 * 1000;
	a->out = r->out;
	a->status = r->status = 200;
	r->delivered = true;
	m->now_us = r->end_us = (a->first_us + rng_range(&m->rng, 300, 9000) * 1000) / 1000 * 1000;
	say_decode_end(m, i);
}

/* at_us: whole seconds. over: by so much longer than what its prefill worker takes. */
static void request(struct fleet *f, int64_t at_us, int prefill, int decode, int64_t over, bool refused)
{
	struct model *m = f->m;
	int64_t len = 128 + rng_exp(&m->rng, 9000);
	int first = prefill >= 0 ? prefill : decode;
	uint32_t i, a;

	if (decode < 0 || (prefill < 0 && m->worker[f->replica[decode].w].role != ROLE_UNIFIED) || m->rc ||
	    !model_grow(m, &f->handed, f->n_handed, &f->handed_cap, sizeof(*f->handed)))
		return;
	m->now_us = at_us;
	worker_as_of(f, first, at_us);
	worker_as_of(f, decode, at_us);
	if (over >= 0)
		len = MIN(worker_limit(m, f->replica[first].w) + over, LONG_MAX);
	i = request_new(m, (unsigned)rng_below(&m->rng, TENANTS), MODEL_GLM, len);
	if (i == NONE)
		return;
	m->requests[i].direct = m->requests[i].hostile_text = false;
	m->requests[i].out = MIN(m->requests[i].out, 2000);
	router_started(m, &m->requests[i]);
	a = attempt_new(m, i, prefill >= 0 ? f->replica[prefill].w : -1, f->replica[decode].w);
	if (a == NONE)
		return;
	m->requests[i].attempt = a;
	m->requests[i].n_attempts = 1;
	m->attempts[a].limit = worker_limit(m, f->replica[first].w);
	if (over >= 0)
		say_rejection(m, a, f->replica[prefill].w, m->attempts[a].limit);
	if (refused)
		refuse(f, a);
	else
		answer(f, a, over >= 0);
	router_finished(m, &m->requests[i]);
	gateway_access(m, &m->requests[i]);
	f->handed[f->n_handed++] = (struct handed){prefill, decode, m->requests[i].end_us, i, over >= 0, refused};
	if (prefill >= 0)
		sign(f, prefill, m->now_us);
	sign(f, decode, m->now_us);
}

static void over_long(struct fleet *f, int n)
{
	struct model *m = f->m;
	const struct replica *r = &f->replica[n];
	const struct life *l = &r->life[0];
	int64_t at = second_within(f, hours(f, 8), 24 * 3600), over = rng_range(&m->rng, 0, LONG_MAX - PREFILL_POOL);

	if (m->worker[r->w].role != ROLE_PREFILL || !r->log)
		return;
	if (l->build && l->build->kind == BUILD_OLD && l->pool_tokens == PREFILL_POOL && rng_chance(&m->rng, 700))
		request(f, at, n, choose(f, ROLE_DECODE, at), over, false);
	if (r->story->flags & STORY_REFUSES) {
		at = second_within(f, hours(f, ROUND_1_H + 2), 7200);
		request(f, at, n, choose(f, ROLE_DECODE, at), over, true);
	}
	if (r->story->flags & STORY_SERVES) {
		at = second_within(f, hours(f, ASKED_3_H + 2), 3600);
		request(f, at, n, choose(f, ROLE_DECODE, at), over, false);
	}
}

/* The gateway has a limit of its own by now. */
static void gateway_refuses(struct fleet *f)
{
	struct model *m = f->m;
	struct lines *l = &m->gateway;
	unsigned n = (unsigned)rng_below(&m->rng, 5);
	char at[32], id[25], tenant[16];

	f->shortest_refused = n ? INT64_MAX : 0;
	for (unsigned i = 0; i < n; i++) {
		int64_t us = second_within(f, hours(f, ROUND_2_H + 2), 6 * 3600),
			len = rng_range(&m->rng, PREFILL_LARGE, 2 * PREFILL_LARGE);

		f->shortest_refused = MIN(f->shortest_refused, len);
		us_iso_ms(us, at);
		rng_alnum(&m->rng, id, 24);
		lines_begin(m, l, us + 2000);
		lines_put(m, l,
			  "{\"start_time\":\"%s\",\"method\":\"POST\",\"request.path\":\"/v1/chat/"
			  "completions\",\"protocol\":\"HTTP/1.1\","
			  "\"response_code\":413,\"response_flags\":\"-\",\"bytes_received\":%lld,\"bytes_sent\":96,"
			  "\"duration\":2,"
			  "\"x-request-id\":\"chatcmpl-%s\",\"tenant_id\":\"%s\",\"gen_ai.request.model\":\"%s\","
			  "\"stream\":true,"
			  "\"gen_ai.usage.input_tokens\":%lld,\"gen_ai.usage.output_tokens\":0}",
			  at, (long long)(len * 4), id, tenant_name((unsigned)rng_below(&m->rng, TENANTS), tenant),
			  model_served(MODEL_GLM), (long long)len);
		lines_end(m, l);
	}
	f->refused_by_gateway = n;
}

void deploy_logs(struct fleet *f)
{
	struct model *m = f->m;
	char path[128];

	for (int n = 0; n < f->n; n++)
		for (int i = 0; i < LIVES; i++)
			if (f->replica[n].log && f->replica[n].life[i].build)
				log_life(f, n, i);
	for (int n = 0; n < f->n; n++)
		over_long(f, n);
	for (int64_t i = 0; i < m->n_normal && !m->rc; i++) {
		int64_t at = second_within(f, hours(f, 1), (LAST_H - 2) * 3600);
		bool unified = rng_chance(&m->rng, 60);
		int decode = choose(f, unified ? ROLE_UNIFIED : ROLE_DECODE, at);

		request(f, at, unified ? -1 : choose(f, ROLE_PREFILL, at), decode, -1, false);
	}
	gateway_refuses(f);
	for (int n = 0; n < f->n; n++) {
		const struct replica *r = &f->replica[n];
		const char *name = m->worker[r->w].name;

		if (r->folder) {
			snprintf(path, sizeof(path), "logs/%s", name);
			make_folder(m, path);
		}
		snprintf(path, sizeof(path), r->folder ? "logs/%s/engine.log" : "logs/%s.log", name);
		lines_write(m, &m->worker[r->w].text, path);
	}
	lines_write(m, &m->router, "logs/router.log");
	lines_write(m, &m->gateway, "logs/gateway.jsonl");
}
