-- SPDX-License-Identifier: Apache-2.0
-- report_coverage: what each worker's logs cover
-- question: How much of the window of the population does each worker's evidence cover, and what was answered there?
-- column: worker text -  name
-- column: role text -  prefill, decode or unified
-- column: page_log bool -  is there a page log?
-- column: first_at time ns  first sign of life
-- column: last_at time ns  last sign of life
-- column: seen_s integer s  time between them, inside the window of the population
-- column: window_s integer s  the window: first to last response of the population
-- column: responses integer responses  answered by this worker
-- column: affected integer responses  C1 and C2
-- column: lineage_unknown integer responses  whose L is unknown
-- column: gaps integer gaps  known gaps of this worker's logs
-- order:  worker
-- empty:  no record names a worker
WITH span AS MATERIALIZED (SELECT min(started_at) AS a, max(coalesce(finished_at, started_at)) AS b FROM findings()),
     answered AS (SELECT decode_worker AS name, count(*) AS responses, sum(class IN ('C1', 'C2')) AS affected,
                         sum(l = 'unknown') AS lineage_unknown
                  FROM findings() WHERE decode_worker IS NOT NULL GROUP BY decode_worker)
SELECT w.name AS worker, w.role, w.has_page_log AS page_log, w.first_ns AS first_at, w.last_ns AS last_at,
       max(0, min(w.last_ns, span.b) / 1000000000 - max(w.first_ns, span.a) / 1000000000) AS seen_s,
       span.b / 1000000000 - span.a / 1000000000 AS window_s, coalesce(n.responses, 0) AS responses,
       coalesce(n.affected, 0) AS affected, coalesce(n.lineage_unknown, 0) AS lineage_unknown,
       (SELECT count(*) FROM gap g WHERE g.worker = w.worker AND g.kind <> 'unanswered') AS gaps
FROM worker w CROSS JOIN span LEFT JOIN answered n ON n.name = w.name
ORDER BY w.name
