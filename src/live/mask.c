/* SPDX-License-Identifier: Apache-2.0 */
/* mask.c - takes keys out of what comes back, in whatever common spelling they stand there
 *
 * Escapes are undone in layers (a document inside of a string of another is escaped twice) beside a map of where each byte came from;
 * what is found in a layer is overwritten in the bytes that came.
 */
#include "mask.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/limits.h"
#include "pagetrail/spelling.h"

static int hex(const char *p, size_t n, unsigned digits)
{
	int v = 0;
	if (n < digits)
		return -1;
	for (unsigned i = 0; i < digits; i++) {
		int c = tolower((unsigned char)p[i]);
		if (!isxdigit(c))
			return -1;
		v = v * 16 + (c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return v;
}

static size_t undo_json(const char *p, size_t n, char to[4], size_t *ret_n)
{
	static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
	const char *at = n >= 2 && p[1] ? strchr(letters, p[1]) : NULL;
	if (at) {
		to[0] = bytes[at - letters];
		return 2;
	}
	int high = n >= 2 && p[1] == 'u' ? hex(p + 2, n - 2, 4) : -1, low = -1;
	if (high < 0)
		return 0;
	if (high >= 0xd800 && high < 0xdc00 && n >= 12 && p[6] == '\\' && p[7] == 'u')
		low = hex(p + 8, n - 8, 4);
	bool pair = low >= 0xdc00 && low < 0xe000;
	*ret_n = text_put_utf8(to, pair ? 0x10000u + (((unsigned)high - 0xd800u) << 10) + ((unsigned)low - 0xdc00u)
					: (unsigned)high);
	return pair ? 12 : 6;
}

/* Of HTML: what quotes, and marks a tag. */
static size_t undo_entity(const char *p, size_t n, char to[4])
{
	static const struct {
		const char *text;
		char as;
	} entities[] = {{"&quot;", '"'},  {"&#34;", '"'}, {"&#x22;", '"'}, {"&apos;", '\''}, {"&#39;", '\''},
			{"&#x27;", '\''}, {"&lt;", '<'},  {"&gt;", '>'},   {"&amp;", '&'}};
	for (size_t i = 0; i < ARRAY_SIZE(entities); i++)
		if (text_starts((struct text){p, n}, entities[i].text)) {
			to[0] = entities[i].as;
			return strlen(entities[i].text);
		}
	return 0;
}

/* One escape: how long it is; 0: none is there. It is never shorter than what it stands for. */
static size_t undo(const char *p, size_t n, unsigned how, char to[4], size_t *ret_n)
{
	*ret_n = 1;
	if (how & MASK_PERCENT && *p == '%' && hex(p + 1, n - 1, 2) >= 0) {
		to[0] = (char)hex(p + 1, n - 1, 2);
		return 3;
	}
	if (how & MASK_NUL && !*p) {
		*ret_n = 0;
		return 1;
	}
	if (how & MASK_ENTITY && *p == '&')
		return undo_entity(p, n, to);
	return how & MASK_JSON && *p == '\\' ? undo_json(p, n, to, ret_n) : 0;
}

bool mask_peel(struct layer *l, unsigned how)
{
	size_t to = 0;
	bool changed = false;
	for (size_t at = 0; at < l->n;) {
		char bytes[4] = {l->p[at]};
		size_t n = 1, len = undo(l->p + at, l->n - at, how, bytes, &n), from = l->map[at];
		changed = changed || len;
		at += len ? len : 1;
		for (size_t i = 0; i < n; i++, to++) {
			l->p[to] = bytes[i];
			l->map[to] = from;
		}
	}
	l->map[to] = l->map[l->n];
	l->n = to;
	return changed;
}

static size_t mask_layer(const struct live_headers *h, const struct layer *l, char *p)
{
	size_t masked = 0;
	for (size_t i = 0; i < h->n_needles; i++) {
		struct text s = h->needles[i];
		const char *at = l->p, *end = l->p + l->n;
		while (at < end && (at = memmem(at, (size_t)(end - at), s.ptr, s.len))) {
			size_t from = l->map[at - l->p], to = l->map[(size_t)(at - l->p) + s.len];
			/* what another spelling found already is counted once */
			for (size_t k = from; k < to; k++)
				if (p[k] != 'x') {
					masked++;
					break;
				}
			memset(p + from, 'x', to - from);
			at += s.len;
		}
	}
	return masked;
}

size_t live_mask(const struct live_headers *h, char *p, size_t n)
{
	static const char *const ways[] = {"", "j", "jj", "jjj", "p", "pp", "b", "bb", "bbb"}; /* JSON, percent, both */
	size_t masked = 0;
	if (!h || !n || !h->n_needles)
		return 0;
	struct layer l = {.p = malloc(n), .map = calloc(n + 1, sizeof(size_t))};
	if (!l.p || !l.map) { /* nothing is kept that could not be looked through */
		memset(p, 'x', n);
		masked = 1;
	}
	for (size_t i = 0; l.p && l.map && i < ARRAY_SIZE(ways); i++) {
		bool changed = true;
		memcpy(l.p, p, l.n = n);
		for (size_t k = 0; k <= n; k++)
			l.map[k] = k;
		for (const char *w = ways[i]; *w && changed; w++)
			changed = mask_peel(&l, (*w != 'p' ? MASK_JSON : 0) | (*w != 'j' ? MASK_PERCENT : 0));
		if (changed)
			masked += mask_layer(h, &l, p);
	}
	if (l.p)
		explicit_bzero(l.p, n);
	free(l.p);
	free(l.map);
	return masked;
}

static int take_needle(void *ctx, const struct spelled *s)
{
	struct live_headers *h = ctx;
	/* escapes are undone where they stand */
	if (s->how == SPELLED_JSON || s->how == SPELLED_PERCENT || h->n_needles == LIVE_NEEDLES_MAX)
		return 0;
	struct text t = arena_text(&h->arena, s->text);
	if (!t.ptr)
		return ERR_NOMEM;
	h->needles[h->n_needles++] = t;
	return 0;
}

int live_mask_learn(struct live_headers *h, struct err *err)
{
	h->needles = arena_array(&h->arena, LIVE_NEEDLES_MAX, sizeof(*h->needles));
	int rc = h->needles ? 0 : err_nomem(err);
	for (size_t i = 0; !rc && i < h->n_secrets; i++)
		rc = spellings_of(h->secrets[i], take_needle, h, err);
	return rc;
}
