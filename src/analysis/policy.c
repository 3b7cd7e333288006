/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c - what a policy says of one build
 *
 * First OSV's own evaluation (listed versions, or a range), then what a version string cannot say by itself: development
 * and candidate builds, own labels, tags. Unknown is never fixed.
 */
#include "policy_work.h"

#include <stdio.h>
#include <string.h>

#include "pagetrail/limits.h"
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

/* Against a version without local label that of v does not count (PEP 440, "Version matching"): "0.5.21+cu124" is 0.5.21. */
static int against(const struct version *v, const struct version *other)
{
	struct version public = *v;
	if (!other->local.len)
	public.local = (struct text){0};
	return version_cmp(&public, other);
}

/* Behind a limit a range says nothing. */
static enum tri in_range(const struct policy_range *r, const struct version *v)
{
	bool affected = false, limits = false, before_limit = false;
	for (size_t i = 0; i < r->n; i++) {
		const struct range_event *e = &r->events[i];
		int c = e->zero ? 1 : e->star ? -1 : against(v, &e->version);
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
	return !affected ? TRI_NO : !limits || before_limit ? TRI_YES : TRI_UNKNOWN;
}

static bool is_listed(const struct policy_entry *e, struct text version, const struct version *v, bool readable)
{
	for (size_t i = 0; i < e->n_versions; i++) {
		struct version other;
		if (text_eq(e->versions[i], version) ||
		    (readable && version_read(e->versions[i], &other) && !against(v, &other)))
			return true;
	}
	return false;
}

static bool has_range(const struct policy_entry *e)
{
	for (size_t i = 0; i < e->n_ranges; i++)
		if (!e->ranges[i].git)
			return true;
	return false;
}

/* --- one entry --- */

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
	bool readable = version_read(b->version, &v), affected = false, open = !has_range(e);
	const struct backport *port = backport_of(e, b->version, &v, readable);
	if (port)
		return because_of(a, port->documented ? POLICY_BACKPORT : POLICY_BACKPORT_BARE, FIX_FIXED);
	if (readable && v.local.len)
		because(a, POLICY_LOCAL_LABEL);
	if (is_listed(e, b->version, &v, readable))
		return because_of(a, readable && !version_is_plain(&v) ? POLICY_LOCAL_BELOW : POLICY_LISTED,
				  FIX_AFFECTED);
	if (!readable)
		return because_of(a, POLICY_UNREADABLE, FIX_UNKNOWN);
	bool no_tag = v.n_release == 1 && !v.release[0]; /* 0.0.0: built where no tag was seen */
	if (!version_is_final(&v) || no_tag || (!has_range(e) && !e->n_versions))
		return because_of(a, POLICY_NEEDS_COMMIT, FIX_UNKNOWN);
	for (size_t i = 0; i < e->n_ranges; i++) {
		enum tri in = e->ranges[i].git ? TRI_NO : in_range(&e->ranges[i], &v);
		affected |= in == TRI_YES;
		open |= in == TRI_UNKNOWN;
	}
	if (!affected && open) /* a list says nothing of what is not in it, a range nothing behind its limit */
		return because_of(a, POLICY_NO_FIX, FIX_UNKNOWN);
	if (version_is_plain(&v))
		return because_of(a, affected ? POLICY_IN_RANGE : POLICY_OUT_OF_RANGE,
				  affected ? FIX_AFFECTED : FIX_FIXED);
	return affected ? because_of(a, POLICY_LOCAL_BELOW, FIX_AFFECTED)
			: because_of(a, POLICY_NEEDS_COMMIT, FIX_UNKNOWN);
}

/* "0.5.23.dev3+gabcdef0": the commit that the version itself names, where nothing else does. */
struct text policy_commit(const struct build *b)
{
	struct version v;
	if (b->commit.len || !version_read(b->version, &v))
		return b->commit;
	for (struct text rest = v.local, part; text_split(&rest, '.', &part);)
		if (part.len > 7 && (part.ptr[0] == 'g' || part.ptr[0] == 'G'))
			return text_from(part, 1);
	return b->commit;
}

/* A commit decides where the version leaves it open, or is somebody's own build; elsewhere it must not contradict it. */
static enum fix by_both(const struct policy *p, const struct policy_entry *e, const struct build *b,
			struct policy_answer *a)
{
	struct policy_answer own = {0};
	struct text hash = policy_commit(b);
	enum fix version = b->version.len ? by_version(e, b, &own) : FIX_UNKNOWN, commit = commit_says(p, e, hash);
	bool decides = version == FIX_UNKNOWN || policy_because(own, POLICY_LOCAL_BELOW);
	if (!b->version.len)
		because(&own, POLICY_NO_VERSION);
	if (commit == FIX_UNKNOWN && version == FIX_UNKNOWN && hash.len)
		because(&own, POLICY_COMMIT_UNLISTED);
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
	if (mode == TRI_NO || backend == TRI_NO)
		return TRI_NO;
	return mode == TRI_YES && backend == TRI_YES ? TRI_YES : TRI_UNKNOWN;
}

struct policy_answer policy_judge_entry(const struct policy *p, size_t entry, const struct build *b)
{
	const struct policy_entry *e = &p->entries[entry];
	struct policy_answer a = {.fix = FIX_UNCONCERNED, .entries = UINT64_C(1) << entry};
	if (!b->package.len) {
		a.fix = because_of(&a, POLICY_NO_PACKAGE, FIX_UNKNOWN);
		return a;
	}
	if (!same_package(e->package, b->package)) {
		because(&a, POLICY_NOT_CONCERNED);
		return a;
	}
	a.fix = by_both(p, e, b, &a);
	if (a.fix == FIX_FIXED)
		return a;
	enum tri met = needs_met(&e->needs, b);
	if (met == TRI_UNKNOWN)
		because(&a, POLICY_REQUIREMENTS_OPEN);
	if (met == TRI_NO)
		a.fix = because_of(&a, POLICY_UNMET, FIX_UNMET);
	return a;
}

struct policy_answer policy_judge(const struct policy *p, const struct build *b)
{
	/* which answer comes before which */
	static const int ranks[] = {
	    [FIX_UNCONCERNED] = 0, [FIX_FIXED] = 1, [FIX_UNMET] = 2, [FIX_UNKNOWN] = 3, [FIX_AFFECTED] = 4};
	struct policy_answer all = {.fix = FIX_UNCONCERNED};
	bool surely = false; /* one that surely applies is enough */
	for (size_t i = 0; i < p->n; i++) {
		struct policy_answer a = policy_judge_entry(p, i, b);
		if (ranks[a.fix] < ranks[all.fix])
			continue;
		if (ranks[a.fix] > ranks[all.fix])
			all = (struct policy_answer){.fix = a.fix};
		surely |= policy_affected(a) == TRI_YES;
		all.reasons |= a.reasons;
		all.entries |= a.entries;
	}
	if (surely)
		all.reasons &= ~(UINT32_C(1) << POLICY_REQUIREMENTS_OPEN);
	return all;
}

enum tri policy_affected(struct policy_answer a)
{
	if (a.fix == FIX_UNKNOWN)
		return TRI_UNKNOWN;
	if (a.fix != FIX_AFFECTED)
		return TRI_NO;
	return policy_because(a, POLICY_REQUIREMENTS_OPEN) ? TRI_UNKNOWN : TRI_YES;
}

/* --- what else it says --- */

size_t policy_entries(const struct policy *p)
{
	return p->n;
}

enum policy_trigger policy_trigger(const struct policy *p, size_t entry, int64_t *ret_tokens)
{
	*ret_tokens = p->entries[entry].needs.trigger_tokens;
	return p->entries[entry].needs.trigger;
}

bool policy_needs_disaggregation(const struct policy *p, size_t entry)
{
	return p->entries[entry].needs.disaggregated;
}

struct text policy_package(const struct policy *p, size_t entry)
{
	return p->entries[entry].package;
}

size_t policy_place(const struct policy *p, size_t entry)
{
	return p->entries[entry].place;
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

struct text policy_cve(const struct policy *p)
{
	return p->cve;
}

static bool entry_knows_fix(const struct policy *p, const struct policy_entry *e)
{
	if (e->needs.n_backports)
		return true;
	for (size_t i = 0; i < e->n_ranges; i++)
		for (size_t k = 0; k < e->ranges[i].n; k++)
			if (e->ranges[i].events[k].kind == RANGE_FIXED ||
			    e->ranges[i].events[k].kind == RANGE_LAST_AFFECTED)
				return true;
	const struct commit_list *commits = e->needs.commits ? &p->commits[e->needs.commits - 1] : NULL;
	for (size_t i = 0; commits && i < commits->n; i++)
		if (commits->list[i].has_fix)
			return true;
	return false;
}

bool policy_knows_fix(const struct policy *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (!entry_knows_fix(p, &p->entries[i]))
			return false;
	return true;
}

struct text policy_origin(const struct policy *p)
{
	return p->origin;
}

const char *policy_sha256(const struct policy *p)
{
	return p->sha256;
}

const char *policy_commits_sha256(const struct policy *p)
{
	return p->commits_sha256;
}

int policy_describe(const struct policy *p, struct buf *out, struct err *err)
{
	int rc = buf_printf(out, err, "%.*s (%.*s, sha256 %s", TEXT_ARG(p->origin), TEXT_ARG(p->id), p->sha256);
	if (rc == 0 && p->n_commits)
		rc = buf_printf(out, err, "; commits sha256 %s", p->commits_sha256);
	return rc == 0 ? buf_add_char(out, ')', err) : rc;
}

/* --- those that are compiled in --- */

const char *policy_builtin_name(size_t i)
{
	return i < n_builtin_policies ? builtin_policies[i].name : NULL;
}

int policy_builtin(struct policy **ret, const char *name, struct err *err)
{
	name = name ? name : POLICY_DEFAULT;
	*ret = NULL;
	for (size_t i = 0; i < n_builtin_policies; i++) {
		if (strcmp(builtin_policies[i].name, name) != 0)
			continue;
		char origin[NAME_MAX_BYTES];
		int n = snprintf(origin, sizeof(origin), POLICY_BUILTIN "%s", name);
		int rc = policy_read(ret, text_of(builtin_policies[i].document), NULL, NULL, NULL, err);
		if (rc == 0)
			(*ret)->origin = arena_text(&(*ret)->arena, (struct text){origin, (size_t)n});
		return rc;
	}
	err_set(err, ERR_INPUT, "no policy '%s' is built in", name);
	return err_hint(err, "there are: %s and %s", builtin_policies[0].name,
			builtin_policies[n_builtin_policies - 1].name);
}
