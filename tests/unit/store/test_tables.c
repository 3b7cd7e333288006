/* SPDX-License-Identifier: Apache-2.0 */
/* test_tables.c - evidence, the virtual tables, table-valued functions, statements of a person, verify and digest */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "pagetrail/column.h"
#include "pagetrail/evidence.h"

static char dir[64];
static char path[128];
static struct case_file *c;

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/pagetrail-test-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/case.pt", dir);
	return case_open(&c, path, CASE_CREATE, NULL);
}

static int teardown(void **state)
{
	char cmd[160];
	(void)state;
	(void)case_close(c, NULL);
	c = NULL;
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	return system(cmd);
}

static void reopen(enum case_mode mode)
{
	struct err err = {0};
	assert_int_equal(case_close(c, &err), 0);
	c = NULL;
	assert_int_equal(case_open(&c, path, mode, &err), 0);
}

/* Another program's connection, but one that keeps the check sums of pages right. */
static int open_outside(const char *name, sqlite3 **ret)
{
	const char *vfs = sqlite3_vfs_find("pagetrail") ? "pagetrail" : NULL;
	return sqlite3_open_v2(name, ret, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs);
}

static void sqlite_exec(const char *sql)
{
	sqlite3 *db;
	char *msg = NULL;
	assert_int_equal(open_outside(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &msg) != SQLITE_OK)
		fail_msg("%s: %s", sql, msg);
	sqlite3_close(db);
}

/* All rows as "a|b;c|d;", NULL as "-". */
static const char *rows(const char *query)
{
	static char out[8192];
	struct sql *s = NULL;
	struct err err = {0};
	size_t at = 0;
	out[0] = 0;
	int r = sql_prepare(&s, c, query, &err);
	while (!r && (r = sql_step(s, &err)) > 0) {
		r = 0;
		for (int i = 0; i < sql_columns(s); i++) {
			struct text t = sql_get_text(s, i);
			at += (size_t)snprintf(out + at, sizeof(out) - at, "%s%.*s", i ? "|" : "",
					       t.ptr ? (int)t.len : 1, t.ptr ? t.ptr : "-");
		}
		at += (size_t)snprintf(out + at, sizeof(out) - at, ";");
	}
	sql_end(s);
	if (r < 0)
		snprintf(out, sizeof(out), "error: %s", err.what);
	return out;
}

static void add_source(int64_t source, const char *worker)
{
	char sql[400];
	snprintf(sql, sizeof(sql),
		 "INSERT INTO source(source, path, container, format_basis, worker, tz, tz_basis, status) "
		 "VALUES(%d, 'p%d', 'none', '{}', %s, 'UTC', 'assumed', 'ingested')",
		 (int)source, (int)source, worker ? worker : "NULL");
	assert_int_equal(sql_exec(c, sql, NULL), 0);
}

static void add_bytes(int64_t source, struct text bytes, uint64_t off)
{
	struct evidence_chunk e;
	assert_int_equal(evidence_encode(bytes, off, &e, NULL), 0);
	assert_int_equal(evidence_append(c, source, &e, NULL), 0);
	evidence_done(&e);
}

/* --- evidence --- */

static void evidence_bytes(void **state)
{
	(void)state;
	static const char odd[] = "a\0b\r\n\xff\xfe\xc3(\n\n\rlast";
	struct text t = {odd, sizeof(odd) - 1};
	struct buf b = BUF_INIT(100000);
	add_source(1, NULL);
	add_bytes(1, t, 0);
	add_bytes(1, t, t.len);
	assert_int_equal(evidence_read(c, 1, 0, 2 * t.len, &b, NULL), 0);
	assert_memory_equal(b.ptr, odd, t.len);
	assert_memory_equal(b.ptr + t.len, odd, t.len);
	buf_clear(&b);
	assert_int_equal(evidence_read(c, 1, t.len - 2, 4, &b, NULL), 0);
	assert_memory_equal(b.ptr, "sta\0", 4);
	buf_clear(&b);
	assert_int_equal(evidence_read(c, 1, 3, 0, &b, NULL), 0);
	assert_int_equal(evidence_read(c, 1, t.len, t.len + 1, &b, NULL), ERR_INPUT);
	assert_int_equal(b.len, 0);
	assert_int_equal(evidence_read(c, 1, UINT64_MAX, 2, &b, NULL), ERR_INPUT);
	assert_int_equal(evidence_read(c, 1, UINT64_MAX - 9, 2, &b, NULL), ERR_INPUT);
	assert_int_equal(evidence_read(c, 2, 0, 1, &b, NULL), ERR_INPUT);
	struct evidence_chunk e;
	assert_int_equal(evidence_encode((struct text){NULL, 0}, 0, &e, NULL), 0);
	assert_int_equal(e.byte_len, 0);
	add_source(2, NULL);
	assert_int_equal(evidence_append(c, 2, &e, NULL), 0);
	evidence_done(&e);
	buf_done(&b);
	/* noise does not compress: it is stored */
	char noise[5000];
	uint64_t x = 88172645463325252u;
	for (size_t i = 0; i < sizeof(noise); i++, x ^= x << 13, x ^= x >> 7, x ^= x << 17)
		noise[i] = (char)x;
	assert_int_equal(evidence_encode((struct text){noise, sizeof(noise)}, 0, &e, NULL), 0);
	assert_int_equal(e.codec, 0);
	evidence_done(&e);
}

static void refs(void **state)
{
	(void)state;
	struct ref r;
	char buf[64];
	assert_true(ref_parse(TEXT("S12@3456+78"), &r));
	assert_true(r.source == 12 && r.off == 3456 && r.len == 78);
	assert_string_equal(ref_format(r, buf, sizeof(buf)), "S12@3456+78");
	assert_string_equal(ref_format((struct ref){INT64_MIN, UINT64_MAX, UINT64_MAX}, buf, sizeof(buf)),
			    "S-9223372036854775808@18446744073709551615+18446744073709551615");
	static const char *const bad[] = {"",
					  "S",
					  "S1",
					  "S1@",
					  "S1@2",
					  "S1@2+",
					  "s1@2+3",
					  "S1@2+3 ",
					  "S-1@2+3",
					  "S1@+2+3",
					  "S99999999999999999999@1+1",
					  "S1@9223372036854775808+1"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(ref_parse(text_of(bad[i]), &r));
	assert_true(ref_parse(TEXT("S9223372036854775807@9223372036854775807+9223372036854775807"), &r));
}

static void records(void **state)
{
	(void)state;
	add_source(1, NULL);
	add_source(2, NULL);
	add_source(3, NULL);
	add_bytes(1, TEXT("one\r\ntw"), 0);
	add_bytes(1, TEXT("o, in "), 7);
	add_bytes(1, TEXT("three\n\nend\n"), 13);
	add_bytes(1, TEXT("after"), 24);
	add_bytes(2, TEXT("x\n"), 0);
	assert_string_equal(rows("SELECT source, byte_off, byte_len, ref, text FROM records"),
			    "1|0|3|S1@0+3|one;1|5|13|S1@5+13|two, in three;1|19|0|S1@19+0|;1|20|3|S1@20+3|end;"
			    "1|24|5|S1@24+5|after;2|0|1|S2@0+1|x;");
	assert_string_equal(rows("SELECT text FROM records WHERE source = 2"), "x;");
	assert_string_equal(rows("SELECT text FROM records WHERE source = 3"), "");
	assert_string_equal(rows("SELECT text FROM records WHERE source = NULL"), "");
	assert_string_equal(rows("SELECT text FROM records WHERE byte_off = 5"), "two, in three;");
	assert_string_equal(rows("SELECT text FROM records WHERE source = 1 AND byte_off = 24"), "after;");
	assert_string_equal(rows("SELECT text FROM records WHERE source = 1 AND byte_off = 6"), "");
	assert_string_equal(rows("SELECT text FROM records WHERE source = 1 AND byte_off = 19"), ";");
	assert_string_equal(rows("SELECT byte_off FROM records WHERE byte_off >= 6"), "19;20;24;");
	assert_string_equal(rows("SELECT byte_off FROM records WHERE byte_off > 19"), "20;24;");
	assert_string_equal(rows("SELECT byte_off FROM records WHERE byte_off >= 19.5"), "20;24;");
	assert_string_equal(rows("SELECT byte_off FROM records WHERE byte_off >= 25"), "");
	assert_string_equal(rows("SELECT text FROM records WHERE text = 'end' OR byte_off = 0 ORDER BY text"),
			    "end;one;x;");
	/* a line longer than a record may be: its length is true, its text is cut */
	char *a = malloc(3 * RECORD_MAX_BYTES / 2);
	memset(a, 'a', 3 * RECORD_MAX_BYTES / 2);
	add_bytes(3, (struct text){a, 3 * RECORD_MAX_BYTES / 4}, 0);
	add_bytes(3, (struct text){a, 3 * RECORD_MAX_BYTES / 4}, 3 * RECORD_MAX_BYTES / 4);
	add_bytes(3, TEXT("\nz"), 3 * RECORD_MAX_BYTES / 2);
	free(a);
	assert_string_equal(rows("SELECT byte_len, length(text) FROM records WHERE source = 3"),
			    "25165824|16777216;1|1;");
}

/* A source that counts as one record is one, in however many lines and chunks it lies. */
static void whole_records(void **state)
{
	(void)state;
	static const char *const texts[] = {"{\n\"a\": 1,\r\n", "\"b\": [\n]\n}", "\r\n"};
	uint64_t off = 0;
	for (int64_t source = 1; source <= 5; source++)
		add_source(source, NULL);
	assert_int_equal(sql_exec(c, "UPDATE source SET records = 1 WHERE source IN (1, 3, 4)", NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		add_bytes(1, text_of(texts[i]), off);
		off += strlen(texts[i]);
	}
	add_bytes(2, TEXT("x\ny\n"), 0);
	add_bytes(3, TEXT("\n"), 0);
	add_bytes(5, TEXT("z"), 0);
	assert_string_equal(rows("SELECT ref, text FROM records"),
			    "S1@0+21|{\n\"a\": 1,\r\n\"b\": [\n]\n};S2@0+1|x;S2@2+1|y;S3@0+0|;S5@0+1|z;");
	assert_string_equal(rows("SELECT source FROM records WHERE byte_off >= 0"), "1;2;2;3;5;");
	assert_string_equal(rows("SELECT source FROM records WHERE byte_off >= 1"), "2;");
	assert_string_equal(rows("SELECT source FROM records WHERE byte_off = 0"), "1;2;3;5;");
	assert_string_equal(rows("SELECT byte_len FROM records WHERE source = 1 AND byte_off = 0"), "21;");
	assert_string_equal(rows("SELECT byte_len FROM records WHERE source = 1 AND byte_off = 2"), "");
	char *a = malloc(3 * RECORD_MAX_BYTES / 4);
	memset(a, '\n', 3 * RECORD_MAX_BYTES / 4);
	add_bytes(4, (struct text){a, 3 * RECORD_MAX_BYTES / 4}, 0);
	add_bytes(4, (struct text){a, 3 * RECORD_MAX_BYTES / 4}, 3 * RECORD_MAX_BYTES / 4);
	free(a);
	assert_string_equal(rows("SELECT byte_len, length(text) FROM records WHERE source = 4"), "25165824|16777216;");
}

/* --- events --- */

static void add_pages(int64_t source, int64_t first_ns, uint32_t n)
{
	struct event_batch *b;
	struct event_chunk e;
	struct page_run runs[2];
	static const char *const ops[] = {"alloc", "read", "free"};
	assert_int_equal(event_batch_new(&b, EVENT_PAGE, n, NULL), 0);
	for (uint32_t i = 0; i < n; i++) {
		struct event x = {.kind = EVENT_PAGE, .byte_off = i * 10, .byte_len = 9};
		x.ts = i == 1 ? STAMP_INIT : (struct stamp){first_ns + i, STAMP_ZONED, 1};
		x.worker = i == 0 ? TEXT("") : i == 1 ? TEXT("/dp1") : TEXT("other");
		x.known = 1u << PAGE_OP | 1u << PAGE_SEQ | (i == 2 ? 0 : 1u << PAGE_PAGES);
		x.t[PAGE_OP] = text_of(ops[i % 3]);
		x.i[PAGE_SEQ] = i;
		runs[0] = (struct page_run){i, 2};
		runs[1] = (struct page_run){100, 1};
		x.runs = runs;
		x.n_runs = i == 2 ? 0 : i;
		if (x.n_runs > 2)
			x.n_runs = 2;
		assert_int_equal(event_batch_add(b, &x, NULL), 0);
	}
	assert_int_equal(column_encode(b, NULL, &e, NULL), 0);
	assert_int_equal(column_append(c, source, &e, NULL), 0);
	column_done(&e);
	event_batch_free(b);
}

static void page_events(void **state)
{
	(void)state;
	add_source(1, "'decode-0'");
	add_source(2, NULL);
	add_pages(1, 1000, 4);
	add_pages(2, 5000, 2);
	assert_string_equal(
	    rows("SELECT source, byte_off, byte_len, ref, ts_ns, ts_quality, worker, op, seq, pool, pages "
		 "FROM page_events"),
	    "1|0|9|S1@0+9|1000|1|decode-0|alloc|0|-|[];1|10|9|S1@10+9|-|0|decode-0/dp1|read|1|-|[[1,2]];"
	    "1|20|9|S1@20+9|1002|1|other|free|2|-|-;1|30|9|S1@30+9|1003|1|other|alloc|3|-|[[3,2],[100,1]];"
	    "2|0|9|S2@0+9|5000|1|-|alloc|0|-|[];2|10|9|S2@10+9|-|0|-|read|1|-|[[1,2]];");
	assert_string_equal(rows("SELECT seq FROM page_events WHERE source = 2"), "0;1;");
	assert_string_equal(rows("SELECT seq FROM page_events WHERE ts_ns > 1002 AND ts_ns < 5000"), "3;");
	assert_string_equal(rows("SELECT seq FROM page_events WHERE ts_ns BETWEEN 1000 AND 1002.5"), "0;2;");
	assert_string_equal(rows("SELECT seq FROM page_events WHERE ts_ns IS NULL"), "1;1;");
	assert_string_equal(rows("SELECT seq FROM page_events WHERE source = 1 AND byte_off = 30"), "3;");
	assert_string_equal(rows("SELECT seq FROM page_events WHERE byte_off = 31"), "");
	assert_string_equal(rows("SELECT seq FROM page_events WHERE source = NULL OR ts_ns = NULL"), "");
	assert_string_equal(rows("SELECT seq FROM page_events WHERE seq = 3 OR op = 'free' OR source = 2"), "2;3;0;1;");
	assert_string_equal(rows("SELECT count(*) FROM page_events"), "6;");
	assert_string_equal(rows("SELECT source, seq FROM page_events WHERE op = 'free'"), "1|2;");
	assert_string_equal(rows("SELECT source, seq FROM page_events WHERE op = 'FREE' COLLATE NOCASE"), "1|2;");
	assert_string_equal(rows("SELECT seq FROM page_events WHERE op = 'none' OR op = 7"), "");
	assert_string_equal(rows("SELECT source, seq FROM page_events WHERE worker = 'other'"), "1|2;1|3;");
	assert_string_equal(rows("SELECT source, seq FROM page_events WHERE worker = 'decode-0'"), "1|0;");
	assert_string_equal(rows("SELECT source, seq FROM page_events WHERE worker = 'decode-0/dp1'"), "1|1;");
	assert_string_equal(rows("SELECT seq FROM page_events WHERE worker = 'decode-0' AND op = 'read'"), "");
	assert_string_equal(rows("SELECT seq FROM page_events WHERE worker = 'decode' OR worker = ''"), "");
	assert_string_equal(rows("SELECT count(*) FROM leg_events"), "0;");
	/* pages as rows, a join of the events with their records' text */
	assert_string_equal(
	    rows("SELECT j.value ->> 0, j.value ->> 1 FROM page_events, json_each(pages) j WHERE seq = 3"),
	    "3|2;100|1;");
	for (int k = 0; k < EVENT_KINDS; k++) {
		char q[100];
		snprintf(q, sizeof(q), "SELECT count(*) FROM pragma_table_info('%s_events')", event_kinds[k].name);
		assert_int_equal(atoi(rows(q)), 7 + event_kinds[k].n_columns);
	}
	reopen(CASE_READ);
	assert_string_equal(rows("SELECT count(*) FROM page_events"), "6;");
}

static void scans(void **state)
{
	(void)state;
	struct event_scan *s;
	const struct event_batch *b;
	int64_t source;
	add_source(1, NULL);
	add_source(2, NULL);
	add_pages(2, 5000, 2);
	add_pages(1, 1000, 4);
	assert_int_equal(event_scan_open(&s, c, EVENT_PAGE, 1u << PAGE_SEQ, NULL, NULL), 0);
	assert_int_equal(event_scan_next(s, &b, &source, NULL), 1);
	assert_true(source == 1 && b->n == 4 && b->columns == 1u << PAGE_SEQ && b->ints[PAGE_SEQ][3] == 3);
	assert_false(event_known(b, 0, PAGE_OP));
	assert_int_equal(event_scan_next(s, &b, &source, NULL), 1);
	assert_true(source == 2 && b->n == 2);
	assert_int_equal(event_scan_next(s, &b, &source, NULL), 0);
	assert_int_equal(event_scan_next(s, &b, &source, NULL), 0);
	event_scan_close(s);
	struct event_filter f = {0, 2000, TIME_UNKNOWN};
	assert_int_equal(event_scan_open(&s, c, EVENT_PAGE, 0, &f, NULL), 0);
	assert_int_equal(event_scan_next(s, &b, &source, NULL), 1);
	assert_int_equal(source, 2);
	assert_int_equal(event_scan_next(s, &b, &source, NULL), 0);
	event_scan_close(s);
	event_scan_close(NULL);
}

/* --- table-valued functions --- */

struct count {
	int64_t at, to;
	char tag[16];
};

static int count_open(void *ctx, const struct text *args, void **ret, struct err *err)
{
	struct count *x = calloc(1, sizeof(*x));
	*ret = x;
	if (args[0].ptr && !text_int64(args[0], &x->to)) {
		free(x);
		return err_set(err, ERR_USAGE, "count(): '%.*s' is not a number", TEXT_ARG(args[0]));
	}
	snprintf(x->tag, sizeof(x->tag), "%.*s", args[1].ptr ? (int)args[1].len : 4,
		 args[1].ptr ? args[1].ptr : "none");
	++*(int *)ctx;
	return 0;
}

static int count_next(void *state, struct rowset *row, struct err *err)
{
	struct count *x = state;
	if (x->at == 7)
		return err_set(err, ERR_LIMIT, "seven is too far");
	if (x->at >= x->to)
		return 0;
	rowset_int(row, 0, ++x->at);
	rowset_text(row, 1, text_of(x->tag));
	if (x->at % 2)
		rowset_real(row, 2, (double)x->at / 2);
	rowset_time(row, 3, x->at == 2 ? TIME_UNKNOWN : x->at);
	rowset_text(row, 4, TEXT("[1]"));
	return 1;
}

static void functions(void **state)
{
	(void)state;
	static const struct rowset_column columns[] = {
	    {"n", "INTEGER", false}, {"tag", "TEXT", false},    {"half", "REAL", false}, {"at_ns", "INTEGER", false},
	    {"list", "JSON", false}, {"upto", "INTEGER", true}, {"label", "TEXT", true}};
	static const struct rowset_spec spec = {"counted", columns, ARRAY_SIZE(columns), count_open, count_next, free};
	int opened = 0;
	assert_int_equal(rowset_register(c, &spec, &opened, NULL), 0);
	assert_string_equal(rows("SELECT * FROM counted(2)"), "1|none|0.5|1|[1];2|none|-|-|[1];");
	assert_string_equal(rows("SELECT n, tag FROM counted(2, 'x')"), "1|x;2|x;");
	assert_string_equal(rows("SELECT n FROM counted"), "");
	assert_string_equal(rows("SELECT n FROM counted WHERE upto = 1"), "1;");
	assert_string_equal(rows("SELECT n FROM counted(NULL)"), "");
	assert_string_equal(rows("SELECT a.n, b.n FROM counted(2) a, counted(a.n) b"), "1|1;2|1;2|2;");
	assert_string_equal(rows("SELECT a.n, b.n FROM counted(a.n) b, counted(2) a"), "1|1;2|1;2|2;");
	assert_string_equal(rows("SELECT n FROM counted(3) WHERE upto = 3 AND n > 1"), "2;3;");
	assert_string_equal(rows("SELECT n FROM counted(3) WHERE upto = 4"), "");
	assert_string_equal(rows("SELECT j.value FROM counted(1), json_each(list) j"), "1;");
	assert_int_equal(opened > 0, 1);
	/* errors keep code and words */
	struct sql *s;
	struct err err = {0};
	assert_int_equal(sql_prepare(&s, c, "SELECT n FROM counted(9)", &err), 0);
	int r;
	while ((r = sql_step(s, &err)) > 0)
		;
	assert_int_equal(r, ERR_LIMIT);
	assert_string_equal(err.what, "seven is too far");
	sql_end(s);
	assert_string_equal(rows("SELECT n FROM counted('many')"), "error: count(): 'many' is not a number");
}

struct keyed {
	int at;
	char *key; /* that was handed down; "-": none */
};

static int keyed_open(void *ctx, const struct text *args, void **ret, struct err *err)
{
	struct keyed *x = calloc(1, sizeof(*x));
	(void)err;
	x->key = ctx;
	snprintf(x->key, 16, "%.*s", args[ROWSET_KEY].ptr ? (int)args[ROWSET_KEY].len : 1,
		 args[ROWSET_KEY].ptr ? args[ROWSET_KEY].ptr : "-");
	*ret = x;
	return 0;
}

static int keyed_next(void *state, struct rowset *row, struct err *err)
{
	(void)row, (void)err;
	return ((struct keyed *)state)->at++ < 3;
}

static int keyed_fill(void *state, struct rowset *row, unsigned col, struct err *err)
{
	static const char *const tags[] = {"a", "b", NULL};
	struct keyed *x = state;
	(void)err;
	if (col)
		rowset_const(row, col, tags[x->at - 1]);
	else
		rowset_int(row, col, x->at);
	return 0;
}

/* A key is handed down where it means equality of the same bytes, and checked all the same. */
static void keys(void **state)
{
	(void)state;
	static const struct rowset_column columns[] = {{"n", "INTEGER", false}, {"tag", "TEXT", false}};
	static const unsigned key = 1;
	static const struct rowset_spec spec = {.name = "keyed",
						.columns = columns,
						.n_columns = ARRAY_SIZE(columns),
						.open = keyed_open,
						.next = keyed_next,
						.fill = keyed_fill,
						.close = free,
						.key = &key};
	static const struct {
		const char *sql, *rows, *key;
	} cases[] = {{"SELECT * FROM keyed()", "1|a;2|b;3|-;", "-"},
		     {"SELECT n FROM keyed() WHERE tag = 'b'", "2;", "b"},
		     {"SELECT n FROM keyed() WHERE 'b' = tag AND n = 2", "2;", "b"},
		     {"SELECT n FROM keyed() WHERE tag = 'B' COLLATE NOCASE", "2;", "-"},
		     {"SELECT n FROM keyed() WHERE tag > 'a'", "2;", "-"},
		     {"SELECT n FROM keyed() WHERE tag = NULL", "", "-"},
		     {"SELECT n FROM keyed() WHERE tag IS NULL", "3;", "-"},
		     {"SELECT n FROM keyed() WHERE tag = x'61'", "", "-"},
		     {"SELECT n FROM keyed() WHERE tag = 5", "", "-"},
		     {"SELECT n FROM (SELECT 'a' AS t) JOIN keyed() ON tag = t", "1;", "a"}};
	char got[16] = "";
	assert_int_equal(rowset_register(c, &spec, got, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_string_equal(rows(cases[i].sql), cases[i].rows);
		assert_string_equal(got, cases[i].key);
	}
}

/* --- statements of a person --- */

static void untrusted(void **state)
{
	(void)state;
	add_source(1, NULL);
	static const char *const good[] = {
	    "SELECT 1",
	    "select 1;",
	    " -- a comment\nSELECT 1 ; -- end\n ; ",
	    "WITH t(a) AS (VALUES(1)) SELECT a FROM t",
	    "SELECT count(*) FROM source",
	    "SELECT count(*) FROM page_events",
	    "SELECT * FROM records",
	    "PRAGMA table_info(source)",
	    "SELECT name FROM pragma_table_info('source')",
	    "EXPLAIN SELECT 1",
	    "VALUES(1)",
	    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9) SELECT sum(i) FROM n"};
	static const char *const bad[] = {"",
					  "   -- nothing",
					  "SELECT",
					  "SELECT 1; SELECT 2",
					  "SELECT 1; DROP TABLE source",
					  "DELETE FROM source",
					  "INSERT INTO case_info VALUES('a','b')",
					  "CREATE TABLE x(a)",
					  "CREATE TEMP TABLE x(a)",
					  "ATTACH ':memory:' AS m",
					  "PRAGMA journal_mode=OFF",
					  "PRAGMA query_only=OFF",
					  "PRAGMA writable_schema=ON",
					  "BEGIN",
					  "COMMIT",
					  "SAVEPOINT a",
					  "VACUUM INTO '/tmp/x'",
					  "REINDEX",
					  "SELECT load_extension('x')",
					  "SELECT * FROM nothing",
					  "SELECT nothing FROM source",
					  "SELECT * FROM pragma_database_list",
					  "ANALYZE",
					  "DROP TABLE source",
					  "UPDATE source SET path = ''",
					  "UPDATE sqlite_master SET type = 'x'",
					  "EXPLAIN DELETE FROM source",
					  "SELECT 1; garbage",
					  "CREATE VIRTUAL TABLE v USING fts5(a)"};
	for (int mode = CASE_READ; mode <= CASE_WRITE; mode++) {
		reopen((enum case_mode)mode);
		for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
			struct sql *s = NULL;
			struct err err = {0};
			if (sql_prepare_untrusted(&s, c, text_of(good[i]), &err))
				fail_msg("%s: %s", good[i], err.what);
			assert_true(sql_step(s, &err) >= 0);
			sql_end(s);
		}
		for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
			struct sql *s = NULL;
			struct err err = {0};
			if (sql_prepare_untrusted(&s, c, text_of(bad[i]), &err) != ERR_USAGE)
				fail_msg("not refused: %s", bad[i]);
			assert_true(err.what[0]);
		}
		struct sql *s = NULL;
		assert_int_equal(sql_prepare_untrusted(&s, c, (struct text){"SELECT 1\0", 9}, NULL), ERR_USAGE);
		/* our own statements are not held to it */
		assert_string_equal(rows("PRAGMA foreign_keys"), "0;");
	}
}

static void views_may_use_the_tables(void **state)
{
	(void)state;
	reopen(CASE_READ);
	(void)case_close(c, NULL);
	c = NULL;
	sqlite_exec("CREATE VIEW v AS SELECT source FROM source");
	assert_int_equal(case_open(&c, path, CASE_WRITE, NULL), 0);
	assert_int_equal(sql_exec(c, "CREATE VIEW w AS SELECT count(*) AS n FROM page_events", NULL), 0);
	reopen(CASE_READ);
	assert_string_equal(rows("SELECT n FROM w"), "0;");
}

static void binding(void **state)
{
	(void)state;
	struct sql *s;
	assert_int_equal(sql_prepare(&s, c, "SELECT :a, :b, :c, :d, :e", NULL), 0);
	assert_int_equal(sql_params(s), 5);
	assert_int_equal(sql_param(s, ":b"), 2);
	assert_int_equal(sql_param(s, ":z"), 0);
	assert_string_equal(sql_param_name(s, 3), ":c");
	assert_int_equal(sql_int(s, 1, TIME_UNKNOWN, NULL), 0);
	assert_int_equal(sql_text(s, 2, TEXT(""), NULL), 0);
	assert_int_equal(sql_text(s, 3, (struct text){NULL, 0}, NULL), 0);
	assert_int_equal(sql_blob(s, 4, (struct text){"a\0b", 3}, NULL), 0);
	assert_int_equal(sql_real(s, 5, 1.5, NULL), 0);
	assert_int_equal(sql_int(s, 6, 1, NULL), ERR_BUG);
	assert_int_equal(sql_step(s, NULL), 1);
	assert_int_equal(sql_type(s, 0), SQL_NULL);
	assert_int_equal(sql_type(s, 1), SQL_TEXT);
	assert_non_null(sql_get_text(s, 1).ptr);
	assert_null(sql_get_text(s, 2).ptr);
	assert_int_equal(sql_get_text(s, 3).len, 3);
	assert_true(sql_get_real(s, 4) > 1.4 && sql_get_time(s, 0) == TIME_UNKNOWN && sql_get_int(s, 0) == 0);
	assert_int_equal(sql_step(s, NULL), 0);
	assert_int_equal(sql_step(s, NULL), 1);
	sql_end(s);
	sql_end(NULL);
}

/* --- verify and digest --- */

static char faults[4096];

static int on_fault(void *ctx, struct text where, struct text what)
{
	(void)ctx;
	size_t at = strlen(faults);
	snprintf(faults + at, sizeof(faults) - at, "%.*s: %.*s\n", TEXT_ARG(where), TEXT_ARG(what));
	return 0;
}

static int verify(void)
{
	struct err err = {0};
	char digest[SHA256_HEX];
	faults[0] = 0;
	int r = case_verify(c, 1, NULL, on_fault, NULL, digest, &err);
	if (r < 0)
		fail_msg("%s", err.what);
	return r;
}

static const char line[] = "a line that is long enough to be packed, packed, packed, packed\n";

/* Two sources in the given order, their evidence and events cut into `parts` chunks. */
static void fill_case(int first, int parts)
{
	for (int k = 0; k < 2; k++) {
		int which = (first + k) % 2, source = k + 1;
		char sql[700], hex[SHA256_HEX];
		unsigned char sha[SHA256_BYTES];
		struct buf all = BUF_INIT(MIB);
		for (int i = 0; i < 8; i++)
			assert_int_equal(buf_printf(&all, NULL, "%d %d %s", which, i, line), 0);
		assert_int_equal(sha256_once(all.ptr, all.len, sha, NULL), 0);
		sha256_hex(sha, hex);
		snprintf(sql, sizeof(sql),
			 "INSERT INTO source(source, path, sha256, content_sha256, container, format_basis, worker, "
			 "tz, tz_basis, "
			 "bytes, records, parsed, bytes_parsed, status) VALUES(%d, 'x%d', '%s', '%s', 'none', '{}', "
			 "'w%d', 'UTC', "
			 "'assumed', %zu, 8, 8, %zu, 'ingested')",
			 source, which, hex, hex, which, all.len, all.len);
		assert_int_equal(sql_exec(c, sql, NULL), 0);
		size_t step = all.len / (size_t)parts;
		for (int p = 0; p < parts; p++)
			add_bytes(source, text_sub(buf_text(&all), step * (size_t)p, p + 1 == parts ? all.len : step),
				  step * (size_t)p);
		for (int p = 0; p < parts; p++) {
			struct event_batch *b;
			struct event_chunk e;
			assert_int_equal(event_batch_new(&b, EVENT_LEG, 8, NULL), 0);
			for (int i = 8 / parts * p; i < 8 / parts * (p + 1); i++) {
				struct event x = {.kind = EVENT_LEG, .byte_off = (uint64_t)i * 60, .byte_len = 50};
				x.ts = (struct stamp){1000 + i, STAMP_ZONED, 1};
				x.known = 1u << LEG_RID | 1u << LEG_INPUT;
				x.t[LEG_RID] = which ? TEXT("r1") : TEXT("r0");
				x.i[LEG_INPUT] = i * which;
				x.worker = TEXT("");
				assert_int_equal(event_batch_add(b, &x, NULL), 0);
			}
			assert_int_equal(column_encode(b, NULL, &e, NULL), 0);
			assert_int_equal(column_append(c, source, &e, NULL), 0);
			column_done(&e);
			event_batch_free(b);
		}
		buf_done(&all);
	}
	for (int source = 1; source <= 2; source++) {
		char seal[SHA256_HEX], detail[128];
		assert_int_equal(source_seal(c, source, seal, NULL), 0);
		snprintf(detail, sizeof(detail), "{\"source\":%d,\"seal\":\"%s\"}", source, seal);
		assert_int_equal(journal_append(c, 1, "ingest", text_of(detail), NULL, NULL), 0);
	}
}

/* What a connection has written itself it does not hash again; every other one does. */
static int read_first(void)
{
	struct event_scan *s = NULL;
	const struct event_batch *b;
	int64_t source;
	int r = event_scan_open(&s, c, EVENT_LEG, 0, NULL, NULL);
	if (!r)
		r = event_scan_next(s, &b, &source, NULL);
	event_scan_close(s);
	return r;
}

static void own_chunks(void **state)
{
	char byte;
	(void)state;
	fill_case(0, 1);
	assert_int_equal(sql_exec(c,
				  "UPDATE evidence_chunk SET sha256 = zeroblob(32); "
				  "UPDATE event_chunk SET sha256 = zeroblob(32)",
				  NULL),
			 0);
	assert_int_equal(evidence_copy(c, 1, 0, 1, &byte, NULL), 0);
	assert_int_equal(read_first(), 1);
	reopen(CASE_WRITE);
	assert_int_equal(evidence_copy(c, 1, 0, 1, &byte, NULL), ERR_DAMAGED);
	assert_int_equal(read_first(), ERR_DAMAGED);
}

static void digest_of(int first, int parts, char out[SHA256_HEX])
{
	assert_int_equal(setup(NULL), 0);
	fill_case(first, parts);
	assert_int_equal(case_digest(c, out, NULL), 0);
}

static void digests(void **state)
{
	(void)state;
	char a[SHA256_HEX], b[SHA256_HEX];
	digest_of(0, 1, a);
	teardown(NULL);
	digest_of(1, 1, b);
	assert_string_equal(a, b);
	teardown(NULL);
	digest_of(1, 4, b);
	assert_string_equal(a, b);
	assert_int_equal(sql_exec(c, "UPDATE source SET parsed = 7 WHERE source = 1", NULL), 0);
	assert_int_equal(case_digest(c, b, NULL), 0);
	assert_string_not_equal(a, b);
}

/* Flips one byte in the middle of a blob. */
static void flip(const char *table, const char *column, int64_t row)
{
	sqlite3 *db;
	sqlite3_blob *blob;
	unsigned char byte;
	assert_int_equal(open_outside(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_blob_open(db, "main", table, column, row, 1, &blob), SQLITE_OK);
	int at = sqlite3_blob_bytes(blob) / 2;
	assert_int_equal(sqlite3_blob_read(blob, &byte, 1, at), SQLITE_OK);
	byte ^= 4;
	assert_int_equal(sqlite3_blob_write(blob, &byte, 1, at), SQLITE_OK);
	sqlite3_blob_close(blob);
	sqlite3_close(db);
}

static void verify_finds(void **state)
{
	(void)state;
	fill_case(0, 2);
	if (verify())
		fail_msg("%s", faults);
	reopen(CASE_READ);
	assert_int_equal(verify(), 0);
	for (int64_t row = 1; row <= 4; row++) {
		flip("event_chunk", "data", row);
		assert_int_equal(verify(), 1);
		assert_non_null(strstr(faults, "event chunk"));
		flip("event_chunk", "data", row);
		flip("event_chunk", "sha256", row);
		assert_int_equal(verify(), 1);
		flip("event_chunk", "sha256", row);
		flip("evidence_chunk", "data", row);
		assert_int_equal(verify(), 1);
		assert_non_null(strstr(faults, "evidence S"));
		flip("evidence_chunk", "data", row);
		flip("evidence_chunk", "sha256", row);
		assert_int_equal(verify(), 1);
		flip("evidence_chunk", "sha256", row);
	}
	flip("journal", "sha256", 1);
	assert_int_equal(verify(), 1);
	assert_string_equal(faults, "journal row 1: the chain of hashes breaks here\n");
	flip("journal", "sha256", 1);
	assert_int_equal(verify(), 0);
	static const struct {
		const char *sql, *undo, *says;
	} cases[] = {
	    {"UPDATE source SET parsed = 7", "UPDATE source SET parsed = 8", "source S2: records are not"},
	    {"UPDATE source SET bytes_context = 1", "UPDATE source SET bytes_context = 0", "source S1: bytes are not"},
	    {"UPDATE source SET parsed = 9, context = -1", "UPDATE source SET parsed = 8, context = 0",
	     "impossible number"},
	    {"UPDATE event_chunk SET n = 3 WHERE chunk = 2", "UPDATE event_chunk SET n = 4", "number of events"},
	    {"UPDATE event_chunk SET ts_min = 3 WHERE chunk = 1",
	     "UPDATE event_chunk SET ts_min = 1000 WHERE chunk = 1", "range of times"},
	    {"UPDATE event_chunk SET byte_max = 9999 WHERE chunk = 1",
	     "UPDATE event_chunk SET byte_max = 230 WHERE chunk = 1", "range of bytes"},
	    {"UPDATE event_chunk SET kind = 77 WHERE chunk = 1", "UPDATE event_chunk SET kind = 1", "unknown kind"},
	    {"UPDATE event_chunk SET kind = 3 WHERE chunk = 1", "UPDATE event_chunk SET kind = 1",
	     "not one of this kind"},
	    {"INSERT INTO clock VALUES(99, 0, NULL, 0, 0, 0, 0, 'x')", "DELETE FROM clock",
	     "a row of source that is not there"},
	    {"UPDATE evidence_chunk SET codec = 9 WHERE rowid = 1", "UPDATE evidence_chunk SET codec = 1",
	     "unknown codec"},
	    {"UPDATE evidence_chunk SET byte_len = 1 << 40 WHERE rowid = 4", "UPDATE evidence_chunk SET byte_len = 272",
	     "claims"},
	    {"UPDATE source SET path = 'y' WHERE source = 2", "UPDATE source SET path = 'x1' WHERE source = 2",
	     "source S2: "},
	    {"INSERT INTO reject VALUES(1, 0, 9, 1, 'x')", "DELETE FROM reject",
	     "source S1: its row, rejects or chunks"},
	    {"INSERT INTO source(source, path, container, format_basis, tz, tz_basis, status) VALUES(3, 'z', 'none', "
	     "'{}', "
	     "'UTC', 'assumed', 'failed')",
	     "DELETE FROM source WHERE source = 3", "source S3: the journal does not know it"},
	    {"CREATE VIEW findings AS SELECT 1 AS class", "DROP VIEW findings", "view findings: is no part of a case"},
	    {"CREATE TABLE records(source, text)", "DROP TABLE records", "table records: is no part of a case"},
	    {"CREATE TRIGGER t AFTER INSERT ON gap BEGIN DELETE FROM gap; END", "DROP TRIGGER t",
	     "trigger t: is no part of a case"},
	    {"ALTER TABLE row_chunk ADD COLUMN more TEXT", "ALTER TABLE row_chunk DROP COLUMN more",
	     "table row_chunk: is not made as in a new case"},
	    {"UPDATE source SET status = 'reading' WHERE source = 2", "UPDATE source SET status = 'ingested'",
	     "source S2: "},
	    {"UPDATE source SET content_sha256 = 'x' WHERE source = 2", NULL, "content_sha256"},
	    {"DELETE FROM evidence_chunk WHERE byte_off = 0 AND source = 1", NULL, "does not follow"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		sqlite_exec(cases[i].sql);
		assert_int_equal(verify(), 1);
		if (!strstr(faults, cases[i].says))
			fail_msg("%s: '%s' lacks '%s'", cases[i].sql, faults, cases[i].says);
		if (!cases[i].undo)
			continue;
		sqlite_exec(cases[i].undo);
		if (verify())
			fail_msg("%s: %s", cases[i].undo, faults);
	}
	struct buf b = BUF_INIT(MIB);
	assert_int_equal(evidence_each(c, 1, NULL, NULL, NULL), ERR_DAMAGED);
	buf_done(&b);
}

/* A run that was stopped leaves chunks before the numbers of their source, and nothing of it in the journal. */
static void verify_unfinished(void **state)
{
	(void)state;
	fill_case(0, 2);
	assert_int_equal(sql_exec(c, "DELETE FROM journal", NULL), 0);
	assert_int_equal(
	    sql_exec(c,
		     "UPDATE source SET status = 'reading', content_sha256 = NULL, bytes = 0, records = 0, "
		     "parsed = 0, bytes_parsed = 0",
		     NULL),
	    0);
	if (verify())
		fail_msg("%s", faults);
	assert_int_equal(sql_exec(c, "UPDATE source SET status = 'failed' WHERE source = 1", NULL), 0);
	assert_int_equal(verify(), 1);
	assert_non_null(strstr(faults, "source S1: the journal does not know it"));
	assert_non_null(strstr(faults, "names bytes that its source does not have"));
}

/* What the journal calls dropped may be gone, nothing else; a number may come again. */
static void verify_dropped(void **state)
{
	(void)state;
	fill_case(0, 2);
	static const char *const tables[] = {"evidence_chunk", "event_chunk", "source"};
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		char sql[100];
		snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE source = 2", tables[i]);
		assert_int_equal(sql_exec(c, sql, NULL), 0);
	}
	assert_int_equal(verify(), 1);
	assert_string_equal(faults, "source S2: is gone; journal row 2 says that it was stored\n");
	assert_int_equal(journal_append(c, 1, "drop", TEXT("{\"source\":2}"), NULL, NULL), 0);
	assert_int_equal(verify(), 0);
	assert_int_equal(journal_append(c, 1, "ingest", TEXT("{not JSON"), NULL, NULL), 0);
	assert_int_equal(journal_append(c, 1, "ingest", TEXT("{\"source\":2,\"seal\":\"x\"}"), NULL, NULL), 0);
	assert_int_equal(verify(), 1);
	assert_string_equal(faults, "source S2: is gone; journal row 5 says that it was stored\n");
}

/* A second set of the derived tables: in front of the first, gone afterwards, the file untouched. */
static void shadows(void **state)
{
	(void)state;
	struct err err = {0};
	char before[SHA256_HEX], after[SHA256_HEX];
	assert_int_equal(sql_exec(c, "INSERT INTO tenant VALUES(1, 'tenant-a')", NULL), 0);
	assert_int_equal(derived_digest(c, before, NULL), 0);
	for (int mode = CASE_READ; mode <= CASE_WRITE; mode++) {
		reopen((enum case_mode)mode);
		if (derived_shadow(c, &err))
			fail_msg("%s", err.what);
		assert_string_equal(rows("SELECT count(*) FROM tenant"), "0;");
		assert_int_equal(sql_exec(c, "INSERT INTO tenant VALUES(1, 'tenant-b'), (2, 'tenant-c')", NULL), 0);
		assert_int_equal(case_info_set(c, "k", TEXT("v"), NULL), 0);
		assert_int_equal(case_info_set(c, "k", TEXT("w"), NULL), 0);
		assert_string_equal(
		    rows("SELECT t.name, m.name FROM tenant AS t LEFT JOIN main.tenant AS m USING(tenant)"),
		    "tenant-b|tenant-a;tenant-c|-;");
		assert_int_equal(derived_digest(c, after, NULL), 0);
		assert_string_equal(before, after);
		derived_unshadow(c);
		assert_string_equal(rows("SELECT name FROM tenant"), "tenant-a;");
		assert_string_equal(rows("SELECT count(*) FROM case_info WHERE key = 'k'"), "0;");
	}
	reopen(CASE_READ);
	assert_int_equal(sql_exec(c, "CREATE TEMP TABLE t(a)", &err), ERR_STORE);
	reopen(CASE_WRITE);
	assert_int_equal(sql_exec(c, "UPDATE tenant SET name = 'tenant-z'", NULL), 0);
	assert_int_equal(derived_digest(c, after, NULL), 0);
	assert_string_not_equal(before, after);
}

/* A case whose bytes were changed at random is refused or read, never more. */
static void hostile_case(void **state)
{
	(void)state;
	static const char *const queries[] = {"SELECT count(*), sum(length(text)) FROM records",
					      "SELECT * FROM leg_events", "SELECT * FROM source",
					      "SELECT count(*) FROM journal"};
	uint64_t x = 88172645463325252u;
	char digest[SHA256_HEX];
	unsigned refused = 0;
	fill_case(0, 2);
	assert_int_equal(case_close(c, NULL), 0);
	c = NULL;
	FILE *f = fopen(path, "rb");
	static char whole[1 << 20], changed[1 << 20];
	size_t n = fread(whole, 1, sizeof(whole), f);
	fclose(f);
	assert_true(n > 1000 && n < sizeof(whole));
	for (int turn = 0; turn < 150; turn++) {
		memcpy(changed, whole, n);
		for (int k = 0; k < 1 << turn % 8; k++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			/* mostly where something is: the first bytes of pages, and their ends */
			size_t at = x % 3 ? (x >> 8) % n / 8192 * 8192 + (x >> 40) % 128 : (x >> 8) % n;
			changed[at] = (char)(x >> 56);
		}
		f = fopen(path, "wb");
		assert_int_equal(fwrite(changed, 1, n, f), n);
		fclose(f);
		struct err err = {0};
		int r = case_open(&c, path, CASE_READ, &err);
		if (r) {
			assert_true(r < 0 && err.what[0]);
			refused++;
			c = NULL;
			continue;
		}
		for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
			struct sql *s = NULL;
			if (!sql_prepare_untrusted(&s, c, text_of(queries[i]), &err))
				for (int rows_left = 10000; rows_left && sql_step(s, &err) > 0; rows_left--)
					;
			sql_end(s);
		}
		faults[0] = 0;
		refused += case_verify(c, 1, NULL, on_fault, NULL, digest, &err) != 0;
		refused += case_digest(c, digest, &err) != 0;
		case_close(c, NULL);
		c = NULL;
	}
	assert_true(refused > 50);
}

int main(void)
{
#define WITH_CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
	    WITH_CASE(evidence_bytes),
	    cmocka_unit_test(refs),
	    WITH_CASE(records),
	    WITH_CASE(page_events),
	    WITH_CASE(scans),
	    WITH_CASE(functions),
	    WITH_CASE(keys),
	    WITH_CASE(untrusted),
	    WITH_CASE(views_may_use_the_tables),
	    WITH_CASE(binding),
	    cmocka_unit_test_teardown(digests, teardown),
	    WITH_CASE(verify_finds),
	    WITH_CASE(verify_unfinished),
	    WITH_CASE(verify_dropped),
	    WITH_CASE(shadows),
	    WITH_CASE(whole_records),
	    WITH_CASE(hostile_case),
	    WITH_CASE(own_chunks),
	};
	return cmocka_run_group_tests_name("tables", tests, NULL, NULL);
}
