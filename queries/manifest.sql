-- SPDX-License-Identifier: Apache-2.0
-- manifest: evidence manifest
-- question: Which files is this case made of, what was read of each, and when did it come in?
-- column: source integer -  number of the source, as in refs
-- column: path text -  as given, members as ARCHIVE!MEMBER
-- column: file text -  the file itself
-- column: member text -  what was read out of it, where it is an archive
-- column: status text -  ingested, unrecognised, failed, reading; known: another file with the bytes of this source
-- column: reason text -  why
-- column: sha256 text -  of the file as given; none: it was not read to its end
-- column: content_sha256 text -  of what was read out of it
-- column: stored_bytes integer bytes  size of the file as given
-- column: bytes integer bytes  of what was read out of it
-- column: container text -  compression and archive
-- column: format text -  parser
-- column: read_by text -  version of the program that read it
-- column: worker text -  whose log it is
-- column: records integer records  all; none for known: they are counted with the source
-- column: parsed integer records  with events
-- column: context integer records  recognised, no event
-- column: unparsed integer records  not understood
-- column: duplicate integer records  read twice
-- column: first_at time ns  first time stamp, corrected by the source's clock
-- column: last_at time ns  last time stamp, corrected by the source's clock
-- column: clock_offset_s real s  subtracted from its times where it begins
-- column: clock_bound_s real s  at most so wrong are its corrected times; none: no bound known
-- column: clock_basis text -  what that rests on where it begins
-- column: evidence_bytes integer bytes  what the case keeps of it, compressed
-- column: seal text -  SHA-256 over all that is stored of it, as verify checks it
-- column: ingested_at time ns  when it was read, by the journal
-- column: journal_seq integer -  row of the journal that says so
-- order:  source, journal_seq
-- empty:  nothing was ingested
WITH said AS MATERIALIZED (
  SELECT seq, at_ns, json_extract(detail, '$.source') AS source, json_extract(detail, '$.path') AS path,
         json_extract(detail, '$.status') = 'known' AS known, json_extract(detail, '$.reason') AS reason,
         json_extract(detail, '$.sha256') AS sha256, json_extract(detail, '$.content_sha256') AS content_sha256,
         json_extract(detail, '$.bytes') AS bytes, json_extract(detail, '$.format') AS format,
         json_extract(detail, '$.worker') AS worker, json_extract(detail, '$.seal') AS seal
  FROM journal WHERE action = 'ingest'),
read AS MATERIALIZED (
  SELECT source, max(seq) AS seq, at_ns, seal FROM said WHERE NOT known AND source IS NOT NULL GROUP BY source),
-- the journal holds names as text: bytes that are none stand there as U+FFFD, and such a row may be the source's own file again
copy AS MATERIALIZED (
  SELECT max(k.seq) AS seq, k.at_ns, k.source, k.path, k.reason, k.sha256, k.content_sha256, k.bytes, k.format, k.worker
  FROM said k JOIN source s ON s.source = k.source
  WHERE k.known AND k.path <> s.path AND NOT (instr(k.path, char(65533)) AND k.sha256 IS s.sha256) GROUP BY k.path),
later AS MATERIALIZED (SELECT s.path, max(r.seq) AS seq FROM source s JOIN read r USING(source) GROUP BY s.path),
held AS MATERIALIZED (SELECT source, sum(length(data)) AS bytes FROM evidence_chunk GROUP BY source),
off AS MATERIALIZED (
  SELECT source, max(from_off) AS last_off, max(coalesce(bound_ns, 9e18)) AS bound_ns FROM clock GROUP BY source),
rows AS (
  SELECT s.source, s.path, CASE WHEN '+' || s.container || '+' GLOB '*+tar+*' OR '+' || s.container || '+' GLOB '*+zip+*'
           THEN instr(CAST(s.path AS BLOB), x'21') ELSE 0 END AS bang,
         s.status, s.reason, s.sha256, s.content_sha256, s.stored_bytes, s.bytes, s.container, s.format,
         json_extract(s.format_basis, '$.by') AS read_by, s.worker, s.records, s.parsed, s.context, s.unparsed, s.duplicate,
         s.first_ns - coalesce((SELECT c.offset_ns FROM clock c WHERE c.source = s.source ORDER BY c.from_off LIMIT 1), 0) AS first_at,
         s.last_ns - coalesce((SELECT c.offset_ns FROM clock c WHERE c.source = s.source AND c.from_off = o.last_off), 0) AS last_at,
         (SELECT c.offset_ns / 1e9 FROM clock c WHERE c.source = s.source ORDER BY c.from_off LIMIT 1) AS clock_offset_s,
         CASE WHEN o.bound_ns < 9e18 THEN o.bound_ns / 1e9 END AS clock_bound_s,
         (SELECT c.basis FROM clock c WHERE c.source = s.source ORDER BY c.from_off LIMIT 1) AS clock_basis,
         coalesce(h.bytes, 0) AS evidence_bytes, r.seal, r.at_ns AS ingested_at, r.seq AS journal_seq
  FROM source s LEFT JOIN read r USING(source) LEFT JOIN held h USING(source) LEFT JOIN off o USING(source)
  WHERE s.container <> 'seam' -- lines of two files that are here
  UNION ALL
  SELECT k.source, k.path, CASE WHEN k.sha256 IS NOT k.content_sha256 THEN instr(CAST(k.path AS BLOB), x'21') ELSE 0 END,
         'known', k.reason, k.sha256, k.content_sha256, NULL, k.bytes, NULL, k.format,
         NULL, k.worker, NULL, NULL, NULL, NULL, NULL,
         NULL, NULL, NULL, NULL, NULL, NULL, NULL, k.at_ns, k.seq
  FROM copy k LEFT JOIN later l USING(path) WHERE l.seq IS NULL OR l.seq < k.seq)
SELECT source, path, CASE WHEN bang THEN CAST(substr(CAST(path AS BLOB), 1, bang - 1) AS TEXT) ELSE path END AS file,
       CASE WHEN bang THEN CAST(substr(CAST(path AS BLOB), bang + 1) AS TEXT) END AS member,
       status, reason, sha256, content_sha256, stored_bytes, bytes, container, format, read_by, worker, records, parsed, context,
       unparsed, duplicate, first_at, last_at, clock_offset_s, clock_bound_s, clock_basis, evidence_bytes, seal, ingested_at,
       journal_seq
FROM rows
ORDER BY source, journal_seq
