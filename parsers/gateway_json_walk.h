/* SPDX-License-Identifier: Apache-2.0 */
/* gateway_json_walk.h - one walk over a record of format gateway-json, and the readers of what it found
 *
 * Values are borrowed from the document: they live until the next json_parse(). A reader that cannot make sense of a
 * value says so and gives nothing: "unknown" is never made into a number.
 */
#pragma once

#include <math.h>
#include <string.h>

#include "gateway_json_keys.h"
#include "pagetrail/parser.h"

/* Aliases by the length of their path: a look-up compares with a handful. */
struct index {
	uint16_t start[PATH_MAX_BYTES + 2];
	uint16_t order[ARRAY_SIZE(aliases)];
};

/* What a key at the top came to when it was looked up: neither path nor look-up are needed again. */
struct memo {
	const struct alias *alias; /* NULL: none */
	uint32_t mark;
	uint8_t len;
	char key[PATH_MAX_BYTES];
};

enum { MEMOS = 128 }; /* a power of two */

struct found {
	const struct index *index;
	uint32_t marks; /* of the keys at the top: see mark_of() */
	struct json_value v[ROLES];
	uint8_t rank[ROLES];
	uint32_t products; /* bit per enum product */
	int64_t choices, prompts;
	struct json_value rooms; /* a batch's: the list that v[ROOM] is the first of */
	struct json_value tried; /* Kong: the last upstream that was tried */
};

static void index_build(struct index *x)
{
	uint16_t at[PATH_MAX_BYTES + 2];

	memset(x, 0, sizeof(*x));
	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
		x->start[strlen(aliases[i].path) + 1]++;
	for (size_t n = 1; n < ARRAY_SIZE(x->start); n++)
		x->start[n] = (uint16_t)(x->start[n] + x->start[n - 1]);
	memcpy(at, x->start, sizeof(at));
	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
		x->order[at[strlen(aliases[i].path)]++] = (uint16_t)i;
}

static const struct alias *look_up(const struct index *x, const char *path, size_t len)
{
	if (len > PATH_MAX_BYTES)
		return NULL;
	for (uint16_t i = x->start[len]; i < x->start[len + 1]; i++) {
		if (memcmp(aliases[x->order[i]].path, path, len) == 0)
			return &aliases[x->order[i]];
	}
	return NULL;
}

/* --- the walk --- */

static bool usable(struct json_value v)
{
	struct text t;

	switch (json_type(v)) {
	case JSON_NONE:
	case JSON_NULL: return false;
	case JSON_STRING:
		return json_string(v, &t) && t.len && !text_is(t, "-") && !text_is(t, "null") && !text_is(t, "None");
	default: return true;
	}
}

static struct json_value first_of(struct json_value list)
{
	struct json_iter it = json_iter(list);
	struct json_value v = {0};
	struct text key;

	if (!json_next(&it, &key, &v))
		return (struct json_value){0};
	return v;
}

static int64_t length_of(struct json_value list)
{
	struct json_iter it = json_iter(list);
	struct json_value v;
	struct text key;
	int64_t n = 0;

	while (json_next(&it, &key, &v))
		n++;
	return n;
}

static const struct alias *find_alias(const struct index *x, const char *path, size_t len)
{
	const struct alias *a = look_up(x, path, len);

	for (size_t i = len; i-- > 1 && !a;) {
		if (path[i - 1] == '.' && ((len - i > 6 && memcmp(path + i, "usage.", 6) == 0) ||
					   (len - i > 8 && memcmp(path + i, "choices.", 8) == 0)))
			a = look_up(x, path + i, len - i);
	}
	return a;
}

static void take_alias(struct found *f, const struct alias *a, struct json_value v)
{
	struct json_value list = v;

	if (!a)
		return;
	if (json_type(v) == JSON_ARRAY)
		v = first_of(v);
	if (a->product)
		f->products |= UINT32_C(1) << a->product;
	if (!usable(v) || (json_type(f->v[a->role]) != JSON_NONE && f->rank[a->role] < a->rank))
		return;
	f->v[a->role] = v;
	f->rank[a->role] = a->rank;
	if (a->role == ROOM)
		f->rooms = json_type(list) == JSON_ARRAY ? list : (struct json_value){0};
}

static void offer(struct found *f, const char *path, size_t len, struct json_value v)
{
	take_alias(f, find_alias(f->index, path, len), v);
}

static void walk(struct found *f, struct json_value object, char *path, size_t len, unsigned depth);

static bool ends(const char *path, size_t len, const char *name)
{
	size_t n = strlen(name);

	return len >= n && memcmp(path + len - n, name, n) == 0 && (len == n || path[len - n - 1] == '.');
}

static void walk_list(struct found *f, struct json_value list, char *path, size_t len, unsigned depth)
{
	struct json_value first = first_of(list), v;
	struct json_iter it;
	struct text key;

	if (ends(path, len, "choices")) {
		f->choices = length_of(list);
		walk(f, first, path, len, depth + 1);
	} else if (ends(path, len, "prompt") || ends(path, len, "input")) {
		/* a list of numbers is one prompt in tokens; of texts or lists, several prompts. Chat input is objects
		 */
		if (json_type(first) == JSON_STRING || json_type(first) == JSON_ARRAY)
			f->prompts = length_of(list);
	} else if (ends(path, len, "tries")) {
		it = json_iter(list);
		while (json_next(&it, &key, &v))
			f->tried = v;
	} else {
		offer(f, path, len, list);
	}
}

static size_t add_name(char *path, size_t len, struct text key)
{
	if (len + 1 + key.len > PATH_MAX_BYTES)
		return SIZE_MAX;
	if (len == 2 && memcmp(path, "ai", 2) == 0)
		key = TEXT("*"); /* Kong: the plugin's name */
	if (len)
		path[len++] = '.';
	for (size_t i = 0; i < key.len; i++) {
		char c = key.ptr[i];

		path[len++] = c == '-' ? '_' : c >= 'A' && c <= 'Z' ? (char)(c | 32) : c;
	}
	return len;
}

/* What log shippers wrap a record's own fields in. */
static bool transparent(const char *path, size_t len)
{
	static const char *const names[] = {"jsonpayload", "fields", "attributes", "json", "record", "payload"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (len == strlen(names[i]) && memcmp(path, names[i], len) == 0)
			return true;
	}
	return false;
}

static void walk_member(struct found *f, struct json_value v, char *path, size_t len, unsigned depth)
{
	if (json_is_object(v))
		walk(f, v, path, depth == 0 && transparent(path, len) ? 0 : len, depth + 1);
	else if (json_type(v) == JSON_ARRAY)
		walk_list(f, v, path, len, depth);
	else
		offer(f, path, len, v);
}

static void walk(struct found *f, struct json_value object, char *path, size_t len, unsigned depth)
{
	struct json_iter it;
	struct json_value v;
	struct text key;

	if (depth >= DEPTH_MAX || !json_is_object(object))
		return;
	it = json_iter(object);
	while (json_next(&it, &key, &v)) {
		size_t n = add_name(path, len, key);

		if (n != SIZE_MAX)
			walk_member(f, v, path, n, depth);
	}
}

/* Keys that other formats have at the top: a bit for one that is enough, a bit each for those that go in pairs. */
static uint32_t mark_of(struct text key)
{
	static const struct text alone[] = {
	    {"resourceLogs", 12},         {"resourceSpans", 13},      {"resourceMetrics", 15},
	    {"__REALTIME_TIMESTAMP", 20}, {"request_parameters", 18}, {"internal_states", 15},
	};
	static const struct text halves[] = {
	    {"op", 2},   {"seq", 3},    {"pages", 5}, {"event", 5}, {"obj", 3},  {"labels", 6},
	    {"line", 4}, {"target", 6}, {"level", 5}, {"log", 3},   {"time", 4}, {"date", 4},
	};

	for (size_t i = 0; i < ARRAY_SIZE(alone); i++)
		if (text_eq(key, alone[i]))
			return UINT32_C(1) << 31;
	for (size_t i = 0; i < ARRAY_SIZE(halves); i++)
		if (text_eq(key, halves[i]))
			return UINT32_C(1) << i;
	return 0;
}

/* Records that belong to other formats, whatever else is in them. */
static bool is_foreign(uint32_t marks)
{
	static const uint8_t pairs[][2] = {{0, 1}, {0, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}, {9, 11}}; /* of halves */

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		if (marks >> pairs[i][0] & marks >> pairs[i][1] & 1)
			return true;
	return marks >> 31;
}

static uint32_t marks_of(struct json_value doc)
{
	struct json_iter it = json_iter(doc);
	struct json_value v;
	struct text key;
	uint32_t marks = 0;

	while (json_is_object(doc) && json_next(&it, &key, &v))
		marks |= mark_of(key);
	return marks;
}

static bool same_key(const struct memo *m, struct text key)
{
	return m->len == key.len && memcmp(m->key, key.ptr, key.len) == 0;
}

/* The place for a key: one of two, where it is or could be. */
static struct memo *memo_at(struct memo *memo, struct text key)
{
	const unsigned char *p = (const unsigned char *)key.ptr;
	size_t at = (key.len * 7 + p[0] * 31u + p[key.len / 2] * 131u + p[key.len - 1] * 17u) % MEMOS;

	return memo[at].len == 0 || same_key(&memo[at], key) ? &memo[at] : &memo[at ^ 1];
}

/* memo: MEMOS of them; NULL: nothing is remembered. */
static void gather(struct found *f, const struct index *x, struct memo *memo, struct json_value doc)
{
	char path[PATH_MAX_BYTES + 2];
	struct json_iter it = json_iter(doc);
	struct json_value v;
	struct text key;
	size_t n;

	*f = (struct found){.index = x};
	while (json_is_object(doc) && json_next(&it, &key, &v)) {
		struct memo *m = memo && key.len && key.len <= PATH_MAX_BYTES ? memo_at(memo, key) : NULL;
		bool known = m && same_key(m, key);
		uint32_t mark = known ? m->mark : mark_of(key);

		f->marks |= mark;
		if (known && !json_is_object(v) && json_type(v) != JSON_ARRAY) {
			take_alias(f, m->alias, v);
			continue;
		}
		n = add_name(path, 0, key);
		if (n == SIZE_MAX)
			continue;
		if (m && !known) {
			*m = (struct memo){.alias = find_alias(x, path, n), .mark = mark, .len = (uint8_t)key.len};
			memcpy(m->key, key.ptr, key.len);
		}
		walk_member(f, v, path, n, 0);
	}
}

/* --- values --- */

static bool has(const struct found *f, enum role r)
{
	return json_type(f->v[r]) != JSON_NONE;
}

static bool is_of(const struct found *f, enum product p)
{
	return f->products >> p & 1;
}

static struct text text_at(struct parse *p, const struct found *f, enum role r)
{
	char *tmp;
	struct text t = {0};

	if (json_string(f->v[r], &t) || !has(f, r))
		return t;
	tmp = arena_alloc(&p->scratch, ID_TMP);
	if (!tmp || !json_id(f->v[r], tmp, &t))
		return (struct text){0};
	return t;
}

static bool count_at(const struct found *f, enum role r, int64_t *ret)
{
	return json_count(f->v[r], ret) && *ret >= 0 && *ret <= TOKENS_MAX;
}

static bool flag_at(const struct found *f, enum role r, bool *ret)
{
	struct text t;
	int64_t n;

	if (json_bool(f->v[r], ret))
		return true;
	if (json_string(f->v[r], &t) && (text_is(t, "true") || text_is(t, "True"))) {
		*ret = true;
		return true;
	}
	if (json_string(f->v[r], &t) && (text_is(t, "false") || text_is(t, "False"))) {
		*ret = false;
		return true;
	}
	if (!json_count(f->v[r], &n) || n < 0 || n > 1)
		return false;
	*ret = n;
	return true;
}

static bool whole_iso(struct text t, struct stamp *ret)
{
	struct text rest;
	size_t used;

	if (!stamp_parse_iso(t, ret, &used))
		return false;
	rest = text_trim(text_from(t, used));
	if (rest.len == 0)
		return true;
	if (!text_is(rest, "UTC") && !text_is(rest, "GMT") && !text_is(rest, "Z"))
		return false;
	ret->quality = STAMP_ZONED;
	return true;
}

static bool time_at(const struct found *f, enum role r, struct stamp *ret)
{
	struct stamp s;
	char tmp[ID_TMP];
	struct text t;
	size_t used;
	double d;

	if (json_type(f->v[r]) == JSON_DOUBLE && json_double(f->v[r], &d)) {
		/* magnitude tells seconds, ms and us; a double holds no more than microseconds anyway */
		double us = d >= 1e14 ? d : d >= 1e11 ? d * 1e3 : d * 1e6;

		if (!(d >= 1e8 && d < 1e17) || us >= 9.2e15)
			return false;
		*ret = (struct stamp){(int64_t)llround(us) * 1000, STAMP_ZONED, 1000};
		return true;
	}
	if (!json_id(f->v[r], tmp, &t))
		return false;
	t = text_trim(t);
	if (t.len > 2 && t.ptr[0] == '[' && t.ptr[t.len - 1] == ']')
		t = text_sub(t, 1, t.len - 2);
	if (!whole_iso(t, &s) && !(stamp_parse_clf(t, &s, &used) && used == t.len) &&
	    !(stamp_parse_epoch(t, &s) && s.quality == STAMP_ZONED))
		return false;
	*ret = s;
	return true;
}

/* "14.902s", "150ms", "1m2.5s": durations as Go prints them. */
static bool go_duration(struct text t, double *ret_ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"\xc2\xb5s", 1e3}, {"ms", 1e6}, {"h", 3.6e12}, {"m", 6e10}, {"s", 1e9}};
	double sum = 0, d;

	while (t.len) {
		size_t n = 0, u;

		while (n < t.len && ((t.ptr[n] >= '0' && t.ptr[n] <= '9') || t.ptr[n] == '.'))
			n++;
		for (u = 0; u < ARRAY_SIZE(units) && !text_starts(text_from(t, n), units[u].unit); u++)
			;
		if (u == ARRAY_SIZE(units) || !text_double(text_sub(t, 0, n), &d))
			return false;
		sum += d * units[u].ns;
		t = text_from(t, n + strlen(units[u].unit));
	}
	*ret_ns = sum;
	return true;
}

static bool number_at(const struct found *f, enum role r, double *ret)
{
	struct text t;

	return json_double(f->v[r], ret) || (json_string(f->v[r], &t) && text_double(t, ret));
}

/* Of a duration that does not say it; 0: cannot be told. */
static double bare_unit(const struct found *f)
{
	for (unsigned p = NONE + 1; p < PRODUCTS; p++)
		if (is_of(f, p) && presets[p].duration_ns > 0)
			return presets[p].duration_ns;
	/* start_time beside a bare duration is Envoy's habit */
	return has(f, START) && f->rank[START] == 0 ? presets[ENVOY].duration_ns : 0;
}

/* Nanoseconds, to the microsecond; TIME_UNKNOWN when there is none or its unit cannot be told. */
static int64_t duration_of(const struct found *f)
{
	static const struct {
		enum role role;
		double ns;
	} units[] = {{MS, 1e6}, {SECONDS, 1e9}, {US, 1e3}, {NS, 1}};
	struct text t;
	double d = -1;

	for (size_t i = 0; i < ARRAY_SIZE(units) && d < 0; i++) {
		if (number_at(f, units[i].role, &d))
			d *= units[i].ns;
	}
	if (d < 0 && json_string(f->v[DURATION], &t) && go_duration(t, &d))
		; /* says its units itself */
	else if (d < 0 && number_at(f, DURATION, &d)) {
		double unit = bare_unit(f);

		d = unit > 0 ? d * unit : -1;
	}
	return d >= 0 && d < 1e17 ? (int64_t)llround(d / 1e3) * 1000 : TIME_UNKNOWN;
}
