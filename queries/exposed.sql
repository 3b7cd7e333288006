-- SPDX-License-Identifier: Apache-2.0
-- exposed: the exposed side: whose content was, or may have been, read
-- question: Which requests' content was read by others, how sure is that?
-- param:  :class text -  classes, comma between; without it E1, E2, E3 and E5
-- param:  :since time ns  the exposed request's start at or after; one whose start is unknown stays
-- param:  :until time ns  the exposed request's start before
-- param:  :tenant text -  only this tenant
-- column: request text -  whose content it was
-- column: tenant text -  its tenant
-- column: class text -  E1 to E5, see docs/method.md
-- column: readers integer requests  requests that read it; for grade temporal, at most
-- column: reader_tenants integer tenants  their tenants, where known
-- column: pages integer pages  distinct pages read
-- column: first_read_at time ns  first read
-- column: last_read_at time ns  last read
-- column: grade text -  physical (page log), content (its marker was seen) or temporal (lived there before)
-- column: refs json -  records that this rests on
-- order:  first_read_at, request
-- empty:  no request's content is known or suspected to have been read by another request
SELECT request, tenant, class, readers, reader_tenants, pages, first_read_at, last_read_at, grade, refs
FROM exposed()
WHERE CASE WHEN :class IS NULL THEN class <> 'E4'
           ELSE instr(',' || replace(:class, ' ', '') || ',', ',' || class || ',') > 0 END
  AND (:since IS NULL OR coalesce(started_at >= :since, 1))
  AND (:until IS NULL OR coalesce(started_at < :until, 1))
  AND (:tenant IS NULL OR tenant = :tenant)
ORDER BY first_read_at, request, request_id
