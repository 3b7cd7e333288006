-- SPDX-License-Identifier: Apache-2.0
-- notice_excluded: own responses that are excluded, and why
-- question: What excludes a tenant's responses?
-- param:  :tenant text -  the tenant
-- column: rule integer -  rule of the class, see docs/method.md
-- column: excluded_by text -  what was found out
-- column: responses integer responses  so many
-- order:  rule, excluded_by
-- empty:  no own response is excluded
SELECT rule,
       CASE rule WHEN 3 THEN 'nothing of the answer left the service'
                 WHEN 4 THEN 'complete page logs show no read of another request''s content'
                 ELSE CASE WHEN t = 'no' AND trigger_stands AND a = 'no' AND build_stands
                           THEN 'the trigger was not met, and no affected build served it'
                           WHEN t = 'no' AND trigger_stands THEN 'the trigger was not met'
                           ELSE 'no affected build or mode served it' END END AS excluded_by,
       count(*) AS responses
FROM findings()
WHERE tenant = :tenant AND class = 'C4'
GROUP BY 1, 2
ORDER BY 1, 2
