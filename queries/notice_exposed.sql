-- SPDX-License-Identifier: Apache-2.0
-- notice_exposed: own requests that others read, or may have read
-- question: Which of a tenant's requests may have been read by others, told so that it names nobody else?
-- param:  :tenant text -  the tenant
-- param:  :round integer s  times of reading are rounded down to it: 3600 or 86400; without it 3600
-- column: request text -  own request
-- column: started_at time ns  when it began
-- column: model text -  model asked for
-- column: class text -  E1, E2, E3 or E5
-- column: grade text -  physical (page log), content (its marker was seen) or temporal (lived there before)
-- column: reads text -  answers to others that read it: 1, 2-5, more than 5; for grade temporal, at most
-- column: recipients text -  customers among them: 1, 2-5, more than 5; none: not known
-- column: own_reads text -  own answers that read it: 0, 1, 2-5, more than 5
-- column: delivered tri -  did such an answer leave?
-- column: tokens_at_most integer tokens  of its content, in all reads together
-- column: first_read_at time ns  first read, rounded
-- column: last_read_at time ns  last read, rounded
-- order:  started_at, request
-- empty:  no own request is known or suspected to have been read by another request
WITH reads AS (
  SELECT owner_id,
         count(DISTINCT CASE WHEN cross_tenant <> 'no' AND delivered <> 'no' THEN reader_id END) AS others,
         count(DISTINCT CASE WHEN cross_tenant <> 'no' AND delivered <> 'no' THEN reader_tenant END) AS tenants,
         count(DISTINCT CASE WHEN cross_tenant = 'no' THEN reader_id END) AS own,
         max(cross_tenant <> 'no' AND delivered = 'yes') AS left_it,
         max(cross_tenant <> 'no' AND delivered = 'unknown') AS may_have, sum(tokens_at_most) AS tokens
  FROM exposures() WHERE kind NOT IN ('shared', 'uninitialised') AND owner_id IN (
    SELECT request_id FROM exposed() WHERE tenant = :tenant AND class <> 'E4')
  GROUP BY owner_id)
SELECT e.request, e.started_at, asked.model, e.class, e.grade,
       CASE WHEN n <= 0 THEN '0' WHEN n = 1 THEN '1' WHEN n <= 5 THEN '2-5' WHEN n > 5 THEN 'more than 5' END AS reads,
       CASE WHEN e.grade = 'temporal' OR coalesce(m, 0) = 0 THEN NULL WHEN m = 1 THEN '1' WHEN m <= 5 THEN '2-5'
            ELSE 'more than 5' END AS recipients,
       CASE WHEN e.grade = 'temporal' THEN NULL WHEN coalesce(own, 0) = 0 THEN '0' WHEN own = 1 THEN '1' WHEN own <= 5 THEN '2-5'
            ELSE 'more than 5' END AS own_reads,
       CASE WHEN e.grade = 'temporal' THEN 'unknown' WHEN left_it THEN 'yes' WHEN may_have OR left_it IS NULL THEN 'unknown'
            ELSE 'no' END AS delivered,
       CASE WHEN e.grade = 'physical' THEN tokens END AS tokens_at_most,
       first_read_at - ((first_read_at % (s * 1000000000)) + s * 1000000000) % (s * 1000000000) AS first_read_at,
       last_read_at - ((last_read_at % (s * 1000000000)) + s * 1000000000) % (s * 1000000000) AS last_read_at
FROM (SELECT x.*, coalesce(:round, 3600) AS s, r.own, r.left_it, r.may_have, r.tokens,
             CASE WHEN x.grade = 'physical' THEN coalesce(r.others, 0) ELSE x.readers END AS n,
             CASE WHEN x.grade = 'physical' THEN r.tenants ELSE x.reader_tenants END AS m
      FROM exposed() x LEFT JOIN reads r ON r.owner_id = x.request_id
      WHERE x.tenant = :tenant AND x.class <> 'E4') e
     LEFT JOIN request asked ON asked.request = e.request_id
ORDER BY e.started_at, e.request, e.request_id
