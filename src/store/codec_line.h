/* SPDX-License-Identifier: Apache-2.0 */
/* codec_line.h - log lines as templates and typed columns
 *
 * A line is cut into literal parts and tokens (numbers, times, identifiers, words with digits, page lists). The literal
 * parts with one marker byte a token are its template; the tokens go to columns that templates share when the same words
 * stand in front. Byte form: docs/store-format.md. Lines that do not fit are kept as they are; every input comes back
 * byte for byte, and the caller proves it.
 */
#pragma once

#include "codec.h"

/* What a token is. The number is also its marker byte in a template: a line that holds one of these bytes is kept raw. */
enum line_kind {
	LINE_NUMBER = 1, /* decimal digits, perhaps with a fraction */
	LINE_STAMP,      /* 2026-01-02T03:04:05 or with a blank, perhaps with a fraction */
	LINE_HEX,        /* 16 and more lower-case hex digits, an even number */
	LINE_UUID,
	LINE_WORD, /* letters and digits mixed, or long */
	LINE_LIST, /* [1,2] [[1,2],[3,4]] */
	LINE_KINDS,
};

enum {
	LINE_TOKENS_MAX = 256,
	LINE_BYTES_MAX = 16384, /* longer lines are kept raw */
	LINE_TEMPLATES_MAX = 2048,
	LINE_COLUMNS_MAX = 1024,
	LINE_HEX_MAX = 256, /* digits */
	LINE_LIST_MAX = 4096,
	LINE_FORM_SHIFT = 4, /* form of a number: digits of the fraction, zeros in front << 4; of a time: 'T' << 4 */
	LINE_FRACTION_MAX = 15,
	LINE_CHUNK_MAX = 8 << 20,
	LINE_PLANES = 8, /* bytes of a number */
};

/* The frame is shorter than the lines, unless they are hardly lines. */
#define LINE_FRAME_MAX(raw_len) ((raw_len) + 4096)

/* Streams of the frame; the columns follow. */
enum line_stream {
	LINE_TEMPLATE_LENGTHS,
	LINE_TEMPLATES,
	LINE_SLOTS, /* column of each marker */
	LINE_COLUMN_KINDS,
	LINE_SHAPE_LENGTHS,
	LINE_SHAPES, /* of lists: their bytes with a 0 for each number */
	LINE_WORD_LENGTHS,
	LINE_WORDS,
	LINE_HEX_LENGTHS, /* bytes */
	LINE_CODES,       /* template + 1 of each line; 0 and a length for a raw one */
	LINE_RAW,
	LINE_STREAMS,
};

/* Columns of integers. */
enum {
	NUMBERS_CONST,
	NUMBERS_PLAIN,
	NUMBERS_DELTA,
	NUMBERS_TABLE,
	NUMBERS_RUNS,
	NUMBERS_PLANES,
	NUMBERS_MODES,
	NUMBERS_FORMS = 0x80
};

struct line_token {
	const char *ptr;
	uint64_t value;
	uint32_t len;
	uint8_t kind, form;
	bool same; /* as entry `value`, the column's last when the line began */
};

struct line_scan {
	struct line_token token[LINE_TOKENS_MAX];
	unsigned n;
	size_t skeleton_len;
	char skeleton[LINE_BYTES_MAX + 64];
	char date[10]; /* the one seen last, and its days since 1970 */
	int64_t days;
};

/* Cuts a line (without its newline). False: to be kept raw. */
bool line_scan(struct line_scan *s, struct text line);
/* The token at p, when it is of that kind: its end; else NULL. */
const char *line_token_at(struct line_scan *s, const char *p, const char *end, unsigned kind, struct line_token *t);
/* Numbers of a list: calls back for each; false when t is not a list. Shape may be NULL, else has t.len bytes. */
size_t line_list(struct text t, char *shape, size_t *ret_shape_len, uint64_t *numbers, size_t max);

/* Appends the encoded form; 1 when lines do not pay and nothing was appended. */
int line_pack(struct codec *z, struct text raw, struct buf *out, struct err *err) MUST_CHECK;
/* Writes exactly raw_len bytes. ERR_DAMAGED when that is not what comes out. */
int line_unpack(struct codec *z, struct text packed, char *dest, size_t raw_len, struct err *err) MUST_CHECK;

int64_t line_days(int year, unsigned month, unsigned day);
void line_date(int64_t days, int *year, unsigned *month, unsigned *day);
