-- SPDX-License-Identifier: Apache-2.0
-- report_open: what is not known
-- question: For how many responses is each predicate unknown, and how many of those stay open?
-- column: predicate text -  T, A, L, D or X
-- column: asks text -  what it asks
-- column: yes integer responses  answered yes
-- column: no integer responses  answered no
-- column: unknown integer responses  not answered by the evidence
-- column: unknown_open integer responses  of these, in C2, C3 or C5: an answer could move them
-- order:  predicate
-- empty:  never: there is one row for each predicate
WITH f AS MATERIALIZED (SELECT t, a, l, d, x, class IN ('C2', 'C3', 'C5') AS open, sum(responses) AS n FROM finding_counts() GROUP BY t, a, l, d, x, 6),
     p(predicate, asks, value, open, n) AS (
  SELECT 'T', 'was the trigger condition met?', t, open, n FROM f
  UNION ALL SELECT 'A', 'did an affected build and mode serve it?', a, open, n FROM f
  UNION ALL SELECT 'L', 'does page lineage show a foreign read?', l, open, n FROM f
  UNION ALL SELECT 'D', 'was at least one byte or token delivered?', d, open, n FROM f
  UNION ALL SELECT 'X', 'is there direct content evidence?', x, open, n FROM f
  UNION ALL SELECT column1, column2, NULL, 0, 0
            FROM (VALUES ('T', 'was the trigger condition met?'), ('A', 'did an affected build and mode serve it?'),
                         ('L', 'does page lineage show a foreign read?'), ('D', 'was at least one byte or token delivered?'),
                         ('X', 'is there direct content evidence?')))
SELECT predicate, asks, coalesce(sum(n) FILTER (WHERE value = 'yes'), 0) AS yes, coalesce(sum(n) FILTER (WHERE value = 'no'), 0) AS no,
       coalesce(sum(n) FILTER (WHERE value = 'unknown'), 0) AS unknown, coalesce(sum(n) FILTER (WHERE value = 'unknown' AND open), 0) AS unknown_open
FROM p
GROUP BY predicate, asks
ORDER BY predicate
