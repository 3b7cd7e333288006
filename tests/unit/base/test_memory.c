/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory.c - err, buf, arena, digest: limits exactly at the limit, overflow, reuse */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "pagetrail/arena.h"
#include "pagetrail/buf.h"
#include "pagetrail/digest.h"
#include "pagetrail/limits.h"

static void test_err(void **state)
{
	struct err err = {0};
	char big[2000];

	(void)state;
	assert_int_equal(err_set(NULL, ERR_IO, "x"), ERR_IO);
	assert_int_equal(err_set(&err, ERR_USAGE, "bad %s", "thing"), ERR_USAGE);
	assert_string_equal(err.what, "bad thing");
	assert_int_equal(err_where(&err, "line %d", 3), ERR_USAGE);
	err_where(&err, "elsewhere");
	assert_string_equal(err.where, "line 3");
	err_hint(&err, "do it");
	err_hint(&err, "do not");
	assert_string_equal(err.hint, "do it");
	/* the old text may go into the new one */
	err_set(&err, ERR_IO, "again: %s", err.what);
	assert_string_equal(err.what, "again: bad thing");
	assert_string_equal(err.where, "");
	assert_string_equal(err.hint, "");
	errno = ENOENT;
	assert_int_equal(err_set_errno(&err, ERR_IO, "cannot open"), ERR_IO);
	assert_non_null(strstr(err.what, "cannot open: No such file"));
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	errno = ENOENT;
	err_set_errno(&err, ERR_IO, "%s", big);
	err_where(&err, "%s", big);
	err_hint(&err, "%s", big);
	assert_int_equal(strlen(err.what), sizeof(err.what) - 1);
	assert_int_equal(strlen(err.where), sizeof(err.where) - 1);
	assert_int_equal(strlen(err.hint), sizeof(err.hint) - 1);
	assert_int_equal(err_nomem(&err), ERR_NOMEM);
	assert_int_equal(err_where(NULL, "x"), 0);
	err_set(&err, ERR_INTERRUPTED, "stopped");
	assert_int_equal(err_where(&err, "event chunk 0"), ERR_INTERRUPTED);
	assert_string_equal(err.where, "");
}

static void test_buf_limit(void **state)
{
	struct buf b = BUF_INIT(1000);
	char bytes[1001] = {0};
	struct err err;

	(void)state;
	assert_string_equal(buf_text(&b).ptr, "");
	assert_int_equal(buf_add(&b, bytes, 1000, &err), 0);
	assert_int_equal(buf_add_char(&b, 'x', &err), ERR_LIMIT);
	assert_int_equal(b.len, 1000);
	assert_int_equal(b.ptr[1000], 0);
	for (int i = 0; i < BUF_PADDING; i++) /* must be readable */
		assert_int_equal(b.ptr[1000 + 1 + i], 0);
	assert_int_equal(buf_reserve(&b, SIZE_MAX, &err), ERR_LIMIT);
	buf_clear(&b);
	assert_int_equal(buf_add(&b, bytes, 1001, &err), ERR_LIMIT);
	assert_int_equal(b.len, 0);
	assert_int_equal(buf_printf(&b, &err, "%999s", "x"), 0);
	assert_int_equal(buf_printf(&b, &err, "%s", "yz"), ERR_LIMIT);
	assert_int_equal(b.len, 999);
	assert_int_equal(strlen(b.ptr), 999);
	assert_int_equal(buf_printf(&b, &err, "%s", "y"), 0);
	buf_done(&b);
	buf_done(&b);
	b = BUF_INIT(0);
	assert_int_equal(buf_add(&b, "", 0, &err), 0);
	assert_string_equal(b.ptr, "");
	assert_int_equal(buf_add_char(&b, 'x', &err), ERR_LIMIT);
	buf_done(&b);
}

static void test_buf_growth(void **state)
{
	struct buf b = BUF_INIT(1 << 20);

	(void)state;
	for (int i = 0; i < 50000; i++)
		assert_int_equal(buf_printf(&b, NULL, "%d,", i % 10), 0);
	assert_int_equal(b.len, 100000);
	for (int i = 0; i < 50000; i++)
		assert_int_equal(b.ptr[2 * i], '0' + i % 10);
	buf_done(&b);
}

static void json_is(struct text in, const char *expected)
{
	struct buf b = BUF_INIT(10000);

	assert_int_equal(buf_json_string(&b, in, NULL), 0);
	assert_string_equal(b.ptr, expected);
	buf_done(&b);
}

static void test_buf_json(void **state)
{
	(void)state;
	json_is(TEXT(""), "\"\"");
	json_is(TEXT("a\"b\\c/"), "\"a\\\"b\\\\c/\"");
	json_is(TEXT("\n\0\x1b"), "\"\\u000A\\u0000\\u001B\"");
	json_is(TEXT("東京 é"), "\"東京 é\"");
	json_is(TEXT("\xff\xc0\xaf"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	json_is(TEXT("\xed\xa0\x80"), "\"\xef\xbf\xbd\"");
	json_is(TEXT("\xe2\x80\xae\xe2\x80\xa8\x7f"), "\"\\u202E\\u2028\\u007F\"");
	json_is(TEXT("\xf3\xa0\x81\x81"), "\"\\uDB40\\uDC41\"");
}

/* Every mixture of what is copied as it is and what is not, at every place of a block: as character by character. */
static void test_buf_json_blocks(void **state)
{
	static const struct {
		const char *in, *json, *visible;
	} parts[] = {{"a", "a", "a"},
		     {"z", "z", "z"},
		     {"~", "~", "~"},
		     {" ", " ", " "},
		     {"\"", "\\\"", "\""},
		     {"\\", "\\\\", "\\\\"},
		     {"\n", "\\u000A", "\\u{A}"},
		     {"\x7f", "\\u007F", "\\u{7F}"},
		     {"é", "é", "é"},
		     {"\xff", "\xef\xbf\xbd", "\\xFF"}};
	const char *given = getenv("PAGETRAIL_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);

	(void)state;
	print_message("# PAGETRAIL_SEED=%llu\n", (unsigned long long)seed);
	for (int round = 0; round < 20000; round++) {
		struct buf in = BUF_INIT(1000), json = BUF_INIT(1000), visible = BUF_INIT(1000), got;
		size_t n = (size_t)(round % 100), plain = 1 + (size_t)(round % 7) * 8;
		char *exact;

		assert_int_equal(buf_add_char(&json, '"', NULL), 0);
		for (size_t i = 0; i < n; i++) {
			seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
			size_t p = (seed >> 33) % plain ? (seed >> 50) % 4 : (seed >> 50) % ARRAY_SIZE(parts);
			assert_int_equal(buf_add_text(&in, text_of(parts[p].in), NULL), 0);
			assert_int_equal(buf_add_text(&json, text_of(parts[p].json), NULL), 0);
			assert_int_equal(buf_add_text(&visible, text_of(parts[p].visible), NULL), 0);
		}
		assert_int_equal(buf_add_char(&json, '"', NULL), 0);
		exact = malloc(in.len + !in.len); /* nothing behind may be read */
		assert_non_null(exact);
		memcpy(exact, buf_text(&in).ptr, in.len);
		got = BUF_INIT(json.len); /* as long as it gets, and not a byte more */
		assert_int_equal(buf_json_string(&got, (struct text){exact, in.len}, NULL), 0);
		assert_string_equal(got.ptr, json.ptr);
		buf_done(&got);
		got = BUF_INIT(json.len - 1);
		assert_int_equal(buf_json_string(&got, (struct text){exact, in.len}, NULL), ERR_LIMIT);
		buf_done(&got);
		got = BUF_INIT(2000);
		assert_int_equal(buf_json_string(&got, (struct text){exact, in.len}, NULL), 0);
		assert_string_equal(got.ptr, json.ptr);
		buf_clear(&got);
		assert_int_equal(text_visible((struct text){exact, in.len}, SIZE_MAX, &got, NULL), 0);
		assert_string_equal(got.ptr, buf_text(&visible).ptr);
		assert_int_equal(text_columns((struct text){exact, in.len}), n);
		free(exact);
		buf_done(&got);
		buf_done(&in);
		buf_done(&json);
		buf_done(&visible);
	}
}

static void test_varint(void **state)
{
	struct buf b = BUF_INIT(100);

	(void)state;
	assert_int_equal(buf_varint(&b, 0, NULL), 0);
	assert_int_equal(buf_varint(&b, 127, NULL), 0);
	assert_int_equal(buf_varint(&b, 128, NULL), 0);
	assert_int_equal(buf_varint(&b, UINT64_MAX, NULL), 0);
	assert_int_equal(b.len, 14);
	assert_memory_equal(b.ptr, "\x00\x7f\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 14);
	buf_done(&b);
}

static void test_arena(void **state)
{
	struct arena a = {0};
	char *p, *q;
	struct text t;

	(void)state;
	arena_done(&a); /* zeroed is fine */
	assert_non_null(arena_alloc(&a, 1));
	arena_done(&a);
	arena_init(&a, 0);
	assert_int_equal(a.max, ARENA_MAX_BYTES);
	for (size_t n = 0; n < 3000; n += 13) {
		p = arena_alloc(&a, n);
		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xff, n);
		if (n % 5 == 0)
			arena_reset(&a);
	}
	arena_reset(&a);
	assert_int_equal(a.used, 0);
	assert_null(arena_array(&a, SIZE_MAX / 2, 3));
	assert_null(arena_alloc(&a, SIZE_MAX));
	assert_null(arena_room(&a, SIZE_MAX));
	t = arena_text(&a, TEXT("hello"));
	assert_string_equal(t.ptr, "hello");
	q = arena_alloc(&a, 8);
	assert_int_equal((uintptr_t)q % 16, 0);
	t = arena_text(&a, (struct text){NULL, 0});
	assert_string_equal(t.ptr, "");
	t = arena_text(&a, (struct text){"x", SIZE_MAX});
	assert_null(t.ptr);
	arena_done(&a);
}

static void test_arena_limit(void **state)
{
	struct arena a;

	(void)state;
	arena_init(&a, 1000);
	assert_non_null(arena_alloc(&a, 1000));
	assert_null(arena_alloc(&a, 1));
	arena_reset(&a);
	assert_null(arena_alloc(&a, 1001));
	assert_null(arena_room(&a, 1001));
	assert_non_null(arena_alloc(&a, 999));
	assert_null(arena_text(&a, TEXT("x")).ptr); /* its NUL does not fit */
	arena_done(&a);
}

static void test_digest(void **state)
{
	static const char empty[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
	static const char abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
	unsigned char out[SHA256_BYTES];
	char hex[SHA256_HEX];
	struct sha256 *s;

	(void)state;
	assert_int_equal(sha256_once(NULL, 0, out, NULL), 0);
	sha256_hex(out, hex);
	assert_string_equal(hex, empty);
	assert_int_equal(sha256_once("abc", 3, out, NULL), 0);
	sha256_hex(out, hex);
	assert_string_equal(hex, abc);
	assert_int_equal(sha256_new(&s, NULL), 0);
	assert_int_equal(sha256_add(s, "a", 1, NULL), 0);
	assert_int_equal(sha256_add(s, NULL, 0, NULL), 0);
	assert_int_equal(sha256_add(s, "bc", 2, NULL), 0);
	assert_int_equal(sha256_end(s, out, NULL), 0);
	sha256_hex(out, hex);
	assert_string_equal(hex, abc);
	sha256_free(NULL);
	assert_int_equal(sha256_new(&s, NULL), 0);
	sha256_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_err),      cmocka_unit_test(test_buf_limit),       cmocka_unit_test(test_buf_growth),
	    cmocka_unit_test(test_buf_json), cmocka_unit_test(test_buf_json_blocks), cmocka_unit_test(test_varint),
	    cmocka_unit_test(test_arena),    cmocka_unit_test(test_arena_limit),     cmocka_unit_test(test_digest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
