/* SPDX-License-Identifier: Apache-2.0 */
/* test_vllm.c - vLLM, LMCache and Dynamo on real logs: every record that tells something gives its events
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

enum { WHATS = 24 };

struct seen {
	struct {
		char name[32];
		unsigned n;
	} what[WHATS];
	unsigned loads, access, refused, pages, silent;
	int64_t pool, context, limit, input;
	char rid[80], version[32], role[16], flag[16];
};

static void count(struct seen *s, struct text what)
{
	size_t i = 0;
	while (i < WHATS && s->what[i].name[0] && !text_is(what, s->what[i].name))
		i++;
	assert_true(i < WHATS);
	snprintf(s->what[i].name, sizeof(s->what[i].name), "%.*s", TEXT_ARG(what));
	s->what[i].n++;
}

static unsigned times(const struct seen *s, const char *what)
{
	for (size_t i = 0; i < WHATS; i++)
		if (!strcmp(s->what[i].name, what))
			return s->what[i].n;
	return 0;
}

static void keep(char *to, size_t size, const struct event *e, unsigned column)
{
	if (e->known >> column & 1)
		snprintf(to, size, "%.*s", TEXT_ARG(e->t[column]));
}

static int on_event(void *ctx, const struct event *e, struct err *err)
{
	struct seen *s = ctx;
	(void)err;
	s->loads += e->kind == EVENT_LOAD;
	if (e->kind == EVENT_GATEWAY) {
		s->access++;
		s->refused += e->i[GATEWAY_STATUS] == 400;
	}
	for (uint32_t i = 0; e->kind == EVENT_PAGE && i < e->n_runs; i++)
		s->pages += e->runs[i].count;
	if (e->kind == EVENT_LEG) {
		count(s, e->t[LEG_WHAT]);
		keep(s->rid, sizeof(s->rid), e, LEG_RID);
		keep(s->role, sizeof(s->role), e, LEG_ROLE);
		keep(s->flag, sizeof(s->flag), e, LEG_INPUT_FLAG);
		if (e->known >> LEG_INPUT & 1)
			s->input = e->i[LEG_INPUT];
		if (e->known >> LEG_LIMIT & 1)
			s->limit = e->i[LEG_LIMIT];
	}
	if (e->kind == EVENT_BOOT) {
		count(s, e->t[BOOT_WHAT]);
		keep(s->version, sizeof(s->version), e, BOOT_VERSION);
		if (e->known >> BOOT_POOL & 1)
			s->pool = e->i[BOOT_POOL];
		if (e->known >> BOOT_CONTEXT & 1)
			s->context = e->i[BOOT_CONTEXT];
	}
	return 0;
}

/* Nothing that says something of a request, a start or a failure may stand in an unparsed record. */
static int on_record(void *ctx, uint64_t off, struct text record, enum verdict v, const char *reason)
{
	static const char *const words[] = {"cmpl-", "request",   "Request", "HTTP/1.1\"", "tokens",
					    "rror",  "block_ids", "version", "fail",       "Reqid"};
	struct seen *s = ctx;
	(void)reason;
	(void)off;
	for (size_t i = 0; v == RECORD_UNPARSED && i < ARRAY_SIZE(words); i++)
		s->silent += text_find(record, words[i], 0) != SIZE_MAX;
	return 0;
}

static bool read_log(const char *name, const char *format, struct seen *ret)
{
	memset(ret, 0, sizeof(*ret));
	bool there = read_real_log(name, format, on_event, on_record, ret);
	assert_int_equal(ret->silent, 0);
	return there;
}

static void test_rejection(void **state)
{
	struct seen s;
	(void)state;
	if (!read_log("vllm-0.22.1-context-400.log", "vllm", &s))
		return;
	assert_string_equal(s.version, "0.22.1");
	assert_int_equal(s.pool, 464656);
	assert_int_equal(s.context, 8192);
	assert_string_equal(s.role, "unified");
	assert_int_equal(times(&s, "start"), 2);
	assert_int_equal(times(&s, "args"), 2);
	assert_int_equal(times(&s, "pool"), 2);
	assert_int_equal(times(&s, "ready"), 2);
	assert_int_equal(times(&s, "rejected"), 1);
	assert_int_equal(s.input, 7681);
	assert_string_equal(s.flag, "at_least");
	assert_int_equal(s.limit, 8192);
	assert_int_equal(s.refused, 1);
	assert_int_equal(s.access, 80);
	assert_int_equal(s.loads, 1);
}

static void test_cache(void **state)
{
	struct seen s;
	(void)state;
	if (!read_log("vllm-lmcache-load-failure.log", "vllm", &s))
		return;
	assert_int_equal(times(&s, "lookup"), 13);
	assert_int_equal(times(&s, "load_failed"), 8);
	assert_int_equal(s.access, 11);
	assert_int_equal(s.refused, 0);
	assert_string_equal(s.rid, "chatcmpl-8a60c111b2b85690");
	assert_int_equal(s.input, 1067);
	assert_string_equal(s.flag, "estimate");
}

static void test_handoff(void **state)
{
	struct seen s;
	(void)state;
	if (!read_log("llmd-vllm-nixl-decode.log", "vllm", &s))
		return;
	assert_int_equal(times(&s, "received"), 2);
	assert_int_equal(times(&s, "handoff"), 2);
	assert_string_equal(s.role, "decode");
	assert_int_equal(s.input, 76);
	assert_string_equal(s.flag, "at_least"); /* the arguments were not logged */
	if (!read_log("llmd-vllm-nixl-prefill.log", "vllm", &s))
		return;
	assert_int_equal(times(&s, "received"), 2);
	assert_int_equal(times(&s, "sent"), 1);
	assert_string_equal(s.role, "prefill");
	assert_string_equal(s.rid, "cmpl-0dec7ca2-42c8-4b79-a753-d355181114f2-0");
	assert_int_equal(s.access, 1);
}

static void test_dynamo(void **state)
{
	struct seen s;
	(void)state;
	if (!read_log("dynamo-0.4.1-vllm-nixl-decode.log", "dynamo", &s))
		return;
	assert_int_equal(times(&s, "received"), 1);
	assert_int_equal(times(&s, "finished"), 2); /* the engine names none, the runtime the one that is open */
	assert_string_equal(s.rid, "0d2c9fea0c4944c6ba66ac7f9356a139");
	assert_string_equal(s.role, "decode");
	assert_int_equal(s.pages, 0);
	if (!read_log("dynamo-0.4.1-vllm-nixl-prefill.log", "dynamo", &s))
		return;
	assert_int_equal(times(&s, "received"), 1);
	assert_int_equal(times(&s, "finished"), 2);
	assert_string_equal(s.rid, "0d2c9fea0c4944c6ba66ac7f9356a139");
	assert_string_equal(s.role, "prefill");
	assert_int_equal(s.pages, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rejection),
	    cmocka_unit_test(test_cache),
	    cmocka_unit_test(test_handoff),
	    cmocka_unit_test(test_dynamo),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
