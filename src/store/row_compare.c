/* SPDX-License-Identifier: Apache-2.0 */
/* row_compare.c - the tables of requests: their digest, and whether they are those that were made again
 *
 * Chunks are cut after a number of rows, so equal tables have equal chunks: hashes are compared, and only where they differ
 * are rows looked at. Each stored chunk is decompressed and hashed: what it says of itself is not believed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "canonical.h"
#include "row_chunk.h"
#include "store.h"

enum { COL_FIRST, COL_N, COL_SHA256, COL_DATA, COL_MIN, COL_MAX };
#define CHUNKS                                                                                               \
	"SELECT first, n, sha256, data, request_min, request_max FROM %s.row_chunk WHERE tab = ?1 ORDER BY " \
	"first"

struct compare {
	struct case_file *c;
	enum row_table table;
	struct codec *z;
	int (*report)(void *ctx, struct text where, struct text what);
	void *ctx;
};

static int chunks_of(struct sql **ret, struct case_file *c, const char *schema, enum row_table table, struct err *err)
{
	char text[256];
	snprintf(text, sizeof(text), CHUNKS, schema);
	int r = sql_prepare(ret, c, text, err);
	return r ? r : sql_int(*ret, 1, table, err);
}

static int open_stored(struct row_chunk **ret, enum row_table table, struct sql *s, struct codec *z, struct err *err)
{
	int64_t n = sql_get_int(s, COL_N);
	if (n < 1 || n > ROW_CHUNK_ROWS)
		return err_set(err, ERR_DAMAGED, "row chunk: number of rows");
	return row_chunk_open(ret, table, (uint32_t)n, sql_get_text(s, COL_DATA), z, err);
}

/* 1: the chunk has the hash that stands beside it, 0: it has another. */
static int has_its_hash(enum row_table table, struct sql *s, struct codec *z, struct err *err)
{
	CLEANUP(row_chunk_unrefp) struct row_chunk *x = NULL;
	unsigned char sha256[SHA256_BYTES];
	struct text want = sql_get_text(s, COL_SHA256);
	int r = open_stored(&x, table, s, z, err);
	if (!r)
		r = row_chunk_sha256(x, sha256, err);
	return r ? r : want.len == SHA256_BYTES && !memcmp(want.ptr, sha256, SHA256_BYTES);
}

/* --- one row --- */

static void show(enum row_type type, const struct row_cells *c, uint32_t row, char *out, size_t size)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(MIB);
	struct text t = {NULL, 0};
	if (type == ROW_TEXT)
		t = c->texts[row];
	if (type == ROW_REFS && !row_refs_json(c, row, &b, NULL))
		t = buf_text(&b);
	if (!c->has[row])
		snprintf(out, size, "unknown");
	else if (type == ROW_INT)
		snprintf(out, size, "%" PRId64, c->ints[row]);
	else
		snprintf(out, size, "'%.*s'", (int)MIN(t.len, 80u), t.ptr ? t.ptr : "");
}

static bool cell_eq(enum row_type type, const struct row_cells *a, const struct row_cells *b, uint32_t row)
{
	if (a->has[row] != b->has[row])
		return false;
	if (!a->has[row])
		return true;
	if (type == ROW_INT)
		return a->ints[row] == b->ints[row];
	if (type == ROW_TEXT)
		return text_eq(a->texts[row], b->texts[row]);
	uint32_t ai = row ? a->ref_end[row - 1] : 0, bi = row ? b->ref_end[row - 1] : 0;
	if (a->ref_end[row] - ai != b->ref_end[row] - bi)
		return false;
	for (; ai < a->ref_end[row]; ai++, bi++) {
		struct ref x = a->refs[ai], y = b->refs[bi];
		if (x.source != y.source || x.off != y.off || x.len != y.len)
			return false;
	}
	return true;
}

static int fault(const struct compare *v, int64_t row, const char *what)
{
	char where[96];
	snprintf(where, sizeof(where), "table %s, row %" PRId64, row_tables[v->table].name, row);
	int r = v->report(v->ctx, text_of(where), text_of(what));
	return r ? r : 1;
}

/* 1: the first row that differs was reported; 0: all rows that both have are the same. */
static int compare_rows(const struct compare *v, struct row_chunk *a, struct row_chunk *b, int64_t first, uint32_t n,
			struct err *err)
{
	const struct row_table_info *info = &row_tables[v->table];
	const struct row_cells *x[ROW_COLUMNS_MAX], *y[ROW_COLUMNS_MAX];
	int r = 0;
	for (unsigned i = 0; !r && i < info->n_columns; i++) {
		r = row_chunk_column(a, i, &x[i], err);
		if (!r)
			r = row_chunk_column(b, i, &y[i], err);
	}
	for (uint32_t row = 0; !r && row < n; row++) {
		for (unsigned i = 0; i < info->n_columns; i++) {
			char is[128], was[128], what[400];
			if (cell_eq(info->columns[i].type, x[i], y[i], row))
				continue;
			show(info->columns[i].type, x[i], row, is, sizeof(is));
			show(info->columns[i].type, y[i], row, was, sizeof(was));
			snprintf(what, sizeof(what), "%s is %s; the events say %s", info->columns[i].name, is, was);
			return fault(v, first + row, what);
		}
	}
	return r;
}

/* --- one chunk --- */

/* All that stands beside the data. */
static bool heads_eq(struct sql *a, struct sql *b)
{
	for (int i = COL_FIRST; i <= COL_MAX; i++)
		if (i != COL_DATA && !sql_cell_eq(a, b, i))
			return false;
	return true;
}

/* a: stored, b: made again. 1: a fault was reported. */
static int compare_chunk(const struct compare *v, struct sql *a, struct sql *b, struct err *err)
{
	CLEANUP(row_chunk_unrefp) struct row_chunk *x = NULL;
	CLEANUP(row_chunk_unrefp) struct row_chunk *y = NULL;
	int64_t first = sql_get_int(b, COL_FIRST), n = sql_get_int(a, COL_N), want = sql_get_int(b, COL_N);
	int r = has_its_hash(v->table, a, v->z, err);
	if (r < 0)
		return r;
	if (r && heads_eq(a, b))
		return 0;
	if (sql_get_int(a, COL_FIRST) != first)
		return fault(v, first, "is missing: events tell of it");
	r = open_stored(&x, v->table, a, v->z, err);
	if (!r)
		r = open_stored(&y, v->table, b, v->z, err);
	if (!r)
		r = compare_rows(v, x, y, first, (uint32_t)MIN(n, want), err);
	if (r)
		return r;
	if (n != want)
		return fault(v, first + MIN(n, want),
			     n > want ? "follows from no event" : "is missing: events tell of it");
	return fault(v, first, "its chunk has a hash or range that is not that of its rows");
}

static int compare_table(const struct compare *v, struct err *err)
{
	CLEANUP(sql_endp) struct sql *a = NULL;
	CLEANUP(sql_endp) struct sql *b = NULL;
	int r = chunks_of(&a, v->c, "main", v->table, err);
	if (!r)
		r = chunks_of(&b, v->c, "temp", v->table, err);
	while (!r) {
		int has = sql_step(a, err);
		int want = has < 0 ? 0 : sql_step(b, err);
		if (has < 0 || want < 0 || (!has && !want))
			return MIN(MIN(has, want), 0);
		if (!want)
			return fault(v, sql_get_int(a, COL_FIRST), "follows from no event");
		if (!has)
			return fault(v, sql_get_int(b, COL_FIRST), "is missing: events tell of it");
		r = compare_chunk(v, a, b, err);
	}
	return r;
}

int row_tables_compare(struct case_file *c, int (*report)(void *ctx, struct text where, struct text what), void *ctx,
		       struct err *err)
{
	struct compare v = {.c = c, .report = report, .ctx = ctx};
	bool faults = false;
	int r = codec_new(&v.z, err);
	for (int table = 0; r >= 0 && table < ROW_TABLES; table++) {
		struct err e = {0};
		v.table = (enum row_table)table;
		r = compare_table(&v, &e);
		if (r == ERR_DAMAGED && e.code == ERR_DAMAGED) {
			char where[96];
			snprintf(where, sizeof(where), "table %s", row_tables[table].name);
			r = report(ctx, text_of(where), text_of(e.what));
			faults = true;
		} else if (r < 0 && err && e.code) {
			*err = e;
		}
		faults |= r > 0;
	}
	codec_free(v.z);
	return r < 0 ? r : faults;
}

/* --- digest --- */

static int digest_chunk(struct sha256 *h, enum row_table table, struct sql *s, struct codec *z, struct err *err)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	static const int columns[] = {COL_FIRST, COL_N, COL_SHA256, COL_MIN, COL_MAX};
	int r = has_its_hash(table, s, z, err);
	if (r < 0)
		return r;
	if (!r)
		return err_set(err, ERR_DAMAGED, "row chunk: it is not what its hash says");
	r = buf_add_char(&out, 'r', err);
	for (size_t i = 0; !r && i < ARRAY_SIZE(columns); i++)
		r = canonical_cell(&out, s, columns[i], err);
	return r ? r : sha256_add(h, out.ptr, out.len, err);
}

int row_tables_digest(struct case_file *c, struct sha256 *h, struct err *err)
{
	struct codec *z = NULL;
	int r = codec_new(&z, err);
	for (int table = 0; !r && table < ROW_TABLES; table++) {
		CLEANUP(sql_endp) struct sql *s = NULL;
		const char *name = row_tables[table].name;
		r = sha256_add(h, name, strlen(name) + 1, err);
		if (!r)
			r = chunks_of(&s, c, "main", (enum row_table)table, err);
		while (!r && (r = sql_step(s, err)) == 1)
			r = digest_chunk(h, (enum row_table)table, s, z, err);
		if (r)
			err_where(err, "table %s", name);
	}
	codec_free(z);
	return r;
}
