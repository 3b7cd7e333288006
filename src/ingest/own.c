/* SPDX-License-Identifier: Apache-2.0 */
/* own.c - the case must not be read into itself
 *
 * Told by device and inode, under whatever name. To open and close the file would also drop the locks that SQLite holds
 * on it in this process.
 */
#include "own.h"

#include <stdio.h>
#include <string.h>

#include "pagetrail/macros.h"

static bool same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

void own_begin(struct own *o, const char *case_path)
{
	*o = (struct own){.path = case_path};
	o->there = case_path && stat(case_path, &o->st) == 0;
}

bool own_is(const struct own *o, const char *path)
{
	static const char *const beside[] = {"-wal", "-shm", "-journal"};
	struct stat st, other;
	char name[4096];
	if (!o->there || stat(path, &st) != 0)
		return false;
	if (same(&st, &o->st))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(beside); i++) {
		size_t n = strlen(path), m = strlen(beside[i]);
		if (n < m || strcmp(path + n - m, beside[i]) != 0)
			continue;
		int len = snprintf(name, sizeof(name), "%s%s", o->path, beside[i]);
		if (len > 0 && (size_t)len < sizeof(name) && stat(name, &other) == 0 && same(&st, &other))
			return true;
	}
	return false;
}
