/* SPDX-License-Identifier: Apache-2.0 */
/* row_names_read.c - the index of names is asked: the block where a hash would be, and those before it that end with it */
#include "row_names.h"

#include <stdlib.h>

#include "store.h"

static int damaged(const char *what, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "index of names: %s", what);
}

int name_block_open(struct name_block *b, int64_t key, struct text data, struct err *err)
{
	const unsigned char *p = (const unsigned char *)data.ptr;
	if (key < 0 || data.len < NAMES_HEAD_BYTES || data.len > NAMES_BLOCK_MAX_BYTES)
		return damaged("length of a block", err);
	*b = (struct name_block){.print_bits = p[0],
				 .group_bits = p[1],
				 .left = (uint32_t)p[2] << 8 | p[3],
				 .bytes = p + NAMES_HEAD_BYTES,
				 .end = 8 * (uint64_t)(data.len - NAMES_HEAD_BYTES)};
	if (!b->print_bits || b->print_bits > NAMES_PRINT_BITS_MAX || !b->group_bits ||
	    b->group_bits > NAMES_GROUP_BITS_MAX || b->left > NAMES_BLOCK_ENTRIES)
		return damaged("head of a block", err);
	b->print = (uint64_t)key >> NAMES_KEY_PART_BITS >> (NAMES_PRINT_BITS_MAX - b->print_bits);
	return b->print >> b->print_bits ? damaged("number of a block", err) : 0;
}

/* Up to 32 bits, the lowest first; the caller has seen that they are there. */
static uint64_t take_bits(struct name_block *b, unsigned n)
{
	uint64_t v = 0;
	unsigned have = 0;
	while (have < n) {
		unsigned skip = b->at % 8, use = MIN(8 - skip, n - have);
		v |= (uint64_t)(b->bytes[b->at / 8] >> skip & ((1u << use) - 1)) << have;
		have += use;
		b->at += use;
	}
	return v;
}

int name_block_next(struct name_block *b, uint64_t *group, struct err *err)
{
	uint64_t gap = 0;
	if (!b->left)
		return 0;
	while (b->at < b->end && take_bits(b, 1))
		gap++;
	if (b->end - b->at < NAMES_GAP_BITS + b->group_bits)
		return damaged("a block is cut", err);
	gap = gap << NAMES_GAP_BITS | take_bits(b, NAMES_GAP_BITS);
	*group = take_bits(b, b->group_bits);
	b->print += gap;
	if (b->print >> b->print_bits)
		return damaged("a block goes on too far", err);
	b->left--;
	return 1;
}

/* --- looking up --- */

struct name_finder {
	struct case_file *c;
	struct sql *blocks;
};

int name_finder_new(struct name_finder **ret, struct case_file *c, struct err *err)
{
	struct name_finder *f = calloc(1, sizeof(*f));
	if (!f)
		return err_nomem(err);
	f->c = c;
	*ret = f;
	return 0;
}

void name_finder_free(struct name_finder *f)
{
	if (!f)
		return;
	sql_end(f->blocks);
	free(f);
}

/* 1: the blocks before it may have the hash, too. */
static int find_in_block(struct sql *s, uint64_t hash, void (*found)(void *ctx, int64_t from, int64_t to), void *ctx,
			 struct err *err)
{
	struct name_block b;
	uint64_t group;
	int r = name_block_open(&b, sql_get_int(s, 0), sql_get_text(s, 1), err);
	if (r)
		return r;
	uint64_t want = hash >> (64 - b.print_bits);
	bool more = b.print >= want && sql_get_int(s, 0) > 0;
	while ((r = name_block_next(&b, &group, err)) == 1 && b.print <= want)
		if (b.print == want)
			found(ctx, (int64_t)(group * NAMES_REQUESTS) + 1, (int64_t)(group + 1) * NAMES_REQUESTS);
	return r < 0 ? r : more;
}

int name_finder_find(struct name_finder *f, uint64_t hash, void (*found)(void *ctx, int64_t from, int64_t to),
		     void *ctx, struct err *err)
{
	int64_t upto = (int64_t)(hash >> (64 - NAMES_PRINT_BITS_MAX) << NAMES_KEY_PART_BITS |
				 ((UINT64_C(1) << NAMES_KEY_PART_BITS) - 1));
	unsigned n = 0;
	int r = f->blocks
		    ? 0
		    : sql_prepare(&f->blocks, f->c,
				  "SELECT block, data FROM main.name_block WHERE block <= ?1 ORDER BY block DESC", err);
	if (!r)
		r = sql_int(f->blocks, 1, upto, err);
	for (bool more = !r; more; n++) {
		r = sql_step(f->blocks, err);
		if (r == 1)
			r = find_in_block(f->blocks, hash, found, ctx, err);
		else if (!r && !n)
			r = damaged("it is not there", err);
		more = r == 1;
	}
	if (f->blocks)
		sql_reset(f->blocks);
	return MIN(r, 0);
}
