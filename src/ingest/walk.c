/* SPDX-License-Identifier: Apache-2.0 */
/* walk.c - the files below a path
 *
 * Order is byte order of names within each folder, so that a case does not depend on the file system. Nothing is passed
 * over silently: what cannot or must not be read is reported with its reason.
 */
#include "walk.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 64 }; /* folders in folders; the recursion holds one open listing each */

struct walker {
	int (*file)(void *ctx, const char *path, const char *why, struct err *err);
	int (*folder)(void *ctx, const char *path, struct err *err); /* may be NULL */
	void *ctx;
};

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void names_free(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

/* 1: cannot be listed, errno says why. */
static int names_read(const char *path, char ***ret, size_t *ret_n, struct err *err)
{
	DIR *d = opendir(path);
	if (!d)
		return 1;
	char **names = NULL;
	size_t n = 0, cap = 0;
	int rc = 0;
	for (;;) {
		errno = 0;
		struct dirent *e = readdir(d);
		if (!e)
			break;
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (n == cap) {
			size_t more = cap ? cap * 2 : 64;
			char **grown = reallocarray(names, more, sizeof(*names));
			if (!grown) {
				rc = err_nomem(err);
				break;
			}
			names = grown;
			cap = more;
		}
		names[n] = strdup(e->d_name);
		if (!names[n]) {
			rc = err_nomem(err);
			break;
		}
		n++;
	}
	if (rc == 0 && errno)
		rc = 1;
	int saved = errno;
	closedir(d);
	if (rc) {
		names_free(names, n);
		errno = saved;
		return rc;
	}
	if (n)
		qsort(names, n, sizeof(*names), by_bytes);
	*ret = names;
	*ret_n = n;
	return 0;
}

static int visit(struct walker *w, const char *path, bool given, unsigned depth, struct err *err);

/* What errno says, and what to do. */
static int not_read(struct walker *w, const char *path, struct err *err)
{
	char why[256];
	return w->file(w->ctx, path, err_errno_text(errno, why, sizeof(why)), err);
}

static int visit_folder(struct walker *w, const char *path, unsigned depth, struct err *err)
{
	if (depth >= DEPTH_MAX)
		return w->file(w->ctx, path, "folders are nested too deep", err);
	char **names = NULL;
	size_t n = 0;
	int rc = names_read(path, &names, &n, err);
	if (rc > 0)
		return not_read(w, path, err);
	if (rc == 0 && w->folder)
		rc = w->folder(w->ctx, path, err);
	if (rc < 0) {
		names_free(names, n);
		return rc;
	}
	size_t len = strlen(path);
	while (len > 1 && path[len - 1] == '/')
		len--;
	for (size_t i = 0; i < n && rc == 0; i++) {
		char *child = NULL;
		const char *slash = len && path[len - 1] == '/' ? "" : "/";
		if (asprintf(&child, "%.*s%s%s", (int)len, path, slash, names[i]) < 0) {
			rc = err_nomem(err);
			break;
		}
		rc = visit(w, child, false, depth + 1, err);
		free(child);
	}
	names_free(names, n);
	return rc;
}

static int visit(struct walker *w, const char *path, bool given, unsigned depth, struct err *err)
{
	struct stat st;
	if ((given ? stat(path, &st) : lstat(path, &st)) != 0)
		return not_read(w, path, err);
	if (S_ISDIR(st.st_mode))
		return visit_folder(w, path, depth, err);
	if (S_ISLNK(st.st_mode))
		return w->file(w->ctx, path, "symbolic link, not followed", err);
	if (!S_ISREG(st.st_mode))
		return w->file(w->ctx, path, "not a regular file", err);
	return w->file(w->ctx, path, NULL, err);
}

int walk_folders(const char *path, int (*file)(void *ctx, const char *path, const char *why, struct err *err),
		 int (*folder)(void *ctx, const char *path, struct err *err), void *ctx, struct err *err)
{
	struct walker w = {file, folder, ctx};
	if (!strcmp(path, "-"))
		return file(ctx, path, NULL, err);
	return visit(&w, path, true, 0, err);
}

int walk(const char *path, int (*file)(void *ctx, const char *path, const char *why, struct err *err), void *ctx,
	 struct err *err)
{
	return walk_folders(path, file, NULL, ctx, err);
}
