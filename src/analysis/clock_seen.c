/* SPDX-License-Identifier: Apache-2.0 */
/* clock_seen.c - which requests were seen in the logs of several engines, and when in each
 *
 * Two logs can be compared by a request when it is clear that both speak of one execution, or of the two halves of one: they
 * are of one worker, or of a prefill and a decode worker. A name that was used twice, or by two workers of the same kind
 * (clients choose ids, and routers try again), compares nothing. A room is chosen by the router, so roles need not be known.
 */
#include "clock_peers.h"

#define FINE_NS  (2 * NS_PER_S)   /* what two stamps of whole seconds may be off */
#define TWICE_NS (60 * NS_PER_S)  /* beginnings, or ends, that are further apart are of two executions */
#define LONG_NS  (900 * NS_PER_S) /* few executions last longer: where a log tells no beginning, or no end */
enum { NAMES_AT_MOST = 1 << 20, SOURCES_AT_MOST = 8 };

void pair_bounds(const struct sighting *a, const struct sighting *b, int64_t *lo, int64_t *hi)
{
	int64_t a_from = a->begin == UNKNOWN ? a->lo - LONG_NS : a->lo,
		a_to = a->end == UNKNOWN ? a->hi + LONG_NS : a->hi;
	int64_t b_from = b->begin == UNKNOWN ? b->lo - LONG_NS : b->lo,
		b_to = b->end == UNKNOWN ? b->hi + LONG_NS : b->hi;
	*lo = a_from - b_to - FINE_NS;
	*hi = a_to - b_from + FINE_NS;
}

/* --- what was seen --- */

static int boot_roles(struct resolve *r, uint32_t source, const struct event_batch *b, uint32_t row, struct err *err)
{
	(void)err;
	enum role role = role_of(row_text(b, row, BOOT_ROLE));
	r->clock_pass->sightings->roles[source] |= role ? 1u << role : 0;
	return 0;
}

static bool wanted(const struct resolve *r, uint32_t name)
{
	const struct sightings *s = r->clock_pass->sightings;
	if (!name || name_at(&r->names, name)->hash % s->sample)
		return false;
	const struct moment *m = s->marked ? moment_of(r->clock_pass, name) : NULL;
	return !s->marked || (m && m->lo != UNKNOWN);
}

static int mark_names(struct resolve *r, uint32_t source, const struct event_batch *b, uint32_t row, struct err *err)
{
	uint32_t ids[3];
	int res = peer_open(&r->sources[source]) ? cross_ids(r, b, row, ids, err) : 1;
	for (int i = 0; i < 2 && !res; i++)
		res = moment_add(r->clock_pass, ids[i], 0, 0, err);
	return MIN(res, 0);
}

static int mark_execs(struct resolve *r, struct err *err)
{
	int res = 0;
	for (uint32_t i = 0; i < r->execs.n && !res; i++) {
		const struct exec *x = shelf_at(&r->execs, i);
		if (peer_open(&r->sources[x->ref.source]))
			res = moment_add(r->clock_pass, x->rid, 0, 0, err);
		if (!res && peer_open(&r->sources[x->ref.source]))
			res = moment_add(r->clock_pass, x->room, 0, 0, err);
	}
	return res;
}

/* Under each of its names. */
static int add(struct resolve *r, struct sighting x, uint32_t rid, uint32_t room, struct err *err)
{
	for (int i = 0; i < 2; i++) {
		x.name = i ? room : rid;
		x.room = i;
		if (!wanted(r, x.name))
			continue;
		struct sighting *at = shelf_add(&r->clock_pass->sightings->all);
		if (!at)
			return err_nomem(err);
		*at = x;
	}
	return 0;
}

static int leg_seen(struct resolve *r, uint32_t source, const struct event_batch *b, uint32_t row, struct err *err)
{
	static const char *const ends[] = {"finished", "aborted", "failed", "rejected"};
	const struct source_info *s = &r->sources[source];
	int64_t at = row_time(s, b, row), begin = sane(row_int(b, row, LEG_STARTED)),
		end = sane(row_int(b, row, LEG_FINISHED));
	bool computed = begin == b->ts_ns[row] || end == b->ts_ns[row];
	begin = row_moment(s, b, row, begin, computed);
	end = row_moment(s, b, row, end, computed);
	if (s->contradicts || (at == UNKNOWN && begin == UNKNOWN && end == UNKNOWN))
		return 0;
	struct text what = row_text(b, row, LEG_WHAT);
	if (begin == UNKNOWN && text_is(what, "received"))
		begin = at;
	for (size_t i = 0; i < ARRAY_SIZE(ends) && end == UNKNOWN; i++)
		end = text_is(what, ends[i]) ? at : UNKNOWN;
	enum role role = role_of(row_text(b, row, LEG_ROLE));
	role = role ? role : s->role;
	uint32_t ids[3];
	int res = cross_ids(r, b, row, ids, err);
	struct sighting x = {.ref = row_ref(source, b, row),
			     .lo = earlier(earlier(begin, end), at),
			     .hi = later(later(begin, end), at),
			     .begin = begin,
			     .end = end,
			     .roles = (uint8_t)(role ? 1u << role : r->clock_pass->sightings->roles[source])};
	return res ? res : add(r, x, ids[0], ids[1], err);
}

static int execs_seen(struct resolve *r, struct err *err)
{
	int res = 0;
	for (uint32_t i = 0; i < r->execs.n && !res; i++) {
		const struct exec *x = shelf_at(&r->execs, i);
		const struct source_info *s = &r->sources[x->ref.source];
		if (x->first == UNKNOWN || s->contradicts)
			continue;
		int64_t off = clock_off(s, x->ref.off, false), lo = x->first - off, hi = x->last - off;
		uint8_t roles = (uint8_t)((x->recv ? 1u << ROLE_DECODE : 0) | (x->send ? 1u << ROLE_PREFILL : 0));
		res =
		    add(r, (struct sighting){.ref = x->ref, .lo = lo, .hi = hi, .begin = lo, .end = hi, .roles = roles},
			x->rid, x->room, err);
		if (!res)
			res = resolve_tick(r, err);
	}
	return res;
}

/* --- who saw the same --- */

static int by_name(const void *a, const void *b, void *ctx)
{
	const struct sighting *x = sighting_at(ctx, *(const uint32_t *)a), *y = sighting_at(ctx, *(const uint32_t *)b);
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return (x->ref.source > y->ref.source) - (x->ref.source < y->ref.source);
}

static bool apart(int64_t a, int64_t b)
{
	return a != UNKNOWN && b != UNKNOWN && stamps_apart(a, b) > TWICE_NS;
}

/* Records of one request in one source. */
static void merge(struct sighting *x, const struct sighting *y)
{
	x->twice |= y->twice || apart(x->begin, y->begin) || apart(x->end, y->end);
	x->lo = MIN(x->lo, y->lo);
	x->hi = MAX(x->hi, y->hi);
	x->begin = earlier(x->begin, y->begin);
	x->end = later(x->end, y->end);
	x->roles |= y->roles;
}

static bool comparable(const struct resolve *r, const struct sighting *a, const struct sighting *b)
{
	const uint8_t p = 1u << ROLE_PREFILL, d = 1u << ROLE_DECODE;
	uint32_t x = r->sources[a->ref.source].worker_at, y = r->sources[b->ref.source].worker_at;
	if (a->twice || b->twice)
		return false;
	if (x != NO_INDEX && x == y)
		return true;
	if ((a->roles == p && b->roles == d) || (a->roles == d && b->roles == p))
		return true;
	return a->room && (!a->roles || !b->roles);
}

/* All sightings of one name, one of each source. */
static int pairs_of(struct resolve *r, struct sightings *s, const uint32_t *at, uint32_t n, struct err *err)
{
	bool clear = n > 1 && n <= SOURCES_AT_MOST;
	for (uint32_t i = 0; i < n && clear; i++)
		for (uint32_t k = i + 1; k < n && clear; k++)
			clear = comparable(r, sighting_at(s, at[i]), sighting_at(s, at[k]));
	for (uint32_t i = 0; i < n && clear; i++)
		for (uint32_t k = i + 1; k < n; k++) {
			struct sighting_pair *p = shelf_add(&s->pairs);
			if (!p)
				return err_nomem(err);
			*p = (struct sighting_pair){at[i], at[k]};
		}
	return 0;
}

static int pairs_find(struct resolve *r, struct sightings *s, struct err *err)
{
	uint32_t n = s->all.n, *order = order_new(r, n), at[SOURCES_AT_MOST + 1];
	int res = order ? sort_items(r, order, n, sizeof(*order), by_name, s, err) : err_nomem(err);
	for (uint32_t i = 0, k; i < n && !res; i = k) {
		uint32_t name = sighting_at(s, order[i])->name, sources = 0;
		for (k = i; k < n && sighting_at(s, order[k])->name == name; k++) {
			struct sighting *x = sighting_at(s, order[k]),
					*last = sources ? sighting_at(s, at[sources - 1]) : NULL;
			if (last && last->ref.source == x->ref.source)
				merge(last, x);
			else if (sources <= SOURCES_AT_MOST)
				at[sources++] = order[k];
		}
		res = pairs_of(r, s, at, sources, err);
		if (!res)
			res = resolve_tick(r, err);
	}
	return res;
}

int sightings_load(struct resolve *r, struct sightings *s, struct err *err)
{
	const uint32_t ids = 1u << LEG_RID | 1u << LEG_ROOM;
	const uint32_t mask = ids | 1u << LEG_WHAT | 1u << LEG_ROLE | 1u << LEG_STARTED | 1u << LEG_FINISHED;
	shelf_init(&s->all, &r->scratch, sizeof(struct sighting));
	shelf_init(&s->pairs, &r->scratch, sizeof(struct sighting_pair));
	s->sample = r->names.entries.n / NAMES_AT_MOST + 1;
	s->roles = arena_array(&r->arena, r->n_sources + 1, sizeof(*s->roles));
	for (uint32_t i = 0; i < r->n_sources; i++)
		s->marked |= r->sources[i].skews != NULL;
	int res = s->roles ? load_each(r, EVENT_BOOT, 1u << BOOT_ROLE, boot_roles, err) : err_nomem(err);
	if (!res && s->marked)
		res = load_each(r, EVENT_LEG, ids, mark_names, err);
	if (!res && s->marked)
		res = mark_execs(r, err);
	if (!res)
		res = load_each(r, EVENT_LEG, mask, leg_seen, err);
	if (!res)
		res = execs_seen(r, err);
	return res ? res : pairs_find(r, s, err);
}

void sightings_done(struct sightings *s)
{
	shelf_done(&s->all);
	shelf_done(&s->pairs);
}
