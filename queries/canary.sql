-- SPDX-License-Identifier: Apache-2.0
-- canary: where planted markers were seen
-- question: In whose records does each planted marker stand: in those of its own request, or of another?
-- column: marker text -  the marker
-- column: planted_request text -  request that it was planted in, as the file of markers names it
-- column: planted_tenant text -  its tenant
-- column: seen_request text -  request in whose record it was seen; none: the record names none, or several
-- column: seen_tenant text -  its tenant
-- column: cross_tenant tri -  are the tenants different?
-- column: verdict text -  own, foreign or unknown
-- column: reason text -  why that verdict: docs/markers.md
-- column: before_planted integer -  1: the request had ended before the marker was planted, which cannot be
-- column: part text -  whose words it stands in: asked, answered, unknown
-- column: spelling text -  plain, json, percent, hex or base64
-- column: refs json -  the record
-- order:  marker, planted_request, seen_request, refs
-- empty:  the case holds no file of markers, or no marker of it was seen in what was read; that shows nothing about what was not logged
SELECT s.marker, s.planted_name AS planted_request, coalesce(s.planted_tenant, pt.name) AS planted_tenant, q.name AS seen_request,
       t.name AS seen_tenant, s.cross_tenant, s.verdict, s.reason, s.before_planted, s.part, s.spelling,
       json_array('S' || s.source || '@' || s.byte_off || '+' || s.byte_len) AS refs
FROM sighting s LEFT JOIN request q ON q.request = s.seen_request LEFT JOIN tenant t ON t.tenant = q.tenant
     LEFT JOIN request p ON p.request = s.planted_request LEFT JOIN tenant pt ON pt.tenant = p.tenant
ORDER BY s.marker, s.planted_name, q.name, s.source, s.byte_off, s.sighting
