/* SPDX-License-Identifier: Apache-2.0 */
/* test_thread.c - the order of results, failures at every place, nothing lost and nothing leaked */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "pagetrail/thread.h"

enum { TASKS = 200 };

struct log {
	int done[TASKS], n_done, n_dropped;
};

struct job {
	struct task task;
	struct log *log;
	int id, fail_run, fail_done;
	unsigned sleep_us;
};

static int job_run(struct task *t, struct err *err)
{
	struct job *j = (struct job *)t;

	if (j->sleep_us)
		usleep(j->sleep_us);
	return j->fail_run ? err_set(err, j->fail_run, "run %d", j->id) : 0;
}

static int job_done(struct task *t, struct err *err)
{
	struct job *j = (struct job *)t;
	int r = j->fail_done ? err_set(err, j->fail_done, "done %d", j->id) : 0;

	j->log->done[j->log->n_done++] = j->id;
	free(j);
	return r;
}

static void job_drop(struct task *t)
{
	struct job *j = (struct job *)t;

	j->log->n_dropped++;
	free(j);
}

static struct task *job(struct log *log, int id)
{
	struct job *j = calloc(1, sizeof(*j));

	assert_non_null(j);
	j->task.run = job_run;
	j->task.done = job_done;
	j->task.drop = job_drop;
	j->log = log;
	j->id = id;
	j->sleep_us = id % 7 == 0 ? 300 : 0;
	return &j->task;
}

/* Submits TASKS, of which `bad` fails; returns what the pool said first. */
static int whole(unsigned threads, unsigned queue, int bad, bool in_done, struct log *log, struct err *err)
{
	struct pool *p;
	int r = 0, submitted = 0, again;

	memset(log, 0, sizeof(*log));
	assert_int_equal(pool_open(&p, threads, queue, err), 0);
	for (int i = 0; i < TASKS && r == 0; i++) {
		struct task *t = job(log, i);

		if (i == bad || i == bad + 2) /* a later failure must not win */
			*(in_done ? &((struct job *)t)->fail_done : &((struct job *)t)->fail_run) =
			    i == bad ? ERR_IO : ERR_BUG;
		r = pool_submit(p, t, err);
		submitted++;
	}
	if (r == 0)
		r = pool_drain(p, err);
	if (r < 0) {
		struct err twice;

		/* and it stays failed */
		again = pool_submit(p, job(log, TASKS - 1), &twice);
		submitted++;
		assert_int_equal(again, r);
		assert_int_equal(pool_drain(p, &twice), r);
		assert_string_equal(twice.what, err->what);
	}
	pool_close(p);
	assert_int_equal(log->n_done + log->n_dropped, submitted);
	for (int i = 0; i < log->n_done; i++)
		assert_int_equal(log->done[i], i);
	return r;
}

static const unsigned shapes[][2] = {{0, 1}, {1, 1}, {1, 8}, {2, 2}, {4, 16}, {8, 3}, {3, 1000}, {2, 0}};

static void test_order(void **state)
{
	struct log log;
	struct err err = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		assert_int_equal(whole(shapes[i][0], shapes[i][1], TASKS + 1, false, &log, &err), 0);
		assert_int_equal(log.n_done, TASKS);
	}
}

static void test_failures(void **state)
{
	static const int bad[] = {0, 1, 7, 8, 100, TASKS - 1};
	struct log log;
	struct err err;
	char expected[40];

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++)
			for (int in_done = 0; in_done < 2; in_done++) {
				memset(&err, 0, sizeof(err));
				assert_int_equal(whole(shapes[i][0], shapes[i][1], bad[k], in_done, &log, &err),
						 ERR_IO);
				snprintf(expected, sizeof(expected), "%s %d", in_done ? "done" : "run", bad[k]);
				assert_string_equal(err.what, expected);
				assert_int_equal(err.code, ERR_IO);
				assert_int_equal(log.n_done, bad[k] + in_done);
			}
}

static void test_close_without_drain(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads < 5; threads++) {
		struct log log = {0};
		struct pool *p;

		assert_int_equal(pool_open(&p, threads, 100, NULL), 0);
		for (int i = 0; i < 50; i++)
			assert_int_equal(pool_submit(p, job(&log, i), NULL), 0);
		pool_close(p);
		assert_int_equal(log.n_done + log.n_dropped, 50);
	}
	pool_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_failures),
					   cmocka_unit_test(test_close_without_drain)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
