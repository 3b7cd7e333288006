/* SPDX-License-Identifier: Apache-2.0 */
/* test_statistics.c - intervals, held against sums of their own distributions, term by term, and against others' numbers where at hand
 *
 * PAGETRAIL_SCHEMAS names a folder with stat_vectors.json: numbers of another program, which are no part of this one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pagetrail/buf.h"
#include "pagetrail/json.h"
#include "pagetrail/limits.h"
#include "pagetrail/macros.h"
#include "pagetrail/statistics.h"

static void near(double got, double want, double within, const char *what)
{
	if (fabs(got - want) > within * fmax(fabs(want), 1e-12))
		fail_msg("%s: %.17g, not %.17g", what, got, want);
}

/* ---- distributions, summed term by term ---- */

static double binomial_at_most(int64_t k, int64_t n, double p)
{
	long double sum = 0;
	for (int64_t i = 0; i <= k; i++) {
		long double term = 1; /* C(n, i) p^i (1 - p)^(n - i), factor by factor so that nothing overflows */
		for (int64_t j = 1; j <= i; j++)
			term *= (long double)(n - i + j) / (long double)j * p;
		sum += term * powl(1 - (long double)p, n - i);
	}
	return (double)sum;
}

static double poisson_at_most(int64_t k, double mean)
{
	long double term = expl(-(long double)mean), sum = term;
	for (int64_t i = 1; i <= k; i++)
		sum += term *= mean / (long double)i;
	return (double)sum;
}

/* Every way of drawing, counted: Pascal's triangle. */
static double drawn_at_most(int64_t population, int64_t n, int64_t hits, int64_t all)
{
	enum { MOST = 64 };
	static long double ways[MOST][MOST];
	assert_true(population < MOST);
	for (int i = 0; i < MOST; i++)
		for (int k = 0; k <= i; k++)
			ways[i][k] = k && k < i ? ways[i - 1][k - 1] + ways[i - 1][k] : 1;
	long double sum = 0;
	for (int64_t k = 0; k <= hits; k++)
		if (k <= all && n - k <= population - all)
			sum += ways[all][k] * ways[population - all][n - k];
	return (double)(sum / ways[population][n]);
}

static const double confidences[] = {0.9, 0.95, 0.99};

static void test_proportion(void **state)
{
	static const int64_t cases[][2] = {{0, 1},    {1, 1},    {0, 155},   {3, 155},  {155, 155},
					   {77, 155}, {1, 4000}, {40, 4000}, {499, 500}};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (size_t c = 0; c < ARRAY_SIZE(confidences); c++) {
			int64_t k = cases[i][0], n = cases[i][1];
			double tail = (1 - confidences[c]) / 2;
			struct interval two, up;
			assert_true(statistics_proportion(k, n, confidences[c], SIDES_TWO, &two));
			assert_true(statistics_proportion(k, n, confidences[c], SIDES_UPPER, &up));
			assert_true(up.low == 0 && (k < n || (up.high == 1 && two.high == 1)) && (k || two.low == 0));
			if (k < n) {
				near(binomial_at_most(k, n, two.high), tail, 1e-9, "share at most, two-sided");
				near(binomial_at_most(k, n, up.high), 2 * tail, 1e-9, "share at most");
				assert_true(up.high < two.high);
			}
			if (k)
				near(1 - binomial_at_most(k - 1, n, two.low), tail, 1e-9, "share at least");
		}
}

static void test_count(void **state)
{
	static const int64_t cases[] = {0, 1, 2, 3, 31, 155, 900};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (size_t c = 0; c < ARRAY_SIZE(confidences); c++) {
			double tail = (1 - confidences[c]) / 2;
			struct interval two, up, tenth;
			assert_true(statistics_count(cases[i], 1, confidences[c], SIDES_TWO, &two));
			assert_true(statistics_count(cases[i], 1, confidences[c], SIDES_UPPER, &up));
			assert_true(statistics_count(cases[i], 0.1, confidences[c], SIDES_TWO, &tenth));
			near(poisson_at_most(cases[i], two.high), tail, 1e-9, "count at most, two-sided");
			near(poisson_at_most(cases[i], up.high), 2 * tail, 1e-9, "count at most");
			near(tenth.high, two.high * 10, 1e-14, "of a sampled log");
			near(tenth.low, two.low * 10, 1e-14, "of a sampled log, at least");
			assert_true(up.low == 0 && (cases[i] || two.low == 0));
			if (cases[i])
				near(1 - poisson_at_most(cases[i] - 1, two.low), tail, 1e-9, "count at least");
		}
}

/* Of each small population: all that is not ruled out. */
static struct count_range not_ruled_out(int64_t population, int64_t n, int64_t hits, double tail)
{
	struct count_range r = {population, 0};
	for (int64_t all = hits; all <= population - (n - hits); all++) {
		bool more = drawn_at_most(population, n, hits, all) > tail;
		bool fewer = drawn_at_most(population, n, n - hits, population - all) > tail; /* misses */
		if (fewer && all < r.low)
			r.low = all;
		if (more && all > r.high)
			r.high = all;
	}
	return r;
}

static void test_population(void **state)
{
	(void)state;
	for (int64_t population = 1; population <= 26; population++)
		for (int64_t n = 0; n <= population; n++)
			for (int64_t hits = 0; hits <= n; hits++) {
				struct count_range two, upper, want = not_ruled_out(population, n, hits, 0.025);
				assert_true(statistics_population(population, n, hits, 0.95, SIDES_TWO, &two));
				assert_true(statistics_population(population, n, hits, 0.95, SIDES_UPPER, &upper));
				if (two.low != want.low || two.high != want.high ||
				    upper.high != not_ruled_out(population, n, hits, 0.05).high)
					fail_msg("%d of %d drawn from %d: %d to %d, not %d to %d", (int)hits, (int)n,
						 (int)population, (int)two.low, (int)two.high, (int)want.low,
						 (int)want.high);
				assert_true(upper.low == hits && hits <= two.low && two.low <= upper.high &&
					    upper.high <= two.high && two.high <= population - (n - hits));
				assert_true(n < population || (two.low == hits && two.high == hits));
			}
}

/* Close to the share of a population without end; and the other side is its mirror, however improbable a single number is. */
static void test_large_population(void **state)
{
	static const int64_t cases[][2] = {{1000, 0},        {1000, 3},        {1000, 1000},     {500000, 5},
					   {500000, 499995}, {500000, 250000}, {1000000, 999999}};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t n = cases[i][0], hits = cases[i][1];
		struct count_range got, mirror;
		struct interval share;
		assert_true(statistics_population(STATISTICS_MAX, n, hits, 0.95, SIDES_TWO, &got));
		assert_true(statistics_population(STATISTICS_MAX, n, n - hits, 0.95, SIDES_TWO, &mirror));
		assert_true(statistics_proportion(hits, n, 0.95, SIDES_TWO, &share));
		near((double)got.high / STATISTICS_MAX, share.high, 1e-3, "a large population, at most");
		near((double)got.low / STATISTICS_MAX, share.low, 1e-3, "a large population, at least");
		assert_true(got.low == STATISTICS_MAX - mirror.high && got.high == STATISTICS_MAX - mirror.low);
	}
}

static void test_two_logs(void **state)
{
	double n, error;
	(void)state;
	assert_true(statistics_two_logs(4, 4, 4, &n, &error));
	assert_true(n == 4 && error == 0);
	assert_true(statistics_two_logs(2, 3, 1, &n, &error)); /* 3*4/2 - 1; root of 3*4*1*2 / (2*2*3) */
	assert_true(n == 5);
	near(error, sqrt(2), 1e-15, "standard error");
	assert_true(statistics_two_logs(0, 0, 0, &n, &error));
	assert_true(n == 0 && error == 0);
}

static void test_far_ends(void **state)
{
	struct interval got;
	struct count_range most;
	(void)state;
	assert_true(statistics_proportion(0, STATISTICS_MAX, 0.95, SIDES_UPPER, &got));
	near(got.high * STATISTICS_MAX, -log(0.05), 1e-8, "none of very many");
	assert_true(statistics_proportion(STATISTICS_MAX / 2, STATISTICS_MAX, 0.95, SIDES_TWO, &got));
	near(got.high - 0.5, 1.959963984540054 * 0.5 / sqrt(STATISTICS_MAX), 1e-3, "half of very many");
	near(0.5 - got.low, 1.959963984540054 * 0.5 / sqrt(STATISTICS_MAX), 1e-3, "half of very many, at least");
	assert_true(statistics_count(1000000000, 1, 0.95, SIDES_TWO, &got));
	near(got.high - 1e9, 1.959963984540054 * sqrt(1e9), 1e-3, "very many");
	assert_true(statistics_population(STATISTICS_MAX, STATISTICS_MAX / 2, 1000000, 0.95, SIDES_UPPER, &most));
	near((double)most.high - 2e6, 1.645 * sqrt(2e6), 0.02, "a very large population");
}

static void test_refused(void **state)
{
	struct interval got;
	struct count_range most;
	double n, error;
	(void)state;
	assert_false(statistics_proportion(0, 0, 0.95, SIDES_TWO, &got));
	assert_false(statistics_proportion(2, 1, 0.95, SIDES_TWO, &got));
	assert_false(statistics_proportion(-1, 1, 0.95, SIDES_TWO, &got));
	assert_false(statistics_proportion(0, 1, 1, SIDES_TWO, &got));
	assert_false(statistics_proportion(0, 1, NAN, SIDES_TWO, &got));
	assert_false(statistics_proportion(0, STATISTICS_MAX + 1, 0.95, SIDES_TWO, &got));
	assert_false(statistics_count(-1, 1, 0.95, SIDES_TWO, &got));
	assert_false(statistics_count(1, 0, 0.95, SIDES_TWO, &got));
	assert_false(statistics_count(1, 1.5, 0.95, SIDES_TWO, &got));
	assert_false(statistics_count(1, NAN, 0.95, SIDES_TWO, &got));
	assert_false(statistics_population(10, 11, 0, 0.95, SIDES_TWO, &most));
	assert_false(statistics_population(10, 5, 6, 0.95, SIDES_TWO, &most));
	assert_false(statistics_population(0, 0, 0, 0.95, SIDES_TWO, &most));
	assert_false(statistics_two_logs(3, 4, 4, &n, &error));
	assert_false(statistics_two_logs(3, 4, -1, &n, &error));
}

/* ---- numbers of another program ---- */

static unsigned get_row(struct json_value row, double v[8])
{
	struct json_iter it = json_iter(row);
	struct text key;
	struct json_value cell;
	unsigned n = 0;
	while (n < 8 && json_next(&it, &key, &cell))
		assert_true(json_double(cell, &v[n++]));
	return n;
}

static void hold_against(const char *kind, const double *v)
{
	struct interval got = {0};
	struct count_range most;
	int64_t a = (int64_t)v[0], b = (int64_t)v[1];
	double n, error;
	if (!strcmp(kind, "clopper_pearson_95")) {
		assert_true(statistics_proportion(a, b, 0.95, SIDES_TWO, &got));
		near(got.low, v[2], 1e-9, kind);
		near(got.high, v[3], 1e-9, kind);
	} else if (!strcmp(kind, "clopper_pearson_upper_95_one_sided")) {
		assert_true(statistics_proportion(a, b, 0.95, SIDES_UPPER, &got));
		near(got.high, v[2], 1e-9, kind);
	} else if (!strcmp(kind, "poisson_garwood_95")) {
		assert_true(statistics_count(a, 1, 0.95, SIDES_TWO, &got));
		near(got.low, v[1], 1e-9, kind);
		near(got.high, v[2], 1e-9, kind);
	} else if (!strcmp(kind, "hypergeom_upper_95_one_sided")) {
		assert_true(statistics_population(a, b, (int64_t)v[2], 0.95, SIDES_UPPER, &most));
		near((double)most.high, v[3], 0, kind);
	} else {
		assert_true(statistics_two_logs(a, b, (int64_t)v[2], &n, &error));
		near(n, v[3], 1e-12, kind);
		near(error, v[4], 1e-12, kind);
	}
}

static void test_others(void **state)
{
	static const char *const kinds[] = {"clopper_pearson_95", "clopper_pearson_upper_95_one_sided",
					    "poisson_garwood_95", "hypergeom_upper_95_one_sided", "chapman"};
	const char *folder = getenv("PAGETRAIL_SCHEMAS");
	struct buf path = BUF_INIT(4 * KIB), bytes = BUF_INIT(MIB);
	struct json *j = json_new();
	struct json_value doc, row;
	(void)state;
	assert_int_equal(buf_printf(&path, NULL, "%s/stat_vectors.json", folder ? folder : ""), 0);
	if (!folder || buf_add_file(&bytes, path.ptr, "numbers", NULL)) {
		puts("# not held against others' numbers: PAGETRAIL_SCHEMAS names no folder with stat_vectors.json");
	} else {
		assert_int_equal(json_parse(j, buf_text(&bytes), false, &doc, NULL, NULL), 0);
		for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
			struct json_iter it = json_iter(json_get(doc, kinds[i]));
			struct text key;
			unsigned n = 0;
			for (; json_next(&it, &key, &row); n++) {
				double v[8] = {0};
				assert_true(get_row(row, v) >= 3);
				hold_against(kinds[i], v);
			}
			assert_true(n > 2);
		}
	}
	json_free(j);
	buf_done(&path);
	buf_done(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_proportion),       cmocka_unit_test(test_count),    cmocka_unit_test(test_population),
	    cmocka_unit_test(test_large_population), cmocka_unit_test(test_two_logs), cmocka_unit_test(test_far_ends),
	    cmocka_unit_test(test_refused),          cmocka_unit_test(test_others),
	};
	return cmocka_run_group_tests_name("statistics", tests, NULL, NULL);
}
