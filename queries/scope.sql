-- SPDX-License-Identifier: Apache-2.0
-- scope: responses affected
-- question: Which responses may hold what another request left, how sure is that, and why?
-- param:  :class text -  classes, comma between; without it C1, C2, C3, C5 and conflicts
-- param:  :since time ns  start at or after; one whose start is unknown stays
-- param:  :until time ns  start before
-- param:  :tenant text -  only this tenant
-- column: request text -  name of the request
-- column: aliases json -  every id seen for it
-- column: tenant text -  who received the response
-- column: model text -  model asked for
-- column: status integer -  HTTP status
-- column: streamed bool -  was the answer streamed?
-- column: delivered tri -  did at least one byte or token of content leave?
-- column: prompt_tokens integer tokens  length of the prompt
-- column: prompt_tokens_flag text -  exact, at_least or estimate
-- column: pool_tokens integer tokens  KV pool of the prefill boot that served it
-- column: input_limit integer tokens  length at which that boot rejects
-- column: band text -  over_pool, boundary (limit to pool), under, unknown
-- column: prefill_worker text -  worker of the prefill leg
-- column: decode_worker text -  worker of the leg that answered
-- column: room text -  bootstrap_room that joins the legs
-- column: started_at time ns  request began
-- column: finished_at time ns  response ended
-- column: predicates json -  T A L D X, each yes, no or unknown
-- column: class text -  C1 confirmed, C2 probable, C3 possible, C4 not affected, C5 not determined
-- column: reasons json -  stable codes, see docs/method.md
-- column: grade text -  physical (page log) or temporal (lived there before)
-- column: owner_count integer requests  owners known from page logs
-- column: owner_tenants integer tenants  their tenants, where known
-- column: candidate_owners integer requests  size of the candidate set where no page log tells
-- column: refs json -  records that this rests on
-- order:  started_at, request
-- empty:  every response of the population is excluded (C4) by a named predicate; see the totals
SELECT request, aliases, tenant, model, status, streamed, delivered, prompt_tokens, prompt_tokens_flag,
       pool_tokens, input_limit, band, prefill_worker, decode_worker, room, started_at, finished_at,
       predicates, class, reasons, grade, owner_count, owner_tenants, candidate_owners, refs
FROM findings(coalesce(replace(:class, ' ', ''), 'C1,C2,C3,C5,conflict'))
WHERE (:since IS NULL OR coalesce(started_at >= :since, 1))
  AND (:until IS NULL OR coalesce(started_at < :until, 1))
  AND (:tenant IS NULL OR tenant = :tenant)
ORDER BY started_at, request, response_id
