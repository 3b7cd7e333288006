/* SPDX-License-Identifier: Apache-2.0 */
/* leak.c - one table of all that is somebody's, looked up at every place of the bytes
 *
 * A text is found by its last bytes (8, or as many as it has of 4, 3, 2, 1: five tables in one), because ids that are counted differ at their end;
 * then by the hash of all of it. A bitmap of such endings answers most places. So time does not grow with how many
 * there are, and a million requests need no pattern compiled: Hyperscan takes 0.4 s for 10,000 ids, and 2.7 s for 50,000.
 *
 * Short texts are words by chance: below 8 bytes one has to stand alone, below 4 it is common; digits alone are numbers, and are left out.
 */
#include "leak.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "pagetrail/buf.h"
#include "pagetrail/case_key.h"
#include "pagetrail/limits.h"
#include "pagetrail/stamp.h"

enum { CLASSES = 5, SHORT_BYTES = 8, COMMON_BYTES = 4, FACTS_MAX = 256 };
static const size_t tails[CLASSES] = {8, 4, 3, 2, 1};

struct needle {
	uint64_t hash, tail; /* of all of it; of its ending */
	uint32_t tenant, next;
	uint16_t len;
	uint8_t kind;
	bool left_out, common;
};

/* Which facts a tenant may be told. */
struct told {
	uint64_t bits[FACTS_MAX / 64];
};

struct moment {
	int64_t ns;
	uint32_t tenant;
};

struct leak {
	struct needle *needles; /* from 1 */
	size_t n, cap;
	uint32_t *heads; /* by ending */
	uint64_t *bits;
	unsigned log_heads;
	bool used[CLASSES];
	struct moment *moments;
	size_t n_moments, cap_moments;
	bool sorted;
	int64_t allowed[4];
	size_t n_allowed;
	struct text facts[FACTS_MAX];
	unsigned n_facts, last_fact;
	struct told *told; /* by tenant */
	size_t cap_told;
	uint64_t left_out;
	struct leak *folded; /* the same, as text_fold() has it; NULL: this is it */
	struct buf fold;     /* the text at hand */
	bool fold_ids;
};

static uint64_t mix(uint64_t v, unsigned class)
{
	v = (v + class) * UINT64_C(0x9E3779B97F4A7C15);
	v ^= v >> 32;
	return v * UINT64_C(0xD6E8FEB86659FD93);
}

static uint64_t tail_hash(const char *end, unsigned class)
{
	uint64_t v = 0;
	memcpy(&v, end - tails[class], tails[class]);
	return mix(v, class);
}

static unsigned class_of(size_t len)
{
	unsigned class = 0;
	while (tails[class] > len)
		class ++;
	return class;
}

int leak_open(struct leak **ret, struct err *err)
{
	struct leak *l = calloc(1, sizeof(*l));
	struct leak *folded = calloc(1, sizeof(*folded));
	if (!l || !folded) {
		free(l);
		free(folded);
		return err_nomem(err);
	}
	l->fold = (struct buf)BUF_INIT(2048 * MIB);
	l->folded = folded;
	*ret = l;
	return 0;
}

void leak_fold_ids(struct leak *l)
{
	l->fold_ids = true;
}

/* Without '-' at its ends, which any mark beside it may be. */
static int fold(struct leak *l, struct text t, struct text *ret, struct err *err)
{
	buf_clear(&l->fold);
	int rc = text_fold(t, true, &l->fold, err);
	struct text f = buf_text(&l->fold);
	while (f.len && *f.ptr == '-')
		f = text_from(f, 1);
	while (f.len && f.ptr[f.len - 1] == '-')
		f.len--;
	*ret = f;
	return rc;
}

void leak_free(struct leak *l)
{
	if (!l)
		return;
	free(l->needles);
	free(l->heads);
	free(l->bits);
	free(l->moments);
	for (unsigned i = 0; i < l->n_facts; i++)
		free((void *)(uintptr_t)l->facts[i].ptr);
	free(l->told);
	leak_free(l->folded);
	buf_done(&l->fold);
	free(l);
}

/* The bitmap has eight bits for a place of the table. */
static size_t bit_of(const struct leak *l, uint64_t tail)
{
	return (size_t)(tail >> (64 - l->log_heads - 3));
}

static uint32_t *head_of(const struct leak *l, uint64_t tail)
{
	return &l->heads[tail >> (64 - l->log_heads)];
}

static void hang(struct leak *l, uint32_t at)
{
	struct needle *n = &l->needles[at];
	size_t bit = bit_of(l, n->tail);
	uint32_t *head = head_of(l, n->tail);
	n->next = *head;
	*head = at;
	l->bits[bit / 64] |= UINT64_C(1) << bit % 64;
}

/* All hang again. */
static int grow_to(struct leak *l, size_t cap, struct err *err)
{
	struct needle *needles = cap < UINT32_MAX ? realloc(l->needles, cap * sizeof(*needles)) : NULL;
	if (!needles)
		return err_nomem(err);
	l->needles = needles;
	l->cap = cap;
	for (l->log_heads = 12; (size_t)1 << l->log_heads < cap; l->log_heads++)
		;
	free(l->heads);
	free(l->bits);
	l->heads = calloc((size_t)1 << l->log_heads, sizeof(*l->heads));
	l->bits = calloc((size_t)8 << l->log_heads, 1);
	if (!l->heads || !l->bits)
		return err_nomem(err);
	for (uint32_t i = 1; i <= l->n; i++)
		hang(l, i);
	return 0;
}

static int grow(struct leak *l, struct err *err)
{
	return grow_to(l, l->cap ? l->cap * 2 : 4096, err);
}

int leak_room(struct leak *l, size_t n, struct err *err)
{
	int rc = l->n + n + 2 > l->cap ? grow_to(l, l->n + n + 2, err) : 0;
	return !rc && l->fold_ids ? leak_room(l->folded, n, err) : rc;
}

/* Digits, and what may stand between them: 12.50 */
static bool is_number(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if ((t.ptr[i] < '0' || t.ptr[i] > '9') && !memchr("+,-./:%", t.ptr[i], 7))
			return false;
	return true;
}

static int add(struct leak *l, enum leak_kind kind, struct text t, uint32_t tenant, struct err *err)
{
	if (!t.len)
		return 0;
	if (t.len > UINT16_MAX || (t.len < SHORT_BYTES && is_number(t))) {
		l->left_out++;
		return 0;
	}
	unsigned class = class_of(t.len);
	struct needle n = {.hash = text_hash(t),
			   .tail = tail_hash(t.ptr + t.len, class),
			   .tenant = tenant,
			   .len = (uint16_t)t.len,
			   .kind = (uint8_t)kind,
			   .common = t.len < COMMON_BYTES};
	for (uint32_t i = l->n ? *head_of(l, n.tail) : 0; i; i = l->needles[i].next)
		if (l->needles[i].hash == n.hash && l->needles[i].len == n.len && l->needles[i].tenant == tenant)
			return 0;
	int rc = l->n + 2 > l->cap ? grow(l, err) : 0;
	if (rc)
		return rc;
	l->needles[++l->n] = n;
	hang(l, (uint32_t)l->n);
	l->used[class] = true;
	return 0;
}

int leak_add(struct leak *l, enum leak_kind kind, struct text t, uint32_t tenant, struct err *err)
{
	int rc = add(l, kind, t, tenant, err);
	if (rc || (kind == LEAK_REQUEST && !l->fold_ids))
		return rc;
	rc = fold(l, t, &t, err);
	return rc ? rc : add(l->folded, kind, t, tenant, err);
}

/* Its number; FACTS_MAX: there is no room. */
static int fact_number(struct leak *l, struct text t, unsigned *ret, struct err *err)
{
	for (*ret = 0; *ret < l->n_facts; ++*ret)
		if (text_eq(l->facts[*ret], t))
			return 0;
	if (l->n_facts == FACTS_MAX)
		return 0;
	char *copy = malloc(t.len);
	if (!copy)
		return err_nomem(err);
	memcpy(copy, t.ptr, t.len);
	l->facts[l->n_facts++] = (struct text){copy, t.len};
	return 0;
}

/* 1: it was not known before. */
static int add_fact(struct leak *l, struct text t, uint32_t tenant, struct err *err)
{
	if (!t.len || !tenant)
		return 0;
	/* mostly the last one again */
	unsigned fact = l->last_fact;
	int rc = l->n_facts && text_eq(l->facts[fact], t) ? 0 : fact_number(l, t, &fact, err);
	if (rc || fact == FACTS_MAX)
		return rc;
	l->last_fact = fact;
	if (tenant >= l->cap_told) {
		size_t cap = MAX((size_t)tenant + 1, l->cap_told * 2);
		struct told *more = realloc(l->told, cap * sizeof(*more));
		if (!more)
			return err_nomem(err);
		memset(more + l->cap_told, 0, (cap - l->cap_told) * sizeof(*more));
		l->told = more;
		l->cap_told = cap;
	}
	bool known = l->told[tenant].bits[fact / 64] >> fact % 64 & 1;
	l->told[tenant].bits[fact / 64] |= UINT64_C(1) << fact % 64;
	return !known;
}

int leak_add_fact(struct leak *l, struct text t, uint32_t tenant, struct err *err)
{
	int rc = add_fact(l, t, tenant, err);
	if (rc != 1)
		return rc;
	rc = fold(l, t, &t, err);
	return rc ? rc : MIN(add_fact(l->folded, t, tenant, err), 0);
}

int leak_add_time(struct leak *l, int64_t ns, uint32_t tenant, struct err *err)
{
	if (ns == TIME_UNKNOWN)
		return 0;
	if (l->n_moments && l->moments[l->n_moments - 1].ns == ns && l->moments[l->n_moments - 1].tenant == tenant)
		return 0;
	if (l->n_moments == l->cap_moments) {
		size_t cap = l->cap_moments ? l->cap_moments * 2 : 4096;
		struct moment *more = realloc(l->moments, cap * sizeof(*more));
		if (!more)
			return err_nomem(err);
		l->moments = more;
		l->cap_moments = cap;
	}
	l->moments[l->n_moments++] = (struct moment){ns, tenant};
	l->sorted = false;
	return 0;
}

void leak_allow_time(struct leak *l, int64_t ns)
{
	if (l->n_allowed < ARRAY_SIZE(l->allowed))
		l->allowed[l->n_allowed++] = ns;
}

uint64_t leak_names(const struct leak *l)
{
	return l->n + l->n_moments;
}

uint64_t leak_left_out(const struct leak *l)
{
	return l->left_out;
}

/* --- texts --- */

struct search {
	struct leak *l;
	uint32_t own;
	bool form;  /* what is found is common */
	bool value; /* and what is common counts */
	struct leak_hit *hit;
	int found;
};

static bool word_at(struct text t, size_t at)
{
	unsigned char c = (unsigned char)t.ptr[at];
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c >= 0x80;
}

static bool stands_alone(struct text t, size_t from, size_t end)
{
	return (!from || !word_at(t, from - 1)) && (end == t.len || !word_at(t, end));
}

/* The next needle that ends there, behind `after` in its chain (0: the first). */
static uint32_t match(const struct leak *l, struct text t, size_t end, unsigned class, uint32_t after)
{
	if (end < tails[class])
		return 0;
	uint64_t tail = tail_hash(t.ptr + end, class);
	size_t bit = bit_of(l, tail);
	if (!(l->bits[bit / 64] >> bit % 64 & 1))
		return 0;
	for (uint32_t i = after ? l->needles[after].next : *head_of(l, tail); i; i = l->needles[i].next) {
		const struct needle *n = &l->needles[i];
		if (n->tail != tail || n->left_out || n->len > end || class_of(n->len) != class)
			continue;
		if (text_hash(text_sub(t, end - n->len, n->len)) == n->hash &&
		    (n->len >= SHORT_BYTES || stands_alone(t, end - n->len, end)))
			return i;
	}
	return 0;
}

/* Does it lie inside of what the own tenant may be told? */
static bool in_fact(const struct search *s, struct text t, size_t from, size_t end)
{
	const struct leak *l = s->l;
	for (unsigned i = 0; s->own < l->cap_told && i < l->n_facts; i++) {
		struct text fact = l->facts[i];
		if (!(l->told[s->own].bits[i / 64] >> i % 64 & 1))
			continue;
		for (size_t at = end > fact.len ? end - fact.len : 0; at <= from && at + fact.len <= t.len; at++)
			if (text_eq(text_sub(t, at, fact.len), fact))
				return true;
	}
	return false;
}

/* Does it lie inside of a text of the own tenant? Names have NAME_MAX_BYTES at most. */
static bool in_own(const struct search *s, struct text t, size_t from, size_t end)
{
	const struct leak *l = s->l;
	if (in_fact(s, t, from, end))
		return true;
	for (size_t e = end; s->own && e <= t.len && e - from <= NAME_MAX_BYTES; e++)
		for (unsigned class = 0; class < CLASSES; class ++)
			for (uint32_t i = l->used[class] ? match(l, t, e, class, 0) : 0; i;
			     i = match(l, t, e, class, i))
				if (l->needles[i].tenant == s->own && e - l->needles[i].len <= from)
					return true;
	return false;
}

/* 2026-09-09T14:00:00.250Z, with a blank of any kind in place of T: how many bytes it has; 0: there is none. */
static size_t stamp_at(struct text t, size_t at, int64_t *ns)
{
	char tmp[48];
	struct stamp stamp;
	size_t used, n = 0, blanks = 0;
	for (size_t i = at; i < t.len && n < sizeof(tmp); i++) {
		bool blank = t.ptr[i] == '\xC2' && i + 1 < t.len && t.ptr[i + 1] == '\xA0';
		tmp[n++] = blank ? ' ' : t.ptr[i];
		i += blank;
		blanks += blank && n == 11;
	}
	if (!stamp_parse_iso((struct text){tmp, n}, &stamp, &used))
		return 0;
	*ns = stamp.ns;
	return used + blanks;
}

/* A name such as "2026-09-01" says nothing where it is part of a time: times are looked up by themselves. */
static bool in_stamp(struct text t, size_t from, size_t end)
{
	enum { STAMP_MAX = 36 };
	int64_t ns;
	for (size_t at = end > STAMP_MAX ? end - STAMP_MAX : 0; at <= from; at++)
		if (t.ptr[at] >= '0' && t.ptr[at] <= '9' && (!at || !word_at(t, at - 1)) &&
		    at + stamp_at(t, at, &ns) >= end)
			return true;
	return false;
}

/* It tells nothing of another. Also where the text is escaped, as the forms do it: one in the other, twice at most. */
static bool is_nothing(const struct search *s, struct text t, size_t from, size_t end, int depth)
{
	enum { AROUND = 2 * NAME_MAX_BYTES, DEPTH = 2 };
	if ((s->own && in_own(s, t, from, end)) || in_stamp(t, from, end))
		return true;
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * KIB);
	size_t first = from > AROUND ? from - AROUND : 0, last = MIN(t.len, end + AROUND);
	struct err none = {0};
	for (unsigned way = 0; depth < DEPTH && way < LEAK_WAYS; way++) {
		size_t at = from - first, to = end - first;
		buf_clear(&b);
		if (leak_spelling(text_sub(t, first, last - first), way, &at, &to, &b, &none) == 1 &&
		    is_nothing(s, buf_text(&b), at, to, depth + 1))
			return true;
	}
	return false;
}

static void found(struct search *s, enum leak_kind kind, uint32_t tenant, struct text t)
{
	*s->hit = (struct leak_hit){.kind = kind, .tenant = tenant, .found = {s->hit->room, 0}};
	s->hit->found.len = MIN(t.len, sizeof(s->hit->room));
	memcpy(s->hit->room, t.ptr, s->hit->found.len);
	s->found = 1;
}

static void look_for_texts(struct search *s, struct text t, bool base64)
{
	struct leak *l = s->l;
	for (size_t end = 1; l->n && !s->found && end <= t.len; end++)
		for (unsigned class = 0; class < CLASSES && !s->found; class ++) {
			for (uint32_t i = l->used[class] ? match(l, t, end, class, 0) : 0; i && !s->found;
			     i = match(l, t, end, class, i)) {
				struct needle *n = &l->needles[i];
				size_t from = end - n->len;
				n->common |= s->form;
				/* three bytes come out of Base64 by chance */
				if (s->form || (n->common && !s->value) || (n->tenant == s->own && n->tenant) ||
				    (base64 && n->len < COMMON_BYTES))
					continue;
				if (!is_nothing(s, t, from, end, 0))
					found(s, n->kind, n->tenant, text_sub(t, from, n->len));
			}
		}
}

/* --- times --- */

static int moment_cmp(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (x->tenant > y->tenant) - (x->tenant < y->tenant);
}

static size_t first_from(const struct leak *l, int64_t ns)
{
	size_t low = 0, high = l->n_moments;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (l->moments[mid].ns < ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* A time of another, of which no own time, which may have been rounded to its second, is within one. */
static void look_up_time(struct search *s, int64_t ns, struct text t)
{
	const struct leak *l = s->l;
	uint32_t tenant = 0;
	bool there = false;
	if (ns % (3600 * NS_PER_S) == 0)
		return;
	for (size_t i = 0; i < l->n_allowed; i++)
		if (ns == l->allowed[i] || ns == l->allowed[i] - l->allowed[i] % NS_PER_S)
			return;
	for (size_t i = first_from(l, ns); i < l->n_moments && l->moments[i].ns == ns; i++) {
		there = true;
		tenant = l->moments[i].tenant;
	}
	if (!there)
		return;
	for (size_t i = first_from(l, ns - NS_PER_S); i < l->n_moments && l->moments[i].ns < ns + NS_PER_S; i++)
		if (s->own && l->moments[i].tenant == s->own)
			return;
	found(s, LEAK_TIME, tenant, t);
}

static void look_at_stamp(struct search *s, struct text t, size_t at)
{
	int64_t ns;
	size_t used = stamp_at(t, at, &ns);
	if (used)
		look_up_time(s, ns, text_sub(t, at, used));
}

static void look_for_times(struct search *s, struct text t)
{
	for (size_t i = 0; !s->found && i < t.len; i++) {
		if (t.ptr[i] < '0' || t.ptr[i] > '9')
			continue;
		size_t end = i;
		while (end < t.len && t.ptr[end] >= '0' && t.ptr[end] <= '9')
			end++;
		size_t n = end - i;
		int64_t v;
		if (n == 4 && end < t.len && t.ptr[end] == '-')
			look_at_stamp(s, t, i);
		else if ((n == 13 || n == 16 || n == 19) && text_int64(text_sub(t, i, n), &v) &&
			 !__builtin_mul_overflow(v,
						 n == 13   ? 1000000
						 : n == 16 ? 1000
							   : 1,
						 &v) &&
			 !(s->own && in_own(s, t, i, end)))
			look_up_time(s, v, text_sub(t, i, n));
		i = end;
	}
}

static int look(void *ctx, struct text view, bool base64)
{
	struct search *s = ctx;
	look_for_texts(s, view, base64);
	if (!s->value && !s->found)
		look_for_times(s, view);
	return s->found;
}

int leak_search_value(struct leak *l, struct text value, uint32_t own, struct leak_hit *ret, struct err *err)
{
	struct search s = {.l = l, .own = own, .value = true, .hit = ret};
	int rc = leak_views(value, look, &s, err);
	return s.found ? 1 : rc;
}

int leak_search(struct leak *l, struct text bytes, uint32_t own, struct leak_hit *ret, struct err *err)
{
	struct search s = {.l = l, .own = own, .hit = ret};
	if (!l->sorted && l->n_moments)
		qsort(l->moments, l->n_moments, sizeof(*l->moments), moment_cmp);
	l->sorted = true;
	int rc = leak_views(bytes, look, &s, err);
	return s.found ? 1 : rc;
}

/* --- people's words --- */

struct words {
	struct leak *l;
	const char *reference;
	struct search s;
	struct err *err;
};

/* t-aaaa-bbbb-cccc-dddd, in base 32 */
static bool pseudonym_at(struct text t, size_t at)
{
	enum { LEN = PSEUDONYM_SIZE - 1 };
	if (at + LEN > t.len || !stands_alone(t, at, at + LEN))
		return false;
	for (size_t i = 0; i < LEN; i++) {
		char c = t.ptr[at + i];
		if (i % 5 == 1 ? c != '-' : i ? !((c >= 'a' && c <= 'z') || (c >= '2' && c <= '7')) : c != 't')
			return false;
	}
	return true;
}

static int look_for_pseudonyms(struct words *w, struct text view)
{
	buf_clear(&w->l->fold);
	int rc = text_fold(view, false, &w->l->fold, w->err);
	struct text t = buf_text(&w->l->fold);
	for (size_t i = 0; !rc && !w->s.found && i < t.len; i++) {
		struct text one = text_sub(t, i, PSEUDONYM_SIZE - 1);
		if (t.ptr[i] == 't' && pseudonym_at(t, i) &&
		    !(w->reference && !strncasecmp(one.ptr, w->reference, one.len)))
			found(&w->s, LEAK_PSEUDONYM, 0, one);
	}
	return rc;
}

static int look_at_words(void *ctx, struct text view, bool base64)
{
	struct words *w = ctx;
	struct text folded;
	if (base64)
		return 0;
	int rc = look_for_pseudonyms(w, view);
	if (rc || w->s.found)
		return rc ? rc : 1;
	rc = fold(w->l, view, &folded, w->err);
	if (!rc)
		look_for_texts(&w->s, folded, false);
	return rc ? rc : w->s.found;
}

int leak_search_words(struct leak *l, struct text words, uint32_t own, const char *reference, struct leak_hit *ret,
		      struct err *err)
{
	int rc = leak_search_value(l, words, own, ret, err);
	struct words w = {.l = l, .reference = reference, .s = {.l = l->folded, .own = own, .hit = ret}, .err = err};
	if (!rc)
		rc = leak_views(words, look_at_words, &w, err);
	return w.s.found ? 1 : rc;
}

static void make_common(struct leak *l, struct text form)
{
	struct leak_hit none;
	struct search s = {.l = l, .form = true, .hit = &none};
	look_for_texts(&s, form, false);
}

int leak_common(struct leak *l, struct text form, struct err *err)
{
	struct text folded;
	make_common(l, form);
	int rc = fold(l, form, &folded, err);
	if (!rc)
		make_common(l->folded, folded);
	return rc;
}

static bool waive(struct leak *l, struct text name)
{
	unsigned class = name.len ? class_of(name.len) : 0;
	uint64_t tail = name.len ? tail_hash(name.ptr + name.len, class) : 0, hash = text_hash(name);
	bool there = false;
	for (uint32_t i = l->n && name.len ? *head_of(l, tail) : 0; i; i = l->needles[i].next) {
		struct needle *n = &l->needles[i];
		if (n->tail != tail || n->hash != hash || n->len != name.len || n->kind != LEAK_TENANT)
			continue;
		l->left_out += !n->left_out;
		n->left_out = there = true;
	}
	return there;
}

bool leak_waive(struct leak *l, struct text name)
{
	struct text folded;
	struct err none = {0};
	bool there = waive(l, name);
	if (there && !fold(l, name, &folded, &none))
		(void)waive(l->folded, folded);
	return there;
}
