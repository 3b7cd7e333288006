/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - private to rows*.c: an output under way */
#pragma once

#include <stdlib.h>

#include "cli.h"

enum { EXTRAS_MAX = 8 };

struct extra {
	const char *name;
	char *json;
};

struct rows {
	enum rows_format format;
	struct rows_column columns[ROWS_COLUMNS_MAX];
	unsigned n;
	int shown[ROWS_COLUMNS_MAX]; /* indexes of columns, in output order */
	unsigned n_shown;
	bool chosen;                   /* by --columns: a person asked for these, none is dropped */
	bool wanted[ROWS_COLUMNS_MAX]; /* shown at all */
	struct buf keys;               /* JSON: ,"name": for each column shown */
	size_t key_end[ROWS_COLUMNS_MAX];
	bool direct; /* JSON, shown in the order of the columns: cells go to `out` at once */
	unsigned n_direct;
	size_t row_start;
	bool part;   /* never written by itself */
	unsigned at; /* next cell */
	int64_t limit, count, printed;
	struct zone *zone;
	struct json *json; /* tables read lists out as words */
	struct buf name, case_path, params, note, row;
	int64_t as_of_ns;
	struct extra extras[EXTRAS_MAX];
	unsigned n_extras;
	struct buf out;  /* not written yet */
	size_t out_full; /* written when that long */
	FILE *spool;
	/* table: cells of the rows measured, NUL-separated in `cells`; one offset a cell */
	struct buf cells;
	size_t *cell_at;
	size_t n_cells, cap_cells;
	unsigned width[ROWS_COLUMNS_MAX];
	bool narrow[ROWS_COLUMNS_MAX]; /* less than what was measured: cells are cut to it */
	bool below[ROWS_COLUMNS_MAX];  /* not beside the others, but in lines below each row */
	unsigned line_max;             /* 0: no terminal */
	struct buf prefix, cut;        /* what all paths begin with; a path without it */
	unsigned path_least;           /* columns that tell the paths of a table apart */
	bool started;
	int rc;                              /* of the parts that cannot report: said by rows_close() */
	size_t cell_start[ROWS_COLUMNS_MAX]; /* of the row being built, in `row` */
	size_t cell_end[ROWS_COLUMNS_MAX];
};

static inline struct text rows_cell(const struct rows *r, unsigned column)
{
	return (struct text){buf_text(&r->row).ptr + r->cell_start[column],
			     r->cell_end[column] - r->cell_start[column]};
}

/* What is given out; a failure is kept until rows_close(). */
void rows_put(struct rows *r, struct text t);
/* At most n bytes that the caller then puts there and counts; NULL: no memory, which is kept. */
char *rows_room(struct rows *r, size_t n);

/* --- rows_table.c --- */

/* The cells of a row as a line of the table; the first ones are measured before anything is given out. */
int rows_table_row(struct rows *r, struct err *err) MUST_CHECK;
void rows_table_end(struct rows *r);
