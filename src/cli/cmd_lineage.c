/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_lineage.c - one request: legs, pages, writers before it, readers after it */
#include "cli.h"

static int run(int argc, char **argv, struct err *err)
{
	struct ask ask = ASK_INIT;
	const struct option_spec shared[] = {ASK_OPTIONS(ask)};
	struct args args;
	int rc = args_parse(&args, argc, argv, NULL, 0, shared, ARRAY_SIZE(shared), 2, 2, err);
	if (rc)
		return rc;
	CLEANUP(case_closep) struct case_file *c = NULL;
	rc = ask_open(&c, args.at[0], &ask, err);
	if (rc)
		return rc;
	/* a request's number is no name: what a person writes is looked up as a name first, and left to lineage() when
	 * only a page log may know it */
	int64_t request = 0;
	char id[32];
	struct err unknown = {0};
	int found = request_find(c, text_of(args.at[1]), &request, &unknown);
	if (found < 0 && found != ERR_INPUT) {
		*err = unknown;
		return found;
	}
	snprintf(id, sizeof(id), "%lld", (long long)request);
	ask_param(&ask, "request", found ? args.at[1] : id);
	return ask_query(c, "lineage", &ask, "at,what,worker,role,other_request,pages,kind,detail", NULL, NULL, err);
}

const struct command command_lineage = {
    .name = "lineage",
    .synopsis = "CASE REQUEST",
    .summary = "Shows one request's legs, its pages, who wrote them before and who read them after",
    .help = "REQUEST is any identifier that the logs gave it (gateway id, rid, room, response id), or a unique\n"
	    "prefix of at least 6 characters.\n\n"
	    "  --json --jsonl --csv --columns A,B --limit N --tz ZONE\n",
    .run = run,
};
