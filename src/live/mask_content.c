/* SPDX-License-Identifier: Apache-2.0 */
/* mask_content.c - takes out what is a secret by its name or its form, whatever was asked for and with whatever status it came
 *
 * JSON is gone through by members, and each of its strings as text; anything else is text. In text a secret is what stands
 * behind its name (NAME=VALUE, name: 'value', --name VALUE, <name>VALUE</name>), a key by its form (secret_find), the user part
 * of a URL, and a private key. Bytes are overwritten in their places: JSON stays JSON, and each length what it was.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "mask.h"
#include "pagetrail/json.h"
#include "pagetrail/secret.h"

enum { DIGITS_MIN = 4 }; /* shorter numbers are counts, and no secret either */

struct masker {
	char *p; /* what came */
	size_t n, masked;
	struct layer l; /* of the piece that is looked at */
};

/* --- text --- */

static struct text layer_text(const struct masker *m, size_t from, size_t end)
{
	return (struct text){m->l.p + from, end - from};
}

static void wipe(struct masker *m, size_t from, size_t end)
{
	size_t a = m->l.map[from], b = m->l.map[end];
	for (size_t k = a; k < b; k++)
		if (m->p[k] != 'x') { /* what another spelling found already is counted once */
			m->masked++;
			break;
		}
	memset(m->p + a, 'x', b - a);
	memset(m->l.p + from, 'x', end - from);
}

static void wipe_value(struct masker *m, size_t from, size_t end, enum secret_name name)
{
	if (!secret_value_is_none(layer_text(m, from, end), name))
		wipe(m, from, end);
}

static bool quote(char c)
{
	return c == '"' || c == '\'' || c == '`';
}

static bool gap(char c)
{
	return c == ' ' || c == '\t';
}

static bool line_end(char c)
{
	return c == '\n' || c == '\r';
}

static bool name_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* Up to the quote that closes; a value that was cut ends with its line. */
static size_t quoted_end(const struct layer *l, size_t at, char q)
{
	size_t line = l->n;
	for (size_t i = at; i < l->n; i++) {
		if (l->p[i] == '\\')
			i++;
		else if (l->p[i] == q)
			return i;
		else if (line_end(l->p[i]) && line == l->n)
			line = i;
	}
	return line;
}

static size_t bracket_end(const struct layer *l, size_t at)
{
	unsigned depth = 0;
	for (size_t i = at; i < l->n; i++) {
		if (quote(l->p[i])) {
			i = quoted_end(l, i + 1, l->p[i]);
			continue;
		}
		depth += l->p[i] == '[' || l->p[i] == '{' || l->p[i] == '(';
		if ((l->p[i] == ']' || l->p[i] == '}' || l->p[i] == ')') && --depth == 0)
			return i;
	}
	return MIN(l->n, quoted_end(l, at, '\n'));
}

/* A word without quotes, with what is quoted inside of it: b'…', SecretStr('…'). */
static size_t bare_end(const struct layer *l, size_t from)
{
	size_t at = from;
	for (; at < l->n && !isspace((unsigned char)l->p[at]) && !strchr(",;&<>)]}\"'`|", l->p[at]); at++) {
		if (l->p[at] != '\\' || at + 1 == l->n)
			continue;
		if (strchr("nrt\"'", l->p[at + 1])) /* an escape that ends a word */
			break;
		at++;
	}
	bool prefix = at == from + 1 && strchr("bBuUrRfF", l->p[from]);
	if (at < l->n && at > from && quote(l->p[at]) && (prefix || l->p[at - 1] == '('))
		at = quoted_end(l, at + 1, l->p[at]);
	return MIN(at, l->n);
}

static bool is_scheme(struct text t)
{
	static const char *const schemes[] = {"bearer", "basic", "digest", "token", "apikey", "negotiate"};
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (t.len == strlen(schemes[i]) && !strncasecmp(t.ptr, schemes[i], t.len))
			return true;
	return false;
}

/* Header lines, whose values have blanks in them. */
static bool header(struct text name)
{
	static const char *const ends[] = {"authorization", "cookie"};
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		size_t n = strlen(ends[i]);
		if (name.len >= n && !strncasecmp(name.ptr + name.len - n, ends[i], n))
			return true;
	}
	return false;
}

/* At a value: overwritten; returns where it ends. */
static size_t mask_at(struct masker *m, size_t at, enum secret_name name, bool line)
{
	struct layer *l = &m->l;
	size_t end;
	if (quote(l->p[at])) {
		end = quoted_end(l, at + 1, l->p[at]);
		wipe_value(m, MIN(at + 1, end), end, name);
		return end;
	}
	if (l->p[at] == '[' || l->p[at] == '{' || l->p[at] == '(') {
		end = bracket_end(l, at);
		wipe_value(m, at + 1, MAX(end, at + 1), name);
		return MAX(end, at + 1);
	}
	end = bare_end(l, at);
	line = line || (is_scheme(layer_text(m, at, end)) && end < l->n && gap(l->p[end]));
	if (line) /* "Bearer …", "Digest a=b, c=d" */
		while (end < l->n && !line_end(l->p[end]) && !quote(l->p[end]))
			end++;
	wipe_value(m, at, end, name);
	return end;
}

/* Where the value of the name at [from, end) begins; 0: it has none. *ret_loose: words of a sentence may look so. */
static size_t value_at(const struct layer *l, size_t from, size_t end, bool *ret_loose)
{
	bool option = l->p[from] == '-', tag = from && l->p[from - 1] == '<' && end < l->n && l->p[end] == '>';
	bool quoted = from && quote(l->p[from - 1]) && end < l->n && l->p[end] == l->p[from - 1];
	size_t i = end + quoted;
	*ret_loose = false;
	if (tag)
		return end + 1;
	if (quoted && i < l->n && l->p[i] == ']') /* environ["NAME"] = */
		i++;
	size_t at = i;
	while (at < l->n && (gap(l->p[at]) || (quoted && line_end(l->p[at]))))
		at++;
	if (at < l->n &&
	    (l->p[at] == '=' || (l->p[at] == ':' && !text_starts((struct text){l->p + at, l->n - at}, "://")))) {
		*ret_loose = l->p[at] == ':' && !quoted;
		for (at++; at < l->n && (l->p[at] == '=' || l->p[at] == '>'); at++)
			;
	} else if (option && quoted && at < l->n && l->p[at] == ',') { /* ['--name', 'VALUE'] */
		at++;
	} else if (!option || quoted || at == i || at == l->n || l->p[at] == '-') { /* not --name VALUE */
		return 0;
	}
	while (at < l->n && (gap(l->p[at]) || (quoted && line_end(l->p[at]))))
		at++;
	return at < l->n ? at : 0;
}

static enum secret_name named(const struct masker *m, size_t from, size_t end, bool loose)
{
	struct text name = layer_text(m, from, end);
	enum secret_name is = secret_name(name);
	if (is == SECRET_NAME_MAYBE && loose && text_is(name, "tokens")) /* "prompt tokens: many" */
		return SECRET_NAME_NONE;
	if ((text_is(name, "key") || text_is(name, "Key")) && from >= 2 && gap(m->l.p[from - 1])) { /* "API key: …" */
		size_t before = from - 1;
		while (before && isalnum((unsigned char)m->l.p[before - 1]))
			before--;
		is = secret_name(layer_text(m, before, end)) == SECRET_NAME ? SECRET_NAME : SECRET_NAME_NONE;
	}
	return is;
}

static size_t mask_user_part(struct masker *m, size_t at)
{
	size_t from = at + 3, end = from, user = from;
	while (end < m->l.n && !isspace((unsigned char)m->l.p[end]) && !strchr("/?#\"'`<>,\\", m->l.p[end]))
		end++;
	while (end > from && m->l.p[end - 1] != '@')
		end--;
	if (end == from)
		return from;
	while (user + 1 < end && m->l.p[user] != ':')
		user++;
	wipe(m, user + 1 < end ? user + 1 : from, end - 1);
	return end;
}

static void mask_names(struct masker *m)
{
	struct layer *l = &m->l;
	for (size_t at = 0; at < l->n;) {
		size_t from = at;
		bool loose;
		if (!name_byte(l->p[at])) {
			at = text_starts(layer_text(m, at, l->n), "://") ? mask_user_part(m, at) : at + 1;
			continue;
		}
		while (at < l->n && name_byte(l->p[at]))
			at++;
		size_t value = value_at(l, from, at, &loose);
		enum secret_name name = value ? named(m, from, at, loose) : SECRET_NAME_NONE;
		if (name != SECRET_NAME_NONE)
			at = MAX(at, mask_at(m, value, name, loose && header(layer_text(m, from, at))));
	}
}

static void mask_forms(struct masker *m)
{
	static const char begins[] = "PRIVATE KEY-----", ends[] = "-----END";
	struct text t = layer_text(m, 0, m->l.n);
	struct secret s;
	for (size_t from = 0; secret_find(t, from, true, &s);) {
		size_t at = (size_t)(s.key.ptr - t.ptr);
		wipe(m, at, from = at + s.key.len);
	}
	for (size_t at = 0; (at = text_find(t, begins, at)) != SIZE_MAX;) {
		size_t from = at + sizeof(begins) - 1, end = text_find(t, ends, from);
		at = end == SIZE_MAX ? t.len : end + sizeof(ends) + 16;
		wipe(m, from, end == SIZE_MAX ? t.len : end);
		if (at >= t.len)
			break;
	}
}

/* ways: layers of escapes, each a letter */
static void mask_text(struct masker *m, size_t from, size_t end, const char *const *ways, size_t n_ways)
{
	for (size_t i = 0; i < n_ways && from < end; i++) {
		bool changed = true;
		memcpy(m->l.p, m->p + from, m->l.n = end - from);
		for (size_t k = 0; k <= m->l.n; k++)
			m->l.map[k] = from + k;
		for (const char *w = ways[i]; *w; w++)
			changed = mask_peel(&m->l, *w == 'j'   ? MASK_JSON
						   : *w == 'p' ? MASK_PERCENT
						   : *w == 'h' ? MASK_ENTITY
							       : MASK_NUL);
		if (!changed && ways[i][1])
			continue;
		mask_names(m);
		mask_forms(m);
	}
}

/* --- JSON, of which it is known that it is --- */

static size_t skip_blanks(const char *p, size_t at, size_t n)
{
	while (at < n && isspace((unsigned char)p[at]))
		at++;
	return at;
}

static size_t string_end(const char *p, size_t at, size_t n)
{
	while (at < n && p[at] != '"')
		at += p[at] == '\\' ? 2 : 1;
	return MIN(at, n);
}

/* The string at [from, end) with its escapes undone, in the layer. */
static struct text string_text(struct masker *m, size_t from, size_t end)
{
	memcpy(m->l.p, m->p + from, m->l.n = end - from);
	for (size_t k = 0; k <= m->l.n; k++)
		m->l.map[k] = from + k;
	mask_peel(&m->l, MASK_JSON);
	return layer_text(m, 0, m->l.n);
}

static bool is_member(const struct masker *m, size_t end)
{
	size_t next = skip_blanks(m->p, MIN(end + 1, m->n), m->n);
	return next < m->n && m->p[next] == ':';
}

/* A number stays one. */
static size_t mask_number(struct masker *m, size_t at, enum secret_name name)
{
	size_t from = at, digits = 0;
	for (; at < m->n && strchr("+-.0123456789eE", m->p[at]) && m->p[at]; at++)
		digits += isdigit((unsigned char)m->p[at]) != 0;
	if (name != SECRET_NAME || digits < DIGITS_MIN)
		return at;
	for (size_t k = from; k < at && (m->p[k] | 32) != 'e'; k++)
		if (isdigit((unsigned char)m->p[k]))
			m->p[k] = '9';
	m->masked++;
	return at;
}

/* A value, or all values in it; returns where it ends. */
static size_t mask_json_value(struct masker *m, size_t at, enum secret_name name)
{
	unsigned depth = 0;
	while ((at = skip_blanks(m->p, at, m->n)) < m->n) {
		char c = m->p[at];
		if (c == '"') {
			size_t end = string_end(m->p, at + 1, m->n);
			if (!(depth && is_member(m, end)) && !secret_value_is_none(string_text(m, at + 1, end), name))
				wipe(m, 0, m->l.n);
			at = end + 1;
		} else if (isdigit((unsigned char)c) || c == '-') {
			at = mask_number(m, at, name);
		} else {
			depth += c == '[' || c == '{';
			depth -= depth && (c == ']' || c == '}');
			at++;
			if (!depth && isalpha((unsigned char)c)) /* true, false, null */
				while (at < m->n && isalpha((unsigned char)m->p[at]))
					at++;
		}
		if (!depth)
			break;
	}
	return MIN(at, m->n);
}

static void mask_json(struct masker *m)
{
	static const char *const inside[] = {"j", "jj", "jjj", "jjjj", "jp", "jh"};
	static const char *const pair_names[] = {"name", "key", "Name", "Key"}, *const pair_values[] = {"value",
													"Value"};
	unsigned depth = 0, pair_depth = 0; /* {"name": "HF_TOKEN", "value": …} */
	enum secret_name pair = SECRET_NAME_NONE;
	bool names_pair = false, wants_next = false;
	for (size_t at = 0; at < m->n; at++) {
		char c = m->p[at];
		depth += c == '{' || c == '[';
		depth -= depth && (c == '}' || c == ']');
		if (depth < pair_depth)
			pair = SECRET_NAME_NONE, pair_depth = 0;
		if (c != '"')
			continue;
		size_t from = at + 1, end = string_end(m->p, from, m->n),
		       next = skip_blanks(m->p, MIN(end + 1, m->n), m->n);
		struct text t = string_text(m, from, end);
		bool member = next < m->n && m->p[next] == ':';
		enum secret_name name = secret_name(t);
		at = end;
		if (member) {
			names_pair = wants_next = false;
			for (size_t i = 0; i < ARRAY_SIZE(pair_names); i++)
				names_pair |= text_is(t, pair_names[i]);
			for (size_t i = 0; i < ARRAY_SIZE(pair_values) && pair && depth == pair_depth; i++)
				name = text_is(t, pair_values[i]) ? pair : name;
			at = next;
			if (name != SECRET_NAME_NONE)
				at = mask_json_value(m, next + 1, name) - 1;
			continue;
		}
		if (wants_next && !secret_value_is_none(t, SECRET_NAME)) { /* ["--name", "VALUE"] */
			wipe(m, 0, m->l.n);
			wants_next = false;
			continue;
		}
		wants_next = name != SECRET_NAME_NONE && text_starts(t, "-");
		if (names_pair && name != SECRET_NAME_NONE)
			pair = name, pair_depth = depth;
		names_pair = false;
		mask_text(m, from, end, inside, ARRAY_SIZE(inside));
	}
}

size_t live_mask_content(char *p, size_t n)
{
	static const char *const anyhow[] = {"", "j", "jj", "jjj", "p", "pp", "h", "hj", "u", "uj"};
	struct masker m = {.p = p, .n = n, .l = {.p = malloc(n + 1), .map = calloc(n + 1, sizeof(size_t))}};
	struct json *j = json_new();
	struct json_value doc;
	int rc = n && j && m.l.p && m.l.map ? json_parse(j, (struct text){p, n}, false, &doc, NULL, NULL) : ERR_NOMEM;
	if (!n) {
		m.masked = 0;
	} else if (rc < 0) { /* nothing is kept that could not be looked through */
		memset(p, 'x', n);
		m.masked = 1;
	} else if (rc == 0 && !json_repaired(j)) {
		mask_json(&m);
	} else {
		mask_text(&m, 0, n, anyhow, ARRAY_SIZE(anyhow));
	}
	if (m.l.p)
		explicit_bzero(m.l.p, n);
	free(m.l.p);
	free(m.l.map);
	json_free(j);
	return m.masked;
}

void live_mask_call(struct live_call *c)
{
	char *const texts[] = {c->why, c->type, c->place, c->id};
	size_t masked = live_mask_content(c->answer.ptr, c->answer.len);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		masked += live_mask_content(texts[i], strlen(texts[i]));
	c->masked += masked;
}
