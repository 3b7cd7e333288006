/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - output.h over the file system */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pagetrail/buf.h"
#include "pagetrail/digest.h"
#include "pagetrail/limits.h"
#include "pagetrail/place.h"

enum { SYNC_EACH = 8 }; /* more files than that are synced together, at the end */

struct file {
	char *path, *part;
	char sha256[SHA256_HEX];
	bool renamed;
};

struct output {
	struct case_file *c;
	char *dir;
	struct file *files;
	size_t n, cap;
	char **made; /* folders, in their order */
	size_t n_made;
	bool committed;
};

static int refused(const char *path, struct err *err)
{
	err_set_errno(err, ERR_IO, "cannot write '%s'", path);
	err_hint(err, "the folder must be writable and have room");
	return ERR_IO;
}

static int make_dir(struct output *o, const char *path, struct err *err)
{
	struct stat st;
	if (!mkdir(path, 0777)) {
		char **more = realloc(o->made, (o->n_made + 1) * sizeof(*more));
		if (more)
			o->made = more;
		char *copy = more ? strdup(path) : NULL;
		if (!copy) {
			rmdir(path);
			return err_nomem(err);
		}
		o->made[o->n_made++] = copy;
		return 0;
	}
	if (errno == EEXIST && !stat(path, &st) && S_ISDIR(st.st_mode))
		return 0;
	errno = errno == EEXIST ? ENOTDIR : errno;
	err_set_errno(err, ERR_IO, "cannot make the folder '%s'", path);
	err_hint(err, "its parent must exist and be writable");
	return ERR_IO;
}

int output_open(struct output **ret, struct case_file *c, const char *dir, struct err *err)
{
	struct output *o = calloc(1, sizeof(*o));
	int rc = o && (o->dir = strdup(dir)) ? 0 : err_nomem(err);
	for (size_t n = rc ? 0 : strlen(o->dir); n > 1 && o->dir[n - 1] == '/'; n--)
		o->dir[n - 1] = 0; /* paths are made with one */
	if (!rc)
		rc = make_dir(o, o->dir, err);
	if (rc) {
		output_close(o);
		return rc;
	}
	o->c = c;
	*ret = o;
	return 0;
}

static int write_all(int fd, struct text t)
{
	while (t.len) {
		ssize_t n = write(fd, t.ptr, t.len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		t = text_from(t, (size_t)n);
	}
	return 0;
}

static int write_part(struct output *o, struct file *f, struct text bytes, struct err *err)
{
	int fd = open(f->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return refused(f->path, err);
	o->n++; /* from here on it is taken away */
	bool ok = !write_all(fd, bytes) && (o->n > SYNC_EACH || !fsync(fd));
	int saved = errno;
	if (close(fd) && ok) {
		ok = false;
		saved = errno;
	}
	errno = saved;
	return ok ? 0 : refused(f->path, err);
}

int output_add(struct output *o, const char *folder, const char *name, struct text bytes, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * KIB);
	if (o->n == o->cap) {
		size_t cap = o->cap ? o->cap * 2 : 16;
		struct file *more = realloc(o->files, cap * sizeof(*more));
		if (!more)
			return err_nomem(err);
		o->files = more;
		o->cap = cap;
	}
	int rc = buf_printf(&b, err, "%s%s%s", o->dir, *folder ? "/" : "", folder);
	if (!rc && *folder)
		rc = make_dir(o, b.ptr, err);
	if (!rc)
		rc = buf_printf(&b, err, "/%s", name);
	if (!rc)
		rc = place_check(o->c, b.ptr, "", err);
	struct file *f = &o->files[o->n];
	*f = (struct file){NULL};
	if (!rc)
		rc = (f->path = strdup(b.ptr)) ? buf_printf(&b, err, ".part") : err_nomem(err);
	if (!rc)
		rc = (f->part = strdup(b.ptr)) ? place_check(o->c, b.ptr, "", err) : err_nomem(err);
	unsigned char digest[SHA256_BYTES] = {0};
	if (!rc)
		rc = sha256_once(bytes.ptr, bytes.len, digest, err);
	sha256_hex(digest, f->sha256);
	size_t before = o->n;
	if (!rc)
		rc = write_part(o, f, bytes, err);
	if (o->n == before) {
		free(f->path);
		free(f->part);
	}
	return rc;
}

int output_read_back(const struct output *o, struct buf *b, struct err *err)
{
	return buf_add_file(b, o->files[o->n - 1].part, "file just written", err);
}

int output_commit(struct output *o, struct err *err)
{
	if (o->n > SYNC_EACH) {
		int fd = open(o->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		bool ok = fd >= 0 && !syncfs(fd);
		int saved = errno;
		if (fd >= 0)
			close(fd);
		errno = saved;
		if (!ok)
			return refused(o->dir, err);
	}
	for (size_t i = 0; i < o->n; i++) {
		o->files[i].renamed = !rename(o->files[i].part, o->files[i].path);
		if (!o->files[i].renamed)
			return refused(o->files[i].path, err);
	}
	o->committed = true;
	return 0;
}

const char *output_path(const struct output *o, size_t at)
{
	return at < o->n ? o->files[at].path : NULL;
}

const char *output_sha256(const struct output *o, size_t at)
{
	return at < o->n ? o->files[at].sha256 : NULL;
}

size_t output_count(const struct output *o)
{
	return o->n;
}

void output_close(struct output *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->n; i++) {
		if (!o->committed)
			unlink(o->files[i].renamed ? o->files[i].path : o->files[i].part);
		free(o->files[i].path);
		free(o->files[i].part);
	}
	for (size_t i = o->n_made; i-- > 0;) {
		if (!o->committed)
			rmdir(o->made[i]);
		free(o->made[i]);
	}
	free(o->files);
	free(o->made);
	free(o->dir);
	free(o);
}
