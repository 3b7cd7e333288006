/* SPDX-License-Identifier: Apache-2.0 */
/* row_index.c - chains of rows by hash */
#include "row_index.h"

#include <stdlib.h>

struct row_index {
	uint32_t mask;
	uint32_t *head; /* row + 1 */
	uint32_t *next; /* row + 1, per row */
	uint32_t *hash; /* per row */
};

int row_index_new(struct row_index **ret, uint32_t rows, struct err *err)
{
	uint32_t slots = 64;
	while (slots < rows && slots < 1u << 30)
		slots *= 2;
	struct row_index *x = calloc(1, sizeof(*x));
	if (!x)
		return err_nomem(err);
	x->mask = slots - 1;
	x->head = calloc(slots, sizeof(*x->head));
	x->next = calloc((size_t)rows + 1, sizeof(*x->next));
	x->hash = calloc((size_t)rows + 1, sizeof(*x->hash));
	if (!x->head || !x->next || !x->hash) {
		row_index_free(x);
		return err_nomem(err);
	}
	*ret = x;
	return 0;
}

void row_index_free(struct row_index *x)
{
	if (!x)
		return;
	free(x->head);
	free(x->next);
	free(x->hash);
	free(x);
}

void row_index_add(struct row_index *x, uint32_t row, uint64_t hash)
{
	uint32_t *head = &x->head[(uint32_t)(hash >> 32) & x->mask];
	x->hash[row] = (uint32_t)hash;
	x->next[row] = *head;
	*head = row + 1;
}

static bool follow(const struct row_index *x, uint32_t at, uint64_t hash, uint32_t *ret)
{
	while (at && x->hash[at - 1] != (uint32_t)hash)
		at = x->next[at - 1];
	*ret = at - 1;
	return at != 0;
}

bool row_index_first(const struct row_index *x, uint64_t hash, uint32_t *ret)
{
	return follow(x, x->head[(uint32_t)(hash >> 32) & x->mask], hash, ret);
}

bool row_index_next(const struct row_index *x, uint64_t hash, uint32_t *row)
{
	return follow(x, x->next[*row], hash, row);
}
