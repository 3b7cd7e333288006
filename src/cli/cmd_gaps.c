/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_gaps.c - what the logs do not say: holes, conflicts, sources that could not be read */
#include "cli.h"

static int run(int argc, char **argv, struct err *err)
{
	struct ask ask = ASK_INIT;
	const struct option_spec shared[] = {ASK_OPTIONS(ask)};
	struct args args;
	int rc = args_parse(&args, argc, argv, NULL, 0, shared, ARRAY_SIZE(shared), 1, 1, err);
	if (rc)
		return rc;
	CLEANUP(case_closep) struct case_file *c = NULL;
	int64_t n = 0;
	rc = ask_open(&c, args.at[0], &ask, err);
	if (!rc)
		rc = ask_query(c, "gaps", &ask, "kind,source,worker,from,to,missing,unit,effect", NULL, &n, err);
	return rc ? rc : n ? EXIT_FOUND : EXIT_DONE;
}

const struct command command_gaps = {
    .name = "gaps",
    .synopsis = "CASE",
    .summary = "Lists holes in logs and sequences, clock conflicts, and sources not read",
    .help = "Each gap says what it takes away from the findings. Exit code 1 when there is one.\n\n"
	    "  --json --jsonl --csv --columns A,B --limit N --tz ZONE\n",
    .run = run,
};
