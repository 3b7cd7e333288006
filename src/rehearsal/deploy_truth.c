/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_truth.c - truth.json of the scenario "deploy": what each replica ran, what was written of it, what it deserves
 *
 * Nothing is derived here. No line of the file is a JSON object by itself: nobody shall take it for a log.
 */
#include "deploy.h"

#include <string.h>

static void put_time(struct out *o, const char *key, int64_t us)
{
	char at[32];

	us_iso_ms(us, at);
	out_put(o, us ? ",\"%s\":\"%s\"" : ",\"%s\":null", key, at);
}

static void put_text(struct out *o, const char *key, const char *value)
{
	out_put(o, value && *value ? ",\"%s\":\"%s\"" : ",\"%s\":null", key, value);
}

static void put_lives(struct out *o, const struct replica *r)
{
	bool first = true;

	out_put(o, ",\"lives\":[");
	for (int i = 0; i < LIVES; i++) {
		const struct life *l = &r->life[i];

		if (!l->build)
			continue;
		out_put(o, "%s{\n\"life\":%d", first ? "" : ",", i);
		put_time(o, "launched_at", l->launch_us);
		put_time(o, "ready_at", l->ready_us);
		put_time(o, "stopped_at", l->stop_us);
		put_text(o, "version", l->version);
		put_text(o, "fix", l->build->fix);
		out_put(o, ",\"pool_tokens\":%lld,\"context_len\":%d,\"input_limit\":%lld}", (long long)l->pool_tokens,
			CONTEXT, (long long)l->limit);
		first = false;
	}
	out_put(o, "]");
}

static void put_evidence(struct out *o, const struct fleet *f, int n)
{
	static const char *const forms[] = {"none", "said", "line", "info", "undated", "packages", "pod", "container"};
	bool first = true;

	out_put(o, ",\"evidence\":[");
	for (int i = 0; i < f->n_evidence; i++) {
		const struct evidence *e = &f->evidence[i];

		if (e->replica != n)
			continue;
		out_put(o, "%s{\n\"form\":\"%s\",\"life\":%d", first ? "" : ",", forms[e->form], e->life);
		put_time(o, "at", e->at_us);
		put_text(o, "version", e->version);
		put_text(o, "commit", e->commit);
		put_text(o, "fix", e->fix);
		put_text(o, "reasons", e->reasons);
		put_text(o, "file", e->file);
		put_time(o, "container_started_at", e->waits ? 0 : e->started_us);
		out_put(o, ",\"waits\":%s,\"proxy\":%s}", e->waits ? "true" : "false",
			e->form == FORM_POD && f->replica[n].proxy ? "true" : "false");
		first = false;
	}
	out_put(o, "]");
}

static void put_replica(struct out *o, const struct fleet *f, int n)
{
	const struct replica *r = &f->replica[n];
	const struct worker *k = &f->m->worker[r->w];

	out_put(o, "%s{\n\"replica\":\"%s\",\"story\":\"%s\",\"role\":\"%s\",\"model\":\"%s\",\"listed\":%s,\"log\":%s",
		n ? "," : "", k->name, r->story->name, (const char *[]){"prefill", "decode", "unified"}[k->role],
		model_served(k->model), r->listed ? "true" : "false", r->log ? "true" : "false");
	put_time(o, "started_at", r->started_us);
	put_time(o, "retired_at", r->retired_us);
	out_put(o, ",\"retired\":%s", r->retired ? "true" : "false");
	put_text(o, "image_digest", r->story->flags & STORY_ORDERED ? f->image[1] : NULL);
	out_put(o, ",\"asked\":[");
	for (int i = 0; i < ASKED; i++) {
		out_put(o, "%s{\n\"verdict\":\"%s\"", i ? "," : "", r->story->asked[i].verdict);
		put_text(o, "rung", r->story->asked[i].rung);
		put_text(o, "reason", r->story->asked[i].reason);
		out_put(o, "}");
	}
	out_put(o, "]");
	put_lives(o, r);
	put_evidence(o, f, n);
	out_put(o, ",\"signs\":[");
	for (int i = 0; i < f->n_signs[n]; i++)
		out_put(o, "%s%lld", i ? "," : "", (long long)(f->signs_us[n][i] / US_PER_S));
	out_put(o, "]}");
}

static void put_requests(struct out *o, const struct fleet *f)
{
	for (size_t i = 0; i < f->n_handed; i++) {
		const struct handed *h = &f->handed[i];
		const struct request *r = &f->m->requests[h->request];
		const char *prefill = h->prefill >= 0 ? f->m->worker[f->replica[h->prefill].w].name : NULL;

		out_put(o, "%s{\n\"request\":\"%s\"", i ? "," : "", r->id);
		put_text(o, "prefill", prefill);
		put_text(o, "decode", f->m->worker[f->replica[h->decode].w].name);
		put_time(o, "started_at", r->start_us);
		put_time(o, "ended_at", h->end_us);
		out_put(o, ",\"over\":%s,\"refused\":%s}", h->over ? "true" : "false", h->refused ? "true" : "false");
	}
}

void deploy_truth(struct fleet *f)
{
	struct model *m = f->m;
	struct out o = {m, BUF_INIT(64 * MIB)};
	char listed[32];

	out_put(&o, "{\"scenario\":\"deploy\",\"seed\":%llu", (unsigned long long)m->options->seed);
	out_put(&o, ",\"max_age_s\":%d,\"ordered\":%s,\"digests\":[\"%s\",\"%s\"],\"config\":\"%s\",\n",
		MAX_AGE_H * 3600, f->ordered ? "true" : "false", f->image[0], f->image[1], f->config);
	out_put(&o, "\"gateway\":{\"refused\":%u,\"shortest\":%lld},\n\"asked_at\":[", f->refused_by_gateway,
		(long long)f->shortest_refused);
	for (int i = 0; i < ASKED; i++) {
		static const int when[ASKED] = {ASKED_1_H, ASKED_2_H, ASKED_3_H, LAST_H};
		char at[32];

		us_iso_ms(hours(f, when[i]), at);
		out_put(&o, "%s\"%s\"", i ? "," : "", at);
	}
	us_iso_ms(hours(f, LISTED_H), listed);
	out_put(&o, "],\"pods_listed_at\":\"%s\",\n\"replicas\":[", listed);
	for (int n = 0; n < f->n; n++)
		put_replica(&o, f, n);
	out_put(&o, "],\n\"requests\":[");
	put_requests(&o, f);
	out_put(&o, "]}\n");
	lines_file(m, "truth.json", buf_text(&o.b));
	buf_done(&o.b);
}
