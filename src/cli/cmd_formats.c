/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_formats.c - the formats known, and what a file would be taken for */
#include "cli.h"

#include <inttypes.h>
#include <string.h>

#include "pagetrail/ingest.h"
#include "pagetrail/map.h"

static int list_formats(const struct rows_options *o, struct err *err)
{
	const struct rows_column columns[] = {{TEXT("format"), CELL_TEXT},
					      {TEXT("reads"), CELL_TEXT},
					      {TEXT("versions"), CELL_TEXT},
					      {TEXT("records"), CELL_TEXT},
					      {TEXT("events"), CELL_TEXT}};
	static const char *const shapes[] = {"lines", "document", "binary"};
	struct rows *r = NULL;
	int rc = rows_open(&r, o, NULL, TEXT("formats"), columns, ARRAY_SIZE(columns), "format,reads,versions", err);
	for (size_t i = 0; !rc && i < n_parsers; i++) {
		const struct parser *p = parsers[i];
		char emits[128] = "";
		for (int k = 0; k < EVENT_KINDS; k++)
			if (p->emits >> k & 1)
				snprintf(emits + strlen(emits), sizeof(emits) - strlen(emits), "%s%s",
					 *emits ? " " : "", event_kinds[k].name);
		rc = rows_text(r, text_of(p->name), err);
		if (!rc)
			rc = rows_text(r, text_of(p->summary), err);
		if (!rc)
			rc = rows_text(r, text_of(p->checked), err);
		if (!rc)
			rc = rows_text(r, text_of(shapes[p->shape]), err);
		if (!rc)
			rc = rows_text(r, text_of(emits), err);
		if (!rc)
			rc = rows_end_row(r, err);
	}
	for (size_t i = 0; !rc && i < n_wrappers; i++) {
		const struct wrapper *w = wrappers[i];
		const struct text cells[] = {text_of(w->name), text_of(w->summary), text_of(w->checked),
					     TEXT("wrapper"), TEXT("")};
		for (size_t k = 0; !rc && k < ARRAY_SIZE(cells); k++)
			rc = rows_text(r, cells[k], err);
		if (!rc)
			rc = rows_end_row(r, err);
	}
	if (rc) {
		rows_drop(r);
		return rc;
	}
	return rows_close(r, NULL, err);
}

static int on_planned(void *ctx, const struct source_result *r)
{
	bool *ok = ctx;
	CLEANUP(buf_done) struct buf path = BUF_INIT(64 * KIB);
	CLEANUP(buf_done) struct buf reason = BUF_INIT(64 * KIB);
	int rc = text_visible(r->path, CELL_MAX_BYTES, &path, NULL);
	if (!rc)
		rc = text_visible(r->reason, CELL_MAX_BYTES, &reason, NULL);
	if (rc)
		return rc;
	if (r->status == SOURCE_UNRECOGNISED || r->status == SOURCE_FAILED) {
		*ok = false;
		printf("%s: %s (%.*s)\n", path.ptr, r->status == SOURCE_FAILED ? "failed" : "unrecognised",
		       TEXT_ARG(buf_text(&reason)));
	} else {
		printf("%s: %.*s\n", path.ptr, TEXT_ARG(r->format));
	}
	return 0;
}

static int put_line(void *ctx, struct text line)
{
	(void)ctx;
	CLEANUP(buf_done) struct buf b = BUF_INIT(1 * MIB);
	int rc = text_visible(line, 64 * KIB, &b, NULL);
	if (!rc)
		printf("%.*s\n", TEXT_ARG(buf_text(&b)));
	return rc;
}

/* 0, or 1: a sample does not hold. */
static int test_map(const struct site_formats *site, struct err *err)
{
	int rc = map_prove(site->map, put_line, NULL, err);
	if (rc >= 0)
		printf("map %s: %s\n", map_parser(site->map)->name,
		       rc ? "a sample does not give what the map says" : "all samples hold");
	return rc;
}

static int run(int argc, char **argv, struct err *err)
{
	struct rows_options o = ROWS_OPTIONS_INIT;
	CLEANUP(site_close) struct site_formats site = {0};
	const char *map = NULL;
	const struct option_spec own[] = {{"--map", OPTION_TEXT, &map}};
	const struct option_spec shared[] = {ROWS_OPTIONS(o)};
	struct args args;
	int rc = args_parse(&args, argc, argv, own, ARRAY_SIZE(own), shared, ARRAY_SIZE(shared), 1, -1, err);
	if (rc)
		return rc;
	const char *what = args.at[0];
	if (!strcmp(what, "list")) {
		if (args.n > 1 || map)
			return err_set(err, ERR_USAGE, "'formats list' takes no argument '%s'",
				       map ? "--map" : args.at[1]);
		return list_formats(&o, err);
	}
	bool test = !strcmp(what, "test");
	if (!test && strcmp(what, "explain") != 0) {
		err_set(err, ERR_USAGE, "'formats' does list, test or explain, not '%s'", what);
		return err_hint(err, "see 'pagetrail help formats'");
	}
	if (args.n < 2 && !(test && map))
		return err_set(err, ERR_USAGE, "'formats %s' needs a file", what);
	bool ok = true;
	rc = site_open(&site, map, err);
	if (!rc && test && map)
		rc = test_map(&site, err);
	if (rc < 0)
		return rc;
	if (rc)
		return EXIT_INPUT;
	const struct ingest_options plan = {.parsers = site.list,
					    .n_parsers = site.n,
					    .wrappers = wrappers,
					    .n_wrappers = n_wrappers,
					    .plan = true,
					    .on_source = on_planned,
					    .ctx = &ok,
					    .stop = &system_stop};
	for (int i = 1; i < args.n; i++) {
		rc = test ? ingest_path(NULL, &plan, args.at[i], err)
			  : detect_explain(site.list, site.n, wrappers, n_wrappers, args.at[i], put_line, NULL, err);
		if (rc == 1)
			ok = false;
		else if (rc)
			return rc;
	}
	return ok ? EXIT_DONE : EXIT_INPUT;
}

const struct command command_formats = {
    .name = "formats",
    .synopsis = "list | test FILE… | explain FILE… [--map FILE]",
    .summary = "Lists the log formats known, or says what a file is and why",
    .help = "  list           formats, and the versions whose output was checked\n"
	    "  test FILE      which format a file would be read as (exit code 3: none)\n"
	    "  test --map MAP [FILE]  proves a map on its samples, and says where one of them stopped to match\n"
	    "  explain FILE   the bids of every format, record by record, and where the best one stopped\n\n"
	    "  pagetrail formats explain strange.log\n",
    .run = run,
};
