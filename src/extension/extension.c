/* SPDX-License-Identifier: Apache-2.0 */
/* extension.c - opens a case in the sqlite3 shell: .load build/src/extension/pagetrail
 *
 * The same virtual tables and functions that the program uses, on somebody else's connection. Nothing is written. The host
 * must use the shared libsqlite3 of the system, as Debian's shell and Python do.
 *
 * The first time it also brings the VFS "pagetrail", which checks each page that is read. It can only be named when a file is
 * opened, so with an empty database that is all that happens. SQLite keeps pointers to it: the library must stay loaded,
 * which its build says to the linker (-z nodelete), also where this function fails.
 */
#include <stdbool.h>

#include <sqlite3.h>

#include "pagetrail/analysis.h"

__attribute__((visibility("default"))) int sqlite3_pagetrail_init(sqlite3 *db, char **ret_message, const void *api);

/* A connection that nothing was opened with. */
static bool is_empty(sqlite3 *db)
{
	const char *path = sqlite3_db_filename(db, "main");
	return !path || !*path;
}

int sqlite3_pagetrail_init(sqlite3 *db, char **ret_message, const void *api)
{
	struct case_file *c = NULL;
	struct err err = {0};

	(void)api;
	if (!case_vfs())
		return SQLITE_NOMEM;
	if (is_empty(db))
		return SQLITE_OK;
	int rc = case_adopt(&c, db, &err);
	if (!rc)
		rc = resolve_needed(c, &err);
	if (rc == 1)
		rc = err_set(&err, ERR_STORE,
			     "the case holds evidence that is not correlated yet: run 'pagetrail ingest' on it");
	if (!rc)
		rc = analysis_register(c, NULL, &err);
	if (!rc)
		return SQLITE_OK;
	*ret_message = sqlite3_mprintf("pagetrail: %s", err.what);
	return SQLITE_ERROR;
}
