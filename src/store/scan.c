/* SPDX-License-Identifier: Apache-2.0 */
/* scan.c - all events of one kind, one decoded chunk at a time
 *
 * Order: source, first byte, chunk. One chunk is in memory at any time. The hash of a chunk is checked before it is
 * decoded.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/evidence.h"
#include "scan.h"
#include "store.h"

struct event_scan {
	struct sql *sql;
	enum event_kind kind;
	uint32_t mask;
	int64_t chunk;
	bool ended;
	struct event_batch *batch;
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
	if (column != COLUMN_WORKER)
		s->column = column;
	*to = BUF_INIT(needle.len + 1);
	return buf_add_text(to, needle, err);
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

/* The next chunk that may hold what is asked for, its hash checked. */
static int next_chunk(struct event_scan *s, struct text *ret, struct err *err)
{
	int r;
	while ((r = sql_step(s->sql, err)) == 1) {
		if (case_stopped(s->sql->c))
			return err_set(err, ERR_INTERRUPTED, "stopped");
		s->chunk = sql_get_int(s->sql, 0);
		*ret = sql_get_text(s->sql, 4);
		r = store_check_sha256(*ret, sql_get_text(s->sql, 3), err);
		if (!r)
			r = may_hold(s, *ret, sql_get_text(s->sql, 5), err);
		if (r)
			break;
	}
	return r;
}

int event_scan_next(struct event_scan *s, const struct event_batch **ret, int64_t *ret_source, struct err *err)
{
	event_batch_free(s->batch);
	s->batch = NULL;
	struct text data;
	int r = s->ended ? 0 : next_chunk(s, &data, err);
	s->ended = r <= 0;
	if (!r)
		return 0;
	if (r == 1)
		r = column_decode_stored(s->sql->c, sql_get_int(s->sql, 1), s->kind, data, s->mask, &s->batch, err);
	if (!r && s->batch->n != sql_get_int(s->sql, 2))
		r = err_set(err, ERR_DAMAGED, "event chunk: number of events");
	if (r) {
		err_where(err, "event chunk %" PRId64 " of S%" PRId64, s->chunk, sql_get_int(s->sql, 1));
		return r;
	}
	*ret = s->batch;
	*ret_source = sql_get_int(s->sql, 1);
	return 1;
}

int64_t event_scan_chunk(const struct event_scan *s)
{
	return s->chunk;
}

void event_scan_close(struct event_scan *s)
{
	if (!s)
		return;
	event_batch_free(s->batch);
	sql_end(s->sql);
	buf_done(&s->text);
	buf_done(&s->worker);
	free(s);
}
