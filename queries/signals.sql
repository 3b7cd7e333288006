-- SPDX-License-Identifier: Apache-2.0
-- signals: signs of deliberate use that were searched for
-- question: Do request lengths and times show signs that somebody produced the condition on purpose?
-- param:  :disclosed time ns  when the failure became public: without it S5 is not searched
-- column: signal text -  S1 to S6
-- column: searched_for text -  what counts as a match
-- column: population integer responses  in the evidence
-- column: searched integer responses  those that could be searched: tenant, prompt length, limit and start known; none: not searched
-- column: matches integer responses  that match; none: not searched
-- column: tenants integer tenants  who sent them
-- column: first_match text -  first request that matches
-- column: cannot_show text -  what the records here cannot tell
-- order:  signal
-- empty:  never: there is one row for each signal
WITH f AS MATERIALIZED (
       SELECT tenant, prompt_tokens AS n, input_limit AS lim, started_at AS at, t = 'yes' AS met, d = 'yes' AS got, response_id AS id,
              request_id
       FROM findings(NULL, 1)
       WHERE input_limit IS NOT NULL AND prompt_tokens IS NOT NULL AND started_at IS NOT NULL AND tenant IS NOT NULL),
     near AS (SELECT *, n >= lim - lim / 100 AND n < lim AS below, n >= lim AND n <= lim + lim / 100 AS above FROM f),
     chain AS MATERIALIZED (
       SELECT *, max(CASE WHEN below THEN at END) OVER (PARTITION BY tenant ORDER BY at, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS below_at,
              max(CASE WHEN met AND got THEN at END) OVER (PARTITION BY tenant ORDER BY at, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS met_at,
              sum(met) OVER (PARTITION BY tenant) AS met_by_tenant
       FROM near),
     hit(signal, tenant, id, request_id, at) AS MATERIALIZED (
       SELECT 'S1', tenant, id, request_id, at FROM chain WHERE met AND met_by_tenant > 1
       UNION ALL SELECT 'S2', tenant, id, request_id, at FROM chain WHERE above
       UNION ALL SELECT 'S3', tenant, id, request_id, at FROM chain WHERE above AND at - below_at <= 86400000000000
       UNION ALL SELECT 'S4', tenant, id, request_id, at FROM chain WHERE met AND at - met_at <= 60000000000
       UNION ALL SELECT 'S5', tenant, id, request_id, at FROM chain WHERE met AND at >= :disclosed),
     s(signal, searched_for, done, cannot_show) AS (VALUES
       ('S1', 'the trigger condition met more than once by one tenant', 1, 'whether the length was meant'),
       ('S2', 'a prompt at or over the input limit by at most one in a hundred', 1, 'whether the length was meant'),
       ('S3', 'such a prompt within a day after one of the same tenant just below the limit (a search for the limit)', 1,
        'a search over more than a day, or by more than one account'),
       ('S4', 'the trigger condition met again by the same tenant within a minute after a delivered response', 1,
        'what the recipient did with the response'),
       ('S5', 'the trigger condition met at or after the time of disclosure', :disclosed IS NOT NULL,
        'who knew of it before; the time of disclosure is entered by a person'),
       ('S6', 'the trigger condition met by more than one tenant from one client address', 0, 'client addresses: events do not hold them'))
SELECT s.signal, s.searched_for, (SELECT coalesce(sum(responses), 0) FROM finding_counts()) AS population, CASE WHEN s.done THEN (SELECT count(*) FROM f) END AS searched,
       CASE WHEN s.done THEN (SELECT count(*) FROM hit h WHERE h.signal = s.signal) END AS matches,
       CASE WHEN s.done THEN (SELECT count(DISTINCT h.tenant) FROM hit h WHERE h.signal = s.signal) END AS tenants,
       (SELECT q.name FROM hit h JOIN request q ON q.request = h.request_id WHERE h.signal = s.signal ORDER BY h.at, h.id LIMIT 1) AS first_match,
       s.cannot_show
FROM s
ORDER BY s.signal
