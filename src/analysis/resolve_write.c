/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_write.c - rows of tenant, request, alias, leg and response
 *
 * Rows go out in the canonical order of requests, all of one request together; a leg's number follows from its request, attempt and start.
 */
#include "resolve.h"

#include <stdlib.h>

static int tenant_cmp(const void *a, const void *b, void *ctx)
{
	const struct resolve *r = ctx;
	return text_cmp(names_text(&r->names, *(const uint32_t *)a), names_text(&r->names, *(const uint32_t *)b));
}

static uint32_t *tenant_id(struct resolve *r, uint32_t name)
{
	return &name_at(&r->names, name)->room_legs; /* not used any more */
}

/* Numbers tenants by name. */
static int tenants_write(struct resolve *r, struct err *err)
{
	uint32_t n = 0, *list = NULL;
	CLEANUP(sql_endp)
	struct sql *s = NULL;
	int res = sql_prepare(&s, r->c, "INSERT INTO tenant(tenant, name) VALUES(?, ?)", err);
	for (uint32_t i = 0; i < r->lives.n && !res; i++) {
		*tenant_id(r, life_at(r, i)->tenant) = 0;
		res = resolve_tick(r, err);
	}
	for (uint32_t i = 0; i < r->lives.n && !res; i++) {
		uint32_t t = life_at(r, i)->tenant;
		if (t && !*tenant_id(r, t))
			*tenant_id(r, t) = ++n;
		res = resolve_tick(r, err);
	}
	list = scratch_alloc(&r->scratch, (size_t)n + 1, sizeof(*list));
	if (!res && !list)
		res = err_nomem(err);
	for (uint32_t i = 0; i < r->lives.n && !res; i++) {
		uint32_t t = life_at(r, i)->tenant;
		if (t)
			list[*tenant_id(r, t) - 1] = t;
		res = resolve_tick(r, err);
	}
	if (!res)
		res = order_sort(r, list, n, tenant_cmp, err);
	for (uint32_t i = 0; i < n && !res; i++) {
		*tenant_id(r, list[i]) = i + 1;
		res = sql_int(s, 1, (int64_t)i + 1, err);
		if (!res)
			res = sql_text_kept(s, 2, names_text(&r->names, list[i]), err);
		if (!res)
			res = sql_run(s, err);
	}
	return res;
}

static int conflict_text(uint32_t bits, struct buf *out, struct err *err)
{
	static const char *const texts[] = {
	    "one id was used by different tenants: kept apart",
	    "one id was used by requests that overlap in time: kept apart",
	    "an id fits several requests: not joined by it",
	    "one room was used by several executions in one place",
	    "records of gateways contradict each other about how it ended",
	    "gateway and engine count different prompt lengths",
	};
	int res = 0;
	buf_clear(out);
	for (unsigned i = 0; i < ARRAY_SIZE(texts) && !res; i++)
		if (bits & 1u << i)
			res = buf_printf(out, err, "%s%s", out->len ? "; " : "", texts[i]);
	return res;
}

static int write_request(struct resolve *r, struct row_writer *w, const struct request *q, struct buf *tmp,
			 struct err *err)
{
	int res = conflict_text(q->conflict, tmp, err);
	if (res)
		return res;
	row_put_int(w, REQUEST_REQUEST, q->id);
	row_put_text(w, REQUEST_NAME, names_text(&r->names, q->name));
	row_put_int(w, REQUEST_TENANT, q->tenant ? *tenant_id(r, q->tenant) : UNKNOWN);
	row_put_text(w, REQUEST_MODEL, names_text(&r->names, q->model));
	row_put_int(w, REQUEST_FIRST_NS, q->first);
	row_put_int(w, REQUEST_LAST_NS, q->last);
	row_put_text(w, REQUEST_CONFLICT, q->conflict ? buf_text(tmp) : (struct text){NULL, 0});
	return row_next(w, err);
}

struct alias_row {
	enum { KIND_GATEWAY_ID, KIND_RESPONSE_ID, KIND_TRACE_ID, KIND_RID, KIND_ROOM } kind;
	uint32_t value, worker; /* worker: index + 1 */
};

struct alias_writer {
	struct row_writer *rows;
	struct alias_row have[4 * CHAIN_MAX]; /* what this request has already */
	unsigned n;
};

static int write_alias(struct resolve *r, struct alias_writer *w, const struct request *q, struct alias_row a,
		       enum rule rule, struct err *err)
{
	static const char *const kinds[] = {"gateway_id", "response_id", "trace_id", "rid", "room"};
	if (!a.value)
		return 0;
	for (unsigned i = 0; i < w->n; i++)
		if (w->have[i].kind == a.kind && w->have[i].value == a.value && w->have[i].worker == a.worker)
			return 0;
	if (w->n < ARRAY_SIZE(w->have))
		w->have[w->n++] = a;
	row_put_int(w->rows, ALIAS_REQUEST, q->id);
	row_put_text(w->rows, ALIAS_KIND, text_of(kinds[a.kind]));
	row_put_text(w->rows, ALIAS_VALUE, names_text(&r->names, a.value));
	row_put_int(w->rows, ALIAS_WORKER, a.worker ? worker_at(r, a.worker - 1)->id : UNKNOWN);
	row_put_text(w->rows, ALIAS_RULE, text_of(rule_name(rule)));
	return row_next(w->rows, err);
}

static int write_aliases(struct resolve *r, struct alias_writer *w, const struct request *q, struct err *err)
{
	int res = 0;
	w->n = 0;
	for (uint32_t i = 0; i < q->n_lives && !res; i++) {
		const struct life *l = life_at(r, r->life_order[q->lives_from + i]);
		enum rule rule = l->conflict ? RULE_CONFLICT : (enum rule)l->rule;
		res = write_alias(r, w, q, (struct alias_row){KIND_GATEWAY_ID, l->gateway_id, 0}, rule, err);
		if (!res)
			res = write_alias(r, w, q, (struct alias_row){KIND_RESPONSE_ID, l->response_id, 0}, rule, err);
		if (!res)
			res = write_alias(r, w, q, (struct alias_row){KIND_TRACE_ID, l->trace_id, 0}, rule, err);
		for (uint32_t k = l->rooms; k && !res;) {
			const struct room_node *n = shelf_at(&r->rooms, k - 1);
			res = write_alias(r, w, q, (struct alias_row){KIND_ROOM, n->room, 0}, rule, err);
			k = n->next;
		}
	}
	for (uint32_t i = 0; i < q->n_legs && !res; i++) {
		const struct leg *l = leg_at(r, r->leg_order[q->legs_from + i]);
		/* a page log's request is called by its rid, and there may be many */
		if (l->page_only && q->n_legs == 1 && !q->n_lives && l->rid == q->name && !l->room)
			continue;
		enum rule rule = l->conflict ? RULE_CONFLICT : (enum rule)l->rule;
		res = write_alias(r, w, q, (struct alias_row){KIND_RID, l->rid, l->worker + 1}, rule, err);
		if (!res)
			res = write_alias(r, w, q, (struct alias_row){KIND_RID, l->page_rid, l->worker + 1}, RULE_ROOM,
					  err);
		if (!res)
			res = write_alias(r, w, q, (struct alias_row){KIND_TRACE_ID, l->trace, 0}, rule, err);
		if (!res)
			res = write_alias(r, w, q, (struct alias_row){KIND_ROOM, l->room, 0},
					  l->conflict                       ? RULE_CONFLICT
					  : l->rule == RULE_TIME_AND_LENGTH ? RULE_TIME_AND_LENGTH
									    : RULE_OWN,
					  err);
	}
	return res;
}

static int write_leg(struct resolve *r, struct row_writer *w, const struct request *q, const struct leg *l, int64_t id,
		     struct err *err)
{
	static const char *const outcomes[] = {NULL,        "finished",  "aborted", "failed",
					       "late_read", "truncated", "rejected"};
	struct ref refs[REFS_MAX];
	unsigned n = refs_list(r, &l->refs, refs);
	row_put_int(w, LEG_ROW_LEG, id);
	row_put_int(w, LEG_ROW_REQUEST, q->id);
	row_put_int(w, LEG_ROW_ATTEMPT, l->attempt);
	row_put_int(w, LEG_ROW_WORKER, worker_at(r, l->worker)->id);
	row_put_int(w, LEG_ROW_BOOT, l->boot ? boot_at(r, l->boot - 1)->id : UNKNOWN);
	row_put_text(w, LEG_ROW_ROLE, maybe(role_name((enum role)l->role)));
	row_put_text(w, LEG_ROW_RID, names_text(&r->names, l->rid));
	row_put_text(w, LEG_ROW_ROOM, names_text(&r->names, l->room));
	row_put_int(w, LEG_ROW_STARTED_NS, l->started);
	row_put_int(w, LEG_ROW_FINISHED_NS, l->finished);
	row_put_int(w, LEG_ROW_INPUT_TOKENS, l->input);
	row_put_text(w, LEG_ROW_INPUT_FLAG, maybe(flag_name((enum flag)l->input_flag)));
	row_put_int(w, LEG_ROW_CACHED_TOKENS, l->cached);
	row_put_int(w, LEG_ROW_OUTPUT_TOKENS, l->output);
	row_put_int(w, LEG_ROW_REJECTED_TOKENS, l->rejected);
	row_put_int(w, LEG_ROW_LIMIT_TOKENS, l->limit);
	row_put_text(w, LEG_ROW_OUTCOME, maybe(outcomes[l->outcome]));
	row_put_text(w, LEG_ROW_FINISH_REASON, names_text(&r->names, l->finish));
	row_put_int(w, LEG_ROW_STATUS, l->status ? l->status : UNKNOWN);
	row_put_text(w, LEG_ROW_MESSAGE, names_text(&r->names, l->message));
	row_put_int(w, LEG_ROW_BATCH, l->batch ? (int64_t)l->batch : UNKNOWN);
	for (unsigned i = 0; i < n; i++)
		row_put_ref(w, LEG_ROW_REFS, refs[i]);
	return row_next(w, err);
}

static int by_attempt(const void *a, const void *b, void *ctx)
{
	const struct resolve *r = ctx;
	uint32_t x = leg_at(r, *(const uint32_t *)a)->attempt, y = leg_at(r, *(const uint32_t *)b)->attempt;
	return x < y ? -1 : x > y; /* of one attempt the order of time stays */
}

static int write_legs(struct resolve *r, struct row_writer *w, struct request *q, int64_t *id, struct err *err)
{
	int res = order_sort(r, r->leg_order + q->legs_from, q->n_legs, by_attempt, err);
	for (uint32_t i = 0; i < q->n_legs && !res; i++)
		res = write_leg(r, w, q, leg_at(r, r->leg_order[q->legs_from + i]), ++*id, err);
	return res;
}

static int write_all(struct resolve *r, struct err *err)
{
	CLEANUP(buf_done) struct buf tmp = BUF_INIT(64 * KIB);
	CLEANUP(row_names_freep) struct row_names *names = NULL; /* goes behind the writers */
	CLEANUP(row_writer_freep) struct row_writer *requests = NULL;
	CLEANUP(row_writer_freep) struct row_writer *aliases = NULL;
	CLEANUP(row_writer_freep) struct row_writer *legs = NULL;
	CLEANUP(row_writer_freep) struct row_writer *responses = NULL;
	int64_t leg = 0, response = 0;
	int res = row_names_new(&names, r->c, err);
	if (!res)
		res = row_writer_open(&requests, r->c, ROWS_REQUEST, names, err);
	if (!res)
		res = row_writer_open(&aliases, r->c, ROWS_ALIAS, names, err);
	if (!res)
		res = row_writer_open(&legs, r->c, ROWS_LEG, names, err);
	if (!res)
		res = row_writer_open(&responses, r->c, ROWS_RESPONSE, names, err);
	struct alias_writer w = {.rows = aliases};
	for (uint32_t i = 0; i < r->requests.n && !res; i++) {
		struct request *q = shelf_at(&r->requests, r->request_order[i]);
		res = write_request(r, requests, q, &tmp, err);
		if (!res)
			res = write_aliases(r, &w, q, err);
		if (!res)
			res = write_legs(r, legs, q, &leg, err);
		if (!res)
			res = response_write(r, responses, q, &response, err);
		if (!res)
			res = resolve_tick(r, err);
	}
	if (!res)
		res = row_end(requests, err);
	if (!res)
		res = row_end(aliases, err);
	if (!res)
		res = row_end(legs, err);
	if (!res)
		res = row_end(responses, err);
	return res ? res : row_names_end(names, err);
}

int request_write(struct resolve *r, struct err *err)
{
	int res = tenants_write(r, err);
	return res ? res : write_all(r, err);
}
