/* SPDX-License-Identifier: Apache-2.0 */
/* map_fields.c - one kind of records in a map: times, columns and where they come from, conditions */
#include <stdio.h>
#include <string.h>

#include "map_reader.h"

/* --- from --- */

static int one_from(struct reader *r, struct json_value v, const struct map_shape *s, struct map_from *ret)
{
	struct text t;
	if (!json_string(v, &t) || !t.len || ret->n == FROM_MAX)
		return reader_wrong(r, v,
				    s->regex ? "the name of a group, or a list of up to 8"
					     : "a path such as \"usage.prompt_tokens\", or a list of up to 8");
	int rc = reader_keep(r, t, &ret->at[ret->n]);
	if (rc == 0 && s->regex && !pattern_has(s->regex, ret->at[ret->n]))
		return reader_wrong(r, v, "the name of a group of the expression");
	ret->n++;
	return rc;
}

static int reader_from(struct reader *r, struct json_value v, const struct map_shape *s, struct map_from *ret)
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
	return rc == 0 && !ret->n ? reader_wrong(r, v, "at least one path") : rc;
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
	size_t was = reader_enter(r, ".format");
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
	int rc = ok ? reader_keep(r, f, &t->pattern) : reader_wrong(r, value, expected);
	reader_leave(r, was);
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
	size_t was = reader_enter(r, ".zone");
	rc = reader_wrong(r, value, "a zone such as +08:00 or Asia/Shanghai");
	reader_leave(r, was);
	return rc;
}

/* "path", or {"from", "format", "zone", "is"}. */
int reader_time(struct reader *r, struct json_value v, const struct map_shape *s, struct map_time *t)
{
	static const char *const means[] = {"log", "start", "end"};
	int is = TIME_IS_LOG;
	if (!json_is_object(v))
		return reader_from(r, v, s, &t->from);
	int rc = reader_from(r, json_get(v, "from"), s, &t->from);
	if (rc == 0)
		rc = read_format(r, v, t);
	if (rc == 0)
		rc = read_zone(r, v, t);
	if (rc == 0)
		rc = reader_word(r, v, "is", means, ARRAY_SIZE(means), "log, start or end", &is);
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
	return err_set(r->err, ERR_INPUT, "the map is wrong at %s: expected duration, worker or one of%s",
		       reader_place(r), list);
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
	size_t was = reader_enter(r, ".unit");
	int rc = reader_wrong(r, value,
			      !strcmp(of, "ns")      ? "the unit: ns, us, ms or s"
			      : !strcmp(of, "bytes") ? "B, kB, MB, KiB or MiB"
			      : !strcmp(of, "ppm")   ? "ratio, percent or ppm"
						     : "no unit: this column has none");
	reader_leave(r, was);
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
		return reader_wrong(r, v,
				    "a value out of the record: duration and worker are none that a map can give");
	ret->is_number = c->type == COLUMN_INT;
	if (ret->is_number && flag && json_bool(v, &b)) {
		ret->n = b;
		return 0;
	}
	if (ret->is_number)
		return json_int64(v, &ret->n) && ret->n >= 0 && (!flag || ret->n < 2)
			   ? 0
			   : reader_wrong(r, v, flag ? "true, false or null" : "a whole number or null");
	if (!json_string(v, &ret->text) || !ret->text.len)
		return reader_wrong(r, v, "a text or null");
	if (!strcmp(c->name, "what") && !known_word(c->help, ret->text))
		return reader_wrong(r, v, c->help);
	return 0;
}

static int read_values(struct reader *r, struct json_value v, const struct map_shape *s, struct map_field *f)
{
	struct json_value list = json_get(v, "values"), value;
	struct json_iter it = json_iter(list);
	struct text key;
	size_t was = reader_enter(r, ".values");
	int rc = 0;
	if (json_type(list) != JSON_NONE && !json_is_object(list))
		rc = reader_wrong(r, list, "an object: what stands there, and what it means");
	f->values = arena_array(&r->m->arena, VALUES_MAX + 1, sizeof(*f->values));
	if (rc == 0 && !f->values)
		rc = err_nomem(r->err);
	while (rc == 0 && json_is_object(list) && json_next(&it, &key, &value)) {
		if (f->n_values == VALUES_MAX) {
			rc = reader_wrong(r, list, "at most 64 values");
			break;
		}
		struct map_value *to = &f->values[f->n_values++];
		size_t inner = reader_enter(r, ".%.*s", (int)MIN(key.len, 40), key.ptr);
		*to = (struct map_value){.was = key, .any = text_is(key, "*")};
		rc = read_value(r, value, s, f, to);
		reader_leave(r, inner);
	}
	/* "*" is for what is left */
	for (unsigned i = 0; rc == 0 && i + 1 < f->n_values; i++)
		if (f->values[i].any) {
			struct map_value any = f->values[i];
			memmove(&f->values[i], &f->values[i + 1], (f->n_values - i - 1) * sizeof(any));
			f->values[f->n_values - 1] = any;
			break;
		}
	reader_leave(r, was);
	return rc;
}

static int read_constant(struct reader *r, struct json_value v, const struct map_shape *s, struct map_field *f)
{
	size_t was = reader_enter(r, ".value");
	f->constant = true;
	f->values = arena_alloc(&r->m->arena, sizeof(*f->values));
	if (!f->values)
		return err_nomem(r->err);
	*f->values = (struct map_value){0};
	int rc = json_type(json_get(v, "from")) != JSON_NONE ? reader_wrong(r, v, "either \"from\" or \"value\"")
							     : read_value(r, json_get(v, "value"), s, f, f->values);
	reader_leave(r, was);
	return rc;
}

static int read_field_object(struct reader *r, struct json_value v, const struct map_shape *s, struct map_field *f)
{
	const struct event_column *c = column_of(s, f->to);
	struct json_value must = json_get(v, "must");
	int rc = READER_KEYS(r, v, "from", "value", "values", "unit", "must", "format", "zone");
	if (json_type(json_get(v, "value")) != JSON_NONE)
		return rc ? rc : read_constant(r, v, s, f);
	rc = reader_from(r, json_get(v, "from"), s, &f->from);
	if (rc == 0 && json_type(must) != JSON_NONE && !json_bool(must, &f->must))
		rc = reader_wrong(r, must, "true or false for \"must\"");
	if (rc == 0 && json_type(json_get(v, "values")) != JSON_NONE)
		return read_values(r, v, s, f);
	if (rc == 0 && c && !strcmp(c->unit, "ns"))
		return reader_time(r, v, s, &f->time);
	return rc ? rc : read_unit(r, v, s, f);
}

static int read_field(struct reader *r, struct text name, struct json_value v, struct map_shape *s)
{
	struct map_field *f = &s->fields[s->n_fields];
	if (s->n_fields == FIELDS_MAX)
		return reader_wrong(r, v, "at most 40 fields");
	*f = (struct map_field){0};
	if (!find_column(s, name, &f->to))
		return wrong_column(r, s);
	for (unsigned i = 0; i < s->n_fields; i++)
		if (s->fields[i].to == f->to)
			return reader_wrong(r, v, "each column once");
	s->n_fields++;
	if (json_is_object(v))
		return read_field_object(r, v, s, f);
	if (f->to == TO_DURATION)
		return reader_wrong(r, v, "{\"from\": …, \"unit\": \"ms\"}: a duration needs its unit");
	const struct event_column *c = column_of(s, f->to);
	int rc = reader_from(r, v, s, &f->from);
	if (c && !strcmp(c->unit, "ns"))
		f->time.from = f->from;
	return rc;
}

int reader_fields(struct reader *r, struct json_value v, struct map_shape *s)
{
	struct json_iter it = json_iter(v);
	struct json_value one;
	struct text key;
	size_t was = reader_enter(r, ".fields");
	int rc = s->context ? (json_type(v) == JSON_NONE ? 0 : reader_wrong(r, v, "no fields: \"event\" is none"))
		 : json_is_object(v) ? 0
				     : reader_wrong(r, v, "an object of columns");
	while (rc == 0 && json_is_object(v) && json_next(&it, &key, &one)) {
		size_t inner = reader_enter(r, ".%.*s", (int)MIN(key.len, 60), key.ptr);
		rc = read_field(r, key, one, s);
		reader_leave(r, inner);
	}
	bool what = s->context || s->kind == EVENT_GATEWAY;
	for (unsigned i = 0; i < s->n_fields; i++)
		what = what || s->fields[i].to == 0; /* "what" is the first column of each kind */
	if (rc == 0 && !what)
		rc = reader_wrong(r, v, "a field \"what\"");
	reader_leave(r, was);
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
			return reader_wrong(r, one, "a text, a number, true, false, or a list of up to 64");
		int rc = reader_keep(r, t, &copy);
		if (rc)
			return rc;
		is[w->n_is++] = (struct text){copy, t.len};
		if (!many)
			break;
	}
	return w->n_is ? 0 : reader_wrong(r, list, "at least one value");
}

int reader_when(struct reader *r, struct json_value v, struct map_shape *s)
{
	struct json_iter it = json_iter(v);
	struct json_value one;
	struct text key;
	int rc = json_type(v) == JSON_NONE || json_type(v) == JSON_ARRAY
		     ? 0
		     : reader_wrong(r, v, "a list of conditions for \"when\", all of which must hold");
	while (rc == 0 && json_type(v) == JSON_ARRAY && json_next(&it, &key, &one)) {
		size_t was = reader_enter(r, ".when[%u]", s->n_when);
		struct map_when *w = &s->when[s->n_when];
		if (s->n_when == WHEN_MAX || !json_is_object(one))
			return reader_wrong(r, one, "at most 16 conditions {\"from\": …, \"is\": …}");
		*w = (struct map_when){0};
		s->n_when++;
		rc = READER_KEYS(r, one, "from", "is", "starts");
		if (rc == 0)
			rc = reader_from(r, json_get(one, "from"), s, &w->from);
		w->starts = json_type(json_get(one, "starts")) != JSON_NONE;
		struct json_value is = json_get(one, w->starts ? "starts" : "is");
		if (rc == 0 && json_type(is) != JSON_NONE)
			rc = read_is(r, is, w);
		reader_leave(r, was);
	}
	return rc;
}
