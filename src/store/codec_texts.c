/* SPDX-License-Identifier: Apache-2.0 */
/* codec_texts.c - a set of texts, numbered by first use
 *
 * A search gives up after PROBES_MAX steps: texts that collide on purpose are numbered twice, nothing gets slow.
 */
#include <stdlib.h>

#include "codec_texts.h"
#include "pack.h"

int texts_open(struct texts *t, uint32_t slots, struct err *err)
{
	*t = (struct texts){.mask = slots - 1, .cap = slots / 2};
	t->slot = calloc(slots, sizeof(*t->slot));
	t->entry = malloc(t->cap * sizeof(*t->entry));
	t->hash = malloc(t->cap * sizeof(*t->hash));
	return t->slot && t->entry && t->hash ? 0 : err_nomem(err);
}

void texts_close(struct texts *t)
{
	free(t->slot);
	free(t->entry);
	free(t->hash);
}

bool texts_find(const struct texts *t, struct text v, uint32_t *ret)
{
	uint32_t hash = (uint32_t)hash_bytes(v.ptr, v.len), at = hash & t->mask;
	for (unsigned probes = 0; t->slot[at] && probes < PROBES_MAX; at = (at + 1) & t->mask, probes++) {
		*ret = t->slot[at] - 1;
		if (t->hash[*ret] == hash && text_eq(t->entry[*ret], v))
			return true;
	}
	return false;
}

static int texts_grow(struct texts *t, struct err *err)
{
	uint32_t slots = 2 * (t->mask + 1);
	uint32_t *slot = calloc(slots, sizeof(*slot));
	struct text *entry = realloc(t->entry, slots / 2 * sizeof(*entry));
	if (entry)
		t->entry = entry;
	uint32_t *hash = realloc(t->hash, slots / 2 * sizeof(*hash));
	if (hash)
		t->hash = hash;
	if (!slot || !entry || !hash) {
		free(slot);
		return err_nomem(err);
	}
	free(t->slot);
	t->slot = slot;
	t->mask = slots - 1;
	t->cap = slots / 2;
	for (uint32_t e = 0; e < t->n; e++) {
		uint32_t at = t->hash[e] & t->mask, probes = 0;
		for (; slot[at] && probes < PROBES_MAX; probes++)
			at = (at + 1) & t->mask;
		if (!slot[at])
			slot[at] = e + 1;
	}
	return 0;
}

int texts_put(struct texts *t, struct text v, uint32_t *ret, bool *ret_added, struct err *err)
{
	uint32_t hash = (uint32_t)hash_bytes(v.ptr, v.len), at = hash & t->mask, probes = 0;
	for (; t->slot[at] && probes < PROBES_MAX; at = (at + 1) & t->mask, probes++) {
		uint32_t e = t->slot[at] - 1;
		if (t->hash[e] == hash && t->entry[e].len == v.len && !memcmp(t->entry[e].ptr, v.ptr, v.len)) {
			*ret = e;
			*ret_added = false;
			return 0;
		}
	}
	if (probes < PROBES_MAX)
		t->slot[at] = t->n + 1;
	t->entry[t->n] = v;
	t->hash[t->n] = hash;
	*ret = t->n++;
	*ret_added = true;
	return t->n == t->cap ? texts_grow(t, err) : 0;
}
