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

/* Whoever sorts lines puts beginning and end of one second the other way round; the second use of the id is another request. */
static void test_sorted_lines(void **state)
{
	for (int duration = 0; duration < 2; duration++) {
		if (duration) {
			assert_int_equal(fixture_teardown(state), 0);
			assert_int_equal(fixture_setup(state), 0);
		}
		int64_t g = source("router.log", NULL, NULL);
		put(g, EVENT_GATEWAY, 20,
		    duration ? "what=finished gateway_id=x status=200 started_ns=19.8"
			     : "what=finished gateway_id=x status=200");
		put(g, EVENT_GATEWAY, 20, "what=started gateway_id=x");
		put(g, EVENT_GATEWAY, 60, "what=started gateway_id=x");
		put(g, EVENT_GATEWAY, 62, "what=finished gateway_id=x status=400");
		resolve();
		assert_string_equal(
		    rows("SELECT r.name, status FROM request r JOIN response USING(request) ORDER BY request"),
		    "x|200;x#2|400;");
	}
}

/* A collector that delivers a stretch of lines again. */
static void test_delivered_twice(void **state)
{
	(void)state;
	int64_t g = source("router.log", NULL, NULL);
	for (int i = 0; i < 2; i++) {
		put(g, EVENT_GATEWAY, 20, "what=started gateway_id=x");
		put(g, EVENT_GATEWAY, 30, "what=finished gateway_id=x status=200");
	}
	for (int i = 0; i < 2; i++)
		put(g, EVENT_GATEWAY, 40.25, "what=started gateway_id=y");
	put(g, EVENT_GATEWAY, 40.5, "what=finished gateway_id=y status=200");
	resolve();
	assert_string_equal(rows("SELECT r.name, status FROM request r JOIN response USING(request) ORDER BY request"),
			    "x|200;y|200;");
}

static const char *const joined_query =
    "SELECT r.name, p.prompt_tokens, group_concat(l.rid, '+') FROM request r JOIN response p USING(request) "
    "LEFT JOIN leg l USING(request) GROUP BY request ORDER BY request";

/* Two legs of one room, found by the decode leg's length; the other gateway request is of nobody here. */
static void time_and_length(const char *decode_log, const char *rules)
{
	int64_t g = source("gw.jsonl", NULL, NULL), p = source("p.log", "p", NULL), d = source(decode_log, "d", NULL);
	put(g, EVENT_GATEWAY, 30,
	    "what=access gateway_id=g1 tenant=tenant-a model=m status=200 prompt_tokens=700123 completion_tokens=40 "
	    "started_ns=9 finished_ns=30");
	put(g, EVENT_GATEWAY, 40,
	    "what=access gateway_id=g2 status=200 prompt_tokens=512 completion_tokens=9 started_ns=31 finished_ns=40");
	put(p, EVENT_LEG, 10.5,
	    "what=rejected rid=a1 room=77 role=prefill input_tokens=700123 limit_tokens=681274 started_ns=9.5");
	put(p, EVENT_LEG, 10.6, "what=finished rid=a1 room=77 role=prefill input_tokens=1 output_tokens=1");
	put(d, EVENT_LEG, 31.5,
	    "what=finished rid=b1 room=77 role=decode model=m input_tokens=700123 output_tokens=40 started_ns=9.6 "
	    "finished_ns=31.5");
	put(d, EVENT_LEG, 600,
	    "what=finished rid=b2 room=78 role=decode input_tokens=512 output_tokens=9 started_ns=500 finished_ns=600");
	resolve();
	assert_string_equal(rows(joined_query), "g1|700123|a1+b1;g2|512|-;b2|512|b2;");
	assert_string_equal(rows("SELECT value, rule FROM alias WHERE request = 1 ORDER BY kind, value"), rules);
	assert_string_equal(rows("SELECT count(*) FROM gap"), "0;");
}

/* Whichever of both logs comes first: the leg that was found says how. */
static void test_time_and_length(void **state)
{
	time_and_length("d.log", "g1|own;a1|room;b1|time_and_length;77|own;");
	assert_int_equal(fixture_teardown(state), 0);
	assert_int_equal(fixture_setup(state), 0);
	time_and_length("z.log", "g1|own;a1|own;b1|time_and_length;77|own;");
}

/* One length, one time, two of them: nobody is joined, and the gap says how many. Answers of other lengths part them. */
static void test_time_and_length_ambiguous(void **state)
{
	(void)state;
	int64_t g = source("gw.jsonl", NULL, NULL), d = source("d.log", "d", NULL);
	for (int i = 0; i < 4; i++) {
		char line[256];
		int base = i < 2 ? 0 : 100, output = i < 2 ? 9 : i;
		snprintf(line, sizeof(line),
			 "what=access gateway_id=g%d status=200 prompt_tokens=512 completion_tokens=%d started_ns=%d "
			 "finished_ns=%d",
			 i, output, base + i, base + 40);
		put(g, EVENT_GATEWAY, base + 40, line);
		snprintf(line, sizeof(line),
			 "what=finished rid=b%d role=decode input_tokens=512 output_tokens=%d started_ns=%d "
			 "finished_ns=%d",
			 i, output, base + 5, base + 30);
		put(d, EVENT_LEG, base + 30 + i * .1, line);
	}
	resolve();
	assert_string_equal(rows(joined_query), "g0|512|-;g1|512|-;b0|512|b0;b1|512|b1;g2|512|b2;g3|512|b3;");
	assert_string_equal(rows("SELECT kind, missing, json_array_length(refs) FROM gap"), "unattached|2|2;");
}

/* Unique for the gateway's request, but not for the leg; another model; a longer run; a summed batch; an estimate. */
static void test_time_and_length_refused(void **state)
{
	(void)state;
	int64_t g = source("gw.jsonl", NULL, NULL), d = source("d.log", "d", NULL);
	static const char *const pairs[][2] = {
	    {"model=m", "model=other"},
	    {"completion_tokens=5", "output_tokens=6"},
	    {"prompt_tokens_flag=estimate", ""},
	    {"batch=2", ""},
	    {"room=5", "room=6"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		char line[256];
		double at = (double)i * 100;
		snprintf(line, sizeof(line),
			 "what=access gateway_id=g%zu status=200 prompt_tokens=512 started_ns=%g finished_ns=%g %s", i,
			 at, at + 20, pairs[i][0]);
		put(g, EVENT_GATEWAY, at + 20, line);
		snprintf(line, sizeof(line),
			 "what=finished rid=b%zu role=decode input_tokens=512 started_ns=%g finished_ns=%g %s", i,
			 at + 1, at + 10, pairs[i][1]);
		put(d, EVENT_LEG, at + 10, line);
	}
	put(g, EVENT_GATEWAY, 920,
	    "what=access gateway_id=x status=200 prompt_tokens=77 started_ns=900 finished_ns=920");
	put(g, EVENT_GATEWAY, 921,
	    "what=access gateway_id=y status=200 prompt_tokens=77 started_ns=901 finished_ns=921");
	put(d, EVENT_LEG, 910, "what=finished rid=z role=decode input_tokens=77 started_ns=905 finished_ns=910");
	put(g, EVENT_GATEWAY, 999,
	    "what=access gateway_id=l status=200 prompt_tokens=78 started_ns=990 finished_ns=999");
	put(d, EVENT_LEG, 1010, "what=finished rid=l2 role=decode input_tokens=78 started_ns=991 finished_ns=1010");
	resolve();
	assert_string_equal(rows("SELECT count(*) FROM alias WHERE rule = 'time_and_length'"), "0;");
	assert_string_equal(rows("SELECT missing FROM gap WHERE kind = 'unattached'"), "2;6;");
}

/* Where the gateway's ids are the engine's, a request that they do not find is not looked for by length. */
static void test_time_and_length_beside_ids(void **state)
{
	(void)state;
	int64_t g = source("gw.jsonl", NULL, NULL), d = source("d.log", "d", NULL);
	for (int i = 0; i < 3; i++) {
		char line[256];
		snprintf(line, sizeof(line),
			 "what=access gateway_id=g%d response_id=b%d status=200 prompt_tokens=512 started_ns=%d "
			 "finished_ns=%d",
			 i, i, i * 100, i * 100 + 20);
		put(g, EVENT_GATEWAY, i * 100 + 20, line);
		snprintf(line, sizeof(line),
			 "what=finished rid=%s%d role=decode input_tokens=512 started_ns=%d finished_ns=%d",
			 i == 2 ? "c" : "b", i, i * 100 + 1, i * 100 + 10);
		put(d, EVENT_LEG, i * 100 + 10, line);
	}
	resolve();
	assert_string_equal(rows(joined_query), "g0|512|b0;g1|512|b1;g2|512|-;c2|512|c2;");
}

/* A naive engine log whose zone nobody could fit, off by hours: chance fits are not believed. */
static void test_time_and_length_doubtful_zone(void **state)
{
	for (int hours = 0; hours < 2; hours++) {
		if (hours) {
			assert_int_equal(fixture_teardown(state), 0);
			assert_int_equal(fixture_setup(state), 0);
		}
		int64_t g = source("gw.jsonl", NULL, NULL), d = source("d.log", "d", NULL);
		for (int i = 0; i < 12; i++) {
			char line[256];
			/* every fifth length comes again an hour later */
			int length = i % 5 == 0 ? 900 : 1000 + i, at = i * 720;
			snprintf(
			    line, sizeof(line),
			    "what=access gateway_id=g%02d status=200 prompt_tokens=%d started_ns=%d finished_ns=%d", i,
			    length, at, at + 20);
			put(g, EVENT_GATEWAY, at + 20, line);
			snprintf(line, sizeof(line), "naive what=finished rid=b%02d role=decode input_tokens=%d", i,
				 length);
			put(d, EVENT_LEG, at + 10 + hours * 3600, line);
		}
		resolve();
		assert_string_equal(rows("SELECT count(*) FROM alias WHERE rule = 'time_and_length'"),
				    hours ? "0;" : "12;");
		assert_string_equal(rows("SELECT kind, missing FROM gap"), hours ? "clock|2;unattached|10;" : "");
	}
}

/* A cache gives the prefix back days later: that is the same execution. Taking pages again after that is another. */
static void test_late_free(void **state)
{
	(void)state;
	const double day = 86400;
	int64_t u = source("u.log", "u", NULL), p = source("u.pages", "u", NULL);
	put(u, EVENT_LEG, 9, "what=finished rid=r role=unified input_tokens=50 started_ns=1 finished_ns=9");
	put(u, EVENT_LEG, 5 * day + 9,
	    "what=finished rid=r role=unified input_tokens=60 started_ns=432001 finished_ns=432009");
	put(p, EVENT_PAGE, 1, "op=alloc seq=0 rid=r");
	put(p, EVENT_PAGE, 9, "op=free seq=1 rid=r");
	put(p, EVENT_PAGE, 3 * day, "op=free seq=2 rid=r");
	put(p, EVENT_PAGE, 5 * day + 1, "op=share seq=3 rid=r");
	put(p, EVENT_PAGE, 5 * day + 1, "op=alloc seq=4 rid=r");
	put(p, EVENT_PAGE, 5 * day + 9, "op=free seq=5 rid=r");
	put(p, EVENT_PAGE, 9 * day, "op=free seq=6 rid=r");
	put(p, EVENT_PAGE, 9 * day + 1, "op=alloc seq=7 rid=alone");
	put(p, EVENT_PAGE, 12 * day, "op=free seq=8 rid=alone");
	resolve();
	assert_string_equal(rows("SELECT r.name, " SECONDS("first_ns") ", " SECONDS(
				"last_ns") ", count(leg) FROM request r JOIN leg USING(request) GROUP BY request"),
			    "r|1|9|1;r#2|432001|432009|1;alone|777601|777601|1;");
}

/* What an engine says to itself tells its zone and nothing else. */
static void test_health_checks(void **state)
{
	(void)state;
	const double zone = 8 * 3600;
	int64_t d = source("d.log", "d", NULL), e = source("e.log", "e", NULL);
	put(d, EVENT_LEG, zone + 3, "naive what=aborted rid=HEALTH_CHECK_1788000000.68");
	put(d, EVENT_LEG, zone + 128, "naive what=finished rid=HEALTH_CHECK_1788000120.68 input_tokens=1 room=0");
	put(d, EVENT_LEG, zone + 60, "naive what=finished rid=r role=unified input_tokens=5");
	put(e, EVENT_LEG, zone + 3, "naive what=finished role=decode finished_ns=2.8");
	resolve();
	assert_string_equal(rows("SELECT path, offset_ns / 1000000000, bound_ns < 4000000000 FROM clock JOIN source "
				 "USING(source) ORDER BY path"),
			    "d.log|28800|1;e.log|28800|1;");
	assert_string_equal(rows("SELECT name, " SECONDS("first_ns") " FROM request"), "r|60;");
	assert_string_equal(rows("SELECT rid FROM leg"), "r;");
	assert_string_equal(rows("SELECT value FROM alias"), "r;");
	assert_string_equal(rows("SELECT count(*) FROM response"), "1;");
}

/* The trace id of one gateway is the request id of the next; a session's trace joins nobody. */
static void test_trace_is_request(void **state)
{
	(void)state;
	int64_t l = source("llm.jsonl", NULL, NULL), g = source("router.log", NULL, NULL);
	put(l, EVENT_GATEWAY, 5,
	    "what=access gateway_id=m1 trace_id=x tenant=t status=200 bytes_sent=9 started_ns=0 finished_ns=5");
	put(g, EVENT_GATEWAY, 4, "what=access gateway_id=x status=200 room=7 started_ns=1 finished_ns=4");
	/* one trace, two requests at once */
	put(l, EVENT_GATEWAY, 105,
	    "what=access gateway_id=m2 trace_id=y tenant=t status=200 bytes_sent=9 started_ns=100 finished_ns=105");
	put(l, EVENT_GATEWAY, 105,
	    "what=access gateway_id=m3 trace_id=y tenant=t status=200 bytes_sent=9 started_ns=100 finished_ns=105");
	put(g, EVENT_GATEWAY, 104, "what=access gateway_id=y status=200 room=8 started_ns=101 finished_ns=104");
	/* the same id hours later is another request */
	put(l, EVENT_GATEWAY, 205,
	    "what=access gateway_id=m4 trace_id=z tenant=t status=200 bytes_sent=9 started_ns=200 finished_ns=205");
	put(g, EVENT_GATEWAY, 9004, "what=access gateway_id=z status=200 room=9 started_ns=9001 finished_ns=9004");
	resolve();
	assert_string_equal(
	    rows("SELECT name, (SELECT group_concat(kind || ' ' || value || ' ' || rule, ',') FROM "
		 "alias a WHERE a.request = r.request) FROM request r ORDER BY request"),
	    "m1|gateway_id m1 own,trace_id x own,gateway_id x trace_id,room 7 trace_id;"
	    "m2|gateway_id m2 own,trace_id y own;m3|gateway_id m3 own,trace_id y own;"
	    "y|gateway_id y own,room 8 own;m4|gateway_id m4 own,trace_id z own;z|gateway_id z own,room 9 own;");
}

/* Spans: an engine that says only its rid and the trace. A trace of a whole session joins by time, and nobody where several fit. */
static void test_traced_leg(void **state)
{
	(void)state;
	int64_t g = source("gw.jsonl", NULL, NULL), d = source("d.jsonl", "d", NULL);
	put(g, EVENT_GATEWAY, 10, "what=access gateway_id=g1 trace_id=t1 status=200 started_ns=1 finished_ns=10");
	put(g, EVENT_GATEWAY, 60, "what=access gateway_id=g2 trace_id=t1 status=200 started_ns=50 finished_ns=60");
	put(g, EVENT_GATEWAY, 90, "what=access gateway_id=g3 trace_id=t2 status=200 started_ns=80 finished_ns=90");
	put(d, EVENT_LEG, 9,
	    "what=finished rid=a trace_id=t1 input_tokens=700123 output_tokens=4 started_ns=2 finished_ns=9");
	put(d, EVENT_LEG, 59,
	    "what=finished rid=b trace_id=t1 input_tokens=20 output_tokens=4 started_ns=51 finished_ns=59");
	put(d, EVENT_LEG, 84,
	    "what=finished rid=c trace_id=t2 input_tokens=30 output_tokens=4 started_ns=81 finished_ns=84");
	put(d, EVENT_LEG, 88,
	    "what=finished rid=e trace_id=t2 input_tokens=40 output_tokens=4 started_ns=85 finished_ns=88");
	resolve();
	assert_string_equal(rows(joined_query), "g1|700123|a;g2|20|b;g3|-|-;c|30|c;e|40|e;");
	assert_string_equal(rows("SELECT kind, value, rule FROM alias WHERE request = 1 ORDER BY kind, value, rule"),
			    "gateway_id|g1|own;rid|a|trace_id;trace_id|t1|own;");
	assert_string_equal(rows("SELECT name, conflict IS NOT NULL FROM request ORDER BY request"),
			    "g1|0;g2|0;g3|0;c|1;e|1;");
}

/* One file of a collector: two gateways of one request, and the call that the inner one made. One response. */
static void test_layers_in_one_source(void **state)
{
	(void)state;
	int64_t g = source("spans.jsonl", NULL, NULL);
	put(g, EVENT_GATEWAY, 9,
	    "what=call worker=router response_id=chatcmpl-1 trace_id=t1 prompt_tokens=700123 completion_tokens=5 "
	    "started_ns=2 finished_ns=9");
	put(g, EVENT_GATEWAY, 9.5,
	    "what=access worker=router gateway_id=r1 trace_id=t1 status=200 started_ns=1.5 finished_ns=9.5");
	put(g, EVENT_GATEWAY, 10,
	    "what=access worker=edge gateway_id=e1 trace_id=t1 tenant=a status=200 started_ns=1 finished_ns=10");
	put(g, EVENT_GATEWAY, 11,
	    "what=access worker=edge gateway_id=e2 trace_id=t2 tenant=a status=200 started_ns=1 finished_ns=11");
	put(g, EVENT_GATEWAY, 12,
	    "what=access worker=edge gateway_id=e3 trace_id=t2 tenant=a status=200 started_ns=1 finished_ns=12");
	resolve();
	assert_string_equal(
	    rows("SELECT r.name, p.prompt_tokens, p.delivered FROM request r JOIN response p USING(request) "
		 "ORDER BY request"),
	    "e1|700123|yes;e2|-|unknown;e3|-|unknown;");
}

/* The prompts of one call are one response, with and without a gateway; a name that a caller numbers is its own. */
static void test_children(void **state)
{
	(void)state;
	int64_t g = source("gw.jsonl", NULL, NULL), d = source("d.log", "d", NULL);
	put(d, EVENT_LEG, 10,
	    "what=finished rid=cmpl-aa-0 input_tokens=20 output_tokens=4 started_ns=2 finished_ns=10");
	put(d, EVENT_LEG, 11,
	    "what=finished rid=cmpl-aa-1 input_tokens=700123 output_tokens=4 started_ns=2 finished_ns=11");
	put(d, EVENT_LEG, 7200,
	    "what=finished rid=cmpl-aa-1 input_tokens=9 output_tokens=4 started_ns=7100 finished_ns=7200");
	for (int i = 0; i < 2; i++) {
		char line[160];
		snprintf(line, sizeof(line),
			 "what=finished rid=00aa11bb22cc33dd44ee55ff66007788_%d input_tokens=3%d output_tokens=4 "
			 "started_ns=50 "
			 "finished_ns=60",
			 i, i);
		put(d, EVENT_LEG, 60, line);
		snprintf(line, sizeof(line),
			 "what=finished rid=user_%d input_tokens=4%d output_tokens=4 started_ns=70 finished_ns=80", i,
			 i);
		put(d, EVENT_LEG, 80, line);
	}
	put(g, EVENT_GATEWAY, 61,
	    "what=access gateway_id=00aa11bb22cc33dd44ee55ff66007788 status=200 bytes_sent=9 prompt_tokens=61 batch=2 "
	    "started_ns=49 finished_ns=61");
	resolve();
	assert_string_equal(
	    rows("SELECT r.name, (SELECT count(*) FROM response p WHERE p.request = r.request), p.prompt_tokens, "
		 "p.prompt_tokens_flag, (SELECT group_concat(rid, '+') FROM leg l WHERE l.request = r.request), "
		 "attempts FROM "
		 "request r JOIN response p USING(request) ORDER BY r.first_ns, r.name"),
	    "cmpl-aa-0|1|700123|at_least|cmpl-aa-0+cmpl-aa-1|1;00aa11bb22cc33dd44ee55ff66007788|1|31|at_least|"
	    "00aa11bb22cc33dd44ee55ff66007788_0+00aa11bb22cc33dd44ee55ff66007788_1|1;user_0|1|40|exact|user_0|1;"
	    "user_1|1|41|exact|user_1|1;cmpl-aa-1|1|9|exact|cmpl-aa-1|1;");
	assert_string_equal(rows("SELECT value, rule FROM alias WHERE value LIKE 'cmpl%' ORDER BY request, value"),
			    "cmpl-aa-0|own;cmpl-aa-1|child;cmpl-aa-1|own;");
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
	    CASE(test_children),
	    CASE(test_traced_leg),
	    CASE(test_layers_in_one_source),
	    CASE(test_trace_is_request),
	    CASE(test_open_start),
	    CASE(test_open_start_and_edge),
	    CASE(test_open_start_without_duration),
	    CASE(test_overlapping_starts),
	    CASE(test_sorted_lines),
	    CASE(test_delivered_twice),
	    CASE(test_late_free),
	    CASE(test_health_checks),
	    CASE(test_time_and_length),
	    CASE(test_time_and_length_ambiguous),
	    CASE(test_time_and_length_refused),
	    CASE(test_time_and_length_beside_ids),
	    CASE(test_time_and_length_doubtful_zone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
