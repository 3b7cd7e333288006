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
	    {"{\"markers\":[{\"marker\":\"abcdef\",\"planted_request\":\"\"}]}", "markers[0].planted_request"},
	    {"{\"markers\":[{\"marker\":\"abcdef\",\"planted_tenant\":7}]}", "markers[0].planted_tenant"},
	    {"{\"markers\":[{\"marker\":\"abcdef\",\"planted_at\":\"2026-09-09 14:00\"}]}", "markers[0].planted_at"},
	    {"{\"markers\":[{\"marker\":\"abcdef\"},{\"marker\":\"other1\"},{\"marker\":\"abcdef\"}]}",
	     "markers[2].marker"},
	    {"{\"markers\":[{\"marker\":\"abcdef\",\"planted_request\":\"a\",\"planted_request\":\"b\"}]}",
	     "markers[0].planted_request: one member"},
	    {"{\"markers\":[{\"marker\":\"abcdef\"}],\"markers\":[{\"marker\":\"ghijkl\"}]}",
	     "\"markers\" is given twice"},
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
struct spelled {
	char all[2048];
	unsigned n;
};

static int on_spelling(void *ctx, enum spelling how, struct text spelled)
{
	struct spelled *s = ctx;
	size_t at = strlen(s->all);
	s->n++;
	snprintf(s->all + at, sizeof(s->all) - at, "%s:%.*s|", spelling_names[how], TEXT_ARG(spelled));
	return 0;
}

static void test_spellings(void **state)
{
	(void)state;
	struct spelled s = {0};
	assert_int_equal(spellings_of(TEXT("mark-00112233"), on_spelling, &s, NULL), 0);
	/* base64("mark-00112233") = bWFyay0wMDExMjIzMw==, after one byte …, after two */
	assert_string_equal(s.all, "plain:mark-00112233|hex:6d61726b2d3030313132323333|hex:6D61726B2D3030313132323333|"
				   "base64:bWFyay0wMDExMjIzM|base64:1hcmstMDAxMTIyMz|base64:tYXJrLTAwMTEyMjMz|");
	s = (struct spelled){0};
	assert_int_equal(spellings_of(TEXT("a \"q\"/"), on_spelling, &s, NULL), 0);
	assert_non_null(strstr(s.all, "json:a \\\"q\\\"/|"));
	assert_non_null(strstr(s.all, "percent:a%20%22q%22%2F|"));
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
		s = (struct spelled){0};
		assert_int_equal(spellings_of(TEXT("mark-00112233?>"), on_spelling, &s, NULL), 0);
		bool found = false;
		for (char *p = strtok(s.all, "|"); p; p = strtok(NULL, "|"))
			found |= !strncmp(p, "base64:", 7) && strstr(coded, p + 7);
		if (!found)
			fail_msg("not in %s", coded);
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
	for (int round = 0; round < 200; round++) {
		char bytes[2000];
		struct text list[40];
		char store[40][24];
		size_t len = (size_t)(rand() % (int)sizeof(bytes)), n = 1 + (size_t)(rand() % 40);
		for (size_t i = 0; i < len; i++)
			bytes[i] = (char)("ab\0\xff"[rand() % 4]);
		for (size_t i = 0; i < n; i++) {
			size_t k = 1 + (size_t)(rand() % 20);
			for (size_t c = 0; c < k; c++)
				store[i][c] = (char)("ab\0\xff"[rand() % 4]);
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
	    cmocka_unit_test(test_file),   cmocka_unit_test(test_count), cmocka_unit_test(test_spellings),
	    cmocka_unit_test(test_search), cmocka_unit_test(test_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
