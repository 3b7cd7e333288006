/* SPDX-License-Identifier: Apache-2.0 */
/* test_leak.c - what is somebody's is found in every form, what is one's own is not; and what hidden counts leave to be computed */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../../src/report/leak.h"
#include "../../../src/report/numbers.h"

static struct leak *l;

static int setup(void **state)
{
	struct err err = {0};
	(void)state;
	assert_int_equal(leak_open(&l, &err), 0);
	assert_int_equal(leak_add(l, LEAK_TENANT, TEXT("acme"), 1, &err), 0);
	assert_int_equal(leak_add(l, LEAK_TENANT, TEXT("acme-10"), 2, &err), 0);
	assert_int_equal(leak_add(l, LEAK_TENANT, TEXT("a&\"b\\<c>"), 3, &err), 0);
	assert_int_equal(leak_add(l, LEAK_REQUEST, TEXT("chatcmpl-0001"), 1, &err), 0);
	assert_int_equal(leak_add(l, LEAK_REQUEST, TEXT("chatcmpl-00012"), 2, &err), 0);
	assert_int_equal(leak_add(l, LEAK_REQUEST, TEXT("nobody-knows-whose"), 0, &err), 0);
	assert_int_equal(leak_add(l, LEAK_TENANT, TEXT("1234567"), 4, &err), 0); /* a number: left out */
	assert_int_equal(leak_names(l), 6);
	assert_int_equal(leak_left_out(l), 1);
	/* 2026-08-29T10:41:40.250Z, and the same moment of two */
	assert_int_equal(leak_add_time(l, INT64_C(1788000100250000000), 1, &err), 0);
	assert_int_equal(leak_add_time(l, INT64_C(1788000200000000000), 1, &err), 0);
	assert_int_equal(leak_add_time(l, INT64_C(1788000200500000000), 2, &err), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	leak_free(l);
	return 0;
}

static int found(const char *text, uint32_t own)
{
	struct leak_hit hit;
	struct err err = {0};
	int rc = leak_search(l, text_of(text), own, &hit, &err);
	return rc == 1 ? (int)hit.kind : rc ? -2 : -1;
}

static void test_forms(void **state)
{
	(void)state;
	static const char *const forms[] = {
	    "id=chatcmpl-0001;",      "chatcmpl-0001",         "\\u0063hatcmpl\\u002d0001",
	    "&#99;hatcmpl-&#x30;001", "&amp;#99;hatcmpl-0001", "%63hatcmpl%2D0001",
	    "\"chatcmpl-0001\"\"",    "Y2hhdGNtcGwtMDAwMQ==",  "eHhjaGF0Y21wbC0wMDAxeHg",
	    "IXhjaGF0Y21wbC0wMDAx",   "| chatcmpl\\-0001 |",   "<a b=\"chatcmpl&#45;0001\"/>",
	};
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (found(forms[i], 2) != LEAK_REQUEST)
			fail_msg("not found: %s", forms[i]);
		assert_int_equal(found(forms[i], 1), -1); /* its own */
	}
	static const char *const hard[] = {"a&\"b\\<c>",
					   "a&amp;&quot;b\\\\&lt;c&gt;",
					   "\"a&\\\"b\\\\\\u003cc>\"",
					   "\"a&\"\"b\\<c>\"",
					   "YSYiYlw8Yz4",
					   "<x y='a&#38;&#x22;b\\&lt;c&gt;'/>",
					   "<x y=\"a&amp;&quot;b\\&lt;c>\"/>",
					   "| a\\&\\\"b\\\\\\<c\\> |",
					   "{\"t\": \"\\u0061&\\u0022b\\u005c\\u003cc>\"}"};
	for (size_t i = 0; i < ARRAY_SIZE(hard); i++)
		if (found(hard[i], 1) != LEAK_TENANT)
			fail_msg("not found: %s", hard[i]);
	assert_int_equal(found("nobody-knows-whose", 1), LEAK_REQUEST);
}

static int said(const char *text, uint32_t own, const char *reference)
{
	struct leak_hit hit;
	struct err err = {0};
	int rc = leak_search_words(l, text_of(text), own, reference, &hit, &err);
	return rc == 1 ? (int)hit.kind : rc ? -2 : -1;
}

/* As people write it. A name of three letters, or one that is a word of the form but for its case, is found as it is spelled alone. */
static void test_words(void **state)
{
	static const char *const forms[] = {"ACME-10 said",
					    "Acme\xe2\x80\x91"
					    "10",
					    "Acme - 10",
					    "Acme 10",
					    "ac\xe2\x80\x8bme_10",
					    "ac\\u{200B}me-10",
					    "\xe2\x80\x9c"
					    "Acme-10\xe2\x80\x9d",
					    "\xef\xbc\xa1\xef\xbc\xa3me-10",
					    "ac\xc2\xadme\xc2\xa0"
					    "10"};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (said(forms[i], 1, NULL) != LEAK_TENANT || said(forms[i], 2, NULL) != -1)
			fail_msg("not found: %s", forms[i]);
		assert_int_equal(said(forms[i], 0, NULL), LEAK_TENANT);
	}
	assert_int_equal(said("an acmes", 2, NULL), -1);
	assert_int_equal(said("CHATCMPL-0001", 2, NULL), -1);
	assert_int_equal(leak_common(l, TEXT("the word Pager"), NULL), 0);
	struct err err = {0};
	assert_int_equal(leak_add(l, LEAK_TENANT, TEXT("PAGER"), 5, &err), 0);
	assert_int_equal(leak_add(l, LEAK_TENANT, TEXT("The"), 5, &err), 0);
	assert_int_equal(leak_add(l, LEAK_TENANT, TEXT("\xc3\x89mile"), 5, &err), 0);
	assert_int_equal(leak_common(l, TEXT("the word Pager"), NULL), 0);
	assert_int_equal(said("the pager", 1, NULL), -1);
	assert_int_equal(said("the PAGER", 1, NULL), LEAK_TENANT);
	assert_int_equal(said("e\xcc\x81mile", 1, NULL), LEAK_TENANT);
	assert_true(leak_waive(l, TEXT("\xc3\x89mile")));
	assert_int_equal(said("e\xcc\x81mile", 1, NULL), -1);
	leak_fold_ids(l);
	assert_int_equal(leak_add(l, LEAK_REQUEST, TEXT("cmpl-00a7"), 1, &err), 0);
	assert_int_equal(said("CMPL-00A7", 2, NULL), LEAK_REQUEST);
	/* pseudonyms of audiences that nobody here knows */
	assert_int_equal(said("it is T-ABCD-EFGH-2345-WXYZ.", 1, NULL), LEAK_PSEUDONYM);
	assert_int_equal(said("it is t\xe2\x80\x90"
			      "abcd-efgh-2345-wxyz",
			      1, "T-ABCD-EFGH-2345-WXY2"),
			 LEAK_PSEUDONYM);
	assert_int_equal(said("it is T-ABCD-EFGH-2345-WXYZ.", 1, "T-ABCD-EFGH-2345-WXYZ"), -1);
	assert_int_equal(said("don't have been told that, T-ABCD-EFGH-2345-WXYZZ, T-ABCD-EFGH-2345-WX1Z", 1, NULL), -1);
}

static void test_own_names(void **state)
{
	(void)state;
	assert_int_equal(found("to acme-10, chatcmpl-00012", 2), -1); /* those of 1 lie inside */
	assert_int_equal(found("to acme-10, of acme", 2), LEAK_TENANT);
	assert_int_equal(found("chatcmpl-00012 chatcmpl-0001", 2), LEAK_REQUEST);
	assert_int_equal(found("acmes, xacme, acme2", 3), -1); /* short ones stand alone */
	assert_int_equal(found("(acme)", 3), LEAK_TENANT);
	assert_int_equal(found("1234567", 3), -1);
	assert_int_equal(leak_common(l, TEXT("a form that says acme"), NULL), 0);
	assert_int_equal(found("(acme)", 3), -1);
}

/* One's own name, spelled as a form spells it, and another's beside it. */
static void test_spelled(void **state)
{
	(void)state;
	assert_int_equal(found("| acme\\-10 |", 2), -1);
	assert_int_equal(found("| acme\\-10 | acme |", 2), LEAK_TENANT);
	assert_int_equal(found("| acme\\-1 |", 2), LEAK_TENANT);
	assert_int_equal(found("acme%2D10 acme&#45;10 acme\\u002d10 acme&amp;#45;10", 2), -1);
	struct err err = {0};
	assert_int_equal(leak_add(l, LEAK_TENANT, TEXT("2026-08-29"), 5, &err), 0);
	assert_int_equal(found("2026\\-08\\-29T11:41:40\\.250Z 2026-08-29\xC2\xA0"
			       "11:41:40Z",
			       2),
			 -1);
	assert_int_equal(found("for 2026-08-29", 2), LEAK_TENANT);
}

static int in_document(struct leak_form *form, const char *xml, uint32_t own)
{
	struct leak_hit hit;
	struct err err = {0};
	int rc = leak_search_document(l, form, text_of(xml), own, &hit, &err);
	return rc == 1 ? (int)hit.kind : rc ? -2 : -1;
}

/* A name that is a word of the form: as a line of it, it says nothing; anywhere else it is found, and the least one too. */
static void test_values(void **state)
{
	(void)state;
	struct err err = {0};
	struct leak_form form = {NULL};
	static const char *const names[] = {"public", "the", "z", "\xC3\xA9", "decode", "m-large"};
	static const char *const places[] = {
	    "<report><header><case-title>T %s</case-title></header></report>",
	    "<report><header><tenant>%s</tenant></header></report>",
	    "<report><header><parameter name='a'>%s</parameter></header></report>",
	    "<report><note><line>as %s was told</line></note></report>",
	    "<report><blanks><blank id='a' title='A' state='answered'>%s</blank></blanks></report>",
	    "<report><blanks><blank id='a' title='for %s'>b</blank></blanks></report>",
	    "<report><limits><limit unit='of %s'>are known</limit></limits></report>",
	    "<report><section><table><column name='request'/><row><cell>%s</cell></row></table></section></report>",
	    "<report><section><table><column name='class'/><column "
	    "name='response_ids'/><row><cell>C1</cell><cell><item>a</item>"
	    "<item>%s</item></cell></row></table></section></report>",
	    "<report><section><table><column name='grade'/><row><cell>x &amp;#37; "
	    "%s</cell></row></table></section></report>"};
	assert_int_equal(
	    leak_form_add(&form, TEXT("public\nwhat the form says\nCASE 'decode'\na=b,z=Zone\nm-large\n"), &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(leak_add(l, LEAK_TENANT, text_of(names[i]), (uint32_t)(10 + i), &err), 0);
		for (size_t k = 0; k < ARRAY_SIZE(places); k++) {
			char xml[512];
			snprintf(xml, sizeof(xml), places[k], names[i]);
			if (in_document(&form, xml, 2) != LEAK_TENANT)
				fail_msg("not found: %s", xml);
			assert_int_equal(in_document(&form, xml, (uint32_t)(10 + i)), -1);
		}
	}
	assert_int_equal(leak_common(l, TEXT("decode"), NULL), 0);
	/* not in bytes, when it is short or common; the form's own lines nowhere */
	assert_int_equal(found("a z, \xC3\xA9", 2), -1);
	assert_int_equal(found("(decode)", 2), -1);
	assert_int_equal(found("(public)", 2), LEAK_TENANT);
	assert_int_equal(in_document(&form,
				     "<report kind='public'><section><text>what the form says</text><table><column "
				     "name='role' label='Zone'/>"
				     "<row><cell>decode</cell></row></table></section></report>",
				     2),
			 -1);
	assert_int_equal(in_document(&form, "<report><note><line>public</line></note></report>", 2), LEAK_TENANT);
	/* a model of one's own */
	assert_int_equal(leak_add_fact(l, TEXT("m-large-2"), 2, &err), 0);
	assert_int_equal(found("on m-large-2", 2), -1);
	assert_int_equal(found("on m-large-2", 3), LEAK_TENANT);
	leak_form_done(&form);
}

static void test_times(void **state)
{
	(void)state;
	assert_int_equal(found("2026-08-29T10:41:40.250Z", 2), LEAK_TIME);
	assert_int_equal(found("2026-08-29 10:41:40.250Z", 2), LEAK_TIME);
	assert_int_equal(found("at 1788000100250, or", 2), LEAK_TIME);
	assert_int_equal(found("1788000100250000000", 2), LEAK_TIME);
	assert_int_equal(found("MjAyNi0wOC0yOVQxMDo0MTo0MC4yNTBa", 2), LEAK_TIME);
	assert_int_equal(found("9533054495264 9533054495264123", 2), -1); /* no time: too many ms and µs */
	assert_int_equal(found("2026-08-29T10:41:40.250Z", 1), -1);
	assert_int_equal(found("2026-08-29T10:41:40Z", 2), -1); /* nobody's */
	assert_int_equal(found("2026-08-29T10:43:20Z", 2), -1); /* within a second of its own */
	assert_int_equal(found("2026-08-29T10:43:20Z", 3), LEAK_TIME);
	leak_allow_time(l, INT64_C(1788000200000000000));
	assert_int_equal(found("2026-08-29T10:43:20Z", 3), -1);
}

/* Parts and whole: what is hidden; a letter a number: s shown, f few, w withheld. */
static void check_cells(const int64_t parts[4], const char *want)
{
	static const struct number list[] = {{"all", "x", NULL, COUNTED},
					     {"a", "x", "all", PART},
					     {"b", "x", "all", PART},
					     {"c", "x", "all", PART},
					     {"d", "x", "all", PART}};
	const struct number_set set = {.numbers = list, .n_numbers = 5};
	struct cell cells[5] = {{.known = true}};
	char got[6] = "";
	for (int i = 0; i < 4; i++) {
		cells[i + 1] = (struct cell){.value = parts[i], .known = true};
		cells[0].value += parts[i];
	}
	cells_suppress(&set, cells);
	for (int i = 0; i < 5; i++)
		got[i] = "sfw"[cells[i].shown];
	if (strcmp(got, want) != 0)
		fail_msg("%s, not %s", got, want);
}

static void test_cells(void **state)
{
	(void)state;
	check_cells((const int64_t[]){100, 50, 20, 0}, "sssss");
	check_cells((const int64_t[]){100, 50, 20, 3}, "ssswf"); /* the smallest beside it */
	check_cells((const int64_t[]){100, 3, 0, 0}, "swfss");
	check_cells((const int64_t[]){100, 2, 2, 0}, "swffs"); /* 4 in two parts: each would be at most 3 */
	check_cells((const int64_t[]){100, 1, 1, 20}, "ssffw");
	check_cells((const int64_t[]){3, 0, 0, 0}, "ffwww"); /* a small whole has no parts */
	check_cells((const int64_t[]){0, 0, 0, 0}, "sssss");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_forms, setup, teardown),
					   cmocka_unit_test_setup_teardown(test_words, setup, teardown),
					   cmocka_unit_test_setup_teardown(test_own_names, setup, teardown),
					   cmocka_unit_test_setup_teardown(test_spelled, setup, teardown),
					   cmocka_unit_test_setup_teardown(test_values, setup, teardown),
					   cmocka_unit_test_setup_teardown(test_times, setup, teardown),
					   cmocka_unit_test(test_cells)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
