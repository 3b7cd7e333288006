/* SPDX-License-Identifier: Apache-2.0 */
/* unwrap.c - what every wrapper shares: opening and closing, giving pieces */
#include <stdlib.h>

#include "pagetrail/wrapper.h"

int unwrap_open(struct unwrap *u, const struct wrapper *w, struct err *err)
{
	*u = (struct unwrap){.wrapper = w, .err = err};
	arena_init(&u->scratch, 0);
	if (!w->state_bytes)
		return 0;
	u->state = calloc(1, w->state_bytes);
	return u->state ? 0 : err_nomem(err);
}

void unwrap_close(struct unwrap *u)
{
	free(u->state);
	arena_done(&u->scratch);
	*u = (struct unwrap){0};
}

int unwrap_give(struct unwrap *u, const struct wrapped *piece)
{
	return u->give ? u->give(u->give_ctx, piece) : 0;
}

int unwrap_refuse(struct unwrap *u, const char *reason)
{
	u->reason = reason;
	return RECORD_UNPARSED;
}

const struct wrapper *wrapper_find(const struct wrapper *const *list, size_t n, struct text name)
{
	for (size_t i = 0; i < n; i++)
		if (text_is(name, list[i]->name))
			return list[i];
	return NULL;
}
