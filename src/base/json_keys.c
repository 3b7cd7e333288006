/* SPDX-License-Identifier: Apache-2.0 */
/* json_keys.c - are the members of an object those that are known, each once? */
#include <assert.h>

#include "pagetrail/json.h"

int json_keys(struct json_value v, const char *const *known, size_t n_known,
	      int (*odd)(void *ctx, struct text key, const char *again), void *ctx)
{
	struct json_iter it = json_iter(v);
	struct json_value value;
	struct text key;
	uint64_t seen = 0;
	int rc = 0;
	assert(n_known <= 64);
	while (rc == 0 && json_is_object(v) && json_next(&it, &key, &value)) {
		size_t i = 0;
		while (i < n_known && !text_is(key, known[i]))
			i++;
		if (i == n_known)
			rc = odd(ctx, key, NULL);
		else if (seen >> i & 1)
			rc = odd(ctx, key, known[i]);
		else
			seen |= UINT64_C(1) << i;
	}
	return rc;
}
