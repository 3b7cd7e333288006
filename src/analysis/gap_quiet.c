/* SPDX-License-Identifier: Apache-2.0 */
/* gap_quiet.c - logs that say nothing for a while although they should, and files of a rotation that are not there
 *
 * Time is counted in requests of the whole fleet: at night there are few, and in a burst many, for everybody. What is asked
 * of each log of a worker, all its files together, is the longest stretch of requests of which it has none. A worker that
 * takes its share of the traffic has stretches of all lengths up to some limit; one that is several times as long as all but
 * two others, and in which a good number of its own were to be expected, is a hole. A worker whose own stretches are of all
 * orders (it is idle for hours as it is) has no such limit, and nothing is said. A case with one log alone has nothing to
 * count by, and nothing is said either.
 */
#include "pagetrail/rotation.h"
#include "resolve.h"

#include <stdlib.h>

enum {
	TOPS = 10,
	KNOWN = 60,    /* requests of a log before anything is said about its habits */
	HOLES = 2,     /* stretches that are no part of the habit */
	TIMES = 3,     /* as long as the longest of the habit */
	HEAVY = 4,     /* the longest of the habit, compared with the tenth: more, and there is no habit */
	EXPECTED = 20, /* of its own that a hole lacks at least */
};
#define DOWN_NS  (1200 * NS_PER_S) /* between the last answer and the stop, or the start and the first request */
#define TOUCH_NS (60 * NS_PER_S)   /* files whose records are nearer belong together, whatever their names say */

struct stretch { /* ranks of the requests at its two ends */
	uint32_t from, to;
};

struct group {            /* the files of one kind of log of one worker */
	uint32_t source;  /* the first of them */
	uint32_t n, last; /* requests; rank of the newest + 1 */
	struct stretch top[TOPS];
	unsigned n_top;
	int role;
};

struct quiet {
	struct resolve *r;
	struct group *groups;
	uint32_t n_groups, *group_of;  /* by source */
	struct ref_node *first, *last; /* by source: its records by requests */
};

static bool is_request_log(const struct source_info *s)
{
	return s->kinds & (1u << EVENT_LEG | 1u << EVENT_GATEWAY);
}

static int quiet_open(struct quiet *q, struct err *err)
{
	struct resolve *r = q->r;
	size_t n = (size_t)r->n_sources + 1;
	q->groups = arena_array(&r->arena, n, sizeof(*q->groups));
	q->group_of = arena_array(&r->arena, n, sizeof(*q->group_of));
	q->first = arena_array(&r->arena, n, sizeof(*q->first));
	q->last = arena_array(&r->arena, n, sizeof(*q->last));
	if (!q->groups || !q->group_of || !q->first || !q->last)
		return err_nomem(err);
	for (uint32_t i = 0; i < r->n_sources; i++) {
		const struct source_info *s = &r->sources[i];
		q->group_of[i] = NO_INDEX;
		for (uint32_t g = 0; g < q->n_groups && q->group_of[i] == NO_INDEX && is_request_log(s); g++) {
			const struct source_info *o = &r->sources[q->groups[g].source];
			if (o->worker_at == s->worker_at && text_eq(o->worker, s->worker) &&
			    text_eq(o->format, s->format))
				q->group_of[i] = g;
		}
		if (q->group_of[i] == NO_INDEX && is_request_log(s)) {
			q->group_of[i] = q->n_groups;
			q->groups[q->n_groups++] = (struct group){.source = i};
		}
	}
	return 0;
}

static uint32_t length(const struct stretch *s)
{
	return s->to - s->from - 1;
}

static void group_seen(struct group *g, uint32_t rank)
{
	if (g->last == rank + 1)
		return;
	struct stretch s = {g->last - 1, rank};
	if (g->n && length(&s) && (g->n_top < TOPS || length(&s) > length(&g->top[TOPS - 1]))) {
		unsigned i = g->n_top < TOPS ? g->n_top++ : TOPS - 1;
		for (; i && length(&s) > length(&g->top[i - 1]); i--)
			g->top[i] = g->top[i - 1];
		g->top[i] = s;
	}
	g->n++;
	g->last = rank + 1;
}

static void refs_seen(struct quiet *q, const struct refs *refs, uint32_t rank, int role)
{
	for (uint32_t i = refs->head; i;) {
		const struct ref_node *n = shelf_at(&q->r->refs, i - 1);
		uint32_t g = q->group_of[n->source];
		i = n->next;
		if (g == NO_INDEX)
			continue;
		group_seen(&q->groups[g], rank);
		q->groups[g].role = MAX(q->groups[g].role, role);
		if (!q->first[n->source].len || n->off < q->first[n->source].off)
			q->first[n->source] = *n;
		if (!q->last[n->source].len || n->off > q->last[n->source].off)
			q->last[n->source] = *n;
	}
}

static struct request *ranked(const struct resolve *r, uint32_t rank)
{
	return shelf_at(&r->requests, r->request_order[rank]);
}

static int quiet_walk(struct quiet *q, struct err *err)
{
	struct resolve *r = q->r;
	int res = 0;
	for (uint32_t k = 0; k < r->requests.n && !res; k++) {
		const struct request *x = ranked(r, k);
		for (uint32_t i = 0; i < x->n_legs && x->first != UNKNOWN; i++) {
			const struct leg *l = leg_at(r, r->leg_order[x->legs_from + i]);
			refs_seen(q, &l->refs, k, l->role);
		}
		for (uint32_t i = 0; i < x->n_lives && x->first != UNKNOWN; i++)
			refs_seen(q, &life_at(r, r->life_order[x->lives_from + i])->refs, k, 0);
		res = resolve_tick(r, err);
	}
	return res;
}

/* --- one hole --- */

/* What a group has of a request: its time there, and its newest (or first) record. */
static int64_t edge(const struct quiet *q, uint32_t group, uint32_t rank, bool end, struct ref_node *ref)
{
	const struct resolve *r = q->r;
	const struct request *x = ranked(r, rank);
	int64_t at = UNKNOWN;
	for (uint32_t i = 0; i < x->n_legs + x->n_lives; i++) {
		bool leg = i < x->n_legs;
		const struct leg *l = leg ? leg_at(r, r->leg_order[x->legs_from + i]) : NULL;
		const struct life *f = leg ? NULL : life_at(r, r->life_order[x->lives_from + i - x->n_legs]);
		bool here = false;
		for (uint32_t k = leg ? l->refs.head : f->refs.head; k;) {
			const struct ref_node *n = shelf_at(&r->refs, k - 1);
			k = n->next;
			if (q->group_of[n->source] != group)
				continue;
			if (!here || (end ? n->off > ref->off : n->off < ref->off))
				*ref = *n;
			here = true;
		}
		if (here)
			at = end ? later(at, leg ? l->hi : f->hi) : earlier(at, leg ? l->lo : f->lo);
	}
	return at;
}

/* Responses of this time that no leg of this role is known of: what the hole may have held. */
static uint32_t left_open(const struct resolve *r, int role, int64_t from, int64_t to)
{
	uint32_t n = 0, lo = 0, hi = r->requests.n;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (ranked(r, mid)->first < from)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < r->requests.n && ranked(r, lo)->first <= to; lo++) {
		const struct request *x = ranked(r, lo);
		unsigned roles = 0;
		for (uint32_t i = 0; i < x->n_legs; i++)
			roles |= 1u << leg_at(r, r->leg_order[x->legs_from + i])->role;
		bool whole = roles & 1u << ROLE_UNIFIED || (role ? roles & 1u << role : x->n_lives != 0);
		n += !whole && (role != ROLE_UNIFIED || !roles);
	}
	return n;
}

/* It stopped, as its log says, and was started again. */
static bool was_down(const struct resolve *r, uint32_t worker, int64_t from, int64_t to)
{
	const struct worker *w = worker == NO_INDEX ? NULL : worker_at(r, worker);
	for (uint32_t i = 0; w && i + 1 < w->n_boots; i++) {
		const struct boot *b = boot_at(r, w->boots_from + i), *next = boot_at(r, w->boots_from + i + 1);
		if (b->stop_at != UNKNOWN && b->stop_at >= from && b->stop_at <= from + DOWN_NS && next->log_source &&
		    next->started_ns != UNKNOWN && next->started_ns <= to && next->started_ns >= to - DOWN_NS)
			return true;
	}
	return false;
}

static struct text span_text(struct resolve *r, int64_t ns)
{
	int64_t min = ns / (60 * NS_PER_S);
	return min < 60 ? arena_printf(&r->arena, "%lld min", (long long)min)
			: arena_printf(&r->arena, "%lld h %lld min", (long long)(min / 60), (long long)(min % 60));
}

static struct text open_text(struct resolve *r, int role, uint32_t n)
{
	if (!n)
		return role ? arena_printf(&r->arena, "responses of this time have their %s leg in another log",
					   role_name((enum role)role))
			    : TEXT("requests of this time are in another gateway's log");
	if (!role)
		return arena_printf(&r->arena, "%u response%s of this time %s in no gateway's log", n, PLURAL(n),
				    n == 1 ? "is" : "are");
	return arena_printf(&r->arena,
			    "%u response%s of this time %s no %s leg in any log and cannot be excluded by it", n,
			    PLURAL(n), n == 1 ? "has" : "have", role_name((enum role)role));
}

struct text gap_open(struct resolve *r, uint32_t source, int64_t from, int64_t to)
{
	const struct source_info *s = &r->sources[source];
	bool legs = s->kinds & (1u << EVENT_LEG | 1u << EVENT_LOAD | 1u << EVENT_BOOT);
	int role = legs && s->worker_at != NO_INDEX ? worker_at(r, s->worker_at)->role : 0;
	if (from == UNKNOWN || to == UNKNOWN || (legs ? !role : !(s->kinds & 1u << EVENT_GATEWAY)))
		return TEXT("");
	return open_text(r, role, left_open(r, role, from, to));
}

static int gap_quiet(struct quiet *q, uint32_t group, const struct stretch *s, double share, struct err *err)
{
	struct resolve *r = q->r;
	const struct group *g = &q->groups[group];
	const struct source_info *src = &r->sources[g->source];
	struct ref_node before, after;
	struct gap gap = {.kind = "quiet", .worker = src->worker_at, .missing = UNKNOWN};
	gap.from = edge(q, group, s->from, true, &before);
	gap.to = edge(q, group, s->to, false, &after);
	if (gap.from == UNKNOWN || gap.to <= gap.from || was_down(r, src->worker_at, gap.from, gap.to))
		return 0;
	gap.source = after.source;
	struct text span = span_text(r, gap.to - gap.from),
		    open = open_text(r, g->role, left_open(r, g->role, gap.from, gap.to));
	if (!span.ptr || !open.ptr)
		return err_nomem(err);
	gap.effect = arena_printf(&r->arena,
				  "%.*s of %.*s says nothing of any request for %.*s, in which the others served %u; "
				  "about %.0f of these were to "
				  "be expected here: records are lost, or it was out of use. %.*s",
				  TEXT_ARG(text_sub(src->format, 0, 60)), TEXT_ARG(text_sub(src->worker, 0, 100)),
				  TEXT_ARG(span), length(s), share * length(s), TEXT_ARG(open));
	int res = refs_add(r, &gap.refs, before, err);
	if (!res)
		res = refs_add(r, &gap.refs, after, err);
	return res ? res : gap_add(r, &gap, err);
}

static bool told(const struct resolve *r, uint32_t worker, int64_t from, int64_t to)
{
	for (uint32_t i = 0; i < r->gaps.n; i++) {
		const struct gap *g = shelf_at(&r->gaps, i);
		if (text_is(text_of(g->kind), "rotation") && g->worker == worker && g->from <= to && g->to >= from)
			return true;
	}
	return false;
}

static int group_judge(struct quiet *q, uint32_t at, struct err *err)
{
	struct group *g = &q->groups[at];
	int res = 0;
	if (g->n < KNOWN || g->n_top < TOPS)
		return 0;
	uint32_t habit = length(&g->top[HOLES]), span = g->last, first = 0;
	for (unsigned i = 0; i < HOLES; i++)
		first += length(&g->top[i]);
	double share = (double)g->n / (double)MAX(span > first ? span - first : 1, g->n);
	if (habit > HEAVY * MAX(length(&g->top[TOPS - 1]), 1))
		return 0;
	for (unsigned i = 0; i < HOLES && !res; i++) {
		const struct stretch *s = &g->top[i];
		struct ref_node ref;
		if (length(s) < TIMES * habit || share * length(s) < EXPECTED)
			break;
		if (!told(q->r, q->r->sources[g->source].worker_at, edge(q, at, s->from, true, &ref),
			  edge(q, at, s->to, false, &ref)))
			res = gap_quiet(q, at, s, share, err);
	}
	return res;
}

/* --- rotations --- */

struct part { /* a file by its name */
	struct rotation name;
	uint32_t source;
	int64_t from, to; /* UNKNOWN: it speaks of no request, or has no times; it is there all the same */
};

static struct part part_of(const struct source_info *s, uint32_t source)
{
	struct part p = {rotation_of(s->path), source, s->seen_from, s->seen_to};
	if (!is_request_log(s))
		p.from = p.to = UNKNOWN;
	else if (p.from == UNKNOWN || p.to == UNKNOWN) /* a gateway's */
		clock_span(s, &p.from, &p.to);
	return p;
}

static bool has_times(const struct part *p)
{
	return p->from != UNKNOWN && p->to != UNKNOWN;
}

static int part_cmp(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	int c = text_cmp(x->name.stem, y->name.stem);
	if (!c)
		c = text_cmp(x->name.tail, y->name.tail);
	if (c)
		return c;
	if (x->name.dated != y->name.dated)
		return x->name.dated ? -1 : 1;
	/* oldest first: dates rise, numbers fall to the file that is written now */
	int64_t i = x->name.dated ? x->name.index : -x->name.index, k = y->name.dated ? y->name.index : -y->name.index;
	return i != k ? (i < k ? -1 : 1) : x->source < y->source ? -1 : x->source > y->source;
}

static int gap_rotation(struct quiet *q, const struct part *older, const struct part *newer, int64_t missing,
			struct err *err)
{
	struct resolve *r = q->r;
	const struct source_info *a = &r->sources[older->source], *b = &r->sources[newer->source];
	uint32_t group = q->group_of[newer->source];
	struct gap gap = {.kind = "rotation",
			  .source = newer->source,
			  .worker = b->worker_at,
			  .from = older->to,
			  .to = newer->from,
			  .missing = missing};
	if (gap.to - gap.from < TOUCH_NS)
		return 0;
	int role = q->groups[group].role;
	struct text open = open_text(r, role, left_open(r, role, gap.from, gap.to)),
		    span = span_text(r, gap.to - gap.from);
	if (!open.ptr || !span.ptr)
		return err_nomem(err);
	gap.effect =
	    arena_printf(&r->arena,
			 "between %.*s and %.*s the names leave %lld file%s out, and what these two say of requests "
			 "lies %.*s apart: what the missing file%s held is not in the case. %.*s",
			 TEXT_ARG(text_sub(a->path, 0, 200)), TEXT_ARG(text_sub(b->path, 0, 200)), (long long)missing,
			 PLURAL(missing), TEXT_ARG(span), PLURAL(missing), TEXT_ARG(open));
	const struct ref_node *refs[] = {&q->last[older->source], &q->first[newer->source]};
	int res = 0;
	for (int i = 0; i < 2 && !res; i++)
		if (refs[i]->len)
			res = refs_add(r, &gap.refs, *refs[i], err);
	return res ? res : gap_add(r, &gap, err);
}

/* How far apart the dates of most files are; 0: they follow no rule. */
static int64_t date_step(const struct part *p, uint32_t n)
{
	int64_t step = INT64_MAX;
	uint32_t kept = 0;
	for (uint32_t i = 1; i < n; i++)
		if (p[i].name.index > p[i - 1].name.index)
			step = MIN(step, p[i].name.index - p[i - 1].name.index);
	for (uint32_t i = 1; i < n; i++)
		kept += p[i].name.index - p[i - 1].name.index == step;
	return kept >= 3 && kept * 2 >= n - 1 ? step : 0;
}

/* Files that the names leave out between two that follow each other. */
static int64_t left_out(const struct rotation *a, const struct rotation *b, int64_t step)
{
	int64_t n = 0;
	if (a->dated && b->dated && step)
		n = (b->index - a->index) / step - 1;
	else if (!a->dated && !b->dated)
		n = a->index - b->index - 1;
	return MAX(n, 0);
}

/* Files of several processes are no rotation. */
static bool side_by_side(const struct part *p, uint32_t n)
{
	const struct part *older = NULL;
	for (uint32_t i = 0; i < n; i++) {
		if (!has_times(&p[i]))
			continue;
		if (older && older->to > p[i].from + SKEW_NS && p[i].name.numbered)
			return true;
		older = &p[i];
	}
	return false;
}

/* The files of one log, oldest first. */
static int rotation_judge(struct quiet *q, const struct part *p, uint32_t n, struct err *err)
{
	const struct part *older = NULL;
	uint32_t dated = 0;
	int64_t missing = 0;
	int res = 0;
	while (dated < n && p[dated].name.dated)
		dated++;
	int64_t step = date_step(p, dated);
	bool mixed = side_by_side(p, n);
	for (uint32_t i = 0; i < n && !res && !mixed; i++) {
		missing += i ? left_out(&p[i - 1].name, &p[i].name, step) : 0;
		if (!has_times(&p[i]))
			continue;
		if (older && missing)
			res = gap_rotation(q, older, &p[i], missing, err);
		older = &p[i];
		missing = 0;
	}
	return res;
}

static int rotations(struct quiet *q, struct err *err)
{
	struct resolve *r = q->r;
	struct part *p = arena_array(&r->arena, (size_t)r->n_sources + 1, sizeof(*p));
	uint32_t n = r->n_sources;
	int res = 0;
	if (!p)
		return err_nomem(err);
	for (uint32_t i = 0; i < n; i++)
		p[i] = part_of(&r->sources[i], i);
	qsort(p, n, sizeof(*p), part_cmp);
	for (uint32_t i = 0, k; i < n && !res; i = k) {
		for (k = i + 1;
		     k < n && text_eq(p[k].name.stem, p[i].name.stem) && text_eq(p[k].name.tail, p[i].name.tail);)
			k++;
		res = rotation_judge(q, p + i, k - i, err);
	}
	return res;
}

int gap_silences(struct resolve *r, struct err *err)
{
	struct quiet q = {.r = r};
	int res = quiet_open(&q, err);
	if (!res)
		res = quiet_walk(&q, err);
	if (!res)
		res = rotations(&q, err);
	for (uint32_t i = 0; i < q.n_groups && !res; i++)
		res = group_judge(&q, i, err);
	return res;
}
