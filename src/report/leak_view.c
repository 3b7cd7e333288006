/* SPDX-License-Identifier: Apache-2.0 */
/* leak_view.c - bytes as other formats would read them
 *
 * A reading is tolerant: what is no escape stays as it is. XML inside is read once more for the escapes that foreign text has in a
 * report (text_visible()), which look like those of JSON.
 */
#include <string.h>

#include "leak.h"
#include "pagetrail/buf.h"
#include "pagetrail/limits.h"

static int hex_at(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* Hex digits from `at` on, at most max of them; how many there were. */
static size_t hex_number(struct text t, size_t at, size_t max, uint32_t *ret)
{
	size_t n = 0;
	*ret = 0;
	while (n < max && at + n < t.len && hex_at(t.ptr[at + n]) >= 0)
		*ret = *ret << 4 | (uint32_t)hex_at(t.ptr[at + n++]);
	return n;
}

/* An escape at `at`: how many bytes it has, 0 none; to gets what it stands for. */
typedef size_t escape_fn(struct text t, size_t at, char to[4], size_t *n);

static size_t xml_escape(struct text t, size_t at, char to[4], size_t *n)
{
	static const struct {
		const char *name;
		char c;
	} named[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
	struct text rest = text_from(t, at);
	uint32_t c = 0;
	if (rest.len < 4 || rest.ptr[0] != '&')
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(named); i++)
		if (text_starts(rest, named[i].name)) {
			to[0] = named[i].c;
			*n = 1;
			return strlen(named[i].name);
		}
	if (rest.ptr[1] != '#')
		return 0;
	bool hex = rest.ptr[2] == 'x' || rest.ptr[2] == 'X';
	size_t from = hex ? 3 : 2, len = 0;
	if (hex)
		len = hex_number(rest, from, 6, &c);
	else
		for (; len < 7 && from + len < rest.len && rest.ptr[from + len] >= '0' && rest.ptr[from + len] <= '9';
		     len++)
			c = c * 10 + (uint32_t)(rest.ptr[from + len] - '0');
	if (!len || c > 0x10ffff || from + len >= rest.len || rest.ptr[from + len] != ';')
		return 0;
	*n = text_put_utf8(to, c);
	return from + len + 1;
}

/* JSON's, and those of text_visible(): \xHH, \u{H…}. */
static size_t backslash_escape(struct text t, size_t at, char to[4], size_t *n)
{
	static const char letters[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
	struct text rest = text_from(t, at);
	uint32_t c, low;
	if (rest.len < 2 || rest.ptr[0] != '\\')
		return 0;
	const char *letter = rest.ptr[1] ? strchr(letters, rest.ptr[1]) : NULL;
	*n = 1;
	if (letter) {
		to[0] = means[letter - letters];
		return 2;
	}
	if (rest.ptr[1] == 'x' && hex_number(rest, 2, 2, &c) == 2) {
		to[0] = (char)c;
		return 4;
	}
	if (rest.ptr[1] != 'u')
		return 0;
	if (rest.len > 3 && rest.ptr[2] == '{') {
		size_t len = hex_number(rest, 3, 6, &c);
		if (!len || 3 + len >= rest.len || rest.ptr[3 + len] != '}' || c > 0x10ffff)
			return 0;
		*n = text_put_utf8(to, c);
		return 4 + len;
	}
	if (hex_number(rest, 2, 4, &c) != 4)
		return 0;
	size_t used = 6;
	if (c >= 0xd800 && c < 0xdc00 && rest.len >= 12 && rest.ptr[6] == '\\' && rest.ptr[7] == 'u' &&
	    hex_number(rest, 8, 4, &low) == 4 && low >= 0xdc00 && low < 0xe000) {
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		used = 12;
	}
	*n = text_put_utf8(to, c);
	return used;
}

/* CommonMark's: before any punctuation mark. */
static size_t markdown_escape(struct text t, size_t at, char to[4], size_t *n)
{
	static const char marks[] = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
	if (at + 1 >= t.len || !t.ptr[at + 1] || !strchr(marks, t.ptr[at + 1]))
		return 0;
	to[0] = t.ptr[at + 1];
	*n = 1;
	return 2;
}

static size_t percent_escape(struct text t, size_t at, char to[4], size_t *n)
{
	uint32_t c;
	if (t.ptr[at] != '%' || hex_number(t, at + 1, 2, &c) != 2)
		return 0;
	to[0] = (char)c;
	*n = 1;
	return 3;
}

static size_t csv_escape(struct text t, size_t at, char to[4], size_t *n)
{
	if (t.ptr[at] != '"' || at + 1 >= t.len || t.ptr[at + 1] != '"')
		return 0;
	to[0] = '"';
	*n = 1;
	return 2;
}

/* 1: something was an escape. */
static int unescape(struct text t, escape_fn *escape, char first, struct buf *out, struct err *err)
{
	size_t from = 0;
	int rc = 0;
	bool any = false;
	buf_clear(out);
	for (size_t i = 0; !rc && i < t.len;) {
		const char *at = memchr(t.ptr + i, first, t.len - i);
		char to[4];
		size_t n = 0, used;
		if (!at)
			break;
		i = (size_t)(at - t.ptr);
		used = escape(t, i, to, &n);
		if (!used) {
			i++;
			continue;
		}
		rc = buf_add(out, t.ptr + from, i - from, err);
		if (!rc)
			rc = buf_add(out, to, n, err);
		from = i += used;
		any = true;
	}
	if (!rc)
		rc = buf_add_text(out, text_from(t, from), err);
	return rc ? rc : any;
}

int leak_spelling(struct text t, unsigned way, size_t *from, size_t *end, struct buf *out, struct err *err)
{
	static const struct {
		escape_fn *escape;
		char first;
	} ways[LEAK_WAYS] = {{xml_escape, '&'},
			     {backslash_escape, '\\'},
			     {markdown_escape, '\\'},
			     {percent_escape, '%'},
			     {csv_escape, '"'}};
	size_t at = *from, to = *end, used = 0, n;
	int rc = 0;
	bool any = false;
	for (size_t i = 0; !rc && i < t.len; i += used ? used : 1) {
		char bytes[4] = {t.ptr[i]};
		used = t.ptr[i] == ways[way].first ? ways[way].escape(t, i, bytes, &n) : 0;
		any |= used > 0;
		if (i <= at)
			*from = out->len;
		rc = buf_add(out, bytes, used ? n : 1, err);
		if (i < to)
			*end = out->len;
	}
	return rc ? rc : any;
}

/* --- Base64 --- */

static int base64_at(unsigned char c)
{
	return c >= 'A' && c <= 'Z'   ? c - 'A'
	       : c >= 'a' && c <= 'z' ? c - 'a' + 26
	       : c >= '0' && c <= '9' ? c - '0' + 52
	       : c == '+' || c == '-' ? 62
	       : c == '/' || c == '_' ? 63
				      : -1;
}

enum { BASE64_LEAST = 8 };

/* From each of the four places that a group can begin at. */
static int look_at_run(struct text run, struct buf *out, int (*look)(void *ctx, struct text view, bool base64),
		       void *ctx, struct err *err)
{
	int rc = 0;
	for (size_t phase = 0; !rc && phase < 4 && run.len > phase; phase++) {
		uint32_t bits = 0;
		unsigned have = 0;
		buf_clear(out);
		rc = buf_reserve(out, run.len, err);
		for (size_t i = phase; !rc && i < run.len; i++) {
			bits = bits << 6 | (uint32_t)base64_at((unsigned char)run.ptr[i]);
			have += 6;
			if (have >= 8) {
				have -= 8;
				rc = buf_add_char(out, (char)(bits >> have & 0xff), err);
			}
		}
		if (!rc)
			rc = look(ctx, buf_text(out), true);
	}
	return rc;
}

static int look_at_base64(struct text t, struct buf *out, int (*look)(void *ctx, struct text view, bool base64),
			  void *ctx, struct err *err)
{
	int rc = 0;
	for (size_t i = 0, end; !rc && i < t.len; i = end + 1) {
		for (end = i; end < t.len && base64_at((unsigned char)t.ptr[end]) >= 0;)
			end++;
		if (end - i >= BASE64_LEAST)
			rc = look_at_run(text_sub(t, i, end - i), out, look, ctx, err);
	}
	return rc;
}

/* XML, and in it the escapes of foreign text; and once more, for what a person had escaped already. */
static int look_inside(struct text bytes, struct buf *one, struct buf *two,
		       int (*look)(void *ctx, struct text view, bool base64), void *ctx, struct err *err)
{
	struct text now = bytes;
	int rc = 0;
	for (int i = 0; !rc && i < 4; i++) {
		struct buf *out = now.ptr == one->ptr ? two : one;
		rc = i % 2 ? unescape(now, backslash_escape, '\\', out, err) : unescape(now, xml_escape, '&', out, err);
		if (rc != 1)
			continue;
		now = buf_text(out);
		rc = look(ctx, now, false);
	}
	return rc;
}

int leak_views(struct text bytes, int (*look)(void *ctx, struct text view, bool base64), void *ctx, struct err *err)
{
	CLEANUP(buf_done) struct buf one = BUF_INIT(2048 * MIB);
	CLEANUP(buf_done) struct buf two = BUF_INIT(2048 * MIB);
	int rc = look(ctx, bytes, false);
	if (!rc)
		rc = look_inside(bytes, &one, &two, look, ctx, err);
	static const struct {
		escape_fn *escape;
		char first;
	} others[] = {{percent_escape, '%'}, {csv_escape, '"'}, {markdown_escape, '\\'}};
	for (size_t i = 0; !rc && i < ARRAY_SIZE(others); i++) {
		rc = unescape(bytes, others[i].escape, others[i].first, &one, err);
		if (rc == 1)
			rc = look(ctx, buf_text(&one), false);
	}
	return rc ? rc : look_at_base64(bytes, &one, look, ctx, err);
}
