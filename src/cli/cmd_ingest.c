/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_ingest.c - reads logs into a case, then correlates */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pagetrail/ingest.h"

enum { KEEP_BYTES = 8 << 20 };

struct run {
	struct rows *rows;
	struct progress progress;
	struct progress_state state;
	struct err *err;
	unsigned jobs;
	int64_t sources, known, not_read, unrecognised, records, unparsed,
	    bytes; /* records and bytes: not of what was known */
	int64_t joined;
};

static const char *const status_names[] = {"ingested", "known", "resumed", "unrecognised", "failed"};

static const struct {
	const char *name;
	enum cell_type type;
} columns[] = {
    {"source", CELL_INT},          {"path", CELL_TEXT},         {"sha256", CELL_TEXT},
    {"content_sha256", CELL_TEXT}, {"bytes", CELL_INT},         {"stored_bytes", CELL_INT},
    {"container", CELL_TEXT},      {"format", CELL_TEXT},       {"worker", CELL_TEXT},
    {"records", CELL_INT},         {"parsed", CELL_INT},        {"context", CELL_INT},
    {"unparsed", CELL_INT},        {"duplicate", CELL_INT},     {"first_at", CELL_TIME},
    {"last_at", CELL_TIME},        {"status", CELL_TEXT},       {"reason", CELL_TEXT},
    {"bytes_parsed", CELL_INT},    {"bytes_context", CELL_INT}, {"bytes_unparsed", CELL_INT},
    {"bytes_duplicate", CELL_INT}, {"worker_basis", CELL_TEXT}, {"tz", CELL_TEXT},
    {"tz_basis", CELL_TEXT},
};

static struct text known_text(struct text t)
{
	return t.len ? t : (struct text){NULL, 0};
}

/* A format knows it by its beginning, and then refused all of it: that is not quietly "ingested". */
static struct text nothing_understood(const struct source_result *r)
{
	const struct account *a = &r->account;
	if ((r->status != SOURCE_INGESTED && r->status != SOURCE_RESUMED) || !a->records || a->unparsed != a->records)
		return (struct text){NULL, 0};
	if (text_is(r->format, "markers"))
		return TEXT("a file of markers, and refused: 'canary CASE --markers FILE' says where it is wrong");
	return TEXT("nothing of it was understood");
}

static int on_source(void *ctx, const struct source_result *r)
{
	struct run *run = ctx;
	struct err *err = run->err;
	const struct account *a = &r->account;
	if (r->status == SOURCE_KNOWN) {
		run->known++;
	} else {
		run->sources++;
		run->records += (int64_t)a->records;
		run->unparsed += (int64_t)a->unparsed;
		run->bytes += (int64_t)a->bytes;
		run->joined += text_is(r->container, "seam");
	}
	struct text reason = r->reason.len ? r->reason : nothing_understood(r);
	if (r->status == SOURCE_UNRECOGNISED || r->status == SOURCE_FAILED || nothing_understood(r).len)
		run->not_read++;
	if (r->status == SOURCE_UNRECOGNISED && !text_is(r->reason, "empty"))
		run->unrecognised++;
	progress_clear(&run->progress);
	const struct {
		bool number;
		uint64_t n;
		struct text t;
	} cells[] = {
	    {r->source != 0, (uint64_t)r->source, {NULL, 0}},
	    {false, 0, r->path},
	    {false, 0, known_text(text_of(r->sha256))},
	    {false, 0, known_text(text_of(r->content_sha256))},
	    {true, a->bytes, {NULL, 0}},
	    {true, r->stored_bytes, {NULL, 0}},
	    {false, 0, known_text(r->container)},
	    {false, 0, known_text(r->format)},
	    {false, 0, known_text(r->worker)},
	    {true, a->records, {NULL, 0}},
	    {true, a->parsed, {NULL, 0}},
	    {true, a->context, {NULL, 0}},
	    {true, a->unparsed, {NULL, 0}},
	    {true, a->duplicate, {NULL, 0}},
	};
	int rc = 0;
	for (size_t i = 0; !rc && i < ARRAY_SIZE(cells); i++)
		rc = cells[i].number ? rows_int(run->rows, (int64_t)cells[i].n, err)
				     : rows_text(run->rows, cells[i].t, err);
	if (!rc)
		rc = rows_time(run->rows, r->first_ns, err);
	if (!rc)
		rc = rows_time(run->rows, r->last_ns, err);
	if (!rc)
		rc = rows_text(run->rows, text_of(status_names[r->status]), err);
	if (!rc)
		rc = rows_text(run->rows, known_text(reason), err);
	const uint64_t by_verdict[] = {a->bytes_parsed, a->bytes_context, a->bytes_unparsed, a->bytes_duplicate};
	for (size_t i = 0; !rc && i < ARRAY_SIZE(by_verdict); i++)
		rc = rows_int(run->rows, (int64_t)by_verdict[i], err);
	const struct text basis[] = {r->worker_basis, r->tz, r->tz_basis};
	for (size_t i = 0; !rc && i < ARRAY_SIZE(basis); i++)
		rc = rows_text(run->rows, known_text(basis[i]), err);
	return rc ? rc : rows_end_row(run->rows, err);
}

static void on_joined(void *ctx, const struct source_result *r, const struct account *now)
{
	struct run *run = ctx;
	const struct account *was = &r->account;
	run->records += (int64_t)now->records - (int64_t)was->records;
	run->unparsed += (int64_t)now->unparsed - (int64_t)was->unparsed;
	if (was->unparsed < was->records || now->duplicate < now->records)
		return;
	run->not_read--; /* all of it is a part of records that others begin */
	run->unrecognised -= !r->format.len;
}

static void on_progress(void *ctx, const struct ingest_progress *p)
{
	struct run *run = ctx;
	run->state = (struct progress_state){"reading", p->bytes, p->records, p->stored_bytes, p->total_bytes, p->path};
	progress_show(&run->progress, &run->state);
}

static void enter_phase(struct run *run, const char *phase)
{
	run->state.phase = phase;
	run->state.path = TEXT("");
	progress_show(&run->progress, &run->state);
}

/* "pagetrail ingest …" as a shell takes it; "" when it is too long to be shown. */
static int spell_command(int argc, char **argv, struct buf *out, struct err *err)
{
	int rc = buf_add_text(out, TEXT("pagetrail"), err);
	for (int i = 0; i < argc && !rc; i++) {
		rc = buf_add_char(out, ' ', err);
		if (!rc)
			rc = args_quote(out, text_of(argv[i]), err);
	}
	return rc;
}

/* What is done, and how to go on. */
static int say_stopped(const struct run *run, const char *command, struct err *err)
{
	bool last = run->state.phase && !strcmp(run->state.phase, "resolving");
	if (last)
		err_set(err, ERR_INTERRUPTED,
			"stopped by a signal in the last step; nothing is missing in the case (%" PRId64 " source%s)",
			run->sources + run->known, PLURAL(run->sources + run->known));
	else
		err_set(err, ERR_INTERRUPTED,
			"stopped by a signal after %.1f MB; %" PRId64
			" source%s whole in the case, and the next as far as it was read",
			(double)run->state.bytes / 1e6, run->sources + run->known, PLURAL(run->sources + run->known));
	if (strlen(command) > sizeof(err->hint) - 16)
		return err_hint(err, "run the same command again to go on");
	return err_hint(err, "go on with: %s", command);
}

/* The way out for files that no format recognised. */
static void say_unrecognised(const struct run *run)
{
	if (run->unrecognised)
		rows_note(run->rows,
			  "no format recognised %" PRId64
			  " file%s: where you know what it is, say so with --format NAME ("
			  "'pagetrail formats list')",
			  run->unrecognised, PLURAL(run->unrecognised));
}

static int finish(struct case_file *c, struct run *run, struct err *err)
{
	unsigned char head[SHA256_BYTES];
	char hex[SHA256_HEX], detail[256];
	int rc = resolve_needed(c, err);
	if (rc == 1) {
		enter_phase(run, "resolving");
		snprintf(detail, sizeof(detail), ",\"sources\":%" PRId64 ",\"records\":%" PRId64 ",\"bytes\":%" PRId64,
			 run->sources, run->records, run->bytes);
		case_stop_on(c, &system_stop);
		case_threads(c, run->jobs);
		rc = correlate_now(c, text_of(detail), err);
	}
	if (rc < 0)
		return rc;
	enter_phase(run, "done");
	progress_clear(&run->progress);
	rc = journal_head(c, head, err);
	if (rc < 0)
		return rc;
	sha256_hex(head, hex);
	CLEANUP(buf_done) struct buf json = BUF_INIT(1 * KIB);
	if (!buf_printf(&json, NULL, "\"%s\"", hex))
		rows_extra(run->rows, "journal_head", buf_text(&json));
	char known[64] = "";
	if (run->known)
		snprintf(known, sizeof(known), "; %" PRId64 " known already", run->known);
	rows_note(run->rows,
		  "%" PRId64 " source%s, %" PRId64 " record%s, %" PRId64 " byte%s%s; %" PRId64
		  " record%s unparsed (see 'pagetrail query %s unparsed_shapes')",
		  run->sources, PLURAL(run->sources), run->records, PLURAL(run->records), run->bytes,
		  PLURAL(run->bytes), known, run->unparsed, PLURAL(run->unparsed), case_path(c));
	rows_note(run->rows, "journal head %s", hex);
	if (run->joined)
		rows_note(run->rows,
			  "%" PRId64
			  " record%s that a rotation cut in two %s joined: 'pagetrail info' counts %s once, the "
			  "rows of the files as they were read",
			  run->joined, PLURAL(run->joined), run->joined == 1 ? "is" : "are",
			  run->joined == 1 ? "it" : "them");
	say_unrecognised(run);
	return 0;
}

static void on_warning(void *ctx, struct text what)
{
	struct run *run = ctx;
	progress_clear(&run->progress);
	say_note(NULL, what);
}

static int is_locked(const char *path, struct err *err)
{
	err_set(err, ERR_STORE, "the case is locked by another writer");
	err_where(err, "%s", path);
	return err_hint(err, "wait until the other command has ended, then try again");
}

/* A case that somebody else is making at this moment is a file without a byte, but with a lock. */
static bool being_made(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	bool locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	if (fd >= 0)
		close(fd);
	return locked;
}

static int open_old(struct case_file **ret, const char *path, struct err *err)
{
	struct case_file *c = NULL;
	struct err first = {0}, second;
	int rc = case_open(&c, path, CASE_WRITE, &first);
	if (!rc && !init_unmade(c)) {
		*ret = c;
		return 0;
	}
	if (!rc)
		rc = case_close(c, &first);
	if ((!rc || rc == ERR_DAMAGED) && !init_case(ret, path, NULL, NULL, &second))
		return 0;
	*err = rc ? first : second;
	return rc ? rc : second.code;
}

/* Opens the case, or makes it; but not for paths none of which is there. */
static int open_case(struct case_file **ret, const struct args *args, const char *id, const char *title,
		     struct err *err)
{
	struct stat st;
	bool there = !stat(args->at[0], &st);
	if (there && (st.st_size || !(id || title))) {
		if (id || title) {
			err_set(err, ERR_USAGE, "--id and --title are for a new case, and '%s' exists", args->at[0]);
			return err_hint(err, "leave them out");
		}
		if (!st.st_size && S_ISREG(st.st_mode) && being_made(args->at[0]))
			return is_locked(args->at[0], err);
		return open_old(ret, args->at[0], err);
	}
	bool any = false;
	for (int i = 1; i < args->n; i++)
		any = any || !strcmp(args->at[i], "-") || !lstat(args->at[i], &st);
	if (!any) {
		err_set(err, ERR_INPUT, args->n > 1 ? "no such file or folder" : "no such case");
		err_where(err, "%s", args->at[args->n > 1 ? 1 : 0]);
		return err_hint(err, args->n > 1 ? "no case was made" : "give the files to read after the case");
	}
	int rc = init_case(ret, args->at[0], id, title, err);
	/* made by another command in the meantime */
	return rc == ERR_IO && !stat(args->at[0], &st) ? is_locked(args->at[0], err) : rc;
}

static int nothing_to_read(const struct args *args, struct err *err)
{
	struct stat own, st;
	for (int i = 1; i < args->n && !stat(args->at[0], &own); i++) {
		if (stat(args->at[i], &st) || st.st_dev != own.st_dev || st.st_ino != own.st_ino)
			continue;
		err_set(err, ERR_INPUT, "the first argument is the case, and cannot be what is to be read too");
		err_where(err, "%s", args->at[i]);
		return err_hint(err, "pagetrail ingest CASE PATH…; nothing was stored");
	}
	err_set(err, ERR_INPUT,
		args->n > 2 ? "there is no file to read in any of the folders"
			    : "there is no file to read in the folder");
	err_where(err, "%s", args->at[1]);
	return err_hint(err, "nothing was stored");
}

static int run(int argc, char **argv, struct err *err)
{
	struct rows_options rows = ROWS_OPTIONS_INIT;
	struct ingest_options o = {.wrappers = wrappers, .n_wrappers = n_wrappers, .stop = &system_stop};
	CLEANUP(site_close) struct site_formats site = {0};
	const char *map = NULL, *id = NULL, *title = NULL, *progress = NULL;
	int64_t jobs = MIN(system_cpus(), 256u);
	const struct option_spec options[] = {
	    {"--format", OPTION_TEXT, &o.format}, {"--worker", OPTION_TEXT, &o.worker},
	    {"--source-tz", OPTION_TEXT, &o.tz},  {"--sources", OPTION_TEXT, &o.sources_csv},
	    {"--map", OPTION_TEXT, &map},         {"--jobs", OPTION_COUNT, &jobs},
	    {"--plan", OPTION_FLAG, &o.plan},     {"--id", OPTION_TEXT, &id},
	    {"--title", OPTION_TEXT, &title},     {"--progress", OPTION_TEXT, &progress},
	    {"--tz", OPTION_TEXT, &o.tz},
	};
	const struct option_spec shared[] = {ROWS_OPTIONS(rows)};
	struct args args;
	CLEANUP(buf_done) struct buf command = BUF_INIT(4 * MIB);
	int rc = spell_command(argc, argv, &command, err);
	if (!rc)
		rc =
		    args_parse(&args, argc, argv, options, ARRAY_SIZE(options), shared, ARRAY_SIZE(shared), 1, -1, err);
	if (rc)
		return rc;
	struct run run = {.err = err};
	rc = progress_open(&run.progress, progress, err);
	if (rc)
		return rc;
	if (jobs > 256) {
		err_set(err, ERR_USAGE, "--jobs takes 1 to 256");
		return err_hint(err, "without it there is one for each CPU");
	}
	rc = site_open(&site, map, err);
	if (!rc)
		rc = site_proved(&site, map, err);
	if (rc)
		return rc;
	o.parsers = site.list;
	o.n_parsers = site.n;
	rc = ingest_check(&o, err);
	if (rc)
		return rc;
	if (o.plan && args.n < 2)
		return err_set(err, ERR_USAGE, "--plan needs files to look at");
	o.jobs = (unsigned)jobs;
	o.case_path = args.at[0];
	system_catch_stop();
	system_keep_memory(KEEP_BYTES);
	signal(SIGPIPE, SIG_IGN); /* a closed pager is no reason to stop in the middle of a transaction */

	CLEANUP(case_closep) struct case_file *c = NULL;
	CLEANUP(event_spool_freep) struct event_spool *spool = NULL;
	rc = args.n > 1 ? ingest_any((const char *const *)args.at + 1, (size_t)args.n - 1, args.at[0], err) : 1;
	if (rc < 0)
		return rc;
	bool any = rc == 1;
	if (!o.plan && any) {
		rc = open_case(&c, &args, id, title, err);
		if (rc)
			return rc;
	}
	o.now_ns = system_now_ns(); /* not before the case was made */
	run.jobs = o.jobs;
	struct rows_column cols[ARRAY_SIZE(columns)];
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		cols[i] = (struct rows_column){text_of(columns[i].name), columns[i].type};
	rc = rows_open(&run.rows, &rows, args.at[0], TEXT("ingest"), cols, ARRAY_SIZE(columns),
		       o.plan ? "path,format,worker,worker_basis,tz,tz_basis,reason"
			      : "path,status,format,worker,records,unparsed,reason",
		       err);
	if (rc)
		return rc;
	rows_as_of(run.rows, o.now_ns);
	o.on_source = on_source;
	o.on_joined = on_joined;
	o.on_progress = on_progress;
	o.on_warning = on_warning;
	o.ctx = &run;
	if (!any)
		rc = nothing_to_read(&args, err);
	else if (args.n > 1 && c)
		rc = resolve_spool_new(&spool, true, err);
	if (spool)
		case_spool(c, spool);
	if (!rc && any && args.n > 1)
		rc = ingest_paths(c, &o, (const char *const *)args.at + 1, (size_t)args.n - 1, err);
	progress_clear(&run.progress);
	if (!rc && !o.plan)
		rc = finish(c, &run, err);
	if (!rc && o.plan)
		say_unrecognised(&run);
	progress_clear(&run.progress);
	/* what was done is kept and shown, also when the run was stopped */
	struct err kept = *err;
	int rc_rows = rows_close(run.rows, NULL, rc ? &kept : err);
	if (rc == ERR_INTERRUPTED)
		return say_stopped(&run, command.ptr, err);
	if (rc || rc_rows)
		return rc ? rc : rc_rows;
	struct case_file *done = c;
	c = NULL;
	rc = case_close(done, err);
	return rc ? rc : run.not_read ? EXIT_INPUT : EXIT_DONE;
}

const struct command command_ingest = {
    .name = "ingest",
    .synopsis = "CASE PATH… [--format F] [--worker NAME] [--tz ZONE] [--sources FILE] [--map FILE] [--plan]",
    .summary = "Reads files, folders and archives of logs into a case",
    .help =
	"Makes the case when it is not there. Known files are skipped, a stopped run goes on where it was, files\n"
	"that have grown are continued.\n"
	"Every byte is kept as evidence, also of files that no format recognises (exit code 3).\n"
	"first_at and last_at are a file's own stamps, in the zone that 'tz' names; 'info' shows them corrected.\n\n"
	"  --format F       do not detect: this format (see 'pagetrail formats list'), or a\n"
	"                   stack of wrappers and a format: cri+sglang-engine\n"
	"  --worker NAME    the worker whose logs these are\n"
	"  --tz ZONE        zone of stamps that name none: +08:00 or Asia/Shanghai\n"
	"  --sources FILE   CSV: glob,worker,role,tz,format; first line that matches a path wins\n"
	"  --map FILE       a format of your own, described in a file (docs/map.md); it is kept in the case\n"
	"  --jobs N         threads, 1 to 256; the result does not depend on it\n"
	"  --plan           say what each file would be taken for, and store nothing\n"
	"  --progress json  progress as JSON lines on stderr; none: not on a terminal either\n"
	"  --id, --title    for a new case, as in 'init'\n"
	"  --json --jsonl --csv --columns A,B --limit N\n\n"
	"  pagetrail ingest case.ptc logs/ router.log.gz more.tar.zst\n",
    .run = run,
};
