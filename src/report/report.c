/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - one report: facts, validation, renderings, files
 *
 * Files appear whole or not at all: every one is written and synced beside its place before the first is renamed. A
 * report that cannot be written leaves neither files nor a folder that it made.
 */
#include "pagetrail/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "facts.h"

static const struct report_asset *asset(const struct report_options *o, const char *name)
{
	for (size_t i = 0; i < o->n_assets; i++)
		if (!strcmp(o->assets[i].name, name))
			return &o->assets[i];
	return NULL;
}

/* 1 when the folder was made, 0 when it was there. */
static int make_dir(const char *path, struct err *err)
{
	struct stat st;
	if (!mkdir(path, 0777))
		return 1;
	if (errno == EEXIST && !stat(path, &st) && S_ISDIR(st.st_mode))
		return 0;
	errno = errno == EEXIST ? ENOTDIR : errno;
	err_set_errno(err, ERR_IO, "cannot make the folder '%s'", path);
	err_hint(err, "its parent must exist and be writable");
	return ERR_IO;
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

struct file {
	struct text bytes;
	struct buf path, part;
	bool written, renamed;
};
enum { N_FILES = 2 };

static int name_file(const struct report_options *o, const char *suffix, struct file *f, struct err *err)
{
	f->path = f->part = BUF_INIT(64 * KIB);
	int rc = buf_printf(&f->path, err, "%s/%s-%d.%s", o->out_dir, o->kind, o->issue, suffix);
	return rc ? rc : buf_printf(&f->part, err, "%s.part", f->path.ptr);
}

static int refused(const char *path, struct err *err)
{
	err_set_errno(err, ERR_IO, "cannot write '%s'", path);
	err_hint(err, "the folder must be writable and have room");
	return ERR_IO;
}

static int write_part(struct file *f, struct err *err)
{
	int fd = open(f->part.ptr, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return refused(f->path.ptr, err);
	f->written = true;
	bool ok = !write_all(fd, f->bytes) && !fsync(fd);
	int saved = errno;
	if (close(fd) && ok) {
		ok = false;
		saved = errno;
	}
	errno = saved;
	return ok ? 0 : refused(f->path.ptr, err);
}

static int write_files(struct file *files, struct err *err)
{
	int rc = 0;
	for (int i = 0; !rc && i < N_FILES; i++)
		rc = write_part(&files[i], err);
	for (int i = 0; !rc && i < N_FILES; i++) {
		files[i].renamed = !rename(files[i].part.ptr, files[i].path.ptr);
		rc = files[i].renamed ? 0 : refused(files[i].path.ptr, err);
	}
	for (int i = 0; rc && i < N_FILES; i++)
		if (files[i].written)
			unlink(files[i].renamed ? files[i].path.ptr : files[i].part.ptr);
	return rc;
}

/* Names, folder, files. */
static int place_files(const struct report_options *o, struct file *files, struct err *err)
{
	int rc = name_file(o, "xml", &files[0], err);
	if (!rc)
		rc = name_file(o, "html", &files[1], err);
	int made = rc ? rc : make_dir(o->out_dir, err);
	if (made < 0)
		return made;
	rc = write_files(files, err);
	if (rc && made)
		rmdir(o->out_dir);
	for (int i = 0; !rc && o->on_file && i < N_FILES; i++)
		rc = o->on_file(o->ctx, buf_text(&files[i].path));
	return rc;
}

static int write_renderings(xmlDocPtr doc, const struct report_options *o, struct err *err)
{
	char name[64];
	snprintf(name, sizeof(name), "%s.xsl", o->kind);
	const struct report_asset *rng = asset(o, "report.rng"), *xsl = asset(o, name), *css = asset(o, "style.css");
	if (!rng || !xsl || !css)
		return err_set(err, ERR_BUG, "an embedded file of the report is missing");
	CLEANUP(buf_done) struct buf html = BUF_INIT(512 * MIB);
	int rc = render_validate(doc, text_of(rng->text), err);
	if (!rc)
		rc = render_apply(doc, text_of(xsl->text), text_of(css->text), &html, err);
	if (rc)
		return rc;
	xmlChar *bytes = NULL;
	int n = 0;
	xmlDocDumpFormatMemoryEnc(doc, &bytes, &n, "UTF-8", 1);
	if (!bytes)
		return err_nomem(err);
	struct file files[N_FILES] = {{.bytes = {(const char *)bytes, (size_t)n}}, {.bytes = buf_text(&html)}};
	rc = place_files(o, files, err);
	for (int i = 0; i < N_FILES; i++) {
		buf_done(&files[i].path);
		buf_done(&files[i].part);
	}
	xmlFree(bytes);
	return rc;
}

int report_write(struct case_file *c, const struct report_options *o, struct err *err)
{
	xmlDocPtr doc = NULL;
	if (strcmp(o->kind, "scope") != 0)
		return err_set(err, ERR_USAGE, "no report kind '%s'", o->kind);
	int rc = facts_scope(c, o, &doc, err);
	if (rc)
		return rc;
	rc = write_renderings(doc, o, err);
	xmlFreeDoc(doc);
	return rc;
}
