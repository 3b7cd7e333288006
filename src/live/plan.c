/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - reads and checks a plan of markers and over-limit probes */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/json.h"
#include "pagetrail/limits.h"
#include "pagetrail/live.h"

enum { ID_MIN = 8, ID_MAX = 64 };

static int wrong(struct err *err, size_t at, const char *key, const char *expected)
{
	err_set(err, ERR_INPUT, "the plan is wrong at probes[%zu]%s%s: %s is expected", at, *key ? "." : "", key,
		expected);
	err_hint(err, "'pagetrail canary --plan N --over-limit M --limit TOKENS' writes one");
	return ERR_INPUT;
}

/* It goes into a header and into ids of logs. */
static bool is_id(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (!((t.ptr[i] >= 'a' && t.ptr[i] <= 'z') || (t.ptr[i] >= '0' && t.ptr[i] <= '9') || t.ptr[i] == '-'))
			return false;
	return t.len >= ID_MIN && t.len <= ID_MAX;
}

/* A marker goes into a prompt, which says what it is asked: nothing that ends a sentence. */
static bool is_marker(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if ((unsigned char)t.ptr[i] <= ' ' || t.ptr[i] == 0x7f)
			return false;
	return t.len >= MARKER_MIN_BYTES && t.len <= MARKER_MAX_BYTES && text_utf8_valid(t);
}

static int take_probe(struct live_plan *p, struct json_value v, size_t at, struct err *err)
{
	struct live_probe *ret = &p->list[at];
	struct text id, kind, marker;
	if (!json_is_object(v) || !json_string(json_get(v, "probe"), &id) || !is_id(id))
		return wrong(err, at, "probe", "an id of 8 to 64 letters, digits and '-'");
	if (!json_string(json_get(v, "kind"), &kind) || (!text_is(kind, "marker") && !text_is(kind, "over_limit")))
		return wrong(err, at, "kind", "\"marker\" or \"over_limit\"");
	if (!json_bool(json_get(v, "stream"), &ret->stream))
		return wrong(err, at, "stream", "true or false");
	ret->id = arena_text(&p->arena, id);
	ret->kind = text_is(kind, "marker") ? PROBE_MARKER : PROBE_OVER_LIMIT;
	if (!ret->id.ptr)
		return err_nomem(err);
	if (ret->kind == PROBE_OVER_LIMIT)
		return json_int64(json_get(v, "tokens"), &ret->tokens) && ret->tokens >= 1 &&
			       ret->tokens <= LIVE_PROBE_TOKENS_MAX
			   ? 0
			   : wrong(err, at, "tokens", "a number of tokens, at most 8388608");
	if (!json_string(json_get(v, "marker"), &marker) || !is_marker(marker))
		return wrong(err, at, "marker", "a text of 6 to 256 bytes without blanks");
	ret->marker = arena_text(&p->arena, marker);
	return ret->marker.ptr ? 0 : err_nomem(err);
}

static int by_id(const void *a, const void *b)
{
	const struct live_probe *const *x = a, *const *y = b;
	return text_cmp((*x)->id, (*y)->id);
}

static int by_marker(const void *a, const void *b)
{
	const struct live_probe *const *x = a, *const *y = b;
	return text_cmp((*x)->marker, (*y)->marker);
}

/* One marker in two requests could come back from either; one id of two requests tells nobody apart. */
static int refuse_twins(struct live_plan *p, struct err *err)
{
	const struct live_probe **order = arena_array(&p->arena, p->n, sizeof(struct live_probe *));
	int rc = order ? 0 : err_nomem(err);
	for (size_t i = 0; !rc && i < p->n; i++)
		order[i] = &p->list[i];
	if (!rc)
		qsort(order, p->n, sizeof(*order), by_id);
	for (size_t i = 1; !rc && i < p->n; i++)
		if (text_eq(order[i - 1]->id, order[i]->id))
			rc = wrong(err, (size_t)(MAX(order[i - 1], order[i]) - p->list), "probe",
				   "an id that no other probe has");
	if (!rc)
		qsort(order, p->n, sizeof(*order), by_marker);
	for (size_t i = 1; !rc && i < p->n; i++)
		if (order[i]->marker.len && text_eq(order[i - 1]->marker, order[i]->marker))
			rc = wrong(err, (size_t)(MAX(order[i - 1], order[i]) - p->list), "marker",
				   "a marker that no other probe has");
	return rc;
}

/* May be left out. */
static int take_count(struct json_value doc, const char *key, int64_t *ret, struct err *err)
{
	struct json_value v = json_get(doc, key);
	*ret = 0;
	if (!json_given(v) || (json_int64(v, ret) && *ret >= 1 && *ret <= TOKENS_MAX))
		return 0;
	return err_set(err, ERR_INPUT, "the plan is wrong at %s: a number of tokens is expected", key);
}

static int take_plan(struct live_plan *p, struct json_value doc, struct err *err)
{
	struct json_value list = json_get(doc, "probes"), v;
	struct text key, note;
	size_t n = 0;
	if (json_type(list) != JSON_ARRAY) {
		err_set(err, ERR_INPUT, "the plan has no list \"probes\"");
		err_hint(err, "'pagetrail canary --plan N --over-limit M --limit TOKENS' writes one");
		return ERR_INPUT;
	}
	for (struct json_iter it = json_iter(list); json_next(&it, &key, &v);)
		n++;
	if (!n || n > LIVE_PROBES_MAX)
		return err_set(err, ERR_INPUT, "the plan has %zu probes: 1 to %d are expected", n, LIVE_PROBES_MAX);
	p->list = arena_array(&p->arena, n, sizeof(*p->list));
	if (!p->list)
		return err_nomem(err);
	int rc = take_count(doc, "limit", &p->limit, err);
	if (!rc)
		rc = take_count(doc, "context", &p->context, err);
	if (!rc && json_string(json_get(doc, "note"), &note))
		p->note = arena_text(&p->arena, text_sub(note, 0, NAME_MAX_BYTES));
	for (struct json_iter it = json_iter(list); !rc && json_next(&it, &key, &v); p->n++) {
		rc = take_probe(p, v, p->n, err);
		if (!rc && p->list[p->n].kind == PROBE_OVER_LIMIT && !p->limit)
			rc = err_set(err, ERR_INPUT, "the plan has over-limit probes, and says no limit");
	}
	return rc ? rc : refuse_twins(p, err);
}

int live_plan_parse(struct live_plan *p, struct text content, struct err *err)
{
	unsigned char digest[SHA256_BYTES];
	struct json_value doc;
	*p = (struct live_plan){0};
	arena_init(&p->arena, 64 * MIB);
	struct json *j = json_new();
	int rc = j ? sha256_once(content.ptr ? content.ptr : "", content.len, digest, err) : err_nomem(err);
	if (!rc) {
		sha256_hex(digest, p->sha256);
		rc = json_document(j, content, "plan", &doc, err);
	}
	if (!rc)
		rc = take_plan(p, doc, err);
	json_free(j);
	return rc;
}

int live_plan_read(struct live_plan *p, const char *path, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(DOCUMENT_MAX_BYTES);
	int rc = buf_add_file(&b, path, "plan", err);
	if (!rc)
		rc = live_plan_parse(p, buf_text(&b), err);
	if (rc)
		err_where(err, "%s", path);
	return rc;
}

void live_plan_done(struct live_plan *p)
{
	arena_done(&p->arena);
	*p = (struct live_plan){0};
}
