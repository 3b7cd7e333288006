/* SPDX-License-Identifier: Apache-2.0 */
/* lineage_steps.c - lineage_pages(request): which pages, when: each record of one request, and each read of or by others */
#include <stdlib.h>
#include <string.h>

#include "lineage_order.h"
#include "pagetrail/array.h"
#include "register.h"

/* ---- the records of the request in focus ---- */
int steps_add(struct lineage *l, const struct record *rec, struct err *err)
{
	if (l->n_steps == OWN_STEPS_MAX || rec->n_runs > OWN_RUNS_MAX - l->n_step_runs) {
		l->steps_left_out++;
		return 0;
	}
	if (grow_array((void **)&l->steps, &l->cap_steps, l->n_steps, sizeof(*l->steps), err))
		return ERR_NOMEM;
	if (rec->n_runs > l->cap_step_runs - l->n_step_runs) {
		size_t cap = MAX(l->cap_step_runs * 2, l->n_step_runs + rec->n_runs);
		struct page_run *more = realloc(l->step_runs, cap * sizeof(*more));
		if (!more)
			return err_nomem(err);
		l->step_runs = more;
		l->cap_step_runs = cap;
	}
	if (rec->n_runs)
		memcpy(l->step_runs + l->n_step_runs, rec->runs, rec->n_runs * sizeof(*rec->runs));
	l->steps[l->n_steps++] = (struct own_step){.worker = rec->worker,
						   .pool = rec->pool,
						   .op = rec->op,
						   .at = {rec->ns, rec->source, rec->off, rec->len, 0},
						   .first_run = (uint32_t)l->n_step_runs,
						   .n_runs = rec->n_runs};
	l->n_step_runs += rec->n_runs;
	return 0;
}

void steps_forget(struct lineage *l, uint32_t worker)
{
	size_t n = 0;
	for (size_t i = 0; i < l->n_steps; i++)
		if (l->steps[i].worker != worker)
			l->steps[n++] = l->steps[i];
	l->n_steps = n;
}

void steps_done(struct lineage *l)
{
	free(l->steps);
	free(l->step_runs);
}

/* ---- lineage_pages(request) ---- */
enum pages_column {
	P_WHAT,
	P_WORKER,
	P_POOL,
	P_FIRST_PAGE,
	P_PAGES,
	P_FROM,
	P_TO,
	P_WROTE,
	P_OTHER,
	P_OTHER_TENANT,
	P_KIND,
	P_GRADE,
	P_REFS,
	P_ARGUMENT
};
static const struct rowset_column pages_columns[] = {
    {"what", "TEXT", false},          {"worker", "TEXT", false},      {"pool", "TEXT", false},
    {"first_page", "INTEGER", false}, {"pages", "INTEGER", false},    {"from_ns", "INTEGER", false},
    {"to_ns", "INTEGER", false},      {"wrote_ns", "INTEGER", false}, {"other_request", "TEXT", false},
    {"other_tenant", "TEXT", false},  {"kind", "TEXT", false},        {"grade", "TEXT", false},
    {"refs", "JSON", false},          {"request", "INTEGER", true},
};

struct pages_of {
	struct answers *answers;
	struct lineage *own;
	struct buf rid, refs;
	size_t step, edge;
	uint32_t run, worker;
	bool said; /* what was left out */
};

static void pages_close(void *state)
{
	struct pages_of *x = state;
	if (!x)
		return;
	answers_drop(x->answers);
	lineage_free(x->own);
	buf_done(&x->rid);
	buf_done(&x->refs);
	free(x);
}

static int pages_open(void *ctx, const struct text *args, void **ret, struct err *err)
{
	struct analysis *a = ctx;
	int64_t request;
	struct pages_of *x = calloc(1, sizeof(*x));
	if (!x)
		return err_nomem(err);
	x->rid = BUF_INIT(KIB);
	x->refs = BUF_INIT(64 * KIB);
	int rc = args[0].ptr ? lineage_find(a->c, args[0], &request, &x->rid, err) : 1;
	if (rc == 0)
		rc = analysis_answers(a, ANSWERS_NAMES, &x->answers, err);
	if (rc == 0)
		rc = lineage_focus(&x->own, a->c, request, buf_text(&x->rid), err);
	if (rc < 0) {
		pages_close(x);
		return rc;
	}
	*ret = x;
	return 0;
}

static int put_refs(struct buf *b, const struct mark *marks[], int n, struct err *err)
{
	buf_clear(b);
	int rc = buf_add_char(b, '[', err);
	for (int i = 0; rc == 0 && i < n; i++)
		rc = refs_put(b, marks[i]->source, marks[i]->off, marks[i]->len, err);
	return rc == 0 ? buf_add_char(b, ']', err) : rc;
}

static void put_run(struct rowset *row, const struct lineage_worker *w, uint32_t pool, const struct page_run *run)
{
	rowset_text(row, P_WORKER, w->name);
	rowset_text(row, P_POOL, w->pools[pool]);
	if (!run)
		return;
	rowset_int(row, P_FIRST_PAGE, run->first);
	rowset_int(row, P_PAGES, run->count);
}

static int step_row(struct pages_of *x, struct rowset *row, struct err *err)
{
	const struct own_step *s = &x->own->steps[x->step];
	const struct mark *marks[] = {&s->at};
	int rc = put_refs(&x->refs, marks, 1, err);
	if (rc < 0)
		return rc;
	rowset_text(row, P_WHAT, text_of(page_op_name(s->op)));
	put_run(row, &x->own->workers[s->worker], s->pool,
		s->n_runs ? &x->own->step_runs[s->first_run + x->run] : NULL);
	rowset_time(row, P_FROM, s->at.ns);
	rowset_text(row, P_GRADE, TEXT("physical"));
	rowset_text(row, P_REFS, buf_text(&x->refs));
	if (++x->run >= s->n_runs) {
		x->run = 0;
		x->step++;
	}
	return 1;
}

static int edge_row(struct pages_of *x, const struct lineage_worker *w, struct edge *e, struct rowset *row,
		    struct err *err)
{
	const struct mark *marks[] = {&e->read, &e->alloc, &e->write};
	bool reads = e->reader == w->focus;
	struct actor other = actors_get(x->own->actors, reads ? e->owner : e->reader);
	int rc = put_refs(&x->refs, marks, 3, err);
	if (rc == 0)
		rc = actors_name(x->own->actors, reads ? e->owner : e->reader, &other.name, err);
	if (rc < 0)
		return rc;
	rowset_text(row, P_WHAT, reads ? TEXT("read_from") : TEXT("read_by"));
	put_run(row, w, e->pool, &e->pages.runs[x->run]);
	rowset_time(row, P_FROM, e->first_ns);
	rowset_time(row, P_TO, e->last_ns);
	if (e->write.len)
		rowset_time(row, P_WROTE, e->write.ns);
	if (other.name.ptr) {
		rowset_text(row, P_OTHER, other.name);
		rowset_text(row, P_OTHER_TENANT, answers_tenant(x->answers, other.tenant));
	}
	rowset_text(row, P_KIND, text_of(edge_kind_names[e->kind]));
	rowset_text(row, P_GRADE, e->certain ? TEXT("physical") : TEXT("temporal"));
	rowset_text(row, P_REFS, buf_text(&x->refs));
	if (++x->run >= e->pages.n) {
		x->run = 0;
		x->edge++;
	}
	return 1;
}

static int pages_next(void *state, struct rowset *row, struct err *err)
{
	struct pages_of *x = state;
	if (!x->own)
		return 0;
	if (x->step < x->own->n_steps)
		return step_row(x, row, err);
	if (!x->said && x->own->steps_left_out) {
		rowset_text(row, P_WHAT, TEXT("left_out"));
		rowset_int(row, P_PAGES, (int64_t)x->own->steps_left_out);
		x->said = true;
		return 1;
	}
	for (; x->worker < x->own->n_workers; x->worker++, x->edge = 0) {
		struct lineage_worker *w = &x->own->workers[x->worker];
		for (; w->focus && x->edge < w->n_edges; x->edge++) {
			struct edge *e = &w->edges[x->edge];
			if (!x->run)
				runset_tidy(&e->pages);
			if ((e->reader == w->focus || e->owner == w->focus) && e->pages.n)
				return edge_row(x, w, e, row, err);
		}
	}
	return 0;
}

const struct rowset_spec lineage_pages_rowset = {
    .name = "lineage_pages",
    .columns = pages_columns,
    .n_columns = ARRAY_SIZE(pages_columns),
    .open = pages_open,
    .next = pages_next,
    .close = pages_close,
};
