/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_lineage.c - one request: legs, pages, writers before it, readers after it */
#include "picture.h"

/* --- as a graph --- */

/* Columns of queries/lineage.sql. */
enum {
	C_AT,
	C_WHAT,
	C_WORKER,
	C_ROLE,
	C_OTHER,
	C_OTHER_TENANT,
	C_CROSS,
	C_POOL,
	C_PAGES,
	C_TOKENS,
	C_KIND,
	C_DETAIL,
	C_GRADE
};
enum { LEGS_MAX = 64 };

struct legs { /* where the request ran, by worker */
	struct graph *g;
	struct graph_node self;
	struct text worker[LEGS_MAX], name[LEGS_MAX];
	unsigned n;
	struct arena arena;
};

static int put_leg(struct legs *l, struct sql *s, struct err *err)
{
	CLEANUP(buf_done) struct buf name = BUF_INIT(4 * KIB);
	CLEANUP(buf_done) struct buf note = BUF_INIT(4 * KIB);
	char at[40];
	struct text role = sql_get_text(s, C_ROLE), worker = sql_get_text(s, C_WORKER);
	stamp_format(sql_get_time(s, C_AT), at, sizeof(at));
	int rc = buf_printf(&name, err, "%.*s leg at %.*s", TEXT_ARG(role), TEXT_ARG(text_sub(worker, 0, 60)));
	if (!rc)
		rc = buf_printf(&note, err, "%.*s%s%s", TEXT_ARG(text_sub(sql_get_text(s, C_KIND), 0, 40)),
				*at ? ", begun " : "", at);
	/* the next try at the same worker is a leg of its own */
	for (unsigned i = 0, again = 2; !rc && i < l->n; i++)
		if (text_eq(l->name[i], buf_text(&name)))
			rc = buf_printf(&name, err, " (%u)", again++);
	if (rc)
		return rc;
	struct graph_edge e = {.from = l->self,
			       .to = {.name = buf_text(&name), .note = buf_text(&note), .fixed = true},
			       .kind = TEXT("leg")};
	if (l->n < LEGS_MAX) {
		l->worker[l->n] = arena_text(&l->arena, worker);
		l->name[l->n] = arena_text(&l->arena, buf_text(&name));
		if (!l->name[l->n++].ptr)
			return err_nomem(err);
	}
	return graph_add(l->g, &e, err);
}

static int add_leg(void *ctx, struct sql *s, struct err *err)
{
	return text_is(sql_get_text(s, C_WHAT), "leg") ? put_leg(ctx, s, err) : 0;
}

/* The request as it was at this worker: its last leg there, else the worker that only a page log knows of. */
static struct graph_node at_worker(const struct legs *l, struct text worker)
{
	for (unsigned i = l->n; i-- > 0;)
		if (text_eq(l->worker[i], worker))
			return (struct graph_node){.name = l->name[i], .fixed = true};
	return (struct graph_node){.name = worker, .note = TEXT("page log without a leg"), .fixed = true};
}

static int add_read(void *ctx, struct sql *s, struct err *err)
{
	struct legs *l = ctx;
	bool from = text_is(sql_get_text(s, C_WHAT), "read_from");
	if (!from && !text_is(sql_get_text(s, C_WHAT), "read_by"))
		return 0;
	struct graph_node here = at_worker(l, sql_get_text(s, C_WORKER));
	struct graph_node other = {.name = sql_get_text(s, C_OTHER), .tenant = sql_get_text(s, C_OTHER_TENANT)};
	if (sql_type(s, C_OTHER) == SQL_NULL)
		other = (struct graph_node){
		    .name = TEXT("nobody"), .note = TEXT("never written since boot"), .fixed = true};
	struct graph_edge e = {.from = from ? other : here,
			       .to = from ? here : other,
			       .kind = sql_get_text(s, C_KIND),
			       .grade = sql_get_text(s, C_GRADE),
			       .pages = sql_get_int(s, C_PAGES)};
	return graph_add(l->g, &e, err);
}

/* Legs first: a read is drawn at the leg of its worker, wherever that stands in the order of time. */
static int draw_graph(struct case_file *c, const struct ask *a, const char *name, const char *file, struct err *err)
{
	CLEANUP(graph_freep) struct graph *g = NULL;
	CLEANUP(buf_done) struct buf title = BUF_INIT(64 * KIB);
	struct legs l = {.self = {.name = text_of(name), .note = TEXT("the request"), .fixed = true}};
	arena_init(&l.arena, MIB);
	int rc = graph_new(&g, err);
	l.g = g;
	if (!rc)
		rc = graph_add_node(g, &l.self, err);
	if (!rc)
		rc = ask_rows(c, "lineage", a, add_leg, &l, err);
	if (!rc)
		rc = ask_rows(c, "lineage", a, add_read, &l, err);
	if (!rc)
		rc = buf_printf(&title, err, "Lineage of request %.*s", TEXT_ARG(text_sub(text_of(name), 0, 200)));
	if (!rc)
		rc = picture_graph(c, g, title.ptr, "lineage", a, file, err);
	arena_done(&l.arena);
	return rc;
}

/* --- as a picture --- */

/* Columns of queries/lineage_pages.sql. */
enum {
	P_WORKER,
	P_POOL,
	P_WHAT,
	P_FIRST_PAGE,
	P_PAGES,
	P_FROM,
	P_TO,
	P_WROTE,
	P_OTHER,
	P_OTHER_TENANT,
	P_KIND,
	P_GRADE
};

static int add_pages(void *ctx, struct sql *s, struct err *err)
{
	struct bands_row row = {.worker = sql_get_text(s, P_WORKER),
				.pool = sql_get_text(s, P_POOL),
				.what = sql_get_text(s, P_WHAT),
				.other = sql_get_text(s, P_OTHER),
				.tenant = sql_get_text(s, P_OTHER_TENANT),
				.kind = sql_get_text(s, P_KIND),
				.grade = sql_get_text(s, P_GRADE),
				.first_page = sql_get_int(s, P_FIRST_PAGE),
				.pages = sql_get_int(s, P_PAGES),
				.from_ns = sql_get_time(s, P_FROM),
				.to_ns = sql_get_time(s, P_TO),
				.wrote_ns = sql_get_time(s, P_WROTE)};
	return bands_add(ctx, &row, err);
}

static int draw_pages(struct case_file *c, const struct ask *a, const char *name, const char *file, struct err *err)
{
	CLEANUP(bands_freep) struct bands *p = NULL;
	CLEANUP(buf_done) struct buf svg = BUF_INIT(64 * MIB);
	CLEANUP(buf_done) struct buf title = BUF_INIT(64 * KIB);
	CLEANUP(buf_done) struct buf command = BUF_INIT(64 * KIB);
	char what[128];
	snprintf(what, sizeof(what), "Pages of request %.*s", TEXT_ARG(text_sub(text_of(name), 0, 60)));
	int rc = bands_new(&p, err);
	if (!rc)
		rc = ask_rows(c, "lineage_pages", a, add_pages, p, err);
	if (!rc)
		rc = picture_title(&title, what, c, err);
	if (!rc)
		rc = picture_command(&command, "lineage_pages", a, err);
	struct picture_words w = {buf_text(&title), buf_text(&command), TIME_UNKNOWN, TIME_UNKNOWN};
	if (!rc)
		rc = bands_draw(p, &w, &svg, err);
	return rc ? rc : write_file(c, "svg", file, buf_text(&svg), err);
}

/* --- the verb --- */

static int run(int argc, char **argv, struct err *err)
{
	struct ask ask = ASK_INIT;
	const char *dot = NULL, *svg = NULL;
	const struct option_spec options[] = {{"--dot", OPTION_FILE, &dot}, {"--svg", OPTION_FILE, &svg}};
	const struct option_spec shared[] = {ASK_OPTIONS(ask)};
	struct args args;
	int rc = args_parse(&args, argc, argv, options, ARRAY_SIZE(options), shared, ARRAY_SIZE(shared), 2, 2, err);
	if (rc)
		return rc;
	if (dot || svg)
		rc = picture_alone(&ask, err);
	if (rc)
		return rc;
	if (dot && svg)
		return err_set(err, ERR_USAGE, "--svg and --dot are two pictures: ask for one at a time");
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
	if (svg)
		return draw_pages(c, &ask, args.at[1], svg, err);
	if (dot)
		return draw_graph(c, &ask, args.at[1], dot, err);
	return ask_query(c, "lineage", &ask, "at,what,worker,role,other_request,pages,kind,detail", NULL, NULL, err);
}

const struct command command_lineage = {
    .name = "lineage",
    .synopsis = "CASE REQUEST [--svg [FILE]] [--dot [FILE]]",
    .summary = "Shows one request's legs, its pages, who wrote them before and who read them after",
    .help = "REQUEST is any identifier that the logs gave it (gateway id, rid, room, response id), or a unique\n"
	    "prefix of at least 6 characters.\n\n"
	    "  --svg [FILE|-]  a picture of its pages over time instead: whose content was in them, when it held\n"
	    "                  them, and who read what; the same data as a table: pagetrail query CASE lineage_pages\n"
	    "  --dot [FILE|-]  a graph for graphviz instead: legs, whose content they read, and who read theirs\n"
	    "  --json --jsonl --csv --columns A,B --limit N --tz ZONE\n",
    .run = run,
};
