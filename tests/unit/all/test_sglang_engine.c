/* SPDX-License-Identifier: Apache-2.0 */
/* test_sglang_engine.c - the SGLang log parser on real logs: every record that tells something gives its events
 *
 * The logs are not part of the project: PAGETRAIL_SHARED names their folder (default ../shared/data); skipped without.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pagetrail/ingest.h"

struct seen {
	unsigned failed, pools, drafts, loads, access, silent;
	int64_t pool, context;
};

static int on_event(void *ctx, const struct event *e, struct err *err)
{
	struct seen *s = ctx;
	(void)err;
	if (e->kind == EVENT_LOAD)
		s->loads++;
	if (e->kind == EVENT_GATEWAY)
		s->access++;
	if (e->kind == EVENT_LEG && text_is(e->t[LEG_WHAT], "failed") && (e->known >> LEG_ROOM & 1))
		s->failed++;
	if (e->kind != EVENT_BOOT || !text_is(e->t[BOOT_WHAT], "pool"))
		return 0;
	s->pools++;
	if (e->known >> BOOT_DRAFT & 1)
		s->drafts += e->i[BOOT_DRAFT] != 0;
	if (e->known >> BOOT_CONTEXT & 1) {
		s->pool = e->i[BOOT_POOL];
		s->context = e->i[BOOT_CONTEXT];
	}
	return 0;
}

/* Words of records that must not be lost, wherever they stand in an unparsed record. */
static int on_record(void *ctx, uint64_t off, struct text record, enum verdict v, const char *reason)
{
	static const char *const words[] = {"bootstrap_room=", "max_total_num_token", "#tokens: ", "exceeds the max",
					    "HTTP/1.1\""};
	struct seen *s = ctx;
	(void)reason;
	(void)off;
	for (size_t i = 0; v == RECORD_UNPARSED && i < ARRAY_SIZE(words); i++)
		s->silent += text_find(record, words[i], 0) != SIZE_MAX;
	return 0;
}

/* false: the log is not there. (cmocka's TAP prints a skipped test as "not ok": so a test just ends.) */
static bool read_log(const char *name, struct seen *ret)
{
	const char *shared = getenv("PAGETRAIL_SHARED");
	const struct parser *p = parser_find(parsers, n_parsers, text_of("sglang-engine"));
	char path[512];
	struct account account = {0};
	struct detection found;
	struct err err = {0};
	assert_non_null(p);
	snprintf(path, sizeof(path), "%s/engine-logs/%s", shared ? shared : "../shared/data", name);
	FILE *f = fopen(path, "rb");
	if (!f) {
		print_message("# skipped: no %s\n", path);
		return false;
	}
	char *bytes = calloc(1, (1 << 20) + BUF_PADDING);
	assert_non_null(bytes);
	struct text t = {bytes, fread(bytes, 1, 1 << 20, f)};
	fclose(f);
	memset(ret, 0, sizeof(*ret));
	assert_int_equal(detect(parsers, n_parsers, t, true, &found, &err), 0);
	assert_ptr_equal(found.parser, p);
	assert_int_equal(ingest_text(p, parsers, n_parsers, t, on_event, on_record, ret, &account, &err), 0);
	assert_int_equal(account.bytes, t.len);
	assert_int_equal(account.records, account.parsed + account.context + account.unparsed);
	assert_int_equal(ret->silent, 0);
	free(bytes);
	return true;
}

static void test_disaggregated(void **state)
{
	static const struct {
		const char *name;
		unsigned failed;
	} logs[] = {{"sglang-0.5.8-h100-pd-prefill-0.log", 16},
		    {"sglang-0.5.8-h100-pd-prefill-1.log", 16},
		    {"sglang-0.5.8-h100-pd-decode-0.log", 16},
		    {"sglang-0.5.8-h100-pd-decode-1.log", 16}};
	struct seen s;
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(logs); i++) {
		if (!read_log(logs[i].name, &s))
			return;
		assert_int_equal(s.failed, logs[i].failed);
	}
}

static void test_ranks(void **state)
{
	struct seen s;
	(void)state;
	if (!read_log("sglang-npu-pd-decode.log", &s))
		return;
	assert_int_equal(s.pools, 33);
	assert_int_equal(s.drafts, 16);
	assert_int_equal(s.pool, 132608);
	assert_int_equal(s.context, 8192);
	assert_int_equal(s.loads, 857);
	if (!read_log("sglang-npu-pd-prefill.log", &s))
		return;
	assert_int_equal(s.drafts, 16);
	assert_int_equal(s.pool, 137344);
	assert_int_equal(s.loads, 834);
}

static void test_unified(void **state)
{
	struct seen s;
	(void)state;
	if (!read_log("sglang-0.4.3-l4-tp4.log", &s))
		return;
	assert_int_equal(s.pool, 46611);
	assert_int_equal(s.context, 131072);
	assert_int_equal(s.drafts, 0);
	if (!read_log("sglang-rocm-r9700-pool-below-context.log", &s))
		return;
	assert_int_equal(s.pool, 169092);
	assert_int_equal(s.context, 262144);
	if (!read_log("sglang-0.5.10-h100-pp-cp-export.tsv", &s))
		return;
	assert_int_equal(s.loads, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_disaggregated),
	    cmocka_unit_test(test_ranks),
	    cmocka_unit_test(test_unified),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
