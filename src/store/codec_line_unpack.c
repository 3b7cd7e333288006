/* SPDX-License-Identifier: Apache-2.0 */
/* codec_line_unpack.c - templates and columns back to lines
 *
 * Nothing in the bytes is believed: every stream is read against its end, every line is written against the end of the
 * chunk, and what is allocated is bounded by the bytes at hand and the limits in codec_line.h. Entries of dictionaries are
 * places in the output where they were written first.
 */
#include <stddef.h>
#include <string.h>

#include "codec_line.h"
#include "pack.h"

struct entry {
	uint32_t off, len;
};

struct entries {
	struct entry *entry;
	uint32_t n, cap;
};

struct column {
	uint8_t kind, mode, form;
	uint32_t last, n_table, seen;
	struct pack_reader in, forms; /* forms.at NULL: all as `form` */
	uint64_t value, run_end;      /* run_end: of the list's numbers before */
	const unsigned char *table;   /* 8 bytes each */
	const unsigned char *plane[LINE_PLANES];
};

struct piece { /* a literal part, then a token */
	const char *literal;
	uint32_t len;
	uint16_t column; /* NO_COLUMN: the line ends */
};

/* It lies in the codec's memory, as do its arrays. */
struct unpacker {
	struct entries entries[LINE_KINDS]; /* their room is kept from chunk to chunk; the rest begins anew */
	struct codec *z;
	struct pack_reader stream[LINE_STREAMS], ids;
	unsigned n_columns;
	struct piece *piece;
	uint32_t template[LINE_TEMPLATES_MAX]; /* its first piece */
	unsigned n_templates;
	struct text *shape;
	uint32_t n_shapes;
	char *dest, *at, *end;
	int64_t days; /* `date` is theirs */
	char date[10];
	struct column column[LINE_COLUMNS_MAX]; /* those that there are are set to zero by themselves */
};

enum { NO_COLUMN = UINT16_MAX, SLACK = 32 };
enum { SLOT_UNPACKER, SLOT_FRAME, SLOT_IDS, SLOT_PIECES, SLOT_SHAPES, SLOT_ENTRIES, SLOTS = SLOT_ENTRIES + LINE_KINDS };
_Static_assert((int)SLOTS <= (int)CODEC_SLOTS, "a slot for each");

static int damaged(const char *what, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "lines: %s", what);
}

static inline size_t left(const struct pack_reader *in)
{
	return (size_t)(in->end - in->at);
}

static bool take(struct pack_reader *in, uint64_t n, struct pack_reader *ret)
{
	if (n > left(in))
		return false;
	*ret = (struct pack_reader){in->at, in->at + n};
	in->at += n;
	return true;
}

/* --- writing --- */

/* p has SLACK readable bytes from its begin on: it lies in a part or in the output before x->at. */
static inline bool write_bytes(struct unpacker *x, const void *p, size_t n)
{
	size_t room = (size_t)(x->end - x->at);
	if (n <= SLACK && room >= SLACK) { /* most pieces: a copy of constant length is far faster */
		char tmp[SLACK];
		memcpy(tmp, p, SLACK); /* it may reach over x->at */
		memcpy(x->at, tmp, SLACK);
		x->at += n;
		return true;
	}
	if (n > room)
		return false;
	if (n)
		memcpy(x->at, p, n);
	x->at += n;
	return true;
}

/* clang-format off */
static const uint64_t powers[] = {
	1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000, 1000000000000,
	10000000000000, 100000000000000, 1000000000000000, 10000000000000000, 100000000000000000, 1000000000000000000,
	UINT64_C(10000000000000000000),
};
/* clang-format on */

static inline unsigned count_digits(uint64_t v)
{
	unsigned guess = (unsigned)(64 - __builtin_clzll(v | 1)) * 1233 >> 12;
	return guess + (v >= powers[guess] || !v);
}

/* Exactly n digits of v, the last of them in front of `end`. */
static inline void put_digits(char *end, uint64_t v, unsigned n)
{
	static const char pairs[] =
	    "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243"
	    "4445464748495051525354555657585960616263646566676869707172737475767778798081828384858687"
	    "888990919293949596979899";
	for (; n >= 2; n -= 2, v /= 100)
		memcpy(end -= 2, pairs + 2 * (v % 100), 2);
	if (n)
		end[-1] = (char)('0' + v % 10);
}

static inline bool write_number(struct unpacker *x, uint64_t v, unsigned form)
{
	unsigned fraction = form & LINE_FRACTION_MAX, zeros = form >> LINE_FORM_SHIFT, n = count_digits(v);
	if (n <= fraction)
		n = fraction + 1;
	unsigned len = zeros + n + (fraction > 0);
	if (len > (size_t)(x->end - x->at))
		return false;
	char *end = x->at + len;
	memset(x->at, '0', zeros);
	x->at = end;
	if (fraction) {
		put_digits(end, v % powers[fraction], fraction);
		end -= fraction + 1;
		*end = '.';
		v /= powers[fraction];
		n -= fraction;
	}
	put_digits(end, v, n);
	return true;
}

static bool set_date(struct unpacker *x, int64_t days)
{
	int year;
	unsigned month, day;
	line_date(days, &year, &month, &day);
	if (year > 9999)
		return false;
	put_digits(x->date + 4, (uint64_t)year, 4);
	put_digits(x->date + 7, month, 2);
	put_digits(x->date + 10, day, 2);
	x->date[4] = x->date[7] = '-';
	x->days = days;
	return true;
}

static bool write_stamp(struct unpacker *x, uint64_t v, unsigned form)
{
	unsigned fraction = form & LINE_FRACTION_MAX, len = 19 + fraction + (fraction > 0);
	if (fraction > 9 || form >> LINE_FORM_SHIFT > 1 || len > (size_t)(x->end - x->at))
		return false;
	uint64_t seconds = v / powers[fraction], day = seconds / 86400, second = seconds % 86400;
	if (day > UINT32_MAX || (((int64_t)day != x->days || !x->date[0]) && !set_date(x, (int64_t)day)))
		return false;
	char *p = x->at;
	memcpy(p, x->date, sizeof(x->date));
	p[10] = form >> LINE_FORM_SHIFT ? 'T' : ' ';
	put_digits(p + 13, second / 3600, 2);
	put_digits(p + 16, second / 60 % 60, 2);
	put_digits(p + 19, second % 60, 2);
	p[13] = p[16] = ':';
	if (fraction) {
		p[19] = '.';
		put_digits(p + len, v % powers[fraction], fraction);
	}
	x->at += len;
	return true;
}

static bool write_hex(struct unpacker *x, size_t bytes, bool uuid)
{
	static const char digits[] = "0123456789abcdef";
	size_t n = 2 * bytes + (uuid ? 4 : 0);
	if (bytes > left(&x->ids) || n > (size_t)(x->end - x->at))
		return false;
	for (size_t i = 0; i < bytes; i++) {
		if (uuid && (i == 4 || i == 6 || i == 8 || i == 10))
			*x->at++ = '-';
		*x->at++ = digits[*x->ids.at >> 4];
		*x->at++ = digits[*x->ids.at++ & 15];
	}
	return true;
}

/* --- tokens --- */

static inline bool next_number(struct column *c, uint64_t *ret_value, unsigned *ret_form)
{
	uint64_t v;
	if (c->forms.at) {
		if (c->forms.at == c->forms.end)
			return false;
		c->form = *c->forms.at++;
	}
	*ret_form = c->form;
	switch (c->mode) {
	case NUMBERS_CONST: break;
	case NUMBERS_PLAIN:
		if (!unpack_varint(&c->in, &c->value))
			return false;
		break;
	case NUMBERS_DELTA:
		if (!unpack_varint(&c->in, &v))
			return false;
		c->value += (uint64_t)unzigzag(v);
		break;
	case NUMBERS_PLANES:
		if (c->in.at == c->in.end)
			return false;
		v = 0; /* open_planes() has counted what there is */
		for (unsigned p = 0, n = *c->in.at++; p < n; p++)
			v |= (uint64_t)*c->plane[p]++ << 8 * p;
		c->value += (uint64_t)unzigzag(v);
		break;
	case NUMBERS_RUNS:
		if (!unpack_varint(&c->in, &v))
			return false;
		c->value = c->run_end + (uint64_t)unzigzag(v);
		break;
	default:
		if (!unpack_varint(&c->in, &v))
			return false;
		if (v == 1) { /* as before */
			*ret_value = c->value;
			return c->seen > 0;
		}
		if (v ? v - 1 > c->seen : c->seen == c->n_table)
			return false;
		uint32_t e = v ? c->seen - (uint32_t)(v - 1) : c->seen++;
		memcpy(&c->value, c->table + 8 * (size_t)e, 8);
	}
	*ret_value = c->value;
	return true;
}

static bool write_list(struct unpacker *x, struct column *c)
{
	uint64_t e, v;
	unsigned form;
	if (!unpack_varint(&c->in, &e) || e >= x->n_shapes)
		return false;
	struct text shape = x->shape[e];
	bool second = false;
	for (size_t i = 0; i < shape.len; i++) {
		if (shape.ptr[i] != '0' || !i) {
			if (!write_bytes(x, shape.ptr + i, 1))
				return false;
			continue;
		}
		bool first = shape.ptr[i - 1] == '[';
		if (!next_number(first ? c + 1 : c + 2, &v, &form) || !write_number(x, v, 0))
			return false;
		if (first)
			c[1].run_end = v + 1;
		else if (second)
			c[1].run_end += v - 1;
		second = first;
	}
	return true;
}

static bool write_new(struct unpacker *x, struct column *c)
{
	uint64_t len;
	switch (c->kind) {
	case LINE_HEX:
		return unpack_varint(&x->stream[LINE_HEX_LENGTHS], &len) && len <= LINE_HEX_MAX &&
		       write_hex(x, (size_t)len, false);
	case LINE_UUID: return write_hex(x, 16, true);
	case LINE_LIST: return write_list(x, c);
	default: {
		struct pack_reader word;
		return unpack_varint(&x->stream[LINE_WORD_LENGTHS], &len) && take(&x->stream[LINE_WORDS], len, &word) &&
		       write_bytes(x, word.at, (size_t)len);
	}
	}
}

static bool add_entry(struct unpacker *x, unsigned kind, const char *from, const char *to)
{
	struct entries *d = &x->entries[kind];
	if (d->n == d->cap) {
		uint32_t cap = d->cap ? 2 * d->cap : 1024;
		struct entry *p = codec_scratch(x->z, SLOT_ENTRIES + kind, cap * sizeof(*p));
		if (!p)
			return false;
		d->entry = p;
		d->cap = cap;
	}
	d->entry[d->n++] = (struct entry){(uint32_t)(from - x->dest), (uint32_t)(to - from)};
	return true;
}

static bool write_entry(struct unpacker *x, struct column *c)
{
	struct entries *d = &x->entries[c->kind];
	uint64_t code;
	if (!unpack_varint(&c->in, &code))
		return false;
	if (!code) {
		const char *from = x->at;
		c->last = d->n;
		return write_new(x, c) && add_entry(x, c->kind, from, x->at);
	}
	if (code > 1) {
		if (code - 1 > d->n)
			return false;
		c->last = d->n - (uint32_t)(code - 1);
	} else if (c->last >= d->n) {
		return false;
	}
	return write_bytes(x, x->dest + d->entry[c->last].off, d->entry[c->last].len);
}

static inline bool write_token(struct unpacker *x, struct column *c)
{
	uint64_t v;
	unsigned form;
	if (c->kind == LINE_NUMBER)
		return next_number(c, &v, &form) && write_number(x, v, form);
	if (c->kind == LINE_STAMP)
		return next_number(c, &v, &form) && write_stamp(x, v, form);
	return write_entry(x, c);
}

static bool write_raw(struct unpacker *x)
{
	uint64_t len;
	struct pack_reader raw;
	return unpack_varint(&x->stream[LINE_CODES], &len) && take(&x->stream[LINE_RAW], len, &raw) &&
	       write_bytes(x, raw.at, (size_t)len);
}

static bool write_line(struct unpacker *x, uint64_t code)
{
	if (!code)
		return write_raw(x);
	if (code > x->n_templates)
		return false;
	for (const struct piece *p = &x->piece[x->template[code - 1]];; p++) {
		if (!write_bytes(x, p->literal, p->len))
			return false;
		if (p->column == NO_COLUMN)
			return true;
		if (!write_token(x, &x->column[p->column]))
			return false;
	}
}

static int write_lines(struct unpacker *x, struct err *err)
{
	uint64_t code;
	struct pack_reader *codes = &x->stream[LINE_CODES];
	while (left(codes)) {
		if (!unpack_varint(codes, &code) || !write_line(x, code))
			return damaged("a line", err);
		if (x->at == x->end)
			break;
		*x->at++ = '\n';
	}
	if (x->at != x->end || left(codes) || left(&x->stream[LINE_RAW]) || left(&x->ids))
		return damaged("not as long as they should be", err);
	return 0;
}

/* --- opening --- */

static bool is_number(unsigned kind)
{
	return kind == LINE_NUMBER || kind == LINE_STAMP;
}

/* The numbers of bytes stay in `in`. */
static bool open_planes(struct column *c)
{
	uint64_t n, count[LINE_PLANES] = {0};
	struct pack_reader lengths;
	if (!unpack_varint(&c->in, &n) || !take(&c->in, n, &lengths))
		return false;
	for (const unsigned char *p = lengths.at; p < lengths.end; p++) {
		if (*p > LINE_PLANES)
			return false;
		for (unsigned k = 0; k < *p; k++)
			count[k]++;
	}
	for (unsigned k = 0; k < LINE_PLANES; k++) {
		struct pack_reader plane;
		if (!take(&c->in, count[k], &plane))
			return false;
		c->plane[k] = plane.at;
	}
	bool whole = !left(&c->in);
	c->in = lengths;
	return whole;
}

/* Head of a column of numbers; *total counts entries of tables. */
static bool open_numbers(struct column *c, uint64_t *total)
{
	uint64_t n;
	if (!left(&c->in)) { /* no values: any use is an error */
		c->mode = NUMBERS_PLAIN;
		return true;
	}
	unsigned head = *c->in.at++;
	c->mode = head & (NUMBERS_FORMS - 1);
	if (c->mode >= NUMBERS_MODES)
		return false;
	if (head & NUMBERS_FORMS) {
		if (!unpack_varint(&c->in, &n) || !take(&c->in, n, &c->forms))
			return false;
	} else {
		if (!left(&c->in))
			return false;
		c->form = *c->in.at++;
	}
	if (c->mode == NUMBERS_CONST)
		return unpack_varint(&c->in, &c->value);
	if (c->mode == NUMBERS_PLANES)
		return open_planes(c);
	if (c->mode == NUMBERS_TABLE) {
		if (!unpack_varint(&c->in, &n) || n > left(&c->in))
			return false;
		c->n_table = (uint32_t)n;
		*total += n;
	}
	return true;
}

static int open_columns(struct unpacker *x, struct err *err)
{
	uint64_t total = 0;
	for (unsigned i = 0; i < x->n_columns; i++) {
		struct column *c = &x->column[i];
		c->kind = x->stream[LINE_COLUMN_KINDS].at[i];
		c->last = UINT32_MAX;
		if (!c->kind || c->kind >= LINE_KINDS)
			return damaged("kind of a column", err);
		if (is_number(c->kind) && !open_numbers(c, &total))
			return damaged("column of numbers", err);
	}
	for (unsigned i = 0; i < x->n_columns; i++)
		if (x->column[i].kind == LINE_LIST && (x->n_columns - i < 3 || x->column[i + 1].kind != LINE_NUMBER ||
						       x->column[i + 2].kind != LINE_NUMBER))
			return damaged("numbers of a list", err);
	if (total > left(&x->ids) / 8)
		return damaged("tables are cut", err);
	const unsigned char *table = x->ids.end -= 8 * total;
	for (unsigned i = 0; i < x->n_columns; i++) {
		x->column[i].table = table;
		table += 8 * (size_t)x->column[i].n_table;
	}
	return 0;
}

static int open_shapes(struct unpacker *x, struct err *err)
{
	struct pack_reader lengths = x->stream[LINE_SHAPE_LENGTHS], shape;
	if (left(&lengths) > left(&x->stream[LINE_SHAPES])) /* none is empty */
		return damaged("shapes of lists are cut", err);
	x->shape = codec_scratch(x->z, SLOT_SHAPES, (left(&lengths) + 1) * sizeof(*x->shape));
	if (!x->shape)
		return err_nomem(err);
	for (uint64_t len; left(&lengths);) {
		if (!unpack_varint(&lengths, &len) || !take(&x->stream[LINE_SHAPES], len, &shape))
			return damaged("shape of a list", err);
		x->shape[x->n_shapes++] = (struct text){(const char *)shape.at, (size_t)len};
	}
	return 0;
}

/* Pieces of one template, appended at *n. */
static bool open_template(struct unpacker *x, struct text t, uint32_t *n)
{
	struct pack_reader *slots = &x->stream[LINE_SLOTS];
	size_t from = 0;
	uint64_t column;
	for (size_t i = 0; i < t.len; i++) {
		unsigned char c = (unsigned char)t.ptr[i];
		if (!c || c >= LINE_KINDS)
			continue;
		if (!unpack_varint(slots, &column) || column >= x->n_columns || x->column[column].kind != c)
			return false;
		x->piece[(*n)++] = (struct piece){t.ptr + from, (uint32_t)(i - from), (uint16_t)column};
		from = i + 1;
	}
	x->piece[(*n)++] = (struct piece){t.ptr + from, (uint32_t)(t.len - from), NO_COLUMN};
	return true;
}

static int open_templates(struct unpacker *x, struct err *err)
{
	struct pack_reader lengths = x->stream[LINE_TEMPLATE_LENGTHS], t;
	uint32_t n = 0;
	/* a piece takes a slot, or is the last of its template */
	size_t slots = left(&x->stream[LINE_SLOTS]);
	if (slots > 2 * LINE_TEMPLATES_MAX * LINE_TOKENS_MAX)
		return damaged("too many slots", err);
	x->piece =
	    codec_scratch(x->z, SLOT_PIECES, (MIN(left(&lengths), LINE_TEMPLATES_MAX) + slots + 1) * sizeof(*x->piece));
	if (!x->piece)
		return err_nomem(err);
	for (uint64_t len; left(&lengths);) {
		if (x->n_templates == LINE_TEMPLATES_MAX || !unpack_varint(&lengths, &len) ||
		    !take(&x->stream[LINE_TEMPLATES], len, &t))
			return damaged("templates are cut", err);
		x->template[x->n_templates++] = n;
		if (!open_template(x, (struct text){(const char *)t.at, (size_t)len}, &n))
			return damaged("a template", err);
	}
	return 0;
}

static int open_streams(struct unpacker *x, struct pack_reader frame, struct err *err)
{
	uint64_t len[LINE_STREAMS], columns[LINE_COLUMNS_MAX];
	bool good = true;
	for (unsigned i = 0; good && i < LINE_STREAMS; i++)
		good = unpack_varint(&frame, &len[i]);
	if (!good || len[LINE_COLUMN_KINDS] > LINE_COLUMNS_MAX)
		return damaged("streams", err);
	x->n_columns = (unsigned)len[LINE_COLUMN_KINDS];
	memset(x->column, 0, x->n_columns * sizeof(*x->column));
	for (unsigned i = 0; good && i < x->n_columns; i++)
		good = unpack_varint(&frame, &columns[i]);
	for (unsigned i = 0; good && i < LINE_STREAMS; i++)
		good = take(&frame, len[i], &x->stream[i]);
	for (unsigned i = 0; good && i < x->n_columns; i++)
		good = take(&frame, columns[i], &x->column[i].in);
	return good && !left(&frame) ? 0 : damaged("streams are cut", err);
}

/* One part of the chunk, decompressed when it has to be. */
static int get_part(struct codec *z, struct pack_reader *in, uint64_t raw_len, uint64_t packed_len, unsigned slot,
		    struct pack_reader *ret, struct err *err)
{
	struct pack_reader part;
	if (!take(in, packed_len, &part) || packed_len > raw_len)
		return damaged("a part is cut", err);
	unsigned char *own = codec_scratch(z, slot, (size_t)raw_len + SLACK);
	if (!own)
		return err_nomem(err);
	memset(own + raw_len, 0, SLACK);
	*ret = (struct pack_reader){own, own + raw_len};
	if (packed_len == raw_len) {
		if (raw_len)
			memcpy(own, part.at, (size_t)raw_len);
		return 0;
	}
	return codec_unpack(z, (struct text){(const char *)part.at, (size_t)packed_len}, own, (size_t)raw_len, err);
}

static struct unpacker *unpacker_new(struct codec *z)
{
	struct unpacker *x = codec_scratch(z, SLOT_UNPACKER, sizeof(*x));
	if (!x)
		return NULL;
	size_t from = sizeof(x->entries);
	memset((char *)x + from, 0, offsetof(struct unpacker, column) - from);
	for (unsigned i = 0; i < LINE_KINDS; i++)
		x->entries[i].n = 0;
	x->z = z;
	return x;
}

int line_unpack(struct codec *z, struct text packed, char *dest, size_t raw_len, struct err *err)
{
	struct pack_reader in = {(const unsigned char *)packed.ptr, (const unsigned char *)packed.ptr + packed.len},
			   frame;
	uint64_t n[4];
	for (unsigned i = 0; i < ARRAY_SIZE(n); i++)
		if (!unpack_varint(&in, &n[i]))
			return damaged("no head", err);
	/* ids are at most as long as their text */
	if (raw_len > LINE_CHUNK_MAX || n[0] > LINE_FRAME_MAX(raw_len) || n[2] > raw_len)
		return damaged("they claim too much", err);
	struct unpacker *x = unpacker_new(z);
	if (!x)
		return err_nomem(err);
	x->dest = x->at = dest;
	x->end = dest + raw_len;
	int r = get_part(z, &in, n[0], n[1], SLOT_FRAME, &frame, err);
	if (!r)
		r = get_part(z, &in, n[2], n[3], SLOT_IDS, &x->ids, err);
	if (!r && left(&in))
		r = damaged("bytes left over", err);
	if (!r)
		r = open_streams(x, frame, err);
	if (!r)
		r = open_columns(x, err);
	if (!r)
		r = open_shapes(x, err);
	if (!r)
		r = open_templates(x, err);
	if (!r)
		r = write_lines(x, err);
	return r;
}
