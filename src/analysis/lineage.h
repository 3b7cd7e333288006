/* SPDX-License-Identifier: Apache-2.0 */
/* lineage.h - who read whose pages: the sweep over page operations, and its result (docs/method.md, "Lineage")
 *
 * Three parts: runset (sets of pages), sweep (one worker's pools; a pure function of a list of operations, in order),
 * and lineage (orders the operations of a case, names the actors, keeps the result). An actor is a request as the sweep
 * sees it: a small number, 0 is nobody. Private to src/analysis.
 */
#pragma once

#include "pagetrail/analysis.h"
#include "pagetrail/array.h"
#include "pagetrail/event.h"

/* --- runset: pages as runs; adding is cheap, reading sorts and joins first --- */
struct runset {
	struct page_run *runs;
	uint32_t n, cap, tidy; /* the first `tidy` runs are sorted and apart */
};

int runset_add(struct runset *s, uint32_t first, uint32_t count, struct err *err) MUST_CHECK;
void runset_tidy(struct runset *s);
uint64_t runset_pages(struct runset *s);
void runset_done(struct runset *s);

/* Sorts what is nearly in order; cmp() must decide between any two. */
int sort_almost(void *list, size_t n, size_t size, int (*cmp)(const void *a, const void *b, void *ctx), void *ctx,
		struct err *err) MUST_CHECK;

/* --- map: uint64 keys to numbers, open addressing --- */
struct map {
	uint64_t *keys; /* key + 1; 0: free */
	uint32_t *values;
	size_t n, cap;
};

uint32_t *map_find(const struct map *m, uint64_t key); /* NULL when absent; valid until the next map_put */
int map_put(struct map *m, uint64_t key, uint32_t value, struct err *err) MUST_CHECK;
void map_remove(struct map *m, uint64_t key);
void map_done(struct map *m);

/* --- sweep --- */
enum page_op { OP_BOOT, OP_RESET, OP_ALLOC, OP_WRITE, OP_RECV, OP_SEND, OP_READ, OP_SHARE, OP_FREE, OP_ZERO, PAGE_OPS };

enum edge_kind { EDGE_STALE, EDGE_LATE_WRITE, EDGE_NOT_READY, EDGE_UNINITIALISED, EDGE_SHARED, EDGE_KINDS };
extern const char *const edge_kind_names[EDGE_KINDS];

struct mark { /* one record */
	int64_t ns, source;
	uint64_t off;
	uint32_t len;
	uint32_t no; /* order within the sweep, from 1 */
};

/* In a log without reads a decode step reads all that its actor holds. UNTOLD: the record alone does not say whether the
 * write is one; what the actor did before may, and else it is a read that may have been. */
enum step { STEP_NO, STEP_YES, STEP_UNTOLD };

struct sweep_op {
	enum page_op op;
	enum step decode_write;
	uint32_t pool;    /* number within the worker */
	uint32_t actor;   /* 0: no rid */
	uint32_t content; /* write, recv: whose content arrives */
	uint32_t n_runs;
	const struct page_run *runs;
	int64_t tokens;                /* recv: how many; 0: not said */
	int64_t page_size, pool_pages; /* boot; 0: not said */
	struct mark at;                /* no is set by the sweep */
};

struct edge { /* one (pool, reader, owner, kind) */
	uint32_t pool, reader, owner;
	enum edge_kind kind;
	bool certain; /* for one page at least no lost record can explain the read */
	struct runset pages;
	uint32_t first_no;
	int64_t first_ns;
	struct mark read, alloc, write; /* a read; the reader's alloc and the owner's write behind it (len 0: none) */
	int64_t last_ns;                /* last read seen that added to this edge */
	int64_t page_size;              /* tokens; 0: not said */
};

/* What the log saw of one actor on this worker. There is one for every request, so it is kept small. */
struct cover {
	uint32_t actor, first_no;
	int64_t last_ns; /* when it took its first page of the last hold */
	uint32_t held,
	    shown; /* pages that it gave back, of which it had read or shared so many; no more than UINT32_MAX */
	uint32_t got_pages; /* pages that arrived by recv; likewise */
	bool broken : 1;    /* a hold that is not covered from alloc to free, or a read of unknown content */
	bool blind : 1;     /* it may have read content that no record shows: of others than the edges say */
	bool open : 1;
	bool untold : 1;     /* a write that may have been a decode step stood over content of others */
	bool read : 1;       /* a read of its last time here was logged */
	bool idle : 1;       /* it gave back pages that it had neither read nor, after its first read, written */
	bool unread : 1;     /* it gave back pages that it had not read */
	bool got_untold : 1; /* recv records that do not say how many tokens came */
	int64_t page_size;   /* of these pages; 0: not said */
	uint64_t got_tokens; /* that arrived by recv */
};

struct sweep; /* one worker */
/* Only a part of the log will be swept, for what concerns this actor; sweep_is_unsure() then says whether the part was
 * too short. */
void sweep_part(struct sweep *s, uint32_t actor);
bool sweep_is_unsure(const struct sweep *s);
/* Has one read that was never seen to hold anything (or was forgotten)? */
bool sweep_is_strange(const struct sweep *s);
/* Who else read the actor's content since the last call; 0: nobody. What is said of it depends on all that it held. */
uint32_t sweep_take_reader(struct sweep *s);
/* Nothing that comes later concerns the actor. */
bool sweep_is_over(const struct sweep *s);
/* Before the first operation: pages between two bounds always fare alike, so each stretch is looked at as one page. bounds
 * (sorted, apart; taken over) hold every beginning and end of a run that will come. The result is in pages. */
void sweep_by_runs(struct sweep *s, uint32_t *bounds, size_t n);
/* What the last boot record before the part said. */
int sweep_sizes(struct sweep *s, uint32_t pool, int64_t page_size, int64_t pool_pages, struct err *err) MUST_CHECK;
int sweep_new(struct sweep **ret, bool implied_reads, struct err *err) MUST_CHECK;
void sweep_free(struct sweep *s); /* accepts NULL */
int sweep_add(struct sweep *s, const struct sweep_op *op, struct err *err) MUST_CHECK;
/* Records were lost before the next operation. */
void sweep_hole(struct sweep *s);
/* The worker started again: known = its boot record was seen (pools are empty), else content is unknown. */
int sweep_restart(struct sweep *s, bool known, struct err *err) MUST_CHECK;
/* The log ends: settles what waits, and gives the pools' memory back. */
int sweep_end(struct sweep *s, struct err *err) MUST_CHECK;
bool sweep_holds(const struct sweep *s, uint32_t pool, uint32_t actor);
/* After sweep_end(): edges in order of first sight, covers in order of first alloc. */
struct edge *sweep_edges(struct sweep *s, size_t *ret_n);
const struct cover *sweep_covers(const struct sweep *s, size_t *ret_n);
const struct cover *sweep_cover(const struct sweep *s, uint32_t actor); /* NULL: it never took a page here */

/* --- actors: which request a rid or a room of a page log is --- */
struct actor {
	int64_t request; /* 0: a rid that no request is known for */
	int64_t tenant;  /* 0: unknown */
	struct text name;
};
struct actors;
/* lazy: requests and rids are looked up when asked for, and rooms are known only as far as they were opened. */
int actors_load(struct actors **ret, struct case_file *c, bool lazy, struct err *err) MUST_CHECK;
void actors_free(struct actors *a);                              /* accepts NULL */
struct actor actors_get(const struct actors *a, uint32_t actor); /* the name of a request: see actors_name() */
/* Valid until the next call; ptr NULL: there is none. */
int actors_name(struct actors *a, uint32_t actor, struct text *ret, struct err *err) MUST_CHECK;
uint32_t actors_count(const struct actors *a);                       /* actors are 1 … count */
uint32_t actors_of_request(const struct actors *a, int64_t request); /* 0: none */
int actors_request(struct actors *a, int64_t request, uint32_t *ret, struct err *err) MUST_CHECK; /* 0: none */
bool actors_ambiguous(const struct actors *a, uint32_t rid);                                      /* several requests */
bool actors_room_is_open(const struct actors *a, int64_t worker, uint32_t room);
/* Numbers for a worker's rid and for a room; never 0. */
int actors_rid(struct actors *a, int64_t worker, struct text rid, uint32_t *ret, struct err *err) MUST_CHECK;
int actors_room(struct actors *a, struct text room, uint32_t *ret, struct err *err) MUST_CHECK;
/* Whom a rid means now. fresh: it takes pages and holds none, so an id that was used twice may mean another request. */
int actors_bind(struct actors *a, uint32_t rid, int64_t ns, bool fresh, uint32_t *ret, struct err *err) MUST_CHECK;
uint32_t actors_bound(const struct actors *a, uint32_t rid); /* what it meant last; 0: nothing yet */
int actors_open_room(struct actors *a, int64_t worker, uint32_t room, uint32_t actor, struct err *err) MUST_CHECK;
/* Bindings of rids and rooms. actors_forget() drops those of actors that are neither live nor requests; to, names_to: new
 * numbers of actors and bindings, 0 for those that are gone. */
size_t actors_names(const struct actors *a);
int actors_forget(struct actors *a, const uint8_t *live, uint32_t *to, uint32_t *names_to, struct err *err) MUST_CHECK;
/* Whose content arrives under a room at a worker: who opened it there, else the request that the case knows under it at
 * that time, else `fallback`, else a nameless actor of its own. */
int actors_sender(struct actors *a, int64_t worker, uint32_t room, int64_t ns, uint32_t fallback, uint32_t *ret,
		  struct err *err) MUST_CHECK;

/* --- lineage: all page logs of a case --- */
enum lineage_role { LINEAGE_UNKNOWN, LINEAGE_UNIFIED, LINEAGE_PREFILL, LINEAGE_DECODE };

struct lineage_worker {
	int64_t id; /* worker row; 0: the table does not know it */
	struct text name;
	enum lineage_role role;
	bool implied;   /* its log holds no read */
	bool doubted;   /* of several servers, or without a kind of record: one may be missing between any two */
	bool skip;      /* nobody asked for it */
	uint32_t focus; /* actor whose own operations are kept; 0: none */
	struct text *pools;
	uint32_t n_pools;
	struct edge *edges; /* sorted: pool, reader, owner, kind */
	size_t n_edges;
	const struct cover *covers;
	size_t n_covers;
	struct sweep *sweep;
	struct order *order; /* lineage.c's own */
};

struct touch { /* what the request in focus did, one row a worker, pool and operation */
	uint32_t worker, pool;
	enum page_op op;
	uint64_t records;
	struct runset pages;
	struct mark first;
};

struct own_step { /* one record of the request in focus; its runs are in struct lineage */
	uint32_t worker, pool;
	enum page_op op;
	struct mark at;
	uint32_t first_run, n_runs;
};
enum { OWN_STEPS_MAX = 1 << 16, OWN_RUNS_MAX = 1 << 20 }; /* kept; the rest is counted */

struct lineage {
	struct actors *actors;
	struct lineage_worker *workers; /* sorted by name */
	uint32_t n_workers;
	uint64_t duplicates; /* records dropped because another record says the same */
	struct touch *touches;
	uint32_t n_touches;
	struct own_step *steps;
	struct page_run *step_runs;
	size_t n_steps, cap_steps, n_step_runs, cap_step_runs;
	uint64_t steps_left_out;
	struct arena arena;
};

int lineage_run(struct lineage **ret, struct case_file *c, struct err *err) MUST_CHECK;
/* The same, with another number of rids and rooms from which on it forgets those that nothing rests on; for tests. */
int lineage_run_forgetting(struct lineage **ret, struct case_file *c, size_t from, struct err *err) MUST_CHECK;
/* What concerns one request alone, with its own operations: only its workers, and of them only the part of their logs
 * that matters where that can be told (lineage_focus.c). request 0: the rid of a page log that no request is known for. */
int lineage_focus(struct lineage **ret, struct case_file *c, int64_t request, struct text rid,
		  struct err *err) MUST_CHECK;
/* The same from whole page logs; for tests. */
int lineage_focus_whole(struct lineage **ret, struct case_file *c, int64_t request, struct text rid,
			struct err *err) MUST_CHECK;
/* The request that is named; 0 with the rid in ret_rid where only page logs know it. ERR_INPUT when nobody does. */
int lineage_find(struct case_file *c, struct text name, int64_t *ret, struct buf *ret_rid, struct err *err) MUST_CHECK;
/* The one rid of the page logs that is, or begins with, what is given. 1: none; ERR_INPUT: several. */
int lineage_find_rid(struct case_file *c, struct text name, struct buf *ret, struct err *err) MUST_CHECK;
void lineage_free(struct lineage *l); /* accepts NULL */
const char *page_op_name(enum page_op op);

/* --- lineage_steps.c: the records of the request in focus, one by one --- */
struct record;
int steps_add(struct lineage *l, const struct record *rec, struct err *err) MUST_CHECK;
void steps_forget(struct lineage *l, uint32_t worker);
void steps_done(struct lineage *l);
