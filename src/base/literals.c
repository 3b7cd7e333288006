/* SPDX-License-Identifier: Apache-2.0 */
/* literals.c - literals.h: long strings by their blocks, short ones by Hyperscan (or Vectorscan, which has the same interface)
 *
 * For strings from BLOCKS_MIN on, which markers and most of their spellings are, blocks are compiled in a twentieth of the time and
 * searched faster.
 */
#include "literal_blocks.h"

#include <hs.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/err.h"

/* What the library looks for are windows of WINDOW bytes, which is what it compiles and finds fastest: of each string the one that the
 * fewest others have, or all of a short one. Whether the whole string stands around one is looked up here, among the strings that would
 * stand at the same place. */
enum { WINDOW = 8, COUNT_BITS = 22 };

struct window {
	struct text text;
	uint32_t which, behind; /* string; its bytes behind the window */
	uint32_t next;          /* the first that is of another window, place or length */
};

struct literals {
	hs_database_t *db;
	struct text *list;
	struct literal_blocks *blocks;
	struct window *windows; /* of short strings, by their text: an id is that of the first of equal ones */
	size_t n;               /* windows */
};

struct literals_thread {
	hs_scratch_t *scratch;
};

static int fault(struct err *err, hs_error_t e, const char *what)
{
	if (e == HS_NOMEM)
		return err_nomem(err);
	if (e == HS_ARCH_ERROR)
		return err_set(err, ERR_LIMIT, "this CPU cannot search for many strings at once (SSSE3 is needed)");
	return err_set(err, ERR_BUG, "%s: fault %d of the search library", what, (int)e);
}

static bool is_short(struct text t)
{
	return t.len < BLOCKS_MIN;
}

static size_t place_count(struct text t)
{
	return t.len - WINDOW + 1;
}

static size_t place(struct text t, size_t i)
{
	return t.len - WINDOW - i;
}

static unsigned char *count_of(unsigned char *counts, struct text t, size_t i)
{
	return &counts[text_hash(text_sub(t, place(t, i), WINDOW)) >> (64 - COUNT_BITS)];
}

/* How many strings have it is only estimated: one that is taken for more common than it is, does no harm. */
static struct text rarest(unsigned char *counts, struct text t)
{
	size_t best = 0;
	for (size_t i = 1; i < place_count(t); i++)
		if (*count_of(counts, t, i) < *count_of(counts, t, best))
			best = i;
	return text_sub(t, place(t, best), WINDOW);
}

static int by_number(size_t a, size_t b)
{
	return a < b ? -1 : a > b;
}

/* By window, place and length, then by the whole strings. */
static int by_place(const struct text *list, const struct window *x, const struct window *y)
{
	int c = text_cmp(x->text, y->text);
	if (!c)
		c = by_number(x->behind, y->behind);
	return c ? c : by_number(list[x->which].len, list[y->which].len);
}

static int by_text(const void *a, const void *b, void *ctx)
{
	const struct window *x = a, *y = b;
	const struct text *list = ctx;
	int c = by_place(list, x, y);
	if (!c)
		c = text_cmp(list[x->which], list[y->which]);
	return c ? c : by_number(x->which, y->which);
}

static struct window window_of(const struct text *list, size_t which, struct text w)
{
	const struct text *t = &list[which];
	return (struct window){w, (uint32_t)which, (uint32_t)(t->ptr + t->len - w.ptr - w.len), 0};
}

static int choose_windows(struct literals *l, size_t n_list, struct err *err)
{
	size_t n = 0;
	unsigned char *counts = calloc(1, (size_t)1 << COUNT_BITS);
	l->windows = calloc(l->n, sizeof(*l->windows));
	if (!counts || !l->windows) {
		free(counts);
		return err_nomem(err);
	}
	for (size_t i = 0; i < n_list; i++)
		for (size_t k = 0; is_short(l->list[i]) && l->list[i].len > WINDOW && k < place_count(l->list[i]);
		     k++) {
			unsigned char *count = count_of(counts, l->list[i], k);
			*count += *count < UINT8_MAX;
		}
	for (size_t i = 0; i < n_list; i++)
		if (is_short(l->list[i]))
			l->windows[n++] =
			    window_of(l->list, i, l->list[i].len > WINDOW ? rarest(counts, l->list[i]) : l->list[i]);
	free(counts);
	qsort_r(l->windows, l->n, sizeof(*l->windows), by_text, l->list);
	for (size_t i = 0, k; i < l->n; i = k) {
		for (k = i + 1; k < l->n && !by_place(l->list, &l->windows[k], &l->windows[i]);)
			k++;
		for (size_t m = i; m < k; m++)
			l->windows[m].next = (uint32_t)k;
	}
	return 0;
}

static int compile(struct literals *l, size_t n_list, struct err *err)
{
	hs_error_t able = hs_valid_platform();
	if (able != HS_SUCCESS)
		return fault(err, able, "platform");
	const char **texts = calloc(l->n, sizeof(*texts));
	size_t *lens = calloc(l->n, sizeof(*lens)), n = 0;
	unsigned *ids = calloc(l->n, sizeof(*ids));
	hs_compile_error_t *why = NULL;
	int rc = texts && lens && ids ? choose_windows(l, n_list, err) : err_nomem(err);
	for (size_t i = 0; rc == 0 && i < l->n; i++) {
		if (i && text_eq(l->windows[i].text, l->windows[i - 1].text))
			continue;
		texts[n] = l->windows[i].text.ptr;
		lens[n] = l->windows[i].text.len;
		ids[n++] = (unsigned)i;
	}
	if (rc == 0) {
		hs_error_t e =
		    hs_compile_lit_multi(texts, NULL, ids, lens, (unsigned)n, HS_MODE_BLOCK, NULL, &l->db, &why);
		if (e != HS_SUCCESS)
			rc = e == HS_COMPILER_ERROR && why
				 ? err_set(err, ERR_BUG, "the search library does not take the strings: %s",
					   why->message)
				 : fault(err, e, "strings to search for");
		hs_free_compile_error(why);
	}
	free(texts);
	free(lens);
	free(ids);
	return rc;
}

int literals_compile(struct literals **ret, const struct text *list, size_t n, struct err *err)
{
	struct literals *l = calloc(1, sizeof(*l));
	int rc = l ? 0 : err_nomem(err);
	if (rc == 0 && n) {
		l->list = malloc(n * sizeof(*l->list));
		rc = l->list ? 0 : err_nomem(err);
	}
	if (rc == 0 && n) {
		memcpy(l->list, list, n * sizeof(*l->list));
		for (size_t i = 0; i < n; i++)
			l->n += is_short(list[i]);
		rc = literal_blocks_make(&l->blocks, l->list, n, err);
	}
	if (rc == 0 && l->n) /* without short strings nothing is compiled */
		rc = compile(l, n, err);
	if (rc < 0) {
		literals_free(l);
		return rc;
	}
	*ret = l;
	return 0;
}

void literals_free(struct literals *l)
{
	if (!l)
		return;
	hs_free_database(l->db);
	literal_blocks_free(l->blocks);
	free(l->windows);
	free(l->list);
	free(l);
}

int literals_thread_new(struct literals_thread **ret, const struct literals *l, struct err *err)
{
	struct literals_thread *t = calloc(1, sizeof(*t));
	if (!t)
		return err_nomem(err);
	hs_error_t e = l->db ? hs_alloc_scratch(l->db, &t->scratch) : HS_SUCCESS;
	if (e != HS_SUCCESS) {
		literals_thread_free(t);
		return fault(err, e, "scratch");
	}
	*ret = t;
	return 0;
}

void literals_thread_free(struct literals_thread *t)
{
	if (!t)
		return;
	hs_free_scratch(t->scratch);
	free(t);
}

struct search {
	const struct literals *l;
	struct text bytes;
	int (*found)(void *ctx, size_t which, size_t end);
	void *ctx;
	int rc;
};

/* The first of the strings from..to, which have one length, that is not less than these bytes. */
static size_t lower(const struct literals *l, size_t from, size_t to, const char *bytes, size_t len)
{
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (memcmp(l->list[l->windows[middle].which].ptr, bytes, len) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static int on_match(unsigned id, unsigned long long from, unsigned long long to, unsigned flags, void *ctx)
{
	struct search *s = ctx;
	const struct literals *l = s->l;
	const struct window *w = &l->windows[id];
	(void)from;
	(void)flags;
	for (size_t i = id, next; i < l->n && s->rc == 0 && text_eq(l->windows[i].text, w->text); i = next) {
		size_t len = l->list[l->windows[i].which].len, end = (size_t)to + l->windows[i].behind;
		next = l->windows[i].next;
		if (end > s->bytes.len || end < len)
			continue;
		const char *bytes = s->bytes.ptr + end - len;
		for (size_t k = lower(l, i, next, bytes, len);
		     k < next && s->rc == 0 && !memcmp(l->list[l->windows[k].which].ptr, bytes, len); k++)
			s->rc = s->found(s->ctx, l->windows[k].which, end);
	}
	return s->rc != 0;
}

int literals_search(const struct literals *l, struct literals_thread *t, struct text bytes,
		    int (*found)(void *ctx, size_t which, size_t end), void *ctx, struct err *err)
{
	struct search s = {.l = l, .bytes = bytes, .found = found, .ctx = ctx};
	if (bytes.len > INT32_MAX)
		return err_set(err, ERR_BUG, "more bytes than are searched at once");
	int rc = l->blocks ? literal_blocks_search(l->blocks, bytes, found, ctx) : 0;
	if (rc || !l->db || !bytes.len)
		return rc;
	hs_error_t e = hs_scan(l->db, bytes.ptr, (unsigned)bytes.len, 0, t->scratch, on_match, &s);
	if (e == HS_SCAN_TERMINATED)
		return s.rc;
	return e == HS_SUCCESS ? 0 : fault(err, e, "search");
}
