/* SPDX-License-Identifier: Apache-2.0 */
/* salvage_new.c - the file that a salvage writes: there whole or not at all
 *
 * It is written beside the new case, under a name of its own, and is marked so that nobody opens it as a case. When all is in
 * it, the mark goes, and it gets the name of the new case. What a run that was killed left behind has that mark or is empty;
 * the next run replaces it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "salvage.h"

enum { PATH_BYTES = 4096 };

static int name(char out[PATH_BYTES], const char *path, const char *suffix, struct err *err)
{
	int n = snprintf(out, PATH_BYTES, "%s%s", path, suffix);
	return n > 0 && n < PATH_BYTES ? 0 : err_set(err, ERR_IO, "the name of the file is too long");
}

void salvage_remove(const char *path)
{
	static const char *const suffixes[] = {"-wal", "-shm", "-journal", ""};
	char at[PATH_BYTES];
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (!name(at, path, suffixes[i], NULL))
			unlink(at);
}

/* A file under our name that nobody writes to is what a killed run left behind. */
static int remove_left_over(const char *path, struct err *err)
{
	struct stat is, st;
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW), r = 0;
	if (fd < 0 && errno == ENOENT) {
		salvage_remove(path);
		return 0;
	}
	if (fd < 0)
		return err_set_errno(err, ERR_IO, "cannot replace what an earlier salvage left behind");
	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		r = err_set(err, ERR_STORE, "another salvage is writing this case");
	else if (fstat(fd, &is) || !S_ISREG(is.st_mode))
		r = err_set(err, ERR_IO, "what an earlier salvage left behind is not a regular file");
	else if (!stat(path, &st) && st.st_ino == is.st_ino && st.st_dev == is.st_dev)
		salvage_remove(path);
	close(fd);
	return r;
}

int salvage_create(struct case_file **ret, const char *new, struct err *err)
{
	static const char *const stray[] = {"-wal", "-journal"};
	char at[PATH_BYTES];
	struct stat st;
	for (size_t i = 0; i < ARRAY_SIZE(stray); i++) { /* SQLite would play it into the new file */
		int r = name(at, new, stray[i], err);
		if (r)
			return r;
		if (lstat(at, &st))
			continue;
		err_set(err, ERR_IO, "a %s file of another case lies where the new case will be", stray[i] + 1);
		err_where(err, "%s", at);
		return err_hint(err, "move it away, or choose another name");
	}
	int r = name(at, new, SALVAGING, err);
	if (!r)
		r = remove_left_over(at, err);
	if (r)
		return r;
	r = case_open(ret, at, CASE_CREATE, err);
	if (r && r != ERR_STORE) /* that is: another one has it */
		salvage_remove(at);
	if (r)
		return r;
	r = sql_exec(*ret, "PRAGMA application_id=0x50547277", err);
	if (r) {
		salvage_remove(at);
		case_closep(ret);
		*ret = NULL;
	}
	return r;
}
_Static_assert(CASE_UNFINISHED_ID == 0x50547277 && CASE_APPLICATION_ID == 0x50547261, "spelled out here");

/* A name in a folder holds once the folder is on the medium. Not all file systems can do that; then it is theirs. */
static void sync_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd >= 0) {
		(void)fsync(fd);
		close(fd);
	}
	free(folder);
}

static int sync_file(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool done = fd >= 0 && !fsync(fd);
	int r = done ? 0 : err_set_errno(err, errno == ENOSPC || errno == EDQUOT ? ERR_FULL : ERR_IO, "cannot write");
	if (fd >= 0)
		close(fd);
	return r;
}

/* Never over a file that came to be there meanwhile. */
static int give_name(const char *from, const char *to, struct err *err)
{
	if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
		return 0;
	if ((errno == EINVAL || errno == ENOSYS) && access(to, F_OK) && !rename(from, to))
		return 0;
	err_set_errno(err, ERR_IO, "cannot give the new case its name");
	return err_where(err, "%s", to);
}

int salvage_publish(struct case_file *c, const char *new, struct err *err)
{
	char at[PATH_BYTES], wal[PATH_BYTES];
	int r = name(at, new, SALVAGING, err);
	if (!r)
		r = name(wal, at, "-wal", err);
	if (!r)
		r = sql_exec(c, "PRAGMA application_id=0x50547261", err);
	int closed = case_close(c, r ? NULL : err);
	if (!r)
		r = closed;
	if (!r && !access(wal, F_OK))
		r = err_set(err, ERR_STORE, "the new case stays in two files, because another process is reading it");
	if (!r)
		r = sync_file(at, err);
	if (!r)
		r = give_name(at, new, err);
	if (!r)
		sync_folder(new);
	return r;
}
