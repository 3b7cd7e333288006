/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_scope.c - the responses affected, or with --side exposed the requests whose content was read */
#include "cli.h"

#include <inttypes.h>
#include <string.h>

static const struct policy *policy;
static bool something_found; /* any C1, C2, C3, C5 or conflict, whatever rows were asked for */
static bool of_a_part;       /* the rows are those of a tenant or a window */

enum { GAP_KINDS_MAX = 24 };

/* Gaps by kind, as a note and as members of an object. */
static int add_gaps(struct case_file *c, struct rows *r, struct buf *totals, struct err *err)
{
	static const char sql[] = "SELECT kind, count(*) FROM gap GROUP BY kind ORDER BY kind";
	CLEANUP(sql_endp) struct sql *s = NULL;
	CLEANUP(buf_done) struct buf list = BUF_INIT(4 * KIB);
	int64_t all = 0;
	int rc = sql_prepare(&s, c, sql, err);
	if (!rc)
		rc = buf_printf(totals, err, ",\"gaps\":{");
	for (int i = 0; !rc && i < GAP_KINDS_MAX && (rc = sql_step(s, err)) == 1; i++) {
		struct text kind = sql_get_text(s, 0);
		int64_t n = sql_get_int(s, 1);
		all += n;
		rc = buf_printf(totals, err, "%s\"%.*s\":%" PRId64, i ? "," : "", TEXT_ARG(kind), n);
		if (!rc)
			rc = buf_printf(&list, err, "%s%.*s %" PRId64, i ? ", " : "", TEXT_ARG(kind), n);
	}
	if (!rc)
		rc = buf_printf(totals, err, "}");
	if (!rc && all)
		rows_note(r, "NOTE: %" PRId64 " gap%s in the logs (%.*s): 'pagetrail gaps' says what each takes away.",
			  all, PLURAL(all), TEXT_ARG(buf_text(&list)));
	return rc;
}

/* What was lost, or never logged: it moves answers to unknown, and the rows shown need not say so. */
static int add_losses(struct case_file *c, struct rows *r, struct buf *totals, struct err *err)
{
	static const char sql[] =
	    "SELECT sum(responses * (t='unknown')), sum(responses * (a='unknown')), sum(responses * (l='unknown')),"
	    " sum(responses * (d='unknown')), (SELECT count(*) FROM worker w WHERE EXISTS (SELECT 1 FROM boot b WHERE "
	    "b.worker = w.worker)"
	    " OR w.has_page_log), (SELECT count(*) FROM worker WHERE has_page_log),"
	    " (SELECT CAST(value AS INTEGER) FROM case_info WHERE key='responses_twice_at_most'), sum(responses)"
	    " FROM finding_counts()";
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, c, sql, err);
	if (!rc)
		rc = sql_step(s, err);
	if (rc != 1)
		return rc;
	int64_t n[8];
	for (int i = 0; i < 8; i++)
		n[i] = sql_get_int(s, i);
	if (n[6])
		rows_note(r,
			  "NOTE: up to %" PRId64 " of the %" PRId64
			  " response%s may be counted twice: no id joins what "
			  "gateways and engines say of them ('pagetrail gaps').",
			  n[6], n[7], PLURAL(n[7]));
	if (n[0] + n[1] + n[2] + n[3])
		rows_note(r,
			  "not known for want of records: the trigger of %" PRId64 " response%s, the build of %" PRId64
			  ", the pages read of %" PRId64 ", delivery of %" PRId64 "; %" PRId64 " of %" PRId64
			  " worker%s left a page log",
			  n[0], PLURAL(n[0]), n[1], n[2], n[3], n[5], n[4], PLURAL(n[4]));
	rc = buf_printf(totals, err,
			",\"unknown\":{\"T\":%" PRId64 ",\"A\":%" PRId64 ",\"L\":%" PRId64 ",\"D\":%" PRId64
			"},\"counted_twice_at_most\":%" PRId64 ",\"workers\":%" PRId64
			",\"workers_with_page_log\":%" PRId64,
			n[0], n[1], n[2], n[3], n[6], n[4], n[5]);
	return rc ? rc : add_gaps(c, r, totals, err);
}

/* Where the responses stand that were affected: the parts add up to `all`. */
static int add_bands(struct rows *r, int64_t all, int64_t over, int64_t boundary, int64_t under, int64_t other,
		     int64_t same, struct err *err)
{
	CLEANUP(buf_done) struct buf rest = BUF_INIT(KIB);
	int64_t unknown = all - over - boundary - under;
	int rc = under ? buf_printf(&rest, err, ", %" PRId64 " under the input limit", under) : 0;
	if (!rc && unknown)
		rc = buf_printf(&rest, err, ", %" PRId64 " where length or limit is not known", unknown);
	if (!rc)
		rows_note(
		    r,
		    "confirmed or probable: %" PRId64 " over the pool, %" PRId64
		    " in the boundary band (input limit to pool)%.*s; another tenant's content known to be read in "
		    "%" PRId64 ", only the same tenant's in %" PRId64,
		    over, boundary, TEXT_ARG(buf_text(&rest)), other, same);
	return rc;
}

/* Totals over the whole population, whatever rows are shown: classes add up to it. */
static int add_totals(struct case_file *c, struct rows *r, struct err *err)
{
	static const char sql[] =
	    "SELECT sum(n), sum(n * (class='C1')), sum(n * (class='C2')), sum(n * (class='C3')), sum(n * (class='C4')),"
	    " sum(n * (class='C5')), sum(n * conflict), sum(n * sure * (band='over_pool')),"
	    " sum(n * sure * (band='boundary')), sum(n * sure * (cross_tenant='yes')),"
	    " sum(n * sure * (cross_tenant='no')), sum(n * sure * (band='under')), max(NOT trigger_stands),"
	    " max(NOT build_stands)"
	    " FROM (SELECT *, responses AS n, class IN ('C1','C2') AS sure FROM finding_counts())";
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, c, sql, err);
	if (!rc)
		rc = sql_step(s, err);
	if (rc != 1)
		return rc;
	int64_t n[12];
	for (int i = 0; i < 12; i++)
		n[i] = sql_get_int(s, i);
	bool trigger_fell = sql_get_int(s, 12), build_fell = sql_get_int(s, 13);
	int64_t incomplete, unrecognised;
	rc = ask_int(c, "SELECT count(*) FROM source WHERE status IN ('reading','failed')", &incomplete, err);
	if (!rc)
		rc = ask_int(c,
			     "SELECT count(*) FROM source WHERE status='unrecognised' AND (records = 0 OR "
			     "duplicate < records)",
			     &unrecognised, err);
	if (rc)
		return rc;
	something_found = n[1] + n[2] + n[3] + n[5] + n[6] > 0;
	if (of_a_part)
		rows_note(r, "of the whole case, not of these rows alone:");
	CLEANUP(buf_done) struct buf b = BUF_INIT(8 * KIB);
	rc = buf_printf(&b, err,
			"{\"population\":%" PRId64 ",\"C1\":%" PRId64 ",\"C2\":%" PRId64 ",\"C3\":%" PRId64
			",\"C4\":%" PRId64 ",\"C5\":%" PRId64 ",\"conflicts\":%" PRId64
			",\"affected_over_pool\":%" PRId64 ",\"affected_boundary\":%" PRId64
			",\"affected_cross_tenant\":%" PRId64 ",\"affected_same_tenant\":%" PRId64
			",\"trigger_stands\":%s,\"build_stands\":%s,\"sources_incomplete\":%" PRId64
			",\"sources_unrecognised\":%" PRId64,
			n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10],
			trigger_fell ? "false" : "true", build_fell ? "false" : "true", incomplete, unrecognised);
	if (!rc)
		rc = add_losses(c, r, &b, err);
	if (!rc)
		rc = buf_printf(&b, err, "}");
	if (rc)
		return rc;
	rows_extra(r, "totals", buf_text(&b));
	if (incomplete)
		rows_note(r,
			  "NOTE: %" PRId64
			  " source%s not read to the end (see 'pagetrail gaps'): run 'pagetrail ingest' "
			  "again, or read these numbers as incomplete.",
			  incomplete, incomplete == 1 ? " was" : "s were");
	if (trigger_fell || build_fell)
		rows_note(r,
			  "NOTE: a confirmed response contradicts the hypothesis (%s%s%s): that predicate excludes "
			  "nothing in this case.",
			  trigger_fell ? "trigger" : "", trigger_fell && build_fell ? " and " : "",
			  build_fell ? "affected build" : "");
	CLEANUP(buf_done) struct buf said = BUF_INIT(16 * KIB), shown = BUF_INIT(64 * KIB);
	rc = policy_describe(policy, &said, err);
	if (!rc)
		rc = text_visible(buf_text(&said), CELL_MAX_BYTES, &shown, err);
	if (rc)
		return rc;
	rows_note(r, "policy: %s", shown.ptr);
	rows_note(r,
		  "%" PRId64 " response%s: C1 confirmed %" PRId64 ", C2 probable %" PRId64 ", C3 possible %" PRId64
		  ", C4 not affected %" PRId64 ", C5 could not be determined %" PRId64 "; conflicts %" PRId64,
		  n[0], PLURAL(n[0]), n[1], n[2], n[3], n[4], n[5], n[6]);
	return n[1] + n[2] ? add_bands(r, n[1] + n[2], n[7], n[8], n[11], n[9], n[10], err) : 0;
}

/* One request's reasoning: rows for machines, prose with the original lines for people. */
static int explain(struct case_file *c, struct ask *ask, const char *name, struct err *err)
{
	int64_t request;
	char id[32];
	int rc = request_find(c, text_of(name), &request, err);
	if (rc)
		return rc;
	if (!ask->rows.json && !ask->rows.jsonl && !ask->rows.csv)
		return explain_print(c, request, err);
	snprintf(id, sizeof(id), "%lld", (long long)request);
	ask_param(ask, "request", id);
	return ask_query(c, "explain", ask, NULL, NULL, NULL, err);
}

/* Whatever was asked for, the exit code speaks of the whole case. */
static int ask_found(struct case_file *c, struct err *err)
{
	int64_t found;
	int rc = ask_int(c, "SELECT EXISTS(SELECT 1 FROM finding_counts() WHERE class<>'C4' OR conflict)", &found, err);
	something_found = found;
	return rc;
}

static int run(int argc, char **argv, struct err *err)
{
	struct ask ask = ASK_INIT;
	const char *side = "recipient", *classes = NULL, *since = NULL, *until = NULL, *tenant = NULL,
		   *explained = NULL;
	const struct option_spec options[] = {
	    {"--side", OPTION_TEXT, &side},     {"--class", OPTION_TEXT, &classes},
	    {"--since", OPTION_TEXT, &since},   {"--until", OPTION_TEXT, &until},
	    {"--tenant", OPTION_TEXT, &tenant}, {"--explain", OPTION_TEXT, &explained},
	};
	const struct option_spec shared[] = {ASK_OPTIONS(ask)};
	struct args args;
	int rc = args_parse(&args, argc, argv, options, ARRAY_SIZE(options), shared, ARRAY_SIZE(shared), 1, 1, err);
	if (rc)
		return rc;
	bool exposed = !strcmp(side, "exposed");
	if (explained && (exposed || classes || since || until || tenant))
		return err_set(err, ERR_USAGE,
			       "--explain speaks of one request: no --side, --class, --since, --until or --tenant");
	if (!exposed && strcmp(side, "recipient") != 0)
		return err_set(err, ERR_USAGE, "--side is recipient or exposed, not '%s'", side);
	struct text rest = text_of(classes), part;
	while (classes && text_split(&rest, ',', &part))
		if (part.len != 2 || part.ptr[0] != (exposed ? 'E' : 'C') || part.ptr[1] < '1' || part.ptr[1] > '5')
			return err_set(err, ERR_USAGE, "--class takes classes such as %s, not '%.*s'",
				       exposed ? "E1,E2" : "C1,C2", TEXT_ARG(part));
	ask_param(&ask, "class", classes);
	ask_param(&ask, "since", since);
	ask_param(&ask, "until", until);
	ask_param(&ask, "tenant", tenant);
	of_a_part = since || until || tenant;
	ask.count_rest = true;
	int64_t interrupted = 0; /* what was not read may hold any */
	CLEANUP(case_closep) struct case_file *c = NULL;
	rc = ask_open(&c, args.at[0], &ask, err);
	policy = ask.analysis.policy;
	if (!rc)
		rc = ask_known(c, "SELECT 1 FROM tenant WHERE name = ?1", "tenant", tenant, err);
	if (rc)
		return rc;
	if (explained)
		rc = explain(c, &ask, explained, err);
	else if (exposed)
		rc =
		    ask_query(c, "exposed", &ask,
			      "request,tenant,class,readers,reader_tenants,pages,first_read_at,grade", NULL, NULL, err);
	else
		rc = ask_query(c, "scope", &ask,
			       "class,request,tenant,prompt_tokens,band,delivered,started_at,grade,owner_count,reasons",
			       add_totals, NULL, err);
	if (rc)
		return rc;
	if (exposed || explained)
		rc = ask_found(c, err);
	if (!rc)
		rc = ask_interrupted(c, &interrupted, err);
	return rc ? rc : something_found || interrupted ? EXIT_FOUND : EXIT_DONE;
}

const struct command command_scope = {
    .name = "scope",
    .synopsis =
	"CASE [--policy FILE] [--explain REQUEST] [--side recipient|exposed] [--class C1,C2] [--since T] [--until T] "
	"[--tenant NAME]",
    .summary = "Lists the responses affected, with class, predicates and evidence",
    .help =
	"Shows C1, C2, C3, C5 and conflicts; --class widens (C4 = not affected). What stands below the rows\n"
	"(in JSON: totals) counts every response of the case.\n\n"
	"  --explain REQUEST\n"
	"                    the reasoning for one request: rule, predicates, reasons, the original lines (which\n"
	"                    may hold text of prompts), and what would change the answer\n"
	"  --policy FILE     an OSV document (docs/policy.md) that says which builds and which prompts T and A speak "
	"of;\n"
	"                    builtin:NAME for one that is built in: " POLICY_DEFAULT " (used without this option),\n"
	"                    interrupted_transfer\n"
	"  --side exposed    the other side: whose content was read\n"
	"  --class C1,C4     only these classes\n"
	"  --since, --until  window of the response's start, half open\n"
	"  --tenant NAME     one tenant's responses\n"
	"  --param pool=N    pool of boots whose logs never printed one (then marked as entered by a person)\n"
	"  --param limit=N   input limit, likewise\n"
	"  --json --jsonl --csv --columns A,B --limit N --tz ZONE --as-of T\n\n"
	"Exit code 1 when any C1, C2, C3, C5 or conflict exists, or when a run of ingest was stopped and not\n"
	"run again: what it did not read may hold any.\n\n"
	"  pagetrail scope case.ptc --class C1,C2 --json\n",
    .run = run,
};
