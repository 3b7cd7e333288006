/* SPDX-License-Identifier: Apache-2.0 */
/* seam_files.c - which files are those of one log that was rotated
 *
 * A path without what a rotation adds to it is a key. Where a file was found at two paths, or is the beginning of one at another
 * path, their keys are of one log: it was collected twice, and each time other files of it were there.
 */
#include <stdlib.h>
#include <string.h>

#include "pagetrail/array.h"
#include "repeat.h"
#include "seam.h"

struct place { /* a source, at a path */
	int64_t source;
	struct text key;
	size_t id; /* of the key */
	bool touched;
};

struct places {
	struct session *s;
	struct arena *a;
	struct place *at;
	size_t n, cap;
	struct seam_file *files; /* by source */
	size_t n_files, cap_files;
	size_t at_known; /* in the list of custody */
	size_t *parent;  /* of keys of one log: one before it, or itself */
};

/* --- names --- */

/* In an archive its own folders count. */
static int key_of(struct places *p, struct text path, struct text *ret, struct rotation *ret_name, struct err *err)
{
	size_t bang = text_rfind_char(path, '!');
	struct rotation r = rotation_of(bang == SIZE_MAX ? path : text_from(path, bang + 1));
	size_t dot = text_find_char(r.tail, '.', 0);
	struct text end = dot == SIZE_MAX ? TEXT("") : text_from(r.tail, dot); /* x-20261201.log is one of x.log */
	char *key = arena_alloc(p->a, r.stem.len + end.len + 1);
	if (!key)
		return err_nomem(err);
	memcpy(key, r.stem.ptr, r.stem.len);
	memcpy(key + r.stem.len, end.ptr, end.len);
	*ret = (struct text){key, r.stem.len + end.len};
	if (ret_name)
		*ret_name = r;
	return 0;
}

int seam_older(const struct seam_file *a, const struct seam_file *b)
{
	const struct rotation *x = &a->name, *y = &b->name;
	if (x->dated && y->dated)
		return x->index != y->index ? (x->index < y->index ? -1 : 1) : text_cmp(x->tail, y->tail);
	if (x->dated != y->dated)
		return x->numbered || y->numbered ? 0 : x->dated ? -1 : 1;
	return x->index > y->index ? -1 : x->index < y->index;
}

static bool has_digit(struct text t)
{
	bool ret = false;
	for (size_t i = 0; i < t.len; i++)
		ret |= t.ptr[i] >= '0' && t.ptr[i] <= '9';
	return ret;
}

bool seam_left_out(const struct seam_file *a, const struct seam_file *b)
{
	const struct rotation *x = &a->name, *y = &b->name;
	int64_t apart = x->index < y->index ? y->index - x->index : x->index - y->index;
	bool days = x->dated && y->dated && !has_digit(x->tail) && !has_digit(y->tail);
	return text_eq(x->stem, y->stem) && apart > 1 && (days || (!x->dated && !y->dated));
}

/* --- files and where they were found --- */

static const struct wrapper *outermost(const struct session *s, struct text format)
{
	struct stack stack;
	const struct wrapper *w;
	if (!stack_find(format, s->formats.list, s->formats.n, s->o->wrappers, s->o->n_wrappers, &stack) || !stack.n)
		return NULL;
	w = stack.wrap[0];
	return w->shape == SHAPE_LINES && !w->frame ? w : NULL;
}

static int add_place(struct places *p, int64_t source, struct text path, bool touched, struct rotation *ret_name,
		     struct err *err)
{
	int rc = grow_array((void **)&p->at, &p->cap, p->n, sizeof(*p->at), err);
	if (rc < 0)
		return rc;
	struct place *to = &p->at[p->n++];
	*to = (struct place){.source = source, .touched = touched};
	return key_of(p, path, &to->key, ret_name, err);
}

/* Rows and list have about the same order. */
static const struct known *find_known(struct places *p, int64_t source)
{
	const struct custody *k = &p->s->custody;
	while (p->at_known < k->n && k->known[p->at_known].source < source)
		p->at_known++;
	if (p->at_known < k->n && k->known[p->at_known].source == source)
		return &k->known[p->at_known];
	return custody_find(k, source);
}

/* q: source, path, format, worker, worker_alias, bytes, reason. */
static int add_file(struct places *p, struct sql *q, bool all, struct err *err)
{
	int64_t source = sql_get_int(q, 0), whole = repeat_whole(sql_get_text(q, 6));
	const struct known *k = find_known(p, source);
	const struct wrapper *w = outermost(p->s, sql_get_text(q, 2));
	bool touched = all || (k && k->touched);
	if (whole) /* its records are the other one's */
		return add_place(p, whole, sql_get_text(q, 1), touched, NULL, err);
	if (sql_get_text(q, 2).len && !w)
		return 0;
	int rc = grow_array((void **)&p->files, &p->cap_files, p->n_files, sizeof(*p->files), err);
	if (rc < 0)
		return rc;
	struct seam_file *f = &p->files[p->n_files++];
	*f = (struct seam_file){.source = source, .wrap = w, .bytes = (uint64_t)sql_get_int(q, 5)};
	f->path = arena_text(p->a, sql_get_text(q, 1));
	f->worker = arena_text(p->a, sql_get_text(q, 3));
	f->alias = arena_text(p->a, sql_get_text(q, 4));
	if (!f->path.ptr || !f->worker.ptr || !f->alias.ptr)
		return err_nomem(err);
	return add_place(p, source, f->path, touched, &f->name, err);
}

/* The journal has all paths at which a source was found. */
static int load(struct places *p, bool all, struct err *err)
{
	CLEANUP(sql_endp) struct sql *q = NULL;
	CLEANUP(sql_endp) struct sql *again = NULL;
	int rc =
	    sql_prepare(&q, p->s->c,
			"SELECT source, path, format, worker, worker_alias, bytes, coalesce(reason, '') FROM source "
			"WHERE container <> '" CONTAINER_SEAM "' AND bytes > 0 AND status IN ('ingested', "
			"'unrecognised') ORDER BY source",
			err);
	while (rc == 0 && (rc = sql_step(q, err)) == 1)
		rc = add_file(p, q, all, err);
	if (rc == 0) /* as a source that was taken out meanwhile, its number says nothing */
		rc = sql_prepare(
		    &again, p->s->c,
		    "WITH said AS (SELECT seq, action, json_extract(detail, '$.source') AS source, "
		    "json_extract(detail, '$.path') AS path FROM journal WHERE action IN ('drop', 'ingest') AND "
		    "json_valid(detail)), "
		    "gone AS MATERIALIZED (SELECT source, max(seq) AS seq FROM said WHERE action = 'drop' GROUP BY "
		    "source) SELECT DISTINCT s.source, s.path FROM said AS s LEFT JOIN gone USING(source) WHERE "
		    "s.action = 'ingest' AND s.source IS NOT NULL AND s.path IS NOT NULL AND s.seq > "
		    "coalesce(gone.seq, 0)",
		    err);
	while (rc == 0 && (rc = sql_step(again, err)) == 1)
		rc = add_place(p, sql_get_int(again, 0), sql_get_text(again, 1), false, NULL, err);
	return rc;
}

/* --- logs --- */

static int key_cmp(const void *a, const void *b)
{
	return text_cmp(((const struct place *)a)->key, ((const struct place *)b)->key);
}

static int source_cmp(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	return x->source < y->source ? -1 : x->source > y->source;
}

static int file_cmp(const void *a, const void *b)
{
	const struct seam_file *x = a, *y = b;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->source < y->source ? -1 : x->source > y->source;
}

static size_t root_of(const struct places *p, size_t key)
{
	while (p->parent[key] != key)
		key = p->parent[key] = p->parent[p->parent[key]];
	return key;
}

/* Keys at which one source was found are of one log. */
static int unite(struct places *p, struct err *err)
{
	p->parent = calloc(p->n + 1, sizeof(*p->parent));
	if (!p->parent)
		return err_nomem(err);
	if (p->n)
		qsort(p->at, p->n, sizeof(*p->at), key_cmp);
	for (size_t i = 0; i < p->n; i++) {
		p->at[i].id = i && text_eq(p->at[i].key, p->at[i - 1].key) ? p->at[i - 1].id : i;
		p->parent[i] = i;
	}
	if (p->n)
		qsort(p->at, p->n, sizeof(*p->at), source_cmp);
	for (size_t i = 1; i < p->n; i++) {
		size_t a = root_of(p, p->at[i - 1].id), b = root_of(p, p->at[i].id);
		if (p->at[i].source == p->at[i - 1].source)
			p->parent[MAX(a, b)] = MIN(a, b);
	}
	return 0;
}

static int group(struct places *p, struct err *err)
{
	int rc = unite(p, err);
	bool *touched = rc == 0 ? calloc(p->n + 1, sizeof(*touched)) : NULL;
	if (rc == 0 && !touched)
		rc = err_nomem(err);
	for (size_t i = 0; rc == 0 && i < p->n; i++)
		touched[root_of(p, p->at[i].id)] |= p->at[i].touched;
	for (size_t i = 0, k = 0; rc == 0 && i < p->n_files; i++) { /* both are in the order of sources */
		while (p->at[k].source < p->files[i].source)
			k++;
		p->files[i].group = root_of(p, p->at[k].id);
		p->files[i].touched = touched[p->files[i].group];
	}
	free(touched);
	if (rc == 0 && p->n_files)
		qsort(p->files, p->n_files, sizeof(*p->files), file_cmp);
	return rc;
}

static int any_seam(struct session *s, struct err *err)
{
	CLEANUP(sql_endp) struct sql *q = NULL;
	int rc = sql_prepare(&q, s->c, "SELECT 1 FROM seam LIMIT 1", err);
	return rc < 0 ? rc : sql_step(q, err);
}

static bool any_touched(const struct custody *k)
{
	for (size_t i = 0; i < k->n; i++)
		if (k->known[i].touched)
			return true;
	return false;
}

int seam_files(struct session *s, bool all, struct arena *a, struct seam_file **ret, size_t *ret_n, struct err *err)
{
	struct places p = {.s = s, .a = a};
	int rc = all || any_touched(&s->custody) ? any_seam(s, err) : 0;
	if (rc == 1)
		rc = load(&p, all, err);
	if (rc == 0 && p.n_files)
		rc = group(&p, err);
	free(p.at);
	free(p.parent);
	*ret = p.files;
	*ret_n = rc == 0 ? p.n_files : 0;
	return rc;
}
