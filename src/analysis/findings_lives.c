/* SPDX-License-Identifier: Apache-2.0 */
/* findings_lives.c - who lived in a worker's pool before whom, without a page log: candidate sets and their sizes
 *
 * A stale page holds what some request left there since the worker's boot. So the owner of what R read is among the
 * requests that began before the read and had ended by then; one whose end is unknown stays among them. That is an
 * upper bound, and only its size is given. Cost: a walk over the legs, then a search for each question; nothing before
 * somebody asks.
 *
 * A log that is lost may only make these sets larger. So a request of which a leg is missing may have lived anywhere
 * (NOWHERE: it is a candidate for every reader), and a reader whose leg is missing may have read from anybody (WORLD:
 * every request, once). And where a worker's clock cannot be trusted, nobody knows which of its requests came first, or in which
 * boot: all that ever lived there are candidates for all that read there.
 *
 * What they left is no more than what they brought: pages that nobody has had since the boot hold nobody's content. Their
 * sizes add up to a bound in tokens, which is given only where nothing is known to be missing between boot and read.
 */
#include <stdlib.h>
#include <string.h>

#include "findings.h"
#include "pagetrail/row_range.h"

struct life {       /* one for every request, so it is kept small */
	int64_t ns; /* end, or start where the end is unknown; INT64_MIN: neither */
	uint32_t request;
	uint32_t tokens; /* whole pages that it had there, all legs together; TOKENS_UNSAID: not known */
};
#define TOKENS_UNSAID UINT32_MAX

struct hole { /* what is missing of a worker's logs, or of logs that may have been anybody's (worker 0) */
	int64_t worker, from_ns, to_ns;
};

/* Workers that are none. */
#define NOWHERE INT64_C(0)
#define WORLD   INT64_MAX

enum { SUM_STEP = 64, REQUESTS_AT_ONCE = 1 << 15 };
/* Daylight saving and a repair: a clock that was set more often than that in one log may have been set unseen as well. */
#define CLOCK_STEPS_TRUSTED "3"

struct house { /* one boot of one worker */
	int64_t worker, boot;
	struct life *lives; /* by ns, then request */
	size_t n, cap;
	struct life_reader *readers;
	size_t n_readers, cap_readers, *strong; /* strong[i]: strong readers among the first i */
	bool looked;                            /* missing_ns is known */
	int64_t missing_ns;                     /* from when on something of this boot is missing */
	int64_t *sums;                          /* tokens of the first SUM_STEP * i lives; UNSAID: not known */
};

struct home { /* where one request lived */
	int64_t worker, boot, ns, tokens;
};

struct lodging { /* all that one request lived in */
	struct home *homes;
	size_t n, cap;
	int64_t last_attempt, n_attempts;
	bool in_world, timeless; /* timeless: a clock that cannot be trusted says when */
	int64_t world_ns;        /* its first end that is known */
};

struct life_tables {
	struct row_range *requests, *legs, *responses;
};

struct pool_lives {
	struct case_file *c;
	const struct served_boot *boots; /* by boot */
	size_t n_boots;
	int64_t *booted; /* workers with a boot, sorted */
	size_t n_booted;
	int64_t *doubtful; /* workers whose clock cannot be trusted, sorted */
	size_t n_doubtful;
	struct row_book *requests, *legs, *responses;
	struct house *houses; /* by worker, boot; NOWHERE is the first */
	size_t n_houses, cap_houses;
	bool homes_there, world_there;
	struct house world;
	struct hole *holes;
	size_t n_holes;
	struct life_tables own; /* around the request asked for last */
	struct lodging lodging; /* its */
	int64_t lodger;
};

static int cmp64(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int id_cmp(const void *a, const void *b)
{
	return cmp64(*(const int64_t *)a, *(const int64_t *)b);
}

static int by_end(const void *a, const void *b, void *ctx)
{
	const struct life *x = a, *y = b;
	(void)ctx;
	int c = cmp64(x->ns, y->ns);
	return c ? c : cmp64(x->request, y->request);
}

static int by_worker(const void *a, const void *b)
{
	const struct house *x = a, *y = b;
	int c = cmp64(x->worker, y->worker);
	return c ? c : cmp64(x->boot, y->boot);
}

static int64_t add_tokens(int64_t a, int64_t b)
{
	return a == UNSAID || b == UNSAID || a > TOKENS_MAX || b > TOKENS_MAX ? UNSAID : a + b;
}

/* ---- where one request lived ---- */

static int64_t whole_pages(const struct row_range *leg, const struct served_boot *b)
{
	struct text flag = row_range_text(leg, LEG_ROW_INPUT_FLAG);
	int64_t in = row_range_int(leg, LEG_ROW_INPUT_TOKENS), out = row_range_int(leg, LEG_ROW_OUTPUT_TOKENS);
	if ((flag.ptr && !text_is(flag, "exact")) || !b || b->page_size <= 0)
		return UNSAID;
	int64_t n = add_tokens(in, out);
	return n < 0 || n > TOKENS_MAX || b->page_size > TOKENS_MAX
		   ? UNSAID
		   : (n + b->page_size - 1) / b->page_size * b->page_size;
}

/* A request that lived there twice counts once, by its first end. */
static int add_home(struct lodging *l, struct home h, struct err *err)
{
	for (size_t i = 0; i < l->n; i++) {
		struct home *x = &l->homes[i];
		if (x->worker != h.worker || x->boot != h.boot)
			continue;
		x->ns = MIN(x->ns, h.ns);
		x->tokens = add_tokens(x->tokens, h.tokens);
		return 0;
	}
	int rc = grow_array((void **)&l->homes, &l->cap, l->n, sizeof(*l->homes), err);
	if (rc == 0)
		l->homes[l->n++] = h;
	return rc;
}

static int64_t first_of(int64_t a, int64_t b)
{
	return a == TIME_UNKNOWN ? b : b == TIME_UNKNOWN ? a : MIN(a, b);
}

static bool among(const int64_t *ids, size_t n, int64_t id)
{
	return n && bsearch(&id, ids, n, sizeof(id), id_cmp);
}

static bool clock_doubtful(const struct pool_lives *l, int64_t worker)
{
	return among(l->doubtful, l->n_doubtful, worker);
}

static int add_leg(const struct pool_lives *l, struct lodging *to, const struct row_range *leg, struct err *err)
{
	int64_t boot = row_range_int(leg, LEG_ROW_BOOT), worker = row_range_int(leg, LEG_ROW_WORKER);
	int64_t ns = row_range_int(leg, LEG_ROW_FINISHED_NS), attempt = row_range_int(leg, LEG_ROW_ATTEMPT);
	if (text_is(row_range_text(leg, LEG_ROW_ROLE), "prefill"))
		return 0;
	const struct served_boot *b = boot == UNSAID ? NULL : boot_find(l->boots, l->n_boots, boot);
	bool adrift = boot == UNSAID && among(l->booted, l->n_booted, worker), timeless = clock_doubtful(l, worker);
	if (ns == TIME_UNKNOWN)
		ns = row_range_int(leg, LEG_ROW_STARTED_NS);
	to->world_ns = to->in_world ? first_of(to->world_ns, ns) : ns;
	to->in_world = true;
	if (!adrift && attempt != UNSAID && (!to->n_attempts || attempt != to->last_attempt)) { /* they ascend */
		to->n_attempts++;
		to->last_attempt = attempt;
	}
	struct home h = {worker == UNSAID ? 0 : worker, boot == UNSAID ? 0 : boot, ns, whole_pages(leg, b)};
	if (timeless)
		h = (struct home){worker, 0, TIME_UNKNOWN, UNSAID};
	to->timeless |= timeless;
	return add_home(to, h, err);
}

/* A request with fewer answering legs than attempts lived nowhere in particular, since it began. */
static int lodge(const struct pool_lives *l, struct life_tables *t, int64_t request, struct lodging *ret,
		 struct err *err)
{
	int64_t attempts = UNSAID, first_ns = TIME_UNKNOWN;
	ret->n = 0;
	ret->n_attempts = 0;
	ret->in_world = ret->timeless = false;
	int rc = row_range_seek(t->legs, request, err);
	while (rc == 1 && row_range_request(t->legs) == request) {
		rc = add_leg(l, ret, t->legs, err);
		if (rc == 0)
			rc = row_range_next(t->legs, err);
	}
	if (ret->timeless)
		ret->world_ns = TIME_UNKNOWN;
	if (rc >= 0)
		rc = row_range_seek(t->responses, request, err);
	while (rc == 1 && row_range_request(t->responses) == request) {
		attempts = MAX(attempts, row_range_int(t->responses, RESPONSE_ATTEMPTS));
		rc = row_range_next(t->responses, err);
	}
	if (rc < 0 || ret->n_attempts >= (attempts == UNSAID ? 1 : attempts))
		return MIN(rc, 0);
	rc = row_range_seek(t->requests, request, err);
	if (rc == 1 && row_range_request(t->requests) == request && !ret->timeless)
		first_ns = row_range_int(t->requests, REQUEST_FIRST_NS);
	ret->n = 0;
	ret->world_ns = ret->in_world ? first_of(ret->world_ns, first_ns) : first_ns;
	ret->in_world = true;
	return rc < 0 ? rc : add_home(ret, (struct home){NOWHERE, 0, first_ns, UNSAID}, err);
}

static void tables_done(struct life_tables *t)
{
	row_range_free(t->requests);
	row_range_free(t->legs);
	row_range_free(t->responses);
	*t = (struct life_tables){0};
}

/* The reader's own. */
static int lodge_own(struct pool_lives *l, int64_t request, struct err *err)
{
	if (l->lodger == request)
		return 0;
	l->lodger = 0;
	int rc = row_range_turn(&l->own.requests, l->requests, request, err);
	if (rc == 0)
		rc = row_range_turn(&l->own.legs, l->legs, request, err);
	if (rc == 0)
		rc = row_range_turn(&l->own.responses, l->responses, request, err);
	if (rc == 0)
		rc = lodge(l, &l->own, request, &l->lodging, err);
	l->lodger = rc == 0 ? request : 0;
	return rc;
}

/* ---- where all lived ---- */

static struct house *house_find(const struct pool_lives *l, int64_t worker, int64_t boot)
{
	struct house key = {.worker = worker, .boot = boot};
	if (worker == WORLD)
		return (struct house *)&l->world;
	return l->n_houses ? bsearch(&key, l->houses, l->n_houses, sizeof(key), by_worker) : NULL;
}

/* There are as many as boots; they are found far more often than they come. */
static int house_get(struct pool_lives *l, int64_t worker, int64_t boot, struct house **ret, struct err *err)
{
	*ret = house_find(l, worker, boot);
	if (*ret)
		return 0;
	int rc = grow_array((void **)&l->houses, &l->cap_houses, l->n_houses, sizeof(*l->houses), err);
	if (rc < 0)
		return rc;
	size_t at = l->n_houses++;
	struct house h = {.worker = worker, .boot = boot};
	for (; at && by_worker(&l->houses[at - 1], &h) > 0; at--)
		l->houses[at] = l->houses[at - 1];
	l->houses[at] = h;
	*ret = &l->houses[at];
	return 0;
}

static int move_in(struct house *h, int64_t ns, int64_t request, int64_t tokens, struct err *err)
{
	int rc = grow_array((void **)&h->lives, &h->cap, h->n, sizeof(*h->lives), err);
	if (rc == 0)
		h->lives[h->n++] = (struct life){
		    ns, (uint32_t)request,
		    tokens == UNSAID || tokens >= (int64_t)TOKENS_UNSAID ? TOKENS_UNSAID : (uint32_t)tokens};
	return rc;
}

static int load_range(struct pool_lives *l, int64_t from, int64_t to, bool world, struct lodging *at, struct err *err)
{
	struct life_tables t = {0};
	int rc = row_range_read(&t.requests, l->requests, from, to, err);
	if (rc == 0)
		rc = row_range_read(&t.legs, l->legs, from, to, err);
	if (rc == 0)
		rc = row_range_read(&t.responses, l->responses, from, to, err);
	for (int64_t request = from; rc == 0 && request <= to; request++) {
		rc = lodge(l, &t, request, at, err);
		if (rc == 0 && world && at->in_world)
			rc = move_in(&l->world, at->world_ns, request, UNSAID, err);
		for (size_t i = 0; rc == 0 && !world && i < at->n; i++) {
			struct house *h;
			rc = house_get(l, at->homes[i].worker, at->homes[i].boot, &h, err);
			if (rc == 0)
				rc = move_in(h, at->homes[i].ns, request, at->homes[i].tokens, err);
		}
	}
	tables_done(&t);
	return rc;
}

static int settle(struct house *h, struct err *err)
{
	int rc = sort_almost(h->lives, h->n, sizeof(*h->lives), by_end, NULL, err);
	h->sums = rc == 0 ? calloc(h->n / SUM_STEP + 1, sizeof(*h->sums)) : NULL;
	if (!h->sums)
		return rc < 0 ? rc : err_nomem(err);
	int64_t sum = 0;
	for (size_t i = 0; i < h->n; i++) {
		if (i % SUM_STEP == 0)
			h->sums[i / SUM_STEP] = sum;
		sum = add_tokens(sum, h->lives[i].tokens == TOKENS_UNSAID ? UNSAID : (int64_t)h->lives[i].tokens);
	}
	if (h->n % SUM_STEP == 0)
		h->sums[h->n / SUM_STEP] = sum;
	return 0;
}

static void house_done(struct house *h)
{
	free(h->lives);
	free(h->readers);
	free(h->strong);
	free(h->sums);
	*h = (struct house){.worker = h->worker, .boot = h->boot};
}

static void move_out(struct pool_lives *l, bool world)
{
	if (world)
		house_done(&l->world);
	for (size_t i = 0; i < l->n_houses && !world; i++)
		house_done(&l->houses[i]);
	l->n_houses = world ? l->n_houses : 0;
}

/* Of all houses, or of the world: done when somebody asks. */
static int load_all(struct pool_lives *l, bool world, struct err *err)
{
	struct lodging at = {0};
	int64_t n = row_book_rows(l->requests);
	int rc = 0;
	for (int64_t from = 1; rc == 0 && from <= n; from += REQUESTS_AT_ONCE) {
		rc = case_stopped(l->c) ? err_set(err, ERR_INTERRUPTED, "stopped") : 0;
		if (rc == 0)
			rc = load_range(l, from, MIN(n, from + REQUESTS_AT_ONCE - 1), world, &at, err);
	}
	free(at.homes);
	if (rc == 0 && world)
		rc = settle(&l->world, err);
	for (size_t i = 0; rc == 0 && !world && i < l->n_houses; i++)
		rc = settle(&l->houses[i], err);
	return rc;
}

static int need(struct pool_lives *l, int64_t worker, struct err *err)
{
	bool world = worker == WORLD, *there = world ? &l->world_there : &l->homes_there;
	int rc = *there ? 0 : load_all(l, world, err);
	if (rc < 0) /* it may be asked again */
		move_out(l, world);
	*there = rc == 0;
	return rc;
}

/* Whatever may have held a leg: no marker that was not found, and no node that did not answer. Without a worker: a log of which nobody knows whose it was. */
static int load_holes(struct pool_lives *l, struct case_file *c, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	size_t cap = 0;
	int rc = sql_prepare(&s, c,
			     "SELECT coalesce(worker, 0), from_ns, coalesce(to_ns, 9223372036854775807) FROM gap "
			     "WHERE kind NOT IN ('sequence', 'clock', 'clock_step', 'markers', 'unanswered')",
			     err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		rc = grow_array((void **)&l->holes, &cap, l->n_holes, sizeof(*l->holes), err);
		if (rc < 0)
			break;
		l->holes[l->n_holes++] = (struct hole){sql_get_int(s, 0), sql_get_time(s, 1), sql_get_int(s, 2)};
	}
	return rc;
}

static int load_doubtful(struct pool_lives *l, struct case_file *c, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	size_t cap = 0;
	int rc = sql_prepare(
	    &s, c,
	    "SELECT worker FROM gap WHERE kind = 'clock' AND worker IS NOT NULL UNION "
	    "SELECT worker FROM gap WHERE kind = 'clock_step' AND worker IS NOT NULL GROUP BY worker, source "
	    "HAVING count(*) > " CLOCK_STEPS_TRUSTED " ORDER BY worker",
	    err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		rc = grow_array((void **)&l->doubtful, &cap, l->n_doubtful, sizeof(*l->doubtful), err);
		if (rc < 0)
			break;
		l->doubtful[l->n_doubtful++] = sql_get_int(s, 0);
	}
	return rc;
}

static int open_books(struct pool_lives *l, struct err *err)
{
	int rc = row_book_open(&l->requests, l->c, ROWS_REQUEST, 1u << REQUEST_FIRST_NS, err);
	if (rc == 0)
		rc = row_book_open(&l->responses, l->c, ROWS_RESPONSE, 1u << RESPONSE_ATTEMPTS, err);
	if (rc == 0)
		rc = row_book_open(&l->legs, l->c, ROWS_LEG,
				   1u << LEG_ROW_ATTEMPT | 1u << LEG_ROW_WORKER | 1u << LEG_ROW_BOOT |
				       1u << LEG_ROW_ROLE | 1u << LEG_ROW_STARTED_NS | 1u << LEG_ROW_FINISHED_NS |
				       1u << LEG_ROW_INPUT_TOKENS | 1u << LEG_ROW_INPUT_FLAG |
				       1u << LEG_ROW_OUTPUT_TOKENS,
				   err);
	return rc;
}

int lives_open(struct pool_lives **ret, struct case_file *c, const struct served_boot *boots, size_t n_boots,
	       struct err *err)
{
	struct pool_lives *l = calloc(1, sizeof(*l));
	if (!l)
		return err_nomem(err);
	l->c = c;
	l->boots = boots;
	l->n_boots = n_boots;
	l->world = (struct house){.worker = WORLD};
	l->booted = malloc((n_boots + 1) * sizeof(*l->booted));
	int rc = l->booted ? open_books(l, err) : err_nomem(err);
	for (size_t i = 0; rc == 0 && i < n_boots; i++)
		l->booted[l->n_booted++] = boots[i].worker;
	if (l->n_booted)
		qsort(l->booted, l->n_booted, sizeof(*l->booted), id_cmp);
	if (rc == 0)
		rc = load_holes(l, c, err);
	if (rc == 0)
		rc = load_doubtful(l, c, err);
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
	move_out(l, false);
	move_out(l, true);
	tables_done(&l->own);
	row_book_close(l->requests);
	row_book_close(l->legs);
	row_book_close(l->responses);
	free(l->lodging.homes);
	free(l->houses);
	free(l->holes);
	free(l->doubtful);
	free(l->booted);
	free(l);
}

/* ---- questions ---- */

/* A reader there read at no time and in no boot that anybody knows. */
static void distrust(const struct pool_lives *l, int64_t worker, int64_t *boot, int64_t *ns)
{
	if (!clock_doubtful(l, worker))
		return;
	*boot = 0;
	*ns = TIME_UNKNOWN;
}

/* How many of a house had ended, or may have ended, before ns. */
static size_t ended(const struct house *h, int64_t ns)
{
	size_t lo = 0, hi = h->n;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (h->lives[mid].ns <= ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int64_t tokens_of(const struct house *h, size_t n)
{
	int64_t sum = h->sums[n / SUM_STEP];
	for (size_t i = n / SUM_STEP * SUM_STEP; i < n; i++)
		sum = add_tokens(sum, h->lives[i].tokens == TOKENS_UNSAID ? UNSAID : (int64_t)h->lives[i].tokens);
	return sum;
}

/* Had the reader itself ended there by then? */
static const struct home *own_end(const struct pool_lives *l, int64_t worker, int64_t boot, int64_t ns)
{
	for (size_t i = 0; i < l->lodging.n; i++) {
		const struct home *h = &l->lodging.homes[i];
		if (h->worker == worker && h->boot == boot)
			return h->ns <= ns ? h : NULL;
	}
	return NULL;
}

/* Without the reader. */
static int64_t before(const struct pool_lives *l, int64_t worker, int64_t boot, int64_t ns)
{
	const struct house *h = house_find(l, worker, boot);
	if (!h)
		return 0;
	bool own =
	    worker == WORLD ? l->lodging.in_world && l->lodging.world_ns <= ns : own_end(l, worker, boot, ns) != NULL;
	return (int64_t)ended(h, ns) - own;
}

int lives_before(struct pool_lives *l, int64_t worker, int64_t boot, int64_t ns, int64_t but_request, int64_t *ret,
		 struct err *err)
{
	distrust(l, worker, &boot, &ns);
	if (ns == TIME_UNKNOWN)
		ns = INT64_MAX;
	int rc = need(l, worker ? worker : WORLD, err);
	if (rc == 0)
		rc = lodge_own(l, but_request, err);
	if (rc == 0)
		*ret = worker ? before(l, worker, boot, ns) + before(l, NOWHERE, 0, ns) : before(l, WORLD, 0, ns);
	return rc;
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

int lives_left_at_most(struct pool_lives *l, int64_t worker, int64_t boot, int64_t boot_ns, int64_t ns,
		       int64_t but_request, int64_t *ret, struct err *err)
{
	*ret = UNSAID;
	distrust(l, worker, &boot, &ns);
	if (!worker || !boot || boot_ns == TIME_UNKNOWN || ns == TIME_UNKNOWN)
		return 0;
	int rc = need(l, worker, err);
	if (rc == 0)
		rc = lodge_own(l, but_request, err);
	if (rc < 0 || before(l, NOWHERE, 0, ns))
		return rc;
	struct house *h = house_find(l, worker, boot);
	if (h && !h->looked) /* once for all who ask about this boot */
		h->missing_ns = missing_from(l, worker, boot_ns);
	if (h)
		h->looked = true;
	if ((h ? h->missing_ns : missing_from(l, worker, boot_ns)) <= ns)
		return 0;
	int64_t all = h ? tokens_of(h, ended(h, ns)) : 0;
	const struct home *own = own_end(l, worker, boot, ns);
	*ret = all != UNSAID && own ? all - own->tokens : all;
	return 0;
}

static int mark(struct pool_lives *l, int64_t worker, int64_t boot, struct life_reader r, struct err *err)
{
	int rc = need(l, worker, err);
	struct house *h = rc == 0 ? house_find(l, worker, boot) : NULL;
	if (h && h->n)
		rc = grow_array((void **)&h->readers, &h->cap_readers, h->n_readers, sizeof(r), err);
	if (rc == 0 && h && h->n)
		h->readers[h->n_readers++] = r;
	return rc;
}

int lives_mark(struct pool_lives *l, int64_t worker, int64_t boot, struct life_reader r, struct err *err)
{
	distrust(l, worker, &boot, &r.ns);
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
	return l->world.n_readers > 0;
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
	struct life_reader own = {x->ns == TIME_UNKNOWN ? INT64_MAX : x->ns, x->request, false}, *it;
	it = bsearch(&own, h->readers, h->n_readers, sizeof(own), reader_cmp);
	if (it) /* not its own reading */
		it->strong ? ret->strong-- : ret->weak--;
	if (ret->strong + ret->weak == 0)
		return;
	ret->first_ns = h->readers[lo].ns == INT64_MAX ? TIME_UNKNOWN : h->readers[lo].ns;
	ret->last_ns = h->readers[h->n_readers - 1].ns == INT64_MAX ? TIME_UNKNOWN : h->readers[h->n_readers - 1].ns;
}

/* Who lived in the house, and was read. */
static int left_of_house(struct house *h, struct left_to *left, size_t *n, struct err *err)
{
	int rc = h->n_readers && !h->strong ? count_strong(h, err) : 0;
	for (size_t k = 0; rc == 0 && k < h->n && h->n_readers; k++) {
		left_by(h, &h->lives[k], &left[*n]);
		*n += left[*n].strong + left[*n].weak > 0;
	}
	return rc;
}

int lives_left(struct pool_lives *l, struct left_to **ret, size_t *ret_n, struct err *err)
{
	size_t n = 0, room = l->world.n_readers ? l->world.n + 1 : 1;
	for (size_t i = 0; i < l->n_houses; i++)
		room += l->houses[i].n_readers ? l->houses[i].n : 0;
	struct left_to *left = malloc(room * sizeof(*left));
	if (!left)
		return err_nomem(err);
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < l->n_houses; i++)
		rc = left_of_house(&l->houses[i], left, &n, err);
	if (rc == 0)
		rc = left_of_house(&l->world, left, &n, err);
	if (rc < 0) {
		free(left);
		return rc;
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
