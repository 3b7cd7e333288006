-- SPDX-License-Identifier: Apache-2.0
-- lanes: what `timeline --svg` draws
-- question: What did each worker's logs cover, with which starts and gaps, and which affected responses did it answer?
-- param:  :since time ns  what ends at or after
-- param:  :until time ns  what begins before
-- param:  :worker text -  only this worker
-- column: worker text -  the lane; none: not known which
-- column: what text -  coverage, boot, gap, exposed_window, recipient_window, response
-- column: kind text -  coverage: the worker's role; gap: its kind; response: its class
-- column: from time ns  begins; none: not known, or before the log begins
-- column: to time ns  ends; none: not known, or after the log ends
-- column: detail text -  boot: version; gap: what it takes away; response: request; coverage: page_log where there is one
-- column: pool_tokens integer tokens  boot: KV pool
-- column: input_limit integer tokens  boot: length at which it rejects
-- column: page_size integer tokens  boot: one page
-- column: responses integer responses  window: C1 and C2 in it
-- column: refs json -  records that this rests on
-- order:  worker, what, from, kind, detail
-- empty:  no record names a worker, and there is no gap
WITH f AS MATERIALIZED (SELECT f.class, f.decode_leg, f.request_id, f.response_id, f.started_at, r.finished_ns AS finished_at,
                               r.refs, d.worker, d.boot
                        FROM findings('C1,C2,C3,C5', 1) f LEFT JOIN leg d ON d.leg = f.decode_leg
                             LEFT JOIN response r ON r.response = f.response_id),
     hit AS (SELECT f.worker, count(*) AS n, count(b.started_ns) AS n_started, min(f.started_at) AS affected_from,
                    max(coalesce(f.finished_at, f.started_at)) AS affected_to, min(b.started_ns) AS boot_from
             FROM f LEFT JOIN boot b ON b.boot = f.boot
             WHERE f.class IN ('C1', 'C2') AND f.worker IS NOT NULL GROUP BY f.worker)
SELECT worker, what, kind, "from", "to", detail, pool_tokens, input_limit, page_size, responses, refs
FROM (
  SELECT w.name AS worker, 'coverage' AS what, w.role AS kind, w.first_ns AS "from", w.last_ns AS "to",
         CASE WHEN w.has_page_log THEN 'page_log' END AS detail, NULL AS pool_tokens, NULL AS input_limit,
         NULL AS page_size, NULL AS responses, NULL AS refs, 0 AS id
  FROM worker w
  UNION ALL
  SELECT w.name, 'boot', NULL, b.started_ns, b.ended_ns, b.version, b.pool_tokens, b.input_limit, b.page_size, NULL,
         b.refs, b.boot
  FROM boot b JOIN worker w USING(worker)
  UNION ALL
  SELECT w.name, 'gap', g.kind, g.from_ns, g.to_ns, g.effect, NULL, NULL, NULL, NULL, g.refs, g.gap
  FROM gap g LEFT JOIN worker w USING(worker)
  UNION ALL
  SELECT w.name, 'recipient_window', NULL, h.affected_from, h.affected_to, NULL, NULL, NULL, NULL, h.n, NULL, 0
  FROM hit h JOIN worker w USING(worker)
  UNION ALL
  SELECT w.name, 'exposed_window', NULL, CASE WHEN h.n = h.n_started THEN h.boot_from END, h.affected_to, NULL, NULL,
         NULL, NULL, h.n, NULL, 0
  FROM hit h JOIN worker w USING(worker)
  UNION ALL
  SELECT w.name, 'response', f.class, f.started_at, f.finished_at, q.name, NULL, NULL, NULL, NULL, f.refs, f.response_id
  FROM f JOIN request q ON q.request = f.request_id LEFT JOIN worker w ON w.worker = f.worker
)
WHERE (:since IS NULL OR "to" IS NULL OR "to" >= :since) AND (:until IS NULL OR "from" IS NULL OR "from" < :until)
  AND (:worker IS NULL OR worker = :worker)
ORDER BY worker, what, "from", kind, detail, id
