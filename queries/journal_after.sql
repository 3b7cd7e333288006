-- SPDX-License-Identifier: Apache-2.0
-- journal_after: what was done to the case after an entry of its journal
-- question: What was done to the case since then?
-- param:  :after_seq integer -  number of an entry; not given: all entries
-- column: seq integer -  number of the entry
-- column: at time ns  when
-- column: action text -  init, ingest, drop, resolve, snapshot, probe, salvage, unproved
-- column: detail json -  what: files, counts, the program's version
-- column: sha256 text -  of the entry, and by it of all before
-- order:  seq
-- empty:  the journal has no later entry: nothing was done to the case since
SELECT seq, at_ns AS at, action, detail, lower(hex(sha256)) AS sha256
FROM journal WHERE seq > coalesce(:after_seq, 0)
ORDER BY seq
