/* SPDX-License-Identifier: Apache-2.0 */
/* boot_undated.c - when the starts were of a log whose stamps name no date
 *
 * Such stamps count from the first line of the file: the parser adds a day where the time of day falls back, so that only days
 * without any line are lost. Where a record has an epoch time beside its stamp it dates all lines near it. A start between two of
 * them is as late as the one behind says, and as early as the one before: the same, but for lost days and clocks that were set.
 * Records of another kind with a date of their own only say that it was between them. A log without either has its starts in
 * order and no more, and where there are several, nobody knows which of them a request met.
 */
#include <stdlib.h>

#include "pagetrail/array.h"
#include "resolve.h"

#define DAY_NS   (86400 * NS_PER_S)
#define SLACK_NS (5 * NS_PER_S)           /* of what a record says of its own line */
#define EPOCH_NS (366 * 86400 * NS_PER_S) /* below, a time was counted like the stamps */

struct dated {                /* a record near it */
	int64_t offset, time; /* offset: from stamps to time; UNKNOWN: there is none */
};

struct round { /* the nearest two */
	struct dated before, after;
};

struct undated {
	struct boot_event *event;
	struct round exact, bounds; /* bounds: of records that have a date and no such stamp */
};

struct undated_list {
	struct undated *at; /* of one source, in order */
	size_t n, cap;
};

/* A record's epoch time at the moment of its line. Not by the name of a health check: clients choose names. */
static int64_t said_at(const struct source_info *s, const struct event_batch *b, uint32_t row)
{
	bool received = text_is(row_text(b, row, LEG_WHAT), "received");
	int64_t t = sane(row_int(b, row, LEG_FINISHED));
	if (t == UNKNOWN && received)
		t = sane(row_int(b, row, LEG_STARTED));
	return t == UNKNOWN || t < EPOCH_NS || t == b->ts_ns[row] ? UNKNOWN : row_moment(s, b, row, t, false);
}

/* stamp UNKNOWN: it has none of that kind. */
static void anchor(struct undated_list *l, uint64_t off, int64_t stamp, int64_t time)
{
	size_t lo = 0, hi = l->n;
	while (lo < hi) { /* the first event behind it */
		size_t mid = (lo + hi) / 2;
		if (l->at[mid].event->ref.off < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	bool exact = stamp != UNKNOWN;
	if (lo < l->n) {
		struct undated *u = &l->at[lo];
		(exact ? &u->exact : &u->bounds)->before =
		    (struct dated){time - (exact ? stamp : u->event->order), time};
	}
	if (lo) {
		struct undated *u = &l->at[lo - 1];
		struct dated *after = exact ? &u->exact.after : &u->bounds.after;
		if (after->offset == UNKNOWN)
			*after = (struct dated){time - (exact ? stamp : u->event->order), time};
	}
}

static int anchors_of(struct resolve *r, uint32_t source, struct undated_list *l, struct err *err)
{
	CLEANUP(event_scan_closep) struct event_scan *scan = NULL;
	const struct event_filter filter = {r->sources[source].id, TIME_UNKNOWN, TIME_UNKNOWN};
	const struct event_batch *b;
	int64_t id;
	int res = event_scan_open(&scan, r->c, EVENT_LEG, 1u << LEG_WHAT | 1u << LEG_STARTED | 1u << LEG_FINISHED,
				  &filter, err);
	while (!res && (res = event_scan_next(scan, &b, &id, err)) == 1) {
		for (uint32_t i = 0; i < b->n; i++) {
			bool stamped = b->ts_quality[i] == STAMP_MONOTONIC && sane(b->ts_ns[i]) != UNKNOWN;
			const struct source_info *s = &r->sources[source];
			int64_t t = stamped ? said_at(s, b, i) : row_time(s, b, i);
			if (t != UNKNOWN)
				anchor(l, b->byte_off[i], stamped ? b->ts_ns[i] : UNKNOWN, t);
		}
		res = resolve_tick(r, err);
	}
	return res;
}

/* Events that no dated record stands next to have the neighbours of those round them. */
static void spread(struct undated_list *l, struct round *(*of)(struct undated *u))
{
	for (size_t i = 1; i < l->n; i++)
		if (of(&l->at[i])->before.offset == UNKNOWN)
			of(&l->at[i])->before = of(&l->at[i - 1])->before;
	for (size_t i = l->n; i-- > 1;)
		if (of(&l->at[i - 1])->after.offset == UNKNOWN)
			of(&l->at[i - 1])->after = of(&l->at[i])->after;
}

static struct round *exact_of(struct undated *u)
{
	return &u->exact;
}

static struct round *bounds_of(struct undated *u)
{
	return &u->bounds;
}

/* Only whole days are lost: which of them fit? offset: of a record near it. */
static void fit_days(struct boot_event *e, int64_t offset)
{
	int64_t t = e->order + offset, days_before = (e->from - SLACK_NS - t) / DAY_NS,
		days = (e->at + SLACK_NS - t) / DAY_NS;
	if (e->from - SLACK_NS > t + days_before * DAY_NS)
		days_before++;
	if (e->at + SLACK_NS < t + days * DAY_NS)
		days--;
	if (days_before > days) /* its clock or zone was set as well */
		return;
	e->from = t + days_before * DAY_NS;
	e->at = t + days * DAY_NS;
}

static void date(struct resolve *r, struct boot_event *e, const struct undated *u)
{
	const struct dated *before = u->exact.before.offset != UNKNOWN ? &u->exact.before : &u->bounds.before;
	const struct dated *after = u->exact.after.offset != UNKNOWN ? &u->exact.after : &u->bounds.after;
	int64_t exact = u->exact.after.offset != UNKNOWN ? u->exact.after.offset : u->exact.before.offset;
	int64_t least = earlier(before->offset, after->offset), most = later(before->offset, after->offset);
	if (least == UNKNOWN)
		return;
	e->from = later(later(e->order + least, u->exact.before.time), u->bounds.before.time);
	e->at = earlier(earlier(e->order + most, u->exact.after.time), u->bounds.after.time);
	e->at = MAX(e->at, e->from);
	if (exact != UNKNOWN)
		fit_days(e, exact);
	if (e->what == WHAT_STOP) /* what ran is known up to there */
		e->at = e->from;
	struct source_info *s = &r->sources[e->ref.source];
	s->seen_from = earlier(s->seen_from, e->at);
	s->seen_to = later(s->seen_to, e->at);
	worker_seen(r, e->worker, e->at, e->at, NULL);
}

static void date_all(struct resolve *r, struct undated_list *l)
{
	spread(l, exact_of);
	spread(l, bounds_of);
	for (size_t i = 0; i < l->n; i++)
		date(r, l->at[i].event, &l->at[i]);
}

int boots_date(struct resolve *r, struct err *err)
{
	const struct round nobody = {{UNKNOWN, UNKNOWN}, {UNKNOWN, UNKNOWN}};
	struct undated_list l = {0};
	int res = 0;
	for (uint32_t i = 0, k; i < r->boot_events.n && !res; i = k) {
		uint32_t source = ((struct boot_event *)shelf_at(&r->boot_events, i))->ref.source;
		l.n = 0;
		for (k = i; k < r->boot_events.n && !res; k++) {
			struct boot_event *e = shelf_at(&r->boot_events, k);
			if (e->ref.source != source)
				break;
			if (e->order == UNKNOWN || e->what == WHAT_SNAPSHOT)
				continue;
			res = grow_array((void **)&l.at, &l.cap, l.n, sizeof(*l.at), err);
			if (!res)
				l.at[l.n++] = (struct undated){e, nobody, nobody};
		}
		if (!res && l.n && r->sources[source].kinds & 1u << EVENT_LEG)
			res = anchors_of(r, source, &l, err);
		if (!res)
			date_all(r, &l);
	}
	free(l.at);
	return res;
}

/* --- a log of starts that nothing dates --- */

bool is_undated(const struct resolve *r, uint32_t worker)
{
	const struct worker *w = worker_at(r, worker);
	bool undated = false;
	for (uint32_t k = 0; k < w->n_boots && w->n_boots > 1; k++)
		undated |= boot_at(r, w->boots_from + k)->undated;
	return undated;
}

int gap_undated(struct resolve *r, struct err *err)
{
	int res = 0;
	for (uint32_t i = 0; i < r->workers.n && !res; i++) {
		const struct worker *w = worker_at(r, i);
		if (is_mixed(r, i) || !is_undated(r, i))
			continue;
		struct gap g = {.kind = "boot",
				.source = NO_INDEX,
				.worker = i,
				.from = w->first_ns,
				.to = w->last_ns,
				.missing = UNKNOWN};
		g.effect =
		    arena_printf(&r->arena,
				 "%.*s: starts are logged without a date, and no record beside them tells when they "
				 "were: of its %u boots nobody knows which one a request met, and so are version and "
				 "limit unknown",
				 TEXT_ARG(text_sub(names_text(&r->names, w->name), 0, 200)), w->n_boots);
		for (uint32_t k = 0; k < w->n_boots && !res; k++) {
			const struct boot *b = boot_at(r, w->boots_from + k);
			const struct ref_node *ref = b->refs.head ? shelf_at(&r->refs, b->refs.head - 1) : NULL;
			if (!ref || !b->undated)
				continue;
			g.source = g.source == NO_INDEX ? ref->source : g.source;
			res = refs_add(r, &g.refs, *ref, err);
		}
		if (!res)
			res = gap_add(r, &g, err);
	}
	return res;
}
