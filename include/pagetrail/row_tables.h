/* SPDX-License-Identifier: Apache-2.0 */
/* row_tables.h - the tables with a row for each request and its parts: column chunks of 4096 rows, read as virtual tables
 *
 * They follow from the events, are written once, from the first row to the last, in ascending order of `request`, and are
 * never changed: so they need neither SQLite's rows nor its indexes. A statement reads them as request, alias, leg and
 * response; looking up a row's number, a request or (request.name, alias.value) a text decodes the chunks that may hold
 * it, a text by an index of hashes. Format: docs/store-format.md.
 */
#pragma once

#include "pagetrail/case.h"
#include "pagetrail/evidence.h"

/* X(enumerator, name, type, unit, meaning); docs/schema.md is generated from these. The first column of request, leg and
 * response is the number of the row. */
#define ROWS_REQUEST_COLUMNS(X)                                                                                       \
	X(REQUEST_REQUEST, "request", ROW_INT, "", "number, from 1")                                                  \
	X(REQUEST_NAME, "name", ROW_TEXT, "", "gateway id, else decode rid, else any rid; made unique with #2, #3 …") \
	X(REQUEST_TENANT, "tenant", ROW_INT, "", "row of tenant")                                                     \
	X(REQUEST_MODEL, "model", ROW_TEXT, "", "")                                                                   \
	X(REQUEST_FIRST_NS, "first_ns", ROW_INT, "ns", "first sign of life")                                          \
	X(REQUEST_LAST_NS, "last_ns", ROW_INT, "ns", "last one")                                                      \
	X(REQUEST_CONFLICT, "conflict", ROW_TEXT, "", "why ids contradict each other, or NULL")

#define ROWS_ALIAS_COLUMNS(X)                                                               \
	X(ALIAS_REQUEST, "request", ROW_INT, "", "row of request")                          \
	X(ALIAS_KIND, "kind", ROW_TEXT, "", "gateway_id, response_id, trace_id, rid, room") \
	X(ALIAS_VALUE, "value", ROW_TEXT, "", "the id as the logs have it")                 \
	X(ALIAS_WORKER, "worker", ROW_INT, "", "row of worker, for ids of one engine")      \
	X(ALIAS_RULE, "rule", ROW_TEXT, "",                                                 \
	  "what joined it: own, room, response_id, gateway_id, trace_id, time_and_length, child, conflict …")

#define ROWS_LEG_COLUMNS(X)                                                                                         \
	X(LEG_ROW_LEG, "leg", ROW_INT, "", "number, from 1")                                                        \
	X(LEG_ROW_REQUEST, "request", ROW_INT, "", "row of request")                                                \
	X(LEG_ROW_ATTEMPT, "attempt", ROW_INT, "", "1, then 2 for the next try …")                                  \
	X(LEG_ROW_WORKER, "worker", ROW_INT, "", "row of worker")                                                   \
	X(LEG_ROW_BOOT, "boot", ROW_INT, "", "row of boot")                                                         \
	X(LEG_ROW_ROLE, "role", ROW_TEXT, "", "prefill, decode, unified; NULL unknown")                             \
	X(LEG_ROW_RID, "rid", ROW_TEXT, "", "the engine's id")                                                      \
	X(LEG_ROW_ROOM, "room", ROW_TEXT, "", "id of the hand-off")                                                 \
	X(LEG_ROW_STARTED_NS, "started_ns", ROW_INT, "ns", "")                                                      \
	X(LEG_ROW_FINISHED_NS, "finished_ns", ROW_INT, "ns", "")                                                    \
	X(LEG_ROW_INPUT_TOKENS, "input_tokens", ROW_INT, "tokens", "")                                              \
	X(LEG_ROW_INPUT_FLAG, "input_flag", ROW_TEXT, "", "how sure that number is")                                \
	X(LEG_ROW_CACHED_TOKENS, "cached_tokens", ROW_INT, "tokens", "")                                            \
	X(LEG_ROW_OUTPUT_TOKENS, "output_tokens", ROW_INT, "tokens", "")                                            \
	X(LEG_ROW_REJECTED_TOKENS, "rejected_tokens", ROW_INT, "tokens",                                            \
	  "length that the engine refused, from its rejection")                                                     \
	X(LEG_ROW_LIMIT_TOKENS, "limit_tokens", ROW_INT, "tokens", "limit named by that rejection")                 \
	X(LEG_ROW_OUTCOME, "outcome", ROW_TEXT, "", "finished, rejected, truncated, aborted, failed, or late_read") \
	X(LEG_ROW_FINISH_REASON, "finish_reason", ROW_TEXT, "", "")                                                 \
	X(LEG_ROW_STATUS, "status", ROW_INT, "", "HTTP status")                                                     \
	X(LEG_ROW_MESSAGE, "message", ROW_TEXT, "", "the engine's own words")                                       \
	X(LEG_ROW_BATCH, "batch", ROW_INT, "", "requests in it, when it is a batch")                                \
	X(LEG_ROW_REFS, "refs", ROW_REFS, "", "records that say so")

#define ROWS_RESPONSE_COLUMNS(X)                                                                      \
	X(RESPONSE_RESPONSE, "response", ROW_INT, "", "number, from 1")                               \
	X(RESPONSE_REQUEST, "request", ROW_INT, "", "row of request")                                 \
	X(RESPONSE_ATTEMPTS, "attempts", ROW_INT, "", "")                                             \
	X(RESPONSE_STATUS, "status", ROW_INT, "", "HTTP status")                                      \
	X(RESPONSE_STREAMED, "streamed", ROW_INT, "", "1 yes, 0 no")                                  \
	X(RESPONSE_PROMPT_TOKENS, "prompt_tokens", ROW_INT, "tokens", "")                             \
	X(RESPONSE_PROMPT_TOKENS_FLAG, "prompt_tokens_flag", ROW_TEXT, "", "how sure that number is") \
	X(RESPONSE_COMPLETION_TOKENS, "completion_tokens", ROW_INT, "tokens", "")                     \
	X(RESPONSE_BYTES_SENT, "bytes_sent", ROW_INT, "bytes", "")                                    \
	X(RESPONSE_DELIVERED, "delivered", ROW_TEXT, "", "yes, no, unknown")                          \
	X(RESPONSE_DELIVERED_BASIS, "delivered_basis", ROW_TEXT, "", "what says so")                  \
	X(RESPONSE_STARTED_NS, "started_ns", ROW_INT, "ns", "")                                       \
	X(RESPONSE_FINISHED_NS, "finished_ns", ROW_INT, "ns", "")                                     \
	X(RESPONSE_REFS, "refs", ROW_REFS, "", "records that say so")

/* Tables in the order of row_chunk.tab. */
#define ROW_TABLES_LIST(X) X(REQUEST) X(ALIAS) X(LEG) X(RESPONSE)

#define X(name) ROWS_##name,
enum row_table { ROW_TABLES_LIST(X) ROW_TABLES };
#undef X
#define X(id, name, type, unit, meaning) id,
enum { ROWS_REQUEST_COLUMNS(X) REQUEST_COLUMNS };
enum { ROWS_ALIAS_COLUMNS(X) ALIAS_COLUMNS };
enum { ROWS_LEG_COLUMNS(X) LEG_ROW_COLUMNS };
enum { ROWS_RESPONSE_COLUMNS(X) RESPONSE_COLUMNS };
#undef X

/* The index of request.name and alias.value: gathers while both are written, and is written behind them. */
struct row_names;
int row_names_new(struct row_names **ret, struct case_file *c, struct err *err) MUST_CHECK;
void row_names_free(struct row_names *x); /* accepts NULL */
DEFINE_CLEANUP(struct row_names *, row_names_free)
int row_names_end(struct row_names *x,
		  struct err *err) MUST_CHECK; /* after the row_end() of both; may be called once */

/* Writes a table from its first row on; what the case has of it must be gone (row_tables_clear). One at a time for a table.
 * names: not used for legs and responses; must stay until row_end(). */
struct row_writer;
int row_writer_open(struct row_writer **ret, struct case_file *c, enum row_table table, struct row_names *names,
		    struct err *err) MUST_CHECK;
void row_writer_free(
    struct row_writer *w); /* without row_end(): rows since the last full chunk are lost. Accepts NULL */
DEFINE_CLEANUP(struct row_writer *, row_writer_free)
/* Cells of the row at hand; those that are not set are NULL, as INT64_MIN is and a text without ptr. Texts are copied; a
 * failure to is told by row_next(). */
void row_put_int(struct row_writer *w, unsigned column, int64_t v);
void row_put_text(struct row_writer *w, unsigned column, struct text v);
void row_put_ref(struct row_writer *w, unsigned column, struct ref ref); /* one more in the row's list */
/* Ends the row. */
int row_next(struct row_writer *w, struct err *err) MUST_CHECK;
int row_end(struct row_writer *w, struct err *err) MUST_CHECK; /* writes what is left */

int row_tables_clear(struct case_file *c, struct err *err) MUST_CHECK;
/* Adds all rows of these tables to the digest. ERR_DAMAGED when a chunk is not what its hash says. */
int row_tables_digest(struct case_file *c, struct sha256 *h, struct err *err) MUST_CHECK;
/* Between derived_shadow() and derived_unshadow(): reports the first row of each table that is not as it was made again
 * ("table leg, row 7"). 1: something was reported. */
int row_tables_compare(struct case_file *c, int (*report)(void *ctx, struct text where, struct text what), void *ctx,
		       struct err *err) MUST_CHECK;
int row_tables_count(struct case_file *c, enum row_table table, int64_t *ret, struct err *err) MUST_CHECK;
