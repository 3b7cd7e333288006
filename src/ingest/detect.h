/* SPDX-License-Identifier: Apache-2.0 */
/* detect.h - choosing a format with parsers that are open already */
#pragma once

#include "formats.h"
#include "pagetrail/ingest.h"
#include "stack.h"

/* asked: what somebody said it is, all of it or a part; NULL: nothing. head has BUF_PADDING readable bytes behind it when
 * padded. *ret_stack is the caller's to stack_done(); it has neither wrapper nor parser where the source is not recognised. */
int detect_with(struct formats *f, struct text head, bool whole, const struct stack *asked, struct detection *ret,
		struct stack *ret_stack, struct err *err) MUST_CHECK;

/* The same for lines from the middle of a source: no documents, and only wrappers of lines. */
int detect_further(struct formats *f, struct text lines, bool whole, struct detection *ret, struct stack *ret_stack,
		   struct err *err) MUST_CHECK;

/* Only formats of lines that have these records: what stands inside of a wrapper. */
int detect_lines(struct formats *f, struct text lines, bool whole, struct detection *ret, struct err *err) MUST_CHECK;

/* The wrapper, if any, that most records of the head have; inside: only one of lines. */
const struct wrapper *detect_wrapper(struct formats *f, struct text head, bool whole, unsigned depth, bool inside,
				     int *ret_rc);

/* Looks at the first records of a binary format; the last one may be cut by the end of head. */
void detect_binary(struct formats *f, struct parse *p, struct text head, unsigned *ret_records, unsigned *ret_strong,
		   unsigned *ret_weak);

/* The next line of *rest without its end, and what stands before a record begins: a byte order mark at the start of a
 * source, NUL bytes of a file that was cut while it was written. false at the end. */
bool line_next(struct text *rest, struct text *ret);
struct text line_strip_nul(struct text line);
size_t bom_length(struct text head);
