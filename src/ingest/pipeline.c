/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.c - one source: blocks to evidence chunks, records to event chunks
 *
 * The calling thread cuts and parses; a reader thread reads and hashes ahead of it; the pool encodes, proves and
 * compresses. Chunks are written in done(), in order of submission, by the calling thread. What is submitted, and in
 * which order, depends on the bytes alone: so does the case.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "far.h"
#include "nuls.h"
#include "pagetrail/array.h"
#include "pagetrail/column.h"
#include "pagetrail/evidence.h"
#include "pagetrail/map.h"
#include "replay.h"
#include "seam.h"
#include "session.h"
#include "worker.h"

enum { BATCH_MIN = 1024, PLAN_BLOCKS = 1 };

struct evidence_task {
	struct task task;
	struct session *s;
	int64_t source;
	struct block *block; /* NULL once encoded */
	struct evidence_chunk chunk;
};

struct batch_task {
	struct task task;
	struct session *s;
	int64_t source;
	struct event_batch *batch; /* NULL once encoded */
	struct block *block;       /* holds `bytes` */
	struct column_bytes bytes; /* what was fed last: one chunk of evidence, most records of the batch */
	struct event_chunk chunk;
};

struct pipeline {
	struct session *s;
	int64_t source; /* 0: nothing is stored */
	struct arena *arena;
	struct event_batch *batches[EVENT_KINDS];
	struct block *block; /* the one fed last */
	struct column_bytes bytes;
	struct text boot;   /* host:port */
	struct text engine; /* what a hand-off calls it */
	bool engines;       /* it has several such names (ranks, starts), and none counts */
	struct text record; /* the worker that events name */
	bool several;       /* they name more than one, or leave it open */
	bool wrapped;       /* it is a wrapper that names it */
	const struct records *records;
	struct stack stack;
	struct sql *reject;
	struct unended *unended; /* records that it ends in the middle of */
	size_t n_unended, cap_unended;
	int64_t n_records_unended;
	struct replay replay;
	struct replay_ask ask;
	struct stored_member *sm;
};

/* --- evidence --- */

static int evidence_run(struct task *t, struct err *err)
{
	struct evidence_task *e = (struct evidence_task *)t;
	int rc = evidence_encode((struct text){e->block->data, e->block->len}, e->block->off, &e->chunk, err);
	block_put(e->block);
	e->block = NULL;
	return rc;
}

static void evidence_drop(struct task *t)
{
	struct evidence_task *e = (struct evidence_task *)t;
	block_put(e->block);
	evidence_done(&e->chunk);
	free(e);
}

static int evidence_write(struct task *t, struct err *err)
{
	struct evidence_task *e = (struct evidence_task *)t;
	int rc = evidence_append(e->s->c, e->source, &e->chunk, err);
	if (rc == 0)
		rc = session_wrote(e->s, e->chunk.byte_len, e->source, e->chunk.byte_off + e->chunk.byte_len, err);
	evidence_drop(t);
	return rc;
}

static int submit_block(struct pipeline *p, struct block *b, struct err *err)
{
	struct evidence_task *e = calloc(1, sizeof(*e));
	if (!e)
		return err_nomem(err);
	e->task = (struct task){.run = evidence_run, .done = evidence_write, .drop = evidence_drop};
	e->s = p->s;
	e->source = p->source;
	e->block = b;
	block_keep(b);
	return pool_submit(p->s->pool, &e->task, err);
}

/* --- what is known --- */

/* From here on it is written. */
static int leave(struct pipeline *p, bool over, bool failed, struct err *err)
{
	int rc = replay_leave(&p->replay, &p->ask, over, failed, &p->sm->was, err);
	p->source = p->sm->r.source = p->replay.row;
	return rc;
}

static int store_block(struct pipeline *p, struct block *b, struct err *err)
{
	if (p->replay.base) {
		int rc = replay_block(&p->replay, b, err);
		if (rc != 0)
			return rc < 0 ? rc : 0;
		rc = leave(p, false, false, err);
		if (rc < 0)
			return rc;
	}
	return submit_block(p, b, err);
}

/* --- events --- */

static int batch_run(struct task *t, struct err *err)
{
	struct batch_task *b = (struct batch_task *)t;
	int rc = column_encode(b->batch, &b->bytes, &b->chunk, err);
	if (rc == 0)
		rc = column_plain(b->s->c, b->batch, &b->chunk, err);
	spares_give(&b->s->spares, b->batch);
	b->batch = NULL;
	block_put(b->block);
	b->block = NULL;
	return rc;
}

static void batch_drop(struct task *t)
{
	struct batch_task *b = (struct batch_task *)t;
	spares_give(&b->s->spares, b->batch);
	block_put(b->block);
	column_done(&b->chunk);
	free(b);
}

static int batch_write(struct task *t, struct err *err)
{
	struct batch_task *b = (struct batch_task *)t;
	int rc = column_append(b->s->c, b->source, &b->chunk, err);
	batch_drop(t);
	return rc;
}

static int submit_batch(struct pipeline *p, enum event_kind kind, struct err *err)
{
	struct event_batch *batch = p->batches[kind];
	if (!batch)
		return 0;
	if (p->replay.base && replay_batch(&p->replay, batch)) {
		spares_give(&p->s->spares, batch);
		p->batches[kind] = NULL;
		return 0;
	}
	int rc = p->replay.base ? leave(p, false, false, err) : 0;
	if (rc < 0)
		return rc;
	struct batch_task *b = calloc(1, sizeof(*b));
	if (!b)
		return err_nomem(err);
	b->task = (struct task){.run = batch_run, .done = batch_write, .drop = batch_drop};
	b->s = p->s;
	b->source = p->source;
	b->batch = batch;
	b->block = p->block;
	b->bytes = p->bytes;
	if (b->block)
		block_keep(b->block);
	p->batches[kind] = NULL;
	return pool_submit(p->s->pool, &b->task, err);
}

static int submit_batches(struct pipeline *p, struct err *err)
{
	int rc = 0;
	for (int k = 0; k < EVENT_KINDS && rc == 0; k++)
		rc = submit_batch(p, (enum event_kind)k, err);
	return rc;
}

/* Remembers what the event says of whose log this is. */
static int note_worker(struct pipeline *p, const struct event *e, struct err *err)
{
	struct text wrapper = p->records ? p->records->worker : TEXT("");
	if (!p->boot.len && e->kind == EVENT_BOOT) {
		struct event own = *e;
		if (wrapper.len && text_eq(e->worker, wrapper))
			own.worker = TEXT(""); /* the start line itself names nobody */
		p->boot = worker_of_boot(p->arena, &own);
		if (!p->boot.ptr)
			return err_nomem(err);
	}
	if (e->kind == EVENT_BOOT && e->known >> BOOT_ENGINE_ID & 1 && !text_eq(e->t[BOOT_ENGINE_ID], p->engine)) {
		p->engines |= p->engine.len || (e->worker.len && !text_eq(e->worker, wrapper));
		p->engine = arena_text(p->arena, e->t[BOOT_ENGINE_ID]);
		if (!p->engine.ptr)
			return err_nomem(err);
	}
	if (p->several || (e->worker.len && text_eq(e->worker, p->record)))
		return 0;
	if (!e->worker.len || e->worker.ptr[0] == '/' || p->record.len) {
		p->several = true;
		return 0;
	}
	p->wrapped = wrapper.len && text_eq(e->worker, wrapper);
	p->record = arena_text(p->arena, e->worker);
	return p->record.ptr ? 0 : err_nomem(err);
}

static int on_event(void *ctx, const struct event *e, struct err *err)
{
	struct pipeline *p = ctx;
	int rc = note_worker(p, e, err);
	if (rc < 0 || !p->source)
		return rc;
	for (;;) {
		struct event_batch **b = &p->batches[e->kind];
		if (!*b)
			rc = spares_take(&p->s->spares, e->kind, b, err);
		if (rc == 0)
			rc = event_batch_add(*b, e, err);
		if (rc != 1)
			return rc;
		rc = submit_batch(p, e->kind, err);
		if (rc < 0)
			return rc;
	}
}

static int on_reject(void *ctx, uint64_t off, uint64_t len, uint64_t n, const char *reason, struct err *err)
{
	struct pipeline *p = ctx;
	int rc = 0;
	if (!p->source)
		return 0;
	if (!p->reject)
		rc = sql_prepare(&p->reject, p->s->c, REJECT_INSERT, err);
	if (rc == 0)
		rc = sql_int(p->reject, 1, p->source, err);
	if (rc == 0)
		rc = sql_int(p->reject, 2, (int64_t)off, err);
	if (rc == 0)
		rc = sql_int(p->reject, 3, (int64_t)len, err);
	if (rc == 0)
		rc = sql_int(p->reject, 4, (int64_t)n, err);
	if (rc == 0)
		rc = sql_text(p->reject, 5, text_of(reason), err);
	return rc < 0 ? rc : sql_run(p->reject, err);
}

static int on_unended(void *ctx, const struct span *spans, size_t n, struct err *err)
{
	struct pipeline *p = ctx;
	p->n_records_unended++;
	for (size_t i = 0; i < n; i++) {
		int rc = grow_array((void **)&p->unended, &p->cap_unended, p->n_unended, sizeof(*p->unended), err);
		if (rc < 0)
			return rc;
		p->unended[p->n_unended++] = (struct unended){spans[i], p->n_records_unended};
	}
	return 0;
}

static void pipeline_done(struct pipeline *p)
{
	free(p->unended);
	for (int k = 0; k < EVENT_KINDS; k++)
		spares_give(&p->s->spares, p->batches[k]);
	block_put(p->block);
	sql_end(p->reject);
	replay_done(&p->replay);
	stack_done(&p->stack);
}

/* --- the format --- */

/* The map that a source was read with is kept with it: nobody has to have the file to know how it was read. */
static int add_map(struct buf *b, const struct parser *parser, struct err *err)
{
	const struct map *m = map_of(parser);
	int rc = m ? buf_printf(b, err, ",\"map_sha256\":\"%s\",\"map\":", map_sha256(m)) : 0;
	return m && rc == 0 ? buf_json_string(b, map_text(m), err) : rc;
}

/* document: what kinds of events a document of this format gives, when it is understood. */
static int add_document(struct buf *b, const struct parser *parser, struct err *err)
{
	const char *comma = "";
	if (!parser || parser->shape != SHAPE_DOCUMENT)
		return 0;
	int rc = buf_add_text(b, TEXT(",\"document\":["), err);
	for (unsigned k = 0; k < EVENT_KINDS && rc == 0; k++)
		if (parser->emits >> k & 1) {
			rc = buf_printf(b, err, "%s\"%s\"", comma, event_kinds[k].name);
			comma = ",";
		}
	return rc ? rc : buf_add_char(b, ']', err);
}

/* by: whose events these are; head: head.h. */
static int add_basis(struct buf *b, const struct detection *d, const struct stack *stack, bool asked,
		     const struct head *head, struct err *err)
{
	int rc = buf_add_text(b, TEXT("{\"by\":\"" PAGETRAIL_VERSION "\""), err);
	if (rc == 0)
		rc = head_put(head, b, err);
	if (rc == 0)
		rc = add_document(b, stack->parser, err);
	if (rc == 0 && asked) {
		rc = buf_add_text(b, TEXT(",\"reason\":\"asked for\""), err);
		rc = rc ? rc : add_map(b, stack->parser, err);
		return rc ? rc : buf_add_char(b, '}', err);
	}
	if (rc == 0)
		rc = buf_printf(b, err, ",\"score\":%u,\"records\":%u", d->score, d->records);
	if (rc == 0)
		rc = far_put(d, b, err);
	if (rc == 0 && d->best)
		rc = buf_printf(b, err, ",\"best\":\"%s\"", d->best->name);
	if (rc == 0 && d->runner_up)
		rc = buf_printf(b, err, ",\"runner_up\":\"%s\",\"runner_up_score\":%u", d->runner_up->name,
				d->runner_up_score);
	if (rc == 0 && d->reason)
		rc = buf_printf(b, err, ",\"reason\":\"%s\"", d->reason);
	if (rc == 0)
		rc = add_map(b, stack->parser, err);
	if (rc == 0 && stack_many(stack)) {
		size_t known = 0;
		for (size_t i = 0; i < stack->n_choices; i++)
			known += stack->choice[i].parser != NULL;
		rc = buf_printf(b, err, ",\"origins\":%zu,\"origins_known\":%zu", stack->n_choices, known);
	}
	return rc < 0 ? rc : buf_add_char(b, '}', err);
}

static struct text refusal(struct arena *a, const struct detection *d)
{
	char tmp[300];
	if (!strcmp(d->reason, "tie") && d->runner_up)
		snprintf(tmp, sizeof(tmp), "tie between %s and %s: name one with --format", d->best->name,
			 d->runner_up->name);
	else if (d->unknown && d->to)
		snprintf(tmp, sizeof(tmp), "%s; the first %llu bytes were looked at: name it with --format", d->reason,
			 (unsigned long long)d->to);
	else
		snprintf(tmp, sizeof(tmp), "%s", d->reason);
	return arena_text(a, text_of(tmp));
}

struct further {
	struct blocks *blocks;
	unsigned n; /* blocks that were seen */
};

static int more_blocks(void *ctx, struct buf *to, struct err *err)
{
	struct further *x = ctx;
	const struct block *b;
	int rc = blocks_ahead(x->blocks, x->n++, &b, err);
	int added = rc == 1 ? buf_add(to, b->data, b->len, err) : 0;
	return added < 0 ? added : rc;
}

/* A log that was cut to nothing under its writer begins with as many NULs as it was long: what it is stands behind. */
static int detect_head(struct session *s, const struct source *src, struct blocks *blocks, const struct block *head,
		       const struct stack *asked, struct detection *d, struct stack *ret, struct err *err)
{
	struct further further = {blocks, 0};
	const struct far far = {more_blocks, &further};
	struct text t = {head->data, MIN(head->len, DETECT_BYTES)};
	bool whole = head->len < BLOCK_BYTES;
	char *behind = NULL;
	int rc = 0;
	if (!whole && !line_strip_nul((struct text){head->data, head->len}).len)
		rc = nuls_skip(src, &behind, &t, err);
	if (rc >= 0)
		rc = detect_with(&s->formats, t, whole, asked, d, ret, err);
	if (rc == 0 && !asked && !whole && !behind && d->unknown && !ret->n)
		rc = far_look(&far, &s->formats, t, d, ret, err);
	free(behind);
	return rc;
}

/* The stack for this source, or an empty one with r->reason. */
static int choose_format(struct session *s, const struct naming *n, const struct source *src, struct blocks *blocks,
			 const struct member *m, const struct replay_ask *ask, struct arena *a, struct source_result *r,
			 struct stack *ret, struct err *err)
{
	const struct block *head = ask->first;
	struct buf basis = BUF_INIT(1 * MIB);
	const struct ingest_options *o = s->o;
	struct detection d = {0};
	struct stack asked = {0};
	char name[STACK_NAME_MAX];
	bool is_asked = !m->as_it_is && n->format.len &&
			stack_find(n->format, s->formats.list, s->formats.n, o->wrappers, o->n_wrappers, &asked);
	int rc = 0;
	if (m->as_it_is)
		d.reason = m->as_it_is;
	else if (head)
		rc = detect_head(s, src, blocks, head, is_asked ? &asked : NULL, &d, ret, err);
	else if (is_asked)
		*ret = asked;
	else
		d.reason = "empty";
	if (rc == 0 && m->as_it_is)
		rc = buf_add_text(&basis, TEXT(BASIS_AS_IT_IS), err);
	else if (rc == 0)
		rc = add_basis(&basis, &d, ret, is_asked, &ask->head, err);
	if (rc == 0) {
		r->format_basis = arena_text(a, buf_text(&basis));
		bool known = ret->parser || (ret->n && !d.reason);
		if (!known)
			stack_done(ret);
		r->format = arena_text(a, text_of(stack_name(ret, name)));
		r->reason = known ? TEXT("") : refusal(a, &d);
		if (!r->format_basis.ptr || !r->reason.ptr || !r->format.ptr)
			rc = err_nomem(err);
	}
	buf_done(&basis);
	return rc;
}

/* --- one source --- */

/* The block becomes the pipeline's; the events of its records go out with it. */
static int feed(struct pipeline *p, struct records *rec, struct block *b, struct err *err)
{
	struct session *s = p->s;
	struct block *before = p->block; /* its tail may be part of the first record */
	uint64_t records = rec->account.records;
	int rc = p->source ? store_block(p, b, err) : 0;
	p->block = b;
	p->bytes = (struct column_bytes){{b->data, b->len}, b->off};
	if (rc == 0)
		rc = records_feed(rec, b->data, b->len, BLOCK_HEADROOM, err);
	if (rc == 0)
		rc = submit_batches(p, err);
	block_put(before);
	s->progress.bytes += b->len;
	s->progress.records += rec->account.records - records;
	return rc;
}

static int read_blocks(struct pipeline *p, struct blocks *blocks, struct block *b, struct records *rec,
		       const struct stored_member *m, struct err *err)
{
	struct session *s = p->s;
	int rc = 0;
	while (b && rc == 0) {
		rc = feed(p, rec, b, err);
		b = NULL;
		if (rc == 0)
			session_progress(s, p->ask.source, m->r.path);
		if (rc == 0 && session_stopped(s))
			rc = err_set(err, ERR_INTERRUPTED, "stopped by a signal");
		if (rc == 0 && (p->source || s->o->plan == false))
			rc = blocks_next(blocks, &b, err);
		rc = rc == 1 ? 0 : rc;
	}
	block_put(b);
	if (rc == 0)
		rc = records_end(rec, err);
	return rc < 0 ? rc : submit_batches(p, err);
}

/* A wrapper's clock has a zone: what the records say beside it tells theirs. They stay as they are, resolve moves them. */
static int say_zone(struct pipeline *p, const struct zone_votes *votes, struct source_result *r, struct err *err)
{
	int64_t offset;
	uint64_t n;
	char basis[80];
	if (!text_is(r->tz_basis, "assumed") || !zone_elected(votes, &offset, &n))
		return 0;
	int64_t minutes = llabs(offset) / 60;
	snprintf(basis, sizeof(basis), TZ_BASIS_WRAPPER "%c%02d:%02d", offset < 0 ? '-' : '+',
		 (int)(minutes / 60 % 100), (int)(minutes % 60));
	r->tz_basis = arena_text(p->arena, text_of(basis));
	return r->tz_basis.ptr ? 0 : err_nomem(err);
}

static int run_source(struct pipeline *p, struct blocks *blocks, struct block *first, const struct naming *n,
		      const struct member *m, struct stored_member *sm, bool *ret_recognised, struct err *err)
{
	struct records rec = {0};
	const struct records_sink sink = {.event = on_event, .reject = on_reject, .unended = on_unended, .ctx = p};
	struct records_ask ask = {.stack = &p->stack, .zone = n->zone, .outer = STAMP_INIT, .named = n->said};
	ask.era = naming_era(m->name, m->mtime_s);
	if (p->stack.n)
		ask.outer = naming_time(m->name, 0); /* bytes and name alone decide */
	else if (stack_document(&p->stack))
		ask.outer = naming_time(m->name, m->mtime_s);
	int rc = records_begin(&rec, &p->s->formats, &ask, &sink, err);
	p->records = &rec;
	if (rc == 0)
		rc = read_blocks(p, blocks, first, &rec, sm, err);
	else
		block_put(first);
	sm->r.account = rec.account;
	sm->r.first_ns = rec.first_ns;
	sm->r.last_ns = rec.last_ns;
	*ret_recognised = p->stack.parser || rec.recognised;
	if (rc == 0)
		rc = say_zone(p, &rec.votes, &sm->r, err);
	p->records = NULL;
	records_done(&rec);
	return rc;
}

static int begin_source(struct pipeline *p, bool as_it_is, uint64_t size_hint, struct err *err)
{
	struct session *s = p->s;
	if (s->o->plan)
		return 0;
	int rc = custody_begin(&s->custody, &p->sm->r, size_hint, &p->ask.head, err);
	p->source = p->ask.row = p->replay.row = p->sm->r.source;
	/* documents are read in one piece */
	if (as_it_is || stack_document(&p->stack))
		p->ask.first = NULL;
	return rc < 0 ? rc : replay_begin(&p->replay, s, &p->ask, err);
}

/* What is known once the last byte was read. */
static int end_source(struct pipeline *p, struct source *src, struct blocks *blocks, struct naming *n, bool recognised,
		      struct stored_member *sm, struct err *err)
{
	struct source_result *r = &sm->r;
	int rc = p->s->like ? 0 : naming_end(n, r, p->boot, p->several ? TEXT("") : p->record, p->wrapped, err);
	const char *why = p->s->o->plan ? "" : source_reason(src);
	if (!r->worker_alias.len && !p->engines)
		r->worker_alias = p->engine;
	sm->has_content = blocks_digest(blocks, sm->content);
	r->status = recognised ? SOURCE_INGESTED : SOURCE_UNRECOGNISED;
	if (!recognised && !r->reason.len)
		r->reason = TEXT("no format recognises what is in it");
	if (rc == 0 && why[0]) {
		r->status = SOURCE_FAILED;
		r->reason = arena_text(p->arena, text_of(why));
		if (!r->reason.ptr)
			rc = err_nomem(err);
	}
	if (rc == 0 && p->replay.base)
		rc = leave(p, true, r->status == SOURCE_FAILED, err);
	if (rc < 0 || !p->source)
		return rc;
	/* where a file could not be read to its end, that is no rotation's */
	return seam_ends(p->s, p->source, p->unended, r->status == SOURCE_FAILED ? 0 : p->n_unended, err);
}

/* It was stopped before it had anything to write: what is known of it is still in its base. */
static void forget(struct pipeline *p)
{
	struct err ignored;
	if (p->replay.base)
		(void)!custody_drop(&p->s->custody, p->replay.row, NULL, &ignored);
}

/* A file that has grown, or whose reading was stopped, is still what somebody said that it is. */
static int inherit(struct pipeline *p, struct naming *n, const struct block *first, struct err *err)
{
	int64_t source;
	struct source_result was;
	int rc = replay_source_of(p->s, p->sm->r.path, first, &source, err);
	if (rc == 0 && source)
		rc = custody_row(&p->s->custody, source, &was, p->arena, err);
	return rc || !source ? rc : naming_inherit(n, p->s, &was, &p->sm->r, err);
}

int pipeline_member(struct session *s, struct source *src, const struct member *m, struct stored *st, struct err *err)
{
	struct stored_member *sm = stored_add(st);
	struct pipeline p = {.s = s, .arena = &st->arena, .boot = TEXT(""), .record = TEXT(""), .sm = sm};
	struct naming n = {0};
	struct blocks *blocks = NULL;
	struct block *first = NULL;
	bool recognised = false;
	if (!sm)
		return err_nomem(err);
	sm->plain = m->plain;
	sm->r.path = arena_text(&st->arena, text_of(m->name));
	sm->r.container = arena_text(&st->arena, text_of(m->container));
	if (!sm->r.path.ptr || !sm->r.container.ptr)
		return err_nomem(err);
	int rc = naming_begin(&n, s, m->name, &sm->r, &st->arena, err);
	if (rc == 0 && s->like)
		rc = naming_like(&n, s->like, &sm->r, err);
	if (rc == 0)
		rc = blocks_open(&blocks, s->blocks, src, m->plain, err);
	if (rc == 0)
		rc = blocks_next(blocks, &first, err);
	p.ask = (struct replay_ask){.r = &sm->r, .source = src, .first = first};
	if (rc == 1)
		rc = head_of(&p.ask.head, (struct text){first->data, first->len}, err);
	if (rc >= 0 && first && !s->o->plan && !s->like)
		rc = inherit(&p, &n, first, err);
	if (rc >= 0)
		rc = choose_format(s, &n, src, blocks, m, &p.ask, &st->arena, &sm->r, &p.stack, err);
	if (rc == 0)
		rc = begin_source(&p, m->as_it_is != NULL, m->plain ? m->size_hint : 0, err);
	if (rc == 0)
		rc = run_source(&p, blocks, first, &n, m, sm, &recognised, err);
	else
		block_put(first);
	if (rc == 0)
		rc = end_source(&p, src, blocks, &n, recognised, sm, err);
	if (rc < 0)
		forget(&p);
	blocks_close(blocks);
	pipeline_done(&p);
	naming_done(&n);
	return rc;
}
