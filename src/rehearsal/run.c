/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - the clock of the model: a heap of events in order of time, then of scheduling */
#include "model.h"

static bool before(const struct sim_event *a, const struct sim_event *b)
{
	return a->at_us != b->at_us ? a->at_us < b->at_us : a->order < b->order;
}

void model_schedule(struct model *m, int64_t at_us, enum event_kind_id kind, uint32_t arg)
{
	struct sim_event e = {MAX(at_us, m->now_us), m->order++, kind, arg};
	size_t i = m->n_heap;

	if (!model_grow(m, &m->heap, m->n_heap, &m->heap_cap, sizeof(*m->heap)))
		return;
	for (m->n_heap++; i && before(&e, &m->heap[(i - 1) / 2]); i = (i - 1) / 2)
		m->heap[i] = m->heap[(i - 1) / 2];
	m->heap[i] = e;
}

static struct sim_event next(struct model *m)
{
	struct sim_event top = m->heap[0], last = m->heap[--m->n_heap];
	size_t i = 0, child;

	for (; (child = 2 * i + 1) < m->n_heap; i = child) {
		if (child + 1 < m->n_heap && before(&m->heap[child + 1], &m->heap[child]))
			child++;
		if (!before(&m->heap[child], &last))
			break;
		m->heap[i] = m->heap[child];
	}
	m->heap[i] = last;
	return top;
}

static void arrive(struct model *m)
{
	uint32_t r = traffic_arrive(m);

	if (r == NONE)
		return;
	router_started(m, &m->requests[r]);
	attempt_start(m, r);
}

static void boot(struct model *m, int w)
{
	struct worker *k = &m->worker[w];

	/* the latest restart that has begun says what comes up */
	for (unsigned i = 0; i < m->n_restarts; i++)
		if (m->restart[i].worker == w && m->restart[i].at_us <= m->now_us) {
			k->pool_tokens = m->restart[i].pool_tokens;
			k->version = m->restart[i].version;
		}
	worker_boot(m, w);
}

static void health(struct model *m)
{
	for (int w = 0; w < m->n_workers; w++)
		if (m->worker[w].up)
			say_health(m, w);
	if (m->now_us + 6 * 3600 * US_PER_S < m->end_us)
		model_schedule(m, m->now_us + 6 * 3600 * US_PER_S, EV_HEALTH, 0);
}

static void dispatch(struct model *m, const struct sim_event *e)
{
	switch (e->kind) {
	case EV_ARRIVE: arrive(m); break;
	case EV_DRAW: traffic_draw(m, e->arg); break;
	case EV_PROMPT:
		router_started(m, &m->requests[e->arg]);
		attempt_start(m, e->arg);
		break;
	case EV_START: attempt_start(m, e->arg); break;
	case EV_FORWARDED: prefill_forwarded(m, e->arg); break;
	case EV_TRANSFERRED: transfer_done(m, e->arg); break;
	case EV_STEP: decode_step(m, e->arg); break;
	case EV_GONE: client_gone(m, e->arg); break;
	case EV_FAIL: attempt_fail(m, e->arg); break;
	case EV_LATE: transfer_late(m, e->arg); break;
	case EV_DRAIN: worker_drain(m, (int)e->arg); break;
	case EV_BOOT: boot(m, (int)e->arg); break;
	case EV_HEALTH: health(m); break;
	case EV_LAUNCH: traffic_launch(m, (int)e->arg); break;
	case EV_RETRY: traffic_retry(m, e->arg); break;
	}
}

void model_run(struct model *m)
{
	m->now_us = m->begin_us;
	router_open(m);
	for (int w = 0; w < m->n_workers; w++)
		model_schedule(m, m->begin_us + rng_range(&m->rng, 0, 90) * US_PER_S, EV_BOOT, (uint32_t)w);
	for (unsigned i = 0; i < m->n_restarts; i++)
		model_schedule(m, m->restart[i].at_us + rng_range(&m->rng, 0, 300) * US_PER_S, EV_DRAIN,
			       (uint32_t)m->restart[i].worker);
	for (unsigned i = 0; i < m->n_sources; i++)
		model_schedule(m, m->source[i].from_us + rng_range(&m->rng, 0, 3600) * US_PER_S, EV_DRAW, i);
	model_schedule(m, m->begin_us + 3 * 3600 * US_PER_S, EV_HEALTH, 0);
	model_schedule(m, m->begin_us + 1200 * US_PER_S, EV_ARRIVE, 0);
	while (m->n_heap && !m->rc) {
		struct sim_event e = next(m);

		m->now_us = e.at_us;
		dispatch(m, &e);
	}
	for (uint32_t i = 0; i < m->n_requests && !m->rc; i++)
		if (!m->requests[i].ended)
			model_fail(m, err_set(m->err, ERR_BUG, "request %u of the rehearsal never ended", i));
	/* what is still cached is flushed before the logs are collected: every owner's pages come back */
	for (int w = 0; w < m->n_workers && !m->rc; w++)
		while (pages_evict(m, w))
			;
}
