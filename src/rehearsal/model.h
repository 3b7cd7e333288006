/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - what the parts of the rehearsal share: the fleet, its requests, its pages and its clock
 *
 * Private to this folder. Time is int64_t microseconds since 1970 UTC ("_us"): finer than any log, and integer, so that
 * every machine computes the same. The first failure (memory, disk) is kept in model.rc; everything after it does
 * nothing.
 */
#pragma once

#include <stdio.h>

#include "pagetrail/buf.h"
#include "pagetrail/err.h"
#include "pagetrail/limits.h"
#include "pagetrail/rehearsal.h"
#include "pagetrail/stamp.h"

#define US_PER_S   INT64_C(1000000)
#define US_PER_DAY (86400 * US_PER_S)
#define NONE       UINT32_MAX

enum { PAGE_TOKENS = 64, RANKS = 8, TENANTS = 40, TENANT_LAUNCH = TENANTS, TEMPLATES = 12, WORKERS_MAX = 64, RID = 48 };

struct model;

/* ---- rng.c */
struct rng {
	uint64_t s[4];
};
void rng_seed(struct rng *r, uint64_t seed);
uint64_t rng_next(struct rng *r);
uint64_t rng_below(struct rng *r, uint64_t n);            /* 0..n-1; n > 0 */
int64_t rng_range(struct rng *r, int64_t lo, int64_t hi); /* lo..hi, both included */
bool rng_chance(struct rng *r, unsigned per_mille);
int64_t rng_exp(struct rng *r, int64_t mean); /* exponential-like, from a table of integers */
size_t rng_pick(struct rng *r, const uint32_t *weights, size_t n);
void rng_hex(struct rng *r, char *out, size_t n);   /* n digits and NUL */
void rng_alnum(struct rng *r, char *out, size_t n); /* n characters and NUL */

/* ---- lines.c: one log file, its lines in any order of writing, sorted by time when the file is written */
struct line {
	int64_t at_us;
	size_t off, len;
};
struct lines {
	struct buf text;
	struct line *at;
	size_t n, cap;
};
void lines_begin(struct model *m, struct lines *l, int64_t at_us);
void lines_put(struct model *m, struct lines *l, const char *fmt, ...) PRINTF_LIKE(3, 4);
void lines_end(struct model *m, struct lines *l);
void lines_write(struct model *m, struct lines *l, const char *path); /* path below the folder; also empties l */
void lines_done(struct lines *l);
void lines_sort(struct model *m, struct lines *l);
/* Lines [from, to) of a sorted file, those that were taken out (len 0) excepted. */
void lines_part(struct model *m, const struct lines *l, size_t from, size_t to, const char *path);
void lines_file(struct model *m, const char *path, struct text bytes);
/* A document that is written in pieces. */
struct out {
	struct model *m;
	struct buf b;
};
void out_put(struct out *o, const char *fmt, ...) PRINTF_LIKE(2, 3);
void us_plain(int64_t us, char out[20]);  /* 2026-08-27 03:12:44 */
void us_iso_ms(int64_t us, char out[32]); /* 2026-08-27T03:12:44.310Z */

/* ---- pool.c: the paged allocator, and what each page holds */
struct page {
	uint32_t writer;             /* attempt + 1 whose content it holds; 0: nobody's since boot */
	uint32_t owner;              /* attempt + 1 that holds it; 0: free */
	uint64_t written, allocated; /* model.step of it */
};
struct page_list {
	uint32_t *at;
	uint32_t n, cap, shared; /* the first `shared` belong to a cached prefix */
};
struct pool {
	uint32_t n_pages; /* numbers 1..n_pages; page 0 is padding */
	struct page *page;
	uint32_t *free, n_free, free_head; /* taken from the front */
	uint32_t *released, n_released;    /* merged and sorted into `free` when that runs short */
};
/* With model.shuffled the free list has a random order instead. */
void pool_boot(struct model *m, struct pool *p, int64_t tokens);
void pool_done(struct pool *p);
uint32_t pool_available(const struct pool *p);
bool pool_take(struct model *m, struct pool *p, uint32_t n, struct page_list *to); /* appends n pages, or nothing */
void pool_give(struct pool *p, const uint32_t *pages, uint32_t n);

/* ---- the fleet */
/* How far a host's clock and its zone are off; all 0: UTC. */
struct host_clock {
	int64_t skew_us;           /* what it is ahead */
	int64_t ntp_at_us, ntp_us; /* until then it is ahead by ntp_us more */
	int64_t zone_s;
	int64_t dst_at_us, dst_s; /* from then on the zone is dst_s more */
};
int64_t clock_epoch(const struct host_clock *c, int64_t us); /* what it takes for UTC */
int64_t clock_wall(const struct host_clock *c, int64_t us);  /* what it writes without a zone */

enum role { ROLE_PREFILL, ROLE_DECODE, ROLE_UNIFIED };
enum model_id { MODEL_GLM, MODEL_KESTREL };

struct boot {
	int worker;
	int64_t started_us, ended_us; /* ended 0: runs on */
	int64_t pool_tokens, context_len, input_limit;
	const char *version;
	bool truncate;
};
struct prefix { /* a cached prompt prefix of one worker */
	struct page_list pages;
	uint32_t owner; /* attempt that wrote it; NONE: not cached */
	unsigned refs;
	int64_t used_us;
};
struct queue {
	uint32_t *at;
	size_t head, n, cap;
};
/* In a container a server listens everywhere; so its own log does not name it. */
#define LISTEN_HOST   "0.0.0.0"
/* The release that a fleet is repaired with; all others here are older, and compare so as text. */
#define FIXED_VERSION "0.5.22"

struct worker {
	char name[16];
	enum role role;
	enum model_id model;
	char host[32]; /* where the gateway finds it */
	int port;
	int pid;
	/* what it is started with */
	int64_t pool_tokens, context_len;
	const char *version;
	bool truncate, radix;
	/* which logs it leaves */
	bool page_log, request_json, metrics, receive_lines;
	struct host_clock clock;
	/* state */
	bool up, draining;
	size_t boot; /* index of the running boot */
	struct pool pool;
	struct prefix prefix[TEMPLATES];
	struct queue waiting;
	bool busy;         /* a prefill forward is running */
	unsigned active;   /* legs on it */
	unsigned running;  /* legs that decode */
	uint32_t promised; /* pages that running legs may still take */
	unsigned launch_left;
	uint64_t page_seq;
	struct lines text, pages, metric;
};

enum fate { FATE_NONE, FATE_BOOTSTRAP, FATE_TRANSFER, FATE_DECODE };

struct attempt { /* one dispatch of a request to a pair of workers, or to a unified one */
	uint32_t request;
	int prefill, decode; /* worker; prefill -1 on a unified worker, which is in `decode` */
	char prefill_rid[RID], rid[RID];
	uint64_t room; /* 0: none */
	enum fate fate;
	int64_t pool_tokens, limit; /* of the worker that looked at the prompt's length */
	int64_t len, prefill_len; /* prompt as this leg works on it; prefill_len 1: the placeholder of a rejected one */
	bool affected;            /* by the builds that served it, in disaggregated mode */
	bool rejected, prefilled, allocated, transferring, stepping, aborting, late;
	bool prefill_live, decode_live;
	int status; /* HTTP status its legs would give */
	int prefill_status, decode_status;
	int64_t start_us, forward_us, forwarded_us, alloc_us, transfer_us, transferred_us, first_us, end_us;
	int64_t out;
	uint32_t promised;
	struct page_list p, d; /* pages on the prefill worker, on the decode (or unified) worker */
	uint32_t late_from;    /* pages d[late_from..] are still to be written by the late transfer */
};

struct foreign {        /* one page read that was not the reader's own content */
	uint32_t owner; /* request, or NONE */
	uint32_t page;
	uint8_t worker, kind;
};
enum kind { KIND_STALE, KIND_LATE_WRITE, KIND_UNINITIALISED, KIND_SHARED };

struct request {
	char id[48]; /* the gateway's */
	unsigned tenant;
	enum model_id model;
	int64_t len, out;
	int template_no;     /* -1: none */
	bool stream, direct; /* direct: through a balancer that reads the decode worker only */
	bool unified;
	int pinned;        /* decode worker that a launch test asks for, or -1 */
	bool usage_hidden; /* the gateway saw no usage in the stream */
	bool hostile_text;
	bool retried; /* the client sends it again when it fails */
	int source;   /* which source of long prompts counts it, or -1 */
	int64_t start_us, patience_us, first_byte_us, end_us;
	uint32_t attempt, n_attempts; /* last one */
	bool gone, ended, delivered, trigger, foreign, rejected;
	bool marked; /* another request's marker stands in its answer, and in a log */
	int status;
	struct foreign *reads;
	size_t n_reads, reads_cap;
	size_t exposure, n_exposures; /* in model.exposures, once ended */
};
struct exposure {
	int worker;
	uint32_t reader, owner, pages; /* owner NONE for uninitialised */
	enum kind kind;
};

struct source { /* draws long prompts until `target` of them were answered on the reject path */
	int64_t lo, hi, from_us, until_us;
	unsigned target, delivered, in_flight;
	bool boundary;
};

enum event_kind_id {
	EV_ARRIVE,
	EV_DRAW,
	EV_START,
	EV_FORWARDED,
	EV_TRANSFERRED,
	EV_STEP,
	EV_GONE,
	EV_FAIL,
	EV_LATE,
	EV_DRAIN,
	EV_BOOT,
	EV_HEALTH,
	EV_LAUNCH,
	EV_RETRY,
	EV_PROMPT
};
struct sim_event {
	int64_t at_us;
	uint64_t order;
	enum event_kind_id kind;
	uint32_t arg;
};

struct hole {             /* what the logs of a messy rehearsal lack */
	const char *kind; /* sequence, rotation, quiet, torn */
	char file[48];
	int worker;
	int64_t from_us, to_us; /* last line before it, first behind it */
	size_t lines;
};

struct sighting {
	uint32_t owner, seen_in; /* request whose marker it is; whose answer holds it */
};

struct restart {
	int worker;
	int64_t at_us, pool_tokens;
	const char *version;
};

struct model {
	const struct rehearsal_options *options;
	struct err *err;
	int rc;
	struct rng rng;
	int64_t now_us, begin_us, end_us; /* logs begin, arrivals end */
	uint64_t step;                    /* one per page operation */
	/* plan */
	int64_t n_normal;
	bool late_write, bursts, sharing, long_prompts, messy, canary;
	struct rng mess; /* so that the model runs as it would without the mess */
	bool shuffled;
	struct rng shuffle; /* likewise */
	struct source source[2];
	unsigned n_sources;
	struct restart restart[32];
	unsigned n_restarts;
	/* fleet */
	struct worker worker[WORKERS_MAX];
	int n_workers;
	struct boot *boots;
	size_t n_boots, boots_cap;
	/* traffic */
	struct request *requests;
	uint32_t n_requests, requests_cap;
	struct attempt *attempts;
	uint32_t n_attempts, attempts_cap;
	int64_t arrived, burst_us;
	uint32_t again; /* last request under the id that a hostile client uses again and again */
	struct sim_event *heap;
	size_t n_heap, heap_cap;
	uint64_t order;
	struct exposure *exposures;
	size_t n_exposures, exposures_cap;
	bool trigger_fell, build_fell; /* a confirmed response without it disproved that part of the hypothesis */
	char innocent[RID];            /* rid that the hostile prompt names */
	uint32_t victim;               /* request whose id the hostile client takes */
	struct sighting *sightings;
	size_t n_sightings, sightings_cap;
	struct hole *holes;
	size_t n_holes, holes_cap;
	struct lines router, gateway;
	struct host_clock router_clock;
};

/* Grows *array to hold one more element; false (and rc set) when that fails. */
bool model_grow(struct model *m, void *array, size_t n, size_t *cap, size_t size);
void model_fail(struct model *m, int rc);

/* ---- fleet.c */
/* Sizes of pools and context windows, in tokens. */
enum {
	CONTEXT = 1048576,
	PREFILL_POOL = 681280,
	PREFILL_LARGE = 1100032,
	DECODE_POOL = 1179648,
	KESTREL_POOL = 1310720
};
int worker_add(struct model *m, const char *name, enum role role, enum model_id model, int64_t pool);
void fleet_plan(struct model *m);
void worker_boot(struct model *m, int w);
void worker_drain(struct model *m, int w);
void worker_leg_ended(struct model *m, int w);
int64_t worker_limit(const struct model *m, int w);
int worker_choose(struct model *m, enum role role, enum model_id model, int avoid);

/* ---- traffic.c */
uint32_t traffic_arrive(struct model *m); /* the next ordinary request; NONE when all have come */
void traffic_draw(struct model *m, unsigned source);
void traffic_launch(struct model *m, int w);
void traffic_retry(struct model *m, uint32_t request);
uint32_t request_new(struct model *m, unsigned tenant, enum model_id model, int64_t len);

/* ---- run.c */
void model_run(struct model *m);
void model_schedule(struct model *m, int64_t at_us, enum event_kind_id kind, uint32_t arg);

/* ---- serve.c, decode.c: the life of an attempt */
void attempt_start(struct model *m, uint32_t request);
uint32_t attempt_new(struct model *m, uint32_t request, int prefill, int decode);
void attempt_done_if_over(struct model *m, uint32_t a);
void prefill_receive(struct model *m, uint32_t a);
void prefill_next(struct model *m, int w);
void prefill_forwarded(struct model *m, uint32_t a);
void prefill_end(struct model *m, uint32_t a);
void transfer_try(struct model *m, uint32_t a);
void transfer_done(struct model *m, uint32_t a);
void transfer_late(struct model *m, uint32_t a);
void decode_next(struct model *m, int w);
void decode_step(struct model *m, uint32_t a);
void decode_end(struct model *m, uint32_t a);
void attempt_fail(struct model *m, uint32_t a);
void client_gone(struct model *m, uint32_t request);
void waiting_push(struct model *m, struct queue *q, uint32_t a);
static inline bool waiting_empty(const struct queue *q)
{
	return q->head == q->n;
}

/* ---- pages.c: page operations, each with its line in the page log */
bool pages_take(struct model *m, int w, uint32_t a, struct page_list *list, uint32_t n);
void pages_write(struct model *m, int w, uint32_t a, const struct page_list *list, uint32_t from, uint32_t n);
void pages_recv(struct model *m, int w, uint32_t a, const struct page_list *list, uint32_t from, uint32_t n,
		int64_t tokens);
void pages_send(struct model *m, int w, uint32_t a, const struct page_list *list);
void pages_read(struct model *m, int w, uint32_t a, const struct page_list *list);
void pages_free(struct model *m, int w, uint32_t a, struct page_list *list);
uint32_t pages_shareable(const struct model *m, int w, uint32_t a);
void pages_share(struct model *m, int w, uint32_t a, struct page_list *list);
/* Keeps a finished prompt's prefix in the worker's cache; returns how many leading pages stay. */
uint32_t pages_keep(struct model *m, int w, uint32_t a, struct page_list *list);
bool pages_evict(struct model *m, int w);
void pages_boot(struct model *m, int w);
int64_t template_tokens(int template_no);

/* ---- engine_log.c */
void say(struct model *m, int w, int64_t at_us, int rank, const char *fmt, ...) PRINTF_LIKE(5, 6);
void say_boot(struct model *m, int w);
void say_stop(struct model *m, int w);
void say_health(struct model *m, int w);
void say_receive(struct model *m, uint32_t a, int w);
void say_rejection(struct model *m, uint32_t a, int w, int64_t limit);
void say_truncation(struct model *m, uint32_t a, int w, int64_t limit, int64_t len);
void say_prefill_batches(struct model *m, uint32_t a, int w, int64_t from_us, int64_t until_us, int64_t tokens,
			 int64_t cached);
void say_decode_batch(struct model *m, int w);
void say_prefill_end(struct model *m, uint32_t a);
void say_decode_end(struct model *m, uint32_t a);
void say_failure(struct model *m, uint32_t a, const char *stage);
void say_abort(struct model *m, uint32_t a, int w, bool queued);
void say_transfer_aborted(struct model *m, uint32_t a, int w);
void say_access(struct model *m, int w, int64_t at_us, int status);
const char *status_phrase(int status);
const char *model_path(enum model_id model);
const char *model_served(enum model_id model);

/* ---- request_log.c: the JSON request log and the metrics file of the workers that keep them */
void json_received(struct model *m, uint32_t a, int w);
void json_finished(struct model *m, uint32_t a, int w);

/* ---- gateway_log.c */
void router_open(struct model *m);
void router_started(struct model *m, const struct request *r);
void router_attempt_failed(struct model *m, const struct request *r, const struct attempt *a);
void router_finished(struct model *m, const struct request *r);
void router_no_pair(struct model *m, const struct request *r);
void gateway_access(struct model *m, const struct request *r);
void gateway_retry(struct model *m, const struct request *r, const struct attempt *a);
const char *tenant_name(unsigned tenant, char buf[16]);

/* ---- messy.c */
void messy_plan(struct model *m);
int make_folder(struct model *m, const char *name); /* rehearsal.c */
void messy_write(struct model *m);
/* What a hostile prompt says, as Python writes it: it imitates records of the engine, a gateway and a page log. */
void messy_prompt(const struct model *m, const char *at, char *out, size_t cap);

/* ---- deploy.c: a world of its own, in place of the model's */
void deploy_write(struct model *m);

/* ---- canary.c: nothing, but in that scenario */
void canary_asked(struct model *m, struct lines *l, uint32_t request);
void canary_answered(struct model *m, struct lines *l, uint32_t attempt, int w);
void canary_write(struct model *m, const char *path);

/* ---- snapshot.c */
void snapshots_write(struct model *m);

/* ---- truth.c */
void truth_read(struct model *m, uint32_t request, int w, uint32_t page, enum kind kind, uint32_t owner);
void truth_request_ended(struct model *m, uint32_t request);
void truth_write(struct model *m, const char *path);
