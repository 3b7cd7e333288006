/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_grep.c - original records that match a regular expression, each with the reference that 'show' takes
 *
 * The expression runs over whole chunks, not line by line; a line that straddles two chunks is carried over. A line longer
 * than RECORD_MAX_BYTES is searched in pieces of that size.
 */
#include "cli.h"

#include <stdlib.h>

#include "pagetrail/evidence.h"
#include "pagetrail/pattern.h"

enum { JOBS_MAX = 16, QUEUE_PER_JOB = 3 };

struct search {
	struct rows *rows;
	struct pool *pool; /* decodes ahead of the search */
	struct pattern *pattern;
	struct match *match;
	struct buf carry; /* the beginning of a line whose end is in the next chunk */
	int64_t source;
	struct text path;
	struct err *err;
};

static int put_line(struct search *s, struct text line, uint64_t off)
{
	struct text shown = text_chomp(line);
	char ref[64];
	int rc =
	    rows_text(s->rows, text_of(ref_format((struct ref){s->source, off, shown.len}, ref, sizeof(ref))), s->err);
	if (!rc)
		rc = rows_int(s->rows, s->source, s->err);
	if (!rc)
		rc = rows_text(s->rows, s->path, s->err);
	if (!rc)
		rc = rows_text(s->rows, shown.ptr ? shown : TEXT(""), s->err);
	return rc ? rc : rows_end_row(s->rows, s->err);
}

/* Whole lines only. */
static int search_lines(struct search *s, struct text t, uint64_t off)
{
	size_t at = 0;
	while (at < t.len && pattern_search(s->pattern, s->match, t, at)) {
		size_t hit = (size_t)(match_whole(s->match).ptr - t.ptr);
		size_t from = hit ? text_rfind_char(text_sub(t, 0, hit), '\n') : SIZE_MAX;
		from = from == SIZE_MAX ? 0 : from + 1;
		size_t end = text_find_char(t, '\n', hit);
		end = end == SIZE_MAX ? t.len : end + 1;
		if (from >= t.len)
			break;
		int rc = put_line(s, text_sub(t, from, end - from), off + from);
		if (rc)
			return rc;
		at = end;
	}
	return system_stop ? err_set(s->err, ERR_INTERRUPTED, "stopped") : 0;
}

static int on_bytes(void *ctx, struct text bytes, uint64_t off)
{
	struct search *s = ctx;
	if (s->carry.len) {
		size_t first = text_find_char(bytes, '\n', 0);
		bool ends = first != SIZE_MAX;
		struct text head = text_sub(bytes, 0, ends ? first + 1 : bytes.len);
		off -= s->carry.len;
		int rc = buf_add_text(&s->carry, head, s->err);
		if (!rc && (ends || s->carry.len >= RECORD_MAX_BYTES)) {
			rc = search_lines(s, buf_text(&s->carry), off);
			off += s->carry.len;
			buf_clear(&s->carry);
		}
		if (rc || !ends)
			return rc;
		bytes = text_from(bytes, head.len);
	}
	size_t last = text_rfind_char(bytes, '\n');
	size_t whole = last == SIZE_MAX ? 0 : last + 1;
	int rc = search_lines(s, text_sub(bytes, 0, whole), off);
	return rc ? rc : buf_add_text(&s->carry, text_from(bytes, whole), s->err);
}

static int search_source(struct case_file *c, struct search *s)
{
	int rc = evidence_each(c, s->pool, s->source, on_bytes, s, s->err);
	if (!rc && s->carry.len) {
		CLEANUP(sql_endp) struct sql *size = NULL;
		rc = sql_prepare(&size, c, "SELECT max(byte_off + byte_len) FROM evidence_chunk WHERE source=?1",
				 s->err);
		if (!rc)
			rc = sql_int(size, 1, s->source, s->err);
		if (!rc && (rc = sql_step(size, s->err)) == 1)
			rc = search_lines(s, buf_text(&s->carry), (uint64_t)sql_get_int(size, 0) - s->carry.len);
	}
	buf_clear(&s->carry);
	return rc;
}

static int search_all(struct case_file *c, struct search *s, int64_t only)
{
	CLEANUP(sql_endp) struct sql *list = NULL;
	int rc =
	    sql_prepare(&list, c, "SELECT source, path FROM source WHERE ?1=0 OR source=?1 ORDER BY source", s->err);
	if (!rc)
		rc = sql_int(list, 1, only, s->err);
	bool any = false;
	while (!rc && (rc = sql_step(list, s->err)) == 1) {
		any = true;
		s->source = sql_get_int(list, 0);
		s->path = sql_get_text(list, 1);
		rc = search_source(c, s);
	}
	if (!rc && only && !any)
		return err_set(s->err, ERR_INPUT, "no source %lld in this case", (long long)only);
	return rc;
}

static int run(int argc, char **argv, struct err *err)
{
	struct rows_options o = ROWS_OPTIONS_INIT;
	int64_t source = 0;
	const struct option_spec own[] = {{"--source", OPTION_INT, &source}};
	const struct option_spec shared[] = {ROWS_OPTIONS(o)};
	struct args args;
	int rc = args_parse(&args, argc, argv, own, ARRAY_SIZE(own), shared, ARRAY_SIZE(shared), 2, 2, err);
	if (rc)
		return rc;
	system_catch_stop();
	CLEANUP(case_closep) struct case_file *c = NULL;
	CLEANUP(buf_done) struct buf regex = BUF_INIT(1 * MIB);
	struct search s = {.carry = BUF_INIT(2 * RECORD_MAX_BYTES), .err = err};
	rc = buf_printf(&regex, err, "(?m)%s", args.at[1]); /* ^ and $ are a record's ends */
	if (!rc)
		rc = pattern_compile(&s.pattern, regex.ptr, false, err);
	if (!rc)
		rc = match_new(&s.match, err);
	unsigned jobs = MIN(system_cpus(), (unsigned)JOBS_MAX);
	if (!rc)
		rc = pool_open(&s.pool, jobs > 1 ? jobs : 0, QUEUE_PER_JOB * jobs, err);
	if (!rc)
		rc = case_open(&c, args.at[0], CASE_READ, err);
	const struct rows_column columns[] = {
	    {TEXT("ref"), CELL_TEXT}, {TEXT("source"), CELL_INT}, {TEXT("path"), CELL_TEXT}, {TEXT("text"), CELL_TEXT}};
	if (!rc)
		rc = rows_open(&s.rows, &o, args.at[0], TEXT("grep"), columns, ARRAY_SIZE(columns), "ref,text", err);
	if (!rc) {
		rows_param(s.rows, TEXT("regex"), text_of(args.at[1]));
		rc = search_all(c, &s, source);
		if (rc)
			rows_drop(s.rows);
		else
			rc = rows_close(s.rows, NULL, err);
	}
	pool_close(s.pool);
	match_free(s.match);
	pattern_free(s.pattern);
	buf_done(&s.carry);
	return rc ? rc : EXIT_DONE;
}

const struct command command_grep = {
    .name = "grep",
    .synopsis = "CASE REGEX [--source N]",
    .summary = "Finds original records by a regular expression",
    .help = "REGEX is a Perl-compatible expression; ^ and $ are the ends of a record. Every byte that was read is "
	    "searched,\n"
	    "also what no format recognised.\n\n"
	    "  --source N     only this source\n"
	    "  --json --jsonl --csv --columns A,B --limit N\n\n"
	    "  pagetrail grep case.ptc 'Input length .*exceeds'\n",
    .run = run,
};
