/* SPDX-License-Identifier: Apache-2.0 */
/* findings_rows.c - findings(): one row per response, with the texts that its numbers stand for
 *
 * Rows come by start, then request. Texts are read from the tables row by row; memory does not grow with them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "register.h"

enum findings_column {
	F_REQUEST,
	F_ALIASES,
	F_TENANT,
	F_MODEL,
	F_STATUS,
	F_STREAMED,
	F_DELIVERED,
	F_PROMPT,
	F_PROMPT_FLAG,
	F_POOL,
	F_LIMIT,
	F_BAND,
	F_PREFILL,
	F_DECODE,
	F_ROOM,
	F_STARTED,
	F_FINISHED,
	F_PREDICATES,
	F_CLASS,
	F_REASONS,
	F_GRADE,
	F_OWNERS,
	F_OWNER_TENANTS,
	F_CANDIDATES,
	F_REFS,
	F_CONFLICT,
	F_CROSS,
	F_TRIGGER_STANDS,
	F_BUILD_STANDS,
	F_RULE,
	F_T,
	F_A,
	F_L,
	F_D,
	F_X,
	F_BASIS,
	F_REQUEST_ID,
	F_RESPONSE_ID,
	F_PREFILL_LEG,
	F_DECODE_LEG,
	F_FOREIGN,
	F_DECODE_LIMIT
};
static const struct rowset_column findings_columns[] = {
    {"request", "TEXT", false},
    {"aliases", "JSON", false},
    {"tenant", "TEXT", false},
    {"model", "TEXT", false},
    {"status", "INTEGER", false},
    {"streamed", "INTEGER", false},
    {"delivered", "TEXT", false},
    {"prompt_tokens", "INTEGER", false},
    {"prompt_tokens_flag", "TEXT", false},
    {"pool_tokens", "INTEGER", false},
    {"input_limit", "INTEGER", false},
    {"band", "TEXT", false},
    {"prefill_worker", "TEXT", false},
    {"decode_worker", "TEXT", false},
    {"room", "TEXT", false},
    {"started_at", "INTEGER", false},
    {"finished_at", "INTEGER", false},
    {"predicates", "JSON", false},
    {"class", "TEXT", false},
    {"reasons", "JSON", false},
    {"grade", "TEXT", false},
    {"owner_count", "INTEGER", false},
    {"owner_tenants", "INTEGER", false},
    {"candidate_owners", "INTEGER", false},
    {"refs", "JSON", false},
    {"conflict", "INTEGER", false},
    {"cross_tenant", "TEXT", false},
    {"trigger_stands", "INTEGER", false},
    {"build_stands", "INTEGER", false},
    {"rule", "INTEGER", false},
    {"t", "TEXT", false},
    {"a", "TEXT", false},
    {"l", "TEXT", false},
    {"d", "TEXT", false},
    {"x", "TEXT", false},
    {"delivered_basis", "TEXT", false},
    {"request_id", "INTEGER", false},
    {"response_id", "INTEGER", false},
    {"prefill_leg", "INTEGER", false},
    {"decode_leg", "INTEGER", false},
    {"foreign_at_most", "INTEGER", false},
    {"decode_limit", "INTEGER", false},
    {"classes", "TEXT", true},  /* only these: "C1,C2"; "conflict" adds the contradictions */
    {"brief", "INTEGER", true}, /* 1: numbers, predicates and tenant only; names, lists and refs stay empty */
};
/* A row names so many records at most: what it rests on, not everything that was said. */
enum { REFS_BYTES = 1536 };

struct rows_state {
	struct case_file *c;
	struct answers *answers;
	size_t at;
	struct text classes; /* borrowed from the cursor; empty: all */
	bool brief;
	struct sql *response, *aliases, *leg, *boot, *worker;
	struct buf refs, text;
};

static void findings_close(void *state)
{
	struct rows_state *x = state;
	if (!x)
		return;
	answers_drop(x->answers);
	sql_end(x->response);
	sql_end(x->aliases);
	sql_end(x->leg);
	sql_end(x->boot);
	sql_end(x->worker);
	buf_done(&x->refs);
	buf_done(&x->text);
	free(x);
}

static int prepare_all(struct rows_state *x, struct case_file *c, struct err *err)
{
	int rc = sql_prepare(&x->response, c,
			     "SELECT q.name, q.model, r.status, r.streamed, r.finished_ns, r.delivered_basis, r.refs, "
			     "r.delivered FROM response r JOIN request q USING(request) WHERE r.response = ?1",
			     err);
	if (rc == 0)
		rc = sql_prepare(&x->aliases, c,
				 "SELECT value FROM alias WHERE request = ?1 UNION "
				 "SELECT name FROM request WHERE request = ?1 ORDER BY 1",
				 err);
	if (rc == 0)
		rc = sql_prepare(&x->leg, c, "SELECT room, refs FROM leg WHERE leg = ?1", err);
	if (rc == 0)
		rc = sql_prepare(&x->boot, c, "SELECT refs FROM boot WHERE boot = ?1", err);
	if (rc == 0)
		rc = sql_prepare(&x->worker, c, "SELECT name FROM worker WHERE worker = ?1", err);
	return rc;
}

static int findings_open(void *ctx, const struct text *args, void **ret, struct err *err)
{
	struct analysis *a = ctx;
	struct rows_state *x = calloc(1, sizeof(*x));
	if (!x)
		return err_nomem(err);
	x->c = a->c;
	x->classes = args[0];
	x->brief = args[1].len && !text_is(args[1], "0");
	x->refs = x->text = BUF_INIT(16 * MIB);
	int rc = analysis_answers(a, ANSWERS_FINDINGS, &x->answers, err);
	if (rc == 0)
		rc = prepare_all(x, a->c, err);
	if (rc < 0) {
		findings_close(x);
		return rc;
	}
	*ret = x;
	return 0;
}

/* Runs a statement with one id; 1 a row is there. The row must be left by sql_done_row(). */
static int look_up(struct sql *s, int64_t id, struct err *err)
{
	int rc = sql_int(s, 1, id, err);
	return rc == 0 ? sql_step(s, err) : rc;
}

static int leave(struct sql *s, struct err *err)
{
	int rc;
	while ((rc = sql_step(s, err)) == 1)
		;
	return rc;
}

static int known(struct rowset *row, unsigned col, int64_t v)
{
	if (v != UNSAID)
		rowset_int(row, col, v);
	return 0;
}

static int put_worker(struct rows_state *x, struct rowset *row, unsigned col, int64_t worker, struct err *err)
{
	int rc = worker ? look_up(x->worker, worker, err) : 0;
	if (rc != 1)
		return rc;
	rowset_text(row, col, sql_get_text(x->worker, 0));
	return leave(x->worker, err);
}

static int leg_refs(struct rows_state *x, struct rowset *row, int64_t leg, struct err *err)
{
	int rc = leg ? look_up(x->leg, leg, err) : 0;
	if (rc != 1)
		return rc;
	if (sql_type(x->leg, 0) != SQL_NULL)
		rowset_text(row, F_ROOM, sql_get_text(x->leg, 0));
	rc = refs_put_all(&x->refs, sql_get_text(x->leg, 1), err);
	return rc == 0 ? leave(x->leg, err) : rc;
}

static int put_refs(struct rows_state *x, struct rowset *row, const struct finding *f, struct err *err)
{
	const struct findings *all = x->answers->findings;
	int rc = leg_refs(x, row, f->prefill_leg, err);
	if (rc == 0 && f->decode_leg != f->prefill_leg)
		rc = leg_refs(x, row, f->decode_leg, err);
	if (rc == 0 && f->prefill_boot) {
		rc = look_up(x->boot, f->prefill_boot, err);
		if (rc == 1)
			rc = refs_put_all(&x->refs, sql_get_text(x->boot, 0), err);
		if (rc == 0)
			rc = leave(x->boot, err);
	}
	for (uint32_t i = 0; rc == 0 && i < f->n_reads && x->refs.len < REFS_BYTES; i++) {
		const struct edge *e = all->reads[f->reads_from + i].edge;
		rc = refs_put(&x->refs, e->read.source, e->read.off, e->read.len, err);
		if (rc == 0)
			rc = refs_put(&x->refs, e->alloc.source, e->alloc.off, e->alloc.len, err);
		if (rc == 0)
			rc = refs_put(&x->refs, e->write.source, e->write.off, e->write.len, err);
	}
	if (rc == 0 && f->p.x == TRI_YES)
		rc = marker_refs(x->c, MARKERS_GOT, f->request, &x->refs, err);
	if (rc == 0)
		rc = buf_add_char(&x->refs, ']', err);
	if (rc == 0)
		rowset_text(row, F_REFS, buf_text(&x->refs));
	return rc;
}

static int put_response(struct rows_state *x, struct rowset *row, const struct finding *f, struct err *err)
{
	struct sql *s = x->response;
	int rc = look_up(s, f->response, err);
	if (rc != 1)
		return rc < 0 ? rc : err_set(err, ERR_BUG, "a response is gone");
	rowset_text(row, F_REQUEST, sql_get_text(s, 0));
	rowset_text(row, F_MODEL, sql_get_text(s, 1));
	if (sql_type(s, 2) != SQL_NULL)
		rowset_int(row, F_STATUS, sql_get_int(s, 2));
	if (sql_type(s, 3) != SQL_NULL)
		rowset_int(row, F_STREAMED, sql_get_int(s, 3));
	rowset_time(row, F_FINISHED, sql_get_time(s, 4));
	rowset_text(row, F_BASIS, sql_get_text(s, 5));
	buf_clear(&x->refs);
	rc = buf_add_char(&x->refs, '[', err);
	if (rc == 0)
		rc = refs_put_all(&x->refs, sql_get_text(s, 6), err);
	return rc == 0 ? leave(s, err) : rc;
}

static int put_aliases(struct rows_state *x, struct rowset *row, int64_t request, struct err *err)
{
	struct buf *b = &x->text;
	buf_clear(b);
	int rc = sql_int(x->aliases, 1, request, err);
	while (rc == 0 && (rc = sql_step(x->aliases, err)) == 1) {
		rc = buf_add_char(b, b->len ? ',' : '[', err);
		if (rc == 0)
			rc = buf_json_string(b, sql_get_text(x->aliases, 0), err);
	}
	if (rc == 0)
		rc = buf_add_text(b, b->len ? TEXT("]") : TEXT("[]"), err);
	if (rc == 0)
		rowset_text(row, F_ALIASES, buf_text(b));
	return rc;
}

static int put_lists(struct rows_state *x, struct rowset *row, const struct finding *f, struct err *err)
{
	struct buf *b = &x->text;
	buf_clear(b);
	int rc = buf_printf(b, err, "{\"T\":\"%s\",\"A\":\"%s\",\"L\":\"%s\",\"D\":\"%s\",\"X\":\"%s\"}",
			    tri_name(f->p.t), tri_name(f->p.a), tri_name(f->p.l), tri_name(f->p.d), tri_name(f->p.x));
	if (rc < 0)
		return rc;
	rowset_text(row, F_PREDICATES, buf_text(b));
	buf_clear(b);
	for (unsigned i = 0; rc == 0 && i < N_REASONS; i++)
		if (f->reasons >> i & 1)
			rc = buf_printf(b, err, "%s\"%s\"", b->len ? "," : "[", reason_texts[i].code);
	if (rc == 0)
		rc = buf_printf(b, err, "%s", b->len ? "]" : "[]");
	if (rc < 0)
		return rc;
	rowset_text(row, F_REASONS, buf_text(b));
	return put_aliases(x, row, f->request, err);
}

static void put_numbers(struct rowset *row, const struct findings *all, const struct finding *f)
{
	static const char *const flags[] = {NULL, "exact", "at_least", "estimate"};
	static const char *const bands[] = {"unknown", "over_pool", "boundary", "under"};
	static const char *const grades[] = {NULL, "temporal", "physical"};
	char name[3] = {'C', (char)('0' + f->c.class_id), 0};
	known(row, F_PROMPT, f->prompt_tokens);
	if (f->prompt_tokens != UNSAID && flags[f->flag])
		rowset_text(row, F_PROMPT_FLAG, text_of(flags[f->flag]));
	known(row, F_POOL, f->pool_tokens);
	known(row, F_LIMIT, f->input_limit);
	rowset_text(row, F_BAND, text_of(bands[f->band]));
	rowset_time(row, F_STARTED, f->started_ns);
	rowset_text(row, F_CLASS, text_of(name));
	if (grades[f->grade])
		rowset_text(row, F_GRADE, text_of(grades[f->grade]));
	rowset_int(row, F_OWNERS, f->owner_count);
	rowset_int(row, F_OWNER_TENANTS, f->owner_tenants);
	known(row, F_CANDIDATES, f->candidate_owners);
	known(row, F_FOREIGN, f->foreign_at_most);
	known(row, F_DECODE_LIMIT, f->decode_limit);
	rowset_int(row, F_CONFLICT, f->c.conflict);
	rowset_text(row, F_CROSS, text_of(tri_name(f->cross_tenant)));
	rowset_int(row, F_TRIGGER_STANDS, all->trigger_stands);
	rowset_int(row, F_BUILD_STANDS, all->build_stands);
	rowset_int(row, F_RULE, f->c.rule);
	rowset_text(row, F_DELIVERED, text_of(tri_name(f->p.d)));
	rowset_text(row, F_T, text_of(tri_name(f->p.t)));
	rowset_text(row, F_A, text_of(tri_name(f->p.a)));
	rowset_text(row, F_L, text_of(tri_name(f->p.l)));
	rowset_text(row, F_D, text_of(tri_name(f->p.d)));
	rowset_text(row, F_X, text_of(tri_name(f->p.x)));
	rowset_int(row, F_REQUEST_ID, f->request);
	rowset_int(row, F_RESPONSE_ID, f->response);
	if (f->prefill_leg)
		rowset_int(row, F_PREFILL_LEG, f->prefill_leg);
	if (f->decode_leg)
		rowset_int(row, F_DECODE_LEG, f->decode_leg);
}

static bool wanted(const struct rows_state *x, const struct finding *f)
{
	struct text rest = x->classes, part;
	char name[3] = {'C', (char)('0' + f->c.class_id), 0};
	if (!rest.ptr)
		return true;
	while (text_split(&rest, ',', &part))
		if (text_is(part, name) || (f->c.conflict && text_is(part, "conflict")))
			return true;
	return false;
}

static int findings_next(void *state, struct rowset *row, struct err *err)
{
	struct rows_state *x = state;
	const struct findings *all = x->answers->findings;
	while (x->at < all->n && !wanted(x, &all->all[x->at]))
		x->at++;
	if (x->at == all->n)
		return 0;
	const struct finding *f = &all->all[x->at++];
	put_numbers(row, all, f);
	rowset_text(row, F_TENANT, answers_tenant(x->answers, f->tenant));
	if (x->brief)
		return 1;
	int rc = put_response(x, row, f, err);
	if (rc == 0)
		rc = put_lists(x, row, f, err);
	if (rc == 0)
		rc = put_worker(x, row, F_PREFILL, f->prefill_worker, err);
	if (rc == 0)
		rc = put_worker(x, row, F_DECODE, f->decode_worker, err);
	if (rc == 0)
		rc = put_refs(x, row, f, err);
	return rc < 0 ? rc : 1;
}

const struct rowset_spec findings_rowset = {
    .name = "findings",
    .columns = findings_columns,
    .n_columns = ARRAY_SIZE(findings_columns),
    .open = findings_open,
    .next = findings_next,
    .close = findings_close,
};
