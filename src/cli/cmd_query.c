/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_query.c - runs a named query, or lists them with what they answer */
#include "cli.h"

static int put_info(struct rows *r, const struct query_info *q, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * KIB);
	int rc = rows_text(r, q->name, err);
	if (!rc)
		rc = rows_text(r, q->question, err);
	for (unsigned i = 0; !rc && i < q->n_params; i++)
		rc = buf_printf(&b, err, "%s%.*s", i ? " " : "", TEXT_ARG(q->params[i].name));
	if (!rc)
		rc = rows_text(r, buf_text(&b), err);
	buf_clear(&b);
	for (unsigned i = 0; !rc && i < q->n_columns; i++)
		rc = buf_printf(&b, err, "%s%.*s", i ? " " : "", TEXT_ARG(q->columns[i].name));
	if (!rc)
		rc = rows_text(r, buf_text(&b), err);
	if (!rc)
		rc = rows_text(r, q->empty, err);
	return rc ? rc : rows_end_row(r, err);
}

static int list_queries(const struct rows_options *o, struct err *err)
{
	const struct rows_column columns[] = {{TEXT("name"), CELL_TEXT},
					      {TEXT("question"), CELL_TEXT},
					      {TEXT("params"), CELL_TEXT},
					      {TEXT("columns"), CELL_TEXT},
					      {TEXT("empty_means"), CELL_TEXT}};
	struct rows *r = NULL;
	int rc =
	    rows_open(&r, o, NULL, TEXT("query --list"), columns, ARRAY_SIZE(columns), "name,params,question", err);
	if (rc)
		return rc;
	for (size_t i = 0; !rc && i < n_queries; i++) {
		struct query_info info;
		rc = query_info_parse(&queries[i], &info, err);
		if (!rc)
			rc = put_info(r, &info, err);
		query_info_done(&info);
	}
	if (rc) {
		rows_drop(r);
		return rc;
	}
	return rows_close(r, NULL, err);
}

static int put_part(struct rows *r, const char *part, const struct query_column *c, struct err *err)
{
	struct text name = text_starts(c->name, ":") ? text_from(c->name, 1) : c->name;
	int rc = rows_text(r, text_of(part), err);
	if (!rc)
		rc = rows_text(r, name, err);
	if (!rc)
		rc = rows_text(r, c->type, err);
	if (!rc)
		rc = rows_text(r, c->unit, err);
	if (!rc)
		rc = rows_int(r, c->required, err);
	if (!rc)
		rc = rows_text(r, c->help, err);
	return rc ? rc : rows_end_row(r, err);
}

/* One query: what it takes, and what it gives. */
static int list_one(const struct rows_options *o, const char *name, struct err *err)
{
	const struct rows_column columns[] = {{TEXT("part"), CELL_TEXT},     {TEXT("name"), CELL_TEXT},
					      {TEXT("type"), CELL_TEXT},     {TEXT("unit"), CELL_TEXT},
					      {TEXT("required"), CELL_BOOL}, {TEXT("help"), CELL_TEXT}};
	const struct query_text *q = query_find(queries, n_queries, text_of(name));
	struct query_info info;
	struct rows *r = NULL;
	if (!q) {
		err_set(err, ERR_USAGE, "no query '%s'", name);
		return err_hint(err, "see 'pagetrail query --list'");
	}
	int rc = query_info_parse(q, &info, err);
	if (rc)
		return rc;
	rc = rows_open(&r, o, NULL, info.name, columns, ARRAY_SIZE(columns), NULL, err);
	for (unsigned i = 0; !rc && i < info.n_params; i++)
		rc = put_part(r, "param", &info.params[i], err);
	for (unsigned i = 0; !rc && i < info.n_columns; i++)
		rc = put_part(r, "column", &info.columns[i], err);
	if (!rc)
		rows_note(r, "%.*s Rows come by %.*s. No row means: %.*s.", TEXT_ARG(info.question),
			  TEXT_ARG(info.order), TEXT_ARG(info.empty));
	query_info_done(&info);
	if (rc) {
		rows_drop(r);
		return rc;
	}
	return rows_close(r, NULL, err);
}

static int run(int argc, char **argv, struct err *err)
{
	struct ask ask = ASK_INIT;
	bool list = false;
	const struct option_spec options[] = {{"--list", OPTION_FLAG, &list}};
	const struct option_spec shared[] = {ASK_OPTIONS(ask)};
	struct args args;
	int rc = args_parse(&args, argc, argv, options, ARRAY_SIZE(options), shared, ARRAY_SIZE(shared), 0, 2, err);
	if (rc)
		return rc;
	if (list && args.n > 1)
		return err_set(err, ERR_USAGE, "--list takes no case, and one query at most");
	if (list)
		return args.n ? list_one(&ask.rows, args.at[0], err) : list_queries(&ask.rows, err);
	if (args.n < 2) {
		err_set(err, ERR_USAGE, "'query' needs a case and a name");
		return err_hint(err, "see 'pagetrail query --list'");
	}
	CLEANUP(case_closep) struct case_file *c = NULL;
	rc = ask_open(&c, args.at[0], &ask, err);
	return rc ? rc : ask_query(c, args.at[1], &ask, NULL, NULL, NULL, err);
}

const struct command command_query = {
    .name = "query",
    .synopsis = "CASE NAME [--param k=v …] | --list [NAME]",
    .summary = "Runs a named query",
    .help = "  --list         the queries, and what each answers\n"
	    "  --list NAME    what this one takes and gives: parameters, columns, units\n"
	    "  --param k=v    a parameter of the query; times as 2026-09-09T14:00:00Z\n"
	    "  --json --jsonl --csv --columns A,B --limit N --tz ZONE\n\n"
	    "  pagetrail query case.ptc handoff_mismatch\n",
    .run = run,
};
