/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_simulate.c - writes a rehearsal incident with its ground truth */
#include "cli.h"

#include "pagetrail/rehearsal.h"

#include <string.h>

static int run(int argc, char **argv, struct err *err)
{
	int64_t seed = 1, requests = -1;
	bool list = false;
	struct rehearsal_options o = {.scenario = "incident"};
	const struct option_spec options[] = {{"--scenario", OPTION_TEXT, &o.scenario},
					      {"--seed", OPTION_INT, &seed},
					      {"--requests", OPTION_COUNT, &requests},
					      {"--allocator", OPTION_TEXT, &o.allocator},
					      {"--list", OPTION_FLAG, &list}};
	struct args args;
	int rc = args_parse(&args, argc, argv, options, ARRAY_SIZE(options), NULL, 0, 0, 1, err);
	if (rc)
		return rc;
	if (list) {
		for (size_t i = 0; i < n_rehearsal_scenarios; i++)
			printf("%-14s %s\n", rehearsal_scenarios[i].name, rehearsal_scenarios[i].summary);
		return EXIT_DONE;
	}
	if (!args.n) {
		err_set(err, ERR_USAGE, "'simulate' needs a folder to write to");
		return err_hint(err, "see 'pagetrail help simulate'");
	}
	o.dir = args.at[0];
	o.seed = (uint64_t)seed;
	o.requests = requests < 0 ? 0 : requests;
	rc = rehearsal_write(&o, err);
	if (rc)
		return rc;
	size_t len = strlen(o.dir);
	while (len > 1 && o.dir[len - 1] == '/')
		len--;
	printf("wrote %.*s/logs (scenario %s, seed %lld); the truth is in %.*s/truth.json\n", (int)len, o.dir,
	       o.scenario, (long long)seed, (int)len, o.dir);
	return EXIT_DONE;
}

const struct command command_simulate = {
    .name = "simulate",
    .synopsis = "DIR [--scenario S] [--seed N] [--requests N] [--allocator A] | --list",
    .summary = "Writes the logs of a rehearsal incident, with the truth",
    .help =
	"A model of a disaggregated fleet runs and leaves the logs that such a fleet leaves. The same scenario,\n"
	"seed and size give the same bytes. truth.json says what really happened; leave it out of the ingest.\n\n"
	"  --scenario S   see --list; default incident\n"
	"  --seed N       default 1\n"
	"  --requests N   size of the population\n"
	"  --allocator A  order in which pages are used again: sorted (the default, as SGLang does in\n"
	"                 disaggregated mode) or shuffled, to see what a replay is worth when its model is wrong\n\n"
	"  pagetrail simulate rehearsal/ --scenario incident --seed 7\n"
	"  pagetrail ingest case.ptc rehearsal/logs\n",
    .run = run,
};
