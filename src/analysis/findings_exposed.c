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

struct exposed {
	struct case_file *c;
	struct answers *answers;
	struct owned *edges; /* by owner */
	size_t n_edges, at_edge;
	struct left_to *left; /* candidates, by request */
	size_t n_left, at_left;
	struct content *content; /* markers of it, by request */
	size_t n_content, at_content;
	uint8_t *class_of;    /* by actor: strongest class of its responses; 0 none */
	struct sql *requests; /* the population of owners: every request */
	bool unknown;         /* now: owners that are no requests of the case */
	struct buf refs;
};

static void exposed_close(void *state)
{
	struct exposed *x = state;
	if (!x)
		return;
	answers_drop(x->answers);
	free(x->edges);
	free(x->left);
	free(x->content);
	free(x->class_of);
	sql_end(x->requests);
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

static int load_edges(struct exposed *x, struct err *err)
{
	const struct findings *f = x->answers->findings;
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
static int load_readers(struct exposed *x, struct err *err)
{
	struct findings *f = x->answers->findings;
	const struct actors *actors = f->lineage->actors;
	x->class_of = calloc((size_t)actors_count(actors) + 1, 1);
	if (!x->class_of)
		return err_nomem(err);
	struct pool_lives *lives;
	int rc = findings_lives(f, &lives, err);
	bool mark = rc == 0 && !lives_are_marked(lives);
	for (size_t i = 0; rc == 0 && i < f->n; i++) {
		struct finding r;
		rc = case_stopped(x->c) ? err_set(err, ERR_INTERRUPTED, "stopped")
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

static int load_content(struct exposed *x, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	size_t cap = 0;
	int rc = sql_prepare(
	    &s, x->c,
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

static int exposed_open(void *ctx, const struct text *args, void **ret, struct err *err)
{
	struct analysis *a = ctx;
	(void)args;
	struct exposed *x = calloc(1, sizeof(*x));
	if (!x)
		return err_nomem(err);
	x->refs = BUF_INIT(64 * KIB);
	x->c = a->c;
	int rc = analysis_answers(a, ANSWERS_FINDINGS, &x->answers, err);
	if (rc == 0)
		rc = load_edges(x, err);
	if (rc == 0)
		rc = load_readers(x, err);
	if (rc == 0)
		rc = load_content(x, err);
	if (rc == 0)
		rc = sql_prepare(&x->requests, a->c, "SELECT request, first_ns FROM request ORDER BY request", err);
	if (rc < 0) {
		exposed_close(x);
		return rc;
	}
	*ret = x;
	return 0;
}

struct sums { /* of the edges of one owner */
	uint32_t readers, tenants;
	uint64_t pages;
	int64_t first_ns, last_ns;
	unsigned best; /* strongest class of a reader; 0: no edge */
};

static void count_reader(const struct exposed *x, size_t from, size_t at, struct sums *s)
{
	const struct actors *actors = x->answers->lineage->actors;
	uint32_t reader = x->edges[at].edge->reader;
	int64_t tenant = actors_get(actors, reader).tenant;
	bool fresh = true, fresh_tenant = tenant != 0;
	for (size_t i = from; i < at; i++) {
		fresh &= x->edges[i].edge->reader != reader;
		fresh_tenant &= actors_get(actors, x->edges[i].edge->reader).tenant != tenant;
	}
	s->readers += fresh;
	s->tenants += fresh_tenant;
}

/* Takes the edges of the owner at x->at_edge; pages that several read count once. */
static int sum_edges(struct exposed *x, uint32_t owner, struct sums *s, struct err *err)
{
	struct runset pages = {0};
	size_t from = x->at_edge;
	int rc = 0;
	*s = (struct sums){.first_ns = TIME_UNKNOWN, .last_ns = TIME_UNKNOWN};
	for (; rc == 0 && x->at_edge < x->n_edges && x->edges[x->at_edge].owner == owner; x->at_edge++) {
		const struct owned *o = &x->edges[x->at_edge], *before = x->at_edge > from ? o - 1 : NULL;
		const struct edge *e = o->edge;
		if (before && (before->worker != o->worker || before->edge->pool != e->pool)) {
			s->pages += runset_pages(&pages);
			runset_done(&pages);
		}
		for (uint32_t i = 0; rc == 0 && i < e->pages.n; i++)
			rc = runset_add(&pages, e->pages.runs[i].first, e->pages.runs[i].count, err);
		count_reader(x, from, x->at_edge, s);
		unsigned c = x->class_of[e->reader];
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

static int put_row(struct exposed *x, uint32_t actor, const struct left_to *left, const struct content *content,
		   struct rowset *row, struct err *err)
{
	static const unsigned by_reader[] = {4, 1, 2, 3, 4, 5}; /* C1 … C5 */
	struct actor who = actors_get(x->answers->lineage->actors, actor);
	struct sums s = {0};
	buf_clear(&x->refs);
	int rc = buf_add_char(&x->refs, '[', err);
	if (rc == 0)
		rc = actors_name(x->answers->lineage->actors, actor, &who.name, err);
	if (rc == 0)
		rc = sum_edges(x, actor, &s, err);
	if (rc == 0 && content)
		rc = marker_refs(x->c, MARKERS_LOST, content->request, &x->refs, err);
	if (rc == 0)
		rc = buf_add_char(&x->refs, ']', err);
	if (rc < 0)
		return rc;
	unsigned physical = s.best ? by_reader[s.best] : 4, candidate = !left ? 4 : left->strong ? 3 : 5;
	bool by_pages = s.best && !(physical == 4 && candidate != 4);
	by_pages &= !content || physical == 1;
	unsigned c = by_pages ? physical : content ? 1 : candidate;
	char name[3] = {'E', (char)('0' + c), 0};
	rowset_text(row, E_REQUEST, who.name);
	rowset_text(row, E_TENANT, answers_tenant(x->answers, who.tenant));
	rowset_text(row, E_CLASS, text_of(name));
	if (by_pages) {
		rowset_int(row, E_READERS, s.readers);
		rowset_int(row, E_READER_TENANTS, s.tenants);
		rowset_int(row, E_PAGES, (int64_t)s.pages);
		rowset_time(row, E_FIRST, s.first_ns);
		rowset_time(row, E_LAST, s.last_ns);
		rowset_text(row, E_GRADE, TEXT("physical"));
	} else if (content) { /* its words were seen there; by which pages, nobody logged */
		rowset_int(row, E_READERS, content->readers);
		rowset_int(row, E_READER_TENANTS, content->tenants);
		rowset_text(row, E_GRADE, TEXT("content"));
	} else if (left) { /* readers at most; which, and how many pages, nobody logged */
		rowset_int(row, E_READERS, (int64_t)(c == 3 ? left->strong : left->weak));
		rowset_time(row, E_FIRST, left->first_ns);
		rowset_time(row, E_LAST, left->last_ns);
		rowset_text(row, E_GRADE, TEXT("temporal"));
	} else {
		rowset_int(row, E_READERS, 0);
	}
	rowset_text(row, E_REFS, buf_text(&x->refs));
	if (who.request)
		rowset_int(row, E_REQUEST_ID, who.request);
	return 1;
}

static int exposed_next(void *state, struct rowset *row, struct err *err)
{
	struct exposed *x = state;
	const struct actors *actors = x->answers->lineage->actors;
	int rc = x->unknown ? 0 : sql_step(x->requests, err);
	if (rc < 0)
		return rc;
	if (rc == 1) { /* actors of requests are numbered in this order */
		int64_t request = sql_get_int(x->requests, 0);
		const struct left_to *left = NULL;
		const struct content *content = NULL;
		while (x->at_left < x->n_left && x->left[x->at_left].request < request)
			x->at_left++;
		if (x->at_left < x->n_left && x->left[x->at_left].request == request)
			left = &x->left[x->at_left];
		while (x->at_content < x->n_content && x->content[x->at_content].request < request)
			x->at_content++;
		if (x->at_content < x->n_content && x->content[x->at_content].request == request)
			content = &x->content[x->at_content];
		rowset_time(row, E_STARTED, sql_get_time(x->requests, 1));
		return put_row(x, actors_of_request(actors, request), left, content, row, err);
	}
	x->unknown = true;
	return x->at_edge < x->n_edges ? put_row(x, x->edges[x->at_edge].owner, NULL, NULL, row, err) : 0;
}

const struct rowset_spec exposed_rowset = {
    .name = "exposed",
    .columns = exposed_columns,
    .n_columns = ARRAY_SIZE(exposed_columns),
    .open = exposed_open,
    .next = exposed_next,
    .close = exposed_close,
};
