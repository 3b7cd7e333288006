-- SPDX-License-Identifier: Apache-2.0
-- abort_served_as_success: aborted by the engine, answered as success
-- question: Which requests did an engine abort while the gateway answered 2xx?
-- column: request text -  name of the request
-- column: tenant text -  who received the response
-- column: status integer -  HTTP status
-- column: worker text -  whose leg was aborted
-- column: role text -  prefill, decode or unified
-- column: aborted_at time ns  end of that leg
-- column: finish_reason text -  as the engine says
-- column: message text -  engine's text
-- column: started_at time ns  request began
-- column: delivered tri -  did at least one byte or token of content leave?
-- column: class text -  C1 confirmed, C2 probable, C3 possible, C4 not affected, C5 not determined
-- column: refs json -  records that this rests on
-- order:  started_at, request, worker
-- empty:  no aborted leg belongs to a response with a 2xx status
SELECT f.request, f.tenant, f.status, w.name AS worker, coalesce(l.role, w.role) AS role, l.finished_ns AS aborted_at,
       l.finish_reason, l.message, f.started_at, f.delivered, f.class, f.refs
FROM findings() f JOIN leg l ON l.request = f.request_id JOIN worker w ON w.worker = l.worker
WHERE f.status BETWEEN 200 AND 299 AND l.outcome = 'aborted'
  AND l.attempt = (SELECT max(attempt) FROM leg WHERE request = f.request_id)
ORDER BY f.started_at, f.request, w.name, l.leg, f.response_id
