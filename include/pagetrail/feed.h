/* SPDX-License-Identifier: Apache-2.0 */
/* feed.h - decoded events of one kind, handed from the walk of verify to one reader in another thread
 *
 * Both need every event, and decoding is most of the work of both. The walk visits sources in a fixed order, the same in
 * which the reader asks for them; it gets ahead by a few batches and then waits, as long as there is a reader. Whatever
 * was missed is no loss: the reader then scans the case itself, with the same result.
 */
#pragma once

#include "pagetrail/event.h"

struct event_feed;

/* The creating thread is that of the walk. The reader counts as there until event_feed_leave(). */
int event_feed_new(struct event_feed **ret, enum event_kind kind, struct err *err) MUST_CHECK;
void event_feed_free(struct event_feed *f); /* accepts NULL; both sides must have ended */

/* --- the walk */
enum event_kind event_feed_kind(const struct event_feed *f);
/* The next source begins. */
void event_feed_source(struct event_feed *f, int64_t source);
/* Takes b over. Waits while there is no room and a reader. */
int event_feed_put(struct event_feed *f, struct event_batch *b, struct err *err) MUST_CHECK;
/* A chunk of the source at hand could not be decoded: who reads it has to scan, and will find the same. */
void event_feed_broken(struct event_feed *f);
void event_feed_end(struct event_feed *f);

/* --- the reader */
/* Waits until the walk comes to this source. 1: it will not, or something was missed: scan. */
int event_feed_join(struct event_feed *f, int64_t source) MUST_CHECK;
/* 1 and a batch, which is the caller's; 0 the source has ended; ERR_DAMAGED: something is missing. */
int event_feed_next(struct event_feed *f, struct event_batch **ret, struct err *err) MUST_CHECK;
/* No more questions. */
void event_feed_leave(struct event_feed *f);
