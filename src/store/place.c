/* SPDX-License-Identifier: Apache-2.0 */
/* place.c - outputs must not destroy evidence: a slip of the pen names a log where a picture was to go
 *
 * Which files the case was made of, its sources say by path (as it was given, so it may mean nothing here) and by digest. Files that
 * no run has read yet look like neither: so a file is only replaced by what it was before.
 */
#include "pagetrail/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "pagetrail/limits.h"

enum { HEAD_BYTES = 64 * 1024 };

static bool same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* The folder that a file is in, or would be. */
static bool folder_of(const char *file, struct stat *ret)
{
	char *copy = strndup(file, (size_t)(last_part(file) - file));
	bool there = copy && !stat(*copy ? copy : ".", ret);
	free(copy);
	return there;
}

/* Is it this file, or, where there is none any more (st NULL), its place? */
static bool is_path(const char *path, const char *file, const struct stat *st)
{
	struct stat other, folder;
	if (st)
		return !stat(path, &other) && same(st, &other);
	return !strcmp(last_part(path), last_part(file)) && folder_of(path, &other) && folder_of(file, &folder) &&
	       same(&other, &folder);
}

/* A source's path, and the file of an archive's member, which stands before one of its '!'. */
static bool is_path_of(char *path, const char *file, const struct stat *st)
{
	bool found = is_path(path, file, st);
	for (char *at = path; !found && (at = strchr(at, '!')); *at++ = '!') {
		*at = 0;
		found = is_path(path, file, st);
	}
	return found;
}

/* The source that is this file by its name; 0: none. */
static int find_path(struct case_file *c, const char *file, const struct stat *st, int64_t *ret, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(
	    &s, c, "SELECT source, path FROM source WHERE ?1 IS NULL OR instr(path, ?1) ORDER BY source", err);
	if (!rc && !st)
		rc = sql_text(s, 1, text_of(last_part(file)), err);
	while (!rc && !*ret && (rc = sql_step(s, err)) == 1) {
		struct text t = sql_get_text(s, 1);
		char *path = strndup(t.ptr, t.len);
		if (!path)
			return err_nomem(err);
		if (is_path_of(path, file, st))
			*ret = sql_get_int(s, 0);
		free(path);
		rc = 0;
	}
	return MIN(rc, 0);
}

static int digest_file(const char *file, char hex[SHA256_HEX], struct err *err)
{
	unsigned char block[16 * 1024], digest[SHA256_BYTES];
	struct sha256 *h = NULL;
	size_t n;
	FILE *f = fopen(file, "rbe");
	int rc = f ? sha256_new(&h, err) : 1;
	while (!rc && (n = fread(block, 1, sizeof(block), f)) > 0)
		rc = sha256_add(h, block, n, err);
	if (f)
		fclose(f);
	if (rc) {
		sha256_free(h);
		return rc;
	}
	rc = sha256_end(h, digest, err);
	sha256_hex(digest, hex);
	return rc;
}

/* The source with these bytes, whatever its name was; 0: none. */
static int find_bytes(struct case_file *c, const char *file, const struct stat *st, int64_t *ret, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	char hex[SHA256_HEX] = "";
	int rc = sql_prepare(&s, c, "SELECT source, sha256 FROM source WHERE stored_bytes = ?1 ORDER BY source", err);
	if (!rc)
		rc = sql_int(s, 1, st->st_size, err);
	while (!rc && !*ret && (rc = sql_step(s, err)) == 1) {
		rc = *hex ? 0 : digest_file(file, hex, err);
		if (!rc && text_is(sql_get_text(s, 1), hex))
			*ret = sql_get_int(s, 0);
	}
	return MIN(rc, 0);
}

/* Notes, then lines that begin with a digest (behind a backslash where a name has one). */
static bool is_sums(struct text head)
{
	unsigned char digest[SHA256_BYTES];
	struct text rest = head, line = {NULL, 0};
	while (text_split(&rest, '\n', &line) && text_starts(line, "#"))
		line = (struct text){NULL, 0};
	if (text_starts(line, "\\"))
		line = text_from(line, 1);
	return !line.len || (line.len > SHA256_HEX && sha256_unhex(text_sub(line, 0, SHA256_HEX - 1), digest));
}

/* Does it begin as files of this kind do? */
static bool is_kind(struct text head, const char *kind)
{
	static const struct {
		const char *kind, *holds;
	} kinds[] = {{"svg", "<svg"},
		     {"dot", "digraph"},
		     {"dfxml", "<dfxml"},
		     {"csaf", "csaf_version"},
		     {"statement", "in-toto"}};
	if (!*kind || !head.len)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(kind, kinds[i].kind))
			return text_find(head, kinds[i].holds, 0) != SIZE_MAX;
	return is_sums(head);
}

static int check_head(const char *file, const char *kind, struct err *err)
{
	char *head = malloc(HEAD_BYTES);
	FILE *f = head ? fopen(file, "rbe") : NULL;
	size_t n = f ? fread(head, 1, HEAD_BYTES, f) : 0;
	int rc = head ? 0 : err_nomem(err);
	if (f)
		fclose(f);
	else if (head)
		rc = err_set_errno(err, ERR_IO, "cannot read '%s', which is there already", file);
	struct text t = {head, n};
	if (!rc && text_starts(t, "SQLite format 3")) {
		err_set(err, ERR_USAGE, "'%s' is a database, perhaps a case: it is not written over", file);
		rc = err_hint(err, "name another file");
	} else if (!rc && !is_kind(t, kind)) {
		err_set(err, ERR_USAGE,
			"'%s' is there already, and is no earlier output of --%s: it is not written over", file, kind);
		rc = err_hint(err, "name another file, or take that one away");
	}
	free(head);
	return rc;
}

int place_check(struct case_file *c, const char *file, const char *kind, struct err *err)
{
	struct stat st;
	int64_t source = 0;
	if (!strcmp(file, "-"))
		return 0;
	bool there = !stat(file, &st);
	if (there && (S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode)))
		return 0;
	if (there && !S_ISREG(st.st_mode)) {
		err_set(err, ERR_IO, "cannot write '%s': it is %s", file,
			S_ISDIR(st.st_mode) ? "a folder" : "neither a file nor a pipe");
		return err_hint(err, "name a file");
	}
	int rc = find_path(c, file, there ? &st : NULL, &source, err);
	if (!rc && !source && there && st.st_size)
		rc = find_bytes(c, file, &st, &source, err);
	if (!rc && source) {
		err_set(err, ERR_USAGE, "'%s' is evidence, source S%lld of this case: it is not written over", file,
			(long long)source);
		return err_hint(err, "name another file");
	}
	return rc || !there ? rc : check_head(file, kind, err);
}
