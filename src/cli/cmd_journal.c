/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_journal.c - the chain of custody */
#include "cli.h"

static int put_rows(struct case_file *c, struct rows *r, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc =
	    sql_prepare(&s, c, "SELECT seq, at_ns, action, detail, lower(hex(sha256)) FROM journal ORDER BY seq", err);
	while (!rc && (rc = sql_step(s, err)) == 1) {
		rc = rows_int(r, sql_get_int(s, 0), err);
		if (!rc)
			rc = rows_time(r, sql_get_int(s, 1), err);
		for (int i = 2; !rc && i < 5; i++)
			rc = rows_text(r, sql_get_text(s, i), err);
		if (!rc)
			rc = rows_end_row(r, err);
	}
	return rc;
}

static int run(int argc, char **argv, struct err *err)
{
	struct rows_options o = ROWS_OPTIONS_INIT;
	const struct option_spec shared[] = {ROWS_OPTIONS(o)};
	struct args args;
	int rc = args_parse(&args, argc, argv, NULL, 0, shared, ARRAY_SIZE(shared), 1, 1, err);
	if (rc)
		return rc;
	CLEANUP(case_closep) struct case_file *c = NULL;
	rc = case_open(&c, args.at[0], CASE_READ, err);
	if (rc)
		return rc;
	const struct rows_column columns[] = {{TEXT("seq"), CELL_INT},
					      {TEXT("at"), CELL_TIME},
					      {TEXT("action"), CELL_TEXT},
					      {TEXT("detail"), CELL_JSON},
					      {TEXT("sha256"), CELL_TEXT}};
	struct rows *r = NULL;
	rc = rows_open(&r, &o, args.at[0], TEXT("journal"), columns, ARRAY_SIZE(columns), NULL, err);
	if (rc)
		return rc;
	rc = put_rows(c, r, err);
	int64_t bad;
	int broken = rc ? rc : journal_verify(c, &bad, err);
	if (broken < 0) {
		rows_drop(r);
		return broken;
	}
	if (broken)
		rows_note(r, "BROKEN: row %lld does not follow from the rows before it", (long long)bad);
	rc = rows_close(r, NULL, err);
	return rc ? rc : broken ? EXIT_FOUND : EXIT_DONE;
}

const struct command command_journal = {
    .name = "journal",
    .synopsis = "CASE",
    .summary = "Prints the chain of custody",
    .help =
	"Every change of the case is a row; each row holds the hash of the row before it, so that none can be\n"
	"changed or taken out of the middle unseen. Rows taken from the end are seen by who kept the head that was\n"
	"printed: 'pagetrail verify CASE --head HEX'. Exit code 1 when the chain is broken.\n\n"
	"  --json --jsonl --csv\n",
    .run = run,
};
