/* SPDX-License-Identifier: Apache-2.0 */
/* text_fold.c - text as people read it, by the tables of Unicode */
#include <utf8proc.h>

#include "pagetrail/buf.h"
#include "pagetrail/text.h"
#include "utf8.h"

static bool letter_or_digit(uint32_t c)
{
	const utf8proc_property_t *p = utf8proc_get_property((utf8proc_int32_t)c);
	return !p->ignorable && !utf8_hidden(c) && p->category >= UTF8PROC_CATEGORY_LU &&
	       p->category <= UTF8PROC_CATEGORY_NO && p->category != UTF8PROC_CATEGORY_MN &&
	       p->category != UTF8PROC_CATEGORY_MC && p->category != UTF8PROC_CATEGORY_ME;
}

bool text_says_something(struct text t)
{
	uint32_t c;
	for (size_t i = 0; i < t.len;) {
		unsigned n = utf8_decode(t.ptr + i, t.len - i, &c);
		if (n && letter_or_digit(c))
			return true;
		i += n ? n : 1;
	}
	return false;
}

bool text_is_blank(struct text t)
{
	uint32_t c;
	for (size_t i = 0; i < t.len;) {
		unsigned n = utf8_decode(t.ptr + i, t.len - i, &c);
		utf8proc_category_t k = n ? utf8proc_category((utf8proc_int32_t)c) : UTF8PROC_CATEGORY_SO;
		if ((k < UTF8PROC_CATEGORY_ZS || k > UTF8PROC_CATEGORY_CF) && !(n && utf8_hidden(c)))
			return false;
		i += n;
	}
	return true;
}

static bool is_word(uint32_t c)
{
	utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)c);
	return k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_NO;
}

/* ASCII alone has marks that stay; of all others, and of those that stand between words, there are two kinds. */
static char mark_of(uint32_t c, bool joined)
{
	utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)c);
	if (c < 0x80 && c > ' ' && c != '-' && c != '_')
		return (char)c;
	return joined || c == '_' || c == 0x2212 || k == UTF8PROC_CATEGORY_PD ? '-' : ' ';
}

static int put_folded(uint32_t c, bool joined, size_t from, struct buf *out, struct err *err)
{
	char to[4];
	if (is_word(c))
		return buf_add(out, to, text_put_utf8(to, c), err);
	char mark = mark_of(c, joined);
	bool again = joined && mark == '-' && out->len > from && out->ptr[out->len - 1] == '-';
	return again ? 0 : buf_add_char(out, mark, err);
}

/* One character that is not ASCII. */
static int fold_one(uint32_t c, bool joined, size_t from, struct buf *out, struct err *err)
{
	enum { MOST = 32 }; /* that one character stands for: 18 */
	const utf8proc_option_t how = UTF8PROC_CASEFOLD | UTF8PROC_COMPAT | UTF8PROC_DECOMPOSE | UTF8PROC_IGNORE;
	utf8proc_int32_t parts[MOST];
	int bound = 0, rc = 0;
	utf8proc_ssize_t n = utf8proc_decompose_char((utf8proc_int32_t)c, parts, MOST, how, &bound);
	for (utf8proc_ssize_t k = 0; !rc && k < n && k < MOST; k++)
		rc = put_folded((uint32_t)parts[k], joined, from, out, err);
	return rc;
}

int text_fold(struct text t, bool joined, struct buf *out, struct err *err)
{
	size_t from = out->len;
	uint32_t c;
	int rc = 0;
	for (size_t i = 0; !rc && i < t.len;) {
		unsigned n = utf8_decode(t.ptr + i, t.len - i, &c);
		if (n > 1)
			rc = fold_one(c, joined, from, out, err);
		else if (n && c >= 'A' && c <= 'Z')
			rc = buf_add_char(out, (char)(c + ('a' - 'A')), err);
		else if (n && !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')))
			rc = put_folded(c, joined, from, out, err);
		else /* or what is no character: as it is */
			rc = buf_add_char(out, t.ptr[i], err);
		i += n ? n : 1;
	}
	return rc;
}
