/* SPDX-License-Identifier: Apache-2.0 */
/* seam.c - records that a rotation cut are joined, when all files of a run were read
 *
 * What has to be joined follows from the files of one rotation alone, and is made out anew for those rotations of which a file
 * came or changed. Then the case is brought to it: what is joined as it should be stays. A joined source is stored first; that
 * its lines are duplicate in the files, and that these have no events of them, is one transaction. So a run that dies leaves at
 * most a source that nothing refers to, and the next run begins with that.
 */
#include "seam.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/array.h"
#include "pagetrail/evidence.h"

enum { PARTS_MAX = 16 };

struct part { /* of a record, in one file */
	size_t file;
	struct spans lines;
	uint64_t bytes;
};

struct cut { /* a record that a file ends in the middle of */
	size_t file;
	int64_t record, last_ns;
	struct part part;
	struct buf facts;
	bool good, inside; /* inside: the file does not begin it either */
};

struct chain { /* one record */
	struct part part[PARTS_MAX];
	unsigned n;
	size_t cut;    /* that it begins with */
	int64_t whole; /* source that it is joined in; 0: none yet */
	bool refused;
};

struct numbers {
	int64_t *at;
	size_t n, cap;
};

struct seams {
	struct session *s;
	struct arena arena;
	struct seam_file *files;
	size_t n_files;
	struct cut *cuts; /* of the files at hand */
	size_t n_cuts, cap_cuts;
	struct chain *chains;
	size_t n_chains, cap_chains;
	struct numbers before;  /* joined sources that the files at hand have lines in, so far */
	struct numbers changed; /* files that have to be read again */
};

/* --- small things --- */

static bool numbers_have(const struct numbers *l, int64_t v)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->at[i] == v)
			return true;
	return false;
}

static int numbers_add(struct numbers *l, int64_t v, struct err *err)
{
	if (numbers_have(l, v))
		return 0;
	int rc = grow_array((void **)&l->at, &l->cap, l->n, sizeof(*l->at), err);
	if (rc == 0)
		l->at[l->n++] = v;
	return rc;
}

static int prepare(struct seams *x, struct sql **ret, const char *statement, const int64_t *v, int n, struct err *err)
{
	int rc = sql_prepare(ret, x->s->c, statement, err);
	for (int i = 0; i < n && rc == 0; i++)
		rc = sql_int(*ret, i + 1, v[i], err);
	return rc;
}

static int run(struct seams *x, const char *statement, const int64_t *v, int n, struct err *err)
{
	CLEANUP(sql_endp) struct sql *q = NULL;
	int rc = prepare(x, &q, statement, v, n, err);
	return rc < 0 ? rc : sql_run(q, err);
}

static int list_numbers(struct seams *x, const char *statement, int64_t v, struct numbers *ret, struct err *err)
{
	CLEANUP(sql_endp) struct sql *q = NULL;
	int rc = prepare(x, &q, statement, &v, strchr(statement, '?') ? 1 : 0, err);
	while (rc == 0 && (rc = sql_step(q, err)) == 1)
		rc = numbers_add(ret, sql_get_int(q, 0), err);
	return rc;
}

int seam_ends(struct session *s, int64_t source, const struct unended *list, size_t n, struct err *err)
{
	struct seams x = {.s = s};
	int rc = run(&x, "DELETE FROM seam WHERE source = ?1", &source, 1, err);
	for (size_t i = 0; i < n && rc == 0; i++) {
		const int64_t v[] = {source, (int64_t)list[i].span.off, (int64_t)list[i].span.len, list[i].record};
		rc = run(&x, "INSERT INTO seam(source, byte_off, byte_len, record) VALUES(?1, ?2, ?3, ?4)", v, 4, err);
	}
	return rc;
}

/* --- which records are cut --- */

static int load_cuts(struct seams *x, size_t file, struct err *err)
{
	CLEANUP(sql_endp) struct sql *q = NULL;
	struct cut *c = NULL;
	int rc = prepare(x, &q,
			 "SELECT record, byte_off, byte_len FROM seam WHERE source = ?1 AND record > 0 "
			 "ORDER BY record, byte_off",
			 &x->files[file].source, 1, err);
	while (rc == 0 && (rc = sql_step(q, err)) == 1) {
		int64_t record = sql_get_int(q, 0);
		uint64_t off = (uint64_t)sql_get_int(q, 1), len = (uint64_t)sql_get_int(q, 2);
		rc = 0;
		if (!c || c->record != record) {
			rc = grow_array((void **)&x->cuts, &x->cap_cuts, x->n_cuts, sizeof(*x->cuts), err);
			if (rc < 0)
				break;
			c = &x->cuts[x->n_cuts++];
			*c = (struct cut){.file = file, .record = record, .facts = BUF_INIT(8 * NAME_MAX_BYTES)};
			c->part.file = file;
		}
		c->part.bytes += len;
		rc = spans_add(&c->part.lines, off, len, err);
	}
	return rc;
}

static int find_cuts(struct seams *x, size_t from, size_t to, struct err *err)
{
	int rc = 0;
	for (size_t i = from; i < to && rc == 0; i++)
		rc = load_cuts(x, i, err);
	for (size_t i = 0; i < x->n_cuts && rc == 0; i++) {
		struct cut *c = &x->cuts[i];
		const struct seam_file *f = &x->files[c->file];
		c->last_ns = TIME_UNKNOWN;
		if (!f->wrap)
			continue;
		rc = seam_end(x->s, f, &c->part.lines, &c->facts, &c->last_ns, err);
		c->good = rc == 1;
		rc = MIN(rc, 0);
	}
	return rc;
}

/* --- how they go on --- */

static bool one_name(struct text a, struct text b)
{
	return a.len && text_eq(a, b);
}

/* A log whose start is in an older file is named after what that one says, the others after their path. */
static bool of_one_worker(const struct seam_file *a, const struct seam_file *b)
{
	return one_name(a->worker, b->worker) || one_name(a->worker, b->alias) || one_name(a->alias, b->worker) ||
	       (!a->worker.len && !b->worker.len);
}

static bool close_by(const struct seam_file *a, const struct seam_file *b, uint64_t apart)
{
	uint64_t one = stamps_apart(a->first_ns, a->last_ns), other = stamps_apart(b->first_ns, b->last_ns);
	return a->first_ns != TIME_UNKNOWN && b->first_ns != TIME_UNKNOWN && a->first_ns <= a->last_ns &&
	       b->first_ns <= b->last_ns && apart <= MIN(one, other) / SEAM_SHARE;
}

static bool in_chain(const struct chain *c, size_t file)
{
	for (unsigned i = 0; i < c->n; i++)
		if (c->part[i].file == file)
			return true;
	return false;
}

/* The rest in this file, if it may be the next one: 1; 2 a doubt. */
static int look_at(struct seams *x, const struct chain *c, const struct cut *cut, int64_t after_ns, size_t file,
		   struct seam_rest *ret, struct err *err)
{
	const struct seam_file *before = &x->files[c->part[c->n - 1].file];
	const struct wrapper *w = x->files[cut->file].wrap;
	struct seam_file *f = &x->files[file];
	*ret = (struct seam_rest){0};
	if (in_chain(c, file) || !of_one_worker(&x->files[cut->file], f) || (f->wrap && f->wrap != w))
		return 0;
	int rc = seam_look(x->s, w, f, err);
	if (rc < 0 || f->first_ns == TIME_UNKNOWN || stamps_apart(f->first_ns, after_ns) > SEAM_APART_NS)
		return rc;
	rc = seam_rest(x->s, w, f, buf_text(&cut->facts), after_ns, ret, err);
	/* Docker gives all pieces of a record one time */
	if (rc != 1 || ret->first_ns != after_ns || seam_older(f, before) >= 0)
		return rc;
	seam_rest_done(ret);
	return 0;
}

/* Of two that may go on, the nearer: -1 a, 1 b, 0 nobody knows. */
static int nearer(const struct seam_file *a, const struct seam_rest *of_a, const struct seam_file *b,
		  const struct seam_rest *of_b)
{
	if (of_a->first_ns != of_b->first_ns)
		return of_a->first_ns < of_b->first_ns ? -1 : 1;
	return seam_older(a, b);
}

/* The record that this file ends in the middle of is the one that goes on in it. */
static void mark_inside(struct seams *x, size_t file, const struct spans *lines)
{
	for (size_t i = 0; i < x->n_cuts; i++)
		if (x->cuts[i].file == file && x->cuts[i].part.lines.at[0].off == lines->at[0].off)
			x->cuts[i].inside = true;
}

/* Of all files the one in which it goes on next: 1. It has to be the nearest: where it cannot be that one, or two are equally near, or
 * one may be it that is not understood, it is none. */
static int next_part(struct seams *x, const struct chain *c, const struct cut *cut, int64_t after_ns, size_t from,
		     size_t to, struct seam_rest *ret, size_t *ret_file, struct err *err)
{
	struct seam_file *before = &x->files[c->part[c->n - 1].file];
	bool doubt = false, tie = false;
	int rc = 0;
	*ret = (struct seam_rest){0};
	for (size_t i = from; i < to && rc >= 0; i++) {
		struct seam_rest r;
		rc = look_at(x, c, cut, after_ns, i, &r, err);
		doubt |= rc == 2;
		if (rc != 1)
			continue;
		int which = ret->lines.n ? nearer(&x->files[i], &r, &x->files[*ret_file], ret) : -1;
		tie = which == 0 || (which > 0 && tie);
		if (which < 0) {
			seam_rest_done(ret);
			*ret = r;
			*ret_file = i;
		} else {
			seam_rest_done(&r);
		}
	}
	if (rc >= 0 && ret->lines.n) {
		mark_inside(x, *ret_file, &ret->lines);
		rc = seam_look(x->s, x->files[cut->file].wrap, before, err);
		if (rc == 0 && !doubt && !tie && !seam_left_out(before, &x->files[*ret_file]) &&
		    close_by(before, &x->files[*ret_file], stamps_apart(ret->first_ns, after_ns)))
			return 1;
	}
	seam_rest_done(ret);
	return MIN(rc, 0);
}

static void chain_free(struct chain *c)
{
	for (unsigned i = 0; i < c->n; i++)
		free(c->part[i].lines.at);
	c->n = 0;
}

static int copy_part(struct chain *c, const struct part *p, struct err *err)
{
	struct part *to = &c->part[c->n++];
	int rc = 0;
	*to = (struct part){.file = p->file, .bytes = p->bytes};
	for (size_t i = 0; i < p->lines.n && rc == 0; i++)
		rc = spans_add(&to->lines, p->lines.at[i].off, p->lines.at[i].len, err);
	return rc;
}

/* All parts of the record, up to its end: 1. */
static int follow(struct seams *x, const struct cut *cut, size_t from, size_t to, struct chain *ret, struct err *err)
{
	int64_t after_ns = cut->last_ns;
	uint64_t bytes = cut->part.bytes;
	int rc = copy_part(ret, &cut->part, err);
	while (rc == 0 && ret->n < PARTS_MAX) {
		struct seam_rest r;
		size_t file = 0;
		rc = next_part(x, ret, cut, after_ns, from, to, &r, &file, err);
		if (rc != 1)
			return rc;
		bytes += r.bytes;
		ret->part[ret->n++] = (struct part){file, r.lines, r.bytes};
		after_ns = r.last_ns;
		if (r.ends)
			return bytes <= SEAM_MAX_BYTES;
		rc = 0;
	}
	return rc;
}

/* Two records cannot go on in the same lines: which of them does, nobody knows. */
static bool collide(const struct chain *a, const struct chain *b)
{
	for (unsigned i = 1; i < a->n; i++)
		for (unsigned k = 1; k < b->n; k++)
			if (a->part[i].file == b->part[k].file &&
			    a->part[i].lines.at[0].off == b->part[k].lines.at[0].off)
				return true;
	return false;
}

/* Leaves those that begin where their record begins, and have their lines for themselves. */
static void sift(struct seams *x)
{
	size_t n = 0;
	for (size_t i = 0; i < x->n_chains; i++) {
		if (x->cuts[x->chains[i].cut].inside)
			chain_free(&x->chains[i]);
		else
			x->chains[n++] = x->chains[i];
	}
	x->n_chains = n;
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			if (collide(&x->chains[i], &x->chains[k]))
				x->chains[i].refused = x->chains[k].refused = true;
	for (size_t i = x->n_chains = 0; i < n; i++) {
		if (x->chains[i].refused)
			chain_free(&x->chains[i]);
		else
			x->chains[x->n_chains++] = x->chains[i];
	}
}

static int plan(struct seams *x, size_t from, size_t to, struct err *err)
{
	int rc = find_cuts(x, from, to, err);
	for (size_t i = 0; i < x->n_cuts && rc == 0; i++) {
		if (!x->cuts[i].good)
			continue;
		rc = grow_array((void **)&x->chains, &x->cap_chains, x->n_chains, sizeof(*x->chains), err);
		if (rc < 0)
			break;
		struct chain *c = &x->chains[x->n_chains];
		*c = (struct chain){.cut = i};
		rc = follow(x, &x->cuts[i], from, to, c, err);
		if (rc == 1)
			x->n_chains++;
		else
			chain_free(c);
		rc = MIN(rc, 0);
	}
	if (rc == 0)
		sift(x);
	return rc;
}

/* --- bringing the case to it --- */

/* Is it joined as it should be? Then c->whole says where. */
static int is_joined(struct seams *x, struct chain *c, struct err *err)
{
	CLEANUP(sql_endp) struct sql *q = NULL;
	const int64_t first[] = {x->files[c->part[0].file].source, (int64_t)c->part[0].lines.at[0].off};
	int64_t rows = 0;
	int rc = prepare(x, &q,
			 "SELECT whole, (SELECT count(*) FROM seam AS n WHERE n.whole = s.whole) FROM seam AS s "
			 "WHERE source = ?1 AND byte_off = ?2 AND whole IS NOT NULL",
			 first, 2, err);
	if (rc == 0)
		rc = sql_step(q, err);
	if (rc <= 0)
		return rc;
	int64_t whole = sql_get_int(q, 0), want = sql_get_int(q, 1);
	for (unsigned i = 0; i < c->n; i++)
		for (size_t k = 0; k < c->part[i].lines.n; k++) {
			CLEANUP(sql_endp) struct sql *row = NULL;
			const struct span *line = &c->part[i].lines.at[k];
			const int64_t v[] = {x->files[c->part[i].file].source, (int64_t)line->off, (int64_t)line->len,
					     whole};
			rc = prepare(
			    x, &row,
			    "SELECT 1 FROM seam WHERE source = ?1 AND byte_off = ?2 AND byte_len = ?3 AND whole = ?4",
			    v, 4, err);
			if (rc == 0)
				rc = sql_step(row, err);
			if (rc <= 0)
				return rc;
			rows++;
		}
	if (rows == want)
		c->whole = whole;
	return 0;
}

static int read_lines(struct seams *x, const struct chain *c, struct buf *out, struct err *err)
{
	int rc = 0;
	for (unsigned i = 0; i < c->n && rc == 0; i++)
		for (size_t k = 0; k < c->part[i].lines.n && rc == 0; k++) {
			const struct span *line = &c->part[i].lines.at[k];
			rc = evidence_read(x->s->c, x->files[c->part[i].file].source, line->off, line->len, out, err);
		}
	return rc;
}

static struct text name_of(struct text path)
{
	size_t slash = text_rfind_char(path, '/'), bang = text_rfind_char(path, '!');
	size_t at = slash == SIZE_MAX ? bang : bang == SIZE_MAX ? slash : MAX(slash, bang);
	return at == SIZE_MAX ? path : text_from(path, at + 1);
}

static int put_name(struct seams *x, const struct chain *c, struct buf *out, struct err *err)
{
	struct text path = x->files[c->part[0].file].path;
	int rc = buf_printf(out, err, "%.*s: a record at its end, joined with the rest in ", TEXT_ARG(path));
	for (unsigned i = 1; i < c->n && rc == 0; i++)
		rc = buf_printf(out, err, "%s%.*s", i > 1 ? " and " : "",
				TEXT_ARG(name_of(x->files[c->part[i].file].path)));
	return rc ? rc : buf_add_char(out, '\0', err);
}

/* The source that has just these bytes; 0 none. */
static int find_stored(struct seams *x, struct text bytes, int64_t *ret, struct err *err)
{
	unsigned char sha[SHA256_BYTES];
	const struct known *k;
	int rc = sha256_once(bytes.ptr, bytes.len, sha, err);
	*ret = 0;
	for (size_t at = 0; rc == 0 && !*ret && (k = custody_of_content(&x->s->custody, sha, 0, &at));)
		*ret = k->seam ? k->source : 0;
	return rc;
}

static int store(struct seams *x, struct chain *c, struct err *err)
{
	CLEANUP(buf_done) struct buf bytes = BUF_INIT(SEAM_MAX_BYTES + BUF_PADDING);
	CLEANUP(buf_done) struct buf name = BUF_INIT(64 * KIB);
	struct arena arena;
	struct source_result like;
	int rc = read_lines(x, c, &bytes, err);
	if (rc == 0)
		rc = find_stored(x, buf_text(&bytes), &c->whole, err);
	if (rc < 0 || c->whole)
		return rc;
	arena_init(&arena, 0);
	rc = put_name(x, c, &name, err);
	if (rc == 0)
		rc = custody_row(&x->s->custody, x->files[c->part[0].file].source, &like, &arena, err);
	if (rc == 0)
		rc = session_store(x->s, name.ptr, buf_text(&bytes), &like, err);
	if (rc == 0)
		rc = find_stored(x, buf_text(&bytes), &c->whole, err);
	arena_done(&arena);
	return rc < 0 || c->whole ? rc : err_set(err, ERR_BUG, "a joined record was not stored");
}

/* Its lines are in no other source any more. */
static int release(struct seams *x, int64_t whole, struct err *err)
{
	int rc = list_numbers(x, "SELECT DISTINCT source FROM seam WHERE whole = ?1", whole, &x->changed, err);
	if (rc == 0)
		rc = run(x, "DELETE FROM seam WHERE whole = ?1 AND record = 0", &whole, 1, err);
	return rc ? rc : run(x, "UPDATE seam SET whole = NULL WHERE whole = ?1", &whole, 1, err);
}

static int attach(struct seams *x, const struct chain *c, struct err *err)
{
	int rc = 0;
	for (unsigned i = 0; i < c->n && rc == 0; i++) {
		int64_t source = x->files[c->part[i].file].source;
		rc = numbers_add(&x->changed, source, err);
		for (size_t k = 0; k < c->part[i].lines.n && rc == 0; k++) {
			const struct span *line = &c->part[i].lines.at[k];
			const int64_t v[] = {source, (int64_t)line->off, (int64_t)line->len, c->whole};
			rc =
			    run(x,
				"INSERT INTO seam(source, byte_off, byte_len, record, whole) VALUES(?1, ?2, ?3, 0, ?4) "
				"ON CONFLICT DO UPDATE SET byte_len = ?3, whole = ?4",
				v, 4, err);
		}
	}
	return rc;
}

static int read_again(struct seams *x, int64_t source, struct err *err)
{
	const struct ingest_options *o = x->s->o;
	const struct known *k = custody_find(&x->s->custody, source);
	struct account now;
	struct source_result was;
	struct arena arena;
	arena_init(&arena, 0);
	int rc = custody_row(&x->s->custody, source, &was, &arena, err);
	if (rc == 0)
		rc = run(x, "DELETE FROM reject WHERE source = ?1", &source, 1, err);
	if (rc == 0)
		rc = ingest_again(x->s->c, o, source, &now, err);
	if (rc == 0 && k && k->came && o->on_joined)
		o->on_joined(o->ctx, &was, &now);
	arena_done(&arena);
	return rc ? rc : journal_row(x->s, source, err);
}

/* In one transaction. */
static int change(struct seams *x, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; i < x->before.n && rc == 0; i++) {
		int64_t whole = x->before.at[i];
		bool stays = false, same = false;
		for (size_t k = 0; k < x->n_chains; k++)
			if (x->chains[k].whole == whole)
				stays = true, same = same || x->chains[k].n == 0;
		if (!same)
			rc = release(x, whole, err);
		if (rc == 0 && !stays)
			rc = custody_drop(&x->s->custody, whole, "what it was joined of is not there any more", err);
	}
	for (size_t i = 0; i < x->n_chains && rc == 0; i++)
		rc = attach(x, &x->chains[i], err);
	for (size_t i = 0; i < x->changed.n && rc == 0; i++)
		if (custody_find(&x->s->custody, x->changed.at[i]))
			rc = read_again(x, x->changed.at[i], err);
	return rc;
}

static int commit(struct session *s, struct err *err)
{
	int rc = case_commit(s->c, err);
	s->uncommitted = 0;
	return rc ? rc : case_begin(s->c, err);
}

static int settle(struct seams *x, size_t from, size_t to, struct err *err)
{
	bool same = true;
	int rc = 0;
	for (size_t i = from; i < to && rc == 0; i++)
		rc = list_numbers(x, "SELECT DISTINCT whole FROM seam WHERE source = ?1 AND whole IS NOT NULL",
				  x->files[i].source, &x->before, err);
	for (size_t i = 0; i < x->n_chains && rc == 0; i++) {
		struct chain *c = &x->chains[i];
		rc = is_joined(x, c, err);
		if (rc == 0 && c->whole)
			chain_free(c); /* nothing is left to do for it */
		else if (rc == 0)
			rc = store(x, c, err);
		same = same && !c->n;
	}
	for (size_t i = 0; i < x->before.n; i++) {
		bool kept = false;
		for (size_t k = 0; k < x->n_chains && !kept; k++)
			kept = x->chains[k].whole == x->before.at[i];
		same = same && kept;
	}
	if (rc < 0 || same)
		return rc;
	rc = commit(x->s, err);
	if (rc == 0)
		rc = change(x, err);
	if (rc == ERR_INTERRUPTED) { /* all of it or nothing */
		struct err ignored;
		case_rollback(x->s->c);
		return case_begin(x->s->c, &ignored) < 0 ? ERR_BUG : rc;
	}
	return rc ? rc : commit(x->s, err);
}

static void forget(struct seams *x)
{
	for (size_t i = 0; i < x->n_cuts; i++) {
		free(x->cuts[i].part.lines.at);
		buf_done(&x->cuts[i].facts);
	}
	for (size_t i = 0; i < x->n_chains; i++)
		chain_free(&x->chains[i]);
	x->n_cuts = x->n_chains = x->before.n = x->changed.n = 0;
}

/* The files [from, to), which are those of one log. */
static int join_files(struct seams *x, size_t from, size_t to, struct err *err)
{
	if (!x->files[from].touched)
		return 0;
	int rc = to - from > 1 ? plan(x, from, to, err) : 0;
	if (rc == 0)
		rc = settle(x, from, to, err);
	forget(x);
	return rc;
}

/* What a run left that died before anything referred to it. */
static int drop_strays(struct seams *x, struct err *err)
{
	struct numbers strays = {0};
	int rc = list_numbers(x,
			      "SELECT source FROM source WHERE container = '" CONTAINER_SEAM "' AND NOT EXISTS "
			      "(SELECT 1 FROM seam WHERE whole = source.source)",
			      0, &strays, err);
	for (size_t i = 0; i < strays.n && rc == 0; i++)
		rc = custody_drop(&x->s->custody, strays.at[i], "nothing refers to it", err);
	free(strays.at);
	return rc;
}

static int join_all(struct seams *x, bool all, struct err *err)
{
	int rc = all ? drop_strays(x, err) : 0;
	if (rc == 0)
		rc = seam_files(x->s, all, &x->arena, &x->files, &x->n_files, err);
	for (size_t i = 0, k; i < x->n_files && rc == 0; i = k) {
		for (k = i + 1; k < x->n_files && x->files[k].group == x->files[i].group;)
			k++;
		if (session_stopped(x->s))
			rc = err_set(err, ERR_INTERRUPTED, "stopped by a signal");
		else
			rc = join_files(x, i, k, err);
	}
	return rc;
}

int seam_join(struct session *s, struct err *err)
{
	struct seams x = {.s = s};
	arena_init(&x.arena, 0);
	int rc = pool_drain(s->pool, err); /* what the files are must be settled */
	if (rc == 0)
		rc = join_all(&x, s->left_over || s->custody.seams_lost, err);
	forget(&x);
	arena_done(&x.arena);
	free(x.files);
	free(x.cuts);
	free(x.chains);
	free(x.before.at);
	free(x.changed.at);
	return rc;
}
