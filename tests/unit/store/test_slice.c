/* SPDX-License-Identifier: Apache-2.0 */
/* test_slice.c - event columns that are places in records: values come back whatever the records look like */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../src/store/filter.h"
#include "../../../src/store/slice.h"
#include "pagetrail/column.h"

static uint64_t rng;

static uint64_t rnd(uint64_t below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return below ? rng % below : rng;
}

#define END(s) ((s) + strlen(s))

static int64_t number_of(const char *s, unsigned power)
{
	int64_t v = -1;
	const char *stop;
	return slice_number(s, END(s), power, &v, &stop) ? v : INT64_MIN;
}

static void numbers(void **state)
{
	(void)state;
	assert_int_equal(number_of("12", 0), 12);
	assert_int_equal(number_of("-12,", 0), -12);
	assert_int_equal(number_of("12.3456", 1), 12345);
	assert_int_equal(number_of("-0.5", 1), -500);
	assert_int_equal(number_of("12.", 1), 12000);
	assert_int_equal(number_of("1788000000.25", 3), 1788000000250000000);
	assert_true(number_of("", 0) == INT64_MIN);
	assert_true(number_of("-", 0) == INT64_MIN);
	assert_true(number_of("x", 0) == INT64_MIN);
	assert_int_equal(number_of("999999999999999999", 0), 999999999999999999);
	assert_int_equal(number_of("9223372036854775807", 0), INT64_MAX);
	assert_true(number_of("9223372036854775808", 0) == INT64_MIN);
	assert_true(number_of("99999999999", 3) == INT64_MIN);
}

static int64_t stamp_of(const char *s)
{
	int64_t v = -1;
	const char *stop;
	return slice_stamp(s, END(s), &v, &stop) ? v : INT64_MIN;
}

static void stamps(void **state)
{
	(void)state;
	assert_int_equal(stamp_of("1970-01-02T00:00:01"), 86401000000000);
	assert_int_equal(stamp_of("2026-09-14 07:00:26,123"), 1789369226123000000);
	assert_int_equal(stamp_of("2026-09-14T07:00:26.000000001Z"), 1789369226000000001);
	assert_true(stamp_of("2026-13-14T07:00:26") == INT64_MIN);
	assert_true(stamp_of("2026-09-14T07:00:2") == INT64_MIN);
	assert_true(stamp_of("1026-09-14T07:00:26") == INT64_MIN);
}

static size_t pages_of(const char *s, struct page_run *runs, size_t max)
{
	const char *stop;
	return slice_pages(s, END(s), runs, max, &stop);
}

static void page_lists(void **state)
{
	(void)state;
	struct page_run r[4];
	assert_int_equal(pages_of("[7]", r, 4), 1);
	assert_true(r[0].first == 7 && r[0].count == 1);
	assert_int_equal(pages_of("[]", r, 4), 0);
	assert_int_equal(pages_of("[1,2,[3,4],9]", r, 4), 2);
	assert_true(r[0].first == 1 && r[0].count == 6 && r[1].first == 9 && r[1].count == 1);
	assert_int_equal(pages_of("[[4294967295,4294967295]]", r, 4), 1);
	const char *const bad[] = {"", "[", "[1", "[1,]", "[[1]]", "[[1,2,3]]", "[4294967296]", "[1 ,2]", "1"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(pages_of(bad[i], r, 4), SIZE_MAX);
	assert_int_equal(pages_of("[1,3,5,7]", r, 4), 4);
	assert_int_equal(pages_of("[1,3,5,7,9]", r, 4), SIZE_MAX); /* one more than there is room for */
}

static void ends_of_texts(void **state)
{
	(void)state;
	const char *s = "ab-1.x\" y";
	assert_ptr_equal(slice_text_end(s, END(s), SLICE_END_WORD), s + 6);
	assert_ptr_equal(slice_text_end(s, END(s), 'y'), s + 8);
	assert_ptr_equal(slice_text_end(s, END(s), 'z'), END(s));
}

/* --- whole batches --- */

struct made {
	struct event_batch *b;
	struct buf bytes;
	uint64_t off;
};

static void say(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct buf *b, const char *format, ...)
{
	char tmp[4096];
	va_list ap;
	va_start(ap, format);
	int n = vsnprintf(tmp, sizeof(tmp), format, ap);
	va_end(ap);
	assert_true(n >= 0 && (size_t)n < sizeof(tmp));
	assert_int_equal(buf_add(b, tmp, (size_t)n, NULL), 0);
}

/* Pages as JSON, runs of one page as numbers. */
static void say_pages(struct buf *b, const struct event *e)
{
	say(b, "\"pages\":[");
	for (uint32_t i = 0; i < e->n_runs; i++)
		say(b, e->runs[i].count == 1 ? "%s%" PRIu32 : "%s[%" PRIu32 ",%" PRIu32 "]", i ? "," : "",
		    e->runs[i].first, e->runs[i].count);
	say(b, "]");
}

/* One event and its record; style decides what does not stand in the record, or stands there otherwise. */
static void make_row(struct made *m, uint32_t i, unsigned style, const char *line_end)
{
	static char rid[64], room[32];
	struct page_run runs[4];
	struct event e = {.kind = EVENT_PAGE, .worker = TEXT(""), .runs = runs};
	uint64_t us = 1788000000000000 + (uint64_t)i * 1500 + rnd(1000);
	size_t from = m->bytes.len;
	if (!rid[0] || !rnd(3)) {
		snprintf(rid, sizeof(rid), "%016" PRIx64 "%016" PRIx64, rnd(0), rnd(0));
		snprintf(room, sizeof(room), "%" PRIu64, rnd(0) >> 1);
	}
	e.n_runs = (uint32_t)rnd(4);
	for (uint32_t k = 0, at = (uint32_t)rnd(1000); k < e.n_runs; k++) {
		runs[k] = (struct page_run){at, 1 + (uint32_t)rnd(5)};
		at += runs[k].count + 1 + (uint32_t)rnd(9);
	}
	e.ts = (struct stamp){(int64_t)us * 1000, STAMP_ZONED, 1};
	e.known = 1u << PAGE_OP | 1u << PAGE_RID | 1u << PAGE_ROOM | 1u << PAGE_SEQ | 1u << PAGE_PAGES;
	e.t[PAGE_OP] = rnd(2) ? TEXT("read") : TEXT("write");
	e.t[PAGE_RID] = text_of(rid);
	e.t[PAGE_ROOM] = style == 1 && !rnd(20) ? TEXT("") : text_of(room);
	e.i[PAGE_SEQ] = style == 2 ? (int64_t)rnd(0) >> 1 : i;
	if (!rnd(3)) {
		e.known |= 1u << PAGE_TOKEN_FROM | 1u << PAGE_TOKEN_TO;
		e.i[PAGE_TOKEN_FROM] = (int64_t)rnd(5) * 1000;
		e.i[PAGE_TOKEN_TO] = e.i[PAGE_TOKEN_FROM] + (int64_t)rnd(100000);
	}
	bool lies = style == 3 && !rnd(30); /* the record says something else */
	say(&m->bytes, "{\"ts\":%" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
	say(&m->bytes, ",\"seq\":%" PRId64 ",\"op\":\"%.*s\"", e.i[PAGE_SEQ], (int)e.t[PAGE_OP].len, e.t[PAGE_OP].ptr);
	say(&m->bytes, "%s,\"rid\":\"%s\"", style == 4 && rnd(2) ? ", \"x\":\"zzz\"" : "", lies ? "?" : rid);
	say(&m->bytes, ",\"room\":%s,", lies ? "0" : room);
	say_pages(&m->bytes, &e);
	if (e.known >> PAGE_TOKEN_TO & 1)
		say(&m->bytes, ",\"tokens\":[%" PRId64 ",%" PRId64 "]", e.i[PAGE_TOKEN_FROM], e.i[PAGE_TOKEN_TO]);
	say(&m->bytes, "}");
	e.byte_off = m->off + from;
	e.byte_len = (uint32_t)(m->bytes.len - from);
	say(&m->bytes, "%s", line_end);
	assert_int_equal(event_batch_add(m->b, &e, NULL), 0);
}

static void make(struct made *m, uint32_t n, unsigned style)
{
	*m = (struct made){.bytes = BUF_INIT(64 << 20), .off = rnd(1u << 30)};
	assert_int_equal(event_batch_new(&m->b, EVENT_PAGE, n, NULL), 0);
	for (uint32_t i = 0; i < n; i++)
		make_row(m, i, style, style == 5 ? "\r\n" : "\n");
}

static void unmake(struct made *m)
{
	event_batch_free(m->b);
	buf_done(&m->bytes);
}

static int read_made(void *ctx, uint64_t off, size_t len, char *dest, struct err *err)
{
	const struct made *m = ctx;
	if (off < m->off || off - m->off > m->bytes.len || len > m->bytes.len - (off - m->off))
		return err_set(err, ERR_INPUT, "outside");
	memcpy(dest, m->bytes.ptr + (off - m->off), len);
	return 0;
}

static void assert_row(const struct event_batch *a, const struct event_batch *b, uint32_t i, uint32_t mask)
{
	assert_true(a->ts_ns[i] == b->ts_ns[i]);
	assert_true(a->byte_off[i] == b->byte_off[i] && a->byte_len[i] == b->byte_len[i]);
	assert_int_equal(a->known[i] & mask, b->known[i]);
	for (unsigned c = 0; c < event_kinds[a->kind].n_columns; c++) {
		if (!event_known(b, i, c))
			continue;
		if (a->ints[c])
			assert_true(a->ints[c][i] == b->ints[c][i]);
		else if (a->texts[c])
			assert_true(text_eq(a->texts[c][i], b->texts[c][i]));
		else {
			uint32_t fa = i ? a->run_end[i - 1] : 0, fb = i ? b->run_end[i - 1] : 0, n = a->run_end[i] - fa;
			assert_int_equal(n, b->run_end[i] - fb);
			assert_memory_equal(a->runs + fa, b->runs + fb, n * sizeof(*a->runs));
		}
	}
}

static void round_trips(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 48; turn++) {
		struct made m;
		struct event_batch *back;
		struct event_chunk e, plain;
		struct err err = {0};
		unsigned style = turn % 6;
		uint64_t seed = rng;
		make(&m, 1 + (uint32_t)rnd(turn < 12 ? 40 : 3000), style);
		/* all of the bytes, or a part of them: the first and last records are cut */
		size_t cut = turn % 4 == 3 ? rnd(MIN(m.bytes.len / 2, (size_t)500)) : 0;
		struct column_bytes from = {text_sub(buf_text(&m.bytes), cut, m.bytes.len - 2 * cut), m.off + cut};
		struct column_reader reader = {read_made, &m};
		uint32_t mask = turn % 5 ? UINT32_MAX : (uint32_t)rnd(0);
		assert_int_equal(column_encode(m.b, &from, &e, NULL), 0);
		assert_int_equal(column_encode(m.b, NULL, &plain, NULL), 0);
		int r = column_decode(EVENT_PAGE, buf_text(&e.data), mask, &reader, &back, &err);
		if (r)
			print_message("# seed %" PRIu64 ", style %u: %s\n", seed, style, err.what);
		assert_int_equal(r, 0);
		assert_int_equal(back->n, m.b->n);
		for (uint32_t i = 0; i < m.b->n; i++)
			assert_row(m.b, back, i, mask);
		if (m.b->n > 1000 && style < 5)
			assert_true(e.data.len < plain.data.len / 2);
		for (uint32_t i = 0; i < m.b->n; i += 7) /* nothing that is there is missed */
			assert_true(
			    column_holds(EVENT_PAGE, buf_text(&e.data), PAGE_RID, m.b->texts[PAGE_RID][i], NULL) == 1);
		event_batch_free(back);
		column_done(&e);
		column_done(&plain);
		unmake(&m);
	}
}

/* Other bytes than those it was made with: an error or other values, nothing worse. */
static void changed_bytes(void **state)
{
	(void)state;
	struct made m;
	struct event_chunk e;
	make(&m, 300, 0);
	struct column_bytes from = {buf_text(&m.bytes), m.off};
	struct column_reader reader = {read_made, &m};
	assert_int_equal(column_encode(m.b, &from, &e, NULL), 0);
	for (int turn = 0; turn < 400; turn++) {
		struct event_batch *back = NULL;
		size_t at = rnd(m.bytes.len);
		char was = m.bytes.ptr[at];
		m.bytes.ptr[at] = (char)rnd(256);
		int r = column_decode(EVENT_PAGE, buf_text(&e.data), UINT32_MAX, &reader, &back, NULL);
		assert_true(r == 0 || r == ERR_DAMAGED);
		if (!r)
			event_batch_free(back);
		m.bytes.ptr[at] = was;
	}
	for (int turn = 0; turn < 2000; turn++) { /* and a changed chunk */
		struct event_batch *back = NULL;
		size_t at = rnd(e.data.len);
		char was = e.data.ptr[at];
		e.data.ptr[at] = (char)rnd(256);
		int r = column_decode(EVENT_PAGE, buf_text(&e.data), UINT32_MAX, &reader, &back, NULL);
		assert_true(r == 0 || r == ERR_DAMAGED || r == ERR_INPUT || r == ERR_NOMEM);
		if (!r)
			event_batch_free(back);
		e.data.ptr[at] = was;
	}
	column_done(&e);
	unmake(&m);
}

static void needs_its_bytes(void **state)
{
	(void)state;
	struct made m;
	struct event_chunk e;
	struct event_batch *back = NULL;
	make(&m, 300, 0);
	struct column_bytes from = {buf_text(&m.bytes), m.off};
	assert_int_equal(column_encode(m.b, &from, &e, NULL), 0);
	assert_int_equal(column_decode(EVENT_PAGE, buf_text(&e.data), UINT32_MAX, NULL, &back, NULL), ERR_BUG);
	column_done(&e);
	unmake(&m);
}

static void filters(void **state)
{
	(void)state;
	enum { N = 2000 };
	static char names[2 * N][24];
	static struct text v[N];
	static uint8_t has[N];
	struct buf out = BUF_INIT(1 << 20);
	unsigned wrong = 0;
	for (unsigned i = 0; i < 2 * N; i++)
		snprintf(names[i], sizeof(names[i]), "%016" PRIx64, rnd(0));
	for (unsigned i = 0; i < N; i++) {
		v[i] = text_of(names[i]);
		has[i] = i % 10 != 0;
	}
	assert_int_equal(filter_make(v, has, N, N, &out, NULL), 0); /* fewer than that */
	assert_int_equal(out.len, 0);
	assert_int_equal(filter_make(v, has, N, 32, &out, NULL), 0);
	assert_int_equal(out.len, 2 * (N * 9 / 10));
	for (unsigned i = 0; i < N; i++)
		assert_true(!has[i] || filter_holds(buf_text(&out), v[i]));
	for (unsigned i = N; i < 2 * N; i++)
		wrong += filter_holds(buf_text(&out), text_of(names[i]));
	assert_true(wrong < N / 200);
	buf_done(&out);
}

int main(void)
{
	const char *seed = getenv("PAGETRAIL_SEED");
	rng = seed ? strtoull(seed, NULL, 10) | 1 : 88172645463325252u;
	print_message("# seed %" PRIu64 "\n", rng);
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(numbers),         cmocka_unit_test(stamps),      cmocka_unit_test(page_lists),
	    cmocka_unit_test(ends_of_texts),   cmocka_unit_test(round_trips), cmocka_unit_test(changed_bytes),
	    cmocka_unit_test(needs_its_bytes), cmocka_unit_test(filters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
