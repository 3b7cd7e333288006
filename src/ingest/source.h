/* SPDX-License-Identifier: Apache-2.0 */
/* source.h - one stored file: its members come out one after another, whatever it is packed in
 *
 * A file that is no archive has one member: itself. Damage ends a member early; it is not an error, source_reason()
 * says what happened. When bytes of a container could not be made use of, or it holds no file, the stored file itself
 * is its last member, to be kept as it is. Threads: one at a time; source_read() may be called from another thread than source_next() when
 * the calls do not overlap.
 */
#pragma once

#include <stdint.h>

#include "pagetrail/digest.h"
#include "pagetrail/text.h"

struct source;

struct member {
	const char *name;      /* PATH, or ARCHIVE!MEMBER */
	const char *container; /* "none", or from the inside out: "gzip", "tar+zstd" */
	const char *same_as;   /* a hard link: the member whose bytes these are; NULL: has its own */
	bool plain;            /* its bytes are those of the stored file */
	const char *as_it_is;  /* a container: keep it and do not parse it, for this reason; NULL: an ordinary member */
	bool empty_handed;     /* only a reason: nothing can be read (broken archive, link) */
	uint64_t size_hint;    /* about how many bytes; 0 unknown */
	int64_t mtime_s;       /* when the file was changed last; INT64_MIN unknown */
};

/* path "-" is standard input. ERR_INPUT with the reason when it cannot be opened or is not a regular file. */
int source_open(struct source **ret, const char *path, struct err *err) MUST_CHECK;
/* The same over bytes at hand; path is only a name. */
int source_of_bytes(struct source **ret, const char *path, struct text bytes, struct err *err) MUST_CHECK;
/* Size of the stored file; 0 when it is not known before its end (standard input). */
uint64_t source_size(const struct source *s);
/* Stored bytes used up so far; any thread. */
uint64_t source_taken(const struct source *s);
/* Digest of the stored file in a pass of its own, before anything was read; 1 when it cannot be had. */
int source_digest(struct source *s, unsigned char sha256[SHA256_BYTES], struct err *err) MUST_CHECK;
/* 1 a member is there (valid until the next call), 0 no more. */
int source_next(struct source *s, const struct member **ret, struct err *err) MUST_CHECK;
/* Fills buf unless the end comes first; *ret_n 0 at the end. */
int source_read(struct source *s, char *buf, size_t n, size_t *ret_n, struct err *err) MUST_CHECK;
/* Why the member at hand cannot be read, or not to its end; "" while all is well. */
const char *source_reason(const struct source *s);
const char *source_path(const struct source *s);
/* Members given so far, the one at hand included. */
unsigned source_count(const struct source *s);
/* After source_end(): what happened to the stored file while it was read, or NULL; *ret_lost: bytes were lost or mixed.
 */
const char *source_changed(const struct source *s, bool *ret_lost);
/* Reads what is left of the stored file and gives its digest; *ret_complete false when it could not be read to its end.
 */
int source_end(struct source *s, unsigned char sha256[SHA256_BYTES], uint64_t *ret_bytes, bool *ret_complete,
	       struct err *err) MUST_CHECK;
void source_close(struct source *s); /* accepts NULL */
DEFINE_CLEANUP(struct source *, source_close)

/* What the first bytes say: "gzip", "zstd", "tar" …, or NULL for anything that is read as it is. */
const char *container_of(struct text head);
