/* SPDX-License-Identifier: Apache-2.0 */
/* samples.c - samples that people drew at random and looked through: what they say of the whole, by exact intervals
 *
 * Numbers and words are a person's, and marked so; the program only counts on. It draws no sample, and makes none of what logs lost: what
 * is missing is missing under load, not by chance (docs/method.md).
 */
#include <inttypes.h>
#include <stdio.h>

#include "pagetrail/statistics.h"
#include "side_file.h"

#define CONFIDENCE 0.95

static int64_t number(xmlNodePtr sample, const char *name)
{
	int64_t v;
	return text_count(side_attr(sample, name), &v) ? v : -1;
}

static int refused(struct facts *f, xmlNodePtr sample, const char *why)
{
	int rc = answer_refused(f, sample, NULL, why);
	err_hint(f->err, "hits are of those drawn, and these of a population of 1 to %d", STATISTICS_MAX);
	return rc;
}

int samples_check(struct facts *f)
{
	int rc = 0;
	for (xmlNodePtr s = side_first(xmlDocGetRootElement(f->answers), "sample"); s && !rc; s = side_next(s)) {
		int64_t all = number(s, "population"), drawn = number(s, "drawn"), hits = number(s, "hits");
		if (all < 1 || all > STATISTICS_MAX || drawn < 1 || drawn > all || hits < 0 || hits > drawn)
			rc = refused(f, s, "these numbers are of no sample");
	}
	return rc;
}

/* Rounding makes no interval narrower; what is a whole number of hundredths stays. */
static int put_percent(struct facts *f, xmlNodePtr node, const char *name, int64_t count, int64_t all, bool up)
{
	char tmp[32];
	int64_t parts = (count * 10000 + (up ? all - 1 : 0)) / all;
	snprintf(tmp, sizeof(tmp), "%" PRId64 ".%02d", parts / 100, (int)(parts % 100));
	return put_attr(f, node, name, text_of(tmp));
}

static int put_sample(struct facts *f, xmlNodePtr s)
{
	static const char *const own[] = {"id", "population", "drawn", "hits", "unit", "by", "on"};
	int64_t all = number(s, "population"), drawn = number(s, "drawn"), hits = number(s, "hits");
	struct count_range two, upper;
	xmlNodePtr node = put_node(f, f->root, "sample");
	int rc = MIN(answer_judge(f, s), 0);
	if (rc)
		return rc;
	if (!statistics_population(all, drawn, hits, CONFIDENCE, SIDES_TWO, &two) ||
	    !statistics_population(all, drawn, hits, CONFIDENCE, SIDES_UPPER, &upper))
		return err_set(f->err, ERR_BUG, "a sample was taken that is none");
	for (size_t k = 0; !rc && k < ARRAY_SIZE(own); k++)
		rc = put_attr(f, node, own[k], side_attr(s, own[k]));
	if (!rc)
		rc = put_attr(f, node, "flag", TEXT("entered-by-person"));
	if (!rc)
		rc = put_attr(f, node, "confidence", TEXT("95"));
	if (!rc)
		rc = put_attr_int(f, node, "least", two.low);
	if (!rc)
		rc = put_attr_int(f, node, "most", two.high);
	if (!rc)
		rc = put_percent(f, node, "low", two.low, all, false);
	if (!rc)
		rc = put_percent(f, node, "high", two.high, all, true);
	if (!rc)
		rc = put_attr_int(f, node, "at-most", upper.high);
	return rc ? rc : put_text(f, node, side_text(s));
}

int put_samples(struct facts *f)
{
	int rc = 0;
	xmlNodePtr s = f->answers ? side_first(xmlDocGetRootElement(f->answers), "sample") : NULL;
	for (; s && !rc; s = side_next(s))
		rc = put_sample(f, s);
	return rc;
}
