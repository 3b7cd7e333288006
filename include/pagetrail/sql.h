/* SPDX-License-Identifier: Apache-2.0 */
/* sql.h - prepared statements with errors of ours: the only face of SQLite above the store
 *
 * Statement texts are constants or embedded files; values are always bound. Column texts are valid until the next
 * sql_step() or sql_end(). Not thread-safe: a connection belongs to one thread.
 */
#pragma once

#include "pagetrail/text.h"

struct sqlite3;
struct case_file;
struct sql; /* one prepared statement */

int sql_prepare(struct sql **ret, struct case_file *c, const char *text, struct err *err) MUST_CHECK;
/* A statement of a person: one SELECT (or PRAGMA table_info and its like), read-only whatever the connection may do.
 * ERR_USAGE with SQLite's or our own words when it is refused or does not compile; ERR_LIMIT above SQL_MAX_BYTES. */
#define SQL_MAX_BYTES 1000000
int sql_prepare_untrusted(struct sql **ret, struct case_file *c, struct text sql, struct err *err) MUST_CHECK;
void sql_end(struct sql *s); /* accepts NULL */
DEFINE_CLEANUP(struct sql *, sql_end)
/* Binding: position from 1. INT64_MIN (TIME_UNKNOWN) and texts with NULL ptr bind NULL. */
int sql_int(struct sql *s, int at, int64_t v, struct err *err) MUST_CHECK;
int sql_real(struct sql *s, int at, double v, struct err *err) MUST_CHECK;
int sql_text(struct sql *s, int at, struct text v, struct err *err) MUST_CHECK;
/* The text is not copied: it must stay as it is until the statement has run. */
int sql_text_kept(struct sql *s, int at, struct text v, struct err *err) MUST_CHECK;
int sql_blob(struct sql *s, int at, struct text v, struct err *err) MUST_CHECK;
int sql_null(struct sql *s, int at, struct err *err) MUST_CHECK;
int sql_param(struct sql *s, const char *name); /* position of ":name", 0 when there is none */
int sql_params(struct sql *s);
const char *sql_param_name(struct sql *s, int at);
/* 1 a row is there, 0 done (the statement is reset), negative ERR_*. */
int sql_step(struct sql *s, struct err *err) MUST_CHECK;
/* Step to the end and reset (for INSERT and the like). */
int sql_run(struct sql *s, struct err *err) MUST_CHECK;
/* Gives up the rows that are left, so that the statement can be run again; bindings stay. */
void sql_reset(struct sql *s);

int sql_columns(struct sql *s);
const char *sql_column_name(struct sql *s, int col);
enum sql_type { SQL_NULL, SQL_INT, SQL_REAL, SQL_TEXT, SQL_BLOB };
enum sql_type sql_type(struct sql *s, int col);
int64_t sql_get_int(struct sql *s, int col);  /* 0 for NULL */
int64_t sql_get_time(struct sql *s, int col); /* TIME_UNKNOWN for NULL */
double sql_get_real(struct sql *s, int col);
struct text sql_get_text(struct sql *s, int col); /* {NULL,0} for NULL; blobs too */
/* Are the cells of both rows of one type and value? */
bool sql_cell_eq(struct sql *a, struct sql *b, int col);
bool sql_readonly(struct sql *s);

int sql_exec(struct case_file *c, const char *text, struct err *err) MUST_CHECK; /* constants only */
int64_t sql_last_id(struct case_file *c);

/* --- rows computed in C as a read-only table-valued function ---
 *
 * rowset_register() makes `SELECT * FROM name` (and `name(arg, …)` for hidden columns) call open(), then next() until it
 * returns 0. Cells are set through the rowset_* setters into the given row. */
struct rowset;
struct rowset_column {
	const char *name;
	const char *type; /* INTEGER TEXT REAL JSON (JSON = text holding JSON) */
	bool hidden;      /* an argument */
};
enum { ROWSET_KEY = 30 };
struct rowset_spec {
	const char *name;
	const struct rowset_column *columns;
	unsigned n_columns;
	/* args: one text per hidden column, {NULL,0} when not given. *ret_state is given to next/close. */
	int (*open)(void *ctx, const struct text *args, void **ret_state, struct err *err);
	int (*next)(void *state, struct rowset *row, struct err *err); /* 1 row set, 0 end, ERR_* */
	void (*close)(void *state);
	/* May be NULL. Called when SQLite lets go of the table, before the connection closes: what holds statements ends them,
	 * or sqlite3_close() of another program's connection would refuse. The function may be asked again later. */
	void (*idle)(void *ctx);
	void (*done)(void *ctx); /* called when the registration ends, also when registering fails; may be NULL */
	/* Columns by which rows come, ascending, when rowset_in_order(): a statement that asks for that order (or its
	 * beginning) sorts nothing. */
	const unsigned *order;
	unsigned n_order;
	/* May be NULL. A column: rows whose cell is not equal to args[ROWSET_KEY], where that is given, need not come. */
	const unsigned *key;
	/* May be NULL. Called for a cell that next() left open, when the statement first reads it; may set others too. */
	int (*fill)(void *state, struct rowset *row, unsigned col, struct err *err);
};
int rowset_register(struct case_file *c, const struct rowset_spec *spec, void *ctx, struct err *err) MUST_CHECK;
bool rowset_in_order(const struct rowset *r);
/* Setters copy; a cell that is not set is NULL. */
void rowset_int(struct rowset *r, unsigned col, int64_t v);
void rowset_time(struct rowset *r, unsigned col, int64_t ns); /* NULL for TIME_UNKNOWN */
void rowset_real(struct rowset *r, unsigned col, double v);
void rowset_text(struct rowset *r, unsigned col, struct text v); /* NULL for ptr NULL */
/* Copies nothing: v stays as long as the program does. */
void rowset_const(struct rowset *r, unsigned col, const char *v);
