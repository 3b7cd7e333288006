/* SPDX-License-Identifier: Apache-2.0 */
/* gap_nuls.c - runs of NUL bytes inside of a log: blocks that never came to the disk when a machine went down
 *
 * What stood there is unknown, and how much of it: each run is a gap of its own, between the records round it. In an
 * engine's log a start may have been among it. Where one fits (a run that can hold its lines, and time for it), and no
 * page log goes on over it, the boot before ends there, and what ran from there on to the next start that is logged is
 * known from snapshots alone.
 */
#include "resolve.h"

#include <stdlib.h>
#include <string.h>

enum {
	RUNS_MAX = 64,        /* of one source */
	RESTART_BYTES = 1024, /* its arguments alone are longer */
};
#define RESTART_NS (10 * NS_PER_S) /* no engine is up again within */

static int runs_of(struct resolve *r, struct sql *s, uint32_t source, struct err *err)
{
	uint32_t n = 0;
	int res = sql_int(s, 1, r->sources[source].id, err);
	while (!res && (res = sql_step(s, err)) == 1) {
		uint64_t off = (uint64_t)sql_get_int(s, 0), len = (uint64_t)sql_get_int(s, 1);
		struct nul_run *run =
		    n < RUNS_MAX ? shelf_add(&r->nul_runs) : shelf_at(&r->nul_runs, r->nul_runs.n - 1);
		if (!run)
			return err_nomem(err);
		if (n < RUNS_MAX)
			*run = (struct nul_run){.source = source, .off = off, .before = UNKNOWN, .after = UNKNOWN};
		run->end = off + len;
		n++;
		res = 0;
	}
	return res;
}

/* An event's time is that of the runs that it is the nearest to. */
static void neighbour(struct resolve *r, uint32_t from, uint64_t off, int64_t at, uint64_t *last)
{
	uint32_t lo = from, hi = r->nul_runs.n;
	if (at == UNKNOWN)
		return;
	while (lo < hi) { /* the first run behind it */
		uint32_t mid = lo + (hi - lo) / 2;
		if (((struct nul_run *)shelf_at(&r->nul_runs, mid))->off < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	struct nul_run *next = lo < r->nul_runs.n ? shelf_at(&r->nul_runs, lo) : NULL,
		       *before = lo > from ? shelf_at(&r->nul_runs, lo - 1) : NULL;
	uint64_t *edge = last + 2 * (size_t)(lo - from);
	if (next && (next->before == UNKNOWN || off >= edge[0])) {
		next->before = at;
		edge[0] = off;
	}
	if (before && (before->after == UNKNOWN || off < edge[-1])) {
		before->after = at;
		edge[-1] = off;
	}
}

static int times_by(struct resolve *r, uint32_t source, enum event_kind kind, uint32_t from, uint64_t *last,
		    struct err *err)
{
	CLEANUP(event_scan_closep) struct event_scan *scan = NULL;
	const struct event_filter filter = {r->sources[source].id, TIME_UNKNOWN, TIME_UNKNOWN};
	const struct event_batch *b;
	int64_t id;
	int res = event_scan_open(&scan, r->c, kind, 0, &filter, err);
	while (!res && (res = event_scan_next(scan, &b, &id, err)) == 1) {
		for (uint32_t i = 0; i < b->n; i++)
			neighbour(r, from, b->byte_off[i], row_time(&r->sources[source], b, i), last);
		res = resolve_tick(r, err);
	}
	return res;
}

/* Runs that no event stands between have the times of those round them. */
static int times_of(struct resolve *r, uint32_t source, uint32_t from, struct err *err)
{
	uint64_t last[2 * (RUNS_MAX + 1)] = {0};
	int res = 0;
	for (unsigned kind = 0; kind < EVENT_KINDS && !res; kind++)
		if (r->sources[source].kinds & 1u << kind)
			res = times_by(r, source, kind, from, last, err);
	for (uint32_t i = from; i < r->nul_runs.n && !res; i++) {
		struct nul_run *run = shelf_at(&r->nul_runs, i),
			       *before = i > from ? shelf_at(&r->nul_runs, i - 1) : NULL;
		if (run->before == UNKNOWN && before)
			run->before = before->before;
	}
	for (uint32_t i = r->nul_runs.n; i-- > from && !res;) {
		struct nul_run *run = shelf_at(&r->nul_runs, i);
		if (run->after == UNKNOWN && i + 1 < r->nul_runs.n)
			run->after = ((struct nul_run *)shelf_at(&r->nul_runs, i + 1))->after;
	}
	return res;
}

/* A page log whose numbers go on over it: there was no start. */
static bool goes_on(const struct resolve *r, uint32_t worker, const struct nul_run *run)
{
	for (uint32_t i = 0; i < r->spans.n; i++) {
		const struct span *s = shelf_at(&r->spans, i);
		if (s->worker == worker && s->at_from != UNKNOWN && s->at_from <= run->before &&
		    run->after != UNKNOWN && s->at_to >= run->after)
			return true;
	}
	return false;
}

static int end_boot(struct resolve *r, struct nul_run *run, uint32_t worker, struct err *err)
{
	if (!worker_at(r, worker)->has_boots || goes_on(r, worker, run))
		return 0;
	struct boot_event *e = shelf_add(&r->boot_events);
	if (!e)
		return err_nomem(err);
	*e = (struct boot_event){.worker = worker,
				 .seq = r->boot_events.n,
				 .at = run->before,
				 .what = WHAT_UNREAD,
				 .order = UNKNOWN,
				 .from = UNKNOWN};
	e->ref = (struct ref_node){.off = run->off, .source = run->source};
	e->ref.len = (uint32_t)MIN(run->end - run->off, UINT32_MAX);
	for (int i = 0; i < BOOT_NUMBERS; i++)
		e->number[i] = UNKNOWN;
	run->restart = true;
	return 0;
}

/* The engines that speak in this source: which of them it was that spoke there, nobody knows. */
static int end_boots(struct resolve *r, struct nul_run *run, struct err *err)
{
	const struct source_info *s = &r->sources[run->source];
	bool fits = run->before != UNKNOWN && run->end - run->off >= RESTART_BYTES &&
		    (run->after == UNKNOWN || run->after - run->before >= RESTART_NS);
	if (!fits || !(s->kinds & (1u << EVENT_BOOT | 1u << EVENT_LEG | 1u << EVENT_LOAD)))
		return 0;
	if (s->worker_at != NO_INDEX)
		return end_boot(r, run, s->worker_at, err);
	int res = 0;
	uint32_t n = r->boot_events.n;
	for (uint32_t i = 0; i < r->workers.n && !res; i++) {
		bool here = false;
		for (uint32_t k = 0; k < n && !here; k++) {
			const struct boot_event *e = shelf_at(&r->boot_events, k);
			here = e->worker == i && e->ref.source == run->source && e->what != WHAT_UNREAD;
		}
		if (here)
			res = end_boot(r, run, i, err);
	}
	return res;
}

int nuls_load(struct resolve *r, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int res = sql_prepare(
	    &s, r->c, "SELECT byte_off, byte_len FROM reject WHERE source = ? AND reason = 'nul' ORDER BY byte_off",
	    err);
	for (uint32_t i = 0; i < r->n_sources && !res; i++) {
		uint32_t from = r->nul_runs.n;
		if (!r->sources[i].unparsed || text_is(r->sources[i].status, "unrecognised"))
			continue;
		res = runs_of(r, s, i, err);
		if (!res && r->nul_runs.n > from)
			res = times_of(r, i, from, err);
		for (uint32_t k = from; k < r->nul_runs.n && !res; k++)
			res = end_boots(r, shelf_at(&r->nul_runs, k), err);
	}
	return res;
}

int gap_nuls(struct resolve *r, struct err *err)
{
	int res = 0;
	for (uint32_t i = 0; i < r->nul_runs.n && !res; i++) {
		const struct nul_run *run = shelf_at(&r->nul_runs, i);
		const struct source_info *s = &r->sources[run->source];
		struct gap g = {.kind = "torn",
				.source = run->source,
				.worker = s->worker_at,
				.from = run->before,
				.to = run->after,
				.missing = UNKNOWN};
		struct ref_node ref = {.off = run->off, .source = run->source};
		struct text open = gap_open(r, run->source, run->before, run->after);
		ref.len = (uint32_t)MIN(run->end - run->off, UINT32_MAX);
		if (!open.ptr)
			return err_nomem(err);
		g.effect = arena_printf(
		    &r->arena,
		    "NUL bytes stand where records were (bytes %llu to %llu, with what they cut): a file that was not "
		    "whole on its disk, or was cut under its writer. How many records are lost is unknown%s.%s%.*s",
		    (unsigned long long)run->off, (unsigned long long)run->end,
		    run->restart
			? ", and a start may be among them: what runs from there on to the next start is known "
			  "from snapshots alone"
			: "",
		    open.len ? " " : "", TEXT_ARG(open));
		res = refs_add(r, &g.refs, ref, err);
		if (!res)
			res = gap_add(r, &g, err);
	}
	return res;
}
