/* SPDX-License-Identifier: Apache-2.0 */
/* test_container.c - digests of images however they are written, and roles by labels */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pagetrail/container.h"
#include "pagetrail/limits.h"

#define HEX  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define CAPS "0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF"

static void test_digests(void **state)
{
	(void)state;
	static const char *const found[] = {
	    "sha256:" HEX,
	    "sha256:" CAPS,
	    "registry.example:5000/engine@sha256:" HEX,
	    "docker-pullable://registry.example/engine@sha256:" HEX,
	    "pkg:oci/engine@sha256%3A" HEX "?tag=v1",
	    "pkg:oci/engine@sha256%3a" CAPS,
	    HEX,
	};
	static const char *const none[] = {"",
					   "v0.5.22",
					   "sha256:",
					   "sha256:0123",
					   "sha256:" HEX "0",
					   "sha512:" HEX HEX,
					   "registry.example/engine:latest",
					   "x" HEX,
					   "SHA256:" HEX};
	struct arena a;
	arena_init(&a, ARENA_MAX_BYTES);
	for (size_t i = 0; i < ARRAY_SIZE(found); i++)
		if (!text_is(image_digest(&a, text_of(found[i])), "sha256:" HEX))
			fail_msg("no digest: %s", found[i]);
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		if (image_digest(&a, text_of(none[i])).len)
			fail_msg("a digest: %s", none[i]);
	arena_done(&a);
}

static void test_roles(void **state)
{
	(void)state;
	static const struct {
		const char *labels, *role;
	} says[] = {
	    {"{\"role\":\"prefill\"}", "prefill"},
	    {"{\"llm-d.ai/role\":\"both\",\"role\":\"decode\"}", "unified"},
	    {"{\"app.kubernetes.io/component\":\"sglang-decode-0\"}", "decode"},
	    {"{\"app\":\"engine-prefill\"}", "prefill"},
	    {"{\"app\":\"engine-prefill\",\"tier\":\"decode\"}", ""},
	    {"{\"app\":\"prefill-router\"}", ""},
	    {"{\"app\":\"engine\"}", ""},
	    {"{\"role\":7}", ""},
	    {"{}", ""},
	    {"[]", ""},
	    {"null", ""},
	};
	struct json *j = json_new();
	for (size_t i = 0; i < ARRAY_SIZE(says); i++) {
		struct json_value v;
		assert_int_equal(json_parse(j, text_of(says[i].labels), false, &v, NULL, NULL), 0);
		if (!text_is(text_of(labels_role(v)), says[i].role))
			fail_msg("%s: not %s", says[i].labels, says[i].role);
	}
	json_free(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_digests), cmocka_unit_test(test_roles)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
