/* SPDX-License-Identifier: Apache-2.0 */
/* stamp.c - time stamps out of texts and back; pure arithmetic, no C library clock, no locale */
#include <stdio.h>
#include <string.h>

#include "number.h"
#include "pagetrail/macros.h"
#include "pagetrail/stamp.h"

/* A fixed number of digits; -1 when one is none. */
static int digits(const char *p, unsigned n)
{
	int v = 0;

	for (unsigned i = 0; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return -1;
		v = v * 10 + (p[i] - '0');
	}
	return v;
}

static bool digit_at(struct text t, size_t i)
{
	return i < t.len && t.ptr[i] >= '0' && t.ptr[i] <= '9';
}

static bool word_at(struct text t, size_t i)
{
	return digit_at(t, i) || (i < t.len && (t.ptr[i] | 0x20) >= 'a' && (t.ptr[i] | 0x20) <= 'z');
}

/* Days since 1970-01-01 of the proleptic Gregorian calendar; years begin in March, so that the leap day is last. */
static int64_t days_from_civil(int year, int month, int day)
{
	int64_t y = (int64_t)year - (month <= 2);
	int64_t era = (y >= 0 ? y : y - 399) / 400;
	int64_t of_era = y - era * 400;
	int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int days_in_month(int year, int month)
{
	static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && leap);
}

/* A leap second (…:59:60) is read as the second after it, as POSIX does. */
bool stamp_from_civil(int year, int month, int day, int hour, int min, int sec, int64_t frac_ns, int64_t *ret_ns)
{
	int64_t s, ns;

	if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month))
		return false;
	if (hour < 0 || hour > 23 || min < 0 || min > 59 || sec < 0 || sec > 60 || (sec == 60 && min != 59))
		return false;
	if (frac_ns < 0 || frac_ns >= NS_PER_S)
		return false;
	s = days_from_civil(year, month, day) * 86400 + hour * 3600 + min * 60 + sec;
	if (__builtin_mul_overflow(s, NS_PER_S, &ns) || __builtin_add_overflow(ns, frac_ns, &ns) || ns == TIME_UNKNOWN)
		return false;
	*ret_ns = ns;
	return true;
}

/* At t[i]: '.' or one of `marks`, then digits. Nine count, the rest is read over. Returns the bytes read. */
static size_t fraction(struct text t, size_t i, bool comma, int64_t *ret_ns, int64_t *ret_precision)
{
	size_t from = i;
	int64_t ns = 0, unit = NS_PER_S;

	*ret_ns = 0;
	*ret_precision = NS_PER_S;
	if (i >= t.len || !(t.ptr[i] == '.' || (comma && t.ptr[i] == ',')) || !digit_at(t, i + 1))
		return 0;
	for (i++; digit_at(t, i); i++) {
		if (unit == 1)
			continue;
		unit /= 10;
		ns += (t.ptr[i] - '0') * unit;
	}
	*ret_ns = ns;
	*ret_precision = unit;
	return i - from;
}

/* At t[i]: Z, z that begins no word, +HH, +HHMM, +HH:MM (or '-'). Returns the bytes read, 0 when there is no zone. No
 * place on earth is further than 14 hours from UTC; up to 18 are read, so that "03:12:44-2026" is no zone. */
static size_t zone_suffix(struct text t, size_t i, int64_t *ret_s)
{
	size_t n;
	int hours, minutes = 0;

	*ret_s = 0;
	if (i >= t.len)
		return 0;
	if (t.ptr[i] == 'Z' || (t.ptr[i] == 'z' && !word_at(t, i + 1)))
		return 1;
	if (t.ptr[i] != '+' && t.ptr[i] != '-')
		return 0;
	if (!digit_at(t, i + 1) || !digit_at(t, i + 2))
		return 0;
	hours = digits(t.ptr + i + 1, 2);
	n = 3;
	if (digit_at(t, i + 3) && digit_at(t, i + 4)) {
		minutes = digits(t.ptr + i + 3, 2);
		n = 5;
	} else if (i + 3 < t.len && t.ptr[i + 3] == ':' && digit_at(t, i + 4) && digit_at(t, i + 5)) {
		minutes = digits(t.ptr + i + 4, 2);
		n = 6;
	}
	if (digit_at(t, i + n) || hours > 18 || minutes > 59)
		return 0;
	*ret_s = hours * 3600 + minutes * 60;
	if (t.ptr[i] == '-')
		*ret_s = -*ret_s;
	return n;
}

/* The end that all civil shapes share: fraction and zone at t[i], then everything is put together. */
static bool finish(struct text t, size_t i, const int f[6], bool comma, bool blank, struct stamp *ret, size_t *ret_used)
{
	struct stamp s = {TIME_UNKNOWN, STAMP_NAIVE, NS_PER_S};
	int64_t frac, shift;
	size_t n;

	if (digit_at(t, i)) /* 03:12:445 */
		return false;
	i += fraction(t, i, comma, &frac, &s.precision_ns);
	if (!stamp_from_civil(f[0], f[1], f[2], f[3], f[4], f[5], frac, &s.ns))
		return false;
	blank = blank && i < t.len && t.ptr[i] == ' ';
	n = zone_suffix(t, i + blank, &shift);
	if (n) {
		i += n + blank;
		s.quality = STAMP_ZONED;
		if (__builtin_sub_overflow(s.ns, shift * NS_PER_S, &s.ns) || s.ns == TIME_UNKNOWN)
			return false;
	}
	*ret = s;
	if (ret_used)
		*ret_used = i;
	return true;
}

bool stamp_parse_iso(struct text t, struct stamp *ret, size_t *ret_used)
{
	const char *p = t.ptr;
	int f[6];

	if (t.len < 19 || p[4] != '-' || p[7] != '-' || (p[10] != 'T' && p[10] != 't' && p[10] != ' ') ||
	    p[13] != ':' || p[16] != ':')
		return false;
	f[0] = digits(p, 4);
	f[1] = digits(p + 5, 2);
	f[2] = digits(p + 8, 2);
	f[3] = digits(p + 11, 2);
	f[4] = digits(p + 14, 2);
	f[5] = digits(p + 17, 2);
	return f[0] >= 0 && finish(t, 19, f, true, false, ret, ret_used);
}

bool stamp_parse_clf(struct text t, struct stamp *ret, size_t *ret_used)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	const char *p = t.ptr;
	int f[6] = {0};

	if (t.len < 20 || p[2] != '/' || p[6] != '/' || p[11] != ':' || p[14] != ':' || p[17] != ':')
		return false;
	for (int m = 0; m < 12; m++)
		if (memcmp(p + 3, months + (size_t)m * 3, 3) == 0)
			f[1] = m + 1;
	f[0] = digits(p + 7, 4);
	f[2] = digits(p, 2);
	f[3] = digits(p + 12, 2);
	f[4] = digits(p + 15, 2);
	f[5] = digits(p + 18, 2);
	return f[0] >= 0 && finish(t, 20, f, false, true, ret, ret_used);
}

bool stamp_parse_epoch(struct text number, struct stamp *ret)
{
	struct number n;
	struct stamp s = {TIME_UNKNOWN, STAMP_ZONED, 1};
	int64_t whole;
	int shift;

	if (!number_shape(number, &n) || n.minus || !number_scaled(&n, 0, &whole))
		return false;
	if (whole >= INT64_C(100000000000000000)) {
		shift = 0;
	} else if (whole >= INT64_C(100000000000000)) {
		shift = 3;
	} else if (whole >= INT64_C(100000000000)) {
		shift = 6;
	} else {
		shift = 9;
		if (whole < INT64_C(100000000))
			s.quality = STAMP_MONOTONIC;
	}
	if (!number_scaled(&n, shift, &s.ns))
		return false;
	/* the last digit written is the precision */
	for (int64_t k = (int64_t)shift - (int64_t)n.fraction.len + n.exponent; k > 0 && s.precision_ns < NS_PER_S; k--)
		s.precision_ns *= 10;
	*ret = s;
	return true;
}

bool stamp_parse_seconds(struct text number, struct stamp *ret)
{
	struct number n;
	int64_t i;

	if (!number_shape(number, &n) || n.minus || !number_scaled(&n, 0, &i))
		return false;
	if (i >= STAMP_NS_FROM) {
		*ret = (struct stamp){i, STAMP_ZONED, 1};
		return true;
	}
	if (!number_scaled(&n, 9, &i))
		return false;
	*ret = (struct stamp){i, STAMP_ZONED, (int64_t)n.fraction.len - n.exponent > 6 ? 1 : 1000};
	return true;
}

enum { YEAR_WITHOUT = 1972 };

bool stamp_yearless(int month, int day, int hour, int min, int sec, int64_t frac_ns, struct stamp near,
		    struct stamp *ret)
{
	const int64_t day_ns = 86400 * NS_PER_S, year_ns = 366 * day_ns;
	bool last = near.quality == STAMP_INTERPOLATED, found = false, counted = near.quality == STAMP_MONOTONIC;
	int64_t best = 0, ns;
	int year;

	*ret = (struct stamp){TIME_UNKNOWN, counted ? STAMP_MONOTONIC : STAMP_YEARLESS, NS_PER_S};
	if (near.ns == TIME_UNKNOWN || near.quality == STAMP_NONE || near.ns < 2 * year_ns - day_ns ||
	    near.ns > INT64_MAX - 2 * year_ns) {
		ret->quality = STAMP_MONOTONIC;
		return stamp_from_civil(YEAR_WITHOUT, month, day, hour, min, sec, frac_ns, &ret->ns);
	}
	year = 1970 + (int)(near.ns / (365 * day_ns + day_ns / 4));
	/* eight years hold a 29 February */
	for (int i = -8; i <= 8; i++) {
		int64_t off;

		if (!stamp_from_civil(year + i, month, day, hour, min, sec, frac_ns, &ns) ||
		    (last && ns >= near.ns + day_ns))
			continue;
		off = ns > near.ns ? ns - near.ns : near.ns - ns;
		if (found && off >= best)
			continue;
		best = off;
		ret->ns = ns;
		found = true;
	}
	return found;
}

char *stamp_format(int64_t ns, char *buf, size_t size)
{
	int64_t s = ns / NS_PER_S, frac = ns % NS_PER_S;
	int64_t days, rest, era, of_era, year_of_era, of_year, m;
	int width = 9, n;

	if (size == 0)
		return buf;
	buf[0] = '\0';
	if (ns == TIME_UNKNOWN)
		return buf;
	if (frac < 0) {
		frac += NS_PER_S;
		s--;
	}
	days = s / 86400;
	rest = s % 86400;
	if (rest < 0) {
		rest += 86400;
		days--;
	}
	/* civil from days, the inverse of days_from_civil() */
	days += 719468;
	era = (days >= 0 ? days : days - 146096) / 146097;
	of_era = days - era * 146097;
	year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	m = (5 * of_year + 2) / 153;
	n = snprintf(buf, size, "%04d-%02d-%02dT%02d:%02d:%02d", (int)(year_of_era + era * 400 + (m >= 10)),
		     (int)(m < 10 ? m + 3 : m - 9), (int)(of_year - (153 * m + 2) / 5 + 1), (int)(rest / 3600),
		     (int)(rest / 60 % 60), (int)(rest % 60));
	if (n < 0 || (size_t)n >= size)
		return buf;
	while (width && frac % 1000 == 0) {
		frac /= 1000;
		width -= 3;
	}
	if (width)
		snprintf(buf + n, size - (size_t)n, ".%0*dZ", width, (int)frac);
	else
		snprintf(buf + n, size - (size_t)n, "Z");
	return buf;
}
