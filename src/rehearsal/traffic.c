/* SPDX-License-Identifier: Apache-2.0 */
/* traffic.c - who asks for what, and when: tenants, prompt lengths, impatient clients, retries, a hostile tenant
 *
 * Stop rule of the over-long prompts: a source draws another one only while (answered on the reject path) + (in flight)
 * is below its target, and spaces the draws by the time that is left. So the model decides which of them are answered,
 * and the number of answered ones is the target exactly, whatever the seed.
 */
#include "model.h"

#include <string.h>

enum { TENANT_HOSTILE = 11, BURST = 500 /* requests */ };

static unsigned pick_tenant(struct model *m)
{
	uint32_t weights[TENANTS];

	for (unsigned i = 0; i < TENANTS; i++)
		weights[i] = 100000 / (i + 1); /* Zipf */
	return (unsigned)rng_pick(&m->rng, weights, TENANTS);
}

/* Powers of two by weight, even inside each. */
static int64_t pick_length(struct model *m, const uint32_t *weights, size_t n, unsigned shift)
{
	int64_t lo = INT64_C(1) << (shift + rng_pick(&m->rng, weights, n));

	return rng_range(&m->rng, lo, 2 * lo - 1);
}

static int64_t normal_length(struct model *m, enum model_id model)
{
	static const uint32_t glm[] = {30, 60, 90, 130, 170, 170, 140, 100, 60, 30, 12, 3}; /* 128 to 512 Ki */
	static const uint32_t small[] = {40, 90, 160, 220, 200, 140, 90, 40};               /* 128 to 32 Ki */
	int64_t len;

	if (m->late_write)
		return pick_length(m, small, ARRAY_SIZE(small), 8);
	if (model == MODEL_KESTREL && rng_chance(&m->rng, 25))
		return rng_range(&m->rng, 500000, 1040000); /* its pool holds them all */
	if (model == MODEL_GLM && !m->sharing && rng_chance(&m->rng, 5))
		return rng_range(&m->rng, 600000, 681273); /* just below the limit */
	len = pick_length(m, glm, ARRAY_SIZE(glm), 7);
	return m->sharing ? MIN(len, 60000) : MIN(len, 600000);
}

uint32_t request_new(struct model *m, unsigned tenant, enum model_id model, int64_t len)
{
	size_t cap = m->requests_cap;
	struct request *r;

	if (!model_grow(m, &m->requests, m->n_requests, &cap, sizeof(*m->requests)))
		return NONE;
	m->requests_cap = (uint32_t)cap;
	r = &m->requests[m->n_requests];
	*r = (struct request){
	    .tenant = tenant, .model = model, .len = len, .template_no = -1, .pinned = -1, .source = -1};
	memcpy(r->id, "chatcmpl-", 9);
	rng_alnum(&m->rng, r->id + 9, 24);
	r->out = 2 + rng_exp(&m->rng, 150);
	r->stream = rng_chance(&m->rng, 780);
	r->direct = tenant % 8 == 5;
	r->usage_hidden = r->stream && rng_chance(&m->rng, 40);
	r->retried = rng_chance(&m->rng, 400);
	r->start_us = m->now_us;
	if (rng_chance(&m->rng, 45))
		r->patience_us = rng_range(&m->rng, 40, 9000) * 1000;
	r->hostile_text = tenant == TENANT_HOSTILE && rng_chance(&m->rng, 300);
	return m->n_requests++;
}

/* A client that sends one id again and again, each time after an answer; the gateway takes it as it is. (Two at the
 * same moment could not be told apart in the router's log by anybody.) */
static void client_names(struct model *m, uint32_t i)
{
	struct request *r = &m->requests[i];
	const struct request *last = m->again == NONE ? NULL : &m->requests[m->again];
	bool again = r->tenant == TENANT_HOSTILE && !r->unified && rng_chance(&m->rng, 150);

	if (m->messy && r->tenant != TENANT_HOSTILE && !r->unified && !r->direct)
		m->victim = i;
	if (m->messy && r->tenant == TENANT_HOSTILE && !r->unified && !again && m->victim != NONE &&
	    rng_chance(&m->mess, 300)) {
		/* somebody else's id, perhaps at the same moment */
		memcpy(r->id, m->requests[m->victim].id, sizeof(r->id));
		m->victim = NONE;
	}
	if (!again)
		return;
	if (last && (!last->ended || last->end_us + 60 * US_PER_S > m->now_us))
		return;
	snprintf(r->id, sizeof(r->id), "req-again-and-again");
	m->again = i;
}

static void client_waits(struct model *m, uint32_t i)
{
	if (m->requests[i].patience_us)
		model_schedule(m, m->now_us + m->requests[i].patience_us, EV_GONE, i);
}

/* Arrival i of n lies in the i-th of n equal parts of the window, warped by the load of the day. */
static int64_t arrival_time(struct model *m, int64_t i)
{
	static const uint8_t load[24] = {22, 18, 15, 14, 15, 20, 30, 42, 55, 62, 66, 66,
					 60, 62, 66, 66, 64, 60, 54, 48, 42, 36, 32, 26};
	int64_t window = m->end_us - m->begin_us, days = (window + US_PER_DAY - 1) / US_PER_DAY, sum = 0, at, x;
	int hour = 0;

	for (int h = 0; h < 24; h++)
		sum += load[h];
	/* position in units of load: i and a part of one, out of n * 1000 */
	x = (i * 1000 + rng_range(&m->rng, 0, 999)) * days * sum / m->n_normal;
	at = x / (sum * 1000) * US_PER_DAY;
	x %= sum * 1000;
	while (x >= load[hour] * 1000)
		x -= load[hour++] * 1000;
	return m->begin_us + at + hour * 3600 * US_PER_S + x * 3600 * 1000 / load[hour];
}

static int64_t next_arrival(struct model *m)
{
	int64_t i = m->arrived;

	if (!m->bursts)
		return arrival_time(m, i);
	if (i % BURST == 0)
		m->burst_us =
		    m->begin_us + 1800 * US_PER_S + i / BURST * ((m->end_us - m->begin_us) / (m->n_normal / BURST + 2));
	m->burst_us += rng_exp(&m->rng, 450 * 1000);
	return m->burst_us;
}

uint32_t traffic_arrive(struct model *m)
{
	int64_t len;
	uint32_t i;
	enum model_id model;

	if (m->arrived >= m->n_normal)
		return NONE;
	model = rng_chance(&m->rng, 140) ? MODEL_KESTREL : MODEL_GLM;
	len = normal_length(m, model); /* not as an argument: these are evaluated in any order */
	i = request_new(m, pick_tenant(m), model, len);
	if (i == NONE)
		return NONE;
	m->requests[i].unified = model == MODEL_GLM && rng_chance(&m->rng, m->sharing ? 400 : 100);
	if (m->worker[8].truncate && m->requests[i].unified && rng_chance(&m->rng, 60))
		m->requests[i].len = rng_range(&m->rng, 681280, 900000);
	if (m->sharing && rng_chance(&m->rng, 600)) {
		m->requests[i].template_no = (int)rng_below(&m->rng, TEMPLATES);
		m->requests[i].len += template_tokens(m->requests[i].template_no);
	}
	if (m->late_write && rng_chance(&m->rng, 200))
		m->requests[i].patience_us = rng_range(&m->rng, 30, 1500) * 1000;
	client_names(m, i);
	m->arrived++;
	if (m->arrived < m->n_normal)
		model_schedule(m, next_arrival(m), EV_ARRIVE, 0);
	client_waits(m, i);
	return i;
}

static int64_t shorter_of_two(struct rng *r, int64_t lo, int64_t hi)
{
	int64_t a = rng_range(r, lo, hi), b = rng_range(r, lo, hi);
	return MIN(a, b);
}

void traffic_draw(struct model *m, unsigned source)
{
	struct source *s = &m->source[source];
	int64_t left = s->until_us - m->now_us, gap, len;
	uint32_t i;

	if (s->delivered >= s->target || m->now_us >= m->end_us)
		return;
	if (s->delivered + s->in_flight >= s->target) {
		model_schedule(m, m->now_us + 20 * US_PER_S, EV_DRAW, source);
		return;
	}
	/* lengths thin out towards the context window */
	len = s->boundary ? rng_range(&m->rng, s->lo, s->hi) : shorter_of_two(&m->rng, s->lo, s->hi);
	i = request_new(m, pick_tenant(m), MODEL_GLM, len);
	if (i == NONE)
		return;
	m->requests[i].source = (int)source;
	m->requests[i].unified = rng_chance(&m->rng, 60);
	m->requests[i].stream = rng_chance(&m->rng, 860);
	m->requests[i].patience_us = rng_chance(&m->rng, 150) ? rng_range(&m->rng, 100, 9000) * 1000 : 0;
	client_names(m, i);
	s->in_flight++;
	model_schedule(m, m->now_us, EV_PROMPT, i);
	client_waits(m, i);
	gap = MAX(left, 0) * 10 / (13 * (int64_t)(s->target - s->delivered)) / 1000 * rng_range(&m->rng, 100, 1700);
	gap = MIN(gap, left * 9 / 10); /* the last ones come close to the end, and not behind it */
	model_schedule(m, m->now_us + MAX(gap, US_PER_S), EV_DRAW, source);
}

void traffic_launch(struct model *m, int w)
{
	uint32_t i;
	int64_t cap = m->worker[w].pool_tokens / 4;

	if (!m->worker[w].launch_left || m->rc)
		return;
	if (worker_choose(m, ROLE_PREFILL, m->worker[w].model, -1) < 0) {
		model_schedule(m, m->now_us + 30 * US_PER_S, EV_LAUNCH, (uint32_t)w);
		return;
	}
	i = request_new(m, TENANT_LAUNCH, m->worker[w].model, rng_range(&m->rng, MIN(110000, cap), MIN(190000, cap)));
	if (i == NONE)
		return;
	m->requests[i].pinned = w;
	m->requests[i].patience_us = 0;
	m->requests[i].retried = false;
	model_schedule(m, m->now_us, EV_PROMPT, i);
}

/* A client that sends its request once more after a failure: a new request to everybody but itself. */
void traffic_retry(struct model *m, uint32_t request)
{
	struct request old = m->requests[request];
	uint32_t i;

	if (old.source >= 0 &&
	    m->source[old.source].delivered + m->source[old.source].in_flight >= m->source[old.source].target)
		return;
	i = request_new(m, old.tenant, old.model, old.len);
	if (i == NONE)
		return;
	m->requests[i].out = old.out;
	m->requests[i].source = old.source;
	m->requests[i].unified = old.unified;
	m->requests[i].retried = false;
	m->requests[i].patience_us = 0;
	if (old.source >= 0)
		m->source[old.source].in_flight++;
	model_schedule(m, m->now_us, EV_PROMPT, i);
}
