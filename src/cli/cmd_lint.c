/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_lint.c - words in a report, or in what a person adds to it, that a disclosure may not use */
#include "cli.h"

#include <inttypes.h>

#include "pagetrail/wording.h"

struct linting {
	struct rows *r;
	const struct params *waived;
	const char *path;
	struct err *err;
	int64_t faults, waivers;
};

static const struct text *waiver_of(const struct params *p, const char *rule)
{
	for (unsigned i = 0; i < p->n; i++)
		if (text_is(p->name[i], rule))
			return &p->value[i];
	return NULL;
}

static int on_fault(void *ctx, const struct wording_fault *f)
{
	struct linting *l = ctx;
	const struct text *waiver = waiver_of(l->waived, f->rule);
	*(waiver ? &l->waivers : &l->faults) += 1;
	int rc = rows_text(l->r, text_of(l->path), l->err);
	if (!rc)
		rc = rows_int(l->r, f->line, l->err);
	if (!rc)
		rc = rows_text(l->r, text_of(f->rule), l->err);
	if (!rc)
		rc = rows_text(l->r, f->words, l->err);
	if (!rc)
		rc = rows_text(l->r, text_of(f->advice), l->err);
	if (!rc)
		rc = waiver ? rows_text(l->r, *waiver, l->err) : rows_null(l->r, l->err);
	return rc ? rc : rows_end_row(l->r, l->err);
}

static int waivers_check(const struct params *p, struct err *err)
{
	for (unsigned i = 0; i < p->n; i++) {
		bool known = false;
		for (size_t k = 0; k < n_wording_rules; k++)
			known |= text_is(p->name[i], wording_rules[k].name);
		if (!known) {
			err_set(err, ERR_USAGE, "no rule is called '%.*s'", TEXT_ARG(p->name[i]));
			return err_hint(err, "see 'pagetrail help lint'");
		}
		if (p->value[i].len < 10)
			return err_set(err, ERR_USAGE, "--waive %.*s=REASON needs a reason that others understand",
				       TEXT_ARG(p->name[i]));
	}
	return 0;
}

static int lint_file(struct linting *l, struct err *err)
{
	CLEANUP(buf_done) struct buf content = BUF_INIT(LINT_MAX_BYTES);
	int rc = buf_add_file(&content, l->path, "file", err);
	if (!rc)
		rc = wording_check(buf_text(&content), wording_shape_of(buf_text(&content)), on_fault, l, err);
	if (rc < 0 && !err->where[0])
		err_where(err, "%s", l->path);
	return rc;
}

static int run(int argc, char **argv, struct err *err)
{
	struct rows_options o = ROWS_OPTIONS_INIT;
	struct params waived = {0};
	const struct option_spec own[] = {{"--waive", OPTION_PARAM, &waived}}, shared[] = {ROWS_OPTIONS(o)};
	const struct rows_column columns[] = {{TEXT("file"), CELL_TEXT},   {TEXT("line"), CELL_INT},
					      {TEXT("rule"), CELL_TEXT},   {TEXT("words"), CELL_TEXT},
					      {TEXT("advice"), CELL_TEXT}, {TEXT("waived"), CELL_TEXT}};
	struct args args;
	struct linting l = {.waived = &waived, .err = err};
	int64_t count;
	int rc = args_parse(&args, argc, argv, own, ARRAY_SIZE(own), shared, ARRAY_SIZE(shared), 1, -1, err);
	if (!rc)
		rc = waivers_check(&waived, err);
	if (!rc)
		rc = rows_open(&l.r, &o, NULL, TEXT("lint"), columns, ARRAY_SIZE(columns), NULL, err);
	for (int i = 0; !rc && i < args.n; i++) {
		l.path = args.at[i];
		rc = lint_file(&l, err);
	}
	if (rc) {
		rows_drop(l.r);
		return rc;
	}
	rows_note(l.r, "%d file%s read; %" PRId64 " to be changed, %" PRId64 " waived", args.n, args.n == 1 ? "" : "s",
		  l.faults, l.waivers);
	rc = rows_close(l.r, &count, err);
	return rc ? rc : l.faults ? EXIT_FOUND : EXIT_DONE;
}

const struct command command_lint = {
    .name = "lint",
    .synopsis = "FILE… [--waive RULE=REASON]",
    .summary = "Words that a disclosure may not use, in a report or in what is added to it",
    .help =
	"  --waive RULE=REASON  what breaks this rule is shown with the reason, and is no fault\n\n"
	"FILE is HTML, XML, Markdown or text. Rules: no-absence, not-affected, class-name, scope-word, belittling,\n"
	"opinion, share, vague-count, fixed, time, zero, blank (docs/wording.md). Rules know words, not what they\n"
	"mean: a person still has to read it. Exit code 1: there is something to change.\n\n"
	"  pagetrail lint reports/public-1.html letter.md\n",
    .run = run,
};
