-- SPDX-License-Identifier: Apache-2.0
-- report_excluded: responses not affected, by what excludes them
-- question: By which rule was each response of class C4 excluded?
-- column: rule integer -  number of the rule, as in the method
-- column: excluded_by text -  what excludes
-- column: responses integer responses  excluded by it
-- order:  rule, excluded_by
-- empty:  no response is excluded
SELECT rule,
       CASE rule WHEN 3 THEN 'D: nothing was delivered'
                 WHEN 4 THEN 'L: the complete page log of this request shows no foreign read'
                 WHEN 5 THEN CASE WHEN t = 'no' THEN 'T: the trigger condition was not met' ELSE 'A: the build or mode is not affected' END
       END AS excluded_by, sum(responses) AS responses
FROM finding_counts()
WHERE class = 'C4'
GROUP BY rule, 2
ORDER BY rule, 2
