/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_report.c - writes a report from the case */
#include "cli.h"

#include <string.h>

#include "pagetrail/report.h"

static int on_file(void *ctx, struct text path)
{
	(void)ctx;
	printf("wrote %.*s\n", TEXT_ARG(path));
	return 0;
}

static int run(int argc, char **argv, struct err *err)
{
	struct ask ask = ASK_INIT;
	int64_t issue = 1;
	struct report_options o = {.out_dir = ".",
				   .audience = "internal",
				   .assets = report_assets,
				   .n_assets = n_report_assets,
				   .queries = queries,
				   .n_queries = n_queries,
				   .on_file = on_file};
	const struct option_spec options[] = {{"--out", OPTION_TEXT, &o.out_dir},
					      {"--audience", OPTION_TEXT, &o.audience},
					      {"--issue", OPTION_INT, &issue}};
	const struct option_spec shared[] = {ASK_OPTIONS(ask)};
	struct args args;
	int rc = args_parse(&args, argc, argv, options, ARRAY_SIZE(options), shared, ARRAY_SIZE(shared), 2, 2, err);
	if (rc)
		return rc;
	if (strcmp(args.at[1], "scope") != 0) {
		err_set(err, ERR_USAGE, "no report kind '%s'", args.at[1]);
		return err_hint(err, "there is: scope");
	}
	if (strcmp(o.audience, "internal") != 0) {
		err_set(err, ERR_USAGE,
			"the scope report is for the audience 'internal' only: it names tenants and requests");
		return err_hint(err, "do not hand it to a tenant or to the public");
	}
	if (issue < 1 || issue > 100000)
		return err_set(err, ERR_USAGE, "--issue takes a number from 1 to 100000");
	CLEANUP(case_closep) struct case_file *c = NULL;
	rc = ask_open(&c, args.at[0], &ask, err);
	if (!rc)
		rc = resolve_sealed(c, err);
	if (!rc)
		rc = ask_as_of(c, &ask, &o.as_of_ns, err);
	if (rc)
		return rc;
	o.kind = args.at[1];
	o.issue = (int)issue;
	o.params = &ask.analysis;
	rc = report_write(c, &o, err);
	return rc ? rc : EXIT_DONE;
}

const struct command command_report = {
    .name = "report",
    .synopsis = "CASE scope [--out DIR] [--as-of T] [--issue N] [--policy FILE]",
    .summary = "Writes a report: canonical XML, and HTML made from it",
    .help = "  --out DIR        where to write; default is the current folder\n"
	    "  --as-of T        time printed in the report; default: when the evidence last changed\n"
	    "  --issue N        number of this issue of the report; default 1\n"
	    "  --param pool=N   as in 'scope'\n"
	    "  --policy FILE    as in 'scope'\n\n"
	    "The scope report is internal: it names tenants and requests. The same case and arguments give the\n"
	    "same bytes.\n\n"
	    "  pagetrail report case.ptc scope --out reports/\n",
    .run = run,
};
