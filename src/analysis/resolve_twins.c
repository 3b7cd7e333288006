/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_twins.c - two logs under one name that are logs of two servers
 *
 * Two fleets call their workers alike, and both lie in one case, each in its own folder. What gives it away: one log shows a
 * start, and another of the same kind goes on over it with requests of its own, without a start. Or both start at about the
 * same time, and from then on serve side by side what the other does not know. Files that follow each other do not overlap but
 * for a few lines, copies have the same requests, and a clock that was set back, or a zone that changed, moves all that
 * follows: so the other log has to go on for longer than that, or to the end of the first. Whose boot a request met is then as
 * unknown as in one log of several servers (resolve_mixed.c).
 */
#include "pagetrail/rotation.h"
#include "resolve.h"

#include <stdlib.h>

#define STARTING_NS (600 * NS_PER_S) /* a start's lines; and how far clocks of two logs of one start may be apart */
#define ZONES_NS    (14 * 3600 * NS_PER_S) /* as far as a zone of stamps that nothing proves may be wrong */
enum {
	OF_ITS_OWN = 3,  /* requests behind the start that the other log does not know */
	SHARED_PART = 8, /* of them so many may be the other's too: ids that clients chose */
	NEARLY_END = 8,  /* a part of a log that does not count as its end */
};

struct log { /* all files of a rotation; those of one log have the number of the first one in `logs` */
	struct rotation name;
	struct text format;
	uint32_t source, worker;
	int64_t seen_from, seen_to;
	enum role role;
	bool requests, zone_is_sure;
	bool tells; /* when they come, or how they end */
};

struct start { /* the lines of one start in one log */
	uint32_t base, log;
	int64_t at, last;
	enum role role;
	struct ref_node ref;
};

struct twin { /* a start in one log, and another log over it */
	uint32_t base, log;
	uint32_t n, shared; /* requests behind the start: of this log alone, of both */
	struct start start;
	int64_t from, to;       /* starts of its own round it */
	int64_t next, last;     /* its first and last request behind the start, in between */
	struct ref_node ref;    /* that first one */
	bool before, own_start; /* before: it was there before the start */
	bool near;              /* it starts there too */
};

struct twins {
	struct log *logs;
	uint32_t n_logs, *log_of; /* by source */
	struct start *starts;     /* by worker, log, time */
	uint32_t n_starts;
	struct twin *at; /* by log */
	uint32_t n;
};

static uint32_t base_of(const struct resolve *r, uint32_t worker)
{
	return worker_at(r, worker)->base;
}

static int log_cmp(const void *a, const void *b)
{
	const struct log *x = a, *y = b;
	int c = text_cmp(x->name.stem, y->name.stem);
	if (!c)
		c = text_cmp(x->name.tail, y->name.tail);
	if (!c)
		c = text_cmp(x->format, y->format);
	if (!c && x->worker != y->worker)
		c = x->worker < y->worker ? -1 : 1;
	return c;
}

static int log_source_cmp(const void *a, const void *b)
{
	const struct log *x = a, *y = b;
	int c = log_cmp(a, b);
	return c ? c : x->source < y->source ? -1 : x->source > y->source;
}

static struct log log_of_source(const struct resolve *r, uint32_t source)
{
	const struct source_info *s = &r->sources[source];
	return (struct log){
	    .name = rotation_of(s->path),
	    .format = inner_format(s),
	    .source = source,
	    .worker = s->worker_at == NO_INDEX ? NO_INDEX : base_of(r, s->worker_at),
	    .seen_from = s->seen_from,
	    .seen_to = s->seen_to,
	    .role = s->role,
	    .requests = (s->kinds & 1u << EVENT_LEG) != 0,
	    .zone_is_sure = (!s->naive || s->fitted || s->given) && !s->contradicts,
	};
}

static int logs_find(struct resolve *r, struct twins *t, struct err *err)
{
	t->logs = arena_array(&r->arena, (size_t)r->n_sources + 1, sizeof(*t->logs));
	t->log_of = arena_array(&r->arena, (size_t)r->n_sources + 1, sizeof(*t->log_of));
	if (!t->logs || !t->log_of)
		return err_nomem(err);
	for (uint32_t i = 0; i < r->n_sources; i++)
		t->logs[i] = log_of_source(r, i);
	qsort(t->logs, r->n_sources, sizeof(*t->logs), log_source_cmp);
	for (uint32_t i = 0; i < r->n_sources; i++) {
		const struct log own = t->logs[i], *x = &own;
		struct log *last = t->n_logs ? &t->logs[t->n_logs - 1] : NULL;
		if (last && !log_cmp(last, x)) {
			last->seen_from = earlier(last->seen_from, x->seen_from);
			last->seen_to = later(last->seen_to, x->seen_to);
			last->role = last->role ? last->role : x->role;
			last->requests |= x->requests;
			last->zone_is_sure &= x->zone_is_sure;
		} else {
			t->logs[t->n_logs++] = *x;
		}
		t->log_of[x->source] = t->n_logs - 1;
	}
	return 0;
}

static int start_cmp(const void *a, const void *b)
{
	const struct start *x = a, *y = b;
	if (x->base != y->base)
		return x->base < y->base ? -1 : 1;
	if (x->log != y->log)
		return x->log < y->log ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static int twin_cmp(const void *a, const void *b)
{
	const struct twin *x = a, *y = b;
	if (x->log != y->log)
		return x->log < y->log ? -1 : 1;
	return start_cmp(&x->start, &y->start);
}

static int starts_find(struct resolve *r, struct twins *t, struct err *err)
{
	t->starts = arena_array(&r->arena, (size_t)r->boot_events.n + 1, sizeof(*t->starts));
	if (!t->starts)
		return err_nomem(err);
	uint32_t n = 0;
	for (uint32_t i = 0; i < r->boot_events.n; i++) {
		const struct boot_event *e = shelf_at(&r->boot_events, i);
		if (e->what <= WHAT_POOL && e->at != UNKNOWN && !e->vague)
			t->starts[n++] = (struct start){
			    base_of(r, e->worker), t->log_of[e->ref.source], e->at, e->at, e->role, e->ref};
	}
	qsort(t->starts, n, sizeof(*t->starts), start_cmp);
	for (uint32_t i = 0; i < n; i++) {
		struct start *s = &t->starts[i], *last = t->n_starts ? &t->starts[t->n_starts - 1] : NULL;
		if (last && last->base == s->base && last->log == s->log && s->at <= last->last + STARTING_NS) {
			last->last = s->at;
			last->role = last->role ? last->role : s->role;
		} else {
			t->starts[t->n_starts++] = *s;
		}
	}
	return 0;
}

/* The first start of a worker in a log, or where it would stand. */
static const struct start *starts_of(const struct twins *t, uint32_t base, uint32_t log)
{
	const struct start key = {.base = base, .log = log, .at = INT64_MIN};
	uint32_t lo = 0, hi = t->n_starts;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (start_cmp(&t->starts[mid], &key) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return t->starts + lo;
}

/* Another log over a start: true when it may be another server's, by its own starts. */
static bool twin_of(const struct twins *t, const struct start *s, uint32_t log, struct twin *ret)
{
	const struct log *a = &t->logs[log], *b = &t->logs[s->log];
	bool here = a->worker == s->base;
	enum role role = a->role;
	if (log == s->log || !a->requests || a->seen_from == UNKNOWN || a->seen_from > s->last + STARTING_NS ||
	    a->seen_to < s->at + STARTING_NS || !text_eq(a->format, b->format))
		return false;
	*ret = (struct twin){.base = s->base, .log = log, .start = *s, .from = INT64_MIN, .to = INT64_MAX};
	ret->next = ret->last = UNKNOWN;
	for (const struct start *o = starts_of(t, s->base, log); o < t->starts + t->n_starts; o++) {
		if (o->base != s->base || o->log != log)
			break;
		here = ret->own_start = true;
		role = role ? role : o->role;
		bool near = o->at <= s->last + STARTING_NS && o->last >= s->at - STARTING_NS;
		ret->near |= near;
		if (near || o->at < s->at)
			ret->from = MAX(ret->from, o->at);
		else
			ret->to = MIN(ret->to, o->at);
	}
	bool strangers = role && s->role && role != s->role; /* told apart by what they do (boot.c) */
	ret->before = ret->from != INT64_MIN && !ret->near;
	return here && !strangers;
}

static int twins_find(struct resolve *r, struct twins *t, struct err *err)
{
	struct twin x;
	uint32_t n = 0;
	for (uint32_t i = 0; i < t->n_starts; i++)
		for (uint32_t k = 0; k < t->n_logs; k++)
			n += twin_of(t, &t->starts[i], k, &x);
	t->at = arena_array(&r->arena, (size_t)n + 1, sizeof(*t->at));
	if (!t->at)
		return err_nomem(err);
	for (uint32_t i = 0; i < t->n_starts && t->n < n; i++)
		for (uint32_t k = 0; k < t->n_logs && t->n < n; k++)
			t->n += twin_of(t, &t->starts[i], k, &t->at[t->n]);
	qsort(t->at, t->n, sizeof(*t->at), twin_cmp);
	return 0;
}

static void twin_seen(struct twin *x, int64_t at, struct ref_node ref, bool shared)
{
	if (at == UNKNOWN || at < x->from || at >= x->to)
		return;
	x->before |= at < x->start.at - STARTING_NS && !shared;
	if (at <= x->start.last + SKEW_NS)
		return;
	x->shared += shared;
	if (shared)
		return;
	x->n++;
	if (earlier(x->next, at) != x->next)
		x->ref = ref;
	x->next = earlier(x->next, at);
	x->last = later(x->last, at);
}

static struct twin *twins_of(const struct twins *t, uint32_t log)
{
	uint32_t lo = 0, hi = t->n;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (t->at[mid].log < log)
			lo = mid + 1;
		else
			hi = mid;
	}
	return t->at + lo;
}

/* The logs that tell of a leg, with a record of each. */
static unsigned logs_of(const struct resolve *r, const struct twins *t, const struct leg *l, uint32_t logs[REFS_MAX],
			struct ref_node refs[REFS_MAX])
{
	unsigned n = 0, k;
	for (uint32_t i = l->refs.head; i && n < REFS_MAX;) {
		const struct ref_node *ref = shelf_at(&r->refs, i - 1);
		uint32_t log = t->log_of[ref->source];
		for (k = 0; k < n && logs[k] != log;)
			k++;
		logs[k] = log;
		refs[k] = *ref;
		n += k == n;
		i = ref->next;
	}
	return n;
}

static void leg_seen(const struct resolve *r, struct twins *t, const struct leg *l)
{
	struct ref_node refs[REFS_MAX];
	uint32_t logs[REFS_MAX];
	unsigned n = logs_of(r, t, l, logs, refs);
	if (l->received_source)
		t->logs[t->log_of[l->received_source - 1]].tells = true;
	if (l->finished_source)
		t->logs[t->log_of[l->finished_source - 1]].tells = true;
	for (unsigned i = 0; i < n; i++)
		for (struct twin *x = twins_of(t, logs[i]); x < t->at + t->n && x->log == logs[i]; x++) {
			bool both = false;
			for (unsigned k = 0; k < n; k++)
				both |= logs[k] == x->start.log;
			if (base_of(r, l->worker) == x->base)
				twin_seen(x, l->lo, refs[i], both);
		}
}

/* The other log's side of two starts at one time. */
static const struct twin *mirror(const struct twins *t, const struct twin *x)
{
	for (const struct twin *o = twins_of(t, x->start.log); o < t->at + t->n && o->log == x->start.log; o++)
		if (o->near && o->base == x->base && o->start.log == x->log &&
		    o->start.at <= x->start.last + STARTING_NS && o->start.last >= x->start.at - STARTING_NS)
			return o;
	return NULL;
}

static bool serves_alone(const struct twin *x)
{
	return x->n >= OF_ITS_OWN && x->shared < x->n / SHARED_PART + 1;
}

static bool is_twin(const struct twins *t, const struct twin *x)
{
	const struct log *a = &t->logs[x->log], *b = &t->logs[x->start.log];
	if (!serves_alone(x))
		return false;
	if (x->near) {
		const struct twin *o = mirror(t, x);
		return o && serves_alone(o) && MIN(x->last, o->last) - MAX(x->next, o->next) > STARTING_NS;
	}
	/* a log without a start of its own may be what another kind of line was sent to */
	bool alike = x->own_start || (a->tells && b->tells);
	bool to_end = a->seen_to >= b->seen_to - (b->seen_to - b->seen_from) / NEARLY_END;
	return alike && x->before && x->last - x->start.at > STARTING_NS &&
	       (to_end || x->last - x->start.at > ZONES_NS || (a->zone_is_sure && b->zone_is_sure));
}

/* All ranks of it. */
static void twin_mark(struct resolve *r, const struct twin *x)
{
	for (uint32_t i = 0; i < r->workers.n; i++) {
		struct worker *w = worker_at(r, i);
		if (w->base != x->base || w->mixed)
			continue;
		w->mixed = w->twins = true;
		w->mixed_ref = x->start.ref;
		w->twin_ref = x->ref;
	}
}

/* --- page logs --- */

#define RANKS_NS (60 * NS_PER_S) /* page logs of the ranks of one engine begin within this time */

static int span_cmp(const void *a, const void *b)
{
	const struct span *x = *(const struct span *const *)a, *y = *(const struct span *const *)b;
	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	if (x->seq_from != y->seq_from)
		return x->seq_from < y->seq_from ? -1 : 1;
	return (x->at_from > y->at_from) - (x->at_from < y->at_from);
}

/* Two logs that count from one number at two times, each on and on, and of other requests. */
static bool contradict(const struct resolve *r, const struct span *x, const struct span *y)
{
	const struct source_info *a = &r->sources[x->first.source], *b = &r->sources[y->first.source];
	if (a == b || x->worker != y->worker || x->seq_from != y->seq_from || x->at_from == UNKNOWN ||
	    x->at_from == y->at_from || MIN(x->at_to, y->at_to) - y->at_from <= RANKS_NS)
		return false;
	const struct source_info *second = MAX(a, b);
	return second->page_shared < second->page_own / SHARED_PART + 1;
}

static int page_twins_look(struct resolve *r, struct err *err)
{
	const struct span **s = arena_array(&r->arena, (size_t)r->spans.n + 1, sizeof(*s));
	if (!s)
		return err_nomem(err);
	for (uint32_t i = 0; i < r->spans.n; i++)
		s[i] = shelf_at(&r->spans, i);
	qsort(s, r->spans.n, sizeof(*s), span_cmp);
	for (uint32_t i = 1; i < r->spans.n; i++) {
		struct worker *w = worker_at(r, s[i]->worker);
		if (w->page_twins || !contradict(r, s[i - 1], s[i]))
			continue;
		w->page_twins = true;
		w->page_twin[0] = s[i - 1]->first;
		w->page_twin[1] = s[i]->first;
	}
	return 0;
}

int twins_look(struct resolve *r, struct err *err)
{
	struct twins t = {0};
	int res = logs_find(r, &t, err);
	if (!res)
		res = starts_find(r, &t, err);
	if (!res)
		res = twins_find(r, &t, err);
	for (uint32_t i = 0; i < r->legs.n && t.n && !res; i++) {
		leg_seen(r, &t, leg_at(r, i));
		res = resolve_tick(r, err);
	}
	for (uint32_t i = 0; i < t.n && !res; i++)
		if (is_twin(&t, &t.at[i]))
			twin_mark(r, &t.at[i]);
	return res ? res : page_twins_look(r, err);
}
