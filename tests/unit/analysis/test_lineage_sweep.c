/* SPDX-License-Identifier: Apache-2.0 */
/* test_lineage_sweep.c - the sweep against the same answer in plain SQL, and the spoken cases one by one
 *
 * The oracle explodes pages into rows and asks with window functions and correlated subqueries; it shares no code and
 * no data structure with the sweep. Thousands of small random logs; the seed is printed, PAGETRAIL_SEED repeats one.
 */
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../src/analysis/lineage_order.h"

enum { PAGES = 10, ACTORS = 5, POOLS = 2, OPS = 60 };

/* ---- the oracle ---- */
static const char schema[] =
    "CREATE TABLE op(no INTEGER PRIMARY KEY, pool INT, op TEXT, actor INT, content INT, decode INT);"
    "CREATE TABLE pg(no INT, page INT, PRIMARY KEY(no, page));"
    "CREATE TABLE hole(no INT);"
    "CREATE VIEW x AS SELECT op.*, pg.page, (SELECT max(r.no) FROM op r WHERE r.pool = op.pool AND r.op IN "
    "('boot','reset') "
    "  AND r.no <= op.no) AS seg FROM op JOIN pg USING(no);";

/* What is asked step by step: e = every page touched, with its boot; owned = +1 and -1; ends = where a hold ended. */
static const char oracle[] =
    "WITH e AS MATERIALIZED (SELECT no, pool, op, actor, content, decode, page, coalesce(seg, 0) AS seg FROM x),"
    "allocs AS MATERIALIZED (SELECT * FROM e WHERE op = 'alloc'),"
    "frees AS MATERIALIZED (SELECT f.*, EXISTS(SELECT 1 FROM allocs a WHERE a.pool = f.pool AND a.seg = f.seg AND "
    "a.page = f.page"
    "  AND a.actor = f.actor AND a.no < f.no AND NOT EXISTS(SELECT 1 FROM e g WHERE g.op = 'free' AND g.pool = f.pool "
    "AND"
    "  g.seg = f.seg AND g.page = f.page AND g.actor = f.actor AND g.no > a.no AND g.no < f.no)) AS own FROM e f WHERE "
    "op = 'free'),"
    "delta AS (SELECT no, pool, seg, actor, count(*) AS d, 0 AS free FROM allocs GROUP BY no"
    "  UNION ALL SELECT no, pool, seg, actor, -sum(own), 1 FROM frees GROUP BY no),"
    "run AS (SELECT *, sum(d) OVER (PARTITION BY pool, seg, actor ORDER BY no ROWS UNBOUNDED PRECEDING) AS owned FROM "
    "delta),"
    "ends AS MATERIALIZED (SELECT no, pool, actor FROM run WHERE free AND owned = 0"
    "  UNION ALL SELECT r.no, r.pool, a.actor FROM op r, (SELECT DISTINCT actor FROM op) a WHERE r.op IN ('boot', "
    "'reset')),"
    "takes AS MATERIALIZED (SELECT DISTINCT t.no, t.pool, t.actor, (SELECT count(*) FROM ends WHERE ends.pool = t.pool "
    "AND"
    "  ends.actor = t.actor AND ends.no < t.no) AS life FROM e t WHERE op IN ('alloc', 'share')),"
    "shares AS MATERIALIZED (SELECT s.no, s.pool, s.seg, s.actor, s.page, min("
    "  coalesce((SELECT min(f.no) FROM e f WHERE f.op = 'free' AND f.actor = s.actor AND f.pool = s.pool AND f.page = "
    "s.page"
    "   AND f.no > s.no), 1e9),"
    "  coalesce((SELECT min(n.no) FROM ends n WHERE n.actor = s.actor AND n.pool = s.pool AND n.no > s.no), 1e9)) AS "
    "until"
    "  FROM e s WHERE op = 'share'),"
    "holds AS (SELECT a.no, a.pool, a.seg, a.actor, a.page, min("
    "  coalesce((SELECT min(f.no) FROM e f WHERE f.op = 'free' AND (f.actor = a.actor OR f.actor = 0) AND f.pool = "
    "a.pool AND"
    "   f.page = a.page AND f.no > a.no), 1e9),"
    "  coalesce((SELECT min(n.no) FROM e n WHERE n.op = 'alloc' AND n.pool = a.pool AND n.page = a.page AND n.no > "
    "a.no), 1e9)"
    "  ) AS until FROM allocs a"
    "  UNION ALL SELECT no, pool, seg, actor, page, until FROM shares),"
    "reads AS (SELECT no, pool, seg, actor, page FROM e WHERE op = 'read' AND NOT ?1"
    "  UNION SELECT w.no, w.pool, coalesce((SELECT max(r.no) FROM op r WHERE r.pool = w.pool AND r.op IN ('boot', "
    "'reset') AND"
    "   r.no < w.no), 0), w.actor, h.page FROM op w JOIN holds h ON h.pool = w.pool AND h.actor = w.actor AND h.no < "
    "w.no AND"
    "   h.until > w.no WHERE ?1 AND w.op = 'write' AND w.decode AND h.seg = coalesce((SELECT max(r.no) FROM op r WHERE"
    "   r.pool = w.pool AND r.op IN ('boot', 'reset') AND r.no < w.no), 0)),"
    "at AS (SELECT r.*,"
    "  (SELECT max(w.no) FROM e w WHERE w.op IN ('write', 'recv', 'zero') AND w.pool = r.pool AND w.seg = r.seg AND"
    "   w.page = r.page AND w.no <= r.no) AS w_no,"
    "  (SELECT max(a.no) FROM allocs a WHERE a.pool = r.pool AND a.seg = r.seg AND a.page = r.page AND a.no < r.no) AS "
    "a_no,"
    "  (SELECT max(s.no) FROM shares s WHERE s.pool = r.pool AND s.seg = r.seg AND s.page = r.page AND s.actor = "
    "r.actor AND"
    "   s.no < r.no AND s.until > r.no) AS s_no,"
    "  (SELECT min(t.no) FROM takes t WHERE t.pool = r.pool AND t.actor = r.actor AND t.no < r.no AND t.life = (SELECT "
    "max(u.life)"
    "   FROM takes u WHERE u.pool = r.pool AND u.actor = r.actor AND u.no < r.no)) AS first_no,"
    "  coalesce((SELECT max(no) FROM hole WHERE no <= r.no AND no > r.seg), 0) AS hole_no FROM reads r),"
    "own AS (SELECT at.*, (SELECT max(a.no) FROM allocs a WHERE a.pool = at.pool AND a.seg = at.seg AND a.page = "
    "at.page "
    "AND"
    "   a.actor = at.actor AND a.no < at.no AND (a.no = at.a_no OR NOT EXISTS (SELECT 1 FROM ends n WHERE n.pool = "
    "a.pool "
    "AND"
    "   n.actor = a.actor AND n.no > a.no AND n.no < at.no))) AS own_no FROM at),"
    "named AS (SELECT at.*, w.op AS w_op, CASE WHEN w.op <> 'zero' THEN w.content END AS writer, a.actor AS allocator"
    "  FROM own at LEFT JOIN op w ON w.no = at.w_no LEFT JOIN op a ON a.no = at.a_no),"
    "judged AS (SELECT *, CASE"
    "  WHEN writer = actor THEN NULL"
    "  WHEN w_no IS NULL AND seg = 0 THEN NULL"
    "  WHEN writer IS NULL THEN 'uninitialised'"
    "  WHEN s_no IS NOT NULL AND (w_no < s_no OR (allocator = writer AND a_no < s_no)) THEN 'shared'"
    "  WHEN s_no IS NOT NULL THEN 'late_write'"
    "  WHEN w_no > coalesce(own_no, first_no) THEN 'late_write'"
    "  ELSE 'stale' END AS first_kind,"
    "  hole_no <= max(CASE WHEN writer IS NULL THEN 0 ELSE w_no END, coalesce(own_no, 0)) "
    "AS sure"
    "  FROM named),"
    "final AS (SELECT pool, actor, coalesce(writer, 0) AS owner, page, no, CASE WHEN first_kind IN ('stale', "
    "'uninitialised') AND"
    "  (SELECT min(w.no) FROM e w WHERE w.op IN ('write', 'recv') AND w.content = j.actor AND w.pool = j.pool AND "
    "w.seg = j.seg"
    "   AND w.page = j.page AND w.no > j.no) <"
    "  coalesce((SELECT min(f.no) FROM e f WHERE f.op = 'free' AND f.actor IN (0, j.actor) AND f.pool = j.pool AND "
    "f.seg = j.seg"
    "   AND f.page = j.page AND f.no > j.no), 1e9) THEN 'not_ready' ELSE first_kind END AS kind,"
    "  CASE first_kind WHEN 'shared' THEN 1 ELSE sure END AS sure FROM judged j WHERE first_kind IS NOT NULL)"
    "SELECT pool, actor, owner, kind, count(DISTINCT page), max(sure), min(no) FROM final GROUP BY 1, 2, 3, 4 ORDER BY "
    "1, 2, 3, 4";

/* ---- a random log ---- */
struct op {
	enum page_op op;
	uint32_t pool, actor, content;
	bool decode, hole;
	unsigned pages; /* bit set */
};

static uint64_t rng;
static unsigned pick(unsigned n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (unsigned)((rng >> 11) % n);
}

struct world {
	uint32_t owner[POOLS][PAGES];
	bool attached[POOLS][ACTORS * POOLS + 1][PAGES];
};

static unsigned some(unsigned of)
{
	unsigned set = 0;
	for (unsigned i = 0; i < PAGES; i++)
		if ((of >> i & 1) && pick(3))
			set |= 1u << i;
	return set ? set : of;
}

static unsigned owned_by(const struct world *w, uint32_t pool, uint32_t actor)
{
	unsigned set = 0;
	for (unsigned i = 0; i < PAGES; i++)
		if (w->owner[pool][i] == actor)
			set |= 1u << i;
	return set;
}

static unsigned attached_to(const struct world *w, uint32_t pool, uint32_t actor)
{
	unsigned set = 0;
	for (unsigned i = 0; i < PAGES; i++)
		if (w->attached[pool][actor][i])
			set |= 1u << i;
	return set;
}

/* An allocator that keeps its books, and requests that do not: they read and write what is not theirs. */
static struct op random_op(struct world *w, bool implied)
{
	struct op o = {.pool = pick(POOLS), .hole = !pick(25)};
	o.actor = 1 + o.pool * ACTORS + pick(ACTORS);
	unsigned own = owned_by(w, o.pool, o.actor), shared = attached_to(w, o.pool, o.actor);
	unsigned unowned = owned_by(w, o.pool, 0), any = 1u << pick(PAGES);
	static const enum page_op mix[] = {OP_ALLOC, OP_ALLOC, OP_ALLOC, OP_WRITE, OP_WRITE, OP_WRITE,
					   OP_RECV,  OP_RECV,  OP_READ,  OP_READ,  OP_READ,  OP_FREE,
					   OP_FREE,  OP_SHARE, OP_ZERO,  OP_SEND};
	o.op = pick(40) ? mix[pick(ARRAY_SIZE(mix))] : OP_RESET;
	o.content = o.actor;
	switch (o.op) {
	case OP_ALLOC: o.pages = unowned ? some(unowned) : 0; break;
	case OP_WRITE:
		o.decode = pick(4) > 0;
		o.pages = own && pick(6) ? some(own) : any;
		break;
	case OP_RECV:
		o.pages = own && pick(6) ? some(own) : any;
		if (!pick(5))
			o.content = 1 + o.pool * ACTORS + pick(ACTORS);
		break;
	case OP_READ: o.pages = (own | shared) && pick(8) ? some(own | shared) : any; break;
	case OP_SHARE: o.pages = some(((1u << PAGES) - 1) & ~own & ~unowned); break;
	case OP_FREE: o.pages = own && pick(5) ? some(own) : shared ? some(shared) : own; break;
	case OP_ZERO:
	case OP_SEND: o.pages = any; break;
	default: o.actor = o.content = 0;
	}
	if (implied && o.op == OP_READ)
		o.op = OP_SEND;
	for (unsigned i = 0; i < PAGES; i++) {
		if (o.op == OP_RESET || ((o.pages >> i & 1) && o.op == OP_FREE && w->owner[o.pool][i] == o.actor))
			w->owner[o.pool][i] = 0;
		if ((o.pages >> i & 1) && o.op == OP_ALLOC)
			w->owner[o.pool][i] = o.actor;
		if ((o.pages >> i & 1) && (o.op == OP_SHARE || o.op == OP_FREE))
			w->attached[o.pool][o.actor][i] = o.op == OP_SHARE;
	}
	if (o.op == OP_RESET)
		memset(w->attached[o.pool], 0, sizeof(w->attached[o.pool]));
	if (o.op == OP_FREE && !owned_by(w, o.pool, o.actor))
		memset(w->attached[o.pool][o.actor], 0, sizeof(w->attached[o.pool][o.actor]));
	return o;
}

/* ---- both answers as text ---- */
static void answer_add(char *to, size_t size, unsigned pool, unsigned reader, unsigned owner, const char *kind,
		       long pages, int sure, long first)
{
	size_t n = strlen(to);
	snprintf(to + n, size - n, "%u %u<-%u %s pages=%ld sure=%d first=%ld\n", pool, reader, owner, kind, pages, sure,
		 first);
}

static int edge_cmp(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	if (x->pool != y->pool)
		return x->pool < y->pool ? -1 : 1;
	if (x->reader != y->reader)
		return x->reader < y->reader ? -1 : 1;
	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return strcmp(edge_kind_names[x->kind], edge_kind_names[y->kind]);
}

static void sweep_answer(const struct op *ops, unsigned n, bool implied, char *to, size_t size)
{
	struct sweep *s;
	struct err err = {0};
	assert_int_equal(sweep_new(&s, implied, &err), 0);
	for (unsigned i = 0; i < n; i++) {
		struct page_run runs[PAGES];
		unsigned n_runs = 0;
		for (unsigned p = 0; p < PAGES; p++)
			if (ops[i].pages >> p & 1) {
				if (n_runs && runs[n_runs - 1].first + runs[n_runs - 1].count == p)
					runs[n_runs - 1].count++;
				else
					runs[n_runs++] = (struct page_run){p, 1};
			}
		struct sweep_op op = {.op = ops[i].op,
				      .pool = ops[i].pool,
				      .actor = ops[i].actor,
				      .content = ops[i].content,
				      .decode_write = ops[i].decode ? STEP_YES : STEP_NO,
				      .runs = runs,
				      .n_runs = n_runs,
				      .at = {.ns = (int64_t)i, .off = i, .len = 1}};
		if (ops[i].hole)
			sweep_hole(s);
		assert_int_equal(sweep_add(s, &op, &err), 0);
	}
	assert_int_equal(sweep_end(s, &err), 0);
	size_t n_edges;
	struct edge *e = sweep_edges(s, &n_edges);
	if (n_edges)
		qsort(e, n_edges, sizeof(*e), edge_cmp);
	for (size_t i = 0; i < n_edges; i++)
		answer_add(to, size, e[i].pool, e[i].reader, e[i].owner, edge_kind_names[e[i].kind],
			   (long)runset_pages(&e[i].pages), e[i].certain, (long)e[i].first_no);
	sweep_free(s);
}

struct oracle_db {
	sqlite3 *db;
	sqlite3_stmt *op, *page, *hole, *ask;
};

static void must(struct oracle_db *o, int rc)
{
	if (rc != SQLITE_OK && rc != SQLITE_DONE && rc != SQLITE_ROW)
		fail_msg("%s", sqlite3_errmsg(o->db));
}

static void run(struct oracle_db *o, sqlite3_stmt *s, int n, const int *v)
{
	for (int i = 0; i < n; i++)
		must(o, sqlite3_bind_int(s, i + 1, v[i]));
	must(o, sqlite3_step(s));
	must(o, sqlite3_reset(s));
}

static void oracle_answer(struct oracle_db *o, const struct op *ops, unsigned n, bool implied, char *to, size_t size)
{
	must(o, sqlite3_exec(o->db, "BEGIN; DELETE FROM op; DELETE FROM pg; DELETE FROM hole", NULL, NULL, NULL));
	for (unsigned i = 0; i < n; i++) {
		must(o, sqlite3_bind_text(o->op, 6, page_op_name(ops[i].op), -1, SQLITE_STATIC));
		run(o, o->op, 5,
		    (int[]){(int)i + 1, (int)ops[i].pool, (int)ops[i].actor, (int)ops[i].content, ops[i].decode});
		for (int p = 0; p < PAGES; p++)
			if (ops[i].pages >> p & 1)
				run(o, o->page, 2, (int[]){(int)i + 1, p});
		if (ops[i].hole)
			run(o, o->hole, 1, (int[]){(int)i + 1});
	}
	must(o, sqlite3_bind_int(o->ask, 1, implied));
	int rc;
	while ((rc = sqlite3_step(o->ask)) == SQLITE_ROW)
		answer_add(to, size, (unsigned)sqlite3_column_int(o->ask, 0), (unsigned)sqlite3_column_int(o->ask, 1),
			   (unsigned)sqlite3_column_int(o->ask, 2), (const char *)sqlite3_column_text(o->ask, 3),
			   (long)sqlite3_column_int(o->ask, 4), sqlite3_column_int(o->ask, 5),
			   (long)sqlite3_column_int(o->ask, 6));
	must(o, rc);
	must(o, sqlite3_reset(o->ask));
	must(o, sqlite3_exec(o->db, "COMMIT", NULL, NULL, NULL));
}

static void print_log(const struct op *ops, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		print_message("%s%u pool %u %s actor %u content %u%s pages", ops[i].hole ? "HOLE " : "", i + 1,
			      ops[i].pool, page_op_name(ops[i].op), ops[i].actor, ops[i].content,
			      ops[i].decode ? " decode" : "");
		for (unsigned p = 0; p < PAGES; p++)
			if (ops[i].pages >> p & 1)
				print_message(" %u", p);
		print_message("\n");
	}
}

static void test_oracle(void **state)
{
	(void)state;
	struct oracle_db o = {0};
	const char *seed = getenv("PAGETRAIL_SEED"), *times = getenv("PAGETRAIL_LOGS");
	uint64_t from = seed ? strtoull(seed, NULL, 10) : 20261201;
	unsigned logs = times ? (unsigned)strtoul(times, NULL, 10) : 2000;
	must(&o, sqlite3_open(":memory:", &o.db));
	must(&o, sqlite3_exec(o.db, schema, NULL, NULL, NULL));
	must(&o,
	     sqlite3_prepare_v2(o.db, "INSERT INTO op(no, pool, actor, content, decode, op) VALUES(?, ?, ?, ?, ?, ?)",
				-1, &o.op, NULL));
	must(&o, sqlite3_prepare_v2(o.db, "INSERT INTO pg VALUES(?, ?)", -1, &o.page, NULL));
	must(&o, sqlite3_prepare_v2(o.db, "INSERT INTO hole VALUES(?)", -1, &o.hole, NULL));
	must(&o, sqlite3_prepare_v2(o.db, oracle, -1, &o.ask, NULL));
	print_message("# seed %llu, %u logs\n", (unsigned long long)from, logs);
	unsigned kinds = 0;
	for (unsigned i = 0; i < logs; i++) {
		rng = (from + i) * UINT64_C(0x9e3779b97f4a7c15) + 1;
		struct world w = {0};
		struct op ops[OPS];
		bool implied = (from + i) & 1; /* a seed alone repeats its log */
		unsigned n = 5 + pick(OPS - 5);
		char ours[16384] = "", theirs[16384] = "";
		for (unsigned k = 0; k < n; k++)
			ops[k] = random_op(&w, implied);
		if (pick(3)) /* mostly the log begins with its boot */
			for (unsigned k = 0; k < POOLS; k++)
				ops[k] = (struct op){.op = OP_BOOT, .pool = k};
		if (ops[0].op == OP_BOOT) { /* what was drawn for these never happened: draw again behind them */
			memset(&w, 0, sizeof(w));
			for (unsigned k = POOLS; k < n; k++)
				ops[k] = random_op(&w, implied);
		}
		sweep_answer(ops, n, implied, ours, sizeof(ours));
		oracle_answer(&o, ops, n, implied, theirs, sizeof(theirs));
		for (unsigned k = 0; k < EDGE_KINDS; k++)
			if (strstr(ours, edge_kind_names[k]))
				kinds |= 1u << k;
		if (strcmp(ours, theirs) != 0) {
			print_log(ops, n);
			fail_msg("seed %llu%s: the sweep says\n%sSQL says\n%s", (unsigned long long)(from + i),
				 implied ? " (log without reads)" : "", ours, theirs);
		}
	}
	if (logs > 100)
		assert_int_equal(kinds, (1u << EDGE_KINDS) - 1);
	sqlite3_finalize(o.op);
	sqlite3_finalize(o.page);
	sqlite3_finalize(o.hole);
	sqlite3_finalize(o.ask);
	sqlite3_close(o.db);
}

/* ---- hostile and odd logs ---- */
static struct edge *sweep_ops(struct sweep *s, const struct sweep_op *ops, size_t n, size_t *ret_n)
{
	struct err err = {0};
	for (size_t i = 0; i < n; i++)
		assert_int_equal(sweep_add(s, &ops[i], &err), 0);
	assert_int_equal(sweep_end(s, &err), 0);
	return sweep_edges(s, ret_n);
}

#define PAGES_AT(first, count) .runs = (const struct page_run[]){{first, count}}, .n_runs = 1

static void test_bounds(void **state)
{
	(void)state;
	struct sweep *s;
	size_t n;
	const struct sweep_op ops[] = {
	    {.op = OP_ALLOC,
	     .actor = 1,
	     .content = 1,
	     PAGES_AT(POOL_MAX_PAGES - 1, 1)}, /* no boot: the last page there can be */
	    {.op = OP_RESET},
	    {.op = OP_ALLOC, .actor = 1, .content = 1, PAGES_AT(UINT32_MAX, UINT32_MAX)},
	    {.op = OP_READ, .actor = 1, .content = 1, PAGES_AT(POOL_MAX_PAGES, 1)},
	    {.op = OP_BOOT, .pool_pages = 8, .page_size = 16},
	    {.op = OP_WRITE, .actor = 1, .content = 1, PAGES_AT(6, 4)}, /* beyond the pool: not a page */
	    {.op = OP_WRITE, .actor = 1, .content = 1, PAGES_AT(7, 1)},
	    {.op = OP_ALLOC, .actor = 2, .content = 2, PAGES_AT(0, 8)},
	    {.op = OP_READ, .actor = 2, .content = 2, PAGES_AT(6, 2)},
	    {.op = OP_READ, .actor = 2, .content = 2, .pool = 5000, PAGES_AT(6, 2)},
	    {.op = OP_READ, PAGES_AT(6, 2)}, /* nobody */
	};
	assert_int_equal(sweep_new(&s, false, NULL), 0);
	struct edge *e = sweep_ops(s, ops, ARRAY_SIZE(ops), &n);
	assert_int_equal(n, 2);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(runset_pages(&e[i].pages), 1);
		assert_int_equal(e[i].page_size, 16);
		assert_int_equal(e[i].owner, e[i].kind == EDGE_STALE ? 1 : 0);
	}
	sweep_free(s);
}

/* The reader's alloc is its own of that page, also after another took the page away. */
static void test_taken(void **state)
{
	(void)state;
	struct sweep *s;
	size_t n;
#define DO(what, who, first, count)                                                                 \
	{                                                                                           \
		.op = what, .actor = who, .content = who, PAGES_AT(first, count), .at = {.len = 1 } \
	}
	const struct sweep_op ops[] = {
	    {.op = OP_RESET},     DO(OP_ALLOC, 2, 1, 1), DO(OP_ALLOC, 1, 8, 4), DO(OP_WRITE, 1, 8, 4),
	    DO(OP_FREE, 1, 8, 4), DO(OP_ALLOC, 2, 8, 4), DO(OP_ALLOC, 3, 9, 2), DO(OP_ALLOC, 4, 9, 1),
	    DO(OP_READ, 2, 8, 4), DO(OP_WRITE, 1, 9, 1), DO(OP_READ, 2, 8, 4),
	};
	assert_int_equal(sweep_new(&s, false, NULL), 0);
	struct edge *e = sweep_ops(s, ops, ARRAY_SIZE(ops), &n);
	assert_int_equal(n, 2);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(e[i].kind == EDGE_STALE ? 4 : 1, runset_pages(&e[i].pages));
		assert_true(e[i].kind == EDGE_STALE || e[i].kind == EDGE_LATE_WRITE);
		assert_int_equal(e[i].alloc.no, 6);
	}
	sweep_free(s);
}

/* A write that may be a decode step is one after a transfer, or where the beginning was left unfilled. */
static void test_untold(void **state)
{
	(void)state;
	for (int way = 0; way < 4; way++) {
		struct sweep *s;
		size_t n;
		struct err err = {0};
		const struct sweep_op before[] = {
		    {.op = OP_RESET},     DO(OP_ALLOC, 1, 0, 8), DO(OP_WRITE, 1, 0, 8),
		    DO(OP_FREE, 1, 0, 8), DO(OP_ALLOC, 2, 0, 8),
		};
		const struct sweep_op recv = DO(OP_RECV, 2, 0, 1);
		struct sweep_op last = DO(OP_WRITE, 2, way == 2 ? 7 : 0, way == 2 ? 1 : way == 3 ? 8 : 7);
		last.decode_write = STEP_UNTOLD;
		assert_int_equal(sweep_new(&s, true, NULL), 0);
		for (size_t i = 0; i < ARRAY_SIZE(before); i++)
			assert_int_equal(sweep_add(s, &before[i], &err), 0);
		if (way == 1)
			assert_int_equal(sweep_add(s, &recv, &err), 0);
		(void)sweep_ops(s, &last, 1, &n);
		const struct cover *c = sweep_cover(s, 2);
		assert_int_equal(n, way == 1 || way == 2); /* foreign reads */
		assert_int_equal(c->untold, way == 0);     /* or perhaps one */
		assert_int_equal(c->read, way == 1 || way == 2);
		sweep_free(s);
	}
}

/* Swept as stretches of pages: the same edges, however many pages a run names. */
static void test_stretches(void **state)
{
	enum { N = 400 };
	static struct page_run runs[N][2];
	static struct sweep_op ops[N];
	static const enum page_op kinds[] = {OP_ALLOC, OP_WRITE, OP_READ, OP_READ, OP_FREE, OP_SHARE, OP_ZERO};
	(void)state;
	for (unsigned scale = 1; scale <= 500000; scale *= 500000) {
		struct records all = {.limit = MIB};
		struct sweep *by_page = NULL, *by_run = NULL;
		struct err err = {0};
		uint32_t *bounds;
		size_t n_bounds, n, m;
		rng = 7;
		for (unsigned i = 0; i < N; i++) {
			for (unsigned k = 0; k < 2; k++)
				runs[i][k] = (struct page_run){(k * 60 + pick(30)) * scale, (1 + pick(20)) * scale};
			uint32_t actor = 1 + pick(5);
			ops[i] = (struct sweep_op){.op = i ? kinds[pick(7)] : OP_RESET,
						   .actor = actor,
						   .content = actor,
						   .runs = runs[i],
						   .n_runs = 1 + pick(2),
						   .at = {.ns = i, .off = i, .len = 1}};
			struct record rec = {.runs = ops[i].runs, .n_runs = ops[i].n_runs};
			assert_int_equal(order_add(&all, &rec, &err), 0);
		}
		assert_int_equal(order_bounds(&all, &bounds, &n_bounds, &err), 0);
		order_done(&all);
		assert_true(n_bounds < 200);
		assert_int_equal(sweep_new(&by_run, false, &err), 0);
		sweep_by_runs(by_run, bounds, n_bounds);
		struct edge *b = sweep_ops(by_run, ops, N, &m);
		assert_true(m > 30);
		if (scale == 1) {
			assert_int_equal(sweep_new(&by_page, false, &err), 0);
			struct edge *a = sweep_ops(by_page, ops, N, &n);
			assert_int_equal(n, m);
			for (size_t i = 0; i < n; i++) {
				assert_true(a[i].reader == b[i].reader && a[i].owner == b[i].owner &&
					    a[i].kind == b[i].kind && a[i].certain == b[i].certain &&
					    a[i].first_ns == b[i].first_ns);
				assert_int_equal(a[i].pages.n, b[i].pages.n);
				assert_memory_equal(a[i].pages.runs, b[i].pages.runs,
						    a[i].pages.n * sizeof(*a[i].pages.runs));
			}
		}
		sweep_free(by_page);
		sweep_free(by_run);
	}
}

/* Records that have to be sorted take no more than they are allowed. */
static void test_sort_limit(void **state)
{
	struct page_run runs[100] = {{1, 1}};
	struct record rec = {.runs = runs, .n_runs = 100};
	struct err err = {0};
	(void)state;
	struct records all = {.limit = 10 * (sizeof(rec) + sizeof(runs))};
	for (int i = 0; i < 10; i++)
		assert_int_equal(order_add(&all, &rec, &err), 0);
	assert_int_equal(order_add(&all, &rec, &err), ERR_LIMIT);
	assert_non_null(strstr(err.what, "not in order"));
	assert_int_equal(all.n, 10);
	order_done(&all);
}

/* Complete: from alloc to free, nothing lost since boot. */
static void test_cover(void **state)
{
	(void)state;
	struct sweep *s;
	struct err err = {0};
	size_t n;
	const struct sweep_op alloc = {.op = OP_ALLOC, .actor = 1, .content = 1, PAGES_AT(0, 4)};
	const struct sweep_op half = {.op = OP_FREE, .actor = 1, .content = 1, PAGES_AT(0, 2)};
	const struct sweep_op rest = {.op = OP_FREE, .actor = 1, .content = 1, PAGES_AT(2, 2)};
	const struct sweep_op boot = {.op = OP_BOOT};
	for (int way = 0; way < 5; way++) {
		assert_int_equal(sweep_new(&s, false, NULL), 0);
		assert_int_equal(way == 1 ? 0 : sweep_add(s, &boot, &err), 0); /* 1: the log begins without a boot */
		if (way == 2)
			sweep_hole(s); /* 2: before it came */
		assert_int_equal(sweep_add(s, &alloc, &err), 0);
		assert_int_equal(sweep_add(s, &half, &err), 0);
		if (way == 3)
			sweep_hole(s);                                         /* 3: while it was there */
		assert_int_equal(way == 4 ? 0 : sweep_add(s, &rest, &err), 0); /* 4: it never gave all back */
		(void)sweep_ops(s, NULL, 0, &n);
		const struct cover *c = sweep_cover(s, 1);
		assert_non_null(c);
		assert_int_equal(!c->broken && !c->open, way == 0);
		sweep_free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_oracle),    cmocka_unit_test(test_bounds),     cmocka_unit_test(test_cover),
	    cmocka_unit_test(test_stretches), cmocka_unit_test(test_sort_limit), cmocka_unit_test(test_taken),
	    cmocka_unit_test(test_untold),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
