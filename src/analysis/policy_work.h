/* SPDX-License-Identifier: Apache-2.0 */
/* policy_work.h - a policy in memory; private to policy*.c */
#pragma once

#include "pagetrail/arena.h"
#include "pagetrail/digest.h"
#include "pagetrail/policy.h"
#include "pagetrail/version.h"

enum range_event_kind { RANGE_INTRODUCED, RANGE_FIXED, RANGE_LAST_AFFECTED, RANGE_LIMIT };

struct range_event {
	enum range_event_kind kind;
	bool zero, star; /* introduced "0": before everything; limit "*": behind everything */
	struct version version;
	struct text text; /* as written: a commit in GIT ranges */
};

struct policy_range {
	bool git;
	struct range_event *events; /* of versions: in order; a fix before a beginning at the same place */
	size_t n;
};

struct backport {
	struct text version;
	bool documented; /* who, when and on what evidence */
};

struct policy_needs { /* what stands under "pagetrail" */
	bool disaggregated;
	struct text *backends; /* none: any */
	size_t n_backends;
	enum policy_trigger trigger;
	int64_t trigger_tokens;
	struct backport *backports;
	size_t n_backports;
	int64_t max_age_ns; /* TIME_UNKNOWN: none */
	struct text commits_file;
};

struct policy_entry { /* one of affected[] */
	struct text package;
	struct text *versions;
	size_t n_versions;
	struct policy_range *ranges;
	size_t n_ranges;
	struct policy_needs needs;
};

struct listed_commit {
	struct text hash; /* lower case hex */
	bool has_fix;
};

struct policy {
	struct arena arena;
	struct text id, summary;
	struct policy_entry *entries;
	size_t n;
	struct listed_commit *commits; /* by hash */
	size_t n_commits;
	char sha256[SHA256_HEX], commits_sha256[SHA256_HEX];
};
