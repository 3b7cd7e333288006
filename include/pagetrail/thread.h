/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - a bounded queue and a pool that gives results back in the order of submission
 *
 * One job (n_threads 0) runs every task in the caller: that is the reference, and the result is the same for
 * every number of threads.
 */
#pragma once

#include <stdbool.h>

#include "pagetrail/err.h"

/* A task: run() in some thread, then done() in the submitting thread, in order of submission.
 * Either may fail: the first error in submission order stops the pool and is given to the caller. */
struct task {
	int (*run)(struct task *t, struct err *err);
	int (*done)(struct task *t, struct err *err); /* also frees the task */
	void (*drop)(struct task *t);                 /* frees a task whose turn never came */
	/* private to the pool */
	struct task *next;
	int state, rc;
	struct err err;
};

struct pool;
int pool_open(struct pool **ret, unsigned n_threads, unsigned max_queued, struct err *err) MUST_CHECK;
/* Queues t (takes ownership); when max_queued tasks are waiting, first finishes the oldest. */
int pool_submit(struct pool *p, struct task *t, struct err *err) MUST_CHECK;
int pool_drain(struct pool *p, struct err *err) MUST_CHECK; /* waits for all and runs their done() */
void pool_close(struct pool *p);                            /* drops what is left; accepts NULL */
