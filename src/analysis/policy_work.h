/* SPDX-License-Identifier: Apache-2.0 */
/* policy_work.h - a policy in memory, and while it is read; private to policy*.c */
#pragma once

#include "pagetrail/arena.h"
#include "pagetrail/digest.h"
#include "pagetrail/json.h"
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
	struct range_event *events; /* of versions: in order (event_cmp()) */
	size_t n;
};

struct backport {
	struct text version;
	bool documented; /* who, when and on what evidence */
};

struct listed_commit {
	struct text hash; /* lower case hex */
	bool has_fix;
};

struct commit_list { /* one file */
	struct text name;
	struct listed_commit *list; /* by hash */
	size_t n;
	char sha256[SHA256_HEX];
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
	size_t commits; /* in policy.commits, from 1; 0: none */
};

struct policy_entry { /* one of affected[] */
	size_t place;
	struct text package;
	struct text *versions;
	size_t n_versions;
	struct policy_range *ranges;
	size_t n_ranges;
	struct policy_needs needs;
};

struct policy {
	struct arena arena;
	struct text id, origin, summary, cve; /* the last two may be empty */
	struct policy_entry *entries;
	size_t n;
	struct commit_list *commits;
	size_t n_commits;
	char sha256[SHA256_HEX], commits_sha256[POLICY_ENTRIES_MAX * SHA256_HEX + 1];
};

/* ---- reading ---- */

enum { PLACE_MAX = 256 };

struct reading {
	struct policy *p;
	const char *folder;
	void (*warn)(void *ctx, struct text what);
	void *ctx;
	unsigned warnings;
	struct err *err;
	char place[PLACE_MAX]; /* in the document, "affected[0].ranges[1]" */
};

/* Goes one step down; the old length is for leave(). */
size_t enter(struct reading *r, const char *format, ...) PRINTF_LIKE(2, 3);
void leave(struct reading *r, size_t was);
int wrong(struct reading *r, const char *key, const char *expected);
/* Known keys stand once; others are named. what: "a key of OSV" or of ours. */
int check_keys(struct reading *r, struct json_value v, const char *const *known, size_t n_known);
void warning(struct reading *r, const char *format, ...) PRINTF_LIKE(2, 3);
/* A list that may be left out, of at most POLICY_LIST_MAX. */
int take_list(struct reading *r, struct json_value v, const char *key, struct json_value *ret, size_t *ret_n);
int take_text(struct reading *r, struct json_value v, const char *key, const char *expected, struct text *ret);
int take_texts(struct reading *r, struct json_value v, const char *key, struct text **ret, size_t *ret_n);
void *policy_array(struct reading *r, size_t n, size_t size);
/* policy_needs.c: what is not given stays, as the top of the document has it. */
int take_needs(struct reading *r, struct json_value v, struct policy_needs *n);
/* policy_commits.c: the files that entries name, each once. */
int load_commits(struct reading *r);
/* FIX_FIXED, FIX_AFFECTED or FIX_UNKNOWN: a beginning of at least 7 digits will do. */
enum fix commit_says(const struct policy *p, const struct policy_entry *e, struct text commit);
