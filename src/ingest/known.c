/* SPDX-License-Identifier: Apache-2.0 */
/* known.c - files and contents that the case holds already: what is said of them, and when they are read all the same */
#include "known.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/evidence.h"
#include "pagetrail/map.h"
#include "repeat.h"

static bool is_explicit(const struct source_result *r)
{
	return naming_said(r->worker_basis) || text_is(r->worker_basis, "wrapper");
}

/* How the file at `path` would name the source of this row. now: it was read; NULL: it has the same stored bytes. */
static int name_at(struct session *s, const struct source_result *row, struct text path,
		   const struct source_result *now, struct source_result *ret, struct arena *a, struct err *err)
{
	struct naming n = {0};
	char *p = strndup(path.ptr ? path.ptr : "", path.len);
	*ret = (struct source_result){0};
	int rc = p ? naming_begin(&n, s, p, ret, a, err) : err_nomem(err);
	if (rc == 0 && now) {
		*ret = *now;
	} else if (rc == 0) {
		ret->container = row->container;
		ret->stored_bytes = row->stored_bytes;
		memcpy(ret->sha256, row->sha256, sizeof(ret->sha256));
		if (text_is(row->worker_basis, "record") && !n.explicit_worker) {
			ret->worker_alias = row->worker_alias.len ? ret->worker : TEXT("");
			ret->worker = row->worker;
			ret->worker_basis = row->worker_basis;
		}
	}
	ret->path = path;
	naming_done(&n);
	free(p);
	return rc;
}

/* The same bytes at two paths are one source. It has the name of that path which says most, or comes first in byte order:
 * so it does not matter which was read first. 1: it has a new name. */
static int choose_name(struct session *s, const struct source_result *row, struct text path,
		       const struct source_result *now, struct arena *a, struct err *err)
{
	struct source_result named;
	int rc = name_at(s, row, path, now, &named, a, err);
	if (rc < 0 || !text_eq(named.tz, row->tz) || !named.sha256[0])
		return rc;
	if (is_explicit(&named) != is_explicit(row) ? is_explicit(row) : text_cmp(path, row->path) >= 0)
		return 0;
	rc = custody_adopt(&s->custody, row->source, &named, err);
	if (rc == 0)
		rc = repeat_again(s, row->source, err);
	return rc < 0 ? rc : 1;
}

/* What the case holds already, under the path of now; now: the file whose content it is, NULL when that is the same
 * file. */
int known_report(struct session *s, int64_t source, struct text path, const struct source_result *now, bool beginning,
		 struct err *err)
{
	struct arena a;
	struct source_result r;
	struct text was = TEXT(""); /* another path of it */
	char reason[512];
	arena_init(&a, 0);
	int rc = custody_row(&s->custody, source, &r, &a, err);
	if (rc == 0 && !beginning && !text_eq(r.path, path)) {
		was = r.path;
		rc = choose_name(s, &r, path, now, &a, err);
		if (rc == 1)
			rc = custody_row(&s->custody, source, &r, &a, err);
	}
	if (rc == 0) {
		bool same = !was.len;
		struct known *e = custody_find(&s->custody, source);
		if (e && !same)
			e->touched = true;
		if (beginning)
			snprintf(reason, sizeof(reason), "the beginning of source %lld, which its file held before",
				 (long long)source);
		else if (!same)
			snprintf(reason, sizeof(reason), "same bytes as source %lld, %.*s", (long long)source,
				 (int)MIN(was.len, 300), was.ptr);
		r.status = SOURCE_KNOWN;
		r.reason = same && !beginning ? r.reason : text_of(reason);
		r.path = path;
		if (now) {
			r.container = now->container;
			r.stored_bytes = now->stored_bytes;
			memcpy(r.sha256, now->sha256, sizeof(r.sha256));
		}
		rc = journal_source(s, &r, NULL, err);
		if (rc == 0)
			rc = session_report(s, &r);
	}
	arena_done(&a);
	return rc;
}

/* The time in a file's name. */
static int64_t time_named(struct text path)
{
	char name[512];
	size_t slash = text_rfind_char(path, '/');
	snprintf(name, sizeof(name), "%.*s", TEXT_ARG(slash == SIZE_MAX ? path : text_from(path, slash + 1)));
	return naming_time(name, 0).ns;
}

/* Has it its time from its file's name, and does the other one's name say another? */
static bool of_other_time(const struct source_result *row, const struct source_result *r)
{
	int64_t had = time_named(row->path), now = time_named(r->path);
	return had != TIME_UNKNOWN && now != TIME_UNKNOWN && had != now && row->first_ns == had;
}

/* Two nodes of one kind give snapshots with the same bytes, and each is a fact about its own node, as is each of two times at
 * which one was asked: a document is known only where it speaks of the same worker and time. Logs of lines are not written
 * twice with the same bytes.
 * 1: the row is of another worker or time than what is asked for now. */
static int is_another(struct session *s, int64_t source, const struct source_result *r, struct err *err)
{
	struct text worker = r->worker;
	struct arena a;
	struct source_result row = {0};
	arena_init(&a, 0);
	int rc = custody_row(&s->custody, source, &row, &a, err);
	if (rc == 0) {
		const struct ingest_options *o = s->o;
		bool document = format_is_document(row.format, o->parsers, o->n_parsers, o->wrappers, o->n_wrappers);
		bool other = !text_is(row.worker_basis, "record") && worker.len && !text_eq(row.worker, worker);
		rc = document && (other || of_other_time(&row, r));
	}
	arena_done(&a);
	return rc;
}

/* Of the sources with this content the first that is not of another worker or time; *ret 0: none. */
int known_twin(struct session *s, const unsigned char *content, const struct source_result *r, int64_t *ret,
	       struct err *err)
{
	const struct known *k;
	*ret = 0;
	for (size_t at = 0; (k = custody_of_content(&s->custody, content, r->source, &at));) {
		int rc = is_another(s, k->source, r, err);
		if (rc < 0)
			return rc;
		if (rc == 0) {
			*ret = k->source;
			return 0;
		}
	}
	return 0;
}

/* Would a map that is given now take the source, of which the case has the first bytes? */
static int map_takes(struct session *s, int64_t source, const struct source_result *row, struct err *err)
{
	CLEANUP(buf_done) struct buf head = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	struct detection d = {0};
	struct stack stack = {0};
	bool any = false;
	for (size_t i = 0; i < s->o->n_parsers; i++)
		any = any || (map_of(s->o->parsers[i]) && !stack_fits(row->format, text_of(s->o->parsers[i]->name)));
	uint64_t n = MIN(row->account.bytes, DETECT_BYTES);
	if (!any || !n || text_is(row->format_basis, BASIS_AS_IT_IS))
		return 0;
	int rc = evidence_read(s->c, source, 0, n, &head, err);
	if (rc == 0)
		rc = detect_with(&s->formats, buf_text(&head), n == row->account.bytes, NULL, &d, &stack, err);
	stack_done(&stack);
	return rc < 0 ? rc : d.parser && map_of(d.parser) && !stack_fits(row->format, text_of(d.parser->name));
}

/* Should a source that is known be read again? When somebody now says what it is, or it can be recognised by now. */
static int wants_again(struct session *s, const struct known *k, const char *path, struct err *err)
{
	struct arena a;
	struct source_result row = {0}, asked = {0};
	struct naming n = {0};
	arena_init(&a, 0);
	int rc = custody_row(&s->custody, k->source, &row, &a, err);
	bool same_path =
	    rc == 0 && (text_is(row.path, path) || (text_starts(row.path, path) && row.path.ptr[strlen(path)] == '!'));
	char *own = rc == 0 ? strndup(row.path.ptr ? row.path.ptr : "", row.path.len) : NULL;
	if (rc == 0 && !own)
		rc = err_nomem(err);
	if (rc == 0)
		rc = naming_begin(&n, s, own, &asked, &a, err);
	bool again = false;
	if (rc == 0) {
		again =
		    (n.format.len && !text_is(row.format_basis, BASIS_AS_IT_IS) && !stack_fits(row.format, n.format)) ||
		    (n.said && !text_eq(asked.worker, row.worker)) ||
		    (!text_is(asked.tz_basis, "assumed") && !text_eq(asked.tz, row.tz)) ||
		    (n.line && asked.role.len && !text_eq(asked.role, row.role));
		again = again && same_path;
		if (!again && same_path && !n.format.len) {
			rc = map_takes(s, k->source, &row, err);
			again = rc == 1;
		}
	}
	naming_done(&n);
	free(own);
	arena_done(&a);
	return rc < 0 ? rc : again;
}

/* Is the member of `k` now, in the stored file at `path`, another worker's or time's? 1 it is. */
static int is_another_now(struct session *s, const struct known *k, const char *path, struct err *err)
{
	struct arena a;
	struct source_result row = {0}, asked = {0};
	struct naming n = {0};
	arena_init(&a, 0);
	int rc = custody_row(&s->custody, k->source, &row, &a, err);
	size_t bang = rc == 0 ? text_find_char(row.path, '!', 0) : SIZE_MAX;
	struct text member = bang == SIZE_MAX ? TEXT("") : text_from(row.path, bang);
	char *now = NULL;
	if (rc == 0 && asprintf(&now, "%s%.*s", path, TEXT_ARG(member)) < 0)
		rc = err_nomem(err);
	if (rc == 0)
		rc = naming_begin(&n, s, now, &asked, &a, err);
	if (rc == 0) {
		asked.path = text_of(now);
		rc = is_another(s, k->source, &asked, err);
	}
	naming_done(&n);
	free(now);
	arena_done(&a);
	return rc;
}

/* Next source with these stored bytes that is not another worker's or time's by now. *ret_rc: ERR_* or 0. */
static const struct known *next_same(struct session *s, const unsigned char *sha, const char *path, size_t *at,
				     int *ret_rc, struct err *err)
{
	const struct known *k;
	*ret_rc = 0;
	while ((k = custody_next(&s->custody, sha, at))) {
		int rc = is_another_now(s, k, path, err);
		if (rc < 0)
			*ret_rc = rc;
		if (rc <= 0)
			return rc < 0 ? NULL : k;
	}
	return NULL;
}

/* Same stored bytes as before? 1 reported, nothing to read; 0 to be read. */
int known_file(struct session *s, struct source *src, const char *path, struct err *err)
{
	unsigned char sha[SHA256_BYTES];
	int same_size = custody_of_size(&s->custody, source_size(src));
	if (!source_size(src) || !same_size)
		return 0;
	int rc = same_size & 1 ? pool_drain(s->pool, err) : 0;
	if (rc == 0)
		rc = source_digest(src, sha, err);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	const struct known *k;
	bool again = false, any = false;
	for (size_t at = 0; (k = next_same(s, sha, path, &at, &rc, err)) && !again;) {
		any = true;
		rc = wants_again(s, k, path, err);
		if (rc < 0)
			return rc;
		again = rc == 1;
	}
	if (rc < 0 || !any)
		return rc < 0 ? rc : 0;
	rc = pool_drain(s->pool, err); /* results come in the order of the files */
	if (rc < 0)
		return rc;
	for (size_t at = 0; again && (k = next_same(s, sha, path, &at, &rc, err)); at = 0) {
		int64_t source = k->source;
		rc = custody_drop(&s->custody, source, NULL, err);
		if (rc == 0)
			rc = repeat_release(s, source, err);
		if (rc < 0)
			return rc;
	}
	for (size_t at = 0; !again && (k = next_same(s, sha, path, &at, &rc, err));) {
		struct arena a;
		struct source_result row;
		arena_init(&a, 0);
		rc = custody_row(&s->custody, k->source, &row, &a, err);
		size_t bang = rc == 0 ? text_find_char(row.path, '!', 0) : 0;
		char *now = NULL;
		if (rc == 0 && asprintf(&now, "%s%.*s", path, bang == SIZE_MAX ? 0 : (int)(row.path.len - bang),
					bang == SIZE_MAX ? "" : row.path.ptr + bang) < 0)
			rc = err_nomem(err);
		if (rc == 0)
			rc = known_report(s, k->source, text_of(now), NULL, false, err);
		free(now);
		arena_done(&a);
		if (rc < 0)
			return rc;
	}
	return rc < 0 ? rc : !again;
}
