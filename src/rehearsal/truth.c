/* SPDX-License-Identifier: Apache-2.0 */
/* truth.c - what really happened in the model, as truth.json
 *
 * Page reads are noted while the model runs and summed up per (worker, reader, owner, kind) when the reader's request
 * ends: distinct pages, as the tool counts them. Classes follow from the facts of the model, from which workers keep a
 * page log, and from whether a confirmed response disproved the hypothesis. No line of the file is a JSON object by itself: nobody shall take it for a log.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

static const char *const kind_name[] = {"stale", "late_write", "uninitialised", "shared"};

void truth_read(struct model *m, uint32_t request, int w, uint32_t page, enum kind kind, uint32_t owner)
{
	struct request *r = &m->requests[request];

	if (!model_grow(m, &r->reads, r->n_reads, &r->reads_cap, sizeof(*r->reads)))
		return;
	r->reads[r->n_reads++] = (struct foreign){owner, page, (uint8_t)w, (uint8_t)kind};
	if (kind == KIND_STALE || kind == KIND_LATE_WRITE)
		r->foreign = true;
}

static int foreign_cmp(const void *pa, const void *pb)
{
	const struct foreign *a = pa, *b = pb;

	if (a->worker != b->worker)
		return a->worker < b->worker ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return a->page < b->page ? -1 : a->page > b->page;
}

void truth_request_ended(struct model *m, uint32_t request)
{
	struct request *r = &m->requests[request];

	if (r->n_reads)
		qsort(r->reads, r->n_reads, sizeof(*r->reads), foreign_cmp);
	r->exposure = m->n_exposures;
	for (size_t i = 0; i < r->n_reads && !m->rc; i++) {
		const struct foreign *f = &r->reads[i], *b = i ? &r->reads[i - 1] : NULL;
		bool same = b && b->worker == f->worker && b->kind == f->kind && b->owner == f->owner;

		if (same && b->page == f->page)
			continue;
		if (!same) {
			if (!model_grow(m, &m->exposures, m->n_exposures, &m->exposures_cap, sizeof(*m->exposures)))
				return;
			m->exposures[m->n_exposures++] =
			    (struct exposure){f->worker, request, f->owner, 0, (enum kind)f->kind};
			r->n_exposures++;
		}
		m->exposures[m->n_exposures - 1].pages++;
	}
	free(r->reads);
	r->reads = NULL;
	r->n_reads = r->reads_cap = 0;
}

static const char *yes_no(bool v)
{
	return v ? "yes" : "no";
}

static bool has_page_log(const struct model *m, const struct request *r)
{
	return r->n_attempts && m->worker[m->attempts[r->attempt].decode].page_log;
}

/* What page logs can say of the answer: "no" needs those of both legs, unless the decode leg got a placeholder alone. */
static const char *lineage(const struct model *m, const struct request *r)
{
	const struct attempt *a = r->n_attempts ? &m->attempts[r->attempt] : NULL;

	if (!has_page_log(m, r))
		return "unknown";
	if (r->foreign)
		return "yes";
	return a->prefill < 0 || a->rejected || m->worker[a->prefill].page_log ? "no" : "unknown";
}

static bool affected(const struct model *m, const struct request *r)
{
	return r->n_attempts && m->attempts[r->attempt].affected;
}

/* docs/method.md: the first rule that fits. Everything but lineage is known in a rehearsal. */
static int class_of(const struct model *m, const struct request *r)
{
	const char *l = lineage(m, r);

	if (r->marked)
		return 1;
	if (!r->delivered)
		return 4;
	if (!strcmp(l, "yes"))
		return 1;
	if (!strcmp(l, "no") || (!r->trigger && !m->trigger_fell) || (!affected(m, r) && !m->build_fell))
		return 4;
	return r->trigger && affected(m, r) ? 2 : 3;
}

static void check_hypothesis(struct model *m)
{
	for (uint32_t i = 0; i < m->n_requests; i++) {
		const struct request *r = &m->requests[i];

		if (!r->marked && (!r->delivered || strcmp(lineage(m, r), "yes") != 0))
			continue;
		m->trigger_fell |= !r->trigger;
		m->build_fell |= !affected(m, r);
	}
}

static const char *band(const struct model *m, const struct request *r)
{
	const struct attempt *a = r->n_attempts ? &m->attempts[r->attempt] : NULL;

	if (!a || !a->pool_tokens)
		return "unknown";
	return a->len > a->pool_tokens ? "over_pool" : a->len >= a->limit && r->trigger ? "boundary" : "under";
}

static void put_owner(struct out *o, const struct exposure *e)
{
	const struct model *m = o->m;
	char name[16];

	if (e->owner == NONE)
		out_put(o, "null,\"owner_tenant\":null");
	else
		out_put(o, "\"%s\",\"owner_tenant\":\"%s\"", m->requests[e->owner].id,
			tenant_name(m->requests[e->owner].tenant, name));
}

static void put_response(struct out *o, const struct request *r)
{
	const struct model *m = o->m;
	const struct attempt *a = r->n_attempts ? &m->attempts[r->attempt] : NULL;
	char name[16], at[32];

	us_iso_ms(r->start_us, at);
	out_put(o, "{\n\"request\":\"%s\",\"room\":", r->id);
	if (a && a->room)
		out_put(o, "\"%llu\"", (unsigned long long)a->room);
	else
		out_put(o, "null");
	out_put(o, ",\"rid\":%s%s%s", a ? "\"" : "", a ? a->rid : "null", a ? "\"" : "");
	out_put(
	    o,
	    ",\"tenant\":\"%s\",\"model\":\"%s\",\"prompt_tokens\":%lld,\"band\":\"%s\",\"status\":%d,\"streamed\":\"%"
	    "s\"",
	    tenant_name(r->tenant, name), model_served(r->model), (long long)r->len, band(m, r), r->status,
	    yes_no(r->stream));
	out_put(
	    o,
	    ",\"delivered\":\"%s\",\"trigger\":\"%s\",\"foreign_read\":\"%s\",\"lineage\":\"%s\",\"affected\":\"%s\","
	    "\"class_expected\":\"C%d\",\"marked\":\"%s\",\"page_log\":%s",
	    yes_no(r->delivered), yes_no(r->trigger), yes_no(r->foreign), lineage(m, r), yes_no(affected(m, r)),
	    class_of(m, r), yes_no(r->marked), has_page_log(m, r) ? "true" : "false");
	out_put(o, ",\"attempts\":%u,\"prefill_worker\":", r->n_attempts);
	if (a && a->prefill >= 0)
		out_put(o, "\"%s\"", m->worker[a->prefill].name);
	else
		out_put(o, "null");
	out_put(o, ",\"decode_worker\":%s%s%s", a ? "\"" : "", a ? m->worker[a->decode].name : "null", a ? "\"" : "");
	out_put(o, ",\"started_at\":\"%s\",\"owners\":[", at);
	for (size_t i = 0; i < r->n_exposures; i++) {
		const struct exposure *e = &m->exposures[r->exposure + i];

		out_put(o, "%s{\"worker\":\"%s\",\"request\":", i ? "," : "", m->worker[e->worker].name);
		put_owner(o, e);
		out_put(o, ",\"kind\":\"%s\",\"pages\":%u}", kind_name[e->kind], e->pages);
	}
	out_put(o, "]}");
}

static bool interesting(const struct model *m, const struct request *r)
{
	return r->trigger || r->foreign || r->rejected || r->source >= 0 || r->len > 600000 || class_of(m, r) != 4;
}

static void put_boots(struct out *o)
{
	const struct model *m = o->m;

	for (size_t i = 0; i < m->n_boots; i++) {
		const struct boot *b = &m->boots[i];
		const struct worker *k = &m->worker[b->worker];
		char at[32], end[32];

		us_iso_ms(b->started_us, at);
		us_iso_ms(b->ended_us, end);
		out_put(o,
			"%s{\n\"worker\":\"%s\",\"host\":\"%s\",\"port\":%d,\"role\":\"%s\",\"model\":\"%s\",\"started_"
			"at\":\"%s\"",
			i ? "," : "", k->name, k->host, k->port,
			(const char *[]){"prefill", "decode", "unified"}[k->role], model_served(k->model), at);
		out_put(o, ",\"ended_at\":%s%s%s", b->ended_us ? "\"" : "", b->ended_us ? end : "null",
			b->ended_us ? "\"" : "");
		out_put(
		    o,
		    ",\"version\":\"%s\",\"context_len\":%lld,\"pool_tokens\":%lld,\"page_size\":%d,\"input_limit\":%"
		    "lld,"
		    "\"context_exceeds_pool\":\"%s\",\"page_log\":%s}",
		    b->version, (long long)b->context_len, (long long)b->pool_tokens, PAGE_TOKENS,
		    (long long)b->input_limit, yes_no(b->context_len > b->pool_tokens), k->page_log ? "true" : "false");
	}
}

static void put_exposures(struct out *o)
{
	const struct model *m = o->m;
	bool first = true;

	for (size_t i = 0; i < m->n_exposures; i++) {
		const struct exposure *e = &m->exposures[i];
		char name[16];

		if (!m->worker[e->worker].page_log)
			continue;
		out_put(o, "%s{\n\"worker\":\"%s\",\"reader\":\"%s\",\"reader_tenant\":\"%s\",\"owner\":",
			first ? "" : ",", m->worker[e->worker].name, m->requests[e->reader].id,
			tenant_name(m->requests[e->reader].tenant, name));
		first = false;
		put_owner(o, e);
		out_put(o, ",\"kind\":\"%s\",\"pages\":%u,\"delivered\":\"%s\"}", kind_name[e->kind], e->pages,
			yes_no(m->requests[e->reader].delivered));
	}
}

static void put_holes(struct out *o)
{
	for (size_t i = 0; i < o->m->n_holes; i++) {
		const struct hole *h = &o->m->holes[i];
		char from[32], to[32];

		us_iso_ms(h->from_us, from);
		us_iso_ms(h->to_us, to);
		out_put(
		    o,
		    "%s{\n\"kind\":\"%s\",\"file\":\"%s\",\"worker\":\"%s\",\"from\":\"%s\",\"to\":\"%s\",\"lines\":%"
		    "zu}",
		    i ? "," : "", h->kind, h->file, o->m->worker[h->worker].name, from, to, h->lines);
	}
}

static void put_clocks(struct out *o)
{
	for (int w = 0; w <= o->m->n_workers; w++) {
		bool router = w == o->m->n_workers;
		const struct host_clock *c = router ? &o->m->router_clock : &o->m->worker[w].clock;
		int64_t step = c->ntp_us ? c->ntp_at_us : c->dst_at_us;
		char at[32];

		us_iso_ms(step, at);
		out_put(o, "%s{\n\"worker\":\"%s\",\"zone_s\":%lld,\"skew_s\":%lld,\"step_at\":%s%s%s,\"step_s\":%lld}",
			w ? "," : "", router ? "router" : o->m->worker[w].name, (long long)c->zone_s,
			(long long)(clock_epoch(c, o->m->begin_us) - o->m->begin_us) / US_PER_S, step ? "\"" : "",
			step ? at : "null", step ? "\"" : "",
			(long long)(c->ntp_us ? -c->ntp_us / US_PER_S : c->dst_s));
	}
}

static void put_sightings(struct out *o)
{
	const struct model *m = o->m;

	for (size_t i = 0; i < m->n_sightings; i++) {
		const struct sighting *s = &m->sightings[i];
		out_put(o, "%s{\n\"planted_request\":\"%s\",\"seen_request\":\"%s\",\"verdict\":\"%s\"}", i ? "," : "",
			m->requests[s->owner].id, m->requests[s->seen_in].id,
			s->owner == s->seen_in ? "own" : "foreign");
	}
}

void truth_write(struct model *m, const char *path)
{
	struct out o = {m, BUF_INIT(1024 * MIB)};
	unsigned classes[6] = {0}, over = 0, boundary = 0;
	char from[32], until[32];
	bool first = true;

	check_hypothesis(m);
	for (uint32_t i = 0; i < m->n_requests; i++) {
		const struct request *r = &m->requests[i];
		int c = class_of(m, r);

		classes[c]++;
		if (c == 4 || !r->trigger)
			continue;
		over += !strcmp(band(m, r), "over_pool");
		boundary += !strcmp(band(m, r), "boundary");
	}
	us_iso_ms(m->begin_us, from);
	us_iso_ms(m->end_us, until);
	out_put(&o, "{\"scenario\":\"%s\",\"seed\":%llu,\"window\":[\"%s\",\"%s\"],\"population\":%u,\n",
		m->options->scenario, (unsigned long long)m->options->seed, from, until, m->n_requests);
	out_put(&o, "\"hypothesis\":{\"trigger_stands\":\"%s\",\"build_stands\":\"%s\"},\n", yes_no(!m->trigger_fell),
		yes_no(!m->build_fell));
	out_put(&o,
		"\"counts\":{\"C1\":%u,\"C2\":%u,\"C3\":%u,\"C4\":%u,\"C5\":%u,\"over_pool\":%u,\"boundary\":%u},\n",
		classes[1], classes[2], classes[3], classes[4], classes[5], over, boundary);
	out_put(&o, "\"responses\":[");
	for (uint32_t i = 0; i < m->n_requests; i++) {
		if (!interesting(m, &m->requests[i]))
			continue;
		out_put(&o, "%s", first ? "" : ",");
		put_response(&o, &m->requests[i]);
		first = false;
	}
	out_put(&o, "],\n\"boots\":[");
	put_boots(&o);
	out_put(&o, "],\n\"exposures\":[");
	put_exposures(&o);
	if (m->canary) {
		out_put(&o, "],\n\"sightings\":[");
		put_sightings(&o);
	}
	if (m->messy) {
		out_put(&o, "],\n\"holes\":[");
		put_holes(&o);
		out_put(&o, "],\n\"clocks\":[");
		put_clocks(&o);
	}
	out_put(&o, "]}\n");
	lines_file(m, path, buf_text(&o.b));
	buf_done(&o.b);
}
