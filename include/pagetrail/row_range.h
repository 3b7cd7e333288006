/* SPDX-License-Identifier: Apache-2.0 */
/* row_range.h - rows of request, alias, leg and response read in bulk, column by column, past SQL
 *
 * A book knows where the chunks of a table are. A range is some of them, fetched in the thread of the case, and then read in
 * any thread, by one at a time. Rows come in ascending order of request. Only the columns that the book was opened with are
 * decoded, a chunk at a time. What a book says is of the time when it was opened: keep a statement of the case open while it
 * is used.
 */
#pragma once

#include "pagetrail/row_tables.h"

enum { ROW_COLUMNS_MAX = 24, ROW_CHUNK_ROWS = 4096 };

/* One column of a chunk; which of the arrays is there follows from its type. */
struct row_cells {
	uint8_t *has; /* 1: there is a value; always 1 for refs */
	int64_t *ints;
	struct text *texts;
	struct ref *refs;
	uint32_t *ref_end; /* of each row */
};

struct row_book;
/* columns: bit per column that will be read; the request of a row is always. */
int row_book_open(struct row_book **ret, struct case_file *c, enum row_table table, uint32_t columns,
		  struct err *err) MUST_CHECK;
void row_book_close(struct row_book *b); /* accepts NULL */
int64_t row_book_rows(const struct row_book *b);

struct row_range {
	const struct row_cells *cells[ROW_COLUMNS_MAX]; /* of the chunk at hand; NULL: not asked for */
	const int64_t *request;                         /* of its rows */
	int64_t first;                                  /* number of its first row, from 1 */
	uint32_t row, n;                                /* row at hand, rows of the chunk */
	int64_t whole_from, whole_to;                   /* all rows of these requests are in it */
	struct range_chunks *chunks;                    /* private */
};

/* Fetches the chunks with rows of these requests. The book must stay. */
int row_range_read(struct row_range **ret, struct row_book *b, int64_t from, int64_t to, struct err *err) MUST_CHECK;
void row_range_free(struct row_range *r); /* accepts NULL */
DEFINE_CLEANUP(struct row_range *, row_range_free)
/* Makes *r, which may be NULL, one that has all rows of the request. */
int row_range_turn(struct row_range **r, struct row_book *b, int64_t request, struct err *err) MUST_CHECK;
/* The same for a row, by its number, which is then at hand; ERR_DAMAGED when there is none. */
int row_range_goto(struct row_range **r, struct row_book *b, int64_t row, struct err *err) MUST_CHECK;
/* 1: at the first row whose request is not below this one; 0: there is none. */
int row_range_seek(struct row_range *r, int64_t request, struct err *err) MUST_CHECK;
/* 1: at the next row; 0: there is none. */
int row_range_next(struct row_range *r, struct err *err) MUST_CHECK;

/* Cells of the row at hand: INT64_MIN, a text without ptr: NULL. */
static inline int64_t row_range_int(const struct row_range *r, unsigned column)
{
	const struct row_cells *c = r->cells[column];
	return c->has[r->row] ? c->ints[r->row] : INT64_MIN;
}
static inline struct text row_range_text(const struct row_range *r, unsigned column)
{
	const struct row_cells *c = r->cells[column];
	return c->has[r->row] ? c->texts[r->row] : (struct text){NULL, 0};
}
static inline int64_t row_range_request(const struct row_range *r)
{
	return r->request[r->row];
}
