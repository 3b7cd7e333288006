/* SPDX-License-Identifier: Apache-2.0 */
/* row_directory.h - private to the store: which rows and requests each chunk of a table has */
#pragma once

#include "row_chunk.h"

struct row_entry {
	int64_t first, request_min, request_max;
	uint32_t n;
};

struct row_directory {
	struct row_entry *entries;
	uint32_t n, cap;
};

/* d is empty. ERR_DAMAGED when chunks do not follow each other. */
int row_directory_read(struct row_directory *d, struct case_file *c, enum row_table table, struct err *err) MUST_CHECK;
void row_directory_done(struct row_directory *d);
int64_t row_directory_rows(const struct row_directory *d);
/* First chunk whose last request is not below; d->n when there is none. */
uint32_t row_directory_request(const struct row_directory *d, int64_t request);
/* The same by row number. */
uint32_t row_directory_row(const struct row_directory *d, int64_t row);
/* Opens a chunk. *data: a statement that is kept for the next one, for sql_end(). */
int row_directory_open(const struct row_directory *d, uint32_t entry, struct case_file *c, enum row_table table,
		       struct codec *z, struct sql **data, struct row_chunk **ret, struct err *err) MUST_CHECK;
/* The bytes of a chunk, valid until sql_reset(*data). */
int row_directory_bytes(const struct row_directory *d, uint32_t entry, struct case_file *c, enum row_table table,
			struct sql **data, struct text *ret, struct err *err) MUST_CHECK;
