/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_mem.c - arrays whose elements stay put, interned texts, lists of refs
 *
 * Shelves and names grow with the number of requests; lists of refs stop at REFS_MAX, first come first kept, and
 * "first" is the canonical order of sources, so what is cut off does not depend on the order of files.
 */
#include "resolve.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void shelf_init(struct shelf *s, size_t element_size)
{
	*s = (struct shelf){.size = element_size};
}

void shelf_done(struct shelf *s)
{
	for (uint32_t i = 0; i < s->n_blocks; i++)
		free(s->blocks[i]);
	free(s->blocks);
	*s = (struct shelf){.size = s->size};
}

void *shelf_add(struct shelf *s)
{
	if (s->n == NO_INDEX - 1)
		return NULL;
	if (s->n >> SHELF_BITS == s->n_blocks) {
		if (s->n_blocks == s->cap_blocks) {
			uint32_t cap = s->cap_blocks ? s->cap_blocks * 2 : 16;
			char **blocks = realloc(s->blocks, cap * sizeof(*blocks));
			if (!blocks)
				return NULL;
			s->blocks = blocks;
			s->cap_blocks = cap;
		}
		s->blocks[s->n_blocks] = calloc((size_t)1 << SHELF_BITS, s->size);
		if (!s->blocks[s->n_blocks])
			return NULL;
		s->n_blocks++;
	}
	return shelf_at(s, s->n++);
}

int names_init(struct names *n, struct err *err)
{
	arena_init(&n->arena, SIZE_MAX / 2);
	shelf_init(&n->entries, sizeof(struct name));
	n->cap = 1024;
	n->slots = calloc(n->cap, sizeof(*n->slots));
	if (!n->slots || !shelf_add(&n->entries)) /* entry 0: no text */
		return err_nomem(err);
	return 0;
}

void names_done(struct names *n)
{
	arena_done(&n->arena);
	shelf_done(&n->entries);
	free(n->slots);
	n->slots = NULL;
}

struct text names_text(const struct names *n, uint32_t id)
{
	const struct name *e = name_at(n, id);
	return (struct text){e->ptr, e->len};
}

/* A slot holds the upper half of the hash beside the id: most strangers are turned away without looking at their text.
 */
static uint64_t *names_slot(const struct names *n, struct text t, uint64_t *ret_tag)
{
	uint64_t hash = text_hash(t), tag = hash & UINT64_C(0xffffffff00000000);
	uint32_t at = (uint32_t)hash & (n->cap - 1);
	for (; n->slots[at]; at = (at + 1) & (n->cap - 1))
		if ((n->slots[at] & UINT64_C(0xffffffff00000000)) == tag &&
		    text_eq(names_text(n, (uint32_t)n->slots[at]), t))
			break;
	*ret_tag = tag;
	return &n->slots[at];
}

uint32_t names_find(const struct names *n, struct text t)
{
	uint64_t tag;
	return t.len ? (uint32_t)*names_slot(n, t, &tag) : 0;
}

static int names_grow(struct names *n, struct err *err)
{
	uint32_t cap = n->cap * 2;
	uint64_t *slots = cap > n->cap ? calloc(cap, sizeof(*slots)) : NULL;
	if (!slots)
		return err_nomem(err);
	free(n->slots);
	n->slots = slots;
	n->cap = cap;
	for (uint32_t id = 1; id < n->entries.n; id++) {
		uint64_t tag, *slot = names_slot(n, names_text(n, id), &tag);
		*slot = tag | id;
	}
	return 0;
}

int names_id(struct names *n, struct text t, uint32_t *ret, struct err *err)
{
	*ret = 0;
	if (!t.len)
		return 0;
	uint64_t tag, *slot = names_slot(n, t, &tag);
	if (*slot) {
		*ret = (uint32_t)*slot;
		return 0;
	}
	struct text kept = arena_text(&n->arena, text_sub(t, 0, UINT32_MAX));
	uint32_t id = n->entries.n;
	struct name *e = kept.ptr ? shelf_add(&n->entries) : NULL;
	if (!e)
		return err_nomem(err);
	e->ptr = kept.ptr;
	e->len = (uint32_t)kept.len;
	*slot = tag | id;
	*ret = id;
	if (n->entries.n > n->cap / 2)
		return names_grow(n, err);
	return 0;
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

/* Decimal digits of v behind to; returns the end. Millions of refs are written: printf would be most of their cost. */
static char *put_number(char *to, uint64_t v)
{
	char digits[20];
	unsigned n = 0;
	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*to++ = digits[--n];
	return to;
}

int refs_json(const struct resolve *r, const struct refs *refs, struct buf *out, struct err *err)
{
	struct ref list[REFS_MAX];
	unsigned n = 0;
	for (uint32_t at = refs->head; at && n < REFS_MAX;) {
		const struct ref_node *node = shelf_at(&r->refs, at - 1);
		list[n++] = (struct ref){r->sources[node->source].id, node->off, node->len};
		at = node->next;
	}
	qsort(list, n, sizeof(*list), ref_cmp);
	buf_clear(out);
	int res = buf_add_char(out, '[', err);
	for (unsigned i = 0; i < n && !res; i++) {
		char text[80], *at = text;
		if (i)
			*at++ = ',';
		*at++ = '"';
		*at++ = 'S';
		at = put_number(at, (uint64_t)list[i].source);
		*at++ = '@';
		at = put_number(at, list[i].off);
		*at++ = '+';
		at = put_number(at, list[i].len);
		*at++ = '"';
		res = buf_add(out, text, (size_t)(at - text), err);
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
	return q == STAMP_NAIVE || q == STAMP_YEARLESS || (q == STAMP_INTERPOLATED && s->naive >= s->zoned && s->naive);
}

int64_t row_time(const struct source_info *s, const struct event_batch *b, uint32_t row)
{
	int64_t t = sane(b->ts_ns[row]);
	if (t == UNKNOWN || b->ts_quality[row] == STAMP_MONOTONIC)
		return UNKNOWN;
	return time_is_naive(s, b, row) ? t - s->offset_ns : t;
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
	    "own", "room", "rid", "response_id", "gateway_id", "trace_id", "time_and_length", "conflict"};
	return names[r];
}
