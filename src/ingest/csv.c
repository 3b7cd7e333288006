/* SPDX-License-Identifier: Apache-2.0 */
/* csv.c - the sources file
 *
 * `glob,worker,role,tz,format`; a first record that begins with "glob" is a header and may order the columns its own way.
 */
#include "csv.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/csv.h"

enum {
	COLUMN_GLOB,
	COLUMN_WORKER,
	COLUMN_ROLE,
	COLUMN_TZ,
	COLUMN_FORMAT,
	COLUMNS,
	FILE_MAX = 4 * 1024 * 1024,
	CELLS_MAX = CSV_CELLS_MAX
};
static const char *const column_names[COLUMNS] = {"glob", "worker", "role", "tz", "format"};

struct reader {
	const char *path;
	struct sources_file *f;
	const struct ingest_options *o;
	size_t cap;
	int order[CELLS_MAX]; /* column of each cell; -1: not ours */
	unsigned line;
	struct err *err;
};

static int wrong(struct reader *r, unsigned cell, const char *fmt, struct text t)
{
	char what[160];
	snprintf(what, sizeof(what), fmt, (int)MIN(t.len, 80), t.ptr ? t.ptr : "");
	return err_set(r->err, ERR_INPUT, "line %u, column %u: %s", r->line, cell + 1, what);
}

static int take_header(struct reader *r, const struct text *cells, unsigned n)
{
	bool glob = false;
	for (unsigned i = 0; i < n; i++) {
		int c = 0;
		while (c < COLUMNS && !text_is(cells[i], column_names[c]))
			c++;
		r->order[i] = c < COLUMNS ? c : -1;
		glob = glob || c == COLUMN_GLOB;
		if (c == COLUMNS && r->o->on_warning) {
			char what[256];
			snprintf(what, sizeof(what), "%s, line %u: column '%.*s' is not known", r->path, r->line,
				 (int)MIN(cells[i].len, 80), cells[i].ptr ? cells[i].ptr : "");
			r->o->on_warning(r->o->ctx, text_of(what));
		}
	}
	for (unsigned i = n; i < CELLS_MAX; i++)
		r->order[i] = -1;
	return glob ? 0 : wrong(r, 0, "the header names no column 'glob'%.*s", TEXT(""));
}

static int check_line(struct reader *r, const struct text *at, const unsigned *cell)
{
	if (!at[COLUMN_GLOB].len)
		return wrong(r, cell[COLUMN_GLOB], "the glob is empty%.*s", TEXT(""));
	struct text role = at[COLUMN_ROLE], tz = at[COLUMN_TZ], format = at[COLUMN_FORMAT];
	if (role.len && !text_is(role, "prefill") && !text_is(role, "decode") && !text_is(role, "unified"))
		return wrong(r, cell[COLUMN_ROLE], "role '%.*s': expected prefill, decode or unified", role);
	const struct ingest_options *o = r->o;
	if (format.len && !format_known(format, o->parsers, o->n_parsers, o->wrappers, o->n_wrappers))
		return wrong(r, cell[COLUMN_FORMAT], "format '%.*s' is not known, see 'pagetrail formats list'",
			     format);
	if (tz.len) {
		struct zone *z = NULL;
		struct err why = {0};
		int rc = zone_open(&z, tz, &why);
		zone_close(z);
		if (rc == ERR_NOMEM)
			return err_nomem(r->err);
		if (rc < 0)
			return wrong(r, cell[COLUMN_TZ], "zone '%.*s' is not known: expected +08:00 or Asia/Shanghai",
				     tz);
	}
	return 0;
}

static int keep_line(struct reader *r, const struct text *at)
{
	struct sources_file *f = r->f;
	if (f->n == r->cap) {
		size_t cap = r->cap ? r->cap * 2 : 64;
		struct sources_line *grown = reallocarray(f->lines, cap, sizeof(*grown));
		if (!grown)
			return err_nomem(r->err);
		f->lines = grown;
		r->cap = cap;
	}
	struct text copy[COLUMNS];
	for (int c = 0; c < COLUMNS; c++) {
		copy[c] = at[c].len ? arena_text(&f->arena, at[c]) : TEXT("");
		if (!copy[c].ptr)
			return err_nomem(r->err);
	}
	f->lines[f->n++] = (struct sources_line){copy[COLUMN_GLOB].ptr, copy[COLUMN_WORKER], copy[COLUMN_ROLE],
						 copy[COLUMN_TZ], copy[COLUMN_FORMAT]};
	return 0;
}

static int take_record(struct reader *r, const struct csv *csv, bool first)
{
	struct text at[COLUMNS] = {{NULL, 0}};
	unsigned cell[COLUMNS] = {0};
	r->line = csv->line;
	if (first && text_is(csv->cells[0], "glob"))
		return take_header(r, csv->cells, csv->n);
	for (unsigned i = 0; i < csv->n; i++) {
		if (r->order[i] < 0) {
			if (csv->cells[i].len && i >= COLUMNS)
				return wrong(r, i, "one column more than the line has names: '%.*s'", csv->cells[i]);
			continue;
		}
		at[r->order[i]] = csv->cells[i];
		cell[r->order[i]] = i;
	}
	int rc = check_line(r, at, cell);
	return rc < 0 ? rc : keep_line(r, at);
}

static int take_all(struct reader *r, struct text content)
{
	struct csv *csv = malloc(sizeof(*csv));
	if (!csv)
		return err_nomem(r->err);
	csv_open(csv, content);
	int rc;
	bool first = true;
	while ((rc = csv_next(csv, &r->f->arena, r->err)) == 1 && (rc = take_record(r, csv, first)) == 0)
		first = false;
	free(csv);
	return rc;
}

int sources_read(struct sources_file *f, const char *path, const struct ingest_options *o, struct err *err)
{
	struct reader r = {.path = path, .f = f, .o = o, .err = err};
	struct buf b = BUF_INIT(FILE_MAX);
	*f = (struct sources_file){0};
	arena_init(&f->arena, 4 * FILE_MAX);
	for (int i = 0; i < CELLS_MAX; i++)
		r.order[i] = i < COLUMNS ? i : -1;
	int rc = buf_add_file(&b, path, "sources file", err);
	if (rc == 0)
		rc = take_all(&r, buf_text(&b));
	buf_done(&b);
	if (rc < 0) {
		sources_done(f);
		err_where(err, "%s", path);
	}
	return rc;
}

void sources_done(struct sources_file *f)
{
	arena_done(&f->arena);
	free(f->lines);
	*f = (struct sources_file){0};
}

const struct sources_line *sources_match(const struct sources_file *f, const char *path)
{
	for (size_t i = 0; i < f->n; i++) {
		const char *p = path;
		while (p) {
			if (!fnmatch(f->lines[i].glob, p, 0))
				return &f->lines[i];
			p = strpbrk(p, "/!");
			p = p ? p + 1 : NULL;
		}
	}
	return NULL;
}
