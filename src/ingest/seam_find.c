/* SPDX-License-Identifier: Apache-2.0 */
/* seam_find.c - where a record is cut by the end of a file, and how it goes on in another one: as the stored lines say
 *
 * Only the outermost wrapper is asked, line by line. A line that it does not understand may be a piece that is missing: nothing
 * is joined across it.
 */
#include <stdlib.h>
#include <string.h>

#include "pagetrail/evidence.h"
#include "seam.h"

/* Longest line of a wrapper that is looked at: 16 KiB of text, each byte of it escaped by six. */
enum { LINE_MAX_BYTES = 1024 * 1024, LAST_LINES_BYTES = 256 * 1024 };

/* --- lines of the evidence --- */

struct lines {
	struct session *s;
	int64_t source;
	uint64_t from, bytes; /* offset of what is in b; size of the source */
	struct buf b;
	size_t at;
};

static struct lines lines_from(struct session *s, const struct seam_file *f, uint64_t off)
{
	return (struct lines){.s = s,
			      .source = f->source,
			      .from = off,
			      .bytes = f->bytes,
			      .b = BUF_INIT(2 * LINE_MAX_BYTES + EVIDENCE_CHUNK_BYTES + BUF_PADDING)};
}

/* Up to the end of a chunk. That the case is damaged is for verify to say: 1, there is no more. */
static int read_more(struct lines *l, struct err *err)
{
	if (l->at)
		memmove(l->b.ptr, l->b.ptr + l->at, l->b.len - l->at);
	l->b.len -= l->at;
	l->from += l->at;
	l->at = 0;
	uint64_t off = l->from + l->b.len, n = MIN(EVIDENCE_CHUNK_BYTES - off % EVIDENCE_CHUNK_BYTES, l->bytes - off);
	int rc = buf_reserve(&l->b, (size_t)n + BUF_PADDING, err);
	if (rc == 0)
		rc = evidence_read(l->s->c, l->source, off, n, &l->b, err);
	if (rc == ERR_INPUT || rc == ERR_DAMAGED) {
		*err = (struct err){0};
		return 1;
	}
	return rc;
}

/* 1 a line with its end; 0 no more; 2 what is left is no line. */
static int lines_next(struct lines *l, struct text *ret, uint64_t *ret_off, struct err *err)
{
	for (;;) {
		const char *p = l->b.len ? l->b.ptr + l->at : NULL;
		const char *nl = p ? memchr(p, '\n', l->b.len - l->at) : NULL;
		if (nl) {
			*ret = (struct text){p, (size_t)(nl + 1 - p)};
			*ret_off = l->from + l->at;
			l->at += ret->len;
			return 1;
		}
		if (l->from + l->b.len == l->bytes)
			return l->at < l->b.len ? 2 : 0;
		if (l->b.len - l->at > LINE_MAX_BYTES)
			return 2;
		int rc = read_more(l, err);
		if (rc != 0)
			return rc < 0 ? rc : 2;
	}
}

/* --- pieces in them --- */

struct piece {
	unsigned n;
	bool whole_line, more;
	int64_t ts;
	struct buf facts;
	struct err *err;
};

static int on_piece(void *ctx, const struct wrapped *w)
{
	struct piece *p = ctx;
	const struct text facts[] = {w->host, w->unit, w->pod, w->container, w->stream};
	int rc = 0;
	p->n++;
	p->whole_line = !w->len;
	p->more = w->more;
	p->ts = w->ts.quality == STAMP_ZONED || w->ts.quality == STAMP_NAIVE ? w->ts.ns : TIME_UNKNOWN;
	buf_clear(&p->facts);
	for (size_t i = 0; i < ARRAY_SIZE(facts) && rc == 0; i++) {
		rc = buf_add_text(&p->facts, text_sub(facts[i], 0, NAME_MAX_BYTES), p->err);
		if (rc == 0)
			rc = buf_add_char(&p->facts, '\0', p->err);
	}
	return rc;
}

/* 1 the line is one piece, 0 nothing is in it, 2 it is not understood. */
static int take_apart(struct session *s, const struct wrapper *w, struct text line, struct piece *p, struct err *err)
{
	struct unwrap *u;
	formats_bind(&s->formats, err);
	int rc = formats_unwrap(&s->formats, w, 0, &u);
	line = text_chomp(line);
	if (rc < 0 || !text_trim(line).len)
		return rc;
	if (memchr(line.ptr, 0, line.len))
		return 2;
	arena_reset(&u->scratch);
	u->reason = NULL;
	u->give = on_piece;
	u->give_ctx = p;
	p->n = 0;
	p->err = err;
	int v = w->record(u, line);
	u->give_ctx = NULL;
	if (v < 0 && v != ERR_LIMIT)
		return v;
	if (v == RECORD_CONTEXT)
		return 0;
	return v == RECORD_PARSED && p->n == 1 && p->whole_line && p->ts != TIME_UNKNOWN ? 1 : 2;
}

static struct piece piece_new(void)
{
	return (struct piece){.facts = BUF_INIT(8 * NAME_MAX_BYTES)};
}

/* --- a file --- */

static int find_first(struct session *s, const struct wrapper *w, struct seam_file *f, struct piece *p, struct err *err)
{
	struct lines l = lines_from(s, f, 0);
	struct text line;
	uint64_t off;
	int rc;
	while (f->first_ns == TIME_UNKNOWN && (rc = lines_next(&l, &line, &off, err)) == 1 && off < LAST_LINES_BYTES) {
		rc = take_apart(s, w, line, p, err);
		if (rc < 0)
			break;
		if (rc == 1)
			f->first_ns = p->ts;
	}
	buf_done(&l.b);
	return f->first_ns == TIME_UNKNOWN ? MIN(rc, 0) : 0;
}

static int find_last(struct session *s, const struct wrapper *w, struct seam_file *f, struct piece *p, struct err *err)
{
	uint64_t from = f->bytes - MIN(f->bytes, LAST_LINES_BYTES), off;
	struct lines l = lines_from(s, f, from);
	struct text line;
	int rc;
	while ((rc = lines_next(&l, &line, &off, err)) == 1) {
		if (from && off == from) /* perhaps not all of it */
			continue;
		rc = take_apart(s, w, line, p, err);
		if (rc < 0)
			break;
		if (rc == 1)
			f->last_ns = p->ts;
	}
	buf_done(&l.b);
	return MIN(rc, 0);
}

int seam_look(struct session *s, const struct wrapper *w, struct seam_file *f, struct err *err)
{
	struct piece p = piece_new();
	if (f->looked)
		return 0;
	f->looked = true;
	f->first_ns = f->last_ns = TIME_UNKNOWN;
	int rc = find_first(s, w, f, &p, err);
	if (rc == 0)
		rc = find_last(s, w, f, &p, err);
	buf_done(&p.facts);
	return rc;
}

/* --- a record in it --- */

int seam_end(struct session *s, const struct seam_file *f, const struct spans *spans, struct buf *facts,
	     int64_t *ret_last_ns, struct err *err)
{
	const struct span *last = &spans->at[spans->n - 1];
	uint64_t end = last->off + last->len, from = end - MIN(last->len, LINE_MAX_BYTES), off;
	struct lines l = lines_from(s, f, from);
	struct piece p = piece_new();
	struct text line;
	bool good = true, found = false;
	int rc;
	while (good && (rc = lines_next(&l, &line, &off, err)) == 1) {
		if (off == from && from > last->off)
			continue;
		rc = take_apart(s, f->wrap, line, &p, err);
		if (rc < 0)
			break;
		if (off + line.len == end) { /* the last piece */
			good = found = rc == 1 && p.more;
			*ret_last_ns = p.ts;
			buf_clear(facts);
			rc = buf_add_text(facts, buf_text(&p.facts), err);
		} else if (off >= end) {
			good = rc == 0 || (rc == 1 && !text_eq(buf_text(&p.facts), buf_text(facts)));
			rc = 0;
		}
		if (rc < 0)
			break;
	}
	good = good && rc == 0; /* to the end of the source, in lines */
	buf_done(&l.b);
	buf_done(&p.facts);
	return rc < 0 ? rc : good && found;
}

/* What a line is to a record that is cut. */
enum { GOES_ON = 0, ENDS = 1, DOUBT = 2, FAR_OFF = 3 };

static bool is_near(int64_t ns, int64_t after_ns)
{
	return ns >= after_ns && stamps_apart(ns, after_ns) <= SEAM_APART_NS;
}

/* One more line of the origin. */
static int add_line(struct seam_rest *r, const struct piece *p, uint64_t off, uint64_t len, int64_t after_ns,
		    struct err *err)
{
	if (!r->lines.n && !is_near(p->ts, after_ns))
		return FAR_OFF;
	if (!r->lines.n)
		r->first_ns = p->ts;
	r->last_ns = p->ts;
	r->bytes += len;
	r->ends = !p->more;
	int rc = spans_add(&r->lines, off, len, err);
	return rc < 0 ? rc : r->lines.n > JOIN_RUNS_MAX ? DOUBT : r->ends ? ENDS : GOES_ON;
}

int seam_rest(struct session *s, const struct wrapper *w, const struct seam_file *f, struct text facts,
	      int64_t after_ns, struct seam_rest *ret, struct err *err)
{
	struct lines l = lines_from(s, f, 0);
	struct piece p = piece_new();
	struct text line;
	uint64_t off;
	int rc;
	*ret = (struct seam_rest){0};
	while ((rc = lines_next(&l, &line, &off, err)) == 1) {
		rc = take_apart(s, w, line, &p, err); /* 0 nothing is in it, 2 a doubt */
		if (rc == 1 && text_eq(buf_text(&p.facts), facts))
			rc = add_line(ret, &p, off, line.len, after_ns, err);
		else if (rc == 1)
			rc = !ret->lines.n && p.ts > after_ns && !is_near(p.ts, after_ns) ? FAR_OFF : GOES_ON;
		if (rc == GOES_ON && off > JOIN_SPAN_MAX_BYTES)
			rc = DOUBT;
		if (rc != GOES_ON)
			break;
	}
	buf_done(&l.b);
	buf_done(&p.facts);
	if (rc == ENDS || (rc == GOES_ON && ret->lines.n)) /* or nothing comes behind its last line */
		return 1;
	seam_rest_done(ret);
	return rc == FAR_OFF ? 0 : rc;
}

void seam_rest_done(struct seam_rest *r)
{
	free(r->lines.at);
	*r = (struct seam_rest){0};
}
