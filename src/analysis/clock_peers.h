/* SPDX-License-Identifier: Apache-2.0 */
/* clock_peers.h - private to clock_peers.c and clock_seen.c: requests that logs of several engines have seen */
#pragma once

#include "resolve.h"

struct sighting { /* one request in one source; unknown begin and end: not told there */
	struct ref_node ref;
	int64_t lo, hi, begin, end;
	uint32_t name;
	uint8_t roles; /* bits */
	bool room;     /* the name is that of a room: nobody but the router chooses it */
	bool twice;    /* it was used more than once */
};
struct sighting_pair { /* the same request; index of each, by source */
	uint32_t a, b;
};
struct sightings {
	struct shelf all, pairs;
	uint32_t *roles; /* bits by source, as its starts say */
	uint32_t sample; /* of so many names one is looked at */
	bool marked;     /* only names that open sources have, in clock_pass */
};

static inline struct sighting *sighting_at(const struct sightings *s, uint32_t i)
{
	return shelf_at(&s->all, i);
}
static inline struct sighting_pair *pair_at(const struct sightings *s, uint32_t i)
{
	return shelf_at(&s->pairs, i);
}

/* Its clock was measured by no gateway, and nothing is known against it. */
static inline bool peer_open(const struct source_info *s)
{
	return !s->skews && !s->contradicts && s->kinds & (1u << EVENT_LEG | 1u << EVENT_PAGE);
}

/* Finds all requests that two sources or more have seen. */
int sightings_load(struct resolve *r, struct sightings *s, struct err *err) MUST_CHECK;
void sightings_done(struct sightings *s);
/* What a may be ahead of b: the two executions of a request overlap, or follow each other at once. */
void pair_bounds(const struct sighting *a, const struct sighting *b, int64_t *lo, int64_t *hi);
