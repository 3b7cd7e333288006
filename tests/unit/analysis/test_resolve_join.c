/* SPDX-License-Identifier: Apache-2.0 */
/* test_resolve_join.c - ids that come again, gateways that share no id with the engine, pages that are freed late */
#include "resolve_fixture.h"

static const char *const lives_query =
    "SELECT r.name, status, delivered, r.conflict FROM request r JOIN response USING(request) ORDER BY request";

/* The first use is never closed: its client went away. Later ends belong to the beginnings that they reckon. */
static void test_open_start(void **state)
{
	(void)state;
	int64_t g = source("router.log", NULL, NULL);
	put(g, EVENT_GATEWAY, 0, "what=started gateway_id=x started_ns=0");
	put(g, EVENT_GATEWAY, 3600, "what=started gateway_id=x started_ns=3600");
	put(g, EVENT_GATEWAY, 3602, "what=finished gateway_id=x status=200 started_ns=3600.4");
	put(g, EVENT_GATEWAY, 7200, "what=started gateway_id=x started_ns=7200");
	put(g, EVENT_GATEWAY, 7201, "what=decode_error gateway_id=x status=500");
	put(g, EVENT_GATEWAY, 7203, "what=finished gateway_id=x status=500 started_ns=7200.9");
	resolve();
	assert_string_equal(rows(lives_query), "x|-|unknown|-;x#2|200|unknown|-;x#3|500|no|-;");
}

/* The edge in front knows that the first one was left; both sources pair up whichever is read first. */
static void test_open_start_and_edge(void **state)
{
	for (int swap = 0; swap < 2; swap++) {
		if (swap) {
			assert_int_equal(fixture_teardown(state), 0);
			assert_int_equal(fixture_setup(state), 0);
		}
		int64_t a = source(swap ? "b" : "a", NULL, NULL), b = source(swap ? "a" : "b", NULL, NULL);
		put(a, EVENT_GATEWAY, 0, "what=started gateway_id=x started_ns=0");
		put(a, EVENT_GATEWAY, 60, "what=started gateway_id=x started_ns=60");
		put(a, EVENT_GATEWAY, 61, "what=finished gateway_id=x status=200 started_ns=60.1");
		put(b, EVENT_GATEWAY, 5,
		    "what=access gateway_id=x status=499 bytes_sent=0 started_ns=0.2 finished_ns=5");
		put(b, EVENT_GATEWAY, 70,
		    "what=access gateway_id=x status=200 bytes_sent=9 started_ns=60.2 finished_ns=70");
		resolve();
		assert_string_equal(rows(lives_query), "x|499|no|-;x#2|200|yes|-;");
	}
}

/* Without a duration the newest open one is closed, and an error after a stream's head stays with its stream. */
static void test_open_start_without_duration(void **state)
{
	(void)state;
	int64_t g = source("router.log", NULL, NULL);
	put(g, EVENT_GATEWAY, 0, "what=started gateway_id=x");
	put(g, EVENT_GATEWAY, 100, "what=started gateway_id=y");
	put(g, EVENT_GATEWAY, 101, "what=finished gateway_id=y status=200 started_ns=100");
	put(g, EVENT_GATEWAY, 160, "what=error gateway_id=y");
	put(g, EVENT_GATEWAY, 3600, "what=started gateway_id=x");
	put(g, EVENT_GATEWAY, 3602, "what=finished gateway_id=x status=200 bytes_sent=4");
	resolve();
	assert_string_equal(rows("SELECT r.name, status, " SECONDS("r.last_ns") " FROM request r JOIN response "
										"USING(request) ORDER BY request"),
			    "x|-|0;y|200|160;x#2|200|3602;");
}

/* One id twice at a time, both with durations: each end finds its own beginning, and both say so. */
static void test_overlapping_starts(void **state)
{
	(void)state;
	int64_t g = source("router.log", NULL, NULL);
	put(g, EVENT_GATEWAY, 0, "what=started gateway_id=x");
	put(g, EVENT_GATEWAY, 10, "what=started gateway_id=x");
	put(g, EVENT_GATEWAY, 20, "what=finished gateway_id=x status=200 bytes_sent=1 started_ns=0.3");
	put(g, EVENT_GATEWAY, 30, "what=finished gateway_id=x status=400 started_ns=10.3");
	resolve();
	assert_string_equal(rows("SELECT r.name, status, r.conflict IS NOT NULL FROM request r JOIN response "
				 "USING(request) ORDER BY request"),
			    "x|200|1;x#2|400|1;");
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
	    CASE(test_open_start),
	    CASE(test_open_start_and_edge),
	    CASE(test_open_start_without_duration),
	    CASE(test_overlapping_starts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
