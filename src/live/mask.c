/* SPDX-License-Identifier: Apache-2.0 */
/* mask.c - takes keys out of what comes back, in whatever common spelling they stand there
 *
 * Escapes are undone in layers (a document inside of a string of another is escaped twice) beside a map of where each byte came from;
 * what is found in a layer is overwritten in the bytes that came.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/limits.h"
#include "pagetrail/live.h"
#include "pagetrail/spelling.h"

struct layer {
	char *p;
	size_t *map; /* n + 1: where each byte begins in what came, and the end */
	size_t n;
};

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

/* One escape of JSON, or of a URL: how long it is; 0: none is there. It is never shorter than what it stands for. */
static size_t undo(const char *p, size_t n, bool json, bool percent, char to[4], size_t *ret_n)
{
	*ret_n = 1;
	if (percent && *p == '%' && hex(p + 1, n - 1, 2) >= 0) {
		to[0] = (char)hex(p + 1, n - 1, 2);
		return 3;
	}
	if (!json || *p != '\\' || n < 2)
		return 0;
	static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
	const char *at = p[1] ? strchr(letters, p[1]) : NULL;
	if (at) {
		to[0] = bytes[at - letters];
		return 2;
	}
	int high = p[1] == 'u' ? hex(p + 2, n - 2, 4) : -1, low = -1;
	if (high < 0)
		return 0;
	if (high >= 0xd800 && high < 0xdc00 && n >= 12 && p[6] == '\\' && p[7] == 'u')
		low = hex(p + 8, n - 8, 4);
	bool pair = low >= 0xdc00 && low < 0xe000;
	*ret_n = text_put_utf8(to, pair ? 0x10000u + (((unsigned)high - 0xd800u) << 10) + ((unsigned)low - 0xdc00u)
					: (unsigned)high);
	return pair ? 12 : 6;
}

/* In place. Did anything change? */
static bool peel(struct layer *l, bool json, bool percent)
{
	size_t to = 0;
	bool changed = false;
	for (size_t at = 0; at < l->n;) {
		char bytes[4] = {l->p[at]};
		size_t n = 1, len = undo(l->p + at, l->n - at, json, percent, bytes, &n), from = l->map[at];
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
			changed = peel(&l, *w != 'p', *w != 'j');
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

/* --- what is a key by its name --- */

/* SGLang's arguments that /server_info repeats (srt/server_args.py: api_key, admin_api_key, ssl_keyfile_password), and what
 * tools around engines call theirs. A tokenizer's bos_token and its like are none, nor are counts of tokens. */
static bool key_name(struct text t)
{
	static const char *const anywhere[] = {"api_key", "apikey", "password", "secret"};
	static const char *const words[] = {"bos_token", "eos_token",  "pad_token",   "unk_token",   "sep_token",
					    "cls_token", "mask_token", "image_token", "video_token", "audio_token"};
	struct layer l;
	char name[256];
	size_t map[257];
	l = (struct layer){name, map, MIN(t.len, sizeof(name))};
	memcpy(name, t.ptr, l.n);
	for (size_t i = 0; i <= l.n; i++)
		map[i] = i;
	peel(&l, true, false);
	for (size_t i = 0; i < l.n; i++)
		name[i] = (char)(name[i] == '-' ? '_' : tolower((unsigned char)name[i]));
	t = (struct text){name, l.n};
	for (size_t i = 0; i < ARRAY_SIZE(anywhere); i++)
		if (text_find(t, anywhere[i], 0) != SIZE_MAX)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (text_is(t, words[i]))
			return false;
	return t.len >= 5 && text_is(text_from(t, t.len - 5), "token");
}

static size_t skip_blanks(const char *p, size_t at, size_t n)
{
	while (at < n && (p[at] == ' ' || p[at] == '\t' || p[at] == '\n' || p[at] == '\r'))
		at++;
	return at;
}

static size_t string_end(const char *p, size_t at, size_t n)
{
	while (at < n && p[at] != '"')
		at += p[at] == '\\' ? 2 : 1;
	return MIN(at, n);
}

static size_t wipe(char *p, size_t from, size_t end)
{
	memset(p + from, 'x', end - from);
	return end > from;
}

/* A value, or a list of them: every string of it. */
static size_t mask_value(char *p, size_t at, size_t n, size_t *ret_end)
{
	size_t masked = 0, end;
	bool list = at < n && p[at] == '[';
	for (at += list; at < n; at = skip_blanks(p, at, n)) {
		if (p[at] == '"') {
			end = string_end(p, at + 1, n);
			masked += wipe(p, at + 1, end);
			at = MIN(end + 1, n);
		} else if (list && p[at] != ']') {
			at++;
		} else {
			break;
		}
		if (!list)
			break;
	}
	*ret_end = at;
	return masked;
}

static bool option_byte(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_';
}

/* "--api-key VALUE" and "--api-key=VALUE" inside of a string; *ret_open: the value is the next string of the list. */
static size_t mask_options(char *p, size_t at, size_t end, bool *ret_open)
{
	size_t masked = 0;
	*ret_open = false;
	for (; at + 2 < end; at++) {
		if (p[at] != '-' || p[at + 1] != '-')
			continue;
		size_t name = at += 2;
		while (at < end && option_byte(p[at]))
			at++;
		if (!key_name((struct text){p + name, at - name}))
			continue;
		if (at == end) {
			*ret_open = true;
			break;
		}
		if (p[at] != '=' && p[at] != ' ')
			continue;
		while (at < end && (p[at] == '=' || p[at] == ' '))
			at++;
		char quote = at < end && p[at] == '\\' && at + 1 < end ? p[at + 1] : at < end ? p[at] : 0;
		size_t from = at;
		if (quote == '"' || quote == '\'') {
			at += p[at] == '\\' ? 2 : 1;
			while (at < end && p[at] != quote)
				at++;
		}
		while (at < end && p[at] != ' ')
			at++;
		masked += wipe(p, from, at);
	}
	return masked;
}

/* "name" : "value", wherever it stands; strings are passed over whole, so that a value imitates no member. */
size_t live_mask_members(char *p, size_t n)
{
	size_t masked = 0;
	for (size_t at = 0; at < n; at++) {
		bool open = false;
		if (p[at] != '"')
			continue;
		size_t from = at + 1, end = string_end(p, from, n), next = skip_blanks(p, end + 1, n);
		at = end;
		if (next < n && p[next] == ':' && key_name((struct text){p + from, end - from})) {
			masked += mask_value(p, skip_blanks(p, next + 1, n), n, &next);
			at = next - 1;
			continue;
		}
		masked += mask_options(p, from, end, &open);
		if (open && next < n && p[next] == ',') {
			next = skip_blanks(p, next + 1, n);
			if (next < n && p[next] == '"') {
				masked += mask_value(p, next, n, &next);
				at = next - 1;
			}
		}
	}
	return masked;
}
