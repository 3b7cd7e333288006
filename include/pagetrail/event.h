/* SPDX-License-Identifier: Apache-2.0 */
/* event.h - the typed facts that parsers take out of records: kinds, columns, one row, a batch of rows
 *
 * An event kind is a table with fixed, documented columns. The list below is the only place where a kind or a
 * column is declared: the chunk codec, the virtual tables, the docs and the golden dumps follow from it. Column
 * numbers are stored in cases: append, never reorder.
 *
 * Every event also has: ts_ns, ts_quality, worker (text: "" = the source's own worker; "/dp3" = that worker's
 * rank; anything else = a worker named by the record itself), source, byte_off, byte_len (its record).
 * No prompt and no answer text is ever put into an event: lengths, counts, ids and messages of the engine only.
 */
#pragma once

#include "pagetrail/arena.h"
#include "pagetrail/limits.h"
#include "pagetrail/stamp.h"

enum column_type { COLUMN_INT = 1, COLUMN_TEXT = 2, COLUMN_PAGES = 3 };

enum event_kind {
	EVENT_BOOT = 0,    /* what one engine process says of itself when it starts (or in a snapshot) */
	EVENT_LEG = 1,     /* what an engine says of one request */
	EVENT_GATEWAY = 2, /* what a gateway or router says of one request */
	EVENT_PAGE = 3,    /* what an allocator says of pages */
	EVENT_LOAD = 4,    /* batch lines: occupancy and pressure, no ids */
	EVENT_CACHE = 5,   /* what a prefix cache says of its blocks: hashes, neither pages nor requests */
	EVENT_INSTALL =
	    6, /* what is built, ordered or installed somewhere, said from outside of the engine's process */
	EVENT_KINDS,
};

/* X(ENUM, "name", type, "unit", "meaning") */
#define EVENT_BOOT_COLUMNS(X)                                                                                     \
	X(BOOT_WHAT, "what", COLUMN_TEXT, "", "start|args|pool|ready|snapshot|stop")                              \
	X(BOOT_ENGINE, "engine", COLUMN_TEXT, "", "engine's name: sglang|vllm")                                   \
	X(BOOT_VERSION, "version", COLUMN_TEXT, "", "version string as reported")                                 \
	X(BOOT_COMMIT, "commit_id", COLUMN_TEXT, "", "source revision, if said")                                  \
	X(BOOT_MODEL, "model", COLUMN_TEXT, "", "served model name or model path")                                \
	X(BOOT_ROLE, "role", COLUMN_TEXT, "", "prefill|decode|unified")                                           \
	X(BOOT_BACKEND, "transfer_backend", COLUMN_TEXT, "", "KV transfer back-end")                              \
	X(BOOT_HOST, "host", COLUMN_TEXT, "", "address it listens on")                                            \
	X(BOOT_PORT, "port", COLUMN_INT, "", "port it listens on")                                                \
	X(BOOT_CONTEXT, "context_len", COLUMN_INT, "tokens", "configured context window")                         \
	X(BOOT_POOL, "pool_tokens", COLUMN_INT, "tokens", "KV pool of this worker")                               \
	X(BOOT_PAGE_SIZE, "page_size", COLUMN_INT, "tokens", "tokens in one page")                                \
	X(BOOT_INPUT_LIMIT, "input_limit", COLUMN_INT, "tokens", "length at which input is rejected, as printed") \
	X(BOOT_AUTO_TRUNCATE, "auto_truncate", COLUMN_INT, "bool", "1 when over-long prompts are cut and served") \
	X(BOOT_DP_SIZE, "dp_size", COLUMN_INT, "", "data-parallel ranks of this server")                          \
	X(BOOT_TP_SIZE, "tp_size", COLUMN_INT, "", "tensor-parallel ranks")                                       \
	X(BOOT_DRAFT, "draft", COLUMN_INT, "bool", "1 when the pool line belongs to a draft model")               \
	X(BOOT_ENGINE_ID, "engine_id", COLUMN_TEXT, "",                                                           \
	  "name that the engine gives itself towards the other side of a hand-off")

#define EVENT_LEG_COLUMNS(X)                                                                                  \
	X(LEG_WHAT, "what", COLUMN_TEXT, "", "received|finished|rejected|truncated|aborted|failed|retracted") \
	X(LEG_RID, "rid", COLUMN_TEXT, "", "engine request id")                                               \
	X(LEG_ROOM, "room", COLUMN_TEXT, "", "bootstrap_room, decimal")                                       \
	X(LEG_ROLE, "role", COLUMN_TEXT, "", "prefill|decode|unified")                                        \
	X(LEG_INPUT, "input_tokens", COLUMN_INT, "tokens", "prompt length this leg worked on")                \
	X(LEG_INPUT_FLAG, "input_flag", COLUMN_TEXT, "", "exact|at_least|estimate")                           \
	X(LEG_CACHED, "cached_tokens", COLUMN_INT, "tokens", "served from the prefix cache")                  \
	X(LEG_OUTPUT, "output_tokens", COLUMN_INT, "tokens", "tokens generated")                              \
	X(LEG_LIMIT, "limit_tokens", COLUMN_INT, "tokens", "the limit that a rejection names")                \
	X(LEG_FINISH, "finish_reason", COLUMN_TEXT, "", "stop|length|abort|…")                                \
	X(LEG_STATUS, "status", COLUMN_INT, "", "HTTP status that the engine says it gives")                  \
	X(LEG_MESSAGE, "message", COLUMN_TEXT, "", "engine's own error text, cut")                            \
	X(LEG_STARTED, "started_ns", COLUMN_INT, "ns", "when the leg began, epoch clock")                     \
	X(LEG_FINISHED, "finished_ns", COLUMN_INT, "ns", "when the leg ended, epoch clock")                   \
	X(LEG_SENT, "first_sent_ns", COLUMN_INT, "ns", "first byte sent to the caller, epoch clock")          \
	X(LEG_MODEL, "model", COLUMN_TEXT, "", "model asked for")                                             \
	X(LEG_STREAM, "streamed", COLUMN_INT, "bool", "1 when the answer was streamed")                       \
	X(LEG_BATCH, "batch", COLUMN_INT, "", "requests in the batch this one came in; 1 = alone")            \
	X(LEG_RETRACTIONS, "retractions", COLUMN_INT, "", "times its pages were taken away")                  \
	X(LEG_RANK, "rank", COLUMN_TEXT, "", "tags of the rank that wrote the line, e.g. DP0 TP3")            \
	X(LEG_TRACE, "trace_id", COLUMN_TEXT, "", "trace id")

#define EVENT_GATEWAY_COLUMNS(X)                                                                             \
	X(GATEWAY_WHAT, "what", COLUMN_TEXT, "",                                                             \
	  "started|finished|prefill_error|decode_error|retry|error|access|call")                             \
	X(GATEWAY_ID, "gateway_id", COLUMN_TEXT, "", "the gateway's request id (x-request-id)")              \
	X(GATEWAY_RESPONSE_ID, "response_id", COLUMN_TEXT, "", "id inside the response body")                \
	X(GATEWAY_TRACE_ID, "trace_id", COLUMN_TEXT, "", "trace id")                                         \
	X(GATEWAY_ROOM, "room", COLUMN_TEXT, "", "bootstrap_room, decimal; of a batch all, with commas")     \
	X(GATEWAY_TENANT, "tenant", COLUMN_TEXT, "", "tenant, account or key owner")                         \
	X(GATEWAY_MODEL, "model", COLUMN_TEXT, "", "model asked for")                                        \
	X(GATEWAY_STATUS, "status", COLUMN_INT, "", "HTTP status")                                           \
	X(GATEWAY_INPUT, "prompt_tokens", COLUMN_INT, "tokens", "prompt length as counted for the response") \
	X(GATEWAY_INPUT_FLAG, "prompt_tokens_flag", COLUMN_TEXT, "", "exact|at_least|estimate")              \
	X(GATEWAY_OUTPUT, "completion_tokens", COLUMN_INT, "tokens", "tokens answered")                      \
	X(GATEWAY_BYTES_IN, "bytes_received", COLUMN_INT, "bytes", "request body")                           \
	X(GATEWAY_BYTES_OUT, "bytes_sent", COLUMN_INT, "bytes", "response body")                             \
	X(GATEWAY_STREAM, "streamed", COLUMN_INT, "bool", "1 when the answer was streamed")                  \
	X(GATEWAY_STARTED, "started_ns", COLUMN_INT, "ns", "request began")                                  \
	X(GATEWAY_FINISHED, "finished_ns", COLUMN_INT, "ns", "response ended")                               \
	X(GATEWAY_UPSTREAM, "upstream", COLUMN_TEXT, "", "worker address the gateway used")                  \
	X(GATEWAY_FINISH, "finish_reason", COLUMN_TEXT, "", "stop|length|error|abort|…")                     \
	X(GATEWAY_MESSAGE, "message", COLUMN_TEXT, "", "error text, cut")                                    \
	X(GATEWAY_CLIENT_GONE, "client_gone", COLUMN_INT, "bool", "1 when the client left before the end")   \
	X(GATEWAY_BATCH, "batch", COLUMN_INT, "", "responses whose usage is summed here; 1 = one")           \
	X(GATEWAY_ROUTE, "route", COLUMN_TEXT, "", "path asked for, without query")

#define EVENT_PAGE_COLUMNS(X)                                                                      \
	X(PAGE_OP, "op", COLUMN_TEXT, "", "boot|reset|alloc|write|recv|send|read|share|free|zero") \
	X(PAGE_SEQ, "seq", COLUMN_INT, "", "order within worker and boot")                         \
	X(PAGE_POOL, "pool", COLUMN_TEXT, "", "pool name")                                         \
	X(PAGE_RID, "rid", COLUMN_TEXT, "", "engine request id of this leg")                       \
	X(PAGE_ROOM, "room", COLUMN_TEXT, "", "bootstrap_room, decimal")                           \
	X(PAGE_PAGES, "pages", COLUMN_PAGES, "pages", "runs [first, count] in sequence order")     \
	X(PAGE_TOKEN_FROM, "token_from", COLUMN_INT, "tokens", "token range covered, inclusive")   \
	X(PAGE_TOKEN_TO, "token_to", COLUMN_INT, "tokens", "token range covered, exclusive")       \
	X(PAGE_SIZE, "page_size", COLUMN_INT, "tokens", "on boot")                                 \
	X(PAGE_POOL_PAGES, "pool_pages", COLUMN_INT, "pages", "on boot")                           \
	X(PAGE_PEER, "peer", COLUMN_TEXT, "", "other worker of a transfer")

#define EVENT_LOAD_COLUMNS(X)                                                                   \
	X(LOAD_WHAT, "what", COLUMN_TEXT, "", "prefill|decode|engine (both)")                   \
	X(LOAD_NEW_TOKENS, "new_tokens", COLUMN_INT, "tokens", "prompt tokens in this batch")   \
	X(LOAD_NEW_SEQS, "new_seqs", COLUMN_INT, "", "requests that joined")                    \
	X(LOAD_CACHED, "cached_tokens", COLUMN_INT, "tokens", "prefix cache hits")              \
	X(LOAD_RUNNING, "running", COLUMN_INT, "", "requests running")                          \
	X(LOAD_QUEUED, "queued", COLUMN_INT, "", "requests waiting")                            \
	X(LOAD_USED_TOKENS, "used_tokens", COLUMN_INT, "tokens", "pool tokens in use, if said") \
	X(LOAD_USAGE_PPM, "usage_ppm", COLUMN_INT, "ppm", "pool in use, parts per million")     \
	X(LOAD_RETRACTED, "retracted", COLUMN_INT, "", "requests retracted")

/* One row a block, or one where the record names none. */
#define EVENT_CACHE_COLUMNS(X)                                                                                         \
	X(CACHE_WHAT, "what", COLUMN_TEXT, "", "stored|removed|cleared")                                               \
	X(CACHE_SEQ, "seq", COLUMN_INT, "", "number of the message, as its publisher counts; a hole is a loss")        \
	X(CACHE_EVENT_ID, "event_id", COLUMN_INT, "", "number of the event, as its worker counts")                     \
	X(CACHE_AT, "at", COLUMN_INT, "", "place of the block in its event, from 0: rows with 0 count events")         \
	X(CACHE_BLOCK, "block", COLUMN_TEXT, "", "hash of the block, hex, 16 digits where it has 64 bits")             \
	X(CACHE_PARENT, "parent", COLUMN_TEXT, "", "hash of the block before the event's first one; on its first row") \
	X(CACHE_CONTENT, "content", COLUMN_TEXT, "", "second hash, of the block's tokens alone, hex")                  \
	X(CACHE_BLOCK_SIZE, "block_size", COLUMN_INT, "tokens", "tokens in a block, as the event says")                \
	X(CACHE_TOKENS, "tokens", COLUMN_INT, "tokens",                                                                \
	  "token ids in the event, counted and dropped; on its first row")                                             \
	X(CACHE_MEDIUM, "medium", COLUMN_TEXT, "", "where the block is kept, as written: GPU, CPU_PINNED, disk, …")    \
	X(CACHE_LORA, "lora", COLUMN_TEXT, "", "adapter: its name, else its number")                                   \
	X(CACHE_GROUP, "cache_group", COLUMN_TEXT, "", "group of layers that the block is of")                         \
	X(CACHE_TENANT, "tenant", COLUMN_TEXT, "", "tenant, where a store names one")                                  \
	X(CACHE_SALTED, "salted", COLUMN_INT, "bool",                                                                  \
	  "1 when the hash covers more than tokens: a salt, an image, an adapter")                                     \
	X(CACHE_RANK, "rank", COLUMN_INT, "", "data-parallel rank")                                                    \
	X(CACHE_TOPIC, "topic", COLUMN_TEXT, "", "topic that the message was published under")                         \
	X(CACHE_EPOCH, "epoch", COLUMN_TEXT, "", "name that the publisher gives its own lifetime")

/* How well a version is known: 0 the policy alone, 1 built, 2 ordered, 3 it lies there, 4 the process said it, 5 it behaves so. */
enum rung { RUNG_RELEASED, RUNG_BUILT, RUNG_ORDERED, RUNG_THERE, RUNG_PROCESS, RUNG_BEHAVED };

/* A package list, an image, a pod. The event's worker is the replica that it is said of; none: of no one replica. */
#define EVENT_INSTALL_COLUMNS(X)                                                                            \
	X(INSTALL_WHAT, "what", COLUMN_TEXT, "", "package|image|order|container|node")                      \
	X(INSTALL_RUNG, "rung", COLUMN_INT, "",                                                             \
	  "what it shows of a version: 1 it was built, 2 it was ordered, 3 it is where the replica runs")   \
	X(INSTALL_PACKAGE, "package", COLUMN_TEXT, "", "name of the package, as written")                   \
	X(INSTALL_VERSION, "version", COLUMN_TEXT, "", "version string, as written")                        \
	X(INSTALL_COMMIT, "commit_id", COLUMN_TEXT, "", "source revision, if said")                         \
	X(INSTALL_IMAGE, "image", COLUMN_TEXT, "", "container image, as written: a tag can be moved")       \
	X(INSTALL_DIGEST, "image_digest", COLUMN_TEXT, "", "sha256:… of the image, in lower case")          \
	X(INSTALL_CONTAINER, "container", COLUMN_TEXT, "", "name of the container in its pod")              \
	X(INSTALL_ROLE, "role", COLUMN_TEXT, "", "prefill|decode|unified, where a label says so")           \
	X(INSTALL_NODE, "node", COLUMN_TEXT, "", "machine")                                                 \
	X(INSTALL_STATE, "state", COLUMN_TEXT, "", "active|draining|retired|waiting")                       \
	X(INSTALL_STARTED, "started_ns", COLUMN_INT, "ns", "when the container started, its host's clock")  \
	X(INSTALL_ENDED, "ended_ns", COLUMN_INT, "ns", "when it ended")                                     \
	X(INSTALL_INSTALLED, "installed_ns", COLUMN_INT, "ns", "when the package was installed or ordered") \
	X(INSTALL_RESTARTS, "restarts", COLUMN_INT, "", "times the container was started again")            \
	X(INSTALL_WANTED, "wanted", COLUMN_INT, "", "replicas that were ordered")                           \
	X(INSTALL_WORKLOAD, "workload", COLUMN_TEXT, "",                                                    \
	  "what orders the container, kind/name: ReplicaSet/decode-5c9f")                                   \
	X(INSTALL_CONFIG, "image_config", COLUMN_TEXT, "",                                                  \
	  "sha256:… of the configuration of the same image, where one record says both")
#define EVENT_ENUM(id, name, type, unit, help) id,
enum boot_column { EVENT_BOOT_COLUMNS(EVENT_ENUM) BOOT_COLUMNS };
enum leg_column { EVENT_LEG_COLUMNS(EVENT_ENUM) LEG_COLUMNS };
enum gateway_column { EVENT_GATEWAY_COLUMNS(EVENT_ENUM) GATEWAY_COLUMNS };
enum page_column { EVENT_PAGE_COLUMNS(EVENT_ENUM) PAGE_COLUMNS };
enum load_column { EVENT_LOAD_COLUMNS(EVENT_ENUM) LOAD_COLUMNS };
enum cache_column { EVENT_CACHE_COLUMNS(EVENT_ENUM) CACHE_COLUMNS };
enum install_column { EVENT_INSTALL_COLUMNS(EVENT_ENUM) INSTALL_COLUMNS };
#undef EVENT_ENUM

struct event_column {
	const char *name;
	enum column_type type;
	const char *unit, *help;
};

struct event_kind_info {
	const char *name; /* boot leg gateway page load cache install; the virtual table is NAME_events */
	const char *help;
	const struct event_column *columns;
	unsigned n_columns;
	uint32_t texts, ints; /* a bit per column of that type */
};

extern const struct event_kind_info event_kinds[EVENT_KINDS];

struct page_run {
	uint32_t first, count;
};

/* One event while it is built. Unset columns are unknown: NULL in SQL, never 0 or "". */
struct event {
	enum event_kind kind;
	struct stamp ts;
	struct text worker;
	uint64_t byte_off;
	uint32_t byte_len;
	uint32_t known; /* bit per column */
	int64_t i[EVENT_COLUMNS_MAX];
	struct text t[EVENT_COLUMNS_MAX];
	const struct page_run *runs; /* of the kind's one COLUMN_PAGES column */
	uint32_t n_runs;
};

/* Many events of one kind, column-wise. Owns everything it points to (arena). */
struct event_batch {
	enum event_kind kind;
	uint32_t n, cap;
	size_t bytes;     /* text and runs held, for EVENT_BATCH_MAX_BYTES */
	uint32_t columns; /* mask of the columns that are filled (a scan decodes only what was asked for) */
	int64_t *ts_ns;
	uint8_t *ts_quality;
	struct text *worker;
	uint64_t *byte_off;
	uint32_t *byte_len;
	uint32_t *known;                  /* bit per column, per row */
	int64_t *ints[EVENT_COLUMNS_MAX]; /* NULL for other types */
	struct text *texts[EVENT_COLUMNS_MAX];
	struct page_run *runs;
	uint32_t *run_end; /* row r has runs [run_end[r-1], run_end[r]) */
	uint32_t runs_cap;
	struct arena arena;
};

int event_batch_new(struct event_batch **ret, enum event_kind kind, uint32_t cap, struct err *err) MUST_CHECK;
void event_batch_free(struct event_batch *b);
void event_batch_reset(struct event_batch *b); /* empty again, with the memory that it has */
/* Appends a copy. 1 when the batch is full (n == cap or bytes at the limit): nothing was appended. */
int event_batch_add(struct event_batch *b, const struct event *e, struct err *err) MUST_CHECK;
/* Where the runs of a row begin; NULL when no row of the batch has any. */
static inline const struct page_run *event_row_runs(const struct event_batch *b, uint32_t row)
{
	return b->runs ? b->runs + (row ? b->run_end[row - 1] : 0) : NULL;
}

static inline bool event_known(const struct event_batch *b, uint32_t row, unsigned column)
{
	return b->known[row] >> column & 1;
}
/* One line `kind ts quality worker off+len col=value …`, sanitised: golden files and `formats explain`. */
int event_dump(const struct event *e, struct buf *out, struct err *err) MUST_CHECK;
