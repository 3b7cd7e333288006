-- SPDX-License-Identifier: Apache-2.0
-- deploy_window: responses of affected boots, and when the last one was
-- question: Until when did each boot with the defect serve responses?
-- param:  :at time ns  responses until then; not given: of the whole case
-- column: replica text -  worker
-- column: boot_started_at time ns  start of its boot; none: before the log begins
-- column: role text -  prefill, decode or unified
-- column: version text -  what it ran
-- column: verdict text -  of this boot
-- column: responses integer responses  that left, or may have left, with a leg on this boot
-- column: first_served_at time ns  first of them
-- column: last_served_at time ns  last of them: the latest of all boots is the end of the affected window
-- order:  last_served_at, replica
-- empty:  no response is known to have been served by a boot that the policy calls affected; responses without a known worker are not excluded
WITH b AS MATERIALIZED (
  SELECT j.value AS boot, d.replica, d.boot_started_at, d.role, d.version, d.verdict, d.boots
  FROM deploy() d JOIN json_each(d.boots) j WHERE d.fix = 'affected'
)
SELECT b.replica, b.boot_started_at, b.role, b.version, b.verdict, count(DISTINCT r.response) AS responses,
       min(coalesce(r.finished_ns, r.started_ns)) AS first_served_at,
       max(coalesce(r.finished_ns, r.started_ns)) AS last_served_at
FROM leg l CROSS JOIN b ON b.boot = l.boot CROSS JOIN response r ON r.request = l.request
WHERE r.delivered <> 'no' AND (:at IS NULL OR coalesce(r.finished_ns, r.started_ns) <= :at)
GROUP BY b.replica, b.boots
ORDER BY last_served_at, b.replica, b.boots
