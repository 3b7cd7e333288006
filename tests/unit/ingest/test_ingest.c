/* SPDX-License-Identifier: Apache-2.0 */
/* test_ingest.c - files into a case: same case for every number of jobs, known files, killed runs, evidence byte for
 * byte */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../rounds.h"
#include "pagetrail/evidence.h"
#include "toy.h"

/* sanitizers keep memory of their own */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !__has_feature(address_sanitizer)
#define MEMORY_IS_PLAIN
#endif

enum { RESULTS_MAX = 64 };

struct seen {
	struct source_result r[RESULTS_MAX]; /* texts are copied below */
	char path[RESULTS_MAX][256], worker[RESULTS_MAX][128], basis[RESULTS_MAX][32], alias[RESULTS_MAX][128],
	    reason[RESULTS_MAX][256], format[RESULTS_MAX][32];
	unsigned n;
	uint64_t kill_at;
};

static void keep(char *out, size_t size, struct text t)
{
	snprintf(out, size, "%.*s", (int)t.len, t.ptr ? t.ptr : "");
}

static int on_source(void *ctx, const struct source_result *r)
{
	struct seen *s = ctx;
	assert_true(s->n < RESULTS_MAX);
	s->r[s->n] = *r;
	keep(s->path[s->n], 256, r->path);
	keep(s->worker[s->n], 128, r->worker);
	keep(s->alias[s->n], 128, r->worker_alias);
	keep(s->basis[s->n], 32, r->worker_basis);
	keep(s->reason[s->n], 256, r->reason);
	keep(s->format[s->n], 32, r->format);
	s->n++;
	return 0;
}

static void on_progress(void *ctx, const struct ingest_progress *p)
{
	struct seen *s = ctx;
	assert_true((!p->total_bytes || p->stored_bytes <= p->total_bytes) && p->path.len);
	if (s->kill_at && p->bytes >= s->kill_at)
		raise(SIGKILL);
}

static struct ingest_options options(struct seen *s, unsigned jobs)
{
	*s = (struct seen){0};
	return (struct ingest_options){.parsers = toys,
				       .n_parsers = N_TOYS,
				       .jobs = jobs,
				       .now_ns = 1,
				       .on_source = on_source,
				       .on_progress = on_progress,
				       .ctx = s};
}

static struct case_file *open_case(const char *name)
{
	struct case_file *c = NULL;
	struct err err = {0};
	bool there = access(in_folder(name), F_OK) == 0;
	if (case_open(&c, in_folder(name), there ? CASE_WRITE : CASE_CREATE, &err) < 0)
		fail_msg("%s", err.what);
	return c;
}

static void ingest(struct case_file *c, const struct ingest_options *o, const char *path)
{
	struct err err = {0};
	if (ingest_path(c, o, path, &err) < 0)
		fail_msg("%s (%s)", err.what, err.where);
}

static void digest_of(struct case_file *c, char out[SHA256_HEX])
{
	struct err err = {0};
	if (case_digest(c, out, &err) < 0)
		fail_msg("%s (%s)", err.what, err.where);
}

static int64_t number(struct case_file *c, const char *query)
{
	struct sql *q = NULL;
	struct err err = {0};
	if (sql_prepare(&q, c, query, &err) < 0 || sql_step(q, &err) != 1)
		fail_msg("%s: %s", query, err.what);
	int64_t v = sql_get_int(q, 0);
	sql_end(q);
	return v;
}

static int add_bytes(void *ctx, struct text bytes, uint64_t off)
{
	struct buf *b = ctx;
	assert_int_equal(off, b->len);
	return buf_add_text(b, bytes, NULL);
}

/* The evidence of a source is the file, byte for byte. */
static void check_evidence(struct case_file *c, int64_t source, const char *name)
{
	struct buf got = BUF_INIT(256 * MIB), want = BUF_INIT(256 * MIB);
	struct err err = {0};
	char block[65536];
	size_t n;
	FILE *f = fopen(in_folder(name), "rb");
	assert_non_null(f);
	while ((n = fread(block, 1, sizeof(block), f)) > 0)
		assert_int_equal(buf_add(&want, block, n, NULL), 0);
	fclose(f);
	assert_int_equal(evidence_each(c, source, add_bytes, &got, &err), 0);
	assert_int_equal(got.len, want.len);
	if (want.len)
		assert_memory_equal(got.ptr, want.ptr, want.len);
	buf_done(&got);
	buf_done(&want);
}

static void put_lines(const char *name, unsigned from, unsigned n)
{
	FILE *f = fopen(in_folder(name), "wb");
	unsigned x = from * 2654435761u + 1;
	assert_non_null(f);
	for (unsigned i = from; i < from + n; i++) {
		x = x * 1103515245 + 12345;
		fprintf(f, "T%u %0*u%s", i, (int)(x >> 16 & 127), x, i % 9 ? "\n" : "\r\n");
		if (i % 11 == 0)
			fputs("  more\nodd\n", f);
	}
	fclose(f);
}

static void test_folder(void **state)
{
	struct seen s;
	struct ingest_options o = options(&s, 2);
	(void)state;
	assert_true(shell("mkdir -p in/prefill-0 in/decode-0"));
	put_lines("in/prefill-0/engine.log", 1, 50000);
	put_lines("in/decode-0/engine.log", 90000, 30000);
	put("in/decode-0/no-end.log", "T1 a\r\nT2 b\0c", 12);
	put("in/empty.log", "", 0);
	put("in/image.png", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
	put("in/list.json", "[1,\n2]\n", 7);
	put("in/tie.log", "T1 a\nR\n", 7);
	assert_true(shell(
	    "gzip -k in/prefill-0/engine.log && gzip -c in/decode-0/engine.log | head -c 100000 >in/cut.log.gz && "
	    "mkfifo in/pipe"));
	struct case_file *c = open_case("folder.ptc");
	ingest(c, &o, in_folder("in"));
	assert_int_equal(s.n, 10);
	struct account sum = {0};
	for (unsigned i = 0; i < s.n; i++) {
		const struct account *a = &s.r[i].account;
		assert_int_equal(a->bytes, a->bytes_parsed + a->bytes_context + a->bytes_unparsed + a->bytes_duplicate);
		assert_int_equal(a->records, a->parsed + a->context + a->unparsed + a->duplicate);
		if (s.r[i].status != SOURCE_KNOWN)
			sum.bytes += a->bytes;
	}
	/* order: cut.log.gz decode-0/engine.log decode-0/no-end.log empty.log image.png list.json pipe prefill-0/…
	 * tie.log */
	assert_int_equal(s.r[0].status, SOURCE_FAILED);
	assert_true(s.r[0].account.parsed > 100);
	assert_non_null(strstr(s.reason[0], "cut off"));
	assert_int_equal(strlen(s.r[0].sha256), 64);
	assert_int_equal(s.r[1].status, SOURCE_INGESTED);
	assert_string_equal(s.worker[1], "decode-0");
	assert_string_equal(s.basis[1], "path");
	assert_string_equal(s.r[1].sha256, s.r[1].content_sha256);
	assert_int_equal(s.r[2].account.records, 2);
	assert_int_equal(s.r[3].status, SOURCE_UNRECOGNISED);
	assert_string_equal(s.reason[3], "empty");
	assert_string_equal(s.reason[4], "binary (PNG image)");
	assert_int_equal(s.r[4].account.bytes_unparsed, 16);
	assert_non_null(strstr(s.reason[5], "JSON array"));
	assert_int_equal(s.r[5].account.unparsed, 2);
	assert_int_equal(s.r[6].status, SOURCE_FAILED);
	assert_string_equal(s.reason[6], "not a regular file");
	assert_int_equal(s.r[7].status, SOURCE_INGESTED);
	assert_int_equal(s.r[8].status, SOURCE_KNOWN); /* the same content, packed */
	assert_int_equal(s.r[8].source, s.r[7].source);
	assert_string_not_equal(s.r[8].sha256, s.r[7].sha256);
	assert_non_null(strstr(s.reason[9], "tie between"));
	check_evidence(c, s.r[1].source, "in/decode-0/engine.log");
	check_evidence(c, s.r[2].source, "in/decode-0/no-end.log");
	check_evidence(c, s.r[4].source, "in/image.png");
	check_evidence(c, s.r[7].source, "in/prefill-0/engine.log");
	assert_int_equal(number(c, "SELECT sum(bytes) FROM source"), sum.bytes);
	assert_int_equal(number(c, "SELECT sum(byte_len) FROM evidence_chunk"), sum.bytes);
	assert_int_equal(number(c, "SELECT sum(byte_len) FROM reject"),
			 number(c, "SELECT sum(bytes_unparsed) FROM source"));
	assert_int_equal(number(c, "SELECT sum(records) FROM reject"), number(c, "SELECT sum(unparsed) FROM source"));
	assert_int_equal(number(c, "SELECT sum(n) FROM event_chunk"), number(c, "SELECT sum(parsed) FROM source"));
	/* again: everything is known, nothing grows */
	char before[SHA256_HEX], after[SHA256_HEX];
	int64_t chunks = number(c, "SELECT count(*) FROM evidence_chunk");
	digest_of(c, before);
	o = options(&s, 2);
	ingest(c, &o, in_folder("in"));
	for (unsigned i = 0; i < s.n; i++)
		assert_true(s.r[i].status == SOURCE_KNOWN || i == 6);
	digest_of(c, after);
	assert_string_equal(before, after);
	assert_int_equal(chunks, number(c, "SELECT count(*) FROM evidence_chunk"));
	assert_int_equal(case_close(c, NULL), 0);
}

static void test_jobs(void **state)
{
	static struct seen s[3];
	char digests[3][SHA256_HEX];
	(void)state;
	for (unsigned j = 0; j < 3; j++) {
		char name[32];
		snprintf(name, sizeof(name), "jobs-%u.ptc", j);
		struct ingest_options o = options(&s[j], j == 2 ? 4 : j * 2);
		struct case_file *c = open_case(name);
		ingest(c, &o, in_folder("in"));
		digest_of(c, digests[j]);
		assert_int_equal(case_close(c, NULL), 0);
		assert_int_equal(s[j].n, s[0].n);
		for (unsigned i = 0; i < s[j].n; i++) {
			assert_string_equal(s[j].path[i], s[0].path[i]);
			assert_int_equal(s[j].r[i].source, s[0].r[i].source);
			assert_int_equal(s[j].r[i].status, s[0].r[i].status);
		}
	}
	assert_string_equal(digests[0], digests[1]);
	assert_string_equal(digests[0], digests[2]);
}

static void test_kill(void **state)
{
	struct seen s;
	char whole[SHA256_HEX], resumed[SHA256_HEX];
	struct err err = {0};
	(void)state;
	unsigned share = rounds(3, 1); /* of the file: more than one commit */
	put_lines("big.log", 1, 300000 * share);
	struct ingest_options o = options(&s, 2);
	struct case_file *c = open_case("whole.ptc");
	ingest(c, &o, in_folder("big.log"));
	digest_of(c, whole);
	assert_int_equal(case_close(c, NULL), 0);
	for (int way = 0; way < 3; way++) { /* same path, another path, stopped by a signal instead of killed */
		char name[32];
		snprintf(name, sizeof(name), "killed-%d.ptc", way);
		volatile sig_atomic_t stop = 1;
		if (way < 2) {
			pid_t child = fork();
			if (child == 0) {
				o = options(&s, 2);
				s.kill_at = 16 * MIB * share;
				c = open_case(name);
				(void)!ingest_path(c, &o, in_folder("big.log"), NULL);
				_exit(0);
			}
			int status;
			assert_int_equal(waitpid(child, &status, 0), child);
			assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		} else {
			o = options(&s, 2);
			o.stop = &stop;
			c = open_case(name);
			assert_int_equal(ingest_path(c, &o, in_folder("big.log"), &err), ERR_INTERRUPTED);
			assert_int_equal(case_close(c, NULL), 0);
		}
		c = open_case(name);
		if (way < 2) {
			assert_int_equal(number(c, "SELECT count(*) FROM source WHERE status='reading'"), 1);
			assert_true(number(c, "SELECT count(*) FROM evidence_chunk") > 0);
		}
		if (way == 1)
			assert_true(shell("cp big.log copy.log"));
		o = options(&s, 2);
		ingest(c, &o, in_folder(way == 1 ? "copy.log" : "big.log"));
		assert_int_equal(s.n, 1);
		assert_int_equal(s.r[0].status, way < 2 ? SOURCE_RESUMED : SOURCE_INGESTED);
		assert_int_equal(number(c, "SELECT count(*) FROM source"), 1);
		digest_of(c, resumed);
		if (way != 1)
			assert_string_equal(whole, resumed);
		check_evidence(c, s.r[0].source, "big.log");
		assert_int_equal(case_close(c, NULL), 0);
	}
}

static void test_names_and_zones(void **state)
{
	static const char csv[] = "glob,worker,role,tz,format\nnode-1/*,w1,decode,+08:00,\n";
	struct seen s;
	struct ingest_options o = options(&s, 0);
	(void)state;
	assert_true(shell("mkdir -p n/node-1 n/node-2 n/node-3"));
	put("n/node-1/engine.log", "T100000 a\nB 10.0.0.9 30000\n", 27);
	put("n/node-2/engine.log", "T200000 a\nB 10.0.0.8 30000\nB 10.0.0.7 1\n", 41);
	put("n/node-3/engine.log", "T3 a\nB 0.0.0.0 30000\n", 21);
	put("n/pages-a.log", "W decode-7\nW decode-7\nT3 x\n", 22);
	put("n/pages-b.log", "W decode-7\nW decode-8\n", 22);
	put("s.csv", csv, sizeof(csv) - 1);
	o.sources_csv = in_folder("s.csv");
	struct case_file *c = open_case("names.ptc");
	ingest(c, &o, in_folder("n"));
	assert_int_equal(s.n, 5);
	assert_string_equal(s.worker[0], "w1");
	assert_string_equal(s.basis[0], "sources");
	assert_string_equal(s.alias[0], "10.0.0.9:30000");
	assert_int_equal(s.r[0].first_ns, (100000 - 8 * 3600) * NS_PER_S);
	assert_string_equal(s.worker[1], "10.0.0.8:30000");
	assert_string_equal(s.basis[1], "record");
	assert_string_equal(s.alias[1], "node-2");
	assert_int_equal(s.r[1].first_ns, INT64_C(200000) * NS_PER_S);
	assert_string_equal(s.worker[2], "node-3");
	assert_string_equal(s.worker[3], "decode-7");
	assert_string_equal(s.basis[3], "record");
	assert_string_equal(s.worker[4], "pages-b");
	assert_int_equal(
	    number(c, "SELECT count(*) FROM source WHERE role='decode' AND tz='+08:00' AND tz_basis='sources'"), 1);
	/* the user knows better now: the same file is read again under the new name, and only that one */
	o = options(&s, 0);
	o.worker = "named";
	ingest(c, &o, in_folder("n/node-2/engine.log"));
	assert_int_equal(s.r[0].status, SOURCE_INGESTED);
	assert_string_equal(s.worker[0], "named");
	assert_string_equal(s.alias[0], "10.0.0.8:30000");
	assert_int_equal(number(c, "SELECT count(*) FROM source"), 5);
	assert_int_equal(case_close(c, NULL), 0);
	/* a plan stores nothing and needs no case */
	o = options(&s, 0);
	o.plan = true;
	ingest(NULL, &o, in_folder("n"));
	assert_int_equal(s.n, 5);
	assert_string_equal(s.worker[1], "10.0.0.8:30000");
	assert_int_equal(s.r[1].source, 0);
}

static void test_refusals(void **state)
{
	struct seen s;
	struct err err = {0};
	struct ingest_options o = options(&s, 0);
	struct case_file *c = open_case("refusals.ptc");
	(void)state;
	ingest(c, &o, in_folder("absent"));
	assert_int_equal(s.r[0].status, SOURCE_FAILED);
	assert_int_equal(s.r[0].source, 1); /* what is missing has a row, one */
	assert_string_equal(s.reason[0], "No such file or directory: check the path, something in it is not there");
	o = options(&s, 0);
	ingest(c, &o, in_folder("absent"));
	assert_int_equal(s.r[0].source, 1);
	assert_int_equal(number(c, "SELECT count(*) FROM source WHERE status='failed' AND bytes=0"), 1);
	put("absent", "T1 a\n", 5); /* there it is: its bytes take the place of the row */
	o = options(&s, 0);
	ingest(c, &o, in_folder("absent"));
	assert_int_equal(s.r[0].status, SOURCE_INGESTED);
	assert_int_equal(number(c, "SELECT count(*) FROM source"), 1);
	assert_int_equal(number(c, "SELECT count(*) FROM source WHERE status='ingested'"), 1);
	o.format = "none";
	assert_int_equal(ingest_path(c, &o, in_folder("n"), &err), ERR_USAGE);
	o.format = NULL;
	o.tz = "Mars/Base";
	assert_int_equal(ingest_path(c, &o, in_folder("n"), &err), ERR_USAGE);
	o.tz = NULL;
	/* unrecognised, until somebody names the format */
	o = options(&s, 0);
	put("u.log", "x\ny\n", 4);
	ingest(c, &o, in_folder("u.log"));
	assert_int_equal(s.r[0].status, SOURCE_UNRECOGNISED);
	check_evidence(c, s.r[0].source, "u.log");
	o = options(&s, 0);
	o.format = "rival";
	ingest(c, &o, in_folder("u.log"));
	assert_int_equal(s.r[0].status, SOURCE_INGESTED);
	assert_int_equal(s.r[0].account.context, 2);
	assert_string_equal(s.format[0], "rival");
	assert_int_equal(number(c, "SELECT count(*) FROM source"), 2);
	assert_int_equal(case_close(c, NULL), 0);
}

/* The case lies in the folder that is read; a log that was cut under its writer; an archive of which a part is lost. */
static void test_odd_files(void **state)
{
	struct seen s;
	struct ingest_options o = options(&s, 2);
	char digest[2][SHA256_HEX];
	(void)state;
	assert_true(shell("mkdir -p odd/tar"));
	put_lines("odd/tar/a.log", 1, 3000);
	put_lines("odd/tar/b.log", 5000, 3000);
	assert_true(shell("tar cf odd/t.tar -C odd/tar a.log b.log && head -c 100000 odd/t.tar >odd/cut.tar && "
			  "(head -c 20000000 /dev/zero; cat odd/tar/a.log) >odd/nul.log && rm -r odd/tar odd/t.tar"));
	for (int i = 0; i < 2; i++) {
		o = options(&s, i ? 2 : 0);
		struct case_file *c = open_case("odd/it.ptc");
		ingest(c, &o, in_folder("odd"));
		assert_int_equal(s.n, 3);
		assert_int_equal(s.r[0].status, SOURCE_FAILED);
		assert_int_equal(s.r[1].status, SOURCE_FAILED);
		assert_non_null(strstr(s.path[1], "odd/cut.tar"));
		assert_int_equal(s.r[1].account.bytes, 100000);
		assert_int_equal(s.r[1].account.parsed, 0);
		check_evidence(c, s.r[1].source, "odd/cut.tar");
		assert_int_equal(s.r[2].status, SOURCE_INGESTED);
		assert_int_equal(s.r[2].account.parsed, 3000);
		check_evidence(c, s.r[2].source, "odd/nul.log");
		o = options(&s, 2);
		ingest(c, &o, in_folder("odd"));
		for (unsigned k = 0; k < s.n; k++)
			assert_int_equal(s.r[k].status, SOURCE_KNOWN);
		digest_of(c, digest[i]);
		assert_int_equal(case_close(c, NULL), 0);
		assert_true(shell("rm odd/it.ptc"));
	}
	assert_string_equal(digest[0], digest[1]);
}

/* One line of 100 MB (20 is above the limit, too): memory stays where it is. */
static void test_long_line(void **state)
{
	struct seen s;
	uint64_t length = rounds(100, 20) * UINT64_C(1000000);
	(void)state;
	assert_true(shell("(printf 'T1 a\\nT2 '; head -c %llu /dev/zero | tr '\\0' x; printf '\\nT3 b\\n') >long.log",
			  (unsigned long long)length));
	pid_t child = fork();
	if (child == 0) {
		struct ingest_options o = options(&s, 2);
		struct rusage use;
		struct case_file *c = open_case("long.ptc");
		ingest(c, &o, in_folder("long.log"));
		bool good =
		    s.r[0].account.records == 3 && s.r[0].account.unparsed == 1 && s.r[0].account.bytes == length + 14;
		good = good && number(c, "SELECT count(*) FROM reject WHERE reason='too_long'") == 1;
		good = good && case_close(c, NULL) == 0 && getrusage(RUSAGE_SELF, &use) == 0;
#ifdef MEMORY_IS_PLAIN
		good = good && use.ru_maxrss < 256 * 1024;
#endif
		_exit(good ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_folder),          cmocka_unit_test(test_jobs),     cmocka_unit_test(test_kill),
	    cmocka_unit_test(test_names_and_zones), cmocka_unit_test(test_refusals), cmocka_unit_test(test_long_line),
	    cmocka_unit_test(test_odd_files),
	};
	return cmocka_run_group_tests(tests, folder_make, folder_drop);
}
