/* SPDX-License-Identifier: Apache-2.0 */
/* vllm_dump.h - the last scheduler step of an engine that crashed: which request held which blocks of the cache
 *
 * Included by vllm.c only. One step, only at a crash: what the engine gave to each request in it is an alloc of those
 * pages, and nothing says what became of them before or after; so it never clears anybody. Block 0 is the null block.
 * Sources: vllm/logging_utils/dump_input.py and vllm/v1/core/sched/output.py as of 2026-08-17 (017e9f4448); dumps of
 * 0.10 to 0.22 in public issues. The shapes differ, so they are read as nested reprs, by key.
 */
#pragma once

#include "pagetrail/parser.h"

static int dump_blocks(struct parse *p, struct text id, struct text blocks)
{
	struct vllm *s = p->state;
	struct page_run *runs;
	struct event *e;
	uint32_t n;

	if (!block_runs(p, blocks, &runs, &n))
		return RECORD_PARSED;
	e = vllm_begin(p, EVENT_PAGE, s->line.dp);
	event_text(e, PAGE_OP, TEXT("alloc"));
	event_text(e, PAGE_POOL, TEXT("kv"));
	event_text(e, PAGE_RID, outer_id(id, s->suffixed));
	event_runs(e, runs, n);
	return vllm_emit(p);
}

static struct text bare(struct text value)
{
	return py_unquote(value).len ? py_unquote(value) : value;
}

static int dump_request(struct parse *p, struct text id, struct text length, struct text blocks)
{
	struct event *e;
	int r;

	id = bare(id);
	if (id.len == 0)
		return RECORD_PARSED;
	e = leg_begin(p, "scheduled", id);
	event_count(e, LEG_INPUT, length);
	if (e->known >> LEG_INPUT & 1)
		event_text(e, LEG_INPUT_FLAG, TEXT("exact"));
	r = vllm_emit(p);
	return r < 0 ? r : dump_blocks(p, id, blocks);
}

/* [NewRequestData(req_id=…,prompt_token_ids_len=…,block_ids=([1, 2],),…), …]; so were running ones, up to 2025-07 */
static int dump_requests(struct parse *p, struct text list)
{
	struct py_iter it = py_open(list);
	struct text key, one;
	int r = RECORD_PARSED;

	while (r >= 0 && py_next(&it, &key, &one) && !it.torn) {
		struct text blocks = py_get(one, "block_ids");

		r = dump_request(p, py_get(one, "req_id"), py_get(one, "prompt_token_ids_len"),
				 blocks.len ? blocks : py_get(one, "new_block_ids"));
	}
	return r;
}

/* CachedRequestData(req_ids=['a', 'b'],…,new_block_ids=[([7001],), None],…): parallel lists */
static int dump_running(struct parse *p, struct text cached)
{
	struct py_iter ids = py_open(py_get(cached, "req_ids")), blocks = py_open(py_get(cached, "new_block_ids"));
	struct text key, id, its;
	int r = RECORD_PARSED;

	while (r >= 0 && py_next(&ids, &key, &id)) {
		if (!py_next(&blocks, &key, &its))
			its = (struct text){NULL, 0};
		r = dump_request(p, id, (struct text){NULL, 0}, its);
	}
	return r;
}

static int dump_names(struct parse *p, const char *what, struct text list)
{
	int r = list.len > 0 && list.ptr[0] == '[' ? legs_listed(p, what, list, (struct text){NULL, 0}) : RECORD_PARSED;

	return r < 0 ? r : RECORD_PARSED;
}

static int take_dump(struct parse *p, const struct match *m, struct text message)
{
	struct text dump = after(message, "SchedulerOutput"), running = py_get(dump, "scheduled_cached_reqs");
	struct event *e;
	int r;

	(void)m;
	if (dump.len == 0)
		return RECORD_CONTEXT; /* the object comes on the next line */
	e = boot_begin(p, "stop");
	(void)e;
	r = vllm_emit(p);
	if (r >= 0)
		r = dump_requests(p, py_get(dump, "scheduled_new_reqs"));
	if (r >= 0)
		r = text_starts(running, "CachedRequestData(") ? dump_running(p, running) : dump_requests(p, running);
	if (r >= 0)
		r = dump_names(p, "finished", py_get(dump, "finished_req_ids"));
	return r < 0 ? r : dump_names(p, "retracted", py_get(dump, "preempted_req_ids"));
}
