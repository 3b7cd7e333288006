/* SPDX-License-Identifier: Apache-2.0 */
/* deadline.c - hours on the clock, days on the calendar */
#include "pagetrail/deadline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pagetrail/limits.h"

enum { DAY_S = 86400 };

bool due_parse(struct text t, struct due *ret)
{
	static const struct {
		const char *name;
		enum due_unit unit;
	} units[] = {{"h", DUE_HOURS}, {"d", DUE_DAYS}, {"bd", DUE_BUSINESS_DAYS}, {"m", DUE_MONTHS}};
	size_t i = 0;
	int64_t n = 0;
	for (; i < t.len && t.ptr[i] >= '0' && t.ptr[i] <= '9' && n <= DUE_MAX; i++)
		n = n * 10 + (t.ptr[i] - '0');
	if (!i || n > DUE_MAX)
		return false;
	struct text unit = {t.ptr + i, t.len - i};
	for (size_t k = 0; k < ARRAY_SIZE(units); k++) {
		if (!text_is(unit, units[k].name))
			continue;
		*ret = (struct due){n, units[k].unit};
		return true;
	}
	return false;
}

/* ---- holidays ---- */
struct holidays {
	size_t n;
	int64_t days[]; /* since the epoch, sorted */
};

static int day_cmp(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* A date at the start of a line, as days since the epoch. */
static bool read_day(struct text line, int64_t *ret)
{
	int f[3] = {0}, widths[3] = {4, 2, 2};
	size_t at = 0;
	for (int k = 0; k < 3; k++) {
		if (k && (at >= line.len || line.ptr[at++] != '-'))
			return false;
		for (int i = 0; i < widths[k]; i++, at++) {
			if (at >= line.len || line.ptr[at] < '0' || line.ptr[at] > '9')
				return false;
			f[k] = f[k] * 10 + (line.ptr[at] - '0');
		}
	}
	int64_t ns;
	if (at < line.len && !memchr(" \t\r#", line.ptr[at], 4))
		return false;
	if (!stamp_from_civil(f[0], f[1], f[2], 0, 0, 0, 0, &ns))
		return false;
	*ret = ns / NS_PER_S / DAY_S;
	return true;
}

int holidays_read(struct holidays **ret, struct text content, struct err *err)
{
	size_t lines = 1;
	for (size_t i = 0; i < content.len; i++)
		lines += content.ptr[i] == '\n';
	if (lines > HOLIDAYS_MAX)
		return err_set(err, ERR_LIMIT, "more than %d lines of holidays", HOLIDAYS_MAX);
	struct holidays *h = calloc(1, sizeof(*h) + lines * sizeof(h->days[0]));
	if (!h)
		return err_nomem(err);
	struct text line;
	for (int64_t number = 1; text_split(&content, '\n', &line); number++) {
		line = text_trim(line);
		if (!line.len || *line.ptr == '#')
			continue;
		if (!read_day(line, &h->days[h->n])) {
			holidays_free(h);
			err_set(err, ERR_INPUT, "line %" PRId64 " of the holidays does not begin with a date", number);
			return err_hint(err, "write YYYY-MM-DD, then a blank and a name");
		}
		h->n++;
	}
	qsort(h->days, h->n, sizeof(h->days[0]), day_cmp);
	*ret = h;
	return 0;
}

void holidays_free(struct holidays *h)
{
	free(h);
}

/* 1970-01-01 was a Thursday. */
static bool works(const struct holidays *h, int64_t day)
{
	int64_t weekday = ((day + 3) % 7 + 7) % 7; /* 0: Monday */
	return weekday < 5 && !(h && bsearch(&day, h->days, h->n, sizeof(day), day_cmp));
}

/* ---- the end of a period ---- */
static int64_t floor_day(int64_t local_ns)
{
	int64_t day_ns = DAY_S * NS_PER_S, day = local_ns / day_ns;
	return day - (local_ns % day_ns < 0);
}

/* The same day `months` later, or the last one of that month. */
static bool month_later(int64_t *day, int64_t months)
{
	struct tm tm;
	time_t at = *day * DAY_S;
	if (!gmtime_r(&at, &tm))
		return false;
	int64_t month = tm.tm_mon + months, year = tm.tm_year + 1900 + month / 12, ns;
	for (int mday = tm.tm_mday; mday >= 28; mday--) {
		if (stamp_from_civil((int)year, (int)(month % 12) + 1, mday, 0, 0, 0, 0, &ns)) {
			*day = floor_day(ns);
			return true;
		}
	}
	if (!stamp_from_civil((int)year, (int)(month % 12) + 1, tm.tm_mday, 0, 0, 0, 0, &ns))
		return false;
	*day = floor_day(ns);
	return true;
}

int64_t due_at(int64_t from_ns, struct due d, const struct zone *z, const struct holidays *h)
{
	int64_t ns;
	if (from_ns == TIME_UNKNOWN || d.n < 0 || d.n > DUE_MAX)
		return TIME_UNKNOWN;
	if (d.unit == DUE_HOURS)
		return __builtin_add_overflow(from_ns, d.n * 3600 * NS_PER_S, &ns) ? TIME_UNKNOWN : ns;
	int64_t day = floor_day(z ? zone_from_utc(z, from_ns) : from_ns);
	if (d.unit == DUE_DAYS)
		day += d.n;
	else if (d.unit == DUE_MONTHS && !month_later(&day, d.n))
		return TIME_UNKNOWN;
	for (int64_t left = d.unit == DUE_BUSINESS_DAYS ? d.n : 0; left > 0; left -= works(h, day))
		day++;
	if (__builtin_mul_overflow(day + 1, DAY_S * NS_PER_S, &ns))
		return TIME_UNKNOWN;
	return z ? zone_to_utc(z, ns) : ns;
}
