/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_deploy.c - which version each replica runs, how well that is known, and what served without the fix */
#include "publish.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/inventory.h"
#include "pagetrail/policy.h"

DEFINE_CLEANUP(struct inventory *, inventory_free)

enum { LISTED_MAX = 1000, UNREAD_NAMED = 3, REPLICAS_NAMED = 8 };

static struct {
	const struct policy *policy;
	const struct inventory *inventory;
	const struct ask *ask;
	const struct publish *publish;
	int64_t at_ns, as_of_ns;
	bool open; /* a replica is neither verified fixed nor retired */
} asked;

struct totals {
	int64_t at_ns, rows, counted, outside, observed;
	int64_t by[VERDICTS]; /* of those in the inventory; without one, of all */
};

static int add_up(struct case_file *c, struct totals *t, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	*t = (struct totals){.at_ns = asked.at_ns};
	int rc = sql_prepare(
	    &s, c, "SELECT verdict, counted, outside, observed, judged_at FROM deploy(?1, ?2) WHERE current", err);
	if (!rc)
		rc = sql_int(s, 1, asked.at_ns, err);
	if (!rc)
		rc = sql_int(s, 2, asked.as_of_ns, err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		struct text verdict = sql_get_text(s, 0);
		bool counted = asked.inventory ? sql_get_int(s, 1) : true;
		t->at_ns = sql_get_time(s, 4);
		t->rows++;
		t->outside += sql_get_int(s, 2);
		t->counted += counted;
		t->observed += counted && sql_get_int(s, 3);
		for (int i = 0; i < VERDICTS; i++)
			t->by[i] += counted && text_is(verdict, deploy_verdict_name((enum deploy_verdict)i));
		/* what an inventory says has not begun yet is nothing to be worried about */
		bool waits = asked.inventory && !counted && !sql_get_int(s, 2);
		asked.open |= !waits && !text_is(verdict, deploy_verdict_name(VERDICT_FIXED)) &&
			      !text_is(verdict, deploy_verdict_name(VERDICT_RETIRED));
	}
	return rc;
}

/* "22 of 24 replicas in inventory hosts.csv verified fixed as of …" */
static int say_totals(const struct totals *t, struct buf *b, struct err *err)
{
	char at[40];
	int rc;
	stamp_format(t->at_ns, at, sizeof(at));
	if (asked.inventory) {
		rc = buf_printf(b, err, "%" PRId64 " of %" PRId64 " replica%s in inventory ", t->by[VERDICT_FIXED],
				t->counted, PLURAL(t->counted));
		if (!rc)
			rc = text_visible(inventory_path(asked.inventory), CELL_MAX_BYTES, b, err);
		if (!rc)
			rc = buf_add_text(b, TEXT(" verified fixed"), err);
	} else {
		rc = buf_printf(b, err, "%" PRId64 " replica%s verified fixed", t->by[VERDICT_FIXED],
				PLURAL(t->by[VERDICT_FIXED]));
	}
	if (!rc)
		rc = buf_printf(b, err, " as of %s", *at ? at : "an unknown time");
	for (int i = 1; !rc && i < VERDICTS; i++)
		if (t->by[i])
			rc = buf_printf(b, err, "; %" PRId64 " %s", t->by[i],
					deploy_verdict_name((enum deploy_verdict)i));
	if (!rc && t->outside)
		rc = buf_printf(b, err, "; %" PRId64 " outside the inventory", t->outside);
	if (!rc && !asked.inventory)
		rc = buf_printf(b, err, "; how many there are, nobody knows without an inventory");
	return rc;
}

static int put_totals(struct rows *r, const struct totals *t, struct err *err)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(64 * KIB), b = BUF_INIT(256 * KIB);
	int64_t left = t->counted - t->by[VERDICT_RETIRED];
	char at[40];
	int rc = say_totals(t, &text, err);
	if (!rc)
		rc = buf_add_text(&b, TEXT("{\"inventory\":"), err);
	if (!rc)
		rc =
		    asked.inventory ? buf_printf(&b, err, "%" PRId64, t->counted) : buf_add_text(&b, TEXT("null"), err);
	if (!rc)
		rc = buf_printf(&b, err, ",\"observed\":%" PRId64, t->observed);
	for (int i = 0; !rc && i < VERDICTS; i++)
		rc = buf_printf(&b, err, ",\"%s\":%" PRId64, deploy_verdict_name((enum deploy_verdict)i), t->by[i]);
	if (!rc)
		rc = buf_printf(&b, err, ",\"outside_inventory\":%" PRId64 ",\"verified_fixed_percent\":", t->outside);
	if (!rc && asked.inventory && left > 0) { /* never rounded up: 99.99 % is not all */
		int64_t tenths = t->by[VERDICT_FIXED] * 1000 / left;
		rc = buf_printf(&b, err, "%" PRId64 ".%" PRId64, tenths / 10, tenths % 10);
	} else if (!rc) {
		rc = buf_add_text(&b, TEXT("null"), err);
	}
	stamp_format(t->at_ns, at, sizeof(at));
	if (!rc)
		rc = *at ? buf_printf(&b, err, ",\"at\":\"%s\"", at) : buf_add_text(&b, TEXT(",\"at\":null"), err);
	if (!rc)
		rc = buf_add_text(&b, TEXT(",\"text\":"), err);
	if (!rc)
		rc = buf_json_string(&b, buf_text(&text), err);
	if (!rc)
		rc = buf_add_char(&b, '}', err);
	if (rc)
		return rc;
	rows_extra(r, "totals", buf_text(&b));
	rows_note(r, "%s", text.ptr);
	return 0;
}

/* Some of the replicas that this is true of, by name, and how many they are. */
static int name_replicas(struct case_file *c, const char *which, struct buf *shown, int64_t *ret_n, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	char sql[240];
	snprintf(sql, sizeof(sql), "SELECT replica FROM deploy(?1, ?2) WHERE current AND %s ORDER BY replica", which);
	int rc = sql_prepare(&s, c, sql, err);
	if (!rc)
		rc = sql_int(s, 1, asked.at_ns, err);
	if (!rc)
		rc = sql_int(s, 2, asked.as_of_ns, err);
	for (*ret_n = 0; rc >= 0 && (rc = sql_step(s, err)) == 1; ++*ret_n) {
		if (*ret_n < REPLICAS_NAMED) {
			rc = *ret_n ? buf_add_text(shown, TEXT(", "), err) : 0;
			if (!rc)
				rc = text_visible(sql_get_text(s, 0), CELL_MAX_BYTES, shown, err);
		} else if (*ret_n == REPLICAS_NAMED) {
			rc = buf_add_text(shown, TEXT(", …"), err);
		}
	}
	return rc;
}

/* Nobody leaves the percentage without being named. */
static int say_left_out(struct case_file *c, struct rows *r, struct err *err)
{
	static const struct {
		const char *which, *one, *several;
	} why[] = {
	    {"verdict = 'retired'", "is in no percentage, as retired by the inventory",
	     "are in no percentage, as retired by the inventory"},
	    {"NOT counted AND NOT outside", "is in no percentage, as by the inventory it began later",
	     "are in no percentage, as by the inventory they began later"},
	    {"verdict <> 'retired' AND reasons LIKE '%retired_undated%'",
	     "counts, though the inventory calls it retired: since when, it does not say (retired_at)",
	     "count, though the inventory calls them retired: since when, it does not say (retired_at)"},
	};
	int rc = 0;
	for (size_t i = 0; asked.inventory && !rc && i < ARRAY_SIZE(why); i++) {
		CLEANUP(buf_done) struct buf shown = BUF_INIT(64 * KIB);
		int64_t n;
		rc = name_replicas(c, why[i].which, &shown, &n, err);
		if (!rc && n)
			rows_note(r, "%" PRId64 " replica%s %s: %s.", n, PLURAL(n),
				  n == 1 ? why[i].one : why[i].several, shown.ptr);
	}
	return rc;
}

/* Where there is no replica nothing is verified; what was read all the same is named. */
static int say_nobody(struct case_file *c, struct rows *r, struct err *err)
{
	int64_t nobodys;
	int rc = ask_int(c, "SELECT count(DISTINCT source) FROM install_events", &nobodys, err);
	if (rc)
		return rc;
	rows_note(r, "No replica is known, so nothing is verified: the exit code is 1.");
	if (nobodys)
		rows_note(r,
			  "%" PRId64 " file%s of what is installed or was built %s no known replica's: a path or an "
			  "inventory that names "
			  "the replica makes it count.",
			  nobodys, PLURAL(nobodys), nobodys == 1 ? "is" : "are");
	return 0;
}

/* ---- further lists: each is a query of its own ---- */

/* What a query needs so as to answer for the same moment. */
static const char *of_then(void)
{
	return asked.at_ns == TIME_UNKNOWN ? "" : " --param at=T";
}

static int add_pairs(struct case_file *c, struct rows *r, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * MIB);
	int64_t n;
	bool more;
	int rc = ask_list(c, "deploy_pairs", asked.at_ns, LISTED_MAX, &b, &n, &more, err);
	if (rc)
		return rc;
	rows_extra(r, "pairs", buf_text(&b));
	rows_extra(r, "pairs_truncated", more ? TEXT("true") : TEXT("false"));
	if (n)
		rows_note(r,
			  "%s%" PRId64
			  " pair%s of prefill and decode boots: 'query CASE deploy_pairs%s' has their limits.",
			  more ? "More than " : "", n, PLURAL(n), of_then());
	return 0;
}

static int add_gateways(struct case_file *c, struct rows *r, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * MIB);
	int64_t n;
	bool more;
	int rc = ask_list(c, "deploy_gateway_limits", asked.at_ns, LISTED_MAX, &b, &n, &more, err);
	if (rc)
		return rc;
	rows_extra(r, "gateway_limits", buf_text(&b));
	if (n)
		rows_note(r,
			  "Gateways refuse over-long prompts themselves: 'query CASE deploy_gateway_limits%s' says "
			  "which, since "
			  "when, and what got through. That is no fix of the replicas.",
			  of_then());
	return 0;
}

/* One number or time over all rows of a query: sql is "SELECT …(column)", without its FROM. */
static int over_query(struct case_file *c, const char *sql, const char *name, int64_t *ret, int64_t *ret_second,
		      struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	CLEANUP(buf_done) struct buf b = BUF_INIT(MIB);
	const struct query_text *q = query_find(queries, n_queries, text_of(name));
	int rc = q ? buf_printf(&b, err, "%s FROM (%s)", sql, q->sql) : err_set(err, ERR_BUG, "no query '%s'", name);
	if (!rc)
		rc = sql_prepare(&s, c, b.ptr, err);
	if (!rc && sql_param(s, ":at"))
		rc = sql_int(s, sql_param(s, ":at"), asked.at_ns, err);
	if (!rc)
		rc = sql_step(s, err);
	if (rc == 1) {
		*ret = sql_get_time(s, 0);
		*ret_second = sql_get_time(s, 1);
	}
	return MIN(rc, 0);
}

/* What is missing because a file was cut, or is of a form that is not read, no row of a replica says. */
static int add_unread(struct case_file *c, struct rows *r, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * MIB), shown = BUF_INIT(64 * KIB);
	CLEANUP(sql_endp) struct sql *s = NULL;
	int64_t n, named = 0;
	bool more;
	int rc = ask_list(c, "deploy_unread", asked.at_ns, LISTED_MAX, &b, &n, &more, err);
	if (!rc)
		rows_extra(r, "unread", buf_text(&b));
	if (rc || !n)
		return rc;
	rc = sql_prepare(&s, c, "SELECT value ->> 'path', value ->> '$.reasons[0]' FROM json_each(?1) LIMIT ?2", err);
	if (!rc)
		rc = sql_text(s, 1, buf_text(&b), err);
	if (!rc)
		rc = sql_int(s, 2, UNREAD_NAMED, err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		struct text why = sql_get_text(s, 1);
		rc = named++ ? buf_add_text(&shown, TEXT(", "), err) : 0;
		if (!rc)
			rc = text_visible(sql_get_text(s, 0), CELL_MAX_BYTES, &shown, err);
		if (!rc && why.len)
			rc = buf_printf(&shown, err, " (%.*s)", TEXT_ARG(why));
	}
	if (!rc)
		rows_note(r,
			  "%s%" PRId64 " file%s not understood, or not all of it: %s%s. What %s of replicas is missing "
			  "above: 'query CASE deploy_unread'.",
			  more ? "More than " : "", n, n == 1 ? " was" : "s were", shown.ptr, n > named ? ", …" : "",
			  n == 1 ? "it says" : "they say");
	return rc;
}

static int add_window(struct case_file *c, struct rows *r, struct err *err)
{
	/* the same moment as that query's; with --at neither knows what came later */
	static const char first[] = "SELECT min(fixed_since) FROM deploy() WHERE fix = 'fixed' AND verdict <> "
				    "'conflicting' AND (?1 IS NULL OR fixed_since <= ?1)";
	CLEANUP(sql_endp) struct sql *s = NULL;
	int64_t end = TIME_UNKNOWN, n = 0, after = 0, fixed = TIME_UNKNOWN, sure = TIME_UNKNOWN;
	char at[40], quoted[48], json[160];
	int rc = over_query(c, "SELECT max(last_served_at), sum(responses)", "deploy_window", &end, &n, err);
	if (!rc)
		rc = over_query(c, "SELECT count(*), sum(class IN ('C1', 'C2'))", "deploy_served_after_fix", &after,
				&sure, err);
	if (!rc)
		rc = sql_prepare(&s, c, first, err);
	if (!rc)
		rc = sql_int(s, 1, asked.at_ns, err);
	if (!rc)
		rc = sql_step(s, err);
	if (rc < 0)
		return rc;
	fixed = rc == 1 ? sql_get_time(s, 0) : TIME_UNKNOWN;
	stamp_format(end, at, sizeof(at));
	snprintf(quoted, sizeof(quoted), "\"%s\"", at);
	rows_extra(r, "affected_window_end", *at ? text_of(quoted) : TEXT("null"));
	if (*at)
		rows_note(r, "The last response of a boot that is known to be affected ended at %s.", at);
	stamp_format(fixed, at, sizeof(at));
	snprintf(quoted, sizeof(quoted), "\"%s\"", at);
	snprintf(json, sizeof(json), "{\"first_fixed_at\":%s,\"responses\":%" PRId64 ",\"C1_C2\":%" PRId64 "}",
		 *at ? quoted : "null", after, sure == TIME_UNKNOWN ? 0 : sure);
	rows_extra(r, "served_after_fix", text_of(json));
	if (after)
		rows_note(r,
			  "%" PRId64
			  " response%s served by boots not known to have the fix after a replica first had it, "
			  "at %s: 'query CASE deploy_served_after_fix%s'.",
			  after, after == 1 ? " was" : "s were", at, of_then());
	return 0;
}

static int add_extras(struct case_file *c, struct rows *r, struct err *err)
{
	CLEANUP(buf_done) struct buf said = BUF_INIT(16 * KIB), shown = BUF_INIT(64 * KIB);
	struct totals t;
	int rc = add_up(c, &t, err);
	if (!rc)
		rc = put_totals(r, &t, err);
	if (!rc && !t.rows) {
		asked.open = true;
		rc = say_nobody(c, r, err);
	}
	if (!rc)
		rc = say_left_out(c, r, err);
	if (!rc)
		rc = add_unread(c, r, err);
	if (!rc)
		rc = add_window(c, r, err);
	if (!rc)
		rc = add_gateways(c, r, err);
	if (!rc)
		rc = add_pairs(c, r, err);
	if (!rc)
		rc = policy_describe(asked.policy, &said, err);
	if (!rc)
		rc = text_visible(buf_text(&said), CELL_MAX_BYTES, &shown, err);
	if (!rc)
		rows_note(r, "policy: %s", shown.ptr);
	return rc ? rc : publish_write(asked.publish, c, asked.ask, asked.at_ns, r, err);
}

static int run(int argc, char **argv, struct err *err)
{
	struct ask ask = ASK_INIT;
	CLEANUP(publish_done) struct publish publish = {0};
	const char *path = NULL, *at = NULL;
	char as_of[40];
	const struct option_spec options[] = {
	    {"--inventory", OPTION_TEXT, &path}, {"--at", OPTION_TEXT, &at}, PUBLISH_OPTIONS(publish)};
	const struct option_spec shared[] = {ASK_OPTIONS(ask)};
	struct args args;
	int rc = args_parse(&args, argc, argv, options, ARRAY_SIZE(options), shared, ARRAY_SIZE(shared), 1, 1, err);
	if (rc)
		return rc;
	asked.ask = &ask;
	asked.publish = &publish;
	asked.at_ns = TIME_UNKNOWN;
	asked.as_of_ns = ask.as_of_ns;
	rc = at ? args_time("option", TEXT("--at"), text_of(at), &asked.at_ns, err) : 0;
	if (rc)
		return rc;
	publish.case_path = args.at[0];
	publish.inventory = path;
	publish.policy = ask.policy;
	rc = publish_check(&publish, err);
	if (rc)
		return rc;
	CLEANUP(inventory_freep) struct inventory *inventory = NULL;
	CLEANUP(case_closep) struct case_file *c = NULL;
	if (path)
		rc = inventory_load(&inventory, path, say_note, NULL, err);
	if (rc)
		return rc;
	ask.analysis.inventory = asked.inventory = inventory;
	ask_param(&ask, "at", at);
	if (ask.as_of_ns != TIME_UNKNOWN)
		ask_param(&ask, "as_of", stamp_format(ask.as_of_ns, as_of, sizeof(as_of)));
	rc = ask_open(&c, args.at[0], &ask, err);
	if (!rc)
		rc = publish_allowed(&publish, c, err);
	if (rc)
		return rc;
	asked.policy = ask.analysis.policy;
	rc = ask_query(c, "deploy", &ask, "replica,role,version,rung,context_exceeds_pool,verdict,evidence_at,reasons",
		       add_extras, NULL, err);
	return rc ? rc : asked.open ? EXIT_FOUND : EXIT_DONE;
}

const struct command command_deploy = {
    .name = "deploy",
    .synopsis = "CASE [--policy FILE] [--inventory FILE] [--at T] [--csaf FILE] [--statement FILE [--key FILE]]",
    .summary = "Says which version each replica runs, how well that is known, and a verdict",
    .help = "A released version is not a deployed one. A row for each start of each replica, the\n"
	    "last one being its present state; or with --at one for each replica as it was then.\n\n"
	    "  verified_fixed, verified_affected   its own process said so\n"
	    "  conflicting    records contradict each other\n"
	    "  stale          the record is too old, or the process has been replaced since\n"
	    "  undetermined   no process said a version that decides\n"
	    "  not_observed   in the inventory, and nothing was seen of it\n"
	    "  retired        the inventory says so, and since when\n\n"
	    "  --policy FILE     an OSV document (docs/policy.md), or builtin:NAME\n"
	    "  --inventory FILE  CSV with a column 'replica', or the JSON of kubectl get pods\n"
	    "                    or nodes. Without it there is no percentage\n"
	    "  --at T            what was known at that time, of the process that ran then\n"
	    "  --as-of T         time against which the age of records counts\n"
	    "  --csaf FILE       writes a VEX document too (CSAF 2.0) of the builds that run\n"
	    "  --publisher NAME, --namespace URL, --contact TEXT\n"
	    "                    who publishes it; without them it is a draft\n"
	    "  --replicas URL    where its readers find which replicas these are\n"
	    "  --statement FILE  writes an in-toto statement too: each verdict, and what it\n"
	    "                    rests on\n"
	    "  --key FILE        signs it (DSSE) with an Ed25519 key in PEM\n"
	    "  --issue N         number of this issue of both; default 1\n"
	    "  --json --jsonl --csv --columns A,B --limit N --tz ZONE\n\n"
	    "Exit code 1 when a replica is neither verified fixed nor retired, or none is known.\n"
	    "docs/deploy.md says how verdicts are made, and what each reason means.\n\n"
	    "  pagetrail deploy case.ptc --inventory hosts.csv --at 2026-09-09T18:00:00Z\n",
    .run = run,
};
