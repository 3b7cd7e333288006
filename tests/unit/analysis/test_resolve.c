/* SPDX-License-Identifier: Apache-2.0 */
/* test_resolve.c - legs, lifetimes and how they become requests */
#include "resolve_fixture.h"

/* The incident: prefill rejects and says one token, decode serves the whole prompt, the gateway says 200. */
static void test_incident(void **state)
{
	(void)state;
	int64_t p = source("prefill-0.log", "prefill-0", NULL), d = source("decode-0.log", "decode-0", NULL);
	int64_t g = source("gateway.jsonl", NULL, NULL);
	put(p, EVENT_BOOT, -500, "what=args engine=sglang role=prefill context_len=1048576 transfer_backend=mooncake");
	put(p, EVENT_BOOT, -400, "what=pool engine=sglang pool_tokens=681280 context_len=1048576");
	put(p, EVENT_BOOT, -400, "what=pool engine=sglang pool_tokens=681280 context_len=1048576");
	put(p, EVENT_BOOT, -390, "what=ready");
	put(d, EVENT_BOOT, -400, "what=args engine=sglang role=decode context_len=1048576");
	put(d, EVENT_BOOT, -390, "what=pool pool_tokens=1200000 context_len=1048576 engine=sglang");
	put(p, EVENT_LEG, 10, "what=rejected rid=aaaa1111 input_tokens=700123 limit_tokens=681274 role=prefill");
	put(p, EVENT_LEG, 10.002, "what=rejected rid=aaaa1111 input_tokens=700123 limit_tokens=681274 role=prefill");
	put(p, EVENT_LEG, 10.5,
	    "what=finished rid=aaaa1111 room=77 input_tokens=1 output_tokens=1 role=prefill "
	    "started_ns=10 finished_ns=10.4");
	put(d, EVENT_LEG, 30,
	    "what=finished rid=bbbb2222 room=77 input_tokens=700123 output_tokens=40 role=decode "
	    "started_ns=10.1 finished_ns=30");
	put(g, EVENT_GATEWAY, 31,
	    "what=access gateway_id=gw-1 response_id=chatcmpl-bbbb2222 tenant=tenant-a status=200 "
	    "bytes_sent=900 started_ns=9.9 finished_ns=31 model=m streamed=1");
	resolve();
	assert_string_equal(
	    rows("SELECT r.name, t.name, r.model, r.conflict FROM request r JOIN tenant t USING(tenant)"),
	    "gw-1|tenant-a|m|-;");
	assert_string_equal(
	    rows("SELECT w.name, l.role, rid, room, attempt, input_tokens, rejected_tokens, limit_tokens, outcome, "
		 "boot IS NOT NULL FROM leg l JOIN worker w USING(worker) ORDER BY leg"),
	    "prefill-0|prefill|aaaa1111|77|1|1|700123|681274|rejected|1;"
	    "decode-0|decode|bbbb2222|77|1|700123|-|-|finished|1;");
	assert_string_equal(
	    rows("SELECT status, streamed, prompt_tokens, prompt_tokens_flag, bytes_sent, delivered, attempts FROM "
		 "response"),
	    "200|1|700123|exact|900|yes|1;");
	assert_string_equal(
	    rows("SELECT kind, value, w.name, rule FROM alias LEFT JOIN worker w USING(worker) ORDER BY kind, value"),
	    "gateway_id|gw-1|-|own;response_id|chatcmpl-bbbb2222|-|own;rid|aaaa1111|prefill-0|room;"
	    "rid|bbbb2222|decode-0|response_id;room|77|-|own;");
	assert_string_equal(
	    rows("SELECT w.name, b.role, pool_tokens, input_limit, input_limit_basis, " SECONDS(
		"started_ns") " FROM "
			      "boot b JOIN worker w USING(worker) ORDER BY boot"),
	    "decode-0|decode|1200000|1048570|derived|-400;prefill-0|prefill|681280|681274|rejection|-500;");
	assert_string_equal(rows("SELECT count(*) FROM gap"), "0;");
	struct err err = {0};
	assert_int_equal(resolve_needed(fixture, &err), 0);
	run("UPDATE source SET worker = 'other' WHERE source = 1");
	assert_int_equal(resolve_needed(fixture, &err), 1);
}

static void retry_events(int64_t g, int64_t p)
{
	put(g, EVENT_GATEWAY, 0, "what=started gateway_id=x");
	put(p, EVENT_LEG, 2, "what=failed rid=p1 room=1 role=prefill");
	put(g, EVENT_GATEWAY, 3, "what=decode_error gateway_id=x room=1 status=500");
	put(p, EVENT_LEG, 4, "what=finished rid=p2 room=2 role=prefill input_tokens=10");
	put(g, EVENT_GATEWAY, 4, "what=retry gateway_id=x room=2");
	put(g, EVENT_GATEWAY, 6, "what=finished gateway_id=x status=200 bytes_sent=10");
}

static void test_attempts(void **state)
{
	(void)state;
	int64_t g = source("gw.log", NULL, NULL), p = source("p.log", "p", NULL);
	retry_events(g, p);
	put(g, EVENT_GATEWAY, 100, "what=started gateway_id=x");
	put(g, EVENT_GATEWAY, 103, "what=finished gateway_id=x status=503");
	resolve();
	assert_string_equal(
	    rows(
		"SELECT r.name, count(leg), max(attempt), p.attempts, p.status, p.delivered, r.conflict FROM request r "
		"JOIN response p USING(request) LEFT JOIN leg USING(request) GROUP BY request ORDER BY request"),
	    "x|2|2|2|200|yes|-;x#2|0|-|1|503|no|-;");
}

static void test_five_errors_are_attempts(void **state)
{
	(void)state;
	int64_t g = source("gw.log", NULL, NULL);
	put(g, EVENT_GATEWAY, 0, "what=started gateway_id=x");
	for (int i = 0; i < 5; i++)
		put(g, EVENT_GATEWAY, 1 + i, "what=decode_error gateway_id=x");
	put(g, EVENT_GATEWAY, 7, "what=finished gateway_id=x status=500");
	resolve();
	assert_string_equal(rows("SELECT attempts, status, delivered FROM response"), "5|500|no;");
}

/* Two tenants send the same id, one after the other and at once. */
static void test_hostile_tenants(void **state)
{
	(void)state;
	int64_t g = source("gw.jsonl", NULL, NULL), d = source("d.log", "d", NULL);
	put(g, EVENT_GATEWAY, 10,
	    "what=access gateway_id=dup tenant=tenant-a status=200 bytes_sent=5 started_ns=0 finished_ns=10 "
	    "room=1 prompt_tokens=700000");
	put(g, EVENT_GATEWAY, 12,
	    "what=access gateway_id=dup tenant=tenant-b status=200 bytes_sent=5 started_ns=2 finished_ns=12 "
	    "room=2 prompt_tokens=20");
	put(d, EVENT_LEG, 10,
	    "what=finished rid=r1 room=1 role=decode input_tokens=700000 started_ns=0 finished_ns=10");
	put(d, EVENT_LEG, 12, "what=finished rid=r2 room=2 role=decode input_tokens=20 started_ns=2 finished_ns=12");
	resolve();
	assert_string_equal(
	    rows("SELECT r.name, t.name, r.conflict IS NOT NULL, l.rid, p.prompt_tokens FROM request r JOIN tenant t "
		 "USING(tenant) JOIN leg l USING(request) JOIN response p USING(request) ORDER BY request"),
	    "dup|tenant-a|1|r1|700000;dup#2|tenant-b|1|r2|20;");
	assert_string_equal(rows("SELECT rule FROM alias WHERE kind = 'gateway_id'"), "conflict;conflict;");
}

static void test_hostile_overlap(void **state)
{
	(void)state;
	int64_t g = source("gw.jsonl", NULL, NULL);
	put(g, EVENT_GATEWAY, 10,
	    "what=access gateway_id=dup status=200 started_ns=0 finished_ns=10 room=1 prompt_tokens=700000");
	put(g, EVENT_GATEWAY, 12,
	    "what=access gateway_id=dup status=200 started_ns=2 finished_ns=12 room=2 prompt_tokens=20");
	/* used again later by the same client: no conflict */
	put(g, EVENT_GATEWAY, 110, "what=access gateway_id=again status=200 started_ns=100 finished_ns=110");
	put(g, EVENT_GATEWAY, 130, "what=access gateway_id=again status=200 started_ns=120 finished_ns=130");
	resolve();
	assert_string_equal(rows("SELECT name, conflict IS NOT NULL FROM request ORDER BY request"),
			    "dup|1;dup#2|1;again|0;again#2|0;");
}

/* Both clients choose one rid as well: the answer's id then names two legs. */
static void test_hostile_response_id(void **state)
{
	(void)state;
	int64_t g = source("gw.jsonl", NULL, NULL), d = source("d.log", "d", NULL);
	put(g, EVENT_GATEWAY, 10,
	    "what=access gateway_id=a response_id=same tenant=tenant-a status=200 bytes_sent=1 started_ns=0 "
	    "finished_ns=10 prompt_tokens=700000");
	put(g, EVENT_GATEWAY, 12,
	    "what=access gateway_id=b response_id=same tenant=tenant-b status=200 bytes_sent=1 started_ns=2 "
	    "finished_ns=12 prompt_tokens=20");
	put(d, EVENT_LEG, 10,
	    "what=finished rid=same room=1 role=decode input_tokens=700000 started_ns=0 finished_ns=10");
	put(d, EVENT_LEG, 12, "what=finished rid=same room=2 role=decode input_tokens=20 started_ns=2 finished_ns=12");
	resolve();
	assert_string_equal(
	    rows("SELECT r.name, t.name, l.input_tokens FROM request r JOIN tenant t USING(tenant) LEFT JOIN leg l "
		 "USING(request) ORDER BY request"),
	    "a|tenant-a|700000;b|tenant-b|20;");
}

/* One request seen by a gateway, an edge proxy and the engine's two logs; TP ranks repeat everything. */
static void test_layers_fold(void **state)
{
	(void)state;
	int64_t g = source("router.log", NULL, NULL), e = source("edge.jsonl", NULL, NULL);
	int64_t d = source("d.log", "d", NULL), m = source("metrics.log", "d", NULL);
	put(g, EVENT_GATEWAY, 1, "what=started gateway_id=q");
	put(g, EVENT_GATEWAY, 9, "what=finished gateway_id=q status=200");
	put(e, EVENT_GATEWAY, 9.4,
	    "what=access gateway_id=q tenant=tenant-a status=200 bytes_sent=77 started_ns=0.9 finished_ns=9.4");
	put(d, EVENT_LEG, 2, "what=received rid=q role=unified input_tokens=50");
	for (int i = 0; i < 4; i++)
		put(d, EVENT_LEG, 9 + i * 0.01, "what=finished rid=q role=unified input_tokens=50 output_tokens=7");
	put(m, EVENT_LEG, 9.1,
	    "what=finished rid=q input_tokens=50 output_tokens=7 started_ns=1.5 finished_ns=9.1 first_sent_ns=3 "
	    "finish_reason=stop");
	resolve();
	assert_string_equal(rows("SELECT name, conflict FROM request"), "q|-;");
	assert_string_equal(rows("SELECT role, input_tokens, output_tokens, finish_reason, outcome, " SECONDS(
				"started_ns") " FROM leg"),
			    "unified|50|7|stop|finished|1;");
	assert_string_equal(rows("SELECT delivered, bytes_sent, completion_tokens, prompt_tokens FROM response"),
			    "yes|77|-|50;");
}

/* What vLLM calls cmpl-ID-0 and chatcmpl-ID is the gateway's ID, on both sides of a hand-off. */
static void test_completion_names(void **state)
{
	(void)state;
	int64_t g = source("gw.jsonl", NULL, NULL), p = source("p.log", "p", NULL), d = source("d.log", "d", NULL);
	put(g, EVENT_GATEWAY, 5,
	    "what=access gateway_id=job-7 status=200 completion_tokens=3 started_ns=1 finished_ns=5");
	put(p, EVENT_LEG, 2, "what=handoff rid=cmpl-job-7-0 role=prefill");
	put(d, EVENT_LEG, 3, "what=received rid=cmpl-job-7-0 role=decode");
	/* two prompts in one call are two executions of one request */
	put(g, EVENT_GATEWAY, 25,
	    "what=access gateway_id=job-8 status=200 completion_tokens=3 started_ns=21 finished_ns=25");
	put(d, EVENT_LEG, 22, "what=received rid=cmpl-job-8-0 role=decode");
	put(d, EVENT_LEG, 22, "what=received rid=cmpl-job-8-1 role=decode");
	put(g, EVENT_GATEWAY, 45,
	    "what=access gateway_id=job-9 status=200 completion_tokens=3 started_ns=41 finished_ns=45");
	put(d, EVENT_LEG, 42, "what=received rid=chatcmpl-job-9 role=decode");
	put(d, EVENT_LEG, 62, "what=received rid=cmpl-job-7-12345 role=decode");
	resolve();
	assert_string_equal(
	    rows("SELECT r.name, count(*), group_concat(l.rid, ',') FROM request r JOIN leg l USING(request) "
		 "GROUP BY r.request ORDER BY r.first_ns"),
	    "job-7|2|cmpl-job-7-0,cmpl-job-7-0;job-8|2|cmpl-job-8-0,cmpl-job-8-1;job-9|1|chatcmpl-job-9;"
	    "cmpl-job-7-12345|1|cmpl-job-7-12345;");
}

static void test_rid_reuse(void **state)
{
	(void)state;
	int64_t d = source("d.log", "d", NULL);
	put(d, EVENT_LEG, 1, "what=received rid=q role=unified");
	put(d, EVENT_LEG, 5, "what=finished rid=q role=unified input_tokens=50 output_tokens=3");
	put(d, EVENT_LEG, 20, "what=received rid=q role=unified");
	put(d, EVENT_LEG, 25,
	    "what=finished rid=q role=unified input_tokens=50 output_tokens=0 status=400 finish_reason=abort");
	put(d, EVENT_LEG, 30, "what=finished rid=HEALTH_CHECK_1 role=unified room=0 input_tokens=1");
	resolve();
	assert_string_equal(
	    rows("SELECT r.name, outcome, " SECONDS("started_ns") " FROM request r JOIN leg USING(request) ORDER BY "
								  "request"),
	    "q|finished|1;q#2|aborted|20;");
	assert_string_equal(rows("SELECT delivered FROM response ORDER BY response"), "unknown;no;");
}

static void test_page_log_alone(void **state)
{
	(void)state;
	int64_t p = source("pages.jsonl", NULL, NULL);
	put(p, EVENT_PAGE, 0, "op=boot seq=0 worker=decode-0 page_size=64 pool_pages=100");
	put(p, EVENT_PAGE, 1, "op=alloc seq=1 worker=decode-0 rid=a1 room=77");
	put(p, EVENT_PAGE, 2, "op=recv seq=2 worker=decode-0 rid=a1 room=77");
	put(p, EVENT_PAGE, 2.5, "op=alloc seq=1 worker=prefill-0 rid=a9 room=77");
	put(p, EVENT_PAGE, 3, "op=free seq=5 worker=decode-0 rid=a1");
	put(p, EVENT_PAGE, 4, "op=alloc seq=6 worker=decode-0 rid=b1");
	resolve();
	assert_string_equal(
	    rows("SELECT r.name, w.name, l.role, rid, room FROM request r JOIN leg l USING(request) JOIN worker w "
		 "USING(worker) ORDER BY leg"),
	    "a1|decode-0|decode|a1|77;a1|prefill-0|-|a9|77;b1|decode-0|decode|b1|-;");
	assert_string_equal(rows("SELECT count(*) FROM response"), "0;");
	assert_string_equal(rows("SELECT name, has_page_log, role FROM worker ORDER BY worker"),
			    "decode-0|1|decode;prefill-0|1|-;");
	assert_string_equal(
	    rows("SELECT w.name, pool_tokens, page_size FROM boot JOIN worker w USING(worker) ORDER BY boot"),
	    "decode-0|6400|64;prefill-0|-|-;");
	assert_string_equal(rows("SELECT kind, w.name, missing FROM gap JOIN worker w USING(worker) ORDER BY gap"),
			    "sequence|decode-0|2;sequence|prefill-0|1;");
}

/* The engine's log calls itself by address; the page log by the file's stem; rids of the page log join the legs. */
static void test_page_log_joins(void **state)
{
	(void)state;
	int64_t d = source("decode-0.log", "10.0.0.5:30000", "worker_alias = 'decode-0'"),
		p = source("pages.jsonl", NULL, NULL);
	put(d, EVENT_LEG, 9,
	    "what=finished rid=r1 role=decode input_tokens=500 started_ns=1 finished_ns=9 output_tokens=4");
	put(d, EVENT_LEG, 60, "what=finished rid=r2 room=8 role=decode input_tokens=5 started_ns=50 finished_ns=60");
	put(p, EVENT_PAGE, 1, "op=alloc seq=0 worker=decode-0 rid=r1 room=7");
	put(p, EVENT_PAGE, 9, "op=free seq=1 worker=decode-0 rid=r1");
	put(p, EVENT_PAGE, 51, "op=alloc seq=2 worker=decode-0 rid=page-r2 room=8");
	resolve();
	assert_string_equal(
	    rows("SELECT r.name, w.name, rid, room, input_tokens FROM request r JOIN leg USING(request) JOIN worker w "
		 "USING(worker) ORDER BY leg"),
	    "r1|decode-0|r1|7|500;r2|decode-0|r2|8|5;");
	assert_string_equal(rows("SELECT value, rule FROM alias WHERE kind = 'rid' ORDER BY value"),
			    "page-r2|room;r1|own;r2|own;");
}

static void test_stray_rejections(void **state)
{
	(void)state;
	int64_t p = source("p.log", "p", NULL), d = source("d.log", "d", NULL);
	put(p, EVENT_LEG, 10, "what=rejected input_tokens=700123 limit_tokens=681274");
	put(p, EVENT_LEG, 10.01, "what=rejected input_tokens=700123 limit_tokens=681274");
	put(p, EVENT_LEG, 11,
	    "what=finished rid=p1 room=1 role=prefill input_tokens=1 started_ns=9.5 finished_ns=10.5");
	put(p, EVENT_LEG, 11,
	    "what=finished rid=p2 room=2 role=prefill input_tokens=1 started_ns=9.5 finished_ns=10.5");
	put(d, EVENT_LEG, 20,
	    "what=finished rid=d1 room=1 role=decode input_tokens=700123 started_ns=9.6 finished_ns=20");
	put(d, EVENT_LEG, 20,
	    "what=finished rid=d2 room=2 role=decode input_tokens=700999 started_ns=9.6 finished_ns=20");
	put(p, EVENT_LEG, 500, "what=rejected input_tokens=690000 limit_tokens=681274");
	resolve();
	assert_string_equal(
	    rows("SELECT rid, outcome, rejected_tokens, limit_tokens FROM leg WHERE role = 'prefill' ORDER BY rid"),
	    "p1|rejected|700123|681274;p2|finished|-|-;");
	assert_string_equal(rows("SELECT kind, " SECONDS("from_ns") ", w.name FROM gap JOIN worker w USING(worker)"),
			    "unattached|500|p;");
}

static void test_batch_is_no_length(void **state)
{
	(void)state;
	int64_t g = source("gw.jsonl", NULL, NULL), d = source("d.log", "d", NULL);
	put(g, EVENT_GATEWAY, 9,
	    "what=access gateway_id=q response_id=r status=200 prompt_tokens=900000 batch=3 bytes_sent=4 "
	    "started_ns=0 finished_ns=9");
	put(d, EVENT_LEG, 9,
	    "what=finished rid=r room=1 role=decode batch=3 input_tokens=300000 started_ns=1 finished_ns=8");
	put(g, EVENT_GATEWAY, 99, "what=access gateway_id=z status=200 prompt_tokens=900000 batch=3 bytes_sent=4");
	resolve();
	assert_string_equal(rows("SELECT prompt_tokens, prompt_tokens_flag, attempts FROM response ORDER BY response"),
			    "300000|at_least|1;-|-|1;");
}

static void test_delivered(void **state)
{
	(void)state;
	static const struct {
		const char *spec, *delivered;
	} cases[] = {
	    {"status=200 bytes_sent=10", "yes"},
	    {"status=200 completion_tokens=4", "yes"},
	    {"status=200", "unknown"},
	    {"status=200 bytes_sent=0", "no"},
	    {"status=200 completion_tokens=0 bytes_sent=90 streamed=1", "no"},
	    {"status=200 finish_reason=error bytes_sent=90 streamed=1", "no"},
	    {"status=200 finish_reason=error completion_tokens=6", "yes"},
	    {"status=200 client_gone=1 bytes_sent=44", "yes"},
	    {"status=200 client_gone=1 bytes_sent=0", "no"},
	    {"status=200 client_gone=1", "unknown"},
	    {"status=200 client_gone=1 completion_tokens=9", "unknown"},
	    {"status=200 client_gone=1 completion_tokens=0", "no"},
	    {"status=499 bytes_sent=0", "no"},
	    {"status=499", "unknown"},
	    {"status=499 completion_tokens=9", "unknown"},
	    {"status=499 completion_tokens=0", "no"},
	    {"status=460 client_gone=1", "unknown"},
	    {"status=460 client_gone=1 bytes_sent=0", "no"},
	    {"status=460 client_gone=1 bytes_sent=70000", "yes"},
	    {"status=400 bytes_sent=300", "no"},
	    {"status=503 bytes_sent=300 completion_tokens=5", "no"},
	    {"status=200 finish_reason=abort", "unknown"},
	    {"model=m", "unknown"},
	};
	int64_t g = source("gw.jsonl", NULL, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char line[256];
		snprintf(line, sizeof(line), "what=access gateway_id=c%02zu %s", i, cases[i].spec);
		put(g, EVENT_GATEWAY, (double)i * 100, line);
	}
	resolve();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char query[160], want[32];
		snprintf(query, sizeof(query),
			 "SELECT delivered FROM response JOIN request USING(request) WHERE name = 'c%02zu'", i);
		snprintf(want, sizeof(want), "%s;", cases[i].delivered);
		if (strcmp(rows(query), want))
			fail_msg("%s: %s, not %s", cases[i].spec, rows(query), want);
	}
}

/* An edge proxy's 502 against a router that counted what it sent: nobody can clear this response. */
static void test_outer_status(void **state)
{
	(void)state;
	int64_t a = source("edge.jsonl", NULL, NULL), b = source("router.jsonl", NULL, NULL);
	put(a, EVENT_GATEWAY, 20, "what=access gateway_id=q status=502 started_ns=0 finished_ns=20");
	put(b, EVENT_GATEWAY, 15, "what=access gateway_id=q status=200 bytes_sent=9 started_ns=2 finished_ns=15");
	put(a, EVENT_GATEWAY, 120, "what=access gateway_id=s status=502 started_ns=100 finished_ns=120");
	put(b, EVENT_GATEWAY, 120, "what=access gateway_id=s status=200 bytes_sent=9 started_ns=100 finished_ns=120");
	resolve();
	assert_string_equal(
	    rows("SELECT r.name, status, delivered FROM response JOIN request r USING(request) ORDER BY response"),
	    "q|200|unknown;s|200|unknown;");
}

#define ENDS                                                                                                       \
	"SELECT r.name, status, delivered, coalesce(r.conflict, '-') FROM response JOIN request r USING(request) " \
	"ORDER BY response"
#define CONTRADICT "records of gateways contradict each other about how it ended"

/* What a gateway that faces the client recorded as sent is not overruled by what another one says. */
static void test_sent_stays(void **state)
{
	(void)state;
	int64_t g = source("gw.jsonl", NULL, NULL), a = source("a.log", NULL, NULL), b = source("b.log", NULL, NULL);
	put(g, EVENT_GATEWAY, 5,
	    "what=access gateway_id=q tenant=t status=200 bytes_sent=90 started_ns=0 finished_ns=5");
	put(a, EVENT_GATEWAY, 12, "what=access gateway_id=q status=200 started_ns=0 finished_ns=12");
	put(b, EVENT_GATEWAY, 9, "what=access gateway_id=q status=500 started_ns=0 finished_ns=9");
	/* a client that left in the middle, and a router that did not notice */
	put(g, EVENT_GATEWAY, 105,
	    "what=access gateway_id=s tenant=t status=499 bytes_sent=90 started_ns=100 finished_ns=105");
	put(a, EVENT_GATEWAY, 106, "what=access gateway_id=s status=200 started_ns=100 finished_ns=106");
	/* two gateways that look alike: which of them is the outer one is not told */
	put(g, EVENT_GATEWAY, 205,
	    "what=access gateway_id=u tenant=t status=200 bytes_sent=90 started_ns=200 finished_ns=205");
	put(a, EVENT_GATEWAY, 209,
	    "what=access gateway_id=u tenant=t status=502 bytes_sent=9 started_ns=200 finished_ns=209");
	/* the edge gave an error, the router counts nothing */
	put(g, EVENT_GATEWAY, 305,
	    "what=access gateway_id=v tenant=t status=504 bytes_sent=9 started_ns=300 finished_ns=305");
	put(a, EVENT_GATEWAY, 306, "what=access gateway_id=v status=200 started_ns=300 finished_ns=306");
	resolve();
	assert_string_equal(rows(ENDS), "q|200|yes|" CONTRADICT ";s|499|yes|-;u|502|unknown|" CONTRADICT
					";v|504|no|" CONTRADICT ";");
}

/* Only an inner gateway's error is left, and the engine generated: another gateway may have delivered it. */
static void test_inner_error(void **state)
{
	(void)state;
	int64_t r = source("router.log", NULL, NULL), d = source("d.log", "d", NULL);
	put(r, EVENT_GATEWAY, 5, "what=access gateway_id=q status=500 room=7 started_ns=0 finished_ns=5");
	put(d, EVENT_LEG, 5, "what=finished role=decode rid=x room=7 input_tokens=90 output_tokens=30 started_ns=1");
	put(r, EVENT_GATEWAY, 105, "what=access gateway_id=s status=500 started_ns=100 finished_ns=105");
	resolve();
	assert_string_equal(rows(ENDS), "q|500|unknown|-;s|500|no|-;");
}

/* A batch of which the gateway tells all rooms is as many responses; its usage is no length of any. */
static void test_batch_of_rooms(void **state)
{
	(void)state;
	int64_t g = source("gw.jsonl", NULL, NULL), p = source("p.log", "p", NULL), d = source("d.log", "d", NULL);
	put(g, EVENT_GATEWAY, 5,
	    "what=access gateway_id=q tenant=t status=200 bytes_sent=90 prompt_tokens=410 completion_tokens=60 "
	    "room=7,8,9 batch=3 started_ns=0 finished_ns=5");
	put(p, EVENT_LEG, 2, "what=finished role=prefill rid=a room=7 input_tokens=200 started_ns=1");
	put(p, EVENT_LEG, 2, "what=finished role=prefill rid=b room=8 input_tokens=1 started_ns=1");
	put(d, EVENT_LEG, 4, "what=finished role=decode rid=x room=7 input_tokens=200 output_tokens=30 started_ns=1");
	put(d, EVENT_LEG, 4, "what=finished role=decode rid=y room=8 input_tokens=210 output_tokens=0 started_ns=1");
	resolve();
	assert_string_equal(
	    rows(
		"SELECT status, prompt_tokens, prompt_tokens_flag, completion_tokens, bytes_sent, delivered, attempts, "
		"(SELECT group_concat(value) FROM alias a WHERE a.request = r.request AND kind = 'room'), t.name "
		"FROM response JOIN request r USING(request) JOIN tenant t USING(tenant) ORDER BY 8"),
	    "200|200|exact|30|-|yes|1|7|t;200|210|exact|0|-|no|1|8|t;200|-|-|-|-|unknown|1|9|t;");
	assert_string_equal(rows("SELECT count(*) FROM request"), "3;");
}

/* Gateway and engine count differently: the engine's count decides, and a larger sum clears nothing. */
static void test_two_counts(void **state)
{
	(void)state;
	int64_t g = source("gw.jsonl", NULL, NULL), p = source("p.log", "p", NULL), d = source("d.log", "d", NULL);
	static const struct {
		int gateway, engine;
		const char *want;
	} cases[] = {
	    {700, 200, "200|at_least|1;"}, {210, 200, "200|exact|0;"}, {300, 200, "200|exact|1;"},
	    {200, 650, "650|exact|1;"},    {650, 655, "655|exact|0;"},
	};
	put(p, EVENT_BOOT, 0, "what=pool engine=sglang role=prefill context_len=1000 pool_tokens=600");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char line[256];
		double at = 100 + (double)i * 100;
		snprintf(line, sizeof(line), "what=access gateway_id=q%zu status=200 prompt_tokens=%d room=%zu", i,
			 cases[i].gateway, i + 1);
		put(g, EVENT_GATEWAY, at, line);
		snprintf(line, sizeof(line), "what=finished role=prefill rid=a%zu room=%zu input_tokens=%d", i, i + 1,
			 cases[i].engine);
		put(p, EVENT_LEG, at, line);
		snprintf(line, sizeof(line), "what=finished role=decode rid=b%zu room=%zu input_tokens=%d", i, i + 1,
			 cases[i].engine);
		put(d, EVENT_LEG, at, line);
	}
	resolve();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char query[256];
		snprintf(query, sizeof(query),
			 "SELECT prompt_tokens, prompt_tokens_flag, conflict IS NOT NULL FROM response JOIN request "
			 "USING(request) WHERE name = 'q%zu'",
			 i);
		assert_string_equal(rows(query), cases[i].want);
	}
}

static void order_events(int64_t p, int64_t d, int64_t g, int64_t e)
{
	put(p, EVENT_LEG, 10, "what=rejected rid=a1 input_tokens=700123 limit_tokens=681274 role=prefill");
	put(p, EVENT_LEG, 11, "what=finished rid=a1 room=77 input_tokens=1 role=prefill started_ns=9 finished_ns=11");
	put(d, EVENT_LEG, 30,
	    "what=finished rid=b1 room=77 input_tokens=700123 role=decode started_ns=9 finished_ns=30");
	put(d, EVENT_LEG, 31, "what=finished rid=dup role=decode input_tokens=3 started_ns=9 finished_ns=30");
	put(p, EVENT_LEG, 31, "what=finished rid=dup role=prefill input_tokens=3 started_ns=9 finished_ns=30");
	put(g, EVENT_GATEWAY, 8, "what=started gateway_id=g1 tenant=tenant-a");
	put(g, EVENT_GATEWAY, 31, "what=finished gateway_id=g1 response_id=b1 status=200");
	put(e, EVENT_GATEWAY, 31,
	    "what=access gateway_id=g1 tenant=tenant-a status=200 bytes_sent=5 started_ns=8 finished_ns=31");
	put(e, EVENT_GATEWAY, 33,
	    "what=access gateway_id=g1 tenant=tenant-b status=200 bytes_sent=5 started_ns=8 finished_ns=33");
}

static const char *const order_tables[] = {
    "SELECT request, name, tenant, first_ns, last_ns, conflict FROM request ORDER BY request",
    "SELECT leg, request, attempt, worker, rid, room, started_ns, input_tokens, rejected_tokens, outcome, "
    "json_array_length(refs) "
    "FROM leg ORDER BY leg",
    "SELECT response, request, status, prompt_tokens, delivered, bytes_sent FROM response ORDER BY response",
    "SELECT request, kind, value, worker, rule FROM alias ORDER BY 1, 2, 3, 4, 5",
    "SELECT worker, name, role FROM worker ORDER BY worker",
};

static void test_order_of_files(void **state)
{
	char first[ARRAY_SIZE(order_tables)][8192];
	for (int round = 0; round < 3; round++) {
		static const char *const names[] = {"p.log", "d.log", "gw.log", "edge.log"};
		int64_t id[4];
		if (round) {
			assert_int_equal(fixture_teardown(state), 0);
			assert_int_equal(fixture_setup(state), 0);
		}
		for (int i = 0; i < 4; i++) {
			int at = round == 0 ? i : round == 1 ? 3 - i : (i + 2) % 4;
			id[at] = source(names[at], at == 0 ? "p" : at == 1 ? "d" : NULL, NULL);
		}
		order_events(id[0], id[1], id[2], id[3]);
		resolve();
		for (size_t t = 0; t < ARRAY_SIZE(order_tables); t++) {
			if (!round)
				snprintf(first[t], sizeof(first[t]), "%s", rows(order_tables[t]));
			else
				assert_string_equal(rows(order_tables[t]), first[t]);
		}
	}
}

static void test_twice_is_once(void **state)
{
	(void)state;
	char first[8192];
	int64_t p = source("p.log", "p", NULL), d = source("d.log", "d", NULL), g = source("g.log", NULL, NULL);
	order_events(p, d, g, g);
	resolve();
	snprintf(first, sizeof(first), "%s%s", rows(order_tables[0]), rows(order_tables[1]));
	resolve();
	char again[8192];
	snprintf(again, sizeof(again), "%s%s", rows(order_tables[0]), rows(order_tables[1]));
	assert_string_equal(first, again);
}

static void test_empty_case(void **state)
{
	(void)state;
	struct err err = {0};
	assert_int_equal(resolve_needed(fixture, &err), 1);
	resolve();
	assert_int_equal(resolve_needed(fixture, &err), 0);
	assert_string_equal(rows("SELECT count(*) FROM request"), "0;");
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
	    CASE(test_incident),
	    CASE(test_completion_names),
	    CASE(test_attempts),
	    CASE(test_five_errors_are_attempts),
	    CASE(test_hostile_tenants),
	    CASE(test_hostile_overlap),
	    CASE(test_hostile_response_id),
	    CASE(test_layers_fold),
	    CASE(test_rid_reuse),
	    CASE(test_page_log_alone),
	    CASE(test_page_log_joins),
	    CASE(test_stray_rejections),
	    CASE(test_batch_is_no_length),
	    CASE(test_sent_stays),
	    CASE(test_inner_error),
	    CASE(test_batch_of_rooms),
	    CASE(test_two_counts),
	    CASE(test_delivered),
	    CASE(test_outer_status),
	    CASE(test_order_of_files),
	    CASE(test_twice_is_once),
	    CASE(test_empty_case),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
