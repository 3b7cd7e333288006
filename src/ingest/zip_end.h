/* SPDX-License-Identifier: Apache-2.0 */
/* zip_end.h - does the directory at the end of a zip agree with what was read from its front? */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { ZIP_END_BYTES = 65535 + 22 }; /* the last record with the longest comment */

/* Keeps the last ZIP_END_BYTES of everything that is given. */
void zip_end_keep(char *tail, size_t *n_tail, const char *p, size_t n);
/* NULL when all is well, else why not. total: bytes of the zip; entries: read, folders included. */
const char *zip_end_check(const char *tail, size_t n_tail, uint64_t total, unsigned entries);
