/* SPDX-License-Identifier: Apache-2.0 */
/* test_deadline.c - hours, days, business days and months, over weekends, month ends, leap days and turns of the clock */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "pagetrail/deadline.h"

static const char holiday_list[] =
    "# days off\n2026-11-26 a Thursday\r\n2026-12-25\n\n2027-01-01\t new year\n2026-05-01# one\n";

static int64_t at(const char *text)
{
	struct stamp s;
	size_t used;
	assert_true(stamp_parse_iso(text_of(text), &s, &used));
	return s.ns;
}

static void falls_due(const char *from, const char *period, const char *zone, bool holidays, const char *want)
{
	struct err err = {0};
	struct zone *z = NULL;
	struct holidays *h = NULL;
	struct due d;
	char got[40];
	assert_true(due_parse(text_of(period), &d));
	if (zone)
		assert_int_equal(zone_open(&z, text_of(zone), &err), 0);
	if (holidays)
		assert_int_equal(holidays_read(&h, text_of(holiday_list), &err), 0);
	stamp_format(due_at(at(from), d, z, h), got, sizeof(got));
	if (strcmp(got, want) != 0)
		fail_msg("%s + %s (%s): %s, not %s", from, period, zone ? zone : "UTC", got, want);
	zone_close(z);
	holidays_free(h);
}

static void hours(void **state)
{
	(void)state;
	falls_due("2026-09-08T12:00:00Z", "72h", NULL, false, "2026-09-11T12:00:00Z"); /* Tuesday to Friday */
	falls_due("2026-09-11T09:00:00Z", "72h", NULL, true, "2026-09-14T09:00:00Z");  /* over a weekend */
	falls_due("2028-02-28T23:30:00.5Z", "24h", NULL, false, "2028-02-29T23:30:00.500Z");
	falls_due("2026-10-24T12:00:00Z", "24h", "Europe/Berlin", false,
		  "2026-10-25T12:00:00Z"); /* clock hours, whatever the wall shows */
	falls_due("2026-09-08T12:00:00Z", "0h", NULL, false, "2026-09-08T12:00:00Z");
}

static void days(void **state)
{
	(void)state;
	falls_due("2026-09-08T12:00:00Z", "30d", NULL, false, "2026-10-09T00:00:00Z");
	falls_due("2026-09-08T00:00:00Z", "1d", NULL, false, "2026-09-10T00:00:00Z");
	falls_due("2028-01-31T10:00:00Z", "60d", NULL, false,
		  "2028-04-01T00:00:00Z"); /* a leap year: until the end of 31 March */
	falls_due("2027-01-31T10:00:00Z", "60d", NULL, false, "2027-04-02T00:00:00Z");
	/* the day is that of the zone: late on the 8th in UTC is the 9th in Tokyo */
	falls_due("2026-09-08T16:00:00Z", "15d", "Asia/Tokyo", false, "2026-09-24T15:00:00Z");
	falls_due("2026-10-20T10:00:00Z", "5d", "Europe/Berlin", false,
		  "2026-10-25T23:00:00Z"); /* the clock is set back on its last day */
}

static void business_days(void **state)
{
	(void)state;
	falls_due("2026-09-08T12:00:00Z", "4bd", NULL, false, "2026-09-15T00:00:00Z"); /* Tue: Wed, Thu, Fri, Mon */
	falls_due("2026-09-12T12:00:00Z", "4bd", NULL, false, "2026-09-18T00:00:00Z"); /* Saturday: Mon to Thu */
	falls_due("2026-11-24T12:00:00Z", "4bd", NULL, true, "2026-12-02T00:00:00Z");  /* Tue: Wed, Fri, Mon, Tue */
	falls_due("2026-11-24T12:00:00Z", "4bd", NULL, false, "2026-12-01T00:00:00Z");
	falls_due("2026-12-24T20:00:00Z", "1bd", "America/New_York", true, "2026-12-29T05:00:00Z");
	falls_due("1969-12-31T12:00:00Z", "1bd", NULL, false, "1970-01-02T00:00:00Z");
}

static void months(void **state)
{
	(void)state;
	falls_due("2026-09-11T12:00:00Z", "1m", NULL, false, "2026-10-12T00:00:00Z");
	falls_due("2027-01-31T12:00:00Z", "1m", NULL, false, "2027-03-01T00:00:00Z"); /* the end of February */
	falls_due("2028-01-31T12:00:00Z", "1m", NULL, false, "2028-03-01T00:00:00Z"); /* which has a 29th */
	falls_due("2028-01-30T12:00:00Z", "1m", NULL, false, "2028-03-01T00:00:00Z");
	falls_due("2026-12-15T12:00:00Z", "14m", NULL, false, "2028-02-16T00:00:00Z");
	falls_due("2026-08-31T12:00:00Z", "1m", NULL, false, "2026-10-01T00:00:00Z");
}

static void refused(void **state)
{
	(void)state;
	static const char *const bad[] = {
	    "", "h", "72", "72 h", "-1h", "1w", "1.5h", "10001d", "99999999999999999999h", "4bdx", "4b"};
	struct due d;
	struct err err = {0};
	struct holidays *h = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (due_parse(text_of(bad[i]), &d))
			fail_msg("'%s' is no period", bad[i]);
	assert_true(due_parse(TEXT("10000d"), &d));
	assert_true(due_at(TIME_UNKNOWN, d, NULL, NULL) == TIME_UNKNOWN);
	assert_true(due_at(INT64_MAX - 5, (struct due){1, DUE_HOURS}, NULL, NULL) == TIME_UNKNOWN);
	assert_true(due_at(INT64_MAX - 5, (struct due){1, DUE_DAYS}, NULL, NULL) == TIME_UNKNOWN);
	static const char *const lists[] = {"2026-02-30\n", "26-02-03", "2026-1-1", "today", "2026-01-01x"};
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		if (holidays_read(&h, text_of(lists[i]), &err) != ERR_INPUT)
			fail_msg("'%s' is no list of holidays", lists[i]);
	}
	assert_int_equal(holidays_read(&h, TEXT("# none\n\n"), &err), 0);
	holidays_free(h);
	holidays_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(hours), cmocka_unit_test(days),
					   cmocka_unit_test(business_days), cmocka_unit_test(months),
					   cmocka_unit_test(refused)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
