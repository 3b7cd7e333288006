/* SPDX-License-Identifier: Apache-2.0 */
/* case.c - opening, checking and closing the case file
 *
 * A case at rest is one plain file (rollback journal mode, nothing beside it). One writer at a time: it holds an
 * advisory lock from open to close, on a descriptor of its own that is closed only after the connection (closing any
 * descriptor of a file drops the POSIX locks that SQLite holds on it). Readers trust nothing in the file; every page
 * that is read has its check sum compared (page_sum.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "page_sum.h"
#include "store.h"

/* A reader that waits for a checkpoint, a writer that waits for a reader's end. */
enum { CASE_BUSY_MS = 5000 };

static int not_a_case(const char *path, const char *why, struct err *err)
{
	err_set(err, ERR_DAMAGED, "not a case: %s", why);
	err_where(err, "%s", path);
	return ERR_DAMAGED;
}

static int check_path(const char *path, struct stat *st, struct err *err)
{
	if (stat(path, st)) {
		int code = errno == ENOENT ? err_set(err, ERR_IO, "no such case file")
					   : err_set_errno(err, ERR_IO, "cannot open the case file");
		err_where(err, "%s", path);
		return code;
	}
	if (S_ISDIR(st->st_mode))
		return not_a_case(path, "it is a folder", err);
	if (!S_ISREG(st->st_mode))
		return not_a_case(path, "it is not a regular file", err);
	if (!st->st_size) {
		not_a_case(path, "the file is empty", err);
		return err_hint(err, "where 'pagetrail ingest' was stopped when it made it, run it again");
	}
	return 0;
}

/* Takes the writer's lock. File systems without flock() are trusted to have one writer. */
static int lock_writer(struct case_file *c, const char *path, int flags, struct err *err)
{
	c->lock_fd = open(path, flags | O_RDWR | O_CLOEXEC, 0600);
	if (c->lock_fd < 0) {
		int code = err_set_errno(err, ERR_IO, "cannot open the case file for writing");
		err_where(err, "%s", path);
		return code;
	}
	if (flock(c->lock_fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
		err_set(err, ERR_STORE, "the case is locked by another writer");
		err_where(err, "%s", path);
		err_hint(err, "wait until the other command has ended, then try again");
		return ERR_STORE;
	}
	return 0;
}

/* first: a statement that must come before anything is read. */
static int configure(struct case_file *c, const char *first, struct err *err)
{
	sqlite3 *db = c->db;
	sqlite3_extended_result_codes(db, 1);
	sqlite3_busy_timeout(db, CASE_BUSY_MS);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, (int)(2 * CHUNK_MAX_DECODED_BYTES));
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	/* keys are checked by verify: enforcing them on every delete of a rebuild would cost a scan each */
	int r = sql_exec(c, first, err);
	return r ? r : sql_exec(c, "PRAGMA foreign_keys=OFF; PRAGMA cache_size=-8192; PRAGMA cell_size_check=ON", err);
}

/* below: SQLite's own VFS, NULL for the usual one. */
static int open_db(struct case_file *c, const char *name, int flags, const char *below, const char *first,
		   struct err *err)
{
	const char *vfs = below;
	sqlite3_close(c->db);
	c->db = NULL;
	if (c->mode != CASE_INSPECT && !(vfs = page_sum_vfs(below)))
		return err_nomem(err);
	int rc = sqlite3_open_v2(name, &c->db, flags | SQLITE_OPEN_NOMUTEX, vfs);
	if (!c->db)
		return err_nomem(err);
	if (rc != SQLITE_OK)
		return store_error(c, rc, err);
	return configure(c, first, err);
}

static int read_pragma(struct case_file *c, const char *pragma, int64_t *ret, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int r = sql_prepare(&s, c, pragma, err);
	if (!r)
		r = sql_step(s, err);
	if (r < 0)
		return r;
	*ret = r ? sql_get_int(s, 0) : 0;
	return 0;
}

int case_unmade(struct case_file *c, struct err *err)
{
	not_a_case(c->path, "its making was stopped, and nothing is in it yet", err);
	return err_hint(err, "run 'pagetrail ingest' with the same arguments again: it begins anew");
}

/* First real access to the file. */
static int check_header(struct case_file *c, struct err *err)
{
	int64_t tables, id, version, any = 1;
	int r = read_pragma(c, "SELECT count(*) FROM sqlite_schema WHERE name IN ('case_info','source','journal')",
			    &tables, err);
	if (!r)
		r = read_pragma(c, "PRAGMA application_id", &id, err);
	if (!r)
		r = read_pragma(c, "PRAGMA user_version", &version, err);
	if (!r && !id && !tables)
		r = read_pragma(c, "SELECT count(*) FROM sqlite_schema", &any, err);
	if (r)
		return r;
	if (!any)
		return case_unmade(c, err);
	if (id == CASE_UNFINISHED_ID) {
		not_a_case(c->path, "an unfinished salvage, which lacks a part of what it will hold", err);
		return err_hint(err, "run 'pagetrail salvage' again: it replaces this file");
	}
	if (id != CASE_APPLICATION_ID)
		return not_a_case(c->path, "it is the SQLite database of another program", err);
	if (version < 1 || (version <= CASE_VERSION && tables != 3))
		return not_a_case(c->path, "its tables are missing", err);
	if (version != CASE_VERSION) {
		err_set(err, ERR_DAMAGED, "the case has format version %lld, this program reads %d", (long long)version,
			CASE_VERSION);
		err_where(err, "%s", c->path);
		err_hint(err, version > CASE_VERSION ? "use a newer pagetrail"
						     : "'pagetrail salvage' makes a case of today out of it");
		return ERR_DAMAGED;
	}
	int reserved = -1;
	if (sqlite3_file_control(c->db, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved) || reserved != PAGE_SUM_BYTES)
		return not_a_case(c->path, "its pages have no check sums", err);
	return 0;
}

/* "file:" URI of a path: everything that could mean something in a URI is escaped. */
static char *immutable_uri(const char *path)
{
	char *uri = malloc(strlen(path) * 3 + 64), *p = uri;
	if (!uri)
		return NULL;
	p += sprintf(p, "file:%s", path[0] == '/' ? "//" : "");
	for (; *path; path++) {
		if (strchr("%?#&= ", *path) || (unsigned char)*path < 32)
			p += sprintf(p, "%%%02X", (unsigned char)*path);
		else
			*p++ = *path;
	}
	strcpy(p, "?immutable=1");
	return uri;
}

/* The folder cannot be written and the last writer did not close the case. With a write-ahead log beside it, that log
 * has to be read too: no locks, index in memory. Without one, the file is read as it stands. */
static int open_unwritable(struct case_file *c, struct err *err)
{
	struct stat st;
	char *wal = sqlite3_mprintf("%s-wal", c->path);
	if (!wal)
		return err_nomem(err);
	bool has_wal = !stat(wal, &st) && st.st_size > 0;
	sqlite3_free(wal);
	int r;
	if (has_wal) {
		r = open_db(c, c->path, SQLITE_OPEN_READONLY, "unix-none", "PRAGMA locking_mode=EXCLUSIVE", err);
	} else {
		char *uri = immutable_uri(c->path);
		if (!uri)
			return err_nomem(err);
		r = open_db(c, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL, "", err);
		free(uri);
	}
	if (!r)
		r = check_header(c, err);
	return r;
}

/* SQLite says only that it cannot open: which of the files refuses, and why. */
static void explain_refusal(const struct case_file *c, struct err *err)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		struct stat st;
		char *name = sqlite3_mprintf("%s%s", c->path, suffixes[i]);
		if (!name)
			return;
		bool refused = !stat(name, &st) && faccessat(AT_FDCWD, name, R_OK, AT_EACCESS);
		if (refused && *suffixes[i])
			err_set_errno(err, ERR_IO, "cannot read the case's %s file", suffixes[i] + 1);
		else if (refused)
			err_set_errno(err, ERR_IO, "cannot read the case file");
		if (refused)
			err_where(err, "%s", name);
		sqlite3_free(name);
		if (refused)
			return;
	}
}

static int open_read(struct case_file *c, struct err *err)
{
	struct err first = {0};
	int r = open_db(c, c->path, SQLITE_OPEN_READONLY, NULL, "", &first);
	if (!r)
		r = check_header(c, &first);
	if (r == ERR_IO || r == ERR_FULL || (r == ERR_STORE && (sqlite3_errcode(c->db) & 0xff) == SQLITE_READONLY)) {
		struct err second = {0};
		if (!open_unwritable(c, &second))
			r = 0;
		else if (second.code == ERR_DAMAGED)
			first = second, r = second.code;
	}
	if (r) {
		if (r == ERR_IO || r == ERR_FULL || r == ERR_STORE)
			explain_refusal(c, &first);
		if (err)
			*err = first;
		return first.code;
	}
	return sql_exec(c, "PRAGMA query_only=ON", err);
}

static int make_schema(struct case_file *c, struct err *err)
{
	int reserve = PAGE_SUM_BYTES;
	(void)sqlite3_file_control(c->db, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserve);
	int r = sql_exec(c, "PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL", err);
	if (!r)
		r = case_begin(c, err);
	if (!r)
		r = sql_exec(c, schema_sql, err);
	if (!r)
		r = sql_exec(c, "PRAGMA application_id=0x50547261; PRAGMA user_version=7", err);
	if (!r)
		r = case_commit(c, err);
	return r;
}
_Static_assert(CASE_APPLICATION_ID == 0x50547261 && CASE_VERSION == 7 && CASE_PAGE_BYTES == 8192,
	       "make_schema() spells these out");

/* Who makes a case may be killed at any moment before its first journal row. What is left of it holds nothing, and is
 * taken for a file that is not there. 2: it has its schema already, 1: nothing, 0: it is something else. */
static int is_blank(struct case_file *c, struct err *err)
{
	int64_t tables = 0, id = 0, rows = 1;
	struct err ignored = {0};
	int r = read_pragma(c, "SELECT count(*) FROM sqlite_schema", &tables, &ignored);
	if (!r)
		r = read_pragma(c, "PRAGMA application_id", &id, &ignored);
	if (!r && tables && id == CASE_APPLICATION_ID)
		r = read_pragma(c, "SELECT (SELECT count(*) FROM journal) + (SELECT count(*) FROM source)", &rows,
				&ignored);
	if (r == ERR_NOMEM)
		return err_nomem(err);
	return r ? 0 : !tables && !id ? 1 : rows ? 0 : 2;
}

/* The file is locked by us. */
static int create(struct case_file *c, struct err *err)
{
	struct stat st;
	int blank = 0, r = 0;
	bool plain = !fstat(c->lock_fd, &st) && S_ISREG(st.st_mode);
	if (plain)
		r = open_db(c, c->path, SQLITE_OPEN_READWRITE, NULL, "", err);
	if (!r && plain)
		r = blank = is_blank(c, err);
	if (r < 0 && r != ERR_DAMAGED)
		return r;
	if (!blank) {
		err_set(err, ERR_IO, "the case file exists already");
		err_where(err, "%s", c->path);
		return ERR_IO;
	}
	c->made = true;
	return blank == 1 ? make_schema(c, err)
			  : sql_exec(c, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL", err);
}

static int open_write(struct case_file *c, struct err *err)
{
	int r = lock_writer(c, c->path, c->mode == CASE_CREATE ? O_CREAT : 0, err);
	if (!r && c->mode == CASE_CREATE)
		r = create(c, err);
	else if (!r)
		r = open_db(c, c->path, SQLITE_OPEN_READWRITE, NULL, "", err);
	if (!r && c->mode != CASE_CREATE)
		r = check_header(c, err);
	if (!r && c->mode == CASE_WRITE)
		r = sql_exec(c, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL", err);
	if (!r)
		r = sql_exec(c, "PRAGMA wal_autocheckpoint=2048", err);
	return r;
}

static void case_free(struct case_file *c)
{
	sqlite3_close(c->db);
	if (c->lock_fd >= 0)
		close(c->lock_fd);
	buf_done(&c->cache);
	free(c->path);
	free(c);
}

int case_open(struct case_file **ret, const char *path, enum case_mode mode, struct err *err)
{
	struct stat st;
	if (mode != CASE_CREATE) {
		int r = check_path(path, &st, err);
		if (r)
			return r;
	}
	struct case_file *c = calloc(1, sizeof(*c));
	/* ":memory:" and its like mean something to SQLite */
	if (!c || asprintf(&c->path, "%s%s", path[0] == ':' ? "./" : "", path) < 0) {
		free(c);
		return err_nomem(err);
	}
	c->mode = mode;
	c->lock_fd = -1;
	c->cache = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	int r = case_writable(c) ? open_write(c, err) : open_read(c, err);
	if (!r)
		r = vtab_register(c, err);
	if (r) {
		bool made = c->made;
		case_free(c);
		if (made) /* half a case would stand in the way of the next try */
			unlink(path);
		return r;
	}
	*ret = c;
	return 0;
}

const char *case_vfs(void)
{
	return page_sum_vfs(NULL);
}

static void adopted_free(void *ctx)
{
	struct case_file *c = ctx;
	c->db = NULL; /* the host's; it is being closed */
	case_free(c);
}

static void adopted_version(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	(void)argc, (void)argv;
	sqlite3_result_text(ctx, "pagetrail " PAGETRAIL_VERSION, -1, SQLITE_STATIC);
}

int case_adopt(struct case_file **ret, struct sqlite3 *db, struct err *err)
{
	struct case_file *c = calloc(1, sizeof(*c));
	const char *path = sqlite3_db_filename(db, "main");
	if (!c || !(c->path = strdup(path ? path : ""))) {
		free(c);
		return err_nomem(err);
	}
	c->db = db;
	c->mode = CASE_READ;
	c->lock_fd = -1;
	c->cache = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	/* a function of the connection owns the object: it goes when the connection goes */
	if (sqlite3_create_function_v2(db, "pagetrail_version", 0, SQLITE_UTF8 | SQLITE_DETERMINISTIC, c,
				       adopted_version, NULL, NULL, adopted_free))
		return err_set(err, ERR_STORE, "%s", sqlite3_errmsg(db));
	int r = check_header(c, err);
	if (!r)
		r = vtab_register(c, err);
	if (!r)
		*ret = c;
	return r;
}

/* Back to one plain file. A reader in the middle of a statement is waited for, then reported: without the log beside it
 * the file would lack what was written last. A reader that is merely connected only keeps the (then empty) log from
 * going away. */
static int settle(struct case_file *c, struct err *err)
{
	int64_t busy = 0;
	case_rollback(c);
	int r = read_pragma(c, "PRAGMA wal_checkpoint(TRUNCATE)", &busy, err);
	if (r == ERR_STORE || (!r && busy)) {
		err_set(err, ERR_STORE, "the case stays in two files, because another process is reading it");
		err_where(err, "%s", c->path);
		err_hint(err, "nothing is lost: keep %s-wal beside it until the next command has written", c->path);
		return ERR_STORE;
	}
	if (r)
		return r;
	sqlite3_busy_timeout(c->db, 0);
	(void)sqlite3_exec(c->db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
	return 0;
}

int case_close(struct case_file *c, struct err *err)
{
	int r = 0;
	if (!c)
		return 0;
	if (case_writable(c))
		r = settle(c, err);
	case_free(c);
	return r;
}

const char *case_path(const struct case_file *c)
{
	return c->path;
}

bool case_writable(const struct case_file *c)
{
	return c->mode == CASE_WRITE || c->mode == CASE_CREATE;
}

enum { STOP_EVERY_STEPS = 20000 }; /* of SQLite's machine: some milliseconds */

static int stop_wanted(void *ctx)
{
	return *(volatile sig_atomic_t *)ctx != 0;
}

void case_threads(struct case_file *c, unsigned n)
{
	c->threads = n;
}

unsigned case_thread_count(const struct case_file *c)
{
	return c->threads;
}

void case_stop_on(struct case_file *c, volatile sig_atomic_t *stop)
{
	c->stop = stop;
	sqlite3_progress_handler(c->db, STOP_EVERY_STEPS, stop_wanted, (void *)stop);
}

void case_stop_with(struct case_file *c, const struct case_file *other)
{
	if (other->stop)
		case_stop_on(c, other->stop);
}

bool case_stopped(const struct case_file *c)
{
	return c->stop && *c->stop != 0;
}

int case_begin(struct case_file *c, struct err *err)
{
	return sql_exec(c, "BEGIN IMMEDIATE", err);
}

int case_commit(struct case_file *c, struct err *err)
{
	return sql_exec(c, "COMMIT", err);
}

void case_rollback(struct case_file *c)
{
	c->rollbacks++;
	if (!sqlite3_get_autocommit(c->db))
		(void)sqlite3_exec(c->db, "ROLLBACK", NULL, NULL, NULL);
}

int case_info_set(struct case_file *c, const char *key, struct text value, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	if (!value.ptr)
		value = TEXT("");
	int r = sql_prepare(
	    &s, c, "INSERT INTO case_info(key, value) VALUES(?1, ?2) ON CONFLICT DO UPDATE SET value = ?2", err);
	if (!r)
		r = sql_text(s, 1, text_of(key), err);
	if (!r)
		r = sql_text(s, 2, value, err);
	return r ? r : sql_run(s, err);
}

int case_info_get(struct case_file *c, const char *key, struct buf *ret, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int r = sql_prepare(&s, c, "SELECT value FROM case_info WHERE key = ?1", err);
	if (!r)
		r = sql_text(s, 1, text_of(key), err);
	if (!r)
		r = sql_step(s, err);
	if (r < 0)
		return r;
	if (!r)
		return 1;
	return buf_add_text(ret, sql_get_text(s, 0), err);
}
