/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_tails.c - the last word of the logs of who is said to be retired
 *
 * A process that only answers health checks is at work, and such lines are no events. The end of its log shows it, where it bears a
 * date: what stands before is not looked at.
 */
#include "deploy.h"

#include "pagetrail/instant.h"

/* The lines that are looked at, from the end. */
#define TAIL_BYTES (16 * KIB)

static const char logs_sql[] =
    "SELECT s.source, s.worker, s.tz, s.bytes FROM source s WHERE s.context > 0 AND s.worker IS NOT NULL AND ("
    "EXISTS (SELECT 1 FROM load_events e WHERE e.source = s.source) OR "
    "EXISTS (SELECT 1 FROM boot_events e WHERE e.source = s.source AND e.what <> 'snapshot')) ORDER BY s.source";
/* TIME_UNKNOWN: the line does not begin with a date. */
static int64_t time_of(struct text line, uint64_t off, const struct zone *z, const struct instants *clock)
{
	struct stamp at;
	size_t used;
	if (!stamp_parse_iso(text_from(line, text_starts(line, "[")), &at, &used))
		return TIME_UNKNOWN;
	return instant_of(clock, off, at.quality == STAMP_NAIVE ? zone_to_utc(z, at.ns) : at.ns, at.quality);
}

static int last_word(struct deploy *d, int64_t source, struct text tz, int64_t bytes, int64_t *ret, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct zone *z = NULL;
	struct instants clock;
	int rc = zone_open(&z, tz, err);
	*ret = TIME_UNKNOWN;
	if (rc == 0)
		rc = instants_load(&clock, d->c, source, &d->arena, err);
	if (rc == 0)
		rc = sql_prepare(&s, d->c, "SELECT text, byte_off FROM records WHERE source = ?1 AND byte_off >= ?2",
				 err);
	if (rc == 0)
		rc = sql_int(s, 1, source, err);
	if (rc == 0)
		rc = sql_int(s, 2, MAX(bytes - TAIL_BYTES, 0), err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1)
		*ret = MAX(*ret, time_of(sql_get_text(s, 0), (uint64_t)sql_get_int(s, 1), z, &clock));
	zone_close(z);
	return MIN(rc, 0);
}

int deploy_tails(struct deploy *d, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	bool any = false;
	for (size_t i = 0; i < d->n; i++)
		any |= d->replicas[i]->gone_ns != TIME_UNKNOWN;
	int rc = any ? sql_prepare(&s, d->c, logs_sql, err) : 0;
	while (any && rc >= 0 && (rc = sql_step(s, err)) == 1) {
		struct replica *r = deploy_find(d, sql_get_text(s, 1));
		int64_t at = TIME_UNKNOWN;
		if (r && r->gone_ns != TIME_UNKNOWN)
			rc = last_word(d, sql_get_int(s, 0), sql_get_text(s, 2), sql_get_int(s, 3), &at, err);
		if (rc >= 0 && r)
			r->work_ns = MAX(r->work_ns, at);
	}
	return MIN(rc, 0);
}
