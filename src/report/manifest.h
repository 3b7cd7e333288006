/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.h - private to report: the rows of a manifest, in the order of their files */
#pragma once

#include "pagetrail/arena.h"
#include "pagetrail/digest.h"
#include "pagetrail/manifest.h"

/* Columns of the query that more is done with than to write them down. */
enum manifest_column {
	M_SOURCE,
	M_FILE,
	M_STATUS,
	M_REASON,
	M_SHA256,
	M_STORED_BYTES,
	M_BYTES,
	M_RECORDS,
	M_PARSED,
	M_CONTEXT,
	M_UNPARSED,
	M_DUPLICATE,
	M_EVIDENCE_BYTES,
	M_FIRST_AT,
	M_LAST_AT,
	M_JOURNAL_SEQ,
	M_COLUMNS
};

struct manifest_cell {
	enum sql_type type;
	struct text text;
	int64_t n; /* also of a time */
	double real;
};

struct manifest {
	struct arena arena;
	struct text case_id;
	int64_t dated_ns;
	char journal[SHA256_HEX], content[SHA256_HEX];
	unsigned n_columns, at[M_COLUMNS]; /* where each of the above stands */
	struct text *columns;              /* names */
	struct manifest_cell **rows;       /* by file, digest and source */
	size_t n, cap;
};

static inline const struct manifest_cell *manifest_cell(const struct manifest *m, size_t row, enum manifest_column c)
{
	return &m->rows[row][m->at[c]];
}
/* Is the row about another file than the one before it? */
bool manifest_begins(const struct manifest *m, size_t row);
/* The row that holds for what is at its path now: none of the same path came in later. */
bool manifest_is_last(const struct manifest *m, size_t row);
/* A column that holds a time. */
bool manifest_is_time(const struct manifest *m, unsigned column);
