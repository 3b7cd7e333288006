/* SPDX-License-Identifier: Apache-2.0 */
/* test_query.c - headers of queries */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "pagetrail/analysis.h"

#define HEAD     "-- SPDX-License-Identifier: Apache-2.0\n-- sample: requests and their lengths\n"
#define REST     "-- order: id, at\n-- empty: no request\n"
#define COLUMNS  "-- column: id text request  name of it\n-- column:  at  time  ns UTC      when it began\n"
#define QUESTION "-- question: how long were they?\n"

static void test_parse(void **state)
{
	(void)state;
	const struct query_text q = {"sample", HEAD QUESTION
				     "-- param: :least integer tokens  at least so long\n" COLUMNS
				     "-- column: flag bool -\n" REST "-- scan: allowed\n\nSELECT 1;\n-- no: header\n"};
	struct query_info info;
	struct err err = {0};
	assert_int_equal(query_info_parse(&q, &info, &err), 0);
	assert_true(text_is(info.name, "sample"));
	assert_true(text_is(info.title, "requests and their lengths"));
	assert_true(text_is(info.question, "how long were they?"));
	assert_int_equal(info.n_params, 1);
	assert_true(text_is(info.params[0].name, ":least"));
	assert_true(text_is(info.params[0].unit, "tokens"));
	assert_false(info.params[0].required);
	assert_true(text_is(info.params[0].help, "at least so long"));
	assert_int_equal(info.n_columns, 3);
	assert_true(text_is(info.columns[0].unit, "request"));
	assert_true(text_is(info.columns[0].help, "name of it"));
	assert_true(text_is(info.columns[1].type, "time"));
	assert_true(text_is(info.columns[1].unit, "ns UTC"));
	assert_true(text_is(info.columns[1].help, "when it began"));
	assert_int_equal(info.columns[2].unit.len, 0);
	assert_true(info.scan_allowed);
	query_info_done(&info);
}

static void test_faults(void **state)
{
	(void)state;
	static const struct {
		const char *sql, *where, *what;
	} cases[] = {
	    {HEAD QUESTION COLUMNS REST "-- colour: red\n", "line 8", "unknown key"},
	    {"-- SPDX-License-Identifier: x\n-- other: title\n" QUESTION COLUMNS REST, "line 2", "own name"},
	    {HEAD QUESTION QUESTION COLUMNS REST, "line 4", "given before"},
	    {HEAD QUESTION "-- column: id varchar x\n" REST, "line 4", "type is one of"},
	    {HEAD QUESTION "-- column: id\n" REST, "line 4", "type is one of"},
	    {HEAD QUESTION "-- column: 1d text -\n" REST, "line 4", "a column is"},
	    {HEAD QUESTION "-- param: least integer -\n" COLUMNS REST, "line 4", "a parameter is"},
	    {HEAD QUESTION COLUMNS COLUMNS REST, "line 6", "taken"},
	    {HEAD QUESTION COLUMNS "-- order: id, when\n-- empty: x\n", "line 7", "not declared"},
	    {HEAD QUESTION COLUMNS "-- order: id\n", "line 6", "not complete"},
	    {HEAD QUESTION COLUMNS REST "-- scan: maybe\n", "line 8", "scan is"},
	    {HEAD "-- just a remark\n" QUESTION COLUMNS REST, "line 3", "key: text"},
	    {HEAD "-- question:\n" COLUMNS REST, "line 3", "needs a text"},
	    {"", "line 0", "not complete"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct query_text q = {"sample", cases[i].sql};
		struct query_info info;
		struct err err = {0};
		assert_int_equal(query_info_parse(&q, &info, &err), ERR_BUG);
		if (!strstr(err.where, cases[i].where) || !strstr(err.what, cases[i].what))
			fail_msg("case %zu: %s (%s)", i, err.what, err.where);
		query_info_done(&info);
	}
}

static void test_find(void **state)
{
	(void)state;
	const struct query_text list[] = {{"one", ""}, {"two", ""}};
	assert_ptr_equal(query_find(list, 2, TEXT("two")), &list[1]);
	assert_null(query_find(list, 2, TEXT("three")));
	assert_null(query_find(list, 0, TEXT("one")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_parse), cmocka_unit_test(test_faults),
					   cmocka_unit_test(test_find)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
