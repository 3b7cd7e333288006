-- SPDX-License-Identifier: Apache-2.0
-- report_tenants: tenants on both sides
-- question: Which tenants received responses that are not excluded, and whose requests may have been read?
-- column: tenant text -  name; none: the tenant is unknown
-- column: c1 integer responses  received, C1 confirmed
-- column: c2 integer responses  received, C2 probable
-- column: c3 integer responses  received, C3 possible
-- column: c5 integer responses  received, C5 could not be determined
-- column: first_received_at time ns  first of them began
-- column: last_received_at time ns  last of them began
-- column: longest_prompt_tokens integer tokens  longest prompt among them
-- column: e1 integer requests  own requests read by others, E1
-- column: e2 integer requests  own requests, E2
-- column: e3 integer requests  own requests, E3: candidates
-- column: e5 integer requests  own requests, E5: could not be determined
-- order:  tenant
-- empty:  no response and no request of the population is outside C4 and E4
WITH side AS (
  SELECT tenant, sum(class = 'C1') AS c1, sum(class = 'C2') AS c2, sum(class = 'C3') AS c3, sum(class = 'C5') AS c5,
         min(started_at) AS first_at, max(started_at) AS last_at, max(prompt_tokens) AS longest,
         0 AS e1, 0 AS e2, 0 AS e3, 0 AS e5
  FROM findings('C1,C2,C3,C5') GROUP BY tenant
  UNION ALL
  SELECT tenant, 0, 0, 0, 0, NULL, NULL, NULL, sum(class = 'E1'), sum(class = 'E2'), sum(class = 'E3'), sum(class = 'E5')
  FROM exposed() WHERE class <> 'E4' GROUP BY tenant
)
SELECT tenant, sum(c1) AS c1, sum(c2) AS c2, sum(c3) AS c3, sum(c5) AS c5, max(first_at) AS first_received_at,
       max(last_at) AS last_received_at, max(longest) AS longest_prompt_tokens, sum(e1) AS e1, sum(e2) AS e2, sum(e3) AS e3,
       sum(e5) AS e5
FROM side
GROUP BY tenant
ORDER BY tenant
