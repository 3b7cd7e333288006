/* SPDX-License-Identifier: Apache-2.0 */
/* codec_line_scan.c - cuts a line into literal parts and tokens
 *
 * A token is taken only when its text follows from its kind, value and form; anything doubtful is a word, which is kept
 * as text. Time is linear in the line.
 */
#include <string.h>

#include "codec_line.h"

enum { DIGIT = 1, HEX_LOW = 2, HEX_UP = 4, LETTER = 8, WORD = 15, MARKER = 16, OPEN = 32 };
enum {
	HEX_MIN = 16,
	WORD_LONG = 16,
	SUFFIX_MAX = 2,
	ZEROS_MAX = 15,
	DIGITS_MAX = 20,
	YEAR_MIN = 1970,
	YEAR_MAX = 2199
};
enum { STAMP_CHARS = 19, UUID_CHARS = 36 };

/* clang-format off */
static const uint8_t classes[256] = {
	[1] = MARKER, MARKER, MARKER, MARKER, MARKER, MARKER,
	['0'] = DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT,
	['A'] = HEX_UP, HEX_UP, HEX_UP, HEX_UP, HEX_UP, HEX_UP,
	['G'] = LETTER, LETTER, LETTER, LETTER, LETTER, LETTER, LETTER, LETTER, LETTER, LETTER,
	LETTER, LETTER, LETTER, LETTER, LETTER, LETTER, LETTER, LETTER, LETTER, LETTER,
	['['] = OPEN,
	['a'] = HEX_LOW, HEX_LOW, HEX_LOW, HEX_LOW, HEX_LOW, HEX_LOW,
	['g'] = LETTER, LETTER, LETTER, LETTER, LETTER, LETTER, LETTER, LETTER, LETTER, LETTER,
	LETTER, LETTER, LETTER, LETTER, LETTER, LETTER, LETTER, LETTER, LETTER, LETTER,
};
/* clang-format on */

static inline unsigned class_at(const char *p, const char *end)
{
	return p < end ? classes[(unsigned char)*p] : 0;
}

/* Days since 1970-01-01 in the proleptic Gregorian calendar. */
int64_t line_days(int year, unsigned month, unsigned day)
{
	int64_t y = year - (month <= 2), era = y / 400;
	unsigned yoe = (unsigned)(y - era * 400), doy = (153 * (month + (month > 2 ? -3u : 9u)) + 2) / 5 + day - 1;
	return era * 146097 + (int64_t)(yoe * 365 + yoe / 4 - yoe / 100 + doy) - 719468;
}

void line_date(int64_t days, int *year, unsigned *month, unsigned *day)
{
	int64_t z = days + 719468, era = z / 146097;
	unsigned doe = (unsigned)(z - era * 146097);
	unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
	*day = doy - (153 * mp + 2) / 5 + 1;
	*month = mp < 10 ? mp + 3 : mp - 9;
	*year = (int)(yoe + era * 400) + (*month <= 2);
}

static inline unsigned two(const char *p)
{
	return (unsigned)(p[0] - '0') * 10 + (unsigned)(p[1] - '0');
}

static bool all_digits(const char *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (!(classes[(unsigned char)p[i]] & DIGIT))
			return false;
	return true;
}

static bool take_date(struct line_scan *s, const char *p, int64_t *ret)
{
	if (!memcmp(s->date, p, sizeof(s->date))) {
		*ret = s->days;
		return true;
	}
	if (!all_digits(p, 4) || !all_digits(p + 5, 2) || !all_digits(p + 8, 2))
		return false;
	int year = (int)(two(p) * 100 + two(p + 2)), y;
	unsigned month = two(p + 5), day = two(p + 8), m, d;
	if (year < YEAR_MIN || year > YEAR_MAX || month < 1 || month > 12 || day < 1 || day > 31)
		return false;
	int64_t days = line_days(year, month, day);
	line_date(days, &y, &m, &d); /* the 31st of June is none */
	if (y != year || m != month || d != day)
		return false;
	memcpy(s->date, p, sizeof(s->date));
	s->days = *ret = days;
	return true;
}

static uint64_t digits_value(const char *p, const char *end, uint64_t v)
{
	for (; p < end; p++)
		v = v * 10 + (uint64_t)(*p - '0');
	return v;
}

/* YYYY-MM-DD?HH:MM:SS with a fraction or none; the end, or NULL. */
static const char *scan_stamp(struct line_scan *s, const char *p, const char *end, struct line_token *t)
{
	int64_t days;
	if (end - p < STAMP_CHARS || p[4] != '-' || p[7] != '-' || (p[10] != 'T' && p[10] != ' ') || p[13] != ':' ||
	    p[16] != ':' || !all_digits(p + 11, 2) || !all_digits(p + 14, 2) || !all_digits(p + 17, 2) ||
	    (class_at(p + STAMP_CHARS, end) & DIGIT) || !take_date(s, p, &days))
		return NULL;
	unsigned hour = two(p + 11), minute = two(p + 14), second = two(p + 17);
	if (hour > 23 || minute > 59 || second > 59)
		return NULL;
	const char *q = p + STAMP_CHARS, *from = q;
	if (q < end && *q == '.') {
		from = ++q;
		while (class_at(q, end) & DIGIT)
			q++;
		if (q - from > 9 || q == from)
			q = from = p + STAMP_CHARS;
	}
	t->value = digits_value(from, q, (uint64_t)days * 86400 + hour * 3600 + minute * 60 + second);
	t->form = (uint8_t)((q - from) | (p[10] == 'T') << LINE_FORM_SHIFT);
	t->kind = LINE_STAMP;
	return q;
}

static bool is_uuid(const char *p, const char *end, struct line_token *t)
{
	unsigned all = 0;
	if (end - p < UUID_CHARS)
		return false;
	for (unsigned i = 0; i < UUID_CHARS; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		unsigned c = classes[(unsigned char)p[i]];
		if (dash ? p[i] != '-' : !(c & (DIGIT | HEX_LOW | HEX_UP)))
			return false;
		all |= c;
	}
	if (class_at(p + UUID_CHARS, end) & WORD)
		return false;
	t->kind = all & HEX_UP ? LINE_WORD : LINE_UUID;
	return true;
}

/* Digits [p, dot) and, behind a dot, [dot + 1, end): a number when its text follows from value and form. */
static bool take_number(const char *p, const char *dot, const char *end, struct line_token *t)
{
	unsigned zeros = 0, fraction = end > dot ? (unsigned)(end - dot - 1) : 0;
	while (p + 1 < dot && *p == '0') {
		zeros++;
		p++;
	}
	size_t digits = (size_t)(dot - p) + fraction;
	if (zeros > ZEROS_MAX || fraction > LINE_FRACTION_MAX || digits > DIGITS_MAX)
		return false;
	uint64_t v = digits_value(p, dot, 0);
	if (fraction)
		v = digits_value(dot + 1, end, v);
	/* twenty digits: they fit when the value has not gone round, and then it begins with a one */
	if (digits == DIGITS_MAX && (*p != '1' || v < UINT64_C(10000000000000000000)))
		return false;
	t->value = v;
	t->form = (uint8_t)(fraction | zeros << LINE_FORM_SHIFT);
	t->kind = LINE_NUMBER;
	return true;
}

static const char *word_end(const char *p, const char *end, unsigned *ret_all)
{
	unsigned all = 0, c;
	while ((c = class_at(p, end)) & WORD) {
		all |= c;
		p++;
	}
	*ret_all = all;
	return p;
}

static bool is_hex(const char *p, const char *end, unsigned all)
{
	size_t n = (size_t)(end - p);
	return n >= HEX_MIN && n <= LINE_HEX_MAX && n % 2 == 0 && !(all & (HEX_UP | LETTER | MARKER | OPEN));
}

/* 1.2.3.4, 0.5.10rc1 */
static const char *dotted_end(const char *p, const char *end)
{
	while ((class_at(p, end) & WORD) || (p + 1 < end && *p == '.' && (class_at(p + 1, end) & DIGIT)))
		p++;
	return p;
}

/* Most numbers: at most 18 digits without zeros in front, and nothing behind that belongs to them. Else NULL. */
static inline const char *scan_plain_number(const char *p, const char *end, struct line_token *t)
{
	const char *limit = end - p > 19 ? p + 19 : end, *q = p, *dot = NULL;
	uint64_t v = 0;
	for (; q < limit; q++) {
		unsigned d = (unsigned char)*q - '0';
		if (d <= 9)
			v = v * 10 + d;
		else if (*q == '.' && !dot && (class_at(q + 1, end) & DIGIT))
			dot = q;
		else
			break;
	}
	unsigned next = class_at(q, end);
	if ((q == limit && limit < end) || (next & WORD) || (q < end && *q == '.' && dot) || q == p ||
	    (*p == '0' && q - p > 1 && dot != p + 1))
		return NULL;
	unsigned fraction = dot ? (unsigned)(q - dot - 1) : 0;
	if (fraction > LINE_FRACTION_MAX)
		return NULL;
	t->value = v;
	t->form = (uint8_t)fraction;
	t->kind = LINE_NUMBER;
	return q;
}

/* At a digit that begins a word. */
static const char *scan_digits(struct line_scan *s, const char *p, const char *end, struct line_token *t)
{
	const char *q = p, *r;
	unsigned all;
	if (end - p >= STAMP_CHARS && p[4] == '-' && (r = scan_stamp(s, p, end, t)))
		return r;
	if (!(end - p > 8 && p[8] == '-') && (r = scan_plain_number(p, end, t)))
		return r;
	while (class_at(q, end) & DIGIT)
		q++;
	r = word_end(q, end, &all);
	if (r - p == 8 && r < end && *r == '-' && is_uuid(p, end, t))
		return p + UUID_CHARS;
	t->kind = LINE_WORD;
	if (r > q) {
		if (is_hex(p, r, all)) {
			t->kind = LINE_HEX;
			return r;
		}
		/* 20ms, 256MB: the unit is no part of it */
		return !(all & DIGIT) && r - q <= SUFFIX_MAX && take_number(p, q, q, t) ? q : r;
	}
	if (q < end && *q == '.' && (class_at(q + 1, end) & DIGIT)) {
		for (r = q + 1; class_at(r, end) & DIGIT;)
			r++;
		if (r + 1 < end && *r == '.' && (class_at(r + 1, end) & DIGIT))
			return dotted_end(r, end);
		const char *unit = word_end(r, end, &all);
		return !(all & DIGIT) && unit - r <= SUFFIX_MAX && take_number(p, q, r, t) ? r : unit;
	}
	return take_number(p, q, q, t) || !is_hex(p, q, 0) ? q : (t->kind = LINE_HEX, q);
}

/* At a letter that begins a word; the kind stays 0 for a literal part. */
static const char *scan_letters(const char *p, const char *end, struct line_token *t)
{
	unsigned all;
	const char *q = word_end(p, end, &all);
	if (q - p == 8 && q < end && *q == '-' && is_uuid(p, end, t))
		return p + UUID_CHARS;
	if (!(all & DIGIT) && q - p < WORD_LONG)
		return q;
	if (is_hex(p, q, all)) {
		t->kind = LINE_HEX;
		return q;
	}
	if (q - p < WORD_LONG && (all & LETTER)) { /* TP0, v1: letters, then a number */
		const char *r = p;
		while (!(class_at(r, end) & DIGIT))
			r++;
		if (all_digits(r, (unsigned)(q - r)))
			return r;
	}
	t->kind = LINE_WORD;
	return q;
}

/* At '[': the end of a list of numbers, or NULL; *ret_stop is how far it looked. */
static const char *scan_list(const char *p, const char *end, const char **ret_stop)
{
	unsigned depth = 0, run = 0;
	bool any = false;
	const char *limit = end - p > LINE_LIST_MAX ? p + LINE_LIST_MAX : end, *q = p;
	for (; q < limit; q++) {
		char c = *q;
		if (classes[(unsigned char)c] & DIGIT) {
			/* numbers as in JSON, and short enough */
			if (++run > 18 || (run == 2 && q[-1] == '0'))
				break;
			any = true;
			continue;
		}
		run = 0;
		if (c == '[')
			depth++;
		else if (c == ']' && !--depth)
			return any ? q + 1 : NULL;
		else if (c != ',' && c != ' ' && c != ']')
			break;
	}
	*ret_stop = q;
	return NULL;
}

size_t line_list(struct text t, char *shape, size_t *ret_shape_len, uint64_t *numbers, size_t max)
{
	size_t n = 0, len = 0;
	for (size_t i = 0; i < t.len && n < max;) {
		if (!(classes[(unsigned char)t.ptr[i]] & DIGIT)) {
			shape[len++] = t.ptr[i++];
			continue;
		}
		uint64_t v = 0;
		for (; i < t.len && (classes[(unsigned char)t.ptr[i]] & DIGIT); i++)
			v = v * 10 + (uint64_t)(t.ptr[i] - '0');
		shape[len++] = '0';
		numbers[n++] = v;
	}
	*ret_shape_len = len;
	return n;
}

/* The token at p that has to be of that kind; its end, or NULL. */
const char *line_token_at(struct line_scan *s, const char *p, const char *end, unsigned kind, struct line_token *t)
{
	unsigned c = class_at(p, end);
	const char *q, *stop;
	t->kind = 0;
	if (c & DIGIT)
		q = scan_digits(s, p, end, t);
	else if (c & WORD)
		q = scan_letters(p, end, t);
	else if ((c & OPEN) && (q = scan_list(p, end, &stop)))
		t->kind = LINE_LIST;
	else
		return NULL;
	t->ptr = p;
	t->len = (uint32_t)(q - p);
	return t->kind == kind ? q : NULL;
}

static inline void add_literal(struct line_scan *s, const char *from, const char *to)
{
	size_t n = (size_t)(to - from);
	memcpy(s->skeleton + s->skeleton_len, from, n);
	s->skeleton_len += n;
}

bool line_scan(struct line_scan *s, struct text line)
{
	if (line.len > LINE_BYTES_MAX)
		return false;
	const char *p = line.ptr, *end = p + line.len, *literal = p, *no_list = p;
	s->n = 0;
	s->skeleton_len = 0;
	while (p < end) {
		unsigned c = classes[(unsigned char)*p];
		if (!c) {
			p++;
			continue;
		}
		struct line_token t;
		const char *from = p;
		t.kind = 0;
		t.same = false;
		if (c & DIGIT) {
			p = scan_digits(s, from, end, &t);
		} else if (c & WORD) {
			p = scan_letters(from, end, &t);
		} else if (c & MARKER) {
			return false;
		} else if (p < no_list || !(p = scan_list(from, end, &no_list))) {
			p = from + 1;
		} else {
			t.kind = LINE_LIST;
		}
		if (!t.kind)
			continue;
		if (s->n == LINE_TOKENS_MAX)
			return false;
		t.ptr = from;
		t.len = (uint32_t)(p - from);
		s->token[s->n++] = t;
		add_literal(s, literal, from);
		s->skeleton[s->skeleton_len++] = (char)t.kind;
		literal = p;
	}
	add_literal(s, literal, end);
	return true;
}
