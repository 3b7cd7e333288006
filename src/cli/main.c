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

enum { WIDTH = 80, DESCRIBES = 10 /* spaces, at least, before a line that goes on with what an option does */ };

static size_t indent_of(struct text line)
{
	size_t n = 0;
	while (n < line.len && line.ptr[n] == ' ')
		n++;
	return n;
}

/* One line, broken at words; what goes on stands at column hang; 0: below the text behind the first gap of two spaces. A command
 * goes on as a shell reads it. */
static void put_line(FILE *out, struct text line, size_t hang)
{
	size_t indent = indent_of(line), at = 0;
	size_t gap = indent ? text_find(line, "  ", indent) : SIZE_MAX;
	bool command = indent && gap == SIZE_MAX && text_starts(text_from(line, indent), "pagetrail ");
	if (!hang)
		hang = text_starts(line, "usage:") ? sizeof("usage:") : indent + (command ? 2 : 0);
	for (size_t i = gap; gap != SIZE_MAX && i < line.len && line.ptr[i] == ' '; i++)
		hang = text_columns(text_sub(line, 0, i + 1));
	size_t width = WIDTH - (command && text_columns(line) > WIDTH ? sizeof(" \\") - 1 : 0);
	struct text word;
	for (bool first = true, fresh = true; text_split(&line, ' ', &word); first = false) {
		for (struct text more; word.len && *word.ptr == '[' && text_find_char(word, ']', 0) == SIZE_MAX &&
				       text_split(&line, ' ', &more);)
			word.len = (size_t)(more.ptr + more.len - word.ptr); /* an option stays in one piece */
		size_t w = text_columns(word);
		if (!fresh && word.len && at + 1 + w > width) {
			fprintf(out, "%s\n%*s", command ? " \\" : "", (int)hang, "");
			at = hang;
		} else if (!first) {
			fputc(' ', out);
			at++;
		}
		fwrite(word.ptr, 1, word.len, out);
		at += w;
		fresh = fresh && !word.len;
	}
	fputc('\n', out);
}

/* Lines that are not indented and follow each other are one paragraph; so is what an option does, with
 * the deeply indented lines behind it. */
static void put_help(FILE *out, struct text t)
{
	CLEANUP(buf_done) struct buf paragraph = BUF_INIT(64 * KIB);
	struct text line;
	size_t hang = 0;
	t = text_chomp(t);
	while (text_split(&t, '\n', &line)) {
		if (paragraph.len)
			line = text_from(line, indent_of(line));
		struct text begun = paragraph.len ? buf_text(&paragraph) : line;
		size_t indent = indent_of(begun), next = indent_of(t);
		bool describes = indent && (indent >= DESCRIBES || text_find(begun, "  ", indent) != SIZE_MAX);
		bool goes_on =
		    line.len && t.len && t.ptr[0] != '\n' && (describes ? next >= DESCRIBES : !indent && !next);
		if (buf_add_text(&paragraph, line, NULL) || (goes_on && buf_add_char(&paragraph, ' ', NULL)))
			return;
		if (goes_on) {
			hang = next;
			continue;
		}
		put_line(out, buf_text(&paragraph), hang);
		buf_clear(&paragraph);
		hang = 0;
	}
}

static void print_usage(FILE *out)
{
	put_help(out, TEXT("usage: pagetrail VERB CASE [arguments] [options]\n\n"
			   "Pagetrail finds, in the logs of a shared LLM inference service, the responses that were\n"
			   "answered from another request's memory, and says how sure it is.\n"));
	fputc('\n', out);
	for (size_t i = 0; i < n_commands; i++) {
		char line[256];
		snprintf(line, sizeof(line), "  %-10s  %s", commands[i]->name, commands[i]->summary);
		put_line(out, text_of(line), 0);
	}
	put_help(out,
		 TEXT("\nA first look:\n"
		      "  pagetrail ingest case.ptc LOGS/     read a folder of logs into a case\n"
		      "  pagetrail scope case.ptc            the responses affected\n"
		      "  pagetrail report case.ptc scope     a report to hand on\n\n"
		      "pagetrail help VERB explains a verb. Exit codes: 0 nothing of note, 1 something was found,\n"
		      "2 usage, 3 input not read or recognised, 4 case damaged or locked, 5 stopped.\n"));
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
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * KIB);
	int rc = buf_printf(&b, err, "usage: pagetrail %s %s\n\n%s.\n\n%s", c->name, c->synopsis, c->summary, c->help);
	if (rc)
		return rc;
	put_help(stdout, buf_text(&b));
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
