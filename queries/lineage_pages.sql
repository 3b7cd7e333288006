-- SPDX-License-Identifier: Apache-2.0
-- lineage_pages: what `lineage --svg` draws
-- question: Which pages did the request hold and when, whose content was in them, and who read its own there?
-- param:  :request text required  number of the request, or anything that the logs call it
-- column: worker text -  whose pool
-- column: pool text -  name of the pool
-- column: what text -  a page operation of the request; read_from, read_by: a read; gap: of that worker's logs; left_out
-- column: first_page integer pages  first page of the run
-- column: pages integer pages  how many; of left_out: records that are not listed one by one
-- column: from time ns  when; of a read the first one
-- column: to time ns  of a read the last one; of a gap its end
-- column: wrote_at time ns  of a read: when the content was written; none: not known
-- column: other_request text -  whose content it read, or who read its content
-- column: other_tenant text -  its tenant
-- column: kind text -  of a read: stale, late_write, not_ready, uninitialised, shared; of a gap its kind
-- column: grade text -  physical or temporal
-- column: refs json -  records that this rests on
-- order:  worker, pool, from, what, first_page, other_request
-- empty:  no page log names the request
WITH l AS MATERIALIZED (SELECT * FROM lineage_pages(:request)),
     span AS (SELECT worker, min(from_ns) AS a, max(coalesce(to_ns, from_ns)) AS b FROM l GROUP BY worker)
SELECT worker, pool, what, first_page, pages, "from", "to", wrote_at, other_request, other_tenant, kind, grade, refs
FROM (
  SELECT worker, pool, what, first_page, pages, from_ns AS "from", to_ns AS "to", wrote_ns AS wrote_at, other_request,
         other_tenant, kind, grade, refs
  FROM l
  UNION ALL
  SELECT s.worker, NULL, 'gap', NULL, NULL, g.from_ns, g.to_ns, NULL, NULL, NULL, g.kind, NULL, g.refs
  FROM span s JOIN worker w ON w.name = s.worker JOIN gap g ON g.worker = w.worker
  WHERE g.from_ns <= s.b AND coalesce(g.to_ns, g.from_ns) >= s.a
)
ORDER BY worker, pool, "from", what, first_page, other_request, kind, refs
