/* SPDX-License-Identifier: Apache-2.0 */
/* seal.c - what the journal says of each source against what the case holds of it
 *
 * A seal is one hash over everything that was stored of a source. It stands in the source's journal row, so that the
 * chain covers the tables: who changes them must change the head, too. The last row about a source counts; a source
 * without a seal is one that is still being read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "canonical.h"
#include "store.h"

static int seal_rows(struct case_file *c, struct sha256 *h, const char *text, int64_t source, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int r = sql_prepare(&s, c, text, err);
	if (!r)
		r = sql_int(s, 1, source, err);
	if (!r)
		r = sha256_add(h, "t", 1, err);
	return r ? r : canonical_rows(h, s, err);
}

int store_has_seams(struct case_file *c, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int r = sql_prepare(&s, c, "SELECT 1 FROM main.sqlite_schema WHERE name = 'seam' AND type = 'table'", err);
	return r ? r : sql_step(s, err);
}

/* Most sources have none, and cases of older versions no such table: their seals are what they were. */
static int has_seams(struct case_file *c, int64_t source, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int r = store_has_seams(c, err);
	if (r <= 0)
		return r;
	r = sql_prepare(&s, c, "SELECT 1 FROM main.seam WHERE source = ?1 LIMIT 1", err);
	if (!r)
		r = sql_int(s, 1, source, err);
	return r ? r : sql_step(s, err);
}

int source_seal(struct case_file *c, int64_t source, char out[SHA256_HEX], struct err *err)
{
	static const char *const texts[] = {
	    ("SELECT source, path, sha256, content_sha256, stored_bytes, container, format, format_basis, worker, "
	     "worker_alias, worker_basis, role, tz, tz_basis, bytes, records, parsed, context, unparsed, duplicate, "
	     "bytes_parsed, bytes_context, bytes_unparsed, bytes_duplicate, first_ns, last_ns, status, reason "
	     "FROM main.source WHERE source = ?1"),
	    "SELECT byte_off, byte_len, records, reason FROM main.reject WHERE source = ?1 ORDER BY byte_off",
	    "SELECT byte_off, byte_len, sha256 FROM main.evidence_chunk WHERE source = ?1 ORDER BY byte_off",
	    /* naming all kinds lets the index be used */
	    ("SELECT kind, byte_min, byte_max, n, ts_min, ts_max, sha256 FROM main.event_chunk "
	     "WHERE kind BETWEEN 0 AND 63 AND source = ?1 ORDER BY kind, byte_min, chunk"),
	};
	unsigned char sha[SHA256_BYTES];
	struct sha256 *h = NULL;
	int r = sha256_new(&h, err);
	for (size_t i = 0; !r && i < ARRAY_SIZE(texts); i++)
		r = seal_rows(c, h, texts[i], source, err);
	int seams = r ? 0 : has_seams(c, source, err);
	if (seams > 0)
		r = seal_rows(c, h,
			      "SELECT byte_off, byte_len, record, whole FROM main.seam WHERE source = ?1 "
			      "ORDER BY byte_off",
			      source, err);
	r = seams < 0 ? seams : r;
	if (r) {
		sha256_free(h);
		return r;
	}
	r = sha256_end(h, sha, err);
	if (!r)
		sha256_hex(sha, out);
	return r;
}

struct custody_walk {
	struct case_file *c;
	int (*report)(void *ctx, struct text where, struct text what);
	void *ctx;
	bool faults;
};

static int fault(struct custody_walk *w, int64_t source, const char *what)
{
	char where[64];
	snprintf(where, sizeof(where), "source S%" PRId64, source);
	w->faults = true;
	return w->report(w->ctx, text_of(where), text_of(what));
}

/* The first field that the row and its journal row spell differently; "" when it is something else. */
static int name_difference(struct custody_walk *w, int64_t source, char *out, size_t size, struct err *err)
{
	static const char *const fields[] = {"path",   "worker",         "format", "role",   "tz",
					     "sha256", "content_sha256", "bytes",  "records"};
	CLEANUP(sql_endp) struct sql *s = NULL;
	int n = ARRAY_SIZE(fields);
	int r = sql_prepare(
	    &s, w->c,
	    "SELECT s.path, s.worker, s.format, s.role, s.tz, s.sha256, s.content_sha256, s.bytes, s.records, "
	    "json_extract(detail,'$.path'), json_extract(detail,'$.worker'), json_extract(detail,'$.format'), "
	    "json_extract(detail,'$.role'), json_extract(detail,'$.tz'), json_extract(detail,'$.sha256'), "
	    "json_extract(detail,'$.content_sha256'), json_extract(detail,'$.bytes'), json_extract(detail,'$.records') "
	    "FROM main.source AS s JOIN main.journal AS j ON j.action = 'ingest' AND json_valid(detail) "
	    "AND json_extract(detail,'$.source') = s.source AND json_extract(detail,'$.status') <> 'known' "
	    "WHERE s.source = ?1 ORDER BY seq DESC LIMIT 1",
	    err);
	if (!r)
		r = sql_int(s, 1, source, err);
	if (!r)
		r = sql_step(s, err);
	out[0] = 0;
	if (r <= 0)
		return r;
	for (int i = 0; i < n; i++) {
		struct text is = sql_get_text(s, i), was = sql_get_text(s, n + i);
		if (text_eq(is, was))
			continue;
		snprintf(out, size, "%s is '%.*s', the journal says '%.*s'", fields[i], (int)MIN(is.len, 120u),
			 is.ptr ? is.ptr : "", (int)MIN(was.len, 120u), was.ptr ? was.ptr : "");
		break;
	}
	return 0;
}

/* s: source, status, whether the journal has it, its seal there. */
static int check_source(struct custody_walk *w, struct sql *s, struct err *err)
{
	int64_t source = sql_get_int(s, 0);
	char seal[SHA256_HEX], what[400];
	if (!sql_get_int(s, 2))
		return text_is(sql_get_text(s, 1), "reading") ? 0 : fault(w, source, "the journal does not know it");
	int r = source_seal(w->c, source, seal, err);
	if (r || text_is(sql_get_text(s, 3), seal))
		return r;
	r = name_difference(w, source, what, sizeof(what), err);
	if (r)
		return r;
	return fault(w, source,
		     what[0] ? what : "its row, rejects or chunks are not those that the journal's seal was made of");
}

/* The last row of the journal about each source. */
#define LAST_ROWS                                                                                                      \
	"WITH entry AS (SELECT seq, action, json_extract(detail,'$.source') AS source, json_extract(detail,'$.seal') " \
	"AS seal FROM main.journal WHERE action IN ('ingest','drop') AND json_valid(detail)), "                        \
	"last AS MATERIALIZED (SELECT source, max(seq) AS seq, action, seal FROM entry WHERE source IS NOT NULL "      \
	"GROUP BY source) "

static int check_sources(struct custody_walk *w, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int r =
	    sql_prepare(&s, w->c,
			LAST_ROWS "SELECT s.source, s.status, coalesce(action = 'ingest', 0), seal FROM main.source "
				  "AS s LEFT JOIN last ON last.source = s.source ORDER BY s.source",
			err);
	while (!r && (r = sql_step(s, err)) > 0)
		r = check_source(w, s, err);
	return r;
}

static int check_gone(struct custody_walk *w, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int r = sql_prepare(&s, w->c,
			    LAST_ROWS "SELECT source, seq FROM last WHERE action = 'ingest' AND source NOT IN "
				      "(SELECT source FROM main.source) ORDER BY source",
			    err);
	while (!r && (r = sql_step(s, err)) > 0) {
		char what[96];
		snprintf(what, sizeof(what), "is gone; journal row %" PRId64 " says that it was stored",
			 sql_get_int(s, 1));
		r = fault(w, sql_get_int(s, 0), what);
	}
	return r;
}

/* --- the schema: a view or a table of somebody else's could answer in place of ours --- */

#define SHAPES                                                                                                         \
	"SELECT name, type || ' ' || (rootpage > 0) || (SELECT ifnull(group_concat(' ' || name || ' ' || type || ' ' " \
	"|| "                                                                                                          \
	"\"notnull\" || ' ' || pk || ' ' || hidden), '') FROM pragma_table_xinfo(m.name, 'main')), type "              \
	"FROM main.sqlite_schema AS m WHERE type <> 'index' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "

static int check_shape(struct custody_walk *w, struct sql *s, sqlite3_stmt *want)
{
	char where[200];
	struct text name = sql_get_text(s, 0), shape = sql_get_text(s, 1), type = sql_get_text(s, 2);
	sqlite3_reset(want);
	sqlite3_bind_text64(want, 1, name.ptr, name.len, SQLITE_STATIC, SQLITE_UTF8);
	bool ours = sqlite3_step(want) == SQLITE_ROW;
	if (ours && text_is(shape, (const char *)sqlite3_column_text(want, 1)))
		return 0;
	snprintf(where, sizeof(where), "%.*s %.*s", (int)MIN(type.len, 20u), type.ptr ? type.ptr : "",
		 (int)MIN(name.len, 100u), name.ptr ? name.ptr : "");
	w->faults = true;
	return w->report(w->ctx, text_of(where),
			 ours ? TEXT("is not made as in a new case") : TEXT("is no part of a case"));
}

static int check_schema(struct custody_walk *w, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	sqlite3 *db = NULL;
	sqlite3_stmt *want = NULL;
	int r = 0;
	if (sqlite3_open(":memory:", &db) || sqlite3_exec(db, schema_sql, NULL, NULL, NULL) ||
	    sqlite3_prepare_v2(db, SHAPES "AND name = ?1", -1, &want, NULL))
		r = db ? err_set(err, ERR_STORE, "cannot make a new schema: %s", sqlite3_errmsg(db)) : err_nomem(err);
	if (!r)
		r = sql_prepare(&s, w->c, SHAPES "ORDER BY name", err);
	while (!r && (r = sql_step(s, err)) > 0)
		r = check_shape(w, s, want);
	sqlite3_finalize(want);
	sqlite3_close(db);
	return r;
}

/* What a person said of the case when it was made. */
static int check_title(struct custody_walk *w, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int r = sql_prepare(&s, w->c,
			    "SELECT k.column1, i.value, json_extract(j.detail, '$.'||k.column1) FROM "
			    "(VALUES('id'),('title'),('tool')) AS k "
			    "JOIN main.journal AS j ON j.seq = 1 AND j.action = 'init' AND json_valid(j.detail) "
			    "LEFT JOIN main.case_info AS i ON i.key = k.column1 "
			    "WHERE json_type(j.detail, '$.'||k.column1) IS NOT NULL",
			    err);
	while (!r && (r = sql_step(s, err)) > 0) {
		char what[400];
		struct text is = sql_get_text(s, 1), was = sql_get_text(s, 2), key = sql_get_text(s, 0);
		r = 0;
		if (text_eq(is, was))
			continue;
		snprintf(what, sizeof(what), "%.*s is '%.*s', the journal says '%.*s'", TEXT_ARG(key),
			 (int)MIN(is.len, 120u), is.ptr ? is.ptr : "", (int)MIN(was.len, 120u), was.ptr ? was.ptr : "");
		w->faults = true;
		r = w->report(w->ctx, TEXT("case_info"), text_of(what));
	}
	return r;
}

int case_verify_custody(struct case_file *c, int (*report)(void *ctx, struct text where, struct text what), void *ctx,
			struct err *err)
{
	struct custody_walk w = {c, report, ctx, false};
	int64_t seq = 0;
	int r = check_schema(&w, err);
	if (r)
		return r;
	r = journal_verify(c, &seq, err);
	if (r > 0) {
		char where[64];
		snprintf(where, sizeof(where), "journal row %" PRId64, seq);
		w.faults = true;
		r = report(ctx, text_of(where), TEXT("the chain of hashes breaks here"));
	}
	if (!r)
		r = check_title(&w, err);
	if (!r)
		r = check_sources(&w, err);
	if (!r)
		r = check_gone(&w, err);
	return r ? r : w.faults;
}
