-- SPDX-License-Identifier: Apache-2.0
-- planted: markers, where they were planted, and what is wrong with that
-- question: Which markers were looked for, where do the files say that they were planted, and what of it cannot be true?
-- column: marker text -  the marker; several rows of one contradict each other
-- column: planted_request text -  request that it was planted in, as the file names it
-- column: planted_tenant text -  its tenant
-- column: planted_at time ns  when
-- column: known_as text -  the request of that id; none: it stands in no log, or is not unique
-- column: trouble text -  files_contradict, request_in_no_log, request_not_unique, tenant_in_no_log, tenant_differs, seen_before_planted; none: nothing
-- column: own integer -  records of its own request that hold it
-- column: foreign integer -  records in which it is foreign
-- column: unknown integer -  other records that hold it
-- column: refs json -  the file of markers
-- order:  marker, planted_request, planted_tenant
-- empty:  the case holds no file of markers, or only refused ones
SELECT p.marker, p.planted_name AS planted_request, p.planted_tenant, p.planted_ns AS planted_at, q.name AS known_as, p.trouble,
       coalesce(s.own, 0) AS own, coalesce(s."foreign", 0) AS "foreign", coalesce(s.unknown, 0) AS unknown,
       json_array('S' || p.source || '@0+' || f.bytes) AS refs
FROM planted p JOIN source f USING(source) LEFT JOIN request q ON q.request = p.planted_request
     LEFT JOIN (SELECT marker, sum(verdict = 'own') AS own, sum(verdict = 'foreign') AS "foreign", sum(verdict = 'unknown') AS unknown
                FROM sighting GROUP BY marker) s ON s.marker = p.marker
ORDER BY p.marker, p.planted_name, p.planted_tenant, p.planted
