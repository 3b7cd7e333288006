/* SPDX-License-Identifier: Apache-2.0 */
/* test_boot.c - boots: facts, intervals, ranks, limits */
#include "resolve_fixture.h"

#define BOOTS                                                                \
	"SELECT w.name, " SECONDS("started_ns") ", " SECONDS(                \
	    "ended_ns") ", version, context_len, pool_tokens, input_limit, " \
			"input_limit_basis FROM boot b JOIN worker w USING(worker) ORDER BY boot"

static void start(int64_t s, double at, int pool)
{
	char line[128];
	put(s, EVENT_BOOT, at, "what=args engine=sglang role=prefill context_len=1000");
	snprintf(line, sizeof(line), "what=pool engine=sglang context_len=1000 pool_tokens=%d", pool);
	for (int i = 0; i < 4; i++) /* one line per TP rank */
		put(s, EVENT_BOOT, at + 100 + i * 0.1, line);
	put(s, EVENT_BOOT, at + 110, "what=start");
	put(s, EVENT_BOOT, at + 112, "what=ready");
	put(s, EVENT_BOOT, at + 114, "what=ready");
}

static void test_two_boots(void **state)
{
	(void)state;
	int64_t s = source("p.log", "p", NULL);
	start(s, 0, 600);
	put(s, EVENT_BOOT, 900, "what=stop");
	put(s, EVENT_BOOT, 901, "what=stop");
	start(s, 1000, 2000);
	put(s, EVENT_LEG, 500, "what=finished rid=a role=prefill input_tokens=1 started_ns=490");
	put(s, EVENT_LEG, 1500, "what=finished rid=b role=prefill input_tokens=1 started_ns=1490");
	resolve();
	assert_string_equal(rows(BOOTS), "p|0|901|-|1000|600|594|derived;p|1000|-|-|1000|2000|994|derived;");
	assert_string_equal(rows("SELECT rid, boot FROM leg ORDER BY leg"), "a|1;b|2;");
}

static void test_restart_without_stop(void **state)
{
	(void)state;
	int64_t s = source("p.log", "p", NULL);
	start(s, 0, 600);
	start(s, 1000, 600);
	resolve();
	assert_string_equal(rows(BOOTS), "p|0|1000|-|1000|600|594|derived;p|1000|-|-|1000|600|594|derived;");
}

/* Only pool lines are left of the log, hours apart. */
static void test_pool_lines_only(void **state)
{
	(void)state;
	int64_t s = source("p.log", "p", NULL);
	put(s, EVENT_BOOT, 0, "what=pool engine=sglang pool_tokens=600");
	put(s, EVENT_BOOT, 1, "what=pool engine=sglang pool_tokens=50 draft=1");
	put(s, EVENT_BOOT, 7200, "what=pool engine=sglang pool_tokens=700");
	resolve();
	assert_string_equal(rows(BOOTS), "p|0|7200|-|-|600|-|-;p|7200|-|-|-|700|-|-;");
}

static void test_snapshot_adds(void **state)
{
	(void)state;
	int64_t s = source("p.log", "p", NULL), i = source("info.json", "p", NULL);
	start(s, 0, 600);
	start(s, 5000, 600);
	put(i, EVENT_BOOT, 3000, "what=snapshot engine=sglang version=0.5.9 pool_tokens=600 input_limit=590");
	resolve();
	assert_string_equal(rows(BOOTS), "p|0|5000|0.5.9|1000|600|590|printed;p|5000|-|-|1000|600|594|derived;");
}

/* Two snapshots that contradict each other are two processes. */
static void test_snapshots_alone(void **state)
{
	(void)state;
	int64_t a = source("a.json", "p", NULL), b = source("b.json", "p", NULL), c = source("c.json", "p", NULL);
	put(a, EVENT_BOOT, 0, "what=snapshot engine=sglang version=0.5.21 pool_tokens=600 context_len=1000");
	put(b, EVENT_BOOT, 50, "what=snapshot engine=sglang version=0.5.21 pool_tokens=600 context_len=1000");
	put(c, EVENT_BOOT, 900, "what=snapshot engine=sglang version=0.5.22 pool_tokens=1100 context_len=1000");
	resolve();
	assert_string_equal(rows(BOOTS), "p|-|50|0.5.21|1000|600|594|derived;p|900|-|0.5.22|1000|1100|994|derived;");
}

#define GAPS "SELECT kind, " SECONDS("from_ns") ", " SECONDS("to_ns") ", json_array_length(refs) FROM gap"

/* A snapshot that contradicts the boot that it falls into is of another one, whose start is lost. */
static void test_contradiction(void **state)
{
	(void)state;
	int64_t s = source("p.log", "p", NULL), i = source("info.json", "p", NULL);
	int64_t d = source("requests.log", "p", "format='other'");
	put(s, EVENT_BOOT, 0, "what=args engine=sglang context_len=1000");
	put(s, EVENT_BOOT, 10, "what=pool engine=sglang context_len=1000 pool_tokens=600");
	put(s, EVENT_LEG, 500, "what=finished rid=a role=prefill started_ns=490");
	put(d, EVENT_LEG, 900, "what=received rid=b role=prefill started_ns=900");
	put(i, EVENT_BOOT, 2000, "what=snapshot pool_tokens=900 version=0.5.22");
	put(d, EVENT_LEG, 3000, "what=received rid=c role=prefill started_ns=3000");
	resolve();
	assert_string_equal(rows("SELECT pool_tokens, version, " SECONDS("started_ns") ", " SECONDS(
				"ended_ns") ", json_array_length(refs) FROM boot ORDER BY boot"),
			    "600|-|0|500|2;900|0.5.22|2000|-|1;");
	assert_string_equal(rows("SELECT rid, boot FROM leg ORDER BY leg"), "a|1;b|-;c|2;");
	assert_string_equal(rows(GAPS), "boot|500|2000|3;");
}

/* The log goes on without a restart: the snapshot is of something else, and nothing is taken from it. */
static void test_contradicted_snapshot(void **state)
{
	(void)state;
	int64_t s = source("p.log", "p", NULL), i = source("info.json", "p", NULL);
	put(s, EVENT_BOOT, 10, "what=pool engine=sglang context_len=1000 pool_tokens=600");
	put(s, EVENT_LEG, 5000, "what=finished rid=a role=prefill started_ns=490");
	put(i, EVENT_BOOT, 2000, "what=snapshot pool_tokens=900 version=0.5.22");
	resolve();
	assert_string_equal(rows(BOOTS), "p|10|-|-|1000|600|594|derived;");
	assert_string_equal(rows(GAPS), "boot|2000|2000|2;");
}

/* Clocks differ: the snapshot belongs to the neighbour that it agrees with. */
static void test_snapshot_near_start(void **state)
{
	(void)state;
	int64_t s = source("p.log", "p", NULL), i = source("i.json", "p", NULL), k = source("k.json", "p", NULL);
	start(s, 0, 600);
	start(s, 5000, 900);
	put(i, EVENT_BOOT, 4960, "what=snapshot pool_tokens=900 version=0.5.22");
	put(k, EVENT_BOOT, 5060, "what=snapshot pool_tokens=600 version=0.5.9 context_len=1000");
	resolve();
	assert_string_equal(rows(BOOTS), "p|0|5000|0.5.9|1000|600|594|derived;p|5000|-|0.5.22|1000|900|894|derived;");
	assert_string_equal(rows(GAPS), "");
}

/* What a snapshot says ends where a start is logged. */
static void test_snapshot_before_start(void **state)
{
	(void)state;
	int64_t s = source("p.log", "p", NULL), i = source("info.json", "p", NULL);
	put(i, EVENT_BOOT, -500, "what=snapshot engine=sglang pool_tokens=600 version=0.5.22 context_len=1000");
	start(s, 0, 600);
	resolve();
	assert_string_equal(rows(BOOTS), "p|-|0|0.5.22|1000|600|594|derived;p|0|-|-|1000|600|594|derived;");
}

/* A size printed before the final line is not the pool. */
static void test_final_line_counts(void **state)
{
	(void)state;
	int64_t s = source("p.log", "p", NULL);
	put(s, EVENT_BOOT, 0, "what=pool engine=sglang pool_tokens=640 page_size=64");
	put(s, EVENT_BOOT, 1, "what=pool engine=sglang pool_tokens=600 context_len=1000");
	resolve();
	assert_string_equal(rows("SELECT pool_tokens, page_size FROM boot"), "600|64;");
}

static void test_data_parallel(void **state)
{
	(void)state;
	int64_t s = source("p.log", "p", NULL);
	put(s, EVENT_BOOT, 0, "what=args engine=sglang role=prefill context_len=1000 dp_size=3 version=0.5.9");
	put(s, EVENT_BOOT, 10, "what=pool worker=/dp0 pool_tokens=600");
	put(s, EVENT_BOOT, 10, "what=pool worker=/dp1 pool_tokens=610");
	put(s, EVENT_BOOT, 11, "what=pool worker=/dp0 pool_tokens=600 context_len=1000 engine=sglang");
	put(s, EVENT_BOOT, 12, "what=ready");
	put(s, EVENT_LEG, 50, "what=finished worker=/dp2 rid=a role=prefill input_tokens=9");
	resolve();
	assert_string_equal(rows(BOOTS), "p/dp0|0|-|0.5.9|1000|600|594|derived;p/dp1|0|-|0.5.9|1000|610|604|derived;"
					 "p/dp2|0|-|0.5.9|1000|-|-|-;");
	assert_string_equal(rows("SELECT name, role FROM worker ORDER BY worker"),
			    "p/dp0|prefill;p/dp1|prefill;p/dp2|prefill;");
}

/* The server's request log knows no ranks: its pool is known only when all ranks have the same. */
static void test_server_of_ranks(void **state)
{
	(void)state;
	int64_t s = source("p.log", "p", NULL), j = source("requests.jsonl", "p", NULL);
	put(s, EVENT_BOOT, 0, "what=args engine=sglang role=unified context_len=1000 dp_size=2");
	put(s, EVENT_BOOT, 10, "what=pool worker=/dp0 pool_tokens=600");
	put(s, EVENT_BOOT, 10, "what=pool worker=/dp1 pool_tokens=600");
	put(s, EVENT_LEG, 50, "what=finished worker=/dp1 rid=a role=unified input_tokens=9");
	put(j, EVENT_LEG, 50, "what=finished rid=a input_tokens=9 output_tokens=3");
	put(j, EVENT_LEG, 70, "what=finished rid=b input_tokens=9 output_tokens=3");
	resolve();
	assert_string_equal(rows("SELECT w.name, pool_tokens FROM boot JOIN worker w USING(worker) ORDER BY boot"),
			    "p|600;p/dp0|600;p/dp1|600;");
	assert_string_equal(rows("SELECT w.name, rid, output_tokens FROM leg JOIN worker w USING(worker) ORDER BY leg"),
			    "p/dp1|a|3;p|b|3;");
}

static void test_before_the_log(void **state)
{
	(void)state;
	int64_t s = source("p.log", "p", NULL);
	put(s, EVENT_LEG, -5000, "what=rejected rid=a role=prefill input_tokens=900 limit_tokens=594");
	put(s, EVENT_LEG, -5000,
	    "what=rejected rid=b role=prefill input_tokens=9000 limit_tokens=1000 "
	    "message=longer~than~the~model's~context~length");
	start(s, 0, 2000);
	resolve();
	assert_string_equal(rows(BOOTS), "p|-|0|-|-|-|594|rejection;p|0|-|-|1000|2000|994|derived;");
	assert_string_equal(rows("SELECT DISTINCT boot FROM leg"), "1;");
}

static void test_unknown_engine_derives_nothing(void **state)
{
	(void)state;
	int64_t s = source("v.log", "v", NULL);
	put(s, EVENT_BOOT, 0, "what=pool engine=vllm pool_tokens=600 context_len=1000");
	resolve();
	assert_string_equal(rows(BOOTS), "v|0|-|-|1000|600|-|-;");
}

/* The same lines, of which the stamps have no date. */
static void start_undated(int64_t s, double at, int pool)
{
	char line[128];
	put(s, EVENT_BOOT, at, "monotonic what=args engine=sglang role=prefill context_len=9000");
	snprintf(line, sizeof(line), "monotonic what=pool engine=sglang context_len=9000 pool_tokens=%d", pool);
	put(s, EVENT_BOOT, at + 100, line);
	put(s, EVENT_BOOT, at + 114, "monotonic what=ready");
}

/* days: lost between the two boots, because no line was written then. */
static int64_t two_undated(int days)
{
	const int first = 90000, second = first + days * 86400;
	char line[128];
	int64_t s = source("p.log", "p", NULL);
	start_undated(s, 0, 600);
	snprintf(line, sizeof(line), "monotonic what=finished rid=a role=prefill input_tokens=1 finished_ns=%d",
		 first + 200);
	put(s, EVENT_LEG, 200, line);
	put(s, EVENT_BOOT, 900, "monotonic what=stop");
	start_undated(s, 1000, 2000);
	snprintf(line, sizeof(line), "monotonic what=finished rid=b role=prefill input_tokens=1 finished_ns=%d",
		 second + 1500);
	put(s, EVENT_LEG, 1500, line);
	return s;
}

/* Records with an epoch time date the starts between them. */
static void test_undated(void **state)
{
	(void)state;
	two_undated(0);
	resolve();
	assert_string_equal(rows(BOOTS), "p|90000|90900|-|9000|600|594|derived;p|91000|-|-|9000|2000|1994|derived;");
	assert_string_equal(rows("SELECT rid, boot FROM leg ORDER BY rid"), "a|1;b|2;");
	assert_string_equal(rows("SELECT kind FROM gap"), "");
}

/* Of two days that left no line nobody knows on which it stopped and began; requests of other logs are of no boot then. */
static void test_undated_lost_days(void **state)
{
	(void)state;
	two_undated(2);
	int64_t m = source("p.metrics", "p", NULL);
	put(m, EVENT_LEG, 150000, "what=finished rid=c role=prefill input_tokens=1");
	put(m, EVENT_LEG, 270000, "what=finished rid=d role=prefill input_tokens=1");
	resolve();
	assert_string_equal(rows(BOOTS), "p|90000|90900|-|9000|600|594|derived;p|263800|-|-|9000|2000|1994|derived;");
	assert_string_equal(rows("SELECT rid, boot FROM leg ORDER BY rid"), "a|1;b|2;c|-;d|2;");
}

/* Without any such record the starts are told apart, and no more: no limit is claimed, no restart is called missing. */
static void test_undated_for_ever(void **state)
{
	for (int starts = 1; starts < 3; starts++) {
		fixture_teardown(state);
		fixture_setup(state);
		int64_t s = source("p.log", "p", NULL), snap = source("p.json", "p", NULL);
		start_undated(s, 0, 600);
		put(s, EVENT_LEG, 200, "monotonic what=finished rid=a role=prefill input_tokens=1");
		if (starts == 2)
			start_undated(s, 1000, 2000);
		put(snap, EVENT_BOOT, 5000, "what=snapshot engine=sglang context_len=9000 pool_tokens=600");
		resolve();
		if (starts == 1) {
			assert_string_equal(rows(BOOTS), "p|-|-|-|9000|600|594|derived;");
			assert_string_equal(rows("SELECT boot FROM leg"), "1;");
			assert_string_equal(rows("SELECT kind FROM gap"), "");
		} else {
			assert_string_equal(rows(BOOTS),
					    "p|-|-|-|9000|600|594|derived;p|-|-|-|9000|2000|1994|derived;");
			assert_string_equal(rows("SELECT boot FROM leg"), "-;");
			assert_string_equal(rows("SELECT kind, effect LIKE '%of its 2 boots nobody knows%', "
						 "json_array_length(refs) FROM gap"),
					    "boot|1|2;");
		}
	}
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
	    CASE(test_two_boots),
	    CASE(test_restart_without_stop),
	    CASE(test_pool_lines_only),
	    CASE(test_snapshot_adds),
	    CASE(test_snapshots_alone),
	    CASE(test_contradiction),
	    CASE(test_contradicted_snapshot),
	    CASE(test_snapshot_near_start),
	    CASE(test_snapshot_before_start),
	    CASE(test_final_line_counts),
	    CASE(test_data_parallel),
	    CASE(test_server_of_ranks),
	    CASE(test_before_the_log),
	    CASE(test_unknown_engine_derives_nothing),
	    CASE(test_undated),
	    CASE(test_undated_lost_days),
	    CASE(test_undated_for_ever),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
