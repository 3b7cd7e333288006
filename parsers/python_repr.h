/* SPDX-License-Identifier: Apache-2.0 */
/* python_repr.h - reads Python reprs: Name(key=value, …), {'key': value}, [value, …]
 *
 * Included once by each format that needs it. Nothing is decoded or copied: values are slices of the record. Nesting is a
 * counter, so depth costs nothing; quoted parts are skipped as a whole, so text inside them is never looked at.
 * A repr that ends before its bracket closes is torn: what was read before the tear still counts.
 */
#pragma once

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "pagetrail/macros.h"
#include "pagetrail/text.h"

/* Position behind the string literal that opens at `pos`; t.len and *torn when its end is missing. */
static UNUSED size_t py_string_end(struct text t, size_t pos, bool *torn)
{
	char quote = t.ptr[pos];

	for (size_t at = pos + 1; at < t.len;) {
		const char *hit = memchr(t.ptr + at, quote, t.len - at);
		size_t end, slashes = 0;

		if (!hit)
			break;
		end = (size_t)(hit - t.ptr);
		while (end - slashes > pos + 1 && t.ptr[end - slashes - 1] == '\\')
			slashes++;
		if (slashes % 2 == 0)
			return end + 1;
		at = end + 1;
	}
	*torn = true;
	return t.len;
}

/* Position of the ',' or closing bracket that ends the value at `pos`. */
static UNUSED size_t py_value_end(struct text t, size_t pos, bool *torn)
{
	size_t depth = 0;

	while (pos < t.len) {
		switch (t.ptr[pos]) {
		case '\'':
		case '"': pos = py_string_end(t, pos, torn); continue;
		case '(':
		case '[':
		case '{': depth++; break;
		case ')':
		case ']':
		case '}':
			if (depth == 0)
				return pos;
			depth--;
			break;
		case ',':
			if (depth == 0)
				return pos;
			break;
		default: break;
		}
		pos++;
	}
	*torn = true;
	return t.len;
}

/* Is the bracket that t begins with closed in t? */
static UNUSED bool py_closed(struct text t)
{
	size_t depth = 0, at = 0;
	bool torn = false;

	while (at < t.len && !torn) {
		char c = t.ptr[at];

		if (c == '\'' || c == '"') {
			at = py_string_end(t, at, &torn);
			continue;
		}
		depth += c == '(' || c == '[' || c == '{';
		if ((c == ')' || c == ']' || c == '}') && --depth == 0)
			return true;
		if (depth == 0)
			return false;
		at++;
	}
	return false;
}

/* Members of one bracket. `at` stands behind the opening bracket. */
struct py_iter {
	struct text t;
	size_t at;
	bool done, torn;
};

/* From a value that is a call, dict, list or tuple; an iterator without members for anything else. */
static UNUSED struct py_iter py_open(struct text value)
{
	struct py_iter it = {.t = value, .done = true};
	size_t at = 0;

	while (at < value.len && value.ptr[at] != '(' && value.ptr[at] != '[' && value.ptr[at] != '{') {
		if (value.ptr[at] == '\'' || value.ptr[at] == '"')
			return it;
		at++;
	}
	if (at < value.len) {
		it.at = at + 1;
		it.done = false;
	}
	return it;
}

static UNUSED struct text py_unquote(struct text value)
{
	if (value.len >= 2 && (value.ptr[0] == '\'' || value.ptr[0] == '"') && value.ptr[value.len - 1] == value.ptr[0])
		return text_sub(value, 1, value.len - 2);
	return (struct text){NULL, 0};
}

static UNUSED bool py_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Splits off `key=` or `'key':` at the start of a member. */
static UNUSED size_t py_key(struct text t, size_t at, struct text *ret_key, bool *torn)
{
	size_t end = at;

	*ret_key = (struct text){NULL, 0};
	if (at < t.len && (t.ptr[at] == '\'' || t.ptr[at] == '"')) {
		end = py_string_end(t, at, torn);
		if (end < t.len && t.ptr[end] == ':') {
			*ret_key = text_sub(t, at + 1, end - at - 2);
			return end + 1;
		}
		return at;
	}
	while (end < t.len && py_word(t.ptr[end]))
		end++;
	if (end > at && end < t.len && t.ptr[end] == '=') {
		*ret_key = text_sub(t, at, end - at);
		return end + 1;
	}
	return at;
}

/* Next member; a key is empty for list elements. false at the end (it->torn tells whether the bracket closed). */
static UNUSED bool py_next(struct py_iter *it, struct text *ret_key, struct text *ret_value)
{
	size_t end;

	if (it->done)
		return false;
	while (it->at < it->t.len && (it->t.ptr[it->at] == ' ' || it->t.ptr[it->at] == ','))
		it->at++;
	if (it->at >= it->t.len) {
		it->done = it->torn = true;
		return false;
	}
	it->at = py_key(it->t, it->at, ret_key, &it->torn);
	while (it->at < it->t.len && it->t.ptr[it->at] == ' ')
		it->at++;
	end = py_value_end(it->t, it->at, &it->torn);
	*ret_value = text_trim(text_sub(it->t, it->at, end - it->at));
	if (end >= it->t.len || it->t.ptr[end] != ',')
		it->done = true;
	it->at = end + 1;
	return ret_key->len > 0 || ret_value->len > 0;
}

/* Value of one key of a bracket; empty when absent. */
static UNUSED struct text py_get(struct text value, const char *want)
{
	struct py_iter it = py_open(value);
	struct text key, member;

	while (py_next(&it, &key, &member))
		if (text_is(key, want))
			return member;
	return (struct text){NULL, 0};
}

static UNUSED bool py_is_list(struct text value)
{
	return value.len > 0 && (value.ptr[0] == '[' || value.ptr[0] == '(');
}

/* A quote opens a string unless it is an apostrophe inside a word; b'…' and the like do open one. */
static UNUSED bool py_opens(struct text t, size_t at)
{
	if (t.ptr[at] == '"')
		return true;
	if (t.ptr[at] != '\'')
		return false;
	return at == 0 || !py_word(t.ptr[at - 1]) || (at == 1 || !py_word(t.ptr[at - 2]));
}

/* The first quote or `c` at or after `at`, or `end`. */
static UNUSED size_t py_seek(struct text t, size_t at, size_t end, char c)
{
#ifdef __SSE2__
	const __m128i one = _mm_set1_epi8('\''), two = _mm_set1_epi8('"'), three = _mm_set1_epi8(c);

	for (; at + 16 <= end; at += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)(t.ptr + at));
		__m128i hit = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, one), _mm_cmpeq_epi8(v, two)),
					   _mm_cmpeq_epi8(v, three));
		unsigned bits = (unsigned)_mm_movemask_epi8(hit);

		if (bits)
			return at + (unsigned)__builtin_ctz(bits);
	}
#endif
	while (at < end && t.ptr[at] != '\'' && t.ptr[at] != '"' && t.ptr[at] != c)
		at++;
	return at;
}

/* `key=value` outside of quotes in a message such as "… req.rid='x' req.bootstrap_room=5 …": quoted values come
 * without their quotes, bare ones end at a blank, comma, semicolon or bracket. */
static UNUSED struct text py_field(struct text t, const char *key)
{
	size_t n = strlen(key), at = 0;
	bool torn = false;

	while (n < t.len && (at = py_seek(t, at, t.len - n, key[0])) < t.len - n) {
		size_t end;

		if (py_opens(t, at)) {
			at = py_string_end(t, at, &torn);
			continue;
		}
		if (t.ptr[at] != key[0] || (at > 0 && py_word(t.ptr[at - 1])) || memcmp(t.ptr + at, key, n) != 0 ||
		    t.ptr[at + n] != '=') {
			at++;
			continue;
		}
		at += n + 1;
		if (at < t.len && (t.ptr[at] == '\'' || t.ptr[at] == '"')) {
			end = py_string_end(t, at, &torn);
			return torn ? (struct text){NULL, 0} : text_sub(t, at + 1, end - at - 2);
		}
		for (end = at; end < t.len && !memchr(" ,;)]}", t.ptr[end], 6);)
			end++;
		while (end > at && t.ptr[end - 1] == '.')
			end--;
		return text_sub(t, at, end - at);
	}
	return (struct text){NULL, 0};
}
