/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c - reads everything once and says what is not as it was written
 *
 * A fault never hides another: each chunk is judged by itself, and only a case that cannot be read at all (memory, the
 * system) ends the walk early. A source whose status is 'reading' is no fault: its chunks come before its row's numbers.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pagetrail/column.h"
#include "store.h"

struct verify {
	struct case_file *c;
	int (*report)(void *ctx, struct text where, struct text what);
	void *ctx;
	uint64_t faults;
};

static int fault(struct verify *v, const char *where, const char *what)
{
	v->faults++;
	return v->report(v->ctx, text_of(where), text_of(what));
}

/* Damage becomes a fault; anything else ends the walk. */
static int judge(struct verify *v, int code, const char *where, const struct err *found, struct err *err)
{
	if (code != ERR_DAMAGED && code != ERR_STORE) {
		if (err)
			*err = *found;
		return code;
	}
	return fault(v, where, found->what);
}

/* --- the database --- */

static int verify_database(struct verify *v, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct err e = {0};
	int r = sql_prepare(&s, v->c, "PRAGMA integrity_check(100)", &e);
	while (!r && (r = sql_step(s, &e)) > 0) {
		struct text t = sql_get_text(s, 0);
		char line[256];
		snprintf(line, sizeof(line), "%.*s", (int)MIN(t.len, sizeof(line) - 1), t.ptr ? t.ptr : "");
		r = text_is(t, "ok") ? 0 : fault(v, "database", line);
	}
	return r < 0 && e.code ? judge(v, r, "database", &e, err) : r;
}

static int verify_keys(struct verify *v, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct err e = {0};
	int r = sql_prepare(&s, v->c, "PRAGMA foreign_key_check", &e);
	while (!r && (r = sql_step(s, &e)) > 0) {
		char where[300], what[300];
		struct text table = sql_get_text(s, 0), parent = sql_get_text(s, 2);
		snprintf(where, sizeof(where), "table %.*s row %" PRId64, (int)MIN(table.len, 200u),
			 table.ptr ? table.ptr : "", sql_get_int(s, 1));
		snprintf(what, sizeof(what), "names a row of %.*s that is not there", (int)MIN(parent.len, 200u),
			 parent.ptr ? parent.ptr : "");
		r = fault(v, where, what);
	}
	return r < 0 && e.code ? judge(v, r, "foreign keys", &e, err) : r;
}

static int on_custody(void *ctx, struct text where, struct text what)
{
	struct verify *v = ctx;
	v->faults++;
	return v->report(v->ctx, where, what);
}

static int verify_custody(struct verify *v, struct err *err)
{
	struct err e = {0};
	int r = case_verify_custody(v->c, on_custody, v, &e);
	return r < 0 && e.code ? judge(v, r, "journal and sources", &e, err) : MIN(r, 0);
}

/* --- evidence --- */

struct evidence_walk {
	struct sha256 *content; /* of the source at hand */
	uint64_t expect;        /* where its next chunk must begin */
	bool whole;             /* no chunk was bad or missing so far */
	struct buf raw;
};

static int verify_evidence_chunk(struct verify *v, struct evidence_walk *w, struct sql *s, int64_t source,
				 struct err *err)
{
	struct err e = {0};
	char where[96], what[96];
	int64_t off = sql_get_int(s, 0), len = sql_get_int(s, 1);
	int r = 0;
	snprintf(where, sizeof(where), "evidence S%" PRId64 "@%" PRId64 "+%" PRId64, source, off, len);
	if ((uint64_t)off != w->expect) {
		snprintf(what, sizeof(what), "does not follow the chunk before, which ends at %" PRIu64, w->expect);
		w->whole = false;
		r = fault(v, where, what);
		if (r)
			return r;
	}
	w->expect = (uint64_t)off + (uint64_t)len;
	r = evidence_decode(sql_get_int(s, 2), len, sql_get_text(s, 3), sql_get_text(s, 4), &w->raw, &e);
	if (r) {
		w->whole = false;
		return judge(v, r, where, &e, err);
	}
	return w->whole ? sha256_add(w->content, w->raw.ptr, w->raw.len, err) : 0;
}

/* The source as a whole: number and hash of its bytes. */
static int verify_content(struct verify *v, struct evidence_walk *w, struct sql *row, struct err *err)
{
	unsigned char sha[SHA256_BYTES];
	char hex[SHA256_HEX], where[64];
	struct text want = sql_get_text(row, 1);
	int r = sha256_end(w->content, sha, err);
	w->content = NULL;
	if (r ||
	    !want.ptr) /* a run was stopped while it was read, or its end was not reached: only its chunks are fixed */
		return r;
	snprintf(where, sizeof(where), "source S%" PRId64, sql_get_int(row, 0));
	if ((uint64_t)sql_get_int(row, 2) != w->expect)
		return fault(v, where, "number of bytes is not that of its evidence");
	sha256_hex(sha, hex);
	if (w->whole && !text_is(want, hex))
		return fault(v, where, "content_sha256 is not that of its evidence");
	return 0;
}

static int verify_source(struct verify *v, struct evidence_walk *w, struct sql *row, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct err e = {0};
	int64_t source = sql_get_int(row, 0);
	w->expect = 0;
	w->whole = true;
	int r = sha256_new(&w->content, err);
	if (!r)
		r = sql_prepare(&s, v->c,
				"SELECT byte_off, byte_len, codec, data, sha256 FROM evidence_chunk "
				"WHERE source = ?1 ORDER BY byte_off",
				err);
	if (!r)
		r = sql_int(s, 1, source, err);
	while (!r && (r = sql_step(s, &e)) > 0)
		r = verify_evidence_chunk(v, w, s, source, err);
	if (r < 0 && e.code) {
		char where[64];
		snprintf(where, sizeof(where), "evidence S%" PRId64, source);
		w->whole = false;
		r = judge(v, r, where, &e, err);
	}
	return r ? r : verify_content(v, w, row, err);
}

static int verify_account(struct verify *v, struct sql *row)
{
	char where[64];
	snprintf(where, sizeof(where), "source S%" PRId64, sql_get_int(row, 0));
	int64_t sum[2] = {0, 0};
	for (int i = 0; i < 4; i++) {
		int64_t records = sql_get_int(row, 4 + i), bytes = sql_get_int(row, 8 + i);
		if (records < 0 || bytes < 0 || __builtin_add_overflow(sum[0], records, &sum[0]) ||
		    __builtin_add_overflow(sum[1], bytes, &sum[1]))
			return fault(v, where, "its account holds an impossible number");
	}
	if (sum[0] != sql_get_int(row, 3))
		return fault(v, where, "records are not parsed + context + unparsed + duplicate");
	if (sum[1] != sql_get_int(row, 2))
		return fault(v, where, "bytes are not parsed + context + unparsed + duplicate");
	return 0;
}

static int verify_sources(struct verify *v, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct evidence_walk w = {.raw = BUF_INIT(CHUNK_MAX_DECODED_BYTES)};
	struct err e = {0};
	int r = sql_prepare(&s, v->c,
			    "SELECT source, content_sha256, bytes, records, parsed, context, unparsed, duplicate, "
			    "bytes_parsed, bytes_context, bytes_unparsed, bytes_duplicate FROM source ORDER BY source",
			    &e);
	while (!r && (r = sql_step(s, &e)) > 0) {
		r = verify_account(v, s);
		if (!r)
			r = verify_source(v, &w, s, err);
	}
	sha256_free(w.content);
	buf_done(&w.raw);
	return r < 0 && e.code ? judge(v, r, "sources", &e, err) : r;
}

/* --- events --- */

/* The row says of the chunk what the chunk says of itself. */
static const char *compare_zone(const struct event_batch *b, struct sql *s)
{
	int64_t ts_min = TIME_UNKNOWN, ts_max = TIME_UNKNOWN, first = INT64_MAX, end = 0, bytes = sql_get_int(s, 9);
	if (b->n != sql_get_int(s, 4))
		return "number of events differs";
	for (uint32_t i = 0; i < b->n; i++) {
		first = MIN(first, (int64_t)b->byte_off[i]);
		end = MAX(end, (int64_t)(b->byte_off[i] + b->byte_len[i]));
		if (b->ts_ns[i] == TIME_UNKNOWN)
			continue;
		ts_min = ts_min == TIME_UNKNOWN ? b->ts_ns[i] : MIN(ts_min, b->ts_ns[i]);
		ts_max = MAX(ts_max, b->ts_ns[i]);
	}
	if (first != sql_get_int(s, 2) || end != sql_get_int(s, 3))
		return "range of bytes differs";
	if (ts_min != sql_get_time(s, 5) || ts_max != sql_get_time(s, 6))
		return "range of times differs";
	if (!sql_get_int(s, 10) && end > bytes)
		return "names bytes that its source does not have";
	return NULL;
}

static int verify_event_chunk(struct verify *v, struct sql *s, struct err *err)
{
	struct err e = {0};
	struct event_batch *b = NULL;
	char where[96];
	int64_t kind = sql_get_int(s, 1);
	struct text data = sql_get_text(s, 8);
	snprintf(where, sizeof(where), "event chunk %" PRId64, sql_get_int(s, 0));
	int r = store_check_sha256(data, sql_get_text(s, 7), &e);
	if (!r && (kind < 0 || kind >= EVENT_KINDS))
		r = err_set(&e, ERR_DAMAGED, "unknown kind of events");
	if (!r)
		r = column_decode((enum event_kind)kind, data, UINT32_MAX, &b, &e);
	if (r)
		return judge(v, r, where, &e, err);
	const char *what = compare_zone(b, s);
	event_batch_free(b);
	return what ? fault(v, where, what) : 0;
}

static int verify_events(struct verify *v, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct err e = {0};
	int r =
	    sql_prepare(&s, v->c,
			"SELECT chunk, kind, byte_min, byte_max, n, ts_min, ts_max, event_chunk.sha256, data, bytes, "
			"status = 'reading' FROM event_chunk LEFT JOIN source USING(source) ORDER BY chunk",
			&e);
	while (!r && (r = sql_step(s, &e)) > 0)
		r = verify_event_chunk(v, s, err);
	return r < 0 && e.code ? judge(v, r, "event chunks", &e, err) : r;
}

int case_verify(struct case_file *c, int (*report)(void *ctx, struct text where, struct text what), void *ctx,
		struct err *err)
{
	struct verify v = {c, report, ctx, 0};
	int r = verify_database(&v, err);
	if (!r)
		r = verify_keys(&v, err);
	if (!r)
		r = verify_custody(&v, err);
	if (!r)
		r = verify_sources(&v, err);
	if (!r)
		r = verify_events(&v, err);
	return r ? r : v.faults > 0;
}
