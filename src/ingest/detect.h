/* SPDX-License-Identifier: Apache-2.0 */
/* detect.h - choosing a format with parsers that are open already */
#pragma once

#include "formats.h"
#include "pagetrail/ingest.h"

int detect_with(struct formats *f, struct text head, bool whole, struct detection *ret, struct err *err) MUST_CHECK;

/* The next line of *rest without its end, and what stands before a record begins: a byte order mark at the start of a
 * source, NUL bytes of a file that was cut while it was written. false at the end. */
bool line_next(struct text *rest, struct text *ret);
struct text line_strip_nul(struct text line);
size_t bom_length(struct text head);
