/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - finds the verb, runs it, maps what went wrong to an exit code */
#include "cli.h"

#include <string.h>
#include <unistd.h>

static const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < n_commands; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static void print_usage(FILE *out)
{
	fputs("usage: pagetrail VERB CASE [arguments] [options]\n\n"
	      "Pagetrail finds, in the logs of a shared LLM inference service, the responses that were\n"
	      "answered from another request's memory, and says how sure it is.\n\n",
	      out);
	for (size_t i = 0; i < n_commands; i++)
		fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\nA first look:\n"
	      "  pagetrail ingest case.ptc LOGS/     read a folder of logs into a case\n"
	      "  pagetrail scope case.ptc            the responses affected\n"
	      "  pagetrail report case.ptc scope     a report to hand on\n\n"
	      "pagetrail help VERB explains a verb. Exit codes: 0 nothing of note, 1 something was found,\n"
	      "2 usage, 3 input not read or recognised, 4 case damaged or locked, 5 stopped.\n",
	      out);
}

static int help(const char *verb, struct err *err)
{
	if (!verb) {
		print_usage(stdout);
		return EXIT_DONE;
	}
	const struct command *c = command_find(verb);
	if (!c) {
		err_set(err, ERR_USAGE, "no verb '%s'", verb);
		return err_hint(err, "see 'pagetrail help'");
	}
	printf("usage: pagetrail %s %s\n\n%s.\n\n%s", c->name, c->synopsis, c->summary, c->help);
	return EXIT_DONE;
}

static int run(int argc, char **argv, struct err *err)
{
	const char *verb = argv[1];
	if (!strcmp(verb, "help") || !strcmp(verb, "--help") || !strcmp(verb, "-h"))
		return help(argc > 2 ? argv[2] : NULL, err);
	if (!strcmp(verb, "--version") || !strcmp(verb, "-V") || !strcmp(verb, "version")) {
		puts("pagetrail " PAGETRAIL_VERSION);
		return EXIT_DONE;
	}
	const struct command *c = command_find(verb);
	if (!c) {
		err_set(err, ERR_USAGE, "no verb '%s'", verb);
		return err_hint(err, "see 'pagetrail help'");
	}
	for (int i = 2; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return help(verb, err);
	return c->run(argc - 1, argv + 1, err);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	struct err err = {0};
	int code = run(argc, argv, &err);
	if (code >= 0) {
		int rc = system_flush(&err);
		if (!rc)
			return code;
	}
	system_print_error(&err);
	return system_exit_code(&err);
}
