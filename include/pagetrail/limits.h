/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - every limit of the program, each with its reason; tests stand at each of them */
#pragma once

#define KIB ((size_t)1024)
#define MIB (KIB * 1024)

/* Longest record given to a parser. A logged prompt of one million tokens is about 5 MB of text, escaped
 * perhaps 8; beyond this a record is kept as evidence and counted unparsed ("too_long"). */
#define RECORD_MAX_BYTES         (16 * MIB)
/* Bytes of a binary record within which it says its length. */
#define LENGTH_HEAD_MAX_BYTES    (4 * KIB)
/* Binary records that are tried where the place was lost: bytes of them in all, at the start and for each byte passed. */
#define RESYNC_START_BYTES       (2 * RECORD_MAX_BYTES)
#define RESYNC_BYTES_EACH        4
/* A whole-document format (server_info, kubectl get -o json) is read into memory up to this size. */
#define DOCUMENT_MAX_BYTES       (16 * MIB)
/* Answers, and tables of regimes, that a person writes. */
#define SIDE_FILE_MAX_BYTES      (4 * MIB)
/* An earlier issue of a report, whose tables have 20,000 rows at most; its tree takes some ten times as much memory. */
#define BEFORE_MAX_BYTES         (128 * MIB)
#define ISSUE_MAX                100000
/* A policy: an OSV document with some thousands of versions; and its list of commits, about a million lines. */
#define POLICY_MAX_BYTES         (4 * MIB)
#define POLICY_COMMITS_MAX_BYTES (64 * MIB)
/* Entries of affected[] (a bit mask of 64 says which decided), and members of every other list in it. */
#define POLICY_ENTRIES_MAX       64
#define POLICY_LIST_MAX          4096
#define POLICY_SUMMARY_MAX_BYTES (4 * KIB)
/* Keys that are not known, and are named one by one. */
#define POLICY_WARNINGS_MAX      20
/* A key is some hundred bytes of PEM; a signed payload is a document of ours, of at most 100000 replicas with some kilobytes each; and
 * who checks an envelope of somebody else tries so many signatures. */
#define SIGNING_KEY_MAX_BYTES    (64 * KIB)
#define SIGNED_MAX_BYTES         (512 * MIB)
#define SIGNATURES_MAX           64
/* A text or page that `lint` reads; and one sentence of it: what is longer is judged in pieces. */
#define LINT_MAX_BYTES           (64 * MIB)
#define SENTENCE_MAX_BYTES       (64 * KIB)
/* Lines of a list of holidays: a century of them for some countries. */
#define HOLIDAYS_MAX             10000
/* Replicas of an inventory; and memory for what a case says of the versions of its replicas: a snapshot a minute of a hundred
 * replicas for a month. */
#define INVENTORY_ROWS_MAX       100000
#define DEPLOY_MAX_BYTES         (1024 * MIB)
/* Rows of a manifest: what a thousand bytes each make of a million files. */
#define MANIFEST_MAX_BYTES       (1024 * MIB)
/* Evidence chunk: large enough to compress well, small enough that `show` of one record is cheap. */
#define EVIDENCE_CHUNK_BYTES     (1 * MIB)
/* Events of one kind in one column chunk; a chunk is closed earlier when its text or page runs reach
 * EVENT_BATCH_MAX_BYTES, so that memory stays bounded whatever the records hold. */
#define EVENT_BATCH_MAX          65536
#define EVENT_BATCH_MAX_BYTES    (8 * MIB)
/* Columns of one event kind (a bit mask of 32 selects them). */
#define EVENT_COLUMNS_MAX        24
/* A chunk blob read back from a case may claim any size; nothing above this is allocated. */
#define CHUNK_MAX_DECODED_BYTES  (64 * MIB)
/* Names of requests that are sorted in memory at a time, eight bytes each; what is in memory of each such run while they are merged:
 * half a million names more are 16 KiB more. */
#define NAMES_RUN_BYTES          (4 * MIB)
#define NAMES_MERGE_RUN_BYTES    (16 * KIB)
/* Rows of a table of requests that an index of one column is made for, twelve bytes each (48 MiB): a larger one is read through. */
#define ROW_INDEX_MAX_ROWS       (4 << 20)
/* Identifiers (rid, tenant, model, worker): longer ones are cut and flagged; a hostile client chooses some of them. */
#define NAME_MAX_BYTES           256
/* Messages kept in events (error texts): the original stays in evidence. */
#define MESSAGE_MAX_BYTES        512
/* Pages of one pool, tokens of one prompt: plausibility bounds against hostile numbers
 * (a 1 TiB pool of 1-token pages is below; memory of the sweep is proportional to pages). */
#define POOL_MAX_PAGES           (64u * 1024 * 1024)
/* Pages that the replay of one boot touches before it is given up: a million requests of 8000 tokens on a pool of single
 * tokens; about half a minute. */
#define REPLAY_WORK_MAX          (UINT64_C(1) << 34)
#define TOKENS_MAX               ((int64_t)1 << 40)
/* Page runs in one record. */
#define PAGE_RUNS_MAX            (1u << 20)
/* Block hashes and events in one record of a prefix cache: a batch of several prompts of a million tokens, where a block
 * holds one token. */
#define CACHE_BLOCKS_MAX         (4u << 20)
/* A worker's page records that are not in order (shuffled or interleaved files) are sorted in memory, about 130 bytes
 * each: enough for a page log of more than a gigabyte; a larger one has to be put in order before. */
#define PAGE_SORT_MAX_BYTES      (1024 * MIB)
/* Pages that a sweep touches one by one before it looks at how many a record has on average: above
 * SWEEP_DENSE_PAGES it goes over to runs (a few bytes of log may name 64 million pages). */
#define SWEEP_DENSE_TOUCHES      (UINT64_C(1) << 29)
#define SWEEP_DENSE_PAGES        (UINT64_C(1) << 16)
/* Lines looked at when a format is detected, and how far into the source. Container output often begins
 * with hundreds of lines of installer chatter before the engine says anything. */
#define DETECT_RECORDS           4096
#define DETECT_BYTES             (1 * MIB)
/* Where that says nothing, the same is done with what comes behind it: past one record of the longest kind, and past hours of
 * chatter. All formats bid on it, a tenth of a second for a file that none of them knows. */
#define DETECT_FAR_BYTES         (RECORD_MAX_BYTES + DETECT_BYTES)
#define DETECT_FAR_RECORDS       (16 * DETECT_RECORDS)
/* Two bids closer than this (per mille) are a tie, and a tie is refused. */
#define DETECT_MARGIN            100
/* Maps of earlier runs that a case is asked for, when one of its files has grown. */
#define MAPS_KEPT_MAX            64
/* Members of one archive, and nesting of containers (tar in zst in tar): bombs stop here. */
#define ARCHIVE_MEMBERS_MAX      100000
#define ARCHIVE_DEPTH_MAX        3
/* Wrappers in wrappers: CRI lines in the JSON of a collector in that of another. More is a mistake, or hostile. */
#define WRAP_DEPTH_MAX           4
/* Origins (pod, container, stdout or stderr) of one wrapped source that are followed at the same time, each with its
 * parser's state. The one that was silent longest goes when another comes; its unfinished record is then torn. */
#define ORIGINS_MAX              1024
/* Pieces of inner records that wait for their end, of all origins of a source together. */
#define JOIN_MAX_BYTES           (32 * MIB)
/* Outer records that the pieces of one inner record may lie apart in runs; a runtime's pieces lie next to each other but for
 * what the other stream wrote in between. */
#define JOIN_RUNS_MAX            4096
/* A reference to an inner record spans its first to its last piece, up to this; beyond, its last ones. */
#define JOIN_SPAN_MAX_BYTES      (64 * MIB)
/* A record that a rotation cut, its lines in all files together: no longer than a record. */
#define SEAM_MAX_BYTES           RECORD_MAX_BYTES
/* Its pieces on both sides were seen at most so far apart, and at most one SEAM_SHARE of the time that the shorter file covers: a file
 * that is missing between the two would leave about the time of a file, which a runtime needs for its 10 MiB. */
#define SEAM_APART_NS            INT64_C(100000000)
#define SEAM_SHARE               4
/* JSON nesting accepted from logs. */
#define JSON_DEPTH_MAX           64
#define XML_DEPTH_MAX            64 /* a bill of materials nests as its JSON does */
/* PCRE2: a pattern that backtracks more than this is a miss, not a hang. */
#define PATTERN_MATCH_LIMIT      100000
#define PATTERN_DEPTH_LIMIT      1000
/* Default ceiling of one arena. */
#define ARENA_MAX_BYTES          (256 * MIB)
/* Planted markers in one file; each is searched for in about a dozen spellings, with quotes and the like in it in up to 64. A shorter
 * one would be found by chance. */
#define MARKERS_MAX              20000
/* What all files of a case say of markers, and all spellings; more is said as a gap. */
#define MARKERS_ALL_MAX          (5 * MARKERS_MAX)
#define MARKER_SPELLINGS_MAX     (1u << 20)
#define MARKER_MIN_BYTES         6
#define MARKER_MAX_BYTES         256
/* Places where markers were seen that a case keeps, about 100 bytes each; more is said as a gap. */
#define SIGHTINGS_MAX            (1u << 18)
/* References behind one predicate of an explanation: what it rests on, not everything that was said. */
#define EXPLAIN_REFS_BYTES       (8 * KIB)
/* Original lines that an explanation on paper or a terminal quotes for one predicate, and bytes of each; the rest is counted. */
#define EXPLAIN_LINES_MAX        8
#define EXPLAIN_LINE_MAX_BYTES   240
/* Header lines that are sent to nodes, and bytes of their file. A value that comes back is overwritten, but none so short that it
 * stands in any answer. */
#define LIVE_HEADERS_MAX         64
#define LIVE_HEADERS_MAX_BYTES   (16 * KIB)
#define LIVE_SECRET_MIN_BYTES    6
#define LIVE_NEEDLES_MAX         2048
/* What a peer may send of headers, of which most send one KiB. */
#define LIVE_ANSWER_HEADER_BYTES (256 * KIB)
/* One answer: a scrape of a large engine is about one MiB. Above LIVE_BYTES_MAX its record, escaped, would not fit into
 * RECORD_MAX_BYTES. */
#define LIVE_BYTES               (4 * MIB)
#define LIVE_BYTES_MAX           (6 * MIB)
/* Answers in memory at a time, four for each node that is asked. */
#define LIVE_PARALLEL_MAX        32
/* Nodes asked in one run, of a fleet some times as large as any. */
#define LIVE_NODES_MAX           10000
/* Probes of a plan, as markers of a file; tokens of one, a body of 40 MB. */
#define LIVE_PROBES_MAX          MARKERS_MAX
#define LIVE_PROBE_TOKENS_MAX    (1 << 23)
/* A command line table cell. */
#define CELL_MAX_BYTES           4096
/* A picture is for one look: workers in it (those with affected responses first), rows that are kept to draw it (about 100
 * bytes each), and reads in a graph, above which requests are drawn together by tenant, and tenants by each other until there are
 * few enough arrows to follow. What is left out is said in it. */
#define PICTURE_LANES_MAX        40
#define PICTURE_ROWS_MAX         ((size_t)4 << 20)
#define PICTURE_EDGES_MAX        100
#define PICTURE_ARROWS_MAX       60
