/* SPDX-License-Identifier: Apache-2.0 */
/* findings_exposed.c - exposed(): the other side, one row per request, by what was read of it
 *
 * Mirrors the classes of the readers, strongest first: E1 read by a confirmed response (C1); E2 by a probable one,
 * known from a page log; a marker of its own in another's answer is E1 too; E3 may have been read: it is in the candidate set of a C1 or C2 response whose owners are not
 * known; E4 nothing of it was delivered to anybody; E5 could not be determined: in the candidate set of C3 or C5
 * responses only.
 */
#include <stdlib.h>
#include <string.h>

#include "register.h"

enum exposed_column {
	E_REQUEST,
	E_TENANT,
	E_CLASS,
	E_READERS,
	E_READER_TENANTS,
	E_PAGES,
	E_FIRST,
	E_LAST,
	E_GRADE,
	E_REFS,
	E_STARTED,
	E_REQUEST_ID
};
static const struct rowset_column exposed_columns[] = {
    {"request", "TEXT", false},
    {"tenant", "TEXT", false},
    {"class", "TEXT", false},
    {"readers", "INTEGER", false},
    {"reader_tenants", "INTEGER", false},
    {"pages", "INTEGER", false},
    {"first_read_at", "INTEGER", false},
    {"last_read_at", "INTEGER", false},
    {"grade", "TEXT", false},
    {"refs", "JSON", false},
    {"started_at", "INTEGER", false},
    {"request_id", "INTEGER", false},
};
enum { REFS_BYTES = 1024 };

struct owned { /* an edge, seen from its owner */
	uint32_t owner, worker;
	const struct edge *edge;
};

struct content { /* whose marker was seen in answers to others */
	int64_t request, readers, tenants;
};

/* What all questions about this side begin with; computed once. */
struct exposed_side {
	struct owned *edges; /* by owner */
	size_t n_edges;
	struct left_to *left; /* candidates, by request */
	size_t n_left;
	struct content *content; /* markers of it, by request */
	size_t n_content;
	uint8_t *class_of;            /* by actor: strongest class of its responses; 0 none */
	struct row_book *requests;    /* the population of owners: every request */
	struct tenant_rows of_tenant; /* requests - 1 */
};

struct sums { /* of the edges of one owner */
	uint32_t readers, tenants;
	uint64_t pages;
	int64_t first_ns, last_ns;
	unsigned best; /* strongest class of a reader; 0: no edge */
};

struct exposed {
	struct case_file *c;
	struct answers *answers;
	struct exposed_side *side;
	const uint32_t *list; /* requests - 1 of one tenant; NULL: all */
	bool of_tenant;       /* nobody knows whose those are that are no requests */
	size_t at, n;
	size_t at_edge, at_left, at_content;
	struct row_range *range;
	/* the row at hand */
	uint32_t actor;
	int64_t request;             /* 0: an owner that is no request of the case */
	const struct left_to *left;  /* NULL: no candidate */
	const struct content *found; /* NULL: no marker of it was seen elsewhere */
	struct sums sums;
	unsigned class_id;
	bool by_pages;
	struct buf refs; /* of its edges, without the list's end */
};

void exposed_side_free(struct exposed_side *x)
{
	if (!x)
		return;
	free(x->edges);
	free(x->left);
	free(x->content);
	free(x->class_of);
	row_book_close(x->requests);
	tenant_rows_done(&x->of_tenant);
	free(x);
}

static void exposed_close(void *state)
{
	struct exposed *x = state;
	if (!x)
		return;
	row_range_free(x->range);
	answers_drop(x->answers);
	buf_done(&x->refs);
	free(x);
}

static int owned_cmp(const void *a, const void *b)
{
	const struct owned *x = a, *y = b;
	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	if (x->edge->pool != y->edge->pool)
		return x->edge->pool < y->edge->pool ? -1 : 1;
	return (x->edge > y->edge) - (x->edge < y->edge);
}

static int load_edges(struct exposed_side *x, const struct findings *f, struct err *err)
{
	x->edges = malloc((f->n_reads + 1) * sizeof(*x->edges));
	if (!x->edges)
		return err_nomem(err);
	for (size_t i = 0; i < f->n_reads; i++)
		if (f->reads[i].edge->certain)
			x->edges[x->n_edges++] =
			    (struct owned){f->reads[i].edge->owner, f->reads[i].worker, f->reads[i].edge};
	qsort(x->edges, x->n_edges, sizeof(*x->edges), owned_cmp);
	return 0;
}

/* Classes by reader, and readers whose owners are only candidates. */
static int load_readers(struct exposed_side *x, struct findings *f, struct err *err)
{
	const struct actors *actors = f->lineage->actors;
	x->class_of = calloc((size_t)actors_count(actors) + 1, 1);
	if (!x->class_of)
		return err_nomem(err);
	struct pool_lives *lives;
	int rc = findings_lives(f, &lives, err);
	bool mark = rc == 0 && !lives_are_marked(lives);
	for (size_t i = 0; rc == 0 && i < f->n; i++) {
		struct finding r;
		rc = case_stopped(f->c) ? err_set(err, ERR_INTERRUPTED, "stopped")
					: findings_get(f, findings_at(f, i), &r, err);
		if (rc < 0)
			break;
		uint8_t *c = &x->class_of[actors_of_request(actors, r.request)];
		if (!*c || r.c.class_id < *c)
			*c = (uint8_t)r.c.class_id;
		if (!mark || !finding_has_candidates(&r) || r.c.class_id == CLASS_C4)
			continue;
		struct life_reader reader = {r.read_ns, r.request, r.c.class_id <= CLASS_C2};
		rc = lives_mark(lives, finding_place(f, &r), r.decode_boot, reader, err);
	}
	return rc == 0 ? lives_left(lives, &x->left, &x->n_left, err) : rc;
}

static int load_content(struct exposed_side *x, struct case_file *c, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	size_t cap = 0;
	int rc = sql_prepare(
	    &s, c,
	    "SELECT s.planted_request, count(DISTINCT s.seen_request), count(DISTINCT q.tenant) FROM sighting s "
	    "JOIN request q ON q.request = s.seen_request WHERE s.verdict = 'foreign' AND s.planted_request IS "
	    "NOT NULL GROUP BY s.planted_request ORDER BY s.planted_request",
	    err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		rc = grow_array((void **)&x->content, &cap, x->n_content, sizeof(*x->content), err);
		if (rc == 0)
			x->content[x->n_content++] =
			    (struct content){sql_get_int(s, 0), sql_get_int(s, 1), sql_get_int(s, 2)};
	}
	return rc;
}

static int side_make(struct exposed_side **ret, struct case_file *c, struct findings *f, struct err *err)
{
	struct exposed_side *x = calloc(1, sizeof(*x));
	int rc = x ? load_edges(x, f, err) : err_nomem(err);
	if (rc == 0)
		rc = load_readers(x, f, err);
	if (rc == 0)
		rc = load_content(x, c, err);
	if (rc == 0)
		rc = row_book_open(&x->requests, c, ROWS_REQUEST, 1u << REQUEST_FIRST_NS | 1u << REQUEST_NAME, err);
	if (rc < 0) {
		exposed_side_free(x);
		return rc;
	}
	*ret = x;
	return 0;
}

static uint32_t tenant_of_request(const void *ctx, size_t i, uint32_t *row)
{
	*row = (uint32_t)i;
	return (uint32_t)actors_get(ctx, (uint32_t)i + 1).tenant;
}

static int choose_tenant(struct exposed *x, struct text name, struct err *err)
{
	const struct actors *actors = x->answers->lineage->actors;
	struct tenant_rows *t = &x->side->of_tenant;
	x->of_tenant = true;
	int rc = t->rows ? 0 : tenant_rows_make(t, x->n, tenant_of_request, actors, err);
	if (rc == 0 && t->rows)
		x->list = tenant_rows_of(t, answers_tenant_named(x->answers, name), &x->n);
	return rc;
}

static int exposed_open(void *ctx, const struct text *args, void **ret, struct err *err)
{
	struct analysis *a = ctx;
	struct exposed *x = calloc(1, sizeof(*x));
	if (!x)
		return err_nomem(err);
	x->refs = BUF_INIT(64 * KIB);
	x->c = a->c;
	int rc = analysis_answers(a, ANSWERS_FINDINGS, &x->answers, err);
	if (rc == 0 && !x->answers->exposed)
		rc = side_make(&x->answers->exposed, a->c, x->answers->findings, err);
	if (rc == 0) {
		x->side = x->answers->exposed;
		x->n = (size_t)row_book_rows(x->side->requests);
	}
	if (rc == 0 && args[ROWSET_KEY].ptr)
		rc = choose_tenant(x, args[ROWSET_KEY], err);
	if (rc < 0) {
		exposed_close(x);
		return rc;
	}
	*ret = x;
	return 0;
}

static void count_reader(const struct exposed *x, size_t from, size_t at, struct sums *s)
{
	const struct owned *edges = x->side->edges;
	const struct actors *actors = x->answers->lineage->actors;
	uint32_t reader = edges[at].edge->reader;
	int64_t tenant = actors_get(actors, reader).tenant;
	bool fresh = true, fresh_tenant = tenant != 0;
	for (size_t i = from; i < at; i++) {
		fresh &= edges[i].edge->reader != reader;
		fresh_tenant &= actors_get(actors, edges[i].edge->reader).tenant != tenant;
	}
	s->readers += fresh;
	s->tenants += fresh_tenant;
}

/* Takes the edges of the owner at x->at_edge; pages that several read count once. */
static int sum_edges(struct exposed *x, uint32_t owner, struct sums *s, struct err *err)
{
	const struct owned *edges = x->side->edges;
	struct runset pages = {0};
	size_t from = x->at_edge;
	int rc = 0;
	*s = (struct sums){.first_ns = TIME_UNKNOWN, .last_ns = TIME_UNKNOWN};
	for (; rc == 0 && x->at_edge < x->side->n_edges && edges[x->at_edge].owner == owner; x->at_edge++) {
		const struct owned *o = &edges[x->at_edge], *before = x->at_edge > from ? o - 1 : NULL;
		const struct edge *e = o->edge;
		if (before && (before->worker != o->worker || before->edge->pool != e->pool)) {
			s->pages += runset_pages(&pages);
			runset_done(&pages);
		}
		for (uint32_t i = 0; rc == 0 && i < e->pages.n; i++)
			rc = runset_add(&pages, e->pages.runs[i].first, e->pages.runs[i].count, err);
		count_reader(x, from, x->at_edge, s);
		unsigned c = x->side->class_of[e->reader];
		c = c ? c : CLASS_C3; /* a reader that is no response of this case */
		if (!s->best || c < s->best)
			s->best = c;
		if (e->first_ns != TIME_UNKNOWN && (s->first_ns == TIME_UNKNOWN || e->first_ns < s->first_ns))
			s->first_ns = e->first_ns;
		s->last_ns = MAX(s->last_ns, e->last_ns);
		if (rc == 0 && x->refs.len < REFS_BYTES)
			rc = refs_put(&x->refs, e->read.source, e->read.off, e->read.len, err);
		if (rc == 0 && x->refs.len < REFS_BYTES)
			rc = refs_put(&x->refs, e->write.source, e->write.off, e->write.len, err);
	}
	s->pages += runset_pages(&pages);
	runset_done(&pages);
	return rc;
}

static void judge(struct exposed *x)
{
	static const unsigned by_reader[] = {4, 1, 2, 3, 4, 5}; /* C1 … C5 */
	const struct sums *s = &x->sums;
	unsigned physical = s->best ? by_reader[s->best] : 4, candidate = !x->left ? 4 : x->left->strong ? 3 : 5;
	x->by_pages = s->best && !(physical == 4 && candidate != 4);
	x->by_pages &= !x->found || physical == 1;
	x->class_id = x->by_pages ? physical : x->found ? 1 : candidate;
}

/* All that is known of the owner x->actor; owners are visited in their order, some are left out. */
static int visit(struct exposed *x, struct err *err)
{
	const struct exposed_side *side = x->side;
	x->left = NULL;
	x->found = NULL;
	x->sums = (struct sums){0};
	buf_clear(&x->refs);
	int rc = buf_add_char(&x->refs, '[', err);
	if (x->request) {
		while (x->at_left < side->n_left && side->left[x->at_left].request < x->request)
			x->at_left++;
		if (x->at_left < side->n_left && side->left[x->at_left].request == x->request)
			x->left = &side->left[x->at_left];
		while (x->at_content < side->n_content && side->content[x->at_content].request < x->request)
			x->at_content++;
		if (x->at_content < side->n_content && side->content[x->at_content].request == x->request)
			x->found = &side->content[x->at_content];
	}
	while (x->at_edge < side->n_edges && side->edges[x->at_edge].owner < x->actor)
		x->at_edge++;
	if (rc == 0 && x->at_edge < side->n_edges && side->edges[x->at_edge].owner == x->actor)
		rc = sum_edges(x, x->actor, &x->sums, err);
	judge(x);
	return rc;
}

static int exposed_next(void *state, struct rowset *row, struct err *err)
{
	struct exposed *x = state;
	const struct actors *actors = x->answers->lineage->actors;
	(void)row;
	if (x->at < x->n) {
		x->request = (x->list ? x->list[x->at] : (int64_t)x->at) + 1;
		x->actor = actors_of_request(actors, x->request);
		x->at++;
	} else { /* owners that are no requests of the case: their numbers come behind those of all requests */
		int64_t requests = row_book_rows(x->side->requests);
		while (x->at_edge < x->side->n_edges && x->side->edges[x->at_edge].owner <= requests)
			x->at_edge++;
		if (x->of_tenant || x->at_edge == x->side->n_edges)
			return 0;
		x->request = 0;
		x->actor = x->side->edges[x->at_edge].owner;
	}
	int rc = visit(x, err);
	return rc < 0 ? rc : 1;
}

/* ---- cells ---- */

/* Name and begin of the request at hand. */
static int put_request(struct exposed *x, struct rowset *row, struct err *err)
{
	struct text name;
	if (!x->request) {
		int rc = actors_name(x->answers->lineage->actors, x->actor, &name, err);
		if (rc == 0)
			rowset_text(row, E_REQUEST, name);
		return rc;
	}
	int rc = row_range_turn(&x->range, x->side->requests, x->request, err);
	if (rc == 0)
		rc = row_range_seek(x->range, x->request, err);
	if (rc == 0)
		rc = err_set(err, ERR_DAMAGED, "a request is not there");
	if (rc < 0)
		return rc;
	rowset_text(row, E_REQUEST, row_range_text(x->range, REQUEST_NAME));
	rowset_time(row, E_STARTED, row_range_int(x->range, REQUEST_FIRST_NS));
	return 0;
}

static int put_refs(struct exposed *x, struct rowset *row, struct err *err)
{
	int rc = x->found ? marker_refs(x->c, MARKERS_LOST, x->found->request, &x->refs, err) : 0;
	if (rc == 0)
		rc = buf_add_char(&x->refs, ']', err);
	if (rc == 0)
		rowset_text(row, E_REFS, buf_text(&x->refs));
	return rc;
}

/* How many read it, and when. */
static void put_readers(struct exposed *x, struct rowset *row)
{
	const struct sums *s = &x->sums;
	if (x->by_pages) {
		rowset_int(row, E_READERS, s->readers);
		rowset_int(row, E_READER_TENANTS, s->tenants);
		rowset_int(row, E_PAGES, (int64_t)s->pages);
		rowset_time(row, E_FIRST, s->first_ns);
		rowset_time(row, E_LAST, s->last_ns);
		rowset_const(row, E_GRADE, "physical");
	} else if (x->found) { /* its words were seen there; by which pages, nobody logged */
		rowset_int(row, E_READERS, x->found->readers);
		rowset_int(row, E_READER_TENANTS, x->found->tenants);
		rowset_const(row, E_GRADE, "content");
	} else if (x->left) { /* readers at most; which, and how many pages, nobody logged */
		rowset_int(row, E_READERS, (int64_t)(x->class_id == 3 ? x->left->strong : x->left->weak));
		rowset_time(row, E_FIRST, x->left->first_ns);
		rowset_time(row, E_LAST, x->left->last_ns);
		rowset_const(row, E_GRADE, "temporal");
	} else {
		rowset_int(row, E_READERS, 0);
	}
}

static int exposed_fill(void *state, struct rowset *row, unsigned col, struct err *err)
{
	static const char *const names[] = {NULL, "E1", "E2", "E3", "E4", "E5"};
	struct exposed *x = state;
	switch (col) {
	case E_REQUEST:
	case E_STARTED: return put_request(x, row, err);
	case E_TENANT:
		rowset_text(row, col,
			    answers_tenant(x->answers, actors_get(x->answers->lineage->actors, x->actor).tenant));
		return 0;
	case E_CLASS: rowset_const(row, col, names[x->class_id]); return 0;
	case E_REFS: return put_refs(x, row, err);
	case E_REQUEST_ID:
		if (x->request)
			rowset_int(row, col, x->request);
		return 0;
	default: put_readers(x, row); return 0;
	}
}

static const unsigned exposed_key = E_TENANT;
const struct rowset_spec exposed_rowset = {
    .name = "exposed",
    .columns = exposed_columns,
    .n_columns = ARRAY_SIZE(exposed_columns),
    .open = exposed_open,
    .next = exposed_next,
    .fill = exposed_fill,
    .key = &exposed_key,
    .close = exposed_close,
};
