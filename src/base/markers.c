/* SPDX-License-Identifier: Apache-2.0 */
/* markers.c - reads and checks a file of planted markers */
#include "pagetrail/markers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/err.h"
#include "pagetrail/limits.h"
#include "pagetrail/stamp.h"

static int wrong(struct err *err, size_t at, const char *key, const char *expected)
{
	return err_set(err, ERR_INPUT, "the markers are wrong at markers[%zu]%s%s: %s is expected", at, *key ? "." : "",
		       key, expected);
}

struct warning {
	const char *place;
	void (*warn)(void *ctx, struct text what);
	void *ctx;
};

static int warn_of(void *ctx, struct text key, const char *again)
{
	const struct warning *w = ctx;
	char said[512];
	if (again)
		return 0;
	int n = snprintf(said, sizeof(said), "the key '%.*s' of %s is not known, and not read",
			 (int)MIN(key.len, (size_t)200), key.ptr, w->place);
	w->warn(w->ctx, (struct text){said, MIN((size_t)n, sizeof(said) - 1)});
	return 0;
}

static void warn_unknown(struct json_value v, const char *place, const char *const *known, size_t n_known,
			 void (*warn)(void *ctx, struct text what), void *ctx)
{
	if (warn)
		json_keys(v, known, n_known, warn_of, &(struct warning){place, warn, ctx});
}

/* A text that may be left out, or null. */
static int take_text(struct json_value v, const char *key, size_t at, struct arena *a, struct text *ret,
		     struct err *err)
{
	struct json_value value = json_get(v, key);
	struct text t;
	if (!json_given(value))
		return 0;
	if (!json_string(value, &t) || !t.len || t.len > NAME_MAX_BYTES)
		return wrong(err, at, key, "a text of 1 to 256 bytes");
	*ret = arena_text(a, t);
	return ret->ptr ? 0 : err_nomem(err);
}

static int take_marker(struct json_value v, size_t at, struct arena *a, struct marker *ret, struct err *err)
{
	struct text t;
	*ret = (struct marker){.planted_ns = TIME_UNKNOWN};
	if (!json_is_object(v))
		return wrong(err, at, "", "an object with \"marker\"");
	if (!json_string(json_get(v, "marker"), &t) || t.len < MARKER_MIN_BYTES || t.len > MARKER_MAX_BYTES)
		return wrong(err, at, "marker", "a text of 6 to 256 bytes");
	if (text_is_blank(t)) /* it stands in every answer */
		return wrong(err, at, "marker", "a text that is more than blanks");
	ret->text = arena_text(a, t);
	if (!ret->text.ptr)
		return err_nomem(err);
	int rc = take_text(v, "planted_request", at, a, &ret->planted_request, err);
	if (rc == 0)
		rc = take_text(v, "planted_tenant", at, a, &ret->planted_tenant, err);
	struct json_value time = json_get(v, "planted_at");
	struct stamp stamp;
	size_t used;
	if (rc < 0 || !json_given(time))
		return rc;
	if (!json_string(time, &t) || !stamp_parse_iso(t, &stamp, &used) || used != t.len ||
	    stamp.quality != STAMP_ZONED)
		return wrong(err, at, "planted_at", "a time such as 2026-09-09T14:00:00Z");
	ret->planted_ns = stamp.ns;
	return 0;
}

static int marker_cmp(const void *a, const void *b)
{
	const struct marker *const *x = a, *const *y = b;
	return text_cmp((*x)->text, (*y)->text);
}

/* The same text twice says nothing: where it is seen, it could be of either. */
static int refuse_twins(const struct markers *m, struct arena *a, struct err *err)
{
	const struct marker **order = arena_array(a, m->n ? m->n : 1, sizeof(struct marker *));
	if (!order)
		return err_nomem(err);
	for (size_t i = 0; i < m->n; i++)
		order[i] = &m->list[i];
	qsort(order, m->n, sizeof(const struct marker *), marker_cmp);
	for (size_t i = 1; i < m->n; i++)
		if (text_eq(order[i - 1]->text, order[i]->text))
			return wrong(err, (size_t)(MAX(order[i], order[i - 1]) - m->list), "marker",
				     "a text that no other marker has");
	return 0;
}

int markers_read(struct markers *ret, struct json_value doc, struct arena *a, void (*warn)(void *ctx, struct text what),
		 void *ctx, struct err *err)
{
	static const char *const top[] = {"markers", "note", "limit", "context", "probes"};
	static const char *const each[] = {"marker", "planted_request", "planted_tenant", "planted_at", "note"};
	struct json_value list = json_get(doc, "markers"), v;
	struct text key;
	*ret = (struct markers){0};
	if (json_type(list) != JSON_ARRAY)
		return err_set(err, ERR_INPUT,
			       "the markers are wrong at the top: an object with a list \"markers\" is expected");
	/* of two members of one name, which is meant, nobody can know */
	struct json_place twice;
	int rc = json_twice(doc, &key, &twice, err);
	if (rc)
		return rc < 0 ? rc
			      : err_set(err, ERR_INPUT,
					"the markers are wrong at %s: one member of that name is expected", twice.path);
	warn_unknown(doc, "the top", top, ARRAY_SIZE(top), warn, ctx);
	size_t n = 0;
	for (struct json_iter it = json_iter(list); json_next(&it, &key, &v);)
		n++;
	if (!n || n > MARKERS_MAX)
		return err_set(err, ERR_INPUT, "the file has %zu markers: 1 to %d are expected", n, MARKERS_MAX);
	ret->list = arena_array(a, n, sizeof(*ret->list));
	if (!ret->list)
		return err_nomem(err);
	for (struct json_iter it = json_iter(list); json_next(&it, &key, &v);) {
		char place[64];
		snprintf(place, sizeof(place), "markers[%zu]", ret->n);
		rc = take_marker(v, ret->n, a, &ret->list[ret->n], err);
		if (rc < 0)
			return rc;
		warn_unknown(v, place, each, ARRAY_SIZE(each), warn, ctx);
		ret->n++;
	}
	return refuse_twins(ret, a, err);
}
