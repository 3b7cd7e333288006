/* SPDX-License-Identifier: Apache-2.0 */
/* decode.c - an attempt on its decode worker: pages for the whole prompt, decode steps, the answer
 *
 * Nothing here looks at whether the prompt really came: the worker attends over the pages that it allocated. The token
 * that a step writes goes into its page before the step reads.
 */
#include "model.h"

#include <stdlib.h>

static uint32_t pages_for(int64_t tokens)
{
	return (uint32_t)((tokens + PAGE_TOKENS - 1) / PAGE_TOKENS);
}

void decode_next(struct model *m, int w)
{
	struct worker *k = &m->worker[w];

	if (k->role == ROLE_UNIFIED) {
		prefill_next(m, w);
		return;
	}
	while (!waiting_empty(&k->waiting) && !m->rc) {
		uint32_t i = k->waiting.at[k->waiting.head], need, more;
		struct attempt *a = &m->attempts[i];

		if (!a->decode_live) {
			k->waiting.head++;
			continue;
		}
		need = pages_for(a->len);
		more = pages_for(a->len + m->requests[a->request].out) - need;
		if (need + more + k->promised > pool_available(&k->pool))
			return; /* in order of arrival: waits for pages */
		k->waiting.head++;
		if (!pages_take(m, w, i, &a->d, need))
			return;
		a->alloc_us = m->now_us;
		a->allocated = true;
		a->promised = more;
		k->promised += more;
		transfer_try(m, i);
	}
}

static void take_one(struct model *m, int w, uint32_t i)
{
	struct attempt *a = &m->attempts[i];

	if (!pages_take(m, w, i, &a->d, 1))
		return;
	a->promised--;
	m->worker[w].promised--;
}

static bool suppressed(const struct request *r, const struct attempt *a)
{
	/* the stock router waits for both legs and hands on the prefill leg's error */
	return a->prefill_status >= 400 && !r->direct;
}

static void first_step(struct model *m, uint32_t i)
{
	struct attempt *a = &m->attempts[i];
	struct request *r = &m->requests[a->request];
	int w = a->decode;

	a->first_us = m->now_us;
	a->out = 1;
	if (a->len % PAGE_TOKENS == 0 && r->out > 1)
		take_one(m, w, i);
	if (r->out > 1)
		pages_write(m, w, i, &a->d, a->d.n - 1, 1);
	pages_read(m, w, i, &a->d);
	say_decode_batch(m, w);
	if (a->fate == FATE_DECODE) {
		a->status = a->decode_status = 500;
		say_abort(m, i, w, false);
		decode_end(m, i);
		return;
	}
	if (r->stream && !suppressed(r, a)) {
		r->delivered = true;
		r->first_byte_us = m->now_us;
	}
}

static void finish(struct model *m, uint32_t i)
{
	struct attempt *a = &m->attempts[i];
	struct request *r = &m->requests[a->request];
	uint32_t last = pages_for(a->len + a->out - 1), from = (uint32_t)(a->len / PAGE_TOKENS);

	if (a->out > 1 && last > from) {
		pages_write(m, a->decode, i, &a->d, from, last - from);
		pages_read(m, a->decode, i, &a->d);
	}
	say_decode_batch(m, a->decode);
	if (suppressed(r, a)) {
		a->status = 400;
	} else if (!r->delivered) {
		r->delivered = true;
		r->first_byte_us = m->now_us;
	}
	decode_end(m, i);
}

void decode_step(struct model *m, uint32_t i)
{
	struct attempt *a = &m->attempts[i];
	struct request *r = &m->requests[a->request];
	int64_t left, n;

	if (!a->decode_live || m->rc)
		return;
	if (!a->out) {
		first_step(m, i);
		if (!a->decode_live)
			return;
	} else {
		left = r->out - a->out;
		n = PAGE_TOKENS - (a->len + a->out - 1) % PAGE_TOKENS;
		a->out += MIN(n, left);
		if (a->out < r->out)
			take_one(m, a->decode, i);
	}
	if (a->out >= r->out) {
		finish(m, i);
		return;
	}
	/* tokens until the next page is needed, 20 to 35 ms each */
	n = PAGE_TOKENS - (a->len + a->out - 1) % PAGE_TOKENS;
	n = MIN(n, r->out - a->out);
	model_schedule(m, m->now_us + n * (rng_range(&m->rng, 20000, 35000) + 300 * m->worker[a->decode].running),
		       EV_STEP, i);
}

/* The end of the leg, whatever ended it. */
void decode_end(struct model *m, uint32_t i)
{
	struct attempt *a = &m->attempts[i];
	struct worker *k = &m->worker[a->decode];
	struct page_list kept;

	if (!a->decode_live || m->rc)
		return;
	a->decode_live = false;
	a->end_us = m->now_us;
	if (a->stepping)
		k->running--;
	k->promised -= a->promised;
	a->promised = 0;
	if (m->requests[a->request].gone)
		say_abort(m, i, a->decode, !a->allocated && !a->alloc_us);
	say_decode_end(m, i);
	json_finished(m, i, a->decode);
	kept = a->d;
	pages_keep(m, a->decode, i, &a->d);
	pages_free(m, a->decode, i, &a->d);
	if (a->late)
		a->d.n = kept.n; /* the transfer still knows them */
	decode_next(m, a->decode);
	worker_leg_ended(m, a->decode);
	attempt_done_if_over(m, i);
}
