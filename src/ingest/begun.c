/* SPDX-License-Identifier: Apache-2.0 */
/* begun.c - a run that is stopped between two files, also by a power cut, must not leave a case that looks whole
 *
 * A path is known by where it leads, since the same words mean another folder in another place. It ends with a run that was given it
 * under that name or under that of a link in its place, so that files that were moved can be brought there again.
 */
#include "begun.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pagetrail/begun.h"
#include "pagetrail/limits.h"

static bool is_stdin(const char *path)
{
	return !strcmp(path, "-");
}

/* In its folder, without what says nothing (a slash at the end, "./" before it). */
static char *as_written(const char *path)
{
	char *cwd = path[0] == '/' ? strdup("") : getcwd(NULL, 0), *all = NULL;
	while (path[0] == '.' && path[1] == '/')
		path += 2;
	if (cwd && asprintf(&all, "%s%s%s", cwd, *cwd ? "/" : "", path) < 0)
		all = NULL;
	for (size_t n = all ? strlen(all) : 0; n > 1 && all[n - 1] == '/'; n--)
		all[n - 1] = 0;
	free(cwd);
	return all;
}

static bool find_names(struct begun_path *p, const char *path)
{
	p->files = -1;
	p->as_written = is_stdin(path) ? strdup(path) : as_written(path);
	p->key = is_stdin(path) ? strdup(path) : realpath(path, NULL);
	if (!p->key && p->as_written) /* it is not there */
		p->key = strdup(p->as_written);
	return p->key && p->as_written;
}

static int save(struct begun *b, const struct begun_path *p, struct err *err)
{
	CLEANUP(buf_done) struct buf key = BUF_INIT(64 * KIB);
	char value[200], files[32] = "null";
	if (p->files >= 0)
		snprintf(files, sizeof(files), "%lld", (long long)p->files);
	snprintf(value, sizeof(value), "{\"at_ns\":%lld,\"files\":%s,\"started\":%lld}", (long long)b->now_ns, files,
		 (long long)p->started);
	int rc = buf_printf(&key, err, BEGUN_PREFIX "%s", p->key);
	return rc ? rc : case_info_set(b->c, key.ptr, text_of(value), err);
}

int begun_any(struct case_file *c, bool *ret, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, c, "SELECT 1 FROM case_info WHERE " BEGUN_IS("key") " LIMIT 1", err);
	if (!rc)
		rc = sql_step(s, err);
	*ret = rc == 1;
	return MIN(rc, 0);
}

int begun_open(struct begun *b, struct case_file *c, const char *const *paths, size_t n, int64_t now_ns,
	       struct err *err)
{
	*b = (struct begun){.c = c, .now_ns = now_ns, .paths = calloc(n + 1, sizeof(*b->paths))};
	if (!b->paths)
		return err_nomem(err);
	int rc = case_begin(c, err);
	for (; b->n < n && !rc; b->n++)
		rc = find_names(&b->paths[b->n], paths[b->n]) ? save(b, &b->paths[b->n], err) : err_nomem(err);
	return rc ? rc : case_commit(c, err);
}

int begun_save(struct begun *b, struct err *err)
{
	return b->at < b->n ? save(b, &b->paths[b->at], err) : 0;
}

/* The path and what is below it. */
static int forget(struct begun *b, const char *path, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	const char *inside = strcmp(path, "/") != 0 ? path : "";
	int rc = sql_prepare(&s, b->c,
			     "DELETE FROM case_info WHERE key = '" BEGUN_PREFIX "' || ?1 OR (key >= '" BEGUN_PREFIX
			     "' || ?2 || '/' AND key < '" BEGUN_PREFIX "' || ?2 || '0')",
			     err);
	if (!rc)
		rc = sql_text(s, 1, text_of(path), err);
	if (!rc)
		rc = sql_text(s, 2, text_of(inside), err);
	return rc ? rc : sql_run(s, err);
}

int begun_ended(struct begun *b, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; i < MIN(b->at, b->n) && !rc; i++) {
		rc = forget(b, b->paths[i].key, err);
		if (!rc)
			rc = forget(b, b->paths[i].as_written, err);
	}
	return rc ? rc : begun_save(b, err);
}

void begun_close(struct begun *b)
{
	for (size_t i = 0; b->paths && i < b->n; i++) {
		free(b->paths[i].key);
		free(b->paths[i].as_written);
	}
	free(b->paths);
	*b = (struct begun){0};
}
