/* SPDX-License-Identifier: Apache-2.0 */
/* test_xml_scan.c - XML read forward: elements, attributes, what is no XML, what is not opened */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pagetrail/xml_scan.h"

/* "<a" for an open element, ">" for a closed one, text in quotes; "!" and the fault where it breaks. */
static char *walk(const char *doc)
{
	static char out[1024];
	struct xml_scan s = xml_scan_of(text_of(doc));
	size_t n = 0;
	enum xml_token t;
	out[0] = '\0';
	while ((t = xml_next(&s)) > XML_OVER && n < sizeof(out) - 200) {
		struct buf b = BUF_INIT(4096);
		if (t == XML_OPEN) {
			n += (size_t)snprintf(out + n, sizeof(out) - n, "<%.*s", TEXT_ARG(s.name));
		} else if (t == XML_CLOSE) {
			n += (size_t)snprintf(out + n, sizeof(out) - n, ">");
		} else {
			int rc = xml_unescape(s.text, s.literal, &b, NULL);
			n += (size_t)snprintf(out + n, sizeof(out) - n, rc ? "'?'" : "'%.*s'", (int)b.len,
					      b.len ? b.ptr : "");
		}
		buf_done(&b);
	}
	if (t == XML_BROKEN) {
		snprintf(out + n, sizeof(out) - n, "!%s", s.fault);
		assert_int_equal(xml_next(&s), XML_BROKEN);
	}
	return out;
}

static void test_elements(void **state)
{
	(void)state;
	static const struct {
		const char *doc, *is;
	} cases[] = {
	    {"<?xml version=\"1.0\"?>\n<!-- <x> --><a><b k='v'/>t<c>u</c ></a>\n<!-- end -->", "<a<b>'t'<c'u'>>"},
	    {"<a>&lt;&#65;&#x42;&amp;amp;<![CDATA[<b>&amp;]]></a>", "<a'<AB&amp;''<b>&amp;'>"},
	    {"<a>&nbsp;</a>", "<a'?'>"},
	    {"<a>&#0;</a>", "<a'?'>"},
	    {"<a>&#xD800;</a>", "<a'?'>"},
	    {"<a>&#x110000;</a>", "<a'?'>"},
	    {"<a>&#99999999999;</a>", "<a'?'>"},
	    {"<a>&#;&#x;</a>", "<a'?'>"},
	    {"<a>& b</a>", "<a'?'>"},
	    {"<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>", "!xml_doctype"},
	    {"<a><!DOCTYPE b></a>", "<a!xml_doctype"},
	    {"", "!xml_syntax"},
	    {"text", "!xml_syntax"},
	    {"<a>", "<a!xml_syntax"},
	    {"<a></b>", "<a!xml_syntax"},
	    {"<a/><b/>", "<a>!xml_syntax"},
	    {"<a/>text", "<a>!xml_syntax"},
	    {"</a>", "!xml_syntax"},
	    {"<a k=v/>", "!xml_syntax"},
	    {"<a k='1' k='2'/>", "!xml_syntax"},
	    {"<a k='<'/>", "!xml_syntax"},
	    {"<a k='1'l='2'/>", "!xml_syntax"},
	    {"<a k/>", "!xml_syntax"},
	    {"<1/>", "!xml_syntax"},
	    {"< a/>", "!xml_syntax"},
	    {"<a /", "!xml_syntax"},
	    {"<a><!-- ", "<a!xml_syntax"},
	    {"<a><![CDATA[x</a>", "<a!xml_syntax"},
	    {"<![CDATA[x]]><a/>", "!xml_doctype"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (strcmp(walk(cases[i].doc), cases[i].is))
			fail_msg("%s: %s", cases[i].doc, walk(cases[i].doc));
}

/* Each beginning of a document is broken, none is read beyond its end. */
static void test_cut(void **state)
{
	(void)state;
	static const char doc[] = "<?xml version='1.0'?><a k=\"v&#65;\"><b><!-- c --><![CDATA[d]]>&lt;</b></a>";
	for (size_t n = 0; n < sizeof(doc) - 1; n++) {
		char *copy = malloc(n + 1);
		memcpy(copy, doc, n);
		struct xml_scan s = xml_scan_of((struct text){copy, n});
		enum xml_token t;
		while ((t = xml_next(&s)) > XML_OVER)
			;
		assert_int_equal(t, XML_BROKEN);
		free(copy);
	}
}

static void test_depth(void **state)
{
	(void)state;
	for (int more = 0; more < 2; more++) {
		char doc[XML_DEPTH_MAX * 8 + 16] = "";
		for (int i = 0; i < XML_DEPTH_MAX + more; i++)
			strcat(doc, "<a>");
		for (int i = 0; i < XML_DEPTH_MAX + more; i++)
			strcat(doc, "</a>");
		struct xml_scan s = xml_scan_of(text_of(doc));
		enum xml_token t;
		while ((t = xml_next(&s)) > XML_OVER)
			;
		assert_int_equal(t, more ? XML_BROKEN : XML_OVER);
		if (more)
			assert_string_equal(s.fault, "xml_depth");
	}
}

static void test_attributes(void **state)
{
	(void)state;
	struct xml_scan s = xml_scan_of(TEXT("<a  one = 'x\"y'\n two=\"\" />"));
	struct text v;
	assert_int_equal(xml_next(&s), XML_OPEN);
	assert_true(xml_attribute(&s, "one", &v) && text_is(v, "x\"y"));
	assert_true(xml_attribute(&s, "two", &v) && text_is(v, ""));
	assert_false(xml_attribute(&s, "on", &v));
	assert_int_equal(xml_next(&s), XML_CLOSE);
	assert_int_equal(xml_next(&s), XML_OVER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_elements), cmocka_unit_test(test_cut),
					   cmocka_unit_test(test_depth), cmocka_unit_test(test_attributes)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
