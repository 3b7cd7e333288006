/* SPDX-License-Identifier: Apache-2.0 */
/* row_index.h - private to the store: which rows of a table have a value, by a hash of it, while a statement asks again and again
 *
 * Twelve bytes a row. Rows with the same hash come in ascending order; whether their values are equal is the caller's to see.
 */
#pragma once

#include "pagetrail/text.h"

struct row_index;

int row_index_new(struct row_index **ret, uint32_t rows, struct err *err) MUST_CHECK;
void row_index_free(struct row_index *x); /* accepts NULL */
/* row: from 0, each at most once, the last one first. */
void row_index_add(struct row_index *x, uint32_t row, uint64_t hash);
/* The first row with this hash, from `row` on behind it; false when there is none. */
bool row_index_first(const struct row_index *x, uint64_t hash, uint32_t *ret);
bool row_index_next(const struct row_index *x, uint64_t hash, uint32_t *row);
