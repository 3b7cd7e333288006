/* SPDX-License-Identifier: Apache-2.0 */
/* err.c - the text of a failure; cut, never overflowing, always NUL-terminated */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pagetrail/err.h"

static void begin(struct err *err, int code, const char *fmt, va_list ap)
{
	char what[sizeof(err->what)]; /* the arguments may point into err itself */

	vsnprintf(what, sizeof(what), fmt, ap);
	memcpy(err->what, what, sizeof(what));
	err->code = code;
	err->where[0] = '\0';
	err->hint[0] = '\0';
	err->by_errno = false;
}

/* What to do about it; NULL: the text says all that is known. */
static const char *advice(int errnum)
{
	switch (errnum) {
	case EACCES:
	case EPERM: return "change its rights (chmod), or run as a user who has them";
	case ENOENT: return "check the path, something in it is not there";
	case ENOTDIR: return "check the path, a part of it is not a folder";
	case EISDIR: return "name a file, not a folder";
	case ELOOP: return "its links lead in a circle, name the file itself";
	case ENAMETOOLONG: return "use a shorter path";
	case EROFS: return "the place is read-only, use another";
	case ENOSPC:
	case EDQUOT: return "make room, then try again";
	case EMFILE:
	case ENFILE: return "raise the limit of open files (ulimit -n)";
	case EIO:
	case ESTALE: return "the disk or the network fails, try again with a copy";
	default: return NULL;
	}
}

/* the GNU strerror_r: thread-safe, result may be elsewhere */
const char *err_errno_text(int errnum, char *buf, size_t size)
{
	char text[128];
	const char *todo = advice(errnum);

	snprintf(buf, size, "%s%s%s", strerror_r(errnum, text, sizeof(text)), todo ? ": " : "", todo ? todo : "");
	return buf;
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	begin(err, code, fmt, ap);
	va_end(ap);
	return code;
}

int err_set_errno(struct err *err, int code, const char *fmt, ...)
{
	int saved = errno;
	char text[128];
	va_list ap;
	size_t n;

	if (!err)
		return code;
	va_start(ap, fmt);
	begin(err, code, fmt, ap);
	va_end(ap);
	n = strlen(err->what);
	snprintf(err->what + n, sizeof(err->what) - n, ": %s", strerror_r(saved, text, sizeof(text)));
	if (advice(saved)) {
		snprintf(err->hint, sizeof(err->hint), "%s", advice(saved));
		err->by_errno = true;
	}
	errno = saved;
	return code;
}

int err_nomem(struct err *err)
{
	return err_set(err, ERR_NOMEM, "out of memory");
}

int err_where(struct err *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return 0;
	if (err->where[0] == '\0' && err->code != ERR_INTERRUPTED) {
		va_start(ap, fmt);
		vsnprintf(err->where, sizeof(err->where), fmt, ap);
		va_end(ap);
	}
	return err->code;
}

int err_hint(struct err *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return 0;
	if (err->hint[0] == '\0' || err->by_errno) {
		err->by_errno = false;
		va_start(ap, fmt);
		vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
		va_end(ap);
	}
	return err->code;
}
