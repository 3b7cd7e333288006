/* SPDX-License-Identifier: Apache-2.0 */
/* test_deploy.c - the verdict of a boot: every combination of its evidence against the rules as docs/deploy.md tells them; and what
 * no loss of a record may do
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../../src/analysis/deploy.h"

#define DAY (INT64_C(86400) * NS_PER_S)
enum { NONE = -1 };

/* What is varied. */
struct situation {
	int process, disk;     /* enum fix of a record at day 10, or NONE; of the disk at day 9 */
	bool both;             /* a second record of the process, of the other decision */
	bool dated, aged;      /* the records have times; the policy allows one day, and it is day 20 */
	bool restarted, ended; /* day 12 */
	bool current, listed, retired, seen_after, served, refused;
};

static size_t build(const struct situation *s, struct claim claims[3], struct boot_evidence *e)
{
	size_t n = 0;
	*e = (struct boot_evidence){.claims = claims,
				    .observed = s->process != NONE || s->disk != NONE,
				    .current = s->current,
				    .listed = s->listed,
				    .retired = s->listed && s->retired,
				    .seen_after = s->seen_after,
				    .ended = s->ended,
				    .restarted_ns = s->restarted ? 12 * DAY : TIME_UNKNOWN,
				    .age_at_ns = 20 * DAY,
				    .now_ns = 20 * DAY,
				    .max_age_ns = s->aged ? DAY : TIME_UNKNOWN,
				    .refused_ns = s->refused ? 11 * DAY : TIME_UNKNOWN,
				    .may_have_served = s->served,
				    .served_over = s->served};
	if (s->disk != NONE)
		claims[n++] = (struct claim){.rung = RUNG_THERE, .at_ns = 9 * DAY, .says.fix = (enum fix)s->disk};
	if (s->process != NONE)
		claims[n++] = (struct claim){.rung = RUNG_PROCESS, .at_ns = 10 * DAY, .says.fix = (enum fix)s->process};
	if (s->process != NONE && s->both)
		claims[n++] = (struct claim){.rung = RUNG_PROCESS,
					     .at_ns = 11 * DAY,
					     .says.fix = s->process == FIX_FIXED ? FIX_AFFECTED : FIX_FIXED};
	for (size_t i = 0; i < n && !s->dated; i++)
		claims[i].vague = true;
	e->n = n;
	return n;
}

/* The rules once more, from the words of the document. */
static enum deploy_verdict expected(const struct situation *s)
{
	bool process = s->process != NONE, any = process || s->disk != NONE;
	bool fixed = s->process == FIX_FIXED || s->disk == FIX_FIXED,
	     affected = s->process == FIX_AFFECTED || s->disk == FIX_AFFECTED;
	bool runs_fixed = process ? s->process == FIX_FIXED : s->disk == FIX_FIXED;
	bool runs_affected = s->process == FIX_AFFECTED;
	if (process && s->both) {
		fixed = true;
		affected |= s->process == FIX_FIXED;
		runs_fixed = !affected || s->process != FIX_AFFECTED;
		runs_affected |= s->process == FIX_FIXED;
		runs_fixed = !runs_affected;
	}
	if (s->current && s->listed && s->retired)
		return s->seen_after ? VERDICT_CONFLICTING : VERDICT_RETIRED;
	if (!any)
		return VERDICT_NOT_OBSERVED;
	if ((fixed && affected) || (s->served && runs_fixed))
		return VERDICT_CONFLICTING;
	if (s->current && (s->ended || s->restarted || s->aged))
		return VERDICT_STALE;
	if (!process)
		return VERDICT_UNDETERMINED;
	return runs_affected ? VERDICT_AFFECTED : runs_fixed ? VERDICT_FIXED : VERDICT_UNDETERMINED;
}

static bool next(struct situation *s)
{
	bool *flags[] = {&s->both,   &s->dated,   &s->aged,       &s->restarted, &s->ended,  &s->current,
			 &s->listed, &s->retired, &s->seen_after, &s->served,    &s->refused};
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		*flags[i] = !*flags[i];
		if (*flags[i])
			return true;
	}
	if (++s->disk <= FIX_UNCONCERNED)
		return true;
	s->disk = NONE;
	return ++s->process <= FIX_UNCONCERNED;
}

static void test_table(void **state)
{
	(void)state;
	struct situation s = {.process = NONE, .disk = NONE};
	unsigned n = 0, seen[VERDICTS] = {0};
	do {
		struct claim claims[3];
		struct boot_evidence e;
		build(&s, claims, &e);
		struct boot_verdict v = deploy_judge(&e);
		if (v.verdict != expected(&s))
			fail_msg("process %d disk %d both %d dated %d aged %d restarted %d ended %d current %d listed "
				 "%d retired %d "
				 "seen after %d served %d: %s, not %s",
				 s.process, s.disk, s.both, s.dated, s.aged, s.restarted, s.ended, s.current, s.listed,
				 s.retired, s.seen_after, s.served, deploy_verdict_name(v.verdict),
				 deploy_verdict_name(expected(&s)));
		/* what is not plain names its reason */
		if (v.verdict != VERDICT_FIXED && v.verdict != VERDICT_AFFECTED &&
		    !(v.verdict == VERDICT_UNDETERMINED && s.process != NONE))
			assert_true(v.reasons != 0);
		/* fixed rests on a record of the process, affected likewise */
		if (v.verdict == VERDICT_FIXED || v.verdict == VERDICT_AFFECTED) {
			assert_non_null(v.by);
			assert_true(v.by->rung >= RUNG_PROCESS && v.rung >= RUNG_PROCESS);
		}
		/* only a process with the fix behaves as it demands, and only where nothing was served */
		bool runs_fixed = v.by && v.by->rung >= RUNG_PROCESS && v.fix == FIX_FIXED;
		assert_true((v.rung == RUNG_BEHAVED) == (runs_fixed && s.refused && !s.served));
		seen[v.verdict]++;
		n++;
	} while (next(&s));
	assert_true(n > 50000);
	for (int i = 0; i < VERDICTS; i++)
		assert_true(seen[i] > 0);
}

/* Whatever is taken away: nobody becomes fixed or retired who was affected, undetermined or not observed; the rung never rises. */
static void test_less(void **state)
{
	(void)state;
	struct situation s = {.process = NONE, .disk = NONE};
	do {
		struct claim claims[3], fewer[3];
		struct boot_evidence e;
		size_t n = build(&s, claims, &e);
		struct boot_verdict full = deploy_judge(&e);
		for (unsigned keep = 0; keep < 1u << n; keep++) {
			struct boot_evidence less = e;
			less.claims = fewer;
			less.n = 0;
			for (size_t i = 0; i < n; i++)
				if (keep >> i & 1)
					fewer[less.n++] = claims[i];
			less.observed = less.n > 0;
			struct boot_verdict v = deploy_judge(&less);
			bool better = v.verdict == VERDICT_FIXED ||
				      (v.verdict == VERDICT_RETIRED && full.verdict != VERDICT_RETIRED);
			if (better && full.verdict != VERDICT_FIXED && full.verdict != VERDICT_CONFLICTING &&
			    full.verdict != VERDICT_STALE)
				fail_msg("%s became %s", deploy_verdict_name(full.verdict),
					 deploy_verdict_name(v.verdict));
			/* the contradiction gone, behaviour may agree with what is left */
			assert_true(v.rung <= full.rung || s.both);
		}
		/* nor for want of what says that it behaves wrongly, was stopped or is old: then it was another verdict by its reason */
		struct boot_evidence mute = e;
		mute.refused_ns = TIME_UNKNOWN;
		assert_int_equal(deploy_judge(&mute).verdict, full.verdict);
	} while (next(&s));
}

/* "Unknown" contradicts nothing, and decides nothing where something else does. */
static void test_unknown(void **state)
{
	(void)state;
	struct claim claims[2] = {{.rung = RUNG_PROCESS, .at_ns = DAY, .says.fix = FIX_FIXED},
				  {.rung = RUNG_PROCESS, .at_ns = 2 * DAY, .says.fix = FIX_UNKNOWN}};
	struct boot_evidence e = {.claims = claims,
				  .n = 2,
				  .observed = true,
				  .current = true,
				  .restarted_ns = TIME_UNKNOWN,
				  .age_at_ns = 3 * DAY,
				  .now_ns = 3 * DAY,
				  .max_age_ns = TIME_UNKNOWN,
				  .refused_ns = TIME_UNKNOWN};
	struct boot_verdict v = deploy_judge(&e);
	assert_int_equal(v.verdict, VERDICT_FIXED);
	assert_true(v.evidence_ns == DAY && v.fixed_ns == DAY && v.by == &claims[0]);
	/* a disk that says fixed does not speak for a process of which nobody knows */
	claims[0].rung = RUNG_THERE;
	v = deploy_judge(&e);
	assert_int_equal(v.verdict, VERDICT_UNDETERMINED);
	assert_true(v.by == &claims[1] && v.fixed_ns == TIME_UNKNOWN);
	/* images and orders are below what lies there: they contradict nothing */
	claims[0] = (struct claim){.rung = RUNG_ORDERED, .at_ns = DAY, .says.fix = FIX_FIXED};
	claims[1].says.fix = FIX_AFFECTED;
	assert_int_equal(deploy_judge(&e).verdict, VERDICT_AFFECTED);
	/* an age that cannot be shown is no age: only where it matters */
	claims[1].at_ns = TIME_UNKNOWN;
	v = deploy_judge(&e);
	assert_true(v.verdict == VERDICT_AFFECTED && v.reasons == 1u << DEPLOY_UNDATED);
	e.max_age_ns = 300 * DAY;
	assert_int_equal(deploy_judge(&e).verdict, VERDICT_STALE);
	/* extreme times do not overflow */
	claims[1].at_ns = INT64_MIN + 1;
	e.age_at_ns = INT64_MAX;
	v = deploy_judge(&e);
	assert_true(v.verdict == VERDICT_STALE && v.reasons & 1u << DEPLOY_OLDER);
	/* what is dated later than now shows no fix, and relieves nobody; nor does a container that is */
	for (int future = 0; future < 3; future++)
		for (int fixed = 0; fixed < 2; fixed++) {
			struct claim c = {.rung = RUNG_PROCESS,
					  .at_ns = future == 1 ? 4 * DAY : DAY,
					  .says.fix = fixed ? FIX_FIXED : FIX_AFFECTED};
			e.claims = &c;
			e.n = 1;
			e.age_at_ns = 5 * DAY;
			e.now_ns = 3 * DAY;
			e.max_age_ns = TIME_UNKNOWN;
			e.future = future == 2;
			v = deploy_judge(&e);
			assert_int_equal(v.verdict, !fixed ? VERDICT_AFFECTED : future ? VERDICT_STALE : VERDICT_FIXED);
			assert_int_equal(v.reasons, future ? 1u << DEPLOY_IN_FUTURE : 0);
		}
}

/* The limit says something of the pool where the pool itself was not printed; of vLLM it does not. */
static void test_context(void **state)
{
	(void)state;
	static const struct {
		const char *engine;
		int64_t context, pool, limit;
		enum tri want;
	} cases[] = {
	    {"sglang", 1048576, 681280, 681274, TRI_YES},  {"sglang", 163840, 326223, 163834, TRI_NO},
	    {"sglang", 8192, 8192, 8186, TRI_NO},          {"sglang", 8192, 8191, 8185, TRI_YES},
	    {"sglang", 8192, UNSAID, 8186, TRI_NO},        {"sglang", 8192, UNSAID, 8185, TRI_YES},
	    {"sglang", 8192, UNSAID, UNSAID, TRI_UNKNOWN}, {"sglang", UNSAID, 9000, 8994, TRI_UNKNOWN},
	    {"sglang", 8192, UNSAID, 9000, TRI_UNKNOWN},   {"vllm", 8192, UNSAID, 8000, TRI_UNKNOWN},
	    {"vllm", 8192, 464656, 8192, TRI_NO},          {"", 8192, 4096, UNSAID, TRI_YES},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(
		    context_exceeds_pool(text_of(cases[i].engine), cases[i].context, cases[i].pool, cases[i].limit),
		    cases[i].want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_table), cmocka_unit_test(test_less),
					   cmocka_unit_test(test_unknown), cmocka_unit_test(test_context)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
