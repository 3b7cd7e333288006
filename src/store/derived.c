/* SPDX-License-Identifier: Apache-2.0 */
/* derived.c - the tables that follow from the events: their digest, and a second set of them to compare with
 *
 * The digest is over rows in the order in which they were written; those of requests have their own (row_tables.h). The second set lies in the connection's temporary
 * database, made with the text of schema.sql: the file itself is never touched, and cannot say how they are made.
 */
#include <stdio.h>
#include <string.h>

#include "canonical.h"
#include "pagetrail/row_tables.h"
#include "store.h"

const char *const derived_tables[] = {"worker",  "boot",     "tenant",     "gap", "clock",
				      "planted", "sighting", "name_block", NULL};

int derived_digest(struct case_file *c, char out[SHA256_HEX], struct err *err)
{
	unsigned char sha[SHA256_BYTES];
	struct sha256 *h = NULL;
	int r = sha256_new(&h, err);
	for (int i = 0; !r && derived_tables[i]; i++) {
		CLEANUP(sql_endp) struct sql *s = NULL;
		char text[128];
		snprintf(text, sizeof(text), "SELECT * FROM main.%s ORDER BY rowid", derived_tables[i]);
		r = sql_prepare(&s, c, text, err);
		if (!r)
			r = sha256_add(h, derived_tables[i], strlen(derived_tables[i]) + 1, err);
		if (!r)
			r = canonical_rows(h, s, err);
		if (r)
			err_where(err, "table %s", derived_tables[i]);
	}
	if (!r)
		r = row_tables_digest(c, h, err);
	if (r) {
		sha256_free(h);
		return r;
	}
	r = sha256_end(h, sha, err);
	if (!r)
		sha256_hex(sha, out);
	return r;
}

/* "CREATE TABLE name( … );" of schema.sql as a temporary table. */
static int shadow_one(struct case_file *c, const char *name, struct err *err)
{
	static const char create[] = "CREATE TABLE ";
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * KIB);
	char head[64];
	snprintf(head, sizeof(head), "%s%s(", create, name);
	const char *at = strstr(schema_sql, head), *end = at ? strstr(at, ";\n") : NULL;
	if (!end)
		return err_set(err, ERR_BUG, "schema.sql has no table %s", name);
	at += sizeof(create) - 1;
	int r = buf_printf(&b, err, "CREATE TEMP TABLE %.*s", (int)(end - at), at);
	return r ? r : sql_exec(c, b.ptr, err);
}

int derived_shadow(struct case_file *c, struct err *err)
{
	/* the switch is for statements of people; this connection cannot write to the file without it either */
	int r = sql_exec(c, "PRAGMA query_only=OFF; PRAGMA temp.cache_size=-16384", err);
	if (!r && sqlite3_get_autocommit(c->db))
		r = sql_exec(c, "BEGIN", err);
	for (int i = 0; !r && derived_tables[i]; i++)
		r = shadow_one(c, derived_tables[i], err);
	if (!r)
		r = shadow_one(c, "row_chunk", err);
	if (!r)
		r = shadow_one(c, "case_info", err);
	c->shadowed = !r;
	return r;
}

void derived_unshadow(struct case_file *c)
{
	case_rollback(c); /* the temporary tables go with it */
	c->shadowed = false;
	if (!case_writable(c))
		(void)sqlite3_exec(c->db, "PRAGMA query_only=ON", NULL, NULL, NULL);
}
