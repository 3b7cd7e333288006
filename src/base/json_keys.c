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

struct member {
	struct text name;
	struct json_value value;
};

/* Members of the objects that are being gone over, those of the innermost last. */
struct names {
	struct member *list;
	size_t n, cap;
	bool
	    logged; /* what a program logged: case and '-' tell no members apart, and to say one thing twice is no harm */
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

static char folded(char c)
{
	return c == '-' ? '_' : c >= 'A' && c <= 'Z' ? (char)(c | 32) : c;
}

static int cmp_folded(struct text a, struct text b)
{
	int d = (a.len > b.len) - (a.len < b.len);
	for (size_t i = 0; !d && i < a.len; i++)
		d = (unsigned char)folded(a.ptr[i]) - (unsigned char)folded(b.ptr[i]);
	return d;
}

static int by_name(const void *a, const void *b)
{
	return text_cmp(((const struct member *)a)->name, ((const struct member *)b)->name);
}

static int by_folded(const void *a, const void *b)
{
	return cmp_folded(((const struct member *)a)->name, ((const struct member *)b)->name);
}

/* Of lists and objects nothing is said. */
static bool same_value(struct json_value a, struct json_value b)
{
	enum json_type type = json_type(a);
	struct text t, u;
	int64_t i, k;
	uint64_t m, n;
	double d, e;
	bool p, q;
	if (type != json_type(b))
		return false;
	switch (type) {
	case JSON_NULL: return true;
	case JSON_BOOL: return json_bool(a, &p) && json_bool(b, &q) && p == q;
	case JSON_INT: return json_int64(a, &i) && json_int64(b, &k) && i == k;
	case JSON_UINT: return json_uint64(a, &m) && json_uint64(b, &n) && m == n;
	case JSON_DOUBLE: return json_double(a, &d) && json_double(b, &e) && !(d < e) && !(d > e);
	case JSON_STRING: return json_string(a, &t) && json_string(b, &u) && text_eq(t, u);
	default: return false;
	}
}

static bool twins(const struct names *s, const struct member *a, const struct member *b)
{
	if (a->name.len != b->name.len)
		return false;
	return s->logged ? !cmp_folded(a->name, b->name) && !same_value(a->value, b->value) : text_eq(a->name, b->name);
}

static bool twin(const struct names *s, struct member *list, size_t n, struct text *ret)
{
	if (n > SMALL)
		qsort(list, n, sizeof(*list), s->logged ? by_folded : by_name);
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < (n > SMALL ? MIN(i + 2, n) : n); k++)
			if (twins(s, &list[i], &list[k])) {
				*ret = list[i].name;
				return true;
			}
	return false;
}

static int push(struct names *s, struct text name, struct json_value value, struct err *err)
{
	int rc = grow_array((void **)&s->list, &s->cap, s->n, sizeof(*s->list), err);
	if (!rc)
		s->list[s->n++] = (struct member){name, value};
	return rc;
}

enum { GLANCE_MAX = 64 };

static uint32_t glance(struct text name)
{
	uint32_t n = (uint32_t)name.len;
	if (!n)
		return 0;
	return n << 24 ^ (uint32_t)(unsigned char)folded(name.ptr[0]) << 16 ^
	       (uint32_t)(unsigned char)folded(name.ptr[n / 2]) << 8 ^ (unsigned char)folded(name.ptr[n - 1]);
}

/* Could two members have one name? Nearly every object of every record is asked this, and few have two that look alike. *ret_deep:
 * it holds lists or objects. */
static bool look_alike(struct json_value object, bool *ret_deep)
{
	struct json_iter it = json_iter(object);
	uint32_t seen[GLANCE_MAX];
	struct json_value value;
	struct text key;
	size_t n = 0;
	bool alike = false;
	*ret_deep = false;
	while (json_next(&it, &key, &value)) {
		uint32_t x = glance(key);
		enum json_type type = json_type(value);
		*ret_deep |= type == JSON_OBJECT || type == JSON_ARRAY;
		for (size_t i = 0; i < n; i++)
			alike |= seen[i] == x;
		if (n < GLANCE_MAX)
			seen[n++] = x;
		else
			alike = true;
	}
	return alike;
}

/* As deep as JSON_DEPTH_MAX. s->where is the way to v; to the twin, once there is one. */
static int find_twin(struct json_value v, struct names *s, struct text *ret, struct err *err)
{
	struct json_iter it = json_iter(v);
	struct json_value value;
	struct text key;
	size_t from = s->n, end = s->end, i = 0;
	bool object = json_is_object(v), deep = true, alike = object && look_alike(v, &deep);
	int rc = 0;
	while (!rc && alike && json_next(&it, &key, &value))
		rc = push(s, key, value, err);
	if (!rc && s->n > from && twin(s, s->list + from, s->n - from, ret)) {
		go(s, end, true, *ret, 0);
		rc = 1;
	}
	s->n = from;
	for (it = json_iter(v); !rc && deep && json_next(&it, &key, &value); i++)
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

int json_contradicts(struct json_value v, struct text *ret, struct err *err)
{
	struct names s = {.logged = true};
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
