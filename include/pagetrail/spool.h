/* SPDX-License-Identifier: Apache-2.0 */
/* spool.h - columns of events that were just made or decoded, kept aside for who reads them next
 *
 * A chunk of events is made to be small: decoding it takes the evidence that it refers to, decoded as well. `ingest` has
 * the events in memory when it writes them, `verify` when it hashes them, and resolving goes through them two or three times:
 * so whoever has a batch at hand puts the columns that others will ask for here, in a plain form, and a scan takes them from here.
 * The newest MiB lies in memory, the rest in a temporary file. What is not here is no loss: the scan decodes it, with the same
 * result. All functions may be called from several threads.
 */
#pragma once

#include "pagetrail/buf.h"
#include "pagetrail/case.h"
#include "pagetrail/event.h"

struct event_spool;

/* columns: which of each kind are kept; 0: none of that kind. */
int event_spool_new(struct event_spool **ret, const uint32_t columns[EVENT_KINDS], struct err *err) MUST_CHECK;
void event_spool_free(struct event_spool *s); /* accepts NULL */
DEFINE_CLEANUP(struct event_spool *, event_spool_free)
/* Scans of this case use it, until it is set to NULL. */
void case_spool(struct case_file *c, struct event_spool *s);
struct event_spool *case_spooled(const struct case_file *c);

/* One stored chunk: two that are the same have the same of all three. */
struct spool_key {
	int64_t chunk, source;
	uint64_t sha;
};
struct spool_key spool_key(int64_t chunk, int64_t source, const unsigned char sha256[SHA256_BYTES]);
uint32_t event_spool_columns(const struct event_spool *s, enum event_kind kind);
/* Appends the plain form of a batch to out. Nothing is appended when its kind is not kept. */
int event_spool_pack(const struct event_spool *s, const struct event_batch *b, struct buf *out,
		     struct err *err) MUST_CHECK;
/* Keeps a plain form; an empty one, or one that there is no room for, is not kept. */
void event_spool_put(struct event_spool *s, struct spool_key key, struct text plain);
bool event_spool_has(struct event_spool *s, struct spool_key key);
/* A batch with the columns of `mask`; 1: it is not there. */
int event_spool_get(struct event_spool *s, struct spool_key key, enum event_kind kind, uint32_t mask,
		    struct event_batch **ret, struct err *err) MUST_CHECK;

/* Between these another thread puts everything that is asked for here: event_spool_has() and event_spool_get() wait for it. */
void event_spool_filling(struct event_spool *s);
void event_spool_filled(struct event_spool *s);
