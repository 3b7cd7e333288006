/* SPDX-License-Identifier: Apache-2.0 */
/* mask.h - private to live: bytes with escapes undone, beside where each came from */
#pragma once

#include "pagetrail/live.h"

struct layer {
	char *p;
	size_t *map; /* n + 1: where each byte begins in what came, and the end */
	size_t n;
};

/* MASK_NUL: of UTF-16, as far as it is ASCII */
enum mask_how { MASK_JSON = 1, MASK_PERCENT = 2, MASK_ENTITY = 4, MASK_NUL = 8 };
/* Undoes one layer of escapes, in place. Did anything change? */
bool mask_peel(struct layer *l, unsigned how);
