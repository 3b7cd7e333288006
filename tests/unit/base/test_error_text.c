/* SPDX-License-Identifier: Apache-2.0 */
/* test_error_text.c - of an error text the program's own words are kept, and no prompt */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pagetrail/error_text.h"
#include "pagetrail/limits.h"

static struct arena arena;

static void check(const char *text, const char *want)
{
	struct text got = error_text(text_of(text), &arena);
	if (!text_is(got, want))
		fail_msg("%s gives %.*s, not %s", text, TEXT_ARG(got), want);
}

/* What engines, gateways and libraries write stays as it is. */
static void test_own(void **state)
{
	static const char *const texts[] = {
	    "Input length (700123 tokens) exceeds the maximum allowed length (681274 tokens).",
	    "litellm.ContextWindowExceededError: This model's maximum context length is 1048576 tokens.",
	    "dial tcp 10.0.0.7:30000: connect: connection refused",
	    "upstream connect error or disconnect/reset before headers. reset reason: connection timeout",
	    "inference gateway: ServiceUnavailable - failed to find endpoint candidates for serving the request",
	    "context deadline exceeded",
	    "Prefill bootstrap failed for request rank=0",
	    "read_timeout",
	    "UF,URX",
	    "cD--",
	    "error sending request for url (http://10.0.1.39:30000/v1/chat/completions)",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		check(texts[i], texts[i]);
	check("", "");
}

/* Nothing else does, whatever stands around it. */
static void test_foreign(void **state)
{
	(void)state;
	check("litellm.BadRequestError: SECRETPROMPT", "litellm.BadRequestError: \xe2\x80\xa6");
	check("Invalid request: my mother was born in Lyon in 1951 and takes warfarin",
	      "Invalid request: \xe2\x80\xa6");
	check("content filtered: 4111 1111 1111 1111", "content filtered: \xe2\x80\xa6");
	check("no such model gpt-secret-project", "no such model \xe2\x80\xa6");
	check("ValueError: could not parse '{\"messages\":[{\"content\":\"the patient is not able to walk\"}]}'",
	      "ValueError: \xe2\x80\xa6");
	check("SECRET", "\xe2\x80\xa6");
	for (size_t n = 0; n < 24; n++) { /* any byte in a word, up to the end of what is there */
		char *word = malloc(n + 1);
		memcpy(word, "generatedgeneratedgenera", n);
		word[n] = '\0';
		assert_non_null(error_text((struct text){word, n + 1}, &arena).ptr);
		free(word);
	}
	check("failed; please wire money, account 12345678901234567890", "failed; \xe2\x80\xa6");
	check("\xe6\x82\xa3\xe8\x80\x85 is not valid", "\xe2\x80\xa6 is not valid");
}

/* Any bytes: no more than there is room for, and no letter of a word that is not in the list. */
static void test_random(void **state)
{
	static const char letters[] = "xqzj \t:.'\"0{}\xff\0";
	unsigned seed = 20261202;
	(void)state;
	print_message("# seed %u\n", seed);
	srand(seed);
	for (int i = 0; i < 20000; i++) {
		char text[3 * MESSAGE_MAX_BYTES];
		size_t n = (size_t)rand() % sizeof(text);
		for (size_t k = 0; k < n; k++)
			text[k] = letters[(size_t)rand() % (sizeof(letters) - 1)];
		struct text got = error_text((struct text){text, n}, &arena);
		assert_non_null(got.ptr);
		for (size_t k = 0; k < got.len; k++)
			assert_null(memchr("xqzj", got.ptr[k], 4));
		arena_reset(&arena);
	}
}

static int setup(void **state)
{
	(void)state;
	arena_init(&arena, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_own),
	    cmocka_unit_test(test_foreign),
	    cmocka_unit_test(test_random),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
