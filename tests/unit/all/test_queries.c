/* SPDX-License-Identifier: Apache-2.0 */
/* test_queries.c - every query keeps its header, reads only, orders totally; each failure class is found, and only that
 *
 * Golden cases: one case with every failure, one fleet that does everything right.
 */
#include "../analysis/fleet_fixture.h"

static int empty_case(void **state)
{
	if (setup(state))
		return -1;
	analyse(0, 0);
	return 0;
}

/* Something of everything. */
static int bad_case(void **state)
{
	if (setup(state))
		return -1;
	boots("0.5.9");
	page_boot();
	request(1, 10, 20, "a", 100, 200, "finished", 100);
	good_pages(10, "d1", "0+10");
	request(2, 30, 35, "b", 1200, 200, "rejected", 1); /* over the limit, handed off, reads what 1 left */
	page(30, "alloc", "d2", "0+10");
	page(30.1, "recv", "d2", "0+1");
	page(30.2, "read", "d2", "0+10");
	page(34, "free", "d2", "0+10");
	request(3, 40, 41, "a", 90, 0, "aborted",
		90); /* aborted, no read logged; its transfer goes on into pages of 4 */
	put(gw, EVENT_GATEWAY, 41,
	    "what=access gateway_id=gw-3 room=9003 tenant=a status=200 bytes_sent=9 started_ns=40 finished_ns=41");
	page(40, "alloc", "d3", "20+9");
	page(40.5, "free", "d3", "20+9");
	request(4, 42, 49, "b", 50, 200, "finished", 50);
	page(42, "alloc", "d4", "20+5");
	page(42.1, "recv", "d4", "20+5");
	page(42.2, "recv", "d3", "21+2");
	page(42.3, "read", "d4", "20+5");
	page(43, "alloc", "d4", "40+1");
	page(43.1, "read", "d4", "40+1"); /* read first, filled after */
	page(43.2, "write", "d4", "40+1");
	request(5, 44, 48, "c", 90, 200, "finished", 90);
	page(44, "share", "d5", "20+1");
	page(44, "alloc", "d5", "60+8");
	page(44.1, "recv", "d5", "60+8");
	page(44.2, "read", "d5", "20+1,60+8");
	page(47, "free", "d5", "60+8");
	page(48, "free", "d4", "20+5,40+1");
	put(pre, EVENT_LEG, 50, "what=late_read rid=p1 role=prefill message=late");
	seq += 3; /* lost */
	page(60, "alloc", "d6", "0+1");
	put(pre, EVENT_CACHE, 61, "what=stored seq=7 at=0 block=a0 rank=0");
	put(pre, EVENT_CACHE, 62, "what=removed seq=10 at=0 block=a0 rank=0"); /* 8 and 9 are lost */
	put(pre, EVENT_CACHE, 63, "what=cleared seq=0 at=0 rank=0");
	put(pre, EVENT_CACHE, 64, "what=stored seq=4611686018427387904 at=0 rank=1 block=a1");
	resolve();
	run("INSERT INTO reject VALUES(1, 5000, 30, 2, 'json_syntax'), (1, 9000, 10, 1, 'torn')");
	run("INSERT INTO sighting(marker, spelling, part, planted_name, planted_request, seen_request, cross_tenant, "
	    "verdict, reason, before_planted, source, byte_off, byte_len) SELECT 'm-1', 'plain', 'answered', 'gw-1', "
	    "(SELECT request FROM request WHERE name = 'gw-1'), (SELECT request FROM request WHERE name = 'gw-2'), "
	    "'yes', "
	    "'foreign', 'not_in_prompt', 0, 1, 0, 9");
	run("INSERT INTO planted(marker, source, planted_name, planted_request) SELECT 'm-1', 1, 'gw-1', request FROM "
	    "request WHERE name = 'gw-1'");
	run("INSERT INTO gap(kind, source, effect, refs) VALUES('clock', 2, 'two anchors disagree', '[]')");
	struct analysis_params params = {0};
	return analysis_register(fixture, &params, NULL);
}

static int good_case(void **state)
{
	if (setup(state))
		return -1;
	put(pre, EVENT_BOOT, 0,
	    "what=start engine=sglang version=0.5.22 role=prefill context_len=900 pool_tokens=1000");
	put(dec, EVENT_BOOT, 0, "what=start engine=sglang version=0.5.22 role=decode context_len=900 pool_tokens=5000");
	page_boot();
	for (int i = 1; i < 6; i++) {
		char rid[8];
		snprintf(rid, sizeof(rid), "d%d", i);
		request(i, 10 * i, 10 * i + 5, "a", 50, 200, "finished", 50);
		good_pages(10 * i, rid, "0+5");
	}
	analyse(0, 0);
	return 0;
}

/* --- the contract --- */
static void one_contract(const struct query_text *q)
{
	struct err err = {0};
	struct query_info info;
	if (query_info_parse(q, &info, &err))
		fail_msg("%s: %s (%s)", q->name, err.what, err.where);
	assert_true(text_is(info.name, q->name));
	assert_true(!strncmp(q->sql, "-- SPDX-License-Identifier: Apache-2.0\n", 39));
	struct sql *s = NULL;
	if (sql_prepare(&s, fixture, q->sql, &err))
		fail_msg("%s: %s", q->name, err.what);
	assert_true(sql_readonly(s));
	if ((unsigned)sql_columns(s) != info.n_columns)
		fail_msg("%s: %d columns, the header has %u", q->name, sql_columns(s), info.n_columns);
	for (unsigned i = 0; i < info.n_columns; i++)
		if (!text_is(info.columns[i].name, sql_column_name(s, (int)i)))
			fail_msg("%s: column %u is %s, the header says %.*s", q->name, i + 1,
				 sql_column_name(s, (int)i), TEXT_ARG(info.columns[i].name));
	if ((unsigned)sql_params(s) != info.n_params)
		fail_msg("%s: %d parameters, the header has %u", q->name, sql_params(s), info.n_params);
	for (unsigned i = 0; i < info.n_params; i++) {
		char name[64];
		snprintf(name, sizeof(name), "%.*s", TEXT_ARG(info.params[i].name));
		if (!sql_param(s, name))
			fail_msg("%s: no parameter %s in the statement", q->name, name);
	}
	int rc;
	while ((rc = sql_step(s, &err)) == 1)
		for (unsigned i = 0; i < info.n_columns; i++) {
			enum sql_type t = sql_type(s, (int)i);
			struct text want = info.columns[i].type;
			bool number = text_is(want, "integer") || text_is(want, "time") || text_is(want, "bool");
			if (t == SQL_NULL)
				continue;
			if (number != (t == SQL_INT) || (t == SQL_REAL) != text_is(want, "real"))
				fail_msg("%s: a cell of %s has another type", q->name, sql_column_name(s, (int)i));
			if (text_is(want, "tri"))
				assert_true(text_is(sql_get_text(s, (int)i), "yes") ||
					    text_is(sql_get_text(s, (int)i), "no") ||
					    text_is(sql_get_text(s, (int)i), "unknown"));
			if (text_is(want, "json")) {
				struct json *j = json_new();
				struct json_value v;
				if (json_parse(j, sql_get_text(s, (int)i), false, &v, NULL, NULL))
					fail_msg("%s: %s is no JSON", q->name, sql_column_name(s, (int)i));
				json_free(j);
			}
		}
	if (rc)
		fail_msg("%s: %s", q->name, err.what);
	sql_end(s);
	query_info_done(&info);
}

static void test_contract(void **state)
{
	(void)state;
	assert_true(n_queries >= 20);
	for (size_t i = 0; i < n_queries; i++)
		one_contract(&queries[i]);
}

/* The same rows whatever order the tables give them in. */
static void test_total_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_queries; i++) {
		char first[16384];
		run("PRAGMA reverse_unordered_selects = 0");
		strcpy(first, rows(queries[i].sql));
		run("PRAGMA reverse_unordered_selects = 1");
		assert_string_equal(rows(queries[i].sql), first);
		run("PRAGMA reverse_unordered_selects = 0");
	}
}

/* A query goes through all events only when its header says so. */
static void test_plans(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_queries; i++) {
		CLEANUP(buf_done) struct buf b = BUF_INIT(MIB);
		struct query_info info;
		assert_int_equal(query_info_parse(&queries[i], &info, NULL), 0);
		assert_int_equal(buf_printf(&b, NULL, "EXPLAIN QUERY PLAN %s", queries[i].sql), 0);
		if (!info.scan_allowed && strstr(rows(b.ptr), "_events"))
			fail_msg("%s reads events, and its header does not say that it may", queries[i].name);
		query_info_done(&info);
	}
}

/* --- golden answers --- */
static const char *ask(const char *query, const char *columns)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(MIB);
	const struct query_text *q = query_find(queries, n_queries, text_of(query));
	if (!q)
		fail_msg("no query %s", query);
	assert_int_equal(buf_printf(&b, NULL, "SELECT %s FROM (%s)", columns, q->sql), 0);
	return rows(b.ptr);
}

static const struct {
	const char *query, *columns, *bad; /* what the bad case gives */
} golden[] = {
    {"over_limit_served", "request, prompt_tokens, input_limit, band, class", "gw-2|1200|994|over_pool|C1;"},
    {"handoff_mismatch", "request, prefill_tokens, prefill_outcome, decode_tokens, class",
     "gw-2|1|rejected|1200|C1;gw-3|90|aborted|90|C2;"},
    {"abort_served_as_success", "request, status, worker, role, class", "gw-3|200|p|prefill|C2;"},
    {"released_then_fetched", "request, prefill_worker, decode_worker, class", "gw-1|p|d|C3;"},
    {"stale_read", "reader_request, owner_request, pages, cross_tenant", "gw-2|gw-1|9|yes;"},
    {"late_write", "reader_request, owner_request, pages", "gw-4|gw-3|2;"},
    {"read_before_ready", "reader_request, owner_request, pages", "gw-4|-|1;"},
    {"cross_tenant_prefix_share", "reader_request, owner_request, pages", "gw-5|gw-4|1;"},
    {"context_exceeds_pool", "worker, context_len, pool_tokens", "p|2000|1000;"},
    {"log_gap", "kind, worker, missing", ""},
    {"marker_seen_elsewhere", "request, marker, planted_request, class", "gw-2|m-1|gw-1|C1;"},
    {"canary", "marker, planted_tenant, seen_tenant, verdict", "m-1|a|b|foreign;"},
    {"planted", "marker, known_as, trouble, own, \"foreign\"", "m-1|gw-1|-|0|1;"},
    {"clock_conflict", "source, effect", "2|two anchors disagree;"},
    {"unparsed_shapes", "reason, records, bytes, sample", "json_syntax|2|30|S1@5000+30;torn|1|10|S1@9000+10;"},
    {"conflicts", "request, class", "gw-4|C1;"},
    {"deploy_window", "replica, verdict, responses", "d|verified_affected|5;p|verified_affected|5;"},
    {"deploy_served_after_fix", "request, prefill_replica", ""},
    {"deploy_gateway_limits", "gateway, refused", ""},
    {"deploy_unread", "path, reasons", ""},
    {"cache_streams", "worker, rank, messages, stored, removed, clears, backwards, missing",
     "p|0|3|1|1|1|1|2;p|1|1|1|0|0|0|0;"},
};

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(golden); i++) {
		const char *now = ask(golden[i].query, golden[i].columns);
		if (!strcmp(golden[i].query, "log_gap"))
			assert_non_null(strstr(now, "sequence|d|3;"));
		else if (strcmp(now, golden[i].bad) != 0)
			fail_msg("%s: %s instead of %s", golden[i].query, now, golden[i].bad);
	}
}

static void test_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(golden); i++)
		if (*ask(golden[i].query, golden[i].columns))
			fail_msg("%s: %s, where nothing is wrong", golden[i].query,
				 ask(golden[i].query, golden[i].columns));
	same("SELECT class, count(*) FROM findings() GROUP BY class", "C4|5;");
	assert_string_equal(ask("scope", "request"), "");
	assert_string_equal(ask("exposed", "request"), "");
	assert_string_equal(ask("boots", "worker, input_limit, context_exceeds_pool"), "d|894|0;p|894|0;");
	assert_string_equal(ask("workers", "worker, role, boots, page_log"), "d|decode|1|1;p|prefill|1|0;");
	assert_string_equal(ask("deploy", "replica, verdict, rung, context_exceeds_pool"),
			    "d|verified_fixed|L4|no;p|verified_fixed|L4|no;");
	assert_string_equal(ask("deploy_pairs", "prefill_replica, decode_replica, prefill_limit, mismatch_tokens"),
			    "p|d|894|0;");
}

/* How much of the pool was in use before the read: the most that a batch line of that boot says, a second before at least. */
static void test_candidates(void **state)
{
	(void)state;
	put(pre, EVENT_BOOT, 0,
	    "what=start engine=sglang version=0.5.9 role=prefill context_len=2000 pool_tokens=1000");
	put(dec, EVENT_BOOT, 0,
	    "what=start engine=sglang version=0.5.9 role=decode context_len=2000 pool_tokens=5000 page_size=50");
	request(1, 10, 20, "a", 1200, 200, "rejected", 1);
	request(2, 30, 40, "b", 1300, 200, "rejected", 1);
	request(3, 60, 70, "b", 1100, 200, "rejected", 1);
	put(dec, EVENT_LOAD, 5, "what=decode used_tokens=0");
	put(dec, EVENT_LOAD, 15, "what=decode used_tokens=1250");
	put(dec, EVENT_LOAD, 18, "what=decode used_tokens=1100");
	put(dec, EVENT_LOAD, 29.5, "what=decode used_tokens=4000"); /* may have been after 30 */
	put(dec, EVENT_LOAD, 50, "what=decode usage_ppm=900000");   /* 0.90: between 0.895 and 0.905 */
	put(dec, EVENT_LOAD, 61, "what=decode used_tokens=5000");
	analyse(0, 0);
	assert_string_equal(
	    ask("candidates", "request, worker, candidate_owners, foreign_at_most, used_before, unused_at_most"),
	    "gw-1|d|0|0|-|-;gw-2|d|1|1250|1250|1300;gw-3|d|2|1100|4475|525;");
	assert_string_equal(ask("candidates", "json_array_length(refs)"), "0;1;1;");
}

/* Which hashes its workers held when a request began, what came while it ran, and what that follows. */
static const char *residency(const char *request_name, const char *columns)
{
	static char out[2048];
	CLEANUP(buf_done) struct buf b = BUF_INIT(MIB);
	struct sql *s = NULL;
	size_t at = 0;
	const struct query_text *q = query_find(queries, n_queries, TEXT("cache_residency"));
	assert_int_equal(buf_printf(&b, NULL, "SELECT %s FROM (%s)", columns, q->sql), 0);
	assert_int_equal(sql_prepare(&s, fixture, b.ptr, NULL), 0);
	assert_int_equal(sql_text(s, sql_param(s, ":request"), text_of(request_name), NULL), 0);
	out[0] = 0;
	while (sql_step(s, NULL) == 1)
		at += (size_t)snprintf(out + at, sizeof(out) - at, "%.*s;", TEXT_ARG(sql_get_text(s, 0)));
	sql_end(s);
	return out;
}

static void test_residency(void **state)
{
	(void)state;
	boots("0.5.9");
	request(1, 50, 60, "a", 100, 200, "finished", 100); /* its prefill leg runs from 50 to 51 */
	put(pre, EVENT_CACHE, 10, "what=stored seq=1 at=0 block=a1 rank=0");
	put(pre, EVENT_CACHE, 10, "what=stored seq=1 at=1 block=a2 rank=0");
	put(pre, EVENT_CACHE, 11, "what=stored seq=2 at=0 block=b1 salted=1 lora=x tenant=t rank=0");
	put(pre, EVENT_CACHE, 12, "what=stored seq=3 at=0 block=c1 rank=0");
	put(pre, EVENT_CACHE, 13, "what=removed seq=4 at=0 block=c1 rank=0");
	put(pre, EVENT_CACHE, 14, "what=stored seq=1 at=0 block=d1 rank=1");
	put(pre, EVENT_CACHE, 15, "what=cleared seq=2 at=0 rank=1");
	put(pre, EVENT_CACHE, 16, "what=stored seq=5 at=0 block=e1 medium=CPU rank=0");
	put(pre, EVENT_CACHE, 50.2, "what=stored seq=7 at=0 block=a3 parent=a2 rank=0"); /* 6 is lost */
	put(pre, EVENT_CACHE, 50.3, "what=stored seq=8 at=0 block=a4 parent=a3 rank=0");
	put(pre, EVENT_CACHE, 50.3, "what=stored seq=8 at=1 block=a5 rank=0");
	put(pre, EVENT_CACHE, 50.4, "what=stored seq=9 at=0 block=f1 rank=0");
	put(pre, EVENT_CACHE, 55, "what=stored seq=10 at=0 block=g1 rank=0"); /* after it */
	put(dec, EVENT_CACHE, 20, "what=stored seq=1 at=0 block=a1 rank=0");
	analyse(0, 0);
	assert_string_equal(residency("gw-1", "block || ' ' || state || ' ' || chain || ' ' || worker"),
			    "a1 resident idle d;a1 resident idle p;a2 resident continued p;b1 resident idle p;"
			    "a3 stored follows_resident p;a4 stored follows p;a5 stored follows p;f1 stored begins p;");
	assert_string_equal(residency("p1", "block || lora || salted || block_tenant"), ";;;b1x1t;;;;;");
	assert_string_equal(residency("9001", "DISTINCT worker || ' ' || missing || ' ' || grade"),
			    "d 0 logical;p 1 logical;");
	assert_string_equal(residency("gw-77", "block"), "");
}

/* --- parameters --- */
static const char *scope_with(const char *name, const char *value)
{
	static char out[1024];
	struct sql *s = NULL;
	const struct query_text *q = query_find(queries, n_queries, TEXT("scope"));
	int64_t n;
	size_t at = 0;
	assert_int_equal(sql_prepare(&s, fixture, q->sql, NULL), 0);
	int pos = sql_param(s, name);
	assert_true(pos > 0);
	assert_int_equal(
	    text_int64(text_of(value), &n) ? sql_int(s, pos, n, NULL) : sql_text(s, pos, text_of(value), NULL), 0);
	out[0] = 0;
	while (sql_step(s, NULL) == 1)
		at += (size_t)snprintf(out + at, sizeof(out) - at, "%.*s ", TEXT_ARG(sql_get_text(s, 0)));
	sql_end(s);
	return out;
}

static void test_params(void **state)
{
	(void)state;
	assert_string_equal(scope_with(":class", "C1"), "gw-2 gw-4 ");
	assert_string_equal(scope_with(":class", "C1, C3, C4"), "gw-1 gw-2 gw-4 gw-5 ");
	assert_string_equal(scope_with(":tenant", "b"), "gw-2 gw-4 ");
	assert_string_equal(scope_with(":since", "1788000042000000000"), "gw-4 gw-5 ");
	assert_string_equal(scope_with(":until", "1788000042000000000"), "gw-1 gw-2 gw-3 ");
}

int main(void)
{
#define T(name, with) cmocka_unit_test_setup_teardown(name, with, fixture_teardown)
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_candidates, setup, fixture_teardown),
	    cmocka_unit_test_setup_teardown(test_residency, setup, fixture_teardown),
	    T(test_contract, empty_case),
	    T(test_contract, bad_case),
	    T(test_contract, good_case),
	    T(test_total_order, bad_case),
	    T(test_plans, bad_case),
	    T(test_bad, bad_case),
	    T(test_good, good_case),
	    T(test_params, bad_case),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
