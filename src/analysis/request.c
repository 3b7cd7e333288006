/* SPDX-License-Identifier: Apache-2.0 */
/* request.c - which request a person means by a name, an alias, or the beginning of one
 *
 * A whole name or alias goes before a beginning of one. What fits several requests is an error that counts them and lists some:
 * clients choose some ids, so the same one can belong to several requests. Of those that share an id as their name, the
 * first is ID#1, the others ID#2, ID#3 …; the bare id is none of them.
 */
#include "pagetrail/analysis.h"
#include "pagetrail/buf.h"
#include "pagetrail/limits.h"
#include "request_id.h"

#include <string.h>

#define PREFIX_MIN     6
#define CANDIDATES_MAX 8
#define PREFIX_ROWS    64 /* as many as a look-up by prefix gives at most */

/* As much of a name as a message has room for. Whoever prints the message makes it harmless. */
static struct text shown_name(struct text name)
{
	size_t n = MIN(name.len, (size_t)64);
	while (n && n < name.len && ((unsigned char)name.ptr[n] & 0xc0) == 0x80)
		n--;
	return text_sub(name, 0, n);
}

/* Runs a lookup with one or two texts bound. 0 one request; 1 none; ERR_INPUT several. */
static int lookup(struct case_file *c, const char *sql, struct text name, struct text upto, int64_t *ret,
		  struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	CLEANUP(buf_done) struct buf list = BUF_INIT(16 * KIB);
	unsigned n = 0;
	size_t first = 0;
	int res = sql_prepare(&s, c, sql, err);
	if (!res)
		res = sql_text(s, 1, name, err);
	if (!res && upto.ptr)
		res = sql_text(s, 2, upto, err);
	while (!res && (res = sql_step(s, err)) == 1) {
		res = 0;
		if (!n++)
			*ret = sql_get_int(s, 0);
		if (n <= CANDIDATES_MAX && n > 1)
			res = buf_add(&list, ", ", 2, err);
		if (!res && n <= CANDIDATES_MAX)
			res = buf_add_text(&list, shown_name(sql_get_text(s, 1)), err);
		first = n == 1 ? list.len : first;
	}
	if (res || n == 1)
		return res;
	if (!n)
		return 1;
	err_set(err, ERR_INPUT, "'%.*s' is not unique: %u%s requests: %.*s%s", TEXT_ARG(shown_name(name)), n,
		n == PREFIX_ROWS ? " or more" : "", TEXT_ARG(text_sub(buf_text(&list), 0, 330)),
		n > CANDIDATES_MAX ? ", …" : "");
	return err_hint(err, "name one of them, as '%.*s'", TEXT_ARG(text_sub(buf_text(&list), 0, first)));
}

static int lookup_prefix(struct case_file *c, struct text name, int64_t *ret, struct err *err)
{
	char upto[NAME_MAX_BYTES + 1];
	size_t n = MIN(name.len, (size_t)NAME_MAX_BYTES);
	memcpy(upto, name.ptr, n);
	while (n && (unsigned char)upto[n - 1] == 0xff)
		n--;
	if (!n)
		return 1;
	upto[n - 1] = (char)((unsigned char)upto[n - 1] + 1);
	/* a prefix may begin the name and an alias of one request: that is still one */
	return lookup(
	    c,
	    "SELECT request, name FROM request WHERE request IN (SELECT request FROM request WHERE name >= ?1 AND "
	    "name < ?2 UNION SELECT request FROM alias WHERE value >= ?1 AND value < ?2 LIMIT 64) ORDER BY request",
	    name, (struct text){upto, n}, ret, err);
}

/* Requests of which this is the name, or was until it was made unique: numbers follow each other without a gap. The first
 * is shown with its number too. */
static int lookup_name(struct case_file *c, struct text name, int64_t *ret, struct err *err)
{
	return lookup(
	    c,
	    "WITH RECURSIVE same(n, name, request) AS (SELECT 1, ?1, (SELECT request FROM request WHERE name = ?1) "
	    "UNION ALL SELECT n + 1, ?1 || '#' || (n + 1), (SELECT request FROM request WHERE name = ?1 || '#' || "
	    "(n + 1)) FROM same WHERE request IS NOT NULL) SELECT request, CASE WHEN n = 1 AND (SELECT count(*) "
	    "FROM same) > 2 THEN name || '#1' ELSE name END FROM same WHERE request IS NOT NULL ORDER BY request",
	    name, (struct text){NULL, 0}, ret, err);
}

/* ID#1: the first of those that share an id. */
static int lookup_first(struct case_file *c, struct text name, int64_t *ret, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	if (name.len < 3 || memcmp(name.ptr + name.len - 2, "#1", 2) != 0)
		return 1;
	int res = sql_prepare(&s, c, "SELECT request FROM request WHERE name = ?1", err);
	if (!res)
		res = sql_text(s, 1, text_sub(name, 0, name.len - 2), err);
	if (!res)
		res = sql_step(s, err);
	if (res == 1)
		*ret = sql_get_int(s, 0);
	return res < 0 ? res : !res;
}

/* A name or alias with bytes that are no text, as JSON shows it: each of them as U+FFFD. Goes through all names. */
static int lookup_shown(struct case_file *c, struct text name, int64_t *ret, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	CLEANUP(buf_done) struct buf want = BUF_INIT(16 * KIB), have = BUF_INIT(1 * MIB);
	bool found = false;
	int res = buf_json_string(&want, name, err);
	if (!res)
		res = sql_prepare(&s, c, "SELECT request, name FROM request UNION ALL SELECT request, value FROM alias",
				  err);
	while (!res && (res = sql_step(s, err)) == 1) {
		struct text t = sql_get_text(s, 1);
		int64_t request = sql_get_int(s, 0);
		res = 0;
		if (text_utf8_valid(t))
			continue;
		buf_clear(&have);
		res = buf_json_string(&have, t, err);
		if (res || !text_eq(buf_text(&have), buf_text(&want)))
			continue;
		if (found && request != *ret) {
			err_set(err, ERR_INPUT, "'%.*s' is not unique: JSON shows the ids of several requests so",
				TEXT_ARG(shown_name(name)));
			return err_hint(err, "name one of them as tables print it, with \\xHH");
		}
		found = true;
		*ret = request;
	}
	return res ? res : !found;
}

/* By a name or an alias alike: a client that takes another's room for its own id hides nobody. */
static int lookup_both(struct case_file *c, struct text name, int64_t *ret, struct err *err)
{
	return lookup(
	    c,
	    "SELECT request, CASE WHEN name = ?1 THEN name || '#1' ELSE name END FROM request WHERE request IN "
	    "(SELECT request FROM request WHERE name = ?1 UNION SELECT request FROM alias WHERE value = ?1) "
	    "ORDER BY request",
	    name, (struct text){NULL, 0}, ret, err);
}

/* 0 one request; 1 none; ERR_INPUT several. */
static int find_whole(struct case_file *c, struct text name, int64_t *ret, struct err *err)
{
	int res = 1;
	bool usual = name.len && name.len <= 2 * NAME_MAX_BYTES;
	name = usual ? name : text_sub(name, 0, NAME_MAX_BYTES);
	if (usual)
		res = lookup_name(c, name, ret, err);
	if (res == 1)
		res = lookup_first(c, name, ret, err);
	else if (res == 0)
		res = lookup_both(c, name, ret, err);
	return res == 1 && name.len ? lookup_both(c, name, ret, err) : res;
}

/* The same; a beginning of it will do. */
static int find_name(struct case_file *c, struct text name, int64_t *ret, struct err *err)
{
	int res = find_whole(c, name, ret, err);
	if (res == 1 && name.len >= PREFIX_MIN && name.len <= NAME_MAX_BYTES)
		res = lookup_prefix(c, name, ret, err);
	return res;
}

/* One log writes an id with its prefix, another without, and a person has it from a third. */
static int find_other_prefix(struct case_file *c, struct text name, int64_t *ret, struct err *err)
{
	CLEANUP(buf_done) struct buf other = BUF_INIT(2 * NAME_MAX_BYTES);
	int res = 1;
	if (name.len < PREFIX_MIN || name.len > NAME_MAX_BYTES)
		return 1;
	struct text stem = id_stem(name);
	if (stem.len != name.len)
		res = find_name(c, stem, ret, err);
	for (size_t i = 0; i < ID_PREFIXES && res == 1; i++) {
		buf_clear(&other);
		res = buf_printf(&other, err, "%s%.*s", id_prefixes[i], TEXT_ARG(stem));
		if (!res)
			res = find_name(c, buf_text(&other), ret, err);
	}
	return res;
}

int request_find(struct case_file *c, struct text name, int64_t *ret, struct err *err)
{
	CLEANUP(buf_done) struct buf bytes = BUF_INIT(1 * MIB);
	int res = find_name(c, name, ret, err);
	/* as a table prints it, as JSON does */
	if (res == 1 && text_unvisible(name, &bytes, err))
		res = find_name(c, buf_text(&bytes), ret, err);
	if (res == 1)
		res = find_other_prefix(c, name, ret, err);
	if (res == 1 && text_find(name, "\xef\xbf\xbd", 0) != SIZE_MAX)
		res = lookup_shown(c, name, ret, err);
	if (res != 1)
		return res;
	err_set(err, ERR_INPUT, "no request is called '%.*s'", TEXT_ARG(shown_name(name)));
	return err_hint(err, "give an alias of the request, or at least the first %d characters of one", PREFIX_MIN);
}
