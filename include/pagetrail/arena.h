/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h - bump allocator for things that die together (a record, a batch, a query)
 *
 * Memory is zeroed, except by arena_room(). Pointers are valid until arena_reset() or arena_done(). Aligned to 16 bytes.
 * The arena refuses to grow past its maximum (returns NULL: treat as ERR_NOMEM). Not thread-safe.
 */
#pragma once

#include "pagetrail/text.h"

struct arena_block;

struct arena {
	struct arena_block *head; /* newest */
	size_t used, max;         /* bytes handed out; 0 max = limits.h default */
};

void arena_init(struct arena *a, size_t max_bytes);
void arena_done(struct arena *a);  /* accepts a zeroed arena */
void arena_reset(struct arena *a); /* keeps one block for reuse */
void *arena_alloc(struct arena *a, size_t bytes);
void *arena_room(struct arena *a, size_t bytes);           /* not zeroed: for bytes that are written at once */
void *arena_array(struct arena *a, size_t n, size_t size); /* overflow-checked */
/* Copies t (NUL-terminated behind len). On out of memory returns {NULL, 0} for non-empty t. */
struct text arena_text(struct arena *a, struct text t);
