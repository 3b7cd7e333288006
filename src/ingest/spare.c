/* SPDX-License-Identifier: Apache-2.0 */
/* spare.c - batches of events that are filled again and again */
#include "spare.h"

void spares_open(struct spares *s)
{
	*s = (struct spares){0};
	pthread_mutex_init(&s->lock, NULL);
}

void spares_close(struct spares *s)
{
	for (int k = 0; k < EVENT_KINDS; k++)
		while (s->n[k])
			event_batch_free(s->batch[k][--s->n[k]]);
	pthread_mutex_destroy(&s->lock);
}

int spares_take(struct spares *s, enum event_kind kind, struct event_batch **ret, struct err *err)
{
	*ret = NULL;
	pthread_mutex_lock(&s->lock);
	if (s->n[kind])
		*ret = s->batch[kind][--s->n[kind]];
	pthread_mutex_unlock(&s->lock);
	return *ret ? 0 : event_batch_new(ret, kind, EVENT_BATCH_MAX, err);
}

void spares_give(struct spares *s, struct event_batch *b)
{
	if (!b)
		return;
	event_batch_reset(b);
	pthread_mutex_lock(&s->lock);
	if (s->n[b->kind] < SPARES_MAX) {
		s->batch[b->kind][s->n[b->kind]++] = b;
		b = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	event_batch_free(b);
}
