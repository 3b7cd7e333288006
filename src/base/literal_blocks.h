/* SPDX-License-Identifier: Apache-2.0 */
/* literal_blocks.h - strings of BLOCKS_MIN bytes or more, found by their blocks of eight bytes; private to literals*.c */
#pragma once

#include "pagetrail/literals.h"

/* Wherever so long a string stands, one of eight blocks that follow each other in it begins at an eighth byte. */
enum { BLOCK_BYTES = 8, BLOCKS_MIN = 2 * BLOCK_BYTES - 1 };

struct literal_blocks; /* immutable */

/* The list is not copied. Shorter strings are left out. */
int literal_blocks_make(struct literal_blocks **ret, const struct text *list, size_t n, struct err *err) MUST_CHECK;
void literal_blocks_free(struct literal_blocks *b); /* accepts NULL */
/* As literals_search(). */
int literal_blocks_search(const struct literal_blocks *b, struct text bytes,
			  int (*found)(void *ctx, size_t which, size_t end), void *ctx) MUST_CHECK;
