/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_canary.c - planted markers: makes them, takes their list into the case, says where they were seen */
#include "cli.h"

#include <inttypes.h>

#include "pagetrail/json.h"
#include "pagetrail/markers.h"
#include "plan.h"

enum { NAMES_MAX = 8 };

/* Faults of the file are told before anything is stored. */
static int check_markers(const char *path, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(DOCUMENT_MAX_BYTES);
	struct json_value doc;
	struct markers m;
	struct arena a;
	size_t off = 0;
	int rc = buf_add_file(&b, path, "file of markers", err);
	if (rc)
		return rc;
	struct json *json = json_new();
	if (!json)
		return err_nomem(err);
	arena_init(&a, ARENA_MAX_BYTES);
	rc = json_parse(json, buf_text(&b), true, &doc, &off, err);
	if (rc == 1) {
		rc = err_set(err, ERR_INPUT, "the file of markers is no JSON, from byte %zu on", off);
		err_hint(err, "see 'pagetrail help canary'");
	}
	if (rc == 0)
		rc = markers_read(&m, doc, &a, say_note, NULL, err);
	arena_done(&a);
	json_free(json);
	return rc ? err_where(err, "%s", path) : 0;
}

static int64_t foreign;

/* What is wrong with the markers, of which 'gaps' has a row each; with names, where a name is not in the logs. */
static int add_troubles(struct case_file *c, struct rows *r, struct err *err)
{
	static const struct {
		const char *trouble, *column, *says;
	} named[] = {
	    {"request_in_no_log", "planted_name", "Planted requests that stand in no log"},
	    {"request_not_unique", "planted_name", "Ids of planted requests that several requests have"},
	    {"tenant_in_no_log", "planted_tenant", "Planted tenants that stand in no log"},
	    {"tenant_differs", "planted_tenant", "Planted tenants other than the logs say"},
	    {"files_contradict", "marker", "Markers of which files say different things"},
	    {"seen_before_planted", "marker", "Markers seen before they were planted"},
	};
	CLEANUP(sql_endp) struct sql *s = NULL;
	CLEANUP(buf_done) struct buf list = BUF_INIT(64 * KIB), json = BUF_INIT(MIB);
	int rc = sql_prepare(&s, c, "SELECT missing, effect FROM gap WHERE kind = 'markers' ORDER BY gap", err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		struct text effect = sql_get_text(s, 1);
		if (sql_type(s, 0) == SQL_NULL)
			rows_note(r, "NOTE: %.*s.", TEXT_ARG(effect));
		else
			rows_note(r, "NOTE: %" PRId64 " time%s: %.*s.", sql_get_int(s, 0), PLURAL(sql_get_int(s, 0)),
				  TEXT_ARG(effect));
		rc = buf_add_char(&json, json.len ? ',' : '[', err);
		if (rc == 0)
			rc = buf_json_string(&json, effect, err);
	}
	for (size_t i = 0; rc >= 0 && i < ARRAY_SIZE(named); i++) {
		CLEANUP(sql_endp) struct sql *q = NULL;
		char sql[256];
		int64_t n = 0;
		snprintf(sql, sizeof(sql),
			 "SELECT DISTINCT %s FROM planted WHERE instr(',' || trouble || ',', ',%s,') ORDER BY 1",
			 named[i].column, named[i].trouble);
		buf_clear(&list);
		rc = sql_prepare(&q, c, sql, err);
		while (rc >= 0 && (rc = sql_step(q, err)) == 1) {
			if (n++ >= NAMES_MAX)
				continue;
			rc = list.len ? buf_add_text(&list, TEXT(", "), err) : 0;
			if (rc == 0)
				rc = text_visible(sql_get_text(q, 0), 64, &list, err);
		}
		if (rc >= 0 && n)
			rows_note(r, "%s: %.*s%s", named[i].says, TEXT_ARG(buf_text(&list)),
				  n > NAMES_MAX ? ", … ('query CASE planted' lists all)" : "");
	}
	if (rc >= 0)
		rc = buf_printf(&json, err, json.len ? "]" : "[]");
	if (rc == 0)
		rows_extra(r, "notes", buf_text(&json));
	return rc;
}

static int add_totals(struct case_file *c, struct rows *r, struct err *err)
{
	static const char *const counts[] = {
	    "SELECT count(*) FROM sighting WHERE verdict = 'foreign'",
	    "SELECT count(*) FROM sighting WHERE verdict = 'own'",
	    "SELECT count(*) FROM sighting WHERE verdict = 'unknown'",
	    "SELECT count(DISTINCT marker) FROM sighting",
	    "SELECT count(*) FROM source WHERE format = 'markers' AND unparsed = 0",
	    "SELECT coalesce(sum(records), 0) FROM source WHERE coalesce(format, '') <> 'markers'",
	    "SELECT coalesce(sum(bytes), 0) FROM source WHERE coalesce(format, '') <> 'markers'",
	    "SELECT count(*) FROM sighting WHERE verdict = 'foreign' AND reason <> 'not_in_prompt'",
	    "SELECT count(*) FROM source WHERE format = 'markers' AND unparsed > 0"};
	int64_t n[ARRAY_SIZE(counts)];
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(counts); i++)
		rc = ask_int(c, counts[i], &n[i], err);
	if (rc)
		return rc;
	foreign = n[0];
	CLEANUP(buf_done) struct buf b = BUF_INIT(4 * KIB);
	rc = buf_printf(&b, err,
			"{\"foreign\":%" PRId64 ",\"own\":%" PRId64 ",\"unknown\":%" PRId64 ",\"markers_seen\":%" PRId64
			",\"marker_files\":%" PRId64 ",\"records_searched\":%" PRId64 ",\"bytes_searched\":%" PRId64
			",\"foreign_prompt_not_seen\":%" PRId64 ",\"marker_files_refused\":%" PRId64 "}",
			n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8]);
	if (rc)
		return rc;
	rows_extra(r, "totals", buf_text(&b));
	if (!n[4])
		rows_note(r, "The case holds no file of markers: give one with --markers.");
	else
		rows_note(r,
			  "Searched %" PRId64 " record%s (%" PRId64 " byte%s) for the markers of %" PRId64
			  " file%s: foreign %" PRId64 ", own %" PRId64 ", unknown %" PRId64
			  ". A marker that was not seen shows nothing about what was not logged.",
			  n[5], PLURAL(n[5]), n[6], PLURAL(n[6]), n[4], PLURAL(n[4]), n[0], n[1], n[2]);
	if (n[7])
		rows_note(r,
			  "NOTE: of %" PRId64
			  " foreign sighting%s no log holds the request's own prompt whole: that it was asked "
			  "with the marker, and repeated it, is not excluded.",
			  n[7], PLURAL(n[7]));
	return add_troubles(c, r, err);
}

static int run(int argc, char **argv, struct err *err)
{
	struct ask ask = ASK_INIT;
	const char *markers = NULL;
	struct plan_args plan = {-1, -1, -1, -1, -1};
	const struct option_spec options[] = {{"--markers", OPTION_TEXT, &markers},
					      {"--plan", OPTION_COUNT, &plan.markers},
					      {"--seed", OPTION_INT, &plan.seed},
					      {"--over-limit", OPTION_COUNT, &plan.over_limit},
					      {"--context", OPTION_COUNT, &plan.context}};
	const struct option_spec shared[] = {ASK_OPTIONS(ask)};
	struct args args;
	int rc = args_parse(&args, argc, argv, options, ARRAY_SIZE(options), shared, ARRAY_SIZE(shared), 0, 1, err);
	if (rc)
		return rc;
	plan.limit = ask.rows.limit; /* of rows otherwise */
	if (plan.markers < 0 && (plan.over_limit >= 0 || plan.context >= 0 || plan.seed >= 0))
		return err_set(err, ERR_USAGE, "--seed, --over-limit and --context are for --plan");
	if (plan.markers >= 0)
		return args.n || markers
			   ? err_set(err, ERR_USAGE, "--plan prints a list of markers: no case, no --markers")
			   : plan_print(&plan, err);
	if (!args.n) {
		err_set(err, ERR_USAGE, "'canary' takes a case, or --plan N");
		return err_hint(err, "see 'pagetrail help canary'");
	}
	rc = markers ? check_markers(markers, err) : 0;
	if (rc == 0 && markers)
		rc = keep_file(args.at[0], markers, "markers", err);
	if (rc)
		return rc;
	CLEANUP(case_closep) struct case_file *c = NULL;
	rc = ask_open(&c, args.at[0], &ask, err);
	if (rc == 0)
		rc = ask_query(c, "canary", &ask, "marker,verdict,reason,planted_request,seen_request,seen_tenant,part",
			       add_totals, NULL, err);
	return rc ? rc : foreign ? EXIT_FOUND : EXIT_DONE;
}

const struct command command_canary = {
    .name = "canary",
    .synopsis = "CASE [--markers FILE] | --plan N [--seed S] [--over-limit M --limit TOKENS [--context TOKENS]]",
    .summary = "Says where planted markers were seen: in their own request, or in another",
    .help = "A marker is a text that was planted in one request. FILE lists them:\n\n"
	    "  {\"markers\":[{\"marker\":\"ptm…\",\"planted_request\":\"any id of it\",\n"
	    "   \"planted_tenant\":\"…\",\"planted_at\":\"2026-09-09T14:00:00Z\"}]}\n\n"
	    "Only \"marker\" is required; without the request nothing can be foreign within\n"
	    "a tenant. FILE becomes evidence of the case, so that scope and reports count a\n"
	    "foreign sighting (X) from then on. Markers are searched for as they are, and in\n"
	    "JSON, percent, hex and Base64 spelling; never approximately.\n\n"
	    "  --markers FILE   take this list into the case\n"
	    "  --plan N         print a list of N fresh markers, to be filled in\n"
	    "  --seed S         of the plan; the same seed gives the same markers. Without it\n"
	    "                   they are random, and the plan's note says the seed\n"
	    "  --over-limit M   and M probes for 'probe', with lengths around --limit TOKENS and\n"
	    "                   up to --context TOKENS (without it twice the limit)\n"
	    "  --json --jsonl --csv --columns A,B --limit N --as-of T\n\n"
	    "Exit code 1 when a marker was seen in another request.\n\n"
	    "  pagetrail canary --plan 20 > markers.json\n"
	    "  pagetrail canary --plan 20 --over-limit 12 --limit 681274 --context 1048576 > plan.json\n"
	    "  pagetrail canary case.ptc --markers markers.json\n",
    .run = run,
};
