/* SPDX-License-Identifier: Apache-2.0 */
/* instant.h - when a record was made: its stamp, corrected as the table `clock` says. There is no other place that does it
 *
 * In SQL: the hidden columns at_ns and skew_ns of the tables of events.
 */
#pragma once

#include "pagetrail/arena.h"
#include "pagetrail/case.h"
#include "pagetrail/stamp.h"

struct instant_piece { /* of records from this offset on: what is subtracted */
	uint64_t from_off;
	int64_t offset_ns, skew_ns, between_ns;
};

struct instants { /* of one source; n 0: nothing is subtracted */
	struct instant_piece *list;
	size_t n;
};

/* They lie in the arena. */
int instants_load(struct instants *ret, struct case_file *c, int64_t source, struct arena *a,
		  struct err *err) MUST_CHECK;
/* TIME_UNKNOWN where the record has no time, or one that only orders (STAMP_MONOTONIC). */
int64_t instant_of(const struct instants *i, uint64_t off, int64_t ts_ns, enum stamp_quality quality);
/* What the clock itself was ahead there: times of other kinds in the record, such as epochs, are off by that much. */
int64_t instant_skew(const struct instants *i, uint64_t off);
