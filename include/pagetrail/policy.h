/* SPDX-License-Identifier: Apache-2.0 */
/* policy.h - which builds have a defect, and what else it needs: an OSV document (docs/policy.md)
 *
 * OSV says which versions are affected; what Pagetrail needs beside that stands under affected[].database_specific.pagetrail, or under
 * database_specific.pagetrail at the top as a default for all. Every entry of affected[] is a defect of its own: it has its own versions,
 * requirements and trigger. A policy is immutable once read and may be shared between threads. Limits: POLICY_* in limits.h.
 */
#pragma once

#include "pagetrail/analysis.h"

struct policy;

/* ERR_INPUT: err names the place in the document and what is expected there. warn (may be NULL) is called for what is not
 * read: keys that are not known, entries of other package indexes. Files that it names are looked for beside it. */
int policy_load(struct policy **ret, const char *path, void (*warn)(void *ctx, struct text what), void *ctx,
		struct err *err) MUST_CHECK;
/* folder: where files that the document names are looked for; NULL: it must name none. */
int policy_read(struct policy **ret, struct text document, const char *folder,
		void (*warn)(void *ctx, struct text what), void *ctx, struct err *err) MUST_CHECK;
/* One of those that are compiled in (src/policies/); NULL: POLICY_DEFAULT, the hypothesis of `scope`. ERR_INPUT: no such one. */
#define POLICY_DEFAULT "over_limit_handoff"
#define POLICY_BUILTIN "builtin:" /* before the name, where a person gives it in place of a file */
int policy_builtin(struct policy **ret, const char *name, struct err *err) MUST_CHECK;
const char *policy_builtin_name(size_t i); /* NULL: no more */
struct policy_text {
	const char *name, *document;
};
extern const struct policy_text builtin_policies[]; /* generated from src/policies/ */
extern const size_t n_builtin_policies;
void policy_free(struct policy *p); /* accepts NULL */

/* What is known of one process, or of what is installed. Empty texts are unknown. */
struct build {
	struct text package, version, commit;
	enum tri disaggregated;
	struct text transfer_backend;
};

enum fix {
	FIX_UNKNOWN,
	FIX_AFFECTED,
	FIX_FIXED,
	FIX_UNMET,      /* not fixed, but what the defect needs is known not to be there */
	FIX_UNCONCERNED /* the policy says nothing about this package */
};

/* X(ID, "code", sentence) */
#define POLICY_REASONS(X)                                                                                            \
	X(NO_PACKAGE, "no_package", "No record names the engine.")                                                   \
	X(NO_VERSION, "no_version", "No record gives a version.")                                                    \
	X(NOT_CONCERNED, "package_not_in_policy", "The policy says nothing about this package.")                     \
	X(LISTED, "version_listed", "The policy lists this version as affected.")                                    \
	X(IN_RANGE, "version_in_range", "The version lies in an affected range.")                                    \
	X(OUT_OF_RANGE, "version_out_of_range", "The version lies in no affected range.")                            \
	X(NO_FIX, "fix_not_named", "The policy names neither this version nor a fix before it.")                     \
	X(LOCAL_LABEL, "local_label", "What its local label stands for, the version does not show.")                 \
	X(UNREADABLE, "version_unreadable", "This is no version: a tag or a digest does not say what is in it.")     \
	X(NEEDS_COMMIT, "version_needs_commit",                                                                      \
	  "A development or candidate build, or somebody's own: only its commit says whether the fix is in it.")     \
	X(LOCAL_BELOW, "local_build_below_fix",                                                                      \
	  "Somebody's own build of an affected version, that is not declared as a backport.")                        \
	X(COMMIT_HAS_FIX, "commit_contains_fix", "Its commit is listed as one that contains the fix.")               \
	X(COMMIT_LACKS_FIX, "commit_lacks_fix", "Its commit is listed as one that lacks the fix.")                   \
	X(COMMIT_UNLISTED, "commit_not_listed", "The policy does not know its commit.")                              \
	X(COMMIT_CONTRADICTS, "commit_contradicts_version", "Its commit and its version say different things.")      \
	X(BACKPORT, "backport_declared", "The policy declares this very version as a backport of the fix.")          \
	X(BACKPORT_BARE, "backport_undocumented",                                                                    \
	  "The policy declares this very version as a backport of the fix, without who, when or on what evidence.")  \
	X(UNMET, "requirements_not_met", "It does not run the mode or the transfer back-end that the defect needs.") \
	X(REQUIREMENTS_OPEN, "requirements_unknown", "Whether it runs what the defect needs is not known.")

#define POLICY_REASON_ENUM(id, code, says) POLICY_##id,
enum policy_reason { POLICY_REASONS(POLICY_REASON_ENUM) POLICY_REASON_COUNT };
#undef POLICY_REASON_ENUM

struct policy_answer {
	enum fix fix;
	uint32_t reasons; /* bit per enum policy_reason */
	uint64_t entries; /* bit per entry of affected[]: those that make it what it is */
};
static inline bool policy_because(struct policy_answer a, enum policy_reason r)
{
	return a.reasons >> r & 1;
}

/* What one entry says, and all of them together: affected when one says so, unknown when one cannot say, else fixed. */
size_t policy_entries(const struct policy *p);
struct policy_answer policy_judge_entry(const struct policy *p, size_t entry, const struct build *b);
struct policy_answer policy_judge(const struct policy *p, const struct build *b);
/* The commit that a record gives, else the one that its version names ("…+gabc1234"); empty: none. */
struct text policy_commit(const struct build *b);
/* Affected, and runs what the defect needs? */
enum tri policy_affected(struct policy_answer a);

const char *policy_reason_code(enum policy_reason r);
const char *policy_reason_says(enum policy_reason r);
const char *fix_name(enum fix f); /* unknown affected fixed unmet unconcerned */

/* What makes a request of an affected build a candidate. */
enum policy_trigger { TRIGGER_INPUT_LIMIT, TRIGGER_TOKENS, TRIGGER_ANY };
enum policy_trigger policy_trigger(const struct policy *p, size_t entry, int64_t *ret_tokens);
bool policy_needs_disaggregation(const struct policy *p, size_t entry);
struct text policy_package(const struct policy *p, size_t entry);
/* Place of the entry in the document's affected[]. */
size_t policy_place(const struct policy *p, size_t entry);
/* The shortest of all entries; TIME_UNKNOWN: none. */
int64_t policy_max_age_ns(const struct policy *p);
struct text policy_id(const struct policy *p);
struct text policy_summary(const struct policy *p); /* one line; empty: it has none */
struct text policy_cve(const struct policy *p);     /* its id or one of its aliases; empty: none is one */
/* Does it know of each of its entries how the defect ends: a version, a backport, or a commit? */
bool policy_knows_fix(const struct policy *p);
const char *policy_sha256(const struct policy *p);         /* of the document, hex */
const char *policy_commits_sha256(const struct policy *p); /* of its lists of commits, comma between; "" none */
struct text policy_origin(const struct policy *p);         /* its file's path as given, or "builtin:NAME" */
int policy_describe(const struct policy *p, struct buf *out,
		    struct err *err) MUST_CHECK; /* "builtin:NAME (ID, sha256 …)" */
