/* SPDX-License-Identifier: Apache-2.0 */
/* case_sum.h - private to the store: the content digest while it is being made (docs/store-format.md)
 *
 * Fed source by source; within a source, events of one kind come in record order, kinds may come mixed. Belongs to one
 * thread, but for case_sum_events(), which is pure.
 */
#pragma once

#include "pagetrail/buf.h"
#include "pagetrail/digest.h"
#include "pagetrail/event.h"
#include "pagetrail/sql.h"

struct case_sum;

/* What takes part of a row of `source`; a statement gives these columns first. */
#define CASE_SUM_COLUMNS                                                                                            \
	"source, sha256, content_sha256, format, worker, worker_alias, role, tz, bytes, records, parsed, context, " \
	"unparsed, duplicate, bytes_parsed, bytes_context, bytes_unparsed, bytes_duplicate, first_ns, last_ns"
enum { CASE_SUM_N_COLUMNS = 20 };

int case_sum_new(struct case_sum **ret, struct err *err) MUST_CHECK;
void case_sum_free(struct case_sum *s); /* accepts NULL */
DEFINE_CLEANUP(struct case_sum *, case_sum_free)
/* Appends the canonical bytes of all events of a batch to out. */
int case_sum_events(const struct event_batch *b, struct buf *out, struct err *err) MUST_CHECK;
int case_sum_add(struct case_sum *s, enum event_kind kind, struct text canonical, struct err *err) MUST_CHECK;
/* What counts of a row: CASE_SUM_COLUMNS, appended to out. */
int case_sum_row(struct sql *row, struct buf *out, struct err *err) MUST_CHECK;
/* Ends a source. row: of case_sum_row(); evidence, bytes: hash and number of its bytes. */
int case_sum_source(struct case_sum *s, const struct buf *row, const unsigned char evidence[SHA256_BYTES],
		    uint64_t bytes, struct err *err) MUST_CHECK;
int case_sum_end(struct case_sum *s, char out[SHA256_HEX], struct err *err) MUST_CHECK;
