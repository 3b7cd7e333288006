/* SPDX-License-Identifier: Apache-2.0 */
/* thread.c - the pool: one list in order of submission, workers take its first untouched task
 *
 * The list holds every task whose done() has not begun. Only the submitting thread takes tasks off it, at the
 * head. A failure ends everything: later tasks are dropped, and every later call gives the first error again.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/macros.h"
#include "pagetrail/thread.h"

enum { TASK_WAITING, TASK_RUNNING, TASK_RAN };

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t work;  /* a task to run, or the end */
	pthread_cond_t ready; /* a task has run */
	struct task *head, *tail, *todo;
	unsigned n_tasks, max_queued;
	bool closing;
	int rc; /* first failure; only the submitting thread looks */
	struct err err;
	unsigned n_threads;
	pthread_t threads[];
};

static void run(struct task *t)
{
	t->err = (struct err){0};
	t->rc = t->run(t, &t->err);
}

static void *worker(void *arg)
{
	struct pool *p = arg;
	struct task *t;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (!p->todo && !p->closing)
			pthread_cond_wait(&p->work, &p->lock);
		if (p->closing)
			break;
		t = p->todo;
		p->todo = t->next;
		t->state = TASK_RUNNING;
		pthread_mutex_unlock(&p->lock);
		run(t);
		pthread_mutex_lock(&p->lock);
		t->state = TASK_RAN;
		pthread_cond_signal(&p->ready);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

int pool_open(struct pool **ret, unsigned n_threads, unsigned max_queued, struct err *err)
{
	struct pool *p;
	sigset_t all, before;
	int r = 0;

	*ret = NULL;
	n_threads = MIN(n_threads, 1024);
	p = calloc(1, sizeof(*p) + n_threads * sizeof(p->threads[0]));
	if (!p)
		return err_nomem(err);
	p->max_queued = MAX(max_queued, 1);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->ready, NULL);
	/* signals are for the thread that submits */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (r == 0 && p->n_threads < n_threads) {
		r = pthread_create(&p->threads[p->n_threads], NULL, worker, p);
		if (r == 0)
			p->n_threads++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	/* fewer threads than asked for give the same result; none at all is the reference */
	*ret = p;
	return 0;
}

/* Drops all tasks: those that run are waited for. */
static void drop_all(struct pool *p)
{
	struct task *t, *list;

	pthread_mutex_lock(&p->lock);
	p->todo = NULL;
	for (t = p->head; t; t = t->next)
		while (t->state == TASK_RUNNING)
			pthread_cond_wait(&p->ready, &p->lock);
	list = p->head;
	p->head = p->tail = NULL;
	p->n_tasks = 0;
	pthread_mutex_unlock(&p->lock);
	while ((t = list)) {
		list = t->next;
		t->drop(t);
	}
}

static int failed(struct pool *p, struct err *err)
{
	if (err)
		*err = p->err;
	return p->rc;
}

/* The turn of a task that ran and is on no list. */
static int conclude(struct pool *p, struct task *t, struct err *err)
{
	if (t->rc < 0) {
		p->rc = t->rc;
		p->err = t->err;
		t->drop(t);
	} else {
		int r = t->done(t, &p->err);

		if (r >= 0) {
			p->err = (struct err){0};
			return 0;
		}
		p->rc = r;
	}
	p->err.code = p->rc;
	drop_all(p);
	return failed(p, err);
}

/* 0, ERR_*, or 1 when the oldest task has not run yet and must not be waited for. */
static int finish_oldest(struct pool *p, bool wait, struct err *err)
{
	struct task *t;

	pthread_mutex_lock(&p->lock);
	t = p->head;
	if (!t || (!wait && t->state != TASK_RAN)) {
		pthread_mutex_unlock(&p->lock);
		return 1;
	}
	while (t->state != TASK_RAN)
		pthread_cond_wait(&p->ready, &p->lock);
	p->head = t->next;
	if (!p->head)
		p->tail = NULL;
	p->n_tasks--;
	pthread_mutex_unlock(&p->lock);
	return conclude(p, t, err);
}

int pool_submit(struct pool *p, struct task *t, struct err *err)
{
	int r = 0;

	if (p->rc < 0) {
		t->drop(t);
		return failed(p, err);
	}
	t->next = NULL;
	t->state = TASK_WAITING;
	if (p->n_threads == 0) {
		run(t);
		return conclude(p, t, err);
	}
	/* what is ready is finished now: memory is freed early and the order stays the same */
	while (r == 0)
		r = finish_oldest(p, p->n_tasks >= p->max_queued, err);
	if (r < 0) {
		t->drop(t);
		return r;
	}
	pthread_mutex_lock(&p->lock);
	if (p->tail)
		p->tail->next = t;
	else
		p->head = t;
	p->tail = t;
	p->n_tasks++;
	if (!p->todo)
		p->todo = t;
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
	return 0;
}

int pool_drain(struct pool *p, struct err *err)
{
	int r = 0;

	if (p->rc < 0)
		return failed(p, err);
	while (r == 0)
		r = finish_oldest(p, true, err);
	return r < 0 ? r : 0;
}

void pool_close(struct pool *p)
{
	if (!p)
		return;
	drop_all(p);
	pthread_mutex_lock(&p->lock);
	p->closing = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->n_threads; i++)
		pthread_join(p->threads[i], NULL);
	pthread_cond_destroy(&p->ready);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
