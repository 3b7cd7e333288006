-- SPDX-License-Identifier: Apache-2.0
-- released_then_fetched: pages read by a decode worker after the prefill worker had given them up
-- question: For which requests does a prefill worker report a read of pages whose lease had run out?
-- column: request text -  name of the request
-- column: tenant text -  who received the response
-- column: status integer -  HTTP status
-- column: prefill_worker text -  worker that had released the pages, and reports the read
-- column: decode_worker text -  worker of the leg that answered
-- column: reported_at time ns  last record of the prefill leg
-- column: message text -  engine's text
-- column: started_at time ns  request began
-- column: delivered tri -  did at least one byte or token of content leave?
-- column: class text -  C1 confirmed, C2 probable, C3 possible, C4 not affected, C5 not determined
-- column: refs json -  records that this rests on
-- order:  started_at, request, prefill_worker
-- empty:  no engine reports such a read; only engines that give pages on a lease (vLLM) would, and only in logs that are here
SELECT f.request, f.tenant, f.status, w.name AS prefill_worker, f.decode_worker,
       coalesce(l.finished_ns, l.started_ns) AS reported_at, l.message, f.started_at, f.delivered, f.class, f.refs
FROM findings() f JOIN leg l ON l.request = f.request_id JOIN worker w ON w.worker = l.worker
WHERE l.outcome = 'late_read'
ORDER BY f.started_at, f.request, w.name, l.leg, f.response_id
