/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_grep.c - original records that match a regular expression, each with the reference that 'show' takes
 *
 * Where that gives the same, the expression runs over whole chunks and not record by record; a line that straddles two
 * chunks is carried over. What takes the matcher too many steps is no miss: it is said, and the exit code tells.
 */
#include "cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/evidence.h"
#include "pagetrail/pattern.h"

enum { JOBS_MAX = 16, QUEUE_PER_JOB = 3 };
/* A record above RECORD_MAX_BYTES is searched in pieces of that size that share as much. */
enum { OVERLAP_BYTES = 64 * KIB };

struct search {
	struct rows *rows;
	struct pool *pool; /* decodes ahead of the search */
	struct pattern *pattern;
	struct match *match;
	struct buf carry;  /* the beginning of a line whose end is in the next chunk */
	size_t overlap;    /* so much of it has been searched */
	bool by_record;    /* the expression looks at what is around a match */
	uint64_t given_up; /* records that took too many steps */
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

/* One record without its line end. 1: it matches. */
static int search_record(struct search *s, struct text record)
{
	size_t at = 0;
	for (;;) {
		struct err err = {0};
		int rc = pattern_try(s->pattern, s->match, record, at, &err);
		if (rc == ERR_LIMIT) {
			s->given_up++;
			return 0;
		}
		struct text hit = match_whole(s->match);
		size_t end = hit.ptr ? (size_t)(hit.ptr - record.ptr) + hit.len : record.len;
		if (rc != 1 || !s->overlap || end > s->overlap)
			return rc;
		at = MAX(end, at + 1); /* the piece before had it */
	}
}

static int search_one(struct search *s, struct text line, uint64_t off)
{
	int rc = search_record(s, text_chomp(line));
	return rc == 1 ? put_line(s, line, off) : rc;
}

static struct text first_line(struct text t)
{
	size_t end = text_find_char(t, '\n', 0);
	return text_sub(t, 0, end == SIZE_MAX ? t.len : end + 1);
}

static int search_each(struct search *s, struct text t, uint64_t off)
{
	for (struct text line; t.len; t = text_from(t, line.len), off += line.len) {
		line = first_line(t);
		int rc = search_one(s, line, off);
		if (rc)
			return rc;
	}
	return 0;
}

/* Whole lines only. A hit says which line to look at by itself: it may reach over the line's end. */
static int search_lines(struct search *s, struct text t, uint64_t off)
{
	size_t at = 0;
	int rc = 0;
	if (system_stop)
		return err_set(s->err, ERR_INTERRUPTED, "stopped");
	if (s->by_record || s->overlap || text_find_char(t, '\r', 0) != SIZE_MAX)
		return search_each(s, t, off);
	while (at < t.len && !rc) {
		struct err err = {0};
		int hit = pattern_try(s->pattern, s->match, t, at, &err);
		if (hit == ERR_LIMIT)
			return search_each(s, text_from(t, at), off + at);
		if (hit <= 0)
			return hit;
		struct text whole = match_whole(s->match);
		size_t from = whole.ptr ? (size_t)(whole.ptr - t.ptr) : at;
		size_t begin = from ? text_rfind_char(text_sub(t, 0, from), '\n') : SIZE_MAX;
		begin = begin == SIZE_MAX ? 0 : begin + 1;
		if (begin >= t.len)
			break;
		struct text line = first_line(text_from(t, begin));
		rc = search_one(s, line, off + begin);
		at = begin + line.len;
	}
	return rc;
}

/* Lookaround, possessive and atomic parts, anchors of the subject: these can tell a record from a chunk. */
static bool looks_around(const char *regex)
{
	static const char *const parts[] = {"(*", "++", "*+", "?+", "}+", "\\A", "\\z", "\\Z", "\\G", "\\K"};
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strstr(regex, parts[i]))
			return true;
	for (const char *p = regex; (p = strstr(p, "(?")); p += 2)
		if (strncmp(p, "(?:", 3) != 0 && strncmp(p, "(?i)", 4) != 0)
			return true;
	return false;
}

/* What is carried is a whole line by now, or as much as is searched at once. */
static int search_carry(struct search *s, uint64_t off, bool ends)
{
	int rc = search_lines(s, buf_text(&s->carry), off);
	size_t keep = ends ? 0 : MIN((size_t)OVERLAP_BYTES, s->carry.len);
	if (keep)
		memmove(s->carry.ptr, s->carry.ptr + s->carry.len - keep, keep);
	s->carry.len = s->overlap = keep;
	return rc;
}

static int on_bytes(void *ctx, struct text bytes, uint64_t off)
{
	struct search *s = ctx;
	while (s->carry.len) {
		size_t room = RECORD_MAX_BYTES - MIN(s->carry.len, (size_t)RECORD_MAX_BYTES);
		struct text head = text_sub(bytes, 0, MIN(first_line(bytes).len, room));
		bool ends = head.len && head.ptr[head.len - 1] == '\n';
		int rc = buf_add_text(&s->carry, head, s->err);
		off += head.len;
		bytes = text_from(bytes, head.len);
		if (!rc && (ends || s->carry.len >= RECORD_MAX_BYTES))
			rc = search_carry(s, off - s->carry.len, ends);
		if (rc || (!ends && !bytes.len))
			return rc;
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
			rc = search_carry(s, (uint64_t)sql_get_int(size, 0) - s->carry.len, true);
	}
	buf_clear(&s->carry);
	s->overlap = 0;
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
		s.by_record = looks_around(args.at[1]);
		rc = search_all(c, &s, source);
		if (rc)
			rows_drop(s.rows);
		else
			rc = rows_close(s.rows, NULL, err);
	}
	if (!rc && s.given_up) {
		err_set(err, ERR_LIMIT, "%" PRIu64 " records took the expression too many steps and may match, too",
			s.given_up);
		rc = err_hint(err, "write it without repeats inside repeats, such as (a+)+");
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
	    "also what no format recognised. A record that takes the expression too many\n"
	    "steps is counted and said, with exit code 5.\n\n"
	    "  --source N     only this source\n"
	    "  --json --jsonl --csv --columns A,B --limit N\n\n"
	    "  pagetrail grep case.ptc 'Input length .*exceeds'\n",
    .run = run,
};
