/* SPDX-License-Identifier: Apache-2.0 */
/* test_row_tables.c - the tables of requests give back what was written, whatever way they are asked
 *
 * Random rows are written twice: through the writer, and into ordinary tables; SQLite's own answers from those are the
 * oracle. The seed is printed, PAGETRAIL_SEED repeats one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../src/store/row_chunk.h"
#include "../../../src/store/row_names.h"
#include "pagetrail/row_tables.h"

static char dir[64], path[128];
static struct case_file *c;
static struct row_names *names;
static uint64_t random_state;

static unsigned draw(unsigned n)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(random_state >> 33) % n;
}

static int setup(void **state)
{
	const char *given = getenv("PAGETRAIL_SEED");
	(void)state;
	random_state = given ? strtoull(given, NULL, 10) : 20261201;
	print_message("# seed %llu\n", (unsigned long long)random_state);
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
	row_names_free(names);
	names = NULL;
	(void)case_close(c, NULL);
	c = NULL;
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	return system(cmd);
}

static void exec(const char *sql)
{
	struct err err = {0};
	if (sql_exec(c, sql, &err))
		fail_msg("%s: %s", sql, err.what);
}

/* Between them tables are written, together or some of them. */
static void begin_tables(void)
{
	row_names_free(names);
	names = NULL;
	assert_int_equal(row_tables_clear(c, NULL), 0);
	assert_int_equal(row_names_new(&names, c, NULL), 0);
}

static void end_tables(void)
{
	assert_int_equal(row_names_end(names, NULL), 0);
}

/* Text of any kind: often short and shared, sometimes long or empty, or with bytes that are no text. */
static struct text some_text(char buf[700])
{
	static const char odd[] = "\xff'\"\n\t%";
	unsigned n = draw(20) ? draw(24) : draw(600);
	if (!draw(3))
		n = (unsigned)snprintf(buf, 700, "id-%u", draw(5000));
	else
		for (unsigned i = 0; i < n; i++)
			buf[i] = (char)(draw(30) ? "0123456789abcdef"[draw(16)] : odd[draw(sizeof(odd) - 1)]);
	return (struct text){buf, n};
}

static int64_t some_int(void)
{
	switch (draw(4)) {
	case 0: return INT64_MIN; /* unknown */
	case 1: return (int64_t)draw(5);
	case 2: return 1788000000000000000 + (int64_t)draw(1000000) * 1000000;
	default: return (int64_t)(((uint64_t)draw(1u << 31) << 32) + draw(1u << 31)) * (draw(2) ? 1 : -1);
	}
}

/* Puts a cell of both. */
static void put(struct row_writer *w, struct sql *s, const struct row_table_info *info, unsigned i, int64_t row,
		int64_t request)
{
	char buf[700], json[1200] = "[";
	struct err err = {0};
	if ((int)i == info->id || (int)i == info->request) {
		int64_t v = (int)i == info->id ? row : request;
		row_put_int(w, i, v);
		assert_int_equal(sql_int(s, (int)i + 1, v, &err), 0);
	} else if (info->columns[i].type == ROW_INT) {
		int64_t v = some_int();
		row_put_int(w, i, v);
		assert_int_equal(sql_int(s, (int)i + 1, v, &err), 0);
	} else if (info->columns[i].type == ROW_TEXT) {
		struct text t = draw(4) ? some_text(buf) : (struct text){NULL, 0};
		row_put_text(w, i, t);
		assert_int_equal(sql_text(s, (int)i + 1, t, &err), 0);
	} else {
		unsigned n = draw(5) ? draw(4) : draw(17);
		size_t at = 1;
		for (unsigned k = 0; k < n; k++) {
			struct ref r = {1 + draw(300), draw(3) ? draw(1000000) : (uint64_t)INT64_MAX - draw(9),
					draw(2000)};
			at +=
			    (size_t)snprintf(json + at, sizeof(json) - at, "%s\"S%lld@%llu+%llu\"", k ? "," : "",
					     (long long)r.source, (unsigned long long)r.off, (unsigned long long)r.len);
			row_put_ref(w, i, r);
		}
		json[at++] = ']';
		assert_int_equal(sql_text(s, (int)i + 1, (struct text){json, at}, &err), 0);
	}
}

static void make_plain(enum row_table table)
{
	const struct row_table_info *info = &row_tables[table];
	char sql[1024];
	size_t at = (size_t)snprintf(sql, sizeof(sql), "CREATE TEMP TABLE IF NOT EXISTS plain_%s(", info->name);
	for (unsigned i = 0; i < info->n_columns; i++)
		at += (size_t)snprintf(sql + at, sizeof(sql) - at, "%s\"%s\" %s%s", i ? ", " : "",
				       info->columns[i].name, info->columns[i].type == ROW_INT ? "INTEGER" : "TEXT",
				       (int)i == info->id ? " PRIMARY KEY" : "");
	snprintf(sql + at, sizeof(sql) - at, "); DELETE FROM plain_%s", info->name);
	exec(sql);
}

/* Requests of the first rows follow each other closely, so that what is asked of the lowest ones has rows whatever the seed. */
enum { ROWS_NEAR = 300 };

static void write_table(enum row_table table, int64_t rows)
{
	const struct row_table_info *info = &row_tables[table];
	struct row_writer *w;
	struct sql *s;
	struct err err = {0};
	char sql[256];
	int64_t request = 1;
	make_plain(table);
	size_t at = (size_t)snprintf(sql, sizeof(sql), "INSERT INTO plain_%s VALUES(", info->name);
	for (unsigned i = 0; i < info->n_columns; i++)
		at += (size_t)snprintf(sql + at, sizeof(sql) - at, i ? ",?" : "?");
	snprintf(sql + at, sizeof(sql) - at, ")");
	assert_int_equal(sql_prepare(&s, c, sql, &err), 0);
	assert_int_equal(row_writer_open(&w, c, table, names, &err), 0);
	for (int64_t row = 1; row <= rows; row++) {
		if (table == ROWS_REQUEST)
			request = row;
		else if (row > 1)
			request += draw(3) ? draw(3) : row <= ROWS_NEAR || draw(100) ? 0 : draw(5000);
		for (unsigned i = 0; i < info->n_columns; i++)
			if (draw(12) || (int)i == info->id || (int)i == info->request)
				put(w, s, info, i, row, request);
			else
				assert_int_equal(info->columns[i].type == ROW_REFS
						     ? sql_text(s, (int)i + 1, TEXT("[]"), &err)
						     : sql_null(s, (int)i + 1, &err),
						 0);
		assert_int_equal(row_next(w, &err), 0);
		assert_int_equal(sql_run(s, &err), 0);
	}
	assert_int_equal(row_end(w, &err), 0);
	row_writer_free(w);
	sql_end(s);
}

/* Both statements, cell by cell; returns the number of rows. */
static unsigned same(const char *a, const char *b, struct text key)
{
	struct sql *x = NULL, *y = NULL;
	struct err err = {0};
	unsigned n = 0;
	if (sql_prepare(&x, c, a, &err) || sql_prepare(&y, c, b, &err))
		fail_msg("%s: %s", a, err.what);
	if (key.ptr) {
		assert_int_equal(sql_text(x, 1, key, &err), 0);
		assert_int_equal(sql_text(y, 1, key, &err), 0);
	}
	for (;; n++) {
		int r = sql_step(x, &err), want = r < 0 ? 0 : sql_step(y, &err);
		if (r < 0 || want < 0 || r != want)
			fail_msg("%s: row %u: %d, not %d %s", a, n, r, want, err.what);
		if (!r)
			break;
		for (int i = 0; i < sql_columns(x); i++) {
			bool eq = sql_type(x, i) == sql_type(y, i) &&
				  (sql_type(x, i) == SQL_INT ? sql_get_int(x, i) == sql_get_int(y, i)
							     : text_eq(sql_get_text(x, i), sql_get_text(y, i)));
			if (!eq)
				fail_msg("%s: row %u column %d: '%.*s', not '%.*s'", a, n, i,
					 TEXT_ARG(sql_get_text(x, i)), TEXT_ARG(sql_get_text(y, i)));
		}
	}
	sql_end(x);
	sql_end(y);
	return n;
}

static unsigned asked(enum row_table table, const char *tail, struct text key)
{
	char a[400], b[400];
	const char *name = row_tables[table].name;
	snprintf(a, sizeof(a), "SELECT rowid, * FROM %s %s", name, tail);
	snprintf(b, sizeof(b), "SELECT rowid, * FROM plain_%s %s", name, tail);
	return same(a, b, key);
}

static void ask(enum row_table table, int64_t rows)
{
	const struct row_table_info *info = &row_tables[table];
	const struct text none = {NULL, 0};
	char tail[300], key[700];
	const char *request = info->columns[info->request].name;
	unsigned found = 0;
	assert_int_equal(asked(table, "ORDER BY rowid", none), rows);
	snprintf(tail, sizeof(tail), "ORDER BY %s, rowid", request);
	assert_int_equal(asked(table, tail, none), rows);
	snprintf(tail, sizeof(tail), "ORDER BY %s DESC, rowid DESC LIMIT 50", request);
	asked(table, tail, none);
	for (int i = 0; i < 60; i++) {
		snprintf(tail, sizeof(tail), "WHERE rowid = %lld", (long long)draw((unsigned)rows + 3) - 1);
		found += asked(table, tail, none);
		snprintf(tail, sizeof(tail), "WHERE %s = %u ORDER BY rowid", request, draw(2 * (unsigned)rows + 3));
		found += asked(table, tail, none);
		if (info->name_column < 0)
			continue;
		snprintf(tail, sizeof(tail), "WHERE %s = ?1 ORDER BY rowid", info->columns[info->name_column].name);
		found += asked(table, tail, some_text(key));
	}
	assert_true(!rows || found > 5);
	if (!rows)
		return;
	/* what no plan can hand down as it is */
	static const char *const odd[] = {"= '5'",
					  "= 5.0",
					  "= 5.5",
					  "= NULL",
					  "= x'35'",
					  "= 'a'",
					  "= 9223372036854775807",
					  "= -9223372036854775808",
					  "IN (1, 3, 3, 4097, -1)",
					  "BETWEEN 4090 AND 4100",
					  "> 4093"};
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		snprintf(tail, sizeof(tail), "WHERE %s %s ORDER BY rowid", request, odd[i]);
		asked(table, tail, none);
		snprintf(tail, sizeof(tail), "WHERE rowid %s ORDER BY rowid", odd[i]);
		asked(table, tail, none);
		if (info->name_column < 0)
			continue;
		snprintf(tail, sizeof(tail), "WHERE %s %s ORDER BY rowid", info->columns[info->name_column].name,
			 odd[i]);
		asked(table, tail, none);
		snprintf(tail, sizeof(tail), "WHERE %s = 'ID-7' COLLATE NOCASE ORDER BY rowid",
			 info->columns[info->name_column].name);
		asked(table, tail, none);
	}
}

static void round_trips(void **state)
{
	static const int64_t sizes[] = {
	    0, 1, ROW_CHUNK_ROWS - 1, ROW_CHUNK_ROWS, ROW_CHUNK_ROWS + 1, 3 * ROW_CHUNK_ROWS + 77};
	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
		begin_tables();
		for (int table = 0; table < ROW_TABLES; table++)
			write_table((enum row_table)table, sizes[k]);
		end_tables();
		for (int table = 0; table < ROW_TABLES; table++) {
			int64_t n = -1;
			ask((enum row_table)table, sizes[k]);
			assert_int_equal(row_tables_count(c, (enum row_table)table, &n, NULL), 0);
			assert_int_equal(n, sizes[k]);
		}
	}
	assert_true(
	    same("SELECT q.request, a.value, l.rid FROM request q JOIN alias a USING(request) LEFT JOIN leg l "
		 "USING(request) WHERE q.request < 3000 ORDER BY q.request, a.rowid, l.leg",
		 "SELECT q.request, a.value, l.rid FROM plain_request q JOIN plain_alias a USING(request) LEFT JOIN "
		 "plain_leg l USING(request) WHERE q.request < 3000 ORDER BY q.request, a.rowid, l.leg",
		 (struct text){NULL, 0}) > 100);
	/* columns that nothing was made for: read through once, then by an index */
	static const char *const joins[] = {
	    "SELECT a.leg, b.leg FROM %sleg a JOIN %sleg b ON a.room = b.room AND a.leg < b.leg ORDER BY 1, 2",
	    "SELECT a.leg, b.leg FROM %sleg a JOIN %sleg b ON a.status = b.status WHERE a.leg < 300 ORDER BY 1, 2",
	    "SELECT a.rowid, q.request FROM %salias a JOIN %srequest q ON q.request = a.kind WHERE a.rowid < 400 ORDER "
	    "BY 1, 2",
	    "SELECT a.rowid, q.request FROM %salias a JOIN %srequest q ON q.model = a.kind WHERE a.rowid < 400 ORDER "
	    "BY 1, 2",
	    "SELECT a.rowid, p.response FROM %salias a JOIN %sresponse p ON p.started_ns = a.worker ORDER BY 1, 2",
	    "SELECT a.leg, b.leg FROM %sleg a JOIN %sleg b ON a.rid = b.batch WHERE a.leg < 400 ORDER BY 1, 2",
	};
	for (size_t i = 0; i < ARRAY_SIZE(joins); i++) {
		char a[300], b[300];
		snprintf(a, sizeof(a), joins[i], "", "");
		snprintf(b, sizeof(b), joins[i], "plain_", "plain_");
		same(a, b, (struct text){NULL, 0});
	}
	/* a new table in the place of the old one, in one connection and while somebody reads the old one */
	struct sql *old = NULL;
	assert_int_equal(sql_prepare(&old, c, "SELECT name FROM request", NULL), 0);
	assert_int_equal(sql_step(old, NULL), 1);
	begin_tables();
	write_table(ROWS_REQUEST, 50);
	end_tables();
	ask(ROWS_REQUEST, 50);
	sql_end(old);
}

static void refuses(void **state)
{
	struct row_writer *w;
	struct err err = {0};
	(void)state;
	assert_int_equal(row_writer_open(&w, c, ROWS_LEG, NULL, &err), 0);
	row_put_int(w, LEG_ROW_LEG, 1);
	row_put_int(w, LEG_ROW_REQUEST, 5);
	assert_int_equal(row_next(w, &err), 0);
	row_put_int(w, LEG_ROW_LEG, 2);
	row_put_int(w, LEG_ROW_REQUEST, 4);
	assert_int_equal(row_next(w, &err), ERR_BUG);
	row_put_int(w, LEG_ROW_LEG, 3);
	row_put_int(w, LEG_ROW_REQUEST, 5);
	assert_int_equal(row_next(w, &err), ERR_BUG);
	row_writer_free(w);
}

static char faults[1000];
static int note(void *ctx, struct text where, struct text what)
{
	(void)ctx;
	size_t at = strlen(faults);
	snprintf(faults + at, sizeof(faults) - at, "%.*s: %.*s\n", TEXT_ARG(where), TEXT_ARG(what));
	return 0;
}

enum { ROWS = 5000 };

static void write_names(int64_t changed, int64_t rows)
{
	struct row_writer *w;
	struct err err = {0};
	char name[40];
	assert_int_equal(row_writer_open(&w, c, ROWS_REQUEST, names, &err), 0);
	for (int64_t i = 1; i <= rows; i++) {
		snprintf(name, sizeof(name), i == changed ? "another" : "name-%lld", (long long)i);
		row_put_int(w, REQUEST_REQUEST, i);
		row_put_text(w, REQUEST_NAME, text_of(name));
		assert_int_equal(row_next(w, &err), 0);
	}
	assert_int_equal(row_end(w, &err), 0);
	row_writer_free(w);
}

/* The rows made again differ in one place. */
static void compares(void **state)
{
	static const struct {
		int64_t changed, rows;
		const char *fault;
	} cases[] = {
	    {0, ROWS, ""},
	    {1, ROWS, "table request, row 1: name is 'name-1'; the events say 'another'\n"},
	    {4096, ROWS, "table request, row 4096: name is 'name-4096'; the events say 'another'\n"},
	    {4097, ROWS, "table request, row 4097: name is 'name-4097'; the events say 'another'\n"},
	    {0, ROWS + 1, "table request, row 5001: is missing: events tell of it\n"},
	    {0, ROWS - 1, "table request, row 5000: follows from no event\n"},
	    {0, 4096, "table request, row 4097: follows from no event\n"},
	    {0, 9000, "table request, row 5001: is missing: events tell of it\n"},
	};
	(void)state;
	begin_tables();
	write_names(0, ROWS);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = {0};
		assert_int_equal(derived_shadow(c, &err), 0);
		write_names(cases[i].changed, cases[i].rows);
		faults[0] = 0;
		assert_int_equal(row_tables_compare(c, note, NULL, &err), cases[i].fault[0] != 0);
		assert_string_equal(faults, cases[i].fault);
		derived_unshadow(c);
	}
}

/* A chunk with any of its bytes changed is refused, or differs from the hash beside it. */
static void damaged(void **state)
{
	struct buf b = BUF_INIT(1 << 20);
	struct codec *z = NULL;
	struct row_chunk *x;
	unsigned char want[SHA256_BYTES], have[SHA256_BYTES];
	struct sql *s = NULL;
	(void)state;
	assert_int_equal(row_tables_clear(c, NULL), 0);
	write_table(ROWS_LEG, 40);
	assert_int_equal(sql_prepare(&s, c, "SELECT data, sha256 FROM row_chunk WHERE tab = 2", NULL), 0);
	assert_int_equal(sql_step(s, NULL), 1);
	assert_int_equal(buf_add_text(&b, sql_get_text(s, 0), NULL), 0);
	memcpy(want, sql_get_text(s, 1).ptr, SHA256_BYTES);
	assert_int_equal(codec_new(&z, NULL), 0);
	for (size_t at = 0; at <= b.len; at++) {
		char was = at < b.len ? b.ptr[at] : 0;
		if (at < b.len)
			b.ptr[at] = (char)(was ^ (1 << draw(8)));
		int r = row_chunk_open(&x, ROWS_LEG, 40, buf_text(&b), z, NULL);
		if (!r) {
			r = row_chunk_sha256(x, have, NULL);
			bool same_bytes = !r && !memcmp(want, have, SHA256_BYTES);
			assert_true(at == b.len ? same_bytes : true);
			for (unsigned i = 0; i < LEG_ROW_COLUMNS; i++) {
				const struct row_cells *cells;
				if (!row_chunk_column(x, i, &cells, NULL))
					assert_non_null(cells->has);
			}
			/* the directory may be in another order, or what zstd does not look at be different */
			row_chunk_unref(x);
		}
		if (at < b.len)
			b.ptr[at] = was;
	}
	sql_end(s);
	codec_free(z);
	buf_done(&b);
}

/* Legs of requests as ranges give them: each once, in order, whether a range begins there or is sought through. */
static void ranges(void **state)
{
	enum { LEGS = 9500 };
	struct row_book *b = NULL;
	struct row_range *r = NULL, *one = NULL;
	struct sql *s = NULL;
	struct err err = {0};
	(void)state;
	make_plain(ROWS_LEG);
	write_table(ROWS_LEG, LEGS);
	assert_int_equal(row_book_open(&b, c, ROWS_LEG, 1u << LEG_ROW_LEG | 1u << LEG_ROW_RID, &err), 0);
	assert_int_equal(row_book_rows(b), LEGS);
	assert_int_equal(sql_prepare(&s, c, "SELECT leg, request, rid FROM leg ORDER BY leg", &err), 0);
	assert_int_equal(row_range_read(&r, b, INT64_MIN, INT64_MAX, &err), 0);
	int at = row_range_seek(r, INT64_MIN, &err);
	for (int64_t row = 1; sql_step(s, &err) == 1; row++, at = row_range_next(r, &err)) {
		assert_int_equal(at, 1);
		assert_int_equal(row_range_int(r, LEG_ROW_LEG), row);
		assert_int_equal(row_range_request(r), sql_get_int(s, 1));
		assert_true(text_eq(row_range_text(r, LEG_ROW_RID), sql_get_text(s, 2)));
	}
	assert_int_equal(at, 0);
	sql_end(s);
	assert_int_equal(sql_prepare(&s, c, "SELECT min(leg), min(request) FROM leg WHERE request >= ?1", &err), 0);
	for (int i = 0; i < 300; i++) { /* anywhere, before and after the last place */
		assert_int_equal(row_range_goto(&one, b, 1 + draw(LEGS), &err), 0);
		int64_t request = row_range_request(one) + draw(3);
		assert_int_equal(sql_int(s, 1, request, &err), 0);
		assert_int_equal(sql_step(s, &err), 1);
		int there = row_range_seek(r, request, &err);
		assert_int_equal(there, sql_type(s, 0) != SQL_NULL);
		if (there)
			assert_int_equal(row_range_int(r, LEG_ROW_LEG), sql_get_int(s, 0));
		assert_int_equal(row_range_turn(&one, b, request, &err), 0);
		int turned = row_range_seek(one, request, &err);
		if (there && sql_get_int(s, 1) == request) {
			assert_int_equal(turned, 1);
			assert_int_equal(row_range_int(one, LEG_ROW_LEG), sql_get_int(s, 0));
		}
		sql_reset(s);
	}
	assert_int_equal(row_range_goto(&one, b, LEGS + 1, &err), ERR_DAMAGED);
	sql_end(s);
	row_range_free(r);
	row_range_free(one);
	row_book_close(b);
}

/* --- the index of names --- */

struct seen {
	int64_t request; /* that is looked for */
	unsigned calls;
	bool found;
};

static void see(void *ctx, int64_t from, int64_t to)
{
	struct seen *s = ctx;
	assert_int_equal(to - from + 1, NAMES_REQUESTS);
	s->calls++;
	s->found |= s->request >= from && s->request <= to;
}

static struct seen look(uint64_t hash, int64_t request)
{
	struct name_finder *f = NULL;
	struct seen s = {request, 0, false};
	assert_int_equal(name_finder_new(&f, c, NULL), 0);
	assert_int_equal(name_finder_find(f, hash, see, &s, NULL), 0);
	name_finder_free(f);
	return s;
}

static uint64_t hash_of(uint64_t i)
{
	return hash_bytes(&i, sizeof(i));
}

/* More than is sorted at a time, in three runs; most hashes as they come, many alike, some at both ends. */
static void index_finds(void **state)
{
	enum { NAMES = 1200000, OFTEN = 3000 };
	const uint64_t often = draw(2) ? 0 : draw(2) ? UINT64_MAX : hash_of(77);
	unsigned wrong = 0;
	(void)state;
	begin_tables();
	for (uint32_t i = 0; i < NAMES; i++) {
		uint64_t key = row_names_key(hash_of(i), i + 1);
		assert_int_equal(row_names_add(names, &key, 1, NULL), 0);
		if (i < OFTEN) { /* one id that thousands of requests share */
			key = row_names_key(often, (int64_t)i * NAMES_REQUESTS + 1);
			assert_int_equal(row_names_add(names, &key, 1, NULL), 0);
		}
	}
	end_tables();
	for (int i = 0; i < 2000; i++) {
		uint64_t at = draw(NAMES);
		assert_true(look(hash_of(at), (int64_t)at + 1).found);
		wrong += look(hash_of(NAMES + (uint64_t)i), 0).calls;
	}
	assert_true(wrong < 1000); /* one in four to eight */
	assert_true(look(hash_of(0), 1).found && look(hash_of(NAMES - 1), NAMES).found);
	for (int64_t i = 0; i < OFTEN; i += 100)
		assert_true(look(often, i * NAMES_REQUESTS + 1).found);
	assert_true(look(often, 0).calls >= OFTEN);
}

/* Without an index nothing is said to be unknown. */
static void index_is_missed(void **state)
{
	struct name_finder *f = NULL;
	struct seen s = {0, 0, false};
	struct err err = {0};
	(void)state;
	begin_tables();
	write_names(0, 10);
	end_tables();
	assert_int_equal(same("SELECT request FROM request WHERE name = 'name-7'", "SELECT 7", (struct text){NULL, 0}),
			 1);
	exec("DELETE FROM name_block");
	struct sql *q = NULL;
	assert_int_equal(sql_prepare(&q, c, "SELECT request FROM request WHERE name = 'name-7'", &err), 0);
	assert_int_equal(sql_step(q, &err), ERR_DAMAGED);
	sql_end(q);
	/* any other bytes in its place: refused, or read to their end */
	exec("INSERT INTO name_block VALUES(0, zeroblob(40))");
	for (int i = 0; i < 3000; i++) {
		char bytes[200];
		size_t n = draw(sizeof(bytes));
		for (size_t k = 0; k < n; k++)
			bytes[k] = (char)(k == 2 ? 0 : k < 2 ? draw(40) : draw(256));
		assert_int_equal(sql_prepare(&q, c, "UPDATE name_block SET data = ?1", &err), 0);
		assert_int_equal(sql_blob(q, 1, (struct text){bytes, n}, &err), 0);
		assert_int_equal(sql_run(q, &err), 0);
		sql_end(q);
		assert_int_equal(name_finder_new(&f, c, NULL), 0);
		int r = name_finder_find(f, hash_of(draw(9)), see, &s, NULL);
		assert_true(!r || r == ERR_DAMAGED);
		name_finder_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(round_trips, setup, teardown),
	    cmocka_unit_test_setup_teardown(refuses, setup, teardown),
	    cmocka_unit_test_setup_teardown(compares, setup, teardown),
	    cmocka_unit_test_setup_teardown(damaged, setup, teardown),
	    cmocka_unit_test_setup_teardown(ranges, setup, teardown),
	    cmocka_unit_test_setup_teardown(index_finds, setup, teardown),
	    cmocka_unit_test_setup_teardown(index_is_missed, setup, teardown),
	};
	return cmocka_run_group_tests_name("row_tables", tests, NULL, NULL);
}
