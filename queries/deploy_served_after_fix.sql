-- SPDX-License-Identifier: Apache-2.0
-- deploy_served_after_fix: responses without the fix, after it was there
-- question: Which responses were served by a boot not known to have the fix, after the first replica was verified to have it?
-- param:  :at time ns  responses until then, and a fix that was there by then; not given: of the whole case
-- column: request text -  name of the request
-- column: tenant text -  who received the response
-- column: served_at time ns  when it ended
-- column: prefill_replica text -  worker of the prefill leg
-- column: prefill_fix text -  what the policy says of its version: fixed, affected, unknown, unmet, unconcerned
-- column: decode_replica text -  worker of the leg that answered
-- column: decode_fix text -  likewise
-- column: delivered tri -  did at least one byte or token of content leave?
-- column: class text -  C1 confirmed, C2 probable, C3 possible, C4 not affected, C5 not determined
-- column: first_fixed_at time ns  first record of a process with the fix
-- column: refs json -  records that this rests on
-- order:  served_at, request
-- empty:  no replica was verified fixed, or no response without the fix is known after that; responses without a known worker are not excluded
WITH d AS MATERIALIZED (SELECT replica, verdict, fix, fixed_since, boots FROM deploy()),
     b AS MATERIALIZED (
       SELECT j.value AS boot, d.replica, d.fix, d.fix IN ('affected', 'unknown') OR d.verdict = 'conflicting' AS without
       FROM d JOIN json_each(d.boots) j
     ),
     first AS MATERIALIZED (SELECT min(fixed_since) AS at FROM d WHERE fix = 'fixed' AND verdict <> 'conflicting'
                              AND (:at IS NULL OR fixed_since <= :at))
SELECT f.request, f.tenant, coalesce(f.finished_at, f.started_at) AS served_at, pb.replica AS prefill_replica,
       pb.fix AS prefill_fix, ab.replica AS decode_replica, ab.fix AS decode_fix, f.delivered, f.class,
       first.at AS first_fixed_at, f.refs
FROM first CROSS JOIN findings() f LEFT JOIN leg p ON p.leg = f.prefill_leg LEFT JOIN leg a ON a.leg = f.decode_leg
     LEFT JOIN b pb ON pb.boot = p.boot LEFT JOIN b ab ON ab.boot = a.boot
WHERE f.d <> 'no' AND coalesce(f.finished_at, f.started_at) > first.at AND (pb.without OR ab.without)
  AND (:at IS NULL OR coalesce(f.finished_at, f.started_at) <= :at)
ORDER BY served_at, f.request, f.response_id
