/* SPDX-License-Identifier: Apache-2.0 */
/* sort_almost.c - sorts what is nearly in order, with little memory beside it
 *
 * What is in order up to some thousand neighbours costs a sort of short blocks and short merges. The worst order costs a merge
 * with everything before for each block.
 */
#include <stdlib.h>
#include <string.h>

#include "lineage.h"

enum { BLOCK = 1 << 16 };

struct sorting {
	char *list, *tmp;
	size_t size;
	int (*cmp)(const void *a, const void *b, void *ctx);
	void *ctx;
};

static bool in_order(const struct sorting *s, size_t from, size_t n)
{
	for (size_t i = from + 1; i < from + n; i++)
		if (s->cmp(s->list + (i - 1) * s->size, s->list + i * s->size, s->ctx) > 0)
			return false;
	return true;
}

/* The first n are in order, and the k after them: all are. From the end, so that those before the overlap stay. */
static void merge(const struct sorting *s, size_t n, size_t k)
{
	char *at = s->list + (n + k) * s->size;
	const char *a = s->list + n * s->size, *b = s->tmp + k * s->size;
	memcpy(s->tmp, s->list + n * s->size, k * s->size);
	while (b > s->tmp) {
		const char **from = a > s->list && s->cmp(a - s->size, b - s->size, s->ctx) > 0 ? &a : &b;
		*from -= s->size;
		at -= s->size;
		memcpy(at, *from, s->size);
	}
}

int sort_almost(void *list, size_t n, size_t size, int (*cmp)(const void *a, const void *b, void *ctx), void *ctx,
		struct err *err)
{
	struct sorting s = {list, NULL, size, cmp, ctx};
	if (n < 2 || in_order(&s, 0, n))
		return 0;
	s.tmp = malloc(MIN(n, (size_t)BLOCK) * size);
	if (!s.tmp)
		return err_nomem(err);
	for (size_t i = 0, k; i < n; i += k) {
		k = MIN(n - i, (size_t)BLOCK);
		if (!in_order(&s, i, k))
			qsort_r(s.list + i * size, k, size, cmp, ctx);
		if (i && cmp(s.list + (i - 1) * size, s.list + i * size, ctx) > 0)
			merge(&s, i, k);
	}
	free(s.tmp);
	return 0;
}
