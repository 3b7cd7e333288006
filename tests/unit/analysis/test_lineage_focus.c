/* SPDX-License-Identifier: Apache-2.0 */
/* test_lineage_focus.c - one request's lineage from a part of the log is that from the whole log
 *
 * Random page logs of one worker in small chunks: reused pages and rids, shares, late writes, holes, restarts. The seed
 * is printed, PAGETRAIL_SEED repeats one.
 */
#include "../rounds.h"
#include "resolve_fixture.h"

#include "../../../src/analysis/lineage.h"

enum { PAGES = 24, RECORDS = 220, CHUNK = 12 };

static uint64_t random_state;
static unsigned draw(unsigned n)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(random_state >> 33) % n;
}

static void write_chunk(int64_t src)
{
	struct err err = {0};
	struct event_batch *b = NULL;
	struct event_chunk chunk = {0};
	char text[512];
	struct event e;
	if (!n_pending)
		return;
	assert_int_equal(event_batch_new(&b, EVENT_PAGE, 64, &err), 0);
	for (size_t i = 0; i < n_pending; i++) {
		build_event(&pending[i], &e, text);
		assert_int_equal(event_batch_add(b, &e, &err), 0);
	}
	assert_int_equal(column_encode(b, NULL, &chunk, &err), 0);
	assert_int_equal(column_append(fixture, src, &chunk, &err), 0);
	column_done(&chunk);
	event_batch_free(b);
	n_pending = 0;
}

static unsigned seq, made;
static double now;
static void record(int64_t log, const char *op, int rid, const char *pages, bool room)
{
	char line[300];
	int n = snprintf(line, sizeof(line), "op=%s seq=%u", op, seq++);
	if (rid >= 0)
		n += snprintf(line + n, sizeof(line) - (size_t)n, " rid=rid-number-%d", rid);
	if (rid >= 0 && room)
		n += snprintf(line + n, sizeof(line) - (size_t)n, " room=%d", 7000 + rid);
	if (pages)
		n += snprintf(line + n, sizeof(line) - (size_t)n, " pages=%s", pages);
	if (!strcmp(op, "boot"))
		snprintf(line + n, sizeof(line) - (size_t)n, " page_size=%u pool_pages=%d", 16u << draw(2), PAGES);
	now += .25;
	put(log, EVENT_PAGE, now, line);
	if (n_pending == CHUNK)
		write_chunk(log);
	made++;
}

static const char *some(unsigned from, unsigned n)
{
	static char text[2][64];
	static unsigned turn;
	char *t = text[turn++ % 2];
	snprintf(t, 64, "%u+%u", from, n);
	return t;
}

/* Requests take a run of pages, fill it or not, read it, give it back; sometimes something is odd. */
static void random_log(int64_t log, bool restarts, bool booted)
{
	int live[3] = {-1, -1, -1}, next = 0;
	unsigned from[3], n[3];
	seq = booted ? 0 : 500;
	made = 0;
	now = 0;
	if (booted)
		record(log, "boot", -1, NULL, false);
	while (made < RECORDS) {
		unsigned i = draw(3);
		bool room = draw(4) > 0;
		if (live[i] < 0) {
			live[i] = draw(20) ? next++ : (int)draw((unsigned)next + 1);
			from[i] = i * 8 + draw(3);
			n[i] = 1 + draw(5);
			if (!draw(6))
				record(log, "share", live[i], some(draw(16), 1 + draw(3)), room);
			record(log, "alloc", live[i], some(from[i], n[i]), room);
			continue;
		}
		switch (draw(9)) {
		case 0: record(log, "recv", live[i], some(from[i], 1 + draw(n[i])), true); break;
		case 1:
		case 2: record(log, "write", live[i], some(from[i], n[i]), room); break;
		case 3:
		case 4: record(log, "read", live[i], some(from[i], n[i]), room); break;
		case 5:
			record(log, "free", live[i], some(from[i], n[i]), room);
			live[i] = -1;
			break;
		case 6:
			if (next > 3 && !draw(4)) /* late, or of somebody else's */
				record(log, draw(2) ? "recv" : "read", (int)draw((unsigned)next), some(draw(16), 2),
				       room);
			break;
		case 7: seq += !draw(12); break;
		default:
			if (restarts && !draw(25)) {
				seq = 0;
				record(log, "boot", -1, NULL, false);
				live[0] = live[1] = live[2] = -1;
			}
		}
	}
	write_chunk(log);
}

static void name_of(const struct lineage *l, uint32_t actor, char ret[64])
{
	struct text name;
	struct err err = {0};
	assert_int_equal(actors_name(l->actors, actor, &name, &err), 0);
	snprintf(ret, 64, "%.*s", TEXT_ARG(name));
}

static int line_cmp(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* What concerns the request, as sorted lines of text. */
static void dump(const struct lineage *l, char out[16384])
{
	static char lines[512][256];
	size_t n = 0;
	for (uint32_t i = 0; i < l->n_touches; i++) {
		struct touch *t = &l->touches[i];
		snprintf(lines[n++], sizeof(*lines), "%s %d %llu pages %llu first %llu",
			 l->workers[t->worker].pools[t->pool].ptr, t->op, (unsigned long long)t->records,
			 (unsigned long long)runset_pages(&t->pages), (unsigned long long)t->first.off);
	}
	for (uint32_t i = 0; i < l->n_workers; i++) {
		const struct lineage_worker *w = &l->workers[i];
		for (size_t k = 0; k < w->n_edges && w->focus; k++) {
			struct edge *e = &w->edges[k];
			char r[64], o[64];
			name_of(l, e->reader, r);
			name_of(l, e->owner, o);
			if (e->reader != w->focus && e->owner != w->focus)
				continue;
			assert_true(n < 512);
			snprintf(lines[n++], sizeof(*lines),
				 "%s reads %s %s %d pages %llu at %u size %lld %lld %lld %llu %llu %llu", r, o,
				 edge_kind_names[e->kind], e->certain, (unsigned long long)runset_pages(&e->pages),
				 e->pages.n ? e->pages.runs[0].first : 0, (long long)e->page_size,
				 (long long)e->first_ns, (long long)e->last_ns, (unsigned long long)e->read.off,
				 (unsigned long long)e->alloc.off, (unsigned long long)e->write.off);
		}
	}
	qsort(lines, n, sizeof(*lines), line_cmp);
	size_t at = 0;
	out[0] = 0;
	for (size_t i = 0; i < n && at < 16000; i++)
		at += (size_t)snprintf(out + at, 16384 - at, "%s\n", lines[i]);
}

/* All edges of a case, as sorted lines. */
static void dump_edges(const struct lineage *l, char *out, size_t size)
{
	static char lines[4096][200];
	size_t n = 0, at = 0;
	for (uint32_t i = 0; i < l->n_workers; i++) {
		const struct lineage_worker *w = &l->workers[i];
		for (size_t k = 0; k < w->n_edges; k++) {
			struct edge *e = &w->edges[k];
			char r[64], o[64];
			name_of(l, e->reader, r);
			name_of(l, e->owner, o);
			assert_true(n < 4096);
			snprintf(lines[n++], sizeof(*lines), "%s reads %s %s %d pages %llu %lld %lld %llu %llu %llu", r,
				 o, edge_kind_names[e->kind], e->certain, (unsigned long long)runset_pages(&e->pages),
				 (long long)e->first_ns, (long long)e->last_ns, (unsigned long long)e->read.off,
				 (unsigned long long)e->alloc.off, (unsigned long long)e->write.off);
		}
	}
	qsort(lines, n, sizeof(*lines), line_cmp);
	out[0] = 0;
	for (size_t i = 0; i < n && at + 256 < size; i++)
		at += (size_t)snprintf(out + at, size - at, "%s\n", lines[i]);
}

/* What nothing rests on can be forgotten at any time. */
static void compare_forgetting(void)
{
	static char kept[1 << 19], forgot[1 << 19];
	struct lineage *l = NULL;
	struct err err = {0};
	assert_int_equal(lineage_run(&l, fixture, &err), 0);
	dump_edges(l, kept, sizeof(kept));
	lineage_free(l);
	assert_int_equal(lineage_run_forgetting(&l, fixture, 2, &err), 0);
	dump_edges(l, forgot, sizeof(forgot));
	lineage_free(l);
	assert_string_equal(forgot, kept);
}

static size_t compared, with_reads;
static void compare(int64_t request, const char *rid)
{
	static char whole[16384], part[16384];
	struct lineage *l = NULL;
	struct err err = {0};
	if (lineage_focus_whole(&l, fixture, request, text_of(rid), &err) < 0)
		fail_msg("%s", err.what);
	dump(l, whole);
	lineage_free(l);
	if (lineage_focus(&l, fixture, request, text_of(rid), &err) < 0)
		fail_msg("%s", err.what);
	dump(l, part);
	lineage_free(l);
	assert_string_equal(part, whole);
	compared++;
	with_reads += strstr(whole, " reads ") != NULL;
}

/* Empty tables in front of those of the case. */
#define NO_ROWS                                                        \
	"CREATE TEMP TABLE request AS SELECT * FROM request WHERE 0; " \
	"CREATE TEMP TABLE alias AS SELECT * FROM alias WHERE 0; "     \
	"CREATE TEMP TABLE leg AS SELECT * FROM leg WHERE 0"

static void test_parts(void **state)
{
	const char *given = getenv("PAGETRAIL_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 10) : 20261201;
	(void)state;
	print_message("# seed %llu\n", (unsigned long long)seed);
	for (int k = 0; k < (int)rounds(60, 16); k++) { /* 16: every mix of the three kinds below */
		char line[200];
		random_state = seed + (uint64_t)k;
		draw(2);
		assert_int_equal(fixture_setup(state), 0);
		int64_t log = source("d.pages", "d", NULL), engine = source("d.log", "d", NULL);
		bool listed = k % 2;
		random_log(log, k % 3 == 0, k % 5 != 0);
		for (int i = 0; i < 40 && listed; i++) {
			snprintf(line, sizeof(line),
				 "what=finished rid=rid-number-%d room=%d role=decode input_tokens=5 started_ns=%d "
				 "finished_ns=%d",
				 i, 7000 + i, i, i + 5);
			put(engine, EVENT_LEG, i + 5, line);
		}
		resolve();
		compare_forgetting();
		run("SAVEPOINT y; " NO_ROWS);
		compare_forgetting();
		run("ROLLBACK TO y; RELEASE y");
		for (int i = 0; i < 40; i++) {
			int64_t request;
			snprintf(line, sizeof(line), "rid-number-%d", i);
			if (request_find(fixture, text_of(line), &request, NULL) == 0)
				compare(request, NULL);
			if (!listed) /* as if nobody had a row */
				run("SAVEPOINT x; " NO_ROWS);
			if (!listed)
				compare(0, line);
			if (!listed)
				run("ROLLBACK TO x; RELEASE x");
		}
		assert_int_equal(fixture_teardown(state), 0);
	}
	print_message("# %zu compared, %zu with reads\n", compared, with_reads);
	assert_true(with_reads > compared / 8);
}

static void test_find_rid(void **state)
{
	(void)state;
	struct buf b = BUF_INIT(KIB);
	struct err err = {0};
	assert_int_equal(fixture_setup(state), 0);
	int64_t log = source("d.pages", "d", NULL);
	for (int i = 0; i < 30; i++)
		record(log, "read", i, "0+1", false);
	write_chunk(log);
	assert_int_equal(lineage_find_rid(fixture, TEXT("rid-number-2"), &b, &err), 0);
	assert_true(text_is(buf_text(&b), "rid-number-2"));
	assert_int_equal(lineage_find_rid(fixture, TEXT("rid-number-17"), &b, &err), 0);
	assert_int_equal(lineage_find_rid(fixture, TEXT("rid-nu"), &b, &err), ERR_INPUT);
	assert_non_null(strstr(err.what, "not unique"));
	assert_int_equal(lineage_find_rid(fixture, TEXT("rid-number-77"), &b, &err), 1);
	assert_int_equal(lineage_find_rid(fixture, TEXT("number-1"), &b, &err), 1);
	assert_int_equal(lineage_find_rid(fixture, TEXT(""), &b, &err), 1);
	buf_done(&b);
	assert_int_equal(fixture_teardown(state), 0);
}

/* A log in which no record names a page. */
static void test_no_pages(void **state)
{
	(void)state;
	struct lineage *l = NULL;
	struct err err = {0};
	assert_int_equal(fixture_setup(state), 0);
	int64_t log = source("d.pages", "d", NULL);
	record(log, "boot", -1, NULL, false);
	record(log, "write", 1, NULL, false);
	record(log, "read", 1, NULL, false);
	write_chunk(log);
	resolve();
	assert_int_equal(lineage_run(&l, fixture, &err), 0);
	lineage_free(l);
	assert_int_equal(fixture_teardown(state), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts), cmocka_unit_test(test_find_rid),
					   cmocka_unit_test(test_no_pages)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
