/* SPDX-License-Identifier: Apache-2.0 */
/* deploy.c - plans the fleet of the scenario "deploy": who is which story, its starts and stops, what is written down of it
 *
 * Times are whole seconds: all records of it say the same.
 */
#include "deploy.h"

#include <stdlib.h>
#include <string.h>

enum { LAUNCH_S = 95 /* as say_boot() has it */, MORE_MAX = 5, COMMIT_DIGITS = 9 };

int64_t second_within(struct fleet *f, int64_t from_us, int64_t seconds)
{
	return from_us + rng_range(&f->m->rng, 0, seconds) * US_PER_S;
}

/* ---- builds */

static const struct build_said *pick_build(struct fleet *f, enum build_kind kind)
{
	size_t n = 0, k;

	for (size_t i = 0; i < n_builds; i++)
		n += builds[i].kind == kind;
	k = n ? rng_below(&f->m->rng, n) : 0;
	for (size_t i = 0; i < n_builds; i++)
		if (builds[i].kind == kind && !k--)
			return &builds[i];
	return NULL;
}

static void name_build(const struct fleet *f, const struct build_said *b, char version[64], char commit[41])
{
	char start[COMMIT_DIGITS + 1] = "";
	const char *mark = strstr(b->version, "%s");

	memcpy(start, f->commit[b->commit], COMMIT_DIGITS);
	commit[0] = 0;
	if (mark)
		snprintf(version, 64, "%.*s%s", (int)(mark - b->version), b->version, start);
	else
		snprintf(version, 64, "%s", b->version);
	if (b->apart)
		memcpy(commit, f->commit[b->commit], 41);
}

/* ---- processes */

static void plan_life(struct fleet *f, struct replica *r, int i, int64_t launch_us)
{
	struct life *l = &r->life[i];
	struct worker *k = &f->m->worker[r->w];
	bool over = r->story->flags & (STORY_REFUSES | STORY_SERVES);

	l->build = pick_build(f, r->story->life[i]);
	name_build(f, l->build, l->version, l->commit);
	l->launch_us = launch_us;
	l->ready_us = launch_us + LAUNCH_S * US_PER_S;
	if (k->role == ROLE_DECODE)
		l->pool_tokens = DECODE_POOL;
	else
		l->pool_tokens = over || rng_chance(&f->m->rng, 600) ? PREFILL_POOL : PREFILL_LARGE;
	k->pool_tokens = l->pool_tokens;
	l->limit = worker_limit(f->m, r->w);
}

static void plan_lives(struct fleet *f, struct replica *r)
{
	unsigned flags = r->story->flags;
	struct life *first = &r->life[0], *second = &r->life[1];

	if (r->story->life[0])
		plan_life(f, r, 0, second_within(f, hours(f, 0) + 600 * US_PER_S, 1200));
	if (flags & STORY_LATE) {
		r->started_us = hours(f, 90);
		plan_life(f, r, 1, second_within(f, r->started_us + 60 * US_PER_S, 600));
	} else if (r->story->life[1]) {
		first->stop_us = second_within(f, hours(f, ROLLOUT_H), 5400);
		plan_life(f, r, 1, second_within(f, first->stop_us + 120 * US_PER_S, 180));
	}
	if (flags & STORY_RETIRED)
		r->retired_us = first->stop_us = second_within(f, hours(f, 56), 3000);
	if (flags & STORY_WORKS_ON)
		r->retired_us = hours(f, 56);
	if (flags & STORY_UNDATED)
		r->retired_us = 0;
	r->retired = flags & (STORY_RETIRED | STORY_WORKS_ON | STORY_UNDATED);
	if (flags & STORY_ENDS)
		second->stop_us = second_within(f, hours(f, ASKED_3_H - 3), 3600);
	if (flags & (STORY_REPLACED | STORY_CRASHES))
		second->silent_us = second_within(f, hours(f, 88), 1800);
}

int deploy_life_at(const struct replica *r, int64_t at_us)
{
	for (int i = 0; i < LIVES; i++) {
		const struct life *l = &r->life[i];
		int64_t end = l->stop_us ? l->stop_us : l->silent_us;

		if (r->log && l->build && at_us >= l->ready_us && (!end || at_us < end))
			return i;
	}
	return -1;
}

/* ---- what is written down */

static enum form form_of(struct fleet *f, const struct replica *r, const struct told *t)
{
	if (t->form != FORM_SAID)
		return t->form;
	return r->log && rng_chance(&f->m->rng, 500) ? FORM_LINE : FORM_INFO;
}

static void plan_container(struct evidence *e, const struct replica *r)
{
	const struct life *l = &r->life[e->life];

	e->started_us = l->launch_us - 2 * US_PER_S;
	if (r->story->flags & STORY_REPLACED)
		e->started_us = l->silent_us + 20 * US_PER_S;
	e->waits = r->story->flags & STORY_CRASHES;
	snprintf(e->version, sizeof(e->version), "0.5.22");
	e->commit[0] = 0;
	e->reasons = "version_out_of_range";
}

static void tell(struct fleet *f, int n, const struct told *t)
{
	const struct replica *r = &f->replica[n];
	const struct life *l = &r->life[t->life];
	const struct build_said *b = t->says ? pick_build(f, t->says) : l->build;
	struct evidence *e = &f->evidence[f->n_evidence++];

	*e = (struct evidence){
	    .replica = n, .life = t->life, .form = form_of(f, r, t), .fix = b->fix, .reasons = b->reasons};
	if (t->says) {
		name_build(f, b, e->version, e->commit);
	} else {
		memcpy(e->version, l->version, sizeof(e->version));
		memcpy(e->commit, l->commit, sizeof(e->commit));
	}
	if (e->form != FORM_LINE)
		e->commit[0] = 0;
	switch (t->when) {
	case WHEN_START: e->at_us = second_within(f, l->ready_us + 60 * US_PER_S, 800); break;
	case WHEN_MIDDLE: e->at_us = second_within(f, hours(f, 42), 3600); break;
	case WHEN_ROUND_1: e->at_us = second_within(f, hours(f, ROUND_1_H), 3600); break;
	case WHEN_ROUND_2: e->at_us = second_within(f, hours(f, ROUND_2_H), 3600); break;
	}
	if (e->form == FORM_LINE)
		e->at_us = l->launch_us + US_PER_S;
	if (e->form == FORM_POD)
		e->at_us = f->round_us[t->when == WHEN_ROUND_2];
	if (e->form == FORM_POD || e->form == FORM_DOCKER)
		plan_container(e, r);
}

static void plan_replica(struct fleet *f, const struct story *s, unsigned style, unsigned number)
{
	static const char *const roles[] = {"prefill", "decode", "unified"};
	struct replica *r = &f->replica[f->n];
	enum role role = s->role < 0 ? (enum role)(f->n % 2) : (enum role)s->role;
	char name[24];

	if (style == 0)
		snprintf(name, sizeof(name), "%s-%u", roles[role], number);
	else if (style == 1)
		snprintf(name, sizeof(name), "llm-%s-%02u", roles[role], number);
	else
		snprintf(name, sizeof(name), "%s-gpu%u", roles[role], number);
	*r = (struct replica){.story = s,
			      .log = s->life[1] || s->life[0] ? !(s->flags & STORY_NO_LOG) : false,
			      .listed = !(s->flags & STORY_UNLISTED)};
	r->folder = rng_chance(&f->m->rng, 500);
	r->proxy = rng_chance(&f->m->rng, 500);
	r->w = worker_add(f->m, name, role, MODEL_GLM, CONTEXT);
	plan_lives(f, r);
	for (int i = 0; i < TOLD && s->told[i].form; i++)
		tell(f, f->n, &s->told[i]);
	if ((s->flags & STORY_MAYBE_POD) && rng_chance(&f->m->rng, 500)) {
		const struct told pod = {FORM_POD, rng_chance(&f->m->rng, 500) ? WHEN_ROUND_1 : WHEN_ROUND_2,
					 s->life[1] ? 1 : 0, BUILD_FIXED};
		tell(f, f->n, &pod);
	}
	f->n++;
}

/* Each story once, some twice; in any order. */
static void plan(struct fleet *f)
{
	struct rng *rng = &f->m->rng;
	const struct story *list[REPLICAS_MAX];
	unsigned style = (unsigned)rng_below(rng, 3);
	size_t n = n_stories + rng_below(rng, MORE_MAX);

	for (size_t i = 0; i < n; i++)
		list[i] = &stories[i < n_stories ? i : rng_below(rng, n_stories)];
	for (size_t i = n; i > 1; i--) {
		size_t k = rng_below(rng, i);
		const struct story *s = list[i - 1];

		list[i - 1] = list[k];
		list[k] = s;
	}
	for (int i = COMMIT_WITH; i <= COMMIT_UNLISTED; i++)
		rng_hex(rng, f->commit[i], 40);
	for (int i = 0; i < 2; i++)
		rng_hex(rng, f->image[i], 64);
	rng_hex(rng, f->config, 64);
	f->ordered = rng_chance(rng, 500);
	f->round_us[0] = hours(f, ROUND_1_H) + 1800 * US_PER_S;
	f->round_us[1] = hours(f, ROUND_2_H) + 1800 * US_PER_S;
	for (size_t i = 0; i < n; i++)
		plan_replica(f, list[i], style, (unsigned)i);
}

void deploy_write(struct model *m)
{
	struct fleet *f = calloc(1, sizeof(*f));

	if (!f) {
		model_fail(m, err_nomem(m->err));
		return;
	}
	f->m = m;
	m->begin_us = (INT64_C(1788739200) + rng_range(&m->rng, 0, 20) * 86400) * US_PER_S; /* 2026-09-07 or later */
	m->end_us = hours(f, LAST_H);
	plan(f);
	if (!make_folder(m, "logs")) {
		deploy_logs(f);
		deploy_documents(f);
		deploy_inventory(f);
		deploy_policy(f);
		deploy_truth(f);
	}
	free(f->handed);
	free(f);
}
