/* SPDX-License-Identifier: Apache-2.0 */
/* test_spool.c - what is put aside comes back as it was, from memory and from the file, to readers in other threads */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pagetrail/spool.h"

static uint64_t state = 1;

static uint64_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static int64_t any_int(void)
{
	static const int64_t ends[] = {0, -1, 1, INT64_MAX, INT64_MIN, INT64_MIN + 1};
	return any() % 4 ? (int64_t)(any() >> any() % 64) : ends[any() % 6];
}

/* Rows that know some columns, with texts that come again, empty ones, long ones and ones with NUL. */
static struct event_batch *any_batch(enum event_kind kind, uint32_t n)
{
	struct event_batch *b;
	char text[400];
	assert_int_equal(event_batch_new(&b, kind, n, NULL), 0);
	for (uint32_t i = 0; i < n; i++) {
		struct event e = {.kind = kind, .ts = STAMP_INIT, .byte_off = any() >> 12, .byte_len = (uint32_t)any()};
		char *own[EVENT_COLUMNS_MAX] = {NULL};
		e.ts.ns = any_int();
		e.ts.quality = (enum stamp_quality)(any() % 4);
		e.worker = any() % 2 ? TEXT("") : TEXT("/dp3");
		for (unsigned c = 0; c < event_kinds[kind].n_columns; c++) {
			if (any() % 3 == 0 || event_kinds[kind].columns[c].type == COLUMN_PAGES)
				continue;
			e.known |= 1u << c;
			e.i[c] = any_int();
			size_t len = any() % 8 ? any() % 40 : any() % sizeof(text);
			for (size_t k = 0; k < len; k++)
				text[k] = (char)(any() % 5 ? 'a' + (char)(any() % 4) : (char)any());
			if (any() % 2) {
				e.t[c] = TEXT("again");
				continue;
			}
			own[c] = malloc(len + 1);
			memcpy(own[c], text, len);
			e.t[c] = (struct text){own[c], len};
		}
		assert_int_equal(event_batch_add(b, &e, NULL), 0);
		for (unsigned c = 0; c < EVENT_COLUMNS_MAX; c++)
			free(own[c]);
	}
	return b;
}

static void assert_same(const struct event_batch *a, const struct event_batch *b, uint32_t mask)
{
	assert_int_equal(a->n, b->n);
	assert_int_equal(b->columns, mask);
	for (uint32_t i = 0; i < a->n; i++) {
		assert_int_equal(a->ts_ns[i], b->ts_ns[i]);
		assert_int_equal(a->ts_quality[i], b->ts_quality[i]);
		assert_int_equal(a->byte_off[i], b->byte_off[i]);
		assert_int_equal(a->byte_len[i], b->byte_len[i]);
		assert_true(text_eq(a->worker[i], b->worker[i]));
		assert_int_equal(a->known[i] & mask, b->known[i]);
		for (unsigned c = 0; c < event_kinds[a->kind].n_columns; c++) {
			if (!event_known(b, i, c))
				continue;
			if (event_kinds[a->kind].columns[c].type == COLUMN_INT)
				assert_int_equal(a->ints[c][i], b->ints[c][i]);
			else
				assert_true(text_eq(a->texts[c][i], b->texts[c][i]));
		}
	}
}

static struct spool_key key_of(int64_t chunk, int64_t source)
{
	unsigned char sha[SHA256_BYTES] = {(unsigned char)chunk, 7};
	return spool_key(chunk, source, sha);
}

static void put(struct event_spool *s, struct spool_key key, const struct event_batch *b)
{
	CLEANUP(buf_done) struct buf plain = BUF_INIT(64 * MIB);
	assert_int_equal(event_spool_pack(s, b, &plain, NULL), 0);
	event_spool_put(s, key, buf_text(&plain));
}

enum { LEG_KEPT = 1 << LEG_RID | 1 << LEG_ROOM | 1 << LEG_INPUT | 1 << LEG_STARTED | 1 << LEG_MESSAGE };
static const uint32_t columns[EVENT_KINDS] = {[EVENT_LEG] = LEG_KEPT, [EVENT_BOOT] = (1u << BOOT_COLUMNS) - 1};

static void test_comes_back(void **ctx)
{
	enum { CHUNKS = 60 };
	struct event_spool *s;
	struct event_batch *in[CHUNKS], *b;
	(void)ctx;
	assert_int_equal(event_spool_new(&s, columns, NULL), 0);
	for (int64_t i = 0; i < CHUNKS; i++) { /* more than stays in memory */
		in[i] = any_batch(i % 3 ? EVENT_LEG : EVENT_BOOT, 1 + (uint32_t)(any() % 2000));
		put(s, key_of(1000 - i, i % 4), in[i]);
	}
	for (int64_t i = 0; i < CHUNKS; i++) {
		uint32_t all = columns[in[i]->kind], masks[] = {all, all & (uint32_t)any(), 0};
		for (int k = 0; k < 3; k++) {
			assert_int_equal(event_spool_get(s, key_of(1000 - i, i % 4), in[i]->kind, masks[k], &b, NULL),
					 0);
			assert_same(in[i], b, masks[k]);
			event_batch_free(b);
		}
		event_batch_free(in[i]);
	}
	event_spool_free(s);
}

static void test_is_not_there(void **ctx)
{
	struct event_spool *s;
	struct event_batch *in = any_batch(EVENT_LEG, 10), *gateway = any_batch(EVENT_GATEWAY, 10), *b;
	(void)ctx;
	assert_int_equal(event_spool_new(&s, columns, NULL), 0);
	assert_false(event_spool_has(s, key_of(1, 1)));
	put(s, key_of(1, 1), in);
	put(s, key_of(2, 1), gateway); /* a kind that nobody asks for */
	assert_true(event_spool_has(s, key_of(1, 1)));
	assert_false(event_spool_has(s, key_of(1, 2))); /* another source took the number */
	assert_false(event_spool_has(s, key_of(2, 1)));
	struct spool_key other = key_of(1, 1);
	other.sha++;
	assert_false(event_spool_has(s, other));
	assert_int_equal(event_spool_get(s, key_of(1, 1), EVENT_LEG, LEG_KEPT | 1 << LEG_STATUS, &b, NULL), 1);
	event_batch_free(in);
	event_batch_free(gateway);
	event_spool_free(s);
}

struct filler {
	struct event_spool *s;
	pthread_barrier_t begun;
};

static void *fill(void *ctx)
{
	struct filler *f = ctx;
	struct event_batch *b = any_batch(EVENT_LEG, 100);
	event_spool_filling(f->s);
	pthread_barrier_wait(&f->begun);
	for (int64_t i = 1; i <= 200; i += 2)
		put(f->s, key_of(i, 1), b);
	event_spool_filled(f->s);
	event_batch_free(b);
	return NULL;
}

/* The even ones never come: waiting for them ends with who fills it. */
static void test_waits(void **ctx)
{
	struct filler f;
	pthread_t thread;
	(void)ctx;
	assert_int_equal(event_spool_new(&f.s, columns, NULL), 0);
	pthread_barrier_init(&f.begun, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, fill, &f), 0);
	pthread_barrier_wait(&f.begun);
	assert_true(event_spool_has(f.s, key_of(199, 1)));
	assert_false(event_spool_has(f.s, key_of(2, 1)));
	for (int64_t i = 1; i <= 200; i++)
		assert_int_equal(event_spool_has(f.s, key_of(i, 1)), i % 2);
	pthread_join(thread, NULL);
	event_spool_filling(f.s); /* who fills it does not wait for itself */
	assert_false(event_spool_has(f.s, key_of(2, 1)));
	pthread_barrier_destroy(&f.begun);
	event_spool_free(f.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_comes_back),
	    cmocka_unit_test(test_is_not_there),
	    cmocka_unit_test(test_waits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
