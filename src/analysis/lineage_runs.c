/* SPDX-License-Identifier: Apache-2.0 */
/* lineage_runs.c - sets of pages as runs, and a small hash map: what the sweep counts with
 *
 * A runset takes runs in any order and with overlaps. It sorts and joins itself when it has doubled since the last
 * time, so memory stays within twice the runs that are really apart, however often the same pages are added.
 */
#include <stdlib.h>
#include <string.h>

#include "lineage.h"

static int run_cmp(const void *a, const void *b)
{
	const struct page_run *x = a, *y = b;
	return (x->first > y->first) - (x->first < y->first);
}

void runset_tidy(struct runset *s)
{
	if (s->tidy == s->n)
		return;
	qsort(s->runs, s->n, sizeof(*s->runs), run_cmp);
	uint32_t n = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		struct page_run r = s->runs[i];
		struct page_run *last = n ? &s->runs[n - 1] : NULL;
		uint64_t end = (uint64_t)r.first + r.count;
		if (last && r.first <= (uint64_t)last->first + last->count) {
			if (end > (uint64_t)last->first + last->count)
				last->count = (uint32_t)(end - last->first);
		} else {
			s->runs[n++] = r;
		}
	}
	s->n = s->tidy = n;
}

int runset_add(struct runset *s, uint32_t first, uint32_t count, struct err *err)
{
	if (s->n > 0) { /* the usual cases: the next page, or the same run once more */
		struct page_run *last = &s->runs[s->n - 1];
		if (first == last->first + last->count && s->tidy < s->n) {
			last->count += count;
			return 0;
		}
		if (first >= last->first && first + count <= last->first + last->count)
			return 0;
	}
	if (s->n == s->cap) {
		if (s->n > 16 && s->n >= 2 * s->tidy)
			runset_tidy(s);
		if (!s->cap || s->n * 2 > s->cap) {
			uint32_t cap = s->cap ? s->cap * 2 : 4;
			struct page_run *runs = realloc(s->runs, cap * sizeof(*runs));
			if (!runs)
				return err_nomem(err);
			s->runs = runs;
			s->cap = cap;
		}
	}
	s->runs[s->n++] = (struct page_run){first, count};
	return 0;
}

uint64_t runset_pages(struct runset *s)
{
	uint64_t pages = 0;
	runset_tidy(s);
	for (uint32_t i = 0; i < s->n; i++)
		pages += s->runs[i].count;
	return pages;
}

void runset_done(struct runset *s)
{
	free(s->runs);
	*s = (struct runset){0};
}

/* Keys are mostly numbers given in turn, and asked for in about that order: neighbours share a cache line. */
enum { NEAR_BITS = 3 };

static size_t map_slot(const struct map *m, uint64_t key)
{
	uint64_t h = (key >> NEAR_BITS) * UINT64_C(0x9e3779b97f4a7c15);
	h ^= h >> 32;
	size_t i = (size_t)(h << NEAR_BITS | ((key ^ h >> 29) & ((1 << NEAR_BITS) - 1))) & (m->cap - 1);
	while (m->keys[i] && m->keys[i] != key + 1)
		i = (i + 1) & (m->cap - 1);
	return i;
}

uint32_t *map_find(const struct map *m, uint64_t key)
{
	if (!m->cap)
		return NULL;
	size_t i = map_slot(m, key);
	return m->keys[i] ? &m->values[i] : NULL;
}

static int map_grow(struct map *m, struct err *err)
{
	struct map bigger = {.cap = m->cap ? m->cap * 2 : 64};
	bigger.keys = calloc(bigger.cap, sizeof(*bigger.keys));
	bigger.values = malloc(bigger.cap * sizeof(*bigger.values));
	if (!bigger.keys || !bigger.values) {
		map_done(&bigger);
		return err_nomem(err);
	}
	for (size_t i = 0; i < m->cap; i++) {
		if (!m->keys[i])
			continue;
		size_t to = map_slot(&bigger, m->keys[i] - 1);
		bigger.keys[to] = m->keys[i];
		bigger.values[to] = m->values[i];
	}
	bigger.n = m->n;
	map_done(m);
	*m = bigger;
	return 0;
}

int map_put(struct map *m, uint64_t key, uint32_t value, struct err *err)
{
	if (m->n * 4 >= m->cap * 3) {
		int rc = map_grow(m, err);
		if (rc < 0)
			return rc;
	}
	size_t i = map_slot(m, key);
	if (!m->keys[i]) {
		m->keys[i] = key + 1;
		m->n++;
	}
	m->values[i] = value;
	return 0;
}

/* Takes the key out and puts the keys behind it again, so that no probe sequence is cut. */
void map_remove(struct map *m, uint64_t key)
{
	if (!m->cap)
		return;
	size_t i = map_slot(m, key);
	if (!m->keys[i])
		return;
	m->keys[i] = 0;
	m->n--;
	for (i = (i + 1) & (m->cap - 1); m->keys[i]; i = (i + 1) & (m->cap - 1)) {
		uint64_t moved = m->keys[i];
		uint32_t value = m->values[i];
		m->keys[i] = 0;
		size_t to = map_slot(m, moved - 1);
		m->keys[to] = moved;
		m->values[to] = value;
	}
}

void map_done(struct map *m)
{
	free(m->keys);
	free(m->values);
	*m = (struct map){0};
}
