/* SPDX-License-Identifier: Apache-2.0 */
/* zone_votes.c - the zone of a source whose records say local time inside a wrapper that says UTC */
#include "zone_votes.h"

#include "pagetrail/macros.h"
#include "pagetrail/stamp.h"

#define QUARTER_NS (900 * NS_PER_S)
#define DELAY_NS   (60 * NS_PER_S) /* a buffer that was written out late; far from a quarter of an hour */
#define AHEAD_NS   (2 * NS_PER_S)  /* clocks of two machines */

enum { MIDDLE = ZONE_QUARTERS / 2, AGREE_PERCENT = 90 };

void zone_vote(struct zone_votes *v, int64_t local_ns, int64_t precision_ns, int64_t seen_ns)
{
	int64_t diff;
	v->total++;
	if (__builtin_sub_overflow(local_ns, seen_ns, &diff) || diff > (MIDDLE + 1) * QUARTER_NS ||
	    diff < -(MIDDLE + 1) * QUARTER_NS)
		return;
	/* diff is the offset less the delay and what was cut off */
	int64_t room = DELAY_NS + precision_ns, up = diff + room;
	int64_t q = up / QUARTER_NS - (up % QUARTER_NS < 0), delay = q * QUARTER_NS - diff;
	if (delay < -AHEAD_NS || delay > room || q < -MIDDLE || q > MIDDLE)
		return;
	v->n[q + MIDDLE]++;
	v->worst_ns = MAX(v->worst_ns, delay);
}

bool zone_elected(const struct zone_votes *v, int64_t *ret_offset_s, uint64_t *ret_votes)
{
	int top = 0;
	for (int i = 1; i < ZONE_QUARTERS; i++)
		if (v->n[i] > v->n[top])
			top = i;
	*ret_offset_s = (int64_t)(top - MIDDLE) * 900;
	*ret_votes = v->n[top];
	return v->n[top] && (uint64_t)v->n[top] * 100 >= v->total * AGREE_PERCENT;
}
