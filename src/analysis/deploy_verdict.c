/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_verdict.c - the verdict of one boot: a pure function of its evidence; the first rule that fits (docs/deploy.md)
 *
 * Nothing here makes a replica look better for want of a record: fixed needs a record of the process itself, and only the inventory
 * retires.
 */
#include "deploy.h"

/* Clocks of a host and of what runs on it differ by so much. */
#define START_SKEW_NS (5 * NS_PER_S)

const char *deploy_verdict_name(enum deploy_verdict v)
{
	static const char *const names[VERDICTS] = {"verified_fixed", "verified_affected", "conflicting", "stale",
						    "undetermined",   "not_observed",      "retired"};
	return names[v];
}

const char *deploy_reason_code(enum deploy_reason r)
{
#define DEPLOY_CODE(id, code, says) code,
	static const char *const codes[] = {DEPLOY_REASONS(DEPLOY_CODE)};
	return codes[r];
}

const char *deploy_reason_says(enum deploy_reason r)
{
#define DEPLOY_SAYS(id, code, says) says,
	static const char *const sentences[] = {DEPLOY_REASONS(DEPLOY_SAYS)};
	return sentences[r];
}

static void because_of(struct boot_verdict *v, enum deploy_reason r)
{
	v->reasons |= 1u << r;
}

/* How much a record weighs against others of its rung: what decides comes first, of those the newest. */
static int weight(enum fix f)
{
	switch (f) {
	case FIX_AFFECTED: return 4;
	case FIX_FIXED: return 3;
	case FIX_UNMET: return 2;
	case FIX_UNKNOWN: return 1;
	case FIX_UNCONCERNED: return 0;
	}
	return 0;
}

static bool decides_over(const struct claim *x, const struct claim *y)
{
	if (!y)
		return true;
	bool process = x->rung >= RUNG_PROCESS, other = y->rung >= RUNG_PROCESS;
	if (process != other)
		return process;
	if (x->rung != y->rung && !process)
		return x->rung > y->rung;
	if (weight(x->says.fix) != weight(y->says.fix))
		return weight(x->says.fix) > weight(y->says.fix);
	return x->at_ns > y->at_ns; /* no time comes last */
}

/* What the records say, taken together. */
static void weigh(const struct boot_evidence *e, struct boot_verdict *v, bool *ret_affected, bool *ret_fixed)
{
	for (size_t i = 0; i < e->n; i++) {
		const struct claim *c = &e->claims[i];
		if (decides_over(c, v->by))
			v->by = c;
		if (c->rung >= RUNG_THERE) {
			*ret_affected |= c->says.fix == FIX_AFFECTED;
			*ret_fixed |= c->says.fix == FIX_FIXED;
		}
		if (c->rung >= RUNG_PROCESS && c->says.fix == FIX_FIXED &&
		    (v->fixed_ns == TIME_UNKNOWN || (c->at_ns != TIME_UNKNOWN && c->at_ns < v->fixed_ns)))
			v->fixed_ns = c->at_ns;
	}
	if (!v->by)
		return;
	v->rung = v->by->rung;
	v->fix = v->by->says.fix;
	v->policy = v->by->says.reasons;
	/* its age is that of the newest record of the same rung */
	for (size_t i = 0; i < e->n; i++)
		if ((e->claims[i].rung >= RUNG_PROCESS) == (v->rung >= RUNG_PROCESS) &&
		    e->claims[i].says.fix == v->fix && !e->claims[i].vague && e->claims[i].at_ns > v->evidence_ns)
			v->evidence_ns = e->claims[i].at_ns;
	/* a process does not change its ways: one that was served is one too many */
	if (v->rung >= RUNG_PROCESS && v->fix == FIX_FIXED && e->refused_ns != TIME_UNKNOWN && !e->may_have_served)
		v->rung = RUNG_BEHAVED;
}

static bool is_stale(const struct boot_evidence *e, struct boot_verdict *v)
{
	bool dated = v->evidence_ns != TIME_UNKNOWN;
	if (e->ended)
		because_of(v, DEPLOY_PROCESS_ENDED);
	if (e->restarted_ns != TIME_UNKNOWN && dated && e->restarted_ns > v->evidence_ns + START_SKEW_NS)
		because_of(v, DEPLOY_RESTARTED_SINCE);
	if (e->max_age_ns != TIME_UNKNOWN && dated && e->age_at_ns != TIME_UNKNOWN && e->age_at_ns > v->evidence_ns &&
	    (uint64_t)e->age_at_ns - (uint64_t)v->evidence_ns > (uint64_t)e->max_age_ns)
		because_of(v, DEPLOY_OLDER);
	/* a wrong date makes nobody look better */
	bool future = e->future || deploy_is_future(v->evidence_ns, e->now_ns);
	if (future)
		because_of(v, DEPLOY_IN_FUTURE);
	if (future && v->fix != FIX_AFFECTED)
		return true;
	if (!dated && (e->max_age_ns != TIME_UNKNOWN || e->restarted_ns != TIME_UNKNOWN))
		return true;
	return v->reasons & (1u << DEPLOY_PROCESS_ENDED | 1u << DEPLOY_RESTARTED_SINCE | 1u << DEPLOY_OLDER);
}

static enum deploy_verdict of_version(struct boot_verdict *v)
{
	if (!v->by) {
		v->policy |= 1u << POLICY_NO_VERSION;
		return VERDICT_UNDETERMINED;
	}
	if (v->rung < RUNG_PROCESS) {
		because_of(v, DEPLOY_PROCESS_NOT_SEEN);
		return VERDICT_UNDETERMINED;
	}
	return v->fix == FIX_AFFECTED ? VERDICT_AFFECTED : v->fix == FIX_FIXED ? VERDICT_FIXED : VERDICT_UNDETERMINED;
}

static enum deploy_verdict first_rule(const struct boot_evidence *e, struct boot_verdict *v, bool affected, bool fixed)
{
	if (e->current && e->retired && e->seen_after) {
		because_of(v, DEPLOY_SEEN_AFTER_RETIRED);
		return VERDICT_CONFLICTING;
	}
	if (e->current && e->retired) {
		because_of(v, DEPLOY_RETIRED);
		return VERDICT_RETIRED;
	}
	if (e->current && e->seen_before)
		because_of(v, DEPLOY_SEEN_BEFORE_START);
	if (e->current && e->retired_later)
		because_of(v, DEPLOY_RETIRED_LATER);
	if (v->reasons)
		return VERDICT_CONFLICTING;
	if (e->not_started)
		because_of(v, DEPLOY_NOT_STARTED);
	if (!e->observed && (e->listed || !v->by)) {
		because_of(v, DEPLOY_NOT_SEEN);
		return VERDICT_NOT_OBSERVED;
	}
	if (affected && fixed)
		because_of(v, DEPLOY_VERSIONS_CONFLICT);
	if (e->served_over && v->fix == FIX_FIXED)
		because_of(v, DEPLOY_SERVED_OVER_LIMIT);
	if (v->reasons & (1u << DEPLOY_VERSIONS_CONFLICT | 1u << DEPLOY_SERVED_OVER_LIMIT))
		return VERDICT_CONFLICTING;
	if (v->by && v->rung >= RUNG_THERE && v->evidence_ns == TIME_UNKNOWN)
		because_of(v, DEPLOY_UNDATED);
	if (e->current && v->by && v->rung >= RUNG_THERE && is_stale(e, v))
		return VERDICT_STALE;
	if (e->current && e->ended) /* it said no version, and is gone: still nobody knows what came after it */
		because_of(v, DEPLOY_PROCESS_ENDED);
	bool undated = v->evidence_ns == TIME_UNKNOWN && v->by && v->rung >= RUNG_PROCESS;
	if (e->current && undated && v->fix == FIX_FIXED && e->said_affected) {
		because_of(v, DEPLOY_ORDER_UNKNOWN);
		return VERDICT_CONFLICTING;
	}
	return of_version(v);
}

struct boot_verdict deploy_judge(const struct boot_evidence *e)
{
	struct boot_verdict v = {.evidence_ns = TIME_UNKNOWN, .fixed_ns = TIME_UNKNOWN, .fix = FIX_UNKNOWN};
	bool affected = false, fixed = false;
	weigh(e, &v, &affected, &fixed);
	v.verdict = first_rule(e, &v, affected, fixed);
	if (e->future && v.verdict != VERDICT_RETIRED)
		because_of(&v, DEPLOY_IN_FUTURE);
	if (e->current && e->retired_undated)
		because_of(&v, DEPLOY_RETIRED_UNDATED);
	if (e->outside)
		because_of(&v, DEPLOY_OUTSIDE);
	return v;
}
