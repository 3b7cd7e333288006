/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - the stored file as a stream, hashed as it is read; it can be read a second time */
#pragma once

#include <stdatomic.h>
#include <sys/stat.h>

#include "pagetrail/digest.h"
#include "stream.h"

enum { FILE_BLOCK = 256 * 1024 };

struct file {
	struct stream s;
	struct damage damage;
	int fd;
	struct stat at_open;
	off_t start;        /* where standard input stood */
	struct sha256 *sha; /* NULL once its digest was taken */
	unsigned char digest[SHA256_BYTES];
	uint64_t bytes;      /* of the first pass */
	atomic_ullong taken; /* the same, for other threads */
	bool ended, failed, second;
	char block[FILE_BLOCK];
};

/* path "-" is standard input. ERR_INPUT with the reason when it cannot be opened or is not a regular file. */
int file_open(struct file **ret, const char *path, struct err *err) MUST_CHECK;
/* A copy of these bytes, as a file without a place. */
int file_of_bytes(struct file **ret, struct text bytes, struct err *err) MUST_CHECK;
void file_close(struct file *f); /* accepts NULL */
/* Size at the time of opening, and when it was changed last; 0 and INT64_MIN when that is not known. */
uint64_t file_size(const struct file *f);
int64_t file_mtime(const struct file *f);
/* Bytes taken so far; any thread. */
uint64_t file_taken(const struct file *f);
/* Reads what is left and takes the digest. */
int file_finish(struct file *f, struct err *err) MUST_CHECK;
/* After file_finish(): back to the beginning. False when it cannot be read twice. */
bool file_rewind(struct file *f);
/* What happened to the file while it was read; NULL: nothing. *ret_lost: bytes were lost or mixed. */
const char *file_changed(const struct file *f, bool *ret_lost);
/* Digest of the first n bytes, UINT64_MAX all, in a pass of its own; 1 when it cannot be had. */
int file_digest(struct file *f, uint64_t n, unsigned char sha256[SHA256_BYTES], struct err *err) MUST_CHECK;
