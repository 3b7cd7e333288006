/* SPDX-License-Identifier: Apache-2.0 */
/* records.c - cuts one source into records
 *
 * A line is a record, without its LF or CR LF; split() may cut it further. What a record is accounted with includes its
 * line end, so the sums equal the size of the source. A piece that CONTINUES adds bytes to the class of the record
 * before, and no record. A record above its limit is counted unparsed as a whole and never held in memory.
 */
#include "records.h"

#include <string.h>

#include "detect.h"
#include "records_parts.h"

/* More than a block, so that a record that is carried and the block that ends it fit. */
#define BLOCK_ROOM (2 * MIB)

static bool known_format(const struct records *r)
{
	return r->main || r->origins;
}

/* Blocks that never came to the disk when a machine went down read as NULs: half a record before them and half of another
 * behind are no record together. One NUL alone may be text, and is how some senders end a record. */
static bool has_hole(struct text line)
{
	const char *p = line.ptr, *end = line.ptr + line.len;
	while ((p = memchr(p, 0, (size_t)(end - p))) && p + 1 < end)
		if (!*++p)
			return true;
	return false;
}

/* These bytes are those of a record that another source has whole. */
static bool take_joined(struct records *r, uint64_t bytes)
{
	const struct records_ask *ask = &r->ask;
	while (r->at_joined < ask->n_joined && ask->joined[r->at_joined].off + ask->joined[r->at_joined].len <= r->off)
		r->at_joined++;
	const struct joined *j = &ask->joined[r->at_joined];
	if (r->at_joined == ask->n_joined || r->off < j->off || r->off + bytes > j->off + j->len)
		return false;
	account_duplicate(&r->account, j->begins && r->off == j->off, bytes);
	r->off += bytes;
	return true;
}

/* One line, `ending` bytes of line end behind it. */
static int take_line(struct records *r, struct text line, size_t ending)
{
	int rc = 0;
	if (r->ask.n_joined && take_joined(r, line.len + ending))
		return 0;
	size_t before = r->off == 0 ? bom_length(line) : 0;
	if (known_format(r) && !before && line.len && !line.ptr[0]) {
		size_t nul = line.len - line_strip_nul(line).len;
		bool all = nul == line.len;
		rc = record_piece(r, text_sub(line, 0, nul), r->off, nul + (all ? ending : 0), RECORD_UNPARSED, "nul");
		if (rc < 0 || all)
			return rc;
		line = text_from(line, nul);
	}
	if (r->nul_seen && known_format(r) && has_hole(line))
		return record_piece(r, text_from(line, before), r->off + before, line.len + ending, RECORD_UNPARSED,
				    "nul");
	line = text_from(line, before);
	if (r->origins)
		return outer_take(r, line, before, line.len + before + ending);
	while (r->main && r->main->parser->split && line.len) {
		size_t n = r->main->parser->split(r->main, line);
		if (n == 0 || n >= line.len)
			break;
		rc = record_take(r, text_sub(line, 0, n), r->off + before, n + before);
		if (rc < 0)
			return rc;
		line = text_from(line, n);
		before = 0;
	}
	return record_take(r, line, r->off + before, line.len + before + ending);
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
	return !known_format(r) ? 4 * KIB : r->document ? DOCUMENT_MAX_BYTES : RECORD_MAX_BYTES;
}

/* More of a record that is put together; above the limit only its length is kept. */
static int carry_add(struct records *r, const char *p, size_t n)
{
	r->in_carry = true;
	if (known_format(r) && !r->document && !r->frame && !r->carry.len && !r->skipped) {
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
		rc = record_piece(r, (struct text){zeros, (size_t)MIN(nuls, sizeof(zeros))}, r->off,
				  nuls + (only ? bytes : 0), RECORD_UNPARSED, "nul");
	if (rc < 0 || only)
		bytes = 0;
	else if (r->skipped || text_chomp(t).len > limit_of(r))
		rc = record_piece(r, text_sub(t, 0, 256), r->off, bytes, RECORD_UNPARSED,
				  !known_format(r)             ? unrecognised
				  : r->nul_seen && has_hole(t) ? "nul"
							       : "too_long");
	else if (r->document && r->origins) {
		size_t bom = bom_length(t);
		rc = outer_take(r, text_from(t, bom), bom, bytes);
	} else if (r->document && r->main) {
		size_t bom = bom_length(t);
		rc = record_take(r, text_from(t, bom), bom, bytes);
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
	while (p < end && !r->enough && (nl = memchr(p, '\n', (size_t)(end - p)))) {
		int rc = take_raw(r, p, (size_t)(nl + 1 - p));
		if (rc < 0)
			return rc;
		p = nl + 1;
	}
	r->tail = p;
	r->n_tail = (size_t)(end - p);
	return 0;
}

/* --- cutting what is no lines --- */

/* The first record in t: its length, or 0. */
static size_t frame_at(const struct records *r, struct text t, bool last)
{
	size_t n = r->frame(t, last);
	if (n == SIZE_MAX) {
		const char *nl = memchr(t.ptr, '\n', t.len);
		n = nl ? (size_t)(nl + 1 - t.ptr) : last ? t.len : 0;
	}
	return MIN(n, t.len);
}

static int take_frame(struct records *r, struct text t)
{
	size_t before = r->off == 0 ? bom_length(t) : 0;
	r->unended = !t.len || t.ptr[t.len - 1] != '\n';
	return outer_take(r, text_from(t, before), before, t.len);
}

static int feed_frames(struct records *r, const char *p, const char *end, bool last)
{
	size_t n;
	while (p < end && !r->enough && (n = frame_at(r, (struct text){p, (size_t)(end - p)}, last))) {
		int rc = take_frame(r, (struct text){p, n});
		if (rc < 0)
			return rc;
		p += n;
	}
	r->tail = p;
	r->n_tail = (size_t)(end - p);
	return 0;
}

/* What was carried is a record by now, is too long to be one, or waits. *ret_used: bytes of p that it took. */
static int frame_carried(struct records *r, const char *p, size_t len, size_t *ret_used)
{
	size_t had = r->carry.len;
	int rc = 0;
	*ret_used = len;
	if (!r->skipped) {
		size_t room = limit_of(r) + BLOCK_ROOM - MIN(r->carry.len, limit_of(r) + BLOCK_ROOM);
		rc = buf_add(&r->carry, p, MIN(len, room), r->err);
		size_t n = rc == 0 ? frame_at(r, buf_text(&r->carry), false) : 0;
		if (n > had) {
			r->in_carry = false;
			*ret_used = n - had;
			rc = take_frame(r, text_sub(buf_text(&r->carry), 0, n));
			buf_clear(&r->carry);
			return rc;
		}
		if (rc < 0 || len <= room)
			return rc;
		r->skipped = len - room;
		len -= room;
		p += room;
	} else {
		r->skipped += len;
	}
	/* it is no record any more: the next one begins behind an empty line */
	const char *gap = memmem(p, len, "\n\n", 2);
	if (!gap)
		return 0;
	size_t used = (size_t)(gap + 2 - p);
	r->skipped -= len - used;
	*ret_used -= len - used;
	return carry_take(r);
}

static int feed_framed(struct records *r, const char *p, const char *end)
{
	int rc = 0;
	while (rc == 0 && r->in_carry && p < end) {
		size_t used;
		rc = frame_carried(r, p, (size_t)(end - p), &used);
		p += used;
	}
	return rc < 0 || r->in_carry ? rc : feed_frames(r, p, end, false);
}

int records_feed(struct records *r, char *data, size_t len, size_t headroom, struct err *err)
{
	const char *p = data, *end = data + len;
	int rc = 0;
	r->err = err;
	formats_bind(r->formats, err);
	r->nul_seen = r->nul_seen || memchr(data, 0, len);
	if (r->document && known_format(r))
		return carry_add(r, data, len);
	if (r->binary.on)
		return binary_feed(r, data, len);
	if (r->n_tail && r->n_tail <= headroom) {
		memcpy(data - r->n_tail, r->tail, r->n_tail);
		p -= r->n_tail;
		r->n_tail = 0;
	} else if (r->n_tail) {
		rc = carry_add(r, r->tail, r->n_tail);
		r->n_tail = 0;
	}
	if (rc == 0 && r->frame)
		return feed_framed(r, p, end);
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

/* What is left when nothing comes behind it. */
static int take_tail(struct records *r)
{
	int rc = 0;
	if (r->n_tail && !r->in_carry && r->frame) {
		const char *p = r->tail;
		rc = feed_frames(r, p, p + r->n_tail, true);
	} else if (r->n_tail && !r->in_carry) {
		/* no padding is promised behind the last bytes of a block's tail: there is */
		rc = take_raw(r, r->tail, r->n_tail);
	} else if (r->in_carry && r->frame && !r->skipped && r->carry.len <= limit_of(r)) {
		r->in_carry = false;
		rc = feed_frames(r, r->carry.ptr, r->carry.ptr + r->carry.len, true);
	} else if (r->in_carry) {
		rc = carry_take(r);
	}
	r->n_tail = 0;
	return rc;
}

int records_end(struct records *r, struct err *err)
{
	r->err = err;
	formats_bind(r->formats, err);
	int rc = r->binary.on ? binary_end(r) : take_tail(r);
	if (rc == 0 && r->origins)
		rc = peel_end(r);
	else if (rc == 0 && r->main)
		rc = record_finish(r);
	if (rc == 0)
		rc = record_flush(r);
	if (rc == 0 && !r->enough && !account_holds(&r->account))
		rc = err_set(err, ERR_BUG, "the accounting does not add up");
	return rc < 0 ? rc : 0;
}

/* A source without wrappers has one parser, whose state is its own. */
static int begin_bare(struct records *r)
{
	const struct parser *parser = r->ask.stack->parser;
	void *home;
	if (!parser)
		return 0;
	size_t i = formats_index(r->formats, parser);
	if (i == r->formats->n)
		return err_set(r->err, ERR_BUG, "format %s is not in the list", parser->name);
	int rc = parser_enter(r, i, &r->main, &home);
	if (rc < 0)
		return rc;
	r->main->fallback = r->ask.outer;
	if (parser->shape == SHAPE_BINARY)
		binary_begin(r, false);
	if (r->document && r->ask.outer.ns != TIME_UNKNOWN)
		r->bare.known = r->ask.outer;
	return 0;
}

int records_begin(struct records *r, struct formats *f, const struct records_ask *ask, const struct records_sink *sink,
		  struct err *err)
{
	*r = (struct records){.formats = f, .sink = *sink, .ask = *ask, .err = err};
	r->first_ns = r->last_ns = TIME_UNKNOWN;
	r->bare.known = r->seen = STAMP_INIT;
	r->bare.main = r->bare.sticky = f->n;
	r->at = &r->bare;
	r->document = stack_document(ask->stack);
	r->carry = BUF_INIT(MAX(RECORD_MAX_BYTES, DOCUMENT_MAX_BYTES) + BLOCK_ROOM + 4 * KIB);
	formats_bind(f, err);
	int rc = formats_renew(f);
	if (rc < 0 || !ask->stack->n)
		return rc < 0 ? rc : begin_bare(r);
	r->frame = ask->stack->wrap[0]->frame;
	return origins_open(&r->origins, err);
}

void records_done(struct records *r)
{
	buf_done(&r->carry);
	origins_close(r->origins, r->formats);
	peel_done(r);
	r->origins = NULL;
}
