/* SPDX-License-Identifier: Apache-2.0 */
/* spelling.h - how a text may stand inside other texts: as it is, escaped, or in a common encoding */
#pragma once

#include "pagetrail/text.h"

enum spelling { SPELLED_PLAIN, SPELLED_JSON, SPELLED_PERCENT, SPELLED_HEX, SPELLED_BASE64, SPELLINGS };
extern const char *const spelling_names[SPELLINGS];

/* As many as one text can have. */
enum { SPELLINGS_MAX = 64 };

struct spelled {
	enum spelling how;
	struct text text;
	/* Base64: bits of the characters beside it that are the text's own too */
	unsigned char before_mask, before, after_mask, after;
};

/* Gives each spelling that differs from the ones before: JSON with what different writers escape, once and inside of a string of
 * JSON; percent in capitals and small, with + for a blank; hex; Base64 at the three places that the text can have in its groups of
 * three bytes, without what its neighbours decide, in both alphabets. take() returns 0 or ERR_*; the text is valid during the
 * call. */
int spellings_of(struct text t, int (*take)(void *ctx, const struct spelled *s), void *ctx, struct err *err) MUST_CHECK;

/* A spelling was found in bytes, at that place: do the characters beside it agree? Where there are none, or a line ends, yes. */
bool spelling_fits(const struct spelled *s, struct text bytes, size_t at);
