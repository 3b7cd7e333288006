/* SPDX-License-Identifier: Apache-2.0 */
/* leak_load.c - all of a case that is somebody's */
#include <stdlib.h>

#include "facts.h"
#include "leak.h"
#include "pagetrail/case_key.h"
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

/* Whose a request is, by its number. */
struct owners {
	uint32_t *tenant;
	size_t n, cap;
};

static uint32_t owner(const struct owners *o, int64_t request)
{
	return request >= 0 && (size_t)request < o->n ? o->tenant[request] : 0;
}

static int load_requests(struct leak *l, struct case_file *c, struct owners *o, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, c, "SELECT request, coalesce(tenant, 0), name, first_ns, last_ns FROM request", err);
	while (!rc && (rc = sql_step(s, err)) == 1) {
		size_t at = (size_t)sql_get_int(s, 0);
		while (at >= o->cap) {
			size_t cap = o->cap ? o->cap * 2 : 4096;
			uint32_t *more = cap < UINT32_MAX ? realloc(o->tenant, cap * sizeof(*more)) : NULL;
			if (!more)
				return err_nomem(err);
			o->tenant = more;
			o->cap = cap;
		}
		for (; o->n <= at; o->n++)
			o->tenant[o->n] = 0;
		o->tenant[at] = (uint32_t)sql_get_int(s, 1);
		rc = leak_add(l, LEAK_REQUEST, sql_get_text(s, 2), o->tenant[at], err);
		for (int i = 3; !rc && i < 5; i++)
			rc = leak_add_time(l, sql_get_time(s, i), o->tenant[at], err);
	}
	return rc;
}

static int load_ids(struct leak *l, struct case_file *c, const struct owners *o, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, c, "SELECT request, value FROM alias", err);
	while (!rc && (rc = sql_step(s, err)) == 1)
		rc = leak_add(l, LEAK_REQUEST, sql_get_text(s, 1), owner(o, sql_get_int(s, 0)), err);
	return rc;
}

/* The first column is a request, the others times. */
static int load_times(struct leak *l, struct facts *f, const struct owners *o, const char *sql, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = kept_prepare(&s, f, sql, err);
	while (!rc && (rc = sql_step(s, err)) == 1) {
		rc = 0;
		for (int i = 1; !rc && i < sql_columns(s); i++)
			rc = leak_add_time(l, sql_get_time(s, i), owner(o, sql_get_int(s, 0)), err);
	}
	return rc;
}

int leak_load(struct leak *l, struct facts *f, const struct audience_key *audience, struct err *err)
{
	struct owners o = {NULL};
	struct case_file *c = f->c;
	int rc = load_tenants(l, c, audience, err);
	if (!rc)
		rc = load_requests(l, c, &o, err);
	if (!rc)
		rc = load_ids(l, c, &o, err);
	if (!rc)
		rc = load_times(l, f, &o, "SELECT request, started_ns, finished_ns FROM response", err);
	if (!rc)
		rc = load_times(l, f, &o, "SELECT request, started_ns, finished_ns FROM leg", err);
	if (!rc)
		rc = load_times(l, f, &o,
				"SELECT coalesce(reader_id, -1), first_read_at, last_read_at FROM exposures()", err);
	free(o.tenant);
	return rc;
}
