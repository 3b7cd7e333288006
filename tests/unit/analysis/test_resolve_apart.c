/* SPDX-License-Identifier: Apache-2.0 */
/* test_resolve_apart.c - requests that no id joins: how many of the responses may be counted twice, and what the gap of each log says. */
#include "resolve_fixture.h"

static void gateway(int64_t source, int i, double from, const char *more)
{
	char line[256];
	snprintf(line, sizeof(line), "what=access gateway_id=g%d status=200 started_ns=%g finished_ns=%g %s", i, from,
		 from + 20, more);
	put(source, EVENT_GATEWAY, from + 20, line);
}

static void engine(int64_t source, const char *rid, int i, double from, const char *more)
{
	char line[256];
	snprintf(line, sizeof(line),
		 "what=finished rid=%s%d role=decode input_tokens=%d started_ns=%g finished_ns=%g %s", rid, i, 500 + i,
		 from + 1, from + 10, more);
	put(source, EVENT_LEG, from + 10, line);
}

#define TWICE  "SELECT value FROM case_info WHERE key = 'responses_twice_at_most'"
#define APART  "SELECT source, missing FROM gap WHERE kind = 'unattached' ORDER BY source"
#define ANSWER "SELECT count(*) FROM response"

/* Three of a gateway, two of an engine: at most two of five are counted twice. */
static void test_apart(void **state)
{
	(void)state;
	int64_t g = source("gw.log", NULL, NULL), d = source("d.log", "d", NULL);
	for (int i = 0; i < 3; i++)
		gateway(g, i, i * 10, "");
	for (int i = 0; i < 2; i++)
		engine(d, "b", i, i * 10, "");
	resolve();
	assert_string_equal(rows(ANSWER), "5;");
	assert_string_equal(rows(TWICE), "2;");
	assert_string_equal(rows(APART), "1|3;");
}

/* Hours apart, or the room known on both sides. */
static void test_cannot_be_one(void **state)
{
	(void)state;
	int64_t g = source("gw.log", NULL, NULL), d = source("d.log", "d", NULL);
	gateway(g, 0, 0, "");
	engine(d, "b", 0, 7200, "");
	gateway(g, 1, 20000, "room=5");
	engine(d, "b", 1, 20000, "room=6");
	resolve();
	assert_string_equal(rows(ANSWER), "4;");
	assert_string_equal(rows(TWICE), "0;");
	assert_string_equal(rows(APART), "");
}

/* A gateway's log that ends early was what joined the router with the engine. What it leaves may be one of each. */
static void test_bridge_ends(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) { /* logs of no gateway, in whatever formats */
		char path[32], format[32];
		snprintf(path, sizeof(path), "a%d.log", i);
		snprintf(format, sizeof(format), "format = 'cri+f%d'", i);
		(void)source(path, NULL, format);
	}
	int64_t g = source("gw.jsonl", NULL, NULL), router = source("router.log", NULL, "format = 'router'"),
		d = source("d.log", "d", NULL);
	for (int i = 0; i < 10; i++) {
		char id[64], line[128];
		snprintf(id, sizeof(id), "gateway_id=g%d response_id=b%d", i, i);
		if (i < 5)
			gateway(g, i, i * 10, id);
		snprintf(line, sizeof(line), "what=finished gateway_id=g%d status=200 started_ns=%d finished_ns=%d", i,
			 i * 10 + 1, i * 10 + 4);
		put(router, EVENT_GATEWAY, i * 10 + 4, line);
		engine(d, "b", i, i * 10, "");
	}
	resolve();
	assert_string_equal(rows(ANSWER), "15;");
	assert_string_equal(rows(TWICE), "5;");
}

/* Two gateways write one id, one of them with the prefix of the call: one response each, found by either. */
static void test_prefixes(void **state)
{
	(void)state;
	int64_t g = source("gw.jsonl", NULL, NULL), n = source("nginx.log", NULL, "format = 'nginx'");
	for (int i = 0; i < 5; i++) {
		char line[128];
		snprintf(line, sizeof(line),
			 "what=access gateway_id=chatcmpl-n%d status=200 started_ns=%d finished_ns=%d", i, i, i + 20);
		put(g, EVENT_GATEWAY, i + 20, line);
		snprintf(line, sizeof(line), "what=access gateway_id=n%d status=200 started_ns=%d finished_ns=%d", i, i,
			 i + 20);
		put(n, EVENT_GATEWAY, i + 20, line);
	}
	resolve();
	assert_string_equal(rows(ANSWER), "5;");
	assert_string_equal(rows(TWICE), "0;");
}

/* One worker calls its requests by the router's ids, the other does not: what the first joins says nothing of the second. */
static void test_one_worker_vouches(void **state)
{
	(void)state;
	int64_t router = source("router.log", NULL, NULL), u = source("u.log", "u", NULL),
		d = source("d.log", "d", NULL);
	for (int i = 0; i < 10; i++) {
		gateway(router, i, i * 10, "");
		engine(i < 5 ? u : d, i < 5 ? "g" : "b", i, i * 10, "");
	}
	resolve();
	assert_string_equal(rows(ANSWER), "15;");
	assert_string_equal(rows(TWICE), "5;");
}

/* Two gateways in a row whose clocks differ: rooms, which nobody chooses, are one. An id alone may be used again. */
static void test_clocks_apart(void **state)
{
	for (int room = 0; room < 2; room++) {
		if (room) {
			assert_int_equal(fixture_teardown(state), 0);
			assert_int_equal(fixture_setup(state), 0);
		}
		int64_t g = source("gw.jsonl", NULL, NULL), edge = source("edge.jsonl", NULL, NULL);
		for (int i = 0; i < 3; i++) {
			char more[32] = "";
			if (room)
				snprintf(more, sizeof(more), "room=77%d", i);
			gateway(g, i, i * 100, more);
			gateway(edge, i, i * 100 + 60, more);
		}
		resolve();
		assert_string_equal(rows(ANSWER), room ? "3;" : "6;");
	}
}

/* Where ids join a gateway with a worker, what they leave is two requests; on a worker that they never join it may be one. */
static void test_beside_ids(void **state)
{
	for (int other = 0; other < 2; other++) {
		if (other) {
			assert_int_equal(fixture_teardown(state), 0);
			assert_int_equal(fixture_setup(state), 0);
		}
		int64_t g = source("gw.log", NULL, NULL), d = source("d.log", "d", NULL),
			e = source("e.log", "e", NULL);
		for (int i = 0; i < 10; i++) {
			char id[32];
			snprintf(id, sizeof(id), "response_id=b%d", i);
			gateway(g, i, i * 10, id);
			engine(i < 9 ? d : other ? e : d, i < 9 ? "b" : "c", i, i * 10, "");
		}
		resolve();
		assert_string_equal(rows(ANSWER), "11;");
		assert_string_equal(rows(TWICE), other ? "1;" : "0;");
		assert_string_equal(rows(APART), other ? "1|1;" : "");
	}
}

/* Ids join what has them; what has none may be one with what they left. */
static void test_some_without_ids(void **state)
{
	(void)state;
	int64_t g = source("gw.log", NULL, NULL), d = source("d.log", "d", NULL);
	for (int i = 0; i < 10; i++) {
		char id[32];
		snprintf(id, sizeof(id), i < 5 ? "response_id=b%d" : "model=m", i);
		gateway(g, i, i * 10, id);
		engine(d, "b", i, i * 10, "");
	}
	resolve();
	assert_string_equal(rows(ANSWER), "15;");
	assert_string_equal(rows(TWICE), "5;");
	assert_string_equal(rows(APART), "1|5;");
}

/* Two logs of one format are two gateways side by side; logs of two formats may be one behind the other. */
static void test_two_gateways(void **state)
{
	for (int format = 0; format < 2; format++) {
		if (format) {
			assert_int_equal(fixture_teardown(state), 0);
			assert_int_equal(fixture_setup(state), 0);
		}
		int64_t a = source("a.log", NULL, NULL), b = source("b.log", NULL, format ? "format = 'other'" : NULL);
		for (int i = 0; i < 4; i++)
			gateway(i % 2 ? a : b, i, i, "");
		resolve();
		assert_string_equal(rows(ANSWER), "4;");
		assert_string_equal(rows(TWICE), format ? "2;" : "0;");
		assert_string_equal(rows(APART), format ? "1|2;2|2;" : "");
	}
}

/* The one that it may be stands behind more than are looked at. */
static void test_crowd(void **state)
{
	(void)state;
	int64_t g = source("gw.log", NULL, NULL), d = source("d.log", "d", NULL);
	engine(d, "b", 0, 0, "");
	for (int i = 1; i < 300; i++) {
		char room[32];
		snprintf(room, sizeof(room), "room=%d", i);
		engine(d, "b", i, 1, room);
	}
	gateway(g, 0, 0, "room=1000");
	gateway(g, 1, 90000, "room=1001");
	resolve();
	assert_string_equal(rows(TWICE), "1;");
	assert_string_equal(rows(APART), "1|1;");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    CASE(test_apart),      CASE(test_cannot_be_one),      CASE(test_bridge_ends),
	    CASE(test_prefixes),   CASE(test_one_worker_vouches), CASE(test_clocks_apart),
	    CASE(test_beside_ids), CASE(test_some_without_ids),   CASE(test_two_gateways),
	    CASE(test_crowd),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
