/* SPDX-License-Identifier: Apache-2.0 */
/* test_version.c - PEP 440: what is a version, and which is the later one
 *
 * PAGETRAIL_SEED repeats a run of the property test. Where PAGETRAIL_VECTORS names a file with lists of versions (JSON: ascending,
 * ascending_engine, equal, invalid), those are checked too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "pagetrail/json.h"
#include "pagetrail/macros.h"
#include "pagetrail/version.h"

static struct version read_one(struct text t)
{
	struct version v;
	if (!version_read(t, &v))
		fail_msg("no version: %.*s", TEXT_ARG(t));
	return v;
}

static int compare(struct text a, struct text b)
{
	struct version x = read_one(a), y = read_one(b);
	return version_cmp(&x, &y);
}

static const char *const ascending[] = {
    "0.0.0.dev1+gdce8b0606",
    "0.4.10",
    "0.5.3.dev0",
    "0.5.3.dev3",
    "0.5.3a0.dev1",
    "0.5.3a0",
    "0.5.3a0.post1.dev1",
    "0.5.3a0.post1",
    "0.5.3a2",
    "0.5.3b1",
    "0.5.3rc1.dev9",
    "0.5.3rc1",
    "0.5.3rc2",
    "0.5.3rc10",
    "0.5.3",
    "0.5.3+a",
    "0.5.3+a.b",
    "0.5.3+a.1",
    "0.5.3+b",
    "0.5.3+9",
    "0.5.3+10",
    "0.5.3+10.0",
    "0.5.3.post1.dev4",
    "0.5.3.post1",
    "0.5.3.post2",
    "0.5.3.1",
    "0.5.20",
    "0.6",
    "2026.9.14",
    "1!0.1",
};

static void test_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ascending); i++)
		for (size_t k = 0; k < ARRAY_SIZE(ascending); k++) {
			int want = i < k ? -1 : i > k, got = compare(text_of(ascending[i]), text_of(ascending[k]));
			if ((got > 0) - (got < 0) != want)
				fail_msg("%s and %s: %d", ascending[i], ascending[k], got);
		}
}

static void test_canonical(void **state)
{
	(void)state;
	static const char *const pairs[][2] = {
	    {" v0.5.22 ", "0.5.22"},
	    {"0.5.22-1", "0.5.22.post1"},
	    {"0.5.22.RC1", "0.5.22rc1"},
	    {"0.5.22c1", "0.5.22rc1"},
	    {"0.5.22-preview_3", "0.5.22rc3"},
	    {"0.5.22-r4", "0.5.22.post4"},
	    {"0.5.22dev", "0.5.22.dev0"},
	    {"00.05.022", "0.5.22"},
	    {"1!2.0.0", "1!2.0.0"},
	    {"1.0+CF-patch_01", "1.0+cf.patch.1"},
	    {"1.0a-", "1.0a0"},
	    {"1.0beta.2.post.3.dev.4", "1.0b2.post3.dev4"},
	    {"1.0alpha1", "1.0a1"},
	    {"1.0rev", "1.0.post0"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		CLEANUP(buf_done) struct buf b = BUF_INIT(1024);
		struct err err = {0};
		struct version v = read_one(text_of(pairs[i][0]));
		assert_int_equal(version_put(&v, &b, &err), 0);
		assert_string_equal(b.ptr, pairs[i][1]);
		assert_int_equal(compare(text_of(pairs[i][0]), buf_text(&b)), 0);
	}
	assert_int_equal(compare(TEXT("0.5.22"), TEXT("0.5.22.0.0")), 0);
	assert_int_equal(compare(TEXT("1.0+CF-patch_1"), TEXT("1.0+cf.patch.01")), 0);
}

static void test_none(void **state)
{
	(void)state;
	static const char *const none[] = {"",
					   "main",
					   "latest",
					   "sha256:abcd",
					   "0.5.x",
					   "0.5.22+",
					   "0.5.22+a..b",
					   "0.5.22+a-",
					   "0.5.22+ü",
					   "0.5.22-beta-x",
					   "v",
					   "vv1",
					   "1..2",
					   "1.0 2",
					   "!1",
					   "1!",
					   "1.0+a b",
					   "-1",
					   "1.0rc1rc2",
					   "1.0.dev1.post1",
					   "1234567890123456789",
					   "0.5.22\n1",
					   "+g1234567"};
	struct version v;
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		if (version_read(text_of(none[i]), &v))
			fail_msg("read as a version: %s", none[i]);
	/* at the limits, and one beyond */
	char parts[3 * VERSION_PARTS_MAX + 8] = "1";
	for (int i = 1; i < VERSION_PARTS_MAX; i++)
		strcat(parts, ".1");
	assert_true(version_read(text_of(parts), &v));
	strcat(parts, ".1");
	assert_false(version_read(text_of(parts), &v));
	assert_true(version_read(TEXT("123456789012345678"), &v));
	assert_true(version_read(TEXT("1.000000000000000000000000000000000007"), &v)); /* zeros are no digits of it */
	assert_int_equal(v.release[1], 7);
}

static void test_final(void **state)
{
	(void)state;
	static const char *const yes[] = {"0.5.22", "0.5.22.post1", "0.5.22+cu129"}, *const no[] = {"0.5.22rc1",
												    "0.5.22.dev3",
												    "1.0a1.post2"};
	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		struct version a = read_one(text_of(yes[i])), b = read_one(text_of(no[i]));
		assert_true(version_is_final(&a));
		assert_false(version_is_final(&b));
	}
}

/* A version of a few parts, each of few values, so that many are equal or nearly so. */
static struct text random_version(char *to, size_t size)
{
	static const char *const pres[] = {"", "", "", "a", "b", "rc"}, *const locals[] = {"",   "",     "+a",
											   "+1", "+a.1", "+1.a"};
	size_t n = 0;
	if (rand() % 8 == 0)
		n += (size_t)snprintf(to + n, size - n, "1!");
	n += (size_t)snprintf(to + n, size - n, "%d", rand() % 3);
	for (int k = rand() % 3; k > 0; k--)
		n += (size_t)snprintf(to + n, size - n, ".%d", rand() % 3);
	const char *pre = pres[rand() % 6];
	if (pre[0])
		n += (size_t)snprintf(to + n, size - n, "%s%d", pre, rand() % 3);
	if (rand() % 4 == 0)
		n += (size_t)snprintf(to + n, size - n, ".post%d", rand() % 3);
	if (rand() % 4 == 0)
		n += (size_t)snprintf(to + n, size - n, ".dev%d", rand() % 3);
	n += (size_t)snprintf(to + n, size - n, "%s", locals[rand() % 6]);
	return (struct text){to, n};
}

static int sign(int v)
{
	return (v > 0) - (v < 0);
}

static void test_total(void **state)
{
	(void)state;
	const char *given = getenv("PAGETRAIL_SEED");
	unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL);
	print_message("# seed %u\n", seed);
	srand(seed);
	for (int i = 0; i < 20000; i++) {
		char x[80], y[80], z[80];
		struct version a = read_one(random_version(x, sizeof(x))), b = read_one(random_version(y, sizeof(y))),
			       c = read_one(random_version(z, sizeof(z)));
		int ab = sign(version_cmp(&a, &b)), bc = sign(version_cmp(&b, &c)), ac = sign(version_cmp(&a, &c));
		if (ab != -sign(version_cmp(&b, &a)) || version_cmp(&a, &a) ||
		    (ab <= 0 && bc <= 0 && ac > MAX(ab, bc)) || (ab == 0 && ac != bc))
			fail_msg("no order: %s %s %s (PAGETRAIL_SEED=%u)", x, y, z, seed);
	}
}

/* --- lists of others --- */

static void vectors_ascending(struct json_value list, struct text *before)
{
	struct json_iter it = json_iter(list);
	struct json_value v;
	struct text key, t;
	*before = (struct text){0};
	while (json_next(&it, &key, &v)) {
		assert_true(json_string(v, &t));
		if (before->len && compare(*before, t) >= 0)
			fail_msg("%.*s is before %.*s", TEXT_ARG(*before), TEXT_ARG(t));
		*before = t;
	}
	assert_true(before->len > 0);
}

static void test_vectors(void **state)
{
	(void)state;
	const char *path = getenv("PAGETRAIL_VECTORS");
	FILE *f = path ? fopen(path, "rb") : NULL;
	if (!f) {
		print_message("# skipped: PAGETRAIL_VECTORS names no file\n");
		return;
	}
	static char bytes[1 << 20];
	struct text doc = {bytes, fread(bytes, 1, sizeof(bytes), f)}, t, key, other;
	fclose(f);
	struct json *j = json_new();
	struct json_value all, v;
	struct err err = {0};
	assert_non_null(j);
	assert_int_equal(json_parse(j, doc, false, &all, NULL, &err), 0);
	vectors_ascending(json_get(all, "ascending"), &t);
	vectors_ascending(json_get(all, "ascending_engine"), &t);
	for (struct json_iter it = json_iter(json_get(all, "equal")); json_next(&it, &key, &v);) {
		assert_true(json_string(json_path(v, "0"), &t) && json_string(json_path(v, "1"), &other));
		assert_int_equal(compare(t, other), 0);
	}
	for (struct json_iter it = json_iter(json_get(all, "invalid")); json_next(&it, &key, &v);) {
		struct version none;
		assert_true(json_string(v, &t));
		if (version_read(t, &none))
			fail_msg("read as a version: %.*s", TEXT_ARG(t));
	}
	json_free(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_order), cmocka_unit_test(test_canonical), cmocka_unit_test(test_none),
	    cmocka_unit_test(test_final), cmocka_unit_test(test_total),     cmocka_unit_test(test_vectors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
