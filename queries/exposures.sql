-- SPDX-License-Identifier: Apache-2.0
-- exposures: who read whose pages
-- question: Which request read pages that hold what another request wrote?
-- param:  :kind text -  only this kind
-- param:  :worker text -  only this worker
-- column: worker text -  whose pool
-- column: pool text -  name of the pool
-- column: reader_request text -  who read
-- column: reader_tenant text -  its tenant
-- column: owner_request text -  whose content it was; none for uninitialised pages
-- column: owner_tenant text -  its tenant
-- column: cross_tenant tri -  are the tenants different?
-- column: kind text -  stale, late_write, not_ready, uninitialised or shared
-- column: pages integer pages  distinct pages
-- column: tokens_at_most integer tokens  pages times page size
-- column: first_read_at time ns  first such read
-- column: delivered tri -  did the reader's response leave?
-- column: grade text -  physical; temporal where lost records may explain the read
-- column: refs json -  records that this rests on
-- order:  first_read_at, worker, pool, reader_request, owner_request, kind
-- empty:  no page log, or none shows a read of a page with somebody else's content
SELECT worker, pool, reader_request, reader_tenant, owner_request, owner_tenant, cross_tenant, kind, pages,
       tokens_at_most, first_read_at, delivered, grade, refs
FROM exposures()
WHERE (:kind IS NULL OR kind = :kind) AND (:worker IS NULL OR worker = :worker)
ORDER BY first_read_at, worker, pool, reader_request, owner_request, kind, reader_id, owner_id
