/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_evidence.c - replicas, their boots, and what their processes said of their version */
#include "deploy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ranks of one server start within this time. */
#define RANK_SPREAD_NS (600 * NS_PER_S)
/* A record that bears its boot's time nearly is of that boot. */
#define BOOT_SKEW_NS   (5 * NS_PER_S)
/* SGLang rejects at min(context - 1, pool - 1) - 5: a limit further below the context is the pool's. */
#define LIMIT_MARGIN   6

int deploy_grow(struct deploy *d, void **list, size_t *cap, size_t n, size_t size, struct err *err)
{
	if (n < *cap)
		return 0;
	size_t more = *cap ? *cap * 2 : 4;
	void *at = arena_array(&d->arena, more, size);
	if (!at)
		return err_nomem(err);
	if (n)
		memcpy(at, *list, n * size);
	*list = at;
	*cap = more;
	return 0;
}

int deploy_keep(struct deploy *d, struct text *t, struct err *err)
{
	if (!t->len) {
		*t = TEXT("");
		return 0;
	}
	*t = arena_text(&d->arena, *t);
	return t->ptr ? 0 : err_nomem(err);
}

/* ---- names ---- */

/* "NAME/dp3" without the rank. */
static struct text server_of(struct text t)
{
	size_t at = text_rfind_char(t, '/');
	int64_t n;
	if (at == SIZE_MAX || !at || !text_starts(text_from(t, at), "/dp") || !text_int64(text_from(t, at + 3), &n))
		return t;
	return text_sub(t, 0, at);
}

static struct replica_name *name_slot(struct deploy *d, struct text name)
{
	size_t at = text_hash(name) & (d->cap_names - 1);
	while (d->names[at].name.ptr && !text_eq(d->names[at].name, name))
		at = (at + 1) & (d->cap_names - 1);
	return &d->names[at];
}

static int names_room(struct deploy *d, struct err *err)
{
	if ((d->n_names + 1) * 2 <= d->cap_names)
		return 0;
	struct replica_name *old = d->names;
	size_t n = d->cap_names, cap = n ? n * 2 : 256;
	d->names = calloc(cap, sizeof(*d->names));
	if (!d->names) {
		d->names = old;
		return err_nomem(err);
	}
	d->cap_names = cap;
	for (size_t i = 0; i < n; i++)
		if (old[i].name.ptr)
			*name_slot(d, old[i].name) = old[i];
	free(old);
	return 0;
}

static int name_add(struct deploy *d, struct text name, struct replica *is, struct err *err)
{
	int rc = names_room(d, err);
	if (rc)
		return rc;
	struct replica_name *s = name_slot(d, name);
	if (s->name.ptr) { /* another name of two replicas is none */
		if (s->is != is && s->is && !text_eq(s->is->name, name))
			s->is = NULL;
		return 0;
	}
	rc = deploy_keep(d, &name, err);
	*s = (struct replica_name){name, is};
	d->n_names += rc == 0;
	return rc;
}

struct replica *deploy_find(struct deploy *d, struct text worker)
{
	worker = server_of(worker);
	return worker.len && d->cap_names ? name_slot(d, worker)->is : NULL;
}

int deploy_replica(struct deploy *d, struct text worker, struct replica **ret, struct err *err)
{
	*ret = deploy_find(d, worker);
	if (*ret)
		return 0;
	worker = server_of(worker);
	struct replica *r = arena_alloc(&d->arena, sizeof(*r));
	int rc = r ? deploy_grow(d, (void **)&d->replicas, &d->cap, d->n, sizeof(*d->replicas), err) : err_nomem(err);
	if (rc)
		return rc;
	*r = (struct replica){.name = worker,
			      .last_ns = TIME_UNKNOWN,
			      .work_ns = TIME_UNKNOWN,
			      .began_ns = TIME_UNKNOWN,
			      .gone_ns = TIME_UNKNOWN,
			      .after_retired_ns = TIME_UNKNOWN};
	rc = deploy_keep(d, &r->name, err);
	if (!rc)
		rc = name_add(d, r->name, r, err);
	if (!rc && name_slot(d, r->name)->is != r) /* was another name of several: now it is its own */
		name_slot(d, r->name)->is = r;
	d->replicas[d->n++] = r;
	*ret = r;
	return rc;
}

/* A log's engine may call itself by its address, and its file by a name. */
static int load_aliases(struct deploy *d, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc =
	    sql_prepare(&s, d->c,
			"SELECT DISTINCT worker, worker_alias FROM source WHERE worker IS NOT NULL AND worker_alias IS "
			"NOT NULL AND worker <> worker_alias ORDER BY worker, worker_alias",
			err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		struct text a = server_of(sql_get_text(s, 0)), b = server_of(sql_get_text(s, 1));
		struct replica *x = deploy_find(d, a), *y = deploy_find(d, b);
		if (x && !y)
			rc = name_add(d, b, x, err);
		else if (y && !x)
			rc = name_add(d, a, y, err);
	}
	return rc;
}

/* ---- boots ---- */

enum tri context_exceeds_pool(struct text engine, int64_t context, int64_t pool, int64_t limit)
{
	if (context == UNSAID)
		return TRI_UNKNOWN;
	if (pool != UNSAID)
		return pool < context ? TRI_YES : TRI_NO;
	if (limit == UNSAID || !text_is(engine, "sglang"))
		return TRI_UNKNOWN;
	return limit < context - LIMIT_MARGIN ? TRI_YES : limit < context ? TRI_NO : TRI_UNKNOWN;
}

static int64_t least(int64_t a, int64_t b)
{
	return a == UNSAID ? b : b == UNSAID ? a : MIN(a, b);
}

static int keep_boot(struct deploy *d, struct deploy_boot *b, struct err *err)
{
	struct text *const texts[] = {&b->role, &b->engine, &b->version, &b->commit, &b->model, &b->backend, &b->refs};
	int rc = 0;
	for (size_t i = 0; !rc && i < ARRAY_SIZE(texts); i++)
		rc = deploy_keep(d, texts[i], err);
	return rc;
}

/* The boot of the same server that another rank has told of already. */
static struct deploy_boot *same_boot(struct replica *r, const struct deploy_boot *b, size_t n_before)
{
	for (size_t i = 0; i < n_before; i++) {
		struct deploy_boot *o = &r->boots[i];
		bool both = o->started_ns != TIME_UNKNOWN && b->started_ns != TIME_UNKNOWN;
		int64_t apart = both ? o->started_ns - b->started_ns : 0;
		if (both ? apart <= RANK_SPREAD_NS && apart >= -RANK_SPREAD_NS : o->started_ns == b->started_ns)
			return o;
	}
	return NULL;
}

static int merge_refs(struct deploy *d, struct text *to, struct text more, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * KIB);
	int rc = buf_add_char(&b, '[', err);
	if (!rc)
		rc = refs_put_all(&b, *to, err);
	if (!rc && b.len < 2 * KIB) /* of the others a few are enough */
		rc = refs_put_all(&b, more, err);
	if (!rc)
		rc = buf_add_char(&b, ']', err);
	*to = buf_text(&b);
	return rc ? rc : deploy_keep(d, to, err);
}

static int merge_boot(struct deploy *d, struct deploy_boot *to, const struct deploy_boot *b, struct err *err)
{
	struct text *const mine[] = {&to->role, &to->engine, &to->version, &to->commit, &to->model, &to->backend};
	const struct text its[] = {b->role, b->engine, b->version, b->commit, b->model, b->backend};
	int rc = 0;
	for (size_t i = 0; !rc && i < ARRAY_SIZE(mine); i++)
		if (!mine[i]->len) {
			*mine[i] = its[i];
			rc = deploy_keep(d, mine[i], err);
		}
	to->context_len = least(to->context_len, b->context_len);
	to->pool_tokens = least(to->pool_tokens, b->pool_tokens);
	to->input_limit = least(to->input_limit, b->input_limit);
	if (b->exceeds == TRI_YES || to->exceeds == TRI_YES)
		to->exceeds = TRI_YES;
	else if (b->exceeds == TRI_UNKNOWN)
		to->exceeds = TRI_UNKNOWN;
	if (to->ended_ns != TIME_UNKNOWN && (b->ended_ns == TIME_UNKNOWN || b->ended_ns > to->ended_ns))
		to->ended_ns = b->ended_ns;
	return rc ? rc : merge_refs(d, &to->refs, b->refs, err);
}

static int add_boot(struct deploy *d, struct replica *r, struct deploy_boot *b, int64_t id, size_t *n_before,
		    struct err *err)
{
	struct deploy_boot *to = same_boot(r, b, *n_before);
	int rc = to ? merge_boot(d, to, b, err) : keep_boot(d, b, err);
	if (!rc && !to) {
		rc = deploy_grow(d, (void **)&r->boots, &r->cap_boots, r->n_boots, sizeof(*r->boots), err);
		if (!rc) {
			to = &r->boots[r->n_boots++];
			*to = *b;
		}
	}
	if (!rc)
		rc = deploy_grow(d, (void **)&to->ids, &to->cap_ids, to->n_ids, sizeof(*to->ids), err);
	if (!rc)
		to->ids[to->n_ids++] = id;
	return rc;
}

static int load_boots(struct deploy *d, struct err *err)
{
	static const char sql[] =
	    "SELECT w.name, w.last_ns, b.boot, b.started_ns, b.ended_ns, coalesce(b.role, w.role), coalesce(b.engine, "
	    "w.engine), "
	    "b.version, b.commit_id, b.model, b.transfer_backend, b.refs, b.context_len, b.pool_tokens, b.input_limit, "
	    "w.worker, "
	    "w.first_ns FROM worker w LEFT JOIN boot b USING(worker) ORDER BY w.name, b.started_ns, b.boot";
	CLEANUP(sql_endp) struct sql *s = NULL;
	size_t before = 0; /* boots of the ranks before this one */
	int64_t worker = 0;
	int rc = sql_prepare(&s, d->c, sql, err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		struct replica *r;
		rc = deploy_replica(d, sql_get_text(s, 0), &r, err);
		if (rc)
			return rc;
		r->work_ns = MAX(r->work_ns, sql_get_time(s, 1));
		deploy_last(d, r, r->work_ns);
		int64_t first = sql_get_time(s, 16);
		if (first != TIME_UNKNOWN && (r->began_ns == TIME_UNKNOWN || first < r->began_ns))
			r->began_ns = first;
		if (sql_get_int(s, 15) != worker) {
			before = r->n_boots;
			worker = sql_get_int(s, 15);
		}
		if (sql_type(s, 2) == SQL_NULL)
			continue;
		struct deploy_boot b = {.started_ns = sql_get_time(s, 3),
					.ended_ns = sql_get_time(s, 4),
					.role = sql_get_text(s, 5),
					.engine = sql_get_text(s, 6),
					.version = sql_get_text(s, 7),
					.commit = sql_get_text(s, 8),
					.model = sql_get_text(s, 9),
					.backend = sql_get_text(s, 10),
					.refs = sql_get_text(s, 11),
					.context_len = sql_get_time(s, 12),
					.pool_tokens = sql_get_time(s, 13),
					.input_limit = sql_get_time(s, 14),
					.refused_ns = TIME_UNKNOWN,
					.may_have_served_ns = TIME_UNKNOWN,
					.served_over_ns = TIME_UNKNOWN};
		b.seen_ns = b.started_ns != TIME_UNKNOWN ? b.started_ns : sql_get_time(s, 16);
		b.exceeds = context_exceeds_pool(b.engine, b.context_len, b.pool_tokens, b.input_limit);
		rc = add_boot(d, r, &b, sql_get_int(s, 2), &before, err);
	}
	return rc;
}

/* ---- claims ---- */

static struct policy_answer ask_policy(const struct deploy *d, const struct replica *r, const struct deploy_boot *b,
				       const struct claim *c)
{
	struct text role = b ? b->role : r->listed ? r->listed->role : TEXT("");
	struct build build = {.package = c->package.len ? c->package
					 : b            ? b->engine
							: TEXT(""),
			      .version = c->version,
			      .commit = c->commit,
			      .disaggregated = text_is(role, "unified") ? TRI_NO
					       : role.len               ? TRI_YES
									: TRI_UNKNOWN,
			      .transfer_backend = b ? b->backend : TEXT("")};
	return policy_judge(d->policy, &build);
}

/* Which boot does a record of this time speak of? NULL: of none that is known. */
static struct deploy_boot *boot_of(struct replica *r, const struct claim *c)
{
	char tmp[64], quoted[72];
	ref_format(c->ref, tmp, sizeof(tmp));
	snprintf(quoted, sizeof(quoted), "\"%s\"", tmp);
	for (size_t i = 0; c->rung >= RUNG_PROCESS && i < r->n_boots; i++)
		if (text_find(r->boots[i].refs, quoted, 0) != SIZE_MAX)
			return &r->boots[i];
	if (c->at_ns == TIME_UNKNOWN) /* held against the newest: it cannot be shown to be of an older one */
		return r->n_boots ? &r->boots[r->n_boots - 1] : NULL;
	for (size_t i = r->n_boots; i-- > 0;) {
		struct deploy_boot *b = &r->boots[i];
		if (b->started_ns != TIME_UNKNOWN && c->at_ns < b->started_ns - BOOT_SKEW_NS)
			continue;
		return b->ended_ns == TIME_UNKNOWN || c->at_ns <= b->ended_ns + BOOT_SKEW_NS ? b : NULL;
	}
	return NULL;
}

int deploy_claim(struct deploy *d, struct replica *r, struct claim c, struct err *err)
{
	struct deploy_boot *b = c.rung >= RUNG_THERE ? boot_of(r, &c) : NULL;
	struct claim **list = b ? &b->claims : &r->loose;
	size_t *n = b ? &b->n_claims : &r->n_loose, *cap = b ? &b->cap_claims : &r->cap_loose;
	c.says = ask_policy(d, r, b, &c);
	c.commit = policy_commit(&(struct build){.version = c.version, .commit = c.commit});
	/* a list names hundreds of packages that the policy does not speak of */
	if (c.rung < RUNG_PROCESS && c.says.fix == FIX_UNCONCERNED)
		return 0;
	struct text *const texts[] = {&c.package, &c.version, &c.commit, &c.digest};
	int rc = deploy_grow(d, (void **)list, cap, *n, sizeof(c), err);
	for (size_t i = 0; !rc && i < ARRAY_SIZE(texts); i++)
		rc = deploy_keep(d, texts[i], err);
	if (rc)
		return rc;
	(*list)[(*n)++] = c;
	if (!c.vague)
		deploy_last(d, r, c.at_ns);
	if (b && c.at_ns != TIME_UNKNOWN && (b->seen_ns == TIME_UNKNOWN || c.at_ns < b->seen_ns))
		b->seen_ns = c.at_ns;
	return 0;
}

static int load_said(struct deploy *d, struct err *err)
{
	static const char sql[] = "SELECT e.worker, e.source, e.byte_off, e.byte_len, e.at_ns, e.engine, e.version, "
				  "e.commit_id, e.ts_quality = 4 AND e.what = 'snapshot' FROM boot_events e "
				  "WHERE e.version IS NOT NULL OR e.commit_id IS NOT NULL";
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, d->c, sql, err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		struct replica *r = deploy_find(d, sql_get_text(s, 0));
		if (!r)
			continue;
		struct claim c = {.rung = RUNG_PROCESS,
				  .at_ns = sql_get_time(s, 4),
				  .package = sql_get_text(s, 5),
				  .version = sql_get_text(s, 6),
				  .commit = sql_get_text(s, 7),
				  .vague = sql_get_int(s, 8),
				  .ref = {sql_get_int(s, 1), (uint64_t)sql_get_int(s, 2), (uint64_t)sql_get_int(s, 3)}};
		rc = deploy_claim(d, r, c, err);
	}
	return rc;
}

/* ---- behaviour ---- */

struct boot_id {
	int64_t id;
	struct deploy_boot *boot;
};

static int id_cmp(const void *a, const void *b)
{
	const struct boot_id *x = a, *y = b;
	return (x->id > y->id) - (x->id < y->id);
}

static int list_ids(struct deploy *d, struct boot_id **ret, size_t *ret_n, struct err *err)
{
	size_t n = 0, at = 0;
	for (size_t i = 0; i < d->n; i++)
		for (size_t k = 0; k < d->replicas[i]->n_boots; k++)
			n += d->replicas[i]->boots[k].n_ids;
	struct boot_id *ids = arena_array(&d->arena, n + 1, sizeof(*ids));
	if (!ids)
		return err_nomem(err);
	for (size_t i = 0; i < d->n; i++)
		for (size_t k = 0; k < d->replicas[i]->n_boots; k++)
			for (size_t m = 0; m < d->replicas[i]->boots[k].n_ids; m++)
				ids[at++] =
				    (struct boot_id){d->replicas[i]->boots[k].ids[m], &d->replicas[i]->boots[k]};
	qsort(ids, n, sizeof(*ids), id_cmp);
	*ret = ids;
	*ret_n = n;
	return 0;
}

static struct ref first_ref(struct text json)
{
	struct text t;
	struct ref ref = {0};
	size_t at = 0;
	return refs_next(json, &at, &t) && ref_parse(t, &ref) ? ref : (struct ref){0};
}

/* Over-long prompts that a prefill or unified boot refused. Decode workers refuse nothing that prefill should have. */
static int load_refused(struct deploy *d, struct err *err)
{
	static const char sql[] = "SELECT e.worker, e.source, e.byte_off, e.byte_len, e.at_ns, e.input_tokens, "
				  "e.limit_tokens, e.role FROM leg_events e WHERE e.what = 'rejected'";
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, d->c, sql, err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		struct replica *r = deploy_find(d, sql_get_text(s, 0));
		struct claim at = {.rung = RUNG_THERE, .at_ns = sql_get_time(s, 4)};
		struct deploy_boot *b = r && at.at_ns != TIME_UNKNOWN ? boot_of(r, &at) : NULL;
		int64_t limit = b && b->input_limit != UNSAID ? b->input_limit : sql_get_time(s, 6);
		struct text role = sql_type(s, 7) == SQL_NULL && b ? b->role : sql_get_text(s, 7);
		if (!b || limit == UNSAID || sql_get_time(s, 5) < limit || text_is(role, "decode") ||
		    at.at_ns <= b->refused_ns)
			continue;
		b->refused_ns = at.at_ns;
		b->refused_ref =
		    (struct ref){sql_get_int(s, 1), (uint64_t)sql_get_int(s, 2), (uint64_t)sql_get_int(s, 3)};
	}
	return rc;
}

/* Over-long prompts that were served through such a boot all the same. */
static int load_served(struct deploy *d, struct err *err)
{
	static const char sql[] =
	    "SELECT p.boot, coalesce(f.finished_at, f.started_at), f.d = 'yes', p.refs FROM findings(NULL, 1) f JOIN "
	    "leg p ON "
	    "p.leg = f.prefill_leg WHERE f.d <> 'no' AND f.prompt_tokens >= f.input_limit AND "
	    "coalesce(f.prompt_tokens_flag, "
	    "'exact') <> 'estimate' AND coalesce(p.outcome, '') <> 'truncated' AND p.boot IS NOT NULL";
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct boot_id *ids = NULL;
	size_t n = 0;
	int rc = list_ids(d, &ids, &n, err);
	if (!rc)
		rc = sql_prepare(&s, d->c, sql, err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		struct boot_id key = {.id = sql_get_int(s, 0)}, *it = bsearch(&key, ids, n, sizeof(key), id_cmp);
		if (!it)
			continue;
		struct deploy_boot *b = it->boot;
		int64_t at = MAX(sql_get_time(s, 1), TIME_UNKNOWN + 1);
		if (b->may_have_served_ns == TIME_UNKNOWN || at < b->may_have_served_ns)
			b->may_have_served_ns = at;
		if (sql_get_int(s, 2) && (b->served_over_ns == TIME_UNKNOWN || at < b->served_over_ns)) {
			b->served_over_ns = at;
			b->served_ref = first_ref(sql_get_text(s, 3));
		}
	}
	return rc;
}

/* ---- all of it ---- */

/* An inventory that gives no time to what it calls retired speaks of the moment at which it was taken, and of none before. */
static int64_t gone_by(const struct inventory *inventory, const struct inventory_row *row)
{
	bool undated = row->retired_ns == TIME_UNKNOWN && row->state == STATE_RETIRED;
	return undated ? inventory_taken_ns(inventory) : row->retired_ns;
}

static int load_inventory(struct deploy *d, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; d->inventory && !rc && i < inventory_count(d->inventory); i++) {
		const struct inventory_row *row = inventory_at(d->inventory, i);
		struct replica *r;
		rc = deploy_replica(d, row->replica, &r, err);
		if (!rc && !r->listed) {
			r->listed = row;
			r->gone_ns = gone_by(d->inventory, row);
		}
	}
	return rc;
}

static int name_cmp(const void *a, const void *b)
{
	return text_cmp((*(struct replica *const *)a)->name, (*(struct replica *const *)b)->name);
}

static int boot_cmp(const void *a, const void *b)
{
	const struct deploy_boot *x = a, *y = b;
	if (x->started_ns != y->started_ns)
		return x->started_ns < y->started_ns ? -1 : 1; /* without a beginning first */
	return (x->ids[0] > y->ids[0]) - (x->ids[0] < y->ids[0]);
}

int deploy_collect(struct deploy **ret, struct analysis *a, struct err *err)
{
	struct deploy *d = calloc(1, sizeof(*d));
	if (!d)
		return err_nomem(err);
	arena_init(&d->arena, DEPLOY_MAX_BYTES);
	d->c = a->c;
	d->inventory = a->params.inventory;
	int rc = a->params.policy ? 0 : policy_builtin(&d->own_policy, NULL, err);
	d->policy = a->params.policy ? a->params.policy : d->own_policy;
	if (!rc)
		rc = deploy_read_time(d, err);
	if (!rc)
		rc = load_boots(d, err);
	for (size_t i = 0; !rc && i < d->n; i++)
		if (d->replicas[i]->n_boots)
			qsort(d->replicas[i]->boots, d->replicas[i]->n_boots, sizeof(*d->replicas[i]->boots), boot_cmp);
	if (!rc)
		rc = load_aliases(d, err);
	if (!rc)
		rc = load_inventory(d, err);
	if (!rc)
		rc = load_said(d, err);
	if (!rc)
		rc = deploy_installs(d, err);
	if (!rc)
		rc = load_refused(d, err);
	if (!rc)
		rc = load_served(d, err);
	if (!rc)
		rc = deploy_tails(d, err);
	if (!rc)
		rc = deploy_signs(d, err);
	if (!rc)
		rc = deploy_end(d, err);
	if (rc) {
		deploy_free(d);
		return rc;
	}
	if (d->n)
		qsort(d->replicas, d->n, sizeof(*d->replicas), name_cmp);
	*ret = d;
	return 0;
}

void deploy_free(struct deploy *d)
{
	if (!d)
		return;
	policy_free(d->own_policy);
	free(d->names);
	arena_done(&d->arena);
	free(d);
}
