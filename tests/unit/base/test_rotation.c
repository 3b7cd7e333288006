/* SPDX-License-Identifier: Apache-2.0 */
/* test_rotation.c - the files of one log, by their names */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pagetrail/macros.h"
#include "pagetrail/rotation.h"

static void expect_name(const char *path, const char *stem, const char *tail, int64_t index)
{
	struct rotation r = rotation_of(text_of(path));
	assert_true(text_is(r.stem, stem));
	assert_true(text_is(r.tail, tail));
	assert_int_equal(r.index, index);
}

static void numbers(void **state)
{
	(void)state;
	expect_name("logs/x.log", "logs/x.log", "", 0);
	expect_name("logs/x.log.1", "logs/x.log", "", 1);
	expect_name("logs/x.log.12.gz", "logs/x.log", "", 12);
	expect_name("c/0f3a-json.log.2", "c/0f3a-json.log", "", 2);
	expect_name("a.1/x.log", "a.1/x.log", "", 0);
	assert_true(rotation_of(TEXT("x.log.1")).numbered);
	assert_false(rotation_of(TEXT("x.log")).numbered);
}

static void dates(void **state)
{
	const int64_t day = 20788; /* 2026-12-01 */
	(void)state;
	expect_name("pod/0.log.20261201-101500", "pod/0.log", "-101500", day);
	expect_name("pod/0.log.20261201-101500.gz", "pod/0.log", "-101500", day);
	expect_name("x.log-20261201", "x.log", "", day);
	expect_name("x-2026-12-01.log", "x", ".log", day);
	/* no dates */
	expect_name("x.log.20261301", "x.log.20261301", "", 0);
	expect_name("x.log.120261201", "x.log.120261201", "", 0);
	assert_true(rotation_of(TEXT("x.log-20261201")).dated);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(numbers), cmocka_unit_test(dates)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
