/* SPDX-License-Identifier: Apache-2.0 */
/* leak_load.c - all of a case that is somebody's
 *
 * Requests are gone through with their aliases, responses and legs side by side, past SQL: a time that several of them name is
 * taken once.
 */
#include <stdlib.h>

#include "facts.h"
#include "leak.h"
#include "pagetrail/case_key.h"
#include "pagetrail/row_range.h"
#include "pagetrail/stamp.h"

static int load_tenants(struct leak *l, struct case_file *c, const struct audience_key *audience, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	char pseudonym[PSEUDONYM_SIZE];
	int rc = sql_prepare(&s, c, "SELECT tenant, name FROM tenant", err);
	while (!rc && (rc = sql_step(s, err)) == 1) {
		uint32_t tenant = (uint32_t)sql_get_int(s, 0);
		struct text name = sql_get_text(s, 1);
		rc = leak_add(l, LEAK_TENANT, name, tenant, err);
		if (!rc && audience)
			rc = pseudonym_of(audience, name, pseudonym, err);
		if (!rc && audience)
			rc = leak_add(l, LEAK_PSEUDONYM, text_of(pseudonym), tenant, err);
	}
	return rc;
}

enum { BOOKS = ROW_TABLES, REQUESTS_AT_ONCE = 1 << 15, TIMES_MAX = 64 };
struct tables {
	struct row_book *books[BOOKS];
	struct row_range *ranges[BOOKS];
	int64_t times[TIMES_MAX]; /* of the request at hand */
	unsigned n_times;
	uint32_t *tenants; /* by request */
	int64_t n;         /* requests */
};

static void ranges_free(struct tables *t)
{
	for (int i = 0; i < BOOKS; i++) {
		row_range_free(t->ranges[i]);
		t->ranges[i] = NULL;
	}
}

static int open_books(struct tables *t, struct case_file *c, struct err *err)
{
	static const uint32_t columns[BOOKS] = {
	    [ROWS_REQUEST] = 1u << REQUEST_TENANT | 1u << REQUEST_NAME | 1u << REQUEST_MODEL | 1u << REQUEST_FIRST_NS |
			     1u << REQUEST_LAST_NS,
	    [ROWS_ALIAS] = 1u << ALIAS_VALUE,
	    [ROWS_LEG] = 1u << LEG_ROW_STARTED_NS | 1u << LEG_ROW_FINISHED_NS,
	    [ROWS_RESPONSE] = 1u << RESPONSE_STARTED_NS | 1u << RESPONSE_FINISHED_NS};
	int rc = 0;
	for (int i = 0; !rc && i < BOOKS; i++)
		rc = row_book_open(&t->books[i], c, (enum row_table)i, columns[i], err);
	return rc;
}

static int add_time(struct leak *l, struct tables *t, int64_t ns, uint32_t tenant, struct err *err)
{
	for (unsigned i = 0; i < t->n_times; i++)
		if (t->times[i] == ns)
			return 0;
	if (t->n_times < TIMES_MAX)
		t->times[t->n_times++] = ns;
	return leak_add_time(l, ns, tenant, err);
}

/* Two columns of the rows that a table has of the request. */
static int add_times(struct leak *l, struct tables *t, enum row_table table, unsigned from, unsigned to,
		     int64_t request, uint32_t tenant, struct err *err)
{
	struct row_range *r = t->ranges[table];
	int rc = row_range_seek(r, request, err);
	while (rc == 1 && row_range_request(r) == request) {
		rc = add_time(l, t, row_range_int(r, from), tenant, err);
		if (!rc)
			rc = add_time(l, t, row_range_int(r, to), tenant, err);
		if (!rc)
			rc = row_range_next(r, err);
	}
	return MIN(rc, 0);
}

static int add_request(struct leak *l, struct tables *t, struct err *err)
{
	struct row_range *q = t->ranges[ROWS_REQUEST], *alias = t->ranges[ROWS_ALIAS];
	int64_t request = row_range_request(q), tenant_row = row_range_int(q, REQUEST_TENANT);
	uint32_t tenant = tenant_row > 0 ? (uint32_t)tenant_row : 0;
	t->n_times = 0;
	if (request >= 1 && request <= t->n)
		t->tenants[request] = tenant;
	int rc = leak_add_fact(l, row_range_text(q, REQUEST_MODEL), tenant, err);
	if (!rc)
		rc = leak_add(l, LEAK_REQUEST, row_range_text(q, REQUEST_NAME), tenant, err);
	if (!rc)
		rc = add_time(l, t, row_range_int(q, REQUEST_FIRST_NS), tenant, err);
	if (!rc)
		rc = add_time(l, t, row_range_int(q, REQUEST_LAST_NS), tenant, err);
	if (!rc)
		rc = row_range_seek(alias, request, err);
	while (rc == 1 && row_range_request(alias) == request) {
		rc = leak_add(l, LEAK_REQUEST, row_range_text(alias, ALIAS_VALUE), tenant, err);
		if (!rc)
			rc = row_range_next(alias, err);
	}
	if (rc >= 0)
		rc = add_times(l, t, ROWS_RESPONSE, RESPONSE_STARTED_NS, RESPONSE_FINISHED_NS, request, tenant, err);
	return rc ? rc : add_times(l, t, ROWS_LEG, LEG_ROW_STARTED_NS, LEG_ROW_FINISHED_NS, request, tenant, err);
}

static int load_range(struct leak *l, struct tables *t, int64_t from, int64_t to, struct err *err)
{
	int rc = 0;
	for (int i = 0; !rc && i < BOOKS; i++)
		rc = row_range_read(&t->ranges[i], t->books[i], from, to, err);
	if (!rc)
		rc = row_range_seek(t->ranges[ROWS_REQUEST], from, err);
	while (rc == 1 && row_range_request(t->ranges[ROWS_REQUEST]) <= to) {
		rc = add_request(l, t, err);
		if (!rc)
			rc = row_range_next(t->ranges[ROWS_REQUEST], err);
	}
	ranges_free(t);
	return MIN(rc, 0);
}

static int load_requests(struct leak *l, struct tables *t, struct case_file *c, struct err *err)
{
	int rc = open_books(t, c, err);
	t->n = rc ? 0 : row_book_rows(t->books[ROWS_REQUEST]);
	t->tenants = calloc((size_t)t->n + 1, sizeof(*t->tenants));
	if (!rc && !t->tenants)
		rc = err_nomem(err);
	if (!rc)
		rc = leak_room(l, (size_t)t->n + (size_t)row_book_rows(t->books[ROWS_ALIAS]), err);
	for (int64_t from = 1; !rc && from <= t->n; from += REQUESTS_AT_ONCE) {
		rc = case_stopped(c) ? err_set(err, ERR_INTERRUPTED, "stopped") : 0;
		if (!rc)
			rc = load_range(l, t, from, MIN(t->n, from + REQUESTS_AT_ONCE - 1), err);
	}
	return rc;
}

static int load_reads(struct leak *l, const struct tables *t, struct facts *f, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc =
	    sql_prepare(&s, f->c, "SELECT coalesce(reader_id, 0), first_read_at, last_read_at FROM exposures()", err);
	while (!rc && (rc = sql_step(s, err)) == 1) {
		int64_t reader = sql_get_int(s, 0);
		uint32_t tenant = reader >= 1 && reader <= t->n ? t->tenants[reader] : 0;
		rc = leak_add_time(l, sql_get_time(s, 1), tenant, err);
		if (!rc)
			rc = leak_add_time(l, sql_get_time(s, 2), tenant, err);
	}
	return rc;
}

int leak_load(struct leak *l, struct facts *f, const struct audience_key *audience, struct err *err)
{
	struct tables t = {.n_times = 0};
	int rc = load_tenants(l, f->c, audience, err);
	if (!rc)
		rc = load_requests(l, &t, f->c, err);
	if (!rc)
		rc = load_reads(l, &t, f, err);
	for (int i = 0; i < BOOKS; i++)
		row_book_close(t.books[i]);
	free(t.tenants);
	return rc;
}
