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
GROUP BY class, grade
ORDER BY class, grade
