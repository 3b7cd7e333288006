/* SPDX-License-Identifier: Apache-2.0 */
/* sql.c - prepared statements with errors of ours
 *
 * A statement belongs to its connection's thread. Statements of a person (sql_prepare_untrusted) are compiled under an
 * authorizer that lets reading through and nothing else; it is lifted again at once, because the statements that our
 * own virtual tables run inside must not meet it.
 */
#include <stdlib.h>
#include <string.h>

#include "pagetrail/stamp.h"
#include "store.h"

static int store_code(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_NOMEM: return ERR_NOMEM;
	case SQLITE_FULL: return ERR_FULL;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN: return ERR_IO;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB: return ERR_DAMAGED;
	case SQLITE_TOOBIG: return ERR_LIMIT;
	case SQLITE_INTERRUPT: return ERR_INTERRUPTED;
	case SQLITE_AUTH: return ERR_USAGE;
	default: return ERR_STORE;
	}
}

/* A quota, a limit of file size, a disk that fails. */
static bool refused_to_write(int rc)
{
	switch (rc) {
	case SQLITE_IOERR_WRITE:
	case SQLITE_IOERR_FSYNC:
	case SQLITE_IOERR_DIR_FSYNC:
	case SQLITE_IOERR_TRUNCATE:
	case SQLITE_IOERR_SHMSIZE: return true;
	default: return false;
	}
}

int store_error(struct case_file *c, int rc, struct err *err)
{
	if (c->pending.code && ((rc & 0xff) == SQLITE_ERROR || (rc & 0xff) == SQLITE_NOMEM)) {
		int code = c->pending.code;
		if (err)
			*err = c->pending;
		c->pending.code = 0;
		return code;
	}
	bool refused = refused_to_write(rc);
	int code = refused ? ERR_FULL : store_code(rc);
	switch (rc & 0xff) {
	case SQLITE_NOMEM: return err_nomem(err);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		err_set(err, code, "the case is locked by another process");
		err_hint(err, "wait until the other command has ended, then try again");
		break;
	case SQLITE_CORRUPT:
		err_set(err, code, "the case file is damaged (%s)", sqlite3_errmsg(c->db));
		err_hint(err, "run 'pagetrail verify' to see which parts are still good");
		break;
	case SQLITE_NOTADB: err_set(err, code, "not a case: the file is not a SQLite database"); break;
	case SQLITE_FULL:
		err_set(err, code, "there is no room left to write to");
		err_hint(err, "what was written before is kept: make room and run the command again");
		break;
	case SQLITE_READONLY: err_set(err, code, "the case cannot be written (%s)", sqlite3_errmsg(c->db)); break;
	default:
		if (refused) {
			err_set(err, code, "the system refused to write to the case (%s)", sqlite3_errmsg(c->db));
			err_hint(err, "what was written before is kept: make room, or see to the disk, and run the "
				      "command again");
			break;
		}
		err_set(err, code, "%s", sqlite3_errmsg(c->db));
	}
	if (c->path)
		err_where(err, "%s", c->path);
	return code;
}

int store_pending(struct case_file *c, const struct err *err, char **zErrMsg)
{
	c->pending = *err;
	if (zErrMsg) {
		sqlite3_free(*zErrMsg);
		*zErrMsg = sqlite3_mprintf("%s", err->what);
	}
	return err->code == ERR_NOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
}

static int sql_wrap(struct sql **ret, struct case_file *c, sqlite3_stmt *st, struct err *err)
{
	struct sql *s = calloc(1, sizeof(*s));
	if (!s) {
		sqlite3_finalize(st);
		return err_nomem(err);
	}
	s->st = st;
	s->c = c;
	*ret = s;
	return 0;
}

int sql_prepare(struct sql **ret, struct case_file *c, const char *text, struct err *err)
{
	sqlite3_stmt *st = NULL;
	c->pending.code = 0;
	int rc = sqlite3_prepare_v3(c->db, text, -1, SQLITE_PREPARE_PERSISTENT, &st, NULL);
	if (rc != SQLITE_OK)
		return store_error(c, rc, err);
	if (!st)
		return err_set(err, ERR_BUG, "empty statement");
	return sql_wrap(ret, c, st, err);
}

/* --- statements of a person --- */

static bool harmless_pragma(const char *name)
{
	static const char *const names[] = {"table_info", "table_xinfo", "table_list",      "index_list",
					    "index_info", "index_xinfo", "foreign_key_list"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!sqlite3_stricmp(name, names[i]))
			return true;
	return false;
}

struct refusal {
	char what[160];
};

static int authorize(void *ctx, int action, const char *a, const char *b, const char *db, const char *inner)
{
	struct refusal *r = ctx;
	const char *what;
	(void)db, (void)inner;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_RECURSIVE: return SQLITE_OK;
	case SQLITE_READ:
		if (!a || strncmp(a, "pragma_", 7) || harmless_pragma(a + 7))
			return SQLITE_OK;
		what = "this table is not available";
		break;
	case SQLITE_FUNCTION:
		if (b && (!sqlite3_stricmp(b, "load_extension") || !sqlite3_stricmp(b, "fts3_tokenizer"))) {
			what = "this function is not available";
			break;
		}
		return SQLITE_OK;
	case SQLITE_PRAGMA:
		if (a && harmless_pragma(a))
			return SQLITE_OK;
		what = "only PRAGMA table_info and its like are available";
		break;
	case SQLITE_ATTACH:
	case SQLITE_DETACH: what = "ATTACH and DETACH are not available"; break;
	case SQLITE_TRANSACTION:
	case SQLITE_SAVEPOINT: what = "transactions are not available"; break;
	case SQLITE_UPDATE:
		/* SQLite asks this when a virtual table is used for the first time; a statement of that kind does not
		 * compile */
		if (a && !strcmp(a, "sqlite_master"))
			return SQLITE_OK;
		/* fall through */
	default: what = "a case is only read here, and this statement would write";
	}
	if (!r->what[0])
		sqlite3_snprintf(sizeof(r->what), r->what, "%s", what);
	return SQLITE_DENY;
}

int sql_prepare_untrusted(struct sql **ret, struct case_file *c, struct text sql, struct err *err)
{
	if (sql.len > SQL_MAX_BYTES)
		return err_set(err, ERR_LIMIT, "the statement is longer than %d bytes", SQL_MAX_BYTES);
	if (memchr(sql.ptr ? sql.ptr : "", 0, sql.len))
		return err_set(err, ERR_USAGE, "the statement holds a NUL byte");
	const char *at = sql.ptr, *end = sql.ptr + sql.len;
	sqlite3_stmt *st = NULL;
	struct refusal refusal = {{0}};
	c->pending.code = 0;
	sqlite3_set_authorizer(c->db, authorize, &refusal);
	int code = 0;
	/* the first turn compiles; more turns look for a second statement behind blanks and comments */
	while (at < end && !code) {
		sqlite3_stmt *more = NULL;
		int rc = sqlite3_prepare_v3(c->db, at, (int)(end - at), 0, &more, &at);
		if (st && (more || rc != SQLITE_OK)) {
			code = err_set(err, ERR_USAGE, "more than one statement");
		} else if (rc != SQLITE_OK) {
			code = store_error(c, rc, err);
			if (refusal.what[0])
				code = err_set(err, ERR_USAGE, "%s", refusal.what);
			else if ((rc & 0xff) == SQLITE_ERROR)
				code = err_set(err, ERR_USAGE, "%s", sqlite3_errmsg(c->db));
		} else if (more) {
			st = more;
			more = NULL;
		}
		sqlite3_finalize(more);
	}
	sqlite3_set_authorizer(c->db, NULL, NULL);
	if (!code && !st)
		code = err_set(err, ERR_USAGE, "no statement");
	if (!code && !sqlite3_stmt_readonly(st))
		code = err_set(err, ERR_USAGE, "a case is only read here, and this statement would write");
	if (code) {
		sqlite3_finalize(st);
		return code;
	}
	return sql_wrap(ret, c, st, err);
}

void sql_end(struct sql *s)
{
	if (!s)
		return;
	sqlite3_finalize(s->st);
	free(s);
}

/* --- binding --- */

static int bound(struct sql *s, int rc, struct err *err)
{
	if (rc == SQLITE_OK)
		return 0;
	if (rc == SQLITE_RANGE)
		return err_set(err, ERR_BUG, "statement has no such parameter");
	return store_error(s->c, rc, err);
}

int sql_int(struct sql *s, int at, int64_t v, struct err *err)
{
	return bound(s, v == TIME_UNKNOWN ? sqlite3_bind_null(s->st, at) : sqlite3_bind_int64(s->st, at, v), err);
}

int sql_real(struct sql *s, int at, double v, struct err *err)
{
	return bound(s, sqlite3_bind_double(s->st, at, v), err);
}

int sql_text(struct sql *s, int at, struct text v, struct err *err)
{
	if (!v.ptr)
		return bound(s, sqlite3_bind_null(s->st, at), err);
	return bound(s, sqlite3_bind_text64(s->st, at, v.ptr, v.len, SQLITE_TRANSIENT, SQLITE_UTF8), err);
}

int sql_text_kept(struct sql *s, int at, struct text v, struct err *err)
{
	if (!v.ptr)
		return bound(s, sqlite3_bind_null(s->st, at), err);
	return bound(s, sqlite3_bind_text64(s->st, at, v.ptr, v.len, SQLITE_STATIC, SQLITE_UTF8), err);
}

int sql_blob(struct sql *s, int at, struct text v, struct err *err)
{
	if (!v.ptr)
		return bound(s, sqlite3_bind_null(s->st, at), err);
	return bound(s, sqlite3_bind_blob64(s->st, at, v.ptr, v.len, SQLITE_TRANSIENT), err);
}

int sql_null(struct sql *s, int at, struct err *err)
{
	return bound(s, sqlite3_bind_null(s->st, at), err);
}

int sql_param(struct sql *s, const char *name)
{
	return sqlite3_bind_parameter_index(s->st, name);
}

int sql_params(struct sql *s)
{
	return sqlite3_bind_parameter_count(s->st);
}

const char *sql_param_name(struct sql *s, int at)
{
	return sqlite3_bind_parameter_name(s->st, at);
}

/* --- running --- */

int sql_step(struct sql *s, struct err *err)
{
	s->c->pending.code = 0;
	int rc = sqlite3_step(s->st);
	if (rc == SQLITE_ROW)
		return 1;
	int code = rc == SQLITE_DONE ? 0 : store_error(s->c, rc, err);
	sqlite3_reset(s->st);
	return code;
}

int sql_run(struct sql *s, struct err *err)
{
	int r;
	while ((r = sql_step(s, err)) > 0)
		;
	return r;
}

void sql_reset(struct sql *s)
{
	sqlite3_reset(s->st);
}

int sql_columns(struct sql *s)
{
	return sqlite3_column_count(s->st);
}

const char *sql_column_name(struct sql *s, int col)
{
	return sqlite3_column_name(s->st, col);
}

enum sql_type sql_type(struct sql *s, int col)
{
	switch (sqlite3_column_type(s->st, col)) {
	case SQLITE_INTEGER: return SQL_INT;
	case SQLITE_FLOAT: return SQL_REAL;
	case SQLITE_TEXT: return SQL_TEXT;
	case SQLITE_BLOB: return SQL_BLOB;
	default: return SQL_NULL;
	}
}

int64_t sql_get_int(struct sql *s, int col)
{
	return sqlite3_column_int64(s->st, col);
}

int64_t sql_get_time(struct sql *s, int col)
{
	return sqlite3_column_type(s->st, col) == SQLITE_NULL ? TIME_UNKNOWN : sqlite3_column_int64(s->st, col);
}

double sql_get_real(struct sql *s, int col)
{
	return sqlite3_column_double(s->st, col);
}

struct text sql_get_text(struct sql *s, int col)
{
	int type = sqlite3_column_type(s->st, col);
	if (type == SQLITE_NULL)
		return (struct text){NULL, 0};
	/* the pointer first: asking for the length may convert */
	const char *p =
	    type == SQLITE_BLOB ? sqlite3_column_blob(s->st, col) : (const char *)sqlite3_column_text(s->st, col);
	size_t n = (size_t)sqlite3_column_bytes(s->st, col);
	return p ? (struct text){p, n} : (struct text){"", 0};
}

bool sql_cell_eq(struct sql *a, struct sql *b, int col)
{
	if (sql_type(a, col) != sql_type(b, col))
		return false;
	if (sql_type(a, col) == SQL_INT)
		return sql_get_int(a, col) == sql_get_int(b, col);
	return text_eq(sql_get_text(a, col), sql_get_text(b, col));
}

bool sql_readonly(struct sql *s)
{
	return sqlite3_stmt_readonly(s->st);
}

int sql_exec(struct case_file *c, const char *text, struct err *err)
{
	c->pending.code = 0;
	int rc = sqlite3_exec(c->db, text, NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : store_error(c, rc, err);
}

int64_t sql_last_id(struct case_file *c)
{
	return sqlite3_last_insert_rowid(c->db);
}
