/* SPDX-License-Identifier: Apache-2.0 */
/* classify.c - from five tri-state predicates to a class: ordered rules, first hit wins (docs/method.md)
 *
 * A pure function. A predicate that is unknown never excludes; a contradiction never falls below C2.
 */
#include "pagetrail/analysis.h"

const char *tri_name(enum tri t)
{
	switch (t) {
	case TRI_NO: return "no";
	case TRI_YES: return "yes";
	case TRI_UNKNOWN: break;
	}
	return "unknown";
}

static bool contradicts(struct predicates p)
{
	if (p.x == TRI_YES && (p.t == TRI_NO || p.a == TRI_NO || p.l == TRI_NO || p.d == TRI_NO))
		return true;
	return p.l == TRI_YES && (p.t == TRI_NO || p.a == TRI_NO);
}

static struct class_result by_rule(struct predicates p, bool trigger_stands, bool build_stands)
{
	if (p.x == TRI_YES || (p.l == TRI_YES && p.d == TRI_YES))
		return (struct class_result){CLASS_C1, 1, false};
	if (p.l == TRI_YES && p.d == TRI_UNKNOWN)
		return (struct class_result){CLASS_C2, 2, false};
	if (p.d == TRI_NO)
		return (struct class_result){CLASS_C4, 3, false};
	if (p.l == TRI_NO)
		return (struct class_result){CLASS_C4, 4, false};
	if ((p.t == TRI_NO && trigger_stands) || (p.a == TRI_NO && build_stands))
		return (struct class_result){CLASS_C4, 5, false};
	if (p.t == TRI_YES && p.a == TRI_YES && p.d == TRI_YES)
		return (struct class_result){CLASS_C2, 6, false};
	if (p.t == TRI_UNKNOWN && p.d == TRI_UNKNOWN)
		return (struct class_result){CLASS_C5, 7, false};
	return (struct class_result){CLASS_C3, 8, false};
}

struct class_result classify(struct predicates p, bool trigger_stands, bool build_stands)
{
	struct class_result r = by_rule(p, trigger_stands, build_stands);
	r.conflict = contradicts(p);
	if (r.conflict && r.class_id > CLASS_C2)
		r.class_id = CLASS_C2;
	return r;
}
