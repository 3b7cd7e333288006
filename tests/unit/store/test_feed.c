/* SPDX-License-Identifier: Apache-2.0 */
/* test_feed.c - events handed from one thread to another: all of them, in order, and nobody waits for one that has gone */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pagetrail/feed.h"

enum { SOURCES = 20, BATCHES = 30 };

struct reader {
	struct event_feed *f;
	int64_t from, step; /* sources that are asked for */
	int64_t leave_at;   /* 0: never */
	int64_t sum;
	int missed, broken;
};

static void *read_all(void *ctx)
{
	struct reader *r = ctx;
	for (int64_t source = r->from; source <= SOURCES; source += r->step) {
		struct event_batch *b;
		int64_t expect = 0;
		int rc;
		if (source == r->leave_at)
			break;
		if (event_feed_join(r->f, source)) {
			r->missed++;
			continue;
		}
		while ((rc = event_feed_next(r->f, &b, NULL)) == 1) {
			if (b->byte_off[0] != (uint64_t)expect++)
				r->sum = INT64_MIN / 2;
			r->sum += b->ints[PAGE_SEQ][0];
			event_batch_free(b);
		}
		r->broken += rc < 0;
	}
	event_feed_leave(r->f);
	return NULL;
}

static struct event_batch *batch(int64_t source, int i)
{
	struct event_batch *b;
	struct event e = {.kind = EVENT_PAGE, .byte_off = (uint64_t)i, .byte_len = 1, .known = 1u << PAGE_SEQ};
	e.ts = STAMP_INIT;
	e.worker = TEXT("");
	e.i[PAGE_SEQ] = source;
	assert_int_equal(event_batch_new(&b, EVENT_PAGE, 1, NULL), 0);
	assert_int_equal(event_batch_add(b, &e, NULL), 0);
	return b;
}

static void walk(struct event_feed *f, int broken)
{
	for (int64_t source = 1; source <= SOURCES; source++) {
		event_feed_source(f, source);
		for (int i = 0; i < BATCHES; i++)
			assert_int_equal(event_feed_put(f, batch(source, i), NULL), 0);
		if (source == broken)
			event_feed_broken(f);
	}
	event_feed_end(f);
}

static struct reader run(struct reader r, int broken)
{
	pthread_t t;
	assert_int_equal(event_feed_new(&r.f, EVENT_PAGE, NULL), 0);
	assert_int_equal(pthread_create(&t, NULL, read_all, &r), 0);
	walk(r.f, broken);
	pthread_join(t, NULL);
	event_feed_free(r.f);
	return r;
}

static void all_in_order(void **state)
{
	(void)state;
	struct reader r = run((struct reader){.from = 1, .step = 1}, 0);
	assert_int_equal(r.missed + r.broken, 0);
	assert_int_equal(r.sum, BATCHES * SOURCES * (SOURCES + 1) / 2);
	r = run((struct reader){.from = 2, .step = 2}, 0);
	assert_int_equal(r.sum, BATCHES * (SOURCES / 2) * (SOURCES / 2 + 1));
}

static void what_goes_wrong(void **state)
{
	(void)state;
	/* a source that the walk has passed, or does not have */
	struct reader r = run((struct reader){.from = SOURCES, .step = SOURCES}, 0);
	assert_int_equal(r.missed, 0);
	r = run((struct reader){.from = -7, .step = 100}, 0);
	assert_int_equal(r.missed, 1);
	/* a reader that goes */
	r = run((struct reader){.from = 1, .step = 1, .leave_at = 3}, 0);
	assert_int_equal(r.sum, BATCHES * 3);
	/* a chunk that is broken */
	r = run((struct reader){.from = 5, .step = 100}, 5);
	assert_int_equal(r.broken, 1);
}

/* No second thread: the reader must not wait for a walk that comes later. */
static void one_thread(void **state)
{
	struct event_feed *f;
	(void)state;
	assert_int_equal(event_feed_new(&f, EVENT_PAGE, NULL), 0);
	assert_int_equal(event_feed_join(f, 1), 1);
	event_feed_leave(f);
	walk(f, 0);
	struct event_batch *b = batch(1, 0);
	b->kind = EVENT_LEG;
	assert_int_equal(event_feed_put(f, b, NULL), ERR_BUG);
	event_feed_free(f);
	event_feed_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(all_in_order),
	    cmocka_unit_test(what_goes_wrong),
	    cmocka_unit_test(one_thread),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
