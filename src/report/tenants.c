/* SPDX-License-Identifier: Apache-2.0 */
/* tenants.c - names in their order, each with its place */
#include <stdlib.h>

#include "facts.h"
#include "pagetrail/array.h"

struct tenants {
	struct arena arena;
	struct text *names;
	size_t n, cap;
};

void tenants_free(struct tenants *t)
{
	if (!t)
		return;
	arena_done(&t->arena);
	free(t->names);
	free(t);
}

int tenants_open(struct tenants **ret, struct case_file *c, const char *sql, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct tenants *t = calloc(1, sizeof(*t));
	int rc = t ? sql_prepare(&s, c, sql, err) : err_nomem(err);
	if (t)
		arena_init(&t->arena, ARENA_MAX_BYTES);
	while (!rc && (rc = sql_step(s, err)) == 1) {
		struct text name = sql_get_text(s, 0), copy = arena_text(&t->arena, name);
		rc = copy.ptr || !name.len ? grow_array((void **)&t->names, &t->cap, t->n, sizeof(*t->names), err)
					   : err_nomem(err);
		if (!rc)
			t->names[t->n++] = copy;
	}
	if (rc) {
		tenants_free(t);
		return rc;
	}
	*ret = t;
	return 0;
}

size_t tenants_count(const struct tenants *t)
{
	return t->n;
}

struct text tenants_name(const struct tenants *t, size_t at)
{
	return t->names[at];
}

size_t tenants_find(const struct tenants *t, struct text name)
{
	size_t low = 0, high = t->n;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int cmp = text_cmp(t->names[mid], name);
		if (!cmp)
			return mid;
		if (cmp < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return t->n;
}
