/* SPDX-License-Identifier: Apache-2.0 */
/* sighting_place.c - whose record each hit lies in, and in whose words
 *
 * For each source with hits, its events tell whose record is where. Nothing here rests on time.
 */
#include "sighting_work.h"

#include <string.h>

#include "pagetrail/evidence.h"
#include "pagetrail/limits.h"

int sighting_tenant_of(struct sightings *s, int64_t request, int64_t *ret, struct err *err)
{
	*ret = 0;
	int rc = request ? sql_int(s->tenant, 1, request, err) : 0;
	while (request && rc >= 0 && (rc = sql_step(s->tenant, err)) == 1)
		*ret = sql_get_int(s->tenant, 0);
	return rc;
}

static size_t first_at(const struct sightings *s, size_t from, size_t to, uint64_t off)
{
	while (from < to) {
		size_t mid = (from + to) / 2;
		if (s->hits[mid].at < off)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* The request that an id belongs to; 0 when it is of none, or of several. */
static int owner_of(struct sql *q, struct text id, int64_t *ret, struct err *err)
{
	*ret = 0;
	if (!id.len)
		return 0;
	int rc = sql_text(q, 1, id, err), n = 0;
	while (rc >= 0 && (rc = sql_step(q, err)) == 1) {
		*ret = sql_get_int(q, 0);
		n++;
	}
	if (n > 1)
		*ret = 0;
	return rc;
}

/* One event with a hit in its record. */
static int place(struct sightings *s, struct sql *e, struct sql *alias, size_t from, size_t to, struct err *err)
{
	uint64_t off = (uint64_t)sql_get_int(e, 0), len = (uint64_t)sql_get_int(e, 1);
	size_t at = first_at(s, from, to, off);
	int64_t request = 0;
	int rc = 0;
	if (at == to || s->hits[at].at >= off + len)
		return 0;
	for (int i = 3; rc == 0 && !request && i < sql_columns(e); i++)
		rc = owner_of(alias, sql_get_text(e, i), &request, err);
	if (rc < 0 || !request)
		return rc;
	struct text what = sql_get_text(e, 2);
	bool asked = text_is(what, "received") || text_is(what, "started") || text_is(what, "rejected");
	for (; at < to && s->hits[at].at < off + len; at++) {
		struct hit *h = &s->hits[at];
		h->torn_between |= h->placed && h->request != request;
		h->placed = true;
		h->request = request;
		h->off = off;
		h->len = len;
		h->part = asked ? PART_ASKED : h->part;
	}
	return 0;
}

static int place_source(struct sightings *s, size_t from, size_t to, struct err *err)
{
	static const char *const events[] = {
	    "SELECT byte_off, byte_len, what, rid, room FROM leg_events WHERE source = ?1",
	    "SELECT byte_off, byte_len, what, gateway_id, response_id, trace_id, room FROM gateway_events WHERE source "
	    "= ?1"};
	CLEANUP(sql_endp) struct sql *alias = NULL;
	int rc = sql_prepare(&alias, s->c, "SELECT DISTINCT request FROM alias WHERE value = ?1", err);
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(events); i++) {
		CLEANUP(sql_endp) struct sql *e = NULL;
		rc = sql_prepare(&e, s->c, events[i], err);
		if (rc == 0)
			rc = sql_int(e, 1, s->hits[from].source, err);
		while (rc == 0 && (rc = sql_step(e, err)) == 1)
			rc = place(s, e, alias, from, to, err);
	}
	return rc;
}

/* Records are read once more for the words around their hits, which come one after the other. read: whose record b holds. */
static int find_part(struct sightings *s, struct hit *h, const struct hit **read, struct buf *b, struct err *err)
{
	uint64_t len = MIN(h->len, (uint64_t)RECORD_MAX_BYTES);
	int rc = 0;
	if (!h->placed || h->part || h->at - h->off >= len)
		return 0;
	if (!*read || (*read)->source != h->source || (*read)->off != h->off || (*read)->len != h->len) {
		buf_clear(b);
		rc = evidence_read(s->c, h->source, h->off, len, b, err);
		*read = h;
	}
	if (rc == 0)
		h->part = part_at(buf_text(b), (size_t)(h->at - h->off));
	return rc;
}

int sighting_place(struct sightings *s, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(2 * RECORD_MAX_BYTES);
	const struct hit *read = NULL;
	int rc = 0;
	for (size_t from = 0, to; rc == 0 && from < s->n; from = to) {
		for (to = from; to < s->n && s->hits[to].source == s->hits[from].source; to++)
			;
		rc = place_source(s, from, to, err);
	}
	for (size_t i = 0; rc == 0 && i < s->n; i++) {
		struct hit *h = &s->hits[i];
		if (h->torn_between) {
			h->placed = false;
			h->request = 0;
		}
		rc = find_part(s, h, &read, &b, err);
		if (rc == 0)
			rc = sighting_tenant_of(s, h->request, &h->tenant, err);
	}
	return rc;
}
