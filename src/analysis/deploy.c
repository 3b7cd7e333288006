/* SPDX-License-Identifier: Apache-2.0 */
/* deploy.c - deploy(at, as_of): one row a boot, or one a replica as it was at that time
 *
 * Without a time the last row of each replica is its current state, at the last event of the case; the others are its history, each
 * judged at its own end. With one, only what was known by then counts.
 */
#include "deploy.h"

#include <inttypes.h>
#include <stdlib.h>

enum { REFS_BYTES = 1536, EVIDENCE_SHOWN = 16 };
enum deploy_column {
	D_REPLICA,
	D_STARTED,
	D_ENDED,
	D_ROLE,
	D_NODE,
	D_ENGINE,
	D_VERSION,
	D_COMMIT,
	D_DIGEST,
	D_RUNG,
	D_POOL,
	D_CONTEXT,
	D_EXCEEDS,
	D_VERDICT,
	D_REASONS,
	D_EVIDENCE_AT,
	D_REFS,
	D_MODEL,
	D_LIMIT,
	D_FIX,
	D_FIXED_SINCE,
	D_CURRENT,
	D_COUNTED,
	D_OUTSIDE,
	D_OBSERVED,
	D_JUDGED,
	D_EVIDENCE,
	D_INVENTORY,
	D_BOOTS
};
static const struct rowset_column deploy_columns[] = {
    {"replica", "TEXT", false},
    {"boot_started_at", "INTEGER", false},
    {"boot_ended_at", "INTEGER", false},
    {"role", "TEXT", false},
    {"node", "TEXT", false},
    {"engine", "TEXT", false},
    {"version", "TEXT", false},
    {"commit_id", "TEXT", false},
    {"image_digest", "TEXT", false},
    {"rung", "TEXT", false},
    {"pool_tokens", "INTEGER", false},
    {"context_len", "INTEGER", false},
    {"context_exceeds_pool", "TEXT", false},
    {"verdict", "TEXT", false},
    {"reasons", "JSON", false},
    {"evidence_at", "INTEGER", false},
    {"refs", "JSON", false},
    {"model", "TEXT", false},
    {"input_limit", "INTEGER", false},
    {"fix", "TEXT", false},            /* what the policy says of its version */
    {"fixed_since", "INTEGER", false}, /* first record by its process of a fixed version */
    {"current", "INTEGER", false},     /* 1: its state at the time asked for; 0: one of its past */
    {"counted", "INTEGER", false},     /* 1: in the inventory, and not begun after that time */
    {"outside", "INTEGER", false},     /* 1: there is an inventory, and it does not have it */
    {"observed", "INTEGER", false},    /* 1: something of it was seen by then */
    {"judged_at", "INTEGER", false},
    {"evidence", "JSON", false},  /* the records of its version, as a list */
    {"inventory", "JSON", false}, /* columns of the inventory that are not ours */
    {"boots", "JSON", false},     /* its rows in boot, one for each rank */
    {"at", "INTEGER", true},
    {"as_of", "INTEGER", true},
};

struct deploy_row {
	const struct replica *replica;
	const struct deploy_boot *boot; /* NULL: none */
	struct boot_evidence evidence;
	struct boot_verdict v;
	const struct container_seen *container; /* newest one known by then */
	int64_t judged_ns;
	bool counted;
};

struct deploy_state {
	struct answers *answers;
	const struct deploy *d;
	struct arena arena;
	struct deploy_row *rows;
	size_t n, at;
	bool asked; /* for a time */
	int64_t t, as_of;
	struct buf text;
};

static void deploy_close(void *state)
{
	struct deploy_state *x = state;
	if (!x)
		return;
	answers_drop(x->answers);
	arena_done(&x->arena);
	free(x->rows);
	buf_done(&x->text);
	free(x);
}

static bool known_by(int64_t at, int64_t t)
{
	return at == TIME_UNKNOWN || at <= t;
}

/* The claims that were known by then. */
static int claims_by(struct deploy_state *x, const struct claim *from, size_t n, int64_t t, struct boot_evidence *e,
		     struct err *err)
{
	struct claim *list = arena_array(&x->arena, n + 1, sizeof(*list));
	if (!list)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++)
		if (known_by(from[i].at_ns, t))
			list[e->n++] = from[i];
	e->claims = list;
	return 0;
}

/* What containers say: the newest start, and whether the last one ended. Of several in a pod those count that are known to hold the
 * engine, where there are such. */
static void look_at_containers(const struct deploy_state *x, const struct replica *r, int64_t t, struct deploy_row *row)
{
	struct boot_evidence *e = &row->evidence;
	bool engine_known = false;
	for (size_t i = 0; i < r->n_containers; i++)
		engine_known |= r->containers[i].holds;
	for (size_t i = 0; i < r->n_containers; i++) {
		const struct container_seen *k = &r->containers[i];
		if (engine_known && !k->holds)
			continue;
		if (!known_by(k->at_ns, t)) {
			e->future |= !x->asked && !k->vague && deploy_is_future(k->at_ns, t);
			continue;
		}
		e->future |= deploy_is_future(k->started_ns, e->now_ns);
		e->observed |= k->there;
		if (!row->container || k->at_ns >= row->container->at_ns)
			row->container = k;
		if (k->started_ns != TIME_UNKNOWN && k->started_ns <= t)
			e->restarted_ns = MAX(e->restarted_ns, k->started_ns);
		for (size_t j = 0; k->started_ns == TIME_UNKNOWN && k->restarts != UNSAID && j < r->n_containers; j++) {
			const struct container_seen *o = &r->containers[j];
			if (text_eq(o->container, k->container) && o->restarts != UNSAID && o->restarts < k->restarts &&
			    o->at_ns < k->at_ns)
				e->restarted_ns = MAX(e->restarted_ns, k->at_ns);
		}
	}
	const struct container_seen *k = row->container;
	if (k && !k->there && (text_is(k->state, "retired") || text_is(k->state, "waiting")))
		e->ended = true;
}

static void look_at_inventory(const struct deploy_state *x, const struct replica *r, int64_t t, struct deploy_row *row)
{
	const struct inventory_row *in = r->listed;
	struct boot_evidence *e = &row->evidence;
	e->listed = in != NULL;
	e->outside = x->d->inventory && !in;
	row->counted = in != NULL;
	if (!in)
		return;
	bool dated = r->gone_ns != TIME_UNKNOWN;
	e->retired_undated = in->state == STATE_RETIRED && in->retired_ns == TIME_UNKNOWN;
	e->retired = dated && r->gone_ns <= t;
	if (in->state == STATE_RETIRED && dated && !e->retired && !x->asked) { /* it may be younger than the logs */
		int64_t now = x->as_of != TIME_UNKNOWN ? x->as_of : t;
		bool later = r->gone_ns > now && r->gone_ns - INVENTORY_SKEW_NS > now;
		e->retired = !later;
		e->retired_later = later && !e->retired_undated;
	}
	e->seen_after = r->after_retired_ns != TIME_UNKNOWN && (!x->asked || r->after_retired_ns <= t);
	bool later = in->started_ns != TIME_UNKNOWN && in->started_ns > t;
	bool at_work = r->began_ns != TIME_UNKNOWN && r->began_ns <= t;
	e->seen_before = later && at_work && r->began_ns < in->started_ns - INVENTORY_SKEW_NS;
	e->not_started = x->asked && later && !at_work; /* whoever is at work counts, whatever the inventory says */
	row->counted = !e->not_started;
}

static bool says_affected(const struct claim *list, size_t n, int64_t t)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].rung >= RUNG_THERE && list[i].says.fix == FIX_AFFECTED && !list[i].vague &&
		    list[i].at_ns != TIME_UNKNOWN && list[i].at_ns <= t)
			return true;
	return false;
}

static bool ever_affected(const struct replica *r, int64_t t)
{
	bool any = says_affected(r->loose, r->n_loose, t);
	for (size_t i = 0; i < r->n_boots; i++)
		any |= says_affected(r->boots[i].claims, r->boots[i].n_claims, t);
	return any;
}

/* Claims that belong to the replica but to no boot say something where it has none. */
static int judge(struct deploy_state *x, const struct replica *r, const struct deploy_boot *b, bool current,
		 struct err *err)
{
	struct deploy_row *row = &x->rows[x->n++];
	int64_t t = current || !b || b->ended_ns == TIME_UNKNOWN ? x->t : b->ended_ns;
	*row = (struct deploy_row){.replica = r, .boot = b, .judged_ns = t};
	struct boot_evidence *e = &row->evidence;
	*e = (struct boot_evidence){.current = current,
				    .observed = b != NULL,
				    .restarted_ns = TIME_UNKNOWN,
				    .age_at_ns = x->as_of != TIME_UNKNOWN ? x->as_of : t,
				    .now_ns = x->as_of != TIME_UNKNOWN        ? x->as_of
					      : x->d->read_ns != TIME_UNKNOWN ? MIN(t, x->d->read_ns)
									      : t,
				    .max_age_ns = policy_max_age_ns(x->d->policy),
				    .refused_ns = TIME_UNKNOWN};
	int64_t limit = x->asked ? t : INT64_MAX; /* of its past all is known */
	int rc =
	    b ? claims_by(x, b->claims, b->n_claims, limit, e, err) : claims_by(x, r->loose, r->n_loose, limit, e, err);
	for (size_t i = 0; i < e->n; i++)
		e->observed |= e->claims[i].rung >= RUNG_THERE;
	if (current)
		look_at_containers(x, r, t, row);
	e->said_affected = ever_affected(r, limit);
	look_at_inventory(x, r, t, row);
	if (b) {
		e->ended |= b->ended_ns != TIME_UNKNOWN && b->ended_ns <= t;
		if (b->refused_ns != TIME_UNKNOWN && b->refused_ns <= limit)
			e->refused_ns = b->refused_ns;
		e->may_have_served = b->may_have_served_ns != TIME_UNKNOWN && b->may_have_served_ns <= limit;
		e->served_over = b->served_over_ns != TIME_UNKNOWN && b->served_over_ns <= limit;
	}
	row->v = deploy_judge(e);
	if (!e->n && row->v.rung < x->d->fleet_rung)
		row->v.rung = x->d->fleet_rung;
	return rc;
}

/* The boot that ran then, or had ended last; NULL: none was seen by then. */
static const struct deploy_boot *boot_at(const struct replica *r, int64_t t)
{
	for (size_t i = r->n_boots; i-- > 0;)
		if (r->boots[i].seen_ns != TIME_UNKNOWN ? r->boots[i].seen_ns <= t : r->n_boots == 1)
			return &r->boots[i];
	return NULL;
}

static int judge_all(struct deploy_state *x, struct err *err)
{
	size_t max = 0;
	for (size_t i = 0; i < x->d->n; i++)
		max += x->d->replicas[i]->n_boots + 1;
	x->rows = calloc(max + 1, sizeof(*x->rows));
	if (!x->rows)
		return err_nomem(err);
	int rc = 0;
	for (size_t i = 0; !rc && i < x->d->n; i++) {
		const struct replica *r = x->d->replicas[i];
		if (x->asked) {
			rc = judge(x, r, boot_at(r, x->t), true, err);
			continue;
		}
		for (size_t k = 0; !rc && k < r->n_boots; k++)
			rc = judge(x, r, &r->boots[k], k + 1 == r->n_boots, err);
		if (!rc && !r->n_boots)
			rc = judge(x, r, NULL, true, err);
	}
	return rc;
}

static int time_argument(struct text arg, const char *name, int64_t *ret, struct err *err)
{
	*ret = TIME_UNKNOWN;
	if (!arg.len || text_int64(arg, ret))
		return 0;
	return err_set(err, ERR_USAGE, "deploy(): %s is a time in nanoseconds, not '%.*s'", name,
		       TEXT_ARG(text_sub(arg, 0, 40)));
}

static int deploy_open(void *ctx, const struct text *args, void **ret_state, struct err *err)
{
	struct analysis *a = ctx;
	struct deploy_state *x = calloc(1, sizeof(*x));
	if (!x)
		return err_nomem(err);
	*ret_state = x;
	arena_init(&x->arena, DEPLOY_MAX_BYTES);
	x->text = BUF_INIT(MIB);
	int rc = time_argument(args[0], "at", &x->t, err);
	if (!rc)
		rc = time_argument(args[1], "as_of", &x->as_of, err);
	if (!rc)
		rc = analysis_answers(a, ANSWERS_NAMES, &x->answers, err);
	if (!rc && !x->answers->deploy)
		rc = deploy_collect(&x->answers->deploy, a, err);
	if (!rc) {
		x->d = x->answers->deploy;
		x->asked = x->t != TIME_UNKNOWN;
		x->t = x->asked ? x->t : x->d->last_ns;
		rc = judge_all(x, err);
	}
	if (rc) {
		deploy_close(x);
		*ret_state = NULL;
	}
	return rc;
}

/* ---- cells ---- */

static int put_reasons(struct deploy_state *x, const struct deploy_row *row, struct err *err)
{
	bool first = true;
	buf_clear(&x->text);
	int rc = buf_add_char(&x->text, '[', err);
	for (unsigned i = 0; !rc && i < DEPLOY_REASON_COUNT + POLICY_REASON_COUNT; i++) {
		bool own = i < DEPLOY_REASON_COUNT;
		unsigned bit = own ? i : i - DEPLOY_REASON_COUNT;
		if (!((own ? row->v.reasons : row->v.policy) >> bit & 1))
			continue;
		rc = buf_printf(&x->text, err, "%s\"%s\"", first ? "" : ",",
				own ? deploy_reason_code((enum deploy_reason)bit)
				    : policy_reason_code((enum policy_reason)bit));
		first = false;
	}
	return rc ? rc : buf_add_char(&x->text, ']', err);
}

static int put_ref(struct buf *b, struct ref ref, struct err *err)
{
	return b->len < REFS_BYTES ? refs_put(b, ref.source, ref.off, ref.len, err) : 0;
}

/* The record, and what says what is in the image that it names. */
static int put_claim_refs(struct buf *b, const struct claim *c, struct err *err)
{
	int rc = put_ref(b, c->ref, err);
	for (size_t i = 0; !rc && i < ARRAY_SIZE(c->image); i++)
		rc = put_ref(b, c->image[i], err);
	return rc;
}

static int put_refs(struct deploy_state *x, const struct deploy_row *row, struct err *err)
{
	struct buf *b = &x->text;
	buf_clear(b);
	int rc = buf_add_char(b, '[', err);
	if (!rc && row->v.by)
		rc = put_claim_refs(b, row->v.by, err);
	for (size_t i = 0; !rc && i < row->evidence.n; i++) /* the others that decide something */
		if (row->evidence.claims[i].says.fix == FIX_AFFECTED || row->evidence.claims[i].says.fix == FIX_FIXED)
			rc = put_claim_refs(b, &row->evidence.claims[i], err);
	if (!rc && row->boot && row->evidence.served_over)
		rc = put_ref(b, row->boot->served_ref, err);
	if (!rc && row->boot && row->v.rung == RUNG_BEHAVED)
		rc = put_ref(b, row->boot->refused_ref, err);
	if (!rc && row->container)
		rc = put_ref(b, row->container->ref, err);
	if (!rc && row->boot && b->len < REFS_BYTES)
		rc = refs_put_all(b, row->boot->refs, err);
	return rc ? rc : buf_add_char(b, ']', err);
}

static int put_member(struct buf *b, const char *name, struct text value, struct err *err)
{
	int rc = buf_printf(b, err, ",\"%s\":", name);
	if (rc)
		return rc;
	return value.len ? buf_json_string(b, value, err) : buf_add_text(b, TEXT("null"), err);
}

static int put_claim(struct buf *b, const struct claim *c, struct err *err)
{
	char at[40], ref[64];
	int rc = buf_printf(b, err, "%s{\"rung\":\"L%d\"", b->len > 1 ? "," : "", (int)c->rung);
	if (!rc)
		rc = put_member(b, "package", c->package, err);
	if (!rc)
		rc = put_member(b, "version", c->version, err);
	if (!rc)
		rc = put_member(b, "commit", c->commit, err);
	if (!rc)
		rc = put_member(b, "says", text_of(fix_name(c->says.fix)), err);
	if (!rc)
		rc = put_member(b, "at", text_of(stamp_format(c->at_ns, at, sizeof(at))), err);
	if (!rc)
		rc = put_member(b, "ref", c->ref.len ? text_of(ref_format(c->ref, ref, sizeof(ref))) : TEXT(""), err);
	return rc ? rc : buf_add_char(b, '}', err);
}

static int put_evidence(struct deploy_state *x, const struct deploy_row *row, struct err *err)
{
	const struct boot_evidence *e = &row->evidence;
	buf_clear(&x->text);
	int rc = buf_add_char(&x->text, '[', err);
	if (!rc && row->v.by)
		rc = put_claim(&x->text, row->v.by, err);
	size_t n = 1;
	for (size_t i = 0; !rc && i < e->n && n < EVIDENCE_SHOWN; i++)
		if (&e->claims[i] != row->v.by) {
			rc = put_claim(&x->text, &e->claims[i], err);
			n++;
		}
	return rc ? rc : buf_add_char(&x->text, ']', err);
}

static int put_boots(struct deploy_state *x, const struct deploy_boot *b, struct err *err)
{
	buf_clear(&x->text);
	int rc = buf_add_char(&x->text, '[', err);
	for (size_t i = 0; !rc && b && i < b->n_ids; i++)
		rc = buf_printf(&x->text, err, "%s%" PRId64, i ? "," : "", b->ids[i]);
	return rc ? rc : buf_add_char(&x->text, ']', err);
}

static struct text or_null(struct text t)
{
	return t.len ? t : (struct text){NULL, 0};
}

static struct text first_of(struct text a, struct text b, struct text c)
{
	return a.len ? a : b.len ? b : or_null(c);
}

static void set_names(struct rowset *out, const struct deploy_row *row)
{
	static const struct deploy_boot no_boot;
	static const struct inventory_row unlisted;
	static const struct container_seen no_container;
	const struct deploy_boot *b = row->boot ? row->boot : &no_boot;
	const struct inventory_row *in = row->replica->listed ? row->replica->listed : &unlisted;
	const struct container_seen *k = row->container ? row->container : &no_container;
	const struct claim *by = row->v.by;
	rowset_text(out, D_REPLICA, row->replica->name);
	rowset_text(out, D_ROLE, first_of(b->role, in->role, k->role));
	rowset_text(out, D_NODE, first_of(k->node, in->node, TEXT("")));
	rowset_text(out, D_ENGINE, first_of(b->engine, by ? by->package : TEXT(""), TEXT("")));
	rowset_text(out, D_VERSION, by ? or_null(by->version) : (struct text){NULL, 0});
	rowset_text(out, D_COMMIT, by ? or_null(by->commit) : (struct text){NULL, 0});
	rowset_text(out, D_DIGEST, first_of(k->digest, by ? by->digest : TEXT(""), in->image_digest));
	rowset_text(out, D_MODEL, first_of(b->model, in->model, TEXT("")));
	rowset_text(out, D_INVENTORY, or_null(in->extra));
}

static void set_number(struct rowset *out, unsigned col, int64_t v)
{
	if (v != UNSAID)
		rowset_int(out, col, v);
}

static void set_plain(struct deploy_state *x, struct rowset *out, const struct deploy_row *row)
{
	static const char *const rungs[] = {"L0", "L1", "L2", "L3", "L4", "L5"};
	const struct deploy_boot *b = row->boot;
	rowset_time(out, D_STARTED, b ? b->started_ns : TIME_UNKNOWN);
	rowset_time(out, D_ENDED, b && b->ended_ns <= x->t ? b->ended_ns : TIME_UNKNOWN);
	rowset_text(out, D_RUNG, text_of(rungs[row->v.rung]));
	set_number(out, D_POOL, b ? b->pool_tokens : UNSAID);
	set_number(out, D_CONTEXT, b ? b->context_len : UNSAID);
	set_number(out, D_LIMIT, b ? b->input_limit : UNSAID);
	rowset_text(out, D_EXCEEDS, text_of(tri_name(b ? b->exceeds : TRI_UNKNOWN)));
	rowset_text(out, D_VERDICT, text_of(deploy_verdict_name(row->v.verdict)));
	rowset_time(out, D_EVIDENCE_AT, row->v.evidence_ns);
	rowset_text(out, D_FIX, text_of(fix_name(row->v.fix)));
	rowset_time(out, D_FIXED_SINCE, row->v.fixed_ns);
	rowset_int(out, D_CURRENT, row->evidence.current);
	rowset_int(out, D_COUNTED, row->counted);
	rowset_int(out, D_OUTSIDE, row->evidence.outside);
	rowset_int(out, D_OBSERVED, row->evidence.observed);
	rowset_time(out, D_JUDGED, row->judged_ns);
}

static int deploy_next(void *state, struct rowset *out, struct err *err)
{
	struct deploy_state *x = state;
	if (x->at == x->n)
		return 0;
	const struct deploy_row *row = &x->rows[x->at++];
	set_names(out, row);
	set_plain(x, out, row);
	int rc = put_reasons(x, row, err);
	if (!rc)
		rowset_text(out, D_REASONS, buf_text(&x->text));
	if (!rc)
		rc = put_refs(x, row, err);
	if (!rc)
		rowset_text(out, D_REFS, buf_text(&x->text));
	if (!rc)
		rc = put_evidence(x, row, err);
	if (!rc)
		rowset_text(out, D_EVIDENCE, buf_text(&x->text));
	if (!rc)
		rc = put_boots(x, row->boot, err);
	if (!rc)
		rowset_text(out, D_BOOTS, buf_text(&x->text));
	return rc ? rc : 1;
}

const struct rowset_spec deploy_rowset = {
    .name = "deploy",
    .columns = deploy_columns,
    .n_columns = ARRAY_SIZE(deploy_columns),
    .open = deploy_open,
    .next = deploy_next,
    .close = deploy_close,
};
