/* SPDX-License-Identifier: Apache-2.0 */
/* clock_zones.c - where the zone of a source's naive stamps changes: daylight saving, or a process that began with another one
 *
 * Anchors say which zone a source is in where they stand. Two or more in a row that agree on another one are a change. It lies
 * between the last anchor of the old zone and the first of the new, and what stands there, of whatever kind, shows where:
 * time does not go back from one record to the next. So where a clock was set forward, the printed stamps jump by at least
 * that much, and where it was set back, they fall back, unless the log was silent for longer.
 */
#include "resolve.h"

#define QUARTER_NS     (900 * NS_PER_S)
#define SLACK_NS       (60 * NS_PER_S) /* by so much neighbouring records may stand in the wrong order */
/* No daylight saving is larger: a change by more comes with a process that begins. */
#define SUMMER_TIME_NS (3600 * NS_PER_S)

struct zone_run { /* of anchors that agree, in the order of the file */
	int quarter;
	uint32_t n;
	int64_t first_ns, last_ns;
	uint64_t last_off;
	struct ref_node ref;
};
enum { ZONE_RUNS_MAX = 64 };
struct zone_runs {
	struct zone_run at[ZONE_RUNS_MAX];
	uint32_t n;
	int kind;
	bool full; /* it changes all the time: that is no zone */
};

int zone_anchor(struct resolve *r, struct source_info *s, int kind, int quarter, int64_t at, struct ref_node ref,
		struct err *err)
{
	struct zone_runs *runs = s->zone_runs;
	if (!runs || runs->kind != kind) {
		runs = arena_array(&r->arena, 1, sizeof(*runs));
		if (!runs)
			return err_nomem(err);
		runs->kind = kind;
		s->zone_runs = runs;
	}
	struct zone_run *last = runs->n ? &runs->at[runs->n - 1] : NULL;
	if (last && (last->quarter == quarter || ref.off <= last->ref.off)) {
		last->n += last->quarter == quarter;
		last->last_ns = at;
		last->last_off = last->quarter == quarter ? MAX(last->last_off, ref.off) : last->last_off;
	} else if (runs->n == ZONE_RUNS_MAX) {
		runs->full = true;
	} else {
		runs->at[runs->n++] = (struct zone_run){quarter, 1, at, at, ref.off, ref};
	}
	return 0;
}

/* Anchors that stand alone are strays; what is left of each zone goes on until the next. */
static uint32_t runs_settle(struct zone_runs *runs)
{
	uint32_t n = 0, strays = 0;
	for (uint32_t i = 0; i < runs->n; i++) {
		const struct zone_run x = runs->at[i];
		if (x.n < 2) {
			strays++;
		} else if (n && runs->at[n - 1].quarter == x.quarter) {
			runs->at[n - 1].n += x.n;
			runs->at[n - 1].last_ns = x.last_ns;
			runs->at[n - 1].last_off = x.last_off;
		} else {
			runs->at[n++] = x;
		}
	}
	runs->n = n;
	return strays;
}

int zones_settle(struct resolve *r, struct source_info *s, int kind, bool *ret, struct err *err)
{
	struct zone_runs *runs = s->zone_runs;
	if (!runs || runs->kind != kind || runs->full)
		return 0;
	uint32_t strays = runs_settle(runs);
	if (runs->n < 2 || runs->n > CLOCK_PIECES_MAX || strays > runs->n)
		return 0;
	struct clock_pieces *p = arena_array(&r->arena, 1, sizeof(*p));
	if (!p)
		return err_nomem(err);
	for (uint32_t i = 0; i < runs->n; i++) {
		const struct zone_run *x = &runs->at[i];
		p->at[i] = (struct clock_piece){.from_off = i ? x->ref.off : 0,
						.offset_ns = x->quarter * QUARTER_NS,
						.from_ns = x->first_ns,
						.proved_ns = x->first_ns,
						.last_ns = x->last_ns,
						.last_off = x->last_off,
						.anchors = x->n,
						.ref = x->ref};
	}
	p->n = runs->n;
	s->zones = p;
	*ret = true;
	return 0;
}

/* --- what stands between the anchors --- */

struct zone_record {
	int64_t at; /* by the source's own stamps */
	struct ref_node ref;
	uint32_t change; /* the piece that begins here or nearby */
	bool starts;     /* a process says so while it starts */
};

static int between_add(struct resolve *r, struct zone_record x, struct err *err)
{
	struct zone_record *at = shelf_add(&r->clock_pass->between);
	if (!at)
		return err_nomem(err);
	*at = x;
	return 0;
}

static int between_row(struct resolve *r, uint32_t source, const struct event_batch *b, uint32_t row, struct err *err)
{
	const struct source_info *s = &r->sources[source];
	const struct clock_pieces *p = s->zones;
	const enum stamp_quality q = (enum stamp_quality)b->ts_quality[row];
	const uint64_t off = b->byte_off[row];
	int64_t at = sane(b->ts_ns[row]);
	if (!p || p->placed || at == UNKNOWN || (q != STAMP_NAIVE && q != STAMP_YEARLESS))
		return 0;
	bool boot = b->kind == EVENT_BOOT, starts = boot && !text_is(row_text(b, row, BOOT_WHAT), "stop");
	int res = 0;
	for (uint32_t i = 1; i < p->n && !res; i++)
		if (off >= p->at[i - 1].last_off && off <= p->at[i].ref.off)
			res = between_add(r, (struct zone_record){at - s->year_ns, row_ref(source, b, row), i, starts},
					  err);
	return res;
}

static int record_cmp(const void *a, const void *b, void *ctx)
{
	const struct zone_record *x = shelf_at(ctx, *(const uint32_t *)a), *y = shelf_at(ctx, *(const uint32_t *)b);
	if (x->ref.source != y->ref.source)
		return x->ref.source < y->ref.source ? -1 : 1;
	if (x->change != y->change)
		return x->change < y->change ? -1 : 1;
	return (x->ref.off > y->ref.off) - (x->ref.off < y->ref.off);
}

/* How well a change fits between two records: the printed stamps must allow it; the larger of two jumps is the likelier place. */
static int fits(const struct zone_record *a, const struct zone_record *b, int64_t step)
{
	int64_t jump = b->at - a->at;
	if (step < 0 && jump < -SLACK_NS)
		return 3;
	if (step > 0 && jump < step - SLACK_NS)
		return 0;
	return b->starts && !a->starts && (step > SUMMER_TIME_NS || step < -SUMMER_TIME_NS) ? 2 : 1;
}

static void place(struct resolve *r, const uint32_t *order, uint32_t n)
{
	const struct shelf *all = &r->clock_pass->between;
	const struct zone_record *first = shelf_at(all, order[0]), *best = NULL;
	struct clock_pieces *p = r->sources[first->ref.source].zones;
	struct clock_piece *new = &p->at[first->change];
	int64_t step = new->offset_ns - p->at[first->change - 1].offset_ns, most = 0;
	int best_fits = -1;
	for (uint32_t i = 1; i < n; i++) {
		const struct zone_record *a = shelf_at(all, order[i - 1]), *b = shelf_at(all, order[i]);
		int f = fits(a, b, step);
		int64_t jump = b->at - a->at, far = f == 3 ? -jump : jump;
		if (b->ref.off == a->ref.off || f < best_fits || (f == best_fits && far <= most))
			continue;
		best_fits = f;
		most = far;
		best = b;
	}
	if (!best)
		return;
	new->from_off = best->ref.off;
	new->from_ns = best->at;
	new->ref = best->ref;
}

static int between_load(struct resolve *r, struct err *err)
{
	int res = load_each(r, EVENT_LEG, 0, between_row, err);
	if (!res)
		res = load_each(r, EVENT_GATEWAY, 0, between_row, err);
	if (!res)
		res = load_each(r, EVENT_BOOT, 1u << BOOT_WHAT, between_row, err);
	return res ? res : load_each(r, EVENT_LOAD, 0, between_row, err);
}

static bool to_place(const struct resolve *r)
{
	bool any = false;
	for (uint32_t i = 0; i < r->n_sources; i++)
		any |= r->sources[i].zones && !r->sources[i].zones->placed;
	return any;
}

int zones_place(struct resolve *r, struct err *err)
{
	if (!to_place(r))
		return 0;
	struct shelf *all = &r->clock_pass->between;
	shelf_init(all, &r->scratch, sizeof(struct zone_record));
	int res = between_load(r, err);
	uint32_t n = all->n, *order = res ? NULL : order_new(r, n);
	if (!res)
		res = order ? sort_items(r, order, n, sizeof(*order), record_cmp, all, err) : err_nomem(err);
	for (uint32_t i = 0, k; i < n && !res; i = k) {
		const struct zone_record *x = shelf_at(all, order[i]);
		for (k = i + 1; k < n; k++) {
			const struct zone_record *y = shelf_at(all, order[k]);
			if (y->ref.source != x->ref.source || y->change != x->change)
				break;
		}
		place(r, order + i, k - i);
	}
	for (uint32_t i = 0; i < r->n_sources; i++)
		if (r->sources[i].zones)
			r->sources[i].zones->placed = true;
	shelf_done(all);
	return res;
}

/* Said when gateways had their word about where the changes are. */
int zones_say(struct resolve *r, struct source_info *s, struct err *err)
{
	int res = 0;
	for (uint32_t i = 1; s->zones && i < s->zones->n && !res; i++)
		res = clock_step(r, s, &s->zones->at[i - 1], &s->zones->at[i], "daylight saving, or another zone", err);
	return res;
}
