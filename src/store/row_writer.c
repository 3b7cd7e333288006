/* SPDX-License-Identifier: Apache-2.0 */
/* row_writer.c - writing the tables of requests: rows gather by column, a full chunk goes out as one row of row_chunk
 *
 * Where the case has threads, one of them packs a chunk while the next is gathered; chunks go out in order.
 * The temporary tables of derived_shadow() stand in front of the case's: rows that are only made to be compared are not
 * compressed.
 */
#include <stdlib.h>
#include <string.h>

#include "pagetrail/thread.h"
#include "row_chunk.h"
#include "row_names.h"
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

/* The rows of one chunk, while they are gathered and packed. */
struct row_set {
	struct task task;
	struct row_writer *w;
	struct row_set *next; /* that is not used */
	int64_t first;
	uint32_t n;
	struct column columns[ROW_COLUMNS_MAX];
	struct codec *z;
	struct buf texts, data;
	uint64_t *names; /* keys of them, for the index */
	uint32_t n_names;
	unsigned char sha256[SHA256_BYTES];
};

enum { ROW_SETS_WAIT = 1 };

struct row_writer {
	struct case_file *c;
	enum row_table table;
	const struct row_table_info *info;
	struct row_names *names; /* not ours */
	struct sql *insert;
	struct pool *pool;
	bool compress, failed;
	struct row_set *at, *spare;
};

static void set_free(struct row_set *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < ROW_COLUMNS_MAX; i++) {
		struct column *c = &s->columns[i];
		free(c->has);
		free(c->ints);
		free(c->places);
		free(c->texts);
		free(c->refs);
		free(c->ref_end);
	}
	buf_done(&s->texts);
	buf_done(&s->data);
	free(s->names);
	codec_free(s->z);
	free(s);
}

static int set_columns(struct row_set *s, struct err *err)
{
	const struct row_table_info *info = s->w->info;
	for (unsigned i = 0; i < info->n_columns; i++) {
		struct column *c = &s->columns[i];
		enum row_type type = info->columns[i].type;
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

/* An empty one, whose first row is this. */
static int set_take(struct row_writer *w, int64_t first, struct err *err)
{
	struct row_set *s = w->spare;
	int r = 0;
	if (s) {
		w->spare = s->next;
	} else {
		s = calloc(1, sizeof(*s));
		if (!s)
			return err_nomem(err);
		s->w = w;
		s->texts = s->data = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
		r = set_columns(s, err);
		if (!r)
			r = codec_new(&s->z, err);
	}
	s->first = first;
	w->at = s;
	return r;
}

static void set_give(struct task *t)
{
	struct row_set *s = (struct row_set *)t;
	for (unsigned i = 0; i < s->w->info->n_columns; i++) {
		memset(s->columns[i].has, 0, ROW_CHUNK_ROWS);
		s->columns[i].n_refs = 0;
	}
	buf_clear(&s->texts);
	s->n = 0;
	s->next = s->w->spare;
	s->w->spare = s;
}

int row_writer_open(struct row_writer **ret, struct case_file *c, enum row_table table, struct row_names *names,
		    struct err *err)
{
	if (row_tables[table].name_column >= 0 && !names)
		return err_set(err, ERR_BUG, "table %s without an index", row_tables[table].name);
	struct row_writer *w = calloc(1, sizeof(*w));
	if (!w)
		return err_nomem(err);
	w->c = c;
	w->table = table;
	w->names = names;
	w->info = &row_tables[table];
	w->compress = !c->shadowed;
	int r = set_take(w, 1, err);
	if (!r)
		r = pool_open(&w->pool, c->threads > 1 ? 1 : 0, ROW_SETS_WAIT, err);
	if (!r)
		r = sql_prepare(&w->insert, c,
				"INSERT INTO row_chunk(tab, first, n, request_min, request_max, sha256, data) "
				"VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
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
	pool_close(w->pool);
	for (struct row_set *s = w->spare, *next; s; s = next) {
		next = s->next;
		set_free(s);
	}
	set_free(w->at);
	sql_end(w->insert);
	free(w);
}

void row_put_int(struct row_writer *w, unsigned column, int64_t v)
{
	struct row_set *s = w->at;
	struct column *c = &s->columns[column];
	c->has[s->n] = v != INT64_MIN;
	c->ints[s->n] = v;
}

void row_put_text(struct row_writer *w, unsigned column, struct text v)
{
	struct row_set *s = w->at;
	struct column *c = &s->columns[column];
	c->has[s->n] = v.ptr != NULL;
	c->places[s->n] = (struct place){s->texts.len, v.ptr ? v.len : 0};
	if (v.ptr && buf_add_text(&s->texts, v, NULL))
		w->failed = true;
}

void row_put_ref(struct row_writer *w, unsigned column, struct ref ref)
{
	struct column *c = &w->at->columns[column];
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

static int by_key(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* What the index has of these rows: each key once, so that what it gathers does not depend on who shares an id with whom. */
static int make_keys(struct row_set *s, const struct row_cells *cells, struct err *err)
{
	int column = s->w->info->name_column;
	s->n_names = 0;
	if (column < 0)
		return 0;
	if (!s->names)
		s->names = malloc(ROW_CHUNK_ROWS * sizeof(*s->names));
	if (!s->names)
		return err_nomem(err);
	const struct row_cells *c = &cells[column];
	const int64_t *request = cells[s->w->info->request].ints;
	uint32_t n = 0, once = 0;
	for (uint32_t i = 0; i < s->n; i++)
		if (c->has[i])
			s->names[n++] = row_names_key(hash_bytes(c->texts[i].ptr, c->texts[i].len), request[i]);
	qsort(s->names, n, sizeof(*s->names), by_key);
	for (uint32_t i = 0; i < n; i++)
		if (!once || s->names[i] != s->names[once - 1])
			s->names[once++] = s->names[i];
	s->n_names = once;
	return 0;
}

static int set_pack(struct task *t, struct err *err)
{
	struct row_set *s = (struct row_set *)t;
	struct row_cells cells[ROW_COLUMNS_MAX];
	for (unsigned i = 0; i < s->w->info->n_columns; i++) {
		struct column *c = &s->columns[i];
		for (uint32_t k = 0; c->places && k < s->n; k++)
			c->texts[k] = c->has[k] ? (struct text){s->texts.ptr + c->places[k].off, c->places[k].len}
						: (struct text){0};
		cells[i] = (struct row_cells){c->has, c->ints, c->texts, c->refs, c->ref_end};
	}
	buf_clear(&s->data);
	int r = row_chunk_pack(s->w->table, s->n, cells, s->w->compress, s->z, &s->data, s->sha256, err);
	return r ? r : make_keys(s, cells, err);
}

static int set_write(struct task *t, struct err *err)
{
	struct row_set *s = (struct row_set *)t;
	struct sql *insert = s->w->insert;
	const int64_t *request = s->columns[s->w->info->request].ints;
	const int64_t head[] = {s->w->table, s->first, s->n, request[0], request[s->n - 1]};
	int r = 0;
	for (int i = 0; !r && i < (int)ARRAY_SIZE(head); i++)
		r = sql_int(insert, i + 1, head[i], err);
	if (!r)
		r = sql_blob(insert, 6, (struct text){(const char *)s->sha256, SHA256_BYTES}, err);
	if (!r)
		r = sql_blob(insert, 7, buf_text(&s->data), err);
	if (!r)
		r = sql_run(insert, err);
	if (!r && s->n_names)
		r = row_names_add(s->w->names, s->names, s->n_names, err);
	set_give(t);
	return r;
}

static int flush(struct row_writer *w, struct err *err)
{
	struct row_set *s = w->at;
	if (!s->n)
		return 0;
	int64_t next = s->first + s->n;
	s->task = (struct task){.run = set_pack, .done = set_write, .drop = set_give};
	w->at = NULL;
	int r = pool_submit(w->pool, &s->task, err);
	return r ? r : set_take(w, next, err);
}

int row_next(struct row_writer *w, struct err *err)
{
	struct row_set *s = w->at;
	if (w->failed)
		return err_nomem(err);
	const struct column *request = &s->columns[w->info->request];
	if (!request->has[s->n] || (s->n && request->ints[s->n] < request->ints[s->n - 1]))
		return err_set(err, ERR_BUG, "rows of %s are not in order", w->info->name);
	if (w->info->id >= 0 && s->columns[w->info->id].ints[s->n] != s->first + s->n)
		return err_set(err, ERR_BUG, "rows of %s are not numbered in order", w->info->name);
	for (unsigned i = 0; i < w->info->n_columns; i++)
		if (s->columns[i].ref_end)
			s->columns[i].ref_end[s->n] = s->columns[i].n_refs;
	return ++s->n == ROW_CHUNK_ROWS || s->texts.len > CHUNK_MAX_DECODED_BYTES / 8 ? flush(w, err) : 0;
}

int row_end(struct row_writer *w, struct err *err)
{
	int r = flush(w, err);
	return r ? r : pool_drain(w->pool, err);
}

int row_tables_clear(struct case_file *c, struct err *err)
{
	return sql_exec(c, "DELETE FROM row_chunk; DELETE FROM name_block", err);
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
