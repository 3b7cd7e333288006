/* SPDX-License-Identifier: Apache-2.0 */
/* codec_texts.h - a set of texts, numbered by first use
 *
 * Entries borrow: what was put stays where it is as long as the set, or the caller points the entry to a copy.
 */
#pragma once

#include "pagetrail/text.h"

struct texts {
	uint32_t *slot; /* entry + 1 */
	uint32_t mask, n, cap;
	struct text *entry;
	uint32_t *hash;
};

int texts_open(struct texts *t, uint32_t slots, struct err *err) MUST_CHECK; /* a power of two */
void texts_close(struct texts *t);                                           /* accepts a zeroed one */
/* The entry equal to v. */
bool texts_find(const struct texts *t, struct text v, uint32_t *ret);
/* The entry equal to v, or one that is added. */
int texts_put(struct texts *t, struct text v, uint32_t *ret, bool *ret_added, struct err *err) MUST_CHECK;
