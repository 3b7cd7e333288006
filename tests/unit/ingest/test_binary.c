/* SPDX-License-Identifier: Apache-2.0 */
/* test_binary.c - records that say their own length: borders, holes, torn ends, long ones, hostile ones; detection */
#include <time.h>

#include "../../../src/ingest/detect.h"
#include "../../../src/ingest/records.h"
#include "toy.h"

static int on_event(void *ctx, const struct event *e, struct err *err)
{
	int rc = event_dump(e, ctx, err);
	return rc ? rc : buf_add_char(ctx, '\n', err);
}

static int on_record(void *ctx, uint64_t off, struct text record, enum verdict v, const char *reason)
{
	return buf_printf(ctx, NULL, "%llu+%zu %d %s\n", (unsigned long long)off, record.len, (int)v,
			  reason ? reason : "");
}

static int on_reject(void *ctx, uint64_t off, uint64_t len, uint64_t n, const char *reason, struct err *err)
{
	return buf_printf(ctx, err, "reject %llu+%llu %llu %s\n", (unsigned long long)off, (unsigned long long)len,
			  (unsigned long long)n, reason);
}

/* Feeds bytes in blocks of `step`, each of which is spoiled once it may be. */
static struct account run(struct text bytes, size_t step, bool cut_head, struct buf *out)
{
	const struct records_sink sink = {on_event, on_record, on_reject, out, NULL};
	const struct stack stack = {.parser = &toy_binary};
	const struct records_ask ask = {.stack = &stack, .outer = STAMP_INIT};
	struct formats f;
	struct records r;
	struct err err = {0};
	buf_clear(out);
	assert_int_equal(formats_open(&f, toys, N_TOYS, &err), 0);
	assert_int_equal(records_begin(&r, &f, &ask, &sink, &err), 0);
	if (cut_head)
		binary_begin(&r, true);
	for (size_t at = 0; at < bytes.len; at += step) {
		size_t n = MIN(step, bytes.len - at);
		char *block = calloc(1, n + BUF_PADDING);
		memcpy(block, bytes.ptr + at, n);
		assert_int_equal(records_feed(&r, block, n, 0, &err), 0);
		memset(block, '@', n);
		free(block);
	}
	assert_int_equal(records_end(&r, &err), 0);
	struct account a = r.account;
	records_done(&r);
	formats_close(&f);
	assert_true(account_holds(&a));
	assert_int_equal(a.bytes, bytes.len);
	return a;
}

/* The same whatever blocks the bytes come in. */
static void expect(struct text bytes, bool cut_head, const char *want)
{
	struct buf out = BUF_INIT(MIB);
	for (size_t step = 1; step <= bytes.len; step++) {
		run(bytes, step, cut_head, &out);
		assert_string_equal(out.ptr, want);
	}
	buf_done(&out);
}

#define K(off, len) "cache - none - " #off "+" #len " seq=" #len "\n" #off "+" #len " 1 \n"

static void test_whole(void **state)
{
	(void)state;
	expect(TEXT("@03k\n\n@01k^00000002kk"), false, K(0, 6) K(6, 4) K(10, 11));
	expect(TEXT("@02kx@01x@01k"), false, K(0, 5) "5+4 3 odd\n" K(9, 4) "reject 5+4 1 odd\n");
}

static void test_lost(void **state)
{
	(void)state;
	/* bytes that are no record; the next one must be one that its format is sure of */
	expect(TEXT("@01k??@01x@01k"), false, K(0, 4) "4+6 3 no_length\n" K(10, 4) "reject 4+6 1 no_length\n");
	/* the source ends inside of a record; a whole one inside of that is one */
	expect(TEXT("@01k@ffk"), false, K(0, 4) "4+4 3 torn\nreject 4+4 1 torn\n");
	expect(TEXT("@01k@0"), false, K(0, 4) "4+2 3 torn\nreject 4+2 1 torn\n");
	expect(TEXT("@ff@01k"), false, "0+3 3 torn\n" K(3, 4) "reject 0+3 1 torn\n");
	expect(TEXT("01k@01k"), true, "0+3 3 cut_head\n" K(3, 4) "reject 0+3 1 cut_head\n");
	expect(TEXT("@01x@01k"), true, "0+4 3 cut_head\n" K(4, 4) "reject 0+4 1 cut_head\n");
	expect(TEXT("@01k"), true, K(0, 4));
}

static struct text filled(size_t n, const char *unit)
{
	char *p = malloc(n + BUF_PADDING);
	size_t each = strlen(unit);
	assert_non_null(p);
	for (size_t i = 0; i < n; i++)
		p[i] = unit[i % each];
	return (struct text){p, n};
}

/* A record at the limit is one, above it is passed over by its length, in no more memory. */
static void test_long(void **state)
{
	struct buf out = BUF_INIT(MIB);
	char head[10];
	(void)state;
	for (int more = 0; more < 3; more++) {
		size_t len = RECORD_MAX_BYTES + (size_t)(more == 1), bytes = len + (more == 2 ? 0 : 4);
		struct text t = filled(bytes, "k");
		char *p = (char *)(uintptr_t)t.ptr;
		snprintf(head, sizeof(head), "^%08zx", more == 2 ? len - 8 : len - 9);
		memcpy(p, head, 9);
		if (more < 2)
			memcpy(p + len, "@01k", 4);
		struct account a = run(t, MIB, false, &out);
		assert_int_equal(a.records, more == 2 ? a.records : 2);
		assert_int_equal(a.parsed, more == 0 ? 2 : more == 1 ? 1 : 0);
		if (more == 1)
			assert_non_null(strstr(out.ptr, "3 too_long"));
		if (more == 2)
			assert_non_null(strstr(out.ptr, "3 torn"));
		free(p);
	}
	buf_done(&out);
}

/* Each byte begins a long record that is none: looking costs no more than a few passes. */
static void test_hostile(void **state)
{
	struct buf out = BUF_INIT(MIB);
	(void)state;
	struct text t = filled(8 * MIB, "^003fffff");
	clock_t from = clock();
	struct account a = run((struct text){t.ptr, t.len}, MIB, true, &out);
	assert_int_equal(a.parsed, 0);
	assert_int_equal(a.unparsed, 1);
	assert_true((double)(clock() - from) / CLOCKS_PER_SEC < 20);
	free((char *)(uintptr_t)t.ptr);
	buf_done(&out);
}

static void detected(struct text head, const struct parser *want)
{
	struct detection d;
	struct err err = {0};
	assert_int_equal(detect(toys, N_TOYS, head, true, &d, &err), 0);
	if (d.parser != want)
		fail_msg("%.*s: %s", TEXT_ARG(head), d.parser ? d.parser->name : d.reason);
}

static void test_detection(void **state)
{
	(void)state;
	detected(TEXT("@01k@01k"), &toy_binary);
	detected(TEXT("@03k\n\n@01k"), &toy_binary);
	detected(TEXT("@01k@01x"), &toy_binary);
	detected(TEXT("@01x@01x@01k"), NULL);
	detected(TEXT("@ffkkkkk"), &toy_binary); /* the head of a long one */
	detected(TEXT("T1 a\n@01k"), &toy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_whole),   cmocka_unit_test(test_lost),      cmocka_unit_test(test_long),
	    cmocka_unit_test(test_hostile), cmocka_unit_test(test_detection),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
