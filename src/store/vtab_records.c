/* SPDX-License-Identifier: Apache-2.0 */
/* vtab_records.c - records(source, byte_off, byte_len, ref, text): the lines of the evidence
 *
 * A record is a line without its LF or CR LF, also when it lies in several chunks; bytes after the last LF are a record
 * too. A source that was accounted as one record (a JSON document) is one, whatever lines it has. A record longer than
 * RECORD_MAX_BYTES has its true length and the beginning of its text. Where bytes are known to be lost (salvage.h), a
 * record ends before them and another begins behind; where they are missing otherwise, reading fails. A plan hands down the source and a byte offset (=
 * or >=): reading begins in the chunk that holds it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/salvage.h"
#include "pagetrail/stamp.h"
#include "vtab.h"

enum { COL_SOURCE, COL_OFF, COL_LEN, COL_REF, COL_TEXT };
enum { PLAN_SOURCE = 1, PLAN_FROM = 2, PLAN_AT = 4, PLANS = 3 };

struct module {
	struct case_file *c;
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct case_file *c;
	struct sql *sources, *chunks;
	int64_t source;
	int64_t from, at; /* plan; at < 0: none */
	struct buf raw;   /* the chunk at hand */
	uint64_t raw_off; /* its place in the source */
	size_t next;      /* of raw: where the next line begins */
	struct buf carry; /* a line that began in chunks before */
	uint64_t line_off, line_len;
	struct text line;
	int64_t bytes; /* of the source; -1: its end was not reached */
	uint64_t end;  /* where the next chunk must begin */
	bool hole;     /* lost bytes lie before the chunk at hand */
	bool whole;    /* the source is one record */
	bool ended;    /* the source has no more chunks */
	bool eof;
};

static int records_connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret, char **zErr)
{
	sqlite3_str *decl = vtab_columns(db);
	(void)argc, (void)argv;
	vtab_column(decl, "source", "INTEGER");
	vtab_column(decl, "byte_off", "INTEGER");
	vtab_column(decl, "byte_len", "INTEGER");
	vtab_column(decl, "ref", "TEXT");
	vtab_column(decl, "text", "TEXT");
	return vtab_connect(db, decl, aux, ret, zErr);
}

static int constraint_plan(int column, int op)
{
	if (column == COL_SOURCE && op == SQLITE_INDEX_CONSTRAINT_EQ)
		return PLAN_SOURCE;
	if (column == COL_OFF && op == SQLITE_INDEX_CONSTRAINT_EQ)
		return PLAN_AT;
	if (column == COL_OFF && (op == SQLITE_INDEX_CONSTRAINT_GE || op == SQLITE_INDEX_CONSTRAINT_GT))
		return PLAN_FROM;
	return 0;
}

static int records_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	int at[PLANS], plan = 0, next = 1;
	(void)vtab;
	for (int i = 0; i < info->nConstraint; i++) {
		int bit = info->aConstraint[i].usable
			      ? constraint_plan(info->aConstraint[i].iColumn, info->aConstraint[i].op)
			      : 0;
		if (!bit || plan & bit)
			continue;
		plan |= bit;
		at[__builtin_ctz((unsigned)bit)] = i;
	}
	double rows = 1e7;
	for (int k = 0; k < PLANS; k++) {
		if (!(plan >> k & 1))
			continue;
		info->aConstraintUsage[at[k]].argvIndex = next++;
		rows /= 1 << k == PLAN_AT ? 1e4 : 10;
	}
	info->idxNum = plan;
	info->estimatedRows = (sqlite3_int64)rows;
	info->estimatedCost = rows;
	return SQLITE_OK;
}

static int records_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **ret)
{
	struct cursor *cur = calloc(1, sizeof(*cur));
	if (!cur)
		return SQLITE_NOMEM;
	cur->c = ((struct module *)vtab_module(vtab))->c;
	cur->raw = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	cur->carry = BUF_INIT(RECORD_MAX_BYTES + 1);
	*ret = &cur->base;
	return SQLITE_OK;
}

static int records_close(sqlite3_vtab_cursor *base)
{
	struct cursor *cur = (struct cursor *)base;
	sql_end(cur->sources);
	sql_end(cur->chunks);
	buf_done(&cur->raw);
	buf_done(&cur->carry);
	free(cur);
	return SQLITE_OK;
}

static int fail(struct cursor *cur, const struct err *err)
{
	cur->eof = true;
	return store_pending(cur->c, err, &cur->base.pVtab->zErrMsg);
}

/* No chunk holds the bytes from cur->end to `to`: 0 that is known. */
static int check_hole(struct cursor *cur, uint64_t to, struct err *err)
{
	int r = to > cur->end ? evidence_lost(cur->c, cur->source, cur->end, to, err) : 0;
	if (r < 0)
		return r;
	if (r > 0)
		return 0;
	err_set(err, ERR_DAMAGED, "bytes from %" PRIu64 " on are missing", MIN(cur->end, to));
	err_where(err, "evidence S%" PRId64, cur->source);
	return ERR_DAMAGED;
}

/* 1 the next chunk is in raw, 0 the source has no more. */
static int next_chunk(struct cursor *cur, struct err *err)
{
	if (cur->ended)
		return 0;
	int r = sql_step(cur->chunks, err);
	cur->ended = r <= 0;
	if (r < 0)
		return r;
	if (!r)
		return cur->bytes >= 0 && (uint64_t)cur->bytes != cur->end ? check_hole(cur, (uint64_t)cur->bytes, err)
									   : 0;
	uint64_t off = (uint64_t)sql_get_int(cur->chunks, 0);
	cur->hole = off != cur->end;
	if (cur->hole)
		r = check_hole(cur, off, err);
	if (r < 0)
		return r;
	r = evidence_decode(sql_get_int(cur->chunks, 2), sql_get_int(cur->chunks, 1), sql_get_text(cur->chunks, 3),
			    sql_get_text(cur->chunks, 4), &cur->raw, err);
	if (r) {
		err_where(err, "evidence S%" PRId64 "@%" PRId64, cur->source, sql_get_int(cur->chunks, 0));
		return r;
	}
	cur->raw_off = off;
	cur->end = off + cur->raw.len;
	cur->next = 0;
	return 1;
}

/* The chunk with which reading begins: what lies before it is not asked for, unless nothing does. */
static int first_chunk(struct cursor *cur, int64_t before, struct err *err)
{
	int r = sql_int(cur->chunks, 1, cur->source, err);
	if (!r)
		r = sql_int(cur->chunks, 2, before, err);
	if (!r)
		r = sql_step(cur->chunks, err);
	if (r < 0)
		return r;
	cur->end = r > 0 && sql_get_int(cur->chunks, 0) <= before ? (uint64_t)sql_get_int(cur->chunks, 0) : 0;
	sql_reset(cur->chunks);
	return next_chunk(cur, err);
}

/* Where reading must begin so that the first line that begins at or after `from` is seen whole: 0, or the chunk that
 * holds the byte before. */
static int start_source(struct cursor *cur, struct err *err)
{
	int64_t before = MAX(cur->from, 1) - 1;
	sql_reset(cur->chunks);
	cur->ended = false;
	int r = first_chunk(cur, before, err);
	if (r <= 0)
		return r;
	buf_clear(&cur->carry);
	cur->line_len = 0;
	cur->line_off = cur->raw_off;
	if ((!cur->raw_off && !cur->from) || cur->hole) {
		cur->hole = false;
		return 1;
	}
	/* skip to behind the first LF at or after the byte before */
	size_t at = (uint64_t)before > cur->raw_off ? (size_t)((uint64_t)before - cur->raw_off) : 0;
	for (;;) {
		const char *lf = at < cur->raw.len ? memchr(cur->raw.ptr + at, '\n', cur->raw.len - at) : NULL;
		if (lf) {
			cur->next = (size_t)(lf + 1 - cur->raw.ptr);
			cur->line_off = cur->raw_off + cur->next;
			return 1;
		}
		at = 0;
		r = next_chunk(cur, err);
		if (r <= 0)
			return r;
		if (cur->hole) {
			cur->hole = false;
			cur->line_off = cur->raw_off;
			return 1;
		}
	}
}

static int carry_add(struct cursor *cur, const char *p, size_t n, struct err *err)
{
	cur->line_len += n;
	return buf_add(&cur->carry, p, MIN(n, RECORD_MAX_BYTES - cur->carry.len), err);
}

/* Ends a line whose bytes (without LF) are p[0..n), or carry plus those. A CR belongs to the LF that follows it. */
static int end_line(struct cursor *cur, const char *p, size_t n, bool lf, struct err *err)
{
	if (cur->carry.len || cur->line_len) {
		int r = carry_add(cur, p, n, err);
		if (r)
			return r;
		cur->line = buf_text(&cur->carry);
	} else {
		cur->line = (struct text){p, MIN(n, RECORD_MAX_BYTES)};
		cur->line_len = n;
	}
	if (lf && cur->line.len == cur->line_len && cur->line.len && cur->line.ptr[cur->line.len - 1] == '\r') {
		cur->line.len--;
		cur->line_len--;
	}
	return 1;
}

/* All of the source as one record: 1, or 0 when it was given. */
static int next_whole(struct cursor *cur, struct err *err)
{
	int r = 0;
	if (cur->next || cur->from || !cur->raw.len)
		return 0;
	buf_clear(&cur->carry);
	cur->line_off = cur->line_len = 0;
	do {
		r = carry_add(cur, cur->raw.ptr, cur->raw.len, err);
		if (!r)
			r = next_chunk(cur, err);
		if (r > 0 && cur->hole)
			r = err_set(err, ERR_DAMAGED, "a part of source S%" PRId64 " is lost", cur->source);
	} while (r > 0);
	if (r)
		return r;
	cur->next = cur->raw.len;
	bool lf = cur->carry.len == cur->line_len && cur->carry.ptr[cur->carry.len - 1] == '\n';
	if (lf) {
		cur->carry.len--;
		cur->line_len--;
	}
	return end_line(cur, "", 0, lf, err);
}

/* The next line of the source at hand: 1, or 0 at its end. */
static int next_line(struct cursor *cur, struct err *err)
{
	if (cur->whole)
		return next_whole(cur, err);
	buf_clear(&cur->carry);
	cur->line_len = 0;
	cur->line_off = cur->raw_off + cur->next;
	for (;;) {
		size_t left = cur->raw.len - cur->next;
		const char *p = cur->raw.ptr + cur->next, *lf = left ? memchr(p, '\n', left) : NULL;
		if (lf) {
			cur->next += (size_t)(lf - p) + 1;
			return end_line(cur, p, (size_t)(lf - p), true, err);
		}
		int r = left ? carry_add(cur, p, left, err) : 0;
		cur->next = cur->raw.len;
		if (!r)
			r = next_chunk(cur, err);
		if (r < 0)
			return r;
		if (cur->hole && r) {
			cur->hole = false;
			if (cur->line_len)
				return end_line(cur, "", 0, false, err);
			cur->line_off = cur->raw_off;
		}
		if (!r)
			return cur->line_len ? end_line(cur, "", 0, false, err) : 0;
	}
}

static int records_next(sqlite3_vtab_cursor *base)
{
	struct cursor *cur = (struct cursor *)base;
	struct err err = {0};
	int r;
	for (;;) {
		r = cur->source ? next_line(cur, &err) : 0;
		if (r < 0)
			return fail(cur, &err);
		if (r > 0 && (cur->at < 0 || cur->line_off == (uint64_t)cur->at))
			return SQLITE_OK;
		/* with an exact place only the first line of a source can be it */
		do {
			r = sql_step(cur->sources, &err);
			if (r > 0) {
				cur->source = sql_get_int(cur->sources, 0);
				cur->whole = sql_get_int(cur->sources, 1);
				cur->bytes = sql_get_int(cur->sources, 2);
				r = start_source(cur, &err);
				if (!r)
					continue;
			} else if (!r) {
				cur->eof = true;
				return SQLITE_OK;
			}
			if (r < 0)
				return fail(cur, &err);
		} while (!r);
	}
}

static int records_filter(sqlite3_vtab_cursor *base, int plan, const char *unused, int argc, sqlite3_value **argv)
{
	struct cursor *cur = (struct cursor *)base;
	struct err err = {0};
	int64_t source = TIME_UNKNOWN, v;
	(void)unused, (void)argc;
	sql_end(cur->sources);
	sql_end(cur->chunks);
	cur->sources = cur->chunks = NULL;
	cur->source = 0;
	cur->from = 0;
	cur->at = -1;
	cur->eof = false;
	for (int k = 0; k < PLANS; k++) {
		if (!(plan >> k & 1))
			continue;
		sqlite3_value *arg = *argv++;
		if (sqlite3_value_type(arg) == SQLITE_NULL) {
			cur->eof = true;
			return SQLITE_OK;
		}
		if (1 << k == PLAN_SOURCE && sqlite3_value_type(arg) == SQLITE_INTEGER)
			source = sqlite3_value_int64(arg);
		else if (1 << k == PLAN_FROM && vtab_bound(arg, true, &v) && v > 0)
			cur->from = v;
		else if (1 << k == PLAN_AT && sqlite3_value_type(arg) == SQLITE_INTEGER &&
			 sqlite3_value_int64(arg) >= 0)
			cur->from = cur->at = sqlite3_value_int64(arg);
	}
	int r = sql_prepare(&cur->sources, cur->c,
			    "SELECT source, records = 1, iif(content_sha256 IS NULL, -1, bytes) FROM source "
			    "WHERE ?1 IS NULL OR source = ?1 ORDER BY source",
			    &err);
	if (!r)
		r = sql_int(cur->sources, 1, source, &err);
	if (!r)
		r = sql_prepare(
		    &cur->chunks, cur->c,
		    "SELECT byte_off, byte_len, codec, data, sha256 FROM evidence_chunk WHERE source = ?1 AND byte_off "
		    ">= "
		    "coalesce((SELECT max(byte_off) FROM evidence_chunk WHERE source = ?1 AND byte_off <= ?2), 0) "
		    "ORDER BY byte_off",
		    &err);
	return r ? fail(cur, &err) : records_next(base);
}

static int records_eof(sqlite3_vtab_cursor *base)
{
	return ((struct cursor *)base)->eof;
}

static int records_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int col)
{
	struct cursor *cur = (struct cursor *)base;
	char ref[64];
	switch (col) {
	case COL_SOURCE: sqlite3_result_int64(out, cur->source); break;
	case COL_OFF: sqlite3_result_int64(out, (sqlite3_int64)cur->line_off); break;
	case COL_LEN: sqlite3_result_int64(out, (sqlite3_int64)cur->line_len); break;
	case COL_REF:
		ref_format((struct ref){cur->source, cur->line_off, cur->line_len}, ref, sizeof(ref));
		sqlite3_result_text(out, ref, -1, SQLITE_TRANSIENT);
		break;
	default:
		sqlite3_result_text64(out, cur->line.len ? cur->line.ptr : "", cur->line.len, SQLITE_TRANSIENT,
				      SQLITE_UTF8);
	}
	return SQLITE_OK;
}

/* Source and place, mixed: unique for sources up to 1 TiB and 8 million of them. */
static int records_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	struct cursor *cur = (struct cursor *)base;
	*ret = (sqlite3_int64)((uint64_t)cur->source << 40 ^ cur->line_off);
	return SQLITE_OK;
}

static const sqlite3_module records_module = {
    .xConnect = records_connect,
    .xBestIndex = records_best_index,
    .xDisconnect = vtab_disconnect,
    .xDestroy = vtab_disconnect,
    .xOpen = records_open,
    .xClose = records_close,
    .xFilter = records_filter,
    .xNext = records_next,
    .xEof = records_eof,
    .xColumn = records_column,
    .xRowid = records_rowid,
};

int vtab_register_records(struct case_file *c, struct err *err)
{
	struct module *m = malloc(sizeof(*m));
	if (!m)
		return err_nomem(err);
	m->c = c;
	int rc = sqlite3_create_module_v2(c->db, "records", &records_module, m, free);
	return rc == SQLITE_OK ? 0 : store_error(c, rc, err);
}
