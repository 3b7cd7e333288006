/* SPDX-License-Identifier: Apache-2.0 */
/* test_gap.c - what a case does not hold */
#include "resolve_fixture.h"

#include "pagetrail/evidence.h"

#define GAPS                                                     \
	"SELECT kind, w.name, " SECONDS("from_ns") ", " SECONDS( \
	    "to_ns") ", missing, json_array_length(refs) FROM gap LEFT JOIN worker w USING(worker) ORDER BY gap"

static void page(int64_t s, double at, int seq, const char *op)
{
	char line[96];
	snprintf(line, sizeof(line), "op=%s worker=w seq=%d rid=%s", op, seq, strcmp(op, "boot") ? "r" : "");
	put(s, EVENT_PAGE, at, line);
}

static void test_no_hole(void **state)
{
	(void)state;
	int64_t s = source("a.jsonl", NULL, NULL);
	page(s, 0, 0, "boot");
	page(s, 1, 1, "alloc");
	page(s, 1, 2, "write");
	page(s, 2, 3, "free");
	page(s, 10, 0, "boot");
	page(s, 11, 1, "alloc");
	resolve();
	assert_string_equal(rows(GAPS), "");
}

/* Rotated parts, read in the wrong order, overlapping by two records. */
static void test_parts(void **state)
{
	(void)state;
	int64_t late = source("a.jsonl", NULL, NULL), early = source("b.jsonl", NULL, NULL);
	for (int i = 4; i < 9; i++)
		page(late, i, i, "alloc");
	page(early, 0, 0, "boot");
	for (int i = 1; i < 6; i++)
		page(early, i, i, "alloc");
	page(late, 20, 12, "free");
	resolve();
	assert_string_equal(rows(GAPS), "sequence|w|8|20|3|2;");
}

static void test_begins_in_the_middle(void **state)
{
	(void)state;
	int64_t s = source("a.jsonl", NULL, NULL);
	page(s, 5, 500, "alloc");
	page(s, 6, 501, "free");
	resolve();
	assert_string_equal(rows(GAPS), "sequence|w|-|5|500|1;");
}

/* The numbers begin anew and nothing says why: a restart was lost. */
static void test_backwards(void **state)
{
	(void)state;
	int64_t s = source("a.jsonl", NULL, NULL), copy = source("b.jsonl", NULL, NULL);
	page(s, 0, 0, "boot");
	for (int i = 1; i < 6; i++) {
		page(s, i, i, "alloc");
		page(copy, i, i, "alloc"); /* the same records once more are none */
	}
	for (int i = 1; i < 6; i++)
		page(s, 100 + i, i, "alloc");
	page(s, 110, 8, "free");
	resolve();
	assert_string_equal(rows(GAPS), "sequence|w|5|101|-|2;sequence|w|105|110|2|2;");
}

/* A restart that one log shows and the other does not. */
static void test_restarts(void **state)
{
	(void)state;
	int64_t e = source("w.log", "w", NULL), s = source("a.jsonl", NULL, NULL);
	put(e, EVENT_BOOT, 0, "what=args engine=sglang context_len=1000");
	put(e, EVENT_BOOT, 60, "what=pool engine=sglang pool_tokens=600 context_len=1000");
	page(s, 70, 0, "boot");
	page(s, 80, 1, "alloc");
	page(s, 5000, 2, "alloc");
	page(s, 6000, 0, "boot"); /* not in the engine's log */
	page(s, 6001, 1, "alloc");
	put(e, EVENT_BOOT, 8000, "what=args engine=sglang context_len=1000");
	put(e, EVENT_BOOT, 8060, "what=pool engine=sglang pool_tokens=600 context_len=1000");
	page(s, 9000, 2, "alloc"); /* went on over it */
	resolve();
	assert_string_equal(rows(GAPS), "boot|w|6000|6000|-|1;boot|w|8000|8000|-|1;");
}

/* Records that several writers put down out of order are all there. */
static void test_disorder(void **state)
{
	(void)state;
	static const int seq[] = {0, 2, 1, 4, 3, 6, 5};
	int64_t s = source("a.jsonl", NULL, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(seq); i++)
		page(s, (double)i, seq[i], i ? "alloc" : "boot");
	resolve();
	assert_string_equal(rows(GAPS), "");
}

static void test_sources(void **state)
{
	(void)state;
	int64_t bad = source("bad.log", "w", "status = 'failed', reason = 'cut short', format = NULL");
	int64_t odd = source("odd.bin", NULL, "status = 'unrecognised', format = NULL");
	int64_t s = source("w.log", "w", "first_ns = 1788000001000000000, last_ns = 1788000009000000000, unparsed = 5");
	(void)bad;
	(void)odd;
	put(s, EVENT_LEG, 1, "what=finished rid=a role=decode");
	run("INSERT INTO reject VALUES(3, 500, 40, 2, 'no_pattern'), (3, 700, 40, 2, 'no_pattern'), (3, 900, 10, 1, "
	    "'torn')");
	resolve();
	assert_string_equal(rows(GAPS),
			    "failed_source|w|-|-|-|0;unrecognised|-|-|-|-|0;torn|w|1|9|1|1;unparsed|w|1|9|4|2;");
	assert_string_equal(rows("SELECT refs FROM gap WHERE kind = 'unparsed'"), "[\"S3@500+40\",\"S3@700+40\"];");
	assert_string_equal(rows("SELECT effect LIKE '%cut short%' FROM gap WHERE kind = 'failed_source'"), "1;");
}

#define BOOTS                                                 \
	"SELECT w.name, " SECONDS("started_ns") ", " SECONDS( \
	    "ended_ns") ", version FROM boot JOIN worker w USING(worker) ORDER BY w.name, started_ns"

/* Runs of NULs: each a gap between the records round it. A start may have been among them, if there was room and time for
 * one and no page log goes on over it. */
static void test_runs_of_nuls(void **state)
{
	(void)state;
	int64_t a = source("a.log", "a", "unparsed = 4"), b = source("b.log", "b", "unparsed = 1"),
		g = source("gw.log", NULL, "unparsed = 1"), page_log = source("b.jsonl", NULL, NULL);
	put(a, EVENT_BOOT, 0, "what=args engine=sglang version=0.5.22 context_len=1000");
	put(a, EVENT_LEG, 100, "what=finished rid=r1 role=decode"); /* at byte 100, to 199 */
	next_off[a] = 5000;
	put(a, EVENT_LEG, 200, "what=finished rid=r2 role=decode");
	next_off[a] = 9000;
	put(a, EVENT_LEG, 205, "what=finished rid=r3 role=decode");
	next_off[a] = 9300;
	put(a, EVENT_LEG, 300, "what=finished rid=r4 role=decode");
	put(a, EVENT_BOOT, 1000, "what=args engine=sglang version=0.5.9 context_len=1000");
	put(b, EVENT_BOOT, 0, "what=args engine=sglang version=0.5.22 context_len=1000");
	put(b, EVENT_LEG, 100, "what=finished rid=r5 role=decode");
	next_off[b] = 5000;
	put(b, EVENT_LEG, 200, "what=finished rid=r6 role=decode");
	put(page_log, EVENT_PAGE, 1, "op=boot worker=b seq=0 rid=");
	put(page_log, EVENT_PAGE, 90, "op=alloc worker=b seq=1 rid=r5");
	put(page_log, EVENT_PAGE, 210, "op=alloc worker=b seq=2 rid=r6");
	put(g, EVENT_GATEWAY, 100, "what=access response_id=r1 status=200");
	run("INSERT INTO reject VALUES(1, 200, 4800, 1, 'nul'), (1, 5100, 3900, 1, 'nul'), (1, 9100, 200, 1, 'nul'), "
	    "(1, 9700, 40, 1, 'no_pattern'), (2, 200, 4800, 1, 'nul'), (3, 100, 300, 1, 'nul')");
	resolve();
	assert_string_equal(
	    rows("SELECT kind, source, " SECONDS("from_ns") ", " SECONDS(
		"to_ns") ", missing, refs, effect "
			 "LIKE '%start may be%' FROM gap WHERE effect LIKE 'NUL bytes%' ORDER BY source, from_ns"),
	    "torn|1|100|200|-|[\"S1@200+4800\"]|1;torn|1|200|205|-|[\"S1@5100+3900\"]|0;"
	    "torn|1|205|300|-|[\"S1@9100+200\"]|0;torn|2|100|200|-|[\"S2@200+4800\"]|0;"
	    "torn|3|100|-|-|[\"S3@100+300\"]|0;");
	assert_string_equal(rows("SELECT missing FROM gap WHERE kind = 'unparsed'"), "1;");
	assert_string_equal(rows(BOOTS), "a|0|100|0.5.22;a|100|1000|-;a|1000|-|0.5.9;b|0|-|0.5.22;");
}

/* What is said of a source as a whole is said in its corrected times: here UTC+8, and a clock that was set. */
static void test_zone_of_source(void **state)
{
	(void)state;
	int64_t s = source("d.log", "d", "first_ns = 1788028860000000000, last_ns = 1788028890000000000, unparsed = 1");
	put(s, EVENT_LEG, 8 * 3600 + 60, "naive what=finished rid=a role=decode started_ns=10 finished_ns=59.7");
	put(s, EVENT_LEG, 8 * 3600 + 90, "naive what=finished rid=b role=decode started_ns=70 finished_ns=89.9");
	int64_t z = source("e.log", "e", "first_ns = 1788000060000000000, last_ns = 1788000090000000000, unparsed = 1");
	put(z, EVENT_LEG, 60, "what=finished rid=c role=decode");
	put(z, EVENT_LEG, 90, "what=finished rid=d role=decode");
	/* its largest stamp is none of its last records */
	int64_t k = source("k.log", "k", "first_ns = 1788007200000000000, last_ns = 1788010200000000000, unparsed = 1");
	for (int i = 0; i < 6; i++) {
		char line[128];
		snprintf(line, sizeof(line), "naive what=finished rid=r%d role=decode started_ns=%d finished_ns=%d.3",
			 i, i * 1000, i * 1000);
		put(k, EVENT_LEG, (i < 4 ? 2 : 1) * 3600 + i * 1000, line);
	}
	run("INSERT INTO reject SELECT source, 900, 40, 1, 'no_pattern' FROM source");
	resolve();
	assert_string_equal(rows("SELECT w.name, " SECONDS("from_ns") ", " SECONDS(
				"to_ns") " FROM gap JOIN worker w "
					 "USING(worker) WHERE kind = 'unparsed' ORDER BY w.name"),
			    "d|60|90;e|60|90;k|0|5000;");
}

static void test_anonymous_access(void **state)
{
	(void)state;
	int64_t g = source("nginx.log", NULL, NULL), e = source("engine.log", "w", NULL);
	put(g, EVENT_GATEWAY, 1, "what=access status=200 bytes_sent=5");
	put(g, EVENT_GATEWAY, 2, "what=access status=200 bytes_sent=5 tenant=tenant-a prompt_tokens=700000");
	put(e, EVENT_GATEWAY, 1, "what=access status=200");
	put(e, EVENT_LEG, 1, "what=finished rid=a role=prefill");
	resolve();
	assert_string_equal(rows(GAPS), "unattached|-|-|-|1|1;");
	assert_string_equal(rows("SELECT name, prompt_tokens, delivered FROM response JOIN request USING(request)"),
			    "unnamed|700000|yes;");
}

/* ---- silence: requests go to two decode workers in turn, by `to`; '-' is nobody of the two */

static void fleet(const char *to[], size_t n, const char *b_path)
{
	int64_t g = source("gw.log", NULL, NULL), a = source("a.log", "a", NULL), b = source(b_path, "b", NULL), at = 0;
	for (size_t k = 0; k < n; k++)
		for (const char *w = to[k]; *w; w++, at++) {
			char line[192];
			if (*w == ' ') {
				at += 3600;
				continue;
			}
			snprintf(line, sizeof(line),
				 "what=access gateway_id=g%d response_id=r%d status=200 started_ns=%d", (int)at,
				 (int)at, (int)at * 10);
			put(g, EVENT_GATEWAY, (double)at * 10, line);
			snprintf(line, sizeof(line), "what=finished rid=r%d role=decode input_tokens=7", (int)at);
			if (*w == 'a' || *w == 'b')
				put(*w == 'a' ? a : b, EVENT_LEG, (double)at * 10 + 1, line);
		}
	resolve();
}

#define MIX   "abbabaabbaabababbabaabbabaababbababaabbaabab"
#define ALL_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define LOST  "a--a-aa-a---a-a-a--aa-a-a-a--a-aa-a--a-a--aa-a-a--a-a-aa-a--a-a-aa--a-a-a-"

static void test_silence(void **state)
{
	(void)state;
	const char *to[] = {MIX, MIX, MIX, LOST, MIX, MIX, MIX};
	fleet(to, ARRAY_SIZE(to), "b.log");
	assert_string_equal(
	    rows("SELECT kind, w.name, (to_ns - from_ns) / 1000000000 BETWEEN 730 AND 790, json_array_length(refs), "
		 "effect LIKE '%39 responses of this time have no decode leg%' FROM gap JOIN worker w USING(worker)"),
	    "quiet|b|1|2|1;");
}

/* Nights and bursts are quiet for everybody. */
static void test_nights(void **state)
{
	(void)state;
	const char *to[] = {MIX, MIX, "        ", MIX, MIX, "                ", MIX, "            ", MIX};
	fleet(to, ARRAY_SIZE(to), "b.log");
	assert_string_equal(rows(GAPS), "");
}

/* A worker that is idle for long as it is has no habit that a silence could break. */
static void test_idle_worker(void **state)
{
	(void)state;
	const char *to[] = {"bbbbbbbbbbbbbbbb",  ALL_A,
			    "bbabbabbbbb",       "aaaaaaaaaaaaaaaaaaaaaaaaaaaa",
			    "bbbabbbbbabbbb",    ALL_A ALL_A ALL_A,
			    "bbbbabbbabbabbbbb", "aaaaaaaaaaaa",
			    "babababab",         "aaaaaaa",
			    "bbbbaabbbaaabbabab"};
	fleet(to, ARRAY_SIZE(to), "b.log");
	assert_string_equal(rows(GAPS), "");
}

static void leg_at_time(int64_t s, double at, int no)
{
	char line[96];
	snprintf(line, sizeof(line), "what=finished rid=r%d role=decode input_tokens=7", no);
	put(s, EVENT_LEG, at, line);
}

static void test_missing_number(void **state)
{
	(void)state;
	static const char *const names[] = {"/l/d.log.4.gz", "/l/d.log.3", "/l/d.log.1", "/l/d.log"};
	for (int i = 0; i < 4; i++) {
		int64_t s = source(names[i], "d", NULL);
		leg_at_time(s, i * 1000, i * 2);
		leg_at_time(s, i * 1000 + 900, i * 2 + 1);
	}
	resolve();
	assert_string_equal(rows(GAPS), "rotation|d|1900|2000|1|2;");
}

/* One process each, not one after another. */
static void test_numbered_processes(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		char name[16];
		snprintf(name, sizeof(name), "/l/d.%d", i * 2);
		int64_t s = source(name, "d", NULL);
		leg_at_time(s, i, i * 2);
		leg_at_time(s, 9000 + i, i * 2 + 1);
	}
	resolve();
	assert_string_equal(rows(GAPS), "");
}

static void test_missing_day(void **state)
{
	(void)state;
	static const int days[] = {1, 2, 3, 4, 5, 7, 8};
	for (size_t i = 0; i < ARRAY_SIZE(days); i++) {
		char name[32];
		snprintf(name, sizeof(name), "/l/d.log-2026090%d", days[i]);
		int64_t s = source(name, "d", NULL);
		leg_at_time(s, days[i] * 86400, days[i] * 2);
		leg_at_time(s, days[i] * 86400 + 86000, days[i] * 2 + 1);
	}
	resolve();
	assert_string_equal(rows(GAPS), "rotation|d|518000|604800|1|2;");
}

/* A file in which no event is, or that nobody can read, is there: it is not missed, it only says nothing of the time. */
static void test_files_without_events(void **state)
{
	(void)state;
	for (int day = 1; day < 9; day++) {
		char name[32];
		if (day == 6)
			continue;
		snprintf(name, sizeof(name), "/l/d.log-2026090%d", day);
		int64_t s = source(name, "d", day == 3 ? "status = 'unrecognised', format = NULL" : NULL);
		if (day == 3 || day == 5)
			continue;
		leg_at_time(s, day * 86400, day * 2);
		leg_at_time(s, day * 86400 + 86000, day * 2 + 1);
	}
	static const char *const names[] = {"/l/e.log.4.gz", "/l/e.log.3", "/l/e.log.2", "/l/e.log.1", "/l/e.log"};
	for (int i = 0; i < 5; i++) {
		int64_t s = source(names[i], i % 2 ? NULL : "e", NULL);
		if (i % 2 == 0)
			leg_at_time(s, i * 1000, 100 + i);
	}
	resolve();
	assert_string_equal(rows(GAPS), "unrecognised|d|-|-|-|0;rotation|d|431600|604800|1|2;");
	assert_string_equal(rows("SELECT effect LIKE 'between /l/d.log-20260904 and /l/d.log-20260907 the names leave "
				 "1 file out, %' FROM gap WHERE kind = 'rotation'"),
			    "1;");
}

/* Of a gateway's log as well. */
static void test_missing_file_of_gateway(void **state)
{
	(void)state;
	static const char *const names[] = {"/l/gw.log.3", "/l/gw.log.1"};
	for (int i = 0; i < 2; i++) {
		char more[128], line[64];
		snprintf(more, sizeof(more), "first_ns = %lld, last_ns = %lld", (long long)(T0 + i * 1000 * NS_PER_S),
			 (long long)(T0 + (i * 1000 + 10) * NS_PER_S));
		int64_t s = source(names[i], NULL, more);
		for (int k = 0; k < 2; k++) {
			snprintf(line, sizeof(line), "what=access gateway_id=g%d status=200", i * 2 + k);
			put(s, EVENT_GATEWAY, i * 1000 + k * 10, line);
		}
	}
	resolve();
	assert_string_equal(rows(GAPS), "rotation|-|10|1000|1|2;");
}

/* Dates without a rule: somebody saved a log now and then. */
static void test_odd_days(void **state)
{
	(void)state;
	static const int days[] = {1, 2, 5, 9};
	for (size_t i = 0; i < ARRAY_SIZE(days); i++) {
		char name[32];
		snprintf(name, sizeof(name), "/l/d-2026-09-0%d.log", days[i]);
		leg_at_time(source(name, "d", NULL), days[i] * 86400, days[i]);
	}
	resolve();
	assert_string_equal(rows(GAPS), "");
}

/* --- nodes that were asked --- */

static void lines(const char *path, const char *format, const char *text)
{
	char sql[160];
	struct evidence_chunk e;
	int64_t id = source(path, NULL, NULL);
	assert_int_equal(evidence_encode(text_of(text), 0, &e, NULL), 0);
	assert_int_equal(evidence_append(fixture, id, &e, NULL), 0);
	evidence_done(&e);
	snprintf(sql, sizeof(sql), "UPDATE source SET format = '%s', bytes = %zu WHERE source = %lld", format,
		 strlen(text), (long long)id);
	run(sql);
}

#define ASKED(NODE, AT, OUTCOME)                                                                    \
	"{\"pagetrail\":\"attempt\",\"collected_at\":\"2026-08-29T10:40:" AT "Z\",\"node\":\"" NODE \
	"\",\"document\":\"models\",\"outcome\":\"" OUTCOME "\"}\n"
#define EFFECTS                                                                      \
	"SELECT g.source, w.name, " SECONDS("from_ns") ", " SECONDS(                 \
	    "to_ns") ", missing, json_array_length(refs), substr("                   \
		     "effect, 1, instr(effect, ')')) FROM gap g LEFT JOIN worker w " \
		     "USING(worker) WHERE kind = 'unanswered' ORDER BY effect"

/* By the newest run in which it was asked; 1788000000 is 2026-08-29T10:40:00Z. */
static void test_unanswered(void **state)
{
	(void)state;
	int64_t s = source("a.jsonl", NULL, NULL);
	page(s, 0, 0, "boot"); /* of worker w */
	lines("asked-1.jsonl", "live-attempts",
	      ASKED("w", "01", "timed_out") ASKED("fails", "01", "answered") ASKED("fails", "02", "not_there")
		  ASKED("stays", "02", "refused"));
	lines("asked-2.jsonl", "live-attempts",
	      ASKED("w", "11", "answered") ASKED("w", "11", "not_there")
		  ASKED("w", "12.5", "cut") "not JSON\n" ASKED("fails", "13", "refused")
		      ASKED("has-nothing", "14", "not_there") ASKED("has-nothing", "15", "not_there"));
	lines("other.jsonl", "test", ASKED("others", "30", "refused"));
	resolve();
	assert_string_equal(rows(EFFECTS),
			    "3|-|13|13|1|1|fails was asked what it runs, and did not answer (refused 1);"
			    "3|-|15|15|2|2|has-nothing was asked what it runs, and did not answer (not_there 2);"
			    "2|-|2|2|1|1|stays was asked what it runs, and did not answer (refused 1);"
			    "3|w|12|12|1|1|w was asked what it runs, and answered in part (cut 1);");
	lines("asked-3.jsonl", "live-attempts",
	      ASKED("w", "21", "answered") ASKED("fails", "21", "answered") ASKED("stays", "21", "answered")
		  ASKED("has-nothing", "21", "answered"));
	resolve();
	assert_string_equal(rows(EFFECTS), "");
}

/* Many are counted; what a line says is bounded. */
static void test_unanswered_many(void **state)
{
	(void)state;
	static char text[1200 * 160];
	size_t len = 0;
	for (int i = 0; i < 1200; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"{\"pagetrail\":\"attempt\",\"node\":\"n-%04d\",\"outcome\":\"odd-%d\"}\n",
					i % 1100, i);
	lines("asked.jsonl", "live-attempts", text);
	resolve();
	assert_string_equal(
	    rows("SELECT count(*), sum(missing), sum(from_ns IS NULL) FROM gap WHERE kind = 'unanswered'"),
	    "1001|1200|1001;");
	assert_string_equal(rows("SELECT missing, substr(effect, 1, 8) FROM gap WHERE source IS NULL"),
			    "100|100 more;");
}

#define PROBE(AT, RESULT, OUTCOME)                                                                                 \
	"{\"pagetrail\":\"probe\",\"probe\":\"p\",\"url\":\"http://e:1/v1\",\"started_at\":\"2026-08-29T10:40:" AT \
	"Z\",\"ended_at\":\"2026-08-29T10:41:" AT "Z\",\"outcome\":\"" OUTCOME "\",\"result\":\"" RESULT "\"}\n"

static void test_probes_without_answer(void **state)
{
	(void)state;
	lines("probe/a/answers-1.jsonl", "live-probes", PROBE("01", "unknown", "cut"));
	lines("probe/b/answers-1.jsonl", "live-probes",
	      PROBE("05", "refused", "http_error") PROBE("06", "unknown", "timed_out") PROBE("07", "answered", "cut"));
	lines("probe/b/answers-2.jsonl", "live-probes",
	      PROBE("08", "unknown",
		    "answered") "{\"pagetrail\":\"probe\",\"url\":\"http://e:1/v1\",\"result\":\"not_sent\"}\n");
	resolve();
	assert_string_equal(rows(EFFECTS),
			    "3|-|6|68|3|3|of 5 probes of http://e:1/v1 3 came to no answer (timed_out 1, "
			    "not_understood 1, not_sent 1);");
}

/* Logs of two servers, one behind the other; and parts of one log in the wrong order. */
static void test_several_servers(void **state)
{
	for (int parts = 0; parts < 2; parts++) {
		if (parts) {
			fixture_teardown(state);
			fixture_setup(state);
		}
		int64_t d = source("d.log", "d", NULL);
		put(d, EVENT_BOOT, parts ? 90000 : 0, "what=start engine=sglang version=0.5.9 role=decode");
		for (int i = 0; i < 8; i++) {
			char line[128];
			double at = i % 4 * 10000 + (i < 4 ? parts * 100000 : 0) + 10;
			snprintf(line, sizeof(line), "what=finished rid=r%d role=decode input_tokens=%d", i, 100 + i);
			put(d, EVENT_LEG, at, line);
		}
		resolve();
		assert_string_equal(rows("SELECT kind, w.name, json_array_length(refs) FROM gap LEFT JOIN "
					 "worker w USING(worker)"),
				    parts ? "" : "boot|d|1;");
		assert_string_equal(rows("SELECT count(*), count(boot) FROM leg"), parts ? "8|8;" : "8|0;");
	}
}

/* A log of a worker: requests from..to, every 1000 s. */
static void serves(int64_t s, const char *prefix, int from, int to)
{
	char line[128];
	for (int at = from; at <= to; at += 1000) {
		snprintf(line, sizeof(line), "what=finished rid=%s%d role=decode input_tokens=%d", prefix, at,
			 100 + at);
		put(s, EVENT_LEG, at, line);
	}
}

static void starts(int64_t s, double at)
{
	put(s, EVENT_BOOT, at, "what=args engine=sglang version=0.5.9 role=decode");
	put(s, EVENT_BOOT, at + 60, "what=pool engine=sglang pool_tokens=600 context_len=1000");
}

enum { INSIDE, SIDE_BY_SIDE, ROTATED_TWIN, COPY, FOLLOWS, SET_BACK, OTHER_LINES, ONE_SERVER, TWO_ROLES, LAYOUTS };

static void lay_out(int what)
{
	const char *later = what == ONE_SERVER ? "d.log" : "b/d.log";
	int64_t a = source(what == ONE_SERVER ? "d.log.1" : "a/d.log", "d", NULL), b = source(later, "d", NULL);
	switch (what) {
	case INSIDE: /* the one starts while the other goes on */
		starts(a, 0);
		serves(a, "a", 1000, 90000);
		starts(b, 40500);
		serves(b, "b", 41100, 90000);
		break;
	case SIDE_BY_SIDE:
		starts(a, 0);
		serves(a, "a", 1000, 90000);
		starts(b, 30);
		serves(b, "b", 1100, 90000);
		break;
	case ROTATED_TWIN: { /* the start is in one file, requests in another */
		int64_t old = source("b/d.log.1", "d", NULL);
		starts(a, 0);
		serves(a, "a", 1000, 90000);
		starts(old, 30);
		serves(b, "b", 1100, 90000);
		break;
	}
	case COPY: /* a part of it */
		starts(a, 0);
		serves(a, "a", 1000, 40000);
		starts(a, 40500);
		serves(a, "a", 41000, 90000);
		serves(b, "a", 10000, 90000);
		break;
	case FOLLOWS: /* with a few lines of the other, as a collector leaves them */
		starts(a, 0);
		serves(a, "a", 1000, 40000);
		starts(b, 39900);
		serves(b, "a", 40000, 40000);
		serves(b, "b", 41000, 90000);
		break;
	case SET_BACK: /* another zone, of stamps that have none, from the start on */
		put(a, EVENT_BOOT, 0, "naive what=args engine=sglang role=decode");
		put(b, EVENT_BOOT, 40000 - 28800, "naive what=args engine=sglang role=decode");
		for (int i = 1; i < 40; i++) {
			char line[128];
			snprintf(line, sizeof(line), "naive what=finished rid=a%d role=decode input_tokens=%d", i, i);
			put(a, EVENT_LEG, i * 1000, line);
			snprintf(line, sizeof(line), "naive what=finished rid=b%d role=decode input_tokens=%d", i,
				 90 + i);
			put(b, EVENT_LEG, 40000 - 28800 + i * 1000, line);
		}
		break;
	case OTHER_LINES: /* what is said of requests goes elsewhere than the rest */
		starts(a, 0);
		starts(a, 40000);
		put(a, EVENT_LOAD, 50000, "what=decode running=1");
		serves(b, "b", 1000, 39000);
		serves(b, "c", 41000, 90000);
		break;
	case ONE_SERVER: /* files of one rotation that overlap */
		starts(a, 0);
		serves(a, "a", 1000, 60000);
		starts(b, 40500);
		serves(b, "b", 41100, 90000);
		break;
	case TWO_ROLES: /* a host that runs both */
		starts(a, 0);
		serves(a, "a", 1000, 90000);
		put(b, EVENT_BOOT, 40500, "what=args engine=sglang version=0.5.9 role=prefill");
		break;
	}
}

/* Logs of two servers under one name are told, and no boot of theirs counts; all that only looks like it is not. */
static void test_two_servers(void **state)
{
	for (int what = 0; what < LAYOUTS; what++) {
		fixture_teardown(state);
		fixture_setup(state);
		lay_out(what);
		resolve();
		const char *found = rows("SELECT kind, w.name, json_array_length(refs), effect LIKE '%a/d.log%' AND "
					 "effect LIKE '%b/d.log%' AND effect LIKE '%two servers%' FROM gap LEFT JOIN "
					 "worker w USING(worker)");
		bool two = what <= ROTATED_TWIN;
		if (strcmp(found, two ? "boot|d|2|1;" : ""))
			fail_msg("layout %d: %s", what, found);
		const char *boots = rows("SELECT count(boot) > 0 FROM leg");
		assert_string_equal(boots, two ? "0;" : "1;");
	}
}

/* Page logs of two servers under one name; of two ranks of one; of one server that starts again in a new file. */
static void test_two_page_logs(void **state)
{
	enum { TWO, RANKS, AGAIN, ALL };
	for (int what = TWO; what < ALL; what++) {
		fixture_teardown(state);
		fixture_setup(state);
		int64_t s[] = {source("a/w.jsonl", NULL, NULL), source("b/w.jsonl", NULL, NULL)};
		for (int k = 0; k < 2; k++) {
			double from = what == AGAIN ? k * 10000 : k * 5;
			page(s[k], from, 0, "boot");
			for (int i = 1; i < 40; i++) {
				char line[96];
				snprintf(line, sizeof(line), "op=%s worker=w seq=%d rid=%c%d", i % 2 ? "alloc" : "free",
					 i, what == TWO && k ? 'b' : 'a', i / 2);
				put(s[k], EVENT_PAGE, from + i * 100, line);
			}
		}
		resolve();
		assert_string_equal(rows("SELECT kind, w.name, json_array_length(refs) FROM gap LEFT JOIN worker w "
					 "USING(worker) WHERE effect LIKE '%two servers%'"),
				    what == TWO ? "sequence|w|2;" : "");
		assert_string_equal(rows("SELECT value FROM case_info WHERE key = 'page_logs_in_doubt'"),
				    what == TWO ? "[\"w\"];" : "[];");
	}
}

/* Page logs in which a kind of record is missing, and whether something rests on it. */
static void test_missing_kinds(void **state)
{
	static const struct {
		const char *role, *leg, *ops[8], *lacks;
	} logs[] = {
	    {"role='unified'", NULL, {"op=alloc", "op=read", "op=free"}, "write"},
	    {"role='unified'", NULL, {"op=alloc", "op=write", "op=read", "op=free"}, ""},
	    {"role='unified'", NULL, {"op=alloc", "op=free"}, ""}, /* nothing was computed */
	    {"role='prefill'", NULL, {"op=alloc", "op=send", "op=free"}, "write"},
	    {"role='prefill'", NULL, {"op=alloc room=9", "op=write", "op=read", "op=send", "op=free"}, ""},
	    {"role='decode'", NULL, {"op=alloc room=9", "op=recv", "op=read", "op=free"}, ""}, /* no page of its own */
	    {"role='decode'",
	     NULL,
	     {"op=alloc room=9", "op=recv", "op=read", "op=alloc", "op=read", "op=free"},
	     "write"},
	    {"role='decode'", NULL, {"op=alloc room=9", "op=read", "op=alloc", "op=free"}, "write,recv"},
	    {"role='decode'", NULL, {"op=alloc room=9", "op=write", "op=read", "op=free"}, "recv"},
	    {"role='decode'", NULL, {"op=alloc room=9", "op=write", "op=free"}, "recv"}, /* nor reads */
	    {"role='decode'", NULL, {"op=alloc room=9", "op=free"}, ""},                 /* the transfer failed */
	    {"role='decode'", NULL, {"op=alloc", "op=write", "op=read", "op=free"}, ""}, /* it computed the prompt */
	    {"role='decode'", "rid=p room=9", {"op=alloc", "op=write", "op=read", "op=free"}, "recv"},
	    {NULL, NULL, {"op=alloc room=9", "op=write", "op=read", "op=free"}, "recv"},
	    {NULL, NULL, {"op=alloc room=9", "op=write", "op=read", "op=send", "op=free"}, ""},
	    {"role='unified'", "rid=r cached_tokens=64", {"op=alloc", "op=write", "op=read", "op=free"}, "share"},
	    {"role='unified'",
	     "rid=r cached_tokens=64",
	     {"op=share", "op=alloc", "op=write", "op=read", "op=free"},
	     ""},
	    {"role='unified'", "rid=r cached_tokens=0", {"op=alloc", "op=write", "op=read", "op=free"}, ""},
	    {"role='unified'", "what=prefill cached_tokens=64", {"op=alloc", "op=write", "op=read"}, "share"},
	    {"role='unified'", "what=prefill cached_tokens=64", {"op=reset", "op=alloc", "op=write", "op=read"}, ""},
	    {"role='unified'", "what=prefill cached_tokens=0", {"op=alloc", "op=write", "op=read"}, ""},
	    {"role='decode'", "rid=r room=9 cached_tokens=64", {"op=alloc", "op=recv", "op=read", "op=free"}, ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(logs); i++) {
		char line[200], want[64];
		fixture_teardown(state);
		fixture_setup(state);
		int64_t s = source("w.jsonl", NULL, NULL), e = source("w.log", "w", logs[i].role),
			p = source("p.log", "p", NULL);
		put(s, EVENT_PAGE, 0, "op=boot worker=w seq=0");
		for (int k = 0; logs[i].ops[k]; k++) {
			snprintf(line, sizeof(line), "%s worker=w rid=r seq=%d", logs[i].ops[k], k + 1);
			put(s, EVENT_PAGE, 10 + k, line);
		}
		if (logs[i].leg && strstr(logs[i].leg, "what=")) { /* of a batch, before the page log or in its time */
			put(e, EVENT_LOAD, strstr(logs[i].ops[0], "alloc") ? 11 : -20, logs[i].leg);
		} else if (logs[i].leg && strstr(logs[i].leg, "rid=p")) { /* its other half */
			put(p, EVENT_LEG, 9, "what=finished role=prefill rid=p room=9 started_ns=8 finished_ns=9");
			put(e, EVENT_LEG, 18, "what=finished rid=r room=9 started_ns=10 finished_ns=18");
		} else if (logs[i].leg) {
			snprintf(line, sizeof(line), "what=finished %s started_ns=10 finished_ns=18", logs[i].leg);
			put(e, EVENT_LEG, 18, line);
		} else {
			put(e, EVENT_LEG, 90, "what=finished rid=other started_ns=80 finished_ns=90");
		}
		resolve();
		const char *found = rows("SELECT group_concat(kind) FROM (SELECT k.value AS kind FROM "
					 "json_each('[\"write\",\"recv\",\"share\"]') k JOIN gap ON effect LIKE "
					 "'page log of w has no ''' || k.value || ''' record at all%' ORDER BY k.key)");
		snprintf(want, sizeof(want), "%s;", logs[i].lacks[0] ? logs[i].lacks : "-");
		if (strcmp(found, want))
			fail_msg("log %zu: %s not %s", i, found, want);
		assert_string_equal(rows("SELECT value FROM case_info WHERE key = 'page_logs_in_doubt'"),
				    logs[i].lacks[0] ? "[\"w\"];" : "[];");
	}
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
	    CASE(test_no_hole),
	    CASE(test_parts),
	    CASE(test_begins_in_the_middle),
	    CASE(test_backwards),
	    CASE(test_restarts),
	    CASE(test_disorder),
	    CASE(test_sources),
	    CASE(test_runs_of_nuls),
	    CASE(test_zone_of_source),
	    CASE(test_anonymous_access),
	    CASE(test_silence),
	    CASE(test_nights),
	    CASE(test_idle_worker),
	    CASE(test_missing_number),
	    CASE(test_numbered_processes),
	    CASE(test_missing_day),
	    CASE(test_files_without_events),
	    CASE(test_missing_file_of_gateway),
	    CASE(test_odd_days),
	    CASE(test_unanswered),
	    CASE(test_unanswered_many),
	    CASE(test_probes_without_answer),
	    CASE(test_several_servers),
	    CASE(test_two_servers),
	    CASE(test_two_page_logs),
	    CASE(test_missing_kinds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
