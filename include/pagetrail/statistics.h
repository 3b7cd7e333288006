/* SPDX-License-Identifier: Apache-2.0 */
/* statistics.h - what a sample says of the whole, for samples that were drawn at random by design, and for nothing else
 *
 * Never for lost logs. Records are not lost at random: they are lost under load, and the requests that matter make load. What a gap
 * may hold is bounded by counting all that it could have held (docs/method.md), not by anything here.
 *
 * All intervals are exact ones: their coverage is at least the confidence, never less. Each function is false, and sets nothing, for
 * numbers that no sample can have.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Above it nothing is computed: below, results are good to eight digits and more. */
#define STATISTICS_MAX 1000000000

struct interval {
	double low, high;
};
struct count_range {
	int64_t low, high;
};
enum sides {
	SIDES_TWO,  /* half of what is left of the confidence on each side */
	SIDES_UPPER /* all of it above: low is 0 */
};

/* Share of hits in a population much larger than the n that were drawn (Clopper and Pearson 1934). */
bool statistics_proportion(int64_t hits, int64_t n, double confidence, enum sides sides, struct interval *ret);
/* How many there were, when each was kept in the log with the probability `kept`, 0 < kept <= 1, and so many were found
 * (Garwood 1936, divided by kept). */
bool statistics_count(int64_t found, double kept, double confidence, enum sides sides, struct interval *ret);
/* How many hits a population may hold, hits of the n drawn without putting back among them (hypergeometric): never fewer than were
 * drawn, nor more than the misses leave room for. Of one side: low is what was drawn. */
bool statistics_population(int64_t population, int64_t n, int64_t hits, double confidence, enum sides sides,
			   struct count_range *ret);
/* How many there were, by two logs with `both` of their records in common (Chapman 1951), and its standard error. It assumes that
 * the logs miss records independently of each other: whoever prints it says so. */
bool statistics_two_logs(int64_t first, int64_t second, int64_t both, double *ret, double *ret_error);
