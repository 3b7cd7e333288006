/* SPDX-License-Identifier: Apache-2.0 */
/* json_fault.c - where a text stops being JSON; slow and exact, run only on what failed to parse */
#include <string.h>

#include "json.h"
#include "pagetrail/limits.h"
#include "pagetrail/macros.h"
#include "utf8.h"

struct walk {
	struct text t;
	size_t at;
};

static char peek(const struct walk *w)
{
	return w->at < w->t.len ? w->t.ptr[w->at] : '\0';
}

static bool accept(struct walk *w, char c)
{
	if (w->at >= w->t.len || w->t.ptr[w->at] != c)
		return false;
	w->at++;
	return true;
}

static void blanks(struct walk *w)
{
	while (accept(w, ' ') || accept(w, '\t') || accept(w, '\n') || accept(w, '\r'))
		;
}

static bool digits(struct walk *w)
{
	size_t from = w->at;

	while (peek(w) >= '0' && peek(w) <= '9')
		w->at++;
	return w->at > from;
}

static bool number(struct walk *w)
{
	accept(w, '-');
	if (!accept(w, '0') && !digits(w))
		return false;
	if (accept(w, '.') && !digits(w))
		return false;
	if (accept(w, 'e') || accept(w, 'E')) {
		if (!accept(w, '+'))
			accept(w, '-');
		return digits(w);
	}
	return true;
}

static bool string(struct walk *w)
{
	if (!accept(w, '"'))
		return false;
	while (!accept(w, '"')) {
		const char *p = w->t.ptr + w->at;
		uint32_t c;
		unsigned n;

		if (w->at >= w->t.len || (unsigned char)*p < 0x20)
			return false;
		if (*p != '\\') {
			n = utf8_decode(p, w->t.len - w->at, &c);
			if (n == 0)
				return false;
			w->at += n;
			continue;
		}
		if (w->t.len - w->at < 2 || !memchr("\"\\/bfnrtu", p[1], 9))
			return false;
		w->at += 2;
		for (int i = 0; p[1] == 'u' && i < 4; i++, w->at++)
			if (!memchr("0123456789abcdefABCDEF", peek(w), 22))
				return false;
	}
	return true;
}

static bool scalar(struct walk *w)
{
	static const char *const words[] = {"true", "false", "null"};

	if (peek(w) == '"')
		return string(w);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (peek(w) != words[i][0])
			continue;
		for (const char *p = words[i]; *p; p++)
			if (!accept(w, *p))
				return false;
		return true;
	}
	return number(w);
}

static bool key(struct walk *w)
{
	blanks(w);
	if (!string(w))
		return false;
	blanks(w);
	return accept(w, ':');
}

/* Behind a value: closes what ends and goes on to the next value. Sets *ret_end when the outermost is closed. */
static bool after_value(struct walk *w, char *open, size_t *depth, bool *ret_end)
{
	for (;;) {
		blanks(w);
		*ret_end = *depth == 0;
		if (*ret_end)
			return true;
		if (accept(w, ','))
			return open[*depth - 1] == '[' || key(w);
		if (!accept(w, open[*depth - 1] == '[' ? ']' : '}'))
			return false;
		(*depth)--;
	}
}

size_t json_fault(struct text doc)
{
	struct walk w = {doc, 0};
	char open[JSON_DEPTH_MAX];
	size_t depth = 0;
	bool end = false;

	while (!end) {
		char c;

		blanks(&w);
		c = peek(&w);
		if (c == '[' || c == '{') {
			if (depth == JSON_DEPTH_MAX)
				return w.at;
			open[depth++] = c;
			w.at++;
			blanks(&w);
			if (peek(&w) != (c == '[' ? ']' : '}')) {
				if (c == '{' && !key(&w))
					return w.at;
				continue;
			}
		} else if (!scalar(&w)) {
			return w.at;
		}
		if (!after_value(&w, open, &depth, &end))
			return w.at;
	}
	return w.at;
}
