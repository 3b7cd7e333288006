/* SPDX-License-Identifier: Apache-2.0 */
/* test_answer.c - what was answered, whole or in pieces, cut anywhere; plans that are wrong */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pagetrail/limits.h"
#include "pagetrail/live.h"

struct want {
	const char *bytes;
	bool stream;
	const char *text, *id, *finish;
	int64_t prompt, output;
	bool error, understood, ended;
};

static const struct want answers[] = {
    {"{\"id\":\"a\",\"choices\":[{\"text\":\"x "
     "y\",\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}",
     false, "x y", "a", "stop", 3, 2, false, true, true},
    {"{\"choices\":[{\"message\":{\"reasoning_content\":\"r\",\"content\":\"c\"}},{\"message\":{\"content\":\"d\"}}]}",
     false, "rcd", "", "", -1, -1, false, true, true},
    {"{\"choices\":[{\"message\":{\"content\":null}}]}", false, "", "", "", -1, -1, false, true, true},
    {"{\"choices\":[]}", false, "", "", "", -1, -1, false, false, true},
    {"{\"error\":{\"message\":\"no\"}}", false, "", "", "", -1, -1, true, true, true},
    {"{\"object\":\"error\",\"message\":\"no\"}", true, "", "", "", -1, -1, true, true, true},
    {"{\"choices\":[{\"text\":\"\",\"finish_reason\":\"abort\"}]}", false, "", "", "abort", -1, -1, true, true, true},
    {"{\"choices\":\"text\",\"id\":7,\"usage\":{\"prompt_tokens\":-1,\"completion_tokens\":\"9\"}}", false, "", "", "",
     -1, -1, false, false, true},
    {"fluent text", false, "", "", "", -1, -1, false, false, true},
    {"", false, "", "", "", -1, -1, false, false, true},
    {"", true, "", "", "", -1, -1, false, false, false},
    {"data: {\"id\":\"s\",\"choices\":[{\"text\":\"mar\"}]}\r\n\r\n: ping\n\nevent: "
     "x\ndata:{\"choices\":[{\"delta\":{\"content\":\"ker\"}}]}\n\n"
     "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
     true, "marker", "s", "", 1, 2, false, true, true},
    {"data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: {\"choices\":[{\"text\":\"b\"}]}", true, "a", "", "", -1, -1,
     false, true, false},
    {"data: {\"error\":{\"code\":400}}\n\ndata: [DONE]\n\n", true, "", "", "", -1, -1, true, true, true},
    {"data: nonsense\n\ndata: {\"choices\":[{\"text\":\"a\"}]}\n\n", true, "a", "", "", -1, -1, false, true, false},
};

static void test_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		const struct want *w = &answers[i];
		struct live_answer a;
		assert_int_equal(live_answer_read(&a, text_of(w->bytes), w->stream, NULL), 0);
		if (!text_is(buf_text(&a.text), w->text) || !text_is(buf_text(&a.id), w->id) ||
		    !text_is(buf_text(&a.finish), w->finish) || a.prompt != w->prompt || a.output != w->output ||
		    a.error != w->error || a.understood != w->understood || a.ended != w->ended)
			fail_msg("%zu: %s", i, w->bytes);
		live_answer_done(&a);
	}
}

/* Cut anywhere: nothing is read behind the end, no text appears that was not there, and only the whole one is over. */
static void test_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		const struct want *w = &answers[i];
		size_t len = strlen(w->bytes);
		for (size_t n = 0; n < len; n++) {
			struct live_answer a;
			char *exact = malloc(n ? n : 1);
			memcpy(exact, w->bytes, n);
			assert_int_equal(live_answer_read(&a, (struct text){exact, n}, w->stream, NULL), 0);
			assert_true(a.text.len <= strlen(w->text) &&
				    !memcmp(a.text.ptr ? a.text.ptr : "", w->text, a.text.len));
			assert_true(w->understood || !a.understood);
			live_answer_done(&a);
			free(exact);
		}
	}
}

static void test_plans(void **state)
{
	(void)state;
#define MARKER(id, m) "{\"probe\":\"" id "\",\"kind\":\"marker\",\"marker\":\"" m "\",\"stream\":true}"
#define OVER(id, n)   "{\"probe\":\"" id "\",\"kind\":\"over_limit\",\"tokens\":" n ",\"stream\":false}"
	static const char *const right = "{\"limit\":9,\"context\":null,\"probes\":[" MARKER(
	    "abcdefgh", "abcdef") "," OVER("abcdefgi", "8388608") "]}";
	static const char *const wrong[] = {
	    "",
	    "[]",
	    "{}",
	    "{\"probes\":{}}",
	    "{\"probes\":[]}",
	    "{\"probes\":[1]}",
	    "{\"probes\":[" MARKER("short", "abcdef") "]}",
	    "{\"probes\":[" MARKER("Abcdefgh", "abcdef") "]}",
	    "{\"probes\":[" MARKER("abcdefgh\\r\\nX: y", "abcdef") "]}",
	    "{\"probes\":[" MARKER("abcdefgh", "abc") "]}",
	    "{\"probes\":[" MARKER("abcdefgh", "abc def") "]}",
	    "{\"probes\":[" MARKER("abcdefgh", "abcdef") "," MARKER("abcdefgh", "abcdeg") "]}",
	    "{\"probes\":[" MARKER("abcdefgh", "abcdef") "," MARKER("abcdefgi", "abcdef") "]}",
	    "{\"probes\":[" OVER("abcdefgh", "5") "]}",
	    "{\"limit\":0,\"probes\":[" OVER("abcdefgh", "5") "]}",
	    "{\"limit\":9,\"probes\":[" OVER("abcdefgh", "0") "]}",
	    "{\"limit\":9,\"probes\":[" OVER("abcdefgh", "8388609") "]}",
	    "{\"limit\":9,\"probes\":[" OVER("abcdefgh", "\"5\"") "]}",
	    "{\"limit\":9,\"context\":-1,\"probes\":[" OVER("abcdefgh", "5") "]}",
	    "{\"probes\":[{\"probe\":\"abcdefgh\",\"kind\":\"marker\",\"marker\":\"abcdef\"}]}",
	    "{\"probes\":[{\"probe\":\"abcdefgh\",\"kind\":\"other\",\"stream\":true}]}"};
	struct live_plan p;
	assert_int_equal(live_plan_parse(&p, text_of(right), NULL), 0);
	assert_true(p.n == 2 && p.limit == 9 && p.context == 0 && p.list[0].stream && p.list[1].tokens == 8388608);
	live_plan_done(&p);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		if (live_plan_parse(&p, text_of(wrong[i]), NULL) != ERR_INPUT)
			fail_msg("%s", wrong[i]);
		live_plan_done(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_answers), cmocka_unit_test(test_cut),
					   cmocka_unit_test(test_plans)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
