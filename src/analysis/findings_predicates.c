/* SPDX-License-Identifier: Apache-2.0 */
/* findings_predicates.c - trigger (T) and affected build (A) of one response, from its legs and their boots, by the policy
 *
 * Limits belong to the boot that served. What is missing gives unknown, never no: an at-least length and a missing
 * prefill leg can only say yes. The rules are written down in docs/method.md.
 */
#include <string.h>

#include "findings.h"

/* A prefill leg that worked on one token while its decode leg worked on fewer than this is a short prompt, not a
 * mismatch. */
enum { MANY_TOKENS = 16 };
/* An estimated length decides only when it is this many times away from the limit. */
enum { ESTIMATE_FACTOR = 4 };

/* ---- which legs served ---- */
const struct served_boot *boot_find(const struct served_boot *boots, size_t n, int64_t boot)
{
	size_t lo = 0, hi = n;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (boots[mid].boot < boot)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && boots[lo].boot == boot ? &boots[lo] : NULL;
}

static bool answers(const struct served_leg *l)
{
	return l->role != AS_PREFILL && l->outcome != OUTCOME_REJECTED && l->outcome != OUTCOME_FAILED &&
	       !(l->outcome == OUTCOME_ABORTED && l->output_tokens <= 0);
}

/* The last attempt with a leg that may have answered; the last one when none may. */
static int64_t served_attempt(const struct evidence_of *e)
{
	int64_t attempt = 0, last = 0;
	for (size_t i = 0; i < e->n_legs; i++) {
		last = MAX(last, e->legs[i].attempt);
		if (answers(&e->legs[i]))
			attempt = MAX(attempt, e->legs[i].attempt);
	}
	return attempt ? attempt : last;
}

/* A retry of which no leg is known may be the one that answered, unless a leg that is known finished its answer. */
static bool attempt_is_sure(const struct evidence_of *e)
{
	int64_t seen = 0;
	for (size_t i = 0; i < e->n_legs; i++) {
		seen = MAX(seen, e->legs[i].attempt);
		if (e->legs[i].role != AS_PREFILL && e->legs[i].outcome == OUTCOME_FINISHED)
			return true;
	}
	return e->attempts <= MAX(seen, 1);
}

static bool speaks(const struct served_leg *l)
{
	return l->input_tokens != UNSAID || l->output_tokens != UNSAID || l->outcome != OUTCOME_UNKNOWN;
}

/* Cannot both be legs of one attempt: two places of one kind, or one that did it all beside one that did a part. */
static bool exclude(const struct served_leg *a, const struct served_leg *b)
{
	bool pair = (a->role == AS_PREFILL) != (b->role == AS_PREFILL);
	return pair ? a->role == AS_UNIFIED || b->role == AS_UNIFIED : a->worker != b->worker;
}

/* Does a log stand under another worker's name? Then nothing says what limits, builds and pages the request met. A prefill
 * worker makes one token. */
static bool legs_contradict(const struct evidence_of *e)
{
	int64_t attempt = served_attempt(e);
	for (size_t i = 0; i < e->n_legs; i++) {
		const struct served_leg *l = &e->legs[i];
		if (l->attempt != attempt || !speaks(l))
			continue;
		if (l->role == AS_PREFILL && l->output_tokens > 1)
			return true;
		for (size_t k = 0; k < i; k++)
			if (e->legs[k].attempt == attempt && speaks(&e->legs[k]) && exclude(l, &e->legs[k]))
				return true;
	}
	return false;
}

struct served {
	const struct served_leg *prefill, *decode; /* a unified leg stands in both */
	const struct served_boot *prefill_boot, *decode_boot;
};

/* A leg that only a page log knows does not stand before one that the engine tells of, under another name of its worker. */
static struct served find_served(const struct evidence_of *e)
{
	struct served s = {0};
	int64_t attempt = served_attempt(e);
	for (size_t i = 0; i < e->n_legs; i++) {
		const struct served_leg *l = &e->legs[i];
		if (l->attempt != attempt)
			continue;
		if (l->role == AS_PREFILL) {
			if (!s.prefill || speaks(l) || !speaks(s.prefill))
				s.prefill = l;
		} else if (!s.decode || (answers(l) && (speaks(l) || !speaks(s.decode)))) {
			s.decode = l;
			if (l->role == AS_UNIFIED)
				s.prefill = l;
		}
	}
	if (s.prefill)
		s.prefill_boot = boot_find(e->boots, e->n_boots, s.prefill->boot);
	if (s.decode)
		s.decode_boot = boot_find(e->boots, e->n_boots, s.decode->boot);
	return s;
}

/* ---- T ---- */

struct trigger {
	enum policy_trigger kind;
	int64_t tokens;
};

static bool is_bound(const struct served_leg *l)
{
	return l->flag == LENGTH_AT_LEAST;
}

/* Did it not hand its prompt over? An engine calls one and the same end an abort, or a transfer that failed. */
static bool gave_up(const struct served_leg *l)
{
	return l->outcome == OUTCOME_REJECTED || l->outcome == OUTCOME_ABORTED || l->outcome == OUTCOME_FAILED;
}

/* The prefill leg gave up or saw one token, and the decode leg went on with many. */
static bool handoff_mismatch(const struct served *s)
{
	const struct served_leg *p = s->prefill, *d = s->decode;
	if (!p || !d || p == d || p->role != AS_PREFILL)
		return false;
	bool worked = d->outcome != OUTCOME_REJECTED &&
		      !((d->outcome == OUTCOME_ABORTED || d->outcome == OUTCOME_FAILED) && d->output_tokens <= 0);
	bool refused = gave_up(p);
	bool one_token = p->input_tokens != UNSAID && p->input_tokens <= 1 && !is_bound(p);
	if (!worked)
		return false;
	if (d->input_tokens != UNSAID)
		return (refused || one_token) && d->input_tokens >= MANY_TOKENS;
	return refused && d->output_tokens > 0;
}

static bool model_differs(struct text a, struct text b)
{
	size_t slash_a = text_rfind_char(a, '/'), slash_b = text_rfind_char(b, '/');
	struct text x = slash_a == SIZE_MAX ? a : text_from(a, slash_a + 1),
		    y = slash_b == SIZE_MAX ? b : text_from(b, slash_b + 1);
	return x.len && y.len && (x.len != y.len || strncasecmp(x.ptr, y.ptr, x.len) != 0);
}

static bool may_have_taken(const struct evidence_of *e, const struct served_boot *b)
{
	return b->role == AS_PREFILL && !model_differs(b->model, e->model);
}

/* Is there a prefill worker of that model of which nobody knows what ran there then? */
static bool boot_is_lost(const struct evidence_of *e, int64_t ns)
{
	for (size_t i = 0; i < e->n_lost; i++) {
		const struct served_boot *b = boot_find(e->boots, e->n_boots, e->lost[i].boot);
		if (b && hole_at(&e->lost[i], 1, b->boot, ns) && may_have_taken(e, b))
			return true;
	}
	return false;
}

/* No prefill leg is known: the boot that stands for every prefill boot alive then when they agree and none is missing, else
 * NULL. *ret_most_limit: the highest of their limits; UNSAID unless all are known. */
static const struct served_boot *boots_agree(const struct evidence_of *e, int64_t ns, int64_t *ret_most_limit)
{
	const struct served_boot *first = NULL;
	bool agree = true, known = true, all = !boot_is_lost(e, ns);
	int64_t most = UNSAID;
	for (size_t i = 0; i < e->n_boots; i++) {
		const struct served_boot *b = &e->boots[i];
		if (!may_have_taken(e, b))
			continue;
		if (ns != TIME_UNKNOWN && ((b->started_ns != TIME_UNKNOWN && b->started_ns > ns) ||
					   (b->ended_ns != TIME_UNKNOWN && b->ended_ns < ns)))
			continue;
		all &= !hole_at(e->holes, e->n_holes, b->boot, ns);
		known &= b->input_limit != UNSAID;
		most = MAX(most, b->input_limit);
		agree &= !first || (first->input_limit == b->input_limit && first->pool_tokens == b->pool_tokens);
		first = first ? first : b;
	}
	*ret_most_limit = first && known && all ? most : UNSAID;
	return first && agree && all ? first : NULL;
}

static void set_length(const struct served *s, struct finding *f)
{
	const struct served_leg *p = s->prefill, *d = s->decode;
	/* one token, and only the prefill leg says so: that is what a refused prompt looks like there */
	if (p && !d && p->role == AS_PREFILL && f->prompt_tokens <= 1 && p->input_tokens == f->prompt_tokens)
		f->prompt_tokens = UNSAID;
	if (f->prompt_tokens != UNSAID)
		return;
	if (d && d->input_tokens != UNSAID) {
		f->prompt_tokens = d->input_tokens;
		f->flag = d->flag ? d->flag : LENGTH_EXACT;
	} else if (p && p->rejected_tokens != UNSAID) {
		f->prompt_tokens = p->rejected_tokens;
		f->flag = LENGTH_EXACT;
	} else if (p && p->input_tokens != UNSAID && p->input_tokens > 1 && p->outcome != OUTCOME_REJECTED &&
		   p->outcome != OUTCOME_TRUNCATED) {
		f->prompt_tokens = p->input_tokens;
		f->flag = p->flag ? p->flag : LENGTH_EXACT;
	}
}

static enum tri length_against(int64_t prompt, enum length_flag flag, int64_t limit)
{
	switch (flag) {
	case LENGTH_EXACT: return prompt >= limit ? TRI_YES : TRI_NO;
	case LENGTH_AT_LEAST: return prompt >= limit ? TRI_YES : TRI_UNKNOWN;
	case LENGTH_ESTIMATE:
		if (prompt / ESTIMATE_FACTOR >= limit)
			return TRI_YES;
		return prompt < limit / ESTIMATE_FACTOR ? TRI_NO : TRI_UNKNOWN;
	default: return TRI_UNKNOWN;
	}
}

/* Could a decode leg that nobody logged, or a prefill leg that says nothing of itself, still show a mismatch? */
static bool mismatch_open(const struct served *s, const struct finding *f)
{
	const struct served_leg *p = s->prefill;
	if (!p || p->role != AS_PREFILL)
		return false;
	if (p->input_tokens == UNSAID && p->outcome == OUTCOME_UNKNOWN)
		return true;
	/* lengths that are only lower bounds may hide both sides of one */
	bool refused = gave_up(p) || (p->input_tokens != UNSAID && p->input_tokens <= 1);
	if (s->decode && refused && (is_bound(p) || is_bound(s->decode)) &&
	    (s->decode->input_tokens >= MANY_TOKENS || is_bound(s->decode)))
		return true;
	return !s->decode && (gave_up(p) || (p->input_tokens <= 1 && f->prompt_tokens >= MANY_TOKENS));
}

/* It was served on what was left: shorter than the engine's limit, whatever the policy's own length is. */
static enum tri truncated_triggers(const struct trigger *g, const struct finding *f)
{
	bool below = g->kind == TRIGGER_INPUT_LIMIT || (f->input_limit != UNSAID && f->input_limit <= g->tokens);
	return below ? TRI_NO : TRI_UNKNOWN;
}

static void set_trigger(const struct evidence_of *e, const struct served *s, const struct trigger *g, struct finding *f)
{
	const struct served_leg *p = s->prefill;
	int64_t limit = f->input_limit;
	bool missing = !p, mismatch = handoff_mismatch(s), own = g->kind == TRIGGER_TOKENS;
	if (mismatch)
		because(f, REASON_HANDOFF_MISMATCH);
	if (g->kind == TRIGGER_ANY) {
		because(f, REASON_ANY_REQUEST);
		f->p.t = TRI_YES;
		return;
	}
	if (p && p->outcome == OUTCOME_TRUNCATED && !mismatch) {
		because(f, REASON_TRUNCATED);
		f->p.t = truncated_triggers(g, f);
		return;
	}
	if (missing) {
		because(f, REASON_PREFILL_MISSING);
		int64_t most;
		const struct served_boot *b = boots_agree(e, f->started_ns, &most);
		if (b && f->pool_tokens == UNSAID)
			f->pool_tokens = b->pool_tokens;
		if (b && f->input_limit == UNSAID)
			f->input_limit = b->input_limit;
		if (b && b->entered)
			because(f, REASON_ENTERED);
		limit = most;
	}
	limit = own ? g->tokens : limit;
	enum tri t = limit == UNSAID || f->prompt_tokens == UNSAID ? TRI_UNKNOWN
								   : length_against(f->prompt_tokens, f->flag, limit);
	if (p && p->outcome == OUTCOME_REJECTED) { /* the engine's own word */
		because(f, REASON_ENGINE_REJECTED);
		t = TRI_YES;
	}
	if (t == TRI_NO && !missing && mismatch_open(s, f)) {
		because(f, REASON_HANDOFF_OPEN);
		t = TRI_UNKNOWN;
	} else if (missing && t == TRI_NO)
		t = TRI_UNKNOWN;
	else if (t == TRI_NO && !mismatch)
		because(f, own ? REASON_BELOW_POLICY_LENGTH : REASON_PROMPT_BELOW_LIMIT);
	else if (t == TRI_YES && limit != UNSAID && f->prompt_tokens != UNSAID && f->prompt_tokens >= limit)
		because(f, own ? REASON_OVER_POLICY_LENGTH : REASON_PROMPT_OVER_LIMIT);
	if (mismatch)
		t = TRI_YES;
	if (t == TRI_UNKNOWN && limit == UNSAID)
		because(f, REASON_LIMIT_UNKNOWN);
	if (t == TRI_UNKNOWN && f->prompt_tokens == UNSAID)
		because(f, REASON_LENGTH_UNKNOWN);
	else if (t == TRI_UNKNOWN && f->flag != LENGTH_EXACT)
		because(f, REASON_LENGTH_NOT_EXACT);
	f->p.t = t;
}

static void set_band(struct finding *f)
{
	int64_t n = f->prompt_tokens, pool = f->pool_tokens, limit = f->input_limit;
	f->band = BAND_UNKNOWN;
	if (f->reasons >> REASON_TRUNCATED & 1) { /* whatever was sent: what was worked on was cut to fit */
		f->band = BAND_UNDER;
		return;
	}
	if (n == UNSAID || f->flag == LENGTH_NONE)
		return;
	if (pool != UNSAID && n > pool && f->flag != LENGTH_ESTIMATE)
		f->band = BAND_OVER_POOL;
	else if (f->flag != LENGTH_EXACT)
		return;
	else if (limit != UNSAID && n < limit)
		f->band = BAND_UNDER;
	else if (limit != UNSAID && pool != UNSAID && n <= pool)
		f->band = BAND_BOUNDARY;
}

/* ---- A ---- */

/* One leg's build and mode. */
static enum tri leg_affected(const struct evidence_of *e, const struct served_leg *l, const struct served_boot *b,
			     struct finding *f)
{
	bool apart = policy_needs_disaggregation(e->policy, f->entry);
	if (apart && (l->role == AS_UNIFIED || (b && b->role == AS_UNIFIED && l->role == AS_UNKNOWN))) {
		because(f, REASON_MODE_UNIFIED);
		return TRI_NO;
	}
	if (!b) {
		because(f, REASON_VERSION_UNKNOWN);
		return TRI_UNKNOWN;
	}
	const struct build_verdict *v = &b->verdicts[f->entry];
	because(f, v->why);
	if (apart && v->affected == TRI_YES && l->role == AS_UNKNOWN && b->role == AS_UNKNOWN) {
		because(f, REASON_MODE_UNKNOWN);
		return TRI_UNKNOWN;
	}
	return v->affected;
}

static void set_affected(const struct evidence_of *e, const struct served *s, struct finding *f)
{
	enum tri p = TRI_UNKNOWN, d = TRI_UNKNOWN;
	if (s->prefill)
		p = leg_affected(e, s->prefill, s->prefill_boot, f);
	if (s->decode)
		d = s->decode == s->prefill ? p : leg_affected(e, s->decode, s->decode_boot, f);
	f->p.a = p == TRI_YES || d == TRI_YES ? TRI_YES : p == TRI_NO && d == TRI_NO ? TRI_NO : TRI_UNKNOWN;
	if (f->p.a == TRI_UNKNOWN && (!s->prefill || !s->decode)) /* the other one may be affected */
		because(f, REASON_VERSION_UNKNOWN);
	/* a mismatch that may be there would be stronger than versions */
	if (f->p.a == TRI_NO && mismatch_open(s, f)) {
		because(f, REASON_HANDOFF_OPEN);
		f->p.a = TRI_UNKNOWN;
	}
	bool served =
	    e->delivered == TRI_YES || e->completion_tokens > 0 || (s->decode && s->decode->output_tokens > 0);
	if ((f->reasons >> REASON_HANDOFF_MISMATCH & 1) && served && e->delivered != TRI_NO) {
		because(f, REASON_HANDOFF_OBSERVED); /* the failure itself was seen, whatever the version says */
		f->p.a = TRI_YES;
	}
}

/* An engine says that a decode worker read pages after the prefill worker had given them up: with that nobody is cleared by
 * the size of a prompt or by a build. A sign, no proof: the same line is written where two sides know one request by
 * different names. */
static void set_late_read(const struct evidence_of *e, const struct served *s, struct finding *f)
{
	bool late = false;
	for (size_t i = 0; i < e->n_legs; i++)
		late |=
		    e->legs[i].outcome == OUTCOME_LATE_READ && (!s->decode || e->legs[i].attempt == s->decode->attempt);
	if (!late)
		return;
	because(f, REASON_LATE_READ);
	f->p.t = f->p.t == TRI_NO ? TRI_UNKNOWN : f->p.t;
	f->p.a = f->p.a == TRI_NO ? TRI_UNKNOWN : f->p.a;
}

/* A restart may be lost between what the log says of a boot and this leg: another limit, another version may have held. */
static void set_restart_open(const struct evidence_of *e, const struct served *s, struct finding *f)
{
	bool prefill = s->prefill && hole_before(e->holes, e->n_holes, s->prefill);
	bool decode = s->decode && hole_before(e->holes, e->n_holes, s->decode);
	if (!prefill && !decode)
		return;
	because(f, REASON_RESTART_OPEN);
	if (prefill && f->p.t == TRI_NO && f->reasons >> REASON_PROMPT_BELOW_LIMIT & 1)
		f->p.t = TRI_UNKNOWN;
	f->p.a = f->p.a == TRI_NO ? TRI_UNKNOWN : f->p.a;
}

/* ---- by which entry of the policy ---- */

static bool concerned(const struct served *s, size_t entry)
{
	return (s->prefill_boot && s->prefill_boot->verdicts[entry].concerned) ||
	       (s->decode_boot && s->decode_boot->verdicts[entry].concerned) || (!s->prefill_boot && !s->decode_boot);
}

/* T and A are of one entry: a trigger of one defect and a build with another one prove nothing together. */
static unsigned nearness(const struct served *s, const struct finding *f)
{
	bool excluded = f->p.t == TRI_NO || f->p.a == TRI_NO;
	return 8 * !excluded + 4 * concerned(s, f->entry) + 2 * (f->p.a == TRI_YES) + (f->p.t == TRI_YES);
}

/* The first of those that come nearest to being met. */
static void set_by_entry(const struct evidence_of *e, const struct served *s, struct finding *f)
{
	struct finding best = *f;
	for (unsigned i = 0; i < policy_entries(e->policy); i++) {
		struct finding x = *f;
		struct trigger g;
		g.kind = policy_trigger(e->policy, i, &g.tokens);
		x.entry = i;
		set_trigger(e, s, &g, &x);
		set_affected(e, s, &x);
		if (!i || nearness(s, &x) > nearness(s, &best))
			best = x;
	}
	*f = best;
}

void predicates_of(const struct evidence_of *e, struct finding *f)
{
	struct served s = find_served(e);
	f->prefill_leg = s.prefill ? s.prefill->leg : 0;
	f->decode_leg = s.decode ? s.decode->leg : 0;
	f->prefill_worker = s.prefill ? s.prefill->worker : 0;
	f->decode_worker = s.decode ? s.decode->worker : 0;
	f->decode_boot = s.decode ? s.decode->boot : 0;
	f->prefill_boot = s.prefill_boot ? s.prefill_boot->boot : 0;
	f->pool_tokens = s.prefill_boot ? s.prefill_boot->pool_tokens : UNSAID;
	f->input_limit = s.prefill_boot ? s.prefill_boot->input_limit : UNSAID;
	f->decode_limit = s.decode_boot ? s.decode_boot->input_limit : UNSAID;
	if (s.prefill && s.prefill->limit_tokens != UNSAID)
		f->input_limit = s.prefill->limit_tokens;
	else if (s.prefill_boot && s.prefill_boot->entered)
		because(f, REASON_ENTERED);
	if (s.prefill && !s.prefill_boot && f->input_limit == UNSAID && e->person_limit) {
		f->input_limit = e->person_limit;
		because(f, REASON_ENTERED);
	}
	if (s.prefill && !s.prefill_boot && e->person_pool)
		f->pool_tokens = e->person_pool;
	f->read_ns = TIME_UNKNOWN;
	if (s.decode)
		f->read_ns = s.decode->finished_ns;
	if (f->read_ns == TIME_UNKNOWN) /* the answer is the last that it can have read for */
		f->read_ns = e->finished_ns;
	set_length(&s, f);
	set_by_entry(e, &s, f);
	set_band(f);
	/* the failure needs a decode limit above the prompt: else that worker would have refused too, or a limit is wrong */
	if (s.decode && s.decode != s.prefill && f->decode_limit != UNSAID && f->prompt_tokens != UNSAID &&
	    f->flag == LENGTH_EXACT && f->prompt_tokens >= f->decode_limit)
		because(f, REASON_OVER_DECODE_LIMIT);
	set_late_read(e, &s, f);
	if (e->n_holes)
		set_restart_open(e, &s, f);
	bool sure = attempt_is_sure(e), contradict = legs_contradict(e);
	if (!sure) /* another attempt, on other boots, may have served it */
		because(f, REASON_ATTEMPT_NOT_SEEN);
	if (contradict)
		because(f, REASON_LEGS_CONTRADICT);
	if (!sure || contradict) {
		f->p.t = f->p.t == TRI_NO ? TRI_UNKNOWN : f->p.t;
		f->p.a = f->p.a == TRI_NO ? TRI_UNKNOWN : f->p.a;
	}
}
