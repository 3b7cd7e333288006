/* SPDX-License-Identifier: Apache-2.0 */
/* kind_deploy.c - what each replica runs and how well that is known, with the inventory as the whole
 *
 * A released version is no deployed one: the paper names rung and records of each verdict, and how many of the inventory are not verified.
 * Without an inventory there is no whole, so no share. The verdicts are those of `deploy` with the same arguments (docs/deploy.md).
 */
#include "facts.h"

static const struct blank blanks[] = {
    {"phase", "Phase", "first, follow-up or final"},
    {"approver", "Approval", "name, function, date; this issue is a draft"},
    {"inventory", "Where the inventory comes from",
     "orchestrator, balancer or purchase list; who drew it, when, and what it may lack"},
    {"open-replicas", "Replicas that are not verified", "who follows them up, how, until when"},
    {"controls", "Other controls", "limits at gateways and the like: who set them, when, and how that is known"},
    {"exceptions", "Exceptions", "replicas that may run on without the fix: who accepted that, until when"},
};

static const struct number numbers[] = {
    {"inventory", "replicas", NULL, COUNTED},
    {"in_service", "replicas", "inventory", COUNTED},
    {"retired", "replicas", "inventory", COUNTED},
    {"not_begun", "replicas", NULL, COUNTED},
    {"replicas", "replicas", NULL, COUNTED},
    {"observed", "replicas", "inventory", COUNTED},
    {"verified_fixed", "replicas", "in_service", COUNTED},
    {"verified_affected", "replicas", "in_service", COUNTED},
    {"conflicting", "replicas", "in_service", COUNTED},
    {"stale", "replicas", "in_service", COUNTED},
    {"undetermined", "replicas", "in_service", COUNTED},
    {"not_observed", "replicas", "in_service", COUNTED},
    {"outside_inventory", "replicas", NULL, COUNTED},
    {"open", "replicas", NULL, COUNTED},
    {"below_l4", "replicas", NULL, COUNTED},
    {"context_exceeds", "replicas", "in_service", COUNTED},
    {"context_unknown", "replicas", "in_service", COUNTED},
    {"served_affected", "responses", NULL, FOUND},
    {"sources", "sources", NULL, COUNTED},
    {"sources_unread", "sources", "sources", COUNTED},
    {"records", "records", NULL, COUNTED},
    {"unparsed", "records", "records", COUNTED},
    {"gaps", "gaps", NULL, COUNTED},
    {"interrupted", "paths", NULL, COUNTED},
};

/* what an inventory has, and what had not begun, is nobody's worry; without one, each replica that is known counts */
static const char replicas_sql[] =
    "WITH d AS MATERIALIZED (SELECT *, counted OR NOT :inventory AS k, :inventory AND NOT counted AND NOT outside AS w"
    " FROM deploy(:at, :as_of) WHERE current)"
    "SELECT CASE WHEN :inventory THEN total(k) END AS inventory,"
    " CASE WHEN :inventory THEN total(k AND verdict <> 'retired') END AS in_service,"
    " total(k AND verdict = 'retired') AS retired, total(w) AS not_begun, count(*) AS replicas,"
    " total(k AND observed) AS observed, total(k AND verdict = 'verified_fixed') AS verified_fixed,"
    " total(k AND verdict = 'verified_affected') AS verified_affected, total(k AND verdict = 'conflicting') AS "
    "conflicting,"
    " total(k AND verdict = 'stale') AS stale, total(k AND verdict = 'undetermined') AS undetermined,"
    " total(k AND verdict = 'not_observed') AS not_observed,"
    " CASE WHEN :inventory THEN total(outside) END AS outside_inventory,"
    " total(NOT w AND verdict NOT IN ('verified_fixed', 'retired')) AS open,"
    " total(NOT w AND verdict <> 'retired' AND coalesce(rung, 'L0') < 'L4') AS below_l4,"
    " total(k AND verdict <> 'retired' AND context_exceeds_pool = 'yes') AS context_exceeds,"
    " total(k AND verdict <> 'retired' AND context_exceeds_pool = 'unknown') AS context_unknown,"
    " max(judged_at) AS \"judged-at\" FROM d";

/* the same moment as that of deploy_served_after_fix.sql */
static const char first_sql[] = "SELECT min(fixed_since) AS \"first-fixed\" FROM deploy()"
				" WHERE fix = 'fixed' AND verdict <> 'conflicting'"
				" AND (:at IS NULL OR fixed_since <= :at)";

/* deploy_window.sql, over its rows */
static const char window_sql[] =
    "WITH b AS MATERIALIZED (SELECT j.value AS boot FROM deploy() d JOIN json_each(d.boots) j WHERE d.fix = 'affected')"
    "SELECT count(DISTINCT r.response) AS served_affected, max(coalesce(r.finished_ns, r.started_ns)) AS "
    "\"served-last\""
    " FROM leg l CROSS JOIN b ON b.boot = l.boot CROSS JOIN response r ON r.request = l.request WHERE r.delivered <> "
    "'no' AND (:at IS NULL OR coalesce(r.finished_ns, r.started_ns) <= :at)";

static const char case_sql[] =
    "SELECT count(*) AS sources, total(status <> 'ingested') AS sources_unread, total(records) AS records,"
    " total(unparsed) AS unparsed, (SELECT count(*) FROM gap) AS gaps,"
    " (SELECT count(*) FROM gap WHERE kind = 'interrupted') AS interrupted FROM source";

static const char *const statements[] = {replicas_sql, first_sql, window_sql, case_sql};

static const struct limit limits[] = {
    {"open", "open", NULL, NULL, "neither verified fixed nor retired"},
    {"below_l4", "below_l4", NULL, NULL, "without a record of the own process: what it runs is not known (below L4)"},
    {"outside", "outside_inventory", NULL, NULL, "seen in logs, and not in the inventory given"},
    {"context_unknown", "context_unknown", NULL, "in_service",
     "did not print both pool and context: whether prompts are taken that the pool cannot hold is not known"},
    {"unread", "sources_unread", NULL, "sources",
     "could not be read to their end or recognised: nothing rests on them"},
    {"interrupted", "interrupted", NULL, NULL,
     "whose reading was stopped: files below them are not in the case, and nothing speaks for those"},
    {"unparsed", "unparsed", NULL, "records", "not understood: kept, and can be searched"},
    {"gaps", "gaps", NULL, NULL, "known in sequences, sources and clocks"},
};

static const struct number_set deploy_numbers = {.numbers = numbers,
						 .n_numbers = ARRAY_SIZE(numbers),
						 .statements = statements,
						 .n_statements = ARRAY_SIZE(statements),
						 .limits = limits,
						 .n_limits = ARRAY_SIZE(limits),
						 .no_classes = true};

static const struct section sections[] = {
    {.id = "replicas",
     .title = "Replicas",
     .query = "report_deploy",
     .shown = "replica=Replica,role=Role,version=Version,rung=Rung,verdict=Verdict,fixed_since=Ran the fix from,"
	      "evidence_at=Newest record of it,context_exceeds_pool=Context exceeds pool,reasons=Reasons,refs=Records",
     .list = "deploy",
     .list_shown = "replica=Replica,boot_started_at=Started,boot_ended_at=Ended,role=Role,version=Version,rung=Rung,"
		   "verdict=Verdict,evidence_at=Newest record of it,reasons=Reasons,refs=Records",
     .text = "One row each: the state at the time that is judged. Rungs: L0 the policy alone, L1 built, L2 ordered, L3 "
	     "it lies there, L4 its process said it, L5 it behaves so. The list has a row for each start of each."},
    {.id = "builds",
     .title = "Builds that run",
     .query = "report_builds",
     .shown =
	 "engine=Engine,version=Version,commit=Commit,image_digest=Image,replicas=Replicas,verified_fixed=Verified "
	 "fixed,verified_affected=Verified affected,conflicting=Conflicting,others=Not decided,retired=Retired",
     .text = "Replicas by engine, version, source revision and image, as far as these are known."},
    {.id = "window",
     .title = "Responses of boots with the defect",
     .query = "deploy_window",
     .shown = "replica=Replica,boot_started_at=Started,role=Role,version=Version,verdict=Verdict,responses=Responses,"
	      "first_served_at=First response,last_served_at=Last response",
     .text = "The latest of these is the end of the affected window: neither a release nor the start of a rollout is. "
	     "Responses until the time that is judged, by all that the case knows of the boots."},
    {.id = "after",
     .title = "Served without the fix after it was there",
     .query = "deploy_served_after_fix",
     .shown = "served_at=Served,class=Class,request=Request,tenant=Recipient,prefill_replica=Prefill,prefill_fix=Its "
	      "version,decode_replica=Decode,decode_fix=Its version,delivered=Delivered,refs=Records",
     .text = "Responses of boots that are not known to have the fix, after a first replica was verified to have it."},
    {.id = "context",
     .title = "Context windows larger than the pool",
     .query = "context_exceeds_pool",
     .shown = "worker=Worker,role=Role,started_at=Started,ended_at=Ended,version=Version,context_len=Context,"
	      "pool_tokens=Pool,input_limit=Input limit,input_limit_basis=Basis,refs=Records",
     .text = "Configuration: these boots take prompts that their pool cannot hold. With the defect that is the "
	     "condition; with the fix it is a prompt that is refused."},
    {.id = "gateways",
     .title = "Limits at gateways",
     .query = "deploy_gateway_limits",
     .shown = "gateway=Gateway,status=Status,refused=Refused,shortest_refused=Shortest refused,engine_limit=Limit of "
	      "engines,first_at=First,last_at=Last,served_since=Served since,basis=Basis,refs=Records",
     .text = "Over-long prompts that a gateway refused by itself: a bound for the danger, and no fix of a replica."},
    {.id = "pairs",
     .title = "Prefill and decode boots that ran together",
     .query = "deploy_pairs",
     .shown = "model=Model,prefill_replica=Prefill,decode_replica=Decode,prefill_limit=Prefill limit,decode_limit="
	      "Decode limit,mismatch_tokens=Decode less prefill,from_at=From,to_at=To",
     .text = "Above 0, decode takes prompts that prefill refuses."},
    {.id = "unread",
     .title = "Files that were not understood, or not all of them",
     .query = "deploy_unread",
     .shown = "path=Path,worker=Replica,format=Format,unparsed=Unparsed,reasons=Reasons,refs=Records",
     .text = "What these files say of replicas is missing above: a verdict could be another with them."},
    {.id = "coverage",
     .title = "What the logs of each worker span",
     .query = "report_coverage",
     .shown = "worker=Worker,role=Role,page_log=Page log,first_at=First record,last_at=Last record,seen_s=Seconds seen,"
	      "window_s=Seconds of the window,responses=Responses,gaps=Gaps",
     .text = "Within a span, see the gaps. Logs that nobody collected are not seen here."},
    {.id = "gaps",
     .title = "Gaps",
     .query = "gaps",
     .shown = "kind=Kind,source=Source,worker=Worker,from=From,to=To,missing=Missing,unit=Unit,effect=What this takes "
	      "away,refs=Records",
     .text = "What the logs do not say, and what that takes away."},
    {.id = "evidence",
     .title = "Evidence inventory",
     .query = "sources",
     .shown =
	 "source=No.,path=Path,format=Format,worker=Worker,bytes=Bytes,records=Records,parsed=Parsed,context=Context,"
	 "unparsed=Unparsed,duplicate=Duplicate,status=Status,sha256=SHA-256 of the file",
     .text = "Every file that was read. For each: records = parsed + context + unparsed + duplicate."},
};

/* Is there anything that it could speak of? */
static int says(struct facts *f, bool *ret)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, f->c, "SELECT EXISTS (SELECT 1 FROM deploy(?1, ?2) WHERE current)", f->err);
	if (!rc)
		rc = sql_int(s, 1, f->o->deploy_at_ns, f->err);
	if (!rc)
		rc = sql_int(s, 2, f->o->deploy_age_ns, f->err);
	if (!rc)
		rc = sql_step(s, f->err);
	*ret = rc == 1 && sql_get_int(s, 0);
	return MIN(rc, 0);
}

const struct kind kind_deploy = {
    .name = "deploy",
    .sheet = "deploy.xsl",
    .readers = READERS_OPERATOR,
    .numbers = &deploy_numbers,
    .blanks = blanks,
    .n_blanks = ARRAY_SIZE(blanks),
    .sections = sections,
    .n_sections = ARRAY_SIZE(sections),
    .says = says,
};
