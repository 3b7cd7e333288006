/* SPDX-License-Identifier: Apache-2.0 */
/* test_rehearsal.c - the stop rule for many seeds, same seed same bytes, and arguments that make no sense */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "pagetrail/rehearsal.h"

#include "../rounds.h"

static char root[64];

static int make_root(void **state)
{
	(void)state;
	strcpy(root, "/tmp/rehearsal-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command);
}

static int simulate(const char *scenario, uint64_t seed, int64_t requests, const char *name, struct err *err)
{
	char dir[128];
	struct rehearsal_options o = {.scenario = scenario, .seed = seed, .dir = dir, .requests = requests};

	snprintf(dir, sizeof(dir), "%s/%s", root, name);
	return rehearsal_write(&o, err);
}

static char *read_truth(const char *name)
{
	char path[160], *text;
	long size;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/truth.json", root, name);
	f = fopen(path, "rb");
	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	size = ftell(f);
	rewind(f);
	text = calloc(1, (size_t)size + 1);
	assert_int_equal(fread(text, 1, (size_t)size, f), (size_t)size);
	fclose(f);
	return text;
}

static void every_seed_gives_155(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < rounds(6, 2); seed++) {
		struct err err = {0};
		char name[16], *text;

		snprintf(name, sizeof(name), "i%d", (int)seed);
		assert_int_equal(simulate("incident", seed, 0, name, &err), 0);
		text = read_truth(name);
		assert_non_null(strstr(text, "\"over_pool\":155,\"boundary\":6}"));
		assert_non_null(strstr(text, "\"C3\":0"));
		free(text);
	}
}

static void same_seed_same_bytes(void **state)
{
	char command[256];

	(void)state;
	for (size_t i = 0; i < n_rehearsal_scenarios; i++) {
		struct err err = {0};

		assert_int_equal(simulate(rehearsal_scenarios[i].name, 9, 600, "a", &err), 0);
		assert_int_equal(simulate(rehearsal_scenarios[i].name, 9, 600, "b", &err), 0);
		assert_int_equal(simulate(rehearsal_scenarios[i].name, 10, 600, "c", &err), 0);
		snprintf(command, sizeof(command), "cd '%s' && diff -rq a b", root);
		assert_int_equal(system(command), 0);
		snprintf(command, sizeof(command), "cd '%s' && ! diff -rq a c >/dev/null && rm -r a b c", root);
		assert_int_equal(system(command), 0);
	}
}

static void small_sizes_work(void **state)
{
	static const int64_t sizes[] = {1, 2, 50};

	(void)state;
	for (size_t i = 0; i < n_rehearsal_scenarios; i++)
		for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
			struct err err = {0};
			char name[48];

			snprintf(name, sizeof(name), "s%d-%d", (int)i, (int)k);
			assert_int_equal(simulate(rehearsal_scenarios[i].name, 3, sizes[k], name, &err), 0);
		}
}

/* One of its prompts leaves a unified worker's pool less room than its answer wants: it must not wait for ever. */
static void long_answer_beside_a_long_prompt(void **state)
{
	struct err err = {0};

	(void)state;
	assert_int_equal(simulate("clean", 304, 3500, "long", &err), 0);
}

static void nonsense_is_refused(void **state)
{
	struct err err = {0};

	(void)state;
	assert_int_equal(simulate("no-such-thing", 1, 0, "x", &err), ERR_USAGE);
	assert_string_not_equal(err.what, "");
	assert_int_equal(simulate("clean", 1, -1, "x", &err), ERR_USAGE);
	assert_int_equal(simulate("clean", 1, INT64_MAX, "x", &err), ERR_USAGE);
	assert_int_equal(simulate("clean", 1, 10, "x", &err), 0);
	assert_int_equal(simulate("clean", 1, 10, "x", &err), ERR_USAGE); /* not empty any more */
	assert_int_equal(simulate("clean", 1, 10, "no/such/folder", &err), ERR_IO);
	assert_string_not_equal(err.where, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(every_seed_gives_155, make_root, remove_root),
	    cmocka_unit_test_setup_teardown(same_seed_same_bytes, make_root, remove_root),
	    cmocka_unit_test_setup_teardown(small_sizes_work, make_root, remove_root),
	    cmocka_unit_test_setup_teardown(long_answer_beside_a_long_prompt, make_root, remove_root),
	    cmocka_unit_test_setup_teardown(nonsense_is_refused, make_root, remove_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
