/* SPDX-License-Identifier: Apache-2.0 */
/* formats.c - opened parsers, kept from source to source */
#include "formats.h"

#include <stdlib.h>
#include <string.h>

int formats_open(struct formats *f, const struct parser *const *list, size_t n, struct err *err)
{
	*f = (struct formats){.list = list, .n = n, .n_bid = n, .err = err};
	f->open = calloc(n + 1, sizeof(*f->open));
	f->used = calloc(n + 1, sizeof(*f->used));
	if (f->open && f->used)
		return 0;
	formats_close(f);
	return err_nomem(err);
}

void formats_close(struct formats *f)
{
	for (size_t i = 0; f->open && i < f->n; i++) {
		if (f->open[i])
			parse_close(f->open[i]);
		free(f->open[i]);
	}
	for (size_t i = 0; f->unwraps && i < f->n_wrappers * WRAP_DEPTH_MAX; i++)
		if (f->unwraps[i].wrapper)
			unwrap_close(&f->unwraps[i]);
	free(f->unwraps);
	free(f->open);
	free(f->used);
	*f = (struct formats){0};
}

int formats_wrap(struct formats *f, const struct wrapper *const *wraps, size_t n, struct err *err)
{
	f->unwraps = calloc(n * WRAP_DEPTH_MAX + 1, sizeof(*f->unwraps));
	if (!f->unwraps)
		return err_nomem(err);
	f->wrappers = wraps;
	f->n_wrappers = n;
	return 0;
}

int formats_unwrap(struct formats *f, const struct wrapper *w, unsigned depth, struct unwrap **ret)
{
	size_t i = 0;
	while (i < f->n_wrappers && f->wrappers[i] != w)
		i++;
	if (i == f->n_wrappers || depth >= WRAP_DEPTH_MAX)
		return err_set(f->err, ERR_BUG, "wrapper %s is not in the list", w->name);
	struct unwrap *u = &f->unwraps[i * WRAP_DEPTH_MAX + depth];
	*ret = u;
	return u->wrapper ? 0 : unwrap_open(u, w, f->err);
}

void formats_bind(struct formats *f, struct err *err)
{
	f->err = err;
	for (size_t i = 0; f->unwraps && i < f->n_wrappers * WRAP_DEPTH_MAX; i++)
		f->unwraps[i].err = err;
	for (size_t i = 0; i < f->n; i++)
		if (f->open[i])
			f->open[i]->err = err;
}

size_t formats_index(const struct formats *f, const struct parser *parser)
{
	size_t i = 0;
	while (i < f->n && f->list[i] != parser)
		i++;
	return i;
}

int formats_get(struct formats *f, size_t i, struct parse **ret)
{
	if (!f->open[i]) {
		struct parse *p = calloc(1, sizeof(*p));
		if (!p)
			return err_nomem(f->err);
		int rc = parse_open(p, f->list[i], f->err);
		if (rc < 0) {
			free(p);
			return rc;
		}
		f->open[i] = p;
	}
	*ret = f->open[i];
	return 0;
}

enum bid formats_bid(struct formats *f, struct parse *p, struct text record, bool padded)
{
	for (size_t i = f->n_bid; i < f->n; i++)
		if (p == f->open[i])
			return BID_NO;
	bool before = p->padded;
	p->padded = padded;
	arena_reset(&p->scratch);
	enum bid b = p->parser->bid(p, record);
	p->padded = before;
	return b;
}

int formats_use(struct formats *f, size_t i, struct parse **ret)
{
	f->used[i] = true;
	return formats_get(f, i, ret);
}

int formats_renew(struct formats *f)
{
	for (size_t i = 0; i < f->n; i++) {
		struct parse *p = f->open[i];
		if (!p || !f->used[i])
			continue;
		f->used[i] = false;
		if (p->parser->close && p->state)
			p->parser->close(p);
		if (p->state)
			memset(p->state, 0, p->parser->state_bytes);
		arena_reset(&p->scratch);
		p->fallback = STAMP_INIT;
		p->era = STAMP_INIT;
		p->reason = NULL;
		p->inner = (struct text){"", 0};
		int rc = p->parser->open ? p->parser->open(p) : 0;
		if (rc < 0)
			return rc;
	}
	return 0;
}
