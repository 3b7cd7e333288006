/* SPDX-License-Identifier: Apache-2.0 */
/* row_writer.c - writing the tables of requests: rows gather by column, a full chunk goes out as one row of row_chunk
 *
 * The temporary tables of derived_shadow() stand in front of the case's: rows that are only made to be compared are not
 * compressed.
 */
#include <stdlib.h>
#include <string.h>

#include "filter.h"
#include "row_chunk.h"
#include "store.h"

struct place { /* of a text in `texts` */
	size_t off, len;
};

struct column {
	uint8_t *has;
	int64_t *ints;
	struct place *places;
	struct text *texts;
	struct ref *refs;
	uint32_t n_refs, cap_refs;
	uint32_t *ref_end;
};

struct row_writer {
	struct case_file *c;
	enum row_table table;
	const struct row_table_info *info;
	struct sql *insert;
	struct codec *z;
	bool compress, failed;
	int64_t first;
	uint32_t n;
	struct column columns[ROW_COLUMNS_MAX];
	struct buf texts, data, filter;
};

static int open_columns(struct row_writer *w, struct err *err)
{
	for (unsigned i = 0; i < w->info->n_columns; i++) {
		struct column *c = &w->columns[i];
		enum row_type type = w->info->columns[i].type;
		c->has = calloc(ROW_CHUNK_ROWS, sizeof(*c->has));
		if (type == ROW_INT)
			c->ints = malloc(ROW_CHUNK_ROWS * sizeof(*c->ints));
		if (type == ROW_TEXT) {
			c->places = malloc(ROW_CHUNK_ROWS * sizeof(*c->places));
			c->texts = malloc(ROW_CHUNK_ROWS * sizeof(*c->texts));
		}
		if (type == ROW_REFS)
			c->ref_end = malloc(ROW_CHUNK_ROWS * sizeof(*c->ref_end));
		if (!c->has || !(c->ints || (c->places && c->texts) || c->ref_end))
			return err_nomem(err);
	}
	return 0;
}

int row_writer_open(struct row_writer **ret, struct case_file *c, enum row_table table, struct err *err)
{
	struct row_writer *w = calloc(1, sizeof(*w));
	if (!w)
		return err_nomem(err);
	w->c = c;
	w->table = table;
	w->info = &row_tables[table];
	w->first = 1;
	w->compress = !c->shadowed;
	w->texts = w->data = w->filter = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	int r = open_columns(w, err);
	if (!r)
		r = codec_new(&w->z, err);
	if (!r)
		r = sql_prepare(&w->insert, c,
				"INSERT INTO row_chunk(tab, first, n, request_min, request_max, sha256, filter, data) "
				"VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
				err);
	if (r) {
		row_writer_free(w);
		return r;
	}
	*ret = w;
	return 0;
}

void row_writer_free(struct row_writer *w)
{
	if (!w)
		return;
	for (unsigned i = 0; i < w->info->n_columns; i++) {
		struct column *c = &w->columns[i];
		free(c->has);
		free(c->ints);
		free(c->places);
		free(c->texts);
		free(c->refs);
		free(c->ref_end);
	}
	buf_done(&w->texts);
	buf_done(&w->data);
	buf_done(&w->filter);
	codec_free(w->z);
	sql_end(w->insert);
	free(w);
}

void row_put_int(struct row_writer *w, unsigned column, int64_t v)
{
	struct column *c = &w->columns[column];
	c->has[w->n] = v != INT64_MIN;
	c->ints[w->n] = v;
}

void row_put_text(struct row_writer *w, unsigned column, struct text v)
{
	struct column *c = &w->columns[column];
	c->has[w->n] = v.ptr != NULL;
	c->places[w->n] = (struct place){w->texts.len, v.ptr ? v.len : 0};
	if (v.ptr && buf_add_text(&w->texts, v, NULL))
		w->failed = true;
}

void row_put_ref(struct row_writer *w, unsigned column, struct ref ref)
{
	struct column *c = &w->columns[column];
	if (c->n_refs == c->cap_refs) {
		uint32_t cap = c->cap_refs ? 2 * c->cap_refs : 4 * ROW_CHUNK_ROWS;
		struct ref *to = realloc(c->refs, cap * sizeof(*to));
		if (!to) {
			w->failed = true;
			return;
		}
		c->refs = to;
		c->cap_refs = cap;
	}
	c->refs[c->n_refs++] = ref;
}

static int make_filter(struct row_writer *w, const struct row_cells *cells, struct err *err)
{
	int column = w->info->filter;
	buf_clear(&w->filter);
	return column < 0 ? 0 : filter_make(cells[column].texts, cells[column].has, w->n, 1, &w->filter, err);
}

static int write_chunk(struct row_writer *w, const unsigned char *sha256, struct err *err)
{
	const int64_t *request = w->columns[w->info->request].ints;
	const int64_t head[] = {w->table, w->first, w->n, request[0], request[w->n - 1]};
	int r = 0;
	for (int i = 0; !r && i < (int)ARRAY_SIZE(head); i++)
		r = sql_int(w->insert, i + 1, head[i], err);
	if (!r)
		r = sql_blob(w->insert, 6, (struct text){(const char *)sha256, SHA256_BYTES}, err);
	if (!r)
		r = w->filter.len ? sql_blob(w->insert, 7, buf_text(&w->filter), err) : sql_null(w->insert, 7, err);
	if (!r)
		r = sql_blob(w->insert, 8, buf_text(&w->data), err);
	return r ? r : sql_run(w->insert, err);
}

static int flush(struct row_writer *w, struct err *err)
{
	struct row_cells cells[ROW_COLUMNS_MAX];
	unsigned char sha256[SHA256_BYTES];
	if (!w->n)
		return 0;
	for (unsigned i = 0; i < w->info->n_columns; i++) {
		struct column *c = &w->columns[i];
		for (uint32_t k = 0; c->places && k < w->n; k++)
			c->texts[k] = (struct text){w->texts.ptr + c->places[k].off, c->places[k].len};
		cells[i] = (struct row_cells){c->has, c->ints, c->texts, c->refs, c->ref_end};
	}
	buf_clear(&w->data);
	int r = row_chunk_pack(w->table, w->n, cells, w->compress, w->z, &w->data, sha256, err);
	if (!r)
		r = make_filter(w, cells, err);
	if (!r)
		r = write_chunk(w, sha256, err);
	for (unsigned i = 0; i < w->info->n_columns; i++) {
		memset(w->columns[i].has, 0, ROW_CHUNK_ROWS);
		w->columns[i].n_refs = 0;
	}
	buf_clear(&w->texts);
	w->first += w->n;
	w->n = 0;
	return r;
}

int row_next(struct row_writer *w, struct err *err)
{
	const struct column *request = &w->columns[w->info->request];
	if (w->failed)
		return err_nomem(err);
	if (!request->has[w->n] || (w->n && request->ints[w->n] < request->ints[w->n - 1]))
		return err_set(err, ERR_BUG, "rows of %s are not in order", w->info->name);
	if (w->info->id >= 0 && w->columns[w->info->id].ints[w->n] != w->first + w->n)
		return err_set(err, ERR_BUG, "rows of %s are not numbered in order", w->info->name);
	for (unsigned i = 0; i < w->info->n_columns; i++)
		if (w->columns[i].ref_end)
			w->columns[i].ref_end[w->n] = w->columns[i].n_refs;
	return ++w->n == ROW_CHUNK_ROWS || w->texts.len > CHUNK_MAX_DECODED_BYTES / 8 ? flush(w, err) : 0;
}

int row_end(struct row_writer *w, struct err *err)
{
	return flush(w, err);
}

int row_tables_clear(struct case_file *c, struct err *err)
{
	return sql_exec(c, "DELETE FROM row_chunk", err);
}

int row_tables_count(struct case_file *c, enum row_table table, int64_t *ret, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int r = sql_prepare(&s, c, "SELECT coalesce(sum(n), 0) FROM row_chunk WHERE tab = ?1", err);
	if (!r)
		r = sql_int(s, 1, table, err);
	if (!r)
		r = sql_step(s, err);
	if (r < 0)
		return r;
	*ret = sql_get_int(s, 0);
	return 0;
}
