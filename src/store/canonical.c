/* SPDX-License-Identifier: Apache-2.0 */
/* canonical.c - rows as bytes that are hashed */
#include "canonical.h"

#include "store.h"

int canonical_u64(struct buf *b, uint64_t v, struct err *err)
{
	unsigned char p[8];
	for (int i = 0; i < 8; i++)
		p[i] = (unsigned char)(v >> (56 - 8 * i));
	return buf_add(b, p, sizeof(p), err);
}

int canonical_text(struct buf *b, struct text t, struct err *err)
{
	int r = canonical_u64(b, t.len, err);
	return r ? r : buf_add_text(b, t, err);
}

int canonical_cell(struct buf *b, struct sql *s, int col, struct err *err)
{
	int r;
	switch (sql_type(s, col)) {
	case SQL_NULL: return buf_add_char(b, 'n', err);
	case SQL_INT:
		r = buf_add_char(b, 'i', err);
		return r ? r : canonical_u64(b, (uint64_t)sql_get_int(s, col), err);
	default: r = buf_add_char(b, 't', err); return r ? r : canonical_text(b, sql_get_text(s, col), err);
	}
}

int canonical_rows(struct sha256 *h, struct sql *s, struct err *err)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(2 * CHUNK_MAX_DECODED_BYTES);
	int r, columns = sql_columns(s);
	while ((r = sql_step(s, err)) > 0) {
		r = buf_add_char(&out, 'r', err);
		for (int i = 0; !r && i < columns; i++)
			r = canonical_cell(&out, s, i, err);
		if (!r && out.len > 64 * KIB) {
			r = sha256_add(h, out.ptr, out.len, err);
			buf_clear(&out);
		}
		if (r)
			return r;
	}
	return r || !out.len ? r : sha256_add(h, out.ptr, out.len, err);
}
