/* SPDX-License-Identifier: Apache-2.0 */
/* test_map.c - times by a map, its choice among other formats, its way through a source's row; the rest is tests/cli/map.py */
#include "../../../src/ingest/map.h"
#include "pagetrail/map.h"
#include "toy.h"

static void test_times(void **state)
{
	static const struct {
		enum time_format format;
		int64_t unit;
		const char *pattern, *text, *want; /* want: "" none; without Z: no zone */
	} cases[] = {
	    {TIME_ANY, 0, NULL, "2026-09-14T03:12:44.5Z", "2026-09-14T03:12:44.500Z"},
	    {TIME_ANY, 0, NULL, "1789355564310", "2026-09-14T03:12:44.310Z"},
	    {TIME_ANY, 0, NULL, "14/Sep/2026:03:12:44 +0200", "2026-09-14T01:12:44Z"},
	    {TIME_ANY, 0, NULL, "12", ""},
	    {TIME_ISO, 0, NULL, "1789355564310", ""},
	    {TIME_ISO, 0, NULL, "2026-09-14 03:12:44 and more", ""},
	    {TIME_NUMBER, NS_PER_S, NULL, "1789355564.310000001", "2026-09-14T03:12:44.310000001Z"},
	    {TIME_NUMBER, 1000000, NULL, "1789355564310.25", "2026-09-14T03:12:44.310250Z"},
	    {TIME_NUMBER, 1, NULL, "1789355564310000000.9", "2026-09-14T03:12:44.310Z"},
	    {TIME_NUMBER, NS_PER_S, NULL, "99999999999", ""},
	    {TIME_NUMBER, 1000, NULL, "-1", ""},
	    {TIME_PATTERN, 0, "%Y/%m/%d %H:%M:%S.%f", "2026/09/14  03:12:44.25", "2026-09-14T03:12:44.250"},
	    {TIME_PATTERN, 0, "%d-%b-%Y %H.%M.%S %z", "14-Sep-2026 03.12.44 -0130", "2026-09-14T04:42:44Z"},
	    {TIME_PATTERN, 0, "%H:%M:%S %d/%m/%Y %%", "03:12:44 4/9/2026 %", "2026-09-04T03:12:44"},
	    {TIME_PATTERN, 0, "%Y-%m-%d %H:%M:%S", "2026-13-14 03:12:44", ""},
	    {TIME_PATTERN, 0, "%Y-%m-%d %H:%M:%S", "2026-09-14 03:12:44x", ""},
	    {TIME_PATTERN, 0, "%Y-%m-%d %H:%M:%S", "2026-09-14", ""},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct map_time t = {.format = cases[i].format, .unit_ns = cases[i].unit, .pattern = cases[i].pattern};
		struct stamp s;
		char got[48] = "";
		if (map_stamp(&t, text_of(cases[i].text), &s)) {
			stamp_format(s.ns, got, sizeof(got));
			if (s.quality == STAMP_NAIVE)
				got[strlen(got) - 1] = '\0';
		}
		if (strcmp(got, cases[i].want) != 0)
			fail_msg("%s: %s, not %s", cases[i].text, got, cases[i].want);
	}
}

static const char toy_map[] =
    "{\"pagetrail_map\":1,\"format\":\"mine\",\"reads\":\"regex\",\"records\":[{\"regex\":"
    "\"T(?<t>\\\\d+) (?<id>.*)\",\"fields\":{\"gateway_id\":\"id\"}}],\"samples\":[{\"record\":"
    "\"T1 a\",\"gives\":{\"what\":\"access\",\"gateway_id\":\"a\"}}]}";

/* Where a format only recognises what a map describes, the map has it; where it knows less than half, it has not. */
static void test_choice(void **state)
{
	const struct parser *list[N_TOYS + 1];
	struct map *m;
	struct detection d;
	struct err err = {0};
	(void)state;
	assert_int_equal(map_read(&m, text_of(toy_map), NULL, NULL, &err), 0);
	assert_int_equal(map_prove(m, NULL, NULL, &err), 0);
	memcpy(list, toys, sizeof(toys[0]) * N_TOYS);
	list[N_TOYS] = map_parser(m);
	assert_int_equal(detect(list, N_TOYS + 1, TEXT("T1 a\nT2 b\n"), true, &d, &err), 0);
	assert_ptr_equal(d.parser, map_parser(m));
	assert_ptr_equal(d.runner_up, &toy);
	assert_int_equal(detect(list, N_TOYS + 1, TEXT("T1 a\nR\nR\nR\n"), true, &d, &err), 0);
	assert_ptr_equal(d.parser, &rival);
	assert_int_equal(detect(list, N_TOYS + 1, TEXT("T1a\nT2b\n"), true, &d, &err), 0);
	assert_ptr_equal(d.parser, &toy);
	assert_ptr_equal(parser_find(list, N_TOYS + 1, TEXT("mine")), map_parser(m));
	assert_ptr_equal(parser_find(list, N_TOYS + 1, text_of(map_parser(m)->name)), map_parser(m));
	assert_null(parser_find(list, N_TOYS + 1, TEXT("min")));
	assert_null(parser_find(list, N_TOYS + 1, TEXT("mine@0")));
	assert_null(map_of(&toy));
	map_free(m);
}

static void test_basis(void **state)
{
	struct buf b = BUF_INIT(1 << 20);
	struct map *m;
	struct err err = {0};
	(void)state;
	assert_int_equal(buf_add_text(&b, TEXT("{\"by\":\"x\",\"map\":"), NULL), 0);
	assert_int_equal(buf_json_string(&b, text_of(toy_map), NULL), 0);
	assert_int_equal(buf_add_char(&b, '}', NULL), 0);
	assert_int_equal(map_from_basis(&m, buf_text(&b), &err), 0);
	assert_true(text_is(map_text(m), toy_map));
	map_free(m);
	assert_int_equal(map_from_basis(&m, TEXT("{\"by\":\"x\"}"), &err), 0);
	assert_null(m);
	assert_int_equal(map_from_basis(&m, TEXT("{\"map\":\"{}\"}"), &err), ERR_INPUT);
	assert_null(m);
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_times),
	    cmocka_unit_test(test_choice),
	    cmocka_unit_test(test_basis),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
