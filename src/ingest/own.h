/* SPDX-License-Identifier: Apache-2.0 */
/* own.h - the case must not be read into itself */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

struct own {
	const char *path; /* NULL: no case */
	bool there;
	struct stat st;
};

void own_begin(struct own *o, const char *case_path);
/* Is it the case file, or one that SQLite keeps beside it? */
bool own_is(const struct own *o, const char *path);
