/* SPDX-License-Identifier: Apache-2.0 */
/* text_fold.c - text as people read it, by the tables of Unicode */
#include <utf8proc.h>

#include "pagetrail/text.h"
#include "utf8.h"

static bool letter_or_digit(uint32_t c)
{
	const utf8proc_property_t *p = utf8proc_get_property((utf8proc_int32_t)c);
	return !p->ignorable && !utf8_hidden(c) && p->category >= UTF8PROC_CATEGORY_LU &&
	       p->category <= UTF8PROC_CATEGORY_NO && p->category != UTF8PROC_CATEGORY_MN &&
	       p->category != UTF8PROC_CATEGORY_MC && p->category != UTF8PROC_CATEGORY_ME;
}

bool text_says_something(struct text t)
{
	uint32_t c;
	for (size_t i = 0; i < t.len;) {
		unsigned n = utf8_decode(t.ptr + i, t.len - i, &c);
		if (n && letter_or_digit(c))
			return true;
		i += n ? n : 1;
	}
	return false;
}
