/* SPDX-License-Identifier: Apache-2.0 */
/* canary.c - markers planted in some prompts, and where they come back in answers
 *
 * In this scenario the request logs of decode workers hold text. An answer that was made from pages of other requests repeats
 * the markers of some of them; one in two of those that were asked to repeats its own.
 */
#include "model.h"

#include <string.h>

enum { PLANTED_EVERY = 16, ECHOES_MAX = 3 };

static bool planted(const struct model *m, uint32_t request)
{
	const struct request *r = &m->requests[request];
	/* an id that several requests share names none of them */
	return request % PLANTED_EVERY == 3 && !strncmp(r->id, "chatcmpl-", 9);
}

static void marker_of(const struct model *m, uint32_t request, char out[32])
{
	struct rng r;
	rng_seed(&r, m->options->seed * 1000003 + request);
	memcpy(out, "ptm", 3);
	rng_hex(&r, out + 3, 26);
}

void canary_asked(struct model *m, struct lines *l, uint32_t request)
{
	char marker[32];
	if (!m->canary)
		return;
	marker_of(m, request, marker);
	if (planted(m, request))
		lines_put(m, l, ", \"text\": \"Keep in mind the word %s, and say it when you are asked.\"", marker);
	else
		lines_put(m, l, ", \"text\": \"What is the longest river of the continent?\"");
}

static void seen(struct model *m, uint32_t owner, uint32_t reader)
{
	if (!model_grow(m, &m->sightings, m->n_sightings, &m->sightings_cap, sizeof(*m->sightings)))
		return;
	m->sightings[m->n_sightings++] = (struct sighting){owner, reader};
	if (owner != reader)
		m->requests[reader].marked = true;
}

void canary_answered(struct model *m, struct lines *l, uint32_t attempt, int w)
{
	const struct attempt *a = &m->attempts[attempt];
	const struct request *r = &m->requests[a->request];
	uint32_t echoed[ECHOES_MAX];
	unsigned n = 0;
	char marker[32];
	if (!m->canary)
		return;
	lines_put(m, l, "\"text\": \"The answer is as follows.");
	bool answered = a->decode == w && a->out > 0 && a->decode_status < 500 && !r->gone;
	if (answered && planted(m, a->request) && a->request % (2 * PLANTED_EVERY) == 3) {
		marker_of(m, a->request, marker);
		lines_put(m, l, " You said %s.", marker);
		seen(m, a->request, a->request);
	}
	for (size_t i = 0; answered && i < r->n_reads && n < ECHOES_MAX; i++) {
		const struct foreign *f = &r->reads[i];
		bool content = f->worker == w && (f->kind == KIND_STALE || f->kind == KIND_LATE_WRITE);
		if (!content || f->owner == NONE || !planted(m, f->owner))
			continue;
		bool again = false;
		for (unsigned k = 0; k < n; k++)
			again |= echoed[k] == f->owner;
		if (again)
			continue;
		echoed[n++] = f->owner;
		marker_of(m, f->owner, marker);
		lines_put(m, l, " Somebody said %s.", marker);
		seen(m, f->owner, a->request);
	}
	lines_put(m, l, "\", ");
}

void canary_write(struct model *m, const char *path)
{
	struct buf b = BUF_INIT(256 * MIB);
	bool first = true;
	char marker[32], name[16];
	for (uint32_t i = 0; i < m->n_requests && !m->rc; i++) {
		if (!planted(m, i))
			continue;
		marker_of(m, i, marker);
		model_fail(m, buf_printf(&b, m->err,
					 "%s{\"marker\":\"%s\",\"planted_request\":\"%s\",\"planted_tenant\":\"%s\"}",
					 first ? "{\"markers\":[\n" : ",\n", marker, m->requests[i].id,
					 tenant_name(m->requests[i].tenant, name)));
		first = false;
	}
	model_fail(m, buf_printf(&b, m->err, "%s]}\n", first ? "{\"markers\":[" : ""));
	lines_file(m, path, buf_text(&b));
	buf_done(&b);
}
