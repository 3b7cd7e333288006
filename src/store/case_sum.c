/* SPDX-License-Identifier: Apache-2.0 */
/* case_sum.c - the content digest while it is being made: rows and decoded events as bytes that are hashed
 *
 * Each kind of events has a hash of its own, so that a source can be summed up in whatever order its chunks are decoded.
 * Events are written as varints: most numbers are small, and what is hashed costs more than what is written.
 */
#include "case_sum.h"

#include <stdlib.h>
#include <string.h>

#include "canonical.h"
#include "pagetrail/limits.h"

struct case_sum {
	struct sha256 *kinds[EVENT_KINDS]; /* of the source at hand; NULL: no event yet */
	struct buf sources;                /* a digest each */
};

int case_sum_new(struct case_sum **ret, struct err *err)
{
	struct case_sum *s = calloc(1, sizeof(*s));
	if (!s)
		return err_nomem(err);
	s->sources = BUF_INIT(ARENA_MAX_BYTES);
	*ret = s;
	return 0;
}

void case_sum_free(struct case_sum *s)
{
	if (!s)
		return;
	for (int k = 0; k < EVENT_KINDS; k++)
		sha256_free(s->kinds[k]);
	buf_done(&s->sources);
	free(s);
}

/* --- events --- */

enum { VARINT_MAX = 10 };
/* Of one chunk. What a writer puts into one (EVENT_BATCH_MAX, EVENT_BATCH_MAX_BYTES) stays far below. */
#define CANONICAL_MAX_BYTES (2 * CHUNK_MAX_DECODED_BYTES)

static char *put_varint(char *p, uint64_t v)
{
	for (; v > 127; v >>= 7)
		*p++ = (char)(v | 128);
	*p++ = (char)v;
	return p;
}

static char *put_zigzag(char *p, int64_t v)
{
	return put_varint(p, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static char *put_text(char *p, struct text t)
{
	p = put_varint(p, t.len);
	if (t.len)
		memcpy(p, t.ptr, t.len);
	return p + t.len;
}

struct run_range {
	uint32_t from, to;
};

static struct run_range runs_of(const struct event_batch *b, uint32_t row)
{
	return (struct run_range){row ? b->run_end[row - 1] : 0, b->run_end[row]};
}

/* No event takes more. */
static size_t event_room(const struct event_batch *b, uint32_t row)
{
	size_t room = 6 * VARINT_MAX + b->worker[row].len;
	for (uint32_t left = b->known[row]; left; left &= left - 1) {
		unsigned c = (unsigned)__builtin_ctz(left);
		room += VARINT_MAX;
		if (b->texts[c])
			room += b->texts[c][row].len;
		else if (!b->ints[c])
			room += (size_t)(runs_of(b, row).to - runs_of(b, row).from) * 2 * VARINT_MAX;
	}
	return room;
}

static char *put_column(char *p, const struct event_batch *b, uint32_t row, unsigned c)
{
	if (b->ints[c])
		return put_zigzag(p, b->ints[c][row]);
	if (b->texts[c])
		return put_text(p, b->texts[c][row]);
	struct run_range r = runs_of(b, row);
	p = put_varint(p, r.to - r.from);
	for (; r.from < r.to; r.from++) {
		p = put_varint(p, b->runs[r.from].first);
		p = put_varint(p, b->runs[r.from].count);
	}
	return p;
}

int case_sum_events(const struct event_batch *b, struct buf *out, struct err *err)
{
	for (uint32_t row = 0; row < b->n; row++) {
		size_t room = event_room(b, row);
		if (room > CANONICAL_MAX_BYTES - MIN(out->len, CANONICAL_MAX_BYTES))
			return err_set(err, ERR_DAMAGED, "event chunk: it unpacks to more than a chunk holds");
		int r = buf_reserve(out, room, err);
		if (r)
			return r;
		char *p = out->ptr + out->len;
		p = put_varint(p, b->byte_off[row]);
		p = put_varint(p, b->byte_len[row]);
		p = put_varint(p, b->ts_quality[row]);
		p = put_zigzag(p, b->ts_ns[row]);
		p = put_text(p, b->worker[row]);
		p = put_varint(p, b->known[row]);
		for (uint32_t left = b->known[row]; left; left &= left - 1)
			p = put_column(p, b, row, (unsigned)__builtin_ctz(left));
		out->len = (size_t)(p - out->ptr);
	}
	return 0;
}

int case_sum_add(struct case_sum *s, enum event_kind kind, struct text canonical, struct err *err)
{
	int r = s->kinds[kind] ? 0 : sha256_new(&s->kinds[kind], err);
	return r ? r : sha256_add(s->kinds[kind], canonical.ptr, canonical.len, err);
}

/* --- sources --- */

int case_sum_row(struct sql *row, struct buf *out, struct err *err)
{
	int r = 0;
	for (int col = 1; !r && col < CASE_SUM_N_COLUMNS; col++)
		r = canonical_cell(out, row, col, err);
	return r;
}

int case_sum_source(struct case_sum *s, const struct buf *row, const unsigned char evidence[SHA256_BYTES],
		    uint64_t bytes, struct err *err)
{
	CLEANUP(buf_done) struct buf all = BUF_INIT(MIB);
	unsigned char sha[SHA256_BYTES];
	int r = buf_add(&all, evidence, SHA256_BYTES, err);
	if (!r)
		r = canonical_u64(&all, bytes, err);
	if (!r)
		r = buf_add_text(&all, buf_text(row), err);
	for (int k = 0; !r && k < EVENT_KINDS; k++) {
		if (!s->kinds[k])
			continue;
		r = sha256_end(s->kinds[k], sha, err);
		s->kinds[k] = NULL;
		if (!r)
			r = buf_add_char(&all, (char)k, err);
		if (!r)
			r = buf_add(&all, sha, sizeof(sha), err);
	}
	if (!r)
		r = sha256_once(all.ptr, all.len, sha, err);
	return r ? r : buf_add(&s->sources, sha, sizeof(sha), err);
}

static int compare_digests(const void *a, const void *b)
{
	return memcmp(a, b, SHA256_BYTES);
}

int case_sum_end(struct case_sum *s, char out[SHA256_HEX], struct err *err)
{
	unsigned char sha[SHA256_BYTES];
	if (s->sources.len)
		qsort(s->sources.ptr, s->sources.len / SHA256_BYTES, SHA256_BYTES, compare_digests);
	int r = sha256_once(s->sources.ptr, s->sources.len, sha, err);
	if (!r)
		sha256_hex(sha, out);
	return r;
}
