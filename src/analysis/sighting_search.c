/* SPDX-License-Identifier: Apache-2.0 */
/* sighting_search.c - one pass over the evidence for all markers in all spellings, in threads */
#include "sighting_work.h"

#include <stdlib.h>
#include <string.h>

#include "lineage.h"
#include "pagetrail/evidence.h"
#include "pagetrail/limits.h"

struct adding {
	struct sightings *s;
	uint32_t marker;
	bool plain; /* only the marker as it is; or only the other spellings */
	struct err *err;
};

/* There is room for some spellings only: all markers as they are come first. */
static int add_needle(void *ctx, const struct spelled *spelled)
{
	struct adding *x = ctx;
	struct sightings *s = x->s;
	if (x->plain != (spelled->how == SPELLED_PLAIN) || s->unspelled)
		return 0;
	struct needle n = {x->marker, *spelled};
	n.spelled.text = arena_text(&s->spellings, spelled->text);
	if (!n.spelled.text.ptr || s->n_needles == MARKER_SPELLINGS_MAX) {
		s->unspelled = true;
		return 0;
	}
	int rc = grow_array((void **)&s->needles, &s->cap_needles, s->n_needles, sizeof(*s->needles), x->err);
	if (rc < 0)
		return rc;
	s->needles[s->n_needles++] = n;
	s->longest = MAX(s->longest, n.spelled.text.len);
	return 0;
}

static int compile_needles(struct sightings *s, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < 2 * s->n_planted; i++) {
		size_t at = i % s->n_planted;
		struct adding x = {s, (uint32_t)at, i < s->n_planted, err};
		rc = spellings_of(s->planted[at].text, add_needle, &x, err);
	}
	if (rc < 0)
		return rc;
	struct text *texts = malloc((s->n_needles + 1) * sizeof(*texts));
	if (!texts)
		return err_nomem(err);
	for (size_t i = 0; i < s->n_needles; i++) {
		struct text t = s->needles[i].spelled.text;
		texts[i] = text_from(t, t.len - MIN(t.len, (size_t)NEEDLE_MAX_BYTES));
	}
	rc = literals_compile(&s->literals, texts, s->n_needles, err);
	free(texts);
	return rc == 0 ? literals_thread_new(&s->own, s->literals, err) : rc;
}

/* What a thread found in one chunk. */
struct found {
	const struct sightings *s;
	struct literals_thread *thread;
	struct text bytes;
	struct hit *hits;
	size_t n, cap;
	uint64_t off;
	struct err *err;
};

static int add_hit(void *ctx, size_t which, size_t end)
{
	struct found *f = ctx;
	const struct needle *n = &f->s->needles[which];
	size_t len = n->spelled.text.len;
	/* what begins before these bytes is found where they meet the ones before */
	if (end < len || memcmp(f->bytes.ptr + end - len, n->spelled.text.ptr, len) != 0 ||
	    !spelling_fits(&n->spelled, f->bytes, end - len))
		return 0;
	int rc = grow_array((void **)&f->hits, &f->cap, f->n, sizeof(*f->hits), f->err);
	if (rc < 0)
		return rc;
	uint64_t at = f->off + end - len;
	f->hits[f->n++] = (struct hit){
	    .off = at, .len = len, .at = at, .at_len = len, .needle = (uint32_t)which, .marker = n->marker};
	return 0;
}

static void found_free(void *own)
{
	struct found *f = own;
	if (!f)
		return;
	literals_thread_free(f->thread);
	free(f->hits);
	free(f);
}

static int look(void *ctx, void **own, struct text bytes, uint64_t off, struct err *err)
{
	const struct sightings *s = ctx;
	struct found *f = *own;
	int rc = 0;
	if (!f) {
		f = calloc(1, sizeof(*f));
		if (!f)
			return err_nomem(err);
		*own = f;
		f->s = s;
		rc = literals_thread_new(&f->thread, s->literals, err);
	}
	f->n = 0;
	f->off = off;
	f->bytes = bytes;
	f->err = err;
	return rc == 0 ? literals_search(s->literals, f->thread, bytes, add_hit, f, err) : rc;
}

static int keep_hits(struct sightings *s, const struct found *f, struct err *err)
{
	for (size_t i = 0; i < f->n; i++) {
		if (s->n == SIGHTINGS_MAX) {
			s->full = true;
			return 0;
		}
		int rc = grow_array((void **)&s->hits, &s->cap, s->n, sizeof(*s->hits), err);
		if (rc < 0)
			return rc;
		s->hits[s->n] = f->hits[i];
		s->hits[s->n++].source = s->source;
	}
	return 0;
}

/* Where two chunks meet, what lies across the border. */
static int take_seam(struct sightings *s, struct text bytes, uint64_t off, struct err *err)
{
	struct found across = {.s = s, .err = err};
	size_t before = s->seam.len, room = s->longest - 1;
	int rc = 0;
	if (before && s->seam_off + before == off) {
		rc = buf_add_text(&s->seam, text_sub(bytes, 0, MIN(bytes.len, room)), err);
		across.off = s->seam_off;
		across.bytes = buf_text(&s->seam);
		if (rc == 0)
			rc = literals_search(s->literals, s->own, buf_text(&s->seam), add_hit, &across, err);
		size_t n = 0;
		for (size_t i = 0; i < across.n; i++)
			if (across.hits[i].at < off && across.hits[i].at + across.hits[i].at_len > off)
				across.hits[n++] = across.hits[i];
		across.n = n;
		if (rc == 0)
			rc = keep_hits(s, &across, err);
		free(across.hits);
	} else {
		before = 0;
		buf_clear(&s->seam);
		rc = buf_add_text(&s->seam, text_sub(bytes, 0, MIN(bytes.len, room)), err);
		s->seam_off = off;
	}
	if (rc < 0)
		return rc;
	/* the end of this chunk, with what came before it where it is short */
	if (bytes.len >= room) {
		buf_clear(&s->seam);
		rc = buf_add_text(&s->seam, text_from(bytes, bytes.len - room), err);
		s->seam_off = off + bytes.len - room;
	} else if (s->seam.len > room) {
		size_t cut = s->seam.len - room;
		memmove(s->seam.ptr, s->seam.ptr + cut, room);
		s->seam.len = room;
		s->seam_off += cut;
	}
	return rc;
}

static int take(void *ctx, void *own, struct text bytes, uint64_t off, struct err *err)
{
	struct sightings *s = ctx;
	if (case_stopped(s->c))
		return err_set(err, ERR_INTERRUPTED, "stopped");
	int rc = take_seam(s, bytes, off, err);
	return rc == 0 ? keep_hits(s, own, err) : rc;
}

static int search_all(struct sightings *s, struct err *err)
{
	const struct evidence_work work = {look, take, found_free, s, true};
	struct evidence_walk *w = NULL;
	CLEANUP(sql_endp) struct sql *q = NULL;
	int rc = evidence_walk_open(&w, s->c, case_thread_count(s->c), &work, err);
	if (rc == 0)
		rc = sql_prepare(
		    &q, s->c, "SELECT source FROM source WHERE coalesce(format, '') <> 'markers' ORDER BY source", err);
	while (rc >= 0 && (rc = sql_step(q, err)) == 1) {
		s->source = sql_get_int(q, 0);
		buf_clear(&s->seam);
		rc = evidence_walk_source(w, s->source, err);
	}
	evidence_walk_close(w);
	return rc;
}

/* ---- one place, one marker ---- */

/* By place; of two that begin together the longer first, then the one that stands there as it is. */
static int nested_cmp(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->at_len != y->at_len)
		return x->at_len > y->at_len ? -1 : 1;
	return (x->needle > y->needle) - (x->needle < y->needle);
}

/* A marker that is a part of a longer one, in the same spelling or another, is not seen where the longer one stands. Of two that
 * look alike there, the one that is spelled as it is stands there. */
static void drop_nested(struct sightings *s)
{
	const struct hit *widest = NULL; /* of those so far, the one that ends last */
	size_t n = 0;
	if (!s->n)
		return;
	qsort(s->hits, s->n, sizeof(*s->hits), nested_cmp);
	for (size_t i = 0; i < s->n; i++) {
		struct hit h = s->hits[i];
		bool same = widest && widest->source == h.source && widest->at + widest->at_len >= h.at + h.at_len;
		bool equal = same && widest->at == h.at && widest->at_len == h.at_len;
		if (same && (!equal || s->needles[widest->needle].spelled.how < s->needles[h.needle].spelled.how))
			continue;
		s->hits[n] = h;
		if (!same)
			widest = &s->hits[n];
		n++;
	}
	s->n = n;
}

/* Lines of a record that another source has whole (architecture.md): it is seen there. */
static int drop_joined(struct sightings *s, struct err *err)
{
	CLEANUP(sql_endp) struct sql *q = NULL;
	size_t i = 0, n = 0;
	int rc = sql_prepare(
	    &q, s->c, "SELECT source, byte_off, byte_len FROM seam WHERE whole IS NOT NULL ORDER BY source, byte_off",
	    err);
	while (rc == 0 && (rc = sql_step(q, err)) == 1) {
		int64_t source = sql_get_int(q, 0);
		uint64_t off = (uint64_t)sql_get_int(q, 1), end = off + (uint64_t)sql_get_int(q, 2);
		for (; i < s->n && (s->hits[i].source < source || (s->hits[i].source == source && s->hits[i].at < off));
		     i++)
			s->hits[n++] = s->hits[i];
		while (i < s->n && s->hits[i].source == source && s->hits[i].at < end)
			i++;
		rc = 0;
	}
	for (; i < s->n; i++)
		s->hits[n++] = s->hits[i];
	s->n = n;
	return rc;
}

int sighting_search(struct sightings *s, struct err *err)
{
	int rc = compile_needles(s, err);
	if (rc == 0)
		rc = search_all(s, err);
	if (rc == 0)
		drop_nested(s);
	return rc == 0 ? drop_joined(s, err) : rc;
}
