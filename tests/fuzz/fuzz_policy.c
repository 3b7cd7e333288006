/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_policy.c - any bytes as a policy; what is one answers for any build, each time the same, and never calls the unknown fixed
 *
 * The first byte chooses what the build runs. Behind it, each up to a zero byte: the document, its list of commits (read where the
 * document names it "c"), then package, version, commit and back-end of builds.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pagetrail/buf.h"
#include "pagetrail/limits.h"
#include "pagetrail/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[64];

static void remove_folder(void)
{
	char path[80];
	snprintf(path, sizeof(path), "%s/c", folder);
	unlink(path);
	rmdir(folder);
}

/* The folder with the list in it; NULL where the document names other files, or may do so: nobody's files are read here. */
static const char *put_commits(struct text document, struct text commits)
{
	char path[80];
	bool named = false;
	for (size_t at = 0; (at = text_find(document, "fixed_commits", at)) != SIZE_MAX; at++) {
		named = true;
		if (!text_starts(text_from(document, at), "fixed_commits\":\"c\""))
			return NULL;
	}
	if (!named || text_find_char(document, '\\', 0) != SIZE_MAX)
		return NULL;
	if (!*folder) {
		snprintf(folder, sizeof(folder), "/tmp/pagetrail-fuzz-XXXXXX");
		if (!mkdtemp(folder))
			exit(1);
		atexit(remove_folder);
	}
	snprintf(path, sizeof(path), "%s/c", folder);
	FILE *f = fopen(path, "wb");
	if (!f)
		exit(1);
	fwrite(commits.ptr, 1, commits.len, f);
	fclose(f);
	return folder;
}

static void on_warning(void *ctx, struct text what)
{
	(*(unsigned *)ctx)++;
	if (!what.len)
		abort();
}

static bool same(struct policy_answer a, struct policy_answer b)
{
	return a.fix == b.fix && a.reasons == b.reasons && a.entries == b.entries;
}

static void ask(const struct policy *p, const struct policy *again, const struct build *b)
{
	struct policy_answer all = policy_judge(p, b);
	bool one = false;
	if (!same(all, policy_judge(again, b)))
		abort();
	for (size_t i = 0; i < policy_entries(p); i++) {
		struct policy_answer a = policy_judge_entry(p, i, b);
		one |= a.fix == all.fix;
		/* an entry that says affected, or cannot say, is never outvoted */
		if ((a.fix == FIX_AFFECTED && all.fix != FIX_AFFECTED) ||
		    (a.fix == FIX_UNKNOWN && all.fix != FIX_AFFECTED && all.fix != FIX_UNKNOWN))
			abort();
		if (!a.reasons && a.fix != FIX_UNMET) /* nothing is said without a reason */
			abort();
	}
	/* who does not know what is run, does not know that it is fixed */
	if (!one || (all.fix == FIX_FIXED && (!b->package.len || (!b->version.len && !b->commit.len))))
		abort();
	if ((policy_affected(all) == TRI_YES) > (all.fix == FIX_AFFECTED))
		abort();
}

static void ask_all(const struct policy *p, const struct policy *again, struct text given, unsigned choice)
{
	static const char *const versions[] = {
	    "",     "0.5.21",     "0.5.22", "0.5.22rc1", "0.5.21+site.patch1", "0.5.22+cu129", "0.0.0.dev1+gdce8b0606",
	    "main", "1!2.0.post1"};
	static const char *const commits[] = {"", "0123456", "gdce8b0606aa"};
	struct build b = {.disaggregated = (enum tri)(choice % 3), .transfer_backend = TEXT("mooncake")};
	for (size_t i = 0; i < ARRAY_SIZE(versions) * ARRAY_SIZE(commits); i++) {
		b.package = i % 5 ? TEXT("sglang") : TEXT("");
		b.version = text_of(versions[i % ARRAY_SIZE(versions)]);
		b.commit = text_of(commits[i / ARRAY_SIZE(versions)]);
		ask(p, again, &b);
	}
	while (text_split(&given, '\0', &b.package) && text_split(&given, '\0', &b.version) &&
	       text_split(&given, '\0', &b.commit) && text_split(&given, '\0', &b.transfer_backend))
		ask(p, again, &b);
}

static void look(const struct policy *p)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(MIB);
	int64_t tokens;
	if (policy_describe(p, &b, NULL) < 0 || !policy_id(p).len || strlen(policy_sha256(p)) != 64)
		abort();
	if (!policy_entries(p) || policy_entries(p) > POLICY_ENTRIES_MAX)
		abort();
	if (policy_cve(p).len && !text_starts(policy_cve(p), "CVE-"))
		abort();
	for (size_t i = 0; i < policy_entries(p); i++)
		if (policy_trigger(p, i, &tokens) == TRIGGER_TOKENS && (tokens < 1 || tokens > TOKENS_MAX))
			abort();
	int64_t age = policy_max_age_ns(p);
	if (age != TIME_UNKNOWN && age < 0)
		abort();
	(void)!policy_knows_fix(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text rest = {(const char *)data, size}, document, commits = {0};
	struct policy *p, *again;
	struct err err = {0};
	unsigned warnings = 0;
	if (!size)
		return 0;
	rest = text_from(rest, 1);
	if (!text_split(&rest, '\0', &document) || (rest.len && !text_split(&rest, '\0', &commits)))
		return 0;
	const char *where = put_commits(document, commits);
	int rc = policy_read(&p, document, where, on_warning, &warnings, &err);
	if (rc > 0 || warnings > POLICY_WARNINGS_MAX + 1 || (rc < 0 && (p || !err.what[0] || rc != ERR_INPUT)))
		abort();
	if (rc < 0)
		return 0;
	if (policy_read(&again, document, where, NULL, NULL, &err) < 0)
		abort();
	look(p);
	ask_all(p, again, rest, data[0]);
	policy_free(p);
	policy_free(again);
	return 0;
}
