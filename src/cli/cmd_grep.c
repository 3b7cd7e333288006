/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_grep.c - original records that match a regular expression, each with the reference that 'show' takes
 *
 * Where that gives the same, the expression runs over whole chunks and not record by record. Threads search the lines that
 * lie wholly in a chunk and make their rows; a line that straddles two chunks is carried over by the calling one, which
 * gives all rows out in order. What takes the matcher too many steps is no miss: it is said, and the exit code tells.
 */
#include "cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/evidence.h"
#include "pagetrail/pattern.h"

enum { JOBS_MAX = 16 };
/* A record above RECORD_MAX_BYTES is searched in pieces of that size that share as much. */
enum { OVERLAP_BYTES = 64 * KIB };
/* What a thread keeps for a chunk, in rows ready to be written or in places of lines; the rest is left to the calling one. */
enum { PART_BYTES = 2 * MIB, HITS_MAX = 64 * 1024 };

/* What is searched with, one a chunk under way and one for what lies across chunks. */
struct finder {
	const struct search *s;
	struct match *match;
	struct rows *rows; /* where to; NULL: places of lines are kept instead */
	bool part;         /* rows are a part: full at some time */
	uint32_t *hits;    /* from the first byte of the chunk */
	unsigned n_hits;
	uint64_t off;      /* of the chunk */
	uint64_t end;      /* searched as far as that */
	size_t overlap;    /* so much of what is searched was so before */
	uint64_t given_up; /* records that took too many steps */
};

struct search {
	struct rows *rows;
	struct pattern *pattern;
	bool by_record; /* the expression looks at what is around a match */
	int64_t source;
	struct text path;
	struct finder here;
	struct buf carry; /* the beginning of a line whose end is in the next chunk */
};

static int put_line(const struct search *s, struct rows *rows, struct text line, uint64_t off, struct err *err)
{
	struct text shown = text_chomp(line);
	char ref[64];
	int rc = rows_text(rows, text_of(ref_format((struct ref){s->source, off, shown.len}, ref, sizeof(ref))), err);
	if (!rc)
		rc = rows_int(rows, s->source, err);
	if (!rc)
		rc = rows_text(rows, s->path, err);
	if (!rc)
		rc = rows_text(rows, shown.ptr ? shown : TEXT(""), err);
	return rc ? rc : rows_end_row(rows, err);
}

/* The line matches. */
static int found(struct finder *f, struct text line, uint64_t off, struct err *err)
{
	if (f->rows)
		return put_line(f->s, f->rows, line, off, err);
	f->hits[f->n_hits++] = (uint32_t)(off - f->off);
	return 0;
}

static bool is_full(const struct finder *f)
{
	return f->rows ? f->part && rows_part_bytes(f->rows) >= PART_BYTES : f->n_hits == HITS_MAX;
}

/* One record without its line end. 1: it matches. */
static int search_record(struct finder *f, struct text record)
{
	size_t at = 0;
	for (;;) {
		struct err err = {0};
		int rc = pattern_try(f->s->pattern, f->match, record, at, &err);
		if (rc == ERR_LIMIT) {
			f->given_up++;
			return 0;
		}
		struct text hit = match_whole(f->match);
		size_t end = hit.ptr ? (size_t)(hit.ptr - record.ptr) + hit.len : record.len;
		if (rc != 1 || !f->overlap || end > f->overlap)
			return rc;
		at = MAX(end, at + 1); /* the piece before had it */
	}
}

static int search_one(struct finder *f, struct text line, uint64_t off, struct err *err)
{
	int rc = search_record(f, text_chomp(line));
	return rc == 1 ? found(f, line, off, err) : rc;
}

static struct text first_line(struct text t)
{
	size_t end = text_find_char(t, '\n', 0);
	return text_sub(t, 0, end == SIZE_MAX ? t.len : end + 1);
}

static int search_each(struct finder *f, struct text t, uint64_t off, struct err *err)
{
	int rc = 0;
	for (struct text line; t.len && !is_full(f) && !rc; t = text_from(t, line.len), off += line.len) {
		line = first_line(t);
		rc = search_one(f, line, off, err);
		f->end = off + line.len;
	}
	return rc;
}

/* The line of a hit at or behind `at`, which begins a line. A hit says which line to look at by itself: it may reach over the
 * line's end; within the line it is the line's own, for nothing that it looked at is different there. */
static int search_hit(struct finder *f, struct text t, size_t at, uint64_t off, size_t *ret_end, struct err *err)
{
	struct text hit = match_whole(f->match);
	size_t from = hit.ptr ? (size_t)(hit.ptr - t.ptr) : at;
	size_t begin = from > at ? text_rfind_char(text_sub(t, at, from - at), '\n') : SIZE_MAX;
	begin = begin == SIZE_MAX ? at : at + begin + 1;
	struct text line = first_line(text_from(t, begin));
	*ret_end = begin + line.len;
	if (!line.len)
		return 0;
	if (hit.ptr && hit.ptr + hit.len < line.ptr + line.len)
		return found(f, line, off + begin, err);
	return search_one(f, line, off + begin, err);
}

/* Whole lines only, until f is full or f->end is the end of them. */
static int search_lines(struct finder *f, struct text t, uint64_t off, struct err *err)
{
	size_t at = 0;
	int rc = 0;
	if (system_stop)
		return err_set(err, ERR_INTERRUPTED, "stopped");
	f->end = off + t.len;
	if (f->s->by_record || f->overlap || text_find_char(t, '\r', 0) != SIZE_MAX)
		return search_each(f, t, off, err);
	while (at < t.len && !rc) {
		struct err unused = {0};
		int hit = pattern_try(f->s->pattern, f->match, t, at, &unused);
		if (hit == ERR_LIMIT)
			return search_each(f, text_from(t, at), off + at, err);
		if (hit <= 0)
			return hit;
		rc = search_hit(f, t, at, off, &at, err);
		if (is_full(f)) {
			f->end = off + at;
			break;
		}
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

/* --- in a thread --- */

static void finder_free(void *own)
{
	struct finder *f = own;
	match_free(f->match);
	if (f->part)
		rows_drop(f->rows);
	free(f->hits);
	free(f);
}

static int finder_new(struct finder **ret, const struct search *s, struct err *err)
{
	struct finder *f = calloc(1, sizeof(*f));
	if (!f)
		return err_nomem(err);
	f->s = s;
	int rc = match_new(&f->match, err);
	if (!rc)
		rc = rows_part(&f->rows, s->rows, PART_BYTES, err);
	f->part = f->rows;
	if (!rc && !f->rows && !(f->hits = malloc(HITS_MAX * sizeof(*f->hits))))
		rc = err_nomem(err);
	if (rc) {
		finder_free(f);
		return rc;
	}
	*ret = f;
	return 0;
}

/* A chunk between the end of its first line, which may have begun before, and the begin of its last, which may go on. */
static struct text inner_lines(struct text bytes, size_t *ret_from)
{
	size_t last = text_rfind_char(bytes, '\n'), from = first_line(bytes).len;
	*ret_from = from;
	return last == SIZE_MAX ? (struct text){NULL, 0} : text_sub(bytes, from, last + 1 - from);
}

static int look(void *ctx, void **own, struct text bytes, uint64_t off, struct err *err)
{
	struct search *s = ctx;
	struct finder *f = *own;
	if (!f) {
		int rc = finder_new(&f, s, err);
		if (rc)
			return rc;
		*own = f;
	}
	size_t from;
	struct text inner = inner_lines(bytes, &from);
	f->n_hits = 0;
	f->off = off;
	return search_lines(f, inner, off + from, err);
}

/* --- in the calling thread --- */

/* What is carried is a whole line by now, or as much as is searched at once. */
static int search_carry(struct search *s, uint64_t off, bool ends, struct err *err)
{
	int rc = search_lines(&s->here, buf_text(&s->carry), off, err);
	size_t keep = ends ? 0 : MIN((size_t)OVERLAP_BYTES, s->carry.len);
	if (keep)
		memmove(s->carry.ptr, s->carry.ptr + s->carry.len - keep, keep);
	s->carry.len = s->here.overlap = keep;
	return rc;
}

/* Bytes that are searched here: the end of a line is what came before them. */
static int search_edge(struct search *s, struct text bytes, uint64_t off, struct err *err)
{
	while (bytes.len) {
		size_t room = RECORD_MAX_BYTES - MIN(s->carry.len, (size_t)RECORD_MAX_BYTES);
		struct text head = text_sub(bytes, 0, MIN(first_line(bytes).len, room));
		bool ends = head.len && head.ptr[head.len - 1] == '\n';
		int rc = buf_add_text(&s->carry, head, err);
		off += head.len;
		bytes = text_from(bytes, head.len);
		if (!rc && (ends || s->carry.len >= RECORD_MAX_BYTES))
			rc = search_carry(s, off - s->carry.len, ends, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int put_hits(struct search *s, const struct finder *f, struct text bytes, struct err *err)
{
	int rc = 0;
	for (unsigned i = 0; i < f->n_hits && !rc; i++)
		rc = put_line(s, s->rows, first_line(text_from(bytes, f->hits[i])), f->off + f->hits[i], err);
	return rc;
}

static int take(void *ctx, void *own, struct text bytes, uint64_t off, struct err *err)
{
	struct search *s = ctx;
	struct finder *f = own;
	size_t from;
	struct text inner = inner_lines(bytes, &from);
	int rc = search_edge(s, text_sub(bytes, 0, from), off, err);
	if (!rc && f->rows)
		rows_join(s->rows, f->rows);
	else if (!rc)
		rc = put_hits(s, f, bytes, err);
	s->here.given_up += f->given_up;
	f->given_up = 0;
	size_t searched = (size_t)(f->end - off) - from;
	if (!rc && searched < inner.len)
		rc = search_lines(&s->here, text_from(inner, searched), f->end, err);
	return rc ? rc : search_edge(s, text_from(bytes, from + inner.len), off + from + inner.len, err);
}

static int search_source(struct case_file *c, struct evidence_walk *w, struct search *s, struct err *err)
{
	int rc = evidence_walk_source(w, s->source, err);
	if (!rc && s->carry.len) {
		CLEANUP(sql_endp) struct sql *size = NULL;
		rc = sql_prepare(&size, c, "SELECT max(byte_off + byte_len) FROM evidence_chunk WHERE source=?1", err);
		if (!rc)
			rc = sql_int(size, 1, s->source, err);
		if (!rc && (rc = sql_step(size, err)) == 1)
			rc = search_carry(s, (uint64_t)sql_get_int(size, 0) - s->carry.len, true, err);
	}
	buf_clear(&s->carry);
	s->here.overlap = 0;
	return rc;
}

static int search_all(struct case_file *c, struct evidence_walk *w, struct search *s, int64_t only, struct err *err)
{
	CLEANUP(sql_endp) struct sql *list = NULL;
	int rc = sql_prepare(&list, c, "SELECT source, path FROM source WHERE ?1=0 OR source=?1 ORDER BY source", err);
	if (!rc)
		rc = sql_int(list, 1, only, err);
	bool any = false;
	while (!rc && (rc = sql_step(list, err)) == 1) {
		any = true;
		s->source = sql_get_int(list, 0);
		s->path = sql_get_text(list, 1);
		rc = search_source(c, w, s, err);
	}
	if (!rc && only && !any)
		return err_set(err, ERR_INPUT, "no source %lld in this case", (long long)only);
	return rc;
}

static int run(int argc, char **argv, struct err *err)
{
	struct rows_options o = ROWS_OPTIONS_INIT;
	int64_t source = 0;
	const struct option_spec own[] = {{"--source", OPTION_COUNT, &source}};
	const struct option_spec shared[] = {ROWS_OPTIONS(o)};
	struct args args;
	int rc = args_parse(&args, argc, argv, own, ARRAY_SIZE(own), shared, ARRAY_SIZE(shared), 2, 2, err);
	if (rc)
		return rc;
	system_catch_stop();
	CLEANUP(case_closep) struct case_file *c = NULL;
	struct search s = {.carry = BUF_INIT(2 * RECORD_MAX_BYTES), .here = {.s = &s}};
	const struct evidence_work work = {look, take, finder_free, &s, .by_sums = true};
	struct evidence_walk *walk = NULL;
	rc = pattern_compile_lines(&s.pattern, args.at[1], err);
	if (!rc)
		rc = match_new(&s.here.match, err);
	if (!rc)
		rc = case_open(&c, args.at[0], CASE_READ, err);
	const struct rows_column columns[] = {
	    {TEXT("ref"), CELL_TEXT}, {TEXT("source"), CELL_INT}, {TEXT("path"), CELL_TEXT}, {TEXT("text"), CELL_TEXT}};
	if (!rc)
		rc = rows_open(&s.rows, &o, args.at[0], TEXT("grep"), columns, ARRAY_SIZE(columns), "ref,text", err);
	if (!rc)
		rc = evidence_walk_open(&walk, c, MIN(system_cpus(), (unsigned)JOBS_MAX), &work, err);
	if (!rc) {
		rows_param(s.rows, TEXT("regex"), text_of(args.at[1]));
		s.by_record = looks_around(args.at[1]);
		s.here.rows = s.rows;
		rc = search_all(c, walk, &s, source, err);
	}
	evidence_walk_close(walk);
	if (rc)
		rows_drop(s.rows);
	else
		rc = rows_close(s.rows, NULL, err);
	if (!rc && s.here.given_up) {
		err_set(err, ERR_LIMIT, "%" PRIu64 " record%s took the expression too many steps and may match, too",
			s.here.given_up, PLURAL(s.here.given_up));
		rc = err_hint(err, "write it without repeats inside repeats, such as (a+)+");
	}
	match_free(s.here.match);
	pattern_free(s.pattern);
	buf_done(&s.carry);
	return rc ? rc : EXIT_DONE;
}

const struct command command_grep = {
    .name = "grep",
    .synopsis = "CASE REGEX [--source N]",
    .summary = "Finds original records by a regular expression",
    .help = "REGEX is a Perl-compatible expression; ^ and $ are the ends of a record, (?i) in front ignores case.\n"
	    "Every byte that was read is searched, also what no format recognised. Rows have ref, source, path and\n"
	    "text; a table shows ref and text, and 'pagetrail show CASE REF' prints the record as it is.\n\n"
	    "  --source N     only this source; 'pagetrail info' has their numbers\n"
	    "  --json --jsonl --csv --columns A,B --limit N\n\n"
	    "Exit code 0 whether or not anything was found. A record that takes the expression too many steps is\n"
	    "counted and said, with exit code 5; 3 when there is no such source.\n\n"
	    "  pagetrail grep case.ptc 'Input length .*exceeds'\n"
	    "  pagetrail grep case.ptc '(?i)abort' --source 3 --limit 0\n",
    .run = run,
};
