/* SPDX-License-Identifier: Apache-2.0 */
/* test_resolve_random.c - whatever the events say, resolving succeeds, does not depend on file order, and keeps tenants
 * apart
 *
 * Ids, times and workers come from tiny alphabets, so that everything collides with everything.
 */
#include "../rounds.h"
#include "resolve_fixture.h"

enum { SOURCES = 5, EVENTS = 70 };

static uint64_t seed;

static unsigned pick(unsigned n)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(seed >> 33) % n;
}

static void add_text(char *line, const char *name, const char *prefix, unsigned n)
{
	if (pick(3))
		sprintf(line + strlen(line), " %s=%s%u", name, prefix, pick(n));
}

static void add_number(char *line, const char *name, unsigned n)
{
	if (pick(2))
		sprintf(line + strlen(line), " %s=%u", name, pick(n));
}

static const char *const whats[EVENT_KINDS][8] = {
    {"start", "args", "pool", "ready", "snapshot", "stop", "odd", "pool"},
    {"received", "finished", "rejected", "truncated", "aborted", "failed", "retracted", "finished"},
    {"started", "finished", "prefill_error", "decode_error", "retry", "error", "access", "access"},
    {"boot", "alloc", "write", "recv", "send", "read", "free", "reset"},
    {"prefill", "decode", "prefill", "decode", "prefill", "decode", "prefill", "decode"},
    {"stored", "removed", "cleared", "stored", "removed", "stored", "removed", "stored"},
};

static void random_event(int64_t src)
{
	static const char *const workers[] = {
	    "", "", "", " worker=/dp0", " worker=/dp1", " worker=w0", " worker=w1/dp0"};
	static const char *const roles[] = {"", " role=prefill", " role=decode", " role=unified"};
	enum event_kind kind = (enum event_kind)pick(EVENT_KINDS);
	char line[512];
	sprintf(line, "%s%s=%s%s", pick(3) ? "" : "naive ", kind == EVENT_PAGE ? "op" : "what", whats[kind][pick(8)],
		workers[pick(ARRAY_SIZE(workers))]);
	if (kind == EVENT_LEG || kind == EVENT_BOOT)
		strcat(line, roles[pick(ARRAY_SIZE(roles))]);
	if (kind == EVENT_LEG || kind == EVENT_PAGE) {
		add_text(line, "rid", pick(3) ? "r" : "chatcmpl-r", 4);
		add_text(line, "room", "", 4);
	}
	if (kind == EVENT_PAGE)
		add_number(line, "seq", 20);
	if (kind == EVENT_GATEWAY) {
		add_text(line, "gateway_id", "g", 3);
		add_text(line, "response_id", "r", 4);
		add_text(line, "trace_id", "t", 2);
		add_text(line, "tenant", "tenant-", 2);
		add_text(line, "room", "", 4);
		add_number(line, "prompt_tokens", 3);
		add_number(line, "status", 600);
		add_number(line, "bytes_sent", 2);
		add_number(line, "batch", 3);
	}
	if (kind == EVENT_LEG) {
		add_number(line, "input_tokens", 3);
		add_number(line, "limit_tokens", 3);
		add_number(line, "output_tokens", 3);
		add_number(line, "status", 600);
	}
	if (kind == EVENT_LEG || kind == EVENT_GATEWAY) {
		add_number(line, "started_ns", 400);
		add_number(line, "finished_ns", 400);
	}
	if (kind == EVENT_BOOT) {
		add_number(line, "pool_tokens", 900);
		add_number(line, "context_len", 900);
		add_number(line, "dp_size", 3);
	}
	put(src, kind, pick(8) ? (double)pick(400) * (pick(9) ? 1 : 100) : NAN, line);
}

/* What a prefix cache says has no page and no request in it: no answer may depend on it. */
static void cache_events(int64_t src)
{
	static const char *const specs[] = {
	    "what=stored seq=3 at=0 block=00000000000000aa block_size=16 tokens=16 rank=1",
	    "what=removed seq=9 at=0 block=00000000000000aa worker=w1", "what=cleared seq=0 at=0 worker=/dp1"};
	for (size_t i = 0; i < ARRAY_SIZE(specs); i++)
		put(src, EVENT_CACHE, (double)pick(400), specs[i]);
}

static void build(const int *order, uint64_t start, bool cache)
{
	static const char *const paths[SOURCES] = {"a.log", "b.log", "c.jsonl", "d.jsonl", "e.log"};
	static const char *const workers[SOURCES] = {"w0", "10.0.0.1:1", NULL, "w1", "w0"};
	int64_t ids[SOURCES];
	for (int i = 0; i < SOURCES; i++)
		ids[order[i]] =
		    source(paths[order[i]], workers[order[i]], order[i] == 1 ? "worker_alias = 'w1'" : NULL);
	seed = start;
	for (int i = 0; i < EVENTS; i++)
		random_event(ids[pick(SOURCES)]);
	for (int i = 0; cache && i < SOURCES; i++)
		cache_events(ids[i]);
	resolve();
}

static const char *const tables[] = {
    "SELECT request, name, tenant, model, first_ns, last_ns, conflict FROM request ORDER BY request",
    "SELECT leg, request, attempt, worker, boot, role, rid, room, started_ns, finished_ns, input_tokens, "
    "rejected_tokens, "
    "output_tokens, outcome, status, json_array_length(refs) FROM leg ORDER BY leg",
    "SELECT response, request, attempts, status, prompt_tokens, prompt_tokens_flag, delivered, delivered_basis, "
    "started_ns FROM "
    "response ORDER BY response",
    "SELECT request, kind, value, worker, rule FROM alias ORDER BY 1, 2, 3, 4, 5",
    "SELECT boot, worker, started_ns, ended_ns, context_len, pool_tokens, input_limit, input_limit_basis FROM boot",
    "SELECT worker, name, role, first_ns, last_ns FROM worker ORDER BY worker",
    "SELECT kind, worker, from_ns, to_ns, missing, effect FROM gap ORDER BY gap",
    "SELECT path, offset_ns, bound_ns, clock.basis FROM clock JOIN source USING(source) ORDER BY path",
};

static void test_random(void **state)
{
	static const int orders[3][SOURCES] = {{0, 1, 2, 3, 4}, {3, 0, 4, 2, 1}, {0, 1, 2, 3, 4}};
	static char first[ARRAY_SIZE(tables)][16384];
	for (int round = 0; round < (int)rounds(60, 15); round++)
		for (int o = 0; o < 3; o++) {
			if (round || o) {
				assert_int_equal(fixture_teardown(state), 0);
				assert_int_equal(fixture_setup(state), 0);
			}
			build(orders[o], (uint64_t)round * 977 + 5, o == 2);
			assert_string_equal(rows("PRAGMA foreign_key_check"), "");
			assert_string_equal(rows("SELECT request FROM leg GROUP BY leg HAVING count(*) <> 1"), "");
			assert_string_equal(rows("SELECT 1 FROM boot WHERE ended_ns < started_ns"), "");
			assert_string_equal(rows("SELECT 1 FROM response GROUP BY request HAVING count(*) > 1"), "");
			for (size_t t = 0; t < ARRAY_SIZE(tables); t++) {
				if (!o)
					snprintf(first[t], sizeof(first[t]), "%s", rows(tables[t]));
				else if (strcmp(first[t], rows(tables[t])))
					fail_msg("round %d, table %zu:\n%s\n%s", round, t, first[t], rows(tables[t]));
			}
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_random, fixture_setup, fixture_teardown)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
