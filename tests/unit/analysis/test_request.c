/* SPDX-License-Identifier: Apache-2.0 */
/* test_request.c - which request a name means */
#include "resolve_fixture.h"

static int setup_requests(void **state)
{
	if (fixture_setup(state))
		return -1;
	int64_t g = source("gw.jsonl", NULL, NULL), d = source("d.log", "d", NULL);
	put(g, EVENT_GATEWAY, 9,
	    "what=access gateway_id=gw-alpha-1 response_id=rid-alpha-1 trace_id=shared status=200 started_ns=1 "
	    "finished_ns=9");
	put(g, EVENT_GATEWAY, 60,
	    "what=access gateway_id=gw-alpha-2 response_id=beta trace_id=shared status=200 started_ns=50 "
	    "finished_ns=60");
	put(g, EVENT_GATEWAY, 99,
	    "what=access gateway_id=gw-alpha-2 response_id=resp_answer-nine status=200 started_ns=90 "
	    "finished_ns=99");
	put(d, EVENT_LEG, 8, "what=finished rid=rid-alpha-1 room=1234567 role=decode input_tokens=4");
	put(g, EVENT_GATEWAY, 200, "what=access gateway_id=1234567 status=200 started_ns=190 finished_ns=200");
	resolve();
	return 0;
}

static int64_t find(const char *name, struct err *err)
{
	int64_t id = 0;
	*err = (struct err){0};
	int res = request_find(fixture, text_of(name), &id, err);
	return res ? res : id;
}

static void test_find(void **state)
{
	(void)state;
	struct err err;
	assert_int_equal(find("gw-alpha-1", &err), 1);
	assert_int_equal(find("gw-alpha-2#1", &err), 2); /* the first of two that share an id */
	assert_int_equal(find("gw-alpha-2#2", &err), 3);
	assert_int_equal(find("rid-alpha-1", &err), 1);
	assert_int_equal(find("1234567#1", &err), 4);
	assert_int_equal(find("beta", &err), 2);
	assert_int_equal(find("chatcmpl-rid-alpha-1", &err), 1); /* as another log writes it */
	assert_int_equal(find("answer-nine", &err), 3);
	assert_int_equal(find("cmpl-answer-nine", &err), 3);
	assert_int_equal(find("cmpl-answer-nine-0", &err), 3); /* one of its prompts */
	assert_int_equal(find("chatcmpl-answer-", &err), 3);
	assert_int_equal(find("rid-al", &err), 1);
}

static void test_not_found(void **state)
{
	(void)state;
	struct err err;
	assert_int_equal(find("shared", &err), ERR_INPUT); /* two requests of one trace */
	assert_non_null(strstr(err.what, "gw-alpha-1"));
	assert_non_null(strstr(err.what, "gw-alpha-2"));
	assert_int_equal(find("gw-alpha-2", &err), ERR_INPUT); /* as a name, not only as a name's beginning */
	assert_string_equal(err.what, "'gw-alpha-2' is not unique: 2 requests: gw-alpha-2#1, gw-alpha-2#2");
	assert_non_null(strstr(err.hint, "'gw-alpha-2#1'"));
	assert_int_equal(find("gw-alpha-1#1", &err), 1);
	assert_int_equal(find("1234567", &err), ERR_INPUT); /* the room of one, which another took for its id */
	assert_string_equal(err.what, "'1234567' is not unique: 2 requests: gw-alpha-1, 1234567#1");
	assert_int_equal(find("gw-alpha", &err), ERR_INPUT);
	assert_non_null(strstr(err.what, "not unique"));
	assert_int_equal(find("rid-a", &err), ERR_INPUT); /* five characters are too few */
	assert_non_null(strstr(err.what, "no request"));
	assert_int_equal(find("", &err), ERR_INPUT);
	assert_int_equal(find("\xff\xff\xff\xff\xff\xff\xff", &err), ERR_INPUT);
	assert_int_equal(find("rid_alpha%", &err), ERR_INPUT);
	char longer[2000];
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	assert_int_equal(find(longer, &err), ERR_INPUT);
	assert_int_equal(find("bad\x1b[2Jname", &err), ERR_INPUT);
	assert_non_null(strstr(err.what, "'bad\x1b[2Jname'")); /* as it is: made harmless once, where it is printed */
	/* as tables print it */
	assert_int_equal(find("bad\\u{1B}[2Jname", &err), ERR_INPUT);
	assert_non_null(strstr(err.what, "no request"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_find, setup_requests, fixture_teardown),
	    cmocka_unit_test_setup_teardown(test_not_found, setup_requests, fixture_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
