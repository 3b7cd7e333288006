/* SPDX-License-Identifier: Apache-2.0 */
/* case.h - the case file: one SQLite database with custody, evidence, events and what follows from them
 *
 * Modes: CASE_READ opens read-only (also works on a read-only file or medium), query_only, defensive,
 * trusted_schema off, with the virtual tables registered; CASE_WRITE opens an existing case for one writer; CASE_CREATE
 * makes a new one (mode 0600) and fails if the file exists. Each page that is read has its check sum compared, but with
 * CASE_INSPECT: CASE_READ for those who look for damage and compare everything themselves. Writers use WAL and leave a single plain file on case_close().
 * Errors: ERR_DAMAGED for "not a case", "newer version", "damaged"; ERR_STORE for "locked by another writer"; ERR_IO.
 * Threads: a case belongs to one thread.
 */
#pragma once

#include <signal.h>

#include "pagetrail/digest.h"
#include "pagetrail/sql.h"
#include "pagetrail/text.h"

enum { CASE_APPLICATION_ID = 0x50547261 /* "PTra" */, CASE_VERSION = 7 };
enum { CASE_UNFINISHED_ID = 0x50547277 /* "PTrw": a salvage is writing it, or was stopped */ };
enum case_mode { CASE_READ, CASE_WRITE, CASE_CREATE, CASE_INSPECT };
/* CASE_CREATE: there is no such file, or nothing is in it (somebody was stopped while he made it); else ERR_IO. */

int case_open(struct case_file **ret, const char *path, enum case_mode mode, struct err *err) MUST_CHECK;
/* A case that a host program (the sqlite3 shell) has opened: registers the virtual tables on its connection, read-only in
 * effect. The object lives as long as the connection and must not be closed. */
int case_adopt(struct case_file **ret, struct sqlite3 *db, struct err *err) MUST_CHECK;
/* Name of the VFS that checks the pages that are read, for a host that opens a case itself; NULL: out of memory. */
const char *case_vfs(void);
int case_close(struct case_file *c, struct err *err); /* accepts NULL; reports a failed checkpoint */
static inline void case_closep(struct case_file **c)
{
	(void)case_close(*c, NULL);
}
const char *case_path(const struct case_file *c);
/* The error for a case whose maker was killed before its first journal row: not one in which nothing was found. */
int case_unmade(struct case_file *c, struct err *err);
bool case_writable(const struct case_file *c);
/* Statements of a reader end with ERR_INTERRUPTED once *stop is set (by a signal handler). */
void case_stop_on(struct case_file *c, volatile sig_atomic_t *stop);
void case_stop_with(struct case_file *c, const struct case_file *other); /* when that one is to */
/* Scans decode ahead in so many threads; 0 and 1: in the calling thread, which is how a case is opened. */
void case_threads(struct case_file *c, unsigned n);
unsigned case_thread_count(const struct case_file *c);
/* Is it set? For long work between statements, which then returns ERR_INTERRUPTED. */
bool case_stopped(const struct case_file *c);

int case_begin(struct case_file *c, struct err *err) MUST_CHECK; /* BEGIN IMMEDIATE */
int case_commit(struct case_file *c, struct err *err) MUST_CHECK;
void case_rollback(struct case_file *c); /* no-op outside a transaction */

/* case_info: small facts (id, title, tool, derived_state …). */
int case_info_set(struct case_file *c, const char *key, struct text value, struct err *err) MUST_CHECK;
/* 1 when there is no such key. */
int case_info_get(struct case_file *c, const char *key, struct buf *ret, struct err *err) MUST_CHECK;

/* --- journal: append-only, hash-chained, at_ns never decreases (a clock that was put back gives the time of the row
 * before). Each row's sha256 = SHA-256(prev sha256 || seq || at_ns || action || detail) in
 * the byte form that docs/store-format.md defines. */
int journal_append(struct case_file *c, int64_t at_ns, const char *action, struct text detail_json,
		   unsigned char ret_head[SHA256_BYTES], struct err *err) MUST_CHECK;
/* 1 when the journal is empty. */
int journal_head(struct case_file *c, unsigned char ret_head[SHA256_BYTES], struct err *err) MUST_CHECK;
/* 1: no row has this hash. */
int journal_find(struct case_file *c, const unsigned char sha256[SHA256_BYTES], int64_t *ret_seq,
		 struct err *err) MUST_CHECK;
/* 0 the chain holds; 1 it does not, *ret_seq names the first bad row. */
int journal_verify(struct case_file *c, int64_t *ret_seq, struct err *err) MUST_CHECK;

/* Content digest: over logical rows (source hashes and accounting, evidence bytes, decoded events) in canonical order; the
 * same for every job count, file order and interruption. Hex. */
int case_digest(struct case_file *c, char out[SHA256_HEX], struct err *err) MUST_CHECK;

/* One hash over all that is stored of a source: row, rejects, hashes of its chunks. It stands in its journal row. Hex. */
int source_seal(struct case_file *c, int64_t source, char out[SHA256_HEX], struct err *err) MUST_CHECK;

/* --- tables that follow from the events; those with a row a request are in row_tables.h */
extern const char *const derived_tables[]; /* ends with NULL */
int derived_digest(struct case_file *c, char out[SHA256_HEX], struct err *err) MUST_CHECK;
/* Puts empty temporary tables in front of them and of case_info: until derived_unshadow() statements that name no schema
 * see those, and main.NAME is what the file holds. Works on read-only cases. */
int derived_shadow(struct case_file *c, struct err *err) MUST_CHECK;
void derived_unshadow(struct case_file *c);

/* --- verify: the journal's chain, and sources against their seals. Cheap: decodes nothing. 1: faults were reported. */
int case_verify_custody(struct case_file *c, int (*report)(void *ctx, struct text where, struct text what), void *ctx,
			struct err *err) MUST_CHECK;
/* That, and reads everything once, with up to `jobs` threads; calls report() for each fault ("evidence S3@0+1048576",
 * "hash differs"), in the caller's thread and in an order that does not depend on jobs.
 * 0 sound: digest is the content digest. 1 faults were reported. A source that is still being read is sound. Tables that
 * follow from the events are judged by resolve_verify() (analysis.h). feed: gets the decoded events of its kind; may be
 * NULL. */
struct event_feed;
int case_verify(struct case_file *c, unsigned jobs, struct event_feed *feed,
		int (*report)(void *ctx, struct text where, struct text what), void *ctx, char digest[SHA256_HEX],
		struct err *err) MUST_CHECK;
