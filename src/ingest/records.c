/* SPDX-License-Identifier: Apache-2.0 */
/* records.c - cuts one source into records and runs its parser over them
 *
 * A line is a record, without its LF or CR LF; split() may cut it further. What a record is accounted with includes its
 * line end, so the sums equal the size of the source. A piece that CONTINUES adds bytes to the class of the record
 * before, and no record. A record above its limit is counted unparsed as a whole and never held in memory.
 */
#include "records.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "detect.h"

static const char *const unrecognised = "unrecognised";

/* --- events --- */

static bool is_naive(const struct records *r, const struct stamp *ts)
{
	switch (ts->quality) {
	case STAMP_NAIVE:
	case STAMP_YEARLESS: return true;
	case STAMP_INTERPOLATED:
		/* has its neighbours' clock; a document's own can be that of the file system */
		return r->known.quality != STAMP_ZONED && r->known.quality != STAMP_INTERPOLATED;
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

static int on_event(void *ctx, const struct event *e, struct err *err)
{
	struct records *r = ctx;
	struct event *out = (struct event *)e; /* the row of a struct parse: ours to finish */
	struct stamp given = e->ts;
	uint32_t known = e->known;
	if (r->end.len)
		out->known &= ~may_go_on(e, r->end);
	if (given.ns != TIME_UNKNOWN) {
		if (r->zone && is_naive(r, &given))
			out->ts.ns = zone_to_utc(r->zone, given.ns);
		if (given.quality != STAMP_INTERPOLATED && given.quality != STAMP_MONOTONIC)
			r->known = given;
		if (given.quality != STAMP_NONE && given.quality != STAMP_MONOTONIC) {
			if (r->first_ns == TIME_UNKNOWN || out->ts.ns < r->first_ns)
				r->first_ns = out->ts.ns;
			if (r->last_ns == TIME_UNKNOWN || out->ts.ns > r->last_ns)
				r->last_ns = out->ts.ns;
		}
	}
	int rc = r->sink.event ? r->sink.event(r->sink.ctx, out, err) : 0;
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
		size_t i = k ? k - 1 : r->sticky;
		struct parse *p;
		if (i >= f->n || (k && i == r->sticky) || !may_take(r, i, outer))
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

static int run_inner(struct records *r, size_t i, struct parse *outer, struct text record)
{
	struct parse *p;
	int rc = formats_use(r->formats, i, &p);
	if (rc < 0)
		return rc;
	p->sink = on_event;
	p->sink_ctx = r;
	p->delegate = outer->delegate;
	p->record_off = outer->record_off;
	p->record_len = outer->record_len;
	p->fallback = outer->fallback;
	p->padded = false; /* part of the outer record, or memory of its parser */
	p->reason = NULL;
	arena_reset(&p->scratch);
	rc = p->parser->record(p, record);
	if (rc == RECORD_UNPARSED)
		outer->reason = p->reason;
	return rc;
}

/* The format that bids STRONG takes it; lines behind a record that one took may belong to that record. */
static int on_delegate(void *ctx, struct parse *outer, struct text record)
{
	struct records *r = ctx;
	size_t before = r->sticky, i = r->formats->n;
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
	r->sticky = bid ? i : before;
	r->sticky_now = true;
	return rc;
}

/* --- classes --- */

static int flush_reject(struct records *r)
{
	int rc = 0;
	if (r->reject_len && r->sink.reject)
		rc = r->sink.reject(r->sink.ctx, r->reject_off, r->reject_len, r->reject_n, r->reject_reason, r->err);
	r->reject_len = r->reject_n = 0;
	r->reject_reason = NULL;
	return rc;
}

static int add_reject(struct records *r, uint64_t bytes, bool record, const char *reason)
{
	bool goes_on = r->reject_len && r->reject_off + r->reject_len == r->off &&
		       (!record || (r->reject_reason && !strcmp(r->reject_reason, reason)));
	if (!goes_on) {
		int rc = flush_reject(r);
		if (rc < 0)
			return rc;
		r->reject_off = r->off;
		r->reject_reason = reason;
	}
	r->reject_len += bytes;
	r->reject_n += record;
	return 0;
}

/* Accounts the next `bytes` of the source; `text` is the record in them. */
static int classify_piece(struct records *r, struct text text, uint64_t text_off, uint64_t bytes, enum verdict v,
			  const char *reason)
{
	int rc = 0;
	bool record = v != RECORD_CONTINUES || !r->last;
	if (v == RECORD_CONTINUES && !r->last) {
		v = RECORD_UNPARSED;
		reason = "cut_head";
	}
	if (v == RECORD_UNPARSED && !reason)
		reason = "unknown";
	enum verdict class = record ? v : r->last;
	if (record)
		account_add(&r->account, class, bytes);
	else
		account_extend(&r->account, class, bytes);
	if (class == RECORD_UNPARSED)
		rc = add_reject(r, bytes, record, record ? reason : "");
	r->off += bytes;
	r->last = class;
	if (rc == 0 && r->sink.record)
		rc = r->sink.record(r->sink.ctx, text_off, text, v, v == RECORD_UNPARSED ? reason : NULL);
	return rc;
}

/* --- one record --- */

static bool blank(struct text t)
{
	return !t.len || ((unsigned char)t.ptr[0] <= ' ' && !text_trim(t).len);
}

/* A record that lies in memory with BUF_PADDING behind it; bytes: with what stands before and behind it. */
static int take_record(struct records *r, struct text t, uint64_t text_off, uint64_t bytes)
{
	struct parse *p = r->main;
	if (!p)
		return classify_piece(r, t, text_off, bytes, RECORD_UNPARSED, unrecognised);
	if (blank(t))
		return classify_piece(r, t, text_off, bytes, RECORD_CONTEXT, NULL);
	arena_reset(&p->scratch);
	p->record_off = text_off;
	p->record_len = (uint32_t)MIN(t.len, UINT32_MAX);
	p->reason = NULL;
	if (!r->document) {
		p->fallback = r->known;
		if (p->fallback.ns != TIME_UNKNOWN)
			p->fallback.quality = STAMP_INTERPOLATED;
	}
	p->padded = true;
	r->sticky_now = false;
	r->end = r->unended && !r->document ? last_word(t) : (struct text){NULL, 0};
	int v = p->parser->record(p, t);
	r->end.len = 0;
	if (!r->sticky_now)
		r->sticky = r->formats->n;
	if (v == ERR_LIMIT) { /* a hostile record, not a broken program */
		v = RECORD_UNPARSED;
		p->reason = "limit";
	}
	if (v < 0) {
		err_where(r->err, "format %s, byte %llu", p->parser->name, (unsigned long long)text_off);
		return v;
	}
	if (v < RECORD_PARSED || v > RECORD_CONTINUES)
		return err_set(r->err, ERR_BUG, "format %s gave the verdict %d", p->parser->name, v);
	return classify_piece(r, t, text_off, bytes, (enum verdict)v, p->reason);
}

/* One line, `ending` bytes of line end behind it. */
static int take_line(struct records *r, struct text line, size_t ending)
{
	int rc = 0;
	size_t before = r->off == 0 ? bom_length(line) : 0;
	if (r->main && !before && line.len && !line.ptr[0]) {
		size_t nul = line.len - line_strip_nul(line).len;
		bool all = nul == line.len;
		rc =
		    classify_piece(r, text_sub(line, 0, nul), r->off, nul + (all ? ending : 0), RECORD_UNPARSED, "nul");
		if (rc < 0 || all)
			return rc;
		line = text_from(line, nul);
	}
	line = text_from(line, before);
	while (r->main && r->main->parser->split && line.len) {
		size_t n = r->main->parser->split(r->main, line);
		if (n == 0 || n >= line.len)
			break;
		rc = take_record(r, text_sub(line, 0, n), r->off + before, n + before);
		if (rc < 0)
			return rc;
		line = text_from(line, n);
		before = 0;
	}
	return take_record(r, line, r->off + before, line.len + before + ending);
}

/* A line with its LF, or the last one without. */
static int take_raw(struct records *r, const char *p, size_t len)
{
	size_t ending = 0;
	if (len && p[len - 1] == '\n')
		ending = len > 1 && p[len - 2] == '\r' ? 2 : 1;
	r->unended = !ending;
	return take_line(r, (struct text){p, len - ending}, ending);
}

/* --- cutting --- */

static size_t limit_of(const struct records *r)
{
	return !r->main ? 4 * KIB : r->document ? DOCUMENT_MAX_BYTES : RECORD_MAX_BYTES;
}

/* More of a record that is put together; above the limit only its length is kept. */
static int carry_add(struct records *r, const char *p, size_t n)
{
	r->in_carry = true;
	if (r->main && !r->document && !r->carry.len && !r->skipped) {
		size_t nuls = n - line_strip_nul((struct text){p, n}).len;
		r->nuls += nuls;
		p += nuls;
		n -= nuls;
	}
	if (!r->skipped && n <= limit_of(r) + 2 - MIN(r->carry.len, limit_of(r) + 2))
		return buf_add(&r->carry, p, n, r->err);
	r->skipped += n;
	return 0;
}

static int carry_take(struct records *r)
{
	static const char zeros[256];
	int rc = 0;
	uint64_t bytes = r->carry.len + r->skipped, nuls = r->nuls;
	struct text t = buf_text(&r->carry);
	r->in_carry = false;
	r->nuls = 0;
	bool only = nuls && !r->skipped && !text_chomp(t).len;
	if (nuls)
		rc = classify_piece(r, (struct text){zeros, (size_t)MIN(nuls, sizeof(zeros))}, r->off,
				    nuls + (only ? bytes : 0), RECORD_UNPARSED, "nul");
	if (rc < 0 || only)
		bytes = 0;
	else if (r->skipped || text_chomp(t).len > limit_of(r))
		rc = classify_piece(r, text_sub(t, 0, 256), r->off, bytes, RECORD_UNPARSED,
				    r->main ? "too_long" : unrecognised);
	else if (r->document && r->main) {
		size_t bom = bom_length(t);
		rc = take_record(r, text_from(t, bom), bom, bytes);
	} else
		rc = take_raw(r, t.ptr, t.len);
	r->skipped = 0;
	if (r->carry.cap > 4 * MIB)
		buf_done(&r->carry); /* one long record must not hold its memory to the end */
	else
		buf_clear(&r->carry);
	return rc;
}

static int feed_lines(struct records *r, const char *p, const char *end)
{
	const char *nl;
	while (p < end && (nl = memchr(p, '\n', (size_t)(end - p)))) {
		int rc = take_raw(r, p, (size_t)(nl + 1 - p));
		if (rc < 0)
			return rc;
		p = nl + 1;
	}
	r->tail = p;
	r->n_tail = (size_t)(end - p);
	return 0;
}

int records_feed(struct records *r, char *data, size_t len, size_t headroom, struct err *err)
{
	const char *p = data, *end = data + len;
	int rc = 0;
	r->err = err;
	formats_bind(r->formats, err);
	if (r->document && r->main)
		return carry_add(r, data, len);
	if (r->n_tail && r->n_tail <= headroom) {
		memcpy(data - r->n_tail, r->tail, r->n_tail);
		p -= r->n_tail;
		r->n_tail = 0;
	} else if (r->n_tail) {
		rc = carry_add(r, r->tail, r->n_tail);
		r->n_tail = 0;
	}
	if (rc == 0 && r->in_carry) {
		const char *nl = memchr(p, '\n', len);
		rc = carry_add(r, p, nl ? (size_t)(nl + 1 - p) : len);
		if (rc < 0 || !nl)
			return rc;
		p = nl + 1;
		rc = carry_take(r);
	}
	return rc < 0 ? rc : feed_lines(r, p, end);
}

static int finish_parsers(struct records *r)
{
	struct formats *f = r->formats;
	for (size_t i = 0; i < f->n; i++) {
		struct parse *p = f->open[i];
		if (!p || !f->used[i] || !p->parser->finish)
			continue;
		arena_reset(&p->scratch);
		int rc = p->parser->finish(p);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int records_end(struct records *r, struct err *err)
{
	int rc = 0;
	r->err = err;
	formats_bind(r->formats, err);
	if (r->n_tail && !r->in_carry) { /* no padding is promised behind the last bytes of a block's tail: there is */
		rc = take_raw(r, r->tail, r->n_tail);
		r->n_tail = 0;
	} else if (r->in_carry) {
		rc = carry_take(r);
	}
	if (rc == 0 && r->main)
		rc = finish_parsers(r);
	if (rc == 0)
		rc = flush_reject(r);
	if (rc == 0 && !account_holds(&r->account))
		rc = err_set(err, ERR_BUG, "the accounting does not add up");
	return rc < 0 ? rc : 0;
}

int records_begin(struct records *r, struct formats *f, const struct parser *parser, const struct zone *zone,
		  struct stamp outer, const struct records_sink *sink, struct err *err)
{
	*r = (struct records){.formats = f, .sink = *sink, .zone = zone, .err = err};
	r->first_ns = r->last_ns = TIME_UNKNOWN;
	r->known = STAMP_INIT;
	r->sticky = f->n;
	r->carry = BUF_INIT(MAX(RECORD_MAX_BYTES, DOCUMENT_MAX_BYTES) + 4 * KIB);
	formats_bind(f, err);
	int rc = formats_renew(f);
	if (rc < 0 || !parser)
		return rc;
	size_t i = formats_index(f, parser);
	if (i == f->n)
		return err_set(err, ERR_BUG, "format %s is not in the list", parser->name);
	rc = formats_use(f, i, &r->main);
	if (rc < 0)
		return rc;
	r->document = parser->shape == SHAPE_DOCUMENT;
	r->main->sink = on_event;
	r->main->sink_ctx = r;
	r->main->delegate = on_delegate;
	r->main->fallback = outer;
	if (r->document && outer.ns != TIME_UNKNOWN)
		r->known = outer;
	return 0;
}

void records_done(struct records *r)
{
	buf_done(&r->carry);
}
