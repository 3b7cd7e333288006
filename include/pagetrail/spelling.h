/* SPDX-License-Identifier: Apache-2.0 */
/* spelling.h - how a text may stand inside other texts: as it is, escaped, or in a common encoding */
#pragma once

#include "pagetrail/text.h"

enum spelling { SPELLED_PLAIN, SPELLED_JSON, SPELLED_PERCENT, SPELLED_HEX, SPELLED_BASE64, SPELLINGS };
extern const char *const spelling_names[SPELLINGS];

/* Gives each spelling that differs from the ones before. Base64 comes in up to six: the three places that the text can have in
 * its groups of three bytes, without what its neighbours decide, in both alphabets; a text too short for that is left out. take()
 * returns 0 or ERR_*; the text is valid during the call. */
int spellings_of(struct text t, int (*take)(void *ctx, enum spelling how, struct text spelled), void *ctx,
		 struct err *err) MUST_CHECK;
