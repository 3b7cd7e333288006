/* SPDX-License-Identifier: Apache-2.0 */
/* picture.c - a picture's words */
#include "picture.h"

int picture_alone(const struct ask *a, struct err *err)
{
	const struct rows_options *o = &a->rows;
	if (!o->json && !o->jsonl && !o->csv && !o->columns && !o->tz && o->limit < 0)
		return 0;
	err_set(err, ERR_USAGE,
		"a picture has no rows: --json, --jsonl, --csv, --columns, --limit and --tz are for tables");
	return err_hint(err, "leave them out, or ask for the table that the picture names");
}

int picture_command(struct buf *b, const char *query, const struct ask *a, struct err *err)
{
	CLEANUP(buf_done) struct buf word = BUF_INIT(64 * KIB);
	int rc = buf_printf(b, err, "pagetrail query CASE %s", query);
	for (unsigned i = 0; !rc && i < a->params.n; i++) {
		buf_clear(&word);
		rc = buf_printf(&word, err, "%.*s=%.*s", TEXT_ARG(a->params.name[i]), TEXT_ARG(a->params.value[i]));
		if (!rc)
			rc = buf_add_text(b, TEXT(" --param "), err);
		if (!rc)
			rc = args_quote(b, buf_text(&word), err);
	}
	return rc;
}

int picture_title(struct buf *b, const char *what, struct case_file *c, struct err *err)
{
	static const struct {
		const char *key, *lead;
	} parts[] = {{"id", ", case "}, {"title", ": "}};
	CLEANUP(buf_done) struct buf value = BUF_INIT(64 * KIB);
	int rc = buf_add_text(b, text_of(what), err);
	for (size_t i = 0; rc >= 0 && i < ARRAY_SIZE(parts); i++) {
		buf_clear(&value);
		rc = case_info_get(c, parts[i].key, &value, err);
		if (rc == 0 && value.len)
			rc = buf_printf(b, err, "%s%.*s", parts[i].lead, TEXT_ARG(text_sub(buf_text(&value), 0, 60)));
	}
	return MIN(rc, 0);
}

int picture_graph(struct case_file *c, struct graph *g, const char *title, const char *query, const struct ask *a,
		  const char *file, struct err *err)
{
	CLEANUP(buf_done) struct buf dot = BUF_INIT(64 * MIB);
	CLEANUP(buf_done) struct buf heading = BUF_INIT(64 * KIB);
	CLEANUP(buf_done) struct buf command = BUF_INIT(64 * KIB);
	int rc = picture_title(&heading, title, c, err);
	if (!rc)
		rc = picture_command(&command, query, a, err);
	struct picture_words w = {buf_text(&heading), buf_text(&command), TIME_UNKNOWN, TIME_UNKNOWN};
	if (!rc)
		rc = graph_draw(g, &w, &dot, err);
	return rc ? rc : write_file(c, "dot", file, buf_text(&dot), err);
}
