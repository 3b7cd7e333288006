/* SPDX-License-Identifier: Apache-2.0 */
/* serve.c - an attempt from the router to the end of its prefill and transfer
 *
 * The defect of the incident is in prefill_receive(): a prompt over the limit is rejected, and the request goes on with
 * a one-token placeholder. The decode worker, which was given the request at the same moment, holds pages for the whole
 * prompt. The defect of the other failure is in client_gone(): pages are freed while the transfer into them is still
 * running.
 */
#include "model.h"

#include <string.h>

void waiting_push(struct model *m, struct queue *q, uint32_t a)
{
	if (q->head && q->head == q->n)
		q->head = q->n = 0;
	if (model_grow(m, &q->at, q->n, &q->cap, sizeof(*q->at)))
		q->at[q->n++] = a;
}

static uint32_t pages_for(int64_t tokens)
{
	return (uint32_t)((tokens + PAGE_TOKENS - 1) / PAGE_TOKENS);
}

static void request_end(struct model *m, uint32_t request, int status)
{
	struct request *r = &m->requests[request];
	const struct attempt *a = r->n_attempts ? &m->attempts[r->attempt] : NULL;

	r->ended = true;
	if (!r->gone) {
		r->status = status;
		r->end_us = m->now_us + rng_range(&m->rng, 500, 4000);
	}
	router_finished(m, r);
	gateway_access(m, r);
	truth_request_ended(m, request);
	if (r->source >= 0) {
		struct source *s = &m->source[r->source];

		s->in_flight--;
		/* counted: answered on the reject path, above the pool (or, for the other source, in the boundary band)
		 */
		if (r->delivered && r->trigger && (s->boundary || r->len > a->pool_tokens))
			s->delivered++;
	}
	if (!r->delivered && !r->gone && r->retried)
		model_schedule(m, m->now_us + rng_range(&m->rng, 1500, 20000) * 1000, EV_RETRY, request);
	if (r->pinned >= 0) {
		m->worker[r->pinned].launch_left--;
		model_schedule(m, m->now_us + 2 * US_PER_S, EV_LAUNCH, (uint32_t)r->pinned);
	}
}

static enum fate draw_fate(struct model *m, const struct request *r)
{
	if (r->pinned >= 0 || r->unified)
		return FATE_NONE;
	if (rng_chance(&m->rng, r->source >= 0 ? 25 : 5))
		return FATE_BOOTSTRAP;
	if (rng_chance(&m->rng, r->source >= 0 ? 25 : 5))
		return FATE_TRANSFER;
	/* a worker that fails behind its first step has read by then; one attempt only, so that reads belong to answers
	 */
	if (!m->late_write && !r->n_attempts && rng_chance(&m->rng, r->source >= 0 ? 40 : 4))
		return FATE_DECODE;
	return FATE_NONE;
}

static bool choose(struct model *m, const struct request *r, int *prefill, int *decode)
{
	const struct attempt *last = r->n_attempts ? &m->attempts[r->attempt] : NULL;

	*prefill = -1;
	if (r->unified) {
		*decode = worker_choose(m, ROLE_UNIFIED, r->model, -1);
		return *decode >= 0;
	}
	/* a retry of the router stays with the prefill worker and leaves the decode worker */
	if (last && m->worker[last->prefill].up && !m->worker[last->prefill].draining)
		*prefill = last->prefill;
	else
		*prefill = worker_choose(m, ROLE_PREFILL, r->model, -1);
	*decode = r->pinned >= 0 ? r->pinned : worker_choose(m, ROLE_DECODE, r->model, last ? last->decode : -1);
	return *prefill >= 0 && *decode >= 0 && m->worker[*decode].up;
}

uint32_t attempt_new(struct model *m, uint32_t request, int prefill, int decode)
{
	size_t cap = m->attempts_cap;
	struct attempt *a;

	if (!model_grow(m, &m->attempts, m->n_attempts, &cap, sizeof(*m->attempts)))
		return NONE;
	m->attempts_cap = (uint32_t)cap;
	a = &m->attempts[m->n_attempts];
	*a =
	    (struct attempt){.request = request, .prefill = prefill, .decode = decode, .len = m->requests[request].len};
	rng_hex(&m->rng, a->rid, 32);
	rng_hex(&m->rng, a->prefill_rid, 32);
	if (prefill < 0) /* without a hand-off the gateway passes its own id down */
		memcpy(a->rid, m->requests[request].id, RID);
	a->room = prefill >= 0 ? 1 + (rng_next(&m->rng) >> 1) : 0;
	a->room = MIN(a->room, (uint64_t)INT64_MAX);
	a->prefill_len = a->len;
	a->affected = prefill >= 0 && (strcmp(m->worker[prefill].version, FIXED_VERSION) < 0 ||
				       strcmp(m->worker[decode].version, FIXED_VERSION) < 0);
	a->start_us = m->now_us;
	a->status = a->prefill_status = a->decode_status = 200;
	return m->n_attempts++;
}

void attempt_start(struct model *m, uint32_t request)
{
	struct request *r = &m->requests[request];
	int prefill, decode;
	uint32_t i;
	struct attempt *a;
	enum fate fate;

	if (m->rc || r->gone)
		return;
	if (!choose(m, r, &prefill, &decode)) {
		router_no_pair(m, r);
		request_end(m, request, 503);
		return;
	}
	fate = draw_fate(m, r);
	i = attempt_new(m, request, prefill, decode);
	if (i == NONE)
		return;
	a = &m->attempts[i];
	a->fate = fate;
	r->attempt = i;
	r->n_attempts++;
	r->trigger = r->rejected = false;
	a->decode_live = true;
	m->worker[decode].active++;
	json_received(m, i, decode);
	if (r->unified) {
		prefill_receive(m, i);
		return;
	}
	a->prefill_live = true;
	m->worker[prefill].active++;
	json_received(m, i, prefill);
	if (fate == FATE_BOOTSTRAP) {
		/* the two sides never find each other; the prompt is looked at all the same */
		a->pool_tokens = m->worker[prefill].pool_tokens;
		a->limit = worker_limit(m, prefill);
		if (a->len >= a->limit) {
			r->trigger = r->rejected = a->rejected = true;
			say_rejection(m, i, prefill, a->limit);
		}
		model_schedule(m, m->now_us + rng_range(&m->rng, 3000, 30000) * 1000, EV_FAIL, i);
		return;
	}
	waiting_push(m, &m->worker[decode].waiting, i);
	prefill_receive(m, i);
	decode_next(m, decode);
}

void attempt_done_if_over(struct model *m, uint32_t i)
{
	struct attempt *a = &m->attempts[i];
	struct request *r = &m->requests[a->request];

	if (a->prefill_live || a->decode_live || r->ended || r->attempt != i)
		return;
	if (a->status >= 500 && !r->gone) {
		router_attempt_failed(m, r, a);
		if (!r->direct && r->n_attempts < 2 && a->fate != FATE_DECODE && r->tenant % 2) {
			gateway_retry(m, r, a);
			model_schedule(m, m->now_us + 80000, EV_START, a->request);
			return;
		}
	} else if (a->status == 400) {
		router_attempt_failed(m, r, a);
	}
	request_end(m, a->request, a->status);
}

/* ---- prefill (and the prefill part of a unified worker) */

void prefill_receive(struct model *m, uint32_t i)
{
	struct attempt *a = &m->attempts[i];
	struct request *r = &m->requests[a->request];
	int w = a->prefill >= 0 ? a->prefill : a->decode;
	int64_t limit = a->limit = worker_limit(m, w);

	a->pool_tokens = m->worker[w].pool_tokens;
	if (a->len >= limit && m->worker[w].truncate) {
		say_truncation(m, i, w, limit, a->len);
		a->len = a->prefill_len = limit;
		/* the engine also cuts the answer to what the pool can hold */
		r->out = MIN(r->out, m->worker[w].pool_tokens - limit - 1);
	} else if (a->len < limit) {
		if (a->prefill < 0) /* an answer that the pool cannot hold beside its prompt waits for ever */
			r->out = MIN(r->out, m->worker[w].pool_tokens - a->len);
	} else {
		r->trigger = r->rejected = a->rejected = true;
		say_rejection(m, i, w, limit);
		if (a->prefill < 0) { /* one node: the error is the answer */
			a->status = a->decode_status = 400;
			a->end_us = m->now_us;
			decode_end(m, i);
			return;
		}
		a->prefill_len = 1; /* the defect */
		a->prefill_status = r->stream ? 200 : 400;
	}
	waiting_push(m, &m->worker[w].waiting, i);
	prefill_next(m, w);
}

static struct page_list *prefill_pages(struct attempt *a)
{
	return a->prefill >= 0 ? &a->p : &a->d;
}

static void prefill_begin(struct model *m, uint32_t i, int w)
{
	struct attempt *a = &m->attempts[i];
	int64_t cached = (int64_t)prefill_pages(a)->shared * PAGE_TOKENS, fresh = a->prefill_len - cached;
	/* tokenising about 1.2 M tokens a second, computing 60 to 80 thousand */
	int64_t speed = rng_range(&m->rng, 60, 80);
	int64_t us = a->len * 4 / 5 + fresh * 1000 / speed + rng_range(&m->rng, 18000, 45000);

	m->worker[w].busy = true;
	a->forwarded_us = m->now_us + us;
	a->forward_us = m->now_us + a->len * 4 / 5 + 4000; /* behind what the ranks say about the length */
	say_prefill_batches(m, i, w, a->forward_us, a->forwarded_us, fresh, cached);
	model_schedule(m, a->forwarded_us, EV_FORWARDED, i);
}

void prefill_next(struct model *m, int w)
{
	struct worker *k = &m->worker[w];

	while (!k->busy && !waiting_empty(&k->waiting) && !m->rc) {
		uint32_t i = k->waiting.at[k->waiting.head];
		struct attempt *a = &m->attempts[i];
		struct page_list *list = prefill_pages(a);
		uint32_t whole = pages_for(a->prefill_len), reserve = 0, need;

		if (a->aborting || (a->prefill >= 0 ? !a->prefill_live : !a->decode_live)) {
			k->waiting.head++;
			if (a->prefill >= 0)
				prefill_end(m, i);
			continue;
		}
		if (a->prefill < 0)
			reserve = pages_for(a->len + m->requests[a->request].out) - whole + k->promised;
		do
			need = whole - pages_shareable(m, w, i);
		while (need + reserve > pool_available(&k->pool) && pages_evict(m, w));
		if (need + reserve > pool_available(&k->pool))
			return; /* waits for a leg to end */
		k->waiting.head++;
		pages_share(m, w, i, list);
		if (!pages_take(m, w, i, list, need))
			return;
		a->alloc_us = a->prefill < 0 ? m->now_us : a->alloc_us;
		if (a->prefill < 0) {
			a->promised = reserve - k->promised;
			k->promised += a->promised;
		}
		prefill_begin(m, i, w);
	}
}

void prefill_forwarded(struct model *m, uint32_t i)
{
	struct attempt *a = &m->attempts[i];
	struct page_list *list = prefill_pages(a);
	int w = a->prefill >= 0 ? a->prefill : a->decode;

	m->worker[w].busy = false;
	a->prefilled = true;
	if (m->rc)
		return;
	pages_write(m, w, i, list, list->shared, list->n - list->shared);
	pages_read(m, w, i, list);
	if (a->aborting) {
		if (a->prefill >= 0)
			prefill_end(m, i);
		else
			decode_end(m, i);
	} else if (a->prefill >= 0) {
		transfer_try(m, i);
	} else {
		a->transferred_us = m->now_us;
		a->stepping = true;
		m->worker[w].running++;
		model_schedule(m, m->now_us + rng_range(&m->rng, 15000, 40000), EV_STEP, i);
	}
	prefill_next(m, w);
}

void prefill_end(struct model *m, uint32_t i)
{
	struct attempt *a = &m->attempts[i];
	int w = a->prefill;

	if (!a->prefill_live || m->rc)
		return;
	a->prefill_live = false;
	say_prefill_end(m, i);
	json_finished(m, i, w);
	pages_keep(m, w, i, &a->p);
	pages_free(m, w, i, &a->p);
	prefill_next(m, w);
	worker_leg_ended(m, w);
	attempt_done_if_over(m, i);
}

/* ---- transfer */

void transfer_try(struct model *m, uint32_t i)
{
	struct attempt *a = &m->attempts[i];
	int64_t us;

	if (!a->prefilled || !a->allocated || a->transferring || a->aborting)
		return;
	/* about 90 KB a token over 20 GB/s, and what it takes to begin */
	us = a->prefill_len * 9 / 2 + rng_range(&m->rng, 1500, 9000);
	if (m->late_write)
		us *= rng_range(&m->rng, 4, 20); /* a congested fabric */
	a->transferring = true;
	a->transfer_us = m->now_us;
	if (a->fate == FATE_TRANSFER)
		model_schedule(m, m->now_us + us / 2 + 1, EV_FAIL, i);
	else
		model_schedule(m, m->now_us + us, EV_TRANSFERRED, i);
}

void transfer_done(struct model *m, uint32_t i)
{
	struct attempt *a = &m->attempts[i];

	if (a->late || m->rc)
		return;
	a->transferring = false;
	a->transferred_us = m->now_us;
	pages_send(m, a->prefill, i, &a->p);
	pages_recv(m, a->decode, i, &a->d, 0, pages_for(a->prefill_len), a->prefill_len);
	if (a->aborting) {
		decode_end(m, i);
	} else {
		a->stepping = true;
		m->worker[a->decode].running++;
		model_schedule(m, m->now_us + rng_range(&m->rng, 12000, 40000), EV_STEP, i);
	}
	prefill_end(m, i);
}

/* The aborted transfer's last writes land, whoever holds these pages now. */
void transfer_late(struct model *m, uint32_t i)
{
	struct attempt *a = &m->attempts[i];
	uint32_t n = pages_for(a->prefill_len);

	a->transferring = false;
	pages_send(m, a->prefill, i, &a->p);
	pages_recv(m, a->decode, i, &a->d, a->late_from, n - a->late_from, a->prefill_len);
	a->d.n = 0;
	prefill_end(m, i);
}

void attempt_fail(struct model *m, uint32_t i)
{
	struct attempt *a = &m->attempts[i];

	if (a->late || m->rc)
		return;
	a->transferring = false;
	a->aborting = true;
	a->status = a->prefill_status = a->decode_status = 500;
	say_failure(m, i, a->fate == FATE_BOOTSTRAP ? "bootstrap" : "transfer");
	decode_end(m, i);
	prefill_end(m, i);
}

/* ---- the client leaves */

void client_gone(struct model *m, uint32_t request)
{
	struct request *r = &m->requests[request];
	struct attempt *a;

	if (r->ended || r->gone || m->rc)
		return;
	r->gone = true;
	r->status = r->delivered ? 200 : 499;
	r->end_us = m->now_us;
	if (!r->n_attempts || (!m->attempts[r->attempt].prefill_live && !m->attempts[r->attempt].decode_live)) {
		request_end(m, request, 499); /* between two attempts */
		return;
	}
	a = &m->attempts[r->attempt];
	a->aborting = true;
	if (a->fate == FATE_BOOTSTRAP)
		return; /* EV_FAIL cleans up */
	if (m->late_write && a->transferring && a->fate == FATE_NONE) {
		/* the other defect: the pages go back at once, the transfer goes on */
		a->late = true;
		a->late_from = (uint32_t)rng_below(&m->rng, pages_for(a->prefill_len));
		pages_recv(m, a->decode, r->attempt, &a->d, 0, a->late_from, (int64_t)a->late_from * PAGE_TOKENS);
		model_schedule(m, m->now_us + rng_range(&m->rng, 3000, 90000) * 1000, EV_LATE, r->attempt);
		decode_end(m, r->attempt);
		return;
	}
	if (a->transferring || (a->prefill < 0 && a->alloc_us && !a->stepping))
		return; /* freed when the transfer, or the forward, is over */
	decode_end(m, r->attempt);
	/* a forward that runs is waited for; one that has ended or not begun is not */
	if (a->prefill_live && a->prefilled)
		prefill_end(m, r->attempt);
}
