/* SPDX-License-Identifier: Apache-2.0 */
/* test_msgpack.c - each type of the specification, cut at each byte, and sizes that are not there */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pagetrail/macros.h"
#include "pagetrail/msgpack.h"

#define BYTES(literal)                       \
	{                                    \
		literal, sizeof(literal) - 1 \
	}

static const struct {
	struct text in;
	struct msgpack_value want;
} values[] = {
    {BYTES("\xc0"), {.type = MSGPACK_NIL}},
    {BYTES("\xc3"), {.type = MSGPACK_BOOL, .b = true}},
    {BYTES("\xc2"), {.type = MSGPACK_BOOL}},
    {BYTES("\x7f"), {.type = MSGPACK_INT, .i = 127}},
    {BYTES("\xe0"), {.type = MSGPACK_INT, .i = -32}},
    {BYTES("\xcc\xff"), {.type = MSGPACK_INT, .i = 255}},
    {BYTES("\xcd\xff\xfe"), {.type = MSGPACK_INT, .i = 65534}},
    {BYTES("\xce\xff\xff\xff\xff"), {.type = MSGPACK_INT, .i = UINT32_MAX}},
    {BYTES("\xcf\x7f\xff\xff\xff\xff\xff\xff\xff"), {.type = MSGPACK_INT, .i = INT64_MAX}},
    {BYTES("\xcf\xff\xff\xff\xff\xff\xff\xff\xff"), {.type = MSGPACK_UINT, .i = INT64_MAX, .u = UINT64_MAX}},
    {BYTES("\xd0\x80"), {.type = MSGPACK_INT, .i = -128}},
    {BYTES("\xd1\x80\x00"), {.type = MSGPACK_INT, .i = -32768}},
    {BYTES("\xd2\x80\x00\x00\x00"), {.type = MSGPACK_INT, .i = INT32_MIN}},
    {BYTES("\xd3\x80\x00\x00\x00\x00\x00\x00\x00"), {.type = MSGPACK_INT, .i = INT64_MIN}},
    {BYTES("\xca\xbf\xc0\x00\x00"), {.type = MSGPACK_FLOAT, .d = -1.5}},
    {BYTES("\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00"), {.type = MSGPACK_FLOAT, .d = 1.5}},
    {BYTES("\xa2hi"), {.type = MSGPACK_STR, .bytes = BYTES("hi")}},
    {BYTES("\xd9\x02hi"), {.type = MSGPACK_STR, .bytes = BYTES("hi")}},
    {BYTES("\xda\x00\x02hi"), {.type = MSGPACK_STR, .bytes = BYTES("hi")}},
    {BYTES("\xdb\x00\x00\x00\x02hi"), {.type = MSGPACK_STR, .bytes = BYTES("hi")}},
    {BYTES("\xc4\x01\xff"), {.type = MSGPACK_BIN, .bytes = BYTES("\xff")}},
    {BYTES("\xc5\x00\x01\xff"), {.type = MSGPACK_BIN, .bytes = BYTES("\xff")}},
    {BYTES("\xc6\x00\x00\x00\x01\xff"), {.type = MSGPACK_BIN, .bytes = BYTES("\xff")}},
    {BYTES("\xd4\x05x"), {.type = MSGPACK_EXT}},
    {BYTES("\xd5\x05xy"), {.type = MSGPACK_EXT}},
    {BYTES("\xd8\x05xxxxyyyyxxxxyyyy"), {.type = MSGPACK_EXT}},
    {BYTES("\xc7\x02\x05xy"), {.type = MSGPACK_EXT}},
    {BYTES("\x92\xc0\xc0"), {.type = MSGPACK_ARRAY, .count = 2}},
    {BYTES("\xdc\x00\x01\x91\xc0"), {.type = MSGPACK_ARRAY, .count = 1}},
    {BYTES("\xdd\x00\x00\x00\x01\x90"), {.type = MSGPACK_ARRAY, .count = 1}},
    {BYTES("\x81\xa1k\x80"), {.type = MSGPACK_MAP, .count = 1}},
    {BYTES("\xde\x00\x01\x01\x02"), {.type = MSGPACK_MAP, .count = 1}},
    {BYTES("\xdf\x00\x00\x00\x01\x01\x02"), {.type = MSGPACK_MAP, .count = 1}},
};

/* The text in memory of its own, so that reading behind it is seen. */
static enum msgpack_end skip_exactly(struct text t, size_t *ret_left)
{
	char *copy = malloc(t.len ? t.len : 1);
	memcpy(copy, t.ptr, t.len);
	struct text rest = {copy, t.len};
	enum msgpack_end end = msgpack_skip(&rest);
	*ret_left = rest.len;
	free(copy);
	return end;
}

static void test_types(void **state)
{
	size_t left;
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		struct text rest = values[i].in;
		struct msgpack_value v, want = values[i].want;
		assert_int_equal(msgpack_next(&rest, &v), MSGPACK_OK);
		assert_int_equal(v.type, want.type);
		assert_int_equal(v.b, want.b);
		assert_int_equal(v.i, want.i);
		assert_true(v.u == (want.u ? want.u : (uint64_t)want.i));
		assert_true(v.d >= want.d && v.d <= want.d);
		assert_int_equal(v.count, want.count);
		if (want.bytes.len)
			assert_true(text_eq(v.bytes, want.bytes));
		for (size_t n = 0; n < values[i].in.len; n++)
			assert_int_equal(skip_exactly(text_sub(values[i].in, 0, n), &left), MSGPACK_CUT);
		assert_int_equal(skip_exactly(values[i].in, &left), MSGPACK_OK);
		assert_int_equal(left, 0);
	}
}

static void test_hostile(void **state)
{
	static const struct text cut[] = {
	    BYTES("\xdd\xff\xff\xff\xff\xc0"), BYTES("\xdf\xff\xff\xff\xff\xc0\xc0"), BYTES("\xdb\xff\xff\xff\xffx"),
	    BYTES("\xc6\xff\xff\xff\xffx"),    BYTES("\xc9\xff\xff\xff\xff\x01x"),    BYTES("\x91\x91\x91"),
	};
	size_t left;
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cut); i++)
		assert_int_equal(skip_exactly(cut[i], &left), MSGPACK_CUT);
	assert_int_equal(skip_exactly(TEXT("\x91\xc1"), &left), MSGPACK_BAD);
	/* a million arrays in each other are no stack */
	enum { DEEP = 1000000 };
	char *deep = malloc(DEEP + 1);
	memset(deep, 0x91, DEEP);
	deep[DEEP] = (char)0xc0;
	assert_int_equal(skip_exactly((struct text){deep, DEEP + 1}, &left), MSGPACK_OK);
	free(deep);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_types), cmocka_unit_test(test_hostile)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
