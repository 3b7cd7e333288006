/* SPDX-License-Identifier: Apache-2.0 */
/* far.h - formats of sources that say late what they are: behind a record longer than the head, or behind much chatter */
#pragma once

#include "detect.h"

struct far {
	/* Appends what comes next, at least one byte: 1, or 0 at the end. */
	int (*more)(void *ctx, struct buf *to, struct err *err);
	void *ctx;
};
/* head: the first DETECT_BYTES, in which d found text that nobody knows. Looks at what is behind them, part by part, until a
 * part is recognised; d->from and d->to say where. Bounded by DETECT_FAR_BYTES and DETECT_FAR_RECORDS. */
int far_look(const struct far *far, struct formats *f, struct text head, struct detection *d, struct stack *ret,
	     struct err *err) MUST_CHECK;

/* ,"from":…,"to":… for a format_basis, and out of one again; false: it was recognised by its first bytes. */
int far_put(const struct detection *d, struct buf *out, struct err *err) MUST_CHECK;
bool far_get(struct text basis, uint64_t *ret_from, uint64_t *ret_to);
