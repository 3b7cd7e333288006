/* SPDX-License-Identifier: Apache-2.0 */
/* lineage_covers.c - what is known of each actor of a sweep, found by its number
 *
 * Actors are numbered as they come up, so that nearly each new one has the greatest number so far. Where the greatest one rises
 * to a number, there is its cover; only those that came late are in a map. A map of all would be most of a sweep's memory and,
 * with a place of it for each actor, most of what it waits for.
 */
#include <stdlib.h>

#include "lineage_pool.h"
#include "pagetrail/array.h"

/* The first place where the greatest number so far is not below `actor`; it is mostly asked for the newest ones. */
static size_t rises_to(const struct covers *c, uint32_t actor)
{
	size_t step = 1, to = c->n, from;
	while (step < to && c->greatest[to - 1 - step] >= actor) {
		to -= step;
		step *= 2;
	}
	from = step < to ? to - step : 0;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (c->greatest[middle] < actor)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

struct cover *covers_find(const struct covers *c, uint32_t actor)
{
	if (!c->n || c->greatest[c->n - 1] < actor)
		return NULL;
	size_t at = rises_to(c, actor);
	if (c->list[at].actor == actor)
		return &c->list[at];
	const uint32_t *late = map_find(&c->late, actor);
	return late ? &c->list[*late] : NULL;
}

int covers_add(struct covers *c, const struct cover *cover, struct err *err)
{
	uint32_t before = c->n ? c->greatest[c->n - 1] : 0;
	int rc = grow_array((void **)&c->list, &c->cap, c->n, sizeof(*c->list), err);
	if (rc == 0)
		rc = grow_array((void **)&c->greatest, &c->cap_greatest, c->n, sizeof(*c->greatest), err);
	if (rc == 0 && cover->actor <= before)
		rc = map_put(&c->late, cover->actor, (uint32_t)c->n, err);
	if (rc)
		return rc;
	c->greatest[c->n] = MAX(before, cover->actor);
	c->list[c->n++] = *cover;
	return 0;
}

int covers_renumber(struct covers *c, const uint32_t *to, struct err *err)
{
	struct covers fewer = {0};
	int rc = 0;
	for (size_t i = 0; i < c->n && rc == 0; i++) {
		struct cover kept = c->list[i];
		kept.actor = to[kept.actor];
		if (kept.actor)
			rc = covers_add(&fewer, &kept, err);
	}
	if (rc) {
		covers_done(&fewer);
		return rc;
	}
	covers_done(c);
	*c = fewer;
	return 0;
}

void covers_done(struct covers *c)
{
	free(c->list);
	free(c->greatest);
	map_done(&c->late);
	*c = (struct covers){0};
}
