/* SPDX-License-Identifier: Apache-2.0 */
/* feed.c - decoded events of one kind, handed from one thread to another
 *
 * A ring of items in the order of the walk: where a source begins, a batch, where something is broken. Whoever waits is
 * woken by the other side's next step or its end, so neither can wait for one that has gone.
 */
#include "pagetrail/feed.h"

#include <pthread.h>
#include <stdlib.h>

enum { FEED_ITEMS = 8 };
enum feed_what { FEED_SOURCE, FEED_BATCH, FEED_BROKEN };

struct feed_item {
	enum feed_what what;
	int64_t source;
	struct event_batch *batch;
};

struct event_feed {
	enum event_kind kind;
	pthread_t walker;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	bool left, ended;
	unsigned head, n;
	struct feed_item items[FEED_ITEMS];
};

int event_feed_new(struct event_feed **ret, enum event_kind kind, struct err *err)
{
	struct event_feed *f = calloc(1, sizeof(*f));
	if (!f)
		return err_nomem(err);
	f->kind = kind;
	f->walker = pthread_self();
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->moved, NULL);
	*ret = f;
	return 0;
}

/* The oldest item, out of the ring. */
static struct feed_item pop(struct event_feed *f)
{
	struct feed_item item = f->items[f->head];
	f->head = (f->head + 1) % FEED_ITEMS;
	f->n--;
	pthread_cond_broadcast(&f->moved);
	return item;
}

static void drop_all(struct event_feed *f)
{
	while (f->n)
		event_batch_free(pop(f).batch);
}

void event_feed_free(struct event_feed *f)
{
	if (!f)
		return;
	drop_all(f);
	pthread_cond_destroy(&f->moved);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/* --- the walk --- */

enum event_kind event_feed_kind(const struct event_feed *f)
{
	return f->kind;
}

static void push(struct event_feed *f, struct feed_item item)
{
	pthread_mutex_lock(&f->lock);
	while (f->n == FEED_ITEMS && !f->left)
		pthread_cond_wait(&f->moved, &f->lock);
	if (f->left) {
		event_batch_free(item.batch);
	} else {
		f->items[(f->head + f->n++) % FEED_ITEMS] = item;
		pthread_cond_broadcast(&f->moved);
	}
	pthread_mutex_unlock(&f->lock);
}

void event_feed_source(struct event_feed *f, int64_t source)
{
	push(f, (struct feed_item){FEED_SOURCE, source, NULL});
}

int event_feed_put(struct event_feed *f, struct event_batch *b, struct err *err)
{
	if (b->kind != f->kind) {
		event_batch_free(b);
		return err_set(err, ERR_BUG, "a feed is of one kind of events");
	}
	push(f, (struct feed_item){FEED_BATCH, 0, b});
	return 0;
}

void event_feed_broken(struct event_feed *f)
{
	push(f, (struct feed_item){FEED_BROKEN, 0, NULL});
}

void event_feed_end(struct event_feed *f)
{
	pthread_mutex_lock(&f->lock);
	f->ended = true;
	pthread_cond_broadcast(&f->moved);
	pthread_mutex_unlock(&f->lock);
}

/* --- the reader --- */

/* Waits for an item; false: there will be none. */
static bool await(struct event_feed *f)
{
	while (!f->n && !f->ended)
		pthread_cond_wait(&f->moved, &f->lock);
	return f->n > 0;
}

int event_feed_join(struct event_feed *f, int64_t source)
{
	if (f->left || pthread_equal(f->walker, pthread_self())) /* no thread for the reader: the walk comes later */
		return 1;
	pthread_mutex_lock(&f->lock);
	bool found = false;
	while (!found && await(f)) {
		struct feed_item item = pop(f);
		found = item.what == FEED_SOURCE && item.source == source;
		event_batch_free(item.batch);
	}
	pthread_mutex_unlock(&f->lock);
	return !found;
}

int event_feed_next(struct event_feed *f, struct event_batch **ret, struct err *err)
{
	int r = 0;
	*ret = NULL;
	pthread_mutex_lock(&f->lock);
	if (!await(f)) {
		/* the last source ends with the walk, if that came to its end */
	} else if (f->items[f->head].what == FEED_BATCH) {
		*ret = pop(f).batch;
		r = 1;
	} else if (f->items[f->head].what == FEED_BROKEN) {
		pop(f);
		r = err_set(err, ERR_DAMAGED, "a chunk of events cannot be decoded");
	}
	pthread_mutex_unlock(&f->lock);
	return r;
}

void event_feed_leave(struct event_feed *f)
{
	pthread_mutex_lock(&f->lock);
	f->left = true;
	drop_all(f);
	pthread_cond_broadcast(&f->moved);
	pthread_mutex_unlock(&f->lock);
}
