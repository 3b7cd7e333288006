/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - one report: facts, validation, renderings, files
 *
 * Files appear whole or not at all: written beside their place, synced, renamed.
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

static int make_dir(const char *path, struct err *err)
{
	struct stat st;
	if (!mkdir(path, 0777))
		return 0;
	if (errno == EEXIST && !stat(path, &st) && S_ISDIR(st.st_mode))
		return 0;
	int code = errno == EEXIST ? ENOTDIR : errno;
	errno = code;
	err_set_errno(err, ERR_IO, "cannot make the folder '%s'", path);
	return err_hint(err, "its parent must exist and be writable");
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

static int write_file(const struct report_options *o, const char *suffix, struct text bytes, struct err *err)
{
	CLEANUP(buf_done) struct buf path = BUF_INIT(64 * KIB);
	CLEANUP(buf_done) struct buf part = BUF_INIT(64 * KIB);
	int rc = buf_printf(&path, err, "%s/%s-%d.%s", o->out_dir, o->kind, o->issue, suffix);
	if (!rc)
		rc = buf_printf(&part, err, "%s.part", path.ptr);
	if (rc)
		return rc;
	int fd = open(part.ptr, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_set_errno(err, ERR_IO, "cannot write '%s'", part.ptr);
	bool ok = !write_all(fd, bytes) && !fsync(fd);
	int saved = errno;
	ok = !close(fd) && ok;
	if (!ok || rename(part.ptr, path.ptr)) {
		errno = ok ? errno : saved;
		err_set_errno(err, ERR_IO, "cannot write '%s'", path.ptr);
		unlink(part.ptr);
		return ERR_IO;
	}
	return o->on_file ? o->on_file(o->ctx, buf_text(&path)) : 0;
}

static int write_xml(xmlDocPtr doc, const struct report_options *o, struct err *err)
{
	xmlChar *bytes = NULL;
	int n = 0;
	xmlDocDumpFormatMemoryEnc(doc, &bytes, &n, "UTF-8", 1);
	if (!bytes)
		return err_nomem(err);
	int rc = write_file(o, "xml", (struct text){(const char *)bytes, (size_t)n}, err);
	xmlFree(bytes);
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
	if (!rc)
		rc = make_dir(o->out_dir, err);
	if (!rc)
		rc = write_xml(doc, o, err);
	return rc ? rc : write_file(o, "html", buf_text(&html), err);
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
