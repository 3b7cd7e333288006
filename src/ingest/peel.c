/* SPDX-License-Identifier: Apache-2.0 */
/* peel.c - outer records to inner ones, and these to their parsers
 *
 * An outer record gives pieces. A piece that goes on waits at its origin for the rest; a whole one is taken apart by the next
 * wrapper, or parsed. Its bytes are accounted when its verdict is known, so those of a record in pieces come later than
 * what was written in between. What a wrapper writes between two pieces is context.
 */
#include <stdlib.h>
#include <string.h>

#include "detect.h"
#include "records_parts.h"

/* An outer record, or an inner one that is itself a wrapper's, while it is taken apart. */
struct outer {
	struct records *r;
	unsigned depth;
	struct origin *parent; /* NULL at depth 0 */
	struct stamp ts;       /* of the one above */
	uint64_t off, len;     /* its text in the source, for references */
	struct spans spans;    /* bytes not given to a piece yet */
	uint64_t begin, bytes; /* at depth 0: where its bytes begin, how many */
	uint64_t before;       /* of these, in front of its text */
	uint64_t taken, reach; /* how many pieces have taken, and up to where */
	unsigned given;
	bool cut; /* the source may have ended in the middle of it */
};

static int deliver(struct records *r, struct origin *s, struct stamp ts, struct record rec, struct spans *spans,
		   bool cut);
static int on_piece(void *ctx, const struct wrapped *piece);

/* --- a year for stamps without one --- */

/* A wrapper gives such a stamp in a leap year. It gets the year that brings it nearest to what else is known. */
static struct stamp with_year(const struct records *r, struct stamp ts)
{
	const int64_t day = 86400 * NS_PER_S;
	int64_t near = r->last_ns != TIME_UNKNOWN ? r->last_ns : r->ask.outer.ns, best = TIME_UNKNOWN, base;
	if (ts.quality != STAMP_YEARLESS)
		return ts;
	if (near == TIME_UNKNOWN || !stamp_from_civil(WRAP_LEAP_YEAR, 1, 1, 0, 0, 0, 0, &base))
		return STAMP_INIT;
	int64_t since = ts.ns - base;
	bool after_february = since >= 60 * day, leap_day = since / day == 59;
	int about = 1970 + (int)(near / day / 365);
	for (int year = about - 2; year <= about + 1; year++) {
		int64_t ns;
		bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
		if ((leap_day && !leap) || !stamp_from_civil(year, 1, 1, 0, 0, 0, 0, &ns))
			continue;
		ns += since - (after_february && !leap ? day : 0);
		if (best == TIME_UNKNOWN || llabs(ns - near) < llabs(best - near))
			best = ns;
	}
	ts.ns = best;
	return best == TIME_UNKNOWN ? STAMP_INIT : ts;
}

/* --- which parser --- */

static void inherit(struct records *r, struct origin *s)
{
	const struct stack *stack = r->ask.stack;
	struct formats *f = r->formats;
	s->parse.main = s->parse.sticky = f->n;
	for (size_t i = 0; i < stack->n_choices; i++)
		if (stack->choice[i].parser && stack->choice[i].place == s->place)
			s->parse.main = formats_index(f, stack->choice[i].parser);
	if (stack->parser && (stack->forced || (s->parse.main == f->n && !stack_many(stack))))
		s->parse.main = formats_index(f, stack->parser);
}

/* The format that others of this kind (the same container in another pod, the same unit on another host) have. */
static size_t of_its_kind(const struct records *r, const struct origin *s)
{
	const struct stack *stack = r->ask.stack;
	struct formats *f = r->formats;
	for (size_t i = 0; s->role && i < stack->n_choices; i++)
		if (stack->choice[i].parser && stack->choice[i].role == s->role)
			return formats_index(f, stack->choice[i].parser);
	for (size_t i = 0; s->role && i < r->origins->n; i++)
		if (r->origins->at[i]->role == s->role && r->origins->at[i]->parse.looked &&
		    r->origins->at[i]->parse.main < f->n)
			return r->origins->at[i]->parse.main;
	return f->n;
}

/* Does this record say what the origin's format is? */
static int decide(struct records *r, struct origin *s, struct text text)
{
	struct formats *f = r->formats;
	struct origin_parse *sp = &s->parse;
	if (!sp->looked++)
		inherit(r, s);
	for (size_t i = 0; i < f->n && sp->main == f->n; i++) {
		struct parse *p;
		if (f->list[i]->shape != SHAPE_LINES)
			continue;
		int rc = formats_get(f, i, &p);
		if (rc < 0)
			return rc;
		if (formats_bid(f, p, text, true) == BID_STRONG)
			sp->main = i;
	}
	size_t kind = sp->main == f->n ? of_its_kind(r, s) : f->n;
	if (kind < f->n) {
		struct parse *p;
		int rc = formats_get(f, kind, &p);
		if (rc < 0)
			return rc;
		if (formats_bid(f, p, text, true) != BID_NO)
			sp->main = kind;
	}
	return 0;
}

/* --- the innermost --- */

/* Nothing behind what looks like a wrapper's words: a line of it, where other lines show that it is one. */
static enum verdict of_blank(const struct records *r)
{
	const struct stack *stack = r->ask.stack;
	return stack->proven || (!stack->forced && r->recognised) ? RECORD_CONTEXT : RECORD_UNPARSED;
}

static int parse_part(struct records *r, const struct record *rec, struct spans *spans, bool cut)
{
	enum verdict v = of_blank(r);
	const char *reason = unrecognised;
	int rc = record_blank(rec->text) ? 0 : record_parse(r, rec, cut, &v, &reason);
	if (rc == 0)
		rc = record_classify(r, rec, spans->at, spans->n, v, reason);
	spans->n = 0; /* what else is in these bytes adds none */
	return rc;
}

static int parse_inner(struct records *r, struct origin *s, struct record rec, struct spans *spans, bool cut)
{
	struct parse *p;
	void *home;
	rec.text = line_strip_nul(rec.text);
	int rc = parser_enter(r, s->parse.main, &p, &home);
	if (rc < 0)
		return rc;
	r->main = p;
	r->recognised = true;
	/* two writers of one pipe end up in one line; what comes behind a line end is the text of whoever wrote it */
	const char *nl = rec.text.len ? memchr(rec.text.ptr, '\n', rec.text.len) : NULL;
	while (rc == 0 && p->parser->split && rec.text.len) {
		size_t n = p->parser->split(p, rec.text);
		if (n == 0 || n >= rec.text.len || (nl && rec.text.ptr + n > nl))
			break;
		struct record part = rec;
		part.text = text_sub(rec.text, 0, n);
		rc = parse_part(r, &part, spans, false);
		rec.text = text_from(rec.text, n);
	}
	if (rc == 0)
		rc = parse_part(r, &rec, spans, cut);
	parser_leave(p, home);
	r->main = NULL;
	return rc;
}

static int make_room(struct records *r, struct origin *old);

static int place_of(struct records *r, const struct origin *s, struct origin **ret)
{
	struct origin *old;
	int rc;
	do {
		rc = origins_place(r->origins, s, ret, &old, r->err);
		if (rc == 0 && old)
			rc = make_room(r, old);
	} while (rc == 0 && old);
	return rc;
}

static int take_inner(struct records *r, const struct origin *from, struct stamp ts, struct record rec,
		      struct spans *spans, bool cut)
{
	struct origin *s = NULL;
	int rc = place_of(r, from, &s);
	if (rc < 0)
		return rc;
	if (r->sink.inner) {
		rc = r->enough ? 0 : r->sink.inner(r->sink.ctx, s, rec.text, r->err);
		r->enough = r->enough || rc == 1;
		return MIN(rc, 0);
	}
	struct origin_parse *sp = &s->parse;
	if (!sp->looked || (sp->main == r->formats->n && sp->looked < DETECT_RECORDS && !record_blank(rec.text)))
		rc = decide(r, s, rec.text);
	if (rc < 0)
		return rc;
	r->at = sp;
	if (sp->main == r->formats->n) {
		rc = record_classify(r, &rec, spans->at, spans->n,
				     record_blank(rec.text) ? of_blank(r) : RECORD_UNPARSED, unrecognised);
	} else {
		r->seen = with_year(r, ts);
		r->worker = r->ask.named ? TEXT("") : s->worker;
		rc = parse_inner(r, s, rec, spans, cut);
		r->seen = STAMP_INIT;
		r->worker = TEXT("");
	}
	r->at = &r->bare;
	return rc;
}

/* --- pieces --- */

/* What no piece took of it: what the wrapper wrote round them, and what breaks off behind them. */
static int account_outer(struct records *r, struct outer *o, struct text t, enum verdict v, const char *reason)
{
	bool own = !o->given || v == RECORD_UNPARSED;
	uint64_t end = own && o->depth == 0 ? o->bytes - o->reach : 0;
	const struct record rec = {t, o->off, o->len};
	int rc = 0;
	if (o->depth == 0)
		account_extend(&r->account, RECORD_CONTEXT, o->bytes - o->taken - end);
	if (!own)
		return 0;
	if (o->depth == 0)
		rc = spans_add(&o->spans, o->begin + o->reach, end, r->err);
	r->at = o->parent ? &o->parent->parse : &r->bare;
	if (rc == 0)
		rc = record_classify(r, &rec, o->spans.at, o->spans.n, v == RECORD_PARSED ? RECORD_CONTEXT : v, reason);
	r->at = &r->bare;
	return rc;
}

static int take_apart(struct records *r, struct outer *o, struct text t)
{
	struct unwrap *u;
	int rc = formats_unwrap(r->formats, r->ask.stack->wrap[o->depth], o->depth, &u);
	if (rc < 0)
		return rc;
	arena_reset(&u->scratch);
	u->reason = NULL;
	u->give = on_piece;
	u->give_ctx = o;
	int v = u->wrapper->record(u, t);
	u->give_ctx = NULL;
	if (v == ERR_LIMIT) {
		v = RECORD_UNPARSED;
		u->reason = "limit";
	}
	if (v < 0) {
		err_where(r->err, "wrapper %s, byte %llu", u->wrapper->name, (unsigned long long)o->off);
		return v;
	}
	if (v < RECORD_PARSED || v > RECORD_UNPARSED)
		return err_set(r->err, ERR_BUG, "wrapper %s gave the verdict %d", u->wrapper->name, v);
	return r->sink.inner ? 0 : account_outer(r, o, t, (enum verdict)v, u->reason);
}

static void stop_waiting(struct records *r, struct origin *s)
{
	r->origins->joined -= MIN(r->origins->joined, s->join.len);
	if (s->join.cap > 256 * KIB)
		buf_done(&s->join);
	else
		buf_clear(&s->join);
	s->spans.n = 0;
	s->pending = s->too_long = false;
}

/* What waited is given on, whole or not. */
static int end_waiting(struct records *r, struct origin *s, bool cut)
{
	struct record at = {buf_text(&s->join), s->ref_off, s->ref_end - s->ref_off};
	int rc;
	if (at.len > JOIN_SPAN_MAX_BYTES && s->spans.n) {
		at.off = s->spans.at[s->spans.n - 1].off;
		at.len = s->ref_end - at.off;
	}
	if (s->too_long) {
		at.text = text_sub(at.text, 0, 256);
		r->at = &s->parse;
		rc = record_classify(r, &at, s->spans.at, s->spans.n, RECORD_UNPARSED, "too_long");
		r->at = &r->bare;
	} else {
		rc = deliver(r, s, s->ts, at, &s->spans, cut);
	}
	stop_waiting(r, s);
	return rc;
}

/* An origin, or a place, has to make room. */
static int make_room(struct records *r, struct origin *old)
{
	int rc = 0;
	r->at = &old->parse;
	if (old->pending) {
		const struct record rec = {text_sub(buf_text(&old->join), 0, 256), old->ref_off,
					   old->ref_end - old->ref_off};
		rc = record_classify(r, &rec, old->spans.at, old->spans.n, RECORD_UNPARSED, "torn");
	}
	r->worker = r->ask.named ? TEXT("") : old->worker;
	if (rc == 0)
		rc = record_finish(r);
	r->worker = TEXT("");
	r->at = &r->bare;
	origins_forget(r->origins, old, r->formats);
	return rc;
}

static int wait_for_more(struct records *r, struct origin *s, const struct wrapped *piece, struct stamp ts,
			 struct record at, struct spans *spans)
{
	int rc = 0;
	if (!s->pending) {
		s->ts = ts;
		s->ref_off = at.off;
		s->pending = true;
	}
	s->ref_end = at.off + at.len;
	for (size_t i = 0; i < spans->n && rc == 0; i++)
		rc = spans_add(&s->spans, spans->at[i].off, spans->at[i].len, r->err);
	spans->n = 0;
	s->too_long = s->too_long || s->join.len + piece->text.len > RECORD_MAX_BYTES ||
		      r->origins->joined + piece->text.len > JOIN_MAX_BYTES || s->spans.n > JOIN_RUNS_MAX;
	if (rc == 0 && !s->too_long) {
		rc = buf_add_text(&s->join, piece->text, r->err);
		r->origins->joined += piece->text.len;
	}
	if (rc == 0 && s->spans.n > JOIN_RUNS_MAX) /* their list is bounded, too */
		return end_waiting(r, s, true);
	return rc < 0 || piece->more ? rc : end_waiting(r, s, false);
}

static int on_piece(void *ctx, const struct wrapped *piece)
{
	struct outer *o = ctx;
	struct records *r = o->r;
	struct origin *s = NULL, *old;
	struct record at = {piece->text, o->off, o->len};
	int rc = 0;
	if (r->enough)
		return 0;
	if (o->depth == 0) { /* deeper, its place is that of the record round it */
		uint64_t from = piece->len ? o->before + piece->off : o->reach;
		uint64_t end = piece->len ? from + piece->len : o->bytes;
		if (end > o->bytes || from > end)
			return err_set(r->err, ERR_BUG, "a piece lies outside of its record");
		rc = spans_add(&o->spans, o->begin + from, end - from, r->err);
		o->taken += end - from;
		o->reach = MAX(o->reach, end);
		if (piece->len) {
			at.off = o->off + piece->off;
			at.len = piece->len;
		}
	}
	do {
		if (rc == 0)
			rc = origins_get(r->origins, o->depth, o->parent, piece, &s, &old, r->err);
		if (rc == 0 && old)
			rc = make_room(r, old);
	} while (rc == 0 && old);
	if (rc < 0)
		return rc;
	o->given++;
	struct stamp ts = piece->ts.ns != TIME_UNKNOWN ? piece->ts : o->ts;
	if (s->pending || piece->more)
		rc = wait_for_more(r, s, piece, ts, at, &o->spans);
	else
		rc = deliver(r, s, ts, at, &o->spans, o->cut || piece->cut);
	o->spans.n = 0;
	return rc;
}

static int take_apart_again(struct records *r, struct origin *s, struct stamp ts, const struct record *rec,
			    struct spans *spans, bool cut)
{
	struct outer o = {
	    .r = r, .depth = s->depth + 1, .parent = s, .ts = ts, .off = rec->off, .len = rec->len, .cut = cut};
	o.spans = *spans; /* lent */
	int rc = take_apart(r, &o, rec->text);
	spans->at = o.spans.at;
	spans->cap = o.spans.cap;
	spans->n = 0;
	return rc;
}

/* A whole inner record: to the next wrapper, or to its parser. */
static int deliver(struct records *r, struct origin *s, struct stamp ts, struct record rec, struct spans *spans,
		   bool cut)
{
	int rc;
	if (rec.text.len && rec.text.ptr[rec.text.len - 1] == '\r')
		rec.text.len--;
	s->busy++;
	if (s->depth + 1 == r->ask.stack->n) {
		rc = take_inner(r, s, ts, rec, spans, cut);
	} else if (record_blank(rec.text)) {
		r->at = &s->parse;
		rc = r->sink.inner ? 0 : record_classify(r, &rec, spans->at, spans->n, RECORD_CONTEXT, NULL);
		r->at = &r->bare;
	} else {
		rc = take_apart_again(r, s, ts, &rec, spans, cut);
	}
	s->busy--;
	return rc;
}

void peel_done(struct records *r)
{
	if (r->outer)
		free(r->outer->spans.at);
	free(r->outer);
	r->outer = NULL;
}

int outer_take(struct records *r, struct text t, uint64_t before, uint64_t bytes)
{
	struct outer *o = r->outer;
	if (record_blank(t) && !r->frame)
		return record_piece(r, t, r->off + before, bytes, RECORD_CONTEXT, NULL);
	if (!o) {
		o = r->outer = calloc(1, sizeof(*o));
		if (!o)
			return err_nomem(r->err);
		o->r = r;
		o->ts = STAMP_INIT;
	}
	o->off = r->off + before;
	o->len = t.len;
	o->begin = r->off;
	o->before = before;
	o->bytes = bytes;
	o->taken = o->reach = o->given = 0;
	o->spans.n = 0;
	o->cut = r->unended && !r->ask.stack->wrap[0]->closed;
	int rc = take_apart(r, o, t);
	r->off += bytes;
	return rc;
}

static struct origin *first_pending(const struct records *r, unsigned depth)
{
	for (size_t i = 0; i < r->origins->n; i++)
		if (r->origins->at[i]->depth == depth && r->origins->at[i]->pending)
			return r->origins->at[i];
	return NULL;
}

/* What the source ends in the middle of. */
static int tell_unended(struct records *r)
{
	int rc = 0;
	for (size_t i = 0; i < r->origins->n && rc == 0 && r->sink.unended; i++) {
		const struct origin *s = r->origins->at[i];
		if (s->depth == 0 && s->pending && !s->too_long)
			rc = r->sink.unended(r->sink.ctx, s->spans.at, s->spans.n, r->err);
	}
	return rc;
}

int peel_end(struct records *r)
{
	struct origin *s;
	int rc = tell_unended(r);
	for (unsigned depth = 0; depth < r->ask.stack->n; depth++)
		while (rc == 0 && (s = first_pending(r, depth)))
			rc = end_waiting(r, s, true);
	for (size_t i = 0; i < r->origins->n && rc == 0 && !r->sink.inner; i++) {
		r->at = &r->origins->at[i]->parse;
		r->worker = r->ask.named ? TEXT("") : r->origins->at[i]->worker;
		rc = record_finish(r);
	}
	r->at = &r->bare;
	r->worker = TEXT("");
	return rc;
}
