/* SPDX-License-Identifier: Apache-2.0 */
/* canonical.h - private to the store: rows as bytes that are hashed (docs/store-format.md)
 *
 * Fixed-size integers, texts behind their length, a mark for what is not known: no two rows share their bytes.
 */
#pragma once

#include "pagetrail/buf.h"
#include "pagetrail/digest.h"
#include "pagetrail/sql.h"

int canonical_u64(struct buf *b, uint64_t v, struct err *err) MUST_CHECK;
int canonical_text(struct buf *b, struct text t, struct err *err) MUST_CHECK;
int canonical_cell(struct buf *b, struct sql *s, int col, struct err *err) MUST_CHECK;
/* All rows that are left of the statement: 'r' and the cells of each. */
int canonical_rows(struct sha256 *h, struct sql *s, struct err *err) MUST_CHECK;
