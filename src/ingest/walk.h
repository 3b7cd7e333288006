/* SPDX-License-Identifier: Apache-2.0 */
/* walk.h - the files below a path, in byte order of their names */
#pragma once

#include <stdbool.h>

#include "pagetrail/err.h"

/* Calls file() for each file; `why` is NULL, or why it is not going to be read (a link, a socket, a folder that cannot
 * be listed). A path that is given is followed when it is a link; links inside folders are not. */
int walk(const char *path, int (*file)(void *ctx, const char *path, const char *why, struct err *err), void *ctx,
	 struct err *err) MUST_CHECK;
/* The same, and folder() for each folder that can be listed, before its files. */
int walk_folders(const char *path, int (*file)(void *ctx, const char *path, const char *why, struct err *err),
		 int (*folder)(void *ctx, const char *path, struct err *err), void *ctx, struct err *err) MUST_CHECK;
