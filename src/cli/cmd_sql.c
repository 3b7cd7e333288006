/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_sql.c - read-only SQL over the case, for questions that no named query answers */
#include "cli.h"

/* Is `given` the name of the statement's parameter: k for :k, @k, $k, and the number of ?3? */
static bool names_param(struct sql *s, int at, struct text given)
{
	const char *name = sql_param_name(s, at);
	int64_t n;
	if (name && *name != '?')
		return text_is(given, name + 1);
	return text_count(given, &n) && n == at;
}

static int bind_param(struct sql *s, int at, struct text value, struct err *err)
{
	int64_t n;
	return text_int64(value, &n) ? sql_int(s, at, n, err) : sql_text(s, at, value, err);
}

/* What is not given would be NULL, and a comparison with it finds nothing: no answer may come of that. */
static int bind_params(struct sql *s, const struct ask *a, struct err *err)
{
	bool used[PARAMS_MAX] = {false};
	for (int at = 1; at <= sql_params(s); at++) {
		unsigned i = 0;
		while (i < a->params.n && !names_param(s, at, a->params.name[i]))
			i++;
		const char *name = sql_param_name(s, at);
		char number[16];
		snprintf(number, sizeof(number), "?%d", at);
		if (i == a->params.n) {
			err_set(err, ERR_USAGE, "parameter %s of the statement has no value", name ? name : number);
			return err_hint(err, "give it as --param %s=VALUE", (name ? name : number) + 1);
		}
		used[i] = true;
		int rc = bind_param(s, at, a->params.value[i], err);
		if (rc)
			return rc;
	}
	for (unsigned i = 0; i < a->params.n; i++)
		if (!used[i] && !text_is(a->params.name[i], "pool") && !text_is(a->params.name[i], "limit"))
			return err_set(err, ERR_USAGE, "the statement has no parameter '%.*s'",
				       TEXT_ARG(a->params.name[i]));
	return 0;
}

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
	if (!rc)
		rc = bind_params(s, &ask, err);
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
		for (unsigned i = 0; i < ask.params.n; i++)
			rows_param(r, ask.params.name[i], ask.params.value[i]);
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
	    "  --param k=v  a parameter of the statement, :k or ?3 (k=3); each needs a value\n"
	    "  --json --jsonl --csv --columns A,B --limit N\n\n"
	    "  pagetrail sql case.ptc \"SELECT name, role FROM worker\"\n",
    .run = run,
};
