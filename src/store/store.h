/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - what the files of this layer share: the connection and its error mapping
 *
 * Callbacks that SQLite runs for us (virtual tables) can only hand back a code and a text; they leave the full struct
 * err in case_file.pending, and the statement that sees SQLITE_ERROR picks it up from there.
 */
#pragma once

#include <sqlite3.h>

#include "pagetrail/case.h"
#include "pagetrail/evidence.h"
#include "pagetrail/limits.h"

extern const char schema_sql[]; /* generated from schema.sql */

struct case_file {
	sqlite3 *db;
	char *path;
	enum case_mode mode;
	bool made;                   /* by us, out of nothing */
	volatile sig_atomic_t *stop; /* NULL: nobody stops it */
	unsigned threads;
	bool shadowed;      /* derived_shadow() */
	unsigned rollbacks; /* what was read before one may not be there */
	int lock_fd;        /* writers: holds the advisory lock; closed after the connection */
	struct err pending; /* of the last failed virtual table callback */
	/* the chunk of evidence decoded last: refs come in neighbourhoods */
	int64_t cache_source;
	uint64_t cache_off;
	struct buf cache;
	bool cache_full;
	/* first rows that this connection has added (0: none). What it has hashed itself, and reads back through the page
	 * sums, it does not hash again */
	int64_t own_evidence, own_events;
	struct event_spool *spool; /* not ours; NULL: none */
};

struct sql {
	sqlite3_stmt *st;
	struct case_file *c;
};

/* A SQLite result code as one of ERR_*, with SQLite's text and a remedy where there is one. */
int store_error(struct case_file *c, int rc, struct err *err);
/* The other way round, for virtual table callbacks: keeps err for the statement and sets the table's message. */
int store_pending(struct case_file *c, const struct err *err, char **zErrMsg);
/* Registers boot_events … install_events and records on a connection. */
int vtab_register(struct case_file *c, struct err *err) MUST_CHECK;

/* Finds the evidence chunk that holds byte `off` and leaves it decoded in c->cache. 1: there is none. */
int evidence_load(struct case_file *c, int64_t source, uint64_t off, struct err *err) MUST_CHECK;
/* Decodes and hashes one stored chunk into out (cleared first). ERR_DAMAGED. */
int evidence_decode(int64_t codec, int64_t byte_len, struct text data, struct text sha256, struct buf *out,
		    struct err *err) MUST_CHECK;
/* The same with a codec that is kept for more of them. sha256 NULL: nothing is hashed. */
struct codec;
int evidence_decode_with(struct codec *z, int64_t codec, int64_t byte_len, struct text data, const struct text *sha256,
			 struct buf *out, struct err *err) MUST_CHECK;
/* The same for a chunk that is own_row(): its hash is not computed. */
int evidence_decode_own(int64_t codec, int64_t byte_len, struct text data, struct buf *out, struct err *err) MUST_CHECK;
static inline bool own_row(int64_t first_own, int64_t rowid)
{
	return first_own && rowid >= first_own;
}
/* ERR_DAMAGED unless want holds the SHA-256 of data. */
/* 1: the case has a table of seams; older ones have none. */
int store_has_seams(struct case_file *c, struct err *err) MUST_CHECK;
int store_check_sha256(struct text data, struct text want, struct err *err) MUST_CHECK;
/* What a row of the journal has as its sha256. prev: SHA256_BYTES. */
int journal_hash(const unsigned char *prev, int64_t seq, int64_t at_ns, struct text action, struct text detail,
		 unsigned char ret[SHA256_BYTES], struct err *err) MUST_CHECK;
