/* SPDX-License-Identifier: Apache-2.0 */
/* vtab.h - the virtual tables of a case: one file registers the events, one the records, one the
 * tables of requests */
#pragma once

#include "store.h"

int vtab_register_events(struct case_file *c, struct err *err) MUST_CHECK;
int vtab_register_records(struct case_file *c, struct err *err) MUST_CHECK;
int vtab_register_rows(struct case_file *c, struct err *err) MUST_CHECK;

/* A table on a connection, and what its registration owns. */
struct vtab {
	sqlite3_vtab base;
	void *m;
};

static inline void *vtab_module(sqlite3_vtab *vtab)
{
	return ((struct vtab *)vtab)->m;
}

/* xConnect: the columns, in order, then vtab_connect(), which ends decl. Tables read the case and nothing else: innocuous. */
sqlite3_str *vtab_columns(sqlite3 *db);
void vtab_column(sqlite3_str *decl, const char *name, const char *type);
int vtab_connect(sqlite3 *db, sqlite3_str *decl, void *module, sqlite3_vtab **ret, char **zErr);
int vtab_disconnect(sqlite3_vtab *vtab);

/* A bound of ts_ns or byte_off out of a constraint: integers as they are, reals rounded so that nothing is lost, NULL
 * and text give false (the constraint is then left to SQLite). */
static inline bool vtab_bound(sqlite3_value *v, bool lower, int64_t *ret)
{
	if (sqlite3_value_type(v) == SQLITE_INTEGER) {
		*ret = sqlite3_value_int64(v);
		return true;
	}
	if (sqlite3_value_type(v) != SQLITE_FLOAT)
		return false;
	double d = sqlite3_value_double(v);
	if (!(d > -9.2e18 && d < 9.2e18))
		return false;
	/* a real of this size is a multiple of up to 1024 */
	*ret = (int64_t)d + (lower ? -1024 : 1024);
	return true;
}
