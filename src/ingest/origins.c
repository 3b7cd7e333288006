/* SPDX-License-Identifier: Apache-2.0 */
/* origins.c - the origins in one wrapped source: what each was in the middle of
 *
 * Records of one origin mostly follow each other, so the last one is looked at first. The table is open-addressed and twice
 * as large as it may be full; taking one out builds it anew.
 */
#include "origins.h"

#include <stdlib.h>
#include <string.h>

#include "worker.h"

enum { SLOTS = 2 * ORIGINS_MAX };

enum { HOST, UNIT, POD, CONTAINER, STREAM };

int spans_add(struct spans *s, uint64_t off, uint64_t len, struct err *err)
{
	if (!len)
		return 0;
	if (s->n && s->at[s->n - 1].off + s->at[s->n - 1].len == off) {
		s->at[s->n - 1].len += len;
		return 0;
	}
	if (s->n == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 4;
		struct span *grown = reallocarray(s->at, cap, sizeof(*grown));
		if (!grown)
			return err_nomem(err);
		s->at = grown;
		s->cap = cap;
	}
	s->at[s->n++] = (struct span){off, len};
	return 0;
}

/* --- keys --- */

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

static uint64_t hash_facts(const struct text *fact, unsigned from, unsigned to, uint64_t seed)
{
	for (unsigned i = from; i < to; i++)
		seed = mix(seed, fact[i].len ? text_hash(fact[i]) : i);
	return seed;
}

static void origin_facts(const struct origin *parent, const struct wrapped *piece, struct text fact[ORIGIN_FACTS])
{
	const struct text own[ORIGIN_FACTS] = {piece->host, piece->unit, piece->pod, piece->container, piece->stream};
	for (unsigned i = 0; i < ORIGIN_FACTS; i++) {
		fact[i] = own[i].len || !parent ? own[i] : parent->fact[i];
		fact[i].len = MIN(fact[i].len, NAME_MAX_BYTES);
	}
}

static bool same_facts(const struct origin *s, unsigned depth, const struct text *fact)
{
	if (s->depth != depth)
		return false;
	for (unsigned i = 0; i < ORIGIN_FACTS; i++)
		if (!text_eq(s->fact[i], fact[i]))
			return false;
	return true;
}

/* --- one --- */

static void parse_forget(struct origin_parse *sp, struct formats *f)
{
	for (size_t i = 0; sp->state && i < f->n; i++) {
		struct parse *p = f->open[i];
		void *state = sp->state[i].state;
		if (!state)
			continue;
		if (p && p->parser->close) {
			void *home = p->state;
			p->state = state;
			p->parser->close(p);
			p->state = home;
		}
		free(state);
	}
	free(sp->state);
	sp->state = NULL;
}

static void origin_free(struct origin *s, struct formats *f)
{
	if (!s)
		return;
	parse_forget(&s->parse, f);
	buf_done(&s->names);
	buf_done(&s->join);
	free(s->spans.at);
	free(s);
}

static int keep_facts(struct origin *s, const struct text *fact, struct err *err)
{
	size_t at[ORIGIN_FACTS];
	int rc = 0;
	for (unsigned i = 0; i < ORIGIN_FACTS && rc == 0; i++) {
		at[i] = s->names.len;
		rc = buf_add_text(&s->names, fact[i], err);
	}
	size_t worker = s->names.len;
	if (rc == 0)
		rc = worker_of_facts(&s->names, fact[HOST], fact[UNIT], fact[POD], fact[CONTAINER], err);
	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < ORIGIN_FACTS; i++)
		s->fact[i] = (struct text){s->names.ptr ? s->names.ptr + at[i] : "", fact[i].len};
	s->worker = (struct text){s->names.ptr ? s->names.ptr + worker : "", s->names.len - worker};
	return 0;
}

static int origin_new(struct origin **ret, unsigned depth, uint64_t key, const struct text *fact, struct err *err)
{
	struct origin *s = calloc(1, sizeof(*s));
	if (!s)
		return err_nomem(err);
	s->depth = depth;
	s->key = key;
	s->place = hash_facts(fact, HOST, STREAM, 0);
	const struct text role = fact[CONTAINER].len ? fact[CONTAINER] : fact[UNIT];
	s->role = role.len ? text_hash(role) | 1 : 0;
	s->names = BUF_INIT(8 * NAME_MAX_BYTES);
	s->join = BUF_INIT(RECORD_MAX_BYTES + 4 * KIB);
	s->parse.known = STAMP_INIT;
	int rc = keep_facts(s, fact, err);
	if (rc < 0) {
		buf_done(&s->names);
		free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

/* --- all of them --- */

int origins_open(struct origins **ret, struct err *err)
{
	struct origins *s = calloc(1, sizeof(*s));
	if (s) {
		s->at = calloc(ORIGINS_MAX, sizeof(*s->at));
		s->slot = calloc(SLOTS, sizeof(*s->slot));
	}
	if (!s || !s->at || !s->slot) {
		origins_close(s, NULL);
		return err_nomem(err);
	}
	*ret = s;
	return 0;
}

void origins_close(struct origins *s, struct formats *f)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		origin_free(s->at[i], f);
	free(s->at);
	free(s->slot);
	free(s);
}

static void put_slot(struct origins *s, struct origin *one)
{
	size_t at = one->key % SLOTS;
	while (s->slot[at])
		at = (at + 1) % SLOTS;
	s->slot[at] = one;
}

void origins_forget(struct origins *s, struct origin *old, struct formats *f)
{
	size_t i = 0;
	while (i < s->n && s->at[i] != old)
		i++;
	if (i == s->n)
		return;
	s->at[i] = s->at[--s->n];
	if (s->last[old->depth] == old)
		s->last[old->depth] = NULL;
	s->joined -= MIN(s->joined, old->join.len);
	origin_free(old, f);
	memset(s->slot, 0, SLOTS * sizeof(*s->slot));
	for (i = 0; i < s->n; i++)
		put_slot(s, s->at[i]);
}

static struct origin *find(const struct origins *s, unsigned depth, uint64_t key, const struct text *fact)
{
	for (size_t at = key % SLOTS; s->slot[at]; at = (at + 1) % SLOTS)
		if (s->slot[at]->key == key && same_facts(s->slot[at], depth, fact))
			return s->slot[at];
	return NULL;
}

static struct origin *longest_silent(const struct origins *s)
{
	struct origin *old = NULL;
	for (size_t i = 0; i < s->n; i++)
		if (!s->at[i]->busy && (!old || s->at[i]->turn < old->turn))
			old = s->at[i];
	return old;
}

static int get(struct origins *s, unsigned depth, const struct text *fact, struct origin **ret, struct origin **ret_old,
	       struct err *err)
{
	struct origin *one = s->last[depth];
	*ret_old = NULL;
	if (!one || !same_facts(one, depth, fact)) {
		uint64_t key = hash_facts(fact, HOST, ORIGIN_FACTS, depth);
		one = find(s, depth, key, fact);
		if (!one && s->n == ORIGINS_MAX) {
			*ret_old = longest_silent(s);
			return 0;
		}
		if (!one) {
			int rc = origin_new(&one, depth, key, fact, err);
			if (rc < 0)
				return rc;
			s->at[s->n++] = one;
			put_slot(s, one);
		}
		s->last[depth] = one;
	}
	one->turn = ++s->turn;
	*ret = one;
	return 0;
}

int origins_get(struct origins *s, unsigned depth, const struct origin *parent, const struct wrapped *piece,
		struct origin **ret, struct origin **ret_old, struct err *err)
{
	struct text fact[ORIGIN_FACTS];
	origin_facts(parent, piece, fact);
	return get(s, depth, fact, ret, ret_old, err);
}

int origins_place(struct origins *s, const struct origin *of, struct origin **ret, struct origin **ret_old,
		  struct err *err)
{
	struct text fact[ORIGIN_FACTS];
	memcpy(fact, of->fact, sizeof(fact));
	fact[STREAM] = TEXT("");
	return get(s, of->depth + 1, fact, ret, ret_old, err);
}
