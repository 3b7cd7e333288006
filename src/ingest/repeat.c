/* SPDX-License-Identifier: Apache-2.0 */
/* repeat.c - sources whose bytes are the beginning of another one
 *
 * Proof is by the hashes of all chunks, and by the bytes of the last, shorter one. Two files are taken for the same
 * story only when they say when it was: a banner without a time proves nothing. Where names say that they are of
 * different workers, a few lines prove nothing either.
 */
#include "repeat.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/evidence.h"
#include "replay.h"

#define BEGIN_WITHIN_NS (60 * NS_PER_S)

/* --- is it a beginning? --- */

static int total_bytes(struct session *s, int64_t source, uint64_t *ret, struct err *err)
{
	CLEANUP(sql_endp) struct sql *q = NULL;
	int rc = sql_prepare(&q, s->c, "SELECT coalesce(sum(byte_len), 0) FROM evidence_chunk WHERE source=?1", err);
	if (rc == 0)
		rc = sql_int(q, 1, source, err);
	if (rc == 0)
		rc = sql_step(q, err);
	*ret = rc == 1 ? (uint64_t)sql_get_int(q, 0) : 0;
	return rc < 0 ? rc : 0;
}

/* 1: `whole` holds, from `off` on, len bytes with this hash. */
static int holds(struct session *s, int64_t whole, uint64_t off, uint64_t len, struct text want, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	unsigned char sha[SHA256_BYTES];
	int rc = evidence_read(s->c, whole, off, len, &b, err);
	if (rc == ERR_INPUT || rc == ERR_DAMAGED) { /* that the case is damaged is for verify to say */
		*err = (struct err){0};
		return 0;
	}
	if (rc == 0)
		rc = sha256_once(b.ptr, b.len, sha, err);
	return rc < 0 ? rc : want.len == SHA256_BYTES && !memcmp(sha, want.ptr, SHA256_BYTES);
}

/* 1: all bytes of `part` are the first of `whole`. */
static int is_beginning(struct session *s, int64_t part, uint64_t bytes, int64_t whole, struct err *err)
{
	CLEANUP(sql_endp) struct sql *q = NULL;
	uint64_t have;
	int rc = total_bytes(s, part, &have, err);
	if (rc < 0 || have != bytes)
		return rc;
	/* only the last chunk of a part can be another one */
	rc = sql_prepare(
	    &q, s->c,
	    "SELECT p.byte_off, p.byte_len, p.sha256 FROM evidence_chunk AS p WHERE p.source=?1 AND NOT EXISTS"
	    " (SELECT 1 FROM evidence_chunk AS w WHERE w.source=?2 AND w.byte_off=p.byte_off"
	    "  AND w.byte_len=p.byte_len AND w.sha256=p.sha256) ORDER BY p.byte_off LIMIT 1",
	    err);
	if (rc == 0)
		rc = sql_int(q, 1, part, err);
	if (rc == 0)
		rc = sql_int(q, 2, whole, err);
	if (rc == 0)
		rc = sql_step(q, err);
	if (rc <= 0)
		return rc < 0 ? rc : 1;
	uint64_t off = (uint64_t)sql_get_int(q, 0), len = (uint64_t)sql_get_int(q, 1);
	return off + len != bytes ? 0 : holds(s, whole, off, len, sql_get_text(q, 2), err);
}

/* Can two files of different paths be the same story at all? */
static bool may_relate(const struct traits *part, const struct traits *whole)
{
	if (part->kind != whole->kind || part->first_ns == TIME_UNKNOWN || part->bytes < HEAD_BYTES)
		return false;
	/* what comes behind may be earlier, but not by much: thousands of logs begin with the same banner */
	if (whole->first_ns > part->first_ns || stamps_apart(part->first_ns, whole->first_ns) > BEGIN_WITHIN_NS)
		return false;
	if (part->worker == whole->worker)
		return true;
	return !(part->named && whole->named) && part->bytes >= OTHER_NAME_MIN_BYTES;
}

static bool related(struct session *s, const struct source_result *part, const struct source_result *whole)
{
	const struct ingest_options *o = s->o;
	bool lines =
	    part->format.len && !format_is_document(part->format, o->parsers, o->n_parsers, o->wrappers, o->n_wrappers);
	struct traits a = custody_traits(part), b = custody_traits(whole);
	return lines && may_relate(&a, &b);
}

/* --- the two kinds of it --- */

static void say(char *out, size_t size, int64_t whole, struct text path)
{
	snprintf(out, size, REPEATS "%" PRId64 ": its bytes are the beginning of %.*s", whole, (int)MIN(path.len, 300),
		 path.ptr ? path.ptr : "");
}

int64_t repeat_whole(struct text reason)
{
	int64_t v = 0;
	if (!text_starts(reason, REPEATS))
		return 0;
	struct text n = text_from(reason, sizeof(REPEATS) - 1);
	size_t colon = text_find_char(n, ':', 0);
	return colon != SIZE_MAX && text_int64(text_sub(n, 0, colon), &v) ? v : 0;
}

static enum source_status status_of(const struct session *s, int64_t source)
{
	CLEANUP(sql_endp) struct sql *q = NULL;
	struct err ignored;
	if (sql_prepare(&q, s->c, "SELECT status FROM source WHERE source=?1", &ignored) < 0 ||
	    sql_int(q, 1, source, &ignored) < 0 || sql_step(q, &ignored) != 1)
		return SOURCE_INGESTED;
	struct text t = sql_get_text(q, 0);
	return text_is(t, "failed")         ? SOURCE_FAILED
	       : text_is(t, "unrecognised") ? SOURCE_UNRECOGNISED
					    : SOURCE_INGESTED;
}

int journal_row(struct session *s, int64_t source, struct err *err)
{
	struct arena a;
	struct source_result row;
	arena_init(&a, 0);
	int rc = custody_row(&s->custody, source, &row, &a, err);
	if (rc == 0) {
		row.status = status_of(s, source);
		rc = journal_source(s, &row, NULL, err);
	}
	arena_done(&a);
	return rc;
}

static int mark(struct session *s, const struct source_result *part, const struct source_result *whole, struct err *err)
{
	char reason[400];
	int64_t named = repeat_whole(part->reason);
	if (named && custody_find(&s->custody, named))
		return 0;                                          /* said already */
	bool failed = status_of(s, part->source) == SOURCE_FAILED; /* has a reason of its own */
	say(reason, sizeof(reason), whole->source, whole->path);
	int rc = custody_repeats(&s->custody, part->source, failed ? NULL : reason, err);
	return rc < 0 ? rc : journal_row(s, part->source, err);
}

/* --- looking --- */

struct look {
	struct session *s;
	const struct source_result *r;
	const struct stored *st;
	struct repeat *ret;
	uint64_t longest;
	uint64_t prefix; /* so many bytes of r have this hash: many sources have the same length */
	unsigned char sha256[SHA256_BYTES];
	struct arena arena; /* for the row at hand */
};

/* One look into one chunk: 1 the source e, which is short, is no beginning of r. */
static int is_other(struct look *l, const struct known *e, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	uint64_t len = e->traits.bytes;
	if (!e->has_content || e->failed || !len || len >= l->r->account.bytes || len >= EVIDENCE_CHUNK_BYTES)
		return 0;
	if (l->prefix != len) {
		int rc = evidence_read(l->s->c, l->r->source, 0, len, &b, err);
		if (rc == 0)
			rc = sha256_once(b.ptr, b.len, l->sha256, err);
		if (rc < 0)
			return rc;
		l->prefix = len;
	}
	return memcmp(l->sha256, e->content, SHA256_BYTES) != 0;
}

/* Of two with the same bytes, the one that was not read to its end is the part. */
static bool is_less(const struct look *l, const struct source_result *a, const struct source_result *b)
{
	const struct known *of_a = custody_find(&l->s->custody, a->source), *of_b;
	of_b = custody_find(&l->s->custody, b->source);
	bool a_failed = a == l->r ? a->status == SOURCE_FAILED : of_a && of_a->failed;
	bool b_failed = b == l->r ? b->status == SOURCE_FAILED : of_b && of_b->failed;
	if (a->account.bytes != b->account.bytes)
		return a->account.bytes < b->account.bytes;
	return a_failed && (!b_failed || strcmp(a->sha256, b->sha256) > 0);
}

/* e is less: does it go? */
static int is_outgrown(const struct look *l, const struct source_result *e, struct err *err)
{
	if (text_eq(e->path, l->r->path))
		return 1;
	return related(l->s, e, l->r) && replay_gone(e, false, l->st->path, l->st->has_sha ? l->st->sha256 : NULL, err);
}

static int outgrow(struct look *l, const struct source_result *e, struct err *err)
{
	char why[96];
	if (!is_outgrown(l, e, err))
		return 0;
	int rc = is_beginning(l->s, e->source, e->account.bytes, l->r->source, err);
	if (rc <= 0)
		return rc;
	snprintf(why, sizeof(why), "its file has grown: all of it is in source %" PRId64, l->r->source);
	return custody_drop(&l->s->custody, e->source, why, err);
}

static int compare(struct look *l, const struct source_result *e, struct err *err)
{
	const struct source_result *r = l->r;
	bool same = text_eq(e->path, r->path);
	bool shorter = is_less(l, e, r);
	const struct source_result *part = shorter ? e : r, *whole = shorter ? r : e;
	if ((!shorter && !is_less(l, r, e)) || (!same && !related(l->s, part, whole)))
		return 0;
	if (!shorter && (e->account.bytes < l->longest || !r->account.bytes))
		return 0;
	int rc = is_beginning(l->s, part->source, part->account.bytes, whole->source, err);
	if (rc <= 0)
		return rc;
	if (shorter)
		return mark(l->s, e, r, err);
	l->longest = e->account.bytes;
	l->ret->whole = e->source;
	l->ret->same_file = same;
	say(l->ret->reason, sizeof(l->ret->reason), e->source, e->path);
	return 0;
}

/* Calls f() with every row that may be a beginning of r, or the other way round. */
static int each(struct look *l, int (*f)(struct look *l, const struct source_result *e, struct err *err),
		bool shorter_only, struct err *err)
{
	struct custody *k = &l->s->custody;
	const struct known *self = custody_find(k, l->r->source);
	struct head head = self ? self->head : (struct head){0};
	struct traits t = custody_traits(l->r);
	uint64_t path_hash = text_hash(l->r->path);
	int rc = 0;
	for (size_t i = k->n; rc >= 0 && i-- > 0;) {
		if (i >= k->n)
			continue;
		const struct known *e = &k->known[i];
		bool less = e->traits.bytes < t.bytes;
		if (shorter_only && e->traits.bytes > t.bytes)
			continue;
		if (e->traits.bytes == t.bytes && !e->failed && l->r->status != SOURCE_FAILED)
			continue;
		if (e->pending || e->reading || e->seam || e->source == l->r->source)
			continue;
		if (e->path_hash != path_hash &&
		    !(head_alike(&head, &e->head) && may_relate(less ? &e->traits : &t, less ? &t : &e->traits)))
			continue;
		rc = is_other(l, e, err);
		if (rc != 0) {
			rc = rc < 0 ? rc : 0;
			continue;
		}
		struct source_result row;
		arena_reset(&l->arena);
		rc = custody_row(k, e->source, &row, &l->arena, err);
		if (rc == 0 && (!shorter_only || is_less(l, &row, l->r)))
			rc = f(l, &row, err);
	}
	return rc < 0 ? rc : 0;
}

int repeat_look(struct session *s, const struct source_result *r, const struct stored *st, struct repeat *ret,
		struct err *err)
{
	struct look l = {.s = s, .r = r, .st = st, .ret = ret};
	*ret = (struct repeat){0};
	if (s->like)
		return 0;
	arena_init(&l.arena, 0);
	/* first what goes, so that nothing names it any more */
	int rc = r->status == SOURCE_FAILED ? 0 : each(&l, outgrow, true, err);
	if (rc == 0)
		rc = each(&l, compare, false, err);
	arena_done(&l.arena);
	return rc;
}

/* --- taking back --- */

static int restore(struct session *s, int64_t source, struct err *err)
{
	CLEANUP(sql_endp) struct sql *q = NULL;
	struct account account;
	int rc = custody_drop_events(&s->custody, source, err);
	if (rc == 0)
		rc = sql_prepare(&q, s->c,
				 "UPDATE source SET bytes=(SELECT coalesce(sum(byte_len), 0) FROM evidence_chunk"
				 " WHERE source=?1), reason=NULL WHERE source=?1",
				 err);
	if (rc == 0)
		rc = sql_int(q, 1, source, err);
	if (rc == 0)
		rc = sql_run(q, err);
	return rc < 0 ? rc : ingest_again(s->c, s->o, source, &account, err);
}

/* The first source that repeats `whole`; 0 none. */
static int find_part(struct session *s, int64_t whole, int64_t *ret, struct err *err)
{
	struct custody *k = &s->custody;
	int rc = 0;
	*ret = 0;
	for (size_t i = 0; i < k->n && rc == 0 && !*ret; i++) {
		struct source_result row;
		struct arena a;
		if (!k->known[i].repeats || k->known[i].pending)
			continue;
		arena_init(&a, 0);
		rc = custody_row(k, k->known[i].source, &row, &a, err);
		if (rc == 0 && repeat_whole(row.reason) == whole)
			*ret = row.source;
		arena_done(&a);
	}
	return rc;
}

static int release(struct session *s, int64_t part, struct err *err)
{
	int rc = restore(s, part, err);
	struct known *e = custody_find(&s->custody, part);
	if (e)
		e->repeats = false;
	return rc;
}

int repeat_release(struct session *s, int64_t whole, struct err *err)
{
	int64_t part;
	int rc;
	while ((rc = find_part(s, whole, &part, err)) == 0 && part) {
		rc = release(s, part, err);
		if (rc == 0)
			rc = journal_row(s, part, err);
		if (rc < 0)
			return rc;
	}
	return rc;
}

/* What it repeats now, and what repeats it. */
static int look_again(struct session *s, int64_t source, struct err *err)
{
	struct arena a;
	struct source_result row;
	struct repeat found = {0};
	arena_init(&a, 0);
	int rc = custody_row(&s->custody, source, &row, &a, err);
	const struct known *e = custody_find(&s->custody, source);
	row.status = e && e->failed ? SOURCE_FAILED : SOURCE_INGESTED;
	char *path = rc == 0 ? strndup(row.path.ptr ? row.path.ptr : "", row.path.len) : NULL;
	struct stored st = {.path = path};
	if (rc == 0 && !path)
		rc = err_nomem(err);
	if (rc == 0)
		rc = repeat_look(s, &row, &st, &found, err);
	if (rc == 0 && found.whole)
		rc = custody_repeats(&s->custody, source, e && e->failed ? NULL : found.reason, err);
	free(path);
	arena_done(&a);
	return rc < 0 ? rc : journal_row(s, source, err);
}

int repeat_again(struct session *s, int64_t source, struct err *err)
{
	struct known *e = custody_find(&s->custody, source);
	int64_t part;
	int rc = 0;
	if (e && e->repeats)
		rc = release(s, source, err);
	if (rc == 0)
		rc = look_again(s, source, err);
	/* those that repeated it: what they are depends on its name, too */
	for (int64_t last = 0; rc == 0; last = part) {
		rc = find_part(s, source, &part, err);
		if (rc < 0 || !part || part == last)
			break;
		rc = release(s, part, err);
		if (rc == 0)
			rc = look_again(s, part, err);
	}
	return rc;
}

int repeat_give_up(struct session *s, struct err *err)
{
	struct custody *k = &s->custody;
	int rc = 0;
	for (size_t i = 0; i < k->n && rc == 0; i++) {
		int64_t source = k->known[i].source;
		struct source_result row;
		struct arena a;
		uint64_t bytes;
		if (!k->known[i].stale || !k->known[i].reading)
			continue;
		rc = total_bytes(s, source, &bytes, err);
		if (rc == 0 && !bytes) {
			rc = custody_drop(k, source, NULL, err);
			i--;
			continue;
		}
		if (rc == 0)
			rc = restore(s, source, err);
		if (rc == 0)
			rc = custody_give_up(k, source,
					     "a run was stopped while it read this, and the file holds other "
					     "bytes now: what was read of it is kept",
					     err);
		arena_init(&a, 0);
		if (rc == 0)
			rc = custody_row(k, source, &row, &a, err);
		if (rc == 0) {
			row.status = SOURCE_FAILED;
			rc = journal_source(s, &row, NULL, err);
		}
		if (rc == 0 && s->o->on_source)
			rc = s->o->on_source(s->o->ctx, &row);
		arena_done(&a);
	}
	return rc;
}
