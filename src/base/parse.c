/* SPDX-License-Identifier: Apache-2.0 */
/* parse.c - what every format shares: opening and closing, building events, running line patterns
 *
 * p->row is large and mostly unused: only its header is cleared between events, `known` says what else counts.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/buf.h"
#include "pagetrail/digest.h"
#include "pagetrail/error_text.h"
#include "pagetrail/macros.h"
#include "pagetrail/parser.h"
#include "pagetrail/secret.h"

static enum column_type type_of(const struct event *e, unsigned column)
{
	assert(column < event_kinds[e->kind].n_columns);
	return event_kinds[e->kind].columns[column].type;
}

/* A record that tells no time has the one around it. */
struct event *parse_begin(struct parse *p, enum event_kind kind, struct stamp ts)
{
	struct event *e = &p->row;

	assert((unsigned)kind < EVENT_KINDS);
	e->kind = kind;
	e->ts = ts.ns == TIME_UNKNOWN ? p->fallback : ts;
	e->worker = (struct text){"", 0};
	e->byte_off = p->record_off;
	e->byte_len = p->record_len;
	e->known = 0;
	e->runs = NULL;
	e->n_runs = 0;
	return e;
}

void event_int(struct event *e, unsigned column, int64_t v)
{
	assert(type_of(e, column) == COLUMN_INT);
	e->i[column] = v;
	e->known |= UINT32_C(1) << column;
}

void event_text(struct event *e, unsigned column, struct text t)
{
	assert(type_of(e, column) == COLUMN_TEXT);
	if (t.len == 0)
		return;
	e->t[column] = t; /* parse_emit() cuts: it has memory for it */
	e->known |= UINT32_C(1) << column;
}

void event_flag(struct event *e, unsigned column, bool v)
{
	event_int(e, column, v);
}

void event_count(struct event *e, unsigned column, struct text digits)
{
	int64_t v;

	assert(type_of(e, column) == COLUMN_INT);
	if (text_count(digits, &v) && v >= 0 && v <= TOKENS_MAX)
		event_int(e, column, v);
}

void event_runs(struct event *e, const struct page_run *runs, uint32_t n)
{
	const struct event_kind_info *kind = &event_kinds[e->kind];

	for (unsigned c = 0; c < kind->n_columns; c++) {
		if (kind->columns[c].type == COLUMN_PAGES) {
			e->runs = n ? runs : NULL;
			e->n_runs = n;
			e->known |= UINT32_C(1) << c;
			return;
		}
	}
	assert(!"a kind with pages");
}

void event_worker(struct event *e, struct text worker)
{
	e->worker = worker;
}

/* At most max bytes, not through a character. */
static size_t cut_at(struct text t, size_t max)
{
	size_t n = max;

	while (n > max - 4 && ((unsigned char)t.ptr[n] & 0xc0) == 0x80)
		n--;
	return ((unsigned char)t.ptr[n] & 0xc0) == 0x80 ? max : n;
}

/* A long name keeps its start and gets a mark of the whole: two names that differ late stay two names. */
static struct text shorten(struct parse *p, struct text t, bool message)
{
	size_t max = message ? MESSAGE_MAX_BYTES : NAME_MAX_BYTES;
	char tail[24];
	size_t keep;
	char *copy;
	int n;

	if (message)
		n = snprintf(tail, sizeof(tail), "…");
	else
		n = snprintf(tail, sizeof(tail), "…%016llx", (unsigned long long)text_hash(t));
	copy = arena_alloc(&p->scratch, max + 1);
	if (!copy)
		return (struct text){NULL, 0};
	keep = cut_at(t, max - (size_t)n);
	memcpy(copy, t.ptr, keep);
	memcpy(copy + keep, tail, (size_t)n);
	return (struct text){copy, keep + (size_t)n};
}

enum { SECRET_DIGITS = 12, SECRET_TEXT = sizeof("secret:") - 1 + SECRET_DIGITS };

/* Keys in a text become "secret:" and 12 digits of their SHA-256: ids still join, nobody can use them. What may be a password
 * becomes "secret", because a digest of one can be guessed.
 */
static int hide_keys(struct parse *p, struct text *t, struct secret s, bool prose)
{
	size_t from = 0;
	struct buf b = BUF_INIT(t->len + (t->len / SECRET_MIN_BYTES + 1) * SECRET_TEXT + 1);
	int r;

	do {
		unsigned char digest[SHA256_BYTES];
		char hex[SHA256_HEX];
		size_t at = (size_t)(s.whole.ptr - t->ptr);

		r = buf_add_text(&b, text_sub(*t, from, at - from), p->err);
		if (r == 0 && s.weak)
			r = buf_add_text(&b, TEXT("secret"), p->err);
		else if (r == 0 && (r = sha256_once(s.key.ptr, s.key.len, digest, p->err)) == 0) {
			sha256_hex(digest, hex);
			r = buf_printf(&b, p->err, "secret:%.*s", SECRET_DIGITS, hex);
		}
		from = at + s.whole.len;
	} while (r == 0 && secret_find(*t, from, prose, &s));
	if (r == 0)
		r = buf_add_text(&b, text_from(*t, from), p->err);
	if (r == 0) {
		*t = arena_text(&p->scratch, buf_text(&b));
		if (!t->ptr)
			r = err_nomem(p->err);
	}
	buf_done(&b);
	return r;
}

static int hide_row(struct parse *p)
{
	struct event *e = &p->row;
	const struct event_column *columns = event_kinds[e->kind].columns;
	struct secret s;
	int r = 0;

	for (uint32_t left = e->known & event_kinds[e->kind].texts; left && r == 0; left &= left - 1) {
		unsigned c = (unsigned)__builtin_ctz(left);
		bool prose;

		if (e->kind == EVENT_GATEWAY && c == GATEWAY_TENANT && secret_like(e->t[c])) {
			e->known &= ~(UINT32_C(1) << c); /* a key is no tenant, however short */
			continue;
		}
		if (e->t[c].len < SECRET_MIN_BYTES || !secret_find(e->t[c], 0, false, &s))
			continue;
		prose = strcmp(columns[c].name, "message") == 0;
		if (!prose || secret_find(e->t[c], 0, true, &s))
			r = hide_keys(p, &e->t[c], s, prose);
	}
	if (r == 0 && e->worker.len >= SECRET_MIN_BYTES && secret_find(e->worker, 0, false, &s))
		r = hide_keys(p, &e->worker, s, false);
	return r;
}

/* What a gateway says of a request may quote it. */
static int own_words(struct parse *p)
{
	struct event *e = &p->row;

	if (e->kind != EVENT_GATEWAY || !(e->known >> GATEWAY_MESSAGE & 1))
		return 0;
	e->t[GATEWAY_MESSAGE] = error_text(e->t[GATEWAY_MESSAGE], &p->scratch);
	return e->t[GATEWAY_MESSAGE].ptr ? 0 : err_nomem(p->err);
}

static int shorten_row(struct parse *p)
{
	struct event *e = &p->row;
	const struct event_column *columns = event_kinds[e->kind].columns;

	for (uint32_t left = e->known & event_kinds[e->kind].texts; left; left &= left - 1) {
		unsigned c = (unsigned)__builtin_ctz(left);
		bool message;

		if (e->t[c].len <= NAME_MAX_BYTES)
			continue;
		message = strcmp(columns[c].name, "message") == 0;
		if (message && e->t[c].len <= MESSAGE_MAX_BYTES)
			continue;
		e->t[c] = shorten(p, e->t[c], message);
		if (!e->t[c].ptr)
			return err_nomem(p->err);
	}
	if (e->worker.len > NAME_MAX_BYTES) {
		e->worker = shorten(p, e->worker, false);
		if (!e->worker.ptr)
			return err_nomem(p->err);
	}
	return 0;
}

int parse_emit(struct parse *p)
{
	int r = hide_row(p);

	if (r == 0)
		r = own_words(p);
	if (r == 0)
		r = shorten_row(p);
	if (r < 0 || !p->sink)
		return r;
	if (p->row.n_runs > PAGE_RUNS_MAX)
		return err_set(p->err, ERR_BUG, "an event with %u page runs", p->row.n_runs);
	return p->sink(p->sink_ctx, &p->row, p->err);
}

int parse_delegate(struct parse *p, struct text record)
{
	return p->delegate ? p->delegate(p->sink_ctx, p, record) : RECORD_UNPARSED;
}

int parse_document(struct parse *p, struct text t, bool padded, struct json_value *ret)
{
	struct text name;
	int r = json_parse(p->json, t, padded, ret, NULL, p->err);

	if (r)
		return r < 0 ? r : parse_refuse(p, "json_syntax");
	r = json_twice(*ret, &name, NULL, p->err);
	return r > 0 ? parse_refuse(p, "member_twice") : r;
}

int parse_contradicts(struct parse *p, struct json_value doc)
{
	struct text name;
	int r = json_contradicts(doc, &name, p->err);

	return r > 0 ? parse_refuse(p, "member_twice") : r;
}

int parse_json(struct parse *p, struct text record, bool padded, struct json_value *ret)
{
	struct text t = text_trim(record);
	int r = json_parse(p->json, record, padded, ret, NULL, p->err);

	if (r > 0)
		return parse_refuse(p, t.len && t.ptr[t.len - 1] == '}' ? "json_syntax" : "torn");
	return r < 0 ? r : parse_contradicts(p, *ret);
}

int parse_patterns(struct parse *p, struct text message)
{
	for (size_t i = 0; i < p->parser->n_patterns; i++) {
		const struct line_pattern *pattern = &p->parser->patterns[i];

		if (pattern->starts && (message.len == 0 || pattern->starts[0] != message.ptr[0] ||
					!text_starts(message, pattern->starts)))
			continue;
		match_clear(p->match);
		if (p->compiled[i] && !pattern_search(p->compiled[i], p->match, message, 0))
			continue;
		return pattern->take ? pattern->take(p, p->match, message) : RECORD_CONTEXT;
	}
	return RECORD_UNPARSED;
}

static int compile_patterns(struct parse *p, struct err *err)
{
	const struct parser *parser = p->parser;

	p->compiled = calloc(parser->n_patterns + 1, sizeof(struct pattern *));
	if (!p->compiled)
		return err_nomem(err);
	for (size_t i = 0; i < parser->n_patterns; i++) {
		const struct line_pattern *pattern = &parser->patterns[i];
		int r;

		if (!pattern->regex)
			continue;
		r = pattern_compile(&p->compiled[i], pattern->regex, true, err);
		if (r < 0) {
			err_where(err, "pattern %s of format %s", pattern->name, parser->name);
			return r;
		}
	}
	return 0;
}

/* sink, sink_ctx and delegate belong to the framework, which may set them before or after. */
int parse_open(struct parse *p, const struct parser *parser, struct err *err)
{
	int r = 0;

	p->parser = parser;
	p->state = NULL;
	p->json = NULL;
	p->match = NULL;
	p->compiled = NULL;
	p->padded = false;
	p->err = err;
	p->reason = NULL;
	p->inner = (struct text){"", 0};
	p->record_off = 0;
	p->record_len = 0;
	p->fallback = STAMP_INIT;
	p->era = STAMP_INIT;
	arena_init(&p->scratch, 0);
	parse_begin(p, EVENT_BOOT, STAMP_INIT);
	if (parser->state_bytes) {
		p->state = calloc(1, parser->state_bytes);
		if (!p->state)
			r = err_nomem(err);
	}
	if (r == 0 && !(p->json = json_new()))
		r = err_nomem(err);
	if (r == 0)
		r = match_new(&p->match, err);
	if (r == 0)
		r = compile_patterns(p, err);
	if (r == 0 && parser->open)
		r = parser->open(p);
	if (r < 0)
		parse_close(p);
	return r;
}

void parse_close(struct parse *p)
{
	if (p->parser && p->parser->close && p->state)
		p->parser->close(p);
	for (size_t i = 0; p->compiled && i < p->parser->n_patterns; i++)
		pattern_free(p->compiled[i]);
	free(p->compiled);
	match_free(p->match);
	json_free(p->json);
	free(p->state);
	arena_done(&p->scratch);
	p->compiled = NULL;
	p->match = NULL;
	p->json = NULL;
	p->state = NULL;
	p->parser = NULL;
}

/* A format that a map describes is called NAME@HASH, and found by NAME, too. */
static bool is_called(const struct parser *p, struct text name)
{
	return text_is(name, p->name) ||
	       (name.len && strncmp(p->name, name.ptr, name.len) == 0 && p->name[name.len] == '@');
}

const struct parser *parser_find(const struct parser *const *list, size_t n, struct text name)
{
	for (size_t i = 0; i < n; i++)
		if (is_called(list[i], name))
			return list[i];
	return NULL;
}

int parse_refuse(struct parse *p, const char *reason)
{
	p->reason = reason;
	return RECORD_UNPARSED;
}
