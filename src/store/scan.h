/* SPDX-License-Identifier: Apache-2.0 */
/* scan.h - more about a scan, for the virtual tables and verify */
#pragma once

#include "pagetrail/column.h"

/* Number of the chunk of the last batch. */
int64_t event_scan_chunk(const struct event_scan *s);
/* Only chunks that may hold a record beginning at byte `off`. Before the first event_scan_next(). */
int event_scan_at(struct event_scan *s, int64_t off, struct err *err) MUST_CHECK;
/* Only chunks in which a row may have exactly this text in that column, or be of that worker (COLUMN_WORKER). Before the
 * first event_scan_next(); once for a column and once for the worker. */
int event_scan_only(struct event_scan *s, unsigned column, struct text needle, struct err *err) MUST_CHECK;
