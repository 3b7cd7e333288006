/* SPDX-License-Identifier: Apache-2.0 */
/* slice.h - values of events that stand in their records as text, stored as the place where they stand
 *
 * Identifiers, times and page lists are most of what events weigh, and evidence holds them already. A sliced column keeps
 * for each row only the distance from the end of the slice before, which hardly ever changes; the value is read out of the
 * record again by the column's rule. Whatever does not come out equal when it is packed is kept as a value. Byte form:
 * docs/store-format.md.
 */
#pragma once

#include "pack.h"
#include "pagetrail/column.h"

/* How a value follows from the text that begins at its place. */
enum slice_rule {
	SLICE_TEXT = 0,   /* the bytes up to the column's end byte, or to the end of the record */
	SLICE_PAGES = 1,  /* [1,[5,2]]: pages 1, 5, 6 */
	SLICE_STAMP = 2,  /* 2026-01-02T03:04:05.6 in nanoseconds since 1970, as if it were UTC */
	SLICE_NUMBER = 3, /* 12.345, times 1000^(rule - SLICE_NUMBER), cut to an integer */
	SLICE_RULES = 7,
	/* added to the rule */
	SLICE_SINCE = 0x20,     /* a number that counts from the event's time */
	SLICE_MINUS = 0x40,     /* backwards */
	SLICE_SAME_ROWS = 0x80, /* the rows are those of the sliced column before */
};

/* End byte that stands for: the first that is no letter, digit, '_', '-', '.' or ':'. */
enum { SLICE_END_WORD = 0 };

/* Values of one column of a batch; the arrays of the other types are NULL. */
struct slice_values {
	enum column_type type;
	const int64_t *since; /* the events' times; NULL when they are not to be used */
	int64_t *ints;
	struct text *texts;
	const struct page_run *runs;
	const uint32_t *run_end;
};

/* A part of a source, and for each row its record in it, or NULL. */
struct slice_rows {
	uint32_t n;
	const char **record;
	const uint32_t *len;
	uint32_t *cursor; /* end of the slice before, from the record's first byte */
	uint8_t *before;  /* has the sliced column before a slice there? */
};

/* Finds the records of b that lie wholly within the bytes; record has room for b->n, all NULL. */
static inline void slice_place(const struct event_batch *b, struct text bytes, uint64_t off, const char **record)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (b->byte_off[i] >= off && b->byte_off[i] - off <= bytes.len &&
		    b->byte_len[i] <= bytes.len - (b->byte_off[i] - off))
			record[i] = bytes.ptr + (b->byte_off[i] - off);
}

/* One value at p. False: there is none. *ret_stop: its end. */
bool slice_number(const char *p, const char *end, unsigned power, int64_t *ret, const char **ret_stop);
bool slice_stamp(const char *p, const char *end, int64_t *ret, const char **ret_stop);
const char *slice_text_end(const char *p, const char *end, unsigned char end_byte);
/* Runs of the list at p; SIZE_MAX: none, or more than max. */
size_t slice_pages(const char *p, const char *end, struct page_run *runs, size_t max, const char **ret_stop);

struct slicer {
	struct slice_rows rows;
	int64_t *gap, *rest; /* rest: what an integer is more than the slice says */
	uint32_t *end;
	uint8_t *sliced, *own;
	struct page_run *runs;
	size_t runs_cap;
};

/* For batches with b->n rows; the records are those of b that lie wholly within the bytes. */
int slicer_open(struct slicer *x, const struct event_batch *b, struct text bytes, uint64_t off,
		struct err *err) MUST_CHECK;
void slicer_close(struct slicer *x); /* accepts a zeroed one */
/* Where the first row that has a value holds it, for the order of columns; UINT32_MAX: not found. */
uint32_t slicer_place(struct slicer *x, const struct slice_values *v, const uint8_t *has);
/* Appends the column: 1, or 0 when it is better kept as values. */
int slicer_pack(struct slicer *x, const struct slice_values *v, const uint8_t *has, struct buf *out,
		struct err *err) MUST_CHECK;

/* Reads a column that slicer_pack() wrote and moves the cursors; has (n bytes) is filled. v: where the values go; what has no
 * array is passed over. Texts point into the records or the reader's bytes. ERR_DAMAGED. */
int slice_unpack(struct slice_rows *rows, struct pack_reader *in, const struct slice_values *v, uint8_t *has,
		 struct err *err) MUST_CHECK;
/* The same for a column of page lists: runs come from the arena, run_end is filled. arena NULL: passed over. */
int slice_unpack_pages(struct slice_rows *rows, struct pack_reader *in, struct arena *arena, struct page_run **ret_runs,
		       uint32_t *ret_n_runs, uint32_t *run_end, uint8_t *has, struct err *err) MUST_CHECK;
