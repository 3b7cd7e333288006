/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_sql.c - read-only SQL over the case, for questions that no named query answers */
#include "cli.h"

static int put_rows(struct sql *s, struct rows *r, int n, struct err *err)
{
	int rc;
	while ((rc = sql_step(s, err)) == 1) {
		if (system_stop)
			return err_set(err, ERR_INTERRUPTED, "stopped");
		for (int i = 0; i < n; i++) {
			switch (sql_type(s, i)) {
			case SQL_NULL: rc = rows_null(r, err); break;
			case SQL_INT: rc = rows_int(r, sql_get_int(s, i), err); break;
			case SQL_REAL: rc = rows_real(r, sql_get_real(s, i), err); break;
			default: rc = rows_text(r, sql_get_text(s, i), err);
			}
			if (rc)
				return rc;
		}
		rc = rows_end_row(r, err);
		if (rc)
			return rc;
	}
	return rc;
}

static int run(int argc, char **argv, struct err *err)
{
	struct ask ask = ASK_INIT;
	const struct option_spec shared[] = {ASK_OPTIONS(ask)};
	struct args args;
	int rc = args_parse(&args, argc, argv, NULL, 0, shared, ARRAY_SIZE(shared), 2, 2, err);
	if (rc)
		return rc;
	CLEANUP(case_closep) struct case_file *c = NULL;
	CLEANUP(sql_endp) struct sql *s = NULL;
	rc = ask_open(&c, args.at[0], &ask, err);
	if (!rc)
		rc = sql_prepare_untrusted(&s, c, text_of(args.at[1]), err);
	if (rc)
		return rc;
	int n = sql_columns(s);
	if (n > ROWS_COLUMNS_MAX)
		return err_set(err, ERR_LIMIT, "more than %d columns", ROWS_COLUMNS_MAX);
	struct rows_column columns[ROWS_COLUMNS_MAX];
	for (int i = 0; i < n; i++)
		columns[i] = (struct rows_column){text_of(sql_column_name(s, i)), CELL_TEXT};
	struct rows *r = NULL;
	rc = rows_open(&r, &ask.rows, args.at[0], TEXT("sql"), columns, (unsigned)n, NULL, err);
	if (rc)
		return rc;
	int64_t as_of;
	rc = ask_as_of(c, &ask, &as_of, err);
	if (!rc) {
		rows_as_of(r, as_of);
		rows_param(r, TEXT("sql"), text_of(args.at[1]));
		rc = put_rows(s, r, n, err);
	}
	if (rc) {
		rows_drop(r);
		return rc;
	}
	return rows_close(r, NULL, err);
}

const struct command command_sql = {
    .name = "sql",
    .synopsis = "CASE \"SELECT …\"",
    .summary = "Runs read-only SQL over the case",
    .help = "Tables and virtual tables are described in docs/schema.md: source, worker, boot, request, alias, leg,\n"
	    "response, gap, clock; records, boot_events, leg_events, gateway_events, page_events, load_events, "
	    "cache_events, install_events;\n"
	    "exposures(), findings(), exposed(), lineage(request), replay(request).\n\n"
	    "  --json --jsonl --csv --columns A,B --limit N\n\n"
	    "  pagetrail sql case.ptc \"SELECT name, role FROM worker\"\n",
    .run = run,
};
