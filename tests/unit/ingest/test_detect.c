/* SPDX-License-Identifier: Apache-2.0 */
/* test_detect.c - the choice of a format, refusals and their reasons; names of workers; the sources file */
#include "../../../src/ingest/csv.h"
#include "../../../src/ingest/session.h"
#include "../../../src/ingest/worker.h"
#include "toy.h"

static struct detection look(struct text head)
{
	struct detection d;
	struct err err = {0};
	assert_int_equal(detect(toys, N_TOYS, head, true, &d, &err), 0);
	return d;
}

static void test_choice(void **state)
{
	struct buf b = BUF_INIT(1 << 20);
	(void)state;
	assert_ptr_equal(look(TEXT("T1 a\nT2 b\n")).parser, &toy);
	assert_int_equal(look(TEXT("T1 a\nT2 b\n")).score, 1000);
	/* few records of ours in much chatter */
	for (int i = 0; i < 2000; i++)
		assert_int_equal(buf_printf(&b, NULL, "Collecting package-%d\n", i), 0);
	assert_null(look(buf_text(&b)).parser);
	assert_int_equal(buf_add_text(&b, TEXT("T1 a\nT2 b\n"), NULL), 0);
	assert_ptr_equal(look(buf_text(&b)).parser, &toy);
	buf_done(&b);
	/* only weak records: half of them are needed */
	assert_ptr_equal(look(TEXT("W a\nW b\nx\n")).parser, &toy);
	assert_null(look(TEXT("W a\nx\nx\ny\n")).parser);
	/* knowing beats guessing */
	assert_ptr_equal(look(TEXT("# a\n# b\n# c\nR\n")).parser, &rival);
	assert_ptr_equal(look(TEXT("\xef\xbb\xbfT1 a\n")).parser, &toy);
	assert_ptr_equal(look(TEXT("\0\0\0\0T1 a\n")).parser, &toy);
	assert_ptr_equal(look(TEXT("xx|T1 a\n")).parser, NULL);
	assert_ptr_equal(look(TEXT("{ \"a\":\n{\"toydoc\":1}}\n")).parser, &doc);
	/* JSON of the same product between text lines is a mix: the text format leads */
	assert_ptr_equal(look(TEXT("T1 a\n{\"toy\":1}\nT1 b\n{\"toy\":2}\n{\"toy\":3}\n")).parser, &toy);
}

static enum bid guest_bid(struct parse *p, struct text t)
{
	(void)p;
	return text_starts(t, "G") ? BID_STRONG : BID_NO;
}

/* The records of one format stand in the log of another, however many there are of each. */
static void test_hosts(void **state)
{
	static const struct parser guest = {
	    .name = "guest", .hosts = "nobody toy", .record = rival_record, .bid = guest_bid};
	static const struct parser *const list[] = {&guest, &toy, &rival};
	static const struct {
		const char *head;
		const struct parser *want;
	} cases[] = {
	    {"G\nT1 a\nG\nT1 a\n", &toy}, {"G\nG\nG\nG\nT1 a\n", &toy}, {"G\nT1 a\nT1 a\nT1 a\n", &toy},
	    {"G\nG\n# a\n", &guest},      {"G\nG\nG\nR\n", &guest},     {"G\nR\nG\nR\n", NULL},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct detection d;
		struct err err = {0};
		assert_int_equal(detect(list, ARRAY_SIZE(list), text_of(cases[i].head), true, &d, &err), 0);
		assert_ptr_equal(d.parser, cases[i].want);
	}
}

static unsigned outer_bids, wrapper_bids;

static enum bid nosy_bid(struct parse *p, struct text t)
{
	(void)p;
	outer_bids += text_starts(t, "> ");
	return BID_NO;
}

static enum bid arrow_bid(struct unwrap *u, struct text t)
{
	(void)u;
	wrapper_bids++;
	return text_starts(t, "> ") ? BID_STRONG : BID_NO;
}

static int arrow_record(struct unwrap *u, struct text t)
{
	const struct wrapped piece = {.text = text_from(t, 2), .ts = STAMP_INIT};
	int rc = unwrap_give(u, &piece);
	return rc < 0 ? rc : RECORD_PARSED;
}

/* A head is not looked at more often than is needed: of many small files, looking is most of the work. */
static void test_effort(void **state)
{
	static const struct parser nosy = {.name = "nosy", .record = rival_record, .bid = nosy_bid};
	static const struct wrapper arrow = {
	    .name = "arrow", .summary = "a", .checked = "a", .bid = arrow_bid, .record = arrow_record};
	static const struct parser *const list[] = {&nosy, &toy};
	static const struct wrapper *const wraps[] = {&arrow};
	struct buf b = BUF_INIT(2 << 20);
	struct detection d;
	struct err err = {0};
	(void)state;
	for (int i = 0; i < 60; i++)
		assert_int_equal(buf_printf(&b, NULL, "> T1 %010000d\n", i), 0);
	assert_int_equal(detect_wrapped(list, 2, wraps, 1, buf_text(&b), true, &d, &err), 0);
	assert_ptr_equal(d.parser, &toy);
	assert_int_equal(d.n_wraps, 1);
	assert_int_equal(outer_bids, 0); /* what is wrapped was recognised: nobody is asked about the lines round it */
	assert_in_range(wrapper_bids, 16,
			40); /* long lines: few of them, and of what is inside, which could be wrapped again */
	/* nothing is recognised in there: everybody is asked */
	buf_clear(&b);
	for (int i = 0; i < 60; i++)
		assert_int_equal(buf_printf(&b, NULL, "> x%d\n", i), 0);
	assert_int_equal(detect_wrapped(list, 2, wraps, 1, buf_text(&b), true, &d, &err), 0);
	assert_null(d.parser);
	assert_int_equal(outer_bids, 60);
	/* two formats that share a log, and what one of them only guesses, are as clear as one */
	buf_clear(&b);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(buf_printf(&b, NULL, "T1 a\n{\"toy\":%d}\nW b\n", i), 0);
	d = look(buf_text(&b));
	assert_ptr_equal(d.parser, &toy);
	assert_int_equal(d.records, 128);
	/* but not when somebody else has a good part of it */
	buf_clear(&b);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(buf_printf(&b, NULL, "T1 a\n{\"toy\":%d}\nR\n", i), 0);
	assert_int_equal(look(buf_text(&b)).records, 3000);
	buf_done(&b);
}

static void test_refusals(void **state)
{
	(void)state;
	struct detection d = look(TEXT("T1 a\nR\nT1 a\nR\n"));
	assert_null(d.parser);
	assert_string_equal(d.reason, "tie");
	assert_non_null(d.best);
	assert_non_null(d.runner_up);
	assert_ptr_not_equal(d.best, d.runner_up);
	d = look(TEXT("T1 a\nR\nT1 a\nR\nT1 c\nT1 c\n"));
	assert_ptr_equal(d.parser, &toy);
	assert_ptr_equal(d.runner_up, &rival);
	assert_string_equal(look(TEXT("")).reason, "empty");
	assert_string_equal(look(TEXT("\n \n")).reason, "empty");
	assert_string_equal(look(TEXT("\x89PNG\r\n\x1a\n\0\0\0\rIHDR")).reason, "binary (PNG image)");
	assert_string_equal(look(TEXT("ab\1\2\3\4\5\6")).reason, "binary");
	assert_non_null(strstr(look(TEXT("[1, 2]\n")).reason, "JSON array"));
	assert_non_null(strstr(look(TEXT("{\"a\": 2}\n")).reason, "JSON"));
	assert_non_null(strstr(look(TEXT("\xff\xfe\0\0T\0\0\0")).reason, "UTF-16"));
	assert_string_equal(look(TEXT("hello\n")).reason, "no format recognises it");
}

static void test_worker_names(void **state)
{
	static const char *const cases[][2] = {
	    {"decode-0.log", "decode-0"},
	    {"decode-0.kv.bin", "decode-0"},
	    {"decode-0.kv-events.bin.gz", "decode-0"},
	    {"/x/prefill-0/engine.log", "prefill-0"},
	    {"/x/node-3/logs/stdout.log", "node-3"},
	    {"logs/decode-0.log.1.gz", "decode-0"},
	    {"logs/decode-0.log-20260914", "decode-0"},
	    {"logs/decode-0-2026-09-14.log", "decode-0"},
	    {"logs/decode-0.2026-09-14.log.zst", "decode-0"},
	    {"logs/decode-0.stdout.log", "decode-0"},
	    {"logs/decode-0-stderr.txt", "decode-0"},
	    {"logs/decode-0.pages.jsonl", "decode-0"},
	    {"logs/engine-0.log", "engine-0"},
	    {"logs/prefill-7d9f8b6c5-x2x9z.log", "prefill-7d9f8b6c5-x2x9z"},
	    {"bundle.tar.zst!node-7/engine.log", "node-7"},
	    {"bundle.tar.zst!logs/engine.log", "bundle"},
	    {"/data/2026-09-14/gateway.log", "gateway"},
	    {"/data/10.0.3.7/server.log", "10.0.3.7"},
	    {"/data/10.0.3.7.log", "10.0.3.7"},
	    {"/tmp/logs/0.log", "logs"},
	    {"engine.log", "engine"},
	    {"prefill-0/sglang-request-metrics-20260910_00.log", "prefill-0"},
	    {"prefill-0/metrics.log", "prefill-0"},
	    {"prefill-0/gpu-node-7_0.log", "gpu-node-7_0"},
	    {"router-a/smg.2026-09-10", "router-a"},
	    {"router-a/smg.2026-09-10-03.log", "router-a"},
	    {"router-a/sgl-model-gateway.2026-09-10.log", "router-a"},
	    {"router-a/sgl-router.log", "router-a"},
	    {"edge-1/access.log.1", "edge-1"},
	    {"edge-1/error.log", "edge-1"},
	    {"prefill-0/main/0.log", "prefill-0"},
	    {"prefill-0/app/current", "prefill-0"},
	    {"prefill-0/request_metrics.jsonl", "prefill-0"},
	    {"prefill-0/get_server_info.json", "prefill-0"},
	    {"prefill-0/info-2.json", "prefill-0"},
	    {"prefill-0/server_info_2026-09-09.json", "prefill-0"},
	    {"prefill-0/rank3.log", "prefill-0"},
	    {"prefill-0/dp0_tp3.log", "prefill-0"},
	    {"prefill-0/nohup.out", "prefill-0"},
	    {"logs/20260914-decode-0.log", "decode-0"},
	    {"logs/decode-0-server.log", "decode-0"},
	    {"logs/smg.2026-09-10", "smg"},
	    {"prefill-0/pip_list.txt", "prefill-0"},
	    {"prefill-0/pip-freeze-2026-09-14.txt", "prefill-0"},
	    {"prefill-0_pip_freeze.txt", "prefill-0"},
	    {"evidence/decode-1-docker-inspect.json", "decode-1"},
	    {"decode-1/inspect.json", "decode-1"},
	    {"decode-1/image/sbom.cdx.json", "decode-1"},
	    {"decode-1.spdx.json", "decode-1"},
	    {"decode-1/v1_models.json", "decode-1"},
	    {"decode-1/metrics.prom", "decode-1"},
	    {"decode-1/dist-info/direct_url.json", "decode-1"},
	    {"pods.json", ""},
	    {"case-7/evidence/pods.json", ""},
	    {"case-7/inference-pods-2026-09-14.json", ""},
	    {"node-3/kubectl/nodes.json", ""},
	    {"deployments.json", ""},
	    {"evidence/sbom.json", ""},
	    {"evidence/sbom.cdx.xml", ""},
	    {"evidence/bom.xml", ""},
	    {"evidence/image.spdx", ""},
	    {"decode-1-sbom.xml", "decode-1"},
	    {"evidence/pip-freeze.txt", ""},
	    {"evidence/server_info.json", ""},
	    {"evidence/pods/decode-1.log", "decode-1"},
	    {"-", "-"},
	};
	struct arena a;
	(void)state;
	arena_init(&a, 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(worker_of_path(&a, cases[i][0]).ptr, cases[i][1]);
	struct text pod =
	    worker_of_pod("/var/log/pods/inference_prefill-0_0b2a1c5e-1111-2222-3333-444455556666/sglang/0.log");
	assert_true(text_is(pod, "prefill-0"));
	pod = worker_of_pod("/var/log/containers/decode-1_inference_sglang-"
			    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.log");
	assert_true(text_is(pod, "decode-1"));
	assert_int_equal(worker_of_pod("/x/a_b.log").len, 0);
	pod = worker_of_pod("/var/log/pods/kube-system_router-node-1_0123456789abcdef0123456789abcdef/main/0.log");
	assert_true(text_is(pod, "router-node-1"));
	pod = worker_of_pod(
	    "node.tar!var/log/pods/ml_decode-1_0b2a1c5e-1111-2222-3333-444455556666/sglang/0.log.20260910-"
	    "031500.gz");
	assert_true(text_is(pod, "decode-1"));
	pod = worker_of_pod("dump/pods/ml_decode-1_0b2a1c5e-1111-2222-3333-444455556666/0.log");
	assert_true(text_is(pod, "decode-1"));
	arena_done(&a);
}

static void test_snapshot_times(void **state)
{
	(void)state;
	struct stamp t = naming_time("/x/server_info-2026-09-10T12-00-05Z.json", 5);
	assert_int_equal(t.quality, STAMP_ZONED);
	assert_int_equal(t.ns, INT64_C(1789041605) * NS_PER_S);
	assert_int_equal(naming_time("/x/20260910-120005.json", 5).ns, t.ns);
	assert_int_equal(naming_time("/x/20260910-120005.json", 5).quality, STAMP_NAIVE);
	assert_int_equal(naming_time("/x/2026-09-10.json", 5).ns, 5 * NS_PER_S);
	assert_int_equal(naming_time("/x/2026-09-10.json", 5).quality, STAMP_INTERPOLATED);
	assert_int_equal(naming_time("/x/a.json", INT64_MIN).quality, STAMP_NONE);
	/* a log has its year from a date alone */
	t = naming_era("/x/vllm-2026-09-10.log", 5);
	assert_int_equal(t.quality, STAMP_NAIVE);
	assert_int_equal(t.ns, INT64_C(1788998400) * NS_PER_S);
	assert_int_equal(naming_era("/2026-09-10/20260910.log.3", 5).ns, t.ns);
	assert_int_equal(naming_era("/2026-09-10/vllm-202609101.log", 5).ns, 5 * NS_PER_S);
	assert_int_equal(naming_era("/2026-09-10/vllm.log", INT64_MIN).quality, STAMP_NONE);
}

static unsigned warnings;

static void on_warning(void *ctx, struct text what)
{
	(void)ctx;
	(void)what;
	warnings++;
}

static void bad_sources(const char *csv, const char *want)
{
	struct sources_file f;
	struct err err = {0};
	put("s.csv", csv, strlen(csv));
	assert_int_equal(sources_read(&f, in_folder("s.csv"),
				      &(const struct ingest_options){.parsers = toys, .n_parsers = N_TOYS}, &err),
			 ERR_INPUT);
	if (!strstr(err.what, want))
		fail_msg("'%s' does not say '%s'", err.what, want);
}

static void test_sources_file(void **state)
{
	static const char csv[] = "glob,worker,role,tz,format\r\n# comment\r\n\r\n"
				  "prefill-0/*.log,\"p \"\"0\"\"\",prefill,+08:00,toy\n"
				  "*.gz,,,Asia/Shanghai,\n*,rest\n";
	static const char other[] = "worker,glob,colour\n"; /* no header: "worker" would be a glob */
	static const char renamed[] = "glob,colour,worker\na*,red,w\n";
	struct sources_file f;
	struct err err = {0};
	(void)state;
	put("s.csv", csv, sizeof(csv) - 1);
	assert_int_equal(
	    sources_read(&f, in_folder("s.csv"),
			 &(const struct ingest_options){.parsers = toys, .n_parsers = N_TOYS, .on_warning = on_warning},
			 &err),
	    0);
	assert_int_equal(f.n, 3);
	const struct sources_line *l = sources_match(&f, "/x/prefill-0/engine.log");
	assert_non_null(l);
	assert_true(text_is(l->worker, "p \"0\""));
	assert_true(text_is(l->role, "prefill"));
	assert_true(text_is(l->tz, "+08:00"));
	assert_true(text_is(l->format, "toy"));
	assert_ptr_equal(sources_match(&f, "a.gz"), &f.lines[1]);
	assert_ptr_equal(sources_match(&f, "x.tar!b"), &f.lines[2]);
	sources_done(&f);
	assert_int_equal(warnings, 0);
	put("s.csv", renamed, sizeof(renamed) - 1);
	assert_int_equal(
	    sources_read(&f, in_folder("s.csv"),
			 &(const struct ingest_options){.parsers = toys, .n_parsers = N_TOYS, .on_warning = on_warning},
			 &err),
	    0);
	assert_int_equal(warnings, 1);
	assert_true(text_is(f.lines[0].worker, "w"));
	sources_done(&f);
	bad_sources(other, "line 1, column 3: role 'colour'");
	bad_sources("a,b\n\"x,y\n", "line 2, column 1: the quote");
	bad_sources("a,w,boss\n", "line 1, column 3: role 'boss'");
	bad_sources("a,w,,Mars/Base\n", "line 1, column 4: zone 'Mars/Base'");
	bad_sources("a,w,,,none\n", "line 1, column 5: format 'none'");
	bad_sources(",w\n", "line 1, column 1: the glob is empty");
	assert_int_equal(sources_read(&f, in_folder("absent.csv"),
				      &(const struct ingest_options){.parsers = toys, .n_parsers = N_TOYS}, &err),
			 ERR_INPUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_choice),       cmocka_unit_test(test_hosts),
	    cmocka_unit_test(test_effort),       cmocka_unit_test(test_refusals),
	    cmocka_unit_test(test_worker_names), cmocka_unit_test(test_snapshot_times),
	    cmocka_unit_test(test_sources_file),
	};
	return cmocka_run_group_tests(tests, folder_make, folder_drop);
}
