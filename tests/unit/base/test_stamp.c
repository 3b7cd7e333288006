/* SPDX-License-Identifier: Apache-2.0 */
/* test_stamp.c - shapes of time stamps, the calendar, zones */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "pagetrail/macros.h"
#include "pagetrail/stamp.h"

static void iso(const char *in, const char *out, enum stamp_quality quality, int64_t precision, size_t used)
{
	struct stamp s;
	char text[40];
	size_t n;

	assert_true(stamp_parse_iso(text_of(in), &s, &n));
	assert_string_equal(stamp_format(s.ns, text, sizeof(text)), out);
	assert_int_equal(s.quality, quality);
	assert_int_equal(s.precision_ns, precision);
	assert_int_equal(n, used);
}

static void test_iso(void **state)
{
	static const char *const bad[] = {
	    "",
	    "2026-09-14",
	    "2026-09-14 03:12:4",
	    "2026-09-14x03:12:44",
	    "2026-9-14 03:12:44.000000",
	    "2026-09-14 03:12:445",
	    "2026-13-01 00:00:00",
	    "2026-00-01 00:00:00",
	    "2026-02-29 00:00:00",
	    "2100-02-29 00:00:00",
	    "2026-04-31 00:00:00",
	    "2026-09-00 00:00:00",
	    "2026-09-14 24:00:00",
	    "2026-09-14 03:60:00",
	    "2026-09-14 03:12:60",
	    "2026-09-14 03:12:61",
	    "2026-09-14 -3:12:44",
	    "0001-01-01 00:00:00", /* before what 64 bits of nanoseconds hold */
	    "9999-01-01 00:00:00",
	    " 2026-09-14 03:12:44",
	};
	struct stamp s;
	size_t n;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(stamp_parse_iso(text_of(bad[i]), &s, &n));
	iso("2026-09-14 03:12:44", "2026-09-14T03:12:44Z", STAMP_NAIVE, NS_PER_S, 19);
	iso("2026-09-14 03:12:44 TP0] x", "2026-09-14T03:12:44Z", STAMP_NAIVE, NS_PER_S, 19);
	iso("2026-09-14T03:12:44.310555", "2026-09-14T03:12:44.310555Z", STAMP_NAIVE, 1000, 26);
	iso("2026-09-14 03:12:44,556] x", "2026-09-14T03:12:44.556Z", STAMP_NAIVE, 1000000, 23);
	iso("2026-09-14 03:12:44, x", "2026-09-14T03:12:44Z", STAMP_NAIVE, NS_PER_S, 19);
	iso("2026-09-14T03:12:44.", "2026-09-14T03:12:44Z", STAMP_NAIVE, NS_PER_S, 19);
	iso("2026-09-14T03:12:44Z", "2026-09-14T03:12:44Z", STAMP_ZONED, NS_PER_S, 20);
	iso("2026-09-14T03:12:44.1Z", "2026-09-14T03:12:44.100Z", STAMP_ZONED, 100000000, 22);
	iso("2026-09-14T03:12:44.310122334Z", "2026-09-14T03:12:44.310122334Z", STAMP_ZONED, 1, 30);
	iso("2026-09-14T03:12:44.310122334999Z", "2026-09-14T03:12:44.310122334Z", STAMP_ZONED, 1, 33);
	iso("2026-09-14T03:12:44.5+02:00", "2026-09-14T01:12:44.500Z", STAMP_ZONED, 100000000, 27);
	iso("2026-09-14T03:12:44+0530", "2026-09-13T21:42:44Z", STAMP_ZONED, NS_PER_S, 24);
	iso("2026-09-14T03:12:44-07 x", "2026-09-14T10:12:44Z", STAMP_ZONED, NS_PER_S, 22);
	iso("2026-09-14T23:30:00-01:00", "2026-09-15T00:30:00Z", STAMP_ZONED, NS_PER_S, 25);
	iso("2026-09-14t03:12:44.5z", "2026-09-14T03:12:44.500Z", STAMP_ZONED, 100000000, 22);
	iso("2026-09-14 03:12:44z]", "2026-09-14T03:12:44Z", STAMP_ZONED, NS_PER_S, 20);
	/* no zones */
	iso("2026-09-14 03:12:44zone", "2026-09-14T03:12:44Z", STAMP_NAIVE, NS_PER_S, 19);
	iso("2026-09-14T03:12:44-2026", "2026-09-14T03:12:44Z", STAMP_NAIVE, NS_PER_S, 19);
	iso("2026-09-14T03:12:44+1", "2026-09-14T03:12:44Z", STAMP_NAIVE, NS_PER_S, 19);
	iso("2026-09-14T03:12:44-worker", "2026-09-14T03:12:44Z", STAMP_NAIVE, NS_PER_S, 19);
	iso("2026-09-14T03:12:44+01:75", "2026-09-14T03:12:44Z", STAMP_NAIVE, NS_PER_S, 19);
	/* the calendar */
	iso("2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z", STAMP_ZONED, NS_PER_S, 20);
	iso("2000-02-29T00:00:00Z", "2000-02-29T00:00:00Z", STAMP_ZONED, NS_PER_S, 20);
	iso("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z", STAMP_ZONED, NS_PER_S, 20);
	iso("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z", STAMP_ZONED, 1000000, 24);
	iso("1677-09-21T00:12:44Z", "1677-09-21T00:12:44Z", STAMP_ZONED, NS_PER_S, 20);
	iso("2262-04-11T23:47:16.854775807Z", "2262-04-11T23:47:16.854775807Z", STAMP_ZONED, 1, 30);
	assert_false(stamp_parse_iso(TEXT("2262-04-11T23:47:16.854775808Z"), &s, &n));
	assert_false(stamp_parse_iso(TEXT("2262-04-11T23:47:16-01:00"), &s, &n));
	assert_true(stamp_parse_iso(TEXT("2026-09-14T03:12:44Z"), &s, NULL));
}

static void test_clf(void **state)
{
	struct stamp s;
	char text[40];
	size_t n;

	(void)state;
	assert_true(stamp_parse_clf(TEXT("14/Sep/2026:03:12:44 +0200] x"), &s, &n));
	assert_string_equal(stamp_format(s.ns, text, sizeof(text)), "2026-09-14T01:12:44Z");
	assert_int_equal(s.quality, STAMP_ZONED);
	assert_int_equal(n, 26);
	assert_true(stamp_parse_clf(TEXT("14/Sep/2026:03:12:44.123"), &s, &n));
	assert_string_equal(stamp_format(s.ns, text, sizeof(text)), "2026-09-14T03:12:44.123Z");
	assert_int_equal(s.quality, STAMP_NAIVE);
	assert_int_equal(n, 24);
	assert_true(stamp_parse_clf(TEXT("14/Sep/2026:03:12:44 GET"), &s, &n));
	assert_int_equal(n, 20);
	assert_false(stamp_parse_clf(TEXT("14/sep/2026:03:12:44"), &s, &n));
	assert_false(stamp_parse_clf(TEXT("31/Sep/2026:03:12:44"), &s, &n));
	assert_false(stamp_parse_clf(TEXT("14/epO/2026:03:12:44"), &s, &n));
	assert_false(stamp_parse_clf(TEXT("14/Sep/2026:03:12:4"), &s, &n));
}

static void epoch(const char *in, const char *out, enum stamp_quality quality, int64_t precision)
{
	struct stamp s;
	char text[40];

	assert_true(stamp_parse_epoch(text_of(in), &s));
	assert_string_equal(stamp_format(s.ns, text, sizeof(text)), out);
	assert_int_equal(s.quality, quality);
	assert_int_equal(s.precision_ns, precision);
}

static void seconds(const char *in, int64_t ns, int64_t precision)
{
	struct stamp s;

	assert_true(stamp_parse_seconds(text_of(in), &s));
	assert_int_equal(s.ns, ns);
	assert_int_equal(s.quality, STAMP_ZONED);
	assert_int_equal(s.precision_ns, precision);
}

static void test_seconds(void **state)
{
	static const char *const bad[] = {"",    "-1.5", "-0.0", "1.", ".5", "1.5x", " 1.5", "9223372036.854775808",
					  "1e20"};
	struct stamp s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(stamp_parse_seconds(text_of(bad[i]), &s));
	seconds("1788318961.972480011", INT64_C(1788318961972480011), 1);
	seconds("1788000000.9999999", INT64_C(1788000000999999900), 1);
	seconds("1788000000.9999999999", INT64_C(1788000000999999999), 1);
	seconds("1788000001.250", INT64_C(1788000001250000000), 1000);
	seconds("1.788e9", INT64_C(1788000000000000000), 1000);
	seconds("17880000001234567.5e-7", INT64_C(1788000000123456750), 1);
	seconds("9223372036.854775807", INT64_MAX, 1);
	seconds("999999999.9", INT64_C(999999999900000000), 1000);
	seconds("1788000000123456789.75", INT64_C(1788000000123456789), 1);
	seconds("1788000000123456.789", INT64_C(1788000000123456), 1);
}

static void test_epoch(void **state)
{
	struct stamp s;

	(void)state;
	epoch("1789355564", "2026-09-14T03:12:44Z", STAMP_ZONED, NS_PER_S);
	epoch("1789355564.1", "2026-09-14T03:12:44.100Z", STAMP_ZONED, 100000000);
	epoch("1789355564.1234567", "2026-09-14T03:12:44.123456700Z", STAMP_ZONED, 100);
	epoch("1789355564310", "2026-09-14T03:12:44.310Z", STAMP_ZONED, 1000000);
	epoch("1789355564310.122", "2026-09-14T03:12:44.310122Z", STAMP_ZONED, 1000);
	epoch("1789355564310122", "2026-09-14T03:12:44.310122Z", STAMP_ZONED, 1000);
	epoch("1789355564310122334", "2026-09-14T03:12:44.310122334Z", STAMP_ZONED, 1);
	epoch("1.789355564e9", "2026-09-14T03:12:44Z", STAMP_ZONED, NS_PER_S);
	epoch("12.5", "1970-01-01T00:00:12.500Z", STAMP_MONOTONIC, 100000000);
	epoch("99999999", "1973-03-03T09:46:39Z", STAMP_MONOTONIC, NS_PER_S);
	epoch("100000000", "1973-03-03T09:46:40Z", STAMP_ZONED, NS_PER_S);
	assert_false(stamp_parse_epoch(TEXT("-5"), &s));
	assert_false(stamp_parse_epoch(TEXT("99999999999"), &s)); /* seconds beyond the range */
	assert_false(stamp_parse_epoch(TEXT("99999999999999999999"), &s));
	assert_false(stamp_parse_epoch(TEXT("nan"), &s));
	assert_false(stamp_parse_epoch(TEXT(""), &s));
}

static void test_format(void **state)
{
	char text[40], small[5];

	(void)state;
	assert_string_equal(stamp_format(TIME_UNKNOWN, text, sizeof(text)), "");
	assert_string_equal(stamp_format(0, text, sizeof(text)), "1970-01-01T00:00:00Z");
	assert_string_equal(stamp_format(-1, text, sizeof(text)), "1969-12-31T23:59:59.999999999Z");
	assert_string_equal(stamp_format(1000, text, sizeof(text)), "1970-01-01T00:00:00.000001Z");
	assert_string_equal(stamp_format(INT64_MAX, text, sizeof(text)), "2262-04-11T23:47:16.854775807Z");
	assert_string_equal(stamp_format(INT64_MIN + 1, text, sizeof(text)), "1677-09-21T00:12:43.145224193Z");
	stamp_format(0, small, sizeof(small)); /* cut, not overflowing */
	assert_int_equal(strlen(small), 4);
}

static void test_round_trip(void **state)
{
	uint64_t seed = 88172645463325252, x = seed;
	char text[40];

	(void)state;
	print_message("# seed %llu\n", (unsigned long long)seed);
	for (int i = 0; i < 200000; i++) {
		struct stamp s;
		struct tm tm;
		int64_t ns;
		time_t t;
		size_t n;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		ns = (int64_t)(x >> (i % 8));
		if (i % 3 == 0)
			ns = ns / NS_PER_S * NS_PER_S;
		/* the first 1677 second is not whole */
		if (ns < INT64_MIN + NS_PER_S)
			continue;
		stamp_format(ns, text, sizeof(text));
		assert_true(stamp_parse_iso(text_of(text), &s, &n));
		assert_int_equal(n, strlen(text));
		assert_true(s.ns == ns);
		t = (time_t)(ns / NS_PER_S - (ns % NS_PER_S < 0));
		gmtime_r(&t, &tm);
		assert_int_equal(atoi(text), tm.tm_year + 1900);
		assert_int_equal(atoi(text + 8), tm.tm_mday);
		assert_int_equal(atoi(text + 11), tm.tm_hour);
	}
}

static int64_t at(const char *text)
{
	struct stamp s;
	size_t n;

	assert_true(stamp_parse_iso(text_of(text), &s, &n));
	return s.ns;
}

static void utc_is(const char *zone, const char *local, const char *expected)
{
	struct zone *z;
	char text[40];

	assert_int_equal(zone_open(&z, text_of(zone), NULL), 0);
	assert_string_equal(stamp_format(zone_to_utc(z, at(local)), text, sizeof(text)), expected);
	zone_close(z);
}

static void test_fixed_zones(void **state)
{
	static const char *const bad[] = {
	    "",         "+",         "+8",   "+8:00",     "+19:00",        "+08:60",
	    "+08:000",  "8",         "UTC+", "Mars/Base", "../etc/passwd", "/etc/passwd",
	    "zone.tab", "tzdata.zi", "Asia", "Asia/",     "+08:00 ",       "Europe/Berlin/../Paris"};
	struct zone *z;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(zone_open(&z, text_of(bad[i]), &err), ERR_USAGE);
		assert_null(z);
		assert_true(err.hint[0]);
	}
	zone_close(NULL);
	utc_is("Z", "2026-09-14T03:12:44", "2026-09-14T03:12:44Z");
	utc_is("UTC", "2026-09-14T03:12:44", "2026-09-14T03:12:44Z");
	utc_is("+08:00", "2026-09-14T03:12:44.5", "2026-09-13T19:12:44.500Z");
	utc_is("-0330", "2026-09-14T03:12:44", "2026-09-14T06:42:44Z");
	utc_is("UTC+02", "2026-09-14T03:12:44", "2026-09-14T01:12:44Z");
	utc_is("+08:00", "1969-12-31T23:59:59.5", "1969-12-31T15:59:59.500Z");
	assert_int_equal(zone_open(&z, TEXT("+18:00"), NULL), 0);
	assert_true(zone_to_utc(z, TIME_UNKNOWN) == TIME_UNKNOWN);
	zone_to_utc(z, INT64_MIN + 1); /* no overflow */
	zone_to_utc(z, INT64_MAX);
	zone_close(z);
}

static void test_named_zones(void **state)
{
	struct zone *z;

	(void)state;
	if (zone_open(&z, TEXT("Europe/Berlin"), NULL) < 0) {
		print_message("no tzdata on this machine\n");
		skip();
	}
	zone_to_utc(z, INT64_MIN + 1);
	zone_to_utc(z, INT64_MAX);
	zone_close(z);
	utc_is("Europe/Berlin", "2026-01-15T12:00:00", "2026-01-15T11:00:00Z");
	utc_is("Europe/Berlin", "2026-07-15T12:00:00", "2026-07-15T10:00:00Z");
	/* gap 02:00-03:00 on 2026-03-29: the earlier reading */
	utc_is("Europe/Berlin", "2026-03-29T01:59:59", "2026-03-29T00:59:59Z");
	utc_is("Europe/Berlin", "2026-03-29T02:30:00", "2026-03-29T00:30:00Z");
	utc_is("Europe/Berlin", "2026-03-29T03:00:00", "2026-03-29T01:00:00Z");
	/* overlap 02:00-03:00 on 2026-10-25: the earlier reading */
	utc_is("Europe/Berlin", "2026-10-25T01:59:59", "2026-10-24T23:59:59Z");
	utc_is("Europe/Berlin", "2026-10-25T02:30:00", "2026-10-25T00:30:00Z");
	utc_is("Europe/Berlin", "2026-10-25T03:00:00", "2026-10-25T02:00:00Z");
	utc_is("America/New_York", "2026-11-01T01:30:00", "2026-11-01T05:30:00Z");
	utc_is("America/New_York", "2026-03-08T02:30:00", "2026-03-08T06:30:00Z");
	utc_is("Asia/Shanghai", "2026-09-14T03:12:44", "2026-09-13T19:12:44Z");
	utc_is("Asia/Kolkata", "2026-09-14T03:12:44", "2026-09-13T21:42:44Z");
	utc_is("Australia/Lord_Howe", "2026-01-15T12:00:00", "2026-01-15T01:00:00Z");
	utc_is("Australia/Sydney", "2026-01-15T12:00:00", "2026-01-15T01:00:00Z");
	utc_is("Australia/Sydney", "2026-07-15T12:00:00", "2026-07-15T02:00:00Z");
	/* behind the last transition of the file: the rule at its end */
	utc_is("Europe/Berlin", "2060-01-15T12:00:00", "2060-01-15T11:00:00Z");
	utc_is("Europe/Berlin", "2060-07-15T12:00:00", "2060-07-15T10:00:00Z");
	utc_is("Australia/Sydney", "2060-01-15T12:00:00", "2060-01-15T01:00:00Z");
	utc_is("Australia/Sydney", "2060-07-15T12:00:00", "2060-07-15T02:00:00Z");
	utc_is("America/New_York", "2060-07-15T12:00:00", "2060-07-15T16:00:00Z");
	utc_is("Asia/Shanghai", "2060-07-15T12:00:00", "2060-07-15T04:00:00Z");
	/* long ago */
	utc_is("Europe/Berlin", "1850-01-01T00:53:28", "1850-01-01T00:00:00Z");
}

/* Every hour of some years in some zones, against the C library. */
static void test_zones_like_libc(void **state)
{
	static const char *const names[] = {"Europe/Berlin",  "America/New_York", "Australia/Sydney",
					    "Asia/Tehran",    "America/Santiago", "Africa/Casablanca",
					    "Asia/Jerusalem", "Pacific/Apia"};
	struct zone *z;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (zone_open(&z, text_of(names[i]), NULL) < 0)
			skip();
		setenv("TZ", names[i], 1);
		tzset();
		for (int year = 2019; year < 2050; year += 5) {
			char text[40];
			time_t from;

			snprintf(text, sizeof(text), "%d-01-01T00:00:00", year);
			from = (time_t)(at(text) / NS_PER_S);
			for (time_t t = from; t < from + 366 * 86400; t += 3600) {
				struct tm tm;
				time_t local;
				int64_t back;

				localtime_r(&t, &tm);
				local = t + tm.tm_gmtoff;
				back = zone_to_utc(z, (int64_t)local * NS_PER_S) / NS_PER_S;
				/* an hour earlier only where clocks were turned back */
				if (back != t) {
					time_t earlier = (time_t)back;

					assert_true(back < t && back >= t - 2 * 3600);
					localtime_r(&earlier, &tm);
					assert_int_equal(earlier + tm.tm_gmtoff, local);
				}
			}
		}
		zone_close(z);
	}
	unsetenv("TZ");
	tzset();
}

static void test_zone_format(void **state)
{
	static const struct {
		const char *zone, *utc, *local;
	} cases[] = {
	    {"+08:00", "2026-09-14T03:12:44.250Z", "2026-09-14T11:12:44.250+08:00"},
	    {"-03:30", "2026-01-01T01:00:00Z", "2025-12-31T21:30:00-03:30"},
	    {"Europe/Berlin", "2026-07-01T12:00:00Z", "2026-07-01T14:00:00+02:00"},
	    {"Europe/Berlin", "2026-10-25T00:59:59Z", "2026-10-25T02:59:59+02:00"},
	    {"Europe/Berlin", "2026-10-25T02:30:00Z", "2026-10-25T03:30:00+01:00"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct zone *z = NULL;
		struct stamp s;
		size_t used;
		char buf[64];
		assert_int_equal(zone_open(&z, text_of(cases[i].zone), NULL), 0);
		assert_true(stamp_parse_iso(text_of(cases[i].utc), &s, &used));
		assert_string_equal(zone_format(z, s.ns, buf, sizeof(buf)), cases[i].local);
		zone_close(z);
	}
}

static void test_yearless(void **state)
{
	static const struct {
		const char *near;
		enum stamp_quality quality;
		int month, day;
		const char *want; /* NULL: impossible */
	} cases[] = {
	    {"2026-09-14T03:12:44Z", STAMP_NAIVE, 9, 14, "2026-09-14T23:00:00Z"},
	    {"2026-12-31T23:59:00Z", STAMP_YEARLESS, 1, 1, "2027-01-01T23:00:00Z"},
	    {"2027-01-01T00:00:00Z", STAMP_ZONED, 12, 31, "2026-12-31T23:00:00Z"},
	    {"2026-09-14T00:00:00Z", STAMP_NAIVE, 2, 29, "2028-02-29T23:00:00Z"},
	    /* a file holds nothing that is younger than itself, but for the zone */
	    {"2026-09-14T12:00:00Z", STAMP_INTERPOLATED, 9, 14, "2026-09-14T23:00:00Z"},
	    {"2026-09-14T12:00:00Z", STAMP_INTERPOLATED, 9, 16, "2025-09-16T23:00:00Z"},
	    {"2026-09-14T12:00:00Z", STAMP_INTERPOLATED, 1, 2, "2026-01-02T23:00:00Z"},
	    {"2026-09-14T12:00:00Z", STAMP_INTERPOLATED, 2, 29, "2024-02-29T23:00:00Z"},
	    {"2026-09-14T12:00:00Z", STAMP_NAIVE, 2, 30, NULL},
	    {"2026-09-14T12:00:00Z", STAMP_NAIVE, 13, 1, NULL},
	    {"2026-09-14T12:00:00Z", STAMP_NONE, 9, 14, "1972-09-14T23:00:00Z"},
	    {"1972-12-31T12:00:00Z", STAMP_MONOTONIC, 1, 1, "1973-01-01T23:00:00Z"},
	    {"1972-01-01T00:00:00Z", STAMP_MONOTONIC, 2, 29, "1972-02-29T23:00:00Z"},
	    {"1970-01-01T00:10:00Z", STAMP_MONOTONIC, 9, 14, "1972-09-14T23:00:00Z"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool year = cases[i].quality != STAMP_NONE && cases[i].quality != STAMP_MONOTONIC;
		struct stamp near, s;
		size_t used;
		char buf[64];
		assert_true(stamp_parse_iso(text_of(cases[i].near), &near, &used));
		near.quality = cases[i].quality;
		bool ok = stamp_yearless(cases[i].month, cases[i].day, 23, 0, 0, 0, near, &s);
		assert_int_equal(ok, cases[i].want != NULL);
		if (!ok)
			continue;
		assert_string_equal(stamp_format(s.ns, buf, sizeof(buf)), cases[i].want);
		assert_int_equal(s.quality, year ? STAMP_YEARLESS : STAMP_MONOTONIC);
	}
}

static void test_apart(void **state)
{
	(void)state;
	assert_true(stamps_apart(3, 10) == 7 && stamps_apart(10, 3) == 7 && stamps_apart(-1, -1) == 0);
	assert_true(stamps_apart(TIME_UNKNOWN, INT64_MAX) == UINT64_MAX);
	assert_true(stamps_apart(1, TIME_UNKNOWN) > stamps_apart(INT64_MAX, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_iso),         cmocka_unit_test(test_clf),
	    cmocka_unit_test(test_seconds),     cmocka_unit_test(test_epoch),
	    cmocka_unit_test(test_yearless),    cmocka_unit_test(test_format),
	    cmocka_unit_test(test_round_trip),  cmocka_unit_test(test_fixed_zones),
	    cmocka_unit_test(test_named_zones), cmocka_unit_test(test_zones_like_libc),
	    cmocka_unit_test(test_zone_format), cmocka_unit_test(test_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
