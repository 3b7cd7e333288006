/* SPDX-License-Identifier: Apache-2.0 */
/* test_policy.c - policies: OSV's evaluation, what version strings cannot say, and documents that are refused with the place */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "pagetrail/limits.h"
#include "pagetrail/macros.h"
#include "pagetrail/policy.h"
#include "pagetrail/stamp.h"

#define HEAD "{\"id\":\"x_test-1\",\"modified\":\"2026-09-09T14:00:00Z\","

static char warned[8192];
static unsigned n_warned;

static void warn(void *ctx, struct text what)
{
	(void)ctx;
	n_warned++;
	size_t used = strlen(warned);
	snprintf(warned + used, sizeof(warned) - used, "%.*s;", TEXT_ARG(what));
}

static int read_it(struct policy **ret, const char *document, struct err *err)
{
	warned[0] = '\0';
	n_warned = 0;
	return policy_read(ret, text_of(document), NULL, warn, NULL, err);
}

static struct policy *good(const char *document)
{
	struct policy *p = NULL;
	struct err err = {0};
	if (read_it(&p, document, &err))
		fail_msg("%s: %s", document, err.what);
	return p;
}

/* A policy of sglang alone; inside: members of affected[0]. */
static struct policy *of(const char *inside)
{
	char document[4096];
	int n = snprintf(document, sizeof(document),
			 HEAD "\"affected\":[{\"package\":{\"ecosystem\":\"PyPI\",\"name\":\"sglang\"},%s}]}", inside);
	assert_true((size_t)n < sizeof(document));
	return good(document);
}

static struct policy_answer judge(const struct policy *p, const char *version, const char *commit)
{
	struct build b = {TEXT("sglang"), text_of(version), text_of(commit), TRI_YES, TEXT("mooncake")};
	return policy_judge(p, &b);
}

static void expect(const struct policy *p, const char *version, const char *commit, enum fix want,
		   enum policy_reason why)
{
	struct policy_answer a = judge(p, version, commit);
	if (a.fix != want || !policy_because(a, why))
		fail_msg("%s %s: %s, reasons %x, not %s because %s", version, commit, fix_name(a.fix), a.reasons,
			 fix_name(want), policy_reason_code(why));
}

/* ---- OSV ---- */

static void test_ranges(void **state)
{
	(void)state;
	static const struct {
		const char *events, *affected, *fixed; /* blanks between versions */
	} r[] = {
	    {"{\"introduced\":\"0\"},{\"fixed\":\"0.5.22\"}", "0.0.1 0.4 0.5.21 0.5.21.post3 0.5.21+cu124",
	     "0.5.22 0.5.22.0 0.5.22.post1 v0.5.23 0.5.22+cu129 1!0.1"},
	    /* events in any order; introduced again */
	    {"{\"fixed\":\"0.5.22\"},{\"introduced\":\"0.6\"},{\"introduced\":\"0.5.2\"},{\"fixed\":\"0.6.3\"}",
	     "0.5.2 0.5.21 0.6 0.6.2", "0.5.1 0.5.22 0.5.99 0.6.3 0.7"},
	    /* introduced again, and not fixed since */
	    {"{\"introduced\":\"0\"},{\"fixed\":\"0.5.22\"},{\"introduced\":\"0.5.23\"}", "0.5.21 0.5.23 0.9",
	     "0.5.22"},
	    /* fixed and introduced again by one release: the beginning counts */
	    {"{\"introduced\":\"0\"},{\"fixed\":\"0.5.22\"},{\"introduced\":\"0.5.22\"},{\"fixed\":\"0.5.23\"}",
	     "0.5.21 0.5.22 0.5.22.post1", "0.5.23"},
	    /* the last affected one is inclusive, and may be the first as well */
	    {"{\"introduced\":\"0.5.1\"},{\"last_affected\":\"0.5.21\"}", "0.5.1 0.5.21 0.5.21+cu124 0.5.21.0",
	     "0.5.0 0.5.21.post1 0.5.22"},
	    {"{\"introduced\":\"0.5.1\"},{\"last_affected\":\"0.5.1\"}", "0.5.1", "0.5 0.5.2 9"},
	    {"{\"introduced\":\"0\"},{\"last_affected\":\"0.5.1\"},{\"introduced\":\"0.6\"},{\"last_affected\":\"0.6."
	     "1\"}",
	     "0.1 0.5.1 0.6 0.6.1", "0.5.2 0.6.2"},
	    {"{\"introduced\":\"0.5\"}", "0.5 7", "0.4.10"},
	    {"{\"introduced\":\"0\"},{\"limit\":\"*\"},{\"fixed\":\"0.6\"}", "0.1", "0.6"},
	    /* a fork's own fix has its label */
	    {"{\"introduced\":\"0\"},{\"fixed\":\"0.5.21+site.2\"}", "0.5.21", "0.5.22"},
	};
	static const char *const types[] = {"ECOSYSTEM", "SEMVER"};
	for (size_t i = 0; i < ARRAY_SIZE(r); i++)
		for (size_t t = 0; t < 2; t++) {
			char inside[1024];
			snprintf(inside, sizeof(inside), "\"ranges\":[{\"type\":\"%s\",\"events\":[%s]}]", types[t],
				 r[i].events);
			struct policy *p = of(inside);
			for (int fixed = 0; fixed < 2; fixed++)
				for (struct text rest = text_of(fixed ? r[i].fixed : r[i].affected), v;
				     text_split(&rest, ' ', &v);) {
					struct build b = {TEXT("sglang"), v, {0}, TRI_YES, {0}};
					struct policy_answer a = policy_judge(p, &b);
					if (a.fix != (fixed ? FIX_FIXED : FIX_AFFECTED) ||
					    policy_affected(a) != (fixed ? TRI_NO : TRI_YES))
						fail_msg("%s: %.*s is %s", r[i].events, TEXT_ARG(v), fix_name(a.fix));
				}
			policy_free(p);
		}
}

static void test_listed_or_range(void **state)
{
	(void)state;
	struct policy *p =
	    of("\"versions\":[\"0.5.9\",\"v0.6.0\",\"nightly-7\",\"0.7.dev3\"],"
	       "\"ranges\":[{\"type\":\"ECOSYSTEM\",\"events\":[{\"introduced\":\"0\"},{\"fixed\":\"0.5.2\"}]},"
	       "{\"type\":\"ECOSYSTEM\",\"events\":[{\"introduced\":\"0.8\"},{\"fixed\":\"0.8.1\"}]}]");
	expect(p, "0.5.1", "", FIX_AFFECTED, POLICY_IN_RANGE);
	expect(p, "0.8", "", FIX_AFFECTED, POLICY_IN_RANGE);
	expect(p, "0.5.9", "", FIX_AFFECTED, POLICY_LISTED);
	expect(p, "0.5.9+cu124", "", FIX_AFFECTED, POLICY_LISTED);
	expect(p, "0.5.9+cu124", "", FIX_AFFECTED, POLICY_LOCAL_LABEL);
	expect(p, "0.5.9+own", "", FIX_AFFECTED, POLICY_LOCAL_BELOW);
	expect(p, "0.6", "", FIX_AFFECTED, POLICY_LISTED);
	expect(p, "nightly-7", "", FIX_AFFECTED, POLICY_LISTED); /* no version, but this very text */
	expect(p, "nightly-8", "", FIX_UNKNOWN, POLICY_UNREADABLE);
	expect(p, "0.7.dev3", "", FIX_AFFECTED, POLICY_LISTED);
	expect(p, "0.5.10", "", FIX_FIXED, POLICY_OUT_OF_RANGE);
	policy_free(p);
	p = of("\"versions\":[\"0.5.9\"]");
	expect(p, "0.5.9", "", FIX_AFFECTED, POLICY_LISTED);
	expect(p, "0.5.8", "", FIX_UNKNOWN, POLICY_NO_FIX); /* not affected by OSV, but nobody has named a fix */
	policy_free(p);
}

/* What no fix is named for is not fixed; nor is what lies behind a limit, where nobody has looked. */
static void test_no_fix_named(void **state)
{
	(void)state;
	struct policy *p =
	    of("\"ranges\":[{\"type\":\"ECOSYSTEM\",\"events\":[{\"introduced\":\"0\"},{\"limit\":\"0.5.10\"}]}]");
	expect(p, "0.5.9", "", FIX_AFFECTED, POLICY_IN_RANGE);
	expect(p, "0.5.10", "", FIX_UNKNOWN, POLICY_NO_FIX);
	expect(p, "0.5.21", "", FIX_UNKNOWN, POLICY_NO_FIX);
	expect(p, "0.5.21+cu124", "", FIX_UNKNOWN, POLICY_NO_FIX);
	policy_free(p);
	p = of("\"ranges\":[{\"type\":\"ECOSYSTEM\",\"events\":[{\"introduced\":\"0\"},{\"limit\":\"0.6\"},{\"limit\":"
	       "\"0.8\"}]}]");
	expect(p, "0.7", "", FIX_AFFECTED, POLICY_IN_RANGE);
	expect(p, "0.8", "", FIX_UNKNOWN, POLICY_NO_FIX);
	policy_free(p);
	p = of("\"ranges\":[{\"type\":\"ECOSYSTEM\",\"events\":[{\"introduced\":\"0.5\"}]}]");
	expect(p, "0.4", "", FIX_FIXED, POLICY_OUT_OF_RANGE); /* it says where the defect begins */
	expect(p, "0.5", "", FIX_AFFECTED, POLICY_IN_RANGE);
	policy_free(p);
	p = of("\"ranges\":[{\"type\":\"ECOSYSTEM\",\"events\":[{\"introduced\":\"0\"},{\"fixed\":\"0.5.22\"},"
	       "{\"introduced\":\"0.7\"},{\"limit\":\"0.6\"}]}]");
	expect(p, "0.5.22", "", FIX_FIXED, POLICY_OUT_OF_RANGE);
	expect(p, "0.7", "", FIX_UNKNOWN, POLICY_NO_FIX);
	policy_free(p);
}

/* ---- what a version does not say ---- */

#define BEFORE_22 "\"ranges\":[{\"type\":\"ECOSYSTEM\",\"events\":[{\"introduced\":\"0\"},{\"fixed\":\"0.5.22\"}]}]"

static void test_verdicts(void **state)
{
	(void)state;
	struct policy *p =
	    of(BEFORE_22 ",\"database_specific\":{\"pagetrail\":{\"backports\":[\"0.5.20+site.2\","
			 "{\"version\":\"0.5.21+site.patch1\",\"declared_by\":\"platform\",\"declared_at\":"
			 "\"2026-09-10T08:00:00Z\",\"evidence\":\"change 17\"},{\"version\":\"0.5.19.post9\"}]}}");
	expect(p, "0.5.22", "", FIX_FIXED, POLICY_OUT_OF_RANGE);
	expect(p, "0.5.22+cu129", "", FIX_FIXED, POLICY_LOCAL_LABEL);
	expect(p, "0.5.21", "", FIX_AFFECTED, POLICY_IN_RANGE);
	expect(p, "0.5.21.post1", "", FIX_AFFECTED, POLICY_IN_RANGE);
	expect(p, "0.5.21+site.patch2", "", FIX_AFFECTED, POLICY_LOCAL_BELOW);
	expect(p, "0.5.21+site.patch1", "", FIX_FIXED, POLICY_BACKPORT);
	expect(p, "0.5.21+SITE-patch_1", "", FIX_AFFECTED,
	       POLICY_LOCAL_BELOW); /* "patch_1" is two parts, "patch1" one */
	expect(p, "v0.5.21+SITE-patch1", "", FIX_FIXED, POLICY_BACKPORT);
	expect(p, "0.5.20+site.2", "", FIX_FIXED, POLICY_BACKPORT_BARE);
	expect(p, "0.5.20", "", FIX_AFFECTED, POLICY_IN_RANGE);
	expect(p, "0.5.19.post9", "", FIX_FIXED, POLICY_BACKPORT_BARE);
	static const char *const open[] = {"0.5.22.dev12+gabc", "0.5.22rc1", "0.0.0.dev1+gdce8b0606",
					   "0.5.23.dev3+gdef",  "0.0.0",     "0.5.9a1",
					   "0.5.23+own"};
	for (size_t i = 0; i < ARRAY_SIZE(open); i++)
		expect(p, open[i], "", FIX_UNKNOWN, POLICY_NEEDS_COMMIT);
	expect(p, "main", "", FIX_UNKNOWN, POLICY_UNREADABLE);
	expect(p, "latest", "", FIX_UNKNOWN, POLICY_UNREADABLE);
	expect(p, "sha256:abcd", "", FIX_UNKNOWN, POLICY_UNREADABLE);
	expect(p, "", "", FIX_UNKNOWN, POLICY_NO_VERSION);
	expect(p, "0.5.22rc1", "abcdef0123", FIX_UNKNOWN, POLICY_COMMIT_UNLISTED);
	policy_free(p);
}

static void test_packages(void **state)
{
	(void)state;
	struct policy *p =
	    good(HEAD "\"affected\":[{\"package\":{\"ecosystem\":\"PyPI\",\"name\":\"SGL_Kernel\"}," BEFORE_22
		      "},{\"package\":{\"ecosystem\":\"PyPI\",\"name\":\"vllm\"},\"versions\":[\"0.9.0\"]}]}");
	struct build b = {TEXT("sgl-kernel"), TEXT("0.5.21"), {0}, TRI_UNKNOWN, {0}};
	struct policy_answer a = policy_judge(p, &b);
	assert_int_equal(a.fix, FIX_AFFECTED);
	assert_int_equal(a.entries, 1);
	b.package = TEXT("vllm");
	assert_int_equal(policy_judge(p, &b).fix, FIX_UNKNOWN); /* a list alone */
	b.version = TEXT("0.9");
	assert_int_equal(policy_judge(p, &b).fix, FIX_AFFECTED);
	assert_int_equal(policy_judge(p, &b).entries, 2);
	b.package = TEXT("tgi");
	a = policy_judge(p, &b);
	assert_int_equal(a.fix, FIX_UNCONCERNED);
	assert_true(policy_because(a, POLICY_NOT_CONCERNED));
	assert_int_equal(policy_affected(a), TRI_NO);
	b.package = TEXT("");
	a = policy_judge(p, &b);
	assert_int_equal(a.fix, FIX_UNKNOWN);
	assert_true(policy_because(a, POLICY_NO_PACKAGE));
	policy_free(p);
}

static void test_requirements(void **state)
{
	(void)state;
	static const struct {
		const char *version, *backend;
		enum tri mode;
		enum fix fix;
		enum tri affected;
	} v[] = {
	    {"0.5.21", "mooncake", TRI_YES, FIX_AFFECTED, TRI_YES},
	    {"0.5.21", "Mooncake", TRI_YES, FIX_AFFECTED, TRI_YES},
	    {"0.5.21", "nixl", TRI_YES, FIX_UNMET, TRI_NO},
	    {"0.5.21", "mooncake", TRI_NO, FIX_UNMET, TRI_NO},
	    {"0.5.21", "", TRI_NO, FIX_UNMET, TRI_NO},
	    {"0.5.21", "", TRI_YES, FIX_AFFECTED, TRI_UNKNOWN},
	    {"0.5.21", "mooncake", TRI_UNKNOWN, FIX_AFFECTED, TRI_UNKNOWN},
	    {"0.5.22", "", TRI_UNKNOWN, FIX_FIXED, TRI_NO},
	    {"0.5.22rc1", "mooncake", TRI_YES, FIX_UNKNOWN, TRI_UNKNOWN},
	    {"0.5.22rc1", "nixl", TRI_YES, FIX_UNMET, TRI_NO},
	};
	struct policy *p = of(BEFORE_22 ",\"database_specific\":{\"pagetrail\":{\"requires\":{\"disaggregated\":true,"
					"\"transfer_backend\":[\"mooncake\"]}}}");
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct build b = {TEXT("sglang"), text_of(v[i].version), {0}, v[i].mode, text_of(v[i].backend)};
		struct policy_answer a = policy_judge(p, &b);
		if (a.fix != v[i].fix || policy_affected(a) != v[i].affected)
			fail_msg("row %zu: %s, affected %s", i, fix_name(a.fix), tri_name(policy_affected(a)));
	}
	policy_free(p);
}

/* Two defects, each with its own fix: fixed in one is not fixed. */
static void test_entries(void **state)
{
	(void)state;
	struct policy *p = good(
	    HEAD
	    "\"database_specific\":{\"pagetrail\":{\"requires\":{\"disaggregated\":true},\"max_evidence_age\":\"P7D\","
	    "\"trigger\":\"any\"}},\"affected\":["
	    "{\"package\":{\"ecosystem\":\"PyPI\",\"name\":\"sglang\"}," BEFORE_22
	    ",\"database_specific\":{\"pagetrail\":{\"trigger\":{\"prompt_tokens_at_least\":681280}}}},"
	    "{\"package\":{\"ecosystem\":\"PyPI\",\"name\":\"sglang\"},\"ranges\":[{\"type\":\"ECOSYSTEM\",\"events\":["
	    "{\"introduced\":\"0\"},{\"fixed\":\"0.5.24\"}]}],\"database_specific\":{\"pagetrail\":{\"requires\":"
	    "{\"transfer_backend\":[\"nixl\"]},\"max_evidence_age\":\"PT36H\"}}}]}");
	struct build b = {TEXT("sglang"), TEXT("0.5.22"), {0}, TRI_YES, TEXT("nixl")};
	int64_t tokens;
	assert_int_equal(policy_entries(p), 2);
	assert_int_equal(policy_judge(p, &b).fix, FIX_AFFECTED);
	assert_int_equal(policy_judge(p, &b).entries, 2);
	b.transfer_backend = TEXT("mooncake");
	assert_int_equal(policy_judge(p, &b).fix, FIX_UNMET);
	b.transfer_backend = TEXT("");
	assert_int_equal(policy_affected(policy_judge(p, &b)), TRI_UNKNOWN);
	b.version = TEXT("0.5.21"); /* affected by one for sure: what the other needs does not matter */
	assert_int_equal(policy_affected(policy_judge(p, &b)), TRI_YES);
	assert_int_equal(policy_judge(p, &b).entries, 3);
	assert_int_equal(policy_trigger(p, 0, &tokens), TRIGGER_TOKENS);
	assert_int_equal(tokens, 681280);
	assert_int_equal(policy_trigger(p, 1, &tokens), TRIGGER_ANY);
	assert_true(policy_needs_disaggregation(p, 0));
	assert_false(policy_needs_disaggregation(p, 1)); /* its own requires, whole */
	assert_int_equal(policy_max_age_ns(p), (int64_t)36 * 3600 * NS_PER_S);
	policy_free(p);
}

/* ---- commits ---- */

static void put_file(const char *path, const char *content)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(content, f);
	fclose(f);
}

static void test_commits(void **state)
{
	(void)state;
	char dir[] = "/tmp/pagetrail-policy-XXXXXX", policy[64], list[64];
	struct policy *p;
	struct err err = {0};
	assert_non_null(mkdtemp(dir));
	snprintf(policy, sizeof(policy), "%s/p.json", dir);
	snprintf(list, sizeof(list), "%s/commits.txt", dir);
	put_file(policy,
		 HEAD "\"affected\":[{\"package\":{\"ecosystem\":\"PyPI\",\"name\":\"sglang\"},\"ranges\":[{\"type\":"
		      "\"ECOSYSTEM\","
		      "\"events\":[{\"introduced\":\"0\"},{\"fixed\":\"0.5.22\"}]},{\"type\":\"GIT\",\"repo\":\"https:/"
		      "/example/x\","
		      "\"events\":[{\"introduced\":\"0\"},{\"fixed\":\"eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee\"}]}],"
		      "\"database_specific\":{\"pagetrail\":{\"fixed_commits\":\"commits.txt\"}}}]}");
	put_file(list, "# of the fix\n\nABCDEF0123456789abcdef0123456789abcdef01\tcontains_fix\r\n1234567\tlacks_fix\n"
		       "7777777aaaa\tcontains_fix\n7777777bbbb\tlacks_fix\n");
	assert_int_equal(policy_load(&p, policy, NULL, NULL, &err), 0);
	assert_int_equal(strlen(policy_commits_sha256(p)), 64);
	assert_true(policy_knows_fix(p));
	expect(p, "0.5.22.dev12", "abcdef0", FIX_FIXED, POLICY_COMMIT_HAS_FIX);
	expect(p, "0.5.22.dev12", "abcdef0123456789abcdef0123456789abcdef01", FIX_FIXED, POLICY_COMMIT_HAS_FIX);
	expect(p, "0.5.22.dev12", "abcdef0fff", FIX_UNKNOWN, POLICY_COMMIT_UNLISTED);
	expect(p, "0.5.22.dev12+gABCDEF012", "", FIX_FIXED, POLICY_COMMIT_HAS_FIX); /* the version's own */
	expect(p, "0.5.22.dev12", "abcdef", FIX_UNKNOWN, POLICY_NEEDS_COMMIT);      /* too short to say anything */
	expect(p, "main", "1234567abcdef", FIX_AFFECTED, POLICY_COMMIT_LACKS_FIX);
	expect(p, "", "1234567", FIX_AFFECTED, POLICY_COMMIT_LACKS_FIX);
	expect(p, "0.5.22rc1", "7777777", FIX_UNKNOWN, POLICY_COMMIT_UNLISTED); /* two are called so, and differ */
	expect(p, "0.5.22rc1", "7777777a", FIX_FIXED, POLICY_COMMIT_HAS_FIX);
	expect(p, "0.5.22rc1", "eeeeeeeee", FIX_FIXED, POLICY_COMMIT_HAS_FIX); /* the end of a GIT range */
	expect(p, "0.5.21+own", "abcdef0", FIX_FIXED, POLICY_COMMIT_HAS_FIX);
	expect(p, "0.5.22", "1234567", FIX_UNKNOWN, POLICY_COMMIT_CONTRADICTS);
	expect(p, "0.5.21", "abcdef0", FIX_UNKNOWN, POLICY_COMMIT_CONTRADICTS);
	expect(p, "0.5.22", "abcdef0", FIX_FIXED, POLICY_OUT_OF_RANGE);
	policy_free(p);
	static const char *const bad[] = {"abcdef0 contains_fix\n", "abcdef\tcontains_fix\n", "abcdef0\tfixed\n",
					  "xyzxyzx\tlacks_fix\n"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		put_file(list, bad[i]);
		assert_int_equal(policy_load(&p, policy, NULL, NULL, &err), ERR_INPUT);
		assert_non_null(strstr(err.what, "line 1"));
		assert_null(p);
	}
	remove(list);
	assert_int_equal(policy_load(&p, policy, NULL, NULL, &err), ERR_INPUT);
	remove(policy);
	assert_int_equal(policy_load(&p, policy, NULL, NULL, &err), ERR_INPUT);
	rmdir(dir);
}

/* ---- what else it says ---- */

#define WORDS(x) \
	HEAD x ",\"affected\":[{\"package\":{\"ecosystem\":\"PyPI\",\"name\":\"sglang\"},\"versions\":[\"1\"]}]}"

static void test_words(void **state)
{
	(void)state;
	static const struct {
		const char *inside, *summary, *cve;
	} says[] = {
	    {"\"x\":1", "", ""},
	    {"\"summary\":\"Pages of others\",\"aliases\":null", "Pages of others", ""},
	    {"\"summary\":\"\",\"aliases\":[\"GHSA-1\",\"CVE-2026-1\",\"CVE-26-12345\",\"CVE-2026-12a45\",\"CVE-2026-"
	     "123456\","
	     "\"CVE-2026-1234\"]",
	     "", "CVE-2026-123456"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(says); i++) {
		char document[1024];
		snprintf(document, sizeof(document), WORDS("%s"), says[i].inside);
		struct policy *p = good(document);
		assert_true(text_is(policy_summary(p), says[i].summary) && text_is(policy_cve(p), says[i].cve));
		policy_free(p);
	}
	struct policy *p =
	    good("{\"id\":\"CVE-2026-0001\",\"modified\":\"2026-09-09T14:00:00Z\",\"aliases\":[\"CVE-2026-0002\"],"
		 "\"affected\":[{\"package\":{\"ecosystem\":\"PyPI\",\"name\":\"a\"},\"versions\":[\"1\"]}]}");
	assert_true(text_is(policy_cve(p), "CVE-2026-0001"));
	policy_free(p);
}

static void test_knows_fix(void **state)
{
	(void)state;
	static const struct {
		const char *inside;
		bool knows;
	} says[] = {
	    {"\"versions\":[\"1\"]", false},
	    {"\"ranges\":[{\"type\":\"ECOSYSTEM\",\"events\":[{\"introduced\":\"0\"}]}]", false},
	    {"\"ranges\":[{\"type\":\"ECOSYSTEM\",\"events\":[{\"introduced\":\"0\"},{\"limit\":\"2\"}]}]", false},
	    {"\"ranges\":[{\"type\":\"ECOSYSTEM\",\"events\":[{\"introduced\":\"0\"},{\"fixed\":\"2\"}]}]", true},
	    {"\"ranges\":[{\"type\":\"ECOSYSTEM\",\"events\":[{\"introduced\":\"0\"},{\"last_affected\":\"2\"}]}]",
	     true},
	    {"\"versions\":[\"1\"],\"database_specific\":{\"pagetrail\":{\"backports\":[\"1+a\"]}}", true},
	    /* of two entries one is not enough */
	    {"\"versions\":[\"1\"]},{\"package\":{\"ecosystem\":\"PyPI\",\"name\":\"sglang\"},\"ranges\":[{\"type\":"
	     "\"ECOSYSTEM\","
	     "\"events\":[{\"introduced\":\"0\"},{\"fixed\":\"2\"}]}]",
	     false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(says); i++) {
		struct policy *p = of(says[i].inside);
		if (policy_knows_fix(p) != says[i].knows)
			fail_msg("%s", says[i].inside);
		policy_free(p);
	}
}

/* ---- documents that are refused ---- */

#define SGLANG   "\"package\":{\"ecosystem\":\"PyPI\",\"name\":\"sglang\"}"
#define OURS(x)  HEAD "\"affected\":[{" SGLANG ",\"versions\":[\"1\"],\"database_specific\":{\"pagetrail\":" x "}}]}"
#define RANGE(x) HEAD "\"affected\":[{" SGLANG ",\"ranges\":[" x "]}]}"

static void test_refused(void **state)
{
	(void)state;
	static const char *const bad[][2] = {
	    {"{", "no JSON"},
	    {"[]", "the top"},
	    {"{}", " id:"},
	    {"{\"id\":7}", " id:"},
	    {"{\"id\":\"x\"}", " modified:"},
	    {"{\"id\":\"x\",\"modified\":\"yesterday\"}", " modified:"},
	    {"{\"id\":\"x\",\"modified\":\"2026-09-09T14:00:00\"}", " modified:"},
	    {HEAD "\"id\":\"y\"}", " id: one member"},
	    {HEAD "\"summary\":7}", " summary: a text"},
	    {HEAD "\"aliases\":\"CVE-2026-1234\"}", " aliases: a list"},
	    {HEAD "\"withdrawn\":\"2026-09-09T14:00:00Z\"}", " withdrawn:"},
	    {HEAD "\"affected\":{}}", " affected: a list"},
	    {HEAD "\"affected\":[]}", " affected: a list of at least one"},
	    {HEAD "\"affected\":[3]}", " affected[0]: an object"},
	    {HEAD "\"affected\":[{\"package\":\"sglang\"}]}", " affected[0].package:"},
	    {HEAD "\"affected\":[{\"package\":{\"name\":\"sglang\"}}]}", " affected[0].package.ecosystem:"},
	    {HEAD "\"affected\":[{\"package\":{\"ecosystem\":\"PyPI\"}}]}", " affected[0].package.name:"},
	    {HEAD "\"affected\":[{\"package\":{\"ecosystem\":\"PyPI\",\"name\":\"\"}}]}", " affected[0].package.name:"},
	    {HEAD "\"affected\":[{\"package\":{\"ecosystem\":\"npm\",\"name\":\"x\"},\"versions\":[\"1\"]}]}",
	     "ecosystem PyPI"},
	    {HEAD "\"affected\":[{" SGLANG "}]}", " affected[0]: a list of ranges or of versions"},
	    {HEAD "\"affected\":[{" SGLANG ",\"versions\":\"1\"}]}", " affected[0].versions: a list"},
	    {HEAD "\"affected\":[{" SGLANG ",\"versions\":[\"1\",2]}]}", " affected[0].versions[1]:"},
	    {RANGE("7"), " affected[0].ranges[0]:"},
	    {RANGE("{\"events\":[]}"), " affected[0].ranges[0].type:"},
	    {RANGE("{\"type\":\"PEP440\"}"), " affected[0].ranges[0].type:"},
	    {RANGE("{\"type\":\"ECOSYSTEM\"}"), " affected[0].ranges[0].events:"},
	    {RANGE("{\"type\":\"ECOSYSTEM\",\"events\":[{\"fixed\":\"1\"}]}"),
	     " affected[0].ranges[0].events: an event with introduced"},
	    {RANGE("{\"type\":\"ECOSYSTEM\",\"events\":[{\"introduced\":\"0\"},{\"fixed\":\"main\"}]}"),
	     " affected[0].ranges[0].events[1].fixed: a version"},
	    {RANGE("{\"type\":\"ECOSYSTEM\",\"events\":[{\"introduced\":\"0\",\"fixed\":\"1\"}]}"),
	     " affected[0].ranges[0].events[0]:"},
	    {RANGE("{\"type\":\"ECOSYSTEM\",\"events\":[{\"begun\":\"0\"}]}"), " affected[0].ranges[0].events[0]:"},
	    {RANGE("{\"type\":\"ECOSYSTEM\",\"events\":[{\"introduced\":0}]}"),
	     " affected[0].ranges[0].events[0].introduced:"},
	    {RANGE("{\"type\":\"ECOSYSTEM\",\"events\":[{\"introduced\":\"0\"},{\"fixed\":\"1\"},{\"last_affected\":"
		   "\"2\"}]}"),
	     " affected[0].ranges[0].events: either fixed or last_affected"},
	    {RANGE("{\"type\":\"GIT\",\"events\":[{\"introduced\":\"0\"},{\"fixed\":\"abcdef0\"}]}"),
	     " affected[0].ranges[0].events[1].fixed: a whole commit"},
	    {OURS("[]"), " affected[0].database_specific.pagetrail: an object"},
	    {OURS("{\"requires\":[]}"), " affected[0].database_specific.pagetrail.requires:"},
	    {OURS("{\"requires\":{\"disaggregated\":\"yes\"}}"), ".pagetrail.requires.disaggregated: true or false"},
	    {OURS("{\"requires\":{\"transfer_backend\":\"nixl\"}}"), ".pagetrail.requires.transfer_backend: a list"},
	    {OURS("{\"requires\":{\"transfer_backend\":[null]}}"), ".pagetrail.requires.transfer_backend[0]:"},
	    {OURS("{\"trigger\":\"always\"}"), ".pagetrail.trigger:"},
	    {OURS("{\"trigger\":{\"prompt_tokens_at_least\":0}}"), ".pagetrail.trigger:"},
	    {OURS("{\"trigger\":{\"prompt_tokens_at_least\":\"9\"}}"), ".pagetrail.trigger:"},
	    {OURS("{\"backports\":\"0.5.21+x\"}"), ".pagetrail.backports: a list"},
	    {OURS("{\"backports\":[\"1+a\",7]}"), ".pagetrail.backports[1]:"},
	    {OURS("{\"backports\":[\"banana\"]}"), ".pagetrail.backports[0]:"},
	    {OURS("{\"backports\":[\"1+a\",{\"version\":\"main\"}]}"), ".pagetrail.backports[1].version:"},
	    {OURS("{\"backports\":[{}]}"), ".pagetrail.backports[0].version:"},
	    {OURS("{\"backports\":[{\"version\":\"1\",\"declared_at\":\"soon\"}]}"),
	     ".pagetrail.backports[0].declared_at:"},
	    {OURS("{\"backports\":[{\"version\":\"1\",\"declared_by\":7}]}"), ".pagetrail.backports[0].declared_by:"},
	    {OURS("{\"fixed_commits\":7}"), ".pagetrail.fixed_commits:"},
	    {OURS("{\"fixed_commits\":\"x.txt\"}"), ".pagetrail.fixed_commits:"}, /* there is no folder */
	    {OURS("{\"max_evidence_age\":7}"), ".pagetrail.max_evidence_age:"},
	    {OURS("{\"max_evidence_age\":\"7 days\"}"), ".pagetrail.max_evidence_age:"},
	    {OURS("{\"max_evidence_age\":\"P1M\"}"), ".pagetrail.max_evidence_age:"},
	    {OURS("{\"max_evidence_age\":\"P\"}"), ".pagetrail.max_evidence_age:"},
	    {OURS("{\"max_evidence_age\":\"P1DT\"}"), ".pagetrail.max_evidence_age:"},
	    {OURS("{\"max_evidence_age\":\"P99999999999999W\"}"), ".pagetrail.max_evidence_age:"},
	    {OURS("{\"trigger\":\"any\",\"trigger\":\"input_limit\"}"), ".pagetrail.trigger: one member"},
	    {HEAD "\"database_specific\":{\"pagetrail\":{\"trigger\":7}}}", " database_specific.pagetrail.trigger:"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct policy *p;
		struct err err = {0};
		int rc = read_it(&p, bad[i][0], &err);
		if (rc != ERR_INPUT || !strstr(err.what, bad[i][1]) || p)
			fail_msg("%s: %d '%s', not '%s'", bad[i][0], rc, err.what, bad[i][1]);
	}
}

static void test_warnings(void **state)
{
	(void)state;
	static const char *const odd[][2] = {
	    {OURS("{\"triger\":\"any\"}"), "'triger' of affected[0].database_specific.pagetrail "},
	    {OURS("{\"requires\":{\"backend\":[]}}"), "'backend' of affected[0].database_specific.pagetrail.requires "},
	    {OURS("{\"trigger\":{\"prompt_tokens_at_least\":1,\"max\":2}}"), "'max' of "},
	    {OURS("{\"backports\":[{\"version\":\"1\",\"by\":\"x\"}]}"),
	     "'by' of affected[0].database_specific.pagetrail.backports[0] "},
	    {HEAD "\"databse_specific\":{},\"affected\":[{" SGLANG ",\"versions\":[\"1\"]}]}",
	     "'databse_specific' of the policy's top"},
	    {HEAD "\"affected\":[{" SGLANG ",\"versions\":[\"1\"],\"version\":\"2\"}]}", "'version' of affected[0] "},
	    {HEAD "\"affected\":[{" SGLANG
		  ",\"versions\":[\"1\"]},{\"package\":{\"ecosystem\":\"Go\",\"name\":\"x\"}},{\"ranges\":[]}]}",
	     "affected[1] of the policy is of the ecosystem 'Go', not PyPI, and is not read;affected[2] of the policy "
	     "names no package"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		struct policy *p = good(odd[i][0]);
		if (!strstr(warned, odd[i][1]))
			fail_msg("%s: warned '%s', not '%s'", odd[i][0], warned, odd[i][1]);
		assert_int_equal(policy_entries(p), 1);
		policy_free(p);
	}
	policy_free(good(
	    OURS("{\"requires\":{\"disaggregated\":true,\"transfer_backend\":[]},\"trigger\":\"any\",\"backports\":[],"
		 "\"max_evidence_age\":\"P1DT2H3M4S\"}")));
	assert_int_equal(n_warned, 0);
}

/* ---- hostile ones ---- */

static char *big;
static size_t big_n;

static void add(const char *what, size_t times)
{
	size_t n = strlen(what);
	assert_true(big_n + n * times < 8 * MIB);
	for (size_t i = 0; i < times; i++, big_n += n)
		memcpy(big + big_n, what, n);
	big[big_n] = '\0';
}

static void refuse_big(const char *says)
{
	struct policy *p;
	struct err err = {0};
	if (read_it(&p, big, &err) >= 0 || !strstr(err.what, says))
		fail_msg("%.80s… (%zu bytes): '%s'", big, big_n, err.what);
	big_n = 0;
}

static void test_hostile(void **state)
{
	(void)state;
	static const char start[] = HEAD "\"affected\":[{" SGLANG;
	big = malloc(8 * MIB + 1);
	assert_non_null(big);
	add(start, 1), add(",\"versions\":[\"1\"", 1), add(",\"1\"", POLICY_LIST_MAX), add("]}]}", 1);
	refuse_big("affected[0].versions: a list of at most 4096");
	add(start, 1), add(",\"ranges\":[{\"type\":\"ECOSYSTEM\",\"events\":[{\"introduced\":\"0\"}", 1);
	add(",{\"fixed\":\"1\"}", POLICY_LIST_MAX), add("]}]}]}", 1);
	refuse_big("affected[0].ranges[0].events: a list of at most 4096");
	add(HEAD "\"affected\":[{}", 1), add(",{}", POLICY_ENTRIES_MAX), add("]}", 1);
	refuse_big("affected: a list of at most 64");
	add(HEAD "\"affected\":", 1), add("[", 100000), add("]", 100000), add("}", 1);
	refuse_big("the policy is no JSON");
	add("{\"id\":\"", 1), add("x", 1000000), add("\"}", 1);
	refuse_big(" id: a text of 1 to 256 bytes");
	add(start, 1), add(",\"versions\":[\"", 1), add("9", 1000000), add("\"]}]}", 1);
	refuse_big("affected[0].versions[0]: a text");
	add(HEAD "\"affected\":[{\"package\":{\"ecosystem\":\"PyPI\",\"name\":\"", 1), add("\\u0000", 4),
	    add("\"}}]}", 1);
	refuse_big("affected[0].package.name");
	/* what is not looked at may be long; so may be what it is warned of, and there is an end to that */
	add("{\"id\":\"x\",\"modified\":\"2026-09-09T14:00:00Z\",\"details\":\"", 1), add("d", 1000000);
	add("\",\"", 1), add("k", 100000), add("\":7", 1), add(",\"more\":7", 1000);
	add(",\"affected\":[{" SGLANG ",\"versions\":[\"1\"]}]}", 1);
	policy_free(good(big));
	assert_int_equal(n_warned, POLICY_WARNINGS_MAX + 1);
	assert_non_null(strstr(warned, "the policy has more"));
	free(big);
}

/* Any cut and any changed byte of a good one: read or refused, and freed. */
static void test_damaged(void **state)
{
	(void)state;
	static const char whole[] =
	    RANGE("{\"type\":\"ECOSYSTEM\",\"events\":[{\"introduced\":\"0\"},{\"fixed\":\"0.5.22\"},"
		  "{\"introduced\":\"0.6\"},{\"limit\":\"*\"}]}],\"database_specific\":{\"pagetrail\":"
		  "{\"requires\":{\"disaggregated\":true,\"transfer_backend\":[\"a\"]},\"trigger\":"
		  "{\"prompt_tokens_at_least\":5},\"backports\":[\"1\",{\"version\":\"2\"}],\"max_evidence_age\":"
		  "\"P7D\"}},\"versions\":[\"3\"");
	const char *given = getenv("PAGETRAIL_SEED");
	unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : 7;
	unsigned read = 0;
	policy_free(good(whole));
	print_message("# seed %u\n", seed);
	srand(seed);
	for (int i = 0; i < 20000; i++) {
		static const char bytes[] = "{}[],:\"0129azP-\\ \x80";
		char doc[sizeof(whole)];
		struct policy *p;
		memcpy(doc, whole, sizeof(doc));
		for (int k = rand() % 4; k >= 0; k--)
			doc[(size_t)rand() % (sizeof(doc) - 1)] = bytes[(size_t)rand() % (sizeof(bytes) - 1)];
		if (rand() % 8 == 0)
			doc[(size_t)rand() % (sizeof(doc) - 1)] = '\0';
		if (!read_it(&p, doc, NULL)) {
			struct policy_answer a = judge(p, "0.5.21", "abcdef0");
			assert_true(a.reasons != 0);
			read++;
		}
		policy_free(p);
	}
	assert_true(read > 100);
}

/* ---- those that are built in ---- */

static void test_builtin(void **state)
{
	(void)state;
	struct policy *p;
	struct err err = {0};
	size_t n = 0;
	int64_t tokens;
	for (const char *name; (name = policy_builtin_name(n)); n++) {
		assert_int_equal(policy_builtin(&p, name, &err), 0);
		assert_int_equal(strlen(policy_sha256(p)), 64);
		policy_free(p);
	}
	assert_int_equal(n, 2);
	assert_int_equal(policy_builtin(&p, NULL, &err), 0);
	assert_true(text_is(policy_origin(p), "builtin:over_limit_handoff"));
	assert_int_equal(policy_trigger(p, 0, &tokens), TRIGGER_INPUT_LIMIT);
	assert_true(policy_needs_disaggregation(p, 0));
	expect(p, "0.5.21", "", FIX_AFFECTED, POLICY_IN_RANGE);
	expect(p, "0.5.22", "", FIX_FIXED, POLICY_OUT_OF_RANGE);
	policy_free(p);
	assert_int_equal(policy_builtin(&p, "interrupted_transfer", &err), 0);
	expect(p, "0.5.22", "", FIX_AFFECTED, POLICY_IN_RANGE); /* its fix is not known */
	assert_int_equal(policy_entries(p), 2);
	policy_free(p);
	assert_int_equal(policy_builtin(&p, "none", &err), ERR_INPUT);
	assert_null(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_ranges),       cmocka_unit_test(test_listed_or_range),
	    cmocka_unit_test(test_no_fix_named), cmocka_unit_test(test_verdicts),
	    cmocka_unit_test(test_packages),     cmocka_unit_test(test_requirements),
	    cmocka_unit_test(test_entries),      cmocka_unit_test(test_commits),
	    cmocka_unit_test(test_refused),      cmocka_unit_test(test_warnings),
	    cmocka_unit_test(test_hostile),      cmocka_unit_test(test_damaged),
	    cmocka_unit_test(test_builtin),      cmocka_unit_test(test_words),
	    cmocka_unit_test(test_knows_fix),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
