/* SPDX-License-Identifier: Apache-2.0 */
/* test_case.c - opening: modes, locks, wrong files, files and folders that cannot be written; the journal */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "pagetrail/buf.h"
#include "pagetrail/case.h"

static char dir[64];
static char path[128];

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/pagetrail-test-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	chmod(dir, 0755);
	snprintf(path, sizeof(path), "%s/a case#1%%.pt", dir);
	return 0;
}

static int teardown(void **state)
{
	char cmd[160];
	(void)state;
	chmod(dir, 0755);
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	return system(cmd);
}

static bool exists(const char *suffix)
{
	char p[160];
	snprintf(p, sizeof(p), "%s%s", path, suffix);
	return !access(p, F_OK);
}

static void make_case(void)
{
	struct case_file *c;
	struct err err = {0};
	int r = case_open(&c, path, CASE_CREATE, &err);
	if (r)
		fail_msg("%s (%s)", err.what, err.where);
	assert_int_equal(case_info_set(c, "id", TEXT("one"), NULL), 0);
	assert_int_equal(journal_append(c, 5, "init", TEXT("{}"), NULL, NULL), 0);
	assert_int_equal(case_close(c, &err), 0);
}

/* Another program's connection, but one that keeps the check sums of pages right. */
static int open_outside(const char *name, sqlite3 **ret)
{
	const char *vfs = sqlite3_vfs_find("pagetrail") ? "pagetrail" : NULL;
	return sqlite3_open_v2(name, ret, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs);
}

static void sqlite_exec(const char *sql)
{
	sqlite3 *db;
	assert_int_equal(open_outside(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void write_file(const void *bytes, size_t n)
{
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
}

static void create_then_read(void **state)
{
	(void)state;
	struct case_file *c;
	struct buf b = BUF_INIT(100);
	struct stat st;
	make_case();
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_false(exists("-wal") || exists("-shm") || exists("-journal"));
	assert_int_equal(case_open(&c, path, CASE_CREATE, NULL), ERR_IO);
	assert_true(exists(""));
	assert_int_equal(case_open(&c, path, CASE_READ, NULL), 0);
	assert_false(case_writable(c));
	assert_string_equal(case_path(c), path);
	assert_int_equal(case_info_get(c, "id", &b, NULL), 0);
	assert_string_equal(b.ptr, "one");
	assert_int_equal(case_info_get(c, "none", &b, NULL), 1);
	struct err err = {0};
	assert_int_equal(case_info_set(c, "id", TEXT("two"), &err), ERR_STORE);
	assert_int_equal(case_close(c, NULL), 0);
	assert_false(exists("-wal") || exists("-shm"));
	buf_done(&b);
}

static void transactions(void **state)
{
	(void)state;
	struct case_file *c;
	struct buf b = BUF_INIT(100);
	make_case();
	assert_int_equal(case_open(&c, path, CASE_WRITE, NULL), 0);
	case_rollback(c);
	assert_int_equal(case_begin(c, NULL), 0);
	assert_int_equal(case_info_set(c, "id", TEXT("two"), NULL), 0);
	case_rollback(c);
	assert_int_equal(case_begin(c, NULL), 0);
	assert_int_equal(case_info_set(c, "title", TEXT("kept"), NULL), 0);
	assert_int_equal(case_commit(c, NULL), 0);
	assert_int_equal(case_begin(c, NULL), 0); /* left open: undone by close */
	assert_int_equal(case_info_set(c, "title", TEXT("lost"), NULL), 0);
	assert_int_equal(case_close(c, NULL), 0);
	assert_int_equal(case_open(&c, path, CASE_READ, NULL), 0);
	assert_int_equal(case_info_get(c, "id", &b, NULL), 0);
	assert_int_equal(case_info_get(c, "title", &b, NULL), 0);
	assert_string_equal(b.ptr, "onekept");
	case_close(c, NULL);
	buf_done(&b);
}

static void one_writer(void **state)
{
	(void)state;
	struct case_file *a, *b, *reader;
	struct err err = {0};
	make_case();
	assert_int_equal(case_open(&a, path, CASE_WRITE, NULL), 0);
	assert_int_equal(case_open(&b, path, CASE_WRITE, &err), ERR_STORE);
	assert_non_null(strstr(err.what, "locked by another writer"));
	assert_int_equal(case_open(&reader, path, CASE_READ, NULL), 0);
	case_close(reader, NULL);
	assert_int_equal(case_close(a, NULL), 0);
	assert_false(exists("-wal"));
	/* a reader that is connected does not keep what was written out of the file */
	assert_int_equal(case_open(&b, path, CASE_WRITE, NULL), 0);
	assert_int_equal(case_info_set(b, "title", TEXT("t"), NULL), 0);
	assert_int_equal(case_open(&reader, path, CASE_READ, NULL), 0);
	assert_int_equal(case_close(b, &err), 0);
	case_close(reader, NULL);
	assert_int_equal(case_open(&b, path, CASE_WRITE, NULL), 0);
	assert_int_equal(case_close(b, NULL), 0);
	assert_false(exists("-wal"));
}

static void expect_refused(int code, const char *part)
{
	struct case_file *c;
	for (int mode = CASE_READ; mode <= CASE_WRITE; mode++) {
		struct err err = {0};
		assert_int_equal(case_open(&c, path, (enum case_mode)mode, &err), code);
		if (!strstr(err.what, part))
			fail_msg("'%s' lacks '%s'", err.what, part);
		assert_string_equal(err.where, path);
	}
}

static void wrong_files(void **state)
{
	(void)state;
	expect_refused(ERR_IO, "no such case");
	write_file("", 0);
	expect_refused(ERR_DAMAGED, "not a case: the file is empty");
	write_file("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
	expect_refused(ERR_DAMAGED, "not a case");
	char noise[20000];
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (char)(i * 7 + i / 256);
	write_file(noise, sizeof(noise));
	expect_refused(ERR_DAMAGED, "not a case");
	unlink(path);
	sqlite_exec("CREATE TABLE t(a)");
	expect_refused(ERR_DAMAGED, "another program");
	unlink(path);
	make_case();
	sqlite_exec("PRAGMA user_version=99");
	expect_refused(ERR_DAMAGED, "format version 99");
	sqlite_exec("PRAGMA user_version=1");
	expect_refused(ERR_DAMAGED, "format version 1, this program reads 7");
	unlink(path);
	make_case();
	sqlite_exec("DROP TABLE journal");
	expect_refused(ERR_DAMAGED, "tables are missing");
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	expect_refused(ERR_DAMAGED, "folder");
}

static void cut_file(void **state)
{
	(void)state;
	struct case_file *c;
	make_case();
	assert_int_equal(truncate(path, 9000), 0);
	struct err err = {0};
	int r = case_open(&c, path, CASE_READ, &err);
	assert_int_equal(r, ERR_DAMAGED);
	assert_int_equal(truncate(path, 50), 0);
	assert_int_equal(case_open(&c, path, CASE_READ, &err), ERR_DAMAGED);
}

/* In a child that is not root: reads "title" and ends with 0 when it is `want`. */
static int read_unprivileged(const char *want)
{
	fflush(NULL);
	pid_t pid = fork();
	if (!pid) {
		struct case_file *c;
		struct buf b = BUF_INIT(100);
		struct err err = {0};
		if (!geteuid() && setuid(65534))
			_exit(9);
		if (case_open(&c, path, CASE_READ, &err)) {
			fprintf(stderr, "# %s\n", err.what);
			_exit(2);
		}
		if (case_info_get(c, "title", &b, &err) || strcmp(b.ptr, want))
			_exit(3);
		_exit(case_close(c, NULL) ? 4 : 0);
	}
	int status;
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void unwritable(void **state)
{
	(void)state;
	struct case_file *c;
	char wal[160], shm[160];
	make_case();
	assert_int_equal(case_open(&c, path, CASE_WRITE, NULL), 0);
	assert_int_equal(case_info_set(c, "title", TEXT("a"), NULL), 0);
	assert_int_equal(case_close(c, NULL), 0);
	chmod(path, 0444);
	chmod(dir, 0555);
	assert_int_equal(read_unprivileged("a"), 0);
	/* a writer was killed: what it committed lies in the log only */
	chmod(dir, 0755);
	chmod(path, 0644);
	fflush(NULL);
	pid_t pid = fork();
	if (!pid) {
		if (case_open(&c, path, CASE_WRITE, NULL) || case_info_set(c, "title", TEXT("b"), NULL))
			_exit(1);
		_exit(0);
	}
	int status;
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_true(exists("-wal"));
	snprintf(wal, sizeof(wal), "%s-wal", path);
	snprintf(shm, sizeof(shm), "%s-shm", path);
	unlink(shm);
	chmod(path, 0444);
	chmod(wal, 0444);
	chmod(dir, 0555);
	assert_int_equal(read_unprivileged("b"), 0);
	/* marked as WAL, but no log: copied away from its folder */
	chmod(dir, 0755);
	unlink(wal);
	chmod(dir, 0555);
	assert_int_equal(read_unprivileged("a"), 0);
	/* and the next writer makes it plain again */
	chmod(dir, 0755);
	chmod(path, 0600);
	assert_int_equal(case_open(&c, path, CASE_WRITE, NULL), 0);
	assert_int_equal(case_close(c, NULL), 0);
	assert_false(exists("-wal") || exists("-shm"));
}

/* Opens the case in a child that is not root; its error's text and place go to `out`. */
static int open_unprivileged(char *out, size_t size)
{
	int fds[2], status;
	assert_int_equal(pipe(fds), 0);
	fflush(NULL);
	pid_t pid = fork();
	if (!pid) {
		struct case_file *c;
		struct err err = {0};
		if (!geteuid() && setuid(65534))
			_exit(9);
		int r = case_open(&c, path, CASE_READ, &err);
		_exit(r == 0 ? 8 : dprintf(fds[1], "%d %s (%s)", r, err.what, err.where) > 0 ? 0 : 7);
	}
	close(fds[1]);
	ssize_t n = read(fds[0], out, size - 1);
	out[n > 0 ? n : 0] = 0;
	close(fds[0]);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void unreadable(void **state)
{
	(void)state;
	char said[600], wal[160];
	make_case();
	chmod(path, 0);
	assert_int_equal(open_unprivileged(said, sizeof(said)), 0);
	if (!strstr(said, "cannot read the case file: Permission denied") || !strstr(said, path))
		fail_msg("%s", said);
	/* a killed writer's log that others may not read */
	chmod(path, 0644);
	fflush(NULL);
	pid_t pid = fork();
	if (!pid) {
		struct case_file *c;
		if (case_open(&c, path, CASE_WRITE, NULL) || case_info_set(c, "title", TEXT("b"), NULL))
			_exit(1);
		_exit(0);
	}
	int status;
	waitpid(pid, &status, 0);
	snprintf(wal, sizeof(wal), "%s-wal", path);
	chmod(path, 0644);
	chmod(wal, 0);
	assert_int_equal(open_unprivileged(said, sizeof(said)), 0);
	if (!strstr(said, "wal file: Permission denied") || !strstr(said, wal))
		fail_msg("%s", said);
	/* the folder is closed */
	chmod(dir, 0);
	assert_int_equal(open_unprivileged(said, sizeof(said)), 0);
	if (!strstr(said, "Permission denied"))
		fail_msg("%s", said);
	chmod(dir, 0755);
}

/* A clock that is put back does not turn the order of the rows around. */
static void journal_times(void **state)
{
	(void)state;
	static const int64_t given[] = {50, 40, 60, INT64_MIN + 1, 60, 61}, kept[] = {50, 50, 60, 60, 60, 61};
	struct case_file *c;
	struct sql *s;
	int64_t bad = 0, seq = 0;
	unsigned char head[SHA256_BYTES], last[SHA256_BYTES];
	assert_int_equal(case_open(&c, path, CASE_CREATE, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(given); i++) {
		assert_int_equal(journal_append(c, given[i], "ingest", TEXT("{}"), head, NULL), 0);
		assert_int_equal(journal_find(c, head, &seq, NULL), 0);
		assert_int_equal(seq, i + 1);
	}
	assert_int_equal(journal_verify(c, &bad, NULL), 0);
	memset(last, 7, sizeof(last));
	assert_int_equal(journal_find(c, last, &seq, NULL), 1);
	assert_int_equal(sql_prepare(&s, c, "SELECT at_ns FROM journal ORDER BY seq", NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		assert_int_equal(sql_step(s, NULL), 1);
		assert_int_equal(sql_get_int(s, 0), kept[i]);
	}
	sql_end(s);
	case_close(c, NULL);
}

static void journal(void **state)
{
	(void)state;
	struct case_file *c;
	unsigned char head[SHA256_BYTES], again[SHA256_BYTES];
	int64_t bad = 0;
	assert_int_equal(case_open(&c, path, CASE_CREATE, NULL), 0);
	assert_int_equal(journal_head(c, head, NULL), 1);
	assert_int_equal(journal_verify(c, &bad, NULL), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(journal_append(c, 1000 + i, "ingest", TEXT("{\"n\":1}"), head, NULL), 0);
	assert_int_equal(journal_head(c, again, NULL), 0);
	assert_memory_equal(head, again, SHA256_BYTES);
	assert_int_equal(journal_verify(c, &bad, NULL), 0);
	assert_int_equal(case_close(c, NULL), 0);
	static const char *const tampering[] = {
	    "UPDATE journal SET detail = '{\"n\":2}' WHERE seq = 3",
	    "UPDATE journal SET at_ns = 1 WHERE seq = 3",
	    "UPDATE journal SET action = 'init' WHERE seq = 3",
	    "UPDATE journal SET sha256 = zeroblob(32) WHERE seq = 3",
	    "UPDATE journal SET prev_sha256 = x'' WHERE seq = 3",
	    "DELETE FROM journal WHERE seq = 2",
	    "UPDATE journal SET seq = 30 WHERE seq = 3",
	};
	for (size_t i = 0; i < ARRAY_SIZE(tampering); i++) {
		char sql[300];
		sqlite3 *db;
		assert_int_equal(case_open(&c, path, CASE_READ, NULL), 0);
		snprintf(sql, sizeof(sql), "%s.%zu", path, i);
		assert_int_equal(sql_exec(c, "SELECT 1", NULL), 0);
		case_close(c, NULL);
		/* a copy each time */
		assert_int_equal(open_outside(path, &db), SQLITE_OK);
		char *vacuum = sqlite3_mprintf("VACUUM INTO %Q", sql);
		assert_int_equal(sqlite3_exec(db, vacuum, NULL, NULL, NULL), SQLITE_OK);
		sqlite3_free(vacuum);
		sqlite3_close(db);
		assert_int_equal(open_outside(sql, &db), SQLITE_OK);
		assert_int_equal(sqlite3_exec(db, tampering[i], NULL, NULL, NULL), SQLITE_OK);
		sqlite3_close(db);
		assert_int_equal(case_open(&c, sql, CASE_READ, NULL), 0);
		assert_int_equal(journal_verify(c, &bad, NULL), 1);
		assert_true(bad == (i == 6 ? 4 : 3));
		case_close(c, NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(create_then_read, setup, teardown),
	    cmocka_unit_test_setup_teardown(transactions, setup, teardown),
	    cmocka_unit_test_setup_teardown(one_writer, setup, teardown),
	    cmocka_unit_test_setup_teardown(wrong_files, setup, teardown),
	    cmocka_unit_test_setup_teardown(cut_file, setup, teardown),
	    cmocka_unit_test_setup_teardown(unwritable, setup, teardown),
	    cmocka_unit_test_setup_teardown(unreadable, setup, teardown),
	    cmocka_unit_test_setup_teardown(journal_times, setup, teardown),
	    cmocka_unit_test_setup_teardown(journal, setup, teardown),
	};
	return cmocka_run_group_tests_name("case", tests, NULL, NULL);
}
