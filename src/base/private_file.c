/* SPDX-License-Identifier: Apache-2.0 */
/* private_file.c - opens a file with keys, and says who else may read it */
#include "pagetrail/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int private_file_open(const char *path, const char *what, bool *ret_others, struct err *err)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st))
		err_set_errno(err, ERR_INPUT, "cannot read the %s", what);
	else if (!S_ISREG(st.st_mode))
		err_set(err, ERR_INPUT, "the %s is no regular file", what);
	else {
		*ret_others = st.st_mode & (S_IRWXG | S_IRWXO);
		return fd;
	}
	if (fd >= 0)
		close(fd);
	err_where(err, "%s", path);
	return ERR_INPUT;
}

int private_file_read(int fd, const char *what, struct buf *b, struct err *err)
{
	char more;
	ssize_t n = 0;
	int rc = buf_reserve(b, b->max - b->len, err);
	while (rc == 0 &&
	       (n = b->len < b->max ? read(fd, b->ptr + b->len, b->max - b->len) : read(fd, &more, sizeof(more))) > 0) {
		if (b->len < b->max)
			b->len += (size_t)n;
		else
			rc = err_set(err, ERR_INPUT, "the %s is larger than %zu bytes", what, b->max);
	}
	if (rc == 0 && n < 0)
		rc = err_set_errno(err, ERR_INPUT, "cannot read the %s", what);
	if (rc == 0)
		b->ptr[b->len] = '\0';
	return rc;
}

int private_file_refuse(const char *path, const char *what, const char *then, struct err *err)
{
	err_set(err, ERR_INPUT, "the %s can be read by others", what);
	err_where(err, "%s", path);
	err_hint(err, "chmod 600 it; whoever may have read it can %s", then);
	return ERR_INPUT;
}
