/* SPDX-License-Identifier: Apache-2.0 */
/* digest.c - the content digest of a case that nobody has just verified: what it says, whatever way it was written
 *
 * One SHA-256 a source, over what was read (evidence bytes), how it was accounted for and the decoded events in record
 * order; then one over those, sorted. So neither numbers of sources, nor the cut into chunks, nor paths take part. Byte
 * form: docs/store-format.md. verify makes the same digest of what it decodes anyway.
 */
#include <inttypes.h>

#include "case_sum.h"
#include "pagetrail/column.h"
#include "pagetrail/salvage.h"
#include "store.h"

/* One chunk, which begins at or behind *end: bytes in between must be known to be lost. */
static int add_chunk(struct case_file *c, int64_t source, struct sql *s, struct buf *raw, uint64_t *end,
		     struct err *err)
{
	uint64_t off = (uint64_t)sql_get_int(s, 0);
	int r = off == *end ? 1 : off < *end ? 0 : evidence_lost(c, source, *end, off, err);
	if (!r)
		r = err_set(err, ERR_DAMAGED, "bytes from %" PRIu64 " on are missing", *end);
	if (r > 0)
		r = evidence_decode(sql_get_int(s, 2), sql_get_int(s, 1), sql_get_text(s, 3), sql_get_text(s, 4), raw,
				    err);
	if (r)
		err_where(err, "evidence S%" PRId64 "@%" PRIu64, source, off);
	*end = off + raw->len;
	return r;
}

/* SHA-256 over the stored, checked bytes of a source; their number. */
static int digest_evidence(struct case_file *c, int64_t source, unsigned char ret[SHA256_BYTES], uint64_t *ret_bytes,
			   struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	CLEANUP(buf_done) struct buf raw = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	struct sha256 *h = NULL;
	uint64_t end = 0;
	*ret_bytes = 0;
	int r = sha256_new(&h, err);
	if (!r)
		r = sql_prepare(&s, c,
				"SELECT byte_off, byte_len, codec, data, sha256 FROM evidence_chunk "
				"WHERE source = ?1 ORDER BY byte_off",
				err);
	if (!r)
		r = sql_int(s, 1, source, err);
	while (!r && (r = sql_step(s, err)) > 0) {
		r = add_chunk(c, source, s, &raw, &end, err);
		if (!r)
			r = sha256_add(h, raw.ptr, raw.len, err);
		*ret_bytes += raw.len;
	}
	if (r) {
		sha256_free(h);
		return r;
	}
	return sha256_end(h, ret, err);
}

int column_same(struct case_file *c, int64_t source, int64_t chunk, const struct event_batch *b, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	CLEANUP(buf_done) struct buf is = BUF_INIT(SIZE_MAX / 2);
	CLEANUP(buf_done) struct buf was = BUF_INIT(SIZE_MAX / 2);
	struct event_batch *stored = NULL;
	int r = sql_prepare(&s, c, "SELECT data FROM event_chunk WHERE chunk = ?1 AND source = ?2 AND kind = ?3", err);
	if (!r)
		r = sql_int(s, 1, chunk, err);
	if (!r)
		r = sql_int(s, 2, source, err);
	if (!r)
		r = sql_int(s, 3, b->kind, err);
	if (!r)
		r = sql_step(s, err);
	if (r <= 0)
		return r;
	r = column_decode_stored(c, source, b->kind, sql_get_text(s, 0), UINT32_MAX, &stored, err);
	if (!r)
		r = case_sum_events(stored, &was, err);
	if (!r)
		r = case_sum_events(b, &is, err);
	event_batch_free(stored);
	return r ? r : text_eq(buf_text(&was), buf_text(&is));
}

static int add_events(struct case_file *c, int64_t source, struct case_sum *sum, struct err *err)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(SIZE_MAX / 2);
	struct event_filter f = {source, TIME_UNKNOWN, TIME_UNKNOWN};
	int r = 0;
	for (int kind = 0; !r && kind < EVENT_KINDS; kind++) {
		CLEANUP(event_scan_closep) struct event_scan *scan = NULL;
		const struct event_batch *b;
		int64_t of;
		r = event_scan_open(&scan, c, (enum event_kind)kind, UINT32_MAX, &f, err);
		while (!r && (r = event_scan_next(scan, &b, &of, err)) > 0) {
			buf_clear(&out);
			r = case_sum_events(b, &out, err);
			if (!r)
				r = case_sum_add(sum, (enum event_kind)kind, buf_text(&out), err);
		}
	}
	return r;
}

/* s: CASE_SUM_COLUMNS. */
static int digest_source(struct case_file *c, struct sql *s, struct case_sum *sum, struct err *err)
{
	CLEANUP(buf_done) struct buf row = BUF_INIT(MIB);
	unsigned char evidence[SHA256_BYTES];
	uint64_t bytes = 0;
	int r = digest_evidence(c, sql_get_int(s, 0), evidence, &bytes, err);
	if (!r)
		r = add_events(c, sql_get_int(s, 0), sum, err);
	if (!r)
		r = case_sum_row(s, &row, err);
	return r ? r : case_sum_source(sum, &row, evidence, bytes, err);
}

int case_digest(struct case_file *c, char out[SHA256_HEX], struct err *err)
{
	CLEANUP(case_sum_freep) struct case_sum *sum = NULL;
	CLEANUP(sql_endp) struct sql *s = NULL;
	int r = case_sum_new(&sum, err);
	if (!r)
		r = sql_prepare(&s, c, "SELECT " CASE_SUM_COLUMNS " FROM source ORDER BY source", err);
	while (!r && (r = sql_step(s, err)) > 0)
		r = digest_source(c, s, sum, err);
	return r ? r : case_sum_end(sum, out, err);
}
