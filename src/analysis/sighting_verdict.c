/* SPDX-License-Identifier: Apache-2.0 */
/* sighting_verdict.c - what it means that a marker stands there: own, foreign or unknown, and why
 *
 * A hit is not judged alone. Where the request's own prompt holds the marker, whatever log that stands in, the answer repeats
 * what it was asked: an echo. Where no log holds the prompt, that cannot be excluded, and the verdict says so. Times make no
 * verdict: that a marker was seen before it was planted is said beside it.
 */
#include "sighting_work.h"

#include <stdlib.h>

#include "pagetrail/analysis.h"
#include "pagetrail/evidence.h"
#include "pagetrail/limits.h"

enum { PLANTED_SLACK_S = 2 };

/* ---- one hit, one account ---- */

static enum tri crosses(const struct account *a, const struct hit *h)
{
	return !a->tenant || !h->tenant ? TRI_UNKNOWN : a->tenant != h->tenant ? TRI_YES : TRI_NO;
}

static struct verdict verdict_of(const struct account *a, const struct hit *h)
{
	static const char *const by_prompt[] = {
	    [PROMPT_UNSEEN] = "prompt_not_seen", [PROMPT_CUT] = "prompt_seen_in_part", [PROMPT_SEEN] = "not_in_prompt"};
	enum tri cross = crosses(a, h);
	if (!h->request)
		return (struct verdict){"unknown", "no_request", cross};
	if (a->request == h->request)
		return (struct verdict){"own", "planted_here", cross};
	if (h->part == PART_ASKED) /* anybody can write a marker there: he may send on what he was given */
		return (struct verdict){"unknown", "in_prompt", cross};
	if (h->part != PART_ANSWERED)
		return (struct verdict){"unknown", "words_not_known", cross};
	if (h->echo)
		return (struct verdict){"unknown", "echo_of_prompt", cross};
	if (a->request || cross == TRI_YES)
		return (struct verdict){"foreign", by_prompt[h->prompt], cross};
	return (struct verdict){"unknown", "planting_not_known", cross};
}

struct verdict sighting_verdict(const struct planted *p, const struct hit *h)
{
	struct verdict v = verdict_of(&p->accounts[0], h);
	bool same = true;
	for (size_t i = 1; i < p->n; i++) {
		struct verdict w = verdict_of(&p->accounts[i], h);
		same &= text_eq(text_of(v.verdict), text_of(w.verdict));
		v.crosses = v.crosses == w.crosses ? v.crosses : TRI_UNKNOWN;
	}
	if (!same) {
		v.verdict = "unknown";
		v.reason = "files_contradict";
	}
	return v;
}

/* ---- echoes ---- */

static int owner_cmp(const void *a, const void *b)
{
	const struct hit *x = *(struct hit *const *)a, *y = *(struct hit *const *)b;
	if (x->request != y->request)
		return x->request < y->request ? -1 : 1;
	if (x->marker != y->marker)
		return x->marker < y->marker ? -1 : 1;
	return (int)x->part - (int)y->part;
}

/* order: by request and marker, so that what the prompt of one holds stands together with what its answer holds. */
static void mark_echoes(struct hit **order, size_t n)
{
	for (size_t from = 0, to; from < n; from = to) {
		bool asked = false;
		for (to = from;
		     to < n && order[to]->request == order[from]->request && order[to]->marker == order[from]->marker;
		     to++)
			asked |= order[to]->part == PART_ASKED;
		for (size_t i = from; order[from]->request && asked && i < to; i++)
			order[i]->echo = true;
	}
}

/* ---- was the prompt seen? ---- */

struct judge {
	struct sightings *s;
	struct sql *refs, *times;
	struct buf record;
	int64_t bound_ns; /* of all clocks of the case */
};

static int look_at(struct judge *j, struct ref ref, enum prompt *ret, struct err *err)
{
	uint64_t len = MIN(ref.len, (uint64_t)RECORD_MAX_BYTES);
	buf_clear(&j->record);
	struct err why = {0};
	int rc = evidence_read(j->s->c, ref.source, ref.off, len, &j->record, &why);
	if (rc == ERR_INPUT) /* these bytes are not kept: nothing was seen in them */
		return 0;
	if (rc < 0) {
		*err = why;
		return rc;
	}
	enum prompt p = prompt_in(buf_text(&j->record));
	if (p == PROMPT_SEEN && len < ref.len)
		p = PROMPT_CUT;
	*ret = MAX(*ret, p);
	return 0;
}

/* In the records of its legs and responses, and in the one that holds the marker. */
static int prompt_of(struct judge *j, const struct hit *h, enum prompt *ret, struct err *err)
{
	*ret = PROMPT_UNSEEN;
	int rc = look_at(j, (struct ref){h->source, h->off, h->len}, ret, err);
	if (rc == 0)
		rc = sql_int(j->refs, 1, h->request, err);
	while (rc >= 0 && *ret < PROMPT_SEEN && (rc = sql_step(j->refs, err)) == 1) {
		struct text list = sql_get_text(j->refs, 0), name;
		struct ref ref;
		for (size_t at = 0; rc >= 0 && *ret < PROMPT_SEEN && refs_next(list, &at, &name);)
			rc = ref_parse(name, &ref) ? look_at(j, ref, ret, err) : 0;
	}
	sql_reset(j->refs);
	return MIN(rc, 0);
}

static int set_prompts(struct judge *j, struct hit **order, size_t n, struct err *err)
{
	const struct hit *last = NULL;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct hit *h = order[i];
		if (!h->request || h->part != PART_ANSWERED || h->echo)
			continue;
		if (text_is(text_of(sighting_verdict(&j->s->planted[h->marker], h).verdict), "own"))
			continue;
		if (last && last->request == h->request && last->source == h->source && last->off == h->off)
			h->prompt = last->prompt;
		else
			rc = prompt_of(j, h, &h->prompt, err);
		last = h;
	}
	return rc;
}

/* ---- seen before it was planted? ---- */

/* When all that is known of a request had ended; unknown where an end is not known. */
static int ended_at(struct judge *j, int64_t request, int64_t *ret, struct err *err)
{
	*ret = TIME_UNKNOWN;
	int rc = sql_int(j->times, 1, request, err);
	while (rc >= 0 && (rc = sql_step(j->times, err)) == 1)
		*ret = sql_get_time(j->times, 0);
	return rc;
}

static int set_early(struct judge *j, struct hit **order, size_t n, struct err *err)
{
	int64_t ended = TIME_UNKNOWN, of = 0, slack = j->bound_ns + PLANTED_SLACK_S * NS_PER_S;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct hit *h = order[i];
		struct planted *p = &j->s->planted[h->marker];
		bool any = false, all = true;
		for (size_t k = 0; rc == 0 && h->request && k < p->n; k++) {
			int64_t planted = p->accounts[k].said.planted_ns;
			if (planted == TIME_UNKNOWN)
				continue;
			if (of != h->request)
				rc = ended_at(j, h->request, &ended, err);
			of = h->request;
			bool early = ended != TIME_UNKNOWN && planted - ended > slack;
			p->accounts[k].trouble |= early ? TROUBLE_SEEN_BEFORE : 0;
			any = true;
			all &= early;
		}
		h->early = any && all;
	}
	return rc;
}

static int judge_open(struct judge *j, struct err *err)
{
	CLEANUP(sql_endp) struct sql *bound = NULL;
	int rc = sql_prepare(
	    &j->refs, j->s->c,
	    "SELECT refs FROM leg WHERE request = ?1 UNION ALL SELECT refs FROM response WHERE request = ?1", err);
	if (rc == 0)
		rc =
		    sql_prepare(&j->times, j->s->c,
				"SELECT CASE WHEN count(*) = count(finished_ns) THEN max(finished_ns) END FROM (SELECT "
				"finished_ns FROM "
				"leg WHERE request = ?1 UNION ALL SELECT finished_ns FROM response WHERE request = ?1)",
				err);
	if (rc == 0)
		rc = sql_prepare(&bound, j->s->c, "SELECT coalesce(max(bound_ns), 0) FROM clock", err);
	if (rc == 0 && (rc = sql_step(bound, err)) == 1)
		j->bound_ns = sql_get_int(bound, 0);
	return MIN(rc, 0);
}

int sighting_judge(struct sightings *s, struct err *err)
{
	struct judge j = {.s = s, .record = BUF_INIT(2 * RECORD_MAX_BYTES)};
	struct hit **order = malloc(s->n * sizeof(struct hit *));
	int rc = order ? judge_open(&j, err) : err_nomem(err);
	for (size_t i = 0; rc == 0 && i < s->n; i++)
		order[i] = &s->hits[i];
	if (rc == 0) {
		qsort(order, s->n, sizeof(struct hit *), owner_cmp);
		mark_echoes(order, s->n);
		rc = set_prompts(&j, order, s->n, err);
	}
	if (rc == 0)
		rc = set_early(&j, order, s->n, err);
	sql_end(j.refs);
	sql_end(j.times);
	buf_done(&j.record);
	free(order);
	return rc;
}
