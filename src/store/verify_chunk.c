/* SPDX-License-Identifier: Apache-2.0 */
/* verify_chunk.c - the chunks of one source: read by the case's thread, decoded and hashed in the pool, judged in order
 *
 * A task is one chunk of evidence and the chunks of events that end in its bytes: those refer to no other, and what is
 * decoded serves all of them. Keys come from the index, rows one by one: a broken page costs the chunks on it and no others. run() touches
 * its task alone; done() judges, in order of submission, and adds to the hashes that need an order.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/column.h"
#include "pagetrail/spool.h"
#include "verify.h"

/* One task holds no more events than these, whatever a case says. */
enum { TASK_EVENTS_MAX = 64 };
#define TASK_BYTES_MAX (16 * MIB)

struct stored_chunk { /* as it stands in the file */
	int rc;       /* of reading the row, then of decoding; found says why */
	struct err found;
	struct buf data;
	char sha[SHA256_BYTES];
	size_t n_sha;
};

/* The bytes of one chunk, from when its task begins; two tasks hold them. */
struct raw_bytes {
	pthread_mutex_t lock;
	pthread_cond_t ready;
	unsigned holders;
	bool done; /* off and bytes stay as they are */
	uint64_t off;
	struct buf bytes; /* empty when they could not be decoded */
};

struct evidence_part {
	struct stored_chunk s;
	int64_t off, len, codec;
	struct raw_bytes *raw, *before; /* NULL: there is none */
};

struct event_part {
	struct stored_chunk s;
	int64_t chunk, kind, byte_min, byte_max, n, ts_min, ts_max;
	const char *differs;
	struct buf canonical;
	struct event_batch *batch; /* for the feed; else NULL */
};

struct chunk_task {
	struct task task;
	struct verify *v;
	struct source_walk *w;
	bool first; /* of its source */
	bool has_evidence;
	struct evidence_part evidence;
	unsigned n;
	size_t bytes; /* of all parts, as stored */
	struct event_part *events;
};

/* --- in the pool --- */

static struct text sha_of(const struct stored_chunk *s)
{
	return (struct text){s->sha, s->n_sha};
}

static struct raw_bytes *raw_new(void)
{
	struct raw_bytes *w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->ready, NULL);
	w->holders = 1;
	w->bytes = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	return w;
}

static struct raw_bytes *raw_hold(struct raw_bytes *w)
{
	if (!w)
		return NULL;
	pthread_mutex_lock(&w->lock);
	w->holders++;
	pthread_mutex_unlock(&w->lock);
	return w;
}

static void raw_drop(struct raw_bytes *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	unsigned left = --w->holders;
	pthread_mutex_unlock(&w->lock);
	if (left)
		return;
	pthread_cond_destroy(&w->ready);
	pthread_mutex_destroy(&w->lock);
	buf_done(&w->bytes);
	free(w);
}

static void raw_ready(struct raw_bytes *w)
{
	pthread_mutex_lock(&w->lock);
	w->done = true;
	pthread_cond_broadcast(&w->ready);
	pthread_mutex_unlock(&w->lock);
}

/* What of [off, off + len) lies in w, moved to its place; the number of bytes. */
static size_t raw_copy(struct raw_bytes *w, uint64_t off, size_t len, char *dest)
{
	if (!w)
		return 0;
	pthread_mutex_lock(&w->lock);
	while (!w->done)
		pthread_cond_wait(&w->ready, &w->lock);
	pthread_mutex_unlock(&w->lock);
	uint64_t from = MAX(off, w->off), to = MIN(off + len, w->off + w->bytes.len);
	if (from >= to)
		return 0;
	memcpy(dest + (from - off), w->bytes.ptr + (from - w->off), (size_t)(to - from));
	return (size_t)(to - from);
}

/* For a chunk of events that needs its records: 0, or ERR_DAMAGED when they are not there. */
static int read_records(void *ctx, uint64_t off, size_t len, char *dest, struct err *err)
{
	struct evidence_part *e = ctx;
	if (off > INT64_MAX || len > CHUNK_MAX_DECODED_BYTES)
		return err_set(err, ERR_DAMAGED, "event chunk: it names too many bytes");
	if (raw_copy(e->before, off, len, dest) + raw_copy(e->raw, off, len, dest) != len)
		return err_set(err, ERR_DAMAGED, "event chunk: its records cannot be read");
	return 0;
}

static void run_evidence(struct evidence_part *e)
{
	struct raw_bytes *w = e->raw;
	w->off = (uint64_t)e->off;
	if (!e->s.rc)
		e->s.rc =
		    evidence_decode(e->codec, e->len, buf_text(&e->s.data), sha_of(&e->s), &w->bytes, &e->s.found);
	if (e->s.rc)
		buf_clear(&w->bytes);
	buf_done(&e->s.data);
	raw_ready(w);
}

/* The row says of the chunk what the chunk says of itself. */
static const char *compare_zone(const struct event_batch *b, const struct event_part *e, const struct source_walk *w)
{
	int64_t ts_min = TIME_UNKNOWN, ts_max = TIME_UNKNOWN, first = INT64_MAX, end = 0;
	if (b->n != e->n)
		return "number of events differs";
	for (uint32_t i = 0; i < b->n; i++) {
		first = MIN(first, (int64_t)b->byte_off[i]);
		end = MAX(end, (int64_t)(b->byte_off[i] + b->byte_len[i]));
		if (b->ts_ns[i] == TIME_UNKNOWN)
			continue;
		ts_min = ts_min == TIME_UNKNOWN ? b->ts_ns[i] : MIN(ts_min, b->ts_ns[i]);
		ts_max = MAX(ts_max, b->ts_ns[i]);
	}
	if (first != e->byte_min || end != e->byte_max)
		return "range of bytes differs";
	if (ts_min != e->ts_min || ts_max != e->ts_max)
		return "range of times differs";
	if (!w->reading && end > w->bytes)
		return "names bytes that its source does not have";
	return NULL;
}

/* For who makes the tables again meanwhile. A chunk that is not sound is left for it to find. */
static int spool_events(struct event_spool *spool, const struct event_part *e, const struct event_batch *b,
			int64_t source, struct err *err)
{
	CLEANUP(buf_done) struct buf plain = BUF_INIT(2 * CHUNK_MAX_DECODED_BYTES);
	if (!spool || b->n != e->n)
		return 0;
	int r = event_spool_pack(spool, b, &plain, err);
	if (!r)
		event_spool_put(spool, spool_key(e->chunk, source, (const unsigned char *)e->s.sha), buf_text(&plain));
	return r;
}

static void run_events(struct event_part *e, const struct chunk_task *t, struct evidence_part *evidence)
{
	const struct column_reader from = {read_records, evidence};
	struct event_batch *b = NULL;
	struct err *found = &e->s.found;
	struct text data = buf_text(&e->s.data);
	int r = e->s.rc;
	if (!r)
		r = store_check_sha256(data, sha_of(&e->s), found);
	if (!r && (e->kind < 0 || e->kind >= EVENT_KINDS))
		r = err_set(found, ERR_DAMAGED, "unknown kind of events");
	if (!r)
		r = column_decode((enum event_kind)e->kind, data, UINT32_MAX, &from, &b, found);
	if (!r) {
		e->differs = compare_zone(b, e, t->w);
		r = case_sum_events(b, &e->canonical, found);
		if (!r)
			r = spool_events(t->v->c->spool, e, b, t->w->source, found);
		if (t->v->feed && event_feed_kind(t->v->feed) == b->kind)
			e->batch = b;
		else
			event_batch_free(b);
	}
	e->s.rc = r;
	buf_done(&e->s.data);
}

static int task_run(struct task *task, struct err *err)
{
	struct chunk_task *t = (struct chunk_task *)task;
	(void)err;
	if (t->has_evidence)
		run_evidence(&t->evidence);
	for (unsigned i = 0; i < t->n; i++)
		run_events(&t->events[i], t, &t->evidence);
	return 0;
}

/* --- judging --- */

static void task_drop(struct task *task)
{
	struct chunk_task *t = (struct chunk_task *)task;
	buf_done(&t->evidence.s.data);
	if (t->has_evidence && !t->evidence.raw->done)
		raw_ready(t->evidence.raw);
	raw_drop(t->evidence.raw);
	raw_drop(t->evidence.before);
	for (unsigned i = 0; i < t->n; i++) {
		buf_done(&t->events[i].s.data);
		buf_done(&t->events[i].canonical);
		event_batch_free(t->events[i].batch);
	}
	free(t->events);
	free(t);
}

static int judge_evidence(struct verify *v, struct source_walk *w, const struct evidence_part *e, struct err *err)
{
	char where[96], what[96];
	snprintf(where, sizeof(where), "evidence S%" PRId64 "@%" PRId64 "+%" PRId64, w->source, e->off, e->len);
	if ((uint64_t)e->off != w->expect) {
		int r = verify_hole(v, w, (uint64_t)e->off, err);
		if (r > 0) {
			snprintf(what, sizeof(what), "does not follow the chunk before, which ends at %" PRIu64,
				 w->expect);
			w->whole = false;
			r = verify_fault(v, where, what);
		}
		if (r)
			return r;
	}
	w->expect = (uint64_t)e->off + (uint64_t)e->len;
	if (e->s.rc) {
		w->whole = false;
		return verify_judge(v, e->s.rc, where, &e->s.found, err);
	}
	return w->whole ? sha256_add(w->content, e->raw->bytes.ptr, e->raw->bytes.len, err) : 0;
}

/* Chunks of an unknown kind are broken for every reader. */
static int feed_events(struct verify *v, struct event_part *e, struct err *err)
{
	struct event_batch *b = e->batch;
	e->batch = NULL;
	if (b)
		return event_feed_put(v->feed, b, err);
	if (v->feed && e->s.rc)
		event_feed_broken(v->feed);
	return 0;
}

static int judge_events(struct verify *v, struct event_part *e, struct err *err)
{
	char where[96];
	int r = feed_events(v, e, err);
	if (r)
		return r;
	snprintf(where, sizeof(where), "event chunk %" PRId64, e->chunk);
	if (e->s.rc)
		return verify_judge(v, e->s.rc, where, &e->s.found, err);
	if (e->differs)
		return verify_fault(v, where, e->differs);
	return case_sum_add(v->sum, (enum event_kind)e->kind, buf_text(&e->canonical), err);
}

static int task_done(struct task *task, struct err *err)
{
	struct chunk_task *t = (struct chunk_task *)task;
	if (t->first && t->v->feed)
		event_feed_source(t->v->feed, t->w->source);
	int r = t->has_evidence ? judge_evidence(t->v, t->w, &t->evidence, err) : 0;
	for (unsigned i = 0; !r && i < t->n; i++)
		r = judge_events(t->v, &t->events[i], err);
	task_drop(task);
	return r;
}

/* --- keys --- */

struct chunk_key {
	int64_t at, row; /* a byte of it; rowid */
};

struct keys {
	struct chunk_key *list;
	size_t n, cap;
};

static int keys_add(struct keys *k, int64_t at, int64_t row, struct err *err)
{
	if (k->n == k->cap) {
		size_t cap = k->cap ? 2 * k->cap : 64;
		struct chunk_key *grown = reallocarray(k->list, cap, sizeof(*grown));
		if (!grown)
			return err_nomem(err);
		k->list = grown;
		k->cap = cap;
	}
	k->list[k->n++] = (struct chunk_key){at, row};
	return 0;
}

/* An index answers alone. One that cannot be read is a fault; what was found until then is judged. */
static int keys_load(struct verify *v, struct keys *k, const char *text, int64_t source, const char *name,
		     struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct err e = {0};
	char where[64];
	int r = sql_prepare(&s, v->c, text, &e);
	if (!r)
		r = sql_int(s, 1, source, &e);
	while (!r && (r = sql_step(s, &e)) > 0) {
		r = keys_add(k, sql_get_int(s, 0), sql_get_int(s, 1), err);
		if (r)
			return r;
	}
	if (!r)
		return 0;
	snprintf(where, sizeof(where), "%s of S%" PRId64, name, source);
	return verify_judge(v, r, where, &e, err);
}

static int key_cmp(const void *a, const void *b)
{
	const struct chunk_key *x = a, *y = b;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* --- rows --- */

struct reader {
	struct verify *v;
	struct source_walk *w;
	struct sql *evidence, *events;
	struct chunk_task *t;    /* being filled */
	struct raw_bytes *last;  /* of the chunk of evidence before */
	struct raw_bytes *now;   /* of the one at hand */
	struct event_part ahead; /* read, but it ends in the chunk that follows */
	bool has_ahead;
	bool begun; /* a task was made */
};

/* The row with this rowid; a fault in it stays with the part. s: sha256 first, then data. */
static int read_row(struct sql *s, int64_t row, struct stored_chunk *to, size_t *bytes, struct err *err)
{
	to->data = BUF_INIT(2 * CHUNK_MAX_DECODED_BYTES);
	int r = sql_int(s, 1, row, err);
	if (r)
		return r;
	to->rc = sql_step(s, &to->found);
	if (!to->rc)
		to->rc = err_set(&to->found, ERR_DAMAGED, "its row is not there");
	if (to->rc < 0)
		return 0;
	struct text sha = sql_get_text(s, 0), data = sql_get_text(s, 1);
	to->rc = 0;
	to->n_sha = sha.len == sizeof(to->sha) ? sha.len : 0;
	memcpy(to->sha, sha.ptr ? sha.ptr : "", to->n_sha);
	*bytes += data.len;
	return buf_add_text(&to->data, data, err);
}

static int submit(struct reader *d, struct err *err)
{
	struct chunk_task *t = d->t;
	d->t = NULL;
	if (!t)
		return 0;
	if (case_stopped(d->v->c)) {
		task_drop(&t->task);
		return err_set(err, ERR_INTERRUPTED, "stopped");
	}
	return pool_submit(d->v->pool, &t->task, err);
}

/* A task to fill. */
static int begin(struct reader *d, struct err *err)
{
	int r = submit(d, err);
	if (r)
		return r;
	struct chunk_task *t = calloc(1, sizeof(*t));
	if (!t)
		return err_nomem(err);
	t->task = (struct task){.run = task_run, .done = task_done, .drop = task_drop};
	t->v = d->v;
	t->w = d->w;
	t->first = !d->begun;
	d->begun = true;
	d->t = t;
	t->evidence.raw = raw_hold(d->now);
	t->evidence.before = raw_hold(d->last);
	return 0;
}

static int read_evidence(struct reader *d, const struct chunk_key *key, struct err *err)
{
	raw_drop(d->last);
	d->last = d->now;
	d->now = raw_new();
	if (!d->now)
		return err_nomem(err);
	int r = begin(d, err);
	if (r)
		return r;
	struct evidence_part *e = &d->t->evidence;
	d->t->has_evidence = true;
	r = read_row(d->evidence, key->row, &e->s, &d->t->bytes, err);
	e->off = key->at;
	if (!r && !e->s.rc) {
		e->off = sql_get_int(d->evidence, 2);
		e->len = sql_get_int(d->evidence, 3);
		e->codec = sql_get_int(d->evidence, 4);
	}
	sql_reset(d->evidence);
	return r;
}

static int read_events(struct reader *d, const struct chunk_key *key, struct event_part *e, struct err *err)
{
	struct sql *s = d->events;
	size_t bytes = 0;
	*e = (struct event_part){.chunk = key->row, .canonical = BUF_INIT(SIZE_MAX / 2)};
	int r = read_row(s, key->row, &e->s, &bytes, err);
	if (!r && !e->s.rc) {
		e->kind = sql_get_int(s, 2);
		e->byte_min = sql_get_int(s, 3);
		e->byte_max = sql_get_int(s, 4);
		e->n = sql_get_int(s, 5);
		e->ts_min = sql_get_time(s, 6);
		e->ts_max = sql_get_time(s, 7);
	}
	sql_reset(s);
	return r;
}

/* Takes e over, whatever comes. */
static int add_events(struct reader *d, struct event_part *e, struct err *err)
{
	struct chunk_task *t = d->t;
	size_t bytes = e->s.data.len;
	int r = !t || t->n == TASK_EVENTS_MAX || t->bytes > TASK_BYTES_MAX ? begin(d, err) : 0;
	t = d->t;
	if (!r && !t->events && !(t->events = calloc(TASK_EVENTS_MAX, sizeof(*t->events))))
		r = err_nomem(err);
	if (r) {
		buf_done(&e->s.data);
		return r;
	}
	t->events[t->n++] = *e;
	t->bytes += bytes;
	return 0;
}

static int add_ahead(struct reader *d, struct err *err)
{
	if (!d->has_ahead)
		return 0;
	d->has_ahead = false;
	return add_events(d, &d->ahead, err);
}

/* Events that begin before `next`, where the next chunk of evidence begins. The order of the keys is kept: it is that of
 * the records. */
static int read_between(struct reader *d, const struct keys *events, size_t *at, int64_t next, struct err *err)
{
	int r = 0;
	while (!r && !d->has_ahead && *at < events->n && events->list[*at].at < next) {
		r = read_events(d, &events->list[(*at)++], &d->ahead, err);
		d->has_ahead = true;
		if (!r && d->ahead.byte_max <= next)
			r = add_ahead(d, err);
	}
	return r;
}

static int read_all(struct reader *d, const struct keys *evidence, const struct keys *events, struct err *err)
{
	size_t at = 0;
	int r = 0;
	for (size_t i = 0; !r && i < evidence->n; i++) {
		int64_t next = i + 1 < evidence->n ? evidence->list[i + 1].at : INT64_MAX;
		r = read_evidence(d, &evidence->list[i], err);
		if (!r)
			r = add_ahead(d, err);
		if (!r)
			r = read_between(d, events, &at, next, err);
	}
	while (!r && at < events->n) {
		r = add_ahead(d, err);
		if (!r)
			r = read_between(d, events, &at, INT64_MAX, err);
	}
	if (!r)
		r = add_ahead(d, err);
	return r ? r : submit(d, err);
}

int verify_chunks(struct verify *v, struct source_walk *w, struct err *err)
{
	struct keys evidence = {0}, events = {0};
	struct reader d = {.v = v, .w = w};
	int r = keys_load(v, &evidence,
			  "SELECT byte_off, rowid FROM main.evidence_chunk WHERE source = ?1 ORDER BY byte_off",
			  w->source, "evidence", err);
	if (!r) /* naming all kinds lets the index be used; others cannot be written, and are found by the seal */
		r = keys_load(
		    v, &events,
		    "SELECT byte_max - 1, chunk FROM main.event_chunk WHERE kind BETWEEN 0 AND 63 AND source = ?1",
		    w->source, "events", err);
	if (events.n)
		qsort(events.list, events.n, sizeof(*events.list), key_cmp);
	if (!r)
		r = sql_prepare(
		    &d.evidence, v->c,
		    "SELECT sha256, data, byte_off, byte_len, codec FROM main.evidence_chunk WHERE rowid = ?1", err);
	if (!r)
		r = sql_prepare(&d.events, v->c,
				"SELECT sha256, data, kind, byte_min, byte_max, n, ts_min, ts_max "
				"FROM main.event_chunk WHERE chunk = ?1",
				err);
	if (!r)
		r = read_all(&d, &evidence, &events, err);
	if (d.has_ahead)
		buf_done(&d.ahead.s.data);
	if (d.t)
		task_drop(&d.t->task);
	raw_drop(d.last);
	raw_drop(d.now);
	sql_end(d.evidence);
	sql_end(d.events);
	free(evidence.list);
	free(events.list);
	return r;
}
