/* SPDX-License-Identifier: Apache-2.0 */
/* test_page_sum.c - check sums of pages: every bit counts, and what was not written by us is not read */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "../../../src/store/page_sum.h"
#include "pagetrail/case.h"

static char dir[64], path[128];

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/pagetrail-test-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/case.ptc", dir);
	return 0;
}

static int teardown(void **state)
{
	char cmd[160];
	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	return system(cmd);
}

static void every_bit(void **state)
{
	static unsigned char page[CASE_PAGE_BYTES];
	uint64_t x = 88172645463325252u;
	(void)state;
	assert_true(page_sum_holds(page, 7));
	for (size_t i = 0; i < sizeof(page); i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		page[i] = (unsigned char)(x >> 24);
	}
	assert_false(page_sum_holds(page, 7));
	page_sum_put(page, 7);
	assert_true(page_sum_holds(page, 7));
	for (size_t bit = 0; bit < 8 * sizeof(page); bit++) {
		page[bit / 8] ^= (unsigned char)(1 << bit % 8);
		assert_false(page_sum_holds(page, 7));
		page[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
	/* a page that lies in the place of another */
	for (uint32_t number = 0; number < 100000; number++)
		assert_int_equal(page_sum_holds(page, number), number == 7);
	assert_false(page_sum_holds(page, UINT32_MAX));
	/* words that change places */
	uint32_t a, b;
	memcpy(&a, page + 800, 4);
	memcpy(&b, page + 808, 4);
	assert_int_not_equal(a, b);
	memcpy(page + 800, &b, 4);
	memcpy(page + 808, &a, 4);
	assert_false(page_sum_holds(page, 7));
}

static void new_case(void)
{
	struct case_file *c;
	struct err err = {0};
	if (case_open(&c, path, CASE_CREATE, &err))
		fail_msg("%s", err.what);
	assert_int_equal(case_begin(c, NULL), 0);
	for (int i = 0; i < 600; i++) {
		char key[32];
		snprintf(key, sizeof(key), "key %d", i);
		assert_int_equal(case_info_set(c, key, TEXT("a value that takes some room in its page"), NULL), 0);
	}
	assert_int_equal(case_commit(c, NULL), 0);
	assert_int_equal(case_close(c, &err), 0);
}

static int count(enum case_mode mode, int64_t *ret)
{
	struct case_file *c = NULL;
	struct sql *s = NULL;
	struct err err = {0};
	int r = case_open(&c, path, mode, &err);
	if (!r)
		r = sql_prepare(&s, c, "SELECT count(value || key) FROM case_info", &err);
	if (!r)
		r = sql_step(s, &err);
	if (r > 0)
		*ret = sql_get_int(s, 0);
	sql_end(s);
	case_close(c, NULL);
	return r;
}

/* All pages at rest have their sums; a byte that changed behind our back is damage for those who ask, not for those who
 * look for damage. */
static void a_file(void **state)
{
	unsigned char page[CASE_PAGE_BYTES];
	int64_t n = 0;
	(void)state;
	new_case();
	assert_int_equal(count(CASE_READ, &n), 1);
	assert_int_equal(n, 600);
	FILE *f = fopen(path, "r+b");
	assert_non_null(f);
	long pages = 0, changed = -1;
	while (fread(page, 1, sizeof(page), f) == sizeof(page)) {
		assert_true(page_sum_holds(page, (uint32_t)pages));
		if (changed < 0 && memmem(page, sizeof(page), "a value that", 12))
			changed = pages;
		pages++;
	}
	assert_true(pages > 5 && changed > 0);
	fseek(f, changed * CASE_PAGE_BYTES, SEEK_SET);
	assert_int_equal(fread(page, 1, sizeof(page), f), sizeof(page));
	char *at = memmem(page, sizeof(page), "a value that", 12);
	at[2] = 'V';
	fseek(f, changed * CASE_PAGE_BYTES, SEEK_SET);
	assert_int_equal(fwrite(page, 1, sizeof(page), f), sizeof(page));
	fclose(f);
	assert_int_equal(count(CASE_READ, &n), ERR_DAMAGED);
	assert_int_equal(count(CASE_WRITE, &n), ERR_DAMAGED);
	assert_int_equal(count(CASE_INSPECT, &n), 1);
	assert_int_equal(n, 600);
}

/* One page over another, both with their sums. */
static void a_page_in_the_wrong_place(void **state)
{
	unsigned char page[CASE_PAGE_BYTES];
	long from = -1, to = -1;
	int64_t n = 0;
	(void)state;
	new_case();
	FILE *f = fopen(path, "r+b");
	assert_non_null(f);
	for (long at = 0; fread(page, 1, sizeof(page), f) == sizeof(page); at++)
		if ((page[0] == 13 || page[0] == 10) && memmem(page, sizeof(page), "a value that", 12)) {
			to = from;
			from = at;
		}
	assert_true(to > 0 && from > 0);
	fseek(f, from * CASE_PAGE_BYTES, SEEK_SET);
	assert_int_equal(fread(page, 1, sizeof(page), f), sizeof(page));
	fseek(f, to * CASE_PAGE_BYTES, SEEK_SET);
	assert_int_equal(fwrite(page, 1, sizeof(page), f), sizeof(page));
	fclose(f);
	assert_int_equal(count(CASE_READ, &n), ERR_DAMAGED);
}

/* Is all that SQLite reads from the case summed? */
static bool all_summed(void)
{
	sqlite3 *db = NULL;
	sqlite3_file *f = NULL;
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, page_sum_vfs(NULL)), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "SELECT count(*) FROM case_info", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &f), SQLITE_OK);
	bool all = page_sum_all(f);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	return all;
}

/* Not while somebody writes: pages of the log have no sums. Nor in a file of SQLite's own. */
static void which_files(void **state)
{
	struct case_file *c;
	sqlite3 *db = NULL;
	sqlite3_file *f = NULL;
	(void)state;
	new_case();
	assert_true(all_summed());
	assert_int_equal(case_open(&c, path, CASE_WRITE, NULL), 0);
	assert_false(all_summed());
	assert_int_equal(case_close(c, NULL), 0);
	assert_true(all_summed());
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &f), SQLITE_OK);
	assert_false(page_sum_all(f));
	sqlite3_close(db);
	unlink(path);
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, page_sum_vfs(NULL)),
			 SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "CREATE TABLE case_info(x)", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_false(all_summed());
	assert_false(page_sum_all(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_bit),
	    cmocka_unit_test_setup_teardown(a_file, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_page_in_the_wrong_place, setup, teardown),
	    cmocka_unit_test_setup_teardown(which_files, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
