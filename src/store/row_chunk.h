/* SPDX-License-Identifier: Apache-2.0 */
/* row_chunk.h - private to the store: some thousand rows of one table as bytes, and back, one column at a time
 *
 * The decoder trusts nothing: lengths are checked against the bytes at hand and CHUNK_MAX_DECODED_BYTES before anything is
 * allocated. A chunk belongs to one thread.
 */
#pragma once

#include "codec.h"
#include "pagetrail/arena.h"
#include "pagetrail/row_range.h"

enum row_type { ROW_INT, ROW_TEXT, ROW_REFS };

struct row_column {
	const char *name;
	enum row_type type;
};

struct row_table_info {
	const char *name;
	const struct row_column *columns;
	unsigned n_columns;
	int id;          /* column that is the number of the row; -1: none */
	int request;     /* ascending */
	int name_column; /* text that is in the index of names; -1: none */
};
extern const struct row_table_info row_tables[ROW_TABLES];

/* Appends the chunk. compress: false leaves it as long as it is. sha256: of the columns, whatever they are packed with. */
int row_chunk_pack(enum row_table table, uint32_t n, const struct row_cells *columns, bool compress, struct codec *z,
		   struct buf *out, unsigned char sha256[SHA256_BYTES], struct err *err) MUST_CHECK;

struct row_chunk;
/* Takes a copy of data; z must live as long. ERR_DAMAGED. */
int row_chunk_open(struct row_chunk **ret, enum row_table table, uint32_t n, struct text data, struct codec *z,
		   struct err *err) MUST_CHECK;
struct row_chunk *row_chunk_ref(struct row_chunk *x);
void row_chunk_unref(struct row_chunk *x); /* accepts NULL */
static inline void row_chunk_unrefp(struct row_chunk **x)
{
	row_chunk_unref(*x);
}
/* Decoded when it is asked for; valid as long as the chunk. */
int row_chunk_column(struct row_chunk *x, unsigned column, const struct row_cells **ret, struct err *err) MUST_CHECK;
/* The same as row_chunk_pack() gave. */
int row_chunk_sha256(struct row_chunk *x, unsigned char ret[SHA256_BYTES], struct err *err) MUST_CHECK;
/* ["S1@0+10",…] of one row. */
int row_refs_json(const struct row_cells *c, uint32_t row, struct buf *out, struct err *err) MUST_CHECK;
