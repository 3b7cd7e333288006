/* SPDX-License-Identifier: Apache-2.0 */
/* records_parse.c - what becomes of one record: its parser, the others that it is offered to, its class */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "detect.h"
#include "fused.h"
#include "records_parts.h"

/* --- events --- */

static bool is_naive(const struct records *r, const struct stamp *ts)
{
	switch (ts->quality) {
	case STAMP_NAIVE:
	case STAMP_YEARLESS: return true;
	case STAMP_INTERPOLATED:
		/* has its neighbours' clock; a document's own can be that of the file system */
		return r->at->known.quality != STAMP_ZONED && r->at->known.quality != STAMP_INTERPOLATED;
	default: return false;
	}
}

/* The word or number that t ends with; empty when it ends in anything else. */
static struct text last_word(struct text t)
{
	size_t n = t.len;
	for (; n; n--) {
		unsigned char c = (unsigned char)t.ptr[n - 1];
		if (!((c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '.' || c == '_'))
			break;
	}
	return text_from(t, n);
}

/* Digits, perhaps with a point among or behind them. */
static bool decimal(struct text t, double *ret)
{
	double v = 0, scale = 0;
	for (size_t i = 0; i < t.len; i++) {
		if (t.ptr[i] == '.' && scale == 0)
			scale = 1;
		else if (t.ptr[i] >= '0' && t.ptr[i] <= '9')
			v = v * 10 + (t.ptr[i] - '0'), scale *= 10;
		else
			return false;
	}
	*ret = scale > 0 ? v / scale : v;
	return t.len > 0 && t.ptr[0] != '.';
}

static bool same_number(int64_t value, double v, double scale)
{
	return fabs((double)value - v * scale) < 1;
}

/* Columns whose value stands at the very end of a line that may go on: it may be the beginning of another value. Times are
 * worked out from each other: with one of them all of an event are doubtful. */
static uint32_t may_go_on(const struct event *e, struct text end)
{
	const struct event_kind_info *kind = &event_kinds[e->kind];
	uint32_t doubtful = 0, times = 0;
	double v = 0;
	bool number = decimal(end, &v), time = false;
	for (unsigned c = 0; c < kind->n_columns; c++) {
		if (!(e->known >> c & 1))
			continue;
		bool same = false;
		if (kind->columns[c].type == COLUMN_TEXT) {
			same = e->t[c].len && end.len >= e->t[c].len &&
			       text_eq(text_from(end, end.len - e->t[c].len), e->t[c]);
		} else if (kind->columns[c].type == COLUMN_INT && number) {
			bool ns = !strcmp(kind->columns[c].unit, "ns");
			same = same_number(e->i[c], v, 1) || same_number(e->i[c], v, 1e3) ||
			       same_number(e->i[c], v, 1e6) || same_number(e->i[c], v, 1e9);
			times |= (uint32_t)ns << c;
			time |= ns && same;
		}
		doubtful |= (uint32_t)same << c;
	}
	return doubtful | (time ? times : 0);
}

/* Whose it is by its wrapper, unless the record itself says so; a rank stays behind the name. */
static struct text wrapped_worker(struct records *r, struct text said)
{
	if (!r->worker.len || (said.len && said.ptr[0] != '/'))
		return said;
	if (!said.len)
		return r->worker;
	size_t n = MIN(r->worker.len, sizeof(r->name) / 2), more = MIN(said.len, sizeof(r->name) / 2);
	memcpy(r->name, r->worker.ptr, n);
	memcpy(r->name + n, said.ptr, more);
	return (struct text){r->name, n + more};
}

static int on_event(void *ctx, const struct event *e, struct err *err)
{
	struct records *r = ctx;
	struct event *out = (struct event *)e; /* the row of a struct parse: ours to finish */
	struct stamp given = e->ts;
	struct text worker = e->worker;
	uint32_t known = e->known;
	if (r->end.len)
		out->known &= ~may_go_on(e, r->end);
	if (given.ns != TIME_UNKNOWN) {
		if (r->ask.zone && is_naive(r, &given))
			out->ts.ns = zone_to_utc(r->ask.zone, given.ns);
		if (r->seen.quality == STAMP_ZONED && given.quality == STAMP_NAIVE)
			zone_vote(&r->votes, given.ns, given.precision_ns, r->seen.ns);
		if (given.quality != STAMP_INTERPOLATED && given.quality != STAMP_MONOTONIC)
			r->at->known = given;
		if (given.quality != STAMP_NONE && given.quality != STAMP_MONOTONIC) {
			if (r->first_ns == TIME_UNKNOWN || out->ts.ns < r->first_ns)
				r->first_ns = out->ts.ns;
			if (r->last_ns == TIME_UNKNOWN || out->ts.ns > r->last_ns)
				r->last_ns = out->ts.ns;
		}
	}
	out->worker = wrapped_worker(r, worker);
	int rc = r->sink.event ? r->sink.event(r->sink.ctx, out, err) : 0;
	out->worker = worker;
	out->ts = given;
	out->known = known;
	return rc;
}

/* --- delegation --- */

static bool may_take(const struct records *r, size_t i, const struct parse *outer)
{
	const struct parser *p = r->formats->list[i];
	return p->shape == SHAPE_LINES && p != outer->parser && r->main && p != r->main->parser;
}

/* STRONG bidder: the one before first, then in the order of the list; n when there is none. */
static int find_taker(struct records *r, const struct parse *outer, struct text record, bool padded, size_t *ret)
{
	struct formats *f = r->formats;
	for (size_t k = 0; k <= f->n; k++) {
		size_t i = k ? k - 1 : r->at->sticky;
		struct parse *p;
		if (i >= f->n || (k && i == r->at->sticky) || !may_take(r, i, outer))
			continue;
		int rc = formats_get(f, i, &p);
		if (rc < 0)
			return rc;
		if (formats_bid(f, p, record, padded) == BID_STRONG) {
			*ret = i;
			return 0;
		}
	}
	*ret = f->n;
	return 0;
}

static int on_delegate(void *ctx, struct parse *outer, struct text record);

static int state_of(struct origin_parse *sp, struct formats *f, size_t i, struct parse *p, struct err *err)
{
	struct origin_state *own = &sp->state[i];
	if (own->used || !p->parser->state_bytes) {
		own->used = true;
		p->state = own->state;
		return 0;
	}
	own->state = calloc(1, p->parser->state_bytes);
	if (!own->state)
		return err_nomem(err);
	own->used = true;
	p->state = own->state;
	(void)f;
	return p->parser->open ? p->parser->open(p) : 0;
}

int parser_enter(struct records *r, size_t i, struct parse **ret, void **ret_home)
{
	struct origin_parse *sp = r->at;
	struct parse *p;
	int rc = r->origins ? formats_get(r->formats, i, &p) : formats_use(r->formats, i, &p);
	if (rc < 0)
		return rc;
	*ret_home = p->state;
	if (r->origins && !sp->state) {
		sp->state = calloc(r->formats->n + 1, sizeof(*sp->state));
		if (!sp->state)
			return err_nomem(r->err);
	}
	rc = r->origins ? state_of(sp, r->formats, i, p, r->err) : 0;
	if (rc < 0) {
		p->state = *ret_home;
		return rc;
	}
	p->sink = on_event;
	p->sink_ctx = r;
	p->delegate = on_delegate;
	p->era = r->ask.era;
	*ret = p;
	return 0;
}

static int run_inner(struct records *r, size_t i, struct parse *outer, struct text record)
{
	struct parse *p;
	void *home;
	int rc = parser_enter(r, i, &p, &home);
	if (rc < 0)
		return rc;
	p->record_off = outer->record_off;
	p->record_len = outer->record_len;
	p->fallback = outer->fallback;
	p->padded = false; /* part of the outer record, or memory of its parser */
	p->reason = NULL;
	arena_reset(&p->scratch);
	rc = p->parser->record(p, record);
	if (rc == RECORD_UNPARSED)
		outer->reason = p->reason;
	parser_leave(p, home);
	return rc;
}

/* The format that bids STRONG takes it; lines behind a record that one took may belong to that record. */
static int on_delegate(void *ctx, struct parse *outer, struct text record)
{
	struct records *r = ctx;
	size_t before = r->at->sticky, i = r->formats->n;
	if (r->depth >= DELEGATE_DEPTH_MAX)
		return RECORD_UNPARSED;
	int rc = find_taker(r, outer, record, false, &i);
	if (rc < 0)
		return rc;
	bool bid = i < r->formats->n;
	if (!bid && (before >= r->formats->n || !may_take(r, before, outer)))
		return RECORD_UNPARSED;
	r->depth++;
	rc = run_inner(r, bid ? i : before, outer, record);
	r->depth--;
	if (rc < 0)
		return rc;
	r->at->sticky = bid ? i : before;
	r->at->sticky_now = true;
	return rc;
}

/* --- classes --- */

int record_flush(struct records *r)
{
	int rc = 0;
	if ((r->reject_n || r->reject_len) && r->sink.reject)
		rc = r->sink.reject(r->sink.ctx, r->reject_off, r->reject_len, r->reject_n, r->reject_reason, r->err);
	r->reject_len = r->reject_n = 0;
	r->reject_reason = NULL;
	return rc;
}

/* Next bytes that were not understood; those that begin no record belong to one before. */
static int add_reject(struct records *r, uint64_t off, uint64_t bytes, bool record, const char *reason)
{
	bool goes_on = (r->reject_n || r->reject_len) && r->reject_off + r->reject_len == off &&
		       (!record || (r->reject_reason && !strcmp(r->reject_reason, reason)));
	if (!goes_on) {
		int rc = record_flush(r);
		if (rc < 0)
			return rc;
		r->reject_off = off;
		r->reject_reason = reason;
	}
	r->reject_len += bytes;
	r->reject_n += record;
	return 0;
}

int record_classify(struct records *r, const struct record *rec, const struct span *spans, size_t n, enum verdict v,
		    const char *reason)
{
	int rc = 0;
	enum verdict last = r->at->last;
	bool record = v != RECORD_CONTINUES || !last;
	if (v == RECORD_CONTINUES && !last) {
		v = RECORD_UNPARSED;
		reason = "cut_head";
	}
	if (v == RECORD_UNPARSED && !reason)
		reason = "unknown";
	enum verdict class = record ? v : last;
	uint64_t first = n ? spans[0].len : 0;
	if (record)
		account_add(&r->account, class, first);
	else
		account_extend(&r->account, class, first);
	if (class == RECORD_UNPARSED)
		rc = add_reject(r, n ? spans[0].off : rec->off, first, record, record ? reason : "");
	for (size_t i = 1; i < n && rc == 0; i++) {
		account_extend(&r->account, class, spans[i].len);
		if (class == RECORD_UNPARSED)
			rc = add_reject(r, spans[i].off, spans[i].len, false, "");
	}
	r->at->last = class;
	if (rc == 0 && r->sink.record)
		rc = r->sink.record(r->sink.ctx, rec->off, rec->text, v, v == RECORD_UNPARSED ? reason : NULL);
	return rc;
}

int record_piece(struct records *r, struct text text, uint64_t text_off, uint64_t bytes, enum verdict v,
		 const char *reason)
{
	const struct span span = {r->off, bytes};
	const struct record rec = {text, text_off, text.len};
	int rc = record_classify(r, &rec, &span, 1, v, reason);
	r->off += bytes;
	return rc;
}

/* --- one record --- */

bool record_blank(struct text t)
{
	return !t.len || ((unsigned char)t.ptr[0] <= ' ' && !text_trim(t).len);
}

static struct stamp fallback_of(const struct records *r)
{
	struct stamp known = r->at->known;
	if (r->seen.ns != TIME_UNKNOWN)
		return r->seen;
	if (known.ns != TIME_UNKNOWN)
		known.quality = STAMP_INTERPOLATED;
	return known;
}

static bool begins_object(struct text t)
{
	return t.len && t.ptr[0] == '{';
}

/* Known before it is read: nothing of it may become an event. What is JSON is read as a whole or not at all. */
static bool is_fused(const struct parse *p, struct text t)
{
	return p->parser->shape == SHAPE_LINES && !begins_object(t) && fused_text(t);
}

/* Only the reason differs. A document has no second record to be fused with. */
static bool was_fused(const struct parse *p, struct text t)
{
	return p->parser->shape == SHAPE_LINES && p->reason &&
	       (!strcmp(p->reason, "json_syntax") || !strcmp(p->reason, "torn")) && fused_json(t);
}

int record_parse(struct records *r, const struct record *rec, bool cut, enum verdict *ret, const char **ret_reason)
{
	struct parse *p = r->main;
	arena_reset(&p->scratch);
	p->record_off = rec->off;
	p->record_len = (uint32_t)MIN(rec->len, UINT32_MAX);
	p->reason = NULL;
	if (!r->document || r->origins)
		p->fallback = fallback_of(r);
	p->padded = true;
	r->at->sticky_now = false;
	r->end = cut ? last_word(rec->text) : (struct text){NULL, 0};
	int v = is_fused(p, rec->text) ? parse_refuse(p, "fused") : p->parser->record(p, rec->text);
	r->end.len = 0;
	if (!r->at->sticky_now)
		r->at->sticky = r->formats->n;
	if (v == ERR_LIMIT) { /* a hostile record, not a broken program */
		v = RECORD_UNPARSED;
		p->reason = "limit";
	}
	if (v == RECORD_UNPARSED && was_fused(p, rec->text))
		p->reason = "fused";
	if (v < 0) {
		err_where(r->err, "format %s, byte %llu", p->parser->name, (unsigned long long)rec->off);
		return v;
	}
	if (v < RECORD_PARSED || v > RECORD_CONTINUES)
		return err_set(r->err, ERR_BUG, "format %s gave the verdict %d", p->parser->name, v);
	*ret = (enum verdict)v;
	*ret_reason = p->reason;
	return 0;
}

int record_take(struct records *r, struct text t, uint64_t text_off, uint64_t bytes)
{
	const struct record rec = {t, text_off, t.len};
	enum verdict v;
	const char *reason;
	if (!r->main)
		return record_piece(r, t, text_off, bytes, RECORD_UNPARSED, unrecognised);
	if (record_blank(t))
		return record_piece(r, t, text_off, bytes, RECORD_CONTEXT, NULL);
	int rc = record_parse(r, &rec, r->unended && !r->document, &v, &reason);
	return rc < 0 ? rc : record_piece(r, t, text_off, bytes, v, reason);
}

int record_finish(struct records *r)
{
	struct formats *f = r->formats;
	for (size_t i = 0; i < f->n; i++) {
		struct parse *p = f->open[i];
		bool used = r->origins ? r->at->state && r->at->state[i].used : f->used[i];
		if (!p || !used || !p->parser->finish)
			continue;
		void *home;
		int rc = parser_enter(r, i, &p, &home);
		if (rc < 0)
			return rc;
		arena_reset(&p->scratch);
		rc = p->parser->finish(p);
		parser_leave(p, home);
		if (rc < 0)
			return rc;
	}
	return 0;
}
