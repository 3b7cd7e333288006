/* SPDX-License-Identifier: Apache-2.0 */
/* deadline.h - when a duty falls due, counted from a moment that a person entered
 *
 * Hours are clock hours. Periods in days and months do not count the day they run from, and end with the last hour of their
 * last day where the duty is owed (the zone); a month ends on the same day of a later month, or on its last day where that
 * is shorter (Regulation (EEC, Euratom) No 1182/71, Article 3(2)). Business days are those from Monday to Friday that are
 * no holidays; counted from a day that is none, the next one is the first (Form 8-K, General Instruction B.1). A period
 * that ends on a day off is not carried on to the next working day, as some laws would have it: the earlier time is shown.
 */
#pragma once

#include "pagetrail/stamp.h"

enum due_unit { DUE_HOURS, DUE_DAYS, DUE_BUSINESS_DAYS, DUE_MONTHS };
struct due {
	int64_t n; /* 0 to DUE_MAX */
	enum due_unit unit;
};
enum { DUE_MAX = 10000 };
/* "72h", "30d", "4bd", "1m"; all of t. */
bool due_parse(struct text t, struct due *ret);

/* Days off: lines YYYY-MM-DD, then maybe a blank and a name; "#" begins a comment. */
struct holidays;
int holidays_read(struct holidays **ret, struct text content,
		  struct err *err) MUST_CHECK; /* ERR_INPUT names the line */
void holidays_free(struct holidays *h);        /* accepts NULL */
DEFINE_CLEANUP(struct holidays *, holidays_free)

/* The first moment that is too late. z NULL: UTC; h NULL: no holidays are known. TIME_UNKNOWN where `from` is, or where the answer
 * lies outside of what a time can hold. */
int64_t due_at(int64_t from_ns, struct due d, const struct zone *z, const struct holidays *h);
