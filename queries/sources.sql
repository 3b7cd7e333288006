-- SPDX-License-Identifier: Apache-2.0
-- sources: evidence read
-- question: What was read, as what, and how much of it was understood?
-- column: source integer -  number of the source, as in refs
-- column: path text -  as given
-- column: sha256 text -  of the file as given
-- column: content_sha256 text -  of what was read out of it
-- column: bytes integer bytes  after decompression
-- column: stored_bytes integer bytes  size of the file
-- column: container text -  compression and archive
-- column: format text -  parser
-- column: worker text -  whose log it is
-- column: records integer records  all
-- column: parsed integer records  with events
-- column: context integer records  recognised, no event
-- column: unparsed integer records  not understood
-- column: duplicate integer records  read twice
-- column: first_at time ns  first time stamp, corrected by the source's clock
-- column: last_at time ns  last time stamp, corrected by the source's clock
-- column: status text -  ingested, unrecognised, failed or reading
-- column: reason text -  why
-- order:  source
-- empty:  nothing was ingested
SELECT source, path, sha256, content_sha256, bytes, stored_bytes, container, format, worker, records, parsed, context,
       unparsed, duplicate,
       first_ns - coalesce((SELECT c.offset_ns FROM clock c WHERE c.source = s.source ORDER BY c.from_off LIMIT 1), 0) AS first_at,
       last_ns - coalesce((SELECT c.offset_ns FROM clock c WHERE c.source = s.source ORDER BY c.from_off DESC LIMIT 1), 0) AS last_at,
       status, reason
FROM source s
ORDER BY source
