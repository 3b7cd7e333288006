/* SPDX-License-Identifier: Apache-2.0 */
/* picture.h - private to cli: from a query's rows to a picture in a file */
#pragma once

#include "cli.h"
#include "pagetrail/arena.h"
#include "pagetrail/picture.h"

/* ERR_USAGE when the form of a table is asked for, too. */
int picture_alone(const struct ask *a, struct err *err) MUST_CHECK;
/* What a picture says of itself: "pagetrail query CASE NAME --param k=v …" for the parameters of a, and the window asked for. */
int picture_command(struct buf *b, const char *query, const struct ask *a, struct err *err) MUST_CHECK;
/* "what, case ID: TITLE", as far as the case has them. */
int picture_title(struct buf *b, const char *what, struct case_file *c, struct err *err) MUST_CHECK;
/* The graph with its words, to a file. query: prints the same data with the parameters of a. */
int picture_graph(struct case_file *c, struct graph *g, const char *title, const char *query, const struct ask *a,
		  const char *file, struct err *err) MUST_CHECK;
