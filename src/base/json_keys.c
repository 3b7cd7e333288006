/* SPDX-License-Identifier: Apache-2.0 */
/* json_keys.c - are the members of an object those that are known, each once? */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "pagetrail/array.h"
#include "pagetrail/json.h"
#include "pagetrail/macros.h"

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

/* --- anywhere in a document --- */

enum { SMALL = 16 }; /* members that are compared each with each */

/* Names of the objects that are being gone over, those of the innermost last. */
struct names {
	struct text *list;
	size_t n, cap;
	struct json_place *where; /* NULL: not asked for */
	size_t end;
};

/* One step further than the first `end` bytes of the way. What is too long for it is cut. */
static void go(struct names *s, size_t end, bool object, struct text key, size_t index)
{
	if (!s->where)
		return;
	char *to = s->where->path + end;
	size_t room = sizeof(s->where->path) - end;
	int n = object ? snprintf(to, room, "%s%.*s", end ? "." : "", TEXT_ARG(text_sub(key, 0, 60)))
		       : snprintf(to, room, "[%zu]", index);
	s->end = MIN(end + (size_t)n, sizeof(s->where->path) - 1);
}

static int by_name(const void *a, const void *b)
{
	return text_cmp(*(const struct text *)a, *(const struct text *)b);
}

static bool twin(struct text *list, size_t n, struct text *ret)
{
	if (n > SMALL)
		qsort(list, n, sizeof(*list), by_name);
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < (n > SMALL ? MIN(i + 2, n) : n); k++)
			if (text_eq(list[i], list[k])) {
				*ret = list[i];
				return true;
			}
	return false;
}

static int push(struct names *s, struct text name, struct err *err)
{
	int rc = grow_array((void **)&s->list, &s->cap, s->n, sizeof(*s->list), err);
	if (!rc)
		s->list[s->n++] = name;
	return rc;
}

/* As deep as JSON_DEPTH_MAX. s->where is the way to v; to the twin, once there is one. */
static int find_twin(struct json_value v, struct names *s, struct text *ret, struct err *err)
{
	struct json_iter it = json_iter(v);
	struct json_value value;
	struct text key;
	size_t from = s->n, end = s->end, i = 0;
	bool object = json_is_object(v);
	int rc = 0;
	while (!rc && object && json_next(&it, &key, &value))
		rc = push(s, key, err);
	if (!rc && s->n > from && twin(s->list + from, s->n - from, ret)) {
		go(s, end, true, *ret, 0);
		rc = 1;
	}
	s->n = from;
	for (it = json_iter(v); !rc && json_next(&it, &key, &value); i++)
		if (json_is_object(value) || json_type(value) == JSON_ARRAY) {
			go(s, end, object, key, i);
			rc = find_twin(value, s, ret, err);
		}
	return rc;
}

int json_twice(struct json_value v, struct text *ret, struct json_place *where, struct err *err)
{
	struct names s = {.where = where};
	int rc = find_twin(v, &s, ret, err);
	free(s.list);
	return rc;
}

int json_document(struct json *j, struct text t, const char *what, struct json_value *ret, struct err *err)
{
	struct json_place where;
	struct text name;
	size_t off = 0;
	int rc = json_parse(j, t, false, ret, &off, err);
	if (rc == 1)
		return err_set(err, ERR_INPUT, "the %s is no JSON, from byte %zu on", what, off);
	if (rc == 0 && (rc = json_twice(*ret, &name, &where, err)) > 0)
		rc = err_set(err, ERR_INPUT, "the %s has an object with two members '%.*s', at %s", what,
			     TEXT_ARG(text_sub(name, 0, 40)), where.path);
	return rc;
}
