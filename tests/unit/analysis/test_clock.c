/* SPDX-License-Identifier: Apache-2.0 */
/* test_clock.c - zones fitted from anchors */
#include "resolve_fixture.h"

#define H 3600
#define CLOCKS                                                                                                      \
	"SELECT path, offset_ns / 1000000000, basis LIKE '%fitted%' FROM clock JOIN source USING(source) ORDER BY " \
	"path, from_off"

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
	assert_string_equal(rows(CLOCKS), "d.log|7200|1;d.log|3600|1;");
	assert_string_equal(
	    rows("SELECT from_off, (from_ns - 1788000000000000000) / 1000000000 FROM clock ORDER BY from_off"),
	    "0|-;400|4000;");
	assert_string_equal(rows("SELECT kind, " SECONDS("from_ns") ", " SECONDS("to_ns") " FROM gap"),
			    "clock_step|3000|4000;");
	assert_string_equal(rows("SELECT group_concat((finished_ns - 1788000000000000000) / 1000000000) FROM (SELECT * "
				 "FROM leg ORDER BY leg)"),
			    "0,1000,2000,3000,4000,5000;");
}

/* What stands close before the first anchor of another zone was written by the same clock: the change is where the log was
 * silent longest, or where its stamps fall back. */
static void test_change_before_anchor(void **state)
{
	static const struct {
		int before, after;  /* zones in hours */
		const char *clocks; /* rows, from the record that was written 3 s before the anchor */
	} cases[] = {{1, 2, "0|-|1;500|3997|2;"}, {2, 1, "0|-|2;500|3997|1;"}};
	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(cases); k++) {
		int64_t s = source(k ? "b.log" : "a.log", k ? "b" : "a", NULL);
		for (int i = 0; i < 6; i++) {
			const int zone = (i < 4 ? cases[k].before : cases[k].after) * H;
			char line[128];
			snprintf(line, sizeof(line), "naive what=finished rid=r%zu-%d role=decode finished_ns=%d.3", k,
				 i, i * 1000);
			if (i == 3 || i == 4) {
				char aborted[128];
				snprintf(aborted, sizeof(aborted), "naive what=aborted rid=r%zu-%d role=decode", k, i);
				put(s, EVENT_LEG, zone + i * 1000 - 3, aborted);
			}
			put(s, EVENT_LEG, zone + i * 1000, line);
		}
	}
	resolve();
	for (size_t k = 0; k < ARRAY_SIZE(cases); k++)
		assert_string_equal(rows(k ? "SELECT from_off, (from_ns - 1788000000000000000) / 1000000000, offset_ns "
					     "/ 3600000000000 FROM "
					     "clock WHERE source = 2 ORDER BY from_off"
					   : "SELECT from_off, (from_ns - 1788000000000000000) / 1000000000, offset_ns "
					     "/ 3600000000000 FROM "
					     "clock WHERE source = 1 ORDER BY from_off"),
				    cases[k].clocks);
	assert_string_equal(rows("SELECT count(*) FROM request"), "12;");
}

/* Records of any kind between two anchors show where the zone changed: only where the stamps jump far enough, where they fall
 * back, and rather where a process begins when no summer time is that large. */
static void test_change_among_boots(void **state)
{
	static const struct {
		int before, after; /* zones in hours */
		struct {
			int at; /* in the new zone from `from` on */
			const char *what;
		} between[4];
		int from, clocks_from;
	} cases[] = {
	    {-4, -3, {{3200, "stop"}, {3300, "args"}, {3400, "ready"}, {6500, "leg"}}, 0, 3200},
	    {0, 8, {{36000, "leg"}, {36010, "stop"}, {36100, "args"}, {36200, "ready"}}, 2, 36100},
	    {-3, -4, {{3200, "leg"}, {9000, "stop"}, {9100, "args"}, {9200, "ready"}}, 2, 9100},
	    {2, 1, {{3200, "leg"}, {9000, "leg"}, {9100, "stop"}, {9200, "args"}}, 1, 9000},
	};
	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(cases); k++) {
		char path[16], line[128];
		snprintf(path, sizeof(path), "%zu.log", k);
		int64_t s = source(path, path, NULL);
		for (int i = 0; i < 12; i++) {
			const int n = i - 4; /* of those between four anchors on each side */
			bool anchor = n < 0 || n > 3;
			int at = n < 0 ? i * 1000 : n > 3 ? cases[k].between[3].at + n * 10 : cases[k].between[n].at;
			const char *what = anchor ? "leg" : cases[k].between[n].what;
			if (!strcmp(what, "leg"))
				snprintf(line, sizeof(line), "naive what=%s rid=r%zu-%d role=decode",
					 anchor ? "finished" : "aborted", k, i);
			else
				snprintf(line, sizeof(line), "naive what=%s engine=sglang", what);
			if (anchor)
				snprintf(line + strlen(line), sizeof(line) - strlen(line), " finished_ns=%d.3", at);
			put(s, strcmp(what, "leg") ? EVENT_BOOT : EVENT_LEG,
			    (n < cases[k].from ? cases[k].before : cases[k].after) * H + at, line);
		}
	}
	resolve();
	for (size_t k = 0; k < ARRAY_SIZE(cases); k++) {
		char sql[256], expected[64];
		snprintf(sql, sizeof(sql),
			 "SELECT offset_ns / 3600000000000, (from_ns - 1788000000000000000) / 1000000000 FROM clock "
			 "JOIN source USING(source) WHERE path = '%zu.log' ORDER BY from_off",
			 k);
		snprintf(expected, sizeof(expected), "%d|-;%d|%d;", cases[k].before, cases[k].after,
			 cases[k].clocks_from);
		assert_string_equal(rows(sql), expected);
	}
}

/* A stray in the middle is no change of zone. */
static void test_stray_zone(void **state)
{
	(void)state;
	int64_t s = source("d.log", "d", NULL);
	for (int i = 0; i < 20; i++) {
		char line[128];
		snprintf(line, sizeof(line), "naive what=finished rid=r%d role=decode finished_ns=%d.3", i, i * 1000);
		put(s, EVENT_LEG, (i == 9 ? 1 : 2) * H + i * 1000, line);
	}
	resolve();
	assert_string_equal(rows(CLOCKS), "d.log|7200|1;");
	assert_string_equal(rows("SELECT kind FROM gap"), "");
}

/* ---- what a clock is ahead of the gateway's: request i lasts from i*100 to i*100+took at the gateway */

static void answered(int64_t g, int i, double took, const char *more)
{
	char line[256];
	snprintf(line, sizeof(line),
		 "what=access gateway_id=g%d response_id=r%d status=200 started_ns=%d finished_ns=%.3f %s", i, i,
		 i * 100, i * 100 + took, more);
	put(g, EVENT_GATEWAY, i * 100, line);
}

/* The engine's times of it, `ahead` seconds wrong. */
static void executed(int64_t s, int i, double took, double ahead)
{
	char line[256];
	snprintf(line, sizeof(line),
		 "what=finished rid=r%d role=decode started_ns=%.3f finished_ns=%.3f input_tokens=9", i,
		 i * 100 + 0.01 + ahead, i * 100 + took - 0.01 + ahead);
	put(s, EVENT_LEG, i * 100 + took + ahead, line);
}

#define SKEWS                                                                                                       \
	"SELECT round(skew_ns / 1e9), bound_ns <= 1500000000, (from_ns - 1788000000000000000) / 100000000000 FROM " \
	"clock "                                                                                                    \
	"JOIN source USING(source) WHERE path = 'd.log' ORDER BY from_off"

static void test_skew(void **state)
{
	(void)state;
	int64_t g = source("gw.log", NULL, NULL), s = source("d.log", "d", NULL);
	for (int i = 0; i < 20; i++) {
		answered(g, i, 1 + i % 7, "");
		executed(s, i, 1 + i % 7, 37);
	}
	resolve();
	assert_string_equal(rows(SKEWS), "37.0|1|-;");
	assert_string_equal(
	    rows("SELECT count(*), max(abs(l.started_ns - r.started_ns)) < 200000000 FROM leg l JOIN response r "
		 "USING(request)"),
	    "20|1;");
	assert_string_equal(rows("SELECT kind FROM gap"), "");
}

/* Half a second is what stamps may be off; nothing is corrected that needs no correction. */
static void test_no_skew(void **state)
{
	(void)state;
	int64_t g = source("gw.log", NULL, NULL), s = source("d.log", "d", NULL);
	for (int i = 0; i < 20; i++) {
		answered(g, i, 1 + i % 7, "");
		executed(s, i, 1 + i % 7, 0.5);
	}
	resolve();
	assert_string_equal(rows(SKEWS), "0.0|0|-;");
	assert_string_equal(rows("SELECT kind FROM gap"), "");
}

static void test_clock_that_was_set(void **state)
{
	(void)state;
	int64_t g = source("gw.log", NULL, NULL), s = source("d.log", "d", NULL);
	for (int i = 0; i < 30; i++) {
		answered(g, i, 1 + i % 7, "");
		executed(s, i, 1 + i % 7, i < 17 ? 95 : 0);
	}
	resolve();
	assert_string_equal(rows(SKEWS), "95.0|1|-;0.0|1|17;");
	assert_string_equal(
	    rows("SELECT kind, (from_ns - 1788000000000000000) / 100000000000, (to_ns - 1788000000000000000) / "
		 "100000000000 FROM gap"),
	    "clock_step|16|17;");
	assert_string_equal(
	    rows("SELECT count(*), max(abs(l.started_ns - r.started_ns)) < 1100000000 FROM leg l JOIN response "
		 "r USING(request)"),
	    "30|1;");
}

/* Where the zone changed no stamp says, and the log was silent longest somewhere else: requests tell on which side that was. */
static void test_change_beside_silence(void **state)
{
	static const struct {
		int change;         /* the first request in the new zone */
		const char *clocks; /* offset in hours, skew in seconds, first request */
	} cases[] = {{17, "2|0|-;3|0|17;"}, {6, "2|0|-;3|0|6;"}};
	(void)state;
	int64_t g = source("gw.log", NULL, NULL);
	for (int k = 0; k < 2; k++) {
		int64_t s = source(k ? "b.log" : "a.log", k ? "b" : "a", NULL);
		for (int i = 0; i < 24; i++) {
			char line[128];
			const int n = k * 50 + i, zone = (i < cases[k].change ? 2 : 3) * H;
			if (i > 8 && i < 12)
				continue;
			answered(g, n, 1, "");
			/* only the first four and the last four have the time of the epoch beside their stamp */
			if (i < 4 || i > 19)
				snprintf(line, sizeof(line), "naive what=finished rid=r%d role=decode finished_ns=%d.5",
					 n, n * 100);
			else
				snprintf(line, sizeof(line), "naive what=finished rid=r%d role=decode", n);
			put(s, EVENT_LEG, zone + n * 100, line);
		}
	}
	resolve();
	for (int k = 0; k < 2; k++) {
		char sql[256];
		snprintf(sql, sizeof(sql),
			 "SELECT (offset_ns - skew_ns) / 3600000000000, skew_ns, (from_ns - 1788000000000000000) / "
			 "100000000000 - %d "
			 "FROM clock JOIN source USING(source) WHERE path = '%s' ORDER BY from_off",
			 k * 50, k ? "b.log" : "a.log");
		assert_string_equal(rows(sql), cases[k].clocks);
	}
	assert_string_equal(rows("SELECT kind, count(*) FROM gap GROUP BY kind"), "clock_step|2;");
}

/* A clock that runs away is no clock that is set again and again: one offset, and the bound covers it. */
static void test_drift(void **state)
{
	(void)state;
	int64_t g = source("gw.log", NULL, NULL), s = source("d.log", "d", NULL);
	for (int i = 0; i < 100; i++) {
		answered(g, i, 1, "");
		executed(s, i, 1, 20 + i * 0.08);
	}
	resolve();
	assert_string_equal(
	    rows("SELECT count(*), min(basis LIKE '%drifts%'), min(skew_ns - bound_ns <= 20e9 AND skew_ns + bound_ns "
		 ">= 27.9e9), max(bound_ns < 7e9) FROM clock JOIN source USING(source) WHERE path = 'd.log'"),
	    "1|1|1|1;");
}

/* Engines that go on after the client has left say nothing about the end. */
static void test_ends_that_prove_nothing(void **state)
{
	(void)state;
	int64_t g = source("gw.log", NULL, NULL), s = source("d.log", "d", NULL);
	for (int i = 0; i < 20; i++) {
		answered(g, i, 0.5, i % 3 ? "client_gone=1" : "");
		executed(s, i, i % 3 ? 60 : 0.5, 0);
	}
	resolve();
	assert_string_equal(rows(SKEWS), "0.0|1|-;");
	assert_string_equal(rows("SELECT kind FROM gap"), "");
}

/* Where nothing fits, nothing is corrected, and that is said. */
static void test_contradictions(void **state)
{
	(void)state;
	int64_t g = source("gw.log", NULL, NULL), s = source("d.log", "d", NULL);
	for (int i = 0; i < 60; i++) {
		answered(g, i, 1, "");
		executed(s, i, 1, i * 37 % 71);
	}
	resolve();
	assert_string_equal(rows("SELECT skew_ns FROM clock JOIN source USING(source) WHERE path = 'd.log'"), "0;");
	assert_string_equal(rows("SELECT kind, effect LIKE '%not corrected%' FROM gap"), "clock|1;");
}

/* Files of one host: its page log before and behind a step, its other log as all others. */
static void test_one_host(void **state)
{
	(void)state;
	int64_t g = source("gw.log", NULL, NULL), s = source("d.log", "d", NULL), p = source("p.jsonl", "d", NULL),
		load = source("d.log.1", "d", NULL);
	for (int i = 0; i < 20; i++) {
		char line[128];
		answered(g, i, 1, "");
		executed(s, i, 1, -50);
		snprintf(line, sizeof(line), "op=alloc seq=%d rid=r%d pages=%d+1", i, i, i);
		put(p, EVENT_PAGE, i * 100 + 0.1 - 50, line);
	}
	put(load, EVENT_LOAD, -100, "naive what=decode");
	resolve();
	assert_string_equal(
	    rows("SELECT path, round(skew_ns / 1e9) FROM clock JOIN source USING(source) ORDER BY path"),
	    "d.log|-50.0;d.log.1|-50.0;gw.log|0.0;p.jsonl|-50.0;");
}

/* ---- no gateway: logs of engines against each other. Request i begins at i*100 on both sides; the prefill lasts a second. */

static void prefilled(int64_t s, int i, double ahead)
{
	char line[256];
	snprintf(line, sizeof(line), "what=finished rid=p%d room=7%d role=prefill started_ns=%.3f finished_ns=%.3f", i,
		 i, i * 100 + ahead, i * 100 + 1 + ahead);
	put(s, EVENT_LEG, i * 100 + 1 + ahead, line);
}

static void decoded(int64_t s, int i, const char *role, double ahead)
{
	char line[256];
	const double took = 2 + i % 5;
	snprintf(line, sizeof(line), "what=finished rid=d%d room=7%d %s started_ns=%.3f finished_ns=%.3f", i, i, role,
		 i * 100 + 0.2 + ahead, i * 100 + took + ahead);
	put(s, EVENT_LEG, i * 100 + took + ahead, line);
}

#define AHEAD                                                                                                         \
	"SELECT path, round((skew_ns + 0.0) / 1e9 / 5) * 5, basis LIKE '%clock against other logs of engines%' FROM " \
	"clock "                                                                                                      \
	"JOIN source USING(source) ORDER BY path, from_off"

/* Whoever agrees with most others is right: by how much the odd ones are off is measured, of prefill and decode alike. */
static void test_peers_majority(void **state)
{
	static const struct {
		double ahead[4]; /* of two prefill and two decode workers */
		const char *clocks;
	} cases[] = {
	    {{0, 0, 0, 0}, "d0.log|0.0|0;d1.log|0.0|0;p0.log|0.0|0;p1.log|0.0|0;"},
	    {{0, 0, 0, 3600}, "d0.log|0.0|0;d1.log|3600.0|1;p0.log|0.0|0;p1.log|0.0|0;"},
	    {{0, 0, 0, -108000}, "d0.log|0.0|0;d1.log|-108000.0|1;p0.log|0.0|0;p1.log|0.0|0;"},
	    {{40, 0, 0, 0}, "d0.log|0.0|0;d1.log|0.0|0;p0.log|40.0|1;p1.log|0.0|0;"},
	    {{-21600, -21600, -21600, 0}, "d0.log|0.0|0;d1.log|21600.0|1;p0.log|0.0|0;p1.log|0.0|0;"},
	};
	for (size_t k = 0; k < ARRAY_SIZE(cases); k++) {
		if (k) {
			fixture_teardown(state);
			fixture_setup(state);
		}
		const double *ahead = cases[k].ahead;
		int64_t s[] = {source("p0.log", "p0", NULL), source("p1.log", "p1", NULL), source("d0.log", "d0", NULL),
			       source("d1.log", "d1", NULL)};
		for (int i = 0; i < 40; i++) {
			prefilled(s[i % 2], i, ahead[i % 2]);
			decoded(s[2 + i / 2 % 2], i, "role=decode", ahead[2 + i / 2 % 2]);
		}
		resolve();
		assert_string_equal(rows(AHEAD), cases[k].clocks);
		assert_string_equal(rows("SELECT kind FROM gap"), "");
	}
}

/* One against one: nobody knows who is right. Nothing is corrected, and both are doubtful. A second log of one of the two workers
 * decides. */
static void test_peers_tie(void **state)
{
	for (int k = 0; k < 2; k++) {
		if (k) {
			fixture_teardown(state);
			fixture_setup(state);
		}
		int64_t p = source("p.log", "p", NULL), d = source("d.log", "d", NULL);
		int64_t other = k ? source("d.metrics", "d", NULL) : 0;
		for (int i = 0; i < 20; i++) {
			prefilled(p, i, 0);
			decoded(d, i, "role=decode", 3600);
			if (k)
				decoded(other, i, "", 0);
		}
		resolve();
		assert_string_equal(rows(AHEAD),
				    k ? "d.log|3600.0|1;d.metrics|0.0|0;p.log|0.0|0;" : "d.log|0.0|0;p.log|0.0|0;");
		assert_string_equal(
		    rows("SELECT g.kind, w.name, effect LIKE '%about 360_ s%no majority%', g.refs <> '[]' FROM "
			 "gap g JOIN worker w USING(worker) ORDER BY w.name"),
		    k ? "" : "clock|d|1|1;clock|p|1|1;");
	}
}

/* A clock that was set is measured on both sides by those that were not: what a second log of its worker, and parts of logs from
 * before and after, agree with says nothing for it. */
static void test_peers_step(void **state)
{
	(void)state;
	int64_t p[] = {source("p0.log.1", "p0", NULL), source("p1.log", "p1", NULL), source("p0.log", "p0", NULL)};
	int64_t d[] = {source("a.log", "d0", NULL), source("d.log", "d1", NULL)};
	int64_t other = source("d.metrics", "d1", NULL);
	for (int i = 0; i < 60; i++) {
		double ahead = i / 2 % 2 && i < 24 ? 90 : 0;
		prefilled(p[i % 2 ? 1 : i < 24 ? 0 : 2], i, 0);
		decoded(d[i / 2 % 2], i, "role=decode", ahead);
		if (i / 2 % 2)
			decoded(other, i, "", ahead);
	}
	resolve();
	assert_string_equal(
	    rows("SELECT path, from_off, abs(skew_ns - iif(from_off, 0, 90e9)) <= bound_ns, bound_ns < 5e9 "
		 "FROM clock JOIN source USING(source) WHERE skew_ns OR from_off ORDER BY path, "
		 "from_off"),
	    "d.log|0|1|1;d.log|1200|1|1;d.metrics|0|1|1;d.metrics|1200|1|1;");
	assert_string_equal(rows("SELECT kind, count(*) FROM gap GROUP BY kind"), "clock_step|2;");
}

/* Clients choose ids: the same ones a day later, at another worker or at the same, compare no clocks. */
static void test_peers_reused(void **state)
{
	(void)state;
	int64_t u[] = {source("u0.log", "u0", NULL), source("u1.log", "u1", NULL)};
	int64_t p = source("p.log", "p", NULL), d = source("d.log", "d", NULL);
	for (int i = 0; i < 40; i++) {
		char line[128];
		snprintf(line, sizeof(line), "what=finished rid=r%d role=unified started_ns=%d finished_ns=%d", i % 20,
			 i * 100 + (i < 20 ? 0 : 86400), i * 100 + 2 + (i < 20 ? 0 : 86400));
		put(u[i / 20], EVENT_LEG, i * 100 + 2 + (i < 20 ? 0 : 86400), line);
		snprintf(line, sizeof(line), "what=finished rid=x%d role=%s started_ns=%d finished_ns=%d", i % 10,
			 i < 20 ? "prefill" : "decode", i * 500, i * 500 + 1);
		put(i < 20 ? p : d, EVENT_LEG, i * 500 + 1, line);
	}
	resolve();
	assert_string_equal(rows("SELECT count(*), sum(skew_ns <> 0) FROM clock"), "4|0;");
	assert_string_equal(rows("SELECT kind FROM gap WHERE kind LIKE 'clock%'"), "");
}

static void test_zoned(void **state)
{
	(void)state;
	int64_t s = source("d.log", "d", NULL);
	put(s, EVENT_LEG, 1, "what=finished rid=a role=decode");
	resolve();
	assert_string_equal(rows("SELECT offset_ns, bound_ns, basis FROM clock"), "0|0|stamps carry their zone;");
}

/* Nothing but naive stamps of whole seconds: eight hours and 37 s come out of the requests alone, and the summer time that
 * begins in the middle. */
static void test_naive_alone(void **state)
{
	(void)state;
	int64_t g = source("gw.log", NULL, NULL), s = source("d.log", "d", NULL);
	for (int i = 0; i < 60; i++) {
		char line[128];
		int took = 2 + i % 9, zone = i < 31 ? 8 * H : 9 * H;
		answered(g, i, took, "");
		snprintf(line, sizeof(line), "naive what=received rid=r%d role=decode", i);
		put(s, EVENT_LEG, i * 100 + zone + 37, line);
		snprintf(line, sizeof(line), "naive what=finished rid=r%d role=decode input_tokens=9", i);
		put(s, EVENT_LEG, i * 100 + took + zone + 37, line);
	}
	resolve();
	assert_string_equal(
	    rows("SELECT offset_ns / 1000000000, abs(skew_ns - 37e9) <= bound_ns, bound_ns <= 2e9 FROM clock JOIN "
		 "source USING(source) WHERE path = 'd.log' ORDER BY from_off"),
	    "28837|1|1;32437|1|1;");
	assert_string_equal(
	    rows("SELECT count(*), max(abs(l.started_ns - r.started_ns)) <= 1000000000 FROM leg l JOIN response r "
		 "USING(request)"),
	    "60|1;");
	assert_string_equal(rows("SELECT kind FROM gap"), "clock_step;");
}

/* A router writes no ends of answers, but what it writes lies in the gateway's time of the request. */
static void test_router(void **state)
{
	(void)state;
	int64_t g = source("gw.log", NULL, NULL), s = source("d.log", NULL, NULL);
	for (int i = 0; i < 20; i++) {
		char line[128];
		answered(g, i, 2 + i % 5, "");
		snprintf(line, sizeof(line), "what=started gateway_id=g%d", i);
		put(s, EVENT_GATEWAY, i * 100 - 12, line);
		snprintf(line, sizeof(line), "what=finished gateway_id=g%d status=200", i);
		put(s, EVENT_GATEWAY, i * 100 + 2 + i % 5 - 12, line);
	}
	resolve();
	assert_string_equal(
	    rows("SELECT path, abs(skew_ns + 12e9) <= bound_ns AND bound_ns < 3e9 FROM clock JOIN source "
		 "USING(source) WHERE skew_ns"),
	    "d.log|1;");
	assert_string_equal(rows("SELECT count(*) FROM request"), "20;");
}

/* A client uses an id again and again, and the gateway's log has the first time alone. Nobody set the router's clock. */
static void test_router_id_again(void **state)
{
	(void)state;
	int64_t g = source("gw.log", NULL, NULL), s = source("d.log", NULL, NULL);
	for (int i = 0; i < 10; i++) {
		char line[128];
		if (i < 6)
			answered(g, i, 3, "");
		snprintf(line, sizeof(line), "what=started gateway_id=g%d", i < 6 ? i : 5);
		put(s, EVENT_GATEWAY, i < 6 ? i * 100 : 50000 + i, line);
		snprintf(line, sizeof(line), "what=finished gateway_id=g%d status=200", i < 6 ? i : 5);
		put(s, EVENT_GATEWAY, (i < 6 ? i * 100 : 50000 + i) + 2, line);
	}
	resolve();
	assert_string_equal(rows("SELECT count(*) FROM clock WHERE skew_ns"), "0;");
	assert_string_equal(rows("SELECT count(*) FROM gap WHERE kind = 'clock_step'"), "0;");
}

/* The same where the gateway's log has later times alone, of several ids. */
static void test_router_ids_before(void **state)
{
	(void)state;
	int64_t g = source("gw.log", NULL, NULL), s = source("d.log", NULL, NULL);
	for (int use = 0; use < 3; use++)
		for (int i = 0; i < 4; i++) {
			char line[128];
			int at = use * 50000 + i * 100;
			if (use) {
				snprintf(line, sizeof(line),
					 "what=access gateway_id=g%d status=200 started_ns=%d finished_ns=%d", i, at,
					 at + 3);
				put(g, EVENT_GATEWAY, at + 3, line);
			}
			snprintf(line, sizeof(line), "what=started gateway_id=g%d", i);
			put(s, EVENT_GATEWAY, at, line);
		}
	resolve();
	assert_string_equal(rows("SELECT count(*) FROM clock WHERE skew_ns"), "0;");
	assert_string_equal(rows("SELECT count(*) FROM gap WHERE kind = 'clock_step'"), "0;");
}

/* The file's time gave the wrong year: requests that another source has seen know better. */
static void test_year(void **state)
{
	(void)state;
	int64_t g = source("gw.log", NULL, NULL), s = source("v.log", "v", NULL), other = source("w.log", "w", NULL);
	for (int i = 0; i < 9; i++) {
		char line[128];
		answered(g, i, 5, "");
		snprintf(line, sizeof(line), "yearless what=finished rid=r%d role=unified", i);
		put(s, EVENT_LEG, i * 100 + 2 + 8 * H - 365 * 86400.0, line);
		snprintf(line, sizeof(line), "yearless what=finished rid=x%d role=unified finished_ns=%d.5", i, i);
		put(other, EVENT_LEG, i + 731 * 86400.0, line);
	}
	resolve();
	assert_string_equal(rows("SELECT path, offset_ns / 1000000000, basis LIKE '%the year from%' FROM clock JOIN "
				 "source USING(source) "
				 "ORDER BY path"),
			    "gw.log|0|0;v.log|-31507200|1;w.log|63158400|1;");
	assert_string_equal(rows("SELECT min(finished_ns) / 1000000000 - 1788000000 FROM leg JOIN worker w "
				 "USING(worker) WHERE w.name = 'v'"),
			    "2;");
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
	    CASE(test_inside_record),
	    CASE(test_start_only),
	    CASE(test_half_hour_zone),
	    CASE(test_computed_times),
	    CASE(test_across_sources),
	    CASE(test_health_check),
	    CASE(test_given_zone_stays),
	    CASE(test_daylight_saving),
	    CASE(test_zoned),
	    CASE(test_change_before_anchor),
	    CASE(test_change_among_boots),
	    CASE(test_stray_zone),
	    CASE(test_skew),
	    CASE(test_year),
	    CASE(test_router),
	    CASE(test_router_id_again),
	    CASE(test_router_ids_before),
	    CASE(test_naive_alone),
	    CASE(test_no_skew),
	    CASE(test_clock_that_was_set),
	    CASE(test_change_beside_silence),
	    CASE(test_drift),
	    CASE(test_ends_that_prove_nothing),
	    CASE(test_contradictions),
	    CASE(test_one_host),
	    CASE(test_peers_majority),
	    CASE(test_peers_tie),
	    CASE(test_peers_step),
	    CASE(test_peers_reused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
