-- SPDX-License-Identifier: Apache-2.0
-- workers: workers seen
-- question: Which workers do the logs speak of?
-- column: worker text -  name
-- column: role text -  prefill, decode or unified
-- column: engine text -  engine
-- column: first_at time ns  first sign of life
-- column: last_at time ns  last sign of life
-- column: boots integer boots  starts seen
-- column: page_log bool -  is there a page log?
-- order:  worker
-- empty:  no record names a worker
SELECT w.name AS worker, w.role, w.engine, w.first_ns AS first_at, w.last_ns AS last_at,
       (SELECT count(*) FROM boot b WHERE b.worker = w.worker) AS boots, w.has_page_log AS page_log
FROM worker w
ORDER BY w.name
