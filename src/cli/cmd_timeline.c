/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_timeline.c - what happened when: boots, legs, responses and gaps in one order */
#include "picture.h"

enum { MARGIN_S = 60, MARGIN_MAX_S = 366 * 86400 };

struct window {
	const char *around, *since, *until;
	int64_t margin_s; /* -1: not given */
	char from[40], to[40];
};

/* From --margin before the request's first sign of life to as much after its last. */
static int window_around(struct case_file *c, struct window *w, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int64_t request, margin = w->margin_s < 0 ? MARGIN_S : w->margin_s;
	int rc = request_find(c, text_of(w->around), &request, err);
	if (!rc)
		rc = sql_prepare(&s, c, "SELECT first_ns, last_ns FROM request WHERE request = ?1", err);
	if (!rc)
		rc = sql_int(s, 1, request, err);
	if (!rc)
		rc = sql_step(s, err);
	if (rc < 0)
		return rc;
	int64_t first = rc ? sql_get_time(s, 0) : TIME_UNKNOWN, last = rc ? sql_get_time(s, 1) : TIME_UNKNOWN;
	if (first == TIME_UNKNOWN || last == TIME_UNKNOWN) {
		err_set(err, ERR_INPUT, "nothing that is known of request '%s' has a time", w->around);
		return err_hint(err, "see 'pagetrail lineage', or give --since and --until");
	}
	if (first < INT64_MIN / 2 || last > INT64_MAX / 2)
		return err_set(err, ERR_INPUT, "request '%s' has a time out of reach", w->around);
	/* half open: one more, so that the last is in it */
	stamp_format(first - margin * NS_PER_S, w->from, sizeof(w->from));
	stamp_format(last + margin * NS_PER_S + 1, w->to, sizeof(w->to));
	w->since = w->from;
	w->until = w->to;
	return 0;
}

static int check_window(const struct window *w, struct err *err)
{
	if (w->around && (w->since || w->until))
		return err_set(err, ERR_USAGE,
			       "--around gives the window; --since and --until do too: give one of them");
	if (w->margin_s >= 0 && !w->around)
		return err_set(err, ERR_USAGE, "--margin belongs to --around");
	if (w->margin_s > MARGIN_MAX_S)
		return err_set(err, ERR_USAGE, "--margin takes up to %d seconds (a year)", MARGIN_MAX_S);
	return 0;
}

/* Nothing is left out without a word. */
static int say_untimed(struct case_file *c, struct rows *r, struct err *err)
{
	int64_t gaps;
	int rc = ask_int(c, "SELECT count(*) FROM gap WHERE from_ns IS NULL", &gaps, err);
	if (rc)
		return rc;
	char json[64];
	snprintf(json, sizeof(json), "{\"gaps\":%lld}", (long long)gaps);
	rows_extra(r, "without_time", text_of(json));
	if (gaps)
		rows_note(r, "%lld gap%s of no known time, not listed here: see 'pagetrail gaps'.", (long long)gaps,
			  PLURAL(gaps));
	return 0;
}

/* Columns of queries/lanes.sql. */
enum { C_WORKER, C_WHAT, C_KIND, C_FROM, C_TO, C_DETAIL, C_POOL, C_LIMIT, C_PAGE_SIZE, C_RESPONSES };

static int add_row(void *ctx, struct sql *s, struct err *err)
{
	struct lanes_row row = {.worker = sql_get_text(s, C_WORKER),
				.what = sql_get_text(s, C_WHAT),
				.kind = sql_get_text(s, C_KIND),
				.detail = sql_get_text(s, C_DETAIL),
				.from_ns = sql_get_time(s, C_FROM),
				.to_ns = sql_get_time(s, C_TO),
				.pool_tokens = sql_get_int(s, C_POOL),
				.input_limit = sql_get_int(s, C_LIMIT),
				.page_size = sql_get_int(s, C_PAGE_SIZE),
				.count = sql_get_int(s, C_RESPONSES)};
	return lanes_add(ctx, &row, err);
}

static int draw(struct case_file *c, const struct ask *a, const struct window *w, const char *file, struct err *err)
{
	CLEANUP(lanes_freep) struct lanes *l = NULL;
	CLEANUP(buf_done) struct buf svg = BUF_INIT(64 * MIB);
	CLEANUP(buf_done) struct buf command = BUF_INIT(64 * KIB);
	CLEANUP(buf_done) struct buf title = BUF_INIT(64 * KIB);
	struct picture_words words = {.since_ns = TIME_UNKNOWN, .until_ns = TIME_UNKNOWN};
	int rc = w->since ? args_time("option", TEXT("--since"), text_of(w->since), &words.since_ns, err) : 0;
	if (!rc && w->until)
		rc = args_time("option", TEXT("--until"), text_of(w->until), &words.until_ns, err);
	if (!rc)
		rc = lanes_new(&l, err);
	if (!rc)
		rc = ask_rows(c, "lanes", a, add_row, l, err);
	if (!rc)
		rc = picture_command(&command, "lanes", a, err);
	if (!rc)
		rc = picture_title(&title, "Timeline of the workers", c, err);
	words.title = buf_text(&title);
	words.command = buf_text(&command);
	if (!rc)
		rc = lanes_draw(l, &words, &svg, err);
	return rc ? rc : write_file(c, "svg", file, buf_text(&svg), err);
}

static int run(int argc, char **argv, struct err *err)
{
	struct ask ask = ASK_INIT;
	struct window w = {.margin_s = -1};
	const char *worker = NULL, *request = NULL, *svg = NULL;
	const struct option_spec options[] = {
	    {"--around", OPTION_TEXT, &w.around}, {"--margin", OPTION_INT, &w.margin_s},
	    {"--since", OPTION_TEXT, &w.since},   {"--until", OPTION_TEXT, &w.until},
	    {"--worker", OPTION_TEXT, &worker},   {"--request", OPTION_TEXT, &request},
	    {"--svg", OPTION_FILE, &svg}};
	const struct option_spec shared[] = {ASK_OPTIONS(ask)};
	struct args args;
	int rc = args_parse(&args, argc, argv, options, ARRAY_SIZE(options), shared, ARRAY_SIZE(shared), 1, 1, err);
	if (!rc && svg && request)
		rc = err_set(err, ERR_USAGE,
			     "--svg draws workers, not one request: see 'pagetrail lineage CASE REQUEST --svg'");
	if (!rc)
		rc = check_window(&w, err);
	if (!rc && svg)
		rc = picture_alone(&ask, err);
	if (rc)
		return rc;
	CLEANUP(case_closep) struct case_file *c = NULL;
	rc = ask_open(&c, args.at[0], &ask, err);
	if (!rc)
		rc = ask_known(c, "SELECT 1 FROM worker WHERE name = ?1", "worker", worker, err);
	if (!rc && w.around)
		rc = window_around(c, &w, err);
	int64_t id = 0;
	char number[32];
	if (!rc && request)
		rc = request_find(c, text_of(request), &id, err);
	if (rc)
		return rc;
	snprintf(number, sizeof(number), "%lld", (long long)id);
	ask_param(&ask, "since", w.since);
	ask_param(&ask, "until", w.until);
	ask_param(&ask, "worker", worker);
	if (svg)
		return draw(c, &ask, &w, svg, err);
	ask_param(&ask, "request", request ? number : NULL);
	return ask_query(c, "timeline", &ask, "at,what,worker,request,kind,detail", say_untimed, NULL, err);
}

const struct command command_timeline = {
    .name = "timeline",
    .synopsis = "CASE [--around REQUEST [--margin S]] [--since T] [--until T] [--worker NAME] [--request REQUEST] "
		"[--svg [FILE]]",
    .summary = "Lists boots, legs, responses and gaps in the order of time",
    .help = "  --around REQUEST   from a minute before the request's first sign of life to a minute after its last\n"
	    "  --margin S         so many seconds instead of 60\n"
	    "  --since, --until   window, half open; a gap that reaches into it is listed\n"
	    "  --worker NAME      only what happened at this worker\n"
	    "  --request REQUEST  only what this request did\n"
	    "  --svg [FILE|-]     a picture instead: a lane for each worker, with what its logs cover, gaps, starts\n"
	    "                     and their limits, both windows, and the affected responses that it answered;\n"
	    "                     the same data as a table: pagetrail query CASE lanes\n"
	    "  --json --jsonl --csv --columns A,B --limit N --tz ZONE\n\n"
	    "REQUEST is any identifier that the logs gave it, or a unique prefix of at least 6 characters.\n\n"
	    "  pagetrail timeline case.ptc --around REQUEST --margin 5\n"
	    "  pagetrail timeline case.ptc --svg timeline.svg\n",
    .run = run,
};
