/* SPDX-License-Identifier: Apache-2.0 */
/* test_findings.c - predicates, classes and both sides, over small cases built from events */
#include "fleet_fixture.h"

#include "../../../src/analysis/findings.h"

#define FINDING "SELECT class, t || a || l || d, band, grade, owner_count FROM findings() WHERE request = "

static bool has_reason(const char *request_name, const char *reason)
{
	char q[300];
	snprintf(q, sizeof(q), "SELECT count(*) FROM findings() WHERE request = '%s' AND instr(reasons, '\"%s\"')",
		 request_name, reason);
	return !strcmp(rows(q), "1;");
}

/* The prefill worker's page log; a test that wants L=no needs it too. */
static int64_t log_p;
static int seq_p;
static void prefill_page(double at, const char *op, const char *rid, const char *pages)
{
	char line[300];
	snprintf(line, sizeof(line), "op=%s seq=%d pool=kv%s%s%s%s", op, seq_p++, rid ? " rid=" : "", rid ? rid : "",
		 pages ? " pages=" : "", pages ? pages : "");
	put(log_p, EVENT_PAGE, at, line);
}
static void prefill_boot(void)
{
	log_p = source("p.pages", "p", NULL);
	seq_p = 0;
	prefill_page(0, "boot", NULL, NULL);
}
static void prefill_pages(double from, const char *rid, const char *pages)
{
	prefill_page(from, "alloc", rid, pages);
	prefill_page(from + .1, "write", rid, pages);
	prefill_page(from + .2, "read", rid, pages);
	prefill_page(from + .3, "send", rid, pages);
	prefill_page(from + .4, "free", rid, pages);
}

/* --- without a page log --- */
static void test_no_page_log(void **state)
{
	(void)state;
	boots("0.5.9");
	request(1, 10, 20, "a", 100, 200, "finished", 100);
	request(2, 12, 40, "a", 100, 200, "finished", 100);
	request(3, 30, 35, "b", 1200, 200, "rejected", 1);
	request(4, 31, 36, "b", 996, 200, "finished", 996);
	request(5, 32, 37, "b", 993, 200, "finished", 993);
	request(6, 33, 38, "b", 1200, 400, "rejected", 1);
	analyse(0, 0);
	same(FINDING "'gw-1'", "C4|noyesunknownyes|under|temporal|0;");
	same(FINDING "'gw-3'", "C2|yesyesunknownyes|over_pool|temporal|0;");
	same(FINDING "'gw-4'", "C2|yesyesunknownyes|boundary|temporal|0;");
	same(FINDING "'gw-5'", "C4|noyesunknownyes|under|temporal|0;");
	same(FINDING "'gw-6'", "C4|yesyesunknownno|over_pool|temporal|0;");
	assert_true(has_reason("gw-3", "handoff_mismatch"));
	assert_true(has_reason("gw-3", "handoff_observed"));
	assert_true(has_reason("gw-3", "engine_rejected"));
	assert_true(has_reason("gw-5", "excluded_by:T"));
	assert_true(has_reason("gw-6", "excluded_by:D"));
	assert_false(has_reason("gw-1", "joined_by_time_and_length"));
	/* request 2 was still there: only request 1 had left something */
	same("SELECT candidate_owners FROM findings() WHERE request = 'gw-3'", "1;");
	same("SELECT request, class, readers, grade FROM exposed() WHERE class <> 'E4'",
	     "gw-1|E3|2|temporal;gw-3|E3|1|temporal;");
	same("SELECT count(*), (SELECT count(*) FROM response) FROM findings()", "6|6;");
}

static void test_lengths(void **state)
{
	(void)state;
	boots("0.5.9");
	put(gw, EVENT_GATEWAY, 20,
	    "what=access gateway_id=gw-1 room=1 status=200 bytes_sent=9 started_ns=10 finished_ns=20");
	put(pre, EVENT_LEG, 12, "what=finished rid=p1 room=1 role=prefill started_ns=10 finished_ns=12");
	put(dec, EVENT_LEG, 20,
	    "what=finished rid=d1 room=1 role=decode input_tokens=700 input_flag=at_least started_ns=10 "
	    "finished_ns=20");
	put(gw, EVENT_GATEWAY, 30,
	    "what=access gateway_id=gw-2 room=2 status=200 bytes_sent=9 started_ns=21 finished_ns=30");
	put(pre, EVENT_LEG, 22, "what=finished rid=p2 room=2 role=prefill started_ns=21 finished_ns=22");
	put(dec, EVENT_LEG, 30,
	    "what=finished rid=d2 room=2 role=decode input_tokens=1000 input_flag=at_least started_ns=21 "
	    "finished_ns=30");
	/* cut and served; and no prefill leg at all, below and above what every prefill worker takes */
	request(3, 40, 45, "a", 1500, 200, "truncated", 993);
	request(4, 50, 55, "a", 100, 200, NULL, 0);
	request(5, 60, 65, "a", 1000, 200, NULL, 0);
	analyse(0, 0);
	same("SELECT t, band FROM findings() ORDER BY request",
	     "unknown|unknown;yes|unknown;no|under;unknown|under;yes|boundary;");
	assert_true(has_reason("gw-1", "length_not_exact"));
	assert_true(has_reason("gw-3", "truncated_and_served"));
	assert_true(has_reason("gw-4", "prefill_leg_missing"));
}

/* A prefill worker that is known from snapshots alone, which differ: what it took in between, nobody knows. */
static void test_lost_boot(void **state)
{
	(void)state;
	int64_t q = source("q.json", "q", NULL);
	boots("0.5.9");
	put(q, EVENT_BOOT, 100, "what=snapshot engine=sglang role=prefill context_len=2000 pool_tokens=1900");
	put(q, EVENT_BOOT, 1000, "what=snapshot engine=sglang role=prefill context_len=2000 pool_tokens=900");
	request(1, 500, 510, "a", 1000, 200, NULL, 0);
	request(2, 2000, 2010, "a", 1000, 200, NULL, 0);
	analyse(0, 0);
	same("SELECT request, t, input_limit FROM findings() ORDER BY request", "gw-1|unknown|-;gw-2|yes|-;");
	assert_true(has_reason("gw-1", "limit_unknown"));
}

/* vLLM's own bug is not the hypothesis, but nobody is cleared against the engine's word. */
static void test_late_read(void **state)
{
	(void)state;
	put(pre, EVENT_BOOT, 0,
	    "what=start engine=vllm version=0.22.1 role=prefill context_len=2000 pool_tokens=1000 input_limit=2000");
	put(dec, EVENT_BOOT, 0,
	    "what=start engine=vllm version=0.22.1 role=decode context_len=2000 pool_tokens=5000 input_limit=2000");
	for (int i = 1; i <= 3; i++) {
		char line[300];
		snprintf(line, sizeof(line),
			 "what=access gateway_id=gw-%d tenant=a status=200 prompt_tokens=100 prompt_tokens_flag=exact "
			 "completion_tokens=20 bytes_sent=99 started_ns=%d finished_ns=%d",
			 i, i * 1000, i * 1000 + 600);
		put(gw, EVENT_GATEWAY, i * 1000 + 600, line);
		snprintf(line, sizeof(line), "what=finished rid=chatcmpl-gw-%d role=prefill input_tokens=100", i);
		put(pre, EVENT_LEG, i * 1000, line);
		snprintf(line, sizeof(line), "what=received rid=chatcmpl-gw-%d role=decode", i);
		put(dec, EVENT_LEG, i * 1000 + 1, line);
	}
	put(pre, EVENT_LEG, 2480, "what=expired rid=chatcmpl-gw-2 role=prefill");
	put(pre, EVENT_LEG, 2500, "what=late_read rid=chatcmpl-gw-2 role=prefill");
	put(pre, EVENT_LEG, 2500, "what=late_read rid=chatcmpl-gw-2 role=prefill"); /* of another rank */
	put(pre, EVENT_LEG, 3500, "what=sent rid=chatcmpl-gw-3 role=prefill");
	analyse(0, 0);
	same("SELECT request, class, t, a FROM findings() ORDER BY request",
	     "gw-1|C4|no|no;gw-2|C3|unknown|unknown;gw-3|C4|no|no;");
	same("SELECT count(*), sum(outcome = 'late_read') FROM leg", "6|1;");
	assert_true(has_reason("gw-2", "late_read_reported"));
	assert_false(has_reason("gw-1", "late_read_reported"));
	assert_true(has_reason("gw-1", "engine_other"));
}

/* The reasoning says what the finding says, and its counterfactuals are those of the rules. */
static void test_explain(void **state)
{
	(void)state;
	boots("0.5.9");
	request(1, 10, 20, "a", 100, 200, "finished", 100); /* below the limit */
	request(2, 30, 40, "b", 1200, 200, "rejected", 1);  /* the incident, without page log */
	analyse(0, 0);
	same("SELECT value, says FROM explain((SELECT request_id FROM findings() WHERE request='gw-2')) WHERE "
	     "step='class'",
	     "C2 probable|C2 probable, by rule 6: T, A and D are yes, and L is unknown.;");
	same("SELECT about, value FROM explain((SELECT request_id FROM findings() WHERE request='gw-2')) WHERE "
	     "step='predicate'",
	     "T|yes;A|yes;L|unknown;D|yes;X|unknown;");
	same("SELECT about, says FROM explain((SELECT request_id FROM findings() WHERE request='gw-2')) WHERE "
	     "step='change' "
	     "AND about IN ('T', 'D')",
	     "T|Were it no: C4 not affected.;D|Were it no: C4 not affected.;");
	same("SELECT says LIKE 'Were it no: C4 not affected; were it yes: C1 confirmed. What would tell: page logs%' "
	     "FROM "
	     "explain((SELECT request_id FROM findings() WHERE request='gw-2')) WHERE step='change' AND about='L'",
	     "1;");
	same("SELECT says FROM explain((SELECT request_id FROM findings() WHERE request='gw-2')) WHERE step='fact' AND "
	     "about='T'",
	     "The prompt is 1200 tokens, the input limit is 994 tokens, the prefill pool is 1000 tokens, the decode "
	     "boot's own limit is 1994 "
	     "tokens.;");
	same("SELECT code FROM explain((SELECT request_id FROM findings() WHERE request='gw-1')) WHERE code LIKE "
	     "'excluded%'",
	     "excluded_by:T;");
	/* every reason of every finding is in the explanation, and no other */
	same("SELECT count(*) FROM findings() f, json_each(f.reasons) r WHERE r.value NOT IN (SELECT code FROM "
	     "explain(f.request_id) WHERE code IS NOT NULL)",
	     "0;");
	same("SELECT (SELECT count(*) FROM findings() f, json_each(f.reasons)) = (SELECT count(*) FROM findings() f, "
	     "explain(f.request_id) e WHERE e.code IS NOT NULL)",
	     "1;");
	/* a request that nobody knows, and none */
	same("SELECT count(*) FROM explain(999)", "0;");
	same("SELECT count(*) FROM explain(NULL)", "0;");
	assert_null(reason_says(TEXT("no_such_reason")));
	assert_non_null(strstr(reason_says(TEXT("excluded_by:L")), "page logs"));
}

/* Each role has its own limit: at the decode boot's, that worker should have refused too. */
static void test_decode_limit(void **state)
{
	(void)state;
	boots("0.5.9");
	request(1, 10, 20, "a", 1993, 200, "rejected", 1);
	request(2, 30, 40, "a", 1994, 200, "rejected", 1);
	analyse(0, 0);
	same("SELECT request, t, class, input_limit, decode_limit FROM findings() ORDER BY request",
	     "gw-1|yes|C2|994|1994;gw-2|yes|C2|994|1994;");
	assert_false(has_reason("gw-1", "over_decode_limit_too"));
	assert_true(has_reason("gw-2", "over_decode_limit_too"));
}

static void test_person_says(void **state)
{
	(void)state;
	put(pre, EVENT_BOOT, 0, "what=start engine=sglang version=0.5.9 role=prefill");
	put(dec, EVENT_BOOT, 0, "what=start engine=sglang version=0.5.9 role=decode");
	request(1, 10, 20, "a", 996, 200, "finished", 996);
	analyse(0, 0);
	same("SELECT t, class, input_limit FROM findings()", "unknown|C3|-;");
	assert_true(has_reason("gw-1", "limit_unknown"));
	struct analysis_params params = {.pool_tokens = 1000};
	assert_int_equal(analysis_register(fixture, &params, NULL), 0);
	same("SELECT t, class, pool_tokens, input_limit, band FROM findings()", "yes|C2|1000|994|boundary;");
	assert_true(has_reason("gw-1", "entered_by_person"));
	params = (struct analysis_params){.input_limit = 997};
	assert_int_equal(analysis_register(fixture, &params, NULL), 0);
	same("SELECT t, class, pool_tokens, input_limit FROM findings()", "no|C4|-|997;");
}

static void test_builds(void **state)
{
	(void)state;
	static const struct {
		const char *version, *a;
	} v[] = {{"0.5.9", "yes"},       {"0.4.10.post2", "yes"},  {"v0.5.21", "yes"},
		 {"0.5.9+cu124", "yes"}, {"0.5.22", "no"},         {"0.5.22.post1", "no"},
		 {"1.0.0", "no"},        {"0.5.22rc1", "unknown"}, {"0.5.22.dev12", "unknown"},
		 {"0.0.0", "unknown"},   {"0.5.9+site.p1", "yes"}, {"0.5.22+site.p1", "unknown"},
		 {"main", "unknown"}};
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		if (i) {
			fixture_teardown(state);
			assert_int_equal(setup(state), 0);
		}
		boots(v[i].version);
		request(1, 10, 20, "a", 100, 200, "finished", 100);
		analyse(0, 0);
		char want[32];
		snprintf(want, sizeof(want), "%s;", v[i].a);
		same("SELECT a FROM findings()", want);
	}
}

static void test_unified(void **state)
{
	(void)state;
	put(dec, EVENT_BOOT, 0,
	    "what=start engine=sglang version=0.5.9 role=unified context_len=2000 pool_tokens=1000");
	put(dec, EVENT_LEG, 20,
	    "what=rejected rid=r1 role=unified input_tokens=1200 limit_tokens=994 status=400 started_ns=10 "
	    "finished_ns=20");
	put(gw, EVENT_GATEWAY, 20,
	    "what=access gateway_id=g1 response_id=r1 status=400 prompt_tokens=1200 prompt_tokens_flag=exact "
	    "started_ns=10 finished_ns=20");
	put(dec, EVENT_LEG, 40,
	    "what=finished rid=r2 role=unified input_tokens=120 input_flag=exact output_tokens=4 started_ns=30 "
	    "finished_ns=40");
	put(gw, EVENT_GATEWAY, 40,
	    "what=access gateway_id=g2 response_id=r2 status=200 bytes_sent=9 started_ns=30 finished_ns=40");
	analyse(0, 0);
	same("SELECT request, class, a, d FROM findings()", "g1|C4|no|no;g2|C4|no|yes;");
}

/* --- with a page log --- */
static void test_stale(void **state)
{
	(void)state;
	boots("0.5.9");
	page_boot();
	prefill_boot();
	request(1, 10, 20, "a", 100, 200, "finished", 100);
	prefill_pages(10, "p1", "0+10");
	good_pages(10, "d1", "0+10");
	request(2, 21, 28, "a", 300, 200, "finished", 300);
	good_pages(21, "d2", "10+30");
	request(3, 30, 35, "b", 1200, 200, "rejected", 1);
	page(30, "alloc", "d3", "0+120");
	page(30.1, "recv", "d3", "0+1");
	page(30.2, "read", "d3", "0+120");
	page(30.3, "read", "d3", "0+120");
	page(34, "free", "d3", "0+120");
	request(4, 40, 45, "b", 1200, 500, "rejected", 1);
	page(40, "alloc", "d4", "1+5");
	page(40.2, "read", "d4", "1+5");
	page(44, "free", "d4", "1+5");
	analyse(0, 0);
	same("SELECT reader_request, owner_request, cross_tenant, kind, pages, tokens_at_most, " SECONDS(
		 "first_read_at") ", delivered, grade "
				  "FROM exposures() ORDER BY first_read_at, owner_request",
	     "gw-3|-|-|uninitialised|80|800|30|yes|physical;gw-3|gw-1|yes|stale|9|90|30|yes|physical;"
	     "gw-3|gw-2|yes|stale|30|300|30|yes|physical;gw-4|gw-1|yes|stale|5|50|40|no|physical;");
	same(FINDING "'gw-1'", "C4|noyesnoyes|under|physical|0;");
	same(FINDING "'gw-3'", "C1|yesyesyesyes|over_pool|physical|2;");
	same(FINDING "'gw-4'", "C4|yesyesyesno|over_pool|physical|1;");
	assert_true(has_reason("gw-4", "stale_read_not_delivered"));
	same("SELECT cross_tenant, owner_tenants, candidate_owners, conflict FROM findings() WHERE request = 'gw-3'",
	     "yes|1|-|0;");
	same("SELECT request, class, readers, reader_tenants, pages, grade FROM exposed()",
	     "gw-1|E1|2|1|9|physical;gw-2|E1|1|1|30|physical;gw-3|E4|0|-|-|-;gw-4|E4|0|-|-|-;");
	same("SELECT what, other_request, pages FROM lineage(3) ORDER BY at, what, other_request",
	     "alloc|-|120;leg|-|-;leg|-|-;recv|-|1;read|-|120;read_from|-|80;read_from|gw-1|9;read_from|gw-2|30;free|-|"
	     "120;");
	same("SELECT what, other_request, kind FROM lineage('gw-1') WHERE what = 'read_by' ORDER BY at",
	     "read_by|gw-3|stale;read_by|gw-4|stale;");
}

/* Failure 2: not the length, but a transfer that went on after its request was aborted. The hypothesis falls. */
static void test_late_write(void **state)
{
	(void)state;
	boots("0.5.9");
	page_boot();
	request(1, 10, 12, "a", 100, 200, "aborted", 100);
	page(10, "alloc", "d1", "0+10");
	page(11, "free", "d1", "0+10");
	request(2, 13, 20, "b", 80, 200, "finished", 80);
	page(13, "alloc", "d2", "0+8");
	page(13.1, "recv", "d2", "0+8");
	page(13.2, "recv", "d1", "2+3");
	page(13.3, "read", "d2", "0+8");
	page(13.4, "recv", "d2", "2+3");
	page(19, "free", "d2", "0+8");
	request(3, 30, 35, "b", 50, 200, "finished", 50);
	good_pages(30, "d3", "20+5");
	prefill_boot();
	prefill_pages(30, "p3", "20+5");
	request(4, 40, 45, "b", 50, 200, "finished", 50); /* no page record: only T excluded it */
	analyse(0, 0);
	same("SELECT reader_request, owner_request, kind, pages FROM exposures()", "gw-2|gw-1|late_write|3;");
	same("SELECT request, class, t || l, conflict, trigger_stands, build_stands FROM findings() WHERE request <> "
	     "'gw-1'",
	     "gw-2|C1|noyes|1|0|1;gw-3|C4|nono|0|0|1;gw-4|C3|nounknown|0|0|1;");
	assert_true(has_reason("gw-2", "conflict:L,T"));
}

static void test_sharing_and_order(void **state)
{
	(void)state;
	boots("0.5.9");
	page_boot();
	prefill_boot();
	prefill_pages(10, "p1", "0+10");
	prefill_pages(21, "p2", "0+10");
	request(1, 10, 20, "a", 100, 200, "finished", 100);
	page(10, "alloc", "d1", "0+10");
	page(10.1, "recv", "d1", "0+10");
	page(10.2, "read", "d1", "0+10");
	request(2, 21, 28, "b", 100, 200, "finished", 100);
	page(21, "share", "d2", "0+6");
	page(21, "alloc", "d2", "20+4");
	page(21.1, "read", "d2", "0+6,20+4"); /* before its own pages were filled */
	page(21.2, "recv", "d2", "20+4");
	page(21.3, "read", "d2", "0+6,20+4");
	page(27, "free", "d2", "20+4");
	page(28, "free", "d1", "0+10");
	analyse(0, 0);
	same("SELECT kind, owner_request, cross_tenant, pages FROM exposures() ORDER BY kind",
	     "not_ready|-|-|4;shared|gw-1|yes|6;");
	same("SELECT request, class, l FROM findings()", "gw-1|C4|no;gw-2|C4|no;");
}

/* A hole between a request's alloc and its read may have held the record that filled its pages. */
static void test_hole(void **state)
{
	(void)state;
	boots("0.5.9");
	page_boot();
	prefill_boot();
	prefill_pages(10, "p1", "0+10");
	prefill_pages(50, "p4", "0+10");
	request(1, 10, 20, "a", 100, 200, "finished", 100);
	good_pages(10, "d1", "0+10");
	request(2, 30, 35, "b", 100, 200, "finished", 100);
	page(30, "alloc", "d2", "0+10");
	seq++;
	page(30.2, "read", "d2", "0+10");
	page(34, "free", "d2", "0+10");
	request(3, 40, 45, "b", 1200, 200, "rejected",
		1); /* after the hole: sure again, but nobody is cleared any more */
	page(40, "alloc", "d3", "0+10");
	page(40.2, "read", "d3", "0+10");
	page(44, "free", "d3", "0+10");
	request(4, 50, 55, "b", 50, 200, "finished", 50);
	good_pages(50, "d4", "0+5");
	analyse(0, 0);
	same("SELECT request, class, l, grade, owner_count FROM findings()",
	     "gw-1|C4|no|physical|0;gw-2|C4|unknown|temporal|0;gw-3|C1|yes|physical|1;gw-4|C4|unknown|temporal|0;");
	same("SELECT reader_request, kind, grade FROM exposures() ORDER BY first_read_at",
	     "gw-2|stale|temporal;gw-3|stale|physical;");
	assert_true(has_reason("gw-2", "foreign_read_across_gap"));
}

/* The same records in other files, twice, in pieces, backwards: the same answer. */
static void test_order_of_files(void **state)
{
	char first[16384];
	static const char ask[] =
	    "SELECT worker, reader_request, owner_request, kind, pages, first_read_at, grade FROM exposures() "
	    "ORDER BY 6, 3, 4";
	static const char cover[] = "SELECT request, l FROM findings()";
	for (int way = 0; way < 6; way++) {
		if (way) {
			fixture_teardown(state);
			assert_int_equal(setup(state), 0);
		}
		int64_t other = source("d.pages.1", "d", NULL);
		boots("0.5.9");
		prefill_boot();
		prefill_pages(10, "p1", "0+10");
		size_t from = n_pending;
		page_boot();
		for (int k = 0; k < 2; k++) { /* two boots, the same ids */
			request(1 + 10 * k, 10 + 100 * k, 20 + 100 * k, "a", 100, 200, "finished", 100);
			good_pages(10 + 100 * k, k ? "d11" : "d1", "0+10");
			request(2 + 10 * k, 30 + 100 * k, 40 + 100 * k, "b", 100, 200, "finished", 100);
			page(30 + 100 * k, "alloc", k ? "d12" : "d2", "5+10");
			page(30 + 100 * k, "read", k ? "d12" : "d2", "5+10"); /* equal time: seq decides */
			page(31 + 100 * k, "recv", k ? "d12" : "d2", "5+2");
			page(34 + 100 * k, "free", k ? "d12" : "d2", "5+10");
			if (!k) {
				page(100, "boot", NULL, NULL);
				page(101, "reset", NULL, NULL);
			}
		}
		size_t to = n_pending, at = 0;
		struct pending copy[64];
		for (size_t i = from; i < to; i++)
			if (pending[i].kind == EVENT_PAGE)
				copy[at++] = pending[i];
		size_t n = from; /* what is not a page record stays; page records are laid out anew */
		for (size_t i = from; i < to; i++)
			if (pending[i].kind != EVENT_PAGE)
				pending[n++] = pending[i];
		n_pending = n;
		next_off[log_d] = next_off[other] = 0;
		for (size_t k = 0; k < at; k++) {
			size_t i = way == 1 ? at - 1 - k : way == 5 ? k ^ (k + 1 < at || at % 2 == 0) : k;
			int64_t src = way == 2 && i % 2 ? other : way == 3 && i >= at / 2 ? other : log_d;
			put(src, EVENT_PAGE, copy[i].at, copy[i].spec);
			if (way == 4 || (way == 3 && i >= at / 2 && i < at / 2 + 4)) /* copied, or overlapping */
				put(way == 4 ? other : log_d, EVENT_PAGE, copy[i].at, copy[i].spec);
		}
		analyse(0, 0);
		char now[16384];
		snprintf(now, sizeof(now), "%s\n%s", rows(ask), rows(cover));
		if (!way)
			strcpy(first, now);
		assert_string_equal(now, first);
	}
	assert_non_null(strstr(first, "gw-2|gw-1|stale|3|"));
	assert_non_null(strstr(first, "gw-12|gw-11|stale|3|"));
	assert_non_null(strstr(first, "gw-2|gw-1|not_ready|2|"));
	assert_non_null(strstr(first, "gw-1|no;"));
}

/* Taking a source away never moves a response into C4. */
static void test_monotone(void **state)
{
	char all[16384];
	static const char ask[] = "SELECT request_id, class FROM findings() ORDER BY request_id";
	for (int gone = 0; gone <= 4; gone++) {
		if (gone) {
			fixture_teardown(state);
			assert_int_equal(setup(state), 0);
		}
		boots("0.5.9");
		page_boot();
		request(1, 10, 20, "a", 100, 200, "finished", 100);
		good_pages(10, "d1", "0+10");
		request(2, 30, 35, "b", 1200, 200, "rejected", 1);
		page(30, "alloc", "d2", "0+12");
		page(30.2, "read", "d2", "0+12");
		page(34, "free", "d2", "0+12");
		request(3, 50, 55, "b", 996, 200, "finished", 996);
		request(4, 60, 65, "b", 900, 200, "aborted", 900);
		resolve();
		if (gone) {
			char line[100];
			snprintf(line, sizeof(line), "DELETE FROM event_chunk WHERE source = %d", gone);
			run(line);
			resolve();
		}
		struct analysis_params params = {0};
		assert_int_equal(analysis_register(fixture, &params, NULL), 0);
		const char *now = rows("SELECT prompt_tokens, class FROM findings() ORDER BY started_at, request_id");
		(void)ask;
		if (!gone) {
			strcpy(all, now);
			assert_string_equal(all, "100|C4;1200|C1;996|C2;900|C2;");
			continue;
		}
		same("SELECT count(*) FROM findings() WHERE class = 'C4' AND started_at > 1788000029000000000", "0;");
	}
}

/* L=no rests on the page logs of both legs; which one is missing is said. */
static void test_both_legs(void **state)
{
	(void)state;
	boots("0.5.9");
	page_boot();
	for (int n = 1; n <= 5; n++) {
		char rid[8];
		snprintf(rid, sizeof(rid), "d%d", n);
		request(n, 10. * n, 10. * n + 5, "a", n == 3 ? 1200 : 100, 200,
			n == 3   ? "rejected"
			: n == 4 ? "aborted"
			: n == 5 ? NULL
				 : "finished",
			n == 3 ? 1 : 100);
		if (n != 3 && n != 4) {
			good_pages(10. * n, rid, "0+10");
			continue;
		}
		page(10. * n, "alloc", rid,
		     n == 3 ? "100+10" : "110+10"); /* a placeholder alone arrives, in fresh pages */
		page(10. * n + .1, "recv", rid, n == 3 ? "100" : "110");
		page(10. * n + .2, "read", rid, n == 3 ? "100+10" : "110+10");
		page(10. * n + .3, "free", rid, n == 3 ? "100+10" : "110+10");
	}
	request(6, 60, 65, "a", 100, 200, "aborted", 100); /* and here all of it arrives */
	good_pages(60, "d6", "0+10");
	analyse(0, 0);
	/* rejected, aborted: nothing rests on the prefill leg. Unknown: anything may */
	same("SELECT request, l FROM findings()",
	     "gw-1|unknown;gw-2|unknown;gw-3|no;gw-4|no;gw-5|unknown;gw-6|unknown;");
	assert_true(has_reason("gw-1", "no_prefill_page_log"));
	assert_true(has_reason("gw-5", "no_prefill_page_log"));
	assert_false(has_reason("gw-1", "no_page_log"));
	prefill_boot();
	prefill_pages(10, "p1", "0+10");
	prefill_page(20, "alloc", "p2", "0+10");
	prefill_page(20.1, "read", "p2", "0+10"); /* a foreign read on the prefill worker */
	seq_p++;
	prefill_page(30, "alloc", "p4", "0+10");
	prefill_page(30.1, "read", "p4", "0+10"); /* of a leg on which nothing rests */
	prefill_page(60, "alloc", "p6", "0+10");
	prefill_page(60.1, "read", "p6", "0+10"); /* of one whose content the decode leg received, aborted or not */
	analyse(0, 0);
	same("SELECT request, l FROM findings()", "gw-1|no;gw-2|yes;gw-3|no;gw-4|no;gw-5|unknown;gw-6|yes;");
	assert_true(has_reason("gw-4", "foreign_read_in_unused_prefill"));
	assert_false(has_reason("gw-6", "foreign_read_in_unused_prefill"));
}

/* A log that records no reading, or the reading of a part, clears nobody who got an answer. */
static void test_reading_shown(void **state)
{
	(void)state;
	boots("0.5.9");
	page_boot();
	prefill_boot();
	for (int n = 1; n <= 7; n++) {
		char rid[8];
		snprintf(rid, sizeof(rid), "p%d", n);
		request(n, 10. * n, 10. * n + 5, "a", 100, n == 7 ? 500 : 200, "finished", 100);
		prefill_pages(10. * n, rid, "0+10");
	}
	page(10, "alloc", "d1", "0+10");
	page(10.1, "recv", "d1", "0+10"); /* never reads */
	page(10.2, "free", "d1", "0+10");
	page(20, "alloc", "d2", "0+10");
	page(20.1, "recv", "d2", "0+10");
	page(20.2, "read", "d2", "0+3"); /* a part */
	page(20.3, "free", "d2", "0+10");
	page(30, "alloc", "d3", "0+12");
	page(30.1, "recv", "d3", "0+10");
	page(30.2, "read", "d3", "0+10"); /* its prompt; two pages were never needed */
	page(30.3, "free", "d3", "0+12");
	page(40, "alloc", "d4", "0+10");
	page(40.1, "recv", "d4", "0+10");
	page(40.2, "read", "d4", "0+10");
	page(40.3, "alloc", "d4", "10+2");
	page(40.4, "write", "d4", "10+1"); /* the last step's read was not logged, but it filled its page itself */
	page(40.5, "free", "d4", "0+12");
	page(50, "alloc", "d5", "0+10");
	page(50.1, "recv", "d5", "0+10");
	page(50.2, "read", "d5", "0+1");
	page(50.3, "write", "d5", "1+9"); /* filled by itself, but nobody saw it read its prompt */
	page(50.4, "free", "d5", "0+10");
	page(60, "alloc", "d6", "0+2,40+8");
	page(60.1, "recv", "d6", "0+2,40+8");
	page(60.2, "read", "d6", "0+2");
	page(60.3, "read", "d6", "40+8"); /* in two parts */
	page(60.4, "free", "d6", "40+8");
	page(60.5, "free", "d6", "0+2");
	page(70, "alloc", "d7", "0+10"); /* never reads, and nothing left */
	page(70.1, "recv", "d7", "0+10");
	page(70.2, "free", "d7", "0+10");
	analyse(0, 0);
	same("SELECT request, l FROM findings()",
	     "gw-1|unknown;gw-2|unknown;gw-3|no;gw-4|no;gw-5|unknown;gw-6|no;gw-7|no;");
	assert_true(has_reason("gw-1", "no_read_logged"));
	assert_true(has_reason("gw-2", "pages_read_in_part"));
	assert_true(has_reason("gw-5", "pages_read_in_part"));
}

/* A log without any read, and a worker whose role nobody logged: each write may be a decode step. Where the prompt came from
 * another worker, a log without `recv` cannot tell what it was written over. */
static void test_unknown_role(void **state)
{
	static const struct {
		bool handed;
		const char *pages, *l, *why;
	} w[] = {
	    {false, "19", "yes", "foreign_read"}, /* the last page alone: the prompt was never filled */
	    {true, "19", "unknown", "foreign_read_across_gap"},
	    {false, "0+19", "unknown", "write_may_be_read"}, /* a prompt, or a step: the last page is not its own */
	    {false, "0+20", "unknown", "no_read_logged"}};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(w); i++) {
		char line[200], want[32];
		if (i) {
			fixture_teardown(state);
			assert_int_equal(setup(state), 0);
		}
		page_boot();
		prefill_boot();
		page(1, "alloc", "d0", "0+20");
		page(2, "write", "d0", "0+20");
		page(3, "free", "d0", "0+20");
		put(gw, EVENT_GATEWAY, 20,
		    "what=access gateway_id=gw-1 room=9001 tenant=a model=m status=200 prompt_tokens=195 "
		    "prompt_tokens_flag=exact completion_tokens=20 bytes_sent=99 started_ns=10 finished_ns=20");
		if (w[i].handed)
			put(pre, EVENT_LEG, 11,
			    "what=finished rid=p1 room=9001 role=prefill input_tokens=1 input_flag=exact started_ns=10 "
			    "finished_ns=11");
		prefill_pages(10, "p1", "0+20");
		snprintf(line, sizeof(line), "op=alloc seq=%d pool=kv rid=gw-1%s pages=0+20", seq++,
			 w[i].handed ? " room=9001" : "");
		put(log_d, EVENT_PAGE, 12, line);
		page(13, "write", "gw-1", w[i].pages);
		page(19, "free", "gw-1", "0+20");
		analyse(0, 0);
		snprintf(want, sizeof(want), "%s;", w[i].l);
		same("SELECT l FROM findings() WHERE request = 'gw-1'", want);
		assert_true(has_reason("gw-1", w[i].why));
		same("SELECT role FROM worker WHERE name = 'd'", "-;");
	}
}

/* A retry that no engine logged may have been the one that answered: nothing is excluded by the one that was. */
static void test_unseen_attempt(void **state)
{
	(void)state;
	boots("0.5.22");
	page_boot();
	prefill_boot();
	prefill_pages(10, "p1", "0+10");
	good_pages(10, "d1", "0+10");
	put(gw, EVENT_GATEWAY, 11, "what=retry gateway_id=gw-1 room=9001 status=500");
	put(gw, EVENT_GATEWAY, 30,
	    "what=access gateway_id=gw-1 room=9001 tenant=a model=m status=200 prompt_tokens=100 "
	    "prompt_tokens_flag=exact completion_tokens=20 bytes_sent=99 started_ns=10 finished_ns=30");
	put(pre, EVENT_LEG, 11,
	    "what=failed rid=p1 room=9001 role=prefill input_tokens=100 input_flag=exact started_ns=10 finished_ns=11");
	put(dec, EVENT_LEG, 11,
	    "what=failed rid=d1 room=9001 role=decode input_tokens=100 input_flag=exact status=500 started_ns=10 "
	    "finished_ns=11");
	analyse(0, 0);
	same("SELECT class, t, a, l, d FROM findings()", "C3|unknown|unknown|unknown|yes;");
	assert_true(has_reason("gw-1", "attempt_not_seen"));
}

/* A log under another worker's name: one attempt with two places, or parts that exclude each other, clears nobody. */
static void test_legs_contradict(void **state)
{
	static const struct {
		const char *worker, *leg;
	} more[] = {
	    {NULL, NULL},
	    {"p", "what=finished rid=d1 room=9001 role=prefill input_tokens=100 input_flag=exact output_tokens=20"},
	    {"q", "what=finished rid=x1 room=9001 role=prefill input_tokens=100 input_flag=exact output_tokens=1"},
	    {"u", "what=finished rid=d1 room=9001 role=unified input_tokens=100 input_flag=exact output_tokens=20"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		char line[256];
		if (i) {
			fixture_teardown(state);
			setup(state);
		}
		boots("0.5.22");
		request(1, 10, 20, "a", 100, 200, "finished", 100);
		if (more[i].leg) {
			snprintf(line, sizeof(line), "%s started_ns=10 finished_ns=20", more[i].leg);
			put(source("other.log", more[i].worker, NULL), EVENT_LEG, 20, line);
		}
		analyse(0, 0);
		same("SELECT class, t, a FROM findings()", i ? "C3|unknown|unknown;" : "C4|no|no;");
		assert_int_equal(has_reason("gw-1", "legs_contradict"), i > 0);
	}
}

/* A sweep is long work without a statement: it looks at the signal itself. */
static void test_stopped(void **state)
{
	static volatile sig_atomic_t stop = 1, go = 0;
	struct lineage *l = NULL;
	struct err err = {0};
	(void)state;
	boots("0.5.9");
	page_boot();
	request(1, 10, 20, "a", 100, 200, "finished", 100);
	good_pages(10, "d1", "0+10");
	analyse(0, 0);
	case_stop_on(fixture, &stop);
	assert_int_equal(lineage_run(&l, fixture, &err), ERR_INTERRUPTED);
	case_stop_on(fixture, &go);
	assert_int_equal(lineage_run(&l, fixture, &err), 0);
	struct findings *f = NULL;
	struct analysis_params params = {0};
	case_stop_on(fixture, &stop);
	assert_int_equal(findings_run(&f, fixture, &params, l, &err), ERR_INTERRUPTED);
	case_stop_on(fixture, &go);
	lineage_free(l);
	same("SELECT count(*) FROM findings()", "1;");
}

/* What was joined by time and length alone says so; a request's name is among its aliases, row or not. */
static void test_joined_loosely(void **state)
{
	(void)state;
	boots("0.5.9");
	put(gw, EVENT_GATEWAY, 30,
	    "what=access gateway_id=g1 tenant=a model=m status=200 prompt_tokens=700 completion_tokens=40 started_ns=9 "
	    "finished_ns=30");
	put(pre, EVENT_LEG, 10.5,
	    "what=finished rid=p1 room=1001 role=prefill input_tokens=700 output_tokens=1 started_ns=9.1 "
	    "finished_ns=10.5");
	put(dec, EVENT_LEG, 29.8,
	    "what=finished rid=d1 room=1001 role=decode input_tokens=700 output_tokens=40 started_ns=9.2 "
	    "finished_ns=29.8");
	analyse(0, 0);
	same("SELECT request, aliases FROM findings()", "g1|[\"1001\",\"d1\",\"g1\",\"p1\"];");
	assert_true(has_reason("g1", "joined_by_time_and_length"));
	run("CREATE TEMP TABLE alias AS SELECT * FROM alias WHERE value <> 'g1'");
	same("SELECT aliases FROM findings() WHERE request = 'g1'", "[\"1001\",\"d1\",\"g1\",\"p1\"];");
}

static uint32_t dice(uint32_t *s, uint32_t n)
{
	*s = *s * 1664525u + 1013904223u;
	return (*s >> 8) % n;
}

/* Whatever length is only known to be at least so much: T is never no where the whole truth would not be. */
static void test_lower_bounds_clear_nobody(void **state)
{
	(void)state;
	uint32_t s = 1, no = 0, unknown = 0;
	struct policy *p;
	assert_int_equal(policy_builtin(&p, NULL, NULL), 0);
	for (int round = 0; round < 200000; round++) {
		static const int64_t lengths[] = {1, 2, 15, 16, 17, 500, 993, 994, 995, 1000, 1001, 4000};
		static const struct build_verdict none = {TRI_NO, true, REASON_VERSION_FIXED};
		struct served_boot boots[] = {
		    {.boot = 1, .verdicts = &none, .role = AS_PREFILL, .pool_tokens = 1000, .input_limit = 994},
		    {.boot = 2, .verdicts = &none, .role = AS_DECODE, .pool_tokens = 5000, .input_limit = 4994}};
		struct served_leg legs[2] = {{.leg = 1, .attempt = 1, .boot = 1, .role = AS_PREFILL},
					     {.leg = 2, .attempt = 1, .boot = 2, .role = AS_DECODE}};
		struct evidence_of e = {
		    .policy = p, .legs = legs, .n_legs = 2, .boots = boots, .n_boots = 2, .attempts = 1};
		struct finding f[2];
		size_t from = dice(&s, 8) ? 0 : 1;
		e.delivered = (enum tri)dice(&s, 3);
		for (int i = 0; i < 2; i++) {
			legs[i].input_tokens = lengths[dice(&s, ARRAY_SIZE(lengths))];
			legs[i].rejected_tokens = legs[i].limit_tokens = UNSAID;
			legs[i].output_tokens = dice(&s, 3) ? 20 : 0;
			legs[i].flag = LENGTH_EXACT;
			legs[i].outcome = (enum outcome)dice(&s, 6);
			if (legs[i].outcome == OUTCOME_TRUNCATED)
				legs[i].outcome = OUTCOME_FINISHED;
		}
		e.legs += from;
		e.n_legs -= from + (from ? 0 : !dice(&s, 8));
		int64_t prompt = dice(&s, 4) ? legs[1].input_tokens : UNSAID;
		uint32_t weak = 1 + dice(&s, 7);
		for (int i = 0; i < 2; i++) {
			f[i] = (struct finding){.prompt_tokens = prompt,
						.flag = prompt == UNSAID ? LENGTH_NONE : LENGTH_EXACT,
						.started_ns = TIME_UNKNOWN};
			predicates_of(&e, &f[i]);
			if (i)
				break;
			for (int k = 0; k < 2; k++)
				if (weak >> k & 1) {
					legs[k].flag = LENGTH_AT_LEAST;
					legs[k].input_tokens =
					    dice(&s, 2) ? 1 : 1 + dice(&s, (uint32_t)legs[k].input_tokens);
				}
			if (weak >> 2 & 1 && prompt != UNSAID)
				prompt = 1 + dice(&s, (uint32_t)prompt);
			if (weak >> 2 & 1 && prompt != UNSAID) {
				f[1] = (struct finding){
				    .prompt_tokens = prompt, .flag = LENGTH_AT_LEAST, .started_ns = TIME_UNKNOWN};
				predicates_of(&e, &f[1]);
				break;
			}
		}
		if (f[1].p.t == TRI_NO && f[0].p.t != TRI_NO)
			fail_msg("round %d: T=%d with all lengths, no with lower bounds", round, f[0].p.t);
		if (f[1].p.a == TRI_NO && f[0].p.a != TRI_NO)
			fail_msg("round %d: A=%d with all lengths, no with lower bounds", round, f[0].p.a);
		no += f[1].p.t == TRI_NO;
		unknown += f[1].p.t == TRI_UNKNOWN;
	}
	policy_free(p);
	assert_true(no > 1000 && unknown > 1000);
}

/* A rejection that says "at least" is no length: what a later attempt served is not known to be below its limit. */
static void test_rejected_at_least(void **state)
{
	(void)state;
	boots("0.5.21");
	put(pre, EVENT_LEG, 10,
	    "what=rejected rid=p1 room=1 role=prefill input_tokens=995 input_flag=at_least limit_tokens=994");
	put(dec, EVENT_LEG, 12,
	    "what=finished rid=d1 room=1 role=decode output_tokens=20 started_ns=10 finished_ns=12");
	put(gw, EVENT_GATEWAY, 12,
	    "what=access gateway_id=q room=1 status=200 completion_tokens=20 started_ns=10 finished_ns=12");
	analyse(0, 0);
	assert_string_equal(rows("SELECT count(*) FROM response WHERE prompt_tokens_flag = 'exact'"), "0;");
	same("SELECT t FROM findings()", "yes;");
}

static void test_empty(void **state)
{
	(void)state;
	analyse(0, 0);
	same("SELECT * FROM findings()", "");
	same("SELECT * FROM exposures()", "");
	same("SELECT * FROM exposed()", "");
	same("SELECT * FROM lineage(NULL)", "");
	assert_non_null(strstr(rows("SELECT * FROM lineage('nobody-here')"), "error"));
}

/* ---- how much it can have read: no more than its prompt, and than what others left there since the boot ---- */
#define BOUND "SELECT candidate_owners, foreign_at_most FROM findings() WHERE request = "

static void sized_boots(const char *decode)
{
	char line[256];
	put(pre, EVENT_BOOT, 0,
	    "what=start engine=sglang version=0.5.9 role=prefill context_len=2000 pool_tokens=1000");
	snprintf(line, sizeof(line),
		 "what=%s engine=sglang version=0.5.9 role=decode context_len=2000 pool_tokens=5000", decode);
	put(dec, EVENT_BOOT, 0, line);
}

static void test_bound(void **state)
{
	(void)state;
	sized_boots("start page_size=50");
	request(1, 5, 8, "a", 1500, 200, "rejected", 1); /* nobody before it */
	request(2, 10, 20, "a", 100, 200, "finished", 100);
	request(3, 30, 40, "b", 1200, 200, "rejected", 1);
	request(4, 50, 60, "b", 1000, 200, "rejected", 1);
	analyse(0, 0);
	same(BOUND "'gw-1'", "0|0;");
	assert_true(has_reason("gw-1", "pool_not_used_before"));
	same("SELECT class FROM findings() WHERE request = 'gw-1'", "C2;"); /* and is none the better for it */
	/* 1: 1520 tokens in pages of 50, 2: 120 */
	same(BOUND "'gw-3'", "2|1200;");
	same(BOUND "'gw-2'", "1|100;");
	assert_false(has_reason("gw-2", "pool_not_used_before"));
	same("SELECT class, readers FROM exposed() WHERE request = 'gw-2'", "E3|2;");
}

static void test_bound_small(void **state)
{
	(void)state;
	sized_boots("start page_size=50");
	request(2, 10, 20, "a", 100, 200, "finished", 100);
	request(3, 30, 40, "b", 1200, 200, "rejected", 1);
	analyse(0, 0);
	same(BOUND "'gw-3'", "1|150;");
}

/* Where a clock cannot be trusted nobody is cleared because of the time of day, or of the boot that it falls into. */
static void test_doubtful_clock(void **state)
{
	static const struct {
		const char *gap, *owners, *exposed;
	} cases[] = {
	    {"SELECT 'clock', worker, 1, '', '[]' FROM worker WHERE name = 'd'", "2|1200;", "gw-1|E3;gw-3|E4;gw-4|E3;"},
	    {"SELECT 'clock_step', worker, 1, '', '[]' FROM worker, json_each('[1,2,3,4]') WHERE name = 'd'", "2|1200;",
	     "gw-1|E3;gw-3|E4;gw-4|E3;"},
	    /* daylight saving, and a repair: both are known */
	    {"SELECT 'clock_step', worker, 1, '', '[]' FROM worker, json_each('[1,2,3]') WHERE name = 'd'", "1|150;",
	     "gw-1|E3;gw-3|E4;gw-4|E4;"}};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct analysis_params params = {0};
		char sql[256];
		if (setup(NULL))
			fail();
		sized_boots("start page_size=50");
		request(1, 10, 20, "a", 100, 200, "finished", 100);
		request(3, 30, 40, "b", 1200, 200, "rejected", 1);
		request(4, 50, 60, "a", 100, 200, "finished", 100);
		resolve();
		snprintf(sql, sizeof(sql), "INSERT INTO gap(kind, worker, source, effect, refs) %s", cases[i].gap);
		run(sql);
		assert_int_equal(analysis_register(fixture, &params, NULL), 0);
		same(BOUND "'gw-3'", cases[i].owners);
		same("SELECT request, class FROM exposed() ORDER BY request", cases[i].exposed);
		fixture_teardown(NULL);
	}
}

/* Whatever is not known leaves the prompt as the only bound. */
static void test_no_bound(void **state)
{
	(void)state;
	static const struct {
		const char *boot, *more;
		enum event_kind kind;
	} lost[] = {
	    {"start", NULL, 0},
	    {"snapshot page_size=50", NULL, 0},
	    {"start page_size=50", "what=finished rid=d8 room=9008 role=decode started_ns=9 finished_ns=12", EVENT_LEG},
	    {"start page_size=50",
	     "what=finished rid=d8 room=9008 role=decode input_tokens=90 input_flag=at_least output_tokens=1 "
	     "started_ns=9 finished_ns=12",
	     EVENT_LEG},
	    {"start page_size=50", "what=access gateway_id=gw-8 status=200 started_ns=9 finished_ns=12",
	     EVENT_GATEWAY}};
	for (size_t i = 0; i < ARRAY_SIZE(lost); i++) {
		if (setup(NULL))
			fail();
		sized_boots(lost[i].boot);
		request(2, 10, 20, "a", 100, 200, "finished", 100);
		if (lost[i].more)
			put(lost[i].kind == EVENT_LEG ? dec : gw, lost[i].kind, 12, lost[i].more);
		request(3, 30, 40, "b", 1200, 200, "rejected", 1);
		analyse(0, 0);
		same("SELECT foreign_at_most FROM findings() WHERE request = 'gw-3'", "1200;");
		fixture_teardown(NULL);
	}
	if (setup(NULL))
		fail();
	sized_boots("start page_size=50");
	request(2, 10, 20, "a", 100, 200, "finished", 100);
	request(3, 30, 40, "b", 1200, 200, "rejected", 1);
	resolve();
	run("INSERT INTO gap(kind, from_ns, to_ns, effect, refs) VALUES('failed_source', NULL, NULL, '', '[]')");
	struct analysis_params params = {0};
	assert_int_equal(analysis_register(fixture, &params, NULL), 0);
	same(BOUND "'gw-3'", "1|1200;");
	fixture_teardown(NULL);
	/* a node that did not answer, and a marker that is not all known, took no record of a request away */
	if (setup(NULL))
		fail();
	sized_boots("start page_size=50");
	request(2, 10, 20, "a", 100, 200, "finished", 100);
	request(3, 30, 40, "b", 1200, 200, "rejected", 1);
	resolve();
	run("INSERT INTO gap(kind, effect, refs) VALUES('unanswered', '', '[]'), ('markers', '', '[]')");
	assert_int_equal(analysis_register(fixture, &params, NULL), 0);
	same(BOUND "'gw-3'", "1|150;");
	fixture_teardown(NULL);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_bound, setup, fixture_teardown),
	    cmocka_unit_test_setup_teardown(test_bound_small, setup, fixture_teardown),
	    cmocka_unit_test(test_no_bound),
	    cmocka_unit_test(test_doubtful_clock),
	    T(test_no_page_log),
	    T(test_lengths),
	    T(test_person_says),
	    T(test_builds),
	    T(test_unified),
	    T(test_stale),
	    T(test_late_write),
	    T(test_sharing_and_order),
	    T(test_hole),
	    T(test_order_of_files),
	    T(test_monotone),
	    T(test_empty),
	    T(test_rejected_at_least),
	    cmocka_unit_test(test_lower_bounds_clear_nobody),
	    T(test_both_legs),
	    T(test_unseen_attempt),
	    T(test_legs_contradict),
	    T(test_reading_shown),
	    T(test_stopped),
	    T(test_joined_loosely),
	    T(test_unknown_role),
	    T(test_lost_boot),
	    T(test_late_read),
	    T(test_explain),
	    T(test_decode_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
