/* SPDX-License-Identifier: Apache-2.0 */
/* row_chunk.c - rows of one table as bytes: a directory, then one section a column
 *
 * A column that no row knows has no section. Integers and texts are packed as in event chunks (pack.h); a list of refs is
 * a count, then sources, offsets and lengths, each against the one before of the same source, because rows follow each other in time
 * as the records of a log do.
 */
#include "row_chunk.h"

#include <stdlib.h>
#include <string.h>

#include "pack.h"
#include "pagetrail/limits.h"

#define COLUMN(id, name, type, unit, meaning) {name, type},
static const struct row_column request_columns[] = {ROWS_REQUEST_COLUMNS(COLUMN)};
static const struct row_column alias_columns[] = {ROWS_ALIAS_COLUMNS(COLUMN)};
static const struct row_column leg_columns[] = {ROWS_LEG_COLUMNS(COLUMN)};
static const struct row_column response_columns[] = {ROWS_RESPONSE_COLUMNS(COLUMN)};
#undef COLUMN
const struct row_table_info row_tables[ROW_TABLES] = {
    [ROWS_REQUEST] = {"request", request_columns, REQUEST_COLUMNS, REQUEST_REQUEST, REQUEST_REQUEST, REQUEST_NAME},
    [ROWS_ALIAS] = {"alias", alias_columns, ALIAS_COLUMNS, -1, ALIAS_REQUEST, ALIAS_VALUE},
    [ROWS_LEG] = {"leg", leg_columns, LEG_ROW_COLUMNS, LEG_ROW_LEG, LEG_ROW_REQUEST, -1},
    [ROWS_RESPONSE] = {"response", response_columns, RESPONSE_COLUMNS, RESPONSE_RESPONSE, RESPONSE_REQUEST, -1},
};
_Static_assert((int)LEG_ROW_COLUMNS <= (int)ROW_COLUMNS_MAX, "the widest table");

enum { ROW_MAGIC = 0x52 /* R */, ROW_FORMAT = 1 };
enum { SECTION_STORED = 0, SECTION_ZSTD = 1 };
enum { SECTION_LEVEL = 1, SECTION_WORTH_PACKING = 24 };
enum { REF_SLOTS = 256, REF_BYTES_MIN = 3 };

/* The ref before of the same source, or of one that shares its slot. */
struct ref_state {
	uint64_t source, off[REF_SLOTS], len[REF_SLOTS];
};

/* --- packing --- */

static int pack_refs(struct buf *out, const struct row_cells *c, uint32_t n, struct err *err)
{
	struct ref_state last = {0};
	uint32_t from = 0, total = n ? c->ref_end[n - 1] : 0;
	int r = buf_reserve(out, ((size_t)n + 3 * (size_t)total) * VARINT_MAX + 1, err);
	if (r)
		return r;
	unsigned char *p = (unsigned char *)out->ptr + out->len;
	for (uint32_t i = 0; i < n; from = c->ref_end[i++])
		p = put_varint(p, c->ref_end[i] - from);
	for (uint32_t i = 0; i < total; i++) {
		p = put_varint(p, zigzag((int64_t)((uint64_t)c->refs[i].source - last.source)));
		last.source = (uint64_t)c->refs[i].source;
	}
	for (uint32_t i = 0; i < total; i++) {
		uint64_t *off = &last.off[(uint64_t)c->refs[i].source % REF_SLOTS];
		p = put_varint(p, zigzag((int64_t)(c->refs[i].off - *off)));
		*off = c->refs[i].off;
	}
	for (uint32_t i = 0; i < total; i++) {
		uint64_t *len = &last.len[(uint64_t)c->refs[i].source % REF_SLOTS];
		p = put_varint(p, zigzag((int64_t)(c->refs[i].len - *len)));
		*len = c->refs[i].len;
	}
	out->len = (size_t)((char *)p - out->ptr);
	out->ptr[out->len] = 0;
	return 0;
}

static bool any_value(enum row_type type, const struct row_cells *c, uint32_t n)
{
	return type == ROW_REFS ? c->ref_end[n - 1] > 0 : memchr(c->has, 1, n) != NULL;
}

static int pack_column(enum row_type type, const struct row_cells *c, uint32_t n, struct buf *raw, struct err *err)
{
	buf_clear(raw);
	switch (type) {
	case ROW_INT: return pack_ints(raw, c->ints, c->has, n, err);
	case ROW_TEXT: return pack_texts(raw, c->texts, c->has, n, err);
	default: return pack_refs(raw, c, n, err);
	}
}

static int hash_head(struct sha256 *h, enum row_table table, uint32_t n, struct err *err)
{
	const unsigned char head[] = {ROW_FORMAT,
				      (unsigned char)table,
				      (unsigned char)(n >> 24),
				      (unsigned char)(n >> 16),
				      (unsigned char)(n >> 8),
				      (unsigned char)n};
	return sha256_add(h, head, sizeof(head), err);
}

static int hash_section(struct sha256 *h, unsigned id, struct text raw, struct err *err)
{
	unsigned char head[9] = {(unsigned char)id};
	for (int i = 0; i < 8; i++)
		head[1 + i] = (unsigned char)((uint64_t)raw.len >> (56 - 8 * i));
	int r = sha256_add(h, head, sizeof(head), err);
	return r ? r : sha256_add(h, raw.ptr, raw.len, err);
}

struct packer {
	struct codec *z;
	bool compress;
	struct buf raw, directory, body;
	unsigned sections;
	struct sha256 *hash;
};

static int put_section(struct packer *x, unsigned id, struct err *err)
{
	size_t before = x->body.len;
	bool packed = false;
	int r = hash_section(x->hash, id, buf_text(&x->raw), err);
	if (!r)
		r = codec_pack_shorter(x->z, buf_text(&x->raw), SECTION_LEVEL,
				       x->compress ? SECTION_WORTH_PACKING : SIZE_MAX, &x->body, &packed, err);
	const char head[] = {(char)id, packed ? SECTION_ZSTD : SECTION_STORED};
	if (!r)
		r = buf_add(&x->directory, head, sizeof(head), err);
	if (!r)
		r = pack_varint(&x->directory, x->raw.len, err);
	if (!r)
		r = pack_varint(&x->directory, x->body.len - before, err);
	x->sections++;
	return r;
}

int row_chunk_pack(enum row_table table, uint32_t n, const struct row_cells *columns, bool compress, struct codec *z,
		   struct buf *out, unsigned char sha256[SHA256_BYTES], struct err *err)
{
	const struct row_table_info *info = &row_tables[table];
	struct packer x = {.z = z, .compress = compress};
	x.raw = x.directory = x.body = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	int r = n && n <= ROW_CHUNK_ROWS ? 0 : err_set(err, ERR_BUG, "chunk of %u rows", n);
	if (!r)
		r = sha256_new(&x.hash, err);
	if (!r)
		r = hash_head(x.hash, table, n, err);
	for (unsigned i = 0; !r && i < info->n_columns; i++) {
		enum row_type type = info->columns[i].type;
		if (!any_value(type, &columns[i], n))
			continue;
		r = pack_column(type, &columns[i], n, &x.raw, err);
		if (!r)
			r = put_section(&x, i, err);
	}
	const char head[] = {ROW_MAGIC, ROW_FORMAT, (char)table, (char)x.sections};
	if (!r)
		r = buf_add(out, head, sizeof(head), err);
	if (!r)
		r = pack_varint(out, n, err);
	if (!r)
		r = buf_add_text(out, buf_text(&x.directory), err);
	if (!r)
		r = buf_add_text(out, buf_text(&x.body), err);
	buf_done(&x.raw);
	buf_done(&x.directory);
	buf_done(&x.body);
	if (!r)
		return sha256_end(x.hash, sha256, err);
	sha256_free(x.hash);
	return r;
}

/* --- unpacking --- */

struct section {
	bool there, packed;
	size_t raw_len;
	struct text bytes;
};

struct row_chunk {
	unsigned refs;
	enum row_table table;
	uint32_t n;
	struct arena arena;
	struct codec *z; /* not ours */
	struct section sections[ROW_COLUMNS_MAX];
	struct row_cells cells[ROW_COLUMNS_MAX];
	bool decoded[ROW_COLUMNS_MAX];
};

static int damaged(const char *what, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "row chunk: %s", what);
}

static int read_directory(struct row_chunk *x, struct pack_reader *in, unsigned n, struct err *err)
{
	const struct row_table_info *info = &row_tables[x->table];
	unsigned order[ROW_COLUMNS_MAX];
	uint64_t raw, packed, total = 0;
	for (unsigned i = 0; i < n; i++) {
		if (in->end - in->at < 2)
			return damaged("directory is cut", err);
		unsigned id = *in->at++, coding = *in->at++;
		if (id >= info->n_columns || coding > SECTION_ZSTD || x->sections[id].there)
			return damaged("unknown section", err);
		if (!unpack_varint(in, &raw) || !unpack_varint(in, &packed) || raw > CHUNK_MAX_DECODED_BYTES ||
		    packed > CHUNK_MAX_DECODED_BYTES || (coding == SECTION_STORED && raw != packed))
			return damaged("length of a section", err);
		x->sections[id] = (struct section){true, coding == SECTION_ZSTD, (size_t)raw, {NULL, (size_t)packed}};
		order[i] = id;
		total += raw;
	}
	if (total > CHUNK_MAX_DECODED_BYTES)
		return damaged("it claims too many bytes", err);
	for (unsigned i = 0; i < n; i++) {
		struct section *s = &x->sections[order[i]];
		if (s->bytes.len > (size_t)(in->end - in->at))
			return damaged("a section is cut", err);
		s->bytes.ptr = (const char *)in->at;
		in->at += s->bytes.len;
	}
	return in->at == in->end ? 0 : damaged("bytes left over", err);
}

int row_chunk_open(struct row_chunk **ret, enum row_table table, uint32_t n, struct text data, struct codec *z,
		   struct err *err)
{
	if (data.len < 5 || data.len > CHUNK_MAX_DECODED_BYTES || data.ptr[0] != ROW_MAGIC ||
	    data.ptr[1] != ROW_FORMAT || data.ptr[2] != (char)table || !n || n > ROW_CHUNK_ROWS ||
	    (unsigned char)data.ptr[3] > row_tables[table].n_columns)
		return damaged("not one of this table", err);
	struct row_chunk *x = calloc(1, sizeof(*x));
	if (!x)
		return err_nomem(err);
	x->refs = 1;
	x->table = table;
	x->n = n;
	x->z = z;
	arena_init(&x->arena, 4 * CHUNK_MAX_DECODED_BYTES);
	struct text copy = arena_text(&x->arena, data);
	int r = copy.ptr ? 0 : err_nomem(err);
	if (!r) {
		const unsigned char *p = (const unsigned char *)copy.ptr;
		struct pack_reader in = {p + 4, p + copy.len};
		uint64_t rows;
		r = unpack_varint(&in, &rows) && rows == n ? read_directory(x, &in, p[3], err)
							   : damaged("number of rows", err);
	}
	if (r) {
		row_chunk_unref(x);
		return r;
	}
	*ret = x;
	return 0;
}

struct row_chunk *row_chunk_ref(struct row_chunk *x)
{
	x->refs++;
	return x;
}

void row_chunk_unref(struct row_chunk *x)
{
	if (!x || --x->refs)
		return;
	arena_done(&x->arena);
	free(x);
}

static int open_section(struct row_chunk *x, const struct section *s, struct text *ret, struct err *err)
{
	*ret = s->bytes;
	if (!s->packed)
		return 0;
	char *to = arena_alloc(&x->arena, s->raw_len + 1);
	if (!to)
		return err_nomem(err);
	*ret = (struct text){to, s->raw_len};
	return codec_unpack(x->z, s->bytes, to, s->raw_len, err);
}

static int unpack_ref_ends(struct pack_reader *in, uint32_t *end, uint32_t n, struct err *err)
{
	uint64_t count, total = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!unpack_varint(in, &count) || count > (uint64_t)(in->end - in->at))
			return damaged("refs are cut", err);
		total += count;
		if (total > (uint64_t)(in->end - in->at) / REF_BYTES_MIN)
			return damaged("refs are cut", err);
		end[i] = (uint32_t)total;
	}
	return 0;
}

static int unpack_refs(struct row_chunk *x, struct pack_reader *in, struct row_cells *c, struct err *err)
{
	struct ref_state last = {0};
	uint64_t v;
	int r = unpack_ref_ends(in, c->ref_end, x->n, err);
	uint32_t total = r ? 0 : c->ref_end[x->n - 1];
	if (r)
		return r;
	c->refs = arena_array(&x->arena, (size_t)total + 1, sizeof(*c->refs));
	if (!c->refs)
		return err_nomem(err);
	for (uint32_t i = 0; i < total; i++) {
		if (!unpack_varint(in, &v))
			return damaged("refs are cut", err);
		last.source += (uint64_t)unzigzag(v);
		c->refs[i].source = (int64_t)last.source;
	}
	for (uint32_t i = 0; i < total; i++) {
		uint64_t *off = &last.off[(uint64_t)c->refs[i].source % REF_SLOTS];
		if (!unpack_varint(in, &v))
			return damaged("refs are cut", err);
		c->refs[i].off = *off += (uint64_t)unzigzag(v);
	}
	for (uint32_t i = 0; i < total; i++) {
		uint64_t *len = &last.len[(uint64_t)c->refs[i].source % REF_SLOTS];
		if (!unpack_varint(in, &v))
			return damaged("refs are cut", err);
		c->refs[i].len = *len += (uint64_t)unzigzag(v);
	}
	return in->at == in->end ? 0 : damaged("bytes left over", err);
}

static int decode(struct row_chunk *x, unsigned column, struct err *err)
{
	const struct section *s = &x->sections[column];
	struct row_cells *c = &x->cells[column];
	enum row_type type = row_tables[x->table].columns[column].type;
	struct text raw = {NULL, 0};
	c->has = arena_array(&x->arena, x->n, sizeof(*c->has));
	if (type == ROW_INT)
		c->ints = arena_array(&x->arena, x->n, sizeof(*c->ints));
	if (type == ROW_TEXT)
		c->texts = arena_array(&x->arena, x->n, sizeof(*c->texts));
	if (type == ROW_REFS)
		c->ref_end = arena_array(&x->arena, x->n, sizeof(*c->ref_end));
	if (!c->has || !(c->ints || c->texts || c->ref_end))
		return err_nomem(err);
	if (type == ROW_REFS)
		memset(c->has, 1, x->n);
	if (!s->there)
		return 0;
	int r = open_section(x, s, &raw, err);
	struct pack_reader in = {(const unsigned char *)raw.ptr, (const unsigned char *)raw.ptr + raw.len};
	if (r)
		return r;
	switch (type) {
	case ROW_INT: return unpack_ints(&in, c->ints, c->has, x->n, err);
	case ROW_TEXT: return unpack_texts(&in, c->texts, c->has, x->n, err);
	default: return unpack_refs(x, &in, c, err);
	}
}

int row_chunk_column(struct row_chunk *x, unsigned column, const struct row_cells **ret, struct err *err)
{
	*ret = &x->cells[column];
	int r = x->decoded[column] ? 0 : decode(x, column, err);
	x->decoded[column] = !r;
	return r;
}

int row_chunk_sha256(struct row_chunk *x, unsigned char ret[SHA256_BYTES], struct err *err)
{
	struct sha256 *h = NULL;
	int r = sha256_new(&h, err);
	if (!r)
		r = hash_head(h, x->table, x->n, err);
	for (unsigned i = 0; !r && i < row_tables[x->table].n_columns; i++) {
		struct text raw;
		if (!x->sections[i].there)
			continue;
		r = open_section(x, &x->sections[i], &raw, err);
		if (!r)
			r = hash_section(h, i, raw, err);
	}
	if (!r)
		return sha256_end(h, ret, err);
	sha256_free(h);
	return r;
}

int row_refs_json(const struct row_cells *c, uint32_t row, struct buf *out, struct err *err)
{
	uint32_t i = row ? c->ref_end[row - 1] : 0;
	int r = buf_add_char(out, '[', err);
	for (const char *sep = "\""; !r && i < c->ref_end[row]; i++, sep = ",\"") {
		char text[80];
		r = buf_add(out, sep, strlen(sep), err);
		if (!r)
			r = buf_add_text(out, text_of(ref_format(c->refs[i], text, sizeof(text))), err);
		if (!r)
			r = buf_add_char(out, '"', err);
	}
	return r ? r : buf_add_char(out, ']', err);
}
