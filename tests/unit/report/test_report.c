/* SPDX-License-Identifier: Apache-2.0 */
/* test_report.c - the document and its rendering: hostile text stays text, faults are errors and leave no files
 *
 * Queries and assets are read from the tree, so that single ones can be replaced by wrong ones.
 */
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "pagetrail/report.h"
#include "pagetrail/row_tables.h"

#define HOSTILE "<script>alert(1)</script>\"'&]]><!--"
/* the same in SQL, with U+202E, U+0001, an invalid byte and a line feed behind it */
#define HOSTILE_SQL                                                                                              \
	"CAST(CAST('<script>alert(1)</script>\"''&]]><!--' AS BLOB) || x'E280AE' || x'01' || x'FF' || x'0A' || " \
	"x'EFBFBE' "                                                                                             \
	"|| x'C285' AS TEXT)"

enum { QUERIES_MAX = 64 };
static struct query_text all_queries[QUERIES_MAX];
static char query_names[QUERIES_MAX][64];
static size_t n_all_queries;
enum { ASSETS = 5 };
static struct report_asset assets[ASSETS];
static char dir[64];
static struct case_file *c;

static char *slurp(const char *path)
{
	FILE *in = fopen(path, "rb");
	if (!in)
		fail_msg("cannot read %s", path);
	size_t cap = 1 << 24, n;
	char *text = malloc(cap);
	assert_non_null(text);
	n = fread(text, 1, cap - 1, in);
	text[n] = '\0';
	fclose(in);
	assert_int_equal(strlen(text), n);
	return text;
}

static int load(void **state)
{
	(void)state;
	DIR *d = opendir("queries");
	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));) {
		size_t n = strlen(e->d_name);
		char path[320];
		if (n < 5 || n > 60 || strcmp(e->d_name + n - 4, ".sql") != 0)
			continue;
		assert_true(n_all_queries < QUERIES_MAX);
		snprintf(query_names[n_all_queries], sizeof(query_names[0]), "%.*s", (int)n - 4, e->d_name);
		snprintf(path, sizeof(path), "queries/%s", e->d_name);
		all_queries[n_all_queries] = (struct query_text){query_names[n_all_queries], slurp(path)};
		n_all_queries++;
	}
	closedir(d);
	static const char *const names[ASSETS] = {"report.rng", "scope.xsl", "style.css", "report.xsl", "notice.xsl"};
	for (int i = 0; i < ASSETS; i++) {
		char path[64];
		snprintf(path, sizeof(path), "reports/%s", names[i]);
		assets[i] = (struct report_asset){names[i], slurp(path)};
	}
	return 0;
}

static int unload(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_all_queries; i++)
		free((char *)all_queries[i].sql);
	for (int i = 0; i < ASSETS; i++)
		free((char *)assets[i].text);
	return 0;
}

static void run(const char *sql)
{
	struct err err = {0};
	if (sql_exec(c, sql, &err))
		fail_msg("%s: %s", sql, err.what);
}

/* Rows of a table in front of the case become rows of the case; names: of those that have some. */
static void keep(const char *name, enum row_table table, unsigned refs, struct row_names *names)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	CLEANUP(row_writer_freep) struct row_writer *w = NULL;
	struct err err = {0};
	char text[96];
	int there;
	snprintf(text, sizeof(text), "SELECT * FROM temp.%s ORDER BY rowid", name);
	assert_int_equal(sql_prepare(&s, c, text, &err), 0);
	assert_int_equal(row_writer_open(&w, c, table, names, &err), 0);
	while ((there = sql_step(s, &err)) == 1) {
		for (unsigned i = 0; i < (unsigned)sql_columns(s); i++) {
			struct ref ref = {0};
			if (sql_type(s, (int)i) == SQL_NULL)
				continue;
			if (i != refs && sql_type(s, (int)i) == SQL_INT)
				row_put_int(w, i, sql_get_int(s, (int)i));
			else if (i != refs)
				row_put_text(w, i, sql_get_text(s, (int)i));
			else if (sscanf(sql_get_text(s, (int)i).ptr, "[\"S%" SCNd64 "@%" SCNu64 "+%" SCNu64,
					&ref.source, &ref.off, &ref.len) == 3)
				row_put_ref(w, i, ref);
		}
		assert_int_equal(row_next(w, &err), 0);
	}
	assert_int_equal(there, 0);
	assert_int_equal(row_end(w, &err), 0);
	sql_end(s);
	s = NULL;
	snprintf(text, sizeof(text), "DROP TABLE temp.%s", name);
	run(text);
}

/* Two workers, one over-long request served through both, one short one; all names hostile. change: a statement more. */
static void fill_with(const char *change)
{
	CLEANUP(row_names_freep) struct row_names *names = NULL;
	struct err err = {0};
	run("INSERT INTO tenant VALUES(1, " HOSTILE_SQL "), (2, 'tenant-b')");
	run("INSERT INTO worker VALUES(1, " HOSTILE_SQL " || 'p', 'prefill', 'sglang', 1788000000000000000, "
	    "1788000900000000000, 0), (2, " HOSTILE_SQL " || 'd', 'decode', 'sglang', 1788000000000000000, "
	    "1788000900000000000, 0)");
	run("INSERT INTO boot VALUES(1, 1, 1788000000000000000, NULL, 'sglang', '0.5.21', NULL, " HOSTILE_SQL
	    ", 'prefill', 'mooncake', 1048576, 681280, 64, 681274, 'printed', 0, '[\"S1@0+10\"]'),"
	    "(2, 2, 1788000000000000000, NULL, 'sglang', '0.5.21', NULL, 'm', 'decode', 'mooncake', 1048576, 1179648, "
	    "64, "
	    "1048570, 'printed', 0, '[\"S1@10+10\"]')");
	run("INSERT INTO source(path, sha256, content_sha256, container, format, format_basis, worker, tz, tz_basis, "
	    "status, "
	    "records, parsed) VALUES(" HOSTILE_SQL ", 'aa', 'aa', 'none', 'test', '{}', " HOSTILE_SQL
	    ", 'UTC', 'assumed', 'ingested', 7, 7)");
	/* in front of the tables of the case, which no statement changes */
	run("CREATE TEMP TABLE request AS SELECT * FROM request; CREATE TEMP TABLE alias AS SELECT * FROM alias");
	run("CREATE TEMP TABLE leg AS SELECT * FROM leg; CREATE TEMP TABLE response AS SELECT * FROM response");
	run("INSERT INTO request VALUES(1, " HOSTILE_SQL ", 1, " HOSTILE_SQL
	    ", NULL, NULL, NULL), (2, 'short', 2, 'm', NULL, "
	    "NULL, NULL)");
	run("INSERT INTO leg(leg, request, worker, boot, role, rid, room, started_ns, finished_ns, input_tokens, "
	    "input_flag, "
	    "output_tokens, outcome, refs) VALUES"
	    "(1, 1, 1, 1, 'prefill', 'r1', '5', 1788000100000000000, 1788000101000000000, 700000, 'exact', 1, "
	    "'rejected', "
	    "'[\"S1@20+10\"]'),"
	    "(2, 1, 2, 2, 'decode', 'r2', '5', 1788000101000000000, 1788000102500000000, 700000, 'exact', 90, "
	    "'finished', "
	    "'[\"S1@30+10\"]'),"
	    "(3, 2, 1, 1, 'prefill', 'r3', '6', 1788000200000000000, 1788000201000000000, 100, 'exact', 1, 'finished', "
	    "'[\"S1@40+10\"]'),"
	    "(4, 2, 2, 2, 'decode', 'r4', '6', 1788000201000000000, 1788000202000000000, 100, 'exact', 90, 'finished', "
	    "'[\"S1@50+10\"]')");
	run("UPDATE leg SET attempt = 1");
	run("INSERT INTO response VALUES(1, 1, 1, 200, 1, 700000, 'exact', 90, 400, 'yes', 'bytes', "
	    "1788000100250000000, "
	    "1788000102500000000, '[\"S1@60+10\"]'), (2, 2, 1, 200, 1, 100, 'exact', 90, 400, 'yes', 'bytes', "
	    "1788000200000000000, 1788000202000000000, '[\"S1@70+10\"]')");
	run("INSERT INTO gap VALUES(1, 'sequence', 1, 2, 1788000300000000000, 1788000400000000000, 5, " HOSTILE_SQL
	    ", '[]')");
	run("INSERT INTO clock VALUES(1, 0, NULL, 0, 0, 0, NULL, " HOSTILE_SQL ")");
	if (change)
		run(change);
	assert_int_equal(row_names_new(&names, c, &err), 0);
	keep("request", ROWS_REQUEST, UINT_MAX, names);
	keep("alias", ROWS_ALIAS, UINT_MAX, names);
	assert_int_equal(row_names_end(names, &err), 0);
	keep("leg", ROWS_LEG, LEG_ROW_REFS, NULL);
	keep("response", ROWS_RESPONSE, RESPONSE_REFS, NULL);
}

static void fill(void)
{
	fill_with(NULL);
}

static int setup(void **state)
{
	(void)state;
	char path[128];
	struct err err = {0};
	strcpy(dir, "/tmp/pagetrail-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/case.ptc", dir);
	if (case_open(&c, path, CASE_CREATE, &err))
		fail_msg("%s", err.what);
	static const struct analysis_params params = {0};
	assert_int_equal(analysis_register(c, &params, &err), 0);
	return case_info_set(c, "title", text_of(HOSTILE "\xE2\x80\xAE\x01\xFF"), &err);
}

static int teardown(void **state)
{
	char cmd[128];
	(void)state;
	(void)case_close(c, NULL);
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	return system(cmd);
}

static struct report_options options(const char *out)
{
	return (struct report_options){.kind = "scope",
				       .out_dir = out,
				       .audience = "internal",
				       .as_of_ns = INT64_C(1788001000500000000),
				       .issue = 2,
				       .assets = assets,
				       .n_assets = ASSETS,
				       .queries = all_queries,
				       .n_queries = n_all_queries};
}

static const char *in_dir(const char *name)
{
	static char path[4][160];
	static unsigned at;
	at = (at + 1) % 4;
	snprintf(path[at], sizeof(path[0]), "%s/%s", dir, name);
	return path[at];
}

static void write_ok(const char *out)
{
	struct err err = {0};
	struct report_options o = options(out);
	if (report_write(c, &o, &err))
		fail_msg("%s", err.what);
}

static void check_inert(const char *text)
{
	assert_true(text_utf8_valid(text_of(text)));
	assert_null(strstr(text, "<script"));
	assert_null(strstr(text, "<!--"));
	assert_null(strstr(text, "\xE2\x80\xAE"));
	assert_null(strstr(text, "\xEF\xBF\xBE"));
	assert_null(strstr(text, "\xC2\x85"));
	for (const char *p = text; *p; p++)
		assert_true((unsigned char)*p >= 0x20 || *p == '\n' || *p == '\t');
}

static void test_hostile_text(void **state)
{
	(void)state;
	fill();
	write_ok(in_dir("out"));
	char *xml = slurp(in_dir("out/scope-2.xml")), *html = slurp(in_dir("out/scope-2.html"));
	check_inert(xml);
	check_inert(html);
	/* it is there, as text */
	assert_non_null(strstr(xml, "&lt;script&gt;alert(1)&lt;/script&gt;"));
	assert_non_null(strstr(html, "&lt;script&gt;alert(1)&lt;/script&gt;"));
	assert_non_null(strstr(html, "\\u{202E}"));
	assert_non_null(strstr(html, "\\xFF"));
	assert_non_null(strstr(xml, "<supersedes>1</supersedes>"));
	free(xml);
	free(html);
}

static void test_numbers_and_marks(void **state)
{
	(void)state;
	fill();
	write_ok(in_dir("out"));
	char *xml = slurp(in_dir("out/scope-2.xml")), *html = slurp(in_dir("out/scope-2.html"));
	assert_non_null(strstr(xml, "<number id=\"population\" value=\"2\""));
	assert_non_null(strstr(xml,
			       "<number id=\"C2\" value=\"1\" unit=\"responses\" flag=\"counted\" at-least=\"true\" "
			       "population=\"population\" of=\"2\" percent=\"50.00\"/>"));
	assert_non_null(strstr(xml, "<affected-first>2026-08-29T10:41:40.250Z</affected-first>"));
	assert_non_null(strstr(xml, "<affected-before>2026-08-29T10:41:41Z</affected-before>"));
	assert_non_null(strstr(xml, "<exposed-first>2026-08-29T10:40:00Z</exposed-first>"));
	assert_non_null(strstr(xml, "id=\"figure-days\""));
	assert_non_null(strstr(xml, "id=\"figure-lanes\""));
	assert_non_null(strstr(xml, "kind=\"gap\""));
	assert_non_null(strstr(html, "at least "));
	assert_non_null(strstr(html, "[TO BE COMPLETED: root-cause]"));
	assert_null(strstr(html, "http:"));
	assert_null(strstr(html, "https:"));
	assert_null(strstr(html, "url("));
	free(xml);
	free(html);
}

static void test_empty_case_and_same_bytes(void **state)
{
	(void)state;
	write_ok(in_dir("one"));
	write_ok(in_dir("two"));
	char *a = slurp(in_dir("one/scope-2.xml")), *b = slurp(in_dir("two/scope-2.xml"));
	assert_string_equal(a, b);
	assert_non_null(strstr(a, "<number id=\"population\" value=\"0\""));
	assert_null(strstr(a, "percent=\"100.00\""));
	assert_null(strstr(a, "<figure"));
	free(a);
	free(b);
}

static void test_far_times(void **state)
{
	(void)state;
	fill_with("UPDATE response SET started_ns = -9000000000000000000 WHERE response = 2");
	run("UPDATE worker SET first_ns = -9100000000000000000, last_ns = 9200000000000000000 WHERE worker = 1");
	run("UPDATE boot SET started_ns = 9200000000000000000 WHERE boot = 1");
	run("UPDATE clock SET bound_ns = 9223372036854775807");
	write_ok(in_dir("out"));
}

static void test_long_names_are_cut(void **state)
{
	(void)state;
	fill();
	run("UPDATE tenant SET name = replace(hex(zeroblob(500000)), '0', '<') WHERE tenant = 1");
	run("UPDATE source SET path = replace(hex(zeroblob(500000)), '0', ']]>') WHERE source = 1");
	write_ok(in_dir("out"));
	char *html = slurp(in_dir("out/scope-2.html"));
	assert_true(strlen(html) < 400000);
	assert_non_null(strstr(html, "(1000000 bytes)"));
	free(html);
}

static void refuse(struct report_options *o, int code)
{
	struct err err = {0};
	struct stat st;
	assert_int_equal(report_write(c, o, &err), code);
	assert_true(err.what[0]);
	assert_null(strchr(err.what, '\n'));
	assert_int_not_equal(stat(o->out_dir, &st), 0);
}

/* A document that does not fit the schema is an error, and nothing is written. */
static void test_invalid_document(void **state)
{
	(void)state;
	struct report_asset changed[ASSETS];
	memcpy(changed, assets, sizeof(changed));
	changed[0].text = "<element name='other' xmlns='http://relaxng.org/ns/structure/1.0'><empty/></element>";
	struct report_options o = options(in_dir("out"));
	o.assets = changed;
	refuse(&o, ERR_BUG);
	changed[0].text = "<element";
	refuse(&o, ERR_BUG);
	o.n_assets = 1;
	refuse(&o, ERR_BUG);
}

#define SHEET(body)                                                                                      \
	"<xsl:stylesheet version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform' "                \
	"xmlns:exsl='http://exslt.org/common' extension-element-prefixes='exsl'><xsl:param name='css'/>" \
	"<xsl:template match='/'><html>" body "</html></xsl:template></xsl:stylesheet>"

/* A stylesheet reads and writes no file, includes none, and says so or stays silent; the secret never shows. */
static void test_stylesheet_is_confined(void **state)
{
	(void)state;
	char sheet[1024], secret[160];
	snprintf(secret, sizeof(secret), "%s", in_dir("secret.xml"));
	FILE *f = fopen(secret, "w");
	assert_non_null(f);
	fputs("<s>the-secret</s>", f);
	fclose(f);
	static const char *const bodies[] = {
	    SHEET("<xsl:copy-of select=\"document('%s')\"/>"),
	    SHEET("<exsl:document href='%s.out'>x</exsl:document>"),
	    "<xsl:stylesheet version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'><xsl:include href='%s'/>"
	    "<xsl:template match='/'><a/></xsl:template></xsl:stylesheet>",
	    "<!DOCTYPE x [<!ENTITY e SYSTEM '%s'>]>" SHEET("&e;"),
	};
	struct report_asset changed[ASSETS];
	memcpy(changed, assets, sizeof(changed));
	struct report_options o = options(in_dir("out"));
	o.assets = changed;
	changed[1].text = sheet;
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		struct err err = {0};
		struct stat st;
		char out[200];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(sheet, sizeof(sheet), bodies[i], secret);
#pragma GCC diagnostic pop
		int rc = report_write(c, &o, &err);
		if (!rc) { /* an entity that loads nothing is nothing */
			char *html = slurp(in_dir("out/scope-2.html"));
			assert_null(strstr(html, "the-secret"));
			free(html);
		} else {
			assert_int_equal(rc, ERR_BUG);
		}
		assert_true(rc || i != 2); /* an include that loads nothing is a fault */
		snprintf(out, sizeof(out), "%s.out", secret);
		assert_int_not_equal(stat(out, &st), 0);
	}
}

static void test_places_that_refuse(void **state)
{
	(void)state;
	struct err err = {0};
	struct stat st;
	struct report_options o = options(in_dir("case.ptc/out"));
	refuse(&o, ERR_IO);
	o.out_dir = in_dir("no/such/parent");
	refuse(&o, ERR_IO);
	/* the second file cannot take its place: the first goes too */
	assert_int_equal(mkdir(in_dir("held"), 0755), 0);
	assert_int_equal(mkdir(in_dir("held/scope-2.html"), 0755), 0);
	o.out_dir = in_dir("held");
	assert_int_equal(report_write(c, &o, &err), ERR_IO);
	assert_int_not_equal(stat(in_dir("held/scope-2.xml"), &st), 0);
	assert_int_not_equal(stat(in_dir("held/scope-2.xml.part"), &st), 0);
	assert_int_not_equal(stat(in_dir("held/scope-2.html.part"), &st), 0);
}

static void test_unknown_kind_and_question(void **state)
{
	(void)state;
	struct report_options o = options(in_dir("out"));
	o.kind = "notice";
	refuse(&o, ERR_USAGE);
	o.kind = "scope";
	o.n_queries = 0;
	refuse(&o, ERR_BUG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_hostile_text, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_numbers_and_marks, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_empty_case_and_same_bytes, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_far_times, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_long_names_are_cut, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_invalid_document, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_stylesheet_is_confined, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_places_that_refuse, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_unknown_kind_and_question, setup, teardown),
	};
	return cmocka_run_group_tests(tests, load, unload);
}
