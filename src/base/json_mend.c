/* SPDX-License-Identifier: Apache-2.0 */
/* json_mend.c - JSON that is not quite JSON
 *
 * Mended is what real writers get wrong while the meaning stays plain: bytes that are not UTF-8 and lone surrogate
 * escapes become U+FFFD; NaN and Infinity (Python) and numbers beyond a double become null; integers beyond 64 bits
 * become strings, so that an id keeps its digits. Everything else stays as it is, and stays an error.
 */
#include "json.h"
#include "pagetrail/macros.h"
#include "utf8.h"

static int hex4(struct text t, size_t at)
{
	int v = 0;

	if (at > t.len || t.len - at < 4)
		return -1;
	for (size_t i = at; i < at + 4; i++) {
		char c = t.ptr[i];

		if (c >= '0' && c <= '9')
			v = v * 16 + (c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			v = v * 16 + ((c | 0x20) - 'a' + 10);
		else
			return -1;
	}
	return v;
}

/* At t[i] stands a backslash. Returns the bytes of the escape; *ret_lone: half a surrogate pair. */
static size_t escape_len(struct text t, size_t i, bool *ret_lone)
{
	int v, low;

	*ret_lone = false;
	if (i + 1 >= t.len)
		return 1;
	if (t.ptr[i + 1] != 'u' || (v = hex4(t, i + 2)) < 0)
		return 2;
	if (v < 0xd800 || v > 0xdfff)
		return 6;
	if (v < 0xdc00 && i + 7 < t.len && t.ptr[i + 6] == '\\' && t.ptr[i + 7] == 'u') {
		low = hex4(t, i + 8);
		if (low >= 0xdc00 && low <= 0xdfff)
			return 12;
	}
	*ret_lone = true;
	return 6;
}

bool json_lone_surrogate(struct text doc)
{
	bool lone = false;

	/* a backslash outside of strings is an error anyway, so that only escapes matter here */
	for (size_t i = text_find_char(doc, '\\', 0); i != SIZE_MAX && !lone; i = text_find_char(doc, '\\', i))
		i += escape_len(doc, i, &lone);
	return lone;
}

static int mend_string(struct text t, size_t *at, struct buf *out, struct err *err)
{
	size_t i = *at, from = i++; /* behind the quote */
	int r = 0;

	while (r == 0 && i < t.len && t.ptr[i] != '"') {
		uint32_t c;
		size_t n;
		bool bad = false;

		if (t.ptr[i] == '\\') {
			n = escape_len(t, i, &bad);
		} else {
			n = utf8_decode(t.ptr + i, t.len - i, &c);
			if (n == 0) {
				bad = true;
				n = utf8_surrogate(t.ptr + i, t.len - i, &c);
				n = n ? n : 1;
			}
		}
		if (bad) {
			r = buf_add(out, t.ptr + from, i - from, err);
			if (r == 0)
				r = buf_add(out, "\xef\xbf\xbd", 3, err);
			from = i + n;
		}
		i += n;
	}
	i = MIN(i + 1, t.len); /* the closing quote, if there is one */
	from = MIN(from, i);
	*at = i;
	return r ? r : buf_add(out, t.ptr + from, i - from, err);
}

static bool word_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '+' ||
	       c == '.';
}

static size_t leading_digits(struct text t)
{
	size_t n = 0;

	while (n < t.len && t.ptr[n] >= '0' && t.ptr[n] <= '9')
		n++;
	return n;
}

/* A bare word outside of strings: number, literal, or what Python writes for them. */
static int mend_word(struct text word, struct buf *out, struct err *err)
{
	bool minus = word.ptr[0] == '-';
	size_t digits = leading_digits(text_from(word, minus));
	double d;
	int64_t i;
	uint64_t u;
	int r;

	if (text_is(word, "NaN") || text_is(text_from(word, minus), "Infinity"))
		return buf_add(out, "null", 4, err);
	if (digits == 0 || text_int64(word, &i) || text_uint64(word, &u))
		return buf_add_text(out, word, err);
	if (digits + minus < word.len) {
		/* a proper number, with its last digit, that no double can hold */
		bool number = json_fault(word) == word.len && leading_digits(text_from(word, word.len - 1));

		if (number && word.len < 1000 && !text_double(word, &d))
			return buf_add(out, "null", 4, err);
		return buf_add_text(out, word, err);
	}
	if (word.ptr[minus] == '0') /* leading zeros are nobody's integer */
		return buf_add_text(out, word, err);
	r = buf_add_char(out, '"', err);
	if (r == 0)
		r = buf_add_text(out, word, err);
	return r ? r : buf_add_char(out, '"', err);
}

int json_mend(struct text doc, struct buf *out, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < doc.len;) {
		size_t from = i;

		if (doc.ptr[i] == '"') {
			r = mend_string(doc, &i, out, err);
			continue;
		}
		while (i < doc.len && word_char(doc.ptr[i]))
			i++;
		if (i > from) {
			r = mend_word(text_sub(doc, from, i - from), out, err);
			continue;
		}
		while (i < doc.len && doc.ptr[i] != '"' && !word_char(doc.ptr[i]))
			i++;
		r = buf_add(out, doc.ptr + from, i - from, err);
	}
	return r;
}
