/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_mixed.c - one log that holds those of several servers, one behind the other
 *
 * `kubectl logs -l app=decode > decode.log` makes such a file. Times fall back where the next server's log begins, and what is
 * before and behind that lies at the same time. Rotated files that were put together in the wrong order fall back too, but do
 * not overlap. Whose start, version and limit a request met is then not known.
 */
#include "resolve.h"

#include <string.h>

#define BACK_NS \
	(2 * 3600 * NS_PER_S) /* more than a clock is set back, and than records of one server are out of order */

static bool overlap(const struct worker *w)
{
	const struct time_stretch *last = &w->order.at[w->order.n - 1];
	for (uint32_t i = 0; i + 1 < w->order.n; i++) {
		const struct time_stretch *x = &w->order.at[i];
		int64_t both = MIN(x->to, last->to) - MAX(x->from, last->from);
		if (both > BACK_NS && both > MIN(x->to - x->from, last->to - last->from) / 2)
			return true;
	}
	return false;
}

void mixed_end(struct worker *w)
{
	if (w->order.n > 1 && overlap(w))
		w->mixed = true;
	w->order.n = 0;
}

void mixed_see(struct resolve *r, uint32_t worker, uint32_t source, int64_t at, struct ref_node ref)
{
	struct worker *w = worker_at(r, worker);
	struct time_order *o = &w->order;
	if (at == UNKNOWN || w->mixed)
		return;
	if (o->n && o->source != source)
		mixed_end(w);
	if (o->n && at < o->at[o->n - 1].to - BACK_NS) {
		if (overlap(w) || o->n == STRETCHES_MAX)
			w->mixed = true;
		else
			o->at[o->n++] = (struct time_stretch){at, at};
		w->mixed_ref = ref;
		return;
	}
	if (!o->n) {
		o->source = source;
		o->at[o->n++] = (struct time_stretch){at, at};
	}
	o->at[o->n - 1].from = MIN(o->at[o->n - 1].from, at);
	o->at[o->n - 1].to = MAX(o->at[o->n - 1].to, at);
}

bool is_mixed(const struct resolve *r, uint32_t worker)
{
	const struct worker *w = worker_at(r, worker);
	return w->mixed || (w->ranked && worker_at(r, w->base)->mixed);
}

static struct text path_of(const struct resolve *r, struct ref_node ref)
{
	return text_sub(r->sources[ref.source].path, 0, 200);
}

static struct text mixed_text(struct resolve *r, const struct worker *w)
{
	struct text name = text_sub(names_text(&r->names, w->name), 0, 200);
	if (w->twins)
		return arena_printf(
		    &r->arena,
		    "%.*s: %.*s shows a start here, and %.*s goes on beside it with requests of its own: logs of two "
		    "servers under one name. Whose version, limit and pages a request met is not known, and nobody is "
		    "cleared by this worker: make a case for each fleet, or give each log a name of its own "
		    "(--sources)",
		    TEXT_ARG(name), TEXT_ARG(path_of(r, w->mixed_ref)), TEXT_ARG(path_of(r, w->twin_ref)));
	return arena_printf(&r->arena,
			    "%.*s: times fall back here, and what stands before and behind is of the same time: logs "
			    "of several servers under one name, or one log twice. Whose version and limit a request "
			    "met is not known: ingest the log of each server under its own name",
			    TEXT_ARG(name));
}

/* Page records name their worker themselves, so that another name for the file does not help. */
static int gap_page_twins(struct resolve *r, uint32_t worker, struct err *err)
{
	const struct worker *w = worker_at(r, worker);
	struct gap g = {.kind = "sequence", .source = w->page_twin[1].source, .worker = worker, .missing = UNKNOWN};
	page_span(r, w, &g.from, &g.to);
	g.effect =
	    arena_printf(&r->arena,
			 "%.*s: %.*s and %.*s count from one number at two times, and go on side by side: page "
			 "logs of two servers under one name. Whose content a page held is not known, and nobody "
			 "is cleared or found by them: make a case for each fleet",
			 TEXT_ARG(text_sub(names_text(&r->names, w->name), 0, 200)),
			 TEXT_ARG(path_of(r, w->page_twin[0])), TEXT_ARG(path_of(r, w->page_twin[1])));
	int res = refs_add(r, &g.refs, w->page_twin[0], err);
	if (!res)
		res = refs_add(r, &g.refs, w->page_twin[1], err);
	return res ? res : gap_add(r, &g, err);
}

int gap_mixed(struct resolve *r, struct err *err)
{
	int res = 0;
	for (uint32_t i = 0; i < r->workers.n && !res; i++) {
		const struct worker *w = worker_at(r, i);
		if (w->page_twins)
			res = gap_page_twins(r, i, err);
		if (res || !w->mixed || (w->has_ranks && !w->id)) /* said for each of its ranks */
			continue;
		struct gap g = {.kind = "boot",
				.source = w->mixed_ref.source,
				.worker = i,
				.from = w->first_ns,
				.to = w->last_ns,
				.missing = UNKNOWN};
		g.effect = mixed_text(r, w);
		res = refs_add(r, &g.refs, w->mixed_ref, err);
		if (!res && w->twins)
			res = refs_add(r, &g.refs, w->twin_ref, err);
		if (!res)
			res = gap_add(r, &g, err);
	}
	return res;
}
