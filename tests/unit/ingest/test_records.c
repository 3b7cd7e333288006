/* SPDX-License-Identifier: Apache-2.0 */
/* test_records.c - cutting and accounting: line ends, borders, long records, classes, delegation, zones */
#include "../../../src/ingest/records.h"
#include "toy.h"

struct seen {
	struct buf out;
};

static int on_event(void *ctx, const struct event *e, struct err *err)
{
	struct seen *s = ctx;
	int rc = event_dump(e, &s->out, err);
	return rc ? rc : buf_add_char(&s->out, '\n', err);
}

static int on_record(void *ctx, uint64_t off, struct text record, enum verdict v, const char *reason)
{
	struct seen *s = ctx;
	return buf_printf(&s->out, NULL, "%llu+%zu %d %s\n", (unsigned long long)off, record.len, (int)v,
			  reason ? reason : "");
}

static int on_reject(void *ctx, uint64_t off, uint64_t len, uint64_t n, const char *reason, struct err *err)
{
	struct seen *s = ctx;
	return buf_printf(&s->out, err, "reject %llu+%llu %llu %s\n", (unsigned long long)off, (unsigned long long)len,
			  (unsigned long long)n, reason);
}

/* Feeds bytes in blocks of `step`; each block lives in memory of its own and is spoiled once it may be. */
static struct account run(struct text bytes, size_t step, size_t headroom, const struct parser *p,
			  const char *zone_name, struct seen *s)
{
	const struct records_sink sink = {on_event, on_record, on_reject, s};
	struct formats f;
	struct records r;
	struct err err = {0};
	struct zone *zone = NULL;
	char *held = NULL;
	s->out = BUF_INIT(64 * MIB);
	if (zone_name)
		assert_int_equal(zone_open(&zone, text_of(zone_name), &err), 0);
	assert_int_equal(formats_open(&f, toys, N_TOYS, &err), 0);
	const struct stack stack = {.parser = p};
	const struct records_ask ask = {.stack = &stack, .zone = zone, .outer = STAMP_INIT};
	assert_int_equal(records_begin(&r, &f, &ask, &sink, &err), 0);
	for (size_t at = 0; at < bytes.len; at += step) {
		size_t n = MIN(step, bytes.len - at);
		char *block = calloc(1, headroom + n + BUF_PADDING);
		memcpy(block + headroom, bytes.ptr + at, n);
		assert_int_equal(records_feed(&r, block + headroom, n, headroom, &err), 0);
		free(held);
		held = block;
	}
	assert_int_equal(records_end(&r, &err), 0);
	struct account a = r.account;
	free(held);
	records_done(&r);
	formats_close(&f);
	zone_close(zone);
	assert_true(account_holds(&a));
	assert_int_equal(a.bytes, bytes.len);
	return a;
}

static void test_lines(void **state)
{
	struct seen s;
	(void)state;
	struct account a = run(TEXT("T1 a\r\n#c\n\nT2 no end"), 1000, 100, &toy, NULL, &s);
	assert_int_equal(a.records, 4);
	assert_int_equal(a.parsed, 2);
	assert_int_equal(a.context, 2);
	assert_string_equal(s.out.ptr, "load 1970-01-01T00:00:01Z naive - 0+4 running=4\n0+4 1 \n6+2 2 \n9+0 2 \n"
				       "load 1970-01-01T00:00:02Z naive - 10+9 running=9\n10+9 1 \n");
	buf_done(&s.out);
	a = run(TEXT(""), 1, 0, &toy, NULL, &s);
	assert_int_equal(a.records, 0);
	buf_done(&s.out);
}

static void test_classes(void **state)
{
	struct seen s;
	(void)state;
	struct account a = run(TEXT("  cut\nodd1\nodd2\n  more\n#c\n  more c\nodd3\n"), 1000, 100, &toy, NULL, &s);
	assert_int_equal(a.records, 5);
	assert_int_equal(a.unparsed, 4);
	assert_int_equal(a.bytes_context, 12);
	assert_string_equal(s.out.ptr,
			    "0+5 3 cut_head\nreject 0+6 1 cut_head\n6+4 3 odd\n11+4 3 odd\n16+6 4 \n23+2 2 \n26+8 4 \n"
			    "reject 6+17 2 odd\n35+4 3 odd\nreject 35+5 1 odd\n");
	buf_done(&s.out);
	/* nothing recognises it: one run of all of it */
	a = run(TEXT("x\ny\r\n\nz"), 3, 100, NULL, NULL, &s);
	assert_int_equal(a.unparsed, 4);
	assert_non_null(strstr(s.out.ptr, "reject 0+7 4 unrecognised\n"));
	buf_done(&s.out);
}

static void test_before_a_record(void **state)
{
	struct seen s;
	(void)state;
	struct account a = run(TEXT("\xef\xbb\xbfT1 a\n\0\0\0T2 b\n\0\0\n"), 1000, 100, &toy, NULL, &s);
	assert_int_equal(a.records, 4);
	assert_int_equal(a.parsed, 2);
	assert_non_null(strstr(s.out.ptr, "3+4 1 \n8+3 3 nul\n"));
	assert_non_null(strstr(s.out.ptr, "11+4 1 \n"));
	assert_non_null(strstr(s.out.ptr, "reject 16+3 1 nul\n"));
	buf_done(&s.out);
	/* one NUL inside, or behind, belongs to the record */
	a = run(TEXT("T1 a\0b\nT2 a\0\n"), 1000, 100, &toy, NULL, &s);
	assert_int_equal(a.parsed, 2);
	assert_non_null(strstr(s.out.ptr, "running=6"));
	buf_done(&s.out);
}

/* Blocks that never came to the disk: what they cut is no record, wherever blocks of reading end. */
static void test_holes(void **state)
{
	struct seen s;
	(void)state;
	for (size_t step = 1; step < 24; step++) {
		struct account a =
		    run(TEXT("T1 a\nT2 b\0\0\0\0T3 c\nT4 d\n\0\0T5 e\0\0\nT6 f\n"), step, 100, &toy, NULL, &s);
		assert_int_equal(a.records, 6);
		assert_int_equal(a.parsed, 3);
		assert_int_equal(a.unparsed, 3);
		assert_non_null(strstr(s.out.ptr, "reject 5+13 1 nul\n"));
		assert_non_null(strstr(s.out.ptr, "reject 23+9 2 nul\n"));
		buf_done(&s.out);
	}
	/* larger than any record */
	size_t n = RECORD_MAX_BYTES + 2 * MIB;
	char *big = calloc(1, n);
	memcpy(big, "T1 a\nT2 b", 9);
	memcpy(big + n - 9, "  c\nT3 d\n", 9);
	struct account a = run((struct text){big, n}, 64 * KIB, 100, &toy, NULL, &s);
	assert_int_equal(a.parsed, 2);
	assert_non_null(strstr(s.out.ptr, " 1 nul\n"));
	assert_null(strstr(s.out.ptr, "too_long"));
	buf_done(&s.out);
	free(big);
}

static void test_split_and_delegate(void **state)
{
	struct seen s;
	(void)state;
	struct account a = run(TEXT("T1 a|T2 b|odd\n{\"toy\":1}\n{\"other\":1}\n"), 1000, 100, &toy, NULL, &s);
	assert_int_equal(a.records, 5);
	assert_int_equal(a.parsed, 4); /* what follows a record that was handed on is offered to the same format */
	assert_non_null(strstr(s.out.ptr, "load 1970-01-01T00:00:02Z naive - 4+5"));
	assert_non_null(strstr(s.out.ptr, "9+4 3 odd"));
	assert_non_null(strstr(s.out.ptr, "leg 1970-01-01T00:00:02Z interpolated - 14+9 rid="));
	buf_done(&s.out);
	a = run(TEXT("T1 a\n{\"other\":1}\n"), 1000, 100, &toy, NULL, &s);
	assert_int_equal(a.unparsed, 1);
	buf_done(&s.out);
}

/* Whatever the blocks are, the records are the same. */
static void test_borders(void **state)
{
	struct seen whole, part;
	struct buf b = BUF_INIT(1 << 16);
	(void)state;
	for (int i = 0; i < 60; i++) {
		assert_int_equal(buf_printf(&b, NULL, "T%d %.*s%s", i, i * 7 % 40,
					    "abcdefghijklmnopqrstuvwxyz|T1 cdefghijklmnopqrstu", i % 5 ? "\n" : "\r\n"),
				 0);
		if (i % 7 == 0)
			assert_int_equal(buf_add_text(&b, TEXT("\n\0\0T1 z\n  more\nodd\n"), NULL), 0);
	}
	run(buf_text(&b), b.len, 0, &toy, NULL, &whole);
	for (size_t step = 1; step < 90; step++) {
		for (size_t headroom = 0; headroom < 70; headroom += 23) {
			run(buf_text(&b), step, headroom, &toy, NULL, &part);
			assert_string_equal(whole.out.ptr, part.out.ptr);
			buf_done(&part.out);
		}
	}
	buf_done(&whole.out);
	buf_done(&b);
}

static void test_too_long(void **state)
{
	struct seen s;
	size_t n = RECORD_MAX_BYTES + 3 * MIB;
	char *big = malloc(n + 64);
	(void)state;
	memcpy(big, "T1 a\nT2 ", 8);
	memset(big + 8, 'x', n);
	memcpy(big + 8 + n, "\nT3 c\n", 6);
	struct account a = run((struct text){big, n + 14}, 1 * MIB, 64 * KIB, &toy, NULL, &s);
	assert_int_equal(a.records, 3);
	assert_int_equal(a.parsed, 2);
	assert_int_equal(a.unparsed, 1);
	assert_int_equal(a.bytes_unparsed, n + 4);
	assert_non_null(strstr(s.out.ptr, "too_long"));
	buf_done(&s.out);
	/* exactly at the limit it is a record, one more and it is not */
	for (size_t more = 0; more < 2; more++) {
		size_t len = RECORD_MAX_BYTES + more;
		memset(big, 'x', len);
		memcpy(big, "T2 ", 3);
		memcpy(big + len, "\r\n", 2);
		a = run((struct text){big, len + 2}, 1 * MIB, 64 * KIB, &toy, NULL, &s);
		assert_int_equal(a.parsed, 1 - more);
		buf_done(&s.out);
	}
	free(big);
}

static void test_documents(void **state)
{
	struct seen s;
	(void)state;
	struct account a = run(TEXT("{\n \"toydoc\": 1\n}\n"), 4, 8, &doc, NULL, &s);
	assert_int_equal(a.records, 1);
	assert_int_equal(a.parsed, 1);
	assert_non_null(strstr(s.out.ptr, "0+17 1"));
	buf_done(&s.out);
	size_t n = DOCUMENT_MAX_BYTES + 10;
	char *big = malloc(n);
	memset(big, '{', n);
	a = run((struct text){big, n}, 1 * MIB, 8, &doc, NULL, &s);
	assert_int_equal(a.records, 1);
	assert_int_equal(a.unparsed, 1);
	buf_done(&s.out);
	free(big);
}

static void test_zone(void **state)
{
	struct seen s;
	(void)state;
	run(TEXT("T100000 a\n{\"toy\":1}\n"), 1000, 100, &toy, "+08:00", &s);
	/* the naive time and the one that is taken from it move together */
	assert_non_null(strstr(s.out.ptr, "load 1970-01-01T19:46:40Z naive"));
	assert_non_null(strstr(s.out.ptr, "leg 1970-01-01T19:46:40Z interpolated"));
	buf_done(&s.out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lines),
	    cmocka_unit_test(test_classes),
	    cmocka_unit_test(test_before_a_record),
	    cmocka_unit_test(test_holes),
	    cmocka_unit_test(test_borders),
	    cmocka_unit_test(test_too_long),
	    cmocka_unit_test(test_split_and_delegate),
	    cmocka_unit_test(test_documents),
	    cmocka_unit_test(test_zone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
