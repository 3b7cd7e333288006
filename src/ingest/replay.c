/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - bytes that the case holds already are compared, not stored again
 *
 * What a run writes is one sequence: a chunk of evidence, the events of its records, the next chunk. A stopped run
 * leaves a beginning of it, also when it stopped between a chunk and its events. So the comparison walks over both lists
 * in step. A base that is finished is never touched before all its bytes were seen again, and its last, shorter
 * chunk goes in the transaction that brings the longer one.
 */
#include "replay.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "file.h"

struct replay_block {
	uint64_t off, len;
	unsigned char sha256[SHA256_BYTES];
};

struct replay_batch {
	int64_t chunk;
	int64_t kind, n, byte_min, byte_max, ts_min, ts_max;
};

/* --- is the file still there? --- */

static bool begins_like(const char *path, uint64_t bytes, const char *sha256_wanted, struct err *err)
{
	unsigned char sha[SHA256_BYTES];
	char hex[SHA256_HEX];
	struct file *f = NULL;
	struct err ignored = {0};
	bool same = false;
	(void)err;
	if (file_open(&f, path, &ignored) < 0)
		return false;
	if (file_size(f) >= bytes && file_digest(f, bytes, sha, &ignored) == 0) {
		sha256_hex(sha, hex);
		same = !strcmp(hex, sha256_wanted);
	}
	file_close(f);
	return same;
}

bool replay_gone(const struct source_result *was, bool unfinished, const char *now, const unsigned char *now_sha256,
		 struct err *err)
{
	struct stat a, b;
	bool packed = !text_is(was->container, "none");
	size_t len = packed ? text_find_char(was->path, '!', 0) : SIZE_MAX;
	char *path = strndup(was->path.ptr ? was->path.ptr : "", MIN(len, was->path.len));
	bool gone;
	if (!path)
		return false; /* it is kept: that is always right */
	if (!strcmp(path, "-") || stat(path, &a) != 0 || !S_ISREG(a.st_mode)) {
		gone = true;
	} else if (!strcmp(path, now) || (stat(now, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)) {
		char hex[SHA256_HEX] = "";
		if (now_sha256)
			sha256_hex(now_sha256, hex);
		/* another member of the archive that is being read */
		gone = !packed || !now_sha256 || strcmp(hex, was->sha256) != 0;
	} else if (packed || unfinished) {
		gone = !unfinished && (uint64_t)a.st_size != was->stored_bytes;
	} else {
		gone = !begins_like(path, was->stored_bytes, was->sha256, err);
	}
	free(path);
	return gone;
}

/* --- the base --- */

struct prefix { /* of the first block: many sources have the same length */
	size_t len;
	unsigned char sha256[SHA256_BYTES];
};

struct candidate {
	int64_t source;
	bool same_path, unfinished;
	uint64_t bytes;
};

static int first_chunk(struct session *s, int64_t source, struct sql **ret, struct err *err)
{
	int rc = sql_prepare(ret, s->c,
			     "SELECT byte_len, sha256, (SELECT sum(byte_len) FROM evidence_chunk WHERE source=?1)"
			     " FROM evidence_chunk WHERE source=?1 AND byte_off=0",
			     err);
	if (rc == 0)
		rc = sql_int(*ret, 1, source, err);
	return rc < 0 ? rc : sql_step(*ret, err);
}

/* 1: the first chunk of the source is the first block, or its beginning. 2: it has no chunk. */
static int begins_alike(struct session *s, int64_t source, const struct block *b, uint64_t *ret_bytes, struct err *err)
{
	CLEANUP(sql_endp) struct sql *q = NULL;
	unsigned char sha[SHA256_BYTES];
	int rc = first_chunk(s, source, &q, err);
	if (rc <= 0)
		return rc < 0 ? rc : 2;
	uint64_t len = (uint64_t)sql_get_int(q, 0);
	struct text want = sql_get_text(q, 1);
	*ret_bytes = (uint64_t)sql_get_int(q, 2);
	if (!len || len > b->len || want.len != SHA256_BYTES || (len < b->len && *ret_bytes != len))
		return 0;
	rc = sha256_once(b->data, (size_t)len, sha, err);
	return rc < 0 ? rc : !memcmp(sha, want.ptr, SHA256_BYTES);
}

int replay_source_of(struct session *s, struct text path, const struct block *first, int64_t *ret, struct err *err)
{
	uint64_t hash = text_hash(path), bytes;
	int rc = 0;
	*ret = 0;
	for (size_t i = s->custody.n; first && rc >= 0 && !*ret && i-- > 0;) {
		const struct known *e = &s->custody.known[i];
		struct arena arena;
		struct source_result row;
		if (e->path_hash != hash || e->pending)
			continue;
		arena_init(&arena, 0);
		rc = custody_row(&s->custody, e->source, &row, &arena, err);
		if (rc == 0 && text_eq(row.path, path))
			rc = begins_alike(s, e->source, first, &bytes, err);
		if (rc == 1)
			*ret = e->source;
		arena_done(&arena);
	}
	return MIN(rc, 0);
}

/* Made by this program from this format with this clock? Else its events are other ones. */
static bool made_alike(const struct source_result *row, const struct source_result *r)
{
	return text_eq(row->format, r->format) && text_eq(row->tz, r->tz) &&
	       text_find(row->format_basis, "\"by\":\"" PAGETRAIL_VERSION "\"", 0) != SIZE_MAX;
}

/* Looks at one source; *best is replaced when it suits better. */
static int consider(struct session *s, const struct replay_ask *a, int64_t source, struct candidate *best,
		    struct err *err)
{
	struct arena arena;
	struct source_result row;
	struct candidate c = {.source = source, .unfinished = custody_find(&s->custody, source)->reading};
	arena_init(&arena, 0);
	int rc = custody_row(&s->custody, source, &row, &arena, err);
	bool alike = rc == 0 && made_alike(&row, a->r);
	c.same_path = rc == 0 && text_eq(row.path, a->r->path);
	arena_done(&arena);
	if (rc == 0)
		rc = begins_alike(s, source, a->first, &c.bytes, err);
	if (rc < 0)
		return rc;
	if (rc == 2 && c.unfinished && c.same_path)
		return custody_drop(&s->custody, source, NULL, err); /* nothing is in it */
	if (rc != 1 || !alike)
		return 0;
	int score = c.same_path * 2 + c.unfinished, had = best->same_path * 2 + best->unfinished;
	if (!best->source || score > had || (score == had && c.bytes > best->bytes))
		*best = c;
	return 0;
}

/* A short source of another name is not worth a look: it would be stored again in no time. */
static bool may_be_base(const struct known *e, const struct replay_ask *a, uint64_t path_hash, const struct traits *t)
{
	if (e->source == a->row || e->repeats || e->seam)
		return false;
	if (e->path_hash == path_hash)
		return true;
	return head_alike(&e->head, &a->head) && e->traits.kind == t->kind &&
	       (e->pending || e->reading || e->traits.bytes >= OTHER_NAME_MIN_BYTES || e->traits.worker == t->worker);
}

/* Without a look at the case: 1 it cannot be a base, because a source of one chunk has the hash of that. */
static int is_other(const struct known *e, const struct block *b, struct prefix *p, struct err *err)
{
	size_t len = (size_t)e->traits.bytes;
	if (e->pending || e->reading || e->failed || !e->has_content || !len || len >= BLOCK_BYTES)
		return 0;
	if (len > b->len || (len == b->len && b->len < BLOCK_BYTES))
		return 1; /* not longer than it, or the same */
	int rc = p->len == len ? 0 : sha256_once(b->data, len, p->sha256, err);
	p->len = len;
	return rc < 0 ? rc : memcmp(p->sha256, e->content, SHA256_BYTES) != 0;
}

static int find_base(struct session *s, const struct replay_ask *a, struct candidate *best, struct err *err)
{
	struct custody *k = &s->custody;
	uint64_t path_hash = text_hash(a->r->path);
	struct traits t = custody_traits(a->r);
	struct prefix prefix = {0};
	bool any = false;
	int rc = 0;
	for (size_t i = 0; i < k->n && !any && rc >= 0; i++)
		if (may_be_base(&k->known[i], a, path_hash, &t)) {
			rc = is_other(&k->known[i], a->first, &prefix, err);
			any = rc == 0;
		}
	/* what they are must be settled */
	rc = rc < 0 ? rc : any ? pool_drain(s->pool, err) : 0;
	for (size_t i = k->n; any && rc >= 0 && i-- > 0;) {
		if (i >= k->n || k->known[i].pending || !may_be_base(&k->known[i], a, path_hash, &t))
			continue;
		rc = is_other(&k->known[i], a->first, &prefix, err);
		if (rc == 0)
			rc = consider(s, a, k->known[i].source, best, err);
	}
	return rc < 0 ? rc : 0;
}

/* --- its chunks --- */

static void *grow(void *list, size_t n, size_t size, struct err *err)
{
	if (n & (n - 1) || (n && n < 16))
		return list;
	void *grown = reallocarray(list, n ? n * 2 : 16, size);
	if (!grown)
		err_nomem(err);
	return grown;
}

static int load_blocks(struct replay *r, struct err *err)
{
	CLEANUP(sql_endp) struct sql *q = NULL;
	int rc =
	    sql_prepare(&q, r->s->c,
			"SELECT byte_off, byte_len, sha256 FROM evidence_chunk WHERE source=?1 ORDER BY byte_off", err);
	if (rc == 0)
		rc = sql_int(q, 1, r->base, err);
	while (rc >= 0 && (rc = sql_step(q, err)) == 1) {
		struct replay_block *list = grow(r->blocks, r->n_blocks, sizeof(*list), err);
		struct text sha = sql_get_text(q, 2);
		if (!list)
			return ERR_NOMEM;
		r->blocks = list;
		struct replay_block *b = &list[r->n_blocks++];
		*b = (struct replay_block){(uint64_t)sql_get_int(q, 0), (uint64_t)sql_get_int(q, 1), {0}};
		memcpy(b->sha256, sha.ptr ? sha.ptr : "", MIN(sha.len, SHA256_BYTES));
	}
	return rc;
}

static int load_batches(struct replay *r, struct err *err)
{
	CLEANUP(sql_endp) struct sql *q = NULL;
	int rc = sql_prepare(&q, r->s->c,
			     "SELECT chunk, kind, n, byte_min, byte_max, ts_min, ts_max FROM event_chunk"
			     " WHERE kind BETWEEN 0 AND 63 AND source=?1 ORDER BY chunk",
			     err);
	if (rc == 0)
		rc = sql_int(q, 1, r->base, err);
	while (rc >= 0 && (rc = sql_step(q, err)) == 1) {
		struct replay_batch *list = grow(r->batches, r->n_batches, sizeof(*list), err);
		if (!list)
			return ERR_NOMEM;
		r->batches = list;
		list[r->n_batches++] =
		    (struct replay_batch){sql_get_int(q, 0), sql_get_int(q, 1),  sql_get_int(q, 2), sql_get_int(q, 3),
					  sql_get_int(q, 4), sql_get_time(q, 5), sql_get_time(q, 6)};
	}
	return rc;
}

int replay_begin(struct replay *r, struct session *s, const struct replay_ask *a, struct err *err)
{
	struct candidate best = {0};
	struct custody *k = &s->custody;
	uint64_t path_hash = text_hash(a->r->path);
	*r = (struct replay){.s = s, .row = a->row};
	/* parts of this file that are not gone when the run is over hold other bytes than it */
	for (size_t i = 0; i < k->n && k->n_reading; i++)
		k->known[i].stale |= k->known[i].reading && k->known[i].path_hash == path_hash;
	int rc = a->first ? find_base(s, a, &best, err) : 0;
	if (rc < 0 || !best.source)
		return rc;
	r->base = best.source;
	r->resumes = best.unfinished;
	rc = load_blocks(r, err);
	return rc < 0 ? rc : load_batches(r, err);
}

void replay_done(struct replay *r)
{
	free(r->blocks);
	free(r->batches);
	r->blocks = NULL;
	r->batches = NULL;
}

/* --- the comparison --- */

int replay_block(struct replay *r, const struct block *b, struct err *err)
{
	unsigned char sha[SHA256_BYTES];
	r->whole = r->at_block == r->n_blocks;
	if (r->whole)
		return 0;
	const struct replay_block *was = &r->blocks[r->at_block];
	if (was->off != b->off || was->len > b->len || (was->len < b->len && r->at_block + 1 < r->n_blocks))
		return 0;
	int rc = sha256_once(b->data, (size_t)was->len, sha, err);
	if (rc < 0 || memcmp(sha, was->sha256, SHA256_BYTES) != 0)
		return rc;
	r->whole = r->at_block + 1 == r->n_blocks;
	if (was->len < b->len)
		return 0;
	r->at_block++;
	return 1;
}

static struct replay_batch batch_of(const struct event_batch *b)
{
	struct replay_batch now = {0, b->kind, b->n, INT64_MAX, 0, TIME_UNKNOWN, TIME_UNKNOWN};
	for (uint32_t i = 0; i < b->n; i++) {
		now.byte_min = MIN(now.byte_min, (int64_t)b->byte_off[i]);
		now.byte_max = MAX(now.byte_max, (int64_t)(b->byte_off[i] + b->byte_len[i]));
		if (b->ts_ns[i] == TIME_UNKNOWN)
			continue;
		if (now.ts_min == TIME_UNKNOWN || b->ts_ns[i] < now.ts_min)
			now.ts_min = b->ts_ns[i];
		now.ts_max = MAX(now.ts_max, b->ts_ns[i]);
	}
	return now;
}

int replay_batch(struct replay *r, const struct event_batch *b)
{
	if (r->at_batch == r->n_batches)
		return 0;
	const struct replay_batch *was = &r->batches[r->at_batch];
	struct replay_batch now = batch_of(b);
	now.chunk = was->chunk;
	if (memcmp(&now, was, sizeof(now)) != 0)
		return 0;
	r->at_batch++;
	return 1;
}

/* --- the end of it --- */

static int run_with(struct replay *r, const char *statement, int64_t a, int64_t b, int64_t c, struct err *err)
{
	CLEANUP(sql_endp) struct sql *q = NULL;
	const int64_t v[] = {a, b, c};
	int rc = sql_prepare(&q, r->s->c, statement, err);
	for (int i = 0; rc == 0 && i < sql_params(q) && i < (int)ARRAY_SIZE(v); i++)
		rc = sql_int(q, i + 1, v[i], err);
	return rc < 0 ? rc : sql_run(q, err);
}

static int journal_goes_on(struct replay *r, const struct source_result *was, struct text path, struct err *err)
{
	struct buf b = BUF_INIT(1 * MIB);
	unsigned char head[SHA256_BYTES];
	int rc =
	    buf_printf(&b, err,
		       "{\"source\":%lld,\"reason\":\"its file has grown\",\"bytes\":%llu,\"sha256\":\"%s\","
		       "\"content_sha256\":\"%s\",\"path\":",
		       (long long)r->base, (unsigned long long)was->account.bytes, was->sha256, was->content_sha256);
	if (rc == 0)
		rc = buf_json_string(&b, was->path, err);
	if (rc == 0)
		rc = buf_add_text(&b, TEXT(",\"now\":"), err);
	if (rc == 0)
		rc = buf_json_string(&b, path, err);
	if (rc == 0)
		rc = buf_add_char(&b, '}', err);
	if (rc == 0)
		rc = journal_append(r->s->c, r->s->o->now_ns, "drop", buf_text(&b), head, err);
	buf_done(&b);
	return rc;
}

/* The base goes on here. off, chunk: the first that are no more. */
static int go_on(struct replay *r, const struct source_result *was, struct text path, int64_t off, int64_t chunk,
		 struct err *err)
{
	int rc = r->resumes ? 0 : journal_goes_on(r, was, path, err);
	if (rc == 0)
		rc = run_with(r, "DELETE FROM evidence_chunk WHERE source=?1 AND byte_off>=?2", r->base, off, 0, err);
	if (rc == 0)
		rc = run_with(r, "DELETE FROM event_chunk WHERE kind BETWEEN 0 AND 63 AND source=?1 AND chunk>=?2",
			      r->base, chunk, 0, err);
	if (rc == 0)
		rc = run_with(r, "DELETE FROM reject WHERE source=?1", r->base, 0, 0, err);
	if (rc == 0)
		rc = run_with(r, "UPDATE reject SET source=?1 WHERE source=?2", r->base, r->row, 0, err);
	if (rc == 0)
		rc = custody_take_over(&r->s->custody, r->row, r->base, err);
	r->row = r->base;
	return rc;
}

/* The base stays what it is. */
static int copy(struct replay *r, int64_t off, int64_t chunk, struct err *err)
{
	int rc = run_with(r,
			  "INSERT INTO evidence_chunk(source, byte_off, byte_len, sha256, codec, data)"
			  " SELECT ?1, byte_off, byte_len, sha256, codec, data FROM evidence_chunk"
			  " WHERE source=?2 AND byte_off<?3 ORDER BY byte_off",
			  r->row, r->base, off, err);
	if (rc < 0)
		return rc;
	return run_with(r,
			"INSERT INTO event_chunk(kind, source, byte_min, byte_max, n, ts_min, ts_max, sha256, data)"
			" SELECT kind, ?1, byte_min, byte_max, n, ts_min, ts_max, sha256, data FROM event_chunk"
			" WHERE kind BETWEEN 0 AND 63 AND source=?2 AND chunk<?3 ORDER BY chunk",
			r->row, r->base, chunk, err);
}

int replay_leave(struct replay *r, const struct replay_ask *a, bool over, bool failed, struct replay_end *ret,
		 struct err *err)
{
	struct arena arena;
	struct source_result was;
	if (!r->base)
		return 0;
	arena_init(&arena, 0);
	int64_t off = r->at_block < r->n_blocks ? (int64_t)r->blocks[r->at_block].off : INT64_MAX;
	int64_t chunk = r->at_batch < r->n_batches ? r->batches[r->at_batch].chunk : INT64_MAX;
	bool whole = r->whole || r->at_block == r->n_blocks;
	int rc = custody_row(&r->s->custody, r->base, &was, &arena, err);
	if (rc == 0) {
		const struct known *e = custody_find(&r->s->custody, r->base);
		bool lacking = r->resumes || (e && e->failed); /* it was not read to its end */
		bool go =
		    whole && (!over || lacking) && (!failed || lacking) &&
		    (text_eq(was.path, a->r->path) || replay_gone(&was, lacking, source_path(a->source), NULL, err));
		ret->resumed = go || (r->resumes && whole);
		ret->goes_on = go && !r->resumes;
		ret->bytes = was.account.bytes;
		memcpy(ret->sha256, was.sha256, sizeof(ret->sha256));
		memcpy(ret->content_sha256, was.content_sha256, sizeof(ret->content_sha256));
		rc = go ? go_on(r, &was, a->r->path, off, chunk, err) : copy(r, off, chunk, err);
	}
	r->base = 0;
	arena_done(&arena);
	return rc;
}
