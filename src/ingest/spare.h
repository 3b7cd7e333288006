/* SPDX-License-Identifier: Apache-2.0 */
/* spare.h - batches of events that are filled again and again: fresh memory costs more than what is put into it
 *
 * Any thread.
 */
#pragma once

#include <pthread.h>

#include "pagetrail/event.h"

enum { SPARES_MAX = 4 }; /* of a kind */

struct spares {
	pthread_mutex_t lock;
	struct event_batch *batch[EVENT_KINDS][SPARES_MAX];
	unsigned n[EVENT_KINDS];
};

void spares_open(struct spares *s);
void spares_close(struct spares *s);
/* An empty batch with room for EVENT_BATCH_MAX events. */
int spares_take(struct spares *s, enum event_kind kind, struct event_batch **ret, struct err *err) MUST_CHECK;
void spares_give(struct spares *s, struct event_batch *b); /* accepts NULL */
