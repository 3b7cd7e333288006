-- SPDX-License-Identifier: Apache-2.0
-- report_days: responses and classes per day
-- question: How many responses began on each day, and of which class are they?
-- column: day text -  day in UTC; none: the start is unknown
-- column: responses integer responses  of the population
-- column: c1 integer responses  C1 confirmed
-- column: c2 integer responses  C2 probable
-- column: c3 integer responses  C3 possible
-- column: c4 integer responses  C4 not affected
-- column: c5 integer responses  C5 could not be determined
-- order:  day
-- empty:  no response is in the evidence
SELECT strftime('%Y-%m-%d', day / 1000000000, 'unixepoch') AS day, sum(responses) AS responses,
       sum(responses * (class = 'C1')) AS c1, sum(responses * (class = 'C2')) AS c2, sum(responses * (class = 'C3')) AS c3,
       sum(responses * (class = 'C4')) AS c4, sum(responses * (class = 'C5')) AS c5
FROM finding_counts(NULL, 1)
GROUP BY 1
ORDER BY 1
