/* SPDX-License-Identifier: Apache-2.0 */
/* deployed.c - the present state of each replica, gathered by what it runs and by the files that say so */
#include "deployed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "pagetrail/case.h"

const char *vex_name(enum vex_status s)
{
	static const char *const names[] = {"", "fixed", "under_investigation", "known_affected"};
	return names[s];
}

/* Whatever is not known to be well is not well; a retired replica runs nothing. */
static enum vex_status status_of(enum deploy_verdict v)
{
	switch (v) {
	case VERDICT_FIXED: return VEX_FIXED;
	case VERDICT_AFFECTED:
	case VERDICT_CONFLICTING: return VEX_KNOWN_AFFECTED;
	case VERDICT_RETIRED: return VEX_NONE;
	default: return VEX_UNDER_INVESTIGATION;
	}
}

static int kept(struct deployed *d, struct text from, struct text *ret, struct err *err)
{
	*ret = from.len ? arena_text(&d->arena, from) : TEXT("");
	return ret->ptr ? 0 : err_nomem(err);
}

static void *grown(void *list, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return list;
	void *more = reallocarray(list, *cap ? *cap * 2 : 64, size);
	if (more)
		*cap = *cap ? *cap * 2 : 64;
	return more;
}

/* ---- replicas; each has a build of its own at first ---- */

enum column {
	COL_REPLICA,
	COL_ROLE,
	COL_MODEL,
	COL_RUNG,
	COL_REASONS,
	COL_EVIDENCE,
	COL_REFS,
	COL_ENGINE,
	COL_VERSION,
	COL_COMMIT,
	COL_DIGEST,
	COL_VERDICT,
	COL_EVIDENCE_AT,
	COL_JUDGED_AT,
	COL_COUNTED,
	COL_OUTSIDE
};
static const char select_rows[] =
    "SELECT replica, role, model, rung, reasons, evidence, refs, engine, version, commit_id, image_digest, verdict, "
    "evidence_at, judged_at, counted, outside FROM deploy(?1, ?2) WHERE current ORDER BY replica";

static int take_row(struct deployed *d, struct sql *s, struct err *err)
{
	struct deployed_build b = {0};
	struct deployed_replica r = {.evidence_ns = sql_get_time(s, COL_EVIDENCE_AT),
				     .judged_ns = sql_get_time(s, COL_JUDGED_AT),
				     .outside = sql_get_int(s, COL_OUTSIDE) != 0};
	struct text *const texts[] = {
	    [COL_REPLICA] = &r.name,    [COL_ROLE] = &r.role,         [COL_MODEL] = &r.model,  [COL_RUNG] = &r.rung,
	    [COL_REASONS] = &r.reasons, [COL_EVIDENCE] = &r.evidence, [COL_REFS] = &r.refs,    [COL_ENGINE] = &b.engine,
	    [COL_VERSION] = &b.version, [COL_COMMIT] = &b.commit,     [COL_DIGEST] = &b.digest};
	struct text verdict = sql_get_text(s, COL_VERDICT);
	int rc = 0, v = 0;
	for (size_t i = 0; !rc && i < ARRAY_SIZE(texts); i++)
		rc = kept(d, sql_get_text(s, (int)i), texts[i], err);
	if (rc)
		return rc;
	while (v < VERDICTS - 1 && !text_is(verdict, deploy_verdict_name((enum deploy_verdict)v)))
		v++;
	r.verdict = (enum deploy_verdict)v;
	/* what the inventory has, and what had not begun at that time, runs nothing either */
	bool waits = d->p.inventory && !sql_get_int(s, COL_COUNTED) && !r.outside;
	r.status = waits ? VEX_NONE : status_of(r.verdict);
	r.build = d->n;
	size_t cap = d->cap;
	struct deployed_replica *more = grown(d->replicas, d->n, &d->cap, sizeof(*more));
	if (!more)
		return err_nomem(err);
	d->replicas = more;
	if (d->cap != cap) {
		struct deployed_build *builds = reallocarray(d->builds, d->cap, sizeof(*builds));
		if (!builds)
			return err_nomem(err);
		d->builds = builds;
	}
	d->builds[d->n] = b;
	d->replicas[d->n++] = r;
	d->by[r.verdict]++;
	d->outside += r.outside;
	d->running += r.status != VEX_NONE;
	return 0;
}

static int read_rows(struct deployed *d, struct case_file *c, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, c, select_rows, err);
	if (!rc)
		rc = sql_int(s, 1, d->p.at_ns, err);
	if (!rc)
		rc = sql_int(s, 2, d->p.as_of_ns, err);
	while (!rc && (rc = sql_step(s, err)) == 1)
		rc = take_row(d, s, err);
	return rc;
}

/* ---- builds ---- */

static int same_part(struct text a, struct text b, int otherwise)
{
	return otherwise ? otherwise : text_cmp(a, b);
}

static int build_cmp(const struct deployed_build *a, const struct deployed_build *b)
{
	return same_part(
	    a->digest, b->digest,
	    same_part(a->commit, b->commit, same_part(a->version, b->version, same_part(a->engine, b->engine, 0))));
}

static int by_build(const void *a, const void *b, void *ctx)
{
	const struct deployed_build *builds = ctx;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	int c = build_cmp(&builds[x], &builds[y]);
	return c ? c : (x > y) - (x < y);
}

/* The same build has the same id in every issue. */
static int name_build(struct deployed_build *b, struct err *err)
{
	const struct text parts[] = {b->engine, b->version, b->commit, b->digest};
	unsigned char sha[SHA256_BYTES];
	char hex[SHA256_HEX];
	struct sha256 *h = NULL;
	int rc = sha256_new(&h, err);
	for (size_t i = 0; !rc && i < ARRAY_SIZE(parts); i++) {
		uint64_t n = parts[i].len;
		unsigned char length[8];
		for (size_t k = 0; k < sizeof(length); k++)
			length[k] = (unsigned char)(n >> (8 * k));
		rc = sha256_add(h, length, sizeof(length), err);
		if (!rc)
			rc = sha256_add(h, parts[i].ptr, parts[i].len, err);
	}
	if (rc) {
		sha256_free(h);
		return rc;
	}
	rc = sha256_end(h, sha, err);
	if (rc)
		return rc;
	sha256_hex(sha, hex);
	snprintf(b->id, sizeof(b->id), "BUILD-%.16s", hex);
	return 0;
}

/* From a build a replica to each build once, in order. */
static int join_builds(struct deployed *d, struct err *err)
{
	size_t *order = arena_array(&d->arena, d->n + 1, sizeof(*order));
	struct deployed_build *joined = calloc(d->n + 1, sizeof(*joined)), *of_each = d->builds;
	int rc = 0;
	if (!order || !joined) {
		free(joined);
		return err_nomem(err);
	}
	d->builds = joined;
	for (size_t i = 0; i < d->n; i++)
		order[i] = i;
	if (d->n)
		qsort_r(order, d->n, sizeof(*order), by_build, of_each);
	for (size_t i = 0; !rc && i < d->n; i++) {
		struct deployed_replica *r = &d->replicas[order[i]];
		if (!i || build_cmp(&of_each[order[i]], &of_each[order[i - 1]])) {
			joined[d->n_builds] = of_each[order[i]];
			rc = name_build(&joined[d->n_builds++], err);
		}
		struct deployed_build *b = &joined[d->n_builds - 1];
		r->build = d->n_builds - 1;
		b->status = MAX(b->status, r->status);
		b->by[r->verdict] += r->status != VEX_NONE;
	}
	for (size_t i = 0; i < d->n_builds; i++)
		d->builds_by[joined[i].status]++;
	free(of_each);
	return rc;
}

/* ---- files ---- */

static int by_number(const void *a, const void *b)
{
	int64_t x = ((const struct deployed_file *)a)->source, y = ((const struct deployed_file *)b)->source;
	return (x > y) - (x < y);
}

/* Sources of ["S3@4096+180", …], behind the mark: a quote within a text has a backslash before it. */
static int take_refs(struct deployed *d, struct text refs, const char *mark, struct err *err)
{
	size_t n = strlen(mark);
	for (size_t at = 0; (at = text_find(refs, mark, at)) != SIZE_MAX; at += n) {
		size_t end = text_find_char(refs, '@', at);
		int64_t source;
		if (end == SIZE_MAX || !text_int64(text_sub(refs, at + n, end - at - n), &source))
			continue;
		if (d->n_files && d->files[d->n_files - 1].source == source)
			continue;
		struct deployed_file *more = grown(d->files, d->n_files, &d->cap_files, sizeof(*more));
		if (!more)
			return err_nomem(err);
		d->files = more;
		d->files[d->n_files++] = (struct deployed_file){.source = source};
	}
	return 0;
}

static int read_files(struct deployed *d, struct case_file *c, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	size_t n = 0;
	int rc = 0;
	for (size_t i = 0; !rc && i < d->n; i++) {
		rc = take_refs(d, d->replicas[i].refs, "\"S", err);
		if (!rc)
			rc = take_refs(d, d->replicas[i].evidence, "\"ref\":\"S", err);
	}
	if (!rc)
		rc = sql_prepare(&s, c, "SELECT path, content_sha256 FROM source WHERE source = ?1", err);
	if (d->n_files)
		qsort(d->files, d->n_files, sizeof(*d->files), by_number);
	for (size_t i = 0; !rc && i < d->n_files; i++) {
		struct deployed_file *f = &d->files[i];
		if (n && d->files[n - 1].source == f->source)
			continue;
		rc = sql_int(s, 1, f->source, err);
		if (!rc && (rc = sql_step(s, err)) == 1) {
			rc = kept(d, sql_get_text(s, 0), &f->path, err);
			if (!rc)
				rc = kept(d, sql_get_text(s, 1), &f->sha256, err);
			d->files[n++] = *f;
		}
		sql_reset(s);
	}
	d->n_files = n;
	return rc;
}

/* ---- the whole ---- */

static void add_plain(char *to, size_t size, struct text t)
{
	size_t n = strlen(to);
	for (size_t i = 0; i < t.len && n < size - 1; i++) {
		char c = t.ptr[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
			     c == '-' || c == '_';
		to[n++] = plain ? c : '_';
	}
	to[n] = '\0';
}

/* "INC-2041-x_example-1-3": case, policy, issue. A case without an id is named by the first row of its journal. */
static int name_it(struct deployed *d, struct case_file *c, struct err *err)
{
	CLEANUP(buf_done) struct buf id = BUF_INIT(64 * KIB);
	CLEANUP(sql_endp) struct sql *s = NULL;
	unsigned char head[SHA256_BYTES];
	char name[2 * NAME_MAX_BYTES] = "", issue[16];
	int rc = case_info_get(c, "id", &id, err);
	if (rc >= 0)
		rc = journal_head(c, head, err);
	if (rc >= 0)
		sha256_hex(head, d->journal);
	if (rc >= 0)
		rc = kept(d, buf_text(&id), &d->case_id, err);
	if (!rc && !id.len) {
		rc = sql_prepare(&s, c,
				 "SELECT 'case-' || substr(lower(hex(sha256)), 1, 16) FROM journal WHERE seq = 1", err);
		if (!rc && (rc = sql_step(s, err)) == 1)
			rc = buf_add_text(&id, sql_get_text(s, 0), err);
	}
	if (rc)
		return rc;
	add_plain(name, NAME_MAX_BYTES - 40, buf_text(&id));
	add_plain(name, NAME_MAX_BYTES - 20, TEXT("-"));
	add_plain(name, 2 * NAME_MAX_BYTES - 20, policy_id(d->p.policy));
	snprintf(issue, sizeof(issue), "-%d", d->p.issue);
	add_plain(name, sizeof(name), text_of(issue));
	return kept(d, text_of(name), &d->tracking_id, err);
}

int deployed_load(struct deployed **ret, struct case_file *c, const struct publication *p, struct err *err)
{
	struct deployed *d = calloc(1, sizeof(*d));
	*ret = NULL;
	if (!d)
		return err_nomem(err);
	arena_init(&d->arena, DEPLOY_MAX_BYTES);
	d->p = *p;
	int rc = name_it(d, c, err);
	if (!rc)
		rc = read_rows(d, c, err);
	if (!rc)
		rc = join_builds(d, err);
	if (!rc)
		rc = read_files(d, c, err);
	if (rc)
		deployed_free(d);
	else
		*ret = d;
	return rc;
}

void deployed_free(struct deployed *d)
{
	if (!d)
		return;
	free(d->replicas);
	free(d->builds);
	free(d->files);
	arena_done(&d->arena);
	free(d);
}
