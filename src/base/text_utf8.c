/* SPDX-License-Identifier: Apache-2.0 */
/* text_utf8.c - UTF-8: validity, the sanitiser, display columns; works on any bytes, in any locale */
#include <string.h>

#include "pagetrail/buf.h"
#include "pagetrail/macros.h"
#include "pagetrail/text.h"
#include "utf8.h"

struct range {
	uint32_t first, last;
};

unsigned utf8_decode(const char *s, size_t len, uint32_t *ret)
{
	const unsigned char *p = (const unsigned char *)s;
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned n;
	uint32_t c;

	if (p[0] < 0x80) {
		*ret = p[0];
		return 1;
	}
	if (p[0] >= 0xc2 && p[0] < 0xe0) {
		n = 2;
		c = p[0] & 0x1f;
	} else if (p[0] >= 0xe0 && p[0] < 0xf0) {
		n = 3;
		c = p[0] & 0x0f;
	} else if (p[0] >= 0xf0 && p[0] < 0xf5) {
		n = 4;
		c = p[0] & 0x07;
	} else {
		return 0;
	}
	if (len < n)
		return 0;
	for (unsigned i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*ret = c;
	return n;
}

unsigned utf8_surrogate(const char *s, size_t len, uint32_t *ret)
{
	const unsigned char *p = (const unsigned char *)s;

	if (len < 3 || p[0] != 0xed || p[1] < 0xa0 || p[1] > 0xbf || (p[2] & 0xc0) != 0x80)
		return 0;
	*ret = 0xd000 | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
	return 3;
}

static bool in_ranges(const struct range *r, size_t n, uint32_t c)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (c > r[mid].last)
			lo = mid + 1;
		else if (c < r[mid].first)
			hi = mid;
		else
			return true;
	}
	return false;
}

bool utf8_hidden(uint32_t c)
{
	static const struct range hidden[] = {
	    {0x0000, 0x001f},   /* C0 */
	    {0x007f, 0x009f},   /* DEL, C1 */
	    {0x00ad, 0x00ad},   /* soft hyphen */
	    {0x034f, 0x034f},   /* grapheme joiner */
	    {0x061c, 0x061c},   /* Arabic letter mark (bidi) */
	    {0x115f, 0x1160},   /* Hangul fillers */
	    {0x180e, 0x180e},   /* Mongolian vowel separator */
	    {0x200b, 0x200f},   /* zero width, LRM, RLM */
	    {0x2028, 0x202e},   /* line and paragraph separator, bidi embeddings */
	    {0x2060, 0x206f},   /* word joiner, invisible operators, bidi isolates, deprecated controls */
	    {0x3164, 0x3164},   /* Hangul filler */
	    {0xfeff, 0xfeff},   /* byte order mark */
	    {0xffa0, 0xffa0},   /* half-width Hangul filler */
	    {0xfff9, 0xfffb},   /* interlinear annotation */
	    {0xfffe, 0xffff},   /* not characters; XML refuses them */
	    {0xe0000, 0xe007f}, /* tags: invisible copies of ASCII */
	};

	if (c >= 0x20 && c < 0x7f)
		return false;
	return in_ranges(hidden, ARRAY_SIZE(hidden), c);
}

/* ASCII that needs no thought in any of our outputs' first step. */
static size_t plain_run(const char *p, size_t len)
{
	size_t i = 0;

	while (i < len) {
		unsigned special = len - i >= 16 ? utf8_special(p + i) : 1;

		if (!special) {
			i += 16;
			continue;
		}
		for (size_t end = MIN(len, i + 16); i < end; i++)
			if (p[i] < 0x20 || p[i] >= 0x7f || p[i] == '\\')
				return i;
	}
	return i;
}

bool text_utf8_valid(struct text t)
{
	uint32_t c;

	for (size_t i = 0; i < t.len;) {
		unsigned n = utf8_decode(t.ptr + i, t.len - i, &c);

		if (n == 0)
			return false;
		i += n;
	}
	return true;
}

int text_visible(struct text t, size_t max_bytes, struct buf *out, struct err *err)
{
	size_t i = 0, end = MIN(t.len, max_bytes);
	int r;

	r = buf_reserve(out, 0, err); /* so that an empty result is "" and not NULL */
	while (r == 0 && i < end) {
		size_t n = plain_run(t.ptr + i, end - i);
		uint32_t c = 0;

		if (n) {
			r = buf_add(out, t.ptr + i, n, err);
			i += n;
			continue;
		}
		/* looks beyond the cut: half a character is not shown as broken bytes */
		n = utf8_decode(t.ptr + i, t.len - i, &c);
		if (n > end - i)
			break;
		if (n == 0) {
			n = utf8_surrogate(t.ptr + i, t.len - i, &c);
			if (n > end - i)
				break;
			if (n == 0) {
				n = 1;
				r = buf_printf(out, err, "\\x%02X", (unsigned)(unsigned char)t.ptr[i]);
			} else {
				r = buf_printf(out, err, "\\u{%X}", (unsigned)c);
			}
		} else if (c == '\\') {
			r = buf_add(out, "\\\\", 2, err);
		} else if (utf8_hidden(c)) {
			r = buf_printf(out, err, "\\u{%X}", (unsigned)c);
		} else {
			r = buf_add(out, t.ptr + i, n, err);
		}
		i += n;
	}
	if (r == 0 && i < t.len)
		r = buf_printf(out, err, "… (%zu bytes)", t.len);
	return r;
}

size_t text_put_utf8(char to[4], uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	for (size_t i = n; i-- > 1; c >>= 6)
		to[i] = (char)(0x80 | (c & 0x3f));
	to[0] = (char)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | c);
	return n;
}

/* The number in the hex digits of t, of which there are 1 to 6, in capitals. */
static bool escape_number(struct text t, uint32_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < t.len; i++) {
		const char *digits = "0123456789ABCDEF", *d = t.ptr[i] ? strchr(digits, t.ptr[i]) : NULL;

		if (!d)
			return false;
		*ret = *ret << 4 | (uint32_t)(d - digits);
	}
	return t.len > 0 && t.len <= 6 && *ret <= 0x10ffff;
}

/* One escape at t: its length, or 0; its bytes to out. Surrogates come back as the three bytes that they were. */
static size_t unescape(struct text t, char out[4], size_t *ret)
{
	uint32_t c;
	size_t end;

	*ret = 1;
	if (t.len > 1 && t.ptr[1] == '\\') {
		out[0] = '\\';
		return 2;
	}
	if (t.len > 3 && t.ptr[1] == 'x' && escape_number(text_sub(t, 2, 2), &c)) {
		out[0] = (char)c;
		return 4;
	}
	end = t.len > 3 && t.ptr[1] == 'u' && t.ptr[2] == '{' ? text_find_char(t, '}', 3) : SIZE_MAX;
	if (end == SIZE_MAX || !escape_number(text_sub(t, 3, end - 3), &c))
		return 0;
	*ret = text_put_utf8(out, c);
	return end + 1;
}

bool text_unvisible(struct text t, struct buf *out, struct err *err)
{
	bool any = false;

	for (size_t i = 0, n = 0; i < t.len; i += n) {
		char c[4] = {t.ptr[i]};
		size_t len = 1;

		n = t.ptr[i] == '\\' ? unescape(text_from(t, i), c, &len) : 1;
		any |= t.ptr[i] == '\\';
		if (n == 0 || buf_add(out, c, len, err) < 0)
			return false;
	}
	return any;
}

static unsigned columns_of(uint32_t c)
{
	/* marks drawn over the character before; the common blocks */
	static const struct range zero[] = {
	    {0x0300, 0x036f},   {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x05bf, 0x05bf},   {0x05c1, 0x05c2},
	    {0x05c4, 0x05c5},   {0x0610, 0x061a}, {0x064b, 0x065f}, {0x0670, 0x0670},   {0x06d6, 0x06dc},
	    {0x06df, 0x06e4},   {0x06e7, 0x06e8}, {0x06ea, 0x06ed}, {0x0711, 0x0711},   {0x0730, 0x074a},
	    {0x0900, 0x0902},   {0x093c, 0x093c}, {0x0941, 0x0948}, {0x094d, 0x094d},   {0x0e31, 0x0e31},
	    {0x0e34, 0x0e3a},   {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},   {0x200b, 0x200f},
	    {0x202a, 0x202e},   {0x2060, 0x206f}, {0x20d0, 0x20f0}, {0x302a, 0x302d},   {0x3099, 0x309a},
	    {0xfe00, 0xfe0f},   {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0x1f3fb, 0x1f3ff}, {0xe0000, 0xe007f},
	    {0xe0100, 0xe01ef},
	};
	static const struct range wide[] = {
	    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},   {0x23f0, 0x23f0},
	    {0x23f3, 0x23f3},   {0x25fd, 0x25fe},   {0x2614, 0x2615},   {0x2648, 0x2653},   {0x267f, 0x267f},
	    {0x2693, 0x2693},   {0x26a1, 0x26a1},   {0x26aa, 0x26ab},   {0x26bd, 0x26be},   {0x26c4, 0x26c5},
	    {0x26ce, 0x26ce},   {0x26d4, 0x26d4},   {0x26ea, 0x26ea},   {0x26f2, 0x26f3},   {0x26f5, 0x26f5},
	    {0x26fa, 0x26fa},   {0x26fd, 0x26fd},   {0x2705, 0x2705},   {0x270a, 0x270b},   {0x2728, 0x2728},
	    {0x274c, 0x274c},   {0x274e, 0x274e},   {0x2753, 0x2755},   {0x2757, 0x2757},   {0x2795, 0x2797},
	    {0x27b0, 0x27b0},   {0x27bf, 0x27bf},   {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},   {0x2b55, 0x2b55},
	    {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
	    {0xfe10, 0xfe19},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x16fe0, 0x18cff},
	    {0x1b000, 0x1b2ff}, {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a},
	    {0x1f200, 0x1f320}, {0x1f32d, 0x1f335}, {0x1f337, 0x1f37c}, {0x1f37e, 0x1f393}, {0x1f3a0, 0x1f3ca},
	    {0x1f3cf, 0x1f3d3}, {0x1f3e0, 0x1f3f0}, {0x1f3f4, 0x1f3f4}, {0x1f3f8, 0x1f43e}, {0x1f440, 0x1f440},
	    {0x1f442, 0x1f4fc}, {0x1f4ff, 0x1f53d}, {0x1f54b, 0x1f54e}, {0x1f550, 0x1f567}, {0x1f57a, 0x1f57a},
	    {0x1f595, 0x1f596}, {0x1f5a4, 0x1f5a4}, {0x1f5fb, 0x1f64f}, {0x1f680, 0x1f6c5}, {0x1f6cc, 0x1f6cc},
	    {0x1f6d0, 0x1f6d2}, {0x1f6d5, 0x1f6d7}, {0x1f6dc, 0x1f6df}, {0x1f6eb, 0x1f6ec}, {0x1f6f4, 0x1f6fc},
	    {0x1f7e0, 0x1f7eb}, {0x1f7f0, 0x1f7f0}, {0x1f90c, 0x1f93a}, {0x1f93c, 0x1f945}, {0x1f947, 0x1f9ff},
	    {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
	};

	if (c < 0x300)
		return 1;
	if (in_ranges(zero, ARRAY_SIZE(zero), c))
		return 0;
	return in_ranges(wide, ARRAY_SIZE(wide), c) ? 2 : 1;
}

size_t text_columns(struct text t)
{
	size_t columns = 0;
	uint32_t c;

	for (size_t i = 0; i < t.len;) {
		size_t plain = plain_run(t.ptr + i, t.len - i);
		unsigned n;

		columns += plain;
		i += plain;
		if (i == t.len)
			break;
		n = utf8_decode(t.ptr + i, t.len - i, &c);
		columns += n ? columns_of(c) : 1;
		i += n ? n : 1;
	}
	return columns;
}
