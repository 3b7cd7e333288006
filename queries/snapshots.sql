-- SPDX-License-Identifier: Apache-2.0
-- snapshots: what running nodes were asked, and what became of it
-- question: Which nodes were asked what they run, when, and which of them did not answer?
-- column: node text -  as it was named
-- column: document text -  server_info, model_info, models or metrics
-- column: url text -  what was asked
-- column: at time ns  when its answer had come, or the attempt had ended
-- column: outcome text -  answered, or what went wrong (docs/live.md)
-- column: status integer -  HTTP status
-- column: bytes integer bytes  what came
-- column: peer text -  address and port that were spoken to
-- column: tls text -  subject, issuer and end of its certificate
-- column: why text -  what went wrong
-- column: kept_as text -  source that the answer is; none: its bytes stand in the record of the attempt
-- column: refs json -  the record of the attempt
-- order: at, node, document, refs
-- empty: no node was asked by this program
WITH asked AS MATERIALIZED (
  SELECT r.ref AS ref, r.text AS t, json_extract(r.text, '$.collected_at') AS at
  FROM source s JOIN records r ON r.source = s.source
  WHERE s.format = 'live-attempts' AND s.duplicate = 0 AND json_valid(r.text) AND json_extract(r.text, '$.pagetrail') = 'attempt')
SELECT json_extract(t, '$.node') AS node, json_extract(t, '$.document') AS document, json_extract(t, '$.url') AS url,
       CAST(strftime('%s', substr(at, 1, 19)) AS INTEGER) * 1000000000 +
         CASE WHEN substr(at, 20, 1) = '.' THEN CAST(substr(rtrim(substr(at, 21), 'Z') || '000000000', 1, 9) AS INTEGER) ELSE 0 END AS at,
       json_extract(t, '$.outcome') AS outcome, json_extract(t, '$.status') AS status, json_extract(t, '$.bytes') AS bytes,
       json_extract(t, '$.peer') AS peer, json_extract(t, '$.tls') AS tls, json_extract(t, '$.why') AS why,
       json_extract(t, '$.kept_as') AS kept_as, json_array(ref) AS refs
FROM asked
ORDER BY at, node, document, refs
