-- SPDX-License-Identifier: Apache-2.0
-- unparsed_shapes: records that were not understood
-- question: Which sorts of records were kept but not understood, and where is one of each?
-- column: reason text -  stable code
-- column: format text -  parser of the source
-- column: sources integer sources  in how many
-- column: records integer records  how many
-- column: bytes integer bytes  how much
-- column: sample text -  ref of the first run of them
-- order:  records, reason, format
-- empty:  every record was understood
SELECT r.reason, s.format, count(DISTINCT r.source) AS sources, sum(r.records) AS records, sum(r.byte_len) AS bytes,
       (SELECT printf('S%d@%d+%d', o.source, o.byte_off, o.byte_len) FROM reject o JOIN source p USING(source)
        WHERE o.reason = r.reason AND p.format IS s.format ORDER BY o.source, o.byte_off LIMIT 1) AS sample
FROM reject r JOIN source s USING(source)
GROUP BY r.reason, s.format
ORDER BY sum(r.records) DESC, r.reason, s.format
