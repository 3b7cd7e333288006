/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_probe.c - sends planned markers and over-limit probes to a test endpoint, and scores what came back */
#include "live.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

enum { PARALLEL = 4, TOTAL_S = 120, MAX_REQUESTS = 1000, MAX_SECONDS = 3600, MAX_TOKENS = 32, RUN_LETTERS = 8 };

struct probe_args {
	const char *endpoint, *plan, *model, *api, *rate;
	int64_t max_requests, max_seconds, max_tokens;
	bool allowed, no_rid;
};

/* What the query's verdicts add up to. */
static const struct {
	const char *verdict, *says;
	bool found;
} verdicts[] = {
    {"leaked", "got a marker of another request", true},
    {"served_over_limit", "answered at or over the limit", true},
    {"not_refused", "neither refused nor answered at or over the limit", true},
    {"undetermined", "with no answer that tells", true},
    {"not_sent", "not sent", true},
    {"refused_under_limit", "refused below the limit", true},
    {"refused", "refused, as they must be", false},
    {"served", "answered, as they should be", false},
};

static int64_t found;

static int add_totals(struct case_file *c, struct rows *r, struct err *err)
{
	CLEANUP(buf_done) struct buf json = BUF_INIT(4 * KIB), all = BUF_INIT(256 * KIB);
	const struct query_text *q = query_find(queries, n_queries, TEXT("probes"));
	int64_t n[ARRAY_SIZE(verdicts)] = {0}, sum = 0;
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = buf_printf(&all, err, "SELECT verdict, count(*) FROM (%s) GROUP BY 1", q->sql);
	if (!rc)
		rc = sql_prepare(&s, c, all.ptr, err);
	while (!rc && (rc = sql_step(s, err)) == 1) {
		for (size_t i = 0; i < ARRAY_SIZE(verdicts); i++)
			if (text_is(sql_get_text(s, 0), verdicts[i].verdict))
				n[i] = sql_get_int(s, 1);
		rc = 0;
	}
	found = 0;
	for (size_t i = 0; !rc && i < ARRAY_SIZE(verdicts); i++) {
		rc = buf_printf(&json, err, "%s\"%s\":%" PRId64, i ? "," : "{", verdicts[i].verdict, n[i]);
		found += verdicts[i].found ? n[i] : 0;
		sum += n[i];
	}
	int64_t over = 0;
	sql_end(s);
	s = NULL;
	buf_clear(&all);
	if (!rc)
		rc = buf_printf(&all, err, "SELECT count(*) FROM (%s) WHERE must_refuse AND answered = 'yes'", q->sql);
	if (!rc)
		rc = ask_int(c, all.ptr, &over, err);
	if (!rc)
		rc = buf_printf(&json, err, ",\"probes\":%" PRId64 ",\"answered_over_limit\":%" PRId64 "}", sum, over);
	if (rc)
		return rc;
	rows_extra(r, "totals", buf_text(&json));
	for (size_t i = 0; i < ARRAY_SIZE(verdicts); i++)
		if (n[i])
			rows_note(r, "%" PRId64 " of %" PRId64 " probe%s %s (%s)", n[i], sum, PLURAL(sum),
				  verdicts[i].says, verdicts[i].verdict);
	if (over)
		rows_note(r, "%" PRId64 " prompt%s at or over the limit %s answered with text of a model", over,
			  PLURAL(over), over == 1 ? "was" : "were");
	rows_note(r,
		  "A marker that did not come back shows nothing about other requests; one that did is in 'canary' and "
		  "'scope' too.");
	return 0;
}

/* --- sending --- */

static int not_allowed(struct err *err)
{
	err_set(err, ERR_USAGE, "probes are real requests, which a faulty engine answers with others' content");
	err_hint(err, "only for a test environment of your own: --i-may-test-this-endpoint says that it is one");
	return ERR_USAGE;
}

static int check_numbers(const struct probe_args *a, struct err *err)
{
	if (a->max_requests > LIVE_PROBES_MAX)
		return err_set(err, ERR_USAGE, "--max-requests takes 1 to %d", LIVE_PROBES_MAX);
	if (a->max_seconds > 7 * 24 * 3600)
		return err_set(err, ERR_USAGE, "--max-seconds takes 1 to %d", 7 * 24 * 3600);
	if (a->max_tokens > 4096)
		return err_set(err, ERR_USAGE, "--max-tokens takes 1 to 4096");
	return 0;
}

static int rate_gap(const char *rate, int64_t *ret_ns, struct err *err)
{
	double per_second = 2;
	if (rate && (!text_double(text_of(rate), &per_second) || !(per_second >= 0.001 && per_second <= 1000)))
		return err_set(err, ERR_USAGE, "--rate takes requests per second, 0.001 to 1000, not '%s'", rate);
	*ret_ns = (int64_t)((double)NS_PER_S / per_second);
	return 0;
}

static int fill_run(struct live_probe_run *r, const struct probe_args *a, struct err *err)
{
	if (!a->allowed)
		return not_allowed(err);
	if (!a->plan) {
		err_set(err, ERR_USAGE, "--plan is missing");
		err_hint(err, "see 'pagetrail help probe'");
		return ERR_USAGE;
	}
	if (a->api && strcmp(a->api, "completions") != 0 && strcmp(a->api, "chat") != 0)
		return err_set(err, ERR_USAGE, "--api takes completions or chat, not '%s'", a->api);
	r->api = a->api && !strcmp(a->api, "chat") ? LIVE_CHAT : LIVE_COMPLETIONS;
	r->model = a->model;
	r->max_tokens = a->max_tokens;
	r->max_requests = (size_t)a->max_requests;
	r->max_ns = a->max_seconds * NS_PER_S;
	r->send_rid = !a->no_rid;
	int rc = check_numbers(a, err);
	if (!rc)
		rc = rate_gap(a->rate, &r->gap_ns, err);
	return rc ? rc : live_url_check(a->endpoint, &r->endpoint, err);
}

/* The same marker in two requests would be nobody's. */
static int refuse_used(struct case_file *c, const struct live_plan *plan, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc =
	    sql_prepare(&s, c, "SELECT 1 FROM planted WHERE marker = ?1 AND planted_name IS NOT NULL LIMIT 1", err);
	for (size_t i = 0; !rc && i < plan->n; i++) {
		if (!plan->list[i].marker.len)
			continue;
		rc = sql_text(s, 1, plan->list[i].marker, err);
		if (!rc)
			rc = sql_step(s, err);
		sql_reset(s);
	}
	if (rc != 1)
		return rc;
	err_set(err, ERR_INPUT, "markers of this plan were planted before, and would be of two requests");
	err_hint(err, "make a fresh one: 'pagetrail canary --plan N --over-limit M --limit TOKENS'");
	return ERR_INPUT;
}

static int write_journal(const struct live_probe_run *r, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * KIB);
	unsigned char head[SHA256_BYTES];
	int rc = buf_add_text(&b, TEXT("{\"endpoint\":"), err);
	if (!rc)
		rc = buf_json_string(&b, r->endpoint, err);
	if (!rc)
		rc = buf_printf(
		    &b, err,
		    ",\"plan_sha256\":\"%s\",\"run\":\"%s\",\"allowed\":\"--i-may-test-this-endpoint\",\"planned\":%zu,"
		    "\"sent\":%zu}",
		    r->plan->sha256, r->run, r->plan->n, r->sent);
	if (!rc)
		rc = case_begin(r->c, err);
	if (!rc)
		rc = journal_append(r->c, r->ingest->now_ns, "probe", buf_text(&b), head, err);
	return rc ? rc : case_commit(r->c, err);
}

static int send_all(const char *path, const struct probe_args *a, struct live_args *live, struct err *err)
{
	CLEANUP(live_plan_done) struct live_plan plan = {0};
	CLEANUP(site_close) struct site_formats site = {0};
	CLEANUP(case_closep) struct case_file *c = NULL;
	CLEANUP(buf_done) struct buf model = BUF_INIT(KIB);
	char run[RUN_LETTERS + 1];
	struct live_probe_run r = {.live = &live->options, .plan = &plan, .run = run};
	int rc = fill_run(&r, a, err);
	if (!rc)
		rc = live_args_open(live, TOTAL_S, PARALLEL, err);
	if (!rc)
		rc = live_plan_read(&plan, a->plan, err);
	system_catch_stop();
	if (!rc && !r.model) {
		rc = live_model(&live->options, r.endpoint, &model, err);
		r.model = model.ptr;
	}
	if (!rc)
		rc = plan_random_name(run, RUN_LETTERS, err);
	if (!rc)
		rc = site_open(&site, NULL, err);
	if (!rc)
		rc = live_case(&c, path, err);
	if (!rc)
		rc = refuse_used(c, &plan, err);
	if (rc)
		return rc;
	struct ingest_options o = {.parsers = site.list,
				   .n_parsers = site.n,
				   .wrappers = wrappers,
				   .n_wrappers = n_wrappers,
				   .now_ns = system_now_ns()};
	r.c = c;
	r.ingest = &o;
	rc = live_probe_run(&r, err);
	if (rc && rc != ERR_INTERRUPTED)
		return rc;
	struct err second = {0};
	int after = write_journal(&r, &second);
	if (!after && !rc)
		after = live_correlate(c, &second);
	if (!rc && after) {
		*err = second;
		rc = after;
	}
	if (rc)
		return rc;
	struct case_file *ended = c;
	c = NULL;
	return case_close(ended, err);
}

static int run(int argc, char **argv, struct err *err)
{
	struct ask ask = ASK_INIT;
	struct probe_args a = {.max_requests = MAX_REQUESTS, .max_seconds = MAX_SECONDS, .max_tokens = MAX_TOKENS};
	CLEANUP(live_args_close) struct live_args live = LIVE_ARGS_INIT;
	const struct option_spec options[] = {{"--endpoint", OPTION_TEXT, &a.endpoint},
					      {"--plan", OPTION_TEXT, &a.plan},
					      {"--model", OPTION_TEXT, &a.model},
					      {"--api", OPTION_TEXT, &a.api},
					      {"--rate", OPTION_TEXT, &a.rate},
					      {"--max-requests", OPTION_COUNT, &a.max_requests},
					      {"--max-seconds", OPTION_COUNT, &a.max_seconds},
					      {"--max-tokens", OPTION_COUNT, &a.max_tokens},
					      {"--no-rid", OPTION_FLAG, &a.no_rid},
					      {"--i-may-test-this-endpoint", OPTION_FLAG, &a.allowed},
					      LIVE_OPTIONS(live)};
	const struct option_spec shared[] = {ASK_OPTIONS(ask)};
	struct args args;
	int rc = args_parse(&args, argc, argv, options, ARRAY_SIZE(options), shared, ARRAY_SIZE(shared), 1, 1, err);
	if (!rc && !a.endpoint && (a.plan || a.allowed)) {
		rc = err_set(err, ERR_USAGE, "--plan is sent to an --endpoint");
		err_hint(err, "without both, what was sent before is scored again");
	}
	if (!rc && a.endpoint)
		rc = send_all(args.at[0], &a, &live, err);
	if (rc)
		return rc;
	CLEANUP(case_closep) struct case_file *c = NULL;
	rc = ask_open(&c, args.at[0], &ask, err);
	if (!rc)
		rc = ask_query(c, "probes", &ask,
			       "probe,kind,tokens,streamed,status,outcome,answered,handed_over,prefill_worker,verdict,"
			       "foreign_markers",
			       add_totals, NULL, err);
	return rc ? rc : found ? EXIT_FOUND : EXIT_DONE;
}

const struct command command_probe = {
    .name = "probe",
    .synopsis = "CASE --endpoint URL --plan FILE --i-may-test-this-endpoint [--model NAME] [--api A] | CASE",
    .summary = "Sends planned markers and over-limit prompts to a test endpoint, and scores the answers",
    .help = "For a TEST environment of your own. The plan is that of 'canary --plan N --over-limit M\n"
	    "--limit TOKENS': markers, of which none may come back to another request, and prompts\n"
	    "around the input limit, of which those at or over it must be refused. Requests and\n"
	    "answers become evidence. Without --endpoint all probes of the case are scored again:\n"
	    "after logs came in, they say who refused, and whether before the hand-off.\n\n"
	    "  --model NAME          as the endpoint calls it; without it the one that it names\n"
	    "  --api completions     prompts of exact lengths, as token ids; chat: of words, and\n"
	    "                        lengths are estimates\n"
	    "  --rate R              requests per second: 2\n"
	    "  --parallel N          at a time: 4\n"
	    "  --max-requests N      1000; what is planned beyond is not sent\n"
	    "  --max-seconds N       3600, for all of them\n"
	    "  --max-tokens N        of an answer: 32\n"
	    "  --no-rid              leave out the member 'rid', for endpoints that refuse it\n"
	    "  --header-file FILE, --cacert FILE, --connect-timeout S, --timeout S (120),\n"
	    "  --max-bytes N         as in 'snapshot'\n"
	    "  --json --jsonl --csv --columns A,B --limit N --tz ZONE\n\n"
	    "Exit code 1 when a marker came back, a prompt at or over the limit was not refused, or\n"
	    "a probe tells nothing. docs/live.md says what is sent and what is kept.\n\n"
	    "  pagetrail canary --plan 20 --over-limit 12 --limit 681274 > plan.json\n"
	    "  pagetrail probe test.ptc --endpoint http://10.0.0.5:8000 --plan plan.json \\\n"
	    "      --i-may-test-this-endpoint\n"
	    "  pagetrail ingest test.ptc LOGS/ && pagetrail probe test.ptc\n",
    .run = run,
};
