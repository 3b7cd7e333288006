/* SPDX-License-Identifier: Apache-2.0 */
/* ingest.c - one run: paths to stored files, stored files to sources, and what the case says of them at the end
 *
 * A stored file is finished by a task of its own behind its chunks: only then its rows leave the status 'reading', in
 * one transaction with the journal. So a run that was killed leaves whole sources, and parts with which the next run
 * goes on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "known.h"
#include "pagetrail/map.h"
#include "repeat.h"
#include "seam.h"
#include "session.h"
#include "walk.h"

enum { COMMIT_BYTES = 4 * 1024 * 1024, QUEUE_PER_JOB = 3 };

struct finish_task {
	struct task task;
	struct session *s;
	struct stored st;
};

int session_wrote(struct session *s, uint64_t bytes, int64_t source, uint64_t end, struct err *err)
{
	s->uncommitted += bytes;
	if (s->uncommitted < COMMIT_BYTES)
		return 0;
	s->uncommitted = 0;
	int rc = source ? custody_reached(&s->custody, source, end, err) : 0;
	if (rc == 0)
		rc = begun_save(&s->begun, err);
	if (rc == 0)
		rc = case_commit(s->c, err);
	return rc < 0 ? rc : case_begin(s->c, err);
}

bool session_stopped(const struct session *s)
{
	return s->o->stop && *s->o->stop;
}

void session_progress(struct session *s, const struct source *src, struct text path)
{
	struct ingest_progress p = s->progress;
	p.path = path;
	p.stored_bytes += src ? source_taken(src) : 0;
	if (s->o->on_progress)
		s->o->on_progress(s->o->ctx, &p);
}

struct stored_member *stored_add(struct stored *st)
{
	struct stored_member *m = arena_alloc(&st->arena, sizeof(*m));
	if (!m)
		return NULL;
	m->r.first_ns = m->r.last_ns = TIME_UNKNOWN;
	*(st->end ? st->end : &st->first) = m;
	st->end = &m->next;
	return m;
}

int task_nothing(struct task *t, struct err *err)
{
	(void)t;
	(void)err;
	return 0;
}

int session_report(struct session *s, const struct source_result *r)
{
	return s->o->on_source ? s->o->on_source(s->o->ctx, r) : 0;
}

/* --- the end of a stored file --- */

static const char *const status_names[] = {"ingested", "known", "resumed", "unrecognised", "failed"};

static int add_field(struct buf *b, const char *name, struct text t, struct err *err)
{
	if (!t.len)
		return 0;
	int rc = buf_printf(b, err, ",\"%s\":", name);
	return rc < 0 ? rc : buf_json_string(b, t, err);
}

int journal_source(struct session *s, const struct source_result *r, const struct replay_end *was, struct err *err)
{
	struct buf b = BUF_INIT(1 * MIB);
	unsigned char head[SHA256_BYTES];
	int rc = buf_add_text(&b, TEXT("{\"path\":"), err);
	if (rc == 0)
		rc = buf_json_string(&b, r->path, err);
	if (rc == 0)
		rc = buf_printf(&b, err, ",\"status\":\"%s\"", status_names[r->status]);
	if (rc == 0 && r->source)
		rc = buf_printf(&b, err, ",\"source\":%lld,\"bytes\":%llu,\"records\":%llu", (long long)r->source,
				(unsigned long long)r->account.bytes, (unsigned long long)r->account.records);
	if (rc == 0)
		rc = add_field(&b, "sha256", text_of(r->sha256), err);
	if (rc == 0)
		rc = add_field(&b, "content_sha256", text_of(r->content_sha256), err);
	if (rc == 0)
		rc = add_field(&b, "format", r->format, err);
	if (rc == 0)
		rc = add_field(&b, "worker", r->worker, err);
	if (rc == 0)
		rc = add_field(&b, "role", r->role, err);
	if (rc == 0)
		rc = add_field(&b, "tz", r->tz, err);
	if (rc == 0)
		rc = add_field(&b, "reason", r->reason, err);
	if (rc == 0 && was && was->goes_on) {
		rc = add_field(&b, "was_sha256", text_of(was->sha256), err);
		if (rc == 0)
			rc = add_field(&b, "was_content_sha256", text_of(was->content_sha256), err);
	}
	if (rc == 0 && r->source) {
		char seal[SHA256_HEX];
		rc = source_seal(s->c, r->source, seal, err);
		if (rc == 0)
			rc = add_field(&b, "seal", text_of(seal), err);
	}
	if (rc == 0)
		rc = buf_add_char(&b, '}', err);
	if (rc == 0)
		rc = journal_append(s->c, s->o->now_ns, "ingest", buf_text(&b), head, err);
	buf_done(&b);
	return rc;
}

/* r->reason, for those who look on: the row says what it would say had the file been read at once. */
static void say_goes_on(struct stored *st, struct source_result *r, const struct replay_end *was)
{
	char tmp[128];
	snprintf(tmp, sizeof(tmp), "its file has grown: %llu byte%s of it %s known", (unsigned long long)was->bytes,
		 PLURAL(was->bytes), was->bytes == 1 ? "was" : "were");
	struct text t = arena_text(&st->arena, text_of(tmp));
	if (!r->reason.len && t.ptr)
		r->reason = t;
}

/* Is it the beginning of another source? 1: nothing is left to do. */
static int finish_repeat(struct session *s, struct stored *st, struct stored_member *m, bool *ret_repeats,
			 struct err *err)
{
	struct source_result *r = &m->r;
	struct repeat found;
	*ret_repeats = false;
	int rc = repeat_look(s, r, st, &found, err);
	if (rc < 0 || !found.whole)
		return rc;
	if (found.same_file && r->status != SOURCE_FAILED) {
		rc = custody_drop(&s->custody, r->source, NULL, err);
		if (rc == 0)
			rc = known_report(s, found.whole, r->path, r, true, err);
		return rc < 0 ? rc : 1;
	}
	struct account *a = &r->account;
	*a = (struct account){
	    .records = a->records, .duplicate = a->records, .bytes = a->bytes, .bytes_duplicate = a->bytes};
	if (r->status != SOURCE_FAILED)
		r->reason = arena_text(&st->arena, text_of(found.reason));
	*ret_repeats = true;
	return r->reason.len && !r->reason.ptr ? err_nomem(err) : 0;
}

/* The row as it stays, and what follows from it for others. */
static int finish_row(struct session *s, struct stored *st, struct stored_member *m, const unsigned char *content,
		      struct err *err)
{
	struct source_result *r = &m->r;
	bool repeats;
	int rc = finish_repeat(s, st, m, &repeats, err);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = custody_finish(&s->custody, r, st->has_sha ? st->sha256 : NULL, content, status_names[r->status], err);
	if (rc == 0 && repeats)
		rc = custody_repeats(&s->custody, r->source, NULL, err);
	if (rc == 0 && s->custody.n_reading) {
		rc = custody_drop_parts(&s->custody, r->source, err);
		m->was.resumed |= rc == 1;
	}
	if (rc < 0)
		return rc;
	if (m->was.resumed && r->status == SOURCE_INGESTED)
		r->status = SOURCE_RESUMED;
	if (m->was.goes_on)
		say_goes_on(st, r, &m->was);
	rc = journal_source(s, r, &m->was, err);
	return rc < 0 ? rc : session_report(s, r);
}

static int finish_member(struct session *s, struct stored *st, struct stored_member *m, struct err *err)
{
	struct source_result *r = &m->r;
	const unsigned char *content = m->has_content ? m->content : m->plain && st->has_sha ? st->sha256 : NULL;
	r->stored_bytes = st->bytes;
	if (st->has_sha)
		sha256_hex(st->sha256, r->sha256);
	if (!r->source || m->standing) { /* a link, or what could not be read before either */
		int rc = journal_source(s, r, NULL, err);
		return rc < 0 ? rc : session_report(s, r);
	}
	if (content)
		sha256_hex(content, r->content_sha256);
	int64_t known = 0;
	int rc = 0;
	if (content && r->status != SOURCE_FAILED && r->account.bytes)
		rc = known_twin(s, content, r, &known, err);
	else if (r->status != SOURCE_FAILED)
		rc = custody_empty(&s->custody, r->path, r->source, &known, err);
	if (rc == 0 && known) {
		rc = custody_drop(&s->custody, r->source, NULL, err);
		return rc < 0 ? rc : known_report(s, known, r->path, r, false, err);
	}
	return rc < 0 ? rc : finish_row(s, st, m, content, err);
}

static void finish_drop(struct task *t)
{
	struct finish_task *f = (struct finish_task *)t;
	arena_done(&f->st.arena);
	free((char *)f->st.path);
	free(f);
}

static int finish_done(struct task *t, struct err *err)
{
	struct finish_task *f = (struct finish_task *)t;
	int rc = 0;
	for (struct stored_member *m = f->st.first; m && rc == 0; m = m->next)
		rc = finish_member(f->s, &f->st, m, err);
	if (rc == 0)
		rc = session_wrote(f->s, COMMIT_BYTES, 0, 0, err); /* what is reported is kept */
	finish_drop(t);
	return rc;
}

/* --- one stored file --- */

/* A source that nothing can be read of. It has a row all the same: what is missing must be known. A link to another
 * member has none: its bytes are there. */
static int add_broken(struct session *s, struct stored *st, const char *path, const char *container, const char *reason,
		      bool link, struct err *err)
{
	struct stored_member *m = stored_add(st);
	struct naming n = {0};
	if (!m)
		return err_nomem(err);
	struct source_result *r = &m->r;
	r->path = arena_text(&st->arena, text_of(path));
	r->container = arena_text(&st->arena, text_of(container));
	r->reason = arena_text(&st->arena, text_of(reason));
	r->status = link ? SOURCE_KNOWN : SOURCE_FAILED;
	r->format_basis = TEXT(BASIS_NOT_READ);
	if (!r->path.ptr || !r->reason.ptr || !r->container.ptr)
		return err_nomem(err);
	if (link)
		return 0;
	int rc = naming_begin(&n, s, path, r, &st->arena, err);
	naming_done(&n);
	if (rc < 0 || s->o->plan)
		return rc;
	rc = custody_drop_unread(&s->custody, r->path, r->reason, &r->source, err);
	m->standing = r->source != 0;
	return rc < 0 || m->standing ? rc : custody_begin(&s->custody, r, 0, NULL, err);
}

static int read_members(struct session *s, struct source *src, struct stored *st, struct err *err)
{
	const struct member *m;
	int rc;
	while ((rc = source_next(src, &m, err)) == 1) {
		if (session_stopped(s))
			return err_set(err, ERR_INTERRUPTED, "stopped by a signal");
		if (m->empty_handed)
			rc = add_broken(s, st, m->name, m->container, source_reason(src), m->same_as != NULL, err);
		else
			rc = pipeline_member(s, src, m, st, err);
		if (rc < 0)
			return rc;
	}
	return rc;
}

static int end_plan(struct session *s, struct finish_task *f)
{
	int rc = 0;
	for (struct stored_member *m = f->st.first; m && rc == 0; m = m->next) {
		m->r.account = (struct account){0}; /* only the head was read */
		rc = session_report(s, &m->r);
	}
	finish_drop(&f->task);
	return rc;
}

/* Somebody wrote to the file while it was read. */
static void note_change(struct stored *st, const struct source *src)
{
	bool lost;
	const char *why = source_changed(src, &lost);
	for (struct stored_member *m = st->first; why && m; m = m->next) {
		if (m->r.status == SOURCE_KNOWN || m->r.status == SOURCE_FAILED)
			continue;
		if (lost)
			m->r.status = SOURCE_FAILED;
		if (lost || !m->r.reason.len)
			m->r.reason = text_of(why);
	}
}

static int one_file(struct session *s, const char *path, const char *why, struct err *err)
{
	CLEANUP(source_closep) struct source *src = NULL;
	struct err cannot = {0};
	int rc = why        ? err_set(&cannot, ERR_INPUT, "%s", why)
		 : s->given ? source_of_bytes(&src, path, *s->given, &cannot)
			    : source_open(&src, path, &cannot);
	if (rc == ERR_NOMEM)
		return err_nomem(err);
	if (rc < 0 && s->given) {
		if (err)
			*err = cannot;
		return rc;
	}
	if (rc == 0 && !s->o->plan) {
		int64_t none;
		rc = custody_drop_unread(&s->custody, text_of(path), TEXT(""), &none, err);
		if (rc == 0)
			rc = known_file(s, src, path, err);
		if (rc != 0) {
			s->progress.stored_bytes += source_size(src);
			session_progress(s, NULL, text_of(path));
			return rc < 0 ? rc : 0;
		}
	}
	struct finish_task *f = calloc(1, sizeof(*f));
	if (!f)
		return err_nomem(err);
	f->task = (struct task){.run = task_nothing, .done = finish_done, .drop = finish_drop};
	f->s = s;
	arena_init(&f->st.arena, 0);
	f->st.path = strdup(path);
	if (!f->st.path)
		rc = err_nomem(err);
	else if (!src)
		rc = add_broken(s, &f->st, path, "none", cannot.what, false, err);
	else
		rc = read_members(s, src, &f->st, err);
	if (rc == 0 && src && !s->o->plan)
		rc = source_end(src, f->st.sha256, &f->st.bytes, &f->st.has_sha, err);
	if (rc == 0 && src && !s->o->plan) {
		note_change(&f->st, src);
		s->progress.stored_bytes += source_taken(src);
	}
	if (rc < 0) {
		finish_drop(&f->task);
		return rc;
	}
	return s->o->plan ? end_plan(s, f) : pool_submit(s->pool, &f->task, err);
}

int session_store(struct session *s, const char *name, struct text bytes, const struct source_result *like,
		  struct err *err)
{
	s->given = &bytes;
	s->like = like;
	int rc = one_file(s, name, NULL, err);
	if (rc == 0)
		rc = pool_drain(s->pool, err); /* while they are there */
	s->given = NULL;
	s->like = NULL;
	return rc;
}

static void warn(struct session *s, const char *path, const char *what)
{
	char *line = NULL;
	if (s->o->on_warning && asprintf(&line, "%s: %s", path, what) >= 0)
		s->o->on_warning(s->o->ctx, text_of(line));
	free(line);
}

static int on_file(void *ctx, const char *path, const char *why, struct err *err)
{
	struct session *s = ctx;
	if (session_stopped(s))
		return err_set(err, ERR_INTERRUPTED, "stopped by a signal");
	if (!why && strcmp(path, "-") != 0 && own_is(&s->own, path)) {
		warn(s, path, "left out, it is the case itself");
		return 0;
	}
	s->files++;
	if (s->begun.at < s->begun.n)
		s->begun.paths[s->begun.at].started++;
	return one_file(s, path, why, err);
}

/* A folder that could not be read before and can be now: its row goes, as that of a file does. */
static int on_folder(void *ctx, const char *path, struct err *err)
{
	struct session *s = ctx;
	int64_t none;
	return s->o->plan ? 0 : custody_drop_unread(&s->custody, text_of(path), TEXT(""), &none, err);
}

/* --- the run --- */

/* Of each path: how many files are below it, and how large they are. */
static int add_size(void *ctx, const char *path, const char *why, struct err *err)
{
	struct session *s = ctx;
	struct stat st;
	(void)err;
	bool in = !strcmp(path, "-"), own = !why && !in && own_is(&s->own, path);
	s->unbounded |= in; /* until its end */
	if (!own && s->begun.at < s->begun.n)
		s->begun.paths[s->begun.at].files++;
	if (!why && !in && !own && stat(path, &st) == 0)
		s->progress.total_bytes += (uint64_t)st.st_size;
	return 0;
}

static int find_sizes(struct session *s, const char *const *paths, size_t n_paths, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; i < n_paths && rc == 0; i++) {
		s->begun.at = i;
		s->begun.paths[i].files = 0;
		rc = walk(paths[i], add_size, s, err);
		if (rc == 0)
			rc = begun_save(&s->begun, err);
	}
	s->begun.at = 0;
	if (s->unbounded)
		s->progress.total_bytes = 0;
	return rc;
}

/* Maps that sources of the case were read with, as their rows hold them: a file that has grown is read with its own again. */
static int keep_maps(struct session *s, struct case_file *c, struct err *err)
{
	CLEANUP(sql_endp) struct sql *q = NULL;
	int rc = sql_prepare(&q, c,
			     "SELECT min(format_basis) FROM source WHERE format GLOB '*@*' GROUP BY format "
			     "ORDER BY format LIMIT ?1",
			     err);
	if (rc == 0)
		rc = sql_int(q, 1, MAPS_KEPT_MAX, err);
	while (rc == 0 && (rc = sql_step(q, err)) == 1) {
		struct map *m = NULL;
		rc = map_from_basis(&m, sql_get_text(q, 0), err);
		if (rc == 0 && m && !parser_find(s->o->parsers, s->o->n_parsers, text_of(map_parser(m)->name)))
			s->kept[s->n_kept++] = m;
		else
			map_free(m);
	}
	return rc;
}

static int open_formats(struct session *s, struct case_file *c, struct err *err)
{
	const struct ingest_options *o = s->o;
	s->kept = calloc(MAPS_KEPT_MAX, sizeof(struct map *));
	s->list = calloc(o->n_parsers + MAPS_KEPT_MAX, sizeof(*s->list));
	int rc = s->kept && s->list ? 0 : err_nomem(err);
	if (rc == 0 && c)
		rc = keep_maps(s, c, err);
	if (rc < 0)
		return rc;
	memcpy(s->list, o->parsers, o->n_parsers * sizeof(*s->list));
	for (size_t i = 0; i < s->n_kept; i++)
		s->list[o->n_parsers + i] = map_parser(s->kept[i]);
	rc = formats_open(&s->formats, s->list, o->n_parsers + s->n_kept, err);
	s->formats.n_bid = o->n_parsers;
	return rc;
}

static int read_options(struct session *s, const struct ingest_options *o, struct err *err)
{
	if (o->format && !format_known(text_of(o->format), o->parsers, o->n_parsers, o->wrappers, o->n_wrappers)) {
		err_set(err, ERR_USAGE, "no format '%s'", o->format);
		return err_hint(err, "see 'pagetrail formats list'");
	}
	int rc = o->tz ? zone_open(&s->zone, text_of(o->tz), err) : 0;
	return rc == 0 && o->sources_csv ? sources_read(&s->sources, o->sources_csv, o, err) : rc;
}

int ingest_check(const struct ingest_options *o, struct err *err)
{
	struct session s = {.o = o};
	int rc = read_options(&s, o, err);
	sources_done(&s.sources);
	zone_close(s.zone);
	return rc;
}

static int session_open(struct session *s, struct case_file *c, const struct ingest_options *o, struct err *err)
{
	*s = (struct session){.c = c, .o = o};
	own_begin(&s->own, c ? case_path(c) : o->case_path);
	spares_open(&s->spares);
	int rc = read_options(s, o, err);
	if (rc == 0)
		rc = open_formats(s, c, err);
	if (rc == 0)
		rc = formats_wrap(&s->formats, o->wrappers, o->n_wrappers, err);
	unsigned jobs = o->jobs > 1 && !o->plan ? o->jobs : 0;
	unsigned queue = jobs ? jobs * QUEUE_PER_JOB + 2 : 1;
	if (rc == 0)
		rc = block_pool_open(&s->blocks, queue + 4, jobs > 0, err);
	if (rc == 0)
		rc = pool_open(&s->pool, jobs, queue, err);
	if (rc == 0 && !o->plan)
		rc = custody_open(&s->custody, c, err);
	s->custody.now_ns = o->now_ns;
	return rc;
}

static void session_close(struct session *s)
{
	pool_close(s->pool); /* first: its tasks hold blocks */
	block_pool_close(s->blocks);
	spares_close(&s->spares);
	formats_close(&s->formats);
	for (size_t i = 0; i < s->n_kept; i++)
		map_free(s->kept[i]);
	free(s->kept);
	free(s->list);
	custody_close(&s->custody);
	begun_close(&s->begun);
	sources_done(&s->sources);
	zone_close(s->zone);
}

/* Commits what was read, and frees. rc: of what went before. */
static int session_end(struct session *s, int rc, struct err *err)
{
	const struct ingest_options *o = s->o;
	if (rc == 0 || rc == ERR_INTERRUPTED) { /* what was read is kept */
		struct err second;
		int drained = pool_drain(s->pool, rc == 0 ? err : &second);
		if (drained == 0 && rc == 0 && !o->plan)
			drained = repeat_give_up(s, err);
		if (drained == 0)
			drained = begun_ended(&s->begun, rc == 0 ? err : &second);
		if (drained == 0 && !o->plan)
			drained = case_commit(s->c, rc == 0 ? err : &second);
		rc = rc == 0 ? drained : rc;
	}
	if (rc < 0 && !o->plan && s->c)
		case_rollback(s->c);
	session_close(s);
	return rc;
}

int ingest_paths(struct case_file *c, const struct ingest_options *o, const char *const *paths, size_t n_paths,
		 struct err *err)
{
	struct session s;
	int rc = session_open(&s, c, o, err);
	if (rc == 0 && !o->plan)
		rc = begun_any(c, &s.left_over, err);
	if (rc == 0 && !o->plan)
		rc = begun_open(&s.begun, c, paths, n_paths, o->now_ns, err);
	if (rc == 0 && !o->plan)
		rc = case_begin(c, err);
	if (rc == 0 && !o->plan)
		rc = find_sizes(&s, paths, n_paths, err);
	if (rc == 0 && !o->plan) /* how many there are is known from here on */
		rc = session_wrote(&s, COMMIT_BYTES, 0, 0, err);
	for (size_t i = 0; i < n_paths && rc == 0; i++) {
		s.files = 0;
		rc = walk_folders(paths[i], on_file, on_folder, &s, err);
		if (rc == 0 && !s.files)
			warn(&s, paths[i], "no file to read in it");
		if (rc == 0)
			s.begun.at++;
	}
	if (rc == 0 && !o->plan) {
		rc = seam_join(&s, err);
		s.begun.at = rc == 0 ? s.begun.at : 0; /* all was read, but the run has not ended */
	}
	return session_end(&s, rc, err);
}

int ingest_bytes(struct case_file *c, const struct ingest_options *o, const struct ingest_given *list, size_t n,
		 struct err *err)
{
	struct session s;
	struct ingest_options own = *o; /* its format and worker are those of the source at hand */
	own.jobs = 1;
	own.plan = false;
	own.format = own.worker = NULL;
	int rc = session_open(&s, c, &own, err);
	if (rc == 0)
		rc = case_begin(c, err);
	for (size_t i = 0; i < n && rc == 0; i++) {
		if (!format_known(text_of(list[i].format), o->parsers, o->n_parsers, o->wrappers, o->n_wrappers)) {
			rc = err_set(err, ERR_BUG, "no format '%s'", list[i].format);
			break;
		}
		own.format = list[i].format;
		own.worker = list[i].worker;
		s.given = &list[i].bytes;
		rc = one_file(&s, list[i].name, NULL, err);
		if (rc == 0)
			rc = pool_drain(s.pool, err); /* while its options are there */
	}
	return session_end(&s, rc, err);
}

int ingest_path(struct case_file *c, const struct ingest_options *o, const char *path, struct err *err)
{
	return ingest_paths(c, o, &path, 1, err);
}

static int on_any(void *ctx, const char *path, const char *why, struct err *err)
{
	const struct own *own = ctx;
	(void)err;
	return why || !strcmp(path, "-") || !own_is(own, path);
}

int ingest_any(const char *const *paths, size_t n_paths, const char *case_path, struct err *err)
{
	struct own own;
	int rc = 0;
	own_begin(&own, case_path);
	for (size_t i = 0; i < n_paths && rc == 0; i++)
		rc = walk(paths[i], on_any, &own, err);
	return rc;
}
