/* SPDX-License-Identifier: Apache-2.0 */
/* numbers_tenant.c - the numbers of one tenant: its own responses and requests, and how well they are known
 *
 * Of others there is a band alone, and only where it takes certainty away: what names no tenant may be this one's.
 */
#include "facts.h"

static const struct number numbers[] = {
    {"population", "responses", NULL, COUNTED},
    {"C1", "responses", "population", FOUND | PART},
    {"C2", "responses", "population", FOUND | PART},
    {"C3", "responses", "population", FOUND | PART},
    {"C4", "responses", "population", PART},
    {"C5", "responses", "population", FOUND | PART},
    {"own_content", "responses", "population", COUNTED},
    {"t_known", "responses", "population", COUNTED},
    {"a_known", "responses", "population", COUNTED},
    {"l_known", "responses", "population", COUNTED},
    {"d_known", "responses", "population", COUNTED},
    {"start_unknown", "responses", "population", COUNTED},
    {"legs_known", "responses", "population", COUNTED},
    {"page_logged", "responses", "population", COUNTED},
    {"owners", "requests", NULL, COUNTED},
    {"E1", "requests", "owners", FOUND | PART},
    {"E2", "requests", "owners", FOUND | PART},
    {"E3", "requests", "owners", FOUND | PART},
    {"E4", "requests", "owners", PART},
    {"E5", "requests", "owners", FOUND | PART},
    {"unnamed_responses", "responses", NULL, BANDED},
    {"unnamed_requests", "requests", NULL, BANDED},
    {"gaps", "gaps", NULL, HIDDEN},
};

static const char class_sql[] =
    "SELECT total(responses) AS population, total(responses * (class = 'C1')) AS C1, total(responses * (class = 'C2')) "
    "AS C2,"
    " total(responses * (class = 'C3')) AS C3, total(responses * (class = 'C4')) AS C4,"
    " total(responses * (class = 'C5')) AS C5,"
    " total(responses * (class IN ('C1', 'C2') AND cross_tenant = 'no')) AS own_content,"
    " total(responses * (t <> 'unknown')) AS t_known, total(responses * (a <> 'unknown')) AS a_known,"
    " total(responses * (l <> 'unknown')) AS l_known, total(responses * (d <> 'unknown')) AS d_known,"
    " total(starts_unknown) AS start_unknown, min(first_at) AS \"population-first\", max(last_at) AS "
    "\"population-last\","
    " min(CASE WHEN class IN ('C1', 'C2') THEN first_at END) AS \"affected-first\","
    " max(CASE WHEN class IN ('C1', 'C2') THEN last_at END) AS \"affected-last\","
    " min(trigger_stands) AS \"trigger-stands\", min(build_stands) AS \"build-stands\" FROM finding_counts(:tenant)";

static const char legs_sql[] =
    "SELECT total(prefill_worker IS NOT NULL OR decode_worker IN (SELECT name FROM worker WHERE role = 'unified'))"
    " AS legs_known,"
    " total(decode_worker IN (SELECT name FROM worker WHERE has_page_log) AND"
    " (prefill_worker IS NULL OR prefill_worker IN (SELECT name FROM worker WHERE has_page_log))) AS page_logged"
    " FROM findings() WHERE tenant = :tenant AND decode_worker IS NOT NULL";

static const char exposed_sql[] =
    "WITH everyone AS MATERIALIZED (SELECT count(*) AS n FROM exposed() WHERE tenant = :tenant)"
    "SELECT (SELECT n FROM everyone) AS owners, (SELECT n FROM everyone) - count(*) AS E4, total(class = 'E1') AS E1,"
    " total(class = 'E2') AS E2, total(class = 'E3') AS E3, total(class = 'E5') AS E5 FROM exposed()"
    " WHERE class <> 'E4' AND tenant = :tenant";

static const char unnamed_sql[] =
    "SELECT (SELECT count(*) FROM findings('C1,C2,C3,C5') WHERE tenant IS NULL) AS unnamed_responses,"
    " (SELECT count(*) FROM exposed() WHERE class <> 'E4' AND tenant IS NULL) AS unnamed_requests,"
    " (SELECT count(*) FROM gap) AS gaps";

static const char *const statements[] = {class_sql, legs_sql, exposed_sql, unnamed_sql};

static const struct limit limits[] = {
    {"unnamed_responses", "unnamed_responses", NULL, NULL,
     "of the service, not excluded and without a customer's name: whether one of them is yours is not known"},
    {"unnamed_requests", "unnamed_requests", NULL, NULL,
     "of the service that may have been read, without a customer's name: whether one of them is yours is not known"},
    {"lineage", "population", "l_known", "population", "with an unknown lineage: whose content was read is not logged"},
    {"trigger", "population", "t_known", "population", "with an unknown trigger"},
    {"build", "population", "a_known", "population", "with an unknown build or mode of the service"},
    {"delivery", "population", "d_known", "population", "with an unknown delivery"},
    {"legs", "population", "legs_known", "population", "went through the service by a way that the logs hold in part"},
    {"page_log", "population", "page_logged", "population",
     "served where no page log was kept: who read the content is then not logged"},
    {"start", "start_unknown", NULL, "population", "without a known start"},
};

const struct number_set tenant_numbers = {numbers, ARRAY_SIZE(numbers), statements, ARRAY_SIZE(statements),
					  limits,  ARRAY_SIZE(limits)};
