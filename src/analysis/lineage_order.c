/* SPDX-License-Identifier: Apache-2.0 */
/* lineage_order.c - sorts the page records of one worker whose files are not in order
 *
 * First by time (then seq): that finds the boots. Then, inside each boot, by seq alone. A new boot begins at a boot
 * record whose seq falls back, or, without one, where a seq comes back that this boot has already used, or lies far
 * before its first. Records with equal seq, time and content are one record.
 */
#include <stdlib.h>
#include <string.h>

#include "lineage_order.h"

/* How far before a boot's first record one may still arrive late (log writers race). */
enum { RACE_MAX = 256 };

int order_add(struct records *s, const struct record *rec, struct err *err)
{
	if ((s->n + 1) * sizeof(*s->all) + (s->n_runs + rec->n_runs) * sizeof(*s->runs) > s->limit)
		return err_set(err, ERR_LIMIT, "page records that are not in order take more than %zu MiB to sort",
			       s->limit / MIB);
	if (s->n == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 1024;
		struct record *all = realloc(s->all, cap * sizeof(*all));
		if (!all)
			return err_nomem(err);
		s->all = all;
		s->cap = cap;
	}
	if (s->cap_runs - s->n_runs < rec->n_runs) {
		size_t cap = MAX(s->cap_runs * 2, s->n_runs + rec->n_runs + 1024);
		struct page_run *runs = realloc(s->runs, cap * sizeof(*runs));
		if (!runs)
			return err_nomem(err);
		s->runs = runs;
		s->cap_runs = cap;
	}
	struct record *r = &s->all[s->n++];
	*r = *rec;
	r->run_from = s->n_runs;
	r->runs = NULL;
	if (rec->n_runs)
		memcpy(s->runs + s->n_runs, rec->runs, rec->n_runs * sizeof(*rec->runs));
	s->n_runs += rec->n_runs;
	if (r->ns == TIME_UNKNOWN && s->n > 1 && s->all[s->n - 2].source == r->source)
		r->ns = s->all[s->n - 2].ns; /* no time: as the record before it */
	return 0;
}

void order_done(struct records *s)
{
	free(s->all);
	free(s->runs);
	*s = (struct records){0};
}

static int place_cmp(const struct record *x, const struct record *y)
{
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return (x->off > y->off) - (x->off < y->off);
}

static int by_time(const void *a, const void *b)
{
	const struct record *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	if (x->has_seq != y->has_seq)
		return x->has_seq ? 1 : -1;
	if (x->has_seq && x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return place_cmp(x, y);
}

static int by_seq(const void *a, const void *b)
{
	const struct record *x = a, *y = b;
	if (!x->has_seq || !y->has_seq || x->seq == y->seq)
		return by_time(a, b);
	return x->seq < y->seq ? -1 : 1;
}

static bool same(const struct records *s, const struct record *x, const struct record *y)
{
	return x->ns == y->ns && x->has_seq && y->has_seq && x->seq == y->seq && x->op == y->op && x->pool == y->pool &&
	       x->rid == y->rid && x->room == y->room && x->n_runs == y->n_runs && x->tokens == y->tokens &&
	       x->page_size == y->page_size && x->pool_pages == y->pool_pages &&
	       (!x->n_runs || !memcmp(s->runs + x->run_from, s->runs + y->run_from, x->n_runs * sizeof(*s->runs)));
}

static size_t drop_duplicates(struct records *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++) {
		bool twice = false; /* of the records with this time and seq */
		for (size_t j = n; j > 0 && !twice && s->all[j - 1].ns == s->all[i].ns && s->all[i].has_seq &&
				   s->all[j - 1].has_seq && s->all[j - 1].seq == s->all[i].seq;
		     j--)
			twice = same(s, &s->all[j - 1], &s->all[i]);
		if (!twice)
			s->all[n++] = s->all[i];
	}
	size_t dropped = s->n - n;
	s->n = n;
	return dropped;
}

static int bound_cmp(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

int order_bounds(const struct records *s, uint32_t **ret, size_t *ret_n, struct err *err)
{
	uint32_t *at = malloc((2 * s->n_runs + 1) * sizeof(*at));
	size_t n = 0, kept = 0;
	if (!at)
		return err_nomem(err);
	for (size_t i = 0; i < s->n_runs; i++) {
		uint64_t first = s->runs[i].first, end = first + s->runs[i].count;
		if (end > POOL_MAX_PAGES) /* outside any pool */
			continue;
		at[n++] = (uint32_t)first;
		at[n++] = (uint32_t)end;
	}
	qsort(at, n, sizeof(*at), bound_cmp);
	for (size_t i = 0; i < n; i++)
		if (!kept || at[kept - 1] != at[i])
			at[kept++] = at[i];
	*ret = at;
	*ret_n = kept;
	return 0;
}

/* End of the boot that begins at `from`, in time order. */
static int boot_end(const struct records *s, size_t from, size_t *ret, struct err *err)
{
	struct map used = {0};
	int64_t least = INT64_MAX, most = INT64_MIN;
	int rc = 0;
	size_t i = from;
	for (; rc == 0 && i < s->n; i++) {
		const struct record *x = &s->all[i];
		if (!x->has_seq) {
			if (x->op == OP_BOOT && i > from)
				break;
			continue;
		}
		uint64_t key = (uint64_t)x->seq & (UINT64_MAX >> 1);
		if (least <= most) { /* not the first */
			bool back = x->seq <= most;
			if (back && x->op == OP_BOOT)
				break;
			bool clash = i > from && s->all[i - 1].has_seq && s->all[i - 1].ns == x->ns &&
				     s->all[i - 1].seq == x->seq;
			if (back && !clash && (map_find(&used, key) || (x->seq < least && most - x->seq > RACE_MAX)))
				break;
		}
		least = MIN(least, x->seq);
		most = MAX(most, x->seq);
		rc = map_put(&used, key, 1, err);
	}
	map_done(&used);
	*ret = i;
	return rc;
}

int order_feed(struct records *s, struct run *r, uint64_t *duplicates, struct err *err)
{
	if (!s->n)
		return 0;
	qsort(s->all, s->n, sizeof(*s->all), by_time);
	*duplicates += drop_duplicates(s);
	for (size_t from = 0, to; from < s->n; from = to) {
		int rc = boot_end(s, from, &to, err);
		if (rc < 0)
			return rc;
		bool numbered = true;
		for (size_t i = from; i < to; i++)
			numbered &= s->all[i].has_seq;
		if (numbered)
			qsort(s->all + from, to - from, sizeof(*s->all), by_seq);
		for (size_t i = from; i < to; i++) {
			struct record *x = &s->all[i];
			bool doubt = i > from && x->has_seq && s->all[i - 1].has_seq && s->all[i - 1].seq == x->seq;
			x->runs = x->n_runs ? s->runs + x->run_from : NULL;
			rc = run_feed(r, x, doubt, err);
			if (rc < 0)
				return rc;
		}
	}
	return 0;
}
