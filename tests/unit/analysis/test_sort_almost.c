/* SPDX-License-Identifier: Apache-2.0 */
/* test_sort_almost.c - whatever the order was, more than a block of it is sorted */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../../src/analysis/lineage.h"

enum { N = 200000 };

static int number_cmp(const void *a, const void *b, void *ctx)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	(void)ctx;
	return (x > y) - (x < y);
}

static void sorts(void **state)
{
	static uint64_t list[N];
	struct err err = {0};
	(void)state;
	for (int kind = 0; kind < 4; kind++) { /* in order, nearly so, backwards, any */
		uint64_t random = 7, sum = 0, after = 0;
		for (uint64_t i = 0; i < N; i++) {
			random = random * UINT64_C(6364136223846793005) + 1;
			list[i] = kind == 0   ? i
				  : kind == 1 ? i + (random >> 33) % 1000
				  : kind == 2 ? N - i
					      : random >> 20;
			sum += list[i] * list[i];
		}
		assert_int_equal(sort_almost(list, N, sizeof(*list), number_cmp, NULL, &err), 0);
		for (uint64_t i = 0; i < N; i++) {
			assert_true(!i || list[i - 1] <= list[i]);
			after += list[i] * list[i];
		}
		assert_true(sum == after);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(sorts)};
	return cmocka_run_group_tests_name("sort_almost", tests, NULL, NULL);
}
