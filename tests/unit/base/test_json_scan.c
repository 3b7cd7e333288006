/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_scan.c - JSON read forward: places, what breaks off, escapes */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pagetrail/buf.h"
#include "pagetrail/json_scan.h"
#include "pagetrail/limits.h"

/* Members of an object, "key=value;" each, "!" where it breaks. */
static char *walk(const char *doc)
{
	static char out[512];
	struct json_scan s = scan_of(text_of(doc));
	struct text key, v;
	size_t n = 0;
	int r;
	out[0] = '\0';
	if (!scan_open(&s, '{'))
		return strcpy(out, "!");
	while ((r = scan_member(&s, &key)) == 1) {
		if (!scan_value(&s, &v)) {
			r = -1;
			break;
		}
		n += (size_t)snprintf(out + n, sizeof(out) - n, "%.*s=%.*s;", TEXT_ARG(key), TEXT_ARG(v));
	}
	if (r < 0 || !scan_over(&s))
		snprintf(out + n, sizeof(out) - n, "!");
	return out;
}

static void test_members(void **state)
{
	(void)state;
	assert_string_equal(walk("{}"), "");
	assert_string_equal(walk(" { \"a\" : 1 , \"b\":[1,{\"c\":\"}\"}], \"d\":null } "),
			    "a=1;b=[1,{\"c\":\"}\"}];d=null;");
	assert_string_equal(walk("{\"a\":\"x\\\"y\",\"b\":\"\\\\\"}"), "a=\"x\\\"y\";b=\"\\\\\";");
	assert_string_equal(walk("{\"a\":1"), "a=1;!");
	assert_string_equal(walk("{\"a\":"), "!");
	assert_string_equal(walk("{\"a"), "!");
	assert_string_equal(walk("{\"a\":\"x"), "!");
	assert_string_equal(walk("{\"a\":\"x\\"), "!");
	assert_string_equal(walk("{\"a\":\"x\\\""), "!");
	assert_string_equal(walk("{\"a\":1}x"), "a=1;!");
	assert_string_equal(walk("{\"a\":1,}"), "a=1;!");
	assert_string_equal(walk("{,\"a\":1}"), "!");
	assert_string_equal(walk("{\"a\":1 \"b\":2}"), "a=1;!");
	assert_string_equal(walk("{\"a\":[1}]"), "!");
	assert_string_equal(walk("{\"a\":{\"b\":[1}}"), "!");
	assert_string_equal(walk("[1]"), "!");
}

static void test_depth(void **state)
{
	char doc[2 * JSON_DEPTH_MAX + 8];
	struct text v;
	(void)state;
	for (size_t depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++) {
		memset(doc, '[', depth);
		memset(doc + depth, ']', depth);
		struct json_scan s = scan_of((struct text){doc, 2 * depth});
		assert_int_equal(scan_value(&s, &v), depth <= JSON_DEPTH_MAX);
	}
}

static void says(const char *raw, struct text want)
{
	char padded[512] = {0};
	struct arena a;
	size_t n = strlen(raw);
	assert_true(n + BUF_PADDING < sizeof(padded));
	memcpy(padded, raw, n);
	arena_init(&a, 0);
	struct text got = scan_unescape((struct text){padded, n}, &a);
	if (!text_eq(got, want))
		fail_msg("'%s' says '%.*s'", raw, TEXT_ARG(got));
	arena_done(&a);
}

static void test_escapes(void **state)
{
	(void)state;
	says("", TEXT(""));
	says("plain", TEXT("plain"));
	says("\\n\\t\\r\\b\\f\\\"\\\\\\/", TEXT("\n\t\r\b\f\"\\/"));
	says("a\\u001b[0mb", TEXT("a\x1b[0mb"));
	says("\\u00e9\\u20AC", TEXT("\xc3\xa9\xe2\x82\xac"));
	says("\\ud83d\\ude00!", TEXT("\xf0\x9f\x98\x80!"));
	says("\\ud83d!", TEXT("\xef\xbf\xbd!"));
	says("\\ude00\\ud83d", TEXT("\xef\xbf\xbd\xef\xbf\xbd"));
	says("\\ud83d\\u0041", TEXT("\xef\xbf\xbd"
				    "A"));
	says("\\u0000x", ((struct text){"\0x", 2}));
	says("\\q\\u12", TEXT("\\q\\u12"));
	says("end\\", TEXT("end\\"));
	/* across the width of what is copied at once */
	says("0123456789abcde\\n0123456789abcdef\\n0123456789abcdefg\\u0041",
	     TEXT("0123456789abcde\n0123456789abcdef\n0123456789abcdefgA"));
}

static void test_scalars(void **state)
{
	struct arena a;
	struct text t;
	(void)state;
	arena_init(&a, 0);
	assert_true(scan_scalar(TEXT("\"a\\nb\""), &a, &t) && text_is(t, "a\nb"));
	assert_true(scan_scalar(TEXT("-12.5"), &a, &t) && text_is(t, "-12.5"));
	assert_false(scan_scalar(TEXT("null"), &a, &t));
	assert_false(scan_scalar(TEXT("{}"), &a, &t));
	assert_false(scan_scalar(TEXT(""), &a, &t));
	arena_done(&a);
}

/* Two values of one member, as long as it is among those that are compared. */
static void test_contradicts(void **state)
{
	struct buf b = BUF_INIT(1 << 20);
	(void)state;
	assert_true(scan_contradicts(TEXT("{\"a\":1,\"b\":2,\"a\":3}")));
	assert_false(scan_contradicts(TEXT("{\"a\":1,\"b\":{\"a\":2},\"a\": 1}")));
	assert_false(scan_contradicts(TEXT("[{\"a\":1,\"a\":2}]")));
	assert_false(scan_contradicts(TEXT("{\"a\":1,\"a\":")));
	for (unsigned last = SCAN_MEMBERS_MAX - 1; last <= SCAN_MEMBERS_MAX; last++) {
		buf_clear(&b);
		for (unsigned i = 0; i < last; i++)
			assert_int_equal(buf_printf(&b, NULL, "%s\"k%u\":%u", i ? "," : "{", i, i), 0);
		assert_int_equal(buf_add_text(&b, TEXT(",\"k0\":7}"), NULL), 0);
		assert_int_equal(scan_contradicts(buf_text(&b)), last < SCAN_MEMBERS_MAX);
	}
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_members), cmocka_unit_test(test_depth),       cmocka_unit_test(test_escapes),
	    cmocka_unit_test(test_scalars), cmocka_unit_test(test_contradicts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
