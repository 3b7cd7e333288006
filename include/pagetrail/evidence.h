/* SPDX-License-Identifier: Apache-2.0 */
/* evidence.h - the exact bytes of every source, in proved chunks
 *
 * Encoding is pure and thread-safe; writing and reading belong to the case's thread. Lossless is proved: an encoded chunk
 * has been decoded and compared before it can be written.
 */
#pragma once

#include "pagetrail/buf.h"
#include "pagetrail/case.h"
#include "pagetrail/thread.h"

struct evidence_chunk { /* encoded, ready to write */
	uint64_t byte_off;
	uint32_t byte_len;
	unsigned char sha256[SHA256_BYTES]; /* of the original bytes */
	int codec;                          /* 0 stored, 1 zstd, 2 lines */
	struct buf data;
};

int evidence_encode(struct text raw, uint64_t byte_off, struct evidence_chunk *ret, struct err *err) MUST_CHECK;
void evidence_done(struct evidence_chunk *e);
int evidence_append(struct case_file *c, int64_t source, const struct evidence_chunk *e, struct err *err) MUST_CHECK;

/* Bytes [off, off+len) of a source, appended to out. ERR_INPUT when outside; ERR_DAMAGED when a chunk does not decode or
 * hash. */
int evidence_read(struct case_file *c, int64_t source, uint64_t off, uint64_t len, struct buf *out,
		  struct err *err) MUST_CHECK;
/* The same to dest, exactly len bytes. */
int evidence_copy(struct case_file *c, int64_t source, uint64_t off, size_t len, char *dest,
		  struct err *err) MUST_CHECK;
/* All bytes of a source in order, chunk by chunk. write() returns 0 or ERR_*. */
int evidence_each(struct case_file *c, int64_t source, int (*write)(void *ctx, struct text bytes, uint64_t off),
		  void *ctx, struct err *err) MUST_CHECK;

/* The same for work that threads share. Both give 0 or ERR_*. */
struct evidence_work {
	/* In some thread, as soon as the chunk is decoded. *own: NULL, or what was left there with another chunk that is done
	 * with; it is this chunk's until take() was called for it. */
	int (*look)(void *ctx, void **own, struct text bytes, uint64_t off, struct err *err);
	/* In the calling thread, in order. */
	int (*take)(void *ctx, void *own, struct text bytes, uint64_t off, struct err *err);
	void (*free_own)(void *own);
	void *ctx;
	bool by_sums; /* no chunk is hashed whose pages had the right check sums */
};
struct evidence_walk;
int evidence_walk_open(struct evidence_walk **ret, struct case_file *c, unsigned threads,
		       const struct evidence_work *work, struct err *err) MUST_CHECK;
int evidence_walk_source(struct evidence_walk *w, int64_t source, struct err *err) MUST_CHECK;
void evidence_walk_close(struct evidence_walk *w); /* accepts NULL */

/* "S12@3456+78". ref_format: buf >= 64 bytes. */
struct ref {
	int64_t source;
	uint64_t off;
	uint64_t len;
};
bool ref_parse(struct text t, struct ref *ret);
/* The next item of a JSON list of refs, as the tables hold them: without blanks or escapes. *at: from 0. */
bool refs_next(struct text json, size_t *at, struct text *ret);
char *ref_format(struct ref r, char *buf, size_t size);
