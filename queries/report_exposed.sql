-- SPDX-License-Identifier: Apache-2.0
-- report_exposed: the exposed side in numbers
-- question: How many requests, of how many tenants, are in each class of the exposed side, and on which grade of evidence?
-- column: class text -  E1 to E5, see docs/method.md
-- column: grade text -  physical (page log), content (marker) or temporal (lived there before); none: no read by another is known
-- column: requests integer requests  in this class
-- column: tenants integer tenants  their tenants, where known
-- column: pages integer pages  sum over these requests; unknown for candidates
-- column: first_read_at time ns  first read
-- column: last_read_at time ns  last read
-- order:  class, grade
-- empty:  no request is in the evidence
SELECT class, grade, count(*) AS requests, count(DISTINCT tenant) AS tenants, sum(pages) AS pages,
       min(first_read_at) AS first_read_at, max(last_read_at) AS last_read_at
FROM exposed()
WHERE class <> 'E4' OR grade IS NOT NULL
GROUP BY class, grade
UNION ALL -- most requests, and nothing is to be said of them
SELECT 'E4', NULL, requests, (SELECT count(*) FROM tenant w WHERE EXISTS (
         SELECT 1 FROM exposed() o WHERE o.tenant = w.name AND o.class = 'E4' AND o.grade IS NULL)), NULL, NULL, NULL
FROM (SELECT count(*) AS requests FROM exposed() WHERE class = 'E4' AND grade IS NULL)
WHERE requests > 0
ORDER BY class, grade
