/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c - bump allocator: a list of blocks, newest first; only the newest is filled */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/arena.h"
#include "pagetrail/limits.h"
#include "pagetrail/macros.h"

enum { ALIGN = 16, FIRST_BLOCK = 4096, LARGEST_STEP = 1 << 20 };

struct arena_block {
	struct arena_block *older;
	size_t at, size; /* of data */
	_Alignas(ALIGN) char data[];
};

void arena_init(struct arena *a, size_t max_bytes)
{
	*a = (struct arena){NULL, 0, max_bytes ? max_bytes : ARENA_MAX_BYTES};
}

static void free_blocks(struct arena_block *b)
{
	while (b) {
		struct arena_block *older = b->older;

		free(b);
		b = older;
	}
}

void arena_done(struct arena *a)
{
	free_blocks(a->head);
	a->head = NULL;
	a->used = 0;
}

void arena_reset(struct arena *a)
{
	if (a->head) {
		free_blocks(a->head->older);
		a->head->older = NULL;
		a->head->at = 0;
	}
	a->used = 0;
}

static bool add_block(struct arena *a, size_t bytes)
{
	size_t size = a->head ? MIN(a->head->size * 2, (size_t)LARGEST_STEP) : FIRST_BLOCK - sizeof(struct arena_block);
	struct arena_block *b;

	size = MAX(size, bytes);
	if (size > SIZE_MAX - sizeof(*b))
		return false;
	b = malloc(sizeof(*b) + size);
	if (!b)
		return false;
	b->older = a->head;
	b->at = 0;
	b->size = size;
	a->head = b;
	return true;
}

/* Not zeroed. align is a power of two, at most ALIGN. */
static void *take(struct arena *a, size_t bytes, size_t align)
{
	size_t max = a->max ? a->max : ARENA_MAX_BYTES;
	struct arena_block *b = a->head;
	size_t at;

	if (bytes > max || a->used > max - bytes)
		return NULL;
	at = b ? (b->at + align - 1) & ~(align - 1) : 0;
	if (!b || at > b->size || bytes > b->size - at) {
		if (!add_block(a, bytes))
			return NULL;
		b = a->head;
		at = 0;
	}
	a->used += bytes;
	b->at = at + bytes;
	return b->data + at;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
	void *p = take(a, MAX(bytes, 1), ALIGN);

	return p ? memset(p, 0, bytes) : NULL;
}

void *arena_room(struct arena *a, size_t bytes)
{
	return take(a, MAX(bytes, 1), ALIGN);
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		return NULL;
	return arena_alloc(a, bytes);
}

struct text arena_text(struct arena *a, struct text t)
{
	char *p;

	if (t.len == SIZE_MAX)
		return (struct text){NULL, 0};
	p = take(a, t.len + 1, 1);
	if (!p)
		return t.len ? (struct text){NULL, 0} : (struct text){"", 0};
	if (t.len)
		memcpy(p, t.ptr, t.len);
	p[t.len] = '\0';
	return (struct text){p, t.len};
}
