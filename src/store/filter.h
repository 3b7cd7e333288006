/* SPDX-License-Identifier: Apache-2.0 */
/* filter.h - which texts a column may hold, in sixteen bits a text (a Bloom filter)
 *
 * No text of the column is ever missed; another one is held for one of it in about one of two thousand cases. Byte form:
 * docs/store-format.md.
 */
#pragma once

#include "pagetrail/buf.h"

/* Appends the filter over the texts of rows with `has`; nothing when fewer than `min` of them differ. */
int filter_make(const struct text *v, const uint8_t *has, uint32_t n, uint32_t min, struct buf *out,
		struct err *err) MUST_CHECK;
bool filter_holds(struct text filter, struct text needle);
