/* SPDX-License-Identifier: Apache-2.0 */
/* slice.c - values that stand in a record as text: where they end and what they say
 *
 * Packing and unpacking go through the same functions, so what was equal once is equal again. They read nothing at or
 * behind `end`.
 */
#include "slice.h"

#include "codec_line.h"

enum { DIGITS_MAX = 19, STAMP_CHARS = 19, NANO_DIGITS = 9, YEAR_MAX = 2200 };

static const int64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};

static inline bool is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

/* Digits behind a point, as an integer of `want` digits; more are passed over. */
static const char *take_fraction(const char *p, const char *end, unsigned want, int64_t *ret)
{
	int64_t v = 0;
	unsigned n = 0;
	for (; p < end && is_digit(*p); p++) {
		if (n < want) {
			v = v * 10 + (*p - '0');
			n++;
		}
	}
	*ret = v * powers[want - n];
	return p;
}

bool slice_number(const char *p, const char *end, unsigned power, int64_t *ret, const char **ret_stop)
{
	uint64_t digits = 0;
	int64_t v, fraction = 0;
	bool minus = p < end && *p == '-';
	const char *from = p += minus;
	while (p < end && is_digit(*p) && p - from < DIGITS_MAX)
		digits = digits * 10 + (uint64_t)(*p++ - '0');
	if (p == from || (p < end && is_digit(*p)) || digits > INT64_MAX ||
	    __builtin_mul_overflow((int64_t)digits, powers[3 * power], &v))
		return false;
	if (p + 1 < end && *p == '.' && is_digit(p[1]))
		p = take_fraction(p + 1, end, 3 * power, &fraction);
	if (__builtin_add_overflow(v, fraction, &v))
		return false;
	*ret = minus ? -v : v;
	*ret_stop = p;
	return true;
}

static inline int two(const char *p)
{
	return is_digit(p[0]) && is_digit(p[1]) ? (p[0] - '0') * 10 + (p[1] - '0') : -1;
}

bool slice_stamp(const char *p, const char *end, int64_t *ret, const char **ret_stop)
{
	if (end - p < STAMP_CHARS || p[4] != '-' || p[7] != '-' || (p[10] != 'T' && p[10] != ' ') || p[13] != ':' ||
	    p[16] != ':')
		return false;
	int century = two(p), year = two(p + 2), month = two(p + 5), day = two(p + 8), hour = two(p + 11),
	    minute = two(p + 14), second = two(p + 17);
	if (century < 0 || year < 0 || month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 || minute < 0 ||
	    second < 0)
		return false;
	year += 100 * century;
	if (year < 1970 || year > YEAR_MAX)
		return false;
	int64_t fraction = 0, days = line_days(year, (unsigned)month, (unsigned)day);
	p += STAMP_CHARS;
	if (p + 1 < end && (*p == '.' || *p == ',') && is_digit(p[1]))
		p = take_fraction(p + 1, end, NANO_DIGITS, &fraction);
	*ret = (days * 86400 + hour * 3600 + minute * 60 + second) * powers[NANO_DIGITS] + fraction;
	*ret_stop = p;
	return true;
}

static inline bool in_word(unsigned char c)
{
	return (unsigned char)(c - '0') < 11 /* with ':' */ || (unsigned char)((c | 32) - 'a') < 26 || c == '_' ||
	       c == '-' || c == '.';
}

const char *slice_text_end(const char *p, const char *end, unsigned char end_byte)
{
	if (end_byte != SLICE_END_WORD) {
		const char *q = memchr(p, end_byte, (size_t)(end - p));
		return q ? q : end;
	}
	while (p < end && in_word((unsigned char)*p))
		p++;
	return p;
}

static bool take_page(const char **p, const char *end, uint32_t *ret)
{
	uint64_t v = 0;
	const char *from = *p;
	for (; *p < end && is_digit(**p) && *p - from < 10; (*p)++)
		v = v * 10 + (uint64_t)(**p - '0');
	*ret = (uint32_t)v;
	return *p > from && v <= UINT32_MAX;
}

static bool take_char(const char **p, const char *end, char c)
{
	if (*p >= end || **p != c)
		return false;
	(*p)++;
	return true;
}

/* A page, or a pair of the first one and their number. */
static bool take_run(const char **p, const char *end, struct page_run *run)
{
	run->count = 1;
	if (!take_char(p, end, '['))
		return take_page(p, end, &run->first);
	return take_page(p, end, &run->first) && take_char(p, end, ',') && take_page(p, end, &run->count) &&
	       take_char(p, end, ']');
}

size_t slice_pages(const char *p, const char *end, struct page_run *runs, size_t max, const char **ret_stop)
{
	size_t n = 0;
	if (!take_char(&p, end, '['))
		return SIZE_MAX;
	if (p < end && *p == ']') {
		*ret_stop = p + 1;
		return 0;
	}
	do {
		struct page_run run;
		if (!take_run(&p, end, &run))
			return SIZE_MAX;
		if (n && (uint64_t)runs[n - 1].first + runs[n - 1].count == run.first) {
			runs[n - 1].count += run.count;
			continue;
		}
		if (n == max)
			return SIZE_MAX;
		runs[n++] = run;
	} while (take_char(&p, end, ','));
	*ret_stop = p + 1;
	return p < end && *p == ']' ? n : SIZE_MAX;
}
