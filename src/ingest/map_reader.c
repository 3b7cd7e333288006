/* SPDX-License-Identifier: Apache-2.0 */
/* map_reader.c - where in a map one is, and what is wrong there */
#include "map_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

size_t reader_enter(struct reader *r, const char *fmt, ...)
{
	size_t before = r->n;
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(r->at + r->n, sizeof(r->at) - r->n, fmt, ap);
	va_end(ap);
	r->n = MIN(r->n + (size_t)MAX(n, 0), sizeof(r->at) - 1);
	return before;
}

void reader_leave(struct reader *r, size_t before)
{
	r->n = before;
	r->at[before] = '\0';
}

const char *reader_place(const struct reader *r)
{
	return !r->n ? "its top" : r->at[0] == '.' ? r->at + 1 : r->at;
}

/* expected WHAT, not VALUE */
int reader_wrong(struct reader *r, struct json_value v, const char *expected)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(2 * MAP_MAX_BYTES);
	struct text t = TEXT("nothing");
	if (json_type(v) != JSON_NONE && !json_write(v, &b, NULL))
		t = buf_text(&b);
	return err_set(r->err, ERR_INPUT, "the map is wrong at %s: expected %s, not %.*s%s", reader_place(r), expected,
		       TEXT_ARG(text_sub(t, 0, 60)), t.len > 60 ? "…" : "");
}

static int warn_of(void *ctx, struct text key, const char *again)
{
	struct reader *r = ctx;
	char what[400];
	snprintf(what, sizeof(what), "the map has a key %s, at %s: '%.*s'",
		 again ? "twice, of which the first counts" : "that is not known", reader_place(r),
		 (int)MIN(key.len, 80), key.ptr);
	r->warn(r->ctx, text_of(what));
	return 0;
}

int reader_keys(struct reader *r, struct json_value v, const char *const *keys, size_t n)
{
	return r->warn ? json_keys(v, keys, n, warn_of, r) : 0;
}

/* A copy that ends in a zero byte. */
int reader_keep(struct reader *r, struct text t, const char **ret)
{
	struct text copy = arena_text(&r->m->arena, t);
	*ret = t.len ? copy.ptr : "";
	return *ret ? 0 : err_nomem(r->err);
}

int reader_word(struct reader *r, struct json_value v, const char *key, const char *const *words, size_t n,
		const char *expected, int *ret)
{
	struct json_value value = json_get(v, key);
	struct text t;
	if (json_type(value) == JSON_NONE)
		return 0;
	for (size_t i = 0; json_string(value, &t) && i < n; i++)
		if (text_is(t, words[i])) {
			*ret = (int)i;
			return 0;
		}
	size_t was = reader_enter(r, ".%s", key);
	int rc = reader_wrong(r, value, expected);
	reader_leave(r, was);
	return rc;
}
