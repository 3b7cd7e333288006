/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_write.c - rows of tenant, request, alias and leg
 *
 * Rows go out in the canonical order of requests; a leg's number follows from its request, attempt and start.
 */
#include "resolve.h"

#include <stdlib.h>

static struct sql *statement(struct resolve *r, const char *text, struct err *err)
{
	struct sql *s = NULL;
	return sql_prepare(&s, r->c, text, err) ? NULL : s;
}

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
	struct sql *s = statement(r, "INSERT INTO tenant(tenant, name) VALUES(?, ?)", err);
	int res = s ? 0 : ERR_STORE;
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

static int write_request(struct resolve *r, struct sql *s, const struct request *q, struct buf *tmp, struct err *err)
{
	int res = conflict_text(q->conflict, tmp, err);
	if (!res)
		res = sql_int(s, 1, q->id, err);
	if (!res)
		res = sql_text_kept(s, 2, names_text(&r->names, q->name), err);
	if (!res)
		res = sql_int(s, 3, q->tenant ? *tenant_id(r, q->tenant) : UNKNOWN, err);
	if (!res)
		res = sql_text_kept(s, 4, names_text(&r->names, q->model), err);
	if (!res)
		res = sql_int(s, 5, q->first, err);
	if (!res)
		res = sql_int(s, 6, q->last, err);
	if (!res)
		res = sql_text_kept(s, 7, q->conflict ? buf_text(tmp) : (struct text){NULL, 0}, err);
	return res ? res : sql_run(s, err);
}

struct alias_row {
	enum { KIND_GATEWAY_ID, KIND_RESPONSE_ID, KIND_TRACE_ID, KIND_RID, KIND_ROOM } kind;
	uint32_t value, worker; /* worker: index + 1 */
};

enum { ALIAS_BATCH = 32 }; /* rows that go out at once: half the cost of one by one */

struct alias_pending {
	int64_t request;
	struct alias_row row;
	enum rule rule;
};

struct alias_writer {
	struct sql *one, *many;
	struct alias_row rows[4 * CHAIN_MAX]; /* what this request has already */
	unsigned n, n_pending;
	struct alias_pending pending[ALIAS_BATCH];
};

static int bind_alias(struct resolve *r, struct sql *s, int at, const struct alias_pending *p, struct err *err)
{
	static const char *const kinds[] = {"gateway_id", "response_id", "trace_id", "rid", "room"};
	int res = sql_int(s, at, p->request, err);
	if (!res)
		res = sql_text_kept(s, at + 1, text_of(kinds[p->row.kind]), err);
	if (!res)
		res = sql_text_kept(s, at + 2, names_text(&r->names, p->row.value), err);
	if (!res)
		res = sql_int(s, at + 3, p->row.worker ? worker_at(r, p->row.worker - 1)->id : UNKNOWN, err);
	return res ? res : sql_text_kept(s, at + 4, text_of(rule_name(p->rule)), err);
}

static int flush_aliases(struct resolve *r, struct alias_writer *w, struct err *err)
{
	bool full = w->n_pending == ALIAS_BATCH;
	int res = 0;
	for (unsigned i = 0; i < w->n_pending && !res; i++) {
		res = bind_alias(r, full ? w->many : w->one, full ? (int)i * 5 + 1 : 1, &w->pending[i], err);
		if (!res && !full)
			res = sql_run(w->one, err);
	}
	if (!res && full)
		res = sql_run(w->many, err);
	w->n_pending = 0;
	return res;
}

static int write_alias(struct resolve *r, struct alias_writer *w, const struct request *q, struct alias_row a,
		       enum rule rule, struct err *err)
{
	if (!a.value)
		return 0;
	for (unsigned i = 0; i < w->n; i++)
		if (w->rows[i].kind == a.kind && w->rows[i].value == a.value && w->rows[i].worker == a.worker)
			return 0;
	if (w->n < ARRAY_SIZE(w->rows))
		w->rows[w->n++] = a;
	w->pending[w->n_pending++] = (struct alias_pending){q->id, a, rule};
	return w->n_pending == ALIAS_BATCH ? flush_aliases(r, w, err) : 0;
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
			res = write_alias(r, w, q, (struct alias_row){KIND_ROOM, l->room, 0},
					  l->conflict                       ? RULE_CONFLICT
					  : l->rule == RULE_TIME_AND_LENGTH ? RULE_TIME_AND_LENGTH
									    : RULE_OWN,
					  err);
	}
	return res;
}

static int bind_leg(struct resolve *r, struct sql *s, const struct request *q, const struct leg *l, int64_t id,
		    struct err *err)
{
	static const char *const outcomes[] = {NULL, "finished", "aborted", "failed", "truncated", "rejected"};
	const int64_t head[] = {id, q->id, l->attempt, worker_at(r, l->worker)->id,
				l->boot ? boot_at(r, l->boot - 1)->id : UNKNOWN};
	int res = 0, c = 0;
	for (size_t i = 0; i < ARRAY_SIZE(head) && !res; i++)
		res = sql_int(s, ++c, head[i], err);
	const struct text names[] = {maybe(role_name((enum role)l->role)), names_text(&r->names, l->rid),
				     names_text(&r->names, l->room)};
	for (size_t i = 0; i < ARRAY_SIZE(names) && !res; i++)
		res = sql_text_kept(s, ++c, names[i], err);
	const int64_t times[] = {l->started, l->finished, l->input};
	for (size_t i = 0; i < ARRAY_SIZE(times) && !res; i++)
		res = sql_int(s, ++c, times[i], err);
	if (!res)
		res = sql_text_kept(s, ++c, maybe(flag_name((enum flag)l->input_flag)), err);
	const int64_t counts[] = {l->cached, l->output, l->rejected, l->limit};
	for (size_t i = 0; i < ARRAY_SIZE(counts) && !res; i++)
		res = sql_int(s, ++c, counts[i], err);
	if (!res)
		res = sql_text_kept(s, ++c, maybe(outcomes[l->outcome]), err);
	if (!res)
		res = sql_text_kept(s, ++c, names_text(&r->names, l->finish), err);
	if (!res)
		res = sql_int(s, ++c, l->status ? l->status : UNKNOWN, err);
	if (!res)
		res = sql_text_kept(s, ++c, names_text(&r->names, l->message), err);
	return res ? res : sql_int(s, ++c, l->batch ? (int64_t)l->batch : UNKNOWN, err);
}

static int by_attempt(const void *a, const void *b, void *ctx)
{
	const struct resolve *r = ctx;
	uint32_t x = leg_at(r, *(const uint32_t *)a)->attempt, y = leg_at(r, *(const uint32_t *)b)->attempt;
	return x < y ? -1 : x > y; /* of one attempt the order of time stays */
}

static int write_legs(struct resolve *r, struct sql *s, struct request *q, int64_t *id, struct buf *tmp,
		      struct err *err)
{
	int res = order_sort(r, r->leg_order + q->legs_from, q->n_legs, by_attempt, err);
	for (uint32_t i = 0; i < q->n_legs && !res; i++) {
		const struct leg *l = leg_at(r, r->leg_order[q->legs_from + i]);
		res = bind_leg(r, s, q, l, ++*id, err);
		if (!res)
			res = refs_json(r, &l->refs, tmp, err);
		if (!res)
			res = sql_text_kept(s, 22, buf_text(tmp), err);
		if (!res)
			res = sql_run(s, err);
	}
	return res;
}

#define ALIAS_INSERT "INSERT INTO alias(request, kind, value, worker, rule) VALUES"
#define ALIAS_ROW    "(?,?,?,?,?)"
#define ALIAS_ROWS4  ALIAS_ROW "," ALIAS_ROW "," ALIAS_ROW "," ALIAS_ROW
#define ALIAS_ROWS                                                                                                  \
	ALIAS_ROWS4 "," ALIAS_ROWS4 "," ALIAS_ROWS4 "," ALIAS_ROWS4 "," ALIAS_ROWS4 "," ALIAS_ROWS4 "," ALIAS_ROWS4 \
		    "," ALIAS_ROWS4

static int write_all(struct resolve *r, struct err *err)
{
	CLEANUP(buf_done) struct buf tmp = BUF_INIT(64 * KIB);
	CLEANUP(sql_endp)
	struct sql *requests = statement(
	    r, "INSERT INTO request(request, name, tenant, model, first_ns, last_ns, conflict) VALUES(?,?,?,?,?,?,?)",
	    err);
	CLEANUP(sql_endp)
	struct sql *aliases = requests ? statement(r, ALIAS_INSERT ALIAS_ROW, err) : NULL;
	CLEANUP(sql_endp)
	struct sql *many = aliases ? statement(r, ALIAS_INSERT ALIAS_ROWS, err) : NULL;
	CLEANUP(sql_endp)
	struct sql *legs =
	    many
		? statement(
		      r,
		      "INSERT INTO leg(leg, request, attempt, worker, boot, role, rid, room, started_ns, finished_ns, "
		      "input_tokens, input_flag, cached_tokens, output_tokens, rejected_tokens, limit_tokens, outcome, "
		      "finish_reason, status, message, batch, refs) "
		      "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
		      err)
		: NULL;
	struct alias_writer *w = legs ? malloc(sizeof(*w)) : NULL;
	if (!legs)
		return ERR_STORE;
	if (!w)
		return err_nomem(err);
	*w = (struct alias_writer){.one = aliases, .many = many};
	int64_t leg = 0;
	int res = 0;
	for (uint32_t i = 0; i < r->requests.n && !res; i++) {
		struct request *q = shelf_at(&r->requests, r->request_order[i]);
		res = write_request(r, requests, q, &tmp, err);
		if (!res)
			res = write_aliases(r, w, q, err);
		if (!res)
			res = write_legs(r, legs, q, &leg, &tmp, err);
		if (!res)
			res = resolve_tick(r, err);
	}
	if (!res)
		res = flush_aliases(r, w, err);
	free(w);
	return res;
}

int request_write(struct resolve *r, struct err *err)
{
	int res = tenants_write(r, err);
	return res ? res : write_all(r, err);
}
