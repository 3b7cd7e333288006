/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_signs.c - when a replica was first seen at work: at all, and after the inventory has retired it
 *
 * At work: its process said something, a request had a leg on it, a container of it ran. That a disk still holds packages,
 * or that somebody lists a container that has ended, shows no work.
 */
#include "deploy.h"

static bool is_after(const struct replica *r, int64_t at)
{
	return at != TIME_UNKNOWN && r->gone_ns != TIME_UNKNOWN && at > r->gone_ns + INVENTORY_SKEW_NS;
}

static void note(struct replica *r, int64_t at)
{
	if (at != TIME_UNKNOWN && (r->began_ns == TIME_UNKNOWN || at < r->began_ns))
		r->began_ns = at;
	if (is_after(r, at) && (r->after_retired_ns == TIME_UNKNOWN || at < r->after_retired_ns))
		r->after_retired_ns = at;
}

static void note_all(struct replica *r)
{
	for (size_t i = 0; i < r->n_boots; i++) {
		note(r, r->boots[i].started_ns);
		for (size_t k = 0; k < r->boots[i].n_claims; k++)
			if (r->boots[i].claims[k].rung >= RUNG_PROCESS && !r->boots[i].claims[k].vague)
				note(r, r->boots[i].claims[k].at_ns);
	}
	for (size_t i = 0; i < r->n_loose; i++)
		if (r->loose[i].rung >= RUNG_PROCESS && !r->loose[i].vague)
			note(r, r->loose[i].at_ns);
	for (size_t i = 0; i < r->n_containers; i++)
		if (r->containers[i].there && !r->containers[i].vague)
			note(r, r->containers[i].at_ns);
}

/* sql: worker, time. */
static int note_rows(struct deploy *d, const char *sql, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, d->c, sql, err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		struct replica *r = deploy_find(d, sql_get_text(s, 0));
		if (r)
			note(r, sql_get_time(s, 1));
	}
	return MIN(rc, 0);
}

int deploy_signs(struct deploy *d, struct err *err)
{
	static const char *const logs[] = {
	    "SELECT w.name, l.started_ns FROM leg l JOIN worker w USING(worker) WHERE l.started_ns IS NOT NULL",
	    "SELECT w.name, l.finished_ns FROM leg l JOIN worker w USING(worker) WHERE l.finished_ns IS NOT NULL",
	    "SELECT e.worker, e.at_ns FROM load_events e WHERE e.worker IS NOT NULL",
	    "SELECT e.worker, e.at_ns FROM boot_events e WHERE e.worker IS NOT NULL AND NOT (e.ts_quality "
	    "= 4 AND e.what = 'snapshot')",
	};
	bool any = false;
	for (size_t i = 0; i < d->n; i++) {
		struct replica *r = d->replicas[i];
		note_all(r);
		any |= is_after(r, r->work_ns);
	}
	int rc = 0;
	for (size_t i = 0; any && !rc && i < ARRAY_SIZE(logs); i++)
		rc = note_rows(d, logs[i], err);
	/* whatever else its logs say is known from their last word on */
	for (size_t i = 0; i < d->n; i++)
		if (d->replicas[i]->after_retired_ns == TIME_UNKNOWN)
			note(d->replicas[i], d->replicas[i]->work_ns);
	return rc;
}
