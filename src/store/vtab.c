/* SPDX-License-Identifier: Apache-2.0 */
/* vtab.c - boot_events, leg_events, gateway_events, page_events, load_events, cache_events, install_events: the event chunks as tables
 *
 * Generated from event_kinds. Columns: source, byte_off, byte_len, ref, ts_ns, ts_quality, worker, then the kind's own; hidden
 * ones behind them: at_ns, the stamp corrected by the clock (instant.h), and skew_ns, what that clock was ahead.
 * A plan hands down the source, the worker, a range of ts_ns, a byte offset and one text (a request's id, say): chunks
 * that cannot hold such a row are not decoded. It hands down the set of columns used, too: others are never
 * decompressed. SQLite still checks every row. worker is the name: "" and "/dp3" of a
 * chunk are completed with the worker of the source.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/instant.h"
#include "scan.h"
#include "vtab.h"

enum { COL_SOURCE, COL_OFF, COL_LEN, COL_REF, COL_TS, COL_QUALITY, COL_WORKER, COL_OWN };
/* idxNum: what argv holds, in this order; idxStr holds the mask of columns and the column of PLAN_TEXT. */
enum { PLAN_SOURCE = 1, PLAN_SINCE = 2, PLAN_UNTIL = 4, PLAN_OFF = 8, PLAN_WORKER = 16, PLAN_TEXT = 32, PLANS = 6 };

struct module {
	struct case_file *c;
	enum event_kind kind;
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct module *m;
	struct event_scan *scan;
	const struct event_batch *batch;
	int64_t source;
	uint32_t row;
	bool eof;
	int64_t named_source; /* whose worker `name` is */
	bool named;
	struct buf name, cell;
	int64_t timed_source; /* whose clock `instants` is */
	bool timed;
	struct arena arena;
	struct instants instants;
};

static int events_connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret, char **zErr)
{
	static const struct {
		const char *name, *type;
	} common[] = {{"source", "INTEGER"}, {"byte_off", "INTEGER"},   {"byte_len", "INTEGER"}, {"ref", "TEXT"},
		      {"ts_ns", "INTEGER"},  {"ts_quality", "INTEGER"}, {"worker", "TEXT"}};
	const struct event_kind_info *info = &event_kinds[((struct module *)aux)->kind];
	sqlite3_str *decl = vtab_columns(db);
	(void)argc, (void)argv;
	for (size_t i = 0; i < ARRAY_SIZE(common); i++)
		vtab_column(decl, common[i].name, common[i].type);
	for (unsigned i = 0; i < info->n_columns; i++)
		vtab_column(decl, info->columns[i].name, info->columns[i].type == COLUMN_INT ? "INTEGER" : "TEXT");
	vtab_column(decl, "at_ns", "INTEGER HIDDEN");
	vtab_column(decl, "skew_ns", "INTEGER HIDDEN");
	return vtab_connect(db, decl, aux, ret, zErr);
}

static uint32_t columns_used(const struct event_kind_info *info, uint64_t used)
{
	uint32_t mask = 0;
	for (unsigned i = 0; i < info->n_columns; i++)
		mask |= (uint32_t)(used >> (COL_OWN + i) & 1) << i;
	return mask;
}

/* Which plan bits a constraint serves. */
static int constraint_plans(const struct event_kind_info *kind, int column, int op)
{
	if (op == SQLITE_INDEX_CONSTRAINT_EQ && column == COL_WORKER)
		return PLAN_WORKER;
	if (column >= COL_OWN + (int)kind->n_columns)
		return 0;
	if (op == SQLITE_INDEX_CONSTRAINT_EQ && column >= COL_OWN)
		return kind->columns[column - COL_OWN].type == COLUMN_TEXT ? PLAN_TEXT : 0;
	if (column == COL_SOURCE)
		return op == SQLITE_INDEX_CONSTRAINT_EQ ? PLAN_SOURCE : 0;
	if (column == COL_OFF)
		return op == SQLITE_INDEX_CONSTRAINT_EQ ? PLAN_OFF : 0;
	if (column != COL_TS)
		return 0;
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_GE:
	case SQLITE_INDEX_CONSTRAINT_GT: return PLAN_SINCE;
	case SQLITE_INDEX_CONSTRAINT_LE:
	case SQLITE_INDEX_CONSTRAINT_LT: return PLAN_UNTIL;
	default: return 0;
	}
}

static int events_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	const struct event_kind_info *kind = &event_kinds[((struct module *)vtab_module(vtab))->kind];
	int at[PLANS] = {0}, plan = 0;
	for (int i = 0; i < info->nConstraint; i++) {
		int bit = info->aConstraint[i].usable
			      ? constraint_plans(kind, info->aConstraint[i].iColumn, info->aConstraint[i].op)
			      : 0;
		if (!bit || plan & bit)
			continue;
		if (bit & (PLAN_TEXT | PLAN_WORKER) && strcmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
			continue;
		plan |= bit;
		at[__builtin_ctz((unsigned)bit)] = i;
	}
	double rows = 1e7;
	int next = 1;
	for (int k = 0; k < PLANS; k++) {
		if (!(plan >> k & 1))
			continue;
		info->aConstraintUsage[at[k]].argvIndex = next++;
		rows /= 1 << k == PLAN_OFF || 1 << k == PLAN_TEXT ? 1000 : 10;
	}
	info->idxNum = plan;
	int text = plan & PLAN_TEXT ? info->aConstraint[at[5]].iColumn - COL_OWN : 0;
	info->idxStr = sqlite3_mprintf("%u %d", columns_used(kind, info->colUsed), text);
	if (!info->idxStr)
		return SQLITE_NOMEM;
	info->needToFreeIdxStr = 1;
	info->estimatedRows = (sqlite3_int64)rows;
	info->estimatedCost = rows;
	return SQLITE_OK;
}

static int events_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **ret)
{
	struct cursor *cur = calloc(1, sizeof(*cur));
	if (!cur)
		return SQLITE_NOMEM;
	cur->m = vtab_module(vtab);
	cur->name = BUF_INIT(MIB);
	cur->cell = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	arena_init(&cur->arena, ARENA_MAX_BYTES);
	*ret = &cur->base;
	return SQLITE_OK;
}

static int events_close(sqlite3_vtab_cursor *base)
{
	struct cursor *cur = (struct cursor *)base;
	event_scan_close(cur->scan);
	buf_done(&cur->name);
	buf_done(&cur->cell);
	arena_done(&cur->arena);
	free(cur);
	return SQLITE_OK;
}

static int fail(struct cursor *cur, const struct err *err)
{
	cur->eof = true;
	return store_pending(cur->m->c, err, &cur->base.pVtab->zErrMsg);
}

static int events_next(sqlite3_vtab_cursor *base)
{
	struct cursor *cur = (struct cursor *)base;
	struct err err = {0};
	if (cur->batch && ++cur->row < cur->batch->n)
		return SQLITE_OK;
	cur->row = 0;
	cur->batch = NULL;
	int r = event_scan_next(cur->scan, &cur->batch, &cur->source, &err);
	if (r < 0)
		return fail(cur, &err);
	cur->eof = !r;
	return SQLITE_OK;
}

/* What is no text is left to SQLite. */
static int scan_only(struct event_scan *s, unsigned column, sqlite3_value *v, struct err *err)
{
	if (sqlite3_value_type(v) != SQLITE_TEXT)
		return 0;
	const char *p = (const char *)sqlite3_value_text(v);
	return p ? event_scan_only(s, column, (struct text){p, (size_t)sqlite3_value_bytes(v)}, err) : err_nomem(err);
}

static int events_filter(sqlite3_vtab_cursor *base, int plan, const char *columns, int argc, sqlite3_value **argv)
{
	struct cursor *cur = (struct cursor *)base;
	struct event_filter f = {0, TIME_UNKNOWN, TIME_UNKNOWN};
	struct err err = {0};
	int64_t off = 0;
	bool has_off = false;
	sqlite3_value *worker = NULL, *text = NULL;
	char *end;
	uint32_t mask = (uint32_t)strtoul(columns, &end, 10), column = (uint32_t)strtoul(end, NULL, 10);
	(void)argc;
	event_scan_close(cur->scan);
	cur->scan = NULL;
	cur->batch = NULL;
	cur->eof = false;
	for (int k = 0; k < PLANS; k++) {
		if (!(plan >> k & 1))
			continue;
		sqlite3_value *v = *argv++;
		if (sqlite3_value_type(v) == SQLITE_NULL) { /* compares with nothing */
			cur->eof = true;
			return SQLITE_OK;
		}
		switch (1 << k) {
		case PLAN_SOURCE:
			if (sqlite3_value_type(v) == SQLITE_INTEGER)
				f.source = sqlite3_value_int64(v);
			break;
		case PLAN_SINCE: (void)vtab_bound(v, true, &f.since_ns); break;
		case PLAN_UNTIL: (void)vtab_bound(v, false, &f.until_ns); break;
		case PLAN_WORKER: worker = v; break;
		case PLAN_TEXT: text = v; break;
		default: has_off = sqlite3_value_type(v) == SQLITE_INTEGER; off = sqlite3_value_int64(v);
		}
	}
	int r = event_scan_open(&cur->scan, cur->m->c, cur->m->kind, mask, &f, &err);
	if (!r && has_off)
		r = event_scan_at(cur->scan, off, &err);
	if (!r && worker)
		r = scan_only(cur->scan, COLUMN_WORKER, worker, &err);
	if (!r && text)
		r = scan_only(cur->scan, column, text, &err);
	return r ? fail(cur, &err) : events_next(base);
}

static int events_eof(sqlite3_vtab_cursor *base)
{
	return ((struct cursor *)base)->eof;
}

/* --- cells --- */

/* The name of the source's own worker, looked up once a source. */
static int own_name(struct cursor *cur, struct err *err)
{
	if (cur->named && cur->named_source == cur->source)
		return 0;
	CLEANUP(sql_endp) struct sql *s = NULL;
	buf_clear(&cur->name);
	int r = sql_prepare(&s, cur->m->c, "SELECT worker FROM source WHERE source = ?1", err);
	if (!r)
		r = sql_int(s, 1, cur->source, err);
	if (!r)
		r = sql_step(s, err);
	if (r > 0)
		r = buf_add_text(&cur->name, sql_get_text(s, 0), err);
	cur->named = r >= 0;
	cur->named_source = cur->source;
	return r;
}

static int worker_cell(struct cursor *cur, sqlite3_context *out, struct err *err)
{
	struct text t = cur->batch->worker[cur->row];
	if (t.len && t.ptr[0] != '/') {
		sqlite3_result_text64(out, t.ptr, t.len, SQLITE_TRANSIENT, SQLITE_UTF8);
		return 0;
	}
	int r = own_name(cur, err);
	if (r || !cur->name.len)
		return r;
	buf_clear(&cur->cell);
	r = buf_add_text(&cur->cell, buf_text(&cur->name), err);
	if (!r)
		r = buf_add_text(&cur->cell, t, err);
	if (!r)
		sqlite3_result_text64(out, cur->cell.ptr, cur->cell.len, SQLITE_TRANSIENT, SQLITE_UTF8);
	return r;
}

/* The clock of the source, looked up once. */
static int time_cell(struct cursor *cur, sqlite3_context *out, bool skew, struct err *err)
{
	const struct event_batch *b = cur->batch;
	if (!cur->timed || cur->timed_source != cur->source) {
		arena_reset(&cur->arena);
		cur->timed = false;
		int r = instants_load(&cur->instants, cur->m->c, cur->source, &cur->arena, err);
		if (r)
			return r;
		cur->timed = true;
		cur->timed_source = cur->source;
	}
	int64_t t = skew ? instant_skew(&cur->instants, b->byte_off[cur->row])
			 : instant_of(&cur->instants, b->byte_off[cur->row], b->ts_ns[cur->row],
				      (enum stamp_quality)b->ts_quality[cur->row]);
	if (t != TIME_UNKNOWN)
		sqlite3_result_int64(out, t);
	return 0;
}

static int pages_cell(struct cursor *cur, sqlite3_context *out, struct err *err)
{
	const struct event_batch *b = cur->batch;
	uint32_t i = cur->row ? b->run_end[cur->row - 1] : 0;
	buf_clear(&cur->cell);
	int r = buf_add_char(&cur->cell, '[', err);
	for (const char *sep = ""; !r && i < b->run_end[cur->row]; i++, sep = ",")
		r = buf_printf(&cur->cell, err, "%s[%" PRIu32 ",%" PRIu32 "]", sep, b->runs[i].first, b->runs[i].count);
	if (!r)
		r = buf_add_char(&cur->cell, ']', err);
	if (!r)
		sqlite3_result_text64(out, cur->cell.ptr, cur->cell.len, SQLITE_TRANSIENT, SQLITE_UTF8);
	return r;
}

static int own_cell(struct cursor *cur, sqlite3_context *out, unsigned column, struct err *err)
{
	const struct event_batch *b = cur->batch;
	if (!event_known(b, cur->row, column))
		return 0;
	switch (event_kinds[b->kind].columns[column].type) {
	case COLUMN_INT: sqlite3_result_int64(out, b->ints[column][cur->row]); return 0;
	case COLUMN_TEXT: {
		struct text t = b->texts[column][cur->row];
		sqlite3_result_text64(out, t.len ? t.ptr : "", t.len, SQLITE_TRANSIENT, SQLITE_UTF8);
		return 0;
	}
	default: return pages_cell(cur, out, err);
	}
}

static int events_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int col)
{
	struct cursor *cur = (struct cursor *)base;
	const struct event_batch *b = cur->batch;
	int own = col - COL_OWN, own_columns = (int)event_kinds[b->kind].n_columns;
	struct err err = {0};
	char ref[64];
	int r = 0;
	switch (col) {
	case COL_SOURCE: sqlite3_result_int64(out, cur->source); break;
	case COL_OFF: sqlite3_result_int64(out, (int64_t)b->byte_off[cur->row]); break;
	case COL_LEN: sqlite3_result_int64(out, b->byte_len[cur->row]); break;
	case COL_REF:
		ref_format((struct ref){cur->source, b->byte_off[cur->row], b->byte_len[cur->row]}, ref, sizeof(ref));
		sqlite3_result_text(out, ref, -1, SQLITE_TRANSIENT);
		break;
	case COL_TS:
		if (b->ts_ns[cur->row] != TIME_UNKNOWN)
			sqlite3_result_int64(out, b->ts_ns[cur->row]);
		break;
	case COL_QUALITY: sqlite3_result_int(out, b->ts_quality[cur->row]); break;
	case COL_WORKER: r = worker_cell(cur, out, &err); break;
	default:
		r = own < own_columns ? own_cell(cur, out, (unsigned)own, &err)
				      : time_cell(cur, out, own > own_columns, &err);
	}
	return r ? fail(cur, &err) : SQLITE_OK;
}

/* Chunk and row: unique, and the same each time. */
static int events_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	struct cursor *cur = (struct cursor *)base;
	*ret = (sqlite3_int64)((uint64_t)event_scan_chunk(cur->scan) * EVENT_BATCH_MAX + cur->row);
	return SQLITE_OK;
}

static const sqlite3_module events_module = {
    .xConnect = events_connect,
    .xBestIndex = events_best_index,
    .xDisconnect = vtab_disconnect,
    .xDestroy = vtab_disconnect,
    .xOpen = events_open,
    .xClose = events_close,
    .xFilter = events_filter,
    .xNext = events_next,
    .xEof = events_eof,
    .xColumn = events_column,
    .xRowid = events_rowid,
};

int vtab_register_events(struct case_file *c, struct err *err)
{
	for (int kind = 0; kind < EVENT_KINDS; kind++) {
		char name[64];
		struct module *m = malloc(sizeof(*m));
		if (!m)
			return err_nomem(err);
		*m = (struct module){c, (enum event_kind)kind};
		snprintf(name, sizeof(name), "%s_events", event_kinds[kind].name);
		int rc = sqlite3_create_module_v2(c->db, name, &events_module, m, free);
		if (rc != SQLITE_OK)
			return store_error(c, rc, err);
	}
	return 0;
}

int vtab_register(struct case_file *c, struct err *err)
{
	int r = vtab_register_events(c, err);
	if (!r)
		r = vtab_register_rows(c, err);
	return r ? r : vtab_register_records(c, err);
}
