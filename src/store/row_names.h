/* SPDX-License-Identifier: Apache-2.0 */
/* row_names.h - private to the store: which requests may have a text as their name or as one of their ids
 *
 * A few bits of the hash of each text, sorted, each with the thousand of requests that has it: in blocks of a few hundred, rows of
 * name_block, so that a look-up reads one of them. What the bits cannot tell apart is decided by the rows themselves. Byte
 * form: docs/store-format.md.
 */
#pragma once

#include "pack.h"
#include "pagetrail/row_tables.h"

enum {
	NAMES_REQUESTS = 1024,     /* that share an entry */
	NAMES_GROUP_BITS_MAX = 24, /* number of such a thousand */
	NAMES_PRINT_BITS_MAX = 38, /* of a hash */
	NAMES_BLOCK_ENTRIES = 256,
	NAMES_HEAD_BYTES = 4,
	NAMES_BLOCK_MAX_BYTES = 4096,
	NAMES_GAP_BITS = 3,      /* of a gap that are not unary */
	NAMES_KEY_PART_BITS = 24 /* of a block's number: which of those that begin with one print */
};

/* Hash and thousand of requests: print << NAMES_GROUP_BITS_MAX | group. */
uint64_t row_names_key(uint64_t hash, int64_t request);
/* Entries come in ascending order of their groups, as far as they are of one table. */
int row_names_add(struct row_names *x, const uint64_t *keys, uint32_t n, struct err *err) MUST_CHECK;

/* --- one block --- */

struct name_block {
	unsigned print_bits, group_bits;
	uint32_t left; /* entries */
	const unsigned char *bytes;
	uint64_t at, end; /* bits of bytes */
	uint64_t print;   /* of the entry before */
};
/* key: number of the block. ERR_DAMAGED, as below. */
int name_block_open(struct name_block *b, int64_t key, struct text data, struct err *err) MUST_CHECK;
/* 1: the next entry, in b->print and *group; 0: there is none. */
int name_block_next(struct name_block *b, uint64_t *group, struct err *err) MUST_CHECK;

struct name_finder;
int name_finder_new(struct name_finder **ret, struct case_file *c, struct err *err) MUST_CHECK;
void name_finder_free(struct name_finder *f); /* accepts NULL */
/* Calls found() for each thousand of requests that may have a text with this hash, in any order, some twice. ERR_DAMAGED when there is
 * no index. */
int name_finder_find(struct name_finder *f, uint64_t hash, void (*found)(void *ctx, int64_t from, int64_t to),
		     void *ctx, struct err *err) MUST_CHECK;
