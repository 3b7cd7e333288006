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

/* More ways to say it, a line each, by the rule that finds them. */
static void paraphrased(void **state)
{
	(void)state;
	static const struct {
		const char *rule, *texts;
	} cases[] = {
	    {"no-absence", "There has been no exploitation of the flaw in the wild.\n"
			   "No exploit was seen.\n"
			   "Nobody exploited the defect.\n"
			   "No one exploited this flaw.\n"
			   "The flaw was never exploited.\n"
			   "It has never been abused.\n"
			   "Exploitation did not occur.\n"
			   "Exploitation has not occurred.\n"
			   "No exploitation took place.\n"
			   "No attacker used the flaw.\n"
			   "No third party accessed your content.\n"
			   "Nobody else read your prompts.\n"
			   "No one saw your data.\n"
			   "Your data stayed private.\n"
			   "Your data remained confidential.\n"
			   "Confidentiality was preserved.\n"
			   "No data left our systems.\n"
			   "No personal data was involved.\n"
			   "No customer content was disclosed to others.\n"
			   "No sensitive information has been disclosed.\n"
			   "No data breach occurred.\n"
			   "There was no breach.\n"
			   "There was no data loss.\n"
			   "There was no leak.\n"
			   "No leakage occurred.\n"
			   "There was no exposure of customer data.\n"
			   "No harm was done.\n"
			   "It had no effect on customers.\n"
			   "It had no consequences for you.\n"
			   "Without any impact on customers.\n"
			   "The incident did not impact customers.\n"
			   "The incident did not lead to disclosure.\n"
			   "It did not expose any data.\n"
			   "It never exposed customer prompts.\n"
			   "This did not result in unauthorised access.\n"
			   "Nothing was disclosed.\n"
			   "Nothing leaked.\n"
			   "Nothing happened to your data.\n"
			   "We can rule out exploitation.\n"
			   "Exploitation can be ruled out.\n"
			   "We have ruled out that others read it.\n"
			   "There is no sign that anyone used it.\n"
			   "We saw no indication of abuse.\n"
			   "There is no indication that data was misused.\n"
			   "We found no trace of misuse.\n"
			   "There is no proof of misuse.\n"
			   "We have seen no evidence of misuse.\n"
			   "We have not seen any evidence of misuse.\n"
			   "We did not find evidence of misuse.\n"
			   "We have not identified any misuse.\n"
			   "We did not observe any abuse.\n"
			   "We haven't detected exploitation.\n"
			   "Zero impact on customers.\n"
			   "Your prompts were not disclosed.\n"
			   "Your prompts were not seen by others.\n"
			   "Your prompts weren't shared with anyone.\n"
			   "The content was not read by others.\n"
			   "No responses contained another customer's text.\n"
			   "No account was compromised.\n"
			   "No unauthorized party gained access.\n"
			   "There is an absence of misuse.\n"
			   "free of any misuse\n"},
	    {"zero", "None of your data was exposed.\n"
		     "There were no such responses.\n"
		     "not a single customer\n"
		     "not one customer\n"
		     "nil\n"
		     "Not any responses.\n"
		     "No responses were found.\n"
		     "zero responses\n"
		     "We counted none.\n"
		     "Nothing was found.\n"
		     "No hits.\n"
		     "0 customers were read.\n"
		     "0 responses were found.\n"
		     "We found 0 matches.\n"
		     "No gaps.\n"
		     "There are no gaps in the logs.\n"},
	    {"not-affected", "You were not impacted by this, you are not affected.\n"
			     "You are not concerned.\n"
			     "Your account is not among those concerned.\n"
			     "Your workspace was untouched.\n"
			     "Your data was untouched.\n"
			     "This does not concern you.\n"
			     "It had nothing to do with your account.\n"
			     "You were never affected.\n"
			     "You have not been affected.\n"
			     "Other regions remain unaffected.\n"
			     "You're in the clear.\n"
			     "It doesn't affect you.\n"
			     "The bug never affected your traffic.\n"
			     "Neither of them was affected.\n"
			     "No further customers are affected.\n"
			     "Your responses were clean.\n"
			     "Your organisation was spared.\n"
			     "unimpacted\n"
			     "Not impacted: the EU region.\n"},
	    {"class-name", "It is confirmed that two tenants were hit.\n"
			   "This is a confirmed leak.\n"
			   "We can confirm that two responses held it.\n"
			   "Confirmation came from the page log.\n"
			   "Possibly 20 further responses.\n"
			   "A potential exposure of two prompts.\n"
			   "Potentially exposed: 20 prompts.\n"
			   "It likely held another's text.\n"
			   "20 suspected cases.\n"
			   "20 presumed cases.\n"
			   "definitely affected\n"
			   "Probably one response.\n"},
	    {"scope-word", "All of our customers were told.\n"
			   "Every single customer was told.\n"
			   "Each of the responses was checked.\n"
			   "The entire fleet was checked.\n"
			   "The whole fleet was checked.\n"
			   "all logs were searched\n"
			   "We have checked all the evidence.\n"
			   "All affected customers have been notified.\n"
			   "everyone was told\n"
			   "Anyone concerned was told.\n"
			   "only one customer\n"
			   "Just two customers received it.\n"
			   "Merely 2 responses.\n"
			   "solely in one region\n"
			   "exclusively in one region\n"
			   "It was confined to one region.\n"
			   "It was restricted to one model.\n"
			   "It was contained to a single worker.\n"
			   "no more than a few customers\n"
			   "nobody but two customers\n"
			   "at worst two customers\n"
			   "The impact was limited.\n"
			   "Limited impact.\n"
			   "A limited incident.\n"
			   "The total scope is two customers.\n"
			   "100 customers, only.\n"},
	    {"belittling", "exceedingly rare\n"
			   "highly unlikely\n"
			   "most unlikely\n"
			   "extremely unlikely\n"
			   "very low risk\n"
			   "low risk to customers\n"
			   "minimal impact\n"
			   "little impact\n"
			   "limited risk\n"
			   "insignificant\n"
			   "trivial number\n"
			   "marginal\n"
			   "a rare edge case\n"
			   "an edge case\n"
			   "a corner case\n"
			   "a rare combination of events\n"
			   "an unlikely chain of circumstances\n"
			   "a glitch\n"
			   "a hiccup\n"
			   "a small bug\n"
			   "a minor issue\n"
			   "purely theoretical\n"
			   "a theoretical risk\n"
			   "benign\n"
			   "harmless\n"
			   "low severity\n"
			   "as a precaution\n"
			   "as a precautionary measure\n"
			   "out of caution\n"
			   "unprecedented\n"
			   "highly complex attack\n"
			   "state of the art security\n"
			   "industry-leading security\n"
			   "best-in-class protection\n"
			   "bank-grade encryption\n"
			   "Your trust is our top priority.\n"
			   "Security is our highest priority.\n"
			   "We apologize for any inconvenience.\n"
			   "We are committed to your privacy.\n"
			   "Rest assured that it is over.\n"
			   "There is no need to worry.\n"
			   "No cause for concern.\n"
			   "You do not need to take any action.\n"
			   "The service is now secure.\n"
			   "everything is back to normal\n"
			   "permanently fixed\n"
			   "The problem is gone for good.\n"
			   "This can never happen again.\n"
			   "This will not happen again.\n"
			   "totally fixed\n"},
	    {"opinion", "In our opinion the risk is low.\n"
			"In our view the cause is load.\n"
			"From our point of view\n"
			"We are convinced that two tenants were concerned.\n"
			"We consider the matter closed.\n"
			"We suspect a race.\n"
			"We estimate the risk to be low.\n"
			"We hope that nobody read it.\n"
			"We are certain of it.\n"
			"It seems that two were concerned.\n"
			"It appears that nobody read it.\n"
			"apparently a race\n"
			"presumably a race\n"
			"To the best of our knowledge nobody read it.\n"
			"As far as we know nobody read it.\n"
			"To our knowledge it was two.\n"
			"We have no knowledge of misuse.\n"
			"We are unaware of any misuse.\n"
			"We have no indication to the contrary.\n"
			"There is no reason to believe so.\n"
			"We see no reason to assume that.\n"
			"Obviously it was load.\n"
			"clearly an accident\n"
			"undoubtedly an accident\n"
			"without doubt an accident\n"
			"It cannot be triggered on purpose.\n"
			"It can't be triggered deliberately.\n"
			"An attacker could not have caused it.\n"
			"It is impossible to provoke.\n"
			"It was not possible to target anyone.\n"
			"Nobody could have chosen whose text is shown.\n"
			"The defect cannot be exploited.\n"},
	    {"share", "0.8 percent of requests\n"
		      "half of the requests\n"
		      "a third of the requests\n"
		      "two thirds of requests\n"
		      "a quarter of requests\n"
		      "the majority of requests\n"
		      "the vast majority of customers\n"
		      "a minority of customers\n"
		      "a fraction of requests\n"
		      "a small percentage of users\n"
		      "five in a thousand requests\n"
		      "1 out of every thousand\n"
		      "2 permille\n"
		      "2 ‰ of requests\n"
		      "3 basis points\n"
		      "99.9 pct of requests\n"
		      "one request out of a million\n"
		      "1:1000\n"
		      "nine out of ten customers\n"
		      "twice as many requests\n"
		      "ten times as many requests\n"},
	    {"vague-count", "most customers\n"
			    "a small number of responses\n"
			    "a very small number of responses\n"
			    "a low number of responses\n"
			    "a limited number of customers\n"
			    "a handful of customers\n"
			    "a couple of customers\n"
			    "a few dozen customers\n"
			    "dozens of customers\n"
			    "hundreds of customers\n"
			    "thousands of responses\n"
			    "numerous customers\n"
			    "various customers\n"
			    "multiple customers\n"
			    "a number of affected customers\n"
			    "a certain number of customers\n"
			    "an unknown number of customers\n"
			    "very few customers\n"
			    "few customers\n"
			    "fewer customers\n"
			    "certain customers\n"
			    "selected customers\n"
			    "a subset of users\n"
			    "a portion of traffic\n"
			    "part of our customers\n"
			    "some of our traffic\n"
			    "approx. 155 responses\n"
			    "ca. 155 responses\n"
			    "circa 155 responses\n"
			    "~155 responses\n"
			    "155 or so responses\n"
			    "more or less 155 responses\n"
			    "close to 155 responses\n"
			    "just under 155 responses\n"
			    "over 155 responses\n"
			    "more than 100 responses\n"
			    "fewer than 200 responses\n"
			    "up to 155 responses\n"
			    "between 100 and 200 responses\n"
			    "some 155 responses\n"
			    "an estimated few\n"
			    "a single-digit number of customers\n"},
	    {"fixed", "It is fixed.\n"
		      "The bug got fixed.\n"
		      "The fix is live.\n"
		      "The fix is in place.\n"
		      "The fix was deployed.\n"
		      "A fix has been applied.\n"
		      "We deployed a fix.\n"
		      "We shipped a fix.\n"
		      "We pushed a patch.\n"
		      "A patch went out.\n"
		      "The problem is solved.\n"
		      "The problem has been corrected.\n"
		      "The bug is gone.\n"
		      "The incident is over.\n"
		      "The incident is closed.\n"
		      "The incident has been contained.\n"
		      "The issue no longer exists.\n"
		      "The issue is behind us.\n"
		      "The vulnerability has been eliminated.\n"
		      "The vulnerability was closed.\n"
		      "All systems are operational.\n"
		      "The fleet is up to date.\n"
		      "We have addressed the issue.\n"
		      "The issue has been addressed.\n"
		      "We have remedied the flaw.\n"
		      "The leak was stopped.\n"
		      "The leak was plugged.\n"
		      "The root cause was removed.\n"
		      "We mitigated the flaw within an hour.\n"
		      "The flaw has since been patched.\n"},
	    {"time", "at 2 pm\n"
		     "at 14.30 h\n"
		     "at 14h30\n"
		     "at 1430 hours\n"
		     "at noon\n"
		     "at midnight\n"
		     "in the morning\n"
		     "this morning\n"
		     "today\n"
		     "tomorrow\n"
		     "last Tuesday\n"
		     "on Tuesday\n"
		     "two days ago\n"
		     "an hour ago\n"
		     "recently\n"
		     "earlier this week\n"
		     "this week\n"
		     "next week\n"
		     "in early September\n"
		     "in mid-September\n"
		     "in September\n"
		     "9 Sep 2026\n"
		     "Sep 9, 2026\n"
		     "09.09.2026\n"
		     "2026/09/09\n"
		     "14:00 CET\n"
		     "14:00 local time\n"
		     "2026-09-09T14:00:00\n"
		     "2026-09-09 14:00\n"
		     "shortly after\n"
		     "within hours\n"
		     "soon\n"
		     "promptly\n"
		     "immediately\n"
		     "at the time of writing\n"
		     "currently\n"
		     "so far\n"
		     "over the weekend\n"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct text rest = text_of(cases[i].texts), line;
		while (text_split(&rest, '\n', &line)) {
			char text[200];
			snprintf(text, sizeof(text), "%.*s", TEXT_ARG(line));
			struct heard h = line.len ? check_as(text, WORDING_TEXT) : (struct heard){0};
			bool found = !line.len;
			for (unsigned k = 0; k < h.n && k < 32; k++)
				found |= !strcmp(h.rules[k], cases[i].rule);
			if (!found)
				fail_msg("'%s' breaks %s, found: %u %s", text, cases[i].rule, h.n, h.rules[0]);
		}
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
	    "This does not show that no one exploited the defect.",
	    "It cannot be ruled out that others read it.",
	    "What is ruled out, and what is not ruled out yet, stands in section 4, as exploitation could not be ruled "
	    "out.",
	    "We found no sign of repeated prompts in 8,398 records of the gateway.",
	    "0 of 8,398 responses were given out over the limit.",
	    "0 responses of the service that may hold what is another's name no customer.",
	    "0 matches in 8,398 records covering 99.2 % of the window (3,571 of 3,600 s).",
	    "Your prompts are not held by the logs.",
	    "The file was not read to its end.",
	    "C5 could not be determined: the log of worker-3 is missing from 2026-09-09T14:00:00Z on.",
	    "What the entity must tell: likely consequences.",
	    "Please confirm that you deleted them.",
	    "At least 126 responses; at most 155 responses, as counted at the gateway.",
	    "Counts of others are bands: 1, 2-5, more than 5 customers, fewer than 5 responses.",
	    "A prompt over the input limit by at most one in a hundred.",
	    "The release with the fix was deployed, and is running on 22 of 24 replicas.",
	    "Version 0.5.22 was released at 2026-09-10T08:00:00Z, as of 2026-09-12 currently on 22 of 24 replicas.",
	    "Reply as soon as you have read it.",
	    "We ask for a reply by 2026-10-01.",
	    "no gaps found by checks G1 to G9",
	    "The condition could be produced deliberately by any account able to submit a prompt longer than 681,280 "
	    "tokens.",
	    "Each number stands with its unit; the sum is 155.",
	    "Times of reading are rounded down to the hour.",
	    "The window is 2026-09-09T14:00:00Z to before 2026-09-09T15:00:00+00:00.",
	    "A gateway's limit is a bound, and no fix.",
	    "Whose words are whose is not known for 3 lines run together of two or more records.",
	    "The page log of 2 of 5 workers ends before the last response.",
	    "It may have been read by others: 3 of 20 requests (15.00 %).",
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
	const struct CMUnitTest tests[] = {cmocka_unit_test(forbidden), cmocka_unit_test(paraphrased),
					   cmocka_unit_test(allowed),   cmocka_unit_test(across_lines),
					   cmocka_unit_test(pages),     cmocka_unit_test(hostile)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
