/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c - looking ahead in a stream, and the first reason of damage */
#include "stream.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pagetrail/macros.h"

void damage_set(struct damage *d, bool final, const char *fmt, ...)
{
	d->final = d->final || final;
	if (d->reason[0])
		return;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(d->reason, sizeof(d->reason), fmt, ap);
	va_end(ap);
}

int stream_peek(struct stream *s, const char **ret, size_t *ret_n, struct err *err)
{
	const char *p = NULL;
	size_t n = 0;
	int rc = stream_read(s, &p, &n, err);
	if (rc == 0 && n && n < STREAM_HEAD) {
		size_t have = n;
		memmove(s->head, p, n);
		while (have < STREAM_HEAD) {
			rc = stream_read(s, &p, &n, err);
			if (rc < 0 || !n)
				break;
			size_t take = MIN(n, STREAM_HEAD - have);
			memcpy(s->head + have, p, take);
			have += take;
			s->behind = p + take;
			s->n_behind = n - take;
		}
		p = s->head;
		n = have;
	}
	if (rc == 0)
		stream_push(s, p, n);
	*ret = p;
	*ret_n = n;
	return rc;
}
