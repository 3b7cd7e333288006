/* SPDX-License-Identifier: Apache-2.0 */
/* kept.c - rows that many questions of a run look up, in temporary tables
 *
 * Notices ask about one tenant each: about its requests in exposures(), and about names of its rows. These are kept in temporary
 * tables of the connection with an index; a statement that reads just those columns gets the table in place of what it names. Same
 * rows, same answer. Where a temporary table cannot be made (no room for temporary files) statements run as they are, which
 * takes longer. The case itself is not written to: query_only is lifted for the temporary table alone and set again, and a
 * case opened for reading stays read-only below it. (findings() and exposed() are kept by the analysis: analysis_params.often.)
 */
#include <string.h>

#include "facts.h"

#define EXPOSURES_KEPT                                                                                              \
	"reader_tenant, cross_tenant, kind, tokens_at_most, delivered, grade, reader_id, owner_id, first_read_at, " \
	"last_read_at"

static const struct kept {
	const char *function, *table;
	const char *make; /* the table, of narrow columns */
	const char *fill;
	const char *index;       /* for questions about one tenant */
	const char *left_out[5]; /* wide columns; a statement that names one runs on the function */
} kept[] = {
    {"exposures()",
     "temp.kept_exposures",
     "CREATE TEMP TABLE kept_exposures(" EXPOSURES_KEPT ")",
     "INSERT INTO temp.kept_exposures SELECT " EXPOSURES_KEPT " FROM exposures()",
     "CREATE INDEX temp.kept_exposures_by_owner ON kept_exposures(owner_id)",
     {"refs", "worker", "pool", "pages", NULL}},
    /* what notices look up row by row, of those rows alone */
    {"FROM alias own_id",
     "FROM temp.kept_alias own_id",
     "CREATE TEMP TABLE kept_alias(request, kind, value)",
     "INSERT INTO temp.kept_alias SELECT request, kind, value FROM alias WHERE request IN (SELECT request_id FROM "
     "findings('C1,C2,C3,C5'))",
     "CREATE INDEX temp.kept_alias_by_request ON kept_alias(request)",
     {NULL}},
    {"JOIN request asked",
     "JOIN temp.kept_request asked",
     "CREATE TEMP TABLE kept_request(request, model)",
     "INSERT INTO temp.kept_request SELECT request, model FROM request WHERE request IN (SELECT request_id FROM "
     "exposed() WHERE class <> 'E4')",
     "CREATE INDEX temp.kept_request_by_request ON kept_request(request)",
     {NULL}},
};

static bool unlock(struct facts *f, struct err *err)
{
	return case_writable(f->c) || !sql_exec(f->c, "PRAGMA query_only=OFF", err);
}

static bool lock(struct facts *f, struct err *err)
{
	return case_writable(f->c) || !sql_exec(f->c, "PRAGMA query_only=ON", err);
}

/* All tables before the first is filled: a change of the schema makes SQLite let go of the functions, and they compute anew. */
void kept_make(struct facts *f)
{
	struct err ignored = {0};
	bool ok = unlock(f, &ignored);
	for (size_t i = 0; ok && i < ARRAY_SIZE(kept); i++)
		ok = !sql_exec(f->c, kept[i].make, &ignored) && !sql_exec(f->c, kept[i].index, &ignored);
	for (size_t i = 0; ok && i < ARRAY_SIZE(kept); i++) {
		ok = !sql_exec(f->c, kept[i].fill, &ignored);
		f->kept |= (unsigned)ok << i;
	}
	if (!lock(f, &ignored))
		f->kept = 0;
}

void kept_drop(struct facts *f)
{
	static const char *const drop[] = {"DROP TABLE IF EXISTS temp.kept_exposures",
					   "DROP TABLE IF EXISTS temp.kept_alias",
					   "DROP TABLE IF EXISTS temp.kept_request"};
	struct err ignored = {0};
	f->kept = 0;
	if (!unlock(f, &ignored))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(drop); i++)
		if (sql_exec(f->c, drop[i], &ignored))
			ignored.code = 0; /* it goes with the connection */
	if (!lock(f, &ignored))
		ignored.code = 0; /* the connection itself is read-only */
}

/* The statement behind the comments of its header, which name columns too. */
static const char *body_of(const char *text)
{
	while (text[0] == '-' && text[1] == '-') {
		const char *end = strchr(text, '\n');
		if (!end)
			break;
		text = end + 1;
	}
	return text;
}

static bool is_narrow(const struct kept *k, const char *body)
{
	for (size_t i = 0; k->left_out[i]; i++)
		if (strstr(body, k->left_out[i]))
			return false;
	return true;
}

/* b gets the statement with the kept table for each call of the function that it stands for. */
static int replace(const struct kept *k, const char *body, struct buf *b, struct err *err)
{
	const char *at;
	int rc = 0;
	while (!rc && (at = strstr(body, k->function))) {
		rc = buf_add(b, body, (size_t)(at - body), err);
		if (!rc)
			rc = buf_add_text(b, text_of(k->table), err);
		body = at + strlen(k->function);
	}
	return rc ? rc : buf_add_text(b, text_of(body), err);
}

int kept_prepare(struct sql **ret, struct facts *f, const char *text, struct err *err)
{
	CLEANUP(buf_done) struct buf one = BUF_INIT(1 * MIB);
	CLEANUP(buf_done) struct buf two = BUF_INIT(1 * MIB);
	struct buf *now = &one, *next = &two;
	const char *body = body_of(text);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		if (!(f->kept >> i & 1) || !strstr(body, kept[i].function) || !is_narrow(&kept[i], body))
			continue;
		buf_clear(next);
		int rc = replace(&kept[i], body, next, err);
		if (rc)
			return rc;
		body = next->ptr;
		struct buf *other = now;
		now = next;
		next = other;
	}
	return sql_prepare(ret, f->c, body, err);
}
