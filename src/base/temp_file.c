/* SPDX-License-Identifier: Apache-2.0 */
/* temp_file.c - a file without a name */
#include "pagetrail/temp_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pagetrail/macros.h"

int temp_file(void)
{
	const char *const dirs[] = {getenv("SQLITE_TMPDIR"), getenv("TMPDIR"), "/var/tmp", "/usr/tmp", "/tmp", "."};
	int fd = -1;
	for (size_t i = 0; i < ARRAY_SIZE(dirs) && fd < 0; i++) {
		char path[4096];
		if (!dirs[i] || !*dirs[i])
			continue;
		fd = open(dirs[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		int n = snprintf(path, sizeof(path), "%s/pagetrail-XXXXXX", dirs[i]);
		if (fd >= 0 || n < 0 || (size_t)n >= sizeof(path))
			continue;
		fd = mkostemp(path, O_CLOEXEC);
		if (fd >= 0)
			(void)unlink(path);
	}
	return fd;
}
