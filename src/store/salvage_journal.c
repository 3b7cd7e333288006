/* SPDX-License-Identifier: Apache-2.0 */
/* salvage_journal.c - the chain of custody of a damaged case
 *
 * As far as the chain holds, its rows go over as they are: a head that somebody kept is still found in them. What lies
 * behind the first bad row proves nothing any more, but says something: it becomes the detail of rows of the new chain.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/begun.h"
#include "pagetrail/buf.h"
#include "salvage.h"

void sealed_done(struct sealed_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->list[i].detail);
	free(l->list);
	*l = (struct sealed_list){0};
}

static struct sealed_source *find(const struct sealed_list *l, int64_t source)
{
	for (size_t i = l->n; i-- > 0;)
		if (l->list[i].source == source)
			return &l->list[i];
	return NULL;
}

const struct sealed_source *sealed_find(const struct sealed_list *l, int64_t source)
{
	return find(l, source);
}

static struct sealed_source *find_or_add(struct sealed_list *l, int64_t source)
{
	struct sealed_source *s = find(l, source);
	if (s)
		return s;
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 64;
		struct sealed_source *grown = reallocarray(l->list, cap, sizeof(*grown));
		if (!grown)
			return NULL;
		l->list = grown;
		l->cap = cap;
	}
	s = &l->list[l->n++];
	*s = (struct sealed_source){.source = source};
	return s;
}

/* The last row about each source, out of the part that was copied. */
static int load_sealed(struct case_file *c, struct sealed_list *ret, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int r = sql_prepare(
	    &s, c,
	    "SELECT json_extract(detail,'$.source'), action = 'drop', json_extract(detail,'$.seal'), detail, "
	    "coalesce(json_extract(detail,'$.bytes'), -1), coalesce(json_extract(detail,'$.records'), -1) "
	    "FROM journal WHERE action IN ('ingest','drop') AND json_valid(detail) "
	    "AND json_type(detail,'$.source') = 'integer' AND coalesce(json_extract(detail,'$.status'), '') <> 'known' "
	    "ORDER BY seq",
	    err);
	while (!r && (r = sql_step(s, err)) > 0) {
		struct sealed_source *e = find_or_add(ret, sql_get_int(s, 0));
		struct text seal = sql_get_text(s, 2), detail = sql_get_text(s, 3);
		if (!e)
			return err_nomem(err);
		e->dropped = sql_get_int(s, 1);
		e->seal[0] = 0;
		if (seal.len == SHA256_HEX - 1)
			snprintf(e->seal, sizeof(e->seal), "%.*s", TEXT_ARG(seal));
		e->bytes = sql_get_int(s, 4);
		e->records = sql_get_int(s, 5);
		free(e->detail);
		e->detail = strndup(detail.ptr ? detail.ptr : "", detail.len);
		if (!e->detail)
			return err_nomem(err);
		r = 0;
	}
	return r;
}

struct journal_walk {
	struct salvage *v;
	struct sql *insert;
	int64_t expect;
	bool broken;
	unsigned char prev[SHA256_BYTES];
	int64_t behind; /* rows behind the break */
};

/* A row that proves nothing any more. */
static int keep_text(struct journal_walk *w, struct sql *s, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(4 * MIB);
	struct text sha = sql_get_text(s, 5);
	char hex[SHA256_HEX] = "";
	if (sha.len == SHA256_BYTES)
		sha256_hex((const unsigned char *)sha.ptr, hex);
	int r = buf_printf(&b, err, "{\"seq\":%" PRId64 ",\"at_ns\":%" PRId64 ",\"sha256\":\"%s\",\"action\":",
			   sql_get_int(s, 0), sql_get_int(s, 1), hex);
	if (!r)
		r = buf_json_string(&b, sql_get_text(s, 2), err);
	if (!r)
		r = buf_add_text(&b, TEXT(",\"detail\":"), err);
	if (!r)
		r = buf_json_string(&b, sql_get_text(s, 3), err);
	if (!r)
		r = buf_add_char(&b, '}', err);
	w->behind++;
	return r ? r : journal_append(w->v->to, w->v->now_ns, "unproved", buf_text(&b), NULL, err);
}

/* s: seq, at_ns, action, detail, prev_sha256, sha256. */
static int on_row(void *ctx, struct sql *s, struct err *err)
{
	struct journal_walk *w = ctx;
	unsigned char want[SHA256_BYTES];
	struct text prev = sql_get_text(s, 4), sha = sql_get_text(s, 5);
	int64_t seq = sql_get_int(s, 0);
	int r = journal_hash(w->prev, seq, sql_get_int(s, 1), sql_get_text(s, 2), sql_get_text(s, 3), want, err);
	if (r)
		return r;
	w->broken |= seq != w->expect || prev.len != SHA256_BYTES || memcmp(prev.ptr, w->prev, SHA256_BYTES) ||
		     sha.len != SHA256_BYTES || memcmp(sha.ptr, want, SHA256_BYTES);
	if (w->broken && w->expect > 1)
		return keep_text(w, s, err);
	if (w->broken) { /* nothing holds: these rows come behind the new first one */
		w->behind++;
		return 0;
	}
	for (int i = 0; !r && i < 6; i++) {
		if (i < 2)
			r = sql_int(w->insert, i + 1, sql_get_int(s, i), err);
		else if (i < 4)
			r = sql_text(w->insert, i + 1, sql_get_text(s, i).ptr ? sql_get_text(s, i) : TEXT(""), err);
		else
			r = sql_blob(w->insert, i + 1, sql_get_text(s, i), err);
	}
	if (!r)
		r = sql_run(w->insert, err);
	memcpy(w->prev, want, SHA256_BYTES);
	w->expect++;
	return r;
}

/* What a person had said of the case, into case_info: from the first row where that holds, else as it stands. */
static int save_info(struct salvage *v, bool proved, struct err *err)
{
	static const char *const keys[] = {"tool", "id", "title"};
	int r = 0;
	for (size_t i = 0; !r && i < ARRAY_SIZE(keys); i++) {
		CLEANUP(buf_done) struct buf value = BUF_INIT(MIB);
		CLEANUP(sql_endp) struct sql *s = NULL;
		int there = 1;
		if (proved) {
			r = sql_prepare(&s, v->to, "SELECT json_extract(detail, '$.' || ?1) FROM journal WHERE seq = 1",
					err);
			if (!r)
				r = sql_text(s, 1, text_of(keys[i]), err);
			there = r ? r : sql_step(s, err);
			if (there > 0 && sql_get_text(s, 0).ptr)
				r = buf_add_text(&value, sql_get_text(s, 0), err);
			there = there > 0 ? !sql_get_text(s, 0).ptr : there;
		} else {
			struct err e = {0};
			there = case_info_get(v->from, keys[i], &value, &e);
			there = there < 0 && salvage_goes_on(there) ? 1 : there;
		}
		if (there < 0)
			return there;
		if (!r && !there)
			r = case_info_set(v->to, keys[i], value.ptr ? buf_text(&value) : TEXT(""), err);
	}
	return r;
}

/* Runs that did not end: what they did not read, a salvage does not bring back. */
static int keep_begun(struct salvage *v, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	CLEANUP(buf_done) struct buf key = BUF_INIT(MIB);
	struct err e = {0};
	int r = sql_prepare(&s, v->from, "SELECT key, value FROM main.case_info WHERE " BEGUN_IS("key"), &e);
	while (!r && (r = sql_step(s, &e)) == 1) {
		buf_clear(&key);
		r = buf_add_text(&key, sql_get_text(s, 0), err);
		if (!r)
			r = case_info_set(v->to, key.ptr, sql_get_text(s, 1), err);
		if (r)
			return r;
	}
	if (!r || salvage_goes_on(r))
		return 0;
	if (err)
		*err = e;
	return r;
}

/* A first row, as a new case has one. */
static int first_row(struct salvage *v, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int r = sql_prepare(&s, v->to,
			    "SELECT json_object('tool', (SELECT value FROM case_info WHERE key = 'tool'), "
			    "'id', (SELECT value FROM case_info WHERE key = 'id'), "
			    "'title', (SELECT value FROM case_info WHERE key = 'title'))",
			    err);
	if (!r)
		r = sql_step(s, err);
	if (r < 0)
		return r;
	return journal_append(v->to, v->now_ns, "init", sql_get_text(s, 0), NULL, err);
}

#define JOURNAL_ROWS                                                                                            \
	"SELECT seq, at_ns, action, detail, prev_sha256, sha256 FROM main.journal NOT INDEXED WHERE seq >= ?1 " \
	"ORDER BY seq"

static int keep_row(void *ctx, struct sql *s, struct err *err)
{
	return keep_text(ctx, s, err);
}

static int note_break(struct salvage *v, const struct journal_walk *w, unsigned holes)
{
	char what[200];
	if (!w->broken && !holes)
		return 0;
	snprintf(what, sizeof(what),
		 "the chain holds up to row %" PRId64 "; %" PRId64
		 " row%s behind it: kept as text that proves nothing%s",
		 w->expect - 1, w->behind, PLURAL(w->behind), holes ? "; others cannot be read" : "");
	return v->sink->note(v->sink->ctx, TEXT("journal"), text_of(what));
}

int salvage_journal(struct salvage *v, struct sealed_list *ret, struct err *err)
{
	CLEANUP(sql_endp) struct sql *insert = NULL;
	struct journal_walk w = {.v = v, .expect = 1};
	unsigned holes = 0;
	int r = sql_prepare(&insert, v->to, "INSERT INTO journal VALUES(?1, ?2, ?3, ?4, ?5, ?6)", err);
	w.insert = insert;
	if (!r)
		r = salvage_walk(v, JOURNAL_ROWS, on_row, &w, &holes, err);
	if (!r)
		r = save_info(v, w.expect > 1, err);
	if (!r)
		r = keep_begun(v, err);
	if (!r)
		r = load_sealed(v->to, ret, err);
	if (!r && w.expect == 1) {
		w.behind = 0;
		r = first_row(v, err);
		if (!r)
			r = salvage_walk(v, JOURNAL_ROWS, keep_row, &w, &holes, err);
	}
	return r ? r : note_break(v, &w, holes);
}

int salvage_seal(struct case_file *to, int64_t source, int64_t now_ns, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	char seal[SHA256_HEX];
	int r = source_seal(to, source, seal, err);
	if (!r)
		r = sql_prepare(
		    &s, to,
		    "SELECT json_patch('{}', json_object('path', path, 'status', status, 'source', source, "
		    "'bytes', bytes, 'records', records, 'sha256', sha256, 'content_sha256', content_sha256, "
		    "'format', format, 'worker', worker, 'role', role, 'tz', tz, 'reason', reason, "
		    "'seal', ?2)) FROM source WHERE source = ?1",
		    err);
	if (!r)
		r = sql_int(s, 1, source, err);
	if (!r)
		r = sql_text(s, 2, text_of(seal), err);
	if (!r)
		r = sql_step(s, err);
	if (r <= 0)
		return r ? r : err_set(err, ERR_BUG, "source %" PRId64 " is not there", source);
	return journal_append(to, now_ns, "ingest", sql_get_text(s, 0), NULL, err);
}
