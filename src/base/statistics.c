/* SPDX-License-Identifier: Apache-2.0 */
/* statistics.c - exact intervals, by the incomplete beta and gamma functions
 *
 * Both functions are sums or continued fractions (NIST Digital Library of Mathematical Functions, 8.11.4, 8.9.2 and 8.17.22), evaluated
 * by Lentz's method; their inverses are found by halving, until no double lies between. Logarithms of gamma are taken in long double:
 * of large arguments they are large, and their differences are not.
 */
#include "pagetrail/statistics.h"

#include <float.h>
#include <math.h>

/* A fraction converges after some few times the root of its arguments. */
enum { TERMS_MAX = 20000000 };

static long double ln_gamma(long double x)
{
	int sign;
	return lgammal_r(x, &sign);
}

/* One step of Lentz's method for b0 + a1/(b1 + a2/(b2 + …)). */
struct lentz {
	double value, c, d;
};
static bool lentz_step(struct lentz *l, double a, double b)
{
	l->d = b + a * l->d;
	l->c = b + a / l->c;
	l->d = 1 / (fabs(l->d) < DBL_MIN ? DBL_MIN : l->d);
	l->c = fabs(l->c) < DBL_MIN ? DBL_MIN : l->c;
	l->value *= l->c * l->d;
	return fabs(l->c * l->d - 1) < 4 * DBL_EPSILON;
}

/* ---- the regularised incomplete beta function, 0 < x < 1 ---- */

static double beta_fraction(double a, double b, double x)
{
	struct lentz l = {DBL_MIN, DBL_MIN, 0};
	bool done = lentz_step(&l, 1, 1);
	for (int i = 0; !done && i < TERMS_MAX; i++) {
		double m = i / 2;
		double term = i % 2 ? (m + 1) * (b - m - 1) * x / ((a + 2 * m + 1) * (a + 2 * m + 2))
				    : -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		done = lentz_step(&l, term, 1) && i > 1;
	}
	return l.value;
}

static double beta_part(double a, double b, double x)
{
	long double ln = ln_gamma((long double)a + b) - ln_gamma(a) - ln_gamma(b) + a * logl(x) + b * log1pl(-x);
	return (double)expl(ln) * beta_fraction(a, b, x) / a;
}

static double beta_below(double a, double b, double x)
{
	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	return x < (a + 1) / (a + b + 2) ? beta_part(a, b, x) : 1 - beta_part(b, a, 1 - x);
}

/* ---- the regularised incomplete gamma function, x > 0 ---- */

static double gamma_series(double a, double x)
{
	double term = 1 / a, sum = term;
	for (int i = 1; i < TERMS_MAX && term > sum * DBL_EPSILON / 2; i++) {
		term *= x / (a + i);
		sum += term;
	}
	return sum;
}

static double gamma_fraction(double a, double x)
{
	struct lentz l = {DBL_MIN, DBL_MIN, 0};
	bool done = false;
	lentz_step(&l, 1, x + 1 - a);
	for (int i = 1; !done && i < TERMS_MAX; i++)
		done = lentz_step(&l, -(double)i * (i - a), x + 2 * i + 1 - a);
	return l.value;
}

static double gamma_below(double a, double x)
{
	if (x <= 0)
		return 0;
	long double ln = (long double)a * logl(x) - x - ln_gamma(a);
	return x < a + 1 ? (double)expl(ln) * gamma_series(a, x) : 1 - (double)expl(ln) * gamma_fraction(a, x);
}

/* ---- their inverses ---- */

/* Below which x lies p of the distribution; it rises from low to high. b < 0: of the gamma distribution. */
static double find(double a, double b, double p, double low, double high)
{
	for (;;) {
		double x = low + (high - low) / 2;
		if (x <= low || x >= high)
			return x;
		if ((b < 0 ? gamma_below(a, x) : beta_below(a, b, x)) < p)
			low = x;
		else
			high = x;
	}
}

static double find_gamma(double a, double p)
{
	double high = a + 1;
	while (gamma_below(a, high) < p)
		high *= 2;
	return find(a, -1, p, 0, high);
}

/* ---- the intervals ---- */

/* What may lie on each side; 0: no confidence. */
static double tail_of(double confidence, enum sides sides)
{
	if (!(confidence > 0.5 && confidence < 1))
		return 0;
	return sides == SIDES_TWO ? (1 - confidence) / 2 : 1 - confidence;
}

bool statistics_proportion(int64_t hits, int64_t n, double confidence, enum sides sides, struct interval *ret)
{
	double tail = tail_of(confidence, sides);
	if (!tail || n < 1 || n > STATISTICS_MAX || hits < 0 || hits > n)
		return false;
	double k = (double)hits, rest = (double)(n - hits);
	ret->low = hits && sides == SIDES_TWO ? find(k, rest + 1, tail, 0, 1) : 0;
	ret->high = hits < n ? find(k + 1, rest, 1 - tail, 0, 1) : 1;
	return true;
}

bool statistics_count(int64_t found, double kept, double confidence, enum sides sides, struct interval *ret)
{
	double tail = tail_of(confidence, sides);
	if (!tail || !(kept > 0 && kept <= 1) || found < 0 || found > STATISTICS_MAX)
		return false;
	ret->low = found && sides == SIDES_TWO ? find_gamma((double)found, tail) / kept : 0;
	ret->high = find_gamma((double)found + 1, 1 - tail) / kept;
	return true;
}

static long double ln_choose(int64_t n, int64_t k)
{
	return ln_gamma((long double)n + 1) - ln_gamma((long double)k + 1) - ln_gamma((long double)(n - k) + 1);
}

/* How likely at most `hits`, no more than the mean, are drawn when the population holds `all`. Terms fall off from there; those that
 * change nothing any more are left out. */
static long double lower_drawn(int64_t population, int64_t n, int64_t hits, int64_t all)
{
	int64_t least = n + all - population > 0 ? n + all - population : 0, k = hits;
	if (k < least)
		return 0;
	long double term = expl(ln_choose(all, k) + ln_choose(population - all, n - k) - ln_choose(population, n)),
		    sum = term;
	for (; k > least; k--) {
		long double ratio = (long double)k * (long double)(population - all - n + k) /
				    ((long double)(all - k + 1) * (long double)(n - k + 1));
		term *= ratio;
		sum += term;
		if (ratio < 1 && term < sum * LDBL_EPSILON * (1 - ratio))
			break;
	}
	return sum;
}

/* Likewise of any number: above the mean, where the terms of the one side may be too small for any float, by those of the other. */
static double at_most_drawn(int64_t population, int64_t n, int64_t hits, int64_t all)
{
	if (hits >= n || hits >= all)
		return 1;
	if ((long double)hits * (long double)population <= (long double)n * (long double)all)
		return (double)lower_drawn(population, n, hits, all);
	return (double)(1 - lower_drawn(population, n, n - hits - 1, population - all));
}

/* The most hits that a population may hold so that no more than `hits` are drawn is not ruled out. */
static int64_t most(int64_t population, int64_t n, int64_t hits, double tail)
{
	int64_t low = hits, high = population - (n - hits); /* low is never too many, above high there are none */
	while (low < high) {
		int64_t all = high - (high - low) / 2;
		if (at_most_drawn(population, n, hits, all) > tail)
			low = all;
		else
			high = all - 1;
	}
	return low;
}

bool statistics_population(int64_t population, int64_t n, int64_t hits, double confidence, enum sides sides,
			   struct count_range *ret)
{
	double tail = tail_of(confidence, sides);
	if (!tail || population < 1 || population > STATISTICS_MAX || n < 0 || n > population || hits < 0 || hits > n)
		return false;
	/* the fewest hits are the most misses */
	ret->low = sides == SIDES_TWO ? population - most(population, n, n - hits, tail) : hits;
	ret->high = most(population, n, hits, tail);
	return true;
}

bool statistics_two_logs(int64_t first, int64_t second, int64_t both, double *ret, double *ret_error)
{
	if (both < 0 || first < both || second < both || first > STATISTICS_MAX || second > STATISTICS_MAX)
		return false;
	double a = (double)first, b = (double)second, m = (double)both;
	*ret = (a + 1) * (b + 1) / (m + 1) - 1;
	*ret_error = sqrt((a + 1) * (b + 1) * (a - m) * (b - m) / (m + 2)) / (m + 1);
	return true;
}
