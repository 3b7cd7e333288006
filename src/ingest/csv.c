/* SPDX-License-Identifier: Apache-2.0 */
/* csv.c - the sources file
 *
 * `glob,worker,role,tz,format`; a first line that begins with "glob" is a header and may order the columns its own way.
 * Cells may be quoted. Empty lines and lines that begin with '#' say nothing.
 */
#include "csv.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	COLUMN_GLOB,
	COLUMN_WORKER,
	COLUMN_ROLE,
	COLUMN_TZ,
	COLUMN_FORMAT,
	COLUMNS,
	FILE_MAX = 4 * 1024 * 1024,
	CELLS_MAX = 64
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
	return err_set(r->err, ERR_INPUT, "%s, line %u, column %u: %s", r->path, r->line, cell + 1, what);
}

/* Cuts one cell off *rest; quotes are taken away. ERR_INPUT on a quote that does not end. */
static int take_cell(struct reader *r, unsigned number, struct text *rest, struct text *ret)
{
	struct text t = *rest;
	if (!t.len || t.ptr[0] != '"') {
		size_t end = text_find_char(t, ',', 0);
		*ret = text_trim(text_sub(t, 0, end == SIZE_MAX ? t.len : end));
		*rest = end == SIZE_MAX ? (struct text){NULL, 0} : text_from(t, end + 1);
		return end != SIZE_MAX;
	}
	char *out = arena_alloc(&r->f->arena, t.len);
	size_t n = 0, i = 1;
	if (!out)
		return err_nomem(r->err);
	for (; i < t.len; i++) {
		if (t.ptr[i] == '"' && (i + 1 == t.len || t.ptr[i + 1] != '"'))
			break;
		i += t.ptr[i] == '"';
		out[n++] = t.ptr[i];
	}
	if (i >= t.len)
		return wrong(r, number, "the quote does not end: \"%.*s", text_sub(t, 1, 40));
	t = text_from(t, i + 1);
	if (t.len && t.ptr[0] != ',')
		return wrong(r, number, "expected ',' after the quoted cell, not '%.*s'", text_sub(t, 0, 1));
	*ret = (struct text){out, n};
	*rest = text_from(t, 1);
	return t.len > 0;
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

static int take_csv_line(struct reader *r, struct text line, bool first)
{
	struct text cells[CELLS_MAX], at[COLUMNS] = {{NULL, 0}};
	unsigned n = 0, cell[COLUMNS] = {0};
	int rc = 1;
	while (rc == 1) {
		if (n == CELLS_MAX)
			return wrong(r, n, "too many columns%.*s", TEXT(""));
		rc = take_cell(r, n, &line, &cells[n]);
		if (rc < 0)
			return rc;
		n++;
	}
	if (first && text_is(cells[0], "glob"))
		return take_header(r, cells, n);
	for (unsigned i = 0; i < n; i++) {
		if (r->order[i] < 0) {
			if (cells[i].len && i >= COLUMNS)
				return wrong(r, i, "one column more than the line has names: '%.*s'", cells[i]);
			continue;
		}
		at[r->order[i]] = cells[i];
		cell[r->order[i]] = i;
	}
	rc = check_line(r, at, cell);
	return rc < 0 ? rc : keep_line(r, at);
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
	struct text rest = buf_text(&b), line;
	if (text_starts(rest, "\xef\xbb\xbf"))
		rest = text_from(rest, 3);
	bool first = true;
	while (rc == 0 && text_split(&rest, '\n', &line)) {
		r.line++;
		line = text_trim(line);
		if (!line.len || line.ptr[0] == '#')
			continue;
		rc = take_csv_line(&r, line, first);
		first = false;
	}
	buf_done(&b);
	if (rc < 0)
		sources_done(f);
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
