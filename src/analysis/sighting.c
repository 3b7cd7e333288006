/* SPDX-License-Identifier: Apache-2.0 */
/* sighting.c - where the markers that were planted in requests were seen: the table, one row for a marker and a record */
#include "sighting_work.h"

#include <stdlib.h>

#include "pagetrail/analysis.h"
#include "pagetrail/limits.h"

/* What all accounts agree on is written; the rest is not known. */
static const struct account *only_account(const struct planted *p)
{
	return p->n == 1 ? &p->accounts[0] : NULL;
}

static int write_hit(struct sightings *s, struct sql *q, const struct hit *h, struct err *err)
{
	static const struct account none = {0};
	const struct planted *p = &s->planted[h->marker];
	const struct account *a = only_account(p) ? only_account(p) : &none;
	struct verdict v = sighting_verdict(p, h);
	int rc = sql_text(q, 1, p->text, err);
	const struct text texts[] = {text_of(spelling_names[s->needles[h->needle].spelled.how]),
				     text_of(part_names[h->part]),
				     a->said.planted_request,
				     a->said.planted_tenant,
				     text_of(tri_name(v.crosses)),
				     text_of(v.verdict),
				     text_of(v.reason)};
	const int64_t ints[] = {h->early, h->source, (int64_t)h->off, (int64_t)h->len, a->request, h->request};
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(texts); i++)
		rc = texts[i].ptr ? sql_text(q, (int)i + 2, texts[i], err) : sql_null(q, (int)i + 2, err);
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(ints); i++)
		rc = i > 3 && !ints[i] ? sql_null(q, (int)i + 9, err) : sql_int(q, (int)i + 9, ints[i], err);
	return rc == 0 ? sql_run(q, err) : rc;
}

/* Order of rows: by record, then marker, then part. */
static int record_cmp(const struct hit *x, const struct hit *y)
{
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	if (x->marker != y->marker)
		return x->marker < y->marker ? -1 : 1;
	return (int)x->part - (int)y->part;
}

static int row_cmp(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;
	int d = record_cmp(x, y);
	if (d)
		return d;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->needle > y->needle) - (x->needle < y->needle);
}

/* One row for a marker and a record, however often it stands there. */
static int write_hits(struct sightings *s, struct err *err)
{
	CLEANUP(sql_endp) struct sql *q = NULL;
	int rc = sql_prepare(
	    &q, s->c,
	    "INSERT INTO sighting(marker, spelling, part, planted_name, planted_tenant, cross_tenant, verdict, reason, "
	    "before_planted, source, byte_off, byte_len, planted_request, seen_request) "
	    "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
	    err);
	if (s->n)
		qsort(s->hits, s->n, sizeof(*s->hits), row_cmp);
	for (size_t i = 0; rc == 0 && i < s->n; i++)
		if (!i || record_cmp(&s->hits[i - 1], &s->hits[i]))
			rc = write_hit(s, q, &s->hits[i], err);
	return rc;
}

int sighting_write(struct case_file *c, struct err *err)
{
	struct sightings s = {.c = c, .seam = BUF_INIT(MIB)};
	arena_init(&s.arena, ARENA_MAX_BYTES);
	arena_init(&s.spellings, ARENA_MAX_BYTES);
	int rc = sql_prepare(&s.tenant, c, "SELECT coalesce(tenant, 0) FROM request WHERE request = ?1", err);
	if (rc == 0)
		rc = sighting_plan(&s, err);
	if (rc == 0 && s.n_planted)
		rc = sighting_search(&s, err);
	if (rc == 0 && s.n)
		rc = sighting_place(&s, err);
	if (rc == 0 && s.n)
		rc = sighting_judge(&s, err);
	if (rc == 0)
		rc = write_hits(&s, err);
	if (rc == 0)
		rc = sighting_plan_write(&s, err);
	sql_end(s.tenant);
	literals_thread_free(s.own);
	literals_free(s.literals);
	free(s.needles);
	free(s.hits);
	buf_done(&s.seam);
	arena_done(&s.arena);
	arena_done(&s.spellings);
	return rc;
}
