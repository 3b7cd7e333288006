/* SPDX-License-Identifier: Apache-2.0 */
/* test_instants.c - a record has one time, whoever asks for it: the columns at_ns, the legs, and nobody computes his own */
#include "../analysis/resolve_fixture.h"

static const char *const qualities[] = {"", "naive ", "yearless ", "between ", "monotonic "};

/* Events of every kind, with stamps of every quality, where the clock changes and where it does not. */
static void test_columns(void **state)
{
	static const char *const plain[EVENT_KINDS] = {
	    [EVENT_BOOT] = "what=args",    [EVENT_LEG] = "what=batch",     [EVENT_GATEWAY] = "what=access",
	    [EVENT_PAGE] = "op=write",     [EVENT_LOAD] = "used_tokens=1", [EVENT_CACHE] = "what=stored",
	    [EVENT_INSTALL] = "what=image"};
	(void)state;
	int64_t s = source("w.log", "w", NULL), other = source("other.log", "o", NULL);
	for (int kind = 0; kind < EVENT_KINDS; kind++)
		for (size_t q = 0; q < ARRAY_SIZE(qualities); q++) {
			char spec[64];
			snprintf(spec, sizeof(spec), "%s%s", qualities[q], plain[kind]);
			next_off[s] = next_off[other] = q * 100;
			put(s, (enum event_kind)kind, 10000, spec);
			next_off[s] = 1000 + q * 100;
			put(s, (enum event_kind)kind, 10000, spec);
			put(other, (enum event_kind)kind, 10000, spec);
		}
	flush();
	run("INSERT INTO clock(source, from_off, offset_ns, skew_ns, between_ns, basis) VALUES(1, 0, 7200000000000, "
	    "30000000000, 5000000000, ''), (1, 1000, 3600000000000, -20000000000, 0, '')");
	for (int kind = 0; kind < EVENT_KINDS; kind++) {
		char sql[400];
		snprintf(sql, sizeof(sql),
			 "SELECT source, " SECONDS(
			     "at_ns") ", skew_ns / 1000000000 FROM %s_events ORDER BY source, byte_off",
			 event_kinds[kind].name);
		assert_string_equal(rows(sql), "1|9970|30;1|2800|30;1|2800|30;1|9995|30;1|-|30;"
					       "1|10020|-20;1|6400|-20;1|6400|-20;1|10000|-20;1|-|-20;"
					       "2|10000|0;2|10000|0;2|10000|0;2|10000|0;2|-|0;");
		/* they are there for who names them */
		snprintf(sql, sizeof(sql),
			 "SELECT count(*) FROM pragma_table_info('%s_events') WHERE name IN ('at_ns', 'skew_ns')",
			 event_kinds[kind].name);
		assert_string_equal(rows(sql), "0;");
	}
}

/* What the tables of requests say, made before there is a table `clock`, is what the columns say. */
static void test_legs(void **state)
{
	(void)state;
	for (int mostly_naive = 0; mostly_naive < 2; mostly_naive++) {
		int64_t s = source(mostly_naive ? "naive.log" : "zoned.log", mostly_naive ? "n" : "z", NULL);
		char spec[96];
		for (int i = 0; i < 8; i++) { /* two hours ahead, which these show */
			snprintf(spec, sizeof(spec), "naive what=finished rid=anchor-%d-%d finished_ns=%d",
				 mostly_naive, i, i);
			put(s, EVENT_LEG, 7200 + i, spec);
		}
		for (int i = 0; i < (mostly_naive ? 2 : 20); i++) {
			snprintf(spec, sizeof(spec), "what=finished rid=zoned-%d-%d", mostly_naive, i);
			put(s, EVENT_LEG, 20 + i, spec);
		}
		for (size_t q = 0; q < ARRAY_SIZE(qualities); q++) {
			snprintf(spec, sizeof(spec), "%swhat=finished rid=quality-%d-%zu", qualities[q], mostly_naive,
				 q);
			put(s, EVENT_LEG, 7300, spec);
		}
	}
	resolve();
	const char *sql = "SELECT e.rid, " SECONDS(
	    "e.at_ns") ", e.at_ns IS l.finished_ns FROM leg_events e JOIN alias a ON "
		       "a.value = e.rid JOIN leg l ON l.request = a.request WHERE e.rid LIKE 'quality%' ORDER BY 1";
	assert_string_equal(rows(sql), "quality-0-0|7300|1;quality-0-1|100|1;quality-0-2|100|1;quality-0-3|7300|1;"
				       "quality-0-4|-|1;"
				       "quality-1-0|7300|1;quality-1-1|100|1;quality-1-2|100|1;quality-1-3|100|1;"
				       "quality-1-4|-|1;");
}

/* A query that corrects a stamp by itself would do it another way, some day. */
static void test_nobody_else(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_queries; i++)
		if (strstr(queries[i].sql, "from_off <=") || strstr(queries[i].sql, "ts_ns - coalesce"))
			fail_msg("%s: a stamp is at_ns", queries[i].name);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {CASE(test_columns), CASE(test_legs), CASE(test_nobody_else)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
