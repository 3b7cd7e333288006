/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.c - how fast the lineage sweep is, alone: bench-sweep [EVENTS [PAGES_A_REQUEST]]
 *
 * One worker whose pool is full and worn into pieces: requests take pages from a free list, get them filled, read them, and give them back; one in a
 * thousand reads before its pages are filled. Events are made before each part of the work and not timed. Prints one JSON
 * object: page events and touches a second over CPU time of one thread, the peak memory of the process, and the reads found,
 * which must be those that were made. Not a test.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "../../src/analysis/lineage.h"

enum { POOL_PAGES = 1 << 17, RUNS_MAX = 64, OPS_EACH = 4, PART = 1024, STALE_EVERY = 1000, WEAR_ROUNDS = 2000 };

struct held {
	struct page_run runs[RUNS_MAX];
	uint32_t n, actor;
	bool stale;
};

static double cpu_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t state = 88172645463325252u;
static uint32_t below(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state % n);
}

/* Free pages as runs: taken from the end, given back at random places, so that they stay in pieces. */
static struct page_run spare[POOL_PAGES];
static uint32_t n_spare;

static void take(struct held *h, uint32_t pages)
{
	h->n = 0;
	while (pages && n_spare && h->n < RUNS_MAX) {
		struct page_run *r = &spare[n_spare - 1];
		uint32_t k = r->count < pages ? r->count : pages;
		h->runs[h->n++] = (struct page_run){r->first, k};
		r->first += k;
		r->count -= k;
		pages -= k;
		n_spare -= !r->count;
	}
}

static void give(const struct held *h)
{
	for (uint32_t i = 0; i < h->n; i++) {
		uint32_t at = below(n_spare + 1);
		spare[n_spare] = spare[at];
		spare[at] = h->runs[i];
		n_spare++;
	}
}

/* A pool is measured as it is after days: in pieces as small as they get. */
static void wear(struct held *held, uint32_t pages)
{
	for (int round = 0; round < WEAR_ROUNDS; round++) {
		for (int i = 0; i < PART; i++)
			take(&held[i], pages);
		for (int i = 0; i < PART; i++)
			give(&held[i]);
	}
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
	uint32_t pages = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 100;
	static struct held held[PART];
	struct sweep *s = NULL;
	struct err err = {0};
	uint64_t done = 0, touches = 0, made = 0;
	uint32_t actor = 0;
	double seconds = 0;
	if (!events || !pages || pages > POOL_PAGES / PART || sweep_new(&s, false, &err)) {
		fprintf(stderr, "usage: bench-sweep [EVENTS [PAGES_A_REQUEST, at most %d]] %s\n", POOL_PAGES / PART,
			err.what);
		return 2;
	}
	for (uint32_t i = 0; i < POOL_PAGES / 16; i++)
		spare[n_spare++] = (struct page_run){i * 16, 16};
	wear(held, pages);
	struct sweep_op boot = {
	    .op = OP_BOOT, .page_size = 64, .pool_pages = POOL_PAGES, .at = {.source = 1, .len = 1}};
	int rc = sweep_add(s, &boot, &err);
	while (rc == 0 && done < events) {
		for (int i = 0; i < PART; i++) {
			take(&held[i], pages);
			held[i].actor = ++actor;
			for (uint32_t r = 0; r < held[i].n; r++)
				touches += (uint64_t)OPS_EACH * held[i].runs[r].count;
			held[i].stale = actor > 4 * POOL_PAGES / pages && actor % STALE_EVERY == 0;
		}
		double from = cpu_seconds();
		for (int i = 0; rc == 0 && i < PART; i++) {
			const struct held *h = &held[i];
			static const enum page_op plain[OPS_EACH] = {OP_ALLOC, OP_RECV, OP_READ, OP_FREE};
			static const enum page_op stale[OPS_EACH] = {OP_ALLOC, OP_READ, OP_RECV, OP_FREE};
			for (int k = 0; rc == 0 && k < OPS_EACH; k++) {
				enum page_op what = h->stale ? stale[k] : plain[k];
				struct sweep_op op = {
				    .op = what,
				    .pool = 0,
				    .actor = h->actor,
				    .content = what == OP_RECV ? h->actor : 0,
				    .n_runs = h->n,
				    .runs = h->runs,
				    .tokens = pages * 64,
				    .at = {
					.ns = (int64_t)(done + 1) * 1000, .source = 1, .off = done * 100, .len = 99}};
				rc = sweep_add(s, &op, &err);
				done++;
			}
			made += h->stale;
		}
		seconds += cpu_seconds() - from;
		for (int i = 0; i < PART; i++)
			give(&held[i]);
	}
	double from = cpu_seconds();
	rc = rc ? rc : sweep_end(s, &err);
	seconds += cpu_seconds() - from;
	size_t n_edges = 0;
	const struct edge *edges = sweep_edges(s, &n_edges);
	uint64_t readers = 0;
	uint32_t last = 0;
	for (size_t i = 0; i < n_edges; i++) {
		readers += edges[i].reader != last;
		last = edges[i].reader;
	}
	struct rusage use;
	getrusage(RUSAGE_SELF, &use);
	printf("{\"events\":%" PRIu64 ",\"touches\":%" PRIu64
	       ",\"seconds\":%.3f,\"touches_per_second\":%.0f,\"peak_mib\":%.0f,"
	       "\"readers\":%" PRIu64 ",\"readers_made\":%" PRIu64 ",\"error\":\"%s\"}\n",
	       done, touches, seconds, (double)touches / seconds, (double)use.ru_maxrss / 1024, readers, made,
	       err.what);
	sweep_free(s);
	return rc || readers != made;
}
