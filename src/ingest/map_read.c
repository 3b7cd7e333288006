/* SPDX-License-Identifier: Apache-2.0 */
/* map_read.c - the text of a map, taken apart and checked: an unknown key is a warning, a wrong one an error that says
 * where it is and what was expected
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map_reader.h"

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
	size_t was = reader_enter(r, ".regex");
	if (r->m->is_json)
		return json_type(v) == JSON_NONE ? (reader_leave(r, was), 0)
						 : reader_wrong(r, v, "no expression: the map reads json");
	while (rc == 0 && (!many || json_next(&it, &key, &one))) {
		rc = json_string(one, &t) ? buf_add_text(&b, t, r->err)
					  : reader_wrong(r, one, "an expression, or a list of its parts");
		if (!many)
			break;
	}
	if (rc == 0 && !b.len)
		rc = reader_wrong(r, v, "an expression");
	if (rc == 0)
		rc = buf_add_char(&b, '\0', r->err);
	if (rc == 0 && strlen(b.ptr) + 1 != b.len)
		rc = reader_wrong(r, v, "an expression without zero bytes");
	if (rc == 0 && (rc = pattern_compile_whole(&s->regex, b.ptr, &why)) < 0)
		rc = rc == ERR_NOMEM
			 ? err_nomem(r->err)
			 : err_set(r->err, ERR_INPUT, "the map is wrong at %s: %s", reader_place(r), why.what);
	if (rc == 0 && pattern_twice(s->regex))
		rc = err_set(
		    r->err, ERR_INPUT,
		    "the map is wrong at %s: two groups are called '%s', and which of them is meant cannot be said: "
		    "alternatives share one inside of (?|...|...)",
		    reader_place(r), pattern_twice(s->regex));
	reader_leave(r, was);
	return rc;
}

static int read_event(struct reader *r, struct json_value v, struct map_shape *s)
{
	static const char *const names[] = {"gateway", "leg", "boot", "load", "none"};
	static const enum event_kind kinds[] = {EVENT_GATEWAY, EVENT_LEG, EVENT_BOOT, EVENT_LOAD, EVENT_GATEWAY};
	int at = 0;
	int rc = reader_word(r, v, "event", names, ARRAY_SIZE(names), "gateway, leg, boot, load or none", &at);
	s->kind = kinds[at];
	s->context = at == 4;
	return rc;
}

static int read_shape(struct reader *r, struct json_value v, struct map_shape *s)
{
	struct text name = TEXT("");
	if (!json_is_object(v))
		return reader_wrong(r, v, "an object");
	int rc = READER_KEYS(r, v, "name", "event", "regex", "when", "time", "fields", "note");
	if (rc == 0 && json_type(json_get(v, "name")) != JSON_NONE && !json_string(json_get(v, "name"), &name))
		rc = reader_wrong(r, json_get(v, "name"), "a text for \"name\"");
	if (rc == 0)
		rc = reader_keep(r, name, &s->name);
	if (rc == 0)
		rc = read_event(r, v, s);
	if (rc == 0)
		rc = read_regex(r, json_get(v, "regex"), s);
	if (rc == 0)
		rc = reader_when(r, json_get(v, "when"), s);
	struct json_value time = json_get(v, "time");
	if (rc == 0 && json_type(time) != JSON_NONE) {
		size_t was = reader_enter(r, ".time");
		if (json_is_object(time))
			rc = READER_KEYS(r, time, "from", "format", "zone", "is");
		if (rc == 0)
			rc = reader_time(r, time, s, &s->time);
		reader_leave(r, was);
	}
	if (rc == 0)
		rc = reader_fields(r, json_get(v, "fields"), s);
	bool told = s->regex || s->n_when;
	for (unsigned i = 0; i < s->n_fields; i++)
		told = told || s->fields[i].must;
	return rc == 0 && !told
		   ? reader_wrong(r, (struct json_value){0},
				  "\"when\", or a field with \"must\": true, to tell these records from others")
		   : rc;
}

static int read_shapes(struct reader *r, struct json_value v)
{
	struct map *m = r->m;
	struct json_iter it = json_iter(v);
	struct json_value one;
	struct text key;
	size_t was = reader_enter(r, "records");
	m->shapes = arena_array(&m->arena, SHAPES_MAX, sizeof(*m->shapes));
	int rc = !m->shapes                   ? err_nomem(r->err)
		 : json_type(v) != JSON_ARRAY ? reader_wrong(r, v, "a list of the kinds of records")
					      : 0;
	while (rc == 0 && json_next(&it, &key, &one)) {
		if (m->n_shapes == SHAPES_MAX)
			return reader_wrong(r, v, "at most 32 kinds of records");
		size_t inner = reader_enter(r, "[%u]", m->n_shapes);
		struct map_shape *s = &m->shapes[m->n_shapes++];
		*s = (struct map_shape){0};
		rc = read_shape(r, one, s);
		m->parser.emits |= s->context ? 0 : 1u << s->kind;
		reader_leave(r, inner);
	}
	if (rc == 0 && !m->parser.emits)
		rc = reader_wrong(r, v, "at least one kind of records with events");
	reader_leave(r, was);
	return rc;
}

/* --- samples --- */

static int read_sample(struct reader *r, struct json_value v, struct map_sample *s)
{
	struct json_value record = json_get(v, "record");
	struct text t;
	if (!json_is_object(v))
		return reader_wrong(r, v, "{\"record\": …, \"gives\": …}");
	int rc = READER_KEYS(r, v, "record", "gives", "note");
	if (rc == 0 && !json_string(record, &s->record)) {
		CLEANUP(buf_done) struct buf b = BUF_INIT(2 * MAP_MAX_BYTES);
		if (!r->m->is_json || !json_is_object(record))
			return reader_wrong(r, record, "a record as text");
		rc = json_write(record, &b, r->err);
		s->record = rc == 0 ? arena_text(&r->m->arena, buf_text(&b)) : TEXT("");
		if (rc == 0 && !s->record.ptr)
			rc = err_nomem(r->err);
	}
	s->gives = json_get(v, "gives");
	bool fine = json_is_object(s->gives) ||
		    (json_string(s->gives, &t) && (text_is(t, "context") || text_is(t, "unparsed")));
	return rc == 0 && !fine ? reader_wrong(r, s->gives, "what it must give: an object, \"context\" or \"unparsed\"")
				: rc;
}

static int read_samples(struct reader *r, struct json_value v)
{
	struct map *m = r->m;
	struct json_iter it = json_iter(v);
	struct json_value one;
	struct text key;
	size_t was = reader_enter(r, "samples");
	m->samples = arena_array(&m->arena, SAMPLES_MAX, sizeof(*m->samples));
	int rc = m->samples ? 0 : err_nomem(r->err);
	if (rc == 0 && json_type(v) != JSON_ARRAY)
		rc = reader_wrong(r, v, "a list of samples");
	while (rc == 0 && json_next(&it, &key, &one)) {
		if (m->n_samples == SAMPLES_MAX)
			return reader_wrong(r, (struct json_value){0}, "at most 256 samples");
		size_t inner = reader_enter(r, "[%u]", m->n_samples);
		rc = read_sample(r, one, &m->samples[m->n_samples++]);
		reader_leave(r, inner);
	}
	if (rc == 0 && !m->n_samples)
		rc = reader_wrong(r, v, "at least one sample");
	reader_leave(r, was);
	return rc;
}

/* --- the whole --- */

static int read_name(struct reader *r, struct json_value doc)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	struct json_value v = json_get(doc, "format");
	struct text t;
	const char *name;
	size_t was = reader_enter(r, "format");
	if (!json_string(v, &t) || !t.len || t.len > 40)
		return reader_wrong(r, v, "a name of small letters, digits and '-', at most 40");
	int rc = reader_keep(r, t, &name);
	if (rc == 0 && strspn(name, letters) != t.len)
		return reader_wrong(r, v, "a name of small letters, digits and '-', at most 40");
	reader_leave(r, was);
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
		return reader_wrong(r, doc, "an object");
	int rc = READER_KEYS(r, doc, "pagetrail_map", "format", "summary", "reads", "records", "samples", "note");
	if (rc == 0 && (!json_int64(json_get(doc, "pagetrail_map"), &version) || version != 1))
		rc = reader_wrong(r, json_get(doc, "pagetrail_map"), "\"pagetrail_map\": 1");
	if (rc == 0)
		rc = read_name(r, doc);
	if (rc == 0)
		rc = reader_word(r, doc, "reads", reads, ARRAY_SIZE(reads), "json or regex", &kind);
	if (rc == 0 && kind < 0)
		rc = reader_wrong(r, (struct json_value){0}, "\"reads\": json or regex");
	m->is_json = kind == 0;
	json_string(json_get(doc, "summary"), &summary);
	if (rc == 0)
		rc = reader_keep(r, summary, &text);
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
	*ret = NULL;
	int rc = buf_add_file(&b, path, "map", err);
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
