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
	/* the GNU strerror_r: thread-safe, result may be elsewhere */
	snprintf(err->what + n, sizeof(err->what) - n, ": %s", strerror_r(saved, text, sizeof(text)));
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
	if (err->where[0] == '\0') {
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
	if (err->hint[0] == '\0') {
		va_start(ap, fmt);
		vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
		va_end(ap);
	}
	return err->code;
}
