-- SPDX-License-Identifier: Apache-2.0
-- marker_seen_elsewhere: markers of one request in what another got
-- question: Which responses hold a marker that was planted in another request?
-- column: request text -  request in whose record the marker was seen
-- column: tenant text -  its tenant
-- column: marker text -  the marker
-- column: planted_request text -  request that it was planted in, as the file of markers names it
-- column: planted_tenant text -  its tenant
-- column: cross_tenant tri -  are the tenants different?
-- column: prompt text -  what is known of its own prompt: not_in_prompt, prompt_seen_in_part, prompt_not_seen
-- column: class text -  C1 confirmed, C2 probable, C3 possible, C4 not affected, C5 not determined; none: no response is in the evidence
-- column: started_at time ns  request began
-- column: refs json -  the record
-- order:  started_at, request, marker, refs
-- empty:  no marker was seen in a record of another request; records without text of responses cannot show one
SELECT q.name AS request, t.name AS tenant, s.marker, s.planted_name AS planted_request,
       coalesce(s.planted_tenant, pt.name) AS planted_tenant, s.cross_tenant, s.reason AS prompt, f.class, f.started_at,
       json_array('S' || s.source || '@' || s.byte_off || '+' || s.byte_len) AS refs
FROM sighting s JOIN request q ON q.request = s.seen_request LEFT JOIN tenant t ON t.tenant = q.tenant
     LEFT JOIN request p ON p.request = s.planted_request LEFT JOIN tenant pt ON pt.tenant = p.tenant
     LEFT JOIN (SELECT request_id, min(class) AS class, min(started_at) AS started_at FROM findings(NULL, 1) GROUP BY request_id) f
     ON f.request_id = s.seen_request
WHERE s.verdict = 'foreign'
ORDER BY f.started_at, q.name, s.marker, s.source, s.byte_off, s.sighting
