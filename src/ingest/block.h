/* SPDX-License-Identifier: Apache-2.0 */
/* block.h - the bytes of one source as blocks that are read and hashed ahead
 *
 * A block is one evidence chunk. It has room in front of its data, where the parsing thread puts the end of the block
 * before, so that a record over the border is in one piece, and BUF_PADDING readable bytes behind. Blocks are counted
 * references: the evidence encoder reads data while records are cut from it. With threads, blocks_open() starts one
 * reader thread that owns the struct source until blocks_close().
 */
#pragma once

#include "pagetrail/limits.h"
#include "source.h"

#define BLOCK_BYTES    EVIDENCE_CHUNK_BYTES
#define BLOCK_HEADROOM (64 * KIB)

struct block {
	char *data; /* BLOCK_HEADROOM writable bytes before it, BUF_PADDING readable behind len */
	size_t len;
	uint64_t off;
	/* private */
	struct block *next;
	struct block_pool *pool;
	int refs;
};

struct block_pool; /* blocks that are used again and again */
int block_pool_open(struct block_pool **ret, unsigned max_blocks, bool threaded, struct err *err) MUST_CHECK;
void block_pool_close(struct block_pool *p); /* all blocks are back; accepts NULL */
void block_keep(struct block *b);            /* one more reference */
void block_put(struct block *b);             /* any thread; accepts NULL */

struct blocks;
/* The member at hand of s. */
int blocks_open(struct blocks **ret, struct block_pool *pool, struct source *s, bool plain, struct err *err) MUST_CHECK;
/* 1 a block (the caller's reference), 0 the end. */
int blocks_next(struct blocks *b, struct block **ret, struct err *err) MUST_CHECK;
/* The block with this number, 0 the one that comes next; it stays in line: 1, or 0 the source ends before it. */
int blocks_ahead(struct blocks *b, unsigned n, const struct block **ret, struct err *err) MUST_CHECK;
/* After the end: digest of the bytes; false for a plain file, whose digest is that of the stored file. */
bool blocks_digest(struct blocks *b, unsigned char sha256[SHA256_BYTES]);
void blocks_close(struct blocks *b); /* stops the reader; accepts NULL */
