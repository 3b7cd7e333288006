/* SPDX-License-Identifier: Apache-2.0 */
/* test_markers.c - the file of markers, their spellings, and the search for all of them at once */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pagetrail/buf.h"
#include "pagetrail/err.h"
#include "pagetrail/limits.h"
#include "pagetrail/literals.h"
#include "pagetrail/markers.h"
#include "pagetrail/spelling.h"
#include "pagetrail/stamp.h"

/* ---- the file ---- */
static char warned[512];

static void on_warn(void *ctx, struct text what)
{
	(void)ctx;
	snprintf(warned, sizeof(warned), "%.*s", TEXT_ARG(what));
}

static int read_it(const char *json, struct markers *ret, struct arena *a, struct err *err)
{
	struct json *j = json_new();
	struct json_value doc;
	assert_int_equal(json_parse(j, text_of(json), false, &doc, NULL, NULL), 0);
	int rc = markers_read(ret, doc, a, on_warn, NULL, err);
	json_free(j);
	return rc;
}

static void test_file(void **state)
{
	(void)state;
	struct markers m;
	struct arena a;
	struct err err = {0};
	arena_init(&a, MIB);
	*warned = 0;
	assert_int_equal(read_it("{\"markers\":[{\"marker\":\"abcdef\",\"planted_request\":\"r1\",\"planted_at\":"
				 "\"2026-09-09T14:00:00Z\"},"
				 "{\"marker\":\"ghijkl\",\"planted_tenant\":\"t\",\"colour\":1}]}",
				 &m, &a, &err),
			 0);
	assert_int_equal(m.n, 2);
	assert_true(text_is(m.list[0].text, "abcdef") && text_is(m.list[0].planted_request, "r1"));
	assert_null(m.list[0].planted_tenant.ptr);
	assert_int_equal(m.list[0].planted_ns / 1000000000, 1788962400);
	assert_int_equal(m.list[1].planted_ns, TIME_UNKNOWN);
	assert_non_null(strstr(warned, "'colour' of markers[1]"));
	static const struct {
		const char *json, *says;
	} wrong[] = {
	    {"[]", "the top"},
	    {"{\"markers\":{}}", "the top"},
	    {"{\"markers\":[]}", "0 markers"},
	    {"{\"markers\":[1]}", "markers[0]: an object"},
	    {"{\"markers\":[{\"marker\":\"abcdef\"},{}]}", "markers[1].marker"},
	    {"{\"markers\":[{\"marker\":\"abcde\"}]}", "markers[0].marker"}, /* one byte below the limit */
	    {"{\"markers\":[{\"marker\":\"      \"}]}", "markers[0].marker: a text that is more than blanks"},
	    {"{\"markers\":[{\"marker\":\"abcdef\"},{\"marker\":\"\\n\\t\\r\\u00a0\\u3000\\u200b\"}]}",
	     "markers[1].marker: a text that is more than blanks"},
	    {"{\"markers\":[{\"marker\":\"abcdef\",\"planted_request\":\"\"}]}", "markers[0].planted_request"},
	    {"{\"markers\":[{\"marker\":\"abcdef\",\"planted_tenant\":7}]}", "markers[0].planted_tenant"},
	    {"{\"markers\":[{\"marker\":\"abcdef\",\"planted_at\":\"2026-09-09 14:00\"}]}", "markers[0].planted_at"},
	    {"{\"markers\":[{\"marker\":\"abcdef\"},{\"marker\":\"other1\"},{\"marker\":\"abcdef\"}]}",
	     "markers[2].marker"},
	    {"{\"markers\":[{\"marker\":\"abcdef\",\"planted_request\":\"a\",\"planted_request\":\"b\"}]}",
	     "markers[0].planted_request: one member"},
	    {"{\"markers\":[{\"marker\":\"abcdef\"}],\"markers\":[{\"marker\":\"ghijkl\"}]}", "wrong at markers:"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		err = (struct err){0};
		assert_int_equal(read_it(wrong[i].json, &m, &a, &err), ERR_INPUT);
		if (!strstr(err.what, wrong[i].says))
			fail_msg("%s: '%s' does not say '%s'", wrong[i].json, err.what, wrong[i].says);
	}
	/* lengths at the limit */
	for (size_t n = MARKER_MAX_BYTES; n <= MARKER_MAX_BYTES + 1; n++) {
		char json[400], text[300];
		memset(text, 'm', n);
		text[n] = 0;
		snprintf(json, sizeof(json), "{\"markers\":[{\"marker\":\"%s\"}]}", text);
		assert_int_equal(read_it(json, &m, &a, &err), n == MARKER_MAX_BYTES ? 0 : ERR_INPUT);
	}
	arena_done(&a);
}

static void test_count(void **state)
{
	(void)state;
	for (size_t n = MARKERS_MAX; n <= MARKERS_MAX + 1; n++) {
		CLEANUP(buf_done) struct buf b = BUF_INIT(4 * MIB);
		struct markers m;
		struct arena a;
		arena_init(&a, 64 * MIB);
		assert_int_equal(buf_add_text(&b, TEXT("{\"markers\":["), NULL), 0);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(buf_printf(&b, NULL, "%s{\"marker\":\"m%06zu\"}", i ? "," : "", i), 0);
		assert_int_equal(buf_add_text(&b, TEXT("]}"), NULL), 0);
		assert_int_equal(read_it(b.ptr, &m, &a, NULL), n == MARKERS_MAX ? 0 : ERR_INPUT);
		arena_done(&a);
	}
}

/* ---- spellings ---- */
struct gathered {
	char all[8192];
	unsigned n;
};

static int on_spelling(void *ctx, const struct spelled *spelled)
{
	struct gathered *s = ctx;
	size_t at = strlen(s->all);
	s->n++;
	snprintf(s->all + at, sizeof(s->all) - at, "%s:%.*s|", spelling_names[spelled->how], TEXT_ARG(spelled->text));
	return 0;
}

static void test_spellings(void **state)
{
	(void)state;
	struct gathered s = {0};
	assert_int_equal(spellings_of(TEXT("mark-00112233"), on_spelling, &s, NULL), 0);
	/* base64("mark-00112233") = bWFyay0wMDExMjIzMw==, after one byte …, after two */
	assert_string_equal(
	    s.all, "plain:mark-00112233|"
		   "json:\\u006d\\u0061\\u0072\\u006b\\u002d\\u0030\\u0030\\u0031\\u0031\\u0032\\u0032\\u0033\\u0033|"
		   "json:\\u006D\\u0061\\u0072\\u006B\\u002D\\u0030\\u0030\\u0031\\u0031\\u0032\\u0032\\u0033\\u0033|"
		   "json:"
		   "\\\\u006d\\\\u0061\\\\u0072\\\\u006b\\\\u002d\\\\u0030\\\\u0030\\\\u0031\\\\u0031\\\\u0032\\\\u0032"
		   "\\\\u0033\\\\u0033|"
		   "json:"
		   "\\\\u006D\\\\u0061\\\\u0072\\\\u006B\\\\u002D\\\\u0030\\\\u0030\\\\u0031\\\\u0031\\\\u0032\\\\u0032"
		   "\\\\u0033\\\\u0033|"
		   "hex:6d61726b2d3030313132323333|hex:6D61726B2D3030313132323333|"
		   "base64:bWFyay0wMDExMjIzM|base64:1hcmstMDAxMTIyMz|base64:tYXJrLTAwMTEyMjMz|");
	/* what different writers make of it */
	static const struct {
		const char *text, *spelled[12];
	} written[] = {
	    {"a \"q\"/",
	     {"json:a \\\"q\\\"/|", "json:a \\\"q\\\"\\/|", "json:a \\\\\\\"q\\\\\\\"/|",
	      "json:a \\\\\\\"q\\\\\\\"\\\\\\/|", "json:a \\u0022q\\u0022/|", "percent:a%20%22q%22%2F|",
	      "percent:a%20%22q%22%2f|", "percent:a+%22q%22%2F|", "percent:a%20%22q%22/|"}},
	    {"sch\xc3\xb6n<1>",
	     {"json:sch\\u00f6n<1>|", "json:sch\\u00F6n<1>|", "json:sch\xc3\xb6n\\u003c1\\u003e|",
	      "json:sch\\u00F6n\\u003C1\\u003E|", "json:sch\\\\u00f6n<1>|", "percent:sch%C3%B6n%3C1%3E|",
	      "percent:sch%c3%b6n%3c1%3e|"}},
	    {"\xf0\x9f\x98\x80 smile",
	     {"json:\\ud83d\\ude00 smile|", "json:\\uD83D\\uDE00 smile|", "percent:%F0%9F%98%80+smile|"}},
	    {"ab\ncd\x01", {"json:ab\\ncd\\u0001|", "json:ab\\\\ncd\\\\u0001|"}},
	    {"bad\xff\xc3", {"plain:bad\xff\xc3|", "percent:bad%FF%C3|"}},
	};
	for (size_t i = 0; i < ARRAY_SIZE(written); i++) {
		s = (struct gathered){0};
		assert_int_equal(spellings_of(text_of(written[i].text), on_spelling, &s, NULL), 0);
		assert_true(s.n <= SPELLINGS_MAX);
		for (size_t k = 0; k < ARRAY_SIZE(written[i].spelled) && written[i].spelled[k]; k++)
			if (!strstr(s.all, written[i].spelled[k]))
				fail_msg("'%s' is not in %s", written[i].spelled[k], s.all);
	}
	/* everything that can be escaped at once */
	s = (struct gathered){0};
	assert_int_equal(
	    spellings_of(TEXT("\xc3\xa9 /\"'<>&=+`\\\x01!*(),#~\xf0\x9f\x98\x80\xff?>"), on_spelling, &s, NULL), 0);
	assert_true(s.n > 20);
	/* in Base64 wherever it stands in a longer text */
	static const char text[] = "mark-00112233?>";
	char plain[64], coded[128];
	for (int before = 0; before < 9; before++) {
		snprintf(plain, sizeof(plain), "%.*s%s and so on", before, "xyzxyzxyz", text);
		static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
		size_t n = 0, len = strlen(plain) / 3 * 3;
		for (size_t i = 0; i < len; i += 3) {
			unsigned v = (unsigned)(unsigned char)plain[i] << 16 |
				     (unsigned)(unsigned char)plain[i + 1] << 8 | (unsigned char)plain[i + 2];
			for (int k = 18; k >= 0; k -= 6)
				coded[n++] = digits[v >> k & 63];
		}
		coded[n] = 0;
		s = (struct gathered){0};
		assert_int_equal(spellings_of(TEXT("mark-00112233?>"), on_spelling, &s, NULL), 0);
		bool found = false;
		for (char *p = strtok(s.all, "|"); p; p = strtok(NULL, "|"))
			found |= !strncmp(p, "base64:", 7) && strstr(coded, p + 7);
		if (!found)
			fail_msg("not in %s", coded);
	}
}

/* ---- short ones in Base64 ---- */
static void base64_of(const char *plain, char *coded)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = 0, len = strlen(plain) / 3 * 3;
	for (size_t i = 0; i < len; i += 3) {
		unsigned v = (unsigned)(unsigned char)plain[i] << 16 | (unsigned)(unsigned char)plain[i + 1] << 8 |
			     (unsigned char)plain[i + 2];
		for (int k = 18; k >= 0; k -= 6)
			coded[n++] = digits[v >> k & 63];
	}
	coded[n] = 0;
}

struct seek {
	struct text coded;
	unsigned found;
};

static int on_fit(void *ctx, const struct spelled *p)
{
	struct seek *s = ctx;
	for (size_t at = 0; p->how == SPELLED_BASE64 && at + p->text.len <= s->coded.len; at++)
		s->found += text_eq(text_sub(s->coded, at, p->text.len), p->text) && spelling_fits(p, s->coded, at);
	return 0;
}

/* Six bytes are found at any place, and what differs from them in one bit is not. */
static void test_short_base64(void **state)
{
	(void)state;
	for (int before = 0; before < 6; before++) {
		for (int bit = -1; bit < 48; bit++) {
			char marker[] = "qz7Kx9", plain[64], coded[128];
			if (bit >= 0)
				marker[bit / 8] = (char)(marker[bit / 8] ^ 1 << bit % 8);
			if (bit >= 0 && !marker[bit / 8])
				continue;
			snprintf(plain, sizeof(plain), "%.*s%s and so on", before, "xyzxyzxyz", marker);
			base64_of(plain, coded);
			struct seek s = {.coded = text_of(coded)};
			assert_int_equal(spellings_of(TEXT("qz7Kx9"), on_fit, &s, NULL), 0);
			if (s.found != (bit < 0))
				fail_msg("%d before, bit %d: found %u in %s", before, bit, s.found, coded);
		}
	}
}

/* ---- searching ---- */
struct hits {
	size_t which[4096], end[4096];
	size_t n;
};

static int on_hit(void *ctx, size_t which, size_t end)
{
	struct hits *h = ctx;
	if (h->n < ARRAY_SIZE(h->which)) {
		h->which[h->n] = which;
		h->end[h->n] = end;
	}
	h->n++;
	return 0;
}

static int on_stop(void *ctx, size_t which, size_t end)
{
	(void)ctx;
	(void)which;
	(void)end;
	return ERR_INTERRUPTED;
}

/* The same places as by looking at every offset. */
static void test_search(void **state)
{
	(void)state;
	unsigned seed = (unsigned)(getenv("PAGETRAIL_SEED") ? atoi(getenv("PAGETRAIL_SEED")) : 20260909);
	print_message("seed %u\n", seed);
	srand(seed);
	for (int round = 0; round < 400; round++) {
		char bytes[2000];
		struct text list[40];
		char store[40][40];
		size_t len = (size_t)(rand() % (int)sizeof(bytes)), n = 1 + (size_t)(rand() % 40);
		for (size_t i = 0; i < len; i++)
			bytes[i] = (char)("ab\0\xff"[rand() % 4]);
		for (size_t i = 0; i < n; i++) {
			size_t k = 1 + (size_t)(rand() % (int)sizeof(store[i]));
			size_t from = len >= k ? (size_t)(rand() % (int)(len - k + 1)) : 0;
			bool there = rand() % 2 && len >= k; /* long ones are not there by chance */
			for (size_t c = 0; c < k; c++)
				store[i][c] = there ? bytes[from + c] : (char)("ab\0\xff"[rand() % 4]);
			list[i] = (struct text){store[i], k};
		}
		struct literals *l = NULL;
		struct literals_thread *t = NULL;
		static struct hits h;
		h.n = 0;
		assert_int_equal(literals_compile(&l, list, n, NULL), 0);
		assert_int_equal(literals_thread_new(&t, l, NULL), 0);
		assert_int_equal(literals_search(l, t, (struct text){bytes, len}, on_hit, &h, NULL), 0);
		size_t want = 0;
		for (size_t i = 0; i < n; i++)
			for (size_t at = 0; at + list[i].len <= len; at++)
				want += !memcmp(bytes + at, list[i].ptr, list[i].len);
		assert_int_equal(h.n, want);
		for (size_t i = 0; i < MIN(h.n, ARRAY_SIZE(h.which)); i++)
			assert_memory_equal(bytes + h.end[i] - list[h.which[i]].len, list[h.which[i]].ptr,
					    list[h.which[i]].len);
		if (h.n)
			assert_int_equal(literals_search(l, t, (struct text){bytes, len}, on_stop, NULL, NULL),
					 ERR_INTERRUPTED);
		literals_thread_free(t);
		literals_free(l);
	}
}

/* Very many strings that share nearly all of their bytes, at the beginning, the end or both: each is found where it stands, and no other. */
static void test_alike(void **state)
{
	(void)state;
	enum { N = 3000 };
	static char store[N][64], bytes[N * 80];
	static struct text list[N];
	static struct hits h;
	for (int way = 0; way < 4; way++) {
		size_t len = 0;
		for (int i = 0; i < N; i++) {
			if (way == 3)
				snprintf(store[i], sizeof(store[i]), "\\u0030\\u003%d\\u003%d\\u003%d\\u003%d",
					 i / 1000, i / 100 % 10, i / 10 % 10, i % 10);
			else
				snprintf(store[i], sizeof(store[i]),
					 way == 0   ? "a-long-beginning-of-all-%04d"
					 : way == 1 ? "%04d-a-long-end-of-all"
						    : "in-the-middle-%04d-of-all-of-them",
					 i);
			list[i] = text_of(store[i]);
			if (i % 7 == 0)
				len += (size_t)snprintf(bytes + len, sizeof(bytes) - len, "%s ", store[i]);
		}
		struct literals *l = NULL;
		struct literals_thread *t = NULL;
		h.n = 0;
		assert_int_equal(literals_compile(&l, list, N, NULL), 0);
		assert_int_equal(literals_thread_new(&t, l, NULL), 0);
		assert_int_equal(literals_search(l, t, (struct text){bytes, len}, on_hit, &h, NULL), 0);
		assert_int_equal(h.n, (N + 6) / 7);
		for (size_t i = 0; i < MIN(h.n, ARRAY_SIZE(h.which)); i++)
			assert_int_equal(h.which[i] % 7, 0);
		literals_thread_free(t);
		literals_free(l);
	}
}

static void test_none(void **state)
{
	(void)state;
	struct literals *l = NULL;
	struct literals_thread *t = NULL;
	struct hits h = {.n = 0};
	assert_int_equal(literals_compile(&l, NULL, 0, NULL), 0);
	assert_int_equal(literals_thread_new(&t, l, NULL), 0);
	assert_int_equal(literals_search(l, t, TEXT("anything"), on_hit, &h, NULL), 0);
	assert_int_equal(h.n, 0);
	literals_thread_free(t);
	literals_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_file),         cmocka_unit_test(test_count),  cmocka_unit_test(test_spellings),
	    cmocka_unit_test(test_short_base64), cmocka_unit_test(test_search), cmocka_unit_test(test_alike),
	    cmocka_unit_test(test_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
