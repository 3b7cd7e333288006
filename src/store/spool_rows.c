/* SPDX-License-Identifier: Apache-2.0 */
/* spool_rows.c - a batch as bytes that this process alone writes and reads: made for speed, not for size
 *
 * Rows, then what every event has, then each column behind its length, so that one that is not asked for is passed by.
 * Integers are differences to the row before. A text is a byte: which of the last texts of its column it is, told apart by a part
 * of their hash; or, with the lowest bit set, that it takes that place and follows. So texts that come again
 * share their bytes, as they do in a decoded chunk.
 */
#include "spool_rows.h"

#include "pack.h"
#include "pagetrail/macros.h"

enum { RECENT = 64 };

/* --- writing --- */

static unsigned char *put_ints(unsigned char *p, const struct event_batch *b, unsigned column)
{
	const int64_t *v = b->ints[column];
	uint64_t before = 0;
	for (uint32_t i = 0; i < b->n; i++) {
		if (!event_known(b, i, column))
			continue;
		p = put_varint(p, zigzag((int64_t)((uint64_t)v[i] - before)));
		before = (uint64_t)v[i];
	}
	return p;
}

static inline unsigned char *put_text(unsigned char *p, struct text t, struct text recent[RECENT])
{
	unsigned slot = (unsigned)(hash_bytes(t.ptr, t.len) % RECENT);
	struct text *r = &recent[slot];
	if (r->ptr && r->len == t.len && (r->ptr == t.ptr || !memcmp(r->ptr, t.ptr, t.len))) {
		*p++ = (unsigned char)(slot << 1);
		return p;
	}
	*r = (struct text){t.ptr ? t.ptr : "", t.len};
	*p++ = (unsigned char)(slot << 1 | 1);
	p = put_varint(p, t.len);
	if (t.len)
		memcpy(p, t.ptr, t.len);
	return p + t.len;
}

/* column UINT32_MAX: every row has one. */
static unsigned char *put_texts(unsigned char *p, const struct event_batch *b, const struct text *v, unsigned column)
{
	struct text recent[RECENT] = {{NULL, 0}};
	for (uint32_t i = 0; i < b->n; i++)
		if (column == UINT32_MAX || event_known(b, i, column))
			p = put_text(p, v[i], recent);
	return p;
}

static size_t texts_bytes(const struct event_batch *b, const struct text *v, unsigned column)
{
	size_t bytes = 0;
	for (uint32_t i = 0; i < b->n; i++)
		if (column == UINT32_MAX || event_known(b, i, column))
			bytes += 1 + VARINT_MAX + v[i].len;
	return bytes;
}

static int room(struct buf *out, size_t bytes, unsigned char **ret, struct err *err)
{
	int r = buf_reserve(out, bytes, err);
	if (!r)
		*ret = (unsigned char *)out->ptr + out->len;
	return r;
}

static void used(struct buf *out, const unsigned char *p)
{
	out->len = (size_t)((const char *)p - out->ptr);
	out->ptr[out->len] = 0;
}

static int pack_common(const struct event_batch *b, uint32_t columns, struct buf *out, struct err *err)
{
	unsigned char *p;
	uint64_t ts = 0, off = 0;
	int r = room(out, 2 * VARINT_MAX + (size_t)b->n * (4 * VARINT_MAX + 1) + texts_bytes(b, b->worker, UINT32_MAX),
		     &p, err);
	if (r)
		return r;
	p = put_varint(p, b->n);
	p = put_varint(p, columns);
	for (uint32_t i = 0; i < b->n; i++) {
		p = put_varint(p, zigzag((int64_t)((uint64_t)b->ts_ns[i] - ts)));
		p = put_varint(p, zigzag((int64_t)(b->byte_off[i] - off)));
		p = put_varint(p, b->byte_len[i]);
		p = put_varint(p, b->known[i] & columns);
		*p++ = b->ts_quality[i];
		ts = (uint64_t)b->ts_ns[i];
		off = b->byte_off[i];
	}
	used(out, put_texts(p, b, b->worker, UINT32_MAX));
	return 0;
}

static int pack_column(const struct event_batch *b, unsigned column, struct buf *out, struct err *err)
{
	unsigned char *p;
	uint32_t len;
	bool text = event_kinds[b->kind].columns[column].type == COLUMN_TEXT;
	size_t most = text ? texts_bytes(b, b->texts[column], column) : (size_t)b->n * VARINT_MAX;
	int r = room(out, sizeof(len) + most, &p, err);
	if (r)
		return r;
	unsigned char *head = p;
	p += sizeof(len);
	p = text ? put_texts(p, b, b->texts[column], column) : put_ints(p, b, column);
	len = (uint32_t)(p - head - sizeof(len));
	memcpy(head, &len, sizeof(len));
	used(out, p);
	return 0;
}

static bool kept(enum event_kind kind, unsigned column)
{
	return event_kinds[kind].columns[column].type != COLUMN_PAGES;
}

int spool_rows_pack(const struct event_batch *b, uint32_t columns, struct buf *out, struct err *err)
{
	int r = pack_common(b, columns, out, err);
	for (unsigned c = 0; !r && c < event_kinds[b->kind].n_columns; c++)
		if (columns >> c & 1 && kept(b->kind, c))
			r = pack_column(b, c, out, err);
	return r;
}

/* --- reading: nobody else has written it, but it went through a file --- */

static bool get_text(struct pack_reader *in, struct text recent[RECENT], struct text *ret)
{
	uint64_t len;
	if (in->at == in->end)
		return false;
	unsigned code = *in->at++;
	struct text *r = &recent[(code >> 1) % RECENT];
	if (code & 1) {
		if (!unpack_varint(in, &len) || len > (uint64_t)(in->end - in->at))
			return false;
		*r = (struct text){(const char *)in->at, (size_t)len};
		in->at += len;
	}
	*ret = *r;
	return r->ptr != NULL;
}

static bool get_texts(struct pack_reader *in, const struct event_batch *b, struct text *to, unsigned column)
{
	struct text recent[RECENT] = {{NULL, 0}};
	bool good = true;
	for (uint32_t i = 0; good && i < b->n; i++)
		if (column == UINT32_MAX || event_known(b, i, column))
			good = get_text(in, recent, &to[i]);
	return good;
}

static bool get_ints(struct pack_reader *in, const struct event_batch *b, unsigned column)
{
	uint64_t v, before = 0;
	for (uint32_t i = 0; i < b->n; i++) {
		if (!event_known(b, i, column))
			continue;
		if (!unpack_varint(in, &v))
			return false;
		before += (uint64_t)unzigzag(v);
		b->ints[column][i] = (int64_t)before;
	}
	return true;
}

static bool get_common(struct pack_reader *in, struct event_batch *b)
{
	uint64_t ts = 0, off = 0, v[4];
	for (uint32_t i = 0; i < b->n; i++) {
		for (int k = 0; k < 4; k++)
			if (!unpack_varint(in, &v[k]))
				return false;
		if (in->at == in->end)
			return false;
		b->ts_ns[i] = (int64_t)(ts += (uint64_t)unzigzag(v[0]));
		b->byte_off[i] = off += (uint64_t)unzigzag(v[1]);
		b->byte_len[i] = (uint32_t)v[2];
		b->known[i] = (uint32_t)v[3];
		b->ts_quality[i] = *in->at++;
	}
	return get_texts(in, b, b->worker, UINT32_MAX);
}

static bool get_column(struct pack_reader *in, struct event_batch *b, unsigned column, bool wanted)
{
	uint32_t len;
	if ((size_t)(in->end - in->at) < sizeof(len))
		return false;
	memcpy(&len, in->at, sizeof(len));
	in->at += sizeof(len);
	if (len > (size_t)(in->end - in->at))
		return false;
	struct pack_reader own = {in->at, in->at + len};
	in->at += len;
	if (!wanted)
		return true;
	return event_kinds[b->kind].columns[column].type == COLUMN_TEXT ? get_texts(&own, b, b->texts[column], column)
									: get_ints(&own, b, column);
}

int spool_rows_unpack(struct text plain, enum event_kind kind, uint32_t mask, struct arena *arena,
		      struct event_batch **ret, struct err *err)
{
	struct pack_reader in = {(const unsigned char *)plain.ptr, (const unsigned char *)plain.ptr + plain.len};
	struct event_batch *b = NULL;
	uint64_t n, columns;
	bool good = unpack_varint(&in, &n) && unpack_varint(&in, &columns) && n <= EVENT_BATCH_MAX;
	int r = good ? event_batch_new(&b, kind, (uint32_t)n, err) : 0;
	if (r)
		return r;
	if (good) {
		b->n = (uint32_t)n;
		good = get_common(&in, b);
	}
	for (unsigned c = 0; good && c < event_kinds[kind].n_columns; c++)
		if (columns >> c & 1 && kept(kind, c))
			good = get_column(&in, b, c, mask >> c & 1);
	if (!good || in.at != in.end) {
		event_batch_free(b);
		return err_set(err, ERR_IO, "a temporary file does not hold what was written to it");
	}
	b->columns = mask & (uint32_t)((UINT64_C(1) << event_kinds[kind].n_columns) - 1);
	for (uint32_t i = 0; i < b->n; i++)
		b->known[i] &= mask;
	arena_done(&b->arena);
	b->arena = *arena;
	*arena = (struct arena){NULL, 0, 0};
	*ret = b;
	return 0;
}
