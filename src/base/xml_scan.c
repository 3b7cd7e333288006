/* SPDX-License-Identifier: Apache-2.0 */
/* xml_scan.c - XML read forward, with places (W3C, Extensible Markup Language 1.0, fifth edition) */
#include "pagetrail/xml_scan.h"

#include <string.h>

#include "pagetrail/macros.h"

enum { ATTRIBUTES_MAX = 32 }; /* compared each with each */

struct xml_scan xml_scan_of(struct text t)
{
	return (struct xml_scan){.p = t.ptr, .end = t.ptr + t.len};
}

static enum xml_token broken(struct xml_scan *s, const char *fault)
{
	s->fault = fault;
	s->p = s->end;
	return XML_BROKEN;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_blanks(struct xml_scan *s)
{
	while (s->p < s->end && is_blank(*s->p))
		s->p++;
}

static bool begins(const struct xml_scan *s, const char *word)
{
	return text_starts((struct text){s->p, (size_t)(s->end - s->p)}, word);
}

/* Goes behind the word; false: it is not there. */
static bool go_behind(struct xml_scan *s, const char *word, struct text *ret_before)
{
	struct text rest = {s->p, (size_t)(s->end - s->p)};
	size_t at = text_find(rest, word, 0);
	if (at == SIZE_MAX)
		return false;
	*ret_before = text_sub(rest, 0, at);
	s->p += at + strlen(word);
	return true;
}

static bool take_name(struct xml_scan *s, struct text *ret)
{
	const char *from = s->p;
	while (s->p < s->end && !is_blank(*s->p) && !memchr("/>=<\"'&", *s->p, 7) && (unsigned char)*s->p > ' ')
		s->p++;
	*ret = (struct text){from, (size_t)(s->p - from)};
	return ret->len && !memchr("0123456789-.", *from, 12);
}

/* NAME = "…", or in single quotes. */
static bool take_attribute(struct xml_scan *s, struct text *ret_name, struct text *ret_value)
{
	if (!take_name(s, ret_name))
		return false;
	skip_blanks(s);
	if (s->p == s->end || *s->p++ != '=')
		return false;
	skip_blanks(s);
	if (s->p == s->end || (*s->p != '"' && *s->p != '\''))
		return false;
	const char *from = s->p + 1, *to = memchr(from, *s->p, (size_t)(s->end - from));
	if (!to || memchr(from, '<', (size_t)(to - from)))
		return false;
	*ret_value = (struct text){from, (size_t)(to - from)};
	s->p = to + 1;
	return true;
}

static bool take_attributes(struct xml_scan *s)
{
	struct text names[ATTRIBUTES_MAX], value;
	const char *from = s->p;
	for (size_t n = 0;; n++) {
		const char *before = s->p;
		skip_blanks(s);
		s->attributes = (struct text){from, (size_t)(s->p - from)};
		if (s->p == s->end)
			return false;
		if (*s->p == '>' || *s->p == '/')
			return true;
		if (n == ATTRIBUTES_MAX || s->p == before || !take_attribute(s, &names[n], &value))
			return false;
		for (size_t i = 0; i < n; i++)
			if (text_eq(names[i], names[n]))
				return false;
	}
}

static enum xml_token take_open(struct xml_scan *s)
{
	s->p++;
	if (s->rooted && !s->depth)
		return broken(s, "xml_syntax");
	if (!take_name(s, &s->name) || !take_attributes(s))
		return broken(s, "xml_syntax");
	s->closing = *s->p == '/';
	s->p += s->closing;
	if (s->p == s->end || *s->p != '>')
		return broken(s, "xml_syntax");
	s->p++;
	if (s->depth == XML_DEPTH_MAX)
		return broken(s, "xml_depth");
	s->open[s->depth++] = s->name;
	s->rooted = true;
	return XML_OPEN;
}

static enum xml_token take_close(struct xml_scan *s)
{
	s->p += 2;
	if (!take_name(s, &s->name))
		return broken(s, "xml_syntax");
	skip_blanks(s);
	if (s->p == s->end || *s->p != '>' || !s->depth || !text_eq(s->name, s->open[s->depth - 1]))
		return broken(s, "xml_syntax");
	s->p++;
	s->depth--;
	return XML_CLOSE;
}

static enum xml_token take_text(struct xml_scan *s)
{
	const char *to = memchr(s->p, '<', (size_t)(s->end - s->p));
	s->text = (struct text){s->p, (size_t)((to ? to : s->end) - s->p)};
	s->literal = false;
	s->p += s->text.len;
	if (!s->depth)
		return text_trim(s->text).len ? broken(s, "xml_syntax") : XML_TEXT;
	return XML_TEXT;
}

enum xml_token xml_next(struct xml_scan *s)
{
	struct text passed;
	if (s->fault)
		return XML_BROKEN;
	if (s->closing) {
		s->closing = false;
		s->name = s->open[--s->depth];
		return XML_CLOSE;
	}
	while (s->p < s->end) {
		if (*s->p != '<') {
			if (take_text(s) == XML_BROKEN)
				return XML_BROKEN;
			if (!s->depth)
				continue;
			return XML_TEXT;
		}
		if (begins(s, "</"))
			return take_close(s);
		if (begins(s, "<!--") || begins(s, "<?")) {
			const char *ends = s->p[1] == '?' ? "?>" : "-->";
			s->p += s->p[1] == '?' ? 2 : 4;
			if (!go_behind(s, ends, &passed))
				return broken(s, "xml_syntax");
		} else if (begins(s, "<![CDATA[") && s->depth) {
			s->p += strlen("<![CDATA[");
			s->literal = true;
			return go_behind(s, "]]>", &s->text) ? XML_TEXT : broken(s, "xml_syntax");
		} else if (begins(s, "<!")) {
			return broken(s, "xml_doctype");
		} else {
			return take_open(s);
		}
	}
	return s->depth || !s->rooted ? broken(s, "xml_syntax") : XML_OVER;
}

bool xml_attribute(const struct xml_scan *s, const char *name, struct text *ret)
{
	struct xml_scan in = xml_scan_of(s->attributes);
	struct text key;
	for (skip_blanks(&in); in.p < in.end && take_attribute(&in, &key, ret); skip_blanks(&in))
		if (text_is(key, name))
			return true;
	return false;
}

/* "#65", "#x41", "amp" …; 0: none that XML has. */
static uint32_t referred(struct text t)
{
	static const struct {
		const char *name;
		char is;
	} own[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (text_is(t, own[i].name))
			return (uint32_t)own[i].is;
	bool hex = text_starts(t, "#x");
	uint32_t c = 0;
	if (!text_starts(t, "#") || t.len > 10 || t.len == (hex ? 2u : 1u))
		return 0;
	for (size_t i = hex ? 2 : 1; i < t.len; i++) {
		char d = t.ptr[i];
		uint32_t v = d >= '0' && d <= '9'   ? (uint32_t)(d - '0')
			     : d >= 'a' && d <= 'f' ? (uint32_t)(d - 'a' + 10)
			     : d >= 'A' && d <= 'F' ? (uint32_t)(d - 'A' + 10)
						    : 16;
		if (v >= (hex ? 16 : 10))
			return 0;
		c = c * (hex ? 16 : 10) + v;
		if (c > 0x10ffff)
			return 0;
	}
	bool is_char = c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c < 0xd800) ||
		       (c >= 0xe000 && c < 0xfffe) || c > 0xffff;
	return is_char ? c : 0;
}

int xml_unescape(struct text raw, bool literal, struct buf *b, struct err *err)
{
	while (raw.len) {
		size_t at = literal ? SIZE_MAX : text_find_char(raw, '&', 0);
		int rc = buf_add_text(b, text_sub(raw, 0, at), err);
		if (rc || at == SIZE_MAX)
			return rc;
		raw = text_from(raw, at + 1);
		at = text_find_char(raw, ';', 0);
		uint32_t c = at == SIZE_MAX ? 0 : referred(text_sub(raw, 0, at));
		char utf8[4];
		if (!c)
			return 1;
		rc = buf_add_text(b, (struct text){utf8, text_put_utf8(utf8, c)}, err);
		if (rc)
			return rc;
		raw = text_from(raw, at + 1);
	}
	return 0;
}
