/* SPDX-License-Identifier: Apache-2.0 */
/* test_resolve_scratch.c - the budget of memory of resolve: what is let go comes back, orders and names at sizes beyond it */
#include "resolve_fixture.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>

#include "../../../src/analysis/resolve.h"

static struct resolve r;

static int setup(void **state)
{
	int res = fixture_setup(state);
	r = (struct resolve){.c = fixture};
	scratch_init(&r.scratch);
	return res;
}

static int teardown(void **state)
{
	scratch_done(&r.scratch);
	unsetenv("SQLITE_TMPDIR");
	return fixture_teardown(state);
}

static size_t resident(void)
{
	unsigned long long total = 0, all = 0, shared = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (!f)
		return 0;
	if (fscanf(f, "%llu %llu %llu", &total, &all, &shared) != 3)
		all = 0;
	(void)fclose(f);
	return (size_t)all * (size_t)sysconf(_SC_PAGESIZE);
}

static unsigned files_in(const char *path)
{
	unsigned n = 0;
	DIR *d = opendir(path);
	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	(void)closedir(d);
	return n;
}

static void test_comes_back(void **state)
{
	enum { PARTS = 200 };
	static uint64_t *parts[PARTS];
	char dir[96];
	(void)state;
	snprintf(dir, sizeof(dir), "%s/tmp", fixture_dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	setenv("SQLITE_TMPDIR", dir, 1);
	size_t before = resident();
	for (unsigned i = 0; i < PARTS; i++) {
		parts[i] = scratch_alloc(&r.scratch, MIB, 1);
		assert_non_null(parts[i]);
		for (size_t k = 0; k < MIB / sizeof(uint64_t); k++) {
			if (parts[i][k])
				fail_msg("not zero");
			parts[i][k] = i * 1000003 + k;
		}
		scratch_trim(&r.scratch);
	}
	assert_true(r.scratch.file_bytes > 150 * (int64_t)MIB);
	assert_int_equal(files_in(dir), 0); /* a crash leaves nothing */
	for (unsigned i = 0; i < PARTS; i++) {
		for (size_t k = 0; k < MIB / sizeof(uint64_t); k++)
			if (parts[i][k] != i * 1000003 + k)
				fail_msg("part %u has changed", i);
		scratch_trim(&r.scratch);
	}
	if (before)
		assert_in_range(resident(), 1, before + 80 * MIB);
}

/* Requests that all have one time are visited in the order of their names: that must not fetch everything at every step. */
static void test_out_of_order(void **state)
{
	enum { PARTS = 120, STEPS = 100000, TICK = 256 };
	char *parts[PARTS];
	uint64_t x = 88172645463325252u, sum = 0;
	(void)state;
	if (!resident())
		skip();
	for (unsigned i = 0; i < PARTS; i++) {
		parts[i] = scratch_alloc(&r.scratch, MIB, 1);
		assert_non_null(parts[i]);
		memset(parts[i], 1, MIB);
		scratch_trim(&r.scratch);
	}
	unsigned written = r.scratch.drops;
	assert_in_range(written, 1, 4); /* in order: each part once */
	for (unsigned i = 1; i <= STEPS; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		sum += (unsigned char)parts[x % PARTS][x / PARTS % MIB];
		if (i % TICK == 0)
			scratch_trim(&r.scratch);
	}
	assert_int_equal(sum, STEPS);
	assert_in_range(r.scratch.drops - written, 0, 4);
}

/* Where no file can be made or has no room, memory is taken. */
static void test_no_file(void **state)
{
	(void)state;
	r.scratch.no_file = true;
	for (unsigned i = 0; i < 40; i++) {
		char *p = scratch_alloc(&r.scratch, MIB, 1);
		assert_non_null(p);
		p[MIB - 1] = 1;
		scratch_trim(&r.scratch);
	}
	assert_int_equal(r.scratch.fd, -1);
	assert_null(scratch_alloc(&r.scratch, SIZE_MAX / 2, 4));
}

static void test_names(void **state)
{
	enum { N = 300000, LONG = 3 * 1024 * 1024 + 5 };
	struct err err = {0};
	struct names n;
	char line[64], *big = malloc(LONG);
	uint32_t id, big_id = 0;
	(void)state;
	assert_int_equal(names_init(&n, &r.scratch, &err), 0);
	assert_int_equal(names_id(&n, (struct text){NULL, 0}, &id, &err), 0);
	assert_int_equal(id, 0);
	assert_null(names_text(&n, 0).ptr);
	for (uint32_t i = 0; i < N; i++) {
		snprintf(line, sizeof(line), "chatcmpl-%x-%u", i * 2654435761u, i);
		assert_int_equal(names_id(&n, text_of(line), &id, &err), 0);
		assert_int_equal(id, i + 1 + (i > N / 2));
		if (i == N / 2) {
			memset(big, 'x', LONG);
			assert_int_equal(names_id(&n, (struct text){big, LONG}, &big_id, &err), 0);
		}
	}
	for (uint32_t i = 0; i < N; i++) {
		snprintf(line, sizeof(line), "chatcmpl-%x-%u", i * 2654435761u, i);
		id = names_find(&n, text_of(line));
		assert_int_equal(id, i + 1 + (i > N / 2));
		assert_true(text_is(names_text(&n, id), line));
	}
	assert_int_equal(names_find(&n, TEXT("chatcmpl-")), 0);
	assert_true(text_eq(names_text(&n, big_id), (struct text){big, LONG}));
	assert_int_equal(names_find(&n, (struct text){big, LONG}), big_id);
	free(big);
	names_done(&n);
}

struct item {
	uint32_t key, at;
	char rest[40];
};

static int by_key(const void *a, const void *b, void *ctx)
{
	const struct item *x = a, *y = b;
	(void)ctx;
	return x->key < y->key ? -1 : x->key > y->key;
}

static void test_sort(void **state)
{
	static const uint32_t sizes[] = {0, 1, 2, 15, 16, 17, 33, 1000, 4096, 500001};
	struct err err = {0};
	(void)state;
	for (unsigned way = 0; way < 4; way++)
		for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
			uint32_t n = sizes[s], x = 12345;
			struct item *list = scratch_alloc(&r.scratch, n, sizeof(*list));
			for (uint32_t i = 0; i < n; i++) {
				x = x * 1664525 + 1013904223;
				list[i].key = way == 0 ? i : way == 1 ? n - i : way == 2 ? x >> 28 : x;
				list[i].at = i;
				memset(list[i].rest, (char)list[i].key, sizeof(list[i].rest));
			}
			assert_int_equal(sort_items(&r, list, n, sizeof(*list), by_key, NULL, &err), 0);
			for (uint32_t i = 0; i < n; i++) {
				bool in_order = !i || list[i - 1].key < list[i].key ||
						(list[i - 1].key == list[i].key && list[i - 1].at < list[i].at);
				if (!in_order || list[i].rest[39] != (char)list[i].key)
					fail_msg("way %u, %u items: not in order at %u", way, n, i);
			}
		}
}

/* A stop ends a run with the tables as they were; the next one makes them. */
static void test_stop(void **state)
{
	volatile sig_atomic_t stop = 0;
	struct err err = {0};
	(void)state;
	int64_t d = source("d.log", "d", NULL), late = 0;
	put(d, EVENT_LEG, 1, "what=finished rid=r1 input_tokens=5 input_flag=exact");
	resolve();
	assert_string_equal(rows("SELECT name FROM request"), "r1;");
	late = source("late.log", "d", NULL);
	put(late, EVENT_LEG, 2, "what=finished rid=r2 input_tokens=5 input_flag=exact");
	flush();
	case_stop_on(fixture, &stop);
	assert_int_equal(resolve_needed(fixture, &err), 1);
	stop = 1;
	assert_int_equal(case_begin(fixture, &err), 0);
	assert_int_equal(resolve_case(fixture, &err), ERR_INTERRUPTED);
	case_rollback(fixture);
	stop = 0;
	assert_string_equal(rows("SELECT name FROM request"), "r1;");
	assert_int_equal(resolve_needed(fixture, &err), 1);
	resolve();
	assert_string_equal(rows("SELECT name FROM request ORDER BY name"), "r1;r2;");
	assert_int_equal(resolve_needed(fixture, &err), 0);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    CASE(test_comes_back), CASE(test_out_of_order), CASE(test_no_file),
	    CASE(test_names),      CASE(test_sort),         CASE(test_stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
