/* SPDX-License-Identifier: Apache-2.0 */
/* test_far.c - sources that say late what they are: behind a long record, or behind much chatter; the limits of looking on */
#include "pagetrail/case.h"
#include "pagetrail/evidence.h"
#include "toy.h"

struct seen {
	bool known;
	char reason[256];
	uint64_t records, parsed, bytes;
};

static int on_source(void *ctx, const struct source_result *r)
{
	struct seen *s = ctx;
	s->known = text_is(r->format, "toy") && r->status == SOURCE_INGESTED;
	snprintf(s->reason, sizeof(s->reason), "%.*s", TEXT_ARG(r->reason));
	s->records = r->account.records;
	s->parsed = r->account.parsed;
	s->bytes = r->account.bytes;
	return 0;
}

static int add_bytes(void *ctx, struct text bytes, uint64_t off)
{
	struct buf *b = ctx;
	assert_int_equal(off, b->len);
	return buf_add_text(b, bytes, NULL);
}

/* Ingested from a file, for one and for three jobs: the same case, the same bytes. Ordinary files come before and behind. */
static struct seen ingest(const struct buf *log, int64_t *ret_from)
{
	struct seen s[2] = {0}, other = {0};
	char digest[2][SHA256_HEX] = {"", ""};
	put("late.log", log->ptr, log->len);
	put("early.log", "T1 a\n", 5);
	for (int i = 0; i < 2; i++) {
		struct case_file *c = NULL;
		struct err err = {0};
		struct buf got = BUF_INIT(64 * MIB);
		struct sql *q = NULL;
		struct ingest_options o = {
		    .parsers = toys, .n_parsers = N_TOYS, .jobs = i ? 3 : 1, .now_ns = 1, .on_source = on_source};
		const char *early = in_folder("early.log"), *late = in_folder("late.log");
		assert_int_equal(case_open(&c, in_folder("case.ptc"), CASE_CREATE, &err), 0);
		o.ctx = &s[i];
		assert_int_equal(ingest_path(c, &o, late, &err), 0);
		o.ctx = &other;
		assert_int_equal(ingest_path(c, &o, early, &err), 0);
		assert_true(other.known);
		assert_int_equal(evidence_each(c, 1, add_bytes, &got, &err), 0);
		assert_int_equal(got.len, log->len);
		assert_memory_equal(got.ptr, log->ptr, log->len);
		assert_int_equal(
		    sql_prepare(&q, c, "SELECT coalesce(format_basis->>'from', -1) FROM source WHERE source=1", &err),
		    0);
		assert_int_equal(sql_step(q, &err), 1);
		*ret_from = sql_get_int(q, 0);
		sql_end(q);
		assert_int_equal(case_digest(c, digest[i], &err), 0);
		assert_int_equal(case_close(c, NULL), 0);
		assert_true(shell("rm case.ptc"));
		buf_done(&got);
	}
	assert_string_equal(digest[0], digest[1]);
	assert_int_equal(s[0].known, s[1].known);
	return s[0];
}

static void fill(struct buf *b, size_t n, size_t line)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(buf_add_char(b, (i + 1) % line && i + 1 < n ? 'x' : '\n', NULL), 0);
}

static void test_chatter(void **state)
{
	(void)state;
	for (size_t more = 0; more < 2; more++) {
		struct buf b = BUF_INIT(32 * MIB);
		int64_t from;
		fill(&b, DETECT_FAR_BYTES - 5 + more, 1000);
		assert_int_equal(buf_add_text(&b, TEXT("T1 a\n"), NULL), 0);
		assert_int_equal(buf_add_text(&b, TEXT("x\nT2 a\n"), NULL), 0); /* the source does not end there */
		struct seen s = ingest(&b, &from);
		assert_int_equal(s.known, !more);
		assert_int_equal(s.bytes, b.len);
		if (!more) {
			assert_int_equal(s.parsed, 2);
			assert_true(from > (int64_t)(DETECT_FAR_BYTES - 2 * DETECT_BYTES));
		} else {
			assert_non_null(strstr(s.reason, "no format recognises it; the first "));
			assert_non_null(strstr(s.reason, "name it with --format"));
		}
		buf_done(&b);
	}
}

static void test_lines(void **state)
{
	(void)state;
	for (size_t more = 0; more < 2; more++) {
		struct buf b = BUF_INIT(32 * MIB);
		int64_t from;
		fill(&b, (DETECT_FAR_RECORDS - 1 + more) * 40, 40);
		assert_int_equal(buf_add_text(&b, TEXT("T1 a\nxx\n"), NULL), 0);
		assert_int_equal(ingest(&b, &from).known, !more);
		buf_done(&b);
	}
}

static void test_long_record(void **state)
{
	static const size_t lengths[] = {DETECT_BYTES - 1, DETECT_BYTES, DETECT_BYTES + 1, RECORD_MAX_BYTES};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct buf b = BUF_INIT(32 * MIB);
		int64_t from;
		fill(&b, lengths[i] + 1, SIZE_MAX);
		assert_int_equal(buf_add_text(&b, TEXT("T1 a\nT2 a\n"), NULL), 0);
		struct seen s = ingest(&b, &from);
		assert_true(s.known);
		assert_int_equal(s.records, 3);
		assert_int_equal(s.parsed, 2);
		buf_done(&b);
	}
	/* the long record is what says it */
	struct buf b = BUF_INIT(32 * MIB);
	int64_t from;
	assert_int_equal(buf_add_text(&b, TEXT("x\nT1 "), NULL), 0);
	fill(&b, 3 * DETECT_BYTES, SIZE_MAX);
	struct seen s = ingest(&b, &from);
	assert_true(s.known);
	assert_int_equal(s.parsed, 1);
	buf_done(&b);
}

/* What is text for nobody to the end, and what is no text, are not looked at further than they go. */
static void test_nobody(void **state)
{
	struct buf b = BUF_INIT(32 * MIB);
	int64_t from;
	(void)state;
	fill(&b, 3 * DETECT_BYTES + 10, 70);
	assert_string_equal(ingest(&b, &from).reason, "no format recognises it");
	buf_clear(&b);
	assert_int_equal(buf_add(&b, "\x89PNG\n", 5, NULL), 0);
	fill(&b, 2 * DETECT_BYTES, 70);
	assert_int_equal(buf_add_text(&b, TEXT("T1 a\n"), NULL), 0);
	assert_string_equal(ingest(&b, &from).reason, "binary (PNG image)");
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_chatter),
	    cmocka_unit_test(test_lines),
	    cmocka_unit_test(test_long_record),
	    cmocka_unit_test(test_nobody),
	};
	return cmocka_run_group_tests(tests, folder_make, folder_drop);
}
