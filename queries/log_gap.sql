-- SPDX-License-Identifier: Apache-2.0
-- log_gap: holes in logs
-- question: Where are records missing, torn or not understood?
-- column: kind text -  what sort of gap
-- column: source integer -  source
-- column: worker text -  worker
-- column: from time ns  begins
-- column: to time ns  ends
-- column: missing integer -  how many, if known
-- column: unit text -  of what: records, files of a rotation, requests
-- column: effect text -  what this takes away
-- column: refs json -  records that this rests on
-- order:  from, kind, source, worker, to
-- empty:  no hole was found in what was ingested
SELECT g.kind, g.source, w.name AS worker, g.from_ns AS "from", g.to_ns AS "to", g.missing,
       CASE WHEN g.missing IS NULL THEN NULL WHEN g.kind = 'rotation' THEN 'files' WHEN g.kind = 'clock' THEN 'requests'
            WHEN g.kind = 'unattached' AND instr(g.effect, ' requests of ') THEN 'requests' ELSE 'records' END AS unit,
       g.effect, g.refs
FROM gap g LEFT JOIN worker w USING(worker)
WHERE g.kind NOT LIKE 'clock%' AND g.kind <> 'unanswered'
ORDER BY g.from_ns, g.kind, g.source, w.name, g.to_ns, g.gap
