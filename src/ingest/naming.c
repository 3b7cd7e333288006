/* SPDX-License-Identifier: Apache-2.0 */
/* naming.c - worker, role, zone, format and time of a path
 *
 * In this order: the option, a line of the sources file, the container runtime's path, what the records say, the path.
 * The basis is kept with the choice.
 */
#include <stdio.h>
#include <string.h>

#include "pagetrail/collected.h"
#include "pagetrail/map.h"
#include "session.h"
#include "worker.h"

static int naming_zone(struct naming *n, struct session *s, struct source_result *r, struct err *err)
{
	r->tz = TEXT("UTC");
	r->tz_basis = TEXT("assumed");
	if (s->o->tz) {
		r->tz = text_of(s->o->tz);
		r->tz_basis = TEXT("option");
		n->zone = s->zone;
	} else if (n->line && n->line->tz.len) {
		r->tz = n->line->tz;
		r->tz_basis = TEXT("sources");
		int rc = zone_open(&n->own_zone, n->line->tz, err);
		n->zone = n->own_zone;
		return rc;
	}
	return 0;
}

int naming_begin(struct naming *n, struct session *s, const char *path, struct source_result *r, struct arena *a,
		 struct err *err)
{
	*n = (struct naming){.line = sources_match(&s->sources, path), .format = text_of(s->o->format)};
	if (!n->format.len && n->line)
		n->format = n->line->format;
	if (n->line)
		r->role = n->line->role;
	struct text pod = worker_of_pod(path);
	n->explicit_worker = true;
	n->said = s->o->worker || (n->line && n->line->worker.len);
	if (s->o->worker) {
		r->worker = text_of(s->o->worker);
		r->worker_basis = TEXT("option");
	} else if (n->line && n->line->worker.len) {
		r->worker = n->line->worker;
		r->worker_basis = TEXT("sources");
	} else if (pod.len) {
		r->worker = arena_text(a, pod);
		r->worker_basis = TEXT("wrapper");
	} else {
		n->explicit_worker = false;
		r->worker = worker_of_path(a, path);
		if (r->worker.len > NAME_MAX_BYTES)
			r->worker.len = NAME_MAX_BYTES;
		r->worker_basis = r->worker.len ? TEXT("path") : TEXT("");
		if (!r->worker.ptr)
			return err_nomem(err);
	}
	return naming_zone(n, s, r, err);
}

/* Does a map of this run have the name of the one that the source was read with? */
static bool has_map(const struct session *s, struct text format)
{
	size_t n = text_find_char(format, '@', 0);
	for (size_t i = 0; n != SIZE_MAX && i < s->o->n_parsers; i++)
		if (map_of(s->o->parsers[i]) && !strncmp(s->o->parsers[i]->name, format.ptr, n + 1))
			return true;
	return false;
}

int naming_inherit(struct naming *n, struct session *s, const struct source_result *was, struct source_result *r,
		   struct err *err)
{
	if (!n->said && naming_said(was->worker_basis)) {
		r->worker = was->worker;
		r->worker_basis = was->worker_basis;
		n->explicit_worker = n->said = true;
	}
	if (!r->role.len)
		r->role = was->role;
	bool asked = text_find(was->format_basis, "asked for", 0) != SIZE_MAX;
	bool mapped = text_find_char(was->format, '@', 0) != SIZE_MAX && !has_map(s, was->format);
	if (!n->format.len && was->format.len && (asked || mapped))
		n->format = was->format;
	if (!text_is(r->tz_basis, "assumed") || !naming_said(was->tz_basis))
		return 0;
	r->tz = was->tz;
	r->tz_basis = was->tz_basis;
	if (text_is(r->tz, "UTC"))
		return 0;
	int rc = zone_open(&n->own_zone, r->tz, err);
	n->zone = n->own_zone;
	return rc;
}

int naming_like(struct naming *n, const struct source_result *like, struct source_result *r, struct err *err)
{
	naming_done(n);
	*n = (struct naming){.format = like->format, .explicit_worker = true, .said = naming_said(like->worker_basis)};
	r->container = TEXT(CONTAINER_SEAM);
	r->worker = like->worker;
	r->worker_alias = like->worker_alias;
	r->worker_basis = like->worker_basis;
	r->role = like->role;
	r->tz = like->tz;
	r->tz_basis = like->tz_basis;
	if (text_is(r->tz, "UTC"))
		return 0;
	int rc = zone_open(&n->own_zone, r->tz, err);
	n->zone = n->own_zone;
	return rc;
}

void naming_done(struct naming *n)
{
	zone_close(n->own_zone);
	n->own_zone = NULL;
}

int naming_end(struct naming *n, struct source_result *r, struct text boot, struct text record, bool wrapped,
	       struct err *err)
{
	(void)err;
	struct text said = boot.len && !(wrapped && record.len) ? boot : record;
	if (!said.len || text_eq(said, r->worker))
		return 0;
	if (n->explicit_worker) {
		r->worker_alias = boot;
		return 0;
	}
	if (boot.len)
		r->worker_alias = wrapped && record.len ? boot : r->worker;
	r->worker = said;
	r->worker_basis = wrapped && record.len ? TEXT("wrapper") : TEXT("record");
	return 0;
}

static struct stamp time_of_file(int64_t mtime_s)
{
	if (mtime_s <= 0 || mtime_s > INT64_MAX / NS_PER_S)
		return STAMP_INIT;
	return (struct stamp){mtime_s * NS_PER_S, STAMP_INTERPOLATED, NS_PER_S};
}

struct stamp naming_time(const char *path, int64_t mtime_s)
{
	struct stamp ret = STAMP_INIT;
	return collected_name(path, 6, &ret) ? ret : time_of_file(mtime_s);
}

struct stamp naming_era(const char *path, int64_t mtime_s)
{
	struct stamp ret = STAMP_INIT;
	return collected_name(path, 3, &ret) ? ret : time_of_file(mtime_s);
}
