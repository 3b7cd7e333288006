/* SPDX-License-Identifier: Apache-2.0 */
/* vtab_common.c - what all read-only virtual tables do alike: being declared, and going away */
#include <string.h>

#include "vtab.h"

sqlite3_str *vtab_columns(sqlite3 *db)
{
	sqlite3_str *decl = sqlite3_str_new(db);
	sqlite3_str_appendall(decl, "CREATE TABLE x(");
	return decl;
}

void vtab_column(sqlite3_str *decl, const char *name, const char *type)
{
	const char *before = sqlite3_str_value(decl);
	bool first = !before || before[strlen(before) - 1] == '(';
	sqlite3_str_appendf(decl, "%s\"%w\" %s", first ? "" : ", ", name, type);
}

int vtab_connect(sqlite3 *db, sqlite3_str *decl, void *module, sqlite3_vtab **ret, char **zErr)
{
	struct vtab *t = sqlite3_malloc64(sizeof(*t));
	sqlite3_str_appendall(decl, ")");
	char *sql = sqlite3_str_finish(decl);
	int rc = sql && t ? sqlite3_declare_vtab(db, sql) : SQLITE_NOMEM;
	sqlite3_free(sql);
	if (rc != SQLITE_OK) {
		*zErr = sqlite3_mprintf("%s", sqlite3_errmsg(db));
		sqlite3_free(t);
		return rc;
	}
	sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	*t = (struct vtab){.m = module};
	*ret = &t->base;
	return SQLITE_OK;
}

int vtab_disconnect(sqlite3_vtab *vtab)
{
	sqlite3_free(vtab);
	return SQLITE_OK;
}
