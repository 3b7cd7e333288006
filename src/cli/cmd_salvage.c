/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_salvage.c - a new case out of what is still good of a damaged one
 *
 * The damaged file is only read. The new one is there whole or not at all: it is written under another name, which nobody
 * takes for a case, and a run that fails takes it away again. No error names that file: who asked does not know it.
 */
#include "cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pagetrail/array.h"
#include "pagetrail/ingest.h"
#include "pagetrail/salvage.h"

#define FIRST_PAGE "-first-page"

struct changed { /* a source whose events are made again */
	struct salvaged s;
	bool again;
};

struct run {
	struct rows *rows;
	struct err *err;
	struct changed *list;
	size_t n, cap;
	uint64_t lost, of;
	bool damage; /* something is not as it was */
};

static const struct rows_column columns[] = {
    {TEXT("source"), CELL_INT},         {TEXT("path"), CELL_TEXT},   {TEXT("status"), CELL_TEXT},
    {TEXT("bytes"), CELL_INT},          {TEXT("lost"), CELL_INT},    {TEXT("records"), CELL_INT},
    {TEXT("records_before"), CELL_INT}, {TEXT("events"), CELL_TEXT}, {TEXT("why"), CELL_TEXT},
    {TEXT("lost_ranges"), CELL_JSON},
};

static int on_source(void *ctx, const struct salvaged *s, struct err *err)
{
	struct run *run = ctx;
	int rc = grow_array((void **)&run->list, &run->cap, run->n, sizeof(*run->list), err);
	if (rc)
		return rc;
	run->list[run->n++] = (struct changed){*s, s->again};
	run->lost += s->lost;
	run->of += s->bytes;
	run->damage |= s->again;
	return 0;
}

static int on_note(void *ctx, struct text where, struct text what)
{
	struct run *run = ctx;
	run->damage = true;
	rows_note(run->rows, "%.*s: %.*s", TEXT_ARG(where), TEXT_ARG(what));
	return 0;
}

/* --- sources --- */

/* A format of this build's that an older one had, or none: then the bytes are kept, and a reader knows why. */
static int parse_again(struct case_file *c, const struct ingest_options *o, int64_t source, struct err *err)
{
	struct account account;
	int rc = case_begin(c, err);
	if (!rc)
		rc = ingest_again(c, o, source, &account, err);
	if (!rc)
		rc = salvage_seal(c, source, o->now_ns, err);
	return rc ? rc : case_commit(c, err);
}

static int put_source(struct case_file *c, struct run *run, const struct changed *m, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, c,
			     "SELECT path, status, records, (SELECT json_group_array(json_array(byte_off, byte_off + "
			     "byte_len)) FROM (SELECT * FROM reject WHERE source = ?1 AND reason = '" EVIDENCE_LOST
			     "' ORDER BY byte_off)) FROM source WHERE source = ?1",
			     err);
	if (!rc)
		rc = sql_int(s, 1, m->s.source, err);
	if (!rc)
		rc = sql_step(s, err);
	if (rc <= 0)
		return rc ? rc : err_set(err, ERR_BUG, "source %" PRId64 " is not there", m->s.source);
	rc = rows_int(run->rows, m->s.source, err);
	for (int i = 0; !rc && i < 2; i++)
		rc = rows_text(run->rows, sql_get_text(s, i), err);
	if (!rc)
		rc = rows_int(run->rows, (int64_t)m->s.bytes, err);
	if (!rc)
		rc = rows_int(run->rows, (int64_t)m->s.lost, err);
	if (!rc)
		rc = rows_int(run->rows, sql_get_int(s, 2), err);
	if (!rc)
		rc = m->s.records < 0 ? rows_null(run->rows, err) : rows_int(run->rows, m->s.records, err);
	if (!rc)
		rc = rows_text(run->rows, m->again ? TEXT("made again") : TEXT("kept"), err);
	if (!rc)
		rc = rows_text(run->rows, m->s.why[0] ? text_of(m->s.why) : (struct text){NULL, 0}, err);
	if (!rc)
		rc = rows_text(run->rows, sql_get_text(s, 3), err);
	return rc ? rc : rows_end_row(run->rows, err);
}

static int finish(struct case_file *c, struct run *run, int64_t now_ns, struct err *err)
{
	unsigned char head[SHA256_BYTES];
	char hex[SHA256_HEX], json[80];
	int rc = case_begin(c, err);
	if (!rc)
		rc = resolve_record(c, now_ns, TEXT(""), err);
	if (!rc)
		rc = case_commit(c, err);
	if (!rc)
		rc = journal_head(c, head, err);
	if (rc)
		return rc;
	sha256_hex(head, hex);
	snprintf(json, sizeof(json), "\"%s\"", hex);
	rows_extra(run->rows, "journal_head", text_of(json));
	snprintf(json, sizeof(json), "%" PRIu64, run->lost);
	rows_extra(run->rows, "bytes_lost", text_of(json));
	if (run->lost)
		rows_note(run->rows,
			  "LOST: %" PRIu64 " of %" PRIu64 " byte%s; 'pagetrail gaps' says what that takes away",
			  run->lost, run->of, PLURAL(run->of));
	else
		rows_note(run->rows, "no byte of evidence is lost");
	rows_note(run->rows, "journal head %s", hex);
	return 0;
}

static int salvage(struct case_file *from, struct case_file *to, struct run *run, const struct ingest_options *o,
		   struct err *err)
{
	const struct salvage_sink sink = {.source = on_source, .note = on_note, .ctx = run};
	int rc = resolve_tables_hold(from, err);
	if (rc >= 0)
		rc = rc ? 0
			: on_note(run, TEXT("tables made from events"),
				  TEXT("are not as they were: they are made again"));
	if (!rc)
		rc = case_salvage(from, to, o->now_ns, &sink, err);
	for (size_t i = 0; !rc && i < run->n; i++)
		if (run->list[i].again)
			rc = parse_again(to, o, run->list[i].s.source, err);
	if (!rc)
		rc = finish(to, run, o->now_ns, err);
	for (size_t i = 0; !rc && i < run->n; i++)
		rc = put_source(to, run, &run->list[i], err);
	return rc;
}

/* Full is full, but nothing is kept: the damaged case is still there. */
static int failed(int rc, const char *new, struct err *err)
{
	char where[sizeof(err->where)];
	snprintf(where, sizeof(where), "%s", new);
	if (rc == ERR_FULL || rc == ERR_INTERRUPTED) {
		snprintf(err->where, sizeof(err->where), "%s", where);
		snprintf(err->hint, sizeof(err->hint), "%s",
			 rc == ERR_FULL ? "nothing of the new case is kept: make room, or name a file elsewhere"
					: "nothing of the new case is kept: run it again");
	}
	size_t n = strlen(where);
	if (!err->where[0] || (!strncmp(err->where, where, n) && (text_is(text_of(err->where + n), SALVAGING) ||
								  text_is(text_of(err->where + n), FIRST_PAGE))))
		snprintf(err->where, sizeof(err->where), "%s", where);
	return rc;
}

/* Into an empty case, which gets its name at the end. 1: something was not as it was. */
static int fill(struct case_file *from, struct case_file **to, const char *old, const char *new,
		const struct rows_options *rows, struct err *err)
{
	struct run run = {.err = err};
	system_catch_stop();
	case_stop_on(from, &system_stop);
	case_stop_on(*to, &system_stop);
	const struct ingest_options o = {.parsers = parsers,
					 .n_parsers = n_parsers,
					 .wrappers = wrappers,
					 .n_wrappers = n_wrappers,
					 .now_ns = system_now_ns(),
					 .stop = &system_stop};
	int rc = rows_open(&run.rows, rows, new, TEXT("salvage"), columns, ARRAY_SIZE(columns),
			   "source,path,status,bytes,lost,records,events,why", err);
	if (rc)
		return rc;
	rows_as_of(run.rows, o.now_ns);
	if (strcmp(case_path(from), old)) {
		run.damage = true;
		rows_note(run.rows,
			  "the first page of the case is not that of a case of today: a new one was put in its place");
	}
	rc = salvage(from, *to, &run, &o, err);
	free(run.list);
	if (!rc) {
		struct case_file *done = *to;
		*to = NULL;
		rc = salvage_publish(done, new, err);
	}
	if (rc) {
		rows_drop(run.rows);
		return rc;
	}
	rc = rows_close(run.rows, NULL, err);
	return rc ? rc : run.damage;
}

static int salvage_files(const char *old, const char *new, const char *half, const char *work,
			 const struct rows_options *rows, struct err *err)
{
	struct case_file *from = NULL, *to = NULL;
	int rc = salvage_create(&to, new, err);
	if (rc)
		return rc;
	salvage_remove(work);
	rc = salvage_open(&from, old, work, err);
	if (!rc)
		rc = fill(from, &to, old, new, rows, err);
	case_closep(&from);
	salvage_remove(work);
	if (to || rc < 0)
		salvage_remove(half); /* while it is still locked */
	case_closep(&to);
	return rc;
}

static int run(int argc, char **argv, struct err *err)
{
	struct rows_options rows = ROWS_OPTIONS_INIT;
	const struct option_spec shared[] = {ROWS_OPTIONS(rows)};
	struct args args;
	int rc = args_parse(&args, argc, argv, NULL, 0, shared, ARRAY_SIZE(shared), 2, 2, err);
	if (rc)
		return rc;
	if (!access(args.at[1], F_OK)) {
		err_set(err, ERR_IO, "the new case is there already");
		err_where(err, "%s", args.at[1]);
		return err_hint(err, "name a file that is not there");
	}
	CLEANUP(buf_done) struct buf work = BUF_INIT(64 * KIB);
	CLEANUP(buf_done) struct buf half = BUF_INIT(64 * KIB);
	rc = buf_printf(&work, err, "%s" FIRST_PAGE, args.at[1]);
	if (!rc)
		rc = buf_printf(&half, err, "%s" SALVAGING, args.at[1]);
	if (rc)
		return rc;
	rc = salvage_files(args.at[0], args.at[1], half.ptr, work.ptr, &rows, err);
	if (rc < 0)
		rc = failed(rc, args.at[1], err);
	return rc < 0 ? rc : rc ? EXIT_FOUND : EXIT_DONE;
}

const struct command command_salvage = {
    .name = "salvage",
    .synopsis = "DAMAGED NEW",
    .summary = "Makes a new case out of what is still good of a damaged one",
    .help =
	"Reads what can be read, also where pages of the file are broken, and believes what its hashes prove.\n"
	"Sources that are as they were go over as they are. Of the others the good evidence goes over, and their\n"
	"events are made from it again. A source that lacks bytes gets the status 'failed' with a reason, and a\n"
	"gap: no answer takes it for one that said nothing. DAMAGED is only read. The new journal goes on where\n"
	"the chain of the old one holds, and names its head.\n"
	"A source in the middle of which an ingest was stopped is no damage: what was read of it goes over. NEW is\n"
	"there whole or not at all: until the end it is NEW-salvaging, which is no case; a run that was killed\n"
	"leaves it, and the next one replaces it.\n"
	"Exit code 1 when something was not as it was, 0 when nothing was damaged.\n\n"
	"  --json --jsonl --csv --columns A,B --limit N\n\n"
	"  pagetrail salvage broken.ptc case.ptc && pagetrail verify case.ptc\n",
    .run = run,
};
