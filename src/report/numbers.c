/* SPDX-License-Identifier: Apache-2.0 */
/* numbers.c - the numbers of the document, and the limits that follow from them
 *
 * A number says its unit, how it came about (flag), and of which population it is a part, with its share. While gaps
 * are known, what was counted is "at least": the document says so at the number. Windows are half-open: 'first' is the
 * exact first instant, 'before' the whole second behind the last one.
 */
#include <stdio.h>
#include <string.h>

#include "facts.h"
#include "pagetrail/stamp.h"

struct number {
	const char *id, *unit, *population;
	bool found; /* a finding: with gaps, at least so many */
};
static const struct number numbers[] = {
    {"population", "responses", NULL, false},
    {"C1", "responses", "population", true},
    {"C2", "responses", "population", true},
    {"C3", "responses", "population", true},
    {"C4", "responses", "population", false},
    {"C5", "responses", "population", true},
    {"affected", "responses", "population", true},
    {"affected_at_most", "responses", "population", false},
    {"conflicts", "responses", "population", false},
    {"affected_over_pool", "responses", "affected", true},
    {"affected_boundary", "responses", "affected", true},
    {"affected_cross_tenant", "responses", "affected", true},
    {"affected_same_tenant", "responses", "affected", true},
    {"affected_owner_unknown", "responses", "affected", false},
    {"affected_tenants", "tenants", NULL, true},
    {"t_known", "responses", "population", false},
    {"a_known", "responses", "population", false},
    {"l_known", "responses", "population", false},
    {"d_known", "responses", "population", false},
    {"tenant_unknown", "responses", "population", false},
    {"start_unknown", "responses", "population", false},
    {"searchable", "responses", "population", false},
    {"limit_least", "tokens", NULL, false},
    {"owners", "requests", NULL, false},
    {"E1", "requests", "owners", true},
    {"E2", "requests", "owners", true},
    {"E3", "requests", "owners", true},
    {"E4", "requests", "owners", false},
    {"E5", "requests", "owners", true},
    {"exposed_tenants", "tenants", NULL, true},
    {"candidate_tenants", "tenants", NULL, true},
    {"sources", "sources", NULL, false},
    {"sources_unread", "sources", "sources", false},
    {"records", "records", NULL, false},
    {"parsed", "records", "records", false},
    {"context", "records", "records", false},
    {"unparsed", "records", "records", false},
    {"duplicate", "records", "records", false},
    {"gaps", "gaps", NULL, false},
    {"workers", "workers", NULL, false},
    {"workers_page_log", "workers", "workers", false},
    {"clocks", "sources", NULL, false},
    {"clocks_unbounded", "sources", "clocks", false},
    {"window_s", "worker-seconds", NULL, false},
    {"seen_s", "worker-seconds", "window_s", false},
};

static const char recipient_sql[] =
    "SELECT count(*) AS population, total(class = 'C1') AS C1, total(class = 'C2') AS C2, total(class = 'C3') AS C3,"
    " total(class = 'C4') AS C4, total(class = 'C5') AS C5, total(class IN ('C1', 'C2')) AS affected,"
    " total(class <> 'C4') AS affected_at_most, total(conflict) AS conflicts,"
    " total(class IN ('C1', 'C2') AND band = 'over_pool') AS affected_over_pool,"
    " total(class IN ('C1', 'C2') AND band = 'boundary') AS affected_boundary,"
    " total(class IN ('C1', 'C2') AND cross_tenant = 'yes') AS affected_cross_tenant,"
    " total(class IN ('C1', 'C2') AND cross_tenant = 'no') AS affected_same_tenant,"
    " total(class IN ('C1', 'C2') AND cross_tenant = 'unknown') AS affected_owner_unknown,"
    " count(DISTINCT CASE WHEN class IN ('C1', 'C2') THEN tenant END) AS affected_tenants,"
    " total(t <> 'unknown') AS t_known, total(a <> 'unknown') AS a_known, total(l <> 'unknown') AS l_known,"
    " total(d <> 'unknown') AS d_known, total(tenant IS NULL) AS tenant_unknown,"
    " total(started_at IS NULL) AS start_unknown,"
    " total(tenant IS NOT NULL AND prompt_tokens IS NOT NULL AND f.input_limit IS NOT NULL AND started_at IS NOT NULL)"
    " AS searchable, min(CASE WHEN class IN ('C1', 'C2') THEN f.input_limit END) AS limit_least,"
    " min(CASE WHEN class IN ('C1', 'C2') THEN started_at END) AS \"affected-first\","
    " max(CASE WHEN class IN ('C1', 'C2') THEN started_at END) AS \"affected-last\","
    " CASE WHEN total(class IN ('C1', 'C2')) = total(class IN ('C1', 'C2') AND b.started_ns IS NOT NULL)"
    " THEN min(CASE WHEN class IN ('C1', 'C2') THEN b.started_ns END) END AS \"exposed-first\","
    " min(started_at) AS \"population-first\", max(started_at) AS \"population-last\","
    " min(trigger_stands) AS \"trigger-stands\", min(build_stands) AS \"build-stands\""
    " FROM findings() f LEFT JOIN leg g ON g.leg = f.decode_leg LEFT JOIN boot b ON b.boot = g.boot";

static const char exposed_sql[] =
    "SELECT count(*) AS owners, total(class = 'E1') AS E1, total(class = 'E2') AS E2, total(class = 'E3') AS E3,"
    " total(class = 'E4') AS E4, total(class = 'E5') AS E5,"
    " count(DISTINCT CASE WHEN class IN ('E1', 'E2') THEN tenant END) AS exposed_tenants,"
    " count(DISTINCT CASE WHEN class IN ('E3', 'E5') THEN tenant END) AS candidate_tenants FROM exposed()";

static const char case_sql[] =
    "SELECT (SELECT count(*) FROM source) AS sources,"
    " (SELECT count(*) FROM source WHERE status <> 'ingested') AS sources_unread,"
    " (SELECT total(records) FROM source) AS records, (SELECT total(parsed) FROM source) AS parsed,"
    " (SELECT total(context) FROM source) AS context, (SELECT total(unparsed) FROM source) AS unparsed,"
    " (SELECT total(duplicate) FROM source) AS duplicate, (SELECT count(*) FROM gap) AS gaps,"
    " (SELECT count(*) FROM worker) AS workers, (SELECT total(has_page_log) FROM worker) AS workers_page_log,"
    " (SELECT count(DISTINCT source) FROM clock) AS clocks, (SELECT count(DISTINCT source) FROM clock WHERE bound_ns "
    "IS NULL) AS clocks_unbounded";

static const char window_sql[] =
    "WITH s AS (SELECT min(started_at) / 1000000000 AS a, max(coalesce(finished_at, started_at)) / 1000000000 AS b"
    " FROM findings())"
    "SELECT coalesce(sum(b - a), 0) AS window_s,"
    " coalesce(sum(max(0, min(w.last_ns / 1000000000, b) - max(w.first_ns / 1000000000, a))), 0) AS seen_s"
    " FROM worker w CROSS JOIN s";

enum { N_STATEMENTS = 4, TIMES = 5 };
static const char *const time_names[TIMES] = {"affected-first", "affected-last", "exposed-first", "population-first",
					      "population-last"};

struct counted {
	int64_t value[ARRAY_SIZE(numbers)];
	bool known[ARRAY_SIZE(numbers)];
	int64_t time[TIMES];
	bool trigger, build;
};

static int number_at(const char *id)
{
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (!strcmp(numbers[i].id, id))
			return (int)i;
	return -1;
}

static int64_t value_of(const struct counted *n, const char *id)
{
	return n->value[number_at(id)];
}

/* One statement, one row; its column names are the ids. */
static int count_with(struct facts *f, const char *text, struct counted *n)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = kept_prepare(&s, f, text, f->err);
	if (!rc)
		rc = sql_step(s, f->err);
	if (rc != 1)
		return rc < 0 ? rc : err_set(f->err, ERR_BUG, "no totals");
	for (int i = 0; i < sql_columns(s); i++) {
		const char *name = sql_column_name(s, i);
		int at = number_at(name);
		bool null = sql_type(s, i) == SQL_NULL;
		for (int k = 0; k < TIMES; k++)
			if (!strcmp(name, time_names[k]))
				n->time[k] = sql_get_time(s, i);
		if (at >= 0) {
			n->value[at] = (int64_t)sql_get_real(s, i);
			n->known[at] = !null;
		} else if (!strcmp(name, "trigger-stands")) {
			n->trigger = null || sql_get_int(s, i);
		} else if (!strcmp(name, "build-stands")) {
			n->build = null || sql_get_int(s, i);
		}
	}
	return 0;
}

static int put_share(struct facts *f, xmlNodePtr node, int64_t value, int64_t of)
{
	char tmp[64];
	int rc = put_attr_int(f, node, "of", of);
	if (rc || of <= 0)
		return rc;
	/* rounding never makes something nothing, or a part the whole */
	int64_t parts = (int64_t)(((double)value / (double)of) * 10000.0 + 0.5);
	bool few = value > 0 && parts == 0, most = value < of && parts >= 10000;
	parts = few ? 1 : most ? 9999 : parts;
	snprintf(tmp, sizeof(tmp), "%s%lld.%02lld",
		 few    ? "<"
		 : most ? ">"
			: "",
		 (long long)(parts / 100), (long long)(parts % 100));
	return put_attr(f, node, "percent", text_of(tmp));
}

static int put_number(struct facts *f, xmlNodePtr parent, const struct number *k, const struct counted *n)
{
	int at = number_at(k->id);
	if (!n->known[at])
		return 0;
	bool bound = !strcmp(k->id, "affected_at_most");
	xmlNodePtr node = put_node(f, parent, "number");
	int rc = put_attr(f, node, "id", text_of(k->id));
	if (!rc)
		rc = put_attr_int(f, node, "value", n->value[at]);
	if (!rc)
		rc = put_attr(f, node, "unit", text_of(k->unit));
	if (!rc)
		rc = put_attr(f, node, "flag", bound ? TEXT("upper-bound") : TEXT("counted"));
	if (!rc && k->found && value_of(n, "gaps") > 0)
		rc = put_attr(f, node, "at-least", TEXT("true"));
	if (!rc && k->population) {
		rc = put_attr(f, node, "population", text_of(k->population));
		if (!rc)
			rc = put_share(f, node, n->value[at], value_of(n, k->population));
	}
	return rc;
}

static int64_t second_after(int64_t ns)
{
	if (ns == TIME_UNKNOWN || ns > INT64_MAX - NS_PER_S)
		return ns;
	int64_t s = ns / NS_PER_S - (ns % NS_PER_S < 0);
	return (s + 1) * NS_PER_S;
}

static int put_times(struct facts *f, xmlNodePtr parent, const struct counted *n)
{
	int rc = 0;
	for (int i = 0; !rc && i < TIMES; i++)
		rc = put_time(f, parent, time_names[i], n->time[i]);
	if (!rc)
		rc = put_time(f, parent, "affected-before", second_after(n->time[1]));
	if (!rc)
		rc = put_time(f, parent, "population-before", second_after(n->time[4]));
	if (!rc)
		rc = put_element(f, parent, "trigger-stands", n->trigger ? TEXT("yes") : TEXT("no"));
	return rc ? rc : put_element(f, parent, "build-stands", n->build ? TEXT("yes") : TEXT("no"));
}

/* Each limit is printed, also when its count is 0: silence would say nothing was looked at. */
static int put_limits(struct facts *f, const struct counted *n)
{
	const struct {
		const char *id, *unit, *of, *text;
		int64_t count;
	} limits[] = {
	    {"no_page_log", "workers", "workers",
	     "have no page log: whose content their requests read cannot be seen, owners there are candidates",
	     value_of(n, "workers") - value_of(n, "workers_page_log")},
	    {"lineage", "responses", "population", "have an unknown lineage (L)",
	     value_of(n, "population") - value_of(n, "l_known")},
	    {"trigger", "responses", "population", "have an unknown trigger (T)",
	     value_of(n, "population") - value_of(n, "t_known")},
	    {"build", "responses", "population", "have an unknown build or mode (A)",
	     value_of(n, "population") - value_of(n, "a_known")},
	    {"delivery", "responses", "population", "have an unknown delivery (D)",
	     value_of(n, "population") - value_of(n, "d_known")},
	    {"tenant", "responses", "population", "name no tenant", value_of(n, "tenant_unknown")},
	    {"start", "responses", "population", "have no known start, and stand in no day of the figures",
	     value_of(n, "start_unknown")},
	    {"unread", "sources", "sources", "could not be read to their end or recognised: nothing rests on them",
	     value_of(n, "sources_unread")},
	    {"unparsed", "records", "records", "were not understood: they are kept, and can be searched",
	     value_of(n, "unparsed")},
	    {"gaps", "gaps", NULL, "are known in sequences, sources and clocks", value_of(n, "gaps")},
	    {"clocks", "sources", "clocks", "have no bound on how wrong their clock may be",
	     value_of(n, "clocks_unbounded")},
	};
	xmlNodePtr list = put_node(f, f->root, "limits");
	int rc = 0;
	for (size_t i = 0; !rc && i < ARRAY_SIZE(limits); i++) {
		xmlNodePtr node = put_node(f, list, "limit");
		rc = put_attr(f, node, "id", text_of(limits[i].id));
		if (!rc)
			rc = put_attr_int(f, node, "count", limits[i].count);
		if (!rc && limits[i].of)
			rc = put_attr_int(f, node, "of", value_of(n, limits[i].of));
		if (!rc)
			rc = put_attr(f, node, "unit", text_of(limits[i].unit));
		if (!rc)
			rc = put_text(f, node, text_of(limits[i].text));
	}
	return rc;
}

int put_numbers(struct facts *f)
{
	static const char *const statements[N_STATEMENTS] = {recipient_sql, exposed_sql, case_sql, window_sql};
	struct counted n = {.trigger = true, .build = true};
	int rc = 0;
	for (int i = 0; i < TIMES; i++)
		n.time[i] = TIME_UNKNOWN;
	for (int i = 0; !rc && i < N_STATEMENTS; i++)
		rc = count_with(f, statements[i], &n);
	xmlNodePtr node = put_node(f, f->root, "numbers");
	for (size_t i = 0; !rc && i < ARRAY_SIZE(numbers); i++)
		rc = put_number(f, node, &numbers[i], &n);
	if (!rc)
		rc = put_times(f, node, &n);
	return rc ? rc : put_limits(f, &n);
}
