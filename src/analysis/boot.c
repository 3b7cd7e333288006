/* SPDX-License-Identifier: Apache-2.0 */
/* boot.c - intervals of a worker between start and stop, and what it ran in them
 *
 * Facts belong to a boot and are never carried over into the next one. All ranks of one engine print the same facts:
 * they are merged; the first value stays when a later one contradicts it, and the refs of both are kept. A
 * data-parallel rank inherits what its server says, but never its pool or limit. What ran before the first known start
 * is a boot without a beginning, made only when something else was seen of the worker then.
 * A snapshot that contradicts the boot it falls into shows another boot, of which the start is lost. The boot before it
 * then ends where its own log ends, and in between nobody knows what ran: no leg there has a boot, and a gap says so.
 * Where a part of its log cannot be read (gap_nuls.c), another boot begins of which nothing is known but by snapshots.
 * Starts that nothing dates (boot_undated.c) follow each other as they stand in their log, and no leg is of one of several.
 */
#include "resolve.h"

#include <stdlib.h>
#include <string.h>

/* All ranks print their pool within this time; a pool line after it is another start. */
#define POOL_SPREAD_NS      (300 * NS_PER_S)
/* "Ready" has several wordings within seconds. */
#define READY_SPREAD_NS     (30 * NS_PER_S)
#define ARGS_SPREAD_NS      (600 * NS_PER_S)
/* A server that answers is not younger than its first lines, but for this much. */
#define SNAPSHOT_SKEW_NS    (5 * NS_PER_S)
/* Where one log of a worker ends and the next begins this much later, nothing is missing between them. */
#define LOG_HOLE_NS         (600 * NS_PER_S)
/* SGLang rejects at min(context - 1, pool - 1) - 5. */
#define SGLANG_LIMIT_MARGIN 5

static enum boot_what what_of(struct text t)
{
	static const char *const names[] = {"start", "args", "pool", "ready", "snapshot", "stop"};
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		if (text_is(t, names[i]))
			return (enum boot_what)i;
	return WHAT_READY; /* adds facts, starts nothing */
}

static int boot_row(struct resolve *r, uint32_t source, const struct event_batch *b, uint32_t row, struct err *err)
{
	static const unsigned texts[BOOT_TEXTS] = {BOOT_ENGINE, BOOT_VERSION, BOOT_COMMIT, BOOT_MODEL, BOOT_BACKEND};
	static const unsigned numbers[BOOT_NUMBERS] = {BOOT_CONTEXT,     BOOT_POOL,          BOOT_PAGE_SIZE,
						       BOOT_INPUT_LIMIT, BOOT_AUTO_TRUNCATE, BOOT_DP_SIZE};
	uint32_t worker;
	int res = worker_of_row(r, source, b, row, &worker, err);
	if (res || row_int(b, row, BOOT_DRAFT) == 1)
		return res;
	struct boot_event *e = shelf_add(&r->boot_events);
	if (!e)
		return err_nomem(err);
	worker_at(r, worker)->has_boots = true;
	*e =
	    (struct boot_event){.worker = worker, .seq = r->boot_events.n, .at = row_time(&r->sources[source], b, row)};
	e->what = what_of(row_text(b, row, BOOT_WHAT));
	e->role = role_of(row_text(b, row, BOOT_ROLE));
	e->ref = row_ref(source, b, row);
	e->vague = b->ts_quality[row] == STAMP_INTERPOLATED;
	e->order = b->ts_quality[row] == STAMP_MONOTONIC ? sane(b->ts_ns[row]) : UNKNOWN;
	e->from = UNKNOWN;
	if (e->what != WHAT_SNAPSHOT) {
		struct source_info *s = &r->sources[source];
		s->seen_from = earlier(s->seen_from, e->at);
		s->seen_to = later(s->seen_to, e->at);
	}
	for (int i = 0; i < BOOT_TEXTS && !res; i++)
		res = names_id(&r->names, row_text(b, row, texts[i]), &e->text[i], err);
	for (int i = 0; i < BOOT_NUMBERS; i++) {
		int64_t v = row_int(b, row, numbers[i]);
		e->number[i] = v < 0 || v > TOKENS_MAX || (!v && i != BN_TRUNCATE) ? UNKNOWN : v;
	}
	/* a file's time only says that the snapshot is not younger: nobody was seen then */
	int64_t seen = e->vague && e->what == WHAT_SNAPSHOT ? UNKNOWN : e->at;
	worker_seen(r, worker, seen, seen, NULL);
	return res;
}

int boot_load(struct resolve *r, struct err *err)
{
	return load_each(r, EVENT_BOOT, RESOLVE_BOOT, boot_row, err);
}

static int event_cmp(const void *a, const void *b)
{
	const struct boot_event *x = *(const struct boot_event *const *)a, *y = *(const struct boot_event *const *)b;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1; /* no time sorts first */
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int worker_event_cmp(const void *a, const void *b)
{
	const struct boot_event *x = *(const struct boot_event *const *)a, *y = *(const struct boot_event *const *)b;
	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	return event_cmp(a, b);
}

/* Copies one worker's events out of the sorted list. */
static size_t events_of(struct boot_event **all, size_t n, uint32_t worker, struct boot_event **to)
{
	size_t lo = 0, hi = n, count = 0;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (all[mid]->worker < worker)
			lo = mid + 1;
		else
			hi = mid;
	}
	while (lo < n && all[lo]->worker == worker)
		to[count++] = all[lo++];
	return count;
}

static struct text version_text(const struct resolve *r, uint32_t id)
{
	struct text t = names_text(&r->names, id);
	return t.len > 1 && (t.ptr[0] == 'v' || t.ptr[0] == 'V') ? text_from(t, 1) : t;
}

static bool numbers_differ(const struct boot *b, const struct boot_event *e, enum boot_number i)
{
	int64_t x = b->number[i], y = e->number[i];
	if (x == UNKNOWN || y == UNKNOWN)
		return false;
	/* what is printed before the last word about the pool is near it */
	return i == BN_POOL && b->pool_is_raw ? x / 8 < (x > y ? x - y : y - x) : x != y;
}

/* Would two facts make them two different processes? */
static bool contradicts(const struct resolve *r, const struct boot *b, const struct boot_event *e)
{
	bool inherited = b->worker != e->worker;
	for (int i = BT_VERSION; i <= BT_COMMIT; i++)
		if (b->text[i] && e->text[i] && !text_eq(version_text(r, b->text[i]), version_text(r, e->text[i])))
			return true;
	return numbers_differ(b, e, BN_CONTEXT) || numbers_differ(b, e, BN_PAGE_SIZE) ||
	       (!inherited && (numbers_differ(b, e, BN_POOL) || numbers_differ(b, e, BN_LIMIT)));
}

static bool after(int64_t at, int64_t mark, int64_t spread)
{
	return mark != UNKNOWN && at != UNKNOWN && at > mark + spread;
}

/* The same of one that nothing dates: only its place in the log tells. */
static bool begins_by_order(const struct resolve *r, const struct boot *b, const struct boot_event *e)
{
	if (e->what == WHAT_SNAPSHOT || !b->log_source || b->log_source != e->ref.source + 1)
		return e->what <= WHAT_SNAPSHOT && contradicts(r, b, e);
	if (b->stop_seen)
		return e->what != WHAT_STOP;
	return e->what == WHAT_ARGS ? b->pool_seen || b->ready_seen : e->what <= WHAT_POOL && b->ready_seen;
}

/* Does this event begin another boot than the one that is running? */
static bool begins(const struct resolve *r, const struct boot *b, const struct boot_event *e)
{
	if (!b)
		return true;
	if (e->at == UNKNOWN || (b->undated && e->what != WHAT_UNREAD))
		return begins_by_order(r, b, e);
	if (b->stop_at != UNKNOWN)
		return e->what != WHAT_STOP;
	if (!b->log_source && e->what <= WHAT_READY) /* what a snapshot says does not outlive a start */
		return after(e->at, b->seen_at, SNAPSHOT_SKEW_NS);
	switch (e->what) {
	case WHAT_START:
		return after(e->at, b->ready_at, READY_SPREAD_NS) || after(e->at, b->start_at, READY_SPREAD_NS * 2);
	case WHAT_ARGS:
		if (after(e->at, b->ready_at, NS_PER_S) && e->ref.source == b->args_source)
			return true;
		if (b->args_at == UNKNOWN) /* arguments come first: what ran before was another process */
			return after(e->at, b->ready_at, READY_SPREAD_NS) || after(e->at, b->pool_at, READY_SPREAD_NS);
		if (e->ref.source != b->args_source) /* the other node, or another copy, of the same start */
			return after(e->at, b->args_at, POOL_SPREAD_NS);
		return after(e->at, b->pool_at, NS_PER_S) || after(e->at, b->args_at, ARGS_SPREAD_NS);
	case WHAT_POOL: return after(e->at, b->ready_at, READY_SPREAD_NS) || after(e->at, b->pool_at, POOL_SPREAD_NS);
	case WHAT_PAGE_BOOT: return b->pool_at != UNKNOWN && e->at > b->pool_at;
	case WHAT_SNAPSHOT: return contradicts(r, b, e);
	case WHAT_UNREAD: return true;
	case WHAT_READY:
	case WHAT_STOP: return false;
	}
	return false;
}

static void boot_facts(struct boot *b, const struct boot_event *e, bool inherited)
{
	if (!b->role)
		b->role = e->role;
	for (int i = 0; i < BOOT_TEXTS; i++)
		if (!b->text[i])
			b->text[i] = e->text[i];
	/* the line with pool and context is the final word; sizes printed before it are raw */
	bool line = e->number[BN_POOL] != UNKNOWN && e->number[BN_CONTEXT] != UNKNOWN;
	for (int i = 0; i < BOOT_NUMBERS; i++) {
		if (e->number[i] == UNKNOWN || (inherited && (i == BN_POOL || i == BN_LIMIT)))
			continue;
		if (b->number[i] != UNKNOWN && !(i == BN_POOL && line && !b->pool_is_line))
			continue;
		b->number[i] = e->number[i];
		if (i == BN_POOL)
			b->pool_is_raw = !line && e->what != WHAT_SNAPSHOT;
	}
	b->pool_is_line |= line && !inherited;
}

static struct boot *boot_new(struct resolve *r, uint32_t worker)
{
	struct boot *b = shelf_add(&r->boots);
	if (!b)
		return NULL;
	*b = (struct boot){.worker = worker, .started_ns = UNKNOWN, .ended_ns = UNKNOWN, .rejection_limit = UNKNOWN};
	b->start_at = b->args_at = b->pool_at = b->ready_at = b->stop_at = b->seen_at = UNKNOWN;
	for (int i = 0; i < BOOT_NUMBERS; i++)
		b->number[i] = UNKNOWN;
	return b;
}

/* How far the logs that would show a restart go on without one, from the boot's own lines on, up to `to`. */
static int64_t boot_covered(const struct resolve *r, const struct boot *b, int64_t to)
{
	int64_t end = b->seen_at;
	if (!b->log_source || end == UNKNOWN)
		return end;
	const struct source_info *own = &r->sources[b->log_source - 1];
	for (bool more = true; more && end < to;) {
		more = false;
		for (uint32_t i = 0; i < r->n_sources; i++) {
			const struct source_info *s = &r->sources[i];
			if (s->worker_at != own->worker_at || s->seen_to == UNKNOWN || s->seen_to <= end ||
			    s->seen_from > end + LOG_HOLE_NS || !text_eq(s->format, own->format))
				continue;
			end = s->seen_to;
			more = true;
		}
	}
	return MIN(end, to);
}

static int64_t begun_at_first(const struct boot_event *e)
{
	return e->from == UNKNOWN ? e->at : e->from;
}

static int boot_gap(struct resolve *r, const struct boot *b, const struct boot_event *e, int64_t from, const char *what,
		    struct err *err)
{
	const struct worker *w = worker_at(r, b->worker);
	struct gap g = {.kind = "boot",
			.source = e->ref.source,
			.worker = b->worker,
			.from = from,
			.to = e->at,
			.missing = UNKNOWN};
	if (w->has_ranks) /* said for each of its ranks */
		return 0;
	g.effect =
	    arena_printf(&r->arena, "%.*s: %s", TEXT_ARG(text_sub(names_text(&r->names, w->name), 0, 100)), what);
	int res = refs_add_all(r, &g.refs, &b->refs, err);
	if (!res)
		res = refs_add(r, &g.refs, e->ref, err);
	return res ? res : gap_add(r, &g, err);
}

static int boot_begin(struct resolve *r, struct boot **cur, uint32_t worker, const struct boot_event *e,
		      struct err *err)
{
	struct boot *before = *cur, *b = boot_new(r, worker);
	int res = 0;
	if (!b)
		return err_nomem(err);
	b->started_ns = !before && (e->what == WHAT_SNAPSHOT || e->what == WHAT_STOP) ? UNKNOWN : e->at;
	b->undated = e->at == UNKNOWN && e->what <= WHAT_READY;
	if (before && before->undated) {
		*cur = b; /* which of them came later is not known */
		return 0;
	}
	if (before && e->what == WHAT_SNAPSHOT) {
		if (before->stop_at == UNKNOWN)
			before->ended_ns = boot_covered(r, before, e->at);
		res =
		    boot_gap(r, before, e, before->ended_ns,
			     "a restart in this time was not logged: a snapshot shows another boot than the log. What "
			     "ran in between is unknown, and so are limit and version for requests of this time",
			     err);
	} else if (before && before->stop_at == UNKNOWN) {
		before->ended_ns = MIN(e->at, later(begun_at_first(e), before->seen_at));
	}
	*cur = b;
	return res;
}

static int boot_take(struct resolve *r, struct boot **cur, uint32_t worker, const struct boot_event *e, struct err *err)
{
	bool inherited = e->worker != worker;
	int res = begins(r, *cur, e) ? boot_begin(r, cur, worker, e, err) : 0;
	if (res)
		return res;
	struct boot *b = *cur;
	switch (e->what) {
	case WHAT_START: b->start_at = earlier(b->start_at, e->at); break;
	case WHAT_ARGS:
		if (b->args_at == UNKNOWN)
			b->args_source = e->ref.source;
		b->args_at = earlier(b->args_at, e->at);
		break;
	case WHAT_POOL:
	case WHAT_PAGE_BOOT: b->pool_at = earlier(b->pool_at, e->at); break;
	case WHAT_READY: b->ready_at = earlier(b->ready_at, e->at); break;
	case WHAT_STOP: b->stop_at = b->ended_ns = later(b->stop_at, e->at); break;
	case WHAT_SNAPSHOT:
	case WHAT_UNREAD: break;
	}
	b->undated &= e->at == UNKNOWN || e->what > WHAT_READY;
	b->pool_seen |= e->at == UNKNOWN && e->what == WHAT_POOL;
	b->ready_seen |= e->at == UNKNOWN && e->what == WHAT_READY;
	b->stop_seen |= e->at == UNKNOWN && e->what == WHAT_STOP;
	b->seen_at = later(b->seen_at, e->at);
	if (!b->log_source && e->what != WHAT_SNAPSHOT && e->what != WHAT_UNREAD)
		b->log_source = e->ref.source + 1;
	boot_facts(b, e, inherited);
	return refs_add(r, &b->refs, e->ref, err);
}

static bool is_start(const struct boot_event *e)
{
	return e->what == WHAT_START || e->what == WHAT_ARGS || e->what == WHAT_POOL;
}

/* A snapshot that contradicts the boot at hand, but fits a neighbour when clocks are allowed to differ; the time of a
 * file says only that it is not younger. NULL: there is none. */
static struct boot *snapshot_earlier(const struct resolve *r, const struct worker *w, const struct boot *cur,
				     const struct boot_event *e)
{
	bool near = cur->started_ns != UNKNOWN && e->at != UNKNOWN && e->at <= cur->started_ns + SKEW_NS;
	for (uint32_t k = r->boots.n; k-- > w->boots_from;) {
		struct boot *b = boot_at(r, k);
		if (b == cur)
			continue;
		if ((near || e->vague) && !contradicts(r, b, e))
			return b;
		if (!e->vague)
			break;
	}
	return NULL;
}

/* Is the start of another boot logged soon after this snapshot? Then it is that one's, by a clock that is early. */
static size_t snapshot_later(struct boot_event **events, size_t n, size_t at)
{
	for (size_t k = at + 1; k < n; k++)
		if (is_start(events[k]) && events[k]->at != UNKNOWN && events[at]->at != UNKNOWN &&
		    begun_at_first(events[k]) <= events[at]->at + SKEW_NS)
			return k;
	return 0;
}

/* The same among boots that nothing dates: it is of any that it fits. */
static struct boot *snapshot_undated(const struct resolve *r, const struct worker *w, const struct boot_event *e)
{
	for (uint32_t k = r->boots.n; k-- > w->boots_from;)
		if (!contradicts(r, boot_at(r, k), e))
			return boot_at(r, k);
	return NULL;
}

/* A snapshot that contradicts the boot that it falls into. 1: it was dealt with here; 0: it begins a boot. */
static int snapshot_place(struct resolve *r, const struct worker *w, struct boot *cur, struct boot_event **events,
			  size_t n, size_t at, bool *ret_moved, struct err *err)
{
	struct boot_event *e = events[at];
	struct boot *other = cur->undated ? snapshot_undated(r, w, e) : snapshot_earlier(r, w, cur, e);
	size_t k = other ? 0 : snapshot_later(events, n, at);
	*ret_moved = k != 0;
	if (k) {
		memmove(events + at, events + at + 1, (k - at) * sizeof(*events));
		events[k] = e;
		return 1;
	}
	if (other) {
		boot_facts(other, e, other->worker != e->worker);
		int res = refs_add(r, &other->refs, e->ref, err);
		return res ? res : 1;
	}
	bool early = cur->started_ns != UNKNOWN && e->at != UNKNOWN && e->at < cur->started_ns;
	bool goes_on = cur->log_source && cur->stop_at == UNKNOWN && e->at != UNKNOWN &&
		       boot_covered(r, cur, e->at + SKEW_NS) >= e->at + SKEW_NS;
	if ((!early && !goes_on) || cur->undated)
		return 0;
	/* its own log goes on and shows no restart */
	int res = boot_gap(r, cur, e, e->at,
			   "a snapshot contradicts the boot that the log of this time shows, and the log shows no "
			   "restart: the snapshot is of another process or another time, and nothing is taken from it",
			   err);
	return res ? res : 1;
}

/* A boot without a beginning for what was seen before the first one. */
static int boot_implied(struct resolve *r, uint32_t worker, int64_t ended, struct err *err)
{
	struct worker *w = worker_at(r, worker);
	struct boot *b = boot_new(r, worker);
	if (!b)
		return err_nomem(err);
	b->ended_ns = ended;
	return refs_add(r, &b->refs, w->early_ref, err);
}

/* Events of one worker, in time order -> its boots. */
static int boot_worker(struct resolve *r, uint32_t worker, struct boot_event **events, size_t n, struct err *err)
{
	struct worker *w = worker_at(r, worker);
	struct boot *cur = NULL;
	bool engine = false;
	int64_t first = UNKNOWN;
	for (size_t i = 0; i < n; i++)
		engine |= events[i]->what <= WHAT_READY || events[i]->what == WHAT_STOP;
	for (size_t i = 0; i < n && first == UNKNOWN; i++)
		if (events[i]->what <= WHAT_READY || (events[i]->what == WHAT_PAGE_BOOT && !engine))
			first = events[i]->at;
	w->boots_from = r->boots.n;
	bool from_start = !n || (events[0]->what != WHAT_SNAPSHOT && events[0]->what != WHAT_STOP);
	if (w->has_early &&
	    (!n || (from_start && w->early_ns != UNKNOWN && first != UNKNOWN && w->early_ns < first - SKEW_NS))) {
		int res = boot_implied(r, worker, first, err);
		if (res)
			return res;
	}
	for (size_t i = 0; i < n; i++) {
		const struct boot_event *e = events[i];
		if (e->what == WHAT_PAGE_BOOT && engine)
			continue; /* the engine's own log says when it started */
		if (e->what == WHAT_UNREAD && !cur)
			continue; /* nothing is known of what ran before */
		bool moved = false;
		int res = cur && e->what == WHAT_SNAPSHOT && contradicts(r, cur, e)
			      ? snapshot_place(r, w, cur, events, n, i, &moved, err)
			      : 0;
		if (!res)
			res = boot_take(r, &cur, worker, e, err);
		if (res < 0)
			return res;
		i -= moved; /* the next event has moved here */
	}
	/* page size and pool from the page log, where the engine does not say */
	for (size_t i = 0; i < n && engine; i++) {
		for (uint32_t k = r->boots.n; events[i]->what == WHAT_PAGE_BOOT && k-- > w->boots_from;) {
			struct boot *b = boot_at(r, k);
			if (b->started_ns != UNKNOWN && events[i]->at != UNKNOWN &&
			    events[i]->at < b->started_ns - SKEW_NS)
				continue;
			boot_facts(b, events[i], false);
			int res = refs_add(r, &b->refs, events[i]->ref, err);
			if (res)
				return res;
			break;
		}
	}
	w->n_boots = r->boots.n - w->boots_from;
	return 0;
}

/* A server's own boot has the pool of its ranks only when all of them are known and equal. */
static void pool_of_ranks(struct resolve *r, struct boot *b)
{
	int64_t pool = UNKNOWN, ranks = 0;
	if (b->number[BN_DP] == UNKNOWN)
		return;
	for (uint32_t i = 0; i < r->workers.n; i++) {
		const struct worker *w = worker_at(r, i);
		if (!w->ranked || w->base != b->worker)
			continue;
		int64_t its = UNKNOWN;
		for (uint32_t k = 0; k < w->n_boots; k++) {
			const struct boot *o = boot_at(r, w->boots_from + k);
			if (o->started_ns == b->started_ns)
				its = o->number[BN_POOL];
		}
		if (its == UNKNOWN || (pool != UNKNOWN && pool != its))
			return;
		pool = its;
		ranks++;
	}
	if (ranks && ranks == b->number[BN_DP])
		b->number[BN_POOL] = pool;
}

static enum role worker_role(const struct resolve *r, uint32_t at)
{
	const struct worker *w = worker_at(r, at);
	enum role role = ROLE_UNKNOWN;
	for (uint32_t k = 0; k < w->n_boots; k++) /* the latest that says so */
		if (boot_at(r, w->boots_from + k)->role)
			role = boot_at(r, w->boots_from + k)->role;
	if (!role)
		role = (enum role)(w->source_role ? w->source_role : worker_at(r, w->base)->source_role);
	int kinds = 0;
	for (int i = ROLE_PREFILL; i <= ROLE_UNIFIED && !role; i++)
		kinds += w->saw_role[i];
	for (int i = ROLE_PREFILL; i <= ROLE_UNIFIED && kinds == 1 && !role; i++)
		if (w->saw_role[i])
			role = (enum role)i;
	if (!role && !kinds && w->load_prefill && w->load_decode)
		role = ROLE_UNIFIED;
	return role;
}

int boot_build(struct resolve *r, struct err *err)
{
	uint32_t n = r->boot_events.n;
	struct boot_event **all = malloc((n + 1) * sizeof(struct boot_event *));
	struct boot_event **own = malloc((n + 1) * sizeof(struct boot_event *));
	int res = all && own ? 0 : err_nomem(err);
	for (uint32_t i = 0; i < n && !res; i++)
		all[i] = shelf_at(&r->boot_events, i);
	if (!res)
		qsort(all, n, sizeof(*all), worker_event_cmp);
	for (uint32_t i = 0; i < r->workers.n && !res; i++) {
		const struct worker *w = worker_at(r, i);
		size_t count = events_of(all, n, i, own);
		if (w->ranked) { /* what the server says holds for its ranks */
			count += events_of(all, n, w->base, own + count);
			qsort(own, count, sizeof(*own), event_cmp);
		}
		res = boot_worker(r, i, own, count, err);
	}
	for (uint32_t i = 0; i < r->boots.n && !res; i++) {
		struct boot *b = boot_at(r, i);
		const struct worker *w = worker_at(r, b->worker);
		if (w->has_ranks && !w->ranked && b->number[BN_POOL] == UNKNOWN)
			pool_of_ranks(r, b);
	}
	for (uint32_t i = 0; i < r->n_sources; i++)
		if (r->sources[i].worker_at != NO_INDEX && r->sources[i].role)
			worker_at(r, r->sources[i].worker_at)->source_role = (uint8_t)r->sources[i].role;
	for (uint32_t i = 0; i < r->workers.n && !res; i++)
		worker_at(r, i)->role = (uint8_t)worker_role(r, i);
	free(all);
	free(own);
	return res;
}

/* No server is both: one of the two is another's, in a log under this worker's name. */
static bool is_strangers(enum role leg, enum role boot)
{
	return (leg == ROLE_PREFILL && boot == ROLE_DECODE) || (leg == ROLE_DECODE && boot == ROLE_PREFILL);
}

/* Index of the boot that ran then, or NO_INDEX. role: that of the leg, as its record has it. */
static uint32_t boot_running(const struct resolve *r, uint32_t worker, int64_t at, enum role role)
{
	const struct worker *w = worker_at(r, worker);
	bool skipped = false; /* the start of another server ended nothing */
	if (is_mixed(r, worker) || is_undated(r, worker))
		return NO_INDEX;
	if (at == UNKNOWN)
		return w->n_boots == 1 && !is_strangers(role, boot_at(r, w->boots_from)->role) ? w->boots_from
											       : NO_INDEX;
	for (uint32_t k = w->n_boots; k-- > 0;) {
		const struct boot *b = boot_at(r, w->boots_from + k);
		if (is_strangers(role, b->role)) {
			skipped = true;
			continue;
		}
		/* clocks of one worker's sources differ by seconds; a start is never that close to the first request */
		if (b->started_ns != UNKNOWN && at < b->started_ns - 5 * NS_PER_S)
			continue;
		int64_t ended = skipped ? b->stop_at : b->ended_ns;
		return ended != UNKNOWN && at > ended + SKEW_NS ? NO_INDEX : w->boots_from + k;
	}
	return NO_INDEX;
}

/* A rejection names the limit, unless it speaks of the context window only. */
static void boot_limit(struct boot *b, int64_t limit, bool about_context)
{
	if (limit == UNKNOWN || about_context ||
	    (b->number[BN_CONTEXT] != UNKNOWN && limit >= b->number[BN_CONTEXT] - 1))
		return;
	b->rejection_limit = earlier(b->rejection_limit, limit);
}

static void boot_finish(const struct resolve *r, struct boot *b)
{
	int64_t context = b->number[BN_CONTEXT], pool = b->number[BN_POOL];
	if (b->number[BN_LIMIT] != UNKNOWN) {
		b->limit_basis = "printed";
	} else if (b->rejection_limit != UNKNOWN) {
		b->number[BN_LIMIT] = b->rejection_limit;
		b->limit_basis = "rejection";
	} else if (text_is(names_text(&r->names, b->text[BT_ENGINE]), "sglang") && context > SGLANG_LIMIT_MARGIN + 1 &&
		   pool > SGLANG_LIMIT_MARGIN + 1) {
		b->number[BN_LIMIT] = MIN(context, pool) - 1 - SGLANG_LIMIT_MARGIN;
		b->limit_basis = "derived";
	}
}

int boot_assign(struct resolve *r, struct err *err)
{
	int res = 0;
	for (uint32_t i = 0; i < r->legs.n && !res; i++) {
		struct leg *l = leg_at(r, i);
		res = resolve_tick(r, err);
		uint32_t at =
		    boot_running(r, l->worker, l->started != UNKNOWN ? l->started : l->lo, (enum role)l->role);
		struct boot *b = at == NO_INDEX ? NULL : boot_at(r, at);
		l->boot = b ? at + 1 : 0;
		if (!l->role)
			l->role = (uint8_t)(b && b->role ? b->role : worker_at(r, l->worker)->role);
		if (!b)
			continue;
		if (l->outcome == OUT_REJECTED || l->outcome == OUT_TRUNCATED)
			boot_limit(b, l->limit, l->rejected_context);
	}
	for (uint32_t i = 0; i < r->strays.n; i++) {
		const struct stray *s = shelf_at(&r->strays, i);
		uint32_t at = boot_running(r, s->worker, s->at, ROLE_UNKNOWN);
		if (at != NO_INDEX)
			boot_limit(boot_at(r, at), s->limit,
				   text_find(names_text(&r->names, s->message), "context length", 0) != SIZE_MAX);
	}
	for (uint32_t i = 0; i < r->boots.n; i++)
		boot_finish(r, boot_at(r, i));
	return res;
}
