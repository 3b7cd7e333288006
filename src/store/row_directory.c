/* SPDX-License-Identifier: Apache-2.0 */
/* row_directory.c - which rows and requests each chunk of a table has; the chunks must follow each other */
#include "row_directory.h"

#include <stdlib.h>

#include "store.h"

static int add_entry(struct row_directory *d, const char *name, struct sql *s, struct err *err)
{
	struct row_entry e = {sql_get_int(s, 0), sql_get_int(s, 2), sql_get_int(s, 3), (uint32_t)sql_get_int(s, 1)};
	const struct row_entry *before = d->n ? &d->entries[d->n - 1] : NULL;
	if (sql_get_int(s, 1) < 1 || sql_get_int(s, 1) > ROW_CHUNK_ROWS || e.request_min > e.request_max ||
	    e.first != (before ? before->first + before->n : 1) || (before && e.request_min < before->request_max))
		return err_set(err, ERR_DAMAGED, "table %s: its chunks do not follow each other", name);
	if (d->n == d->cap) {
		uint32_t cap = d->cap ? 2 * d->cap : 64;
		struct row_entry *to = realloc(d->entries, cap * sizeof(*to));
		if (!to)
			return err_nomem(err);
		d->entries = to;
		d->cap = cap;
	}
	d->entries[d->n++] = e;
	return 0;
}

int row_directory_read(struct row_directory *d, struct case_file *c, enum row_table table, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int r = sql_prepare(
	    &s, c, "SELECT first, n, request_min, request_max FROM main.row_chunk WHERE tab = ?1 ORDER BY first", err);
	if (!r)
		r = sql_int(s, 1, table, err);
	while (!r && (r = sql_step(s, err)) == 1)
		r = add_entry(d, row_tables[table].name, s, err);
	return r;
}

void row_directory_done(struct row_directory *d)
{
	free(d->entries);
	*d = (struct row_directory){0};
}

int64_t row_directory_rows(const struct row_directory *d)
{
	return d->n ? d->entries[d->n - 1].first - 1 + d->entries[d->n - 1].n : 0;
}

uint32_t row_directory_request(const struct row_directory *d, int64_t request)
{
	uint32_t lo = 0, hi = d->n;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (d->entries[mid].request_max < request)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint32_t row_directory_row(const struct row_directory *d, int64_t row)
{
	uint32_t lo = 0, hi = d->n;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (d->entries[mid].first + d->entries[mid].n <= row)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int row_directory_bytes(const struct row_directory *d, uint32_t entry, struct case_file *c, enum row_table table,
			struct sql **data, struct text *ret, struct err *err)
{
	int r = *data ? 0 : sql_prepare(data, c, "SELECT data FROM main.row_chunk WHERE tab = ?1 AND first = ?2", err);
	if (!r)
		r = sql_int(*data, 1, table, err);
	if (!r)
		r = sql_int(*data, 2, d->entries[entry].first, err);
	if (!r)
		r = sql_step(*data, err);
	if (!r)
		r = err_set(err, ERR_DAMAGED, "table %s: a chunk is not there", row_tables[table].name);
	if (r < 0)
		return r;
	*ret = sql_get_text(*data, 0);
	return 0;
}

int row_directory_open(const struct row_directory *d, uint32_t entry, struct case_file *c, enum row_table table,
		       struct codec *z, struct sql **data, struct row_chunk **ret, struct err *err)
{
	struct text bytes;
	int r = row_directory_bytes(d, entry, c, table, data, &bytes, err);
	if (!r)
		r = row_chunk_open(ret, table, d->entries[entry].n, bytes, z, err);
	if (*data)
		sql_reset(*data);
	if (r)
		err_where(err, "table %s", row_tables[table].name);
	return r;
}
