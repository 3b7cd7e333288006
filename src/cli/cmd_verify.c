/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_verify.c - reads the whole case once and names everything that is not as it was written */
#include "cli.h"

struct run {
	struct rows *rows;
	struct err *err;
};

static int on_fault(void *ctx, struct text where, struct text what)
{
	struct run *run = ctx;
	int rc = rows_text(run->rows, where, run->err);
	if (!rc)
		rc = rows_text(run->rows, what, run->err);
	return rc ? rc : rows_end_row(run->rows, run->err);
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
	const struct rows_column columns[] = {{TEXT("where"), CELL_TEXT}, {TEXT("fault"), CELL_TEXT}};
	struct run run = {.err = err};
	rc = rows_open(&run.rows, &o, args.at[0], TEXT("verify"), columns, ARRAY_SIZE(columns), NULL, err);
	if (rc)
		return rc;
	int faults = case_verify(c, on_fault, &run, err);
	if (faults < 0) {
		rows_drop(run.rows);
		return faults;
	}
	char digest[SHA256_HEX] = "", hex[SHA256_HEX];
	unsigned char head[SHA256_BYTES];
	if (!faults) {
		rc = case_digest(c, digest, err);
		if (!rc)
			rc = journal_head(c, head, err);
		if (rc < 0) {
			rows_drop(run.rows);
			return rc;
		}
		sha256_hex(head, hex);
		char json[80];
		snprintf(json, sizeof(json), "\"%s\"", digest);
		rows_extra(run.rows, "content_digest", text_of(json));
		snprintf(json, sizeof(json), "\"%s\"", hex);
		rows_extra(run.rows, "journal_head", text_of(json));
		rows_note(run.rows, "sound: every chunk decodes and hashes, sums add up, the journal's chain holds");
		rows_note(run.rows, "content digest %s\njournal head   %s", digest, hex);
	} else {
		rows_note(run.rows, "DAMAGED: what is listed cannot be relied on; the rest is as it was written");
	}
	rc = rows_close(run.rows, NULL, err);
	return rc ? rc : faults ? EXIT_FOUND : EXIT_DONE;
}

const struct command command_verify = {
    .name = "verify",
    .synopsis = "CASE",
    .summary = "Checks that every byte of the case is as it was written",
    .help = "Decodes and hashes every chunk of evidence and events, follows the journal's chain, adds up the\n"
	    "accounting. Exit code 1 when something is damaged; each fault is a row.\n\n"
	    "  --json --jsonl --csv\n",
    .run = run,
};
