/* SPDX-License-Identifier: Apache-2.0 */
/* map_prove.c - a map on its own samples: what each gives, and where one that does not fit stopped */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"

enum { SHOWN = 40 };

struct proof {
	const struct map *m;
	struct parse *p;
	int (*write)(void *ctx, struct text line);
	void *ctx;
	struct err *err;
	unsigned number;  /* of the sample, from 1 */
	unsigned n_given; /* events so far */
	bool wrong;       /* something of this sample was */
};

static int say(struct proof *x, const char *fmt, ...) PRINTF_LIKE(2, 3);
static int say(struct proof *x, const char *fmt, ...)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * KIB);
	va_list ap;
	if (!x->write)
		return 0;
	int rc = buf_printf(&b, x->err, "sample %u: ", x->number);
	va_start(ap, fmt);
	if (rc == 0)
		rc = buf_vprintf(&b, x->err, fmt, ap);
	va_end(ap);
	return rc ? rc : x->write(x->ctx, buf_text(&b));
}

/* --- what it gives --- */

/* As the map says it: "…" or digits. */
static int put_json(struct buf *b, struct json_value v, struct err *err)
{
	return json_type(v) == JSON_NONE ? buf_add_text(b, TEXT("nothing"), err) : json_write(v, b, err);
}

static int differs(struct proof *x, const char *what, struct json_value want, struct text got, bool text)
{
	CLEANUP(buf_done) struct buf w = BUF_INIT(2 * MAP_MAX_BYTES);
	x->wrong = true;
	int rc = put_json(&w, want, x->err);
	return rc ? rc
		  : say(x, "%s: must be %.*s, but is %s%.*s%s", what, TEXT_ARG(buf_text(&w)), text ? "\"" : "",
			TEXT_ARG(got), text ? "\"" : "");
}

static int check_text(struct proof *x, const char *what, struct json_value want, struct text got)
{
	struct text t = {NULL, 0};
	bool same = got.len ? json_string(want, &t) && text_eq(t, got) : json_type(want) == JSON_NONE;
	return same ? 0 : got.len ? differs(x, what, want, got, true) : differs(x, what, want, TEXT("unknown"), false);
}

/* The same instant, however it is written; what has no zone is another than what has one. */
static bool is_time(struct json_value want, int64_t ns, bool zoned)
{
	struct stamp s;
	struct text t;
	size_t used;
	return json_string(want, &t) && stamp_parse_iso(t, &s, &used) && used == t.len && s.ns == ns &&
	       (s.quality == STAMP_ZONED) == zoned;
}

static int check_int(struct proof *x, const struct event_column *c, struct json_value want, const int64_t *got)
{
	char tmp[48] = "unknown";
	struct text t;
	int64_t n;
	bool b;
	bool time = got && !strcmp(c->unit, "ns");
	if (time)
		stamp_format(*got, tmp, sizeof(tmp));
	else if (got)
		snprintf(tmp, sizeof(tmp), "%lld", (long long)*got);
	bool same = !got                                ? json_type(want) == JSON_NONE
		    : time && is_time(want, *got, true) ? true
		    : json_string(want, &t)             ? text_is(t, tmp)
		    : json_bool(want, &b)               ? *got == b && !strcmp(c->unit, "bool")
							: json_int64(want, &n) && n == *got;
	return same ? 0 : differs(x, c->name, want, text_of(tmp), time);
}

static int check_columns(struct proof *x, const struct event *e, struct json_value gives)
{
	const struct event_kind_info *kind = &event_kinds[e->kind];
	int rc = 0;
	for (unsigned c = 0; c < kind->n_columns && rc == 0; c++) {
		struct json_value want = json_get(gives, kind->columns[c].name);
		bool known = e->known >> c & 1;
		if (kind->columns[c].type == COLUMN_TEXT)
			rc = check_text(x, kind->columns[c].name, want, known ? e->t[c] : (struct text){NULL, 0});
		else if (kind->columns[c].type == COLUMN_INT)
			rc = check_int(x, &kind->columns[c], want, known ? &e->i[c] : NULL);
	}
	return rc;
}

/* Names in "gives" that no event has. */
static int check_names(struct proof *x, const struct event *e, struct json_value gives)
{
	const struct event_kind_info *kind = &event_kinds[e->kind];
	struct json_iter it = json_iter(gives);
	struct json_value v;
	struct text key;
	int rc = 0;
	while (rc == 0 && json_next(&it, &key, &v)) {
		unsigned c = 0;
		while (c < kind->n_columns && !text_is(key, kind->columns[c].name))
			c++;
		if (c < kind->n_columns || text_is(key, "event") || text_is(key, "time") || text_is(key, "worker"))
			continue;
		x->wrong = true;
		rc = say(x, "'%.*s' is no column of %s", (int)MIN(key.len, 80), key.ptr, kind->name);
	}
	return rc;
}

static int on_event(void *ctx, const struct event *e, struct err *err)
{
	struct proof *x = ctx;
	struct json_value gives = x->m->samples[x->number - 1].gives, event = json_get(gives, "event");
	char at[48] = "";
	(void)err;
	x->n_given++;
	if (!json_is_object(gives))
		return 0; /* said by the verdict */
	if (e->ts.ns != TIME_UNKNOWN) {
		stamp_format(e->ts.ns, at, sizeof(at));
		if (e->ts.quality == STAMP_NAIVE && at[0])
			at[strlen(at) - 1] = '\0'; /* no zone, no Z */
	}
	int rc = json_type(event) == JSON_NONE && e->kind == EVENT_GATEWAY
		     ? 0
		     : check_text(x, "event", event, text_of(event_kinds[e->kind].name));
	if (rc == 0 && !is_time(json_get(gives, "time"), e->ts.ns, e->ts.quality != STAMP_NAIVE))
		rc = check_text(x, "time", json_get(gives, "time"), text_of(at));
	if (rc == 0)
		rc = check_text(x, "worker", json_get(gives, "worker"), e->worker);
	if (rc == 0)
		rc = check_columns(x, e, gives);
	return rc ? rc : check_names(x, e, gives);
}

/* --- where it stopped --- */

static size_t blanks(struct text t, size_t i)
{
	while (i < t.len && memchr(" \t\r\n", t.ptr[i], 4))
		i++;
	return i;
}

static size_t string_end(struct text t, size_t i) /* t[i] is the quote that opens it */
{
	for (i++; i < t.len && t.ptr[i] != '"'; i++)
		i += t.ptr[i] == '\\';
	return MIN(i + 1, t.len);
}

static size_t value_end(struct text t, size_t i)
{
	size_t depth = 0;
	for (; i < t.len; i++) {
		char c = t.ptr[i];
		if (c == '"') {
			i = string_end(t, i) - 1;
		} else if (c == '{' || c == '[') {
			depth++;
		} else if (c == '}' || c == ']') {
			if (!depth)
				return i;
			depth--;
		} else if (c == ',' && !depth) {
			return i;
		}
	}
	return i;
}

/* Where the value of a member of the object at t[i] begins; SIZE_MAX: it has none of that name. */
static size_t member_at(struct text t, size_t i, struct text name)
{
	for (i = blanks(t, i + 1); i < t.len && t.ptr[i] == '"';) {
		size_t end = string_end(t, i);
		struct text key = text_sub(t, i + 1, end - i - 2);
		i = blanks(t, end);
		i = blanks(t, i + 1); /* behind the colon */
		if (text_eq(key, name))
			return i;
		i = value_end(t, i);
		i = blanks(t, i + 1);
	}
	return SIZE_MAX;
}

/* How far a path can be followed: *ret_off is the byte of the last value found, *ret_name what is not in it. */
static void follow(struct text record, struct text path, size_t *ret_off, struct text *ret_name)
{
	size_t at = blanks(record, 0);
	*ret_name = path;
	*ret_off = at;
	while (path.len && at < record.len && record.ptr[at] == '{') {
		size_t whole = member_at(record, at, path), n = text_find_char(path, '.', 0);
		struct text name = whole != SIZE_MAX ? path : text_sub(path, 0, n);
		size_t next = whole != SIZE_MAX ? whole : member_at(record, at, name);
		*ret_name = name;
		*ret_off = at;
		if (next == SIZE_MAX)
			return;
		at = next;
		path = whole != SIZE_MAX ? (struct text){NULL, 0} : text_from(path, name.len + 1);
	}
	*ret_off = at;
	*ret_name = path;
}

static int miss_json(struct proof *x, struct text record, const struct map_shape *s, unsigned i)
{
	struct map_view v = {0};
	const char *missing;
	size_t off = 0;
	struct text name;
	int rc = json_parse(x->p->json, record, false, &v.doc, &off, x->err);
	if (rc)
		return rc < 0 ? rc : say(x, "no JSON; it stops near byte %zu", off);
	if (map_has_all(s, &v, &missing))
		return 0;
	follow(record, text_of(missing), &off, &name);
	size_t len = value_end(record, off) - off;
	if (name.len && record.ptr[off] == '{')
		return say(x, "records[%u] '%s': path '%s' is missing: no member '%.*s' in the object at byte %zu", i,
			   s->name, missing, TEXT_ARG(name), off);
	if (name.len)
		return say(x, "records[%u] '%s': path '%s' is missing: the value at byte %zu is no object", i, s->name,
			   missing, off);
	if (record.ptr[off] == '{' || record.ptr[off] == '[')
		return say(x, "records[%u] '%s': path '%s' is %s at byte %zu, and no value: name what is in it", i,
			   s->name, missing, record.ptr[off] == '{' ? "an object" : "a list without a value", off);
	return say(x, "records[%u] '%s': path '%s' has another value at byte %zu: %.*s", i, s->name, missing, off,
		   (int)MIN(len, SHOWN), record.ptr + off);
}

static int miss_regex(struct proof *x, struct text record, const struct map_shape *s, unsigned i)
{
	struct map_view v = {.match = x->p->match};
	const char *missing;
	size_t reach = 0;
	int rc = pattern_try(s->regex, x->p->match, record, 0, x->err);
	if (rc == 1 && !map_has_all(s, &v, &missing))
		return say(x, "records[%u] '%s': the expression matches, but group '%s' is not as it must be", i,
			   s->name, missing);
	if (rc == 0)
		rc = pattern_reach(s->regex, x->p->match, record, &reach, x->err);
	if (rc == ERR_LIMIT)
		return say(x, "records[%u] '%s': the expression takes too many steps", i, s->name);
	if (rc < 0)
		return rc;
	struct text rest = text_sub(record, reach, SHOWN);
	if (!rest.len)
		return say(x, "records[%u] '%s': stopped at column %zu, the end: the expression asks for more", i,
			   s->name, reach + 1);
	return say(x, "records[%u] '%s': stopped at column %zu, before: %.*s", i, s->name, reach + 1, TEXT_ARG(rest));
}

static int miss(struct proof *x, struct text record)
{
	int rc = 0;
	for (unsigned i = 0; i < x->m->n_shapes && rc == 0; i++) {
		const struct map_shape *s = &x->m->shapes[i];
		rc = s->regex ? miss_regex(x, record, s, i) : miss_json(x, record, s, i);
	}
	return rc;
}

/* --- one sample, all samples --- */

static const char *verdict_name(int v)
{
	return v == RECORD_PARSED ? "an event" : v == RECORD_CONTEXT ? "context" : "unparsed";
}

static int prove(struct proof *x)
{
	const struct map_sample *s = &x->m->samples[x->number - 1];
	struct text want = TEXT("an event");
	bool object = json_is_object(s->gives);
	x->wrong = false;
	x->n_given = 0;
	if (!object)
		json_string(s->gives, &want);
	arena_reset(&x->p->scratch);
	x->p->reason = NULL;
	x->p->record_len = (uint32_t)s->record.len;
	int v = x->p->parser->record(x->p, s->record);
	if (v < 0)
		return v;
	if (!text_is(want, verdict_name(v))) {
		x->wrong = true;
		int rc = say(x, "must be %.*s, but is %s%s%s", TEXT_ARG(want), verdict_name(v),
			     x->p->reason ? ": " : "", x->p->reason ? x->p->reason : "");
		if (rc == 0 && object && v == RECORD_UNPARSED)
			rc = miss(x, s->record);
		return rc;
	}
	return x->wrong ? 0 : say(x, "holds, gives %s", verdict_name(v));
}

int map_prove(const struct map *m, int (*write)(void *ctx, struct text line), void *ctx, struct err *err)
{
	struct parse p = {0};
	struct proof x = {.m = m, .p = &p, .write = write, .ctx = ctx, .err = err};
	bool wrong = false;
	p.sink = on_event;
	p.sink_ctx = &x;
	int rc = parse_open(&p, &m->parser, err);
	for (unsigned i = 0; i < m->n_samples && rc == 0; i++) {
		x.number = i + 1;
		rc = prove(&x);
		wrong = wrong || x.wrong;
	}
	parse_close(&p);
	return rc < 0 ? rc : wrong;
}
