/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_time.c - which time it is, where nobody says: the last event of the case, but none from after its evidence was read
 *
 * A record that is dated later than it was read is dated wrongly. It may still be what a replica runs, and is judged with a reason;
 * but it does not make all others old.
 */
#include "deploy.h"

/* A stamp without a zone may be ahead by as much of what it means. */
#define ZONE_SKEW_NS   (14 * 3600 * NS_PER_S)
/* 2026-11-01: this program is younger. A clock that shows an earlier time was not set, and bounds nothing. */
#define CLOCK_FLOOR_NS (INT64_C(1793491200) * NS_PER_S)

int deploy_read_time(struct deploy *d, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, d->c, "SELECT max(at_ns) FROM journal WHERE action IN ('init', 'ingest')", err);
	if (!rc)
		rc = sql_step(s, err);
	int64_t at = rc == 1 ? sql_get_time(s, 0) : TIME_UNKNOWN;
	d->ingested_ns = at < CLOCK_FLOOR_NS ? TIME_UNKNOWN : at;
	d->read_ns = at < CLOCK_FLOOR_NS ? TIME_UNKNOWN : at + ZONE_SKEW_NS;
	return MIN(rc, 0);
}

void deploy_last(struct deploy *d, struct replica *r, int64_t at_ns)
{
	if (d->read_ns == TIME_UNKNOWN || at_ns <= d->read_ns)
		r->last_ns = MAX(r->last_ns, at_ns);
	else
		d->any_future = true;
}

int deploy_end(struct deploy *d, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, d->c,
			     "SELECT max(t) FROM (SELECT coalesce(finished_ns, started_ns) AS t FROM response) "
			     "WHERE ?1 IS NULL OR t <= ?1",
			     err);
	if (!rc && d->read_ns != TIME_UNKNOWN)
		rc = sql_int(s, 1, d->read_ns, err);
	if (!rc)
		rc = sql_step(s, err);
	if (rc < 0)
		return rc;
	d->last_ns = sql_get_time(s, 0);
	for (size_t i = 0; i < d->n; i++)
		d->last_ns = MAX(d->last_ns, d->replicas[i]->last_ns);
	if (d->last_ns == TIME_UNKNOWN && d->any_future)
		d->last_ns = d->ingested_ns; /* no record says what time it is: it was that, at least */
	return 0;
}
