/* SPDX-License-Identifier: Apache-2.0 */
/* vtab_rows.c - request, alias, leg and response: the chunks of row_chunk as tables
 *
 * A plan hands down one of: the row's number, its request, a text that the index of names has, the value of any other
 * column: who asks for that a second time (a join) gets an index of it in memory. Where a row is follows
 * from the directory (a few numbers a chunk), which is kept as long as the file does not change; the index of names says
 * which requests may have a text. Rows come in the order of the table, so ORDER BY request, or by the row's number, costs nothing. Columns are decoded when
 * they are asked for.
 */
#include <stdlib.h>
#include <string.h>

#include "pack.h"
#include "row_directory.h"
#include "row_index.h"
#include "row_names.h"
#include "vtab.h"

enum { PLAN_ALL, PLAN_ROW, PLAN_REQUEST, PLAN_TEXT, PLAN_EQUAL };
enum { CHUNKS_KEPT = 4 };

/* What the file held at `version`. Cursors share it, and keep theirs when the file has changed. */
struct directory {
	unsigned refs;
	uint64_t version;
	struct row_directory chunks;
	unsigned asked[ROW_COLUMNS_MAX]; /* how often for a value of it */
	struct row_index *index[ROW_COLUMNS_MAX];
};

struct module {
	struct case_file *c;
	enum row_table table;
	const struct row_table_info *info;
	struct codec *z;
	struct directory *dir; /* NULL: not read yet */
	struct {               /* chunks of it */
		uint32_t entry;
		struct row_chunk *chunk;
	} kept[CHUNKS_KEPT];
	unsigned next_kept;
	struct sql *spare; /* of a cursor that was closed: rows are looked up one by one a million times */
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct module *m;
	struct sql *hold; /* a statement that has begun keeps what is read the same until the end */
	struct sql *data;
	struct directory *dir;
	int plan;
	unsigned column; /* of PLAN_EQUAL */
	int64_t key;
	uint64_t hash; /* of what PLAN_TEXT or PLAN_EQUAL looks for */
	struct name_finder *names;
	uint64_t *candidates; /* of PLAN_TEXT: a bit a chunk */
	uint32_t candidate_words;
	uint32_t at; /* the row that it is at, from 0 */
	struct buf text;
	uint32_t entry;
	struct row_chunk *chunk;
	uint32_t row, end; /* of the chunk: where reading stops */
	bool eof;
	struct buf cell;
};

/* --- what the file holds --- */

static void directory_unref(struct directory *d)
{
	if (!d || --d->refs)
		return;
	for (unsigned i = 0; i < ROW_COLUMNS_MAX; i++)
		row_index_free(d->index[i]);
	row_directory_done(&d->chunks);
	free(d);
}

static void forget(struct module *m)
{
	for (unsigned i = 0; i < CHUNKS_KEPT; i++) {
		row_chunk_unref(m->kept[i].chunk);
		m->kept[i].chunk = NULL;
	}
	directory_unref(m->dir);
	m->dir = NULL;
}

/* Changes when the file does, by whomever, and with each row that this connection writes. */
static uint64_t version_now(struct case_file *c)
{
	unsigned version = 0;
	(void)sqlite3_file_control(c->db, "main", SQLITE_FCNTL_DATA_VERSION, &version);
	return (uint64_t)version << 32 ^ (uint64_t)((uint32_t)sqlite3_total_changes(c->db) + c->rollbacks);
}

/* The caller holds a statement open. */
static int load_directory(struct cursor *cur, struct err *err)
{
	struct module *m = cur->m;
	uint64_t version = version_now(m->c);
	directory_unref(cur->dir);
	cur->dir = NULL;
	if (!m->dir || m->dir->version != version) {
		forget(m);
		struct directory *d = calloc(1, sizeof(*d));
		if (!d)
			return err_nomem(err);
		d->refs = 1;
		d->version = version;
		int r = row_directory_read(&d->chunks, m->c, m->table, err);
		if (r) {
			directory_unref(d);
			return r;
		}
		m->dir = d;
	}
	cur->dir = m->dir;
	cur->dir->refs++;
	return 0;
}

/* Requests that may have the text: their chunks are candidates. */
static void mark(void *ctx, int64_t from, int64_t to)
{
	struct cursor *cur = ctx;
	const struct row_directory *d = &cur->dir->chunks;
	for (uint32_t i = row_directory_request(d, from); i < d->n && d->entries[i].request_min <= to; i++)
		cur->candidates[i / 64] |= UINT64_C(1) << i % 64;
}

static int find_candidates(struct cursor *cur, struct err *err)
{
	uint32_t words = cur->dir->chunks.n / 64 + 1;
	if (words > cur->candidate_words) {
		uint64_t *to = realloc(cur->candidates, words * sizeof(*to));
		if (!to)
			return err_nomem(err);
		cur->candidates = to;
		cur->candidate_words = words;
	}
	memset(cur->candidates, 0, words * sizeof(*cur->candidates));
	if (!cur->dir->chunks.n)
		return 0;
	int r = cur->names ? 0 : name_finder_new(&cur->names, cur->m->c, err);
	return r ? r : name_finder_find(cur->names, cur->hash, mark, cur, err);
}

static int load_chunk(struct cursor *cur, struct err *err)
{
	struct module *m = cur->m;
	row_chunk_unref(cur->chunk);
	cur->chunk = NULL;
	for (unsigned i = 0; i < CHUNKS_KEPT; i++) {
		if (cur->dir == m->dir && m->kept[i].chunk && m->kept[i].entry == cur->entry) {
			cur->chunk = row_chunk_ref(m->kept[i].chunk);
			return 0;
		}
	}
	int r = row_directory_open(&cur->dir->chunks, cur->entry, m->c, m->table, m->z, &cur->data, &cur->chunk, err);
	if (r)
		return r;
	if (cur->dir != m->dir)
		return 0;
	row_chunk_unref(m->kept[m->next_kept].chunk);
	m->kept[m->next_kept].entry = cur->entry;
	m->kept[m->next_kept].chunk = row_chunk_ref(cur->chunk);
	m->next_kept = (m->next_kept + 1) % CHUNKS_KEPT;
	return 0;
}

/* --- finding rows --- */

/* Narrows [row, end) to the rows of the request: they are ascending. */
static int narrow_to_request(struct cursor *cur, struct err *err)
{
	const struct row_cells *c;
	int r = row_chunk_column(cur->chunk, (unsigned)cur->m->info->request, &c, err);
	if (r)
		return r;
	uint32_t lo = cur->row, hi = cur->end;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (c->ints[mid] < cur->key)
			lo = mid + 1;
		else
			hi = mid;
	}
	cur->row = lo;
	while (lo < cur->end && c->ints[lo] == cur->key)
		lo++;
	cur->end = lo;
	return 0;
}

/* The next row of the chunk with the text, or its end. */
static int skip_to_text(struct cursor *cur, struct err *err)
{
	const struct row_cells *c;
	struct text want = buf_text(&cur->text);
	int r = row_chunk_column(cur->chunk, (unsigned)cur->m->info->name_column, &c, err);
	while (!r && cur->row < cur->end && !(c->has[cur->row] && text_eq(c->texts[cur->row], want)))
		cur->row++;
	return r;
}

/* --- any other column --- */

static uint64_t hash_int(int64_t v)
{
	return hash_bytes(&v, sizeof(v));
}

/* All values of a column; the cursor's place is lost. */
static int index_column(struct cursor *cur, uint32_t rows, struct err *err)
{
	struct row_index *x = NULL;
	int r = row_index_new(&x, rows, err);
	for (uint32_t i = cur->dir->chunks.n; !r && i-- > 0;) {
		const struct row_entry *e = &cur->dir->chunks.entries[i];
		const struct row_cells *c;
		cur->entry = i;
		r = case_stopped(cur->m->c) ? err_set(err, ERR_INTERRUPTED, "stopped") : load_chunk(cur, err);
		if (!r)
			r = row_chunk_column(cur->chunk, cur->column, &c, err);
		for (uint32_t k = e->n; !r && k-- > 0;)
			if (c->has[k])
				row_index_add(x, (uint32_t)(e->first - 1) + k,
					      c->ints ? hash_int(c->ints[k])
						      : hash_bytes(c->texts[k].ptr, c->texts[k].len));
	}
	if (r)
		row_index_free(x);
	else
		cur->dir->index[cur->column] = x;
	return r;
}

/* Goes to row cur->at. */
static int enter_row(struct cursor *cur, struct err *err)
{
	uint32_t entry = row_directory_row(&cur->dir->chunks, (int64_t)cur->at + 1);
	int r = cur->chunk && entry == cur->entry ? 0 : (cur->entry = entry, load_chunk(cur, err));
	if (r)
		return r;
	cur->row = cur->at - (uint32_t)(cur->dir->chunks.entries[entry].first - 1);
	cur->end = cur->row + 1;
	return 0;
}

/* With the first question the table is read through; a second one says that there will be many. */
static int find_equal(struct cursor *cur, struct err *err)
{
	struct directory *d = cur->dir;
	int64_t rows = row_directory_rows(&d->chunks);
	if (!d->index[cur->column] && (rows > ROW_INDEX_MAX_ROWS || !d->asked[cur->column]++)) {
		cur->plan = PLAN_ALL;
		return 0;
	}
	int r = d->index[cur->column] ? 0 : index_column(cur, (uint32_t)rows, err);
	row_chunk_unref(cur->chunk);
	cur->chunk = NULL;
	if (r)
		return r;
	cur->eof = !row_index_first(d->index[cur->column], cur->hash, &cur->at);
	return cur->eof ? 0 : enter_row(cur, err);
}

/* Chunks that cannot hold what is asked for are passed over; those behind it end the walk. */
static bool is_candidate(const struct cursor *cur, bool *last)
{
	const struct row_entry *e = &cur->dir->chunks.entries[cur->entry];
	*last = false;
	switch (cur->plan) {
	case PLAN_ROW: *last = e->first > cur->key; return !*last;
	case PLAN_REQUEST: *last = e->request_min > cur->key; return !*last;
	case PLAN_TEXT: return cur->candidates[cur->entry / 64] >> cur->entry % 64 & 1;
	default: return true;
	}
}

/* Opens chunks from cur->entry on until one has a row. */
static int enter_chunk(struct cursor *cur, struct err *err)
{
	struct module *m = cur->m;
	for (bool last = false; cur->entry < cur->dir->chunks.n && !last; cur->entry++) {
		if (!is_candidate(cur, &last))
			continue;
		if (case_stopped(m->c))
			return err_set(err, ERR_INTERRUPTED, "stopped");
		int r = load_chunk(cur, err);
		cur->row = 0;
		cur->end = cur->dir->chunks.entries[cur->entry].n;
		if (!r && cur->plan == PLAN_ROW) {
			cur->row = (uint32_t)(cur->key - cur->dir->chunks.entries[cur->entry].first);
			cur->end = cur->row + 1;
		}
		if (!r && cur->plan == PLAN_REQUEST)
			r = narrow_to_request(cur, err);
		if (!r && cur->plan == PLAN_TEXT)
			r = skip_to_text(cur, err);
		if (r || cur->row < cur->end)
			return r;
	}
	cur->eof = true;
	return 0;
}

/* --- SQLite's side --- */

static int rows_connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret, char **zErr)
{
	const struct row_table_info *info = ((struct module *)aux)->info;
	sqlite3_str *decl = vtab_columns(db);
	(void)argc, (void)argv;
	for (unsigned i = 0; i < info->n_columns; i++)
		vtab_column(decl, info->columns[i].name, info->columns[i].type == ROW_INT ? "INTEGER" : "TEXT");
	return vtab_connect(db, decl, aux, ret, zErr);
}

static int constraint_plan(const struct row_table_info *info, sqlite3_index_info *index, int i)
{
	int column = index->aConstraint[i].iColumn;
	if (!index->aConstraint[i].usable || index->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
		return PLAN_ALL;
	if (column < 0 || column == info->id)
		return PLAN_ROW;
	if (column == info->request)
		return PLAN_REQUEST;
	enum row_type type = info->columns[column].type;
	if (type == ROW_REFS || (type == ROW_TEXT && strcmp(sqlite3_vtab_collation(index, i), "BINARY") != 0))
		return PLAN_ALL;
	return column == info->name_column ? PLAN_TEXT : PLAN_EQUAL;
}

/* Is it the order of the table? By request, then by the row's number. */
static bool is_in_order(const struct row_table_info *info, const sqlite3_index_info *index)
{
	for (int i = 0; i < index->nOrderBy; i++) {
		int column = index->aOrderBy[i].iColumn;
		bool row = column < 0 || column == info->id;
		if (index->aOrderBy[i].desc || (!row && column != info->request))
			return false;
		if (row)
			return true; /* nothing is left to be put in order */
	}
	return true;
}

static int rows_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	static const struct {
		int64_t rows;
		double cost;
	} costs[] = {[PLAN_ALL] = {1000000, 1e6},
		     [PLAN_ROW] = {1, 2},
		     [PLAN_REQUEST] = {4, 4},
		     [PLAN_TEXT] = {2, 200},
		     [PLAN_EQUAL] = {1000, 2000}};
	const struct row_table_info *table = ((struct module *)vtab_module(vtab))->info;
	int plan = PLAN_ALL, at = 0;
	for (int i = 0; i < info->nConstraint; i++) {
		int p = constraint_plan(table, info, i);
		if (p == PLAN_ALL || (plan != PLAN_ALL && p > plan))
			continue;
		plan = p;
		at = i;
	}
	if (plan != PLAN_ALL)
		info->aConstraintUsage[at].argvIndex = 1;
	if (plan == PLAN_ROW)
		info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
	info->idxNum = plan == PLAN_EQUAL ? plan + info->aConstraint[at].iColumn * (PLAN_EQUAL + 1) : plan;
	info->orderByConsumed = is_in_order(table, info);
	info->estimatedRows = costs[plan].rows;
	info->estimatedCost = costs[plan].cost;
	return SQLITE_OK;
}

static int rows_open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **ret)
{
	struct cursor *cur = calloc(1, sizeof(*cur));
	if (!cur)
		return SQLITE_NOMEM;
	cur->m = vtab_module(vtab);
	cur->text = cur->cell = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	*ret = &cur->base;
	return SQLITE_OK;
}

/* The next cursor begins it again; until then it holds nothing. */
static void let_go(struct cursor *cur)
{
	struct module *m = cur->m;
	if (m->spare || !cur->hold) {
		sql_end(cur->hold);
	} else {
		sql_reset(cur->hold);
		m->spare = cur->hold;
	}
	cur->hold = NULL;
}

/* Before the connection closes, which waits for no statement. */
static int rows_disconnect(sqlite3_vtab *vtab)
{
	struct module *m = vtab_module(vtab);
	sql_end(m->spare);
	m->spare = NULL;
	return vtab_disconnect(vtab);
}

static int rows_close(sqlite3_vtab_cursor *base)
{
	struct cursor *cur = (struct cursor *)base;
	row_chunk_unref(cur->chunk);
	directory_unref(cur->dir);
	name_finder_free(cur->names);
	free(cur->candidates);
	sql_end(cur->data);
	let_go(cur);
	buf_done(&cur->text);
	buf_done(&cur->cell);
	free(cur);
	return SQLITE_OK;
}

static int fail(struct cursor *cur, const struct err *err)
{
	cur->eof = true;
	return store_pending(cur->m->c, err, &cur->base.pVtab->zErrMsg);
}

/* A number for a column of numbers, as SQLite compares it: '5' and 5.0 are 5, what is no whole number equals none. */
static void take_number(struct cursor *cur, sqlite3_value *v)
{
	double d;
	switch (sqlite3_value_numeric_type(v)) {
	case SQLITE_INTEGER: cur->key = sqlite3_value_int64(v); break;
	case SQLITE_FLOAT:
		d = sqlite3_value_double(v);
		cur->eof = !(d >= -9.2e18 && d <= 9.2e18) || (double)(int64_t)d != d;
		cur->key = cur->eof ? 0 : (int64_t)d;
		if (d >= 9.2e18 || d <= -9.2e18 || d != d) { /* SQLite knows more of these */
			cur->eof = false;
			cur->plan = PLAN_ALL;
		}
		break;
	default: cur->eof = true;
	}
	cur->hash = hash_int(cur->key);
}

/* What is no text is left to SQLite, which checks every row anyway. */
static int take_key(struct cursor *cur, sqlite3_value *v, struct err *err)
{
	int type = sqlite3_value_type(v);
	bool number =
	    cur->plan != PLAN_TEXT && (cur->plan != PLAN_EQUAL || cur->m->info->columns[cur->column].type == ROW_INT);
	if (type == SQLITE_NULL) { /* compares with nothing */
		cur->eof = true;
		return 0;
	}
	if (number) {
		take_number(cur, v);
		return 0;
	}
	if (type != SQLITE_TEXT) {
		cur->plan = PLAN_ALL;
		return 0;
	}
	const char *p = (const char *)sqlite3_value_text(v);
	size_t n = (size_t)sqlite3_value_bytes(v);
	buf_clear(&cur->text);
	if (!p)
		return err_nomem(err);
	cur->hash = hash_bytes(p, n);
	return buf_add(&cur->text, p, n, err);
}

/* Once a cursor: from then on it reads one state of the file, however often it is asked. */
static int hold(struct cursor *cur, struct err *err)
{
	if (cur->hold)
		return 0;
	cur->hold = cur->m->spare;
	cur->m->spare = NULL;
	int r = cur->hold ? 0 : sql_prepare(&cur->hold, cur->m->c, "SELECT tab FROM main.row_chunk", err);
	return r ? r : MIN(sql_step(cur->hold, err), 0);
}

static int rows_filter(sqlite3_vtab_cursor *base, int plan, const char *idxStr, int argc, sqlite3_value **argv)
{
	struct cursor *cur = (struct cursor *)base;
	struct err err = {0};
	(void)idxStr, (void)argc;
	cur->plan = plan % (PLAN_EQUAL + 1);
	cur->column = (unsigned)plan / (PLAN_EQUAL + 1);
	cur->eof = false;
	int r = cur->plan == PLAN_ALL ? 0 : take_key(cur, argv[0], &err);
	if (r || cur->eof)
		return r ? fail(cur, &err) : SQLITE_OK;
	r = hold(cur, &err);
	if (!r)
		r = load_directory(cur, &err);
	if (!r && cur->plan == PLAN_TEXT)
		r = find_candidates(cur, &err);
	if (r)
		return fail(cur, &err);
	cur->entry = cur->plan == PLAN_ROW       ? row_directory_row(&cur->dir->chunks, cur->key)
		     : cur->plan == PLAN_REQUEST ? row_directory_request(&cur->dir->chunks, cur->key)
						 : 0;
	if (cur->plan == PLAN_EQUAL) {
		r = find_equal(cur, &err);
		if (r || cur->plan == PLAN_EQUAL)
			return r ? fail(cur, &err) : SQLITE_OK;
	}
	r = enter_chunk(cur, &err);
	return r ? fail(cur, &err) : SQLITE_OK;
}

static int rows_step(sqlite3_vtab_cursor *base)
{
	struct cursor *cur = (struct cursor *)base;
	struct err err = {0};
	int r = 0;
	if (cur->plan == PLAN_EQUAL) {
		cur->eof = !row_index_next(cur->dir->index[cur->column], cur->hash, &cur->at);
		r = cur->eof ? 0 : enter_row(cur, &err);
		return r ? fail(cur, &err) : SQLITE_OK;
	}
	cur->row++;
	if (cur->plan == PLAN_TEXT)
		r = skip_to_text(cur, &err);
	if (!r && cur->row < cur->end)
		return SQLITE_OK;
	cur->entry++;
	if (!r)
		r = enter_chunk(cur, &err);
	return r ? fail(cur, &err) : SQLITE_OK;
}

static int rows_eof(sqlite3_vtab_cursor *base)
{
	return ((struct cursor *)base)->eof;
}

static int rows_cell(sqlite3_vtab_cursor *base, sqlite3_context *out, int column)
{
	struct cursor *cur = (struct cursor *)base;
	const struct row_cells *c;
	struct err err = {0};
	int r = row_chunk_column(cur->chunk, (unsigned)column, &c, &err);
	if (r || !c->has[cur->row])
		return r ? fail(cur, &err) : SQLITE_OK;
	if (c->ints) {
		sqlite3_result_int64(out, c->ints[cur->row]);
	} else if (c->texts) {
		struct text t = c->texts[cur->row];
		sqlite3_result_text64(out, t.len ? t.ptr : "", t.len, SQLITE_TRANSIENT, SQLITE_UTF8);
	} else {
		buf_clear(&cur->cell);
		r = row_refs_json(c, cur->row, &cur->cell, &err);
		if (!r)
			sqlite3_result_text64(out, cur->cell.ptr, cur->cell.len, SQLITE_TRANSIENT, SQLITE_UTF8);
	}
	return r ? fail(cur, &err) : SQLITE_OK;
}

static int rows_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	struct cursor *cur = (struct cursor *)base;
	*ret = cur->dir->chunks.entries[cur->entry].first + cur->row;
	return SQLITE_OK;
}

static const sqlite3_module rows_module = {
    .xConnect = rows_connect,
    .xBestIndex = rows_best_index,
    .xDisconnect = rows_disconnect,
    .xDestroy = rows_disconnect,
    .xOpen = rows_open_cursor,
    .xClose = rows_close,
    .xFilter = rows_filter,
    .xNext = rows_step,
    .xEof = rows_eof,
    .xColumn = rows_cell,
    .xRowid = rows_rowid,
};

static void module_done(void *aux)
{
	struct module *m = aux;
	forget(m);
	codec_free(m->z);
	free(m);
}

int vtab_register_rows(struct case_file *c, struct err *err)
{
	for (int table = 0; table < ROW_TABLES; table++) {
		struct module *m = calloc(1, sizeof(*m));
		if (!m)
			return err_nomem(err);
		m->c = c;
		m->table = (enum row_table)table;
		m->info = &row_tables[table];
		int r = codec_new(&m->z, err);
		if (r) {
			module_done(m);
			return r;
		}
		/* ends m also when it fails */
		int rc = sqlite3_create_module_v2(c->db, m->info->name, &rows_module, m, module_done);
		if (rc != SQLITE_OK)
			return store_error(c, rc, err);
	}
	return 0;
}
