/* SPDX-License-Identifier: Apache-2.0 */
/* spool_rows.h - the plain form of a batch in a spool */
#pragma once

#include "pagetrail/buf.h"
#include "pagetrail/event.h"

/* The columns of `columns`, which the batch has; page lists are left out. */
int spool_rows_pack(const struct event_batch *b, uint32_t columns, struct buf *out, struct err *err) MUST_CHECK;
/* arena holds `plain`, and goes over to the batch. */
int spool_rows_unpack(struct text plain, enum event_kind kind, uint32_t mask, struct arena *arena,
		      struct event_batch **ret, struct err *err) MUST_CHECK;
