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

#define S "s3cret-of-nobody"
#define X "xxxxxxxxxxxxxxxx"
#define K "sk-none0none1none2none"
#define Y "xxxxxxxxxxxxxxxxxxxxxx"

static void secrets_are_masked(void **state)
{
	(void)state;
	static const struct {
		const char *in, *out;
		size_t n;
	} cases[] = {
	    {"{\"api_key\":\"abc\",\"b\":1}", "{\"api_key\":\"xxx\",\"b\":1}", 1},
	    {"{\"api_key\" :\n \"a\\\"c\"}", "{\"api_key\" :\n \"xxxx\"}", 1},
	    {"{\"api_key\":null,\"x_api_key\":\"abc\"}", "{\"api_key\":null,\"x_api_key\":\"xxx\"}", 1},
	    {"[{\"admin_api_key\":\"q\"},{\"api_key\":\"r\"}]", "[{\"admin_api_key\":\"x\"},{\"api_key\":\"x\"}]", 2},
	    {"{\"api_key\":\"", "{\"api_key\":\"", 0},
	    {"{\"api_key\":\"abc", "{\"api_key\":\"xxx", 1},
	    {"{\"api_key\":\"abc\\", "{\"api_key\":\"xxxx", 1},
	    {"{\"api_key\"", "{\"api_key\"", 0},
	    {"\"", "\"", 0},
	    {"", "", 0},
	    /* names in any spelling, values of any shape */
	    {"{\"Api-Key\":{\"v\":\"" S "\"},\"z\":\"k\"}", "{\"Api-Key\":{\"v\":\"" X "\"},\"z\":\"k\"}", 1},
	    {"{\"apiKey\":[\"" S "\",[\"" S "\"]]}", "{\"apiKey\":[\"" X "\",[\"" X "\"]]}", 2},
	    {"{\"api key\":\"" S "\"}", "{\"api key\":\"" X "\"}", 1},
	    {"{\"api\\u005fkey\":\"" S "\"}", "{\"api\\u005fkey\":\"" X "\"}", 1},
	    {"{\"tokens\":\"" S "\"}", "{\"tokens\":\"" X "\"}", 1},
	    {"{\"HFToken\":\"" S "\"}", "{\"HFToken\":\"" X "\"}", 1},
	    {"{\"authorization\":\"Bearer " S "\"}", "{\"authorization\":\"xxxxxxx" X "\"}", 1},
	    {"{\"credential\":\"" S "\"}", "{\"credential\":\"" X "\"}", 1},
	    {"{\"password\":12345678,\"n\":-1.5e3}", "{\"password\":99999999,\"n\":-1.5e3}", 1},
	    {"{\"name\":\"HF_TOKEN\",\"value\":\"" S "\"}", "{\"name\":\"HF_TOKEN\",\"value\":\"" X "\"}", 1},
	    /* in strings */
	    {"{\"e\":[\"HF_TOKEN=" S "\",\"A=b\"]}", "{\"e\":[\"HF_TOKEN=" X "\",\"A=b\"]}", 1},
	    {"{\"a\":\"ServerArgs(api_key='" S "', x=1)\"}", "{\"a\":\"ServerArgs(api_key='" X "', x=1)\"}", 1},
	    {"{\"a\":\"api_key='" S "\",\"b\":\"it's\"}", "{\"a\":\"api_key='" X "\",\"b\":\"it's\"}", 1},
	    {"{\"a\":\"say \\\"api_key\\\":\\\"abc\\\"\"}", "{\"a\":\"say \\\"api_key\\\":\\\"xxx\\\"\"}", 1},
	    {"{\"a\":\"{\\\"b\\\":\\\"{\\\\\\\"api_key\\\\\\\":\\\\\\\"abc\\\\\\\"}\\\"}\"}",
	     "{\"a\":\"{\\\"b\\\":\\\"{\\\\\\\"api_key\\\\\\\":\\\\\\\"xxx\\\\\\\"}\\\"}\"}", 1},
	    {"{\"c\":\"x --api-key " S " --port 1\"}", "{\"c\":\"x --api-key " X " --port 1\"}", 1},
	    {"{\"c\":[\"--api-key\",\"" S "\",\"-x\"]}", "{\"c\":[\"--api-key\",\"" X "\",\"-x\"]}", 1},
	    {"{\"m\":\"wrong key " K ".\"}", "{\"m\":\"wrong key " Y ".\"}", 1},
	    {"{\"u\":\"https://me:" S "@host/x\"}", "{\"u\":\"https://me:" X "@host/x\"}", 1},
	    /* in text, whatever its form */
	    {"<html>{\"api_key\": \"" S "\"}", "<html>{\"api_key\": \"" X "\"}", 1},
	    {"\xef\xbb\xbf{\"api_key\": \"" S "\"}", "\xef\xbb\xbf{\"api_key\": \"" X "\"}", 1},
	    {"API key: " S "\nnext: 1", "API key: " X "\nnext: 1", 1},
	    {"Authorization: Basic " S " x\r\nHost: h", "Authorization: xxxxxxxx" X "\r\nHost: h", 1},
	    {"HF_TOKEN=" S "&b=1", "HF_TOKEN=" X "&b=1", 1},
	    {"['--api-key', '" S "', '--x']", "['--api-key', '" X "', '--x']", 1},
	    {"<api_key>" S "</api_key>", "<api_key>" X "</api_key>", 1},
	    {"{&quot;api_key&quot;: &quot;" S "&quot;}", "{&quot;api_key&quot;: &quot;" X "&quot;}", 1},
	    {"?api%5fkey%3d" S "%26b", "?api%5fkey%3d" X "%26b", 1},
	    {"up{api_key=\"" S "\",le=\"1\"} 1\n", "up{api_key=\"" X "\",le=\"1\"} 1\n", 1},
	    {"-----BEGIN PRIVATE KEY-----\n" S "\n-----END PRIVATE KEY-----",
	     "-----BEGIN PRIVATE KEY-----x" X "x-----END PRIVATE KEY-----", 1},
	    {"x [\"HF_TOKEN=" S "\",\"A=b\"]", "x [\"HF_TOKEN=" X "\",\"A=b\"]", 1},
	    {"api_key=b'" S "', a='b'", "api_key=xx" X "', a='b'", 1},
	    {"api_key=SecretStr('" S "'), a='b'", "api_key=xxxxxxxxxxx" X "'), a='b'", 1},
	    /* what is no secret */
	    {"{\"max_tokens\":16,\"num_tokens\":\"16\",\"tokenizer_path\":\"/m\",\"eos_token\":\"</"
	     "s>\",\"auth\":\"none\","
	     "\"max_total_num_tokens\":681274,\"special_tokens\":[\"<|im_end|>\"],\"speculative_token_map\":\"/t\"}",
	     NULL, 0},
	    {"{\"a\":\"ServerArgs(tokenizer_path='/m', tokenizer_mode='auto', api_key=None, admin_api_key=None, "
	     "bos_token='<s>', token='<s>', max_prefill_tokens=16384)\"}",
	     NULL, 0},
	    {"sglang:token_usage{model_name=\"m\",token=\"5\"} 0.25\nsglang:num_used_tokens 7\nprompt tokens: many\n",
	     NULL, 0},
	    {"{\"e\":[\"PWD=/srv\",\"MAX_TOKENS=5\",\"TOKENIZERS_PARALLELISM=false\"],\"u\":\"http://a:1/b@c\"}", NULL,
	     0},
	    {"{\"error\":\"not authorized: a key is required; Bearer authentication\"}", NULL, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *in = cases[i].in, *out = cases[i].out ? cases[i].out : in;
		size_t n = strlen(in), got;
		char *exact = malloc(n ? n : 1); /* so that a sanitizer sees a byte too many */
		memcpy(exact, in, n);
		got = live_mask_content(exact, n);
		if (got != cases[i].n || memcmp(exact, out, n) != 0)
			fail_msg("'%s' became '%.*s', %zu masked", in, (int)n, exact, got);
		/* and of each beginning of it nothing is read that is not there */
		for (size_t k = 0; k < n; k++) {
			char *part = malloc(k ? k : 1);
			memcpy(part, in, k);
			live_mask_content(part, k);
			free(part);
		}
		free(exact);
	}
	/* UTF-16 */
	char wide[2 * sizeof("api_key='" S "'")] = {0};
	for (size_t i = 0; i < sizeof("api_key='" S "'") - 1; i++)
		wide[2 * i] = ("api_key='" S "'")[i];
	assert_int_equal(live_mask_content(wide, sizeof(wide)), 1);
	assert_null(memchr(wide + 2 * strlen("api_key='"), 's', 2 * strlen(S)));
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
	const struct CMUnitTest tests[] = {cmocka_unit_test(headers_are_private), cmocka_unit_test(secrets_are_masked),
					   cmocka_unit_test(bytes_stay_exact), cmocka_unit_test(addresses),
					   cmocka_unit_test(lists)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
