/* SPDX-License-Identifier: Apache-2.0 */
/* block.c - the bytes of one source as blocks that are read and hashed ahead
 *
 * Locks: the pool's, over its free list and over the list of read blocks of the one struct blocks that is open. A
 * reader that finds no free block waits; blocks come back from encoder threads, so it never waits for itself. Without
 * threads a block is made when none is free.
 */
#include "block.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "pagetrail/buf.h"

struct block_pool {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct block *free;
	unsigned n_blocks, max_blocks;
	bool threaded;
};

struct blocks {
	struct block_pool *pool;
	struct source *source;
	struct sha256 *sha; /* NULL for a plain file */
	unsigned char digest[SHA256_BYTES];
	bool has_digest;
	uint64_t off;
	bool threaded, cancel, ended; /* ended: nothing comes behind `first` */
	pthread_t thread;
	struct block *first, *last;
	unsigned lent; /* blocks that the pool may have more of while these are looked at */
	int rc;        /* of the reader thread, valid once it has ended */
	struct err err;
};

int block_pool_open(struct block_pool **ret, unsigned max_blocks, bool threaded, struct err *err)
{
	struct block_pool *p = calloc(1, sizeof(*p));
	if (!p)
		return err_nomem(err);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	p->max_blocks = max_blocks;
	p->threaded = threaded;
	*ret = p;
	return 0;
}

void block_pool_close(struct block_pool *p)
{
	if (!p)
		return;
	while (p->free) {
		struct block *b = p->free;
		p->free = b->next;
		free(b);
	}
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

void block_keep(struct block *b)
{
	pthread_mutex_lock(&b->pool->lock);
	b->refs++;
	pthread_mutex_unlock(&b->pool->lock);
}

void block_put(struct block *b)
{
	if (!b)
		return;
	struct block_pool *p = b->pool;
	pthread_mutex_lock(&p->lock);
	if (--b->refs == 0 && p->threaded && p->n_blocks > p->max_blocks) { /* it was lent */
		p->n_blocks--;
		free(b);
	} else if (b->refs == 0) {
		b->next = p->free;
		p->free = b;
		pthread_cond_broadcast(&p->changed);
	}
	pthread_mutex_unlock(&p->lock);
}

/* NULL: out of memory, or cancelled while it waited. */
static struct block *block_get(struct block_pool *p, const bool *cancel)
{
	pthread_mutex_lock(&p->lock);
	while (!p->free && p->threaded && p->n_blocks >= p->max_blocks && !*cancel)
		pthread_cond_wait(&p->changed, &p->lock);
	struct block *b = p->free;
	if (b) {
		p->free = b->next;
	} else if (!*cancel) {
		b = malloc(sizeof(*b) + BLOCK_HEADROOM + BLOCK_BYTES + BUF_PADDING);
		if (b) {
			b->data = (char *)(b + 1) + BLOCK_HEADROOM;
			for (size_t i = 0; i < BUF_PADDING; i++)
				b->data[BLOCK_BYTES + i] = 0;
			b->pool = p;
			p->n_blocks++;
		}
	}
	if (b) {
		b->refs = 1;
		b->next = NULL;
	}
	pthread_mutex_unlock(&p->lock);
	return b;
}

/* Reads and hashes one block: 1, or 0 at the end. */
static int read_block(struct blocks *bs, struct block **ret, struct err *err)
{
	struct block *b = block_get(bs->pool, &bs->cancel);
	if (!b)
		return bs->cancel ? 0 : err_nomem(err);
	int rc = source_read(bs->source, b->data, BLOCK_BYTES, &b->len, err);
	if (rc == 0 && bs->sha && b->len)
		rc = sha256_add(bs->sha, b->data, b->len, err);
	if (rc == 0 && bs->sha && b->len < BLOCK_BYTES) {
		struct sha256 *sha = bs->sha;
		bs->sha = NULL;
		rc = sha256_end(sha, bs->digest, err);
		bs->has_digest = rc == 0;
	}
	if (rc < 0 || !b->len) {
		block_put(b);
		return rc;
	}
	b->off = bs->off;
	bs->off += b->len;
	*ret = b;
	return 1;
}

static void *reader(void *arg)
{
	struct blocks *bs = arg;
	for (;;) {
		struct block *b = NULL;
		int rc = read_block(bs, &b, &bs->err);
		pthread_mutex_lock(&bs->pool->lock);
		if (rc == 1) {
			if (bs->last)
				bs->last->next = b;
			else
				bs->first = b;
			bs->last = b;
		}
		bool over = rc != 1 || bs->cancel;
		if (over) {
			bs->rc = rc < 0 ? rc : 0;
			bs->ended = true;
		}
		pthread_cond_broadcast(&bs->pool->changed);
		pthread_mutex_unlock(&bs->pool->lock);
		if (over)
			return NULL;
	}
}

int blocks_open(struct blocks **ret, struct block_pool *pool, struct source *s, bool plain, struct err *err)
{
	struct blocks *bs = calloc(1, sizeof(*bs));
	if (!bs)
		return err_nomem(err);
	bs->pool = pool;
	bs->source = s;
	int rc = plain ? 0 : sha256_new(&bs->sha, err);
	if (rc < 0) {
		free(bs);
		return rc;
	}
	if (pool->threaded) {
		sigset_t all, before; /* signals are for the calling thread */
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		bs->threaded = pthread_create(&bs->thread, NULL, reader, bs) == 0;
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		/* without its thread it reads when it is asked */
	}
	*ret = bs;
	return 0;
}

/* One more at the end of the line: 1, or 0 at the end. Without a thread. */
static int line_up(struct blocks *bs, struct err *err)
{
	struct block *b = NULL;
	if (bs->ended)
		return 0;
	int rc = read_block(bs, &b, err);
	bs->ended = rc != 1 || b->len < BLOCK_BYTES;
	if (rc == 1) {
		*(bs->last ? &bs->last->next : &bs->first) = b;
		bs->last = b;
	}
	return rc;
}

static struct block *in_line(const struct blocks *bs, unsigned n)
{
	struct block *b = bs->first;
	while (b && n--)
		b = b->next;
	return b;
}

int blocks_ahead(struct blocks *bs, unsigned n, const struct block **ret, struct err *err)
{
	int rc = 1;
	while (!bs->threaded && !in_line(bs, n) && rc == 1)
		rc = line_up(bs, err);
	pthread_mutex_lock(&bs->pool->lock);
	for (; bs->lent <= n; bs->lent++)
		bs->pool->max_blocks++;
	pthread_cond_broadcast(&bs->pool->changed);
	while (bs->threaded && !in_line(bs, n) && !bs->ended)
		pthread_cond_wait(&bs->pool->changed, &bs->pool->lock);
	*ret = in_line(bs, n);
	if (bs->threaded)
		rc = *ret ? 1 : bs->rc;
	pthread_mutex_unlock(&bs->pool->lock);
	if (rc < 0 && bs->threaded)
		*err = bs->err;
	return rc < 0 ? rc : *ret != NULL;
}

int blocks_next(struct blocks *bs, struct block **ret, struct err *err)
{
	int none = !bs->threaded && !bs->first ? line_up(bs, err) : 1;
	if (none < 0)
		return none;
	pthread_mutex_lock(&bs->pool->lock);
	while (bs->threaded && !bs->first && !bs->ended)
		pthread_cond_wait(&bs->pool->changed, &bs->pool->lock);
	struct block *b = bs->first;
	if (b && bs->lent) {
		bs->lent--;
		bs->pool->max_blocks--;
	}
	if (b) {
		bs->first = b->next;
		if (!bs->first)
			bs->last = NULL;
		b->next = NULL;
	}
	int rc = b ? 1 : bs->rc;
	pthread_mutex_unlock(&bs->pool->lock);
	if (rc < 0 && err)
		*err = bs->err;
	*ret = b;
	return rc;
}

bool blocks_digest(struct blocks *bs, unsigned char sha256[SHA256_BYTES])
{
	for (size_t i = 0; bs->has_digest && i < SHA256_BYTES; i++)
		sha256[i] = bs->digest[i];
	return bs->has_digest;
}

void blocks_close(struct blocks *bs)
{
	if (!bs)
		return;
	if (bs->threaded) {
		pthread_mutex_lock(&bs->pool->lock);
		bs->cancel = true;
		pthread_cond_broadcast(&bs->pool->changed);
		pthread_mutex_unlock(&bs->pool->lock);
		pthread_join(bs->thread, NULL);
	}
	while (bs->first) {
		struct block *b = bs->first;
		bs->first = b->next;
		block_put(b);
	}
	pthread_mutex_lock(&bs->pool->lock);
	bs->pool->max_blocks -= bs->lent;
	pthread_mutex_unlock(&bs->pool->lock);
	sha256_free(bs->sha);
	free(bs);
}
