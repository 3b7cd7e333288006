/* SPDX-License-Identifier: Apache-2.0 */
/* csv.c - comma-separated values, one record at a time */
#include "pagetrail/csv.h"

#include <stdio.h>

#include "pagetrail/buf.h"

void csv_open(struct csv *c, struct text content)
{
	*c = (struct csv){.rest = text_starts(content, "\xef\xbb\xbf") ? text_from(content, 3) : content,
			  .next_line = 1};
}

int csv_wrong(const struct csv *c, unsigned cell, const char *fmt, struct text t, struct err *err)
{
	char what[240];
	struct buf shown = BUF_INIT(1024);
	int rc = text_visible(text_sub(t, 0, 80), 80, &shown, err);
	if (rc == 0) {
		struct text s = buf_text(&shown);
		snprintf(what, sizeof(what), fmt, (int)MIN(s.len, 120), s.ptr ? s.ptr : "");
		rc = err_set(err, ERR_INPUT, "line %u, column %u: %s", c->line, cell + 1, what);
	}
	buf_done(&shown);
	return rc;
}

/* Behind a cell: 1 another one follows, 0 the record ends here. */
static int take_end(struct csv *c, struct err *err)
{
	while (c->rest.len && (c->rest.ptr[0] == ' ' || c->rest.ptr[0] == '\t' || c->rest.ptr[0] == '\r'))
		c->rest = text_from(c->rest, 1);
	if (!c->rest.len)
		return 0;
	char next = c->rest.ptr[0];
	if (next != ',' && next != '\n')
		return csv_wrong(c, c->n, "expected ',' after the quoted cell, not '%.*s'", text_sub(c->rest, 0, 1),
				 err);
	c->rest = text_from(c->rest, 1);
	c->next_line += next == '\n';
	return next == ',';
}

static int take_quoted(struct csv *c, struct arena *a, struct text *ret, struct err *err)
{
	size_t end = 1;
	while (end < c->rest.len && (c->rest.ptr[end] != '"' || (end + 1 < c->rest.len && c->rest.ptr[end + 1] == '"')))
		end += c->rest.ptr[end] == '"' ? 2 : 1;
	if (end >= c->rest.len)
		return csv_wrong(c, c->n, "the quote does not end: \"%.*s", text_sub(c->rest, 1, 40), err);
	struct text inner = text_sub(c->rest, 1, end - 1);
	char *out = arena_alloc(a, inner.len + 1);
	size_t n = 0;
	if (!out)
		return err_nomem(err);
	for (size_t i = 0; i < inner.len; i++) {
		c->next_line += inner.ptr[i] == '\n';
		i += inner.ptr[i] == '"';
		out[n++] = inner.ptr[i];
	}
	*ret = (struct text){out, n};
	c->rest = text_from(c->rest, end + 1);
	return take_end(c, err);
}

static int take_cell(struct csv *c, struct arena *a, struct text *ret, struct err *err)
{
	while (c->rest.len && (c->rest.ptr[0] == ' ' || c->rest.ptr[0] == '\t'))
		c->rest = text_from(c->rest, 1);
	if (c->rest.len && c->rest.ptr[0] == '"')
		return take_quoted(c, a, ret, err);
	size_t end = 0;
	while (end < c->rest.len && c->rest.ptr[end] != ',' && c->rest.ptr[end] != '\n')
		end++;
	*ret = text_trim(text_sub(c->rest, 0, end));
	c->rest = text_from(c->rest, end);
	return take_end(c, err);
}

static void skip_line(struct csv *c)
{
	size_t end = text_find_char(c->rest, '\n', 0);
	c->rest = end == SIZE_MAX ? (struct text){NULL, 0} : text_from(c->rest, end + 1);
	c->next_line++;
}

int csv_next(struct csv *c, struct arena *a, struct err *err)
{
	while (c->rest.len) {
		c->line = c->next_line;
		c->n = 0;
		if (c->rest.ptr[0] == '#' && !c->plain) {
			skip_line(c);
			continue;
		}
		bool any = c->plain && c->rest.ptr[0] == '"'; /* an empty line is none, "" is a name that is missing */
		int rc = 1;
		while (rc == 1) {
			if (c->n == CSV_CELLS_MAX)
				return csv_wrong(c, c->n, "too many columns%.*s", TEXT(""), err);
			rc = take_cell(c, a, &c->cells[c->n], err);
			if (rc < 0)
				return rc;
			any |= c->cells[c->n++].len > 0;
		}
		if (any || (c->plain && c->n > 1))
			return 1;
	}
	return 0;
}
