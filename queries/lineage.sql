-- SPDX-License-Identifier: Apache-2.0
-- lineage: the life of one request
-- question: What legs did the request have, which pages, who wrote them before it, who read them after it?
-- param:  :request text required  number of the request, or anything that the logs call it
-- column: at time ns  when
-- column: what text -  leg; a page operation; read_from (whose content it read); read_by (who read its content)
-- column: worker text -  where
-- column: role text -  prefill, decode or unified
-- column: other_request text -  the other side of the read
-- column: other_tenant text -  its tenant
-- column: cross_tenant tri -  are the tenants different?
-- column: pool text -  name of the pool
-- column: pages integer pages  distinct pages
-- column: tokens_at_most integer tokens  pages times page size
-- column: kind text -  outcome of a leg; kind of a read
-- column: detail text -  what else the record says
-- column: grade text -  physical or temporal
-- column: refs json -  records that this rests on
-- order:  at, what, worker, pool, kind, other_request
-- empty:  no such request, or nothing is known of it but its name
SELECT at, what, worker, role, other_request, other_tenant, cross_tenant, pool, pages, tokens_at_most, kind,
       detail, grade, refs
FROM lineage(:request)
ORDER BY at, what, worker, pool, kind, other_request, other_id, detail
