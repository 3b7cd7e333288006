/* SPDX-License-Identifier: Apache-2.0 */
/* column.c - event chunks: a directory, then one compressed section a column
 *
 * A column that no row knows has no section. A column whose values stand in the records is sliced when that is shorter
 * (slice.h); slices are read in the order of the directory, which is that of the record. The decoder checks the directory
 * as a whole, and each length against the bytes at hand and CHUNK_MAX_DECODED_BYTES, before it allocates.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "codec.h"
#include "filter.h"
#include "pagetrail/spool.h"
#include "slice.h"
#include "store.h"

enum { CHUNK_MAGIC = 0x50 /* P */, CHUNK_FORMAT = 2, CHUNK_FORMAT_WHOLE = 1 /* without slices */ };
/* Section numbers: the common columns, the kind's own from SECTION_OWN on, filters over those from SECTION_FILTER on. */
enum { SECTION_TS, SECTION_QUALITY, SECTION_WORKER, SECTION_OFF, SECTION_LEN, SECTION_COMMON, SECTION_OWN = 32 };
enum { SECTION_FILTER = SECTION_OWN + EVENT_COLUMNS_MAX, SECTION_IDS = SECTION_FILTER + EVENT_COLUMNS_MAX };
enum { SECTIONS_MAX = SECTION_COMMON + 2 * EVENT_COLUMNS_MAX };
/* How the bytes of a section are put down. */
enum {
	SECTION_STORED = 0,
	SECTION_ZSTD = 1,
	SECTION_SLICED = 2,
	SECTION_SINCE = 4 /* integers, less the event's time */
};
/* what is left after packing is close to random: higher levels cost time and save nothing */
enum { SECTION_LEVEL = 1, SECTION_WORTH_PACKING = 24 };
enum { SLICE_ROWS_MIN = 16, FILTER_MIN = 32 };

/* --- encoding --- */

struct encoder {
	const struct event_batch *b;
	struct codec *z;
	struct buf raw, directory, body; /* raw: the section at hand */
	unsigned sections;
	uint8_t *has;
	int64_t *tmp;
	struct text bytes; /* of the source, from `off` on; none when nothing is sliced */
	uint64_t off;
	struct slicer slicer;
};

static int end_section(struct encoder *x, unsigned id, unsigned coding, struct err *err)
{
	size_t before = x->body.len;
	bool packed;
	int r =
	    codec_pack_shorter(x->z, buf_text(&x->raw), SECTION_LEVEL, SECTION_WORTH_PACKING, &x->body, &packed, err);
	coding |= packed ? SECTION_ZSTD : 0;
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
	return r ? r : end_section(x, id, 0, err);
}

/* Bytes from `off` to the end of its line; 0 outside of the bytes at hand. */
static inline uint64_t line_length(struct text bytes, uint64_t from, uint64_t off)
{
	if (off < from || off - from >= bytes.len)
		return 0;
	const char *p = bytes.ptr + (off - from), *nl = memchr(p, '\n', bytes.len - (size_t)(off - from));
	return nl ? (uint64_t)(nl - p) : bytes.len - (off - from);
}

static int encode_common(struct encoder *x, struct err *err)
{
	const struct event_batch *b = x->b;
	/* records mostly follow each other: what is kept is the gap to the end of the one before */
	uint64_t end = 0;
	for (uint32_t i = 0; i < b->n; i++) {
		x->tmp[i] = (int64_t)(b->byte_off[i] - end);
		end = b->byte_off[i] + b->byte_len[i];
	}
	int r = encode_ints(x, SECTION_OFF, x->tmp, NULL, err);
	for (uint32_t i = 0; i < b->n; i++)
		x->tmp[i] = (int64_t)(b->byte_len[i] - line_length(x->bytes, x->off, b->byte_off[i]));
	if (!r)
		r = encode_ints(x, SECTION_LEN, x->tmp, NULL, err);
	for (uint32_t i = 0; i < b->n; i++)
		x->tmp[i] = b->ts_quality[i];
	if (!r)
		r = encode_ints(x, SECTION_QUALITY, x->tmp, NULL, err);
	buf_clear(&x->raw);
	if (!r)
		r = pack_texts(&x->raw, b->worker, NULL, b->n, err);
	return r ? r : end_section(x, SECTION_WORKER, 0, err);
}

/* Values and presence of a section; false when no row has one. */
static bool open_column(struct encoder *x, unsigned id, struct slice_values *v)
{
	const struct event_batch *b = x->b;
	bool any = false;
	if (id == SECTION_TS) {
		*v = (struct slice_values){.type = COLUMN_INT, .ints = b->ts_ns};
		for (uint32_t i = 0; i < b->n; i++)
			any |= x->has[i] = b->ts_ns[i] != TIME_UNKNOWN;
		return any;
	}
	unsigned column = id - SECTION_OWN;
	*v = (struct slice_values){
	    .type = event_kinds[b->kind].columns[column].type,
	    .since = b->ts_ns,
	    .ints = b->ints[column],
	    .texts = b->texts[column],
	    .runs = b->runs,
	    .run_end = b->run_end,
	};
	for (uint32_t i = 0; i < b->n; i++)
		any |= x->has[i] = b->known[i] >> column & 1;
	return any;
}

/* Times are mostly near that of the event: does it pay to say how near? */
static bool counts_from_time(struct encoder *x, const int64_t *v)
{
	const int64_t *ts = x->b->ts_ns;
	size_t plain = 0, since = 0;
	uint64_t prev = 0;
	for (uint32_t i = 0; i < x->b->n; i++) {
		if (!x->has[i])
			continue;
		x->tmp[i] = (int64_t)((uint64_t)v[i] - (uint64_t)ts[i]);
		plain += varint_size(zigzag((int64_t)((uint64_t)v[i] - prev)));
		since += varint_size(zigzag(x->tmp[i]));
		prev = (uint64_t)v[i];
	}
	return since < plain;
}

static int encode_integers(struct encoder *x, unsigned id, const struct slice_values *v, struct err *err)
{
	bool since = v->since && counts_from_time(x, v->ints);
	int r = pack_ints(&x->raw, since ? x->tmp : v->ints, x->has, x->b->n, err);
	return r ? r : end_section(x, id, since ? SECTION_SINCE : 0, err);
}

static int encode_values(struct encoder *x, unsigned id, const struct slice_values *v, struct err *err)
{
	int r;
	buf_clear(&x->raw);
	switch (v->type) {
	case COLUMN_INT: return encode_integers(x, id, v, err);
	case COLUMN_TEXT: r = pack_texts(&x->raw, v->texts, x->has, x->b->n, err); break;
	default: r = pack_runs(&x->raw, v->runs, v->run_end, x->has, x->b->n, err);
	}
	return r ? r : end_section(x, id, 0, err);
}

/* What a sliced column of many texts may hold can be asked without its records. */
static int encode_filter(struct encoder *x, unsigned id, const struct slice_values *v, struct err *err)
{
	buf_clear(&x->raw);
	int r = filter_make(v->texts, x->has, x->b->n, FILTER_MIN, &x->raw, err);
	if (r || !x->raw.len)
		return r;
	return end_section(x, id - SECTION_OWN + SECTION_FILTER, 0, err);
}

static int encode_column(struct encoder *x, unsigned id, bool slice, struct err *err)
{
	struct slice_values v;
	if (!open_column(x, id, &v))
		return 0;
	buf_clear(&x->raw);
	int r = slice ? slicer_pack(&x->slicer, &v, x->has, &x->raw, err) : 0;
	if (r < 0)
		return r;
	if (!r)
		return encode_values(x, id, &v, err);
	r = end_section(x, id, SECTION_SLICED, err);
	return r || v.type != COLUMN_TEXT ? r : encode_filter(x, id, &v, err);
}

struct placed {
	unsigned id;
	uint32_t place;
};

static int by_place(const void *a, const void *b)
{
	const struct placed *l = a, *r = b;
	if (l->place != r->place)
		return l->place < r->place ? -1 : 1;
	return l->id < r->id ? -1 : 1;
}

/* The times, from which other columns may count; then the columns, in the order in which they stand in a record. */
static int encode_columns(struct encoder *x, struct err *err)
{
	unsigned n = 1 + event_kinds[x->b->kind].n_columns;
	struct placed order[1 + EVENT_COLUMNS_MAX];
	struct slice_values v;
	int r = 0;
	for (unsigned i = 0; i < n; i++) {
		order[i] = (struct placed){i ? SECTION_OWN + i - 1 : SECTION_TS, UINT32_MAX};
		if (x->bytes.len && open_column(x, order[i].id, &v))
			order[i].place = slicer_place(&x->slicer, &v, x->has);
	}
	qsort(order, n, sizeof(*order), by_place);
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; !r && i < n; i++)
			if ((order[i].id == SECTION_TS) == !pass)
				r = encode_column(x, order[i].id, order[i].place != UINT32_MAX, err);
	return r;
}

static int assemble(struct encoder *x, struct buf *out, struct err *err)
{
	const char head[] = {CHUNK_MAGIC, CHUNK_FORMAT, (char)x->b->kind};
	*out = BUF_INIT(2 * CHUNK_MAX_DECODED_BYTES);
	int r = buf_add(out, head, sizeof(head), err);
	if (!r)
		r = pack_varint(out, x->b->n, err);
	if (!r)
		r = pack_varint(out, x->off, err);
	if (!r)
		r = pack_varint(out, x->bytes.len, err);
	if (!r)
		r = pack_varint(out, x->sections, err);
	if (!r)
		r = buf_add_text(out, buf_text(&x->directory), err);
	return r ? r : buf_add_text(out, buf_text(&x->body), err);
}

/* The part of the bytes in which records of the batch lie whole. */
static void find_bytes(struct encoder *x, const struct column_bytes *from)
{
	const struct event_batch *b = x->b;
	uint64_t begin = UINT64_MAX, end = 0;
	if (!from || b->n < SLICE_ROWS_MIN)
		return;
	uint64_t from_end = from->off + from->bytes.len;
	for (uint32_t i = 0; i < b->n; i++) {
		if (b->byte_off[i] < from->off || b->byte_off[i] + b->byte_len[i] > from_end)
			continue;
		begin = MIN(begin, b->byte_off[i]);
		end = MAX(end, b->byte_off[i] + b->byte_len[i]);
	}
	if (begin >= end)
		return;
	x->off = begin;
	x->bytes = text_sub(from->bytes, (size_t)(begin - from->off), (size_t)(end - begin));
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

int column_encode(const struct event_batch *b, const struct column_bytes *from, struct event_chunk *ret,
		  struct err *err)
{
	*ret = (struct event_chunk){.kind = b->kind, .n = b->n};
	if (!b->n || b->n > EVENT_BATCH_MAX)
		return err_set(err, ERR_BUG, "event chunk of %" PRIu32 " events", b->n);
	struct encoder x = {.b = b};
	x.raw = x.directory = x.body = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	x.has = malloc(b->n);
	x.tmp = malloc(b->n * sizeof(*x.tmp));
	find_bytes(&x, from);
	int r = x.has && x.tmp ? codec_new(&x.z, err) : err_nomem(err);
	if (!r && x.bytes.len)
		r = slicer_open(&x.slicer, b, x.bytes, x.off, err);
	if (!r)
		r = encode_common(&x, err);
	if (!r)
		r = encode_columns(&x, err);
	if (!r)
		r = assemble(&x, &ret->data, err);
	if (!r)
		r = sha256_once(ret->data.ptr, ret->data.len, ret->sha256, err);
	find_zone(b, ret);
	slicer_close(&x.slicer);
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
	buf_done(&e->plain);
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
	struct text bytes; /* of the source, from `off` on, in which the records lie */
	uint64_t off;
	struct slice_rows rows;
};

struct head {
	uint64_t n, sections, off, bytes;
};

static int damaged(const char *what, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "event chunk: %s", what);
}

static bool known_section(enum event_kind kind, unsigned id, unsigned coding)
{
	unsigned n = event_kinds[kind].n_columns, own = id - SECTION_OWN;
	if (id < SECTION_COMMON)
		return coding < SECTION_SLICED || (id == SECTION_TS && coding < SECTION_SINCE);
	if (id >= SECTION_OWN && own < n)
		return coding < SECTION_SINCE ||
		       (event_kinds[kind].columns[own].type == COLUMN_INT && coding < SECTION_SINCE + SECTION_SLICED);
	return id >= SECTION_FILTER && id < SECTION_FILTER + n && coding < SECTION_SLICED;
}

static int read_directory(struct decoder *x, enum event_kind kind, struct pack_reader *in, unsigned n, struct err *err)
{
	uint64_t raw, packed, total = 0;
	bool seen[SECTION_IDS] = {false};
	for (unsigned i = 0; i < n; i++) {
		struct section *s = &x->sections[i];
		if (in->end - in->at < 2)
			return damaged("directory is cut", err);
		s->id = *in->at++;
		s->coding = *in->at++;
		if (!known_section(kind, s->id, s->coding) || seen[s->id])
			return damaged("unknown section", err);
		seen[s->id] = true;
		if (!unpack_varint(in, &raw) || !unpack_varint(in, &packed) || raw > CHUNK_MAX_DECODED_BYTES ||
		    packed > CHUNK_MAX_DECODED_BYTES || (!(s->coding & SECTION_ZSTD) && raw != packed))
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
		to = arena_room(&x->b->arena, s->raw_len + 1);
		if (!to)
			return err_nomem(err);
		to[s->raw_len] = 0;
	} else {
		buf_clear(&x->raw);
		int r = buf_reserve(&x->raw, s->raw_len + 1, err);
		if (r)
			return r;
		to = x->raw.ptr;
	}
	if (!(s->coding & SECTION_ZSTD)) {
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

/* Lengths of the records, and with them their places: the gaps are in byte_off. */
static int decode_places(struct decoder *x, const struct section *s, struct err *err)
{
	struct event_batch *b = x->b;
	uint64_t end = 0;
	int r = decode_all(x, s, 0, err);
	for (uint32_t i = 0; !r && i < b->n; i++) {
		b->byte_off[i] += end;
		if (b->byte_off[i] > INT64_MAX - UINT32_MAX)
			return damaged("a record's place", err);
		uint64_t len = (uint64_t)x->tmp[i] + line_length(x->bytes, x->off, b->byte_off[i]);
		if (len > UINT32_MAX)
			return damaged("a record's place", err);
		b->byte_len[i] = (uint32_t)len;
		end = b->byte_off[i] + len;
	}
	return r;
}

static int decode_common(struct decoder *x, const struct section *s, struct err *err)
{
	struct event_batch *b = x->b;
	struct pack_reader in;
	int r;
	switch (s->id) {
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
	default: return decode_places(x, s, err);
	}
}

static int decode_values(struct decoder *x, unsigned id, enum column_type type, struct pack_reader *in, struct err *err)
{
	struct event_batch *b = x->b;
	if (id == SECTION_TS)
		return unpack_ints(in, b->ts_ns, x->has, b->n, err);
	switch (type) {
	case COLUMN_INT: return unpack_ints(in, b->ints[id - SECTION_OWN], x->has, b->n, err);
	case COLUMN_TEXT: return unpack_texts(in, b->texts[id - SECTION_OWN], x->has, b->n, err);
	default: return unpack_runs(in, &b->arena, &b->runs, &b->runs_cap, b->run_end, x->has, b->n, err);
	}
}

/* A sliced section that nobody asked for still says where the next one's slices stand. */
static int decode_slices(struct decoder *x, unsigned id, enum column_type type, bool wanted, struct pack_reader *in,
			 struct err *err)
{
	struct event_batch *b = x->b;
	struct slice_values v = {.type = type, .since = id == SECTION_TS ? NULL : b->ts_ns};
	if (type == COLUMN_PAGES)
		return slice_unpack_pages(&x->rows, in, wanted ? &b->arena : NULL, &b->runs, &b->runs_cap, b->run_end,
					  x->has, err);
	if (wanted) {
		v.ints = id == SECTION_TS ? b->ts_ns : b->ints[id - SECTION_OWN];
		v.texts = id == SECTION_TS ? NULL : b->texts[id - SECTION_OWN];
	}
	return slice_unpack(&x->rows, in, &v, x->has, err);
}

static int decode_column(struct decoder *x, const struct section *s, bool wanted, struct err *err)
{
	struct event_batch *b = x->b;
	enum column_type type =
	    s->id == SECTION_TS ? COLUMN_INT : event_kinds[b->kind].columns[s->id - SECTION_OWN].type;
	struct pack_reader in;
	int r = open_section(x, s, type == COLUMN_TEXT && wanted, &in, err);
	if (!r && s->coding & SECTION_SLICED)
		r = decode_slices(x, s->id, type, wanted, &in, err);
	else if (!r)
		r = decode_values(x, s->id, type, &in, err);
	if (r || s->id == SECTION_TS || !wanted)
		return r;
	unsigned column = s->id - SECTION_OWN;
	for (uint32_t i = 0; i < b->n; i++) {
		b->known[i] |= (uint32_t)x->has[i] << column;
		if (s->coding & SECTION_SINCE)
			b->ints[column][i] = (int64_t)((uint64_t)b->ints[column][i] + (uint64_t)b->ts_ns[i]);
	}
	return 0;
}

/* Each row's record within the bytes. */
static int open_rows(struct decoder *x, struct err *err)
{
	const struct event_batch *b = x->b;
	x->rows = (struct slice_rows){.n = b->n, .len = b->byte_len};
	x->rows.record = arena_array(&x->b->arena, b->n, sizeof(*x->rows.record));
	x->rows.cursor = arena_array(&x->b->arena, b->n, sizeof(*x->rows.cursor));
	x->rows.before = arena_alloc(&x->b->arena, b->n);
	if (!x->rows.record || !x->rows.cursor || !x->rows.before)
		return err_nomem(err);
	slice_place(b, x->bytes, x->off, x->rows.record);
	return 0;
}

static bool is_wanted(const struct section *s, uint32_t mask)
{
	return s->id == SECTION_TS ||
	       (s->id >= SECTION_OWN && s->id < SECTION_FILTER && mask >> (s->id - SECTION_OWN) & 1);
}

static int decode_sections(struct decoder *x, uint32_t mask, struct err *err)
{
	struct event_batch *b = x->b;
	unsigned common = 0, last = 0;
	for (uint32_t i = 0; i < b->n; i++) {
		b->ts_ns[i] = TIME_UNKNOWN;
		b->worker[i] = TEXT("");
	}
	for (unsigned i = 0; i < x->n_sections; i++) {
		const struct section *s = &x->sections[i];
		if (is_wanted(s, mask))
			last = i;
		if (s->id >= SECTION_COMMON || s->id == SECTION_TS)
			continue;
		if (s->id == SECTION_LEN && !(common >> SECTION_OFF & 1))
			return damaged("lengths in front of places", err);
		int r = decode_common(x, s, err);
		common |= 1u << s->id;
		if (r)
			return r;
	}
	if ((common | 1u << SECTION_TS) != (1u << SECTION_COMMON) - 1)
		return damaged("a common column is missing", err);
	int r = open_rows(x, err);
	for (unsigned i = 0; !r && i <= last && i < x->n_sections; i++) {
		const struct section *s = &x->sections[i];
		bool column = s->id == SECTION_TS || (s->id >= SECTION_OWN && s->id < SECTION_FILTER);
		bool wanted = is_wanted(s, mask);
		if (column && (wanted || s->coding & SECTION_SLICED))
			r = decode_column(x, s, wanted, err);
	}
	return r;
}

/* The head of a chunk; leaves *in at its directory. */
static int open_chunk(enum event_kind kind, struct text data, struct pack_reader *in, struct head *h, struct err *err)
{
	*in = (struct pack_reader){(const unsigned char *)data.ptr, (const unsigned char *)data.ptr + data.len};
	*h = (struct head){0};
	if ((unsigned)kind >= EVENT_KINDS || data.len < 5 || in->at[0] != CHUNK_MAGIC ||
	    (in->at[1] != CHUNK_FORMAT && in->at[1] != CHUNK_FORMAT_WHOLE) || in->at[2] != kind)
		return damaged("not one of this kind", err);
	bool whole = in->at[1] == CHUNK_FORMAT_WHOLE;
	in->at += 3;
	if (!unpack_varint(in, &h->n) || (!whole && (!unpack_varint(in, &h->off) || !unpack_varint(in, &h->bytes))) ||
	    !unpack_varint(in, &h->sections) || !h->n || h->n > EVENT_BATCH_MAX || h->sections > SECTIONS_MAX ||
	    h->off > INT64_MAX || h->bytes > CHUNK_MAX_DECODED_BYTES)
		return damaged("it claims too much", err);
	return 0;
}

int column_refers(enum event_kind kind, struct text data, uint64_t *ret_off, uint64_t *ret_len, struct err *err)
{
	struct pack_reader in;
	struct head h;
	int r = open_chunk(kind, data, &in, &h, err);
	*ret_off = h.off;
	*ret_len = h.bytes;
	return r;
}

/* The bytes that the chunk refers to; they live as long as the batch. */
static int load_bytes(struct decoder *x, const struct head *h, const struct column_reader *from, struct err *err)
{
	if (!h->bytes)
		return 0;
	if (!from)
		return err_set(err, ERR_BUG, "event chunk: it refers to bytes of its source");
	char *to = arena_room(&x->b->arena, (size_t)h->bytes + 1);
	if (!to)
		return err_nomem(err);
	to[h->bytes] = 0;
	x->off = h->off;
	x->bytes = (struct text){to, (size_t)h->bytes};
	return from->read(from->ctx, h->off, (size_t)h->bytes, to, err);
}

int column_decode(enum event_kind kind, struct text data, uint32_t mask, const struct column_reader *from,
		  struct event_batch **ret, struct err *err)
{
	struct decoder x = {.raw = BUF_INIT(CHUNK_MAX_DECODED_BYTES + 1)};
	struct pack_reader in;
	struct head h;
	int r = open_chunk(kind, data, &in, &h, err);
	if (r)
		return r;
	r = read_directory(&x, kind, &in, (unsigned)h.sections, err);
	if (r)
		return r;
	x.has = malloc((size_t)h.n);
	x.tmp = malloc((size_t)h.n * sizeof(*x.tmp));
	r = x.has && x.tmp ? codec_new(&x.z, err) : err_nomem(err);
	if (!r)
		r = event_batch_new(&x.b, kind, (uint32_t)h.n, err);
	if (!r) {
		x.b->n = (uint32_t)h.n;
		x.b->columns = mask & ((1u << event_kinds[kind].n_columns) - 1);
		r = load_bytes(&x, &h, from, err);
	}
	if (!r)
		r = decode_sections(&x, mask, err);
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

static const struct section *find_section(const struct decoder *x, unsigned id)
{
	for (unsigned i = 0; i < x->n_sections; i++)
		if (x->sections[i].id == id)
			return &x->sections[i];
	return NULL;
}

static int search_filter(struct decoder *x, const struct section *s, struct text needle, struct err *err)
{
	struct pack_reader in;
	int r = open_section(x, s, false, &in, err);
	return r ? r : filter_holds((struct text){(const char *)in.at, (size_t)(in.end - in.at)}, needle);
}

int column_holds(enum event_kind kind, struct text data, unsigned column, struct text needle, struct err *err)
{
	struct decoder x = {.raw = BUF_INIT(CHUNK_MAX_DECODED_BYTES + 1)};
	struct pack_reader in;
	struct head h;
	int r = open_chunk(kind, data, &in, &h, err);
	if (!r)
		r = read_directory(&x, kind, &in, (unsigned)h.sections, err);
	if (r)
		return r;
	bool worker = column == COLUMN_WORKER;
	const struct section *s = find_section(&x, worker ? SECTION_WORKER : SECTION_OWN + column),
			     *filter = worker ? NULL : find_section(&x, SECTION_FILTER + column);
	if (!s || !needle.len)
		return s != NULL;
	if (s->coding & SECTION_SLICED && !filter)
		return 1;
	r = codec_new(&x.z, err);
	if (!r)
		r = filter ? search_filter(&x, filter, needle, err) : search_section(&x, s, needle, err);
	codec_free(x.z);
	buf_done(&x.raw);
	return r;
}

/* --- storing --- */

int column_plain(const struct case_file *c, const struct event_batch *b, struct event_chunk *e, struct err *err)
{
	e->plain = BUF_INIT(2 * CHUNK_MAX_DECODED_BYTES);
	return c->spool ? event_spool_pack(c->spool, b, &e->plain, err) : 0;
}

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
	if (!r)
		r = sql_run(s, err);
	int64_t chunk = r ? 0 : sqlite3_last_insert_rowid(c->db);
	if (!r && !c->own_events)
		c->own_events = chunk;
	if (!r && c->spool)
		event_spool_put(c->spool, spool_key(chunk, source, e->sha256), buf_text(&e->plain));
	return r;
}
