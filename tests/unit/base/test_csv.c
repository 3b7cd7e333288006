/* SPDX-License-Identifier: Apache-2.0 */
/* test_csv.c - records and cells of comma-separated values; whatever the bytes, the reader ends and stays within them */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pagetrail/csv.h"
#include "pagetrail/limits.h"

/* "cell|cell;" a record, with the line that it begins in; or the error. */
static const char *read_all(struct text content)
{
	static char out[4096];
	static struct csv c;
	struct arena a;
	struct err err = {0};
	size_t at = 0;
	int rc;
	arena_init(&a, ARENA_MAX_BYTES);
	csv_open(&c, content);
	out[0] = 0;
	while ((rc = csv_next(&c, &a, &err)) == 1) {
		at += (size_t)snprintf(out + at, sizeof(out) - at, "%u:", c.line);
		for (unsigned i = 0; i < c.n && at < sizeof(out) - 200; i++)
			at += (size_t)snprintf(out + at, sizeof(out) - at, "%s%.*s", i ? "|" : "",
					       TEXT_ARG(text_sub(c.cells[i], 0, 80)));
		at += (size_t)snprintf(out + at, sizeof(out) - at, ";");
		assert_true(at < sizeof(out) - 200);
	}
	if (rc < 0)
		snprintf(out + at, sizeof(out) - at, "! %s", err.what);
	arena_done(&a);
	return out;
}

static void test_forms(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
	    {"", ""},
	    {"a,b\nc,d\n", "1:a|b;2:c|d;"},
	    {"a,b\r\nc,d", "1:a|b;2:c|d;"},
	    {"\xef\xbb\xbf"
	     "a\n",
	     "1:a;"},
	    {" a ,\tb\n", "1:a|b;"},
	    {"a,,b,\n", "1:a||b|;"},
	    {"\n\n,,\n# no\nx\n", "5:x;"},
	    {"\"a,b\",\"c \"\"d\"\"\"\n", "1:a,b|c \"d\";"},
	    {"\"a\nb\",c\nd\n", "1:a\nb|c;3:d;"},
	    {"\"a\" , b\n", "1:a|b;"},
	    {"\"\",x\n", "1:|x;"},
	    {"a\"b,c\n", "1:a\"b|c;"},
	    {"\"\"\"\"", "1:\";"},
	    {"a\n\"b", "1:a;! line 2, column 1: the quote does not end: \"b"},
	    {"a\n\"b\nc\",\"", "1:a;! line 2, column 2: the quote does not end: \""},
	    {"x,\"a\"b", "! line 1, column 2: expected ',' after the quoted cell, not 'b'"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(read_all(text_of(cases[i][0])), cases[i][1]);
	char many[2 * CSV_CELLS_MAX + 8];
	memset(many, ',', sizeof(many));
	many[CSV_CELLS_MAX - 1] = 'x'; /* the last cell that there is room for */
	many[CSV_CELLS_MAX] = 0;
	assert_non_null(strstr(read_all(text_of(many)), "|x;"));
	many[CSV_CELLS_MAX] = ',';
	assert_non_null(strstr(read_all((struct text){many, CSV_CELLS_MAX + 1}), "too many columns"));
	assert_non_null(strstr(read_all(TEXT("\"a\"\x1b[31m")), "not '\\u{1B}'"));
}

/* Content that ends where its memory ends, of the bytes that mean something. */
static void test_hostile(void **state)
{
	(void)state;
	static const char alphabet[] = "\"\",,\n\r #a\xff";
	unsigned seed = 1;
	for (int i = 0; i < 20000; i++) {
		size_t n = (size_t)(i % 40);
		char *p = malloc(n + 1), *exact;
		for (size_t k = 0; k < n; k++) {
			seed = seed * 1103515245 + 12345;
			p[k] = alphabet[(seed >> 16) % (sizeof(alphabet) - 1)];
		}
		exact = n ? malloc(n) : NULL;
		if (n)
			memcpy(exact, p, n);
		(void)read_all((struct text){exact, n});
		free(exact);
		free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms), cmocka_unit_test(test_hostile)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
