/* SPDX-License-Identifier: Apache-2.0 */
/* zone_votes.h - the zone of a source whose records say local time inside a wrapper that says UTC
 *
 * A wrapper sees a record when it was written or a little later, so the difference of the two times is the zone, less a
 * short delay. Records that were seen much later vote for nothing. Without near agreement there is no zone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { ZONE_QUARTERS = 2 * 56 + 1 }; /* quarters of an hour, 14 hours each way */

struct zone_votes {
	uint32_t n[ZONE_QUARTERS];
	uint64_t total;   /* with those that fit no zone */
	int64_t worst_ns; /* delay of those that fit */
};

/* precision_ns: of the local time, which is cut to it. */
void zone_vote(struct zone_votes *v, int64_t local_ns, int64_t precision_ns, int64_t seen_ns);
/* Seconds east of UTC; false: there were no votes, or they do not agree. */
bool zone_elected(const struct zone_votes *v, int64_t *ret_offset_s, uint64_t *ret_votes);
