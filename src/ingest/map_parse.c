/* SPDX-License-Identifier: Apache-2.0 */
/* map_parse.c - records by a map: the first shape that fits takes the record
 *
 * An expression must match the whole record; running into a limit is a miss. Where that happens again and again the rest of
 * the source is not even tried, so that an expression that explodes costs seconds, not days.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "pagetrail/error_text.h"
#include "pagetrail/secret.h"

enum { LIMITS_MAX = 200 };

struct map_state {
	unsigned limits;
};

size_t map_state_bytes(void)
{
	return sizeof(struct map_state);
}

/* --- values --- */

struct got {
	bool there, is_json;
	struct json_value v;
	struct text t;
};

static bool nothing(struct text t)
{
	return t.len == 0 || text_is(t, "-");
}

static bool usable(struct json_value v)
{
	struct text t;
	return json_given(v) && !(json_string(v, &t) && nothing(t));
}

/* An object, or a list of nothing but objects, is there; but it is no value that a column can hold. */
static bool is_value(struct json_value v)
{
	struct json_iter it = json_iter(v);
	struct json_value one;
	struct text key, t;
	char tmp[VALUE_TMP];
	if (json_type(v) != JSON_ARRAY)
		return !json_is_object(v);
	while (json_next(&it, &key, &one))
		if (json_id(one, tmp, &t))
			return true;
	return false;
}

/* values: only what a column can hold counts. */
static struct got look(const struct map_from *from, const struct map_view *v, bool values)
{
	for (unsigned i = 0; i < from->n; i++) {
		struct got g = {.is_json = !v->match};
		if (v->match)
			g.t = match_group(v->match, from->at[i]);
		else
			g.v = json_path(v->doc, from->at[i]);
		g.there = g.is_json ? usable(g.v) && (!values || is_value(g.v)) : !nothing(g.t);
		if (g.there)
			return g;
	}
	return (struct got){0};
}

/* Ids of a list with commas between them, as many as one name holds. */
static struct text join(struct parse *p, struct json_value list)
{
	struct json_iter it = json_iter(list);
	struct json_value v;
	struct text key, t;
	char tmp[VALUE_TMP], *out = arena_alloc(&p->scratch, NAME_MAX_BYTES);
	size_t n = 0;
	while (out && json_next(&it, &key, &v)) {
		if (!json_id(v, tmp, &t) || t.len + 1 > NAME_MAX_BYTES - n)
			continue;
		if (n)
			out[n++] = ',';
		memcpy(out + n, t.ptr, t.len);
		n += t.len;
	}
	return (struct text){out, n};
}

static struct text text_got(struct parse *p, const struct got *g)
{
	struct text t = {NULL, 0};
	bool b;
	if (!g->is_json)
		return g->t;
	if (json_type(g->v) == JSON_ARRAY)
		return join(p, g->v);
	if (json_bool(g->v, &b))
		return b ? TEXT("true") : TEXT("false");
	char *tmp = arena_alloc(&p->scratch, VALUE_TMP);
	return tmp && json_id(g->v, tmp, &t) ? t : (struct text){NULL, 0};
}

static bool double_got(const struct got *g, double *ret)
{
	struct text t = g->t;
	if (g->is_json && json_double(g->v, ret))
		return true;
	if (g->is_json && !json_string(g->v, &t))
		return false;
	return text_double(t, ret);
}

static bool count_got(const struct got *g, int64_t *ret)
{
	struct text t = g->t;
	if (g->is_json && json_count(g->v, ret))
		return true;
	if (g->is_json && !json_string(g->v, &t))
		return false;
	return text_count(t, ret);
}

static bool number_got(const struct got *g, double scale, int64_t *ret)
{
	double d;
	if (scale == 0)
		return count_got(g, ret) && *ret >= 0 && *ret <= TOKENS_MAX;
	if (!double_got(g, &d) || !(d >= 0) || d * scale > 4e18)
		return false;
	*ret = llround(d * scale);
	return true;
}

static bool bool_got(struct parse *p, const struct got *g, int64_t *ret)
{
	static const char *const words[][2] = {{"false", "true"}, {"no", "yes"}, {"0", "1"},
					       {"False", "True"}, {"off", "on"}, {"n", "y"}};
	struct text t = text_got(p, g);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		for (int b = 0; b < 2; b++)
			if (text_is(t, words[i][b])) {
				*ret = b;
				return true;
			}
	return false;
}

static const struct map_value *value_for(const struct map_field *f, struct text t)
{
	for (unsigned i = 0; i < f->n_values; i++)
		if (f->values[i].any || text_eq(f->values[i].was, t))
			return &f->values[i];
	return NULL;
}

/* --- times --- */

static bool number_stamp(struct text t, int64_t unit, struct stamp *ret)
{
	size_t point = text_find_char(t, '.', 0), decimals = point == SIZE_MAX ? 0 : t.len - point - 1;
	int64_t whole, part = 0, ns;
	if (!text_int64(text_sub(t, 0, point), &whole) || whole < 0 || __builtin_mul_overflow(whole, unit, &ns))
		return false;
	for (size_t i = t.len - decimals, d = 1; i < t.len; i++) {
		if (t.ptr[i] < '0' || t.ptr[i] > '9')
			return false;
		if (d <= (size_t)unit / 10) { /* what is below a nanosecond is cut */
			d *= 10;
			part += (t.ptr[i] - '0') * (unit / (int64_t)d);
		}
	}
	if (__builtin_add_overflow(ns, part, &ns))
		return false;
	*ret = (struct stamp){ns, STAMP_ZONED, unit};
	while (decimals-- && ret->precision_ns > 1)
		ret->precision_ns /= 10;
	return true;
}

/* Digits at *at: up to n of them. */
static bool digits(struct text t, size_t *at, unsigned n, int *ret)
{
	unsigned i = 0;
	*ret = 0;
	while (i < n && *at < t.len && t.ptr[*at] >= '0' && t.ptr[*at] <= '9') {
		*ret = *ret * 10 + (t.ptr[(*at)++] - '0');
		i++;
	}
	return i > 0;
}

static bool month(struct text t, size_t *at, int *ret)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	for (int m = 0; m < 12 && *at + 3 <= t.len; m++)
		if (!memcmp(t.ptr + *at, names + (size_t)m * 3, 3)) {
			*at += 3;
			*ret = m + 1;
			return true;
		}
	return false;
}

/* Z, +HH:MM, +HHMM */
static bool offset(struct text t, size_t *at, int64_t *ret_s)
{
	int h, m;
	*ret_s = 0;
	if (*at < t.len && t.ptr[*at] == 'Z') {
		++*at;
		return true;
	}
	if (*at >= t.len || (t.ptr[*at] != '+' && t.ptr[*at] != '-'))
		return false;
	bool minus = t.ptr[(*at)++] == '-';
	if (!digits(t, at, 2, &h))
		return false;
	*at += *at < t.len && t.ptr[*at] == ':';
	if (!digits(t, at, 2, &m) || h > 18 || m > 59)
		return false;
	*ret_s = (minus ? -1 : 1) * (h * 3600 + m * 60);
	return true;
}

struct civil {
	int at[6]; /* year month day hour minute second */
	int64_t frac_ns, zone_s, precision_ns;
	bool zoned;
};

static bool decimals(struct text t, size_t *at, struct civil *c)
{
	size_t from = *at;
	for (int64_t unit = NS_PER_S; *at < t.len && t.ptr[*at] >= '0' && t.ptr[*at] <= '9'; ++*at) {
		unit /= 10;
		c->frac_ns += (t.ptr[*at] - '0') * unit;
		c->precision_ns = MAX(unit, 1);
	}
	return *at > from;
}

/* What stands for %key. */
static bool pattern_part(char key, struct text t, size_t *at, struct civil *c)
{
	static const char keys[] = "YmdHMS";
	const char *plain = strchr(keys, key);
	if (plain)
		return digits(t, at, key == 'Y' ? 4 : 2, &c->at[plain - keys]);
	switch (key) {
	case 'b': return month(t, at, &c->at[1]);
	case 'f': return decimals(t, at, c);
	case 'z': c->zoned = offset(t, at, &c->zone_s); return c->zoned;
	default: return *at < t.len && t.ptr[(*at)++] == key; /* %% */
	}
}

/* %Y %m %b %d %H %M %S %f (decimals of a second) %z %%; a blank stands for any number of blanks. */
static bool pattern_stamp(const char *pattern, struct text t, struct stamp *ret)
{
	struct civil c = {.precision_ns = NS_PER_S};
	size_t at = 0;
	for (const char *p = pattern; *p; p++) {
		if (*p == '%' && p[1]) {
			if (!pattern_part(*++p, t, &at, &c))
				return false;
			continue;
		}
		if (at >= t.len || t.ptr[at++] != *p)
			return false;
		while (*p == ' ' && at < t.len && t.ptr[at] == ' ')
			at++;
	}
	*ret = (struct stamp){TIME_UNKNOWN, c.zoned ? STAMP_ZONED : STAMP_NAIVE, c.precision_ns};
	if (at != t.len || !stamp_from_civil(c.at[0], c.at[1], c.at[2], c.at[3], c.at[4], c.at[5], c.frac_ns, &ret->ns))
		return false;
	return !__builtin_sub_overflow(ret->ns, c.zone_s * NS_PER_S, &ret->ns) && ret->ns != TIME_UNKNOWN;
}

bool map_stamp(const struct map_time *t, struct text text, struct stamp *ret)
{
	size_t used;
	bool ok = false;
	text = text_trim(text);
	if (t->format == TIME_NUMBER)
		return number_stamp(text, t->unit_ns, ret);
	if (t->format == TIME_PATTERN)
		ok = pattern_stamp(t->pattern, text, ret);
	if (!ok && (t->format == TIME_ANY || t->format == TIME_ISO))
		ok = stamp_parse_iso(text, ret, &used) && used == text.len;
	if (!ok && (t->format == TIME_ANY || t->format == TIME_CLF))
		ok = stamp_parse_clf(text, ret, &used) && used == text.len;
	if (!ok && t->format == TIME_ANY)
		ok = stamp_parse_epoch(text, ret) && ret->quality == STAMP_ZONED;
	if (ok && t->zone && ret->quality == STAMP_NAIVE) {
		ret->ns = zone_to_utc(t->zone, ret->ns);
		ret->quality = STAMP_ZONED;
	}
	return ok;
}

/* A JSON number with decimals: no more than microseconds are in it. */
static bool double_stamp(const struct map_time *t, double d, struct stamp *ret)
{
	double unit = t->format == TIME_NUMBER ? (double)t->unit_ns : d >= 1e14 ? 1e3 : d >= 1e11 ? 1e6 : 1e9;
	double us = d * unit / 1e3;
	if ((t->format != TIME_NUMBER && t->format != TIME_ANY) || !(us >= 0 && us < 9.2e15))
		return false;
	*ret = (struct stamp){(int64_t)llround(us) * 1000, STAMP_ZONED, 1000};
	return true;
}

static bool stamp_at(struct parse *p, const struct map_time *t, const struct map_view *v, struct stamp *ret)
{
	struct got g = look(&t->from, v, true);
	double d;
	if (!g.there)
		return false;
	if (g.is_json && json_type(g.v) == JSON_DOUBLE)
		return json_double(g.v, &d) && double_stamp(t, d, ret);
	return map_stamp(t, text_got(p, &g), ret);
}

/* --- which shape --- */

static bool when_holds(const struct map_when *w, const struct map_view *v)
{
	struct got g = look(&w->from, v, w->n_is > 0);
	struct text t = g.t;
	char tmp[VALUE_TMP];
	bool b;
	if (!g.there || !w->n_is)
		return g.there;
	if (g.is_json && json_bool(g.v, &b))
		t = b ? TEXT("true") : TEXT("false");
	else if (g.is_json && !json_id(g.v, tmp, &t))
		return false;
	for (unsigned i = 0; i < w->n_is; i++)
		if (w->starts ? t.len >= w->is[i].len && text_eq(text_sub(t, 0, w->is[i].len), w->is[i])
			      : text_eq(t, w->is[i]))
			return true;
	return false;
}

bool map_has_all(const struct map_shape *s, const struct map_view *v, const char **ret_missing)
{
	for (unsigned i = 0; i < s->n_when; i++)
		if (!when_holds(&s->when[i], v)) {
			*ret_missing = s->when[i].from.at[0];
			return false;
		}
	for (unsigned i = 0; i < s->n_fields; i++)
		if (s->fields[i].must && !look(&s->fields[i].from, v, true).there) {
			*ret_missing = s->fields[i].from.at[0];
			return false;
		}
	return true;
}

int map_fit(const struct map *m, struct parse *p, struct text record, struct map_view *v, const struct map_shape **ret)
{
	const char *missing;
	*ret = NULL;
	for (unsigned i = 0; i < m->n_shapes; i++) {
		const struct map_shape *s = &m->shapes[i];
		if (s->regex) {
			int rc = pattern_try(s->regex, p->match, record, 0, NULL);
			if (rc < 0)
				return rc;
			if (!rc)
				continue;
			v->match = p->match;
		}
		if (map_has_all(s, v, &missing)) {
			*ret = s;
			return 0;
		}
	}
	return 0;
}

/* --- events --- */

static bool in_list(const char *list, struct text word)
{
	struct text rest = text_of(list), one;
	while (text_split(&rest, '|', &one))
		if (text_eq(one, word))
			return true;
	return false;
}

static struct text clean(struct parse *p, enum event_kind kind, unsigned column, struct text t)
{
	const char *name = event_kinds[kind].columns[column].name;
	if (!strcmp(name, "message"))
		return error_text(secret_cut(t), &p->scratch);
	if (!strcmp(name, "route"))
		t = text_sub(t, 0, text_find_char(t, '?', 0));
	return t;
}

static void set_text(struct parse *p, struct event *e, unsigned column, struct text t)
{
	const struct event_column *c = &event_kinds[e->kind].columns[column];
	if (!strcmp(c->name, "what") && !in_list(c->help, t))
		return;
	event_text(e, column, clean(p, e->kind, column, t));
}

static void set_column(struct parse *p, struct event *e, const struct map_field *f, const struct map_view *v)
{
	const struct event_column *c = &event_kinds[e->kind].columns[f->to];
	struct got g = look(&f->from, v, true);
	struct stamp at;
	int64_t n;
	if (f->constant || (g.there && f->n_values)) {
		const struct map_value *value = f->constant ? f->values : value_for(f, text_got(p, &g));
		if (value && value->known && value->is_number)
			event_int(e, f->to, value->n);
		else if (value && value->known)
			set_text(p, e, f->to, value->text);
	} else if (!g.there) {
		return;
	} else if (c->type == COLUMN_TEXT) {
		set_text(p, e, f->to, text_got(p, &g));
	} else if (!strcmp(c->unit, "ns")) {
		if (stamp_at(p, &f->time, v, &at) && at.quality == STAMP_ZONED)
			event_int(e, f->to, at.ns);
	} else if (!strcmp(c->unit, "bool") ? bool_got(p, &g, &n) : number_got(&g, f->scale, &n)) {
		if (strcmp(c->name, "status") != 0 || (n >= 100 && n <= 599))
			event_int(e, f->to, n);
	}
}

static void set_defaults(struct event *e)
{
	if (e->kind == EVENT_GATEWAY && !(e->known >> GATEWAY_WHAT & 1))
		event_text(e, GATEWAY_WHAT, TEXT("access"));
	if (e->kind == EVENT_GATEWAY && (e->known >> GATEWAY_INPUT & 1) && !(e->known >> GATEWAY_INPUT_FLAG & 1))
		event_text(e, GATEWAY_INPUT_FLAG, TEXT("exact"));
	if (e->kind == EVENT_LEG && (e->known >> LEG_INPUT & 1) && !(e->known >> LEG_INPUT_FLAG & 1))
		event_text(e, LEG_INPUT_FLAG, TEXT("exact"));
}

/* Begin and end of what took `duration`, where the record's time is one of them and for sure. */
static void set_span(struct event *e, enum time_means means, int64_t duration)
{
	unsigned start = e->kind == EVENT_LEG ? (unsigned)LEG_STARTED : (unsigned)GATEWAY_STARTED;
	unsigned end = e->kind == EVENT_LEG ? (unsigned)LEG_FINISHED : (unsigned)GATEWAY_FINISHED;
	if ((e->kind != EVENT_LEG && e->kind != EVENT_GATEWAY) || e->ts.quality != STAMP_ZONED || means == TIME_IS_LOG)
		return;
	unsigned own = means == TIME_IS_START ? start : end, other = means == TIME_IS_START ? end : start;
	int64_t there = means == TIME_IS_START ? duration : -duration;
	if (!(e->known >> own & 1))
		event_int(e, own, e->ts.ns);
	if (duration >= 0 && !(e->known >> other & 1))
		event_int(e, other, e->ts.ns + there);
}

static int emit(struct parse *p, const struct map_shape *s, const struct map_view *v)
{
	struct stamp at = STAMP_INIT;
	int64_t duration = -1;
	bool timed = s->time.from.n && stamp_at(p, &s->time, v, &at);
	struct event *e = parse_begin(p, s->kind, timed ? at : STAMP_INIT);
	for (unsigned i = 0; i < s->n_fields; i++) {
		const struct map_field *f = &s->fields[i];
		if (f->to < TO_DURATION) {
			set_column(p, e, f, v);
			continue;
		}
		struct got g = look(&f->from, v, true);
		if (g.there && f->to == TO_WORKER)
			event_worker(e, text_got(p, &g));
		else if (g.there && (!number_got(&g, f->scale, &duration) || duration > INT64_C(1000000000000000)))
			duration = -1;
	}
	set_defaults(e);
	if (timed)
		set_span(e, s->time.means, duration);
	int rc = parse_emit(p);
	return rc < 0 ? rc : RECORD_PARSED;
}

/* 0 to be matched, else a verdict or ERR_*. */
static int begin(const struct map *m, struct parse *p, struct text *record, struct map_view *v)
{
	*v = (struct map_view){0};
	if (!m->is_json)
		return 0;
	bool padded = p->padded && text_trim(*record).ptr == record->ptr;
	*record = text_trim(*record);
	if (!record->len)
		return RECORD_CONTEXT;
	if (record->ptr[0] != '{')
		return parse_refuse(p, "not_json");
	int rc = json_parse(p->json, *record, padded, &v->doc, NULL, p->err);
	if (rc > 0)
		return parse_refuse(p, record->ptr[record->len - 1] == '}' ? "json_syntax" : "torn");
	return rc ? rc : parse_contradicts(p, v->doc);
}

int map_record(struct parse *p, struct text record)
{
	const struct map *m = map_of(p->parser);
	struct map_state *state = p->state;
	const struct map_shape *s;
	struct map_view v;
	int rc = begin(m, p, &record, &v);
	if (rc)
		return rc;
	if (state->limits >= LIMITS_MAX)
		return parse_refuse(p, "expression_too_slow");
	rc = map_fit(m, p, record, &v, &s);
	state->limits += rc == ERR_LIMIT;
	if (rc == ERR_LIMIT)
		return parse_refuse(p, "expression_limit");
	if (rc < 0)
		return rc;
	if (!s)
		return parse_refuse(p, "no_shape");
	return s->context ? RECORD_CONTEXT : emit(p, s, &v);
}

enum bid map_bid(struct parse *p, struct text record)
{
	const struct map *m = map_of(p->parser);
	const struct map_shape *s;
	struct map_view v;
	if (begin(m, p, &record, &v) || map_fit(m, p, record, &v, &s) || !s)
		return BID_NO;
	return s->context ? BID_WEAK : BID_STRONG;
}
