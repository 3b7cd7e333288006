/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c - reads everything once and says what is not as it was written
 *
 * A fault never hides another: each chunk is judged by itself, and only a case that cannot be read at all (memory, the
 * system) ends the walk early. Faults come in the same order for every number of jobs. What is decoded is summed up at
 * once: the content digest costs no second pass. A source whose status is 'reading' is no fault: its chunks come before its row's numbers.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "page_sum.h"
#include "pagetrail/salvage.h"
#include "verify.h"

enum { QUEUE_PER_JOB = 3 };

int verify_fault(struct verify *v, const char *where, const char *what)
{
	v->faults++;
	return v->report(v->ctx, text_of(where), text_of(what));
}

int verify_judge(struct verify *v, int code, const char *where, const struct err *found, struct err *err)
{
	if (code != ERR_DAMAGED && code != ERR_STORE) {
		if (err)
			*err = *found;
		return code;
	}
	return verify_fault(v, where, found->what);
}

/* --- the database --- */

static struct text behind(struct text t, const char *head)
{
	return text_starts(t, head) ? text_from(t, strlen(head)) : t;
}

/* "Page 16: never used", "Page 16 is never used", "Tree 5 page 16 cell 3: ..." or "On tree page 16 cell 3: ...", as versions of
 * SQLite put it: the number of the page, of which *what is told; 0: it begins with none. */
static uint64_t page_named(struct text line, struct text *what)
{
	struct text t = behind(line, "On tree "), n;
	uint64_t page;
	size_t at = text_starts(t, "Tree ") ? text_find(t, " page ", 0) : SIZE_MAX, digits = 0;
	if (at != SIZE_MAX)
		t = text_from(t, at + 1);
	if (!text_starts(t, "Page ") && !text_starts(t, "page "))
		return 0;
	t = text_from(t, 5);
	while (digits < t.len && t.ptr[digits] >= '0' && t.ptr[digits] <= '9')
		digits++;
	n = text_sub(t, 0, digits);
	t = text_from(t, digits);
	if (!text_uint64(n, &page) || (!text_starts(t, ": ") && !text_starts(t, " ")))
		return 0;
	*what = text_trim(text_from(t, 1));
	return page;
}

/* A row of SQLite's check: one fault, or several below a heading. */
static int verify_told(struct verify *v, struct text told)
{
	struct text line;
	int r = 0;
	while (!r && text_split(&told, '\n', &line)) {
		char where[64] = "database", what[256];
		line = text_trim(line);
		if (!line.len || text_starts(line, "*** ") || text_is(line, "ok"))
			continue;
		uint64_t page = page_named(line, &line);
		if (page)
			snprintf(where, sizeof(where), "page %" PRIu64, page);
		snprintf(what, sizeof(what), "%.*s", (int)MIN(line.len, sizeof(what) - 1), line.ptr);
		r = verify_fault(v, where, what);
	}
	return r;
}

static int verify_database(struct verify *v, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct err e = {0};
	int r = sql_prepare(&s, v->c, "PRAGMA integrity_check(100)", &e);
	while (!r && (r = sql_step(s, &e)) > 0)
		r = verify_told(v, sql_get_text(s, 0));
	return r < 0 && e.code ? verify_judge(v, r, "database", &e, err) : r;
}

/* A writer may be putting this page there at this moment. */
enum { PAGE_TRIES = 3 };

/* Is there a write-ahead log with something in it? Then pages of the file may be about to be written again. */
static bool is_being_written(struct case_file *c)
{
	struct stat st;
	char *wal = sqlite3_mprintf("%s-wal", c->path);
	bool any = !wal || (!stat(wal, &st) && st.st_size > 0);
	sqlite3_free(wal);
	return any;
}

/* Check sums of all pages: also of those that hold nothing at the moment, and of the indexes. */
int case_check_pages(struct case_file *c, int (*report)(void *ctx, uint64_t page), void *ctx)
{
	sqlite3_file *f = NULL;
	sqlite3_int64 size = 0;
	unsigned char page[CASE_PAGE_BYTES];
	if (is_being_written(c) || sqlite3_file_control(c->db, "main", SQLITE_FCNTL_FILE_POINTER, &f) || !f ||
	    !f->pMethods || f->pMethods->xFileSize(f, &size))
		return 0;
	for (sqlite3_int64 at = 0; at < size; at += CASE_PAGE_BYTES) {
		bool holds = false;
		for (int i = 0; i < PAGE_TRIES && !holds; i++)
			holds = f->pMethods->xRead(f, page, sizeof(page), at) == SQLITE_OK &&
				page_sum_holds(page, (uint32_t)(at / CASE_PAGE_BYTES));
		if (holds)
			continue;
		int r = report(ctx, (uint64_t)(at / CASE_PAGE_BYTES + 1));
		if (r)
			return r;
	}
	return 0;
}

static int on_page(void *ctx, uint64_t page)
{
	char where[64];
	snprintf(where, sizeof(where), "page %" PRIu64, page);
	return verify_fault(ctx, where, "is not as it was written");
}

static int verify_keys(struct verify *v, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct err e = {0};
	int r = sql_prepare(&s, v->c, "PRAGMA foreign_key_check", &e);
	while (!r && (r = sql_step(s, &e)) > 0) {
		char where[300], what[300];
		struct text table = sql_get_text(s, 0), parent = sql_get_text(s, 2);
		snprintf(where, sizeof(where), "table %.*s row %" PRId64, (int)MIN(table.len, 200u),
			 table.ptr ? table.ptr : "", sql_get_int(s, 1));
		snprintf(what, sizeof(what), "names a row of %.*s that is not there", (int)MIN(parent.len, 200u),
			 parent.ptr ? parent.ptr : "");
		r = verify_fault(v, where, what);
	}
	return r < 0 && e.code ? verify_judge(v, r, "foreign keys", &e, err) : r;
}

static int on_custody(void *ctx, struct text where, struct text what)
{
	struct verify *v = ctx;
	v->faults++;
	return v->report(v->ctx, where, what);
}

static int verify_custody(struct verify *v, struct err *err)
{
	struct err e = {0};
	int r = case_verify_custody(v->c, on_custody, v, &e);
	return r < 0 && e.code ? verify_judge(v, r, "journal and sources", &e, err) : MIN(r, 0);
}

/* --- sources --- */

static void walk_free(struct source_walk *w)
{
	if (!w)
		return;
	sha256_free(w->content);
	buf_done(&w->row);
	free(w);
}

/* row: CASE_SUM_COLUMNS, status. */
static int walk_new(struct source_walk **ret, struct sql *row, struct err *err)
{
	struct source_walk *w = calloc(1, sizeof(*w));
	if (!w)
		return err_nomem(err);
	struct text want = sql_get_text(row, 2);
	w->source = sql_get_int(row, 0);
	w->bytes = sql_get_int(row, 8);
	w->reading = text_is(sql_get_text(row, CASE_SUM_N_COLUMNS), "reading");
	w->whole = true;
	w->row = BUF_INIT(MIB);
	if (want.ptr) /* what is no hash is never equal to one */
		snprintf(w->want, sizeof(w->want), "%.*s", (int)MIN(want.len, SHA256_HEX - 1),
			 want.len ? want.ptr : "?");
	int r = sha256_new(&w->content, err);
	if (!r)
		r = case_sum_row(row, &w->row, err);
	if (r) {
		walk_free(w);
		return r;
	}
	*ret = w;
	return 0;
}

int verify_hole(struct verify *v, struct source_walk *w, uint64_t to, struct err *err)
{
	struct err e = {0};
	int r = to > w->expect ? evidence_lost(v->c, w->source, w->expect, to, &e) : 0;
	if (r > 0)
		w->lost += to - w->expect;
	if (r >= 0 || e.code == ERR_DAMAGED || e.code == ERR_STORE)
		return r <= 0;
	if (err)
		*err = e;
	return r;
}

/* The source as a whole: number and hash of its bytes. */
static int verify_content(struct verify *v, struct source_walk *w, struct err *err)
{
	unsigned char sha[SHA256_BYTES];
	char hex[SHA256_HEX], where[64];
	int r = sha256_end(w->content, sha, err);
	w->content = NULL;
	if (!r && w->want[0] && w->bytes > 0 && (uint64_t)w->bytes > w->expect) {
		r = verify_hole(v, w, (uint64_t)w->bytes, err);
		if (!r)
			w->expect = (uint64_t)w->bytes;
		r = MIN(r, 0);
	}
	if (!r)
		r = case_sum_source(v->sum, &w->row, sha, w->expect - w->lost, err);
	if (r ||
	    !w->want[0]) /* a run was stopped while it was read, or its end was not reached: chunks alone are fixed */
		return r;
	snprintf(where, sizeof(where), "source S%" PRId64, w->source);
	if ((uint64_t)w->bytes != w->expect)
		return verify_fault(v, where, "number of bytes is not that of its evidence");
	sha256_hex(sha, hex);
	if (w->whole && !w->lost && strcmp(w->want, hex))
		return verify_fault(v, where, "content_sha256 is not that of its evidence");
	return 0;
}

/* Stands behind all chunks of a source. */
struct end_task {
	struct task task;
	struct verify *v;
	struct source_walk *w;
};

static int end_run(struct task *t, struct err *err)
{
	(void)t, (void)err;
	return 0;
}

static void end_drop(struct task *t)
{
	walk_free(((struct end_task *)t)->w);
	free(t);
}

static int end_done(struct task *t, struct err *err)
{
	struct end_task *e = (struct end_task *)t;
	int r = verify_content(e->v, e->w, err);
	end_drop(t);
	return r;
}

static int verify_account(struct verify *v, struct sql *row)
{
	enum { COL_BYTES = 8, COL_RECORDS = 9, COL_PARTS = 10 };
	char where[64];
	snprintf(where, sizeof(where), "source S%" PRId64, sql_get_int(row, 0));
	int64_t sum[2] = {0, 0};
	for (int i = 0; i < 4; i++) {
		int64_t records = sql_get_int(row, COL_PARTS + i), bytes = sql_get_int(row, COL_PARTS + 4 + i);
		if (records < 0 || bytes < 0 || __builtin_add_overflow(sum[0], records, &sum[0]) ||
		    __builtin_add_overflow(sum[1], bytes, &sum[1]))
			return verify_fault(v, where, "its account holds an impossible number");
	}
	if (sum[0] != sql_get_int(row, COL_RECORDS))
		return verify_fault(v, where, "records are not parsed + context + unparsed + duplicate");
	if (sum[1] != sql_get_int(row, COL_BYTES))
		return verify_fault(v, where, "bytes are not parsed + context + unparsed + duplicate");
	return 0;
}

/* Tasks refer to *walk, which is the caller's until it is handed over. */
static int verify_source(struct verify *v, struct sql *row, struct source_walk **walk, struct err *err)
{
	int r = verify_account(v, row);
	if (!r)
		r = walk_new(walk, row, err);
	if (!r)
		r = verify_chunks(v, *walk, err);
	if (r)
		return r;
	struct end_task *e = calloc(1, sizeof(*e));
	if (!e)
		return err_nomem(err);
	*e = (struct end_task){{.run = end_run, .done = end_done, .drop = end_drop}, v, *walk};
	*walk = NULL;
	return pool_submit(v->pool, &e->task, err);
}

/* In the order in which resolving asks for them, so that it can be fed. */
static int verify_sources(struct verify *v, struct source_walk **walk, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct err e = {0};
	int r = sql_prepare(&s, v->c,
			    "SELECT " CASE_SUM_COLUMNS ", status FROM main.source "
			    "ORDER BY coalesce(content_sha256, sha256, ''), path, source",
			    &e);
	while (!r && (r = sql_step(s, &e)) > 0) {
		r = verify_source(v, s, walk, err);
		if (r)
			return r;
	}
	if (!r)
		return pool_drain(v->pool, err);
	int done = pool_drain(v->pool, err);
	return done ? done : verify_judge(v, r, "sources", &e, err);
}

/* Chunks that no scan comes upon, because no scan asks for such a kind. */
static int verify_kinds(struct verify *v, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct err e = {0};
	int r = sql_prepare(&s, v->c, "SELECT chunk FROM main.event_chunk WHERE kind < 0 OR kind > 63", &e);
	while (!r && (r = sql_step(s, &e)) > 0) {
		char where[64];
		snprintf(where, sizeof(where), "event chunk %" PRId64, sql_get_int(s, 0));
		r = verify_fault(v, where, "unknown kind of events");
		if (r)
			return r;
	}
	return r ? verify_judge(v, r, "event chunks", &e, err) : 0;
}

static int verify_all(struct verify *v, struct source_walk **walk, struct err *err)
{
	int r = verify_database(v, err);
	if (!r)
		r = case_check_pages(v->c, on_page, v);
	if (!r)
		r = verify_keys(v, err);
	if (!r)
		r = verify_custody(v, err);
	if (!r)
		r = verify_kinds(v, err);
	return r ? r : verify_sources(v, walk, err);
}

int case_verify(struct case_file *c, unsigned jobs, struct event_feed *feed,
		int (*report)(void *ctx, struct text where, struct text what), void *ctx, char digest[SHA256_HEX],
		struct err *err)
{
	struct verify v = {.c = c, .report = report, .ctx = ctx, .feed = jobs > 1 ? feed : NULL};
	struct source_walk *walk = NULL;
	bool own = sqlite3_get_autocommit(c->db); /* one state of the case throughout, whoever writes to it meanwhile */
	int r = own ? sql_exec(c, "BEGIN", err) : 0;
	if (!r)
		r = case_sum_new(&v.sum, err);
	if (!r)
		r = pool_open(&v.pool, jobs > 1 ? jobs : 0, QUEUE_PER_JOB * jobs, err);
	if (!r)
		r = verify_all(&v, &walk, err);
	pool_close(v.pool);
	if (feed)
		event_feed_end(feed);
	walk_free(walk);
	if (!r && !v.faults)
		r = case_sum_end(v.sum, digest, err);
	case_sum_free(v.sum);
	if (own)
		case_rollback(c);
	return r ? r : v.faults > 0;
}
