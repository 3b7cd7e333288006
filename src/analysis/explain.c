/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - explain(request): how each response of one request got its class, step by step
 *
 * Steps: the class with its rule; each predicate with its reasons, facts and records; what another value of a predicate would
 * make of the class, and what evidence would tell; notes on the whole case. All of it follows from the finding, so nothing is
 * said here that the class does not rest on.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "register.h"

enum explain_column { X_RESPONSE, X_NO, X_STEP, X_ABOUT, X_VALUE, X_CODE, X_SAYS, X_REFS };
static const struct rowset_column explain_columns[] = {
    {"response_id", "INTEGER", false}, {"no", "INTEGER", false}, {"step", "TEXT", false},
    {"about", "TEXT", false},          {"value", "TEXT", false}, {"code", "TEXT", false},
    {"says", "TEXT", false},           {"refs", "JSON", false},  {"request", "INTEGER", true},
};

struct reasoning {
	int64_t response;
	const char *step, *value, *code;
	char about; /* 0: none */
	struct text says, refs;
};

struct explain {
	struct analysis *analysis;
	struct answers *answers;
	struct arena arena;
	struct reasoning *steps;
	size_t n, cap, at;
	struct buf text, refs;
};

/* A predicate explained. */
struct asked {
	char letter;
	const char *question, *evidence;
};
static const struct asked predicates_asked[] = {
    {'T',
     "Was the condition met that triggers the failure: a prompt at or over the input limit, or a hand-off mismatch?",
     "the prefill worker's log of that time, or the prompt's length in the gateway's log and the limit that the boot "
     "printed"},
    {'A', "Did an affected build, in an affected mode, serve it?",
     "the start-up lines of the boots that served it, with version and mode"},
    {'L', "Does the page log show that it read what another request left?",
     "page logs of the workers that served it, whole from its first page to its last"},
    {'D', "Did at least one byte or token of content leave?",
     "the gateway's access log of this response: status and bytes"},
    {'X', "Is there content evidence: a planted marker, or a tenant's report?",
     "a marker that was planted in another request, found in this response"},
};
enum { N_ASKED = ARRAY_SIZE(predicates_asked) };

static const char *const class_says[] = {[CLASS_C1] = "C1 confirmed",
					 [CLASS_C2] = "C2 probable",
					 [CLASS_C3] = "C3 possible",
					 [CLASS_C4] = "C4 not affected",
					 [CLASS_C5] = "C5 could not be determined"};

static const char *const rule_says[] = {
    [1] = "rule 1: X is yes, or L and D are yes",
    [2] = "rule 2: L is yes, and D is unknown",
    [3] = "rule 3: D is no",
    [4] = "rule 4: L is no",
    [5] = "rule 5: T or A is no, and that part of the hypothesis stands",
    [6] = "rule 6: T, A and D are yes, and L is unknown",
    [7] = "rule 7: T, D and L are unknown",
    [8] = "rule 8: no other rule fits",
};

static enum tri *value_of(struct predicates *p, size_t i)
{
	enum tri *const all[N_ASKED] = {&p->t, &p->a, &p->l, &p->d, &p->x};
	return all[i];
}

/* Takes the text and the refs gathered since the last step. */
static int add_step(struct explain *x, struct reasoning s, struct err *err)
{
	int rc = grow_array((void **)&x->steps, &x->cap, x->n, sizeof(*x->steps), err);
	if (rc < 0)
		return rc;
	rc = x->refs.len ? buf_add_char(&x->refs, ']', err) : 0;
	if (rc < 0)
		return rc;
	s.says = arena_text(&x->arena, buf_text(&x->text));
	if (x->refs.len)
		s.refs = arena_text(&x->arena, buf_text(&x->refs));
	if ((x->text.len && !s.says.ptr) || (x->refs.len && !s.refs.ptr))
		return err_nomem(err);
	buf_clear(&x->text);
	buf_clear(&x->refs);
	x->steps[x->n++] = s;
	return 0;
}

/* ---- records behind a predicate ---- */

/* Adds the refs of one row; sql gives a list for ?1. */
static int refs_of(struct explain *x, const char *sql, int64_t id, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = id ? sql_prepare(&s, x->analysis->c, sql, err) : 1;
	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = sql_int(s, 1, id, err);
	if (rc == 0)
		rc = sql_step(s, err);
	if (rc == 1)
		rc = refs_put_all(&x->refs, sql_get_text(s, 0), err);
	return rc;
}

static int leg_refs(struct explain *x, int64_t leg, struct err *err)
{
	return refs_of(x, "SELECT refs FROM leg WHERE leg = ?1", leg, err);
}

static int boot_refs(struct explain *x, int64_t boot, struct err *err)
{
	return refs_of(x, "SELECT refs FROM boot WHERE boot = ?1", boot, err);
}

static int read_refs(struct explain *x, const struct finding *f, struct err *err)
{
	const struct findings *all = x->answers->findings;
	int rc = 0;
	for (uint32_t i = 0; rc == 0 && i < f->n_reads && x->refs.len < EXPLAIN_REFS_BYTES; i++) {
		const struct edge *e = all->reads[f->reads_from + i].edge;
		const struct mark *marks[] = {&e->read, &e->alloc, &e->write};
		for (size_t m = 0; rc == 0 && m < ARRAY_SIZE(marks); m++)
			rc = refs_put(&x->refs, marks[m]->source, marks[m]->off, marks[m]->len, err);
	}
	return rc;
}

static int refs_behind(struct explain *x, const struct finding *f, char letter, struct err *err)
{
	int rc = buf_add_char(&x->refs, '[', err);
	if (rc == 0 && letter == 'T')
		rc = leg_refs(x, f->prefill_leg, err);
	if (rc == 0 && letter == 'T')
		rc = leg_refs(x, f->decode_leg, err);
	if (rc == 0 && (letter == 'T' || letter == 'A'))
		rc = boot_refs(x, f->prefill_boot, err);
	if (rc == 0 && (letter == 'T' || letter == 'D'))
		rc = refs_of(x, "SELECT refs FROM response WHERE response = ?1", f->response, err);
	if (rc == 0 && letter == 'A')
		rc = boot_refs(x, f->decode_boot, err);
	if (rc == 0 && letter == 'L')
		rc = read_refs(x, f, err);
	if (rc == 0 && letter == 'X' && f->p.x == TRI_YES)
		rc = marker_refs(x->analysis->c, MARKERS_GOT, f->request, &x->refs, err);
	if (rc == 0 && x->refs.len == 1)
		buf_clear(&x->refs);
	return rc;
}

/* ---- facts in numbers and names ---- */

static int say_tokens(struct explain *x, const char *what, int64_t n, struct err *err)
{
	return n == UNSAID ? buf_printf(&x->text, err, "%s is not known", what)
			   : buf_printf(&x->text, err, "%s is %" PRId64 " token%s", what, n, PLURAL(n));
}

/* What the policy asks of a prompt, where that is not the engine's limit. */
static int say_trigger(struct explain *x, const struct finding *f, struct err *err)
{
	const struct policy *p = x->answers->findings->policy;
	int64_t tokens;
	enum policy_trigger t = policy_trigger(p, f->entry, &tokens);
	if (t == TRIGGER_INPUT_LIMIT)
		return 0;
	int rc = buf_printf(&x->text, err, " affected[%zu] of the policy %.*s takes ", policy_place(p, f->entry),
			    TEXT_ARG(policy_id(p)));
	if (rc == 0 && t == TRIGGER_TOKENS)
		rc = buf_printf(&x->text, err, "prompts of %" PRId64 " token%s or more.", tokens, PLURAL(tokens));
	return rc == 0 && t == TRIGGER_ANY ? buf_printf(&x->text, err, "every request.") : rc;
}

static int say_lengths(struct explain *x, const struct finding *f, struct err *err)
{
	static const char *const flags[] = {[LENGTH_NONE] = "",
					    [LENGTH_EXACT] = "",
					    [LENGTH_AT_LEAST] = " at least",
					    [LENGTH_ESTIMATE] = " (an estimate)"};
	int rc = say_tokens(x, "The prompt", f->prompt_tokens, err);
	if (rc == 0 && f->prompt_tokens != UNSAID)
		rc = buf_printf(&x->text, err, "%s", flags[f->flag]);
	if (rc == 0)
		rc = say_tokens(x, ", the input limit", f->input_limit, err);
	if (rc == 0)
		rc = say_tokens(x, ", the prefill pool", f->pool_tokens, err);
	if (rc == 0 && f->decode_leg != f->prefill_leg)
		rc = say_tokens(x, ", the decode boot's own limit", f->decode_limit, err);
	if (rc == 0)
		rc = buf_add_char(&x->text, '.', err);
	return rc == 0 ? say_trigger(x, f, err) : rc;
}

static int say_boot(struct explain *x, const char *role, int64_t worker, int64_t boot, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	if (!worker)
		return buf_printf(&x->text, err, "%s%s: not known.", x->text.len ? " " : "", role);
	int rc = sql_prepare(&s, x->analysis->c,
			     "SELECT w.name, coalesce(b.engine, w.engine), b.version, b.boot IS NOT NULL FROM worker w "
			     "LEFT JOIN boot b ON b.boot = ?2 WHERE w.worker = ?1",
			     err);
	if (rc == 0)
		rc = sql_int(s, 1, worker, err);
	if (rc == 0)
		rc = sql_int(s, 2, boot, err);
	if (rc == 0)
		rc = sql_step(s, err);
	if (rc != 1)
		return rc;
	rc = buf_printf(&x->text, err, "%s%s: %.*s", x->text.len ? " " : "", role, TEXT_ARG(sql_get_text(s, 0)));
	if (rc == 0 && sql_type(s, 1) != SQL_NULL)
		rc = buf_printf(&x->text, err, ", %.*s", TEXT_ARG(sql_get_text(s, 1)));
	if (rc == 0 && sql_type(s, 2) != SQL_NULL)
		rc = buf_printf(&x->text, err, " %.*s", TEXT_ARG(sql_get_text(s, 2)));
	else if (rc == 0)
		rc = buf_printf(&x->text, err, "%s", sql_get_int(s, 3) ? ", version not logged" : ", boot not logged");
	return rc == 0 ? buf_add_char(&x->text, '.', err) : rc;
}

/* What the policy's entry says of it, rule by rule. */
static int say_judged(struct explain *x, const struct finding *f, int64_t boot, struct err *err)
{
	const struct policy *p = x->answers->findings->policy;
	CLEANUP(sql_endp) struct sql *s = NULL;
	if (!boot)
		return 0;
	int rc =
	    sql_prepare(&s, x->analysis->c,
			"SELECT coalesce(b.engine, w.engine), b.version, b.commit_id, b.transfer_backend FROM boot b "
			"JOIN worker w USING(worker) WHERE b.boot = ?1",
			err);
	if (rc == 0)
		rc = sql_int(s, 1, boot, err);
	if (rc == 0)
		rc = sql_step(s, err);
	if (rc != 1)
		return rc;
	struct build b = {sql_get_text(s, 0), sql_get_text(s, 1), sql_get_text(s, 2), TRI_YES, sql_get_text(s, 3)};
	struct policy_answer a = policy_judge_entry(p, f->entry, &b);
	rc = b.commit.len ? buf_printf(&x->text, err, " Commit %.*s.", TEXT_ARG(b.commit)) : 0;
	if (rc == 0 && b.transfer_backend.len)
		rc = buf_printf(&x->text, err, " Transfer back-end %.*s.", TEXT_ARG(b.transfer_backend));
	for (unsigned i = 0; rc == 0 && i < POLICY_REASON_COUNT; i++)
		if (policy_because(a, i))
			rc = buf_printf(&x->text, err, " %s", policy_reason_says(i));
	return rc;
}

static int say_builds(struct explain *x, const struct finding *f, struct err *err)
{
	const struct policy *p = x->answers->findings->policy;
	bool one = f->prefill_leg && f->prefill_leg == f->decode_leg;
	int rc = buf_printf(&x->text, err, "By affected[%zu] (%.*s) of the policy %.*s, ", policy_place(p, f->entry),
			    TEXT_ARG(policy_package(p, f->entry)), TEXT_ARG(policy_id(p)));
	if (rc == 0)
		rc = buf_printf(&x->text, err, "%.*s.", TEXT_ARG(policy_origin(p)));
	if (rc == 0 && !one)
		rc = say_boot(x, "Prefill", f->prefill_worker, f->prefill_boot, err);
	if (rc == 0 && !one)
		rc = say_judged(x, f, f->prefill_boot, err);
	if (rc == 0)
		rc = say_boot(x, one ? "Served by" : "Decode", f->decode_worker, f->decode_boot, err);
	return rc == 0 ? say_judged(x, f, f->decode_boot, err) : rc;
}

static int say_owners(struct explain *x, const struct finding *f, struct err *err)
{
	int rc = buf_printf(&x->text, err, "Owners known from page logs: %u, of %u tenant%s.", f->owner_count,
			    f->owner_tenants, PLURAL(f->owner_tenants));
	if (rc == 0 && f->candidate_owners != UNSAID)
		rc = buf_printf(&x->text, err,
				" Requests whose content it may have read, because they lived in that pool before: "
				"%" PRId64 " (an upper bound).",
				f->candidate_owners);
	if (rc == 0 && f->candidate_owners != UNSAID && f->foreign_at_most != UNSAID)
		rc = buf_printf(&x->text, err, " Of their content at most %" PRId64 " token%s.", f->foreign_at_most,
				PLURAL(f->foreign_at_most));
	return rc;
}

static int say_delivery(struct explain *x, const struct finding *f, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(
	    &s, x->analysis->c,
	    "SELECT status, delivered_basis, completion_tokens, bytes_sent FROM response WHERE response = ?1", err);
	if (rc == 0)
		rc = sql_int(s, 1, f->response, err);
	if (rc == 0)
		rc = sql_step(s, err);
	if (rc != 1)
		return rc;
	static const char *const names[] = {"Status", "Decided by", "Completion tokens", "Bytes"};
	for (int i = 0; rc >= 0 && i < (int)ARRAY_SIZE(names); i++) {
		bool known = sql_type(s, i) != SQL_NULL;
		struct text v = known ? sql_get_text(s, i) : TEXT("not known");
		rc = buf_printf(&x->text, err, "%s%s: %.*s", i ? ", " : "", names[i], TEXT_ARG(v));
	}
	return rc < 0 ? rc : buf_add_char(&x->text, '.', err);
}

/* Which markers of whom; eight at most, as marker_refs() gives. */
static int say_markers(struct explain *x, const struct finding *f, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc =
	    sql_prepare(&s, x->analysis->c,
			"SELECT DISTINCT marker, planted_name, planted_tenant, reason FROM sighting WHERE verdict = "
			"'foreign' AND seen_request = ?1 ORDER BY marker LIMIT 8",
			err);
	if (rc == 0)
		rc = sql_int(s, 1, f->request, err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		struct text request = sql_get_text(s, 1), tenant = sql_get_text(s, 2);
		rc = buf_printf(&x->text, err, "%s %.*s", x->text.len ? ";" : "Marker", TEXT_ARG(sql_get_text(s, 0)));
		if (rc == 0 && request.len)
			rc = buf_printf(&x->text, err, ", planted in %.*s", TEXT_ARG(request));
		if (rc == 0 && tenant.len)
			rc = buf_printf(&x->text, err, " (tenant %.*s)", TEXT_ARG(tenant));
		if (rc == 0)
			rc = buf_printf(&x->text, err, ": %s",
					text_is(sql_get_text(s, 3), "not_in_prompt")
					    ? "its own prompt does not hold it"
					    : "its own prompt is not logged whole");
	}
	return rc < 0 ? rc : buf_add_char(&x->text, '.', err);
}

static int add_fact(struct explain *x, const struct finding *f, char letter, struct err *err)
{
	int rc = 0;
	switch (letter) {
	case 'T': rc = say_lengths(x, f, err); break;
	case 'A': rc = say_builds(x, f, err); break;
	case 'L': rc = say_owners(x, f, err); break;
	case 'D': rc = say_delivery(x, f, err); break;
	case 'X':
		if (f->p.x != TRI_YES)
			return 0;
		rc = say_markers(x, f, err);
		break;
	default: return 0;
	}
	return rc == 0 ? add_step(x, (struct reasoning){.response = f->response, .step = "fact", .about = letter}, err)
		       : rc;
}

/* ---- steps ---- */

static int add_reasons(struct explain *x, const struct finding *f, char about, const char *step, struct err *err)
{
	int rc = 0;
	for (unsigned i = 0; rc == 0 && i < N_REASONS; i++) {
		const struct reason_text *r = &reason_texts[i];
		if (!(f->reasons >> i & 1) || r->about != about)
			continue;
		rc = buf_printf(&x->text, err, "%s", r->says);
		if (rc == 0)
			rc = add_step(x, (struct reasoning){f->response, step, NULL, r->code, about, {0}, {0}}, err);
	}
	return rc;
}

/* What the class would be if this predicate had another value, where that differs. */
static int add_change(struct explain *x, const struct finding *f, size_t i, struct err *err)
{
	const struct findings *all = x->answers->findings;
	struct predicates p = f->p;
	enum tri now = *value_of(&p, i);
	bool any = false;
	int rc = 0;
	for (int v = TRI_NO; rc == 0 && v <= TRI_YES; v++) {
		if ((enum tri)v == now)
			continue;
		*value_of(&p, i) = (enum tri)v;
		struct class_result c = classify(p, all->trigger_stands, all->build_stands);
		if (c.class_id == f->c.class_id && c.conflict == f->c.conflict)
			continue;
		rc = buf_printf(&x->text, err, "%s %s: %s%s", any ? "; were it" : "Were it", tri_name((enum tri)v),
				class_says[c.class_id], c.conflict ? ", with a conflict" : "");
		any = true;
	}
	if (rc == 0 && any)
		rc = buf_add_char(&x->text, '.', err);
	if (rc == 0 && any && now == TRI_UNKNOWN)
		rc = buf_printf(&x->text, err, " What would tell: %s.", predicates_asked[i].evidence);
	struct reasoning s = {f->response, "change", tri_name(now), NULL, predicates_asked[i].letter, {0}, {0}};
	return rc == 0 && any ? add_step(x, s, err) : rc;
}

static int add_notes(struct explain *x, const struct finding *f, struct err *err)
{
	const struct findings *all = x->answers->findings;
	const struct reasoning note = {.response = f->response, .step = "note"};
	int rc = 0;
	if (!all->trigger_stands || !all->build_stands) {
		rc = buf_printf(
		    &x->text, err,
		    "A confirmed response of this case contradicts the hypothesis (%s%s%s): that predicate excludes "
		    "nothing here.",
		    all->trigger_stands ? "" : "T", all->trigger_stands || all->build_stands ? "" : " and ",
		    all->build_stands ? "" : "A");
		if (rc == 0)
			rc = add_step(x, note, err);
	}
	return rc == 0 ? add_reasons(x, f, 'J', "note", err) : rc;
}

static int explain_finding(struct explain *x, const struct finding *f, struct err *err)
{
	int rc = buf_printf(&x->text, err, "%s, by %s.", class_says[f->c.class_id], rule_says[f->c.rule]);
	if (rc == 0 && f->c.conflict)
		rc = buf_printf(&x->text, err, " Its evidence contradicts itself, so it is never below C2.");
	if (rc == 0)
		rc = add_step(
		    x, (struct reasoning){.response = f->response, .step = "class", .value = class_says[f->c.class_id]},
		    err);
	if (rc == 0)
		rc = add_reasons(x, f, 'C', "class", err);
	struct predicates p = f->p;
	for (size_t i = 0; rc == 0 && i < N_ASKED; i++) {
		const struct asked *a = &predicates_asked[i];
		rc = buf_printf(&x->text, err, "%s", a->question);
		if (rc == 0)
			rc = refs_behind(x, f, a->letter, err);
		struct reasoning s = {f->response, "predicate", tri_name(*value_of(&p, i)), NULL, a->letter, {0}, {0}};
		if (rc == 0)
			rc = add_step(x, s, err);
		if (rc == 0)
			rc = add_reasons(x, f, a->letter, "reason", err);
		if (rc == 0)
			rc = add_fact(x, f, a->letter, err);
	}
	for (size_t i = 0; rc == 0 && i < N_ASKED; i++)
		rc = add_change(x, f, i, err);
	return rc == 0 ? add_notes(x, f, err) : rc;
}

/* ---- the function ---- */

static void explain_close(void *state)
{
	struct explain *x = state;
	if (!x)
		return;
	answers_drop(x->answers);
	arena_done(&x->arena);
	free(x->steps);
	buf_done(&x->text);
	buf_done(&x->refs);
	free(x);
}

static int explain_request(struct explain *x, int64_t request, struct err *err)
{
	struct findings *all = x->answers->findings;
	size_t first, n;
	int rc = findings_of_request(all, request, &first, &n, err);
	uint32_t *order = rc == 0 ? malloc((n + 1) * sizeof(*order)) : NULL;
	if (rc == 0 && !order)
		rc = err_nomem(err);
	for (size_t i = 0; rc == 0 && i < n; i++)
		order[i] = (uint32_t)(first + i);
	if (rc == 0)
		rc = findings_sort(all, order, n, err);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct finding f;
		rc = findings_get(all, order[i], &f, err);
		if (rc == 0)
			rc = findings_candidates(all, &f, err);
		if (rc == 0)
			rc = explain_finding(x, &f, err);
	}
	free(order);
	return rc;
}

static int explain_open(void *ctx, const struct text *args, void **ret, struct err *err)
{
	struct explain *x = calloc(1, sizeof(*x));
	if (!x)
		return err_nomem(err);
	x->analysis = ctx;
	x->text = x->refs = BUF_INIT(MIB);
	arena_init(&x->arena, ARENA_MAX_BYTES);
	int64_t request = 0, number;
	int rc = args[0].ptr ? request_argument(x->analysis->c, args[0], &request, err) : 0;
	if (rc == ERR_INPUT && text_count(args[0], &number)) /* a number that is nobody's: nothing to explain */
		rc = request = 0;
	if (rc == 0)
		rc = analysis_answers(x->analysis, ANSWERS_FINDINGS, &x->answers, err);
	if (rc == 0 && request)
		rc = explain_request(x, request, err);
	if (rc < 0) {
		explain_close(x);
		return rc;
	}
	*ret = x;
	return 0;
}

static int explain_next(void *state, struct rowset *row, struct err *err)
{
	struct explain *x = state;
	(void)err;
	if (x->at == x->n)
		return 0;
	const struct reasoning *s = &x->steps[x->at++];
	rowset_int(row, X_RESPONSE, s->response);
	rowset_int(row, X_NO, (int64_t)x->at);
	rowset_text(row, X_STEP, text_of(s->step));
	if (s->about)
		rowset_text(row, X_ABOUT, (struct text){&s->about, 1});
	if (s->value)
		rowset_text(row, X_VALUE, text_of(s->value));
	if (s->code)
		rowset_text(row, X_CODE, text_of(s->code));
	rowset_text(row, X_SAYS, s->says);
	rowset_text(row, X_REFS, s->refs);
	return 1;
}

const struct rowset_spec explain_rowset = {
    .name = "explain",
    .columns = explain_columns,
    .n_columns = ARRAY_SIZE(explain_columns),
    .open = explain_open,
    .next = explain_next,
    .close = explain_close,
};
