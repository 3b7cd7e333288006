/* SPDX-License-Identifier: Apache-2.0 */
/* digest.c - the content digest: what a case says, whatever way it was written
 *
 * One SHA-256 a source, over what was read (evidence bytes), how it was accounted for and the decoded events in record
 * order; then one over those, sorted. So neither numbers of sources, nor the cut into chunks, nor paths take part. Byte
 * form: docs/store-format.md.
 */
#include <stdlib.h>
#include <string.h>

#include "canonical.h"
#include "pagetrail/column.h"
#include "store.h"

/* of the row of source, as digest_case() selects it */
enum { COL_CONTENT = 2, COL_BYTES = 8 };

struct evidence_sum {
	struct sha256 *h;
	uint64_t bytes;
};

static int add_evidence(void *ctx, struct text bytes, uint64_t off)
{
	struct evidence_sum *s = ctx;
	(void)off;
	s->bytes += bytes.len;
	return sha256_add(s->h, bytes.ptr, bytes.len, NULL);
}

/* SHA-256 over the stored, checked bytes of a source; their number. */
static int digest_evidence(struct case_file *c, int64_t source, unsigned char ret[SHA256_BYTES], uint64_t *ret_bytes,
			   struct err *err)
{
	struct evidence_sum s = {0};
	int r = sha256_new(&s.h, err);
	if (!r)
		r = evidence_each(c, source, add_evidence, &s, err);
	if (r) {
		sha256_free(s.h);
		return r;
	}
	*ret_bytes = s.bytes;
	return sha256_end(s.h, ret, err);
}

/* --- canonical bytes of events --- */

static int put_column(struct buf *out, const struct event_batch *b, uint32_t row, unsigned c, struct err *err)
{
	if (b->ints[c])
		return canonical_u64(out, (uint64_t)b->ints[c][row], err);
	if (b->texts[c])
		return canonical_text(out, b->texts[c][row], err);
	uint32_t i = row ? b->run_end[row - 1] : 0;
	int r = canonical_u64(out, b->run_end[row] - i, err);
	for (; !r && i < b->run_end[row]; i++)
		r = canonical_u64(out, (uint64_t)b->runs[i].first << 32 | b->runs[i].count, err);
	return r;
}

static int put_event(struct buf *out, const struct event_batch *b, uint32_t row, struct err *err)
{
	int r = canonical_u64(out, b->byte_off[row], err);
	if (!r)
		r = canonical_u64(out, (uint64_t)b->byte_len[row] << 32 | b->ts_quality[row], err);
	if (!r)
		r = canonical_u64(out, (uint64_t)b->ts_ns[row], err);
	if (!r)
		r = canonical_text(out, b->worker[row], err);
	if (!r)
		r = canonical_u64(out, b->known[row], err);
	for (uint32_t left = b->known[row]; !r && left; left &= left - 1)
		r = put_column(out, b, row, (unsigned)__builtin_ctz(left), err);
	return r;
}

static int add_events(struct case_file *c, int64_t source, struct sha256 *h, struct err *err)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(2 * CHUNK_MAX_DECODED_BYTES);
	struct event_filter f = {source, TIME_UNKNOWN, TIME_UNKNOWN};
	int r = 0;
	for (int kind = 0; !r && kind < EVENT_KINDS; kind++) {
		CLEANUP(event_scan_closep) struct event_scan *scan = NULL;
		const struct event_batch *b;
		int64_t of;
		unsigned char mark = (unsigned char)kind;
		r = sha256_add(h, &mark, 1, err);
		if (!r)
			r = event_scan_open(&scan, c, (enum event_kind)kind, UINT32_MAX, &f, err);
		while (!r && (r = event_scan_next(scan, &b, &of, err)) > 0) {
			r = 0;
			for (uint32_t i = 0; !r && i < b->n; i++) {
				r = put_event(&out, b, i, err);
				if (!r && (out.len > 64 * KIB || i + 1 == b->n)) {
					r = sha256_add(h, out.ptr, out.len, err);
					buf_clear(&out);
				}
			}
		}
	}
	return r;
}

/* What verify has found to be the hash of the bytes: no need to decode them once more. */
static bool known_evidence(struct sql *s, unsigned char ret[SHA256_BYTES], uint64_t *ret_bytes)
{
	struct text hex = sql_get_text(s, COL_CONTENT);
	*ret_bytes = (uint64_t)sql_get_int(s, COL_BYTES);
	return sha256_unhex(hex, ret);
}

/* s: the row of source, number first. */
static int digest_source(struct case_file *c, struct sql *s, bool verified, unsigned char ret[SHA256_BYTES],
			 struct err *err)
{
	CLEANUP(buf_done) struct buf row = BUF_INIT(MIB);
	unsigned char evidence[SHA256_BYTES];
	uint64_t bytes = 0;
	int64_t source = sql_get_int(s, 0);
	int r = verified && known_evidence(s, evidence, &bytes) ? 0 : digest_evidence(c, source, evidence, &bytes, err);
	if (!r)
		r = buf_add(&row, evidence, sizeof(evidence), err);
	if (!r)
		r = canonical_u64(&row, bytes, err);
	for (int col = 1; !r && col < sql_columns(s); col++)
		r = canonical_cell(&row, s, col, err);
	struct sha256 *h = NULL;
	if (!r)
		r = sha256_new(&h, err);
	if (!r)
		r = sha256_add(h, row.ptr, row.len, err);
	if (!r)
		r = add_events(c, source, h, err);
	if (r) {
		sha256_free(h);
		return r;
	}
	return sha256_end(h, ret, err);
}

static int compare_digests(const void *a, const void *b)
{
	return memcmp(a, b, SHA256_BYTES);
}

static int digest_case(struct case_file *c, bool verified, char out[SHA256_HEX], struct err *err)
{
	CLEANUP(buf_done) struct buf all = BUF_INIT(ARENA_MAX_BYTES);
	CLEANUP(sql_endp) struct sql *s = NULL;
	unsigned char one[SHA256_BYTES];
	int r = sql_prepare(
	    &s, c,
	    "SELECT source, sha256, content_sha256, format, worker, worker_alias, role, tz, bytes, records, "
	    "parsed, context, unparsed, duplicate, bytes_parsed, bytes_context, bytes_unparsed, "
	    "bytes_duplicate, first_ns, last_ns FROM source ORDER BY source",
	    err);
	while (!r && (r = sql_step(s, err)) > 0) {
		r = digest_source(c, s, verified, one, err);
		if (!r)
			r = buf_add(&all, one, sizeof(one), err);
	}
	if (r)
		return r;
	if (all.len)
		qsort(all.ptr, all.len / SHA256_BYTES, SHA256_BYTES, compare_digests);
	r = sha256_once(all.ptr, all.len, one, err);
	if (!r)
		sha256_hex(one, out);
	return r;
}

int case_digest(struct case_file *c, char out[SHA256_HEX], struct err *err)
{
	return digest_case(c, false, out, err);
}

int case_digest_verified(struct case_file *c, char out[SHA256_HEX], struct err *err)
{
	return digest_case(c, true, out, err);
}
