-- SPDX-License-Identifier: Apache-2.0
-- cache_residency: which blocks a prefix cache held when a request ran
-- question: Which block hashes were in the prefix cache of its workers when the request began, and which were stored while it ran?
-- scan:   allowed
-- param:  :request text required  number or name of the request, or one of its ids
-- column: request text -  the request
-- column: worker text -  worker of one of its legs
-- column: role text -  prefill, decode or unified
-- column: started_at time ns  start of that leg
-- column: block text -  hash of the block: of its content and of all before it
-- column: parent text -  hash of the block before it, where the event says it
-- column: state text -  resident (when the leg began) or stored (while it ran)
-- column: chain text -  resident: continued (a block stored meanwhile follows it) or idle; stored: begins, follows_resident, follows
-- column: since time ns  when it was stored
-- column: salted integer -  1: the hash covers a salt, an image or an adapter: requests with another one never share it
-- column: lora text -  adapter
-- column: block_tenant text -  tenant, where the store names one; events name no request
-- column: missing integer messages  of this worker's stream that are lost up to the leg's end, at least: the state may be another one
-- column: grade text -  logical: by hashes, not by pages
-- column: refs json -  the record that says so
-- order:  started_at, worker, state, since, block
-- empty:  no KV cache events of its workers were ingested, or none of that time; or no such request
WITH ran AS MATERIALIZED (
  SELECT l.leg, q.name AS request, w.name AS worker, coalesce(l.role, w.role) AS role, l.started_ns AS t0, l.finished_ns AS t1,
         b.started_ns AS b0
  FROM leg l JOIN request q USING(request) JOIN worker w USING(worker) LEFT JOIN boot b ON b.boot = l.boot
  WHERE l.started_ns IS NOT NULL
    AND l.request IN (SELECT request FROM request WHERE request = CAST(:request AS INTEGER) AND CAST(:request AS INTEGER) = :request
                      UNION SELECT request FROM request WHERE name = :request
                      UNION SELECT request FROM alias WHERE value = :request)),
-- near: on the worker's own device
told AS MATERIALIZED (
  SELECT e.worker, e.rank, e.topic, e.source, e.byte_off, e.ref, e.at AS place, e.what, e.block, e.parent, e.salted, e.lora, e.tenant,
         e.medium IS NULL OR upper(e.medium) = 'GPU' AS near, coalesce(e.seq, e.event_id) AS n, e.at_ns AS t
  FROM cache_events e
  WHERE e.ts_quality IN (1, 2, 3) AND e.worker IN (SELECT worker FROM ran)),
-- the last word on each block before the leg, in this boot of the worker: what an older process held is gone with it
last AS (
  SELECT r.leg, e.*, row_number() OVER (PARTITION BY r.leg, e.rank, e.block ORDER BY e.t DESC, e.byte_off DESC, e.place DESC) AS age
  FROM ran r JOIN told e ON e.worker = r.worker AND e.t <= r.t0 AND (r.b0 IS NULL OR e.t >= r.b0)
  WHERE e.near AND e.block IS NOT NULL AND e.what IN ('stored', 'removed')),
resident AS MATERIALIZED (
  SELECT s.* FROM last s
  WHERE s.age = 1 AND s.what = 'stored'
    AND NOT EXISTS (SELECT 1 FROM told c JOIN ran r ON r.leg = s.leg
                    WHERE c.worker = s.worker AND c.what = 'cleared' AND c.rank IS s.rank AND c.t <= r.t0
                      AND (c.t > s.t OR (c.t = s.t AND c.byte_off > s.byte_off)))),
meanwhile AS MATERIALIZED (
  SELECT r.leg, e.* FROM ran r JOIN told e ON e.worker = r.worker AND e.t > r.t0 AND e.t <= r.t1
  WHERE e.near AND e.what = 'stored' AND e.block IS NOT NULL),
both AS (
  SELECT 'resident' AS state, s.leg, s.block, s.parent, s.t, s.salted, s.lora, s.tenant, s.ref,
         iif(EXISTS (SELECT 1 FROM meanwhile m WHERE m.leg = s.leg AND m.parent = s.block AND m.rank IS s.rank), 'continued', 'idle') AS chain
  FROM resident s
  UNION ALL
  SELECT 'stored', m.leg, m.block, m.parent, m.t, m.salted, m.lora, m.tenant, m.ref,
         CASE WHEN m.place > 0 THEN 'follows' WHEN m.parent IS NULL THEN 'begins'
              WHEN EXISTS (SELECT 1 FROM resident s WHERE s.leg = m.leg AND s.block = m.parent AND s.rank IS m.rank)
              THEN 'follows_resident' ELSE 'follows' END
  FROM meanwhile m),
-- numbers that are left out, of each publisher
message AS (SELECT DISTINCT worker, rank, topic, source, byte_off, n, t FROM told WHERE n IS NOT NULL),
step AS (SELECT worker, t, n - lag(n) OVER (PARTITION BY worker, source, topic, rank ORDER BY byte_off, n) AS by FROM message),
lost AS (
  SELECT r.leg, CAST(min(total(iif(s.by > 1, s.by - 1, 0)), 9e15) AS INTEGER) AS missing
  FROM ran r LEFT JOIN step s ON s.worker = r.worker AND s.t <= coalesce(r.t1, r.t0) AND (r.b0 IS NULL OR s.t >= r.b0)
  GROUP BY r.leg)
SELECT r.request, r.worker, r.role, r.t0 AS started_at, x.block, x.parent, x.state, x.chain, x.t AS since, x.salted, x.lora,
       x.tenant AS block_tenant, l.missing, 'logical' AS grade, json_array(x.ref) AS refs
FROM both x JOIN ran r ON r.leg = x.leg JOIN lost l ON l.leg = x.leg
ORDER BY r.t0, r.worker, x.state, x.t, x.block, x.ref, r.leg, x.parent
