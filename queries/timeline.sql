-- SPDX-License-Identifier: Apache-2.0
-- timeline: merged events
-- question: What happened when: boots, legs, responses, gaps?
-- param:  :since time ns  at or after
-- param:  :until time ns  before
-- param:  :request integer -  only this request, by number
-- column: at time ns  when
-- column: what text -  boot_started, boot_ended, leg_started, leg_ended, response_started, response_ended, gap
-- column: worker text -  where
-- column: request text -  whose
-- column: detail text -  how it ended, or what it was
-- column: refs json -  records that this rests on
-- order:  at, what, worker, request
-- empty:  nothing with a known time in this window
SELECT at, what, worker, request, detail, refs
FROM (
  SELECT b.started_ns AS at, 'boot_started' AS what, w.name AS worker, NULL AS request, b.version AS detail, b.refs, b.boot AS id,
         NULL AS request_id
  FROM boot b JOIN worker w USING(worker)
  UNION ALL
  SELECT b.ended_ns, 'boot_ended', w.name, NULL, b.version, b.refs, b.boot, NULL FROM boot b JOIN worker w USING(worker)
  UNION ALL
  SELECT l.started_ns, 'leg_started', w.name, q.name, coalesce(l.role, w.role), l.refs, l.leg, l.request
  FROM leg l JOIN worker w USING(worker) JOIN request q USING(request)
  UNION ALL
  SELECT l.finished_ns, 'leg_ended', w.name, q.name, l.outcome, l.refs, l.leg, l.request
  FROM leg l JOIN worker w USING(worker) JOIN request q USING(request)
  UNION ALL
  SELECT r.started_ns, 'response_started', NULL, q.name, NULL, r.refs, r.response, r.request
  FROM response r JOIN request q USING(request)
  UNION ALL
  SELECT r.finished_ns, 'response_ended', NULL, q.name, CAST(r.status AS TEXT), r.refs, r.response, r.request
  FROM response r JOIN request q USING(request)
  UNION ALL
  SELECT g.from_ns, 'gap', w.name, NULL, g.effect, g.refs, g.gap, NULL FROM gap g LEFT JOIN worker w USING(worker)
)
WHERE at IS NOT NULL AND (:since IS NULL OR at >= :since) AND (:until IS NULL OR at < :until)
  AND (:request IS NULL OR request_id = :request)
ORDER BY at, what, worker, request, id
