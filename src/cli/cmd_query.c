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
	if (list)
		return list_queries(&ask.rows, err);
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
    .synopsis = "CASE NAME [--param k=v …] | --list",
    .summary = "Runs a named query",
    .help = "  --list         the queries, and what each answers\n"
	    "  --param k=v    a parameter of the query; times as 2026-09-09T14:00:00Z\n"
	    "  --json --jsonl --csv --columns A,B --limit N --tz ZONE\n\n"
	    "  pagetrail query case.ptc handoff_mismatch\n",
    .run = run,
};
