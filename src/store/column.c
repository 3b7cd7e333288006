/* SPDX-License-Identifier: Apache-2.0 */
/* column.c - event chunks: a directory, then one compressed section a column
 *
 * A column that no row knows has no section. Sections are independent, so that a scan decompresses only what it was
 * asked for. The decoder checks the directory as a whole, and each length against the bytes at hand and
 * CHUNK_MAX_DECODED_BYTES, before it allocates.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "codec.h"
#include "pack.h"
#include "pagetrail/column.h"
#include "store.h"

enum { CHUNK_MAGIC = 0x50 /* P */, CHUNK_FORMAT = 1 };
/* Section numbers: the common columns, then the kind's own from SECTION_OWN on. */
enum { SECTION_TS, SECTION_QUALITY, SECTION_WORKER, SECTION_OFF, SECTION_LEN, SECTION_COMMON, SECTION_OWN = 32 };
enum { SECTIONS_MAX = SECTION_COMMON + EVENT_COLUMNS_MAX, SECTION_STORED = 0, SECTION_ZSTD = 1 };
/* what is left after packing is close to random: higher levels cost time and save nothing */
enum { SECTION_LEVEL = 1, SECTION_WORTH_PACKING = 24 };

/* --- encoding --- */

struct encoder {
	const struct event_batch *b;
	struct codec *z;
	struct buf raw, directory, body; /* raw: the section at hand */
	unsigned sections;
	uint8_t *has;
	int64_t *tmp;
};

static int end_section(struct encoder *x, unsigned id, struct err *err)
{
	size_t before = x->body.len;
	int coding = SECTION_STORED, r = 0;
	if (x->raw.len >= SECTION_WORTH_PACKING) {
		r = codec_pack(x->z, buf_text(&x->raw), SECTION_LEVEL, &x->body, err);
		if (!r && x->body.len - before < x->raw.len)
			coding = SECTION_ZSTD;
		else
			x->body.len = before;
	}
	if (!r && coding == SECTION_STORED)
		r = buf_add_text(&x->body, buf_text(&x->raw), err);
	if (!r)
		r = buf_add_char(&x->directory, (char)id, err);
	if (!r)
		r = buf_add_char(&x->directory, (char)coding, err);
	if (!r)
		r = pack_varint(&x->directory, x->raw.len, err);
	if (!r)
		r = pack_varint(&x->directory, x->body.len - before, err);
	x->sections++;
	return r;
}

static int encode_ints(struct encoder *x, unsigned id, const int64_t *v, const uint8_t *has, struct err *err)
{
	buf_clear(&x->raw);
	int r = pack_ints(&x->raw, v, has, x->b->n, err);
	return r ? r : end_section(x, id, err);
}

static int encode_common(struct encoder *x, struct err *err)
{
	const struct event_batch *b = x->b;
	bool any = false;
	for (uint32_t i = 0; i < b->n; i++)
		any |= x->has[i] = b->ts_ns[i] != TIME_UNKNOWN;
	int r = any ? encode_ints(x, SECTION_TS, b->ts_ns, x->has, err) : 0;
	for (uint32_t i = 0; i < b->n; i++)
		x->tmp[i] = b->ts_quality[i];
	if (!r)
		r = encode_ints(x, SECTION_QUALITY, x->tmp, NULL, err);
	buf_clear(&x->raw);
	if (!r)
		r = pack_texts(&x->raw, b->worker, NULL, b->n, err);
	if (!r)
		r = end_section(x, SECTION_WORKER, err);
	/* records mostly follow each other: what is kept is the gap to the end of the one before */
	uint64_t end = 0;
	for (uint32_t i = 0; i < b->n; i++) {
		x->tmp[i] = (int64_t)(b->byte_off[i] - end);
		end = b->byte_off[i] + b->byte_len[i];
	}
	if (!r)
		r = encode_ints(x, SECTION_OFF, x->tmp, NULL, err);
	for (uint32_t i = 0; i < b->n; i++)
		x->tmp[i] = b->byte_len[i];
	return r ? r : encode_ints(x, SECTION_LEN, x->tmp, NULL, err);
}

static int encode_column(struct encoder *x, unsigned column, struct err *err)
{
	const struct event_batch *b = x->b;
	bool any = false;
	for (uint32_t i = 0; i < b->n; i++)
		any |= x->has[i] = b->known[i] >> column & 1;
	if (!any)
		return 0;
	int r;
	buf_clear(&x->raw);
	switch (event_kinds[b->kind].columns[column].type) {
	case COLUMN_INT: r = pack_ints(&x->raw, b->ints[column], x->has, b->n, err); break;
	case COLUMN_TEXT: r = pack_texts(&x->raw, b->texts[column], x->has, b->n, err); break;
	default: r = pack_runs(&x->raw, b->runs, b->run_end, x->has, b->n, err);
	}
	return r ? r : end_section(x, SECTION_OWN + column, err);
}

static int assemble(struct encoder *x, struct buf *out, struct err *err)
{
	const char head[] = {CHUNK_MAGIC, CHUNK_FORMAT, (char)x->b->kind};
	*out = BUF_INIT(2 * CHUNK_MAX_DECODED_BYTES);
	int r = buf_add(out, head, sizeof(head), err);
	if (!r)
		r = pack_varint(out, x->b->n, err);
	if (!r)
		r = pack_varint(out, x->sections, err);
	if (!r)
		r = buf_add_text(out, buf_text(&x->directory), err);
	return r ? r : buf_add_text(out, buf_text(&x->body), err);
}

static void find_zone(const struct event_batch *b, struct event_chunk *e)
{
	e->ts_min = e->ts_max = TIME_UNKNOWN;
	for (uint32_t i = 0; i < b->n; i++) {
		uint64_t end = b->byte_off[i] + b->byte_len[i];
		if (!i || b->byte_off[i] < e->byte_min)
			e->byte_min = b->byte_off[i];
		if (end > e->byte_max)
			e->byte_max = end;
		if (b->ts_ns[i] == TIME_UNKNOWN)
			continue;
		if (e->ts_min == TIME_UNKNOWN || b->ts_ns[i] < e->ts_min)
			e->ts_min = b->ts_ns[i];
		if (e->ts_max == TIME_UNKNOWN || b->ts_ns[i] > e->ts_max)
			e->ts_max = b->ts_ns[i];
	}
}

int column_encode(const struct event_batch *b, struct event_chunk *ret, struct err *err)
{
	*ret = (struct event_chunk){.kind = b->kind, .n = b->n};
	if (!b->n || b->n > EVENT_BATCH_MAX)
		return err_set(err, ERR_BUG, "event chunk of %" PRIu32 " events", b->n);
	struct encoder x = {.b = b};
	x.raw = x.directory = x.body = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	x.has = malloc(b->n);
	x.tmp = malloc(b->n * sizeof(*x.tmp));
	int r = x.has && x.tmp ? codec_new(&x.z, err) : err_nomem(err);
	if (!r)
		r = encode_common(&x, err);
	for (unsigned column = 0; !r && column < event_kinds[b->kind].n_columns; column++)
		r = encode_column(&x, column, err);
	if (!r)
		r = assemble(&x, &ret->data, err);
	if (!r)
		r = sha256_once(ret->data.ptr, ret->data.len, ret->sha256, err);
	find_zone(b, ret);
	codec_free(x.z);
	buf_done(&x.raw);
	buf_done(&x.directory);
	buf_done(&x.body);
	free(x.has);
	free(x.tmp);
	if (r)
		column_done(ret);
	return r;
}

void column_done(struct event_chunk *e)
{
	buf_done(&e->data);
}

/* --- decoding --- */

struct section {
	unsigned id, coding;
	size_t raw_len;
	struct text bytes;
};

struct decoder {
	struct event_batch *b;
	struct codec *z;
	struct buf raw;
	uint8_t *has;
	int64_t *tmp;
	struct section sections[SECTIONS_MAX];
	unsigned n_sections;
};

static int damaged(const char *what, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "event chunk: %s", what);
}

static int read_directory(struct decoder *x, enum event_kind kind, struct pack_reader *in, unsigned n, struct err *err)
{
	uint64_t raw, packed, total = 0;
	int last = -1;
	for (unsigned i = 0; i < n; i++) {
		struct section *s = &x->sections[i];
		if (in->end - in->at < 2)
			return damaged("directory is cut", err);
		s->id = *in->at++;
		s->coding = *in->at++;
		if ((int)s->id <= last || s->coding > SECTION_ZSTD ||
		    (s->id >= SECTION_COMMON &&
		     (s->id < SECTION_OWN || s->id >= SECTION_OWN + event_kinds[kind].n_columns)))
			return damaged("unknown section", err);
		last = (int)s->id;
		if (!unpack_varint(in, &raw) || !unpack_varint(in, &packed) || raw > CHUNK_MAX_DECODED_BYTES ||
		    packed > CHUNK_MAX_DECODED_BYTES || (s->coding == SECTION_STORED && raw != packed))
			return damaged("length of a section", err);
		total += raw;
		s->raw_len = (size_t)raw;
		s->bytes.len = (size_t)packed;
	}
	if (total > CHUNK_MAX_DECODED_BYTES)
		return damaged("it claims too many bytes", err);
	for (unsigned i = 0; i < n; i++) {
		struct section *s = &x->sections[i];
		if (s->bytes.len > (size_t)(in->end - in->at))
			return damaged("a section is cut", err);
		s->bytes.ptr = (const char *)in->at;
		in->at += s->bytes.len;
	}
	x->n_sections = n;
	return in->at == in->end ? 0 : damaged("bytes left over", err);
}

/* Opens a section: bytes stay valid as long as the batch when `keep`, else until the next section. */
static int open_section(struct decoder *x, const struct section *s, bool keep, struct pack_reader *ret, struct err *err)
{
	char *to;
	if (keep) {
		to = arena_alloc(&x->b->arena, s->raw_len + 1);
		if (!to)
			return err_nomem(err);
	} else {
		buf_clear(&x->raw);
		int r = buf_reserve(&x->raw, s->raw_len + 1, err);
		if (r)
			return r;
		to = x->raw.ptr;
	}
	if (s->coding == SECTION_STORED) {
		if (s->raw_len)
			memcpy(to, s->bytes.ptr, s->raw_len);
	} else {
		int r = codec_unpack(x->z, s->bytes, to, s->raw_len, err);
		if (r)
			return r;
	}
	*ret = (struct pack_reader){(const unsigned char *)to, (const unsigned char *)to + s->raw_len};
	return 0;
}

/* A column of integers in which every row has a value within [0, max]. */
static int decode_all(struct decoder *x, const struct section *s, int64_t max, struct err *err)
{
	struct pack_reader in;
	int r = open_section(x, s, false, &in, err);
	if (!r)
		r = unpack_ints(&in, x->tmp, x->has, x->b->n, err);
	for (uint32_t i = 0; !r && i < x->b->n; i++)
		if (!x->has[i] || (max && (x->tmp[i] < 0 || x->tmp[i] > max)))
			r = damaged("a record's place", err);
	return r;
}

static int decode_common(struct decoder *x, const struct section *s, struct err *err)
{
	struct event_batch *b = x->b;
	struct pack_reader in;
	int r;
	switch (s->id) {
	case SECTION_TS:
		r = open_section(x, s, false, &in, err);
		if (!r)
			r = unpack_ints(&in, b->ts_ns, x->has, b->n, err);
		return r;
	case SECTION_QUALITY:
		r = decode_all(x, s, STAMP_MONOTONIC, err);
		for (uint32_t i = 0; !r && i < b->n; i++)
			b->ts_quality[i] = (uint8_t)x->tmp[i];
		return r;
	case SECTION_WORKER:
		r = open_section(x, s, true, &in, err);
		return r ? r : unpack_texts(&in, b->worker, x->has, b->n, err);
	case SECTION_OFF: /* the gaps, until the lengths are there */
		r = decode_all(x, s, 0, err);
		for (uint32_t i = 0; !r && i < b->n; i++)
			b->byte_off[i] = (uint64_t)x->tmp[i];
		return r;
	default:
		r = decode_all(x, s, UINT32_MAX, err);
		uint64_t end = 0;
		for (uint32_t i = 0; !r && i < b->n; i++) {
			b->byte_len[i] = (uint32_t)x->tmp[i];
			b->byte_off[i] += end;
			end = b->byte_off[i] + b->byte_len[i];
			if (b->byte_off[i] > INT64_MAX - UINT32_MAX)
				r = damaged("a record's place", err);
		}
		return r;
	}
}

static int decode_column(struct decoder *x, const struct section *s, struct err *err)
{
	struct event_batch *b = x->b;
	unsigned column = s->id - SECTION_OWN;
	enum column_type type = event_kinds[b->kind].columns[column].type;
	struct pack_reader in;
	int r = open_section(x, s, type == COLUMN_TEXT, &in, err);
	if (r)
		return r;
	switch (type) {
	case COLUMN_INT: r = unpack_ints(&in, b->ints[column], x->has, b->n, err); break;
	case COLUMN_TEXT: r = unpack_texts(&in, b->texts[column], x->has, b->n, err); break;
	default: r = unpack_runs(&in, &b->arena, &b->runs, &b->runs_cap, b->run_end, x->has, b->n, err);
	}
	for (uint32_t i = 0; !r && i < b->n; i++)
		b->known[i] |= (uint32_t)x->has[i] << column;
	return r;
}

static int decode_sections(struct decoder *x, uint32_t mask, struct err *err)
{
	struct event_batch *b = x->b;
	unsigned common = 0;
	for (uint32_t i = 0; i < b->n; i++) {
		b->ts_ns[i] = TIME_UNKNOWN;
		b->worker[i] = TEXT("");
	}
	for (unsigned i = 0; i < x->n_sections; i++) {
		const struct section *s = &x->sections[i];
		int r = 0;
		if (s->id < SECTION_COMMON) {
			r = decode_common(x, s, err);
			common |= 1u << s->id;
		} else if (mask >> (s->id - SECTION_OWN) & 1) {
			r = decode_column(x, s, err);
		}
		if (r)
			return r;
	}
	if ((common | 1u << SECTION_TS) != (1u << SECTION_COMMON) - 1)
		return damaged("a common column is missing", err);
	return 0;
}

/* The head of a chunk; leaves *in at its directory. */
static int open_chunk(enum event_kind kind, struct text data, struct pack_reader *in, uint64_t *n, uint64_t *sections,
		      struct err *err)
{
	*in = (struct pack_reader){(const unsigned char *)data.ptr, (const unsigned char *)data.ptr + data.len};
	if ((unsigned)kind >= EVENT_KINDS || data.len < 5 || in->at[0] != CHUNK_MAGIC || in->at[1] != CHUNK_FORMAT ||
	    in->at[2] != kind)
		return damaged("not one of this kind", err);
	in->at += 3;
	if (!unpack_varint(in, n) || !unpack_varint(in, sections) || !*n || *n > EVENT_BATCH_MAX ||
	    *sections > SECTIONS_MAX)
		return damaged("it claims too much", err);
	return 0;
}

int column_decode(enum event_kind kind, struct text data, uint32_t mask, struct event_batch **ret, struct err *err)
{
	struct decoder x = {.raw = BUF_INIT(CHUNK_MAX_DECODED_BYTES + 1)};
	struct pack_reader in;
	uint64_t n, sections;
	int r = open_chunk(kind, data, &in, &n, &sections, err);
	if (r)
		return r;
	r = read_directory(&x, kind, &in, (unsigned)sections, err);
	if (r)
		return r;
	x.has = malloc((size_t)n);
	x.tmp = malloc((size_t)n * sizeof(*x.tmp));
	r = x.has && x.tmp ? codec_new(&x.z, err) : err_nomem(err);
	if (!r)
		r = event_batch_new(&x.b, kind, (uint32_t)n, err);
	if (!r) {
		x.b->n = (uint32_t)n;
		x.b->columns = mask & ((1u << event_kinds[kind].n_columns) - 1);
		r = decode_sections(&x, mask, err);
	}
	codec_free(x.z);
	buf_done(&x.raw);
	free(x.has);
	free(x.tmp);
	if (r) {
		event_batch_free(x.b);
		return r;
	}
	*ret = x.b;
	return 0;
}

/* Texts of a column are stored whole, each once: what is not among these bytes is in no row. */
static int search_section(struct decoder *x, const struct section *s, struct text needle, struct err *err)
{
	struct pack_reader in;
	int r = open_section(x, s, false, &in, err);
	if (r)
		return r;
	return memmem(in.at, (size_t)(in.end - in.at), needle.ptr, needle.len) != NULL;
}

int column_holds(enum event_kind kind, struct text data, unsigned column, struct text needle, struct err *err)
{
	struct decoder x = {.raw = BUF_INIT(CHUNK_MAX_DECODED_BYTES + 1)};
	struct pack_reader in;
	uint64_t n, sections;
	int r = open_chunk(kind, data, &in, &n, &sections, err);
	if (!r)
		r = read_directory(&x, kind, &in, (unsigned)sections, err);
	const struct section *s = NULL;
	for (unsigned i = 0; !r && i < x.n_sections; i++)
		if (x.sections[i].id == SECTION_OWN + column)
			s = &x.sections[i];
	if (r || !s || !needle.len)
		return r ? r : s != NULL;
	r = codec_new(&x.z, err);
	if (!r)
		r = search_section(&x, s, needle, err);
	codec_free(x.z);
	buf_done(&x.raw);
	return r;
}

/* --- storing --- */

int column_append(struct case_file *c, int64_t source, const struct event_chunk *e, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int r =
	    sql_prepare(&s, c,
			"INSERT INTO event_chunk(kind, source, byte_min, byte_max, n, ts_min, ts_max, sha256, data) "
			"VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
			err);
	const int64_t ints[] = {e->kind,   source,   (int64_t)e->byte_min, (int64_t)e->byte_max, e->n,
				e->ts_min, e->ts_max};
	for (int i = 0; !r && i < (int)ARRAY_SIZE(ints); i++)
		r = sql_int(s, i + 1, ints[i], err);
	if (!r)
		r = sql_blob(s, 8, (struct text){(const char *)e->sha256, SHA256_BYTES}, err);
	if (!r)
		r = sql_blob(s, 9, buf_text(&e->data), err);
	return r ? r : sql_run(s, err);
}
