/* SPDX-License-Identifier: Apache-2.0 */
/* findings_rows.c - findings(): one row per response, with the texts that its numbers stand for
 *
 * Rows come by start, then request; where a statement asks for the order of their names, those of one start by name. What the
 * statement does not read is not computed. Memory does not grow with what is read.
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

enum part { PART_SIGN, PART_NUMBERS, PART_CANDIDATES, PART_PREDICATES, PART_RESPONSE, PART_ALIASES, PART_REFS };

struct rows_state {
	struct case_file *c;
	struct answers *answers;
	const uint32_t *list; /* responses - 1 of one tenant; NULL: all there are */
	size_t at, n;
	struct row_range *same_range;
	uint32_t *same; /* responses - 1 of one start, by name: those from same_from to same_to, or NULL: as they are */
	size_t same_from, same_to;
	struct text classes; /* borrowed from the cursor; empty: all */
	unsigned wanted;     /* bit per class of them */
	bool conflicts, brief;
	struct sql *response_refs, *aliases, *leg, *boot;
	struct buf refs, text;
	struct finding f; /* of the row at hand: brief, and in full with PART_NUMBERS */
	size_t row;       /* its response - 1 */
	unsigned parts;   /* bit per part that is there */
};

static void findings_close(void *state)
{
	struct rows_state *x = state;
	if (!x)
		return;
	answers_drop(x->answers);
	free(x->same);
	row_range_free(x->same_range);
	sql_end(x->response_refs);
	sql_end(x->aliases);
	sql_end(x->leg);
	sql_end(x->boot);
	buf_done(&x->refs);
	buf_done(&x->text);
	free(x);
}

static bool wanted(const struct rows_state *x, const struct finding *f)
{
	return !x->classes.ptr || x->wanted >> f->c.class_id & 1 || (f->c.conflict && x->conflicts);
}

/* "C1,C2,conflict" */
static void choose(struct rows_state *x)
{
	struct text rest = x->classes, part;
	while (text_split(&rest, ',', &part)) {
		x->conflicts |= text_is(part, "conflict");
		for (unsigned c = CLASS_C1; c <= CLASS_C5; c++)
			if (part.len == 2 && part.ptr[0] == 'C' && part.ptr[1] == (char)('0' + c))
				x->wanted |= 1u << c;
	}
}

static int findings_open(void *ctx, const struct text *args, void **ret, struct err *err)
{
	struct analysis *a = ctx;
	struct rows_state *x = calloc(1, sizeof(*x));
	if (!x)
		return err_nomem(err);
	x->c = a->c;
	x->classes = args[0];
	choose(x);
	x->brief = args[1].len && !text_is(args[1], "0");
	x->refs = x->text = BUF_INIT(16 * MIB);
	int rc = analysis_answers(a, ANSWERS_FINDINGS, &x->answers, err);
	if (rc == 0)
		x->n = x->answers->findings->n;
	if (rc == 0 && args[ROWSET_KEY].ptr)
		rc = findings_of_tenant(x->answers->findings, answers_tenant_named(x->answers, args[ROWSET_KEY]),
					&x->list, &x->n, err);
	if (rc < 0) {
		findings_close(x);
		return rc;
	}
	*ret = x;
	return 0;
}

/* Runs a statement, which is made when it is first asked for, with one id; 1 a row is there, which must be left. */
static int look_up(struct rows_state *x, struct sql **s, const char *text, int64_t id, struct err *err)
{
	int rc = *s ? 0 : sql_prepare(s, x->c, text, err);
	if (rc == 0)
		rc = sql_int(*s, 1, id, err);
	return rc == 0 ? sql_step(*s, err) : rc;
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

static int leg_refs(struct rows_state *x, struct rowset *row, int64_t leg, struct err *err)
{
	int rc = leg ? look_up(x, &x->leg, "SELECT room, refs FROM leg WHERE leg = ?1", leg, err) : 0;
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
	buf_clear(&x->refs);
	int rc = buf_add_char(&x->refs, '[', err);
	if (rc == 0)
		rc = look_up(x, &x->response_refs, "SELECT refs FROM response WHERE response = ?1", f->response, err);
	if (rc == 1) {
		rc = refs_put_all(&x->refs, sql_get_text(x->response_refs, 0), err);
		if (rc == 0)
			rc = leave(x->response_refs, err);
	}
	if (rc == 0)
		rc = leg_refs(x, row, f->prefill_leg, err);
	if (rc == 0 && f->decode_leg != f->prefill_leg)
		rc = leg_refs(x, row, f->decode_leg, err);
	if (rc == 0 && f->prefill_boot) {
		rc = look_up(x, &x->boot, "SELECT refs FROM boot WHERE boot = ?1", f->prefill_boot, err);
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
	struct said said;
	int rc = findings_said(x->answers->findings, f, &said, err);
	if (rc < 0)
		return rc;
	rowset_text(row, F_REQUEST, said.name);
	rowset_text(row, F_MODEL, said.model);
	known(row, F_STATUS, said.status);
	known(row, F_STREAMED, said.streamed);
	rowset_text(row, F_BASIS, said.delivered_basis);
	return 0;
}

static int put_aliases(struct rows_state *x, struct rowset *row, int64_t request, struct err *err)
{
	struct buf *b = &x->text;
	buf_clear(b);
	int rc = look_up(x, &x->aliases,
			 "SELECT value FROM alias WHERE request = ?1 UNION "
			 "SELECT name FROM request WHERE request = ?1 ORDER BY 1",
			 request, err);
	for (; rc == 1; rc = rc == 0 ? sql_step(x->aliases, err) : rc) {
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

static int put_predicates(struct rows_state *x, struct rowset *row, const struct finding *f, struct err *err)
{
	struct buf *b = &x->text;
	buf_clear(b);
	int rc = buf_printf(b, err, "{\"T\":\"%s\",\"A\":\"%s\",\"L\":\"%s\",\"D\":\"%s\",\"X\":\"%s\"}",
			    tri_name(f->p.t), tri_name(f->p.a), tri_name(f->p.l), tri_name(f->p.d), tri_name(f->p.x));
	if (rc == 0)
		rowset_text(row, F_PREDICATES, buf_text(b));
	return rc;
}

static int put_reasons(struct rows_state *x, struct rowset *row, const struct finding *f, struct err *err)
{
	struct buf *b = &x->text;
	buf_clear(b);
	int rc = 0;
	for (unsigned i = 0; rc == 0 && i < N_REASONS; i++)
		if (f->reasons >> i & 1)
			rc = buf_printf(b, err, "%s\"%s\"", b->len ? "," : "[", reason_texts[i].code);
	if (rc == 0)
		rc = buf_printf(b, err, "%s", b->len ? "]" : "[]");
	if (rc == 0)
		rowset_text(row, F_REASONS, buf_text(b));
	return rc;
}

const char *const band_names[] = {"unknown", "over_pool", "boundary", "under"};
const char *const class_names[] = {NULL, "C1", "C2", "C3", "C4", "C5"};

/* What follows from the sign. */
static void put_sign(struct rowset *row, unsigned col, const struct findings *all, const struct finding *f)
{
	switch (col) {
	case F_BAND: rowset_const(row, col, band_names[f->band]); break;
	case F_STARTED: rowset_time(row, col, f->started_ns); break;
	case F_CLASS: rowset_const(row, col, class_names[f->c.class_id]); break;
	case F_CONFLICT: rowset_int(row, col, f->c.conflict); break;
	case F_CROSS: rowset_const(row, col, tri_name(f->cross_tenant)); break;
	case F_TRIGGER_STANDS: rowset_int(row, col, all->trigger_stands); break;
	case F_BUILD_STANDS: rowset_int(row, col, all->build_stands); break;
	case F_RULE: rowset_int(row, col, f->c.rule); break;
	case F_T: rowset_const(row, col, tri_name(f->p.t)); break;
	case F_A: rowset_const(row, col, tri_name(f->p.a)); break;
	case F_L: rowset_const(row, col, tri_name(f->p.l)); break;
	case F_D:
	case F_DELIVERED: rowset_const(row, col, tri_name(f->p.d)); break;
	case F_X: rowset_const(row, col, tri_name(f->p.x)); break;
	case F_RESPONSE_ID: rowset_int(row, col, f->response); break;
	default: break;
	}
}

static void put_leg(struct rowset *row, unsigned col, int64_t leg)
{
	if (leg)
		rowset_int(row, col, leg);
}

/* Of candidates: once they are known. */
static void put_number(const struct rows_state *x, struct rowset *row, unsigned col, const struct finding *f)
{
	static const char *const flags[] = {NULL, "exact", "at_least", "estimate"};
	static const char *const grades[] = {NULL, "temporal", "physical"};
	switch (col) {
	case F_TENANT: rowset_text(row, col, answers_tenant(x->answers, f->tenant)); break;
	case F_PROMPT: known(row, col, f->prompt_tokens); break;
	case F_PROMPT_FLAG: rowset_const(row, col, f->prompt_tokens == UNSAID ? NULL : flags[f->flag]); break;
	case F_POOL: known(row, col, f->pool_tokens); break;
	case F_LIMIT: known(row, col, f->input_limit); break;
	case F_FINISHED: rowset_time(row, col, f->finished_ns); break;
	case F_GRADE: rowset_const(row, col, grades[f->grade]); break;
	case F_OWNERS: rowset_int(row, col, f->owner_count); break;
	case F_OWNER_TENANTS: rowset_int(row, col, f->owner_tenants); break;
	case F_CANDIDATES: known(row, col, f->candidate_owners); break;
	case F_FOREIGN: known(row, col, f->foreign_at_most); break;
	case F_DECODE_LIMIT: known(row, col, f->decode_limit); break;
	case F_REQUEST_ID: rowset_int(row, col, f->request); break;
	case F_PREFILL_LEG: put_leg(row, col, f->prefill_leg); break;
	case F_DECODE_LEG: put_leg(row, col, f->decode_leg); break;
	default: break;
	}
}

struct named {
	struct text name;
	uint32_t at;
};

static int named_cmp(const void *a, const void *b, void *ctx)
{
	const struct named *x = a, *y = b;
	(void)ctx;
	int c = text_cmp(x->name, y->name);
	return c ? c : (x->at > y->at) - (x->at < y->at);
}

/* The i-th row, as response - 1. */
static size_t row_at(const struct rows_state *x, size_t i)
{
	return x->list ? x->list[i] : findings_at(x->answers->findings, i);
}

static int request_of(struct rows_state *x, size_t at, int64_t *ret, struct err *err)
{
	struct findings *f = x->answers->findings;
	int rc = row_range_goto(&x->same_range, f->responses, (int64_t)at + 1, err);
	if (rc == 0)
		*ret = row_range_request(x->same_range);
	return rc;
}

/* Are those of one start in the order of their names? Requests are numbered by their first sign of life, then by name: so
 * they mostly are. */
static int names_in_order(struct rows_state *x, bool *ret, struct err *err)
{
	struct findings *f = x->answers->findings;
	CLEANUP(buf_done) struct buf last = BUF_INIT(MIB);
	int rc = 0;
	*ret = true;
	for (size_t i = x->same_from; rc == 0 && *ret && i < x->same_to; i++) {
		int64_t request = 0;
		struct text name;
		rc = request_of(x, row_at(x, i), &request, err);
		if (rc == 0)
			rc = actors_name(f->lineage->actors, (uint32_t)request, &name, err);
		if (rc < 0)
			break;
		*ret = i == x->same_from || text_cmp(buf_text(&last), name) <= 0;
		buf_clear(&last);
		rc = case_stopped(x->c) ? err_set(err, ERR_INTERRUPTED, "stopped") : buf_add_text(&last, name, err);
	}
	return rc;
}

static int sort_names(struct rows_state *x, struct err *err)
{
	struct findings *f = x->answers->findings;
	struct arena arena;
	size_t n = x->same_to - x->same_from;
	arena_init(&arena, (size_t)4096 * MIB);
	struct named *list = malloc(n * sizeof(*list));
	x->same = malloc(n * sizeof(*x->same));
	int rc = list && x->same ? 0 : err_nomem(err);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		int64_t request = 0;
		list[i] = (struct named){.at = (uint32_t)row_at(x, x->same_from + i)};
		rc = request_of(x, list[i].at, &request, err);
		if (rc == 0)
			rc = actors_name(f->lineage->actors, (uint32_t)request, &list[i].name, err);
		if (rc == 0)
			list[i].name = arena_text(&arena, list[i].name);
	}
	if (rc == 0)
		rc = sort_almost(list, n, sizeof(*list), named_cmp, NULL, err);
	for (size_t i = 0; rc == 0 && i < n; i++)
		x->same[i] = list[i].at;
	free(list);
	arena_done(&arena);
	return rc;
}

/* The response - 1 of the row x->at. */
static int place_of(struct rows_state *x, bool by_name, size_t *ret, struct err *err)
{
	struct findings *f = x->answers->findings;
	int rc = 0;
	if (by_name && x->at >= x->same_to) {
		int64_t start = f->started[row_at(x, x->at)];
		free(x->same);
		x->same = NULL;
		x->same_from = x->same_to = x->at;
		while (x->same_to < x->n && f->started[row_at(x, x->same_to)] == start)
			x->same_to++;
		bool sorted = true;
		if (x->same_to - x->same_from > 1)
			rc = names_in_order(x, &sorted, err);
		if (rc == 0 && !sorted)
			rc = sort_names(x, err);
	}
	*ret = x->same ? x->same[x->at - x->same_from] : row_at(x, x->at);
	return rc;
}

/* What a cell needs that is not known yet. */
static enum part part_of(unsigned col)
{
	switch (col) {
	case F_BAND:
	case F_STARTED:
	case F_CLASS:
	case F_CONFLICT:
	case F_CROSS:
	case F_TRIGGER_STANDS:
	case F_BUILD_STANDS:
	case F_RULE:
	case F_DELIVERED:
	case F_T:
	case F_A:
	case F_L:
	case F_D:
	case F_X:
	case F_RESPONSE_ID: return PART_SIGN;
	case F_CANDIDATES:
	case F_FOREIGN:
	case F_REASONS: return PART_CANDIDATES;
	case F_REQUEST:
	case F_MODEL:
	case F_STATUS:
	case F_STREAMED:
	case F_BASIS: return PART_RESPONSE;
	case F_ALIASES: return PART_ALIASES;
	case F_ROOM:
	case F_REFS: return PART_REFS;
	case F_PREDICATES: return PART_PREDICATES;
	default: return PART_NUMBERS;
	}
}

/* What is not in brief. */
static bool is_list_or_name(unsigned col, enum part part)
{
	return part > PART_CANDIDATES || col == F_REASONS || col == F_PREFILL || col == F_DECODE || col == F_FINISHED;
}

static int put_cell(struct rows_state *x, struct rowset *row, unsigned col, enum part part, struct err *err)
{
	const struct finding *f = &x->f;
	switch (part) {
	case PART_SIGN: put_sign(row, col, x->answers->findings, f); return 0;
	case PART_PREDICATES: return put_predicates(x, row, f, err);
	case PART_RESPONSE: return put_response(x, row, f, err);
	case PART_ALIASES: return put_aliases(x, row, f->request, err);
	case PART_REFS: return put_refs(x, row, f, err);
	default: break;
	}
	if (col == F_REASONS)
		return put_reasons(x, row, f, err);
	if (col == F_PREFILL || col == F_DECODE)
		rowset_text(row, col,
			    answers_worker(x->answers, col == F_PREFILL ? f->prefill_worker : f->decode_worker));
	else
		put_number(x, row, col, f);
	return 0;
}

/* Cells are computed when they are read; those of one part together, where that costs no more. */
static int findings_fill(void *state, struct rowset *row, unsigned col, struct err *err)
{
	struct rows_state *x = state;
	struct findings *all = x->answers->findings;
	enum part part = part_of(col);
	int rc = 0;
	if (x->brief && is_list_or_name(col, part))
		return 0;
	if (part > PART_CANDIDATES && x->parts >> part & 1)
		return 0;
	if (part != PART_SIGN && part != PART_PREDICATES && !(x->parts >> PART_NUMBERS & 1)) {
		rc = findings_get(all, x->row, &x->f, err);
		x->parts |= 1u << PART_NUMBERS;
	}
	if (rc == 0 && part == PART_CANDIDATES && !(x->parts >> part & 1))
		rc = findings_candidates(all, &x->f, err);
	x->parts |= 1u << part;
	return rc == 0 ? put_cell(x, row, col, part, err) : rc;
}

static int findings_next(void *state, struct rowset *row, struct err *err)
{
	struct rows_state *x = state;
	struct findings *all = x->answers->findings;
	for (; x->at < x->n; x->at++) {
		int rc = place_of(x, rowset_in_order(row), &x->row, err);
		if (rc < 0)
			return rc;
		findings_brief(all, x->row, &x->f);
		if (x->at % KEPT_AT_ONCE == 0)
			scratch_trim(&all->scratch);
		if (!wanted(x, &x->f))
			continue;
		x->at++;
		x->parts = 0;
		return 1;
	}
	return 0;
}

static const unsigned findings_key = F_TENANT;
static const unsigned findings_order[] = {F_STARTED, F_REQUEST, F_RESPONSE_ID};
const struct rowset_spec findings_rowset = {
    .name = "findings",
    .columns = findings_columns,
    .n_columns = ARRAY_SIZE(findings_columns),
    .open = findings_open,
    .next = findings_next,
    .fill = findings_fill,
    .key = &findings_key,
    .close = findings_close,
    .order = findings_order,
    .n_order = ARRAY_SIZE(findings_order),
};
