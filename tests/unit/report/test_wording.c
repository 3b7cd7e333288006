/* SPDX-License-Identifier: Apache-2.0 */
/* test_wording.c - phrases that a disclosure may not use are found, and what it should say instead is not */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "pagetrail/buf.h"
#include "pagetrail/limits.h"
#include "pagetrail/wording.h"

struct heard {
	unsigned n;
	char rules[32][20];
	int64_t line[32];
	char words[256]; /* of the first */
};

static int hear(void *ctx, const struct wording_fault *f)
{
	struct heard *h = ctx;
	if (!h->n)
		snprintf(h->words, sizeof(h->words), "%.*s", TEXT_ARG(f->words));
	if (h->n < 32) {
		snprintf(h->rules[h->n], sizeof(h->rules[0]), "%s", f->rule);
		h->line[h->n] = f->line;
	}
	h->n++;
	return 0;
}

static struct heard check_as(const char *text, enum wording_shape shape)
{
	struct heard h = {0};
	struct err err = {0};
	if (wording_check(text_of(text), shape, hear, &h, &err))
		fail_msg("%s: %s", text, err.what);
	return h;
}

static void forbidden(void **state)
{
	(void)state;
	static const struct {
		const char *text, *rule;
	} cases[] = {
	    {"There was no exploitation.", "no-absence"},
	    {"We have found no malicious exploitation of this defect.", "no-absence"},
	    {"The defect was not exploited.", "no-absence"},
	    {"It has not been exploited.", "no-absence"},
	    {"No data was accessed.", "no-absence"},
	    {"No customer data has been exposed.", "no-absence"},
	    {"There was no impact on customers.", "no-absence"},
	    {"There is no evidence of misuse.", "no-absence"},
	    {"We found no evidence based on our logs that the bug was used before it was patched.", "no-absence"},
	    {"Other customers were not affected.", "not-affected"},
	    {"99.75 % of accounts were unaffected.", "not-affected"},
	    {"Exposure is possible for two tenants.", "class-name"},
	    {"We confirmed two cases.", "class-name"},
	    {"All customers were told.", "scope-word"},
	    {"Only a few customers received such answers.", "scope-word"},
	    {"The issue was limited to one region.", "scope-word"},
	    {"We believe the number of users whose data was actually revealed is extremely low.", "belittling"},
	    {"Such requests are extremely rare.", "belittling"},
	    {"Out of an abundance of caution we reset keys.", "belittling"},
	    {"For the avoidance of doubt, passwords were stored elsewhere.", "belittling"},
	    {"A sophisticated chain of events led to it.", "belittling"},
	    {"We take your privacy very seriously.", "belittling"},
	    {"The issue is fully resolved.", "belittling"},
	    {"Your data is safe.", "belittling"},
	    {"We believe that two tenants were concerned.", "opinion"},
	    {"It could not be intentionally triggered or directed.", "opinion"},
	    {"1.2 % of subscribers who were active.", "share"},
	    {"Less than 0.001% of sessions.", "share"},
	    {"In the worst hour it was 16 percent.", "share"},
	    {"One in 3.3 million requests.", "share"},
	    {"1 in 3,300,000 requests", "share"},
	    {"Some customers received such answers.", "vague-count"},
	    {"A small number of tenants is concerned.", "vague-count"},
	    {"One or more videos were exported.", "vague-count"},
	    {"Approximately 155 responses.", "vague-count"},
	    {"The bug was fixed on Tuesday.", "fixed"},
	    {"The issue has been resolved.", "fixed"},
	    {"It began at 1 a.m. in the morning.", "time"},
	    {"From 14:00 PST on", "time"},
	    {"On 03/04/2026 it was seen.", "time"},
	    {"None of the tenants answered.", "zero"},
	    {"Zero customers asked.", "zero"},
	    {"We take the security of your data very seriously.", "belittling"},
	    {"We have fixed the bug.", "fixed"},
	    {"We resolved the incident.", "fixed"},
	    {"Your account wasn\u2019t affected.", "not-affected"},
	    {"The issue did not affect your account.", "not-affected"},
	    {"No customers were impacted.", "no-absence"},
	    {"No responses leaked.", "no-absence"},
	    {"Nothing was leaked.", "no-absence"},
	    {"There were no signs of exploitation.", "no-absence"},
	    {"There was no unauthorised access.", "no-absence"},
	    {"We do not believe that others read it.", "opinion"},
	    {"We have no reason to believe so.", "opinion"},
	    {"We are not aware of any misuse.", "opinion"},
	    {"It happened at 14:00.", "time"},
	    {"It happened on September 9.", "time"},
	    {"It happened yesterday.", "time"},
	    {"Less than one percent of sessions.", "share"},
	    {"No\u00a0data was exposed.", "no-absence"},
	    {"The bug was **fixed**.", "fixed"},
	    {"It was *not* affected.", "not-affected"},
	    {"No [data](https://example.org/x) was exposed.", "no-absence"},
	    {"Ex\u00adtremely ra\u200bre: extremely ra\u00adre.", "belittling"},
	    {"Contact: [TBD]", "blank"},
	    {"Contact: [TO BE COMPLETED: Art. 33(3)(b): contact point]", "blank"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct heard h = check_as(cases[i].text, WORDING_TEXT);
		bool found = false;
		for (unsigned k = 0; k < h.n && k < 32; k++)
			found |= !strcmp(h.rules[k], cases[i].rule);
		if (!found)
			fail_msg("'%s' breaks %s, found: %u %s", cases[i].text, cases[i].rule, h.n, h.rules[0]);
	}
}

static void allowed(void **state)
{
	(void)state;
	static const char *const texts[] = {
	    "155 of 8,398 responses (1.85 %) were given out over the limit between 2026-09-09T14:00:00Z and "
	    "2026-09-10T00:00:00Z.",
	    "No evidence found in 8,398 records covering 99.2 % of the window (3,571 of 3,600 s).",
	    "C1 confirmed 126, C2 probable 35, C3 possible 0, C4 not affected 8237, C5 could not be determined 0",
	    "0 of 8,398 responses could not be determined.",
	    "The release with the fix was rolled out and is running on 22 of 24 replicas.",
	    "We searched 8,398 records. This does not show that no one used the defect.",
	    "At least 126 responses, counted; logs of one worker are missing.",
	    "Approximately 300 responses, estimated from a sample of 1 in 10 records (30 of 300).",
	    "Please reset the keys that your prompts held, as far as possible within a day.",
	    "The limit was fixed at 681274 tokens.",
	    "It is possible to ask for the list; ask as many as possible.",
	    "This is issue 1 in 2026; see https://example.org/confirmed and `was fixed`.",
	    "From 2026-09-09T14:00:00Z until before 2026-09-09 15:00:00.5Z, or 2026-09-09T16:00:00+02:00.",
	    "Safety at work; the fixture; a resolver.",
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct heard h = check_as(texts[i], WORDING_TEXT);
		if (h.n)
			fail_msg("'%s': %s '%s'", texts[i], h.rules[0], h.words);
	}
}

static void across_lines(void **state)
{
	(void)state;
	struct heard h =
	    check_as("# Notice\n\nThe issue has\nbeen fully\nresolved. Nothing more.\n\nWe take\nthis seriously.\n",
		     WORDING_TEXT);
	assert_true(h.n >= 2);
	assert_int_equal(h.line[0], 3);
	assert_int_equal(h.line[h.n - 1], 7);
	/* a paragraph ends a sentence without a stop: what excuses it stands elsewhere */
	h = check_as("It was fixed\n\nand released", WORDING_TEXT);
	assert_int_equal(h.n, 1);
	h = check_as("It was fixed and released", WORDING_TEXT);
	assert_int_equal(h.n, 0);
}

static void pages(void **state)
{
	(void)state;
	struct heard h = check_as("<!DOCTYPE html>\n<html><head><title>Notice</title><style>p { all: unset; only: x "
				  "}</style></head>\n<body><p>The issue has been <b>fully\n"
				  "resolved</b>.</p><table><tr><td>C4</td><td>12</td></tr></table></body></html>",
				  WORDING_HTML);
	assert_int_equal(h.n, 1);
	assert_string_equal(h.rules[0], "belittling");
	/* cells are apart: the excuse of one is none of the other */
	h = check_as("<html><body><table><tr><td>16 %</td><td>3 of 8</td></tr></table></body></html>", WORDING_HTML);
	assert_int_equal(h.n, 1);
	h = check_as("<?xml version=\"1.0\"?><r><p>It was\nfixed</p><p>16 % (3 of 8)</p></r>", WORDING_XML);
	assert_int_equal(h.n, 1);
	assert_string_equal(h.words, "was fixed");
	struct heard none = {0};
	struct err err = {0};
	assert_int_equal(wording_check(TEXT("<?xml version=\"1.0\"?><r><p>It was"), WORDING_XML, hear, &none, &err),
			 ERR_INPUT);
	assert_int_equal(wording_shape_of(TEXT("  <?xml version")), WORDING_XML);
	assert_int_equal(wording_shape_of(TEXT("<!DOCTYPE HTML>")), WORDING_HTML);
	assert_int_equal(wording_shape_of(TEXT("<script>")), WORDING_TEXT);
	assert_int_equal(wording_shape_of(TEXT("")), WORDING_TEXT);
}

static void hostile(void **state)
{
	(void)state;
	CLEANUP(buf_done) struct buf b = BUF_INIT(16 * MIB);
	struct err err = {0};
	struct heard h = {0};
	/* what cannot be read is never clean */
	static const struct text bad[] = {TEXT(""), TEXT(" \n"), TEXT("\xff\xfeN\0o\0"), TEXT("PK\3\4\0\0"),
					  TEXT("caf\xe9 was fixed")};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (wording_check(bad[i], WORDING_TEXT, hear, &h, &err) != ERR_INPUT)
			fail_msg("case %zu was judged", i);
	/* one sentence of megabytes, and a phrase behind it */
	for (int i = 0; i < 300000; i++)
		assert_int_equal(buf_add_text(&b, TEXT("*word `x [y"), &err), 0);
	assert_int_equal(buf_add_text(&b, TEXT(". There was no exploitation."), &err), 0);
	assert_int_equal(wording_check(buf_text(&b), WORDING_TEXT, hear, &h, &err), 0);
	assert_true(h.n >= 1);
	/* a deep page */
	buf_clear(&b);
	assert_int_equal(buf_add_text(&b, TEXT("<html><body>"), &err), 0);
	for (int i = 0; i < 200; i++)
		assert_int_equal(buf_add_text(&b, TEXT("<div>"), &err), 0);
	assert_int_equal(buf_add_text(&b, TEXT("<p>There was no exploitation."), &err), 0);
	h = (struct heard){0};
	assert_int_equal(wording_check(buf_text(&b), WORDING_HTML, hear, &h, &err), 0);
	assert_int_equal(h.n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(forbidden), cmocka_unit_test(allowed),
					   cmocka_unit_test(across_lines), cmocka_unit_test(pages),
					   cmocka_unit_test(hostile)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
