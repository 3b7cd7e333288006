-- SPDX-License-Identifier: Apache-2.0
-- windows: windows per worker
-- question: When were affected responses served by each worker, and how far back can the content lie that they read?
-- column: worker text -  worker that answered
-- column: role text -  its role
-- column: affected integer responses  C1 and C2
-- column: affected_from time ns  first affected response began
-- column: affected_to time ns  last affected response ended
-- column: exposed_from time ns  start of the boots concerned; none: before the log begins
-- column: exposed_to time ns  last affected response ended
-- order:  worker
-- empty:  no affected response (C1, C2) is known to have been served by a known worker
SELECT w.name AS worker, w.role, count(*) AS affected, min(f.started_at) AS affected_from,
       max(coalesce(f.finished_at, f.started_at)) AS affected_to,
       CASE WHEN count(*) = count(b.started_ns) THEN min(b.started_ns) END AS exposed_from,
       max(coalesce(f.finished_at, f.started_at)) AS exposed_to
FROM findings('C1,C2') f JOIN leg d ON d.leg = f.decode_leg JOIN worker w ON w.worker = d.worker
     LEFT JOIN boot b ON b.boot = d.boot
GROUP BY w.worker
ORDER BY w.name
