/* SPDX-License-Identifier: Apache-2.0 */
/* test_wrappers.c - wrapped sources: cut anywhere, many origins, pieces that wait, and each limit of these */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../src/ingest/detect.h"
#include "../../../src/ingest/records.h"

#define BATCH "[2026-09-14 03:12:41 TP0] Decode batch, #running-req: 4, #token: 41234, token usage: 0.06, "
#define LIMIT_LINE                                                                                                    \
	"[2026-09-14 03:12:44 TP0] Input length (700123 tokens) exceeds the maximum allowed length (681274 tokens). " \
	"Use "                                                                                                        \
	"a shorter input or enable --allow-auto-truncate., self.rid='00aa11bb22cc33dd44ee55ff66007788'"

struct seen {
	struct buf out;
	uint64_t events, too_long, torn, unrecognised, bytes;
	size_t longest;
};

static int on_event(void *ctx, const struct event *e, struct err *err)
{
	struct seen *s = ctx;
	s->events++;
	assert_true(e->byte_off + e->byte_len <= s->bytes);
	if (s->out.len > 16 * MIB)
		return 0;
	int rc = event_dump(e, &s->out, err);
	return rc ? rc : buf_add_char(&s->out, '\n', err);
}

static int on_record(void *ctx, uint64_t off, struct text record, enum verdict v, const char *reason)
{
	struct seen *s = ctx;
	s->longest = MAX(s->longest, record.len);
	s->too_long += reason && !strcmp(reason, "too_long");
	s->torn += reason && !strcmp(reason, "torn");
	s->unrecognised += reason && !strcmp(reason, "unrecognised");
	if (s->out.len > 16 * MIB)
		return 0;
	return buf_printf(&s->out, NULL, "%llu+%zu %d %s\n", (unsigned long long)off, record.len, (int)v,
			  reason ? reason : "");
}

/* Fed in blocks of `step`, each in memory of its own that is spoiled once it may be. */
static struct account run(const char *name, struct text bytes, size_t step, size_t headroom, struct seen *s)
{
	const struct records_sink sink = {.event = on_event, .record = on_record, .ctx = s};
	struct stack asked, stack = {0};
	struct detection d;
	struct formats f;
	struct records r;
	struct err err = {0};
	char *held = NULL;
	*s = (struct seen){.out = BUF_INIT(64 * MIB), .bytes = bytes.len};
	assert_true(stack_find(text_of(name), parsers, n_parsers, wrappers, n_wrappers, &asked));
	assert_int_equal(formats_open(&f, parsers, n_parsers, &err), 0);
	assert_int_equal(formats_wrap(&f, wrappers, n_wrappers, &err), 0);
	assert_int_equal(
	    detect_with(&f, text_sub(bytes, 0, DETECT_BYTES), bytes.len <= DETECT_BYTES, &asked, &d, &stack, &err), 0);
	const struct records_ask ask = {.stack = &stack, .outer = STAMP_INIT};
	assert_int_equal(records_begin(&r, &f, &ask, &sink, &err), 0);
	for (size_t at = 0; at < bytes.len; at += step) {
		size_t n = MIN(step, bytes.len - at);
		char *block = calloc(1, headroom + n + BUF_PADDING);
		assert_non_null(block);
		memcpy(block + headroom, bytes.ptr + at, n);
		assert_int_equal(records_feed(&r, block + headroom, n, headroom, &err), 0);
		free(held);
		held = block;
	}
	assert_int_equal(records_end(&r, &err), 0);
	struct account a = r.account;
	free(held);
	records_done(&r);
	stack_done(&stack);
	formats_close(&f);
	assert_true(account_holds(&a));
	assert_int_equal(a.bytes, bytes.len);
	return a;
}

/* --- cut anywhere --- */

static void check_steps(const struct wrapper *w, const char *path)
{
	static const size_t steps[] = {1, 13, 400, 1 << 16};
	static char bytes[1 << 20];
	FILE *in = fopen(path, "rb");
	assert_non_null(in);
	size_t n = fread(bytes, 1, sizeof(bytes), in);
	fclose(in);
	struct seen want, got;
	struct account a = run(w->name, (struct text){bytes, n}, n, 64, &want), b;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		for (size_t room = 0; room <= 256; room += 256) {
			b = run(w->name, (struct text){bytes, n}, steps[i], room, &got);
			assert_int_equal(a.records, b.records);
			if (!text_eq(buf_text(&want.out), buf_text(&got.out)))
				fail_msg("%s: other records in blocks of %zu", path, steps[i]);
			buf_done(&got.out);
		}
	buf_done(&want.out);
}

static void test_steps(void **state)
{
	char path[512];
	unsigned n = 0;
	(void)state;
	for (size_t i = 0; i < n_wrappers; i++) {
		snprintf(path, sizeof(path), "tests/parsers/wrap_%s", wrappers[i]->name);
		for (char *c = path; *c; c++)
			*c = *c == '-' ? '_' : *c;
		size_t len = strlen(path);
		DIR *d = opendir(path);
		assert_non_null(d);
		for (struct dirent *e; (e = readdir(d));) {
			if (strlen(e->d_name) < 5 || strcmp(e->d_name + strlen(e->d_name) - 4, ".log") != 0)
				continue;
			snprintf(path + len, sizeof(path) - len, "/%s", e->d_name);
			check_steps(wrappers[i], path);
			n++;
		}
		closedir(d);
	}
	assert_true(n >= 2 * n_wrappers);
}

/* --- origins --- */

static struct text text_in(const struct buf *b)
{
	return buf_text(b);
}

/* More pods than are followed at a time; each comes twice, the second time when it was forgotten. */
static void test_origins(void **state)
{
	const unsigned pods[] = {ORIGINS_MAX / 2, ORIGINS_MAX, ORIGINS_MAX + 1, 3 * ORIGINS_MAX};
	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(pods); k++) {
		struct buf b = BUF_INIT(64 * MIB);
		struct seen s;
		for (unsigned round = 0; round < 2; round++)
			for (unsigned i = 0; i < pods[k]; i++)
				assert_int_equal(buf_printf(&b, NULL, "[pod/decode-%u/engine] " BATCH "\n", i), 0);
		struct account a = run("container-logs", text_in(&b), 1 << 20, 1 << 16, &s);
		assert_int_equal(s.events, 2 * pods[k]);
		assert_int_equal(a.parsed, 2 * pods[k]);
		buf_done(&s.out);
		buf_done(&b);
	}
}

/* What waits at an origin that has to make room is torn, and no event. */
static void test_origins_torn(void **state)
{
	struct buf b = BUF_INIT(64 * MIB);
	struct seen s;
	(void)state;
	const char *piece =
	    "{\"date\":1789355561.1,\"_p\":\"%c\",\"log\":\"" BATCH "\",\"kubernetes\":{\"pod_name\":\"p-%u\"}}\n";
	assert_int_equal(buf_printf(&b, NULL, piece, 'P', 0), 0);
	for (unsigned i = 1; i <= ORIGINS_MAX; i++)
		assert_int_equal(buf_printf(&b, NULL, piece, 'F', i), 0);
	assert_int_equal(buf_printf(&b, NULL, piece, 'F', 0), 0);
	struct account a = run("fluent", text_in(&b), 1 << 20, 1 << 16, &s);
	assert_int_equal(s.torn, 1);
	assert_int_equal(a.parsed, ORIGINS_MAX + 1);
	buf_done(&s.out);
	buf_done(&b);
}

/* --- pieces --- */

/* One record of n bytes in pieces of at most 1 MiB. */
static void add_pieces(struct buf *b, size_t n)
{
	static char fill[1 << 20];
	const size_t head = sizeof(BATCH) - 1;
	memset(fill, 'x', sizeof(fill));
	assert_int_equal(buf_printf(b, NULL, "2026-09-14T03:12:41Z stderr P " BATCH "\n"), 0);
	for (size_t left = n - head; left;) {
		size_t take = MIN(left, sizeof(fill));
		left -= take;
		assert_int_equal(buf_printf(b, NULL, "2026-09-14T03:12:41Z stderr %c ", left ? 'P' : 'F'), 0);
		assert_int_equal(buf_add(b, fill, take, NULL), 0);
		assert_int_equal(buf_add_char(b, '\n', NULL), 0);
	}
}

static void test_join_limit(void **state)
{
	(void)state;
	for (size_t over = 0; over <= 1; over++) {
		struct buf b = BUF_INIT(64 * MIB);
		struct seen s;
		add_pieces(&b, RECORD_MAX_BYTES + over);
		assert_int_equal(buf_printf(&b, NULL, "2026-09-14T03:12:45Z stderr F " BATCH "\n"), 0);
		struct account a = run("cri+sglang-engine", text_in(&b), 1 << 20, 1 << 16, &s);
		assert_int_equal(a.records, 2);
		assert_int_equal(s.too_long, over);
		assert_int_equal(s.events, 2 - over);
		buf_done(&s.out);
		buf_done(&b);
	}
}

/* Pieces that lie apart in more runs than are held. */
static void test_join_runs(void **state)
{
	(void)state;
	for (unsigned over = 0; over <= 1; over++) {
		struct buf b = BUF_INIT(64 * MIB);
		struct seen s;
		assert_int_equal(buf_printf(&b, NULL, "2026-09-14T03:12:41Z stderr P " BATCH "\n"), 0);
		for (unsigned i = 1; i < JOIN_RUNS_MAX + over; i++)
			assert_int_equal(buf_printf(&b, NULL,
						    "2026-09-14T03:12:41Z stdout F " BATCH
						    "\n2026-09-14T03:12:41Z stderr %c y\n",
						    i + 1 == JOIN_RUNS_MAX + over ? 'F' : 'P'),
					 0);
		run("cri+sglang-engine", text_in(&b), 1 << 20, 1 << 16, &s);
		assert_int_equal(s.too_long, over);
		assert_int_equal(s.events, JOIN_RUNS_MAX);
		buf_done(&s.out);
		buf_done(&b);
	}
}

/* Bytes that wait at several origins: what does not fit is too long, the others go on. */
static void test_join_bytes(void **state)
{
	const size_t each = 11 * MIB;
	struct buf b = BUF_INIT(128 * MIB);
	struct seen s;
	char *fill = malloc(each);
	(void)state;
	assert_non_null(fill);
	memset(fill, 'x', each);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(
		    buf_printf(&b, NULL, "{\"_p\":\"P\",\"kubernetes\":{\"pod_name\":\"p-%u\"},\"log\":\"" BATCH, i),
		    0);
		assert_int_equal(buf_add(&b, fill, each, NULL), 0);
		assert_int_equal(buf_printf(&b, NULL, "\"}\n"), 0);
	}
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(
		    buf_printf(&b, NULL, "{\"_p\":\"F\",\"kubernetes\":{\"pod_name\":\"p-%u\"},\"log\":\" end\"}\n", i),
		    0);
	run("fluent+sglang-engine", text_in(&b), 1 << 20, 1 << 16, &s);
	assert_true(3 * each > JOIN_MAX_BYTES && 2 * each < JOIN_MAX_BYTES);
	assert_int_equal(s.too_long, 1);
	assert_int_equal(s.events, 2);
	buf_done(&s.out);
	buf_done(&b);
	free(fill);
}

/* --- depth --- */

static void wrap_docker(const struct buf *in, struct buf *out)
{
	assert_int_equal(buf_add_text(out, TEXT("{\"log\":"), NULL), 0);
	assert_int_equal(buf_json_string(out, buf_text(in), NULL), 0);
	assert_int_equal(buf_add_text(out, TEXT(",\"stream\":\"stderr\",\"time\":\"2026-09-14T03:12:44Z\"}\n"), NULL),
			 0);
}

static void test_depth(void **state)
{
	struct buf b = BUF_INIT(MIB), next = BUF_INIT(MIB);
	struct detection d;
	struct err err = {0};
	(void)state;
	assert_int_equal(buf_add_text(&b, TEXT(LIMIT_LINE "\n"), NULL), 0);
	for (unsigned depth = 1; depth <= WRAP_DEPTH_MAX + 1; depth++) {
		wrap_docker(&b, &next);
		struct buf swap = b;
		b = next;
		next = swap;
		buf_clear(&next);
		assert_int_equal(detect_wrapped(parsers, n_parsers, wrappers, n_wrappers, buf_text(&b), true, &d, &err),
				 0);
		if (depth > WRAP_DEPTH_MAX) {
			assert_null(d.parser);
			assert_int_equal(d.n_wraps, 0);
			assert_non_null(d.reason);
		} else {
			struct seen s;
			assert_non_null(d.parser);
			assert_int_equal(d.n_wraps, depth);
			run("docker", buf_text(&b), 1 << 16, 64, &s);
			assert_int_equal(s.events, 1);
			assert_non_null(strstr(s.out.ptr, "rid=00aa11bb22cc33dd44ee55ff66007788"));
			buf_done(&s.out);
		}
	}
	buf_done(&b);
	buf_done(&next);
}

/* --- names of stacks --- */

static void test_names(void **state)
{
	struct stack s;
	char name[STACK_NAME_MAX];
	(void)state;
	assert_true(stack_find(TEXT("cri+sglang-engine"), parsers, n_parsers, wrappers, n_wrappers, &s));
	assert_string_equal(stack_name(&s, name), "cri+sglang-engine");
	assert_true(stack_find(TEXT("fluent+cri"), parsers, n_parsers, wrappers, n_wrappers, &s));
	assert_int_equal(s.n, 2);
	assert_false(stack_find(TEXT(""), parsers, n_parsers, wrappers, n_wrappers, &s));
	assert_false(stack_find(TEXT("cri+"), parsers, n_parsers, wrappers, n_wrappers, &s));
	assert_false(stack_find(TEXT("sglang-engine+cri"), parsers, n_parsers, wrappers, n_wrappers, &s));
	assert_false(stack_find(TEXT("cri+sglang-server-info"), parsers, n_parsers, wrappers, n_wrappers, &s));
	assert_false(stack_find(TEXT("cri+cri+cri+cri+cri"), parsers, n_parsers, wrappers, n_wrappers, &s));
	assert_true(stack_find(TEXT("cri+cri+cri+cri"), parsers, n_parsers, wrappers, n_wrappers, &s));
	assert_true(stack_fits(TEXT("cri+sglang-engine"), TEXT("sglang-engine")));
	assert_true(stack_fits(TEXT("cri+sglang-engine"), TEXT("cri")));
	assert_true(stack_fits(TEXT("cri"), TEXT("cri")));
	assert_false(stack_fits(TEXT("cri+sglang-engine"), TEXT("engine")));
	assert_false(stack_fits(TEXT("cri"), TEXT("cri+sglang-engine")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_steps),      cmocka_unit_test(test_origins),   cmocka_unit_test(test_origins_torn),
	    cmocka_unit_test(test_join_limit), cmocka_unit_test(test_join_runs), cmocka_unit_test(test_join_bytes),
	    cmocka_unit_test(test_depth),      cmocka_unit_test(test_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
