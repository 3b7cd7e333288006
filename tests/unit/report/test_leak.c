/* SPDX-License-Identifier: Apache-2.0 */
/* test_leak.c - what is somebody's is found in every form, what is one's own is not; and what hidden counts leave to be computed */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../../src/report/leak.h"
#include "../../../src/report/numbers.h"

static struct leak *l;

static int setup(void **state)
{
	struct err err = {0};
	(void)state;
	assert_int_equal(leak_open(&l, &err), 0);
	assert_int_equal(leak_add(l, LEAK_TENANT, TEXT("acme"), 1, &err), 0);
	assert_int_equal(leak_add(l, LEAK_TENANT, TEXT("acme-10"), 2, &err), 0);
	assert_int_equal(leak_add(l, LEAK_TENANT, TEXT("a&\"b\\<c>"), 3, &err), 0);
	assert_int_equal(leak_add(l, LEAK_REQUEST, TEXT("chatcmpl-0001"), 1, &err), 0);
	assert_int_equal(leak_add(l, LEAK_REQUEST, TEXT("chatcmpl-00012"), 2, &err), 0);
	assert_int_equal(leak_add(l, LEAK_REQUEST, TEXT("nobody-knows-whose"), 0, &err), 0);
	assert_int_equal(leak_add(l, LEAK_TENANT, TEXT("1234567"), 4, &err), 0); /* a number: left out */
	assert_int_equal(leak_names(l), 6);
	assert_int_equal(leak_left_out(l), 1);
	/* 2026-08-29T10:41:40.250Z, and the same moment of two */
	assert_int_equal(leak_add_time(l, INT64_C(1788000100250000000), 1, &err), 0);
	assert_int_equal(leak_add_time(l, INT64_C(1788000200000000000), 1, &err), 0);
	assert_int_equal(leak_add_time(l, INT64_C(1788000200500000000), 2, &err), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	leak_free(l);
	return 0;
}

static int found(const char *text, uint32_t own)
{
	struct leak_hit hit;
	struct err err = {0};
	int rc = leak_search(l, text_of(text), own, &hit, &err);
	return rc == 1 ? (int)hit.kind : rc ? -2 : -1;
}

static void test_forms(void **state)
{
	(void)state;
	static const char *const forms[] = {
	    "id=chatcmpl-0001;",      "chatcmpl-0001",         "\\u0063hatcmpl\\u002d0001",
	    "&#99;hatcmpl-&#x30;001", "&amp;#99;hatcmpl-0001", "%63hatcmpl%2D0001",
	    "\"chatcmpl-0001\"\"",    "Y2hhdGNtcGwtMDAwMQ==",  "eHhjaGF0Y21wbC0wMDAxeHg",
	    "IXhjaGF0Y21wbC0wMDAx",   "| chatcmpl\\-0001 |",   "<a b=\"chatcmpl&#45;0001\"/>",
	};
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (found(forms[i], 2) != LEAK_REQUEST)
			fail_msg("not found: %s", forms[i]);
		assert_int_equal(found(forms[i], 1), -1); /* its own */
	}
	static const char *const hard[] = {"a&\"b\\<c>",
					   "a&amp;&quot;b\\\\&lt;c&gt;",
					   "\"a&\\\"b\\\\\\u003cc>\"",
					   "\"a&\"\"b\\<c>\"",
					   "YSYiYlw8Yz4",
					   "<x y='a&#38;&#x22;b\\&lt;c&gt;'/>",
					   "<x y=\"a&amp;&quot;b\\&lt;c>\"/>",
					   "| a\\&\\\"b\\\\\\<c\\> |",
					   "{\"t\": \"\\u0061&\\u0022b\\u005c\\u003cc>\"}"};
	for (size_t i = 0; i < ARRAY_SIZE(hard); i++)
		if (found(hard[i], 1) != LEAK_TENANT)
			fail_msg("not found: %s", hard[i]);
	assert_int_equal(found("nobody-knows-whose", 1), LEAK_REQUEST);
}

static void test_own_names(void **state)
{
	(void)state;
	assert_int_equal(found("to acme-10, chatcmpl-00012", 2), -1); /* those of 1 lie inside */
	assert_int_equal(found("to acme-10, of acme", 2), LEAK_TENANT);
	assert_int_equal(found("chatcmpl-00012 chatcmpl-0001", 2), LEAK_REQUEST);
	assert_int_equal(found("acmes, xacme, acme2", 3), -1); /* short ones stand alone */
	assert_int_equal(found("(acme)", 3), LEAK_TENANT);
	assert_int_equal(found("1234567", 3), -1);
	leak_leave_out(l, TEXT("a form that says acme"));
	assert_int_equal(found("(acme)", 3), -1);
	assert_int_equal(leak_left_out(l), 2);
}

static void test_times(void **state)
{
	(void)state;
	assert_int_equal(found("2026-08-29T10:41:40.250Z", 2), LEAK_TIME);
	assert_int_equal(found("2026-08-29 10:41:40.250Z", 2), LEAK_TIME);
	assert_int_equal(found("at 1788000100250, or", 2), LEAK_TIME);
	assert_int_equal(found("1788000100250000000", 2), LEAK_TIME);
	assert_int_equal(found("MjAyNi0wOC0yOVQxMDo0MTo0MC4yNTBa", 2), LEAK_TIME);
	assert_int_equal(found("2026-08-29T10:41:40.250Z", 1), -1);
	assert_int_equal(found("2026-08-29T10:41:40Z", 2), -1); /* nobody's */
	assert_int_equal(found("2026-08-29T10:43:20Z", 2), -1); /* within a second of its own */
	assert_int_equal(found("2026-08-29T10:43:20Z", 3), LEAK_TIME);
	leak_allow_time(l, INT64_C(1788000200000000000));
	assert_int_equal(found("2026-08-29T10:43:20Z", 3), -1);
}

/* Parts and whole: what is hidden; a letter a number: s shown, f few, w withheld. */
static void check_cells(const int64_t parts[4], const char *want)
{
	static const struct number list[] = {{"all", "x", NULL, COUNTED},
					     {"a", "x", "all", PART},
					     {"b", "x", "all", PART},
					     {"c", "x", "all", PART},
					     {"d", "x", "all", PART}};
	const struct number_set set = {.numbers = list, .n_numbers = 5};
	struct cell cells[5] = {{.known = true}};
	char got[6] = "";
	for (int i = 0; i < 4; i++) {
		cells[i + 1] = (struct cell){.value = parts[i], .known = true};
		cells[0].value += parts[i];
	}
	cells_suppress(&set, cells);
	for (int i = 0; i < 5; i++)
		got[i] = "sfw"[cells[i].shown];
	if (strcmp(got, want) != 0)
		fail_msg("%s, not %s", got, want);
}

static void test_cells(void **state)
{
	(void)state;
	check_cells((const int64_t[]){100, 50, 20, 0}, "sssss");
	check_cells((const int64_t[]){100, 50, 20, 3}, "ssswf"); /* the smallest beside it */
	check_cells((const int64_t[]){100, 3, 0, 0}, "swfss");
	check_cells((const int64_t[]){100, 2, 2, 0}, "swffs"); /* 4 in two parts: each would be at most 3 */
	check_cells((const int64_t[]){100, 1, 1, 20}, "ssffw");
	check_cells((const int64_t[]){3, 0, 0, 0}, "ffwww"); /* a small whole has no parts */
	check_cells((const int64_t[]){0, 0, 0, 0}, "sssss");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_forms, setup, teardown),
					   cmocka_unit_test_setup_teardown(test_own_names, setup, teardown),
					   cmocka_unit_test_setup_teardown(test_times, setup, teardown),
					   cmocka_unit_test(test_cells)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
