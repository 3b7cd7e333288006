-- SPDX-License-Identifier: Apache-2.0
-- report_signals: signs of deliberate use that were searched for
-- question: Do request lengths and times show signs that somebody produced the condition on purpose?
-- column: signal text -  S1 to S4
-- column: searched_for text -  what counts as a match
-- column: searched integer responses  with tenant, prompt length, limit and start known: those that could be searched
-- column: matches integer responses  that match
-- column: tenants integer tenants  who sent them
-- order:  signal
-- empty:  never: there is one row for each signal
WITH f AS MATERIALIZED (
       SELECT tenant, prompt_tokens AS n, input_limit AS lim, started_at AS at, t = 'yes' AS met, d = 'yes' AS got, response_id AS id
       FROM findings()
       WHERE tenant IS NOT NULL AND prompt_tokens IS NOT NULL AND input_limit IS NOT NULL AND started_at IS NOT NULL),
     near AS (SELECT *, n >= lim - lim / 100 AND n < lim AS below, n >= lim AND n <= lim + lim / 100 AS above FROM f),
     chain AS (
       SELECT *, max(CASE WHEN below THEN at END) OVER (PARTITION BY tenant ORDER BY at, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS below_at,
              max(CASE WHEN met AND got THEN at END) OVER (PARTITION BY tenant ORDER BY at, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS met_at,
              sum(met) OVER (PARTITION BY tenant) AS met_by_tenant
       FROM near),
     hit(signal, tenant) AS (
       SELECT 'S1', tenant FROM chain WHERE met AND met_by_tenant > 1
       UNION ALL SELECT 'S2', tenant FROM chain WHERE above
       UNION ALL SELECT 'S3', tenant FROM chain WHERE above AND at - below_at <= 86400000000000
       UNION ALL SELECT 'S4', tenant FROM chain WHERE met AND at - met_at <= 60000000000)
SELECT s.column1 AS signal, s.column2 AS searched_for, (SELECT count(*) FROM f) AS searched, count(h.signal) AS matches,
       count(DISTINCT h.tenant) AS tenants
FROM (VALUES ('S1', 'the trigger condition met more than once by one tenant'),
             ('S2', 'a prompt at or over the input limit by at most one in a hundred'),
             ('S3', 'such a prompt within a day after one of the same tenant just below the limit (a search for the limit)'),
             ('S4', 'the trigger condition met again by the same tenant within a minute after a delivered response')) s
LEFT JOIN hit h ON h.signal = s.column1
GROUP BY s.column1, s.column2
ORDER BY s.column1
