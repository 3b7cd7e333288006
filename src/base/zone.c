/* SPDX-License-Identifier: Apache-2.0 */
/* zone.c - time zones: fixed offsets, and the system's tzdata read by ourselves
 *
 * The C library knows one zone, kept in the environment and shared by all threads; a case may need many. A TZif
 * file (RFC 8536) is a list of transitions and a rule for the time after the last of them. It is input like any
 * other: everything is checked.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pagetrail/limits.h"
#include "pagetrail/macros.h"
#include "pagetrail/stamp.h"

#define TZIF_MAX_BYTES (256 * KIB)
#define DAY_S          INT64_C(86400)

struct turn {      /* one date of a POSIX rule */
	char form; /* 'M' month.week.day, 'J' day 1..365 without leap day, 'N' day 0..365 */
	int month, week, day;
	int64_t at_s; /* local seconds of that day */
};

struct transition {
	int64_t at_s; /* UTC */
	int32_t offset_s;
};

struct zone {
	int64_t first_offset_s; /* before the first transition; the whole truth for fixed offsets */
	size_t n;
	struct transition *list;
	/* after the last transition */
	bool has_rule, has_dst;
	int64_t std_s, dst_s;
	struct turn dst_from, dst_to;
};

/* --- the rule at the end: "CET-1CEST,M3.5.0,M10.5.0/3" --- */

static bool rule_number(const char **p, int max, int *ret)
{
	int v = 0;

	if (**p < '0' || **p > '9')
		return false;
	for (; **p >= '0' && **p <= '9'; (*p)++) {
		v = v * 10 + (**p - '0');
		if (v > max)
			return false;
	}
	*ret = v;
	return true;
}

static bool rule_name(const char **p)
{
	const char *from = *p;

	if (**p == '<') {
		while (**p && **p != '>')
			(*p)++;
		return *(*p)++ == '>';
	}
	while ((**p >= 'A' && **p <= 'Z') || (**p >= 'a' && **p <= 'z'))
		(*p)++;
	return *p - from >= 3;
}

static bool rule_time(const char **p, int64_t *ret)
{
	int part[3] = {0}, sign = 1;

	if (**p == '-' || **p == '+')
		sign = *(*p)++ == '-' ? -1 : 1;
	for (int i = 0; i < 3; i++) {
		if (!rule_number(p, i ? 59 : 167, &part[i]))
			return false;
		if (**p != ':' || i == 2)
			break;
		(*p)++;
	}
	*ret = sign * ((int64_t)part[0] * 3600 + part[1] * 60 + part[2]);
	return true;
}

static bool rule_turn(const char **p, struct turn *ret)
{
	*ret = (struct turn){.form = 'N', .at_s = 7200};
	if (*(*p)++ != ',')
		return false;
	if (**p == 'M') {
		ret->form = *(*p)++;
		if (!rule_number(p, 12, &ret->month) || ret->month < 1 || *(*p)++ != '.' ||
		    !rule_number(p, 5, &ret->week) || ret->week < 1 || *(*p)++ != '.' || !rule_number(p, 6, &ret->day))
			return false;
	} else {
		if (**p == 'J')
			ret->form = *(*p)++;
		if (!rule_number(p, 365, &ret->day) || (ret->form == 'J' && ret->day < 1))
			return false;
	}
	if (**p == '/') {
		(*p)++;
		return rule_time(p, &ret->at_s);
	}
	return true;
}

/* NUL-terminated. POSIX counts offsets westward. */
static bool parse_rule(struct zone *z, const char *p)
{
	int64_t west;

	if (!rule_name(&p) || !rule_time(&p, &west))
		return false;
	z->std_s = -west;
	z->has_rule = true;
	if (*p == '\0')
		return true;
	z->dst_s = z->std_s + 3600;
	if (!rule_name(&p))
		return false;
	if (*p != ',') {
		if (!rule_time(&p, &west))
			return false;
		z->dst_s = -west;
	}
	z->has_dst = true;
	return rule_turn(&p, &z->dst_from) && rule_turn(&p, &z->dst_to) && *p == '\0';
}

/* Local seconds since 1970 at which the turn is in that year. The day's number comes from stamp_from_civil(). */
static int64_t turn_in_year(const struct turn *t, int year)
{
	int64_t ns = 0, day, first, next;

	if (t->form != 'M') {
		bool after_leap_day = t->day >= 60 && stamp_from_civil(year, 2, 29, 0, 0, 0, 0, &ns);

		stamp_from_civil(year, 1, 1, 0, 0, 0, 0, &ns);
		day = ns / NS_PER_S / DAY_S + t->day;
		if (t->form == 'J')
			day += after_leap_day ? 0 : -1;
		return day * DAY_S + t->at_s;
	}
	stamp_from_civil(year, t->month, 1, 0, 0, 0, 0, &ns);
	first = ns / NS_PER_S / DAY_S;
	stamp_from_civil(t->month == 12 ? year + 1 : year, t->month == 12 ? 1 : t->month + 1, 1, 0, 0, 0, 0, &ns);
	next = ns / NS_PER_S / DAY_S;
	day = first + (t->day - (first + 4) % 7 + 7) % 7 + (int64_t)(t->week - 1) * 7; /* 1970-01-01 was a Thursday */
	while (day >= next)
		day -= 7;
	return day * DAY_S + t->at_s;
}

static int64_t rule_offset(const struct zone *z, int64_t utc_s)
{
	char text[40];
	int64_t from, to;
	int year;

	if (!z->has_dst)
		return z->std_s;
	/* rules speak of years that 64 bits of nanoseconds can count, and turn_in_year() needs the next one too */
	if (utc_s < 14 * DAY_S || utc_s > INT64_C(9151488000)) /* 2260 */
		return z->std_s;
	stamp_format((utc_s + z->std_s) * NS_PER_S, text, sizeof(text));
	year = atoi(text);
	from = turn_in_year(&z->dst_from, year) - z->std_s;
	to = turn_in_year(&z->dst_to, year) - z->dst_s;
	if (from < to)
		return utc_s >= from && utc_s < to ? z->dst_s : z->std_s;
	return utc_s >= to && utc_s < from ? z->std_s : z->dst_s; /* the south */
}

static int64_t offset_at(const struct zone *z, int64_t utc_s)
{
	size_t lo = 0, hi = z->n;

	if (z->has_rule && (z->n == 0 || utc_s >= z->list[z->n - 1].at_s))
		return rule_offset(z, utc_s);
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (z->list[mid].at_s <= utc_s)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? z->list[lo - 1].offset_s : z->first_offset_s;
}

/* --- TZif --- */

static uint32_t be32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int64_t be64(const unsigned char *p)
{
	return (int64_t)((uint64_t)be32(p) << 32 | be32(p + 4));
}

struct tzif {
	const unsigned char *data; /* behind the header */
	size_t times, types, chars, leaps, std, ut, bytes;
	unsigned version;
};

static bool tzif_header(const unsigned char *p, size_t len, size_t time_bytes, struct tzif *ret)
{
	if (len < 44 || memcmp(p, "TZif", 4) != 0)
		return false;
	*ret = (struct tzif){.data = p + 44, .version = p[4]};
	ret->ut = be32(p + 20);
	ret->std = be32(p + 24);
	ret->leaps = be32(p + 28);
	ret->times = be32(p + 32);
	ret->types = be32(p + 36);
	ret->chars = be32(p + 40);
	/* all are 32 bits wide: the sum does not overflow */
	ret->bytes = ret->times * (time_bytes + 1) + ret->types * 6 + ret->chars + ret->leaps * (time_bytes + 4) +
		     ret->std + ret->ut;
	return ret->bytes <= len - 44 && ret->types > 0;
}

static bool read_tzif(struct zone *z, const unsigned char *p, size_t len)
{
	struct tzif h;
	const unsigned char *types;
	size_t at;
	char rule[128];

	if (!tzif_header(p, len, 4, &h))
		return false;
	/* Version 1 has 32-bit times and no rule; nobody has written it alone since 2005. */
	if (h.version < '2')
		return false;
	at = 44 + h.bytes;
	if (!tzif_header(p + at, len - at, 8, &h))
		return false;
	types = h.data + h.times * 9;
	z->list = calloc(h.times + 1, sizeof(*z->list));
	if (!z->list)
		return false;
	z->first_offset_s = (int32_t)be32(types);
	for (size_t i = 0; i < h.times; i++) {
		unsigned type = h.data[h.times * 8 + i];

		if (type >= h.types)
			return false;
		z->list[i].at_s = be64(h.data + i * 8);
		z->list[i].offset_s = (int32_t)be32(types + type * 6u);
		if ((i && z->list[i].at_s <= z->list[i - 1].at_s) || z->list[i].offset_s <= -2 * DAY_S ||
		    z->list[i].offset_s >= 2 * DAY_S)
			return false;
	}
	z->n = h.times;
	at += 44 + h.bytes;
	if (at >= len || p[at] != '\n')
		return true;
	for (size_t i = 0; ++at < len && i < sizeof(rule); i++) {
		rule[i] = p[at] == '\n' ? '\0' : (char)p[at];
		if (rule[i] == '\0')
			return i == 0 || parse_rule(z, rule);
	}
	return false;
}

static bool good_name(struct text name)
{
	if (name.len == 0 || name.len > 64 || name.ptr[0] == '/' || name.ptr[0] == '.')
		return false;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];

		/* no dots: neither "..", nor the tables that lie beside the zones */
		if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
		      c == '+' || c == '-' || c == '/'))
			return false;
	}
	return true;
}

/* 0, 1 when there is no such zone, or ERR_*. */
static int load_named(struct zone *z, struct text name, struct err *err)
{
	unsigned char *bytes;
	size_t len = 0;
	char path[128];
	ssize_t n;
	int fd, r = 0;

	if (!good_name(name))
		return 1;
	snprintf(path, sizeof(path), "/usr/share/zoneinfo/%.*s", TEXT_ARG(name));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 1;
	bytes = malloc(TZIF_MAX_BYTES);
	if (!bytes) {
		close(fd);
		return err_nomem(err);
	}
	while ((n = read(fd, bytes + len, TZIF_MAX_BYTES - len)) != 0) {
		if (n > 0)
			len += (size_t)n;
		else if (errno != EINTR)
			break;
	}
	close(fd);
	if (n != 0 || !read_tzif(z, bytes, len))
		r = 1;
	free(bytes);
	return r;
}

static bool fixed_offset(struct text name, int64_t *ret_s)
{
	static const char *const utc[] = {"Z", "UTC", "utc", "GMT", "Etc/UTC"};
	struct stamp s;
	char text[40];
	size_t used;
	int n;

	*ret_s = 0;
	for (size_t i = 0; i < ARRAY_SIZE(utc); i++)
		if (text_is(name, utc[i]))
			return true;
	if (text_starts(name, "UTC") || text_starts(name, "GMT"))
		name = text_from(name, 3);
	if (name.len < 3 || name.len > 6 || (name.ptr[0] != '+' && name.ptr[0] != '-'))
		return false;
	/* the same reading as behind a stamp */
	n = snprintf(text, sizeof(text), "2000-01-01T00:00:00%.*s", TEXT_ARG(name));
	if (n < 0 || !stamp_parse_iso((struct text){text, (size_t)n}, &s, &used) || used != (size_t)n)
		return false;
	*ret_s = INT64_C(946684800) - s.ns / NS_PER_S;
	return true;
}

int zone_open(struct zone **ret, struct text name, struct err *err)
{
	struct zone *z = calloc(1, sizeof(*z));
	int r = 0;

	*ret = NULL;
	if (!z)
		return err_nomem(err);
	if (!fixed_offset(name, &z->first_offset_s))
		r = load_named(z, name, err);
	if (r == 0) {
		*ret = z;
		return 0;
	}
	zone_close(z);
	if (r < 0)
		return r;
	err_set(err, ERR_USAGE, "unknown time zone '%.*s'", (int)MIN(name.len, 64), name.ptr ? name.ptr : "");
	err_hint(err, "use a name such as Asia/Shanghai, or an offset such as +08:00");
	return ERR_USAGE;
}

void zone_close(struct zone *z)
{
	if (!z)
		return;
	free(z->list);
	free(z);
}

int64_t zone_to_utc(const struct zone *z, int64_t local_ns)
{
	int64_t s, frac, offset[2], best = INT64_MAX, fallback = INT64_MAX, ns;

	if (local_ns == TIME_UNKNOWN)
		return TIME_UNKNOWN;
	s = local_ns / NS_PER_S;
	frac = local_ns % NS_PER_S;
	if (frac < 0) {
		frac += NS_PER_S;
		s--;
	}
	/* No zone turns twice within two days: the offsets before and after are all that can be meant. One that holds
	 * at the moment it gives is a reading; in a gap none does, in an overlap both do. */
	offset[0] = offset_at(z, s - DAY_S);
	offset[1] = offset_at(z, s + DAY_S);
	for (int i = 0; i < 2; i++) {
		int64_t utc = s - offset[i];

		if (offset_at(z, utc) == offset[i])
			best = MIN(best, utc);
		fallback = MIN(fallback, utc);
	}
	if (best == INT64_MAX)
		best = fallback;
	if (__builtin_mul_overflow(best, NS_PER_S, &ns) || __builtin_add_overflow(ns, frac, &ns))
		return local_ns;
	return ns;
}

int64_t zone_from_utc(const struct zone *z, int64_t ns)
{
	int64_t local = ns;

	/* the offset depends on the local time that is looked for: twice is enough, offsets change by hours */
	for (int i = 0; i < 2 && ns != TIME_UNKNOWN; i++)
		local = ns + (local - zone_to_utc(z, local));
	return local;
}

char *zone_format(const struct zone *z, int64_t ns, char *buf, size_t size)
{
	char utc[40];
	int64_t local = zone_from_utc(z, ns);
	int64_t offset_min = (local - ns) / (60 * NS_PER_S);
	stamp_format(local, utc, sizeof(utc));
	size_t n = strlen(utc);
	snprintf(buf, size, "%.*s%c%02d:%02d", n ? (int)n - 1 : 0, utc, offset_min < 0 ? '-' : '+',
		 (int)(offset_min < 0 ? -offset_min : offset_min) / 60,
		 (int)(offset_min < 0 ? -offset_min : offset_min) % 60);
	return buf;
}
