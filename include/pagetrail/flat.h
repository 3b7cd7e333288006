/* SPDX-License-Identifier: Apache-2.0 */
/* flat.h - plain JSON objects of one line, read once from front to back: the fast lane before json_parse()
 *
 * Writers of logs write the same few shapes again and again. What stands between two values (`,"seq":`, with whatever
 * blanks this writer puts there) is learned as a "lead"; each lead knows which ones followed it last, so that a known
 * shape costs a few comparisons a member. Nothing depends on what was learned but time.
 *
 * Only what is plain is read: keys and strings without escapes, control and non-ASCII bytes, numbers without sign and
 * exponent. Everything else, and all that is no JSON, is FLAT_ODD or false: the caller then gives the whole record to
 * json_parse(), which decides. What is read here means the same there; tests hold the two together.
 *
 * The record must have BUF_PADDING readable bytes behind it. One struct flat belongs to one parser's state (zeroed).
 */
#pragma once

#include <string.h>

#include "pagetrail/macros.h"
#include "pagetrail/text.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
	FLAT_LEAD_MAX = 32, /* bytes of a lead that is learned; multiple of 8 */
	FLAT_LEADS = 64,
	FLAT_OTHER = 253, /* a key that is none of the names */
	FLAT_END = 254,
	FLAT_ODD = 255,
};

struct flat_lead {
	uint64_t word[FLAT_LEAD_MAX / 8], mask[FLAT_LEAD_MAX / 8];
	uint8_t len, slot;
	uint8_t next[2]; /* what followed last; 0: nothing known */
};

struct flat {
	const char *p, *end;
	struct flat_lead *at;
	unsigned odd, n_leads;
	struct flat_lead leads[FLAT_LEADS]; /* the first stands for the start */
};

static inline uint64_t flat_load(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* false: do not even try. Records that were odd again and again are tried now and then only. */
static inline bool flat_begin(struct flat *f, struct text record)
{
	if (record.len == 0 || record.ptr[0] != '{' || (f->odd >= 64 && f->odd++ % 64))
		return false;
	f->p = record.ptr;
	f->end = record.ptr + record.len;
	f->at = &f->leads[0];
	return true;
}

/* After a record was read to its end, or was not. */
static inline void flat_worked(struct flat *f, bool worked)
{
	f->odd = worked ? 0 : f->odd + 1;
}

static inline bool flat_lead_is(const struct flat_lead *l, const char *p)
{
	uint64_t differ = ((flat_load(p) ^ l->word[0]) & l->mask[0]) | ((flat_load(p + 8) ^ l->word[1]) & l->mask[1]);

	if (l->len > 16)
		differ |=
		    ((flat_load(p + 16) ^ l->word[2]) & l->mask[2]) | ((flat_load(p + 24) ^ l->word[3]) & l->mask[3]);
	return differ == 0;
}

int flat_next_new(struct flat *f, const char *const *names, unsigned n);

/* The next member: its key's place in names (n at most 250), FLAT_OTHER, FLAT_END or FLAT_ODD; f->p is at its value. */
static inline int flat_next(struct flat *f, const char *const *names, unsigned n)
{
	if (f->p >= f->end)
		return FLAT_ODD;
	for (int i = 0; i < 2; i++) {
		struct flat_lead *l = &f->leads[f->at->next[i]];

		if (l->len && flat_lead_is(l, f->p) && l->len < f->end - f->p) {
			f->p += l->len;
			f->at = l;
			return l->slot;
		}
	}
	if (f->p[0] == '}' && f->p + 1 == f->end)
		return FLAT_END;
	return flat_next_new(f, names, n);
}

static inline void flat_blanks(struct flat *f)
{
	while (f->p < f->end && (*f->p == ' ' || *f->p == '\t'))
		f->p++;
}

/* First byte at or after p that ends a plain run: a quote, a backslash, a control or non-ASCII byte; end if none. */
static inline const char *flat_special(const char *p, const char *end)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), back = _mm_set1_epi8('\\'), blank = _mm_set1_epi8(' ');

	for (; p < end; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		/* signed: what is above 0x7f is below a blank, too */
		__m128i hit = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, back)),
					   _mm_cmplt_epi8(v, blank));
		unsigned bits = (unsigned)_mm_movemask_epi8(hit);

		if (bits)
			return MIN(p + __builtin_ctz(bits), end);
	}
	return end;
#else
	while (p < end && *p != '"' && *p != '\\' && (unsigned char)(*p - ' ') < 0x60)
		p++;
	return p;
#endif
}

static inline bool flat_string(struct flat *f, struct text *ret)
{
	const char *from = f->p + 1, *q;

	if (*f->p != '"')
		return false;
	q = flat_special(from, f->end);
	if (q == f->end || *q != '"')
		return false;
	*ret = (struct text){from, (size_t)(q - from)};
	f->p = q + 1;
	return true;
}

static inline uint64_t flat_power(unsigned n) /* of ten, n up to 8 */
{
	static const uint32_t power[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

	return power[n];
}

/* The value of the first digits at p, eight at most; *ret_n is how many there are. */
static inline uint64_t flat_few(const char *p, unsigned *ret_n)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	uint64_t t = flat_load(p) ^ UINT64_C(0x3030303030303030);
	uint64_t none = ((t + UINT64_C(0x7676767676767676)) | t) & UINT64_C(0x8080808080808080);
	unsigned n = none ? (unsigned)__builtin_ctzll(none) / 8 : 8;

	*ret_n = n;
	if (n == 0)
		return 0;
	t <<= 64 - 8 * n; /* zeros in front */
	t = (t * 10 + (t >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
	t = (t * 100 + (t >> 16)) & UINT64_C(0x0000ffff0000ffff);
	return (t * 10000 + (t >> 32)) & UINT64_C(0x00000000ffffffff);
#else
	uint64_t v = 0;
	unsigned n = 0;

	for (; n < 8 && p[n] >= '0' && p[n] <= '9'; n++)
		v = v * 10 + (uint64_t)(p[n] - '0');
	*ret_n = n;
	return v;
#endif
}

/* The digits behind the first eight, whose value is *v. */
bool flat_more_digits(const char *p, const char **ret_end, uint64_t *v);

/* Up to 19 digits, without a needless zero in front; *ret_end is the byte behind them. */
static inline bool flat_digits(const char *p, const char **ret_end, uint64_t *ret)
{
	unsigned n;

	*ret = flat_few(p, &n);
	*ret_end = p + n;
	if (n == 0 || (*p == '0' && n > 1))
		return false;
	return n < 8 || flat_more_digits(p + n, ret_end, ret);
}

static inline bool flat_uint(struct flat *f, int64_t *ret)
{
	uint64_t v;

	if (!flat_digits(f->p, &f->p, &v) || v > INT64_MAX)
		return false;
	*ret = (int64_t)v;
	return true;
}

/* A string or a whole number, as text. */
static inline bool flat_id(struct flat *f, struct text *ret)
{
	const char *from = f->p;
	uint64_t v;

	if (*from == '"')
		return flat_string(f, ret);
	if (!flat_digits(from, &f->p, &v))
		return false;
	*ret = (struct text){from, (size_t)(f->p - from)};
	return true;
}

static inline bool flat_null(struct flat *f)
{
	if (memcmp(f->p, "null", 4) != 0)
		return false;
	f->p += 4;
	return true;
}

/* digits[.digits] */
bool flat_number(struct flat *f, struct text *ret);
/* Reads over a value of one level. */
bool flat_skip(struct flat *f);
