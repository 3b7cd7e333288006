/* SPDX-License-Identifier: Apache-2.0 */
/* test_replay.c - the allocator's model by hand, at its limits, and what replay() says of it */
#include "fleet_fixture.h"

#include "../../../src/analysis/replay.h"
#include "pagetrail/limits.h"

/* "leg:owner*pages …" of all readers, then what became of them. */
static const char *replayed(uint32_t pages, uint32_t size, struct pool_leg *legs, size_t n)
{
	static char out[1024];
	const struct pool_model model = {.pool_pages = pages, .page_size = size};
	struct pool_replay r;
	struct err err = {0};
	size_t at = 0;
	if (pool_replay(&r, &model, legs, n, NULL, NULL, &err))
		fail_msg("%s", err.what);
	out[0] = 0;
	for (size_t i = 0; i < r.n; i++)
		at += (size_t)snprintf(out + at, sizeof(out) - at, "%s%u:%u*%llu", i ? " " : "", r.shares[i].leg,
				       r.shares[i].owner, (unsigned long long)r.shares[i].pages);
	for (size_t i = 0; i < n; i++)
		if (!legs[i].placed)
			at += (size_t)snprintf(out + at, sizeof(out) - at, " -%zu", i);
	if (r.retracted)
		snprintf(out + at, sizeof(out) - at, " retracted %llu", (unsigned long long)r.retracted);
	pool_replay_done(&r);
	return out;
}

/* An ordinary leg, and one whose prompt came as one token. */
static struct pool_leg leg(uint32_t owner, int64_t from, int64_t to, uint64_t prompt, uint64_t output)
{
	return (struct pool_leg){.start_ns = from,
				 .decode_ns = from,
				 .end_ns = to,
				 .prompt = prompt,
				 .output = output,
				 .arrived = prompt,
				 .owner = owner};
}
static struct pool_leg victim(uint32_t owner, int64_t from, int64_t to, uint64_t prompt, uint64_t output)
{
	struct pool_leg l = leg(owner, from, to, prompt, output);
	l.arrived = 1;
	l.reads = true;
	return l;
}

/* Pages of 10 tokens. What is free comes first, lowest number first; what was given back waits. */
static void test_order(void **state)
{
	(void)state;
	/* 1 has pages 1-4, 2 has 5-9; of 20 pages 11 are free: 3 gets 10-15, which nobody ever had */
	struct pool_leg turn[] = {leg(1, 0, 10, 40, 1), leg(2, 20, 30, 50, 1), victim(3, 40, 50, 60, 1)};
	assert_string_equal(replayed(20, 10, turn, 3), "2:0*5");
	/* of 10 pages two are left, so all are merged and sorted: 3 gets 1-6, of which it fills 1 */
	struct pool_leg full[] = {leg(1, 0, 10, 40, 1), leg(2, 20, 30, 40, 1), victim(3, 40, 50, 60, 1)};
	assert_string_equal(replayed(10, 10, full, 3), "2:1*3 2:2*2");
	assert_true(full[2].foreign == 5);
	/* tokens / page_size + 2 more than are free: merged although they would do. Pages 1-4 were given back */
	struct pool_leg early[] = {leg(1, 0, 10, 40, 1), victim(2, 20, 30, 50, 1)};
	assert_string_equal(replayed(10, 10, early, 2), "1:0*1 1:1*3");
	struct pool_leg enough[] = {leg(1, 0, 10, 40, 1), victim(2, 20, 30, 50, 1)};
	assert_string_equal(replayed(11, 10, enough, 2), "1:0*4");
	/* a pool of tokens does without the margin */
	struct pool_leg tokens[] = {leg(1, 0, 10, 4, 1), victim(2, 20, 30, 6, 1)};
	assert_string_equal(replayed(10, 1, tokens, 2), "1:0*5");
}

/* Content stays where nothing is written: under a victim, after its end, and through several of them. */
static void test_content(void **state)
{
	(void)state;
	struct pool_leg legs[] = {leg(1, 0, 10, 60, 1), victim(2, 20, 30, 100, 1), victim(3, 40, 50, 100, 1)};
	/* 3 finds page 2-6 as 1 left them: 2 filled page 1 alone, and so does 3 */
	assert_string_equal(replayed(10, 10, legs, 3), "1:0*4 1:1*5 2:0*4 2:1*5");
	/* its own first token goes into the last page of a prompt that does not end with it, before it reads */
	struct pool_leg own[] = {leg(1, 0, 10, 60, 1), victim(2, 20, 30, 55, 5)};
	assert_string_equal(replayed(6, 10, own, 2), "1:1*4");
	/* an earlier attempt of its own is nobody else's */
	struct pool_leg again[] = {leg(7, 0, 10, 60, 1), victim(7, 20, 30, 60, 1)};
	assert_string_equal(replayed(6, 10, again, 2), "");
}

/* Pages of the answer are taken while others run. */
static void test_growth(void **state)
{
	(void)state;
	/* 1: page 1, then 2 (at once, its prompt fills page 1), 4 and 5; 2: page 3; both over, 3 reads 1-5 */
	struct pool_leg legs[] = {leg(1, 0, 100, 1000, 3000), leg(2, 10, 20, 1000, 1), victim(3, 200, 210, 5000, 1)};
	legs[2].arrived = 0;
	assert_string_equal(replayed(5, 1000, legs, 3), "2:1*4 2:2*1");
	/* a pool that is full when the answer needs more */
	struct pool_leg more[] = {leg(1, 0, 100, 10, 40)};
	assert_string_equal(replayed(2, 10, more, 1), " retracted 1");
}

/* A prompt waits until there is room for it and for the answers of those who run, and the ones behind it wait too. */
static void test_waiting(void **state)
{
	(void)state;
	/* pages of 100: 1 holds 10 of 30; 2 needs 15 and 2 times 512 tokens are kept free: it waits until 1 ends */
	struct pool_leg legs[] = {leg(1, 0, 50, 1000, 1), victim(2, 10, 90, 1500, 1), leg(3, 11, 95, 100, 1)};
	assert_string_equal(replayed(30, 100, legs, 3), "1:0*14");
	struct pool_leg before[] = {leg(1, 0, 50, 1000, 1), leg(2, 10, 40, 1500, 1), victim(3, 60, 95, 2500, 1)};
	/* 2 ended while it waited: it had no pages by this model, and 3 finds none of its content */
	assert_string_equal(replayed(30, 100, before, 3), "2:0*15 2:1*9 -1");
	struct pool_leg larger[] = {leg(1, 0, 50, 4000, 1)};
	assert_string_equal(replayed(30, 100, larger, 1), " -0");
}

/* Numbers as large as they may be: memory follows the pool, and what would take too long is given up. */
static void test_limits(void **state)
{
	(void)state;
	struct pool_leg all[] = {victim(1, 0, 10, POOL_MAX_PAGES, 1), victim(2, 20, 30, TOKENS_MAX, UINT64_C(1) << 40),
				 leg(3, INT64_MAX - 1, INT64_MAX, 1, UINT64_C(1) << 40)};
	assert_string_equal(replayed(POOL_MAX_PAGES, 1, all, 3), "0:0*67108863 -1 retracted 1");
	struct pool_leg legs[] = {leg(1, 0, 10, 400, 1), leg(2, 20, 30, 400, 1), victim(3, 40, 50, 400, 1)};
	const struct pool_model model = {.pool_pages = 400, .page_size = 1, .work_max = 900};
	struct pool_replay r;
	assert_int_equal(pool_replay(&r, &model, legs, 3, NULL, NULL, NULL), 0);
	assert_true(r.too_long && r.n == 0 && legs[1].placed && !legs[2].placed);
	pool_replay_done(&r);
}

static bool at_once(const void *ctx)
{
	return ctx == NULL;
}

static void test_stop(void **state)
{
	(void)state;
	struct pool_leg legs[] = {leg(1, 0, 10, 4, 1)};
	const struct pool_model model = {.pool_pages = 4, .page_size = 1};
	struct pool_replay r;
	assert_int_equal(pool_replay(&r, &model, legs, 1, at_once, NULL, NULL), ERR_INTERRUPTED);
	assert_true(!r.shares);
}

/* ---- rows ---- */
#define ROWS                                                                                                         \
	"SELECT reader_request, owner_request, pages, tokens_at_most, grade, trust, unplaced, agreement, compared, " \
	"model FROM replay() ORDER BY reader_request, owner_request"

static void fleet(const char *decode)
{
	char line[256];
	put(pre, EVENT_BOOT, 0,
	    "what=start engine=sglang version=0.5.21 role=prefill context_len=2000 pool_tokens=1000");
	snprintf(line, sizeof(line), "what=start role=decode context_len=2000 page_size=100 %s", decode);
	put(dec, EVENT_BOOT, 0, line);
}

static void test_rows(void **state)
{
	(void)state;
	fleet("engine=sglang version=0.5.21 pool_tokens=1400");
	request(1, 10, 20, "a", 700, 200, "finished", 700);
	request(2, 30, 40, "b", 1200, 200, "rejected", 1);
	analyse(0, 0);
	/* pages 1-12 of 14: 1 left 1-7 and, with its answer, part of 8; the victim's own are 1 and the one it decodes into */
	same(ROWS, "gw-2|-|4|400|modelled|whole|0|-|-|" REPLAY_MODEL
		   ";gw-2|gw-1|7|700|modelled|whole|0|-|-|" REPLAY_MODEL ";");
	same("SELECT count(*) FROM replay('gw-2')", "2;");
	same("SELECT count(*) FROM replay('gw-1')", "0;");
	same("SELECT cross_tenant, round(share, 1), worker FROM replay() WHERE owner_request = 'gw-1'", "yes|63.6|d;");
	same("SELECT count(*) FROM replay() WHERE instr(assumptions, 'not observed') AND refs <> '[]'", "2;");
}

/* The page log is compared with and decides nothing. */
static void test_agreement(void **state)
{
	(void)state;
	fleet("engine=sglang version=0.5.21 pool_tokens=1400");
	page_boot();
	request(1, 10, 20, "a", 700, 200, "finished", 700);
	good_pages(10, "d1", "1+8");
	request(2, 30, 40, "b", 1200, 200, "rejected", 1);
	page(30, "alloc", "d2", "3+11"); /* another order than the model's: 3-8 were 1's, 9-13 nobody's */
	page(30.1, "recv", "d2", "3+1");
	page(30.2, "read", "d2", "3+11");
	page(39, "free", "d2", "3+11");
	analyse(0, 0);
	/* log: 5 of 1's, 5 of nobody; model: 7 and 4: 5 + 4 of 11 agree */
	same("SELECT owner_request, pages, round(agreement, 2), compared FROM replay() ORDER BY owner_request",
	     "-|4|81.82|1;gw-1|7|81.82|1;");
}

/* What is not known lowers the trust, or is said instead of a number. */
static void test_unknown(void **state)
{
	(void)state;
	fleet("engine=sglang version=0.5.21 pool_tokens=1400");
	put(dec, EVENT_LEG, 9, "what=finished rid=d7 room=9007 role=decode started_ns=8 finished_ns=9");
	request(1, 10, 20, "a", 700, 200, "finished", 700);
	request(2, 30, 40, "b", 1200, 200, "rejected", 1);
	put(gw, EVENT_GATEWAY, 25, "what=access gateway_id=gw-8 tenant=a status=200 started_ns=22 finished_ns=25");
	analyse(0, 0);
	same("SELECT DISTINCT trust, unplaced FROM replay()", "in_part|2;"); /* no length; no leg */
}

static void not_replayed(const char *decode, const char *why)
{
	char want[256];
	if (setup(NULL))
		fail();
	fleet(decode);
	request(1, 10, 20, "a", 700, 200, "finished", 700);
	request(2, 30, 40, "b", 1200, 200, "rejected", 1);
	analyse(0, 0);
	snprintf(want, sizeof(want), "gw-2|-|-|-|not replayed: %s;", why);
	same("SELECT reader_request, pages, grade, model, assumptions FROM replay()", want);
	fixture_teardown(NULL);
}

static void test_no_model(void **state)
{
	(void)state;
	const char *version = "no model of this version, or the version is not known";
	not_replayed("engine=sglang pool_tokens=1400", version);
	not_replayed("engine=sglang version=0.5.1 pool_tokens=1400", version);
	not_replayed("engine=sglang version=0.5.23 pool_tokens=1400", version);
	not_replayed("engine=sglang version=0.5.21.dev3 pool_tokens=1400", version);
	not_replayed("engine=vllm version=0.11.0 pool_tokens=1400", "no model of this engine's allocator");
	not_replayed("engine=sglang version=0.5.21", "the pool's or the page's size is not known");
	not_replayed("engine=sglang version=0.5.21 pool_tokens=1100",
		     "by its times and lengths the pool had no room for it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_order),
	    cmocka_unit_test(test_content),
	    cmocka_unit_test(test_growth),
	    cmocka_unit_test(test_waiting),
	    cmocka_unit_test(test_limits),
	    cmocka_unit_test(test_stop),
	    cmocka_unit_test_setup_teardown(test_rows, setup, fixture_teardown),
	    cmocka_unit_test_setup_teardown(test_agreement, setup, fixture_teardown),
	    cmocka_unit_test_setup_teardown(test_unknown, setup, fixture_teardown),
	    cmocka_unit_test(test_no_model),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
