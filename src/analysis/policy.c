/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c - what a policy says of one build
 *
 * First OSV's own evaluation (listed versions, or a range), then what a version string cannot say by itself: development
 * and candidate builds, own labels, tags. Unknown is never fixed.
 */
#include "policy_work.h"

#include <string.h>

#include "pagetrail/macros.h"

const char *policy_reason_code(enum policy_reason r)
{
#define CODE(id, code, says) code,
	static const char *const codes[] = {POLICY_REASONS(CODE)};
#undef CODE
	return codes[r];
}

const char *policy_reason_says(enum policy_reason r)
{
#define SAYS(id, code, says) says,
	static const char *const sentences[] = {POLICY_REASONS(SAYS)};
#undef SAYS
	return sentences[r];
}

const char *fix_name(enum fix f)
{
	static const char *const names[] = {"unknown", "affected", "fixed", "unmet", "unconcerned"};
	return names[f];
}

/* "SGL_Kernel" and "sgl-kernel" are one name (Python packaging, "Names and normalization"). */
static bool same_package(struct text a, struct text b)
{
	size_t i = 0, k = 0;
	while (i < a.len && k < b.len) {
		bool sep_a = strchr("-_.", a.ptr[i]) && a.ptr[i], sep_b = strchr("-_.", b.ptr[k]) && b.ptr[k];
		if (sep_a != sep_b)
			return false;
		if (!sep_a) {
			char x = a.ptr[i++], y = b.ptr[k++];
			x = x >= 'A' && x <= 'Z' ? (char)(x + 32) : x;
			y = y >= 'A' && y <= 'Z' ? (char)(y + 32) : y;
			if (x != y)
				return false;
			continue;
		}
		while (i < a.len && a.ptr[i] && strchr("-_.", a.ptr[i]))
			i++;
		while (k < b.len && b.ptr[k] && strchr("-_.", b.ptr[k]))
			k++;
	}
	return i == a.len && k == b.len;
}

/* --- OSV --- */

static bool in_range(const struct policy_range *r, const struct version *v)
{
	bool affected = false, limits = false, before_limit = false;
	for (size_t i = 0; i < r->n; i++) {
		const struct range_event *e = &r->events[i];
		int c = e->zero ? 1 : e->star ? -1 : version_cmp(v, &e->version);
		switch (e->kind) {
		case RANGE_INTRODUCED: affected |= c >= 0; break;
		case RANGE_FIXED: affected &= c < 0; break;
		case RANGE_LAST_AFFECTED: affected &= c <= 0; break;
		case RANGE_LIMIT:
			limits = true;
			before_limit |= c < 0;
			break;
		}
	}
	return affected && (!limits || before_limit);
}

static bool is_listed(const struct policy_entry *e, struct text version, const struct version *v, bool readable)
{
	for (size_t i = 0; i < e->n_versions; i++) {
		struct version other;
		if (text_eq(e->versions[i], version) ||
		    (readable && version_read(e->versions[i], &other) && !version_cmp(v, &other)))
			return true;
	}
	return false;
}

static bool has_versions(const struct policy_entry *e)
{
	for (size_t i = 0; i < e->n_ranges; i++)
		if (!e->ranges[i].git)
			return true;
	return e->n_versions > 0;
}

/* --- commits --- */

static int commit_cmp(struct text a, struct text b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char x = a.ptr[i], y = b.ptr[i];
		x = x >= 'A' && x <= 'F' ? (char)(x + 32) : x;
		y = y >= 'A' && y <= 'F' ? (char)(y + 32) : y;
		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

enum { COMMIT_MIN_DIGITS = 7 };

static bool same_commit(struct text a, struct text b)
{
	size_t n = MIN(a.len, b.len);
	return n >= COMMIT_MIN_DIGITS && !commit_cmp(a, b, n);
}

/* All listed commits that begin like it, or that it begins like, must agree. */
static enum fix commit_listed(const struct policy *p, struct text commit)
{
	bool with = false, without = false;
	size_t lo = 0, hi = p->n_commits;
	if (commit.len < COMMIT_MIN_DIGITS)
		return FIX_UNKNOWN;
	while (lo < hi) { /* the first that is not before its first digits */
		size_t mid = (lo + hi) / 2;
		if (commit_cmp(p->commits[mid].hash, commit, COMMIT_MIN_DIGITS) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < p->n_commits && !commit_cmp(p->commits[lo].hash, commit, COMMIT_MIN_DIGITS); lo++) {
		if (!same_commit(p->commits[lo].hash, commit))
			continue;
		with |= p->commits[lo].has_fix;
		without |= !p->commits[lo].has_fix;
	}
	return with == without ? FIX_UNKNOWN : with ? FIX_FIXED : FIX_AFFECTED;
}

/* The ends of GIT ranges are known without the graph; what lies between is not. */
static enum fix commit_says(const struct policy *p, const struct policy_entry *e, struct text commit)
{
	enum fix listed = commit_listed(p, commit);
	for (size_t i = 0; i < e->n_ranges && listed == FIX_UNKNOWN; i++)
		for (size_t k = 0; e->ranges[i].git && k < e->ranges[i].n; k++) {
			const struct range_event *x = &e->ranges[i].events[k];
			if (x->zero || x->star || x->kind == RANGE_LIMIT || !same_commit(x->text, commit))
				continue;
			listed = x->kind == RANGE_FIXED ? FIX_FIXED : FIX_AFFECTED;
		}
	return listed;
}

/* --- one entry --- */

/* Builds of a release for one accelerator are that release; any other label is somebody's own change. */
static bool local_is_plain(struct text local)
{
	static const char *const plain[] = {"cu", "rocm", "cpu", "xpu", "npu", "musa", "hpu"};
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		struct text rest = text_from(local, strlen(plain[i]));
		bool digits = text_starts(local, plain[i]);
		for (size_t k = 0; digits && k < rest.len; k++)
			digits = (rest.ptr[k] >= '0' && rest.ptr[k] <= '9') || rest.ptr[k] == '.';
		if (digits)
			return true;
	}
	return !local.len;
}

static void because(struct policy_answer *a, enum policy_reason r)
{
	a->reasons |= UINT32_C(1) << r;
}

static enum fix because_of(struct policy_answer *a, enum policy_reason r, enum fix f)
{
	because(a, r);
	return f;
}

/* Exactly this string, but for how PEP 440 lets one spell it. */
static const struct backport *backport_of(const struct policy_entry *e, struct text version, const struct version *v,
					  bool readable)
{
	for (size_t i = 0; i < e->needs.n_backports; i++) {
		struct version other;
		struct text t = e->needs.backports[i].version;
		if (text_eq(t, version) || (readable && version_read(t, &other) && !version_cmp(v, &other)))
			return &e->needs.backports[i];
	}
	return NULL;
}

static enum fix by_version(const struct policy_entry *e, const struct build *b, struct policy_answer *a)
{
	struct version v;
	bool readable = version_read(b->version, &v), affected = false;
	const struct backport *port = backport_of(e, b->version, &v, readable);
	if (port)
		return because_of(a, port->documented ? POLICY_BACKPORT : POLICY_BACKPORT_BARE, FIX_FIXED);
	if (is_listed(e, b->version, &v, readable))
		return because_of(a, POLICY_LISTED, FIX_AFFECTED);
	if (!readable)
		return because_of(a, POLICY_UNREADABLE, FIX_UNKNOWN);
	bool no_tag = v.n_release == 1 && !v.release[0]; /* 0.0.0: built where no tag was seen */
	if (!version_is_final(&v) || no_tag || !has_versions(e))
		return because_of(a, POLICY_NEEDS_COMMIT, FIX_UNKNOWN);
	for (size_t i = 0; i < e->n_ranges; i++)
		affected |= !e->ranges[i].git && in_range(&e->ranges[i], &v);
	if (local_is_plain(v.local))
		return because_of(a, affected ? POLICY_IN_RANGE : POLICY_OUT_OF_RANGE,
				  affected ? FIX_AFFECTED : FIX_FIXED);
	return affected ? because_of(a, POLICY_LOCAL_BELOW, FIX_AFFECTED)
			: because_of(a, POLICY_NEEDS_COMMIT, FIX_UNKNOWN);
}

/* A commit decides where the version leaves it open, or is somebody's own build; elsewhere it must not contradict it. */
static enum fix by_both(const struct policy *p, const struct policy_entry *e, const struct build *b,
			struct policy_answer *a)
{
	struct policy_answer own = {0};
	enum fix version = b->version.len ? by_version(e, b, &own) : FIX_UNKNOWN, commit = commit_says(p, e, b->commit);
	if (!b->version.len && commit == FIX_UNKNOWN)
		return because_of(a, b->commit.len ? POLICY_NEEDS_COMMIT : POLICY_NO_VERSION, FIX_UNKNOWN);
	bool decides = version == FIX_UNKNOWN || own.reasons >> POLICY_LOCAL_BELOW & 1;
	if (commit == FIX_UNKNOWN || (!decides && commit == version)) {
		a->reasons |= own.reasons;
		return version;
	}
	if (!decides)
		return because_of(a, POLICY_COMMIT_CONTRADICTS, FIX_UNKNOWN);
	return because_of(a, commit == FIX_FIXED ? POLICY_COMMIT_HAS_FIX : POLICY_COMMIT_LACKS_FIX, commit);
}

/* Does it run what the defect needs? */
static enum tri needs_met(const struct policy_needs *n, const struct build *b)
{
	enum tri mode = n->disaggregated ? b->disaggregated : TRI_YES, backend = n->n_backends ? TRI_UNKNOWN : TRI_YES;
	if (n->n_backends && b->transfer_backend.len) {
		backend = TRI_NO;
		for (size_t i = 0; i < n->n_backends; i++)
			if (same_package(n->backends[i], b->transfer_backend))
				backend = TRI_YES;
	}
	return mode == TRI_NO || backend == TRI_NO     ? TRI_NO
	       : mode == TRI_YES && backend == TRI_YES ? TRI_YES
						       : TRI_UNKNOWN;
}

struct policy_answer policy_judge(const struct policy *p, const struct build *b)
{
	struct policy_answer a = {.fix = FIX_UNCONCERNED};
	bool unknown = false, fixed = false, unmet = false;
	if (!b->package.len) {
		because(&a, POLICY_NO_PACKAGE);
		a.fix = FIX_UNKNOWN;
		return a;
	}
	for (size_t i = 0; i < p->n; i++) {
		const struct policy_entry *e = &p->entries[i];
		if (!same_package(e->package, b->package))
			continue;
		enum fix f = by_both(p, e, b, &a);
		enum tri met = f == FIX_AFFECTED ? needs_met(&e->needs, b) : TRI_YES;
		if (met == TRI_UNKNOWN)
			because(&a, POLICY_REQUIREMENTS_OPEN);
		if (met == TRI_NO)
			because(&a, POLICY_UNMET);
		if (f == FIX_AFFECTED && met != TRI_NO) {
			a.fix = FIX_AFFECTED;
			a.entries |= i < 64 ? UINT64_C(1) << i : 0;
		}
		unknown |= f == FIX_UNKNOWN;
		fixed |= f == FIX_FIXED;
		unmet |= met == TRI_NO;
	}
	if (a.fix == FIX_AFFECTED)
		return a;
	a.fix = unknown ? FIX_UNKNOWN : unmet ? FIX_UNMET : fixed ? FIX_FIXED : FIX_UNCONCERNED;
	if (a.fix == FIX_UNCONCERNED)
		because(&a, POLICY_NOT_CONCERNED);
	return a;
}

/* --- what else it says --- */

enum policy_trigger policy_trigger(const struct policy *p, int64_t *ret_tokens)
{
	enum policy_trigger widest = TRIGGER_INPUT_LIMIT;
	*ret_tokens = INT64_MAX;
	for (size_t i = 0; i < p->n; i++) {
		const struct policy_needs *n = &p->entries[i].needs;
		widest = MAX(widest, n->trigger);
		if (n->trigger == TRIGGER_TOKENS)
			*ret_tokens = MIN(*ret_tokens, n->trigger_tokens);
	}
	return widest;
}

int64_t policy_max_age_ns(const struct policy *p)
{
	int64_t least = TIME_UNKNOWN;
	for (size_t i = 0; i < p->n; i++) {
		int64_t age = p->entries[i].needs.max_age_ns;
		if (age != TIME_UNKNOWN && (least == TIME_UNKNOWN || age < least))
			least = age;
	}
	return least;
}

struct text policy_id(const struct policy *p)
{
	return p->id;
}

struct text policy_summary(const struct policy *p)
{
	return p->summary;
}

const char *policy_sha256(const struct policy *p)
{
	return p->sha256;
}

const char *policy_commits_sha256(const struct policy *p)
{
	return p->commits_sha256;
}
