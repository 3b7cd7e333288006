/* SPDX-License-Identifier: Apache-2.0 */
/* bands_group.c - pages that fared alike are one band
 *
 * The bounds of all runs cut the pages into intervals; every page of one fared alike. A sweep over the bounds gives each
 * interval a sign: the sum of what acts on it, each act counted once. Intervals of one sign are a band, wherever they lie. Where
 * that gives too many bands, times no longer tell acts apart; and where there are still too many, those with the fewest pages
 * are one.
 */
#include <stdlib.h>
#include <string.h>

#include "bands.h"

struct bound {
	uint32_t page, act;
	bool end;
};

static int page_cmp(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static int bound_cmp(const void *a, const void *b)
{
	const struct bound *x = a, *y = b;
	return (x->page > y->page) - (x->page < y->page);
}

/* What tells acts apart. Reads of its own happen all the time: when does not matter. */
static uint64_t act_of(const struct bands_item *item, uint32_t level)
{
	uint64_t key[4] = {item->what, item->party, item->kind, 0};
	if (level == 0 && item->what != PAGES_READ)
		key[3] = (uint64_t)item->from;
	return text_hash((struct text){(const char *)key, sizeof(key)});
}

static bool on_pages(const struct bands_item *item, uint32_t panel)
{
	return item->panel == panel && item->first < item->end;
}

struct act {
	uint64_t hash;
	size_t item;
};

static int act_cmp(const void *a, const void *b)
{
	const struct act *x = a, *y = b;
	return x->hash != y->hash ? (x->hash > y->hash ? 1 : -1) : (x->item > y->item) - (x->item < y->item);
}

/* Bounds of the panel's runs, each with the number of its act; *ret_hashes: by act. */
static int bounds_of(const struct bands *p, uint32_t panel, uint32_t level, struct bound **ret, size_t *ret_n,
		     uint64_t **ret_hashes, struct err *err)
{
	size_t n = 0, k = 0;
	for (size_t i = 0; i < p->n_items; i++)
		n += on_pages(&p->items[i], panel);
	struct act *acts = malloc((n + 1) * sizeof(*acts));
	struct bound *bounds = malloc((2 * n + 1) * sizeof(*bounds));
	uint64_t *hashes = malloc((n + 1) * sizeof(*hashes));
	if (!acts || !bounds || !hashes) {
		free(acts);
		free(bounds);
		free(hashes);
		return err_nomem(err);
	}
	for (size_t i = 0; i < p->n_items; i++)
		if (on_pages(&p->items[i], panel))
			acts[k++] = (struct act){act_of(&p->items[i], level), i};
	qsort(acts, n, sizeof(*acts), act_cmp);
	uint32_t number = 0;
	for (size_t i = 0; i < n; i++) {
		const struct bands_item *item = &p->items[acts[i].item];
		number += i && acts[i].hash != acts[i - 1].hash;
		hashes[number] = acts[i].hash;
		bounds[2 * i] = (struct bound){item->first, number, false};
		bounds[2 * i + 1] = (struct bound){item->end, number, true};
	}
	free(acts);
	qsort(bounds, 2 * n, sizeof(*bounds), bound_cmp);
	*ret = bounds;
	*ret_n = 2 * n;
	*ret_hashes = hashes;
	return 0;
}

/* --- bands --- */

struct interval {
	uint64_t sign;
	uint32_t number; /* edges[number] to edges[number + 1] */
};

static int interval_cmp(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;
	return x->sign != y->sign ? (x->sign > y->sign ? 1 : -1) : page_cmp(&x->number, &y->number);
}

/* Intervals with something on them, by sign. Sums of hashes need no order. */
static int intervals_of(struct panel *panel, const struct bound *bounds, size_t n, const uint64_t *hashes,
			struct interval **ret, size_t *ret_n, struct err *err)
{
	uint32_t *open = calloc(n + 1, sizeof(*open));
	uint32_t *edges = malloc((n + 1) * sizeof(*edges));
	struct interval *list = malloc((n + 1) * sizeof(*list));
	if (!open || !edges || !list) {
		free(open);
		free(edges);
		free(list);
		return err_nomem(err);
	}
	uint64_t sign = 0, live = 0;
	uint32_t n_edges = 0;
	*ret_n = 0;
	for (size_t i = 0; i < n;) {
		uint32_t page = bounds[i].page;
		for (; i < n && bounds[i].page == page; i++) {
			uint32_t *count = &open[bounds[i].act];
			uint32_t was = *count;
			*count +=
			    bounds[i].end ? UINT32_MAX : 1; /* an end before its beginning: below zero, and back */
			bool before = was != 0, after = *count != 0;
			if (before != after) {
				sign += after ? hashes[bounds[i].act] : 0 - hashes[bounds[i].act];
				live += after ? 1 : UINT64_MAX;
			}
		}
		edges[n_edges] = page;
		if (live)
			list[(*ret_n)++] = (struct interval){sign, n_edges};
		n_edges++;
	}
	free(open);
	free(panel->edges);
	panel->edges = edges;
	panel->n_edges = n_edges;
	qsort(list, *ret_n, sizeof(*list), interval_cmp);
	*ret = list;
	return 0;
}

static int span_add(struct panel *panel, struct band *b, uint32_t number, struct err *err)
{
	if (b->n_spans == b->cap_spans) {
		uint32_t cap = b->cap_spans ? b->cap_spans * 2 : 16;
		uint32_t *more = realloc(b->spans, cap * sizeof(*more));
		if (!more)
			return err_nomem(err);
		b->spans = more;
		b->cap_spans = cap;
	}
	b->spans[b->n_spans++] = number;
	b->pages += panel->edges[number + 1] - panel->edges[number];
	return 0;
}

static void bands_drop(struct panel *panel)
{
	for (uint32_t i = 0; i < panel->n_bands; i++)
		free(panel->bands[i].spans);
	panel->n_bands = 0;
}

struct fate { /* intervals of one sign: list[from] to list[end] */
	uint64_t pages;
	size_t from, end;
};

static int fate_cmp(const void *a, const void *b)
{
	const struct fate *x = a, *y = b;
	return x->pages != y->pages ? (x->pages > y->pages ? -1 : 1) : (x->from > y->from) - (x->from < y->from);
}

/* The largest have a band each, the rest one together. */
static int bands_share(struct panel *panel, const struct interval *list, const struct fate *fates, size_t n,
		       struct err *err)
{
	size_t own = n > BANDS_MAX ? BANDS_MAX - 1 : n;
	int rc = 0;
	for (size_t i = 0; !rc && i < n; i++) {
		struct band *b = &panel->bands[MIN(i, own)];
		if (i <= own) {
			*b = (struct band){.rest = i == own};
			panel->n_bands = (uint32_t)i + 1;
		}
		for (size_t k = fates[i].from; !rc && k < fates[i].end; k++)
			rc = span_add(panel, b, list[k].number, err);
	}
	return rc;
}

static int bands_of(struct panel *panel, const struct interval *list, size_t n, uint32_t *ret_fates, struct err *err)
{
	struct fate *fates = malloc((n + 1) * sizeof(*fates));
	size_t n_fates = 0;
	if (!fates)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		if (!i || list[i].sign != list[i - 1].sign)
			fates[n_fates++] = (struct fate){0, i, i};
		fates[n_fates - 1].end = i + 1;
		fates[n_fates - 1].pages += panel->edges[list[i].number + 1] - panel->edges[list[i].number];
	}
	*ret_fates = (uint32_t)n_fates;
	qsort(fates, n_fates, sizeof(*fates), fate_cmp);
	int rc = bands_share(panel, list, fates, n_fates, err);
	free(fates);
	return rc;
}

static int band_cmp(const void *a, const void *b)
{
	const struct band *x = a, *y = b;
	return x->rest != y->rest ? x->rest - y->rest : page_cmp(&x->first_page, &y->first_page);
}

/* Runs: intervals that touch are one. The band's place is that of its first page. */
static void bands_order(struct panel *panel)
{
	for (uint32_t i = 0; i < panel->n_bands; i++) {
		struct band *b = &panel->bands[i];
		qsort(b->spans, b->n_spans, sizeof(*b->spans), page_cmp);
		b->first_page = panel->edges[b->spans[0]];
		b->runs = 1;
		for (uint32_t k = 1; k < b->n_spans; k++)
			b->runs += b->spans[k] != b->spans[k - 1] + 1;
	}
	qsort(panel->bands, panel->n_bands, sizeof(*panel->bands), band_cmp);
}

static int panel_bands(struct bands *p, uint32_t number, struct err *err)
{
	struct panel *panel = &p->panels[number];
	int rc = 0;
	for (uint32_t level = 0; !rc && level < 2; level++) {
		struct bound *bounds = NULL;
		uint64_t *hashes = NULL;
		struct interval *list = NULL;
		size_t n_bounds = 0, n = 0;
		uint32_t fates = 0;
		bands_drop(panel);
		rc = bounds_of(p, number, level, &bounds, &n_bounds, &hashes, err);
		if (!rc)
			rc = intervals_of(panel, bounds, n_bounds, hashes, &list, &n, err);
		if (!rc)
			rc = bands_of(panel, list, n, &fates, err);
		free(bounds);
		free(hashes);
		free(list);
		panel->level = level;
		if (level == 0)
			panel->fates = fates;
		if (fates <= BANDS_MAX)
			break;
	}
	if (!rc)
		bands_order(panel);
	return rc;
}

/* --- what is in a band --- */

static bool touches(const struct panel *panel, const struct band *b, const struct bands_item *item)
{
	uint32_t from = 0, end = b->n_spans; /* the first span that ends behind the item's first page */
	while (from < end) {
		uint32_t mid = from + (end - from) / 2;
		if (panel->edges[b->spans[mid] + 1] <= item->first)
			from = mid + 1;
		else
			end = mid;
	}
	return from < b->n_spans && panel->edges[b->spans[from]] < item->end;
}

static void owner_add(struct band *b, const struct bands_item *item)
{
	for (uint32_t i = 0; i < b->n_owner; i++)
		if (b->owner[i].party == item->party && b->owner[i].kind == item->kind)
			return;
	if (b->n_owner == BAND_OWNERS)
		return;
	b->owner[b->n_owner].party = item->party;
	b->owner[b->n_owner].kind = item->kind;
	b->owner[b->n_owner].wrote = item->wrote;
	b->owner[b->n_owner].from = item->from;
	b->owner[b->n_owner].to = item->to;
	b->owner[b->n_owner++].sure = item->sure;
}

/* Each party once a band. */
static void count_party(struct bands *p, struct band *b, uint32_t stamp, const struct bands_item *item)
{
	if (item->party == PAGES_NOBODY || p->parties[item->party].seen == stamp)
		return;
	p->parties[item->party].seen = stamp;
	if (item->what == PAGES_FROM)
		b->n_owners++;
	else
		b->n_readers++;
}

static void reach_add(struct reach *r, const struct bands_item *item)
{
	int64_t last = item->to != TIME_UNKNOWN && item->what >= PAGES_FROM ? item->to : item->from;
	r->n++;
	if (item->from == TIME_UNKNOWN)
		return;
	r->first = r->first == TIME_UNKNOWN ? item->from : MIN(r->first, item->from);
	r->last = r->last == TIME_UNKNOWN ? last : MAX(r->last, last);
}

static void panel_fill(struct bands *p, uint32_t number)
{
	struct panel *panel = &p->panels[number];
	for (uint32_t k = 0; k < panel->n_bands; k++) {
		struct band *b = &panel->bands[k];
		for (int w = 0; w < PAGES_WHATS; w++)
			b->op[w] = (struct reach){TIME_UNKNOWN, TIME_UNKNOWN, 0};
		for (size_t i = 0; i < p->n_items; i++) {
			const struct bands_item *item = &p->items[i];
			if (!on_pages(item, number) || !touches(panel, b, item))
				continue;
			reach_add(&b->op[item->what], item);
			if (item->what == PAGES_FROM)
				owner_add(b, item);
			if (item->what == PAGES_FROM || item->what == PAGES_BY)
				count_party(p, b, number * (BANDS_MAX + 1) + k + 1, item);
		}
	}
}

int bands_group(struct bands *p, struct err *err)
{
	int rc = 0;
	for (uint32_t i = 0; !rc && i < p->n_panels; i++) {
		rc = panel_bands(p, i, err);
		if (!rc)
			panel_fill(p, i);
	}
	return rc;
}
