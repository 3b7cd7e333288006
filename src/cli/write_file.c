/* SPDX-License-Identifier: Apache-2.0 */
/* write_file.c - a file that a verb was asked for besides its rows, whole or not at all */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pagetrail/place.h"

static int refused(const char *file, struct err *err)
{
	err_set_errno(err, ERR_IO, "cannot write '%s'", file);
	err_hint(err, "the folder must exist, be writable and have room");
	return ERR_IO;
}

/* Writes, flushes and closes. */
static bool write_out(FILE *f, struct text bytes, bool sync)
{
	bool ok = fwrite(bytes.ptr, 1, bytes.len, f) == bytes.len && !fflush(f) && (!sync || !fsync(fileno(f)));
	int saved = errno;
	if (fclose(f) && ok) {
		ok = false;
		saved = errno;
	}
	errno = saved;
	return ok;
}

/* A device or a pipe takes the bytes; a file under its name would take its place. */
static int write_through(const char *file, struct text bytes, struct err *err)
{
	int fd = open(file, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	return f && write_out(f, bytes, false) ? 0 : refused(file, err);
}

int write_file(struct case_file *c, const char *kind, const char *file, struct text bytes, struct err *err)
{
	struct stat st;
	CLEANUP(buf_done) struct buf part = BUF_INIT(64 * KIB);
	if (!strcmp(file, "-")) {
		fwrite(bytes.ptr, 1, bytes.len, stdout); /* a failure is seen by system_flush() */
		return 0;
	}
	int rc = place_check(c, file, kind, err);
	if (rc)
		return rc;
	if (!stat(file, &st) && !S_ISREG(st.st_mode))
		return write_through(file, bytes, err);
	rc = buf_printf(&part, err, "%s.XXXXXX", file);
	if (rc)
		return rc;
	int fd = mkostemp(part.ptr, O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		return refused(file, err);
	bool ok = write_out(f, bytes, true) && !rename(part.ptr, file);
	int saved = errno;
	if (!ok)
		unlink(part.ptr);
	errno = saved;
	return ok ? 0 : refused(file, err);
}
