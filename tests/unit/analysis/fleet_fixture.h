/* SPDX-License-Identifier: Apache-2.0 */
/* fleet_fixture.h - a fleet in small for the tests of lineage, findings and queries
 *
 * Prefill "p" (pool 1000 tokens, context 2000: it rejects at 994), decode "d", pages of 10 tokens.
 */
#pragma once

#include "resolve_fixture.h"

static int64_t gw, pre, dec, log_d;

static UNUSED int setup(void **state)
{
	if (fixture_setup(state))
		return -1;
	gw = source("gw.jsonl", NULL, NULL);
	pre = source("p.log", "p", NULL);
	dec = source("d.log", "d", NULL);
	log_d = source("d.pages", "d", NULL);
	return 0;
}

static UNUSED void boots(const char *version)
{
	char line[256];
	snprintf(line, sizeof(line),
		 "what=start engine=sglang version=%s role=prefill context_len=2000 pool_tokens=1000", version);
	put(pre, EVENT_BOOT, 0, line);
	snprintf(line, sizeof(line),
		 "what=start engine=sglang version=%s role=decode context_len=2000 pool_tokens=5000", version);
	put(dec, EVENT_BOOT, 0, line);
}

/* One request through gateway, prefill and decode; room = number. prefill: how its leg ended. */
static UNUSED void request(int n, double from, double to, const char *tenant, int prompt, int status,
			   const char *prefill, int prefill_in)
{
	char line[400];
	if (status) {
		snprintf(line, sizeof(line),
			 "what=access gateway_id=gw-%d room=%d tenant=%s model=m status=%d prompt_tokens=%d "
			 "prompt_tokens_flag=exact "
			 "completion_tokens=%d bytes_sent=%d started_ns=%g finished_ns=%g",
			 n, 9000 + n, tenant, status, prompt, status < 300 ? 20 : 0, status < 300 ? 99 : 12, from, to);
		put(gw, EVENT_GATEWAY, to, line);
	}
	if (prefill && !strcmp(prefill, "rejected")) { /* names the prompt; the leg itself then reports one token */
		snprintf(line, sizeof(line),
			 "what=rejected rid=p%d room=%d role=prefill input_tokens=%d limit_tokens=994", n, 9000 + n,
			 prompt);
		put(pre, EVENT_LEG, from + .5, line);
	}
	if (prefill) {
		snprintf(line, sizeof(line),
			 "what=%s rid=p%d room=%d role=prefill input_tokens=%d input_flag=exact started_ns=%g "
			 "finished_ns=%g",
			 strcmp(prefill, "rejected") ? prefill : "finished", n, 9000 + n, prefill_in, from, from + 1);
		put(pre, EVENT_LEG, from + 1, line);
	}
	snprintf(
	    line, sizeof(line),
	    "what=finished rid=d%d room=%d role=decode input_tokens=%d input_flag=exact output_tokens=20 started_ns=%g "
	    "finished_ns=%g",
	    n, 9000 + n, prompt, from, to);
	put(dec, EVENT_LEG, to, line);
}

static int seq;
static UNUSED void page(double at, const char *op, const char *rid, const char *pages)
{
	char line[300];
	if (!strcmp(op, "boot"))
		seq = 0;
	snprintf(line, sizeof(line), "op=%s seq=%d pool=kv%s%s%s%s", op, seq++, rid ? " rid=" : "", rid ? rid : "",
		 pages ? " pages=" : "", pages ? pages : "");
	if (!strcmp(op, "boot"))
		strcat(line, " page_size=10 pool_pages=500");
	put(log_d, EVENT_PAGE, at, line);
}

static UNUSED void page_boot(void)
{
	seq = 0;
	page(0, "boot", NULL, NULL);
}

/* A request that does everything right. */
static UNUSED void good_pages(double from, const char *rid, const char *pages)
{
	page(from, "alloc", rid, pages);
	page(from + .1, "recv", rid, pages);
	page(from + .2, "read", rid, pages);
	page(from + .3, "free", rid, pages);
}

/* Counted at once, and counted from the rows. */
static UNUSED void count_twice(void)
{
#define EACH(of)                                                                                          \
	"SELECT class, band, t, a, l, d, x, rule, conflict, count(*), min(started_at), max(started_at), " \
	"sum(started_at IS NULL) " of " GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9"
#define SUMS(of)                                                                                           \
	"SELECT class, band, t, a, l, d, x, rule, conflict, sum(responses), min(first_at), max(last_at), " \
	"sum(starts_unknown) " of " GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9"
	static const char *const pairs[][2] = {
	    {EACH("FROM findings()"), SUMS("FROM finding_counts()")},
	    {EACH("FROM findings() WHERE tenant = 'a'"), SUMS("FROM finding_counts('a')")},
	    {EACH("FROM findings() WHERE tenant = 'b'"), SUMS("FROM finding_counts('b', 1)")},
	    {EACH("FROM findings() WHERE tenant = 'nobody'"), SUMS("FROM finding_counts('nobody')")},
	    {"SELECT date(started_at / 1000000000, 'unixepoch'), class, count(*) FROM findings() GROUP BY 1, 2 ORDER "
	     "BY 1, 2",
	     "SELECT date(day / 1000000000, 'unixepoch'), class, sum(responses) FROM finding_counts(NULL, 1) GROUP BY "
	     "1, 2 "
	     "ORDER BY 1, 2"}};
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		assert_string_equal(rows(pairs[i][1]), rows(pairs[i][0]));
#undef EACH
#undef SUMS
}

/* What is kept for many questions is what is computed for one. */
static UNUSED void ask_often(const struct analysis_params *params)
{
	static const char *const questions[] = {
	    "SELECT * FROM findings()",
	    "SELECT * FROM findings() ORDER BY started_at, request, response_id",
	    "SELECT * FROM findings('C1,C2,C5,conflict')",
	    "SELECT * FROM findings(NULL, 1)",
	    "SELECT * FROM exposed()",
	    "SELECT * FROM finding_counts()",
	    "SELECT * FROM finding_counts('a')",
	    "SELECT * FROM finding_counts('nobody')",
	    "SELECT * FROM findings() WHERE tenant = 'a'",
	    "SELECT request, tenant FROM findings('C2') WHERE tenant = 'b' ORDER BY started_at, request, response_id",
	    "SELECT count(*) FROM findings() WHERE tenant = 'nobody'",
	    "SELECT * FROM exposed() WHERE tenant = 'b'",
	    "SELECT t.name, f.request, f.class FROM tenant t JOIN findings() f ON f.tenant = t.name",
	    "SELECT t.name, (SELECT group_concat(e.request || e.class) FROM exposed() e WHERE e.tenant = t.name) FROM "
	    "tenant t"};
	char *before[ARRAY_SIZE(questions)];
	struct analysis_params often = *params;
	often.often = true;
	for (size_t i = 0; i < ARRAY_SIZE(questions); i++)
		before[i] = strdup(rows(questions[i]));
	assert_int_equal(analysis_register(fixture, &often, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
		assert_string_equal(rows(questions[i]), before[i]);
		free(before[i]);
	}
	count_twice();
}

static UNUSED void analyse(int64_t pool, int64_t limit)
{
	struct analysis_params params = {.pool_tokens = pool, .input_limit = limit};
	struct err err = {0};
	resolve();
	if (analysis_register(fixture, &params, &err))
		fail_msg("%s", err.what);
	count_twice();
	ask_often(&params);
	if (analysis_register(fixture, &params, &err))
		fail_msg("%s", err.what);
}

static UNUSED void same(const char *query, const char *want)
{
	assert_string_equal(rows(query), want);
}
