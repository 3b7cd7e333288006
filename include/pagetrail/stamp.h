/* SPDX-License-Identifier: Apache-2.0 */
/* stamp.h - time stamps: what a log said, and how good it is
 *
 * All times are int64_t nanoseconds since 1970-01-01 UTC ("_ns"). A naive stamp (no zone) is kept as if it
 * were UTC until the source's zone is known; its quality says so. TIME_UNKNOWN is "no time", never 0.
 */
#pragma once

#include "pagetrail/text.h"

#define TIME_UNKNOWN INT64_MIN
#define NS_PER_S     INT64_C(1000000000)

enum stamp_quality { /* numbers are stored in cases: never reorder */
		     STAMP_NONE = 0,
		     STAMP_ZONED = 1,        /* zone or epoch: UTC for sure */
		     STAMP_NAIVE = 2,        /* local time of an unknown zone */
		     STAMP_YEARLESS = 3,     /* month and day only */
		     STAMP_INTERPOLATED = 4, /* from neighbouring records */
		     STAMP_MONOTONIC = 5,    /* seconds since some start */
};

struct stamp {
	int64_t ns;
	enum stamp_quality quality;
	int64_t precision_ns; /* 1e9 for whole seconds */
};

/* How far two times lie apart, whatever they are: of TIME_UNKNOWN more than of any two. */
static inline uint64_t stamps_apart(int64_t a, int64_t b)
{
	return a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;
}

#define STAMP_INIT ((struct stamp){TIME_UNKNOWN, STAMP_NONE, 0})

/* ISO-like at the start of t: YYYY-MM-DD, then 'T', 't' or blank, HH:MM:SS, optional fraction after '.' or ','
 * (1 to 9 digits), optional zone (Z, z, +HH:MM, +HHMM, +HH). Checks the calendar. *ret_used = bytes read.
 * false when it is not one. */
bool stamp_parse_iso(struct text t, struct stamp *ret, size_t *ret_used);
/* 14/Sep/2026:03:12:44(.mmm)? (+0000)? as web servers write it. */
bool stamp_parse_clf(struct text t, struct stamp *ret, size_t *ret_used);
/* A bare number: seconds (also with fraction), ms, us or ns since the epoch, told apart by magnitude
 * (>= 1e17 ns, >= 1e14 us, >= 1e11 ms, else s; below 1e8 s it is not an epoch: STAMP_MONOTONIC). */
bool stamp_parse_epoch(struct text number, struct stamp *ret);
/* A number of a format that counts seconds, or nanoseconds from STAMP_NS_FROM on; not negative. It is read digit by
 * digit; what is below a nanosecond is cut. precision_ns is 1 or, with up to six decimals, 1000. */
#define STAMP_NS_FROM INT64_C(1000000000000000)
bool stamp_parse_seconds(struct text number, struct stamp *ret);
/* Days from civil date; used by formats with their own clock shapes. false on an impossible date. */
bool stamp_from_civil(int year, int month, int day, int hour, int min, int sec, int64_t frac_ns, int64_t *ret_ns);

/* A stamp that names no year: the year that brings it nearest to `near`; where that is when a file was written last
 * (STAMP_INTERPOLATED), the latest year that is not a day or more behind it. Without `near` nobody knows the year: the
 * stamp only orders (STAMP_MONOTONIC, counted from 1972, a leap year; near one of these as well). false on an impossible date. */
bool stamp_yearless(int month, int day, int hour, int min, int sec, int64_t frac_ns, struct stamp near,
		    struct stamp *ret);

/* RFC 3339 with Z: as many fraction digits as needed out of 0, 3, 6, 9. buf >= 40 bytes. Empty string for
 * TIME_UNKNOWN. Returns buf. */
char *stamp_format(int64_t ns, char *buf, size_t size);

/* A zone to shift naive stamps with: fixed offset (+08:00, Z, UTC) or an IANA name (read from the system's
 * tzdata). Daylight saving gaps and overlaps: the earlier reading is taken. */
struct zone;
int zone_open(struct zone **ret, struct text name, struct err *err) MUST_CHECK; /* ERR_USAGE when unknown */
void zone_close(struct zone *z);
int64_t zone_to_utc(const struct zone *z, int64_t local_ns);
int64_t zone_from_utc(const struct zone *z, int64_t ns); /* what a clock on the wall showed */
/* The same instant as local time with its offset ("2026-09-14T11:12:44+08:00"). buf >= 40 bytes. Returns buf. */
char *zone_format(const struct zone *z, int64_t ns, char *buf, size_t size);
