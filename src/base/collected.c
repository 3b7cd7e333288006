/* SPDX-License-Identifier: Apache-2.0 */
/* collected.c - what a collector says around or in front of a document */
#include "pagetrail/collected.h"

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
