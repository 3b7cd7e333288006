/* SPDX-License-Identifier: Apache-2.0 */
/* head.h - hashes of the first 128, 256, … bytes of a source: finds those that begin alike without looking at their bytes
 *
 * Two sources one of which is the beginning of the other have the same hashes at all lengths that both have. The other way
 * round it is a hint only. They stand in the source's format_basis.
 */
#pragma once

#include "pagetrail/buf.h"
#include "pagetrail/digest.h"

enum { HEAD_BYTES = 128, HEAD_LEVELS = 10 };

struct head {
	unsigned n; /* levels that there are bytes for */
	uint32_t at[HEAD_LEVELS];
};

/* content: the first block. */
int head_of(struct head *h, struct text content, struct err *err) MUST_CHECK;
bool head_alike(const struct head *a, const struct head *b);
/* Appends ,"head":"…" unless the source is shorter than HEAD_BYTES. */
int head_put(const struct head *h, struct buf *out, struct err *err) MUST_CHECK;
/* Out of a format_basis. */
void head_get(struct head *h, struct text basis);
