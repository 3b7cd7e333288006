-- SPDX-License-Identifier: Apache-2.0
-- gaps: what the logs do not say
-- question: Where are holes, records not understood, sources not read, clocks in conflict, nodes that did not answer?
-- column: kind text -  what sort of gap
-- column: source integer -  source
-- column: worker text -  worker
-- column: from time ns  begins
-- column: to time ns  ends
-- column: missing integer -  how many, if known
-- column: unit text -  of what: records, files of a rotation, requests, answers
-- column: effect text -  what this takes away
-- column: refs json -  records that this rests on
-- order:  from, kind, source, worker, to
-- empty:  no gap was found in what was ingested; logs that nobody collected are not seen here
SELECT g.kind, g.source, w.name AS worker, g.from_ns AS "from", g.to_ns AS "to", g.missing,
       CASE WHEN g.missing IS NULL THEN NULL WHEN g.kind IN ('rotation', 'interrupted') THEN 'files' WHEN g.kind = 'clock' THEN 'requests'
            WHEN g.kind = 'unanswered' THEN 'answers'
            WHEN g.kind = 'unattached' AND instr(g.effect, ' requests of ') THEN 'requests' ELSE 'records' END AS unit,
       g.effect, g.refs
FROM gap g LEFT JOIN worker w USING(worker)
ORDER BY g.from_ns, g.kind, g.source, w.name, g.to_ns, g.gap
