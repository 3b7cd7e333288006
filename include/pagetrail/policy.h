/* SPDX-License-Identifier: Apache-2.0 */
/* policy.h - which builds have a defect, and what else it needs: an OSV document (docs/policy.md)
 *
 * OSV schema 1.7 says which versions are affected; what Pagetrail needs beside that stands under
 * affected[].database_specific.pagetrail, or under database_specific.pagetrail as a default for all. A policy is immutable once read and
 * may be shared between threads. Limits: POLICY_MAX_BYTES, POLICY_COMMITS_MAX_BYTES.
 */
#pragma once

#include "pagetrail/analysis.h"

struct policy;

/* ERR_INPUT: err names the place in the document and what is expected there. warn (may be NULL) is called for each key of
 * ours that is not known. Files that it names are looked for beside it. */
int policy_load(struct policy **ret, const char *path, void (*warn)(void *ctx, struct text what), void *ctx,
		struct err *err) MUST_CHECK;
/* folder: where files that the document names are looked for; NULL: it must name none. */
int policy_read(struct policy **ret, struct text document, const char *folder,
		void (*warn)(void *ctx, struct text what), void *ctx, struct err *err) MUST_CHECK;
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
	FIX_UNMET,      /* affected by its version, but something that the defect needs is known not to be there */
	FIX_UNCONCERNED /* the policy says nothing about this package */
};

/* X(ID, "code", sentence) */
#define POLICY_REASONS(X)                                                                                        \
	X(NO_PACKAGE, "no_package", "No record names the engine.")                                               \
	X(NO_VERSION, "no_version", "No record gives a version.")                                                \
	X(NOT_CONCERNED, "package_not_in_policy", "The policy says nothing about this package.")                 \
	X(LISTED, "version_listed", "The policy lists this version.")                                            \
	X(IN_RANGE, "version_in_range", "The version lies in an affected range.")                                \
	X(OUT_OF_RANGE, "version_out_of_range", "The version lies in no affected range.")                        \
	X(UNREADABLE, "version_unreadable", "This is no version: a tag or a digest does not say what is in it.") \
	X(NEEDS_COMMIT, "version_needs_commit",                                                                  \
	  "A development or candidate build, or one with a label of its own: only its commit can say.")          \
	X(LOCAL_BELOW, "local_build_below_fix",                                                                  \
	  "A build with a label of its own, of an affected version, that is not declared as a backport.")        \
	X(COMMIT_HAS_FIX, "commit_contains_fix", "Its commit is listed as one that contains the fix.")           \
	X(COMMIT_LACKS_FIX, "commit_lacks_fix", "Its commit is listed as one that lacks the fix.")               \
	X(COMMIT_CONTRADICTS, "commit_contradicts_version", "Its commit and its version say different things.")  \
	X(BACKPORT, "backport_declared", "The policy declares this very version as a backport.")                 \
	X(BACKPORT_BARE, "backport_undocumented",                                                                \
	  "The policy declares this very version as a backport, without who, when and why.")                     \
	X(UNMET, "requirements_not_met", "The defect needs a mode or a transfer back-end that it does not run.") \
	X(REQUIREMENTS_OPEN, "requirements_unknown", "Whether it runs what the defect needs is not known.")

#define POLICY_REASON_ENUM(id, code, says) POLICY_##id,
enum policy_reason { POLICY_REASONS(POLICY_REASON_ENUM) POLICY_REASON_COUNT };
#undef POLICY_REASON_ENUM

struct policy_answer {
	enum fix fix;
	uint32_t reasons; /* bit per enum policy_reason */
	uint64_t entries; /* bit per entry of affected[] (the first 64) that makes it affected */
};

/* All entries of the package together: affected when one says so, unknown when one cannot say, else fixed. */
struct policy_answer policy_judge(const struct policy *p, const struct build *b);

const char *policy_reason_code(enum policy_reason r);
const char *policy_reason_says(enum policy_reason r);
const char *fix_name(enum fix f); /* unknown affected fixed unmet unconcerned */

/* What makes a request of an affected build a candidate. With several entries the widest one counts. */
enum policy_trigger { TRIGGER_INPUT_LIMIT, TRIGGER_TOKENS, TRIGGER_ANY };
enum policy_trigger policy_trigger(const struct policy *p, int64_t *ret_tokens);
int64_t policy_max_age_ns(const struct policy *p); /* TIME_UNKNOWN: none */
struct text policy_id(const struct policy *p);
struct text policy_summary(const struct policy *p);        /* may be empty */
const char *policy_sha256(const struct policy *p);         /* of the document, hex */
const char *policy_commits_sha256(const struct policy *p); /* of the list of commits; "" none */
