/* SPDX-License-Identifier: Apache-2.0 */
/* cells.c - which counts the public is not shown, so that nobody is told apart by a small one
 *
 * A count from 1 to 4 is "fewer than 5". What is printed beside it must not give it away: the parts of a population add up, so
 * while the bounds that follow from the printed counts leave a hidden one a single value, or prove it to be larger or smaller than
 * its own words say, one more part is withheld. A number is a part of one population at most, so bounds over each population by
 * itself are all that can be known.
 */
#include <string.h>

#include "numbers.h"
#include "pagetrail/macros.h"

struct bounds {
	int64_t low, high;
};

static struct bounds first_bounds(const struct cell *c, int64_t whole)
{
	if (c->shown == CELL_FEW)
		return (struct bounds){1, SMALL_CELL - 1};
	return c->shown == CELL_WITHHELD ? (struct bounds){0, whole} : (struct bounds){c->value, c->value};
}

static bool is_part(const struct number *k, const char *of)
{
	return k->how & PART && k->population && !strcmp(k->population, of);
}

/* Is some hidden part of this population known from the others? One pass settles it: there is one sum. */
static bool gives_away(const struct number_set *set, const struct cell *cells, const char *of, int64_t whole)
{
	int64_t low = 0, high = 0;
	for (size_t i = 0; i < set->n_numbers; i++)
		if (is_part(&set->numbers[i], of)) {
			struct bounds b = first_bounds(&cells[i], whole);
			low += b.low;
			high += b.high;
		}
	for (size_t i = 0; i < set->n_numbers; i++) {
		if (!is_part(&set->numbers[i], of) || !cells[i].shown)
			continue;
		struct bounds b = first_bounds(&cells[i], whole);
		int64_t least = MAX(b.low, whole - (high - b.high)), most = MIN(b.high, whole - (low - b.low));
		bool small = cells[i].value < SMALL_CELL && cells[i].value > 0;
		if (small ? least > 1 || most < SMALL_CELL - 1 : least == most)
			return true;
	}
	return false;
}

/* The smallest shown part, of those that are not 0 if there is one. */
static struct cell *next_part(const struct number_set *set, struct cell *cells, const char *of)
{
	struct cell *best = NULL;
	for (size_t i = 0; i < set->n_numbers; i++) {
		struct cell *c = &cells[i];
		if (is_part(&set->numbers[i], of) && !c->shown &&
		    (!best || (c->value && (!best->value || c->value < best->value))))
			best = c;
	}
	return best;
}

void cells_suppress(const struct number_set *set, struct cell *cells)
{
	for (size_t i = 0; i < set->n_numbers; i++)
		if (!(set->numbers[i].how & OPEN) && cells[i].value > 0 && cells[i].value < SMALL_CELL)
			cells[i].shown = CELL_FEW;
	for (size_t w = 0; w < set->n_numbers; w++) {
		const char *of = set->numbers[w].id;
		struct cell *part;
		if (cells[w].shown) /* of a small whole no part is shown */
			for (size_t i = 0; i < set->n_numbers; i++)
				if (is_part(&set->numbers[i], of) && !cells[i].shown)
					cells[i].shown = CELL_WITHHELD;
		while (!cells[w].shown && gives_away(set, cells, of, cells[w].value) &&
		       (part = next_part(set, cells, of)) != NULL)
			part->shown = CELL_WITHHELD;
		/* every part is hidden, and still the whole tells: it goes too */
		if (!cells[w].shown && gives_away(set, cells, of, cells[w].value))
			cells[w].shown = CELL_WITHHELD;
	}
}
