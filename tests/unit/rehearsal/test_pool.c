/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool.c - the paged allocator's order of reuse, and numbers that are the same everywhere */
#include "../../../src/rehearsal/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void numbers_are_fixed(void **state)
{
	struct rng r;

	(void)state;
	/* xoshiro256** seeded by splitmix64 of 0: first outputs of the reference implementation */
	rng_seed(&r, 0);
	assert_true(rng_next(&r) == UINT64_C(0x99ec5f36cb75f2b4));
	assert_true(rng_next(&r) == UINT64_C(0xbf6e1f784956452a));
	for (int i = 0; i < 1000; i++) {
		int64_t x = rng_range(&r, -3, 3);

		assert_in_range(x + 3, 0, 6);
		assert_true(rng_below(&r, 1) == 0);
	}
}

static void exponential_has_its_mean(void **state)
{
	struct rng r;
	int64_t sum = 0;

	(void)state;
	rng_seed(&r, 5);
	for (int i = 0; i < 20000; i++) {
		int64_t x = rng_exp(&r, 1000000);

		assert_true(x >= 0);
		sum += x;
	}
	assert_in_range(sum / 20000, 920000, 1080000);
}

static void pages_are_used_in_turn(void **state)
{
	struct model m = {0};
	struct pool p = {0};
	struct page_list a = {0}, b = {0}, c = {0};

	(void)state;
	pool_boot(&m, &p, 10 * PAGE_TOKENS);
	assert_int_equal(pool_available(&p), 10);
	assert_true(pool_take(&m, &p, 4, &a));
	assert_int_equal(a.at[0], 1); /* page 0 is padding */
	assert_int_equal(a.at[3], 4);
	pool_give(&p, a.at, a.n);
	/* freed pages wait: the rest of the free list comes first */
	assert_true(pool_take(&m, &p, 5, &b));
	assert_int_equal(b.at[0], 5);
	assert_int_equal(b.at[4], 9);
	/* it runs short: merged and sorted */
	assert_true(pool_take(&m, &p, 3, &c));
	assert_int_equal(c.at[0], 1);
	assert_int_equal(c.at[2], 3);
	assert_false(pool_take(&m, &p, 3, &c));
	assert_int_equal(c.n, 3);
	assert_int_equal(pool_available(&p), 2);
	pool_done(&p);
	free(a.at);
	free(b.at);
	free(c.at);
}

/* Every page once, in no order, and the same for the same seed. */
static void shuffled_pages_are_whole(void **state)
{
	uint32_t first[64];

	(void)state;
	for (int turn = 0; turn < 2; turn++) {
		struct model m = {.shuffled = true};
		struct pool p = {0};
		struct page_list a = {0};
		bool seen[65] = {false}, rising = true;

		rng_seed(&m.shuffle, 9);
		pool_boot(&m, &p, 64 * PAGE_TOKENS);
		assert_true(pool_take(&m, &p, 64, &a));
		for (uint32_t i = 0; i < 64; i++) {
			assert_in_range(a.at[i], 1, 64);
			assert_false(seen[a.at[i]]);
			seen[a.at[i]] = true;
			rising &= !i || a.at[i] > a.at[i - 1];
			if (turn)
				assert_int_equal(first[i], a.at[i]);
			first[i] = a.at[i];
		}
		assert_false(rising);
		free(a.at);
		pool_done(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(numbers_are_fixed),
	    cmocka_unit_test(exponential_has_its_mean),
	    cmocka_unit_test(pages_are_used_in_turn),
	    cmocka_unit_test(shuffled_pages_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
