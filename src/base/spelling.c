/* SPDX-License-Identifier: Apache-2.0 */
/* spelling.c - a text as it stands in JSON, in a URL, in hex, in Base64
 *
 * Writers of JSON differ in what they escape beside what they must: Python and PHP all that is no ASCII, PHP the slash, Go what
 * HTML would read, Gson two characters more, .NET in capitals; and a document inside of a string of another is escaped again.
 */
#include "pagetrail/spelling.h"

#include <string.h>

#include <openssl/evp.h>

#include "pagetrail/buf.h"
#include "pagetrail/err.h"
#include "pagetrail/limits.h"
#include "utf8.h"

const char *const spelling_names[SPELLINGS] = {[SPELLED_PLAIN] = "plain",
					       [SPELLED_JSON] = "json",
					       [SPELLED_PERCENT] = "percent",
					       [SPELLED_HEX] = "hex",
					       [SPELLED_BASE64] = "base64"};

/* Six bytes at any place of their groups of three; the characters beside them hold the bits that are left. */
enum { BASE64_MIN_CHARS = 7 };

struct giver {
	struct text plain;
	bool words; /* letters and digits only, which nobody has to escape */
	struct buf b, inner;
	struct buf given; /* what was given, one after the other */
	size_t end[SPELLINGS_MAX], n;
	int (*take)(void *ctx, const struct spelled *s);
	void *ctx;
};

static int give(struct giver *g, struct spelled s, struct err *err)
{
	for (size_t i = 0, from = 0; i < g->n; from = g->end[i++])
		if (text_eq(text_sub(buf_text(&g->given), from, g->end[i] - from), s.text))
			return 0;
	if (g->n == SPELLINGS_MAX)
		return err_set(err, ERR_BUG, "more spellings than there are");
	int rc = buf_add_text(&g->given, s.text, err);
	if (rc)
		return rc;
	g->end[g->n++] = g->given.len;
	return g->take(g->ctx, &s);
}

static bool word_byte(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* ---- JSON ---- */

struct json_style {
	const char *also; /* ASCII characters written as escapes of six */
	bool slash, ascii, upper, all;
};
static const struct json_style json_styles[] = {
    {.also = ""},
    {.also = "", .slash = true},
    {.also = "", .ascii = true},
    {.also = "", .ascii = true, .slash = true},
    {.also = "", .ascii = true, .upper = true},
    {.also = "<>&"},
    {.also = "<>&='"},
    {.also = "<>&'\"+`", .ascii = true, .upper = true},
    {.also = "", .all = true},
    {.also = "", .all = true, .upper = true},
};

static int put_unit(struct buf *b, unsigned unit, bool upper, struct err *err)
{
	const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	const char s[6] = {
	    '\\', 'u', digits[unit >> 12 & 15], digits[unit >> 8 & 15], digits[unit >> 4 & 15], digits[unit & 15]};
	return buf_add(b, s, sizeof(s), err);
}

/* A character beyond ASCII, as one unit of UTF-16 or two; bytes that are none stay as they are. */
static int put_wide(struct buf *b, struct text t, size_t *at, bool upper, struct err *err)
{
	uint32_t c;
	unsigned n = utf8_decode(t.ptr + *at, t.len - *at, &c);
	*at += n ? n : 1;
	if (!n)
		return buf_add_char(b, t.ptr[*at - 1], err);
	if (c < 0x10000)
		return put_unit(b, c, upper, err);
	int rc = put_unit(b, 0xd800 + ((c - 0x10000) >> 10), upper, err);
	return rc ? rc : put_unit(b, 0xdc00 + ((c - 0x10000) & 0x3ff), upper, err);
}

static int escape(struct buf *b, struct text t, const struct json_style *how, struct err *err)
{
	static const char named[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
	int rc = 0;
	buf_clear(b);
	for (size_t i = 0; rc == 0 && i < t.len;) {
		unsigned char c = (unsigned char)t.ptr[i];
		const char *name = c ? strchr(named, c) : NULL;
		if (c >= 0x80 && (how->ascii || how->all)) {
			rc = put_wide(b, t, &i, how->upper, err);
			continue;
		}
		i++;
		if (how->all || (c && strchr(how->also, c)))
			rc = put_unit(b, c, how->upper, err);
		else if (name || (c == '/' && how->slash))
			rc = buf_printf(b, err, "\\%c", name ? letters[name - named] : '/');
		else if (c < 0x20 || c == 0x7f)
			rc = c == 0x7f && !how->ascii ? buf_add_char(b, (char)c, err) : put_unit(b, c, how->upper, err);
		else
			rc = buf_add_char(b, (char)c, err);
	}
	return rc;
}

/* Once, and twice: the inner document in that style inside of the plainest, and the other way round. */
static int give_json(struct giver *g, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(json_styles); i++) {
		if (g->words && !json_styles[i].all)
			continue;
		rc = escape(&g->b, g->plain, &json_styles[i], err);
		if (rc == 0)
			rc = give(g, (struct spelled){.how = SPELLED_JSON, .text = buf_text(&g->b)}, err);
	}
	for (size_t i = 0; rc == 0 && i < 2 * ARRAY_SIZE(json_styles); i++) {
		const struct json_style *one = &json_styles[i / 2], *plainest = &json_styles[one->slash && !one->ascii];
		bool outer = i % 2;
		if ((outer && one->all) || (g->words && !one->all))
			continue;
		rc = escape(&g->inner, g->plain, outer ? &json_styles[0] : one, err);
		if (rc == 0)
			rc = escape(&g->b, buf_text(&g->inner), outer ? one : plainest, err);
		if (rc == 0)
			rc = give(g, (struct spelled){.how = SPELLED_JSON, .text = buf_text(&g->b)}, err);
	}
	return rc;
}

/* ---- URLs ---- */

static int give_percent(struct giver *g, struct err *err)
{
	/* RFC 3986; JavaScript for a part of a URL, and for a whole one */
	static const char *const kept[] = {"-._~", "-._~!*'()", "-._~!*'();/?:@&=+$,#"};
	int rc = 0;
	for (unsigned i = 0; rc == 0 && !g->words && i < 4 * ARRAY_SIZE(kept); i++) {
		bool upper = !(i & 1), plus = i & 2;
		buf_clear(&g->b);
		for (size_t k = 0; rc == 0 && k < g->plain.len; k++) {
			unsigned char c = (unsigned char)g->plain.ptr[k];
			if (word_byte(c) || (c && strchr(kept[i / 4], c)))
				rc = buf_add_char(&g->b, (char)c, err);
			else if (c == ' ' && plus)
				rc = buf_add_char(&g->b, '+', err);
			else
				rc = buf_printf(&g->b, err, upper ? "%%%02X" : "%%%02x", c);
		}
		if (rc == 0)
			rc = give(g, (struct spelled){.how = SPELLED_PERCENT, .text = buf_text(&g->b)}, err);
	}
	return rc;
}

static int give_hex(struct giver *g, bool upper, struct err *err)
{
	buf_clear(&g->b);
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < g->plain.len; i++)
		rc = buf_printf(&g->b, err, upper ? "%02X" : "%02x", (unsigned char)g->plain.ptr[i]);
	return rc ? rc : give(g, (struct spelled){.how = SPELLED_HEX, .text = buf_text(&g->b)}, err);
}

/* ---- Base64 ---- */

static int base64_value(char c)
{
	return c >= 'A' && c <= 'Z'   ? c - 'A'
	       : c >= 'a' && c <= 'z' ? c - 'a' + 26
	       : c >= '0' && c <= '9' ? c - '0' + 52
	       : c == '+' || c == '-' ? 62
	       : c == '/' || c == '_' ? 63
				      : -1;
}

bool spelling_fits(const struct spelled *s, struct text bytes, size_t at)
{
	size_t end = at + s->text.len;
	int v;
	if (s->before_mask && at > 0) {
		char c = bytes.ptr[at - 1];
		v = base64_value(c);
		if (c != '\n' && c != '\r' && (v < 0 || (v & s->before_mask) != s->before))
			return false;
	}
	if (s->after_mask && end < bytes.len) {
		char c = bytes.ptr[end];
		if (c == '\\' && end + 1 < bytes.len) /* "\/", or a line's end */
			c = bytes.ptr[end + 1] == '/' ? '/' : '\n';
		v = base64_value(c);
		if (c != '\n' && c != '\r' && c != '\\' && (v < 0 || (v & s->after_mask) != s->after))
			return false;
	}
	return true;
}

/* In the alphabet for URLs, and as JSON may write a slash. */
static int give_alphabets(struct giver *g, struct spelled s, struct err *err)
{
	int rc = give(g, s, err);
	buf_clear(&g->inner);
	for (size_t i = 0; rc == 0 && i < s.text.len; i++) {
		char c = s.text.ptr[i];
		rc = buf_add_char(&g->inner, c == '+' ? '-' : c == '/' ? '_' : c, err);
	}
	struct spelled other = s;
	other.text = buf_text(&g->inner);
	if (rc == 0)
		rc = give(g, other, err);
	buf_clear(&g->inner);
	for (size_t i = 0; rc == 0 && i < s.text.len; i++) {
		if (s.text.ptr[i] == '/')
			rc = buf_add_char(&g->inner, '\\', err);
		if (rc == 0)
			rc = buf_add_char(&g->inner, s.text.ptr[i], err);
	}
	other.text = buf_text(&g->inner);
	return rc == 0 ? give(g, other, err) : rc;
}

/* before: bytes of another text in the same group of three. Characters that depend on them, or on what follows, are cut off; the
 * bits of them that are the text's own are kept for spelling_fits(). */
static int give_base64(struct giver *g, size_t before, struct err *err)
{
	static const size_t cut_of[] = {0, 2, 3};
	static const unsigned char before_masks[] = {0, 0x0f, 0x03}, after_masks[] = {0, 0x30, 0x3c};
	buf_clear(&g->inner);
	int rc = buf_add(&g->inner, "\0\0", before, err);
	if (rc == 0)
		rc = buf_add_text(&g->inner, g->plain, err);
	buf_clear(&g->b);
	size_t len = g->inner.len;
	if (rc == 0)
		rc = buf_reserve(&g->b, 4 * (len / 3 + 1) + 1, err);
	if (rc)
		return rc;
	int n = EVP_EncodeBlock((unsigned char *)g->b.ptr, (const unsigned char *)g->inner.ptr, (int)len);
	size_t end = (size_t)n - (len % 3 == 1 ? 3 : len % 3 == 2 ? 2 : 0), cut = cut_of[before];
	if (end < cut + BASE64_MIN_CHARS)
		return 0;
	struct spelled s = {.how = SPELLED_BASE64, .text = {g->b.ptr + cut, end - cut}};
	s.before_mask = before_masks[before];
	s.after_mask = after_masks[len % 3];
	s.before = (unsigned char)(cut ? base64_value(g->b.ptr[cut - 1]) & s.before_mask : 0);
	s.after = (unsigned char)(s.after_mask ? base64_value(g->b.ptr[end]) & s.after_mask : 0);
	return give_alphabets(g, s, err);
}

int spellings_of(struct text t, int (*take)(void *ctx, const struct spelled *s), void *ctx, struct err *err)
{
	struct giver g = {.plain = t,
			  .b = BUF_INIT(MIB),
			  .inner = BUF_INIT(MIB),
			  .given = BUF_INIT(16 * MIB),
			  .take = take,
			  .ctx = ctx};
	if (t.len > MIB / 64)
		return err_set(err, ERR_BUG, "a text too long to be spelled");
	g.words = true;
	for (size_t i = 0; i < t.len; i++)
		g.words &= word_byte((unsigned char)t.ptr[i]);
	int rc = give(&g, (struct spelled){.how = SPELLED_PLAIN, .text = t}, err);
	if (rc == 0)
		rc = give_json(&g, err);
	if (rc == 0)
		rc = give_percent(&g, err);
	if (rc == 0)
		rc = give_hex(&g, false, err);
	if (rc == 0)
		rc = give_hex(&g, true, err);
	for (size_t before = 0; rc == 0 && before < 3; before++)
		rc = give_base64(&g, before, err);
	buf_done(&g.b);
	buf_done(&g.inner);
	buf_done(&g.given);
	return rc;
}
