/* SPDX-License-Identifier: Apache-2.0 */
/* test_secret.c - what looks like a key, and what only resembles one */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pagetrail/macros.h"
#include "pagetrail/secret.h"

static void test_secrets(void **state)
{
	static const char *const keys[] = {"sk-abc",
					   "sk-",
					   "Bearer x",
					   "Basic eA==",
					   "eyJhbGciOiJub25lIn0",
					   "AKIANONENONENONENONE",
					   "nvapi-nonenonenone",
					   "hf_nonenonenonenone",
					   "ghp_nonenonenone",
					   "glpat-nonenonenone"};
	static const char *const names[] = {"",       "tenant-a",  "task-sk-1", "skylab", "bearer-plant",
					    "8f3a",   "Basics",    "pk_energy", "hf_lab", "eyJafjord",
					    "xoxo-1", "rk_number1"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		assert_true(secret_like(text_of(keys[i])));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_false(secret_like(text_of(names[i])));
}

static void test_cut(void **state)
{
	static const char *const cases[][2] = {
	    {"Incorrect API key provided: sk-none. Find it", "Incorrect API key provided: "},
	    {"header was 'Bearer none'", "header was '"},
	    {"sk-none", ""},
	    {"task-sk-1 and risk_2 are names", "task-sk-1 and risk_2 are names"},
	    {"too long", "too long"},
	    {"", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_true(text_is(secret_cut(text_of(cases[i][0])), cases[i][1]));
}

#define NONE17 "none0none1none2none"

/* Wherever a word begins, with all that is the key's and no more. */
static void test_find(void **state)
{
	static const struct {
		const char *text, *whole, *key;
	} cases[] = {
	    {"sk-" NONE17, "sk-" NONE17, "sk-" NONE17},
	    {"/v1/users/sk-proj-" NONE17 "/chat", "sk-proj-" NONE17, "sk-proj-" NONE17},
	    {"/chat;key=sk-ant_" NONE17 ";x", "sk-ant_" NONE17, "sk-ant_" NONE17},
	    {"a%20sk-" NONE17 "%20", "sk-" NONE17, "sk-" NONE17},
	    {"Bearer sk-" NONE17, "Bearer sk-" NONE17, "sk-" NONE17},
	    {"bearer a+b/c~d.e=", "bearer a+b/c~d.e=", "a+b/c~d.e="},
	    {"Basic bm9uZTpub25l", "Basic bm9uZTpub25l", "bm9uZTpub25l"},
	    {"Digest username=\"n\", x", "Digest username=\"n\", x", "username=\"n\", x"},
	    {"eyJub25lIjo.eyJub25lIjo.no-_", "eyJub25lIjo.eyJub25lIjo.no-_", "eyJub25lIjo.eyJub25lIjo.no-_"},
	    {"(ghp_" NONE17 ")", "ghp_" NONE17, "ghp_" NONE17},
	    {"github_pat_none_" NONE17 "-", "github_pat_none_" NONE17, "github_pat_none_" NONE17},
	    {"gho_" NONE17, "gho_" NONE17, "gho_" NONE17},
	    {"gsk_" NONE17, "gsk_" NONE17, "gsk_" NONE17},
	    {"xai-" NONE17, "xai-" NONE17, "xai-" NONE17},
	    {"hf_" NONE17, "hf_" NONE17, "hf_" NONE17},
	    {"nvapi-" NONE17, "nvapi-" NONE17, "nvapi-" NONE17},
	    {"AKIANONENONENONENONE", "AKIANONENONENONENONE", "AKIANONENONENONENONE"},
	    {"ASIANONENONENONENONE", "ASIANONENONENONENONE", "ASIANONENONENONENONE"},
	    {"AIza" NONE17 "-_", "AIza" NONE17 "-_", "AIza" NONE17 "-_"},
	    {"ya29.a0." NONE17, "ya29.a0." NONE17, "ya29.a0." NONE17},
	    {"xoxb-1-2-" NONE17, "xoxb-1-2-" NONE17, "xoxb-1-2-" NONE17},
	    {"xoxp-1-2-" NONE17, "xoxp-1-2-" NONE17, "xoxp-1-2-" NONE17},
	    {"glpat-" NONE17, "glpat-" NONE17, "glpat-" NONE17},
	    {"rk_live_" NONE17, "rk_live_" NONE17, "rk_live_" NONE17},
	    {"pk_live_" NONE17, "pk_live_" NONE17, "pk_live_" NONE17},
	};
	static const char *const names[] = {
	    "chatcmpl-6f0c2d4e8a1b4c3d9e5f7a8b9c0d1e2f",
	    "cmpl-6f0c2d4e8a1b4c3d9e5f7a8b9c0d1e2f-0",
	    "6f0c2d4e-8a1b-4c3d-9e5f-7a8b9c0d1e2f",
	    "6f0c2d4e8a1b4c3d9e5f7a8b9c0d1e2f",
	    "req_011CSHoEeqs5C35K2UUqR7Fy",
	    "task-sk-proj-one-of-many-jobs",
	    "sk-short",
	    "hf_Meta-Llama-3.1-70B-Instruct",
	    "/v1/chat/completions",
	    "http://engine-7.example:30000/v1",
	    "Bearer",
	    "",
	};
	struct secret s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_true(secret_find(text_of(cases[i].text), 0, false, &s));
		assert_true(text_is(s.whole, cases[i].whole));
		assert_true(text_is(s.key, cases[i].key));
		assert_true(s.whole.len >= SECRET_MIN_BYTES);
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_false(secret_find(text_of(names[i]), 0, false, &s));
	assert_false(secret_find(TEXT("Bearer authentication or Basic authentication"), 0, true, &s));
	assert_true(secret_find(TEXT("invalid Bearer " NONE17 "x, sk-" NONE17), 0, true, &s));
	assert_true(text_is(s.key, NONE17 "x"));
	assert_true(secret_find(TEXT("invalid Bearer " NONE17 "x, sk-" NONE17), 20, true, &s));
	assert_true(text_is(s.key, "sk-" NONE17));
}

/* One list for members, options, variables and headers, in any spelling. */
static void test_names(void **state)
{
	static const char *const secrets[] = {"api_key",
					      "API key",
					      "apiKey",
					      "X-Api-Key",
					      "admin_api_key",
					      "ssl_keyfile_password",
					      "OPENAI_API_KEY",
					      "client-secret",
					      "credentials",
					      "Proxy-Authorization",
					      "AWS_SECRET_ACCESS_KEY",
					      "DB_PWD",
					      "openai key"};
	static const char *const maybe[] = {"HF_TOKEN",  "HFToken", "hf-token", "accessToken", "token",  "tokens",
					    "apiTokens", "auth",    "cookie",   "Set-Cookie",  "id_jwt", "user_token"};
	static const char *const none[] = {"",
					   "max_tokens",
					   "num_tokens",
					   "tokenizer_path",
					   "eos_token",
					   "bosToken",
					   "token_usage",
					   "eos_token_id",
					   "max_new_tokens",
					   "special_tokens",
					   "time_to_first_token",
					   "PWD",
					   "key",
					   "monkey",
					   "forward_pass",
					   "tokenizer",
					   "author",
					   "stop-token",
					   "__",
					   "prompt_tokens"};
	char name[600];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(secrets); i++)
		if (secret_name(text_of(secrets[i])) != SECRET_NAME)
			fail_msg("%s", secrets[i]);
	for (size_t i = 0; i < ARRAY_SIZE(maybe); i++)
		if (secret_name(text_of(maybe[i])) != SECRET_NAME_MAYBE)
			fail_msg("%s", maybe[i]);
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		if (secret_name(text_of(none[i])) != SECRET_NAME_NONE)
			fail_msg("%s", none[i]);
	memset(name, 'A', sizeof(name)); /* of a long one its end */
	memcpy(name + sizeof(name) - 8, "_api_key", 8);
	assert_int_equal(secret_name((struct text){name, sizeof(name)}), SECRET_NAME);

	assert_true(secret_value_is_none(TEXT(""), SECRET_NAME));
	assert_true(secret_value_is_none(TEXT("None"), SECRET_NAME));
	assert_true(secret_value_is_none(TEXT("*****"), SECRET_NAME));
	assert_false(secret_value_is_none(TEXT("1234"), SECRET_NAME));
	assert_true(secret_value_is_none(TEXT("1234"), SECRET_NAME_MAYBE));
	assert_true(secret_value_is_none(TEXT("<|im_end|>"), SECRET_NAME_MAYBE));
	assert_false(secret_value_is_none(TEXT("<"), SECRET_NAME_MAYBE));
	assert_false(secret_value_is_none(TEXT("abc"), SECRET_NAME_MAYBE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_secrets), cmocka_unit_test(test_cut),
					   cmocka_unit_test(test_find), cmocka_unit_test(test_names)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
