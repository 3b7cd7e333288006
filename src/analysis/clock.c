/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c - which zone a source's naive stamps are in, fitted in whole quarter hours from anchors
 *
 * Anchors, best first: an epoch time inside a record beside its naive stamp, at the same moment ("exact"); the same
 * request seen by a source whose stamps are sure ("cross"); the beginning of a leg beside the stamp of its end
 * ("start": the zone plus the leg's duration). What the user said about a zone is never overruled, but a contradiction
 * is listed as a gap. A source without anchors takes over the zone of another source of the same worker: it is the same
 * process.
 */
#include "resolve.h"

#include <stdio.h>
#include <stdlib.h>

#define QUARTER_NS     (900 * NS_PER_S)
#define START_SLACK_NS (60 * NS_PER_S)
#define QUARTER_MIDDLE (CLOCK_QUARTERS / 2)

struct moment { /* when a name was seen by sources that are sure of the time */
	int64_t lo, hi;
};

struct clock_pass {           /* only during clock_fit_all */
	struct shelf moments; /* by name id */
};

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

static int clock_vote(struct resolve *r, struct source_info *s, int kind, int64_t diff, struct ref_node ref,
		      struct err *err)
{
	if (!s->votes)
		s->votes = arena_array(&r->arena, CLOCK_VOTES, sizeof(*s->votes));
	if (!s->votes)
		return err_nomem(err);
	int64_t q = floor_div(diff + (kind == CLOCK_START ? START_SLACK_NS : QUARTER_NS / 2), QUARTER_NS);
	if (q < -QUARTER_MIDDLE || q > QUARTER_MIDDLE) {
		s->wild++;
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
	return 0;
}

/* Counts stamps and takes what a record proves by itself. start and end are its epoch times, or UNKNOWN. */
static int clock_record(struct resolve *r, uint32_t source, const struct event_batch *b, uint32_t row, int64_t start,
			int64_t end, struct err *err)
{
	struct source_info *s = &r->sources[source];
	int64_t at = sane(b->ts_ns[row]);
	enum stamp_quality q = (enum stamp_quality)b->ts_quality[row];
	if (at == UNKNOWN || (q != STAMP_ZONED && q != STAMP_NAIVE && q != STAMP_YEARLESS))
		return 0;
	if (q == STAMP_ZONED) {
		s->zoned++;
		return 0;
	}
	s->naive++;
	start = sane(start);
	end = sane(end);
	if (start == at || end == at) /* computed from the stamp: proves nothing */
		return 0;
	struct ref_node ref = row_ref(source, b, row);
	if (end != UNKNOWN)
		return clock_vote(r, s, CLOCK_EXACT, at - end, ref, err);
	return start == UNKNOWN ? 0 : clock_vote(r, s, CLOCK_START, at - start, ref, err);
}

static int clock_leg(struct resolve *r, uint32_t source, const struct event_batch *b, uint32_t row, struct err *err)
{
	struct text rid = row_text(b, row, LEG_RID), what = row_text(b, row, LEG_WHAT);
	int64_t start = row_int(b, row, LEG_STARTED), end = row_int(b, row, LEG_FINISHED);
	/* a health check is named after the second in which it was sent: its lines come then or a little later */
	if (text_starts(rid, "HEALTH_CHECK_") && start == UNKNOWN && end == UNKNOWN &&
	    !text_seconds_ns(text_from(rid, sizeof("HEALTH_CHECK_") - 1), &start))
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

static int clock_conflict(struct resolve *r, struct source_info *s, const struct clock_votes *v, struct text effect,
			  struct err *err)
{
	if (!effect.ptr)
		return err_nomem(err);
	struct gap g = {.kind = "clock",
			.source = (uint32_t)(s - r->sources),
			.worker = s->worker_at,
			.from = s->first_ns,
			.to = s->last_ns,
			.missing = UNKNOWN,
			.effect = effect};
	int res = refs_add(r, &g.refs, v->sample, err);
	return res ? res : gap_add(r, &g, err);
}

/* Decides one source from its votes. */
static int clock_decide(struct resolve *r, struct source_info *s, struct err *err)
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
		if (second > 1 && (uint64_t)second * 5 >= v->total)
			res = clock_conflict(
			    r, s, v,
			    arena_printf(&r->arena,
					 "anchors disagree about the zone of this source: %u say UTC%s, %u "
					 "another (daylight saving, or a clock that was set): times before "
					 "or after the change are off by the difference",
					 v->n[top], zone, second),
			    err);
		if (!res && s->given && offset)
			res = clock_conflict(
			    r, s, v,
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

static bool clock_open(const struct source_info *s)
{
	return s->naive && !s->fitted;
}

/* --- cross anchors --- */

static struct moment *moment_of(struct clock_pass *p, uint32_t id)
{
	return id && id < p->moments.n ? shelf_at(&p->moments, id) : NULL;
}

static int moments_reach(struct clock_pass *p, uint32_t n, struct err *err)
{
	while (p->moments.n < n) {
		struct moment *m = shelf_add(&p->moments);
		if (!m)
			return err_nomem(err);
		*m = (struct moment){UNKNOWN, UNKNOWN};
	}
	return 0;
}

static int moment_add(struct clock_pass *p, uint32_t id, int64_t lo, int64_t hi, struct err *err)
{
	int res = moments_reach(p, id + 1, err);
	struct moment *m = res ? NULL : moment_of(p, id);
	if (m) {
		m->lo = earlier(m->lo, lo);
		m->hi = later(m->hi, hi);
	}
	return res;
}

static int cross_ids(struct resolve *r, const struct event_batch *b, uint32_t row, uint32_t ids[3], struct err *err)
{
	bool leg = b->kind == EVENT_LEG;
	struct text room = row_text(b, row, leg ? (unsigned)LEG_ROOM : (unsigned)GATEWAY_ROOM);
	int res = names_id(&r->names, row_text(b, row, leg ? (unsigned)LEG_RID : (unsigned)GATEWAY_ID), &ids[0], err);
	ids[1] = ids[2] = 0;
	if (!res && !text_is(room, "0"))
		res = names_id(&r->names, room, &ids[1], err);
	if (!res && !leg)
		res = names_id(&r->names, row_text(b, row, GATEWAY_RESPONSE_ID), &ids[2], err);
	return res;
}

static int cross_learn(struct resolve *r, uint32_t source, const struct event_batch *b, uint32_t row, struct err *err)
{
	struct source_info *s = &r->sources[source];
	bool leg = b->kind == EVENT_LEG;
	int64_t start = sane(row_int(b, row, leg ? (unsigned)LEG_STARTED : (unsigned)GATEWAY_STARTED));
	int64_t end = sane(row_int(b, row, leg ? (unsigned)LEG_FINISHED : (unsigned)GATEWAY_FINISHED));
	bool sure = b->ts_quality[row] == STAMP_ZONED || (time_is_naive(s, b, row) && s->fitted);
	int64_t at = sure ? row_time(s, b, row) : UNKNOWN;
	if (!sure && time_is_naive(s, b, row) && (start == b->ts_ns[row] || end == b->ts_ns[row]))
		return 0;
	int64_t lo = earlier(earlier(start, end), at), hi = later(later(start, end), at);
	uint32_t ids[3];
	int res = lo == UNKNOWN ? 0 : cross_ids(r, b, row, ids, err);
	if (res || lo == UNKNOWN)
		return res;
	for (int i = 0; i < 3 && !res; i++)
		res = moment_add(r->clock_pass, ids[i], lo, hi, err);
	return res;
}

static int cross_vote(struct resolve *r, uint32_t source, const struct event_batch *b, uint32_t row, struct err *err)
{
	struct source_info *s = &r->sources[source];
	int64_t at = sane(b->ts_ns[row]);
	if (!clock_open(s) || at == UNKNOWN || !time_is_naive(s, b, row))
		return 0;
	uint32_t ids[3];
	int res = cross_ids(r, b, row, ids, err);
	for (int i = 0; i < 3 && !res; i++) {
		const struct moment *m = moment_of(r->clock_pass, ids[i]);
		if (!m || m->lo == UNKNOWN || m->hi - m->lo > QUARTER_NS - 2 * START_SLACK_NS)
			continue; /* longer than a quarter: cannot tell which */
		res = clock_vote(r, s, CLOCK_CROSS, at - m->lo / 2 - m->hi / 2, row_ref(source, b, row), err);
	}
	return res;
}

/* Page logs carry epoch times: their rids and rooms are sure moments. */
static int cross_execs(struct resolve *r, struct err *err)
{
	int res = 0;
	for (uint32_t i = 0; i < r->execs.n && !res; i++) {
		const struct exec *x = shelf_at(&r->execs, i);
		if (x->first == UNKNOWN)
			continue;
		res = moment_add(r->clock_pass, x->rid, x->first, x->last, err);
		if (!res)
			res = moment_add(r->clock_pass, x->room, x->first, x->last, err);
		if (!res)
			res = resolve_tick(r, err);
	}
	return res;
}

static int clock_cross(struct resolve *r, struct err *err)
{
	const uint32_t leg_mask = 1u << LEG_RID | 1u << LEG_ROOM | 1u << LEG_STARTED | 1u << LEG_FINISHED;
	const uint32_t gateway_mask = 1u << GATEWAY_ID | 1u << GATEWAY_ROOM | 1u << GATEWAY_RESPONSE_ID |
				      1u << GATEWAY_STARTED | 1u << GATEWAY_FINISHED;
	for (int round = 0; round < 3; round++) {
		bool open = false, fitted = false;
		for (uint32_t i = 0; i < r->n_sources; i++)
			open |= clock_open(&r->sources[i]);
		if (!open)
			return 0;
		int res = cross_execs(r, err);
		if (!res)
			res = load_each(r, EVENT_LEG, leg_mask, cross_learn, err);
		if (!res)
			res = load_each(r, EVENT_GATEWAY, gateway_mask, cross_learn, err);
		if (!res)
			res = load_each(r, EVENT_LEG, leg_mask, cross_vote, err);
		if (!res)
			res = load_each(r, EVENT_GATEWAY, gateway_mask, cross_vote, err);
		for (uint32_t i = 0; i < r->n_sources && !res; i++) {
			if (!clock_open(&r->sources[i]))
				continue;
			res = clock_decide(r, &r->sources[i], err);
			fitted |= r->sources[i].fitted;
		}
		if (res || !fitted)
			return res;
	}
	return 0;
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
			s->offset_ns = o->offset_ns;
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

int clock_fit_all(struct resolve *r, struct err *err)
{
	for (uint32_t i = 0; i < r->n_sources; i++)
		r->sources[i].given =
		    text_is(r->sources[i].tz_basis, "option") || text_is(r->sources[i].tz_basis, "sources");
	int res = load_each(r, EVENT_LEG, 1u << LEG_WHAT | 1u << LEG_RID | 1u << LEG_STARTED | 1u << LEG_FINISHED,
			    clock_leg, err);
	if (!res)
		res = load_each(r, EVENT_GATEWAY, 1u << GATEWAY_STARTED | 1u << GATEWAY_FINISHED, clock_gateway, err);
	if (!res)
		res = load_each(r, EVENT_BOOT, 0, clock_plain, err);
	if (!res)
		res = load_each(r, EVENT_LOAD, 0, clock_plain, err);
	for (uint32_t i = 0; i < r->n_sources && !res; i++)
		res = clock_decide(r, &r->sources[i], err);
	struct clock_pass pass;
	shelf_init(&pass.moments, &r->scratch, sizeof(struct moment));
	r->clock_pass = &pass;
	if (!res)
		res = clock_cross(r, err);
	shelf_done(&pass.moments);
	r->clock_pass = NULL;
	return res ? res : clock_inherit(r, err);
}

int clock_write(struct resolve *r, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int res =
	    sql_prepare(&s, r->c, "INSERT INTO clock(source, offset_ns, bound_ns, basis) VALUES(?, ?, ?, ?)", err);
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
		if (!basis.ptr)
			return err_nomem(err);
		res = sql_int(s, 1, at->id, err);
		if (!res)
			res = sql_int(s, 2, at->offset_ns, err);
		if (!res)
			res = sql_int(s, 3, at->naive || !at->zoned ? at->bound_ns : 0, err);
		if (!res)
			res = sql_text(s, 4, basis, err);
		if (!res)
			res = sql_run(s, err);
	}
	return res;
}
