/* SPDX-License-Identifier: Apache-2.0 */
/* evidence_walk.c - all chunks of a source in order: decoded and looked at in threads, taken in the calling one
 *
 * A task is a chunk. What it needs (buffers, a codec, what look() leaves) goes on to later chunks: few are ever under way, and
 * fresh memory would cost as much as the decoding.
 *
 * A walk that goes by sums does not hash a chunk when all its bytes came from pages whose check sums were compared: that the
 * stored form gives the bytes back was proved when it was made. A page of zeros has no sum. SQLite notices one anywhere but at
 * the end of a chunk, so a chunk that ends in a zero is hashed; and so is one that may come from a write-ahead log.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "codec.h"
#include "page_sum.h"
#include "store.h"

enum { QUEUE_PER_THREAD = 2, KEEP_BYTES = 4 * MIB };

struct walk_task {
	struct task task;
	struct evidence_walk *w;
	int64_t off, len, codec;
	struct buf data, raw;
	char sha[SHA256_BYTES];
	size_t n_sha;
	bool hash;
	struct codec *z;
	void *own;
	struct walk_task *next; /* that is spare, too */
};

struct evidence_walk {
	struct case_file *c;
	struct evidence_work work;
	struct pool *pool;
	struct sql *sql;
	int64_t source;
	struct walk_task *spare;
};

static void task_free(struct walk_task *t)
{
	buf_done(&t->data);
	buf_done(&t->raw);
	codec_free(t->z);
	if (t->own && t->w->work.free_own)
		t->w->work.free_own(t->own);
	free(t);
}

static void walk_drop(struct task *task)
{
	task_free((struct walk_task *)task);
}

static int walk_run(struct task *task, struct err *err)
{
	struct walk_task *t = (struct walk_task *)task;
	const struct evidence_work *work = &t->w->work;
	const struct text sha = {t->sha, t->n_sha};
	int r = evidence_decode_with(t->z, t->codec, t->len, buf_text(&t->data), t->hash ? &sha : NULL, &t->raw, err);
	if (r) {
		err_where(err, "evidence S%" PRId64 "@%" PRId64, t->w->source, t->off);
		return r;
	}
	return work->look ? work->look(work->ctx, &t->own, buf_text(&t->raw), (uint64_t)t->off, err) : 0;
}

static int walk_done(struct task *task, struct err *err)
{
	struct walk_task *t = (struct walk_task *)task;
	struct evidence_walk *w = t->w;
	int r = w->work.take(w->work.ctx, t->own, buf_text(&t->raw), (uint64_t)t->off, err);
	if (t->raw.cap + t->data.cap > KEEP_BYTES) {
		task_free(t);
		return r;
	}
	t->next = w->spare;
	w->spare = t;
	return r;
}

static int new_task(struct walk_task **ret, struct evidence_walk *w, struct err *err)
{
	struct walk_task *t = w->spare;
	if (t) {
		w->spare = t->next;
		*ret = t;
		return 0;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return err_nomem(err);
	t->task = (struct task){.run = walk_run, .done = walk_done, .drop = walk_drop};
	t->w = w;
	t->data = BUF_INIT(2 * CHUNK_MAX_DECODED_BYTES);
	t->raw = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	int r = codec_new(&t->z, err);
	if (r) {
		task_free(t);
		return r;
	}
	*ret = t;
	return 0;
}

/* Must the chunk be hashed to be believed? */
static bool must_hash(const struct evidence_walk *w, struct text data)
{
	sqlite3_file *f = NULL;
	if (!w->work.by_sums || !data.len || !data.ptr[data.len - 1])
		return true;
	return sqlite3_file_control(w->c->db, "main", SQLITE_FCNTL_FILE_POINTER, &f) || !page_sum_all(f);
}

/* Row of evidence_chunk: byte_off, byte_len, codec, data, sha256. */
static int submit(struct evidence_walk *w, struct err *err)
{
	struct walk_task *t = NULL;
	int r = new_task(&t, w, err);
	if (r)
		return r;
	t->off = sql_get_int(w->sql, 0);
	t->len = sql_get_int(w->sql, 1);
	t->codec = sql_get_int(w->sql, 2);
	struct text sha = sql_get_text(w->sql, 4);
	t->n_sha = sha.len == sizeof(t->sha) ? sha.len : 0;
	memcpy(t->sha, sha.ptr ? sha.ptr : "", t->n_sha);
	buf_clear(&t->data);
	r = buf_add_text(&t->data, sql_get_text(w->sql, 3), err);
	if (r) {
		task_free(t);
		return r;
	}
	t->hash = must_hash(w, buf_text(&t->data));
	return pool_submit(w->pool, &t->task, err);
}

int evidence_walk_open(struct evidence_walk **ret, struct case_file *c, unsigned threads,
		       const struct evidence_work *work, struct err *err)
{
	struct evidence_walk *w = calloc(1, sizeof(*w));
	if (!w)
		return err_nomem(err);
	w->c = c;
	w->work = *work;
	int r = pool_open(&w->pool, threads > 1 ? threads : 0, QUEUE_PER_THREAD * MAX(threads, 1), err);
	if (!r)
		r = sql_prepare(&w->sql, c,
				"SELECT byte_off, byte_len, codec, data, sha256 FROM evidence_chunk "
				"WHERE source = ?1 ORDER BY byte_off",
				err);
	if (r) {
		evidence_walk_close(w);
		return r;
	}
	*ret = w;
	return 0;
}

int evidence_walk_source(struct evidence_walk *w, int64_t source, struct err *err)
{
	uint64_t expect = 0;
	w->source = source;
	int r = sql_int(w->sql, 1, source, err);
	while (!r && (r = sql_step(w->sql, err)) > 0) {
		if ((uint64_t)sql_get_int(w->sql, 0) != expect) {
			r = err_set(err, ERR_DAMAGED, "bytes from %" PRIu64 " on are missing", expect);
			err_where(err, "evidence S%" PRId64, source);
			break;
		}
		expect += (uint64_t)sql_get_int(w->sql, 1);
		r = submit(w, err);
	}
	/* what is under way belongs to this source */
	struct err unused;
	int drained = pool_drain(w->pool, r ? &unused : err);
	sql_reset(w->sql);
	return r ? r : drained;
}

void evidence_walk_close(struct evidence_walk *w)
{
	if (!w)
		return;
	pool_close(w->pool);
	for (struct walk_task *t = w->spare, *next; t; t = next) {
		next = t->next;
		task_free(t);
	}
	sql_end(w->sql);
	free(w);
}

/* --- without threads --- */

struct each {
	int (*write)(void *ctx, struct text bytes, uint64_t off);
	void *ctx;
	struct err *err; /* write()'s, too */
};

static int take_each(void *ctx, void *own, struct text bytes, uint64_t off, struct err *err)
{
	const struct each *e = ctx;
	(void)own;
	int r = e->write(e->ctx, bytes, off);
	if (r && err && e->err)
		*err = *e->err;
	return r;
}

int evidence_each(struct case_file *c, int64_t source, int (*write)(void *ctx, struct text bytes, uint64_t off),
		  void *ctx, struct err *err)
{
	struct each e = {write, ctx, err};
	const struct evidence_work work = {.take = take_each, .ctx = &e};
	struct evidence_walk *w = NULL;
	int r = evidence_walk_open(&w, c, 0, &work, err);
	if (!r)
		r = evidence_walk_source(w, source, err);
	evidence_walk_close(w);
	return r;
}
