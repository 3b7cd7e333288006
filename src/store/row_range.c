/* SPDX-License-Identifier: Apache-2.0 */
/* row_range.c - rows of the chunked tables in bulk, in any thread
 *
 * The bytes of the chunks are fetched through the case's connection; a chunk is opened when the reading comes to it, and let
 * go behind it. So a range costs its packed bytes and one chunk.
 */
#include "pagetrail/row_range.h"

#include <stdlib.h>

#include "pagetrail/limits.h"
#include "row_directory.h"

struct row_book {
	struct case_file *c;
	enum row_table table;
	uint32_t columns;
	struct row_directory directory;
	struct sql *data;
};

struct range_chunks {
	enum row_table table;
	uint32_t columns;
	struct arena arena;
	const struct row_entry *entries; /* the book's */
	struct text *bytes;
	uint32_t n, at; /* at: the one that is open */
	struct row_chunk *open;
	struct codec *z;
};

int row_book_open(struct row_book **ret, struct case_file *c, enum row_table table, uint32_t columns, struct err *err)
{
	struct row_book *b = calloc(1, sizeof(*b));
	if (!b)
		return err_nomem(err);
	b->c = c;
	b->table = table;
	b->columns = columns | UINT32_C(1) << row_tables[table].request;
	int r = row_directory_read(&b->directory, c, table, err);
	if (r) {
		row_book_close(b);
		return r;
	}
	*ret = b;
	return 0;
}

void row_book_close(struct row_book *b)
{
	if (!b)
		return;
	row_directory_done(&b->directory);
	sql_end(b->data);
	free(b);
}

int64_t row_book_rows(const struct row_book *b)
{
	return row_directory_rows(&b->directory);
}

/* --- fetching --- */

static int fetch(struct row_range *r, struct row_book *b, uint32_t from, uint32_t to, struct err *err)
{
	const struct row_directory *d = &b->directory;
	struct range_chunks *x = r->chunks;
	x->entries = d->n ? d->entries + from : NULL; /* an empty table has no array */
	x->n = to - from;
	x->at = x->n; /* none is open */
	x->bytes = arena_array(&x->arena, (size_t)x->n + 1, sizeof(*x->bytes));
	int res = x->bytes ? 0 : err_nomem(err);
	for (uint32_t i = 0; i < x->n && !res; i++) {
		struct text t = {NULL, 0};
		res = row_directory_bytes(d, from + i, b->c, b->table, &b->data, &t, err);
		if (!res)
			x->bytes[i] = arena_text(&x->arena, t);
		if (!res && !x->bytes[i].ptr)
			res = err_nomem(err);
		if (b->data)
			sql_reset(b->data);
	}
	r->whole_from = from ? d->entries[from - 1].request_max + 1 : INT64_MIN;
	r->whole_to = to < d->n ? d->entries[to].request_min - 1 : INT64_MAX;
	return res;
}

static int read_chunks(struct row_range **ret, struct row_book *b, uint32_t from, uint32_t to, struct err *err)
{
	struct row_range *r = calloc(1, sizeof(*r));
	struct range_chunks *x = calloc(1, sizeof(*x));
	if (!r || !x) {
		free(r);
		free(x);
		return err_nomem(err);
	}
	r->chunks = x;
	x->table = b->table;
	x->columns = b->columns;
	arena_init(&x->arena, ARENA_MAX_BYTES);
	int res = codec_new(&x->z, err);
	if (!res)
		res = fetch(r, b, from, to, err);
	if (res) {
		row_range_free(r);
		return res;
	}
	*ret = r;
	return 0;
}

int row_range_read(struct row_range **ret, struct row_book *b, int64_t from, int64_t to, struct err *err)
{
	uint32_t first = row_directory_request(&b->directory, from), end = first;
	while (end < b->directory.n && b->directory.entries[end].request_min <= to)
		end++;
	return read_chunks(ret, b, first, end, err);
}

void row_range_free(struct row_range *r)
{
	if (!r)
		return;
	row_chunk_unref(r->chunks->open);
	codec_free(r->chunks->z);
	arena_done(&r->chunks->arena);
	free(r->chunks);
	free(r);
}

int row_range_turn(struct row_range **r, struct row_book *b, int64_t request, struct err *err)
{
	if (*r && request >= (*r)->whole_from && request <= (*r)->whole_to)
		return 0;
	row_range_free(*r);
	*r = NULL;
	return row_range_read(r, b, request, request, err);
}

/* --- reading --- */

/* At the first row of a chunk. */
static int enter(struct row_range *r, uint32_t chunk, struct err *err)
{
	struct range_chunks *x = r->chunks;
	const struct row_table_info *info = &row_tables[x->table];
	row_chunk_unref(x->open);
	x->open = NULL;
	x->at = x->n;
	r->row = r->n = 0;
	if (chunk >= x->n)
		return 0;
	int res = row_chunk_open(&x->open, x->table, x->entries[chunk].n, x->bytes[chunk], x->z, err);
	for (unsigned i = 0; i < info->n_columns && !res; i++)
		if (x->columns >> i & 1)
			res = row_chunk_column(x->open, i, &r->cells[i], err);
	if (res) {
		err_where(err, "table %s", info->name);
		return res;
	}
	x->at = chunk;
	r->n = x->entries[chunk].n;
	r->first = x->entries[chunk].first;
	r->request = r->cells[info->request]->ints;
	return 1;
}

int row_range_seek(struct row_range *r, int64_t request, struct err *err)
{
	struct range_chunks *x = r->chunks;
	bool open = x->at < x->n && x->entries[x->at].request_max >= request &&
		    (x->entries[x->at].request_min < request || !x->at);
	if (!open) {
		uint32_t lo = 0, hi = x->n;
		while (lo < hi) {
			uint32_t mid = lo + (hi - lo) / 2;
			if (x->entries[mid].request_max < request)
				lo = mid + 1;
			else
				hi = mid;
		}
		int res = lo == x->at && lo < x->n ? 1 : enter(r, lo, err);
		if (res < 1)
			return res;
	}
	/* most who ask want the row after the last one */
	uint32_t lo = 0, hi = r->n;
	if (r->row < r->n && r->request[r->row] < request)
		lo = r->row + 1;
	else if (r->row < r->n && (!r->row || r->request[r->row - 1] < request))
		return 1;
	for (unsigned i = 0; i < 4 && lo < hi && r->request[lo] < request; i++)
		lo++;
	if (lo < hi && r->request[lo] >= request)
		hi = lo;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (r->request[mid] < request)
			lo = mid + 1;
		else
			hi = mid;
	}
	r->row = lo;
	return lo < r->n ? 1 : enter(r, x->at + 1, err);
}

int row_range_next(struct row_range *r, struct err *err)
{
	struct range_chunks *x = r->chunks;
	if (x->at == x->n)
		return 0;
	return ++r->row < r->n ? 1 : enter(r, x->at + 1, err);
}

int row_range_goto(struct row_range **r, struct row_book *b, int64_t row, struct err *err)
{
	uint32_t chunk = row < 1 ? b->directory.n : row_directory_row(&b->directory, row);
	if (chunk == b->directory.n)
		return err_set(err, ERR_DAMAGED, "table %s: a row is not there", row_tables[b->table].name);
	size_t from = *r ? (size_t)((*r)->chunks->entries - b->directory.entries) : 0;
	int res = 0;
	if (!*r || chunk < from || chunk >= from + (*r)->chunks->n) {
		row_range_free(*r);
		*r = NULL;
		res = read_chunks(r, b, chunk, chunk + 1, err);
		from = chunk;
	}
	if (!res && (*r)->chunks->at != chunk - from)
		res = enter(*r, chunk - (uint32_t)from, err);
	if (res >= 0)
		(*r)->row = (uint32_t)(row - (*r)->first);
	return MIN(res, 0);
}
