/* SPDX-License-Identifier: Apache-2.0 */
/* salvage.c - a new case out of what is still good of a damaged one: sources and their evidence
 *
 * Evidence is what everything else follows from. A chunk is good when its bytes have the hash that stands beside them; it
 * belongs where the table or the index says, whichever closes up with its neighbours. A source whose seal holds and whose
 * chunks are all good goes over as it is. Of any other the good evidence goes over, with a row that the journal knows
 * better than the table, and its events are made again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/array.h"
#include "pagetrail/buf.h"
#include "salvage.h"
#include "verify.h"

enum { COMMIT_BYTES = 32 * 1024 * 1024 };

struct place { /* where a chunk of evidence may belong */
	int64_t source, off, len, row;
};

struct places {
	struct place *list;
	size_t n, cap;
};

struct walk {
	struct salvage *v;
	struct sealed_list sealed;
	struct places places;
	int64_t *sources; /* all that are known from anywhere, ascending */
	size_t n_sources, cap_sources;
	struct sql *read_evidence, *write_evidence, *read_row, *reject;
	struct buf raw;
	uint64_t uncommitted;
	uint64_t lost;   /* bytes, of all sources */
	int64_t touched; /* sources that are not as they were */
};

static int wrote(struct walk *w, uint64_t bytes, struct err *err)
{
	w->uncommitted += bytes;
	if (w->uncommitted < COMMIT_BYTES)
		return 0;
	w->uncommitted = 0;
	int r = case_commit(w->v->to, err);
	return r ? r : case_begin(w->v->to, err);
}

/* --- what there is --- */

static int add_source(struct walk *w, int64_t source, struct err *err)
{
	if (source <= 0 || (w->n_sources && w->sources[w->n_sources - 1] == source))
		return 0;
	int rc = grow_array((void **)&w->sources, &w->cap_sources, w->n_sources, sizeof(*w->sources), err);
	if (!rc)
		w->sources[w->n_sources++] = source;
	return rc;
}

static int add_place(struct walk *w, struct place at, struct err *err)
{
	struct places *p = &w->places;
	if (at.source <= 0 || at.off < 0)
		return 0;
	int rc = grow_array((void **)&p->list, &p->cap, p->n, sizeof(*p->list), err);
	if (!rc)
		p->list[p->n++] = at;
	return rc;
}

static int on_source_row(void *ctx, struct sql *s, struct err *err)
{
	return add_source(ctx, sql_get_int(s, 0), err);
}

static int on_evidence_row(void *ctx, struct sql *s, struct err *err)
{
	return add_place(
	    ctx, (struct place){sql_get_int(s, 1), sql_get_int(s, 2), sql_get_int(s, 3), sql_get_int(s, 0)}, err);
}

/* The index may say of a chunk what its row cannot say any more, or says otherwise. */
static int add_index(struct walk *w, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int r = sql_prepare(&s, w->v->from,
			    "SELECT source, byte_off, rowid FROM main.evidence_chunk ORDER BY source, byte_off", err);
	while (!r && (r = sql_step(s, err)) > 0)
		r = add_place(w, (struct place){sql_get_int(s, 0), sql_get_int(s, 1), -1, sql_get_int(s, 2)}, err);
	return r && salvage_goes_on(r) ? 0 : r;
}

static int place_cmp(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->len < y->len ? 1 : x->len > y->len ? -1 : 0; /* what knows its length comes first */
}

static int id_cmp(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

static int list_all(struct walk *w, struct err *err)
{
	unsigned holes;
	int r = salvage_walk(w->v, "SELECT source FROM main.source NOT INDEXED WHERE source >= ?1 ORDER BY source",
			     on_source_row, w, &holes, err);
	if (!r)
		r = salvage_walk(w->v,
				 "SELECT rowid, source, byte_off, byte_len FROM main.evidence_chunk NOT INDEXED "
				 "WHERE rowid >= ?1 ORDER BY rowid",
				 on_evidence_row, w, &holes, err);
	if (!r)
		r = add_index(w, err);
	for (size_t i = 0; !r && i < w->sealed.n; i++)
		if (!w->sealed.list[i].dropped)
			r = add_source(w, w->sealed.list[i].source, err);
	for (size_t i = 0; !r && i < w->places.n; i++)
		r = add_source(w, w->places.list[i].source, err);
	if (r)
		return r;
	if (w->places.n)
		qsort(w->places.list, w->places.n, sizeof(*w->places.list), place_cmp);
	if (w->n_sources)
		qsort(w->sources, w->n_sources, sizeof(*w->sources), id_cmp);
	size_t n = 0;
	for (size_t i = 0; i < w->n_sources; i++)
		if (!n || w->sources[n - 1] != w->sources[i])
			w->sources[n++] = w->sources[i];
	w->n_sources = n;
	return 0;
}

/* --- one source --- */

struct part { /* of the bytes of a source */
	uint64_t off, len;
	int64_t row; /* 0: lost */
};

struct one {
	int64_t source;
	const struct sealed_source *sealed; /* NULL: the journal does not know it */
	const struct place *places;
	size_t n_places;
	struct part *parts;
	size_t n_parts;
	uint64_t end, bytes, lost;
	bool has_sha;
	char sha[SHA256_HEX];           /* of the bytes, when none is lost */
	bool has_row, reading, differs; /* differs: from the content_sha256 that the journal names */
	const char *why;
};

/* Reads and decodes a chunk into w->raw: 1 its bytes have the hash that stands beside them. */
static int good_chunk(struct walk *w, int64_t row, struct err *err)
{
	struct sql *s = w->read_evidence;
	struct err e = {0};
	int r = salvage_get(s, row, err);
	if (r <= 0)
		return r;
	int64_t len = sql_get_int(s, 2);
	r = evidence_decode(sql_get_int(s, 4), len, sql_get_text(s, 5), sql_get_text(s, 3), &w->raw, &e);
	if (!r && len > 0)
		return 1;
	sql_reset(s);
	if (!r || salvage_goes_on(r))
		return 0;
	if (err)
		*err = e;
	return r;
}

static void add_part(struct one *o, uint64_t off, uint64_t len, int64_t row)
{
	o->parts[o->n_parts++] = (struct part){off, len, row};
	o->end = off + len;
	if (!row)
		o->lost += len;
}

/* Copies the chunk that good_chunk() has just read to where it belongs. */
static int write_chunk(struct walk *w, struct one *o, uint64_t off, struct err *err)
{
	struct sql *from = w->read_evidence, *to = w->write_evidence;
	int r = sql_int(to, 1, o->source, err);
	if (!r)
		r = sql_int(to, 2, (int64_t)off, err);
	if (!r)
		r = sql_int(to, 3, (int64_t)w->raw.len, err);
	if (!r)
		r = sql_blob(to, 4, sql_get_text(from, 3), err);
	if (!r)
		r = sql_int(to, 5, sql_get_int(from, 4), err);
	if (!r)
		r = sql_blob(to, 6, sql_get_text(from, 5).ptr ? sql_get_text(from, 5) : TEXT(""), err);
	return r ? r : sql_run(to, err);
}

/* The chunks in order; where the next good one does not begin at the end of the one before, bytes are lost. */
static int save_chunks(struct walk *w, struct one *o, struct err *err)
{
	struct sha256 *sha = NULL;
	unsigned char digest[SHA256_BYTES];
	int r = sha256_new(&sha, err);
	for (size_t i = 0; !r && i < o->n_places; i++) {
		const struct place *p = &o->places[i];
		if ((uint64_t)p->off < o->end || (o->bytes && (uint64_t)p->off >= o->bytes))
			continue; /* another chunk holds these bytes already, or the source has no such */
		r = good_chunk(w, p->row, err);
		if (r <= 0)
			continue;
		/* the row and the index name different places: a place in between must fit on both sides */
		bool agreed =
		    sql_get_int(w->read_evidence, 0) == o->source && sql_get_int(w->read_evidence, 1) == p->off;
		if (!agreed && (uint64_t)p->off != o->end) {
			sql_reset(w->read_evidence);
			r = 0;
			continue;
		}
		if ((uint64_t)p->off > o->end)
			add_part(o, o->end, (uint64_t)p->off - o->end, 0);
		r = write_chunk(w, o, (uint64_t)p->off, err);
		sql_reset(w->read_evidence);
		if (!r)
			r = sha256_add(sha, w->raw.ptr, w->raw.len, err);
		add_part(o, (uint64_t)p->off, w->raw.len, p->row);
		if (!r)
			r = wrote(w, w->raw.len, err);
		if (!r && case_stopped(w->v->from))
			r = err_set(err, ERR_INTERRUPTED, "stopped");
	}
	if (r < 0) {
		sha256_free(sha);
		return r;
	}
	if (o->bytes > o->end)
		add_part(o, o->end, o->bytes - o->end, 0);
	o->bytes = o->end;
	r = sha256_end(sha, digest, err);
	o->has_sha = !o->lost;
	sha256_hex(digest, o->sha);
	return r;
}

/* --- a source that is as it was --- */

/* 1: seal and hashes of all event chunks hold. Only then is the row believed. A run that was stopped has not sealed what it
 * was reading: there, the events must come from the evidence that is here. */
static int seal_holds(struct walk *w, struct one *o, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct err e = {0};
	char seal[SHA256_HEX];
	int r = source_seal(w->v->from, o->source, seal, &e);
	if (!r && !o->reading && (!o->sealed || strcmp(o->sealed->seal, seal)))
		return 0;
	if (!r)
		r = sql_prepare(&s, w->v->from,
				"SELECT sha256, data, byte_min FROM main.event_chunk WHERE kind BETWEEN 0 AND 63 AND "
				"source = ?1",
				&e);
	if (!r)
		r = sql_int(s, 1, o->source, &e);
	while (!r && (r = sql_step(s, &e)) > 0) {
		r = store_check_sha256(sql_get_text(s, 1), sql_get_text(s, 0), &e);
		if (!r && o->reading && (sql_get_int(s, 2) < 0 || (uint64_t)sql_get_int(s, 2) >= o->end))
			return 0;
	}
	if (!r)
		return 1;
	if (salvage_goes_on(r))
		return 0;
	if (err)
		*err = e;
	return r;
}

#define SOURCE_COLUMNS                                                                                                \
	"source, path, sha256, content_sha256, stored_bytes, container, format, format_basis, worker, worker_alias, " \
	"worker_basis, role, tz, tz_basis, bytes, records, parsed, context, unparsed, duplicate, bytes_parsed, "      \
	"bytes_context, bytes_unparsed, bytes_duplicate, first_ns, last_ns, status, reason"
#define SOURCE_VALUES \
	"?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,?23,?24,?25,?26,?27,?28"

static int copy_whole(struct walk *w, const struct one *o, struct err *err)
{
	static const char *const texts[][2] = {
	    {"SELECT " SOURCE_COLUMNS " FROM main.source WHERE source = ?1",
	     "INSERT INTO source(" SOURCE_COLUMNS ") VALUES(" SOURCE_VALUES ")"},
	    {"SELECT source, byte_off, byte_len, records, reason FROM main.reject WHERE source = ?1 ORDER BY byte_off",
	     "INSERT INTO reject(source, byte_off, byte_len, records, reason) VALUES(?1, ?2, ?3, ?4, ?5)"},
	    {"SELECT kind, source, byte_min, byte_max, n, ts_min, ts_max, sha256, data FROM main.event_chunk "
	     "WHERE kind BETWEEN 0 AND 63 AND source = ?1 ORDER BY byte_min, chunk",
	     "INSERT INTO event_chunk(kind, source, byte_min, byte_max, n, ts_min, ts_max, sha256, data) "
	     "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"},
	};
	int r = 0;
	for (size_t i = 0; !r && i < ARRAY_SIZE(texts); i++) {
		CLEANUP(sql_endp) struct sql *from = NULL;
		CLEANUP(sql_endp) struct sql *to = NULL;
		r = sql_prepare(&from, w->v->from, texts[i][0], err);
		if (!r)
			r = sql_prepare(&to, w->v->to, texts[i][1], err);
		if (!r)
			r = sql_int(from, 1, o->source, err);
		if (!r)
			r = salvage_copy(from, to, i == 2, err);
	}
	return r;
}

/* What stands whole in another source. A case of an older version has no such table, and of a damaged one what can be read is
 * taken: when a source is read again, the bytes of both are compared. */
static int copy_seams(struct walk *w, const struct one *o, struct err *err)
{
	CLEANUP(sql_endp) struct sql *from = NULL;
	CLEANUP(sql_endp) struct sql *to = NULL;
	struct err e = {0};
	int r = store_has_seams(w->v->from, &e);
	if (r > 0)
		r = sql_prepare(&from, w->v->from,
				"SELECT source, byte_off, byte_len, record, whole FROM main.seam WHERE source = ?1 "
				"ORDER BY byte_off",
				&e);
	else
		return r == 0 || salvage_goes_on(r) ? 0 : r;
	if (!r)
		r = sql_prepare(&to, w->v->to, "INSERT OR IGNORE INTO seam VALUES(?1, ?2, ?3, ?4, ?5)", &e);
	if (!r)
		r = sql_int(from, 1, o->source, &e);
	if (!r)
		r = salvage_copy(from, to, false, &e);
	if (!r || salvage_goes_on(r))
		return 0;
	if (err)
		*err = e;
	return r;
}

/* --- a source that is not --- */

/* A row out of what the table says and what the journal says; for the same fact the journal is believed, whose chain holds.
 * ?1 source, ?2 detail of the journal row or NULL, then the table's. */
static const char new_row[] =
    "INSERT INTO source(source, path, sha256, content_sha256, stored_bytes, container, format, format_basis, worker, "
    "worker_alias, worker_basis, role, tz, tz_basis, bytes, status, reason, records, unparsed, bytes_unparsed) SELECT "
    "?1, "
    "coalesce(iif(?2 IS NULL, ?3, json_extract(?2,'$.path')), 'source ' || ?1), "
    "iif(?2 IS NULL, ?4, json_extract(?2,'$.sha256')), "
    "iif(?2 IS NULL, ?5, json_extract(?2,'$.content_sha256')), "
    "?6, coalesce(?7, 'unknown'), iif(?2 IS NULL, ?8, json_extract(?2,'$.format')), "
    "coalesce(?9, '{\"reason\":\"salvaged\"}'), "
    "iif(?2 IS NULL, ?10, json_extract(?2,'$.worker')), ?11, ?12, "
    "iif(?2 IS NULL, ?13, json_extract(?2,'$.role')), "
    "coalesce(iif(?2 IS NULL, ?14, json_extract(?2,'$.tz')), 'UTC'), coalesce(?15, 'assumed'), "
    "0, coalesce(iif(?2 IS NULL, ?16, replace(json_extract(?2,'$.status'), 'resumed', 'ingested')), 'failed'), "
    "iif(?2 IS NULL, ?17, json_extract(?2,'$.reason')), 0, 0, 0";

static int read_row(struct walk *w, struct one *o, struct err *err)
{
	int r = salvage_get(w->read_row, o->source, err);
	if (r < 0)
		return r;
	o->has_row = r > 0;
	o->reading = r > 0 && !o->sealed && text_is(sql_get_text(w->read_row, 13), "reading");
	if (o->sealed && o->sealed->bytes >= 0)
		o->bytes = (uint64_t)o->sealed->bytes;
	else if (r > 0 && !o->reading && sql_get_int(w->read_row, 15) > 0)
		o->bytes = (uint64_t)sql_get_int(w->read_row, 15);
	return 0;
}

static int write_row(struct walk *w, const struct one *o, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct sql *row = w->read_row;
	int r = sql_prepare(&s, w->v->to, new_row, err);
	if (!r)
		r = sql_int(s, 1, o->source, err);
	if (!r)
		r = o->sealed ? sql_text(s, 2, text_of(o->sealed->detail), err) : sql_null(s, 2, err);
	for (int i = 0; !r && i < 15; i++) {
		int at = i + 3;
		if (!o->has_row)
			r = sql_null(s, at, err);
		else if (i == 3) /* stored_bytes */
			r = sql_type(row, i) == SQL_INT ? sql_int(s, at, sql_get_int(row, i), err)
							: sql_null(s, at, err);
		else
			r = sql_text(s, at, sql_get_text(row, i), err);
	}
	return r ? r : sql_run(s, err);
}

/* The status and the reason that everybody sees; the hash of the bytes, when they are all there. */
static int mark_row(struct walk *w, const struct one *o, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	char reason[200] = "";
	if (o->lost)
		snprintf(reason, sizeof(reason),
			 "salvaged from a damaged case: %" PRIu64 " of its %" PRIu64 " byte%s %s lost", o->lost,
			 o->bytes, PLURAL(o->bytes), o->lost == 1 ? "is" : "are");
	else if (!o->sealed && !o->has_row)
		snprintf(reason, sizeof(reason), "salvaged from a damaged case: what it was is lost");
	else if (o->differs)
		snprintf(reason, sizeof(reason),
			 "salvaged from a damaged case: its bytes are not those that the journal names");
	else if (o->reading)
		snprintf(reason, sizeof(reason), "salvaged from a damaged case, while a run that read it was stopped");
	int r = sql_prepare(&s, w->v->to,
			    "UPDATE source SET status = iif(?2 IS NULL, status, 'failed'), "
			    "reason = iif(?2 IS NULL OR reason IS NULL, coalesce(?2, reason), ?2 || '; ' || reason), "
			    "content_sha256 = iif(?3 OR content_sha256 IS NULL, content_sha256, coalesce(?4, "
			    "content_sha256)), bytes = ?5, "
			    "unparsed = 0, records = 0, bytes_unparsed = ?5 WHERE source = ?1",
			    err);
	if (!r)
		r = sql_int(s, 1, o->source, err);
	if (!r)
		r = sql_text(s, 2, reason[0] ? text_of(reason) : (struct text){NULL, 0}, err);
	if (!r)
		r = sql_int(s, 3, o->lost > 0 || o->reading, err);
	if (!r)
		r = o->has_sha ? sql_text(s, 4, text_of(o->sha), err) : sql_null(s, 4, err);
	if (!r)
		r = sql_int(s, 5, (int64_t)o->bytes, err);
	return r ? r : sql_run(s, err);
}

static int write_lost(struct walk *w, const struct one *o, struct err *err)
{
	int r = 0;
	for (size_t i = 0; !r && i < o->n_parts; i++) {
		const struct part *p = &o->parts[i];
		if (p->row)
			continue;
		r = sql_int(w->reject, 1, o->source, err);
		if (!r)
			r = sql_int(w->reject, 2, (int64_t)p->off, err);
		if (!r)
			r = sql_int(w->reject, 3, (int64_t)p->len, err);
		if (!r)
			r = sql_run(w->reject, err);
	}
	return r;
}

static const char *what_was_wrong(const struct one *o)
{
	if (o->lost)
		return "evidence is lost";
	if (o->differs)
		return "its bytes are not those that the journal names";
	if (!o->has_row)
		return "its row is lost";
	if (o->reading)
		return "it was not read to its end, and its events are not as they were";
	if (!o->sealed)
		return "the journal's row about it is lost";
	return "its row, rejects or events are not those of the seal";
}

/* All bytes are there, but are they those that the journal knows? */
static int compare_journal(struct walk *w, struct one *o, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	if (!o->has_sha || !o->sealed)
		return 0;
	int r = sql_prepare(&s, w->v->to, "SELECT ?2 <> json_extract(?1, '$.content_sha256')", err);
	if (!r)
		r = sql_text(s, 1, text_of(o->sealed->detail), err);
	if (!r)
		r = sql_text(s, 2, text_of(o->sha), err);
	if (!r)
		r = sql_step(s, err);
	if (r <= 0)
		return r;
	o->differs = sql_get_int(s, 0);
	return 0;
}

static int save_other(struct walk *w, struct one *o, struct err *err)
{
	int r = compare_journal(w, o, err);
	if (!r)
		r = write_row(w, o, err);
	if (!r)
		r = mark_row(w, o, err);
	if (!r)
		r = write_lost(w, o, err);
	o->why = what_was_wrong(o);
	w->touched++;
	return r;
}

/* Of a source that was not read to its end nobody says how many bytes there are, but for its chunks: where a row and the
 * index agree on one, its bytes were here. */
static uint64_t bytes_claimed(const struct one *o)
{
	uint64_t end = 0;
	for (size_t i = 0; i + 1 < o->n_places; i++) {
		const struct place *p = &o->places[i];
		if (p->len > 0 && p->len <= (int64_t)CHUNK_MAX_DECODED_BYTES && p->off < INT64_MAX / 2 &&
		    p[1].off == p->off && p[1].row == p->row && (uint64_t)(p->off + p->len) > end)
			end = (uint64_t)(p->off + p->len);
	}
	return end;
}

static int save_source(struct walk *w, struct one *o, struct err *err)
{
	int r = read_row(w, o, err);
	if (o->reading)
		o->bytes = bytes_claimed(o);
	if (!r) {
		o->parts = calloc(2 * o->n_places + 2, sizeof(*o->parts));
		r = o->parts ? save_chunks(w, o, err) : err_nomem(err);
	}
	int whole = r ? r : o->lost ? 0 : seal_holds(w, o, err);
	if (whole < 0)
		return whole;
	o->why = o->reading ? "it was not read to its end: 'pagetrail ingest' goes on with it" : "";
	r = whole ? copy_whole(w, o, err) : save_other(w, o, err);
	if (!r)
		r = copy_seams(w, o, err);
	sql_reset(w->read_row);
	w->lost += o->lost;
	if (r)
		return r;
	const struct salvaged s = {.source = o->source,
				   .again = !whole,
				   .bytes = o->bytes,
				   .lost = o->lost,
				   .records = o->sealed ? o->sealed->records : -1,
				   .why = o->why};
	return w->v->sink->source(w->v->sink->ctx, &s, err);
}

static int save_sources(struct walk *w, struct err *err)
{
	size_t at = 0;
	int r = 0;
	for (size_t i = 0; !r && i < w->n_sources; i++) {
		struct one o = {.source = w->sources[i]};
		while (at < w->places.n && w->places.list[at].source < o.source)
			at++;
		o.places = w->places.list + at;
		while (at + o.n_places < w->places.n && w->places.list[at + o.n_places].source == o.source)
			o.n_places++;
		o.sealed = sealed_find(&w->sealed, o.source);
		if (o.sealed && o.sealed->dropped)
			o.sealed = NULL;
		r = save_source(w, &o, err);
		free(o.parts);
	}
	return r;
}

/* --- the whole --- */

static int prepare(struct walk *w, struct err *err)
{
	int r = sql_prepare(&w->read_evidence, w->v->from,
			    "SELECT source, byte_off, byte_len, sha256, codec, data FROM main.evidence_chunk "
			    "NOT INDEXED WHERE rowid = ?1",
			    err);
	if (!r)
		r = sql_prepare(&w->write_evidence, w->v->to,
				"INSERT INTO evidence_chunk(source, byte_off, byte_len, sha256, codec, data) "
				"VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
				err);
	if (!r)
		r = sql_prepare(&w->read_row, w->v->from,
				"SELECT path, sha256, content_sha256, stored_bytes, container, format, format_basis, "
				"worker, worker_alias, worker_basis, role, tz, tz_basis, status, reason, bytes "
				"FROM main.source WHERE source = ?1",
				err);
	if (!r)
		r = sql_prepare(&w->reject, w->v->to,
				"INSERT INTO reject(source, byte_off, byte_len, records, reason) "
				"VALUES(?1, ?2, ?3, 1, '" EVIDENCE_LOST "')",
				err);
	return r;
}

/* Also pages of which nothing is taken over, of tables that are made again and of indexes, were not to change. */
static int count_page(void *ctx, uint64_t page)
{
	(void)page;
	++*(uint64_t *)ctx;
	return 0;
}

static int note_pages(struct walk *w, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct err e = {0};
	uint64_t n = 0;
	char what[96];
	int r = case_check_pages(w->v->from, count_page, &n);
	if (!r && !n) { /* a page of zeros has no sum that could be wrong */
		r = sql_prepare(&s, w->v->from, "PRAGMA quick_check(1)", &e);
		if (!r)
			r = sql_step(s, &e);
		if (r > 0 && text_is(sql_get_text(s, 0), "ok"))
			return 0;
		if (r >= 0 || salvage_goes_on(r))
			return w->v->sink->note(w->v->sink->ctx, TEXT("the damaged case"),
						TEXT("its pages do not fit together"));
		if (err)
			*err = e;
	}
	if (r)
		return r;
	snprintf(what, sizeof(what), "%" PRIu64 " of its pages %s not as written", n, n == 1 ? "is" : "are");
	return w->v->sink->note(w->v->sink->ctx, TEXT("the damaged case"), text_of(what));
}

/* Where the new case comes from, in its journal. */
static int journal_salvage(struct walk *w, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * KIB);
	unsigned char head[SHA256_BYTES];
	char hex[SHA256_HEX] = "";
	struct err e = {0};
	if (!journal_head(w->v->from, head, &e))
		sha256_hex(head, hex);
	int r = buf_add_text(&b, TEXT("{\"from\":"), err);
	if (!r)
		r = buf_json_string(&b, text_of(case_path(w->v->from)), err);
	if (!r)
		r = buf_printf(&b, err, hex[0] ? ",\"head\":\"%s\"" : ",\"head\":null%s", hex);
	if (!r)
		r = buf_printf(&b, err, ",\"sources\":%zu,\"made_again\":%" PRId64 ",\"bytes_lost\":%" PRIu64 "}",
			       w->n_sources, w->touched, w->lost);
	return r ? r : journal_append(w->v->to, w->v->now_ns, "salvage", buf_text(&b), NULL, err);
}

int case_salvage(struct case_file *from, struct case_file *to, int64_t now_ns, const struct salvage_sink *sink,
		 struct err *err)
{
	struct salvage v = {from, to, now_ns, sink, err};
	struct walk w = {.v = &v, .raw = BUF_INIT(CHUNK_MAX_DECODED_BYTES)};
	int r = case_begin(to, err);
	if (!r)
		r = note_pages(&w, err);
	if (!r)
		r = salvage_journal(&v, &w.sealed, err);
	if (!r)
		r = list_all(&w, err);
	if (!r)
		r = prepare(&w, err);
	if (!r)
		r = save_sources(&w, err);
	if (!r)
		r = journal_salvage(&w, err);
	if (!r)
		r = case_commit(to, err);
	sql_end(w.read_evidence);
	sql_end(w.write_evidence);
	sql_end(w.read_row);
	sql_end(w.reject);
	sealed_done(&w.sealed);
	free(w.places.list);
	free(w.sources);
	buf_done(&w.raw);
	if (r)
		case_rollback(to);
	return r;
}
