/* SPDX-License-Identifier: Apache-2.0 */
/* map_read.c - the text of a map, taken apart and checked: an unknown key is a warning, a wrong one an error that says
 * where it is and what was expected
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"

struct reader {
	struct map *m;
	void (*warn)(void *ctx, struct text what);
	void *ctx;
	struct err *err;
	char at[200]; /* records[0].fields.status */
	size_t n;
};

/* --- where, and what is wrong --- */

static size_t enter(struct reader *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
static size_t enter(struct reader *r, const char *fmt, ...)
{
	size_t before = r->n;
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(r->at + r->n, sizeof(r->at) - r->n, fmt, ap);
	va_end(ap);
	r->n = MIN(r->n + (size_t)MAX(n, 0), sizeof(r->at) - 1);
	return before;
}

static void leave(struct reader *r, size_t before)
{
	r->n = before;
	r->at[before] = '\0';
}

static const char *place(const struct reader *r)
{
	return !r->n ? "its top" : r->at[0] == '.' ? r->at + 1 : r->at;
}

/* expected WHAT, not VALUE */
static int wrong(struct reader *r, struct json_value v, const char *expected)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(2 * MAP_MAX_BYTES);
	CLEANUP(buf_done) struct buf clean = BUF_INIT(64 * KIB);
	struct text t = TEXT("nothing");
	if (json_type(v) != JSON_NONE && !json_write(v, &b, NULL))
		t = buf_text(&b);
	if (text_visible(t, 60, &clean, NULL))
		return err_nomem(r->err);
	return err_set(r->err, ERR_INPUT, "the map is wrong at %s: expected %s, not %.*s", place(r), expected,
		       TEXT_ARG(buf_text(&clean)));
}

static int check_keys(struct reader *r, struct json_value v, const char *const *keys, size_t n)
{
	struct json_iter it = json_iter(v);
	struct json_value value;
	struct text key;
	while (json_next(&it, &key, &value)) {
		size_t i = 0;
		while (i < n && !text_is(key, keys[i]))
			i++;
		if (i < n || !r->warn)
			continue;
		char what[400];
		snprintf(what, sizeof(what), "the map has a key that is not known, at %s: '%.*s'", place(r),
			 (int)MIN(key.len, 80), key.ptr);
		r->warn(r->ctx, text_of(what));
	}
	return 0;
}

#define CHECK_KEYS(r, v, ...)                                    \
	check_keys((r), (v), (const char *const[]){__VA_ARGS__}, \
		   sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* A copy that ends in a zero byte. */
static int keep(struct reader *r, struct text t, const char **ret)
{
	struct text copy = arena_text(&r->m->arena, t);
	*ret = t.len ? copy.ptr : "";
	return *ret ? 0 : err_nomem(r->err);
}

static int word_of(struct reader *r, struct json_value v, const char *key, const char *const *words, size_t n,
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
	size_t was = enter(r, ".%s", key);
	int rc = wrong(r, value, expected);
	leave(r, was);
	return rc;
}

/* --- from --- */

static int one_from(struct reader *r, struct json_value v, const struct map_shape *s, struct map_from *ret)
{
	struct text t;
	if (!json_string(v, &t) || !t.len || ret->n == FROM_MAX)
		return wrong(r, v,
			     s->regex ? "the name of a group, or a list of up to 8"
				      : "a path such as \"usage.prompt_tokens\", or a list of up to 8");
	int rc = keep(r, t, &ret->at[ret->n]);
	if (rc == 0 && s->regex && !pattern_has(s->regex, ret->at[ret->n]))
		return wrong(r, v, "the name of a group of the expression");
	ret->n++;
	return rc;
}

static int read_from(struct reader *r, struct json_value v, const struct map_shape *s, struct map_from *ret)
{
	struct json_iter it = json_iter(v);
	struct json_value one;
	struct text key;
	int rc = 0;
	ret->n = 0;
	if (json_type(v) != JSON_ARRAY)
		return one_from(r, v, s, ret);
	while (rc == 0 && json_next(&it, &key, &one))
		rc = one_from(r, one, s, ret);
	return rc == 0 && !ret->n ? wrong(r, v, "at least one path") : rc;
}

/* --- time --- */

static int read_format(struct reader *r, struct json_value v, struct map_time *t)
{
	static const char *const names[] = {"any", "iso", "clf", "s", "ms", "us", "ns"};
	static const int64_t units[] = {0, 0, 0, NS_PER_S, 1000000, 1000, 1};
	static const char *const expected =
	    "any, iso, clf, s, ms, us, ns (since 1970) or a pattern with %Y %m %d %H %M %S";
	struct json_value value = json_get(v, "format");
	struct text f;
	if (json_type(value) == JSON_NONE)
		return 0;
	for (size_t i = 0; json_string(value, &f) && i < ARRAY_SIZE(names); i++)
		if (text_is(f, names[i])) {
			t->format = i < 3 ? (enum time_format)i : TIME_NUMBER;
			t->unit_ns = units[i];
			return 0;
		}
	size_t was = enter(r, ".format");
	bool ok = json_string(value, &f);
	for (const char *need = "YdHMS"; ok && *need; need++) {
		char key[] = {'%', *need, '\0'};
		ok = text_find(f, key, 0) != SIZE_MAX;
	}
	ok = ok && (text_find(f, "%m", 0) != SIZE_MAX || text_find(f, "%b", 0) != SIZE_MAX);
	for (size_t i = 0; ok && i < f.len; i++)
		if (f.ptr[i] == '%') {
			ok = i + 1 < f.len && f.ptr[i + 1] && strchr("YmbdHMSfz%", f.ptr[i + 1]);
			i++;
		}
	t->format = TIME_PATTERN;
	int rc = ok ? keep(r, f, &t->pattern) : wrong(r, value, expected);
	leave(r, was);
	return rc;
}

static int read_zone(struct reader *r, struct json_value v, struct map_time *t)
{
	struct json_value value = json_get(v, "zone");
	struct text name;
	struct err why = {0};
	if (json_type(value) == JSON_NONE)
		return 0;
	int rc = json_string(value, &name) ? zone_open(&t->zone, name, &why) : ERR_USAGE;
	if (rc == 0 || rc == ERR_NOMEM)
		return rc ? err_nomem(r->err) : 0;
	size_t was = enter(r, ".zone");
	rc = wrong(r, value, "a zone such as +08:00 or Asia/Shanghai");
	leave(r, was);
	return rc;
}

/* "path", or {"from", "format", "zone", "is"}. */
static int read_time(struct reader *r, struct json_value v, const struct map_shape *s, struct map_time *t)
{
	static const char *const means[] = {"log", "start", "end"};
	int is = TIME_IS_LOG;
	if (!json_is_object(v))
		return read_from(r, v, s, &t->from);
	int rc = read_from(r, json_get(v, "from"), s, &t->from);
	if (rc == 0)
		rc = read_format(r, v, t);
	if (rc == 0)
		rc = read_zone(r, v, t);
	if (rc == 0)
		rc = word_of(r, v, "is", means, ARRAY_SIZE(means), "log, start or end", &is);
	t->means = (enum time_means)is;
	return rc;
}

/* --- fields --- */

static const struct event_column *column_of(const struct map_shape *s, unsigned to)
{
	return to < TO_DURATION ? &event_kinds[s->kind].columns[to] : NULL;
}

static bool find_column(const struct map_shape *s, struct text name, unsigned *ret)
{
	const struct event_kind_info *kind = &event_kinds[s->kind];
	if (text_is(name, "duration") || text_is(name, "worker")) {
		*ret = text_is(name, "duration") ? TO_DURATION : TO_WORKER;
		return true;
	}
	for (unsigned c = 0; c < kind->n_columns; c++)
		if (text_is(name, kind->columns[c].name) && kind->columns[c].type != COLUMN_PAGES) {
			*ret = c;
			return true;
		}
	return false;
}

static int wrong_column(struct reader *r, const struct map_shape *s)
{
	const struct event_kind_info *kind = &event_kinds[s->kind];
	char list[400] = "";
	for (unsigned c = 0; c < kind->n_columns; c++)
		if (strlen(list) + strlen(kind->columns[c].name) + 2 < sizeof(list))
			sprintf(list + strlen(list), " %s", kind->columns[c].name);
	return err_set(r->err, ERR_INPUT, "the map is wrong at %s: expected duration, worker or one of%s", place(r),
		       list);
}

static int read_unit(struct reader *r, struct json_value v, const struct map_shape *s, struct map_field *f)
{
	static const struct {
		const char *of, *unit;
		double scale;
	} units[] = {
	    {"ns", "ns", 1},       {"ns", "us", 1e3},       {"ns", "ms", 1e6},
	    {"ns", "s", 1e9},      {"bytes", "B", 0},       {"bytes", "kB", 1e3},
	    {"bytes", "MB", 1e6},  {"bytes", "KiB", 1024},  {"bytes", "MiB", 1048576.0},
	    {"ppm", "ratio", 1e6}, {"ppm", "percent", 1e4}, {"ppm", "ppm", 0},
	};
	const struct event_column *c = column_of(s, f->to);
	const char *of = f->to == TO_DURATION ? "ns" : c && strcmp(c->unit, "ns") != 0 ? c->unit : "";
	struct json_value value = json_get(v, "unit");
	struct text t = {NULL, 0};
	if (json_type(value) == JSON_NONE && f->to != TO_DURATION)
		return 0;
	for (size_t i = 0; json_string(value, &t) && i < ARRAY_SIZE(units); i++)
		if (!strcmp(of, units[i].of) && text_is(t, units[i].unit)) {
			f->scale = units[i].scale;
			return 0;
		}
	size_t was = enter(r, ".unit");
	int rc = wrong(r, value,
		       !strcmp(of, "ns")      ? "the unit: ns, us, ms or s"
		       : !strcmp(of, "bytes") ? "B, kB, MB, KiB or MiB"
		       : !strcmp(of, "ppm")   ? "ratio, percent or ppm"
					      : "no unit: this column has none");
	leave(r, was);
	return rc;
}

static bool known_word(const char *list, struct text word)
{
	struct text rest = text_of(list), one;
	while (text_split(&rest, '|', &one))
		if (text_eq(one, word))
			return true;
	return false;
}

/* What a column may be set to: a text, a number, true or false; null is unknown. */
static int read_value(struct reader *r, struct json_value v, const struct map_shape *s, const struct map_field *f,
		      struct map_value *ret)
{
	const struct event_column *c = column_of(s, f->to);
	bool b, flag = c && !strcmp(c->unit, "bool");
	ret->known = json_type(v) != JSON_NULL;
	if (!ret->known)
		return 0;
	if (!c)
		return wrong(r, v, "a value out of the record: duration and worker are none that a map can give");
	ret->is_number = c->type == COLUMN_INT;
	if (ret->is_number && flag && json_bool(v, &b)) {
		ret->n = b;
		return 0;
	}
	if (ret->is_number)
		return json_int64(v, &ret->n) && ret->n >= 0 && (!flag || ret->n < 2)
			   ? 0
			   : wrong(r, v, flag ? "true, false or null" : "a whole number or null");
	if (!json_string(v, &ret->text) || !ret->text.len)
		return wrong(r, v, "a text or null");
	if (!strcmp(c->name, "what") && !known_word(c->help, ret->text))
		return wrong(r, v, c->help);
	return 0;
}

static int read_values(struct reader *r, struct json_value v, const struct map_shape *s, struct map_field *f)
{
	struct json_value list = json_get(v, "values"), value;
	struct json_iter it = json_iter(list);
	struct text key;
	size_t was = enter(r, ".values");
	int rc = 0;
	if (json_type(list) != JSON_NONE && !json_is_object(list))
		rc = wrong(r, list, "an object: what stands there, and what it means");
	f->values = arena_array(&r->m->arena, VALUES_MAX + 1, sizeof(*f->values));
	if (rc == 0 && !f->values)
		rc = err_nomem(r->err);
	while (rc == 0 && json_is_object(list) && json_next(&it, &key, &value)) {
		if (f->n_values == VALUES_MAX) {
			rc = wrong(r, list, "at most 64 values");
			break;
		}
		struct map_value *to = &f->values[f->n_values++];
		size_t inner = enter(r, ".%.*s", (int)MIN(key.len, 40), key.ptr);
		*to = (struct map_value){.was = key, .any = text_is(key, "*")};
		rc = read_value(r, value, s, f, to);
		leave(r, inner);
	}
	/* "*" is for what is left */
	for (unsigned i = 0; rc == 0 && i + 1 < f->n_values; i++)
		if (f->values[i].any) {
			struct map_value any = f->values[i];
			memmove(&f->values[i], &f->values[i + 1], (f->n_values - i - 1) * sizeof(any));
			f->values[f->n_values - 1] = any;
			break;
		}
	leave(r, was);
	return rc;
}

static int read_constant(struct reader *r, struct json_value v, const struct map_shape *s, struct map_field *f)
{
	size_t was = enter(r, ".value");
	f->constant = true;
	f->values = arena_alloc(&r->m->arena, sizeof(*f->values));
	if (!f->values)
		return err_nomem(r->err);
	*f->values = (struct map_value){0};
	int rc = json_type(json_get(v, "from")) != JSON_NONE ? wrong(r, v, "either \"from\" or \"value\"")
							     : read_value(r, json_get(v, "value"), s, f, f->values);
	leave(r, was);
	return rc;
}

static int read_field_object(struct reader *r, struct json_value v, const struct map_shape *s, struct map_field *f)
{
	const struct event_column *c = column_of(s, f->to);
	struct json_value must = json_get(v, "must");
	int rc = CHECK_KEYS(r, v, "from", "value", "values", "unit", "must", "format", "zone");
	if (json_type(json_get(v, "value")) != JSON_NONE)
		return rc ? rc : read_constant(r, v, s, f);
	rc = read_from(r, json_get(v, "from"), s, &f->from);
	if (rc == 0 && json_type(must) != JSON_NONE && !json_bool(must, &f->must))
		rc = wrong(r, must, "true or false for \"must\"");
	if (rc == 0 && json_type(json_get(v, "values")) != JSON_NONE)
		return read_values(r, v, s, f);
	if (rc == 0 && c && !strcmp(c->unit, "ns"))
		return read_time(r, v, s, &f->time);
	return rc ? rc : read_unit(r, v, s, f);
}

static int read_field(struct reader *r, struct text name, struct json_value v, struct map_shape *s)
{
	struct map_field *f = &s->fields[s->n_fields];
	if (s->n_fields == FIELDS_MAX)
		return wrong(r, v, "at most 40 fields");
	*f = (struct map_field){0};
	if (!find_column(s, name, &f->to))
		return wrong_column(r, s);
	for (unsigned i = 0; i < s->n_fields; i++)
		if (s->fields[i].to == f->to)
			return wrong(r, v, "each column once");
	s->n_fields++;
	if (json_is_object(v))
		return read_field_object(r, v, s, f);
	if (f->to == TO_DURATION)
		return wrong(r, v, "{\"from\": …, \"unit\": \"ms\"}: a duration needs its unit");
	const struct event_column *c = column_of(s, f->to);
	int rc = read_from(r, v, s, &f->from);
	if (c && !strcmp(c->unit, "ns"))
		f->time.from = f->from;
	return rc;
}

static int read_fields(struct reader *r, struct json_value v, struct map_shape *s)
{
	struct json_iter it = json_iter(v);
	struct json_value one;
	struct text key;
	size_t was = enter(r, ".fields");
	int rc = s->context          ? (json_type(v) == JSON_NONE ? 0 : wrong(r, v, "no fields: \"event\" is none"))
		 : json_is_object(v) ? 0
				     : wrong(r, v, "an object of columns");
	while (rc == 0 && json_is_object(v) && json_next(&it, &key, &one)) {
		size_t inner = enter(r, ".%.*s", (int)MIN(key.len, 60), key.ptr);
		rc = read_field(r, key, one, s);
		leave(r, inner);
	}
	bool what = s->context || s->kind == EVENT_GATEWAY;
	for (unsigned i = 0; i < s->n_fields; i++)
		what = what || s->fields[i].to == 0; /* "what" is the first column of each kind */
	if (rc == 0 && !what)
		rc = wrong(r, v, "a field \"what\"");
	leave(r, was);
	return rc;
}

/* --- when --- */

static int read_is(struct reader *r, struct json_value list, struct map_when *w)
{
	struct json_iter it = json_iter(list);
	struct json_value one = list;
	struct text key, t;
	bool many = json_type(list) == JSON_ARRAY, b;
	struct text *is = arena_array(&r->m->arena, VALUES_MAX, sizeof(*is));
	if (!is)
		return err_nomem(r->err);
	w->is = is;
	while (!many || json_next(&it, &key, &one)) {
		char tmp[VALUE_TMP];
		const char *copy;
		if (json_bool(one, &b))
			t = b ? TEXT("true") : TEXT("false");
		else if (!json_id(one, tmp, &t) || w->n_is == VALUES_MAX)
			return wrong(r, one, "a text, a number, true, false, or a list of up to 64");
		int rc = keep(r, t, &copy);
		if (rc)
			return rc;
		is[w->n_is++] = (struct text){copy, t.len};
		if (!many)
			break;
	}
	return w->n_is ? 0 : wrong(r, list, "at least one value");
}

static int read_when(struct reader *r, struct json_value v, struct map_shape *s)
{
	struct json_iter it = json_iter(v);
	struct json_value one;
	struct text key;
	int rc = json_type(v) == JSON_NONE || json_type(v) == JSON_ARRAY
		     ? 0
		     : wrong(r, v, "a list of conditions for \"when\", all of which must hold");
	while (rc == 0 && json_type(v) == JSON_ARRAY && json_next(&it, &key, &one)) {
		size_t was = enter(r, ".when[%u]", s->n_when);
		struct map_when *w = &s->when[s->n_when];
		if (s->n_when == WHEN_MAX || !json_is_object(one))
			return wrong(r, one, "at most 16 conditions {\"from\": …, \"is\": …}");
		*w = (struct map_when){0};
		s->n_when++;
		rc = CHECK_KEYS(r, one, "from", "is", "starts");
		if (rc == 0)
			rc = read_from(r, json_get(one, "from"), s, &w->from);
		w->starts = json_type(json_get(one, "starts")) != JSON_NONE;
		struct json_value is = json_get(one, w->starts ? "starts" : "is");
		if (rc == 0 && json_type(is) != JSON_NONE)
			rc = read_is(r, is, w);
		leave(r, was);
	}
	return rc;
}

/* --- records --- */

static int read_regex(struct reader *r, struct json_value v, struct map_shape *s)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(MAP_MAX_BYTES);
	struct json_iter it = json_iter(v);
	struct json_value one = v;
	struct text key, t;
	struct err why = {0};
	bool many = json_type(v) == JSON_ARRAY;
	int rc = 0;
	size_t was = enter(r, ".regex");
	if (r->m->is_json)
		return json_type(v) == JSON_NONE ? (leave(r, was), 0)
						 : wrong(r, v, "no expression: the map reads json");
	while (rc == 0 && (!many || json_next(&it, &key, &one))) {
		rc = json_string(one, &t) ? buf_add_text(&b, t, r->err)
					  : wrong(r, one, "an expression, or a list of its parts");
		if (!many)
			break;
	}
	if (rc == 0 && !b.len)
		rc = wrong(r, v, "an expression");
	if (rc == 0)
		rc = buf_add_char(&b, '\0', r->err);
	if (rc == 0 && strlen(b.ptr) + 1 != b.len)
		rc = wrong(r, v, "an expression without zero bytes");
	if (rc == 0 && (rc = pattern_compile_whole(&s->regex, b.ptr, &why)) < 0)
		rc = rc == ERR_NOMEM ? err_nomem(r->err)
				     : err_set(r->err, ERR_INPUT, "the map is wrong at %s: %s", place(r), why.what);
	leave(r, was);
	return rc;
}

static int read_event(struct reader *r, struct json_value v, struct map_shape *s)
{
	static const char *const names[] = {"gateway", "leg", "boot", "load", "none"};
	static const enum event_kind kinds[] = {EVENT_GATEWAY, EVENT_LEG, EVENT_BOOT, EVENT_LOAD, EVENT_GATEWAY};
	int at = 0;
	int rc = word_of(r, v, "event", names, ARRAY_SIZE(names), "gateway, leg, boot, load or none", &at);
	s->kind = kinds[at];
	s->context = at == 4;
	return rc;
}

static int read_shape(struct reader *r, struct json_value v, struct map_shape *s)
{
	struct text name = TEXT("");
	if (!json_is_object(v))
		return wrong(r, v, "an object");
	int rc = CHECK_KEYS(r, v, "name", "event", "regex", "when", "time", "fields", "note");
	if (rc == 0 && json_type(json_get(v, "name")) != JSON_NONE && !json_string(json_get(v, "name"), &name))
		rc = wrong(r, json_get(v, "name"), "a text for \"name\"");
	if (rc == 0)
		rc = keep(r, name, &s->name);
	if (rc == 0)
		rc = read_event(r, v, s);
	if (rc == 0)
		rc = read_regex(r, json_get(v, "regex"), s);
	if (rc == 0)
		rc = read_when(r, json_get(v, "when"), s);
	struct json_value time = json_get(v, "time");
	if (rc == 0 && json_type(time) != JSON_NONE) {
		size_t was = enter(r, ".time");
		if (json_is_object(time))
			rc = CHECK_KEYS(r, time, "from", "format", "zone", "is");
		if (rc == 0)
			rc = read_time(r, time, s, &s->time);
		leave(r, was);
	}
	if (rc == 0)
		rc = read_fields(r, json_get(v, "fields"), s);
	bool told = s->regex || s->n_when;
	for (unsigned i = 0; i < s->n_fields; i++)
		told = told || s->fields[i].must;
	return rc == 0 && !told ? wrong(r, (struct json_value){0},
					"\"when\", or a field with \"must\": true, to tell these records from others")
				: rc;
}

static int read_shapes(struct reader *r, struct json_value v)
{
	struct map *m = r->m;
	struct json_iter it = json_iter(v);
	struct json_value one;
	struct text key;
	size_t was = enter(r, "records");
	m->shapes = arena_array(&m->arena, SHAPES_MAX, sizeof(*m->shapes));
	int rc = !m->shapes                   ? err_nomem(r->err)
		 : json_type(v) != JSON_ARRAY ? wrong(r, v, "a list of the kinds of records")
					      : 0;
	while (rc == 0 && json_next(&it, &key, &one)) {
		if (m->n_shapes == SHAPES_MAX)
			return wrong(r, v, "at most 32 kinds of records");
		size_t inner = enter(r, "[%u]", m->n_shapes);
		struct map_shape *s = &m->shapes[m->n_shapes++];
		*s = (struct map_shape){0};
		rc = read_shape(r, one, s);
		m->parser.emits |= s->context ? 0 : 1u << s->kind;
		leave(r, inner);
	}
	if (rc == 0 && !m->parser.emits)
		rc = wrong(r, v, "at least one kind of records with events");
	leave(r, was);
	return rc;
}

/* --- samples --- */

static int read_sample(struct reader *r, struct json_value v, struct map_sample *s)
{
	struct json_value record = json_get(v, "record");
	struct text t;
	if (!json_is_object(v))
		return wrong(r, v, "{\"record\": …, \"gives\": …}");
	int rc = CHECK_KEYS(r, v, "record", "gives", "note");
	if (rc == 0 && !json_string(record, &s->record)) {
		CLEANUP(buf_done) struct buf b = BUF_INIT(2 * MAP_MAX_BYTES);
		if (!r->m->is_json || !json_is_object(record))
			return wrong(r, record, "a record as text");
		rc = json_write(record, &b, r->err);
		s->record = rc == 0 ? arena_text(&r->m->arena, buf_text(&b)) : TEXT("");
		if (rc == 0 && !s->record.ptr)
			rc = err_nomem(r->err);
	}
	s->gives = json_get(v, "gives");
	bool fine = json_is_object(s->gives) ||
		    (json_string(s->gives, &t) && (text_is(t, "context") || text_is(t, "unparsed")));
	return rc == 0 && !fine ? wrong(r, s->gives, "what it must give: an object, \"context\" or \"unparsed\"") : rc;
}

static int read_samples(struct reader *r, struct json_value v)
{
	struct map *m = r->m;
	struct json_iter it = json_iter(v);
	struct json_value one;
	struct text key;
	size_t was = enter(r, "samples");
	m->samples = arena_array(&m->arena, SAMPLES_MAX, sizeof(*m->samples));
	int rc = m->samples ? 0 : err_nomem(r->err);
	if (rc == 0 && json_type(v) != JSON_ARRAY)
		rc = wrong(r, v, "a list of samples");
	while (rc == 0 && json_next(&it, &key, &one)) {
		if (m->n_samples == SAMPLES_MAX)
			return wrong(r, (struct json_value){0}, "at most 256 samples");
		size_t inner = enter(r, "[%u]", m->n_samples);
		rc = read_sample(r, one, &m->samples[m->n_samples++]);
		leave(r, inner);
	}
	if (rc == 0 && !m->n_samples)
		rc = wrong(r, v, "at least one sample");
	leave(r, was);
	return rc;
}

/* --- the whole --- */

static int read_name(struct reader *r, struct json_value doc)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	struct json_value v = json_get(doc, "format");
	struct text t;
	const char *name;
	size_t was = enter(r, "format");
	if (!json_string(v, &t) || !t.len || t.len > 40)
		return wrong(r, v, "a name of small letters, digits and '-', at most 40");
	int rc = keep(r, t, &name);
	if (rc == 0 && strspn(name, letters) != t.len)
		return wrong(r, v, "a name of small letters, digits and '-', at most 40");
	leave(r, was);
	if (rc == 0)
		snprintf(r->m->name, sizeof(r->m->name), "%s@%.8s", name, r->m->sha256);
	return rc;
}

static int read_top(struct reader *r, struct json_value doc)
{
	static const char *const reads[] = {"json", "regex"};
	struct map *m = r->m;
	int64_t version;
	int kind = -1;
	struct text summary = TEXT("");
	const char *text;
	if (!json_is_object(doc))
		return wrong(r, doc, "an object");
	int rc = CHECK_KEYS(r, doc, "pagetrail_map", "format", "summary", "reads", "records", "samples", "note");
	if (rc == 0 && (!json_int64(json_get(doc, "pagetrail_map"), &version) || version != 1))
		rc = wrong(r, json_get(doc, "pagetrail_map"), "\"pagetrail_map\": 1");
	if (rc == 0)
		rc = read_name(r, doc);
	if (rc == 0)
		rc = word_of(r, doc, "reads", reads, ARRAY_SIZE(reads), "json or regex", &kind);
	if (rc == 0 && kind < 0)
		rc = wrong(r, (struct json_value){0}, "\"reads\": json or regex");
	m->is_json = kind == 0;
	json_string(json_get(doc, "summary"), &summary);
	if (rc == 0)
		rc = keep(r, summary, &text);
	if (rc == 0)
		m->parser.summary = text;
	if (rc == 0)
		rc = read_shapes(r, json_get(doc, "records"));
	return rc ? rc : read_samples(r, json_get(doc, "samples"));
}

static int wrong_syntax(const struct map *m, size_t offset, struct err *err)
{
	unsigned line = 1, column = 1;
	for (size_t i = 0; i < offset && i < m->text.len; i++) {
		column = m->text.ptr[i] == '\n' ? 1 : column + 1;
		line += m->text.ptr[i] == '\n';
	}
	return err_set(err, ERR_INPUT, "the map is no JSON: line %u, near column %u", line, column);
}

int map_read(struct map **ret, struct text text, void (*warn)(void *ctx, struct text what), void *ctx, struct err *err)
{
	struct map *m = calloc(1, sizeof(*m));
	unsigned char sha[SHA256_BYTES];
	struct json_value doc;
	size_t offset = 0;
	*ret = NULL;
	if (!m)
		return err_nomem(err);
	arena_init(&m->arena, 0);
	m->json = json_new();
	m->text = arena_text(&m->arena, text);
	int rc = m->json && (m->text.ptr || !text.len) ? 0 : err_nomem(err);
	if (rc == 0 && text.len > MAP_MAX_BYTES)
		rc = err_set(err, ERR_INPUT, "the map is larger than %d bytes", MAP_MAX_BYTES);
	if (rc == 0)
		rc = sha256_once(text.ptr, text.len, sha, err);
	if (rc == 0)
		sha256_hex(sha, m->sha256);
	if (rc == 0 && (rc = json_parse(m->json, m->text, false, &doc, &offset, err)) > 0)
		rc = wrong_syntax(m, offset, err);
	struct reader r = {.m = m, .warn = warn, .ctx = ctx, .err = err};
	if (rc == 0)
		rc = read_top(&r, doc);
	if (rc < 0) {
		map_free(m);
		return rc;
	}
	m->parser.name = m->name;
	m->parser.checked = "its own samples";
	m->parser.shape = SHAPE_LINES;
	m->parser.state_bytes = map_state_bytes();
	m->parser.bid = map_bid;
	m->parser.record = map_record;
	*ret = m;
	return 0;
}

int map_load(struct map **ret, const char *path, void (*warn)(void *ctx, struct text what), void *ctx, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(MAP_MAX_BYTES + 2 * KIB);
	char block[1024];
	size_t n;
	int rc = 0;
	*ret = NULL;
	FILE *in = fopen(path, "rbe");
	if (!in) {
		err_set_errno(err, ERR_INPUT, "cannot read the map");
		return err_where(err, "%s", path);
	}
	while (rc == 0 && b.len <= MAP_MAX_BYTES && (n = fread(block, 1, sizeof(block), in)) > 0)
		rc = buf_add(&b, block, n, err);
	if (rc == 0 && ferror(in))
		rc = err_set_errno(err, ERR_INPUT, "cannot read the map");
	fclose(in);
	if (rc == 0)
		rc = map_read(ret, buf_text(&b), warn, ctx, err);
	return rc < 0 ? err_where(err, "%s", path) : rc;
}

void map_free(struct map *m)
{
	if (!m)
		return;
	for (unsigned i = 0; i < m->n_shapes; i++) {
		pattern_free(m->shapes[i].regex);
		zone_close(m->shapes[i].time.zone);
		for (unsigned k = 0; k < m->shapes[i].n_fields; k++)
			zone_close(m->shapes[i].fields[k].time.zone);
	}
	json_free(m->json);
	arena_done(&m->arena);
	free(m);
}

const struct parser *map_parser(const struct map *m)
{
	return &m->parser;
}

const struct map *map_of(const struct parser *p)
{
	return p && p->record == map_record ? (const struct map *)p : NULL;
}

struct text map_text(const struct map *m)
{
	return m->text;
}

const char *map_sha256(const struct map *m)
{
	return m->sha256;
}

int map_from_basis(struct map **ret, struct text basis, struct err *err)
{
	struct json *j = json_new();
	struct json_value doc;
	struct text text;
	*ret = NULL;
	if (!j)
		return err_nomem(err);
	int rc = json_parse(j, basis, false, &doc, NULL, err);
	if (rc == 0 && json_string(json_get(doc, "map"), &text))
		rc = map_read(ret, text, NULL, NULL, err);
	json_free(j);
	return rc < 0 ? rc : 0;
}
