-- SPDX-License-Identifier: Apache-2.0
-- report_reads: page reads by worker and kind
-- question: How many reads of pages with another request's content do page logs show, by worker and kind?
-- column: worker text -  whose pool
-- column: pool text -  name of the pool
-- column: kind text -  stale, late_write, not_ready, uninitialised or shared
-- column: readers integer requests  requests that read
-- column: owners integer requests  requests whose content it was
-- column: pairs integer pairs  of a reader and an owner
-- column: pairs_across integer pairs  of different tenants
-- column: pairs_within integer pairs  of one tenant
-- column: pairs_delivered integer pairs  whose reader's response left
-- column: pages integer pages  sum over the pairs
-- column: first_read_at time ns  first read
-- column: last_read_at time ns  last of the pairs' first reads
-- order:  worker, pool, kind
-- empty:  no page log, or none shows a read of a page with somebody else's content
SELECT worker, pool, kind, count(DISTINCT reader_id) AS readers, count(DISTINCT owner_id) AS owners, count(*) AS pairs,
       sum(cross_tenant = 'yes') AS pairs_across, sum(cross_tenant = 'no') AS pairs_within,
       sum(delivered = 'yes') AS pairs_delivered, sum(pages) AS pages, min(first_read_at) AS first_read_at,
       max(first_read_at) AS last_read_at
FROM exposures()
GROUP BY worker, pool, kind
ORDER BY worker, pool, kind
