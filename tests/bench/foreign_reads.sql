-- SPDX-License-Identifier: Apache-2.0
-- foreign_reads.sql - who read whose pages, in window functions over exploded pages
--
-- op(no, pool, op, actor, content) is a row an event in the order of `seq`; e(pool, page, no, op, actor) a row a page
-- touched, clustered by page. For logs with `read` records, and without holes. Prints pool|reader|owner|kind|pages.
WITH seg AS (
  SELECT no, sum(op IN ('boot', 'reset')) OVER (PARTITION BY pool ORDER BY no) AS seg FROM op),
touched AS (
  SELECT e.pool, seg.seg, e.page, e.no, e.op, e.actor,
    max(CASE WHEN e.op IN ('write', 'recv', 'zero') THEN e.no END) OVER by_page AS w_no,
    max(CASE WHEN e.op = 'alloc' THEN e.no END) OVER by_page AS a_no,
    max(CASE WHEN e.op = 'alloc' THEN e.no END) OVER by_actor AS own_no,
    max(CASE WHEN e.op = 'share' THEN e.no END) OVER by_actor AS s_no,
    max(CASE WHEN e.op = 'free' THEN e.no END) OVER by_actor AS f_no,
    min(CASE WHEN e.op IN ('write', 'recv') THEN e.no END) OVER after AS filled_no,
    min(CASE WHEN e.op = 'free' THEN e.no END) OVER after AS freed_no
  FROM e JOIN seg USING(no)
  WINDOW by_page AS (PARTITION BY e.pool, seg.seg, e.page ORDER BY e.no),
    by_actor AS (PARTITION BY e.pool, seg.seg, e.page, e.actor ORDER BY e.no),
    after AS (PARTITION BY e.pool, seg.seg, e.page, e.actor ORDER BY e.no ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)),
named AS (
  SELECT t.*, CASE WHEN w.op <> 'zero' THEN w.content END AS writer, a.actor AS allocator
  FROM touched t LEFT JOIN op w ON w.no = t.w_no LEFT JOIN op a ON a.no = t.a_no WHERE t.op = 'read'),
judged AS (
  SELECT *, CASE
    WHEN writer = actor THEN NULL
    WHEN writer IS NULL THEN 'uninitialised'
    WHEN s_no > coalesce(f_no, 0) AND (w_no < s_no OR (allocator = writer AND a_no < s_no)) THEN 'shared'
    WHEN s_no > coalesce(f_no, 0) THEN 'late_write'
    WHEN w_no > own_no THEN 'late_write'
    ELSE 'stale' END AS kind FROM named)
SELECT pool, actor, writer, CASE WHEN kind IN ('stale', 'uninitialised') AND filled_no < coalesce(freed_no, 1e18) THEN 'not_ready' ELSE kind END,
  count(DISTINCT page)
FROM judged WHERE kind IS NOT NULL GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4;
