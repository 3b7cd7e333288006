/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c - which zone a source's naive stamps are in, fitted in whole quarter hours from anchors
 *
 * Anchors, best first: an epoch time inside a record beside its naive stamp, at the same moment ("exact"); the same
 * request seen by a source whose stamps are sure ("cross"); the beginning of a leg beside the stamp of its end
 * ("start": the zone plus the leg's duration). What the user said about a zone is never overruled, but a contradiction
 * is listed as a gap. A source without anchors takes over the zone of another source of the same worker: it is the same
 * process. Where a zone changes inside of a log: clock_zones.c.
 */
#include "pagetrail/engine_check.h"
#include "resolve.h"

#include <stdio.h>
#include <stdlib.h>

#define QUARTER_NS     (900 * NS_PER_S)
#define START_SLACK_NS (60 * NS_PER_S)
#define QUARTER_MIDDLE (CLOCK_QUARTERS / 2)

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* --- years --- */

/* A stamp without a year was given one by the file's time or its neighbours; what is off by whole years is that guess. */
static void year_vote(struct source_info *s, int64_t diff)
{
	const int64_t day = 86400 * NS_PER_S;
	int64_t days = floor_div(diff + day / 2, day), years = floor_div(days * 10000 + 3652425 / 2, 3652425);
	int64_t rest = days - years * 3652425 / 10000;
	if (!years || rest < -1 || rest > 1)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(s->years); i++) {
		if (s->years[i].n && s->years[i].days != days)
			continue;
		s->years[i].days = days;
		s->years[i].n++;
		return;
	}
}

bool clock_year(struct source_info *s)
{
	unsigned best = 0, all = 0;
	if (!s->yearless || s->year_ns || s->fitted || s->given)
		return false;
	for (unsigned i = 0; i < ARRAY_SIZE(s->years); i++) {
		all += s->years[i].n;
		if (s->years[i].n > s->years[best].n)
			best = i;
	}
	if (!all || s->years[best].n * 5 < all * 4)
		return false;
	s->year_ns = s->years[best].days * 86400 * NS_PER_S;
	return true;
}

int clock_vote(struct resolve *r, struct source_info *s, int kind, int64_t at_ns, int64_t diff, struct ref_node ref,
	       struct err *err)
{
	if (!s->votes)
		s->votes = arena_array(&r->arena, CLOCK_VOTES, sizeof(*s->votes));
	if (!s->votes)
		return err_nomem(err);
	int64_t q = floor_div(diff + (kind == CLOCK_START ? START_SLACK_NS : QUARTER_NS / 2), QUARTER_NS);
	if (q < -QUARTER_MIDDLE || q > QUARTER_MIDDLE) {
		s->wild++;
		if (kind != CLOCK_START && s->yearless)
			year_vote(s, diff);
		return 0;
	}
	struct clock_votes *v = &s->votes[kind];
	unsigned at = (unsigned)(q + QUARTER_MIDDLE);
	int64_t rest = diff - q * QUARTER_NS;
	if (rest < 0)
		rest = -rest;
	v->least[at] = v->n[at] ? MIN(v->least[at], rest) : rest;
	v->worst[at] = MAX(v->worst[at], rest);
	v->n[at]++;
	v->total++;
	v->sample = ref;
	return kind == CLOCK_START ? 0 : zone_anchor(r, s, kind, (int)q, at_ns, ref, err);
}

/* Counts stamps and takes what a record proves by itself. start and end are its epoch times, or UNKNOWN. */
static int clock_record(struct resolve *r, uint32_t source, const struct event_batch *b, uint32_t row, int64_t start,
			int64_t end, struct err *err)
{
	struct source_info *s = &r->sources[source];
	int64_t at = sane(b->ts_ns[row]);
	enum stamp_quality q = (enum stamp_quality)b->ts_quality[row];
	if ((s->again && !s->year_ns) || at == UNKNOWN || (q != STAMP_ZONED && q != STAMP_NAIVE && q != STAMP_YEARLESS))
		return 0;
	if (q == STAMP_ZONED) {
		s->zoned += !s->again;
		return 0;
	}
	s->naive += !s->again;
	s->yearless += q == STAMP_YEARLESS && !s->again;
	struct ref_node ref = row_ref(source, b, row);
	start = sane(start);
	end = sane(end);
	if (start == at || end == at) /* computed from the stamp: proves nothing */
		start = end = UNKNOWN;
	at -= s->year_ns;
	if (end != UNKNOWN)
		return clock_vote(r, s, CLOCK_EXACT, at, at - end, ref, err);
	return start == UNKNOWN ? 0 : clock_vote(r, s, CLOCK_START, at, at - start, ref, err);
}

static int clock_leg(struct resolve *r, uint32_t source, const struct event_batch *b, uint32_t row, struct err *err)
{
	struct text rid = row_text(b, row, LEG_RID), what = row_text(b, row, LEG_WHAT);
	int64_t start = row_int(b, row, LEG_STARTED), end = row_int(b, row, LEG_FINISHED);
	/* a health check is named after the second in which it was sent: its lines come then or a little later */
	if (text_starts(rid, ENGINE_CHECK) && start == UNKNOWN && end == UNKNOWN &&
	    !text_seconds_ns(text_from(rid, sizeof(ENGINE_CHECK) - 1), &start))
		start = UNKNOWN;
	if (text_is(what, "received") && end == UNKNOWN) {
		end = start; /* the stamp is that of the beginning */
		start = UNKNOWN;
	}
	return clock_record(r, source, b, row, start, end, err);
}

static int clock_gateway(struct resolve *r, uint32_t source, const struct event_batch *b, uint32_t row, struct err *err)
{
	return clock_record(r, source, b, row, row_int(b, row, GATEWAY_STARTED), row_int(b, row, GATEWAY_FINISHED),
			    err);
}

static int clock_plain(struct resolve *r, uint32_t source, const struct event_batch *b, uint32_t row, struct err *err)
{
	return clock_record(r, source, b, row, UNKNOWN, UNKNOWN, err);
}

/* The winner of one kind of vote: -1 none. *ret_second: votes of the next best. */
static int votes_top(const struct clock_votes *v, bool lowest, unsigned *ret_second)
{
	int top = -1, second = -1;
	for (int i = 0; i < CLOCK_QUARTERS; i++) {
		if (!v->n[i])
			continue;
		if (lowest && top < 0 && (uint64_t)v->n[i] * 50 >= v->total)
			return i; /* durations only add: the least is nearest to the zone */
		if (top < 0 || v->n[i] > v->n[top]) {
			second = top;
			top = i;
		} else if (second < 0 || v->n[i] > v->n[second]) {
			second = i;
		}
	}
	*ret_second = second < 0 ? 0 : v->n[second];
	return lowest ? -1 : top;
}

static const char *offset_text(int64_t offset_ns, char text[16])
{
	int64_t min = offset_ns / (60 * NS_PER_S);
	int64_t abs = min < 0 ? -min : min;
	(void)snprintf(text, 16, "%c%02d:%02d", min < 0 ? '-' : '+', (int)(abs / 60 % 100), (int)(abs % 60));
	return text;
}

int clock_conflict(struct resolve *r, struct source_info *s, struct ref_node ref, struct text effect, struct err *err)
{
	if (!effect.ptr)
		return err_nomem(err);
	struct gap g = {.kind = "clock",
			.source = (uint32_t)(s - r->sources),
			.worker = s->worker_at,
			.whole = true,
			.missing = UNKNOWN,
			.effect = effect};
	int res = refs_add(r, &g.refs, ref, err);
	return res ? res : gap_add(r, &g, err);
}

/* From here to there its clock went by another zone, or was set. */
int clock_step(struct resolve *r, struct source_info *s, const struct clock_piece *before,
	       const struct clock_piece *after, const char *what, struct err *err)
{
	int64_t step = after->offset_ns - before->offset_ns, size = step < 0 ? -step : step;
	struct gap g = {.kind = "clock_step",
			.source = (uint32_t)(s - r->sources),
			.worker = s->worker_at,
			.from = before->last_ns - before->offset_ns,
			.to = after->proved_ns - after->offset_ns,
			.missing = UNKNOWN};
	g.effect =
	    arena_printf(&r->arena,
			 "the clock of this source steps %s by %lld s here (%s): times are corrected on both sides; "
			 "between the last "
			 "record that proves the one and the first that proves the other they may be off by that much",
			 step < 0 ? "back" : "forward", (long long)((size + NS_PER_S / 2) / NS_PER_S), what);
	int res = refs_add(r, &g.refs, after->ref, err);
	return res ? res : gap_add(r, &g, err);
}

/* Decides one source from its votes. */
int clock_decide(struct resolve *r, struct source_info *s, struct err *err)
{
	static const char *const kinds[] = {"epoch times in the same records", "the same requests in other sources",
					    "request start times in the same records"};
	char zone[16];
	for (int kind = 0; s->votes && kind < CLOCK_VOTES; kind++) {
		const struct clock_votes *v = &s->votes[kind];
		unsigned second = 0;
		int top = votes_top(v, kind == CLOCK_START, &second);
		if (top < 0)
			continue;
		int64_t offset = (int64_t)(top - QUARTER_MIDDLE) * QUARTER_NS;
		/* far from a quarter with few witnesses: that is a long request, and zones are mostly whole hours */
		if (kind == CLOCK_START && v->least[top] > START_SLACK_NS * 2)
			offset = floor_div(offset, 3600 * NS_PER_S) * 3600 * NS_PER_S;
		int res = 0;
		offset_text(offset, zone);
		bool pieces = false;
		if (!s->given)
			res = zones_settle(r, s, kind, &pieces, err);
		if (res)
			return res;
		if (pieces) {
			s->fitted = true;
			s->offset_ns = offset;
			s->bound_ns = MAX(v->worst[top], NS_PER_S);
			s->basis = arena_printf(&r->arena, "fitted from %u anchors: %s", v->total, kinds[kind]);
			return s->basis.ptr ? 0 : err_nomem(err);
		}
		if (second > 1 && (uint64_t)second * 5 >= v->total)
			res = clock_conflict(
			    r, s, v->sample,
			    arena_printf(&r->arena,
					 "anchors disagree about the zone of this source: %u say UTC%s, %u "
					 "another (daylight saving, or a clock that was set): times before "
					 "or after the change are off by the difference",
					 v->n[top], zone, second),
			    err);
		if (!res && s->given && offset)
			res = clock_conflict(
			    r, s, v->sample,
			    arena_printf(&r->arena,
					 "the zone that was given (%.*s) is off by %s by %u anchors: it was "
					 "kept, and times of this source may be wrong by that much",
					 TEXT_ARG(s->tz), zone, v->n[top]),
			    err);
		s->fitted = true;
		if (!s->given) {
			s->offset_ns = offset;
			s->bound_ns = MAX(kind == CLOCK_START ? v->least[top] : v->worst[top], NS_PER_S);
			s->basis =
			    arena_printf(&r->arena, "UTC%s fitted from %u anchors: %s", zone, v->n[top], kinds[kind]);
			if (!s->basis.ptr)
				return err_nomem(err);
		}
		return res;
	}
	return 0;
}

/* What a wrapper's clock beside the records' own said when they were read. */
static int clock_wrapped(struct resolve *r, struct source_info *s, struct err *err)
{
	struct text t = s->tz_basis;
	int64_t h, m;
	if (s->fitted || !s->naive || !text_starts(t, "wrapper ") || t.len != sizeof("wrapper +00:00") - 1)
		return 0;
	t = text_from(t, sizeof("wrapper ") - 1);
	if (!text_int64(text_sub(t, 1, 2), &h) || !text_int64(text_sub(t, 4, 2), &m))
		return 0;
	s->offset_ns = (h * 60 + m) * 60 * NS_PER_S * (t.ptr[0] == '-' ? -1 : 1);
	s->bound_ns = NS_PER_S;
	s->fitted = true;
	s->basis = arena_printf(&r->arena, "UTC%.*s: the wrapper's times beside the records' own", TEXT_ARG(t));
	return s->basis.ptr ? 0 : err_nomem(err);
}

static bool clock_open(const struct source_info *s)
{
	return s->naive && !s->fitted;
}

/* The zone that a source had at a time, by its own stamps. */
static int64_t zone_near(const struct source_info *s, int64_t at)
{
	if (!s->zones || at == UNKNOWN)
		return s->offset_ns;
	uint32_t i = s->zones->n - 1;
	while (i && s->zones->at[i].from_ns - s->zones->at[i].offset_ns > at)
		i--;
	return s->zones->at[i].offset_ns;
}

/* Rotated parts of one worker's log share the zone of the part that could be fitted. */
static int clock_inherit(struct resolve *r, struct err *err)
{
	for (uint32_t i = 0; i < r->n_sources; i++) {
		struct source_info *s = &r->sources[i];
		if (!clock_open(s) || s->given || s->worker_at == NO_INDEX)
			continue;
		for (uint32_t k = 0; k < r->n_sources; k++) {
			const struct source_info *o = &r->sources[k];
			if (!o->fitted || o->given || !o->naive || o->worker_at != s->worker_at || !o->basis.len ||
			    text_starts(o->basis, "as in"))
				continue;
			s->offset_ns = zone_near(o, s->first_ns);
			s->bound_ns = o->bound_ns;
			s->basis = arena_printf(&r->arena, "as in another source of worker %.*s: %.*s",
						TEXT_ARG(text_sub(s->worker, 0, 100)), TEXT_ARG(o->basis));
			if (!s->basis.ptr)
				return err_nomem(err);
			break;
		}
	}
	return 0;
}

static int clock_records(struct resolve *r, struct err *err)
{
	int res = load_each(r, EVENT_LEG, 1u << LEG_WHAT | 1u << LEG_RID | 1u << LEG_STARTED | 1u << LEG_FINISHED,
			    clock_leg, err);
	if (!res)
		res = load_each(r, EVENT_GATEWAY, 1u << GATEWAY_STARTED | 1u << GATEWAY_FINISHED, clock_gateway, err);
	if (!res)
		res = load_each(r, EVENT_BOOT, 0, clock_plain, err);
	return res ? res : load_each(r, EVENT_LOAD, 0, clock_plain, err);
}

int clock_fit_all(struct resolve *r, struct err *err)
{
	for (uint32_t i = 0; i < r->n_sources; i++)
		r->sources[i].given =
		    text_is(r->sources[i].tz_basis, "option") || text_is(r->sources[i].tz_basis, "sources");
	int res = clock_records(r, err);
	bool moved = false;
	for (uint32_t i = 0; i < r->n_sources && !res; i++) {
		res = clock_decide(r, &r->sources[i], err);
		moved |= !res && clock_year(&r->sources[i]);
	}
	for (uint32_t i = 0; i < r->n_sources; i++)
		r->sources[i].again = true;
	if (moved && !res) /* once more, for those alone */
		res = clock_records(r, err);
	for (uint32_t i = 0; i < r->n_sources && !res && moved; i++)
		if (!r->sources[i].fitted)
			res = clock_decide(r, &r->sources[i], err);
	for (uint32_t i = 0; i < r->n_sources && !res; i++)
		res = clock_wrapped(r, &r->sources[i], err);
	struct clock_pass pass;
	shelf_init(&pass.moments, &r->scratch, sizeof(struct moment));
	r->clock_pass = &pass;
	if (!res)
		res = zones_place(r, err);
	if (!res)
		res = clock_cross(r, err);
	shelf_done(&pass.moments);
	r->clock_pass = NULL;
	if (!res)
		res = clock_inherit(r, err);
	if (!res)
		res = clock_skew(r, err);
	for (uint32_t i = 0; i < r->n_sources && !res; i++)
		res = zones_say(r, &r->sources[i], err);
	return res;
}

/* One row for each part of a source that was corrected by one amount. */
static int clock_row(struct resolve *r, struct sql *sql, const struct source_info *s, uint64_t from,
		     const struct clock_piece *zone, const struct clock_piece *skew, struct text basis, struct err *err)
{
	int64_t offset = clock_off(s, from, s->naive != 0), at = UNKNOWN,
		bound = s->naive || !s->zoned ? s->bound_ns : 0;
	if (from) {
		const struct clock_piece *p = zone && zone->from_off == from ? zone : skew;
		at = p->from_ns - p->offset_ns;
	}
	char own[16];
	if (zone)
		basis = arena_printf(&r->arena, "UTC%s %.*s", offset_text(zone->offset_ns, own), TEXT_ARG(basis));
	if (skew) {
		bound = skew->bound_ns;
		basis = arena_printf(&r->arena, "%.*s%s%.*s", TEXT_ARG(basis), basis.len ? "; " : "",
				     TEXT_ARG(s->skew_basis));
	}
	if (!basis.ptr)
		return err_nomem(err);
	const int64_t values[] = {
	    s->id, (int64_t)from, at, offset, clock_off(s, from, false), clock_off(s, from, between_is_naive(s)),
	    bound};
	int res = 0;
	for (int i = 0; i < (int)ARRAY_SIZE(values) && !res; i++)
		res = sql_int(sql, i + 1, values[i], err);
	if (!res)
		res = sql_text(sql, (int)ARRAY_SIZE(values) + 1, basis, err);
	return res ? res : sql_run(sql, err);
}

static const struct clock_piece *piece_at(const struct clock_pieces *p, uint64_t off)
{
	uint32_t i = p ? p->n - 1 : 0;
	while (i && p->at[i].from_off > off)
		i--;
	return p ? &p->at[i] : NULL;
}

static bool steps(const struct clock_pieces *p)
{
	return p && p->n > 1;
}

/* The least and the largest stamp say where they stand only when all are off by the same. Otherwise its events do, as far as
 * there are any. */
void clock_span(const struct source_info *s, int64_t *ret_from, int64_t *ret_to)
{
	bool even = !steps(s->zones) && !steps(s->skews) && !(s->naive && s->zoned);
	*ret_from = sane(s->first_ns);
	*ret_to = sane(s->last_ns);
	if (!even && s->seen_from != UNKNOWN && s->seen_to != UNKNOWN) {
		*ret_from = s->seen_from;
		*ret_to = s->seen_to;
		return;
	}
	if (*ret_from != UNKNOWN)
		*ret_from -= clock_off(s, 0, s->naive != 0);
	if (*ret_to != UNKNOWN)
		*ret_to -= clock_off(s, UINT64_MAX, s->naive != 0);
}

/* First offset behind `off` at which one of the two changes; UINT64_MAX: none. */
static uint64_t piece_next(const struct source_info *s, uint64_t off)
{
	uint64_t next = UINT64_MAX;
	for (int k = 0; k < 2; k++) {
		const struct clock_pieces *p = k ? s->skews : s->zones;
		for (uint32_t i = 1; p && i < p->n; i++)
			if (p->at[i].from_off > off && p->at[i].from_off < next)
				next = p->at[i].from_off;
	}
	return next;
}

int clock_write(struct resolve *r, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int res = sql_prepare(&s, r->c,
			      "INSERT INTO clock(source, from_off, from_ns, offset_ns, skew_ns, between_ns, bound_ns, "
			      "basis) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
			      err);
	for (uint32_t i = 0; i < r->n_sources && !res; i++) {
		struct source_info *at = &r->sources[i];
		if (!at->kinds)
			continue;
		struct text basis = at->basis;
		if (at->given)
			basis =
			    arena_printf(&r->arena, "zone %.*s given (%.*s)", TEXT_ARG(at->tz), TEXT_ARG(at->tz_basis));
		else if (!at->naive)
			basis = at->zoned ? TEXT("stamps carry their zone") : TEXT("no stamps of its own");
		else if (!basis.len)
			basis = TEXT("assumed UTC");
		if (at->year_ns && basis.ptr)
			basis = arena_printf(&r->arena, "%.*s; the year from the same requests in other sources",
					     TEXT_ARG(basis));
		if (!basis.ptr)
			return err_nomem(err);
		for (uint64_t off = 0; off != UINT64_MAX && !res; off = piece_next(at, off))
			res = clock_row(r, s, at, off, piece_at(at->zones, off), piece_at(at->skews, off), basis, err);
	}
	return res;
}
