/* SPDX-License-Identifier: Apache-2.0 */
/* gap_names.c - page logs whose worker has no other log, beside a worker of nearly the same name that has no page log
 *
 * docker compose calls decode-0's container decode-0-1, a journal gpu-01:decode-0. Names alone do not make two workers one: a
 * page log of another replica would then clear people. So it is said, with what joins them.
 */
#include "resolve.h"

#include <string.h>

static bool word(char c)
{
	return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

/* Does `part` stand in t, with no letter or digit on either side? */
static bool named_in(struct text t, struct text part)
{
	for (size_t at = 0; part.len && at + part.len <= t.len; at++) {
		size_t end = at + part.len;
		if (text_eq(text_sub(t, at, part.len), part) && (at == 0 || !word(t.ptr[at - 1])) &&
		    (end == t.len || !word(t.ptr[end])))
			return true;
	}
	return false;
}

static struct text name_of(const struct resolve *r, uint32_t worker)
{
	return names_text(&r->names, worker_at(r, worker)->name);
}

struct logs {
	bool pages, engine;
};

/* Of a server and its ranks. */
static struct logs *logs_of_servers(struct resolve *r)
{
	struct logs *logs = arena_array(&r->arena, (size_t)r->workers.n + 1, sizeof(*logs));
	if (logs)
		memset(logs, 0, ((size_t)r->workers.n + 1) * sizeof(*logs));
	for (uint32_t i = 0; logs && i < r->workers.n; i++) {
		const struct worker *w = worker_at(r, i);
		struct logs *of = &logs[w->ranked ? w->base : i];
		of->pages |= w->page_log;
		of->engine |= w->engine_log;
	}
	return logs;
}

static int tell(struct resolve *r, uint32_t pages, uint32_t engine, uint32_t n, struct err *err)
{
	const struct worker *w = worker_at(r, pages);
	struct text name = text_sub(name_of(r, pages), 0, 100), other = text_sub(name_of(r, engine), 0, 100);
	struct gap g = {.kind = "unattached",
			.source = w->has_early ? w->early_ref.source : NO_INDEX,
			.worker = pages,
			.from = w->first_ns,
			.to = w->last_ns,
			.missing = UNKNOWN};
	g.effect = arena_printf(
	    &r->arena,
	    n == 1 ? "the page log of %.*s and the engine's log of %.*s may be of one worker: no request of "
		     "the second has pages until both have one name (ingest with --worker %.*s, or a line of "
		     "--sources)"
		   : "the page log of %.*s may be of the worker that another log calls %.*s, or of another "
		     "one with such a name: no request has its pages until both have one name (ingest with "
		     "--worker %.*s, or a line of --sources)",
	    TEXT_ARG(name), TEXT_ARG(other), TEXT_ARG(name));
	int res = w->has_early ? refs_add(r, &g.refs, w->early_ref, err) : 0;
	return res ? res : gap_add(r, &g, err);
}

int gap_names(struct resolve *r, struct err *err)
{
	const struct logs *logs = logs_of_servers(r);
	int res = logs ? 0 : err_nomem(err);
	for (uint32_t i = 0; i < r->workers.n && !res; i++) {
		uint32_t n = 0, first = 0;
		if (!logs[i].pages || logs[i].engine)
			continue;
		for (uint32_t k = 0; k < r->workers.n; k++) {
			if (!logs[k].engine || logs[k].pages ||
			    !(named_in(name_of(r, k), name_of(r, i)) || named_in(name_of(r, i), name_of(r, k))))
				continue;
			if (!n++ || text_cmp(name_of(r, k), name_of(r, first)) < 0)
				first = k;
		}
		if (n)
			res = tell(r, i, first, n, err);
	}
	return res;
}
