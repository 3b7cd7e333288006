/* SPDX-License-Identifier: Apache-2.0 */
/* test_text.c - views, numbers, the sanitiser */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pagetrail/buf.h"
#include "pagetrail/limits.h"
#include "pagetrail/macros.h"
#include "pagetrail/text.h"

static void test_views(void **state)
{
	struct text t = TEXT("  key=value\r\n"), rest, part;
	int n = 0;

	(void)state;
	assert_true(text_eq(text_of(NULL), TEXT("")));
	assert_true(text_eq((struct text){NULL, 0}, TEXT("")));
	assert_true(text_is(text_trim(t), "key=value"));
	assert_true(text_is(text_chomp(t), "  key=value"));
	assert_true(text_is(text_chomp(TEXT("a\n\n")), "a\n"));
	assert_true(text_is(text_chomp(TEXT("a\r")), "a\r"));
	assert_true(text_is(text_chomp(TEXT("\n")), ""));
	assert_true(text_is(text_trim(TEXT(" \t\r\n")), ""));
	assert_int_equal(text_find(t, "=", 0), 5);
	assert_true(text_find(t, "=", 6) == SIZE_MAX);
	assert_true(text_find(t, "x", 999) == SIZE_MAX);
	assert_int_equal(text_find(t, "", 3), 3);
	assert_int_equal(text_find(t, "", t.len), t.len);
	assert_true(text_find((struct text){NULL, 0}, "a", 0) == SIZE_MAX);
	assert_int_equal(text_find_char(t, 'k', 0), 2);
	assert_true(text_find_char(t, 'k', t.len) == SIZE_MAX);
	assert_int_equal(text_rfind_char(t, 'e'), 10);
	assert_true(text_rfind_char((struct text){NULL, 0}, 'e') == SIZE_MAX);
	assert_true(text_is(text_sub(t, 2, 3), "key"));
	assert_true(text_is(text_sub(t, 2, SIZE_MAX), "key=value\r\n"));
	assert_true(text_is(text_sub(t, SIZE_MAX, 1), ""));
	assert_true(text_is(text_from((struct text){NULL, 0}, 7), ""));
	assert_true(text_starts(t, "  key"));
	assert_false(text_starts(TEXT("ke"), "key"));
	assert_true(text_starts(TEXT(""), ""));
	assert_true(text_ends(TEXT("a.gz"), ".gz"));
	assert_false(text_ends(TEXT("gz"), ".gz"));
	assert_true(text_cmp(TEXT("a"), TEXT("b")) < 0);
	assert_true(text_cmp(TEXT("a"), TEXT("aa")) < 0);
	assert_true(text_cmp(TEXT("\xff"), TEXT("a")) > 0);
	assert_int_equal(text_cmp(TEXT(""), (struct text){NULL, 0}), 0);

	rest = TEXT("a,,b,");
	while (text_split(&rest, ',', &part))
		n++;
	assert_int_equal(n, 4);
	assert_true(text_is(part, ""));
	assert_false(text_split(&rest, ',', &part));
}

static void test_hash(void **state)
{
	unsigned char bytes[200];
	uint64_t seen[201];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = 'a';
	for (size_t n = 0; n <= sizeof(bytes); n++) {
		seen[n] = text_hash((struct text){(char *)bytes, n});
		for (size_t k = 0; k < n; k++)
			assert_true(seen[k] != seen[n]);
	}
	/* every single byte counts */
	for (size_t n = 1; n <= sizeof(bytes); n += 7)
		for (size_t i = 0; i < n; i++) {
			bytes[i] ^= 1;
			assert_true(text_hash((struct text){(char *)bytes, n}) != seen[n]);
			bytes[i] ^= 1;
		}
	assert_true(text_hash((struct text){NULL, 0}) == text_hash(TEXT("")));
}

static void test_integers(void **state)
{
	static const char *const bad[] = {"",
					  "-",
					  "+1",
					  "--1",
					  " 1",
					  "1 ",
					  "1.0",
					  "0x1",
					  "1e3",
					  "١",
					  "9223372036854775808",
					  "-9223372036854775809",
					  "99999999999999999999999999"};
	int64_t i;
	uint64_t u;

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(bad); k++) {
		assert_false(text_int64(text_of(bad[k]), &i));
		assert_false(text_count(text_of(bad[k]), &i));
	}
	assert_true(text_int64(TEXT("9223372036854775807"), &i) && i == INT64_MAX);
	assert_true(text_int64(TEXT("-9223372036854775808"), &i) && i == INT64_MIN);
	assert_true(text_int64(TEXT("-0"), &i) && i == 0);
	assert_true(text_int64(TEXT("007"), &i) && i == 7);
	assert_true(text_uint64(TEXT("18446744073709551615"), &u) && u == UINT64_MAX);
	assert_false(text_uint64(TEXT("18446744073709551616"), &u));
	assert_false(text_uint64(TEXT("-1"), &u));
	assert_true(text_count(TEXT("681,280"), &i) && i == 681280);
	assert_true(text_count(TEXT("681280"), &i) && i == 681280);
	assert_true(text_count(TEXT("1,048,576"), &i) && i == 1048576);
	assert_true(text_count(TEXT("-1,000"), &i) && i == -1000);
	assert_true(text_count(TEXT("9,223,372,036,854,775,807"), &i) && i == INT64_MAX);
	assert_false(text_count(TEXT("9,223,372,036,854,775,808"), &i));
	assert_false(text_count(TEXT("6812,80"), &i));
	assert_false(text_count(TEXT("1,23"), &i));
	assert_false(text_count(TEXT("1,-23"), &i));
	assert_false(text_count(TEXT(",123"), &i));
	assert_false(text_count(TEXT("1,"), &i));
	assert_false(text_count(TEXT("1234,567"), &i));
}

static void test_digits(void **state)
{
	static const uint64_t edges[] = {
	    0, 9, 10, 99, 100, 101, 999, 1000, 12345, UINT32_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};
	uint64_t v = 1;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(edges) + 1000; i++) {
		char want[32], got[TEXT_NUMBER_MAX];

		v = v * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		uint64_t n = i < ARRAY_SIZE(edges) ? edges[i] : v >> v % 64;
		snprintf(want, sizeof(want), "%llu", (unsigned long long)n);
		assert_int_equal(text_put_uint64(got, n), strlen(want));
		assert_memory_equal(got, want, strlen(want));
		snprintf(want, sizeof(want), "%lld", (long long)n);
		assert_int_equal(text_put_int64(got, (int64_t)n), strlen(want));
		assert_memory_equal(got, want, strlen(want));
	}
}

static void test_doubles(void **state)
{
	static const char *const bad[] = {
	    "",    "nan", "inf",  "-inf", "0x1p3", "1.",  ".5",  "1e",
	    "1e+", " 1",  "1e-+", "1,5",  "1e999", "--1", "1_0", "1e99999999999999999999"};
	double d;
	char text[64];
	unsigned seed = 20260914;

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(bad); k++)
		assert_false(text_double(text_of(bad[k]), &d));
	assert_true(text_double(TEXT("14.902"), &d) && d == 14.902);
	assert_true(text_double(TEXT("-0.5"), &d) && d == -0.5);
	assert_true(text_double(TEXT("4.5e-05"), &d) && d == 4.5e-05);
	assert_true(text_double(TEXT("1E22"), &d) && d == 1e22);
	assert_true(text_double(TEXT("1.7976931348623157e308"), &d) && d == 1.7976931348623157e308);
	assert_true(text_double(TEXT("1e-400"), &d) && d == 0);
	assert_true(text_double(TEXT("0.30000000000000004"), &d) && d == 0.30000000000000004);
	print_message("# seed %u\n", seed);
	srand(seed);
	for (int k = 0; k < 20000; k++) {
		double in = (double)rand() / (double)((rand() & 0xffff) + 1) * (k % 3 ? 1 : 1e-9);

		snprintf(text, sizeof(text), "%.*g", 1 + rand() % 17, in);
		assert_true(text_double(text_of(text), &d) && d == strtod(text, NULL));
	}
}

static void test_seconds(void **state)
{
	int64_t ns;

	(void)state;
	assert_true(text_seconds_ns(TEXT("1788000001.25"), &ns) && ns == INT64_C(1788000001250000000));
	assert_true(text_seconds_ns(TEXT("1788000001"), &ns) && ns == INT64_C(1788000001000000000));
	assert_true(text_seconds_ns(TEXT("-1.5"), &ns) && ns == -1500000000);
	assert_true(text_seconds_ns(TEXT("-0.000000001"), &ns) && ns == -1);
	assert_true(text_seconds_ns(TEXT("0.1"), &ns) && ns == 100000000);
	assert_true(text_seconds_ns(TEXT("1789355564.123456789"), &ns) && ns == INT64_C(1789355564123456789));
	/* below a nanosecond is cut */
	assert_true(text_seconds_ns(TEXT("1.9999999999999"), &ns) && ns == 1999999999);
	assert_true(text_seconds_ns(TEXT("4.5e-05"), &ns) && ns == 45000);
	assert_true(text_seconds_ns(TEXT("1.78e9"), &ns) && ns == INT64_C(1780000000000000000));
	assert_true(text_seconds_ns(TEXT("0e100000"), &ns) && ns == 0);
	assert_true(text_seconds_ns(TEXT("9223372036.854775807"), &ns) && ns == INT64_MAX);
	assert_false(text_seconds_ns(TEXT("9223372036.854775808"), &ns));
	assert_false(text_seconds_ns(TEXT("-9223372036.854775808"), &ns)); /* that is "no time" */
	assert_false(text_seconds_ns(TEXT("99999999999999999999"), &ns));
	assert_false(text_seconds_ns(TEXT("1e100000"), &ns));
	assert_false(text_seconds_ns(TEXT(""), &ns));
	assert_false(text_seconds_ns(TEXT("1."), &ns));
	assert_false(text_seconds_ns(TEXT("1.2.3"), &ns));
}

static void visible_is(struct text in, size_t max, const char *expected)
{
	struct buf b = BUF_INIT(1 << 20);

	assert_int_equal(text_visible(in, max, &b, NULL), 0);
	assert_string_equal(b.ptr, expected);
	assert_true(text_utf8_valid(buf_text(&b)));
	buf_done(&b);
}

/* Nothing that comes out of the sanitiser may be a control, whatever goes in. */
static void assert_harmless(struct text in)
{
	struct buf b = BUF_INIT(1 << 20);

	assert_int_equal(text_visible(in, SIZE_MAX, &b, NULL), 0);
	assert_true(text_utf8_valid(buf_text(&b)));
	for (size_t i = 0; i < b.len; i++) {
		unsigned char c = (unsigned char)b.ptr[i];

		assert_true(c >= 0x20 && c != 0x7f);
		if (c == 0xc2) /* C1 */
			assert_true((unsigned char)b.ptr[i + 1] >= 0xa0);
		if (c == 0xe2 && (unsigned char)b.ptr[i + 1] == 0x80) { /* U+200B..F, U+2028..E */
			unsigned char d = (unsigned char)b.ptr[i + 2];

			assert_false((d >= 0x8b && d <= 0x8f) || (d >= 0xa8 && d <= 0xae));
		}
	}
	buf_done(&b);
}

static void test_visible(void **state)
{
	(void)state;
	visible_is(TEXT(""), SIZE_MAX, "");
	visible_is((struct text){NULL, 0}, SIZE_MAX, "");
	visible_is(TEXT("plain text"), SIZE_MAX, "plain text");
	visible_is(TEXT("a\\b"), SIZE_MAX, "a\\\\b");
	visible_is(TEXT("\x1b[31mred\r\n"), SIZE_MAX, "\\u{1B}[31mred\\u{D}\\u{A}");
	visible_is(TEXT("a\0b"), SIZE_MAX, "a\\u{0}b");
	visible_is(TEXT("grüße 東京 🙂"), SIZE_MAX, "grüße 東京 🙂");
	visible_is(TEXT("\xff\xc0\x80"), SIZE_MAX, "\\xFF\\xC0\\x80");                /* overlong NUL */
	visible_is(TEXT("\xe0\x80\xaf"), SIZE_MAX, "\\xE0\\x80\\xAF");                /* overlong slash */
	visible_is(TEXT("\xf0\x80\x80\xaf"), SIZE_MAX, "\\xF0\\x80\\x80\\xAF");       /* the same in four */
	visible_is(TEXT("\xf4\x90\x80\x80"), SIZE_MAX, "\\xF4\\x90\\x80\\x80");       /* beyond U+10FFFF */
	visible_is(TEXT("\xed\xa0\x80\xed\xbf\xbf"), SIZE_MAX, "\\u{D800}\\u{DFFF}"); /* surrogates */
	visible_is(TEXT("\xe2\x82"), SIZE_MAX, "\\xE2\\x82");                         /* cut short */
	visible_is(TEXT("\xe2\x80\xae"), SIZE_MAX, "\\u{202E}");                      /* right-to-left override */
	visible_is(TEXT("\xe2\x81\xa6\xe2\x81\xa9"), SIZE_MAX, "\\u{2066}\\u{2069}"); /* isolates */
	visible_is(TEXT("\xd8\x9c\xe2\x80\x8b"), SIZE_MAX, "\\u{61C}\\u{200B}");
	visible_is(TEXT("\xe2\x80\xa8\xe2\x80\xa9"), SIZE_MAX, "\\u{2028}\\u{2029}");
	visible_is(TEXT("\xef\xbb\xbf\xef\xbf\xbe\xef\xbf\xbf"), SIZE_MAX, "\\u{FEFF}\\u{FFFE}\\u{FFFF}");
	visible_is(TEXT("\xc2\x85\xc2\x9b\x7f"), SIZE_MAX, "\\u{85}\\u{9B}\\u{7F}");
	visible_is(TEXT("\xf3\xa0\x81\x81"), SIZE_MAX, "\\u{E0041}"); /* a tag, invisible "A" */
	visible_is(TEXT("\xef\xbf\xbd"), SIZE_MAX, "\xef\xbf\xbd");
}

static void test_visible_cut(void **state)
{
	struct buf small = BUF_INIT(8);

	(void)state;
	visible_is(TEXT("abcdef"), 6, "abcdef");
	visible_is(TEXT("abcdef"), 5, "abcde… (6 bytes)");
	visible_is(TEXT("abcdef"), 0, "… (6 bytes)");
	visible_is(TEXT("a東b"), 4, "a東… (5 bytes)");
	visible_is(TEXT("a東b"), 3, "a… (5 bytes)");
	visible_is(TEXT("a東b"), 1, "a… (5 bytes)");
	visible_is(TEXT("a\xff\xff"), 2, "a\\xFF… (3 bytes)");
	assert_int_equal(text_visible(TEXT("123456789"), SIZE_MAX, &small, NULL), ERR_LIMIT);
	buf_done(&small);
}

static void test_visible_all_bytes(void **state)
{
	char bytes[8];
	unsigned seed = 77001;

	(void)state;
	for (int c = 0; c < 256; c++) {
		bytes[0] = (char)c;
		assert_harmless((struct text){bytes, 1});
		for (int d = 0; d < 256; d++) {
			bytes[1] = (char)d;
			assert_harmless((struct text){bytes, 2});
		}
	}
	print_message("# seed %u\n", seed);
	srand(seed);
	for (int i = 0; i < 100000; i++) {
		size_t n = 1 + (size_t)rand() % sizeof(bytes);

		for (size_t k = 0; k < n; k++)
			bytes[k] = (char)(rand() % 3 ? rand() | 0x80 : rand());
		if (i % 3 == 0)
			bytes[0] = (char)0xe2, bytes[n > 1] = (char)0x80;
		assert_harmless((struct text){bytes, n});
	}
}

static void test_is_blank(void **state)
{
	static const char *const blank[] = {"", "  \t\r\n", "\xc2\xa0\xe3\x80\x80", "\xe2\x80\x8b \xe2\x80\xa8",
					    "\xe3\x85\xa4" /* filler */};
	static const char *const seen[] = {"  .", "\xe2\x80\x94", "\xff", "\xe2\x80", "\xe2\x98\x83" /* a snowman */};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(blank); i++)
		assert_true(text_is_blank(text_of(blank[i])));
	for (size_t i = 0; i < ARRAY_SIZE(seen); i++)
		assert_false(text_is_blank(text_of(seen[i])));
}

static void test_says_something(void **state)
{
	static const char *const nothing[] = {"",
					      " \t",
					      "...",
					      "\xc2\xa0",
					      "\xe2\x80\x8b",
					      "\xe3\x85\xa4" /* filler */,
					      "\xe2\xa0\x80" /* Braille blank */,
					      "\xcc\x81" /* an accent on nothing */,
					      "\xf3\xa0\x81\x81" /* tag A */,
					      "\xff\xfe",
					      "\xe2\x80\x94"};
	static const char *const something[] = {"a",
						"0",
						" \xc3\xa9",
						"\xe6\x9d\xb1",
						"\xe2\x85\xa3" /* IV */,
						"\xff"
						"b"};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(nothing); i++)
		if (text_says_something(text_of(nothing[i])))
			fail_msg("%zu says something", i);
	for (size_t i = 0; i < ARRAY_SIZE(something); i++)
		if (!text_says_something(text_of(something[i])))
			fail_msg("%zu says nothing", i);
}

static void test_fold(void **state)
{
	static const char *const cases[][3] = {{"ACME - Corp_1", "acme-corp-1", "acme - corp-1"},
					       {"a\xe2\x80\x8b"
						"b\xc2\xad",
						"ab", "ab"},
					       {"x\xe2\x80\x91y\xc2\xa0z", "x-y-z", "x-y z"},
					       {"\xe2\x80\x9cStra\xc3\x9f"
						"e\xe2\x80\x9d",
						"-strasse-", " strasse "},
					       {"\xc3\x89", "e\xcc\x81", "e\xcc\x81"},
					       {"E\xcc\x81", "e\xcc\x81", "e\xcc\x81"},
					       {"\xef\xbc\xa1\xef\xbc\x8d\xef\xbc\x91", "a-1", "a-1"},
					       {"a.b:c\xff", "a.b:c\xff", "a.b:c\xff"},
					       {"\xef\xb7\xba",
						"\xd8\xb5\xd9\x84\xd9\x89-\xd8\xa7\xd9\x84\xd9\x84\xd9\x87-"
						"\xd8\xb9\xd9\x84\xd9\x8a\xd9\x87-\xd9\x88\xd8\xb3\xd9\x84\xd9\x85",
						NULL}};
	CLEANUP(buf_done) struct buf b = BUF_INIT(MIB);
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (int joined = 0; joined < 2; joined++) {
			const char *want = cases[i][joined ? 1 : 2];
			buf_clear(&b);
			assert_int_equal(text_fold(text_of(cases[i][0]), joined, &b, NULL), 0);
			if (want && !text_is(buf_text(&b), want))
				fail_msg("%s: %.*s", cases[i][0], TEXT_ARG(buf_text(&b)));
		}
}

static void test_columns(void **state)
{
	(void)state;
	assert_int_equal(text_columns(TEXT("")), 0);
	assert_int_equal(text_columns(TEXT("abc")), 3);
	assert_int_equal(text_columns(TEXT("grüße")), 5);
	assert_int_equal(text_columns(TEXT("東京")), 4);
	assert_int_equal(text_columns(TEXT("e\xcc\x81")), 1);
	assert_int_equal(text_columns(TEXT("🙂")), 2);
	assert_int_equal(text_columns(TEXT("한국어")), 6);
	assert_int_equal(text_columns(TEXT("…│─")), 3);
}

/* Few letters, so that there are many near misses; nothing is read outside of the text. */
static void test_find(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t len = (size_t)(round % 90), n;
		char needle[8] = "", *hay = malloc(len + 1);
		const char *want;

		assert_non_null(hay);
		for (size_t i = 0; i < len; i++) {
			seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
			hay[i] = "ab\xff"[(seed >> 33) % 8 == 0 ? 2 : (seed >> 40) % 2];
		}
		n = (size_t)(seed >> 50) % sizeof(needle);
		for (size_t i = 0; i < n; i++)
			needle[i] = "ab\xff"[(seed >> (20 + 3 * i)) % 8 == 0 ? 2 : (seed >> (20 + 3 * i)) % 2];
		hay = realloc(hay, len ? len : 1);
		want = n ? memmem(hay, len, needle, n) : hay;
		assert_true(text_find((struct text){hay, len}, needle, 0) == (want ? (size_t)(want - hay) : SIZE_MAX));
		free(hay);
	}
	assert_true(text_find((struct text){NULL, 0}, "a", 0) == SIZE_MAX &&
		    text_find(TEXT("aaa"), "a", 3) == SIZE_MAX);
	assert_true(text_find(TEXT("aaa"), "", 3) == 3 && text_find(TEXT("aaa"), "", 4) == SIZE_MAX);
}

static void assert_put(double v, const char *want)
{
	char text[TEXT_DOUBLE_MAX];
	size_t n = text_put_double(text, v);

	assert_true(n <= sizeof(text));
	assert_true(text_is((struct text){text, n}, want));
}

static void test_put_double(void **state)
{
	uint64_t seed = 11;

	(void)state;
	assert_put(0, "0");
	assert_put(-0.5, "-0.5");
	assert_put(0.1, "0.1");
	assert_put(0.1 + 0.2, "0.30000000000000004");
	assert_put(1788016030.1234567, "1788016030.1234567");
	assert_put(1e300, "1e+300");
	assert_put(-1.7976931348623157e308, "-1.7976931348623157e+308");
	assert_put(4.9406564584124654e-324, "4.94065645841247e-324");
	assert_put(HUGE_VAL, "inf");
	assert_put(-HUGE_VAL, "-inf");
	assert_put((double)NAN, "nan");
	for (int k = 0; k < 20000; k++) {
		char text[TEXT_DOUBLE_MAX];
		double v, back;

		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		memcpy(&v, &seed, sizeof(v));
		if (isfinite(v))
			assert_true(text_double((struct text){text, text_put_double(text, v)}, &back) && back == v);
	}
}

/* What was printed is read back as the bytes that it was, whatever they are. */
static void test_unvisible(void **state)
{
	static const char *const none[] = {"plain", "",      "\\q",         "\\",     "\\x4",
					   "\\xff", "\\u{}", "\\u{110000}", "\\u{1B", "\\u{1b}"};
	uint64_t seed = 7;
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		struct buf b = BUF_INIT(1024);
		assert_false(text_unvisible(text_of(none[i]), &b, NULL));
		buf_done(&b);
	}
	static const char some[] = "\\\xe2\x80\x8b\xff\x1b\xf0\x9f\xed\xa0\x7f\"ax4{}u"; /* and its zero */
	for (int round = 0; round < 20000; round++) {
		struct buf shown = BUF_INIT(1024), back = BUF_INIT(1024), json = BUF_INIT(1024), again = BUF_INIT(1024);
		char bytes[24];
		size_t n = round % sizeof(bytes);
		for (size_t i = 0; i < n; i++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
			bytes[i] = some[(seed >> 33) % sizeof(some)];
		}
		const struct text t = {bytes, n};
		assert_int_equal(text_visible(t, SIZE_MAX, &shown, NULL), 0);
		bool escaped = text_find_char(buf_text(&shown), '\\', 0) != SIZE_MAX;
		assert_int_equal(text_unvisible(buf_text(&shown), &back, NULL), escaped);
		if (escaped) {
			assert_int_equal(back.len, n);
			assert_memory_equal(back.ptr, bytes, n);
		}
		/* a JSON value that is clean already stays; what was made of raw bytes by hand becomes what it should have been */
		assert_int_equal(buf_json_string(&json, t, NULL), 0);
		assert_true(text_utf8_valid(buf_text(&json)));
		assert_int_equal(buf_json_value(&again, buf_text(&json), NULL), 0);
		assert_string_equal(again.ptr, json.ptr);
		buf_done(&shown);
		buf_done(&back);
		buf_done(&json);
		buf_done(&again);
	}
	struct buf b = BUF_INIT(1024);
	assert_int_equal(buf_json_value(&b, TEXT("[\"a\xff\xe2\x80\x8b\x7f\",\n{\"\xc3\xa9\":1}]"), NULL), 0);
	assert_string_equal(b.ptr, "[\"a\xef\xbf\xbd\\u200B\\u007F\", {\"\xc3\xa9\":1}]");
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_unvisible),
	    cmocka_unit_test(test_views),
	    cmocka_unit_test(test_hash),
	    cmocka_unit_test(test_integers),
	    cmocka_unit_test(test_doubles),
	    cmocka_unit_test(test_seconds),
	    cmocka_unit_test(test_visible),
	    cmocka_unit_test(test_visible_cut),
	    cmocka_unit_test(test_visible_all_bytes),
	    cmocka_unit_test(test_columns),
	    cmocka_unit_test(test_digits),
	    cmocka_unit_test(test_says_something),
	    cmocka_unit_test(test_is_blank),
	    cmocka_unit_test(test_fold),
	    cmocka_unit_test(test_find),
	    cmocka_unit_test(test_put_double),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
