/* SPDX-License-Identifier: Apache-2.0 */
/* csv.h - reading files of comma-separated values that a person wrote (RFC 4180)
 *
 * A record is a line; a cell in quotes may hold commas, line ends and, doubled, quotes. What is not quoted is trimmed. Records
 * without a cell that holds anything, and those that begin with '#', say nothing and are passed over. A byte order mark is too.
 * Where plain is set nothing is passed over but empty lines.
 */
#pragma once

#include "pagetrail/arena.h"

enum { CSV_CELLS_MAX = 64 };

struct csv {
	struct text rest;
	unsigned next_line; /* that rest begins in, from 1 */
	bool plain;         /* set by the caller: no comments, and a record of empty cells is one */
	unsigned line;      /* where the record at hand begins, from 1 */
	unsigned n;
	struct text cells[CSV_CELLS_MAX];
};

void csv_open(struct csv *c, struct text content);
/* 1: cells[0..n) are set, parts of the content or of the arena; 0: no more. ERR_INPUT: err says which column of the line. */
int csv_next(struct csv *c, struct arena *a, struct err *err) MUST_CHECK;
/* Sets ERR_INPUT: "line L, column C: " and the text; t, at most 80 bytes of it, is for a "%.*s" in fmt. */
int csv_wrong(const struct csv *c, unsigned cell, const char *fmt, struct text t, struct err *err);
