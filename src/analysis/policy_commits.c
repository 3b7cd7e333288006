/* SPDX-License-Identifier: Apache-2.0 */
/* policy_commits.c - lists of commits that contain or lack a fix: "COMMIT<TAB>contains_fix|lacks_fix", one a line
 *
 * `git rev-list` of the fix gives one. Empty lines, and such as begin with '#', are comments.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "pagetrail/buf.h"
#include "pagetrail/limits.h"
#include "policy_work.h"

enum { COMMIT_MIN_DIGITS = 7, COMMIT_MAX_DIGITS = 64 };

static int commit_order(const void *a, const void *b)
{
	const struct listed_commit *x = a, *y = b;
	return text_cmp(x->hash, y->hash);
}

static bool is_commit(struct text t)
{
	return t.len >= COMMIT_MIN_DIGITS && t.len <= COMMIT_MAX_DIGITS && text_hex(t);
}

static int take_commit(struct reading *r, struct text line, struct commit_list *l)
{
	size_t tab = text_find_char(line, '\t', 0);
	struct text hash = text_sub(line, 0, tab == SIZE_MAX ? 0 : tab),
		    says = tab == SIZE_MAX ? (struct text){0} : text_trim(text_from(line, tab + 1));
	bool has = text_is(says, "contains_fix");
	if (!is_commit(hash) || (!has && !text_is(says, "lacks_fix")))
		return 1;
	struct text own = arena_text(&r->p->arena, hash);
	if (!own.ptr)
		return err_nomem(r->err);
	for (size_t i = 0; i < own.len; i++)
		if (own.ptr[i] >= 'A' && own.ptr[i] <= 'F')
			((char *)own.ptr)[i] = (char)(own.ptr[i] + 32);
	l->list[l->n++] = (struct listed_commit){own, has};
	return 0;
}

static int take_commits(struct reading *r, const char *path, struct text content, struct commit_list *l)
{
	size_t lines = 0, number = 0;
	struct text line, rest = content;
	int rc = 0;
	while (text_split(&rest, '\n', &line))
		lines++;
	l->list = policy_array(r, lines, sizeof(*l->list));
	if (!l->list)
		return err_nomem(r->err);
	for (rest = content; rc == 0 && text_split(&rest, '\n', &line);) {
		number++;
		line = text_trim(line);
		if (line.len && line.ptr[0] != '#')
			rc = take_commit(r, line, l);
	}
	if (rc == 1)
		return err_set(r->err, ERR_INPUT,
			       "the list of commits %s is wrong at line %zu: a commit (7 to 64 hex digits), a tab, and "
			       "contains_fix "
			       "or lacks_fix are expected",
			       path, number);
	qsort(l->list, l->n, sizeof(*l->list), commit_order);
	return rc;
}

static int read_commits(struct reading *r, struct text name, struct commit_list *l)
{
	char path[4096];
	unsigned char sha[SHA256_BYTES];
	bool whole = name.ptr[0] == '/';
	int n = snprintf(path, sizeof(path), "%s%s%.*s", whole ? "" : r->folder, whole ? "" : "/", TEXT_ARG(name));
	if ((size_t)n >= sizeof(path))
		return wrong(r, "fixed_commits", "a shorter path");
	CLEANUP(buf_done) struct buf b = BUF_INIT(POLICY_COMMITS_MAX_BYTES);
	int rc = buf_add_file(&b, path, "list of commits", r->err);
	if (rc == 0)
		rc = take_commits(r, path, buf_text(&b), l);
	if (rc == 0)
		rc = sha256_once(b.ptr, b.len, sha, r->err);
	if (rc == 0)
		sha256_hex(sha, l->sha256);
	l->name = name;
	return rc;
}

int load_commits(struct reading *r)
{
	struct policy *p = r->p;
	p->commits = policy_array(r, p->n, sizeof(*p->commits));
	if (!p->commits)
		return err_nomem(r->err);
	for (size_t i = 0; i < p->n; i++) {
		struct policy_needs *n = &p->entries[i].needs;
		size_t k = 0;
		if (!n->commits_file.len)
			continue;
		while (k < p->n_commits && !text_eq(p->commits[k].name, n->commits_file))
			k++;
		n->commits = k + 1;
		if (k < p->n_commits)
			continue;
		enter(r, ".affected[%zu].database_specific.pagetrail", p->entries[i].place);
		if (!r->folder)
			return wrong(r, "fixed_commits", "no file, because there is no folder to look for it in,");
		int rc = read_commits(r, n->commits_file, &p->commits[k]);
		if (rc < 0)
			return rc;
		leave(r, 0);
		size_t used = strlen(p->commits_sha256);
		snprintf(p->commits_sha256 + used, sizeof(p->commits_sha256) - used, "%s%s", used ? "," : "",
			 p->commits[k].sha256);
		p->n_commits++;
	}
	return 0;
}

/* One of them is the beginning of the other. */
static bool same_commit(struct text a, struct text b)
{
	return !strncasecmp(a.ptr, b.ptr, MIN(a.len, b.len));
}

/* All listed commits that begin like it, or that it begins like, must agree. */
static enum fix commit_listed(const struct commit_list *l, struct text commit)
{
	bool with = false, without = false;
	size_t lo = 0, hi = l->n;
	while (lo < hi) { /* the first that is not before its first digits */
		size_t mid = (lo + hi) / 2;
		if (strncasecmp(l->list[mid].hash.ptr, commit.ptr, COMMIT_MIN_DIGITS) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < l->n && !strncasecmp(l->list[lo].hash.ptr, commit.ptr, COMMIT_MIN_DIGITS); lo++) {
		if (!same_commit(l->list[lo].hash, commit))
			continue;
		with |= l->list[lo].has_fix;
		without |= !l->list[lo].has_fix;
	}
	return with == without ? FIX_UNKNOWN : with ? FIX_FIXED : FIX_AFFECTED;
}

/* The ends of GIT ranges are known without the graph; what lies between is not. */
static enum fix commit_is_end(const struct policy_entry *e, struct text commit)
{
	bool with = false, without = false;
	for (size_t i = 0; i < e->n_ranges; i++)
		for (size_t k = 0; e->ranges[i].git && k < e->ranges[i].n; k++) {
			const struct range_event *x = &e->ranges[i].events[k];
			if (x->zero || x->star || x->kind == RANGE_LIMIT || !same_commit(x->text, commit))
				continue;
			with |= x->kind == RANGE_FIXED;
			without |= x->kind != RANGE_FIXED;
		}
	return with == without ? FIX_UNKNOWN : with ? FIX_FIXED : FIX_AFFECTED;
}

enum fix commit_says(const struct policy *p, const struct policy_entry *e, struct text commit)
{
	commit = text_trim(commit);
	if (text_starts(commit, "g") && commit.len > COMMIT_MIN_DIGITS)
		commit = text_from(commit, 1); /* as `git describe` writes it */
	if (!is_commit(commit))
		return FIX_UNKNOWN;
	enum fix listed = e->needs.commits ? commit_listed(&p->commits[e->needs.commits - 1], commit) : FIX_UNKNOWN;
	return listed != FIX_UNKNOWN ? listed : commit_is_end(e, commit);
}
