/* SPDX-License-Identifier: Apache-2.0 */
/* test_pattern.c - groups, bad patterns, limits */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pagetrail/pattern.h"

static void test_groups(void **state)
{
	struct pattern *p;
	struct match *m;

	(void)state;
	assert_int_equal(match_new(&m, NULL), 0);
	assert_null(match_whole(m).ptr);
	assert_null(match_group(m, "a").ptr);
	assert_int_equal(pattern_compile(&p, "(?<a>\\d+) \\x20 (?<b>x)? (?<c>.*)  # blanks do not count", true, NULL),
			 0);
	assert_true(pattern_search(p, m, TEXT("id 12 rest\xff"), 0));
	assert_true(text_is(match_whole(m), "12 rest\xff"));
	assert_true(text_is(match_group(m, "a"), "12"));
	assert_null(match_group(m, "b").ptr);
	assert_true(text_is(match_group(m, "c"), "rest\xff"));
	assert_null(match_group(m, "none").ptr);
	assert_false(pattern_search(p, m, TEXT("id 12 rest"), 6));
	assert_null(match_group(m, "a").ptr);
	assert_false(pattern_search(p, m, TEXT("id"), 3));
	assert_false(pattern_search(p, m, (struct text){NULL, 0}, 0));
	assert_true(pattern_search(p, m, TEXT("1 "), 0));
	match_clear(m);
	assert_null(match_whole(m).ptr);
	pattern_free(p);
	/* a group at the end that took no part */
	assert_int_equal(pattern_compile(&p, "a(?<x>b)?", false, NULL), 0);
	assert_true(pattern_search(p, m, TEXT("a"), 0));
	assert_null(match_group(m, "x").ptr);
	pattern_free(p);
	assert_int_equal(pattern_compile(&p, "", false, NULL), 0);
	assert_true(pattern_search(p, m, (struct text){NULL, 0}, 0));
	assert_int_equal(match_whole(m).len, 0);
	pattern_free(p);
	match_free(m);
	match_free(NULL);
	pattern_free(NULL);
}

/* The place where an expression stops to match. */
static void test_whole(void **state)
{
	static const struct {
		const char *regex, *text;
		size_t reach;
	} cases[] = {
	    {"id=(?<id>\\d+) end", "id=12 end", 9},
	    {"id=(?<id>\\d+) end", "id=12 End", 6},
	    {"id=(?<id>\\d+) end", "x", 0},
	    {"id=(?<id>\\d+)", "id=12x", 5},
	    {"a|bc", "bd", 1},
	    {"a.*z", "abc", 3},
	    {"a", "", 0},
	};
	struct pattern *p;
	struct match *m;
	struct err err = {0};
	size_t reach;

	(void)state;
	assert_int_equal(match_new(&m, NULL), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(pattern_compile_whole(&p, cases[i].regex, &err), 0);
		assert_int_equal(pattern_reach(p, m, text_of(cases[i].text), &reach, &err), 0);
		if (reach != cases[i].reach)
			fail_msg("%s on %s: %zu, not %zu", cases[i].regex, cases[i].text, reach, cases[i].reach);
		pattern_free(p);
	}
	assert_int_equal(pattern_compile_whole(&p, "(?<a>x)|y", &err), 0);
	assert_true(pattern_search(p, m, TEXT("y"), 0));
	assert_false(pattern_search(p, m, TEXT("yx"), 0));
	assert_false(pattern_search(p, m, TEXT("xy"), 0));
	assert_false(pattern_search(p, m, TEXT(" x"), 0));
	assert_true(pattern_has(p, "a"));
	assert_false(pattern_has(p, "b"));
	pattern_free(p);
	assert_int_equal(pattern_compile_whole(&p, "ab(", &err), ERR_USAGE);
	assert_non_null(strstr(err.what, "offset 3"));
	assert_null(p);
	assert_int_equal(pattern_compile_whole(&p, "(?<a>(?:x+)+)[yz]", &err), 0);
	char many[4000];
	memset(many, 'x', sizeof(many));
	assert_int_equal(pattern_try(p, m, (struct text){many, sizeof(many)}, 0, &err), ERR_LIMIT);
	pattern_free(p);
	match_free(m);
}

/* (?J) lets a name stand twice; with (?| it is one group. */
static void test_twice(void **state)
{
	static const char *const regex[] = {"(?J)(?:(?<b>x)|(?<a>y)|(?<b>z))", "(?|(?<a>x)|(?<a>y))", "(?<a>x)(?<ab>y)",
					    "x"};
	static const char *const want[] = {"b", NULL, NULL, NULL};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct pattern *p;
		const char *name;

		assert_int_equal(pattern_compile(&p, regex[i], false, NULL), 0);
		name = pattern_twice(p);
		assert_int_equal(name != NULL, want[i] != NULL);
		if (name)
			assert_string_equal(name, want[i]);
		pattern_free(p);
	}
}

static void test_bad(void **state)
{
	struct pattern *p;
	struct err err;
	char many[64 * 3 + 1] = "";

	(void)state;
	assert_int_equal(pattern_compile(&p, "a(b", false, &err), ERR_USAGE);
	assert_null(p);
	assert_non_null(strstr(err.what, "offset 3"));
	assert_int_equal(pattern_compile_lines(&p, "(", &err), ERR_USAGE);
	assert_non_null(strstr(err.what, "offset 1:"));
	assert_int_equal(pattern_compile_lines(&p, "ab\\C", &err), ERR_USAGE); /* shown, a backslash would be two */
	assert_non_null(strstr(err.what, "offset 4: using backslash C is"));
	assert_int_equal(pattern_compile_lines(&p, "a\\", &err), ERR_USAGE);
	assert_non_null(strstr(err.what, "offset 2: backslash at end"));
	assert_int_equal(pattern_compile_lines(&p, "(*CRLF)a", &err), ERR_USAGE);
	assert_int_equal(pattern_compile_whole(&p, "(*CRLF)a", &err), ERR_USAGE);
	assert_non_null(strstr(err.what, "offset 6:"));
	assert_int_equal(pattern_compile(&p, "(*UTF)a", false, &err), ERR_USAGE);
	for (int i = 0; i < 63; i++)
		strcat(many, "()");
	assert_int_equal(pattern_compile(&p, many, false, &err), 0);
	pattern_free(p);
	strcat(many, "()");
	assert_int_equal(pattern_compile(&p, many, false, &err), ERR_USAGE);
}

/* A line made to backtrack for years is a miss, and soon. */
static void test_limits(void **state)
{
	static const char *const evil[] = {"^(a+)+$", "^(a|aa)+$", "^(?:(?:a*)*)*b", "(?:a|(?1))*(x(?1)?y)"};
	static char line[40001];
	struct pattern *p;
	struct match *m;

	(void)state;
	memset(line, 'a', sizeof(line) - 1);
	line[sizeof(line) - 2] = '!';
	assert_int_equal(match_new(&m, NULL), 0);
	for (size_t i = 0; i < sizeof(evil) / sizeof(evil[0]); i++) {
		assert_int_equal(pattern_compile(&p, evil[i], false, NULL), 0);
		assert_false(pattern_search(p, m, text_of(line), 0));
		pattern_free(p);
	}
	/* long and harmless still matches */
	assert_int_equal(pattern_compile(&p, "^a+!$", false, NULL), 0);
	assert_true(pattern_search(p, m, text_of(line), 0));
	pattern_free(p);
	match_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_groups), cmocka_unit_test(test_whole),
					   cmocka_unit_test(test_twice), cmocka_unit_test(test_bad),
					   cmocka_unit_test(test_limits)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
