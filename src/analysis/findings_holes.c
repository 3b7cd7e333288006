/* SPDX-License-Identifier: Apache-2.0 */
/* findings_holes.c - holes in an engine's own log that may hide a restart, and with it another limit and another version
 *
 * A hole is a file of a rotation that is not there, a silence, or a restart that another record shows and this log does not.
 * From there on nobody knows what the worker ran, up to the next start that is logged. A snapshot behind the hole that fits
 * the boot shows that it is the same: the log is whole between them.
 */
#include "findings.h"

static int holes_read(struct case_file *c, const char *sql, struct boot_hole **ret, size_t *n, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	size_t cap = 0;
	int rc = sql_prepare(&s, c, sql, err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		rc = grow_array((void **)ret, &cap, *n, sizeof(**ret), err);
		if (rc == 0)
			(*ret)[(*n)++] = (struct boot_hole){sql_get_int(s, 0), sql_get_time(s, 1), sql_get_time(s, 2)};
	}
	return rc;
}

/* Times at which nobody knows which boot of a prefill worker ran, by each of its boots: by them a worker is found that was
 * there although none of its boots is known then. */
static int lost_load(struct findings *f, struct err *err)
{
	/* clang-format off */
	static const char sql[] =
	    "SELECT b.boot, g.from_ns, g.to_ns FROM gap g JOIN worker gw ON gw.worker = g.worker"
	    " JOIN worker bw ON bw.worker = gw.worker OR substr(bw.name, 1, length(gw.name) + 3) = gw.name || '/dp'"
	    " JOIN boot b ON b.worker = bw.worker WHERE g.kind = 'boot' AND coalesce(b.role, bw.role) = 'prefill'"
	    " ORDER BY b.boot, g.from_ns, g.to_ns";
	/* clang-format on */
	return holes_read(f->c, sql, &f->lost, &f->n_lost, err);
}

int holes_load(struct findings *f, struct err *err)
{
	/* boots of data-parallel ranks have their server's log */
	/* clang-format off */
	static const char sql[] =
	    "WITH logs AS MATERIALIZED (SELECT DISTINCT s.worker, s.format FROM boot_events e JOIN source s USING(source)"
	    "  WHERE e.what <> 'snapshot'), "
	    "snapshots AS MATERIALIZED (SELECT worker, at_ns, pool_tokens, version FROM boot_events WHERE what = 'snapshot'), "
	    "holes AS (SELECT b.boot, bw.name, b.pool_tokens, b.version, g.from_ns, g.to_ns,"
	    "   lead(g.from_ns) OVER (PARTITION BY b.boot ORDER BY g.from_ns, g.to_ns) AS next_ns"
	    "  FROM gap g JOIN worker gw ON gw.worker = g.worker JOIN source s ON s.source = g.source"
	    "  JOIN worker bw ON bw.worker = gw.worker OR substr(bw.name, 1, length(gw.name) + 3) = gw.name || '/dp'"
	    "  JOIN boot b ON b.worker = bw.worker"
	    "  WHERE (g.kind = 'boot' OR (g.kind IN ('quiet', 'rotation') AND (s.worker, s.format) IN"
	    "   (SELECT worker, format FROM logs)))"
	    "   AND (b.started_ns IS NULL OR g.to_ns > b.started_ns) AND (b.ended_ns IS NULL OR g.from_ns < b.ended_ns)) "
	    "SELECT boot, from_ns, next_ns FROM holes h WHERE NOT EXISTS (SELECT 1 FROM snapshots n WHERE n.worker = h.name"
	    "  AND n.at_ns > h.to_ns AND (h.next_ns IS NULL OR n.at_ns <= h.next_ns) AND n.pool_tokens IS h.pool_tokens"
	    "  AND n.version IS h.version) ORDER BY boot, from_ns";
	/* clang-format on */
	int rc = holes_read(f->c, sql, &f->holes, &f->n_holes, err);
	return rc == 0 ? lost_load(f, err) : rc;
}

bool hole_at(const struct boot_hole *holes, size_t n, int64_t boot, int64_t at)
{
	size_t lo = 0, hi = n;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (holes[mid].boot < boot)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t i = lo; i < n && holes[i].boot == boot; i++) {
		const struct boot_hole *h = &holes[i];
		if ((at == TIME_UNKNOWN || h->from_ns == TIME_UNKNOWN || at >= h->from_ns) &&
		    (at == TIME_UNKNOWN || h->to_ns == TIME_UNKNOWN || at < h->to_ns))
			return true;
	}
	return false;
}

bool hole_before(const struct boot_hole *holes, size_t n, const struct served_leg *leg)
{
	return hole_at(holes, n, leg->boot, leg->started_ns != TIME_UNKNOWN ? leg->started_ns : leg->finished_ns);
}
