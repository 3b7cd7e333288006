/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_exposures.c - who read whose pages */
#include "picture.h"

/* Columns of queries/exposures.sql. */
enum {
	C_WORKER,
	C_POOL,
	C_READER,
	C_READER_TENANT,
	C_OWNER,
	C_OWNER_TENANT,
	C_CROSS,
	C_KIND,
	C_PAGES,
	C_TOKENS,
	C_FIRST,
	C_DELIVERED,
	C_GRADE
};

static int add_edge(void *ctx, struct sql *s, struct err *err)
{
	struct graph_edge e = {.from = {.name = sql_get_text(s, C_OWNER), .tenant = sql_get_text(s, C_OWNER_TENANT)},
			       .to = {.name = sql_get_text(s, C_READER), .tenant = sql_get_text(s, C_READER_TENANT)},
			       .kind = sql_get_text(s, C_KIND),
			       .grade = sql_get_text(s, C_GRADE),
			       .place = sql_get_text(s, C_WORKER),
			       .pages = sql_get_int(s, C_PAGES)};
	if (sql_type(s, C_OWNER) == SQL_NULL)
		e.from = (struct graph_node){
		    .name = TEXT("nobody"), .note = TEXT("never written since boot"), .fixed = true};
	return graph_add(ctx, &e, err);
}

static int draw(struct case_file *c, const struct ask *a, const char *file, struct err *err)
{
	CLEANUP(graph_freep) struct graph *g = NULL;
	int rc = graph_new(&g, err);
	if (!rc)
		rc = ask_rows(c, "exposures", a, add_edge, g, err);
	return rc ? rc : picture_graph(c, g, "Exposures: who read whose pages", "exposures", a, file, err);
}

static int run(int argc, char **argv, struct err *err)
{
	struct ask ask = ASK_INIT;
	const char *kind = NULL, *worker = NULL, *dot = NULL;
	const struct option_spec options[] = {
	    {"--kind", OPTION_TEXT, &kind}, {"--worker", OPTION_TEXT, &worker}, {"--dot", OPTION_FILE, &dot}};
	const struct option_spec shared[] = {ASK_OPTIONS(ask)};
	struct args args;
	int rc = args_parse(&args, argc, argv, options, ARRAY_SIZE(options), shared, ARRAY_SIZE(shared), 1, 1, err);
	if (!rc && dot)
		rc = picture_alone(&ask, err);
	if (rc)
		return rc;
	static const char kinds[] = "stale,late_write,not_ready,uninitialised,shared";
	struct text rest = text_of(kinds), one;
	bool is_kind = !kind;
	while (!is_kind && text_split(&rest, ',', &one))
		is_kind = text_is(one, kind);
	if (!is_kind) {
		err_set(err, ERR_USAGE, "no kind '%s'", kind);
		return err_hint(err, "there are: %s", kinds);
	}
	ask_param(&ask, "kind", kind);
	ask_param(&ask, "worker", worker);
	CLEANUP(case_closep) struct case_file *c = NULL;
	rc = ask_open(&c, args.at[0], &ask, err);
	if (!rc)
		rc = ask_known(c, "SELECT 1 FROM worker WHERE name = ?1", "worker", worker, err);
	if (!rc && dot)
		rc = draw(c, &ask, dot, err);
	else if (!rc)
		rc = ask_query(c, "exposures", &ask,
			       "worker,kind,pages,reader_request,owner_request,cross_tenant,delivered,first_read_at",
			       NULL, NULL, err);
	if (rc)
		return rc;
	int64_t found;
	rc = ask_int(c, "SELECT EXISTS(SELECT 1 FROM exposures() WHERE kind IN ('stale','late_write','not_ready'))",
		     &found, err);
	return rc ? rc : found ? EXIT_FOUND : EXIT_DONE;
}

const struct command command_exposures = {
    .name = "exposures",
    .synopsis = "CASE [--kind K] [--worker NAME] [--dot [FILE]]",
    .summary = "Lists who read whose pages, from the page logs",
    .help = "One row for each worker, pool, reader, owner and kind:\n"
	    "  stale          content of an earlier request, read before anything was written over it\n"
	    "  late_write     written by someone else after the reader had got the page\n"
	    "  not_ready      read before the reader's own content had arrived\n"
	    "  uninitialised  never written since boot: nobody's data\n"
	    "  shared         a cached prefix: legitimate\n\n"
	    "  --kind K --worker NAME\n"
	    "  --dot [FILE|-]  a graph for graphviz instead: from whose content it was to who read it, in boxes by\n"
	    "                  tenant; more than 100 reads are drawn together by tenant, and the graph says so\n"
	    "  --json --jsonl --csv --columns A,B --limit N --tz ZONE\n\n"
	    "Exit code 1 when a foreign read (stale, late_write, not_ready) exists.\n",
    .run = run,
};
