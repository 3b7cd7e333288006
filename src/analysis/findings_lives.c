/* SPDX-License-Identifier: Apache-2.0 */
/* findings_lives.c - who lived in a worker's pool before whom, without a page log: candidate sets and their sizes
 *
 * A stale page holds what some request left there since the worker's boot. So the owner of what R read is among the
 * requests that began before the read and had ended by then; one whose end is unknown stays among them. That is an
 * upper bound, and only its size is given. Cost: a sort of the legs, then a search for each question.
 *
 * A log that is lost may only make these sets larger. So a request of which a leg is missing may have lived anywhere
 * (NOWHERE: it is a candidate for every reader), and a reader whose leg is missing may have read from anybody (WORLD:
 * every request, once).
 *
 * What they left is no more than what they brought: pages that nobody has had since the boot hold nobody's content. Their
 * sizes add up to a bound in tokens, which is given only where nothing is known to be missing between boot and read.
 */
#include <stdlib.h>
#include <string.h>

#include "findings.h"

struct life {
	int64_t worker, boot, request, ns; /* ns: end, or start where the end is unknown; INT64_MIN: neither */
	int64_t tokens;                    /* whole pages that it had there, all legs together; UNSAID: not known */
};

struct hole { /* what is missing of a worker's logs, or of logs that may have been anybody's (worker 0) */
	int64_t worker, from_ns, to_ns;
};

/* Workers that are none. */
#define NOWHERE INT64_C(0)
#define WORLD   INT64_MAX

struct house { /* one boot of one worker */
	int64_t worker, boot;
	size_t from, n; /* lives, by ns */
	struct life_reader *readers;
	size_t n_readers, cap_readers, *strong; /* strong[i]: strong readers among the first i */
	bool looked;                            /* missing_ns is known */
	int64_t missing_ns;                     /* from when on something of this boot is missing */
	int64_t *tokens;                        /* tokens[i]: of the first i lives; UNSAID: not known */
};

struct pool_lives {
	struct life *all;     /* by worker, boot, ns, request */
	struct life *by_name; /* the same by worker, boot, request */
	size_t n, cap;
	struct house *houses; /* by worker, boot */
	size_t n_houses;
	struct hole *holes;
	size_t n_holes;
};

static int cmp64(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int by_name(const void *a, const void *b)
{
	const struct life *x = a, *y = b;
	int c = cmp64(x->worker, y->worker);
	if (!c)
		c = cmp64(x->boot, y->boot);
	return c ? c : cmp64(x->request, y->request);
}

static int by_request(const void *a, const void *b)
{
	int c = by_name(a, b);
	return c ? c : cmp64(((const struct life *)a)->ns, ((const struct life *)b)->ns);
}

static int by_end(const void *a, const void *b)
{
	const struct life *x = a, *y = b;
	int c = cmp64(x->worker, y->worker);
	if (!c)
		c = cmp64(x->boot, y->boot);
	if (!c)
		c = cmp64(x->ns, y->ns);
	return c ? c : cmp64(x->request, y->request);
}

static int64_t add_tokens(int64_t a, int64_t b)
{
	return a == UNSAID || b == UNSAID || a > TOKENS_MAX || b > TOKENS_MAX ? UNSAID : a + b;
}

static int sum_houses(struct pool_lives *l, struct err *err)
{
	for (size_t i = 0; i < l->n_houses; i++) {
		struct house *h = &l->houses[i];
		h->tokens = calloc(h->n + 1, sizeof(*h->tokens));
		if (!h->tokens)
			return err_nomem(err);
		for (size_t k = 0; k < h->n; k++)
			h->tokens[k + 1] = add_tokens(h->tokens[k], l->all[h->from + k].tokens);
	}
	return 0;
}

static int make_houses(struct pool_lives *l, struct err *err)
{
	size_t n = 0;
	if (l->n)
		qsort(l->all, l->n, sizeof(*l->all), by_request);
	for (size_t i = 0; i < l->n; i++) { /* a request that lived there twice counts once, by its first end */
		const struct life *x = &l->all[i];
		struct life *last = n ? &l->all[n - 1] : NULL;
		if (!last || last->worker != x->worker || last->boot != x->boot || last->request != x->request)
			l->all[n++] = *x;
		else
			last->tokens = add_tokens(last->tokens, x->tokens);
	}
	l->n = n;
	l->by_name = malloc((n + 1) * sizeof(*l->by_name));
	if (!l->by_name)
		return err_nomem(err);
	if (n) {
		memcpy(l->by_name, l->all, n * sizeof(*l->all));
		qsort(l->all, n, sizeof(*l->all), by_end);
	}
	l->houses = calloc(n + 1, sizeof(*l->houses));
	if (!l->houses)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		struct house *h = l->n_houses ? &l->houses[l->n_houses - 1] : NULL;
		if (!h || h->worker != l->all[i].worker || h->boot != l->all[i].boot) {
			h = &l->houses[l->n_houses++];
			*h = (struct house){.worker = l->all[i].worker, .boot = l->all[i].boot, .from = i};
		}
		h->n++;
	}
	return sum_houses(l, err);
}

static int life_add(struct pool_lives *l, struct life x, struct err *err)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 1024;
		struct life *all = realloc(l->all, cap * sizeof(*all));
		if (!all)
			return err_nomem(err);
		l->all = all;
		l->cap = cap;
	}
	l->all[l->n++] = x;
	return 0;
}

/* Legs, by request; a request with fewer answering legs than attempts lived nowhere in particular, since it began. */
static int load_lives(struct pool_lives *l, struct case_file *c, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(
	    &s, c,
	    "WITH here AS (SELECT l.request, l.attempt, l.worker, coalesce(l.boot, 0) AS boot, "
	    "CASE WHEN coalesce(l.input_flag, 'exact') = 'exact' AND b.page_size > 0 THEN (l.input_tokens + "
	    "l.output_tokens + "
	    "b.page_size - 1) / b.page_size * b.page_size END AS tokens, "
	    "coalesce(l.finished_ns, l.started_ns) AS ns, l.boot IS NULL AND EXISTS (SELECT 1 FROM boot b WHERE "
	    "b.worker = l.worker) AS adrift FROM leg l LEFT JOIN boot b ON b.boot = l.boot WHERE coalesce(l.role, "
	    "'decode') <> 'prefill'), "
	    "missing AS (SELECT q.request, q.first_ns FROM request q WHERE "
	    "(SELECT count(DISTINCT h.attempt) FROM here h WHERE h.request = q.request AND NOT h.adrift) < "
	    "coalesce((SELECT max(r.attempts) FROM response r WHERE r.request = q.request), 1)) "
	    "SELECT worker, boot, request, ns, tokens FROM here WHERE request NOT IN (SELECT request FROM missing) "
	    "UNION ALL SELECT ?1, 0, request, first_ns, NULL FROM missing "
	    "UNION ALL SELECT ?2, 0, request, min(ns), NULL FROM (SELECT request, coalesce(ns, ?3) AS ns FROM here "
	    "UNION ALL "
	    "SELECT request, coalesce(first_ns, ?3) FROM missing) GROUP BY request",
	    err);
	if (rc == 0)
		rc = sql_int(s, 1, NOWHERE, err);
	if (rc == 0)
		rc = sql_int(s, 2, WORLD, err);
	if (rc == 0)
		rc = sql_int(s, 3, TIME_UNKNOWN, err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		struct life x = {sql_get_int(s, 0), sql_get_int(s, 1), sql_get_int(s, 2), sql_get_time(s, 3),
				 sql_get_time(s, 4)};
		rc = life_add(l, x, err);
	}
	return rc;
}

/* Whatever may have held a leg. Without a worker: a log of which nobody knows whose it was. */
static int load_holes(struct pool_lives *l, struct case_file *c, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	size_t cap = 0;
	int rc = sql_prepare(&s, c,
			     "SELECT coalesce(worker, 0), from_ns, coalesce(to_ns, 9223372036854775807) FROM gap "
			     "WHERE kind NOT IN ('sequence', 'clock', 'clock_step')",
			     err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		if (l->n_holes == cap) {
			cap = cap ? cap * 2 : 32;
			struct hole *more = realloc(l->holes, cap * sizeof(*more));
			if (!more)
				return err_nomem(err);
			l->holes = more;
		}
		l->holes[l->n_holes++] = (struct hole){sql_get_int(s, 0), sql_get_time(s, 1), sql_get_int(s, 2)};
	}
	return rc;
}

int lives_load(struct pool_lives **ret, struct case_file *c, struct err *err)
{
	struct pool_lives *l = calloc(1, sizeof(*l));
	if (!l)
		return err_nomem(err);
	int rc = load_lives(l, c, err);
	if (rc == 0)
		rc = make_houses(l, err);
	if (rc == 0)
		rc = load_holes(l, c, err);
	if (rc < 0) {
		lives_free(l);
		return rc;
	}
	*ret = l;
	return 0;
}

void lives_free(struct pool_lives *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n_houses; i++) {
		free(l->houses[i].readers);
		free(l->houses[i].strong);
		free(l->houses[i].tokens);
	}
	free(l->houses);
	free(l->holes);
	free(l->all);
	free(l->by_name);
	free(l);
}

static struct house *house_find(const struct pool_lives *l, int64_t worker, int64_t boot)
{
	size_t lo = 0, hi = l->n_houses;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		const struct house *h = &l->houses[mid];
		if (h->worker < worker || (h->worker == worker && h->boot < boot))
			lo = mid + 1;
		else
			hi = mid;
	}
	struct house *h = lo < l->n_houses ? &l->houses[lo] : NULL;
	return h && h->worker == worker && h->boot == boot ? h : NULL;
}

/* How many of a house had ended, or may have ended, before ns. */
static size_t ended(const struct pool_lives *l, const struct house *h, int64_t ns)
{
	size_t lo = 0, hi = h->n;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (l->all[h->from + mid].ns <= ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static const struct life *life_of(const struct pool_lives *l, int64_t worker, int64_t boot, int64_t request)
{
	struct life own = {.worker = worker, .boot = boot, .request = request};
	return bsearch(&own, l->by_name, l->n, sizeof(own), by_name);
}

/* The same without one request. */
static int64_t before(const struct pool_lives *l, int64_t worker, int64_t boot, int64_t ns, int64_t but_request)
{
	const struct house *h = house_find(l, worker, boot);
	if (!h)
		return 0;
	const struct life *it = life_of(l, worker, boot, but_request);
	return (int64_t)ended(l, h, ns) - (it && it->ns <= ns);
}

int64_t lives_before(const struct pool_lives *l, int64_t worker, int64_t boot, int64_t ns, int64_t but_request)
{
	if (ns == TIME_UNKNOWN)
		ns = INT64_MAX;
	if (!worker)
		return before(l, WORLD, 0, ns, but_request);
	return before(l, worker, boot, ns, but_request) + before(l, NOWHERE, 0, ns, but_request);
}

/* From when on is something missing of a boot that began then? INT64_MAX: nothing is. */
static int64_t missing_from(const struct pool_lives *l, int64_t worker, int64_t boot_ns)
{
	int64_t from = INT64_MAX;
	for (size_t i = 0; i < l->n_holes; i++) {
		const struct hole *h = &l->holes[i];
		if ((!h->worker || h->worker == worker) && h->to_ns >= boot_ns)
			from = MIN(from, h->from_ns);
	}
	return from;
}

int64_t lives_left_at_most(const struct pool_lives *l, int64_t worker, int64_t boot, int64_t boot_ns, int64_t ns,
			   int64_t but_request)
{
	if (!worker || !boot || boot_ns == TIME_UNKNOWN || ns == TIME_UNKNOWN || before(l, NOWHERE, 0, ns, but_request))
		return UNSAID;
	struct house *h = house_find(l, worker, boot);
	if (h && !h->looked) /* once for all who ask about this boot */
		h->missing_ns = missing_from(l, worker, boot_ns);
	if (h)
		h->looked = true;
	if ((h ? h->missing_ns : missing_from(l, worker, boot_ns)) <= ns)
		return UNSAID;
	int64_t all = h ? h->tokens[ended(l, h, ns)] : 0;
	const struct life *it = life_of(l, worker, boot, but_request);
	return all != UNSAID && it && it->ns <= ns ? all - it->tokens : all;
}

static int mark(struct pool_lives *l, int64_t worker, int64_t boot, struct life_reader r, struct err *err)
{
	struct house *h = house_find(l, worker, boot);
	if (!h)
		return 0;
	if (h->n_readers == h->cap_readers) {
		size_t cap = h->cap_readers ? h->cap_readers * 2 : 16;
		struct life_reader *more = realloc(h->readers, cap * sizeof(*more));
		if (!more)
			return err_nomem(err);
		h->readers = more;
		h->cap_readers = cap;
	}
	h->readers[h->n_readers++] = r;
	return 0;
}

int lives_mark(struct pool_lives *l, int64_t worker, int64_t boot, struct life_reader r, struct err *err)
{
	if (r.ns == TIME_UNKNOWN)
		r.ns = INT64_MAX;
	if (!worker)
		return mark(l, WORLD, 0, r, err);
	int rc = mark(l, worker, boot, r, err);
	return rc == 0 ? mark(l, NOWHERE, 0, r, err) : rc;
}

bool lives_are_marked(const struct pool_lives *l)
{
	for (size_t i = 0; i < l->n_houses; i++)
		if (l->houses[i].n_readers)
			return true;
	return false;
}

static int reader_cmp(const void *a, const void *b)
{
	const struct life_reader *x = a, *y = b;
	int c = cmp64(x->ns, y->ns);
	return c ? c : cmp64(x->request, y->request);
}

static int left_cmp(const void *a, const void *b)
{
	const struct left_to *x = a, *y = b;
	return cmp64(x->request, y->request);
}

/* Strong readers before the i-th, for every i. */
static int count_strong(struct house *h, struct err *err)
{
	qsort(h->readers, h->n_readers, sizeof(*h->readers), reader_cmp);
	h->strong = calloc(h->n_readers + 1, sizeof(*h->strong));
	if (!h->strong)
		return err_nomem(err);
	for (size_t i = 0; i < h->n_readers; i++)
		h->strong[i + 1] = h->strong[i] + h->readers[i].strong;
	return 0;
}

/* Readers at or after the life's end may have read what it left. */
static void left_by(const struct house *h, const struct life *x, struct left_to *ret)
{
	size_t lo = 0, hi = h->n_readers;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (h->readers[mid].ns < x->ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	*ret = (struct left_to){.request = x->request, .first_ns = TIME_UNKNOWN, .last_ns = TIME_UNKNOWN};
	ret->strong = h->strong[h->n_readers] - h->strong[lo];
	ret->weak = h->n_readers - lo - ret->strong;
	struct life_reader own = {x->ns, x->request, false}, *it;
	it = bsearch(&own, h->readers, h->n_readers, sizeof(own), reader_cmp);
	if (it) /* not its own reading */
		it->strong ? ret->strong-- : ret->weak--;
	if (ret->strong + ret->weak == 0)
		return;
	ret->first_ns = h->readers[lo].ns == INT64_MAX ? TIME_UNKNOWN : h->readers[lo].ns;
	ret->last_ns = h->readers[h->n_readers - 1].ns == INT64_MAX ? TIME_UNKNOWN : h->readers[h->n_readers - 1].ns;
}

int lives_left(struct pool_lives *l, struct left_to **ret, size_t *ret_n, struct err *err)
{
	struct left_to *left = malloc((l->n + 1) * sizeof(*left));
	size_t n = 0;
	if (!left)
		return err_nomem(err);
	for (size_t i = 0; i < l->n_houses; i++) {
		struct house *h = &l->houses[i];
		int rc = h->n_readers && !h->strong ? count_strong(h, err) : 0;
		if (rc < 0) {
			free(left);
			return rc;
		}
		for (size_t k = 0; k < h->n && h->n_readers; k++) {
			left_by(h, &l->all[h->from + k], &left[n]);
			n += left[n].strong + left[n].weak > 0;
		}
	}
	qsort(left, n, sizeof(*left), left_cmp);
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		struct left_to *last = kept ? &left[kept - 1] : NULL;
		if (!last || last->request != left[i].request) {
			left[kept++] = left[i];
			continue;
		}
		last->strong += left[i].strong;
		last->weak += left[i].weak;
		if (left[i].first_ns != TIME_UNKNOWN &&
		    (last->first_ns == TIME_UNKNOWN || left[i].first_ns < last->first_ns))
			last->first_ns = left[i].first_ns;
		last->last_ns = MAX(last->last_ns, left[i].last_ns);
	}
	*ret = left;
	*ret_n = kept;
	return 0;
}
