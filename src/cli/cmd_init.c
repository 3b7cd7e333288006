/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_init.c - makes an empty case */
#include "cli.h"

static int run(int argc, char **argv, struct err *err)
{
	const char *id = NULL, *title = NULL;
	const struct option_spec options[] = {{"--id", OPTION_TEXT, &id}, {"--title", OPTION_TEXT, &title}};
	struct args args;
	int rc = args_parse(&args, argc, argv, options, ARRAY_SIZE(options), NULL, 0, 1, 1, err);
	if (rc)
		return rc;
	struct case_file *c = NULL;
	rc = init_case(&c, args.at[0], id, title, err);
	if (rc)
		return rc;
	unsigned char head[SHA256_BYTES];
	char hex[SHA256_HEX];
	rc = journal_head(c, head, err);
	if (rc < 0) {
		case_closep(&c);
		return rc;
	}
	rc = case_close(c, err);
	if (rc)
		return rc;
	sha256_hex(head, hex);
	printf("made %s (journal head %s)\n", args.at[0], hex);
	return EXIT_DONE;
}

const struct command command_init = {
    .name = "init",
    .synopsis = "CASE [--id ID] [--title TEXT]",
    .summary = "Makes a new, empty case file",
    .help = "The first 'ingest' makes the case too; 'init' is for giving it an id and a title first.\n\n"
	    "  --id ID        your own number of the incident\n"
	    "  --title TEXT   one line, printed in reports\n\n"
	    "  pagetrail init case.ptc --id INC-2041 --title 'Foreign answers, model GLM-5.3'\n",
    .run = run,
};
