-- SPDX-License-Identifier: Apache-2.0
-- schema.sql - the only DDL. Times are INTEGER nanoseconds UTC (_ns); tri-states are 'yes','no','unknown'; refs are JSON arrays of
-- "S<source>@<offset>+<length>". What a log did not say is NULL.

-- ---- custody
CREATE TABLE case_info(
  key   TEXT PRIMARY KEY,          -- id, title, tool, derived_from, begun:PATH (a run of ingest that did not end) …
  value TEXT NOT NULL
) STRICT;

CREATE TABLE journal(
  seq         INTEGER PRIMARY KEY, -- from 1, no holes
  at_ns       INTEGER NOT NULL,
  action      TEXT NOT NULL,       -- init, ingest, drop, resolve, salvage, unproved
  detail      TEXT NOT NULL,       -- JSON
  prev_sha256 BLOB NOT NULL,       -- 32 bytes; zeros in row 1
  sha256      BLOB NOT NULL
) STRICT;

CREATE TABLE source(
  source         INTEGER PRIMARY KEY,
  path           TEXT NOT NULL,    -- as given; members as ARCHIVE!MEMBER
  sha256         TEXT,             -- of the file as given
  content_sha256 TEXT,             -- of what was read out of it; NULL until the end was reached
  stored_bytes   INTEGER,          -- size of the file as given
  container      TEXT NOT NULL,    -- none, or e.g. gzip, tar+zstd
  format         TEXT,             -- parser's name; NULL when unrecognised
  format_basis   TEXT NOT NULL,    -- JSON: by (version), head (head.h), document (kinds of events that one of this format gives), score, runner_up, runner_up_score, records, reason, map, map_sha256
  worker         TEXT,             -- name of the worker whose log this is
  worker_alias   TEXT,             -- another name for it (file stem, when the records name host:port)
  worker_basis   TEXT,             -- option, sources, wrapper, record, path
  role           TEXT,             -- from --sources
  tz             TEXT NOT NULL,    -- zone applied to naive stamps
  tz_basis       TEXT NOT NULL,    -- option, sources, assumed, wrapper +08:00
  bytes          INTEGER NOT NULL DEFAULT 0,
  records        INTEGER NOT NULL DEFAULT 0,
  parsed         INTEGER NOT NULL DEFAULT 0,
  context        INTEGER NOT NULL DEFAULT 0,
  unparsed       INTEGER NOT NULL DEFAULT 0,
  duplicate      INTEGER NOT NULL DEFAULT 0,
  bytes_parsed    INTEGER NOT NULL DEFAULT 0,
  bytes_context   INTEGER NOT NULL DEFAULT 0,
  bytes_unparsed  INTEGER NOT NULL DEFAULT 0,
  bytes_duplicate INTEGER NOT NULL DEFAULT 0,
  first_ns       INTEGER,
  last_ns        INTEGER,
  status         TEXT NOT NULL,    -- reading, ingested, unrecognised, failed
  reason         TEXT
) STRICT;

-- ---- evidence: the exact bytes
CREATE TABLE evidence_chunk(
  source   INTEGER NOT NULL REFERENCES source,
  byte_off INTEGER NOT NULL,       -- in the content of the source
  byte_len INTEGER NOT NULL,
  sha256   BLOB NOT NULL,          -- of the original bytes
  codec    INTEGER NOT NULL,       -- 0 stored, 1 zstd, 2 lines (docs/store-format.md)
  data     BLOB NOT NULL,
  PRIMARY KEY(source, byte_off)
) STRICT;

CREATE TABLE reject(               -- records that were kept but not understood, in runs of one reason; several records may share bytes
  source   INTEGER NOT NULL REFERENCES source,
  byte_off INTEGER NOT NULL,
  byte_len INTEGER NOT NULL,
  records  INTEGER NOT NULL,
  reason   TEXT NOT NULL,
  PRIMARY KEY(source, byte_off, reason)
) STRICT;

-- ---- events: column chunks, read through the virtual tables KIND_events
CREATE TABLE event_chunk(
  chunk    INTEGER PRIMARY KEY,
  kind     INTEGER NOT NULL,       -- enum event_kind
  source   INTEGER NOT NULL REFERENCES source,
  byte_min INTEGER NOT NULL,       -- first record's offset
  byte_max INTEGER NOT NULL,
  n        INTEGER NOT NULL,
  ts_min   INTEGER,
  ts_max   INTEGER,
  sha256   BLOB NOT NULL,          -- of data
  data     BLOB NOT NULL
) STRICT;
CREATE INDEX event_chunk_by_kind ON event_chunk(kind, source, byte_min);

-- ---- dimensions: rebuilt by resolve from the events
CREATE TABLE worker(
  worker   INTEGER PRIMARY KEY,
  name     TEXT NOT NULL UNIQUE,
  role     TEXT,                   -- prefill, decode, unified; NULL unknown
  engine   TEXT,
  first_ns INTEGER, last_ns INTEGER,
  has_page_log INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE boot(
  boot          INTEGER PRIMARY KEY,
  worker        INTEGER NOT NULL REFERENCES worker,
  started_ns    INTEGER,           -- NULL: before the log begins
  ended_ns      INTEGER,           -- NULL: still running where the log ends
  engine        TEXT, version TEXT, commit_id TEXT, model TEXT, role TEXT, transfer_backend TEXT,
  context_len   INTEGER, pool_tokens INTEGER, page_size INTEGER,
  input_limit   INTEGER,
  input_limit_basis TEXT,          -- printed, rejection, derived
  auto_truncate INTEGER,
  refs          TEXT NOT NULL
) STRICT;

CREATE TABLE tenant(
  tenant INTEGER PRIMARY KEY,
  name   TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE row_chunk(            -- rows of request, alias, leg and response, column by column (docs/store-format.md)
  tab         INTEGER NOT NULL,    -- 0 request, 1 alias, 2 leg, 3 response
  first       INTEGER NOT NULL,    -- number of its first row
  n           INTEGER NOT NULL,
  request_min INTEGER NOT NULL,
  request_max INTEGER NOT NULL,
  sha256      BLOB NOT NULL,       -- of the columns before compression
  data        BLOB NOT NULL,
  PRIMARY KEY(tab, first, n, request_min, request_max) -- so that where rows are is read without their data
) STRICT;

CREATE TABLE name_block(           -- which requests may have a name or an id: hashes of request.name and alias.value (docs/store-format.md)
  block INTEGER PRIMARY KEY,       -- first hash in it, and how many blocks begin with that one
  data  BLOB NOT NULL
) STRICT;

CREATE TABLE gap(
  gap    INTEGER PRIMARY KEY,
  kind   TEXT NOT NULL,            -- sequence, unparsed, failed_source, unrecognised, torn, clock, clock_step, boot, unattached, quiet, rotation, markers, unanswered, interrupted
  source INTEGER REFERENCES source,
  worker INTEGER REFERENCES worker,
  from_ns INTEGER, to_ns INTEGER,
  missing INTEGER,                 -- how many records; of a rotation, interrupted: files; of a clock: requests; unanswered: answers; unattached: as effect says
  effect TEXT NOT NULL,
  refs   TEXT NOT NULL
) STRICT;

CREATE TABLE clock(
  source    INTEGER NOT NULL REFERENCES source,
  from_off  INTEGER NOT NULL,      -- holds for records from this offset on, up to the next row's
  from_ns   INTEGER,               -- when that was; NULL: from the beginning
  offset_ns INTEGER NOT NULL,      -- subtracted from naive stamps, already with the zone applied
  skew_ns   INTEGER NOT NULL,      -- what the clock itself is ahead; part of offset_ns, subtracted from all other times too
  between_ns INTEGER NOT NULL,     -- subtracted from times that a record has from those around it
  bound_ns  INTEGER,               -- NULL: no bound known
  basis     TEXT NOT NULL,
  PRIMARY KEY(source, from_off)
) STRICT;

CREATE TABLE planted(              -- what files of markers say of each marker; several rows of one contradict each other
  planted         INTEGER PRIMARY KEY,
  marker          TEXT NOT NULL,
  source          INTEGER NOT NULL REFERENCES source, -- the first file that says so
  planted_name    TEXT,            -- request that it was planted in, as the file says
  planted_tenant  TEXT,
  planted_ns      INTEGER,
  planted_request INTEGER,         -- the same; NULL: not known in this case
  trouble         TEXT             -- files_contradict, request_in_no_log, request_not_unique, tenant_in_no_log, tenant_differs, seen_before_planted
) STRICT;

CREATE TABLE sighting(             -- where a planted marker was seen (docs/markers.md)
  sighting        INTEGER PRIMARY KEY,
  marker          TEXT NOT NULL,
  spelling        TEXT NOT NULL,   -- plain, json, percent, hex, base64
  part            TEXT NOT NULL,   -- asked, answered, unknown: whose words it stands in
  planted_name    TEXT,            -- request that it was planted in, as the file of markers says
  planted_tenant  TEXT,
  planted_request INTEGER,         -- the same; NULL: not known in this case
  seen_request    INTEGER,         -- whose record it stands in; NULL: the record names none
  cross_tenant    TEXT NOT NULL,   -- yes, no, unknown
  verdict         TEXT NOT NULL,   -- own, foreign, unknown
  reason          TEXT NOT NULL,   -- why: docs/markers.md
  before_planted  INTEGER NOT NULL, -- 1: the request had ended before the marker was planted
  source          INTEGER NOT NULL REFERENCES source,
  byte_off        INTEGER NOT NULL, -- of the record, or of the marker where no event speaks of its record
  byte_len        INTEGER NOT NULL
) STRICT;

-- ---- evidence: records across two files; last, because salvage finds the tables of older cases by their order
CREATE TABLE seam(                 -- lines of a record that lies across files of a rotation (docs/architecture.md)
  source   INTEGER NOT NULL REFERENCES source,
  byte_off INTEGER NOT NULL,       -- whole lines
  byte_len INTEGER NOT NULL,
  record   INTEGER NOT NULL,       -- number of a record that the source ends in the middle of; 0: one that it begins in the middle of
  whole    INTEGER REFERENCES source, -- in which the record stands whole, and is read: here it is duplicate; NULL: it goes on in no file. Its `container` is seam
  PRIMARY KEY(source, byte_off)
) STRICT;
