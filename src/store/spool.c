/* SPDX-License-Identifier: Apache-2.0 */
/* spool.c - where the plain forms of chunks lie: an index by chunk, the newest bytes in memory, the others in a file */
#include "pagetrail/spool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pagetrail/temp_file.h"
#include "spool_rows.h"
#include "store.h"

#define TAIL_BYTES MIB /* of memory; they go to the file together */

struct entry {
	struct spool_key key;
	uint64_t at;
	size_t len; /* 0: free */
};

struct event_spool {
	uint32_t columns[EVENT_KINDS];
	pthread_mutex_t lock;
	pthread_cond_t moved;
	struct entry *slots; /* by chunk, hashed */
	size_t n, cap;
	struct buf tail;
	uint64_t written; /* of the file; the tail begins there */
	int fd;
	bool full; /* there is no room for more */
	bool filling;
	pthread_t filler;
};

int event_spool_new(struct event_spool **ret, const uint32_t columns[EVENT_KINDS], struct err *err)
{
	struct event_spool *s = calloc(1, sizeof(*s));
	if (!s)
		return err_nomem(err);
	memcpy(s->columns, columns, sizeof(s->columns));
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->moved, NULL);
	s->tail = BUF_INIT(TAIL_BYTES + 2 * CHUNK_MAX_DECODED_BYTES);
	s->fd = -1;
	*ret = s;
	return 0;
}

void event_spool_free(struct event_spool *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		(void)close(s->fd);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->moved);
	buf_done(&s->tail);
	free(s->slots);
	free(s);
}

void case_spool(struct case_file *c, struct event_spool *s)
{
	c->spool = s;
}

struct event_spool *case_spooled(const struct case_file *c)
{
	return c->spool;
}

uint32_t event_spool_columns(const struct event_spool *s, enum event_kind kind)
{
	return s->columns[kind];
}

struct spool_key spool_key(int64_t chunk, int64_t source, const unsigned char sha256[SHA256_BYTES])
{
	struct spool_key k = {chunk, source, 0};
	memcpy(&k.sha, sha256, sizeof(k.sha));
	return k;
}

int event_spool_pack(const struct event_spool *s, const struct event_batch *b, struct buf *out, struct err *err)
{
	return s->columns[b->kind] ? spool_rows_pack(b, s->columns[b->kind] & b->columns, out, err) : 0;
}

/* --- the index --- */

static struct entry *entry_at(const struct event_spool *s, int64_t chunk)
{
	size_t at = (size_t)((uint64_t)chunk * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (s->cap - 1);
	while (s->slots[at].len && s->slots[at].key.chunk != chunk)
		at = (at + 1) & (s->cap - 1);
	return &s->slots[at];
}

static bool index_grow(struct event_spool *s)
{
	struct entry *old = s->slots;
	size_t n = s->cap;
	if (s->n * 2 < s->cap)
		return true;
	struct entry *more = calloc(n ? 2 * n : 256, sizeof(*more));
	if (!more)
		return false;
	s->slots = more;
	s->cap = n ? 2 * n : 256;
	for (size_t i = 0; i < n; i++)
		if (old[i].len)
			*entry_at(s, old[i].key.chunk) = old[i];
	free(old);
	return true;
}

static bool find(const struct event_spool *s, struct spool_key key, struct entry *ret)
{
	const struct entry *e = s->cap ? entry_at(s, key.chunk) : NULL;
	if (!e || !e->len || e->key.source != key.source || e->key.sha != key.sha)
		return false;
	*ret = *e;
	return true;
}

/* --- the bytes --- */

static bool write_tail(struct event_spool *s)
{
	if (s->fd < 0)
		s->fd = temp_file();
	for (size_t at = 0; s->fd >= 0 && at < s->tail.len;) {
		ssize_t n = pwrite(s->fd, s->tail.ptr + at, s->tail.len - at, (off_t)(s->written + at));
		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	if (s->fd < 0)
		return false;
	s->written += s->tail.len;
	buf_clear(&s->tail);
	return true;
}

static bool keep(struct event_spool *s, struct spool_key key, struct text plain)
{
	if (!index_grow(s) || (s->tail.len && s->tail.len + plain.len > TAIL_BYTES && !write_tail(s)))
		return false;
	uint64_t at = s->written + s->tail.len;
	if (buf_add_text(&s->tail, plain, NULL))
		return false;
	struct entry *e = entry_at(s, key.chunk);
	s->n += !e->len;
	*e = (struct entry){key, at, plain.len};
	return true;
}

void event_spool_put(struct event_spool *s, struct spool_key key, struct text plain)
{
	if (!plain.len)
		return;
	pthread_mutex_lock(&s->lock);
	s->full = s->full || !keep(s, key, plain);
	pthread_cond_broadcast(&s->moved);
	pthread_mutex_unlock(&s->lock);
}

/* The bytes of an entry. Those of the file are read without the lock: they stay as they are. */
static bool fetch(struct event_spool *s, const struct entry *e, char *to)
{
	pthread_mutex_lock(&s->lock);
	bool here = e->at >= s->written;
	if (here)
		memcpy(to, s->tail.ptr + (size_t)(e->at - s->written), e->len);
	pthread_mutex_unlock(&s->lock);
	for (size_t at = 0; !here && at < e->len;) {
		ssize_t n = pread(s->fd, to + at, e->len - at, (off_t)(e->at + at));
		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

/* Waits while it may still come. */
static bool await(struct event_spool *s, struct spool_key key, struct entry *ret)
{
	pthread_mutex_lock(&s->lock);
	bool found;
	while (!(found = find(s, key, ret)) && s->filling && !s->full && !pthread_equal(s->filler, pthread_self()))
		pthread_cond_wait(&s->moved, &s->lock);
	pthread_mutex_unlock(&s->lock);
	return found;
}

bool event_spool_has(struct event_spool *s, struct spool_key key)
{
	struct entry e;
	return await(s, key, &e);
}

int event_spool_get(struct event_spool *s, struct spool_key key, enum event_kind kind, uint32_t mask,
		    struct event_batch **ret, struct err *err)
{
	struct entry e;
	if (mask & ~s->columns[kind] || !await(s, key, &e))
		return 1;
	struct arena arena;
	arena_init(&arena, 0);
	char *bytes = arena_room(&arena, e.len);
	int r = bytes ? 0 : err_nomem(err);
	if (!r && !fetch(s, &e, bytes))
		r = err_set(err, ERR_IO, "a temporary file cannot be read");
	if (!r)
		r = spool_rows_unpack((struct text){bytes, e.len}, kind, mask, &arena, ret, err);
	arena_done(&arena);
	return r;
}

/* --- somebody fills it meanwhile --- */

void event_spool_filling(struct event_spool *s)
{
	pthread_mutex_lock(&s->lock);
	s->filling = true;
	s->filler = pthread_self();
	pthread_mutex_unlock(&s->lock);
}

void event_spool_filled(struct event_spool *s)
{
	pthread_mutex_lock(&s->lock);
	s->filling = false;
	pthread_cond_broadcast(&s->moved);
	pthread_mutex_unlock(&s->lock);
}
