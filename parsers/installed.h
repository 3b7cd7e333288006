/* SPDX-License-Identifier: Apache-2.0 */
/* installed.h - what formats of deployment evidence share: times and names out of foreign JSON
 *
 * Never read, and never in an event: environment, arguments, annotations; they hold keys.
 */
#pragma once

#include <string.h>

#include "pagetrail/arena.h"
#include "pagetrail/collected.h"
#include "pagetrail/container.h"
#include "pagetrail/parser.h"

static inline struct text installed_text(struct json_value v)
{
	struct text t = {0};

	return json_string(v, &t) ? t : (struct text){0};
}

/* Does the key begin within the first bytes? For documents of which only the head is at hand. */
static inline bool installed_mentions(struct text document, size_t within, const char *key)
{
	return text_find(text_sub(document, 0, within), key, 0) != SIZE_MAX;
}

static inline bool installed_commit(struct text t)
{
	return t.len >= 7 && t.len <= 64 && text_hex(t);
}

/* A time with its zone; "0001-01-01T00:00:00Z" is how Go writes "never". */
static inline bool installed_stamp(struct json_value v, struct stamp *ret)
{
	struct text t = installed_text(v);
	struct stamp ts;
	size_t used;

	if (!stamp_parse_iso(t, &ts, &used) || used != t.len || ts.quality != STAMP_ZONED || ts.ns <= 0)
		return false;
	*ret = ts;
	return true;
}

static inline void installed_time(struct event *e, unsigned column, struct json_value v)
{
	struct stamp ts;

	if (installed_stamp(v, &ts))
		event_int(e, column, ts.ns);
}

/* A replica's name; one that begins with '/' would be a rank. */
static inline void installed_worker(struct event *e, struct text name)
{
	while (name.len && name.ptr[0] == '/')
		name = text_from(name, 1);
	if (name.len)
		event_worker(e, name);
}

/* "Kind/name", in the record's memory. */
static inline struct text installed_pair(struct arena *a, struct text kind, struct text name)
{
	kind = text_sub(kind, 0, 64);
	name = text_sub(name, 0, 4 * NAME_MAX_BYTES);
	char *to = kind.len && name.len ? arena_room(a, kind.len + 1 + name.len) : NULL;

	if (!to)
		return (struct text){0};
	memcpy(to, kind.ptr, kind.len);
	to[kind.len] = '/';
	memcpy(to + kind.len + 1, name.ptr, name.len);
	return (struct text){to, kind.len + 1 + name.len};
}
