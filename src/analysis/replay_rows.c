/* SPDX-License-Identifier: Apache-2.0 */
/* replay_rows.c - replay(request): whose pages a request was most likely given, where a model of the allocator is known
 *
 * Readers are the requests of which it is known that their prompt did not arrive: the prefill leg refused it or worked
 * on less of it, or no prefill leg is known and the prompt is at or over every limit of the case. Each boot of a decode
 * worker that has one is replayed, from the legs' lengths and times alone. Where its worker has a page log, that log is
 * only compared with: it decides nothing here.
 */
#include <stdlib.h>
#include <string.h>

#include "replay_case.h"

enum replay_column {
	R_READER,
	R_READER_TENANT,
	R_OWNER,
	R_OWNER_TENANT,
	R_CROSS,
	R_PAGES,
	R_TOKENS,
	R_SHARE,
	R_AT,
	R_WORKER,
	R_BOOT,
	R_GRADE,
	R_TRUST,
	R_UNPLACED,
	R_AGREEMENT,
	R_COMPARED,
	R_MODEL,
	R_ASSUMPTIONS,
	R_REFS,
	R_READER_ID,
	R_OWNER_ID,
	R_ARGUMENT
};
static const struct rowset_column replay_columns[] = {
    {"reader_request", "TEXT", false},
    {"reader_tenant", "TEXT", false},
    {"owner_request", "TEXT", false},
    {"owner_tenant", "TEXT", false},
    {"cross_tenant", "TEXT", false},
    {"pages", "INTEGER", false},
    {"tokens_at_most", "INTEGER", false},
    {"share", "REAL", false},
    {"read_at", "INTEGER", false},
    {"worker", "TEXT", false},
    {"boot", "INTEGER", false},
    {"grade", "TEXT", false},
    {"trust", "TEXT", false},
    {"unplaced", "INTEGER", false},
    {"agreement", "REAL", false},
    {"compared", "INTEGER", false},
    {"model", "TEXT", false},
    {"assumptions", "TEXT", false},
    {"refs", "JSON", false},
    {"reader_id", "INTEGER", false},
    {"owner_id", "INTEGER", false},
    {"request", "INTEGER", true},
};

static const char assumptions[] =
    "modelled, not observed: pages are taken lowest number first, freed pages wait until the free list runs short; the "
    "worker keeps no prefix cache and no draft model's pages; pages of the whole prompt are taken at the leg's start, "
    "in order of arrival; a prompt that arrived filled all its pages; tokens came evenly";

static const char *const why_not[] = {
    [NO_ENGINE] = "not replayed: no model of this engine's allocator",
    [NO_VERSION] = "not replayed: no model of this version, or the version is not known",
    [NO_START] = "not replayed: the boot's beginning is not known",
    [NO_SIZE] = "not replayed: the pool's or the page's size is not known",
    [HAS_CACHE] = "not replayed: this worker was told to keep a prefix cache or sparse pages",
    [NO_LENGTH] = "not replayed: length or time of the request is not known",
    [NOT_PLACED] = "not replayed: by its times and lengths the pool had no room for it",
    [TOO_LONG] = "not replayed: too many pages",
};

static void replay_close(void *state)
{
	struct replay_rows *x = state;
	if (!x)
		return;
	answers_drop(x->answers);
	free(x->jobs);
	free(x->legs);
	free(x->lines);
	free(x->nowhere);
	arena_done(&x->arena);
	sql_end(x->names);
	sql_end(x->refs);
	buf_done(&x->list);
	buf_done(&x->text);
	free(x);
}

/* ---- a page log beside the model ---- */
struct seen { /* of a reader's foreign pages in a page log */
	uint32_t reader, owner;
	uint64_t pages;
};

static int seen_cmp(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	if (x->reader != y->reader)
		return x->reader < y->reader ? -1 : 1;
	return (x->owner > y->owner) - (x->owner < y->owner);
}

static const struct lineage_worker *log_of(const struct lineage *l, int64_t worker)
{
	for (uint32_t w = 0; l && w < l->n_workers; w++)
		if (l->workers[w].id == worker)
			return &l->workers[w];
	return NULL;
}

/* Reads of what was there before: nobody's, or an earlier request's. */
static int load_seen(const struct lineage *l, const struct lineage_worker *w, struct seen **ret, size_t *ret_n,
		     struct err *err)
{
	*ret = malloc((w->n_edges + 1) * sizeof(**ret));
	*ret_n = 0;
	if (!*ret)
		return err_nomem(err);
	for (size_t i = 0; i < w->n_edges; i++) {
		struct edge *e = &w->edges[i];
		if (e->kind != EDGE_STALE && e->kind != EDGE_UNINITIALISED)
			continue;
		int64_t owner = e->owner ? actors_get(l->actors, e->owner).request : 0;
		/* an owner that no request is known for is none of the model's: UINT32_MAX */
		(*ret)[(*ret_n)++] = (struct seen){e->reader,
						   !e->owner ? 0
						   : owner   ? (uint32_t)owner
							     : UINT32_MAX,
						   runset_pages(&e->pages)};
	}
	if (*ret_n)
		qsort(*ret, *ret_n, sizeof(**ret), seen_cmp);
	return 0;
}

/* Pages on which the model and the log name the same owner, of the larger of both sums. */
static void compare(struct job *j, const struct pool_share *shares, size_t n_shares, const struct seen *seen,
		    size_t n_seen)
{
	uint64_t model = 0, log = 0;
	size_t i = 0, k = 0;
	for (size_t s = 0; s < n_shares; s++)
		model += shares[s].pages;
	for (size_t s = 0; s < n_seen; s++)
		log += seen[s].pages;
	while (i < n_shares && k < n_seen) {
		if (shares[i].owner == seen[k].owner)
			j->agreed += MIN(shares[i].pages, seen[k].pages);
		if (shares[i].owner <= seen[k].owner)
			i++;
		else
			k++;
	}
	j->most += MAX(model, log);
	j->compared++;
}

static size_t seen_of(const struct seen *seen, size_t n, uint32_t reader, size_t *ret_n)
{
	size_t lo = 0, hi = n, from;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (seen[mid].reader < reader)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (from = lo; lo < n && seen[lo].reader == reader; lo++)
		;
	*ret_n = lo - from;
	return from;
}

/* ---- one boot ---- */
static int add_line(struct replay_rows *x, struct line line, struct err *err)
{
	if (x->n_lines == x->lines_cap) {
		x->lines_cap = x->lines_cap ? x->lines_cap * 2 : 256;
		struct line *more = realloc(x->lines, x->lines_cap * sizeof(*more));
		if (!more)
			return err_nomem(err);
		x->lines = more;
	}
	x->lines[x->n_lines++] = line;
	return 0;
}

struct result {
	struct pool_replay replay;
	struct pool_leg *legs;
	struct seen *seen;
	size_t n_seen;
	const struct lineage_worker *log;
};

static int lines_of(struct replay_rows *x, struct job *j, const struct result *r, struct err *err)
{
	uint64_t unplaced = 0;
	size_t at = 0;
	int rc = 0;
	for (size_t i = 0; i < j->n && rc == 0; i++) {
		const struct leg_row *leg = &x->legs[j->from + i];
		struct line line = {.job = (uint32_t)(j - x->jobs),
				    .leg = (uint32_t)(j->from + i),
				    .unplaced = unplaced + nowhere_between(x, j->started_ns, leg->leg.start_ns),
				    .why = j->why};
		bool placed = j->why == REPLAYED && r->legs[i].placed;
		size_t n = 0;
		while (at + n < r->replay.n && r->replay.shares[at + n].leg == i)
			n++;
		unplaced += leg->vague || !placed;
		if (leg->leg.reads && !placed && j->why == REPLAYED)
			line.why = leg->vague ? NO_LENGTH : r->replay.too_long ? TOO_LONG : NOT_PLACED;
		if (placed && leg->leg.reads && r->log) {
			uint32_t actor = actors_of_request(x->answers->lineage->actors, leg->request);
			const struct cover *c = r->log->sweep ? sweep_cover(r->log->sweep, actor) : NULL;
			size_t n_seen, from = seen_of(r->seen, r->n_seen, actor, &n_seen);
			if (c && !c->broken)
				compare(j, r->replay.shares + at, n, r->seen + from, n_seen);
		}
		bool wanted = leg->leg.reads && (!x->only || x->only == leg->request);
		for (size_t k = 0; k < n && wanted && rc == 0; k++) {
			line.owner = r->replay.shares[at + k].owner;
			line.pages = r->replay.shares[at + k].pages;
			rc = add_line(x, line, err);
		}
		if (wanted && !placed && rc == 0)
			rc = add_line(x, line, err);
		at += n;
	}
	return rc;
}

static bool stopped(const void *c)
{
	return case_stopped(c);
}

static int one_boot(struct replay_rows *x, struct job *j, struct err *err)
{
	const struct pool_model model = {.pool_pages = j->pool_pages, .page_size = (uint32_t)j->page_size};
	struct result r = {.legs = calloc(j->n + 1, sizeof(*r.legs))};
	int rc = r.legs ? 0 : err_nomem(err);
	for (size_t i = 0; i < j->n && rc == 0; i++)
		r.legs[i] = x->legs[j->from + i].leg;
	if (j->why == REPLAYED && rc == 0)
		rc = pool_replay(&r.replay, &model, r.legs, j->n, stopped, x->a->c, err);
	for (size_t i = 0; i < j->n && rc == 0; i++)
		x->legs[j->from + i].leg = r.legs[i];
	j->retracted = r.replay.retracted > 0;
	r.log = log_of(x->answers->lineage, j->worker);
	if (rc == 0 && r.log)
		rc = load_seen(x->answers->lineage, r.log, &r.seen, &r.n_seen, err);
	if (rc == 0)
		rc = lines_of(x, j, &r, err);
	pool_replay_done(&r.replay);
	free(r.legs);
	free(r.seen);
	return rc;
}

/* Is there a page log to compare with? Only then is it swept. */
static int has_page_log(struct replay_rows *x, bool *ret, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, x->a->c, "SELECT has_page_log FROM worker WHERE worker = ?1", err);
	*ret = false;
	for (size_t i = 0; i < x->n_jobs && rc == 0; i++) {
		if (!x->jobs[i].wanted || x->jobs[i].why != REPLAYED)
			continue;
		rc = sql_int(s, 1, x->jobs[i].worker, err);
		if (rc == 0)
			rc = sql_step(s, err);
		*ret |= rc == 1 && sql_get_int(s, 0);
		sql_reset(s);
		rc = MIN(rc, 0);
	}
	return rc;
}

static int compute(struct replay_rows *x, struct err *err)
{
	bool logs = false;
	int rc = replay_load(x, err);
	if (rc == 0)
		rc = has_page_log(x, &logs, err);
	if (rc == 0)
		rc = analysis_answers(x->a, logs ? ANSWERS_LINEAGE : ANSWERS_NAMES, &x->answers, err);
	for (size_t i = 0; i < x->n_jobs && rc == 0; i++)
		if (x->jobs[i].wanted)
			rc = one_boot(x, &x->jobs[i], err);
	return rc;
}

/* ---- rows ---- */
static int replay_open(void *ctx, const struct text *args, void **ret, struct err *err)
{
	struct replay_rows *x = calloc(1, sizeof(*x));
	if (!x)
		return err_nomem(err);
	x->a = ctx;
	x->list = BUF_INIT(64 * KIB);
	x->text = BUF_INIT(KIB);
	arena_init(&x->arena, ARENA_MAX_BYTES);
	int rc = args[0].ptr ? request_argument(x->a->c, args[0], &x->only, err) : 0;
	if (rc == 0)
		rc = compute(x, err);
	if (rc == 0)
		rc = sql_prepare(&x->names, x->a->c, "SELECT name, coalesce(tenant, 0) FROM request WHERE request = ?1",
				 err);
	if (rc == 0)
		rc = sql_prepare(&x->refs, x->a->c, "SELECT refs FROM leg WHERE leg = ?1", err);
	if (rc < 0) {
		replay_close(x);
		return rc;
	}
	*ret = x;
	return 0;
}

/* Name and tenant of a request; *ret_tenant 0: unknown. */
static int put_name(struct replay_rows *x, int64_t request, struct rowset *row, unsigned name, unsigned tenant,
		    int64_t *ret_tenant, struct err *err)
{
	int rc = sql_int(x->names, 1, request, err);
	if (rc == 0)
		rc = sql_step(x->names, err);
	if (rc == 1) {
		*ret_tenant = sql_get_int(x->names, 1);
		rowset_text(row, name, sql_get_text(x->names, 0));
		rowset_text(row, tenant, answers_tenant(x->answers, *ret_tenant));
	}
	sql_reset(x->names);
	return MIN(rc, 0);
}

static int put_refs(struct replay_rows *x, const struct line *l, struct rowset *row, struct err *err)
{
	buf_clear(&x->list);
	int rc = buf_add_char(&x->list, '[', err);
	if (rc == 0)
		rc = sql_int(x->refs, 1, x->legs[l->leg].id, err);
	if (rc == 0)
		rc = sql_step(x->refs, err);
	if (rc == 1)
		rc = refs_put_all(&x->list, sql_get_text(x->refs, 0), err);
	sql_reset(x->refs);
	if (rc == 0)
		rc = buf_add_char(&x->list, ']', err);
	if (rc == 0)
		rowset_text(row, R_REFS, buf_text(&x->list));
	return MIN(rc, 0);
}

static void put_share(const struct replay_rows *x, const struct line *l, struct rowset *row)
{
	const struct job *j = &x->jobs[l->job];
	const struct leg_row *leg = &x->legs[l->leg];
	rowset_int(row, R_PAGES, (int64_t)l->pages);
	if (j->page_size <= TOKENS_MAX / (int64_t)POOL_MAX_PAGES)
		rowset_int(row, R_TOKENS, (int64_t)l->pages * j->page_size);
	rowset_real(row, R_SHARE, 100.0 * (double)l->pages / (double)leg->leg.foreign);
	rowset_text(row, R_GRADE, TEXT("modelled"));
	bool whole = !l->unplaced && !leg->vague && !j->draft && !j->retracted && leg->leg.start_ns <= j->gap_ns;
	rowset_text(row, R_TRUST, whole ? TEXT("whole") : TEXT("in_part"));
	rowset_int(row, R_UNPLACED, (int64_t)l->unplaced);
	if (j->most) {
		rowset_real(row, R_AGREEMENT, 100.0 * (double)j->agreed / (double)j->most);
		rowset_int(row, R_COMPARED, (int64_t)j->compared);
	}
	rowset_text(row, R_MODEL, TEXT(REPLAY_MODEL));
	rowset_text(row, R_ASSUMPTIONS, text_of(assumptions));
}

static int replay_next(void *state, struct rowset *row, struct err *err)
{
	struct replay_rows *x = state;
	if (x->at == x->n_lines)
		return 0;
	const struct line *l = &x->lines[x->at++];
	const struct job *j = &x->jobs[l->job];
	const struct leg_row *leg = &x->legs[l->leg];
	int64_t reader = 0, owner = 0;
	int rc = put_name(x, leg->request, row, R_READER, R_READER_TENANT, &reader, err);
	if (rc == 0 && l->owner) {
		rc = put_name(x, l->owner, row, R_OWNER, R_OWNER_TENANT, &owner, err);
		rowset_text(row, R_CROSS,
			    text_of(tri_name(!reader || !owner ? TRI_UNKNOWN
					     : reader == owner ? TRI_NO
							       : TRI_YES)));
		rowset_int(row, R_OWNER_ID, l->owner);
	}
	if (rc == 0)
		rc = put_refs(x, l, row, err);
	if (rc < 0)
		return rc;
	rowset_time(row, R_AT, leg->leg.start_ns);
	rowset_text(row, R_WORKER, j->name);
	rowset_int(row, R_BOOT, j->boot);
	rowset_int(row, R_READER_ID, leg->request);
	if (l->why == REPLAYED)
		put_share(x, l, row);
	else
		rowset_text(row, R_ASSUMPTIONS, text_of(why_not[l->why]));
	return 1;
}

const struct rowset_spec replay_rowset = {
    .name = "replay",
    .columns = replay_columns,
    .n_columns = ARRAY_SIZE(replay_columns),
    .open = replay_open,
    .next = replay_next,
    .close = replay_close,
};
