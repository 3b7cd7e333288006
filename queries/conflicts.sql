-- SPDX-License-Identifier: Apache-2.0
-- conflicts: responses on which sources contradict each other
-- question: Where does content or page evidence contradict what length, version or delivery say?
-- column: class text -  C1 confirmed, C2 probable, C3 possible, C4 not affected, C5 not determined
-- column: request text -  name of the request
-- column: tenant text -  who received the response
-- column: started_at time ns  request began
-- column: predicates json -  T A L D X, each yes, no or unknown
-- column: reasons json -  stable codes, see docs/method.md
-- column: grade text -  physical (page log) or temporal (lived there before)
-- column: refs json -  records that this rests on
-- order:  started_at, request
-- empty:  no contradiction among the predicates of any response
SELECT class, request, tenant, started_at, predicates, reasons, grade, refs
FROM findings('conflict')
ORDER BY started_at, request, response_id
