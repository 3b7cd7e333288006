/* SPDX-License-Identifier: Apache-2.0 */
/* private_file.h - files with keys in them, which nobody but their owner may read
 *
 * One handle for the check and for reading: nobody puts another file in between.
 */
#pragma once

#include "pagetrail/buf.h"

/* A handle, or ERR_INPUT: it cannot be opened, or is no regular file. what: "key". *ret_others: its group or others may read or write it. */
int private_file_open(const char *path, const char *what, bool *ret_others, struct err *err) MUST_CHECK;
/* The rest of it, behind what b holds; ERR_INPUT when it is more than b takes. Room is made at once: growing would leave copies of
 * keys in memory. */
int private_file_read(int fd, const char *what, struct buf *b, struct err *err) MUST_CHECK;
/* ERR_INPUT, and the mode that it needs. then: what whoever has read it can do. */
int private_file_refuse(const char *path, const char *what, const char *then, struct err *err);
