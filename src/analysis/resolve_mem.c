/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_mem.c - arrays whose elements stay put, interned texts, orders, lists of refs
 *
 * Shelves and names grow with the number of requests, in the scratch; of each name only its place in the hash table, of
 * which 6 to 10 bytes a name are, is always in memory, because looking up is the one thing that goes everywhere. lists of refs stop at REFS_MAX, first come first kept, and
 * "first" is the canonical order of sources, so what is cut off does not depend on the order of files.
 */
#include "resolve.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void shelf_init(struct shelf *s, struct scratch *scratch, size_t element_size)
{
	*s = (struct shelf){.scratch = scratch, .size = element_size};
}

void shelf_done(struct shelf *s) /* the blocks go with the scratch */
{
	free(s->blocks);
	*s = (struct shelf){.size = s->size};
}

/* Room for one more pointer. */
static bool blocks_grow(char ***blocks, uint32_t n, uint32_t *cap)
{
	if (n < *cap)
		return true;
	uint32_t more = *cap ? *cap * 2 : 16;
	char **to = realloc(*blocks, more * sizeof(*to));
	if (!to)
		return false;
	*blocks = to;
	*cap = more;
	return true;
}

void *shelf_add(struct shelf *s)
{
	if (s->n == NO_INDEX - 1)
		return NULL;
	if (s->n >> SHELF_BITS == s->n_blocks) {
		if (!blocks_grow(&s->blocks, s->n_blocks, &s->cap_blocks))
			return NULL;
		s->blocks[s->n_blocks] = scratch_alloc(s->scratch, (size_t)1 << SHELF_BITS, s->size);
		if (!s->blocks[s->n_blocks])
			return NULL;
		s->n_blocks++;
	}
	return shelf_at(s, s->n++);
}

/* --- names --- */

enum { TEXT_BLOCK = 1 << TEXT_BLOCK_BITS, SLOTS_FIRST = 1024 };

static int slots_new(struct names *n, uint32_t cap, struct err *err)
{
	free(n->slots);
	free(n->tags);
	n->slots = calloc(cap, sizeof(*n->slots));
	n->tags = calloc(cap, sizeof(*n->tags));
	n->cap = cap;
	return n->slots && n->tags ? 0 : err_nomem(err);
}

int names_init(struct names *n, struct scratch *scratch, struct err *err)
{
	*n = (struct names){.scratch = scratch, .at = TEXT_BLOCK};
	shelf_init(&n->entries, scratch, sizeof(struct name));
	int res = slots_new(n, SLOTS_FIRST, err);
	if (!res && !shelf_add(&n->entries)) /* entry 0: no text */
		res = err_nomem(err);
	return res;
}

void names_done(struct names *n)
{
	shelf_done(&n->entries);
	free(n->blocks);
	free(n->slots);
	free(n->tags);
	*n = (struct names){.slots = NULL};
}

void names_unchain(struct names *n)
{
	for (uint32_t id = 1; id < n->entries.n; id++) {
		name_at(n, id)->chain = 0;
		if (id % 4096 == 0)
			scratch_trim(n->scratch);
	}
}

static char *text_at(const struct names *n, uint32_t unit)
{
	uint64_t at = (uint64_t)unit * TEXT_UNIT;
	return n->blocks[at >> TEXT_BLOCK_BITS] + (at & (TEXT_BLOCK - 1));
}

struct text names_text(const struct names *n, uint32_t id)
{
	uint32_t len;
	if (!id)
		return (struct text){NULL, 0};
	const char *at = text_at(n, name_at(n, id)->text);
	memcpy(&len, at, sizeof(len));
	return (struct text){at + sizeof(len), len};
}

/* Copies the text; *ret_unit is where it stands. A long one has blocks of its own, which lie behind each other. */
static int text_keep(struct names *n, struct text t, uint32_t *ret_unit, struct err *err)
{
	uint32_t len = (uint32_t)t.len;
	size_t need = (sizeof(len) + t.len + TEXT_UNIT - 1) / TEXT_UNIT * TEXT_UNIT;
	if (need > TEXT_BLOCK - n->at) {
		uint32_t blocks = (uint32_t)((need + TEXT_BLOCK - 1) / TEXT_BLOCK);
		if ((uint64_t)n->n_blocks + blocks > (UINT64_C(1) << 31) / (TEXT_BLOCK / TEXT_UNIT))
			return err_set(err, ERR_LIMIT, "too many names in one case");
		char *at = scratch_alloc(n->scratch, blocks, TEXT_BLOCK);
		for (uint32_t i = 0; i < blocks; i++) {
			if (!at || !blocks_grow(&n->blocks, n->n_blocks, &n->cap_blocks))
				return err_nomem(err);
			n->blocks[n->n_blocks++] = at + (size_t)i * TEXT_BLOCK;
		}
		n->at = blocks > 1 ? TEXT_BLOCK : 0;
		*ret_unit = (n->n_blocks - blocks) * (TEXT_BLOCK / TEXT_UNIT);
	} else {
		*ret_unit = (n->n_blocks - 1) * (TEXT_BLOCK / TEXT_UNIT) + n->at / TEXT_UNIT;
	}
	char *to = text_at(n, *ret_unit);
	memcpy(to, &len, sizeof(len));
	memcpy(to + sizeof(len), t.ptr, t.len);
	n->at = (uint32_t)MIN(n->at + need, (size_t)TEXT_BLOCK);
	return 0;
}

/* The upper bits choose the place, the lowest are the tag. */
static uint32_t slot_first(const struct names *n, uint32_t hash)
{
	return (uint32_t)((uint64_t)hash * n->cap >> 32);
}

static uint32_t hash_of(struct text t)
{
	uint64_t h = text_hash(t);
	return (uint32_t)(h >> 32) ^ (uint32_t)h;
}

static uint32_t names_slot(const struct names *n, struct text t, uint32_t hash)
{
	uint32_t at = slot_first(n, hash);
	for (; n->slots[at]; at = at + 1 == n->cap ? 0 : at + 1)
		if (n->tags[at] == (uint8_t)hash && name_at(n, n->slots[at])->hash == hash &&
		    text_eq(names_text(n, n->slots[at]), t))
			break;
	return at;
}

uint32_t names_find(const struct names *n, struct text t)
{
	return t.len ? n->slots[names_slot(n, t, hash_of(t))] : 0;
}

static int names_grow(struct names *n, struct err *err)
{
	if (n->cap > UINT32_MAX / 3 * 2)
		return err_nomem(err);
	int res = slots_new(n, n->cap + n->cap / 2, err);
	for (uint32_t id = 1; id < n->entries.n && !res; id++) {
		uint32_t hash = name_at(n, id)->hash, at = slot_first(n, hash);
		while (n->slots[at])
			at = at + 1 == n->cap ? 0 : at + 1;
		n->slots[at] = id;
		n->tags[at] = (uint8_t)hash;
		if (id % 4096 == 0)
			scratch_trim(n->scratch);
	}
	return res;
}

int names_id(struct names *n, struct text t, uint32_t *ret, struct err *err)
{
	*ret = 0;
	if (!t.len)
		return 0;
	t = text_sub(t, 0, UINT32_MAX / 2);
	uint32_t unit = 0, hash = hash_of(t), at = names_slot(n, t, hash);
	if (n->slots[at]) {
		*ret = n->slots[at];
		return 0;
	}
	int res = text_keep(n, t, &unit, err);
	if (res)
		return res;
	uint32_t id = n->entries.n;
	struct name *e = shelf_add(&n->entries);
	if (!e)
		return err_nomem(err);
	e->text = unit & 0x7fffffff;
	e->hash = hash;
	n->slots[at] = id;
	n->tags[at] = (uint8_t)hash;
	*ret = id;
	return (uint64_t)n->entries.n * 5 > (uint64_t)n->cap * 4 ? names_grow(n, err) : 0;
}

int memo_id(struct resolve *r, struct text t, uint32_t *ret, struct err *err)
{
	size_t at = ((uintptr_t)t.ptr >> 2 ^ (uintptr_t)t.ptr >> 14) % MEMO_SLOTS;
	*ret = 0;
	if (!t.len)
		return 0;
	if (r->memo->slots[at].ptr == t.ptr && r->memo->slots[at].len == t.len) {
		*ret = r->memo->slots[at].id;
		return 0;
	}
	int res = names_id(&r->names, t, ret, err);
	r->memo->slots[at].ptr = t.ptr;
	r->memo->slots[at].len = (uint32_t)t.len;
	r->memo->slots[at].id = *ret;
	return res;
}

/* --- orders --- */

struct sorting {
	struct resolve *r;
	size_t size;
	order_fn cmp;
	void *ctx;
};

static void sort_few(const struct sorting *s, char *list, size_t n)
{
	char v[SORT_MAX_BYTES];
	for (size_t i = 1; i < n; i++) {
		size_t k = i;
		while (k && s->cmp(list + i * s->size, list + (k - 1) * s->size, s->ctx) < 0)
			k--;
		if (k == i)
			continue;
		memcpy(v, list + i * s->size, s->size);
		memmove(list + (k + 1) * s->size, list + k * s->size, (i - k) * s->size);
		memcpy(list + k * s->size, v, s->size);
	}
}

/* In parts, so that the budget holds. */
static void copy_items(const struct sorting *s, char *to, const char *from, size_t bytes)
{
	for (size_t at = 0, part; at < bytes; at += part) {
		part = MIN(bytes - at, (size_t)MIB);
		memcpy(to + at, from + at, part);
		if (part == MIB)
			scratch_trim(&s->r->scratch);
	}
}

static int merge(const struct sorting *s, const char *from, char *to, size_t mid, size_t n, struct err *err)
{
	const char *a = from, *a_end = from + mid * s->size, *b = a_end, *b_end = from + n * s->size;
	int res = 0;
	/* in order already, as most of what was read in order of time is */
	bool apart = mid < n && s->cmp(a_end - s->size, b, s->ctx) > 0;
	while (apart && a < a_end && b < b_end && !res) {
		const char **next = s->cmp(b, a, s->ctx) < 0 ? &b : &a;
		memcpy(to, *next, s->size);
		*next += s->size;
		to += s->size;
		res = resolve_tick(s->r, err);
	}
	copy_items(s, to, a, (size_t)(a_end - a));
	copy_items(s, to + (a_end - a), b, (size_t)(b_end - b));
	return res;
}

int sort_items(struct resolve *r, void *list, size_t n, size_t size, order_fn cmp, void *ctx, struct err *err)
{
	enum { FEW = 16 };
	const struct sorting s = {r, size, cmp, ctx};
	char *from = list, *to = n > FEW ? scratch_alloc(&r->scratch, n, size) : list;
	int res = !to ? err_nomem(err) : size > SORT_MAX_BYTES ? err_set(err, ERR_BUG, "items are too long") : 0;
	for (size_t i = 0; i < n && !res; i += FEW) {
		sort_few(&s, from + i * size, MIN(n - i, (size_t)FEW));
		res = resolve_tick(r, err);
	}
	for (size_t width = FEW; width < n && !res; width *= 2) {
		for (size_t i = 0; i < n && !res; i += 2 * width)
			res = merge(&s, from + i * size, to + i * size, MIN(width, n - i), MIN(2 * width, n - i), err);
		char *t = from;
		from = to;
		to = t;
	}
	if (!res && from != list)
		copy_items(&s, list, from, n * size);
	return res;
}

int refs_add(struct resolve *r, struct refs *to, struct ref_node ref, struct err *err)
{
	uint32_t *link = &to->head;
	while (*link) {
		struct ref_node *at = shelf_at(&r->refs, *link - 1);
		if (at->source == ref.source && at->off == ref.off)
			return 0;
		link = &at->next;
	}
	if (to->n == REFS_MAX)
		return 0;
	uint32_t index = r->refs.n;
	struct ref_node *node = shelf_add(&r->refs);
	if (!node)
		return err_nomem(err);
	*node = ref;
	node->next = 0;
	*link = index + 1;
	to->n++;
	return 0;
}

int refs_add_all(struct resolve *r, struct refs *to, const struct refs *from, struct err *err)
{
	int res = 0;
	for (uint32_t at = from->head; at && !res;) {
		struct ref_node node = *(struct ref_node *)shelf_at(&r->refs, at - 1);
		at = node.next;
		res = refs_add(r, to, node, err);
	}
	return res;
}

static int ref_cmp(const void *a, const void *b)
{
	const struct ref *x = a, *y = b;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

unsigned refs_list(const struct resolve *r, const struct refs *refs, struct ref list[REFS_MAX])
{
	unsigned n = 0;
	for (uint32_t at = refs->head; at && n < REFS_MAX;) {
		const struct ref_node *node = shelf_at(&r->refs, at - 1);
		list[n++] = (struct ref){r->sources[node->source].id, node->off, node->len};
		at = node->next;
	}
	qsort(list, n, sizeof(*list), ref_cmp);
	return n;
}

int refs_json(const struct resolve *r, const struct refs *refs, struct buf *out, struct err *err)
{
	struct ref list[REFS_MAX];
	unsigned n = refs_list(r, refs, list);
	buf_clear(out);
	int res = buf_add_char(out, '[', err);
	for (unsigned i = 0; i < n && !res; i++) {
		char text[80];
		res = buf_add(out, i ? ",\"" : "\"", i ? 2 : 1, err);
		if (!res)
			res = buf_add_text(out, text_of(ref_format(list[i], text, sizeof(text))), err);
		if (!res)
			res = buf_add_char(out, '"', err);
	}
	return res ? res : buf_add_char(out, ']', err);
}

struct text arena_printf(struct arena *a, const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n < 0)
		n = 0;
	return arena_text(a, (struct text){line, MIN((size_t)n, sizeof(line) - 1)});
}

int64_t interval_gap(int64_t a_lo, int64_t a_hi, int64_t b_lo, int64_t b_hi)
{
	if (a_lo == UNKNOWN || b_lo == UNKNOWN)
		return 0;
	if (b_lo > a_hi)
		return b_lo - a_hi;
	return a_lo > b_hi ? a_lo - b_hi : 0;
}

bool time_is_naive(const struct source_info *s, const struct event_batch *b, uint32_t row)
{
	enum stamp_quality q = (enum stamp_quality)b->ts_quality[row];
	return q == STAMP_NAIVE || q == STAMP_YEARLESS || (q == STAMP_INTERPOLATED && between_is_naive(s));
}

int64_t row_time(const struct source_info *s, const struct event_batch *b, uint32_t row)
{
	int64_t t = sane(b->ts_ns[row]);
	if (t == UNKNOWN || b->ts_quality[row] == STAMP_MONOTONIC)
		return UNKNOWN;
	return t - clock_off(s, b->byte_off[row], time_is_naive(s, b, row));
}

static int64_t piece_off(const struct clock_pieces *p, uint64_t off)
{
	uint32_t i = p->n - 1;
	while (i && p->at[i].from_off > off)
		i--;
	return p->at[i].offset_ns;
}

int64_t clock_off(const struct source_info *s, uint64_t off, bool naive)
{
	int64_t skew = s->skews ? piece_off(s->skews, off) : 0;
	if (!naive)
		return skew;
	return skew + s->year_ns + (s->zones ? piece_off(s->zones, off) : s->offset_ns);
}

int64_t row_moment(const struct source_info *s, const struct event_batch *b, uint32_t row, int64_t t, bool computed)
{
	return t == UNKNOWN ? UNKNOWN : t - clock_off(s, b->byte_off[row], computed && time_is_naive(s, b, row));
}

struct ref_node row_ref(uint32_t source, const struct event_batch *b, uint32_t row)
{
	return (struct ref_node){.off = b->byte_off[row], .len = b->byte_len[row], .source = source};
}

const char *role_name(enum role r)
{
	static const char *const names[] = {NULL, "prefill", "decode", "unified"};
	return names[r];
}

enum role role_of(struct text t)
{
	for (int i = ROLE_PREFILL; i <= ROLE_UNIFIED; i++)
		if (text_is(t, role_name((enum role)i)))
			return (enum role)i;
	return ROLE_UNKNOWN;
}

enum flag flag_of(struct text t, bool known_value)
{
	if (!known_value)
		return FLAG_NONE;
	return text_is(t, "estimate") ? FLAG_ESTIMATE : text_is(t, "at_least") ? FLAG_AT_LEAST : FLAG_EXACT;
}

const char *flag_name(enum flag f)
{
	static const char *const names[] = {NULL, "estimate", "at_least", "exact"};
	return names[f];
}

const char *rule_name(enum rule r)
{
	static const char *const names[] = {
	    "own", "room", "rid", "response_id", "gateway_id", "trace_id", "time_and_length", "child", "conflict"};
	return names[r];
}

uint32_t *order_new(struct resolve *r, uint32_t n)
{
	uint32_t *order = scratch_alloc(&r->scratch, (size_t)n + 1, sizeof(*order));
	for (uint32_t i = 0; order && i < n; i++)
		order[i] = i;
	return order;
}
