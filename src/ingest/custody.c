/* SPDX-License-Identifier: Apache-2.0 */
/* custody.c - the rows of table `source`
 *
 * A list of digests is held in memory: asking the database for each of ten thousand files would cost a scan each. A row
 * whose status is 'reading' belongs to a run that was stopped; replay.c goes on with it when the same bytes come again.
 */
#include "custody.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct known *add_known(struct custody *k, struct err *err)
{
	if (k->n == k->cap) {
		size_t cap = k->cap ? k->cap * 2 : 256;
		struct known *grown = reallocarray(k->known, cap, sizeof(*grown));
		if (!grown) {
			err_nomem(err);
			return NULL;
		}
		k->known = grown;
		k->cap = cap;
	}
	struct known *e = &k->known[k->n++];
	*e = (struct known){0};
	return e;
}

struct known *custody_find(const struct custody *k, int64_t source)
{
	for (size_t i = k->n; i-- > 0;)
		if (k->known[i].source == source)
			return &k->known[i];
	return NULL;
}

struct traits custody_traits(const struct source_result *r)
{
	struct traits t = {.bytes = r->account.bytes, .worker = text_hash(r->worker)};
	t.kind = text_hash(r->format) ^ (text_hash(r->tz) << 1);
	t.named = r->worker.len && !text_is(r->worker_basis, "path");
	t.first_ns = r->first_ns;
	return t;
}

int custody_open(struct custody *k, struct case_file *c, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	*k = (struct custody){.c = c, .next = 1};
	int rc = sql_prepare(
	    &s, c,
	    "SELECT source, sha256, content_sha256, stored_bytes, status, format_basis, path, records, duplicate,"
	    " bytes, worker, worker_basis, format, tz, first_ns, container,"
	    " EXISTS(SELECT 1 FROM seam WHERE seam.source=source.source AND whole IS NOT NULL)"
	    " FROM source ORDER BY source",
	    err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		struct known *e = add_known(k, err);
		if (!e)
			return ERR_NOMEM;
		e->source = sql_get_int(s, 0);
		e->has_sha = sha256_unhex(sql_get_text(s, 1), e->sha256);
		e->has_content = sha256_unhex(sql_get_text(s, 2), e->content);
		e->stored_bytes = (uint64_t)sql_get_int(s, 3);
		e->reading = text_is(sql_get_text(s, 4), "reading");
		head_get(&e->head, sql_get_text(s, 5));
		e->path_hash = text_hash(sql_get_text(s, 6));
		struct source_result r = {.account.bytes = (uint64_t)sql_get_int(s, 9)};
		r.worker = sql_get_text(s, 10);
		r.worker_basis = sql_get_text(s, 11);
		r.format = sql_get_text(s, 12);
		r.tz = sql_get_text(s, 13);
		r.first_ns = sql_get_time(s, 14);
		e->traits = custody_traits(&r);
		e->repeats = sql_get_int(s, 7) > 0 && sql_get_int(s, 7) == sql_get_int(s, 8) && !sql_get_int(s, 16);
		e->failed = text_is(sql_get_text(s, 4), "failed");
		e->seam = text_is(sql_get_text(s, 15), CONTAINER_SEAM);
		k->n_reading += e->reading;
		k->next = MAX(k->next, e->source + 1);
	}
	k->first = k->next;
	if (rc < 0)
		custody_close(k);
	return rc < 0 ? rc : 0;
}

void custody_close(struct custody *k)
{
	free(k->known);
	k->known = NULL;
	k->n = k->cap = 0;
}

int custody_of_size(const struct custody *k, uint64_t stored_bytes)
{
	int found = 0;
	for (size_t i = 0; i < k->n; i++) {
		if (k->known[i].stored_bytes != stored_bytes)
			continue;
		if (k->known[i].pending)
			found |= 1;
		else if (k->known[i].has_sha)
			found |= 2;
	}
	return found;
}

const struct known *custody_next(const struct custody *k, const unsigned char sha256[SHA256_BYTES], size_t *at)
{
	while (*at < k->n) {
		const struct known *e = &k->known[(*at)++];
		if (e->has_sha && !e->pending && !memcmp(e->sha256, sha256, SHA256_BYTES))
			return e;
	}
	return NULL;
}

const struct known *custody_of_content(const struct custody *k, const unsigned char content[SHA256_BYTES],
				       int64_t except, size_t *at)
{
	while (*at < k->n) {
		const struct known *e = &k->known[(*at)++];
		if (e->has_content && !e->pending && !e->failed && e->source != except &&
		    !memcmp(e->content, content, SHA256_BYTES))
			return e;
	}
	return NULL;
}

/* Another source than `except` has perhaps this path. */
static bool has_path(const struct custody *k, struct text path, int64_t except)
{
	uint64_t hash = text_hash(path);
	for (size_t i = 0; i < k->n; i++)
		if (k->known[i].path_hash == hash && k->known[i].source != except)
			return true;
	return false;
}

int custody_empty(struct custody *k, struct text path, int64_t except, int64_t *ret, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	*ret = 0;
	if (!has_path(k, path, except))
		return 0;
	int rc = sql_prepare(&s, k->c,
			     "SELECT source FROM source WHERE path=?1 AND source<>?2 AND bytes=0 AND status NOT IN "
			     "('reading', 'failed') LIMIT 1",
			     err);
	if (rc == 0)
		rc = sql_text(s, 1, path, err);
	if (rc == 0)
		rc = sql_int(s, 2, except, err);
	if (rc == 0)
		rc = sql_step(s, err);
	if (rc == 1)
		*ret = sql_get_int(s, 0);
	return rc < 0 ? rc : 0;
}

/* Empty texts are NULL in the table. */
static int bind_text(struct sql *s, const char *name, struct text t, struct err *err)
{
	return sql_text(s, sql_param(s, name), t.len ? t : (struct text){NULL, 0}, err);
}

static int bind_int(struct sql *s, const char *name, uint64_t v, struct err *err)
{
	return sql_int(s, sql_param(s, name), (int64_t)v, err);
}

int custody_begin(struct custody *k, struct source_result *r, uint64_t size_hint, const struct head *head,
		  struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct known *e = add_known(k, err);
	if (!e)
		return ERR_NOMEM;
	e->source = r->source = k->next++;
	e->stored_bytes = size_hint;
	if (head)
		e->head = *head;
	e->traits = custody_traits(r);
	e->path_hash = text_hash(r->path);
	e->pending = true;
	e->seam = text_is(r->container, CONTAINER_SEAM);
	int rc = sql_prepare(
	    &s, k->c,
	    "INSERT INTO source(source, path, container, format, format_basis, worker, worker_alias, worker_basis,"
	    " role, tz, tz_basis, status) VALUES(:source, :path, :container, :format, :format_basis, :worker,"
	    " :worker_alias, :worker_basis, :role, :tz, :tz_basis, 'reading')",
	    err);
	if (rc == 0)
		rc = bind_int(s, ":source", (uint64_t)r->source, err);
	const struct {
		const char *name;
		struct text t;
	} texts[] = {{":path", r->path},
		     {":container", r->container},
		     {":format", r->format},
		     {":format_basis", r->format_basis},
		     {":worker", r->worker},
		     {":worker_alias", r->worker_alias},
		     {":worker_basis", r->worker_basis},
		     {":role", r->role},
		     {":tz", r->tz},
		     {":tz_basis", r->tz_basis}};
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(texts); i++)
		rc = bind_text(s, texts[i].name, texts[i].t, err);
	return rc < 0 ? rc : sql_run(s, err);
}

static int bind_account(struct sql *s, const struct account *a, struct err *err)
{
	const struct {
		const char *name;
		uint64_t v;
	} ints[] = {{":bytes", a->bytes},
		    {":records", a->records},
		    {":parsed", a->parsed},
		    {":context", a->context},
		    {":unparsed", a->unparsed},
		    {":duplicate", a->duplicate},
		    {":bytes_parsed", a->bytes_parsed},
		    {":bytes_context", a->bytes_context},
		    {":bytes_unparsed", a->bytes_unparsed},
		    {":bytes_duplicate", a->bytes_duplicate}};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(ints); i++)
		rc = bind_int(s, ints[i].name, ints[i].v, err);
	return rc;
}

int custody_finish(struct custody *k, const struct source_result *r, const unsigned char *sha256,
		   const unsigned char *content, const char *status, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	char sha_hex[SHA256_HEX] = "", content_hex[SHA256_HEX] = "";
	struct known *e = custody_find(k, r->source);
	if (e) {
		e->pending = false;
		e->came = e->touched = true;
		e->failed = r->status == SOURCE_FAILED;
		e->traits = custody_traits(r);
		e->stored_bytes = r->stored_bytes;
		e->has_sha = sha256 != NULL;
		e->has_content = content != NULL;
		if (sha256)
			memcpy(e->sha256, sha256, SHA256_BYTES);
		if (content)
			memcpy(e->content, content, SHA256_BYTES);
	}
	if (sha256)
		sha256_hex(sha256, sha_hex);
	if (content)
		sha256_hex(content, content_hex);
	int rc = sql_prepare(
	    &s, k->c,
	    "UPDATE source SET sha256=:sha256, content_sha256=:content, stored_bytes=:stored, worker=:worker,"
	    " worker_alias=:worker_alias, worker_basis=:worker_basis, tz_basis=:tz_basis,"
	    " bytes=:bytes, records=:records, parsed=:parsed,"
	    " context=:context, unparsed=:unparsed, duplicate=:duplicate, bytes_parsed=:bytes_parsed,"
	    " bytes_context=:bytes_context, bytes_unparsed=:bytes_unparsed, bytes_duplicate=:bytes_duplicate,"
	    " first_ns=:first, last_ns=:last, status=:status, reason=:reason WHERE source=:source",
	    err);
	if (rc == 0)
		rc = bind_account(s, &r->account, err);
	const struct {
		const char *name;
		struct text t;
	} texts[] = {{":sha256", text_of(sha_hex)},
		     {":content", text_of(content_hex)},
		     {":worker", r->worker},
		     {":worker_alias", r->worker_alias},
		     {":worker_basis", r->worker_basis},
		     {":tz_basis", r->tz_basis.len ? r->tz_basis : TEXT("assumed")},
		     {":status", text_of(status)},
		     {":reason", r->reason}};
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(texts); i++)
		rc = bind_text(s, texts[i].name, texts[i].t, err);
	if (rc == 0)
		rc = bind_int(s, ":stored", r->stored_bytes, err);
	if (rc == 0)
		rc = bind_int(s, ":source", (uint64_t)r->source, err);
	if (rc == 0)
		rc = sql_int(s, sql_param(s, ":first"), r->first_ns, err);
	if (rc == 0)
		rc = sql_int(s, sql_param(s, ":last"), r->last_ns, err);
	return rc < 0 ? rc : sql_run(s, err);
}

static int journal_drop(struct custody *k, int64_t source, const char *why, struct err *err)
{
	struct buf detail = BUF_INIT(64 * KIB);
	unsigned char head[SHA256_BYTES];
	int rc = buf_printf(&detail, err, "{\"source\":%lld,\"reason\":", (long long)source);
	if (rc == 0)
		rc = buf_json_string(&detail, text_of(why), err);
	if (rc == 0)
		rc = buf_add_char(&detail, '}', err);
	if (rc == 0)
		rc = journal_append(k->c, k->now_ns, "drop", buf_text(&detail), head, err);
	buf_done(&detail);
	return rc;
}

static int run_all(struct custody *k, const char *const *statements, size_t n, int64_t a, int64_t b, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		CLEANUP(sql_endp) struct sql *s = NULL;
		rc = sql_prepare(&s, k->c, statements[i], err);
		if (rc == 0)
			rc = sql_int(s, 1, a, err);
		if (rc == 0 && sql_params(s) > 1)
			rc = sql_int(s, 2, b, err);
		if (rc == 0)
			rc = sql_run(s, err);
	}
	return rc;
}

static void forget(struct custody *k, struct known *e)
{
	k->n_reading -= e->reading;
	size_t at = (size_t)(e - k->known);
	memmove(e, e + 1, (--k->n - at) * sizeof(*e));
}

int custody_drop_events(struct custody *k, int64_t source, struct err *err)
{
	static const char *const statements[] = {
	    "DELETE FROM event_chunk WHERE kind BETWEEN 0 AND 63 AND source=?1",
	    "DELETE FROM reject WHERE source=?1",
	};
	return run_all(k, statements, ARRAY_SIZE(statements), source, 0, err);
}

static int has_seams(struct custody *k, int64_t source, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, k->c, "SELECT 1 FROM seam WHERE source=?1 LIMIT 1", err);
	if (rc == 0)
		rc = sql_int(s, 1, source, err);
	return rc < 0 ? rc : sql_step(s, err);
}

int custody_drop(struct custody *k, int64_t source, const char *why, struct err *err)
{
	static const char *const statements[] = {
	    "DELETE FROM evidence_chunk WHERE source=?1",
	    "DELETE FROM clock WHERE source=?1",
	    "DELETE FROM gap WHERE source=?1",
	    "DELETE FROM seam WHERE source=?1",
	    "DELETE FROM source WHERE source=?1",
	};
	int rc = has_seams(k, source, err);
	k->seams_lost |= rc == 1;
	rc = rc < 0 ? rc : custody_drop_events(k, source, err);
	if (rc == 0)
		rc = run_all(k, statements, ARRAY_SIZE(statements), source, 0, err);
	struct known *e = custody_find(k, source);
	if (rc == 0 && e && !e->pending && !e->reading)
		rc = journal_drop(k, source, why ? why : "read again", err);
	if (e)
		forget(k, e);
	return rc;
}

int custody_reached(struct custody *k, int64_t source, uint64_t bytes, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	char reason[96];
	snprintf(reason, sizeof(reason), "not read to its end: the first %llu byte%s %s here",
		 (unsigned long long)bytes, PLURAL(bytes), bytes == 1 ? "is" : "are");
	int rc = sql_prepare(&s, k->c, "UPDATE source SET reason=?2 WHERE source=?1 AND status='reading'", err);
	if (rc == 0)
		rc = sql_int(s, 1, source, err);
	if (rc == 0)
		rc = sql_text(s, 2, text_of(reason), err);
	return rc < 0 ? rc : sql_run(s, err);
}

int custody_take_over(struct custody *k, int64_t source, int64_t old, struct err *err)
{
	static const char *const statements[] = {
	    "DELETE FROM source WHERE source=?1",
	    "UPDATE source SET source=?1 WHERE source=?2",
	};
	struct known *e = custody_find(k, source), *was = custody_find(k, old);
	if (!e || !was)
		return err_set(err, ERR_BUG, "source %lld is not there", (long long)(e ? old : source));
	int rc = run_all(k, statements, ARRAY_SIZE(statements), old, source, err);
	if (rc < 0)
		return rc;
	e->source = old;
	forget(k, was);
	return 0;
}

int custody_adopt(struct custody *k, int64_t source, const struct source_result *r, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, k->c,
			     "UPDATE source SET path=:path, container=:container, sha256=:sha256, stored_bytes=:stored,"
			     " worker=:worker, worker_alias=:worker_alias, worker_basis=:worker_basis, role=:role"
			     " WHERE source=:source",
			     err);
	const struct {
		const char *name;
		struct text t;
	} texts[] = {{":path", r->path},     {":container", r->container},       {":sha256", text_of(r->sha256)},
		     {":worker", r->worker}, {":worker_alias", r->worker_alias}, {":worker_basis", r->worker_basis},
		     {":role", r->role}};
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(texts); i++)
		rc = bind_text(s, texts[i].name, texts[i].t, err);
	if (rc == 0)
		rc = bind_int(s, ":stored", r->stored_bytes, err);
	if (rc == 0)
		rc = bind_int(s, ":source", (uint64_t)source, err);
	struct known *e = custody_find(k, source);
	if (e) {
		e->touched = true;
		e->path_hash = text_hash(r->path);
		e->stored_bytes = r->stored_bytes;
		e->has_sha = sha256_unhex(text_of(r->sha256), e->sha256);
		e->traits.worker = text_hash(r->worker);
		e->traits.named = r->worker.len && !text_is(r->worker_basis, "path");
	}
	return rc < 0 ? rc : sql_run(s, err);
}

int custody_repeats(struct custody *k, int64_t source, const char *reason, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = custody_drop_events(k, source, err);
	if (rc == 0)
		rc = sql_prepare(
		    &s, k->c,
		    "UPDATE source SET duplicate=records, bytes_duplicate=bytes, parsed=0, context=0, unparsed=0,"
		    " bytes_parsed=0, bytes_context=0, bytes_unparsed=0, reason=coalesce(?2, reason)"
		    " WHERE source=?1",
		    err);
	if (rc == 0)
		rc = sql_int(s, 1, source, err);
	if (rc == 0)
		rc = sql_text(s, 2, reason ? text_of(reason) : (struct text){NULL, 0}, err);
	struct known *e = custody_find(k, source);
	if (e)
		e->repeats = e->touched = true;
	return rc < 0 ? rc : sql_run(s, err);
}

int custody_give_up(struct custody *k, int64_t source, const char *reason, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, k->c, "UPDATE source SET status='failed', reason=?2 WHERE source=?1", err);
	if (rc == 0)
		rc = sql_int(s, 1, source, err);
	if (rc == 0)
		rc = sql_text(s, 2, text_of(reason), err);
	struct known *e = custody_find(k, source);
	if (e) {
		k->n_reading -= e->reading;
		e->reading = e->stale = false;
		e->failed = true;
	}
	return rc < 0 ? rc : sql_run(s, err);
}

static int drop_all_of(struct custody *k, struct sql *s, struct err *err)
{
	int64_t list[64];
	size_t n = 0;
	int rc, dropped = 0;
	while (n < ARRAY_SIZE(list) && (rc = sql_step(s, err)) == 1)
		list[n++] = sql_get_int(s, 0);
	if (n == ARRAY_SIZE(list))
		rc = 0;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		rc = custody_drop(k, list[i], NULL, err);
		dropped = 1;
	}
	return rc < 0 ? rc : dropped;
}

int custody_drop_unread(struct custody *k, struct text path, struct text reason, int64_t *ret_same, struct err *err)
{
	*ret_same = 0;
	while (has_path(k, path, 0)) {
		CLEANUP(sql_endp) struct sql *s = NULL;
		int rc = sql_prepare(&s, k->c,
				     "SELECT source, reason FROM source WHERE path=?1 AND source<>?2 AND bytes=0"
				     " AND status='failed' AND sha256 IS NULL LIMIT 1",
				     err);
		if (rc == 0)
			rc = sql_text(s, 1, path, err);
		if (rc == 0)
			rc = sql_int(s, 2, *ret_same, err);
		if (rc == 0)
			rc = sql_step(s, err);
		if (rc <= 0)
			return rc;
		int64_t source = sql_get_int(s, 0);
		bool same = reason.len && !*ret_same && text_eq(sql_get_text(s, 1), reason);
		sql_end(s);
		s = NULL;
		if (same)
			*ret_same = source;
		else if ((rc = custody_drop(k, source, NULL, err)) < 0)
			return rc;
	}
	return 0;
}

int custody_drop_parts(struct custody *k, int64_t source, struct err *err)
{
	if (!k->n_reading)
		return 0;
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, k->c,
			     "SELECT source FROM source AS r WHERE status='reading' AND source<?2"
			     " AND EXISTS(SELECT 1 FROM evidence_chunk WHERE source=r.source)"
			     " AND NOT EXISTS(SELECT 1 FROM evidence_chunk AS p WHERE p.source=r.source AND NOT EXISTS"
			     "  (SELECT 1 FROM evidence_chunk AS n WHERE n.source=?1 AND n.byte_off=p.byte_off"
			     "   AND n.sha256=p.sha256))",
			     err);
	if (rc == 0)
		rc = sql_int(s, 1, source, err);
	if (rc == 0)
		rc = sql_int(s, 2, k->first, err);
	return rc < 0 ? rc : drop_all_of(k, s, err);
}

static int get_text(struct sql *s, int col, struct arena *a, struct text *ret, struct err *err)
{
	*ret = arena_text(a, sql_get_text(s, col));
	return sql_get_text(s, col).len && !ret->ptr ? err_nomem(err) : 0;
}

int custody_row(struct custody *k, int64_t source, struct source_result *r, struct arena *a, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(
	    &s, k->c,
	    "SELECT path, container, format, worker, reason, worker_alias, worker_basis, role, tz, tz_basis,"
	    " format_basis, sha256, content_sha256, stored_bytes, records, parsed, context, unparsed, duplicate,"
	    " bytes, bytes_parsed, bytes_context, bytes_unparsed, bytes_duplicate, first_ns, last_ns"
	    " FROM source WHERE source=?1",
	    err);
	if (rc == 0)
		rc = sql_int(s, 1, source, err);
	if (rc == 0)
		rc = sql_step(s, err);
	if (rc <= 0)
		return rc < 0 ? rc : err_set(err, ERR_BUG, "source %lld is not there", (long long)source);
	*r = (struct source_result){.source = source};
	struct text *texts[] = {&r->path,   &r->container,    &r->format,       &r->worker,
				&r->reason, &r->worker_alias, &r->worker_basis, &r->role,
				&r->tz,     &r->tz_basis,     &r->format_basis};
	rc = 0;
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(texts); i++)
		rc = get_text(s, (int)i, a, texts[i], err);
	struct text sha = sql_get_text(s, 11), content = sql_get_text(s, 12);
	memcpy(r->sha256, sha.ptr ? sha.ptr : "", MIN(sha.len, SHA256_HEX - 1));
	memcpy(r->content_sha256, content.ptr ? content.ptr : "", MIN(content.len, SHA256_HEX - 1));
	r->stored_bytes = (uint64_t)sql_get_int(s, 13);
	uint64_t *ints[] = {&r->account.records,        &r->account.parsed,        &r->account.context,
			    &r->account.unparsed,       &r->account.duplicate,     &r->account.bytes,
			    &r->account.bytes_parsed,   &r->account.bytes_context, &r->account.bytes_unparsed,
			    &r->account.bytes_duplicate};
	for (size_t i = 0; i < ARRAY_SIZE(ints); i++)
		*ints[i] = (uint64_t)sql_get_int(s, 14 + (int)i);
	r->first_ns = sql_get_time(s, 24);
	r->last_ns = sql_get_time(s, 25);
	return rc;
}
