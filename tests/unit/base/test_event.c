/* SPDX-License-Identifier: Apache-2.0 */
/* test_event.c - the table of kinds, batches at their limits, the dump, and the shared half of parsers */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pagetrail/macros.h"
#include "pagetrail/parser.h"

static void test_kinds(void **state)
{
	(void)state;
	assert_string_equal(event_kinds[EVENT_BOOT].name, "boot");
	assert_string_equal(event_kinds[EVENT_LOAD].name, "load");
	assert_string_equal(event_kinds[EVENT_CACHE].name, "cache");
	for (unsigned k = 0; k < EVENT_KINDS; k++) {
		const struct event_kind_info *kind = &event_kinds[k];
		unsigned pages = 0;

		assert_true(kind->n_columns > 0 && kind->n_columns <= EVENT_COLUMNS_MAX);
		for (unsigned c = 0; c < kind->n_columns; c++) {
			assert_true(kind->columns[c].name[0] && kind->columns[c].help[0]);
			pages += kind->columns[c].type == COLUMN_PAGES;
			for (unsigned d = 0; d < c; d++)
				assert_string_not_equal(kind->columns[c].name, kind->columns[d].name);
		}
		assert_int_equal(pages, k == EVENT_PAGE);
	}
}

static int dump_sink(void *ctx, const struct event *e, struct err *err)
{
	struct buf *b = ctx;
	int r = event_dump(e, b, err);

	return r ? r : buf_add_char(b, '\n', err);
}

static int take_reject(struct parse *p, const struct match *m, struct text message)
{
	struct event *e = parse_begin(p, EVENT_LEG, STAMP_INIT);

	event_text(e, LEG_WHAT, TEXT("rejected"));
	event_count(e, LEG_INPUT, match_group(m, "n"));
	event_text(e, LEG_RID, match_group(m, "absent"));
	event_text(e, LEG_MESSAGE, message);
	return parse_emit(p) < 0 ? ERR_NOMEM : RECORD_PARSED;
}

static int take_start(struct parse *p, const struct match *m, struct text message)
{
	(void)message;
	assert_null(match_whole(m).ptr); /* no regex, no match of an earlier one */
	p->reason = "seen";
	return RECORD_CONTEXT;
}

static const struct line_pattern patterns[] = {
    {.name = "reject",
     .starts = "Input",
     .regex = "^Input\\x20length\\x20\\((?<n>[\\d,]+)",
     .sample = "Input length (5",
     .take = take_reject},
    {.name = "start", .starts = "Input", .sample = "Input", .take = take_start},
    {.name = "noise", .regex = "noise$", .sample = "noise"},
};

static int closed;

static void count_close(struct parse *p)
{
	assert_non_null(p->state);
	closed++;
}

static const struct parser parser_test = {
    .name = "test-one",
    .state_bytes = 10,
    .patterns = patterns,
    .n_patterns = ARRAY_SIZE(patterns),
    .close = count_close,
};

static void test_patterns(void **state)
{
	struct buf out = BUF_INIT(10000);
	struct parse p = {.sink = dump_sink, .sink_ctx = &out};

	(void)state;
	closed = 0;
	assert_int_equal(parse_open(&p, &parser_test, NULL), 0);
	p.record_off = 100;
	p.record_len = 25;
	p.fallback = (struct stamp){INT64_C(1789355564000000000), STAMP_INTERPOLATED, NS_PER_S};
	assert_int_equal(parse_patterns(&p, TEXT("Input length (700,123 tokens)")), RECORD_PARSED);
	assert_string_equal(out.ptr, "leg 2026-09-14T03:12:44Z interpolated - 100+25 what=rejected input_tokens=700123 "
				     "message=\"Input length (700,123 tokens)\"\n");
	assert_int_equal(parse_patterns(&p, TEXT("Input else")), RECORD_CONTEXT);
	assert_string_equal(p.reason, "seen");
	assert_int_equal(parse_patterns(&p, TEXT("some noise")), RECORD_CONTEXT);
	assert_int_equal(parse_patterns(&p, TEXT("other")), RECORD_UNPARSED);
	assert_int_equal(parse_delegate(&p, TEXT("other")), RECORD_UNPARSED);
	parse_close(&p);
	parse_close(&p);
	assert_int_equal(closed, 1);
	buf_done(&out);
}

static int failing_open(struct parse *p)
{
	return err_set(p->err, ERR_NOMEM, "no");
}

static void test_open_failures(void **state)
{
	static const struct line_pattern bad[] = {{.name = "oops", .regex = "(", .sample = ""}};
	static const struct parser bad_pattern = {.name = "bad", .patterns = bad, .n_patterns = 1};
	static const struct parser bad_open = {
	    .name = "bad", .open = failing_open, .state_bytes = 1, .close = count_close};
	const struct parser *list[] = {&bad_pattern, &parser_test};
	struct parse p = {0};
	struct err err = {0};

	(void)state;
	closed = 0;
	parse_close(&p);
	assert_int_equal(parse_open(&p, &bad_pattern, &err), ERR_USAGE);
	assert_non_null(strstr(err.where, "oops"));
	assert_int_equal(parse_open(&p, &bad_open, &err), ERR_NOMEM);
	parse_close(&p);
	assert_int_equal(closed, 1); /* what open() had made is for close() to free */
	assert_ptr_equal(parser_find(list, 2, TEXT("test-one")), &parser_test);
	assert_null(parser_find(list, 2, TEXT("test_one")));
	assert_null(parser_find(list, 0, TEXT("bad")));
}

/* No parser can forget it: keys go out of every text of every event, ids still join. */
static void test_keys(void **state)
{
	struct buf out = BUF_INIT(10000);
	struct parse p = {.sink = dump_sink, .sink_ctx = &out};
	struct event *e;

	(void)state;
	assert_int_equal(parse_open(&p, &parser_test, NULL), 0);
	e = parse_begin(&p, EVENT_GATEWAY, STAMP_INIT);
	event_text(e, GATEWAY_ID, TEXT("Bearer sk-proj-none0none1none2"));
	event_text(e, GATEWAY_TENANT, TEXT("sk-none"));
	event_text(e, GATEWAY_MODEL, TEXT("sk-proj-none0none1none2"));
	event_text(e, GATEWAY_MESSAGE,
		   TEXT("Basic authentication failed, then sk-proj-none0none1none2, hf_none0none1none2none"));
	event_text(e, GATEWAY_ROUTE, TEXT("/v1/users/sk-proj-none0none1none2/Basic bm9uZTpub25l,x"));
	event_worker(e, TEXT("sk-proj-none0none1none2"));
	assert_int_equal(parse_emit(&p), 0);
	e = parse_begin(&p, EVENT_LEG, STAMP_INIT);
	event_text(e, LEG_RID, TEXT("sk-proj-none0none1none2"));
	assert_int_equal(parse_emit(&p), 0);
	assert_string_equal(
	    out.ptr, "gateway - none secret:151d45178935 0+0 gateway_id=secret:151d45178935 model=secret:151d45178935 "
		     "message=\"Basic authentication failed, then secret:151d45178935, secret:c44e3594013f\" "
		     "route=/v1/users/secret:151d45178935/secret,x\n"
		     "leg - none - 0+0 rid=secret:151d45178935\n");
	parse_close(&p);
	buf_done(&out);
}

static void test_setters(void **state)
{
	struct buf out = BUF_INIT(10000);
	struct parse p = {.sink = dump_sink, .sink_ctx = &out};
	struct page_run runs[] = {{0, 120}, {500, 1}};
	struct event *e;

	(void)state;
	assert_int_equal(parse_open(&p, &parser_test, NULL), 0);
	e = parse_begin(&p, EVENT_PAGE, (struct stamp){1500000000, STAMP_MONOTONIC, 1});
	event_text(e, PAGE_OP, TEXT("alloc"));
	event_text(e, PAGE_RID, TEXT(""));
	event_runs(e, runs, 2);
	event_int(e, PAGE_SEQ, -1);
	event_worker(e, TEXT("/dp3"));
	assert_int_equal(parse_emit(&p), 0);
	/* the next event remembers nothing */
	e = parse_begin(&p, EVENT_LOAD, STAMP_INIT);
	event_count(e, LOAD_RUNNING, TEXT("1,024"));
	event_count(e, LOAD_QUEUED, TEXT("-1"));
	event_count(e, LOAD_CACHED, TEXT("x"));
	event_count(e, LOAD_NEW_TOKENS, TEXT("1099511627776"));
	event_count(e, LOAD_USED_TOKENS, TEXT("1099511627777"));
	event_flag(e, LOAD_RETRACTED, true);
	assert_int_equal(parse_emit(&p), 0);
	e = parse_begin(&p, EVENT_PAGE, STAMP_INIT);
	event_runs(e, NULL, 0);
	event_text(e, PAGE_OP, TEXT("a\"b \x1b\xe2\x80\xae"));
	event_text(e, PAGE_POOL, TEXT("x\\y"));
	assert_int_equal(parse_emit(&p), 0);
	assert_string_equal(out.ptr,
			    "page 1970-01-01T00:00:01.500Z monotonic /dp3 0+0 op=alloc seq=-1 pages=0+120,500\n"
			    "load - none - 0+0 new_tokens=1099511627776 running=1024 retracted=1\n"
			    "page - none - 0+0 op=\"a\\\"b \\u{1B}\\u{202E}\" pool=x\\\\y pages=\n");
	p.sink = NULL; /* detection: nobody listens */
	assert_int_equal(parse_emit(&p), 0);
	parse_close(&p);
	buf_done(&out);
}

static int keep_sink(void *ctx, const struct event *e, struct err *err)
{
	return event_batch_add(ctx, e, err);
}

static void test_long_names(void **state)
{
	static char name[2000];
	struct event_batch *b;
	struct parse p = {.sink = keep_sink};
	struct event *e;

	(void)state;
	assert_int_equal(event_batch_new(&b, EVENT_LEG, 10, NULL), 0);
	p.sink_ctx = b;
	assert_int_equal(parse_open(&p, &parser_test, NULL), 0);
	memset(name, 'n', sizeof(name));
	for (size_t len = NAME_MAX_BYTES; len <= NAME_MAX_BYTES + 2; len++) {
		e = parse_begin(&p, EVENT_LEG, STAMP_INIT);
		event_text(e, LEG_RID, (struct text){name, len});
		event_text(e, LEG_MESSAGE, (struct text){name, len + MESSAGE_MAX_BYTES - NAME_MAX_BYTES});
		event_worker(e, (struct text){name, len});
		assert_int_equal(parse_emit(&p), 0);
		arena_reset(&p.scratch);
	}
	for (uint32_t r = 0; r < 3; r++) {
		assert_int_equal(b->texts[LEG_RID][r].len, NAME_MAX_BYTES);
		assert_int_equal(b->worker[r].len, NAME_MAX_BYTES);
		assert_int_equal(b->texts[LEG_MESSAGE][r].len, MESSAGE_MAX_BYTES);
	}
	/* cut, but still three names */
	assert_false(text_eq(b->texts[LEG_RID][0], b->texts[LEG_RID][1]));
	assert_false(text_eq(b->texts[LEG_RID][1], b->texts[LEG_RID][2]));
	assert_true(text_ends(b->texts[LEG_MESSAGE][1], "…"));
	/* not through a character, whatever the phase; and garbage has no characters */
	for (size_t shift = 0; shift < 3; shift++) {
		for (size_t i = 0; i + 3 <= sizeof(name) - shift; i += 3)
			memcpy(name + shift + i, "東", 3);
		e = parse_begin(&p, EVENT_LEG, STAMP_INIT);
		event_text(e, LEG_RID, (struct text){name, 900});
		assert_int_equal(parse_emit(&p), 0);
		assert_true(text_utf8_valid(text_sub(b->texts[LEG_RID][3 + shift], 0, 257)) || shift);
		assert_true(b->texts[LEG_RID][3 + shift].len > NAME_MAX_BYTES - 4);
		arena_reset(&p.scratch);
	}
	memset(name, 0x80, sizeof(name));
	e = parse_begin(&p, EVENT_LEG, STAMP_INIT);
	event_text(e, LEG_RID, (struct text){name, 900});
	assert_int_equal(parse_emit(&p), 0);
	assert_int_equal(b->texts[LEG_RID][6].len, NAME_MAX_BYTES);
	parse_close(&p);
	event_batch_free(b);
}

static void test_batch(void **state)
{
	struct event_batch *b;
	struct event e = {.kind = EVENT_LEG};
	char rid[16];

	(void)state;
	assert_int_equal(event_batch_new(&b, EVENT_LEG, EVENT_BATCH_MAX + 1, NULL), ERR_BUG);
	assert_int_equal(event_batch_new(&b, EVENT_KINDS, 1, NULL), ERR_BUG);
	event_batch_free(NULL);
	assert_int_equal(event_batch_new(&b, EVENT_LEG, 0, NULL), 0);
	assert_int_equal(event_batch_add(b, &e, NULL), 1);
	event_batch_free(b);
	assert_int_equal(event_batch_new(&b, EVENT_LEG, EVENT_BATCH_MAX, NULL), 0);
	assert_int_equal(b->columns, (1u << LEG_COLUMNS) - 1);
	for (int i = 0; i < EVENT_BATCH_MAX; i++) {
		snprintf(rid, sizeof(rid), "r%d", i / 2);
		e.known = 0;
		e.ts = (struct stamp){i, STAMP_ZONED, 1};
		e.byte_off = (uint64_t)i << 33;
		e.byte_len = (uint32_t)i;
		e.worker = text_of("w");
		event_text(&e, LEG_RID, text_of(rid));
		if (i % 3)
			event_int(&e, LEG_INPUT, i);
		assert_int_equal(event_batch_add(b, &e, NULL), 0);
	}
	assert_int_equal(event_batch_add(b, &e, NULL), 1);
	assert_int_equal(b->n, EVENT_BATCH_MAX);
	for (uint32_t r = 0; r < b->n; r++) {
		snprintf(rid, sizeof(rid), "r%u", r / 2);
		assert_true(text_is(b->texts[LEG_RID][r], rid));
		assert_int_equal(event_known(b, r, LEG_INPUT), r % 3 != 0);
		assert_int_equal(b->ints[LEG_INPUT][r], r % 3 ? r : 0);
		assert_false(event_known(b, r, LEG_MODEL));
		assert_int_equal(b->texts[LEG_MODEL][r].len, 0);
		assert_true(b->ts_ns[r] == r && b->byte_off[r] == (uint64_t)r << 33 && b->byte_len[r] == r);
	}
	assert_null(b->ints[LEG_RID]);
	assert_null(b->texts[LEG_INPUT]);
	assert_null(b->run_end);
	e.known |= 1u << 31;
	assert_int_equal(event_batch_add(b, &e, NULL), ERR_BUG);
	e = (struct event){.kind = EVENT_BOOT};
	assert_int_equal(event_batch_add(b, &e, NULL), ERR_BUG);
	event_batch_free(b);
}

/* The bytes limit: exactly at it fits, one more does not; an event too large for any batch has one for itself. */
static void test_batch_bytes(void **state)
{
	struct event_batch *b;
	struct event e = {.kind = EVENT_PAGE};
	struct page_run *runs = calloc(PAGE_RUNS_MAX + 1, sizeof(*runs));
	const uint32_t half = EVENT_BATCH_MAX_BYTES / sizeof(*runs) / 2;

	(void)state;
	assert_non_null(runs);
	for (uint32_t i = 0; i <= PAGE_RUNS_MAX; i++)
		runs[i] = (struct page_run){i, 1};
	assert_int_equal(event_batch_new(&b, EVENT_PAGE, 100, NULL), 0);
	event_runs(&e, runs, half);
	assert_int_equal(event_batch_add(b, &e, NULL), 0);
	event_runs(&e, runs + 1, half);
	assert_int_equal(event_batch_add(b, &e, NULL), 0);
	assert_int_equal(b->bytes, EVENT_BATCH_MAX_BYTES);
	event_runs(&e, NULL, 0);
	assert_int_equal(event_batch_add(b, &e, NULL), 0);
	e.worker = TEXT("w");
	assert_int_equal(event_batch_add(b, &e, NULL), 1);
	assert_int_equal(b->n, 3);
	assert_int_equal(b->run_end[0], half);
	assert_int_equal(b->run_end[2], 2 * half);
	for (uint32_t i = 0; i < half; i++)
		assert_true(b->runs[i].first == i && b->runs[half + i].first == i + 1);
	event_batch_free(b);
	assert_int_equal(event_batch_new(&b, EVENT_PAGE, 100, NULL), 0);
	event_runs(&e, runs, PAGE_RUNS_MAX);
	assert_int_equal(event_batch_add(b, &e, NULL), 0);
	assert_int_equal(event_batch_add(b, &e, NULL), 1);
	event_runs(&e, runs, PAGE_RUNS_MAX + 1);
	assert_int_equal(event_batch_add(b, &e, NULL), ERR_BUG);
	event_batch_free(b);
	free(runs);
}

/* Texts of every short length, and runs, over many rows: nothing gets lost when the batch moves. */
static void test_batch_texts(void **state)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
	static char large[1000];
	const struct page_run run = {7, 2};
	struct event_batch *b;
	struct event e = {.kind = EVENT_PAGE};
	uint32_t end = 0;

	(void)state;
	memset(large, 'x', sizeof(large));
	assert_int_equal(event_batch_new(&b, EVENT_PAGE, EVENT_BATCH_MAX, NULL), 0);
	for (uint32_t i = 0; i < 20000; i++) {
		e.known = 0;
		event_text(&e, PAGE_RID, (struct text){letters + i / 3 % 7, 1 + i / 2 % 52});
		event_text(&e, PAGE_PEER, (struct text){letters + (i % 2 ? 26 : 0), 1 + i / 2 % 52});
		if (i < 5000) /* much in the beginning: more rows than it looked like */
			event_text(&e, PAGE_POOL, (struct text){large, sizeof(large)});
		event_runs(&e, &run, i % 2);
		assert_int_equal(event_batch_add(b, &e, NULL), 0);
	}
	for (uint32_t i = 0; i < 20000; i++) {
		assert_true(text_eq(b->texts[PAGE_RID][i], (struct text){letters + i / 3 % 7, 1 + i / 2 % 52}));
		assert_true(text_eq(b->texts[PAGE_PEER][i], (struct text){letters, 1 + i / 2 % 52}));
		assert_int_equal(b->texts[PAGE_POOL][i].len, i < 5000 ? sizeof(large) : 0);
		assert_int_equal(event_known(b, i, PAGE_POOL), i < 5000);
		end += i % 2;
		assert_int_equal(b->run_end[i], end);
		if (end)
			assert_int_equal(b->runs[end - 1].first, 7);
	}
	event_batch_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_kinds),   cmocka_unit_test(test_patterns),    cmocka_unit_test(test_open_failures),
	    cmocka_unit_test(test_setters), cmocka_unit_test(test_keys),        cmocka_unit_test(test_long_names),
	    cmocka_unit_test(test_batch),   cmocka_unit_test(test_batch_bytes), cmocka_unit_test(test_batch_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
