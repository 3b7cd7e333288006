/* SPDX-License-Identifier: Apache-2.0 */
/* fleet.c - the workers of each scenario, what they are started with, and their restarts
 *
 * A pool belongs to one boot: a restart may bring another one, and with it another limit. A worker is drained before it
 * stops: no new leg is given to it, and it goes down with the last one.
 */
#include "model.h"

#include <string.h>

int worker_add(struct model *m, const char *name, enum role role, enum model_id model, int64_t pool)
{
	struct worker *w = &m->worker[m->n_workers];

	*w = (struct worker){
	    .role = role, .model = model, .pool_tokens = pool, .context_len = CONTEXT, .version = "0.5.21"};
	snprintf(w->name, sizeof(w->name), "%s", name);
	snprintf(w->host, sizeof(w->host), "10.0.%d.%d", 1 + (int)role, 10 + m->n_workers);
	w->port = 30000;
	w->pid = 4000 + 97 * m->n_workers;
	for (int i = 0; i < TEMPLATES; i++)
		w->prefix[i].owner = NONE;
	return m->n_workers++;
}

/* The fleet of the incident: four prefill and four decode workers, a unified one, and a second model on its own pair.
 * One decode worker keeps no page log: what it served can be bounded in time only. */
static void add_fleet(struct model *m, int64_t prefill_pool)
{
	static const char *const prefill[] = {"prefill-0", "prefill-1", "prefill-2", "prefill-3"};
	static const char *const decode[] = {"decode-0", "decode-1", "decode-2", "decode-3"};

	for (int i = 0; i < 4; i++)
		worker_add(m, prefill[i], ROLE_PREFILL, MODEL_GLM, prefill_pool);
	for (int i = 0; i < 4; i++)
		m->worker[worker_add(m, decode[i], ROLE_DECODE, MODEL_GLM, DECODE_POOL)].page_log = i < 3;
	worker_add(m, "unified-0", ROLE_UNIFIED, MODEL_GLM, prefill_pool);
	worker_add(m, "prefill-4", ROLE_PREFILL, MODEL_KESTREL, KESTREL_POOL);
	m->worker[worker_add(m, "decode-4", ROLE_DECODE, MODEL_KESTREL, KESTREL_POOL)].page_log = true;
	m->worker[0].page_log = true;
	m->worker[1].receive_lines = true;
	m->worker[5].request_json = true;
	m->worker[6].metrics = true;
}

static void restart(struct model *m, const char *name, int64_t after_us, int64_t pool, const char *version)
{
	for (int w = 0; w < m->n_workers; w++)
		if (!strcmp(m->worker[w].name, name))
			m->restart[m->n_restarts++] = (struct restart){w, m->begin_us + after_us, pool, version};
}

static int64_t day(int days, int hours)
{
	return days * US_PER_DAY + hours * 3600 * US_PER_S;
}

/* Logs from 25 August; the over-long prompts of 27 August to 9 September; the fix on 9 September, when everything is
 * taken down at once and comes back with a pool larger than the context window and another version. */
static void plan_incident(struct model *m)
{
	static const char *const fixed[] = {"prefill-0", "prefill-1", "prefill-2", "prefill-3", "decode-0",
					    "decode-1",  "decode-2",  "decode-3",  "unified-0"};
	int64_t scale = m->n_normal;

	m->begin_us = INT64_C(1787616000) * US_PER_S; /* 2026-08-25 */
	m->end_us = m->begin_us + day(15, 22);
	m->long_prompts = true;
	add_fleet(m, PREFILL_POOL);
	restart(m, "prefill-1", day(6, 3), PREFILL_POOL, "0.5.21");
	restart(m, "prefill-3", day(8, 2), PREFILL_LARGE, "0.5.21");
	restart(m, "prefill-2", day(10, 4), 720896, "0.5.21");
	restart(m, "decode-1", day(9, 3), DECODE_POOL, "0.5.21");
	restart(m, "unified-0", day(12, 5), PREFILL_POOL, "0.5.21");
	restart(m, "prefill-3", day(12, 6), PREFILL_POOL, "0.5.21");
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		restart(m, fixed[i], day(15, 14), i < 4 || i == 8 ? PREFILL_LARGE : DECODE_POOL, FIXED_VERSION);
	m->source[0] = (struct source){.lo = PREFILL_POOL + 1,
				       .hi = 1040000,
				       .from_us = m->begin_us + day(2, 1),
				       .until_us = m->begin_us + day(15, 13),
				       .target = (unsigned)MAX(155 * scale / 8000, 1)};
	m->source[1] = (struct source){.lo = PREFILL_POOL - 6,
				       .hi = PREFILL_POOL,
				       .from_us = m->begin_us + day(3, 0),
				       .until_us = m->begin_us + day(15, 0),
				       .target = (unsigned)MAX(6 * scale / 8000, 1),
				       .boundary = true};
	m->n_sources = 2;
}

/* Small pools under bursts, clients that leave during transfers, and transfers that go on into pages given to others.
 * The prompt's length has nothing to do with it, so what one decode worker without a page log answered stays open. */
static void plan_late_write(struct model *m)
{
	m->begin_us = INT64_C(1787788800) * US_PER_S; /* 2026-08-27 */
	m->end_us = m->begin_us + day(2, 0);
	m->late_write = m->bursts = true;
	add_fleet(m, CONTEXT + 1024);
	for (int w = 0; w < m->n_workers; w++) {
		m->worker[w].page_log = m->worker[w].role != ROLE_DECODE || m->worker[w].page_log;
		if (m->worker[w].role == ROLE_DECODE)
			m->worker[w].pool_tokens = 98304;
	}
}

static void plan_prefix_share(struct model *m)
{
	m->begin_us = INT64_C(1787788800) * US_PER_S;
	m->end_us = m->begin_us + day(3, 0);
	m->sharing = true;
	add_fleet(m, PREFILL_POOL);
	for (int w = 0; w < m->n_workers; w++) {
		m->worker[w].page_log = true;
		m->worker[w].radix = m->worker[w].role != ROLE_DECODE;
		if (m->worker[w].role == ROLE_UNIFIED)
			m->worker[w].pool_tokens = 131072; /* small enough to evict */
	}
}

/* Nothing goes wrong. An odd seed runs pools below the context window (an exposure by configuration, and no more than
 * that), an even one does not. The unified worker truncates what is too long for it. */
static void plan_clean(struct model *m)
{
	bool exposed = m->options->seed & 1;

	m->begin_us = INT64_C(1787788800) * US_PER_S;
	m->end_us = m->begin_us + day(5, 0);
	add_fleet(m, exposed ? PREFILL_POOL : PREFILL_LARGE);
	m->worker[8].truncate = true;
	m->worker[8].pool_tokens = PREFILL_POOL;
	restart(m, "prefill-2", day(2, 4), exposed ? 720896 : PREFILL_LARGE, "0.5.21");
	restart(m, "decode-1", day(3, 3), DECODE_POOL, "0.5.21");
}

void fleet_plan(struct model *m)
{
	m->messy = !strcmp(m->options->scenario, "messy");
	m->canary = !strcmp(m->options->scenario, "canary");
	if (m->messy || m->canary || !strcmp(m->options->scenario, "incident"))
		plan_incident(m);
	else if (!strcmp(m->options->scenario, "late_write"))
		plan_late_write(m);
	else if (!strcmp(m->options->scenario, "prefix_share"))
		plan_prefix_share(m);
	else
		plan_clean(m);
	if (m->messy)
		messy_plan(m);
	for (int w = 0; m->canary && w < m->n_workers; w++)
		m->worker[w].request_json |= m->worker[w].role == ROLE_DECODE;
}

int64_t worker_limit(const struct model *m, int w)
{
	const struct worker *k = &m->worker[w];

	return MIN(k->context_len - 1, k->pool_tokens - 1) - 5;
}

void worker_boot(struct model *m, int w)
{
	struct worker *k = &m->worker[w];

	if (!model_grow(m, &m->boots, m->n_boots, &m->boots_cap, sizeof(*m->boots)))
		return;
	k->boot = m->n_boots++;
	m->boots[k->boot] = (struct boot){.worker = w,
					  .started_us = m->now_us,
					  .pool_tokens = k->pool_tokens,
					  .context_len = k->context_len,
					  .input_limit = worker_limit(m, w),
					  .version = k->version,
					  .truncate = k->truncate};
	k->up = true;
	k->draining = false;
	k->pid += 1000;
	say_boot(m, w);
	pages_boot(m, w);
	/* the launch test of a worker fills its whole pool once: it looks at status codes and speed */
	if (k->role == ROLE_DECODE) {
		k->launch_left = 2 + (unsigned)(k->pool_tokens / 110000);
		model_schedule(m, m->now_us + 20 * US_PER_S, EV_LAUNCH, (uint32_t)w);
	}
}

static void worker_stop(struct model *m, int w)
{
	struct worker *k = &m->worker[w];

	while (pages_evict(m, w))
		;
	k->up = false;
	m->boots[k->boot].ended_us = m->now_us;
	say_stop(m, w);
	model_schedule(m, m->now_us + rng_range(&m->rng, 120, 300) * US_PER_S, EV_BOOT, (uint32_t)w);
}

void worker_drain(struct model *m, int w)
{
	m->worker[w].draining = true;
	if (!m->worker[w].active)
		worker_stop(m, w);
}

void worker_leg_ended(struct model *m, int w)
{
	struct worker *k = &m->worker[w];

	k->active--;
	if (k->draining && k->up && !k->active)
		worker_stop(m, w);
}

/* Two are drawn, the less loaded one is taken; -1: none is up. A worker in its launch test takes no other traffic. */
int worker_choose(struct model *m, enum role role, enum model_id model, int avoid)
{
	int up[WORKERS_MAX], n = 0, a, b;

	for (int w = 0; w < m->n_workers; w++) {
		const struct worker *k = &m->worker[w];

		if (k->role == role && k->model == model && k->up && !k->draining && !k->launch_left && w != avoid)
			up[n++] = w;
	}
	if (!n)
		return -1;
	a = up[rng_below(&m->rng, (uint64_t)n)];
	b = up[rng_below(&m->rng, (uint64_t)n)];
	return m->worker[b].active < m->worker[a].active ? b : a;
}
