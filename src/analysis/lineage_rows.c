/* SPDX-License-Identifier: Apache-2.0 */
/* lineage_rows.c - exposures(): who read whose pages; lineage(request): the life of one request
 *
 * Rows come in the order of computation; queries sort them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/row_range.h"
#include "register.h"

/* ---- shared by both ---- */
static int edge_refs(const struct edge *e, struct buf *b, struct err *err)
{
	buf_clear(b);
	int rc = buf_add_char(b, '[', err);
	if (rc == 0)
		rc = refs_put(b, e->read.source, e->read.off, e->read.len, err);
	if (rc == 0)
		rc = refs_put(b, e->alloc.source, e->alloc.off, e->alloc.len, err);
	if (rc == 0)
		rc = refs_put(b, e->write.source, e->write.off, e->write.len, err);
	return rc == 0 ? buf_add_char(b, ']', err) : rc;
}

static struct text cross_tenant(const struct actor *a, const struct actor *b)
{
	return text_of(tri_name(!a->tenant || !b->tenant ? TRI_UNKNOWN : a->tenant == b->tenant ? TRI_NO : TRI_YES));
}

/* The page size that the worker's boots agree on, where its page log does not say. */
static int page_size_of(struct case_file *c, int64_t worker, int64_t *ret, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	*ret = 0;
	int rc = sql_prepare(
	    &s, c, "SELECT max(page_size) FROM boot WHERE worker = ?1 HAVING min(page_size) = max(page_size)", err);
	if (rc == 0)
		rc = sql_int(s, 1, worker, err);
	if (rc == 0)
		rc = sql_step(s, err);
	if (rc == 1)
		*ret = sql_get_int(s, 0);
	return MIN(rc, 0);
}

/* ---- exposures() ---- */
enum exposures_column {
	X_WORKER,
	X_POOL,
	X_READER,
	X_READER_TENANT,
	X_OWNER,
	X_OWNER_TENANT,
	X_CROSS,
	X_KIND,
	X_PAGES,
	X_TOKENS,
	X_FIRST,
	X_DELIVERED,
	X_GRADE,
	X_REFS,
	X_LAST,
	X_READER_ID,
	X_OWNER_ID
};
static const struct rowset_column exposures_columns[] = {
    {"worker", "TEXT", false},
    {"pool", "TEXT", false},
    {"reader_request", "TEXT", false},
    {"reader_tenant", "TEXT", false},
    {"owner_request", "TEXT", false},
    {"owner_tenant", "TEXT", false},
    {"cross_tenant", "TEXT", false},
    {"kind", "TEXT", false},
    {"pages", "INTEGER", false},
    {"tokens_at_most", "INTEGER", false},
    {"first_read_at", "INTEGER", false},
    {"delivered", "TEXT", false},
    {"grade", "TEXT", false},
    {"refs", "JSON", false},
    {"last_read_at", "INTEGER", false},
    {"reader_id", "INTEGER", false},
    {"owner_id", "INTEGER", false},
};

struct exposures {
	struct answers *answers;
	uint32_t worker;
	size_t edge;
	int64_t page_size; /* of the worker at hand */
	bool entered;      /* it */
	struct case_file *c;
	struct buf refs;
};

static void exposures_close(void *state)
{
	struct exposures *x = state;
	if (!x)
		return;
	answers_drop(x->answers);
	buf_done(&x->refs);
	free(x);
}

static enum tri delivered_of(struct text t)
{
	return text_is(t, "yes") ? TRI_YES : text_is(t, "no") ? TRI_NO : TRI_UNKNOWN;
}

static int load_range(struct answers *a, struct row_book *book, int64_t from, int64_t to, struct err *err)
{
	CLEANUP(row_range_freep) struct row_range *r = NULL;
	int rc = row_range_read(&r, book, from, to, err);
	if (rc == 0)
		rc = row_range_seek(r, from, err);
	for (; rc == 1 && row_range_request(r) <= to; rc = row_range_next(r, err)) {
		uint8_t *d = &a->delivered[actors_of_request(a->lineage->actors, row_range_request(r))];
		enum tri v = delivered_of(row_range_text(r, RESPONSE_DELIVERED));
		if (*d == DELIVERED_NONE || v == TRI_YES || (v == TRI_UNKNOWN && *d == TRI_NO))
			*d = (uint8_t)v;
	}
	return MIN(rc, 0);
}

enum { REQUESTS_AT_ONCE = 1 << 15 };

/* One request with several responses: yes when any was delivered. */
static int load_delivered(struct answers *a, struct case_file *c, struct err *err)
{
	struct row_book *book = NULL;
	size_t actors = (size_t)actors_count(a->lineage->actors) + 1;
	int64_t n = 0;
	a->delivered = malloc(actors);
	int rc = a->delivered ? row_tables_count(c, ROWS_REQUEST, &n, err) : err_nomem(err);
	if (rc == 0)
		rc = row_book_open(&book, c, ROWS_RESPONSE, 1u << RESPONSE_DELIVERED, err);
	if (rc == 0)
		memset(a->delivered, DELIVERED_NONE, actors);
	for (int64_t from = 1; rc == 0 && from <= n; from += REQUESTS_AT_ONCE) {
		rc = case_stopped(c) ? err_set(err, ERR_INTERRUPTED, "stopped") : 0;
		if (rc == 0)
			rc = load_range(a, book, from, MIN(n, from + REQUESTS_AT_ONCE - 1), err);
	}
	row_book_close(book);
	if (rc < 0) {
		free(a->delivered);
		a->delivered = NULL;
	}
	return rc;
}

static int exposures_open(void *ctx, const struct text *args, void **ret, struct err *err)
{
	struct analysis *a = ctx;
	(void)args;
	struct exposures *x = calloc(1, sizeof(*x));
	if (!x)
		return err_nomem(err);
	x->c = a->c;
	x->refs = BUF_INIT(64 * KIB);
	int rc = analysis_answers(a, ANSWERS_LINEAGE, &x->answers, err);
	if (rc == 0 && !x->answers->delivered)
		rc = load_delivered(x->answers, a->c, err);
	if (rc < 0) {
		exposures_close(x);
		return rc;
	}
	*ret = x;
	return 0;
}

static int put_name(struct rowset *row, unsigned col, struct actors *actors, uint32_t actor, struct err *err)
{
	struct text name;
	int rc = actors_name(actors, actor, &name, err);
	if (rc == 0)
		rowset_text(row, col, name);
	return rc;
}

static int exposures_next(void *state, struct rowset *row, struct err *err)
{
	struct exposures *x = state;
	const struct lineage *l = x->answers->lineage;
	while (x->worker < l->n_workers && x->edge == l->workers[x->worker].n_edges) {
		x->worker++;
		x->edge = 0;
		x->entered = false;
	}
	if (x->worker == l->n_workers)
		return 0;
	const struct lineage_worker *w = &l->workers[x->worker];
	int rc = x->entered ? 0 : page_size_of(x->c, w->id, &x->page_size, err);
	if (rc < 0)
		return rc;
	x->entered = true;
	struct edge *e = &w->edges[x->edge++];
	struct actor reader = actors_get(l->actors, e->reader), owner = actors_get(l->actors, e->owner);
	int64_t pages = (int64_t)runset_pages(&e->pages), size = e->page_size ? e->page_size : x->page_size;
	rc = edge_refs(e, &x->refs, err);
	if (rc < 0)
		return rc;
	rowset_text(row, X_WORKER, w->name);
	rowset_text(row, X_POOL, w->pools[e->pool]);
	rc = put_name(row, X_READER, l->actors, e->reader, err);
	if (rc == 0 && e->owner)
		rc = put_name(row, X_OWNER, l->actors, e->owner, err);
	if (rc < 0)
		return rc;
	rowset_text(row, X_READER_TENANT, answers_tenant(x->answers, reader.tenant));
	if (e->owner) {
		rowset_text(row, X_OWNER_TENANT, answers_tenant(x->answers, owner.tenant));
		rowset_text(row, X_CROSS, cross_tenant(&reader, &owner));
		if (owner.request)
			rowset_int(row, X_OWNER_ID, owner.request);
	}
	rowset_text(row, X_KIND, text_of(edge_kind_names[e->kind]));
	rowset_int(row, X_PAGES, pages);
	if (size > 0 && size <= TOKENS_MAX / (int64_t)POOL_MAX_PAGES)
		rowset_int(row, X_TOKENS, pages * size);
	rowset_time(row, X_FIRST, e->first_ns);
	rowset_time(row, X_LAST, e->last_ns);
	uint8_t d = x->answers->delivered[e->reader];
	rowset_text(row, X_DELIVERED,
		    text_of(tri_name(reader.request && d != DELIVERED_NONE ? (enum tri)d : TRI_UNKNOWN)));
	rowset_text(row, X_GRADE, e->certain ? TEXT("physical") : TEXT("temporal"));
	rowset_text(row, X_REFS, buf_text(&x->refs));
	if (reader.request)
		rowset_int(row, X_READER_ID, reader.request);
	return 1;
}

const struct rowset_spec exposures_rowset = {
    .name = "exposures",
    .columns = exposures_columns,
    .n_columns = ARRAY_SIZE(exposures_columns),
    .open = exposures_open,
    .next = exposures_next,
    .close = exposures_close,
};

/* ---- lineage(request) ---- */
enum lineage_column {
	L_AT,
	L_WHAT,
	L_WORKER,
	L_ROLE,
	L_OTHER,
	L_OTHER_TENANT,
	L_CROSS,
	L_POOL,
	L_PAGES,
	L_TOKENS,
	L_KIND,
	L_DETAIL,
	L_GRADE,
	L_REFS,
	L_OTHER_ID,
	L_ARGUMENT
};
static const struct rowset_column lineage_columns[] = {
    {"at", "INTEGER", false},         {"what", "TEXT", false},
    {"worker", "TEXT", false},        {"role", "TEXT", false},
    {"other_request", "TEXT", false}, {"other_tenant", "TEXT", false},
    {"cross_tenant", "TEXT", false},  {"pool", "TEXT", false},
    {"pages", "INTEGER", false},      {"tokens_at_most", "INTEGER", false},
    {"kind", "TEXT", false},          {"detail", "TEXT", false},
    {"grade", "TEXT", false},         {"refs", "JSON", false},
    {"other_id", "INTEGER", false},   {"request", "INTEGER", true},
};

struct life_of {
	struct answers *answers;
	struct lineage *own; /* the same sweep, with the request in focus */
	struct case_file *c;
	int64_t request;
	struct buf rid; /* request 0: a rid that only page logs know */
	struct sql *legs;
	uint32_t touch, worker;
	size_t edge;
	struct buf refs, detail;
};

static void lineage_close(void *state)
{
	struct life_of *x = state;
	if (!x)
		return;
	answers_drop(x->answers);
	lineage_free(x->own);
	sql_end(x->legs);
	buf_done(&x->refs);
	buf_done(&x->detail);
	buf_done(&x->rid);
	free(x);
}

/* Not among the requests: a rid of a page log, perhaps, of which there were too many for rows of their own. */
static int find_rid(struct case_file *c, struct text arg, struct buf *rid, int why, struct err *err)
{
	CLEANUP(buf_done) struct buf unlisted = BUF_INIT(64);
	int64_t n;
	int rc = case_info_get(c, "page_rids_unlisted", &unlisted, NULL);
	if (rc != 0 || !text_int64(buf_text(&unlisted), &n) || n == 0)
		return why;
	struct err own = {0};
	rc = lineage_find_rid(c, arg, rid, &own);
	if (rc == 1)
		return why;
	if (err)
		*err = own;
	return rc;
}

int lineage_find(struct case_file *c, struct text name, int64_t *ret, struct buf *ret_rid, struct err *err)
{
	int rc = request_argument(c, name, ret, err);
	if (rc != ERR_INPUT)
		return MIN(rc, 0);
	*ret = 0;
	return find_rid(c, name, ret_rid, rc, err);
}

static int lineage_open(void *ctx, const struct text *args, void **ret, struct err *err)
{
	struct analysis *a = ctx;
	struct life_of *x = calloc(1, sizeof(*x));
	if (!x)
		return err_nomem(err);
	x->c = a->c;
	x->refs = BUF_INIT(64 * KIB);
	x->detail = BUF_INIT(64 * KIB);
	x->rid = BUF_INIT(KIB);
	*ret = x;
	if (!args[0].ptr) { /* no request, no rows */
		x->worker = UINT32_MAX;
		return 0;
	}
	int rc = lineage_find(x->c, args[0], &x->request, &x->rid, err);
	if (rc == 0)
		rc = analysis_answers(a, ANSWERS_NAMES, &x->answers, err);
	if (rc == 0)
		rc = lineage_focus(&x->own, x->c, x->request, buf_text(&x->rid), err);
	if (rc == 0)
		rc = sql_prepare(
		    &x->legs, x->c,
		    "SELECT coalesce(l.started_ns, l.finished_ns), w.name, coalesce(l.role, w.role), l.outcome, "
		    "l.input_tokens, l.output_tokens, l.rid, l.room, l.attempt, l.finish_reason, l.refs "
		    "FROM leg l JOIN worker w USING(worker) WHERE l.request = ?1 ORDER BY l.leg",
		    err);
	if (rc == 0)
		rc = sql_int(x->legs, 1, x->request, err);
	if (rc < 0) {
		lineage_close(x);
		return rc;
	}
	return 0;
}

static int put_known(struct buf *b, const char *name, struct sql *s, int col, struct err *err)
{
	if (sql_type(s, col) == SQL_NULL)
		return 0;
	int rc = b->len ? buf_add(b, ", ", 2, err) : 0;
	if (rc == 0 && sql_type(s, col) == SQL_INT)
		return buf_printf(b, err, "%s %" PRId64, name, sql_get_int(s, col));
	return rc == 0 ? buf_printf(b, err, "%s %.*s", name, TEXT_ARG(sql_get_text(s, col))) : rc;
}

static int leg_row(struct life_of *x, struct rowset *row, struct err *err)
{
	static const char *const names[] = {"input_tokens", "output_tokens", "rid", "room", "attempt", "finish"};
	struct sql *s = x->legs;
	rowset_time(row, L_AT, sql_get_time(s, 0));
	rowset_text(row, L_WHAT, TEXT("leg"));
	rowset_text(row, L_WORKER, sql_get_text(s, 1));
	rowset_text(row, L_ROLE, sql_get_text(s, 2));
	rowset_text(row, L_KIND, sql_get_text(s, 3));
	buf_clear(&x->detail);
	for (int i = 0; i < (int)ARRAY_SIZE(names); i++) {
		int rc = put_known(&x->detail, names[i], s, 4 + i, err);
		if (rc < 0)
			return rc;
	}
	rowset_text(row, L_DETAIL, buf_text(&x->detail));
	rowset_text(row, L_REFS, sql_get_text(s, 10));
	return 1;
}

static int touch_row(struct life_of *x, struct rowset *row, struct err *err)
{
	struct touch *t = &x->own->touches[x->touch++];
	const struct lineage_worker *w = &x->own->workers[t->worker];
	buf_clear(&x->detail);
	int rc = buf_printf(&x->detail, err, "records %" PRIu64, t->records);
	buf_clear(&x->refs);
	if (rc == 0)
		rc = buf_add_char(&x->refs, '[', err);
	if (rc == 0)
		rc = refs_put(&x->refs, t->first.source, t->first.off, t->first.len, err);
	if (rc == 0)
		rc = buf_add_char(&x->refs, ']', err);
	if (rc < 0)
		return rc;
	rowset_time(row, L_AT, t->first.ns);
	rowset_text(row, L_WHAT, text_of(page_op_name(t->op)));
	rowset_text(row, L_WORKER, w->name);
	rowset_text(row, L_POOL, w->pools[t->pool]);
	rowset_int(row, L_PAGES, (int64_t)runset_pages(&t->pages));
	rowset_text(row, L_DETAIL, buf_text(&x->detail));
	rowset_text(row, L_GRADE, TEXT("physical"));
	rowset_text(row, L_REFS, buf_text(&x->refs));
	return 1;
}

static int edge_row(struct life_of *x, const struct lineage_worker *w, struct edge *e, struct rowset *row,
		    struct err *err)
{
	bool reads = e->reader == w->focus;
	struct actor self = actors_get(x->own->actors, w->focus);
	struct actor other = actors_get(x->own->actors, reads ? e->owner : e->reader);
	int64_t pages = (int64_t)runset_pages(&e->pages);
	int rc = edge_refs(e, &x->refs, err);
	if (rc == 0)
		rc = actors_name(x->own->actors, reads ? e->owner : e->reader, &other.name, err);
	if (rc < 0)
		return rc;
	rowset_time(row, L_AT, e->first_ns);
	rowset_text(row, L_WHAT, reads ? TEXT("read_from") : TEXT("read_by"));
	rowset_text(row, L_WORKER, w->name);
	rowset_text(row, L_POOL, w->pools[e->pool]);
	if (other.name.ptr) {
		rowset_text(row, L_OTHER, other.name);
		rowset_text(row, L_OTHER_TENANT, answers_tenant(x->answers, other.tenant));
		rowset_text(row, L_CROSS, cross_tenant(&self, &other));
		if (other.request)
			rowset_int(row, L_OTHER_ID, other.request);
	}
	rowset_int(row, L_PAGES, pages);
	if (e->page_size > 0 && e->page_size <= TOKENS_MAX / (int64_t)POOL_MAX_PAGES)
		rowset_int(row, L_TOKENS, pages * e->page_size);
	rowset_text(row, L_KIND, text_of(edge_kind_names[e->kind]));
	rowset_text(row, L_GRADE, e->certain ? TEXT("physical") : TEXT("temporal"));
	rowset_text(row, L_REFS, buf_text(&x->refs));
	return 1;
}

static int lineage_next(void *state, struct rowset *row, struct err *err)
{
	struct life_of *x = state;
	if (x->worker == UINT32_MAX)
		return 0;
	if (x->legs) {
		int rc = sql_step(x->legs, err);
		if (rc < 0)
			return rc;
		if (rc == 1)
			return leg_row(x, row, err);
		sql_end(x->legs);
		x->legs = NULL;
	}
	if (x->touch < x->own->n_touches)
		return touch_row(x, row, err);
	for (; x->worker < x->own->n_workers; x->worker++, x->edge = 0) {
		const struct lineage_worker *w = &x->own->workers[x->worker];
		while (w->focus && x->edge < w->n_edges) {
			struct edge *e = &w->edges[x->edge++];
			if (e->reader == w->focus || e->owner == w->focus)
				return edge_row(x, w, e, row, err);
		}
	}
	return 0;
}

const struct rowset_spec lineage_rowset = {
    .name = "lineage",
    .columns = lineage_columns,
    .n_columns = ARRAY_SIZE(lineage_columns),
    .open = lineage_open,
    .next = lineage_next,
    .close = lineage_close,
};
