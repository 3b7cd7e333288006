/* SPDX-License-Identifier: Apache-2.0 */
/* codec_line_pack.c - lines to templates and columns
 *
 * The context of a token, which chooses its column, is the last word in front of it with the punctuation between; a token
 * without a word in front (the next number of a pair) has the context before it and the punctuation. It is worked out once
 * a template. Identifiers, words and lists are dictionaries in order of first use over the whole chunk; a code is 0 for a
 * new entry, 1 for the entry that this column had last, else one more than how many entries back. What is random (hex
 * identifiers, large numbers of tables) stays outside the frame, where it costs the compressor nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "codec_line.h"
#include "codec_texts.h"
#include "pack.h"
#include "pagetrail/arena.h"

/* streams from PART_BYTES on are compressed with statistics of their own */
enum { PART_BYTES = 1024, PARTS_MAX = 3 * LINE_COLUMNS_MAX };
enum { LEVEL = 3, WORTH_BYTES = 64, TABLE_WORTH = 6, COLUMN_SLOTS = 2 * LINE_COLUMNS_MAX, GUESSES = 3 };

struct column {
	enum line_kind kind;
	uint32_t last;    /* entry of the value before */
	uint64_t context; /* tells the kind, too */
	struct buf codes;
	uint64_t *value; /* of numbers and times */
	uint8_t *form;
	uint64_t *expect; /* of the first numbers in brackets: where the run before ended */
	uint64_t run_end;
	bool runs;
	uint32_t n, cap;
	uint32_t
	    plane[LINE_PLANES + 1]; /* lengths of the planes in codes, behind the first n bytes; for NUMBERS_PLANES */
};

struct piece {
	const char *literal;
	uint32_t len;
	uint16_t column; /* of the token behind it */
	uint8_t kind;    /* 0: the line ends */
};

struct template
{
	struct piece *piece;
	uint16_t next[GUESSES]; /* what came behind it, newest first; + 1 */
};

struct packer {
	struct line_scan scan;
	struct arena arena; /* templates, shapes */
	struct texts templates, shapes, words, hex, uuids, lists;
	struct template template[LINE_TEMPLATES_MAX + 1]; /* the first: before any */
	unsigned last;
	struct column column[LINE_COLUMNS_MAX];
	uint16_t column_slot[COLUMN_SLOTS]; /* column + 1, by context */
	unsigned n_columns;
	struct buf stream[LINE_STREAMS], ids, frame;
	size_t part[PARTS_MAX + 1]; /* places in the frame where another kind of bytes begins */
	size_t n_parts;
	char shape[LINE_LIST_MAX];
	uint64_t numbers[LINE_LIST_MAX];
};

/* --- columns --- */

static inline int put(struct buf *b, uint64_t v, struct err *err)
{
	if (b->cap - b->len < VARINT_MAX) {
		int r = buf_reserve(b, MAX(b->cap, 256), err);
		if (r)
			return r;
	}
	b->len = (size_t)((char *)put_varint((unsigned char *)b->ptr + b->len, v) - b->ptr);
	return 0;
}

static int column_put(struct column *c, uint64_t v, uint8_t form, struct err *err)
{
	if (c->n == c->cap) {
		uint32_t cap = c->cap ? 2 * c->cap : 64;
		uint64_t *value = realloc(c->value, cap * sizeof(*value));
		if (value)
			c->value = value;
		uint8_t *forms = realloc(c->form, cap);
		if (forms)
			c->form = forms;
		uint64_t *expect = c->runs ? realloc(c->expect, cap * sizeof(*expect)) : NULL;
		if (expect)
			c->expect = expect;
		if (!value || !forms || (c->runs && !expect))
			return err_nomem(err);
		c->cap = cap;
	}
	if (c->runs)
		c->expect[c->n] = c->run_end;
	c->value[c->n] = v;
	c->form[c->n++] = form;
	return 0;
}

/* A column of that context. The caller has seen to it that there is room. A list is followed by its two columns of
 * numbers. */
static unsigned find_column(struct packer *x, enum line_kind kind, uint64_t context)
{
	uint32_t at = (uint32_t)(context >> 32) % COLUMN_SLOTS;
	for (; x->column_slot[at]; at = (at + 1) % COLUMN_SLOTS)
		if (x->column[x->column_slot[at] - 1].context == context)
			return x->column_slot[at] - 1u;
	unsigned first = x->n_columns;
	x->column_slot[at] = (uint16_t)(first + 1);
	for (unsigned i = 0; i < (kind == LINE_LIST ? 3 : 1); i++) {
		struct column *c = &x->column[x->n_columns++];
		*c = (struct column){
		    .kind = i ? LINE_NUMBER : kind, .context = context, .last = UINT32_MAX, .runs = i == 1};
		c->codes = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	}
	return first;
}

static bool in_word(char c)
{
	return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || c == '-' || c == '.' ||
	       c == '#';
}

/* The context behind a literal part; *last is that of the words in front. */
static uint64_t context_of(struct text literal, enum line_kind kind, uint64_t *last)
{
	size_t at = literal.len;
	while (at && !in_word(literal.ptr[at - 1]))
		at--;
	bool word = at > 0;
	while (at && in_word(literal.ptr[at - 1]))
		at--;
	uint64_t h = hash_bytes(literal.ptr + at, literal.len - at);
	if (word || !*last)
		*last = h;
	else
		h = h * 31 + *last;
	return (h * 8 + (uint64_t)kind) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Gives template e, a new one, its columns. */
static int set_template(struct packer *x, uint32_t e, struct err *err)
{
	struct text skeleton = x->templates.entry[e];
	struct piece *piece = arena_array(&x->arena, x->scan.n + 1, sizeof(*piece));
	if (!piece)
		return err_nomem(err);
	uint64_t last = 0;
	size_t from = 0;
	unsigned n = 0;
	int r = 0;
	for (size_t i = 0; !r && n < x->scan.n; i++) {
		if ((unsigned char)skeleton.ptr[i] >= LINE_KINDS || !skeleton.ptr[i])
			continue;
		enum line_kind kind = (enum line_kind)skeleton.ptr[i];
		struct text literal = text_sub(skeleton, from, i - from);
		unsigned column = find_column(x, kind, context_of(literal, kind, &last));
		piece[n++] = (struct piece){literal.ptr, (uint32_t)literal.len, (uint16_t)column, (uint8_t)kind};
		from = i + 1;
		r = put(&x->stream[LINE_SLOTS], column, err);
	}
	piece[n] = (struct piece){.literal = skeleton.ptr + from, .len = (uint32_t)(skeleton.len - from)};
	x->template[e + 1].piece = piece;
	if (!r)
		r = put(&x->stream[LINE_TEMPLATE_LENGTHS], skeleton.len, err);
	return r ? r : buf_add_text(&x->stream[LINE_TEMPLATES], skeleton, err);
}

/* --- tokens --- */

static unsigned hex_digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static int put_hex(struct packer *x, struct text t, struct err *err)
{
	int r = buf_reserve(&x->ids, t.len / 2 + 1, err);
	if (r)
		return r;
	unsigned char *to = (unsigned char *)x->ids.ptr + x->ids.len;
	for (size_t i = 0; i < t.len;) {
		if (t.ptr[i] == '-') {
			i++;
			continue;
		}
		*to++ = (unsigned char)(hex_digit(t.ptr[i]) << 4 | hex_digit(t.ptr[i + 1]));
		i += 2;
	}
	x->ids.len = (size_t)((char *)to - x->ids.ptr);
	return 0;
}

static int put_list(struct packer *x, struct column *c, struct text t, struct err *err)
{
	struct text shape = {x->shape, 0};
	uint32_t e;
	bool added;
	size_t n = line_list(t, x->shape, &shape.len, x->numbers, LINE_LIST_MAX);
	int r = texts_put(&x->shapes, shape, &e, &added, err);
	if (!r && added) {
		x->shapes.entry[e] = arena_text(&x->arena, shape);
		if (!x->shapes.entry[e].ptr)
			return err_nomem(err);
		r = put(&x->stream[LINE_SHAPE_LENGTHS], shape.len, err);
		if (!r)
			r = buf_add_text(&x->stream[LINE_SHAPES], shape, err);
	}
	if (!r)
		r = put(&c->codes, e, err);
	/* the first number of a bracket, and the others: the second is the first one's count, if pages are listed */
	bool second = false;
	for (size_t i = 0, k = 0; !r && k < n; i++) {
		if (shape.ptr[i] != '0')
			continue;
		uint64_t v = x->numbers[k++];
		bool first = shape.ptr[i - 1] == '[';
		r = column_put(first ? c + 1 : c + 2, v, 0, err);
		if (first)
			c[1].run_end = v + 1;
		else if (second)
			c[1].run_end += v - 1;
		second = first;
	}
	return r;
}

static int put_entry(struct packer *x, struct column *c, struct texts *d, const struct line_token *t, struct err *err)
{
	uint32_t e, before = d->n;
	bool added;
	struct text v = {t->ptr, t->len};
	if ((t->same && c->last == t->value) || (c->last < before && text_eq(d->entry[c->last], v)))
		return put(&c->codes, 1, err);
	int r = texts_put(d, v, &e, &added, err);
	if (!r)
		r = put(&c->codes, added ? 0 : (uint64_t)(before - e) + 1, err);
	c->last = e;
	if (r || !added)
		return r;
	switch (t->kind) {
	case LINE_HEX: r = put(&x->stream[LINE_HEX_LENGTHS], v.len / 2, err); return r ? r : put_hex(x, v, err);
	case LINE_UUID: return put_hex(x, v, err);
	case LINE_LIST: return put_list(x, c, v, err);
	default:
		r = put(&x->stream[LINE_WORD_LENGTHS], v.len, err);
		return r ? r : buf_add_text(&x->stream[LINE_WORDS], v, err);
	}
}

static struct texts *texts_of_kind(struct packer *x, unsigned kind)
{
	switch (kind) {
	case LINE_HEX: return &x->hex;
	case LINE_UUID: return &x->uuids;
	case LINE_LIST: return &x->lists;
	default: return &x->words;
	}
}

static int put_token(struct packer *x, struct column *c, const struct line_token *t, struct err *err)
{
	if (t->kind == LINE_NUMBER || t->kind == LINE_STAMP)
		return column_put(c, t->value, t->form, err);
	return put_entry(x, c, texts_of_kind(x, t->kind), t, err);
}

/* Scans the line as one of template e; false when it is none. Any way to cut it would do, so there is no need to cut it
 * in the way that line_scan() does. */
static bool guess_line(struct packer *x, struct text line, unsigned e)
{
	const char *p = line.ptr, *end = p + line.len;
	const struct piece *piece = x->template[e].piece;
	x->scan.n = 0;
	for (;; piece++) {
		if (piece->len > (size_t)(end - p) || memcmp(p, piece->literal, piece->len))
			return false;
		p += piece->len;
		if (!piece->kind)
			return p == end;
		struct line_token *t = &x->scan.token[x->scan.n++];
		const struct column *c = &x->column[piece->column];
		t->same = false;
		if (piece->kind > LINE_STAMP) {
			const struct texts *d = texts_of_kind(x, piece->kind);
			struct text last = c->last < d->n ? d->entry[c->last] : (struct text){NULL, 0};
			if (last.len && last.len <= (size_t)(end - p) && !memcmp(p, last.ptr, last.len)) {
				*t = (struct line_token){.ptr = p,
							 .len = (uint32_t)last.len,
							 .value = c->last,
							 .kind = piece->kind,
							 .same = true};
				p += last.len;
				continue;
			}
		}
		p = line_token_at(&x->scan, p, end, piece->kind, t);
		if (!p)
			return false;
	}
}

/* Template + 1 of the line, by what came behind the one before; 0 when all guesses are wrong. */
static unsigned guess_template(struct packer *x, struct text line)
{
	const uint16_t *next = x->template[x->last].next;
	if (line.len > LINE_BYTES_MAX)
		return 0;
	for (unsigned i = 0; i < GUESSES && next[i]; i++)
		if (guess_line(x, line, next[i]))
			return next[i];
	return 0;
}

static void note_template(struct packer *x, unsigned e)
{
	uint16_t *next = x->template[x->last].next;
	unsigned i = 0;
	while (i < GUESSES - 1 && next[i] != e)
		i++;
	for (; i; i--)
		next[i] = next[i - 1];
	next[0] = (uint16_t)e;
	x->last = e;
}

static int put_raw(struct packer *x, struct text line, struct err *err)
{
	int r = put(&x->stream[LINE_CODES], 0, err);
	if (!r)
		r = put(&x->stream[LINE_CODES], line.len, err);
	return r ? r : buf_add_text(&x->stream[LINE_RAW], line, err);
}

static bool has_room(const struct packer *x)
{
	return x->templates.n < LINE_TEMPLATES_MAX && x->n_columns + 3 * x->scan.n <= LINE_COLUMNS_MAX;
}

/* Template + 1 of a line, a new one if need be; 0: to be kept raw. */
static int find_template(struct packer *x, struct text line, unsigned *ret, struct err *err)
{
	uint32_t e;
	bool added;
	*ret = guess_template(x, line);
	if (*ret || !line_scan(&x->scan, line))
		return 0;
	struct text skeleton = {x->scan.skeleton, x->scan.skeleton_len};
	if (!has_room(x)) {
		*ret = texts_find(&x->templates, skeleton, &e) ? e + 1 : 0;
		return 0;
	}
	int r = texts_put(&x->templates, skeleton, &e, &added, err);
	if (!r && added) {
		struct text *copy = &x->templates.entry[e];
		*copy = arena_text(&x->arena, skeleton);
		r = skeleton.len && !copy->ptr ? err_nomem(err) : set_template(x, e, err);
	}
	*ret = e + 1;
	return r;
}

static int put_line(struct packer *x, struct text line, struct err *err)
{
	unsigned e;
	int r = find_template(x, line, &e, err);
	if (r)
		return r;
	if (!e)
		return put_raw(x, line, err);
	note_template(x, e);
	r = put(&x->stream[LINE_CODES], e, err);
	const struct piece *piece = x->template[e].piece;
	for (unsigned i = 0; !r && i < x->scan.n; i++)
		r = put_token(x, &x->column[piece[i].column], &x->scan.token[i], err);
	return r;
}

/* --- the frame --- */

/* Entries of a table of numbers in order of first use, and the code of each row, as dictionaries have them: a number that
 * goes with an identifier has the same codes. 1 when there are too many. */
static int make_table(const struct column *c, uint64_t *entry, uint32_t *slot, uint32_t mask, uint32_t max,
		      struct buf *codes, struct err *err)
{
	uint32_t n = 0;
	int r = 0;
	for (uint32_t i = 0; !r && i < c->n; i++) {
		uint64_t v = c->value[i], h = v * UINT64_C(0x9e3779b97f4a7c15);
		uint32_t at = (uint32_t)(h >> 32) & mask, probes = 0;
		if (i && v == c->value[i - 1]) {
			r = put(codes, 1, err);
			continue;
		}
		for (; slot[at] && entry[slot[at] - 1] != v && probes < PROBES_MAX; probes++)
			at = (at + 1) & mask;
		if (slot[at] && entry[slot[at] - 1] == v) {
			r = put(codes, n - (slot[at] - 1) + 1, err);
			continue;
		}
		if (n == max)
			return 1;
		if (!slot[at])
			slot[at] = n + 1;
		entry[n++] = v;
		r = put(codes, 0, err);
	}
	return r ? r : (int)(n << 1); /* never 1 */
}

/* Large numbers that come again: 1 when a table does not pay. */
static int pack_table(struct packer *x, const struct column *c, size_t other, struct buf *out, struct err *err)
{
	/* the rows' codes shrink to little, the entries do not */
	uint32_t max = (uint32_t)MIN((other - c->n / 4) / 8, c->n), slots = 64;
	while (slots < 2 * max)
		slots *= 2;
	uint64_t *entry = malloc(((size_t)max + 1) * sizeof(*entry));
	uint32_t *slot = calloc(slots, sizeof(*slot));
	CLEANUP(buf_done) struct buf codes = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	int r = entry && slot ? make_table(c, entry, slot, slots - 1, max, &codes, err) : err_nomem(err);
	if (r >= 0 && r != 1) {
		uint32_t n = (uint32_t)r >> 1;
		r = put(out, n, err);
		if (!r)
			r = buf_add_text(out, buf_text(&codes), err);
		if (!r)
			r = buf_add(&x->ids, entry, n * sizeof(*entry), err);
	}
	free(entry);
	free(slot);
	return r;
}

static int pack_forms(const struct column *c, unsigned mode, struct buf *out, struct err *err)
{
	bool same = true;
	for (uint32_t i = 1; i < c->n && same; i++)
		same = c->form[i] == c->form[0];
	int r = buf_add_char(out, (char)(mode | (same ? 0 : NUMBERS_FORMS)), err);
	if (!r && !same)
		r = put(out, c->n, err);
	return r ? r : buf_add(out, c->form, same ? 1 : c->n, err);
}

/* Bytes that the values take in each mode. */
static void count_numbers(const struct column *c, size_t size[NUMBERS_MODES], uint32_t *ret_changes)
{
	uint64_t prev = 0;
	*ret_changes = 0;
	for (uint32_t i = 0; i < c->n; i++) {
		uint64_t v = c->value[i];
		*ret_changes += v != prev || !i;
		size[NUMBERS_PLAIN] += varint_size(v);
		size[NUMBERS_DELTA] += varint_size(zigzag((int64_t)(v - prev)));
		if (c->runs)
			size[NUMBERS_RUNS] += varint_size(zigzag((int64_t)(v - c->expect[i])));
		prev = v;
	}
}

static int pack_values(struct column *c, unsigned mode, size_t size, struct err *err)
{
	int r = buf_reserve(&c->codes, size + VARINT_MAX, err);
	if (r)
		return r;
	unsigned char *p = (unsigned char *)c->codes.ptr + c->codes.len;
	uint64_t prev = 0;
	for (uint32_t i = 0; i < (mode == NUMBERS_CONST ? 1 : c->n); i++) {
		uint64_t v = c->value[i], from = mode == NUMBERS_RUNS ? c->expect[i] : prev;
		p = put_varint(p, mode >= NUMBERS_DELTA ? zigzag((int64_t)(v - from)) : v);
		prev = v;
	}
	c->codes.len = (size_t)((char *)p - c->codes.ptr);
	return 0;
}

static unsigned count_bytes(uint64_t v)
{
	return v ? (unsigned)(71 - __builtin_clzll(v)) / 8 : 0;
}

/* Wide numbers of all sizes, as times are: how many bytes each has, then the lowest bytes of all, the next ones and so on.
 * Bytes of one plane are alike. */
static int pack_planes(struct column *c, struct err *err)
{
	unsigned char *to[LINE_PLANES];
	uint64_t prev = 0;
	int r = pack_varint(&c->codes, c->n, err);
	if (!r)
		r = buf_reserve(&c->codes, (size_t)c->n * (LINE_PLANES + 1), err);
	if (r)
		return r;
	for (uint32_t i = 0; i < c->n; prev = c->value[i++]) {
		unsigned n = count_bytes(zigzag((int64_t)(c->value[i] - prev)));
		for (unsigned p = 0; p < n; p++)
			c->plane[p]++;
	}
	unsigned char *len = (unsigned char *)c->codes.ptr + c->codes.len, *end = len + c->n;
	for (unsigned p = 0; p < LINE_PLANES; end += c->plane[p++])
		to[p] = end;
	prev = 0;
	for (uint32_t i = 0; i < c->n; prev = c->value[i++]) {
		uint64_t v = zigzag((int64_t)(c->value[i] - prev));
		unsigned n = count_bytes(v);
		*len++ = (unsigned char)n;
		for (unsigned p = 0; p < n; p++, v >>= 8)
			*to[p]++ = (unsigned char)v;
	}
	c->codes.len = (size_t)((char *)end - c->codes.ptr);
	return 0;
}

static int pack_numbers(struct packer *x, struct column *c, struct err *err)
{
	size_t size[NUMBERS_MODES] = {0};
	uint32_t changes;
	if (!c->n)
		return 0;
	count_numbers(c, size, &changes);
	unsigned mode = size[NUMBERS_DELTA] < size[NUMBERS_PLAIN] ? NUMBERS_DELTA : NUMBERS_PLAIN;
	if (c->runs && size[NUMBERS_RUNS] <= size[mode])
		mode = NUMBERS_RUNS;
	size_t best = size[mode];
	if (changes == 1)
		mode = NUMBERS_CONST;
	/* large ones, as far as they are not the same as the one before: perhaps identifiers that come again */
	if (changes > 1 && best > c->n - changes + TABLE_WORTH * (size_t)changes) {
		int r = pack_forms(c, NUMBERS_TABLE, &c->codes, err);
		if (!r)
			r = pack_table(x, c, best, &c->codes, err);
		if (r != 1)
			return r;
		buf_clear(&c->codes);
	}
	if (mode == NUMBERS_DELTA && c->n >= PART_BYTES / 2 && best > c->n + c->n / 2)
		mode = NUMBERS_PLANES;
	int r = pack_forms(c, mode, &c->codes, err);
	if (r)
		return r;
	return mode == NUMBERS_PLANES ? pack_planes(c, err) : pack_values(c, mode, best, err);
}

/* Another kind of bytes begins here, if what came last is worth statistics of its own. */
static void end_part(struct packer *x, size_t from, size_t to)
{
	if (to - from < PART_BYTES || x->n_parts + 2 > PARTS_MAX)
		return;
	if (from > (x->n_parts ? x->part[x->n_parts - 1] : 0))
		x->part[x->n_parts++] = from;
	x->part[x->n_parts++] = to;
}

static int put_stream(struct packer *x, struct text t, const uint32_t *plane, uint32_t n, struct err *err)
{
	size_t at = x->frame.len;
	int r = buf_add_text(&x->frame, t, err);
	if (r)
		return r;
	if (!plane[0]) {
		end_part(x, at, x->frame.len);
		return 0;
	}
	size_t planes = 0;
	for (unsigned p = 0; p < LINE_PLANES; p++)
		planes += plane[p];
	at = x->frame.len - planes - n;
	end_part(x, at, at + n);
	at += n;
	for (unsigned p = 0; p < LINE_PLANES; at += plane[p++])
		end_part(x, at, at + plane[p]);
	return 0;
}

static int put_streams(struct packer *x, struct err *err)
{
	static const uint32_t none[1];
	int r = 0;
	for (unsigned i = 0; !r && i < LINE_STREAMS; i++)
		r = put(&x->frame, x->stream[i].len, err);
	for (unsigned i = 0; !r && i < x->n_columns; i++)
		r = put(&x->frame, x->column[i].codes.len, err);
	for (unsigned i = 0; !r && i < LINE_STREAMS; i++)
		r = put_stream(x, buf_text(&x->stream[i]), none, 0, err);
	for (unsigned i = 0; !r && i < x->n_columns; i++)
		r = put_stream(x, buf_text(&x->column[i].codes), x->column[i].plane, x->column[i].n, err);
	if (x->n_parts && x->part[x->n_parts - 1] == x->frame.len)
		x->n_parts--;
	return r;
}

static int make_frame(struct packer *x, struct err *err)
{
	int r = 0;
	for (unsigned i = 0; !r && i < x->n_columns; i++) {
		struct column *c = &x->column[i];
		r = buf_add_char(&x->stream[LINE_COLUMN_KINDS], (char)c->kind, err);
		if (!r && (c->kind == LINE_NUMBER || c->kind == LINE_STAMP))
			r = pack_numbers(x, c, err);
	}
	return r ? r : put_streams(x, err);
}

/* One part of the chunk: as it is, or compressed when that is shorter. */
static int put_part(struct codec *z, const struct buf *part, const size_t *place, size_t n, struct buf *head,
		    struct buf *body, struct err *err)
{
	size_t before = body->len;
	int r = part->len ? codec_pack_parts(z, buf_text(part), place, n, LEVEL, body, err) : 0;
	if (!r && body->len - before >= part->len) {
		body->len = before;
		r = buf_add_text(body, buf_text(part), err);
	}
	if (!r)
		r = put(head, part->len, err);
	return r ? r : put(head, body->len - before, err);
}

static int pack_lines(struct packer *x, struct text raw, struct err *err)
{
	int r = 0;
	for (struct text rest = raw; !r && rest.len;) {
		const char *nl = memchr(rest.ptr, '\n', rest.len);
		struct text line = {rest.ptr, nl ? (size_t)(nl - rest.ptr) : rest.len};
		r = put_line(x, line, err);
		rest = text_from(rest, line.len + 1);
	}
	return r;
}

static int packer_open(struct packer *x, struct err *err)
{
	struct texts *const all[] = {&x->templates, &x->shapes, &x->words, &x->hex, &x->uuids, &x->lists};
	int r = 0;
	arena_init(&x->arena, 0);
	for (unsigned i = 0; i < LINE_STREAMS; i++)
		x->stream[i] = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	x->ids = x->frame = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	for (unsigned i = 0; !r && i < ARRAY_SIZE(all); i++)
		r = texts_open(all[i], i < 2 ? 256 : 1024, err);
	return r;
}

static void packer_close(struct packer *x)
{
	struct texts *const all[] = {&x->templates, &x->shapes, &x->words, &x->hex, &x->uuids, &x->lists};
	for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
		texts_close(all[i]);
	for (unsigned i = 0; i < LINE_STREAMS; i++)
		buf_done(&x->stream[i]);
	for (unsigned i = 0; i < x->n_columns; i++) {
		buf_done(&x->column[i].codes);
		free(x->column[i].value);
		free(x->column[i].form);
		free(x->column[i].expect);
	}
	buf_done(&x->ids);
	buf_done(&x->frame);
	arena_done(&x->arena);
	free(x);
}

int line_pack(struct codec *z, struct text raw, struct buf *out, struct err *err)
{
	if (raw.len < WORTH_BYTES || raw.len > LINE_CHUNK_MAX)
		return 1;
	struct packer *x = calloc(1, sizeof(*x));
	if (!x)
		return err_nomem(err);
	CLEANUP(buf_done) struct buf head = BUF_INIT(CHUNK_MAX_DECODED_BYTES), body = head;
	int r = packer_open(x, err);
	if (!r)
		r = pack_lines(x, raw, err);
	if (!r)
		r = make_frame(x, err);
	if (!r && x->frame.len > LINE_FRAME_MAX(raw.len))
		r = 1;
	if (!r)
		r = put_part(z, &x->frame, x->part, x->n_parts, &head, &body, err);
	if (!r)
		r = put_part(z, &x->ids, NULL, 0, &head, &body, err);
	if (!r)
		r = buf_add_text(out, buf_text(&head), err);
	if (!r)
		r = buf_add_text(out, buf_text(&body), err);
	packer_close(x);
	return r;
}
