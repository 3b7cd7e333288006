/* SPDX-License-Identifier: Apache-2.0 */
/* test_json.c - handles, numbers, mending, limits, where it breaks */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../src/base/json.h"
#include "pagetrail/buf.h"
#include "pagetrail/json.h"
#include "pagetrail/limits.h"
#include "pagetrail/macros.h"

static struct json *json;

static int setup(void **state)
{
	(void)state;
	json = json_new();
	return json ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	json_free(json);
	json_free(NULL);
	return 0;
}

static struct json_value parse(const char *text)
{
	struct json_value v;

	assert_int_equal(json_parse(json, text_of(text), false, &v, NULL, NULL), 0);
	return v;
}

static void test_types(void **state)
{
	struct json_value v = parse("{\"n\":null,\"t\":true,\"f\":false,\"i\":-5,\"u\":18446744073709551615,\"d\":1.5,"
				    "\"s\":\"x\\u00e9\\n\\ud83d\\ude42\",\"a\":[],\"o\":{}, \"\":1, \"i\": 6}");
	struct json_value none = {0};
	struct text t;
	int64_t i;
	uint64_t u;
	double d;
	bool b;

	(void)state;
	assert_int_equal(json_type(v), JSON_OBJECT);
	assert_true(json_is_object(v));
	assert_int_equal(json_type(json_get(v, "n")), JSON_NULL);
	assert_int_equal(json_type(json_get(v, "t")), JSON_BOOL);
	assert_int_equal(json_type(json_get(v, "i")), JSON_INT);
	assert_int_equal(json_type(json_get(v, "u")), JSON_UINT);
	assert_int_equal(json_type(json_get(v, "d")), JSON_DOUBLE);
	assert_int_equal(json_type(json_get(v, "s")), JSON_STRING);
	assert_int_equal(json_type(json_get(v, "a")), JSON_ARRAY);
	assert_int_equal(json_type(json_get(v, "absent")), JSON_NONE);
	assert_int_equal(json_type(json_get(v, "")), JSON_INT);
	assert_int_equal(json_type(json_get(json_get(v, "s"), "x")), JSON_NONE);
	assert_int_equal(json_type(json_get(none, "x")), JSON_NONE);
	assert_int_equal(json_type(json_path(none, "x.y")), JSON_NONE);
	assert_true(json_bool(json_get(v, "t"), &b) && b);
	assert_true(json_bool(json_get(v, "f"), &b) && !b);
	assert_false(json_bool(json_get(v, "n"), &b));
	assert_true(json_int64(json_get(v, "i"), &i) && i == -5); /* the first of two */
	assert_false(json_uint64(json_get(v, "i"), &u));
	assert_false(json_int64(json_get(v, "u"), &i));
	assert_true(json_uint64(json_get(v, "u"), &u) && u == UINT64_MAX);
	assert_false(json_int64(json_get(v, "d"), &i));
	assert_true(json_double(json_get(v, "d"), &d) && d == 1.5);
	assert_true(json_double(json_get(v, "i"), &d) && d == -5);
	assert_true(json_double(json_get(v, "u"), &d) && d == 18446744073709551616.0);
	assert_false(json_double(json_get(v, "s"), &d));
	assert_true(json_string(json_get(v, "s"), &t) && text_is(t, "xé\n🙂"));
	assert_false(json_string(json_get(v, "i"), &t));
	assert_false(json_string(none, &t));
	assert_false(json_repaired(json));
	assert_int_equal(json_type(parse("5")), JSON_INT);
	assert_int_equal(json_type(parse(" \"x\" ")), JSON_STRING);
	assert_int_equal(json_type(parse("\xef\xbb\xbf{}")), JSON_OBJECT);
}

static void test_lenient(void **state)
{
	struct json_value v =
	    parse("{\"a\":\"700123\",\"b\":700123.0,\"c\":1.5,\"d\":\"1.5\",\"e\":\"681,280\",\"f\":1e300,"
		  "\"g\":9223372036854775808,\"h\":-9223372036854775808.0,\"i\":9223372036854775808.0,"
		  "\"j\":true,\"k\":\"\",\"l\":9007199254740993}");
	char tmp[32];
	struct text t;
	int64_t i;

	(void)state;
	assert_true(json_count(json_get(v, "a"), &i) && i == 700123);
	assert_true(json_count(json_get(v, "b"), &i) && i == 700123);
	assert_false(json_count(json_get(v, "c"), &i));
	assert_false(json_count(json_get(v, "d"), &i));
	assert_true(json_count(json_get(v, "e"), &i) && i == 681280);
	assert_false(json_count(json_get(v, "f"), &i));
	assert_false(json_count(json_get(v, "g"), &i));
	assert_true(json_count(json_get(v, "h"), &i) && i == INT64_MIN);
	assert_false(json_count(json_get(v, "i"), &i));
	assert_false(json_count(json_get(v, "j"), &i));
	assert_false(json_count(json_get(v, "k"), &i));
	assert_true(json_count(json_get(v, "l"), &i) && i == INT64_C(9007199254740993));
	assert_true(json_id(json_get(v, "a"), tmp, &t) && text_is(t, "700123"));
	assert_true(json_id(json_get(v, "g"), tmp, &t) && text_is(t, "9223372036854775808"));
	assert_true(json_id(json_get(v, "l"), tmp, &t) && text_is(t, "9007199254740993"));
	assert_false(json_id(json_get(v, "c"), tmp, &t));
	assert_false(json_id(json_get(v, "absent"), tmp, &t));
	v = parse("-9223372036854775808");
	assert_true(json_id(v, tmp, &t) && text_is(t, "-9223372036854775808"));
}

static void test_path(void **state)
{
	struct json_value v =
	    parse("{\"a.b\":1,\"a\":{\"b\":2,\"c\":3,\"d.e\":{\"f\":4}},\"l\":[10,{\"x\":[7,8]}],\"m.n\":{\"o\":5}}");
	int64_t i;

	(void)state;
	assert_true(json_int64(json_path(v, "a.b"), &i) && i == 1);
	assert_true(json_int64(json_path(v, "a.c"), &i) && i == 3);
	assert_true(json_int64(json_path(v, "a.d.e.f"), &i) && i == 4);
	assert_true(json_int64(json_path(v, "m.n.o"), &i) && i == 5);
	assert_true(json_int64(json_path(v, "l.0"), &i) && i == 10);
	assert_true(json_int64(json_path(v, "l.1.x.1"), &i) && i == 8);
	assert_int_equal(json_type(json_path(v, "l.2")), JSON_NONE);
	assert_int_equal(json_type(json_path(v, "l.-1")), JSON_NONE);
	assert_int_equal(json_type(json_path(v, "l.x")), JSON_NONE);
	assert_int_equal(json_type(json_path(v, "a..b")), JSON_NONE);
	assert_int_equal(json_type(json_path(v, ".")), JSON_NONE);
	assert_int_equal(json_type(json_path(v, "")), JSON_NONE);
	assert_int_equal(json_type(json_path(v, "a.b.c")), JSON_NONE);
	/* many dots end soon */
	v = parse("{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":1}}}}}}");
	assert_int_equal(json_type(json_path(v, "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a")),
			 JSON_NONE);
}

static void test_iteration(void **state)
{
	struct json_value v = parse("{\"a\":[1,[2,3],{\"x\":4}],\"b\":{},\"c\":\"s\",\"d\":1.5,\"e\":null}"), val;
	struct json_iter it = json_iter(v);
	struct text key;
	char keys[6] = "";
	int n = 0;

	(void)state;
	while (json_next(&it, &key, &val))
		keys[n++] = key.ptr[0];
	assert_string_equal(keys, "abcde");
	assert_false(json_next(&it, &key, &val));
	it = json_iter(json_get(v, "a"));
	for (n = 0; json_next(&it, &key, &val); n++)
		assert_int_equal(key.len, 0);
	assert_int_equal(n, 3);
	assert_int_equal(json_type(json_get(val, "x")), JSON_INT);
	it = json_iter(json_get(v, "b"));
	assert_false(json_next(&it, &key, &val));
	it = json_iter(json_get(v, "c"));
	assert_false(json_next(&it, &key, &val));
	it = json_iter((struct json_value){0});
	assert_false(json_next(&it, &key, &val));
}

static void test_write(void **state)
{
	struct buf b = BUF_INIT(1000), small = BUF_INIT(5);
	struct json_value v = parse("{ \"a\" : [ 1 , -2.50, 1e22, true, null, 18446744073709551615, 3.0 ] , \"b\" : "
				    "\"q\\\"\\u001b\" , \"c\":{}, \"d\":[]}");

	(void)state;
	assert_int_equal(json_write(v, &b, NULL), 0);
	assert_string_equal(
	    b.ptr,
	    "{\"a\":[1,-2.5,1e+22,true,null,18446744073709551615,3.0],\"b\":\"q\\\"\\u001B\",\"c\":{},\"d\":[]}");
	assert_int_equal(json_write(v, &small, NULL), ERR_LIMIT);
	buf_done(&b);
	buf_done(&small);
}

static void mended(struct text in, const char *expected)
{
	struct buf b = BUF_INIT(10000);
	struct json_value v;

	assert_int_equal(json_parse(json, in, false, &v, NULL, NULL), 0);
	assert_true(json_repaired(json));
	assert_int_equal(json_write(v, &b, NULL), 0);
	assert_string_equal(b.ptr, expected);
	buf_done(&b);
}

static void test_mending(void **state)
{
	(void)state;
	mended(TEXT("{\"a\":\"x\xff\xc0\xafy\"}"), "{\"a\":\"x\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdy\"}");
	mended(TEXT("{\"a\xff\":1}"), "{\"a\xef\xbf\xbd\":1}");
	mended(TEXT("[\"\xed\xa0\x80\"]"), "[\"\xef\xbf\xbd\"]");
	mended(TEXT("[\"\\ud800\"]"), "[\"\xef\xbf\xbd\"]");
	mended(TEXT("[\"\\udc00\"]"), "[\"\xef\xbf\xbd\"]");
	mended(TEXT("[\"\\ud800x\"]"), "[\"\xef\xbf\xbdx\"]");
	mended(TEXT("[\"\\ud800\\u0041\"]"), "[\"\xef\xbf\xbd"
					     "A\"]");
	mended(TEXT("[\"\\ud800\\ud83d\\ude42\"]"), "[\"\xef\xbf\xbd🙂\"]");
	mended(TEXT("[\"\\ude42\\ud83d\"]"), "[\"\xef\xbf\xbd\xef\xbf\xbd\"]");
	mended(TEXT("[\"\\\\ud800 \\\\\\ud800 \xff\"]"), "[\"\\\\ud800 \\\\\xef\xbf\xbd \xef\xbf\xbd\"]");
	mended(TEXT("[NaN,-Infinity,Infinity,1e999,\"NaN\"]"), "[null,null,null,null,\"NaN\"]");
	mended(TEXT("{\"id\":123456789012345678901234567890,\"n\":-9223372036854775809}"),
	       "{\"id\":\"123456789012345678901234567890\",\"n\":\"-9223372036854775809\"}");
	/* good escapes are left alone */
	parse("[\"\\\\ud800 \\ud83d\\ude42\"]");
	assert_false(json_repaired(json));
}

static void broken(struct text in, size_t offset)
{
	struct json_value v;
	size_t at = 12345;

	assert_int_equal(json_parse(json, in, false, &v, &at, NULL), 1);
	assert_int_equal(json_type(v), JSON_NONE);
	assert_false(json_repaired(json));
	assert_int_equal(at, offset);
}

static void test_broken(void **state)
{
	(void)state;
	broken(TEXT(""), 0);
	broken((struct text){NULL, 0}, 0);
	broken(TEXT("\xef\xbb\xbf"), 3);
	broken(TEXT("  "), 2);
	broken(TEXT("{\"a\":1"), 6);
	broken(TEXT("{\"a\" 1}"), 5);
	broken(TEXT("{'a':1}"), 1);
	broken(TEXT("{\"a\":1}{\"b\":2}"), 7);
	broken(TEXT("{\"a\":1} x"), 8);
	broken(TEXT("[1,]"), 3);
	broken(TEXT("[1 2]"), 3);
	broken(TEXT("[\"\\x\"]"), 2);
	broken(TEXT("[\"a\nb\"]"), 3);
	broken(TEXT("[tru]"), 4);
	broken(TEXT("[01]"), 2);
	broken(TEXT("[nan]"), 2);
	broken(TEXT("[50e]"), 4);
	broken(TEXT("[1609004377667269480.]"), 21);
	broken(TEXT("\xef\xbb\xbf[}"), 4);
	broken(TEXT("[\"abc"), 5);
	broken(TEXT("[\"\xff"), 2);
	broken(TEXT("\0"), 0);
}

/* simdjson does not count a container that is empty, so that a value stands inside. */
static void test_depth(void **state)
{
	char text[2 * JSON_DEPTH_MAX + 3];
	struct json_value v;

	(void)state;
	for (size_t depth = JSON_DEPTH_MAX - 1; depth <= JSON_DEPTH_MAX + 1; depth++) {
		struct text doc = {text, 2 * depth + 1};

		memset(text, '[', depth);
		text[depth] = '1';
		memset(text + depth + 1, ']', depth);
		assert_int_equal(json_parse(json, doc, false, &v, NULL, NULL), depth > JSON_DEPTH_MAX);
	}
}

/* The input is exactly as long as it says, so that a sanitizer sees every byte too many. */
static void test_padding_and_size(void **state)
{
	struct buf b = BUF_INIT(40 * MIB);
	struct json_value v;
	struct text t;

	(void)state;
	for (size_t n = 0; n < 300; n++) {
		char *exact = malloc(n + 4);

		assert_non_null(exact);
		memset(exact, 'x', n + 4);
		exact[0] = '[';
		exact[1] = exact[n + 2] = '"';
		exact[n + 3] = ']';
		assert_int_equal(json_parse(json, (struct text){exact, n + 4}, false, &v, NULL, NULL), 0);
		free(exact); /* strings are the parser's own */
		assert_true(json_string(json_path(v, "0"), &t) && t.len == n);
	}
	/* the longest record, all of it to be mended */
	assert_int_equal(buf_add(&b, "[\"", 2, NULL), 0);
	assert_int_equal(buf_reserve(&b, RECORD_MAX_BYTES, NULL), 0);
	memset(b.ptr + 2, 0xff, RECORD_MAX_BYTES - 4);
	b.len = RECORD_MAX_BYTES - 2;
	assert_int_equal(buf_add(&b, "\"]", 2, NULL), 0);
	assert_int_equal(b.len, RECORD_MAX_BYTES);
	assert_int_equal(json_parse(json, buf_text(&b), true, &v, NULL, NULL), 0);
	assert_true(json_repaired(json));
	assert_true(json_string(json_path(v, "0"), &t) && t.len == 3 * (RECORD_MAX_BYTES - 4));
	buf_done(&b);
}

/* Mending is tried only where it reaches the first fault; that must be the same as mending everything first. */
static bool reads_mended(struct text doc)
{
	struct buf mended = BUF_INIT(10000);
	struct json_value v;

	assert_int_equal(json_mend(doc, &mended, NULL), 0);
	int r = json_parse(json, buf_text(&mended), false, &v, NULL, NULL);
	buf_done(&mended);
	return r == 0;
}

/* A long text is looked at first: that must change nothing. Blanks in front move the fault over the end of what is looked at. */
static bool reads_long(struct text doc)
{
	static char text[8192];
	struct json_value v;
	size_t before = (size_t)rand() % 260;

	memset(text, ' ', sizeof(text));
	memcpy(text + before, doc.ptr, doc.len);
	return json_parse(json, (struct text){text, sizeof(text)}, false, &v, NULL, NULL) == 0;
}

/* Whatever is done to a good document: no crash, and what parses can be written and parsed again to the same. */
static void test_mutations(void **state)
{
	static const char good[] =
	    "{\"ts\":1788000001.250,\"op\":\"alloc\",\"rid\":\"a\\u00e9\\ud83d\\ude42\",\"room\":1609004377667269480,"
	    "\"pages\":[[0,120],[500,8]],\"n\":null,\"b\":[true,false,-1e-5]}";
	static const char spice[] = "\"\\{}[],:0123456789eE+-.utfn \xff\xc0\xed\xa0\x80NaI\0\x1f";
	unsigned seed = 424242;
	int n_good = 0;

	(void)state;
	print_message("# seed %u\n", seed);
	srand(seed);
	for (int i = 0; i < 100000; i++) {
		struct buf b = BUF_INIT(10000), again = BUF_INIT(10000);
		char text[sizeof(good) + BUF_PADDING] = {0};
		struct json_value v;
		size_t at, len = sizeof(good) - 1;
		int r;

		memcpy(text, good, len);
		for (int k = rand() % 4; k >= 0; k--)
			text[(size_t)rand() % len] = spice[(size_t)rand() % (sizeof(spice) - 1)];
		if (rand() % 4 == 0)
			len = (size_t)rand() % len;
		bool mends = reads_mended((struct text){text, len});
		assert_int_equal(reads_long((struct text){text, len}), mends);
		r = json_parse(json, (struct text){text, len}, i % 2, &v, &at, NULL);
		assert_true(r == 0 || (r == 1 && at <= len));
		assert_int_equal(r == 0, mends);
		if (r == 0) {
			n_good++;
			assert_int_equal(json_write(v, &b, NULL), 0);
			assert_true(text_utf8_valid(buf_text(&b)));
			assert_int_equal(json_parse(json, buf_text(&b), true, &v, NULL, NULL), 0);
			assert_false(json_repaired(json));
			assert_int_equal(json_write(v, &again, NULL), 0);
			assert_string_equal(b.ptr, again.ptr);
		}
		buf_done(&b);
		buf_done(&again);
	}
	assert_true(n_good > 1000);
}

static void check_twice(struct text doc, const char *name, const char *path)
{
	struct json_value v;
	struct text twice = {0};
	struct json_place where;
	assert_int_equal(json_parse(json, doc, false, &v, NULL, NULL), 0);
	assert_int_equal(json_twice(v, &twice, &where, NULL), name != NULL);
	assert_int_equal(json_twice(v, &twice, NULL, NULL), name != NULL);
	if (!name)
		return;
	assert_true(text_is(twice, name));
	assert_string_equal(where.path, path);
}

/* Members of one name: next to each other, far apart in a long object, deep, and spelled in two ways. */
static void test_twice(void **state)
{
	(void)state;
	struct buf b = BUF_INIT(1 << 20);
	check_twice(TEXT("{\"a\":1,\"b\":{\"a\":2},\"c\":[{\"a\":1},{\"a\":2}]}"), NULL, NULL);
	check_twice(TEXT("[]"), NULL, NULL);
	check_twice(TEXT("[\"a\",\"a\"]"), NULL, NULL);
	check_twice(TEXT("{\"a\":1,\"b\":2,\"a\":1}"), "a", "a");
	check_twice(TEXT("{\"\":1,\"\":1}"), "", "");
	check_twice(TEXT("{\"x\":[{},[{\"y\":{\"version\":1,\"\\u0076ersion\":2}}]]}"), "version", "x[1][0].y.version");
	check_twice(TEXT("[0,{\"a\":[{\"b\":{}},{}]},[{\"c\":1,\"d\":{\"e\":1},\"c\":1}]]"), "c", "[2][0].c");
	for (int twin = 0; twin < 2; twin++) {
		buf_clear(&b);
		for (int i = 0; i < 2000; i++)
			assert_int_equal(buf_printf(&b, NULL, "%s\"k%d\":{\"v\":%d}", i ? "," : "{", i, i), 0);
		assert_int_equal(buf_printf(&b, NULL, ",\"k%d\":0}", twin ? 3 : 2000), 0);
		check_twice(buf_text(&b), twin ? "k3" : NULL, "k3");
	}
	/* a way that is too long is cut */
	struct json_place where;
	struct json_value v;
	struct text twice;
	buf_clear(&b);
	for (int i = 0; i < 60; i++)
		assert_int_equal(buf_printf(&b, NULL, "{\"a-member-of-some-length\":"), 0);
	assert_int_equal(buf_printf(&b, NULL, "{\"b\":1,\"b\":2}"), 0);
	for (int i = 0; i < 60; i++)
		assert_int_equal(buf_add_char(&b, '}', NULL), 0);
	assert_int_equal(json_parse(json, buf_text(&b), false, &v, NULL, NULL), 0);
	assert_int_equal(json_twice(v, &twice, &where, NULL), 1);
	assert_int_equal(strlen(where.path), sizeof(where.path) - 1);
	buf_done(&b);
}

static void check_contradicts(const char *doc, const char *want)
{
	struct json_value v;
	struct text name = {NULL, 0};

	assert_int_equal(json_parse(json, text_of(doc), false, &v, NULL, NULL), 0);
	assert_int_equal(json_contradicts(v, &name, NULL), want != NULL);
	if (want)
		assert_true(text_is(name, want));
}

/* What a program logged twice does harm where it says two things. */
static void test_contradicts(void **state)
{
	struct buf b = BUF_INIT(1 << 20);

	(void)state;
	check_contradicts("{\"a\":1,\"b\":2,\"a\":1}", NULL);
	check_contradicts("{\"a\":1,\"b\":2,\"a\":1.0}", "a");
	check_contradicts("{\"a\":1,\"b\":2,\"a\":\"1\"}", "a");
	check_contradicts("{\"a\":\"x\",\"a\":\"x\",\"a\":\"y\"}", "a");
	check_contradicts("{\"a\":null,\"a\":null,\"b\":true,\"b\":true,\"c\":1e3,\"c\":1000.0}", NULL);
	check_contradicts("{\"a\":null,\"a\":0}", "a");
	check_contradicts("{\"a\":18446744073709551615,\"a\":18446744073709551614}", "a");
	check_contradicts("{\"a\":[],\"a\":[]}", "a"); /* of lists nothing is said */
	check_contradicts("{\"X-Request-Id\":\"a\",\"x_request_id\":\"b\"}", "X-Request-Id");
	check_contradicts("{\"X-Request-Id\":\"a\",\"x_request_id\":\"a\"}", NULL);
	check_contradicts("{\"st\\u0061tus\":200,\"status\":500}", "status");
	check_contradicts("[{\"a\":1},{\"a\":2},{\"b\":{\"c\":[{\"d\":1,\"d\":2}]}}]", "d");
	for (int twin = 0; twin < 2; twin++) { /* more members than are compared each with each */
		buf_clear(&b);
		for (int i = 0; i < 2000; i++)
			assert_int_equal(buf_printf(&b, NULL, "%s\"K%d\":%d", i ? "," : "{", i, i), 0);
		assert_int_equal(buf_printf(&b, NULL, ",\"k7\":%d,\"K7\":7}", twin ? 8 : 7), 0);
		struct json_value v;
		struct text name;
		assert_int_equal(json_parse(json, buf_text(&b), false, &v, NULL, NULL), 0);
		assert_int_equal(json_contradicts(v, &name, NULL), twin);
	}
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_types),     cmocka_unit_test(test_lenient), cmocka_unit_test(test_path),
	    cmocka_unit_test(test_iteration), cmocka_unit_test(test_write),   cmocka_unit_test(test_mending),
	    cmocka_unit_test(test_broken),    cmocka_unit_test(test_depth),   cmocka_unit_test(test_padding_and_size),
	    cmocka_unit_test(test_mutations), cmocka_unit_test(test_twice),   cmocka_unit_test(test_contradicts),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
