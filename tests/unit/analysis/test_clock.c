/* SPDX-License-Identifier: Apache-2.0 */
/* test_clock.c - zones fitted from anchors */
#include "resolve_fixture.h"

#define H 3600
#define CLOCKS                                                                                                      \
	"SELECT path, offset_ns / 1000000000, basis LIKE '%fitted%' FROM clock JOIN source USING(source) ORDER BY " \
	"path"

/* Epoch times in the record beside a naive stamp: UTC+8. */
static void test_inside_record(void **state)
{
	(void)state;
	int64_t s = source("d.log", "d", NULL), b = source("d.log.1", "d", NULL);
	put(s, EVENT_LEG, 8 * H + 60,
	    "naive what=finished rid=a role=decode started_ns=10 finished_ns=59.7 input_tokens=5");
	put(s, EVENT_LEG, 8 * H + 90,
	    "naive what=finished rid=b role=decode started_ns=70 finished_ns=89.9 input_tokens=5");
	put(s, EVENT_BOOT, 8 * H, "naive what=pool engine=sglang pool_tokens=600");
	put(b, EVENT_LOAD, 8 * H - 900, "naive what=decode");
	resolve();
	assert_string_equal(rows(CLOCKS), "d.log|28800|1;d.log.1|28800|1;");
	assert_string_equal(rows("SELECT " SECONDS("started_ns") ", boot FROM leg ORDER BY leg"), "10|2;70|2;");
	assert_string_equal(rows("SELECT " SECONDS("started_ns") ", " SECONDS("ended_ns") " FROM boot ORDER BY boot"),
			    "-|0;0|-;");
}

/* Only the beginning is an epoch time: the offset is the zone plus the leg's duration. */
static void test_start_only(void **state)
{
	(void)state;
	int64_t s = source("d.log", "d", NULL);
	put(s, EVENT_LEG, 3 * H + 2000, "naive what=finished rid=a role=decode started_ns=0 input_tokens=5");
	put(s, EVENT_LEG, 3 * H + 2020, "naive what=finished rid=b role=decode started_ns=2000 input_tokens=5");
	resolve();
	assert_string_equal(rows(CLOCKS), "d.log|10800|1;");
}

static void test_half_hour_zone(void **state)
{
	(void)state;
	int64_t s = source("d.log", "d", NULL);
	put(s, EVENT_LEG, 5 * H + 1800 + 60, "naive what=finished rid=a role=decode finished_ns=59.5");
	resolve();
	assert_string_equal(rows(CLOCKS), "d.log|19800|1;");
}

/* A time that was computed from the naive stamp proves nothing, and moves with it. */
static void test_computed_times(void **state)
{
	(void)state;
	int64_t s = source("d.log", "d", NULL), g = source("gw.log", NULL, NULL);
	put(s, EVENT_LEG, 5, "naive what=finished rid=a role=unified finished_ns=5 started_ns=2");
	put(g, EVENT_GATEWAY, 7, "naive what=access gateway_id=q finished_ns=7 started_ns=5");
	resolve();
	assert_string_equal(rows(CLOCKS), "d.log|0|0;gw.log|0|0;");
	assert_string_equal(rows("SELECT DISTINCT basis FROM clock"), "assumed UTC;");
}

static void test_across_sources(void **state)
{
	(void)state;
	int64_t p = source("p.log", "p", NULL), d = source("d.log", "d", NULL),
		pages = source("pages.jsonl", NULL, NULL);
	put(p, EVENT_LEG, 10, "naive what=failed rid=a room=77 role=prefill");
	put(d, EVENT_LEG, 8 * H + 12, "naive what=failed rid=b room=77 role=decode");
	put(pages, EVENT_PAGE, 9, "op=alloc worker=x seq=0 rid=zz room=77");
	resolve();
	assert_string_equal(rows(CLOCKS), "d.log|28800|1;p.log|0|1;pages.jsonl|0|0;");
	assert_string_equal(
	    rows("SELECT count(DISTINCT request), max(started_ns) - min(started_ns) < 5000000000 FROM leg"), "1|1;");
}

static void test_health_check(void **state)
{
	(void)state;
	int64_t s = source("p.log", "p", NULL);
	put(s, EVENT_LEG, 8 * H + 1, "naive what=received rid=HEALTH_CHECK_1788000000.68 role=unified");
	put(s, EVENT_LEG, 8 * H + 9, "naive what=received rid=q role=unified");
	resolve();
	assert_string_equal(rows(CLOCKS), "p.log|28800|1;");
	assert_string_equal(rows("SELECT name, " SECONDS("first_ns") " FROM request"), "q|9;");
}

static void test_given_zone_stays(void **state)
{
	(void)state;
	int64_t s = source("d.log", "d", "tz = '+07:00', tz_basis = 'option'");
	put(s, EVENT_LEG, 1 * H + 60, "naive what=finished rid=a role=decode finished_ns=60.2");
	resolve();
	assert_string_equal(rows("SELECT offset_ns, basis FROM clock"), "0|zone +07:00 given (option);");
	assert_string_equal(rows("SELECT kind, json_array_length(refs) FROM gap"), "clock|1;");
}

static void test_daylight_saving(void **state)
{
	(void)state;
	int64_t s = source("d.log", "d", NULL);
	for (int i = 0; i < 6; i++) {
		char line[128];
		snprintf(line, sizeof(line), "naive what=finished rid=r%d role=decode finished_ns=%d.3", i, i * 1000);
		put(s, EVENT_LEG, (i < 4 ? 2 : 1) * H + i * 1000, line);
	}
	resolve();
	assert_string_equal(rows(CLOCKS), "d.log|7200|1;");
	assert_string_equal(rows("SELECT kind FROM gap"), "clock;");
}

static void test_zoned(void **state)
{
	(void)state;
	int64_t s = source("d.log", "d", NULL);
	put(s, EVENT_LEG, 1, "what=finished rid=a role=decode");
	resolve();
	assert_string_equal(rows("SELECT offset_ns, bound_ns, basis FROM clock"), "0|0|stamps carry their zone;");
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
	    CASE(test_inside_record),    CASE(test_start_only),      CASE(test_half_hour_zone),
	    CASE(test_computed_times),   CASE(test_across_sources),  CASE(test_health_check),
	    CASE(test_given_zone_stays), CASE(test_daylight_saving), CASE(test_zoned),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
