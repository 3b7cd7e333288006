-- SPDX-License-Identifier: Apache-2.0
-- timeline: merged events
-- question: What happened when: boots, legs, responses, gaps?
-- param:  :since time ns  at or after
-- param:  :until time ns  before
-- param:  :worker text -  only what happened at this worker
-- param:  :request integer -  only this request, by number
-- column: at time ns  when
-- column: until time ns  a gap's end; one that began before the window and reaches into it is listed
-- column: what text -  boot_started, boot_ended, leg_started, leg_ended, response_started, response_ended, gap
-- column: worker text -  where; none for what a gateway saw
-- column: request text -  whose
-- column: kind text -  of a gap
-- column: detail text -  how it ended, or what it was
-- column: refs json -  records that this rests on
-- order:  at, what, worker, request
-- empty:  nothing with a known time in this window
SELECT at, until, what, worker, request, kind, detail, refs
FROM (
  SELECT b.started_ns AS at, NULL AS until, 'boot_started' AS what, w.name AS worker, NULL AS request, NULL AS kind,
         b.version AS detail, b.refs, b.boot AS id, NULL AS request_id
  FROM boot b JOIN worker w USING(worker)
  UNION ALL
  SELECT b.ended_ns, NULL, 'boot_ended', w.name, NULL, NULL, b.version, b.refs, b.boot, NULL
  FROM boot b JOIN worker w USING(worker)
  UNION ALL
  SELECT l.started_ns, NULL, 'leg_started', w.name, q.name, NULL, coalesce(l.role, w.role), l.refs, l.leg, l.request
  FROM leg l JOIN worker w USING(worker) JOIN request q USING(request)
  UNION ALL
  SELECT l.finished_ns, NULL, 'leg_ended', w.name, q.name, NULL, l.outcome, l.refs, l.leg, l.request
  FROM leg l JOIN worker w USING(worker) JOIN request q USING(request)
  UNION ALL
  SELECT r.started_ns, NULL, 'response_started', NULL, q.name, NULL, NULL, r.refs, r.response, r.request
  FROM response r JOIN request q USING(request)
  UNION ALL
  SELECT r.finished_ns, NULL, 'response_ended', NULL, q.name, NULL, CAST(r.status AS TEXT), r.refs, r.response, r.request
  FROM response r JOIN request q USING(request)
  UNION ALL
  SELECT g.from_ns, g.to_ns, 'gap', w.name, NULL, g.kind, g.effect, g.refs, g.gap, NULL
  FROM gap g LEFT JOIN worker w USING(worker)
)
WHERE at IS NOT NULL AND (:since IS NULL OR at >= :since OR until >= :since) AND (:until IS NULL OR at < :until)
  AND (:worker IS NULL OR worker = :worker) AND (:request IS NULL OR request_id = :request)
ORDER BY at, what, worker, request, id
