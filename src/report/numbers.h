/* SPDX-License-Identifier: Apache-2.0 */
/* numbers.h - private to report: sets of numbers, and which of them the public is shown */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number as it was counted, and what of it is printed (cells.c). */
enum cell_shown { CELL_SHOWN, CELL_FEW, CELL_WITHHELD };
struct cell {
	int64_t value;
	bool known;
	enum cell_shown shown;
};
enum { NUMBERS_MAX = 64, SMALL_CELL = 5 };

enum number_how {
	COUNTED = 0,
	FOUND = 1,   /* a finding: with gaps, at least so many */
	AT_MOST = 2, /* an upper bound */
	HIDDEN = 4,  /* others follow from it; it is not printed */
	BANDED = 8,  /* its band alone: it tells of others */
	PART = 16,   /* the parts of a population add up to it */
	OPEN = 32,   /* tells of nobody: printed as it is, however small */
};
/* A number of the document: a column of one of the statements of its set. */
struct number {
	const char *id, *unit, *population;
	unsigned how; /* enum number_how, together */
};
/* What the evidence takes away: count - less, also when that is 0. Ids of numbers. */
struct limit {
	const char *id, *count, *less, *of, *text;
};
struct number_set {
	const struct number *numbers;
	size_t n_numbers;
	const char *const *statements; /* one row each; parameter :tenant */
	size_t n_statements;
	const struct limit *limits;
	size_t n_limits;
	bool no_classes; /* it has no responses to classify, so no hypothesis stands or falls */
};

/* cells.c: hides small counts, and what they could be computed from. */
void cells_suppress(const struct number_set *set, struct cell *cells);
