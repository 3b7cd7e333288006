/* SPDX-License-Identifier: Apache-2.0 */
/* utf16.h - UTF-16 text as a stream of UTF-8 */
#pragma once

#include "pagetrail/text.h"
#include "stream.h"

/* Does it begin with a byte order mark and go on as text? Half of its first characters have to be ASCII, and none NUL. */
bool utf16_begins(struct text head);
/* Owns `in` from now on, also when it fails. */
int utf16_open(struct stream **ret, struct stream *in, struct damage *damage, struct err *err) MUST_CHECK;
