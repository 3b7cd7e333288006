-- SPDX-License-Identifier: Apache-2.0
-- clock_conflict: clocks that contradict each other
-- question: Which sources' times cannot be brought together?
-- column: kind text -  what sort of gap
-- column: source integer -  source
-- column: worker text -  worker
-- column: from time ns  begins
-- column: to time ns  ends
-- column: missing integer requests  how many were not joined by it, if known
-- column: effect text -  what this takes away
-- column: refs json -  records that this rests on
-- order:  from, kind, source, worker, to
-- empty:  no two sources were found to disagree about the time of one event
SELECT g.kind, g.source, w.name AS worker, g.from_ns AS "from", g.to_ns AS "to", g.missing, g.effect, g.refs
FROM gap g LEFT JOIN worker w USING(worker)
WHERE g.kind = 'clock'
ORDER BY g.from_ns, g.kind, g.source, w.name, g.to_ns, g.gap
