/* SPDX-License-Identifier: Apache-2.0 */
/* test_secret.c - what looks like a key, and what only resembles one */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pagetrail/macros.h"
#include "pagetrail/secret.h"

static void test_secrets(void **state)
{
	static const char *const keys[] = {"sk-abc",
					   "sk-",
					   "Bearer x",
					   "Basic eA==",
					   "eyJhbGciOiJub25lIn0",
					   "AKIANONENONENONENONE",
					   "nvapi-nonenonenone",
					   "hf_nonenonenonenone",
					   "ghp_nonenonenone",
					   "glpat-nonenonenone"};
	static const char *const names[] = {"",       "tenant-a",  "task-sk-1", "skylab", "bearer-plant",
					    "8f3a",   "Basics",    "pk_energy", "hf_lab", "eyJafjord",
					    "xoxo-1", "rk_number1"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		assert_true(secret_like(text_of(keys[i])));
		assert_int_equal(secret_not(text_of(keys[i])).len, 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_false(secret_like(text_of(names[i])));
		assert_true(text_is(secret_not(text_of(names[i])), names[i]));
	}
}

static void test_cut(void **state)
{
	static const char *const cases[][2] = {
	    {"Incorrect API key provided: sk-none. Find it", "Incorrect API key provided: "},
	    {"header was 'Bearer none'", "header was '"},
	    {"sk-none", ""},
	    {"task-sk-1 and risk_2 are names", "task-sk-1 and risk_2 are names"},
	    {"too long", "too long"},
	    {"", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_true(text_is(secret_cut(text_of(cases[i][0])), cases[i][1]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_secrets), cmocka_unit_test(test_cut)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
