/* SPDX-License-Identifier: Apache-2.0 */
/* collected.c - what a collector says around or in front of a document */
#include "pagetrail/collected.h"

#include <string.h>

#include "pagetrail/macros.h"

bool collected_time(struct json_value v, struct stamp *ret)
{
	struct stamp ts;
	char tmp[32];
	struct text t;
	size_t used;
	double d;

	if (json_double(v, &d) && json_type(v) == JSON_DOUBLE) {
		if (!(d >= 1e8 && d < 9.2e9))
			return false;
		*ret = (struct stamp){(int64_t)(d * 1e6 + 0.5) * 1000, STAMP_ZONED, 1000};
		return true;
	}
	if (!json_id(v, tmp, &t))
		return false;
	t = text_trim(t);
	if (!(stamp_parse_iso(t, &ts, &used) && used == t.len) &&
	    !(stamp_parse_epoch(t, &ts) && ts.quality != STAMP_MONOTONIC))
		return false;
	*ret = ts;
	return true;
}

void collected_fields(struct collected *c, struct json_value outer)
{
	static const char *const times[] = {"collected_at", "fetched_at", "timestamp"};
	static const char *const names[] = {"worker", "replica", "pod"};
	struct text t;

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		if (collected_time(json_get(outer, times[i]), &c->at))
			break;
	}
	for (size_t i = 0; i < ARRAY_SIZE(names) && !c->worker.len; i++) {
		if (json_string(json_get(outer, names[i]), &t))
			c->worker = t;
	}
}

struct text collected_header(struct text document, struct stamp *ts)
{
	struct text rest = text_trim(document), line, word;
	struct stamp t;
	bool found = false;
	size_t used;

	if (text_starts(rest, "\xef\xbb\xbf"))
		rest = text_from(rest, 3);
	while (rest.len && rest.ptr[0] == '#') {
		if (!text_split(&rest, '\n', &line))
			break;
		line = text_trim(text_from(line, 1));
		while (!found && text_split(&line, ' ', &word)) {
			found = stamp_parse_iso(word, &t, &used) && used == word.len;
			if (found)
				*ts = t;
		}
		rest = text_trim(rest);
	}
	return rest;
}

static bool digits(struct text t, size_t at, size_t n, int *ret)
{
	*ret = 0;
	if (t.len < at + n)
		return false;
	for (size_t i = at; i < at + n; i++) {
		if (t.ptr[i] < '0' || t.ptr[i] > '9')
			return false;
		*ret = *ret * 10 + (t.ptr[i] - '0');
	}
	return true;
}

static size_t separator(struct text t, size_t at, const char *set)
{
	return at < t.len && t.ptr[at] && strchr(set, t.ptr[at]) ? 1 : 0;
}

/* 20260914-031244, 2026-09-14T03-12-44Z and the like (parts 6); 20260914, 2026-09-14 (parts 3). */
static bool time_at(struct text t, size_t at, int parts, struct stamp *ret)
{
	int v[6] = {0};
	for (int i = 0; i < parts; i++) {
		if (i > 0)
			at += separator(t, at, i < 3 ? "-_." : i == 3 ? "T_- " : "-_:.");
		if (!digits(t, at, i ? 2 : 4, &v[i]))
			return false;
		at += i ? 2 : 4;
	}
	int rest;
	if (digits(t, at, 1, &rest) || !stamp_from_civil(v[0], v[1], v[2], v[3], v[4], v[5], 0, &ret->ns))
		return false;
	ret->quality = at < t.len && t.ptr[at] == 'Z' ? STAMP_ZONED : STAMP_NAIVE;
	ret->precision_ns = NS_PER_S;
	return v[0] >= 2000 && v[0] < 2200;
}

bool collected_name(const char *path, int parts, struct stamp *ret)
{
	struct text name = text_of(path);
	size_t slash = text_rfind_char(name, '/');
	struct stamp found = STAMP_INIT;
	if (slash != SIZE_MAX)
		name = text_from(name, slash + 1);
	for (size_t i = 0; i + 8 <= name.len; i++) {
		bool inside = i && name.ptr[i - 1] >= '0' && name.ptr[i - 1] <= '9';
		if (!inside && time_at(name, i, parts, &found)) {
			*ret = found;
			return true;
		}
	}
	return false;
}
