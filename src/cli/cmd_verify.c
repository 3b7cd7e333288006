/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_verify.c - reads the whole case once and names everything that is not as it was written, or does not follow from it
 *
 * The tables are checked in a thread and on a connection of their own, while the chunks are read; what that finds is
 * shown behind the faults of the chunks, for every number of jobs. What no case can show by itself, rows taken away from
 * the end of its journal, is said each time, with the remedy.
 */
#include "cli.h"

#include <inttypes.h>
#include <stdlib.h>

#include "pagetrail/salvage.h"
#include "pagetrail/thread.h"

struct run {
	struct rows *rows;
	struct err *err;
	unsigned jobs;
	char digest[SHA256_HEX];
};

static int on_fault(void *ctx, struct text where, struct text what)
{
	struct run *run = ctx;
	int rc = rows_text(run->rows, where, run->err);
	if (!rc)
		rc = rows_text(run->rows, what, run->err);
	return rc ? rc : rows_end_row(run->rows, run->err);
}

/* A head that was printed earlier: is it still in the chain? 1 it is not. */
static int check_head(struct case_file *c, struct run *run, const char *hex, struct err *err)
{
	unsigned char sha[SHA256_BYTES];
	char what[160];
	int64_t seq = 0, rows = 0;
	if (!hex || !sha256_unhex(text_of(hex), sha))
		return 0;
	int rc = journal_find(c, sha, &seq, err);
	if (!rc)
		rc = ask_int(c, "SELECT max(seq) FROM journal", &rows, err);
	if (!rc)
		rows_note(run->rows, "head %.16s… is journal row %" PRId64 " of %" PRId64, hex, seq, rows);
	if (rc <= 0)
		return rc;
	snprintf(what, sizeof(what), "has no row with the head %.64s: rows were taken away or changed since", hex);
	rc = on_fault(run, TEXT("journal"), text_of(what));
	return rc ? rc : 1;
}

/* Sources in the middle of which a run was stopped: nothing is damaged, and the next ingest reads them again. */
static int note_unfinished(struct case_file *c, struct run *run, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	CLEANUP(buf_done) struct buf list = BUF_INIT(16 * MIB);
	int rc = sql_prepare(&s, c, "SELECT source, path FROM source WHERE status = 'reading' ORDER BY source", err);
	while (!rc && (rc = sql_step(s, err)) == 1) {
		CLEANUP(buf_done) struct buf path = BUF_INIT(64 * KIB);
		rc = text_visible(sql_get_text(s, 1), 4 * KIB, &path, err);
		if (rc)
			break;
		rows_note(run->rows,
			  "note: source S%" PRId64
			  " %s was being read when a run was stopped: run the same ingest again",
			  sql_get_int(s, 0), path.ptr);
		rc = buf_printf(&list, err, "%s%" PRId64, list.len ? "," : "[", sql_get_int(s, 0));
	}
	if (!rc)
		rc = buf_add(&list, list.len ? "]" : "[]", list.len ? 1 : 2, err);
	if (!rc)
		rows_extra(run->rows, "unfinished_sources", buf_text(&list));
	return rc;
}

/* What a salvaged case knows to be lost: no fault of this case, but nothing to keep silent about. */
static int note_lost(struct case_file *c, struct run *run, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	CLEANUP(buf_done) struct buf list = BUF_INIT(16 * MIB);
	int rc = sql_prepare(&s, c,
			     "SELECT source, byte_off, byte_off + byte_len FROM reject WHERE reason = '" EVIDENCE_LOST
			     "' ORDER BY source, byte_off",
			     err);
	while (!rc && (rc = sql_step(s, err)) == 1) {
		rows_note(run->rows, "lost with a damaged case: source S%" PRId64 ", bytes %" PRId64 " to %" PRId64,
			  sql_get_int(s, 0), sql_get_int(s, 1), sql_get_int(s, 2));
		rc = buf_printf(&list, err, "%s{\"source\":%" PRId64 ",\"from\":%" PRId64 ",\"to\":%" PRId64 "}",
				list.len ? "," : "[", sql_get_int(s, 0), sql_get_int(s, 1), sql_get_int(s, 2));
	}
	if (!rc)
		rc = buf_add(&list, list.len ? "]" : "[]", list.len ? 1 : 2, err);
	if (!rc)
		rows_extra(run->rows, "lost", buf_text(&list));
	return rc;
}

/* --- the tables, beside --- */

struct tables_task {
	struct task task;
	const char *path;
	int rc; /* of resolve_verify() */
	struct err err;
	struct event_feed *feed;
	struct event_spool *spool;
	struct buf faults; /* where, NUL, what, NUL, … */
	struct tables_task **owner;
};

static int keep_fault(void *ctx, struct text where, struct text what)
{
	struct tables_task *t = ctx;
	int rc = buf_add_text(&t->faults, where, &t->err);
	if (!rc)
		rc = buf_add_char(&t->faults, 0, &t->err);
	if (!rc)
		rc = buf_add_text(&t->faults, what, &t->err);
	return rc ? rc : buf_add_char(&t->faults, 0, &t->err);
}

/* Never fails: what went wrong is judged when the chunks have been. */
static int tables_run(struct task *task, struct err *err)
{
	struct tables_task *t = (struct tables_task *)task;
	(void)err;
	CLEANUP(case_closep) struct case_file *c = NULL;
	t->rc = case_open(&c, t->path, CASE_INSPECT, &t->err);
	if (!t->rc) {
		case_stop_on(c, &system_stop);
		case_spool(c, t->spool);
		t->rc = resolve_verify(c, t->feed, keep_fault, t, &t->err);
	}
	event_feed_leave(t->feed); /* whatever came: the chunks must not wait */
	return 0;
}

static int tables_done(struct task *task, struct err *err)
{
	(void)task, (void)err;
	return 0; /* its owner has it still */
}

static void tables_free(struct task *task)
{
	struct tables_task *t = (struct tables_task *)task;
	*t->owner = NULL;
	buf_done(&t->faults);
	free(t);
}

static int tables_start(struct pool *pool, const char *path, struct event_feed *feed, struct event_spool *spool,
			struct tables_task **ret, struct err *err)
{
	struct tables_task *t = calloc(1, sizeof(*t));
	if (!t)
		return err_nomem(err);
	t->task = (struct task){.run = tables_run, .done = tables_done, .drop = tables_free};
	t->path = path;
	t->feed = feed;
	t->spool = spool;
	t->faults = BUF_INIT(MIB);
	t->owner = ret;
	*ret = t;
	return pool_submit(pool, &t->task, err);
}

/* Of a damaged case, whatever the tables could not be made from is damage too: a broken index can make chunks look like
 * bytes that no source has, a kind that they are not, or too much. */
static bool follows_from_damage(int code, bool damaged)
{
	return code == ERR_DAMAGED ||
	       (damaged && code < 0 && code != ERR_NOMEM && code != ERR_INTERRUPTED && code != ERR_FULL);
}

/* damaged: something was reported before. 1: faults were reported. */
static int tables_judge(const struct tables_task *t, bool damaged, struct run *run, struct err *err)
{
	for (size_t at = 0; at < t->faults.len;) {
		struct text where = text_of(t->faults.ptr + at), what = text_of(where.ptr + where.len + 1);
		int rc = on_fault(run, where, what);
		if (rc)
			return rc;
		at += where.len + what.len + 2;
	}
	if (t->rc == RESOLVE_OLDER)
		rows_note(run->rows, "note: the tables are older than the evidence; they are made again before they "
				     "answer anything");
	if (follows_from_damage(t->rc, damaged)) {
		char what[sizeof(t->err.what) + 64];
		snprintf(what, sizeof(what), "cannot be made again to compare: %s", t->err.what);
		int rc = on_fault(run, TEXT("tables made from events"), text_of(what));
		return rc ? rc : 1;
	}
	if (t->rc < 0)
		*err = t->err;
	return t->rc == RESOLVE_OLDER ? 0 : t->rc;
}

static int check_all(struct case_file *c, struct run *run, const char *head, const struct tables_task *tables,
		     struct pool *pool, struct err *err)
{
	int faults = case_verify(c, run->jobs, tables->feed, on_fault, run, run->digest, err);
	event_spool_filled(tables->spool);
	int rc = faults < 0 ? faults : pool_drain(pool, err);
	if (!rc)
		rc = tables_judge(tables, faults > 0, run, err);
	if (rc < 0)
		return rc;
	faults |= rc;
	rc = check_head(c, run, head, err);
	if (rc < 0)
		return rc;
	faults |= rc;
	rc = note_unfinished(c, run, err);
	if (!rc)
		rc = note_lost(c, run, err);
	return rc ? (rc == ERR_DAMAGED && faults ? 1 : rc) : faults;
}

static int check(struct case_file *c, struct run *run, const char *head, struct err *err)
{
	struct pool *pool = NULL;
	struct tables_task *tables = NULL;
	struct event_feed *feed = NULL;
	struct event_spool *spool = NULL;
	int rc = event_feed_new(&feed, EVENT_PAGE, err);
	if (!rc)
		rc = resolve_spool_new(&spool, false, err);
	if (!rc && run->jobs > 1) {
		event_spool_filling(spool);
		case_spool(c, spool);
	}
	if (!rc)
		rc = pool_open(&pool, run->jobs > 1 ? 1 : 0, 1, err);
	if (!rc)
		rc = tables_start(pool, case_path(c), feed, spool, &tables, err);
	if (!rc)
		rc = check_all(c, run, head, tables, pool, err);
	if (spool)
		event_spool_filled(spool); /* whatever came: the tables must not wait */
	pool_close(pool);
	case_spool(c, NULL);
	event_spool_free(spool);
	if (tables)
		tables_free(&tables->task);
	event_feed_free(feed);
	return rc;
}

static int note_sound(struct case_file *c, struct run *run, struct err *err)
{
	char hex[SHA256_HEX], json[80];
	unsigned char head[SHA256_BYTES] = {0};
	int rc = journal_head(c, head, err);
	if (rc < 0)
		return rc;
	sha256_hex(head, hex);
	snprintf(json, sizeof(json), "\"%s\"", run->digest);
	rows_extra(run->rows, "content_digest", text_of(json));
	snprintf(json, sizeof(json), "\"%s\"", hex);
	rows_extra(run->rows, "journal_head", text_of(json));
	rows_note(run->rows,
		  "sound: every chunk decodes and hashes, sums add up, the journal's chain holds and covers the\n"
		  "sources, the tables are those that the events give");
	rows_note(run->rows, "content digest %s\njournal head   %s", run->digest, hex);
	return 0;
}

static int run(int argc, char **argv, struct err *err)
{
	struct rows_options o = ROWS_OPTIONS_INIT;
	const char *head = NULL;
	int64_t jobs = MIN(system_cpus(), 256u);
	unsigned char sha[SHA256_BYTES];
	const struct option_spec own[] = {{"--head", OPTION_TEXT, &head}, {"--jobs", OPTION_COUNT, &jobs}};
	const struct option_spec shared[] = {ROWS_OPTIONS(o)};
	struct args args;
	int rc = args_parse(&args, argc, argv, own, ARRAY_SIZE(own), shared, ARRAY_SIZE(shared), 1, 1, err);
	if (rc)
		return rc;
	if (head && !sha256_unhex(text_of(head), sha))
		return err_set(err, ERR_USAGE, "--head takes the 64 hex digits that a command printed as journal head");
	if (jobs > 256)
		return err_set(err, ERR_USAGE, "--jobs takes 1 to 256");
	system_keep_memory(128 << 20);
	CLEANUP(case_closep) struct case_file *c = NULL;
	rc = case_open(&c, args.at[0], CASE_INSPECT, err);
	if (rc)
		return rc;
	system_catch_stop();
	case_stop_on(c, &system_stop);
	const struct rows_column columns[] = {{TEXT("where"), CELL_TEXT}, {TEXT("fault"), CELL_TEXT}};
	struct run run = {.err = err, .jobs = (unsigned)jobs};
	rc = rows_open(&run.rows, &o, args.at[0], TEXT("verify"), columns, ARRAY_SIZE(columns), NULL, err);
	if (rc)
		return rc;
	int faults = check(c, &run, head, err);
	rc = faults ? MIN(faults, 0) : note_sound(c, &run, err);
	if (rc < 0) {
		rows_drop(run.rows);
		return rc;
	}
	if (faults)
		rows_note(run.rows, "DAMAGED: what is listed cannot be relied on");
	if (!head)
		rows_note(run.rows,
			  "not covered: rows taken away from the journal's end; compare the journal head with one that "
			  "was printed\nearlier (verify CASE --head HEX)");
	rc = rows_close(run.rows, NULL, err);
	return rc ? rc : faults ? EXIT_FOUND : EXIT_DONE;
}

const struct command command_verify = {
    .name = "verify",
    .synopsis = "CASE [--head HEX] [--jobs N]",
    .summary = "Checks that the case is as it was written, and that its tables follow from its events",
    .help = "Decodes and hashes every chunk of evidence and events, follows the journal's chain, compares each source\n"
	    "with the seal in its journal row, adds up the accounting, and makes the tables that answers come from\n"
	    "again from the events, beside the case, to compare them row by row. Nothing is written.\n"
	    "Exit code 1 when something differs; each fault is a row. A source in the middle of which an ingest was\n"
	    "stopped is no fault, nor are bytes that 'salvage' said were lost: both are named each time.\n\n"
	    "Who can write the case can also write a new journal, or take rows from its end. So keep the journal head\n"
	    "that every writing command prints, elsewhere:\n\n"
	    "  --head HEX   is this head in the chain? (exit code 1 when it is not)\n"
	    "  --jobs N     threads; the result does not depend on it\n"
	    "  --json --jsonl --csv\n",
    .run = run,
};
