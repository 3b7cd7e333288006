/* SPDX-License-Identifier: Apache-2.0 */
/* command.h - one verb of the command line = one file src/cli/cmd_VERB.c exporting `const struct command command_VERB` */
#pragma once

#include "pagetrail/err.h"

enum { EXIT_DONE = 0, EXIT_FOUND = 1, EXIT_USAGE = 2, EXIT_INPUT = 3, EXIT_CASE = 4, EXIT_STOPPED = 5 };

struct command {
	const char *name;     /* the verb */
	const char *synopsis; /* "CASE PATH… [--format F] …": usage line, man page */
	const char *summary;  /* one line */
	const char *help;     /* options and an example, printed by `help VERB` */
	/* argv[0] is the verb. Returns an exit code, or a negative ERR_* with err set (main maps it to an exit code). */
	int (*run)(int argc, char **argv, struct err *err);
};

extern const struct command *const commands[]; /* generated from src/cli/cmd_*.c */
extern const size_t n_commands;
