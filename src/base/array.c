/* SPDX-License-Identifier: Apache-2.0 */
/* array.c - arrays that grow to twice what they were */
#include "pagetrail/array.h"

#include <stdlib.h>

int grow_array(void **p, size_t *cap, size_t n, size_t size, struct err *err)
{
	if (n < *cap)
		return 0;
	size_t more = *cap ? *cap * 2 : 16;
	void *q = reallocarray(*p, more, size);
	if (!q)
		return err_nomem(err);
	*p = q;
	*cap = more;
	return 0;
}
