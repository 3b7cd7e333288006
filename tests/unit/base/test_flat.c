/* SPDX-License-Identifier: Apache-2.0 */
/* test_flat.c - plain objects in one pass: what is read, what is odd, what is learned
 *
 * That it means the same as json_parse() is tested with the formats (all/test_fast_lane.c).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pagetrail/buf.h"
#include "pagetrail/flat.h"

enum key { K_A, K_LONG, K_N };

static const char *const keys[] = {"a", "a_key_that_is_longer_than_any_lead_can_be", "n"};
static struct flat flat;

/* In memory that ends where the promise ends, with a lookalike behind it. */
static char *padded(const char *s)
{
	size_t n = strlen(s);
	char *copy = malloc(n + BUF_PADDING);

	assert_non_null(copy);
	memcpy(copy, s, n);
	for (size_t i = 0; i < BUF_PADDING; i++)
		copy[n + i] = "1\"}"[i % 3];
	return copy;
}

/* Reads a whole object: 'a' and the long key are ids, 'n' a number; the rest is read over. */
static bool reads(const char *s, char *out)
{
	char *copy = padded(s);
	struct text t;
	int64_t n;
	bool ok = flat_begin(&flat, (struct text){copy, strlen(s)});

	for (out[0] = '\0'; ok;) {
		int key = flat_next(&flat, keys, ARRAY_SIZE(keys));

		if (key == FLAT_END)
			break;
		if (key == FLAT_ODD)
			ok = false;
		else if (key == K_N)
			ok = flat_uint(&flat, &n) && sprintf(out + strlen(out), "n=%lld ", (long long)n);
		else if (key == FLAT_OTHER)
			ok = flat_skip(&flat);
		else
			ok = flat_id(&flat, &t) && sprintf(out + strlen(out), "%c=%.*s ", 'a' + key, TEXT_ARG(t));
	}
	free(copy);
	return ok;
}

static void test_plain(void **state)
{
	static const char *const lines[][2] = {
	    {"{\"a\":\"x\",\"n\":12}", "a=x n=12 "},
	    {"{\"n\":0,\"a\":\"\"}", "n=0 a= "},
	    {"{ \"a\" : \"x\" ,\t\"n\": 9223372036854775807 }  ", "a=x n=9223372036854775807 "},
	    {"{\"a\":18446744073709551615,\"n\":1}", NULL},
	    {"{\"a\":9999999999999999999}", "a=9999999999999999999 "},
	    {"{\"a\":99999999999999999999}", NULL},
	    {"{\"a\":\"a string of more than sixteen bytes\"}", "a=a string of more than sixteen bytes "},
	    {"{\"a_key_that_is_longer_than_any_lead_can_be\":1,\"n\":1}", "b=1 n=1 "},
	    {"{\"x\":1.50,\"y\":null,\"z\":true,\"q\":false,\"s\":\"[{\",\"n\":3}", "n=3 "},
	    {"{\"n\":01}", NULL},
	    {"{\"n\":-1}", NULL},
	    {"{\"n\":1e3}", NULL},
	    {"{\"n\":1.}", NULL},
	    {"{\"n\":9223372036854775808}", NULL},
	    {"{\"n\":}", NULL},
	    {"{\"a\":\"\\u0041\"}", NULL},
	    {"{\"a\":\"\xc3\xa9\"}", NULL},
	    {"{\"a\":\"\x01\"}", NULL},
	    {"{\"a\\n\":1}", NULL},
	    {"{\"x\":{}}", NULL},
	    {"{\"x\":[1]}", NULL},
	    {"{\"x\":nul}", NULL},
	    {"{\"n\":1", NULL},
	    {"{\"n\":1,", NULL},
	    {"{\"n\":1,}", NULL},
	    {"{\"n\":1}}", NULL},
	    {"{\"n\":1} x", NULL},
	    {"{\"n\"", NULL},
	    {"{\"a\":\"x", NULL},
	    {"{}", NULL},
	    {"{", NULL},
	    {"", NULL},
	    {"[1]", NULL},
	    {" {\"n\":1}", NULL},
	};
	char out[256];

	(void)state;
	for (int round = 0; round < 3; round++) { /* unknown, learned, and learned among others */
		for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
			bool ok = reads(lines[i][0], out);

			flat_worked(&flat, true);
			if (ok != !!lines[i][1] || (ok && strcmp(out, lines[i][1]) != 0))
				fail_msg("%s gave %s%s", lines[i][0], ok ? "" : "(odd) ", out);
		}
	}
}

/* More shapes than can be remembered: all are read. */
static void test_many(void **state)
{
	char line[256], want[256], out[256];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		snprintf(line, sizeof(line), "{\"k%d\":%d,\"a\":\"%d\",\"j%d\":\"x\",\"n\":%d}", i % 300, i, i, i % 7,
			 i);
		snprintf(want, sizeof(want), "a=%d n=%d ", i, i);
		assert_true(reads(line, out));
		assert_string_equal(out, want);
	}
	assert_true(flat.n_leads <= FLAT_LEADS);
}

/* Records that never work are hardly tried any more, and one that works ends that. */
static void test_odd(void **state)
{
	struct text t = TEXT("{\"n\":1}");
	int tried = 0;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		if (flat_begin(&flat, t)) {
			flat_worked(&flat, false);
			tried++;
		}
	}
	assert_true(tried > 100 && tried < 500);
	flat_worked(&flat, true);
	assert_true(flat_begin(&flat, t));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_plain),
	    cmocka_unit_test(test_many),
	    cmocka_unit_test(test_odd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
