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

#include "real_log.h"

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

static bool read_log(const char *name, struct seen *ret)
{
	memset(ret, 0, sizeof(*ret));
	bool there = read_real_log(name, "sglang-engine", on_event, on_record, ret);
	assert_int_equal(ret->silent, 0);
	return there;
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
