/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - the stored file as a stream
 *
 * The first pass is hashed. A second one, for a container that is kept as it is, gives the same bytes unless somebody
 * writes to the file: file_changed() tells.
 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pagetrail/macros.h"

static int file_fill(struct stream *s, const char **ret, size_t *ret_n, struct err *err)
{
	struct file *f = (struct file *)s;
	*ret = f->block;
	*ret_n = 0;
	if (f->ended)
		return 0;
	ssize_t n;
	do
		n = read(f->fd, f->block, sizeof(f->block));
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		damage_set(s->damage, true, "read error: %s", strerror(errno));
		f->failed = true;
		n = 0;
	}
	f->ended = n == 0;
	*ret_n = (size_t)n;
	if (f->second)
		return 0;
	f->bytes += (uint64_t)n;
	atomic_store_explicit(&f->taken, f->bytes, memory_order_relaxed);
	return n ? sha256_add(f->sha, f->block, (size_t)n, err) : 0;
}

static void keep_open(struct stream *s)
{
	(void)s; /* belongs to the source */
}

void file_close(struct file *f)
{
	if (!f)
		return;
	if (f->fd > STDIN_FILENO)
		close(f->fd);
	sha256_free(f->sha);
	free(f);
}

/* Takes the handle over, also when it fails. */
static int of_handle(struct file **ret, int fd, const struct stat *st, struct err *err)
{
	struct file *f = malloc(sizeof(*f));
	if (!f) {
		if (fd > STDIN_FILENO)
			close(fd);
		return err_nomem(err);
	}
	*f = (struct file){.s = {.fill = file_fill, .close = keep_open}, .fd = fd, .at_open = *st};
	f->s.damage = &f->damage;
	f->start = S_ISREG(st->st_mode) ? lseek(fd, 0, SEEK_CUR) : 0;
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	int rc = sha256_new(&f->sha, err);
	if (rc < 0)
		file_close(f);
	else
		*ret = f;
	return rc;
}

int file_open(struct file **ret, const char *path, struct err *err)
{
	bool standard = !strcmp(path, "-");
	/* O_NONBLOCK: a pipe that took the file's place must not make us wait */
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) != 0) {
		char why[256];
		int code = err_set(err, ERR_INPUT, "%s", err_errno_text(errno, why, sizeof(why)));
		if (fd > STDIN_FILENO)
			close(fd);
		return code;
	}
	if (!standard && !S_ISREG(st.st_mode)) {
		close(fd);
		return err_set(err, ERR_INPUT, "not a regular file");
	}
	if (standard && S_ISDIR(st.st_mode))
		return err_set(err, ERR_INPUT, "standard input is a folder");
	return of_handle(ret, fd, &st, err);
}

int file_of_bytes(struct file **ret, struct text bytes, struct err *err)
{
	struct stat st;
	int fd = memfd_create("pagetrail", MFD_CLOEXEC);
	bool ok = fd >= 0;
	for (size_t at = 0; ok && at < bytes.len;) {
		ssize_t n = write(fd, bytes.ptr + at, bytes.len - at);
		ok = n > 0 || (n < 0 && errno == EINTR);
		at += n > 0 ? (size_t)n : 0;
	}
	if (!ok || lseek(fd, 0, SEEK_SET) < 0 || fstat(fd, &st) != 0) {
		int code = err_set_errno(err, ERR_IO, "no room for what was fetched");
		if (fd >= 0)
			close(fd);
		return code;
	}
	return of_handle(ret, fd, &st, err);
}

uint64_t file_size(const struct file *f)
{
	return S_ISREG(f->at_open.st_mode) ? (uint64_t)f->at_open.st_size : 0;
}

int64_t file_mtime(const struct file *f)
{
	return S_ISREG(f->at_open.st_mode) ? (int64_t)f->at_open.st_mtim.tv_sec : INT64_MIN;
}

uint64_t file_taken(const struct file *f)
{
	return atomic_load_explicit(&f->taken, memory_order_relaxed);
}

int file_finish(struct file *f, struct err *err)
{
	const char *p;
	size_t n = 1;
	int rc = 0;
	if (!f->sha)
		return 0;
	while (rc == 0 && n)
		rc = file_fill(&f->s, &p, &n, err);
	if (rc < 0)
		return rc;
	struct sha256 *sha = f->sha;
	f->sha = NULL;
	return sha256_end(sha, f->digest, err);
}

bool file_rewind(struct file *f)
{
	if (f->failed || !S_ISREG(f->at_open.st_mode) || lseek(f->fd, f->start, SEEK_SET) < 0)
		return false;
	f->ended = false;
	f->second = true;
	f->s.n_ahead = f->s.n_behind = 0;
	return true;
}

const char *file_changed(const struct file *f, bool *ret_lost)
{
	struct stat st;
	*ret_lost = false;
	if (!S_ISREG(f->at_open.st_mode) || f->start || f->failed || fstat(f->fd, &st) != 0)
		return NULL;
	const struct timespec *a = &f->at_open.st_mtim, *b = &st.st_mtim;
	bool written = a->tv_sec != b->tv_sec || a->tv_nsec != b->tv_nsec;
	if (st.st_size < f->at_open.st_size || f->bytes < (uint64_t)f->at_open.st_size) {
		*ret_lost = true;
		return "the file became shorter while it was read";
	}
	if (st.st_size > f->at_open.st_size || f->bytes > (uint64_t)f->at_open.st_size)
		return "the file was still growing while it was read: what was written later is not in the case";
	*ret_lost = written;
	return written ? "the file was changed while it was read" : NULL;
}

int file_digest(struct file *f, uint64_t bytes, unsigned char sha256[SHA256_BYTES], struct err *err)
{
	struct sha256 *sha = NULL;
	off_t at = 0;
	ssize_t n = 0;
	int rc = sha256_new(&sha, err);
	if (rc < 0)
		return rc;
	while (rc == 0 && bytes && (n = pread(f->fd, f->block, MIN(sizeof(f->block), bytes), at)) > 0) {
		rc = sha256_add(sha, f->block, (size_t)n, err);
		at += n;
		bytes -= (uint64_t)n;
	}
	if (rc < 0 || n < 0) {
		sha256_free(sha);
		return rc < 0 ? rc : 1;
	}
	return sha256_end(sha, sha256, err);
}
