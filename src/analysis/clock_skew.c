/* SPDX-License-Identifier: Apache-2.0 */
/* clock_skew.c - how far each engine's (and router's) clock is ahead of the gateways', from requests that both have seen
 *
 * What an engine does for a request lies between the moments at which the gateway took it and had answered it. So each
 * time t that an engine's log gives for a request bounds what its clock is ahead: t - end <= skew <= t - start. All of a
 * source together leave a narrow interval. Where the next ones leave none, the clock was set: a new piece begins when
 * several in a row agree with each other and not with the piece. Pieces that lie next to each other are drift: one piece with
 * a wider bound. Requests whose end at the gateway is not that of the answer (the client left, an error) bound one side only.
 * An id that a client used more than once has the time of all its uses, and bounds nothing where they are far apart, at the gateway
 * or in the log that is measured.
 * Nothing is corrected that 0 explains. A source that contradicts itself all the time is left alone, and that is a gap.
 * Whom no gateway measures, other engines do (clock_peers.c).
 */
#include "resolve.h"

#include <stdio.h>
#include <string.h>

#define FAR_NS        (INT64_MAX / 4)
#define FINE_NS       NS_PER_S       /* what stamps of whole seconds may be off */
#define STEP_NS       (5 * NS_PER_S) /* less is drift */
/* An id that gateways have at times farther apart is one that clients use again, and bounds nothing. */
#define WINDOW_MAX_NS (3600 * NS_PER_S)
enum { AGREE = 3 };

struct skew_run {
	int64_t lo, hi, from_ns, last_ns;
	uint32_t n;
	struct ref_node ref;
};
struct skew_runs {
	struct skew_run at[CLOCK_PIECES_MAX], next; /* next: what may be the beginning of a new one */
	uint32_t n, all, strays;
	struct ref_node stray;
	bool full;
};

static bool overlap(const struct skew_run *a, int64_t lo, int64_t hi)
{
	return lo <= a->hi && hi >= a->lo;
}

static void narrow(struct skew_run *a, int64_t lo, int64_t hi, int64_t at)
{
	a->lo = MAX(a->lo, lo);
	a->hi = MIN(a->hi, hi);
	a->last_ns = at;
	a->n++;
}

static void strays_add(struct skew_runs *s)
{
	if (s->next.n)
		s->stray = s->next.ref;
	s->strays += s->next.n;
	s->next.n = 0;
}

int skew_vote(struct resolve *r, struct source_info *src, int64_t at, int64_t lo, int64_t hi, struct ref_node ref,
	      struct err *err)
{
	struct skew_run new = {lo, hi, at, at, 1, ref};
	if (!src->skew_runs)
		src->skew_runs = arena_array(&r->arena, 1, sizeof(*src->skew_runs));
	struct skew_runs *s = src->skew_runs;
	if (!s)
		return err_nomem(err);
	s->all++;
	if (!s->n) {
		s->at[s->n++] = new;
		return 0;
	}
	struct skew_run *now = &s->at[s->n - 1];
	if (overlap(now, lo, hi)) {
		if (s->next.n && overlap(&s->next, lo, hi))
			return 0; /* proves neither */
		narrow(now, lo, hi, at);
		strays_add(s);
		return 0;
	}
	if (!s->next.n || !overlap(&s->next, lo, hi)) {
		strays_add(s);
		s->next = new;
		return 0;
	}
	narrow(&s->next, lo, hi, at);
	if (s->next.n < AGREE)
		return 0;
	if (s->n == CLOCK_PIECES_MAX)
		s->full = true;
	else
		s->at[s->n++] = s->next;
	s->next.n = 0;
	return 0;
}

/* --- anchors --- */

static int window_learn(struct resolve *r, uint32_t source, const struct event_batch *b, uint32_t row, struct err *err)
{
	struct source_info *s = &r->sources[source];
	bool access = text_is(row_text(b, row, GATEWAY_WHAT), "access");
	int64_t status = row_int(b, row, GATEWAY_STATUS), gone = row_int(b, row, GATEWAY_CLIENT_GONE);
	int64_t start = sane(row_int(b, row, GATEWAY_STARTED)), end = sane(row_int(b, row, GATEWAY_FINISHED));
	bool computed = start == b->ts_ns[row] || end == b->ts_ns[row], naive = time_is_naive(s, b, row);
	if (!access || start == UNKNOWN || (computed && naive && !s->fitted && !s->given))
		return 0;
	start = row_moment(s, b, row, start, computed);
	end = row_moment(s, b, row, end, computed);
	if (end == UNKNOWN || end < start || status < 200 || status > 299 || (gone != UNKNOWN && gone))
		end = FAR_NS;
	uint32_t ids[3];
	int res = cross_ids(r, b, row, ids, err);
	s->measures = true;
	for (int i = 0; i < 3 && !res; i++)
		res = moment_add(r->clock_pass, ids[i], start - FINE_NS, MIN(end, FAR_NS - FINE_NS) + FINE_NS, err);
	return res;
}

/* Has this log the id at times that are farther apart than the request was long? Then a client has used it again, which the gateways'
 * logs, where they are not whole, need not show. */
static bool used_again(struct moment *m, uint32_t source, int64_t t)
{
	if (m->source != source + 1) {
		m->source = source + 1;
		m->voted = t;
		return false;
	}
	return m->hi < FAR_NS && stamps_apart(t, m->voted) > stamps_apart(m->lo, m->hi);
}

/* One time of a request at a source bounds its clock; `coarse` is what its stamp may lack. */
static int anchor(struct resolve *r, struct source_info *s, struct moment *m, int64_t t, int64_t coarse,
		  struct ref_node ref, struct err *err)
{
	if (t == UNKNOWN || (m->hi < FAR_NS && m->hi - m->lo > WINDOW_MAX_NS) || used_again(m, ref.source, t))
		return 0;
	return skew_vote(r, s, t, m->hi >= FAR_NS ? -FAR_NS : t - m->hi, t + coarse - m->lo, ref, err);
}

static struct moment *window_of(struct resolve *r, const uint32_t *ids, int n)
{
	for (int i = 0; i < n; i++) {
		struct moment *m = moment_of(r->clock_pass, ids[i]);
		if (m && m->lo != UNKNOWN)
			return m;
	}
	return NULL;
}

static int leg_anchor(struct resolve *r, uint32_t source, const struct event_batch *b, uint32_t row, struct err *err)
{
	struct source_info *s = &r->sources[source];
	bool naive = time_is_naive(s, b, row);
	if (naive && !s->fitted && !s->given && !s->basis.len)
		return 0; /* of no known zone */
	uint32_t ids[3];
	int res = cross_ids(r, b, row, ids, err);
	const uint32_t room_first[] = {ids[1], ids[0]};
	struct moment *m = res ? NULL : window_of(r, room_first, 2);
	if (!m)
		return res;
	int64_t start = sane(row_int(b, row, LEG_STARTED)), end = sane(row_int(b, row, LEG_FINISHED));
	bool computed = start == b->ts_ns[row] || end == b->ts_ns[row];
	struct ref_node ref = row_ref(source, b, row);
	int64_t coarse = naive ? FINE_NS : 0;
	res = anchor(r, s, m, row_moment(s, b, row, start, computed), computed ? coarse : 0, ref, err);
	if (!res)
		res = anchor(r, s, m, row_moment(s, b, row, end, computed), computed ? coarse : 0, ref, err);
	/* whole seconds, but its place in the file is its time */
	return res || start != UNKNOWN || end != UNKNOWN ? res : anchor(r, s, m, row_time(s, b, row), coarse, ref, err);
}

/* A router behind (or in front of) the gateway that others are measured by: what it notes of a request lies in its time. */
static int router_anchor(struct resolve *r, uint32_t source, const struct event_batch *b, uint32_t row, struct err *err)
{
	struct source_info *s = &r->sources[source];
	if (s->measures || (time_is_naive(s, b, row) && !s->fitted && !s->given))
		return 0;
	uint32_t ids[3];
	int res = cross_ids(r, b, row, ids, err);
	struct moment *m = res ? NULL : window_of(r, ids, 3);
	return m ? anchor(r, s, m, row_time(s, b, row), FINE_NS, row_ref(source, b, row), err) : res;
}

/* Of page logs the first record of a request is enough: pages may be given back long after the answer. */
static int exec_anchors(struct resolve *r, struct err *err)
{
	int res = 0;
	for (uint32_t i = 0; i < r->execs.n && !res; i++) {
		const struct exec *x = shelf_at(&r->execs, i);
		const uint32_t ids[] = {x->room, x->rid};
		struct moment *m = window_of(r, ids, 2);
		if (m)
			res = anchor(r, &r->sources[x->ref.source], m, x->first, 0, x->ref, err);
		if (!res)
			res = resolve_tick(r, err);
	}
	return res;
}

/* --- what they say together --- */

/* Runs of few anchors are strays; neighbours that differ by less than any clock is set are one that drifts. */
static void runs_settle(struct skew_runs *s, bool *ret_drifts)
{
	uint32_t n = 0;
	int64_t wide = 0;
	strays_add(s);
	for (uint32_t i = 0; i < s->n; i++) {
		struct skew_run x = s->at[i], *last = n ? &s->at[n - 1] : NULL;
		if (x.n < AGREE) {
			s->strays += x.n;
			s->stray = x.ref;
		} else if (last && x.lo - last->hi < STEP_NS && last->lo - x.hi < STEP_NS) {
			int64_t apart = MAX(MAX(x.lo - last->hi, last->lo - x.hi), 0);
			wide = MAX(wide, apart);
			last->lo = MIN(last->lo, x.lo);
			last->hi = MAX(last->hi, x.hi);
			last->n += x.n;
			last->last_ns = x.last_ns;
			*ret_drifts = true;
		} else {
			s->at[n++] = x;
		}
	}
	s->n = n;
	/* inside a run it had moved by as much before anybody could notice */
	for (uint32_t i = 0; i < n && *ret_drifts; i++) {
		s->at[i].lo -= wide;
		s->at[i].hi += wide;
	}
}

/* No more digits than anybody knows. */
static int64_t rounded(int64_t ns)
{
	const int64_t unit = NS_PER_S / 10;
	return (ns + (ns < 0 ? -unit : unit) / 2) / unit * unit;
}

static struct clock_piece piece_of(const struct skew_run *x)
{
	struct clock_piece p = {
	    .from_ns = x->from_ns, .proved_ns = x->from_ns, .last_ns = x->last_ns, .anchors = x->n, .ref = x->ref};
	if (x->lo <= FINE_NS && x->hi >= -FINE_NS) {
		p.bound_ns = x->lo <= -FAR_NS || x->hi >= FAR_NS ? UNKNOWN : MAX(MAX(-x->lo, x->hi), FINE_NS);
	} else if (x->lo <= -FAR_NS || x->hi >= FAR_NS) {
		p.offset_ns = x->lo <= -FAR_NS ? x->hi : x->lo;
		p.bound_ns = UNKNOWN;
	} else {
		p.offset_ns = rounded((x->lo + x->hi) / 2);
		p.bound_ns = MAX((x->hi - x->lo) / 2, FINE_NS);
	}
	return p;
}

/* Both show one clock, when x is read by a zone that is `more` farther east. */
static bool one_clock(const struct skew_run *a, const struct skew_run *x, int64_t more)
{
	return a && overlap(a, x->lo - more - FINE_NS, x->hi - more + FINE_NS);
}

static void run_remove(struct skew_runs *s, uint32_t i)
{
	memmove(&s->at[i], &s->at[i + 1], (s->n - i - 1) * sizeof(*s->at));
	s->n--;
}

/* Where no stamp says where a zone changed, a silence was taken for it (run_begin()), and the change may have been elsewhere. Then
 * a run of requests behind it is off by just what the zones differ by: it went by the old one still. Or one before it did by the new
 * one already. Nobody set a clock: the change lies at the other end of that run. */
static void zones_move(struct clock_pieces *zones, struct skew_runs *runs)
{
	for (uint32_t z = 1; zones && z < zones->n; z++) {
		struct clock_piece *old = &zones->at[z - 1], *new = &zones->at[z];
		uint64_t end = z + 1 < zones->n ? zones->at[z + 1].from_off : UINT64_MAX;
		int64_t step = new->offset_ns - old->offset_ns;
		for (uint32_t i = 0; i < runs->n; i++) {
			struct skew_run *x = &runs->at[i], *before = i ? x - 1 : NULL;
			struct skew_run *behind = i + 1 < runs->n ? x + 1 : NULL;
			if (x->ref.off >= new->from_off && (!before || before->ref.off < new->from_off) &&
			    one_clock(behind, x, -step) && behind->ref.off < end) {
				old->last_ns = x->last_ns + new->offset_ns;
				new->from_off = behind->ref.off;
				new->from_ns = new->proved_ns = behind->from_ns + new->offset_ns;
				new->ref = behind->ref;
			} else if (x->ref.off > old->from_off && x->ref.off < new->from_off &&
				   (!behind || behind->ref.off >= new->from_off) && one_clock(before, x, step)) {
				new->from_off = x->ref.off;
				new->from_ns = new->proved_ns = x->from_ns + old->offset_ns;
				new->ref = x->ref;
			} else {
				continue;
			}
			run_remove(runs, i);
			break;
		}
	}
}

int skew_decide(struct resolve *r, struct source_info *s, const char *against, struct err *err)
{
	struct skew_runs *runs = s->skew_runs;
	bool drifts = false, off = false;
	if (!runs)
		return 0;
	runs_settle(runs, &drifts);
	if (!runs->n)
		return 0;
	zones_move(s->zones, runs);
	s->contradicts = runs->full || (uint64_t)runs->strays * 10 > runs->all;
	if (s->contradicts || (runs->strays >= AGREE && (uint64_t)runs->strays * 50 > runs->all)) {
		int res = clock_conflict(
		    r, s, runs->stray,
		    arena_printf(
			&r->arena,
			"%u of %u times of requests in this source contradict what %s say of the same requests%s",
			runs->strays, runs->all, against,
			s->contradicts ? ": no one offset fits, so its clock was not corrected, and its times may be "
					 "wrong by an unknown amount"
				       : ": the others agree, and its times were taken by them"),
		    err);
		if (res || s->contradicts)
			return res;
	}
	struct clock_pieces *p = arena_array(&r->arena, 1, sizeof(*p));
	if (!p)
		return err_nomem(err);
	int res = 0;
	uint32_t n = 0;
	for (uint32_t i = 0; i < runs->n && !res; i++) {
		struct clock_piece x = piece_of(&runs->at[i]);
		x.from_off = n ? x.ref.off : 0;
		off |= x.offset_ns != 0;
		if (n && x.offset_ns == p->at[n - 1].offset_ns)
			continue; /* the same, as well as one knows */
		p->at[n++] = x;
		if (n > 1)
			res = clock_step(r, s, &p->at[n - 2], &p->at[n - 1], "the clock was set", err);
	}
	p->n = n;
	p->drifts = drifts;
	if (res || p->at[0].bound_ns == UNKNOWN || (!off && p->at[0].bound_ns > 60 * NS_PER_S))
		return res; /* says too little to be said */
	s->skews = p;
	s->skew_basis = arena_printf(&r->arena, "clock against %s from %u times of the same requests%s", against,
				     runs->all, drifts ? ", it drifts" : "");
	return s->skew_basis.ptr ? 0 : err_nomem(err);
}

/* Files of one host have one clock: what has no anchors takes over what all others agree on. */
static int skew_inherit(struct resolve *r, struct err *err)
{
	for (uint32_t i = 0; i < r->n_sources; i++) {
		struct source_info *s = &r->sources[i];
		const struct source_info *from = NULL;
		bool agree = true;
		if (s->skews || s->compared || s->worker_at == NO_INDEX || !(s->naive || s->kinds & 1u << EVENT_PAGE))
			continue;
		for (uint32_t k = 0; k < r->n_sources; k++) {
			const struct source_info *o = &r->sources[k];
			if (k == i || o->worker_at != s->worker_at || !o->skews || o->skew_basis.ptr == NULL)
				continue;
			agree &= o->skews->n == 1;
			int64_t d = from ? from->skews->at[0].offset_ns - o->skews->at[0].offset_ns : 0;
			agree &= d <= STEP_NS && d >= -STEP_NS;
			from = from ? from : o;
		}
		if (!from || !agree || !from->skews->at[0].offset_ns || text_starts(from->skew_basis, "clock as"))
			continue;
		s->skews = from->skews;
		s->skew_basis = arena_printf(&r->arena, "clock as in other sources of worker %.*s",
					     TEXT_ARG(text_sub(s->worker, 0, 100)));
		if (!s->skew_basis.ptr)
			return err_nomem(err);
	}
	return 0;
}

static int64_t minus(int64_t t, int64_t off)
{
	return t == UNKNOWN ? UNKNOWN : t - off;
}

/* Page logs were read before anything was known of their clocks. */
static void correct_pages(struct resolve *r)
{
	for (uint32_t i = 0; i < r->execs.n; i++) {
		struct exec *x = shelf_at(&r->execs, i);
		int64_t off = clock_off(&r->sources[x->ref.source], x->ref.off, false);
		x->first = minus(x->first, off);
		x->last = minus(x->last, off);
	}
	for (uint32_t i = 0; i < r->spans.n; i++) {
		struct span *x = shelf_at(&r->spans, i);
		x->at_from = minus(x->at_from, clock_off(&r->sources[x->first.source], x->first.off, false));
		x->at_to = minus(x->at_to, clock_off(&r->sources[x->last.source], x->last.off, false));
	}
	for (uint32_t i = 0; i < r->boot_events.n; i++) {
		struct boot_event *x = shelf_at(&r->boot_events, i);
		x->at = minus(x->at, clock_off(&r->sources[x->ref.source], x->ref.off, false));
	}
}

int clock_skew(struct resolve *r, struct err *err)
{
	struct clock_pass pass;
	shelf_init(&pass.moments, &r->scratch, sizeof(struct moment));
	r->clock_pass = &pass;
	int res = load_each(r, EVENT_GATEWAY,
			    1u << GATEWAY_WHAT | 1u << GATEWAY_ID | 1u << GATEWAY_ROOM | 1u << GATEWAY_RESPONSE_ID |
				1u << GATEWAY_STATUS | 1u << GATEWAY_CLIENT_GONE | 1u << GATEWAY_STARTED |
				1u << GATEWAY_FINISHED,
			    window_learn, err);
	bool any = pass.moments.n != 0;
	if (!res && any)
		res = load_each(r, EVENT_LEG, 1u << LEG_RID | 1u << LEG_ROOM | 1u << LEG_STARTED | 1u << LEG_FINISHED,
				leg_anchor, err);
	if (!res && any)
		res = load_each(r, EVENT_GATEWAY, 1u << GATEWAY_ID | 1u << GATEWAY_ROOM | 1u << GATEWAY_RESPONSE_ID,
				router_anchor, err);
	if (!res && any)
		res = exec_anchors(r, err);
	for (uint32_t i = 0; i < r->n_sources && !res && any; i++)
		res = skew_decide(r, &r->sources[i], "gateways", err);
	if (!res)
		res = clock_peers(r, err);
	if (!res)
		res = skew_inherit(r, err);
	if (!res)
		correct_pages(r);
	shelf_done(&pass.moments);
	r->clock_pass = NULL;
	return res;
}
