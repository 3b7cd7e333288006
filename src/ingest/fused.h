/* SPDX-License-Identifier: Apache-2.0 */
/* fused.h - lines in which a second record begins: two writers at once, or a line end that was lost */
#pragma once

#include <stdbool.h>

#include "pagetrail/text.h"

/* Does another record begin in this one, outside of quotes? Of text: a second time in the place and the writing of the first. */
bool fused_text(struct text record);
/* The same of a record of JSON that could not be read: its first key comes again where an object begins. */
bool fused_json(struct text record);
