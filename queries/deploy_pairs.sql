-- SPDX-License-Identifier: Apache-2.0
-- deploy_pairs: prefill and decode boots that ran together, and their limits
-- question: Which prefill worker refuses less, or more, than a decode worker that it hands requests to can hold?
-- param:  :at time ns  boots that both ran at that time; not given: that ran together at any
-- column: model text -  model that both serve
-- column: prefill_replica text -  worker
-- column: prefill_started_at time ns  start of its boot
-- column: decode_replica text -  worker
-- column: decode_started_at time ns  start of its boot
-- column: prefill_limit integer tokens  length at which the prefill boot rejects
-- column: decode_limit integer tokens  length at which the decode boot rejects
-- column: mismatch_tokens integer tokens  decode limit less prefill limit: above 0, decode takes prompts that prefill refuses
-- column: from_at time ns  both ran from then on; none: before the logs begin
-- column: to_at time ns  and until then; none: still, or at that time
-- column: refs json -  records that this rests on
-- order:  model, prefill_replica, decode_replica, from_at
-- empty:  no prefill and no decode boot of one model are known to have run at the same time
WITH d AS MATERIALIZED (
  SELECT replica, role, model, boot_started_at AS started, boot_ended_at AS ended, input_limit, refs, boots
  FROM deploy(:at)
  WHERE role IN ('prefill', 'decode') AND boots <> '[]' AND (:at IS NULL OR boot_ended_at IS NULL)
)
SELECT p.model, p.replica AS prefill_replica, p.started AS prefill_started_at, e.replica AS decode_replica,
       e.started AS decode_started_at, p.input_limit AS prefill_limit, e.input_limit AS decode_limit,
       e.input_limit - p.input_limit AS mismatch_tokens,
       CASE WHEN p.started IS NULL OR e.started > p.started THEN e.started ELSE p.started END AS from_at,
       CASE WHEN p.ended IS NULL OR e.ended < p.ended THEN e.ended ELSE p.ended END AS to_at,
       (SELECT json_group_array(value) FROM (SELECT value FROM json_each(p.refs) UNION SELECT value FROM json_each(e.refs)
                                             ORDER BY value)) AS refs
FROM d p JOIN d e ON e.model = p.model OR (e.model IS NULL AND p.model IS NULL AND e.input_limit + p.input_limit IS NOT NULL)
WHERE p.role = 'prefill' AND e.role = 'decode' AND (p.started IS NULL OR e.ended IS NULL OR p.started < e.ended)
  AND (e.started IS NULL OR p.ended IS NULL OR e.started < p.ended)
ORDER BY p.model, p.replica, e.replica, from_at, p.boots, e.boots
