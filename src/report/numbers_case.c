/* SPDX-License-Identifier: Apache-2.0 */
/* numbers_case.c - the numbers of a whole case, and what its evidence takes away */
#include "facts.h"

static const struct number numbers[] = {
    {"population", "responses", NULL, COUNTED},
    {"C1", "responses", "population", FOUND},
    {"C2", "responses", "population", FOUND},
    {"C3", "responses", "population", FOUND},
    {"C4", "responses", "population", COUNTED},
    {"C5", "responses", "population", FOUND},
    {"affected", "responses", "population", FOUND},
    {"affected_at_most", "responses", "population", AT_MOST},
    {"conflicts", "responses", "population", COUNTED},
    {"affected_over_pool", "responses", "affected", FOUND},
    {"affected_boundary", "responses", "affected", FOUND},
    {"affected_cross_tenant", "responses", "affected", FOUND},
    {"affected_same_tenant", "responses", "affected", FOUND},
    {"affected_owner_unknown", "responses", "affected", COUNTED},
    {"affected_tenants", "tenants", NULL, FOUND},
    {"t_known", "responses", "population", COUNTED},
    {"a_known", "responses", "population", COUNTED},
    {"l_known", "responses", "population", COUNTED},
    {"d_known", "responses", "population", COUNTED},
    {"tenant_unknown", "responses", "population", COUNTED},
    {"start_unknown", "responses", "population", COUNTED},
    {"searchable", "responses", "population", COUNTED},
    {"twice", "responses", "population", AT_MOST},
    {"limit_least", "tokens", NULL, COUNTED},
    {"owners", "requests", NULL, COUNTED},
    {"E1", "requests", "owners", FOUND},
    {"E2", "requests", "owners", FOUND},
    {"E3", "requests", "owners", FOUND},
    {"E4", "requests", "owners", COUNTED},
    {"E5", "requests", "owners", FOUND},
    {"exposed_tenants", "tenants", NULL, FOUND},
    {"candidate_tenants", "tenants", NULL, FOUND},
    {"sources", "sources", NULL, COUNTED},
    {"sources_unread", "sources", "sources", COUNTED},
    {"records", "records", NULL, COUNTED},
    {"parsed", "records", "records", COUNTED},
    {"context", "records", "records", COUNTED},
    {"unparsed", "records", "records", COUNTED},
    {"duplicate", "records", "records", COUNTED},
    {"gaps", "gaps", NULL, COUNTED},
    {"interrupted", "paths", NULL, COUNTED},
    {"workers", "workers", NULL, COUNTED},
    {"workers_page_log", "workers", "workers", COUNTED},
    {"clocks", "sources", NULL, COUNTED},
    {"clocks_unbounded", "sources", "clocks", COUNTED},
    {"window_s", "worker-seconds", NULL, COUNTED},
    {"seen_s", "worker-seconds", "window_s", COUNTED},
};

static const char class_sql[] =
    "SELECT total(responses) AS population, total(responses * (class = 'C1')) AS C1, total(responses * (class = 'C2')) "
    "AS C2,"
    " total(responses * (class = 'C3')) AS C3, total(responses * (class = 'C4')) AS C4,"
    " total(responses * (class = 'C5')) AS C5, total(responses * (class IN ('C1', 'C2'))) AS affected,"
    " total(responses * (class <> 'C4')) AS affected_at_most, total(responses * conflict) AS conflicts,"
    " total(responses * (class IN ('C1', 'C2') AND band = 'over_pool')) AS affected_over_pool,"
    " total(responses * (class IN ('C1', 'C2') AND band = 'boundary')) AS affected_boundary,"
    " total(responses * (class IN ('C1', 'C2') AND cross_tenant = 'yes')) AS affected_cross_tenant,"
    " total(responses * (class IN ('C1', 'C2') AND cross_tenant = 'no')) AS affected_same_tenant,"
    " total(responses * (class IN ('C1', 'C2') AND cross_tenant = 'unknown')) AS affected_owner_unknown,"
    " total(responses * (t <> 'unknown')) AS t_known, total(responses * (a <> 'unknown')) AS a_known,"
    " total(responses * (l <> 'unknown')) AS l_known, total(responses * (d <> 'unknown')) AS d_known,"
    " total(starts_unknown) AS start_unknown, min(first_at) AS \"population-first\", max(last_at) AS "
    "\"population-last\","
    " min(CASE WHEN class IN ('C1', 'C2') THEN first_at END) AS \"affected-first\","
    " max(CASE WHEN class IN ('C1', 'C2') THEN last_at END) AS \"affected-last\","
    " min(trigger_stands) AS \"trigger-stands\", min(build_stands) AS \"build-stands\" FROM finding_counts()";

static const char known_sql[] =
    "SELECT total(tenant IS NULL) AS tenant_unknown,"
    " total(input_limit IS NOT NULL AND prompt_tokens IS NOT NULL AND started_at IS NOT NULL AND tenant IS NOT NULL)"
    " AS searchable FROM findings()";

static const char affected_sql[] =
    "SELECT count(DISTINCT f.tenant) AS affected_tenants, min(f.input_limit) AS limit_least,"
    " CASE WHEN count(*) = count(b.started_ns) THEN min(b.started_ns) END AS \"exposed-first\""
    " FROM findings('C1,C2') f LEFT JOIN leg g ON g.leg = f.decode_leg LEFT JOIN boot b ON b.boot = g.boot";

static const char exposed_sql[] =
    "SELECT (SELECT count(*) FROM exposed()) AS owners, (SELECT count(*) FROM exposed()) - count(*) AS E4,"
    " total(class = 'E1') AS E1, total(class = 'E2') AS E2, total(class = 'E3') AS E3, total(class = 'E5') AS E5,"
    " count(DISTINCT CASE WHEN class IN ('E1', 'E2') THEN tenant END) AS exposed_tenants,"
    " count(DISTINCT CASE WHEN class IN ('E3', 'E5') THEN tenant END) AS candidate_tenants FROM exposed() WHERE class "
    "<> 'E4'";

static const char case_sql[] =
    "SELECT (SELECT count(*) FROM source) AS sources,"
    " (SELECT count(*) FROM source WHERE status <> 'ingested') AS sources_unread,"
    " (SELECT total(records) FROM source) AS records, (SELECT total(parsed) FROM source) AS parsed,"
    " (SELECT total(context) FROM source) AS context, (SELECT total(unparsed) FROM source) AS unparsed,"
    " (SELECT total(duplicate) FROM source) AS duplicate, (SELECT count(*) FROM gap) AS gaps,"
    " (SELECT count(*) FROM gap WHERE kind = 'interrupted') AS interrupted,"
    " (SELECT count(*) FROM worker) AS workers, (SELECT total(has_page_log) FROM worker) AS workers_page_log,"
    " (SELECT count(DISTINCT source) FROM clock) AS clocks, (SELECT count(DISTINCT source) FROM clock WHERE bound_ns "
    "IS NULL) AS clocks_unbounded,"
    " (SELECT CAST(value AS INTEGER) FROM case_info WHERE key = 'responses_twice_at_most') AS twice";

static const char window_sql[] =
    "WITH s AS (SELECT min(started_at) / 1000000000 AS a, max(coalesce(finished_at, started_at)) / 1000000000 AS b"
    " FROM findings())"
    "SELECT coalesce(sum(b - a), 0) AS window_s,"
    " coalesce(sum(max(0, min(w.last_ns / 1000000000, b) - max(w.first_ns / 1000000000, a))), 0) AS seen_s"
    " FROM worker w CROSS JOIN s";

const char *const case_statements[N_CASE_STATEMENTS] = {class_sql,   known_sql, affected_sql,
							exposed_sql, case_sql,  window_sql};

static const struct limit limits[] = {
    {"no_page_log", "workers", "workers_page_log", "workers",
     "without a page log: whose content requests there read cannot be seen, owners there are candidates"},
    {"lineage", "population", "l_known", "population", "with an unknown lineage (L)"},
    {"trigger", "population", "t_known", "population", "with an unknown trigger (T)"},
    {"build", "population", "a_known", "population", "with an unknown build or mode (A)"},
    {"delivery", "population", "d_known", "population", "with an unknown delivery (D)"},
    {"tenant", "tenant_unknown", NULL, "population", "without a tenant's name"},
    {"start", "start_unknown", NULL, "population", "without a known start, and in no day of the figures"},
    {"twice", "twice", NULL, "population",
     "at most may be counted twice: no id joins what gateways and engines say of them"},
    {"unread", "sources_unread", NULL, "sources",
     "could not be read to their end or recognised: nothing rests on them"},
    {"interrupted", "interrupted", NULL, NULL,
     "whose reading was stopped: files below them are not in the case, and nothing speaks for those"},
    {"unparsed", "unparsed", NULL, "records", "not understood: kept, and can be searched"},
    {"gaps", "gaps", NULL, NULL, "known in sequences, sources and clocks"},
    {"clocks", "clocks_unbounded", NULL, "clocks", "without a bound on how wrong the clock may be"},
};

const struct number_set case_numbers = {.numbers = numbers,
					.n_numbers = ARRAY_SIZE(numbers),
					.statements = case_statements,
					.n_statements = N_CASE_STATEMENTS,
					.limits = limits,
					.n_limits = ARRAY_SIZE(limits)};
