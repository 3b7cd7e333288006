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
SELECT strftime('%Y-%m-%d', started_at / 1000000000, 'unixepoch') AS day, count(*) AS responses,
       sum(class = 'C1') AS c1, sum(class = 'C2') AS c2, sum(class = 'C3') AS c3, sum(class = 'C4') AS c4,
       sum(class = 'C5') AS c5
FROM findings()
GROUP BY 1
ORDER BY 1
