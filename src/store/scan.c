/* SPDX-License-Identifier: Apache-2.0 */
/* scan.c - all events of one kind, one decoded chunk at a time
 *
 * Order: source, first byte, chunk. The hash of a chunk is checked before it is decoded, unless this connection wrote it. A scan that goes on behind its
 * first chunks decodes ahead, when the case has threads: a task is a chunk and the chunk of evidence that it refers to, both
 * read by the calling thread. What the case's spool has is taken from there; what it ought to have is put there.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/evidence.h"
#include "pagetrail/spool.h"
#include "scan.h"
#include "store.h"

/* Chunks that a scan decodes by itself before it has threads do it: few scans need more. */
enum { AHEAD_FROM = 2, QUEUE_PER_THREAD = 3 };

/* A chunk that is decoded ahead. */
struct scan_task {
	struct task task;
	struct event_scan *scan;
	struct spool_key key;
	bool spooled;
	int64_t n;
	struct buf data, evidence;
	char evidence_sha[SHA256_BYTES];
	size_t n_evidence_sha;
	bool evidence_own;
	int64_t off, len, codec; /* of the evidence; len 0: none */
	struct event_batch *batch;
	struct scan_task *next; /* that is decoded, too */
};

struct event_scan {
	struct sql *sql;
	enum event_kind kind;
	uint32_t mask;
	struct event_spool *spool; /* NULL: it does not have these columns */
	struct spool_key key;      /* of the chunk at hand */
	bool spooled;              /* it is in the spool */
	bool ended;
	struct event_batch *batch;
	unsigned taken; /* chunks */
	struct pool *pool;
	struct sql *evidence;
	struct scan_task *ready, **ready_end;
	unsigned column; /* that `text` must be in */
	struct buf text, worker;
	bool has_text, has_worker;
};

/* --- the records of a chunk --- */

struct place {
	struct case_file *c;
	int64_t source;
};

static int read_evidence(void *ctx, uint64_t off, size_t len, char *dest, struct err *err)
{
	const struct place *p = ctx;
	return evidence_copy(p->c, p->source, off, len, dest, err);
}

int column_decode_stored(struct case_file *c, int64_t source, enum event_kind kind, struct text data, uint32_t mask,
			 struct event_batch **ret, struct err *err)
{
	struct place p = {c, source};
	struct column_reader from = {read_evidence, &p};
	return column_decode(kind, data, mask, &from, ret, err);
}

/* --- a scan --- */

int event_scan_open(struct event_scan **ret, struct case_file *c, enum event_kind kind, uint32_t mask,
		    const struct event_filter *filter, struct err *err)
{
	static const struct event_filter all = {0, TIME_UNKNOWN, TIME_UNKNOWN};
	const struct event_filter *f = filter ? filter : &all;
	struct event_scan *s = calloc(1, sizeof(*s));
	if (!s)
		return err_nomem(err);
	s->kind = kind;
	s->mask = mask;
	if (c->spool && !(mask & ~event_spool_columns(c->spool, kind))) {
		s->spool = c->spool;
		s->mask = event_spool_columns(c->spool, kind); /* others will ask for them */
	}
	s->ready_end = &s->ready;
	/* a parameter that is not set is NULL: its condition falls away. Chunks without any time are never outside */
	int r = sql_prepare(
	    &s->sql, c,
	    f->source ? "SELECT chunk, source, n, sha256, data, (SELECT worker FROM source s WHERE s.source = "
			"e.source) FROM event_chunk e WHERE kind = ?1 AND source = ?2 "
			"AND (?3 IS NULL OR coalesce(ts_max >= ?3, 1)) AND (?4 IS NULL OR coalesce(ts_min <= ?4, 1)) "
			"AND (?5 IS NULL OR (byte_min <= ?5 AND byte_max >= ?5)) ORDER BY byte_min, chunk"
		      : "SELECT chunk, source, n, sha256, data, (SELECT worker FROM source s WHERE s.source = "
			"e.source) FROM event_chunk e WHERE kind = ?1 AND ?2 IS NULL "
			"AND (?3 IS NULL OR coalesce(ts_max >= ?3, 1)) AND (?4 IS NULL OR coalesce(ts_min <= ?4, 1)) "
			"AND (?5 IS NULL OR (byte_min <= ?5 AND byte_max >= ?5)) "
			"ORDER BY source, byte_min, chunk",
	    err);
	if (!r)
		r = sql_int(s->sql, 1, kind, err);
	if (!r && f->source)
		r = sql_int(s->sql, 2, f->source, err);
	if (!r)
		r = sql_int(s->sql, 3, f->since_ns, err);
	if (!r)
		r = sql_int(s->sql, 4, f->until_ns, err);
	if (r) {
		event_scan_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

int event_scan_at(struct event_scan *s, int64_t off, struct err *err)
{
	return sql_int(s->sql, 5, off, err);
}

int event_scan_only(struct event_scan *s, unsigned column, struct text needle, struct err *err)
{
	struct buf *to = column == COLUMN_WORKER ? &s->worker : &s->text;
	*(column == COLUMN_WORKER ? &s->has_worker : &s->has_text) = true;
	s->spool = NULL; /* it cannot be searched */
	if (column != COLUMN_WORKER)
		s->column = column;
	*to = BUF_INIT(needle.len + 1);
	return buf_add_text(to, needle, err);
}

static void where_chunk(struct spool_key key, struct err *err)
{
	err_where(err, "event chunk %" PRId64 " of S%" PRId64, key.chunk, key.source);
}

static size_t copy_sha(char *to, struct text sha)
{
	size_t n = sha.len == SHA256_BYTES ? sha.len : 0;
	memcpy(to, sha.ptr ? sha.ptr : "", n);
	return n;
}

/* Rows without a worker are of the source's own, those with "/dp3" of a rank of it. */
static int may_be_of_worker(const struct event_scan *s, struct text data, struct text own, struct err *err)
{
	struct text name = buf_text(&s->worker);
	bool begins = own.len && name.len >= own.len && !memcmp(name.ptr, own.ptr, own.len);
	if (begins && (name.len == own.len || name.ptr[own.len] == '/'))
		return 1;
	return name.len ? column_holds(s->kind, data, COLUMN_WORKER, name, err) : 1;
}

/* 0: no row of the chunk is asked for. */
static int may_hold(const struct event_scan *s, struct text data, struct text own, struct err *err)
{
	int r = s->has_text && s->text.len ? column_holds(s->kind, data, s->column, buf_text(&s->text), err) : 1;
	return r == 1 && s->has_worker ? may_be_of_worker(s, data, own, err) : r;
}

/* The next chunk that may hold what is asked for, its hash checked; *ret is empty when the spool has it. */
static int next_chunk(struct event_scan *s, struct text *ret, struct err *err)
{
	unsigned char sha[SHA256_BYTES] = {0};
	int r;
	while ((r = sql_step(s->sql, err)) == 1) {
		if (case_stopped(s->sql->c))
			return err_set(err, ERR_INTERRUPTED, "stopped");
		copy_sha((char *)sha, sql_get_text(s->sql, 3));
		s->key = spool_key(sql_get_int(s->sql, 0), sql_get_int(s->sql, 1), sha);
		*ret = (struct text){NULL, 0};
		s->spooled = s->spool && event_spool_has(s->spool, s->key);
		if (s->spooled)
			break;
		*ret = sql_get_text(s->sql, 4);
		r = own_row(s->sql->c->own_events, s->key.chunk)
			? 0
			: store_check_sha256(*ret, sql_get_text(s->sql, 3), err);
		if (!r)
			r = may_hold(s, *ret, sql_get_text(s->sql, 5), err);
		if (r < 0)
			where_chunk(s->key, err);
		if (r)
			break;
	}
	return r;
}

/* The chunk was decoded: others need not do it again. */
static int keep_plain(struct event_spool *spool, struct spool_key key, const struct event_batch *b, struct err *err)
{
	CLEANUP(buf_done) struct buf plain = BUF_INIT(2 * CHUNK_MAX_DECODED_BYTES);
	if (!spool)
		return 0;
	int r = event_spool_pack(spool, b, &plain, err);
	if (!r)
		event_spool_put(spool, key, buf_text(&plain));
	return r;
}

/* --- ahead --- */

static void task_drop(struct task *task)
{
	struct scan_task *t = (struct scan_task *)task;
	buf_done(&t->data);
	buf_done(&t->evidence);
	event_batch_free(t->batch);
	free(t);
}

struct raw_evidence {
	int64_t off;
	struct buf bytes;
};

static int read_raw(void *ctx, uint64_t off, size_t len, char *dest, struct err *err)
{
	const struct raw_evidence *e = ctx;
	if (off < (uint64_t)e->off || off - (uint64_t)e->off > e->bytes.len ||
	    len > e->bytes.len - (size_t)(off - (uint64_t)e->off))
		return err_set(err, ERR_DAMAGED, "event chunk: it refers to more than one chunk of evidence");
	memcpy(dest, e->bytes.ptr + (off - (uint64_t)e->off), len);
	return 0;
}

static int task_run(struct task *task, struct err *err)
{
	struct scan_task *t = (struct scan_task *)task;
	struct event_scan *s = t->scan;
	struct raw_evidence raw = {t->off, BUF_INIT(CHUNK_MAX_DECODED_BYTES)};
	struct column_reader from = {read_raw, &raw};
	int r = 0;
	if (t->spooled)
		return event_spool_get(s->spool, t->key, s->kind, s->mask, &t->batch, err);
	if (t->len && t->evidence_own)
		r = evidence_decode_own(t->codec, t->len, buf_text(&t->evidence), &raw.bytes, err);
	else if (t->len)
		r = evidence_decode(t->codec, t->len, buf_text(&t->evidence),
				    (struct text){t->evidence_sha, t->n_evidence_sha}, &raw.bytes, err);
	if (!r)
		r = column_decode(s->kind, buf_text(&t->data), s->mask, &from, &t->batch, err);
	if (!r && t->batch->n != t->n)
		r = err_set(err, ERR_DAMAGED, "event chunk: number of events");
	if (!r)
		r = keep_plain(s->spool, t->key, t->batch, err);
	if (r)
		where_chunk(t->key, err);
	buf_done(&raw.bytes);
	buf_done(&t->data);
	buf_done(&t->evidence);
	return r;
}

static int task_done(struct task *task, struct err *err)
{
	struct scan_task *t = (struct scan_task *)task;
	struct event_scan *s = t->scan;
	(void)err;
	*s->ready_end = t;
	s->ready_end = &t->next;
	return 0;
}

/* The chunk of evidence that the task's events refer to. One that is missing is found out when it is read from. */
static int load_evidence(struct event_scan *s, struct scan_task *t, struct err *err)
{
	uint64_t off, len;
	int r = column_refers(s->kind, buf_text(&t->data), &off, &len, err);
	if (r || !len)
		return r;
	if (!s->evidence)
		r = sql_prepare(&s->evidence, s->sql->c,
				"SELECT byte_off, byte_len, codec, data, sha256, rowid FROM evidence_chunk "
				"WHERE source = ?1 AND byte_off <= ?2 ORDER BY byte_off DESC LIMIT 1",
				err);
	if (!r)
		r = sql_int(s->evidence, 1, t->key.source, err);
	if (!r)
		r = sql_int(s->evidence, 2, (int64_t)off, err);
	if (!r)
		r = sql_step(s->evidence, err);
	if (r == 1) {
		t->off = sql_get_int(s->evidence, 0);
		t->len = sql_get_int(s->evidence, 1);
		t->codec = sql_get_int(s->evidence, 2);
		t->evidence_own = own_row(s->sql->c->own_evidence, sql_get_int(s->evidence, 5));
		t->n_evidence_sha = copy_sha(t->evidence_sha, sql_get_text(s->evidence, 4));
		r = buf_add_text(&t->evidence, sql_get_text(s->evidence, 3), err);
	}
	sql_reset(s->evidence);
	return r;
}

/* The chunk at hand goes to the pool. */
static int submit_chunk(struct event_scan *s, struct text data, struct err *err)
{
	struct scan_task *t = calloc(1, sizeof(*t));
	if (!t)
		return err_nomem(err);
	t->task = (struct task){.run = task_run, .done = task_done, .drop = task_drop};
	t->scan = s;
	t->key = s->key;
	t->spooled = s->spooled;
	t->n = sql_get_int(s->sql, 2);
	t->data = t->evidence = BUF_INIT(2 * CHUNK_MAX_DECODED_BYTES);
	int r = s->spooled ? 0 : buf_add_text(&t->data, data, err);
	if (!r && !s->spooled)
		r = load_evidence(s, t, err);
	if (r) {
		where_chunk(t->key, err);
		task_drop(&t->task);
		return r;
	}
	return pool_submit(s->pool, &t->task, err);
}

/* Submits until the oldest chunk is decoded: 1, or 0 at the end. */
static int next_ahead(struct event_scan *s, const struct event_batch **ret, int64_t *ret_source, struct err *err)
{
	struct text data;
	int r = 0;
	while (!s->ready && !s->ended && !r) {
		r = next_chunk(s, &data, err);
		s->ended = r <= 0;
		r = r == 1 ? submit_chunk(s, data, err) : r ? r : pool_drain(s->pool, err);
	}
	if (r || !s->ready)
		return r;
	struct scan_task *t = s->ready;
	s->ready = t->next;
	if (!s->ready)
		s->ready_end = &s->ready;
	s->key = t->key;
	*ret = s->batch = t->batch;
	*ret_source = t->key.source;
	t->batch = NULL;
	task_drop(&t->task);
	return 1;
}

static int next_here(struct event_scan *s, const struct event_batch **ret, int64_t *ret_source, struct err *err)
{
	struct text data;
	int r = s->ended ? 0 : next_chunk(s, &data, err);
	s->ended = r <= 0;
	if (!r)
		return 0;
	if (r == 1 && s->spooled) {
		r = event_spool_get(s->spool, s->key, s->kind, s->mask, &s->batch, err);
	} else if (r == 1) {
		r = column_decode_stored(s->sql->c, s->key.source, s->kind, data, s->mask, &s->batch, err);
		if (!r && s->batch->n != sql_get_int(s->sql, 2))
			r = err_set(err, ERR_DAMAGED, "event chunk: number of events");
		if (!r)
			r = keep_plain(s->spool, s->key, s->batch, err);
	}
	if (r) {
		where_chunk(s->key, err);
		return r;
	}
	*ret = s->batch;
	*ret_source = s->key.source;
	return 1;
}

int event_scan_next(struct event_scan *s, const struct event_batch **ret, int64_t *ret_source, struct err *err)
{
	unsigned threads = s->sql->c->threads;
	event_batch_free(s->batch);
	s->batch = NULL;
	if (s->taken < AHEAD_FROM) {
		s->taken++;
	} else if (threads > 1 && !s->pool && !s->ended) {
		int r = pool_open(&s->pool, threads, QUEUE_PER_THREAD * threads, err);
		if (r)
			return r;
	}
	return s->pool ? next_ahead(s, ret, ret_source, err) : next_here(s, ret, ret_source, err);
}

int64_t event_scan_chunk(const struct event_scan *s)
{
	return s->key.chunk;
}

void event_scan_close(struct event_scan *s)
{
	if (!s)
		return;
	event_batch_free(s->batch);
	pool_close(s->pool);
	for (struct scan_task *t = s->ready, *next; t; t = next) {
		next = t->next;
		task_drop(&t->task);
	}
	sql_end(s->evidence);
	sql_end(s->sql);
	buf_done(&s->text);
	buf_done(&s->worker);
	free(s);
}
