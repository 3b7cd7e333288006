/* SPDX-License-Identifier: Apache-2.0 */
/* sighting.c - where the markers that were planted in requests were seen
 *
 * One pass over the evidence for all markers and spellings, in threads; then, for each source with hits, its events tell whose
 * record each one lies in. Verdicts: own, foreign, or unknown where the record names no request, where the marker does not stand in
 * what was answered, or where nobody said in which request it was planted. Nothing here rests on time.
 */
#include "sighting.h"
#include "lineage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/analysis.h"
#include "pagetrail/buf.h"
#include "pagetrail/evidence.h"
#include "pagetrail/limits.h"
#include "pagetrail/literals.h"
#include "pagetrail/markers.h"
#include "pagetrail/spelling.h"

struct needle {
	uint32_t marker;
	enum spelling how;
	struct text text;
};

struct hit {
	int64_t source;
	uint64_t off, len; /* of the text found, then of its record */
	uint64_t at;       /* of the text found */
	uint32_t needle;
	enum part part;
	int64_t request, tenant;   /* 0: not known */
	bool placed, torn_between; /* an event says whose record it is; two of them say different things */
};

struct planted {                 /* in the order of the markers */
	int64_t request, tenant; /* 0: not known */
};

struct sightings {
	struct case_file *c;
	struct arena arena;
	struct markers markers;
	struct planted *planted;
	struct needle *needles;
	size_t n_needles, cap_needles, longest;
	struct literals *literals;
	struct hit *hits;
	size_t n, cap;
	bool full;
	/* the walk */
	int64_t source;
	struct buf seam; /* end of the chunk before, and beginning of this one */
	uint64_t seam_off;
	struct literals_thread *own;
	struct sql *tenant; /* of a request */
};

/* ---- the markers ---- */

/* Markers of one more file. */
static int load_file(struct sightings *s, int64_t source, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(DOCUMENT_MAX_BYTES);
	struct json *json = NULL;
	struct json_value doc;
	struct markers m = {0};
	struct err why = {0};
	uint64_t len = 0;
	CLEANUP(sql_endp) struct sql *q = NULL;
	int rc = sql_prepare(&q, s->c, "SELECT bytes FROM source WHERE source = ?1", err);
	if (rc == 0)
		rc = sql_int(q, 1, source, err);
	if (rc == 0 && (rc = sql_step(q, err)) == 1)
		len = (uint64_t)sql_get_int(q, 0);
	rc = rc < 0 ? rc : evidence_read(s->c, source, 0, len, &b, err);
	if (rc < 0)
		return rc;
	json = json_new();
	if (!json)
		return err_nomem(err);
	rc = json_parse(json, buf_text(&b), false, &doc, NULL, err);
	if (rc == 0)
		rc = markers_read(&m, doc, &s->arena, NULL, NULL, &why);
	json_free(json);
	if (rc == 1 || rc == ERR_INPUT) /* its parser has said so: it is counted unparsed */
		return 0;
	if (rc < 0) {
		if (why.code && err)
			*err = why;
		return rc;
	}
	struct marker *all = arena_array(&s->arena, s->markers.n + m.n, sizeof(*all));
	if (!all)
		return err_nomem(err);
	if (s->markers.n)
		memcpy(all, s->markers.list, s->markers.n * sizeof(*all));
	memcpy(all + s->markers.n, m.list, m.n * sizeof(*all));
	s->markers.list = all;
	s->markers.n += m.n;
	return 0;
}

static int said_cmp(const struct marker *x, const struct marker *y)
{
	int d = text_cmp(x->planted_request, y->planted_request);
	return d ? d : text_cmp(x->planted_tenant, y->planted_tenant);
}

static int marker_cmp(const void *a, const void *b)
{
	int d = text_cmp(((const struct marker *)a)->text, ((const struct marker *)b)->text);
	return d ? d : said_cmp(a, b);
}

static int load_markers(struct sightings *s, struct err *err)
{
	CLEANUP(sql_endp) struct sql *q = NULL;
	int rc = sql_prepare(&q, s->c, "SELECT source FROM source WHERE format = 'markers' ORDER BY source", err);
	while (rc >= 0 && (rc = sql_step(q, err)) == 1)
		rc = load_file(s, sql_get_int(q, 0), err);
	if (rc < 0 || !s->markers.n)
		return rc;
	struct marker *list = s->markers.list;
	size_t n = 0;
	qsort(list, s->markers.n, sizeof(*list), marker_cmp);
	for (size_t i = 0; i < s->markers.n; i++) {
		if (!n || text_cmp(list[n - 1].text, list[i].text) != 0)
			list[n++] = list[i];
		else if (said_cmp(&list[n - 1], &list[i]) != 0) /* two files contradict each other: nobody knows */
			list[n - 1] = (struct marker){.text = list[i].text, .planted_ns = TIME_UNKNOWN};
	}
	s->markers.n = n;
	return 0;
}

/* The one request of that name, and its tenant; 0 where there is none, or several. */
static int find_request(struct sightings *s, struct text name, int64_t *ret, struct err *err)
{
	struct err why = {0};
	int rc = name.len ? request_find(s->c, name, ret, &why) : ERR_INPUT;
	if (rc == ERR_INPUT) {
		*ret = 0;
		return 0;
	}
	if (rc < 0)
		*err = why;
	return rc;
}

static int tenant_of(struct sightings *s, int64_t request, int64_t *ret, struct err *err)
{
	*ret = 0;
	int rc = request ? sql_int(s->tenant, 1, request, err) : 0;
	while (request && rc >= 0 && (rc = sql_step(s->tenant, err)) == 1)
		*ret = sql_get_int(s->tenant, 0);
	return rc;
}

static int tenant_named(struct sightings *s, struct text name, int64_t *ret, struct err *err)
{
	CLEANUP(sql_endp) struct sql *q = NULL;
	int rc = sql_prepare(&q, s->c, "SELECT tenant FROM tenant WHERE name = ?1", err);
	if (rc == 0)
		rc = sql_text(q, 1, name, err);
	if (rc == 0 && (rc = sql_step(q, err)) == 1)
		*ret = sql_get_int(q, 0);
	return rc < 0 ? rc : 0;
}

static int find_planted(struct sightings *s, struct err *err)
{
	s->planted = arena_array(&s->arena, s->markers.n, sizeof(*s->planted));
	int rc = s->planted ? 0 : err_nomem(err);
	for (size_t i = 0; rc == 0 && i < s->markers.n; i++) {
		const struct marker *m = &s->markers.list[i];
		struct planted *p = &s->planted[i];
		rc = find_request(s, m->planted_request, &p->request, err);
		if (rc == 0)
			rc = tenant_of(s, p->request, &p->tenant, err);
		if (rc == 0 && !p->tenant && m->planted_tenant.len)
			rc = tenant_named(s, m->planted_tenant, &p->tenant, err);
	}
	return rc;
}

/* ---- searching ---- */

struct spelled {
	struct sightings *s;
	uint32_t marker;
	struct err *err;
};

static int add_needle(void *ctx, enum spelling how, struct text spelled)
{
	struct spelled *x = ctx;
	struct sightings *s = x->s;
	int rc = grow_array((void **)&s->needles, &s->cap_needles, s->n_needles, sizeof(*s->needles), x->err);
	if (rc < 0)
		return rc;
	struct text kept = arena_text(&s->arena, spelled);
	if (!kept.ptr)
		return err_nomem(x->err);
	s->needles[s->n_needles++] = (struct needle){x->marker, how, kept};
	s->longest = MAX(s->longest, kept.len);
	return 0;
}

static int compile(struct sightings *s, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < s->markers.n; i++) {
		struct spelled x = {s, (uint32_t)i, err};
		rc = spellings_of(s->markers.list[i].text, add_needle, &x, err);
	}
	if (rc < 0)
		return rc;
	struct text *texts = malloc(s->n_needles * sizeof(*texts));
	if (!texts)
		return err_nomem(err);
	for (size_t i = 0; i < s->n_needles; i++)
		texts[i] = s->needles[i].text;
	rc = literals_compile(&s->literals, texts, s->n_needles, err);
	free(texts);
	return rc == 0 ? literals_thread_new(&s->own, s->literals, err) : rc;
}

/* What a thread found in one chunk. */
struct found {
	const struct sightings *s;
	struct literals_thread *thread;
	struct hit *hits;
	size_t n, cap;
	uint64_t off;
	struct err *err;
};

static int add_hit(void *ctx, size_t which, size_t end)
{
	struct found *f = ctx;
	int rc = grow_array((void **)&f->hits, &f->cap, f->n, sizeof(*f->hits), f->err);
	if (rc < 0)
		return rc;
	size_t len = f->s->needles[which].text.len;
	uint64_t at = f->off + end - len;
	f->hits[f->n++] = (struct hit){.off = at, .at = at, .len = len, .needle = (uint32_t)which};
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
		if (rc == 0)
			rc = literals_search(s->literals, s->own, buf_text(&s->seam), add_hit, &across, err);
		size_t n = 0;
		for (size_t i = 0; i < across.n; i++)
			if (across.hits[i].at < off && across.hits[i].at + across.hits[i].len > off)
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

/* ---- whose record ---- */

static int hit_cmp(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->needle > y->needle) - (x->needle < y->needle);
}

static size_t first_at(const struct sightings *s, size_t from, size_t to, uint64_t off)
{
	while (from < to) {
		size_t mid = (from + to) / 2;
		if (s->hits[mid].at < off)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* The request that an id belongs to; 0 when it is of none, or of several. */
static int owner_of(struct sql *q, struct text id, int64_t *ret, struct err *err)
{
	*ret = 0;
	if (!id.len)
		return 0;
	int rc = sql_text(q, 1, id, err), n = 0;
	while (rc >= 0 && (rc = sql_step(q, err)) == 1) {
		*ret = sql_get_int(q, 0);
		n++;
	}
	if (n > 1)
		*ret = 0;
	return rc;
}

/* One event with a hit in its record. */
static int place(struct sightings *s, struct sql *e, struct sql *alias, size_t from, size_t to, struct err *err)
{
	uint64_t off = (uint64_t)sql_get_int(e, 0), len = (uint64_t)sql_get_int(e, 1);
	size_t at = first_at(s, from, to, off);
	int64_t request = 0;
	int rc = 0;
	if (at == to || s->hits[at].at >= off + len)
		return 0;
	for (int i = 3; rc == 0 && !request && i < sql_columns(e); i++)
		rc = owner_of(alias, sql_get_text(e, i), &request, err);
	if (rc < 0 || !request)
		return rc;
	struct text what = sql_get_text(e, 2);
	bool asked = text_is(what, "received") || text_is(what, "started") || text_is(what, "rejected");
	for (; at < to && s->hits[at].at < off + len; at++) {
		struct hit *h = &s->hits[at];
		h->torn_between |= h->placed && h->request != request;
		h->placed = true;
		h->request = request;
		h->off = off;
		h->len = len;
		h->part = asked ? PART_ASKED : h->part;
	}
	return 0;
}

static int place_source(struct sightings *s, size_t from, size_t to, struct err *err)
{
	static const char *const events[] = {
	    "SELECT byte_off, byte_len, what, rid, room FROM leg_events WHERE source = ?1",
	    "SELECT byte_off, byte_len, what, gateway_id, response_id, trace_id, room FROM gateway_events WHERE source "
	    "= ?1"};
	CLEANUP(sql_endp) struct sql *alias = NULL;
	int rc = sql_prepare(&alias, s->c, "SELECT DISTINCT request FROM alias WHERE value = ?1", err);
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(events); i++) {
		CLEANUP(sql_endp) struct sql *e = NULL;
		rc = sql_prepare(&e, s->c, events[i], err);
		if (rc == 0)
			rc = sql_int(e, 1, s->hits[from].source, err);
		while (rc == 0 && (rc = sql_step(e, err)) == 1)
			rc = place(s, e, alias, from, to, err);
	}
	return rc;
}

/* Records are read once more for the words around their hits, which come one after the other. read: whose record b holds. */
static int find_part(struct sightings *s, struct hit *h, const struct hit **read, struct buf *b, struct err *err)
{
	uint64_t len = MIN(h->len, (uint64_t)RECORD_MAX_BYTES);
	int rc = 0;
	if (!h->placed || h->part || h->at - h->off >= len)
		return 0;
	if (!*read || (*read)->source != h->source || (*read)->off != h->off || (*read)->len != h->len) {
		buf_clear(b);
		rc = evidence_read(s->c, h->source, h->off, len, b, err);
		*read = h;
	}
	if (rc == 0)
		h->part = part_at(buf_text(b), (size_t)(h->at - h->off));
	return rc;
}

static int place_all(struct sightings *s, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(2 * RECORD_MAX_BYTES);
	const struct hit *read = NULL;
	int rc = 0;
	if (s->n)
		qsort(s->hits, s->n, sizeof(*s->hits), hit_cmp);
	for (size_t from = 0, to; rc == 0 && from < s->n; from = to) {
		for (to = from; to < s->n && s->hits[to].source == s->hits[from].source; to++)
			;
		rc = place_source(s, from, to, err);
	}
	for (size_t i = 0; rc == 0 && i < s->n; i++) {
		struct hit *h = &s->hits[i];
		if (h->torn_between) {
			h->placed = false;
			h->request = 0;
		}
		rc = find_part(s, h, &read, &b, err);
		if (rc == 0)
			rc = tenant_of(s, h->request, &h->tenant, err);
	}
	return rc;
}

/* ---- verdicts ---- */

static enum tri crosses(const struct planted *p, const struct hit *h)
{
	return !p->tenant || !h->tenant ? TRI_UNKNOWN : p->tenant != h->tenant ? TRI_YES : TRI_NO;
}

static const char *verdict_of(const struct planted *p, const struct hit *h)
{
	if (!h->request)
		return "unknown";
	if (p->request == h->request)
		return "own";
	if (h->part != PART_ANSWERED) /* a URL, a header, his own prompt: anybody can write a marker there */
		return "unknown";
	if (p->request || crosses(p, h) == TRI_YES)
		return "foreign";
	return "unknown";
}

static int write_hit(struct sightings *s, struct sql *q, const struct hit *h, struct err *err)
{
	const struct needle *n = &s->needles[h->needle];
	const struct marker *m = &s->markers.list[n->marker];
	const struct planted *p = &s->planted[n->marker];
	int rc = sql_text(q, 1, m->text, err);
	const struct text texts[] = {
	    text_of(spelling_names[n->how]),  text_of(part_names[h->part]), m->planted_request, m->planted_tenant,
	    text_of(tri_name(crosses(p, h))), text_of(verdict_of(p, h))};
	const int64_t ints[] = {h->source, (int64_t)h->off, (int64_t)h->len, p->request, h->request};
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(texts); i++)
		rc = texts[i].ptr ? sql_text(q, (int)i + 2, texts[i], err) : sql_null(q, (int)i + 2, err);
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(ints); i++)
		rc = i > 2 && !ints[i] ? sql_null(q, (int)i + 8, err) : sql_int(q, (int)i + 8, ints[i], err);
	return rc == 0 ? sql_step(q, err) : rc;
}

/* Order of rows: by record, then marker, then part. */
static int record_cmp(const struct sightings *s, const struct hit *x, const struct hit *y)
{
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	uint32_t a = s->needles[x->needle].marker, b = s->needles[y->needle].marker;
	if (a != b)
		return a < b ? -1 : 1;
	return (int)x->part - (int)y->part;
}

static int row_cmp(const void *a, const void *b, void *ctx)
{
	const struct hit *x = a, *y = b;
	int d = record_cmp(ctx, x, y);
	if (d)
		return d;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->needle > y->needle) - (x->needle < y->needle);
}

/* One row for a marker and a record, however often it stands there. */
static int write_all(struct sightings *s, struct err *err)
{
	CLEANUP(sql_endp) struct sql *q = NULL;
	int rc = sql_prepare(
	    &q, s->c,
	    "INSERT INTO sighting(marker, spelling, part, planted_name, planted_tenant, cross_tenant, verdict, "
	    "source, byte_off, byte_len, planted_request, seen_request) "
	    "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
	    err);
	qsort_r(s->hits, s->n, sizeof(*s->hits), row_cmp, s);
	for (size_t i = 0; rc == 0 && i < s->n; i++)
		if (!i || record_cmp(s, &s->hits[i - 1], &s->hits[i]))
			rc = write_hit(s, q, &s->hits[i], err);
	if (rc == 0 && s->full)
		rc = sql_exec(s->c,
			      "INSERT INTO gap(kind, effect, refs) VALUES('markers', 'markers stand in more places "
			      "than are kept: "
			      "a sighting may be missing', '[]')",
			      err);
	return rc;
}

int sighting_write(struct case_file *c, struct err *err)
{
	struct sightings s = {.c = c, .seam = BUF_INIT(MIB)};
	arena_init(&s.arena, ARENA_MAX_BYTES);
	int rc = load_markers(&s, err);
	if (rc == 0 && s.markers.n) {
		rc = sql_prepare(&s.tenant, c, "SELECT coalesce(tenant, 0) FROM request WHERE request = ?1", err);
		if (rc == 0)
			rc = find_planted(&s, err);
		if (rc == 0)
			rc = compile(&s, err);
		if (rc == 0)
			rc = search_all(&s, err);
		if (rc == 0)
			rc = place_all(&s, err);
		if (rc == 0)
			rc = write_all(&s, err);
	}
	sql_end(s.tenant);
	literals_thread_free(s.own);
	literals_free(s.literals);
	free(s.needles);
	free(s.hits);
	buf_done(&s.seam);
	arena_done(&s.arena);
	return rc;
}
