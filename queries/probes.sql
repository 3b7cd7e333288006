-- SPDX-License-Identifier: Apache-2.0
-- probes: what became of each probe of a test endpoint
-- question: Was each over-limit prompt refused, by whom and before the hand-off, and did a marker come back to another request?
-- column: probe text -  id in the plan
-- column: kind text -  marker or over_limit
-- column: tokens integer tokens  length that was planned, of an over-limit probe
-- column: prompt_tokens integer tokens  its length as the endpoint counted it
-- column: limit_tokens integer tokens  length from which on a prompt must be refused, as the plan says
-- column: streamed bool -  asked for as a stream
-- column: request text request  id that it was sent under; none: it was not sent
-- column: status integer -  HTTP status
-- column: outcome text -  how the call ended (docs/live.md)
-- column: must_refuse bool -  an over-limit probe that is at least as long as the limit
-- column: answered tri -  did text of a model come back?
-- column: handed_over tri -  did a decode worker work on it? By the engines' logs in the case
-- column: prefill_worker text -  the first prefill or unified worker whose log has it
-- column: decode_worker text -  the first decode worker whose log has it
-- column: foreign_markers json -  markers of other requests in what it was answered
-- column: verdict text -  leaked, served_over_limit, not_refused, refused, served, refused_under_limit, undetermined, not_sent
-- column: started_at time ns  when it was sent
-- column: refs json -  its record
-- order: started_at, probe, refs
-- empty: no probes were sent; that shows nothing
WITH line AS MATERIALIZED (
  SELECT r.ref AS ref, json_extract(r.text, '$.probe') AS probe, json_extract(r.text, '$.kind') AS kind,
         json_extract(r.text, '$.tokens') AS tokens, json_extract(r.text, '$.limit') AS limit_tokens,
         json_extract(r.text, '$.stream') AS streamed, json_extract(r.text, '$.request_id') AS id,
         json_extract(r.text, '$.status') AS status, json_extract(r.text, '$.outcome') AS outcome,
         json_extract(r.text, '$.result') AS result, json_extract(r.text, '$.started_at') AS at,
         json_extract(r.text, '$.ended_at') AS ended, json_extract(r.text, '$.prompt_tokens') AS counted,
         json_extract(r.text, '$.tokens_flag') AS flag
  FROM source s JOIN records r ON r.source = s.source
  WHERE s.format = 'live-probes' AND s.duplicate = 0 AND json_valid(r.text) AND json_extract(r.text, '$.pagetrail') = 'probe'),
known AS MATERIALIZED (
  SELECT line.*, (SELECT min(a.request) FROM alias a WHERE a.value = line.id) AS request,
         -- an estimate gives way to what the endpoint counted; not to a placeholder, which is what the defect counts
         CASE WHEN flag = 'estimate' AND counted BETWEEN tokens / 2 AND tokens * 2 THEN counted ELSE tokens END AS length,
         CAST(strftime('%s', substr(line.at, 1, 19)) AS INTEGER) * 1000000000 +
           CASE WHEN substr(line.at, 20, 1) = '.' THEN CAST(substr(rtrim(substr(line.at, 21), 'Z') || '000000000', 1, 9) AS INTEGER) ELSE 0 END
           AS at_ns,
         CAST(strftime('%s', substr(line.ended, 1, 19)) AS INTEGER) * 1000000000 AS end_ns
  FROM line),
legs AS MATERIALIZED (
  SELECT l.request, l.role, w.name AS worker, l.outcome, coalesce(l.started_ns, l.finished_ns) AS ns
  FROM (SELECT DISTINCT request FROM known WHERE request IS NOT NULL) k JOIN leg l ON l.request = k.request
       LEFT JOIN worker w ON w.worker = l.worker),
judged AS (
  SELECT known.*,
         (SELECT l.worker FROM legs l WHERE l.request = known.request AND l.role IN ('prefill', 'unified') ORDER BY l.ns, l.worker LIMIT 1)
           AS prefill_worker,
         (SELECT l.worker FROM legs l WHERE l.request = known.request AND l.role = 'decode' ORDER BY l.ns, l.worker LIMIT 1) AS decode_worker,
         CASE WHEN EXISTS (SELECT 1 FROM legs l WHERE l.request = known.request AND l.role = 'decode') THEN 'yes'
              WHEN EXISTS (SELECT 1 FROM legs l WHERE l.request = known.request AND l.role = 'unified' AND l.outcome = 'rejected') THEN 'no'
              -- that no decode worker had it can be said only where their logs reach over it
              WHEN EXISTS (SELECT 1 FROM legs l WHERE l.request = known.request AND l.role = 'prefill' AND l.outcome = 'rejected')
                   AND EXISTS (SELECT 1 FROM worker w WHERE w.role = 'decode')
                   AND NOT EXISTS (SELECT 1 FROM worker w WHERE w.role = 'decode'
                                   AND NOT coalesce(w.first_ns <= known.at_ns AND w.last_ns >= known.end_ns, 0)) THEN 'no'
              ELSE 'unknown' END AS handed_over,
         (SELECT json_group_array(m.marker) FROM (SELECT DISTINCT s.marker FROM sighting s WHERE s.verdict = 'foreign'
            AND s.seen_request = known.request ORDER BY s.marker) m) AS foreign_markers,
         CASE result WHEN 'answered' THEN 'yes' WHEN 'refused' THEN 'no' WHEN 'empty' THEN 'no' WHEN 'not_sent' THEN 'no'
                     ELSE 'unknown' END AS answered
  FROM known)
SELECT probe, kind, tokens, counted AS prompt_tokens, limit_tokens, streamed, id AS request, status, outcome,
       kind = 'over_limit' AND length >= limit_tokens AS must_refuse, answered, handed_over, prefill_worker, decode_worker,
       foreign_markers,
       CASE WHEN foreign_markers <> '[]' THEN 'leaked'
            WHEN result = 'not_sent' THEN 'not_sent'
            WHEN kind = 'over_limit' AND length >= limit_tokens
              THEN CASE result WHEN 'answered' THEN 'served_over_limit' WHEN 'empty' THEN 'not_refused' WHEN 'refused' THEN 'refused'
                               ELSE 'undetermined' END
            WHEN result = 'answered' THEN 'served'
            WHEN result = 'refused' AND kind = 'over_limit' THEN 'refused_under_limit'
            ELSE 'undetermined' END AS verdict,
       at_ns AS started_at,
       json_array(ref) AS refs
FROM judged
ORDER BY started_at, probe, refs
