/* SPDX-License-Identifier: Apache-2.0 */
/* findings_policy.c - what an entry of the policy makes of a boot, in the words of findings */
#include "findings.h"

_Static_assert(N_REASONS <= 64, "one bit each");

static enum reason why(struct policy_answer a)
{
	static const struct {
		enum policy_reason said;
		enum reason why;
	} same[] = {
	    {POLICY_UNMET, REASON_BACKEND_OTHER},
	    {POLICY_NOT_CONCERNED, REASON_ENGINE_OTHER},
	    {POLICY_NO_PACKAGE, REASON_VERSION_UNKNOWN},
	    {POLICY_NO_VERSION, REASON_VERSION_UNKNOWN},
	    {POLICY_COMMIT_CONTRADICTS, REASON_COMMIT_CONTRADICTS},
	    {POLICY_COMMIT_HAS_FIX, REASON_COMMIT_HAS_FIX},
	    {POLICY_BACKPORT, REASON_BACKPORT},
	    {POLICY_BACKPORT_BARE, REASON_BACKPORT_BARE},
	};
	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		if (policy_because(a, same[i].said))
			return same[i].why;
	if (a.fix == FIX_AFFECTED && policy_because(a, POLICY_REQUIREMENTS_OPEN))
		return REASON_BACKEND_UNKNOWN;
	if (policy_because(a, POLICY_COMMIT_LACKS_FIX))
		return REASON_COMMIT_LACKS_FIX;
	return a.fix == FIX_AFFECTED ? REASON_VERSION_AFFECTED
	       : a.fix == FIX_FIXED  ? REASON_VERSION_FIXED
				     : REASON_VERSION_UNDECIDED;
}

struct build_verdict build_verdict(const struct policy *p, size_t entry, const struct build *b)
{
	struct policy_answer a = policy_judge_entry(p, entry, b);
	return (struct build_verdict){
	    .affected = policy_affected(a), .concerned = a.fix != FIX_UNCONCERNED, .why = why(a)};
}
