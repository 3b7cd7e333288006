/* SPDX-License-Identifier: Apache-2.0 */
/* clock_cross.c - the zone of a source from requests that sources with a known clock saw too */
#include "resolve.h"

#define QUARTER_NS     (900 * NS_PER_S)
#define START_SLACK_NS (60 * NS_PER_S)

static bool clock_open(const struct source_info *s)
{
	return s->naive && !s->fitted;
}

struct moment *moment_of(struct clock_pass *p, uint32_t id)
{
	return id && id < p->moments.n ? shelf_at(&p->moments, id) : NULL;
}

static int moments_reach(struct clock_pass *p, uint32_t n, struct err *err)
{
	while (p->moments.n < n) {
		struct moment *m = shelf_add(&p->moments);
		if (!m)
			return err_nomem(err);
		*m = (struct moment){.lo = UNKNOWN, .hi = UNKNOWN};
	}
	return 0;
}

int moment_add(struct clock_pass *p, uint32_t id, int64_t lo, int64_t hi, struct err *err)
{
	int res = moments_reach(p, id + 1, err);
	struct moment *m = res ? NULL : moment_of(p, id);
	if (m) {
		m->lo = earlier(m->lo, lo);
		m->hi = later(m->hi, hi);
	}
	return res;
}

int cross_ids(struct resolve *r, const struct event_batch *b, uint32_t row, uint32_t ids[3], struct err *err)
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
		res = clock_vote(r, s, CLOCK_CROSS, at - s->year_ns, at - s->year_ns - m->lo / 2 - m->hi / 2,
				 row_ref(source, b, row), err);
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

int clock_cross(struct resolve *r, struct err *err)
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
			fitted |= r->sources[i].fitted || (!res && clock_year(&r->sources[i]));
		}
		if (!res)
			res = zones_place(r, err);
		if (res || !fitted)
			return res;
	}
	return 0;
}
