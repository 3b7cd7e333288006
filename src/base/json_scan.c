/* SPDX-License-Identifier: Apache-2.0 */
/* json_scan.c - JSON read forward, with places */
#include <string.h>

#include "pagetrail/buf.h"
#include "pagetrail/json_scan.h"
#include "pagetrail/limits.h"
#include "pagetrail/macros.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* First quote or backslash at or after p; end if none. */
static const char *quote_or_escape(const char *p, const char *end)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), back = _mm_set1_epi8('\\');

	for (; end - p >= 16; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		unsigned bits =
		    (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, back)));

		if (bits)
			return p + __builtin_ctz(bits);
	}
#endif
	while (p < end && *p != '"' && *p != '\\')
		p++;
	return p;
}

char scan_peek(struct json_scan *s)
{
	while (s->p < s->end && is_blank(*s->p))
		s->p++;
	return s->p < s->end ? *s->p : '\0';
}

bool scan_open(struct json_scan *s, char bracket)
{
	if (scan_peek(s) != bracket)
		return false;
	s->p++;
	return true;
}

bool scan_over(struct json_scan *s)
{
	scan_peek(s);
	return s->p == s->end;
}

bool scan_contradicts(struct text object)
{
	struct json_scan s = scan_of(object);
	struct {
		struct text key, value;
	} seen[SCAN_MEMBERS_MAX];
	struct text key, value;
	size_t n = 0;

	if (!scan_open(&s, '{'))
		return false;
	while (n < SCAN_MEMBERS_MAX && scan_member(&s, &key) == 1 && scan_value(&s, &value)) {
		for (size_t i = 0; i < n; i++)
			if (text_eq(seen[i].key, key) && !text_eq(seen[i].value, value))
				return true;
		seen[n].key = key;
		seen[n++].value = value;
	}
	return false;
}

bool scan_string(struct json_scan *s, struct text *ret_raw)
{
	const char *from, *q;

	if (scan_peek(s) != '"')
		return false;
	from = s->p + 1;
	for (q = from;; q += 2) {
		q = quote_or_escape(q, s->end);
		if (q >= s->end)
			return false;
		if (*q == '"')
			break;
		if (s->end - q < 2)
			return false;
	}
	*ret_raw = (struct text){from, (size_t)(q - from)};
	s->p = q + 1;
	return true;
}

/* Takes a comma, if one has to come before the next item; 0 the end, 1 an item, -1 broken. */
static int next_item(struct json_scan *s, char open, char close)
{
	char before = s->p[-1], c = scan_peek(s);

	if (c == close) {
		s->p++;
		return 0;
	}
	if (before == open)
		return c && c != ',' ? 1 : -1;
	if (c != ',')
		return -1;
	s->p++;
	c = scan_peek(s);
	return c && c != close && c != ',' ? 1 : -1;
}

int scan_member(struct json_scan *s, struct text *ret_key)
{
	int r = next_item(s, '{', '}');

	if (r <= 0)
		return r;
	if (!scan_string(s, ret_key) || scan_peek(s) != ':')
		return -1;
	s->p++;
	return scan_peek(s) ? 1 : -1;
}

int scan_element(struct json_scan *s)
{
	return next_item(s, '[', ']');
}

/* An object or array: brackets have to match, what is between is not looked at. */
static bool skip_nested(struct json_scan *s)
{
	uint64_t objects = 0;
	unsigned depth = 0;
	struct text t;

	do {
		char c = scan_peek(s);

		switch (c) {
		case '"':
			if (!scan_string(s, &t))
				return false;
			continue;
		case '{':
		case '[':
			if (++depth > JSON_DEPTH_MAX)
				return false;
			objects = objects << 1 | (c == '{');
			break;
		case '}':
		case ']':
			if ((objects & 1) != (c == '}'))
				return false;
			objects >>= 1;
			depth--;
			break;
		case '\0': return false;
		default: break;
		}
		s->p++;
	} while (depth);
	return true;
}

/* 17893{"ts": a number that was cut, and another record behind it. */
static bool scalar_breaks(const char *from, const char *to)
{
	for (; from < to; from++)
		if (*from == '"' || *from == '{' || *from == '[' || *from == ':')
			return true;
	return false;
}

bool scan_value(struct json_scan *s, struct text *ret_raw)
{
	char c = scan_peek(s);
	const char *from = s->p;
	struct text t;

	if (c == '"') {
		if (!scan_string(s, &t))
			return false;
	} else if (c == '{' || c == '[') {
		if (!skip_nested(s))
			return false;
	} else {
		while (s->p < s->end && !is_blank(*s->p) && *s->p != ',' && *s->p != '}' && *s->p != ']')
			s->p++;
		if (s->p == from || scalar_breaks(from, s->p))
			return false;
	}
	*ret_raw = (struct text){from, (size_t)(s->p - from)};
	return true;
}

/* --- what a string says --- */

static int hex4(const char *p)
{
	int v = 0;

	for (int i = 0; i < 4; i++) {
		char c = p[i];
		int d = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;

		if (d < 0)
			return -1;
		v = v << 4 | d;
	}
	return v;
}

/* The escape \uXXXX at p (behind the u), perhaps a pair of them; returns the byte behind it, or NULL. */
static const char *unescape_unit(const char *p, const char *end, char **out)
{
	int v = end - p >= 4 ? hex4(p) : -1, low;
	uint32_t c;

	if (v < 0)
		return NULL;
	p += 4;
	c = (uint32_t)v;
	if (c >= 0xd800 && c < 0xe000) {
		low = c < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u' ? hex4(p + 2) : -1;
		if (low >= 0xdc00 && low < 0xe000) {
			c = 0x10000 + ((c - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
			p += 6;
		} else {
			c = 0xfffd;
		}
	}
	*out += text_put_utf8(*out, c);
	return p;
}

static char unescape_char(char c)
{
	switch (c) {
	case 'n': return '\n';
	case 't': return '\t';
	case 'r': return '\r';
	case 'b': return '\b';
	case 'f': return '\f';
	case '"':
	case '\\':
	case '/': return c;
	default: return '\0';
	}
}

/* Copies what is before the next backslash; reads and writes up to 15 bytes more than it copies. */
static const char *copy_plain(const char *p, const char *end, char **out)
{
#ifdef __SSE2__
	const __m128i back = _mm_set1_epi8('\\');

	while (end - p >= 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		unsigned bits = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, back));

		_mm_storeu_si128((__m128i *)(void *)*out, v);
		if (bits) {
			*out += __builtin_ctz(bits);
			return p + __builtin_ctz(bits);
		}
		*out += 16;
		p += 16;
	}
#endif
	while (p < end && *p != '\\')
		*(*out)++ = *p++;
	return p;
}

struct text scan_unescape(struct text raw, struct arena *a)
{
	const char *p = raw.ptr, *end = raw.ptr + raw.len, *next;
	char *copy, *out;

	if (!raw.len || !memchr(p, '\\', raw.len))
		return raw;
	/* no escape is longer than what it stands for */
	copy = out = arena_alloc(a, raw.len + BUF_PADDING);
	if (!copy)
		return (struct text){NULL, 0};
	while (p < end) {
		p = copy_plain(p, end, &out);
		if (p == end)
			break;
		if (end - p >= 2 && p[1] == 'u' && (next = unescape_unit(p + 2, end, &out))) {
			p = next;
		} else if (end - p >= 2 && unescape_char(p[1])) {
			*out++ = unescape_char(p[1]);
			p += 2;
		} else {
			*out++ = *p++;
		}
	}
	return (struct text){copy, (size_t)(out - copy)};
}

bool scan_scalar(struct text value, struct arena *a, struct text *ret)
{
	if (!value.len)
		return false;
	if (value.ptr[0] == '"') {
		*ret = scan_unescape(text_sub(value, 1, value.len - 2), a);
		return ret->ptr != NULL;
	}
	*ret = value;
	return value.ptr[0] == '-' || (value.ptr[0] >= '0' && value.ptr[0] <= '9');
}
