/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.h - private to resolve*.c, boot.c, clock.c, gap.c: what is held in memory while events become requests
 *
 * Sources are visited in canonical order (content hash, then path), never in the order in which they were ingested, and
 * everything that is numbered gets its number from that order: the same evidence gives the same rows.
 * What is kept is proportional to requests: identifiers are interned once, legs and gateway lifetimes are folded while
 * they are read, page records leave one `exec` for each rid. It lies in a scratch (resolve_scratch.c): a budget of memory,
 * the rest in a temporary file. So that this stays cheap, all passes go through their arrays in order, which is nearly that
 * of time. Long loops call resolve_tick(): it keeps the budget and notices that somebody wants to stop.
 * Unknown numbers and times are UNKNOWN (INT64_MIN binds as NULL).
 */
#pragma once

#include "pagetrail/analysis.h"
#include "pagetrail/arena.h"
#include "pagetrail/column.h"
#include "pagetrail/evidence.h"
#include "pagetrail/feed.h"
#include "pagetrail/row_tables.h"
#include "pagetrail/spool.h"
#include "request_id.h"
#include "scratch.h"

#define UNKNOWN           INT64_MIN
#define NO_INDEX          UINT32_MAX
#define REFS_MAX          16
/* How far sources of one worker may disagree and still speak of one execution. */
#define SKEW_NS           (120 * NS_PER_S)
/* A client can send any number of requests under one id: only the newest of a chain are compared. */
#define CHAIN_MAX         64
/* A rid that only a page log knows is a request of its own, so that a case with nothing else can be asked about it; but
 * a page log may hold millions, and rows for them would take more room than all its evidence. Beyond this many, none of
 * them gets rows: lineage goes on naming them by their rid, and case_info says how many there are (page_rids_unlisted).
 */
#define PAGE_REQUESTS_MAX 16384

enum role { ROLE_UNKNOWN, ROLE_PREFILL, ROLE_DECODE, ROLE_UNIFIED };
const char *role_name(enum role r); /* NULL for unknown */
enum role role_of(struct text t);

/* Growing array whose elements never move; zeroed. */
struct shelf {
	struct scratch *scratch;
	size_t size;
	uint32_t n, n_blocks, cap_blocks;
	char **blocks;
};
enum { SHELF_BITS = 12 };
void shelf_init(struct shelf *s, struct scratch *scratch, size_t element_size);
void shelf_done(struct shelf *s);
void *shelf_add(struct shelf *s); /* NULL: out of memory */
static inline void *shelf_at(const struct shelf *s, uint32_t i)
{
	return s->blocks[i >> SHELF_BITS] + (size_t)(i & ((1u << SHELF_BITS) - 1)) * s->size;
}

/* Interned text. Id 0 is "no text". The heads begin chains of things that carry this text; index + 1. */
struct name {
	uint32_t text : 31;   /* where it stands, in units of TEXT_UNIT */
	uint32_t gateway : 1; /* a gateway named it: id, answer id or room */
	uint32_t hash;
	uint32_t rid_legs;  /* legs by normalised rid, newest first */
	uint32_t room_legs; /* legs by room; after joining: number of the tenant of this name */
	uint32_t chain; /* page_scan(): executions by rid; life_load(): lifetimes by key; then: requests of this name */
	uint32_t norm;  /* it without a prefix, as norm_rid() has it; 0: nobody has asked */
};
enum { TEXT_UNIT = 4, TEXT_BLOCK_BITS = 20 };
struct names {
	struct scratch *scratch;
	struct shelf entries;
	char **blocks;                     /* of texts, each behind its length */
	uint32_t n_blocks, cap_blocks, at; /* at: used of the newest */
	/* hash table: id, and a part of the hash, so that strangers are turned away without looking at their text */
	uint32_t *slots, cap;
	uint8_t *tags;
};
int names_init(struct names *n, struct scratch *scratch, struct err *err) MUST_CHECK;
void names_done(struct names *n);
void names_unchain(struct names *n); /* chains are given to the next user */
int names_id(struct names *n, struct text t, uint32_t *ret, struct err *err) MUST_CHECK; /* 0 for the empty text */
uint32_t names_find(const struct names *n, struct text t);                               /* 0: not there */
static inline struct name *name_at(const struct names *n, uint32_t id)
{
	return shelf_at(&n->entries, id);
}
struct text names_text(const struct names *n, uint32_t id); /* {NULL,0} for 0 */

struct ref_node {
	uint64_t off;
	uint32_t len, source, next; /* next: index + 1 */
};
struct refs {
	uint32_t head, n;
};

enum { CLOCK_EXACT, CLOCK_CROSS, CLOCK_START, CLOCK_VOTES };
enum { CLOCK_QUARTERS = 2 * 56 + 1 };
struct clock_votes {
	uint32_t n[CLOCK_QUARTERS];
	int64_t least[CLOCK_QUARTERS], worst[CLOCK_QUARTERS]; /* remainder, absolute */
	uint32_t total;
	struct ref_node sample; /* last anchor */
};

/* A part of a source in which its clock is off by one and the same amount. Records are told apart by where they stand, since
 * a clock that was set back gives times twice. */
struct clock_piece {
	uint64_t from_off;
	int64_t offset_ns, bound_ns; /* bound UNKNOWN: none */
	int64_t from_ns, proved_ns,
	    last_ns;       /* its first record, as far as known, first and last anchor, by the source's own stamps */
	uint64_t last_off; /* of the last anchor */
	uint32_t anchors;
	struct ref_node ref; /* that first record */
};
enum { CLOCK_PIECES_MAX = 16 };
struct clock_pieces {
	struct clock_piece at[CLOCK_PIECES_MAX];
	uint32_t n;
	bool drifts, placed; /* placed: of zones, where each begins was looked for */
};
struct zone_runs;
struct skew_runs;

/* By what a gateway's record finds an engine's. */
enum id_kind { ID_ROOM, ID_RESPONSE, ID_GATEWAY, ID_TRACE, ID_KINDS };

struct source_info {
	int64_t id;
	struct text path, format, worker, alias, tz, tz_basis, status, reason, sha256;
	int64_t first_ns, last_ns; /* by its own stamps; corrected: clock_span() */
	int64_t unparsed;
	bool elsewhere; /* all its records are duplicate */
	enum role role;
	uint32_t kinds;             /* bit per event kind that it has */
	uint8_t layer;              /* resolve_apart.c */
	int64_t seen_from, seen_to; /* of its leg, load and boot events, corrected */
	uint32_t worker_at;         /* index of its own worker, NO_INDEX: none */
	uint32_t page_own,
	    page_shared; /* page records of rids that no source before it knows on that worker; of others */
	/* clock */
	uint64_t naive, zoned, yearless, wild;
	struct { /* whole years that its stamps without a year are off */
		int64_t days;
		uint32_t n;
	} years[4];
	int64_t year_ns;             /* what was taken for them; part of what is subtracted from naive stamps */
	struct clock_votes *votes;   /* CLOCK_VOTES of them, or NULL: no anchor seen */
	int64_t offset_ns, bound_ns; /* of the zone that most of its stamps are in */
	bool fitted, given, again;   /* again: its records were counted */
	bool measures;               /* others' clocks are measured by it */
	bool contradicts;            /* others contradict its clock, and it could not be corrected */
	bool compared;               /* with other engines': it takes over no other's */
	struct text basis;
	struct zone_runs *zone_runs;      /* while it is fitted */
	struct skew_runs *skew_runs;      /* the same */
	struct clock_pieces *zones;       /* NULL: offset_ns everywhere */
	const struct clock_pieces *skews; /* what its clock is ahead of the gateways'; NULL: nothing known */
	struct text skew_basis;
	/* anonymous access lines, for the note about them */
	uint32_t anonymous;
	struct refs anonymous_refs;
	/* requests that fit several executions by time and length; those whose zone is too doubtful for that */
	uint32_t ambiguous, doubtful;
	struct refs ambiguous_refs, doubtful_refs;
	uint32_t joined[ID_KINDS], joined_all; /* executions that its ids have joined, by the kind that did */
	uint32_t apart; /* requests that may stand in other logs too, counted there by themselves */
	struct refs apart_refs;
	/* the last worker text of a batch row and what it was */
	struct text memo_text;
	uint32_t memo_worker;
};

struct time_stretch {
	int64_t from, to;
};
enum { STRETCHES_MAX = 16 }; /* in a log with more of them several servers wrote */
struct time_order {          /* of one log of a worker: where times fall back a new stretch begins */
	uint32_t source, n;
	struct time_stretch at[STRETCHES_MAX];
};

struct page_need {
	bool there;
	struct ref_node ref; /* a record that shows it */
};

struct worker {
	uint32_t name;
	uint32_t base; /* index of the server this is a rank of; own index otherwise */
	uint32_t engine;
	int64_t id, first_ns, last_ns;
	uint32_t boots_from, n_boots; /* in r->boots, sorted by start */
	uint8_t role;
	uint8_t source_role;                                           /* as the user gave it */
	bool ranked, has_ranks, used, page_log, engine_log, has_boots; /* engine_log: legs or loads */
	/* its page log: one source, every record with a later seq than the last, sizes with every boot, reads logged */
	bool page_unordered, page_reads, page_sources; /* page_sources: several */
	bool page_writes, page_recvs, page_shares;     /* kinds of record that it holds */
	/* and that it needs (resolve_kinds.c) */
	struct page_need page_computes, page_fills, page_handed, page_attached;
	bool page_twins;              /* of two servers (resolve_twins.c): */
	struct ref_node page_twin[2]; /* where they contradict each other */
	uint32_t page_source;         /* rank + 1 */
	int64_t page_seq, page_at;
	int64_t page_lo, page_hi; /* its earliest and latest record there, by the log's own clock */
	struct ref_node page_lo_ref, page_hi_ref;
	bool saw_role[4], load_prefill, load_decode;
	int64_t early_ns; /* first sign of life that is no boot event */
	struct ref_node early_ref;
	bool has_early;
	struct time_order order; /* while its legs and loads are read */
	bool mixed;              /* one of its logs holds those of several servers (resolve_mixed.c) */
	bool twins;              /* or two of them are of two servers (resolve_twins.c) */
	struct ref_node mixed_ref, twin_ref;
};

enum boot_what { WHAT_START, WHAT_ARGS, WHAT_POOL, WHAT_READY, WHAT_SNAPSHOT, WHAT_STOP, WHAT_PAGE_BOOT, WHAT_UNREAD };
enum boot_text { BT_ENGINE, BT_VERSION, BT_COMMIT, BT_MODEL, BT_BACKEND, BOOT_TEXTS };
enum boot_number { BN_CONTEXT, BN_POOL, BN_PAGE_SIZE, BN_LIMIT, BN_TRUNCATE, BN_DP, BOOT_NUMBERS };
struct boot_event {
	uint32_t worker, seq; /* seq: canonical order */
	int64_t at;
	enum boot_what what;
	enum role role;
	bool vague;    /* its time is not its own: that of the file */
	int64_t order; /* a stamp without a date: its place among those of its source; else UNKNOWN */
	int64_t from;  /* not before; UNKNOWN: `at` is its time */
	uint32_t text[BOOT_TEXTS];
	int64_t number[BOOT_NUMBERS];
	struct ref_node ref;
};
struct boot {
	uint32_t worker;
	int64_t started_ns, ended_ns, id;
	enum role role;
	uint32_t text[BOOT_TEXTS];
	int64_t number[BOOT_NUMBERS];
	int64_t rejection_limit;
	const char *limit_basis;
	struct refs refs;
	bool undated; /* its start is logged, and nothing says when it was */
	/* while it is built */
	bool pool_is_line, pool_is_raw, pool_seen, ready_seen, stop_seen; /* seen: without a time */
	uint32_t args_source,
	    log_source; /* log_source: rank + 1 of the first log that speaks of it; 0: snapshots alone */
	int64_t start_at, args_at, pool_at, ready_at, stop_at, seen_at; /* seen_at: the last that speaks of it */
};

enum leg_what {
	SEEN_RECEIVED,
	SEEN_FINISHED,
	SEEN_REJECTED,
	SEEN_TRUNCATED,
	SEEN_ABORTED,
	SEEN_FAILED,
	SEEN_RETRACTED,
	SEEN_SENT,
	SEEN_EXPIRED,
	SEEN_LATE_READ,
	SEEN_OTHER
};
enum outcome { OUT_NONE, OUT_FINISHED, OUT_ABORTED, OUT_FAILED, OUT_LATE_READ, OUT_TRUNCATED, OUT_REJECTED };
enum flag { FLAG_NONE, FLAG_ESTIMATE, FLAG_AT_LEAST, FLAG_EXACT };
enum flag flag_of(struct text t, bool known_value);
const char *flag_name(enum flag f);

/* Why a node belongs to its request; also the rule of its alias rows. */
enum rule {
	RULE_OWN,
	RULE_ROOM,
	RULE_RID,
	RULE_RESPONSE_ID,
	RULE_GATEWAY_ID,
	RULE_TRACE_ID,
	RULE_TIME_AND_LENGTH,
	RULE_CHILD,
	RULE_CONFLICT
};
const char *rule_name(enum rule r);

enum { /* conflicts, bits */
       CONFLICT_TENANTS = 1,
       CONFLICT_OVERLAP = 2,
       CONFLICT_AMBIGUOUS = 4,
       CONFLICT_ROOM = 8,
       CONFLICT_OUTCOME = 16,
       CONFLICT_LENGTH = 32,
};

struct seen { /* one leg event, normalised */
	uint32_t source, worker, rid, room, norm, trace;
	enum leg_what what;
	enum role role;
	int64_t at, lo, hi;
	int64_t started, finished, sent;
	int64_t input, cached, output, limit, status, batch;
	enum flag input_flag;
	uint32_t finish, message, model;
	int8_t streamed; /* -1 unknown */
	struct ref_node ref;
};

struct leg { /* one execution on one worker */
	uint32_t worker, rid, room, page_rid, trace;
	uint32_t next_rid, next_room; /* chains; index + 1 */
	uint32_t finish, message, model;
	int64_t started, finished, lo, hi;
	int64_t input, cached, output, rejected, limit, sent;
	uint32_t received_source, finished_source; /* rank + 1 */
	int64_t finished_at;
	uint32_t boot; /* index + 1 */
	struct refs refs;
	int32_t status; /* 0 unknown */
	uint32_t batch; /* 0 unknown */
	uint32_t attempt;
	uint8_t role, outcome, input_flag, rule, conflict;
	int8_t streamed;
	bool started_epoch, finished_epoch, page_only, input_final, has_page, rejected_context;
};

struct room_node {
	uint32_t room, next;
};

/* How a request ended, as one gateway's record has it; of several records the one nearest to the client counts. */
struct hop {
	int64_t status, bytes, span_ns; /* span_ns: from beginning to end */
	uint8_t face;                   /* 2 it names a tenant, 1 it counts what was sent; 0: perhaps an inner one */
	bool there;
};

struct life {          /* one request as gateways saw it */
	uint32_t next; /* chain; index + 1 */
	uint32_t gateway_id, response_id, trace_id, tenant, model, finish;
	uint32_t rooms; /* list; index + 1 */
	int64_t started, finished, lo, hi;
	int64_t opened; /* as the log that opened it says */
	int64_t input, output, bytes_out, inner_status;
	/* index + 1. shown: whatever it says; sent: content went out; failed: none did; passed: a success that counts
	 * nothing */
	uint32_t shown, sent, failed, passed;
	uint32_t start_source, final_source; /* who opened, closed it last: gseen.from of resolve_life.c */
	uint32_t prefill_errors, decode_errors, retries, batch;
	struct refs refs;
	uint8_t input_flag, conflict, rule;
	int8_t streamed, client_gone;
	bool left_apart;             /* a gap says so already */
	bool final, listed, element; /* listed: one record named several rooms; element: of those, this is one */
};

/* Lifetimes of one gateway id that are compared. Sources are read one after another, so that the router's first use of an
 * id is compared with the gateway's last: more than CHAIN_MAX must be remembered. A client that sends more than this under
 * one id gets requests that stand apart, never requests that are merged. */
#define LIVES_MAX 4096

struct busy_life { /* what tells lifetimes apart */
	int64_t lo, hi;
	uint32_t life, tenant, start_source, final_source;
};
struct busy { /* an id with many of them */
	uint32_t name, n, cap;
	struct busy_life *list; /* oldest first; at least the newest LIVES_MAX */
};
struct busy_names {
	struct busy *slots; /* by name, hashed */
	uint32_t n, cap;
};

struct exec {                             /* one rid in a page log */
	uint32_t worker, rid, room, next; /* chain; index + 1 */
	uint32_t leg;                     /* that it is; index + 1 */
	int64_t first, last;
	struct ref_node ref;
	bool recv, send, freed, known;
	bool answers;       /* it read or wrote: more than was done to its pages for it */
	int64_t took, read; /* its last alloc, its first read */
};

struct gap {
	const char *kind;
	uint32_t source; /* rank, NO_INDEX */
	uint32_t worker; /* index, NO_INDEX */
	int64_t from, to, missing;
	bool whole; /* of its source as a whole: from and to are set when all clocks are known */
	struct text effect;
	struct refs refs;
};

struct nul_run { /* of a log, with the records that it cut: before and after are the times round it */
	uint32_t source;
	uint64_t off, end;
	int64_t before, after;
	bool restart; /* an engine may have started there */
};

struct stray { /* a rejection or truncation that names no request */
	uint32_t worker;
	enum leg_what what;
	int64_t at, input, limit;
	uint32_t message;
	struct ref_node ref;
	bool attached;
};

struct span { /* page records of one worker with consecutive seq */
	uint32_t worker;
	bool boot; /* begins with a boot record */
	int64_t seq_from, seq_to, at_from, at_to;
	struct ref_node first, last;
};

struct request {
	uint32_t name;
	uint32_t legs_from, n_legs, lives_from, n_lives; /* in leg_order, life_order */
	int64_t first, last, id;
	uint32_t tenant, model, node, conflict;
	uint32_t attempts;
};

/* What a name means as that of a worker. */
struct worker_name {
	uint32_t name;   /* 0: free */
	uint32_t worker; /* index + 1 */
	uint32_t alias;  /* name of the worker that this name of a worker stands for */
};

struct clock_pass;
struct resolve {
	struct case_file *c;
	struct event_feed *feed; /* page events that somebody decodes anyway; NULL: none */
	struct scratch scratch;
	uint32_t ticks;
	struct arena arena;
	struct names names;
	struct source_info *sources;
	uint32_t n_sources;
	struct shelf workers, boots, boot_events, legs, lives, hops, execs, rooms, refs, gaps, strays, spans, requests,
	    nul_runs;
	uint32_t *span_open; /* by worker index + 1 */
	uint32_t n_span_open;
	bool spans_full;
	uint32_t unlisted;                 /* rids that are known to page logs alone and got no rows */
	struct shelf heard;                /* by name: bits of the layers that say it (resolve_apart.c) */
	uint32_t twice;                    /* of the responses, at most so many are counted twice (resolve_apart.c) */
	uint32_t *parent;                  /* union-find over legs, then lives */
	uint32_t *root_tenant, *root_life; /* by root: tenant, a lifetime + 1 */
	uint32_t *leg_order, *life_order, *request_order, *worker_order;
	struct worker_name *worker_names; /* by name id, hashed */
	uint32_t n_worker_names, cap_worker_names;
	struct busy_names busy; /* only during life_load() */
	struct memo *memo;      /* only during load_each() */
	struct {
		uint32_t source, worker, from;
	} from_memo;                   /* the same: who wrote the last gateway record of a worker */
	struct clock_pass *clock_pass; /* only during clock_fit_all() */
};

int resolve_breathe(struct resolve *r, struct err *err) MUST_CHECK;
static inline int resolve_tick(struct resolve *r, struct err *err)
{
	return ++r->ticks % 256 ? 0 : resolve_breathe(r, err);
}

/* Stable, and in order through its memory: a few in place, more with as much again from the scratch. */
enum { SORT_MAX_BYTES = 128 };
typedef int (*order_fn)(const void *a, const void *b, void *ctx);
int sort_items(struct resolve *r, void *list, size_t n, size_t size, order_fn cmp, void *ctx,
	       struct err *err) MUST_CHECK;
/* 0, 1, 2 … n - 1, to be sorted; NULL: out of memory. */
uint32_t *order_new(struct resolve *r, uint32_t n);
static inline int order_sort(struct resolve *r, uint32_t *list, uint32_t n, order_fn cmp, struct err *err)
{
	return sort_items(r, list, n, sizeof(*list), cmp, r, err);
}

/* Statuses that say that the caller went away: of nginx and those who follow it, and of AWS load balancers. */
static inline bool status_left(int64_t status)
{
	return status == 499 || status == 460;
}

static inline struct worker *worker_at(const struct resolve *r, uint32_t i)
{
	return shelf_at(&r->workers, i);
}
static inline struct leg *leg_at(const struct resolve *r, uint32_t i)
{
	return shelf_at(&r->legs, i);
}
static inline struct life *life_at(const struct resolve *r, uint32_t i)
{
	return shelf_at(&r->lives, i);
}
static inline struct boot *boot_at(const struct resolve *r, uint32_t i)
{
	return shelf_at(&r->boots, i);
}

/* NULL stays NULL, so that it is bound as NULL. */
static inline struct text maybe(const char *t)
{
	return t ? text_of(t) : (struct text){NULL, 0};
}

/* Column readers: unknown is UNKNOWN or {NULL,0}. */
static inline struct text row_text(const struct event_batch *b, uint32_t row, unsigned col)
{
	return event_known(b, row, col) ? b->texts[col][row] : (struct text){NULL, 0};
}
static inline int64_t row_int(const struct event_batch *b, uint32_t row, unsigned col)
{
	return event_known(b, row, col) ? b->ints[col][row] : UNKNOWN;
}
/* Times that arithmetic is safe with; everything else is no time. */
static inline int64_t sane(int64_t t)
{
	return t > INT64_MAX / 4 || t < INT64_MIN / 4 ? UNKNOWN : t;
}
static inline int64_t earlier(int64_t a, int64_t b)
{
	return a == UNKNOWN ? b : b == UNKNOWN ? a : MIN(a, b);
}
static inline int64_t later(int64_t a, int64_t b)
{
	return a == UNKNOWN ? b : b == UNKNOWN ? a : MAX(a, b);
}
/* Distance between two intervals; 0 when they touch or one is unknown. */
int64_t interval_gap(int64_t a_lo, int64_t a_hi, int64_t b_lo, int64_t b_hi);
/* What is inside of the wrappers. */
static inline struct text inner_format(const struct source_info *s)
{
	size_t plus = text_rfind_char(s->format, '+');
	return plus == SIZE_MAX ? s->format : text_from(s->format, plus + 1);
}
/* A time that a record has from those around it is what most of its source's stamps are. */
static inline bool between_is_naive(const struct source_info *s)
{
	return s->naive && s->naive >= s->zoned;
}
int64_t row_time(const struct source_info *s, const struct event_batch *b, uint32_t row);
/* What is subtracted from a stamp that stands at `off`: of the clock, and for naive ones of the zone too. */
int64_t clock_off(const struct source_info *s, uint64_t off, bool naive);
/* A time beside a stamp: one that was computed from it moves with it, another by what the clock is off. */
int64_t row_moment(const struct source_info *s, const struct event_batch *b, uint32_t row, int64_t t, bool computed);
bool time_is_naive(const struct source_info *s, const struct event_batch *b, uint32_t row);
struct ref_node row_ref(uint32_t source, const struct event_batch *b, uint32_t row);
int refs_add(struct resolve *r, struct refs *to, struct ref_node ref, struct err *err) MUST_CHECK;
int refs_add_all(struct resolve *r, struct refs *to, const struct refs *from, struct err *err) MUST_CHECK;
/* JSON array, sorted by source and offset. */
/* In order; returns how many. */
unsigned refs_list(const struct resolve *r, const struct refs *refs, struct ref list[REFS_MAX]);
int refs_json(const struct resolve *r, const struct refs *refs, struct buf *out, struct err *err) MUST_CHECK;
int gap_add(struct resolve *r, const struct gap *g, struct err *err) MUST_CHECK;
/* What a log whose records of this time are lost may have held; empty where that is nothing of a response. NULL ptr: out of memory. */
struct text gap_open(struct resolve *r, uint32_t source, int64_t from, int64_t to);
int nuls_load(struct resolve *r, struct err *err) MUST_CHECK; /* gap_nuls.c: after boot_load() */
int gap_nuls(struct resolve *r, struct err *err) MUST_CHECK;
struct text arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3); /* NULL ptr: out of memory */

/* Texts of one batch that stand in its dictionary once are interned once: by address, within the batch. */
enum { MEMO_SLOTS = 4096 };
int memo_id(struct resolve *r, struct text t, uint32_t *ret, struct err *err) MUST_CHECK;
struct memo {
	struct {
		const char *ptr;
		uint32_t len, id;
	} slots[MEMO_SLOTS];
};

/* All columns that any pass asks for. The first that goes through a chunk decodes these, the others find them in the spool. */
enum {
	RESOLVE_BOOT = (1 << BOOT_COLUMNS) - 1,
	RESOLVE_LEG = ((1 << LEG_COLUMNS) - 1) & ~(1 << LEG_RANK | 1 << LEG_RETRACTIONS),
	RESOLVE_GATEWAY = ((1 << GATEWAY_COLUMNS) - 1) &
			  ~(1 << GATEWAY_BYTES_IN | 1 << GATEWAY_UPSTREAM | 1 << GATEWAY_MESSAGE | 1 << GATEWAY_ROUTE),
	RESOLVE_PAGE = 1 << PAGE_OP | 1 << PAGE_SEQ | 1 << PAGE_POOL | 1 << PAGE_RID | 1 << PAGE_ROOM | 1 << PAGE_SIZE |
		       1 << PAGE_POOL_PAGES,
	RESOLVE_LOAD = 1 << LOAD_WHAT | 1 << LOAD_CACHED,
};

/* Calls row() for every event of a kind, sources in canonical order. */
typedef int (*row_fn)(struct resolve *r, uint32_t source, const struct event_batch *b, uint32_t row, struct err *err);
int load_each(struct resolve *r, enum event_kind kind, uint32_t mask, row_fn row, struct err *err) MUST_CHECK;
int load_sources(struct resolve *r, struct err *err) MUST_CHECK;

/* NULL: it is no name of a worker; or, when it is to be made, out of memory. */
struct worker_name *worker_name(struct resolve *r, uint32_t name, bool make);
int worker_get(struct resolve *r, struct text name, uint32_t *ret, struct err *err) MUST_CHECK;
int worker_of_row(struct resolve *r, uint32_t source, const struct event_batch *b, uint32_t row, uint32_t *ret,
		  struct err *err) MUST_CHECK;
int workers_map(struct resolve *r, struct err *err) MUST_CHECK; /* after page_scan() */
int workers_write(struct resolve *r, struct err *err) MUST_CHECK;
void worker_seen(struct resolve *r, uint32_t worker, int64_t lo, int64_t hi, const struct ref_node *ref);

int page_scan(struct resolve *r, struct err *err) MUST_CHECK;
int page_join(struct resolve *r, struct err *err) MUST_CHECK;
/* After the workers are sorted. */
int page_ordered(struct resolve *r, struct buf *out, struct err *err) MUST_CHECK;
int page_doubted(struct resolve *r, struct buf *out, struct err *err) MUST_CHECK;
/* When the worker's page log begins and ends. */
void page_span(const struct resolve *r, const struct worker *w, int64_t *ret_from, int64_t *ret_to);
/* resolve_kinds.c: behind join_all() */
void kinds_hit(struct resolve *r, uint32_t worker, int64_t at, struct ref_node ref); /* in its prefix cache */
int kinds_look(struct resolve *r, struct err *err) MUST_CHECK;
bool kinds_lack(const struct worker *w); /* its page log never has a kind of record that its others need */
int gap_kinds(struct resolve *r, struct err *err) MUST_CHECK;
int clock_fit_all(struct resolve *r, struct err *err) MUST_CHECK;
int clock_write(struct resolve *r, struct err *err) MUST_CHECK;
/* When a source begins and ends, corrected. */
void clock_span(const struct source_info *s, int64_t *ret_from, int64_t *ret_to);
/* clock_cross.c: the same requests in several sources */
struct moment { /* when a name was seen by sources that are sure of the time */
	int64_t lo, hi;
	int64_t voted;   /* clock_skew.c: when the log that is measured first had it */
	uint32_t source; /* rank + 1 of that log */
};
struct clock_pass {                  /* only during clock_fit_all */
	struct shelf moments;        /* by name id */
	struct shelf between;        /* clock_zones.c */
	struct sightings *sightings; /* clock_peers.c */
};
int clock_vote(struct resolve *r, struct source_info *s, int kind, int64_t at, int64_t diff, struct ref_node ref,
	       struct err *err) MUST_CHECK;
int clock_decide(struct resolve *r, struct source_info *s, struct err *err) MUST_CHECK;
int clock_conflict(struct resolve *r, struct source_info *s, struct ref_node ref, struct text effect,
		   struct err *err) MUST_CHECK;
int clock_step(struct resolve *r, struct source_info *s, const struct clock_piece *before,
	       const struct clock_piece *after, const char *what, struct err *err) MUST_CHECK;
/* true: its stamps without a year moved by whole years, and its zone can be looked for. */
bool clock_year(struct source_info *s);
/* clock_zones.c: several zones in one source, one after another */
int zone_anchor(struct resolve *r, struct source_info *s, int kind, int quarter, int64_t at, struct ref_node ref,
		struct err *err) MUST_CHECK;
/* *ret: it has several, each proved by anchors of this kind. */
int zones_settle(struct resolve *r, struct source_info *s, int kind, bool *ret, struct err *err) MUST_CHECK;
/* Between two anchors, where did it change? Of sources for which nobody has asked yet. */
int zones_place(struct resolve *r, struct err *err) MUST_CHECK;
int zones_say(struct resolve *r, struct source_info *s, struct err *err) MUST_CHECK;
int clock_cross(struct resolve *r, struct err *err) MUST_CHECK;
int clock_skew(struct resolve *r, struct err *err) MUST_CHECK; /* clock_skew.c */
int skew_vote(struct resolve *r, struct source_info *src, int64_t at, int64_t lo, int64_t hi, struct ref_node ref,
	      struct err *err) MUST_CHECK;
/* against: those who measured it, in words. */
int skew_decide(struct resolve *r, struct source_info *s, const char *against, struct err *err) MUST_CHECK;
int clock_peers(struct resolve *r, struct err *err) MUST_CHECK; /* clock_peers.c: behind what gateways say */
/* The source's id columns of a leg or gateway event: id, room, id of the answer; 0 where there is none. */
int cross_ids(struct resolve *r, const struct event_batch *b, uint32_t row, uint32_t ids[3],
	      struct err *err) MUST_CHECK;
int moment_add(struct clock_pass *p, uint32_t id, int64_t lo, int64_t hi, struct err *err) MUST_CHECK;
struct moment *moment_of(struct clock_pass *p, uint32_t id); /* NULL: none */
void pages_seen(struct resolve *r); /* resolve_page.c: when page logs saw each worker, once their clocks are known */
int boot_load(struct resolve *r, struct err *err) MUST_CHECK;
int boots_date(struct resolve *r, struct err *err) MUST_CHECK; /* boot_undated.c: after boot_load() */
bool is_undated(const struct resolve *r, uint32_t worker);
int gap_undated(struct resolve *r, struct err *err) MUST_CHECK;
int boot_build(struct resolve *r, struct err *err) MUST_CHECK;
int boot_assign(struct resolve *r, struct err *err) MUST_CHECK; /* legs to boots, limits from rejections */
int boot_write(struct resolve *r, struct err *err) MUST_CHECK;
int leg_load(struct resolve *r, struct err *err) MUST_CHECK;
int leg_new(struct resolve *r, uint32_t worker, uint32_t rid, uint32_t room, struct leg **ret,
	    struct err *err) MUST_CHECK;
void leg_set_room(struct resolve *r, struct leg *l, uint32_t at, uint32_t room);
uint32_t norm_rid(struct resolve *r, uint32_t rid,
		  struct err *err);                         /* id without its prefix; 0: out of memory or none */
uint32_t norm_known(const struct resolve *r, uint32_t rid); /* the same; 0: nothing has that name */
/* One log writes an id with its prefix, another without. The prompts of one call stay apart. */
uint32_t bare_id(const struct resolve *r, uint32_t id);
int stray_attach(struct resolve *r, struct err *err) MUST_CHECK;
int life_load(struct resolve *r, struct err *err) MUST_CHECK;
bool life_has_room(const struct resolve *r, const struct life *l, uint32_t room);
struct busy *busy_find(const struct resolve *r, uint32_t key); /* NULL: its chain is short */
int busy_make(struct resolve *r, uint32_t key, struct err *err) MUST_CHECK;
int busy_add(struct resolve *r, struct busy *b, uint32_t life, struct err *err) MUST_CHECK;
void busy_changed(const struct resolve *r, struct busy *b, uint32_t life);
void busy_done(struct resolve *r);
struct hop hop_at(const struct resolve *r, uint32_t hop); /* 0: not there */
void hop_take(struct hop *best, struct hop other);
int64_t life_status(const struct resolve *r, const struct life *l);
int join_nodes(struct resolve *r, struct err *err) MUST_CHECK; /* union-find only */
/* Does this lifetime carry an id of a kind that joins its log with engines? One that does and finds none has none there. */
bool join_has_key(const struct resolve *r, const struct life *l);
int join_fits(struct resolve *r, struct err *err) MUST_CHECK; /* last of them: by time and length */
uint32_t join_root(struct resolve *r, uint32_t node);
/* Joins the set of `added` to that of `to`. false: refused, and both are marked. */
bool join_pair(struct resolve *r, uint32_t to, uint32_t added, enum rule rule);
int join_all(struct resolve *r, struct err *err) MUST_CHECK; /* union-find, requests, attempts, names */
/* Which layer each source belongs to: of those that may say one id, each says it of the same request. */
void layers_name(struct resolve *r);
int layer_says(struct resolve *r, unsigned layer, uint32_t id, struct err *err) MUST_CHECK;
int apart_find(struct resolve *r, struct err *err) MUST_CHECK; /* behind join_all(): r->twice, gaps' numbers */
/* The leg that gave the answer, or NULL. */
const struct leg *request_answer(const struct resolve *r, const struct request *q);
int request_write(struct resolve *r, struct err *err) MUST_CHECK;
/* The row of a request's response, if it has one; *id: of the last row. */
int response_write(struct resolve *r, struct row_writer *w, const struct request *q, int64_t *id,
		   struct err *err) MUST_CHECK;
/* Bits of what the records of one request contradict each other in: its outcome, its length. */
uint32_t response_conflicts(const struct resolve *r, const struct request *q);
int gap_collect(struct resolve *r, struct err *err) MUST_CHECK;
int gap_silences(struct resolve *r, struct err *err) MUST_CHECK; /* gap_quiet.c */
int gap_asked(struct resolve *r, struct err *err) MUST_CHECK;    /* gap_asked.c */
int gap_begun(struct resolve *r, struct err *err) MUST_CHECK;    /* gap_begun.c */
int gap_names(struct resolve *r, struct err *err) MUST_CHECK;    /* gap_names.c */
void mixed_see(struct resolve *r, uint32_t worker, uint32_t source, int64_t at, struct ref_node ref);
void mixed_end(struct worker *w); /* behind the last of a kind of record */
bool is_mixed(const struct resolve *r, uint32_t worker);
int gap_mixed(struct resolve *r, struct err *err) MUST_CHECK;
int twins_look(struct resolve *r,
	       struct err *err) MUST_CHECK; /* resolve_twins.c: after leg_load(), before boot_build() */
int gap_write(struct resolve *r, struct err *err) MUST_CHECK;
