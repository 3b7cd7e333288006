/* SPDX-License-Identifier: Apache-2.0 */
/* test_column.c - event chunks: round trips of random batches, pruning, and a decoder that meets hostile bytes */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pagetrail/column.h"

static uint64_t rng;

static uint64_t rnd(uint64_t below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return below ? rng % below : rng;
}

/* A value of a column that behaves in one of several ways: constant, counting, small, wild, missing. */
static void random_event(struct event *e, enum event_kind kind, uint32_t row, const uint8_t *style,
			 struct page_run *runs)
{
	static char pool[4096][24];
	memset(e, 0, sizeof(*e));
	e->kind = kind;
	e->ts = (struct stamp){
	    1788000000000000000 + (int64_t)row * 1000000 + (style[30] > 4 ? (int64_t)rnd(1000000) : 0), STAMP_ZONED, 1};
	if (style[31] > 6 && !rnd(3))
		e->ts = STAMP_INIT;
	e->worker = style[29] < 4 ? TEXT("") : rnd(2) ? TEXT("/dp1") : TEXT("decode-0");
	e->byte_off = (uint64_t)row * 100 + rnd(50);
	e->byte_len = (uint32_t)rnd(200);
	for (unsigned c = 0; c < event_kinds[kind].n_columns; c++) {
		if (style[c] == 0 || (style[c] & 1 && !rnd(4)))
			continue;
		e->known |= 1u << c;
		if (event_kinds[kind].columns[c].type == COLUMN_PAGES) {
			e->runs = runs;
			e->n_runs = style[c] == 8 ? 0 : (uint32_t)rnd(5); /* 8: lists, and no page in any */
			for (uint32_t i = 0; i < e->n_runs; i++)
				runs[i] = style[c] > 6 ? (struct page_run){(uint32_t)rnd(0), (uint32_t)rnd(0)}
						       : (struct page_run){(uint32_t)rnd(40), (uint32_t)rnd(3)};
		} else if (event_kinds[kind].columns[c].type == COLUMN_TEXT) {
			unsigned k = (unsigned)rnd(style[c] < 4 ? 3 : style[c] < 6 ? 300 : 4096);
			e->t[c] = (struct text){pool[k], (size_t)snprintf(pool[k], 24, "t%u", k)};
			if (!rnd(20))
				e->t[c].len = 0;
		} else {
			e->i[c] = style[c] < 3   ? 7
				  : style[c] < 5 ? row
				  : style[c] < 7 ? (int64_t)rnd(1000) * 1000
						 : (int64_t)rnd(0);
			if (e->i[c] == INT64_MIN)
				e->i[c] = 0;
		}
	}
}

static struct event_batch *random_batch(enum event_kind kind, uint32_t n)
{
	struct event_batch *b;
	struct event e;
	struct page_run runs[8];
	uint8_t style[32];
	for (int i = 0; i < 32; i++)
		style[i] = (uint8_t)rnd(9);
	assert_int_equal(event_batch_new(&b, kind, n, NULL), 0);
	for (uint32_t i = 0; i < n; i++) {
		random_event(&e, kind, i, style, runs);
		assert_int_equal(event_batch_add(b, &e, NULL), 0);
	}
	return b;
}

static void assert_same(const struct event_batch *a, const struct event_batch *b, uint32_t mask)
{
	assert_int_equal(a->n, b->n);
	for (uint32_t i = 0; i < a->n; i++) {
		assert_true(a->ts_ns[i] == b->ts_ns[i]);
		assert_int_equal(a->ts_quality[i], b->ts_quality[i]);
		assert_true(text_eq(a->worker[i], b->worker[i]));
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
				uint32_t fa = i ? a->run_end[i - 1] : 0, fb = i ? b->run_end[i - 1] : 0;
				assert_int_equal(a->run_end[i] - fa, b->run_end[i] - fb);
				if (a->run_end[i] > fa)
					assert_memory_equal(a->runs + fa, b->runs + fb,
							    (a->run_end[i] - fa) * sizeof(*a->runs));
			}
		}
	}
}

static void round_trips(void **state)
{
	(void)state;
	for (int turn = 0; turn < 60; turn++) {
		uint64_t seed = rng;
		enum event_kind kind = (enum event_kind)(turn % EVENT_KINDS);
		struct event_batch *b = random_batch(kind, 1 + (uint32_t)rnd(turn % 7 ? 300 : 5000)), *back;
		struct event_chunk e;
		struct err err = {0};
		assert_int_equal(column_encode(b, NULL, &e, &err), 0);
		uint32_t mask = turn % 3 ? UINT32_MAX : (uint32_t)rnd(0);
		int r = column_decode(kind, buf_text(&e.data), mask, NULL, &back, &err);
		if (r)
			print_message("# seed %llu: %s\n", (unsigned long long)seed, err.what);
		assert_int_equal(r, 0);
		assert_same(b, back, mask);
		event_batch_free(back);
		event_batch_free(b);
		column_done(&e);
	}
}

static void full_batch(void **state)
{
	(void)state;
	struct event_batch *b = random_batch(EVENT_PAGE, EVENT_BATCH_MAX), *back;
	struct event_chunk e;
	assert_int_equal(column_encode(b, NULL, &e, NULL), 0);
	assert_int_equal(column_decode(EVENT_PAGE, buf_text(&e.data), UINT32_MAX, NULL, &back, NULL), 0);
	assert_same(b, back, UINT32_MAX);
	event_batch_free(back);
	event_batch_free(b);
	column_done(&e);
}

static void empty_batch_is_refused(void **state)
{
	(void)state;
	struct event_batch *b;
	struct event_chunk e;
	assert_int_equal(event_batch_new(&b, EVENT_LEG, 4, NULL), 0);
	assert_int_equal(column_encode(b, NULL, &e, NULL), ERR_BUG);
	event_batch_free(b);
}

static void hostile_bytes(void **state)
{
	(void)state;
	unsigned refused = 0;
	for (int turn = 0; turn < 3000; turn++) {
		enum event_kind kind = (enum event_kind)(turn % EVENT_KINDS);
		static struct event_chunk e;
		if (turn % 100 < EVENT_KINDS) { /* a fresh one of each kind now and then */
			struct event_batch *b = random_batch(kind, 1 + (uint32_t)rnd(200));
			assert_int_equal(column_encode(b, NULL, &e, NULL), 0);
			event_batch_free(b);
		} else {
			kind = e.kind;
		}
		size_t len = e.data.len;
		unsigned char *copy = malloc(len + 1); /* exact size: a read behind it is seen by ASan */
		memcpy(copy, e.data.ptr, len);
		if (turn % 4 == 0)
			len = (size_t)rnd(len);
		else if (turn % 4 == 1) /* head and directory: the lengths */
			copy[rnd(MIN(len, 60))] = (unsigned char)rnd(256);
		else
			for (unsigned k = 0; k <= rnd(4); k++)
				copy[rnd(len)] ^= (unsigned char)(1u << rnd(8));
		copy = realloc(copy, len ? len : 1);
		struct event_batch *back = NULL;
		struct err err = {0};
		/* one that now claims to refer to records has nothing to read them with */
		int r = column_decode(kind, (struct text){(const char *)copy, len}, UINT32_MAX, NULL, &back, &err);
		assert_true(r == 0 || r == ERR_DAMAGED || r == ERR_BUG);
		refused += r != 0;
		if (!r)
			event_batch_free(back);
		free(copy);
		if (turn % 100 == 99 || turn % 100 < EVENT_KINDS - 1)
			column_done(&e);
	}
	assert_true(refused > 1000);
}

static void huge_claims(void **state)
{
	(void)state;
	static const unsigned char cases[][24] = {
	    /* n = 2^32 */
	    {0x50, 1, 3, 0x80, 0x80, 0x80, 0x80, 0x10, 0},
	    /* one section of 2^40 bytes */
	    {0x50, 1, 3, 1, 1, 0, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 1, 0},
	    /* packed length larger than the chunk */
	    {0x50, 1, 3, 1, 1, 0, 1, 9, 0x7f, 0, 0},
	    /* sections that go backwards */
	    {0x50, 1, 3, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0},
	    /* another kind, another format */
	    {0x50, 1, 2, 1, 0, 0},
	    {0x50, 9, 3, 1, 0, 0},
	    /* nothing in it */
	    {0x50, 1, 3, 1, 0, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct event_batch *back;
		struct text t = {(const char *)cases[i], sizeof(cases[i])};
		assert_int_equal(column_decode(EVENT_PAGE, t, UINT32_MAX, NULL, &back, NULL), ERR_DAMAGED);
		t.len = i;
		assert_int_equal(column_decode(EVENT_PAGE, t, UINT32_MAX, NULL, &back, NULL), ERR_DAMAGED);
	}
}

int main(void)
{
	const char *seed = getenv("SEED");
	rng = seed ? strtoull(seed, NULL, 10) : 88172645463325252u;
	print_message("# SEED=%llu\n", (unsigned long long)rng);
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(round_trips),   cmocka_unit_test(full_batch),  cmocka_unit_test(empty_batch_is_refused),
	    cmocka_unit_test(hostile_bytes), cmocka_unit_test(huge_claims),
	};
	return cmocka_run_group_tests_name("column", tests, NULL, NULL);
}
