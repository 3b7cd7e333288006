/* SPDX-License-Identifier: Apache-2.0 */
/* test_live.c - keys are taken out of what comes back, and only they; lists of nodes; addresses */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../../src/live/put.h"
#include "pagetrail/limits.h"

static void write_file(char path[32], const char *content, mode_t mode)
{
	strcpy(path, "/tmp/pagetrail-live-XXXXXX");
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), strlen(content));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static int read_headers(struct live_headers *h, const char *content, mode_t mode, struct err *err)
{
	char path[32];
	write_file(path, content, mode);
	int rc = live_headers_read(h, path, err);
	unlink(path);
	return rc;
}

static void headers_are_private(void **state)
{
	(void)state;
	static const char *const wrong[] = {"",
					    "# none\n",
					    "no colon\n",
					    ": v\n",
					    "Name:\n",
					    "Na me: v\n",
					    "Host: a\n",
					    "content-LENGTH: 1\n",
					    "A: b\x01"
					    "c\n"};
	struct live_headers h;
	struct err err = {0};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		assert_int_equal(read_headers(&h, wrong[i], 0600, &err), ERR_INPUT);
		live_headers_done(&h);
	}
	for (mode_t mode = 0; mode < 0100; mode++) {
		int rc = read_headers(&h, "A: value-of-it\n", 0600 | mode, &err);
		assert_int_equal(rc, mode ? ERR_INPUT : 0);
		live_headers_done(&h);
	}
	assert_int_equal(read_headers(&h, "# c\n\nAuthorization:  Bearer abcdefgh \r\nX-Short: abc\n", 0600, &err), 0);
	assert_int_equal(h.n, 2);
	assert_true(text_is(h.lines[0], "Authorization: Bearer abcdefgh"));
	char back[] = "you sent Bearer abcdefgh, and abcdefgh, abc";
	assert_int_equal(live_mask(&h, back, strlen(back)), 2);
	assert_string_equal(back, "you sent xxxxxxxxxxxxxxx, and xxxxxxxx, abc");
	live_headers_done(&h);
	assert_int_equal(live_mask(NULL, back, strlen(back)), 0);
}

static void keys_in_json_are_masked(void **state)
{
	(void)state;
	static const struct {
		const char *in, *out;
		size_t n;
	} cases[] = {
	    {"{\"api_key\":\"abc\",\"b\":1}", "{\"api_key\":\"xxx\",\"b\":1}", 1},
	    {"{\"api_key\" :\n \"a\\\"c\"}", "{\"api_key\" :\n \"xxxx\"}", 1},
	    {"{\"api_key\":null,\"x_api_key\":\"abc\"}", "{\"api_key\":null,\"x_api_key\":\"xxx\"}", 1},
	    {"{\"a\":\"say \\\"api_key\\\":\\\"abc\\\"\"}", "{\"a\":\"say \\\"api_key\\\":\\\"abc\\\"\"}", 0},
	    {"[{\"admin_api_key\":\"q\"},{\"api_key\":\"r\"}]", "[{\"admin_api_key\":\"x\"},{\"api_key\":\"x\"}]", 2},
	    {"{\"api_key\":\"", "{\"api_key\":\"", 0},
	    {"{\"api_key\":\"abc", "{\"api_key\":\"xxx", 1},
	    {"{\"api_key\":\"abc\\", "{\"api_key\":\"xxxx", 1},
	    {"{\"api_key\"", "{\"api_key\"", 0},
	    {"\"", "\"", 0},
	    {"", "", 0}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t n = strlen(cases[i].in);
		char *exact = malloc(n ? n : 1); /* so that a sanitizer sees a byte too many */
		memcpy(exact, cases[i].in, n);
		assert_int_equal(live_mask_members(exact, n), cases[i].n);
		assert_memory_equal(exact, cases[i].out, n);
		free(exact);
	}
}

static void bytes_stay_exact(void **state)
{
	(void)state;
	static const struct {
		struct text in;
		const char *out;
	} cases[] = {{TEXT("a\"b\n"), "\"n\":\"a\\\"b\\u000A\""},
		     {TEXT(""), "\"n\":\"\""},
		     {TEXT("\x1b"), "\"n_base64\":\"Gw==\""},
		     {TEXT("\xff\xfe"), "\"n_base64\":\"//4=\""},
		     {TEXT("\0ab"), "\"n_base64\":\"AGFi\""},
		     {TEXT("\x01"
			   "abcd"),
		      "\"n_base64\":\"AWFiY2Q=\""}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf b = BUF_INIT(1 * MIB);
		assert_int_equal(live_put_bytes(&b, "n", cases[i].in, NULL), 0);
		assert_string_equal(b.ptr, cases[i].out);
		buf_done(&b);
	}
}

static void addresses(void **state)
{
	(void)state;
	static const char *const wrong[] = {"",
					    "a",
					    "127.0.0.1:1",
					    "ftp://a",
					    "file:///a",
					    "http://",
					    "http://u@a",
					    "http://u:p@a",
					    "http://a?b",
					    "http://a#b",
					    "http://a b",
					    "http://a/\x1b",
					    "http://a:99999",
					    "HTTP:/a"};
	struct text t;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		if (live_url_check(wrong[i], &t, NULL) != ERR_USAGE)
			fail_msg("%s", wrong[i]);
	assert_int_equal(live_url_check("http://a:1/b//", &t, NULL), 0);
	assert_true(text_is(t, "http://a:1/b"));
	assert_int_equal(live_url_check("https://[::1]:2", &t, NULL), 0);
}

static int parse(struct live_nodes *n, const char *content)
{
	struct err err = {0};
	const struct live_pods pods = {0};
	live_nodes_begin(n);
	return live_nodes_parse(n, text_of(content), &pods, &err);
}

static void lists(void **state)
{
	(void)state;
	static const char *const wrong[] = {"",
					    "# a\n",
					    "a b c\n",
					    "a=http://x\na http://y\n",
					    "{\"kind\":\"List\"}",
					    "{\"items\":",
					    "{\"kind\":\"List\",\"items\":[]}",
					    "{\"kind\":\"Pod\",\"status\":{\"podIP\":\"10.0.0.1\"}}",
					    "!x http://a\n"};
	struct live_nodes n;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		assert_true(parse(&n, wrong[i]) < 0);
		live_nodes_done(&n);
	}
	assert_int_equal(parse(&n, "http://10.0.0.1:30000\r\n a-0  https://h/p/ \nb=http://[::1]:8\n"), 0);
	assert_int_equal(n.n, 3);
	assert_true(text_is(n.list[0].name, "10.0.0.1:30000") && text_is(n.list[0].url, "http://10.0.0.1:30000"));
	assert_true(text_is(n.list[1].name, "a-0") && text_is(n.list[1].url, "https://h/p"));
	assert_true(text_is(n.list[2].name, "b") && text_is(n.list[2].url, "http://[::1]:8"));
	live_nodes_done(&n);
	assert_int_equal(
	    parse(&n,
		  "{\"kind\":\"PodList\",\"items\":[{\"metadata\":{\"name\":\"p\"},\"status\":{\"podIP\":\"fd00::1\"},"
		  "\"spec\":{\"containers\":[{\"ports\":[{\"containerPort\":0},{\"containerPort\":7}]}]}}]}"),
	    0);
	assert_true(n.n == 1 && text_is(n.list[0].url, "http://[fd00::1]:7"));
	live_nodes_done(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(headers_are_private), cmocka_unit_test(keys_in_json_are_masked),
	    cmocka_unit_test(bytes_stay_exact), cmocka_unit_test(addresses), cmocka_unit_test(lists)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
