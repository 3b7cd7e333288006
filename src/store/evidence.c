/* SPDX-License-Identifier: Apache-2.0 */
/* evidence.c - the exact bytes of every source, in proved chunks
 *
 * What evidence_encode() gives out has been decoded again and compared. Reading checks the hash of every chunk that it
 * touches, so no byte leaves the case that did not enter it; only a walk that asks for it takes the check sums of pages
 * instead (evidence_walk.c). The chunk decoded last stays with the connection.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec_line.h"
#include "store.h"

enum { CODEC_STORED = 0, CODEC_ZSTD = 1, CODEC_LINES = 2 };
/* on page logs and engine logs alike, 3 is slower and no smaller */
enum { EVIDENCE_LEVEL = 1 };
/* zstd alone is tried, too, when lines come out longer than 1/6, or when there are few: elsewhere it never wins on logs */
enum { COMPARE_RATIO = 6, COMPARE_BYTES = 65536 };

/* Exactly raw_len bytes to dest. */
static int decode_bytes(struct codec *z, int64_t codec, struct text data, char *dest, size_t raw_len, struct err *err)
{
	switch (codec) {
	case CODEC_STORED:
		if (data.len != raw_len)
			return err_set(err, ERR_DAMAGED, "chunk holds %zu bytes, not %zu", data.len, raw_len);
		if (raw_len)
			memcpy(dest, data.ptr, raw_len);
		return 0;
	case CODEC_ZSTD: return codec_unpack(z, data, dest, raw_len, err);
	case CODEC_LINES: return line_unpack(z, data, dest, raw_len, err);
	default: return err_set(err, ERR_DAMAGED, "chunk has the unknown codec %" PRId64, codec);
	}
}

/* 1: it comes back byte for byte. 0: it does not. */
static int prove(struct codec *z, int codec, struct text raw, const struct buf *packed, struct err *err)
{
	char *again = malloc(raw.len + 1);
	if (!again)
		return err_nomem(err);
	struct err e = {0};
	int r = decode_bytes(z, codec, buf_text(packed), again, raw.len, &e);
	if (!r)
		r = !memcmp(again, raw.ptr, raw.len);
	else
		r = r == ERR_NOMEM ? err_nomem(err) : 0;
	free(again);
	return r;
}

static int encode_lines(struct codec *z, struct text raw, struct evidence_chunk *ret, struct err *err)
{
	int r = line_pack(z, raw, &ret->data, err);
	if (!r && ret->data.len < raw.len)
		r = prove(z, CODEC_LINES, raw, &ret->data, err);
	else if (r == 1)
		r = 0;
	if (r == 1) {
		ret->codec = CODEC_LINES;
		return 0;
	}
	buf_clear(&ret->data);
	return r;
}

/* Plain zstd, when it is shorter than what is there. */
static int encode_plain(struct codec *z, struct text raw, struct evidence_chunk *ret, struct err *err)
{
	CLEANUP(buf_done) struct buf plain = BUF_INIT(2 * CHUNK_MAX_DECODED_BYTES);
	int r = codec_pack(z, raw, EVIDENCE_LEVEL, &plain, err);
	if (r || plain.len >= (ret->codec == CODEC_LINES ? ret->data.len : raw.len))
		return r;
	r = prove(z, CODEC_ZSTD, raw, &plain, err);
	if (r == 1) {
		struct buf lines = ret->data;
		ret->codec = CODEC_ZSTD;
		ret->data = plain;
		plain = lines;
		r = 0;
	}
	return r;
}

int evidence_encode(struct text raw, uint64_t byte_off, struct evidence_chunk *ret, struct err *err)
{
	*ret = (struct evidence_chunk){.byte_off = byte_off, .codec = CODEC_STORED};
	if (raw.len > CHUNK_MAX_DECODED_BYTES)
		return err_set(err, ERR_LIMIT, "evidence chunk of %zu bytes", raw.len);
	ret->byte_len = (uint32_t)raw.len;
	ret->data = BUF_INIT(2 * CHUNK_MAX_DECODED_BYTES);
	CLEANUP(codec_freep) struct codec *z = NULL;
	int r = sha256_once(raw.ptr, raw.len, ret->sha256, err);
	if (!r)
		r = codec_new(&z, err);
	if (!r)
		r = encode_lines(z, raw, ret, err);
	if (!r && (ret->codec != CODEC_LINES || raw.len < COMPARE_BYTES || ret->data.len > raw.len / COMPARE_RATIO))
		r = encode_plain(z, raw, ret, err);
	if (!r && ret->codec == CODEC_STORED)
		r = buf_add_text(&ret->data, raw, err);
	if (r)
		evidence_done(ret);
	return r;
}

void evidence_done(struct evidence_chunk *e)
{
	buf_done(&e->data);
}

int evidence_append(struct case_file *c, int64_t source, const struct evidence_chunk *e, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct text data = e->data.ptr ? buf_text(&e->data) : TEXT("");
	int r = sql_prepare(&s, c,
			    "INSERT INTO evidence_chunk(source, byte_off, byte_len, sha256, codec, data) "
			    "VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
			    err);
	if (!r)
		r = sql_int(s, 1, source, err);
	if (!r)
		r = sql_int(s, 2, (int64_t)e->byte_off, err);
	if (!r)
		r = sql_int(s, 3, e->byte_len, err);
	if (!r)
		r = sql_blob(s, 4, (struct text){(const char *)e->sha256, SHA256_BYTES}, err);
	if (!r)
		r = sql_int(s, 5, e->codec, err);
	if (!r)
		r = sql_blob(s, 6, data, err);
	if (!r)
		r = sql_run(s, err);
	if (!r && !c->own_evidence)
		c->own_evidence = sqlite3_last_insert_rowid(c->db);
	return r;
}

/* --- reading --- */

int store_check_sha256(struct text data, struct text want, struct err *err)
{
	unsigned char got[SHA256_BYTES];
	int r = sha256_once(data.ptr, data.len, got, err);
	if (r)
		return r;
	if (want.len != SHA256_BYTES || memcmp(got, want.ptr, SHA256_BYTES))
		return err_set(err, ERR_DAMAGED, "hash differs");
	return 0;
}

int evidence_decode_with(struct codec *z, int64_t codec, int64_t byte_len, struct text data, const struct text *sha256,
			 struct buf *out, struct err *err)
{
	buf_clear(out);
	if (byte_len < 0 || (uint64_t)byte_len > CHUNK_MAX_DECODED_BYTES)
		return err_set(err, ERR_DAMAGED, "chunk claims %" PRId64 " bytes", byte_len);
	int r = buf_reserve(out, (size_t)byte_len, err);
	if (!r)
		r = decode_bytes(z, codec, data, out->ptr, (size_t)byte_len, err);
	if (r)
		return r;
	out->len = (size_t)byte_len;
	out->ptr[out->len] = 0;
	return sha256 ? store_check_sha256(buf_text(out), *sha256, err) : 0;
}

int evidence_decode(int64_t codec, int64_t byte_len, struct text data, struct text sha256, struct buf *out,
		    struct err *err)
{
	CLEANUP(codec_freep) struct codec *z = NULL;
	int r = codec_new(&z, err);
	return r ? r : evidence_decode_with(z, codec, byte_len, data, &sha256, out, err);
}

int evidence_decode_own(int64_t codec, int64_t byte_len, struct text data, struct buf *out, struct err *err)
{
	CLEANUP(codec_freep) struct codec *z = NULL;
	int r = codec_new(&z, err);
	return r ? r : evidence_decode_with(z, codec, byte_len, data, NULL, out, err);
}

/* Row of evidence_chunk: byte_off, byte_len, codec, data, sha256, rowid. */
static int decode_row(struct sql *s, int64_t source, struct buf *out, struct err *err)
{
	int64_t codec = sql_get_int(s, 2), len = sql_get_int(s, 1);
	int r = own_row(s->c->own_evidence, sql_get_int(s, 5))
		    ? evidence_decode_own(codec, len, sql_get_text(s, 3), out, err)
		    : evidence_decode(codec, len, sql_get_text(s, 3), sql_get_text(s, 4), out, err);
	if (r)
		err_where(err, "evidence S%" PRId64 "@%" PRId64, source, sql_get_int(s, 0));
	return r;
}

int evidence_load(struct case_file *c, int64_t source, uint64_t off, struct err *err)
{
	if (c->cache_full && c->cache_source == source && off >= c->cache_off && off - c->cache_off < c->cache.len)
		return 0;
	if (off > INT64_MAX)
		return 1;
	CLEANUP(sql_endp) struct sql *s = NULL;
	int r = sql_prepare(&s, c,
			    "SELECT byte_off, byte_len, codec, data, sha256, rowid FROM evidence_chunk "
			    "WHERE source = ?1 AND byte_off <= ?2 ORDER BY byte_off DESC LIMIT 1",
			    err);
	if (!r)
		r = sql_int(s, 1, source, err);
	if (!r)
		r = sql_int(s, 2, (int64_t)off, err);
	if (!r)
		r = sql_step(s, err);
	if (r < 0)
		return r;
	if (!r || sql_get_int(s, 0) < 0 || off - (uint64_t)sql_get_int(s, 0) >= (uint64_t)sql_get_int(s, 1))
		return 1;
	c->cache_full = false;
	r = decode_row(s, source, &c->cache, err);
	if (r)
		return r;
	c->cache_source = source;
	c->cache_off = (uint64_t)sql_get_int(s, 0);
	c->cache_full = true;
	return 0;
}

/* What one chunk holds of [off, off+len), at least a byte; it lies in the cache. */
static int load_part(struct case_file *c, int64_t source, uint64_t off, uint64_t len, struct text *ret, struct err *err)
{
	int r = evidence_load(c, source, off, err);
	if (r == 1)
		r = err_set(err, ERR_INPUT, "source %" PRId64 " has no bytes at %" PRIu64, source, off);
	if (r)
		return r;
	*ret = text_from(buf_text(&c->cache), (size_t)(off - c->cache_off));
	if (ret->len > len)
		ret->len = (size_t)len;
	return 0;
}

int evidence_copy(struct case_file *c, int64_t source, uint64_t off, size_t len, char *dest, struct err *err)
{
	for (struct text part; len; off += part.len, len -= part.len, dest += part.len) {
		int r = load_part(c, source, off, len, &part, err);
		if (r)
			return r;
		memcpy(dest, part.ptr, part.len);
	}
	return 0;
}

int evidence_read(struct case_file *c, int64_t source, uint64_t off, uint64_t len, struct buf *out, struct err *err)
{
	if (len > UINT64_MAX - off)
		return err_set(err, ERR_INPUT, "source %" PRId64 " has no such bytes", source);
	size_t before = out->len;
	for (struct text part; len; off += part.len, len -= part.len) {
		int r = load_part(c, source, off, len, &part, err);
		if (!r)
			r = buf_add_text(out, part, err);
		if (r) {
			out->len = before;
			return r;
		}
	}
	return 0;
}

/* --- refs --- */

static bool take_number(struct text *t, uint64_t max, uint64_t *ret)
{
	uint64_t v = 0;
	size_t n = 0;
	for (; n < t->len && t->ptr[n] >= '0' && t->ptr[n] <= '9'; n++) {
		unsigned digit = (unsigned)(t->ptr[n] - '0');
		if (v > (max - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	*t = text_from(*t, n);
	*ret = v;
	return n > 0;
}

static bool take_char(struct text *t, char c)
{
	if (!t->len || t->ptr[0] != c)
		return false;
	*t = text_from(*t, 1);
	return true;
}

bool ref_parse(struct text t, struct ref *ret)
{
	uint64_t source, off, len;
	if (!take_char(&t, 'S') || !take_number(&t, INT64_MAX, &source) || !take_char(&t, '@') ||
	    !take_number(&t, INT64_MAX, &off) || !take_char(&t, '+') || !take_number(&t, INT64_MAX, &len) || t.len)
		return false;
	*ret = (struct ref){(int64_t)source, off, len};
	return true;
}

bool refs_next(struct text json, size_t *at, struct text *ret)
{
	size_t open = text_find_char(json, '"', *at);
	size_t close = open == SIZE_MAX ? SIZE_MAX : text_find_char(json, '"', open + 1);
	if (close == SIZE_MAX)
		return false;
	*ret = text_sub(json, open + 1, close - open - 1);
	*at = close + 1;
	return true;
}

char *ref_format(struct ref r, char *buf, size_t size)
{
	char tmp[4 + 3 * TEXT_NUMBER_MAX], *p = tmp;
	*p++ = 'S';
	p += text_put_int64(p, r.source);
	*p++ = '@';
	p += text_put_uint64(p, r.off);
	*p++ = '+';
	p += text_put_uint64(p, r.len);
	size_t n = MIN((size_t)(p - tmp), size - 1);
	memcpy(buf, tmp, n);
	buf[n] = '\0';
	return buf;
}
